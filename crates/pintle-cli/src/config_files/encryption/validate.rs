//! The rules of an encryption configuration, with kube-apiserver's order and messages. Guarantees that a valid
//! configuration can be used. Must never write a secret into a message.

use pintle_encryption::GroupResource;
use pintle_schema::names::quoted;
use pintle_schema::{Value, base64};
use pintle_types::config_apiserver::v1::{EncryptionConfiguration, KMSConfiguration, Key, ProviderConfiguration};
use pintle_validation::ErrorList;

const AES_KEY_BYTES: &[usize] = &[16, 24, 32];
const SECRETBOX_KEY_BYTES: &[usize] = &[32];
const REDACTED: &str = "REDACTED";

/// Validates a configuration; `reload`: the file is reloaded when it changes.
pub fn configuration(configuration: &EncryptionConfiguration, reload: bool) -> ErrorList {
    let mut errors = ErrorList::default();
    let mut services: Vec<&str> = Vec::new();
    if configuration.resources.is_empty() {
        errors.required("resources", "at least one resources is required");
    }
    for (index, rule) in configuration.resources.iter().enumerate() {
        let resources = format!("resources[{index}].resources");
        let providers = format!("resources[{index}].providers");
        if rule.resources.is_empty() {
            errors.required(&resources, format!("at least one {resources} is required"));
        }
        overlap(&rule.resources, &resources, &mut errors);
        for (at, name) in rule.resources.iter().enumerate() {
            if let Some(fault) = resource_fault(name) {
                errors.invalid(format!("{resources}[{at}]"), name.as_str(), fault);
            }
        }
        if rule.providers.is_empty() {
            errors.required(&providers, format!("at least one {providers} is required"));
        }
        for (at, provider) in rule.providers.iter().enumerate() {
            let path = format!("{providers}[{at}]");
            single(provider, &path, &mut errors);
            if let Some(kms) = &provider.kms {
                key_service(kms, &format!("{path}.kms"), &services, reload, &mut errors);
                services.push(&kms.name);
            } else if let Some(aes) = &provider.aesgcm {
                keys(&aes.keys, &format!("{path}.aesgcm.keys"), AES_KEY_BYTES, &mut errors);
            } else if let Some(aes) = &provider.aescbc {
                keys(&aes.keys, &format!("{path}.aescbc.keys"), AES_KEY_BYTES, &mut errors);
            } else if let Some(secretbox) = &provider.secretbox {
                keys(&secretbox.keys, &format!("{path}.secretbox.keys"), SECRETBOX_KEY_BYTES, &mut errors);
            }
        }
    }
    errors
}

fn overlap(names: &[String], path: &str, errors: &mut ErrorList) {
    let resources: Vec<GroupResource> = names.iter().map(|name| GroupResource::parse(name)).collect();
    let pairs = || {
        let each = resources.iter().enumerate();
        each.flat_map(|(at, one)| resources.iter().skip(at + 1).map(move |other| (one, other)))
    };
    let shown = || Value::List(names.iter().map(|name| Value::from(name.as_str())).collect());
    if pairs().any(|(one, other)| one == other) {
        errors.invalid(path, shown(), "the same resource cannot be specified multiple times");
    }
    let is_everything = |one: &GroupResource| one.to_string() == GroupResource::ALL;
    let masks = |(one, other): (&GroupResource, &GroupResource)| {
        let wild = one.resource == "*" || other.resource == "*";
        is_everything(one) || is_everything(other) || one.group == other.group && wild
    };
    if pairs().any(masks) {
        let text = "using overlapping resources such as 'secrets' and '*.' in the same resource list is not allowed as \
                    they will be masked";
        errors.invalid(path, shown(), text);
    }
}

fn resource_fault(name: &str) -> Option<&'static str> {
    let resource = GroupResource::parse(name);
    Some(match (resource.resource.as_str(), resource.group.as_str()) {
        _ if name.to_lowercase() != name => "resource name should not contain capital letters",
        _ if name == "*" => "use '*.' to encrypt all the resources from core API group or *.* to encrypt all resources",
        _ if ["apiserveripinfo", "serviceipallocations", "servicenodeportallocations"].contains(&name) => {
            "resources which do not have REST API/s cannot be encrypted"
        }
        (_, "events.k8s.io") => {
            "'*.events.k8s.io' objects are stored using the 'events' API group in etcd. Use 'events' instead in the \
             config file"
        }
        (_, "extensions") => "'extensions' group has been removed and cannot be used for encryption",
        (resource, "*") if resource != "*" => "encrypting the same resource across groups is not supported",
        _ => return None,
    })
}

