//! `Resource`: what a collection of the API is, as data.
//!
//! Discovery, routing, storage keys, selectors and strategies are read from here by everything that serves resources;
//! nothing else may know a resource by name.

use crate::strategy::{GENERAL, Part, Strategy};
use pintle_schema::{ApiType, Struct, Type, Value};
use pintle_types::autoscaling;

/// A version's view of a resource: what one line of discovery shows, and what is behind it.
pub struct Resource {
    /// The API group; "" is the core group.
    pub group: &'static str,
    pub version: &'static str,
    /// The plural name in paths.
    pub plural: &'static str,
    pub singular: &'static str,
    pub kind: &'static str,
    pub namespaced: bool,
    pub verbs: Verbs,
    pub short_names: &'static [&'static str],
    pub categories: &'static [&'static str],
    pub schema: fn() -> &'static Struct,
    /// In which runtime configuration the version is served.
    pub served: Served,
    /// `None`: nothing is stored (reviews, bindings).
    pub storage: Option<Storage>,
    pub subresources: &'static [Subresource],
    /// Field labels that field selectors may name besides `metadata.name` and, if namespaced, `metadata.namespace`.
    /// Their values are read from the object in its storage version.
    pub selectable: &'static [Selectable],
    /// Message for an unsupported field label; `{label}` stands for it. "" for the general text.
    pub selector_refusal: &'static str,
    pub strategy: &'static Strategy,
    /// Seconds after which objects expire (events); 0 for never.
    pub ttl_seconds: u32,
    /// Sent with every answer of a deprecated version, as a Warning header; "" for none.
    pub deprecation: &'static str,
}

/// When a version of a resource is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Served {
    ByDefault,
    /// With `--runtime-config=api/all=true` or the version named there.
    OnRequest,
    /// Needs a feature gate besides.
    Gated(&'static str),
}

/// Where and how a resource is stored. Versions of one resource share it, all but the conversion.
#[derive(Clone, Copy)]
pub struct Storage {
    /// `/registry/...`, ending in a slash.
    pub prefix: &'static str,
    /// The storage version: group/version as in `apiVersion`, and its schema.
    pub api_version: &'static str,
    pub kind: &'static str,
    pub schema: fn() -> &'static Struct,
    /// The reference's hash of it, in discovery.
    pub version_hash: &'static str,
    /// Whether stores that are shared with the reference keep it as JSON; the others keep protobuf.
    pub json: bool,
    /// From this version to the storage version and back; `None` when the shapes are equal.
    pub convert: Option<Convert>,
}

/// Conversion between a served version and the storage version where shapes differ.
///
/// The functions set `apiVersion` no more than other fields they do not know: that is the caller's.
#[derive(Clone, Copy)]
pub struct Convert {
    pub to_storage: fn(&mut Value),
    pub from_storage: fn(&mut Value),
    /// Whether the storage version's defaults hold for what comes from this version, too.
    pub defaulted: bool,
}

/// The verbs discovery lists; a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verbs(pub u16);

impl Verbs {
    pub const NONE: Verbs = Verbs(0);
    pub const CREATE: Verbs = Verbs(1);
    pub const DELETE: Verbs = Verbs(1 << 1);
    pub const DELETECOLLECTION: Verbs = Verbs(1 << 2);
    pub const GET: Verbs = Verbs(1 << 3);
    pub const LIST: Verbs = Verbs(1 << 4);
    pub const PATCH: Verbs = Verbs(1 << 5);
    pub const UPDATE: Verbs = Verbs(1 << 6);
    pub const WATCH: Verbs = Verbs(1 << 7);
    /// All of them: most resources.
    pub const ALL: Verbs = Verbs(0xff);
    /// What a subresource that holds a part of the object takes.
    pub const PART: Verbs = Verbs::GET.and(Verbs::PATCH).and(Verbs::UPDATE);
    /// What proxy subresources list, whatever methods they pass on.
    pub const PROXY: Verbs = Verbs::PART.and(Verbs::CREATE).and(Verbs::DELETE);
    /// What subresources that open streams list.
    pub const STREAM: Verbs = Verbs::CREATE.and(Verbs::GET);

    const NAMES: [(&'static str, Verbs); 8] = [
        ("create", Verbs::CREATE),
        ("delete", Verbs::DELETE),
        ("deletecollection", Verbs::DELETECOLLECTION),
        ("get", Verbs::GET),
        ("list", Verbs::LIST),
        ("patch", Verbs::PATCH),
        ("update", Verbs::UPDATE),
        ("watch", Verbs::WATCH),
    ];

    pub const fn and(self, other: Verbs) -> Verbs {
        Verbs(self.0 | other.0)
    }

    pub const fn without(self, other: Verbs) -> Verbs {
        Verbs(self.0 & !other.0)
    }

    /// Those of them that are among others.
    pub const fn within(self, others: Verbs) -> Verbs {
        Verbs(self.0 & others.0)
    }

    pub const fn contains(self, other: Verbs) -> bool {
        self.0 & other.0 == other.0
    }

    /// The names in discovery's order, which is alphabetic.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        Self::NAMES.into_iter().filter(move |(_, verb)| self.contains(*verb)).map(|(name, _)| name)
    }
}

