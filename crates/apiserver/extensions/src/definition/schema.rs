//! The schema of one version of a definition: which keywords it may state, and how they go together.

use super::rules::{Budget, TotalCost, cardinality_inside, report};
use super::{Options, defaults};
use crate::json_schema::{Dependency, Items, JsonSchema, SchemaOrBool, ValidationRule};
use crate::rules::{NoCelType, Node, RuleTree};
use crate::structural::{TYPES, is_valid_type};
use crate::{field_path, object, shown, structural};
use pintle_schema::{Str, Value};
use pintle_validation::{ErrorKind, ErrorList, FieldPath};

/// Keywords that a schema may state at its root while the status is a subresource.
const ROOT_KEYWORDS: [&str; 22] = [
    "Description",
    "Type",
    "Format",
    "Title",
    "Maximum",
    "ExclusiveMaximum",
    "Minimum",
    "ExclusiveMinimum",
    "MaxLength",
    "MinLength",
    "Pattern",
    "MaxItems",
    "MinItems",
    "UniqueItems",
    "MultipleOf",
    "Required",
    "Items",
    "Properties",
    "ExternalDocs",
    "Example",
    "XPreserveUnknownFields",
    "XValidations",
];

/// Validates the `schema` of a version, or the common `validation`.
pub(super) fn validate(
    schema: Option<&JsonSchema>,
    has_status: bool,
    options: &Options,
    path: &FieldPath<'_>,
    errors: &mut ErrorList,
) {
    let Some(schema) = schema else { return };
    let start = errors.0.len();
    let root = path.child("openAPIV3Schema");
    if has_status {
        at_root(schema, path, errors);
    }
    if schema.nullable {
        errors.forbidden(path.child("openAPIV3Schema.nullable"), "nullable cannot be true at the root");
    }
    let mut no_form = None;
    let mut rules = None;
    if options.require_structural {
        match structural::convertible(schema) {
            Err(reason) => no_form = Some(reason),
            Ok(()) => {
                let mut found = structural::validate(schema, &root);
                if found.is_empty() {
                    let tree = RuleTree::new(schema, true);
                    let of_root = tree.as_ref().ok().and_then(RuleTree::root);
                    found = defaults::validate(schema, of_root, options.require_pruned_defaults, &root);
                    rules = Some(tree).filter(|_| found.is_empty());
                }
                errors.0.extend(found.0);
            }
        }
    }
    let mut walk = Walk { options, total: TotalCost::default(), of_rules: ErrorList::default() };
    let scope = match &rules {
        None => Scope::Unruled,
        Some(rules) => Scope::of(rules),
    };
    let context = Context {
        allow_defaults: Ok(()),
        inside_meta: false,
        uncorrelatable: None,
        scope,
        is_below_rules: false,
        cardinality: Some(1),
        is_root: true,
    };
    let mut found = ErrorList::default();
    walk.schema(schema, &context, &root, &mut found);
    errors.0.extend(found.0);
    errors.0.extend(walk.of_rules.0);
    if errors.0.len() == start
        && let Some(reason) = no_form
    {
        errors.invalid(root, "", reason);
    }
    walk.total.report(path, errors);
}

/// If the status is validated separately, the root of a schema may only use keywords that still apply then.
fn at_root(schema: &JsonSchema, path: &FieldPath<'_>, errors: &mut ErrorList) {
    let shown = shown::schema(schema);
    let is_set = |value: &Value| !matches!(value, Value::Null | Value::Bool(false)) && *value != Value::from("");
    for (name, _) in shown.as_map().into_iter().flat_map(|map| map.iter()).filter(|(_, value)| is_set(value)) {
        if name == "Type" {
            if schema.kind != "object" {
                let detail = "only \"object\" is allowed as the type at the root of the schema if the status subresource is enabled";
                errors.invalid(path.child("openAPIV3Schema.type"), schema.kind.clone(), detail);
                return;
            }
        } else if !ROOT_KEYWORDS.contains(&name.as_str()) {
            let detail = format!(
                "only [{}] fields are allowed at the root of the schema if the status subresource is enabled",
                ROOT_KEYWORDS.join(" ")
            );
            return errors.invalid(path.child("openAPIV3Schema"), shown.clone(), detail);
        }
    }
}

