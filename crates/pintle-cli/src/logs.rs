//! The log: events of `tracing` as lines on standard error (those about no error on standard output, if asked for), as text or as kube-apiserver's JSON. Guarantees one line
//! for each event, whatever its fields contain. Must never fail or panic: a line that cannot be written is lost.

use pintle_codec::json;
use pintle_endpoints::httplog;
use std::fmt::{self, Debug, Write};
use std::time::{SystemTime, UNIX_EPOCH};
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::{FilterExt, FilterFn, LevelFilter, Targets, filter_fn};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::writer::{MakeWriter, MakeWriterExt};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;

/// The format of lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// The level, the message, the error, other fields. No time: the collector of standard error adds it.
    #[default]
    Text,
    /// An object with `ts`, `caller`, `msg`, `v` and the fields, as kube-apiserver writes it.
    Json,
}

/// The prefix of the names of this workspace's crates.
const OWN: &str = "pintle";

/// The least verbosity that logs these levels. It is `v` in JSON.
const DEBUG_VERBOSITY: u32 = 4;
const TRACE_VERBOSITY: u32 = 6;
/// The same for other crates.
const OTHERS_DEBUG_VERBOSITY: u32 = 8;
const OTHERS_TRACE_VERBOSITY: u32 = 10;

/// The least verbosity that logs requests, and the steps of slow ones.
const REQUESTS_VERBOSITY: u32 = 3;
const SLOW_VERBOSITY: u32 = 2;

/// Installs the subscriber that writes events. Only the first call in a process has an effect.
pub fn install(format: LogFormat, is_split: bool, verbosity: u32, modules: &[ModuleVerbosity]) {
    match is_split {
        // As in kube-apiserver, warnings go where errors go not.
        true => install_with(
            format,
            std::io::stderr.with_max_level(Level::ERROR).or_else(std::io::stdout),
            verbosity,
            modules,
        ),
        false => install_with(format, std::io::stderr, verbosity, modules),
    }
}

fn install_with<W>(format: LogFormat, writer: W, verbosity: u32, modules: &[ModuleVerbosity])
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let registry = tracing_subscriber::registry();
    let _ = match modules {
        [] => tracing::subscriber::set_global_default(registry.with(levels(verbosity)).with(lines(format, writer))),
        modules => {
            let filter = levels(verbosity).or(of_modules(modules.to_vec()));
            tracing::subscriber::set_global_default(registry.with(lines(format, writer).with_filter(filter)))
        }
    };
}

/// The layer that writes events.
fn lines<S, W>(format: LogFormat, writer: W) -> impl Layer<S>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    tracing_subscriber::fmt::layer()
        .event_format(format)
        .with_writer(writer)
        // Such errors would be written by a macro that panics if standard error is closed.
        .log_internal_errors(false)
}

/// The verbosity of the files that match a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModuleVerbosity {
    /// A pattern for the file name without its extension; `*` is any text, `?` any character.
    pub pattern: String,
    pub verbosity: u32,
}

impl ModuleVerbosity {
    /// Reads `PATTERN=N`.
    ///
    /// # Errors
    /// The text has another form.
    pub fn parse(text: &str) -> Result<ModuleVerbosity, String> {
        let (pattern, verbosity) = text
            .split_once('=')
            .filter(|(pattern, verbosity)| !pattern.is_empty() && !verbosity.is_empty() && !verbosity.contains('='))
            .ok_or_else(|| format!("{text:?} does not have the pattern=N format"))?;
        let verbosity = verbosity.parse().map_err(|error| format!("parsing verbosity in {text:?}: {error}"))?;
        Ok(ModuleVerbosity { pattern: pattern.to_owned(), verbosity })
    }
}

/// Selects events by the verbosity of their file.
fn of_modules(modules: Vec<ModuleVerbosity>) -> FilterFn<impl Fn(&Metadata<'_>) -> bool> {
    filter_fn(move |metadata| {
        let name = module_name(metadata.file().unwrap_or_default());
        let asked = modules.iter().filter(|module| is_match(&module.pattern, name)).map(|module| module.verbosity);
        asked.max().is_some_and(|verbosity| verbosity >= needed(metadata))
    })
}

/// The verbosity from which an event of this program is logged.
fn needed(metadata: &Metadata<'_>) -> u32 {
    match (metadata.target(), *metadata.level()) {
        (httplog::REQUESTS, _) => REQUESTS_VERBOSITY,
        (httplog::SLOW, _) => SLOW_VERBOSITY,
        (_, Level::DEBUG) => DEBUG_VERBOSITY,
        (_, Level::TRACE) => TRACE_VERBOSITY,
        _ => 0,
    }
}

/// The name of a file without its extension, or its directory's name for `mod.rs`.
fn module_name(file: &str) -> &str {
    let path = file.strip_suffix(".rs").unwrap_or(file);
    let path = path.strip_suffix("/mod").unwrap_or(path);
    path.rsplit('/').next().unwrap_or(path)
}

