//! The file of `--admission-control-config-file`: the settings of admission plugins. Guarantees that each setting is
//! either applied or rejected before the server starts. Must never accept a setting that a plugin does not know.

use super::authorization::posted;
use super::{decode, read as read_file};
use pintle_codec::{Strictness, yaml};
use pintle_gates::MANIFEST_BASED_ADMISSION_CONTROL_CONFIG as MANIFESTS;
use pintle_plugins::configuration::{Configuration, EventLimits, ImagePolicy, PodSecurity, check_node_selector};
use pintle_reviews::ReviewVersion;
use pintle_schema::names::quoted;
use pintle_schema::{ApiType, GateSet, Value};
use pintle_types::config_apiserver::v1::{AdmissionConfiguration, AdmissionPluginConfiguration};
use pintle_types::config_policyconfig::v1::{
    MutatingAdmissionPolicyConfiguration, ValidatingAdmissionPolicyConfiguration,
};
use pintle_types::config_resourcequota::v1::LimitedResource;
use pintle_types::config_webhookadmission::v1::WebhookAdmission;
use pintle_types::{config_eventratelimit, config_podtolerationrestriction, config_resourcequota};
use pintle_webhook::{Backoff, Clients, Kubeconfig};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

const VERSIONS: [&str; 3] = ["apiserver.config.k8s.io/v1", "apiserver.k8s.io/v1alpha1", "componentconfig/v1alpha1"];

/// The API group of PodSecurity's configuration.
const POD_SECURITY: &str = "pod-security.admission.config.k8s.io";

/// How long one call of the image policy webhook may take.
const IMAGE_POLICY_TIMEOUT: Duration = Duration::from_secs(30);

/// Reads the file and the files that it names; relative paths are relative to its directory. `clients` makes the client
/// of the image policy webhook, and `gates` tells which feature gates are on.
///
/// # Errors
/// A file cannot be read or has an invalid setting.
pub fn read(path: &Path, clients: &Arc<Clients>, gates: &GateSet) -> Result<Configuration, String> {
    let all: AdmissionConfiguration = decode(&read_file(path)?, &VERSIONS, "AdmissionConfiguration")
        .map_err(|error| format!("{}: {error}", path.display()))?;
    let mut configuration = Configuration::default();
    for plugin in all.plugins {
        let name = plugin.name.clone();
        let taken = take(&mut configuration, plugin, path, clients, gates);
        taken.map_err(|error| format!("plugin {name:?}: {error}"))?;
    }
    Ok(configuration)
}

fn take(
    to: &mut Configuration,
    plugin: AdmissionPluginConfiguration,
    beside: &Path,
    clients: &Arc<Clients>,
    gates: &GateSet,
) -> Result<(), String> {
    let said = match (plugin.configuration, plugin.path.as_str()) {
        (Some(said), _) => pintle_codec::json::to_vec(&said.0),
        (None, "") => Vec::new(),
        (None, file) => read_file(&beside.parent().unwrap_or(Path::new("")).join(file))?,
    };
    match plugin.name.as_str() {
        "EventRateLimit" => {
            let versions = ["eventratelimit.admission.k8s.io/v1alpha1"];
            let limits = decode::<config_eventratelimit::v1alpha1::Configuration>(&said, &versions, "Configuration")?;
            to.event_limits = EventLimits::new(&limits)?;
        }
        "PodTolerationRestriction" => {
            let versions = ["podtolerationrestriction.admission.k8s.io/v1alpha1"];
            to.tolerations =
                decode::<config_podtolerationrestriction::v1alpha1::Configuration>(&said, &versions, "Configuration")?;
        }
        "PodSecurity" => {
            let versions = ["v1", "v1beta1", "v1alpha1"].map(|version| format!("{POD_SECURITY}/{version}"));
            let versions = versions.each_ref().map(String::as_str);
            to.pod_security = PodSecurity::new(decode(&said, &versions, "PodSecurityConfiguration")?)?;
        }
        "ResourceQuota" if !said.is_empty() => to.limited_resources = limited_resources(&said)?,
        "MutatingAdmissionWebhook" => {
            (to.webhooks.mutating, to.manifests.mutating_webhooks) = webhooks(&said, gates)?;
        }
        "ValidatingAdmissionWebhook" => {
            (to.webhooks.validating, to.manifests.validating_webhooks) = webhooks(&said, gates)?;
        }
        "MutatingAdmissionPolicy" => {
            let read = |said: MutatingAdmissionPolicyConfiguration| said.static_manifests_dir;
            to.manifests.mutating_policies = policies(&said, "MutatingAdmissionPolicyConfiguration", read, gates)?;
        }
        "ValidatingAdmissionPolicy" => {
            let read = |said: ValidatingAdmissionPolicyConfiguration| said.static_manifests_dir;
            to.manifests.validating_policies = policies(&said, "ValidatingAdmissionPolicyConfiguration", read, gates)?;
        }
        "ImagePolicyWebhook" => to.image_policy = Some(image_policy(&said, clients)?),
        "PodNodeSelector" => to.node_selectors = node_selectors(&said)?,
        name if !pintle_plugins::is_known(name) => return Err("it is unknown".to_owned()),
        _ if said.is_empty() => {}
        _ => return Err("it takes no settings".to_owned()),
    }
    Ok(())
}

