//! The query of a request: its parameters, and the options parsed from them.
//!
//! Values that cannot be parsed give 400, values that are not allowed 422 with the options' kind, as in kube-apiserver.

use pintle_registry::list::Match;
use pintle_registry::options::Propagation;
use pintle_registry::unreadable::UNSAFE_DELETION_OPTION;
use pintle_registry::{DeleteOptions, ListOptions, RequestContext, Result, SentOptions, Status, WriteOptions};
use pintle_schema::Value;
use pintle_validation::ErrorList;
use pintle_validation::metadata::validate_field_manager;
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

/// Decoded parameters, in order.
#[derive(Clone, Debug, Default)]
pub struct Query(Vec<(String, String)>);

impl Query {
    /// The bytes of all parameters.
    pub fn bytes(&self) -> usize {
        self.0.iter().map(|(key, value)| key.len() + value.len() + 2).sum()
    }

    /// Parses a query. Malformed pairs (with an invalid escape or a semicolon) are ignored, as by kube-apiserver.
    pub fn parse(query: &str) -> Self {
        let well_formed = |pair: &&str| !pair.is_empty() && !pair.contains(';') && well_escaped(pair);
        let pairs = query.split('&').filter(well_formed).map(|pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            let text = |part: &str| decode(&part.replace('+', " ")).into_owned();
            (text(key), text(value))
        });
        Query(pairs.collect())
    }

    /// The parameters from which options are read, one of a list's for each of its items.
    pub fn of_options(options: &Value) -> Self {
        let text = |value: &Value| match value {
            Value::Bool(flag) => Some(flag.to_string()),
            Value::Int(number) => Some(number.to_string()),
            Value::String(text) => Some(text.to_string()),
            _ => None,
        };
        let mut pairs = Vec::new();
        for (key, value) in options.as_map().into_iter().flat_map(|map| map.iter()) {
            let values = value.as_list().unwrap_or(std::slice::from_ref(value));
            pairs.extend(values.iter().filter_map(text).map(|value| (key.to_string(), value)));
        }
        Query(pairs)
    }

    /// The first value of a parameter, "" when it is absent.
    pub fn get(&self, key: &str) -> &str {
        self.0.iter().find(|(k, _)| k == key).map_or("", |(_, value)| value)
    }

    pub fn has(&self, key: &str) -> bool {
        self.0.iter().any(|(k, _)| k == key)
    }

    pub fn all<'a>(&'a self, key: &str) -> impl Iterator<Item = &'a str> {
        let key = key.to_owned();
        self.0.iter().filter(move |(k, _)| *k == key).map(|(_, value)| value.as_str())
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value.as_str()))
    }

    /// A boolean parameter: true if present, unless its value is 0 or false.
    pub fn flag(&self, key: &str) -> bool {
        self.has(key) && !matches!(self.get(key).to_ascii_lowercase().as_str(), "0" | "false")
    }

    fn optional_flag(&self, key: &str) -> Option<bool> {
        self.has(key).then(|| self.flag(key))
    }

    /// A number; `None` when the parameter is absent.
    ///
    /// # Errors
    /// 400 for a value that is no number.
    pub fn integer(&self, key: &str) -> Result<Option<i64>> {
        self.has(key).then(|| Self::number(self.get(key))).transpose()
    }

    /// All port numbers of a parameter, each value of which may hold several.
    ///
    /// # Errors
    /// 400 for a value that is no port number.
    pub fn integers(&self, key: &str) -> Result<Vec<i64>> {
        let port = |text: &str| match text.parse::<u16>() {
            Ok(port) if !text.starts_with('+') => Ok(i64::from(port)),
            refused => {
                let is_large = refused.is_err_and(|error| *error.kind() == std::num::IntErrorKind::PosOverflow);
                let why = if is_large { "value out of range" } else { "invalid syntax" };
                Err(Status::bad_request(format!(
                    "cannot convert to []int32: strconv.ParseUint: parsing {text:?}: {why}"
                )))
            }
        };
        self.all(key).flat_map(|value| value.split(',')).map(port).collect()
    }

    fn number(text: &str) -> Result<i64> {
        text.parse().map_err(|error: std::num::ParseIntError| {
            let why = match error.kind() {
                std::num::IntErrorKind::PosOverflow | std::num::IntErrorKind::NegOverflow => "value out of range",
                _ => "invalid syntax",
            };
            Status::bad_request(format!("strconv.ParseInt: parsing {text:?}: {why}"))
        })
    }
}

