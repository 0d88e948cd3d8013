//! Warnings of TLS secrets without a certificate or a key.
//!
//! Only the PEM frame is checked, not the content. No content of a secret is ever reported.

use crate::certificates::rules::pem::{self, Block};
use crate::rules::warnings::Written;
use pintle_schema::{Bytes, Value, View};
use pintle_types::core::v1::{Secret, SecretType};

const CERTIFICATE: &str = "CERTIFICATE";

/// Warnings of a secret of the type for TLS.
pub fn warn(written: &Written<'_>, warnings: &mut Vec<String>) {
    let secret = written.view::<Secret>();
    if secret.field(Secret::TYPE).value().as_str() != Some(SecretType::TLS.as_str()) {
        return;
    }
    let data = secret.field(Secret::DATA).value();
    let text = |key: &str| {
        let Bytes(bytes) = View::<Bytes>::new(data.get(key).unwrap_or(&Value::Null)).get();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    warnings.extend(fault(&text("tls.crt"), &text("tls.key")).map(|fault| format!("tls: {fault}")));
}

fn is_key(block: &Block<'_>) -> bool {
    block.kind == "PRIVATE KEY" || block.kind.ends_with(" PRIVATE KEY")
}

/// Why a text is not a certificate, or the other not its key.
fn fault(certificate: &str, key: &str) -> Option<String> {
    let blocks = pem::blocks(certificate);
    if !blocks.iter().any(|block| block.kind == CERTIFICATE) {
        return Some(match blocks.as_slice() {
            [] => "failed to find any PEM data in certificate input".to_owned(),
            [block] if is_key(block) => "failed to find certificate PEM data in certificate input, but did find a \
                                         private key; PEM inputs may have been switched"
                .to_owned(),
            blocks => format!(
                "failed to find \"CERTIFICATE\" PEM block in certificate input after skipping PEM blocks of the \
                 following types: {}",
                kinds(blocks)
            ),
        });
    }
    let blocks = pem::blocks(key);
    match blocks.as_slice() {
        blocks if blocks.iter().any(is_key) => None,
        [] => Some("failed to find any PEM data in key input".to_owned()),
        [block] if block.kind == CERTIFICATE => {
            Some("found a certificate rather than a key in the PEM for the private key".to_owned())
        }
        blocks => Some(format!(
            "failed to find PEM block with type ending in \"PRIVATE KEY\" in key input after skipping PEM blocks of \
             the following types: {}",
            kinds(blocks)
        )),
    }
}

fn kinds(blocks: &[Block<'_>]) -> String {
    let kinds: Vec<&str> = blocks.iter().map(|block| block.kind).collect();
    format!("[{}]", kinds.join(" "))
}

#[cfg(test)]
mod tests {
    use super::fault;

    #[test]
    fn what_is_missing_is_told() {
        let block = |kind: &str| format!("-----BEGIN {kind}-----\nMAA=\n-----END {kind}-----\n");
        let (certificate, key, other) = (block("CERTIFICATE"), block("EC PRIVATE KEY"), block("X"));
        let starts = [
            ("", &key, "failed to find any PEM data in certificate input"),
            (&key, &key, "failed to find certificate PEM data in certificate input, but did find a private key;"),
            (&other, &key, "failed to find \"CERTIFICATE\" PEM block in certificate input after skipping"),
            (&certificate, &String::new(), "failed to find any PEM data in key input"),
            (&certificate, &certificate, "found a certificate rather than a key"),
            (&certificate, &other, "failed to find PEM block with type ending in \"PRIVATE KEY\""),
        ];
        for (certificate, key, start) in starts {
            assert!(fault(certificate, key).is_some_and(|fault| fault.starts_with(start)), "{start}");
        }
        assert_eq!(fault(&(other + &certificate), &key), None);
    }
}
