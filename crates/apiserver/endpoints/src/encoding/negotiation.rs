//! Content negotiation: the form of a response and of a body.

use super::media_type::media_type;
use crate::query::Query;
use pintle_registry::{Details, Result, Status};

/// A serialization format of objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    Json,
    Yaml,
    Protobuf,
    Cbor,
}

/// All forms, in the order in which they are offered.
pub const FORMATS: &[Format] = &[Format::Json, Format::Yaml, Format::Protobuf, Format::Cbor];

/// The formats of a server without CBOR.
pub const GENERAL: &[Format] = &[Format::Json, Format::Yaml, Format::Protobuf];

impl Format {
    pub const fn content_type(self) -> &'static str {
        match self {
            Format::Json => "application/json",
            Format::Yaml => "application/yaml",
            Format::Protobuf => "application/vnd.kubernetes.protobuf",
            Format::Cbor => "application/cbor",
        }
    }

    /// The media type of a watch in this format; `None` where watches are not supported.
    const fn stream(self) -> Option<&'static str> {
        match self {
            Format::Json => Some("application/json;stream=watch"),
            Format::Yaml => None,
            Format::Protobuf => Some("application/vnd.kubernetes.protobuf;stream=watch"),
            Format::Cbor => Some("application/cbor;stream=watch"),
        }
    }

    /// The content type of a watch response.
    pub const fn stream_content_type(self) -> &'static str {
        match self {
            Format::Protobuf => "application/vnd.kubernetes.protobuf;stream=watch",
            // One item after the other is another type than one item.
            Format::Cbor => "application/cbor-seq",
            Format::Json | Format::Yaml => "application/json",
        }
    }
}

fn media_types(formats: &[Format]) -> Vec<&'static str> {
    formats.iter().map(|format| format.content_type()).collect()
}

/// The shape in which objects are returned: whole, as a table, or as metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ResponseKind {
    Object,
    Table,
    Partial,
    PartialList,
}

/// The form of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MediaTypeOptions {
    pub format: Format,
    pub shape: ResponseKind,
    pub pretty: bool,
    /// Tables and metadata are wanted as of `meta.k8s.io/v1beta1`.
    pub beta: bool,
}

impl MediaTypeOptions {
    pub const JSON: MediaTypeOptions =
        MediaTypeOptions { format: Format::Json, shape: ResponseKind::Object, pretty: false, beta: false };

    /// The `apiVersion` of tables and partial metadata.
    pub fn meta_version(self) -> &'static str {
        if self.beta { "meta.k8s.io/v1beta1" } else { "meta.k8s.io/v1" }
    }
}

/// The kinds of responses that a path can give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AllowedMediaTypes {
    /// Objects of a resource, also as a table or as metadata.
    Objects,
    /// Results of actions, which have no table form.
    Actions,
    /// Text at a path of objects: kube-apiserver negotiates as if it were one of them.
    Text,
    /// A collection, which may be watched as well.
    Collection,
    /// The changes of a collection.
    Watch,
    /// Documents of one shape.
    DiscoveryCache,
    /// Documents of one shape, at paths that exist whatever the client accepts.
    Groups,
    /// JSON documents, whatever parameters the accepted media types have.
    JsonDocuments,
}

