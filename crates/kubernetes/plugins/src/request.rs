//! `Request`: the inputs of a plugin: the write that it checks, and other objects. Guarantees that other objects come from
//! memory and that rejections have kube-apiserver's form. Must never give a plugin a way to write or to wait.

use crate::configuration::Configuration;
use pintle_auth::{Attributes, Authorizer, UserInfo};
use pintle_kubernetes_auth::rbac::{RbacSnapshot, RbacSource};
use pintle_registry::environment::{Environment, generate_name};
use pintle_registry::status::{Result, Status};
use pintle_registry::{AdmissionRequest, Operation, Phase, metadata};
use pintle_resource::ResourceTable;
use pintle_schema::{ApiValue, FieldName, Value, names};
use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::Arc;

/// Why a name cannot be that of an object in a request: kube-apiserver's client refuses to ask for it.
pub fn unusable_name(name: &str) -> Option<String> {
    let faults = names::path_segment_name(name);
    (!faults.is_empty()).then(|| format!("invalid resource name {}: [{}]", names::quoted(name), faults.join(" ")))
}

/// A kind whose objects plugins read, in the storage version.
pub struct Kind<T> {
    group: &'static str,
    version: &'static str,
    plural: &'static str,
    of: PhantomData<fn() -> T>,
}

impl<T> Kind<T> {
    pub const fn new(group: &'static str, plural: &'static str) -> Self {
        Kind::of_version(group, "v1", plural)
    }

    /// The same for one that is stored as another version than `v1`.
    pub const fn of_version(group: &'static str, version: &'static str, plural: &'static str) -> Self {
        Kind { group, version, plural, of: PhantomData }
    }
}

/// A request that wants to be admitted, as plugins see it.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    pub write: &'a AdmissionRequest<'a>,
    pub authorizer: &'a dyn Authorizer,
    pub roles: &'a dyn RbacSource,
    /// The configuration of the plugins.
    pub configuration: &'a Configuration,
    pub phase: Phase,
}

impl<'a> Request<'a> {
    /// The operation.
    pub fn operation(&self) -> Operation {
        self.write.operation
    }

