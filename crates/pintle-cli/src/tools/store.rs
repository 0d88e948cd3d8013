//! `pintle store check` and `pintle store copy`: verify or copy a store without a server.
//! Guarantees that a copy is compared with its source before the command succeeds.
//! Must never write to a store that it checks or copies from.

mod check;
mod copy;
mod location;

use super::Outcome;
use location::{Location, Options};
use std::fmt::Write;

const USAGE: &str = "\
Usage:
  pintle store check STORE                   verify all objects of a store; no server may use it
  pintle store copy --from STORE --to STORE  copy all objects with their resource versions, and compare them

STORE is the data directory of an embedded store, or a comma-separated list of etcd URLs.

Flags:
  --encryption-provider-config FILE       EncryptionConfiguration of both stores
  --from-encryption-provider-config FILE  EncryptionConfiguration of the source
  --to-encryption-provider-config FILE    EncryptionConfiguration of the destination
  --etcd-prefix, --etcd-cafile, --etcd-certfile, --etcd-keyfile  as for the server

Exit codes: 0 if no problem was found, 1 if a problem was found, 2 if a store or the command line is invalid.
";

/// Runs the command.
pub fn run(arguments: &[&str]) -> Outcome {
    if arguments.iter().any(|argument| ["--help", "-h"].contains(argument)) {
        return Outcome::Fine(USAGE.to_owned());
    }
    let parsed = match arguments {
        ["check", rest @ ..] => Options::parse(rest).map(|options| (true, options)),
        ["copy", rest @ ..] => Options::parse(rest).map(|options| (false, options)),
        _ => Err("a subcommand is required: check or copy".to_owned()),
    };
    let asked = parsed.and_then(|(check, options)| match (check, options.places()?) {
        (true, [Some(store), None, None]) => Ok((CommandLine::Check(store), options)),
        (false, [None, Some(from), Some(to)]) => Ok((CommandLine::Copy { from, to }, options)),
        (true, _) => Err("exactly one store must be given".to_owned()),
        (false, _) => Err("--from and --to must each be given once".to_owned()),
    });
    let outcome = match asked {
        Ok((CommandLine::Check(store), options)) => check(&store, &options),
        Ok((CommandLine::Copy { from, to }, options)) => copy::run(&from, &to, &options),
        Err(error) => return Outcome::Failed(format!("Error: {error}\n\n{USAGE}")),
    };
    outcome.unwrap_or_else(|error| Outcome::Failed(format!("Error: {error}\n")))
}

/// The parsed command line.
enum CommandLine {
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
