//! Admission of connections: streams and proxied requests, whose object is built from the query. Guarantees that the object is
//! built only when a plugin handles the request. Must never change how a connection is made.

use crate::context::Context;
use crate::query::Query;
use crate::request::ResourcePath;
use pintle_registry::{AdmissionRequest, Charges, Operation, Result, Status, WriteOptions, set_type};
use pintle_resource::{Action, Resource, Verbs};
use pintle_schema::{Struct, Type, Value, canonicalize};
use std::sync::Arc;

/// Runs admission for a request to a connecting subresource, and returns its options as admission leaves them; `None` for other
/// requests, and if no plugin handles it. The request's path may end with a slash.
///
/// # Errors
/// Admission rejects it, or a number in the query is malformed.
pub(crate) async fn admit(
    context: &Context,
    resource: &Arc<Resource>,
    path: &ResourcePath,
    ends_with_slash: bool,
) -> Result<Option<Query>> {
    let Some(subresource) = resource.subresource(&path.subresource) else { return Ok(None) };
    // A subresource that can only be read does not connect.
    if !matches!(subresource.action, Action::Connect) || !subresource.verbs.contains(Verbs::CREATE) {
        return Ok(None);
    }
    let registry = &context.api.registry;
    let namespace = if resource.namespaced { path.namespace.as_str() } else { "" };
    let target = registry.target(resource, namespace, &path.name).ok_or_else(Status::no_such_path)?;
    let options = WriteOptions { context: context.request.clone(), ..WriteOptions::default() };
    let charges = Charges::default();
    let request = AdmissionRequest::new(registry, &target, &path.subresource, Operation::Connect, &options, &charges);
    if !registry.admission.concerns(&request) {
        return Ok(None);
    }
    let Some(schema) = &subresource.schema else { return Ok(None) };
    let mut object = read(schema, &context.query, &inner_path(&path.rest, ends_with_slash))?;
    let (group, version) = match &subresource.group_version {
        Some((group, version)) => (group.as_str(), version.as_str()),
        None => (resource.group.as_str(), resource.version.as_str()),
    };
    let api_version = if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") };
    set_type(&mut object, &api_version, &subresource.kind);
    canonicalize(schema, &mut object);
    registry.admit_connection(&target, &path.subresource, &mut object, &options).await?;
    Ok(Some(Query::of_options(&object)))
}

/// The path behind a subresource, from its segments: empty if not even a slash follows.
fn inner_path(rest: &str, ends_with_slash: bool) -> String {
    let mut path = rest.to_owned();
    if !path.is_empty() && !path.starts_with('/') {
        path.insert(0, '/');
    }
    if ends_with_slash && !path.ends_with('/') {
        path.push('/');
    }
    path
}

/// The options in a query; the path behind a proxy is one of them.
fn read(schema: &Struct, query: &Query, inner_path: &str) -> Result<Value> {
    let mut object = Value::map();
    for field in schema.fields.iter().filter(|field| !field.inline) {
        let name: &str = &field.name;
        let value = match &field.ty {
            Type::Bool if query.has(name) => Value::Bool(query.flag(name)),
            Type::String if name == "path" => Value::from(inner_path),
            Type::String if query.has(name) => Value::from(query.get(name)),
            Type::List(list) if query.has(name) => match list.elem {
                Type::Int32 | Type::Int64 => Value::List(query.integers(name)?.into_iter().map(Value::Int).collect()),
                _ => Value::List(query.all(name).map(Value::from).collect()),
            },
            _ => continue,
        };
        object.set_at(&[name], value);
    }
    Ok(object)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inner_paths_begin_with_a_slash_unless_there_is_none() {
        for (rest, ends_with_slash, expected) in
            [("", false, ""), ("", true, "/"), ("a/b", false, "/a/b"), ("a/b", true, "/a/b/"), ("/a", false, "/a")]
        {
            assert_eq!(inner_path(rest, ends_with_slash), expected, "{rest}");
        }
    }
}
