//! The controllers' names, and which of them a list of names turns on.
//! Guarantees kube-controller-manager's reading of such lists; an unknown name is an error.
//! Must never know what a controller does.

use std::fmt;

/// A controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Controller {
    /// Empties namespaces that are being deleted and lets them go.
    Namespace,
    /// Deletes objects whose owners are gone; carries out foreground deletion and orphaning.
    GarbageCollector,
    /// Removes events when their time is over.
    EventTtl,
}

/// A name that no controller has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownController(pub String);

impl fmt::Display for UnknownController {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is not in the list of known controllers", self.0)
    }
}

impl std::error::Error for UnknownController {}

impl Controller {
    pub const ALL: [Controller; 3] = [Controller::Namespace, Controller::GarbageCollector, Controller::EventTtl];

    /// The name, and the short one that is understood as well.
    pub const fn names(self) -> (&'static str, &'static str) {
        match self {
            Controller::Namespace => ("namespace-controller", "namespace"),
            Controller::GarbageCollector => ("garbage-collector-controller", "garbagecollector"),
            Controller::EventTtl => ("event-ttl-controller", "event-ttl"),
        }
    }

    /// The controllers that a list turns on: `foo` turns one on, `-foo` off, `*` all that are not named.
    ///
    /// # Errors
    /// An item names no controller.
    pub fn select<'a>(items: impl IntoIterator<Item = &'a str>) -> Result<Vec<Controller>, UnknownController> {
        let (mut named, mut all) = (Vec::new(), None);
        for item in items {
            let (name, on) = item.strip_prefix('-').map_or((item, true), |name| (name, false));
            if name == "*" {
                all = all.or(Some(on));
                continue;
            }
            let known = Controller::ALL.into_iter().find(|controller| {
                let (long, short) = controller.names();
                name == long || name == short
            });
            named.push((known.ok_or_else(|| UnknownController(name.to_owned()))?, on));
        }
        // What is named first counts.
        let is_on = |controller: &Controller| {
            let by_name = named.iter().find(|(named, _)| named == controller).map(|(_, on)| *on);
            by_name.or(all).unwrap_or(false)
        };
        Ok(Controller::ALL.into_iter().filter(is_on).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Controller::{EventTtl, GarbageCollector, Namespace};

    #[test]
    fn lists_turn_controllers_on_and_off() {
        let rows: [(&[&str], &[Controller]); 8] = [
            (&["*"], &Controller::ALL),
            (&[], &[]),
            (&["-*"], &[]),
            (&["namespace-controller"], &[Namespace]),
            (&["garbagecollector", "event-ttl"], &[GarbageCollector, EventTtl]),
            (&["*", "-namespace"], &[GarbageCollector, EventTtl]),
            (&["-namespace"], &[]),
            (&["-namespace", "namespace", "*"], &[GarbageCollector, EventTtl]),
        ];
        for (items, expected) in rows {
            assert_eq!(Controller::select(items.iter().copied()).as_deref(), Ok(expected), "{items:?}");
        }
        let error = Controller::select(["*", "-deployment"]).expect_err("unknown");
        assert_eq!(error.to_string(), "\"deployment\" is not in the list of known controllers");
    }
}
