//! `pintle validate`: validates objects in files as a create would, and reports file and line.
//!
//! Checks that depend on other objects (a missing namespace, quota, admission) are not made: there is no server.

use super::Outcome;
use super::definitions::Definitions;
use super::lines::{Document, documents};
use pintle_codec::{DecodeError, Decoded, StrictProblem, Strictness, json, yaml};
use pintle_resource::{NameRule, Resource};
use pintle_schema::{Struct, Value, canonicalize};
use pintle_validation::{Operation, Request};
use std::fmt::Write;
use std::io::Read;
use std::mem;

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
    let Some(resource) = resource.map(|built_in| &**built_in).or_else(|| definitions.find(version, kind)) else {
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
    let causes = causes(resource, &mut decoded.value);
    findings.extend(causes.into_iter().map(|(field, text)| at(&as_sent(resource, field), text)));
    (findings, Some(decoded.value))
}

/// The path in the submitted object: the stored form of a definition has fields that are shared by all versions once.
fn as_sent(resource: &Resource, field: String) -> String {
    match field.strip_prefix("spec.validation.") {
        Some(rest) if resource.kind == "CustomResourceDefinition" => format!("spec.versions[0].schema.{rest}"),
        _ => field,
    }
}

fn causes(resource: &Resource, object: &mut Value) -> Vec<(String, String)> {
    // No rule depends on when it is asked.
    let schema = if resource.custom.is_some() {
        // Each version of a definition has rules of its own.
        resource.default(object, 0);
        &*resource.schema
    } else if let Err(error) = resource.complete_now(object, 0) {
        return vec![(String::new(), error.to_string())];
    } else {
        resource.stored_schema()
    };
    // A create of a custom resource drops what clients may not set, before it validates.
    if resource.custom.is_some() {
        resource.strategy.create_clears.iter().for_each(|path| drop(object.remove_at(path)));
    }
    if !resource.namespaced {
        object.remove_at(&["metadata", "namespace"]);
    } else if object.str_at(&["metadata", "namespace"]).is_empty() {
        object.set_at(&["metadata", "namespace"], "default");
    }
    let prefix = object.str_at(&["metadata", "generateName"]).to_owned();
    if !prefix.is_empty() && object.str_at(&["metadata", "name"]).is_empty() {
        // Any generated name is valid.
        object.set_at(&["metadata", "name"], prefix + "aaaaa");
    }
    canonicalize(schema, object);
    let rule = &resource.strategy.name;
    let request = Request {
        api_version: &resource.api_version(),
        namespaced: resource.namespaced,
        name_check: &|name, prefix| name_faults(rule, name, prefix),
        enabled: &|gate| gates().enabled(gate),
        ..Request::new(Operation::Create)
    };
    let verdict = resource.rules.validate(schema, object, None, &request);
    verdict.errors.0.iter().map(|error| (error.field.clone(), error.line())).collect()
}

fn gates() -> &'static crate::flags::FeatureGates {
    static GATES: std::sync::LazyLock<crate::flags::FeatureGates> = std::sync::LazyLock::new(Default::default);
    &GATES
}

fn name_faults(rule: &NameRule, name: &str, prefix: bool) -> Vec<String> {
    pintle_registry::prepare::check_name(rule, name, prefix, &|gate| gates().enabled(gate))
}
