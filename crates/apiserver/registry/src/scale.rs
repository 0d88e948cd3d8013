//! ManagedFieldsUpdate of fields for writes to an object's scale.
//!
//! Clients write a scale as an object of its own; the owner of its replicas owns those of the object. See the apply
//! crate for the mapping.

use crate::apply::{AppliedType, Failure, LiveObject};
use crate::field_manager::{MANAGED_FIELDS, decode_stored};
use crate::status::{Result, Status};
use crate::{ApplyRequest, Registry, Target, WriteOptions, metadata};
use pintle_apply::managed_fields::scale::{Mapping, SCALE_VERSION};
use pintle_apply::managed_fields::{Error, Ignored, Managed, Versions, Write};
use pintle_meta::autoscaling::v1::Scale;
use pintle_schema::{ApiType, Str, Struct, Value, canonicalize};
use std::borrow::Cow;

/// How a scale is written.
pub enum Scaling<'a> {
    /// It becomes this.
    To(&'a Value),
    /// This is applied to it.
    Apply(&'a Value, bool),
}

/// A scale has one version.
struct ScaleVersions;

impl Versions for ScaleVersions {
    fn schema(&self, api_version: &str) -> Option<&Struct> {
        (api_version == SCALE_VERSION).then(Scale::schema)
    }

    fn convert<'v>(&self, object: &'v Value, _: &str, _: &str) -> std::result::Result<Cow<'v, Value>, Error> {
        Ok(Cow::Borrowed(object))
    }

    fn ignored(&self, _: &str) -> &Ignored {
        &Ignored::Nothing
    }
}

/// The managers of an object's scale, as far as they can be read.
pub fn managers_of_scale(target: &Target, object: &Value, replicas: &[Str]) -> Option<Value> {
    let versions: Vec<String> = target.stored.versions.iter().map(|version| version.api_version()).collect();
    let versions: Vec<&str> = versions.iter().map(String::as_str).collect();
    let replicas: Vec<&str> = replicas.iter().map(Str::as_str).collect();
    let mapping = Mapping { versions: &versions, replicas: &replicas, api_version: &target.resource.api_version() };
    let parent = decode_stored(object.at(&["metadata", MANAGED_FIELDS])).ok()?;
    mapping.to_scale(&parent).ok()?.encode()
}

/// Gives an object's managed fields the form in which they are stored after a write of its scale.
pub fn settle_managers(object: &mut Value) {
    let Ok(mut managed) = decode_stored(object.at(&["metadata", MANAGED_FIELDS])) else { return };
    Mapping::forget_times(&mut managed);
    if let Some(entries) = managed.encode() {
        metadata::set(object, MANAGED_FIELDS, entries);
    }
}

impl Registry {
    /// The scale after a write, canonical, and the object's new managed fields. `live` is the object's current scale.
    ///
    /// # Errors
    /// The applied configuration is no scale, or conflicts about the replicas.
    pub fn scaled(
        &self,
        target: &Target,
        object: &Value,
        replicas: &[Str],
        live: &Value,
        scaling: &Scaling<'_>,
        options: &WriteOptions,
    ) -> Result<(Value, Option<Value>)> {
        let versions: Vec<String> = target.stored.versions.iter().map(|version| version.api_version()).collect();
        let versions: Vec<&str> = versions.iter().map(String::as_str).collect();
        let replicas: Vec<&str> = replicas.iter().map(Str::as_str).collect();
        let mapping = Mapping { versions: &versions, replicas: &replicas, api_version: &target.resource.api_version() };
        let malformed = |_| Status::internal("the managed fields of the object cannot be read");
        let parent = decode_stored(object.at(&["metadata", MANAGED_FIELDS])).map_err(malformed)?;
        let managed = mapping.to_scale(&parent).map_err(malformed)?;
        let (mut scale, managed) = match scaling {
            Scaling::To(scale) => {
                let mut scale = (*scale).clone();
                metadata::clear(&mut scale, MANAGED_FIELDS);
                canonicalize(Scale::schema(), &mut scale);
                let write = Write {
                    versions: &ScaleVersions,
                    api_version: SCALE_VERSION,
                    subresource: "scale",
                    manager: &options.field_manager,
                    now: &metadata::now_text(self.environment.as_ref()),
                };
                let managed = write.update(live, &scale, managed, false).unwrap_or_default();
                (scale, managed)
            }
            Scaling::Apply(config, force) => {
                let place = AppliedType { group: "autoscaling", version: "v1", kind: "Scale", schema: Scale::schema() };
                let mut empty = Value::map();
                canonicalize(place.schema, &mut empty);
                let applying = ApplyRequest { config, force: *force, subresource: "scale" };
                {
                    let live = LiveObject { object: live, empty: &empty, managed };
                    self.apply_in(&ScaleVersions, &place, live, &applying, options).map_err(Failure::status)?
                }
            }
        };
        canonicalize(Scale::schema(), &mut scale);
        let managed = mapping.to_parent(parent, managed).map_err(malformed)?;
        Ok((scale, Managed::encode(managed)))
    }
}
