//! The file of `--encryption-provider-config`: read, validated, and reloaded when it changes. Guarantees that an
//! invalid file changes nothing while a server runs, and that its errors have kube-apiserver's messages. Must never put
//! a secret into a message.

mod validate;

use pintle::digest::text_digest;
use pintle::follow::follow;
use pintle_codec::{Strictness, yaml};
use pintle_encryption::{Encryption, GroupResource, Key, KmsConfig, Names, Pace, Provider, Rule};
use pintle_groups::config::apply_defaults;
use pintle_schema::{ApiType, ApiValue, base64};
use pintle_types::config_apiserver::v1::{self as config, EncryptionConfiguration, KMSConfiguration};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tracing::warn;

const API_VERSION: &str = "apiserver.config.k8s.io/v1";
const KIND: &str = "EncryptionConfiguration";
/// The version and kind that old documentation of kube-apiserver used by mistake.
const LEGACY: (&str, &str) = ("v1", "EncryptionConfig");

/// The configuration file and how it is reloaded.
#[derive(Clone, Debug, Default)]
pub struct EncryptionSource {
    /// The file.
    pub path: PathBuf,
    /// Whether the file is read again when it changes.
    pub reload: bool,
    /// The pace of calls to key services.
    pub pace: Pace,
}

/// The names of built-in resources, by their storage prefix.
#[must_use]
pub fn names() -> Names {
    let built_in = pintle_groups::all().filter_map(|it| {
        // These events are stored with those of the core group, and configured under its name.
        let group = if it.group == "events.k8s.io" { "" } else { &it.group };
        let name = GroupResource { group: group.to_owned(), resource: it.plural.to_string() };
        Some((it.storage.as_ref()?.prefix.to_string(), name))
    });
    Names::new("/registry/", built_in)
}

/// Reads the configuration and reloads it when it changes.
///
/// # Errors
/// The file cannot be read, or is invalid.
pub fn load(source: &EncryptionSource, names: Names) -> Result<Arc<Encryption>, String> {
    let text = read(&source.path)?;
    let rules = parse(source, &text)?;
    let encryption = Encryption::new(names, &rules, source.pace);
    let encryption = Arc::new(encryption.map_err(|error| format!("error while building transformers: {error}"))?);
    encryption.stats.configured(text_digest(&text));
    if source.reload {
        let (source, mut last, mut counted) = (source.clone(), text, String::new());
        let look = move |encryption: &Encryption| {
            let outcome = read(&source.path).and_then(|text| {
                if text != last {
                    replace(&source, encryption, &text)?;
                    encryption.stats.reloaded(Some(text_digest(&text)));
                    last = text;
                }
                Ok(())
            });
            let fault = outcome.err().unwrap_or_default();
            if fault != counted && !fault.is_empty() {
                encryption.stats.reloaded(None);
            }
            counted.clone_from(&fault);
            if fault.is_empty() { Ok(()) } else { Err(fault) }
        };
        follow("encryption configuration", &encryption, look).map_err(|error| error.to_string())?;
    }
    Ok(encryption)
}

/// Applies a changed file if its key services are healthy; otherwise writes would fail.
fn replace(source: &EncryptionSource, encryption: &Encryption, text: &[u8]) -> Result<(), String> {
    let rules = parse(source, text)?;
    let prepared = encryption.prepare(&rules);
    let prepared = prepared.map_err(|error| format!("error while building transformers: {error}"))?;
    prepared.health()?;
    let orphans = encryption.replace(prepared);
    if !orphans.is_empty() {
        let counts: Vec<_> = orphans.iter().map(|(name, count)| format!("{count} of {name}")).collect();
        warn!(
            "no key of the new encryption configuration opens what is kept, so these will be unreadable after the next \
             start: {}",
            counts.join(", ")
        );
    }
    Ok(())
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    let name = path.display();
    let text = std::fs::read(path).map_err(|error| {
        format!("error while parsing file: error while loading file: error reading encryption provider configuration file \"{name}\": {error}")
    })?;
    if text.is_empty() {
        return Err(format!(
            "error while parsing file: error while loading file: encryption provider configuration file \"{name}\" is empty"
        ));
    }
    Ok(text)
}