impl AllowedMediaTypes {
    /// The formats, among those of the server, that the response can have.
    fn formats(self, served: &'static [Format]) -> &'static [Format] {
        match self {
            AllowedMediaTypes::JsonDocuments => &GENERAL[..1],
            AllowedMediaTypes::DiscoveryCache | AllowedMediaTypes::Groups => GENERAL,
            _ => served,
        }
    }

    /// The media types that are listed in a 406 response.
    fn available(self, served: &'static [Format]) -> Vec<&'static str> {
        let formats = self.formats(served);
        let mut types = media_types(formats);
        if self == AllowedMediaTypes::Text {
            types.insert(0, TEXT);
        }
        if matches!(self, AllowedMediaTypes::Collection | AllowedMediaTypes::Watch) {
            types.extend(formats.iter().filter_map(|format| format.stream()));
        }
        types
    }

    fn has_shapes(self) -> bool {
        !matches!(
            self,
            AllowedMediaTypes::DiscoveryCache | AllowedMediaTypes::Groups | AllowedMediaTypes::JsonDocuments
        )
    }
}

const TEXT: &str = "text/plain";

/// One clause of an Accept header.
struct Clause<'a> {
    media: (&'a str, &'a str),
    quality: f32,
    parameters: Vec<(&'a str, &'a str)>,
}

/// Chooses the form of a response among those that are served.
///
/// # Errors
/// 406 when the client accepts none of them; the message depends on whether any media type was known.
pub fn negotiate(
    accept: &str,
    user_agent: &str,
    query: &Query,
    offer: AllowedMediaTypes,
    served: &'static [Format],
) -> Result<MediaTypeOptions> {
    if accept.trim().is_empty() {
        return Ok(MediaTypeOptions { pretty: pretty(query, user_agent), ..MediaTypeOptions::JSON });
    }
    // The media types are checked first, their parameters second.
    if offer != AllowedMediaTypes::Groups {
        find_path(accept, &offer.available(served))?;
    }
    if offer == AllowedMediaTypes::JsonDocuments {
        return Ok(MediaTypeOptions { pretty: pretty(query, user_agent), ..MediaTypeOptions::JSON });
    }
    let formats = offer.formats(served);
    let chosen = choose(accept, offer, formats, &|_, _| true)?;
    let pretty = chosen.pretty || pretty(query, user_agent);
    Ok(MediaTypeOptions { pretty, ..chosen })
}

/// The same for objects of a kind that was defined at run time: these have no protobuf, but their metadata has, and their paths
/// take whatever is accepted.
///
/// # Errors
/// 406 when nothing the client accepts can be given.
pub fn negotiate_custom(
    accept: &str,
    user_agent: &str,
    query: &Query,
    offer: AllowedMediaTypes,
    served: &'static [Format],
) -> Result<MediaTypeOptions> {
    let pretty = pretty(query, user_agent);
    if accept.trim().is_empty() {
        return Ok(MediaTypeOptions { pretty, ..MediaTypeOptions::JSON });
    }
    let formats = offer.formats(served);
    let has = |format, shape| format != Format::Protobuf || shape != ResponseKind::Object;
    match choose(accept, offer, formats, &has) {
        Ok(chosen) => Ok(MediaTypeOptions { pretty: pretty || chosen.pretty, ..chosen }),
        Err(_) if offer == AllowedMediaTypes::Watch => {
            let streams: Vec<_> = formats.iter().filter_map(|format| format.stream()).collect();
            Err(Status::not_acceptable(&streams))
        }
        Err(status) => Err(status),
    }
}

/// The form of an error, which has neither table nor metadata; `None` if the client accepts none of the forms.
pub fn negotiate_error(
    accept: &str,
    agent: &str,
    query: &Query,
    served: &'static [Format],
) -> Option<MediaTypeOptions> {
    let pretty = pretty(query, agent);
    let accept = if accept.trim().is_empty() { "*/*" } else { accept };
    let chosen = choose(accept, AllowedMediaTypes::Groups, served, &|_, _| true).ok()?;
    Some(MediaTypeOptions { pretty: pretty || chosen.pretty, ..chosen })
}

/// The first form that the client likes best among those that there are.
fn choose(
    accept: &str,
    offer: AllowedMediaTypes,
    formats: &'static [Format],
    has: &dyn Fn(Format, ResponseKind) -> bool,
) -> Result<MediaTypeOptions> {
    for clause in by_preference(accept.split(',').filter_map(clause).collect()) {
        for format in formats.iter().copied().filter(|format| clause.matches(*format)) {
            let Some(shape) = clause.shape().filter(|shape| has(format, *shape)) else { continue };
            if clause.parameter("stream").is_some() && format.stream().is_none()
                || clause.parameter("sv").is_some() && !offer.has_shapes()
            {
                continue;
            }
            let is_object = !matches!(offer, AllowedMediaTypes::Actions | AllowedMediaTypes::Text);
            let has_tables = is_object && matches!(format, Format::Json | Format::Yaml);
            if shape == ResponseKind::Table && !has_tables || shape != ResponseKind::Object && !offer.has_shapes() {
                continue;
            }
            if offer == AllowedMediaTypes::Watch && format.stream().is_none() {
                let streams: Vec<_> = formats.iter().filter_map(|format| format.stream()).collect();
                return Err(Status::not_acceptable(&streams));
            }
            let says = |key: &str, value: &str| clause.parameter(key) == Some(value);
            return Ok(MediaTypeOptions { format, shape, pretty: says("pretty", "1"), beta: says("v", "v1beta1") });
        }
    }
    Err(Status::not_acceptable(&media_types(formats)))
}

/// Checks the media types of a path; parameters and wildcards are ignored.
///
/// # Errors
/// 406 when the client accepts none of the available media types.
pub fn find_path(accept: &str, available: &[&str]) -> Result<()> {
    let mut media = accept.split(',').map(|clause| clause.split(';').next().unwrap_or("").trim());
    match accept.is_empty() || media.any(|media| media == "*/*" || available.contains(&media)) {
        true => Ok(()),
        false => Err(no_representation(available)),
    }
}

fn no_representation(available: &[&str]) -> Status {
    let message = format!("406: Not Acceptable\n\nAvailable representations: {}", available.join(", "));
    Status::new(406, "NotAcceptable", message).with_details(Details::default())
}

fn clause(text: &str) -> Option<Clause<'_>> {
    let mut parts = text.split(';').map(str::trim);
    let media = match parts.next()?.split_once('/') {
        Some((_, subtype)) if subtype.contains('/') => return None,
        Some((of, subtype)) => (of.trim(), subtype.trim()),
        None if text.trim().starts_with('*') => ("*", "*"),
        None => return None,
    };
    let parameters: Vec<_> = parts.filter_map(|part| part.split_once('=')).map(|(k, v)| (k.trim(), v.trim())).collect();
    let quality = parameters.iter().find(|(key, _)| *key == "q").map_or(1.0, |(_, q)| q.parse().unwrap_or(0.0));
    Some(Clause { media, quality, parameters })
}

