//! Validation of CustomResourceDefinitions, with kube-apiserver's errors in its order.
//!
//! Validates definitions in their stored form, in which common parts of all versions are stored once. An update is not held to
//! rules that the stored definition violates already. Must never look at other definitions: the controller resolves names.

mod defaults;
pub mod non_structural;
pub mod rules;
mod schema;
mod spec;
#[cfg(test)]
mod tests;
pub mod warnings;

use crate::json_schema::JsonSchema;
use crate::structural;
use pintle_schema::{Str, Value, base64};
use pintle_validation::{ErrorList, FieldPath, webhook_client::Url};
use pintle_webhook::check_authorities;
use rules::StoredExpressions;
use std::collections::{HashMap, HashSet};

/// The annotation with the approval of a definition in a protected group.
const APPROVAL: &str = "api-approved.kubernetes.io";

/// A definition in its stored form, its schemas read.
pub(crate) struct Definition<'a> {
    pub spec: &'a Value,
    /// `validation`: the common schema of all versions, with its container.
    pub shared: Option<Option<JsonSchema>>,
    /// `schema` of each version.
    pub versions: Vec<(&'a Value, Option<Option<JsonSchema>>)>,
    /// Whether an empty list of versions was sent.
    pub sent_no_versions: bool,
}

static NULL: Value = Value::Null;

impl<'a> Definition<'a> {
    pub fn of(object: &'a Value) -> Self {
        Definition::of_sent(object, None)
    }

    /// The same, with the tree of the empty lists and maps that were sent.
    fn of_sent(object: &'a Value, sent: Option<&Value>) -> Self {
        let sent = sent.and_then(|sent| sent.get("spec"));
        let spec = object.get("spec").unwrap_or(&NULL);
        let schema = |holder: Option<&Value>, sent: Option<&Value>| {
            let holder = holder.filter(|holder| !holder.is_null())?;
            let schema = holder.get("openAPIV3Schema").filter(|schema| !schema.is_null());
            let sent = sent.and_then(|sent| sent.get("openAPIV3Schema"));
            Some(schema.map(|schema| JsonSchema::from_sent(schema, sent)))
        };
        let versions = spec.get("versions").and_then(Value::as_list).unwrap_or(&[]);
        Definition {
            spec,
            sent_no_versions: sent.and_then(|sent| sent.get("versions")?.as_list()).is_some_and(<[Value]>::is_empty),
            shared: schema(spec.get("validation"), sent.and_then(|sent| sent.get("validation"))),
            versions: versions
                .iter()
                .enumerate()
                .map(|(at, version)| {
                    // Common parts of all versions are stored once, even if the empty fields in
                    // their schemas differ.
                    let own = sent.and_then(|sent| sent.get("versions")?.as_list()?.get(at)?.get("schema"));
                    let sent = own.or_else(|| sent?.get("validation"));
                    (version, schema(version.get("schema"), sent))
                })
                .collect(),
        }
    }

    /// All schemas, the shared one first.
    pub fn schemas(&self) -> impl Iterator<Item = &JsonSchema> {
        self.shared.iter().flatten().chain(self.versions.iter().filter_map(|(_, schema)| schema.as_ref()?.as_ref()))
    }

    fn any(&self, mut has: impl FnMut(&JsonSchema) -> bool) -> bool {
        self.schemas().any(|schema| schema.any(&mut has))
    }

    /// The schema that objects of a version have.
    pub fn schema_of(&self, version: &str) -> Option<&JsonSchema> {
        let own = self.versions.iter().find(|(of, _)| text(of, "name") == version);
        match own.and_then(|(_, schema)| schema.as_ref()) {
            Some(schema) => schema.as_ref(),
            None => self.shared.as_ref().and_then(Option::as_ref),
        }
    }

    /// Whether unknown fields of all objects are kept, which new definitions may not enable.
    pub fn preserves_unknown(&self) -> bool {
        self.spec.get("preserveUnknownFields").and_then(Value::as_bool).unwrap_or_default()
    }
}

pub(crate) fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// The checks of a definition; for an update only those that the stored one passes.
pub(super) struct Options {
    pub require_recognized_review: bool,
    pub require_schema: bool,
    pub require_valid_types: bool,
    pub require_structural: bool,
    pub require_pruned_defaults: bool,
    pub require_atomic_sets: bool,
    pub require_map_list_keys: bool,
    pub stored_expressions: StoredExpressions,
    /// Versions whose schema is unchanged.
    pub stored_versions: HashSet<Str>,
    /// Whether the schema being validated is unchanged.
    pub is_stored_schema: bool,
    /// Whether the conversion webhook may have authorities that cannot be used.
    pub allow_unusable_authorities: bool,
    /// Versions, "" for all, that had too many selectable fields before.
    pub many_selectable: HashSet<String>,
}

