//! Tests: updates without effect, and objects that are too large for the store.

use super::*;
use crate::testing::{registry, registry_over, wait};
use crate::{AdmissionPlugin, Admitted, ApplyRequest, DeleteOptions, EtcdCodec, Operation, Phase};
use pintle_codec::{Strictness, json};
use pintle_resource::MaybeReady;
use pintle_schema::value;
use pintle_storage::{
    CommitFuture, CompactFuture, MemoryStore, Observer, Revision, Started, Store, StoreError, TranscodingStore,
};
use std::sync::Mutex;

#[test]
fn applying_what_is_undone_changes_nothing() {
    let registry = registry();
    let target = registry.target(pintle_groups::find("", "v1", "configmaps").unwrap(), "default", "a").unwrap();
    let options = WriteOptions { field_manager: "team".to_owned(), ..WriteOptions::default() };
    let apply = |field: &str, value: Value| {
        let mut config =
            value!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "v"}});
        config.set_at(&["metadata", field], value);
        let applying = ApplyRequest { config: &config, force: false, subresource: "" };
        let change = |live: Option<&Value>| wait(registry.apply(&target, live, applying, &options).get());
        let update = Update {
            change: &change,
            part: None,
            create: true,
            from_stored: true,
            owners: ManagedFieldsUpdate::Provided,
        };
        match wait(registry.update(&target, &update, &options)).unwrap().payload {
            Payload::Stored(stored) => stored.revision,
            Payload::Value(_) => panic!("nothing is stored"),
        }
    };
    let mut last = apply("name", value!("a"));
    for (field, value, is_change) in [
        ("creationTimestamp", Value::Null, false),
        ("creationTimestamp", value!("2001-01-01T00:00:00Z"), false),
        ("resourceVersion", Value::Null, false),
        ("uid", Value::Null, false),
        ("generation", value!(7), false),
        // It is present until the object is stored.
        ("selfLink", value!("/x"), true),
        ("labels", value!({"a": "b"}), true),
    ] {
        let version = apply(field, value.clone());
        assert_eq!(version != last, is_change, "{field} {value:?}");
        last = version;
    }
}

/// A store with a check of each transaction.
struct Checked<F>(MemoryStore, F);

impl<F: Fn(&Transaction) -> std::result::Result<(), CommitError> + Send + Sync + 'static> Store for Checked<F> {
    fn start(&self, observer: Box<dyn Observer>) -> std::result::Result<Started, StoreError> {
        self.0.start(observer)
    }

    fn commit(&self, transaction: Transaction) -> CommitFuture {
        match (self.1)(&transaction) {
            Ok(()) => self.0.commit(transaction),
            Err(error) => CommitFuture::ready(Err(error)),
        }
    }

    fn compact(&self, revision: Revision) -> CompactFuture {
        self.0.compact(revision)
    }

    fn inner(&self) -> Option<&dyn Store> {
        Some(&self.0)
    }

    fn close(&self) {
        self.0.close();
    }
}

const TOO_LARGE: &str = "etcdserver: request is too large";

