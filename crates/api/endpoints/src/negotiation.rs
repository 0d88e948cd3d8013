//! Content negotiation: in which form an answer is wanted, and in which a body came.

use crate::query::Query;
use pintle_registry::{Result, Status};

/// Media types in which objects are answered and read.
pub const MEDIA_TYPES: [&str; 3] = ["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"];

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    Json,
    Yaml,
    Protobuf,
}

impl Format {
    pub fn content_type(self) -> &'static str {
        MEDIA_TYPES[match self {
            Format::Json => 0,
            Format::Yaml => 1,
            Format::Protobuf => 2,
        }]
    }
}

/// Which object is shown in place of the one asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shape {
    Object,
    Table,
    Partial,
    PartialList,
}

/// The form of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    pub format: Format,
    pub shape: Shape,
    pub pretty: bool,
}

impl Wanted {
    pub const JSON: Wanted = Wanted { format: Format::Json, shape: Shape::Object, pretty: false };
}

/// One clause of an Accept header.
struct Clause<'a> {
    media: &'a str,
    quality: f32,
    parameters: Vec<(&'a str, &'a str)>,
}

/// Chooses the form of an answer.
///
/// # Errors
/// 406 when nothing the client accepts can be given; the text differs by whether any media type was known at all.
pub fn negotiate(accept: &str, user_agent: &str, query: &Query) -> Result<Wanted> {
    let pretty = pretty(query, user_agent);
    if accept.trim().is_empty() {
        return Ok(Wanted { pretty, ..Wanted::JSON });
    }
    let mut clauses: Vec<Clause> = accept.split(',').filter_map(clause).collect();
    clauses.sort_by(|a, b| b.quality.total_cmp(&a.quality));
    let mut known = false;
    for clause in &clauses {
        let Some(format) = format_of(clause.media) else { continue };
        known = true;
        let Some(shape) = shape_of(&clause.parameters) else { continue };
        let pretty = pretty || clause.parameters.iter().any(|(key, value)| *key == "pretty" && *value == "1");
        if format == Format::Yaml && shape == Shape::Table {
            return Ok(Wanted { format, shape, pretty });
        }
        return Ok(Wanted { format, shape, pretty });
    }
    match known {
        true => Err(Status::not_acceptable(&MEDIA_TYPES)),
        false => Err(Status::new(406, "NotAcceptable", "406: Not Acceptable\n")),
    }
}

fn clause(text: &str) -> Option<Clause<'_>> {
    let mut parts = text.split(';').map(str::trim);
    let media = parts.next()?;
    let parameters: Vec<_> = parts.filter_map(|part| part.split_once('=')).map(|(k, v)| (k.trim(), v.trim())).collect();
    let quality = parameters.iter().find(|(key, _)| *key == "q").and_then(|(_, q)| q.parse().ok()).unwrap_or(1.0);
    Some(Clause { media, quality, parameters })
}

fn format_of(media: &str) -> Option<Format> {
    match media {
        "application/json" | "*/*" | "application/*" => Some(Format::Json),
        "application/yaml" => Some(Format::Yaml),
        "application/vnd.kubernetes.protobuf" => Some(Format::Protobuf),
        _ => None,
    }
}

/// `None` when the parameters ask for something that cannot be given.
fn shape_of(parameters: &[(&str, &str)]) -> Option<Shape> {
    let get = |key: &str| parameters.iter().find(|(k, _)| *k == key).map_or("", |(_, value)| value);
    match (get("as"), get("g"), get("v")) {
        ("", ..) => Some(Shape::Object),
        ("Table", "meta.k8s.io", "v1" | "v1beta1") => Some(Shape::Table),
        ("PartialObjectMetadata", "meta.k8s.io", "v1" | "v1beta1") => Some(Shape::Partial),
        ("PartialObjectMetadataList", "meta.k8s.io", "v1" | "v1beta1") => Some(Shape::PartialList),
        _ => None,
    }
}

/// Whether JSON is indented: asked for, or a browser or curl is looking.
pub fn pretty(query: &Query, user_agent: &str) -> bool {
    if query.has("pretty") {
        return !query.get("pretty").is_empty() && query.flag("pretty");
    }
    ["curl", "Wget", "Mozilla/"].iter().any(|agent| user_agent.starts_with(agent))
}

/// The format of a body.
///
/// # Errors
/// 415 for media types that objects are not read from.
pub fn body_format(content_type: &str) -> Result<Format> {
    let media = content_type.split(';').next().unwrap_or("").trim();
    match media {
        "" | "application/json" => Ok(Format::Json),
        "application/yaml" => Ok(Format::Yaml),
        "application/vnd.kubernetes.protobuf" => Ok(Format::Protobuf),
        _ => Err(Status::unsupported_media_type(&MEDIA_TYPES)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_acceptable_clause_wins() {
        let none = Query::default();
        let table = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json";
        let rows = [
            ("", Ok((Format::Json, Shape::Object))),
            ("*/*", Ok((Format::Json, Shape::Object))),
            (table, Ok((Format::Json, Shape::Table))),
            ("application/vnd.kubernetes.protobuf,application/json", Ok((Format::Protobuf, Shape::Object))),
            ("application/json;q=0.5, application/yaml", Ok((Format::Yaml, Shape::Object))),
            ("application/json;as=Foo, application/yaml", Ok((Format::Yaml, Shape::Object))),
            ("text/html", Err(406)),
            ("application/json;as=Foo", Err(406)),
        ];
        for (accept, expected) in rows {
            let found = negotiate(accept, "", &none).map(|wanted| (wanted.format, wanted.shape)).map_err(|status| status.code);
            assert_eq!(found, expected, "{accept}");
        }
    }

    #[test]
    fn pretty_is_for_people() {
        assert!(pretty(&Query::parse("pretty=true"), ""));
        assert!(!pretty(&Query::parse("pretty"), "curl/8"));
        assert!(pretty(&Query::default(), "curl/8"));
        assert!(!pretty(&Query::default(), "kubectl/1.36"));
    }
}