/// The resources that must not be consumed without a quota.
fn limited_resources(said: &[u8]) -> Result<Vec<LimitedResource>, String> {
    let current = decode::<config_resourcequota::v1::Configuration>(said, &VERSIONS[..1], "ResourceQuotaConfiguration");
    let former = ["v1beta1", "v1alpha1"].map(|version| format!("resourcequota.admission.k8s.io/{version}"));
    let former = former.each_ref().map(String::as_str);
    // The versions differ only in their names.
    let configuration = match current {
        Err(why) if why.starts_with("no kind") => decode(said, &former, "Configuration")
            .map_err(|error| if error.starts_with("no kind") { why } else { error }),
        outcome => outcome,
    }?;
    for (at, limited) in configuration.limited_resources.iter().enumerate() {
        if limited.resource.is_empty() {
            return Err(format!("limitedResources[{at}].resource: Required value"));
        }
    }
    Ok(configuration.limited_resources)
}

/// The directory of policies in files, if one is named.
fn policies<T: ApiType>(
    said: &[u8],
    kind: &str,
    directory: impl Fn(T) -> String,
    gates: &GateSet,
) -> Result<Option<PathBuf>, String> {
    match said.is_empty() {
        true => Ok(None),
        false => manifest_directory(&directory(decode(said, &VERSIONS[..1], kind)?), gates),
    }
}

/// The file with credentials for webhooks, and the directory of webhooks in files, if they are named.
fn webhooks(said: &[u8], gates: &GateSet) -> Result<(Option<Kubeconfig>, Option<PathBuf>), String> {
    if said.is_empty() {
        return Ok((None, None));
    }
    let head = yaml::parse(said, Strictness::Ignore).map_err(|error| error.to_string())?.value;
    let kind =
        if head.str_at(&["kind"]) == "WebhookAdmission" { "WebhookAdmission" } else { "WebhookAdmissionConfiguration" };
    let versions = ["apiserver.config.k8s.io/v1", "apiserver.config.k8s.io/v1alpha1"];
    let said: WebhookAdmission = decode(said, &versions, kind)?;
    let path = Path::new(&said.kube_config_file);
    if !said.kube_config_file.is_empty() && !path.is_absolute() {
        return Err(format!("kubeConfigFile: Invalid value: {path:?}: must be an absolute file path"));
    }
    let directory = manifest_directory(&said.static_manifests_dir, gates)?;
    if said.kube_config_file.is_empty() {
        return Ok((None, directory));
    }
    let credentials = Kubeconfig::read(path).map_err(|error| error.to_string())?;
    Ok((Some(credentials), directory))
}

/// Checks the directory that a plugin's configuration names; "" is none.
///
/// # Errors
/// The feature is off, or it is no directory.
fn manifest_directory(named: &str, gates: &GateSet) -> Result<Option<PathBuf>, String> {
    const FIELD: &str = "staticManifestsDir";
    if named.is_empty() {
        return Ok(None);
    }
    if !gates.is_on(&MANIFESTS) {
        let gate = MANIFESTS.name();
        return Err(format!("{FIELD}: Forbidden: {FIELD} requires the {gate} feature gate to be enabled"));
    }
    let (path, refused) = (Path::new(named), |why: String| format!("{FIELD}: Invalid value: {}: {why}", quoted(named)));
    if !path.is_absolute() {
        return Err(refused("must be an absolute file path".to_owned()));
    }
    match std::fs::metadata(path) {
        Ok(found) if found.is_dir() => Ok(Some(path.to_owned())),
        Ok(_) => Err(refused("must be a directory".to_owned())),
        Err(error) => Err(refused(format!("unable to read: {error}"))),
    }
}

