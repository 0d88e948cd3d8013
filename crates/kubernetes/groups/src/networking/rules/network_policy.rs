//! Rules of NetworkPolicy.

use crate::rules::warnings::{self, Written};
use crate::rules::{invalid_each, items};
use pintle_gates as gates;
use pintle_schema::names::{self, ip};
use pintle_schema::{Value, View};
use pintle_types::networking::v1::{
    IPBlock, NetworkPolicy, NetworkPolicyEgressRule, NetworkPolicyIngressRule, NetworkPolicyPeer, NetworkPolicyPort,
    NetworkPolicySpec,
};
use pintle_validation::{At, FieldPath, ValidationContext};

/// A port by its name begins no range. It is found after what is wrong with the protocol, before what is wrong with the
/// name.
pub fn named_port(port: At<'_, NetworkPolicyPort>, cx: &mut ValidationContext<'_>) {
    if let (Value::String(_), Some(last)) = ends(port.new) {
        let path = port.path.to(NetworkPolicyPort::END_PORT);
        cx.errors.invalid(path, last, "may not be specified when `port` is non-numeric");
    }
}

/// A range of ports goes from a number up.
pub fn port_range(port: At<'_, NetworkPolicyPort>, cx: &mut ValidationContext<'_>) {
    let (Value::Int(first), Some(last)) = ends(port.new) else { return };
    let path = port.path.to(NetworkPolicyPort::END_PORT);
    if last < *first {
        // kube-apiserver shows the first port.
        cx.errors.invalid(path, *first, "must be greater than or equal to `port`");
    }
    names::port_number(last).into_iter().for_each(|text| cx.errors.invalid(path, last, text));
}

fn ends<'a>(port: View<'a, NetworkPolicyPort>) -> (&'a Value, Option<i64>) {
    let last = port.field(NetworkPolicyPort::END_PORT).some().map(View::get);
    (port.field(NetworkPolicyPort::PORT).value(), last.map(i64::from))
}

/// Blocks that are left out lie inside the one that is meant.
pub fn block(block: At<'_, IPBlock>, cx: &mut ValidationContext<'_>) {
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

/// Values of the stored policy stay valid.
fn legacy_block(cidr: &str, path: &FieldPath<'_>, cx: &mut ValidationContext<'_>) -> bool {
    let messages = ip::cidr_legacy(cidr, cx.enabled(&gates::STRICT_IP_CIDR_VALIDATION));
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
