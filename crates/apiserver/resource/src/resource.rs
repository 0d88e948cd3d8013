//! `Resource`: the description of an API resource, as data.
//!
//! Discovery, routing, storage keys, selectors and strategies are read from here; nothing else may know a resource by name.

use crate::conversion::{Conversion, ConversionFunctions};
use crate::custom::CustomKind;
use crate::defaults::DefaultFunctions;
use crate::printer::{NameAndAge, Printer};
use crate::strategy::{GENERAL, Part, Strategy};
use pintle_schema::{ApiResource, ApiType, Gate, GateSet, Ref, ResourceNames, Str, Struct, Type, Value, View};
use pintle_validation::Validator;
use std::borrow::Cow;
use std::sync::{Arc, LazyLock};

/// One version of a resource. Built-in resources are created once at start, others when their definition arrives; both are
/// shared as `Arc<Resource>` and never change.
#[derive(Clone)]
pub struct Resource {
    /// The API group; "" is the core group.
    pub group: Str,
    pub version: Str,
    /// The plural name in paths.
    pub plural: Str,
    pub singular: Str,
    pub kind: Str,
    pub namespaced: bool,
    pub verbs: Verbs,
    pub short_names: Vec<Str>,
    pub categories: Vec<Str>,
    pub schema: Ref<Struct>,
    /// In which runtime configuration the version is served.
    pub served: Served,
    /// The minor release of Kubernetes 1 that introduced it; 0 if no release that can be emulated is older.
    pub introduced: u32,
    /// The minor release of Kubernetes 1 that served it no longer; 0 if it is still served.
    pub removed: u32,
    /// `None`: nothing is stored (reviews, bindings).
    pub storage: Option<Storage>,
    pub subresources: Vec<Subresource>,
    /// Field labels that field selectors may name besides `metadata.name` and, if namespaced, `metadata.namespace`.
    /// Their values are read from the object in its storage version.
    pub selectable: Vec<Selectable>,
    /// The message for an unsupported field label, with the placeholder `{label}`. "" for the general message.
    pub selector_refusal: Str,
    /// Versions in which objects may still be stored, though they are not served any more.
    pub unserved: Vec<Unserved>,
    /// Defaults besides the constants of the schemas.
    pub defaults: Arc<DefaultFunctions>,
    pub printer: Arc<dyn Printer>,
    /// Annotations for fields of kube-apiserver's internal form of a kind. Tables and partial metadata, which come from
    /// that form, omit them.
    pub hidden_annotations: &'static [&'static str],
    /// The rules that objects of the storage version are validated with.
    pub rules: Arc<Validator>,
    /// Warnings about a valid object.
    pub warn: Option<Warn>,
    /// Functions and settings in code, known at compile time.
    pub strategy: &'static Strategy,
    /// Seconds after which objects expire (events); 0 for never.
    pub ttl_seconds: u32,
    /// A Warning header of every response for a deprecated version; "" for none.
    pub deprecation: Str,
    /// The custom kind, if the kind was defined at run time; `None` for built-in kinds.
    pub custom: Option<Arc<dyn CustomKind>>,
}

/// For resources with all defaults in their schema.
static NO_FUNCTIONS: LazyLock<Arc<DefaultFunctions>> = LazyLock::new(|| Arc::new(DefaultFunctions::new([])));

/// For resources with all rules in their schema.
static TAGS_ALONE: LazyLock<Arc<Validator>> = LazyLock::new(|| Arc::new(Validator::new(&[])));

/// Collects warnings about an object.
pub type Warn = fn(&Written<'_>, &mut Vec<String>);

/// An object that was found right, and how it came.
pub struct Written<'a> {
    pub object: &'a Value,
    /// The replaced object.
    pub old: Option<&'a Value>,
    /// "" for the object itself.
    pub subresource: &'a str,
    /// Which feature gates are on.
    pub gates: &'a GateSet,
}

impl<'a> Written<'a> {
    pub fn view<T>(&self) -> View<'a, T> {
        View::new(self.object)
    }

    pub fn is_new(&self) -> bool {
        self.old.is_none()
    }

    /// Whether it is new, or has a new generation.
    pub fn has_new_generation(&self) -> bool {
        let of = |object: &Value| object.at(&["metadata", "generation"]).and_then(Value::as_i64).unwrap_or_default();
        self.old.is_none_or(|old| of(old) != of(self.object))
    }
}

/// When a version of a resource is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Served {
    ByDefault,
    /// With `--runtime-config=api/all=true` or the version named there.
    OnRequest,
    /// Needs a feature gate besides.
    Gated(&'static Gate),
}

