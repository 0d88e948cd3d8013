//! Patches: from a body to the registry and back. Guarantees kube-apiserver's errors, whatever a patch makes of an object. Must
//! never merge: `pintle_apply` does.

use crate::apply::{self, Configuration};
use crate::audit;
use crate::context::Context;
use crate::decode;
use crate::encoding::{MediaTypeOptions, PatchType};
use crate::query::{FieldValidation, WriteQuery, patch_options};
use crate::request::Request;
use crate::response::ApiResponse;
use crate::scheme::{Scheme, group_of};
use crate::write::{answer, check_name, check_namespace, read_body};
use pintle_apply::{PatchError, json_patch, merge_patch, strategic};
use pintle_codec::compat::print as go;
use pintle_codec::{DecodeError, Decoded, StrictProblem, Strictness, json};
use pintle_registry::update::{ManagedFieldsUpdate, SubresourcePart, Update, check_names_version};
use pintle_registry::{Details, Result, Status, Target};
use pintle_resource::{CustomKind, Resource};
use pintle_schema::{Map, Ref, Str, Struct, Value, canonicalize};
use std::borrow::Cow;
use std::sync::Mutex;

/// PATCH of an object, or of the part of it that a subresource writes.
///
/// # Errors
/// The patch cannot be read or applied, or its result is refused.
pub async fn patch(
    context: &Context,
    target: &Target,
    wanted: MediaTypeOptions,
    request: Request,
    part: Option<SubresourcePart<'_>>,
) -> Result<ApiResponse> {
    let kind = context.patch_type(&target.resource)?;
    let bytes = read_body(context, request.body).await?;
    let query = patch_options(&context.query, kind.applies(), context.request.clone())?;
    audit::request_patch(context, &bytes, kind.format());
    if let PatchType::Apply(format) = kind {
        let config = Configuration::read(&bytes, format)?;
        return apply::apply(context, target, wanted, config, &query, part).await;
    }
    // A missing object is reported before errors of the patch.
    target.get()?;
    let patch = Patch::read(kind, &bytes, query.field_validation)?;
    let schema = &target.resource.schema;
    let converted = !context.api.registry.serves_stored_form(target);
    let warnings = Mutex::new(Vec::new());
    let change = |stored: Option<&Value>| {
        let Some(stored) = stored else { return Err(target.not_found()) };
        let mut found = Vec::new();
        let mut served = Cow::Borrowed(stored);
        if converted {
            // Conversion leaves fields behind that the version does not have.
            canonicalize(schema, served.to_mut());
        }
        let object =
            patch.apply(PatchedKind::of(&target.resource), &served, &query, &context.api.scheme, &mut found)?;
        if let Some(why) = target.resource.strategy.malformed.and_then(|malformed| malformed(&object)) {
            return Err(patch.invalid(&object, &why));
        }
        if let Ok(mut warnings) = warnings.lock() {
            *warnings = found;
        }
        check_namespace(target, &object)?;
        check_name(target, &object)?;
        check_names_version(target, &object)?;
        Ok(object)
    };
    let update =
        Update { change: &change, part, create: false, from_stored: true, owners: ManagedFieldsUpdate::Compute };
    let written = context.api.registry.update(target, &update, &query.options).await;
    answer(context, target, wanted, written, warnings.into_inner().unwrap_or_default()).await
}

/// The kind of the patched object.
#[derive(Clone, Copy)]
pub struct PatchedKind<'a> {
    schema: &'a Struct,
    /// The custom kind, if the kind was defined at run time.
    custom: Option<&'a dyn CustomKind>,
}

impl<'a> PatchedKind<'a> {
    fn of(resource: &'a Resource) -> Self {
        PatchedKind { schema: &resource.schema, custom: resource.custom.as_deref() }
    }
}

impl<'a> From<&'a Struct> for PatchedKind<'a> {
    fn from(schema: &'a Struct) -> Self {
        PatchedKind { schema, custom: None }
    }
}

impl<'a> From<&'a Ref<Struct>> for PatchedKind<'a> {
    fn from(schema: &'a Ref<Struct>) -> Self {
        PatchedKind::from(&**schema)
    }
}

/// A patch that was read.
pub struct Patch {
    kind: PatchType,
    value: Value,
    /// Whether the value contains raw JSON, which may have duplicate keys.
    written: bool,
    problems: Vec<String>,
}

