//! The conditions of a namespace that is being deleted, as in kube-controller-manager. Guarantees that a condition's
//! time changes only with its status. Must never read objects.

use super::content::Emptied;
use pintle_schema::{Time, ViewMut};
use pintle_types::core::v1::{ConditionStatus, NamespaceCondition, NamespaceConditionType, NamespaceStatus};
use std::collections::BTreeMap;

/// A condition in its state without a problem.
struct Row {
    r#type: NamespaceConditionType,
    reason: &'static str,
    message: &'static str,
}

/// The conditions in the order in which they are first written.
const ROWS: [Row; 5] = [
    Row {
        r#type: NamespaceConditionType::NAMESPACE_DELETION_DISCOVERY_FAILURE,
        reason: "ResourcesDiscovered",
        message: "All resources successfully discovered",
    },
    Row {
        r#type: NamespaceConditionType::DELETION_GV_PARSING_FAILURE,
        reason: "ParsedGroupVersions",
        message: "All legacy kube types successfully parsed",
    },
    Row {
        r#type: NamespaceConditionType::NAMESPACE_DELETION_CONTENT_FAILURE,
        reason: "ContentDeleted",
        message: "All content successfully deleted, may be waiting on finalization",
    },
    Row {
        r#type: NamespaceConditionType::NAMESPACE_CONTENT_REMAINING,
        reason: "ContentRemoved",
        message: "All content successfully removed",
    },
    Row {
        r#type: NamespaceConditionType::NAMESPACE_FINALIZERS_REMAINING,
        reason: "ContentHasNoFinalizers",
        message: "All content-preserving finalizers finished",
    },
];

/// Writes the conditions after an attempt to empty the namespace.
pub fn write(mut status: ViewMut<'_, NamespaceStatus>, emptied: &Emptied, now: Time) {
    let mut conditions = status.view().field(NamespaceStatus::CONDITIONS).get();
    for row in &ROWS {
        let wanted = wanted(row, emptied, now);
        match conditions.iter_mut().find(|condition| condition.r#type == row.r#type) {
            None => conditions.push(wanted),
            Some(old) => {
                let since = if old.status == wanted.status { old.last_transition_time } else { now };
                *old = NamespaceCondition { last_transition_time: since, ..wanted };
            }
        }
    }
    status.by_ref().field(NamespaceStatus::CONDITIONS).set(conditions);
}

fn wanted(row: &Row, emptied: &Emptied, now: Time) -> NamespaceCondition {
    let (status, reason, message) = match trouble(&row.r#type, emptied) {
        Some((reason, message)) => (ConditionStatus::TRUE, reason, message),
        None => (ConditionStatus::FALSE, row.reason, row.message.to_owned()),
    };
    NamespaceCondition {
        r#type: row.r#type.clone(),
        status,
        last_transition_time: now,
        reason: reason.to_owned(),
        message,
    }
}

fn trouble(condition: &NamespaceConditionType, emptied: &Emptied) -> Option<(&'static str, String)> {
    if *condition == NamespaceConditionType::NAMESPACE_DELETION_DISCOVERY_FAILURE && !emptied.undiscovered.is_empty() {
        let stale = |version: &String| format!("{version}: stale GroupVersion discovery: {version}");
        let mut failures: Vec<_> = emptied.undiscovered.iter().map(stale).collect();
        failures.sort();
        let text = format!(
            "Discovery failed for some groups, {} failing: unable to retrieve the complete list of server APIs: {}",
            failures.len(),
            failures.join(", ")
        );
        return Some(("DiscoveryFailed", text));
    }
    if *condition == NamespaceConditionType::NAMESPACE_DELETION_CONTENT_FAILURE && !emptied.failures.is_empty() {
        let mut failures = emptied.failures.clone();
        failures.sort();
        let text =
            format!("Failed to delete all resource types, {} remaining: {}", failures.len(), failures.join(", "));
        return Some(("ContentDeletionFailed", text));
    }
    if *condition == NamespaceConditionType::NAMESPACE_CONTENT_REMAINING && !emptied.remaining.is_empty() {
        let list = counted(&emptied.remaining, "has", "resource instances");
        return Some(("SomeResourcesRemain", format!("Some resources are remaining: {list}")));
    }
    if *condition == NamespaceConditionType::NAMESPACE_FINALIZERS_REMAINING && !emptied.finalizers.is_empty() {
        let list = counted(&emptied.finalizers, "in", "resource instances");
        let text = format!("Some content in the namespace has finalizers remaining: {list}");
        return Some(("SomeFinalizersRemain", text));
    }
    None
}

