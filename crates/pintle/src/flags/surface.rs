//! The flags of what clients are told beside objects: the server's name, and rules for browsers.
//! Guarantees that a rule that cannot be followed is refused.
//! Must never build answers.

use super::table::Flag;
use super::values;

pub static SURFACE_FLAGS: &[Flag] = &[
    Flag::new(
        "external-hostname",
        |c| &mut c.external_hostname,
        "Name, or name and port, under which clients are told that the server is (the advertised address).",
    ),
    Flag::read(
        "cors-allowed-origins",
        "PATTERN,...",
        "Regular expressions of origins whose pages may read answers, each pinned to the start and the end of the host, \
         such as //example.com(:|$) (none).",
        |c, value| values::items(value).try_for_each(|pattern| c.browsers.allow_origin(pattern)),
    ),
    Flag::read(
        "strict-transport-security-directives",
        "DIRECTIVE,...",
        "Directives that tell browsers to ask by TLS alone: max-age=SECONDS, includeSubDomains, preload (none).",
        |c, value| values::items(value).try_for_each(|directive| c.browsers.direct(directive)),
    ),
];