fn single(provider: &ProviderConfiguration, path: &str, errors: &mut ErrorList) {
    let ProviderConfiguration { aesgcm, aescbc, secretbox, identity, kms } = provider;
    let given = [aesgcm.is_some(), aescbc.is_some(), secretbox.is_some(), identity.is_some(), kms.is_some()];
    let fault = match given.into_iter().filter(|given| *given).count() {
        0 => "provider does not contain any of the expected providers: KMS, AESGCM, AESCBC, Secretbox, Identity",
        1 => return,
        _ => "more than one provider specified in a single element, should split into different list elements",
    };
    errors.invalid(path, REDACTED, fault);
}

fn keys(keys: &[Key], path: &str, lengths: &[usize], errors: &mut ErrorList) {
    if keys.is_empty() {
        errors.required(path, "at least one keys is required");
    }
    for (at, key) in keys.iter().enumerate() {
        if key.name.is_empty() {
            errors.required(format!("{path}[{at}].name"), "name is a mandatory field for a key");
        }
        let secret = format!("{path}[{at}].secret");
        match base64::decode(&key.secret) {
            _ if key.secret.is_empty() => errors.required(secret, "secret is a mandatory field for a key"),
            Err(_) => errors.invalid(secret, REDACTED, "secrets must be base64 encoded"),
            Ok(bytes) if !lengths.contains(&bytes.len()) => {
                let lengths: Vec<String> = lengths.iter().map(usize::to_string).collect();
                let text = format!(
                    "secret is not of the expected length, got {}, expected one of [{}]",
                    bytes.len(),
                    lengths.join(" ")
                );
                errors.invalid(secret, REDACTED, text);
            }
            Ok(_) => {}
        }
    }
}

/// The scheme of a URL, empty if it has none.
fn scheme(url: &str) -> Result<&str, &'static str> {
    let is_scheme = |text: &str| {
        text.starts_with(|first: char| first.is_ascii_alphabetic())
            && text.chars().all(|it| it.is_ascii_alphanumeric() || "+-.".contains(it))
    };
    match url.split_once(':') {
        _ if url.contains(|it: char| it.is_ascii_control()) => Err("net/url: invalid control character in URL"),
        Some(("", _)) => Err("missing protocol scheme"),
        Some((scheme, _)) if is_scheme(scheme) => Ok(scheme),
        _ => Ok(""),
    }
}

fn key_service(kms: &KMSConfiguration, path: &str, services: &[&str], reload: bool, errors: &mut ErrorList) {
    let old = kms.api_version == "v1";
    let name = format!("{path}.name");
    if kms.name.is_empty() {
        errors.required(&name, "name is a mandatory field for a provider");
    }
    if !old && kms.name.contains(':') {
        let text = format!("invalid KMS provider name {}, must not contain ':'", kms.name);
        errors.invalid(&name, kms.name.as_str(), text);
    }
    if (reload || !old) && services.contains(&kms.name.as_str()) {
        let text = format!("duplicate KMS provider name {}, names must be unique", kms.name);
        errors.invalid(&name, kms.name.as_str(), text);
    }
    if let Some(timeout) = kms.timeout.filter(|timeout| timeout.nanos <= 0) {
        errors.invalid(format!("{path}.timeout"), timeout.to_string(), "timeout should be a positive value");
    }
    let endpoint = format!("{path}.endpoint");
    match scheme(&kms.endpoint) {
        _ if kms.endpoint.is_empty() => errors.invalid(endpoint, "", "endpoint is a mandatory field for a kms"),
        Ok("unix") => {}
        Ok(scheme) => {
            let text = format!("unsupported scheme {} for KMS provider, only unix is supported", quoted(scheme));
            errors.invalid(endpoint, kms.endpoint.as_str(), text);
        }
        Err(fault) => {
            let text = format!("invalid endpoint for kms provider, error: parse {}: {fault}", quoted(&kms.endpoint));
            errors.invalid(endpoint, kms.endpoint.as_str(), text);
        }
    }
    if let Some(size) = kms.cachesize.filter(|size| !old || *size == 0) {
        let text = if old {
            "cachesize should be a positive value, or negative to disable"
        } else {
            "cachesize is not supported in v2"
        };
        errors.invalid(format!("{path}.cachesize"), i64::from(size), text);
    }
    if !old && kms.api_version != "v2" {
        let text = "unsupported apiVersion apiVersion for KMS provider, only v1 and v2 are supported";
        errors.invalid(format!("{path}.apiVersion"), kms.api_version.as_str(), text);
    }
}
