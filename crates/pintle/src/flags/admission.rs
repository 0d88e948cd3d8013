//! The flags that turn admission plugins on and off.
//! Guarantees that a plugin that is not here is not taken for one that is.
//! Must never list plugins: the admission crate knows them.

use super::config::Config;
use super::setting::InputFile;
use super::table::Flag;
use super::{FlagError, values};
use pintle::admission_config;
use pintle_auth::Mode;
use pintle_plugins::configuration::{Configuration, TolerationSeconds};
use pintle_plugins::{Standing, standing};
use std::collections::BTreeSet;

/// Plugins by name, as the command line has them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plugins {
    pub enabled: BTreeSet<String>,
    pub disabled: BTreeSet<String>,
    /// What there are flags for among their settings.
    pub toleration_seconds: TolerationSeconds,
    /// The file with the others.
    pub config_file: Option<InputFile>,
}

impl Plugins {
    /// # Errors
    /// One is to be both on and off.
    pub fn check(&self) -> Result<(), FlagError> {
        let both: Vec<&str> = self.enabled.intersection(&self.disabled).map(String::as_str).collect();
        if both.is_empty() {
            return Ok(());
        }
        let sentence =
            format!("[{}] in enable-admission-plugins and disable-admission-plugins overlapped", both.join(" "));
        Err(FlagError::Combination(sentence))
    }

    /// What the authorization mode Node opens without the plugin that belongs to it.
    pub fn opened(&self, modes: &[Mode]) -> Option<&'static str> {
        const RESTRICTION: &str = "NodeRestriction";
        let is_on = self.enabled.contains(RESTRICTION) && !self.disabled.contains(RESTRICTION);
        (modes.contains(&Mode::Node) && !is_on).then_some(
            "the authorization mode Node without the admission plugin NodeRestriction lets every kubelet change every node (its \
             labels, taints and status), and create, delete and change the status of pods of every node; \
             --enable-admission-plugins=NodeRestriction keeps each to its own",
        )
    }

    /// What the flags and the file say.
    ///
    /// # Errors
    /// It cannot be read, or lacks what a plugin needs.
    pub fn configuration(&self) -> Result<Configuration, String> {
        let mut configuration =
            self.config_file.as_deref().map(admission_config::read).transpose()?.unwrap_or_default();
        configuration.toleration_seconds = self.toleration_seconds;
        const LIMITED: &str = "EventRateLimit";
        match self.enabled.contains(LIMITED) && configuration.event_limits.is_empty() {
            true => Err(format!("plugin {LIMITED:?} needs limits in --admission-control-config-file")),
            false => Ok(configuration),
        }
    }
}

pub static ADMISSION_FLAGS: &[Flag] = &[
    Flag::new(
        "admission-control-config-file",
        |c| &mut c.admission_plugins.config_file,
        "Settings of admission plugins: EventRateLimit, PodNodeSelector, PodSecurity, PodTolerationRestriction.",
    ),
    Flag::new(
        "default-not-ready-toleration-seconds",
        |c| &mut c.admission_plugins.toleration_seconds.not_ready,
        "Seconds that pods which say nothing else stay on a node that is not ready.",
    ),
    Flag::new(
        "default-unreachable-toleration-seconds",
        |c| &mut c.admission_plugins.toleration_seconds.unreachable,
        "Seconds that pods which say nothing else stay on a node that cannot be reached.",
    ),
    Flag::read("disable-admission-plugins", "NAME,...", "Admission plugins to turn off.", disable),
    Flag::read(
        "enable-admission-plugins",
        "NAME,...",
        "Admission plugins to turn on beside those that are on by default. One that is not here is refused.",
        enable,
    ),
];

fn disable(config: &mut Config, value: &str) -> Result<(), String> {
    for name in values::list(value) {
        match standing(name) {
            None => return Err(unknown(name)),
            Some(Standing::Here | Standing::Elsewhere) => config.admission_plugins.disabled.insert(name.to_owned()),
        };
    }
    Ok(())
}

fn enable(config: &mut Config, value: &str) -> Result<(), String> {
    for name in values::list(value) {
        match standing(name) {
            None => return Err(unknown(name)),
            Some(Standing::Elsewhere) => return Err(format!("plugin \"{name}\" is not supported")),
            Some(Standing::Here) => config.admission_plugins.enabled.insert(name.to_owned()),
        };
    }
    Ok(())
}

fn unknown(name: &str) -> String {
    format!("plugin \"{name}\" is unknown")
}
