//! Inconsistent IPAddresses and port maps: repaired or reported.
//!
//! What another program left behind is written into the store past the registry.

use super::{Server, strings};
use crate::InLine;
use pintle_registry::Target;
use pintle_schema::{Value, value};
use pintle_storage::{Expect, Transaction};
use std::collections::BTreeSet;

impl Server {
    /// Stores an object as another program would, or removes it.
    fn commit(&self, target: &Target, object: Option<&Value>) {
        let record = object.map(|object| self.0.record(target, object));
        let transaction = Transaction::one(target.key().into(), Expect::Any, record);
        self.0.store.commit(transaction).wait().unwrap();
    }

    /// Carries repairs out; what is reported of them.
    fn repair(&self, in_line: Option<InLine>) -> (Vec<String>, Option<InLine>) {
        let (repairs, in_line) = self.allocation().address_repairs(in_line).unwrap();
        let mut told = Vec::new();
        for repair in repairs {
            for write in repair.writes {
                self.0.store.commit(Transaction::of(vec![write])).wait().unwrap();
            }
            told.extend(repair.finding.map(|it| format!("{} {}: {}", it.action, it.reason, it.note)));
        }
        (told, in_line)
    }
}

#[test]
fn addresses_are_brought_in_line_with_services() {
    let server = Server::small();
    let service = server.create("a", value!({})).unwrap();
    let ip = strings(&service, "clusterIPs").remove(0);
    let address = |name: &str| server.target("networking.k8s.io", "ipaddresses", "", name);
    let commit = |name: &str, object: Option<&Value>| server.commit(&address(name), object);
    let stored = |name: &str| server.0.decode(&address(name), &address(name).get().unwrap()).unwrap();
    let right = stored(&ip);
    let repair = |in_line| server.repair(in_line);
    let (told, in_line) = repair(None);
    assert!(told.is_empty() && in_line.is_some() && repair(in_line) == (told, in_line));

    commit(&ip, None);
    let told =
        format!("ClusterIPAllocation ClusterIPNotAllocated: Cluster IP [IPv4]: {ip} is not allocated; repairing");
    assert_eq!((repair(in_line), server.addresses().len()), ((vec![told], None), 1));
    assert_eq!(stored(&ip).get("spec"), right.get("spec"));

    let leaked = |name: &str, made: &str, managed_by: &str, parent: &str| {
        let mut object = right.clone();
        object.set_at(&["spec", "parentRef", "name"], parent);
        object.set_at(&["metadata", "name"], name);
        object.set_at(&["metadata", "creationTimestamp"], made);
        object.set_at(&["metadata", "labels", "ipaddress.kubernetes.io/managed-by"], managed_by);
        commit(name, Some(&object));
    };
    leaked("10.0.0.76", "2023-11-14T22:12:00Z", "ipallocator.k8s.io", "a");
    leaked("10.0.0.77", "2023-11-14T22:13:00Z", "ipallocator.k8s.io", "gone");
    leaked("10.0.0.78", "2023-11-14T22:12:00Z", "ipallocator.k8s.io", "gone");
    leaked("10.0.0.79", "2023-11-14T22:12:00Z", "somebody", "gone");
    let mut modified = right.clone();
    modified.set_at(&["spec", "parentRef", "resource"], "pods");
    modified.set_at(&["metadata", "name"], "10.0.0.80");
    commit("10.0.0.80", Some(&modified));
    let (told, in_line) = repair(None);
    assert_eq!(in_line, None, "what is young is looked at again");
    assert_eq!(
        told,
        [
            "IPAddressAllocation IPAddressWrongReference: IPAddress: 10.0.0.76 for Service default/a has a wrong reference; cleaning up",
            "IPAddressAllocation IPAddressNotAllocated: IPAddress: 10.0.0.78 for Service default/gone appears to have leaked: cleaning up",
            "IPAddressAllocation IPAddressNotAllocated: IPAddress 10.0.0.80 appears to have been modified, not referencing a Service \
             &ParentReference{Group:,Resource:pods,Namespace:default,Name:a,}: cleaning up",
        ]
    );
    assert_eq!(server.addresses(), [&ip, "10.0.0.77", "10.0.0.79"].map(str::to_owned).into());
}