/// The webhook that reviews images. Its configuration may come without a kind.
fn image_policy(said: &[u8], clients: &Arc<Clients>) -> Result<ImagePolicy, String> {
    let said = yaml::parse(said, Strictness::Ignore).map_err(|error| error.to_string())?.value;
    let settings = said.get("imagePolicy").unwrap_or(&Value::Null);
    let seconds = Duration::from_secs(1);
    let duration = |name: &str, unit: Duration, [least, most, default]: [Duration; 3]| {
        let value = match settings.get(name) {
            None | Some(Value::Null) => 0,
            Some(value) => value.as_i64().ok_or_else(|| format!("imagePolicy.{name} must be an integer"))?,
        };
        let wanted = u32::try_from(value).ok().and_then(|count| unit.checked_mul(count));
        match (value, wanted) {
            (-1, _) => Ok(Duration::ZERO),
            (0, _) => Ok(default),
            (_, Some(wanted)) if wanted > least && wanted <= most => Ok(wanted),
            _ => Err(format!(
                "imagePolicy.{name}: valid value is between {least:?} and {most:?}, got {value} times {unit:?}"
            )),
        }
    };
    let ttl = |default| [seconds, 1800 * seconds, default];
    let pauses = [Duration::from_nanos(1), 300 * seconds, Duration::from_millis(500)];
    let pause = duration("retryBackoff", Duration::from_millis(1), pauses)?;
    let allow_ttl = duration("allowTTL", seconds, ttl(300 * seconds))?;
    let deny_ttl = duration("denyTTL", seconds, ttl(30 * seconds))?;
    let file = settings.str_at(&["kubeConfigFile"]);
    if file.is_empty() {
        return Err("imagePolicy.kubeConfigFile: Required value".to_owned());
    }
    let default_allow = settings.get("defaultAllow").and_then(Value::as_bool).unwrap_or(false);
    let mut posted = posted(Path::new(file), ReviewVersion::V1alpha1, IMAGE_POLICY_TIMEOUT, clients)?;
    posted.backoff = Backoff::starting_with(pause);
    Ok(ImagePolicy::new(posted, allow_ttl, deny_ttl, default_allow))
}

