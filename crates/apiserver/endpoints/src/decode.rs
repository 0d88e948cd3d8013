//! Request bodies: decodes an object of the kind that the path requires.
//!
//! The errors are those of kube-apiserver, which distinguishes a body that is no object, one of another kind, and one with an
//! invalid field.

use crate::encoding::Format;
use crate::query::FieldValidation;
use crate::scheme::{Scheme, group_of};
use pintle_codec::{DecodeError, Decoded, StrictProblem, Strictness, TooManyObjects, cbor, json, protobuf, yaml};
use pintle_registry::{Result, Status};
use pintle_resource::CustomKind;
use pintle_schema::names::quoted;
use pintle_schema::{Struct, Value};

/// The kind that a request's body must be of.
pub struct Expected<'a> {
    pub group: &'a str,
    pub version: &'a str,
    pub kind: &'a str,
    pub schema: &'a Struct,
    /// Other versions with the same shape, which are accepted too.
    pub also: &'static [&'static str],
    /// Returns why a decoded object is malformed all the same.
    pub malformed: Option<fn(&Value) -> Option<String>>,
    /// The custom kind, if the kind was defined at run time.
    pub custom: Option<&'a dyn CustomKind>,
    /// The known kinds, for messages about unexpected ones.
    pub scheme: &'a Scheme,
}

impl Expected<'_> {
    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.to_owned() } else { format!("{}/{}", self.group, self.version) }
    }
}

/// Decodes a body; problems that are only warned of are added to `warnings`.
///
/// # Errors
/// The syntax, the kind or a field is wrong.
pub fn body(
    expected: &Expected<'_>,
    format: Format,
    bytes: &[u8],
    validation: FieldValidation,
    warnings: &mut Vec<String>,
) -> Result<Value> {
    let strictness = match validation {
        FieldValidation::Ignore => Strictness::Ignore,
        FieldValidation::Warn | FieldValidation::Strict => Strictness::Collect,
    };
    let decoded = match format {
        Format::Json => json::decode(expected.schema, bytes, strictness),
        Format::Yaml => yaml::decode(expected.schema, bytes, strictness),
        Format::Cbor => cbor::decode(expected.schema, bytes, strictness),
        Format::Protobuf => protobuf::decode_envelope(bytes)
            .and_then(|envelope| protobuf::decode(expected.schema, envelope.raw))
            .map(|value| Decoded { value, problems: Vec::new() }),
    };
    // Errors of `apiVersion` and `kind` come first; they are parsed separately only when decoding failed.
    let says = |decoded: &Decoded| match expected.custom {
        // Trees have no fields but those of the very same names.
        Some(_) => decoded.value.as_map().is_some_and(|map| !map.is_empty()),
        None => decoded.value.get("kind").is_some(),
    };
    let head = match &decoded {
        Ok(decoded) if format != Format::Protobuf && says(decoded) => Head {
            api_version: decoded.value.str_at(&["apiVersion"]).to_owned(),
            kind: decoded.value.str_at(&["kind"]).to_owned(),
        },
        _ => head(expected, format, bytes)?,
    };
    let head = match expected.custom {
        Some(_) => {
            check_said(expected, &head, bytes, validation)?;
            head
        }
        None => {
            let head = with_defaults(expected, head, bytes)?;
            check_kind(expected, &head, bytes)?;
            head
        }
    };
    let decoded = decoded.map_err(|error| cannot_be_handled(expected, &head, &error.to_string()))?;
    check_objects(&decoded.value)?;
    if let Some(why) = expected.malformed.and_then(|malformed| malformed(&decoded.value)) {
        return Err(cannot_be_handled(expected, &head, &why));
    }
    let Decoded { mut value, mut problems } = decoded;
    if let Some(custom) = expected.custom {
        if head.api_version.is_empty() && is_null(format, bytes, "apiVersion") {
            let why = ".apiVersion accessor error: <nil> is of the type <nil>, expected string";
            return Err(cannot_be_handled(expected, &head, why));
        }
        let unknown = custom_problems(expected, custom, &head, &mut value, &mut problems);
        unknown.map_err(|why| cannot_be_handled(expected, &head, &why))?;
    }
    report(expected, &head, problems, validation, warnings)?;
    match expected.custom {
        Some(_) => check_version(expected, &head).map_err(|status| status.with_warnings(warnings.clone()))?,
        None => pintle_registry::set_type(&mut value, &expected.api_version(), expected.kind),
    }
    Ok(value)
}

