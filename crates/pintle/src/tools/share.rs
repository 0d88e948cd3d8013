//! `pintle rules --share`: how much of each group's validation is said by tags, as a table.

use pintle_api_validation::share::{Share, by_group};
use std::fmt::Write;

/// The shares of all groups, and their sum.
pub fn table() -> String {
    let mut text = format!("{:<24} {:>6} {:>10}\n", "GROUP", "TAGS", "FUNCTIONS");
    let mut row =
        |name: &str, share: &Share| _ = writeln!(text, "{name:<24} {:>6} {:>10}", share.tags, share.functions);
    let mut all = Share::default();
    for (name, share) in by_group(pintle_kinds::all().map(|resource| resource.stored_schema())) {
        row(&name, &share);
        all = Share { tags: all.tags + share.tags, functions: all.functions + share.functions };
    }
    row("all", &all);
    text
}