/// Node selectors by namespace. This configuration alone has no kind.
fn node_selectors(said: &[u8]) -> Result<std::collections::BTreeMap<String, String>, String> {
    const FIELD: &str = "podNodeSelectorPluginConfig";
    let said = yaml::parse(said, Strictness::Ignore).map_err(|error| error.to_string())?.value;
    let Some(selectors) = said.get(FIELD).and_then(Value::as_map) else { return Ok(Default::default()) };
    let text = |(namespace, selector): (_, &Value)| match selector {
        Value::Null => Ok((ToString::to_string(&namespace), String::new())),
        selector => {
            let selector = selector.as_str().ok_or_else(|| format!("{FIELD}.{namespace} must be a text"))?;
            check_node_selector(selector).map_err(|why| format!("{FIELD}.{namespace}: {why}"))?;
            Ok((ToString::to_string(&namespace), selector.to_owned()))
        }
    };
    selectors.iter().map(text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_schema::Gate;
    use pintle_schema::gates::NO_GATES;

    fn read_text(text: &str) -> Result<Configuration, String> {
        let all: AdmissionConfiguration = decode(text.as_bytes(), &VERSIONS, "AdmissionConfiguration")?;
        let mut configuration = Configuration::default();
        let mut plugins = all.plugins.into_iter();
        let gates = GateSet::only([&GATE]);
        let take = |plugin| take(&mut configuration, plugin, Path::new("file"), &Arc::default(), &gates);
        plugins.try_for_each(take)?;
        Ok(configuration)
    }

    /// The one gate that is on.
    const GATE: Gate = pintle_gates::MANIFEST_BASED_ADMISSION_CONTROL_CONFIG;

    const HEAD: &str = "apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\nplugins:\n";

    #[test]
    fn settings_of_plugins() {
        let text = format!(
            "{HEAD}- name: PodNodeSelector\n  configuration: {{podNodeSelectorPluginConfig: {{clusterDefaultNodeSelector: \
             \"a=b\", ns: }}}}\n- name: PodTolerationRestriction\n  configuration:\n    apiVersion: \
             podtolerationrestriction.admission.k8s.io/v1alpha1\n    kind: Configuration\n    default: [{{key: a}}]\n- name: \
             NodeRestriction\n- name: ResourceQuota\n  configuration: {{apiVersion: resourcequota.admission.k8s.io/v1beta1, kind: \
             Configuration, limitedResources: [{{resource: pods, matchContains: [cpu]}}]}}\n"
        );
        let read = read_text(&text).expect("settings");
        assert_eq!(read.node_selectors.get("clusterDefaultNodeSelector").map(String::as_str), Some("a=b"));
        assert_eq!(read.node_selectors.get("ns").map(String::as_str), Some(""));
        assert_eq!(read.limited_resources[0].match_contains, ["cpu"]);
        assert_eq!(read.tolerations.default[0].key, "a");
    }

    #[test]
    fn directories_of_webhooks_and_policies() {
        let directory = std::env::temp_dir();
        let shown = directory.display();
        let rows = [
            ("MutatingAdmissionWebhook", "WebhookAdmissionConfiguration"),
            ("ValidatingAdmissionWebhook", "WebhookAdmissionConfiguration"),
            ("MutatingAdmissionPolicy", "MutatingAdmissionPolicyConfiguration"),
            ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyConfiguration"),
        ];
        let text = |(name, kind): (&str, &str), version: &str, directory: &str| {
            format!(
                "{HEAD}- name: {name}\n  configuration: {{apiVersion: {version}, kind: {kind}, staticManifestsDir: {directory}}}\n"
            )
        };
        for (at, row) in rows.into_iter().enumerate() {
            let read = read_text(&text(row, "apiserver.config.k8s.io/v1", &shown.to_string())).expect("settings");
            let manifests = read.manifests;
            let found = [
                manifests.mutating_webhooks,
                manifests.validating_webhooks,
                manifests.mutating_policies,
                manifests.validating_policies,
            ];
            let named: Vec<usize> = (0..4).filter(|at| found[*at].as_ref() == Some(&directory)).collect();
            assert_eq!(named, [at], "{row:?}");
            let relative = read_text(&text(row, "apiserver.config.k8s.io/v1", "some/folder")).expect_err("refused");
            assert_eq!(relative, "staticManifestsDir: Invalid value: \"some/folder\": must be an absolute file path");
            let missing = read_text(&text(row, "apiserver.config.k8s.io/v1", "/none/at/all")).expect_err("refused");
            assert!(missing.contains("unable to read"), "{missing}");
            assert!(read_text(&text(row, "apiserver.config.k8s.io/v2", "/")).is_err());
        }
        let off = manifest_directory("/", &NO_GATES).expect_err("refused");
        assert!(off.starts_with("staticManifestsDir: Forbidden: ") && off.contains(GATE.name()), "{off}");
    }

    #[test]
    fn invalid_settings_are_rejected() {
        let events = "- name: EventRateLimit\n  configuration: {apiVersion: eventratelimit.admission.k8s.io/v1alpha1, kind: \
                      Configuration, limits: [{type: Server, qps: 1, burst: 1";
        assert!(read_text(&format!("{HEAD}{events}}}]}}\n")).is_ok());
        let rows = [
            ("kind: Pod\napiVersion: v1\n".to_owned(), "no kind \"Pod\""),
            (format!("{HEAD}- name: Nothing\n"), "it is unknown"),
            (format!("{HEAD}- name: NodeRestriction\n  configuration: {{a: b}}\n"), "it takes no settings"),
            (
                format!(
                    "{HEAD}- name: ResourceQuota\n  configuration: {{apiVersion: apiserver.config.k8s.io/v1, kind: \
                     ResourceQuotaConfiguration, limitedResources: [{{matchContains: [a]}}]}}\n"
                ),
                "limitedResources[0].resource: Required value",
            ),
            (format!("{HEAD}- name: EventRateLimit\n"), "no kind \"\""),
            (
                format!("{HEAD}- name: PodNodeSelector\n  configuration: {{podNodeSelectorPluginConfig: {{ns: a}}}}\n"),
                "podNodeSelectorPluginConfig.ns: invalid selector: [a]",
            ),
            (
                format!(
                    "{HEAD}- name: PodSecurity\n  configuration: {{apiVersion: pod-security.admission.config.k8s.io/v1, kind: \
                     PodSecurityConfiguration, defaults: {{enforce: strict}}}}\n"
                ),
                "must be one of privileged, baseline, restricted",
            ),
            (format!("{HEAD}- name: ImagePolicyWebhook\n"), "imagePolicy.kubeConfigFile: Required value"),
            (
                format!(
                    "{HEAD}- name: ImagePolicyWebhook\n  configuration: {{imagePolicy: {{kubeConfigFile: /none, allowTTL: 1801}}}}\n"
                ),
                "imagePolicy.allowTTL: valid value is between 1s and 1800s",
            ),
            (
                format!(
                    "{HEAD}- name: ImagePolicyWebhook\n  configuration: {{imagePolicy: {{kubeConfigFile: /none}}}}\n"
                ),
                "/none",
            ),
            (format!("{HEAD}{events}, rate: 2}}]}}\n"), "unknown field"),
            (format!("{HEAD}{events}, cacheSize: -1}}]}}\n"), "must not be negative"),
        ];
        for (text, why) in rows {
            let error = read_text(&text).expect_err("refused");
            assert!(error.contains(why), "{error}");
        }
    }
}