/// Coerces an object by the schema of the version that it declares, and adds unknown fields to the problems in kube-apiserver's
/// order. An object of another kind is left unchanged.
///
/// # Errors
/// An embedded object is malformed.
fn custom_problems(
    expected: &Expected<'_>,
    custom: &dyn CustomKind,
    head: &Head,
    object: &mut Value,
    problems: &mut Vec<StrictProblem>,
) -> std::result::Result<(), String> {
    // Duplicate keys are found during parsing, before unknown fields.
    problems.sort_by_key(|problem| matches!(problem, StrictProblem::UnknownField(_)));
    let own = (expected.api_version(), expected.kind);
    let unknown = coerce_as_said(custom, (&*own.0, own.1), (&*head.api_version, &*head.kind), object, expected.scheme)?;
    problems.extend(unknown.into_iter().map(StrictProblem::UnknownField));
    problems.iter_mut().for_each(quote_as_is);
    Ok(())
}

/// Coerces an object by the schema of the version that it says it is of, and returns its unknown fields. An object of another kind than
/// its own is left unchanged.
///
/// # Errors
/// An embedded object is malformed.
pub fn coerce_as_said(
    custom: &dyn CustomKind,
    (own_version, own_kind): (&str, &str),
    (version, kind): (&str, &str),
    object: &mut Value,
    scheme: &Scheme,
) -> std::result::Result<Vec<String>, String> {
    if kind != own_kind || group_of(version) != group_of(own_version) {
        return Ok(Vec::new());
    }
    if version == own_version {
        return custom.coerce(object);
    }
    match scheme.resource(version, kind).as_ref().and_then(|other| other.custom.as_deref()) {
        Some(other) => other.coerce(object),
        None => Ok(take_fields(object)),
    }
}

/// kube-apiserver puts the path of an unknown field of a tree between quotes as it is.
pub fn quote_as_is(problem: &mut StrictProblem) {
    if let StrictProblem::UnknownField(path) = problem {
        *problem = StrictProblem::Message(format!("unknown field \"{path}\""));
    }
}

/// Removes all fields except metadata and type: a version without a schema has no others.
fn take_fields(object: &mut Value) -> Vec<String> {
    let Some(map) = object.as_map_mut() else { return Vec::new() };
    let mut taken = Vec::new();
    map.retain(|name, _| {
        let is_kept = matches!(name.as_str(), "apiVersion" | "kind" | "metadata");
        if !is_kept {
            taken.push(name.to_string());
        }
        is_kept
    });
    taken.sort_unstable();
    taken
}

/// The body of a custom resource must declare its `kind`, and an `apiVersion` of a group and a version.
fn check_said(expected: &Expected<'_>, head: &Head, bytes: &[u8], validation: FieldValidation) -> Result<()> {
    let why = if head.api_version.matches('/').count() > 1 {
        format!("unexpected GroupVersion string: {}", head.api_version)
    } else if head.kind.is_empty() {
        format!("Object 'Kind' is missing in '{}'", String::from_utf8_lossy(bytes))
    } else {
        return Ok(());
    };
    if head.kind.is_empty() && validation == FieldValidation::Ignore {
        // kube-apiserver's other decoder completes the type before it looks for it.
        let version = head.api_version.rsplit('/').next().filter(|version| !version.is_empty());
        let (kind, version) = (expected.kind, version.unwrap_or(expected.version));
        return Err(Status::bad_request(format!(
            "{kind} in version \"{version}\" cannot be handled as a {kind}: {why}"
        )));
    }
    Err(Status::bad_request(format!(
        "the object provided is unrecognized (must be of type {}): {why} ({})",
        expected.kind,
        preview(bytes)
    )))
}

/// Whether a field of a body is null, which decoding does not distinguish from absence.
fn is_null(format: Format, bytes: &[u8], field: &str) -> bool {
    let parsed = match format {
        Format::Json => json::parse(bytes, Strictness::Ignore).map(|parsed| parsed.value).ok(),
        Format::Yaml => yaml::parse(bytes, Strictness::Ignore).map(|parsed| parsed.value).ok(),
        Format::Cbor => cbor::parse(bytes).ok(),
        Format::Protobuf => None,
    };
    parsed.is_some_and(|object| object.get(field).is_some_and(Value::is_null))
}

