//! The keys and names of service account tokens, from flags. Guarantees that changed key files are taken over whole,
//! and that files with an invalid key change nothing. Must never log a key.

use crate::flags::Config;
use pintle::Builder;
use pintle::certs;
use pintle::external_signer::Signer;
use pintle::follow::{follow, read};
use pintle_gates as gates;
use pintle_kubernetes_auth::service_account::{
    EXTENDED_EXPIRATION_SECONDS, KeySet, SigningKey, TokenConfig, TokenContent, TokenKeys, VerifyingKey,
};
use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Connects to the signer that a flag names, if one does.
///
/// # Errors
/// It does not answer, or answers something invalid.
pub async fn signer(config: &Config) -> Result<Option<Arc<Signer>>, String> {
    match config.service_accounts.signing_endpoint.as_deref() {
        Some(socket) => Signer::start(socket).await.map(Some),
        None => Ok(None),
    }
}

/// Has the server issue and verify tokens with the keys that the flags name, or by the signer.
///
/// # Errors
/// A file cannot be read, or has no usable key.
pub fn install(config: &Config, signer: Option<Arc<Signer>>, builder: &mut Builder) -> Result<(), Box<dyn Error>> {
    if let Some(signer) = signer.clone() {
        builder.generic().metrics().add_source(move |out| signer.render(out));
    }
    builder.set_service_account_tokens(tokens(config, signer)?);
    Ok(())
}

/// The keys and names of tokens. Without a signing key the server generates one.
///
/// # Errors
/// A file cannot be read, or has no usable key.
fn tokens(config: &Config, signer: Option<Arc<Signer>>) -> Result<TokenConfig, Box<dyn Error>> {
    let flags = &config.service_accounts;
    let mut max_expiration_seconds = i64::try_from(flags.max_expiration.as_secs())?;
    let mut tokens = match signer {
        Some(signer) => {
            let limit = signer.max_expiration_seconds();
            if max_expiration_seconds > limit {
                return Err(format!(
                    "service-account-max-token-expiration cannot be set longer than the token expiration supported by \
                     service-account-signing-endpoint: {max_expiration_seconds}s > {limit}s"
                )
                .into());
            }
            if max_expiration_seconds == 0 {
                max_expiration_seconds = limit;
            }
            let mut tokens = TokenConfig::with_keys(pintle::DEFAULT_ISSUER, signer.keys().clone());
            tokens.extended_expiration_seconds = EXTENDED_EXPIRATION_SECONDS.min(limit);
            tokens.external_signer = Some(signer);
            tokens
        }
        None => TokenConfig::with_keys(pintle::DEFAULT_ISSUER, KeyFiles::of(config)?.followed()?),
    };
    if !flags.issuers.0.is_empty() {
        tokens.issuers = flags.issuers.0.iter().map(|issuer| issuer.as_str().into()).collect();
    }
    tokens.audiences = flags.api_audiences.iter().map(|audience| audience.as_str().into()).collect();
    tokens.max_expiration_seconds = max_expiration_seconds;
    tokens.extend_expiration = flags.extend_expiration;
    tokens.jwks_uri.clone_from(&flags.jwks_uri);
    let gates = &config.feature_gates;
    tokens.content = TokenContent {
        id: gates.is_on(&gates::SERVICE_ACCOUNT_TOKEN_JTI),
        node_of_pod: gates.is_on(&gates::SERVICE_ACCOUNT_TOKEN_POD_NODE_INFO),
        bound_to_nodes: gates.is_on(&gates::SERVICE_ACCOUNT_TOKEN_NODE_BINDING),
        valid_with_node: gates.is_on(&gates::SERVICE_ACCOUNT_TOKEN_NODE_BINDING_VALIDATION),
    };
    Ok(tokens)
}

/// The files of keys.
struct KeyFiles {
    signing: PathBuf,
    verifying: Vec<PathBuf>,
}

impl KeyFiles {
    fn of(config: &Config) -> Result<KeyFiles, Box<dyn Error>> {
        let flags = &config.service_accounts;
        let signing = match flags.signing_key_file.as_deref() {
            Some(path) => path.to_owned(),
            None => certs::service_account_key_file(&config.cert_dir())?,
        };
        Ok(KeyFiles { signing, verifying: flags.key_files.0.iter().map(|path| path.to_path_buf()).collect() })
    }

    /// The text of each file, the signing key's first.
    fn texts(&self) -> Result<Vec<Vec<u8>>, String> {
        std::iter::once(&self.signing).chain(&self.verifying).map(|path| read(path)).collect()
    }

    fn keys(&self, texts: &[Vec<u8>]) -> Result<KeySet, String> {
        let in_file = |path: &Path, error| format!("{}: {error}", path.display());
        let (signing, verifying) = texts.split_first().ok_or("there is no key")?;
        let signing = SigningKey::from_pem(signing).map_err(|error| in_file(&self.signing, error))?;
        let mut keys = Vec::new();
        for (path, text) in self.verifying.iter().zip(verifying) {
            keys.extend(VerifyingKey::all_from_pem(text).map_err(|error| in_file(path, error))?);
        }
        Ok(KeySet::signing_with(signing, keys))
    }

    /// The keys, which are replaced when a file changes.
    fn followed(self) -> Result<Arc<TokenKeys>, Box<dyn Error>> {
        let mut last = self.texts()?;
        let keys = TokenKeys::new(self.keys(&last)?);
        follow("keys of service account tokens", &keys, move |keys| {
            let texts = self.texts()?;
            if texts != last {
                keys.replace(self.keys(&texts)?);
                last = texts;
            }
            Ok(())
        })?;
        Ok(keys)
    }
}
