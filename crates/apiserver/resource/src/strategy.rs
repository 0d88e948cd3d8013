//! `Strategy`: the behaviour of create, update and delete for a resource beyond the general rules, as data.
//!
//! Common behaviour is a field here; behaviour of one kind is a function next to the kind. A function gets the new and the old
//! object as canonical values under the storage schema; it does no I/O and gets time and randomness only from the `Context`.

use pintle_schema::{Gate, Str, Value};

/// JSON field names from the object down.
pub type Path = &'static [&'static str];

/// How objects of a kind are created, updated and deleted, where kinds differ.
pub struct Strategy {
    pub name: NameRule,
    /// An update without resourceVersion is allowed.
    pub unconditional_update: bool,
    /// PUT creates a missing object.
    pub create_on_update: bool,
    pub garbage_collection: GarbageCollection,
    /// The warning of a delete without a propagation policy, where orphaning may surprise; "" for none.
    pub orphan_warning: &'static str,
    /// A delete that removes the object returns the object, not a Status.
    pub delete_answers_object: bool,
    /// OpenAPI declares a Status as the response to a delete all the same.
    pub delete_declares_status: bool,
    /// Objects that are not deleted by their names, and why; a delete of the collection takes them too.
    pub undeletable: (&'static [&'static str], &'static str),
    /// Whether the object counts generations: 1 on create, one more when one of the paths changes.
    pub generation: Option<&'static [Path]>,
    /// A change counts although it is of a field that is then dropped, as its gate is off.
    pub counts_dropped: bool,
    /// Whether an update counts as a change for a list or a map that was sent empty, which the stored form does not hold. Is
    /// given the tree of those that were.
    pub counts_empties: Option<fn(&Value) -> bool>,
    /// Emptied on create.
    pub create_clears: &'static [Path],
    /// Copied from the stored object on update.
    pub update_keeps: &'static [Path],
    /// Ownership of these is never tracked for writes to the main resource.
    pub reset_fields: &'static [Path],
    pub prepare_create: Option<fn(&mut Value, &mut Context)>,
    pub prepare_update: Option<fn(&mut Value, &Value, &mut Context)>,
    /// Run when an object is decoded from a request (mirrored fields, write-only fields), before defaulting.
    /// Doing it again changes nothing.
    pub normalize: Option<fn(&mut Value)>,
    /// Returns why a decoded object is malformed although its shape is right; rejected like malformed JSON.
    pub malformed: Option<fn(&Value) -> Option<String>>,
    /// Fills in fields that objects lack which servers of earlier releases stored, beside the defaults of the version. Doing it again
    /// changes nothing.
    pub complete_stored: Option<fn(&mut Value)>,
    /// Adds fields to served objects that are not stored.
    pub decorate: Option<fn(&mut Value)>,
    /// Returns the grace period in seconds for the one that a delete requests, if any; 0 removes the object at once. `None`
    /// for kinds without grace periods.
    pub grace_period: Option<fn(&Value, Option<i64>) -> i64>,
    /// Changes an object that is being deleted gracefully, besides its deletion time.
    pub begin_deletion: Option<fn(&mut Value)>,
    /// Whether something besides metadata.finalizers keeps a terminating object.
    pub holds: Option<fn(&Value) -> bool>,
    /// Objects of this kind are the namespaces that objects of namespaced kinds are in: nothing is created in one that is not
    /// there or that is being deleted. One kind of a server at most.
    pub is_namespace: bool,
}

/// The rules that hold for most kinds.
pub const GENERAL: Strategy = Strategy {
    name: NameRule::Subdomain,
    unconditional_update: true,
    create_on_update: false,
    garbage_collection: GarbageCollection::Background,
    orphan_warning: "",
    delete_answers_object: false,
    delete_declares_status: false,
    undeletable: (&[], ""),
    generation: None,
    counts_dropped: false,
    counts_empties: None,
    create_clears: &[],
    update_keeps: &[],
    reset_fields: &[],
    prepare_create: None,
    prepare_update: None,
    normalize: None,
    malformed: None,
    complete_stored: None,
    decorate: None,
    grace_period: None,
    begin_deletion: None,
    holds: None,
    is_namespace: false,
};

