//! The deletion of namespaces in which an extension server, which the tests simulate, stores objects. Guarantees that
//! each test says what that server knows and supports. Must never need a socket.

use super::Fixture;
use crate::{
    AggregatedClient, AggregatedCollection, AggregatedError, AggregatedResource, AggregatedResources, Controllers,
    Settings,
};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use pintle_cache::Object;
use pintle_registry::{DeleteOptions, Registry, Target};
use pintle_schema::value;
use pintle_types::meta::v1::ObjectMeta;
use std::future::{pending, ready};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// The verbs of a resource whose objects can be deleted at once, and of one whose objects cannot.
const AT_ONCE: &[&str] = &["delete", "deletecollection", "list"];
const ONE_BY_ONE: &[&str] = &["delete", "list"];

/// An extension server with one resource.
#[derive(Debug, Default)]
struct Simulated {
    verbs: &'static [&'static str],
    /// Whether it responds to discovery.
    is_known: AtomicBool,
    /// Whether no request to it ends.
    hangs: bool,
    /// Its objects: namespace and name.
    things: Mutex<Vec<(String, String)>>,
    /// The users of requests.
    users: Mutex<Vec<String>>,
}

impl AggregatedClient for Simulated {
    fn resources(&self, _: &Registry) -> AggregatedResources {
        if !self.is_known.load(Ordering::SeqCst) {
            let undiscovered = vec!["fun.example.com/v1".to_owned()];
            return AggregatedResources { undiscovered, ..AggregatedResources::default() };
        }
        let things = AggregatedResource {
            group: "fun.example.com".to_owned(),
            version: "v1".to_owned(),
            name: "things".to_owned(),
            verbs: self.verbs.iter().map(|verb| (*verb).to_owned()).collect(),
        };
        AggregatedResources { namespaced: vec![things], undiscovered: Vec::new() }
    }

    fn delete<'a>(
        &'a self,
        of: AggregatedCollection<'a>,
        name: Option<&'a str>,
    ) -> BoxFuture<'a, Result<(), AggregatedError>> {
        if self.hangs {
            return pending().boxed();
        }
        self.users.lock().expect("no panic").push(of.user.name.to_string());
        let is_chosen = |wanted: &str| name.is_none_or(|name| name == wanted);
        let mut things = self.things.lock().expect("no panic");
        things.retain(|(namespace, thing)| namespace != of.namespace || !is_chosen(thing));
        ready(Ok(())).boxed()
    }

    fn list<'a>(&'a self, of: AggregatedCollection<'a>) -> BoxFuture<'a, Result<Vec<ObjectMeta>, AggregatedError>> {
        if self.hangs {
            return pending().boxed();
        }
        let things = self.things.lock().expect("no panic");
        let own = things.iter().filter(|(namespace, _)| namespace == of.namespace);
        let listed: Vec<_> = own.map(|(_, name)| ObjectMeta { name: name.clone(), ..ObjectMeta::default() }).collect();
        ready(Ok(listed)).boxed()
    }
}

async fn deleted(fixture: &Fixture, name: &str) -> Target {
    let namespace = fixture.target("", "namespaces", "", name);
    fixture.registry.delete(&namespace, &DeleteOptions::default()).await.map(drop).expect("deleted");
    namespace
}

fn start(fixture: &Fixture, server: &Arc<Simulated>) -> Controllers {
    let aggregated: Option<Arc<dyn AggregatedClient>> = Some(server.clone());
    Controllers::start(fixture.registry.clone(), &Settings { aggregated, ..Settings::default() }, None)
}

/// The status and the message of a condition.
fn condition(fixture: &Fixture, namespace: &Target, wanted: &str) -> Option<(String, String)> {
    let stored: Arc<Object> = fixture.get(namespace)?;
    let object = fixture.registry.decode(namespace, &stored).ok()?;
    let conditions = object.at(&["status", "conditions"])?.as_list()?;
    let found = conditions.iter().find(|condition| condition.str_at(&["type"]) == wanted)?;
    Some((found.str_at(&["status"]).to_owned(), found.str_at(&["message"]).to_owned()))
}

#[tokio::test]
async fn a_namespace_goes_with_what_extension_servers_store() {
    for verbs in [AT_ONCE, ONE_BY_ONE] {
        let fixture = Fixture::new().await;
        let things = [("other", "a"), ("other", "b"), ("default", "c")];
        let things = things.map(|(namespace, name)| (namespace.to_owned(), name.to_owned()));
        let server = Arc::new(Simulated { verbs, things: Mutex::new(things.to_vec()), ..Simulated::default() });
        let namespace = deleted(&fixture, "other").await;
        let _controllers = start(&fixture, &server);
        let expected = "Discovery failed for some groups, 1 failing: unable to retrieve the complete list of server \
                        APIs: fun.example.com/v1: stale GroupVersion discovery: fun.example.com/v1";
        let failure = || condition(&fixture, &namespace, "NamespaceDeletionDiscoveryFailure");
        let expected = Some(("True".to_owned(), expected.to_owned()));
        fixture.until("the failure is reported", || failure() == expected).await;
        assert_eq!(server.things.lock().expect("no panic").len(), 3);
        server.is_known.store(true, Ordering::SeqCst);
        fixture.until("the namespace is gone", || fixture.get(&namespace).is_none()).await;
        assert_eq!(*server.things.lock().expect("no panic"), [("default".to_owned(), "c".to_owned())]);
        let users = server.users.lock().expect("no panic");
        assert!(users.iter().all(|user| user == "system:serviceaccount:kube-system:namespace-controller"), "{users:?}");
    }
}

#[tokio::test]
async fn namespaces_do_not_wait_for_the_extension_servers_of_others() {
    let fixture = Fixture::new().await;
    let names: Vec<String> = (0..20).map(|number| format!("n{number}")).collect();
    for name in &names {
        fixture.create("", "namespaces", "", value!({"metadata": {"name": (name.as_str())}})).await;
        fixture.owned_in(name, "a", &[], &[]).await;
        deleted(&fixture, name).await;
    }
    let is_known = AtomicBool::new(true);
    let server = Arc::new(Simulated { verbs: ONE_BY_ONE, is_known, hangs: true, ..Simulated::default() });
    let _controllers = start(&fixture, &server);
    let is_empty = |name: &String| fixture.get(&fixture.target("", "configmaps", name, "a")).is_none();
    fixture.until("all namespaces are empty", || names.iter().all(is_empty)).await;
    assert!(names.iter().all(|name| fixture.get(&fixture.target("", "namespaces", "", name)).is_some()));
}
