//! The dependency graph of the workspace's crates. Guarantees that no inner ring depends on an outer one, and that no crate of
//! a generic API server knows a built-in kind. Must never look at dev-dependencies: those are unrestricted.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::read_to_string;
use std::path::Path;

/// From the innermost to the outermost: a crate depends on its own ring and those before it.
const RINGS: [&str; 5] = ["core", "store", "apiserver", "kubernetes", "server"];

/// The crates of an API server without built-in kinds.
const GENERIC: [(&str, &str); 5] = [
    ("apiserver", "auth"),
    ("apiserver", "discovery"),
    ("apiserver", "endpoints"),
    ("apiserver", "registry"),
    ("server", "http"),
];

type Graph = BTreeMap<(String, String), BTreeSet<(String, String)>>;

/// Ring and name of each crate of the workspace, by its package.
fn packages(root: &Path) -> BTreeMap<String, (String, String)> {
    let manifest = read_to_string(root.join("Cargo.toml")).expect("the workspace");
    let paths = manifest.lines().filter_map(|line| {
        let (package, rest) = line.split_once(" = { path = \"crates/")?;
        let (ring, name) = rest.split_once('"')?.0.split_once('/')?;
        Some((package.to_owned(), (ring.to_owned(), name.to_owned())))
    });
    paths.collect()
}

/// The crates that each crate is built from, by ring and name.
fn graph() -> Graph {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let packages = packages(&root);
    let mut graph = Graph::new();
    for ring in RINGS {
        for entry in root.join("crates").join(ring).read_dir().expect("a ring") {
            let directory = entry.expect("an entry").path();
            let Ok(manifest) = read_to_string(directory.join("Cargo.toml")) else { continue };
            let dependencies = manifest.split("[dependencies]").nth(1).unwrap_or_default();
            let dependencies = dependencies.split("\n[").next().unwrap_or_default();
            assert!(!dependencies.contains("path = "), "{}: not of the workspace", directory.display());
            let names = dependencies.lines().filter_map(|line| line.split(['.', ' ']).next());
            let found = names.filter_map(|name| packages.get(name).cloned());
            let name = directory.file_name().expect("a name").to_string_lossy().into_owned();
            graph.insert((ring.to_owned(), name), found.collect());
        }
    }
    graph
}

#[test]
fn no_ring_depends_on_an_outer_one() {
    let graph = graph();
    assert!(graph.len() > 20, "only {} crates were found", graph.len());
    let place = |ring: &str| RINGS.iter().position(|known| *known == ring).unwrap_or_else(|| panic!("no ring {ring}"));
    let mut outward = BTreeSet::new();
    for ((ring, name), dependencies) in &graph {
        for (other, dependency) in dependencies {
            assert!(graph.contains_key(&(other.clone(), dependency.clone())), "{ring}/{name} -> {other}/{dependency}");
            if place(other) > place(ring) {
                outward.insert((name.as_str(), dependency.as_str()));
            }
        }
    }
    assert_eq!(outward, BTreeSet::new());
}

#[test]
fn a_generic_server_is_built_without_the_built_in_kinds() {
    let graph = graph();
    let mut open: Vec<_> = GENERIC.map(|(ring, name)| (ring.to_owned(), name.to_owned())).to_vec();
    let mut built_from = BTreeSet::new();
    while let Some(package) = open.pop() {
        let dependencies = graph.get(&package).unwrap_or_else(|| panic!("there is no crate {package:?}"));
        open.extend(dependencies.difference(&built_from).cloned());
        built_from.insert(package);
    }
    let kinds: Vec<_> = built_from.iter().filter(|(ring, _)| ring == "kubernetes").collect();
    assert!(kinds.is_empty(), "{kinds:?}");
    assert!(built_from.len() > 10, "{built_from:?}");
}
