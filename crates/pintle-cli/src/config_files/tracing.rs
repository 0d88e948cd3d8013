//! The file of `--tracing-config-file`: where spans are sent, and how many requests are sampled. Guarantees that a file
//! is accepted only if its collector has a host and a port. Must never connect.

use crate::config_files;
use pintle::trace_export::TraceConfig;
use pintle_types::config_apiserver::v1::TracingConfiguration;
use std::path::Path;

const VERSIONS: [&str; 3] =
    ["apiserver.config.k8s.io/v1", "apiserver.config.k8s.io/v1beta1", "apiserver.config.k8s.io/v1alpha1"];
/// Where collectors listen.
const DEFAULT_ENDPOINT: &str = "localhost:4317";
const MILLION: i32 = 1_000_000;

/// Reads a file with a `TracingConfiguration`.
///
/// # Errors
/// It cannot be read, or is invalid.
pub fn read(path: &Path) -> Result<TraceConfig, String> {
    parse(&config_files::read(path)?).map_err(|error| format!("{}: {error}", path.display()))
}

fn parse(text: &[u8]) -> Result<TraceConfig, String> {
    let file: TracingConfiguration = config_files::decode(text, &VERSIONS, "TracingConfiguration")?;
    let tracing = file.tracing_configuration;
    let rate = tracing.sampling_rate_per_million.unwrap_or(0);
    let invalid = |why: &str| format!("tracing.samplingRatePerMillion: Invalid value: {rate}: {why}");
    let rate_per_million = match rate {
        ..0 => return Err(invalid("sampling rate must be positive")),
        0..=MILLION => u32::try_from(rate).unwrap_or_default(),
        _ => return Err(invalid("sampling rate per million must be less than or equal to one million")),
    };
    let endpoint = tracing.endpoint.as_deref().unwrap_or(DEFAULT_ENDPOINT);
    let address = endpoint.strip_prefix("dns:///").unwrap_or(endpoint);
    let is_address =
        address.rsplit_once(':').is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok());
    if !is_address {
        return Err(format!("tracing.endpoint: Invalid value: {endpoint:?}: must be a host and a port"));
    }
    Ok(TraceConfig { endpoint: address.to_owned(), rate_per_million })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(body: &str) -> Result<TraceConfig, String> {
        let text = format!("apiVersion: apiserver.config.k8s.io/v1\nkind: TracingConfiguration\n{body}");
        parse(text.as_bytes())
    }

    #[test]
    fn files_have_an_address_and_a_rate() {
        let config = |endpoint: &str, rate_per_million| Ok(TraceConfig { endpoint: endpoint.into(), rate_per_million });
        assert_eq!(parsed(""), config("localhost:4317", 0));
        assert_eq!(parsed("endpoint: a:1\nsamplingRatePerMillion: 1000000"), config("a:1", 1_000_000));
        assert_eq!(parsed("endpoint: dns:///a:1"), config("a:1", 0));
        for (bad, why) in [
            ("samplingRatePerMillion: -1", "sampling rate must be positive"),
            ("samplingRatePerMillion: 1000001", "less than or equal to one million"),
            ("endpoint: a", "must be a host and a port"),
            ("sampling: 1", "unknown field"),
        ] {
            assert!(parsed(bad).is_err_and(|error| error.contains(why)), "{bad}");
        }
        let other = parse(b"apiVersion: v1\nkind: TracingConfiguration\n");
        assert!(other.is_err_and(|error| error.starts_with("no kind ")));
    }
}