/// What another program wrote: addresses that stand for something else, are shared, or are of no range.
#[test]
fn wrong_addresses_of_services_are_repaired_or_reported() {
    let server = Server::small();
    let a = server.create("a", value!({"clusterIP": "10.0.0.5"})).unwrap();
    let address = || server.target("networking.k8s.io", "ipaddresses", "", "10.0.0.5");
    let stored = || server.0.decode(&address(), &address().get().unwrap()).unwrap();
    let right = stored();
    let looked = || server.allocation().address_repairs(None).unwrap().0;
    let repair = || server.repair(None).0;
    let wrong_reference = "ClusterIPAllocation ClusterIPNotAllocated: the ClusterIP [IPv4]: 10.0.0.5 for Service \
                           default/a has a wrong reference; repairing";
    for (path, value, told) in [
        (["spec", "parentRef", "name"], "gone", vec![wrong_reference]),
        (["spec", "parentRef", "resource"], "pods", vec![wrong_reference]),
        (["metadata", "labels", "ipaddress.kubernetes.io/managed-by"], "me", vec![]),
        (["metadata", "labels", "ipaddress.kubernetes.io/ip-family"], "IPv6", vec![]),
    ] {
        let mut wrong = right.clone();
        wrong.set_at(&path, value);
        server.commit(&address(), Some(&wrong));
        assert_eq!(repair(), told, "{path:?}");
        for part in [&["spec"][..], &["metadata", "labels"]] {
            assert_eq!(stored().at(part), right.at(part), "{path:?}");
        }
        assert!(looked().is_empty());
    }
    assert_ne!(stored().str_at(&["metadata", "uid"]), right.str_at(&["metadata", "uid"]));

    let mut b = a.clone();
    b.set_at(&["metadata", "name"], "b");
    server.commit(&server.service("b"), Some(&b));
    let mut c = b.clone();
    c.set_at(&["metadata", "name"], "c");
    c.set_at(&["spec", "clusterIP"], "10.1.0.1");
    c.set_at(&["spec", "clusterIPs"], vec![Value::from("10.1.0.1")]);
    server.commit(&server.service("c"), Some(&c));
    let told = [
        "ClusterIPAllocation ClusterIPAlreadyAllocated: Cluster IP [IPv4]:10.0.0.5 was assigned to multiple services; \
         please recreate service",
        "ClusterIPAllocation ClusterIPOutOfRange: Cluster IP [IPv4]: 10.1.0.1 is not within any configured Service \
         CIDR; please recreate service",
    ];
    assert_eq!((repair(), repair()), (told.map(str::to_owned).into(), told.map(str::to_owned).into()));
    assert_eq!(server.addresses(), BTreeSet::from(["10.0.0.5".to_owned()]));
    let regarding = looked().remove(0).finding.unwrap().regarding;
    assert_eq!(regarding.str_at(&["metadata", "name"]), "b");
}

#[test]
fn duplicate_and_invalid_node_ports_are_reported() {
    let server = Server::small();
    let port = |port: i64| value!({"type": "NodePort", "ports": [{"port": 80, "nodePort": port}]});
    let a = server.create("a", port(30_001)).unwrap();
    assert!(server.allocation().node_port_findings().unwrap().is_empty());
    for (name, number) in [("b", 30_001), ("c", 40_000)] {
        let mut copy = a.clone();
        copy.set_at(&["metadata", "name"], name);
        copy.set_at(&["spec"], port(number));
        server.commit(&server.service(name), Some(&copy));
    }
    let told = server
        .allocation()
        .node_port_findings()
        .unwrap()
        .into_iter()
        .map(|it| format!("{} {}: {}", it.regarding.str_at(&["metadata", "name"]), it.reason, it.note));
    assert_eq!(
        told.collect::<Vec<_>>(),
        [
            "b PortAlreadyAllocated: Port 30001 was assigned to multiple services; please recreate service",
            "c PortOutOfRange: Port 40000 is not within the port range 30000-32767; please recreate service",
        ]
    );
}
