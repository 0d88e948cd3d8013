//! The flags about the server's external name, metric labels, CORS and HSTS.
//! Guarantees that an invalid rule is rejected.
//! Must never build responses.

use super::config::with_defaults;
use super::setting::InputFile;
use super::table::Flag;
use super::values;
use pintle::cors::CorsConfig;
use pintle_metrics::AllowedLabels;

with_defaults! {
    /// What clients and other programs see of the server.
    pub struct SurfaceFlags {
        /// The host name, with or without a port, that is published to clients.
        pub external_hostname: Option<String>,
        pub tracing_config_file: Option<InputFile>,
        /// The allowed values of labels, by metric and label.
        pub metric_labels: AllowedLabels,
        /// The same in a file, which is read if the flag is absent.
        pub metric_labels_file: Option<InputFile>,
        pub cors: CorsConfig,
    }
}

/// The flags, in the order of the help.
pub static SURFACE_FLAGS: &[Flag] = &[
    Flag::new(
        "external-hostname",
        |c| &mut c.surface.external_hostname,
        "Host name, or host name and port, of this server in generated URLs. Default: the advertised address.",
    ),
    Flag::new(
        "tracing-config-file",
        |c| &mut c.surface.tracing_config_file,
        "File with a TracingConfiguration: the OpenTelemetry collector that spans of requests are sent to, and how many \
         requests are sampled. Without it, nothing is traced.",
    ),
    Flag::read(
        "allow-metric-labels",
        "METRIC,LABEL=VALUE,...",
        "Values that a metric's label may have; other values are reported as `unexpected`. Several values are \
         separated by commas, in double quotes. Default: all.",
        |c, value| {
            for item in values::pairs(value)? {
                let (key, allowed) =
                    item.split_once('=').ok_or_else(|| format!("{item} must be formatted as key=value"))?;
                c.surface.metric_labels.add(key, allowed)?;
            }
            Ok(())
        },
    ),
    Flag::new(
        "allow-metric-labels-manifest",
        |c| &mut c.surface.metric_labels_file,
        "YAML file with the same as a map; --allow-metric-labels takes precedence.",
    ),
    Flag::read(
        "cors-allowed-origins",
        "PATTERN,...",
        "Regular expressions of origins that are allowed by CORS. Each must match from the start or to the \
         end of the host, such as //example.com(:|$). Default: none.",
        |c, value| values::items(value).try_for_each(|pattern| c.surface.cors.allow_origin(pattern)),
    ),
    Flag::read(
        "strict-transport-security-directives",
        "DIRECTIVE,...",
        "Directives of the Strict-Transport-Security header: max-age=SECONDS, includeSubDomains, preload. \
         Default: none.",
        |c, value| values::items(value).try_for_each(|directive| c.surface.cors.direct(directive)),
    ),
];
