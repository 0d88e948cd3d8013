//! A serving certificate whose files change while the server runs, as those that expire do.
//! Guarantees that new connections see the new pair within seconds, and that a pair that is no good changes nothing.
//! Must never touch a connection that is open.

use pintle_http::{TlsConfig, TlsMaterial};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// How often the files are looked at.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Follows a certificate and its key for as long as somebody uses the configuration; `material` is what it was made of.
///
/// # Errors
/// The system has no thread to spare.
pub fn follow(tls: &Arc<TlsConfig>, mut material: TlsMaterial, certificate: PathBuf, key: PathBuf) -> io::Result<()> {
    let followed = Arc::downgrade(tls);
    let look = move || {
        let (mut last, mut told) = (String::new(), String::new());
        loop {
            std::thread::sleep(LOOK_EVERY);
            let Some(tls) = followed.upgrade() else { return };
            let pair = std::fs::read(&certificate).and_then(|certificate| Ok((certificate, std::fs::read(&key)?)));
            let fault = take_over(&tls, &mut material, pair).err().unwrap_or_default();
            // Two files do not change at one time: only what is still wrong at the next look is wrong.
            if fault == last && fault != told {
                told.clone_from(&fault);
                if !told.is_empty() {
                    eprintln!("warning: the serving certificate was not taken over: {told}");
                }
            }
            last = fault;
        }
    };
    std::thread::Builder::new().name("serving-certificate".to_owned()).spawn(look).map(drop)
}

fn take_over(tls: &TlsConfig, material: &mut TlsMaterial, pair: io::Result<(Vec<u8>, Vec<u8>)>) -> Result<(), String> {
    let (cert_chain_pem, key_pem) = pair.map_err(|error| error.to_string())?;
    if (&cert_chain_pem, &key_pem) == (&material.cert_chain_pem, &material.key_pem) {
        return Ok(());
    }
    let next = TlsMaterial { cert_chain_pem, key_pem, ..material.clone() };
    tls.reload(&next).map_err(|error| error.to_string())?;
    *material = next;
    Ok(())
}
