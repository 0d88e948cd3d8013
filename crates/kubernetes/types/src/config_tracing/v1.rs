//! Types of `v1`: where traces are sent.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use pintle_schema::ApiType;

/// Settings for sending OpenTelemetry traces.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct TracingConfiguration {
    /// Address of the collector; localhost:4317 when unset.
    #[k8s(optional)]
    pub endpoint: Option<String>,
    /// Traces taken per million requests; none of its own when unset.
    #[k8s(optional)]
    pub sampling_rate_per_million: Option<i32>,
}
