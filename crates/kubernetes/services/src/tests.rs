//! Services in a registry over a store in memory: what is allocated, rejected and released.
//!
//! Requests run in the test's own threads; nothing waits for a clock.

mod repair;
mod stored;

use crate::{Allocation, Allocators};
use pintle_cache::Cache;
use pintle_codec::{Strictness, json};
use pintle_gates as gates;
use pintle_registry::update::{ManagedFieldsUpdate, Update};
use pintle_registry::{
    AdmissionChain, DeleteOptions, Environment, EtcdCodec, Payload, Registry, Result, Target, WriteOptions, Written,
};
use pintle_schema::{GateSet, Value, value};
use pintle_storage::{Expect, MemoryStore, Store, Transaction, TranscodingStore};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};

/// A pseudorandom sequence that is the same in every run.
struct Repeatable(AtomicU64);

impl Environment for Repeatable {
    fn now_unix(&self) -> i64 {
        1_700_000_000
    }

    fn random(&self, buffer: &mut [u8]) {
        for byte in buffer {
            let mut x = self.0.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
            x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            *byte = (x >> 56) as u8;
        }
    }

    fn gates(&self) -> &GateSet {
        static GATES: LazyLock<GateSet> = LazyLock::new(|| GateSet::only([&gates::STRICT_IP_CIDR_VALIDATION]));
        &GATES
    }
}

/// Blocks on a future.
fn wait<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().expect("a runtime").block_on(future)
}

struct Server(Registry, Arc<Allocators>);

impl Server {
    fn new(ranges: &[&str], node_ports: std::ops::RangeInclusive<u16>) -> Self {
        Server::over(Arc::new(MemoryStore::new()), ranges, node_ports)
    }

    fn over(store: Arc<dyn Store>, ranges: &[&str], node_ports: std::ops::RangeInclusive<u16>) -> Self {
        let cache =
            Cache::new(pintle_groups::all().filter_map(|resource| Some(resource.storage.as_ref()?.prefix.as_str())));
        store.start(Box::new(cache.writer())).unwrap();
        let admission = AdmissionChain::default();
        let environment = Box::new(Repeatable(AtomicU64::new(7)));
        let mut registry = Registry::new(cache, store, environment, admission, pintle_groups::resources());
        let allocators = Arc::new(Allocators::new(ranges.iter().copied(), node_ports));
        registry.allocators = vec![allocators.clone()];
        let server = Server(registry, allocators);
        let namespace = value!({"metadata": {"name": "default"}});
        server.create_in("", "namespaces", "", namespace, &WriteOptions::default()).unwrap();
        server
    }

