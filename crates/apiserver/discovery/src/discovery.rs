//! The documents below `/api` and `/apis`.
//!
//! Legacy documents are one per group and version; the aggregated ones contain everything. Both are built from the same
//! catalog, so they always agree.

use crate::catalog::{Catalog, DiscoveredResource, DiscoveredSubresource, GroupEntry, VersionEntry, api_version};
use crate::document::{Document, to_json};
use pintle_meta::{apidiscovery, meta};
use pintle_schema::{Map, Str, Value, value};

/// `/api`. `server_address` is where clients reach this server, as host and port.
pub fn api_versions(catalog: &Catalog, server_address: &str) -> Document {
    let versions = catalog.group("").map_or(&[][..], |group| &group.versions);
    let versions: Vec<Value> = versions.iter().map(|version| version.name.clone().into()).collect();
    let document = value!({
        "kind": "APIVersions",
        "versions": (Value::List(versions)),
        "serverAddressByClientCIDRs": [{ "clientCIDR": "0.0.0.0/0", "serverAddress": server_address }],
    });
    Document::new::<meta::v1::APIVersions>("", "APIVersions", document)
}

/// `/apis`.
pub fn group_list(catalog: &Catalog) -> Document {
    let groups: Vec<Value> = named_groups(catalog).map(|group| Value::Map(group_body(Map::new(), group))).collect();
    let document = value!({ "kind": "APIGroupList", "apiVersion": "v1", "groups": (Value::List(groups)) });
    Document::new::<meta::v1::APIGroupList>("v1", "APIGroupList", document)
}

/// `/apis/<group>`; `None` when the group is not served.
pub fn group(catalog: &Catalog, name: &str) -> Option<Document> {
    let group = named_groups(catalog).find(|group| group.name == name)?;
    let document = Value::Map(group_body(head("APIGroup"), group));
    Some(Document::new::<meta::v1::APIGroup>("v1", "APIGroup", document))
}

/// `/api/<version>` (of the core group, "") or `/apis/<group>/<version>`; `None` when it is not served.
pub fn resource_list(catalog: &Catalog, group: &str, version: &str) -> Option<Document> {
    let entry = catalog.version(group, version).filter(|version| !version.is_remote)?;
    let mut resources = Vec::new();
    for resource in &entry.resources {
        let hides_hash = catalog.server().hides_storage_version_hashes && resource.custom.is_none();
        resources.push(resource_entry(resource, hides_hash));
        resources.extend(resource.subresources.iter().map(|subresource| subresource_entry(resource, subresource)));
    }
    let mut document = head("APIResourceList");
    if group.is_empty() {
        // The oldest of these documents has no version.
        document.remove("apiVersion");
    }
    document.push(Str::new_static("groupVersion"), api_version(group, version).into());
    document.push(Str::new_static("resources"), Value::List(resources));
    let own_version = if group.is_empty() { "" } else { "v1" };
    Some(Document::new::<meta::v1::APIResourceList>(own_version, "APIResourceList", Value::Map(document)))
}

/// `/api` in the aggregated form.
pub fn aggregated_api(catalog: &Catalog) -> Document {
    aggregated(catalog.group("").into_iter())
}

/// `/apis` in the aggregated form.
pub fn aggregated_apis(catalog: &Catalog) -> Document {
    aggregated(named_groups(catalog))
}

/// `/api` in the aggregated form, as JSON.
pub fn aggregated_api_json(catalog: &Catalog) -> Vec<u8> {
    aggregated_json(catalog.group("").into_iter())
}

/// `/apis` in the aggregated form, as JSON.
pub fn aggregated_apis_json(catalog: &Catalog) -> Vec<u8> {
    aggregated_json(named_groups(catalog))
}

/// The document put together from the items of its groups, which are made once.
fn aggregated_json<'a>(groups: impl Iterator<Item = &'a GroupEntry>) -> Vec<u8> {
    let (head, end) = (aggregated(std::iter::empty()).to_json(), b"]}");
    let mut out = head.strip_suffix(end).unwrap_or(&head).to_vec();
    for (at, group) in groups.enumerate() {
        if at > 0 {
            out.push(b',');
        }
        out.extend_from_slice(group.aggregated.get_or_init(|| to_json(&aggregated_group(group))));
    }
    out.extend_from_slice(end);
    out
}

/// All but the core group.
fn named_groups(catalog: &Catalog) -> impl Iterator<Item = &GroupEntry> {
    catalog.groups().iter().map(|group| &**group).filter(|group| !group.name.is_empty())
}

fn head(kind: &'static str) -> Map {
    Map::from_entries(vec![(Str::new_static("kind"), kind.into()), (Str::new_static("apiVersion"), "v1".into())])
}

fn group_body(mut body: Map, GroupEntry { name, versions, .. }: &GroupEntry) -> Map {
    let shown = |version: &VersionEntry| value!({ "groupVersion": (api_version(name, &version.name)), "version": (version.name.clone()) });
    let versions: Vec<Value> = versions.iter().map(shown).collect();
    let preferred = versions.first().cloned();
    body.push(Str::new_static("name"), name.clone().into());
    body.push(Str::new_static("versions"), Value::List(versions));
    if let Some(preferred) = preferred {
        body.push(Str::new_static("preferredVersion"), preferred);
    }
    body
}

