//! `pintle validate`: validates objects in files as a create would, and reports file and line.
//!
//! The object passes the steps of a create on a server. Checks that depend on other objects (a missing namespace, quota, most of
//! admission) are not made: there is no server.

use super::Outcome;
use super::definitions::Definitions;
use super::lines::{Document, documents};
use super::offline::Offline;
use pintle_codec::{DecodeError, Decoded, StrictProblem, Strictness, json, yaml};
use pintle_resource::Resource;
use pintle_schema::{Struct, Value};
use std::fmt::Write;
use std::io::Read;
use std::mem;
use std::sync::LazyLock;

/// A problem in a document: its line and its message.
pub struct Finding {
    pub field: String,
    pub text: String,
}

/// Validates the objects in files, those of definitions in other files too; `-` is standard input.
pub fn files(definitions: &[&str], names: &[&str]) -> Outcome {
    let mut definitions = Definitions::load(definitions);
    let (mut wrong, mut failed) = (mem::take(&mut definitions.wrong), mem::take(&mut definitions.failed));
    let mut right = 0;
    for name in names {
        let text = match *name {
            "-" => {
                let mut text = String::new();
                std::io::stdin().read_to_string(&mut text).map(|_| text)
            }
            path => std::fs::read_to_string(path),
        };
        let text = match text {
            Ok(text) => text,
            Err(error) => {
                _ = writeln!(failed, "{name}: {error}");
                continue;
            }
        };
        for document in documents(&text) {
            let objects = validate(&document, &definitions);
            right += objects.iter().filter(|findings| findings.is_empty()).count();
            for Finding { field, text } in objects.iter().flatten() {
                _ = writeln!(wrong, "{name}:{}: {text}", document.line_of(field));
            }
        }
    }
    match (failed.is_empty(), wrong.is_empty()) {
        (true, true) => Outcome::Fine(format!("{right} objects are valid\n")),
        (true, false) => Outcome::Wrong(wrong),
        (false, _) => Outcome::Failed(wrong + &failed),
    }
}

/// Validates each object of a document; a `List` has several.
fn validate(document: &Document<'_>, definitions: &Definitions) -> Vec<Vec<Finding>> {
    let bytes = document.text.as_bytes();
    let head = match yaml::parse(bytes, Strictness::Ignore) {
        Ok(head) => head.value,
        Err(error) => return vec![vec![Finding { field: String::new(), text: error.to_string() }]],
    };
    let of = |value: &Value| (value.str_at(&["apiVersion"]).to_owned(), value.str_at(&["kind"]).to_owned());
    if of(&head) != ("v1".to_owned(), "List".to_owned()) {
        let decode = |schema: &Struct| yaml::decode(schema, bytes, Strictness::Collect);
        return vec![findings(&of(&head), definitions, "", decode).0];
    }
    let items = head.get("items").and_then(Value::as_list).unwrap_or(&[]);
    let validate_item = |(index, item): (usize, &Value)| {
        let bytes = json::to_vec(item);
        let decode = |schema: &Struct| json::decode(schema, &bytes, Strictness::Collect);
        findings(&of(item), definitions, &format!("items[{index}]"), decode).0
    };
    items.iter().enumerate().map(validate_item).collect()
}

/// Validates a CustomResourceDefinition, except for unknown fields; returns its stored form if it is valid.
pub fn definition(bytes: &[u8]) -> (Vec<Finding>, Option<Value>) {
    let version = match yaml::parse(bytes, Strictness::Ignore) {
        Ok(head) => head.value.str_at(&["apiVersion"]).to_owned(),
        Err(error) => return (vec![Finding { field: String::new(), text: error.to_string() }], None),
    };
    let of = (version, "CustomResourceDefinition".to_owned());
    let decode = |schema: &Struct| yaml::decode(schema, bytes, Strictness::Ignore);
    let (findings, stored) = findings(&of, &Definitions::default(), "", decode);
    let stored = stored.filter(|_| findings.is_empty());
    (findings, stored)
}

/// Validates one object at a path of its document; returns the problems and its stored form.
fn findings(
    (version, kind): &(String, String),
    definitions: &Definitions,
    place: &str,
    decode: impl FnOnce(&Struct) -> Result<Decoded, DecodeError>,
) -> (Vec<Finding>, Option<Value>) {
    let at = |field: &str, text: String| Finding {
        field: if place.is_empty() || field.is_empty() {
            format!("{place}{field}")
        } else {
            format!("{place}.{field}")
        },
        text,
    };
    let resource = pintle_groups::all().find(|resource| resource.api_version() == *version && resource.kind == kind);
    let Some(resource) = resource.or_else(|| definitions.find(version, kind)) else {
        let field = if kind.is_empty() { "" } else { "kind" };
        return (vec![at(field, format!("no kind {kind:?} in version {version:?}"))], None);
    };
    let mut decoded = match decode(&resource.schema) {
        Ok(decoded) => decoded,
        Err(error) => return (vec![at("", error.to_string())], None),
    };
    if let Some(custom) = &resource.custom {
        match custom.coerce(&mut decoded.value) {
            Ok(unknown) => decoded.problems.extend(unknown.into_iter().map(StrictProblem::UnknownField)),
            Err(error) => return (vec![at("", error)], None),
        }
    }
    let mut findings: Vec<Finding> = Vec::new();
    for problem in &decoded.problems {
        let field = match problem {
            StrictProblem::UnknownField(path) | StrictProblem::DuplicateField(path) => path.as_str(),
            StrictProblem::Message(_) => "",
        };
        findings.push(at(field, problem.to_string()));
    }
    let offline = match &*OFFLINE {
        Ok(offline) => offline,
        Err(error) => return (vec![at("", error.clone())], None),
    };
    match offline.create(resource, decoded.value) {
        Ok(created) => (findings, Some(created)),
        Err(problems) => {
            findings.extend(problems.into_iter().map(|(field, text)| at(&as_sent(resource, field), text)));
            (findings, None)
        }
    }
}

/// The registry of all files.
static OFFLINE: LazyLock<Result<Offline, String>> = LazyLock::new(Offline::new);

/// The path in the submitted object: the stored form of a definition has fields that are shared by all versions once.
fn as_sent(resource: &Resource, field: String) -> String {
    match field.strip_prefix("spec.validation.") {
        Some(rest) if resource.kind == "CustomResourceDefinition" => format!("spec.versions[0].schema.{rest}"),
        _ => field,
    }
}
