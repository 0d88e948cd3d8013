//! What a rule may know besides the value: the request, and the errors found so far.
//!
//! A rule judges; through this it reports, and it never sees anything that can change while it runs.

use crate::check::{NULL, Stage, at};
use crate::comparison::Comparison;
use crate::error::{ErrorList, FieldError, Twin};
use crate::metadata::{Changes, NameCheck};
use crate::path::FieldPath;
use pintle_schema::{FieldName, Value, View};
use std::any::Any;
use std::cell::Cell;
use std::collections::HashMap;

/// What is done to the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    Create,
    Update,
}

/// A request whose object is judged.
pub struct Request<'a> {
    pub operation: Operation,
    /// "" for the object itself.
    pub subresource: &'a str,
    /// The `group/version` that the client speaks.
    pub api_version: &'a str,
    pub namespaced: bool,
    /// The kind's rule for names.
    pub name_check: NameCheck<'a>,
    /// Whether a feature gate is on.
    pub enabled: &'a dyn Fn(&str) -> bool,
    pub around: &'a dyn ValidationEnvironment,
}

impl Request<'_> {
    /// A request for an object in a namespace, whatever its name, with all gates off and nothing known around it.
    pub fn new(operation: Operation) -> Self {
        Request {
            operation,
            subresource: "",
            api_version: "v1",
            namespaced: true,
            name_check: &|_, _| Vec::new(),
            enabled: &|_| false,
            around: &(),
        }
    }
}

/// What surrounds an object, for the few rules that look beyond it: nobody finds out what no rule asks for.
pub trait ValidationEnvironment: Sync {
    /// The lists and maps that were sent with nothing in them, at their places: the canonical form does not show them.
    fn empties(&self) -> Option<&Value> {
        None
    }

    /// The value of a label of the object's namespace.
    fn namespace_label(&self, key: &str) -> Option<String> {
        let _ = key;
        None
    }

    /// Why the writer has no right to something besides the write itself; `None` when they have it.
    fn refusal(&self, right: &Right<'_>) -> Option<Refusal> {
        let _ = right;
        None
    }
}

/// A right that a write may need besides its own: one to a subresource of what is written, which only rights know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Right<'a> {
    pub subresource: &'a str,
    /// Empty: all of them.
    pub namespace: &'a str,
    /// Empty: all of them.
    pub name: &'a str,
    /// Where the verb tells whether a writer is bound to the node that this is about: the node, empty for none alone.
    /// Otherwise the verb is the write's own.
    pub node: Option<&'a str>,
}

/// Why a right is not there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refusal {
    /// The verbs each of which would have been enough.
    pub verbs: Vec<String>,
    /// What the authorizer says of the first.
    pub why: String,
}

/// No surroundings: an object by itself.
impl ValidationEnvironment for () {}

/// A value with its place in the object, and on update the value it replaces (where the two can be told to be the same thing).
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
    /// Whether the value is an update's, and has not changed.
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
    /// Visits the items, each without an old one: lists that know their items by key are correlated by `each_by`.
    pub fn each(self, mut visit: impl FnMut(At<'_, T>)) {
        for (index, new) in self.new.iter().enumerate() {
            let path = self.path.index(index);
            visit(At { new, old: None, path: &path });
        }
    }
}

impl<'r, T> At<'r, Option<T>> {
    /// The value behind the pointer, if there is one.
    pub fn some(self) -> Option<At<'r, T>> {
        Some(At { new: self.new.some()?, old: self.old.and_then(View::some), path: self.path })
    }
}

/// As many fields make a value worth remembering what it was compared with.
const LARGE: usize = 10;

