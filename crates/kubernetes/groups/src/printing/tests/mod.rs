//! Rows of objects and the cells they print as, and the columns of all kinds against the recorded ones.
//!
//! The recorded columns lie beside the repository; where they do not, only the rows are tested.

mod network;
mod others;
mod pods;
mod workloads;

use super::{Now, printer};
use pintle_codec::json;
use pintle_schema::{Value, value};

/// 2001-09-09T01:46:40Z.
const NOW: Now = Now::At(1_000_000_000);
const MINUTE_AGO: &str = "2001-09-09T01:45:40Z";
const HOUR_AGO: &str = "2001-09-09T00:46:40Z";

/// The cells of an object at some columns.
fn check(group: &str, kind: &str, object: Value, expected: &[(&str, Value)]) {
    let printer = printer(group, kind);
    let cells = (printer.cells)(&object, &NOW);
    for (name, cell) in expected {
        let at = printer.columns.iter().position(|column| column.name == *name);
        let found = at.and_then(|at| cells.get(at));
        assert_eq!(found, Some(cell), "{name} of {kind} {}", json::to_string(&object));
    }
}

/// All cells of an object.
fn check_row(group: &str, kind: &str, object: Value, expected: Value) {
    let cells = Value::List((printer(group, kind).cells)(&object, &NOW));
    assert_eq!(cells, expected, "{kind} {}", json::to_string(&object));
}

fn v(text: &str) -> Value {
    text.into()
}

/// The API group of a package of the reference.
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
    let mut compared = 0;
    for kind in kinds {
        let name = kind.str_at(&["kind"]);
        // Custom resources bring their own columns.
        if name == "custom resource" {
            continue;
        }
        let printer = printer(group_of(kind.str_at(&["package"])), name);
        let ours: Vec<_> = printer
            .columns
            .iter()
            .map(|column| (column.name, column.ty, column.format, i64::from(column.priority)))
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
        compared += 1;
    }
    let printers = super::TABLES.iter().map(|table| table.len()).sum::<usize>();
    assert_eq!(compared, printers + 1, "every printer is recorded, and the default");
}

#[test]
fn every_cell_has_a_column() {
    for entry in super::TABLES.iter().flat_map(|table| table.iter()) {
        let cells = (entry.printer.cells)(&value!({}), &NOW).len();
        let extra = usize::from(entry.kind == "IPAddress");
        assert_eq!(cells, entry.printer.columns.len() + extra, "{}", entry.kind);
        let described = entry.printer.columns.iter().all(|column| column.description.ends_with('.'));
        assert!(described, "{}", entry.kind);
    }
}
