//! Rows of objects and their cells, and the columns of all kinds, compared with recorded ones.
//!
//! Without the recorded columns, which are not in the repository, only the rows are tested.

mod network;
mod others;
mod pods;
mod workloads;

use crate::all;
use crate::tests::resource_of;
use pintle_codec::json;
use pintle_resource::{NameAndAge, Now, Printer};
use pintle_schema::{Value, value};
use std::collections::BTreeSet;
use std::sync::Arc;

/// 2001-09-09T01:46:40Z.
const NOW: Now = Now::At(1_000_000_000);
const MINUTE_AGO: &str = "2001-09-09T01:45:40Z";
const HOUR_AGO: &str = "2001-09-09T00:46:40Z";

/// The printer of a kind.
fn printer(group: &str, kind: &str) -> Arc<dyn Printer> {
    resource_of(group, kind).printer.clone()
}

/// The cells of an object at some columns.
fn check(group: &str, kind: &str, object: Value, expected: &[(&str, Value)]) {
    let printer = printer(group, kind);
    let (cells, columns) = (printer.cells(&object, &NOW), printer.columns());
    for (name, cell) in expected {
        let at = columns.iter().position(|column| column.name == *name);
        let found = at.and_then(|at| cells.get(at));
        assert_eq!(found, Some(cell), "{name} of {kind} {}", json::to_string(&object));
    }
}

/// All cells of an object.
fn check_row(group: &str, kind: &str, object: Value, expected: Value) {
    let cells = Value::List(printer(group, kind).cells(&object, &NOW));
    assert_eq!(cells, expected, "{kind} {}", json::to_string(&object));
}

fn v(text: &str) -> Value {
    text.into()
}

/// The API group of a package of kube-apiserver.
fn group_of(package: &str) -> &str {
    match package {
        "core" | "v1" => "",
        "rbac" => "rbac.authorization.k8s.io",
        "flowcontrol" => "flowcontrol.apiserver.k8s.io",
        "apiserverinternal" => "internal.apiserver.k8s.io",
        "" => "apiregistration.k8s.io",
        "admissionregistration" => "admissionregistration.k8s.io",
        "certificates" => "certificates.k8s.io",
        "coordination" => "coordination.k8s.io",
        "discovery" => "discovery.k8s.io",
        "networking" => "networking.k8s.io",
        "node" => "node.k8s.io",
        "resource" => "resource.k8s.io",
        "scheduling" => "scheduling.k8s.io",
        "storage" => "storage.k8s.io",
        "storagemigration" => "storagemigration.k8s.io",
        other => other,
    }
}

#[test]
fn columns_are_the_recorded_ones() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../../shared/facts/columns.json");
    let Ok(bytes) = std::fs::read(path) else {
        return;
    };
    let facts = json::parse(&bytes, pintle_codec::Strictness::Ignore).expect("the recorded columns are JSON").value;
    let kinds = facts.get("kinds").and_then(Value::as_list).expect("there are kinds");
    let mut compared = BTreeSet::new();
    for kind in kinds {
        let name = kind.str_at(&["kind"]);
        let printer = match name {
            // Custom resources bring their own columns, a Scale is printed by the generic server, and a Status by none.
            "custom resource" | "Scale" | "Status" => continue,
            "default" => Arc::new(NameAndAge),
            _ => printer(group_of(kind.str_at(&["package"])), name),
        };
        let columns = printer.columns();
        let ours: Vec<_> = columns
            .iter()
            .map(|column| (&*column.name, &*column.ty, &*column.format, i64::from(column.priority)))
            .collect();
        let recorded = kind.get("columns").and_then(Value::as_list).expect("a kind has columns");
        let recorded: Vec<_> = recorded
            .iter()
            .map(|column| {
                let priority = column.get("priority").and_then(Value::as_i64).unwrap_or(0);
                (column.str_at(&["name"]), column.str_at(&["type"]), column.str_at(&["format"]), priority)
            })
            .collect();
        assert_eq!(ours, recorded, "{name}");
        compared.insert(name.to_owned());
    }
    let default = NameAndAge.columns();
    for resource in all().filter(|resource| resource.printer.columns() != default) {
        assert!(compared.contains(&*resource.kind), "{} is not recorded", resource.kind);
    }
}

#[test]
fn every_cell_has_a_column() {
    for resource in all().filter(|resource| resource.storage.is_some()) {
        let (cells, columns) = (resource.printer.cells(&value!({}), &NOW).len(), resource.printer.columns());
        let extra = usize::from(resource.kind == "IPAddress");
        assert_eq!(cells, columns.len() + extra, "{}", resource.kind);
        assert!(columns.iter().all(|column| !column.description.is_empty()), "{}", resource.kind);
    }
}
