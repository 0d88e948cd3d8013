//! The share of rules that tags say, group by group: it only rises.
//! Guarantees that what is counted as handwritten is every place where a rule of the group reports an error.
//! `cargo test -p pintle-groups --test share -- --nocapture` prints the table.

use pintle_groups::share::by_group;
use std::fs;
use std::path::Path;

/// The least share of each group, in percent.
const FLOORS: &[(&str, usize)] = &[
    ("apps", 80),
    ("batch", 67),
    ("coordination", 70),
    ("core", 71),
    ("discovery", 85),
    ("networking", 75),
    ("policy", 95),
    ("rbac", 90),
];

/// The ways in which a rule reports an error.
const REPORTS: &[&str] = &[
    "duplicate(",
    "forbidden(",
    "immutable(",
    "invalid(",
    "invalid_each(",
    "not_found(",
    "not_supported(",
    "push(",
    "required(",
    "too_long(",
    "too_many(",
];

/// How many places in the sources below a folder report an error; tests do not count.
fn reports(folder: &Path) -> usize {
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok).map(|entry| entry.path());
    entries
        .map(|path| match path.extension().is_some_and(|extension| extension == "rs") {
            _ if path.is_dir() => reports(&path),
            true if !path.ends_with("tests.rs") => {
                let text = fs::read_to_string(&path).unwrap_or_default();
                let code = text.split("#[cfg(test)]").next().unwrap_or_default();
                REPORTS.iter().map(|report| code.matches(&format!("errors.{report}")).count()).sum()
            }
            _ => 0,
        })
        .sum()
}

#[test]
fn tags_say_most() {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let groups = by_group(pintle_groups::all().map(|resource| resource.stored_schema()));
    println!("{:<20} {:>5} {:>10} {:>12} {:>6}", "group", "tags", "functions", "handwritten", "share");
    for (name, share) in &groups {
        let handwritten = reports(&sources.join(name).join("rules"));
        let percent = share.tags * 100 / (share.tags + handwritten).max(1);
        println!("{name:<20} {:>5} {:>10} {handwritten:>12} {percent:>5}%", share.tags, share.functions);
        if let Some((_, floor)) = FLOORS.iter().find(|(floored, _)| floored == name) {
            assert!(percent >= *floor, "{name}: {percent}% of {floor}%");
        }
    }
    assert!(FLOORS.iter().all(|(name, _)| groups.contains_key(*name)), "a group is gone");
}
