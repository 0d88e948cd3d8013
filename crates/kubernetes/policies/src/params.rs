//! The parameters of a policy: objects of built-in and custom kinds that a binding names or selects. Guarantees that they are
//! read in their current state, in the version that the policy names.

use crate::policy::{Binding, ParamKind, ParamRef};
use pintle_registry::{AdmissionRequest, Registry, Status, Target};
use pintle_resource::{Found, Resource, ResourceTable, Verbs};
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

/// Where the parameters of a kind are.
#[derive(Clone)]
pub enum ParamSource {
    /// Objects of a resource that can be listed.
    Listed(Arc<Resource>),
    /// Objects that cannot be listed, so that none is ever known.
    Unlisted { namespaced: bool, kind: ParamKind },
}

impl ParamKind {
    /// Where parameters of the kind are. A client knows a kind by its name in lower case too, and takes it for granted that there
    /// are lists of it.
    ///
    /// # Errors
    /// No such kind is served.
    pub fn source(&self, registry: &Registry) -> Result<ParamSource, ParamError> {
        let table = registry.resources.read();
        self.source_in(&table).ok_or_else(|| {
            // A core version has no group before its slash.
            let version = match self.api_version.contains('/') {
                true => self.api_version.clone(),
                false => format!("/{}", self.api_version),
            };
            ParamError(format!("failed to find resource referenced by paramKind: '{version}, Kind={}'", self.kind))
        })
    }

    fn source_in(&self, table: &ResourceTable) -> Option<ParamSource> {
        let is_served =
            |found: &Resource| matches!(table.find(&found.group, &found.version, &found.plural), Found::Resource(_));
        let unlisted = |namespaced| ParamSource::Unlisted { namespaced, kind: self.clone() };
        let source = |found: &Arc<Resource>| match found.verbs.contains(Verbs::LIST) {
            true => ParamSource::Listed(found.clone()),
            false => unlisted(found.namespaced),
        };
        let of_kind = |kind: &str| table.of_kind(&self.api_version, kind).filter(|found| is_served(found));
        if let Some(found) = of_kind(&self.kind) {
            return Some(source(found));
        }
        let (group, version) = self.api_version.rsplit_once('/').unwrap_or(("", self.api_version.as_str()));
        let has_version = |found: &&Arc<Resource>| found.group == group && found.version == version;
        table.served().filter(|found| has_version(found) && found.verbs != Verbs::NONE).find_map(|found| {
            if found.kind.to_ascii_lowercase() == self.kind {
                return of_kind(&found.kind).map(source);
            }
            match self.kind.strip_suffix("List") {
                Some("") => Some(unlisted(false)),
                Some(item) if found.kind == item => Some(unlisted(found.namespaced)),
                _ => None,
            }
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
    source: Option<&ParamSource>,
    binding: &Binding,
) -> Result<Vec<Option<Value>>, ParamError> {
    let (Some(source), Some(param)) = (source, &binding.param_ref) else { return Ok(vec![None]) };
    let namespaced = match source {
        ParamSource::Listed(resource) => resource.namespaced,
        ParamSource::Unlisted { namespaced, .. } => *namespaced,
    };
    let namespace = match namespaced {
        false => "",
        true if !param.namespace.is_empty() => &param.namespace,
        true if !request.namespace().is_empty() => request.namespace(),
        true => {
            let why = "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources";
            return Err(ParamError::new(why));
        }
    };
    let resource = match source {
        ParamSource::Listed(resource) => resource,
        ParamSource::Unlisted { kind, .. } => {
            let ParamKind { api_version, kind } = kind;
            let kind = format!("&ParamKind{{APIVersion:{api_version},Kind:{kind},}}");
            return Err(ParamError(format!("paramKind kind `{kind}` not yet synced to use for admission")));
        }
    };
    if !namespaced && !param.namespace.is_empty() {
        return Err(ParamError::new("paramRef.namespace must not be provided for a cluster-scoped `paramKind`"));
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_known_by_their_names_and_those_of_their_lists() {
        let table = pintle_groups::resources().snapshot();
        for (api_version, kind, expected) in [
            ("v1", "ConfigMap", "configmaps"),
            ("v1", "configmap", "configmaps"),
            ("v1", "configMap", "none"),
            ("v1", "ConfigMapList", "unlisted in a namespace"),
            ("v1", "NodeList", "unlisted"),
            ("v1", "List", "unlisted"),
            ("apps/v1", "List", "unlisted"),
            ("apps/v1", "ConfigMap", "none"),
            ("v1", "Binding", "unlisted in a namespace"),
            ("authentication.k8s.io/v1", "TokenReview", "unlisted"),
            ("v1", "Status", "none"),
        ] {
            let kind = ParamKind { api_version: api_version.to_owned(), kind: kind.to_owned() };
            let found = match kind.source_in(&table) {
                Some(ParamSource::Listed(resource)) => resource.plural.to_string(),
                Some(ParamSource::Unlisted { namespaced: true, .. }) => "unlisted in a namespace".to_owned(),
                Some(ParamSource::Unlisted { .. }) => "unlisted".to_owned(),
                None => "none".to_owned(),
            };
            assert_eq!(found, expected, "{kind:?}");
        }
    }
}
