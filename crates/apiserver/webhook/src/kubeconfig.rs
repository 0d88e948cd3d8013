//! The kubeconfig file of a webhook: its address, CA and credentials. Guarantees that the files it names are read once, except
//! token files. Must never ignore an authentication method that is not supported here.

use std::path::{Path, PathBuf};

use pintle_codec::{Strictness, yaml};
use pintle_meta::config_kubeconfig::v1::{AuthInfo, Config};
use pintle_schema::{ApiType, ApiValue};

use crate::connect::Address;
use crate::settings::{Credentials, Settings};
use crate::tls::{Identity, TlsSettings};

/// A file of clusters, users and contexts.
#[derive(Clone, Debug)]
pub struct Kubeconfig {
    config: Config,
    /// The folder that paths in the file are relative to.
    folder: PathBuf,
}

/// Why a file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KubeconfigError {
    /// A file cannot be read.
    #[error("{}: {}", .0.display(), .1)]
    File(PathBuf, std::io::Error),
    /// The file is no kubeconfig.
    #[error("{}: {}", .0.display(), .1)]
    Malformed(PathBuf, String),
    /// The file is invalid.
    #[error("invalid configuration: {0}")]
    Invalid(String),
    /// The file uses an unsupported feature.
    #[error("{0} is not supported")]
    Unsupported(&'static str),
}

impl Kubeconfig {
    /// Reads a file.
    ///
    /// # Errors
    /// It cannot be read or decoded.
    pub fn read(path: &Path) -> Result<Kubeconfig, KubeconfigError> {
        let text = std::fs::read(path).map_err(|error| KubeconfigError::File(path.to_owned(), error))?;
        let malformed = |why: String| KubeconfigError::Malformed(path.to_owned(), why);
        let decoded = yaml::decode(Config::schema(), &text, Strictness::Ignore);
        let value = decoded.map_err(|error| malformed(error.to_string()))?.value;
        let config = Config::from_value(&value).map_err(|error| malformed(error.to_string()))?;
        let known = (config.kind.is_empty() || config.kind == "Config")
            && (config.api_version.is_empty() || config.api_version == "v1");
        if !known {
            return Err(malformed(format!(
                "no kind {:?} is registered for version {:?}",
                config.kind, config.api_version
            )));
        }
        Ok(Kubeconfig { config, folder: path.parent().unwrap_or(Path::new("")).to_owned() })
    }

    /// The webhook of the current context, with its user's credentials.
    ///
    /// # Errors
    /// The context is incomplete, a file that it names cannot be read, or it uses an unsupported feature.
    pub fn current(&self, user_agent: &str) -> Result<Settings, KubeconfigError> {
        let invalid = |text: String| KubeconfigError::Invalid(text);
        let name = &self.config.current_context;
        let context = self.config.contexts.iter().find(|context| context.name == *name);
        let context =
            &context.ok_or_else(|| invalid(format!("context was not found for specified context: {name}")))?.context;
        let cluster = self.config.clusters.iter().find(|cluster| cluster.name == context.cluster);
        let cluster = cluster
            .ok_or_else(|| invalid(format!("cluster {:?} was not found for context {name:?}", context.cluster)))?;
        let cluster = &cluster.cluster;
        if cluster.server.is_empty() {
            return Err(invalid(format!("no server found for cluster {:?}", context.cluster)));
        }
        if !cluster.proxy_url.is_empty() {
            return Err(KubeconfigError::Unsupported("proxy-url"));
        }
        let user = self.config.users.iter().find(|user| user.name == context.user);
        let credentials = match user {
            Some(user) => self.credentials(&user.user)?,
            None if context.user.is_empty() => Credentials::default(),
            None => return Err(invalid(format!("user {:?} was not found for context {name:?}", context.user))),
        };
        let has_scheme = cluster.server.contains("://");
        let scheme = if has_scheme { "" } else { "https://" };
        Ok(Settings {
            address: Address::Url(format!("{scheme}{}", cluster.server)),
            tls: TlsSettings {
                ca_pem: self.bytes(&cluster.certificate_authority_data.0, &cluster.certificate_authority)?,
                identity: None,
                server_name: Some(cluster.tls_server_name.clone()).filter(|name| !name.is_empty()),
                insecure: cluster.insecure_skip_tls_verify,
                http2: true,
            },
            credentials,
            user_agent: user_agent.to_owned(),
        })
    }

    /// The credentials for a webhook by its host and port: those of the user whose name is the host and port, a pattern of
    /// it (`*.example.com:8443`), either without the port if that is 443, or `*`; otherwise the current context's.
    ///
    /// # Errors
    /// A file that the user names cannot be read, or the user has an unsupported feature.
    pub fn credentials_for(&self, host: &str, port: u16) -> Result<Credentials, KubeconfigError> {
        match self.user_for(host, port) {
            Some(user) => self.credentials(user),
            None => Ok(Credentials::default()),
        }
    }

