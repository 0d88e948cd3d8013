//! The commands that need no server: the reference of rules, the linter, and judging of manifests in files.
//!
//! They run the very engine that the server runs. Nothing here listens; only `store` opens stores.

mod lines;
mod lint;
mod store;
mod validate;

use std::fmt::Write;
use std::process::ExitCode;

const USAGE: &str = "\
Usage:
  pintle rules                 the reference of all validation tags and formats
  pintle rules KIND            what is demanded of a kind, as a tree; handwritten rules stand in <angle brackets>
  pintle lint                  what is wrong with the rules of the built-in kinds themselves
  pintle store check|copy      verifies or moves a store; pintle store --help tells more
  pintle validate FILE...      judges the objects in YAML or JSON files as a create would; - is standard input

Exit codes: 0 when nothing is wrong, 1 when something is, 2 when a file or the command line cannot be read.
";

/// How a command ended.
enum Outcome {
    /// Nothing is wrong.
    Fine(String),
    /// Something is wrong, and told.
    Wrong(String),
    /// What was asked could not be done.
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
        ("validate", files) if !files.is_empty() && !files.iter().any(|file| file.starts_with("--")) => {
            validate::files(files)
        }
        ("rules" | "lint" | "validate", _) => Outcome::Failed(USAGE.to_owned()),
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

/// What is wrong with the rules of all kinds themselves.
fn lint() -> Outcome {
    let problems = lint::problems();
    if problems.is_empty() {
        return Outcome::Fine("no problems\n".to_owned());
    }
    Outcome::Wrong(problems.iter().map(|problem| format!("{problem}\n")).collect())
}
