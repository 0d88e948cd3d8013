//! The flags about logs, metrics and profiles. Guarantees that a flag without an effect here says so.
//! Must never write a line of the log.

use super::config::{Config, with_defaults};
use super::table::{Flag, must, no_effect};
use super::values;
use crate::logs::{LogFormat, ModuleVerbosity};

with_defaults! {
    /// How lines are logged.
    pub struct LogFlags {
        pub format: LogFormat,
        pub verbosity: u32,
        pub modules: Vec<ModuleVerbosity>,
        /// Whether lines that are not about errors go to standard output.
        pub split_text: bool,
        pub split_json: bool,
    }
}

/// The flags, in the order of the help.
pub static DIAGNOSTICS_FLAGS: &[Flag] = &[
    Flag::new(
        "logging-format",
        |c| &mut c.logs.format,
        "Format of log lines: text, or json with the members of kube-apiserver's.",
    ),
    Flag::new(
        "v",
        |c| &mut c.logs.verbosity,
        "How much is logged: slow requests with their steps from 2, all requests from 3, debug messages from 4, traces from 6, \
         those of libraries from 8 and 10.",
    ),
    Flag::new(
        "vmodule",
        |c| &mut c.logs.modules,
        "How much the files of a name log, for the text format: httplog=3 logs requests.",
    ),
    Flag::new(
        "log-text-split-stream",
        |c| &mut c.logs.split_text,
        "Whether lines about errors go to standard error and all others to standard output, in the text format.",
    ),
    Flag::new(
        "log-json-split-stream",
        |c| &mut c.logs.split_json,
        "Whether lines about errors go to standard error and all others to standard output, in the JSON format.",
    ),
    Flag::read(
        "log-text-info-buffer-size",
        "BYTES",
        "Size of a buffer for lines that are not about errors. It has no effect: lines are written at once. Default: 0.",
        |c, value| buffer(c, value, "--log-text-info-buffer-size"),
    ),
    Flag::read(
        "log-json-info-buffer-size",
        "BYTES",
        "Size of a buffer for lines that are not about errors. It has no effect: lines are written at once. Default: 0.",
        |c, value| buffer(c, value, "--log-json-info-buffer-size"),
    ),
    Flag::read(
        "log-flush-frequency",
        "DURATION",
        "Time between flushes of the log. It has no effect: lines are written at once.",
        |c, value| no_effect(c, values::duration(value), "--log-flush-frequency", "lines are written at once"),
    ),
    Flag::read(
        "disabled-metrics",
        "NAME,...",
        "Metrics that are not shown, by their full names. Default: none.",
        |c, value| {
            values::list(value).for_each(|name| c.surface.metric_labels.disable(name));
            Ok(())
        },
    ),
    Flag::read(
        "show-hidden-metrics-for-version",
        "VERSION",
        "Version of Kubernetes whose hidden metrics are shown. It has no effect: no metric is hidden.",
        |c, value| {
            let is_version = value.split('.').count() == 2 && value.split('.').all(|part| part.parse::<u32>().is_ok());
            let version = must(is_version || value.is_empty(), "must be a version such as 1.35");
            no_effect(c, version, "--show-hidden-metrics-for-version", "no metric is hidden")
        },
    ),
    Flag::read(
        "profiling",
        "",
        "Whether /debug/pprof serves profiles. It has no effect: there are none, as the profiles of the system (perf) show \
         all of the program. Default: false.",
        |c, value| profiles(c, value, "--profiling"),
    ),
    Flag::read(
        "contention-profiling",
        "",
        "Whether /debug/pprof serves profiles of lock contention. It has no effect, like --profiling. Default: false.",
        |c, value| profiles(c, value, "--contention-profiling"),
    ),
];

fn buffer(config: &mut Config, value: &str, flag: &str) -> Result<(), String> {
    let is_none = value == "0";
    let size = pintle_schema::Quantity::parse(value).map(drop).map_err(|error| error.to_string());
    if is_none { size } else { no_effect(config, size, flag, "lines are written at once") }
}

fn profiles(config: &mut Config, value: &str, flag: &str) -> Result<(), String> {
    let is_on = values::boolean(value)?;
    if is_on { no_effect(config, Ok(()), flag, "there are no profiles at /debug/pprof") } else { Ok(()) }
}
