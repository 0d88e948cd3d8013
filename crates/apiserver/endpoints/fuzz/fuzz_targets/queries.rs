//! No path, query or `continue` token makes what reads them panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pintle_endpoints::query::{self, Query};
use pintle_endpoints::request::parse_path;
use pintle_registry::{RequestContext, list};
use std::sync::Arc;

fuzz_target!(|text: &str| {
    let _ = list::check_token(text);
    let _ = parse_path(text);
    let _ = query::decode(text);
    let query = Query::parse(text);
    let context = Arc::new(RequestContext::new("create", String::new()));
    let _ = query::list_options(&query, false, true);
    let _ = query::write_options(&query, "CreateOptions", context.clone());
    let _ = query::patch_options(&query, true, context.clone());
    let _ = query::delete_options(&query, true, context.clone());
    let _ = list::check_token(query.get("continue"));
});
