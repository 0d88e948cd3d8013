//! Functions of addresses and networks.
//!
//! Accessors cost 1; what parses a text costs as much as reading it.

use super::address::{self, Cidr, parse_ip};
use super::args::{self, Result, failed, no_overload, one, reads_argument, track_one, track_read, traversal, twice};
use crate::cost::{CallEstimate, CostEstimate, Node, STRING_TRAVERSAL_FACTOR, SizeEstimate};
use crate::function::{Call, Function, Overload};
use crate::types::Type;
use crate::value::{Opaque, Value};
use std::net::IpAddr;

const IP: &str = "net.IP";
const CIDR: &str = "net.CIDR";

/// The bytes of an address, before it is known.
const ADDRESS: SizeEstimate = SizeEstimate::new(4, 16);

/// An address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ip(pub IpAddr);

impl Opaque for Ip {
    fn type_name(&self) -> &'static str {
        IP
    }

    fn type_of(&self) -> Type {
        Type::opaque(IP)
    }

    fn equals(&self, other: &dyn Opaque) -> bool {
        other.as_any().downcast_ref() == Some(self)
    }

    fn as_any(&self) -> &dyn std::any::Any {
        self
    }

    fn size(&self) -> Option<u64> {
        Some(address::size(self.0))
    }
}

impl Opaque for Cidr {
    fn type_name(&self) -> &'static str {
        CIDR
    }

    fn type_of(&self) -> Type {
        Type::opaque(CIDR)
    }

    fn equals(&self, other: &dyn Opaque) -> bool {
        other.as_any().downcast_ref() == Some(self)
    }

    fn as_any(&self) -> &dyn std::any::Any {
        self
    }

    fn size(&self) -> Option<u64> {
        Some(Cidr::size(self))
    }
}

/// The functions of addresses.
pub fn ip_functions() -> Vec<Function> {
    let ip = || Type::opaque(IP);
    let question = |name, id, call| {
        Function::new(name, vec![Overload::member(id, vec![ip()], Type::Bool, call)]).costing(one, track_one)
    };
    let about_text = |name, id, result, call: Call| {
        Function::new(name, vec![Overload::global(id, vec![Type::String], result, call)])
    };
    vec![
        about_text("ip", "string_to_ip", ip(), string_to_ip).costing(estimate_ip, track_ip),
        about_text("isIP", "is_ip", Type::Bool, is_ip).costing(reads_argument, track_read),
        about_text("ip.isCanonical", "ip_is_canonical", Type::Bool, is_canonical)
            .costing(estimate_canonical, args::track_read_twice),
        Function::new("family", vec![Overload::member("ip_family", vec![ip()], Type::Int, family)])
            .costing(one, track_one),
        question("isUnspecified", "ip_is_unspecified", |args| ask(args, |ip| ip.is_unspecified())),
        question("isLoopback", "ip_is_loopback", |args| ask(args, |ip| ip.is_loopback())),
        question("isLinkLocalMulticast", "ip_is_link_local_multicast", |args| {
            ask(args, address::is_link_local_multicast)
        }),
        question("isLinkLocalUnicast", "ip_is_link_local_unicast", |args| ask(args, address::is_link_local_unicast)),
        question("isGlobalUnicast", "ip_is_global_unicast", |args| ask(args, address::is_global_unicast)),
        Function::new("string", vec![Overload::global("ip_to_string", vec![ip()], Type::String, ip_to_string)]),
    ]
}

/// The functions of networks.
pub fn cidr_functions() -> Vec<Function> {
    let (ip, cidr) = (|| Type::opaque(IP), || Type::opaque(CIDR));
    vec![
        Function::new("cidr", vec![Overload::global("string_to_cidr", vec![Type::String], cidr(), string_to_cidr)])
            .costing(reads_argument, track_read),
        Function::new("isCIDR", vec![Overload::global("is_cidr", vec![Type::String], Type::Bool, is_cidr)])
            .costing(reads_argument, track_read),
        Function::new(
            "containsIP",
            vec![
                Overload::member("cidr_contains_ip_string", vec![cidr(), Type::String], Type::Bool, contains_ip),
                Overload::member("cidr_contains_ip_ip", vec![cidr(), ip()], Type::Bool, contains_ip),
            ],
        )
        .costing(estimate_contains, track_contains),
        Function::new(
            "containsCIDR",
            vec![
                Overload::member("cidr_contains_cidr_string", vec![cidr(), Type::String], Type::Bool, contains_cidr),
                Overload::member("cidr_contains_cidr", vec![cidr(), cidr()], Type::Bool, contains_cidr),
            ],
        )
        .costing(estimate_contains, track_contains),
        Function::new("ip", vec![Overload::member("cidr_ip", vec![cidr()], ip(), cidr_to_ip)])
            .costing(estimate_ip, track_ip),
        Function::new(
            "prefixLength",
            vec![Overload::member("cidr_prefix_length", vec![cidr()], Type::Int, prefix_length)],
        )
        .costing(one, track_one),
        Function::new("masked", vec![Overload::member("cidr_masked", vec![cidr()], cidr(), masked)])
            .costing(one, track_one),
        Function::new("string", vec![Overload::global("cidr_to_string", vec![cidr()], Type::String, cidr_to_string)]),
    ]
}

fn ip_of(value: &Value<'_>) -> Option<IpAddr> {
    value.as_opaque::<Ip>().map(|ip| ip.0)
}

fn string_to_ip<'a>(args: &[Value<'a>]) -> Result<'a> {
    let [Value::String(text)] = args else { return no_overload() };
    parse_ip(text).map(|ip| Value::opaque(Ip(ip))).map_err(failed)
}

