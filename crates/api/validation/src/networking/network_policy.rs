//! Rules of NetworkPolicy.

use crate::shared::{STRICT_ADDRESSES, invalid_each, items};
use crate::warnings::{self, Written};
use pintle_schema::names::{self, ip};
use pintle_schema::{Value, View};
use pintle_types::networking::v1::{
    IPBlock, NetworkPolicy, NetworkPolicyEgressRule, NetworkPolicyIngressRule, NetworkPolicyPeer, NetworkPolicyPort,
    NetworkPolicySpec,
};
use pintle_validation::{At, Cx, FieldPath};

/// There are two types of policies.
pub fn policy_types(spec: At<'_, NetworkPolicySpec>, cx: &mut Cx<'_>) {
    spec.field(NetworkPolicySpec::POLICY_TYPES, |types| {
        let list = items(types.new);
        if list.len() > 2 {
            let detail = "may not specify more than two policyTypes";
            return cx.errors.invalid(types.path, types.new.value().clone(), detail);
        }
        for (at, kind) in list.iter().enumerate() {
            let kind = kind.as_str().unwrap_or_default();
            if !matches!(kind, "Ingress" | "Egress") {
                cx.errors.not_supported(types.path.index(at), kind, &["Ingress", "Egress"]);
            }
        }
    });
}

/// A range of ports goes from a number up.
pub fn port(port: At<'_, NetworkPolicyPort>, cx: &mut Cx<'_>) {
    type Port = NetworkPolicyPort;
    if let Some(protocol) = port.new.field(Port::PROTOCOL).value().as_str()
        && !matches!(protocol, "TCP" | "UDP" | "SCTP")
    {
        cx.errors.not_supported(port.path.to(Port::PROTOCOL), protocol, &["TCP", "UDP", "SCTP"]);
    }
    let end = port.new.field(Port::END_PORT).value().as_i64();
    let (path, end_path) = (port.path.to(Port::PORT), port.path.to(Port::END_PORT));
    match (port.new.field(Port::PORT).value(), end) {
        (Value::Null, Some(end)) => {
            cx.errors.invalid(end_path, end, "may not be specified when `port` is not specified");
        }
        (Value::Null, None) => {}
        (Value::String(name), end) => {
            if let Some(end) = end {
                cx.errors.invalid(end_path, end, "may not be specified when `port` is non-numeric");
            }
            invalid_each(name, names::port_name(name), &path, cx);
        }
        (number, end) => {
            let number = number.as_i64().unwrap_or_default();
            names::port_number(number).into_iter().for_each(|text| cx.errors.invalid(path, number, text));
            if let Some(end) = end {
                if end < number {
                    // The reference shows the first port.
                    cx.errors.invalid(end_path, number, "must be greater than or equal to `port`");
                }
                names::port_number(end).into_iter().for_each(|text| cx.errors.invalid(end_path, end, text));
            }
        }
    }
}

/// A peer is chosen by selectors or by addresses.
pub fn one_peer(peer: At<'_, NetworkPolicyPeer>, cx: &mut Cx<'_>) {
    let selects = peer.new.field(NetworkPolicyPeer::POD_SELECTOR).is_set()
        || peer.new.field(NetworkPolicyPeer::NAMESPACE_SELECTOR).is_set();
    match (selects, peer.new.field(NetworkPolicyPeer::IP_BLOCK).is_set()) {
        (false, false) => cx.errors.required(peer.path, "must specify a peer"),
        (true, true) => cx.errors.forbidden(peer.path, "may not specify both ipBlock and another peer"),
        _ => {}
    }
}

