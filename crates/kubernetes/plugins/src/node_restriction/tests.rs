//! Decisions about writes of nodes.

use crate::testing::{Cluster, UID};
use pintle_registry::status::Result;
use pintle_schema::{Value, value};

const NODE: &str = "system:node:mine";

async fn cluster() -> Cluster {
    let cluster = Cluster::with_plugins(&["NodeRestriction"]).with_account("default").await;
    cluster.store("", "nodes", value!({"metadata": {"name": "mine"}})).await;
    for (name, node) in [("here", "mine"), ("there", "other")] {
        cluster.store("", "pods", pod(name, node)).await;
    }
    cluster
}

fn pod(name: &str, node: &str) -> Value {
    value!({
        "metadata": {"name": (name.to_owned()), "namespace": "ns", "uid": (UID.to_owned()), "labels": {"a": "b"}},
        "spec": {"nodeName": (node.to_owned()), "containers": [{"name": "c", "image": "i"}]}
    })
}

fn refusal<T>(outcome: Result<T>) -> String {
    outcome.err().map(|status| status.message).unwrap_or_default()
}

/// An object with another value at a path.
fn with(mut object: Value, path: &[&str], value: Value) -> Value {
    object.set_at(path, value);
    object
}

#[tokio::test]
async fn other_users_are_not_checked() {
    let cluster = cluster().await;
    assert!(cluster.create_as("", "nodes", value!({"metadata": {"name": "any"}}), "alice").is_ok());
    let nameless = cluster.create_as("", "nodes", value!({"metadata": {"name": "any"}}), "system:node:");
    assert_eq!(refusal(nameless), "nodes \"any\" is forbidden: could not determine node from user \"system:node:\"");
}

#[tokio::test]
async fn mirror_pods() {
    let cluster = cluster().await;
    let owner =
        || value!({"apiVersion": "v1", "kind": "Node", "name": "mine", "uid": (UID.to_owned()), "controller": true});
    let mirror = || {
        let pod = pod("m", "mine");
        let pod = with(pod, &["metadata", "annotations", "kubernetes.io/config.mirror"], "x".into());
        with(pod, &["metadata", "ownerReferences"], Value::List(vec![owner()]))
    };
    let owned = |owners: Vec<Value>| with(mirror(), &["metadata", "ownerReferences"], Value::List(owners));
    let volume = |source: Value| with(mirror(), &["spec", "volumes"], Value::List(vec![source]));
    let only = |what: &str| format!("node \"mine\" can only create pods with {what} set to itself");
    let rows = [
        (mirror(), String::new()),
        (
            pod("m", "mine"),
            "pod does not have \"kubernetes.io/config.mirror\" annotation, node \"mine\" can only create mirror pods"
                .to_owned(),
        ),
        (with(mirror(), &["spec", "nodeName"], "other".into()), only("spec.nodeName")),
        (owned(vec![]), only("an owner reference")),
        (owned(vec![owner(), owner()]), only("a single owner reference")),
        (owned(vec![with(owner(), &["kind"], "Pod".into())]), only("an owner reference")),
        (owned(vec![with(owner(), &["name"], "other".into())]), only("an owner reference")),
        (owned(vec![with(owner(), &["controller"], false.into())]), only("a controller owner reference")),
        (
            owned(vec![with(owner(), &["blockOwnerDeletion"], true.into())]),
            "node \"mine\" must not set blockOwnerDeletion on an owner reference".to_owned(),
        ),
        (owned(vec![with(owner(), &["uid"], "x".into())]), format!("node mine UID mismatch: expected x got {UID}")),
        (
            volume(value!({"name": "v", "configMap": {"name": "m"}})),
            "node \"mine\" can not create pods that reference configmaps".to_owned(),
        ),
        (
            volume(value!({"name": "v", "persistentVolumeClaim": {"claimName": "m"}})),
            "node \"mine\" can not create pods that reference persistentvolumeclaims".to_owned(),
        ),
        // The ServiceAccount plugin, which runs first, rejects it.
        (
            volume(value!({"name": "v", "secret": {"secretName": "m"}})),
            "a mirror pod may not reference secrets".to_owned(),
        ),
    ];
    for (pod, expected) in rows {
        let why = if expected.is_empty() { expected } else { format!("pods \"m\" is forbidden: {expected}") };
        assert_eq!(refusal(cluster.create_as("", "pods", pod, NODE)), why);
    }
    // A node that is not registered.
    let unknown = with(
        with(mirror(), &["spec", "nodeName"], "new".into()),
        &["metadata", "ownerReferences"],
        Value::List(vec![with(owner(), &["name"], "new".into())]),
    );
    let missing = cluster.create_as("", "pods", unknown, "system:node:new").expect_err("no such node");
    assert_eq!((missing.code, missing.message.as_str()), (404, "node \"new\" not found"));
}

