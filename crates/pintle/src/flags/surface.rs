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
        "allow-metric-labels",
        "METRIC,LABEL=VALUE,...",
        "Values that a label of a metric shows; others are shown as unexpected. Several are separated by commas, each in double \
         quotes (all).",
        |c, value| {
            for item in values::pairs(value)? {
                let (key, allowed) =
                    item.split_once('=').ok_or_else(|| format!("{item} must be formatted as key=value"))?;
                c.metric_labels.add(key, allowed)?;
            }
            Ok(())
        },
    ),
    Flag::new(
        "allow-metric-labels-manifest",
        |c| &mut c.metric_labels_file,
        "The same as a YAML map, which counts where that flag is not given.",
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
