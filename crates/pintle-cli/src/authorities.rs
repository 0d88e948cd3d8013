//! The certificate authorities of clients and of the front proxy, loaded from the files that flags name and reloaded
//! when these change. Guarantees that a client CA file replaces the server's own authority, and that an invalid file
//! does not affect the other one. Must never trust the front proxy's authorities for clients, nor the reverse.

use crate::flags::{Config, FrontProxyFlags};
use pintle::Builder;
use pintle::follow::{follow, read};
use pintle_auth::authentication::{ClientCa, FrontProxy, FrontProxyHeaders};
use pintle_codec::json;
use pintle_endpoints::metrics::client_certificates;
use pintle_gates as gates;
use pintle_http::TlsConfig;
use pintle_schema::Value;
use std::collections::BTreeMap;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

/// The authorities of clients or of the front proxy.
struct CaSource {
    file: Option<PathBuf>,
    /// The last valid certificates.
    pem: Vec<u8>,
    ca: Arc<ClientCa>,
}

impl CaSource {
    /// Loads the authorities of a file.
    fn of_file(file: PathBuf) -> Result<CaSource, Box<dyn Error>> {
        let pem = read_authorities(&file)?;
        Ok(CaSource { ca: Arc::new(ClientCa::from_pem(&pem)?), file: Some(file), pem })
    }

    /// Authorities that no file changes.
    fn fixed(pem: &str) -> Result<CaSource, Box<dyn Error>> {
        Ok(CaSource { file: None, pem: pem.into(), ca: Arc::new(ClientCa::from_pem(pem.as_bytes())?) })
    }

    /// Reads the file again; true if its content changed.
    fn look(&mut self) -> Result<bool, String> {
        let Some(file) = &self.file else { return Ok(false) };
        let pem = read_authorities(file)?;
        if pem == self.pem {
            return Ok(false);
        }
        self.ca.replace(&pem).map_err(|error| error.to_string())?;
        self.pem = pem;
        Ok(true)
    }
}

/// The certificates of a file; a file without a certificate is an error.
fn read_authorities(file: &Path) -> Result<Vec<u8>, String> {
    let pem = read(file)?;
    ClientCa::from_pem(&pem).map_err(|error| format!("{}: {error}", file.display()))?;
    Ok(pem)
}

/// All trusted authorities.
pub struct Authorities {
    clients: CaSource,
    proxy: Option<CaSource>,
    proxy_flags: FrontProxyFlags,
    published: Arc<RwLock<BTreeMap<String, String>>>,
}

impl Authorities {
    /// Loads the authorities that the flags name; for clients, `own` if no flag names any.
    ///
    /// # Errors
    /// A file cannot be read, or has no certificate.
    pub fn load(config: &Config, own: &str) -> Result<Authorities, Box<dyn Error>> {
        let file = |file: &Option<_>| file.as_deref().map(PathBuf::from);
        let mut clients = match file(&config.authentication.client_ca_file) {
            Some(file) => CaSource::of_file(file)?,
            None => CaSource::fixed(own)?,
        };
        if !config.feature_gates.is_on(&gates::ALLOW_PARSING_USER_UID_FROM_CERT_AUTH) {
            clients.ca = Arc::new(ClientCa::from_pem(&clients.pem)?.without_uids());
        }
        let proxy = file(&config.front_proxy.client_ca_file).map(CaSource::of_file).transpose()?;
        let authorities =
            Authorities { clients, proxy, proxy_flags: config.front_proxy.clone(), published: Arc::default() };
        authorities.publish();
        Ok(authorities)
    }

    /// Adds the authenticators of the front proxy and of client certificates, and publishes the authorities in the cluster.
    pub fn install(&self, builder: &mut Builder) {
        if let Some(source) = &self.proxy {
            let FrontProxyFlags { allowed_names, headers, .. } = self.proxy_flags.clone();
            let proxy = FrontProxy { ca: source.ca.clone(), allowed_names, headers };
            builder.generic().add_authenticator(Arc::new(proxy));
        }
        builder.generic().add_authenticator(self.clients.ca.clone());
        let counted = self.clients.ca.clone();
        builder.generic().metrics().add_source(move |out| client_certificates(&counted, out));
        builder.advertised().authorities = self.published.clone();
    }

    /// The authorities that the server requests client certificates of.
    pub fn pem(&self) -> Vec<u8> {
        let proxy = self.proxy.as_ref().map_or(&[][..], |source| &source.pem);
        [&self.clients.pem, &b"\n"[..], proxy].concat()
    }

    /// Reloads the files when they change, until the TLS configuration is dropped.
    ///
    /// # Errors
    /// A thread cannot be started.
    pub fn follow(mut self, tls: &Arc<TlsConfig>) -> std::io::Result<()> {
        if self.clients.file.is_none() && self.proxy.is_none() {
            return Ok(());
        }
        follow("authority of clients", tls, move |tls: &TlsConfig| {
            let outcomes = [Some(&mut self.clients), self.proxy.as_mut()].map(|source| source.map(CaSource::look));
            if outcomes.contains(&Some(Ok(true))) {
                self.publish();
                let pem = Some(self.pem());
                tls.change(|material| material.client_ca_pem = pem).map_err(|error| error.to_string())?;
            }
            outcomes.into_iter().flatten().find_map(Result::err).map_or(Ok(()), Err)
        })
    }

    /// Publishes the authorities for extension servers, which trust the same ones.
    fn publish(&self) {
        let text = |pem: &[u8]| String::from_utf8_lossy(pem).into_owned();
        let mut published = vec![("client-ca-file", text(&self.clients.pem))];
        if let Some(proxy) = &self.proxy {
            let list = |names: &[String]| {
                json::to_string(&Value::List(names.iter().map(|name| Value::from(name.as_str())).collect()))
            };
            let FrontProxyHeaders { username, uid, group, extra_prefixes } = &self.proxy_flags.headers;
            published.extend([
                ("requestheader-client-ca-file", text(&proxy.pem)),
                ("requestheader-allowed-names", list(&self.proxy_flags.allowed_names)),
                ("requestheader-username-headers", list(username)),
                ("requestheader-uid-headers", list(uid)),
                ("requestheader-group-headers", list(group)),
                ("requestheader-extra-headers-prefix", list(extra_prefixes)),
            ]);
        }
        let published = published.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        *self.published.write().unwrap_or_else(PoisonError::into_inner) = published;
    }
}
