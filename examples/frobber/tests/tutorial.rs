//! The tutorial's code: put together, it is this example, which has tests of its own.
//! Guarantees that a reader who types the tutorial has a server that works. Must never compare anything but code.

use std::collections::BTreeMap;
use std::fs::read_to_string;
use std::path::Path;

/// The tutorial's blocks by the files that they are parts of, without empty lines.
fn files_of(tutorial: &str) -> BTreeMap<String, Vec<String>> {
    let mut files: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut file = None;
    for line in tutorial.lines() {
        match (line.strip_prefix("```"), &file) {
            (Some(info), None) => file = Some(info.strip_prefix("rust,file=").unwrap_or_default().to_owned()),
            (Some(_), Some(_)) => file = None,
            (None, Some(name)) if !name.is_empty() && !line.is_empty() => {
                files.entry(name.clone()).or_default().push(line.to_owned());
            }
            _ => {}
        }
    }
    files
}

#[test]
fn the_tutorial_builds_this_example() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let files = files_of(&read_to_string(root.join("../../docs/tutorial.md")).expect("the tutorial"));
    let sources = root.join("src").read_dir().expect("the sources");
    let sources: Vec<_> = sources.map(|entry| entry.expect("an entry").file_name()).collect();
    assert_eq!(files.len(), sources.len(), "{:?} of {sources:?}", files.keys());
    for (name, blocks) in files {
        let source = read_to_string(root.join(&name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        let lines: Vec<_> = source.lines().filter(|line| !line.is_empty()).collect();
        assert_eq!(blocks, lines, "{name}");
    }
}