#[tokio::test]
async fn pods_on_the_node() {
    let cluster = cluster().await;
    let update =
        |old: Value, new: Value, subresource| refusal(cluster.update(("", "pods", subresource), &old, new, NODE));
    let (here, there) = (pod("here", "mine"), pod("there", "other"));
    let forbidden = |name: &str, why: &str| format!("pods \"{name}\" is forbidden: {why}");
    assert_eq!(refusal(cluster.delete("", "pods", &here, NODE)), "");
    let why = "node \"mine\" can only delete pods with spec.nodeName set to itself";
    assert_eq!(refusal(cluster.delete("", "pods", &there, NODE)), forbidden("there", why));
    let why = "unexpected operation \"UPDATE\", node \"mine\" can only create and delete mirror pods";
    assert_eq!(update(here.clone(), here.clone(), ""), forbidden("here", why));
    let why = "unexpected pod subresource \"binding\", only 'status' and 'eviction' are allowed";
    assert_eq!(update(here.clone(), here.clone(), "binding"), forbidden("here", why));
    let claims = || value!([{"name": "c", "resourceClaimName": "d"}]);
    let rows = [
        (here.clone(), with(here.clone(), &["status", "phase"], "Running".into()), ""),
        (there.clone(), there, "node \"mine\" can only update pod status for pods with spec.nodeName set to itself"),
        (
            here.clone(),
            with(here.clone(), &["metadata", "labels", "c"], "d".into()),
            "node \"mine\" cannot update labels through pod status",
        ),
        (
            here.clone(),
            with(here.clone(), &["status", "resourceClaimStatuses"], claims()),
            "node \"mine\" cannot update resource claim statues",
        ),
        (
            here.clone(),
            with(here.clone(), &["status", "extendedResourceClaimStatus"], value!({"resourceClaimName": "d"})),
            "node \"mine\" cannot update extended resource claim status",
        ),
    ];
    for (old, new, expected) in rows {
        let name = old.str_at(&["metadata", "name"]).to_owned();
        let expected = if expected.is_empty() { String::new() } else { forbidden(&name, expected) };
        assert_eq!(update(old, new, "status"), expected);
    }
    let evict = |name: &str| refusal(cluster.post(("", "pods", "eviction"), name, value!({"metadata": {}}), NODE));
    assert_eq!(evict("here"), "");
    let why = "node mine can only evict pods with spec.nodeName set to itself";
    assert_eq!(evict("there"), forbidden("there", why));
    assert_eq!(evict("gone"), "pod \"gone\" not found");
}

