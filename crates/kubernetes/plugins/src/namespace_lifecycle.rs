//! NamespaceLifecycle, the part about deletion: the namespaces that a cluster cannot be without stay.
//! Guarantees that no request deletes one of them. That nothing is created where there is no namespace is the
//! registry's own rule. Must never look at what is in a namespace.

use pintle_registry::Target;
use pintle_registry::status::{Result, Status};

/// Namespaces that clients and controllers count on.
const IMMORTAL: [&str; 3] = ["default", "kube-public", "kube-system"];

/// Judges the deletion of an object.
///
/// # Errors
/// The object is a namespace that must stay.
pub(crate) fn check_deletion(target: &Target) -> Result<()> {
    let resource = &target.resource;
    if (resource.group.as_str(), resource.plural.as_str()) == ("", "namespaces")
        && IMMORTAL.contains(&target.name.as_str())
    {
        return Err(Status::forbidden(resource, &target.name, "this namespace may not be deleted"));
    }
    Ok(())
}
