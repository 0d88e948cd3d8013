//! Tables: the columns and cells of the built-in kinds, as kube-apiserver prints them.
//!
//! Cells are read from an object in its storage version. HorizontalPodAutoscaler and Event have other shapes in other
//! versions, so their objects are converted first. Printing never fails; absent values print as absent.

pub(crate) mod cells;
#[cfg(test)]
mod tests;

use pintle_resource::{CREATION_DESCRIPTION, NAME_DESCRIPTION, Now, Printer, Unprinted};
use pintle_schema::{ApiType, Str, Value};
use pintle_types::core::v1::{Container, PodSpec};
use pintle_types::meta::v1::ObjectMeta;
use std::sync::Arc;

/// The printer that a table of columns makes.
pub(crate) fn printer(table: &'static Table) -> Arc<dyn Printer> {
    Arc::new(table)
}

/// Fields that no printer looks at.
pub fn unprinted() -> Vec<Unprinted> {
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

/// A column, as `pintle_resource::Column` has it.
#[derive(Clone, Copy)]
pub struct Column {
    pub(crate) name: &'static str,
    pub(crate) ty: &'static str,
    pub(crate) format: &'static str,
    pub(crate) description: &'static str,
    pub(crate) priority: i32,
}

/// The columns of a built-in kind.
pub struct Table {
    pub(crate) columns: &'static [Column],
    pub(crate) cells: fn(&Value, &Now) -> Vec<Value>,
    pub(crate) conditions: Option<fn(&Value) -> Vec<Value>>,
}

impl Printer for &'static Table {
    fn columns(&self) -> Vec<pintle_resource::Column> {
        let column = |column: &Column| pintle_resource::Column {
            name: Str::new_static(column.name),
            ty: Str::new_static(column.ty),
            format: Str::new_static(column.format),
            description: Str::new_static(column.description),
            priority: column.priority,
        };
        self.columns.iter().map(column).collect()
    }

    fn cells(&self, object: &Value, now: &Now) -> Vec<Value> {
        (self.cells)(object, now)
    }

    fn conditions(&self, object: &Value) -> Option<Vec<Value>> {
        self.conditions.map(|conditions| conditions(object))
    }

    fn unprinted(&self) -> Vec<Unprinted> {
        unprinted()
    }
}

pub(crate) const fn column(name: &'static str, ty: &'static str, description: &'static str) -> Column {
    Column { name, ty, format: "", description, priority: 0 }
}

pub(crate) const fn string(name: &'static str, description: &'static str) -> Column {
    column(name, "string", description)
}

pub(crate) const fn integer(name: &'static str, description: &'static str) -> Column {
    column(name, "integer", description)
}

pub(crate) const fn boolean(name: &'static str, description: &'static str) -> Column {
    column(name, "boolean", description)
}

/// A column of text that only wide output shows.
pub(crate) const fn wide(name: &'static str, description: &'static str) -> Column {
    Column { priority: 1, ..string(name, description) }
}

pub(crate) const NAME: Column = Column { format: "name", ..string("Name", NAME_DESCRIPTION) };
pub(crate) const AGE: Column = string("Age", CREATION_DESCRIPTION);
pub(crate) const CONTAINERS: Column = wide("Containers", "Names of the containers in the template.");
pub(crate) const IMAGES: Column = wide("Images", "Images of the containers in the template.");
pub(crate) const SELECTOR: Column = wide("Selector", "Labels of the objects that are selected.");

/// Declares the tables of a group's kinds: a line for each column, with the expression that makes its cell.
macro_rules! printers {
    ($(
        $name:ident: $kind:ident |$object:ident, $now:ident| { $($column:expr => $cell:expr,)* } $([conditions $conditions:path])?
    )*) => {
        $(pub static $name: $crate::printing::Table = $crate::printing::Table {
            columns: &[$($column),*],
            cells: |object, now| {
                let ($object, $now) = (::pintle_schema::View::<$kind>::new(object), now);
                // Not every kind shows a time.
                let _ = $now;
                vec![$($cell),*]
            },
            conditions: $crate::printing::printers!(@conditions $($conditions)?),
        };)*
    };
    (@conditions) => { None };
    (@conditions $conditions:path) => { Some($conditions) };
}
pub(crate) use printers;
