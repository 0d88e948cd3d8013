//! Services that servers of earlier releases stored. Guarantees that they are shown whole and can be updated.

use super::*;

#[test]
fn services_of_old_servers_are_shown_whole_and_updated() {
    for (name, spec) in OLD {
        let written = Arc::new(MemoryStore::new());
        let mut form = EtcdCodec::new(pintle_groups::resources());
        form.json = true;
        let store = Arc::new(TranscodingStore::new(written.clone(), Arc::new(form)));
        let server = Server::over(store, &["10.0.0.0/24"], 30_000..=32_767);
        let metadata = format!(
            r#"{{"name":"{name}","namespace":"default","uid":"u","creationTimestamp":"2020-01-01T00:00:00Z"}}"#
        );
        let old = format!(
            r#"{{"kind":"Service","apiVersion":"v1","metadata":{metadata},"spec":{spec},"status":{{"loadBalancer":{{}}}}}}"#
        );
        let target = server.service(name);
        let write = Transaction::one(target.key().into(), Expect::Absent, Some(old.into_bytes().into()));
        wait(written.commit(write)).expect("stored");

        let families = if *name == "selectorless" { value!(["IPv4", "IPv6"]) } else { value!(["IPv4"]) };
        let policy = if *name == "selectorless" { "RequireDualStack" } else { "SingleStack" };
        let ip =
            json::parse(spec.as_bytes(), Strictness::Ignore).expect("JSON").value.str_at(&["clusterIP"]).to_owned();
        let is_whole = |service: &Value| {
            let spec = |field: &str| service.at(&["spec", field]).cloned().unwrap_or_default();
            assert_eq!(spec("clusterIPs"), value!([(ip.clone())]), "{name}");
            assert_eq!(spec("ipFamilies"), families, "{name}");
            assert_eq!(spec("ipFamilyPolicy"), value!(policy), "{name}");
            assert_eq!(spec("internalTrafficPolicy"), value!("Cluster"), "{name}");
        };
        let shown = || {
            let stored = target.cache.get(&target.key()).expect("it is stored");
            let mut service = server.0.decode(&target, &stored).expect("a service");
            server.0.to_served_now(&target, &mut service).expect("served");
            service
        };
        let before = shown();
        is_whole(&before);
        // A patch begins from what is stored, an update from what was shown.
        let patched = server.change(name, |spec| spec.set_at(&["sessionAffinity"], "ClientIP"));
        is_whole(&patched.expect("patched"));
        let again = before.get("spec").cloned().expect("a spec");
        is_whole(&server.change(name, |spec| *spec = again.clone()).expect("updated"));
        is_whole(&shown());
    }
}
