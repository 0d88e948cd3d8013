//! Comparison of tolerations: which of them includes another. Guarantees that merging keeps the tolerated taints. Must never
//! know a plugin.

use pintle_types::core::v1::{TaintEffect, Toleration, TolerationOperator};

/// Tolerations without those that others include; of equal ones the first stays.
pub fn merged(all: &[Toleration]) -> Vec<Toleration> {
    let redundant = |at: usize, one: &Toleration| {
        let others = all.iter().enumerate().filter(|(other, _)| *other != at);
        others
            .into_iter()
            .any(|(other, wider)| includes(wider, one) && (other < at || wider != one && !includes(one, wider)))
    };
    all.iter().enumerate().filter(|(at, one)| !redundant(*at, one)).map(|(_, one)| one.clone()).collect()
}

/// Whether a toleration tolerates all that another does.
pub fn includes(wider: &Toleration, one: &Toleration) -> bool {
    if wider == one {
        return true;
    }
    let every_key = wider.key.is_empty() && wider.operator == TolerationOperator::EXISTS;
    if wider.key != one.key && !every_key || wider.effect != one.effect && wider.effect != "" {
        return false;
    }
    if let (true, Some(seconds)) = (wider.effect == TaintEffect::NO_EXECUTE, wider.toleration_seconds)
        && one.toleration_seconds.is_none_or(|own| own > seconds)
    {
        return false;
    }
    match &wider.operator {
        operator if *operator == TolerationOperator::EXISTS => true,
        operator if *operator == TolerationOperator::EQUAL || *operator == "" => {
            (one.operator == TolerationOperator::EQUAL || one.operator == "") && one.value == wider.value
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wider_tolerations_swallow_narrower_ones() {
        let toleration = |key: &str, operator: &str, value: &str| Toleration {
            key: key.into(),
            operator: operator.into(),
            value: value.into(),
            ..Toleration::default()
        };
        let everything = toleration("", "Exists", "");
        let exists = toleration("a", "Exists", "");
        let equal = toleration("a", "Equal", "1");
        let other = toleration("b", "Equal", "1");
        let rows = [
            (vec![equal.clone(), exists.clone()], vec![exists.clone()]),
            (vec![exists.clone(), equal.clone(), other.clone()], vec![exists.clone(), other.clone()]),
            (vec![exists.clone(), exists.clone()], vec![exists.clone()]),
            (vec![equal.clone(), other.clone()], vec![equal, other.clone()]),
            (vec![exists, other, everything.clone()], vec![everything]),
        ];
        for (all, expected) in rows {
            assert_eq!(merged(&all), expected);
        }
    }
}
