//! `Versioned`: the objects of a request in a webhook's version. Guarantees that objects are converted only for versions other
//! than the stored one. Must never change the object except by a webhook's patch.

use crate::owners;
use pintle_codec::{Strictness, json};
use pintle_registry::admission::kind_of;
use pintle_registry::{AdmissionRequest, Result, Status, set_type};
use pintle_resource::{Action, Resource};
use pintle_schema::{Struct, Value, canonicalize, names, with_shown_empties};
use pintle_validation::ErrorList;
use std::sync::Arc;

/// Where kube-apiserver keeps the types of objects, which a message names.
const SCHEME: &str = "k8s.io/kubernetes/pkg/api/legacyscheme/scheme.go:30";

/// The objects of a request in one version of its resource.
pub(crate) struct Versioned {
    pub resource: Arc<Resource>,
    pub object: Option<Value>,
    pub old: Option<Value>,
    /// Whether a patch has changed the object.
    pub is_changed: bool,
}

impl Versioned {
    /// The objects in a version.
    ///
    /// # Errors
    /// One cannot be converted.
    pub async fn of(
        request: &AdmissionRequest<'_>,
        resource: &Arc<Resource>,
        object: Option<&Value>,
    ) -> Result<Versioned> {
        let form = Form::of(request, resource);
        let object = match object {
            Some(object) => {
                let shown = form.shown(request, object).await?;
                let sent = if form.is_resource { request.as_sent(form.schema, &shown) } else { None };
                Some(sent.unwrap_or(shown))
            }
            None => None,
        };
        let old = match request.old {
            Some(old) => Some(form.shown(request, old).await?),
            None => None,
        };
        Ok(Versioned { resource: resource.clone(), object, old, is_changed: false })
    }

    /// Replaces the object by its patched form. Returns whether it differs.
    ///
    /// # Errors
    /// It is no object of the kind.
    pub fn replace(&mut self, request: &AdmissionRequest<'_>, patched: Value) -> Result<bool> {
        let form = Form::of(request, &self.resource);
        form.check_type(&patched)?;
        form.check_kind(&patched, &request.target.storage().api_version)?;
        // The webhook's result is decoded as sent, for the error messages.
        let decoded =
            json::decode(form.schema, &json::to_vec(&patched), Strictness::Ignore).map_err(Status::internal)?;
        let mut object = decoded.value;
        canonicalize(form.schema, &mut object);
        if let Some(shown) = with_shown_empties(form.schema, &object, &patched) {
            object = shown;
        }
        let is_other = self.object.as_ref() != Some(&object);
        self.resource.defaults.apply(form.schema, &mut object, request.registry.environment.now_unix());
        self.object = Some(object);
        self.is_changed = true;
        Ok(is_other)
    }

    /// Writes a changed object back in the form of stored ones.
    ///
    /// # Errors
    /// It cannot be converted.
    pub async fn write_back(self, request: &AdmissionRequest<'_>, object: &mut Value) -> Result<()> {
        let Some(mut changed) = self.object.filter(|_| self.is_changed) else { return Ok(()) };
        if let Some(warning) = owners::restore(&mut changed, object) {
            request.options.context.warn(warning);
        }
        if Form::of(request, &self.resource).is_resource {
            let namespace = changed.str_at(&["metadata", "namespace"]).to_owned();
            request.as_stored(&self.resource, &mut changed).await?;
            // Another namespace than the request's is refused after all webhooks.
            if self.resource.namespaced && request.subresource.is_empty() && !namespace.is_empty() {
                changed.set_at(&["metadata", "namespace"], namespace.as_str());
            }
        }
        *object = changed;
        Ok(())
    }
}

/// The form of a request's objects in a version.
struct Form<'a> {
    resource: &'a Resource,
    schema: &'a Struct,
    /// Whether they are objects of the resource itself, and not those that are posted to a subresource.
    is_resource: bool,
    subresource: &'a str,
}

