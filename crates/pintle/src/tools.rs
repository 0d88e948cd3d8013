//! The commands that need no server: the reference of rules, the linter, and judging of manifests in files.
//!
//! They run the very engine that the server runs. Nothing here listens, stores or reaches out.

mod lines;
mod lint;

use pintle_api_validation::rulebook;
use pintle_codec::{Strictness, yaml};
use pintle_kinds::defaults;
use pintle_kinds::resource::Resource;
use pintle_kinds::strategy::NameRule;
use pintle_schema::{Value, canonicalize};
use pintle_validation::{Operation, Request};
use std::fmt::Write;
use std::process::ExitCode;

const USAGE: &str = "pintle rules [KIND] | pintle lint | pintle validate FILE...";

/// Runs the command if it is one of these.
pub fn run(arguments: &[String]) -> Option<ExitCode> {
    let (command, rest) = arguments.split_first()?;
    let outcome = match (command.as_str(), rest) {
        ("rules", []) => Ok(pintle_validation::docs::reference()),
        ("rules", [kind]) => rules(kind),
        ("lint", []) => lint(),
        ("validate", files) if !files.is_empty() => validate(files),
        ("rules" | "lint" | "validate", _) => Err(format!("usage: {USAGE}\n")),
        _ => return None,
    };
    Some(match outcome {
        Ok(text) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Err(text) => {
            eprint!("{text}");
            ExitCode::FAILURE
        }
    })
}

/// The rules of a kind, by its name in any of its forms.
fn rules(kind: &str) -> Result<String, String> {
    let mut text = String::new();
    let is = |name: &str| name.eq_ignore_ascii_case(kind);
    for resource in pintle_kinds::all().filter(|one| is(one.kind) || is(one.plural) || is(one.singular)) {
        let _ = writeln!(text, "# {} {}", resource.api_version(), resource.kind);
        text.push_str(&rulebook().tree((resource.schema)()));
    }
    if text.is_empty() { Err(format!("no kind is called {kind:?}\n")) } else { Ok(text) }
}

/// What is wrong with the rules of all kinds themselves.
fn lint() -> Result<String, String> {
    let problems = lint::problems();
    if problems.is_empty() {
        return Ok("no problems\n".to_owned());
    }
    Err(problems.iter().map(|problem| format!("{problem}\n")).collect())
}

/// Judges the objects in files as a create would; what is wrong is told with file and line.
fn validate(files: &[String]) -> Result<String, String> {
    let (mut wrong, mut right) = (String::new(), 0);
    for file in files {
        let text = match std::fs::read_to_string(file) {
            Ok(text) => text,
            Err(error) => {
                let _ = writeln!(wrong, "{file}: {error}");
                continue;
            }
        };
        for document in lines::documents(&text) {
            match judge(document.text) {
                Ok(causes) if causes.is_empty() => right += 1,
                Ok(causes) => causes.iter().for_each(|(field, line)| {
                    let _ = writeln!(wrong, "{file}:{}: {line}", document.line_of(field));
                }),
                Err(error) => _ = writeln!(wrong, "{file}:{}: {error}", document.first_line),
            }
        }
    }
    if wrong.is_empty() { Ok(format!("{right} objects are valid\n")) } else { Err(wrong) }
}

/// The field and the text of each error of one object.
fn judge(text: &str) -> Result<Vec<(String, String)>, String> {
    let head = yaml::parse(text.as_bytes(), Strictness::Ignore).map_err(|error| error.to_string())?.value;
    let (version, kind) = (head.str_at(&["apiVersion"]), head.str_at(&["kind"]));
    let resource = pintle_kinds::all().find(|resource| resource.api_version() == version && resource.kind == kind);
    let resource = resource.ok_or_else(|| format!("no kind {kind:?} in version {version:?}"))?;
    let decoded = yaml::decode((resource.schema)(), text.as_bytes(), Strictness::Collect);
    let mut decoded = decoded.map_err(|error| error.to_string())?;
    if let Some(problem) = decoded.problems.first() {
        return Err(problem.to_string());
    }
    Ok(causes(resource, &mut decoded.value))
}

fn causes(resource: &'static Resource, object: &mut Value) -> Vec<(String, String)> {
    if let Some(normalize) = resource.strategy.normalize {
        normalize(object);
    }
    defaults::apply((resource.schema)(), object);
    let mut schema = (resource.schema)();
    if let Some(storage) = &resource.storage {
        schema = (storage.schema)();
        if let Some(convert) = &storage.convert {
            (convert.to_storage)(object);
            defaults::apply(schema, object);
        }
    }
    if resource.namespaced && object.str_at(&["metadata", "namespace"]).is_empty() {
        object.set_at(&["metadata", "namespace"], "default");
    }
    canonicalize(schema, object);
    let rule = &resource.strategy.name;
    let request = Request {
        operation: Operation::Create,
        subresource: "",
        api_version: &resource.api_version(),
        namespaced: resource.namespaced,
        name_check: &|name, prefix| name_faults(rule, name, prefix),
        enabled: &|gate| gates().enabled(gate),
    };
    let verdict = rulebook().judge(schema, object, None, &request);
    verdict.errors.0.iter().map(|error| (error.field.clone(), error.line())).collect()
}

fn gates() -> &'static crate::flags::FeatureGates {
    static GATES: std::sync::LazyLock<crate::flags::FeatureGates> = std::sync::LazyLock::new(Default::default);
    &GATES
}

fn name_faults(rule: &NameRule, name: &str, prefix: bool) -> Vec<String> {
    pintle_registry::prepare::check_name(rule, name, prefix, &|gate| gates().enabled(gate))
}
