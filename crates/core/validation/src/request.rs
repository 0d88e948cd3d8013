//! The environment of a rule besides its value: the request, and the errors found so far.
//! Guarantees that nothing that a rule sees changes while it runs. Must never change the object: rules only report
//! errors.

use crate::check::{NULL, Stage, at};
use crate::comparison::Comparison;
use crate::error::{ErrorList, FieldError, Twin};
use crate::location::Location;
use crate::metadata::{Changes, NameCheck};
use crate::order;
use crate::path::FieldPath;
use crate::plan::Plan;
use crate::run::{Run, Show};
use pintle_schema::gates::{
    DECLARATIVE_VALIDATION, DECLARATIVE_VALIDATION_BETA, DECLARATIVE_VALIDATION_TAKEOVER, NO_GATES,
};
use pintle_schema::{ApiType, FieldName, Gate, GateSet, Value, View};
use std::any::Any;
use std::cell::Cell;
use std::collections::{BTreeSet, HashMap};

/// The operation on the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    Create,
    Update,
}

/// The request that is validated.
pub struct Request<'a> {
    pub operation: Operation,
    /// "" for the object itself.
    pub subresource: &'a str,
    /// The `group/version` of the request.
    pub api_version: &'a str,
    pub namespaced: bool,
    /// The kind's rule for names.
    pub name_check: NameCheck<'a>,
    /// Which feature gates are on.
    pub gates: &'a GateSet,
    pub environment: &'a dyn ValidationEnvironment,
}

impl Request<'_> {
    /// A request for a namespaced object with any name, all gates off and an empty environment.
    pub fn new(operation: Operation) -> Self {
        Request {
            operation,
            subresource: "",
            api_version: "v1",
            namespaced: true,
            name_check: &|_, _| Vec::new(),
            gates: &NO_GATES,
            environment: &(),
        }
    }
}

/// The environment of an object, for the few rules that read more than the object. It is evaluated only on request.
pub trait ValidationEnvironment: Sync {
    /// The lists and maps that were sent empty, with their paths: the canonical form omits them.
    fn empties(&self) -> Option<&Value> {
        None
    }

    /// The `apiVersion` and the kind that the object was sent with, if they are not its resource's.
    fn other_type(&self) -> Option<[&str; 2]> {
        None
    }

    /// The value of a label of the object's namespace.
    fn namespace_label(&self, key: &str) -> Option<String> {
        let _ = key;
        None
    }

    /// The minor release of Kubernetes 1 that new expressions are compiled for; `None` for the one before the current.
    fn compatibility_minor(&self) -> Option<u32> {
        None
    }

    /// Why the writer lacks a permission besides the write itself; `None` if it is granted.
    fn refusal(&self, right: &Right<'_>) -> Option<Refusal> {
        let _ = right;
        None
    }
}

/// A permission that a write may need in addition to its own: one for a subresource of the object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Right<'a> {
    pub subresource: &'a str,
    /// Empty: all.
    pub namespace: &'a str,
    /// Empty: all.
    pub name: &'a str,
    /// If the verb depends on whether the writer is bound to the node in question: that node, or empty for none.
    /// Otherwise the verb is the write's own.
    pub node: Option<&'a str>,
}

/// Why a permission is missing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refusal {
    /// The verbs, any of which would be enough.
    pub verbs: Vec<String>,
    /// The authorizer's reason for the first one.
    pub why: String,
}

/// An empty environment.
impl ValidationEnvironment for () {}

/// A value with its path in the object, and on update the value that it replaces (if the two are known to be the same
/// item).
pub struct At<'r, T> {
    pub new: View<'r, T>,
    pub old: Option<View<'r, T>>,
    pub path: &'r FieldPath<'r>,
}

impl<T> Clone for At<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for At<'_, T> {}

impl<'r, T> At<'r, T> {
    /// Whether this is an update that does not change the value.
    pub fn unchanged(&self) -> bool {
        self.old.is_some_and(|old| crate::same(self.new.value(), old.value()))
    }

    /// Visits a field.
    pub fn field<F, R>(self, field: FieldName<T, F>, visit: impl FnOnce(At<'_, F>) -> R) -> R {
        let path = self.path.to(field);
        visit(At { new: self.new.field(field), old: self.old.map(|old| old.field(field)), path: &path })
    }
}

impl<T> At<'_, Vec<T>> {
    /// Visits the items, each without an old one: `each_by` correlates lists by key.
    pub fn each(self, mut visit: impl FnMut(At<'_, T>)) {
        for (index, new) in self.new.iter().enumerate() {
            let path = self.path.index(index);
            visit(At { new, old: None, path: &path });
        }
    }
}

impl<'r, T> At<'r, Option<T>> {
    /// The pointer's target, if it is set.
    pub fn some(self) -> Option<At<'r, T>> {
        Some(At { new: self.new.some()?, old: self.old.and_then(View::some), path: self.path })
    }
}

