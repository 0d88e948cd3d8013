//! Server-side apply: merges a configuration into an object, or creates one.
//!
//! The result is an object of the target's version, as if a client had sent it, with its managed fields; the rest is an
//! ordinary update.

use crate::field_manager::{KindVersions, MANAGED_FIELDS, decode_stored, empty};
use crate::status::{Cause, Details, Result, Status};
use crate::{Registry, Target, WriteOptions, metadata};
use pintle_apply::managed_fields::{Applied, Conflicts, Error, Managed, Versions, Write, last_applied};
use pintle_codec::{Strictness, json};
use pintle_meta::meta::v1::ManagedFieldsEntry;
use pintle_resource::MaybeReady;
use pintle_schema::{ApiType, Struct, Time, Value};

/// The inputs of an apply.
#[derive(Clone, Copy)]
pub struct ApplyRequest<'a> {
    pub config: &'a Value,
    pub force: bool,
    pub subresource: &'a str,
}

impl Registry {
    /// The result of applying a configuration to a live object (`None`: there is none). `live` is canonical.
    ///
    /// Waits if managers wrote other versions and the conversion to those waits.
    ///
    /// # Errors
    /// The configuration is no object of the kind, conflicts with other managers, or a conversion fails.
    pub fn apply<'a>(
        &'a self,
        target: &'a Target,
        live: Option<&'a Value>,
        applying: ApplyRequest<'a>,
        options: &'a WriteOptions,
    ) -> MaybeReady<'a, Result<Value>> {
        let versions = KindVersions::new(self, target, applying.subresource);
        match self.apply_once(&versions, target, live, &applying, options) {
            Err(Failure::NotConverted) => MaybeReady::wait(async move {
                loop {
                    versions.convert_missing().await.map_err(|failed| failed.status)?;
                    match self.apply_once(&versions, target, live, &applying, options) {
                        Err(Failure::NotConverted) => {}
                        outcome => return outcome.map_err(Failure::status),
                    }
                }
            }),
            outcome => MaybeReady::Ready(outcome.map_err(Failure::status)),
        }
    }

    fn apply_once(
        &self,
        versions: &KindVersions<'_>,
        target: &Target,
        live: Option<&Value>,
        applying: &ApplyRequest<'_>,
        options: &WriteOptions,
    ) -> std::result::Result<Value, Failure> {
        let resource = &target.resource;
        let place = AppliedType {
            group: &resource.group,
            version: &resource.version,
            kind: &resource.kind,
            schema: &resource.schema,
        };
        let empty = empty(target);
        let stored = live.and_then(|live| live.at(&["metadata", MANAGED_FIELDS]));
        let managed = decode_stored(stored).map_err(undecodable).map_err(Failure::Status)?;
        let live = LiveObject { object: live.unwrap_or(&empty), empty: &empty, managed };
        let (mut object, managed) = self.apply_in(versions, &place, live, applying, options)?;
        let _ = object.remove_at(&["metadata", MANAGED_FIELDS]);
        if let Some(entries) = managed.encode() {
            metadata::set(&mut object, MANAGED_FIELDS, entries);
        }
        Ok(object)
    }

    /// The same with the managers apart, for whatever has versions.
    ///
    /// # Errors
    /// Those of `apply`.
    pub(crate) fn apply_in(
        &self,
        versions: &dyn Versions,
        place: &AppliedType<'_>,
        live: LiveObject<'_>,
        applying: &ApplyRequest<'_>,
        options: &WriteOptions,
    ) -> std::result::Result<(Value, Managed), Failure> {
        let config = applying.config;
        place.check_type(config)?;
        if config.at(&["metadata", MANAGED_FIELDS]).is_some_and(are_entries) {
            return Err(Status::bad_request("metadata.managedFields must be nil").into());
        }
        let write = Write {
            versions,
            api_version: &place.api_version(),
            subresource: applying.subresource,
            manager: &options.field_manager,
            now: &metadata::now_text(self.environment.as_ref()),
        };
        let Applied { object, managed } = write
            .apply(live.object, config, live.empty, live.managed, applying.force)
            .map_err(|error| match error {
                Error::NotConverted => Failure::NotConverted,
                error => failed(place, config, live.object, error).into(),
            })?;
        let mut object = match object {
            None => live.object.clone(),
            Some(mut merged) => {
                if place.schema.preserve_unknown {
                    drop_unread(&mut merged);
                }
                json::restore(place.schema, merged, Strictness::Ignore)
                    .map_err(|error| {
                        let subject = place.subject(config);
                        let kind = place.gvk();
                        let why = format!("unable to convert unstructured object to {kind}: {error}");
                        Status::unexplained(format!(
                            "failed to convert new object ({subject}) to proper version: {why}"
                        ))
                    })?
                    .value
            }
        };
        if last_applied::is_kept(&options.field_manager, &object) {
            let mut text = json::to_string(&last_applied::recorded(config));
            text.push('\n');
            last_applied::record(&mut object, text);
        }
        Ok((object, managed))
    }
}