#[test]
fn every_store_takes_what_etcd_would() {
    // Data keys count twice: in the data and in managedFields.
    let object = |keys: usize, values: usize| {
        let key = |at: usize| format!("{at:0240}").into();
        let data = (0..keys).map(|at| (key(at), Value::from("v".repeat(values / keys)))).collect();
        value!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": (Value::Map(data))})
    };
    let registry = registry();
    let target = registry.target(pintle_groups::find("", "v1", "configmaps").unwrap(), "default", "a").unwrap();
    let options = WriteOptions { field_manager: "team".to_owned(), ..WriteOptions::default() };
    let is_owned = |written: Result<Written>| {
        let written = written.map_err(|status| (status.code, status.reason.to_string(), status.message))?;
        let Payload::Stored(stored) = written.payload else { panic!("nothing is stored") };
        Ok::<_, (u16, String, String)>(
            registry.decode(&target, &stored).unwrap().at(&["metadata", "managedFields"]).is_some(),
        )
    };
    let put = |keys, values| {
        let change = |_: Option<&Value>| Ok(object(keys, values));
        let update = Update {
            change: &change,
            part: None,
            create: false,
            from_stored: false,
            owners: ManagedFieldsUpdate::Compute,
        };
        is_owned(wait(registry.update(&target, &update, &options)))
    };
    let apply = |keys, values| {
        let change = |live: Option<&Value>| {
            let config = object(keys, values);
            wait(
                registry
                    .apply(&target, live, ApplyRequest { config: &config, force: true, subresource: "" }, &options)
                    .get(),
            )
        };
        let update = Update {
            change: &change,
            part: None,
            create: true,
            from_stored: true,
            owners: ManagedFieldsUpdate::Provided,
        };
        is_owned(wait(registry.update(&target, &update, &options)))
    };
    let too_large = || Err((500, String::new(), TOO_LARGE.to_owned()));
    let create = |keys, values| is_owned(wait(registry.create(&target, object(keys, values), &options)));
    assert_eq!(create(3_000, 1_000_000), too_large(), "also without its owners");
    assert_eq!(apply(3_000, 500_000), too_large(), "who applies cannot do without");
    assert_eq!(create(3_000, 500_000), Ok(false));
    assert_eq!(put(1_000, 500_000), Ok(false), "what nobody is said to own stays so");
    assert!(wait(registry.delete(&target, &DeleteOptions::default())).is_ok());
    assert_eq!(create(1_000, 500_000), Ok(true));
    assert_eq!(put(2_500, 800_000), Ok(false));
    assert_eq!(apply(3_000, 500_000), too_large());
    assert_eq!(put(4_000, 900_000), too_large());
    let (code, reason, message) = put(5_500, 1_000_000).unwrap_err();
    assert_eq!((code, reason), (500, String::new()));
    let sent = "rpc error: code = ResourceExhausted desc = trying to send message larger than max (";
    assert!(message.starts_with(sent) && message.ends_with(" vs. 2097152)"), "{message}");
    // A dry run does not reach the store.
    let dry = WriteOptions { dry_run: true, ..options.clone() };
    let change = |_: Option<&Value>| Ok(object(4_000, 900_000));
    let update =
        Update { change: &change, part: None, create: false, from_stored: false, owners: ManagedFieldsUpdate::Compute };
    assert!(wait(registry.update(&target, &update, &dry)).is_ok());
    assert!(wait(registry.delete(&target, &DeleteOptions::default())).is_ok());
}

#[test]
fn managed_fields_that_make_an_object_too_large_are_dropped() {
    // Accepts small transactions only, with etcd's error.
    let narrow = |transaction: &Transaction| {
        let values = transaction.writes.iter().filter_map(|write| write.value.as_ref());
        match values.map(|value| value.len()).sum() {
            ..1_500 => Ok(()),
            1_500.. => Err(CommitError::Storage(Arc::new(std::io::Error::other(TOO_LARGE)))),
        }
    };
    let registry = registry_over(Arc::new(Checked(MemoryStore::new(), narrow)));
    let target = registry.target(pintle_groups::find("", "v1", "configmaps").unwrap(), "default", "a").unwrap();
    let options = WriteOptions { field_manager: "team".to_owned(), ..WriteOptions::default() };
    let object = |keys: usize| {
        let data = (0..keys).map(|at| (format!("a-key-that-is-long-{at:02}").into(), value!("v"))).collect();
        value!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": (Value::Map(data))})
    };
    let put = |keys: usize| {
        let change = |_: Option<&Value>| Ok(object(keys));
        let update = Update {
            change: &change,
            part: None,
            create: false,
            from_stored: false,
            owners: ManagedFieldsUpdate::Compute,
        };
        wait(registry.update(&target, &update, &options))
    };
    let owned = |written: Written| match written.payload {
        Payload::Stored(stored) => {
            let object = registry.decode(&target, &stored).unwrap();
            (
                object.get("data").and_then(Value::as_map).unwrap().len(),
                object.at(&["metadata", "managedFields"]).is_some(),
            )
        }
        Payload::Value(_) => panic!("nothing is stored"),
    };
    assert_eq!(owned(wait(registry.create(&target, object(3), &options)).unwrap()), (3, true));
    assert_eq!(owned(put(30).unwrap()), (30, false));
    let change = |live: Option<&Value>| {
        let config = object(31);
        wait(
            registry
                .apply(&target, live, ApplyRequest { config: &config, force: true, subresource: "" }, &options)
                .get(),
        )
    };
    let update =
        Update { change: &change, part: None, create: true, from_stored: true, owners: ManagedFieldsUpdate::Provided };
    let refused =
        wait(registry.update(&target, &update, &options)).map(|_| ()).map_err(|status| (status.code, status.message));
    assert_eq!(refused, Err((500, TOO_LARGE.into())));
    assert_eq!(put(60).map(|_| ()).map_err(|status| status.code), Err(500));
    let other = Target { name: "b".to_owned(), ..target.clone() };
    let mut large = object(30);
    large.set_at(&["metadata", "name"], "b");
    assert_eq!(owned(wait(registry.create(&other, large, &options)).unwrap()), (30, false));
}

