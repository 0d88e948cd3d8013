//! The response of a backend as the client gets it. Guarantees that headers of the connection to the backend are not in
//! it. Must never be read whole: its content is a stream.

use crate::backend::ByteStream;
use crate::upgrade::Takeover;
use bytes::Bytes;
use http::HeaderMap;

/// A response that is made of a backend's, or that hands the connection over.
pub struct ForwardedResponse {
    pub code: u16,
    pub headers: HeaderMap,
    pub content: Content,
}

/// The content of a forwarded response.
pub enum Content {
    /// Streamed; fails where the backend does.
    Streamed(ByteStream),
    /// A page that was rewritten.
    Page(Bytes),
    /// The connection itself, which is handed over once the head is sent.
    Upgrade(Takeover),
}
