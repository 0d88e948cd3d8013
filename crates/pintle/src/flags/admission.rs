//! The flags that turn admission plugins on and off.
//! Guarantees that a plugin that is not here is not taken for one that is.
//! Must never list plugins: the admission crate knows them.

use super::table::Flag;
use super::{Draft, FlagError, values};
use pintle_admission::{Standing, standing};
use std::collections::BTreeSet;

/// Plugins by name, as the command line has them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plugins {
    enabled: BTreeSet<String>,
    disabled: BTreeSet<String>,
}

impl Plugins {
    /// The plugins that are off.
    ///
    /// # Errors
    /// One is to be both on and off.
    pub fn into_disabled(self) -> Result<Vec<String>, FlagError> {
        let both: Vec<&str> = self.enabled.intersection(&self.disabled).map(String::as_str).collect();
        if both.is_empty() {
            return Ok(self.disabled.into_iter().collect());
        }
        let sentence =
            format!("[{}] in enable-admission-plugins and disable-admission-plugins overlapped", both.join(" "));
        Err(FlagError::Combination(sentence))
    }
}

pub static ADMISSION_FLAGS: &[Flag] = &[
    Flag {
        name: "disable-admission-plugins",
        value: "NAME,...",
        help: "Admission plugins to turn off. All that are here are on.",
        apply: disable,
    },
    Flag {
        name: "enable-admission-plugins",
        value: "NAME,...",
        help: "Admission plugins that must be on. One that is not here is refused.",
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