/// How strictly bodies are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldValidation {
    Ignore,
    Warn,
    Strict,
}

/// The options of create, update and patch.
pub struct WriteQuery {
    pub options: WriteOptions,
    pub field_validation: FieldValidation,
    pub force: Option<bool>,
}

/// Reads the options of a write; `kind` is `CreateOptions` or `UpdateOptions`.
///
/// # Errors
/// 422 for values that are not allowed.
pub fn write_options(query: &Query, kind: &str, context: Arc<RequestContext>) -> Result<WriteQuery> {
    parse_write_options(query, kind, context, ErrorList::default())
}

/// Reads the options of a patch.
///
/// # Errors
/// 422 for values that are not allowed.
pub fn patch_options(query: &Query, applies: bool, context: Arc<RequestContext>) -> Result<WriteQuery> {
    let mut errors = ErrorList::default();
    if !applies && query.has("force") {
        errors.forbidden("force", "may not be specified for non-apply patch");
    }
    if applies && query.get("fieldManager").is_empty() {
        errors.required("fieldManager", "is required for apply patch");
    }
    parse_write_options(query, "PatchOptions", context, errors)
}

fn parse_write_options(
    query: &Query,
    kind: &str,
    context: Arc<RequestContext>,
    mut errors: ErrorList,
) -> Result<WriteQuery> {
    let field_manager = query.get("fieldManager");
    validate_field_manager(field_manager, "fieldManager", &mut errors);
    let dry_run = dry_run(query.all("dryRun"), &mut errors);
    let field_validation = match query.get("fieldValidation") {
        "" | "Warn" => FieldValidation::Warn,
        "Ignore" => FieldValidation::Ignore,
        "Strict" => FieldValidation::Strict,
        other => {
            errors.not_supported("fieldValidation", other, &["", "Ignore", "Strict", "Warn"]);
            FieldValidation::Warn
        }
    };
    check_errors(kind, errors)?;
    let field_manager = if field_manager.is_empty() { context.agent.clone() } else { field_manager.to_owned() };
    let field_validation_sent = match (query.get("fieldValidation"), field_validation) {
        ("", _) => "",
        (_, FieldValidation::Ignore) => "Ignore",
        (_, FieldValidation::Warn) => "Warn",
        (_, FieldValidation::Strict) => "Strict",
    };
    let sent =
        SentOptions { field_manager: !query.get("fieldManager").is_empty(), field_validation: field_validation_sent };
    let options = WriteOptions { dry_run, field_manager, sent, context, ..WriteOptions::default() };
    Ok(WriteQuery { options, field_validation, force: query.optional_flag("force") })
}

fn dry_run<'a>(values: impl Iterator<Item = &'a str>, errors: &mut ErrorList) -> bool {
    let values: Vec<&str> = values.collect();
    if values.is_empty() {
        return false;
    }
    if values.iter().any(|value| *value != "All") {
        let list = Value::List(values.iter().map(|value| Value::from(*value)).collect());
        errors.not_supported("dryRun", list, &["All"]);
    }
    true
}

fn check_errors(kind: &str, errors: ErrorList) -> Result<()> {
    if errors.is_empty() { Ok(()) } else { Err(Status::invalid("meta.k8s.io", kind, "", &errors)) }
}

/// The options of a list or watch.
#[derive(Clone, Debug, Default)]
pub struct ListQuery {
    pub list: ListOptions,
    pub label_selector: String,
    pub field_selector: String,
    pub shard_selector: String,
    pub watch: bool,
    pub allow_bookmarks: bool,
    pub send_initial_events: Option<bool>,
    /// The timeout of a watch; `None` where the server chooses.
    pub timeout: Option<Duration>,
}

