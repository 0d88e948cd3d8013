//! Admission configurations in files: the webhooks and policies of `staticManifestsDir`, which the API neither shows
//! nor changes. Guarantees that a directory is applied whole or not at all, and that a valid change is applied within
//! seconds. Must never take an object that refers to one of the API, nor one that the API would refuse for another
//! reason than its name.

use crate::digest::text_digest;
use crate::follow::follow;
use pintle_admission_webhooks::AdmissionWebhooks;
use pintle_codec::{DecodeError, Decoded, Strictness, json, yaml};
use pintle_gates::MANIFEST_BASED_ADMISSION_CONTROL_CONFIG as MANIFESTS;
use pintle_groups::STATIC_SUFFIX;
use pintle_metrics::Counter;
use pintle_plugins::configuration::ManifestDirectories;
use pintle_policies::{MutatingPolicies, ValidatingPolicies};
use pintle_registry::prepare::check_name;
use pintle_resource::Resource;
use pintle_schema::names::quoted;
use pintle_schema::{GateSet, Struct, Value, canonicalize};
use pintle_validation::{Operation, Request};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

/// Bytes of all files of a directory: they are read every second. A hundred policies of the largest size are fewer.
const MAX_DIRECTORY_BYTES: u64 = 16 << 20;

/// Lists within lists, each of which is read again.
const MAX_LIST_DEPTH: usize = 8;

const GROUP: &str = "admissionregistration.k8s.io";
const VERSION: &str = "v1";

/// What the directory of a plugin contains.
#[derive(Debug)]
struct Contents {
    /// The plugin's name.
    plugin: &'static str,
    /// The kind of its webhook configurations or policies.
    kind: &'static str,
    /// The kind of the bindings of its policies.
    binding: Option<&'static str>,
}

const MUTATING_WEBHOOKS: Contents =
    Contents { plugin: "MutatingAdmissionWebhook", kind: "MutatingWebhookConfiguration", binding: None };
const VALIDATING_WEBHOOKS: Contents =
    Contents { plugin: "ValidatingAdmissionWebhook", kind: "ValidatingWebhookConfiguration", binding: None };
const MUTATING_POLICIES: Contents = Contents {
    plugin: "MutatingAdmissionPolicy",
    kind: "MutatingAdmissionPolicy",
    binding: Some("MutatingAdmissionPolicyBinding"),
};
const VALIDATING_POLICIES: Contents = Contents {
    plugin: "ValidatingAdmissionPolicy",
    kind: "ValidatingAdmissionPolicy",
    binding: Some("ValidatingAdmissionPolicyBinding"),
};

/// The objects of a directory, complete and valid, in the order of their names.
#[derive(Debug, Default, PartialEq)]
struct Manifests {
    /// Webhook configurations or policies.
    configurations: Vec<Value>,
    bindings: Vec<Value>,
    /// The digest of the files.
    hash: String,
}

/// How often the directory of a plugin was applied, and how often it could not be.
#[derive(Debug)]
pub struct ManifestStats {
    pub plugin: &'static str,
    pub applied: Reloads,
    pub failed: Reloads,
    hash: Mutex<String>,
}

/// Reloads with the same outcome.
#[derive(Debug, Default)]
pub struct Reloads {
    count: Counter,
    last_micros: AtomicU64,
}