/// Rejects all changes of existing objects.
struct Frozen;

impl AdmissionPlugin for Frozen {
    fn name(&self) -> &str {
        "Frozen"
    }

    fn handles(&self, phase: Phase, request: &AdmissionRequest<'_>) -> bool {
        phase == Phase::Validate && request.operation != Operation::Create
    }

    fn validate<'a>(&'a self, _: &'a AdmissionRequest<'a>, _: &'a Value, _: &'a mut Vec<String>) -> Admitted<'a> {
        MaybeReady::wait(async { Err(Status::bad_request("frozen")) })
    }

    fn delete<'a>(&'a self, _: Phase, _: &'a AdmissionRequest<'a>, _: &'a Value) -> Admitted<'a> {
        MaybeReady::wait(async { Err(Status::bad_request("frozen")) })
    }
}

#[test]
fn admission_is_asked_only_when_a_delete_shortens_the_period() {
    let mut registry = registry();
    let target = registry.target(pintle_groups::find("", "v1", "pods").unwrap(), "default", "a").unwrap();
    let pod =
        value!({"metadata": {"name": "a"}, "spec": {"nodeName": "n", "containers": [{"name": "c", "image": "i"}]}});
    wait(registry.create(&target, pod, &WriteOptions::default())).unwrap();
    let delete = |registry: &Registry, grace_period_seconds| {
        let options = DeleteOptions { grace_period_seconds, ..DeleteOptions::default() };
        wait(registry.delete(&target, &options)).map(|deleted| deleted.gone).map_err(|status| status.message)
    };
    assert_eq!(delete(&registry, Some(1000)), Ok(false));
    registry.admission.plugins = vec![Arc::new(Frozen)];
    assert_eq!([delete(&registry, None), delete(&registry, Some(2000))], [Ok(false), Ok(false)]);
    assert_eq!(delete(&registry, Some(10)), Err("frozen".to_owned()));
}

#[test]
fn a_link_is_never_stored() {
    let registry = registry();
    let target = registry.target(pintle_groups::find("", "v1", "configmaps").unwrap(), "default", "a").unwrap();
    let object =
        |link: &str| value!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "selfLink": link}});
    let link = |written: Result<Written>| match written.unwrap().payload {
        Payload::Stored(stored) => {
            registry.decode(&target, &stored).unwrap().str_at(&["metadata", "selfLink"]).to_owned()
        }
        Payload::Value(_) => panic!("nothing is stored"),
    };
    let options = WriteOptions { field_manager: "team".to_owned(), ..WriteOptions::default() };
    let apply = |live: Option<&Value>| {
        wait(
            registry
                .apply(&target, live, ApplyRequest { config: &object("/a"), force: false, subresource: "" }, &options)
                .get(),
        )
    };
    let put = |_: Option<&Value>| Ok(object("/b"));
    for (change, owners) in [
        (&apply as &dyn Change, ManagedFieldsUpdate::Provided),
        (&put, ManagedFieldsUpdate::Compute),
        (&apply, ManagedFieldsUpdate::Provided),
    ] {
        let update =
            Update { change, part: None, create: true, from_stored: owners == ManagedFieldsUpdate::Provided, owners };
        assert_eq!(link(wait(registry.update(&target, &update, &options))), "", "{owners:?}");
    }
}