/// Parses the options of a list or watch. `watch_list`: a watch may begin with a list.
///
/// # Errors
/// 400 for malformed numbers, 422 for combinations that are not allowed.
pub fn list_options(query: &Query, legacy_watch: bool, watch_list: bool) -> Result<ListQuery> {
    let limit = query.integer("limit")?.unwrap_or(0).max(0);
    let timeout = query.integer("timeoutSeconds")?;
    let is_watch = query.flag("watch");
    let mut send_initial_events = query.optional_flag("sendInitialEvents");
    let version = query.get("resourceVersion");
    let mut wanted = query.get("resourceVersionMatch");
    let may_begin_with_list = watch_list && send_initial_events.is_none() && wanted.is_empty();
    if is_watch && may_begin_with_list && matches!(version, "" | "0") {
        // The legacy behaviour of watches, expressed by the newer options.
        (send_initial_events, wanted) = (Some(true), "NotOlderThan");
    }
    let mut errors = ErrorList::default();
    let matching = match wanted {
        "Exact" => Some(Match::Exact),
        "NotOlderThan" => Some(Match::NotOlderThan),
        _ => None,
    };
    // A legacy watch path is validated as a list.
    if is_watch {
        watch_combinations(query, wanted, send_initial_events, watch_list, &mut errors);
    } else {
        list_combinations(query, wanted, version, send_initial_events, &mut errors);
    }
    check_errors("ListOptions", errors)?;
    Ok(ListQuery {
        list: ListOptions {
            resource_version: version.to_owned(),
            resource_version_match: matching,
            limit,
            continue_token: query.get("continue").to_owned(),
        },
        label_selector: query.get("labelSelector").to_owned(),
        field_selector: query.get("fieldSelector").to_owned(),
        shard_selector: query.get("shardSelector").to_owned(),
        watch: is_watch || legacy_watch,
        allow_bookmarks: query.flag("allowWatchBookmarks"),
        send_initial_events,
        timeout: timeout.and_then(watch_time),
    })
}

/// The duration of a number of seconds: none when it is negative, or so large that it overflows kube-apiserver's nanoseconds
/// into a negative number.
fn watch_time(seconds: i64) -> Option<Duration> {
    let nanos = seconds.wrapping_mul(1_000_000_000);
    (nanos != 0).then(|| Duration::from_nanos(u64::try_from(nanos).unwrap_or(0)))
}

fn list_combinations(query: &Query, wanted: &str, version: &str, initial: Option<bool>, errors: &mut ErrorList) {
    if !wanted.is_empty() {
        if version.is_empty() {
            errors.forbidden(
                "resourceVersionMatch",
                "resourceVersionMatch is forbidden unless resourceVersion is provided",
            );
        }
        if !query.get("continue").is_empty() {
            errors.forbidden("resourceVersionMatch", "resourceVersionMatch is forbidden when continue is provided");
        }
        if !matches!(wanted, "Exact" | "NotOlderThan") {
            errors.not_supported("resourceVersionMatch", wanted, &["Exact", "NotOlderThan", ""]);
        }
        if wanted == "Exact" && version == "0" {
            errors.forbidden(
                "resourceVersionMatch",
                "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"",
            );
        }
    }
    if initial.is_some() {
        errors.forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list");
    }
}

fn watch_combinations(query: &Query, wanted: &str, initial: Option<bool>, watch_list: bool, errors: &mut ErrorList) {
    const FIELD: &str = "resourceVersionMatch";
    if initial.is_some() && wanted != "NotOlderThan" {
        errors.forbidden(FIELD, "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan");
    }
    if initial.is_some() && !watch_list {
        let why = "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled";
        errors.forbidden("sendInitialEvents", why);
    }
    if wanted.is_empty() {
        return;
    }
    if initial.is_none() {
        errors.forbidden(FIELD, "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided");
    }
    if wanted != "NotOlderThan" {
        errors.not_supported(FIELD, wanted, &["NotOlderThan"]);
    }
    if !query.get("continue").is_empty() {
        errors.forbidden(FIELD, "resourceVersionMatch is forbidden when continue is provided");
    }
}

/// Reads the options of a delete from the query. `unsafe_allowed`: that an object cannot be read may be ignored.
///
/// # Errors
/// 400 for a period that is no number, 422 for values that are not allowed.
pub fn delete_options(query: &Query, unsafe_allowed: bool, context: Arc<RequestContext>) -> Result<DeleteOptions> {
    let grace_period_seconds = query.integer("gracePeriodSeconds")?;
    let policy = query.has("propagationPolicy").then(|| query.get("propagationPolicy"));
    let text = |key: &str| Some(query.get(key)).filter(|text| !text.is_empty()).map(str::to_owned);
    let mut options = DeleteOptions {
        grace_period_seconds,
        orphan_dependents: query.optional_flag("orphanDependents"),
        uid: text("uid"),
        resource_version: text("resourceVersion"),
        ignore_read_error: unsafe_allowed && query.optional_flag(UNSAFE_DELETION_OPTION) == Some(true),
        context,
        ..DeleteOptions::default()
    };
    let preconditions = options.uid.is_some() || options.resource_version.is_some();
    validate_delete(&mut options, policy, preconditions, query.all("dryRun"))?;
    Ok(options)
}