/// A field label and how its value is read from an object.
pub struct Selectable {
    pub label: &'static str,
    pub value: FieldValue,
    /// Lists by this field are short and frequent, so an index finds them.
    pub indexed: bool,
}

/// Where a field label's value comes from.
#[derive(Clone, Copy)]
pub enum FieldValue {
    /// The scalar at a path; when absent its type's zero value (`""`, `false`, `0`).
    Path(&'static [&'static str]),
    /// Computed.
    Function(fn(&Value) -> String),
    /// Another label's value.
    Alias(&'static str),
    /// Accepted, but never has a value.
    Unset,
    /// Not accepted, although the kind is namespaced and other namespaced kinds accept it.
    Refused,
}

/// A subresource.
pub struct Subresource {
    pub name: &'static str,
    pub kind: &'static str,
    /// Group and version of the kind when they are not the resource's.
    pub group_version: Option<(&'static str, &'static str)>,
    pub verbs: Verbs,
    pub action: Action,
    /// Schema of what is sent and answered; of the query's options where streams are opened.
    pub schema: Option<fn() -> &'static Struct>,
}

/// What a subresource does.
#[derive(Clone, Copy)]
pub enum Action {
    /// Reads and writes the part of the object that the strategy leaves to it (status, finalize, approval, resize, ephemeralcontainers).
    Part(&'static Part),
    /// Shows and sets the number of replicas. A write is an update of the whole object, with the resource's own strategy.
    Scale(&'static ScalePaths),
    /// pods/binding.
    Binding,
    /// pods/eviction.
    Eviction,
    /// serviceaccounts/token.
    Token,
    /// Streams to a kubelet or a backend (log, exec, attach, portforward, proxy).
    Connect,
}

impl FieldValue {
    /// The value in an object whose (storage) schema is given; `None` when the label has none.
    pub fn read(self, schema: &Struct, object: &Value) -> Option<String> {
        match self {
            FieldValue::Path(path) => Some(match object.at(path) {
                Some(Value::String(text)) => text.to_string(),
                Some(Value::Bool(value)) => value.to_string(),
                Some(Value::Int(value)) => value.to_string(),
                _ => match schema.type_at(path) {
                    Some(Type::Bool) => "false".to_owned(),
                    Some(Type::Int32 | Type::Int64) => "0".to_owned(),
                    _ => String::new(),
                },
            }),
            FieldValue::Function(read) => Some(read(object)),
            FieldValue::Alias(_) | FieldValue::Unset | FieldValue::Refused => None,
        }
    }
}

/// Where a scalable kind keeps what `Scale` shows.
pub struct ScalePaths {
    pub spec_replicas: &'static [&'static str],
    pub status_replicas: &'static [&'static str],
    /// A LabelSelector, or for replication controllers a plain map.
    pub selector: &'static [&'static str],
}

/// Where all built-in scalable kinds keep it.
pub(crate) const SCALE: ScalePaths = ScalePaths {
    spec_replicas: &["spec", "replicas"],
    status_replicas: &["status", "replicas"],
    selector: &["spec", "selector"],
};

/// The refusal that kinds with field labels of their own give.
pub(crate) const NOT_SUPPORTED: &str = "field label not supported: {label}";

/// What most cluster-scoped kinds accept in vain.
pub(crate) const NAMESPACE_UNSET: Selectable = Selectable::unset("metadata.namespace");

impl Selectable {
    pub const fn path(label: &'static str, path: &'static [&'static str]) -> Self {
        Selectable { label, value: FieldValue::Path(path), indexed: false }
    }

    pub const fn alias(label: &'static str, of: &'static str) -> Self {
        Selectable { label, value: FieldValue::Alias(of), indexed: false }
    }

    pub const fn unset(label: &'static str) -> Self {
        Selectable { label, value: FieldValue::Unset, indexed: false }
    }

    pub const fn refused(label: &'static str) -> Self {
        Selectable { label, value: FieldValue::Refused, indexed: false }
    }

    /// The same, with an index.
    pub const fn indexed(self) -> Self {
        Selectable { indexed: true, ..self }
    }
}

impl Subresource {
    /// `status`, read and written by itself.
    pub const fn status<T: ApiType>(kind: &'static str, part: &'static Part) -> Self {
        Subresource::part::<T>("status", kind, part)
    }