/// The number of fields from which on the comparison of a value is remembered.
const LARGE: usize = 10;

/// Shared by rules while one object is validated.
pub struct ValidationContext<'a> {
    pub errors: ErrorList,
    pub request: &'a Request<'a>,
    root: &'a Value,
    old_root: Option<&'a Value>,
    comparison: Option<&'a Comparison<'a>>,
    /// The rules of the kind, for those that are run by other rules.
    pub(crate) rules: Option<(&'a Plan, Show)>,
    /// The pass over the object.
    pub(crate) pass: u32,
    notes: Vec<Box<dyn Any>>,
    /// The number of rules that ran.
    pub(crate) steps: usize,
    /// A rule of a stage panicked.
    pub(crate) panicked: bool,
    /// A pass ran the metadata rules that it shares with others, without errors.
    pub(crate) metadata_is_right: bool,
    metadata: Option<Changes<'a>>,
    /// The last large values that were compared, and whether they are the same.
    compared: Cell<Option<(usize, usize, bool)>>,
}

impl<'a> ValidationContext<'a> {
    pub fn new(request: &'a Request<'a>, root: &'a Value, old_root: Option<&'a Value>) -> Self {
        ValidationContext {
            errors: ErrorList::default(),
            request,
            root,
            old_root,
            comparison: None,
            rules: None,
            pass: 0,
            notes: Vec::new(),
            steps: 0,
            panicked: false,
            metadata_is_right: false,
            metadata: None,
            compared: Cell::new(None),
        }
    }

    /// The same for an update.
    pub fn of_update(request: &'a Request<'a>, comparison: &'a Comparison<'a>) -> Self {
        let (root, old_root) = (comparison.new_object(), comparison.old_object());
        ValidationContext { comparison: Some(comparison), ..ValidationContext::new(request, root, Some(old_root)) }
    }

    /// With the rules of the kind.
    pub(crate) fn with_rules(self, plan: &'a Plan, show: Show) -> Self {
        ValidationContext { rules: Some((plan, show)), ..self }
    }

    /// Whether a feature gate is enabled.
    pub fn enabled(&self, gate: &Gate) -> bool {
        self.request.gates.is_on(gate)
    }

    /// Whether a list or map was sent empty. kube-apiserver does not treat that as absent.
    pub fn was_sent_empty(&self, path: &FieldPath<'_>) -> bool {
        let Some(sent) = self.request.environment.empties() else { return false };
        match path.find_in(sent) {
            Some(Value::List(items)) => items.is_empty(),
            Some(Value::Map(map)) => map.is_empty(),
            _ => false,
        }
    }

    /// The tree of the lists and maps that were sent empty inside a place.
    pub fn sent_empty_in(&self, path: &FieldPath<'_>) -> Option<&Value> {
        path.find_in(self.request.environment.empties()?)
    }

    /// Whether two values mean the same, by the comparison of the walk and of `At::unchanged`; remembered for large
    /// ones, and for the fields of the object.
    pub fn same(&self, new: &Value, old: &Value) -> bool {
        if !matches!(new, Value::Map(_) | Value::List(_)) {
            return crate::same(new, old);
        }
        if let Some(known) = self.comparison.and_then(|comparison| comparison.same_field(new, old)) {
            return known;
        }
        if new.as_map().is_none_or(|map| map.len() < LARGE) {
            return crate::same(new, old);
        }
        let (new_place, old_place) = (std::ptr::from_ref(new).addr(), std::ptr::from_ref(old).addr());
        if let Some((.., same)) = self.compared.get().filter(|(a, b, _)| (*a, *b) == (new_place, old_place)) {
            return same;
        }
        let same = crate::same(new, old);
        self.compared.set(Some((new_place, old_place, same)));
        same
    }

    /// Forgets the last comparison, of a value that is dropped now.
    pub(crate) fn forget_comparison(&self) {
        self.compared.set(None);
    }

    /// Whether an update changed nothing.
    pub(crate) fn is_unchanged(&self) -> bool {
        self.comparison.is_some_and(Comparison::is_same)
    }

