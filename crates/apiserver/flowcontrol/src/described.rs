//! The description of a request for dumps of flow control's state. Guarantees that it is made only when a dump is. Must never be
//! needed to decide which request runs.

use pintle_auth::Attributes;
use std::borrow::Cow;

/// What a dump shows of a request.
pub trait Described: Send + Sync + 'static {
    fn details(&self) -> Details<'_>;
}

/// A request, as a dump shows it.
#[derive(Debug)]
pub struct Details<'a> {
    pub attributes: Attributes<'a>,
    pub path: Cow<'a, str>,
}
