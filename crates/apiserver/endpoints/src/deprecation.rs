//! Deprecated versions: the warning of their responses, and the annotations of their audit events. Guarantees that
//! rejected requests are warned too. Must never change an outcome otherwise.

use crate::metrics;
use crate::response::ApiResponse;
use pintle_registry::{RequestContext, Status};
use pintle_resource::Resource;

/// Adds the warning of a deprecated version to every response, errors included. The exception are media types that are not
/// supported: these are rejected before the warning is added, by a Status without details.
pub fn with_warning(resource: &Resource, outcome: Result<ApiResponse, Status>) -> Result<ApiResponse, Status> {
    let warn = |warnings: &mut Vec<String>| {
        if !resource.deprecation.is_empty() {
            warnings.insert(0, resource.deprecation.to_string());
        }
    };
    match outcome {
        Ok(mut answer) => {
            warn(&mut answer.warnings);
            Ok(answer)
        }
        Err(mut status) => {
            if !matches!(status.code, 406 | 415) || status.details.is_none() {
                warn(&mut status.warnings);
            }
            Err(status)
        }
    }
}

/// Annotates the audit event of a request to a deprecated version.
pub fn annotate(context: &RequestContext, resource: &Resource) {
    if resource.deprecation.is_empty() || context.audit().is_none() {
        return;
    }
    context.annotate("k8s.io/deprecated", "true");
    let release = metrics::removed_release(&resource.deprecation);
    if !release.is_empty() {
        context.annotate("k8s.io/removed-release", release);
    }
}
