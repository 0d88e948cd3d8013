//! Tables: the columns and cells that the server prints for every built-in kind, as the reference prints them.
//!
//! Cells read an object in its storage version: only HorizontalPodAutoscaler and Event look different in another
//! version, so only their objects have to be converted first. Printing never fails; what is absent prints as such.

mod admissionregistration;
mod apiregistration;
mod apiserverinternal;
mod apps;
mod autoscaling;
mod batch;
mod cells;
mod certificates;
mod coordination;
mod core;
mod discovery;
mod event;
mod flowcontrol;
mod meta;
mod network;
mod networking;
mod node;
mod pod;
mod policy;
mod rbac;
mod resource;
mod scheduling;
mod storage;
mod storagemigration;
#[cfg(test)]
mod tests;
mod volume;

use pintle_schema::duration::human_duration;
use pintle_schema::{ApiType, Struct, Value};
use pintle_types::core::v1::{Container, PodSpec};
use pintle_types::meta::v1::ObjectMeta;

/// What a table says about one of its columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    pub name: &'static str,
    /// The OpenAPI type that the cells are said to have; some kinds print others, as the reference does.
    pub ty: &'static str,
    /// `name` marks the column that names the object.
    pub format: &'static str,
    pub description: &'static str,
    /// 0 is always shown, 1 only in wide output. The server fills in every column.
    pub priority: i32,
}

/// How objects of a kind become rows.
pub struct Printer {
    pub columns: &'static [Column],
    /// The cells of an object in its storage version, in the order of the columns.
    pub cells: fn(&Value, &Now) -> Vec<Value>,
    /// What is remarked on a row, as `TableRowCondition`s.
    pub conditions: Option<fn(&Value) -> Vec<Value>>,
}

/// When a table is shown: what ages are reckoned from.
#[derive(Clone, Copy, Debug)]
pub enum Now {
    /// At a time, in seconds since 1970.
    At(i64),
    /// Later, and maybe more than once: an age is left open, as the seconds of its beginning between two
    /// [`OPEN_AGE`]s.
    Open,
}

/// A character that Unicode assigns to nothing and that no text is meant to hold. In cells of an object that holds it
/// all the same, open ages cannot be told from its own text.
pub const OPEN_AGE: char = '\u{FDD0}';

impl Now {
    /// How long ago a time was.
    pub fn since(&self, seconds: i64) -> String {
        match self {
            Now::At(now) => human_duration(now.saturating_sub(seconds)),
            Now::Open => format!("{OPEN_AGE}{seconds}{OPEN_AGE}"),
        }
    }
}

/// The printer of a kind; a kind without its own shows name and time of creation.
pub fn printer(group: &str, kind: &str) -> &'static Printer {
    // The events of both groups are stored alike.
    let group = if (group, kind) == ("events.k8s.io", "Event") { "" } else { group };
    let entries = TABLES.iter().flat_map(|table| table.iter());
    entries
        .filter(|entry| entry.group == group && entry.kind == kind)
        .map(|entry| &entry.printer)
        .next()
        .unwrap_or(&DEFAULT)
}

/// Annotations that stand for fields of the reference's own form of a kind, so that neither tables nor metadata alone
/// show them: they come from that form.
pub fn hidden_annotations(group: &str, kind: &str) -> &'static [&'static str] {
    match (group, kind) {
        ("apps", "DaemonSet") => &["deprecated.daemonset.template.generation"],
        ("apps", "Deployment") => &["deprecated.deployment.rollback.to"],
        _ => &[],
    }
}