/// Whether a name fits a pattern. Takes time in proportion to both lengths.
fn is_match(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    let (mut at, mut from) = (0, 0);
    // The position of the last star, and the end of the text that it matches.
    let mut star: Option<(usize, usize)> = None;
    while from < name.len() {
        match (pattern.get(at), star) {
            (Some('*'), _) => {
                star = Some((at, from));
                at += 1;
            }
            (Some(wanted), _) if *wanted == '?' || Some(wanted) == name.get(from) => {
                at += 1;
                from += 1;
            }
            (_, Some((behind, taken))) => {
                star = Some((behind, taken + 1));
                at = behind + 1;
                from = taken + 1;
            }
            (_, None) => return false,
        }
    }
    pattern.get(at..).is_some_and(|rest| rest.iter().all(|c| *c == '*'))
}

fn levels(verbosity: u32) -> Targets {
    let own = match verbosity {
        TRACE_VERBOSITY.. => LevelFilter::TRACE,
        DEBUG_VERBOSITY.. => LevelFilter::DEBUG,
        _ => LevelFilter::INFO,
    };
    let others = match verbosity {
        OTHERS_TRACE_VERBOSITY.. => LevelFilter::TRACE,
        OTHERS_DEBUG_VERBOSITY.. => LevelFilter::DEBUG,
        _ => LevelFilter::WARN,
    };
    let from = |least: u32| if verbosity >= least { LevelFilter::INFO } else { LevelFilter::OFF };
    Targets::new()
        .with_default(others)
        .with_target(OWN, own)
        .with_target(httplog::REQUESTS, from(REQUESTS_VERBOSITY))
        .with_target(httplog::SLOW, from(SLOW_VERBOSITY))
}

impl<S, N> FormatEvent<S, N> for LogFormat
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(&self, _: &FmtContext<'_, S, N>, mut writer: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let line = match self {
            LogFormat::Text => text(*event.metadata().level(), &fields),
            LogFormat::Json => object(event, &fields),
        };
        writer.write_str(&line)
    }
}

/// The fields of an event.
#[derive(Default)]
struct Fields {
    message: String,
    /// The field `err`.
    error: Option<String>,
    others: Vec<(&'static str, Value)>,
}

enum Value {
    Text(String),
    /// A number or a boolean.
    Plain(String),
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let text = format!("{value:?}");
        match field.name() {
            "message" => self.message = text,
            "err" => self.error = Some(text),
            name => self.others.push((name, Value::Text(text))),
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.record_debug(field, &format_args!("{value}"));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.others.push((field.name(), Value::Plain(value.to_string())));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.others.push((field.name(), Value::Plain(value.to_string())));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.others.push((field.name(), Value::Plain(value.to_string())));
    }
}

fn text(level: Level, fields: &Fields) -> String {
    let name = match level {
        Level::ERROR => "error",
        Level::WARN => "warning",
        Level::INFO => "info",
        Level::DEBUG => "debug",
        Level::TRACE => "trace",
    };
    let mut line = format!("{name}: {}", fields.message);
    if let Some(error) = &fields.error {
        line.extend([": ", error]);
    }
    for (name, value) in &fields.others {
        // Writing to a string does not fail.
        let _ = match value {
            Value::Text(text) => write!(line, " {name}={text:?}"),
            Value::Plain(text) => write!(line, " {name}={text}"),
        };
    }
    // A line may quote what a client or another server sent.
    let mut line: String = line.chars().flat_map(without_controls).collect();
    line.push('\n');
    line
}

fn without_controls(character: char) -> impl Iterator<Item = char> {
    let escaped = character.is_control().then(|| character.escape_default());
    let plain = escaped.is_none().then_some(character);
    escaped.into_iter().flatten().chain(plain)
}

fn object(event: &Event<'_>, fields: &Fields) -> String {
    let metadata = event.metadata();
    let nanos = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    let mut line = format!("{{\"ts\":{}.{:06}", nanos / 1_000_000, nanos % 1_000_000);
    let mut member = |name: &str, value: &Value| {
        line.extend([",", &quoted(name), ":"]);
        match value {
            Value::Text(text) => line.push_str(&quoted(text)),
            Value::Plain(text) => line.push_str(text),
        }
    };
    if let (Some(file), Some(number)) = (metadata.file(), metadata.line()) {
        // The file and its directory, as in Go's loggers.
        let start = file.rmatch_indices('/').nth(1).map_or(0, |(at, _)| at + 1);
        member("caller", &Value::Text(format!("{}:{number}", file.get(start..).unwrap_or(file))));
    }
    member("msg", &Value::Text(fields.message.clone()));
    let verbosity = match *metadata.level() {
        Level::ERROR => None,
        Level::WARN | Level::INFO => Some(0),
        Level::DEBUG => Some(DEBUG_VERBOSITY),
        Level::TRACE => Some(TRACE_VERBOSITY),
    };
    if let Some(verbosity) = verbosity {
        member("v", &Value::Plain(verbosity.to_string()));
    }
    fields.others.iter().for_each(|(name, value)| member(name, value));
    if let Some(error) = &fields.error {
        member("err", &Value::Text(error.clone()));
    }
    line.push_str("}\n");
    line
}

fn quoted(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len() + 2);
    json::encode_str(text, &mut out);
    String::from_utf8(out).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_codec::Strictness;
    use std::io;
    use std::sync::{Arc, Mutex};
    use tracing::{debug, error, info, warn};

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().expect("whole").extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// The lines that are logged.
    fn logged(format: LogFormat, verbosity: u32, log: impl FnOnce()) -> Vec<String> {
        let lines = Lines::default();
        let writer = lines.clone();
        let layer = tracing_subscriber::fmt::layer().event_format(format).with_writer(move || writer.clone());
        let subscriber = tracing_subscriber::registry().with(levels(verbosity)).with(layer);
        tracing::subscriber::with_default(subscriber, log);
        let bytes = lines.0.lock().expect("whole").clone();
        String::from_utf8(bytes).expect("text").lines().map(str::to_owned).collect()
    }

