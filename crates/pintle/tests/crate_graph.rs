//! The dependency graphs of the workspace's crates and of the modules of each. Guarantees that no inner ring depends on
//! an outer one, that no crate of a generic API server knows a built-in kind, and that there is no circle of modules.
//! Must never look at dev-dependencies and modules of tests: those are unrestricted.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::read_to_string;
use std::path::Path;

/// From the innermost to the outermost: a crate depends on its own ring and those before it.
const RINGS: [&str; 5] = ["core", "store", "apiserver", "kubernetes", "server"];

/// The crates of an API server without built-in kinds.
const GENERIC: [(&str, &str); 7] = [
    ("apiserver", "auth"),
    ("apiserver", "discovery"),
    ("apiserver", "endpoints"),
    ("apiserver", "proxy"),
    ("apiserver", "registry"),
    ("server", "http"),
    ("server", "server"),
];

/// The crates in which modules still use each other. A crate that has been untied is taken off; none is added.
const WITH_CIRCLES: &[&str] = &[
    "apiserver/registry",
    "apiserver/resource",
    "core/cel",
    "core/codec",
    "core/schema",
    "core/validation",
    "kubernetes/aggregation",
    "kubernetes/plugins",
    "kubernetes/quota",
    "pintle-cli",
    "store/cache",
    "store/encryption",
    "store/etcd",
    "store/storage",
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

/// The modules of a crate, by their paths; the root is the empty path. Modules of tests are left out.
type Sources = BTreeMap<Vec<String>, String>;

/// Whether a module is built for tests only.
fn is_of_tests(name: &str) -> bool {
    name == "tests" || name.ends_with("_tests")
}

/// Reads the files of a crate.
fn sources(folder: &Path, module: &[String], found: &mut Sources) {
    for entry in folder.read_dir().expect("a folder of sources") {
        let path = entry.expect("an entry").path();
        let stem = path.file_stem().expect("a name").to_string_lossy().into_owned();
        if is_of_tests(&stem) || stem == "bin" {
            continue;
        }
        let inner: Vec<String> = module.iter().cloned().chain([stem.clone()]).collect();
        if path.is_dir() {
            sources(&path, &inner, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = read_to_string(&path).expect("a source");
            let own = if matches!(stem.as_str(), "mod" | "lib" | "main") { module.to_vec() } else { inner };
            found.entry(own).or_default().push_str(&code(&text));
        }
    }
}

/// A source without comments and without its modules of tests.
fn code(text: &str) -> String {
    let mut code = String::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if line == "#[cfg(test)]" && lines.peek().is_some_and(|next| next.starts_with("mod ") && next.ends_with('{')) {
            while lines.next().is_some_and(|line| line != "}") {}
            continue;
        }
        code.push_str(line.split("//").next().unwrap_or_default());
        code.push('\n');
    }
    code
}

/// The next word of a text, or the next other character, and the rest.
fn token(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start();
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let end = match text.chars().next()? {
        c if is_word(c) => text.find(|c| !is_word(c)).unwrap_or(text.len()),
        ':' if text.starts_with("::") => 2,
        c => c.len_utf8(),
    };
    Some(text.split_at(end))
}

/// Reads the paths of a tree, as that of a `use`, with what they are called (`as` is the name); returns what follows.
fn paths<'t>(mut text: &'t str, before: &[&'t str], found: &mut Vec<(Vec<&'t str>, &'t str)>) -> &'t str {
    let mut path = before.to_vec();
    loop {
        match token(text) {
            Some(("{", mut rest)) => loop {
                rest = paths(rest, &path, found);
                match token(rest) {
                    Some((",", after)) => rest = after,
                    Some((_, after)) => return after,
                    None => return rest,
                }
            },
            Some((segment, rest)) if segment.starts_with(|c: char| c.is_alphabetic() || c == '_' || c == '*') => {
                path.push(segment);
                text = rest;
                match token(text) {
                    Some(("::", rest)) => text = rest,
                    Some(("as", rest)) => {
                        let (name, rest) = token(rest).unwrap_or_default();
                        found.push((path, name));
                        return rest;
                    }
                    _ => break,
                }
            }
            _ => return text,
        }
    }
    let name = path.iter().rfind(|segment| **segment != "self").copied().unwrap_or_default();
    found.push((path, name));
    text
}

/// The paths from a word on.
fn paths_after<'t>(text: &'t str, first: &'t str) -> Vec<(Vec<&'t str>, &'t str)> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices(first) {
        let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '$' || c == ':';
        if !text[..at].ends_with(is_word) {
            paths(&text[at..], &[], &mut found);
        }
    }
    found
}