impl Reloads {
    fn happened(&self) {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        self.count.increment();
        self.last_micros.store(u64::try_from(since.as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    pub fn count(&self) -> u64 {
        self.count.get()
    }

    /// In seconds since 1970.
    pub fn last_seconds(&self) -> f64 {
        self.last_micros.load(Ordering::Relaxed) as f64 / 1e6
    }
}

impl ManifestStats {
    /// The digest of what is applied; empty if there are no files.
    pub fn hash(&self) -> String {
        self.hash.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn applied(&self, hash: &str) {
        self.applied.happened();
        hash.clone_into(&mut self.hash.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// The plugins that take configurations from files, and the directories of these.
pub struct ManifestPlugins {
    pub mutating_webhooks: Arc<AdmissionWebhooks>,
    pub validating_webhooks: Arc<AdmissionWebhooks>,
    pub mutating_policies: Arc<MutatingPolicies>,
    pub validating_policies: Arc<ValidatingPolicies>,
    pub directories: ManifestDirectories,
    /// Names of plugins that are off.
    pub disabled: Vec<String>,
    pub gates: Arc<GateSet>,
}

impl ManifestPlugins {
    /// Applies the directories of the plugins that are on, and follows them.
    ///
    /// # Errors
    /// A file is invalid, or the system has no thread to spare.
    pub(crate) fn follow(self) -> Result<Vec<Arc<ManifestStats>>, String> {
        let of_webhooks: fn(&AdmissionWebhooks, &Manifests) = |plugin, files| plugin.set_files(&files.configurations);
        let mutating: fn(&MutatingPolicies, &Manifests) =
            |plugin, files| plugin.set_files(&files.configurations, &files.bindings);
        let validating: fn(&ValidatingPolicies, &Manifests) =
            |plugin, files| plugin.set_files(&files.configurations, &files.bindings);
        let ManifestDirectories { mutating_webhooks, validating_webhooks, mutating_policies, validating_policies } =
            self.directories;
        let (gates, disabled) = (self.gates, self.disabled);
        let is_on = |contents: &Contents| !disabled.iter().any(|name| name == contents.plugin);
        let mut followed = Vec::new();
        for (contents, directory, plugin) in [
            (&MUTATING_WEBHOOKS, mutating_webhooks, &self.mutating_webhooks),
            (&VALIDATING_WEBHOOKS, validating_webhooks, &self.validating_webhooks),
        ] {
            if let Some(directory) = directory.filter(|_| is_on(contents)) {
                followed.push(follow_directory(contents, directory, gates.clone(), plugin, of_webhooks)?);
            }
        }
        if let Some(directory) = mutating_policies.filter(|_| is_on(&MUTATING_POLICIES)) {
            let plugin = &self.mutating_policies;
            followed.push(follow_directory(&MUTATING_POLICIES, directory, gates.clone(), plugin, mutating)?);
        }
        if let Some(directory) = validating_policies.filter(|_| is_on(&VALIDATING_POLICIES)) {
            let plugin = &self.validating_policies;
            followed.push(follow_directory(&VALIDATING_POLICIES, directory, gates.clone(), plugin, validating)?);
        }
        Ok(followed)
    }
}

/// Applies the directory of a plugin now, and whenever its files change, as long as the plugin exists.
fn follow_directory<P: Send + Sync + 'static>(
    contents: &'static Contents,
    directory: PathBuf,
    gates: Arc<GateSet>,
    plugin: &Arc<P>,
    apply: fn(&P, &Manifests),
) -> Result<Arc<ManifestStats>, String> {
    let name = contents.plugin;
    let shown = quoted(&directory.to_string_lossy());
    let why = |error| format!("plugin {name}: failed to load static manifests from {shown}: {error}");
    let first = load(&directory, contents, &gates).map_err(why)?;
    apply(plugin, &first);
    let stats = Arc::new(ManifestStats {
        plugin: name,
        applied: Reloads::default(),
        failed: Reloads::default(),
        hash: Mutex::default(),
    });
    stats.applied(&first.hash);
    let (counting, mut last, mut counted) = (stats.clone(), first.hash, String::new());
    let look = move |plugin: &P| {
        let outcome = load(&directory, contents, &gates);
        let fault = outcome.as_ref().err().cloned().unwrap_or_default();
        // An invalid directory counts once, however often it is read.
        if !fault.is_empty() && fault != counted {
            counting.failed.happened();
        }
        counted = fault;
        let manifests = outcome?;
        if manifests.hash != last {
            apply(plugin, &manifests);
            counting.applied(&manifests.hash);
            last = manifests.hash;
        }
        Ok(())
    };
    follow("static admission manifests", plugin, look).map_err(|error| error.to_string())?;
    Ok(stats)
}

/// Reads the objects of a directory.
///
/// # Errors
/// A file cannot be read, or has an object that is invalid or not for the plugin.
fn load(directory: &Path, contents: &Contents, gates: &GateSet) -> Result<Manifests, String> {
    let files = read_files(directory)?;
    let mut digested = Vec::new();
    let mut found = Found { contents, gates, configurations: BTreeMap::new(), bindings: BTreeMap::new() };
    for (path, text) in &files {
        let file = path.to_string_lossy();
        let wrong = |error: String| format!("error loading {file}: {error}");
        let text = std::str::from_utf8(text).map_err(|error| wrong(error.to_string()))?;
        digested.extend_from_slice(text.as_bytes());
        digested.push(0);
        for document in documents(text) {
            found.take_document(document, &file).map_err(wrong)?;
        }
    }
    found.check_references()?;
    let objects = |found: BTreeMap<String, (Value, String)>| found.into_values().map(|(object, _)| object).collect();
    Ok(Manifests {
        configurations: objects(found.configurations),
        bindings: objects(found.bindings),
        hash: if digested.is_empty() { String::new() } else { text_digest(&digested) },
    })
}

/// The files of a directory that may hold objects, in the order of their names, without empty ones.
fn read_files(directory: &Path) -> Result<Vec<(PathBuf, Vec<u8>)>, String> {
    let shown = quoted(&directory.to_string_lossy());
    let unreadable = |error: std::io::Error| format!("failed to read manifest directory {shown}: {error}");
    let (mut paths, mut bytes) = (Vec::new(), 0);
    for entry in std::fs::read_dir(directory).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        let path = entry.path();
        let extension = path.extension().map(|extension| extension.to_string_lossy().to_ascii_lowercase());
        let is_manifest = matches!(extension.as_deref(), Some("yaml" | "yml" | "json"));
        if is_manifest && !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            paths.push(path);
        }
    }
    paths.sort();
    let mut files = Vec::with_capacity(paths.len());
    for path in paths {
        let failed =
            |why: &dyn std::fmt::Display| format!("failed to read file {}: {why}", quoted(&path.to_string_lossy()));
        bytes += std::fs::metadata(&path).map_err(|error| failed(&error))?.len();
        if bytes > MAX_DIRECTORY_BYTES {
            return Err(failed(&format_args!("the files of the directory have more than {MAX_DIRECTORY_BYTES} bytes")));
        }
        let text = std::fs::read(&path).map_err(|error| failed(&error))?;
        if !text.is_empty() {
            files.push((path, text));
        }
    }
    Ok(files)
}

/// The documents of a file, without those that have nothing but comments.
fn documents(text: &str) -> Vec<&str> {
    let (mut documents, mut start, mut at) = (Vec::new(), 0, 0);
    for line in text.split_inclusive('\n') {
        if line.trim_end() == "---" {
            documents.extend(text.get(start..at));
            start = at + line.len();
        }
        at += line.len();
    }
    documents.extend(text.get(start..));
    let has_content =
        |document: &&str| document.lines().map(str::trim).any(|line| !line.is_empty() && !line.starts_with('#'));
    documents.retain(has_content);
    documents
}

/// The objects found so far, by name, each with its file.
struct Found<'a> {
    contents: &'a Contents,
    gates: &'a GateSet,
    configurations: BTreeMap<String, (Value, String)>,
    bindings: BTreeMap<String, (Value, String)>,
}

impl Found<'_> {
    fn take_document(&mut self, text: &str, file: &str) -> Result<(), String> {
        let bytes = text.as_bytes();
        let is_json = text.trim_start().starts_with('{');
        let parsed = match is_json {
            true => json::parse(bytes, Strictness::Ignore),
            false => yaml::parse(bytes, Strictness::Ignore),
        };
        let head = parsed.map_err(|error| error.to_string())?.value;
        self.take(&head, file, 0, &|schema| match is_json {
            true => json::decode(schema, bytes, Strictness::Collect),
            false => yaml::decode(schema, bytes, Strictness::Collect),
        })
    }

    /// Takes an object, or those of a list. `decode` decodes it strictly under a schema.
    fn take(
        &mut self,
        head: &Value,
        file: &str,
        depth: usize,
        decode: &dyn Fn(&Struct) -> Result<Decoded, DecodeError>,
    ) -> Result<(), String> {
        let (api_version, kind) = (head.str_at(&["apiVersion"]), head.str_at(&["kind"]));
        if kind.is_empty() {
            return Err("Object 'Kind' is missing".to_owned());
        }
        let own_version = format!("{GROUP}/{VERSION}");
        let Contents { kind: configuration, binding, .. } = *self.contents;
        let is_list_of = |own: &str| api_version == own_version && kind.strip_suffix("List") == Some(own);
        if (api_version, kind) == ("v1", "List") || is_list_of(configuration) || binding.is_some_and(is_list_of) {
            return self.take_list(head, file, depth);
        }
        let is_own = |own: &str| api_version == own_version && kind == own;
        let is_binding = binding.is_some_and(is_own);
        if !is_binding && !is_own(configuration) {
            return Err(format!("unsupported resource type {api_version}, Kind={kind}"));
        }
        let object = complete(kind, decode, self.gates)?;
        let name = object.str_at(&["metadata", "name"]).to_owned();
        let known = if is_binding { &mut self.bindings } else { &mut self.configurations };
        check_manifest_name(&name, file, known.get(&name).map(|(_, file)| file.as_str()))?;
        check_isolated(&object, &name, kind, file)?;
        known.insert(name, (object, file.to_owned()));
        Ok(())
    }

    fn take_list(&mut self, list: &Value, file: &str, depth: usize) -> Result<(), String> {
        if depth >= MAX_LIST_DEPTH {
            return Err(format!("more than {MAX_LIST_DEPTH} lists are within each other"));
        }
        let fields = list.as_map().into_iter().flat_map(|map| map.iter());
        let is_known = |field: &str| matches!(field, "apiVersion" | "kind" | "metadata" | "items");
        if let Some((field, _)) = fields.into_iter().find(|(field, _)| !is_known(field)) {
            return Err(format!("strict decoding error: unknown field {}", quoted(field)));
        }
        for item in list.get("items").and_then(Value::as_list).unwrap_or_default() {
            let text = json::to_vec(item);
            let taken = self.take(item, file, depth + 1, &|schema| json::decode(schema, &text, Strictness::Collect));
            taken.map_err(|error| format!("failed to decode list item: {error}"))?;
        }
        Ok(())
    }

    /// Bindings bind policies of the same directory.
    fn check_references(&self) -> Result<(), String> {
        for (name, (binding, _)) in &self.bindings {
            let policy = binding.str_at(&["spec", "policyName"]);
            if !self.configurations.contains_key(policy) {
                let [name, policy] = [name, policy].map(quoted);
                return Err(format!(
                    "binding {name} references policy {policy} which does not exist in the manifest directory"
                ));
            }
        }
        Ok(())
    }
}

/// Decodes an object, fills in defaults and validates it, as a create would.
fn complete(
    kind: &str,
    decode: &dyn Fn(&Struct) -> Result<Decoded, DecodeError>,
    gates: &GateSet,
) -> Result<Value, String> {
    let is_it =
        |resource: &&Arc<Resource>| resource.group == GROUP && resource.version == VERSION && resource.kind == kind;
    let resource = pintle_groups::all().find(is_it).ok_or_else(|| format!("no kind {}", quoted(kind)))?;
    let decoded = decode(&resource.schema).map_err(|error| error.to_string())?;
    if !decoded.problems.is_empty() {
        let problems: Vec<String> = decoded.problems.iter().map(ToString::to_string).collect();
        return Err(format!("strict decoding error: {}", problems.join(", ")));
    }
    let mut object = decoded.value;
    resource.complete_now(&mut object, 0).map_err(|error| error.to_string())?;
    canonicalize(resource.stored_schema(), &mut object);
    // The names that are reserved for these objects are no mistake in them.
    let gates = gates.clone().with(&MANIFESTS, false);
    let request = Request {
        api_version: &resource.api_version(),
        namespaced: false,
        name_check: &|name, prefix| check_name(&resource.strategy.name, name, prefix, &gates),
        gates: &gates,
        ..Request::new(Operation::Create)
    };
    let errors = resource.rules.validate(resource.stored_schema(), &object, None, &request).errors;
    if errors.is_empty() { Ok(object) } else { Err(errors.summary().to_string()) }
}

fn check_manifest_name(name: &str, file: &str, before: Option<&str>) -> Result<(), String> {
    let [shown, file] = [name, file].map(quoted);
    if name.is_empty() {
        return Err(format!("resource in file {file} must have a name"));
    }
    if !name.ends_with(STATIC_SUFFIX) {
        return Err(format!("{shown} in file {file} must have a name ending with {}", quoted(STATIC_SUFFIX)));
    }
    match before.map(quoted) {
        Some(before) => Err(format!("duplicate name {shown} found in file {file} (previously seen in {before})")),
        None => Ok(()),
    }
}

/// Checks that an object refers to no object of the API.
fn check_isolated(object: &Value, name: &str, kind: &str, file: &str) -> Result<(), String> {
    let is_set = |value: &Value, path: &[&str]| value.at(path).is_some_and(|value| !value.is_null());
    let [shown, file] = [name, file].map(quoted);
    for hook in object.get("webhooks").and_then(Value::as_list).unwrap_or_default() {
        let hook_name = quoted(hook.str_at(&["name"]));
        let place = format!("webhook {hook_name} in {shown} (file {file})");
        if is_set(hook, &["clientConfig", "service"]) {
            return Err(format!(
                "{place}: clientConfig.service is not supported for static manifests; use clientConfig.url instead"
            ));
        }
        if hook.str_at(&["clientConfig", "url"]).is_empty() {
            return Err(format!("{place}: clientConfig.url is required for static manifests"));
        }
    }
    if is_set(object, &["spec", "paramKind"]) {
        return Err(format!("{kind} {shown}: spec.paramKind is not supported for static manifests"));
    }
    let policy = object.str_at(&["spec", "policyName"]);
    if !policy.is_empty() && !policy.ends_with(STATIC_SUFFIX) {
        let (policy, suffix) = (quoted(policy), quoted(STATIC_SUFFIX));
        return Err(format!("binding {shown}: spec.policyName {policy} must end with {suffix}"));
    }
    if is_set(object, &["spec", "paramRef"]) {
        return Err(format!("binding {shown}: spec.paramRef is not supported for static manifests"));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
