//! Who vouches for clients and for the front proxy: what the files say that flags name, now and when they change.
//! Guarantees that a file which is no good changes nothing, whatever the other one says.
//! Must never trust the front proxy's authorities for clients, nor the other way round.

use crate::flags::{Config, FrontProxyFlags};
use pintle::Builder;
use pintle::follow::{follow, read};
use pintle_auth::Authenticator;
use pintle_auth::authentication::{ClientCa, FrontProxy, FrontProxyHeaders};
use pintle_http::TlsConfig;
use std::collections::BTreeMap;
use std::error::Error;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};

/// The authorities of clients or of the front proxy.
struct Source {
    /// Those that count whatever the file says, as PEM.
    own: Vec<u8>,
    file: Option<PathBuf>,
    /// What they all were when they were last good.
    pem: Vec<u8>,
    ca: Arc<ClientCa>,
}

impl Source {
    fn new(own: Vec<u8>, file: Option<PathBuf>) -> Result<Source, Box<dyn Error>> {
        let pem = all(&own, &file)?;
        let ca = Arc::new(ClientCa::from_pem(&pem)?);
        Ok(Source { own, file, pem, ca })
    }

    /// Takes over what the file says now, and tells whether that is something new.
    fn look(&mut self) -> Result<bool, String> {
        let pem = all(&self.own, &self.file)?;
        if pem == self.pem {
            return Ok(false);
        }
        self.ca.replace(&pem).map_err(|error| error.to_string())?;
        self.pem = pem;
        Ok(true)
    }
}

fn all(own: &[u8], file: &Option<PathBuf>) -> Result<Vec<u8>, String> {
    let Some(file) = file else { return Ok(own.to_vec()) };
    let told = read(file)?;
    // A file without a certificate is a mistake, whoever is believed besides.
    ClientCa::from_pem(&told).map_err(|error| format!("{}: {error}", file.display()))?;
    Ok([own, b"\n", &told].concat())
}

/// All authorities that are believed.
pub struct Authorities {
    clients: Source,
    proxy: Option<Source>,
    proxy_flags: FrontProxyFlags,
    told: Arc<RwLock<BTreeMap<String, String>>>,
}

impl Authorities {
    /// Those that the flags name, and `own`, by whom clients are known anyway.
    ///
    /// # Errors
    /// A file cannot be read, or has no certificate.
    pub fn load(config: &Config, own: &str) -> Result<Authorities, Box<dyn Error>> {
        let file = |file: &Option<_>| file.as_deref().map(PathBuf::from);
        let clients = Source::new(own.as_bytes().to_vec(), file(&config.client_ca_file))?;
        let proxy = file(&config.front_proxy.client_ca_file);
        let proxy = proxy.map(|file| Source::new(Vec::new(), Some(file))).transpose()?;
        let authorities = Authorities { clients, proxy, proxy_flags: config.front_proxy.clone(), told: Arc::default() };
        authorities.tell();
        Ok(authorities)
    }

    /// Lets them be believed, and told to the cluster's members.
    pub fn install(&self, authenticator: &mut Authenticator, builder: &mut Builder) {
        authenticator.client_ca = Some(self.clients.ca.clone());
        let FrontProxyFlags { allowed_names, headers, .. } = self.proxy_flags.clone();
        let proxy = self.proxy.as_ref().map(|source| FrontProxy { ca: source.ca.clone(), allowed_names, headers });
        authenticator.front_proxy = proxy;
        builder.authorities = self.told.clone();
    }

    /// Whose certificates clients are asked for.
    pub fn pem(&self) -> Vec<u8> {
        let proxy = self.proxy.as_ref().map_or(&[][..], |source| &source.pem);
        [&self.clients.pem, &b"\n"[..], proxy].concat()
    }

    /// Follows the files, for as long as the server uses its configuration of TLS.
    ///
    /// # Errors
    /// The system has no thread to spare.
    pub fn follow(mut self, tls: &Arc<TlsConfig>) -> std::io::Result<()> {
        if self.clients.file.is_none() && self.proxy.is_none() {
            return Ok(());
        }
        follow("authority of clients", tls, move |tls: &TlsConfig| {
            let outcomes = [Some(&mut self.clients), self.proxy.as_mut()].map(|source| source.map(Source::look));
            if outcomes.contains(&Some(Ok(true))) {
                self.tell();
                let pem = Some(self.pem());
                tls.change(|material| material.client_ca_pem = pem).map_err(|error| error.to_string())?;
            }
            outcomes.into_iter().flatten().find_map(Result::err).map_or(Ok(()), Err)
        })
    }

    /// Says what extension servers need to know to believe the same.
    fn tell(&self) {
        let text = |pem: &[u8]| String::from_utf8_lossy(pem).into_owned();
        let mut told = vec![("client-ca-file", text(&self.clients.pem))];
        if let Some(proxy) = &self.proxy {
            let list = |names: &[String]| {
                let names: Vec<String> = names.iter().map(|name| format!("{name:?}")).collect();
                format!("[{}]", names.join(","))
            };
            let FrontProxyHeaders { username, uid, group, extra_prefixes } = &self.proxy_flags.headers;
            told.extend([
                ("requestheader-client-ca-file", text(&proxy.pem)),
                ("requestheader-allowed-names", list(&self.proxy_flags.allowed_names)),
                ("requestheader-username-headers", list(username)),
                ("requestheader-group-headers", list(group)),
                ("requestheader-extra-headers-prefix", list(extra_prefixes)),
            ]);
            told.extend((!uid.is_empty()).then(|| ("requestheader-uid-headers", list(uid))));
        }
        let told = told.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        *self.told.write().unwrap_or_else(PoisonError::into_inner) = told;
    }
}
