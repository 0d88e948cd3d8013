//! Rules of IPAddress and ServiceCIDR.

use crate::rules::internal_form::in_full;
use crate::rules::{immutable, invalid_each, items};
use pintle_schema::names::ip;
use pintle_types::networking::v1::{IPAddress, IPAddressSpec, ServiceCIDR, ServiceCIDRSpec};
use pintle_validation::{At, ValidationContext};

/// An address stays with its parent.
pub fn keeps_parent(address: At<'_, IPAddress>, cx: &mut ValidationContext<'_>) {
    address.field(IPAddress::SPEC, |spec| spec.field(IPAddressSpec::PARENT_REF, |parent| immutable(parent, cx)));
}

/// One block, or one of each family.
pub fn cidrs(cidrs: At<'_, Vec<String>>, cx: &mut ValidationContext<'_>) {
    let list = items(cidrs.new);
    if list.is_empty() {
        return cx.errors.required(cidrs.path, "at least one CIDR required");
    }
    let all = || cidrs.new.value().clone();
    if list.len() > 2 {
        let spec = in_full(cx.root::<ServiceCIDR>().field(ServiceCIDR::SPEC));
        return cx.errors.invalid(cidrs.path, spec, "may only hold up to 2 values");
    }
    for (at, cidr) in list.iter().enumerate() {
        let text = cidr.as_str().unwrap_or_default();
        invalid_each(text, ip::cidr(text), &cidrs.path.index(at), cx);
    }
    let mut families = list.iter().map(|cidr| cidr.as_str().and_then(ip::parse_cidr_sloppy));
    if let (Some(Some(first)), Some(Some(second))) = (families.next(), families.next())
        && first.address.to_canonical().is_ipv4() == second.address.to_canonical().is_ipv4()
    {
        let detail = "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64";
        cx.errors.invalid(cidrs.path, all(), detail);
    }
}

/// Blocks stay; one may get a second beside it.
pub fn grows_only(range: At<'_, ServiceCIDR>, cx: &mut ValidationContext<'_>) {
    range.field(ServiceCIDR::SPEC, |spec| {
        spec.field(ServiceCIDRSpec::CIDRS, |list| {
            let (new, old) = (items(list.new), list.old.map(items).unwrap_or_default());
            let grows = new.len() == 2 && old.len() == 1;
            if !grows && new.len() != old.len() {
                return cx.errors.immutable(list.path, list.new.value().clone());
            }
            for (at, (new, _)) in new.iter().zip(old).enumerate().filter(|(_, (new, old))| new != old) {
                cx.errors.immutable(list.path.index(at), new.clone());
            }
            if grows {
                cidrs(list, cx);
            }
        });
    });
}
