//! The routes that resources open, as descriptions of paths and operations, and the types they need.
//!
//! One walk for both dialects. It knows verbs and subresources, never a resource.

use super::definitions::{Definitions, Kind};
use super::names;
use super::operation::{
    ACCEPTED, ANY_MEDIA_TYPE, Body, CREATED, CUSTOM_OBJECTS, JSON_ONLY, OBJECTS, OK, Operation, PATCHES,
    PATCHES_OF_CUSTOM_RESOURCES, Parameters, PathItem, Status, SuccessResponse, TEXT,
};
use crate::catalog::{Catalog, DiscoveredResource, DiscoveredSubresource, PublishedPath, VersionEntry, api_version};
use pintle_meta::meta::v1;
use pintle_schema::{ApiType, Ref, Str, Struct};

/// The paths of a document, and the types that it defines.
#[derive(Default)]
pub(crate) struct Routes {
    pub paths: Vec<PathItem>,
    pub definitions: Definitions,
}

fn options<T: ApiType>() -> Ref<Struct> {
    Ref::Static(T::schema)
}

impl Routes {
    /// Paths in the order they are written.
    pub fn sort(&mut self) {
        self.paths.sort_by(|a, b| a.path.cmp(&b.path));
    }

    /// `/version/`.
    pub fn version(&mut self) {
        self.document::<pintle_meta::version::Info>(
            "/version/",
            "getCodeVersion",
            "version",
            "the version of the server",
        );
        if let Some(operation) = self.paths.last_mut().and_then(|item| item.operations.last_mut()) {
            (operation.consumes, operation.answer.media_types) = (JSON_ONLY, JSON_ONLY);
        }
    }

    /// `/api/`.
    pub fn core_versions(&mut self) {
        self.document::<v1::APIVersions>("/api/", "getCoreAPIVersions", "core", "the versions of the core group");
    }

    /// `/apis/`.
    pub fn groups(&mut self) {
        self.document::<v1::APIGroupList>("/apis/", "getAPIVersions", "apis", "the API groups");
    }

    /// A path with a document outside of discovery.
    pub fn published(&mut self, document: &PublishedPath) {
        let operation = Operation {
            method: "get",
            id: document.operation_id.to_owned(),
            description: format!("get {}", document.content),
            tag: document.tag.to_owned(),
            action: "",
            kind: None,
            parameters: Vec::new(),
            body: None,
            consumes: &[],
            answer: SuccessResponse::string(document.media_types),
        };
        let (path, parameters) = (format!("{}/", document.path), Vec::new());
        self.paths.push(PathItem { path, parameters, operations: vec![operation] });
    }

    /// `/apis/<group>/`.
    pub fn group(&mut self, group: &str) {
        let word = names::group_word(group);
        let id = format!("get{}APIGroup", names::capital(&word));
        self.document::<v1::APIGroup>(&format!("/apis/{group}/"), &id, &word, "the versions of the group");
    }

    /// Everything below `/apis/<group>/<version>/`; nothing when it is not served.
    pub fn version_of_group(&mut self, catalog: &Catalog, group: &str, version: &str) {
        let Some(entry) = catalog.version(group, version) else { return };
        let before = self.paths.len();
        let word = names::group_word(group);
        let base = match group {
            "" => format!("/api/{version}"),
            group => format!("/apis/{group}/{version}"),
        };
        let tag = format!("{word}_{version}");
        let prefix = format!("{}{}", names::capital(&word), names::capital(version));
        let id = format!("get{prefix}APIResources");
        // That of custom resources is served and not described.
        if !entry.is_custom() {
            self.document::<v1::APIResourceList>(&format!("{base}/"), &id, &tag, "the resources of the version");
        }
        for resource in &entry.resources {
            ResourceRoutes::new(resource, &base, &tag, &prefix, &self.definitions).add_to(self);
        }
        if catalog.server().serves_cbor {
            let added = self.paths.iter_mut().skip(before).flat_map(|item| &mut item.operations);
            added.for_each(Operation::add_cbor);
        }
    }

    fn document<T: ApiType>(&mut self, path: &str, id: &str, tag: &str, what: &str) {
        let schema = options::<T>();
        self.definitions.add(&schema);
        let operation = Operation {
            method: "get",
            id: id.to_owned(),
            description: format!("get {what}"),
            tag: tag.to_owned(),
            action: "",
            kind: None,
            parameters: Vec::new(),
            body: None,
            consumes: OBJECTS,
            answer: SuccessResponse::object(names::of_struct(&schema).unwrap_or_default(), &[OK]),
        };
        self.paths.push(PathItem { path: path.to_owned(), parameters: Vec::new(), operations: vec![operation] });
    }
}

