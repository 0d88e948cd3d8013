//! The flags of controllers. Guarantees that an unknown controller is rejected. Must never decide what a controller
//! does.

use super::config::{Config, with_defaults};
use super::table::Flag;
use super::values;
use pintle_controllers::Controller;

with_defaults! {
    /// Which controllers run.
    pub struct ControllerNames {
        /// The controllers that `*` stands for.
        pub by_default: Vec<Controller> = Controller::beside_others(),
        /// The items of all `--controllers` flags.
        items: Vec<String>,
    }
}

fn controllers(config: &mut Config, value: &str) -> Result<(), String> {
    config.controller_names.items.extend(values::list(value).map(str::to_owned));
    let items = config.controller_names.items.iter().map(String::as_str);
    let by_default = &config.controller_names.by_default;
    config.controllers.enabled = Controller::select(items, by_default).map_err(|error| error.to_string())?;
    Ok(())
}

/// The flags, in the order of the help.
pub static CONTROLLER_FLAGS: &[Flag] = &[
    Flag::read(
        "controllers",
        "NAME,...",
        "Controllers to run in this process: '*' is all that are on by default, 'foo' is one, '-foo' is all but \
         one, and an empty list is none. Without a command all are on by default. With the command serve those are off \
         that kube-controller-manager has for every namespace or for bootstrap objects: \
         serviceaccount-controller, root-ca-certificate-publisher-controller, clusterrole-aggregation-controller and \
         token-cleaner-controller. The others are namespace-controller, garbage-collector-controller, \
         event-ttl-controller, resourcequota-controller, ttl-after-finished-controller, \
         legacy-serviceaccount-token-cleaner-controller, storage-version-migrator-controller, \
         validatingadmissionpolicy-status-controller and storageversion-garbage-collector-controller. Default: *.",
        controllers,
    ),
    Flag::new(
        "controllers-settle-time",
        |c| &mut c.controllers.settle_time,
        "How long a controller waits after a change before it acts on it.",
    ),
    Flag::new("event-ttl", |c| &mut c.controllers.event_ttl, "How long events are kept; 0 is forever."),
];
