//! Feature gates as values: a `Gate` is a constant that tags and code name, a `GateSet` says which are on.
//! Guarantees that a set does not change, and that a gate which nobody has switched has the default of its release.
//! Must never parse text, except to find a gate by its name.

use crate::version::{CURRENT_MINOR, EffectiveVersion};
use std::fmt;

use Stage::{Alpha, Beta, Deprecated};

/// How mature a feature is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Disabled by default.
    Alpha,
    /// Usually enabled by default.
    Beta,
    /// Enabled; the gate will be removed.
    Ga,
    /// The feature will be removed.
    Deprecated,
}

/// What a gate is from a minor release of Kubernetes on, until the next of its specifications.
#[derive(Clone, Copy, Debug)]
pub struct Spec {
    since: u32,
    stage: Stage,
    default: bool,
    locked: bool,
}

impl Spec {
    /// How mature the feature is.
    pub const fn stage(&self) -> Stage {
        self.stage
    }
}

/// A gate of a stage that is on or off by default.
pub const fn since(minor: u32, stage: Stage, default: bool) -> Spec {
    Spec { since: minor, stage, default, locked: false }
}

/// A gate of an alpha feature, which is off by default.
pub const fn alpha(minor: u32) -> Spec {
    since(minor, Stage::Alpha, false)
}

/// A gate of a beta feature, which is on by default.
pub const fn beta(minor: u32) -> Spec {
    since(minor, Stage::Beta, true)
}

/// A gate of a stable feature, which can still be turned off.
pub const fn ga(minor: u32) -> Spec {
    since(minor, Stage::Ga, true)
}

/// A gate of a stable feature, which can no longer be turned off.
pub const fn ga_locked(minor: u32) -> Spec {
    locked(minor, Stage::Ga, true)
}

/// A gate of a stage whose value cannot be changed.
pub const fn locked(minor: u32, stage: Stage, value: bool) -> Spec {
    Spec { since: minor, stage, default: value, locked: true }
}

/// A feature gate. Declare it as a constant, with [`gates!`](crate::gates!) or by itself.
#[derive(Clone, Copy)]
pub struct Gate {
    name: &'static str,
    /// The hash of the name, so that no name is compared when a gate is looked up.
    id: u64,
    specs: &'static [Spec],
    requires: &'static [&'static Gate],
}

impl Gate {
    /// A gate by its releases, in order. Before the first of them the feature does not exist.
    pub const fn new(name: &'static str, specs: &'static [Spec]) -> Gate {
        Gate { name, id: hash(name), specs, requires: &[] }
    }

    /// The gate can only be on while these are.
    #[must_use]
    pub const fn requiring(self, gates: &'static [&'static Gate]) -> Gate {
        Gate { requires: gates, ..self }
    }

    /// The name that flags and metrics have for it.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// The gates that must be on with it.
    pub const fn requires(&self) -> &'static [&'static Gate] {
        self.requires
    }

    /// What the gate is in a minor release; `None` if the release does not have the feature.
    pub fn spec(&self, minor: u32) -> Option<&'static Spec> {
        self.specs.iter().rev().find(|spec| spec.since <= minor)
    }

    fn default_in(&self, minor: u32) -> bool {
        self.spec(minor).is_some_and(|spec| spec.default)
    }

    /// Whether the gate can have a value in a release.
    ///
    /// # Errors
    /// It is locked to the other value, or the release does not have the feature.
    pub fn check(&self, value: bool, version: EffectiveVersion) -> Result<(), GateError> {
        match self.spec(version.emulated_minor) {
            Some(Spec { locked: true, default, .. }) if *default != value => {
                Err(GateError::Locked { name: self.name, value, locked: *default })
            }
            Some(_) => Ok(()),
            None => Err(GateError::Absent { name: self.name, value, version }),
        }
    }
}

impl PartialEq for Gate {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id && self.name == other.name
    }
}

impl Eq for Gate {}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// FNV-1a, computed by the compiler.
const fn hash(name: &str) -> u64 {
    let (mut hash, mut at) = (0xcbf2_9ce4_8422_2325_u64, 0);
    while at < name.len() {
        hash = (hash ^ name.as_bytes()[at] as u64).wrapping_mul(0x0100_0000_01b3);
        at += 1;
    }
    hash
}

