//! Arithmetic of resource lists: amounts by name.
//! Guarantees the formats of kube-apiserver's sums. Must never know a resource by name.

use pintle_schema::Quantity;
use pintle_types::core::v1::ResourceList;

/// Adds the amounts of another list.
pub fn merge(own: &mut ResourceList, other: &ResourceList) {
    join(own, other, Quantity::add);
}

/// Raises amounts to those of another list.
pub(crate) fn raise_to(own: &mut ResourceList, other: &ResourceList) {
    join(own, other, |own, other| own.max(other).clone());
}

fn join(own: &mut ResourceList, other: &ResourceList, join: impl Fn(&Quantity, &Quantity) -> Quantity) {
    for (name, amount) in other {
        match own.get_mut(name) {
            Some(own) => *own = join(own, amount),
            None => _ = own.insert(name.clone(), amount.clone()),
        }
    }
}

/// A list minus another; no amount is less than zero.
pub(crate) fn without(list: &ResourceList, other: &ResourceList) -> ResourceList {
    let rest = |(name, amount): (&String, &Quantity)| {
        let rest = other.get(name).map_or_else(|| amount.clone(), |other| amount.sub(other));
        (name.clone(), if rest.signum() > 0 { rest } else { Quantity::default() })
    };
    list.iter().map(rest).collect()
}

/// Whether two lists have the same names and amounts.
pub fn same_amounts(one: &ResourceList, other: &ResourceList) -> bool {
    one.len() == other.len() && one.iter().all(|(name, amount)| other.get(name) == Some(amount))
}

/// Names and amounts as refusals show them.
pub(crate) fn shown<'a>(amounts: impl IntoIterator<Item = (&'a String, &'a Quantity)>) -> String {
    let parts: Vec<String> = amounts.into_iter().map(|(name, amount)| format!("{name}={amount}")).collect();
    parts.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(amounts: &[(&str, &str)]) -> ResourceList {
        let amount = |(name, text): &(&str, &str)| ((*name).to_owned(), Quantity::parse(text).expect("a quantity"));
        amounts.iter().map(amount).collect()
    }

    #[test]
    fn sums_and_differences() {
        let mut sum = list(&[("a", "1"), ("b", "0")]);
        merge(&mut sum, &list(&[("b", "512Mi"), ("c", "100m")]));
        assert_eq!(shown(&sum), "a=1,b=512Mi,c=100m");
        raise_to(&mut sum, &list(&[("a", "1500m"), ("b", "1Mi")]));
        assert_eq!(shown(&sum), "a=1500m,b=512Mi,c=100m");
        let rest = without(&sum, &list(&[("a", "2"), ("b", "256Mi"), ("d", "1")]));
        assert_eq!(shown(&rest), "a=0,b=256Mi,c=100m");
        assert!(same_amounts(&list(&[("a", "1")]), &list(&[("a", "1000m")])));
        assert!(!same_amounts(&list(&[("a", "1")]), &list(&[("b", "1")])));
    }
}
