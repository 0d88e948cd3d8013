//! `Validator`: the rules of all kinds, compiled when a kind is first validated, and the entry point of validation.
//! Guarantees that a panic of a rule is caught and reported as an internal error, which the caller counts.

use crate::comparison::Comparison;
use crate::custom_rule::Untyped;
use crate::error::{ErrorKind, ErrorList, FieldError};
use crate::kind::{CREATE, Group, KindRules, Pass, UPDATE};
use crate::metadata;
use crate::order::{self, Phase};
use crate::path::FieldPath;
use crate::plan::{Plan, Tables, key};
use crate::request::{Operation, Request, ValidationContext};
use crate::run::{Run, Show};
use pintle_schema::compiled::unique_id;
use pintle_schema::{Struct, Value};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Per-type data, by the addresses of schemas.
type ByPlace<T> = HashMap<usize, T, BuildHasherDefault<PlaceHasher>>;

/// A hash of addresses, which clients cannot choose.
#[derive(Default)]
struct PlaceHasher(u64);

impl Hasher for PlaceHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_usize(usize::from(*byte)));
    }

    fn write_usize(&mut self, place: usize) {
        self.0 = (self.0 ^ place as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(32);
    }
}

/// Validates whole objects of a kind that is only known at run time. Runs after the rules for metadata.
pub trait ObjectRule: Send + Sync {
    /// Validates an object; with the one that it replaces, on update. A subresource is "" for the object itself.
    fn validate(
        &self,
        object: &Value,
        old: Option<&Value>,
        subresource: &str,
        errors: &mut ErrorList,
        warnings: &mut Vec<String>,
    );

    /// Validates in an object what is validated even if it was sent as one of another version or kind.
    fn validate_of_other_type(
        &self,
        object: &Value,
        old: Option<&Value>,
        errors: &mut ErrorList,
        warnings: &mut Vec<String>,
    );
}

/// The rules of all groups.
pub struct Validator {
    tables: Tables,
    object: Option<Arc<dyn ObjectRule>>,
    kinds: ByPlace<&'static KindRules>,
    /// The owner of the plans that are stored with schemas.
    id: u64,
    show: Show,
}

/// The result of validation.
#[derive(Debug, Default)]
pub struct ValidationResult {
    pub errors: ErrorList,
    /// What an update left wrong, as the client is warned of it.
    pub warnings: Vec<String>,
    /// Differences between tags and handwritten rules that should find the same.
    pub mismatches: Vec<FieldError>,
    /// A rule panicked.
    pub panicked: bool,
    /// The number of rules of the kind that ran, on all values together.
    pub steps: usize,
}

