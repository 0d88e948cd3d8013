//! OwnerReferencesPermissionEnforcement: a change of owner references needs the permission to delete the object.
//! Guarantees that no user has the garbage collector delete or block an object that they could not delete themselves.
//! Must never check permissions if nothing changes.

use crate::plugin::{Plugin, Requests};
use crate::request::Request;
use pintle_auth::Attributes;
use pintle_registry::Operation;
use pintle_registry::Phase;
use pintle_registry::status::Result;
use pintle_resource::MaybeReady;
use pintle_schema::{Value, View};
use pintle_types::meta::v1::{ObjectMeta, OwnerReference};

pub const PLUGIN: Plugin =
    Plugin::on(&[Requests { operations: &[Operation::Create, Operation::Update], ..Requests::all() }])
        .authorizing(Phase::Validate, |request, object| MaybeReady::wait(async move { check(&request, object).await }));

async fn check(request: &Request<'_>, object: &Value) -> Result<()> {
    // The status of a pod changes no metadata, whatever old kubelets send.
    if (request.group(), request.resource(), request.subresource()) == ("", "pods", "status") {
        return Ok(());
    }
    let new = owners(object);
    let old = request.old().map(owners);
    if old.as_ref() == Some(&new) || new.is_empty() && old.is_none() {
        return Ok(());
    }
    let user = request.requester();
    if old.is_some() {
        let asked = Attributes {
            api_version: "*",
            subresource: request.subresource(),
            namespace: request.namespace(),
            name: request.name(),
            ..Attributes::resource(user, "delete", request.group(), request.resource())
        };
        if let Some(reason) = request.refuses(&asked).await {
            let why = format!("cannot set an ownerRef on a resource you can't delete: {reason}, <nil>");
            return Err(request.forbidden(object, why));
        }
    }
    let was_blocking = |uid: &str| old.iter().flatten().any(|owner| owner.uid == uid && is_blocking(owner));
    let mut blocking = Vec::new();
    for owner in &new {
        if is_blocking(owner) && !was_blocking(&owner.uid) {
            blocking.push(owner);
        }
    }
    let anything =
        Attributes { subresource: "finalizers", name: "*", ..Attributes::resource(user, "update", "*", "*") };
    if blocking.is_empty() || request.refuses(&anything).await.is_none() {
        return Ok(());
    }
    for owner in blocking {
        let (group, version) = owner.api_version.rsplit_once('/').unwrap_or(("", &owner.api_version));
        let table = request.resources();
        let Some(resource) = table.of_kind(&owner.api_version, &owner.kind) else {
            let why = format!(
                "cannot set blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion {} Kind {}: no \
                 matches for kind {:?} in version {:?}",
                owner.api_version, owner.kind, owner.kind, owner.api_version
            );
            return Err(request.forbidden(object, why));
        };
        let asked = Attributes {
            api_version: version,
            subresource: "finalizers",
            namespace: if resource.namespaced { request.namespace() } else { "" },
            name: &owner.name,
            ..Attributes::resource(user, "update", group, &resource.plural)
        };
        if let Some(reason) = request.refuses(&asked).await {
            let why = format!(
                "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on: \
                 {reason}, <nil>"
            );
            return Err(request.forbidden(object, why));
        }
    }
    Ok(())
}

fn owners(object: &Value) -> Vec<OwnerReference> {
    let metadata = object.get("metadata").unwrap_or(&Value::Null);
    View::<ObjectMeta>::new(metadata).field(ObjectMeta::OWNER_REFERENCES).get()
}

fn is_blocking(owner: &OwnerReference) -> bool {
    owner.block_owner_deletion == Some(true)
}

#[cfg(test)]
mod tests {
    use crate::testing::Cluster;
    use pintle_schema::{Value, value};

    #[test]
    fn owners_need_rights() {
        let cluster = Cluster::with_plugins(&["OwnerReferencesPermissionEnforcement"]);
        let owner = |kind: &str, block: bool| value!({"apiVersion": "v1", "kind": (kind.to_owned()), "name": "o", "uid": "u", "blockOwnerDeletion": block});
        let map = |owners: Vec<Value>| value!({"metadata": {"name": "m", "ownerReferences": (Value::List(owners))}});
        let forbidden = |why: &str| Some(format!("configmaps \"m\" is forbidden: {why}"));
        let no_delete = "cannot set an ownerRef on a resource you can't delete: , <nil>";
        let no_finalizers = "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set \
                             finalizers on: , <nil>";
        let no_kind = "cannot set blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion v1 Kind \
                       Nothing: no matches for kind \"Nothing\" in version \"v1\"";
        let new = |object: Value, user: &str| {
            cluster.create_as("", "configmaps", object, user).err().map(|status| status.message)
        };
        assert_eq!(new(map(vec![owner("Pod", false)]), "alice"), None);
        assert_eq!(new(map(vec![owner("Pod", true)]), "alice"), forbidden(no_finalizers));
        assert_eq!(new(map(vec![owner("Pod", true)]), "admin"), None);
        assert_eq!(new(map(vec![owner("Nothing", true)]), "alice"), forbidden(no_kind));
        let changed = |old: Vec<Value>, new: Vec<Value>, user: &str| {
            let outcome = cluster.update(("", "configmaps", ""), &map(old), map(new), user);
            outcome.err().map(|status| status.message)
        };
        assert_eq!(changed(vec![], vec![owner("Pod", false)], "alice"), forbidden(no_delete));
        assert_eq!(changed(vec![owner("Pod", false)], vec![], "alice"), forbidden(no_delete));
        assert_eq!(changed(vec![owner("Pod", true)], vec![owner("Pod", true)], "alice"), None);
        assert_eq!(changed(vec![], vec![owner("Nothing", true)], "admin"), None);
    }
}
