//! Columns of the group `networking.k8s.io`.

use crate::printing::cells::*;
use crate::printing::{AGE, Column, NAME, Table, printers, string};
use pintle_resource::Now;
use pintle_schema::{Value, View};
use pintle_types::networking::v1::{
    IPAddress, IPAddressSpec, Ingress, IngressClass, IngressClassParametersReference, IngressClassSpec,
    IngressLoadBalancerIngress, IngressLoadBalancerStatus, IngressRule, IngressSpec, IngressStatus, NetworkPolicy,
    NetworkPolicySpec, ParentReference, ServiceCIDR, ServiceCIDRSpec,
};

printers! {
    INGRESS: Ingress |ingress, now| {
        NAME => name(ingress),
        string("Class", "Class whose controller serves it.")
            => text_or(ingress.to(Ingress::SPEC).to(IngressSpec::INGRESS_CLASS_NAME), NONE),
        string("Hosts", "Hosts that its rules are for.") => hosts(ingress),
        string("Address", "Where it can be reached.") => addresses(ingress),
        string("Ports", "Ports that it listens on.") => ports(ingress),
        AGE => age(ingress, now),
    }
    INGRESS_CLASS: IngressClass |class, now| {
        NAME => class_name(class),
        string("Controller", "Who serves the class.")
            => text(class.to(IngressClass::SPEC).to(IngressClassSpec::CONTROLLER)),
        string("Parameters", "Object with the controller's settings.") => parameters(class),
        AGE => age(class, now),
    }
    NETWORK_POLICY: NetworkPolicy |policy, now| {
        NAME => name(policy),
        string("Pod-Selector", "Labels of the pods it is for.")
            => selector(policy.to(NetworkPolicy::SPEC).to(NetworkPolicySpec::POD_SELECTOR)),
        AGE => age(policy, now),
    }
    SERVICE_CIDR: ServiceCIDR |range, now| {
        NAME => name(range),
        string("CIDRs", "Ranges that services get addresses from.")
            => join(strings(range.to(ServiceCIDR::SPEC).to(ServiceCIDRSpec::CIDRS)), ",").into(),
        AGE => age(range, now),
    }
}

/// Its rows have a cell more than it has columns, as in kube-apiserver, so that no macro fits.
pub(crate) static IP_ADDRESS: Table = Table { columns: IP_ADDRESS_COLUMNS, cells: ip_address, conditions: None };

static IP_ADDRESS_COLUMNS: &[Column] = &[NAME, string("ParentRef", "Object that uses the address.")];

fn ip_address(object: &Value, now: &Now) -> Vec<Value> {
    let address = View::<IPAddress>::new(object);
    vec![name(address), parent(address), age(address, now)]
}

fn parent(address: View<'_, IPAddress>) -> Value {
    let Some(parent) = address.to(IPAddress::SPEC).to(IPAddressSpec::PARENT_REF).some() else {
        return NONE.into();
    };
    let namespace = str_of(parent.to(ParentReference::NAMESPACE));
    let name = str_of(parent.to(ParentReference::NAME));
    let place = if namespace.is_empty() { name.to_owned() } else { format!("{namespace}/{name}") };
    let resource = str_of(parent.to(ParentReference::RESOURCE)).to_lowercase();
    qualified(&resource, &str_of(parent.to(ParentReference::GROUP)).to_lowercase(), &place).into()
}

/// At most three hosts; the rules after them are counted, with a host or without.
fn hosts(ingress: View<'_, Ingress>) -> Value {
    let rules = ingress.to(Ingress::SPEC).to(IngressSpec::RULES);
    let (mut shown, mut more) = (Vec::new(), false);
    for host in rules.iter().map(|rule| str_of(rule.to(IngressRule::HOST))) {
        if shown.len() == 3 {
            more = true;
        } else if !host.is_empty() {
            shown.push(host);
        }
    }
    let count = rules.iter().len();
    let hosts = join(shown, ",");
    if more { format!("{hosts} + {} more...", count - 3).into() } else { or(hosts, "*") }
}

fn addresses(ingress: View<'_, Ingress>) -> Value {
    let entries = ingress.to(Ingress::STATUS).to(IngressStatus::LOAD_BALANCER).to(IngressLoadBalancerStatus::INGRESS);
    joined_set(entries.iter().map(|entry| {
        str_or(entry.to(IngressLoadBalancerIngress::IP), str_of(entry.to(IngressLoadBalancerIngress::HOSTNAME)))
    }))
    .into()
}

fn ports(ingress: View<'_, Ingress>) -> Value {
    if len(ingress.to(Ingress::SPEC).to(IngressSpec::TLS)) > 0 { "80, 443".into() } else { "80".into() }
}

fn class_name(class: View<'_, IngressClass>) -> Value {
    default_name(class, &["ingressclass.kubernetes.io/is-default-class"])
}

fn parameters(class: View<'_, IngressClass>) -> Value {
    let Some(parameters) = class.to(IngressClass::SPEC).to(IngressClassSpec::PARAMETERS).some() else {
        return NONE.into();
    };
    let group = str_of(parameters.to(IngressClassParametersReference::API_GROUP));
    let kind = str_of(parameters.to(IngressClassParametersReference::KIND));
    qualified(kind, group, str_of(parameters.to(IngressClassParametersReference::NAME))).into()
}