/// The modules of one crate, and what each imports under which name.
struct Modules {
    sources: Sources,
    imports: BTreeMap<Vec<String>, BTreeMap<String, Vec<String>>>,
}

impl Modules {
    fn of(source: &Path) -> Modules {
        let mut modules = Modules { sources: Sources::new(), imports: BTreeMap::new() };
        sources(source, &[], &mut modules.sources);
        for (module, text) in &modules.sources {
            let used = text.match_indices("use ").flat_map(|(at, word)| {
                let mut found = Vec::new();
                paths(&text[at + word.len()..], &[], &mut found);
                found
            });
            let imports = used.filter_map(|(path, name)| Some((name.to_owned(), modules.absolute(module, &path)?)));
            let imports = imports.collect();
            modules.imports.insert(module.clone(), imports);
        }
        modules
    }

    /// A path from the root; `None` for those of other crates.
    fn absolute(&self, module: &[String], path: &[&str]) -> Option<Vec<String>> {
        let (first, mut rest) = path.split_first()?;
        let mut from = if *first == "crate" { Vec::new() } else { module.to_vec() };
        match *first {
            "crate" | "self" => {}
            "super" => drop(from.pop()),
            child => {
                from.push(child.to_owned());
                self.sources.contains_key(&from).then_some(())?;
            }
        }
        while let Some((&"super", after)) = rest.split_first() {
            from.pop();
            rest = after;
        }
        from.extend(rest.iter().filter(|segment| **segment != "self").map(|segment| (*segment).to_owned()));
        Some(from)
    }

    /// The module that has what a path names, through re-exports.
    fn owner(&self, path: &[String], depth: usize) -> Vec<String> {
        for length in (0..=path.len()).rev() {
            let (module, rest) = path.split_at(length);
            if !self.sources.contains_key(module) {
                continue;
            }
            let imported = rest.first().and_then(|name| self.imports.get(module)?.get(name));
            return match imported {
                Some(imported) if depth < 8 && imported != path => self.owner(imported, depth + 1),
                _ => module.to_vec(),
            };
        }
        Vec::new()
    }

    /// The modules that each uses. What a module uses of those in its folder is not counted, nor what the root
    /// declares.
    fn uses(&self) -> BTreeMap<String, BTreeSet<String>> {
        let mut graph = BTreeMap::new();
        for (module, text) in &self.sources {
            let named = ["crate::", "super::", "self::"].into_iter().flat_map(|first| paths_after(text, first));
            let owners = named.filter_map(|(path, _)| Some(self.owner(&self.absolute(module, &path)?, 0)));
            let others = owners.filter(|owner| !owner.is_empty() && !owner.starts_with(module));
            let others = others.map(|owner| owner.join("/")).collect();
            graph.insert(module.join("/"), others);
        }
        graph
    }
}

/// The sets of modules that use each other, directly or through others.
fn circles(graph: &BTreeMap<String, BTreeSet<String>>) -> Vec<BTreeSet<String>> {
    let reached = |from: &String| {
        let (mut reached, mut open) = (BTreeSet::new(), vec![from.clone()]);
        while let Some(module) = open.pop() {
            for other in graph.get(&module).into_iter().flatten() {
                if reached.insert(other.clone()) {
                    open.push(other.clone());
                }
            }
        }
        reached
    };
    let all: BTreeMap<&String, BTreeSet<String>> = graph.keys().map(|module| (module, reached(module))).collect();
    let mut found = Vec::new();
    for (module, reached) in &all {
        let circle: BTreeSet<String> =
            reached.iter().filter(|other| all.get(other).is_some_and(|back| back.contains(*module))).cloned().collect();
        if circle.len() > 1 && !found.contains(&circle) {
            found.push(circle);
        }
    }
    found
}