/// Removes what cannot be read in a tree's metadata, and is absent therefore: numbers that are no integers, and times that are none.
/// The server sets all of them again.
fn drop_unread(object: &mut Value) {
    let is_time = |value: &Value| value.as_str().is_some_and(|text| Time::parse(text).is_ok());
    for field in ["generation", "deletionGracePeriodSeconds", "creationTimestamp", "deletionTimestamp"] {
        let is_read = match object.at(&["metadata", field]) {
            None | Some(Value::Null) => true,
            Some(time) if field.ends_with("Timestamp") => is_time(time),
            Some(number) => !matches!(number, Value::Float(_)),
        };
        if !is_read {
            let _ = object.remove_at(&["metadata", field]);
        }
    }
}

/// Whether a value has the type of a list of managers. The schema rejects anything else.
fn are_entries(value: &Value) -> bool {
    let is_entry = |entry: &Value| {
        entry.as_map().is_some()
            && json::restore(ManagedFieldsEntry::schema(), entry.clone(), Strictness::Ignore).is_ok()
    };
    value.as_list().is_some_and(|entries| entries.iter().all(is_entry))
}

/// Why a configuration could not be applied.
pub(crate) enum Failure {
    Status(Status),
    /// An object is needed in another version first.
    NotConverted,
}

impl Failure {
    pub fn status(self) -> Status {
        match self {
            Failure::Status(status) => status,
            Failure::NotConverted => Status::internal("an object cannot be converted"),
        }
    }
}

impl From<Status> for Failure {
    fn from(status: Status) -> Self {
        Failure::Status(status)
    }
}

/// The object that a configuration is applied to.
pub(crate) struct LiveObject<'a> {
    pub object: &'a Value,
    /// An object of its type in which nothing is set.
    pub empty: &'a Value,
    pub managed: Managed,
}

/// The type of the configuration.
pub(crate) struct AppliedType<'a> {
    pub group: &'a str,
    pub version: &'a str,
    pub kind: &'a str,
    pub schema: &'a Struct,
}

impl AppliedType<'_> {
    fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.to_owned() } else { format!("{}/{}", self.group, self.version) }
    }

    fn gvk(&self) -> String {
        format!("{}/{}, Kind={}", self.group, self.version, self.kind)
    }

    /// An object's place and type, as messages name it.
    fn subject(&self, object: &Value) -> String {
        let (namespace, name) = (metadata::text(object, "namespace"), metadata::text(object, "name"));
        format!("{namespace}/{name}; {}", self.gvk())
    }

    /// Only objects of this very type can be applied.
    fn check_type(&self, config: &Value) -> Result<()> {
        let (api_version, kind) = (config.str_at(&["apiVersion"]), config.str_at(&["kind"]));
        if api_version == self.api_version() && kind == self.kind {
            return Ok(());
        }
        let found = match api_version.split('/').collect::<Vec<_>>()[..] {
            [""] => format!("/, Kind={kind}"),
            [version] => format!("/{version}, Kind={kind}"),
            [group, version] => format!("{group}/{version}, Kind={kind}"),
            _ => "/, Kind=".to_owned(),
        };
        Err(Status::bad_request(format!("invalid object type: {found}")))
    }
}

fn failed(place: &AppliedType<'_>, config: &Value, live: &Value, error: Error) -> Status {
    match error {
        Error::Conflicts(conflicts) => conflicting(&conflicts),
        Error::Configuration(error) => {
            Status::unexplained(format!("failed to create typed patch object ({}): {error}", place.subject(config)))
        }
        Error::Untracked(error) => {
            let why = format!("failed to convert new object ({}) to smd typed: {error}", place.subject(live));
            Status::unexplained(format!("failed to create manager for existing fields: {why}"))
        }
        Error::InvalidEntry => undecodable(pintle_apply::managed_fields::InvalidEntry),
        error => Status::unexplained(error.to_string()),
    }
}

fn undecodable(error: pintle_apply::managed_fields::InvalidEntry) -> Status {
    Status::unexplained(format!("failed to decode managed fields: {error}"))
}

fn conflicting(conflicts: &Conflicts) -> Status {
    let causes = conflicts.0.iter().map(|conflict| Cause {
        reason: "FieldManagerConflict".into(),
        message: conflict.cause(),
        field: conflict.field(),
    });
    Status::new(409, "Conflict", conflicts.to_string())
        .with_details(Details { causes: causes.collect(), ..Details::default() })
}
