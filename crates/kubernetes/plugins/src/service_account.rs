//! ServiceAccount: every pod runs as a service account that exists. Guarantees the account's token, unless pod or
//! account decline it, and its pull secrets, unless the pod has its own. Must never change a mirror pod: the node would
//! restart it.

use crate::plugin::{Plugin, Requests};
use crate::pod_references::is_mirror;
use crate::request::{Kind, Request, unusable_name};
use crate::token_volume;
use pintle_registry::status::{AwaitedObject, Result, Status};
use pintle_schema::{Value, View, ViewMut};
use pintle_types::core::v1::{Container, EnvVar, Pod, PodSpec, ProjectedVolumeSource, ServiceAccount, VolumeSource};
use std::collections::BTreeSet;

pub const PLUGIN: Plugin =
    Plugin::on(&[Requests::create("", "pods"), Requests::update("", "pods", "ephemeralcontainers")])
        .mutating(mutate)
        .validating(validate);

const ENFORCE_MOUNTABLE_SECRETS: &str = "kubernetes.io/enforce-mountable-secrets";
const DEFAULT: &str = "default";

const SERVICE_ACCOUNTS: Kind<ServiceAccount> = Kind::new("", "serviceaccounts");

fn mutate(request: &Request<'_>, object: &mut Value, _: &mut Vec<String>) -> Result<()> {
    if request.old().is_some() {
        return Ok(());
    }
    if is_mirror(View::new(object)) {
        // These checks precede validation.
        return check_mirror(request, object);
    }
    let name = match View::<Pod>::new(object).field(Pod::SPEC).field(PodSpec::SERVICE_ACCOUNT_NAME).as_str() {
        "" => DEFAULT.to_owned(),
        name => name.to_owned(),
    };
    let account = account(request, object, &name)?;
    let mut spec = ViewMut::<Pod>::new(object).field(Pod::SPEC);
    spec.by_ref().field(PodSpec::SERVICE_ACCOUNT_NAME).set(name.as_str());
    // The legacy name of the field.
    spec.by_ref().field(PodSpec::SERVICE_ACCOUNT).set(name);
    let asked = spec.view().field(PodSpec::AUTOMOUNT_SERVICE_ACCOUNT_TOKEN).get();
    if asked.or(account.automount_service_account_token).unwrap_or(true) {
        token_volume::mount(spec.by_ref(), &|prefix| request.generate_name(prefix));
    }
    let secrets = spec.field(PodSpec::IMAGE_PULL_SECRETS);
    if secrets.view().iter().len() == 0 && !account.image_pull_secrets.is_empty() {
        secrets.set(account.image_pull_secrets.clone());
    }
    // This check precedes validation too.
    check_secrets(request, object, &account)
}

fn validate(request: &Request<'_>, object: &Value, _: &mut Vec<String>) -> Result<()> {
    if request.old().is_none() && is_mirror(View::new(object)) {
        return check_mirror(request, object);
    }
    let name = View::<Pod>::new(object).field(Pod::SPEC).field(PodSpec::SERVICE_ACCOUNT_NAME).as_str();
    if name.is_empty() {
        let why = format!("no service account specified for pod {}/{}", request.namespace(), request.name_of(object));
        return Err(request.forbidden(object, why));
    }
    let account = account(request, object, name)?;
    check_secrets(request, object, &account)
}

/// Accounts may limit the secrets that their pods name.
fn check_secrets(request: &Request<'_>, object: &Value, account: &ServiceAccount) -> Result<()> {
    let enforce = account.metadata.annotations.get(ENFORCE_MOUNTABLE_SECRETS);
    // The spellings of true that Go reads.
    if !enforce.is_some_and(|value| matches!(value.as_str(), "1" | "t" | "T" | "true" | "TRUE" | "True")) {
        return Ok(());
    }
    let spec = View::<Pod>::new(object).field(Pod::SPEC);
    if request.old().is_some() {
        // Ephemeral containers have the fields of containers.
        let containers = View::new(spec.field(PodSpec::EPHEMERAL_CONTAINERS).value());
        // kube-apiserver does not say that this is forbidden.
        return match unlisted_in("ephemeral container", containers, account) {
            Some(why) => Err(Status::unexplained(why)),
            None => Ok(()),
        };
    }
    match unlisted_secret(spec, account) {
        Some(why) => Err(request.forbidden(object, why)),
        None => Ok(()),
    }
}

