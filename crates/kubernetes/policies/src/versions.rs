//! The objects of a request in the versions that policies match, and other inputs of expressions. Guarantees that an object is
//! converted once for each version, and not at all if it is stored in that version.

use pintle_expressions::{Expression, RequestFacts};
use pintle_registry::{AdmissionRequest, Result};
use pintle_resource::{Action, Resource};
use pintle_schema::{Map, Value};
use std::borrow::Cow;
use std::sync::Arc;

/// Whether the body of the request's resource or subresource is an object of the resource's kind.
pub fn is_of_kind(request: &AdmissionRequest<'_>) -> bool {
    let subresource = request.resource().subresource(request.subresource);
    subresource.is_none_or(|subresource| matches!(subresource.action, Action::Part(_)))
}

/// The objects of a request in one version.
pub struct Versioned<'a> {
    pub object: Option<Cow<'a, Value>>,
    pub old: Option<Cow<'a, Value>>,
}

/// The objects in every requested version.
pub struct Versions<'a> {
    request: &'a AdmissionRequest<'a>,
    object: Option<&'a Value>,
    made: Vec<(Arc<Resource>, Arc<Versioned<'a>>)>,
}

impl<'a> Versions<'a> {
    pub fn new(request: &'a AdmissionRequest<'a>, object: Option<&'a Value>) -> Self {
        Versions { request, object, made: Vec::new() }
    }

    /// The objects in a version of the resource.
    ///
    /// # Errors
    /// They cannot be converted.
    pub async fn of(&mut self, resource: &Arc<Resource>) -> Result<Arc<Versioned<'a>>> {
        if let Some((_, made)) = self.made.iter().find(|(known, _)| Arc::ptr_eq(known, resource)) {
            return Ok(made.clone());
        }
        let made = Arc::new(Versioned {
            object: as_sent(self.request, resource, convert(self.request, resource, self.object).await?),
            old: convert(self.request, resource, self.request.old).await?,
        });
        self.made.push((resource.clone(), made.clone()));
        Ok(made)
    }
}

async fn convert<'a>(
    request: &AdmissionRequest<'_>,
    resource: &Resource,
    object: Option<&'a Value>,
) -> Result<Option<Cow<'a, Value>>> {
    let Some(object) = object else { return Ok(None) };
    if request.is_stored_form(resource) || !is_of_kind(request) {
        return Ok(Some(Cow::Borrowed(object)));
    }
    let mut converted = object.clone();
    request.as_version(resource, &mut converted).await?;
    Ok(Some(Cow::Owned(converted)))
}

/// The request's object, with the lists and maps that were sent empty.
fn as_sent<'a>(
    request: &AdmissionRequest<'_>,
    resource: &Resource,
    object: Option<Cow<'a, Value>>,
) -> Option<Cow<'a, Value>> {
    let sent = object.as_deref().filter(|_| is_of_kind(request));
    match sent.and_then(|object| request.as_sent(&resource.schema, object)) {
        Some(sent) => Some(Cow::Owned(sent)),
        None => object,
    }
}

/// The `request` variable for a policy that matches in a version.
pub fn facts<'a>(
    request: &'a AdmissionRequest<'a>,
    matched: &'a Resource,
    object: Option<&'a Value>,
    options: Option<&'a Value>,
) -> RequestFacts<'a> {
    let own = request.resource();
    let resource = |resource: &'a Resource| [&*resource.group, &*resource.version, &*resource.plural];
    RequestFacts {
        kind: request.kind_in(matched),
        resource: resource(matched),
        request_kind: request.kind_in(own),
        request_resource: resource(own),
        subresource: request.subresource,
        name: request.name(object),
        namespace: request.namespace(),
        operation: request.operation.name(),
        user: request.options.context.user(),
        dry_run: request.options.dry_run,
        options,
    }
}

/// Whether one of a policy's expressions may read the namespace of a request.
pub fn reads_namespace<'e>(mut expressions: impl Iterator<Item = &'e Expression>) -> bool {
    expressions.any(|expression| expression.mentions("namespaceObject"))
}

/// The `namespaceObject` variable; `None` for cluster-scoped objects and for namespaces themselves. Decoded only if it is used.
///
/// # Errors
/// The namespace does not exist.
pub fn namespace_object(request: &AdmissionRequest<'_>, is_read: bool) -> Result<Option<Value>> {
    const SHOWN: [&str; 12] = [
        "name",
        "generateName",
        "namespace",
        "uid",
        "resourceVersion",
        "generation",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "labels",
        "annotations",
        "finalizers",
    ];
    if request.is_about_namespace() || request.namespace().is_empty() {
        return Ok(None);
    }
    let Some(home) = request.registry.namespace(request.namespace()) else { return Ok(None) };
    let stored = home.get()?;
    if !is_read {
        return Ok(None);
    }
    let stored = request.registry.decode(&home, &stored)?;
    let mut shown = Map::new();
    for (field, value) in stored.as_map().into_iter().flat_map(Map::iter) {
        match (field.as_str(), value) {
            ("metadata", Value::Map(metadata)) => {
                let mut kept = Map::new();
                for (name, value) in metadata.iter().filter(|(name, _)| SHOWN.contains(&name.as_str())) {
                    kept.set(name.clone(), value.clone());
                }
                shown.set("metadata", Value::Map(kept));
            }
            ("spec" | "status", value) => drop(shown.set(field.clone(), value.clone())),
            _ => {}
        }
    }
    Ok(Some(Value::Map(shown)))
}