/// What rules share while one object is judged.
pub struct ValidationContext<'a> {
    pub errors: ErrorList,
    pub request: &'a Request<'a>,
    root: &'a Value,
    old_root: Option<&'a Value>,
    comparison: Option<&'a Comparison<'a>>,
    notes: Vec<Box<dyn Any>>,
    /// How many rules ran.
    pub(crate) steps: usize,
    /// A rule of a stage panicked.
    pub(crate) panicked: bool,
    /// A step judged what other steps for metadata judge too, and found nothing.
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

    /// Whether a feature gate is on.
    pub fn enabled(&self, gate: &str) -> bool {
        (self.request.enabled)(gate)
    }

    /// Whether a list or a map was sent with nothing in it. Where the reference asks for absence, that is not it.
    pub fn was_sent_empty(&self, path: &FieldPath<'_>) -> bool {
        let Some(sent) = self.request.around.empties() else { return false };
        match path.find_in(sent) {
            Some(Value::List(items)) => items.is_empty(),
            Some(Value::Map(map)) => map.is_empty(),
            _ => false,
        }
    }

    /// Whether two values mean the same, as the walk and `At::unchanged` compare them; found out once for large ones, and
    /// for the fields of the object.
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

    /// Whether an update left the whole object as it was.
    pub(crate) fn is_unchanged(&self) -> bool {
        self.comparison.is_some_and(Comparison::is_same)
    }

    /// The metadata of the object and of the stored one; found out once.
    pub(crate) fn metadata(&mut self) -> Changes<'a> {
        if let Some(comparison) = self.comparison {
            return comparison.metadata();
        }
        *self.metadata.get_or_insert_with(|| {
            let old = self.old_root.map_or(&NULL, |old| at(old, "metadata"));
            Changes::of(at(self.root, "metadata"), old)
        })
    }

    /// Whether the stored object has a value at a place, whichever items of lists and maps lead there.
    pub(crate) fn was_used(&self, value: &Value, path: &FieldPath<'_>) -> bool {
        let mut used = false;
        if let Some(old) = self.old_root {
            path.each_in(old, &mut |old| used |= crate::same(old, value));
        }
        used
    }

    /// The whole object. The caller says what kind it is.
    pub fn root<T>(&self) -> View<'a, T> {
        View::new(self.root)
    }

    /// The whole stored object, on update.
    pub fn old_root<T>(&self) -> Option<View<'a, T>> {
        self.old_root.map(View::new)
    }

    /// Leaves something for rules that run later, such as what the stored object already used.
    pub fn leave<T: Any>(&mut self, note: T) {
        self.notes.push(Box::new(note));
    }

    /// Whether rules that are not answered run all the same, to be compared.
    pub(crate) fn compares(&self) -> bool {
        self.enabled("DeclarativeValidation")
    }

    /// Whether tags of stage beta are answered.
    pub(crate) fn beta(&self) -> bool {
        self.enabled("DeclarativeValidationBeta") || self.enabled("DeclarativeValidationTakeover")
    }

    /// Marks the errors from an index on as those of a handwritten rule that tags say, too.
    pub(crate) fn cover(&mut self, from: usize) {
        self.errors.0[from..].iter_mut().for_each(|error| error.twin = Twin::Handwritten);
    }

    /// Marks the errors from an index on as those of a stage.
    pub(crate) fn shade(&mut self, from: usize, stage: Stage) {
        self.errors.0[from..].iter_mut().for_each(|error| error.twin = Twin::Staged(stage));
    }

    /// The errors to be answered, and those of which tags and handwritten rules disagree.
    pub(crate) fn settle(mut self) -> (ErrorList, Vec<FieldError>) {
        if self.errors.0.iter().all(|error| error.twin == Twin::None) {
            return (self.errors, Vec::new());
        }
        let beta = self.beta();
        let is_staged = |error: &FieldError| matches!(error.twin, Twin::Staged(_));
        // Twins are of one field, and there may be errors of a hundred thousand fields.
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

    /// What an earlier rule left.
    pub fn left<T: Any>(&self) -> Option<&T> {
        self.notes.iter().rev().find_map(|note| note.downcast_ref())
    }
}