    fn allocation(&self) -> Allocation<'_> {
        self.1.of(&self.0)
    }

    fn small() -> Self {
        Server::new(&["10.0.0.0/24"], 30_000..=32_767)
    }

    fn target(&self, group: &str, plural: &str, namespace: &str, name: &str) -> Target {
        self.0.target(pintle_groups::find(group, "v1", plural).unwrap(), namespace, name).unwrap()
    }

    fn service(&self, name: &str) -> Target {
        self.target("", "services", "default", name)
    }

    fn create_in(
        &self,
        group: &str,
        plural: &str,
        namespace: &str,
        object: Value,
        options: &WriteOptions,
    ) -> Result<Written> {
        let name = object.str_at(&["metadata", "name"]).to_owned();
        wait(self.0.create(&self.target(group, plural, namespace, &name), object, options))
    }

    fn value(&self, target: &Target, written: Written) -> Value {
        match written.payload {
            Payload::Stored(stored) => self.0.decode(target, &stored).unwrap(),
            Payload::Value(value) => *value,
        }
    }

    fn create(&self, name: &str, spec: Value) -> std::result::Result<Value, String> {
        self.create_with(name, spec, &WriteOptions::default())
    }

    /// Creates a service; without ports in its spec it gets one.
    fn create_with(&self, name: &str, mut spec: Value, options: &WriteOptions) -> std::result::Result<Value, String> {
        if spec.get("ports").is_none() && spec.str_at(&["type"]) != "ExternalName" {
            spec.set_at(&["ports"], value!([{"port": 80}]));
        }
        let service = value!({"metadata": {"name": name}, "spec": spec});
        match self.create_in("", "services", "default", service, options) {
            Ok(written) => Ok(self.value(&self.service(name), written)),
            Err(status) => Err(status.message),
        }
    }

    /// Replaces the spec that a client read, changed by a function.
    fn change(&self, name: &str, change: impl Fn(&mut Value) + Send + Sync) -> std::result::Result<Value, String> {
        let target = self.service(name);
        let change = |old: Option<&Value>| {
            let mut new = old.cloned().unwrap_or_default();
            change(new.map_entry("spec"));
            Ok(new)
        };
        let update = Update {
            change: &change,
            part: None,
            create: false,
            from_stored: true,
            owners: ManagedFieldsUpdate::Compute,
        };
        let written = wait(self.0.update(&target, &update, &WriteOptions::default()));
        written.map(|written| self.value(&target, written)).map_err(|status| status.message)
    }

    fn delete(&self, name: &str) {
        assert!(wait(self.0.delete(&self.service(name), &DeleteOptions::default())).unwrap().gone);
    }

    fn names(&self, group: &str, plural: &str) -> BTreeSet<String> {
        let target = self.target(group, plural, "", "");
        target.cache.state().objects.values().map(|object| object.name().to_owned()).collect()
    }

    fn addresses(&self) -> BTreeSet<String> {
        self.names("networking.k8s.io", "ipaddresses")
    }

    /// The addresses that services have.
    fn cluster_ips(&self) -> Vec<String> {
        let services = self.target("", "services", "", "");
        let objects = services.cache.state();
        let specs = objects.objects.values().map(|object| self.0.decode(&services, object).unwrap());
        specs.flat_map(|service| strings(&service, "clusterIPs")).filter(|ip| ip != "None").collect()
    }
}

