//! Applies mutations to an object: apply configurations and JSON patches that expressions return. Guarantees kube-apiserver's
//! messages, and that an object is changed as a whole or not at all. Must never track field ownership: fields set by policies
//! have no manager.

use pintle_apply::typed::{Duplicates, TypedErrors, atomic_paths, merge, validate};
use pintle_apply::{PatchError, json_patch};
use pintle_cel::value::{List, Map as CelMap};
use pintle_cel::{EvalError, Value as CelValue};
use pintle_codec::compat::print as go;
use pintle_codec::{Strictness, json};
use pintle_registry::Status;
use pintle_schema::{Map, Str, Struct, Value, names};

/// Why an object was not changed.
pub enum MutationError {
    /// The policy is at fault: its failure policy decides.
    Policy(String),
    /// The request ends.
    Request(Box<Status>),
}

impl From<EvalError> for MutationError {
    fn from(error: EvalError) -> Self {
        MutationError::Policy(error.to_string())
    }
}

/// Where kube-apiserver keeps the types of objects, which messages name.
pub const SCHEME: &str = "k8s.io/kubernetes/pkg/api/legacyscheme/scheme.go:30";

/// The type of the object that is changed.
pub struct Target<'a> {
    pub schema: &'a Struct,
    /// The schema by which configurations are merged; `None` if the OpenAPI document of the kind's version has no such kind.
    pub merge_schema: Option<&'a Struct>,
    /// Group, version and kind.
    pub kind: [&'a str; 3],
    /// Whether a definition declares the kind.
    pub is_custom: bool,
}

impl Target<'_> {
    fn shown(&self) -> String {
        let [group, version, kind] = self.kind;
        format!("{group}/{version}, Kind={kind}")
    }

    /// Checks that a patched object is still one of the kind. Without a type it is.
    fn check_kind(&self, patched: &Value) -> Result<(), String> {
        let [group, version, own_kind] = self.kind;
        let own_version = if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") };
        let or_own = |field: &str, own: &str| match patched.str_at(&[field]) {
            "" => own.to_owned(),
            text => text.to_owned(),
        };
        let (api_version, kind) = (or_own("apiVersion", &own_version), or_own("kind", own_kind));
        if self.is_custom || (api_version == own_version && kind == own_kind) {
            return Ok(());
        }
        let [kind, api_version, scheme] = [&*kind, &*api_version, SCHEME].map(names::quoted);
        Err(format!("no kind {kind} is registered for version {api_version} in scheme {scheme}"))
    }
}

/// Merges the object that an expression made into an object.
pub fn apply_configuration(target: &Target<'_>, object: &Value, made: &CelValue<'_>) -> Result<Value, MutationError> {
    made.check_type_names().map_err(|error| MutationError::Policy(format!("type mismatch: {error}")))?;
    let failed = |why: String| MutationError::Policy(format!("error applying patch: {why}"));
    let unusable = |_| MutationError::Policy("invalid return type: *dynamic.ObjectVal".to_owned());
    let (mut config, foreign) = configuration(made).map_err(unusable)?;
    let own = config.make_map();
    for field in ["apiVersion", "kind"] {
        if let Some(value) = object.get(field) {
            own.set(field, value.clone());
        }
    }
    let Some(merge_schema) = target.merge_schema else {
        let why = format!("no corresponding type for {}", target.shown());
        return Err(failed(format!("failed to convert patch object to typed object: {why}")));
    };
    check(merge_schema, &mut config, &foreign)
        .map_err(|errors| failed(format!("failed to convert patch object to typed object: {errors}")))?;
    let atomic = atomic_paths(merge_schema, &config);
    if !atomic.is_empty() {
        let paths = atomic.join(", ");
        return Err(failed(format!(
            "invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: {paths}"
        )));
    }
    let merged =
        merge(merge_schema, object, &config).map_err(|errors| failed(format!("failed to merge patch: {errors}")))?;
    let restored = json::restore(target.schema, merged, Strictness::Ignore);
    restored.map(|restored| restored.value).map_err(|error| {
        MutationError::Policy(format!("unable to convert unstructured object to {}: {error}", target.shown()))
    })
}

/// A value that no JSON has, at a path of a configuration.
struct Foreign {
    path: Vec<Step>,
    /// As Go prints it.
    plain: String,
    /// As Go's source has it.
    syntax: String,
    /// Its type in Go.
    ty: &'static str,
}

#[derive(Clone)]
enum Step {
    Key(Str),
    Item(usize),
}

