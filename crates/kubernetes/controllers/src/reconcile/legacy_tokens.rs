//! Service account token secrets that were not used for a year: marked as invalid first, deleted a year later.
//! Guarantees that only auto-generated secrets that no pod mounts are affected. Must never act before uses have been
//! recorded for a year.

use super::{Reconciler, read};
use crate::queue::Outcome;
use crate::requests::{Requests, Who};
use crate::resource_index::{Kind, KindId, ObjectKey, ResourceIndex};
use crate::slices::{DECODING, Slices, Work};
use pintle_cache::{Event, Object, WatchFilter};
use pintle_registry::options::Propagation;
use pintle_registry::{DeleteOptions, metadata};
use pintle_schema::{Time, Value, View};
use pintle_types::core::v1::{ObjectReference, Secret, ServiceAccount};
use pintle_types::meta::v1::ObjectMeta;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

/// The config map with the day since which uses are recorded.
const TRACKING: &str = "kube-apiserver-legacy-service-account-token-tracking";
const NAMESPACE: &str = "kube-system";
const TYPE: &str = "kubernetes.io/service-account-token";
const ACCOUNT: &str = "kubernetes.io/service-account.name";
const ACCOUNT_UID: &str = "kubernetes.io/service-account.uid";
const LAST_USED: &str = "kubernetes.io/legacy-token-last-used";
const INVALID_SINCE: &str = "kubernetes.io/legacy-token-invalid-since";
const DAY: Duration = Duration::from_secs(86_400);
/// The unused time before a token is marked, and the time from its mark to its deletion.
const UNUSED_SECONDS: i64 = 365 * 86_400;

pub struct LegacyTokens {
    index: Arc<ResourceIndex>,
    config_maps: KindId,
    secrets: KindId,
    accounts: KindId,
    pods: KindId,
    work: Work,
}

/// The next step for a secret.
#[derive(Debug, PartialEq, Eq)]
enum Step {
    Keep,
    Mark,
    Remove,
}

/// A day in the format of the labels.
fn day(unix: i64) -> String {
    Time::from_seconds(unix).to_rfc3339().chars().take_while(|c| *c != 'T').collect()
}

fn is_day(text: &str) -> bool {
    Time::parse(&format!("{text}T00:00:00Z")).is_ok()
}

/// The next step for a token, from its dates.
fn step(secret: View<'_, Secret>, tracked_since: &str, now_unix: i64) -> Step {
    let metadata = secret.field(Secret::METADATA);
    let labels = metadata.field(ObjectMeta::LABELS).value();
    let label = |name| labels.get(name).and_then(Value::as_str);
    let limit = day(now_unix.saturating_sub(UNUSED_SECONDS));
    let created = metadata.field(ObjectMeta::CREATION_TIMESTAMP).get().seconds;
    let last_used = label(LAST_USED).unwrap_or(tracked_since);
    if created >= now_unix.saturating_sub(UNUSED_SECONDS) || !is_day(last_used) || last_used >= limit.as_str() {
        return Step::Keep;
    }
    match label(INVALID_SINCE).filter(|since| is_day(since)) {
        None => Step::Mark,
        Some(since) if since >= limit.as_str() => Step::Keep,
        Some(_) => Step::Remove,
    }
}

/// What keeps the secrets of one namespace, read when it is first asked: a namespace may have very many secrets, and an
/// account list them all.
#[derive(Default)]
struct Keepers {
    namespace: String,
    /// The secrets that pods mount.
    mounted: Option<Mounted>,
    /// By account: its uid, and the secrets that it lists.
    accounts: HashMap<String, Option<(String, HashSet<String>)>>,
}

struct Mounted {
    secrets: HashSet<String>,
    /// Whether a pod cannot be decoded, which may mount any secret.
    is_incomplete: bool,
}

impl LegacyTokens {
    /// Whether a secret's account exists and lists the secret.
    async fn is_of_account(
        &self,
        secret: View<'_, Secret>,
        name: &str,
        keepers: &mut Keepers,
        slices: &mut Slices<'_>,
    ) -> bool {
        let annotations = secret.field(Secret::METADATA).field(ObjectMeta::ANNOTATIONS).get();
        let Some(account) = annotations.get(ACCOUNT) else { return false };
        if !keepers.accounts.contains_key(account) {
            slices.steps(DECODING).await;
            let found = self.account(&keepers.namespace, account);
            keepers.accounts.insert(account.clone(), found);
        }
        let uid = annotations.get(ACCOUNT_UID).map(String::as_str).unwrap_or_default();
        let found = keepers.accounts.get(account).and_then(Option::as_ref);
        found.is_some_and(|(own, secrets)| own == uid && secrets.contains(name))
    }

