//! `/statusz` and `/flagz`: the server's version, uptime and flags, as text or as objects. Guarantees kube-apiserver's
//! negotiation: text unless an object is requested by kind and version. Must never show the content of a file that a
//! flag names.

use super::dates::day_and_month;
use super::paths::{has_zpage, listed_paths};
use crate::Api;
use crate::encoding::{self, Format, Kind, negotiate_kind};
use crate::query::Query;
use crate::request::Request;
use crate::response::ApiResponse;
use http::header::{ACCEPT, USER_AGENT};
use pintle_discovery::version;
use pintle_meta::config_zpages::v1beta1::{Flagz, Statusz};
use pintle_meta::meta::v1::{ObjectMeta, TypeMeta};
use pintle_registry::Result;
use pintle_schema::{ApiType, ApiValue, Struct, Time, Value, canonicalize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// The component's name in texts and objects.
const COMPONENT: &str = "apiserver";
const GROUP: &str = "config.k8s.io";
const VERSIONS: [&str; 2] = ["v1beta1", "v1alpha1"];
const DEPRECATED: &str = "v1alpha1";

/// Delimiters between a name and a value. They vary, so that programs do not parse these pages.
const DELIMITERS: [&str; 4] = [":", ": ", "=", " "];

/// Directories for API clients, not for debugging.
const OTHERS: [&str; 5] = ["/apis", "/api", "/openid", "/openapi", "/.well-known"];

/// Serves one of the paths; `None` for others.
///
/// # Errors
/// 406 when the client accepts none of the forms.
pub fn serve(api: &Api, request: &Request, query: &Query) -> Result<Option<ApiResponse>> {
    let path = request.path.as_str();
    if !has_zpage(api, path) {
        return Ok(None);
    }
    let kind = if path == "/flagz" { "Flagz" } else { "Statusz" };
    let wanted = Kind { group: GROUP, kind, versions: &VERSIONS };
    let formats = api.formats().iter().copied().filter(|format| *format != Format::Protobuf).collect::<Vec<_>>();
    let negotiated = negotiate_kind(request.header(ACCEPT), request.header(USER_AGENT), query, &wanted, &formats)?;
    let Some((form, version)) = negotiated else {
        let text = if kind == "Flagz" { flags_text(api) } else { status_text(api) };
        return Ok(Some(ApiResponse::new(200, "text/plain; charset=utf-8", text)));
    };
    let type_meta = TypeMeta { kind: kind.to_owned(), api_version: format!("{GROUP}/{version}") };
    let metadata = ObjectMeta { name: COMPONENT.to_owned(), ..ObjectMeta::default() };
    let (schema, mut object): (&Struct, Value) = match kind {
        "Flagz" => (Flagz::schema(), Flagz { type_meta, metadata, flags: flags(api).clone() }.to_value()),
        _ => (Statusz::schema(), Statusz { type_meta, metadata, ..status(api) }.to_value()),
    };
    canonicalize(schema, &mut object);
    let content_type = format!("{};g={GROUP};v={version};as={kind}", form.format.content_type());
    let mut answer = ApiResponse::new(200, content_type, encoding::encode(&object, schema, form));
    if version == DEPRECATED {
        let path = &path[1..];
        answer.warnings.push(format!("This version of the {path} endpoint is deprecated. Please use a newer version."));
    }
    Ok(Some(answer))
}

fn flags(api: &Api) -> &BTreeMap<String, String> {
    static NONE: BTreeMap<String, String> = BTreeMap::new();
    api.settings.flags.as_ref().unwrap_or(&NONE)
}

fn status(api: &Api) -> Statusz {
    let now = api.registry.environment.now_unix();
    let folders: BTreeSet<String> = listed_paths(api)
        .iter()
        .filter_map(|path| path.split('/').nth(1).filter(|folder| !folder.is_empty()))
        .map(|folder| format!("/{folder}"))
        .filter(|folder| !OTHERS.contains(&folder.as_str()))
        .collect();
    Statusz {
        start_time: Time::from_seconds(api.settings.started_unix),
        uptime_seconds: (now - api.settings.started_unix).max(0),
        binary_version: version::GIT_VERSION.trim_start_matches('v').to_owned(),
        emulation_version: format!("{}.{}", version::MAJOR, api.settings.version.emulated_minor),
        paths: folders.into_iter().collect(),
        ..Statusz::default()
    }
}

fn delimiter(api: &Api) -> &'static str {
    let mut random = [0];
    api.registry.environment.random(&mut random);
    DELIMITERS[usize::from(random[0]) % DELIMITERS.len()]
}

fn heading(name: &str) -> String {
    format!(
        "\n{COMPONENT} {name}\nWarning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees \
         and is for debugging purposes only.\n"
    )
}

fn flags_text(api: &Api) -> String {
    let (mut text, delimiter) = (heading("flagz"), delimiter(api));
    for (name, value) in flags(api) {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{name}{delimiter}{value}");
    }
    text
}

fn status_text(api: &Api) -> String {
    let (status, delimiter) = (status(api), delimiter(api));
    let up = status.uptime_seconds;
    let lines = [
        ("Started", unix_date(status.start_time)),
        ("Up", format!("{} hr {:02} min {:02} sec", up / 3600, up / 60 % 60, up % 60)),
        ("Go version", status.go_version),
        ("Binary version", status.binary_version),
        ("Emulation version", status.emulation_version),
        ("Paths", status.paths.join(" ")),
    ];
    let mut text = heading("statusz") + "\n";
    for (name, value) in lines {
        let _ = writeln!(text, "{name}{delimiter} {value}");
    }
    text
}

/// A time as `date` prints it.
fn unix_date(time: Time) -> String {
    let ((day, month), civil) = (day_and_month(time), time.civil());
    format!(
        "{day} {month} {:2} {:02}:{:02}:{:02} UTC {:04}",
        civil.day, civil.hour, civil.minute, civil.second, civil.year
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_unix() {
        for (seconds, expected) in
            [(0, "Thu Jan  1 00:00:00 UTC 1970"), (1_782_864_000, "Wed Jul  1 00:00:00 UTC 2026")]
        {
            assert_eq!(unix_date(Time::from_seconds(seconds)), expected);
        }
    }
}