/// An object of a kind that was defined at run time must be of the version that the path names. Its kind is checked when it is
/// written.
fn check_version(expected: &Expected<'_>, head: &Head) -> Result<()> {
    let wanted = expected.api_version();
    if head.api_version == wanted {
        return Ok(());
    }
    let found = head.api_version.strip_prefix('/').unwrap_or(&head.api_version);
    Err(Status::bad_request(format!(
        "the API version in the data ({found}) does not match the expected API version ({wanted})"
    )))
}

/// Rejects objects that take too much memory to process.
///
/// # Errors
/// The value has too many nested objects.
pub fn check_objects(value: &Value) -> Result<()> {
    let too_large = |error: TooManyObjects| Status::new(413, "RequestEntityTooLarge", error.to_string());
    pintle_codec::check_objects(value).map_err(too_large)
}

/// `apiVersion` and `kind` as declared by the body.
pub struct Head {
    pub api_version: String,
    pub kind: String,
}

fn head(expected: &Expected<'_>, format: Format, bytes: &[u8]) -> Result<Head> {
    let unrecognized = |why: &str| {
        Status::bad_request(format!("the object provided is unrecognized (must be of type {}): {why}", expected.kind))
    };
    match format {
        Format::Protobuf => {
            let envelope = protobuf::decode_envelope(bytes)
                .map_err(|error| unrecognized(&format!("{error} ({})", preview(bytes))))?;
            Ok(Head { api_version: envelope.api_version.to_string(), kind: envelope.kind.to_string() })
        }
        Format::Cbor => {
            let head = cbor::type_meta(bytes).map_err(|error| {
                unrecognized(&format!("unable to determine group/version/kind: {error} ({})", preview(bytes)))
            })?;
            Ok(Head { api_version: head.api_version.to_string(), kind: head.kind.to_string() })
        }
        Format::Json | Format::Yaml => {
            let fail = |error: DecodeError| {
                unrecognized(&format!("couldn't get version/kind; json parse error: {error} ({})", preview(bytes)))
            };
            let head = match format {
                Format::Json => json::type_meta(bytes),
                _ => {
                    // kube-apiserver converts YAML to JSON before it reads the kind.
                    let decoded = yaml::parse(bytes, Strictness::Ignore)
                        .map_err(|error| unrecognized(&format!("{error} ({})", preview(bytes))))?;
                    json::type_meta(&json::to_vec(&decoded.value))
                }
            };
            let head = head.map_err(fail)?;
            Ok(Head { api_version: head.api_version.to_string(), kind: head.kind.to_string() })
        }
    }
}

/// How messages quote a body: its first bytes, in hexadecimal unless it looks like an object.
fn preview(bytes: &[u8]) -> String {
    const SHOWN: usize = 30;
    let first: String = match bytes {
        [] => return "<empty>".into(),
        [b'{', ..] => String::from_utf8_lossy(&bytes[..bytes.len().min(SHOWN)]).into_owned(),
        _ => bytes.iter().take(SHOWN).map(|byte| format!("{byte:02x}")).collect(),
    };
    if bytes.len() > SHOWN { format!("{first} ...") } else { first }
}

/// The type that a body declares; what it leaves out is as in the path.
fn with_defaults(expected: &Expected<'_>, head: Head, bytes: &[u8]) -> Result<Head> {
    let kind = if head.kind.is_empty() { expected.kind.to_owned() } else { head.kind };
    match completed(&head.api_version, expected.group, &expected.api_version()) {
        Some(api_version) => Ok(Head { api_version, kind }),
        None => Err(Status::bad_request(format!(
            "{kind} in version \"\" cannot be handled as a {}: Object 'apiVersion' is missing in '{}'",
            expected.kind,
            String::from_utf8_lossy(bytes)
        ))),
    }
}

/// An `apiVersion` that may lack its parts: only the group of the path may stand without a version.
pub(crate) fn completed(api_version: &str, group: &str, of_path: &str) -> Option<String> {
    match api_version.split_once('/').unwrap_or(("", api_version)) {
        ("", "") => Some(of_path.to_owned()),
        (own, "") if own == group => Some(of_path.to_owned()),
        (_, "") => None,
        // The group of the first kinds has no name.
        ("", version) if !version.contains('/') => Some(version.to_owned()),
        _ => Some(api_version.to_owned()),
    }
}