/// The configuration as data, with null in place of values that JSON cannot represent.
fn configuration(made: &CelValue<'_>) -> Result<(Value, Vec<Foreign>), EvalError> {
    let (mut path, mut foreign) = (Vec::new(), Vec::new());
    let value = convert(made, false, &mut path, &mut foreign)?;
    Ok((value, foreign))
}

/// A map or a list that is written `inside` of another one stays one of expressions' values, which are no data. Objects within
/// them do not.
fn convert(
    value: &CelValue<'_>,
    inside: bool,
    path: &mut Vec<Step>,
    foreign: &mut Vec<Foreign>,
) -> Result<Value, EvalError> {
    let mut note = |plain: String, syntax: String, ty: &'static str| {
        foreign.push(Foreign { path: path.clone(), plain, syntax, ty });
        Ok(Value::Null)
    };
    match value {
        CelValue::Map(CelMap::Entries(_)) if inside => note(plain(value)?, syntax(value)?, "map[ref.Val]ref.Val"),
        CelValue::List(List::Made(_) | List::Joined(_)) if inside => note(plain(value)?, syntax(value)?, "[]ref.Val"),
        CelValue::Null => note("NULL_VALUE".to_owned(), "0".to_owned(), "structpb.NullValue"),
        CelValue::Uint(number) => note(number.to_string(), format!("{number:#x}"), "uint64"),
        CelValue::Duration(duration) => {
            let plain = value.to_json()?.as_str().unwrap_or_default().to_owned();
            note(plain, duration.nanos.to_string(), "time.Duration")
        }
        CelValue::Timestamp(_) => {
            let text = value.to_json()?;
            let text = text.as_str().unwrap_or_default();
            note(go::moment(text), go::moment_syntax(text), "time.Time")
        }
        CelValue::Bytes(bytes) => {
            let plain: Vec<String> = bytes.iter().map(u8::to_string).collect();
            let syntax: Vec<String> = bytes.iter().map(|byte| format!("{byte:#x}")).collect();
            note(format!("[{}]", plain.join(" ")), format!("[]uint8{{{}}}", syntax.join(", ")), "[]uint8")
        }
        CelValue::Struct(object) => {
            let mut map = Map::with_capacity(object.fields.len());
            for (name, value) in &object.fields {
                path.push(Step::Key(name.clone()));
                map.set(name.clone(), convert(value, false, path, foreign)?);
                path.pop();
            }
            Ok(Value::Map(map))
        }
        CelValue::Map(entries @ CelMap::Entries(_)) => {
            let mut map = Map::with_capacity(entries.len());
            for key in entries.keys() {
                let Some(value) = entries.get(&key) else { continue };
                let name = key_name(&key)?;
                path.push(Step::Key(name.clone()));
                map.set(name, convert(&value?, true, path, foreign)?);
                path.pop();
            }
            Ok(Value::Map(map))
        }
        CelValue::List(list @ (List::Made(_) | List::Joined(_))) => {
            let mut items = Vec::with_capacity(list.len());
            for (at, item) in list.iter().enumerate() {
                path.push(Step::Item(at));
                items.push(convert(&item?, true, path, foreign)?);
                path.pop();
            }
            Ok(Value::List(items))
        }
        CelValue::Optional(Some(value)) => convert(value, inside, path, foreign),
        other => other.to_object(),
    }
}

/// A value as Go prints it.
fn plain(value: &CelValue<'_>) -> Result<String, EvalError> {
    Ok(match value {
        CelValue::Map(entries) => format!("map[{}]", pairs(entries, plain)?.join(" ")),
        CelValue::List(list) => {
            let items: Result<Vec<String>, EvalError> = list.iter().map(|item| plain(&item?)).collect();
            format!("[{}]", items?.join(" "))
        }
        other => match other.to_json()? {
            Value::String(text) => text.to_string(),
            other => String::from_utf8_lossy(&json::to_vec(&other)).into_owned(),
        },
    })
}

/// A value as Go's source has it.
fn syntax(value: &CelValue<'_>) -> Result<String, EvalError> {
    Ok(match value {
        CelValue::Map(entries) => format!("map[ref.Val]ref.Val{{{}}}", pairs(entries, syntax)?.join(", ")),
        CelValue::List(list) => {
            let items: Result<Vec<String>, EvalError> = list.iter().map(|item| syntax(&item?)).collect();
            format!("[]ref.Val{{{}}}", items?.join(", "))
        }
        other => String::from_utf8_lossy(&json::to_vec(&other.to_json()?)).into_owned(),
    })
}

