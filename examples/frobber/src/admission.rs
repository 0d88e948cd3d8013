//! An admission plugin that asks an HTTP service whether a frobber may be written. Guarantees that a write is rejected
//! when the service does not respond in time, and that no other request is delayed.

use pintle_registry::{AdmissionPlugin, AdmissionRequest, Admitted, Operation, Phase, Status, metadata};
use pintle_resource::MaybeReady;
use pintle_schema::{ApiValue, Value};
use std::time::Duration;

/// How long the service may take.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Asks a service with `GET URL?name=NAME&param=PARAM`; any response but 200 rejects the write, with its text.
pub struct Approval {
    client: reqwest::Client,
    url: reqwest::Url,
}

impl Approval {
    /// A plugin that calls this URL.
    ///
    /// # Errors
    /// It is no URL.
    pub fn new(url: &str) -> Result<Self, Box<dyn std::error::Error>> {
        Ok(Approval { client: reqwest::Client::builder().timeout(TIMEOUT).build()?, url: url.parse()? })
    }

    async fn ask(&self, name: &str, param: &str) -> Result<(), String> {
        let mut url = self.url.clone();
        url.query_pairs_mut().append_pair("name", name).append_pair("param", param);
        let answer =
            self.client.get(url).send().await.map_err(|error| format!("the approval cannot be asked: {error}"))?;
        match answer.status() {
            reqwest::StatusCode::OK => Ok(()),
            // An endless response must not fill the memory.
            _ if answer.content_length().is_none_or(|bytes| bytes > 1024) => Err("it is not approved".to_owned()),
            _ => Err(answer.text().await.unwrap_or_default()),
        }
    }
}

impl AdmissionPlugin for Approval {
    fn name(&self) -> &str {
        "FrobberApproval"
    }

    fn handles(&self, phase: Phase, request: &AdmissionRequest<'_>) -> bool {
        phase == Phase::Validate
            && request.operation != Operation::Delete
            && request.subresource.is_empty()
            && request.target.resource.group == crate::resource::GROUP
    }

    fn validate<'a>(
        &'a self,
        request: &'a AdmissionRequest<'a>,
        object: &'a Value,
        _: &'a mut Vec<String>,
    ) -> Admitted<'a> {
        MaybeReady::wait(async move {
            let name = metadata::text(object, "name");
            let frobber = crate::v6::Frobber::from_value(object).map_err(Status::internal)?;
            let asked = self.ask(name, &frobber.spec.param).await;
            asked.map_err(|why| Status::forbidden(&request.target.resource, name, why.trim()))
        })
    }
}