    /// The uid of an account and the secrets that it lists.
    fn account(&self, namespace: &str, name: &str) -> Option<(String, HashSet<String>)> {
        let (_, account) = read(&self.index, &self.index.place(self.accounts, namespace, name)?)?;
        let listed = View::<ServiceAccount>::new(&account).field(ServiceAccount::SECRETS);
        let secrets = listed.iter().map(|reference| reference.field(ObjectReference::NAME).as_str().to_owned());
        Some((metadata::text(&account, "uid").to_owned(), secrets.collect()))
    }

    /// Whether a pod of the namespace mounts a secret.
    async fn is_mounted(&self, name: &str, keepers: &mut Keepers, slices: &mut Slices<'_>) -> bool {
        if keepers.mounted.is_none() {
            keepers.mounted = Some(self.mounted(&keepers.namespace, slices).await);
        }
        keepers.mounted.as_ref().is_some_and(|mounted| mounted.is_incomplete || mounted.secrets.contains(name))
    }

    async fn mounted(&self, namespace: &str, slices: &mut Slices<'_>) -> Mounted {
        let mut mounted = Mounted { secrets: HashSet::new(), is_incomplete: false };
        let Some(pods) = self.index.kind(self.pods) else { return mounted };
        for pod in ResourceIndex::content(&pods, namespace) {
            slices.steps(DECODING).await;
            let Ok(pod) = self.index.registry.decode(&pods.target, &pod) else {
                mounted.is_incomplete = true;
                continue;
            };
            let volumes = pod.at(&["spec", "volumes"]).and_then(Value::as_list).unwrap_or_default();
            let secrets = volumes.iter().map(|volume| volume.str_at(&["secret", "secretName"]));
            mounted.secrets.extend(secrets.filter(|name| !name.is_empty()).map(str::to_owned));
        }
        mounted
    }

    async fn look_at(
        &self,
        kind: &Kind,
        stored: &Object,
        tracked_since: &str,
        keepers: &mut Keepers,
        slices: &mut Slices<'_>,
    ) {
        let Ok(object) = self.index.registry.decode(&kind.target, stored) else { return };
        let secret = View::<Secret>::new(&object);
        if secret.field(Secret::TYPE).get() != TYPE || metadata::is_terminating(&object) {
            return;
        }
        let now = self.index.registry.environment.now_unix();
        let step = step(secret, tracked_since, now);
        let name = stored.name();
        if step == Step::Keep
            || !self.is_of_account(secret, name, keepers, slices).await
            || self.is_mounted(name, keepers, slices).await
        {
            return;
        }
        let requests = Requests { index: &self.index, who: Who::Account("legacy-service-account-token-cleaner") };
        let uid = stored.encoded.uid();
        // A failure is retried the next day.
        let _ = match step {
            Step::Mark => {
                let mark = |object: &mut Value| {
                    if metadata::text(object, "uid") == uid {
                        object.set_at(&["metadata", "labels", INVALID_SINCE], day(now));
                    }
                };
                requests.change(&kind.at(stored), "", mark).await
            }
            _ => {
                let options = DeleteOptions {
                    resource_version: Some(stored.revision.0.to_string()),
                    ..requests.delete_options(Propagation::Background)
                };
                requests.delete(&kind.at(stored), &options).await
            }
        };
    }
}

impl Reconciler for LegacyTokens {
    const QUEUE: &'static str = "legacy_service_account_token_cleaner";

    fn new(index: Arc<ResourceIndex>) -> Option<Self> {
        let stored = |plural| index.stored("", plural);
        let (config_maps, secrets) = (stored("configmaps")?, stored("secrets")?);
        let (accounts, pods) = (stored("serviceaccounts")?, stored("pods")?);
        Some(LegacyTokens { index, config_maps, secrets, accounts, pods, work: Work::default() })
    }

    fn interest(&self, kind: KindId) -> Option<WatchFilter> {
        (kind == self.config_maps).then(|| WatchFilter::Namespace(NAMESPACE.into()))
    }

    fn due(&self, kind: KindId, object: &Object, _: Option<&Event>, due: &mut dyn FnMut(ObjectKey, Duration)) {
        if kind == self.config_maps && (object.namespace(), object.name()) == (NAMESPACE, TRACKING) {
            due(ObjectKey { kind, key: object.key.clone() }, Duration::ZERO);
        }
    }