    /// The metadata of the object and of the stored one, computed once.
    pub(crate) fn metadata(&mut self) -> Changes<'a> {
        if let Some(comparison) = self.comparison {
            return comparison.metadata();
        }
        *self.metadata.get_or_insert_with(|| {
            let old = self.old_root.map_or(&NULL, |old| at(old, "metadata"));
            Changes::of(at(self.root, "metadata"), old)
        })
    }

    /// Whether the stored object has a value at a path, in any item of lists and maps on the way.
    pub(crate) fn was_used(&self, value: &Value, path: &FieldPath<'_>) -> bool {
        let mut used = false;
        if let Some(old) = self.old_root {
            path.each_in(old, &mut |old| used |= crate::same(old, value));
        }
        used
    }

    /// The whole object. The caller knows its kind.
    pub fn root<T>(&self) -> View<'a, T> {
        View::new(self.root)
    }

    /// The whole stored object, on update.
    pub fn old_root<T>(&self) -> Option<View<'a, T>> {
        self.old_root.map(View::new)
    }

    /// Stores a value for rules that run later, such as what the stored object already used.
    pub fn set_scratch<T: Any>(&mut self, note: T) {
        self.notes.push(Box::new(note));
    }

    /// Whether rules that are not enforced run, to be compared.
    pub(crate) fn compares(&self) -> bool {
        self.enabled(&DECLARATIVE_VALIDATION)
    }

    /// Whether tags of stage beta are enforced.
    pub(crate) fn beta(&self) -> bool {
        self.enabled(&DECLARATIVE_VALIDATION_BETA) || self.enabled(&DECLARATIVE_VALIDATION_TAKEOVER)
    }

    /// Marks the errors from an index on as those of a handwritten rule that tags also express.
    pub(crate) fn mark_covered(&mut self, from: usize) {
        self.errors.0[from..].iter_mut().for_each(|error| error.twin = Twin::Handwritten);
    }

    /// Marks the errors from an index on as those of a stage.
    pub(crate) fn mark_staged(&mut self, from: usize, stage: Stage) {
        self.errors.0[from..].iter_mut().for_each(|error| error.twin = Twin::Staged(stage));
    }

    /// The reported errors, and those on which tags and handwritten rules disagree.
    pub(crate) fn settle(mut self) -> (ErrorList, Vec<FieldError>) {
        self.errors = self.errors.into_sorted();
        if self.errors.0.iter().all(|error| error.twin == Twin::None) {
            return (self.errors, Vec::new());
        }
        let beta = self.beta();
        let is_staged = |error: &FieldError| matches!(error.twin, Twin::Staged(_));
        // Matching errors have the same field, and there may be errors of a hundred thousand fields.
        let mut by_field: HashMap<&str, Vec<&FieldError>> = HashMap::new();
        self.errors.0.iter().for_each(|error| by_field.entry(&error.field).or_default().push(error));
        let beside = |error: &FieldError| by_field.get(&*error.field).into_iter().flatten().copied();
        let twins = |error: &FieldError, staged: bool| {
            let others = beside(error).filter(|other| other.twin != Twin::None && is_staged(other) == staged);
            others.filter(|other| other.is_twin_of(error)).count()
        };
        let disagrees = |error: &&FieldError| error.twin != Twin::None && twins(error, true) != twins(error, false);
        let mismatches = self.errors.0.iter().filter(disagrees).cloned().collect();
        let answered = |error: &FieldError| match error.twin {
            Twin::None => true,
            Twin::Staged(stage) => stage == Stage::Beta && beta,
            Twin::Handwritten => {
                let mut others = beside(error);
                !(beta && others.any(|other| other.twin == Twin::Staged(Stage::Beta) && other.is_twin_of(error)))
            }
        };
        let keep: Vec<bool> = self.errors.0.iter().map(answered).collect();
        let mut keep = keep.into_iter();
        self.errors.0.retain(|_| keep.next().unwrap_or(true));
        (self.errors, mismatches)
    }

    /// Validates a field of a struct once more, as kube-apiserver does in some rules; the errors are the rule's.
    pub fn validate_again<T: ApiType, F>(&mut self, owner: At<'_, T>, field: FieldName<T, F>) {
        let Some((plan, show)) = self.rules else { return };
        let Some(of_type) = plan.of_type(T::schema()) else { return };
        let from = self.errors.0.len();
        let (value, old) = (owner.new.value(), owner.old.map(View::value));
        let location = Location { path: owner.path, ..Location::root(value, old, owner.unchanged()) };
        Run { plan, show, cx: self }.field_of(of_type, field.name(), &location);
        self.errors.unplace(from);
    }

    /// The items of a list in which something wrong was found so far in this pass: a field of a struct with rules.
    pub fn items_with_errors<T: ApiType, F>(&self, owner: &FieldPath<'_>, list: FieldName<T, F>) -> BTreeSet<usize> {
        let rules = self.rules.and_then(|(plan, _)| plan.of_type(T::schema()));
        let Some(rank) = rules.and_then(|rules| rules.rank(list.name())) else { return BTreeSet::new() };
        order::items_with_errors(self.pass, &owner.to(list).ranked(rank), self.errors.keys())
    }

    /// The value that an earlier rule stored.
    pub fn scratch<T: Any>(&self) -> Option<&T> {
        self.notes.iter().rev().find_map(|note| note.downcast_ref())
    }
}