/// Reads the options of a delete from its body, which hides the query.
///
/// # Errors
/// 422 for values that are not allowed.
pub fn delete_options_from_body(
    body: &Value,
    unsafe_allowed: bool,
    context: Arc<RequestContext>,
) -> Result<DeleteOptions> {
    // No object has an empty uid or version: they are preconditions that always fail.
    let text = |key: &str| body.at(&["preconditions", key]).and_then(Value::as_str).map(str::to_owned);
    let mut options = DeleteOptions {
        grace_period_seconds: body.get("gracePeriodSeconds").and_then(Value::as_i64),
        orphan_dependents: body.get("orphanDependents").and_then(Value::as_bool),
        uid: text("uid"),
        resource_version: text("resourceVersion"),
        ignore_read_error: unsafe_allowed && body.get(UNSAFE_DELETION_OPTION).and_then(Value::as_bool) == Some(true),
        context,
        ..DeleteOptions::default()
    };
    let dry_run = body.get("dryRun").and_then(Value::as_list).unwrap_or(&[]);
    let policy = body.get("propagationPolicy").and_then(Value::as_str);
    let preconditions = body.get("preconditions").is_some_and(|set| *set != Value::Null);
    validate_delete(&mut options, policy, preconditions, dry_run.iter().filter_map(Value::as_str))?;
    Ok(options)
}

fn validate_delete<'a>(
    options: &mut DeleteOptions,
    policy: Option<&str>,
    preconditions: bool,
    dry_run_values: impl Iterator<Item = &'a str>,
) -> Result<()> {
    let mut errors = ErrorList::default();
    if let (Some(policy), Some(_)) = (policy, options.orphan_dependents) {
        errors.invalid("propagationPolicy", policy, "orphanDependents and deletionPropagation cannot be both set");
    }
    options.propagation = match policy {
        None => None,
        Some("Orphan") => Some(Propagation::Orphan),
        Some("Background") => Some(Propagation::Background),
        Some("Foreground") => Some(Propagation::Foreground),
        Some(other) => {
            errors.not_supported("propagationPolicy", other, &["Foreground", "Background", "Orphan", "nil"]);
            None
        }
    };
    options.dry_run = dry_run(dry_run_values, &mut errors);
    if options.ignore_read_error {
        // The finalizers of an object that cannot be decoded are unknown.
        let set = [
            ("dryRun", options.dry_run),
            ("propagationPolicy", policy.is_some()),
            ("orphanDependents", options.orphan_dependents.is_some()),
            ("gracePeriodSeconds", options.grace_period_seconds.is_some()),
            ("preconditions", preconditions),
        ];
        for (other, _) in set.into_iter().filter(|(_, set)| *set) {
            errors.invalid(UNSAFE_DELETION_OPTION, true, format!("cannot be set together with .{other}"));
        }
    }
    check_errors("DeleteOptions", errors)
}

/// Whether every percent sign begins an escape.
pub fn well_escaped(text: &str) -> bool {
    let escape = |after: &str| matches!(after.as_bytes(), [a, b, ..] if a.is_ascii_hexdigit() && b.is_ascii_hexdigit());
    text.split('%').skip(1).all(escape)
}

