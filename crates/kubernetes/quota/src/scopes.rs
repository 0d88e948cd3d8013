//! The scopes of quotas: which objects are in them.
//! Guarantees that an object without the property that a scope is about is in no such scope. Must never compute amounts.

use pintle_types::core::v1::{ResourceQuotaSpec, ScopeSelectorOperator, ScopedResourceSelectorRequirement};

/// The properties of an object that scopes select by.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Scopes {
    /// It is in no scope.
    #[default]
    None,
    Pod {
        terminating: bool,
        best_effort: bool,
        priority_class: String,
        cross_namespace_affinity: bool,
    },
    /// The current, previous and requested volume attributes classes of a claim.
    VolumeClaim {
        attributes_classes: Vec<String>,
    },
}

impl Scopes {
    /// Whether the object is in a scope.
    pub fn are_in(&self, requirement: &ScopedResourceSelectorRequirement) -> bool {
        match (self, requirement.scope_name.as_str()) {
            (Scopes::Pod { terminating, .. }, "Terminating") => *terminating,
            (Scopes::Pod { terminating, .. }, "NotTerminating") => !terminating,
            (Scopes::Pod { best_effort, .. }, "BestEffort") => *best_effort,
            (Scopes::Pod { best_effort, .. }, "NotBestEffort") => !best_effort,
            (Scopes::Pod { cross_namespace_affinity, .. }, "CrossNamespacePodAffinity") => *cross_namespace_affinity,
            (Scopes::Pod { priority_class, .. }, "PriorityClass") => {
                let has = if priority_class.is_empty() { &[][..] } else { std::slice::from_ref(priority_class) };
                selects(requirement, has)
            }
            (Scopes::VolumeClaim { attributes_classes }, "VolumeAttributesClass") => {
                selects(requirement, attributes_classes)
            }
            _ => false,
        }
    }

    /// Those of some requirements that the object meets.
    pub fn met<'a>(
        &self,
        requirements: impl IntoIterator<Item = &'a ScopedResourceSelectorRequirement>,
    ) -> Vec<&'a ScopedResourceSelectorRequirement> {
        requirements.into_iter().filter(|requirement| self.are_in(requirement)).collect()
    }
}

/// Whether a requirement selects an object that has these values.
fn selects(requirement: &ScopedResourceSelectorRequirement, has: &[String]) -> bool {
    let operator = &requirement.operator;
    let selects = |value: &String| {
        let is_listed = requirement.values.contains(value);
        *operator == ScopeSelectorOperator::EXISTS
            || *operator == ScopeSelectorOperator::IN && is_listed
            || *operator == ScopeSelectorOperator::NOT_IN && !is_listed
    };
    match has {
        [] => *operator == ScopeSelectorOperator::NOT_IN || *operator == ScopeSelectorOperator::DOES_NOT_EXIST,
        has => has.iter().any(selects),
    }
}

/// All requirements of a quota on objects: its scopes and its selector.
pub(crate) fn requirements(spec: &ResourceQuotaSpec) -> Vec<ScopedResourceSelectorRequirement> {
    let scopes = spec.scopes.iter().map(|scope| ScopedResourceSelectorRequirement {
        scope_name: scope.clone(),
        operator: ScopeSelectorOperator::EXISTS,
        values: Vec::new(),
    });
    let selected = spec.scope_selector.iter().flat_map(|selector| selector.match_expressions.iter().cloned());
    scopes.chain(selected).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn requirement(scope: &str, operator: &str, values: &[&str]) -> ScopedResourceSelectorRequirement {
        ScopedResourceSelectorRequirement {
            scope_name: scope.into(),
            operator: operator.into(),
            values: values.iter().map(|value| (*value).to_owned()).collect(),
        }
    }

    #[test]
    fn objects_in_scopes() {
        let pod = |class: &str| Scopes::Pod {
            terminating: true,
            best_effort: false,
            priority_class: class.to_owned(),
            cross_namespace_affinity: false,
        };
        let claim = |classes: &[&str]| Scopes::VolumeClaim {
            attributes_classes: classes.iter().map(|c| (*c).into()).collect(),
        };
        let rows = [
            (pod(""), "Terminating", "Exists", &[][..], true),
            (pod(""), "NotTerminating", "Exists", &[], false),
            (pod(""), "BestEffort", "Exists", &[], false),
            (pod(""), "NotBestEffort", "Exists", &[], true),
            (pod(""), "CrossNamespacePodAffinity", "Exists", &[], false),
            (pod("high"), "PriorityClass", "In", &["high", "low"], true),
            (pod("high"), "PriorityClass", "NotIn", &["high"], false),
            (pod("high"), "PriorityClass", "Exists", &[], true),
            (pod("high"), "PriorityClass", "DoesNotExist", &[], false),
            (pod(""), "PriorityClass", "In", &["high"], false),
            (pod(""), "PriorityClass", "NotIn", &["high"], true),
            (pod(""), "PriorityClass", "Exists", &[], false),
            (pod(""), "PriorityClass", "DoesNotExist", &[], true),
            (pod(""), "VolumeAttributesClass", "DoesNotExist", &[], false),
            (claim(&["gold", "silver"]), "VolumeAttributesClass", "In", &["silver"], true),
            (claim(&["gold", "silver"]), "VolumeAttributesClass", "NotIn", &["silver"], true),
            (claim(&[]), "VolumeAttributesClass", "Exists", &[], false),
            (claim(&[]), "Terminating", "Exists", &[], false),
            (Scopes::None, "NotTerminating", "Exists", &[], false),
        ];
        for (object, scope, operator, values, is_in) in rows {
            assert_eq!(object.are_in(&requirement(scope, operator, values)), is_in, "{object:?} {scope} {operator}");
        }
    }
}
