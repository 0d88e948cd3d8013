//! What calls of standard functions cost, before and after.
//!
//! Everything not listed costs 1.

use crate::cost::{
    CallEstimate, CostEstimate, Node, REGEX_LENGTH_FACTOR, STRING_TRAVERSAL_FACTOR, SizeEstimate, times_factor,
};
use crate::types::Type;
use crate::value::Value;

/// The cost of a call that was made. Arguments and results that are errors count as one.
pub(crate) fn track(overload: &str, args: &[Value<'_>]) -> u64 {
    let size = |at: usize| args.get(at).map_or(1, Value::cost_size);
    let traverse = |size: u64| times_factor(size, STRING_TRAVERSAL_FACTOR);
    match overload {
        "starts_with_string" | "ends_with_string" | "string_to_bytes" | "bytes_to_string" | "strings_quote"
        | "string_format" => traverse(size(0)),
        "in_list" => size(1),
        "equals" | "not_equals" => match args.first() {
            Some(Value::Opaque(_)) if overload == "equals" => 1,
            _ => traverse(size(0).min(size(1))),
        },
        "less_string"
        | "greater_string"
        | "less_equals_string"
        | "greater_equals_string"
        | "less_bytes"
        | "greater_bytes"
        | "less_equals_bytes"
        | "greater_equals_bytes" => traverse(size(0).min(size(1))),
        "add_string" | "add_bytes" => traverse(size(0).saturating_add(size(1))),
        "matches_string" => {
            let text = traverse(size(0).saturating_add(1));
            text.saturating_mul(times_factor(size(1), REGEX_LENGTH_FACTOR))
        }
        "contains_string" => traverse(size(0)).saturating_mul(traverse(size(1))),
        _ => 1,
    }
}

/// The estimated cost of a call, without its arguments. Logic and conditionals are the estimator's own.
pub(crate) fn estimate(overload: &str, target: Option<&Node<'_>>, args: &[Node<'_>]) -> CallEstimate {
    let traverse = |size: SizeEstimate| size.times_factor(STRING_TRAVERSAL_FACTOR);
    let size = |node: &Node<'_>| node.computed.unwrap_or(SizeEstimate::UNKNOWN);
    match (overload, target, args) {
        ("string_format", Some(target), _) => CallEstimate::cost(traverse(size(target))),
        ("string_to_bytes", _, [text]) => {
            let size = size(text);
            // kube-apiserver does not look for overflow here.
            CallEstimate::sized(traverse(size), SizeEstimate::new(size.min, size.max.wrapping_mul(4)))
        }
        ("bytes_to_string", _, [bytes]) => {
            let size = size(bytes);
            CallEstimate::sized(traverse(size), SizeEstimate::new(size.min / 4, size.max))
        }
        ("strings_quote", _, [text]) => {
            let size = size(text);
            let longest = size.max.wrapping_mul(2).wrapping_add(2);
            CallEstimate::sized(traverse(size), SizeEstimate::new(size.min.wrapping_add(2), longest))
        }
        ("starts_with_string" | "ends_with_string", _, [part]) => CallEstimate::cost(traverse(size(part))),
        ("in_list", _, [_, list]) => CallEstimate::cost(size(list).times_factor(1.0)),
        ("matches_string", Some(target), [pattern]) => {
            let text = traverse(size(target).add(SizeEstimate::fixed(1)));
            CallEstimate::cost(text.multiply(size(pattern).times_factor(REGEX_LENGTH_FACTOR)))
        }
        ("contains_string", Some(target), [part]) => {
            CallEstimate::cost(traverse(size(target)).multiply(traverse(size(part))))
        }
        ("add_list", _, [a, b]) => CallEstimate::sized(CostEstimate::fixed(1), size(a).add(size(b))),
        ("add_string" | "add_bytes", _, [a, b]) => {
            let sum = size(a).add(size(b));
            CallEstimate::sized(traverse(sum), sum)
        }
        ("equals", _, [a, b]) if is_cheap_equality(&a.ty, &b.ty) => CallEstimate::fixed(1),
        (
            "less_string"
            | "greater_string"
            | "less_equals_string"
            | "greater_equals_string"
            | "less_bytes"
            | "greater_bytes"
            | "less_equals_bytes"
            | "greater_equals_bytes"
            | "equals"
            | "not_equals",
            _,
            [a, b],
        ) => {
            if overload == "equals"
                && let Some(estimate) = special_equality(a, b)
            {
                return estimate;
            }
            let most = size(a).max.min(size(b).max);
            CallEstimate::cost(traverse(SizeEstimate::new(u64::from(most > 0), most)))
        }
        _ => CallEstimate::fixed(1),
    }
}

/// Types of libraries whose values are compared in constant time.
fn is_cheap_equality(a: &Type, b: &Type) -> bool {
    a == b
        && matches!(
            a.runtime_name(),
            "net.IP"
                | "net.CIDR"
                | "kubernetes.Quantity"
                | "kubernetes.Semver"
                | "kubernetes.authorization.Authorizer"
                | "kubernetes.authorization.PathCheck"
                | "kubernetes.authorization.GroupCheck"
                | "kubernetes.authorization.ResourceCheck"
                | "kubernetes.authorization.Decision"
        )
}

/// Formats and URLs, whose comparison traverses a text.
fn special_equality(a: &Node<'_>, b: &Node<'_>) -> Option<CallEstimate> {
    if a.ty != b.ty {
        return None;
    }
    let most = match a.ty.runtime_name() {
        "kubernetes.NamedFormat" => 64,
        "kubernetes.URL" => b.computed.map_or(1, |size| size.max),
        _ => return None,
    };
    Some(CallEstimate::cost(CostEstimate::new(1, most).times_factor(STRING_TRAVERSAL_FACTOR)))
}