/// Where rules of a schema are found.
#[derive(Clone, Copy)]
enum Scope<'a> {
    /// No rules are compiled here: below logical schemas, and where the whole schema is wrong.
    Unruled,
    /// No rules were found so far, for want of a type in CEL: those below may have one.
    Outside,
    Inside(&'a Node),
    /// A schema that has rules, or one above that, has no type in CEL: nor have those below.
    NoCelType,
}

impl<'a> Scope<'a> {
    fn of(rules: &'a Result<RuleTree, NoCelType>) -> Scope<'a> {
        match rules {
            Ok(rules) => rules.root().map_or(Scope::Outside, Scope::Inside),
            Err(NoCelType) => Scope::NoCelType,
        }
    }
}

/// Context from the enclosing schemas.
#[derive(Clone)]
struct Context<'a> {
    /// Why a default may not be set here.
    allow_defaults: Result<(), String>,
    inside_meta: bool,
    /// The outermost schema within which old and new values cannot be correlated.
    uncorrelatable: Option<String>,
    scope: Scope<'a>,
    /// Whether a schema above has rules.
    is_below_rules: bool,
    cardinality: Option<u64>,
    is_root: bool,
}

impl<'a> Context<'a> {
    fn without_rules(&self) -> Context<'a> {
        Context { scope: Scope::Unruled, is_root: false, ..self.clone() }
    }

    /// With the rules of a part of the schema.
    fn inside(self, find: impl FnOnce(&'a Node) -> Option<&'a Node>) -> Context<'a> {
        let scope = match self.scope {
            Scope::Inside(node) => find(node).map_or(Scope::Outside, Scope::Inside),
            other => other,
        };
        Context { scope, ..self }
    }

    fn uncorrelated(mut self, path: &FieldPath<'_>) -> Context<'a> {
        self.uncorrelatable.get_or_insert_with(|| path.to_string());
        self
    }
}

struct Walk<'a> {
    options: &'a Options,
    total: TotalCost,
    /// Errors of rules, reported after those of the schemas.
    of_rules: ErrorList,
}

