//! Server-side apply: from a body to the registry and back.
//!
//! A configuration is parsed from YAML or CBOR without a schema; the registry interprets it.

use crate::context::Context;
use crate::decode::{check_objects, warnings_of};
use crate::encoding::{Format, MediaTypeOptions};
use crate::query::{FieldValidation, WriteQuery};
use crate::response::ApiResponse;
use crate::write::{answer, check_name, check_namespace};
use pintle_codec::{Strictness, cbor, yaml};
use pintle_registry::update::{Change, ManagedFieldsUpdate, SubresourcePart, Update, check_names_version};
use pintle_registry::{ApplyRequest, Result, Status, Target, metadata};
use pintle_resource::MaybeReady;
use pintle_schema::{Value, canonicalize};
use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering};

/// Applies a configuration to an object, or to the part of it that a subresource writes.
///
/// # Errors
/// The configuration cannot be applied, or its result is refused.
pub async fn apply(
    context: &Context,
    target: &Target,
    wanted: MediaTypeOptions,
    config: Configuration,
    query: &WriteQuery,
    part: Option<SubresourcePart<'_>>,
) -> Result<ApiResponse> {
    if part.is_some() {
        target.get()?;
    }
    let subresource = part.map_or("", |part| part.name);
    let applying = ApplyRequest { config: &config.value, force: query.force == Some(true), subresource };
    let application =
        Application { context, target, config: &config, applying, query, was_merged: AtomicBool::new(false) };
    let update =
        Update { change: &application, part, create: true, from_stored: true, owners: ManagedFieldsUpdate::Provided };
    let written = context.api.registry.update(target, &update, &query.options).await;
    // No warnings for a configuration that could not even be merged.
    let warnings = if application.was_merged.load(Ordering::Relaxed) {
        config.warnings(query.field_validation)
    } else {
        Vec::new()
    };
    answer(context, target, wanted, written, warnings).await
}

/// Computes the result of applying a configuration to a stored object, or to none.
struct Application<'a> {
    context: &'a Context,
    target: &'a Target,
    config: &'a Configuration,
    applying: ApplyRequest<'a>,
    query: &'a WriteQuery,
    was_merged: AtomicBool,
}

impl Application<'_> {
    /// The object that was merged, if it may be written.
    fn checked(&self, is_new: bool, merged: Result<Value>) -> Result<Value> {
        let object = merged?;
        self.was_merged.store(true, Ordering::Relaxed);
        self.config.check(self.query.field_validation)?;
        let uid = metadata::text(&object, "uid");
        if is_new && !uid.is_empty() {
            let why =
                format!("uid mismatch: the provided object specified uid {uid}, and no existing object was found");
            return Err(Status::conflict(&self.target.resource, &self.target.name, &why));
        }
        check_namespace(self.target, &object)?;
        check_name(self.target, &object)?;
        if !is_new {
            check_names_version(self.target, &object)?;
        }
        Ok(object)
    }
}

impl Change for Application<'_> {
    fn apply<'a>(&'a self, stored: Option<&'a Value>) -> MaybeReady<'a, Result<Value>> {
        let registry = &self.context.api.registry;
        let is_new = stored.is_none();
        let mut live = stored.map(Cow::Borrowed);
        if let Some(live) = live.as_mut().filter(|_| !registry.serves_stored_form(self.target)) {
            canonicalize(&self.target.resource.schema, live.to_mut());
        }
        let merged = registry.apply(self.target, live.as_deref(), self.applying, &self.query.options).now().ok();
        if let Some(merged) = merged {
            return MaybeReady::Ready(self.checked(is_new, merged));
        }
        MaybeReady::wait(async move {
            let merged = registry.apply(self.target, live.as_deref(), self.applying, &self.query.options);
            self.checked(is_new, merged.get().await)
        })
    }

    fn authorize_create(&self) -> MaybeReady<'_, Result<()>> {
        self.context.may_create(self.target)
    }
}

/// An applied configuration, as parsed.
pub struct Configuration {
    pub value: Value,
    problems: Vec<String>,
}

impl Configuration {
    /// Reads the first document.
    ///
    /// # Errors
    /// It is not of the format, or no map.
    pub fn read(bytes: &[u8], format: Format) -> Result<Self> {
        let refuse = |why: String| Status::bad_request(format!("error decoding YAML: {why}"));
        if format == Format::Cbor {
            // The CBOR parser rejects duplicate keys itself.
            return match cbor::parse(bytes).map_err(|error| refuse(error.to_string()))? {
                value @ Value::Map(_) => {
                    check_objects(&value)?;
                    Ok(Configuration { value, problems: Vec::new() })
                }
                _ => Err(refuse("the configuration is no map".to_owned())),
            };
        }
        let decoded = yaml::parse(bytes, Strictness::Collect)
            .map_err(|error| refuse(format!("error converting YAML to JSON: {error}")))?;
        let value = match decoded.value {
            Value::Null => Value::map(),
            Value::Map(map) => Value::Map(map),
            other => {
                let kind = other.json_kind();
                let why = format!("json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}");
                return Err(refuse(format!("error unmarshaling JSON: while decoding JSON: {why}")));
            }
        };
        check_objects(&value)?;
        let problems = decoded.problems.iter().map(|problem| format!("error converting YAML to JSON: {problem}"));
        Ok(Configuration { value, problems: problems.collect() })
    }

    /// Rejects duplicate keys, if the request asks for strict validation.
    ///
    /// # Errors
    /// There are duplicate keys.
    pub fn check(&self, validation: FieldValidation) -> Result<()> {
        match self.problems.as_slice() {
            [first, ..] if validation == FieldValidation::Strict => {
                Err(Status::bad_request(format!("error strict decoding YAML: {first}")))
            }
            _ => Ok(()),
        }
    }

    /// The warnings about duplicate keys.
    pub fn warnings(&self, validation: FieldValidation) -> Vec<String> {
        if validation != FieldValidation::Warn {
            return Vec::new();
        }
        self.problems.iter().flat_map(|problem| warnings_of(problem)).collect()
    }
}