    #[test]
    fn text_is_the_level_the_message_the_error_and_the_fields_in_one_line() {
        let lines = logged(LogFormat::Text, 0, || {
            warn!(err = %"no space\nleft", count = 3, name = "a b", "the store cannot be written");
            info!("it is {}", "\u{1b}[31mred");
            error!(target: "h2", "of another crate");
            info!(target: "h2", "of another crate");
            debug!("too much");
        });
        let expected = [
            r#"warning: the store cannot be written: no space\nleft count=3 name="a b""#,
            r"info: it is \u{1b}[31mred",
            "error: of another crate",
        ];
        assert_eq!(lines, expected);
    }

    #[test]
    fn json_has_the_members_of_the_reference() {
        let lines = logged(LogFormat::Json, 4, || {
            warn!(err = %"no \"space\"\n", count = 3, on = true, "the store cannot be written");
            debug!(name = "a", "more");
            error!("worse");
        });
        let objects: Vec<_> = lines
            .iter()
            .map(|line| pintle_codec::json::parse(line.as_bytes(), Strictness::Collect).expect("JSON").value)
            .collect();
        assert_eq!(objects.len(), 3);
        let (warning, debug, error) = (&objects[0], &objects[1], &objects[2]);
        assert!(lines[0].starts_with("{\"ts\":1") && warning.str_at(&["caller"]).starts_with("src/logs.rs:"));
        assert_eq!(warning.str_at(&["msg"]), "the store cannot be written");
        assert_eq!(warning.str_at(&["err"]), "no \"space\"\n");
        let number =
            |object: &pintle_schema::Value, name: &str| object.get(name).and_then(pintle_schema::Value::as_i64);
        assert_eq!((number(warning, "v"), number(warning, "count")), (Some(0), Some(3)));
        assert!(lines[0].contains("\"on\":true"));
        assert_eq!((number(debug, "v"), debug.str_at(&["name"])), (Some(4), "a"));
        assert_eq!((number(error, "v"), error.str_at(&["msg"])), (None, "worse"));
    }

    #[test]
    fn names_fit_patterns() {
        let rows = [
            ("httplog", "httplog", true),
            ("http*", "httplog", true),
            ("*log", "httplog", true),
            ("h?tp*g", "httplog", true),
            ("*", "", true),
            ("a*b*c", "aXbXbc", true),
            ("httplog", "httplogs", false),
            ("?", "", false),
            ("a*b", "acd", false),
        ];
        for (pattern, name, expected) in rows {
            assert_eq!(is_match(pattern, name), expected, "{pattern} {name}");
        }
        for (file, name) in [("crates/a/src/httplog.rs", "httplog"), ("src/watch/mod.rs", "watch"), ("", "")] {
            assert_eq!(module_name(file), name);
        }
    }

    #[test]
    fn a_file_may_log_more_than_the_others() {
        let logged_with = |module: &str| {
            let lines = Lines::default();
            let writer = lines.clone();
            let layer =
                tracing_subscriber::fmt::layer().event_format(LogFormat::Text).with_writer(move || writer.clone());
            let modules = vec![ModuleVerbosity::parse(module).expect("a pattern")];
            let subscriber = tracing_subscriber::registry().with(layer.with_filter(levels(0).or(of_modules(modules))));
            tracing::subscriber::with_default(subscriber, || {
                warn!("always");
                debug!("at four");
                tracing::info!(target: httplog::REQUESTS, "HTTP");
            });
            let bytes = lines.0.lock().expect("whole").clone();
            String::from_utf8(bytes).expect("text").lines().count()
        };
        assert_eq!(["logs=4", "logs=3", "log*=0", "other=9"].map(logged_with), [3, 2, 1, 1]);
        for wrong in ["logs", "logs=", "=3", "logs=x", "a=1=2"] {
            assert!(ModuleVerbosity::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn verbosity_shows_more_of_this_program_than_of_others() {
        let count = |verbosity| {
            logged(LogFormat::Text, verbosity, || {
                debug!("own");
                tracing::trace!("own");
                debug!(target: "hyper", "other");
                tracing::trace!(target: "hyper", "other");
            })
            .len()
        };
        assert_eq!([0, 3, 4, 6, 8, 10].map(count), [0, 0, 1, 2, 3, 4]);
    }
}
