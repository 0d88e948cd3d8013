//! `--etcd-servers-overrides`: resources that are stored in etcd clusters of their own.
//! Guarantees that a resource is moved only if no transaction and no decision needs it in the main cluster.
//! Must never connect: that the clusters exist is found out at the start.

use super::setting::Word;
use super::storage::is_server_url;
use pintle_resource::{Resource, Verbs};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A resource of a group, or all with `*`, and the servers of its cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServersOverride {
    group: String,
    resource: String,
    servers: Vec<String>,
}

/// The resources of one cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnCluster {
    pub servers: Vec<String>,
    /// Each `/registry/.../`.
    pub prefixes: Vec<Box<str>>,
}

/// The resources that cannot be moved, with the reason.
const CONNECTED: &[(&str, &str, &str)] = &[
    ("", "namespaces", "objects are created only in a namespace that exists"),
    ("", "resourcequotas", "quotas are charged together with what they count"),
    ("", "services", ADDRESSES),
    ("networking.k8s.io", "ipaddresses", ADDRESSES),
    ("networking.k8s.io", "servicecidrs", ADDRESSES),
    ("apiextensions.k8s.io", "customresourcedefinitions", "custom resources are written under their definition"),
    ("apiregistration.k8s.io", "apiservices", "kube-apiserver keeps them in the main cluster, too"),
];

const ADDRESSES: &str = "services and their addresses are written together";

impl Word for ServersOverride {
    const SHAPE: &'static str = "GROUP/RESOURCE#URL;URL";

    fn read(text: &str) -> Result<Self, String> {
        let parts = || {
            let (name, servers) = text.split_once('#')?;
            let (group, resource) = name.split_once('/')?;
            let servers: Vec<String> = servers.split(';').map(str::to_owned).collect();
            let is_good = !resource.contains('/') && servers.iter().all(|url| is_server_url(url) && !url.contains('#'));
            is_good.then(|| ServersOverride { group: group.to_owned(), resource: resource.to_owned(), servers })
        };
        parts().ok_or_else(|| {
            "must be of format: group/resource#servers, where servers are URLs, semicolon separated".to_owned()
        })
    }

    fn write(&self) -> String {
        format!("{}/{}#{}", self.group, self.resource, self.servers.join(";"))
    }
}

impl ServersOverride {
    /// The resources that it moves.
    fn resources(&self) -> Result<Vec<&'static Arc<Resource>>, String> {
        let ServersOverride { group, resource: plural, .. } = self;
        let is_named = |one: &Resource| one.group == *group && (plural == "*" || one.plural == *plural);
        let is_stored = |one: &Resource| one.storage.is_some() && one.verbs != Verbs::NONE;
        let named: Vec<_> = pintle_groups::all().filter(|one| is_named(one) && is_stored(one)).collect();
        let owns = |one: &Resource| owner(one).is_some_and(|owner| owner.group == one.group);
        let moved: Vec<_> = named.iter().copied().filter(|one| owns(one)).collect();
        if let (true, Some(other)) = (moved.is_empty(), named.first().and_then(|one| owner(one))) {
            return Err(format!("{group}/{plural} is stored as {}/{}", other.group, other.plural));
        }
        if moved.is_empty() {
            return Err(format!("{group}/{plural} is no resource of a built-in group that is stored"));
        }
        let is_moved = |(group, plural, _): &&(&str, &str, &str)| {
            moved.iter().any(|one| one.group == *group && one.plural == *plural)
        };
        match CONNECTED.iter().find(is_moved) {
            Some((group, plural, why)) => Err(format!("{group}/{plural} has to be in the main cluster: {why}")),
            None => Ok(moved),
        }
    }
}

/// The resource of the first group, in the order of discovery, that has the same objects: kube-apiserver moves them by its
/// name.
fn owner(resource: &Resource) -> Option<&'static Arc<Resource>> {
    let prefix = |one: &Resource| one.storage.as_ref().map(|storage| storage.prefix.clone());
    pintle_groups::all().find(|one| prefix(one) == prefix(resource))
}

