//! The commands that need no server: the documentation of rules, the linter, and validation of manifests in files.
//!
//! They use the server's validation engine. None listens on a port; only `store` opens stores.

mod definitions;
mod lines;
mod lint;
mod offline;
mod store;
mod top;
mod validate;

use std::fmt::Write;
use std::process::ExitCode;

const USAGE: &str = "\
Usage:
  pintle rules                 print the reference of all validation tags and formats
  pintle rules KIND            print the rules of a kind as a tree; handwritten rules are in <angle brackets>
  pintle rules --share         print how many rules of each group are tags and how many are handwritten functions
  pintle lint                  check the rules of the built-in kinds for mistakes
  pintle store check|copy      verify or copy a store; see pintle store --help
  pintle top [--once]          show what a running server does; see pintle top --help
  pintle validate [--crd DIR_OR_FILE]... FILE...
                               validate the objects in YAML or JSON files as a create would; - is standard input;
                               --crd names files with CustomResourceDefinitions, whose objects are known then

Exit codes: 0 if no problem was found, 1 if a problem was found, 2 if a file or the command line is invalid.
";

/// The outcome of a command.
enum Outcome {
    /// No problem was found.
    Fine(String),
    /// A problem was found; the text reports it.
    Wrong(String),
    /// The command could not run.
    Failed(String),
}

/// Runs the command if it is one of these.
pub fn run(arguments: &[String]) -> Option<ExitCode> {
    let (command, rest) = arguments.split_first()?;
    let rest: Vec<&str> = rest.iter().map(String::as_str).collect();
    let outcome = match (command.as_str(), rest.as_slice()) {
        ("rules" | "lint" | "validate", ["--help" | "-h"]) => Outcome::Fine(USAGE.to_owned()),
        ("rules", []) => Outcome::Fine(pintle_validation::docs::reference()),
        ("rules", [kind]) if !kind.starts_with('-') => rules(kind),
        ("lint", []) => lint(),
        ("store", rest) => store::run(rest),
        ("top", rest) => top::run(rest),
        ("validate", rest) => match split_validate(rest) {
            Some((definitions, files)) => validate::files(&definitions, &files),
            None => Outcome::Failed(USAGE.to_owned()),
        },
        ("rules" | "lint", _) => Outcome::Failed(USAGE.to_owned()),
        _ => return None,
    };
    Some(match outcome {
        Outcome::Fine(text) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Outcome::Wrong(text) => {
            eprint!("{text}");
            ExitCode::from(1)
        }
        Outcome::Failed(text) => {
            eprint!("{text}");
            ExitCode::from(2)
        }
    })
}

/// The values of `--crd`, and the files; `None` if something else is there, or no file.
fn split_validate<'a>(rest: &[&'a str]) -> Option<(Vec<&'a str>, Vec<&'a str>)> {
    let (mut definitions, mut files) = (Vec::new(), Vec::new());
    let mut words = rest.iter();
    while let Some(word) = words.next() {
        match word.strip_prefix("--crd") {
            Some("") => definitions.push(*words.next()?),
            Some(value) => definitions.push(value.strip_prefix('=')?),
            None if word.starts_with("--") => return None,
            None => files.push(*word),
        }
    }
    (!files.is_empty()).then_some((definitions, files))
}

/// The rules of a kind, by its name in any of its forms.
fn rules(kind: &str) -> Outcome {
    let mut text = String::new();
    let is = |name: &str| name.eq_ignore_ascii_case(kind);
    for resource in pintle_groups::all().filter(|one| is(&one.kind) || is(&one.plural) || is(&one.singular)) {
        let _ = writeln!(text, "# {} {}", resource.api_version(), resource.kind);
        text.push_str(&resource.rules.tree(&resource.schema));
    }
    if text.is_empty() { Outcome::Failed(format!("no kind is called {kind:?}\n")) } else { Outcome::Fine(text) }
}

/// Mistakes in the rules of the built-in kinds.
fn lint() -> Outcome {
    let problems = lint::problems();
    if problems.is_empty() {
        return Outcome::Fine("no problems\n".to_owned());
    }
    Outcome::Wrong(problems.iter().map(|problem| format!("{problem}\n")).collect())
}