/// The common data of one resource's paths.
struct ResourceRoutes<'a> {
    resource: &'a DiscoveredResource,
    /// `/apis/<group>/<version>`.
    base: &'a str,
    tag: &'a str,
    /// Of operation ids: `AppsV1`.
    prefix: &'a str,
    kind: Kind,
    type_name: String,
    list_name: String,
    /// Of operation ids: `NamespacedDeployment`.
    noun: String,
}

impl<'a> ResourceRoutes<'a> {
    fn new(
        resource: &'a DiscoveredResource,
        base: &'a str,
        tag: &'a str,
        prefix: &'a str,
        definitions: &Definitions,
    ) -> Self {
        let (group, version) = (resource.group.clone(), resource.version.clone());
        let kind = Kind { group, version, kind: resource.kind.clone() };
        let mut type_name = resource.type_name();
        let mut list_name = names::beside(&type_name, &resource.list_kind);
        if resource.custom.is_some() {
            let kind_of_list = Kind { kind: resource.list_kind.clone(), ..kind.clone() };
            type_name = definitions.name_of_custom(type_name, &kind);
            list_name = definitions.name_of_custom(list_name, &kind_of_list);
        }
        let namespaced = if resource.namespaced { "Namespaced" } else { "" };
        ResourceRoutes {
            resource,
            base,
            tag,
            prefix,
            list_name,
            type_name,
            kind,
            noun: format!("{namespaced}{}", resource.kind),
        }
    }

    fn can(&self, verb: &str) -> bool {
        self.resource.verbs.contains(&verb)
    }

    /// Whether the kind was defined at run time: kube-apiserver declares less of such kinds than it does.
    fn is_custom(&self) -> bool {
        self.resource.custom.is_some()
    }

    fn body(&self, type_name: String, required: bool) -> Body {
        Body { type_name, required, media_types: self.consumes() }
    }

