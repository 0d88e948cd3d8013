//! Connections to sockets of this machine. Guarantees that `@name` is the abstract socket `name` of Linux, as in Go, and any other
//! address a path. Must never wait for a socket that does not exist yet.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use tokio::net::UnixStream;

/// Connects to a socket.
///
/// # Errors
/// Nobody listens there, or the system has no abstract sockets.
pub async fn connect(socket: &Path) -> io::Result<UnixStream> {
    UnixStream::connect(address(socket)?).await
}

/// The address as the runtime takes it: the name of an abstract socket follows a zero.
fn address(socket: &Path) -> io::Result<PathBuf> {
    let Some(name) = socket.to_str().and_then(|socket| socket.strip_prefix('@')) else { return Ok(socket.to_owned()) };
    if !cfg!(target_os = "linux") {
        return Err(io::Error::new(io::ErrorKind::Unsupported, "abstract sockets exist on Linux only"));
    }
    let mut address = OsString::from("\0");
    address.push(name);
    Ok(address.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::{SocketAddr, UnixListener};

    #[tokio::test]
    async fn sockets_have_paths_or_abstract_names() {
        let name = format!("pintle-grpc-{}", std::process::id());
        let path = std::env::temp_dir().join(&name);
        let _ = std::fs::remove_file(&path);
        let in_folder = UnixListener::bind(&path).expect("a socket");
        let address = SocketAddr::from_abstract_name(&name).expect("a name");
        let unnamed = UnixListener::bind_addr(&address).expect("an abstract socket");
        let abstract_name = PathBuf::from(format!("@{name}"));
        for (listener, socket) in [(in_folder, &path), (unnamed, &abstract_name)] {
            connect(socket).await.expect("a connection");
            listener.accept().expect("the same connection");
        }
        std::fs::remove_file(&path).expect("removed");
        for socket in [path, abstract_name] {
            assert!(connect(&socket).await.is_err(), "{socket:?}: nobody listens");
        }
    }
}
