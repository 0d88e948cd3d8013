//! NamespaceLifecycle, the part about deletion: the namespaces that a cluster cannot be without stay.
//! Guarantees that no request deletes one of them. That nothing is created where there is no namespace is the
//! registry's own rule. Must never look at what is in a namespace.

use crate::plugin::{Plugin, Requests};
use pintle_registry::status::{Result, Status};
use pintle_registry::{Operation, Target};

/// Namespaces that clients and controllers count on.
const IMMORTAL: [&str; 3] = ["default", "kube-public", "kube-system"];

/// Refuses the deletion of these namespaces.
pub static PLUGIN: Plugin =
    Plugin::on(&[Requests { group: "", resource: "namespaces", subresource: "", operations: &[Operation::Delete] }])
        .validating_deletion(|request, _| check_deletion(request.write.target));

fn check_deletion(target: &Target) -> Result<()> {
    if IMMORTAL.contains(&target.name.as_str()) {
        let why = "this namespace may not be deleted";
        return Err(Status::forbidden(&target.resource, &target.name, why));
    }
    Ok(())
}