impl Walk<'_> {
    fn schema(&mut self, schema: &JsonSchema, context: &Context<'_>, path: &FieldPath<'_>, errors: &mut ErrorList) {
        let start = errors.0.len();
        // Rules below a schema without a type in CEL have types of their own.
        let own;
        let mut context = context;
        let with_own;
        if matches!(context.scope, Scope::Outside) && !schema.validations.is_empty() {
            own = match context.is_below_rules {
                true => Err(NoCelType),
                false => RuleTree::new(schema, schema.embedded_resource),
            };
            with_own = Context { scope: Scope::of(&own), ..context.clone() };
            context = &with_own;
        }
        self.keywords(schema, context, path, errors);
        if schema.unique_items {
            let detail = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
            errors.forbidden(path.child("uniqueItems"), detail);
        }
        self.inside(schema, context, path, errors);
        extensions(schema, self.options, path, errors);
        for (at, rule) in schema.validations.iter().enumerate() {
            of_rule(schema, rule, &path.child("x-kubernetes-validations").index(at), errors);
        }
        if errors.0.len() == start && !schema.validations.is_empty() {
            self.rules(schema, context, path);
        }
    }

    fn rules(&mut self, schema: &JsonSchema, context: &Context<'_>, path: &FieldPath<'_>) {
        let node = match context.scope {
            Scope::Unruled | Scope::Outside => return,
            Scope::Inside(node) => node,
            Scope::NoCelType => {
                let detail = format!(
                    "internal error: failed to construct type information for x-kubernetes-validations rules: {NoCelType}"
                );
                return self.of_rules.push(ErrorKind::Internal, path.child("x-kubernetes-validations"), None, detail);
            }
        };
        let budget = Budget {
            cardinality: context.cardinality,
            uncorrelatable: context.uncorrelatable.as_deref(),
            is_stored: self.options.is_stored_schema,
        };
        let stored = &self.options.stored_expressions;
        report(node, &schema.validations, stored, &budget, &mut self.total, path, &mut self.of_rules);
    }

    fn keywords(&self, schema: &JsonSchema, context: &Context<'_>, path: &FieldPath<'_>, errors: &mut ErrorList) {
        let kind = path.child("type");
        if self.options.require_valid_types && !is_valid_type(&schema.kind) {
            errors.not_supported(kind, schema.kind.clone(), &TYPES);
        }
        if let (Some(_), Err(reason)) = (&schema.default, &context.allow_defaults) {
            let detail = format!("must not be set {reason}");
            errors.forbidden(path.child("default"), detail.trim_end());
        }
        let unsupported = [
            ("id", !schema.id.is_empty()),
            ("additionalItems", schema.additional_items.is_some()),
            ("patternProperties", !schema.pattern_properties.is_empty()),
            ("definitions", !schema.definitions.is_empty()),
            ("dependencies", schema.dependencies.is_some()),
            ("$ref", schema.reference.is_some()),
        ];
        for (keyword, _) in unsupported.into_iter().filter(|(_, used)| *used) {
            errors.forbidden(path.child(keyword), format!("{keyword} is not supported"));
        }
        if schema.kind == "null" {
            errors.forbidden(kind, "type cannot be set to null, use nullable as an alternative");
        }
        if matches!(&schema.items, Some(Items::Each(items)) if !items.is_empty()) {
            errors.forbidden(path.child("items"), "items must be a schema object and not an array");
        }
        if context.inside_meta && schema.embedded_resource {
            let detail = "must not be used inside of resource meta";
            errors.forbidden(path.child("x-kubernetes-embedded-resource"), detail);
        }
    }

    /// The schemas inside of one.
    fn inside(&mut self, schema: &JsonSchema, context: &Context<'_>, path: &FieldPath<'_>, errors: &mut ErrorList) {
        let below = Context {
            cardinality: cardinality_inside(schema, context.cardinality),
            is_root: false,
            is_below_rules: context.is_below_rules || !schema.validations.is_empty(),
            ..context.clone()
        };
        if let Some(additional) = &schema.additional_properties {
            let path = path.child("additionalProperties");
            if !schema.properties.is_empty() && *additional != SchemaOrBool::Bool(true) {
                errors.forbidden(path, "additionalProperties and properties are mutual exclusive");
            }
            if let SchemaOrBool::Schema(additional) = additional {
                let mut context = below.clone().inside(Node::additional);
                if context.inside_meta {
                    context.allow_defaults = Err("inside additionalProperties applying to object metadata".to_owned());
                }
                self.schema(additional, &context, &path, errors);
            }
        }
        for (name, property) in &schema.properties {
            let mut of = below.clone().inside(|node| node.property(name));
            if !matches!(schema.map_type.as_deref(), None | Some("granular" | "atomic")) {
                of = of.uncorrelated(path);
            }
            if (context.is_root || schema.embedded_resource) && object::META_FIELDS.contains(&name.as_str()) {
                of.inside_meta = true;
                if context.is_root {
                    of.allow_defaults = Err(format!("in top-level {name}"));
                }
            }
            self.schema(property, &of, &path.child("properties").key(name), errors);
        }
        let plain = context.without_rules();
        if let Some(not) = &schema.not {
            self.schema(not, &plain, &path.child("not"), errors);
        }
        for (name, all) in [("allOf", &schema.all_of), ("oneOf", &schema.one_of), ("anyOf", &schema.any_of)] {
            for (at, of) in all.iter().enumerate() {
                self.schema(of, &plain, &path.child(name).index(at), errors);
            }
        }
        for (name, of) in &schema.definitions {
            self.schema(of, &plain, &path.child("definitions").key(name), errors);
        }
        if let Some(items) = &schema.items {
            let mut of = below.clone().inside(Node::items);
            if schema.list_type.as_deref() != Some("map") {
                of = of.uncorrelated(path);
            }
            let path = path.child("items");
            match items {
                Items::One(item) => self.schema(item, &of, &path, errors),
                Items::Each(items) => {
                    items.iter().enumerate().for_each(|(at, item)| self.schema(item, &of, &path.index(at), errors));
                }
            }
        }
        for (name, dependency) in schema.dependencies.iter().flatten() {
            if let Dependency::Schema(of) = dependency {
                self.schema(of, &plain, &path.child("dependencies").key(name), errors);
            }
        }
    }
}

