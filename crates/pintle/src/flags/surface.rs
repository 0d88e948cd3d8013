//! The flags of what clients are told beside objects: the server's name, and rules for browsers.
//! Guarantees that a rule that cannot be followed is refused.
//! Must never build answers.

use super::table::Flag;
use super::values;

pub static SURFACE_FLAGS: &[Flag] = &[
    Flag {
        name: "external-hostname",
        value: "HOST",
        help: "Name, or name and port, under which clients are told that the server is (the advertised address).",
        apply: |draft, value| {
            draft.external_hostname = Some(value.to_owned()).filter(|host| !host.is_empty());
            Ok(())
        },
    },
    Flag {
        name: "cors-allowed-origins",
        value: "PATTERN,...",
        help: "Regular expressions of origins whose pages may read answers, each pinned to the start and the end of the \
               host, such as //example.com(:|$) (none).",
        apply: |draft, value| values::items(value).try_for_each(|pattern| draft.browsers.allow_origin(pattern)),
    },
    Flag {
        name: "strict-transport-security-directives",
        value: "DIRECTIVE,...",
        help: "Directives that tell browsers to ask by TLS alone: max-age=SECONDS, includeSubDomains, preload (none).",
        apply: |draft, value| values::items(value).try_for_each(|directive| draft.browsers.direct(directive)),
    },
];