#[tokio::test]
async fn the_own_node() {
    let cluster = cluster().await;
    let node = |labels: Value, spec: Value| value!({"metadata": {"name": "mine", "labels": labels}, "spec": spec});
    let plain = || node(value!({"a": "b"}), value!({"taints": [{"key": "a", "effect": "NoSchedule"}]}));
    let forbidden =
        |why: &str| if why.is_empty() { String::new() } else { format!("nodes \"mine\" is forbidden: {why}") };
    let created = [
        (node(value!({"kubernetes.io/hostname": "mine", "node.kubernetes.io/x": "y", "a.com/b": "c"}), value!({})), ""),
        (
            node(
                value!({"x.k8s.io/a": "b", "kubernetes.io/x": "y", "a.node-restriction.kubernetes.io/b": "c"}),
                value!({}),
            ),
            "node \"mine\" is not allowed to set the following labels: a.node-restriction.kubernetes.io/b, \
             kubernetes.io/x, x.k8s.io/a",
        ),
        (
            node(value!({}), value!({"configSource": {}})),
            "node \"mine\" is not allowed to create pods with a non-nil configSource",
        ),
    ];
    for (node, why) in created {
        assert_eq!(refusal(cluster.create_as("", "nodes", node, NODE)), forbidden(why));
    }
    let other = refusal(cluster.create_as("", "nodes", value!({"metadata": {"name": "other"}}), NODE));
    assert_eq!(other, "nodes \"other\" is forbidden: node \"mine\" is not allowed to modify node \"other\"");
    let owner = value!([{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}]);
    let updated = [
        (with(plain(), &["metadata", "labels"], value!({"c": "d"})), ""),
        (
            with(plain(), &["metadata", "labels"], value!({"a": "b", "kubernetes.io/x": "y"})),
            "is not allowed to modify labels: kubernetes.io/x",
        ),
        (with(plain(), &["spec", "taints"], value!([])), "node \"mine\" is not allowed to modify taints"),
        (
            with(plain(), &["spec", "configSource"], value!({})),
            "node \"mine\" is not allowed to update configSource to a new non-nil configSource",
        ),
        (
            with(plain(), &["metadata", "ownerReferences"], owner),
            "node \"mine\" is not allowed to modify ownerReferences",
        ),
    ];
    for (new, why) in updated {
        for subresource in ["", "status"] {
            let outcome = cluster.update(("", "nodes", subresource), &plain(), new.clone(), NODE);
            assert_eq!(refusal(outcome), forbidden(why));
        }
    }
}

#[tokio::test]
async fn leases_drivers_slices_and_claims() {
    let cluster = cluster().await;
    let named = |name: &str| value!({"metadata": {"name": (name.to_owned()), "namespace": "ns"}});
    assert_eq!(
        refusal(cluster.create_as("coordination.k8s.io", "leases", named("mine"), NODE)),
        "leases.coordination.k8s.io \"mine\" is forbidden: can only access leases in the \"kube-node-lease\" system \
         namespace"
    );
    assert_eq!(refusal(cluster.create_as("storage.k8s.io", "csinodes", named("mine"), NODE)), "");
    let other = "csinodes.storage.k8s.io \"other\" is forbidden: can only access CSINode with the same name as the \
                 requesting node";
    assert_eq!(refusal(cluster.create_as("storage.k8s.io", "csinodes", named("other"), NODE)), other);
    assert_eq!(refusal(cluster.delete("storage.k8s.io", "csinodes", &named("other"), NODE)), other);
    let slice = |node: &str| value!({"metadata": {"name": "s"}, "spec": {"nodeName": (node.to_owned())}});
    assert_eq!(refusal(cluster.create_as("resource.k8s.io", "resourceslices", slice("mine"), NODE)), "");
    for (outcome, verb) in [
        (cluster.create_as("resource.k8s.io", "resourceslices", slice("other"), NODE).map(drop), "create"),
        (cluster.delete("resource.k8s.io", "resourceslices", &slice("other"), NODE), "delete"),
    ] {
        let why = format!("can only {verb} ResourceSlice with the same NodeName as the requesting node");
        assert_eq!(refusal(outcome), format!("resourceslices.resource.k8s.io \"s\" is forbidden: {why}"));
    }
    let claim = || value!({"metadata": {"name": "c"}, "status": {"phase": "Bound"}});
    let update = |new: Value, subresource| {
        refusal(cluster.update(("", "persistentvolumeclaims", subresource), &claim(), new, NODE))
    };
    assert_eq!(update(with(claim(), &["status", "capacity"], value!({"storage": "2Gi"})), "status"), "");
    assert_eq!(
        update(with(claim(), &["status", "phase"], "Lost".into()), "status"),
        "persistentvolumeclaims \"c\" is forbidden: node \"mine\" is not allowed to update fields other than \
         status.quantity and status.conditions"
    );
    assert_eq!(update(claim(), ""), "persistentvolumeclaims \"c\" is forbidden: may only update PVC status");
}

