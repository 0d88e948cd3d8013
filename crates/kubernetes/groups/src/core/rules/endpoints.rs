//! What holds for the addresses of endpoints, in whatever object they stand.

use crate::rules::invalid_each;
use pintle_schema::names::ip;
use pintle_validation::{FieldPath, ValidationContext};

/// Refuses what is no address, too: kube-apiserver says so beside what the address's form says.
pub fn endpoint_ip(ip: &str, path: &FieldPath<'_>, cx: &mut ValidationContext<'_>) {
    if ip::parse_ip_sloppy(ip).is_none() {
        cx.errors.invalid(path, ip, "must be a valid IP address");
    }
    invalid_each(ip, ip::endpoint_ip(ip), path, cx);
}