    /// The media types of bodies.
    fn consumes(&self) -> &'static [&'static str] {
        if self.is_custom() { CUSTOM_OBJECTS } else { ANY_MEDIA_TYPE }
    }

    fn add_to(&self, routes: &mut Routes) {
        self.add_types(&mut routes.definitions);
        routes.paths.push(self.collection());
        if ["get", "update", "patch", "delete"].iter().any(|verb| self.can(verb)) {
            routes.paths.push(self.item());
        }
        if self.resource.namespaced && self.can("list") {
            routes.paths.push(self.all_namespaces());
        }
        if self.can("watch") && !self.is_custom() {
            self.watches(routes);
        }
        for subresource in &self.resource.subresources {
            self.subresource(subresource, routes);
        }
        routes.paths.retain(|item| !item.operations.is_empty());
    }

    fn add_types(&self, definitions: &mut Definitions) {
        let custom = self.resource.custom.as_ref();
        match custom {
            Some(custom) => definitions.add_custom(self.type_name.clone(), custom, self.kind.clone()),
            None => definitions.add_kind(self.type_name.clone(), &self.resource.schema, self.kind.clone()),
        }
        if self.can("list") {
            let kind = Kind { kind: self.resource.list_kind.clone(), ..self.kind.clone() };
            definitions.add(&options::<v1::ListMeta>());
            definitions.add_list(self.list_name.clone(), self.type_name.clone(), kind, custom);
        }
        if self.can("watch") && !self.is_custom() {
            definitions.add(&options::<v1::WatchEvent>());
        }
        if self.can("patch") || self.resource.subresources.iter().any(|sub| sub.verbs.contains(&"patch")) {
            definitions.add(&options::<v1::Patch>());
        }
        if self.can("delete") || self.can("deletecollection") {
            definitions.add(&options::<v1::DeleteOptions>());
            definitions.add(&options::<v1::Status>());
        }
    }

    fn collection_path(&self, below: &str) -> String {
        let namespace = if self.resource.namespaced { "/namespaces/{namespace}" } else { "" };
        format!("{}{below}{namespace}/{}", self.base, self.resource.plural)
    }

    /// The parameters of a path: its variables and `pretty`.
    fn path_parameters(&self, item: bool) -> Vec<Parameters> {
        let mut parameters = Vec::new();
        if item {
            parameters.push(Parameters::Path { name: "name", description: format!("name of the {}", self.kind.kind) });
        }
        if self.resource.namespaced {
            let description = "namespace of the object, or of the objects".to_owned();
            parameters.push(Parameters::Path { name: "namespace", description });
        }
        parameters.push(Parameters::Pretty);
        parameters
    }

    fn operation(
        &self,
        method: &'static str,
        action: &'static str,
        id: String,
        does: &str,
        mut answer: SuccessResponse,
    ) -> Operation {
        if self.is_custom() {
            answer.media_types = CUSTOM_OBJECTS;
        }
        Operation {
            method,
            id,
            description: does.to_owned(),
            tag: self.tag.to_owned(),
            action,
            kind: Some(self.kind.clone()),
            parameters: Vec::new(),
            body: None,
            consumes: self.consumes(),
            answer,
        }
    }

    fn collection(&self) -> PathItem {
        let (kind, mut operations) = (&self.kind.kind, Vec::new());
        let id = |verb: &str, noun: &str| format!("{verb}{}{noun}", self.prefix);
        if self.can("list") {
            let answer = SuccessResponse::stream(self.list_name.clone());
            let does = format!("list or watch objects of kind {kind}");
            let mut list = self.operation("get", "list", id("list", &self.noun), &does, answer);
            list.parameters.push(Parameters::Query(options::<v1::ListOptions>()));
            operations.push(list);
        }
        if self.can("create") {
            operations.push(self.create(id("create", &self.noun), &format!("create a {kind}"), &self.type_name));
        }
        if self.can("deletecollection") {
            let answer = SuccessResponse::object(names::meta("Status"), &[OK]);
            let (id, does) =
                (id("delete", &format!("Collection{}", self.noun)), format!("delete a collection of {kind}"));
            let mut delete = self.operation("delete", "deletecollection", id, &does, answer);
            match self.is_custom() {
                true => delete.parameters.push(Parameters::Query(options::<v1::ListOptions>())),
                false => {
                    delete.parameters.push(Parameters::Query(options::<v1::DeleteOptions>()));
                    delete.parameters.push(Parameters::QueryWithoutWatch(options::<v1::ListOptions>()));
                    delete.body = Some(self.body(names::meta("DeleteOptions"), false));
                }
            }
            operations.push(delete);
        }
        PathItem { path: self.collection_path(""), parameters: self.path_parameters(false), operations }
    }

    fn item(&self) -> PathItem {
        let (kind, mut operations) = (&self.kind.kind, Vec::new());
        self.reads_and_writes(&self.resource.verbs, "", &self.type_name, kind, &mut operations);
        if self.can("delete") {
            let type_name = match self.resource.delete_declares_object {
                true => self.type_name.clone(),
                false => names::meta("Status"),
            };
            let id = format!("delete{}{}", self.prefix, self.noun);
            let answer = SuccessResponse::object(type_name, &[OK, ACCEPTED]);
            let mut delete = self.operation("delete", "delete", id, &format!("delete a {kind}"), answer);
            delete.parameters.push(Parameters::Query(options::<v1::DeleteOptions>()));
            delete.body = Some(self.body(names::meta("DeleteOptions"), false));
            operations.push(delete);
        }
        let path = format!("{}/{{name}}", self.collection_path(""));
        PathItem { path, parameters: self.path_parameters(true), operations }
    }

    /// Get, put and patch, of an object or of a subresource that `suffix` names.
    fn reads_and_writes(
        &self,
        verbs: &[&str],
        suffix: &str,
        type_name: &str,
        what: &str,
        operations: &mut Vec<Operation>,
    ) {
        let id = |verb: &str| format!("{verb}{}{}{suffix}", self.prefix, self.noun);
        let answer = |statuses: &'static [Status]| SuccessResponse::object(type_name.to_owned(), statuses);
        if verbs.contains(&"get") {
            let does = format!("read the specified {what}");
            let mut get = self.operation("get", "get", id("read"), &does, answer(&[OK]));
            if self.is_custom() {
                get.parameters.push(Parameters::Query(options::<v1::GetOptions>()));
            }
            operations.push(get);
        }
        if verbs.contains(&"update") {
            let does = format!("replace the specified {what}");
            let mut put = self.operation("put", "put", id("replace"), &does, answer(&[OK, CREATED]));
            put.parameters.push(Parameters::Query(options::<v1::UpdateOptions>()));
            put.body = Some(self.body(type_name.to_owned(), true));
            operations.push(put);
        }
        if verbs.contains(&"patch") {
            let does = format!("partially update the specified {what}");
            let statuses: &[Status] = if self.is_custom() { &[OK] } else { &[OK, CREATED] };
            let mut patch = self.operation("patch", "patch", id("patch"), &does, answer(statuses));
            patch.parameters.push(Parameters::Query(options::<v1::PatchOptions>()));
            let media_types = if self.resource.strategic_patch { PATCHES } else { PATCHES_OF_CUSTOM_RESOURCES };
            patch.body = Some(Body { type_name: names::meta("Patch"), required: true, media_types });
            operations.push(patch);
        }
    }

    fn create(&self, id: String, does: &str, type_name: &str) -> Operation {
        let answer = SuccessResponse::object(type_name.to_owned(), &[OK, CREATED, ACCEPTED]);
        let mut create = self.operation("post", "post", id, does, answer);
        create.parameters.push(Parameters::Query(options::<v1::CreateOptions>()));
        create.body = Some(self.body(type_name.to_owned(), true));
        create
    }

    fn all_namespaces(&self) -> PathItem {
        let kind = &self.kind.kind;
        let id = format!("list{}{kind}ForAllNamespaces", self.prefix);
        let does = format!("list or watch objects of kind {kind} in all namespaces");
        let operation = self.operation("get", "list", id, &does, SuccessResponse::stream(self.list_name.clone()));
        PathItem {
            path: format!("{}/{}", self.base, self.resource.plural),
            parameters: vec![Parameters::Query(options::<v1::ListOptions>()), Parameters::Pretty],
            operations: vec![operation],
        }
    }

    /// The old paths of watches.
    fn watches(&self, routes: &mut Routes) {
        let (kind, collection) = (&self.kind.kind, self.collection_path("/watch"));
        let mut add = |path: String, action: &'static str, noun: String, item: Option<bool>| {
            let mut parameters = vec![Parameters::Query(options::<v1::ListOptions>())];
            match item {
                Some(item) => parameters.extend(self.path_parameters(item)),
                None => parameters.push(Parameters::Pretty),
            }
            let id = format!("watch{}{noun}", self.prefix);
            let does = format!("watch changes of {kind} objects; lists with the parameter \"watch\" replace it");
            let answer = SuccessResponse::stream(names::meta("WatchEvent"));
            let operations = vec![self.operation("get", action, id, &does, answer)];
            routes.paths.push(PathItem { path, parameters, operations });
        };
        if self.can("get") {
            add(format!("{collection}/{{name}}"), "watch", self.noun.clone(), Some(true));
        }
        add(collection, "watchlist", format!("{}List", self.noun), Some(false));
        if self.resource.namespaced {
            let path = format!("{}/watch/{}", self.base, self.resource.plural);
            add(path, "watchlist", format!("{kind}ListForAllNamespaces"), None);
        }
    }

    fn subresource(&self, subresource: &DiscoveredSubresource, routes: &mut Routes) {
        let path = format!("{}/{{name}}/{}", self.collection_path(""), subresource.name);
        let mut parameters = self.path_parameters(true);
        if subresource.stream {
            return self.stream(subresource, path, parameters, routes);
        }
        let suffix: String = subresource.name.split('-').map(names::capital).collect();
        let kind = self.kind_of(subresource);
        let mut type_name = self.type_name.clone();
        let is_own = self.is_custom() && subresource.group_version.is_none();
        if let Some(schema) = subresource.schema.as_ref().filter(|_| !is_own) {
            type_name = names::of_kind(schema, &kind.group, &kind.version, &kind.kind);
            routes.definitions.add_kind(type_name.clone(), schema, kind.clone());
        }
        let what = format!("{} of the {}", subresource.name, self.kind.kind);
        let mut operations = Vec::new();
        self.reads_and_writes(&subresource.verbs, &suffix, &type_name, &what, &mut operations);
        if subresource.verbs.contains(&"create") {
            let id = format!("create{}{}{suffix}", self.prefix, self.noun);
            let mut create = self.create(id, &format!("create {what}"), &type_name);
            parameters.append(&mut create.parameters);
            operations.push(create);
        }
        if !self.is_custom() {
            operations.iter_mut().for_each(|operation| operation.kind = Some(kind.clone()));
        }
        routes.paths.push(PathItem { path, parameters, operations });
    }

    fn kind_of(&self, subresource: &DiscoveredSubresource) -> Kind {
        let own = || (self.kind.group.clone(), self.kind.version.clone());
        let (group, version) = subresource.group_version.clone().unwrap_or_else(own);
        Kind { group, version, kind: subresource.kind.clone() }
    }

    /// A subresource with options in its query and a stream as its response.
    fn stream(
        &self,
        subresource: &DiscoveredSubresource,
        path: String,
        mut parameters: Vec<Parameters>,
        routes: &mut Routes,
    ) {
        parameters.extend(subresource.schema.clone().map(Parameters::Query));
        let kind = self.kind_of(subresource);
        let suffix: String = subresource.name.split('-').map(names::capital).collect();
        let object = subresource.kind == self.resource.kind;
        if !object {
            // What the other side answers is passed on as it is.
            parameters.retain(|one| !matches!(one, Parameters::Pretty));
        }
        let mut add = |path: String, parameters: Vec<Parameters>, suffix: &str| {
            let operations = stream_methods(&subresource.verbs).map(|(method, word)| {
                let mut operation = match object {
                    // It reads something of the object itself: a log.
                    true => {
                        let id = format!("read{}{}{suffix}", self.prefix, self.noun);
                        let does = format!("read {} of the specified {}", subresource.name, self.kind.kind);
                        self.operation(method, "get", id, &does, SuccessResponse::string(TEXT))
                    }
                    false => {
                        let id = format!("connect{}{word}{}{suffix}", self.prefix, self.noun);
                        let does = format!("connect {word} requests to {} of {}", subresource.name, self.kind.kind);
                        self.operation(method, "connect", id, &does, SuccessResponse::string(ANY_MEDIA_TYPE))
                    }
                };
                operation.kind = Some(kind.clone());
                operation
            });
            routes.paths.push(PathItem { path, parameters, operations: operations.collect() });
        };
        if subresource.verbs.contains(&"delete") {
            // A subresource that forwards every method also forwards the path after it.
            let mut behind = parameters.clone();
            let description = "path to the resource".to_owned();
            behind.push(Parameters::Path { name: "path", description });
            add(format!("{path}/{{path}}"), behind, &format!("{suffix}WithPath"));
        }
        add(path, parameters, &suffix);
    }
}