    /// A part of the object, read and written by itself.
    pub const fn part<T: ApiType>(name: &'static str, kind: &'static str, part: &'static Part) -> Self {
        let (verbs, action, schema) = (Verbs::PART, Action::Part(part), Some(T::schema as fn() -> &'static Struct));
        Subresource { name, kind, group_version: None, verbs, action, schema }
    }

    /// `scale` of the built-in kinds.
    pub const fn scale(paths: &'static ScalePaths) -> Self {
        Subresource {
            name: "scale",
            kind: "Scale",
            group_version: Some(("autoscaling", "v1")),
            verbs: Verbs::PART,
            action: Action::Scale(paths),
            schema: Some(autoscaling::v1::Scale::schema),
        }
    }

    /// An object that is only created, to make something happen.
    pub const fn create<T: ApiType>(name: &'static str, kind: &'static str, action: Action) -> Self {
        Subresource { name, kind, group_version: None, verbs: Verbs::CREATE, action, schema: Some(T::schema) }
    }

    /// A stream; `Options` are the query's.
    pub const fn connect<Options: ApiType>(name: &'static str, kind: &'static str, verbs: Verbs) -> Self {
        Subresource { name, kind, group_version: None, verbs, action: Action::Connect, schema: Some(Options::schema) }
    }
}

impl Storage {
    /// Storage in the version of `T`.
    pub const fn of<T: ApiType>(
        api_version: &'static str,
        kind: &'static str,
        prefix: &'static str,
        version_hash: &'static str,
    ) -> Self {
        Storage { prefix, api_version, kind, schema: T::schema, version_hash, json: false, convert: None }
    }

    /// The same storage, kept as JSON where it is shared with the reference.
    pub const fn as_json(self) -> Self {
        Storage { json: true, ..self }
    }

    /// The same storage seen from a version of another shape.
    pub const fn converting(self, to_storage: fn(&mut Value), from_storage: fn(&mut Value)) -> Self {
        Storage { convert: Some(Convert { to_storage, from_storage, defaulted: false }), ..self }
    }

    /// The same for a version whose objects get the storage version's defaults, too.
    pub const fn defaulted(self) -> Self {
        match self.convert {
            Some(convert) => Storage { convert: Some(Convert { defaulted: true, ..convert }), ..self },
            None => self,
        }
    }
}

impl Resource {
    /// A namespaced kind with all verbs and no storage yet; a row names what it has besides.
    pub const fn namespaced<T: ApiType>(
        group: &'static str,
        version: &'static str,
        plural: &'static str,
        singular: &'static str,
        kind: &'static str,
    ) -> Self {
        Resource {
            group,
            version,
            plural,
            singular,
            kind,
            namespaced: true,
            verbs: Verbs::ALL,
            short_names: &[],
            categories: &[],
            schema: T::schema,
            served: Served::ByDefault,
            storage: None,
            subresources: &[],
            selectable: &[],
            selector_refusal: "",
            strategy: &GENERAL,
            ttl_seconds: 0,
            deprecation: "",
        }
    }

    /// The same for a kind without namespace.
    pub const fn cluster<T: ApiType>(
        group: &'static str,
        version: &'static str,
        plural: &'static str,
        singular: &'static str,
        kind: &'static str,
    ) -> Self {
        Resource {
            namespaced: false,
            selectable: &[NAMESPACE_UNSET],
            ..Resource::namespaced::<T>(group, version, plural, singular, kind)
        }
    }

    /// The refusal of a field label, as the client reads it.
    pub fn refuse_label(&self, label: &str) -> String {
        match self.selector_refusal {
            "" => format!("{label:?} is not a known field selector: only \"metadata.name\", \"metadata.namespace\""),
            refusal => refusal.replace("{label}", label),
        }
    }

    /// The indexed fields, as positions among the selectable ones: the same in all versions.
    pub fn indexed_fields(&self) -> Vec<usize> {
        self.selectable.iter().enumerate().filter(|(_, field)| field.indexed).map(|(at, _)| at).collect()
    }

    /// As in `apiVersion`.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.to_owned() } else { format!("{}/{}", self.group, self.version) }
    }

    /// `pods`, `deployments.apps`: how messages name the resource.
    pub fn qualified(&self) -> String {
        if self.group.is_empty() { self.plural.to_owned() } else { format!("{}.{}", self.plural, self.group) }
    }

    pub fn subresource(&self, name: &str) -> Option<&Subresource> {
        self.subresources.iter().find(|subresource| subresource.name == name)
    }

    /// The storage key of an object.
    pub fn key(storage: &Storage, namespace: &str, name: &str) -> String {
        match namespace.is_empty() {
            true => format!("{}{name}", storage.prefix),
            false => format!("{}{namespace}/{name}", storage.prefix),
        }
    }
}
