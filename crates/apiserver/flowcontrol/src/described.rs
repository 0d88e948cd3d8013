//! What flow control is told of a request, for those who look at its state. It is asked for when a dump is made only. Must never be needed to
//! decide which request is worked on.

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
