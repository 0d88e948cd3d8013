//! Waiting for a missing object that a controller is expected to create, after a write was rejected for its absence. Guarantees
//! kube-apiserver's bound: nine pauses of the same length, each between 100 and 200 milliseconds. Must never hold a lock or a
//! reservation while it waits.

use crate::Registry;
use crate::status::AwaitedObject;
use std::time::Duration;

/// Number of look-ups.
const PAUSES: usize = 9;
const MIN_PAUSE_MILLIS: u64 = 100;
/// Pauses are up to this much longer, so that many writes that wait together are not tried again together.
const SPREAD_MILLIS: u64 = 100;

impl Registry {
    /// Whether the awaited object of an error appears in time. `false` at once when the error awaits none.
    pub(crate) async fn wait_for_object(&self, awaited: Option<&AwaitedObject>) -> bool {
        let Some(AwaitedObject { group, version, plural, namespace, name }) = awaited else { return false };
        let table = self.resources.snapshot();
        let resource = table.get(group, version, plural);
        let Some(target) = resource.and_then(|resource| self.target(resource, namespace, name)) else { return false };
        let mut random = [0; 2];
        self.environment.random(&mut random);
        let spread = u64::from(u16::from_le_bytes(random)) % SPREAD_MILLIS;
        let pause = Duration::from_millis(MIN_PAUSE_MILLIS + spread);
        for _ in 0..PAUSES {
            self.environment.sleep(pause).await;
            // Another server may have created it. If the store does not respond, the cache is searched as
            // it is.
            let _ = self.catch_up(&target.cache).await;
            if target.cache.get(&target.key()).is_some() {
                return true;
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use crate::status::{AwaitedObject, Result, Status};
    use crate::testing::{registry_in, wait};
    use crate::update::{ManagedFieldsUpdate, Update};
    use crate::{AdmissionPlugin, AdmissionRequest, Admitted, Environment, Phase, Registry, Target, WriteOptions};
    use pintle_schema::gates::{GateSet, NO_GATES};
    use pintle_schema::{Value, value};
    use std::future::{Future, ready};
    use std::pin::Pin;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{Arc, Mutex, OnceLock, Weak};
    use std::time::Duration;

    /// Creates the account during one of the pauses, which take no time.
    struct Pauses {
        registry: Arc<OnceLock<Weak<Registry>>>,
        account_comes_in: usize,
        seen: Arc<Mutex<Vec<Duration>>>,
    }

    impl Environment for Pauses {
        fn now_unix(&self) -> i64 {
            1_700_000_000
        }

        fn random(&self, buffer: &mut [u8]) {
            buffer.fill(0);
        }

        fn gates(&self) -> &GateSet {
            &NO_GATES
        }

        fn sleep(&self, duration: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
            let pauses = {
                let mut seen = self.seen.lock().unwrap();
                seen.push(duration);
                seen.len()
            };
            if pauses == self.account_comes_in {
                let registry = self.registry.get().and_then(Weak::upgrade).unwrap();
                wait(registry.create(
                    &target(&registry, "serviceaccounts", "default"),
                    value!({"metadata": {"name": "default"}}),
                    &WriteOptions::default(),
                ))
                .unwrap();
            }
            Box::pin(ready(()))
        }
    }

    /// Rejects pods as long as the account `default` is missing.
    struct NeedsAccount(Arc<AtomicUsize>);

    impl AdmissionPlugin for NeedsAccount {
        fn name(&self) -> &str {
            "NeedsAccount"
        }

        fn handles(&self, phase: Phase, request: &AdmissionRequest<'_>) -> bool {
            phase == Phase::Mutate && request.target.resource.plural == "configmaps"
        }

        fn mutate<'a>(
            &'a self,
            request: &'a AdmissionRequest<'a>,
            _: &'a mut Value,
            _: &'a mut Vec<String>,
        ) -> Admitted<'a> {
            self.0.fetch_add(1, Ordering::Relaxed);
            let account = target(request.registry, "serviceaccounts", "default");
            if account.get().is_ok() {
                return Ok(()).into();
            }
            let (namespace, name) = (account.namespace, account.name);
            let awaited = AwaitedObject { group: "", version: "v1", plural: "serviceaccounts", namespace, name };
            Err(Status::forbidden(&request.target.resource, "c", "no account").awaiting(awaited)).into()
        }
    }

    fn target(registry: &Registry, plural: &str, name: &str) -> Target {
        registry.target(pintle_groups::find("", "v1", plural).unwrap(), "default", name).unwrap()
    }

    /// The outcome of a create (by an update if `by_update`), the pauses before it, and the number of calls of admission.
    fn create(account_comes_in: usize, by_update: bool) -> (Result<()>, Vec<Duration>, usize) {
        let (link, seen, asked) = (Arc::<OnceLock<_>>::default(), Arc::<Mutex<_>>::default(), Arc::default());
        let pauses = Pauses { registry: Arc::clone(&link), account_comes_in, seen: Arc::clone(&seen) };
        let mut registry = registry_in(Box::new(pauses));
        registry.admission.plugins = vec![Arc::new(NeedsAccount(Arc::clone(&asked)))];
        let registry = Arc::new(registry);
        link.set(Arc::downgrade(&registry)).unwrap();
        let object = value!({"metadata": {"name": "c"}});
        let (target, options) = (target(&registry, "configmaps", "c"), WriteOptions::default());
        let change = |_: Option<&Value>| Ok(object.clone());
        let update = Update {
            change: &change,
            part: None,
            create: true,
            from_stored: false,
            owners: ManagedFieldsUpdate::Compute,
        };
        let outcome = match by_update {
            true => wait(registry.update(&target, &update, &options)),
            false => wait(registry.create(&target, object.clone(), &options)),
        };
        let seen = seen.lock().unwrap().clone();
        (outcome.map(drop), seen, asked.load(Ordering::Relaxed))
    }

    #[test]
    fn a_write_is_tried_once_more_when_the_awaited_object_appears() {
        for (pause, by_update) in [(1, false), (9, false), (9, true)] {
            let (outcome, seen, asked) = create(pause, by_update);
            assert!(outcome.is_ok(), "pause {pause}: {outcome:?}");
            assert_eq!((seen.len(), asked), (pause, 2));
        }
    }

    #[test]
    fn a_write_is_refused_after_nine_pauses() {
        for by_update in [false, true] {
            let (outcome, seen, asked) = create(0, by_update);
            assert_eq!(outcome.unwrap_err().message, "configmaps \"c\" is forbidden: no account");
            assert_eq!((seen, asked), (vec![Duration::from_millis(100); 9], 1));
        }
    }
}