fn account(request: &Request<'_>, object: &Value, name: &str) -> Result<ServiceAccount> {
    let namespace = request.namespace();
    request.find(&SERVICE_ACCOUNTS, namespace, name)?.ok_or_else(|| {
        let why = unusable_name(name).unwrap_or_else(|| format!("serviceaccount \"{name}\" not found"));
        let why = format!("error looking up service account {namespace}/{name}: {why}");
        let refusal = request.forbidden(object, why);
        match name {
            // A controller creates it right after the namespace.
            DEFAULT => refusal.awaiting(AwaitedObject {
                group: "",
                version: "v1",
                plural: "serviceaccounts",
                namespace: namespace.to_owned(),
                name: name.to_owned(),
            }),
            _ => refusal,
        }
    })
}

fn check_mirror(request: &Request<'_>, object: &Value) -> Result<()> {
    let spec = View::<Pod>::new(object).field(Pod::SPEC);
    match mirror_refusal(spec, spec.field(PodSpec::SERVICE_ACCOUNT_NAME).as_str()) {
        Some(why) => Err(request.forbidden(object, why)),
        None => Ok(()),
    }
}

/// Objects that a mirror pod must not refer to: they are not the node's.
fn mirror_refusal(spec: View<'_, PodSpec>, account: &str) -> Option<&'static str> {
    if !account.is_empty() {
        return Some("a mirror pod may not reference service accounts");
    }
    if names_secret(spec) {
        return Some("a mirror pod may not reference secrets");
    }
    let projected =
        spec.field(PodSpec::VOLUMES).iter().filter_map(|volume| volume.value().get(VolumeSource::PROJECTED.name()));
    let mut sources = projected
        .flat_map(|source| View::<ProjectedVolumeSource>::new(source).field(ProjectedVolumeSource::SOURCES).iter());
    let token =
        sources.any(|source| source.field(pintle_types::core::v1::VolumeProjection::SERVICE_ACCOUNT_TOKEN).is_set());
    token.then_some("a mirror pod may not use ServiceAccountToken volume projections")
}

/// Whether a pod names a secret anywhere.
fn names_secret(spec: View<'_, PodSpec>) -> bool {
    let pulls = spec.field(PodSpec::IMAGE_PULL_SECRETS).iter().len() > 0;
    // Ephemeral containers have the fields of containers.
    let containers =
        [PodSpec::CONTAINERS.name(), PodSpec::INIT_CONTAINERS.name(), PodSpec::EPHEMERAL_CONTAINERS.name()];
    let containers = containers.iter().filter_map(|list| spec.value().get(list)?.as_list()).flatten();
    let mut containers = containers.map(View::<Container>::new);
    pulls
        || containers.any(|container| {
            let from = container.field(Container::ENV_FROM).get();
            from.iter().any(|source| source.secret_ref.is_some()) || secrets_of_env(container).next().is_some()
        })
        || spec.field(PodSpec::VOLUMES).iter().any(|volume| volume_names_secret(volume.value()))
}

/// Volume sources name their secret in one of few fields, whatever the source is.
fn volume_names_secret(volume: &Value) -> bool {
    let sources = volume.as_map().into_iter().flat_map(|map| map.values());
    let projections = volume.at(&["projected", "sources"]).and_then(Value::as_list).unwrap_or(&[]);
    let named = |source: &Value| {
        ["secretName", "secretRef", "nodePublishSecretRef"].iter().any(|field| source.get(field).is_some())
    };
    sources.into_iter().any(named) || projections.iter().any(|source| source.get("secret").is_some())
}

fn secrets_of_env(container: View<'_, Container>) -> impl Iterator<Item = (String, String)> {
    container.field(Container::ENV).get().into_iter().filter_map(|EnvVar { name, value_from, .. }| {
        Some((name, value_from?.secret_key_ref?.local_object_reference.name))
    })
}

/// The first secret of a new pod that its account does not list.
fn unlisted_secret(spec: View<'_, PodSpec>, account: &ServiceAccount) -> Option<String> {
    for volume in spec.field(PodSpec::VOLUMES).get() {
        if let Some(secret) = volume.volume_source.secret.map(|source| source.secret_name)
            && !lists(account, &secret)
        {
            return Some(refusal(&format!("volume with secret.secretName=\"{secret}\""), account));
        }
    }
    let of_containers = || unlisted_in("container", spec.field(PodSpec::CONTAINERS), account);
    let unlisted = unlisted_in("init container", spec.field(PodSpec::INIT_CONTAINERS), account);
    if let Some(why) = unlisted.or_else(of_containers) {
        return Some(why);
    }
    let name = &account.metadata.name;
    let pulls: BTreeSet<&str> = account.image_pull_secrets.iter().map(|secret| secret.name.as_str()).collect();
    let own = spec.field(PodSpec::IMAGE_PULL_SECRETS).get();
    let (at, secret) = own.iter().enumerate().find(|(_, secret)| !pulls.contains(secret.name.as_str()))?;
    Some(format!(
        "imagePullSecrets[{at}].name=\"{}\" is not allowed because service account {name} does not reference that imagePullSecret",
        secret.name
    ))
}

fn lists(account: &ServiceAccount, secret: &str) -> bool {
    account.secrets.iter().any(|listed| listed.name == secret)
}

fn refusal(what: &str, account: &ServiceAccount) -> String {
    let name = &account.metadata.name;
    format!("{what} is not allowed because service account {name} does not reference that secret")
}

/// The first secret of some containers that their account does not list.
fn unlisted_in(what: &str, containers: View<'_, Vec<Container>>, account: &ServiceAccount) -> Option<String> {
    for container in containers.iter() {
        let own = container.field(Container::NAME).as_str();
        for (variable, secret) in secrets_of_env(container) {
            if !lists(account, &secret) {
                let place = format!("{what} {own} with envVar {variable} referencing secret.secretName=\"{secret}\"");
                return Some(refusal(&place, account));
            }
        }
        for source in container.field(Container::ENV_FROM).get() {
            if let Some(secret) = source.secret_ref.map(|reference| reference.local_object_reference.name)
                && !lists(account, &secret)
            {
                let place = format!("{what} {own} with envFrom referencing secret.secretName=\"{secret}\"");
                return Some(refusal(&place, account));
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use crate::testing::Cluster;
    use pintle_schema::{Value, value};

    fn pod(annotations: Value, spec: Value) -> Value {
        let mut pod = value!({"metadata": {"name": "p", "annotations": annotations}, "spec": spec});
        if pod.at(&["spec", "containers"]).is_none() {
            pod.set_at(&["spec", "containers"], value!([{"name": "c", "image": "i"}]));
        }
        pod
    }

    async fn cluster() -> Cluster {
        let cluster = Cluster::new();
        let accounts = [
            value!({"metadata": {"name": "default", "namespace": "ns"}, "imagePullSecrets": [{"name": "reg"}]}),
            value!({"metadata": {"name": "quiet", "namespace": "ns"}, "automountServiceAccountToken": false}),
            value!({
                "metadata": {"name": "strict", "namespace": "ns", "annotations": {"kubernetes.io/enforce-mountable-secrets": "true"}},
                "automountServiceAccountToken": false,
                "secrets": [{"name": "listed"}]
            }),
        ];
        for account in accounts {
            cluster.store("", "serviceaccounts", account).await;
        }
        cluster
    }

    #[tokio::test]
    async fn names_tokens_and_pull_secrets() {
        let cluster = cluster().await;
        // (spec, account, whether the token is mounted, pull secret)
        let rows = [
            (value!({}), "default", true, "reg"),
            (value!({"serviceAccountName": "quiet"}), "quiet", false, ""),
            (value!({"serviceAccountName": "quiet", "automountServiceAccountToken": true}), "quiet", true, ""),
            (value!({"automountServiceAccountToken": false}), "default", false, "reg"),
            (value!({"imagePullSecrets": [{"name": "mine"}]}), "default", true, "mine"),
        ];
        for (spec, account, mounted, secret) in rows {
            let pod = cluster.create("", "pods", pod(Value::Null, spec)).await.expect("admitted");
            assert_eq!(pod.str_at(&["spec", "serviceAccountName"]), account);
            assert_eq!(pod.str_at(&["spec", "serviceAccount"]), account);
            assert_eq!(pod.at(&["spec", "volumes"]).is_some(), mounted, "{account}");
            let pulls = pod.at(&["spec", "imagePullSecrets"]).and_then(Value::as_list).unwrap_or(&[]);
            assert_eq!(pulls.first().map_or("", |pull| pull.str_at(&["name"])), secret);
        }
    }

    #[tokio::test]
    async fn refusals() {
        let cluster = cluster().await;
        let mirror = || value!({"kubernetes.io/config.mirror": "x"});
        let unlisted = "is not allowed because service account strict does not reference that secret";
        let env = value!([{"name": "V", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}]);
        let rows = [
            (
                pod(Value::Null, value!({"serviceAccountName": "none"})),
                "error looking up service account ns/none: serviceaccount \"none\" not found".to_owned(),
            ),
            (
                pod(Value::Null, value!({"serviceAccountName": "a/b%c"})),
                "error looking up service account ns/a/b%c: invalid resource name \"a/b%c\": \
                 [may not contain '/' may not contain '%']"
                    .to_owned(),
            ),
            (
                pod(mirror(), value!({"serviceAccountName": "default"})),
                "a mirror pod may not reference service accounts".into(),
            ),
            (
                pod(mirror(), value!({"volumes": [{"name": "v", "secret": {"secretName": "s"}}]})),
                "a mirror pod may not reference secrets".into(),
            ),
            (
                pod(mirror(), value!({"containers": [{"name": "c", "env": (env.clone())}]})),
                "a mirror pod may not reference secrets".into(),
            ),
            (
                pod(
                    mirror(),
                    value!({"volumes": [{"name": "v", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}}]}),
                ),
                "a mirror pod may not use ServiceAccountToken volume projections".into(),
            ),
            (
                pod(
                    Value::Null,
                    value!({"serviceAccountName": "strict", "volumes": [{"name": "v", "secret": {"secretName": "s"}}]}),
                ),
                format!("volume with secret.secretName=\"s\" {unlisted}"),
            ),
            (
                pod(Value::Null, value!({"serviceAccountName": "strict", "containers": [{"name": "c", "env": env}]})),
                format!("container c with envVar V referencing secret.secretName=\"s\" {unlisted}"),
            ),
        ];
        for (pod, why) in rows {
            let status = cluster.create("", "pods", pod).await.expect_err(&why);
            assert_eq!(status.message, format!("pods \"p\" is forbidden: {why}"));
        }
        let fine =
            value!({"serviceAccountName": "strict", "volumes": [{"name": "v", "secret": {"secretName": "listed"}}]});
        assert!(cluster.create("", "pods", pod(Value::Null, fine)).await.is_ok());
        let old = pod(Value::Null, value!({"serviceAccountName": "strict"}));
        let mut new = old.clone();
        let env = value!([{"name": "V", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}]);
        new.set_at(&["spec", "ephemeralContainers"], value!([{"name": "e", "env": env}]));
        let status = cluster.update(("", "pods", "ephemeralcontainers"), &old, new, "alice").expect_err("unlisted");
        let why = format!("ephemeral container e with envVar V referencing secret.secretName=\"s\" {unlisted}");
        assert_eq!((status.code, status.message), (500, why));
        let mirrored = cluster.create("", "pods", pod(mirror(), value!({}))).await.expect("admitted");
        assert_eq!(mirrored.str_at(&["spec", "serviceAccountName"]), "");
    }
}
