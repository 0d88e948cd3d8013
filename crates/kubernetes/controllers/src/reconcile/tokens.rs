//! Deletes expired bootstrap token secrets. Must never delete a secret of another type, or one without an expiration.

use super::{Reconciler, is_removal, read, until};
use crate::queue::Outcome;
use crate::requests::{Requests, Who, retry_on_failure};
use crate::resource_index::{KindId, ObjectKey, ResourceIndex};
use pintle_cache::{Event, Object, WatchFilter};
use pintle_registry::DeleteOptions;
use pintle_registry::options::Propagation;
use pintle_schema::{Time, View};
use pintle_types::core::v1::Secret;
use std::sync::Arc;
use std::time::Duration;

const NAMESPACE: &str = "kube-system";
const PREFIX: &str = "bootstrap-token-";
const TYPE: &str = "bootstrap.kubernetes.io/token";
const EXPIRATION: &str = "expiration";

pub struct Tokens {
    index: Arc<ResourceIndex>,
    secrets: KindId,
}

impl Reconciler for Tokens {
    const QUEUE: &'static str = "token_cleaner";

    fn new(index: Arc<ResourceIndex>) -> Option<Self> {
        let secrets = index.stored("", "secrets")?;
        Some(Tokens { index, secrets })
    }

    fn interest(&self, kind: KindId) -> Option<WatchFilter> {
        (kind == self.secrets).then(|| WatchFilter::Namespace(NAMESPACE.into()))
    }

    fn due(&self, kind: KindId, object: &Object, event: Option<&Event>, due: &mut dyn FnMut(ObjectKey, Duration)) {
        let is_token = object.namespace() == NAMESPACE && object.name().starts_with(PREFIX);
        if kind == self.secrets && is_token && !is_removal(event) {
            due(ObjectKey { kind, key: object.key.clone() }, Duration::ZERO);
        }
    }

    async fn sync(&self, place: &ObjectKey) -> Outcome {
        let Some(kind) = self.index.kind(place.kind) else { return Outcome::Done };
        let Some((stored, secret)) = read(&self.index, place) else { return Outcome::Done };
        let secret = View::<Secret>::new(&secret);
        if secret.field(Secret::TYPE).get() != TYPE {
            return Outcome::Done;
        }
        let Some(end) = secret.field(Secret::DATA).get().remove(EXPIRATION) else { return Outcome::Done };
        let Some(end) = str::from_utf8(&end.0).ok().and_then(|end| Time::parse(end).ok()) else {
            return Outcome::Done;
        };
        if let Some(left) = until(&self.index, end.seconds) {
            return Outcome::After(left);
        }
        let requests = Requests { index: &self.index, who: Who::Account("token-cleaner") };
        let options = DeleteOptions {
            uid: Some(stored.encoded.uid().to_owned()),
            ..requests.delete_options(Propagation::Background)
        };
        retry_on_failure(&requests.delete(&kind.at(&stored), &options).await)
    }
}