#[test]
fn warnings_are_returned_with_a_later_error() {
    let mut registry = registry();
    registry.admission.plugins = vec![Arc::new(Frozen)];
    let target = registry.target(pintle_groups::find("apps", "v1", "deployments").unwrap(), "default", "a").unwrap();
    let deployment = value!({"metadata": {"name": "a"}, "spec": {
        "selector": {"matchLabels": {"a": "b"}},
        "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [
            {"name": "c", "image": "i", "env": [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]}
        ]}}
    }});
    let options = WriteOptions::default();
    let created = wait(registry.create(&target, deployment.clone(), &options)).unwrap();
    assert_eq!(created.warnings.len(), 1, "{:?}", created.warnings);
    let change = |_: Option<&Value>| {
        let mut deployment = deployment.clone();
        deployment.set_at(&["spec", "replicas"], 2);
        Ok(deployment)
    };
    let update =
        Update { change: &change, part: None, create: false, from_stored: false, owners: ManagedFieldsUpdate::Compute };
    for (refused, reason) in [
        (wait(registry.create(&target, deployment.clone(), &options)), "AlreadyExists"),
        (wait(registry.update(&target, &update, &options)), "BadRequest"),
    ] {
        let refusal = refused.map(|_| ()).unwrap_err();
        assert_eq!((refusal.reason, refusal.warnings), (reason, created.warnings.clone()));
    }
}

#[test]
fn missing_defaults_are_added_on_read_and_stored_by_the_next_update() {
    let kept = Arc::new(Mutex::new(Value::Null));
    let last = kept.clone();
    let remember = move |transaction: &Transaction| {
        if let Some(value) = transaction.writes.last().and_then(|write| write.value.as_ref()) {
            *last.lock().unwrap() = json::parse(value, Strictness::Ignore).unwrap().value;
        }
        Ok(())
    };
    let store = Checked(MemoryStore::new(), remember);
    let mut form = EtcdCodec::new(pintle_groups::resources());
    form.json = true;
    let registry = registry_over(Arc::new(TranscodingStore::new(Arc::new(store), Arc::new(form))));
    let jobs = pintle_groups::find("batch", "v1", "jobs").unwrap();
    let labels = |object: &Value| {
        let labels = object.at(&["metadata", "labels"]).and_then(Value::as_map).cloned().unwrap_or_default();
        labels.keys().map(|label| label.trim_start_matches("batch.kubernetes.io/").to_owned()).collect::<Vec<_>>()
    };
    const GIVEN: &[&str] = &["controller-uid", "job-name", "controller-uid", "job-name"];
    const ALL: &[&str] = &["controller-uid", "job-name", "controller-uid", "job-name", "k"];
    for (name, own, template, read, written) in [
        ("a", value!({}), value!({}), GIVEN, &[][..]),
        // Go's defaults share the map that the strategy adds to.
        ("b", value!({}), value!({"k": "v"}), ALL, ALL),
        ("c", value!({"k": "v"}), value!({"k": "v"}), &["k"], &["k"]),
        ("d", value!({"k": "v"}), value!({}), &["k"], &["k"]),
    ] {
        let target = registry.target(jobs, "default", name).unwrap();
        let sent = value!({"metadata": {"name": name, "labels": (own)}, "spec": {"template": {
            "metadata": {"labels": (template)}, "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}
        }}});
        let create = |options| match wait(registry.create(&target, sent.clone(), &options)).unwrap().payload {
            Payload::Stored(stored) => registry.decode(&target, &stored).unwrap(),
            Payload::Value(object) => *object,
        };
        assert_eq!(labels(&create(WriteOptions { dry_run: true, ..WriteOptions::default() })), read, "{name}");
        assert_eq!(labels(&create(WriteOptions::default())), read, "{name}");
        assert_eq!(labels(&kept.lock().unwrap()), written, "{name}");
        let writes = || {
            let before = registry.cache.current();
            let change = |live: Option<&Value>| Ok(live.unwrap().clone());
            let update = Update {
                change: &change,
                part: None,
                create: false,
                from_stored: true,
                owners: ManagedFieldsUpdate::Compute,
            };
            wait(registry.update(&target, &update, &WriteOptions::default())).unwrap();
            registry.cache.current() != before
        };
        assert_eq!([writes(), writes()], [read != written, false], "{name}");
        assert_eq!(labels(&kept.lock().unwrap()), read, "{name}");
    }
}

