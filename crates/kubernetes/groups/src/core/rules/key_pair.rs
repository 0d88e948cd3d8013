//! Warnings of TLS secrets without a certificate, or without its key.
//!
//! The first certificate and the first key count. No content of a secret is ever reported.

use crate::certificates::rules::pem::{self, Block};
use crate::certificates::rules::private_key;
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
    warnings.extend(fault(&text("tls.crt"), &text("tls.key")));
}

fn is_key(block: &Block<'_>) -> bool {
    block.kind == "PRIVATE KEY" || block.kind.ends_with(" PRIVATE KEY")
}

/// Why a text is not a certificate, or the other not its key.
fn fault(certificate: &str, key: &str) -> Option<String> {
    let (certificates, keys) = (pem::blocks(certificate), pem::blocks(key));
    let Some(certificate) = certificates.iter().find(|block| block.kind == CERTIFICATE) else {
        return Some(match certificates.as_slice() {
            [] => "tls: failed to find any PEM data in certificate input".to_owned(),
            [block] if is_key(block) => {
                "tls: failed to find certificate PEM data in certificate input, but did find a \
                                         private key; PEM inputs may have been switched"
                    .to_owned()
            }
            blocks => format!(
                "tls: failed to find \"CERTIFICATE\" PEM block in certificate input after skipping PEM blocks of the \
                 following types: {}",
                kinds(blocks)
            ),
        });
    };
    let Some(key) = keys.iter().find(|block| is_key(block)) else {
        return Some(match keys.as_slice() {
            [] => "tls: failed to find any PEM data in key input".to_owned(),
            [block] if block.kind == CERTIFICATE => {
                "tls: found a certificate rather than a key in the PEM for the private key".to_owned()
            }
            blocks => format!(
                "tls: failed to find PEM block with type ending in \"PRIVATE KEY\" in key input after skipping PEM \
                 blocks of the following types: {}",
                kinds(blocks)
            ),
        });
    };
    private_key::fault(&certificate.data, &key.data).map(str::to_owned)
}

fn kinds(blocks: &[Block<'_>]) -> String {
    let kinds: Vec<&str> = blocks.iter().map(|block| block.kind).collect();
    format!("[{}]", kinds.join(" "))
}

#[cfg(test)]
mod tests {
    use super::fault;
    use crate::certificates::rules::public_key::tests::key;
    use pintle_schema::base64;

    #[test]
    fn what_is_missing_is_told() {
        let block = |kind: &str| format!("-----BEGIN {kind}-----\nMAA=\n-----END {kind}-----\n");
        let (certificate, key, other) = (block("CERTIFICATE"), block("EC PRIVATE KEY"), block("X"));
        let starts = [
            ("", &key, "tls: failed to find any PEM data in certificate input"),
            (&key, &key, "tls: failed to find certificate PEM data in certificate input, but did find a private key;"),
            (&other, &key, "tls: failed to find \"CERTIFICATE\" PEM block in certificate input after skipping"),
            (&certificate, &String::new(), "tls: failed to find any PEM data in key input"),
            (&certificate, &certificate, "tls: found a certificate rather than a key"),
            (&certificate, &other, "tls: failed to find PEM block with type ending in \"PRIVATE KEY\""),
            (&certificate, &key, "x509: malformed tbs certificate"),
        ];
        for (certificate, key, start) in starts {
            assert!(fault(certificate, key).is_some_and(|fault| fault.starts_with(start)), "{start}");
        }
        assert_eq!(fault(&(other + &certificate), &key).as_deref(), Some("x509: malformed tbs certificate"));
    }

    #[test]
    fn a_pair_is_warned_of_unless_it_belongs_together() {
        let block = |kind: &str, name: &str, part: &str| {
            format!("-----BEGIN {kind}-----\n{}\n-----END {kind}-----\n", base64::encode(&key(name, part)))
        };
        let certificate = block("CERTIFICATE", "p256", "certificate");
        let rows = [
            (block("PRIVATE KEY", "p256", "pkcs8"), None),
            (block("EC PRIVATE KEY", "p256", "sec1"), None),
            (block("PRIVATE KEY", "p384", "pkcs8"), Some("tls: private key does not match public key")),
            (block("PRIVATE KEY", "rsa2048", "pkcs8"), Some("tls: private key type does not match public key type")),
            (block("PRIVATE KEY", "p256", "public"), Some("tls: failed to parse private key")),
        ];
        for (key, expected) in rows {
            assert_eq!(fault(&certificate, &key).as_deref(), expected);
        }
    }
}
