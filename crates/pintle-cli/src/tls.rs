//! The certificates of the server and the identities of its clients, from files that are followed. Guarantees that a
//! file which cannot be used changes nothing while the server runs. Must never log a key.

use crate::access::StaticTokens;
use crate::authorities::Authorities;
use crate::flags::{Config, NamedPair};
use pintle::Builder;
use pintle::certs::{self, ADMINISTRATOR, ADMINISTRATORS, Administrator, Certs};
use pintle::follow::{self, follow};
use pintle_auth::UserInfo;
use pintle_http::{NamedCertificate, TlsConfig, TlsMaterial};
use std::error::Error;
use std::sync::Arc;
use std::time::SystemTime;

/// The certificates of the server; missing ones are generated.
///
/// # Errors
/// A file cannot be read, or a directory cannot be written.
pub fn serving_certs(config: &Config) -> Result<Certs, Box<dyn Error>> {
    let range = config.network.service_ranges.first();
    let addresses =
        [Some(config.network.bind_address), config.network.advertise_address, range.map(|range| range.first_address())];
    let names = certs::ServingNames::new(certs::host_name().as_deref(), addresses.into_iter().flatten());
    Ok(certs::ensure(&config.cert_dir(), config.tls.pair.files(), config.administrator(), &names, SystemTime::now())?)
}

/// Adds the serving certificates, and the identities of clients: their certificates and static tokens.
///
/// # Errors
/// A file cannot be read, or is invalid.
pub fn install(config: &Config, certs: &Certs, builder: &mut Builder) -> Result<(), Box<dyn Error>> {
    let authorities = Authorities::load(config, &certs.ca_pem)?;
    authorities.install(builder);
    let administrator = match &certs.admin {
        Administrator::Token(token) => {
            let groups = vec![ADMINISTRATORS.into()];
            Some((token.clone(), UserInfo { name: ADMINISTRATOR.into(), groups, ..UserInfo::default() }))
        }
        Administrator::Certificate { .. } => None,
    };
    if let Some(tokens) = StaticTokens::load(config.authentication.token_file.as_deref(), administrator)? {
        builder.generic().add_authenticator(tokens);
    }
    builder.accept_bootstrap_tokens(config.front_proxy.bootstrap_tokens);
    let named = read_named(&config.tls.named.0)?;
    let material = TlsMaterial {
        named: named.clone(),
        cert_chain_pem: certs.serving_cert_pem.clone().into_bytes(),
        key_pem: certs.serving_key_pem.clone().into_bytes(),
        client_ca_pem: Some(authorities.pem()),
        unread_client_key: Some(pintle_auth::authentication::public_key),
        disable_http2: config.tls.disable_http2,
        min_version: config.tls.min_version,
        cipher_suites: config.tls.cipher_suites.clone(),
        curves: config.tls.curves.clone(),
    };
    let tls = Arc::new(TlsConfig::new(&material)?);
    if let Some((certificate, key)) = config.tls.pair.files() {
        let (certificate, key) = (certificate.to_owned(), key.to_owned());
        let mut last = (material.cert_chain_pem, material.key_pem);
        follow("serving certificate", &tls, move |tls: &TlsConfig| {
            let pair = (follow::read(&certificate)?, follow::read(&key)?);
            if pair != last {
                let change = |material: &mut TlsMaterial| (material.cert_chain_pem, material.key_pem) = pair.clone();
                tls.change(change).map_err(|error| error.to_string())?;
                last = pair;
            }
            Ok(())
        })?;
    }
    if !named.is_empty() {
        let (pairs, mut last) = (config.tls.named.0.clone(), named);
        follow("certificates of names", &tls, move |tls: &TlsConfig| {
            let named = read_named(&pairs)?;
            if named != last {
                tls.change(|material| material.named.clone_from(&named)).map_err(|error| error.to_string())?;
                last = named;
            }
            Ok(())
        })?;
    }
    authorities.follow(&tls)?;
    builder.set_tls(tls);
    builder.set_own_certificate_end(config.tls.pair.files().is_none().then(|| certs.serving_ends()).flatten());
    Ok(())
}

/// The certificates that are selected by SNI.
fn read_named(pairs: &[NamedPair]) -> Result<Vec<NamedCertificate>, String> {
    let read = |pair: &NamedPair| {
        let (cert_chain_pem, key_pem) = (follow::read(&pair.certificate)?, follow::read(&pair.key)?);
        Ok(NamedCertificate { cert_chain_pem, key_pem, names: pair.names.clone() })
    };
    pairs.iter().map(read).collect()
}