impl Options {
    fn new() -> Self {
        Options {
            require_recognized_review: true,
            require_schema: true,
            require_valid_types: true,
            require_structural: true,
            require_pruned_defaults: true,
            require_atomic_sets: true,
            require_map_list_keys: true,
            stored_expressions: StoredExpressions::default(),
            stored_versions: HashSet::new(),
            is_stored_schema: false,
            allow_unusable_authorities: true,
            many_selectable: HashSet::new(),
        }
    }

    fn of_update(new: &Definition<'_>, old: &Definition<'_>) -> Self {
        let mut stored_expressions = StoredExpressions::default();
        old.schemas().for_each(|schema| stored_expressions.add(schema));
        let reviews = spec::review_versions(old.spec);
        let invalid_type = |schema: &JsonSchema| !structural::is_valid_type(&schema.kind);
        let loose_set = |schema: &JsonSchema| {
            let Some(item) = schema.item().filter(|_| schema.list_type.as_deref() == Some("set")) else { return false };
            match item.kind.as_str() {
                "array" => item.list_type.as_deref().is_some_and(|of| of != "atomic"),
                "object" => item.map_type.as_deref() != Some("atomic"),
                _ => false,
            }
        };
        let loose_keys = |schema: &JsonSchema| {
            let mut errors = ErrorList::default();
            schema::items_of_sets_and_maps(schema, &FieldPath::ROOT, &mut errors);
            !errors.is_empty()
        };
        let has_all_schemas = match &old.shared {
            Some(Some(_)) => true,
            _ => old.versions.iter().all(|(_, schema)| matches!(schema, Some(Some(_)))),
        };
        let unpruned = |schema: &JsonSchema| structural::is_structural(schema) && defaults::has_unpruned(schema);
        Options {
            require_recognized_review: reviews.is_empty()
                || reviews.iter().any(|version| spec::is_known_review(version)),
            require_schema: has_all_schemas,
            require_valid_types: !old.any(invalid_type),
            require_structural: old.schemas().all(structural::is_structural),
            require_pruned_defaults: !old.schemas().any(unpruned),
            require_atomic_sets: !old.any(loose_set),
            require_map_list_keys: !old.any(loose_keys),
            stored_expressions,
            stored_versions: new
                .versions
                .iter()
                .map(|(version, _)| text(version, "name"))
                .filter(|name| new.schema_of(name) == old.schema_of(name))
                .map(Str::new)
                .collect(),
            many_selectable: spec::with_many_selectable(new.spec, old.spec),
            ..Options::new()
        }
    }
}

/// What is wrong with a definition, besides its metadata; with the one it replaces, on update.
///
/// Both are in their stored form; `sent` is the tree of the empty lists and maps that were sent, which that form does not hold.
/// New rules are compiled for the minor release of Kubernetes 1 that is given, or for the one before the current.
pub fn validate_definition(
    new: &Value,
    old: Option<&Value>,
    sent: Option<&Value>,
    compatibility_minor: Option<u32>,
) -> ErrorList {
    let mut errors = ErrorList::default();
    let definition = Definition::of_sent(new, sent);
    let path = FieldPath::new("spec");
    match old {
        None => {
            let mut options = Options::new();
            options.stored_expressions.new_minor = compatibility_minor;
            spec::validate(&definition, &mut options, &path, &mut errors);
        }
        Some(old) => {
            let stored = Definition::of(old);
            let mut options = Options::of_update(&definition, &stored);
            options.stored_expressions.new_minor = compatibility_minor;
            options.allow_unusable_authorities = !is_established(old) || has_unusable_authorities(old);
            spec::validate(&definition, &mut options, &path, &mut errors);
            spec::validate_update(&definition, &stored, is_established(old), &path, &mut errors);
        }
    }
    validate_status(new, &mut errors);
    stored_versions(new, &definition, &mut errors);
    approval(new, old, &mut errors);
    if definition.preserves_unknown() && !old.is_some_and(|old| Definition::of(old).preserves_unknown()) {
        let detail =
            "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead";
        errors.invalid(path.child("preserveUnknownFields"), true, detail);
    }
    errors
}

/// Validates the status of a definition.
pub fn validate_status(object: &Value, errors: &mut ErrorList) {
    let names = object.at(&["status", "acceptedNames"]).unwrap_or(&NULL);
    spec::names(names, &FieldPath::new("status").child("acceptedNames"), errors);
}

/// Whether a condition of a definition is true.
pub fn has_condition(object: &Value, kind: &str) -> bool {
    let conditions = object.at(&["status", "conditions"]).and_then(Value::as_list).unwrap_or(&[]);
    conditions.iter().any(|condition| text(condition, "type") == kind && text(condition, "status") == "True")
}

/// Whether objects of a definition are served.
pub fn is_established(object: &Value) -> bool {
    has_condition(object, "Established")
}