/// Decodes percent-encoding; invalid escapes are kept, and bytes that are no UTF-8 become U+FFFD.
pub fn decode(text: &str) -> Cow<'_, str> {
    if !text.contains('%') {
        return text.into();
    }
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let hex = |offset: usize| bytes.get(at + offset).and_then(|byte| char::from(*byte).to_digit(16));
        match (bytes[at], hex(1), hex(2)) {
            (b'%', Some(high), Some(low)) => {
                decoded.push((high * 16 + low) as u8);
                at += 3;
            }
            (byte, ..) => {
                decoded.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&decoded).into_owned().into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_schema::value;

    #[test]
    fn empty_preconditions_are_preconditions() {
        let read = |preconditions: Value| {
            let body = value!({"preconditions": (preconditions)});
            let options = delete_options_from_body(&body, false, Arc::default()).unwrap();
            (options.uid, options.resource_version)
        };
        assert_eq!(read(Value::Null), (None, None));
        assert_eq!(read(value!({"uid": null})), (None, None));
        assert_eq!(read(value!({"uid": ""})), (Some(String::new()), None));
        assert_eq!(read(value!({"resourceVersion": ""})), (None, Some(String::new())));
    }

    #[test]
    fn options_are_read_from_an_object_as_from_a_query() {
        let options =
            value!({"stdin": true, "tty": false, "container": "c", "command": ["ls", "-l"], "ports": [80, 81]});
        let query = Query::of_options(&options);
        assert_eq!((query.flag("stdin"), query.flag("tty"), query.flag("stdout")), (true, false, false));
        assert_eq!(query.get("container"), "c");
        assert_eq!(query.all("command").collect::<Vec<_>>(), ["ls", "-l"]);
        assert_eq!(query.integers("ports").unwrap(), [80, 81]);
        assert_eq!(Query::parse("ports=1,2&ports=3").integers("ports").unwrap(), [1, 2, 3]);
        for (ports, why) in [
            ("x", "invalid syntax"),
            ("1,", "invalid syntax"),
            ("+1", "invalid syntax"),
            ("65536", "value out of range"),
        ] {
            let ports = Query(vec![("ports".to_owned(), ports.to_owned())]);
            let refusal = ports.integers("ports").unwrap_err().message;
            assert!(
                refusal.starts_with("cannot convert to []int32: strconv.ParseUint") && refusal.ends_with(why),
                "{refusal}"
            );
        }
    }

    #[test]
    fn watches_begin_with_a_list_only_if_the_feature_is_on() {
        let read = |query: &str| list_options(&Query::parse(query), false, false);
        for initial in ["true", "false"] {
            let query = format!("watch=1&sendInitialEvents={initial}&resourceVersionMatch=NotOlderThan");
            let status = read(&query).map(|_| ()).unwrap_err();
            let why = "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for watch unless the WatchList \
                       feature gate is enabled";
            assert_eq!(status.code, 422);
            assert!(status.message.ends_with(why), "{}", status.message);
        }
        assert_eq!(read("watch=1&resourceVersion=0").unwrap().send_initial_events, None);
        let on = list_options(&Query::parse("watch=1&resourceVersion=0"), false, true).unwrap();
        assert_eq!(on.send_initial_events, Some(true));
    }

    #[test]
    fn invalid_combinations_of_watches_are_rejected_at_once() {
        let message_for = |query: &str| match list_options(&Query::parse(query), false, true) {
            Ok(_) => String::new(),
            Err(status) => status.message.split_once("is invalid: ").map_or("", |(_, causes)| causes).to_owned(),
        };
        let initial = "Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
        let alone = "Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided";
        let unknown = "Unsupported value: \"Exact\": supported values: \"NotOlderThan\"";
        let paged = "Forbidden: resourceVersionMatch is forbidden when continue is provided";
        let rows: [(&str, &[&str]); 8] = [
            ("watch=1&continue=x", &[paged]),
            ("watch=1&continue=x&resourceVersion=1", &[]),
            ("watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan", &[]),
            ("watch=1&sendInitialEvents=true", &[initial]),
            ("watch=1&sendInitialEvents=true&resourceVersionMatch=Exact", &[initial, unknown]),
            ("watch=1&resourceVersionMatch=Exact", &[alone, unknown]),
            ("watch=1&resourceVersionMatch=NotOlderThan", &[alone]),
            ("watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&continue=x", &[paged]),
        ];
        for (query, causes) in rows {
            let causes: Vec<_> = causes.iter().map(|cause| format!("resourceVersionMatch: {cause}")).collect();
            let expected = if causes.len() > 1 { format!("[{}]", causes.join(", ")) } else { causes.concat() };
            assert_eq!(message_for(query), expected, "{query}");
        }
    }

    #[test]
    fn any_number_of_seconds_is_accepted() {
        let rows = [
            (0, None),
            (5, Some(Duration::from_secs(5))),
            (9_223_372_036, Some(Duration::from_secs(9_223_372_036))),
            (-1, Some(Duration::ZERO)),
            (i64::MAX, Some(Duration::ZERO)),
        ];
        for (seconds, expected) in rows {
            assert_eq!(watch_time(seconds), expected, "{seconds}");
        }
    }

    #[test]
    fn malformed_pairs_are_left_out() {
        let query = Query::parse("a=%zz&%4=1&b=%4&c=1;d=2&&e=%41+b%25&f");
        let pairs: Vec<_> = query.iter().collect();
        assert_eq!(pairs, [("e", "A b%"), ("f", "")]);
    }
}
