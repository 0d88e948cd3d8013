//! Failures of a webhook, and the resulting errors. Guarantees kube-apiserver's codes and messages. Must never apply the
//! failure policy to a denial.

use pintle_registry::Status;
use pintle_registry::status::Details;
use pintle_schema::{ApiType, canonicalize, names};
use pintle_types::meta::v1;

/// Why a webhook does not let a request pass.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The call failed, or its response is unusable: the failure policy decides.
    Call {
        /// The name of the webhook.
        webhook: String,
        reason: String,
        /// As metrics name it.
        code: u16,
    },
    /// The webhook or its result is rejected regardless of the failure policy.
    Refused(Status),
    /// The webhook denies the request.
    Denied(Status),
}

impl Failure {
    pub fn call(webhook: &str, code: u16, reason: impl Into<String>) -> Failure {
        Failure::Call { webhook: webhook.to_owned(), reason: reason.into(), code }
    }

    /// The error for the client.
    pub fn into_status(self) -> Status {
        match self {
            Failure::Call { webhook, reason, .. } => {
                Status::internal(format_args!("failed calling webhook {}: {reason}", names::quoted(&webhook)))
            }
            Failure::Refused(status) | Failure::Denied(status) => status,
        }
    }

    /// A dry run of a webhook that has effects.
    pub fn dry_run(webhook: &str) -> Failure {
        let webhook = names::quoted(webhook);
        Failure::Refused(Status::bad_request(format!("admission webhook {webhook} does not support dry run")))
    }

    /// A denial, with the webhook's status.
    pub fn denied(webhook: &str, said: Option<v1::Status>) -> Failure {
        let mut said = said.unwrap_or_default();
        let denied = format!("admission webhook {} denied the request", names::quoted(webhook));
        said.code = said.code.max(400);
        if matches!(said.status.as_str(), "" | "Success") {
            "Failure".clone_into(&mut said.status);
        }
        said.message = match (said.message.as_str(), said.reason.as_str()) {
            ("", "") => format!("{denied} without explanation"),
            ("", reason) => format!("{denied}: {reason}"),
            (message, _) => format!("{denied}: {message}"),
        };
        "Status".clone_into(&mut said.type_meta.kind);
        "v1".clone_into(&mut said.type_meta.api_version);
        // The code of a response has three digits.
        let code = u16::try_from(said.code).ok().filter(|code| *code < 1000).unwrap_or(500);
        let mut given = pintle_schema::ApiValue::to_value(&said);
        canonicalize(v1::Status::schema(), &mut given);
        given.map_entry("metadata");
        let retry_after = said.details.as_ref().map_or(0, |details| details.retry_after_seconds);
        let mut status = Status::new(code, "", said.message);
        // For the header; the body is the webhook's.
        let header = |retry_after_seconds| Box::new(Details { retry_after_seconds, ..Details::default() });
        status.details = u32::try_from(retry_after).ok().map(header);
        status.given = Some(Box::new(given));
        Failure::Denied(status)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_types::meta::v1::StatusDetails;

    #[test]
    fn a_denial_tells_when_to_come_again() {
        for (seconds, expected) in [(7, 7), (0, 0), (-1, 0)] {
            let details = Some(StatusDetails { retry_after_seconds: seconds, ..StatusDetails::default() });
            let said = v1::Status { details, ..v1::Status::default() };
            let status = Failure::denied("a.b.c", Some(said)).into_status();
            assert_eq!(status.details.map_or(0, |details| details.retry_after_seconds), expected, "{seconds}");
        }
    }
}