/// The sorted entries of a map, printed.
fn pairs(
    entries: &CelMap<'_>,
    print: fn(&CelValue<'_>) -> Result<String, EvalError>,
) -> Result<Vec<String>, EvalError> {
    let mut pairs = Vec::with_capacity(entries.len());
    for key in entries.keys() {
        if let Some(value) = entries.get(&key) {
            pairs.push((print(&key)?, print(&value?)?));
        }
    }
    pairs.sort();
    Ok(pairs.into_iter().map(|(key, value)| format!("{key}:{value}")).collect())
}

/// The name of a field; objects have no other keys than strings.
fn key_name(key: &CelValue<'_>) -> Result<Str, EvalError> {
    let entry = CelValue::map(vec![(key.clone(), CelValue::Bool(true))])?;
    let object = entry.to_object()?;
    let name = object.as_map().and_then(|map| map.keys().next().cloned());
    name.ok_or_else(EvalError::no_overload)
}

/// Validates a configuration. Values that JSON cannot represent are invalid anywhere: they are replaced by lists, or by maps
/// where lists are valid.
fn check(schema: &Struct, config: &mut Value, foreign: &[Foreign]) -> Result<(), TypedErrors> {
    let Err(mut errors) = validate_with(schema, config, foreign, || Value::List(Vec::new())) else {
        return match foreign.is_empty() {
            true => Ok(()),
            false => validate_with(schema, config, foreign, Value::map).map_err(|mut errors| {
                errors.0.iter_mut().for_each(|error| error.message = shown(error, foreign));
                errors
            }),
        };
    };
    errors.0.iter_mut().for_each(|error| error.message = shown(error, foreign));
    Err(errors)
}

fn validate_with(
    schema: &Struct,
    config: &mut Value,
    foreign: &[Foreign],
    stand_in: impl Fn() -> Value,
) -> Result<(), TypedErrors> {
    for value in foreign {
        put(config, &value.path, stand_in());
    }
    let outcome = validate(schema, config, Duplicates::Refused);
    for value in foreign {
        put(config, &value.path, Value::Null);
    }
    outcome
}

fn put(mut at: &mut Value, path: &[Step], value: Value) {
    for step in path {
        let next = match (step, at) {
            (Step::Key(key), Value::Map(map)) => map.get_mut(key),
            (Step::Item(index), Value::List(items)) => items.get_mut(*index),
            _ => None,
        };
        let Some(next) = next else { return };
        at = next;
    }
    *at = value;
}

/// The message of an error about a value that no JSON has.
fn shown(error: &pintle_apply::typed::TypedError, foreign: &[Foreign]) -> String {
    const GOT: &str = ", got ";
    let at = |value: &&Foreign| path_text(&value.path) == error.path;
    let Some((start, value)) = error.message.find(GOT).zip(foreign.iter().find(at)) else {
        return error.message.clone();
    };
    let (expected, got) = error.message.split_at(start + GOT.len());
    if expected.starts_with("expected numeric") {
        return format!("{expected}{}", value.ty);
    }
    match got.starts_with("&value.valueUnstructured{") {
        true => format!("{expected}&value.valueUnstructured{{Value:{}}}", value.syntax),
        false => format!("{expected}&{{{}}}", value.plain),
    }
}

fn path_text(path: &[Step]) -> String {
    path.iter()
        .map(|step| match step {
            Step::Key(key) => format!(".{key}"),
            Step::Item(at) => format!("[{at}]"),
        })
        .collect()
}

/// Applies JSON patch operations returned by an expression. `None`: a test operation failed.
pub fn json_patch(target: &Target<'_>, object: &Value, made: &CelValue<'_>) -> Result<Option<Value>, MutationError> {
    let CelValue::List(list) = made else {
        let why = "type mismatch: JSONPatchType.expression should evaluate to array";
        return Err(MutationError::Policy(why.to_owned()));
    };
    let mut operations = Vec::with_capacity(list.len());
    for operation in list.iter() {
        operations.push(self::operation(&operation?)?);
    }
    let patched = match json_patch::apply(object.clone(), &Value::List(operations)) {
        Ok(patched) => patched,
        Err(PatchError::TestFailed(_)) => return Ok(None),
        Err(error) => return Err(MutationError::Policy(format!("JSON Patch: {}", error.detail()))),
    };
    let internal = |why: String| MutationError::Request(Box::new(Status::internal(why)));
    target.check_kind(&patched).map_err(internal)?;
    let decoded =
        json::conform_json(target.schema, patched, Strictness::Collect).map_err(|error| internal(error.to_string()))?;
    if !decoded.problems.is_empty() {
        let problems: Vec<String> = decoded.problems.iter().map(ToString::to_string).collect();
        return Err(internal(format!("strict decoding error: {}", problems.join(", "))));
    }
    Ok(Some(decoded.value))
}

fn operation(made: &CelValue<'_>) -> Result<Value, MutationError> {
    let CelValue::Struct(fields) = made else {
        let why = "type mismatch: JSONPatchType.expression should evaluate to array of JSONPatch";
        return Err(MutationError::Policy(why.to_owned()));
    };
    let text = |field: &str| fields.get(field).and_then(CelValue::as_str).unwrap_or_default();
    let mut operation = Map::new();
    operation.set("op", text("op"));
    operation.set("path", text("path"));
    if !text("from").is_empty() {
        operation.set("from", text("from"));
    }
    if let Some(value) = fields.get("value") {
        value.check_type_names().map_err(|error| MutationError::Policy(format!("type mismatch: {error}")))?;
        let json = value.to_json().map_err(|error| {
            let why = "JSONPath valueExpression evaluated to a type that could not marshal to JSON";
            MutationError::Policy(format!("{why}: {error}"))
        })?;
        operation.set("value", json);
    }
    Ok(Value::Map(operation))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_cel::value::Struct as Made;
    use pintle_schema::value;
    use std::sync::Arc;

    fn target(is_custom: bool) -> Target<'static> {
        let deployments = pintle_groups::find("apps", "v1", "deployments").expect("a built-in resource");
        let scale = deployments.subresource("scale").and_then(|scale| scale.schema.as_deref()).expect("a body");
        Target { schema: scale, merge_schema: None, kind: ["autoscaling", "v1", "Scale"], is_custom }
    }

    #[test]
    fn a_patched_object_stays_one_of_its_kind() {
        let unknown = |kind: &str, version: &str| {
            Err(format!("no kind \"{kind}\" is registered for version \"{version}\" in scheme \"{SCHEME}\""))
        };
        for (patched, expected) in [
            (value!({"apiVersion": "autoscaling/v1", "kind": "Scale"}), Ok(())),
            (value!({}), Ok(())),
            (value!({"kind": "Scale"}), Ok(())),
            (value!({"apiVersion": "autoscaling/v1", "kind": "Other"}), unknown("Other", "autoscaling/v1")),
            (value!({"apiVersion": "v9"}), unknown("Scale", "v9")),
        ] {
            assert_eq!(target(true).check_kind(&patched), Ok(()));
            assert_eq!(target(false).check_kind(&patched), expected, "{patched:?}");
        }
    }

    #[test]
    fn kinds_of_other_groups_have_no_type() {
        let made = CelValue::map(Vec::new()).expect("an empty map");
        let refused = apply_configuration(&target(false), &value!({"spec": {"replicas": 1}}), &made);
        let Err(MutationError::Policy(why)) = refused else { panic!("no type") };
        let typed = "failed to convert patch object to typed object";
        assert_eq!(why, format!("error applying patch: {typed}: no corresponding type for autoscaling/v1, Kind=Scale"));
    }

    #[test]
    fn what_is_no_data_is_refused() {
        let text = |text: &str| CelValue::string(text);
        let map = |value| CelValue::map(vec![(text("a"), value)]).expect("a map");
        let object = |field: &str, value| {
            CelValue::Struct(Arc::new(Made { name: "Object".into(), fields: vec![(field.into(), value)] }))
        };
        let deployments = pintle_groups::find("apps", "v1", "deployments").expect("a built-in resource");
        let labels = CelValue::map(vec![(text("labels"), map(text("b")))]).expect("a map");
        for (made, expected) in [
            (object("metadata", object("labels", map(text("b")))), None),
            (object("metadata", labels), Some(".metadata.labels: expected map, got &{map[a:b]}")),
            (
                object("spec", object("replicas", CelValue::Uint(3))),
                Some(".spec.replicas: expected numeric (int or float), got uint64"),
            ),
        ] {
            let (mut config, foreign) = configuration(&made).expect("a configuration");
            let refusal = check(&deployments.schema, &mut config, &foreign).err().map(|errors| errors.to_string());
            assert_eq!(refusal.as_deref(), expected);
        }
    }
}
