//! `pintle store check` and `pintle store copy`: what a store holds, verified and moved, without a server.
//! Guarantees that what is copied is compared with what it was copied from before the command says that it is done.
//! Must never write to a store that it checks or copies from.

mod check;
mod copy;
mod location;

use super::Outcome;
use location::{Location, Options};
use std::fmt::Write;

const USAGE: &str = "\
Usage:
  pintle store check STORE                   verifies everything in a store that no server uses
  pintle store copy --from STORE --to STORE  carries everything over, resource versions kept, and compares

A STORE is the data directory of an embedded store, or URLs of etcd servers, separated by commas.

Flags:
  --encryption-provider-config FILE       how values are sealed, on either side
  --from-encryption-provider-config FILE  how they are sealed where they come from
  --to-encryption-provider-config FILE    how they are sealed where they go
  --etcd-prefix, --etcd-cafile, --etcd-certfile, --etcd-keyfile  as for the server

Exit codes: 0 when nothing is wrong, 1 when something is, 2 when a store or the command line cannot be read.
";

/// Runs the command.
pub fn run(arguments: &[&str]) -> Outcome {
    if arguments.iter().any(|argument| ["--help", "-h"].contains(argument)) {
        return Outcome::Fine(USAGE.to_owned());
    }
    let parsed = match arguments {
        ["check", rest @ ..] => Options::parse(rest).map(|options| (true, options)),
        ["copy", rest @ ..] => Options::parse(rest).map(|options| (false, options)),
        _ => Err("a command is missing".to_owned()),
    };
    let asked = parsed.and_then(|(check, options)| match (check, options.places()?) {
        (true, [Some(store), None, None]) => Ok((Asked::Check(store), options)),
        (false, [None, Some(from), Some(to)]) => Ok((Asked::Copy { from, to }, options)),
        (true, _) => Err("one store is to be named".to_owned()),
        (false, _) => Err("--from and --to are to be named, each once".to_owned()),
    });
    let outcome = match asked {
        Ok((Asked::Check(store), options)) => check(&store, &options),
        Ok((Asked::Copy { from, to }, options)) => copy::run(&from, &to, &options),
        Err(error) => return Outcome::Failed(format!("Error: {error}\n\n{USAGE}")),
    };
    outcome.unwrap_or_else(|error| Outcome::Failed(format!("Error: {error}\n")))
}

/// What the command line asks for.
enum Asked {
    Check(Location),
    Copy { from: Location, to: Location },
}

fn check(store: &Location, options: &Options) -> Result<Outcome, String> {
    let content = store.read(options, options.encryption(None))?;
    let problems = check::problems(&content);
    let summary = content.summary();
    if problems.is_empty() {
        return Ok(Outcome::Fine(format!("{summary}: no problems\n")));
    }
    let mut text = String::new();
    for (key, problem) in &problems {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{key}: {problem}");
    }
    let _ = writeln!(text, "{summary}: {} problems", problems.len());
    Ok(Outcome::Wrong(text))
}