fn counted(counts: &BTreeMap<String, usize>, verb: &str, what: &str) -> String {
    let items: Vec<_> = counts.iter().map(|(name, count)| format!("{name} {verb} {count} {what}")).collect();
    items.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_schema::{Value, View};

    fn written(value: &mut Value, emptied: &Emptied, now: i64) -> Vec<(String, String, String, String, i64)> {
        write(ViewMut::new(value), emptied, Time::from_seconds(now));
        let conditions = View::<NamespaceStatus>::new(value).field(NamespaceStatus::CONDITIONS).get();
        let row = |c: NamespaceCondition| {
            let texts = (c.r#type.as_str().to_owned(), c.status.as_str().to_owned(), c.reason, c.message);
            (texts.0, texts.1, texts.2, texts.3, c.last_transition_time.seconds)
        };
        conditions.into_iter().map(row).collect()
    }

    #[test]
    fn conditions_tell_what_remains_and_keep_their_times() {
        let mut status = Value::map();
        let mut emptied = Emptied::default();
        emptied.remaining.insert("pods.".to_owned(), 2);
        emptied.remaining.insert("jobs.batch".to_owned(), 1);
        emptied.finalizers.insert("example.com/f".to_owned(), 3);
        emptied.failures = vec!["b".to_owned(), "a".to_owned()];
        let rows = written(&mut status, &emptied, 10);
        let types: Vec<_> = rows.iter().map(|row| (row.0.as_str(), row.1.as_str(), row.2.as_str())).collect();
        assert_eq!(
            types,
            [
                ("NamespaceDeletionDiscoveryFailure", "False", "ResourcesDiscovered"),
                ("NamespaceDeletionGroupVersionParsingFailure", "False", "ParsedGroupVersions"),
                ("NamespaceDeletionContentFailure", "True", "ContentDeletionFailed"),
                ("NamespaceContentRemaining", "True", "SomeResourcesRemain"),
                ("NamespaceFinalizersRemaining", "True", "SomeFinalizersRemain"),
            ]
        );
        assert_eq!(rows[2].3, "Failed to delete all resource types, 2 remaining: a, b");
        assert_eq!(
            rows[3].3,
            "Some resources are remaining: jobs.batch has 1 resource instances, pods. has 2 resource instances"
        );
        assert_eq!(
            rows[4].3,
            "Some content in the namespace has finalizers remaining: example.com/f in 3 resource instances"
        );
        emptied.remaining.remove("pods.");
        emptied.failures.clear();
        emptied.undiscovered = vec!["b.example.com/v2".to_owned(), "a.example.com/v1".to_owned()];
        let rows = written(&mut status, &emptied, 20);
        assert_eq!((rows[0].1.as_str(), rows[0].2.as_str(), rows[0].4), ("True", "DiscoveryFailed", 20));
        assert_eq!(
            rows[0].3,
            "Discovery failed for some groups, 2 failing: unable to retrieve the complete list of server APIs: \
             a.example.com/v1: stale GroupVersion discovery: a.example.com/v1, \
             b.example.com/v2: stale GroupVersion discovery: b.example.com/v2"
        );
        assert_eq!((rows[2].1.as_str(), rows[2].4), ("False", 20));
        assert_eq!((rows[3].1.as_str(), rows[3].4), ("True", 10), "only the message has changed");
        assert_eq!(rows[3].3, "Some resources are remaining: jobs.batch has 1 resource instances");
    }
}