    async fn sync(&self, place: &ObjectKey) -> Outcome {
        let Some((_, tracking)) = read(&self.index, place) else { return Outcome::Done };
        let since = tracking.str_at(&["data", "since"]);
        let Some(kind) = self.index.kind(self.secrets).filter(|_| is_day(since)) else { return Outcome::Done };
        let state = kind.target.cache.state();
        let mut slices = self.work.slices();
        let mut keepers = Keepers::default();
        // In the order of namespaces.
        for stored in state.objects.values() {
            slices.steps(DECODING).await;
            if keepers.namespace != stored.namespace() {
                keepers = Keepers { namespace: stored.namespace().to_owned(), ..Keepers::default() };
            }
            self.look_at(&kind, stored, since, &mut keepers, &mut slices).await;
        }
        Outcome::After(DAY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slices::tests::in_slices;
    use crate::tests::Fixture;
    use pintle_schema::value;

    #[test]
    fn unused_tokens_are_marked_and_then_removed() {
        const NOW: i64 = 1_700_000_000;
        let ago = |days: i64| day(NOW - days * 86_400);
        let secret = |created: i64, used: Option<i64>, invalid: Option<i64>| {
            let mut secret = value!({"metadata": {"creationTimestamp": (format!("{}T00:00:00Z", ago(created)))}});
            for (label, days) in [(LAST_USED, used), (INVALID_SINCE, invalid)] {
                if let Some(days) = days {
                    secret.set_at(&["metadata", "labels", label], ago(days));
                }
            }
            secret
        };
        let rows = [
            (secret(800, None, None), 800, Step::Mark),
            (secret(800, None, None), 300, Step::Keep),
            (secret(300, None, None), 800, Step::Keep),
            (secret(800, Some(400), None), 300, Step::Mark),
            (secret(800, Some(300), None), 800, Step::Keep),
            (secret(800, Some(700), Some(300)), 800, Step::Keep),
            (secret(800, Some(700), Some(367)), 800, Step::Remove),
        ];
        for (secret, tracked, expected) in rows {
            assert_eq!(step(View::new(&secret), &ago(tracked), NOW), expected, "{secret:?} {tracked}");
        }
    }

    /// Secrets of an account that lists them, all unused for long, beside pods that mount some of them.
    #[tokio::test]
    async fn pods_and_accounts_are_read_once_for_all_secrets() {
        const SECRETS: u64 = 60;
        let fixture = Fixture::new().await;
        fixture.create("", "namespaces", "", value!({"metadata": {"name": NAMESPACE}})).await;
        let tracking = value!({"metadata": {"name": TRACKING}, "data": {"since": "1970-01-01"}});
        fixture.create("", "configmaps", NAMESPACE, tracking).await;
        let name = |number: u64| format!("token{number}");
        let listed = (0..SECRETS).map(|number| value!({"name": (name(number))})).collect();
        let account = value!({"metadata": {"name": "account"}, "secrets": (Value::List(listed))});
        let uid = fixture.create("", "serviceaccounts", "default", account).await;
        for number in 0..SECRETS {
            let mut secret = value!({"metadata": {"name": (name(number))}, "type": TYPE});
            secret.set_at(&["metadata", "annotations", ACCOUNT], "account");
            secret.set_at(&["metadata", "annotations", ACCOUNT_UID], uid.as_str());
            fixture.create("", "secrets", "default", secret).await;
            let volume = value!({"name": "v", "secret": {"secretName": (name(2 * number))}});
            let container = value!({"name": "c", "image": "i"});
            let spec = value!({"volumes": (Value::List(vec![volume])), "containers": (Value::List(vec![container]))});
            fixture.create("", "pods", "default", value!({"metadata": {"name": (name(number))}, "spec": spec})).await;
        }
        fixture.pass(3 * UNUSED_SECONDS);
        let index = Arc::new(ResourceIndex::new(fixture.registry.clone()));
        let tokens = LegacyTokens::new(index.clone()).expect("stored");
        let tracking = index.place(tokens.config_maps, NAMESPACE, TRACKING).expect("stored");
        let (outcome, steps) = in_slices(&tokens.work, tokens.sync(&tracking)).await;
        assert_eq!((outcome, steps), (Outcome::After(DAY), (2 * SECRETS + 1) * u64::from(DECODING)));
        let is_marked = |number: u64| {
            let secret = fixture.get(&fixture.target("", "secrets", "default", &name(number)));
            secret.is_some_and(|secret| secret.encoded.label(INVALID_SINCE).is_some())
        };
        assert!((0..SECRETS).all(|number| is_marked(number) == (number % 2 == 1)), "pods mount every other secret");
    }
}