/// The clusters with their resources, in the order in which their servers are named first. As in kube-apiserver a resource
/// has precedence over its group, and a later override of the same name over an earlier one.
///
/// # Errors
/// A resource cannot be moved; half a sentence that can follow the flag's name.
pub fn clusters(overrides: &[ServersOverride]) -> Result<Vec<OwnCluster>, String> {
    let mut clusters: Vec<OwnCluster> = Vec::new();
    let mut places: BTreeMap<Box<str>, usize> = BTreeMap::new();
    let (groups, single): (Vec<_>, Vec<_>) = overrides.iter().partition(|one| one.resource == "*");
    let sorted = |servers: &[String]| {
        let mut servers = servers.to_vec();
        servers.sort();
        servers
    };
    let place = |clusters: &[OwnCluster], servers: &[String]| {
        clusters.iter().position(|cluster| sorted(&cluster.servers) == sorted(servers))
    };
    for one in overrides {
        if place(&clusters, &one.servers).is_none() {
            clusters.push(OwnCluster { servers: one.servers.clone(), prefixes: Vec::new() });
        }
    }
    for one in groups.into_iter().chain(single) {
        let Some(place) = place(&clusters, &one.servers) else { continue };
        for resource in one.resources()? {
            let prefix = resource.storage.as_ref().map(|storage| Box::from(storage.prefix.as_str()));
            places.extend(prefix.map(|prefix| (prefix, place)));
        }
    }
    for (prefix, place) in places {
        clusters.get_mut(place).into_iter().for_each(|cluster| cluster.prefixes.push(prefix.clone()));
    }
    // Of those whose resources another override has taken, nothing is left.
    clusters.retain(|cluster| !cluster.prefixes.is_empty());
    Ok(clusters)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flags::setting::Setting;

    fn read(text: &str) -> Result<Vec<(String, String)>, String> {
        let mut overrides: Vec<ServersOverride> = Vec::new();
        overrides.set(text)?;
        assert_eq!(overrides.shown(), text);
        let clusters = clusters(&overrides)?;
        Ok(clusters.iter().map(|cluster| (cluster.servers.join(";"), cluster.prefixes.join(" "))).collect())
    }

    #[test]
    fn resources_are_grouped_by_their_servers() {
        let rows: [(&str, &[(&str, &str)]); 6] = [
            ("", &[]),
            ("/events#http://a:1", &[("http://a:1", "/registry/events/")]),
            (
                "/events#http://a:1;https://b:2,apps/deployments#c:3,coordination.k8s.io/leases#https://b:2;http://a:1",
                &[("http://a:1;https://b:2", "/registry/events/ /registry/leases/"), ("c:3", "/registry/deployments/")],
            ),
            ("/events#http://a:1,/events#http://b:1", &[("http://b:1", "/registry/events/")]),
            (
                "scheduling.k8s.io/priorityclasses#b:1,scheduling.k8s.io/priorityclasses#a:1,scheduling.k8s.io/priorityclasses#b:1",
                &[("b:1", "/registry/priorityclasses/")],
            ),
            (
                "batch/jobs#http://a:1,batch/*#http://b:1",
                &[("http://a:1", "/registry/jobs/"), ("http://b:1", "/registry/cronjobs/")],
            ),
        ];
        for (text, expected) in rows {
            let found = read(text).expect(text);
            let found: Vec<_> = found.iter().map(|(servers, prefixes)| (servers.as_str(), prefixes.as_str())).collect();
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn what_cannot_be_moved_is_refused() {
        const FORMAT: &str = "must be of format: group/resource#servers, where servers are URLs, semicolon separated";
        for (text, why) in [
            ("events#http://a:1", FORMAT),
            ("/events", FORMAT),
            ("/events#", FORMAT),
            ("/events#http://a:1;", FORMAT),
            ("/events#http://a:1#b", FORMAT),
            ("/events#ftp://a", FORMAT),
            ("a/b/c#http://a:1", FORMAT),
            ("/events#http://a:1,", FORMAT),
            ("events.k8s.io/events#http://a:1", "events.k8s.io/events is stored as /events"),
            ("/nothing#http://a:1", "/nothing is no resource of a built-in group that is stored"),
            (
                "authorization.k8s.io/subjectaccessreviews#http://a:1",
                "authorization.k8s.io/subjectaccessreviews is no resource of a built-in group that is stored",
            ),
            (
                "/services#http://a:1",
                "/services has to be in the main cluster: services and their addresses are written together",
            ),
            (
                "/*#http://a:1",
                "/namespaces has to be in the main cluster: objects are created only in a namespace that exists",
            ),
        ] {
            assert_eq!(read(text), Err(why.to_owned()), "{text}");
        }
    }

    #[test]
    fn connected_resources_exist() {
        for (group, plural, _) in CONNECTED {
            let is_it = |one: &&Arc<Resource>| one.group == *group && one.plural == *plural && one.storage.is_some();
            assert!(pintle_groups::all().any(|one| is_it(&one)), "{group}/{plural}");
        }
    }
}
