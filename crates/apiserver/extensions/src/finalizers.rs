//! The warning about finalizers of custom resources that have no domain.
//!
//! Built-in kinds refuse such finalizers; custom resources keep them, and must never be refused for them.

use pintle_resource::Written;
use pintle_schema::Value;
use pintle_validation::metadata::is_qualified_finalizer;
use std::collections::BTreeSet;

/// Warns of each finalizer without a domain that a write adds.
pub fn warn(written: &Written<'_>, warnings: &mut Vec<String>) {
    // Writes of subresources do not change finalizers.
    if !written.subresource.is_empty() {
        return;
    }
    let old = written.old.map(finalizers).unwrap_or_default();
    for name in finalizers(written.object).difference(&old).filter(|name| !is_qualified_finalizer(name)) {
        let path = if name.contains('.') { " including a path (/)" } else { "" };
        warnings.push(format!(
            "metadata.finalizers: {name:?}: prefer a domain-qualified finalizer name{path} to avoid accidental conflicts \
             with other finalizer writers"
        ));
    }
}

fn finalizers(object: &Value) -> BTreeSet<&str> {
    let list = object.at(&["metadata", "finalizers"]).and_then(Value::as_list).unwrap_or(&[]);
    list.iter().filter_map(Value::as_str).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_schema::gates::NO_GATES;
    use pintle_schema::value;

    #[test]
    fn added_finalizers_without_a_domain_are_warned_of() {
        let warning = |name: &str, path: &str| {
            format!(
                "metadata.finalizers: \"{name}\": prefer a domain-qualified finalizer name{path} to avoid accidental \
                 conflicts with other finalizer writers"
            )
        };
        let domain = " including a path (/)";
        let rows = [
            (value!(["b.example.com", "a"]), None, "", vec![warning("a", ""), warning("b.example.com", domain)]),
            (value!(["example.com/a", "orphan", "foregroundDeletion", "kubernetes"]), None, "", vec![]),
            (value!(["a", "b"]), Some(value!(["b"])), "", vec![warning("a", "")]),
            (value!(["a"]), Some(value!(["a"])), "", vec![]),
            (value!(["a"]), Some(value!([])), "status", vec![]),
        ];
        for (new, old, subresource, expected) in rows {
            let object = |names: &Value| value!({"metadata": {"finalizers": (names.clone())}});
            let (new, old) = (object(&new), old.as_ref().map(object));
            let mut warnings = Vec::new();
            let written = Written { object: &new, old: old.as_ref(), subresource, gates: &NO_GATES };
            warn(&written, &mut warnings);
            assert_eq!(warnings, expected, "{new:?}");
        }
    }
}