/// The usual paths of lists below.
pub const SPEC_PATHS: &[Path] = &[&["spec"]];
pub const STATUS_PATHS: &[Path] = &[&["status"]];

/// The rules that hold for most kinds with a status: the main resource does not write it.
pub const WITH_STATUS: Strategy =
    Strategy { create_clears: STATUS_PATHS, update_keeps: STATUS_PATHS, reset_fields: STATUS_PATHS, ..GENERAL };

/// A subresource that writes a part of the object.
pub struct Part {
    /// Copied from the stored object when this subresource is written; everything else comes from the request.
    pub keeps: &'static [Path],
    /// All metadata except managedFields and resourceVersion is copied from the stored object.
    pub keeps_metadata: bool,
    pub reset_fields: &'static [Path],
    /// Called on the new object after the kept fields were copied. Writes through a part change the generation only if this
    /// does.
    pub prepare: Option<fn(&mut Value, &Value, &mut Context)>,
    /// Whether the new object is validated. Objects that the server builds itself from another kind of request are not.
    pub validated: bool,
}

/// `status` of most kinds: the spec stays.
pub const STATUS: Part =
    Part { keeps: SPEC_PATHS, keeps_metadata: false, reset_fields: SPEC_PATHS, prepare: None, validated: true };

/// `status` of later kinds: what clients write of the metadata stays as well. The rest of the metadata is validated as it was sent,
/// and a prefix of a name is stored.
pub const STATUS_ALONE: Part = Part {
    keeps: &[
        &["spec"],
        &["metadata", "deletionTimestamp"],
        &["metadata", "generation"],
        &["metadata", "selfLink"],
        &["metadata", "labels"],
        &["metadata", "annotations"],
        &["metadata", "finalizers"],
        &["metadata", "ownerReferences"],
    ],
    reset_fields: &[&["metadata"], &["spec"]],
    ..STATUS
};

/// The environment of a strategy's functions.
pub struct Context<'a> {
    /// Seconds since 1970.
    pub now_unix: i64,
    pub user: &'a str,
    pub user_uid: &'a str,
    pub groups: &'a [Str],
    /// The user's other attributes.
    pub extra: &'a [(Str, Vec<Str>)],
    pub environment: &'a dyn StrategyEnvironment,
    /// Whether a new object was sent with labels; if not, those it has are defaults.
    pub sent_labels: bool,
    /// Texts for Warning headers.
    pub warnings: &'a mut Vec<String>,
}

/// Settings and randomness for the functions of strategies.
pub trait StrategyEnvironment {
    /// Whether a feature gate is on.
    fn enabled(&self, gate: &Gate) -> bool;

    /// A random UUID.
    fn new_uid(&self) -> String;
}

/// The rule for names of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameRule {
    Subdomain,
    Label,
    Label1035,
    PathSegment,
    ConfigMapKey,
    /// A subdomain whose limit messages state in bytes; a prefix is not checked, only the name that is generated from it.
    LongName,
    /// An IP address in its canonical form.
    Ip,
    /// One rule while a feature gate is on, another while it is off.
    Gated(&'static Gate, &'static NameRule, &'static NameRule),
    /// No rule here: the validation of the kind checks it.
    None,
}

/// The treatment of dependents when an owner is deleted without a propagation policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GarbageCollection {
    Background,
    Orphan,
    /// The kind takes no part.
    Unsupported,
}

/// Whether two canonical values mean the same: the order of keys does not count, and an empty list is an absent one.
pub fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Map(a), Value::Map(b)) => {
            let null = Value::Null;
            a.iter().all(|(key, value)| same(value, b.get(key).unwrap_or(&null)))
                && b.iter().all(|(key, value)| a.contains_key(key) || same(&null, value))
        }
        (Value::List(a), Value::List(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Null, Value::List(items)) | (Value::List(items), Value::Null) => items.is_empty(),
        (a, b) => a == b,
    }
}

/// Whether the values at a path are the same.
pub fn same_at(a: &Value, b: &Value, path: &[&str]) -> bool {
    let null = Value::Null;
    same(a.at(path).unwrap_or(&null), b.at(path).unwrap_or(&null))
}
