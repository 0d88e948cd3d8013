//! Defaults of the certificates group: the usages of a v1beta1 signing request.
//!
//! The default signer name of that version, which depends on the request's content, is not set.

use crate::defaulting::Rule;
use crate::defaulting::fields::{is_null, set};
use pintle_schema::{ApiType, Value};
use pintle_types::certificates::v1beta1::{CertificateSigningRequestSpec, KeyUsage};

pub const RULES: &[Rule] = &[(CertificateSigningRequestSpec::schema, usages)];

fn usages(spec: &mut Value) {
    if is_null(spec, CertificateSigningRequestSpec::USAGES) {
        let usages = vec![KeyUsage::DIGITAL_SIGNATURE, KeyUsage::KEY_ENCIPHERMENT];
        set(spec, CertificateSigningRequestSpec::USAGES, usages);
    }
}
