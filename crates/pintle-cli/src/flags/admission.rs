//! The flags that turn admission plugins on and off.
//! Guarantees that the name of an unsupported plugin is rejected.
//! Must never list plugins: the admission crate knows them.

use super::authorization::AuthorizationMode;
use super::config::Config;
use super::setting::InputFile;
use super::table::Flag;
use super::{FlagError, values};
use crate::config_files;
use pintle_kubernetes_auth::Mode;
use pintle_plugins::configuration::{Configuration, TolerationSeconds};
use pintle_plugins::is_known;
use pintle_schema::GateSet;
use pintle_webhook::Clients;
use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;

/// Plugins by name, as the command line has them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plugins {
    pub enabled: BTreeSet<String>,
    pub disabled: BTreeSet<String>,
    /// The only plugins that are enabled, if they are given so.
    pub only: Option<BTreeSet<String>>,
    /// Settings that have flags of their own.
    pub toleration_seconds: TolerationSeconds,
    /// The file with all other settings.
    pub config_file: Option<InputFile>,
}

impl Plugins {
    /// Checks that no plugin is both enabled and disabled, and turns the deprecated list into these two.
    ///
    /// # Errors
    /// A plugin is both enabled and disabled.
    pub fn check(&mut self) -> Result<(), FlagError> {
        if let Some(only) = self.only.take() {
            if !self.enabled.is_empty() || !self.disabled.is_empty() {
                let sentence = "admission-control and enable-admission-plugins/disable-admission-plugins flags are mutually exclusive";
                return Err(FlagError::Combination(sentence.to_owned()));
            }
            self.disabled = pintle_plugins::names().filter(|name| !only.contains(*name)).map(str::to_owned).collect();
            self.enabled = only;
        }
        let both: Vec<&str> = self.enabled.intersection(&self.disabled).map(String::as_str).collect();
        if both.is_empty() {
            return Ok(());
        }
        let sentence =
            format!("[{}] in enable-admission-plugins and disable-admission-plugins overlapped", both.join(" "));
        Err(FlagError::Combination(sentence))
    }

    /// Warns that the authorization mode Node is too permissive without its admission plugin. A server on the loopback
    /// interface gets no warning, as no kubelet of another machine can connect to it.
    pub fn permissive_node_mode(&self, modes: &[AuthorizationMode], bind_address: IpAddr) -> Option<&'static str> {
        const RESTRICTION: &str = "NodeRestriction";
        let is_on = self.enabled.contains(RESTRICTION) && !self.disabled.contains(RESTRICTION);
        (modes.contains(&Mode::Node.into()) && !is_on && !bind_address.is_loopback()).then_some(
            "authorization mode Node without the admission plugin NodeRestriction allows every kubelet to modify all nodes and \
             the pods of all nodes; use --enable-admission-plugins=NodeRestriction to restrict each kubelet to its own",
        )
    }

    /// The configuration of the plugins from the flags and the file. `clients` makes the client of the image policy webhook, and
    /// `gates` tells which feature gates are on.
    ///
    /// # Errors
    /// The file cannot be read, or a plugin's required setting is missing.
    pub fn configuration(&self, clients: &Arc<Clients>, gates: &GateSet) -> Result<Configuration, String> {
        let read = self.config_file.as_deref().map(|path| config_files::admission::read(path, clients, gates));
        let mut configuration = read.transpose()?.unwrap_or_default();
        configuration.toleration_seconds = self.toleration_seconds;
        let needs = [
            ("EventRateLimit", configuration.event_limits.is_empty(), "limits"),
            ("ImagePolicyWebhook", configuration.image_policy.is_none(), "its configuration"),
        ];
        for (name, is_missing, what) in needs {
            if self.enabled.contains(name) && !self.disabled.contains(name) && is_missing {
                return Err(format!("plugin {name:?} needs {what} in --admission-control-config-file"));
            }
        }
        Ok(configuration)
    }
}

pub static ADMISSION_FLAGS: &[Flag] = &[
    Flag::new(
        "admission-control-config-file",
        |c| &mut c.admission_plugins.config_file,
        "File with the configuration of admission plugins: EventRateLimit, ImagePolicyWebhook, PodNodeSelector, PodSecurity, \
         PodTolerationRestriction, ResourceQuota, and those of webhooks and policies.",
    ),
    Flag::new(
        "default-not-ready-toleration-seconds",
        |c| &mut c.admission_plugins.toleration_seconds.not_ready,
        "Seconds that pods tolerate a node that is not ready, unless they specify it.",
    ),
    Flag::new(
        "default-unreachable-toleration-seconds",
        |c| &mut c.admission_plugins.toleration_seconds.unreachable,
        "Seconds that pods tolerate a node that is unreachable, unless they specify it.",
    ),
    Flag::read(
        "admission-control",
        "NAME,...",
        "Admission plugins to enable, and no others (deprecated). Excludes --enable-admission-plugins and \
         --disable-admission-plugins.",
        |c, value| {
            let only = c.admission_plugins.only.get_or_insert_default();
            for name in values::list(value) {
                only.insert(known(name)?);
            }
            Ok(())
        },
    ),
    Flag::read("disable-admission-plugins", "NAME,...", "Admission plugins to disable.", disable),
    Flag::read(
        "enable-admission-plugins",
        "NAME,...",
        "Admission plugins to enable in addition to the default ones.",
        enable,
    ),
];

fn disable(config: &mut Config, value: &str) -> Result<(), String> {
    for name in values::list(value) {
        config.admission_plugins.disabled.insert(known(name)?);
    }
    Ok(())
}

fn enable(config: &mut Config, value: &str) -> Result<(), String> {
    for name in values::list(value) {
        config.admission_plugins.enabled.insert(known(name)?);
    }
    Ok(())
}

fn known(name: &str) -> Result<String, String> {
    if is_known(name) { Ok(name.to_owned()) } else { Err(format!("plugin \"{name}\" is unknown")) }
}
