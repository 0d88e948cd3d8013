//! What comparing values of libraries costs.
//!
//! Equality itself is the engine's; this adds no overload.

use super::authorization;
use crate::cost::{CallEstimate, CostEstimate, Node, STRING_TRAVERSAL_FACTOR, SizeEstimate};
use crate::function::Function;
use crate::types::Type;
use crate::value::Value;

/// The length of a format, at most.
const FORMAT_SIZE: u64 = 64;

/// `==` with its costs for values of libraries.
pub fn functions() -> Vec<Function> {
    vec![Function::new("_==_", Vec::new()).costing(estimate, track)]
}

fn estimate(_: &str, _: Option<&Node<'_>>, args: &[Node<'_>]) -> Option<CallEstimate> {
    let [left, right] = args else { return None };
    if left.ty != right.ty {
        return None;
    }
    let cost = match &left.ty {
        Type::Opaque(name, _) if matches!(name.as_str(), "net.IP" | "net.CIDR") => CostEstimate::fixed(1),
        Type::Struct(name) => match name.as_str() {
            "kubernetes.Quantity" | "kubernetes.Semver" => CostEstimate::fixed(1),
            "kubernetes.NamedFormat" => CostEstimate::new(1, FORMAT_SIZE).times_factor(STRING_TRAVERSAL_FACTOR),
            "kubernetes.URL" => {
                // The reference looks at the right side twice.
                let size = right.computed.unwrap_or(SizeEstimate::fixed(1));
                CostEstimate::new(1, size.max).times_factor(STRING_TRAVERSAL_FACTOR)
            }
            name if authorization::type_names().contains(&name) => CostEstimate::fixed(1),
            _ => return None,
        },
        _ => return None,
    };
    Some(CallEstimate::cost(cost))
}

fn track(_: &str, args: &[Value<'_>], _: &Value<'_>) -> Option<u64> {
    matches!(args, [Value::Opaque(_), _]).then_some(1)
}