impl<'a> Form<'a> {
    fn of(request: &AdmissionRequest<'a>, resource: &'a Resource) -> Form<'a> {
        let subresource = resource.subresource(request.subresource);
        let other = subresource.filter(|subresource| !matches!(subresource.action, Action::Part(_)));
        let schema = other.and_then(|subresource| subresource.schema.as_deref()).unwrap_or(&resource.schema);
        let is_resource = other.is_none();
        Form { resource, schema, is_resource, subresource: request.subresource }
    }

    /// Checks that the type of a patched object can be read.
    fn check_type(&self, patched: &Value) -> Result<()> {
        let is_custom = self.is_resource && self.resource.custom.is_some();
        for field in ["apiVersion", "kind"].into_iter().filter(|_| !is_custom) {
            if let Some(value) = patched.get(field).filter(|value| !matches!(value, Value::String(_) | Value::Null)) {
                let found = value.json_kind();
                return Err(Status::internal(format!(
                    "couldn't get version/kind; json parse error: json: cannot unmarshal {found} into Go struct field \
                     .{field} of type string"
                )));
            }
        }
        Ok(())
    }

    /// Checks that a patched object is still one of the kind. Without a type it is. Custom resources are converted to the version
    /// that the write is worked on in.
    fn check_kind(&self, patched: &Value, working_version: &str) -> Result<()> {
        let [group, version, own_kind] = kind_of(self.resource, self.subresource);
        let own_version = if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") };
        let or_own = |field: &str, own: &str| match patched.str_at(&[field]) {
            "" => own.to_owned(),
            text => text.to_owned(),
        };
        let (api_version, kind) = (or_own("apiVersion", &own_version), or_own("kind", own_kind));
        if api_version == own_version && kind == own_kind {
            return Ok(());
        }
        if !self.is_resource || self.resource.custom.is_none() {
            let [kind, api_version, scheme] = [&*kind, &*api_version, SCHEME].map(names::quoted);
            let why = format!("no kind {kind} is registered for version {api_version} in scheme {scheme}");
            return Err(Status::internal(why));
        }
        if api_version != own_version {
            let slash = if api_version.contains('/') { "" } else { "/" };
            let own = names::quoted(working_version);
            let why = format!(
                "{slash}{api_version}, Kind={kind} is unstructured and is not suitable for converting to {own}"
            );
            return Err(Status::unexplained(why));
        }
        let mut errors = ErrorList::default();
        errors.invalid("kind", kind.as_str(), format!("must be {own_kind}"));
        Err(Status::invalid(group, &kind, patched.str_at(&["metadata", "name"]), &errors))
    }

    async fn shown(&self, request: &AdmissionRequest<'_>, object: &Value) -> Result<Value> {
        let mut shown = object.clone();
        if self.is_resource {
            if !request.is_stored_form(self.resource) {
                request.as_version(self.resource, &mut shown).await?;
            }
        } else {
            let [group, version, kind] = kind_of(self.resource, self.subresource);
            let api_version = if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") };
            set_type(&mut shown, &api_version, kind);
        }
        canonicalize(self.schema, &mut shown);
        Ok(shown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_schema::value;
    use pintle_types::apps::v1::Deployment;

    #[test]
    fn a_patched_object_stays_one_of_its_kind() {
        let deployments = Resource::of::<Deployment>();
        let form = Form { resource: &deployments, schema: &deployments.schema, is_resource: true, subresource: "" };
        let unknown = |kind: &str, version: &str| {
            let scheme = names::quoted(SCHEME);
            Err(format!(
                "Internal error occurred: no kind \"{kind}\" is registered for version \"{version}\" in scheme {scheme}"
            ))
        };
        for (patched, expected) in [
            (value!({"apiVersion": "apps/v1", "kind": "Deployment"}), Ok(())),
            (value!({}), Ok(())),
            (value!({"apiVersion": "apps/v1", "kind": "Other"}), unknown("Other", "apps/v1")),
            (value!({"apiVersion": "apps/v9"}), unknown("Deployment", "apps/v9")),
        ] {
            assert_eq!(form.check_kind(&patched, "apps/v1").map_err(|status| status.message), expected, "{patched:?}");
            assert!(form.check_type(&patched).is_ok());
        }
        let unreadable = form.check_type(&value!({"kind": 1, "apiVersion": []})).expect_err("no text");
        assert!(unreadable.message.ends_with("cannot unmarshal array into Go struct field .apiVersion of type string"));
    }
}
