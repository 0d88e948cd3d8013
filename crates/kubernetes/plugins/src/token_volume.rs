//! The volume with a service account's token, and its mounts. Guarantees that a container with its own mount at the
//! token's path keeps it, and that no volume is added without a mount. Must never touch ephemeral containers.

use crate::fields::push;
use pintle_schema::ViewMut;
use pintle_types::core::v1::{
    ConfigMapProjection, Container, DownwardAPIProjection, DownwardAPIVolumeFile, KeyToPath, LocalObjectReference,
    ObjectFieldSelector, PodSpec, ProjectedVolumeSource, ServiceAccountTokenProjection, Volume, VolumeMount,
    VolumeProjection, VolumeSource,
};

const PREFIX: &str = "kube-api-access-";
const MOUNT_PATH: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
/// An hour and seven seconds: the issuer recognizes tokens of injected volumes by this number.
const TOKEN_SECONDS: i64 = 3607;
const FILE_MODE: i32 = 0o644;

/// Mounts the token into all containers of a pod. `generate` makes a name that begins with a prefix.
pub fn mount(mut spec: ViewMut<'_, PodSpec>, generate: &dyn Fn(&str) -> String) {
    let own = spec.view().field(PodSpec::VOLUMES).iter().map(|volume| volume.field(Volume::NAME).as_str());
    let present = own.into_iter().find(|name| name.starts_with(PREFIX)).map(str::to_owned);
    let add = present.is_none();
    let name = present.unwrap_or_else(|| generate(PREFIX));
    let mount =
        VolumeMount { name: name.clone(), read_only: true, mount_path: MOUNT_PATH.into(), ..VolumeMount::default() };
    let mut mounted = false;
    for list in [PodSpec::INIT_CONTAINERS, PodSpec::CONTAINERS] {
        for container in spec.by_ref().field(list).iter_mut() {
            let mounts = container.field(Container::VOLUME_MOUNTS);
            if !mounts.view().iter().any(|mount| mount.field(VolumeMount::MOUNT_PATH).as_str() == MOUNT_PATH) {
                push(mounts, &mount);
                mounted = true;
            }
        }
    }
    if add && mounted {
        let source = VolumeSource { projected: Some(token_source()), ..VolumeSource::default() };
        push(spec.field(PodSpec::VOLUMES), &Volume { name, volume_source: source });
    }
}

/// The token, the authority that signs the server's certificate, and the namespace.
fn token_source() -> ProjectedVolumeSource {
    let token = ServiceAccountTokenProjection {
        expiration_seconds: Some(TOKEN_SECONDS),
        path: "token".into(),
        ..ServiceAccountTokenProjection::default()
    };
    let authority = ConfigMapProjection {
        local_object_reference: LocalObjectReference { name: "kube-root-ca.crt".into() },
        items: vec![KeyToPath { key: "ca.crt".into(), path: "ca.crt".into(), mode: None }],
        optional: None,
    };
    let field = ObjectFieldSelector { api_version: "v1".into(), field_path: "metadata.namespace".into() };
    let namespace =
        DownwardAPIVolumeFile { path: "namespace".into(), field_ref: Some(field), ..DownwardAPIVolumeFile::default() };
    let none = VolumeProjection::default;
    ProjectedVolumeSource {
        sources: vec![
            VolumeProjection { service_account_token: Some(token), ..none() },
            VolumeProjection { config_map: Some(authority), ..none() },
            VolumeProjection { downward_api: Some(DownwardAPIProjection { items: vec![namespace] }), ..none() },
        ],
        default_mode: Some(FILE_MODE),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_schema::{Value, value};

    #[test]
    fn volumes_and_mounts() {
        let taken = value!([{"name": "m", "mountPath": MOUNT_PATH}]);
        // (spec, names of volumes, names of the mounts of all containers)
        let rows: [(Value, &[&str], &[&str]); 4] = [
            (
                value!({"initContainers": [{"name": "i"}], "containers": [{"name": "c"}]}),
                &["kube-api-access-new"],
                &["kube-api-access-new", "kube-api-access-new"],
            ),
            (
                value!({"volumes": [{"name": "m"}], "containers": [{"name": "c", "volumeMounts": taken}]}),
                &["m"],
                &["m"],
            ),
            (
                value!({"volumes": [{"name": "kube-api-access-old"}], "containers": [{"name": "c"}]}),
                &["kube-api-access-old"],
                &["kube-api-access-old"],
            ),
            (
                value!({"containers": [{"name": "c", "volumeMounts": [{"name": "m", "mountPath": "/m"}]}]}),
                &["kube-api-access-new"],
                &["m", "kube-api-access-new"],
            ),
        ];
        for (mut spec, volumes, mounts) in rows {
            mount(ViewMut::new(&mut spec), &|prefix| format!("{prefix}new"));
            let list = |value: Option<&Value>| value.and_then(Value::as_list).unwrap_or(&[]).to_vec();
            let names =
                |items: Vec<Value>| items.iter().map(|item| item.str_at(&["name"]).to_owned()).collect::<Vec<_>>();
            assert_eq!(names(list(spec.get("volumes"))), volumes);
            let containers = ["initContainers", "containers"].iter().flat_map(|field| list(spec.get(field)));
            let found: Vec<Value> = containers.flat_map(|container| list(container.get("volumeMounts"))).collect();
            assert_eq!(names(found), mounts);
        }
    }
}
