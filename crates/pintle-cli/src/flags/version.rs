//! The flags of versions: the release whose APIs and feature gates are served, and the oldest with which the server shares a
//! store. Guarantees that both are releases that the program can be. Must never decide what a release has.

use super::FlagError;
use super::config::{Config, with_defaults};
use super::table::Flag;
use super::values;
use pintle_discovery::version::{CURRENT_MINOR, EffectiveVersion, OLDEST_MINOR};
use pintle_endpoints::runtime_config::RuntimeConfig;
use pintle_schema::GateSet;

/// The component that the server is; versions may be given for it by name.
const COMPONENT: &str = "kube";

with_defaults! {
    /// The values of the flags.
    pub struct VersionFlags {
        emulated: Vec<String>,
        compatible: Vec<String>,
        forward_compatible: bool,
        items_forward_compatible: bool,
    }
}

/// The flags.
pub static VERSION_FLAGS: &[Flag] = &[
    Flag::read(
        "emulated-version",
        "VERSION",
        "The release of Kubernetes whose APIs and feature gates are served, from 1.31 to 1.36. Default: 1.36.",
        |c, value| {
            c.versions.emulated.extend(values::list(value).map(str::to_owned));
            Ok(())
        },
    ),
    Flag::read(
        "min-compatibility-version",
        "VERSION",
        "The oldest release of the servers that share the store, from 1.31 to the emulated one. It decides in which versions \
         objects are stored, and what new CEL expressions may use. Default: the release before the emulated one.",
        |c, value| {
            c.versions.compatible.extend(values::list(value).map(str::to_owned));
            Ok(())
        },
    ),
    Flag::new(
        "emulation-forward-compatible",
        |c: &mut Config| &mut c.versions.forward_compatible,
        "Whether later versions of APIs are served, too, if the emulated release has a beta or stable version of them.",
    ),
    Flag::new(
        "runtime-config-emulation-forward-compatible",
        |c: &mut Config| &mut c.versions.items_forward_compatible,
        "Whether --runtime-config may name later versions of APIs than those emulated.",
    ),
];

impl VersionFlags {
    /// The releases that the flags name.
    ///
    /// # Errors
    /// A value is no release, or one that the program cannot be.
    pub fn effective(&self) -> Result<EffectiveVersion, FlagError> {
        let parsed = |values: &[String]| component(values).map_err(FlagError::Combination);
        let (emulated, compatible) = (parsed(&self.emulated)?, parsed(&self.compatible)?);
        let oldest = Version { major: 1, minor: OLDEST_MINOR };
        let current = Version { major: 1, minor: CURRENT_MINOR };
        let emulated = emulated.unwrap_or(current);
        let before = Version { minor: emulated.minor.saturating_sub(1), ..emulated };
        let compatible = compatible.unwrap_or(before.max(oldest));
        let mut errors = Vec::new();
        if !(oldest..=current).contains(&emulated) {
            // kube-apiserver shows the patch level of the binary as 0.
            errors.push(format!("emulation version {emulated} is not between [{oldest}, {current}.0]"));
        }
        if !(oldest..=emulated).contains(&compatible) {
            errors.push(format!("minCompatibilityVersion version {compatible} is not between [{oldest}, {emulated}]"));
        }
        match &errors[..] {
            [] => Ok(EffectiveVersion { emulated_minor: emulated.minor, compatibility_minor: compatible.minor }),
            [one] => Err(FlagError::Combination(one.clone())),
            several => Err(FlagError::Combination(format!("[{}]", several.join(", ")))),
        }
    }

    /// Tells the configuration of APIs what may be served beyond the emulated release.
    ///
    /// # Errors
    /// The flags have no meaning for the current release.
    pub fn apply(
        &self,
        config: &mut RuntimeConfig,
        warnings: &mut Vec<String>,
        gates: &GateSet,
    ) -> Result<(), FlagError> {
        let is_current = config.version.emulated_minor == CURRENT_MINOR;
        for (name, on) in [
            ("EmulationForwardCompatible", self.forward_compatible),
            ("RuntimeConfigEmulationForwardCompatible", self.items_forward_compatible),
        ] {
            if is_current && on {
                return Err(FlagError::Combination(format!(
                    "ServerRunOptions.{name} cannot be set to true if the emulation version is the same as the binary version"
                )));
            }
        }
        config.forward_compatible = self.forward_compatible;
        config.items_forward_compatible = self.items_forward_compatible;
        let alpha: Vec<&str> = gates.alpha().map(|gate| gate.name()).collect();
        if !is_current && !alpha.is_empty() {
            let alpha = alpha.join(" ");
            warnings.push(format!(
                "component has alpha features enabled in emulated version, this is unsupported: features=[{alpha}]"
            ));
        }
        Ok(())
    }
}

