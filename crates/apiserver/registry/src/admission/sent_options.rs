//! The options of a request as an object, for webhooks and expressions. Guarantees that it contains only what the client sent.
//! Must never be built unless a webhook or an expression reads it.

use super::{AdmissionRequest, Operation};
use crate::options::Propagation;
use pintle_schema::{Value, value};

impl AdmissionRequest<'_> {
    /// `CreateOptions`, `UpdateOptions` or `DeleteOptions`; `None` for connections.
    pub fn options_object(&self) -> Option<Value> {
        let kind = match self.operation {
            Operation::Create => "CreateOptions",
            Operation::Update => "UpdateOptions",
            Operation::Delete => "DeleteOptions",
            Operation::Connect => return None,
        };
        let mut object = value!({"kind": kind, "apiVersion": "meta.k8s.io/v1"});
        if let Some(deletion) = self.deletion {
            if let Some(seconds) = deletion.grace_period_seconds {
                object.set_at(&["gracePeriodSeconds"], seconds);
            }
            for (field, text) in [("uid", &deletion.uid), ("resourceVersion", &deletion.resource_version)] {
                if let Some(text) = text {
                    object.set_at(&["preconditions", field], text.as_str());
                }
            }
            if let Some(orphan) = deletion.orphan_dependents {
                object.set_at(&["orphanDependents"], Value::Bool(orphan));
            }
            if let Some(policy) = deletion.propagation {
                let policy = match policy {
                    Propagation::Orphan => "Orphan",
                    Propagation::Background => "Background",
                    Propagation::Foreground => "Foreground",
                };
                object.set_at(&["propagationPolicy"], policy);
            }
        }
        if self.options.dry_run {
            object.set_at(&["dryRun"], Value::List(vec!["All".into()]));
        }
        if self.deletion.is_some_and(|deletion| deletion.ignore_read_error) {
            object.set_at(&["ignoreStoreReadErrorWithClusterBreakingPotential"], Value::Bool(true));
        }
        let sent = &self.options.sent;
        if sent.field_manager {
            object.set_at(&["fieldManager"], self.options.field_manager.as_str());
        }
        if !sent.field_validation.is_empty() {
            object.set_at(&["fieldValidation"], sent.field_validation);
        }
        Some(object)
    }
}
