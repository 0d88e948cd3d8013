//! The names that types, tags and operations have in OpenAPI.
//!
//! They follow from a type's module and a resource's group; generated clients are built on them, so they never change.

use pintle_schema::Struct;

/// The module paths of built-in types.
const TYPES: [&str; 2] = ["pintle_meta::", "pintle_types::"];

const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1";

/// The name of a type of `meta.k8s.io/v1`.
pub(crate) fn meta(name: &str) -> String {
    format!("{META}.{name}")
}

/// The name of a built-in struct; `None` for a part of a custom resource, which has none.
pub(crate) fn of_struct(schema: &Struct) -> Option<String> {
    if !TYPES.iter().any(|crate_name| schema.module.starts_with(crate_name)) || schema.name.is_empty() {
        return None;
    }
    let (directory, version) = schema.group_version();
    let package = match directory {
        "meta" => "io.k8s.apimachinery.pkg.apis.meta",
        "version" => return Some(format!("io.k8s.apimachinery.pkg.version.{}", schema.name.as_str())),
        "apiextensions" => "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions",
        "apiregistration" => "io.k8s.kube-aggregator.pkg.apis.apiregistration",
        directory => return Some(format!("io.k8s.api.{directory}.{version}.{}", schema.name.as_str())),
    };
    Some(format!("{package}.{version}.{}", schema.name.as_str()))
}

/// The name of a resource's kind.
pub(crate) fn of_kind(schema: &Struct, group: &str, version: &str, kind: &str) -> String {
    of_struct(schema).unwrap_or_else(|| {
        let reversed: Vec<&str> = group.split('.').rev().collect();
        format!("{}.{version}.{kind}", reversed.join("."))
    })
}

/// The name of another type in the same package.
pub(crate) fn beside(type_name: &str, name: &str) -> String {
    let package = type_name.rsplit_once('.').map_or("", |(package, _)| package);
    format!("{package}.{name}")
}

/// The API group of a built-in type's directory.
pub(crate) fn group_of_directory(directory: &str) -> String {
    match directory {
        "core" | "meta" | "version" => String::new(),
        "apps" | "autoscaling" | "batch" | "extensions" | "policy" => directory.to_owned(),
        "apiserverinternal" => "internal.apiserver.k8s.io".to_owned(),
        "flowcontrol" => "flowcontrol.apiserver.k8s.io".to_owned(),
        "rbac" => "rbac.authorization.k8s.io".to_owned(),
        directory => format!("{directory}.k8s.io"),
    }
}

/// A group in camel case without its domain, as tags begin: `rbacAuthorization`.
pub(crate) fn group_word(group: &str) -> String {
    if group.is_empty() {
        return "core".to_owned();
    }
    let group = group.strip_suffix(".k8s.io").unwrap_or(group);
    let mut parts = group.split(['.', '-']);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |word, part| word + &capital(part))
}

/// The word with a capital letter.
pub(crate) fn capital(word: &str) -> String {
    let mut chars = word.chars();
    match chars.next() {
        Some(first) => first.to_ascii_uppercase().to_string() + chars.as_str(),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_become_words() {
        for (group, word) in [
            ("", "core"),
            ("apps", "apps"),
            ("rbac.authorization.k8s.io", "rbacAuthorization"),
            ("internal.apiserver.k8s.io", "internalApiserver"),
            ("stable.example-site.com", "stableExampleSiteCom"),
        ] {
            assert_eq!(group_word(group), word);
        }
    }
}