/// Where and how a resource is stored. Versions of one resource share it, all but the conversion.
#[derive(Clone)]
pub struct Storage {
    /// `/registry/...`, ending in a slash.
    pub prefix: Str,
    /// The storage version: group/version as in `apiVersion`, and its schema.
    pub api_version: Str,
    pub kind: Str,
    pub schema: Ref<Struct>,
    /// Whether stores that are shared with kube-apiserver keep it as JSON; the others keep protobuf.
    pub json: bool,
    /// To the storage version and back; `None` when the shapes are equal.
    pub conversion: Option<Arc<dyn Conversion>>,
    /// Whether objects converted from this version also get the storage version's defaults.
    pub default_after_conversion: bool,
    /// The version that is kept in stores which are shared with servers of earlier releases, as in `apiVersion`; `None` for
    /// the storage version.
    pub kept_as: Option<Str>,
}

/// A version that an older server stored objects in.
#[derive(Clone, Copy)]
pub struct Unserved {
    pub names: ResourceNames,
    pub schema: fn() -> &'static Struct,
    /// To the storage version; `None` if its fields are a subset of the storage version's.
    pub to_storage: Option<fn(&mut Value)>,
}

impl Unserved {
    /// A version whose fields are a subset of the storage version's.
    pub const fn same<T: ApiResource>() -> Self {
        Unserved { names: T::NAMES, schema: T::schema, to_storage: None }
    }

    /// A version that needs a conversion.
    pub const fn converted<T: ApiResource>(to_storage: fn(&mut Value)) -> Self {
        Unserved { names: T::NAMES, schema: T::schema, to_storage: Some(to_storage) }
    }

    /// As objects name it.
    pub fn api_version(&self) -> String {
        self.names.api_version()
    }
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
    /// The verbs of a subresource that is a part of the object.
    pub const PART: Verbs = Verbs::GET.and(Verbs::PATCH).and(Verbs::UPDATE);
    /// The verbs listed for proxy subresources, which forward any method.
    pub const PROXY: Verbs = Verbs::PART.and(Verbs::CREATE).and(Verbs::DELETE);
    /// The verbs of subresources that open streams.
    pub const STREAM: Verbs = Verbs::CREATE.and(Verbs::GET);