impl Patch {
    /// Reads a patch.
    ///
    /// # Errors
    /// It is not JSON, or not of the shape its type needs.
    pub fn read(kind: PatchType, bytes: &[u8], validation: FieldValidation) -> Result<Self> {
        // A strategic patch yields objects, not JSON text: its numbers have no original spelling.
        let parse = if matches!(kind, PatchType::Strategic) { json::parse } else { json::parse_spelled };
        let decoded = parse(bytes, Strictness::Collect).map_err(|error| match kind {
            PatchType::Merge if validation == FieldValidation::Ignore => Status::bad_request("Invalid JSON Patch"),
            PatchType::Strategic => Status::bad_request(error.to_string()),
            PatchType::Json if validation == FieldValidation::Ignore => Status::bad_request(error.to_string()),
            _ => Status::bad_request(format!("error decoding patch: {error}")),
        })?;
        let mut problems: Vec<String> = decoded.problems.iter().map(StrictProblem::to_string).collect();
        if validation != FieldValidation::Ignore {
            match kind {
                PatchType::Json => {
                    problems = json_patch::check(&decoded.value, bytes).map_err(|error| patch_failed(&error))?;
                }
                PatchType::Merge => merge_patch::check(&decoded.value).map_err(|error| patch_failed(&error))?,
                PatchType::Strategic | PatchType::Apply(_) => {}
            }
        }
        let has_duplicates = !decoded.problems.is_empty() && kind == PatchType::Json;
        match has_duplicates.then(|| json_patch::written(bytes)).flatten() {
            Some(value) => Ok(Patch { kind, value, written: true, problems }),
            None => Ok(Patch { kind, value: decoded.value, written: false, problems }),
        }
    }

