//! The leases of servers in this process. Guarantees that what renewals do is counted, never timed.

use super::*;
use crate::Builder;
use crate::test_server::TestServer;
use pintle_schema::{MicroTime, value};
use pintle_storage::{CommitFuture, CompactFuture, MemoryStore, Observer, Revision, Started, Store, StoreError};
use pintle_webhook::InProcess;
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::net::TcpListener;

/// A store that others may write to, too.
struct Shared(MemoryStore);

impl Store for Shared {
    fn start(&self, observer: Box<dyn Observer>) -> std::result::Result<Started, StoreError> {
        self.0.start(observer)
    }

    fn commit(&self, transaction: Transaction) -> CommitFuture {
        self.0.commit(transaction)
    }

    fn compact(&self, revision: Revision) -> CompactFuture {
        self.0.compact(revision)
    }

    fn close(&self) {
        self.0.close();
    }

    fn inner(&self) -> Option<&dyn Store> {
        Some(&self.0)
    }

    fn is_shared(&self) -> bool {
        true
    }
}

#[tokio::test]
async fn a_webhook_that_hangs_does_not_hold_up_the_lease_of_the_address() {
    let builder = Builder::new(Arc::new(Shared(MemoryStore::new())));
    let calls = Arc::new(AtomicUsize::new(0));
    let called = calls.clone();
    let hanging = InProcess::new(move |_| {
        called.fetch_add(1, Ordering::SeqCst);
        std::future::pending()
    });
    let url = builder.webhooks().register("hanging", hanging);
    let socket = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port");
    let server = builder.start(socket).await.expect("a server");
    let registry = &server.api().registry;
    let rule = value!({"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["leases"]});
    // The server has a lease, too.
    let is_own = format!("object.metadata.name == '{}'", identity("here"));
    let hook = value!({
        "name": "a.example.com", "clientConfig": {"url": url}, "rules": [rule], "failurePolicy": "Fail",
        "matchConditions": [{"name": "own", "expression": is_own}],
        "sideEffects": "None", "admissionReviewVersions": ["v1"], "timeoutSeconds": 30
    });
    let hooks = value!({"metadata": {"name": "a"}, "webhooks": [hook]});
    let resource = pintle_groups::find("admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations");
    let target = registry.target(resource.expect("webhooks"), "", "a").expect("a target");
    registry.create(&target, hooks, &WriteOptions::of_server("test")).await.map(drop).expect("created");

    let address = IpAddr::from([10, 9, 8, 7]);
    let advertised = AdvertisedServer {
        address: Some(address),
        host: Some("here".to_owned()),
        endpoint_reconciler: EndpointReconciler::Lease,
        ..AdvertisedServer::default()
    };
    let allocators = Arc::new(Allocators::new(["10.0.0.0/24"], 30_000..=32_767));
    let mut own = IdentityLease::new(registry.clone(), allocators, settings(registry), advertised);
    own.period = Duration::from_millis(5);
    let lease = registry.target(&SERVER_ADDRESSES, "", &address.to_string()).expect("a target");
    let mut changes = lease.cache.cursor(lease.cache.current());
    let renewed_often = async {
        let mut renewals = 0;
        // More than there are before the webhook is called.
        while renewals < 5 || calls.load(Ordering::SeqCst) == 0 {
            changes.changed().await;
            renewals += changes.take(100).expect("history").len();
        }
    };
    tokio::select! {
        () = own.keep() => {}
        () = renewed_often => {}
    }
    assert_eq!(calls.load(Ordering::SeqCst), 1, "the first call is not over");
}

fn settings(registry: &Registry) -> Settings {
    Settings {
        service_ranges: Vec::new(),
        advertise_address: None,
        secure_port: 6443,
        authorities: BTreeMap::new(),
        api_services: Vec::new(),
        now: Time::from_seconds(registry.environment.now_unix()),
    }
}

#[tokio::test]
async fn each_renewal_collects_expired_leases_of_other_servers() {
    let server = TestServer::start().await.expect("a server");
    let registry = &server.server().api().registry;
    let allocators = Allocators::new(["10.0.0.0/24"], 30_000..=32_767);
    let advertised = AdvertisedServer { host: Some("here".to_owned()), ..AdvertisedServer::default() };
    let own = IdentityLease::new(registry.clone(), Arc::new(allocators), settings(registry), advertised);
    let mut kept = Kept {
        repairs: Repairs::new(registry.clone(), own.allocators.clone(), own.host.clone()),
        tracking: TokenTracking::new(true),
    };
    let lease =
        |namespace: &str, name: &str| registry.target(leases().expect("leases"), namespace, name).expect("a target");
    const HOUR: Option<i32> = Some(3600);
    // (namespace, name, whose identity, seconds since its renewal, its duration, whether it stays)
    let rows = [
        (NAMESPACE, "apiserver-expired", "kube-apiserver", Some(2 * 3600), HOUR, false),
        (NAMESPACE, "apiserver-fresh", "kube-apiserver", Some(120), HOUR, true),
        (NAMESPACE, "apiserver-never", "kube-apiserver", None, HOUR, false),
        (NAMESPACE, "apiserver-endless", "kube-apiserver", Some(0), None, false),
        (NAMESPACE, "apiserver-of-another", "another", Some(2 * 3600), HOUR, true),
        (NAMESPACE, &own.name, "kube-apiserver", Some(2 * 3600), HOUR, true),
        ("default", "apiserver-elsewhere", "kube-apiserver", Some(2 * 3600), HOUR, true),
    ];
    // The first renewal, and one that nothing else is due with.
    for number in [1, 7, 8] {
        for (namespace, name, identity, age, duration, _) in rows {
            let renew_time = age.map(|age| MicroTime { seconds: now().seconds - age, nanos: 0 });
            let object = Lease {
                type_meta: TypeMeta { kind: "Lease".to_owned(), api_version: "coordination.k8s.io/v1".to_owned() },
                metadata: ObjectMeta {
                    labels: [(IDENTITY_LABEL.0.to_owned(), identity.to_owned())].into(),
                    name: name.to_owned(),
                    ..ObjectMeta::default()
                },
                spec: LeaseSpec { renew_time, lease_duration_seconds: duration, ..LeaseSpec::default() },
            };
            // Those that stay are there already.
            let options = WriteOptions::of_server("test");
            let _ = registry.create(&lease(namespace, name), object.to_value(), &options).await;
            assert!(lease(namespace, name).get().is_ok(), "{name}");
        }
        own.renew(number, &mut kept).await;
        for (namespace, name, _, _, _, stays) in rows {
            assert_eq!(lease(namespace, name).get().is_ok(), stays, "{number}: {namespace}/{name}");
        }
    }
}

#[test]
fn a_server_stays_when_there_are_too_many() {
    let ip = |last: u8| IpAddr::from([10, 0, 0, last]);
    for (known, own, count, expected) in [
        (&[][..], 1, 1, &[1][..]),
        (&[1, 2], 2, 2, &[1, 2]),
        (&[1, 2], 3, 2, &[2, 3]),
        (&[1, 3], 2, 2, &[1, 2]),
        (&[1, 2, 3], 3, 1, &[3]),
    ] {
        let known = known.iter().map(|last| ip(*last)).collect();
        let expected: Vec<IpAddr> = expected.iter().map(|last| ip(*last)).collect();
        assert_eq!(with_own(known, ip(own), count), expected);
    }
}

#[test]
fn an_identity_follows_from_the_host() {
    for (host, name) in
        [("vm", "apiserver-wlv32tlttr4jl3gtroqexyxapa"), ("control-plane", "apiserver-6vzvajxlkf7lcarzgdc4jnyaru")]
    {
        assert_eq!(identity(host), name);
    }
}
