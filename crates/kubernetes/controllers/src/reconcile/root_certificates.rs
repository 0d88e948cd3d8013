//! The config map `kube-root-ca.crt` of every namespace, by which pods verify the server. Guarantees that a changed
//! bundle is restored. Must never run without a certificate authority.

use super::{Reconciler, is_removal, read};
use crate::queue::Outcome;
use crate::requests::{Requests, Who, retry_on_failure};
use crate::resource_index::{KindId, ObjectKey, ResourceIndex};
use pintle_cache::{Event, Object, WatchFilter};
use pintle_registry::metadata;
use pintle_schema::{Value, value};
use std::sync::Arc;
use std::time::Duration;

const NAME: &str = "kube-root-ca.crt";
const DATA: &str = "ca.crt";
const DESCRIPTION: &str = "kubernetes.io/description";
const TEXT: &str = "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as \
                    the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of \
                    Kubernetes clusters.";

pub struct RootCertificates {
    index: Arc<ResourceIndex>,
    namespaces: KindId,
    config_maps: KindId,
    bundle: String,
}

impl RootCertificates {
    /// Publishes a bundle.
    pub fn publishing(index: Arc<ResourceIndex>, bundle: String) -> Option<Self> {
        Some(RootCertificates { bundle, ..RootCertificates::new(index)? })
    }

    /// Sets the bundle in the config map; returns whether it changed.
    fn fix(&self, object: &mut Value) -> bool {
        let is_right = object.str_at(&["data", DATA]) == self.bundle
            && object.at(&["data"]).and_then(Value::as_map).is_some_and(|data| data.iter().count() == 1)
            && object.at(&["metadata", "annotations", DESCRIPTION]).is_some();
        if !is_right {
            object.set_at(&["metadata", "annotations", DESCRIPTION], TEXT);
            object.remove_at(&["data"]);
            object.set_at(&["data", DATA], self.bundle.as_str());
        }
        !is_right
    }
}

impl Reconciler for RootCertificates {
    const QUEUE: &'static str = "root_ca_cert_publisher";
    const SETTLES: bool = false;

    fn new(index: Arc<ResourceIndex>) -> Option<Self> {
        let (namespaces, config_maps) = (index.stored("", "namespaces")?, index.stored("", "configmaps")?);
        Some(RootCertificates { index, namespaces, config_maps, bundle: String::new() })
    }

    fn interest(&self, kind: KindId) -> Option<WatchFilter> {
        match kind {
            kind if kind == self.namespaces => Some(WatchFilter::Lifecycle),
            kind if kind == self.config_maps => Some(WatchFilter::Everything),
            _ => None,
        }
    }

    fn due(&self, kind: KindId, object: &Object, event: Option<&Event>, due: &mut dyn FnMut(ObjectKey, Duration)) {
        let namespace = match kind == self.namespaces {
            true => Some(ObjectKey { kind, key: object.key.clone() }).filter(|_| !is_removal(event)),
            false if kind == self.config_maps && object.name() == NAME => {
                self.index.place(self.namespaces, "", object.namespace())
            }
            false => None,
        };
        namespace.into_iter().for_each(|namespace| due(namespace, Duration::ZERO));
    }

    async fn sync(&self, place: &ObjectKey) -> Outcome {
        let Some((stored, namespace)) = read(&self.index, place) else { return Outcome::Done };
        let Some(kind) = self.index.kind(self.config_maps) else { return Outcome::Done };
        if metadata::is_terminating(&namespace) {
            return Outcome::Done;
        }
        let requests = Requests { index: &self.index, who: Who::Account("root-ca-cert-publisher") };
        let place = self.index.place(self.config_maps, stored.name(), NAME);
        let Some((found, mut object)) = place.and_then(|place| read(&self.index, &place)) else {
            let mut object = value!({"metadata": {"name": NAME}});
            self.fix(&mut object);
            return requests.create(&kind, stored.name(), object).await;
        };
        match self.fix(&mut object) {
            true => retry_on_failure(&requests.change(&kind.at(&found), "", |object| _ = self.fix(object)).await),
            false => Outcome::Done,
        }
    }
}