/// Blocks that are left out lie inside the one that is meant.
pub fn block(block: At<'_, IPBlock>, cx: &mut Cx<'_>) {
    let cidr = block.new.field(IPBlock::CIDR).as_str();
    if cidr.is_empty() {
        return;
    }
    let outer = ip::parse_cidr_sloppy(cidr);
    if !legacy_block(cidr, &block.path.to(IPBlock::CIDR), cx) && outer.is_none() {
        return;
    }
    let list = block.path.to(IPBlock::EXCEPT);
    for (at, except) in items(block.new.field(IPBlock::EXCEPT)).iter().enumerate() {
        let except = except.as_str().unwrap_or_default();
        let path = list.index(at);
        legacy_block(except, &path, cx);
        let (Some(outer), Some(inner)) = (outer, ip::parse_cidr_sloppy(except)) else { continue };
        if !outer.contains(inner.network()) || outer.prefix >= inner.prefix {
            cx.errors.invalid(path, except, "must be a strict subset of `cidr`");
        }
    }
}

/// What the stored policy has already stays right.
fn legacy_block(cidr: &str, path: &FieldPath<'_>, cx: &mut Cx<'_>) -> bool {
    let messages = ip::cidr_legacy(cidr, cx.enabled(STRICT_ADDRESSES));
    let is_known = !messages.is_empty() && cx.old_root::<NetworkPolicy>().is_some_and(|old| has_block(old, cidr));
    is_known || invalid_each(cidr, messages, path, cx)
}

fn has_block(policy: View<'_, NetworkPolicy>, cidr: &str) -> bool {
    let spec = policy.field(NetworkPolicy::SPEC);
    let from = spec
        .field(NetworkPolicySpec::INGRESS)
        .iter()
        .flat_map(|rule| peers(rule.field(NetworkPolicyIngressRule::FROM)));
    let to =
        spec.field(NetworkPolicySpec::EGRESS).iter().flat_map(|rule| peers(rule.field(NetworkPolicyEgressRule::TO)));
    let mut blocks = from.chain(to).filter_map(|peer| peer.field(NetworkPolicyPeer::IP_BLOCK).some());
    blocks.any(|block| {
        let except = items(block.field(IPBlock::EXCEPT));
        block.field(IPBlock::CIDR).as_str() == cidr || except.iter().any(|except| except.as_str() == Some(cidr))
    })
}

fn peers(list: View<'_, Vec<NetworkPolicyPeer>>) -> impl Iterator<Item = View<'_, NetworkPolicyPeer>> {
    items(list).iter().map(View::new)
}

/// Blocks that are written oddly.
pub fn warn(written: &Written<'_>, warnings: &mut Vec<String>) {
    let spec = written.view::<NetworkPolicy>().field(NetworkPolicy::SPEC);
    let root = FieldPath::new(NetworkPolicy::SPEC.name());
    let list = root.to(NetworkPolicySpec::INGRESS);
    for (at, rule) in spec.field(NetworkPolicySpec::INGRESS).iter().enumerate() {
        let from = rule.field(NetworkPolicyIngressRule::FROM);
        warn_of_peers(from, &list.index(at).to(NetworkPolicyIngressRule::FROM), warnings);
    }
    let list = root.to(NetworkPolicySpec::EGRESS);
    for (at, rule) in spec.field(NetworkPolicySpec::EGRESS).iter().enumerate() {
        let to = rule.field(NetworkPolicyEgressRule::TO);
        warn_of_peers(to, &list.index(at).to(NetworkPolicyEgressRule::TO), warnings);
    }
}

fn warn_of_peers(list: View<'_, Vec<NetworkPolicyPeer>>, path: &FieldPath<'_>, warnings: &mut Vec<String>) {
    for (at, peer) in list.iter().enumerate() {
        let Some(ip_block) = peer.field(NetworkPolicyPeer::IP_BLOCK).some() else { continue };
        let path = path.index(at);
        let path = path.to(NetworkPolicyPeer::IP_BLOCK);
        warnings::block(ip_block.field(IPBlock::CIDR).as_str(), &path.to(IPBlock::CIDR), warnings);
        warnings::each(ip_block.field(IPBlock::EXCEPT), &path.to(IPBlock::EXCEPT), warnings, warnings::block);
    }
}