/// Fields that no printer looks at, so that objects need not be decoded whole to be printed.
pub fn unprinted() -> Vec<(&'static Struct, &'static str)> {
    let pod = PodSpec::schema();
    let container = Container::schema();
    let metadata = ObjectMeta::schema();
    vec![
        (metadata, ObjectMeta::MANAGED_FIELDS.name()),
        (pod, PodSpec::VOLUMES.name()),
        (pod, PodSpec::AFFINITY.name()),
        (pod, PodSpec::TOLERATIONS.name()),
        (pod, PodSpec::SECURITY_CONTEXT.name()),
        (pod, PodSpec::TOPOLOGY_SPREAD_CONSTRAINTS.name()),
        (container, Container::ENV.name()),
        (container, Container::ENV_FROM.name()),
        (container, Container::COMMAND.name()),
        (container, Container::ARGS.name()),
        (container, Container::PORTS.name()),
        (container, Container::RESOURCES.name()),
        (container, Container::VOLUME_MOUNTS.name()),
        (container, Container::LIVENESS_PROBE.name()),
        (container, Container::READINESS_PROBE.name()),
        (container, Container::STARTUP_PROBE.name()),
        (container, Container::LIFECYCLE.name()),
        (container, Container::SECURITY_CONTEXT.name()),
    ]
}

static TABLES: &[&[Entry]] = &[
    pod::PRINTERS,
    core::PRINTERS,
    network::PRINTERS,
    node::CORE_PRINTERS,
    volume::PRINTERS,
    event::PRINTERS,
    meta::PRINTERS,
    apps::PRINTERS,
    batch::PRINTERS,
    autoscaling::PRINTERS,
    policy::PRINTERS,
    networking::PRINTERS,
    networking::IP_ADDRESS_PRINTER,
    discovery::PRINTERS,
    rbac::PRINTERS,
    storage::PRINTERS,
    certificates::PRINTERS,
    coordination::PRINTERS,
    scheduling::PRINTERS,
    node::PRINTERS,
    admissionregistration::PRINTERS,
    flowcontrol::PRINTERS,
    resource::PRINTERS,
    apiregistration::PRINTERS,
    apiserverinternal::PRINTERS,
    storagemigration::PRINTERS,
];

static DEFAULT: Printer = Printer { columns: meta::DEFAULT_COLUMNS, cells: meta::default_cells, conditions: None };

struct Entry {
    group: &'static str,
    kind: &'static str,
    printer: Printer,
}

const fn column(name: &'static str, ty: &'static str, description: &'static str) -> Column {
    Column { name, ty, format: "", description, priority: 0 }
}

const fn string(name: &'static str, description: &'static str) -> Column {
    column(name, "string", description)
}

const fn integer(name: &'static str, description: &'static str) -> Column {
    column(name, "integer", description)
}

const fn boolean(name: &'static str, description: &'static str) -> Column {
    column(name, "boolean", description)
}

/// A column of text that only wide output shows.
const fn wide(name: &'static str, description: &'static str) -> Column {
    Column { priority: 1, ..string(name, description) }
}

const NAME: Column =
    Column { format: "name", ..string("Name", "Name of the object, unique among its kind and namespace.") };
const AGE: Column = string("Age", "How long ago the object was created.");
const CONTAINERS: Column = wide("Containers", "Names of the containers in the template.");
const IMAGES: Column = wide("Images", "Images of the containers in the template.");
const SELECTOR: Column = wide("Selector", "Labels of the objects that are selected.");

/// Declares the printers of a group's kinds: a line for each column, with the expression that makes its cell.
///
/// The kind is the name of the type that the objects are read as.
macro_rules! printers {
    ($group:literal; $(
        $kind:ident |$object:ident, $now:ident| { $($column:expr => $cell:expr,)* } $([conditions $conditions:path])?
    )*) => {
        &[$($crate::columns::Entry {
            group: $group,
            kind: stringify!($kind),
            printer: $crate::columns::Printer {
                columns: &[$($column),*],
                cells: |object, now| {
                    let ($object, $now) = (::pintle_schema::View::<$kind>::new(object), now);
                    // Not every kind shows a time.
                    let _ = $now;
                    vec![$($cell),*]
                },
                conditions: $crate::columns::printers!(@conditions $($conditions)?),
            },
        }),*]
    };
    (@conditions) => { None };
    (@conditions $conditions:path) => { Some($conditions) };
}
use printers;