fn is_ip<'a>(args: &[Value<'a>]) -> Result<'a> {
    let [Value::String(text)] = args else { return no_overload() };
    Ok(Value::Bool(parse_ip(text).is_ok()))
}

fn is_canonical<'a>(args: &[Value<'a>]) -> Result<'a> {
    let [Value::String(text)] = args else { return no_overload() };
    parse_ip(text).map(|ip| Value::Bool(ip.to_string() == text.as_str())).map_err(failed)
}

fn family<'a>(args: &[Value<'a>]) -> Result<'a> {
    let [value] = args else { return no_overload() };
    ip_of(value).map_or_else(no_overload, |ip| Ok(Value::Int(address::family(ip))))
}

fn ask<'a>(args: &[Value<'a>], question: impl Fn(IpAddr) -> bool) -> Result<'a> {
    let [value] = args else { return no_overload() };
    ip_of(value).map_or_else(no_overload, |ip| Ok(Value::Bool(question(ip))))
}

fn ip_to_string<'a>(args: &[Value<'a>]) -> Result<'a> {
    let [value] = args else { return no_overload() };
    ip_of(value).map_or_else(no_overload, |ip| Ok(Value::string(ip.to_string())))
}

fn parse_cidr(text: &str) -> std::result::Result<Cidr, crate::EvalError> {
    Cidr::parse(text).map_err(|why| failed(format!("network address parse error during conversion from string: {why}")))
}

fn string_to_cidr<'a>(args: &[Value<'a>]) -> Result<'a> {
    let [Value::String(text)] = args else { return no_overload() };
    parse_cidr(text).map(Value::opaque)
}

fn is_cidr<'a>(args: &[Value<'a>]) -> Result<'a> {
    let [Value::String(text)] = args else { return no_overload() };
    Ok(Value::Bool(Cidr::parse(text).is_ok()))
}

fn contains_ip<'a>(args: &[Value<'a>]) -> Result<'a> {
    let [cidr, other] = args else { return no_overload() };
    // Why a text is no address is not said.
    let ip = other.as_str().map_or_else(|| ip_of(other), |text| parse_ip(text).ok());
    let (Some(cidr), Some(ip)) = (cidr.as_opaque::<Cidr>(), ip) else { return no_overload() };
    Ok(Value::Bool(cidr.contains(ip)))
}

fn contains_cidr<'a>(args: &[Value<'a>]) -> Result<'a> {
    let [cidr, other] = args else { return no_overload() };
    let other = match other.as_str() {
        Some(text) => Some(parse_cidr(text)?),
        None => other.as_opaque::<Cidr>().copied(),
    };
    let (Some(cidr), Some(other)) = (cidr.as_opaque::<Cidr>(), other) else { return no_overload() };
    Ok(Value::Bool(cidr.contains_network(&other)))
}

fn cidr_to_ip<'a>(args: &[Value<'a>]) -> Result<'a> {
    let [value] = args else { return no_overload() };
    value.as_opaque::<Cidr>().map_or_else(no_overload, |cidr| Ok(Value::opaque(Ip(cidr.address))))
}

fn prefix_length<'a>(args: &[Value<'a>]) -> Result<'a> {
    let [value] = args else { return no_overload() };
    value.as_opaque::<Cidr>().map_or_else(no_overload, |cidr| Ok(Value::Int(cidr.bits.into())))
}

fn masked<'a>(args: &[Value<'a>]) -> Result<'a> {
    let [value] = args else { return no_overload() };
    value.as_opaque::<Cidr>().map_or_else(no_overload, |cidr| Ok(Value::opaque(cidr.masked())))
}

fn cidr_to_string<'a>(args: &[Value<'a>]) -> Result<'a> {
    let [value] = args else { return no_overload() };
    value.as_opaque::<Cidr>().map_or_else(no_overload, |cidr| Ok(Value::string(cidr.to_string())))
}

fn estimate_ip(overload: &str, target: Option<&Node<'_>>, args: &[Node<'_>]) -> Option<CallEstimate> {
    if overload == "cidr_ip" { one(overload, target, args) } else { reads_argument(overload, target, args) }
}

fn track_ip(overload: &str, args: &[Value<'_>], result: &Value<'_>) -> Option<u64> {
    if overload == "cidr_ip" { Some(1) } else { track_read(overload, args, result) }
}

fn estimate_canonical(_: &str, _: Option<&Node<'_>>, args: &[Node<'_>]) -> Option<CallEstimate> {
    Some(CallEstimate::cost(twice(args.first()?.size())))
}

/// Two addresses are compared; of two networks one is masked before, and a text is parsed.
fn estimate_contains(overload: &str, _: Option<&Node<'_>>, args: &[Node<'_>]) -> Option<CallEstimate> {
    let other = args.first()?;
    let mut cost = ADDRESS.add(ADDRESS).times_factor(STRING_TRAVERSAL_FACTOR);
    if overload.starts_with("cidr_contains_cidr") {
        cost = cost.add(ADDRESS.times_factor(STRING_TRAVERSAL_FACTOR)).add(CostEstimate::fixed(1));
    }
    if overload.ends_with("_string") {
        cost = cost.add(other.size().times_factor(STRING_TRAVERSAL_FACTOR));
    }
    Some(CallEstimate::cost(cost))
}

fn track_contains(overload: &str, args: &[Value<'_>], _: &Value<'_>) -> Option<u64> {
    let [cidr, other] = args else { return None };
    let size = cidr.cost_size();
    let mut cost = traversal(size.saturating_add(size));
    if overload.starts_with("cidr_contains_cidr") {
        cost = cost.saturating_add(traversal(size)).saturating_add(1);
    }
    if overload.ends_with("_string") {
        cost = cost.saturating_add(traversal(other.cost_size()));
    }
    Some(cost)
}