/// Declares feature gates as constants, and the list of them.
///
/// ```
/// pintle_schema::gates! {
///     /// The gates of frobbers.
///     pub ALL {
///         /// Width and height.
///         FROBBER_2D = "Frobber2D": alpha(34), beta(36);
///         FROBBER_3D = "Frobber3D" requires [FROBBER_2D]: alpha(36);
///     }
/// }
/// ```
#[macro_export]
macro_rules! gates {
    (
        $(#[$about:meta])*
        $all_visibility:vis $all:ident {
            $(
                $(#[$doc:meta])*
                $gate:ident = $name:literal $(requires [$($required:path),+])?: $($form:ident($($spec:expr),+)),+;
            )+
        }
    ) => {
        $(
            #[doc = concat!("The feature gate `", $name, "`.")]
            $(#[doc = ""] #[$doc])*
            pub const $gate: $crate::gates::Gate =
                $crate::gates::Gate::new($name, &[$($crate::gates::$form($($spec),+)),+])
                $(.requiring(&[$(&$required),+]))?;
        )+
        $(#[$about])*
        $all_visibility const $all: &[&$crate::gates::Gate] = &[$(&$gate),+];
    };
}

gates! {
    /// The gates of every server, whatever it serves.
    pub CORE {
        /// All gates of alpha features that are not set one by one.
        ALL_ALPHA = "AllAlpha": alpha(0);
        /// All gates of beta features that are not set one by one.
        ALL_BETA = "AllBeta": since(0, Beta, false);
        DECLARATIVE_VALIDATION = "DeclarativeValidation": beta(33), ga_locked(36);
        /// Rules in the stage beta are enforced.
        DECLARATIVE_VALIDATION_BETA = "DeclarativeValidationBeta" requires [DECLARATIVE_VALIDATION]:
            beta(36);
        DECLARATIVE_VALIDATION_TAKEOVER = "DeclarativeValidationTakeover" requires [DECLARATIVE_VALIDATION]:
            since(33, Beta, false), since(36, Deprecated, false);
    }
}

/// Why gates cannot have these values.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GateError {
    /// The release has one value only.
    #[error("cannot set feature gate {name} to {value}, feature is locked to {locked}")]
    Locked { name: &'static str, value: bool, locked: bool },
    /// The release does not have the feature.
    #[error(
        "cannot set feature gate {name} to {value}, feature is PreAlpha at emulated version 1.{}, min compatibility \
         version 1.{}",
        .version.emulated_minor,
        .version.compatibility_minor
    )]
    Absent { name: &'static str, value: bool, version: EffectiveVersion },
    /// A gate is on, and some that it requires are off.
    #[error("{name} is enabled, but depends on features that are disabled: [{}]", .missing.join(" "))]
    Requires { name: &'static str, missing: Vec<&'static str> },
}

/// The gates that a server has, and the values that it was given for some of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeatureGates {
    /// Sorted by name.
    known: Vec<&'static Gate>,
    /// In the order in which they were set; a gate is there once.
    chosen: Vec<(&'static Gate, bool)>,
}

impl FeatureGates {
    /// These gates, all with the defaults of the release, and those of every server.
    pub fn of(gates: impl IntoIterator<Item = &'static Gate>) -> FeatureGates {
        let mut all = FeatureGates { known: Vec::new(), chosen: Vec::new() };
        all.add(CORE.iter().copied().chain(gates));
        all
    }

    /// Adds gates, such as those of a group of one's own. A gate that is there already stays as it is.
    pub fn add(&mut self, gates: impl IntoIterator<Item = &'static Gate>) {
        self.known.extend(gates);
        self.known.sort_by_key(|gate| gate.name);
        self.known.dedup_by_key(|gate| gate.name);
    }

    /// The gate of a name.
    pub fn find(&self, name: &str) -> Option<&'static Gate> {
        let at = self.known.binary_search_by(|gate| gate.name.cmp(name)).ok()?;
        self.known.get(at).copied()
    }

    /// Sets a gate, which is added if it is not there. The last value counts.
    pub fn set(&mut self, gate: &'static Gate, value: bool) {
        if self.find(gate.name).is_none() {
            self.add([gate]);
        }
        self.chosen.retain(|(other, _)| *other != gate);
        self.chosen.push((gate, value));
    }

    /// The values in a release: those that were set, then those of `AllAlpha` and `AllBeta`, then the defaults.
    ///
    /// # Errors
    /// A gate cannot have its value, or requires one that is off.
    pub fn resolve(&self, version: EffectiveVersion) -> Result<GateSet, GateError> {
        self.chosen.iter().try_for_each(|(gate, value)| gate.check(*value, version))?;
        let mut set = GateSet::of_release(version.emulated_minor);
        set.known.clone_from(&self.known);
        for (all, stage) in [(&ALL_ALPHA, Alpha), (&ALL_BETA, Beta)] {
            let Some((_, value)) = self.chosen.iter().find(|(gate, _)| *gate == all) else { continue };
            for gate in &self.known {
                let spec = gate.spec(version.emulated_minor);
                if spec.is_some_and(|spec| spec.stage == stage && !spec.locked) {
                    set.put(gate, *value);
                }
            }
        }
        self.chosen.iter().for_each(|(gate, value)| set.put(gate, *value));
        for gate in self.known.iter().filter(|gate| set.is_on(gate)) {
            let missing: Vec<_> = gate.requires.iter().filter(|gate| !set.is_on(gate)).map(|gate| gate.name).collect();
            if !missing.is_empty() {
                return Err(GateError::Requires { name: gate.name, missing });
            }
        }
        Ok(set)
    }
}

/// Which feature gates are on.
#[derive(Clone, PartialEq, Eq)]
pub struct GateSet {
    others: Others,
    /// The gates that differ from what the others are, sorted by their IDs; usually few or none.
    changed: Vec<(&'static Gate, bool)>,
    /// The gates that the server lists.
    known: Vec<&'static Gate>,
}

/// What the gates are that a set does not name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Others {
    /// As in a minor release.
    OfRelease(u32),
    On,
    Off,
}

/// A set in which every gate is off.
pub static NO_GATES: GateSet = GateSet { others: Others::Off, changed: Vec::new(), known: Vec::new() };

/// A set in which every gate is on.
pub static ALL_GATES: GateSet = GateSet { others: Others::On, changed: Vec::new(), known: Vec::new() };

impl GateSet {
    /// The defaults of a minor release.
    pub const fn of_release(minor: u32) -> GateSet {
        GateSet { others: Others::OfRelease(minor), changed: Vec::new(), known: Vec::new() }
    }

    /// These gates are on, all others are off, whatever their release or the gates that they require: for tests.
    pub fn only(gates: impl IntoIterator<Item = &'static Gate>) -> GateSet {
        gates.into_iter().fold(NO_GATES.clone(), |set, gate| set.with(gate, true))
    }

    /// These gates are off, all others are on: for tests.
    pub fn all_but(gates: impl IntoIterator<Item = &'static Gate>) -> GateSet {
        gates.into_iter().fold(ALL_GATES.clone(), |set, gate| set.with(gate, false))
    }

    /// The same set, except for one gate.
    #[must_use]
    pub fn with(mut self, gate: &'static Gate, value: bool) -> GateSet {
        self.put(gate, value);
        self
    }

    /// Whether a gate is on.
    #[inline]
    pub fn is_on(&self, gate: &Gate) -> bool {
        match self.changed.binary_search_by_key(&gate.id, |(gate, _)| gate.id) {
            Ok(at) => self.changed[at].1,
            Err(_) => self.unchanged(gate),
        }
    }

    fn unchanged(&self, gate: &Gate) -> bool {
        match self.others {
            Others::OfRelease(minor) => gate.default_in(minor),
            Others::On => true,
            Others::Off => false,
        }
    }

    fn put(&mut self, gate: &'static Gate, value: bool) {
        let differs = value != self.unchanged(gate);
        match self.changed.binary_search_by_key(&gate.id, |(gate, _)| gate.id) {
            Ok(at) if differs => self.changed[at].1 = value,
            Ok(at) => drop(self.changed.remove(at)),
            Err(at) if differs => self.changed.insert(at, (gate, value)),
            Err(_) => {}
        }
    }

    /// The gates that the server lists and the release has, in the order of their names, with their values.
    pub fn listed(&self) -> impl Iterator<Item = (&'static Gate, &'static Spec, bool)> {
        let minor = match self.others {
            Others::OfRelease(minor) => minor,
            Others::On | Others::Off => CURRENT_MINOR,
        };
        let known = self.known.iter();
        known.filter_map(move |gate| Some((*gate, gate.spec(minor)?, self.is_on(gate))))
    }

    /// The gates of features that are alpha and enabled, in the order of their names.
    pub fn alpha(&self) -> impl Iterator<Item = &'static Gate> {
        self.listed().filter(|(_, spec, on)| *on && spec.stage == Alpha).map(|(gate, ..)| gate)
    }

    /// The gates whose values differ from the defaults, in the order of their names.
    pub fn changed(&self) -> Vec<(&'static Gate, bool)> {
        let mut changed = self.changed.clone();
        changed.sort_by_key(|(gate, _)| gate.name);
        changed
    }
}

impl Default for GateSet {
    /// The defaults of the current release.
    fn default() -> Self {
        GateSet::of_release(CURRENT_MINOR)
    }
}

impl fmt::Debug for GateSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.changed()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::Stage::{Alpha, Beta, Ga};
    use super::*;

    crate::gates! {
        /// The gates of this test.
        OWN {
            /// From alpha to locked.
            OLD = "Old": alpha(31), beta(33), ga_locked(35);
            NEW = "New" requires [OLD]: alpha(36);
        }
    }

    fn gates() -> FeatureGates {
        FeatureGates::of(OWN.iter().copied())
    }

    #[test]
    fn defaults_are_those_of_the_release() {
        let rows = [(30, false, false), (31, false, false), (33, true, false), (36, true, false)];
        for (minor, old, new) in rows {
            let set = gates().resolve(EffectiveVersion::emulating(minor)).expect("valid");
            assert_eq!((set.is_on(&OLD), set.is_on(&NEW)), (old, new), "1.{minor}");
        }
        assert!(GateSet::default().is_on(&OLD) && !NO_GATES.is_on(&OLD));
        assert!(GateSet::only([&NEW]).is_on(&NEW) && !GateSet::only([&NEW]).is_on(&OLD));
        assert!(!GateSet::all_but([&NEW]).is_on(&NEW) && GateSet::all_but([&NEW]).is_on(&OLD));
    }

    #[test]
    fn the_last_value_counts_if_the_release_allows_it() {
        let set = |minor, values: &[(&'static Gate, bool)]| {
            let mut gates = gates();
            values.iter().for_each(|(gate, value)| gates.set(gate, *value));
            gates.resolve(EffectiveVersion::emulating(minor)).map_err(|error| error.to_string())
        };
        let on = set(36, &[(&NEW, false), (&NEW, true)]).expect("valid");
        assert_eq!((on.changed(), on.alpha().collect::<Vec<_>>()), (vec![(&NEW, true)], vec![&NEW]));
        assert!(set(36, &[(&NEW, true), (&NEW, false)]).expect("valid").changed().is_empty());
        let locked = "cannot set feature gate Old to false, feature is locked to true";
        assert_eq!(set(36, &[(&OLD, false)]), Err(locked.to_owned()));
        assert!(set(36, &[(&OLD, true)]).is_ok());
        let absent = "cannot set feature gate New to true, feature is PreAlpha at emulated version 1.34, min \
                      compatibility version 1.33";
        assert_eq!(set(34, &[(&NEW, true)]), Err(absent.to_owned()));
        const NEWER: Gate = Gate::new("Newer", &[alpha(36)]).requiring(&[&NEW]);
        let missing = "Newer is enabled, but depends on features that are disabled: [New]";
        assert_eq!(set(36, &[(&NEWER, true)]), Err(missing.to_owned()));
        let all = set(36, &[(&NEWER, false), (&ALL_ALPHA, true), (&ALL_BETA, false)]).expect("valid");
        assert!(all.is_on(&NEW) && all.is_on(&ALL_ALPHA) && !all.is_on(&NEWER) && all.is_on(&OLD));
    }

    #[test]
    fn gates_are_listed_by_name_as_the_release_has_them() {
        let set = gates().resolve(EffectiveVersion::emulating(35)).expect("valid");
        let listed: Vec<_> = set.listed().map(|(gate, spec, on)| (gate.name(), spec.stage(), on)).collect();
        let expected = [
            ("AllAlpha", Alpha, false),
            ("AllBeta", Beta, false),
            ("DeclarativeValidation", Beta, true),
            ("DeclarativeValidationTakeover", Beta, false),
            ("Old", Ga, true),
        ];
        assert_eq!(listed, expected);
    }
}