/// The rules of a file's text.
fn parse(source: &EncryptionSource, text: &[u8]) -> Result<Vec<Rule>, String> {
    let decoded = decode(text).map_err(|error| {
        let name = source.path.display();
        format!("error while parsing file: error decoding encryption provider configuration file \"{name}\": {error}")
    })?;
    let faults = validate::configuration(&decoded, source.reload);
    if !faults.is_empty() {
        return Err(format!("error while parsing file: {}", faults.summary()));
    }
    let rule = |rule: &config::ResourceConfiguration| {
        let resources = rule.resources.iter().map(|name| GroupResource::parse(name)).collect();
        let providers = rule.providers.iter().map(provider).collect::<Result<_, _>>()?;
        Ok(Rule { resources, providers })
    };
    let rules: Result<_, String> = decoded.resources.iter().map(rule).collect();
    rules.map_err(|error| format!("error while building transformers: {error}"))
}

fn decode(text: &[u8]) -> Result<EncryptionConfiguration, String> {
    let head = yaml::parse(text, Strictness::Ignore).map_err(|error| error.to_string())?.value;
    let (version, kind) = (head.str_at(&["apiVersion"]), head.str_at(&["kind"]));
    match (version, kind) {
        (API_VERSION, KIND) | LEGACY => {}
        (_, "") => return Err("Object 'Kind' is missing".to_owned()),
        ("", _) => return Err("Object 'apiVersion' is missing".to_owned()),
        _ => return Err(format!("no kind \"{kind}\" is registered for version \"{version}\"")),
    }
    let schema = EncryptionConfiguration::schema();
    let mut decoded = yaml::decode(schema, text, Strictness::Collect).map_err(|error| error.to_string())?;
    if !decoded.problems.is_empty() {
        let problems: Vec<String> = decoded.problems.iter().map(ToString::to_string).collect();
        return Err(format!("strict decoding error: {}", problems.join(", ")));
    }
    apply_defaults(schema, &mut decoded.value);
    EncryptionConfiguration::from_value(&decoded.value).map_err(|error| error.to_string())
}

/// A provider of a valid configuration.
fn provider(provider: &config::ProviderConfiguration) -> Result<Provider, String> {
    if let Some(aes) = &provider.aesgcm {
        return Ok(Provider::AesGcm(keys(&aes.keys)));
    }
    if let Some(aes) = &provider.aescbc {
        return Ok(Provider::AesCbc(keys(&aes.keys)));
    }
    if let Some(secretbox) = &provider.secretbox {
        return Ok(Provider::Secretbox(keys(&secretbox.keys)));
    }
    match &provider.kms {
        Some(kms) => self::kms(kms).map(Provider::Kms),
        None => Ok(Provider::Identity),
    }
}

fn keys(keys: &[config::Key]) -> Vec<Key> {
    let key =
        |key: &config::Key| Key { name: key.name.clone(), secret: base64::decode(&key.secret).unwrap_or_default() };
    keys.iter().map(key).collect()
}

fn kms(kms: &KMSConfiguration) -> Result<KmsConfig, String> {
    if kms.api_version != "v2" {
        return Err(
            "KMSv1 is deprecated and will only receive security updates going forward. Use KMSv2 instead.".to_owned()
        );
    }
    let socket = kms.endpoint.strip_prefix("unix://").unwrap_or(&kms.endpoint);
    let timeout = kms.timeout.map_or(0, |timeout| timeout.nanos);
    Ok(KmsConfig {
        name: kms.name.clone(),
        // An abstract socket may be written with a slash before its name.
        socket: socket.strip_prefix('/').filter(|name| name.starts_with('@')).unwrap_or(socket).into(),
        timeout: Duration::from_nanos(timeout.unsigned_abs()),
    })
}

#[cfg(test)]
mod tests;