    /// The order in which discovery lists the verbs of kinds that were defined at run time, which take all.
    const CUSTOM_ORDER: [&'static str; 8] =
        ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];

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
#[derive(Clone)]
pub struct Selectable {
    pub label: Str,
    pub value: FieldValue,
    /// Lists by this field are short and frequent, so an index finds them.
    pub indexed: bool,
}

/// The source of a field label's value.
#[derive(Clone, Debug)]
pub enum FieldValue {
    /// The scalar at a path; when absent its type's zero value (`""`, `false`, `0`).
    Path(Vec<Str>),
    /// Computed.
    Function(fn(&Value) -> String),
    /// Another label's value.
    Alias(Str),
    /// Accepted, but never has a value.
    Unset,
    /// Not accepted, although the kind is namespaced and other namespaced kinds accept it.
    Refused,
}

/// A subresource.
#[derive(Clone)]
pub struct Subresource {
    pub name: Str,
    pub kind: Str,
    /// Group and version of the kind when they are not the resource's.
    pub group_version: Option<(Str, Str)>,
    pub verbs: Verbs,
    pub action: Action,
    /// The type of request and response, or of the query's options for streams.
    pub schema: Option<Ref<Struct>>,
}

/// The action of a subresource.
#[derive(Clone)]
pub enum Action {
    /// Reads and writes the part of the object that the strategy leaves to it (status, finalize, approval, resize, ephemeralcontainers).
    Part(&'static Part),
    /// Gets and sets the number of replicas. A write is an update of the whole object, with the resource's own strategy.
    Scale(ScalePaths),
    /// Whatever the handler does that is registered for it.
    Handler,
    /// A stream that the handler opens which is registered for it: it ends when one of its sides does.
    Connect,
}

impl FieldValue {
    /// The value in an object of the given (storage) schema; `None` when the label has none.
    pub fn read(&self, schema: &Struct, object: &Value) -> Option<String> {
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

/// The paths in a scalable kind of the fields of `Scale`: JSON field names from the object down.
#[derive(Clone)]
pub struct ScalePaths {
    pub spec_replicas: Vec<Str>,
    pub status_replicas: Vec<Str>,
    /// A LabelSelector, or a plain map or text in its place.
    pub selector: Vec<Str>,
}

impl Default for ScalePaths {
    /// Where all built-in scalable kinds keep it.
    fn default() -> Self {
        ScalePaths {
            spec_replicas: texts(&["spec", "replicas"]),
            status_replicas: texts(&["status", "replicas"]),
            selector: texts(&["spec", "selector"]),
        }
    }
}

/// The message of kinds with their own field labels.
pub const NOT_SUPPORTED: Str = Str::new_static("field label not supported: {label}");

/// Texts known when the program is compiled, as a resource holds them.
pub fn texts(texts: &[&'static str]) -> Vec<Str> {
    texts.iter().map(|text| Str::new_static(text)).collect()
}

impl Selectable {
    pub fn path(label: &'static str, path: &[&'static str]) -> Self {
        Selectable::new(label, FieldValue::Path(texts(path)))
    }

    pub fn alias(label: &'static str, of: &'static str) -> Self {
        Selectable::new(label, FieldValue::Alias(Str::new_static(of)))
    }

    pub fn unset(label: &'static str) -> Self {
        Selectable::new(label, FieldValue::Unset)
    }

    pub fn refused(label: &'static str) -> Self {
        Selectable::new(label, FieldValue::Refused)
    }

    pub fn new(label: &'static str, value: FieldValue) -> Self {
        Selectable { label: Str::new_static(label), value, indexed: false }
    }

    /// The same, with an index.
    pub fn indexed(self) -> Self {
        Selectable { indexed: true, ..self }
    }
}

impl Subresource {
    /// `status`, read and written by itself.
    pub fn status<T: ApiType>(part: &'static Part) -> Self {
        Subresource::part::<T>("status", part)
    }

    /// A part of the object, read and written by itself.
    pub fn part<T: ApiType>(name: &'static str, part: &'static Part) -> Self {
        Subresource::new::<T>(name, Verbs::PART, Action::Part(part))
    }

    /// `scale`, whose kind is `Scale` of `autoscaling/v1` with the schema of `T`.
    pub fn scale<T: ApiType>(paths: ScalePaths) -> Self {
        Subresource::new::<T>("scale", Verbs::PART, Action::Scale(paths)).of_group("autoscaling", "v1")
    }

    /// The same, with a kind of another group and version than the resource's.
    pub fn of_group(self, group: &'static str, version: &'static str) -> Self {
        Subresource { group_version: Some((Str::new_static(group), Str::new_static(version))), ..self }
    }

    /// An object that is only created, to make something happen.
    pub fn create<T: ApiType>(name: &'static str, action: Action) -> Self {
        Subresource::new::<T>(name, Verbs::CREATE, action)
    }

    /// A stream; `Options` are the query's.
    pub fn connect<Options: ApiType>(name: &'static str, verbs: Verbs) -> Self {
        Subresource::new::<Options>(name, verbs, Action::Connect)
    }

    fn new<T: ApiType>(name: &'static str, verbs: Verbs, action: Action) -> Self {
        Subresource {
            name: Str::new_static(name),
            kind: T::schema().name.to_key(),
            group_version: None,
            verbs,
            action,
            schema: Some(Ref::Static(T::schema)),
        }
    }
}

impl Storage {
    /// Storage in the version of `T`, under the plural name.
    pub fn of<T: ApiResource>() -> Self {
        let prefix = format!("/registry/{}/", T::NAMES.plural);
        Storage::named::<T>(T::NAMES.api_version(), T::NAMES.kind, prefix)
    }

    /// Storage in a version that a type itself does not name.
    pub fn named<T: ApiType>(api_version: impl Into<Str>, kind: &'static str, prefix: impl Into<Str>) -> Self {
        Storage {
            prefix: prefix.into(),
            api_version: api_version.into(),
            kind: Str::new_static(kind),
            schema: Ref::Static(T::schema),
            json: false,
            conversion: None,
            default_after_conversion: false,
            kept_as: None,
        }
    }

    /// The same storage under another prefix: `/registry/...`, ending in a slash.
    pub fn under(self, prefix: &'static str) -> Self {
        Storage { prefix: Str::new_static(prefix), ..self }
    }

    /// The same storage, kept as JSON where it is shared with kube-apiserver.
    pub fn as_json(self) -> Self {
        Storage { json: true, ..self }
    }

    /// The same storage seen from a version of another shape.
    pub fn converting(self, to_storage: fn(&mut Value), from_storage: fn(&mut Value)) -> Self {
        let storage_version = self.api_version.clone();
        let conversion = ConversionFunctions { storage_version, to_storage, from_storage };
        Storage { conversion: Some(Arc::new(conversion)), ..self }
    }

    /// The same for a version whose objects also get the storage version's defaults.
    pub fn defaulted(self) -> Self {
        Storage { default_after_conversion: true, ..self }
    }

    /// The key of an object; "" for no namespace.
    pub fn key(&self, namespace: &str, name: &str) -> String {
        match namespace.is_empty() {
            true => format!("{}{name}", self.prefix),
            false => format!("{}{namespace}/{name}", self.prefix),
        }
    }
}

impl Resource {
    /// A kind under the names of its type, with all verbs and without storage; the caller sets the other fields.
    pub fn of<T: ApiResource>() -> Self {
        Resource::named::<T>(T::NAMES)
    }

    /// The same under names that the type does not have, for a type of several resources.
    pub fn named<T: ApiType>(names: ResourceNames) -> Self {
        Resource {
            group: Str::new_static(names.group),
            version: Str::new_static(names.version),
            plural: Str::new_static(names.plural),
            singular: Str::new_static(names.singular),
            kind: Str::new_static(names.kind),
            namespaced: names.namespaced,
            verbs: Verbs::ALL,
            short_names: texts(names.short_names),
            categories: texts(names.categories),
            schema: Ref::Static(T::schema),
            served: Served::ByDefault,
            introduced: 0,
            removed: 0,
            storage: None,
            subresources: Vec::new(),
            selectable: if names.namespaced { Vec::new() } else { vec![Selectable::unset("metadata.namespace")] },
            selector_refusal: Str::default(),
            unserved: Vec::new(),
            defaults: NO_FUNCTIONS.clone(),
            printer: Arc::new(NameAndAge),
            hidden_annotations: &[],
            rules: TAGS_ALONE.clone(),
            warn: None,
            strategy: &GENERAL,
            ttl_seconds: 0,
            deprecation: Str::default(),
            custom: None,
        }
    }

    /// The error message for a field label.
    pub fn refuse_label(&self, label: &str) -> String {
        match self.selector_refusal.as_str() {
            "" => format!("{label:?} is not a known field selector: only \"metadata.name\", \"metadata.namespace\""),
            refusal => refusal.replace("{label}", label),
        }
    }

    /// The kind of lists.
    pub fn list_kind(&self) -> Cow<'_, str> {
        match &self.custom {
            Some(custom) => Cow::Borrowed(custom.list_kind()),
            None => Cow::Owned(format!("{}List", self.kind)),
        }
    }

    /// The verbs in the order of discovery.
    pub fn verb_names(&self) -> Vec<&'static str> {
        if self.custom.is_some() { Verbs::CUSTOM_ORDER.to_vec() } else { self.verbs.names().collect() }
    }

