//! NamespaceLifecycle, the part about deletion: protects the namespaces that a cluster needs. Guarantees that no
//! request deletes one of them. The registry implements the part about creation. Must never read the content of a
//! namespace.

use crate::plugin::{Plugin, Requests};
use pintle_registry::status::{Result, Status};
use pintle_registry::{Operation, Target};

/// The protected namespaces.
const IMMORTAL: [&str; 3] = ["default", "kube-public", "kube-system"];

/// Rejects the deletion of these namespaces.
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