fn resource_entry(resource: &DiscoveredResource, hides_hash: bool) -> Value {
    let mut entry = Map::new();
    entry.push(Str::new_static("name"), resource.plural.clone().into());
    entry.push(Str::new_static("singularName"), resource.singular.clone().into());
    entry.push(Str::new_static("namespaced"), resource.namespaced.into());
    entry.push(Str::new_static("kind"), resource.kind.clone().into());
    entry.push(Str::new_static("verbs"), resource.verbs.clone().into());
    push_list(&mut entry, "shortNames", &resource.short_names);
    push_list(&mut entry, "categories", &resource.categories);
    if !resource.storage_version_hash.is_empty() && !hides_hash {
        entry.push(Str::new_static("storageVersionHash"), resource.storage_version_hash.clone().into());
    }
    Value::Map(entry)
}

fn subresource_entry(resource: &DiscoveredResource, subresource: &DiscoveredSubresource) -> Value {
    let mut entry = Map::new();
    entry.push(Str::new_static("name"), format!("{}/{}", resource.plural, subresource.name).into());
    entry.push(Str::new_static("singularName"), "".into());
    entry.push(Str::new_static("namespaced"), resource.namespaced.into());
    if let Some((group, version)) = &subresource.group_version {
        entry.push(Str::new_static("group"), group.clone().into());
        entry.push(Str::new_static("version"), version.clone().into());
    }
    entry.push(Str::new_static("kind"), subresource.kind.clone().into());
    entry.push(Str::new_static("verbs"), subresource.verbs.clone().into());
    Value::Map(entry)
}

fn push_list(entry: &mut Map, key: &'static str, texts: &[Str]) {
    if !texts.is_empty() {
        entry.push(Str::new_static(key), texts.to_vec().into());
    }
}

fn aggregated<'a>(groups: impl Iterator<Item = &'a GroupEntry>) -> Document {
    let (api_version, kind) = ("apidiscovery.k8s.io/v2", "APIGroupDiscoveryList");
    let items: Vec<Value> = groups.map(aggregated_group).collect();
    let document = value!({
        "kind": kind,
        "apiVersion": api_version,
        "metadata": {},
        "items": (Value::List(items)),
    });
    Document::new::<apidiscovery::v2::APIGroupDiscoveryList>(api_version, kind, document)
}

fn aggregated_group(group: &GroupEntry) -> Value {
    let mut metadata = Map::new();
    if !group.name.is_empty() {
        metadata.push(Str::new_static("name"), group.name.clone().into());
    }
    let versions: Vec<Value> = group.versions.iter().map(aggregated_version).collect();
    value!({ "metadata": (Value::Map(metadata)), "versions": (Value::List(versions)) })
}

fn aggregated_version(version: &VersionEntry) -> Value {
    if version.is_remote {
        let Some(reported) = &version.reported else {
            return value!({ "version": (version.name.clone()), "freshness": "Stale" });
        };
        let mut entry = Map::new();
        entry.push(Str::new_static("version"), version.name.clone().into());
        if !reported.is_empty() {
            entry.push(Str::new_static("resources"), Value::List(reported.to_vec()));
        }
        entry.push(Str::new_static("freshness"), "Current".into());
        return Value::Map(entry);
    }
    let resources: Vec<Value> = version.resources.iter().map(aggregated_resource).collect();
    value!({ "version": (version.name.clone()), "resources": (Value::List(resources)), "freshness": "Current" })
}

/// The group and version of a kind that was defined at run time.
fn custom_version(resource: &DiscoveredResource) -> Option<(Str, Str)> {
    resource.custom.is_some().then(|| (resource.group.clone(), resource.version.clone()))
}

/// Group and version are empty if they are the resource's own, as in kube-apiserver, but for custom resources.
fn response_kind(group_version: Option<&(Str, Str)>, kind: &Str) -> Value {
    let (group, version) = group_version.cloned().unwrap_or_default();
    value!({ "group": group, "version": version, "kind": (kind.clone()) })
}

fn aggregated_resource(resource: &DiscoveredResource) -> Value {
    let scope = if resource.namespaced { "Namespaced" } else { "Cluster" };
    let own = custom_version(resource);
    let mut entry = Map::new();
    entry.push(Str::new_static("resource"), resource.plural.clone().into());
    entry.push(Str::new_static("responseKind"), response_kind(own.as_ref(), &resource.kind));
    entry.push(Str::new_static("scope"), scope.into());
    entry.push(Str::new_static("singularResource"), resource.singular.clone().into());
    entry.push(Str::new_static("verbs"), resource.verbs.clone().into());
    push_list(&mut entry, "shortNames", &resource.short_names);
    push_list(&mut entry, "categories", &resource.categories);
    if !resource.subresources.is_empty() {
        let subresources = resource.subresources.iter().map(|one| aggregated_subresource(one, own.as_ref()));
        entry.push(Str::new_static("subresources"), Value::List(subresources.collect()));
    }
    Value::Map(entry)
}

fn aggregated_subresource(subresource: &DiscoveredSubresource, own: Option<&(Str, Str)>) -> Value {
    value!({
        "subresource": (subresource.name.clone()),
        "responseKind": (response_kind(subresource.group_version.as_ref().or(own), &subresource.kind)),
        "verbs": (subresource.verbs.clone()),
    })
}