    /// The schema by which apply merges objects and finds the owners of fields.
    pub fn merge_schema(&self) -> &Struct {
        match &self.custom {
            Some(custom) => custom.merge_schema(),
            None => &self.schema,
        }
    }

    /// The indexed fields, as positions among the selectable ones: the same in all versions.
    pub fn indexed_fields(&self) -> Vec<usize> {
        self.selectable.iter().enumerate().filter(|(_, field)| field.indexed).map(|(at, _)| at).collect()
    }

    /// The version that is stored and not served, by its `apiVersion`.
    pub fn unserved(&self, api_version: &str) -> Option<&Unserved> {
        self.unserved.iter().find(|version| version.names.is_api_version(api_version))
    }

    /// The schema of the storage version, or the resource's own when it is not stored.
    pub fn stored_schema(&self) -> &Struct {
        self.storage.as_ref().map_or(&self.schema, |storage| &storage.schema)
    }

    /// How objects are kept that are in their own version and stored nowhere.
    pub fn own_form(&self) -> Storage {
        Storage {
            prefix: Str::default(),
            api_version: self.api_version().into(),
            kind: self.kind.clone(),
            schema: self.schema.clone(),
            json: false,
            conversion: None,
            default_after_conversion: false,
            kept_as: None,
        }
    }

    /// As in `apiVersion`.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.to_string() } else { format!("{}/{}", self.group, self.version) }
    }

    /// `pods`, `deployments.apps`: how messages name the resource.
    pub fn qualified(&self) -> String {
        if self.group.is_empty() { self.plural.to_string() } else { format!("{}.{}", self.plural, self.group) }
    }

    pub fn subresource(&self, name: &str) -> Option<&Subresource> {
        self.subresources.iter().find(|subresource| subresource.name == name)
    }
}