    /// The object that the patch makes of a stored one, decoded and checked.
    ///
    /// # Errors
    /// The patch does not apply, or makes something that is no object of the kind.
    pub fn apply<'a>(
        &self,
        kind: impl Into<PatchedKind<'a>>,
        stored: &Value,
        query: &WriteQuery,
        scheme: &Scheme,
        warnings: &mut Vec<String>,
    ) -> Result<Value> {
        let PatchedKind { schema, custom } = kind.into();
        let mut patched = self.patched(schema, stored)?;
        let (kind, api_version) = (stored.str_at(&["kind"]), stored.str_at(&["apiVersion"]));
        // The error message shows the patched object, which is computed again.
        let shown = || {
            let mut base = Cow::Borrowed(stored);
            if custom.is_some() {
                // kube-apiserver has no Go type for it: its fields are in the order of their names.
                base.to_mut().sort_keys();
            }
            self.patched(schema, &base)
        };
        let invalid = |why: &str| match shown() {
            Ok(patched) => self.invalid(&patched, why),
            Err(status) => status,
        };
        if self.kind == PatchType::Strategic && !has_type(&patched) {
            // An object, not JSON: its type is a field as any other.
            let decoded = self.conform(schema, patched.clone(), Strictness::Ignore);
            decoded.map_err(|error| invalid(&error.to_string()))?;
        } else if !has_type(&patched)
            && let Err(error) = json::type_meta(&json::to_vec(&patched))
        {
            return Err(invalid(&format!("couldn't get version/kind; json parse error: {error}")));
        }
        let found_version = patched.str_at(&["apiVersion"]);
        if found_version.matches('/').count() > 1 {
            return Err(invalid(&format!("unexpected GroupVersion string: {found_version}")));
        }
        if custom.is_none() && found_version.ends_with('/') {
            if decode::completed(found_version, group_of(api_version), api_version).is_some() {
                return Err(self.without_version(&patched, stored, query.field_validation, warnings));
            }
            let text = json::to_string(&shown()?);
            return Err(invalid(&format!("Object 'apiVersion' is missing in '{text}'")));
        }
        match custom {
            Some(_) if patched.str_at(&["kind"]).is_empty() => {
                let text = json::to_string(&shown()?);
                return Err(invalid(&format!("Object 'Kind' is missing in '{text}'")));
            }
            Some(_) if found_version.is_empty() => {
                return Err(Status::internal("Object 'apiVersion' is missing in 'object has no apiVersion field'"));
            }
            // Its type is checked when it is written.
            Some(_) => {}
            None => self.check_type(&patched, api_version, kind, scheme)?,
        }
        if custom.is_none() && !api_version.is_empty() && patched.str_at(&["apiVersion"]).is_empty() {
            return Err(self.without_version(&patched, stored, query.field_validation, warnings));
        }
        decode::check_objects(&patched)?;
        let strictness = match query.field_validation {
            FieldValidation::Ignore => Strictness::Ignore,
            _ => Strictness::Collect,
        };
        let mut untouched = self.take_untouched(&mut patched);
        let mut decoded = self.conform(schema, patched, strictness).map_err(|error| invalid(&error.to_string()))?;
        if let Value::Map(fields) = &mut decoded.value {
            fields.entries_mut().append(&mut untouched);
        }
        if let Some(custom) = custom {
            let said = ["apiVersion", "kind"].map(|field| decoded.value.str_at(&[field]).to_owned());
            let (said, own) = ((&*said[0], &*said[1]), (api_version, kind));
            let unknown = decode::coerce_as_said(custom, own, said, &mut decoded.value, scheme);
            let unknown = unknown.map_err(|why| invalid(&why))?;
            decoded.problems.extend(unknown.into_iter().map(StrictProblem::UnknownField));
            decoded.problems.iter_mut().for_each(decode::quote_as_is);
        }
        let problems = self.problems.iter().cloned().chain(decoded.problems.iter().map(StrictProblem::to_string));
        match query.field_validation {
            FieldValidation::Ignore => {}
            FieldValidation::Warn => warnings.extend(problems),
            FieldValidation::Strict => {
                let problems: Vec<String> = problems.collect();
                if !problems.is_empty() {
                    return Err(invalid(&decode::strict_message(&problems)));
                }
            }
        }
        Ok(decoded.value)
    }

    /// The tree that the patch makes of a stored object.
    fn patched(&self, schema: &Struct, stored: &Value) -> Result<Value> {
        let mut document = stored.clone();
        match self.kind {
            PatchType::Json => json_patch::apply(document, &self.value),
            PatchType::Strategic => strategic::apply(schema, document, self.value.clone()).map(|mut patched| {
                let (kind, api_version) = (stored.str_at(&["kind"]), stored.str_at(&["apiVersion"]));
                if has_type(&patched) {
                    pintle_registry::set_type(&mut patched, api_version, kind);
                }
                patched
            }),
            PatchType::Merge | PatchType::Apply(_) => {
                merge_patch::apply(&mut document, self.value.clone()).map(|()| document)
            }
        }
        .map_err(|error| patch_failed(&error))
    }

    /// Takes out the fields of an object that the patch does not touch: they need not be decoded again. Raw JSON is the
    /// exception: any patch encodes it again.
    fn take_untouched(&self, patched: &mut Value) -> Vec<(Str, Value)> {
        let Some(fields) = patched.as_map_mut() else { return Vec::new() };
        let is_tree = |value: &Value| matches!(value, Value::List(_) | Value::Map(_)) && !has_raw(value);
        fields.entries_mut().extract_if(.., |(field, value)| !self.may_touch(field) && is_tree(value)).collect()
    }

    /// Whether the patch may change or move the content of a field.
    fn may_touch(&self, field: &str) -> bool {
        let is_at = |pointer: &Value| match pointer.as_str().and_then(|pointer| pointer.strip_prefix('/')) {
            Some(pointer) => pointer.split('/').next().is_none_or(|first| first == field || first.contains('~')),
            None => true,
        };
        match (&self.value, self.kind) {
            (Value::Map(fields), PatchType::Merge) => fields.contains_key(field),
            (Value::Map(fields), PatchType::Strategic) => fields.keys().any(|key| key == field || key.starts_with('$')),
            (Value::List(operations), PatchType::Json) => operations
                .iter()
                .any(|operation| ["path", "from"].iter().filter_map(|key| operation.get(key)).any(is_at)),
            _ => true,
        }
    }

    /// Decodes the patched value under a schema. Strategic patches work on objects, whose numbers have no original
    /// spelling.
    fn conform(
        &self,
        schema: &Struct,
        patched: Value,
        strictness: Strictness,
    ) -> std::result::Result<Decoded, DecodeError> {
        match self.kind {
            PatchType::Strategic => json::restore(schema, patched, strictness),
            _ if self.written => json::decode(schema, &json::to_vec(&patched), strictness),
            _ => json::conform_json(schema, patched, strictness),
        }
    }

    /// A patch may not make an object of another kind.
    fn check_type(&self, patched: &Value, api_version: &str, kind: &str, scheme: &Scheme) -> Result<()> {
        let found =
            |key: &str, expected| Some(patched.str_at(&[key])).filter(|text| !text.is_empty()).unwrap_or(expected);
        let (found_version, found_kind) = (found("apiVersion", api_version), found("kind", kind));
        // The group of the first kinds has no name.
        let found_version = found_version.strip_prefix('/').unwrap_or(found_version);
        if (found_version, found_kind) == (api_version, kind) || patched.as_map().is_none() {
            return Ok(());
        }
        if let Some(other) = scheme.resource(found_version, found_kind)
            && let Err(error) = self.conform(&other.schema, patched.clone(), Strictness::Ignore)
        {
            return Err(self.invalid(patched, &error.to_string()));
        }
        let group = api_version.rsplit_once('/').map_or("", |(group, _)| group);
        if scheme.converts(found_version, found_kind, group, kind) {
            return Ok(());
        }
        Err(self.invalid(patched, &scheme.mismatch_message(found_version, found_kind, group, kind)))
    }

    /// The error for a result without an `apiVersion`. kube-apiserver decodes it as a type without JSON names: no field is
    /// known, and the object has no name.
    fn without_version(
        &self,
        patched: &Value,
        stored: &Value,
        validation: FieldValidation,
        warnings: &mut Vec<String>,
    ) -> Status {
        let fields = patched.as_map().into_iter().flat_map(|map| map.keys()).map(|key| key.as_str());
        let unknown = fields.filter(|field| !["apiVersion", "kind"].contains(field));
        let unknown = unknown.map(|field| StrictProblem::UnknownField(field.to_owned()).to_string());
        let problems: Vec<String> = self.problems.iter().cloned().chain(unknown).collect();
        match validation {
            FieldValidation::Strict if !problems.is_empty() => {
                return self.invalid(patched, &decode::strict_message(&problems));
            }
            FieldValidation::Warn => warnings.extend(problems),
            _ => {}
        }
        // An error has the warnings only if they are added to it.
        crate::write::without_name(stored.str_at(&["metadata", "name"])).with_warnings(warnings.clone())
    }

    /// The error for a result that cannot be decoded. kube-apiserver names no kind, but shows the result, or the strategic
    /// patch.
    fn invalid(&self, patched: &Value, why: &str) -> Status {
        let shown = match self.kind {
            PatchType::Strategic => go::plain(&without_retained_keys(&self.value)),
            _ => json::to_string(patched),
        };
        let mut errors = pintle_validation::ErrorList::default();
        errors.invalid("patch", shown, why);
        Status::invalid("", "", "", &errors)
    }
}

