//! What the server logs: events of `tracing` as lines on standard error, as text or as kube-apiserver's JSON.
//! Guarantees one line for each event, whatever its fields contain.
//! Must never fail or end what logs: a line that cannot be written is lost.

use pintle_codec::json;
use std::fmt::{self, Debug, Write};
use std::time::{SystemTime, UNIX_EPOCH};
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;

/// How lines are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// The level, the message, the error, other fields. No time: what collects standard error adds it.
    #[default]
    Text,
    /// An object with `ts`, `caller`, `msg`, `v` and the fields, as kube-apiserver writes it.
    Json,
}

/// What all crates of this workspace begin with.
const OWN: &str = "pintle";

/// From which verbosity on there are lines of these levels. In JSON `v` is the number.
const DEBUG_VERBOSITY: u32 = 4;
const TRACE_VERBOSITY: u32 = 6;
/// The same for lines of other crates.
const OTHERS_DEBUG_VERBOSITY: u32 = 8;
const OTHERS_TRACE_VERBOSITY: u32 = 10;

/// Has events written from here on. Only the first call of a process has an effect.
pub fn install(format: LogFormat, verbosity: u32) {
    let lines = tracing_subscriber::fmt::layer()
        .event_format(format)
        .with_writer(std::io::stderr)
        // It would be reported on standard error, by a macro that panics when that is closed.
        .log_internal_errors(false);
    let subscriber = tracing_subscriber::registry().with(levels(verbosity)).with(lines);
    let _ = tracing::subscriber::set_global_default(subscriber);
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
    Targets::new().with_default(others).with_target(OWN, own)
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
    /// What is written the same in JSON.
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
        // The file and its directory, as Go's loggers name it.
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

    /// The lines of what is logged.
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
