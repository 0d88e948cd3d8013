//! DenyServiceExternalIPs: services cannot attract the traffic of an address by new `externalIPs`.
//! Guarantees that services keep or lose the addresses that they have.
//! Must never reject addresses that the service already had.

use crate::plugin::{Plugin, Requests};
use crate::request::Request;
use pintle_registry::status::Result;
use pintle_schema::{Value, View};
use pintle_types::core::v1::{Service, ServiceSpec};

pub const PLUGIN: Plugin = Plugin::on(&[Requests::write("", "services")]).validating(validate);

fn validate(request: &Request<'_>, object: &Value, _: &mut Vec<String>) -> Result<()> {
    let addresses = |object| View::<Service>::new(object).field(Service::SPEC).field(ServiceSpec::EXTERNAL_IPS).get();
    let old = request.old().map(addresses).unwrap_or_default();
    match addresses(object).iter().all(|address| old.contains(address)) {
        true => Ok(()),
        false => Err(request.forbidden(object, "Use of external IPs is denied by admission control")),
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::Cluster;
    use pintle_schema::{Value, value};

    #[test]
    fn addresses_may_go_but_not_come() {
        let cluster = Cluster::with_plugins(&["DenyServiceExternalIPs"]);
        let service = |ips: Value| value!({"metadata": {"name": "s"}, "spec": {"externalIPs": ips}});
        let both = || value!(["1.1.1.1", "2.2.2.2"]);
        let rows = [
            (value!([]), value!(["1.1.1.1"]), false),
            (both(), value!(["2.2.2.2"]), true),
            (both(), both(), true),
            (both(), value!(["1.1.1.1", "3.3.3.3"]), false),
            (value!([]), value!([]), true),
        ];
        for (old, new, admitted) in rows {
            let outcome = cluster.update(("", "services", ""), &service(old), service(new), "alice");
            let refusal = "services \"s\" is forbidden: Use of external IPs is denied by admission control";
            let expected = (!admitted).then_some(refusal);
            assert_eq!(outcome.err().map(|status| status.message).as_deref(), expected);
        }
    }
}
