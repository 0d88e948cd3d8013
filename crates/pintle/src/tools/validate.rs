//! `pintle validate`: objects in files, judged as a create would judge them, told with file and line.
//!
//! What depends on other objects (a namespace that is missing, quota, admission) is not looked at: there is no server.

use super::Outcome;
use super::lines::{Document, documents};
use pintle_codec::{DecodeError, Decoded, StrictProblem, Strictness, json, yaml};
use pintle_resource::{NameRule, Resource};
use pintle_schema::{Struct, Value, canonicalize};
use pintle_validation::{Operation, Request};
use std::fmt::Write;
use std::io::Read;

/// What is wrong with a document: where in it, and what.
struct Finding {
    field: String,
    text: String,
}

/// Judges the objects in files; `-` is standard input.
pub fn files(names: &[&str]) -> Outcome {
    let (mut wrong, mut failed, mut right) = (String::new(), String::new(), 0);
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
            let objects = validate(&document);
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

/// What is wrong with each object of a document; a `List` holds several.
fn validate(document: &Document<'_>) -> Vec<Vec<Finding>> {
    let bytes = document.text.as_bytes();
    let head = match yaml::parse(bytes, Strictness::Ignore) {
        Ok(head) => head.value,
        Err(error) => return vec![vec![Finding { field: String::new(), text: error.to_string() }]],
    };
    let of = |value: &Value| (value.str_at(&["apiVersion"]).to_owned(), value.str_at(&["kind"]).to_owned());
    if of(&head) != ("v1".to_owned(), "List".to_owned()) {
        return vec![findings(&of(&head), "", |schema| yaml::decode(schema, bytes, Strictness::Collect))];
    }
    let items = head.get("items").and_then(Value::as_list).unwrap_or(&[]);
    let judge_item = |(index, item): (usize, &Value)| {
        let bytes = json::to_vec(item);
        findings(&of(item), &format!("items[{index}]"), |schema| json::decode(schema, &bytes, Strictness::Collect))
    };
    items.iter().enumerate().map(judge_item).collect()
}

/// What is wrong with one object, which stands at a place in its document.
fn findings(
    (version, kind): &(String, String),
    place: &str,
    decode: impl FnOnce(&'static Struct) -> Result<Decoded, DecodeError>,
) -> Vec<Finding> {
    let at = |field: &str, text: String| Finding {
        field: if place.is_empty() || field.is_empty() {
            format!("{place}{field}")
        } else {
            format!("{place}.{field}")
        },
        text,
    };
    let resource = pintle_groups::all().find(|resource| resource.api_version() == *version && resource.kind == kind);
    let Some(resource) = resource else {
        let field = if kind.is_empty() { "" } else { "kind" };
        return vec![at(field, format!("no kind {kind:?} in version {version:?}"))];
    };
    let mut decoded = match decode(&resource.schema) {
        Ok(decoded) => decoded,
        Err(error) => return vec![at("", error.to_string())],
    };
    let mut findings: Vec<Finding> = Vec::new();
    for problem in &decoded.problems {
        let field = match problem {
            StrictProblem::UnknownField(path) | StrictProblem::DuplicateField(path) => path.as_str(),
            StrictProblem::Told(_) => "",
        };
        findings.push(at(field, problem.to_string()));
    }
    findings.extend(causes(resource, &mut decoded.value).into_iter().map(|(field, text)| at(&field, text)));
    findings
}

fn causes(resource: &'static Resource, object: &mut Value) -> Vec<(String, String)> {
    // No rule depends on when it is asked.
    if let Err(error) = resource.complete_now(object, 0) {
        return vec![(String::new(), error.to_string())];
    }
    let schema = resource.stored_schema();
    if resource.namespaced && object.str_at(&["metadata", "namespace"]).is_empty() {
        object.set_at(&["metadata", "namespace"], "default");
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