    /// The stored object, for updates.
    pub fn old(&self) -> Option<&'a Value> {
        self.write.old
    }

    /// Whether a map was sent with nothing in it. The object does not show it.
    pub fn was_sent_empty(&self, path: &[&str]) -> bool {
        let sent = self.write.environment.empties();
        sent.and_then(|sent| sent.at(path)).and_then(Value::as_map).is_some_and(pintle_schema::Map::is_empty)
    }

    pub fn namespace(&self) -> &'a str {
        &self.write.target.namespace
    }

    /// The name in the path; empty for a POST.
    pub fn name(&self) -> &'a str {
        &self.write.target.name
    }

    /// The name of the request's object, which is in the body of a POST.
    pub fn name_of<'b>(&self, object: &'b Value) -> &'b str
    where
        'a: 'b,
    {
        if self.name().is_empty() { metadata::text(object, "name") } else { self.name() }
    }

    /// The API group of the resource.
    pub fn group(&self) -> &'a str {
        &self.write.target.resource.group
    }

    /// "" for the object itself.
    pub fn subresource(&self) -> &'a str {
        self.write.subresource
    }

    pub fn is_dry_run(&self) -> bool {
        self.write.options.dry_run
    }

    /// The plural name of the resource.
    pub fn resource(&self) -> &'a str {
        &self.write.target.resource.plural
    }

    pub fn environment(&self) -> &'a dyn Environment {
        self.write.registry.environment.as_ref()
    }

    /// All resources that there are.
    pub fn resources(&self) -> Arc<ResourceTable> {
        self.write.registry.resources.snapshot()
    }

    /// Another object; `None` if it does not exist.
    ///
    /// # Errors
    /// The stored object cannot be decoded.
    pub fn find<T: ApiValue>(&self, kind: &Kind<T>, namespace: &str, name: &str) -> Result<Option<T>> {
        let registry = self.write.registry;
        let resource = pintle_groups::find(kind.group, kind.version, kind.plural);
        let Some(target) = resource.and_then(|resource| registry.target(resource, namespace, name)) else {
            return Ok(None);
        };
        let Some(stored) = target.cache.get(&target.key()) else { return Ok(None) };
        T::from_value(&registry.decode(&target, &stored)?).map(Some).map_err(Status::internal)
    }

    /// Another object without a namespace, of a kind that has several versions, as it is stored; `None` if it does not exist or
    /// cannot be read.
    pub fn find_value(&self, group: &str, plural: &str, name: &str) -> Option<Value> {
        let registry = self.write.registry;
        let target = registry.target(pintle_groups::find(group, "v1", plural)?, "", name)?;
        let stored = target.cache.get(&target.key())?;
        registry.decode(&target, &stored).ok()
    }

    /// All objects of a kind in a namespace ("" for kinds without one), by name.
    ///
    /// # Errors
    /// A stored object cannot be read.
    pub fn all<T: ApiValue>(&self, kind: &Kind<T>, namespace: &str) -> Result<Vec<T>> {
        self.all_that(kind, namespace, |_| true)
    }

    /// Those that have a flag set. No other is read.
    ///
    /// # Errors
    /// Such an object cannot be read.
    pub fn all_marked<T: ApiValue>(&self, kind: &Kind<T>, flag: FieldName<T, bool>) -> Result<Vec<T>> {
        // No string of JSON text can have these quotes in it.
        let mark = format!("\"{}\":true", flag.name());
        self.all_that(kind, "", |json| str::from_utf8(json).is_ok_and(|json| json.contains(&mark)))
    }

    /// The first objects of a kind in a namespace, as they are stored, by name; and how many there are. No more are read.
    ///
    /// # Errors
    /// One of them cannot be read.
    pub fn first_objects<T>(&self, kind: &Kind<T>, namespace: &str, most: usize) -> Result<(Vec<Value>, usize)> {
        let count = Cell::new(0);
        let is_among_first = |_: &[u8]| count.replace(count.get() + 1) < most;
        let first = self.values_that(kind, namespace, is_among_first)?;
        Ok((first, count.get()))
    }

    /// The current labels of the object's namespace.
    pub fn namespace_labels(&self) -> impl Fn(&str) -> Option<String> + use<> {
        let namespaces = pintle_groups::find("", "v1", "namespaces");
        let target = namespaces.and_then(|all| self.write.registry.target(all, "", self.namespace()));
        let namespace = target.and_then(|target| target.cache.get(&target.key()));
        move |label| Some(namespace.as_ref()?.encoded.label(label)?.to_owned())
    }

    fn all_that<T: ApiValue>(
        &self,
        kind: &Kind<T>,
        namespace: &str,
        is_asked: impl Fn(&[u8]) -> bool,
    ) -> Result<Vec<T>> {
        let values = self.values_that(kind, namespace, is_asked)?;
        values.iter().map(|value| T::from_value(value).map_err(Status::internal)).collect()
    }

    fn values_that<T>(&self, kind: &Kind<T>, namespace: &str, is_asked: impl Fn(&[u8]) -> bool) -> Result<Vec<Value>> {
        let registry = self.write.registry;
        let resource = pintle_groups::find(kind.group, kind.version, kind.plural);
        let Some(target) = resource.and_then(|resource| registry.target(resource, namespace, "")) else {
            return Ok(Vec::new());
        };
        let state = target.cache.state();
        let objects = state.objects.under(&target.key()).map(|entry| &entry.object);
        let asked = objects.filter(|stored| is_asked(stored.encoded.as_written()));
        asked.map(|stored| registry.decode(&target, stored)).collect()
    }

    /// The rejection of this write.
    pub fn forbidden(&self, object: &Value, why: impl AsRef<str>) -> Status {
        let name = match self.phase {
            // A subresource's object may be of another kind and have no name.
            _ if !self.subresource().is_empty() && !self.name().is_empty() => self.name(),
            Phase::Mutate => name_in_mutation(object),
            Phase::Validate => metadata::text(object, "name"),
        };
        Status::forbidden(&self.write.target.resource, name, why.as_ref())
    }

    /// The 404 of another object that this write names, which kube-apiserver reports as one of the resource that is
    /// written.
    pub fn not_found(&self, name: &str) -> Status {
        Status::not_found(&self.write.target.resource, name)
    }

    /// The user.
    pub fn requester(&self) -> &'a Arc<UserInfo> {
        self.write.options.context.user()
    }

    /// Whether the requester may do something besides the write itself; the namespace is empty for all of the cluster.
    pub async fn permits(&self, verb: &str, group: &str, resource: &str, namespace: &str, name: &str) -> bool {
        let user = self.requester();
        let asked =
            Attributes { api_version: "*", namespace, name, ..Attributes::resource(user, verb, group, resource) };
        self.allows(&asked).await
    }

    /// Whether the authorizer allows something.
    pub async fn allows(&self, asked: &Attributes<'_>) -> bool {
        self.refuses(asked).await.is_none()
    }

    /// Why the authorizer does not allow something, which is often empty; `None` when it does.
    pub async fn refuses(&self, asked: &Attributes<'_>) -> Option<String> {
        let decision = self.authorizer.authorize(asked).get().await;
        (!decision.is_allowed()).then(|| decision.reason(asked.user))
    }

    /// The roles and bindings as they are now.
    pub fn roles(&self) -> Arc<RbacSnapshot> {
        self.roles.snapshot()
    }

    /// A name that begins with a prefix and that nothing else has.
    pub fn generate_name(&self, prefix: &str) -> String {
        generate_name(prefix, self.environment())
    }
}

/// The name in a rejection before validation. kube-apiserver generates names only afterwards, so that clients read the prefix;
/// here the name may be generated already, and is recognised by its prefix and length.
fn name_in_mutation(object: &Value) -> &str {
    const GENERATED: usize = 5;
    let (name, prefix) = (metadata::text(object, "name"), metadata::text(object, "generateName"));
    match name {
        "" if prefix.is_empty() => "Unknown",
        "" => prefix,
        name if !prefix.is_empty() && name.len() == prefix.len() + GENERATED && name.starts_with(prefix) => prefix,
        name => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_schema::value;

    #[test]
    fn names_in_refusals() {
        let rows = [
            (value!({"metadata": {}}), "Unknown"),
            (value!({"metadata": {"generateName": "web-"}}), "web-"),
            (value!({"metadata": {"name": "a"}}), "a"),
            (value!({"metadata": {"name": "web-x2v7k", "generateName": "web-"}}), "web-"),
            (value!({"metadata": {"name": "other", "generateName": "web-"}}), "other"),
        ];
        for (object, name) in rows {
            assert_eq!(name_in_mutation(&object), name);
        }
    }
}
