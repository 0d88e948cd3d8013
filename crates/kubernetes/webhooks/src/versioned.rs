//! `Versioned`: the objects of a request in a webhook's version. Guarantees that objects are converted only for versions other
//! than the stored one. Must never change the object except by a webhook's patch.

use pintle_codec::{Strictness, json};
use pintle_registry::admission::kind_of;
use pintle_registry::{AdmissionRequest, Result, Status, set_type};
use pintle_resource::{Action, Resource};
use pintle_schema::{Struct, Value, canonicalize};
use std::sync::Arc;

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
            Some(object) => Some(form.shown(request, object).await?),
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
        // The webhook's result is decoded as sent, for the error messages.
        let decoded =
            json::decode(form.schema, &json::to_vec(&patched), Strictness::Ignore).map_err(Status::internal)?;
        let mut object = decoded.value;
        canonicalize(form.schema, &mut object);
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
        if Form::of(request, &self.resource).is_resource {
            request.as_stored(&self.resource, &mut changed).await?;
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
        let is_resource = other.is_none() && resource.storage.is_some();
        Form { resource, schema, is_resource, subresource: request.subresource }
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
