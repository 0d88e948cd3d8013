//! The parameters of a policy: objects of built-in and custom kinds that a binding names or selects. Guarantees that they are
//! read in their current state, in the version that the policy names.

use crate::policy::{Binding, ParamKind, ParamRef};
use pintle_registry::{AdmissionRequest, Registry, Status, Target};
use pintle_resource::{Found, Resource};
use pintle_schema::Value;
use std::sync::Arc;

/// Why parameters could not be found.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
pub struct ParamError(pub String);

impl ParamError {
    fn new(text: impl Into<String>) -> Self {
        ParamError(text.into())
    }
}

impl From<Status> for ParamError {
    fn from(status: Status) -> Self {
        ParamError(status.message)
    }
}

impl ParamKind {
    /// The resource of the kind.
    ///
    /// # Errors
    /// No such kind is served.
    pub fn resource(&self, registry: &Registry) -> Result<Arc<Resource>, ParamError> {
        let table = registry.resources.read();
        let is_served =
            |found: &Resource| matches!(table.find(&found.group, &found.version, &found.plural), Found::Resource(_));
        let found = table.of_kind(&self.api_version, &self.kind);
        let found = found.filter(|found| found.storage.is_some() && is_served(found));
        found.cloned().ok_or_else(|| {
            // A core version has no group before its slash.
            let version = match self.api_version.contains('/') {
                true => self.api_version.clone(),
                false => format!("/{}", self.api_version),
            };
            ParamError(format!("failed to find resource referenced by paramKind: '{version}, Kind={}'", self.kind))
        })
    }
}

/// The parameters of a binding for a request. `None` is a policy that is evaluated without one; an empty list one that is not
/// evaluated.
///
/// # Errors
/// Required parameters are missing or unreadable.
pub async fn collect(
    request: &AdmissionRequest<'_>,
    resource: Option<&Arc<Resource>>,
    binding: &Binding,
) -> Result<Vec<Option<Value>>, ParamError> {
    let (Some(resource), Some(param)) = (resource, &binding.param_ref) else { return Ok(vec![None]) };
    if !resource.namespaced && !param.namespace.is_empty() {
        return Err(ParamError::new("paramRef.namespace must not be provided for a cluster-scoped `paramKind`"));
    }
    let namespace = match resource.namespaced {
        false => "",
        true if !param.namespace.is_empty() => &param.namespace,
        true if !request.namespace().is_empty() => request.namespace(),
        true => {
            let why = "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources";
            return Err(ParamError::new(why));
        }
    };
    let found = find(request.registry, resource, namespace, param).await?;
    if found.is_empty() && param.denies_without {
        let why = "no params found for policy binding with `Deny` parameterNotFoundAction";
        return Err(ParamError::new(why));
    }
    Ok(found.into_iter().map(Some).collect())
}

async fn find(
    registry: &Registry,
    resource: &Arc<Resource>,
    namespace: &str,
    param: &ParamRef,
) -> Result<Vec<Value>, ParamError> {
    let Some(target) = registry.target(resource, namespace, &param.name) else { return Ok(Vec::new()) };
    let objects = match &param.selector {
        _ if !param.name.is_empty() => target.cache.get(&target.key()).into_iter().collect(),
        Some(selector) => {
            let selector = selector.as_ref().map_err(ParamError::new)?;
            let state = target.cache.state();
            let first = match namespace.is_empty() {
                true => target.storage().prefix.to_string(),
                false => format!("{}{namespace}/", target.storage().prefix),
            };
            let all = state.objects.under(&first).map(|entry| entry.object.clone());
            all.filter(|object| selector.matches(|label| object.encoded.label(label))).collect::<Vec<_>>()
        }
        None => return Err(ParamError::new("one of name or selector must be provided")),
    };
    let mut found = Vec::with_capacity(objects.len());
    for object in objects {
        found.push(read(registry, &target, &object).await?);
    }
    Ok(found)
}

async fn read(registry: &Registry, target: &Target, object: &pintle_cache::Object) -> Result<Value, ParamError> {
    let mut value = registry.decode(target, object)?;
    registry.to_served(target, &mut value).await?;
    if target.resource.custom.is_none() {
        // kube-apiserver does not keep the owners of fields of built-in kinds that it watches.
        value.remove_at(&["metadata", "managedFields"]);
    }
    Ok(value)
}