/// More clauses than this are sorted by a true order, in less than quadratic time.
const FEW_CLAUSES: usize = 12;

/// Sorts clauses as kube-apiserver does: by a comparison that is no order, so the steps of sorting count, too.
fn by_preference(mut clauses: Vec<Clause<'_>>) -> Vec<Clause<'_>> {
    let before = |a: &Clause<'_>, b: &Clause<'_>| {
        a.quality > b.quality || a.media.0 != "*" && b.media.0 == "*" || a.media.1 != "*" && b.media.1 == "*"
    };
    if clauses.len() > FEW_CLAUSES {
        clauses.sort_by(|a, b| b.quality.total_cmp(&a.quality));
        return clauses;
    }
    for end in 1..clauses.len() {
        for at in (1..=end).rev() {
            if !before(&clauses[at], &clauses[at - 1]) {
                break;
            }
            clauses.swap(at, at - 1);
        }
    }
    clauses
}

impl Clause<'_> {
    fn matches(&self, format: Format) -> bool {
        match self.media {
            ("*" | "application", "*") => true,
            ("application", subtype) => format.content_type().strip_prefix("application/") == Some(subtype),
            _ => false,
        }
    }

    /// The last value of a parameter; one without a value is ignored.
    fn parameter(&self, key: &str) -> Option<&str> {
        let mut values = self.parameters.iter().rev().filter(|(name, value)| *name == key && !value.is_empty());
        values.next().map(|(_, value)| *value)
    }

    /// `None` when the parameters require an unsupported shape.
    fn shape(&self) -> Option<ResponseKind> {
        if self.parameter("stream").is_some_and(|stream| stream != "watch")
            || self.parameter("sv").is_some_and(|version| version != "v1")
        {
            return None;
        }
        match (self.parameter("as"), self.parameter("g"), self.parameter("v")) {
            (None, None, None) => Some(ResponseKind::Object),
            (Some(kind), Some("meta.k8s.io"), Some("v1" | "v1beta1")) => match kind {
                "Table" => Some(ResponseKind::Table),
                "PartialObjectMetadata" => Some(ResponseKind::Partial),
                "PartialObjectMetadataList" => Some(ResponseKind::PartialList),
                _ => None,
            },
            _ => None,
        }
    }
}

/// Whether JSON is indented: on request, and for browsers and curl.
pub fn pretty(query: &Query, user_agent: &str) -> bool {
    match query.get("pretty") {
        "" => ["curl", "Wget", "Mozilla/5.0"].iter().any(|agent| user_agent.starts_with(agent)),
        asked => matches!(asked, "1" | "t" | "T" | "true" | "True" | "TRUE"),
    }
}