/// The methods that are open for the verbs of a stream; those that pass everything on list no other verbs.
fn stream_methods(verbs: &[&str]) -> impl Iterator<Item = (&'static str, &'static str)> {
    const METHODS: [(&str, &str, &str); 7] = [
        ("get", "get", "Get"),
        ("update", "put", "Put"),
        ("create", "post", "Post"),
        ("delete", "delete", "Delete"),
        ("delete", "options", "Options"),
        ("delete", "head", "Head"),
        ("patch", "patch", "Patch"),
    ];
    METHODS.into_iter().filter(|(verb, ..)| verbs.contains(verb)).map(|(_, method, word)| (method, word))
}

/// The entries of the version 3 index: a path below `/openapi/v3/` for each, and its version.
pub(crate) fn addresses(catalog: &Catalog) -> Vec<(String, Address, Option<&VersionEntry>)> {
    let mut addresses = vec![
        ("api".to_owned(), Address::CoreVersions, None),
        ("apis".to_owned(), Address::Groups, None),
        ("version".to_owned(), Address::Version, None),
    ];
    for document in &catalog.server().published {
        addresses.push((document.path.trim_start_matches('/').to_owned(), Address::Published(*document), None));
    }
    for group in catalog.groups() {
        if !group.name.is_empty() && !group.is_custom() {
            addresses.push((format!("apis/{}", group.name), Address::Group(group.name.clone()), None));
        }
        for version in &group.versions {
            let below = if group.name.is_empty() { "api" } else { "apis" };
            let path = format!("{below}/{}", api_version(&group.name, &version.name));
            addresses.push((path, Address::GroupVersion(group.name.clone(), version.name.clone()), Some(version)));
        }
    }
    addresses.sort_by(|a, b| a.0.cmp(&b.0));
    addresses
}

/// The subject of a document of version 3.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Address {
    Version,
    CoreVersions,
    Groups,
    Published(PublishedPath),
    Group(Str),
    GroupVersion(Str, Str),
}
