//! The operations of a path, independent of the OpenAPI version.
//!
//! Light descriptions only: types are given by name and parameters by the options that contain them.

use super::definitions::Kind;
use super::push;
use pintle_schema::{Field, Map, Ref, Struct, Type, Value};

/// A path and its methods.
pub(crate) struct PathItem {
    pub path: String,
    /// Parameters that all of its methods have.
    pub parameters: Vec<Parameters>,
    pub operations: Vec<Operation>,
}

/// One or more parameters.
#[derive(Clone)]
pub(crate) enum Parameters {
    /// A part of the path, required.
    Path {
        name: &'static str,
        description: String,
    },
    /// Parameters of the query: the scalar fields of a struct.
    Query(Ref<Struct>),
    /// The same without those that only a watch has.
    QueryWithoutWatch(Ref<Struct>),
    Pretty,
}

pub(crate) struct Operation {
    /// `get`, `put`, `post`, `delete`, `options`, `head` or `patch`.
    pub method: &'static str,
    pub id: String,
    pub description: String,
    pub tag: String,
    /// Empty for operations that are not of a resource.
    pub action: &'static str,
    pub kind: Option<Kind>,
    pub parameters: Vec<Parameters>,
    pub body: Option<Body>,
    /// The media types of bodies, which version 2 names although there is no body.
    pub consumes: &'static [&'static str],
    pub answer: SuccessResponse,
}

/// The body of a request.
pub(crate) struct Body {
    pub type_name: String,
    pub required: bool,
    pub media_types: &'static [&'static str],
}

/// The response to a successful request.
pub(crate) struct SuccessResponse {
    /// `None` for a plain string.
    pub type_name: Option<String>,
    pub statuses: &'static [Status],
    pub media_types: &'static [&'static str],
}

/// A status code and its name.
pub(crate) type Status = (&'static str, &'static str);

pub(crate) const OK: Status = ("200", "OK");
pub(crate) const CREATED: Status = ("201", "Created");
pub(crate) const ACCEPTED: Status = ("202", "Accepted");
/// A response of every operation.
pub(crate) const UNAUTHORIZED: Status = ("401", "Unauthorized");

pub(crate) const ANY_MEDIA_TYPE: &[&str] = &["*/*"];
pub(crate) const JSON_ONLY: &[&str] = &["application/json"];
pub(crate) const TEXT: &[&str] =
    &["text/plain", "application/json", "application/yaml", "application/vnd.kubernetes.protobuf"];
pub(crate) const OBJECTS: &[&str] = &["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"];
/// What is declared of custom resources.
pub(crate) const CUSTOM_OBJECTS: &[&str] = &["application/json", "application/yaml"];
pub(crate) const STREAMS: &[&str] = &[
    "application/json",
    "application/yaml",
    "application/vnd.kubernetes.protobuf",
    "application/json;stream=watch",
    "application/vnd.kubernetes.protobuf;stream=watch",
];
pub(crate) const PATCHES: &[&str] = &[
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
];
pub(crate) const PATCHES_OF_CUSTOM_RESOURCES: &[&str] =
    &["application/json-patch+json", "application/merge-patch+json", "application/apply-patch+yaml"];

/// Lists of media types, and the same where CBOR is served.
const WITH_CBOR: [(&[&str], &[&str]); 4] = [
    (OBJECTS, &["application/json", "application/yaml", "application/vnd.kubernetes.protobuf", "application/cbor"]),
    (
        TEXT,
        &[
            "text/plain",
            "application/json",
            "application/yaml",
            "application/vnd.kubernetes.protobuf",
            "application/cbor",
        ],
    ),
    (
        STREAMS,
        &[
            "application/json",
            "application/yaml",
            "application/vnd.kubernetes.protobuf",
            "application/cbor",
            "application/json;stream=watch",
            "application/vnd.kubernetes.protobuf;stream=watch",
            "application/cbor-seq",
        ],
    ),
    (
        PATCHES,
        &[
            "application/json-patch+json",
            "application/merge-patch+json",
            "application/strategic-merge-patch+json",
            "application/apply-patch+yaml",
            "application/apply-patch+cbor",
        ],
    ),
];

pub(crate) const PRETTY: &str = "Whether the answer is indented: \"true\" or \"false\".";

/// The fields of options that only a watch has.
const OF_WATCHES: [&str; 2] = ["watch", "allowWatchBookmarks"];

/// The fields of options that are parameters of the query, with the type they have there.
pub(crate) fn query_fields(options: &Struct) -> impl Iterator<Item = (&Field, &'static str)> {
    options.fields.iter().filter(|field| !field.inline).filter_map(|field| Some((field, query_type(&field.ty)?)))
}

impl Parameters {
    /// The options whose fields they are, and those fields with their types; nothing for other parameters.
    pub fn of_query(&self) -> impl Iterator<Item = (&Struct, &Field, &'static str)> {
        let (options, watches) = match self {
            Parameters::Query(options) => (Some(options), true),
            Parameters::QueryWithoutWatch(options) => (Some(options), false),
            Parameters::Path { .. } | Parameters::Pretty => (None, true),
        };
        let fields = options.into_iter().flat_map(|options| {
            let options: &Struct = options;
            query_fields(options).map(move |(field, ty)| (options, field, ty))
        });
        fields.filter(move |(_, field, _)| watches || !OF_WATCHES.contains(&field.name.as_str()))
    }
}

fn query_type(ty: &Type) -> Option<&'static str> {
    match ty {
        Type::Bool => Some("boolean"),
        Type::Int32 | Type::Int64 => Some("integer"),
        Type::String | Type::Enum(_) => Some("string"),
        // Given more than once.
        Type::List(list) => query_type(&list.elem),
        _ => None,
    }
}

impl Operation {
    /// Adds the media types of CBOR, except to what is declared of custom resources.
    pub fn add_cbor(&mut self) {
        let body = self.body.as_mut().map(|body| &mut body.media_types);
        for media_types in [&mut self.consumes, &mut self.answer.media_types].into_iter().chain(body) {
            if let Some((_, with_cbor)) = WITH_CBOR.iter().find(|(without, _)| **without == **media_types) {
                *media_types = *with_cbor;
            }
        }
    }
}

impl PathItem {
    /// The item in the dialect that operations and lists of parameters are written in.
    pub fn written(
        &self,
        operation: impl Fn(&Operation) -> Value,
        parameters: impl Fn(&[Parameters]) -> Vec<Value>,
    ) -> Value {
        let mut out = Map::new();
        for described in &self.operations {
            push(&mut out, described.method, operation(described));
        }
        let shared = parameters(&self.parameters);
        if !shared.is_empty() {
            push(&mut out, "parameters", Value::List(shared));
        }
        Value::Map(out)
    }
}

impl SuccessResponse {
    pub fn object(type_name: String, statuses: &'static [Status]) -> Self {
        SuccessResponse { type_name: Some(type_name), statuses, media_types: OBJECTS }
    }

    pub fn stream(type_name: String) -> Self {
        SuccessResponse { type_name: Some(type_name), statuses: &[OK], media_types: STREAMS }
    }

    pub fn string(media_types: &'static [&'static str]) -> Self {
        SuccessResponse { type_name: None, statuses: &[OK], media_types }
    }
}
