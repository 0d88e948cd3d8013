//! `Hook`: one webhook of a configuration, parsed once. Guarantees that a webhook with unusable settings fails when it is
//! called, according to its failure policy. Must never keep a connection: clients share theirs.

use crate::{Kind, USER_AGENT};
use pintle_expressions::{MatchConditions, Mode};
use pintle_registry::admission::{RequestRules, RequestSelectors};
use pintle_schema::{ApiValue, Value};
use pintle_types::admissionregistration::v1::WebhookClientConfig;
use pintle_webhook::{
    Address, Client, Clients, Credentials, Kubeconfig, ServiceReference, Settings, SetupError, TlsSettings,
};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// The inputs for building hooks.
pub(crate) struct HookContext {
    pub clients: Arc<Clients>,
    /// The file of credentials for webhooks.
    pub credentials: Option<Kubeconfig>,
}

/// The form of reviews that a webhook understands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReviewVersion {
    V1,
    V1Beta1,
}

/// A webhook.
pub(crate) struct Hook {
    /// The name of its configuration.
    pub configuration: String,
    pub name: String,
    /// Names it among all: by its configuration, its name, and how many before it have this name.
    pub id: String,
    pub rules: RequestRules,
    /// The resources that its rules name, with `*` for all.
    pub plurals: Vec<String>,
    pub selectors: Result<RequestSelectors, String>,
    pub conditions: MatchConditions,
    pub ignores_failures: bool,
    pub takes_dry_runs: bool,
    pub is_reinvoked: bool,
    pub timeout: Duration,
    /// `None` if it supports no known version.
    pub version: Option<ReviewVersion>,
    settings: Result<Settings, String>,
    client: OnceLock<Client>,
}

impl Hook {
    /// Reads the webhooks of a configuration.
    pub fn all_of(kind: Kind, configuration: &Value, making: &HookContext) -> Vec<Arc<Hook>> {
        let name = configuration.str_at(&["metadata", "name"]);
        let hooks = configuration.get("webhooks").and_then(Value::as_list).unwrap_or_default();
        let mut read: Vec<Arc<Hook>> = Vec::with_capacity(hooks.len());
        for hook in hooks {
            let before = read.iter().filter(|other| other.name == hook.str_at(&["name"])).count();
            read.push(Arc::new(Hook::read(kind, name, before, hook, making)));
        }
        read
    }

    fn read(kind: Kind, configuration: &str, before: usize, hook: &Value, making: &HookContext) -> Hook {
        let name = hook.str_at(&["name"]);
        let list = |field: &str| hook.get(field).and_then(Value::as_list).unwrap_or_default();
        let plural = |resource: &Value| {
            let resource = resource.as_str().unwrap_or_default();
            resource.split('/').next().unwrap_or_default().to_owned()
        };
        let resources = |rule: &Value| -> Vec<String> {
            rule.get("resources").and_then(Value::as_list).unwrap_or_default().iter().map(plural).collect()
        };
        let conditions = list("matchConditions");
        let conditions = conditions.iter().map(|one| (one.str_at(&["name"]), one.str_at(&["expression"])));
        let versions = list("admissionReviewVersions");
        let version = versions.iter().find_map(|version| match version.as_str() {
            Some("v1") => Some(ReviewVersion::V1),
            Some("v1beta1") => Some(ReviewVersion::V1Beta1),
            _ => None,
        });
        let seconds =
            hook.get("timeoutSeconds").and_then(Value::as_i64).and_then(|seconds| u64::try_from(seconds).ok());
        Hook {
            configuration: configuration.to_owned(),
            name: name.to_owned(),
            id: format!("{configuration}/{name}/{before}"),
            rules: RequestRules::read(hook.get("rules"), hook.str_at(&["matchPolicy"]) == "Exact"),
            plurals: list("rules").iter().flat_map(resources).collect(),
            selectors: RequestSelectors::read(hook),
            conditions: MatchConditions::compile(conditions, Mode::Stored),
            ignores_failures: hook.str_at(&["failurePolicy"]) == "Ignore",
            takes_dry_runs: matches!(hook.str_at(&["sideEffects"]), "None" | "NoneOnDryRun"),
            is_reinvoked: kind == Kind::Mutating && hook.str_at(&["reinvocationPolicy"]) == "IfNeeded",
            timeout: Duration::from_secs(seconds.unwrap_or(10)),
            version,
            settings: settings(hook.get("clientConfig").unwrap_or(&Value::Null), making),
            client: OnceLock::new(),
        }
    }