/// Whether a definition has all the names that it asks for.
pub fn has_its_names(object: &Value) -> bool {
    let names = |path: &[&str]| object.at(path).cloned().unwrap_or_default();
    pintle_resource::same(&names(&["spec", "names"]), &names(&["status", "acceptedNames"]))
}

/// Why a bundle of authorities, in base64, cannot be used; `None` also if it is empty.
fn unusable_authorities(bundle: &str) -> Option<String> {
    let pem = base64::decode(bundle).unwrap_or_default();
    if pem.is_empty() {
        return None;
    }
    check_authorities(&pem).err().map(|error| error.to_string())
}

/// Whether the conversion webhook of a definition, in its stored form or a version's, has authorities that cannot be used: its
/// objects are not served before it has others.
pub fn has_unusable_authorities(object: &Value) -> bool {
    let Some(conversion) = object.at(&["spec", "conversion"]) else { return false };
    let client = conversion.get("webhookClientConfig").or_else(|| conversion.at(&["webhook", "clientConfig"]));
    client.is_some_and(|client| unusable_authorities(text(client, "caBundle")).is_some())
}

/// Checks the name of a new definition, or its prefix: it is derived from the names of its resource.
pub fn name_fault(object: &Value, name: &str) -> Option<String> {
    let [plural, group] = [&["spec", "names", "plural"][..], &["spec", "group"]].map(|path| object.str_at(path));
    (name != format!("{plural}.{group}")).then(|| "must be spec.names.plural+\".\"+spec.group".to_owned())
}

/// Versions that objects are stored in stay versions of the definition.
fn stored_versions(object: &Value, definition: &Definition<'_>, errors: &mut ErrorList) {
    let status = FieldPath::new("status");
    let path = status.child("storedVersions");
    let stored = object.at(&["status", "storedVersions"]).unwrap_or(&NULL);
    let names: Vec<&str> = stored.as_list().unwrap_or(&[]).iter().filter_map(Value::as_str).collect();
    if names.is_empty() {
        return errors.invalid(path, stored.clone(), "must have at least one stored version");
    }
    // kube-apiserver finds each stored version once: of several versions with its name, the first has it.
    let mut left: HashMap<&str, usize> = names.iter().enumerate().map(|(at, name)| (*name, at)).collect();
    for (version, _) in &definition.versions {
        let name = text(version, "name");
        let is_stored = left.remove(name).is_some();
        if version.get("storage").and_then(Value::as_bool).unwrap_or_default() && !is_stored {
            errors.invalid(path, stored.clone(), format!("must have the storage version {name}"));
        }
    }
    let mut missing: Vec<(usize, &str)> = left.into_iter().map(|(name, at)| (at, name)).collect();
    missing.sort_unstable();
    for (at, name) in missing {
        let detail = format!(
            "missing from spec.versions; {name} was previously a storage version, and must remain in spec.versions until a \
             storage migration ensures no data remains persisted in {name} and removes {name} from status.storedVersions"
        );
        errors.invalid(path.index(at), name, detail);
    }
}

/// Whether a definition in a group of Kubernetes is approved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Approval {
    Missing,
    Invalid,
    Approved,
    Bypassed,
}

/// Whether a group is Kubernetes' own, so that definitions of it need an approval.
pub fn is_protected_group(group: &str) -> bool {
    let is_below = |owner: &str| group.strip_suffix(owner).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
    is_below("k8s.io") || is_below("kubernetes.io")
}

/// The approval state of a definition, and its message.
pub fn approval_state(object: &Value) -> (Approval, String) {
    let text = object.str_at(&["metadata", "annotations", APPROVAL]);
    let needed = format!("protected groups must have approval annotation {APPROVAL:?}");
    const SEE: &str = "see https://github.com/kubernetes/enhancements/pull/1111";
    let url = Url::of(text);
    if text.is_empty() {
        (Approval::Missing, format!("{needed}, {SEE}"))
    } else if text.starts_with("unapproved") {
        (Approval::Bypassed, format!("not approved: {text:?}"))
    } else if !url.scheme.is_empty() && !url.host.is_empty() {
        (Approval::Approved, format!("approved in {text}"))
    } else {
        (Approval::Invalid, format!("{needed} with either a URL or a reason starting with \"unapproved\", {SEE}"))
    }
}

fn approval(new: &Value, old: Option<&Value>, errors: &mut ErrorList) {
    if !is_protected_group(new.str_at(&["spec", "group"])) {
        return;
    }
    let (state, reason) = approval_state(new);
    if old.is_some_and(|old| approval_state(old).0 == state) {
        return;
    }
    let (metadata, annotations) = (FieldPath::new("metadata"), "annotations");
    let annotations = metadata.child(annotations);
    let path = annotations.key(APPROVAL);
    match state {
        Approval::Missing => errors.required(path, reason),
        Approval::Invalid => errors.invalid(path, new.str_at(&["metadata", "annotations", APPROVAL]), reason),
        Approval::Approved | Approval::Bypassed => {}
    }
}
