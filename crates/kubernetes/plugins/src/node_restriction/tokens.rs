//! TokenRequests of nodes. Guarantees that a token is bound to a pod on the node, and has an audience that the pod or a
//! driver of its volumes names. Must never trust the request's data about the pod.

use super::{NodeRequest, pods};
use crate::pod_references::claim;
use crate::request::{Kind, Request};
use pintle_auth::Attributes;
use pintle_gates as gates;
use pintle_kubernetes_auth::node_of;
use pintle_registry::status::Result;
use pintle_resource::MaybeReady;
use pintle_schema::{ApiValue, Value, View, names::quoted};
use pintle_types::authentication::v1::TokenRequest;
use pintle_types::core::v1::{PersistentVolume, PersistentVolumeClaim, Pod, Volume, VolumeSource};
use pintle_types::storage::v1::CSIDriver;

const CLAIMS: Kind<PersistentVolumeClaim> = Kind::new("", "persistentvolumeclaims");
const VOLUMES: Kind<PersistentVolume> = Kind::new("", "persistentvolumes");
const DRIVERS: Kind<CSIDriver> = Kind::new("storage.k8s.io", "csidrivers");

/// In-tree volume sources that were migrated to CSI, with their drivers.
const MIGRATED: [(&str, &str); 7] = [
    ("awsElasticBlockStore", "ebs.csi.aws.com"),
    ("azureDisk", "disk.csi.azure.com"),
    ("azureFile", "file.csi.azure.com"),
    ("cinder", "cinder.csi.openstack.org"),
    ("gcePersistentDisk", "pd.csi.storage.gke.io"),
    ("portworxVolume", "pxd.portworx.com"),
    ("vsphereVolume", "csi.vsphere.vmware.com"),
];

/// The verb for audiences that a node's pods do not name.
const VERB: &str = "request-serviceaccounts-token-audience";

/// Checks a token that a node requests; other requests pass.
pub(super) fn authorize<'a>(request: Request<'a>, object: &'a Value) -> MaybeReady<'a, Result<()>> {
    let is_token = (request.resource(), request.subresource()) == ("serviceaccounts", "token");
    if !is_token || node_of(request.requester()).is_none() {
        return MaybeReady::Ready(Ok(()));
    }
    MaybeReady::wait(async move {
        let user = request.requester();
        let asked = NodeRequest { request: &request, object, node: node_of(user).unwrap_or_default() };
        let Some(audience) = unnamed_audience(asked)? else { return Ok(()) };
        let right = Attributes {
            api_version: "v1",
            namespace: request.namespace(),
            name: request.name(),
            ..Attributes::resource(user, VERB, "", &audience)
        };
        let is_allowed = request.allows(&right).await;
        let why = format!(
            "audience {} not found in pod spec volume, {} is not authorized to request tokens for this audience",
            quoted(&audience),
            user.name
        );
        asked.demand(is_allowed, why)
    })
}

/// The audience of the token if the pod does not name it, so that the node needs a permission.
fn unnamed_audience(asked: NodeRequest<'_>) -> Result<Option<String>> {
    let spec = View::<TokenRequest>::new(asked.object).field(TokenRequest::SPEC).get();
    let bound = spec.bound_object_ref.filter(|to| to.api_version == "v1" && to.kind == "Pod" && !to.name.is_empty());
    let Some(bound) = bound else { return Err(asked.refusal("node requested token not bound to a pod")) };
    asked.demand(!bound.uid.is_empty(), "node requested token with a pod binding without a uid")?;
    let pod = pods::find(asked, &bound.name)?;
    asked.demand(
        bound.uid == pod.metadata.uid,
        format_args!(
            "the UID in the bound object reference ({}) does not match the UID in record. The object might have been \
             deleted and then recreated",
            bound.uid
        ),
    )?;
    let is_here = pod.spec.node_name == asked.node;
    asked.demand(is_here, "node requested token bound to a pod scheduled on a different node")?;
    if !asked.request.environment().gates().is_on(&gates::SERVICE_ACCOUNT_NODE_AUDIENCE_RESTRICTION) {
        return Ok(None);
    }
    let audience = match &spec.audiences[..] {
        [] => "",
        [one] => one.as_str(),
        _ => return Err(asked.refusal("node may only request 0 or 1 audiences")),
    };
    let mut faults = Vec::new();
    let pod = pod.to_value();
    if names_audience(asked, View::new(&pod), audience, &mut faults)? {
        return Ok(None);
    }
    let quoted = quoted(audience);
    faults.dedup();
    match &faults[..] {
        [] => Ok(Some(audience.to_owned())),
        [one] => Err(asked.refusal(format_args!("error validating audience {quoted}: {one}"))),
        several => Err(asked.refusal(format_args!("error validating audience {quoted}: [{}]", several.join(", ")))),
    }
}

/// Whether a volume of the pod uses tokens for an audience; records missing objects.
fn names_audience(
    asked: NodeRequest<'_>,
    pod: View<'_, Pod>,
    audience: &str,
    faults: &mut Vec<String>,
) -> Result<bool> {
    for volume in pod.field(Pod::SPEC).field(pintle_types::core::v1::PodSpec::VOLUMES).iter() {
        let source: VolumeSource = volume.field(Volume::VOLUME_SOURCE).get();
        let projected = source.projected.iter().flat_map(|projected| &projected.sources);
        let mut tokens = projected.filter_map(|source| source.service_account_token.as_ref());
        if tokens.any(|token| token.audience == audience) {
            return Ok(true);
        }
        let driver = match claim(pod, volume) {
            Some(claim) => match driver_of_claim(asked, &claim)? {
                Ok(driver) => driver,
                Err(fault) => {
                    faults.push(fault);
                    continue;
                }
            },
            None => source.csi.map(|csi| csi.driver).or_else(|| migrated_driver(volume.value())),
        };
        let Some(driver) = driver.filter(|driver| !driver.is_empty()) else { continue };
        match asked.request.find(&DRIVERS, "", &driver)? {
            None => faults.push(pods::missing("storage.k8s.io", "csidriver", &driver).message),
            Some(found) if found.spec.token_requests.iter().any(|token| token.audience == audience) => return Ok(true),
            Some(_) => {}
        }
    }
    Ok(false)
}

/// The driver of the volume of a claim, or the message about a missing object.
fn driver_of_claim(asked: NodeRequest<'_>, name: &str) -> Result<std::result::Result<Option<String>, String>> {
    let Some(claim) = asked.request.find(&CLAIMS, asked.request.namespace(), name)? else {
        return Ok(Err(pods::missing("", "persistentvolumeclaim", name).message));
    };
    let name = &claim.spec.volume_name;
    let Some(volume) = asked.request.find(&VOLUMES, "", name)? else {
        return Ok(Err(pods::missing("", "persistentvolume", name).message));
    };
    let migrated = migrated_driver(&volume.spec.to_value());
    Ok(Ok(volume.spec.persistent_volume_source.csi.map(|csi| csi.driver).or(migrated)))
}

/// The driver of a volume whose source is not CSI but has been migrated to it.
fn migrated_driver(volume: &Value) -> Option<String> {
    MIGRATED.iter().find(|(source, _)| volume.get(source).is_some()).map(|(_, driver)| (*driver).to_owned())
}
