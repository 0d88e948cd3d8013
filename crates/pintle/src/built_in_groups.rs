//! The built-in groups: which of their versions and resources are served, and the kinds that have no resource. Must
//! never decide it by the order in which groups are added.

use pintle_discovery::KnownVersions;
use pintle_endpoints::runtime_config::RuntimeConfig;
use pintle_handlers::KubernetesKinds;
use pintle_schema::GateSet;
use pintle_server::Builder;
use std::sync::Arc;

/// Adds the groups before those that there are, and serves of all groups what the configuration says.
pub(crate) fn prepare(generic: &mut Builder, config: RuntimeConfig, gates: Arc<GateSet>) {
    let version = config.version;
    generic.serve_only(move |resource| {
        let group = pintle_groups::groups().iter().find(|group| group.name == resource.group);
        config.serves(resource, group, &gates)
    });
    let groups = pintle_groups::groups().iter().map(|group| group.clone().kept_for(version.compatibility_minor));
    generic.prepend_groups(groups);
    generic.set_kinds(KubernetesKinds);
    generic.set_known_versions(KnownVersions {
        all: pintle_groups::KNOWN_VERSIONS,
        not_of_custom: pintle_groups::NOT_OF_CUSTOM,
    });
}
