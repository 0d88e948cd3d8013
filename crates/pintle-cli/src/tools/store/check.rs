//! Checks the content of a store: finds objects that cannot be decoded, have the wrong key, or share a unique value.
//! Guarantees that every object is checked, even if others are invalid. Must never change anything.

use super::location::{Content, report, resource_of};
use crate::progress::{Progress, Total};
use pintle_cache::EncodedObject;
use pintle_codec::{Strictness, json};
use pintle_resource::{Resource, Storage};
use pintle_schema::{ApiValue, Value, View};
use pintle_storage::Record;
use pintle_types::core::v1::Service;
use pintle_types::meta::v1::ObjectMeta;
use pintle_types::networking::v1::IPAddress;
use std::collections::HashMap;

/// A key and the problem of its object.
pub type Problem = (String, String);

/// Checks everything.
pub fn problems(content: &Content) -> Vec<Problem> {
    let mut checker = Checker::default();
    for unreadable in &content.unreadable {
        checker.report(&unreadable.key, format!("cannot be read: {}", unreadable.reason));
    }
    let total = Total::Objects(content.records.len() as u64);
    let mut progress = Progress::new("checking", total, report);
    for record in content.records.values() {
        progress.object(0);
        if let Some((resource, storage)) =
            resource_of(&record.key).as_deref().and_then(|it| Some((it, it.storage.as_ref()?)))
        {
            checker.object(record, resource, storage);
        }
    }
    checker.addresses();
    checker.problems.sort();
    checker.problems
}

#[derive(Default)]
struct Checker {
    problems: Vec<Problem>,
    /// The owners of unique values.
    owners: HashMap<String, String>,
    /// Addresses, with the keys of their services.
    services: Vec<(String, String)>,
    /// The same, from the IPAddress objects.
    allocated: HashMap<String, String>,
}

impl Checker {
    fn report(&mut self, key: &str, problem: impl Into<String>) {
        self.problems.push((key.to_owned(), problem.into()));
    }

    /// Records that a key has a unique value.
    fn claim(&mut self, key: &str, what: String) {
        if let Some(other) = self.owners.get(&what).filter(|other| *other != key) {
            let problem = format!("{what} is also that of {other}");
            self.report(key, problem);
            return;
        }
        self.owners.insert(what, key.to_owned());
    }

    fn object(&mut self, record: &Record, resource: &Resource, storage: &Storage) {
        let key = &*record.key;
        let encoded = record.value.as_ref().map(|value| EncodedObject::from_record(value, record.revision));
        let Some(Ok(encoded)) = encoded else {
            return self.report(key, "is no object: the record is damaged or of an unknown format");
        };
        let decoded = match json::decode(&storage.schema, encoded.as_written(), Strictness::Collect) {
            Ok(decoded) => decoded,
            Err(error) => return self.report(key, format!("cannot be decoded: {error}")),
        };
        decoded.problems.iter().for_each(|problem| self.report(key, format!("does not fit its schema: {problem}")));
        let object = decoded.value;
        let (api_version, kind) = (object.str_at(&["apiVersion"]), object.str_at(&["kind"]));
        if (api_version, kind) != (&storage.api_version, &storage.kind) {
            let problem = format!("is a {kind} of {api_version}, not a {} of {}", storage.kind, storage.api_version);
            self.report(key, problem);
        }
        let none = Value::map();
        let metadata = View::<ObjectMeta>::new(object.get("metadata").unwrap_or(&none));
        let text = |field| metadata.field(field).get();
        let (namespace, name, uid) = (text(ObjectMeta::NAMESPACE), text(ObjectMeta::NAME), text(ObjectMeta::UID));
        if storage.key(&namespace, &name) != key || namespace.is_empty() == resource.namespaced {
            self.report(key, format!("holds the object {name:?} of namespace {namespace:?}"));
        }
        let labels = metadata.field(ObjectMeta::LABELS).get();
        if !encoded.labels().eq(labels.iter().map(|(key, value)| (key.as_str(), value.as_str())))
            || encoded.uid() != uid
        {
            self.report(key, "has a header that tells another uid or other labels than the object");
        }
        if uid.is_empty() {
            self.report(key, "has no uid");
        } else {
            self.claim(key, format!("uid {uid}"));
        }
        match storage.kind.as_str() {
            "Service" => self.service(key, &namespace, &name, &object),
            "IPAddress" => self.address(key, &name, &object),
            _ => {}
        }
    }

    fn service(&mut self, key: &str, namespace: &str, name: &str, object: &Value) {
        let Ok(service) = Service::from_value(object) else { return };
        for address in service.spec.cluster_ips.iter().filter(|address| !matches!(address.as_str(), "" | "None")) {
            self.claim(key, format!("cluster IP {address}"));
            self.services.push((address.clone(), format!("{namespace}/{name}")));
        }
        let ports = service.spec.ports.iter().map(|port| port.node_port);
        let mut ports: Vec<i32> =
            ports.chain([service.spec.health_check_node_port]).filter(|port| *port != 0).collect();
        // One service may have a port under several protocols.
        ports.sort_unstable();
        ports.dedup();
        ports.into_iter().for_each(|port| self.claim(key, format!("node port {port}")));
    }

    fn address(&mut self, key: &str, name: &str, object: &Value) {
        let Ok(address) = IPAddress::from_value(object) else { return };
        let parent = address.spec.parent_ref;
        let is_allocated = address.metadata.labels.contains_key("ipaddress.kubernetes.io/managed-by");
        match parent.filter(|parent| parent.group.is_empty() && parent.resource == "services") {
            Some(parent) => {
                drop(self.allocated.insert(name.to_owned(), format!("{}/{}", parent.namespace, parent.name)))
            }
            // Other objects than services may have an IPAddress, but these are not allocated.
            None if is_allocated => self.report(key, "stands for the address of nothing that could have one"),
            None => {}
        }
    }

    /// Checks that services and IPAddress objects match.
    fn addresses(&mut self) {
        let key = |address: &str| format!("/registry/ipaddresses/{address}");
        let mut allocated = std::mem::take(&mut self.allocated);
        for (address, service) in std::mem::take(&mut self.services) {
            match allocated.remove(&address) {
                Some(owner) if owner == service => {}
                Some(owner) => self.report(&key(&address), format!("belongs to service {owner}, and {service} has it")),
                None => self.report(&key(&address), format!("is missing: service {service} has it")),
            }
        }
        for (address, service) in allocated {
            self.report(&key(&address), format!("belongs to service {service}, which does not have it"));
        }
    }
}