#[test]
fn no_modules_of_a_crate_use_each_other() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folders = |path: &str| -> Vec<String> {
        let entries = root.join("crates").join(path).read_dir().expect("a folder of crates");
        entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect()
    };
    let of_ring = |ring: &str| folders(ring).into_iter().map(move |name| format!("{ring}/{name}")).collect::<Vec<_>>();
    let mut crates: Vec<String> = RINGS.into_iter().flat_map(of_ring).chain(folders("")).collect();
    crates.retain(|name| root.join("crates").join(name).join("src").is_dir());
    crates.sort();
    assert!(crates.len() > 40, "only {} crates were found", crates.len());
    let mut with_circles = BTreeSet::new();
    let mut report = String::new();
    for name in &crates {
        for circle in circles(&Modules::of(&root.join("crates").join(name).join("src")).uses()) {
            with_circles.insert(name.as_str());
            if !WITH_CIRCLES.contains(&name.as_str()) {
                report.push_str(&format!("\n{name}: {}", circle.into_iter().collect::<Vec<_>>().join(", ")));
            }
        }
    }
    assert!(report.is_empty(), "modules use each other:{report}");
    let untied: Vec<_> = WITH_CIRCLES.iter().filter(|name| !with_circles.contains(*name)).collect();
    assert!(untied.is_empty(), "{untied:?} have no circles any more: take them off the list");
}

/// The layers of modules that the documentation of a crate lists, from the first.
fn documented_layers(text: &str, heading: &str) -> Vec<Vec<String>> {
    let block = text.split(heading).nth(1).and_then(|rest| rest.split("```").nth(1)).unwrap_or_default();
    let names = |line: &str| line.split_once("  ").map_or("", |(_, names)| names).to_owned();
    let layers = block.lines().map(names).filter(|names| !names.is_empty());
    layers.map(|names| names.split(", ").map(str::to_owned).collect()).collect()
}

#[test]
fn modules_of_endpoints_are_in_the_layers_of_the_architecture() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = read_to_string(root.join("ARCHITECTURE.md")).expect("the architecture");
    let layers = documented_layers(&text, "**Modules of endpoints.**");
    let layer = |module: &str| {
        let top = module.split('/').next().unwrap_or_default();
        layers.iter().position(|layer| layer.iter().any(|name| name == top))
    };
    let mut wrong = BTreeSet::new();
    for (module, others) in Modules::of(&root.join("crates/apiserver/endpoints/src")).uses() {
        if module.is_empty() {
            continue;
        }
        let Some(own) = layer(&module) else {
            wrong.insert(format!("{module} is in no layer"));
            continue;
        };
        let later = others.iter().filter(|other| layer(other).is_some_and(|layer| layer > own));
        wrong.extend(later.map(|other| format!("{module} uses {other}")));
    }
    assert_eq!(wrong, BTreeSet::new());
    assert!(layers.len() > 3, "{layers:?}");
}

#[test]
fn circles_are_found_through_groups_and_re_exports() {
    let folder = std::env::temp_dir().join(format!("pintle-circles-{}", std::process::id()));
    let write = |path: &str, text: &str| {
        let path = folder.join(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        std::fs::write(path, text).expect("written");
    };
    write("lib.rs", "mod a;\nmod b;\nmod c;\nmod d;\npub use b::inner::Thing;\n");
    write("a.rs", "use crate::{\n    Thing,\n    c::{self, Other as Another},\n};\n// use crate::d;\n");
    write("b.rs", "mod inner;\nmod outer;\npub use outer::Outer;\nfn f() { inner::f() }\n");
    write("b/inner.rs", "use super::Outer;\npub struct Thing;\n");
    write("b/outer.rs", "pub struct Outer;\nfn f() -> crate::a::A { todo!() }\n");
    write("c.rs", "pub struct Other;\n#[cfg(test)]\nmod tests {\n    use crate::a::A;\n}\n");
    write("d/mod.rs", "pub use std::fmt;\nuse super::c;\n");
    write("d/tests.rs", "use crate::a::A;\n");
    let found = circles(&Modules::of(&folder).uses());
    std::fs::remove_dir_all(&folder).expect("removed");
    let expected: BTreeSet<String> = ["a", "b/inner", "b/outer"].map(str::to_owned).into();
    assert_eq!(found, [expected]);
}
