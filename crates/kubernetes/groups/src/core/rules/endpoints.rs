//! Rules of the addresses of endpoints, for Endpoints and EndpointSlice.

use crate::rules::invalid_each;
use pintle_schema::names::ip;
use pintle_validation::{FieldPath, ValidationContext};

/// Validates an endpoint address. kube-apiserver reports an invalid address twice.
pub fn endpoint_ip(ip: &str, path: &FieldPath<'_>, cx: &mut ValidationContext<'_>) {
    if ip::parse_ip_sloppy(ip).is_none() {
        cx.errors.invalid(path, ip, "must be a valid IP address");
    }
    invalid_each(ip, ip::endpoint_ip(ip), path, cx);
}
