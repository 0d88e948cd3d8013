//! Preparation of objects for the store: the common steps of create and update.
//!
//! normalize → default → storage version → strategy → validate → canonical form. `create` and `update` call each step by name
//! in this order; nothing is registered.

use crate::environment::Environment;
use crate::status::{Result, Status};
use crate::{Registry, Target, WriteOptions, metadata, set_type};
use pintle_meta::meta::v1::ObjectMeta;
use pintle_resource::{Context, NameRule, Path, Resource, Strategy, Written};
use pintle_schema::{ApiType, GateSet, Struct, Value, canonicalize, names, with_empties};
use pintle_validation::{
    Comparison, ErrorList, OUTCOMES, Operation, Request, Subject, ValidationEnvironment, metadata as rules,
};
use tracing::warn;

impl Registry {
    /// A request's object, decoded and of the target's version, as a full object of the storage version.
    ///
    /// # Errors
    /// It cannot be converted to the storage version.
    pub(crate) async fn complete(&self, target: &Target, object: &mut Value) -> Result<()> {
        target.resource.complete(object, self.environment.now_unix()).await.map_err(Status::not_converted)?;
        self.set_type_and_namespace(target, object);
        Ok(())
    }

    /// Sets the type of an object of the storage version, and sets or clears its namespace.
    pub(crate) fn set_type_and_namespace(&self, target: &Target, object: &mut Value) {
        set_type(object, &target.storage().api_version, &target.storage().kind);
        match target.resource.namespaced {
            true => metadata::set(object, "namespace", target.namespace.as_str()),
            false => metadata::clear(object, "namespace"),
        }
    }

    pub(crate) fn context<'a>(&'a self, options: &'a WriteOptions, warnings: &'a mut Vec<String>) -> Context<'a> {
        Context {
            now_unix: self.environment.now_unix(),
            user: &options.context.user().name,
            user_uid: &options.context.user().uid,
            groups: &options.context.user().groups,
            extra: &options.context.user().extra,
            environment: &self.environment,
            sent_labels: true,
            warnings,
        }
    }

    /// Canonical form under the storage version.
    pub fn canonicalize(&self, target: &Target, object: &mut Value) {
        canonicalize(&target.storage().schema, object);
    }

    /// The same for an object that takes the place of another.
    pub(crate) fn canonicalize_against<'a>(
        &self,
        target: &Target,
        object: &'a mut Value,
        old: &'a Value,
    ) -> Comparison<'a> {
        Comparison::canonical(&target.storage().schema, object, old)
    }
}

/// Clears the fields that clients may not set on create.
pub(crate) fn clear_on_create(strategy: &Strategy, object: &mut Value) {
    strategy.create_clears.iter().for_each(|path| clear_path(object, path));
}

fn clear_path(object: &mut Value, path: Path) {
    object.remove_at(path);
}

/// Validates a new object: by its kind's rules, and if these find no error, by the rules for all names.
pub(crate) fn validate_create(
    target: &Target,
    object: &Value,
    object_environment: &dyn ValidationEnvironment,
    user: &str,
    environment: &dyn Environment,
    warnings: &mut Vec<String>,
) -> Result<()> {
    let candidate = Candidate { object, beside: None, object_environment, subresource: "" };
    validate(target, &candidate, user, environment, ErrorList::default(), warnings)?;
    let mut errors = ErrorList::default();
    let meta = object.get("metadata").unwrap_or(&Value::Null);
    let check = |name: &str, prefix: bool| check_name(&NameRule::PathSegment, name, prefix, environment.gates());
    rules::validate_create(meta, target.resource.namespaced, &check, &mut errors);
    invalid(target, object, errors)
}

/// Validates an object that replaces a stored one, written through a subresource unless that is "".
pub(crate) fn validate_update(
    target: &Target,
    comparison: &Comparison<'_>,
    object_environment: &dyn ValidationEnvironment,
    subresource: &str,
    user: &str,
    environment: &dyn Environment,
    warnings: &mut Vec<String>,
) -> Result<()> {
    let mut errors = ErrorList::default();
    // kube-apiserver validates metadata here for all kinds, and again with the rules of the kind: causes repeat.
    let check = |name: &str, prefix: bool| check_name(&NameRule::PathSegment, name, prefix, environment.gates());
    rules::validate_compared(comparison, target.resource.namespaced, &check, &mut errors);
    let candidate =
        Candidate { object: comparison.new_object(), beside: Some(comparison), object_environment, subresource };
    validate(target, &candidate, user, environment, errors, warnings)
}

/// The object to validate.
struct Candidate<'a> {
    object: &'a Value,
    /// It and the stored object that it replaces.
    beside: Option<&'a Comparison<'a>>,
    object_environment: &'a dyn ValidationEnvironment,
    subresource: &'a str,
}

