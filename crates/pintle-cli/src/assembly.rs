//! From a checked command line to a server that can be started. Guarantees that every file is read and the store is
//! opened before a port is bound. Must never wait for another process.

use crate::config_files;
use crate::flags::Config;
use crate::{access, account_keys, audit, connections, store, tls};
use pintle::certs::Certs;
use pintle::external_signer::Signer;
use pintle::{Builder, ServiceNetwork, advertised, follow, trace_export};
use pintle_bootstrap::ServiceRange;
use pintle_codec::{Strictness, yaml};
use pintle_endpoints::Settings;
use pintle_metrics::AllowedLabels;
use std::error::Error;
use std::net::SocketAddr;
use std::sync::Arc;

/// Reads every file and opens the store, so that every error is reported before a port is bound.
///
/// # Errors
/// A file cannot be read, or is invalid.
pub fn prepare(config: &Config, signer: Option<Arc<Signer>>) -> Result<(Builder, Certs), Box<dyn Error>> {
    config.network.egress_selector_file.as_deref().map(config_files::egress::check).transpose()?;
    let mut builder = store::builder(config)?;
    let certs = tls::serving_certs(config)?;
    tls::install(config, &certs, &mut builder)?;
    account_keys::install(config, signer, &mut builder)?;
    access::authentication(config, &mut builder)?;
    access::authorization(config, &mut builder)?;
    gates(config, &mut builder);
    admission(config, &mut builder)?;
    observers(config, &mut builder)?;
    api(config, &mut builder)?;
    *builder.generic().connections() = config.connections.clone();
    *builder.generic().shutdown() = config.process.shutdown;
    let root_ca = Some(certs.server_ca_pem.clone());
    *builder.controllers() = pintle_controllers::Settings { root_ca, ..config.controllers.clone() };
    connections::install(config, &mut builder)?;
    Ok((builder, certs))
}

/// The feature gates, and what they say of versions and resources.
fn gates(config: &Config, builder: &mut Builder) {
    builder.set_runtime_config(config.runtime_config.clone());
    builder.generic().feature_gates().clone_from(&config.gates);
}

/// The admission plugins.
fn admission(config: &Config, builder: &mut Builder) -> Result<(), Box<dyn Error>> {
    let plugins = &config.admission_plugins;
    let configuration = plugins.configuration(builder.webhooks(), &config.feature_gates)?;
    let admission = builder.admission();
    admission.enabled = plugins.enabled.iter().cloned().collect();
    admission.disabled = plugins.disabled.iter().cloned().collect();
    admission.configuration = configuration;
    Ok(())
}

/// What observes requests: the audit log and traces; and the headers for browsers.
fn observers(config: &Config, builder: &mut Builder) -> Result<(), Box<dyn Error>> {
    let auditor = audit::auditor(&config.audit, builder.webhooks())?;
    let generic = builder.generic();
    generic.set_auditor(auditor);
    if let Some(path) = config.surface.tracing_config_file.as_deref() {
        let (tracer, render) = trace_export::start(&config_files::tracing::read(path)?);
        generic.set_tracer(tracer);
        generic.metrics().add_source(render);
    }
    generic.cors().clone_from(&config.surface.cors);
    Ok(())
}

/// The limits and properties of the API, and the addresses that it publishes.
fn api(config: &Config, builder: &mut Builder) -> Result<(), Box<dyn Error>> {
    let address = advertised::address(config.network.advertise_address, config.network.bind_address);
    config.check_family(address)?;
    *builder.generic().settings() = Settings {
        flags: Some(config.shown()),
        metric_labels: Arc::new(metric_labels(config)?),
        server_address: match &config.surface.external_hostname {
            Some(host) => advertised::with_port(host, config.network.secure_port),
            None => {
                SocketAddr::new(address.unwrap_or(config.network.bind_address), config.network.secure_port).to_string()
            }
        },
        ..config.settings.clone()
    };
    let ranges = config.network.service_ranges.iter().map(|range| ServiceRange::parse(&range.to_string()));
    builder.set_service_network(ServiceNetwork {
        ranges: ranges.collect::<Result<_, _>>()?,
        node_ports: config.network.service_node_ports.clone(),
    });
    builder.advertised().address = address;
    builder.advertised().endpoint_reconciler = config.endpoint_reconciler();
    Ok(())
}

/// The allowed values of metric labels, from the flag or else from the file.
fn metric_labels(config: &Config) -> Result<AllowedLabels, String> {
    let mut labels = config.surface.metric_labels.clone();
    let Some(path) = config.surface.metric_labels_file.as_deref().filter(|_| labels.has_no_list()) else {
        return Ok(labels);
    };
    let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let lists = yaml::parse(&follow::read(path)?, Strictness::Ignore).map_err(|error| failed(&error))?.value;
    let lists = lists.as_map().ok_or_else(|| failed(&"must be a map"))?;
    for (key, values) in lists.iter() {
        let values = values.as_str().ok_or_else(|| failed(&"must be a map of texts"))?;
        labels.add(key, values).map_err(|error| failed(&error))?;
    }
    Ok(labels)
}