impl Validator {
    pub fn new(groups: &[&'static Group]) -> Self {
        let mut tables = Tables::default();
        let mut kinds = ByPlace::default();
        for group in groups {
            tables.add(group);
            kinds.extend(group.kinds.iter().map(|kind| (key((kind.of)()), kind)));
        }
        Validator { tables, object: None, kinds, id: unique_id(), show: |_, value, _| value.clone() }
    }

    /// The rules of a kind that is only known at run time.
    pub fn of_object(rule: Arc<dyn ObjectRule>) -> Self {
        Validator { object: Some(rule), ..Validator::new(&[]) }
    }

    /// With a custom format of structs and lists in messages.
    pub fn showing(self, show: Show) -> Self {
        Validator { show, ..self }
    }

    /// The compiled rules of a kind.
    pub fn plan(&self, schema: &Struct) -> Arc<Plan> {
        schema.compiled.get_or_insert_with(self.id, || Plan::new(schema, &self.tables))
    }

    /// A kind's effective rules as a tree of text.
    pub fn tree(&self, schema: &Struct) -> String {
        crate::docs::tree(schema, &self.tables.custom_rules)
    }

    /// How many handwritten rules are registered at a type and its fields.
    pub fn handwritten(&self, schema: &Struct) -> usize {
        self.tables.custom_rules.get(&key(schema)).map_or(0, Vec::len)
    }

    /// Validates a canonical object of a kind, in its storage version.
    pub fn validate(
        &self,
        schema: &Struct,
        object: &Value,
        old: Option<&Value>,
        request: &Request<'_>,
    ) -> ValidationResult {
        match old {
            Some(old) => self.validate_update(schema, &Comparison::of(object, old), request),
            None => self.validate_in(schema, object, None, ValidationContext::new(request, object, None)),
        }
    }

    /// Validates an object that replaces another.
    pub fn validate_update(
        &self,
        schema: &Struct,
        comparison: &Comparison<'_>,
        request: &Request<'_>,
    ) -> ValidationResult {
        let (new, old) = (comparison.new_object(), comparison.old_object());
        self.validate_in(schema, new, Some(old), ValidationContext::of_update(request, comparison))
    }

    fn validate_in(
        &self,
        schema: &Struct,
        object: &Value,
        old: Option<&Value>,
        cx: ValidationContext<'_>,
    ) -> ValidationResult {
        let plan = self.plan(schema);
        let mut cx = cx.with_rules(&plan, self.show);
        let passes = self.passes(schema, cx.request);
        let mut warnings = Vec::new();
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            if let Some(rule) = self.object.as_ref().filter(|_| cx.request.environment.other_type().is_some()) {
                return rule.validate_of_other_type(object, old, &mut cx.errors, &mut warnings);
            }
            for pass in passes {
                if self.run(pass, &plan, &mut cx, object, old) {
                    return;
                }
            }
            if let Some(rule) = &self.object {
                rule.validate(object, old, cx.request.subresource, &mut cx.errors, &mut warnings);
            }
        }));
        let panicked = outcome.is_err();
        if panicked {
            cx.errors.push(ErrorKind::Internal, "", None, "a validation rule failed to run");
        }
        let (steps, panicked) = (cx.steps, panicked || cx.panicked);
        let (errors, mismatches) = cx.settle();
        ValidationResult { errors, warnings, mismatches, panicked, steps }
    }

    /// Validates some fields of a struct that is a field of the object, before the whole can be validated.
    pub fn validate_fields(
        &self,
        schema: &Struct,
        (name, fields): (&str, &[&str]),
        object: &Value,
        old: Option<&Value>,
        request: &Request<'_>,
    ) -> ErrorList {
        let plan = self.plan(schema);
        let mut cx = ValidationContext::new(request, object, old).with_rules(&plan, self.show);
        Run { plan: &plan, show: self.show, cx: &mut cx }.fields_inside(name, fields, object, old);
        cx.settle().0
    }

    fn passes(&self, schema: &Struct, request: &Request<'_>) -> &'static [Pass] {
        let kind = self.kinds.get(&key(schema));
        match request.operation {
            Operation::Create => kind.map_or(CREATE, |kind| kind.create),
            Operation::Update if request.subresource.is_empty() => kind.map_or(UPDATE, |kind| kind.update),
            Operation::Update => {
                let mut parts = kind.into_iter().flat_map(|kind| kind.parts);
                parts.find(|(name, _)| *name == request.subresource).map_or(UPDATE, |(_, passes)| passes)
            }
        }
    }

    /// Runs a pass; true if it ends validation.
    fn run(
        &self,
        pass: &Pass,
        plan: &Plan,
        cx: &mut ValidationContext<'_>,
        object: &Value,
        old: Option<&Value>,
    ) -> bool {
        let found_before = cx.errors.0.len();
        let whole = Untyped { value: object, old, path: &FieldPath::ROOT };
        match pass {
            Pass::Metadata | Pass::PlainMetadata => {
                let changes = cx.metadata();
                let ValidationContext { request, metadata_is_right: right, errors, .. } = cx;
                metadata::anew(changes, request.namespaced, request.name_check, right, errors);
            }
            Pass::MetadataUpdate | Pass::PlainMetadataUpdate => {
                metadata::update(cx.metadata(), &mut cx.metadata_is_right, &mut cx.errors);
            }
            Pass::Rules => Run { plan, show: self.show, cx }.object(object, old),
            Pass::Field(name) => Run { plan, show: self.show, cx }.field_of_object(name, object, old),
            Pass::Rule(rule) | Pass::First(rule) => rule(&whole, cx),
        }
        // Only built-in kinds refuse finalizers without a domain; custom resources are warned of them.
        if self.object.is_none() && matches!(pass, Pass::Metadata | Pass::MetadataUpdate) {
            metadata::kube_finalizers(cx.metadata(), &mut cx.errors);
        }
        let has_found = cx.errors.0.len() > found_before;
        if has_found {
            let number = cx.pass;
            cx.errors.place(found_before, Phase::Before, |_, _| order::of_pass(number));
        }
        cx.pass += 1;
        has_found && matches!(pass, Pass::First(_))
    }
}