    fn user_for(&self, host: &str, port: u16) -> Option<&AuthInfo> {
        let by_name = |name: &str| self.config.users.iter().find(|user| user.name == name).map(|user| &user.user);
        let by_pattern = |target: &str| {
            let suffixes = target.match_indices('.').filter_map(|(at, _)| target.get(at..));
            by_name(target).or_else(|| suffixes.into_iter().find_map(|suffix| by_name(&format!("*{suffix}"))))
        };
        let host_port = if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") };
        let current = || {
            let name = &self.config.current_context;
            let context = self.config.contexts.iter().find(|context| context.name == *name && !name.is_empty())?;
            by_name(&context.context.user).filter(|_| !context.context.user.is_empty())
        };
        by_pattern(&host_port)
            .or_else(|| if port == 443 { by_pattern(host) } else { None })
            .or_else(|| by_name("*"))
            .or_else(current)
    }

    fn credentials(&self, user: &AuthInfo) -> Result<Credentials, KubeconfigError> {
        for (given, what) in [
            (user.exec.is_some(), "exec"),
            (user.auth_provider.is_some(), "auth-provider"),
            (!user.r#as.is_empty(), "as"),
        ] {
            if given {
                return Err(KubeconfigError::Unsupported(what));
            }
        }
        let text = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
        let (token, name, password) = (text(&user.token), &user.username, &user.password);
        let token_file = if token.is_none() { text(&user.token_file).map(|file| self.folder.join(file)) } else { None };
        let basic = (!name.is_empty() || !password.is_empty()).then(|| (name.clone(), password.clone()));
        if basic.is_some() && (token.is_some() || token_file.is_some()) {
            return Err(KubeconfigError::Invalid(
                "username/password or bearer token may be set, but not both".to_owned(),
            ));
        }
        let cert_pem = self.bytes(&user.client_certificate_data.0, &user.client_certificate)?;
        let key_pem = self.bytes(&user.client_key_data.0, &user.client_key)?;
        let identity = match (cert_pem.is_empty(), key_pem.is_empty()) {
            (true, true) => None,
            (false, false) => Some(Identity { cert_pem, key_pem }),
            _ => {
                return Err(KubeconfigError::Invalid(
                    "client-key-data or client-key must be specified to use the clientCert authentication method, and the \
                     reverse"
                        .to_owned(),
                ));
            }
        };
        Ok(Credentials { token, token_file, basic, identity })
    }

    /// Inline data, or the content of a file.
    fn bytes(&self, data: &[u8], file: &str) -> Result<Vec<u8>, KubeconfigError> {
        if !data.is_empty() || file.is_empty() {
            return Ok(data.to_vec());
        }
        let path = self.folder.join(file);
        std::fs::read(&path).map_err(|error| KubeconfigError::File(path, error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Kubeconfig, KubeconfigError> {
        let folder = std::env::temp_dir().join(format!("webhook-kubeconfig-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let path = folder.join(format!("{:?}", std::thread::current().id()));
        std::fs::write(&path, text).expect("written");
        let read = Kubeconfig::read(&path);
        std::fs::remove_file(&path).expect("removed");
        read
    }

    #[test]
    fn the_current_context() {
        let text = "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: a, user: b}}]\n\
                    clusters: [{name: a, cluster: {server: \"https://h:1/x\", certificate-authority-data: QUJD}}]\n\
                    users: [{name: b, user: {token: t}}]\n";
        let settings = read(text).expect("a file").current("me").expect("settings");
        assert_eq!(settings.address, Address::Url("https://h:1/x".to_owned()));
        assert_eq!(settings.tls.ca_pem, b"ABC");
        assert_eq!(settings.credentials.token.as_deref(), Some("t"));
        let rows = [
            (text.replace("context: c", "context: d"), "context was not found for specified context: d"),
            (text.replace("{token: t}", "{exec: {command: x}}"), "exec is not supported"),
            (text.replace("{token: t}", "{token: t, username: x}"), "but not both"),
            (text.replace("{token: t}", "{client-key-data: QUJD}"), "client-key must be specified"),
            (text.replace("user: b", "user: c"), "user \"c\" was not found"),
        ];
        for (text, why) in rows {
            let error = read(&text).expect("a file").current("me").expect_err("refused").to_string();
            assert!(error.contains(why), "{error}");
        }
        assert!(read("kind: Pod").is_err());
    }

    #[test]
    fn users_by_host() {
        let text = "users: [{name: \"a.b.c:1\", user: {token: exact}}, {name: \"*.b.c:1\", user: {token: pattern}},\n\
                    {name: x.y, user: {token: portless}}, {name: \"*\", user: {token: any}}]\n";
        let file = read(text).expect("a file");
        for (host, port, token) in [
            ("a.b.c", 1, "exact"),
            ("z.b.c", 1, "pattern"),
            ("x.y", 443, "portless"),
            ("x.y", 1, "any"),
            ("::1", 443, "any"),
        ] {
            let credentials = file.credentials_for(host, port).expect("credentials");
            assert_eq!(credentials.token.as_deref(), Some(token), "{host}:{port}");
        }
        let text = "current-context: c\ncontexts: [{name: c, context: {user: b}}]\nusers: [{name: b, user: {username: u, \
                    password: p}}]\n";
        let credentials = read(text).expect("a file").credentials_for("h", 1).expect("credentials");
        assert_eq!(credentials.basic, Some(("u".to_owned(), "p".to_owned())));
        assert_eq!(read("users: []").expect("a file").credentials_for("h", 1).expect("none"), Credentials::default());
    }
}