/// The keywords that begin with `x-kubernetes-`, but for rules.
fn extensions(schema: &JsonSchema, options: &Options, path: &FieldPath<'_>, errors: &mut ErrorList) {
    if schema.preserve_unknown == Some(false) {
        let path = path.child("x-kubernetes-preserve-unknown-fields");
        errors.invalid(path, false, "must be true or undefined");
    }
    let of_type = |wanted: &str, keyword: &str, errors: &mut ErrorList| {
        let detail = format!("must be {wanted} if {keyword} is specified");
        match schema.kind.as_str() {
            "" => errors.required(path.child("type"), detail),
            kind => errors.invalid(path.child("type"), kind, detail),
        }
    };
    if let Some(map_type) = &schema.map_type {
        if schema.kind != "object" {
            of_type("object", "x-kubernetes-map-type", errors);
        }
        if !matches!(map_type.as_str(), "atomic" | "granular") {
            let path = path.child("x-kubernetes-map-type");
            errors.not_supported(path, map_type.clone(), &["atomic", "granular"]);
        }
    }
    let list_type = schema.list_type.as_deref();
    if list_type.is_some() && schema.kind != "array" {
        of_type("array", "x-kubernetes-list-type", errors);
    } else if options.require_atomic_sets
        && list_type == Some("set")
        && let Some(item) = schema.item()
    {
        let items = path.child("items");
        let detail = "must be atomic as item of a list with x-kubernetes-list-type=set";
        let shown = || item.list_type.clone().map_or(Value::Null, Value::String);
        match item.kind.as_str() {
            "array" if item.list_type.as_deref().is_some_and(|of| of != "atomic") => {
                errors.invalid(items.child("x-kubernetes-list-type"), shown(), detail);
            }
            "object" if item.map_type.as_deref() != Some("atomic") => {
                errors.invalid(items.child("x-kubernetes-map-type"), shown(), detail);
            }
            _ => {}
        }
    }
    if let Some(other) = list_type.filter(|of| !matches!(*of, "atomic" | "set" | "map")) {
        errors.not_supported(path.child("x-kubernetes-list-type"), other, &["atomic", "set", "map"]);
    }
    if !schema.list_map_keys.is_empty() {
        let path = path.child("x-kubernetes-list-type");
        let detail = "must be map if x-kubernetes-list-map-keys is non-empty";
        match list_type {
            None => errors.required(path, detail),
            Some("map") => {}
            Some(other) => errors.invalid(path, other, detail),
        }
    }
    if list_type == Some("map") {
        associative(schema, path, errors);
    }
    if options.require_map_list_keys {
        items_of_sets_and_maps(schema, path, errors);
    }
}

