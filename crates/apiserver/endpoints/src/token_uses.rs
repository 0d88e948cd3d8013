//! Uses of tokens that somebody keeps account of.

use crate::Api;
use futures_util::future::BoxFuture;
use pintle_auth::authentication::UsedSecret;
use std::future::ready;

/// Keeps account of the uses of tokens that are stored in secrets.
pub trait TokenUses: Send + Sync {
    /// Records a use before the request goes on. It cannot fail the request.
    fn record<'a>(&'a self, api: &'a Api, used: UsedSecret) -> BoxFuture<'a, ()>;
}

/// Nobody keeps account.
impl TokenUses for () {
    fn record<'a>(&'a self, _: &'a Api, _: UsedSecret) -> BoxFuture<'a, ()> {
        Box::pin(ready(()))
    }
}