fn check_kind(expected: &Expected<'_>, head: &Head, bytes: &[u8]) -> Result<()> {
    let wanted = expected.api_version();
    let version = if head.api_version.is_empty() { wanted.as_str() } else { head.api_version.as_str() };
    let kind = if head.kind.is_empty() { expected.kind } else { &head.kind };
    if kind == expected.kind && (version == wanted || expected.also.contains(&version)) {
        return Ok(());
    }
    if version.matches('/').count() > 1 {
        let why = format!("unexpected GroupVersion string: {version} ({})", preview(bytes));
        return Err(Status::bad_request(format!(
            "the object provided is unrecognized (must be of type {}): {why}",
            expected.kind
        )));
    }
    if expected.scheme.converts(version, kind, expected.group, expected.kind) {
        return Err(Status::bad_request(format!(
            "the API version in the data ({version}) does not match the expected API version ({wanted})"
        )));
    }
    Err(cannot_be_handled(
        expected,
        head,
        &expected.scheme.mismatch_message(version, kind, expected.group, expected.kind),
    ))
}

fn cannot_be_handled(expected: &Expected<'_>, head: &Head, why: &str) -> Status {
    let kind = if head.kind.is_empty() { expected.kind } else { &head.kind };
    // The version of a kind that was defined at run time is not assumed.
    let assumed = if expected.custom.is_some() { "" } else { expected.version };
    let version = head.api_version.rsplit('/').next().filter(|version| !version.is_empty()).unwrap_or(assumed);
    let version = quoted(version);
    Status::bad_request(format!("{kind} in version {version} cannot be handled as a {}: {why}", expected.kind))
}

fn report(
    expected: &Expected<'_>,
    head: &Head,
    problems: Vec<StrictProblem>,
    validation: FieldValidation,
    warnings: &mut Vec<String>,
) -> Result<()> {
    if problems.is_empty() || validation == FieldValidation::Ignore {
        return Ok(());
    }
    let texts: Vec<String> = problems.iter().map(ToString::to_string).collect();
    if validation == FieldValidation::Warn {
        warnings.extend(texts.iter().flat_map(|text| warnings_of(text)));
        return Ok(());
    }
    Err(cannot_be_handled(expected, head, &strict_message(&texts)))
}

/// The warnings of a strict problem: YAML reports several lines as one text, which becomes one warning per line.
pub fn warnings_of(problem: &str) -> Vec<String> {
    let message = problem.strip_prefix("error converting YAML to JSON: ").unwrap_or(problem);
    match message.strip_prefix("yaml: unmarshal errors:\n") {
        Some(lines) => lines.split('\n').map(|line| line.trim().to_owned()).collect(),
        None => vec![problem.to_owned()],
    }
}

/// The text of a strict decoding error.
pub fn strict_message(problems: &[String]) -> String {
    format!("strict decoding error: {}", problems.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_api_version_without_its_parts_is_that_of_the_path() {
        let rows = [
            ("", "apps", Some("apps/v1")),
            ("/", "apps", Some("apps/v1")),
            ("apps/", "apps", Some("apps/v1")),
            ("batch/", "apps", None),
            ("v1/", "apps", None),
            ("v1", "apps", Some("v1")),
            ("/v1", "apps", Some("v1")),
            ("apps/v1beta1", "apps", Some("apps/v1beta1")),
            ("a/b/c", "apps", Some("a/b/c")),
            ("//", "apps", Some("//")),
        ];
        for (api_version, group, expected) in rows {
            assert_eq!(completed(api_version, group, "apps/v1").as_deref(), expected, "{api_version}");
        }
    }

    #[test]
    fn duplicate_keys_of_yaml_are_warned_of_one_by_one() {
        let lines = ["line 3: key \"a\" already set in map", "line 5: key \"b\" already set in map"];
        let message = format!("yaml: unmarshal errors:\n  {}\n  {}", lines[0], lines[1]);
        assert_eq!(warnings_of(&message), lines);
        assert_eq!(warnings_of(&format!("error converting YAML to JSON: {message}")), lines);
        for other in ["unknown field \"a\"", "error converting YAML to JSON: yaml: line 3: mapping values"] {
            assert_eq!(warnings_of(other), [other]);
        }
    }
}