#[tokio::test]
async fn tokens_for_pods_on_the_node() {
    let cluster = cluster().await;
    let volumes = value!([
        {"name": "t", "projected": {"sources": [{"serviceAccountToken": {"audience": "vault", "path": "t"}}]}},
        {"name": "c", "csi": {"driver": "driver"}},
        {"name": "p", "persistentVolumeClaim": {"claimName": "claim"}},
        {"name": "m", "csi": {"driver": "missing"}}
    ]);
    cluster
        .store(
            "",
            "pods",
            with(
                with(pod("mounts", "mine"), &["spec", "volumes"], volumes),
                &["spec", "serviceAccountName"],
                "sa".into(),
            ),
        )
        .await;
    let driver = |name: &str, audience: &str| value!({"metadata": {"name": (name.to_owned())}, "spec": {"tokenRequests": [{"audience": (audience.to_owned())}]}});
    cluster.store("storage.k8s.io", "csidrivers", driver("driver", "of-driver")).await;
    cluster.store("storage.k8s.io", "csidrivers", driver("disk", "of-disk")).await;
    cluster
        .store(
            "",
            "persistentvolumeclaims",
            value!({"metadata": {"name": "claim"}, "spec": {
        "volumeName": "v", "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}),
        )
        .await;
    cluster.store("", "persistentvolumes", value!({"metadata": {"name": "v"}, "spec": {
        "csi": {"driver": "disk", "volumeHandle": "h"}, "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}}})).await;
    let ask = |bound: Value, audiences: &[&str]| {
        let audiences = audiences.iter().map(|audience| Value::from(*audience)).collect();
        let spec = value!({"boundObjectRef": bound, "audiences": (Value::List(audiences))});
        refusal(cluster.post(("", "serviceaccounts", "token"), "sa", value!({"metadata": {}, "spec": spec}), NODE))
    };
    let to =
        |name: &str| value!({"apiVersion": "v1", "kind": "Pod", "name": (name.to_owned()), "uid": (UID.to_owned())});
    let forbidden =
        |why: &str| if why.is_empty() { String::new() } else { format!("serviceaccounts \"sa\" is forbidden: {why}") };
    let unlisted = "audience \"x\" not found in pod spec volume, system:node:mine is not authorized to request tokens for \
                    this audience";
    let rows: [(Value, &[&str], &str); 11] = [
        (Value::Null, &[], "node requested token not bound to a pod"),
        (with(to("here"), &["kind"], "Secret".into()), &[], "node requested token not bound to a pod"),
        (with(to("here"), &["uid"], Value::Null), &[], "node requested token with a pod binding without a uid"),
        (
            with(to("here"), &["uid"], "x".into()),
            &[],
            "the UID in the bound object reference (x) does not match the UID in record. The object might have been deleted \
             and then recreated",
        ),
        (to("there"), &[], "node requested token bound to a pod scheduled on a different node"),
        (to("here"), &["a", "b"], "node may only request 0 or 1 audiences"),
        (to("here"), &["x"], unlisted),
        (to("mounts"), &["vault"], ""),
        (to("mounts"), &["of-driver"], ""),
        (to("mounts"), &["of-disk"], ""),
        (to("mounts"), &["x"], "error validating audience \"x\": csidriver.storage.k8s.io \"missing\" not found"),
    ];
    for (bound, audiences, why) in rows {
        assert_eq!(ask(bound, audiences), forbidden(why), "{audiences:?}");
    }
    assert_eq!(ask(to("gone"), &[]), "pod \"gone\" not found");
}

#[tokio::test]
async fn volumes_that_were_migrated_count_as_their_driver() {
    let cluster = cluster().await;
    let rows = [
        (value!({"awsElasticBlockStore": {"volumeID": "v"}}), "ebs.csi.aws.com"),
        (
            value!({"azureDisk": {"diskName": "d", "diskURI": "https://a.blob.core.windows.net/c/d.vhd"}}),
            "disk.csi.azure.com",
        ),
        (value!({"azureFile": {"secretName": "s", "shareName": "s"}}), "file.csi.azure.com"),
        (value!({"cinder": {"volumeID": "v"}}), "cinder.csi.openstack.org"),
        (value!({"gcePersistentDisk": {"pdName": "p"}}), "pd.csi.storage.gke.io"),
        (value!({"portworxVolume": {"volumeID": "v"}}), "pxd.portworx.com"),
        (value!({"vsphereVolume": {"volumePath": "p"}}), "csi.vsphere.vmware.com"),
    ];
    for (at, (source, driver)) in rows.into_iter().enumerate() {
        let audience = format!("of-{driver}");
        let spec = value!({"tokenRequests": [{"audience": (audience.clone())}]});
        let driver = value!({"metadata": {"name": driver}, "spec": spec});
        cluster.store("storage.k8s.io", "csidrivers", driver).await;
        let name = format!("v{at}");
        let claim = value!({"volumeName": (name.clone()), "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}});
        cluster
            .store("", "persistentvolumeclaims", value!({"metadata": {"name": (name.clone())}, "spec": claim}))
            .await;
        let mut volume = source.clone();
        volume.set_at(&["accessModes"], value!(["ReadWriteOnce"]));
        volume.set_at(&["capacity"], value!({"storage": "1Gi"}));
        cluster.store("", "persistentvolumes", value!({"metadata": {"name": (name.clone())}, "spec": volume})).await;
        let mut inline = source;
        inline.set_at(&["name"], "v");
        let claimed = value!({"name": "v", "persistentVolumeClaim": {"claimName": (name.clone())}});
        for (pod_name, volume) in [(format!("inline-{at}"), inline), (format!("claimed-{at}"), claimed)] {
            let pod = with(pod(&pod_name, "mine"), &["spec", "volumes"], Value::List(vec![volume]));
            cluster.store("", "pods", with(pod, &["spec", "serviceAccountName"], "sa".into())).await;
            let bound = value!({"apiVersion": "v1", "kind": "Pod", "name": (pod_name.clone()), "uid": UID});
            let spec = value!({"boundObjectRef": bound, "audiences": [(audience.clone())]});
            let request = value!({"metadata": {}, "spec": spec});
            assert_eq!(refusal(cluster.post(("", "serviceaccounts", "token"), "sa", request, NODE)), "", "{pod_name}");
        }
    }
}

#[tokio::test]
async fn kubelet_certificates_name_their_node() {
    let cluster = cluster().await;
    let ask = |signer: &str, request: &str| {
        let spec =
            value!({"signerName": (signer.to_owned()), "request": (pintle_schema::base64::encode(request.as_bytes()))});
        let object = value!({"metadata": {"name": "r"}, "spec": spec});
        refusal(cluster.create_as("certificates.k8s.io", "certificatesigningrequests", object, NODE))
    };
    let forbidden = |why: &str| format!("certificatesigningrequests.certificates.k8s.io \"r\" is forbidden: {why}");
    assert_eq!(ask("a.b/c", "nothing"), "");
    let unreadable = forbidden("unable to parse csr: PEM block type must be CERTIFICATE REQUEST");
    assert_eq!(ask("kubernetes.io/kubelet-serving", "nothing"), unreadable);
    let request = |name: &str| crate::signing_request::testing::pem(&[(0x0a, "system:nodes"), (0x03, name)]);
    assert_eq!(ask("kubernetes.io/kubelet-serving", &request("system:node:mine")), "");
    let other = forbidden("can only create a node CSR with CN=system:node:mine");
    assert_eq!(ask("kubernetes.io/kube-apiserver-client-kubelet", &request("system:node:other")), other);
}
