//! Content negotiation: in which form an answer is wanted, and in which a body came.

use crate::query::Query;
use pintle_registry::{Details, Result, Status};

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
    /// Tables and metadata are wanted as of `meta.k8s.io/v1beta1`.
    pub beta: bool,
}

impl Wanted {
    pub const JSON: Wanted = Wanted { format: Format::Json, shape: Shape::Object, pretty: false, beta: false };

    /// The `apiVersion` of tables and of metadata alone.
    pub fn meta_version(self) -> &'static str {
        if self.beta { "meta.k8s.io/v1beta1" } else { "meta.k8s.io/v1" }
    }
}

/// What a path can answer with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offer {
    /// Objects of a resource, also as tables or as metadata alone.
    Objects,
    /// A collection, which may be watched as well.
    Collection,
    /// The changes of a collection.
    Watch,
    /// Documents that have one shape.
    Documents,
    /// Documents that have one shape and are JSON.
    JsonDocuments,
}

impl Offer {
    /// The media types that the path is known by.
    fn available(self) -> &'static [&'static str] {
        match self {
            Offer::Objects | Offer::Documents => &MEDIA_TYPES,
            Offer::JsonDocuments => &MEDIA_TYPES[..1],
            Offer::Collection | Offer::Watch => &[
                MEDIA_TYPES[0],
                MEDIA_TYPES[1],
                MEDIA_TYPES[2],
                "application/json;stream=watch",
                "application/vnd.kubernetes.protobuf;stream=watch",
            ],
        }
    }

    /// The media types that the answer itself can have.
    fn accepted(self) -> &'static [&'static str] {
        match self {
            Offer::Watch => &["application/json;stream=watch", "application/vnd.kubernetes.protobuf;stream=watch"],
            Offer::JsonDocuments => &MEDIA_TYPES[..1],
            _ => &MEDIA_TYPES,
        }
    }
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
pub fn negotiate(accept: &str, user_agent: &str, query: &Query, offer: Offer) -> Result<Wanted> {
    let pretty = pretty(query, user_agent);
    if accept.trim().is_empty() {
        return Ok(Wanted { pretty, ..Wanted::JSON });
    }
    let mut clauses: Vec<Clause> = accept.split(',').filter_map(clause).collect();
    // The path is found by media types alone; only then is it asked for shapes.
    let known = |clause: &Clause| clause.media == "*/*" || offer.available().contains(&clause.media);
    if !clauses.iter().any(known) {
        return Err(no_representation(offer));
    }
    clauses.sort_by(|a, b| b.quality.total_cmp(&a.quality));
    for clause in &clauses {
        let Some(format) = format_of(clause.media) else { continue };
        if format != Format::Json && offer == Offer::JsonDocuments {
            continue;
        }
        let Some(shape) = shape_of(&clause.parameters) else { continue };
        if shape == Shape::Table && format == Format::Protobuf
            || shape != Shape::Object && matches!(offer, Offer::Documents | Offer::JsonDocuments)
        {
            continue;
        }
        if format == Format::Yaml && offer == Offer::Watch {
            break;
        }
        let has = |key: &str, value: &str| clause.parameters.contains(&(key, value));
        return Ok(Wanted { format, shape, pretty: pretty || has("pretty", "1"), beta: has("v", "v1beta1") });
    }
    Err(Status::not_acceptable(offer.accepted()))
}

fn no_representation(offer: Offer) -> Status {
    let message = format!("406: Not Acceptable\n\nAvailable representations: {}", offer.available().join(", "));
    Status::new(406, "NotAcceptable", message).with_details(Details::default())
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
    let media = content_type.split(';').next().unwrap_or("").trim().to_ascii_lowercase();
    match media.as_str() {
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
            ("application/vnd.kubernetes.protobuf;as=Table;g=meta.k8s.io;v=v1", Err(406)),
        ];
        for (accept, expected) in rows {
            let found = negotiate(accept, "", &none, Offer::Objects)
                .map(|wanted| (wanted.format, wanted.shape))
                .map_err(|status| status.code);
            assert_eq!(found, expected, "{accept}");
        }
    }

    #[test]
    fn paths_offer_what_they_have() {
        let table = "application/json;as=Table;g=meta.k8s.io;v=v1";
        let rows = [
            (
                "application/yaml",
                Offer::JsonDocuments,
                "406: Not Acceptable\n\nAvailable representations: application/json",
            ),
            (
                table,
                Offer::Documents,
                "only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf",
            ),
            (
                "application/yaml",
                Offer::Watch,
                "only the following media types are accepted: application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch",
            ),
        ];
        for (accept, offer, message) in rows {
            let found = negotiate(accept, "", &Query::default(), offer).map_err(|status| status.message);
            assert_eq!(found, Err(message.to_owned()), "{accept}");
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
