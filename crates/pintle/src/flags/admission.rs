//! The flags that turn admission plugins on and off.
//! Guarantees that a plugin that is not here is not taken for one that is.
//! Must never list plugins: the admission crate knows them.

use super::table::{Flag, path};
use super::{Draft, FlagError, values};
use pintle::admission_config;
use pintle_admission::configuration::Configuration;
use pintle_admission::{Standing, standing};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// Plugins by name, as the command line has them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plugins {
    pub enabled: BTreeSet<String>,
    pub disabled: BTreeSet<String>,
    /// The file with their settings.
    pub config_file: Option<PathBuf>,
}

impl Plugins {
    /// The same, if they make sense together.
    ///
    /// # Errors
    /// One is to be both on and off.
    pub fn checked(self) -> Result<Plugins, FlagError> {
        let both: Vec<&str> = self.enabled.intersection(&self.disabled).map(String::as_str).collect();
        if both.is_empty() {
            return Ok(self);
        }
        let sentence =
            format!("[{}] in enable-admission-plugins and disable-admission-plugins overlapped", both.join(" "));
        Err(FlagError::Combination(sentence))
    }

    /// What the file says.
    ///
    /// # Errors
    /// It cannot be read, or lacks what a plugin needs.
    pub fn configuration(&self) -> Result<Configuration, String> {
        let configuration = self.config_file.as_deref().map(admission_config::read).transpose()?.unwrap_or_default();
        const LIMITED: &str = "EventRateLimit";
        match self.enabled.contains(LIMITED) && configuration.event_limits.is_empty() {
            true => Err(format!("plugin {LIMITED:?} needs limits in --admission-control-config-file")),
            false => Ok(configuration),
        }
    }
}

pub static ADMISSION_FLAGS: &[Flag] = &[
    Flag {
        name: "admission-control-config-file",
        value: "FILE",
        help: "Settings of admission plugins: EventRateLimit, PodNodeSelector, PodSecurity, PodTolerationRestriction.",
        apply: |draft, value| path(&mut draft.admission_plugins.config_file, value),
    },
    Flag {
        name: "disable-admission-plugins",
        value: "NAME,...",
        help: "Admission plugins to turn off.",
        apply: disable,
    },
    Flag {
        name: "enable-admission-plugins",
        value: "NAME,...",
        help: "Admission plugins to turn on beside those that are on by default. One that is not here is refused.",
        apply: enable,
    },
];

fn disable(draft: &mut Draft, value: &str) -> Result<(), String> {
    for name in values::list(value) {
        match standing(name) {
            None => return Err(unknown(name)),
            Some(Standing::Always) => return Err(format!("plugin \"{name}\" is always on")),
            Some(Standing::Here | Standing::Elsewhere) => draft.admission_plugins.disabled.insert(name.to_owned()),
        };
    }
    Ok(())
}

fn enable(draft: &mut Draft, value: &str) -> Result<(), String> {
    for name in values::list(value) {
        match standing(name) {
            None => return Err(unknown(name)),
            Some(Standing::Elsewhere) => return Err(format!("plugin \"{name}\" is not supported")),
            Some(Standing::Here | Standing::Always) => draft.admission_plugins.enabled.insert(name.to_owned()),
        };
    }
    Ok(())
}

fn unknown(name: &str) -> String {
    format!("plugin \"{name}\" is unknown")
}