fn validate(
    target: &Target,
    candidate: &Candidate<'_>,
    user: &str,
    environment: &dyn Environment,
    mut errors: ErrorList,
    warnings: &mut Vec<String>,
) -> Result<()> {
    let Candidate { object, beside, object_environment, subresource } = *candidate;
    if let Some([api_version, kind]) = object_environment.other_type() {
        let own = (target.resource.api_version(), &*target.resource.kind);
        for (field, found, wanted) in [("kind", kind, own.1), ("apiVersion", api_version, &*own.0)] {
            if found != wanted {
                errors.invalid(field, found, format!("must be {wanted}"));
            }
        }
    }
    let rule = &target.resource.strategy.name;
    let gates = environment.gates();
    let request = Request {
        operation: if beside.is_some() { Operation::Update } else { Operation::Create },
        subresource,
        api_version: &target.resource.api_version(),
        namespaced: target.resource.namespaced,
        name_check: &|name, prefix| check_name(rule, name, prefix, gates),
        gates,
        environment: object_environment,
    };
    let (schema, kind_rules) = match &target.resource.custom {
        Some(_) => (&target.resource.schema, &target.resource.rules),
        None => (&target.storage().schema, &target.stored.hub.rules),
    };
    let mut verdict = match beside {
        Some(comparison) => kind_rules.validate_update(schema, comparison, &request),
        None => kind_rules.validate(schema, object, None, &request),
    };
    let (name, namespace) = (metadata::text(object, "name"), metadata::text(object, "namespace"));
    let subject = Subject { resource: &target.resource.plural, namespace, name, user };
    OUTCOMES.note(&verdict, subject, &|line| warn!("{line}"));
    if !verdict.errors.is_empty()
        && let Some(sent) = object_environment.empties()
    {
        // Validation errors show empty fields as sent. This changes their text only.
        let mut shown = object.clone();
        with_empties(schema, &mut shown, sent, &shows_empties);
        let shown_errors = kind_rules.validate(schema, &shown, beside.map(Comparison::old_object), &request).errors;
        if shown_errors.is_about_the_same_as(&verdict.errors) {
            verdict.errors = shown_errors;
        }
    }
    warnings.append(&mut verdict.warnings);
    errors.0.extend(verdict.errors.0);
    match object_environment.other_type() {
        Some([api_version, kind]) if !errors.is_empty() => {
            let group = api_version.rsplit_once('/').map_or("", |(group, _)| group);
            Err(Status::invalid(group, kind, metadata::text(object, "name"), &errors))
        }
        _ => invalid(target, object, errors),
    }
}

/// Validates some fields of an object's struct before the object is complete.
pub fn validate_fields(
    target: &Target,
    fields: (&str, &[&str]),
    object: &Value,
    old: Option<&Value>,
    environment: &dyn Environment,
) -> ErrorList {
    let operation = if old.is_some() { Operation::Update } else { Operation::Create };
    let request = Request {
        api_version: &target.resource.api_version(),
        namespaced: target.resource.namespaced,
        gates: environment.gates(),
        ..Request::new(operation)
    };
    target.stored.hub.rules.validate_fields(&target.storage().schema, fields, object, old, &request)
}

/// Whether kube-apiserver prints empty fields of a struct in messages: it prints types shared by all groups as JSON, except the
/// metadata of templates, which it never prints whole.
fn shows_empties(schema: &Struct) -> bool {
    schema.group_version().0 != "meta" || std::ptr::eq(schema, ObjectMeta::schema())
}

/// Validates an object that is only returned and never stored. kube-apiserver's error names no kind.
///
/// # Errors
/// The object breaks a rule.
pub fn validate_review(resource: &Resource, object: &Value, environment: &dyn Environment) -> Result<()> {
    let request = Request {
        api_version: &resource.api_version(),
        namespaced: resource.namespaced,
        gates: environment.gates(),
        ..Request::new(Operation::Create)
    };
    let verdict = resource.rules.validate(&resource.schema, object, None, &request);
    let subject = Subject { resource: &resource.plural, namespace: "", name: "", user: "" };
    OUTCOMES.note(&verdict, subject, &|line| warn!("{line}"));
    if verdict.errors.is_empty() {
        return Ok(());
    }
    Err(Status::invalid(&resource.group, "", "", &verdict.errors))
}

/// Collects the warnings about a valid object.
pub(crate) fn warn(
    target: &Target,
    object: &Value,
    old: Option<&Value>,
    subresource: &str,
    environment: &dyn Environment,
    warnings: &mut Vec<String>,
) {
    if let Some(warn) = target.stored.hub.warn {
        warn(&Written { object, old, subresource, gates: environment.gates() }, warnings);
    }
}

/// 422 when there are errors. kube-apiserver names the group that the object is stored under.
pub(crate) fn invalid(target: &Target, object: &Value, errors: ErrorList) -> Result<()> {
    if errors.is_empty() {
        return Ok(());
    }
    let name = metadata::text(object, "name");
    let group = target.storage().api_version.split_once('/').map_or("", |(group, _)| group);
    Err(Status::invalid(group, &target.resource.kind, name, &errors))
}

/// Checks a name, or a prefix for generated names, by the kind's rule.
pub fn check_name(rule: &NameRule, name: &str, prefix: bool, gates: &GateSet) -> Vec<String> {
    match rule {
        NameRule::Subdomain => names::dns1123_subdomain(&masked(name, prefix)),
        NameRule::Label => names::dns1123_label(&masked(name, prefix)),
        NameRule::Label1035 => names::dns1035_label(&masked(name, prefix)),
        NameRule::ConfigMapKey => names::config_map_key(name),
        NameRule::PathSegment if prefix => names::path_segment_prefix(name),
        NameRule::PathSegment => names::path_segment_name(name),
        NameRule::Ip => names::ip::ip(name),
        NameRule::Gated(gate, on, off) => check_name(if gates.is_on(gate) { on } else { off }, name, prefix, gates),
        NameRule::LongName if !prefix => names::long_name(name),
        NameRule::LongName | NameRule::None => Vec::new(),
    }
}

fn masked(name: &str, prefix: bool) -> std::borrow::Cow<'_, str> {
    if prefix { names::masked_prefix(name) } else { name.into() }
}
