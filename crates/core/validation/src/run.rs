//! The walk: runs a plan over the object, with the old object beside it.
//! Guarantees that a value that an update did not change is skipped, with its content, unless a rule there reads
//! other values, and that a valid object allocates nothing.

mod unions;

use crate::check::{self, Check, Checks, Correlation, NULL, Stage, at, is_set};
use crate::custom_rule::{CustomRule, When};
use crate::field_slots::{self, FEW_FIELDS, FIELDS};
use crate::finder::Finder;
use crate::location::Location;
use crate::order::{Content, Origin, Phase};
use crate::path::FieldPath;
use crate::plan::{FieldPlan, Inner, Node, Plan, StructPlan};
use crate::relation::{Condition, FieldCount, Message, Owner, Sibling};
use crate::request::ValidationContext;
use crate::same::{KeyIndex, same};
use pintle_schema::{Map, Type, Value};

use std::panic::{AssertUnwindSafe, catch_unwind};

/// How messages show a value of a type that may be behind a pointer.
pub type Show = fn(&Type, &Value, bool) -> Value;

pub struct Run<'p, 'c, 'a> {
    pub plan: &'p Plan,
    pub show: Show,
    pub cx: &'c mut ValidationContext<'a>,
}

impl Run<'_, '_, '_> {
    /// Validates the whole object.
    pub fn object(&mut self, value: &Value, old: Option<&Value>) {
        self.of(self.plan.root, &Location::root(value, old, self.cx.is_unchanged()));
    }

    /// Validates one field of the object.
    pub fn field_of_object(&mut self, name: &str, value: &Value, old: Option<&Value>) {
        let Some(field) = self.plan.field(name) else { return };
        self.field(field, value, &Location::root(value, old, false));
    }

    /// Validates some fields of a struct that is a field of the object, in the given order.
    pub fn fields_inside(&mut self, name: &str, fields: &[&str], value: &Value, old: Option<&Value>) {
        let Some(Inner::Struct(inside)) = self.plan.field(name).map(|field| &field.node.inner) else { return };
        let Some(plan) = self.plan.structs.get(*inside) else { return };
        let path = FieldPath::ROOT.child(name);
        let location = Location { path: &path, ..Location::root(at(value, name), old.map(|old| at(old, name)), false) };
        let named = |name: &&str| plan.fields.iter().find(|field| field.name.is(name));
        fields.iter().filter_map(named).for_each(|field| self.field(field, location.value, &location));
    }

    /// Validates a field of a struct that is anywhere in the object.
    pub fn field_of(&mut self, plan: &StructPlan, name: &str, owner: &Location<'_>) {
        if let Some(field) = plan.fields.iter().find(|field| field.name.is(name)) {
            self.field(field, owner.value, owner);
        }
    }

    /// Gives the errors since a number of them their place.
    #[inline(always)]
    fn place(&mut self, found_before: usize, phase: Phase, content: Content<'_>, location: &Location<'_>) {
        if self.cx.errors.0.len() > found_before {
            self.place_errors(found_before, phase, content, location);
        }
    }

    #[cold]
    #[inline(never)]
    fn place_errors(&mut self, found_before: usize, phase: Phase, content: Content<'_>, location: &Location<'_>) {
        let origin = Origin { plan: self.plan, pass: self.cx.pass, path: location.path, content };
        self.cx.errors.place(found_before, phase, |phase, nodes| origin.key(phase, nodes));
    }

    fn of(&mut self, index: usize, location: &Location<'_>) {
        let Some(plan) = self.plan.structs.get(index) else { return };
        if !plan.active || location.unchanged && !plan.always {
            return;
        }
        let content = Content::Struct(index);
        self.custom_rules(&plan.before, content, location);
        if location.unchanged {
            self.fields(plan, location);
        } else {
            let found_before = self.cx.errors.0.len();
            let stopped = self.own_checks(&plan.checks, location);
            self.place(found_before, Phase::Before, content, location);
            if !stopped {
                self.fields(plan, location);
            }
            let found_before = self.cx.errors.0.len();
            plan.unions.iter().for_each(|union| self.union(union, location));
            self.own_checks(&plan.last, location);
            self.place(found_before, Phase::After, content, location);
        }
        self.custom_rules(&plan.after, content, location);
    }

    /// Runs the rules of a struct, which refer to its own fields.
    #[inline]
    fn own_checks(&mut self, checks: &Checks, location: &Location<'_>) -> bool {
        !checks.list.is_empty() && self.each_check(checks, &Location { owner: location.as_owner(), ..*location })
    }

    fn fields(&mut self, plan: &StructPlan, location: &Location<'_>) {
        let fields = plan.fields.len();
        if fields <= FEW_FIELDS {
            self.placed_fields::<FEW_FIELDS>(plan, location);
        } else if fields <= FIELDS {
            self.placed_fields::<FIELDS>(plan, location);
        } else {
            plan.fields.iter().for_each(|field| self.field(field, location.value, location));
        }
    }

    fn placed_fields<const N: usize>(&mut self, plan: &StructPlan, location: &Location<'_>) {
        let entries = location.value.as_map().map_or(&[][..], Map::entries);
        let mut values = [&NULL; N];
        let set = field_slots::find(plan, entries, &mut values);
        // If a struct is absent and there is no old one, only some of its fields can have errors.
        let mut left = if location.old.is_some() { u64::MAX } else { set | plan.checks_absent };
        while let Some((field, value)) = field_slots::next(&mut left, plan, &values) {
            if matches!(field.node.inner, Inner::Inlined(_)) {
                self.field(field, location.value, location);
            } else if !(field.ignores_absent && value.is_null() && location.old.is_none()) {
                self.field_value(field, value, location);
            }
        }
    }

    fn field(&mut self, field: &FieldPlan, owner: &Value, location: &Location<'_>) {
        match field.node.inner {
            Inner::Inlined(inlined) => {
                let path = location.path.inlined().ranked(field.rank);
                self.of(inlined, &Location { path: &path, ..*location });
            }
            _ => self.field_value(field, at(owner, &field.name), location),
        }
    }

    fn field_value(&mut self, field: &FieldPlan, value: &Value, owner: &Location<'_>) {
        let old = owner.old.map(|old| at(old, &field.name));
        let path = owner.path.child(&field.shown).ranked(field.rank);
        let location = Location {
            value,
            old,
            path: &path,
            owner: owner.as_owner(),
            unchanged: owner.unchanged || self.same(value, old),
            again: false,
            several: false,
        };
        let is_plain = field.skips.is_empty() && field.replacement.is_none();
        match is_plain || location.unchanged && value.is_null() {
            true => self.field_in(field, Subject::Own, owner, &location),
            false => self.special_field(field, owner, &location),
        }
    }

    /// Validates a field that is skipped or replaced at times.
    #[inline(never)]
    fn special_field(&mut self, field: &FieldPlan, owner: &Location<'_>, location: &Location<'_>) {
        let whole = owner.untyped();
        match field.skips.iter().find(|skip| (skip.when)(&whole, &field.name, self.cx)) {
            Some(skip) if skip.whole => return,
            Some(_) => return self.field_in(field, Subject::Skipped, owner, location),
            None => {}
        }
        let replacement = field.replacement.filter(|_| !location.unchanged);
        match replacement.and_then(|replacement| (replacement.value)(&whole, self.cx)) {
            Some(value) => {
                self.field_in(field, Subject::Other(&value), owner, location);
                self.cx.forget_comparison();
            }
            None => self.field_in(field, Subject::Own, owner, location),
        }
    }

    #[inline(always)]
    fn field_in(&mut self, field: &FieldPlan, subject: Subject<'_>, owner: &Location<'_>, location: &Location<'_>) {
        if let Some(choice) = field.choice.as_ref().filter(|_| !owner.unchanged) {
            let found_before = self.cx.errors.0.len();
            self.choice(choice, field.node.checks.pointer, owner, location);
            self.place(found_before, Phase::Before, Content::Of(&field.node.inner), location);
        }
        self.node(&field.node, owner.unchanged, subject, location);
    }

    /// Whether an update did not change a value.
    #[inline]
    fn same(&self, value: &Value, old: Option<&Value>) -> bool {
        old.is_some_and(|old| self.cx.same(value, old))
    }

    #[inline(always)]
    fn node(&mut self, node: &Node, owner_unchanged: bool, subject: Subject<'_>, location: &Location<'_>) {
        let content = Content::Of(&node.inner);
        let found_before = self.cx.errors.0.len();
        let stopped = match location.unchanged {
            false => self.checks(&node.checks, location),
            true => node.checks.related && !owner_unchanged && self.related(&node.checks, location),
        };
        self.place(found_before, Phase::Before, content, location);
        if location.unchanged && !node.always && (owner_unchanged || !node.last.related) {
            return;
        }
        self.custom_rules(&node.before, content, location);
        let pointer = node.checks.pointer;
        let absent = pointer && location.value.is_null();
        if !stopped && !absent {
            match (subject, location.old) {
                (Subject::Skipped, _) => {}
                (Subject::Other(value), _) => self.inner(&node.inner, &Location { value, ..*location }),
                // If the old pointer is null, there is nothing to compare with.
                (Subject::Own, Some(Value::Null)) if pointer => {
                    self.inner(&node.inner, &Location { old: None, ..*location });
                }
                (Subject::Own, _) => self.inner(&node.inner, location),
            }
        }
        let found_before = self.cx.errors.0.len();
        match location.unchanged {
            false => _ = self.checks(&node.last, location),
            true if node.last.related && !owner_unchanged => _ = self.related(&node.last, location),
            true => {}
        }
        self.place(found_before, Phase::After, content, location);
        self.custom_rules(&node.after, content, location);
    }

    fn inner(&mut self, inner: &Inner, location: &Location<'_>) {
        match inner {
            Inner::Nothing => {}
            Inner::Struct(index) | Inner::Inlined(index) => self.of(*index, location),
            Inner::List(node, correlation) => {
                self.items(correlation, location, |run, item| run.item(node, location.unchanged, item));
            }
            Inner::Map(keys, node) => {
                if !location.unchanged {
                    let found_before = self.cx.errors.0.len();
                    self.keys(keys, location);
                    self.place(found_before, Phase::Before, Content::Unknown, location);
                }
                self.values(location, |run, item| run.item(node, location.unchanged, item));
            }
        }
    }

    /// Validates an item of a list or a map.
    fn item(&mut self, node: &Node, owner_unchanged: bool, item: &mut Location<'_>) {
        item.unchanged = owner_unchanged || self.same(item.value, item.old);
        self.node(node, owner_unchanged, Subject::Own, item);
    }

    /// Runs rules on a value; true if one of them ended its validation.
    #[inline(always)]
    fn checks(&mut self, checks: &Checks, location: &Location<'_>) -> bool {
        !checks.list.is_empty() && self.each_check(checks, location)
    }

    fn each_check(&mut self, checks: &Checks, location: &Location<'_>) -> bool {
        for check in &checks.list {
            self.cx.steps += 1;
            let stop = match check {
                Check::Optional => !is_set(location.value, checks.pointer),
                Check::Required(_) if is_set(location.value, checks.pointer) => false,
                Check::If(condition, inner) => {
                    condition.holds(location.owner.value) && self.under(condition, inner, location)
                }
                check if check.has_parts() => self.parts(check, checks.pointer, location),
                leaf => check::leaf(leaf, checks.pointer, location, &mut self.cx.errors),
            };
            if stop {
                return true;
            }
        }
        false
    }

    /// Runs rules whose condition holds; if it may not have held before, on unchanged values too.
    #[inline(never)]
    fn under(&mut self, condition: &Condition, checks: &Checks, location: &Location<'_>) -> bool {
        match !location.again && condition.changed(location.owner) {
            true => self.checks(checks, &Location { again: true, ..*location }),
            false => self.checks(checks, location),
        }
    }

    /// Runs a rule that contains rules, or that formats the value in its own way. True if it ended the validation of
    /// the value.
    fn parts(&mut self, check: &Check, pointer: bool, location: &Location<'_>) -> bool {
        // Each of them is a function of its own, so that unused ones cost nothing.
        match check {
            Check::Fixed(detail, ty) => self.fixed(detail, ty, pointer, location),
            Check::FieldCount(count, fields, ty) => self.field_count(*count, fields, ty, pointer, location),
            Check::Message(message, ty, inner) => {
                return self.with_message(message, ty, pointer, location, |run| run.checks(inner, location));
            }
            Check::Several(inner) => {
                return location.several && self.checks(inner, &Location { again: true, ..*location });
            }
            Check::First(inner) => return self.first(|run| run.checks(inner, location)),
            Check::Gate(gate, on, inner) => {
                return self.cx.enabled(gate) == *on && self.gated(*on, location, |run| run.checks(inner, location));
            }
            Check::Shadow(stage, inner) => return self.shadow(*stage, |run| run.checks(inner, location)),
            Check::Subfield(name, inner) => self.subfield(name, inner, pointer, location),
            Check::EachVal(inner, _) if matches!(location.value, Value::Map(_)) => {
                self.values(location, |run, item| run.changed(inner, item));
            }
            Check::EachVal(inner, correlation) => {
                self.items(correlation, location, |run, item| run.changed(inner, item))
            }
            Check::EachKey(inner) => self.keys(inner, location),
            Check::EachEntryKey(inner) => self.entry_keys(inner, location),
            Check::Item(keys, inner, correlation) => self.items(correlation, location, |run, item| {
                if keys.iter().all(|(key, value)| item.value.str_at(&[key]) == *value) {
                    run.changed(inner, item);
                }
            }),
            _ => {}
        }
        false
    }

    #[inline(never)]
    fn fixed(&mut self, detail: &str, ty: &Type, pointer: bool, location: &Location<'_>) {
        if location.old.is_some_and(|old| !same(location.value, old)) {
            let detail = if detail.is_empty() { "field is immutable" } else { detail };
            self.cx.errors.invalid(location.path, (self.show)(ty, location.value, pointer), detail);
            self.cx.errors.origin("immutable");
        }
    }

    #[inline(never)]
    fn field_count(
        &mut self,
        count: FieldCount,
        fields: &[Sibling],
        ty: &Type,
        pointer: bool,
        location: &Location<'_>,
    ) {
        if !(pointer && location.value.is_null()) {
            let shown = || (self.show)(ty, location.value, pointer);
            count.validate(fields, location.value, shown, location.path, &mut self.cx.errors);
        }
    }

    #[inline(never)]
    fn subfield(&mut self, name: &str, checks: &Checks, pointer: bool, location: &Location<'_>) {
        // An absent struct has no fields.
        if pointer && location.value.is_null() {
            return;
        }
        let value = at(location.value, name);
        let old = location.old.filter(|old| !(pointer && old.is_null()));
        if checks.ignores_absent && value.is_null() && old.is_none() {
            return;
        }
        let path = location.path.child(name);
        let owner = Owner { value: location.value, old };
        let old = old.map(|old| at(old, name));
        self.changed(checks, &Location { value, old, path: &path, owner, ..*location });
    }

    /// Runs rules on a part of a value, if that part or a value that they depend on changed.
    fn changed(&mut self, checks: &Checks, location: &Location<'_>) {
        if location.again || !location.old.is_some_and(|old| same(location.value, old)) {
            self.checks(checks, location);
        } else if checks.related {
            self.related(checks, location);
        }
    }

    /// Runs, on an unchanged value, the rules that depend on changed fields; true if one of them ended its
    /// validation.
    fn related(&mut self, checks: &Checks, location: &Location<'_>) -> bool {
        for check in &checks.list {
            self.cx.steps += 1;
            let stop = match check {
                // An absent value is not validated further.
                Check::Optional | Check::Required(_) => !is_set(location.value, checks.pointer),
                Check::If(condition, inner) if condition.changed(location.owner) => {
                    condition.holds(location.owner.value) && self.checks(inner, &Location { again: true, ..*location })
                }
                Check::If(condition, inner) if inner.related && condition.holds(location.owner.value) => {
                    self.related(inner, location)
                }
                Check::Bound(bound) if bound.field.changed(location.owner) => {
                    check::leaf(check, checks.pointer, location, &mut self.cx.errors)
                }
                Check::Message(message, ty, inner) if inner.related => {
                    self.with_message(message, ty, checks.pointer, location, |run| run.related(inner, location))
                }
                Check::Several(inner) => location.several && self.checks(inner, &Location { again: true, ..*location }),
                Check::First(inner) if inner.related => self.first(|run| run.related(inner, location)),
                Check::Gate(gate, on, inner) if inner.related => {
                    self.cx.enabled(gate) == *on && self.gated(*on, location, |run| run.related(inner, location))
                }
                Check::Shadow(stage, inner) if inner.related => self.shadow(*stage, |run| run.related(inner, location)),
                _ => false,
            };
            if stop {
                return true;
            }
        }
        false
    }

    /// Runs rules of a gate. A value that became invalid by disabling it may stay if the stored object has it at the
    /// same path. True if they end the validation of the value.
    fn gated(&mut self, on: bool, location: &Location<'_>, run: impl FnOnce(&mut Self) -> bool) -> bool {
        let from = self.cx.errors.0.len();
        let stopped = run(self);
        if on || self.cx.errors.0.len() == from || !self.cx.was_used(location.value, location.path) {
            return stopped;
        }
        self.cx.errors.0.truncate(from);
        false
    }

    /// Runs rules that end the validation of the value if they find an error.
    fn first(&mut self, run: impl FnOnce(&mut Self) -> bool) -> bool {
        let from = self.cx.errors.0.len();
        run(self);
        self.cx.errors.0.len() > from
    }

    /// Runs rules whose errors have another message. True if they end the validation of the value.
    fn with_message(
        &mut self,
        message: &Message,
        ty: &Type,
        pointer: bool,
        location: &Location<'_>,
        run: impl FnOnce(&mut Self) -> bool,
    ) -> bool {
        let from = self.cx.errors.0.len();
        let stopped = run(self);
        if self.cx.errors.0.len() > from {
            message.apply(from, || (self.show)(ty, location.value, pointer), &mut self.cx.errors);
        }
        stopped
    }

    fn keys(&mut self, checks: &Checks, location: &Location<'_>) {
        if checks.list.is_empty() {
            return;
        }
        let mut old = KeyIndex::of_value(location.old);
        for (key, _) in location.value.as_map().into_iter().flat_map(Map::iter) {
            if old.get(key).is_some() {
                continue;
            }
            // A static or short key is copied without allocating.
            let value = Value::String(key.clone());
            self.checks(checks, &Location { value: &value, old: None, unchanged: false, ..*location });
        }
    }

    fn entry_keys(&mut self, checks: &Checks, location: &Location<'_>) {
        let mut old = KeyIndex::of_value(location.old);
        for (key, _) in location.value.as_map().into_iter().flat_map(Map::iter) {
            if old.get(key).is_none() {
                let (value, path) = (Value::String(key.clone()), location.path.key(key));
                self.checks(checks, &Location { value: &value, old: None, path: &path, unchanged: false, ..*location });
            }
        }
    }

    fn values(&mut self, location: &Location<'_>, mut visit: impl FnMut(&mut Self, &mut Location<'_>)) {
        let mut old = KeyIndex::of_value(location.old);
        for (rank, (key, value)) in (0..).zip(location.value.as_map().into_iter().flat_map(Map::iter)) {
            let path = location.path.key(key).ranked(rank);
            let old = old.get(key);
            visit(self, &mut Location { value, old, path: &path, ..*location });
        }
    }

    fn items(
        &mut self,
        correlation: &Correlation,
        location: &Location<'_>,
        mut visit: impl FnMut(&mut Self, &mut Location<'_>),
    ) {
        let items = location.value.as_list().unwrap_or(&[]);
        let mut finder = Finder::new(correlation, location.old.and_then(Value::as_list).unwrap_or(&[]));
        for (index, value) in items.iter().enumerate() {
            let path = location.path.index(index);
            let old = if location.unchanged { Some(value) } else { finder.find(index, value) };
            visit(self, &mut Location { value, old, path: &path, several: items.len() > 1, ..*location });
        }
    }

    #[inline(always)]
    fn custom_rules(&mut self, rules: &[&'static CustomRule], content: Content<'_>, location: &Location<'_>) {
        if !rules.is_empty() {
            self.each_custom_rule(rules, content, location);
        }
    }

    fn each_custom_rule(&mut self, rules: &[&'static CustomRule], content: Content<'_>, location: &Location<'_>) {
        for rule in rules {
            if location.unchanged && !rule.when.has(When::ALWAYS) || !rule.when.runs_on(self.cx.request) {
                continue;
            }
            self.cx.steps += 1;
            let from = self.cx.errors.0.len();
            (rule.run)(&location.untyped(), self.cx);
            if rule.when.has(When::COVERED) {
                self.cx.mark_covered(from);
            }
            self.place(from, rule.phase, content, location);
        }
    }

    /// Runs rules of a stage: enforced if the stage is, otherwise compared. True if they end the validation of the
    /// value. A panic is counted, and then only the handwritten rules apply.
    fn shadow(&mut self, stage: Stage, run: impl FnOnce(&mut Self) -> bool) -> bool {
        if !self.cx.compares() {
            return false;
        }
        let from = self.cx.errors.0.len();
        let Ok(stopped) = catch_unwind(AssertUnwindSafe(|| run(self))) else {
            self.cx.panicked = true;
            self.cx.errors.0.truncate(from);
            return false;
        };
        self.cx.mark_staged(from, stage);
        stopped && stage == Stage::Beta && self.cx.beta()
    }
}

/// What is validated of a value besides its rules.
#[derive(Clone, Copy)]
enum Subject<'r> {
    /// Its content.
    Own,
    /// Another content.
    Other(&'r Value),
    /// Nothing.
    Skipped,
}