    /// The client of the webhook, made when it is called first.
    ///
    /// # Errors
    /// Its settings cannot be used.
    pub fn client(&self, clients: &Clients) -> Result<&Client, String> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        let settings = self.settings.as_ref().map_err(Clone::clone)?;
        let client = clients.client(settings.clone()).map_err(|error| setup_error(&error))?;
        Ok(self.client.get_or_init(|| client))
    }
}

fn setup_error(error: &SetupError) -> String {
    format!("could not get REST client: {error}")
}

/// How a webhook is reached.
fn settings(client_config: &Value, making: &HookContext) -> Result<Settings, String> {
    let config = WebhookClientConfig::from_value(client_config).map_err(|error| error.to_string())?;
    let (address, host, port) = match (config.service, config.url) {
        (Some(service), _) => {
            let port = service.port.and_then(|port| u16::try_from(port).ok()).unwrap_or(443);
            let host = format!("{}.{}.svc", service.name, service.namespace);
            let path = service.path.unwrap_or_default();
            let service = ServiceReference { namespace: service.namespace, name: service.name, port, path };
            (Address::Service(service), host, port)
        }
        (None, Some(url)) => {
            let (host, port) = authority(&url);
            (Address::Url(url), host, port)
        }
        (None, None) => return Err("webhook configuration must have either service or URL".to_owned()),
    };
    let credentials = match &making.credentials {
        Some(file) => file.credentials_for(&host, port).map_err(|error| error.to_string())?,
        None => Credentials::default(),
    };
    let tls = TlsSettings { ca_pem: config.ca_bundle.0, http2: address.allows_http2(), ..TlsSettings::default() };
    Ok(Settings { address, tls, credentials, user_agent: USER_AGENT.to_owned() })
}

/// The host and the port of a URL; an invalid URL fails when it is called.
fn authority(url: &str) -> (String, u16) {
    let authority = url.split_once("://").map_or(url, |(_, rest)| rest).split(['/', '?']).next().unwrap_or_default();
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, port.parse().unwrap_or(443)),
        _ => (authority, 443),
    };
    (host.trim_start_matches('[').trim_end_matches(']').to_owned(), port)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_schema::value;

    #[test]
    fn only_webhooks_on_this_machine_may_speak_http2() {
        let making = HookContext { clients: Arc::default(), credentials: None };
        let service = value!({"service": {"namespace": "n", "name": "s"}});
        for (client, expected) in [
            (value!({"url": "https://127.0.0.1:1/x"}), true),
            (value!({"url": "https://[::1]/"}), true),
            (value!({"url": "https://LocalHost:8443"}), true),
            (value!({"url": "https://10.0.0.1"}), false),
            (value!({"url": "https://localhost.example.com"}), false),
            (service, false),
        ] {
            let settings = settings(&client, &making).expect("settings");
            assert_eq!(settings.tls.http2, expected, "{client:?}");
        }
    }

    #[test]
    fn hosts_and_ports() {
        for (url, host, port) in [
            ("https://a.b/c", "a.b", 443),
            ("https://a.b:1/c:2", "a.b", 1),
            ("https://[::1]:2", "::1", 2),
            ("https://[::1]/x", "::1", 443),
        ] {
            assert_eq!(authority(url), (host.to_owned(), port));
        }
    }
}