/// Whether a patched value is an object whose `apiVersion` and `kind` are strings, where it has them.
fn has_type(patched: &Value) -> bool {
    let is_text = |field: &str| matches!(patched.get(field), None | Some(Value::Null | Value::String(_)));
    patched.as_map().is_some() && is_text("apiVersion") && is_text("kind")
}

/// A strategic patch as kube-apiserver leaves it: applying it takes the directive out of it.
fn without_retained_keys(patch: &Value) -> Value {
    match patch {
        Value::Map(fields) => {
            let others = fields.iter().filter(|(field, _)| field.as_str() != "$retainKeys");
            let others = others.map(|(field, value)| (field.clone(), without_retained_keys(value)));
            Value::Map(Map::from_entries(others.collect()))
        }
        Value::List(items) => Value::List(items.iter().map(without_retained_keys).collect()),
        other => other.clone(),
    }
}

fn has_raw(value: &Value) -> bool {
    match value {
        Value::Raw(_) => true,
        Value::List(items) => items.iter().any(has_raw),
        Value::Map(map) => map.values().any(has_raw),
        _ => false,
    }
}

fn patch_failed(error: &PatchError) -> Status {
    let mut status = Status::new(error.status_code(), error.reason(), error.to_string());
    if status.code == 422 {
        status = status.with_details(Details::default());
    }
    status
}

#[cfg(test)]
mod tests;