fn strings(service: &Value, field: &str) -> Vec<String> {
    let list = service.at(&["spec", field]).and_then(Value::as_list).unwrap_or(&[]);
    list.iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

fn node_ports(service: &Value) -> Vec<i64> {
    let ports = service.at(&["spec", "ports"]).and_then(Value::as_list).unwrap_or(&[]);
    ports.iter().map(|port| port.get("nodePort").and_then(Value::as_i64).unwrap_or(0)).collect()
}

fn dry_run() -> WriteOptions {
    WriteOptions { dry_run: true, ..WriteOptions::default() }
}

#[test]
fn families_follow_from_what_is_asked_for() {
    let single: &[&str] = &["10.0.0.0/24"];
    let dual: &[&str] = &["10.0.0.0/24", "fd00::/112"];
    let six: &[&str] = &["fd00::/112", "10.0.0.0/24"];
    // cluster, spec, ipFamilyPolicy, ipFamilies, families of the addresses
    let rows: &[(&[&str], Value, &str, &str, &str)] = &[
        (single, value!({}), "SingleStack", "IPv4", "4"),
        (single, value!({"ipFamilyPolicy": "PreferDualStack"}), "PreferDualStack", "IPv4", "4"),
        (single, value!({"clusterIP": "None", "selector": {"a": "b"}}), "SingleStack", "IPv4", "None"),
        (single, value!({"clusterIP": "None"}), "RequireDualStack", "IPv4 IPv6", "None"),
        (single, value!({"clusterIP": "None", "ipFamilyPolicy": "SingleStack"}), "SingleStack", "IPv4", "None"),
        (single, value!({"clusterIP": "None", "ipFamilies": ["IPv6"]}), "RequireDualStack", "IPv6 IPv4", "None"),
        (single, value!({"type": "ExternalName", "externalName": "x.y"}), "", "", ""),
        (dual, value!({}), "SingleStack", "IPv4", "4"),
        (six, value!({}), "SingleStack", "IPv6", "6"),
        (dual, value!({"ipFamilies": ["IPv6"]}), "SingleStack", "IPv6", "6"),
        (dual, value!({"ipFamilyPolicy": "RequireDualStack"}), "RequireDualStack", "IPv4 IPv6", "4 6"),
        (six, value!({"ipFamilyPolicy": "PreferDualStack"}), "PreferDualStack", "IPv6 IPv4", "6 4"),
        (
            dual,
            value!({"ipFamilyPolicy": "PreferDualStack", "ipFamilies": ["IPv6"]}),
            "PreferDualStack",
            "IPv6 IPv4",
            "6 4",
        ),
        (dual, value!({"clusterIP": "fd00::5"}), "SingleStack", "IPv6", "6"),
    ];
    for (ranges, spec, policy, families, addresses) in rows {
        let server = Server::new(ranges, 30_000..=32_767);
        let mut spec = spec.clone();
        spec.set_at(&["ports"], value!([{"port": 80}]));
        let service = server.create("a", spec.clone()).unwrap();
        assert_eq!(service.str_at(&["spec", "ipFamilyPolicy"]), *policy, "{spec:?}");
        assert_eq!(strings(&service, "ipFamilies").join(" "), *families, "{spec:?}");
        let ips = strings(&service, "clusterIPs");
        let kinds = ips.iter().map(|ip| match ip.as_str() {
            "None" => "None",
            ip if ip.contains(':') => "6",
            _ => "4",
        });
        assert_eq!(kinds.collect::<Vec<_>>().join(" "), *addresses, "{spec:?}");
        assert_eq!(service.str_at(&["spec", "clusterIP"]), ips.first().map_or("", String::as_str));
        let registered: BTreeSet<String> = ips.into_iter().filter(|ip| ip != "None").collect();
        assert_eq!(server.addresses(), registered);
    }
}

#[test]
fn unavailable_values_are_rejected_with_the_messages_of_kube_apiserver() {
    let rows = [
        (
            value!({"clusterIP": "10.0.0.1"}),
            "spec.clusterIPs: Invalid value: [\"10.0.0.1\"]: failed to allocate IP 10.0.0.1: provided IP is already allocated",
        ),
        (
            value!({"clusterIP": "192.168.1.1"}),
            "spec.clusterIPs: Invalid value: [\"192.168.1.1\"]: failed to allocate IP 192.168.1.1: the provided network does not match the current range",
        ),
        (
            value!({"clusterIP": "10.0.0.0"}),
            "spec.clusterIPs: Invalid value: [\"10.0.0.0\"]: failed to allocate IP 10.0.0.0: the provided network does not match the current range",
        ),
        (
            value!({"clusterIP": "10.0.0.255"}),
            "spec.clusterIPs: Invalid value: [\"10.0.0.255\"]: failed to allocate IP 10.0.0.255: the provided network does not match the current range",
        ),
        (
            value!({"clusterIP": "300.1.1.1"}),
            "spec.clusterIPs[0]: Invalid value: \"300.1.1.1\": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)",
        ),
        (
            value!({"clusterIP": "10.0.0.009"}),
            "spec.clusterIPs[0]: Invalid value: \"10.0.0.009\": must not have leading 0s",
        ),
        (
            value!({"clusterIP": "::1"}),
            "spec.clusterIPs[0]: Invalid value: [\"::1\"]: IPv6 is not configured on this cluster",
        ),
        (
            value!({"ipFamilyPolicy": "RequireDualStack"}),
            "spec.ipFamilyPolicy: Invalid value: \"RequireDualStack\": this cluster is not configured for dual-stack services",
        ),
        (
            value!({"ipFamilyPolicy": "Both"}),
            "spec.ipFamilyPolicy: Unsupported value: \"Both\": supported values: \"PreferDualStack\", \"RequireDualStack\", \"SingleStack\"",
        ),
        (
            value!({"ipFamilies": ["IPv6"]}),
            "spec.ipFamilies[0]: Invalid value: \"IPv6\": not configured on this cluster",
        ),
        (value!({"ipFamilies": ["IPv4", "IPv4"]}), "spec.ipFamilies[1]: Duplicate value: \"IPv4\""),
        (
            value!({"ipFamilies": ["IPv5"]}),
            "spec.ipFamilies[0]: Unsupported value: \"IPv5\": supported values: \"IPv4\", \"IPv6\"",
        ),
        (
            value!({"ipFamilies": ["IPv4", "IPv6"]}),
            "spec.ipFamilyPolicy: Invalid value: \"SingleStack\": must be 'RequireDualStack' or 'PreferDualStack' when multiple IP families are specified",
        ),
        (
            value!({"clusterIP": "10.0.0.9", "clusterIPs": ["10.0.0.8"]}),
            "spec.clusterIPs: Invalid value: [\"10.0.0.8\"]: first value must match `clusterIP`",
        ),
        (
            value!({"clusterIPs": ["None"]}),
            "spec.clusterIPs: Invalid value: [\"None\"]: must be empty when `clusterIP` is not specified",
        ),
        (
            value!({"clusterIPs": ["10.0.0.77", "10.0.0.78"]}),
            "[spec.clusterIPs: Invalid value: [\"10.0.0.77\",\"10.0.0.78\"]: must be empty when `clusterIP` is not specified, spec.clusterIPs: Invalid value: [\"10.0.0.77\",\"10.0.0.78\"]: may specify no more than one IP for each IP family]",
        ),
        (
            value!({"clusterIPs": ["10.0.0.77", "10.0.0.78"], "ipFamilyPolicy": "x"}),
            "[spec.clusterIPs: Invalid value: [\"10.0.0.77\",\"10.0.0.78\"]: must be empty when `clusterIP` is not specified, spec.ipFamilyPolicy: Unsupported value: \"x\": supported values: \"PreferDualStack\", \"RequireDualStack\", \"SingleStack\", spec.clusterIPs: Invalid value: [\"10.0.0.77\",\"10.0.0.78\"]: may specify no more than one IP for each IP family]",
        ),
        (
            value!({"clusterIP": "10.0.0.9", "ipFamilies": ["IPv6"]}),
            "spec.clusterIPs[0]: Invalid value: \"10.0.0.9\": expected an IPv6 value as indicated by `ipFamilies[0]`",
        ),
        (
            value!({"clusterIP": "None", "clusterIPs": ["None", "10.0.0.9"]}),
            "spec.clusterIPs: Invalid value: [\"None\",\"10.0.0.9\"]: 'None' must be the first and only value",
        ),
        (
            value!({"type": "NodePort", "ports": [{"port": 80, "nodePort": 20000}]}),
            "spec.ports[0].nodePort: Invalid value: 20000: provided port is not in the valid range. The range of valid ports is 30000-32767",
        ),
        (
            value!({"type": "NodePort", "ports": [{"port": 80, "nodePort": 30001}]}),
            "spec.ports[0].nodePort: Invalid value: 30001: provided port is already allocated",
        ),
        (
            value!({"type": "NodePort", "ports": [{"port": 80, "protocol": "UDP", "nodePort": 30001}]}),
            "spec.ports[0].nodePort: Invalid value: 30001: provided port is already allocated",
        ),
        (
            value!({"type": "NodePort", "ports": [{"port": 80, "name": "a", "nodePort": 31999}, {"port": 81, "name": "b", "nodePort": 31999}]}),
            "spec.ports[1].nodePort: Invalid value: 31999: provided port is already allocated",
        ),
    ];
    let server = Server::small();
    server
        .create(
            "first",
            value!({"type": "NodePort", "clusterIP": "10.0.0.1", "ports": [{"port": 80, "nodePort": 30001}]}),
        )
        .unwrap();
    for (spec, expected) in rows {
        let refusal = server.create("a", spec.clone()).unwrap_err();
        assert_eq!(refusal, format!("Service \"a\" is invalid: {expected}"), "{spec:?}");
    }
    // Nothing stays allocated for a rejected service.
    assert_eq!(server.addresses(), BTreeSet::from(["10.0.0.1".to_owned()]));
    server.create("b", value!({"type": "NodePort", "ports": [{"port": 80, "nodePort": 31999}]})).unwrap();
}

#[test]
fn a_dry_run_shows_and_takes_nothing() {
    let server = Server::small();
    server.create("taken", value!({"clusterIP": "10.0.0.9"})).unwrap();
    let ports = || value!([{"port": 80, "name": "a"}, {"port": 81, "name": "b"}]);
    let rows = [
        (value!({}), "10.0.0.0", vec![0]),
        (value!({"clusterIP": "10.0.0.9"}), "10.0.0.9", vec![0]),
        (value!({"type": "NodePort", "ports": (ports())}), "10.0.0.0", vec![32_769, 32_770]),
        (value!({"type": "NodePort", "ports": [{"port": 80, "nodePort": 32700}]}), "10.0.0.0", vec![32_700]),
        (value!({"type": "NodePort", "ports": [{"port": 80, "nodePort": 32700}]}), "10.0.0.0", vec![32_700]),
    ];
    for (spec, ip, expected) in rows {
        let service = server.create_with("a", spec.clone(), &dry_run()).unwrap();
        assert_eq!(service.str_at(&["spec", "clusterIP"]), ip, "{spec:?}");
        assert_eq!(node_ports(&service), expected, "{spec:?}");
    }
    let refusal = server.create_with("a", value!({"clusterIP": "192.0.2.1"}), &dry_run()).unwrap_err();
    assert!(refusal.ends_with("failed to allocate IP 192.0.2.1: the provided IP (192.0.2.1) is not in the valid range. The range of valid IPs is 10.0.0.0/24"), "{refusal}");
    assert_eq!(server.addresses().len(), 1);
}

#[test]
fn node_ports_are_drawn_shared_and_kept() {
    let server = Server::small();
    let both = value!({"type": "NodePort", "ports": [
        {"port": 53, "name": "tcp"}, {"port": 53, "name": "udp", "protocol": "UDP"}, {"port": 80, "name": "web"}]});
    let service = server.create("dns", both).unwrap();
    let ports = node_ports(&service);
    assert!(ports[0] == ports[1] && ports[0] != ports[2], "{ports:?}");
    assert!(ports.iter().all(|port| (30_086..=32_767).contains(port)), "the upper part first: {ports:?}");

    let changed = server.change("dns", |spec| {
        spec.set_at(&["ports"], value!([{"port": 81, "name": "web"}, {"port": 443, "name": "new"}]))
    });
    let changed = node_ports(&changed.unwrap());
    assert!(changed[0] == ports[2] && changed[1] != 0 && changed[1] != changed[0], "{ports:?} {changed:?}");
    let freed = value!({"type": "NodePort", "ports": [{"port": 53, "nodePort": (ports[0])}]});
    server.create("other", freed).unwrap();

    let balanced = value!({"type": "LoadBalancer", "externalTrafficPolicy": "Local", "ports": [{"port": 80}]});
    let balanced = server.create("balanced", balanced).unwrap();
    let health = balanced.at(&["spec", "healthCheckNodePort"]).and_then(Value::as_i64).unwrap();
    assert!((30_086..=32_767).contains(&health) && !node_ports(&balanced).contains(&health));
    let wish = value!({"type": "NodePort", "ports": [{"port": 80, "nodePort": health}]});
    assert!(server.create("b", wish).unwrap_err().ends_with("provided port is already allocated"));

    let without = value!({"type": "LoadBalancer", "allocateLoadBalancerNodePorts": false, "ports": [{"port": 80}]});
    assert_eq!(node_ports(&server.create("without", without).unwrap()), [0]);
}

#[test]
fn released_values_can_be_allocated_again() {
    let server = Server::small();
    let fixed = value!({"type": "NodePort", "clusterIP": "10.0.0.9", "ports": [{"port": 80, "nodePort": 30_100}]});
    server.create("a", fixed.clone()).unwrap();
    // Another type without address.
    let external = server.change("a", |spec| {
        spec.set_at(&["type"], "ExternalName");
        spec.set_at(&["externalName"], "x.y");
    });
    assert_eq!(strings(&external.unwrap(), "clusterIPs"), [""; 0]);
    assert!(server.addresses().is_empty());
    server.create("b", fixed.clone()).unwrap();
    // And back again, to another address.
    let back = server.change("a", |spec| {
        spec.set_at(&["type"], "ClusterIP");
        spec.remove_at(&["externalName"]);
    });
    let back = strings(&back.unwrap(), "clusterIPs");
    assert!(back.len() == 1 && back[0] != "10.0.0.9");
    assert_eq!(server.addresses(), BTreeSet::from([back[0].clone(), "10.0.0.9".to_owned()]));
    // Deletion, with the endpoints of that name.
    server
        .create_in("", "endpoints", "default", value!({"metadata": {"name": "b"}}), &WriteOptions::default())
        .unwrap();
    server.delete("b");
    assert!(server.names("", "endpoints").is_empty());
    server.create("c", fixed).unwrap();
}

#[test]
fn a_second_family_comes_and_goes_with_the_policy() {
    let server = Server::new(&["10.0.0.0/24", "fd00::/112"], 30_000..=32_767);
    server.create("a", value!({})).unwrap();
    let both = server.change("a", |spec| spec.set_at(&["ipFamilyPolicy"], "RequireDualStack")).unwrap();
    assert_eq!(strings(&both, "ipFamilies"), ["IPv4", "IPv6"]);
    let ips = strings(&both, "clusterIPs");
    assert_eq!(server.addresses(), ips.iter().cloned().collect());
    let reduced = server.change("a", |spec| spec.set_at(&["ipFamilies"], value!(["IPv4"]))).unwrap_err();
    assert!(reduced.ends_with("must be 'SingleStack' to release the secondary IP family"), "{reduced}");
    let one = server.change("a", |spec| spec.set_at(&["ipFamilyPolicy"], "SingleStack")).unwrap();
    assert_eq!(strings(&one, "clusterIPs"), ips[..1]);
    assert_eq!(server.addresses().len(), 1);
}

#[test]
fn a_full_range_is_reported_and_more_ranges_are_used() {
    let server = Server::new(&["10.0.0.0/29"], 30_000..=30_001);
    for at in 0..6 {
        server.create(&format!("s{at}"), value!({})).unwrap();
    }
    let full = server.create("more", value!({})).unwrap_err();
    assert_eq!(full, "Internal error occurred: failed to allocate a serviceIP: range is full");
    let range = value!({"metadata": {"name": "second"}, "spec": {"cidrs": ["10.77.0.0/24"]}});
    server.create_in("networking.k8s.io", "servicecidrs", "", range, &WriteOptions::default()).unwrap();
    let more = server.create("more", value!({})).unwrap();
    assert!(more.str_at(&["spec", "clusterIP"]).starts_with("10.77.0."));
    let ports = |spec: &mut Value| {
        spec.set_at(&["type"], "NodePort");
        spec.set_at(&["ports"], value!([{"port": 80, "name": "a"}, {"port": 81, "name": "b"}]));
    };
    assert_eq!(
        node_ports(&server.change("more", ports).unwrap()).into_iter().collect::<BTreeSet<_>>(),
        BTreeSet::from([30_000, 30_001])
    );
    let none_left = server
        .create("n", value!({"type": "NodePort", "clusterIP": "10.77.0.200", "ports": [{"port": 80}]}))
        .unwrap_err();
    assert_eq!(none_left, "Internal error occurred: failed to allocate a nodePort: range is full");
}

/// An address whose IPAddress a user created is not free; the IPAddress is not deleted with a service that has the
/// address.
#[test]
fn registered_addresses_are_respected() {
    let server = Server::small();
    let foreign = value!({"metadata": {"name": "10.0.0.9"}, "spec": {"parentRef": {"resource": "services", "namespace": "other", "name": "x"}}});
    server.create_in("networking.k8s.io", "ipaddresses", "", foreign, &WriteOptions::default()).unwrap();
    let refusal = server.create("a", value!({"clusterIP": "10.0.0.9"})).unwrap_err();
    assert!(refusal.ends_with("provided IP is already allocated"), "{refusal}");
    // An address without its IPAddress can be asked for, but is not drawn.
    server.create("b", value!({"clusterIP": "10.0.0.10"})).unwrap();
    let registered = server.target("networking.k8s.io", "ipaddresses", "", "10.0.0.10");
    assert!(wait(server.0.delete(&registered, &DeleteOptions::default())).unwrap().gone);
    server.create("c", value!({"clusterIP": "10.0.0.10"})).unwrap();
    let refusal = server.create("d", value!({"clusterIP": "10.0.0.10"})).unwrap_err();
    assert!(refusal.ends_with("provided IP is already allocated"), "{refusal}");
    // It belongs to the service that asked last.
    server.delete("b");
    assert!(server.addresses().contains("10.0.0.10"));
    server.delete("c");
    server.create("d", value!({"clusterIP": "10.0.0.10"})).unwrap();
}

/// A service that is another name keeps its policy for internal traffic, which it does not show, until it has an address.
#[test]
fn the_hidden_policy_of_an_external_name_is_kept() {
    let server = Server::small();
    let alias = value!({"type": "ExternalName", "externalName": "x.y", "internalTrafficPolicy": "Local"});
    server.create("a", alias).unwrap();
    let changed = server.change("a", |spec| {
        spec.set_at(&["type"], "ClusterIP");
        spec.set_at(&["ports"], value!([{"port": 80}]));
        spec.remove_at(&["externalName"]);
    });
    assert_eq!(changed.unwrap().str_at(&["spec", "internalTrafficPolicy"]), "Local");
}

#[test]
fn the_server_manages_the_fields_of_addresses() {
    let server = Server::small();
    server.create("a", value!({"clusterIP": "10.0.0.10"})).unwrap();
    let registered = server.target("networking.k8s.io", "ipaddresses", "", "10.0.0.10");
    let stored = registered.cache.get(&registered.key()).unwrap();
    let address = server.0.decode(&registered, &stored).unwrap();
    let managers = address.at(&["metadata", "managedFields"]).and_then(Value::as_list).unwrap();
    let entry = |field: &str| managers[0].get(field).and_then(Value::as_str);
    assert_eq!(managers.len(), 1);
    assert_eq!((entry("manager"), entry("operation")), (Some("kube-apiserver"), Some("Update")));
    assert_eq!(entry("apiVersion"), Some("networking.k8s.io/v1"));
    let fields = managers[0].get("fieldsV1").map(json::to_string).unwrap_or_default();
    let reference = r#""f:spec":{"f:parentRef":{".":{},"f:name":{},"f:namespace":{},"f:resource":{}}}}"#;
    assert!(fields.ends_with(reference), "{fields}");
}

/// Many clients on a range that is barely large enough: no address and no port is ever allocated twice, and when all
/// services are deleted, everything is free.
#[test]
fn concurrent_requests_never_get_the_same_value() {
    const CLIENTS: usize = 8;
    const ROUNDS: usize = 12;
    let server = Server::new(&["10.0.0.0/27"], 30_000..=30_039);
    let spec = || value!({"type": "NodePort", "ports": [{"port": 80}]});
    std::thread::scope(|scope| {
        for client in 0..CLIENTS {
            let server = &server;
            scope.spawn(move || {
                for round in 0..ROUNDS {
                    let mut own = Vec::new();
                    for at in 0..3 {
                        let name = format!("s{client}-{round}-{at}");
                        // A range this small may be exhausted for a moment.
                        if server.create(&name, spec()).is_ok() {
                            own.push(name);
                        }
                    }
                    // All clients want the same address as well.
                    let name = format!("fixed{client}-{round}");
                    if server.create(&name, value!({"clusterIP": "10.0.0.2"})).is_ok() {
                        own.push(name);
                    }
                    let ips = server.cluster_ips();
                    let distinct: BTreeSet<&String> = ips.iter().collect();
                    assert_eq!(distinct.len(), ips.len(), "an address was given twice: {ips:?}");
                    own.iter().for_each(|name| server.delete(name));
                }
            });
        }
    });
    assert!(server.addresses().is_empty() && server.cluster_ips().is_empty());
    for at in 0..30 {
        server.create(&format!("all{at}"), spec()).unwrap();
    }
    let used: BTreeSet<String> = server.cluster_ips().into_iter().collect();
    assert_eq!(used, server.addresses());
    assert_eq!(used.len(), 30);
}

/// What servers before 1.20 stored.
const OLD: &[(&str, &str)] = &[
    (
        "headful",
        r#"{"clusterIP":"10.0.0.5","type":"ClusterIP","ports":[{"port":80,"protocol":"TCP","targetPort":80}]}"#,
    ),
    (
        "outside",
        r#"{"clusterIP":"10.0.0.6","type":"NodePort","ports":[{"port":80,"protocol":"TCP","targetPort":80,"nodePort":30007}]}"#,
    ),
    (
        "headless",
        r#"{"clusterIP":"None","type":"ClusterIP","selector":{"a":"b"},"ports":[{"port":80,"protocol":"TCP","targetPort":80}]}"#,
    ),
    (
        "selectorless",
        r#"{"clusterIP":"None","type":"ClusterIP","ports":[{"port":80,"protocol":"TCP","targetPort":80}]}"#,
    ),
];