/// Validates a list whose items are identified by keys.
fn associative(schema: &JsonSchema, path: &FieldPath<'_>, errors: &mut ErrorList) {
    let (keys, items) = (path.child("x-kubernetes-list-map-keys"), path.child("items"));
    if schema.list_map_keys.is_empty() {
        errors.required(keys, "must not be empty if x-kubernetes-list-type is map");
    }
    let item = match &schema.items {
        None => return errors.required(items, "must have a schema if x-kubernetes-list-type is map"),
        Some(Items::Each(_)) => {
            let shown = shown::schema(schema).get("Items").cloned().unwrap_or_default();
            return errors.invalid(items, shown, "must only have a single schema if x-kubernetes-list-type is map");
        }
        Some(Items::One(item)) => item,
    };
    if item.kind != "object" {
        let detail = "must be object if parent array's x-kubernetes-list-type is map";
        return errors.invalid(items.child("type"), item.kind.clone(), detail);
    }
    let all = || Value::List(schema.list_map_keys.iter().cloned().map(Value::String).collect());
    for (at, key) in schema.list_map_keys.iter().enumerate() {
        match item.property(key) {
            Some(property) if matches!(property.kind.as_str(), "array" | "object") => {
                let path = items.child("properties");
                let detail = "must be a scalar type if parent array's x-kubernetes-list-type is map";
                errors.invalid(path.key(key).child("type"), item.kind.clone(), detail);
            }
            Some(_) => {}
            None => errors.invalid(keys, all(), "entries must all be names of item properties"),
        }
        if schema.list_map_keys[..at].contains(key) {
            errors.invalid(keys, all(), "must not contain duplicate entries");
        }
    }
}

/// Items that are distinguished by keys are never null, and their keys are always there.
pub(super) fn items_of_sets_and_maps(schema: &JsonSchema, path: &FieldPath<'_>, errors: &mut ErrorList) {
    let (Some(item), Some(list_type @ ("set" | "map"))) = (schema.item(), schema.list_type.as_deref()) else { return };
    let items = path.child("items");
    if item.nullable {
        let detail = format!("cannot be nullable when x-kubernetes-list-type is {list_type}");
        errors.forbidden(items.child("nullable"), detail);
    }
    if list_type == "set" {
        return;
    }
    let is_required = |key: &Str| item.required.contains(key);
    for (key, property) in schema.list_map_keys.iter().filter_map(|key| Some((key, item.property(key)?))) {
        let properties = items.child("properties");
        let path = properties.key(key);
        let keys = "this property is in x-kubernetes-list-map-keys, so it";
        if !is_required(key) && property.default.is_none() {
            errors.required(path.child("default"), format!("{keys} must have a default or be a required property"));
        }
        if property.nullable {
            errors.forbidden(path.child("nullable"), format!("{keys} cannot be nullable"));
        }
    }
}

/// Validates a CEL rule except its expressions.
fn of_rule(schema: &JsonSchema, rule: &ValidationRule, path: &FieldPath<'_>, errors: &mut ErrorList) {
    let has_newlines = |text: &str| text.contains(['\n', '\r']);
    let (text, message) = (rule.rule.trim(), rule.message.trim());
    if text.is_empty() {
        errors.required(path.child("rule"), "rule is not specified");
    } else if !rule.message.is_empty() && message.is_empty() {
        errors.invalid(path.child("message"), rule.message.clone(), "must be non-empty if specified");
    } else if has_newlines(message) {
        errors.invalid(path.child("message"), rule.message.clone(), "must not contain line breaks");
    } else if has_newlines(text) && message.is_empty() {
        errors.required(path.child("message"), "message must be specified if rule contains line breaks");
    }
    if !rule.message_expression.is_empty() && rule.message_expression.trim().is_empty() {
        let detail = "messageExpression must be non-empty if specified";
        errors.required(path.child("messageExpression"), detail);
    }
    const REASONS: [&str; 4] =
        ["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"];
    if let Some(reason) = rule.reason.as_ref().filter(|reason| !REASONS.contains(&reason.as_str())) {
        errors.not_supported(path.child("reason"), reason.clone(), &REASONS);
    }
    let field = path.child("fieldPath");
    if !rule.field_path.is_empty() && rule.field_path.trim().is_empty() {
        errors.invalid(field, rule.field_path.clone(), "must be non-empty if specified");
    }
    if has_newlines(&rule.field_path) {
        errors.invalid(field, rule.field_path.clone(), "must not contain line breaks");
    }
    let names_field = || field_path::find(&rule.field_path, schema, true).is_ok();
    if !rule.field_path.is_empty() && structural::convertible(schema).is_ok() && !names_field() {
        errors.invalid(field, rule.field_path.clone(), "must be a valid path");
    }
}