/// A release.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Version {
    major: u32,
    minor: u32,
}

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// The release that values name for the server: `1.35` or `kube=1.35`.
fn component(values: &[String]) -> Result<Option<Version>, String> {
    let mut found: Option<Version> = None;
    for value in values {
        let (component, version) = value.split_once('=').unwrap_or((COMPONENT, value));
        let (component, text) = (component.trim(), version.trim());
        let version = parse(text)?;
        if let Some(patch) = version.1.filter(|patch| *patch != 0) {
            return Err(format!("patch version not allowed, got: {component}={}.{patch}", version.0));
        }
        if component != COMPONENT {
            return Err(format!("component not registered: {component}"));
        }
        if let Some(known) = found {
            let version = version.0;
            return Err(format!("duplicate version flag, {component}={known} and {component}={version}"));
        }
        found = Some(version.0);
    }
    Ok(found)
}

/// Parses `1.35`, `v1.35` or `1.35.0`: the release and its patch level.
fn parse(text: &str) -> Result<(Version, Option<u32>), String> {
    let numbers = text.strip_prefix('v').unwrap_or(text);
    let end = numbers.find(|c: char| c != '.' && !c.is_ascii_digit()).unwrap_or(numbers.len());
    let numbers = &numbers[..end];
    if !numbers.starts_with(|c: char| c.is_ascii_digit()) {
        return Err(format!("could not parse {text:?} as version"));
    }
    let illegal = || format!("illegal version string {text:?}");
    let parts: Vec<u32> = numbers.split('.').map(str::parse).collect::<Result<_, _>>().map_err(|_| illegal())?;
    match parts[..] {
        [major, minor] => Ok((Version { major, minor }, None)),
        [major, minor, patch, ..] => Ok((Version { major, minor }, Some(patch))),
        _ => Err(illegal()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_flags() {
        let effective = |emulated: &str, compatible: &str| {
            let texts = |text: &str| values::list(text).map(str::to_owned).collect();
            let flags =
                VersionFlags { emulated: texts(emulated), compatible: texts(compatible), ..VersionFlags::default() };
            let found = flags.effective();
            found.map(|it| (it.emulated_minor, it.compatibility_minor)).map_err(|error| error.to_string())
        };
        for (emulated, compatible, expected) in [
            ("", "", (36, 35)),
            ("1.36", "1.36", (36, 36)),
            ("kube=1.35", "", (35, 34)),
            ("v1.34.0", "kube=v1.33", (34, 33)),
            ("1.33", "", (33, 32)),
            ("1.31", "", (31, 31)),
        ] {
            assert_eq!(effective(emulated, compatible), Ok(expected), "{emulated} {compatible}");
        }
        for (emulated, compatible, error) in [
            ("1.37", "", "emulation version 1.37 is not between [1.31, 1.36.0]"),
            (
                "1.30",
                "",
                "[emulation version 1.30 is not between [1.31, 1.36.0], \
                 minCompatibilityVersion version 1.31 is not between [1.31, 1.30]]",
            ),
            ("1.35", "1.36", "minCompatibilityVersion version 1.36 is not between [1.31, 1.35]"),
            ("1.35.2", "", "patch version not allowed, got: kube=1.35.2"),
            ("wardle=1.2", "", "component not registered: wardle"),
            ("1.35,kube=1.34", "", "duplicate version flag, kube=1.35 and kube=1.34"),
            ("one", "", "could not parse \"one\" as version"),
            ("1", "", "illegal version string \"1\""),
        ] {
            assert_eq!(effective(emulated, compatible), Err(error.to_owned()), "{emulated} {compatible}");
        }
    }
}