/// Denies every update.
struct Denying;

impl AdmissionPlugin for Denying {
    fn name(&self) -> &str {
        "Denying"
    }

    fn handles(&self, phase: Phase, request: &AdmissionRequest<'_>) -> bool {
        phase == Phase::Mutate && request.operation == Operation::Update
    }

    fn mutate<'a>(&'a self, _: &'a AdmissionRequest<'a>, _: &'a mut Value, _: &'a mut Vec<String>) -> Admitted<'a> {
        MaybeReady::Ready(Err(Status::bad_request("denied")))
    }
}

#[test]
fn admission_is_asked_before_the_version_is_checked() {
    let mut registry = registry();
    let target = registry.target(pintle_groups::find("", "v1", "configmaps").unwrap(), "default", "a").unwrap();
    wait(registry.create(&target, value!({"metadata": {"name": "a"}}), &WriteOptions::default())).unwrap();
    let put = |registry: &Registry, field: &'static str| {
        let change = move |_: Option<&Value>| {
            let mut object = value!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}});
            object.set_at(&["metadata", field], "1");
            Ok(object)
        };
        let update = Update {
            change: &change,
            part: None,
            create: false,
            from_stored: false,
            owners: ManagedFieldsUpdate::Compute,
        };
        wait(registry.update(&target, &update, &WriteOptions::default())).map(|_| ()).map_err(|status| status.code)
    };
    assert_eq!([put(&registry, "resourceVersion"), put(&registry, "uid")], [Err(409), Err(409)]);
    registry.admission.plugins = vec![Arc::new(Denying)];
    assert_eq!([put(&registry, "resourceVersion"), put(&registry, "uid")], [Err(400), Err(409)]);
}

#[test]
fn a_status_is_written_with_some_metadata() {
    let registry = registry();
    let options = WriteOptions::default();
    for (group, plural, spec, outcomes) in [
        (
            "storage.k8s.io",
            "volumeattachments",
            value!({"attacher": "a", "nodeName": "n", "source": {"persistentVolumeName": "v"}}),
            [Err(422), Ok("x-".to_owned()), Ok(String::new())],
        ),
        (
            "flowcontrol.apiserver.k8s.io",
            "flowschemas",
            value!({"matchingPrecedence": 9000, "priorityLevelConfiguration": {"name": "p"}}),
            [Ok(String::new()), Ok(String::new()), Ok(String::new())],
        ),
    ] {
        let target = registry.target(pintle_groups::find(group, "v1", plural).unwrap(), "", "a").unwrap();
        let object = value!({"metadata": {"name": "a"}, "spec": (spec)});
        wait(registry.create(&target, object, &options)).unwrap();
        let write = |field: &'static str, value: Value, read: &'static str| {
            let change = |live: Option<&Value>| {
                let mut object = live.unwrap().clone();
                object.set_at(&["metadata", field], value.clone());
                Ok(object)
            };
            let update = Update {
                change: &change,
                part: SubresourcePart::of(&target.resource, "status"),
                create: false,
                from_stored: true,
                owners: ManagedFieldsUpdate::Compute,
            };
            let written = wait(registry.update(&target, &update, &options)).map_err(|status| status.code)?;
            let Payload::Stored(stored) = written.payload else { panic!("nothing is stored") };
            Ok(registry.decode(&target, &stored).unwrap().str_at(&["metadata", read]).to_owned())
        };
        let written = [
            write("deletionGracePeriodSeconds", value!(0), "generateName"),
            write("generateName", value!("x-"), "generateName"),
            write("labels", value!({"a": "b"}), "labels"),
        ];
        assert_eq!(written, outcomes, "{plural}");
    }
}
