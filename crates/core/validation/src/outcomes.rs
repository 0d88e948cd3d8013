//! Statistics of rules since the process began: counters for metrics, and lines for the log.

use crate::{ErrorWords, FieldError, ValidationResult};
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts of results that should not occur.
pub struct Outcomes {
    mismatches: AtomicU64,
    panics: AtomicU64,
}

/// The counts of this process.
pub static OUTCOMES: Outcomes = Outcomes { mismatches: AtomicU64::new(0), panics: AtomicU64::new(0) };

/// The object that was validated.
#[derive(Clone, Copy)]
pub struct Subject<'a> {
    pub resource: &'a str,
    pub namespace: &'a str,
    pub name: &'a str,
    pub user: &'a str,
}

impl Outcomes {
    /// Counts and logs the problems of rules in a validation result.
    pub fn note(&self, verdict: &ValidationResult, subject: Subject<'_>, log: &dyn Fn(&str)) {
        if verdict.panicked {
            self.panics.fetch_add(1, Ordering::Relaxed);
            log(&format!("a validation rule panicked: {}", subject.text()));
        }
        self.mismatches.fetch_add(verdict.mismatches.len() as u64, Ordering::Relaxed);
        verdict.mismatches.iter().for_each(|error| log(&subject.mismatch(error)));
    }

    /// Errors on which tags and handwritten rules disagreed.
    pub fn mismatches(&self) -> u64 {
        self.mismatches.load(Ordering::Relaxed)
    }

    /// Rules that panicked.
    pub fn panics(&self) -> u64 {
        self.panics.load(Ordering::Relaxed)
    }
}

impl Subject<'_> {
    fn text(&self) -> String {
        let Subject { resource, namespace, name, user } = self;
        format!("resource={resource:?} namespace={namespace:?} name={name:?} user={user:?}")
    }

    /// Without the value: it may be secret.
    fn mismatch(&self, error: &FieldError) -> String {
        let found_by = if error.is_declared() { "tag" } else { "function" };
        let (field, kind, origin) = (&error.field, error.kind.reason(), error.origin);
        let subject = self.text();
        format!(
            "a tag and the handwritten rule for the same disagree: {subject} field={field:?} type={kind:?} origin={origin:?} found by={found_by:?}"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorList;
    use std::cell::RefCell;

    #[test]
    fn what_is_noted_is_counted_and_told() {
        let outcomes = Outcomes { mismatches: AtomicU64::new(0), panics: AtomicU64::new(0) };
        let mut errors = ErrorList::default();
        errors.invalid("spec.a", "secret", "wrong");
        errors.origin("minimum");
        let verdict = ValidationResult { mismatches: errors.0, panicked: true, ..ValidationResult::default() };
        let subject = Subject { resource: "pods", namespace: "b", name: "a\n", user: "u" };
        let lines = RefCell::new(Vec::new());
        outcomes.note(&verdict, subject, &|line| lines.borrow_mut().push(line.to_owned()));
        outcomes.note(&ValidationResult::default(), subject, &|line| lines.borrow_mut().push(line.to_owned()));
        assert_eq!((outcomes.mismatches(), outcomes.panics()), (1, 1));
        let of = r#"resource="pods" namespace="b" name="a\n" user="u""#;
        assert_eq!(
            lines.into_inner(),
            [
                format!("a validation rule panicked: {of}"),
                format!(
                    r#"a tag and the handwritten rule for the same disagree: {of} field="spec.a" type="FieldValueInvalid" origin="minimum" found by="function""#
                ),
            ]
        );
    }
}