/// Chooses the form of discovery of everything at once; `None` where that is not asked for. It need not be what the client
/// likes best. Also whether the document of this server alone is asked for.
pub fn negotiate_aggregated(accept: &str, user_agent: &str, query: &Query) -> Option<(MediaTypeOptions, bool)> {
    let kind = [("as", "APIGroupDiscoveryList"), ("g", "apidiscovery.k8s.io"), ("v", "v2")];
    let asks = |clause: &Clause<'_>, format: &Format| {
        let streams = clause.parameter("stream").is_none_or(|stream| stream == "watch" && format.stream().is_some());
        kind.iter().all(|(key, value)| clause.parameter(key) == Some(value))
            && clause.parameter("sv").is_none()
            && streams
            && clause.matches(*format)
    };
    let clauses = by_preference(accept.split(',').filter_map(clause).collect());
    clauses.iter().find_map(|clause| {
        let format = GENERAL.iter().copied().find(|format| asks(clause, format))?;
        let pretty = pretty(query, user_agent) || clause.parameter("pretty") == Some("1");
        let is_local = clause.parameter("profile") == Some("nopeer");
        Some((MediaTypeOptions { format, pretty, ..MediaTypeOptions::JSON }, is_local))
    })
}

/// A kind that can be requested by name and version.
pub struct Kind<'a> {
    pub group: &'a str,
    pub kind: &'a str,
    pub versions: &'a [&'static str],
}

/// Chooses between text and an object of a kind in one of these formats; `None` is text. An object must be requested by its
/// kind.
///
/// # Errors
/// 406 when the client accepts neither.
pub fn negotiate_kind(
    accept: &str,
    user_agent: &str,
    query: &Query,
    wanted: &Kind<'_>,
    formats: &[Format],
) -> Result<Option<(MediaTypeOptions, &'static str)>> {
    if accept.trim().is_empty() {
        return Ok(None);
    }
    for clause in by_preference(accept.split(',').filter_map(clause).collect()) {
        if clause.parameter("stream").is_some() || clause.parameter("sv").is_some() {
            continue;
        }
        let asked = ["as", "g", "v"].map(|key| clause.parameter(key));
        let version = wanted
            .versions
            .iter()
            .copied()
            .find(|version| asked == [Some(wanted.kind), Some(wanted.group), Some(*version)]);
        let format = formats.iter().copied().find(|format| clause.matches(*format));
        if let (Some(version), Some(format)) = (version, format) {
            let pretty = pretty(query, user_agent) || clause.parameter("pretty") == Some("1");
            return Ok(Some((MediaTypeOptions { format, pretty, ..MediaTypeOptions::JSON }, version)));
        }
        if asked == [None; 3] && matches!(clause.media, ("*", "*") | ("text", "*" | "plain")) {
            return Ok(None);
        }
    }
    // Text comes before CBOR, which is optional.
    let mut accepted = media_types(formats);
    accepted.insert(accepted.len().min(2), TEXT);
    Err(Status::not_acceptable(&accepted))
}

/// The index of the client's preferred media type among those offered; `None` when it accepts none of them.
pub fn preferred(accept: &str, offered: &[&str]) -> Option<usize> {
    let accept = if accept.trim().is_empty() { "*/*" } else { accept };
    let of = |offered: &str, wanted: (&str, &str)| {
        offered.split_once('/').is_some_and(|(of, subtype)| {
            (wanted.0 == "*" || wanted.0 == of) && (wanted.1 == "*" || wanted.1 == subtype)
        })
    };
    let clauses = by_preference(accept.split(',').filter_map(clause).collect());
    clauses.iter().find_map(|clause| offered.iter().position(|offered| of(offered, clause.media)))
}

/// The format of a body, among those that are served.
///
/// # Errors
/// 415 for media types that objects are not read from.
pub fn body_format(content_type: &str, served: &[Format]) -> Result<Format> {
    if content_type.is_empty() {
        return Ok(Format::Json);
    }
    let media = media_type(content_type);
    let found = served.iter().copied().find(|format| Some(format.content_type()) == media.as_deref());
    found.ok_or_else(|| unsupported_body(served))
}

/// The 415 of a body in another form than those that are served.
pub fn unsupported_body(served: &[Format]) -> Status {
    Status::unsupported_media_type(&media_types(served))
}

#[cfg(test)]
mod tests;
