//! The conditions that the server sets: each follows the objects that its object depends on.

use super::Fixture;
use crate::{Controllers, Settings};
use pintle_registry::{DeleteOptions, Target};
use pintle_schema::value;
use std::sync::atomic::Ordering;

const FLOW_CONTROL: &str = "flowcontrol.apiserver.k8s.io";

impl Fixture {
    /// The first condition of an object: status, reason, message and the time of its last change.
    fn says(&self, target: &Target) -> Option<[String; 4]> {
        let object = self.registry.decode(target, &*self.get(target)?).ok()?;
        let [condition] = object.at(&["status", "conditions"])?.as_list()? else { return None };
        Some(["status", "reason", "message", "lastTransitionTime"].map(|field| condition.str_at(&[field]).to_owned()))
    }

    async fn until_it_says(&self, target: &Target, status: &str, reason: &str, message: &str) {
        let says = || self.says(target).is_some_and(|said| said[..3] == [status, reason, message]);
        self.until(&format!("{} says {reason}: {message}", target.name), says).await;
    }

    async fn remove(&self, target: &Target) {
        self.registry.delete(target, &DeleteOptions::default()).await.map(drop).expect("deleted");
    }
}

#[tokio::test]
async fn a_flow_schema_dangles_while_its_level_is_missing() {
    let fixture = Fixture::new().await;
    let _controllers =
        Controllers::start(fixture.registry.clone(), &Settings { enabled: Vec::new(), ..Settings::default() }, None);
    let schema = value!({"metadata": {"name": "s"}, "spec": {"priorityLevelConfiguration": {"name": "l"}}});
    fixture.create(FLOW_CONTROL, "flowschemas", "", schema).await;
    let schema = fixture.target(FLOW_CONTROL, "flowschemas", "", "s");
    let names = "This FlowSchema references the PriorityLevelConfiguration object named \"l\"";
    fixture.until_it_says(&schema, "True", "NotFound", &format!("{names} but there is no such object")).await;
    let since = fixture.says(&schema).map(|said| said[3].clone());
    let object = fixture.get(&schema).and_then(|object| fixture.registry.decode(&schema, &object).ok());
    let managers = object.as_ref().and_then(|object| object.at(&["metadata", "managedFields"])?.as_list());
    let applied = managers.into_iter().flatten().any(|entry| {
        entry.str_at(&["manager"]) == "api-priority-and-fairness-config-consumer-v1"
            && entry.str_at(&["operation"]) == "Apply"
    });
    assert!(applied, "{managers:?}");
    fixture.now.fetch_add(60, Ordering::SeqCst);
    let level = |name: &str| {
        let limited = value!({"limitResponse": {"type": "Reject"}});
        value!({"metadata": {"name": name}, "spec": {"type": "Limited", "limited": limited}})
    };
    fixture.create(FLOW_CONTROL, "prioritylevelconfigurations", "", level("l")).await;
    fixture.until_it_says(&schema, "False", "Found", &format!("{names} and it exists")).await;
    assert_ne!(fixture.says(&schema).map(|said| said[3].clone()), since, "it turned");
    let settled = fixture.get(&schema).map(|object| object.revision);
    fixture.create(FLOW_CONTROL, "prioritylevelconfigurations", "", level("other")).await;
    fixture.remove(&fixture.target(FLOW_CONTROL, "prioritylevelconfigurations", "", "l")).await;
    fixture.until_it_says(&schema, "True", "NotFound", &format!("{names} but there is no such object")).await;
    let written = fixture.get(&schema).map(|object| object.revision.0);
    assert!(written > settled.map(|revision| revision.0));
}

#[tokio::test]
async fn an_api_service_is_as_available_as_its_service() {
    let fixture = Fixture::new().await;
    let _controllers =
        Controllers::start(fixture.registry.clone(), &Settings { enabled: Vec::new(), ..Settings::default() }, None);
    let reference = value!({"namespace": "other", "name": "s", "port": 8443});
    let api = value!({"metadata": {"name": "v1.example.com"}, "spec": {"group": "example.com", "version": "v1",
        "groupPriorityMinimum": 100, "versionPriority": 10, "insecureSkipTLSVerify": true, "service": reference}});
    fixture.create("apiregistration.k8s.io", "apiservices", "", api).await;
    let api = fixture.target("apiregistration.k8s.io", "apiservices", "", "v1.example.com");
    fixture.until_it_says(&api, "False", "ServiceNotFound", "service/s in \"other\" is not present").await;
    let since = fixture.says(&api).map(|said| said[3].clone());
    fixture.now.fetch_add(60, Ordering::SeqCst);

    let service = |port: i64| {
        value!({"metadata": {"name": "s"}, "spec": {"type": "ClusterIP", "clusterIP": "None", "clusterIPs": ["None"],
            "ports": [{"name": "https", "port": port, "protocol": "TCP", "targetPort": port}]}})
    };
    fixture.create("", "services", "other", service(80)).await;
    let deaf = "service/s in \"other\" is not listening on port 8443";
    fixture.until_it_says(&api, "False", "ServicePortError", deaf).await;
    fixture.remove(&fixture.target("", "services", "other", "s")).await;
    fixture.create("", "services", "other", service(8443)).await;
    let alone = "cannot find endpointslices for service/s in \"other\"";
    fixture.until_it_says(&api, "False", "EndpointsNotFound", alone).await;

    let slice = |name: &str, ready: bool| {
        value!({"metadata": {"name": name, "labels": {"kubernetes.io/service-name": "s"}}, "addressType": "IPv4",
            "endpoints": [{"addresses": ["10.0.0.1"], "conditions": {"ready": ready}}],
            "ports": [{"name": "https", "port": 8443, "protocol": "TCP"}]})
    };
    fixture.create("discovery.k8s.io", "endpointslices", "other", slice("a", false)).await;
    let none = "endpointslices for service/s in \"other\" have no addresses with port name \"https\"";
    fixture.until_it_says(&api, "False", "MissingEndpoints", none).await;
    fixture.create("discovery.k8s.io", "endpointslices", "other", slice("b", true)).await;
    let not_yet = "requests are not forwarded to services";
    fixture.until_it_says(&api, "False", "FailedDiscoveryCheck", not_yet).await;
    assert_eq!(fixture.says(&api).map(|said| said[3].clone()), since, "it never turned");
}
