//! The values of a struct's fields that have rules, found in one pass over the struct.
//! Guarantees that no value is searched for by each rule, and that nothing is allocated.

use crate::plan::{FieldPlan, StructPlan};
use pintle_schema::{Str, Text, Value};

/// As many fields as most structs have, and as those with the most rules have; in others they are searched one by
/// one.
pub(crate) const FEW_FIELDS: usize = 12;
pub(crate) const FIELDS: usize = 48;

/// Finds the values of the fields with rules, in one pass: canonical values have their fields in schema order.
/// Returns a bit for each that is present.
pub(crate) fn find<'v, const N: usize>(
    plan: &StructPlan,
    entries: &'v [(Str, Value)],
    values: &mut [&'v Value; N],
) -> u64 {
    let (mut names, mut set) = (plan.order.iter(), 0);
    for (key, value) in entries {
        let key = key.as_str();
        let is = |(name, _): &&(Text, usize)| name.is(key);
        let before = names.clone();
        let Some((_, place)) = names.find(is).or_else(|| {
            names = plan.order.iter();
            names.find(is)
        }) else {
            names = before;
            continue;
        };
        if let Some(slot) = values.get_mut(*place) {
            *slot = value;
            set |= 1 << place;
        }
    }
    set
}

/// The field of the lowest bit, which is cleared, and its value.
#[inline]
pub(crate) fn next<'p, 'v, const N: usize>(
    left: &mut u64,
    plan: &'p StructPlan,
    values: &[&'v Value; N],
) -> Option<(&'p FieldPlan, &'v Value)> {
    let at = left.trailing_zeros() as usize;
    *left &= left.wrapping_sub(1);
    Some((plan.fields.get(at)?, values.get(at)?))
}
