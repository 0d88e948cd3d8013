//! Reconcilers of single objects, seen in the cache. Guarantees that nothing is asserted before the work that it
//! depends on is done.

use super::*;
use crate::Controller;
use crate::reconcile::Reconciler;
use crate::reconcile::quotas::Quotas;
use crate::slices::DECODING;
use crate::slices::tests::in_slices;

impl Fixture {
    fn start_with(&self, controller: Controller) -> Controllers {
        let root_ca = Some("a bundle".to_owned());
        let settings = Settings { enabled: vec![controller], root_ca, conditions: false, ..Settings::default() };
        Controllers::start(self.registry.clone(), &settings, None)
    }

    fn read(&self, target: &Target) -> Value {
        self.get(target).and_then(|stored| self.registry.decode(target, &stored).ok()).unwrap_or(Value::Null)
    }

    async fn change(&self, target: &Target, subresource: &str, change: impl Fn(&mut Value) + Send + Sync) {
        let index = ResourceIndex::new(self.registry.clone());
        let requests = Requests { index: &index, who: Who::Account("test") };
        requests.change(target, subresource, change).await.expect("changed");
    }
}

#[tokio::test]
async fn quotas_come_into_effect_and_are_freed() {
    let fixture = Fixture::new().await;
    fixture.owned("a", &[], &[]).await;
    fixture.owned("b", &[], &[]).await;
    let hard = value!({"configmaps": "5", "pods": "2", "count/services": "1", "example.com/unknown": "1"});
    let quota = value!({"metadata": {"name": "q"}, "spec": {"hard": hard}});
    fixture.create("", "resourcequotas", "default", quota).await;
    let pod = |name: &str| value!({"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    fixture.create("", "pods", "default", pod("p")).await;
    let _controllers = fixture.start_with(Controller::ResourceQuota);
    let quota = fixture.target("", "resourcequotas", "default", "q");
    let used = || fixture.read(&quota).at(&["status", "used"]).cloned().unwrap_or_default();
    let is = |maps: &str, pods: &str| used() == value!({"configmaps": maps, "count/services": "0", "pods": pods});
    fixture.until("usage is counted", || is("2", "1")).await;
    assert_eq!(fixture.read(&quota).str_at(&["status", "hard", "pods"]), "2");
    fixture.delete("a", Propagation::Background).await;
    fixture.until("a config map is freed", || is("1", "1")).await;
    let pod = fixture.target("", "pods", "default", "p");
    fixture.change(&pod, "status", |pod| pod.set_at(&["status", "phase"], "Succeeded")).await;
    fixture.until("a pod that has ended is freed", || is("1", "0")).await;
    fixture.change(&quota, "", |quota| quota.set_at(&["spec", "hard", "pods"], "7")).await;
    fixture.until("a limit has changed", || fixture.read(&quota).str_at(&["status", "hard", "pods"]) == "7").await;
}

#[tokio::test]
async fn a_charge_during_a_count_is_a_conflict() {
    let fixture = Fixture::new().await;
    let quota = value!({"metadata": {"name": "q"}, "spec": {"hard": {"configmaps": "5"}}});
    fixture.create("", "resourcequotas", "default", quota).await;
    let target = fixture.target("", "resourcequotas", "default", "q");
    let charge = async |maps: &str| {
        let status = value!({"hard": {"configmaps": "5"}, "used": {"configmaps": maps}});
        fixture.change(&target, "status", |quota| quota.set_at(&["status"], status.clone())).await;
    };
    charge("1").await;
    let quotas = Quotas::new(Arc::new(ResourceIndex::new(fixture.registry.clone()))).expect("quotas are stored");
    let is_due = async |quota: &Value| quotas.status(quota).await.map(|wanted| wanted.is_some());
    let before = fixture.read(&target);
    assert_eq!(is_due(&before).await.ok(), Some(true), "nothing is stored");
    charge("2").await;
    fixture.owned("a", &[], &[]).await;
    // One config map is stored, which is what the old quota says.
    assert_eq!(is_due(&before).await.expect_err("the quota has changed").code, 409);
    assert_eq!(is_due(&fixture.read(&target)).await.ok(), Some(true));
}

#[tokio::test]
async fn a_namespace_is_counted_in_slices() {
    const OBJECTS: usize = 150;
    let fixture = Fixture::new().await;
    for number in 0..OBJECTS {
        fixture.owned(&format!("map-{number}"), &[], &[]).await;
        let pod = value!({"metadata": {"name": (format!("p-{number}"))}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
        fixture.create("", "pods", "default", pod).await;
    }
    let quota = value!({"metadata": {"name": "q"}, "spec": {"hard": {"configmaps": "500", "pods": "500"}}});
    fixture.create("", "resourcequotas", "default", quota).await;
    let quota = fixture.read(&fixture.target("", "resourcequotas", "default", "q"));
    let quotas = Quotas::new(Arc::new(ResourceIndex::new(fixture.registry.clone()))).expect("quotas are stored");
    let (wanted, steps) = in_slices(&quotas.work, quotas.status(&quota)).await;
    let used = wanted.expect("counted").expect("a status").used;
    assert!(used.values().all(|amount| amount.to_string() == OBJECTS.to_string()), "{used:?}");
    assert_eq!(steps, (OBJECTS * (1 + DECODING as usize)) as u64);
}

#[tokio::test]
async fn namespaces_have_an_account_and_a_bundle() {
    let fixture = Fixture::new().await;
    let _accounts = fixture.start_with(Controller::ServiceAccount);
    let _bundles = fixture.start_with(Controller::RootCaCertificatePublisher);
    fixture.create("", "namespaces", "", value!({"metadata": {"name": "new"}})).await;
    for namespace in ["default", "other", "new"] {
        let account = fixture.target("", "serviceaccounts", namespace, "default");
        let bundle = fixture.target("", "configmaps", namespace, "kube-root-ca.crt");
        let is_there = || fixture.read(&bundle).str_at(&["data", "ca.crt"]) == "a bundle";
        fixture.until("a bundle", is_there).await;
        fixture.until("an account", || fixture.get(&account).is_some()).await;
        let first = fixture.get(&account).map(|account| account.revision);
        fixture.registry.delete(&account, &DeleteOptions::default()).await.map(drop).expect("deleted");
        fixture.change(&bundle, "", |bundle| bundle.set_at(&["data", "other"], "x")).await;
        fixture.until("a new account", || fixture.get(&account).is_some_and(|new| Some(new.revision) > first)).await;
        fixture.until("the bundle again", || fixture.read(&bundle).at(&["data", "other"]).is_none()).await;
    }
}

#[tokio::test]
async fn roles_have_the_rules_of_their_parts() {
    let fixture = Fixture::new().await;
    const GROUP: &str = "rbac.authorization.k8s.io";
    let rule = |resource: &str| value!({"apiGroups": [""], "resources": [resource], "verbs": ["get"]});
    let part = |name: &str, of: &str, rules: Vec<Value>| value!({"metadata": {"name": name, "labels": {"part-of": of}}, "rules": (Value::List(rules))});
    let whole = value!({
        "metadata": {"name": "whole"},
        "aggregationRule": {"clusterRoleSelectors": [
            {"matchLabels": {"part-of": "whole"}}, {"matchExpressions": [{"key": "part-of", "operator": "In", "values": ["more"]}]}
        ]},
        "rules": null
    });
    fixture.create(GROUP, "clusterroles", "", whole).await;
    fixture.create(GROUP, "clusterroles", "", part("b", "whole", vec![rule("pods"), rule("nodes")])).await;
    let _controllers = fixture.start_with(Controller::ClusterRoleAggregation);
    fixture.create(GROUP, "clusterroles", "", part("a", "more", vec![rule("pods"), rule("secrets")])).await;
    fixture.create(GROUP, "clusterroles", "", part("c", "other", vec![rule("events")])).await;
    let whole = fixture.target(GROUP, "clusterroles", "", "whole");
    let resources = || -> Vec<String> {
        let role = fixture.read(&whole);
        let rules = role.get("rules").and_then(Value::as_list).unwrap_or_default();
        rules.iter().filter_map(|rule| Some(rule.at(&["resources"])?.as_list()?[0].as_str()?.to_owned())).collect()
    };
    fixture.until("all parts", || resources() == ["pods", "nodes", "secrets"]).await;
    let part = fixture.target(GROUP, "clusterroles", "", "b");
    fixture.registry.delete(&part, &DeleteOptions::default()).await.map(drop).expect("deleted");
    fixture.until("what is left", || resources() == ["pods", "secrets"]).await;
    // A client that applies other rules has a conflict with who is named here.
    let role = fixture.read(&whole);
    let managers = role.at(&["metadata", "managedFields"]).and_then(Value::as_list).unwrap_or_default();
    let owns = |entry: &&Value| String::from_utf8_lossy(&pintle_codec::json::to_vec(entry)).contains("f:rules");
    let shown = managers.iter().filter(owns).map(|entry| [entry.str_at(&["manager"]), entry.str_at(&["operation"])]);
    assert_eq!(shown.collect::<Vec<_>>(), [["clusterrole-aggregation-controller", "Apply"]]);
    for part in ["a", "c"] {
        let part = fixture.target(GROUP, "clusterroles", "", part);
        fixture.registry.delete(&part, &DeleteOptions::default()).await.map(drop).expect("deleted");
    }
    fixture.until("no rules", || resources().is_empty()).await;
}

#[tokio::test]
async fn expired_objects_are_removed() {
    let fixture = Fixture::new().await;
    fixture.create("", "namespaces", "", value!({"metadata": {"name": "kube-system"}})).await;
    let token = |name: &str, end: &str| {
        value!({
            "metadata": {"name": name}, "type": "bootstrap.kubernetes.io/token", "stringData": {"expiration": end}
        })
    };
    // It is 1970-01-12T13:46:40Z.
    fixture.create("", "secrets", "kube-system", token("bootstrap-token-over00", "1970-01-01T00:00:00Z")).await;
    fixture.create("", "secrets", "kube-system", token("bootstrap-token-later0", "1970-02-01T00:00:00Z")).await;
    fixture.create("", "secrets", "default", token("bootstrap-token-other0", "1970-01-01T00:00:00Z")).await;
    let template = value!({"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}});
    for name in ["finished", "running"] {
        let job = value!({
            "metadata": {"name": name}, "spec": {"ttlSecondsAfterFinished": 60, "template": (template.clone())}
        });
        fixture.create("batch", "jobs", "default", job).await;
    }
    let finished = fixture.target("batch", "jobs", "default", "finished");
    let conditions = value!([
        {"type": "SuccessCriteriaMet", "status": "True", "lastTransitionTime": "1970-01-12T00:00:00Z"},
        {"type": "Complete", "status": "True", "lastTransitionTime": "1970-01-12T00:00:00Z"}
    ]);
    fixture
        .change(&finished, "status", |job| {
            job.set_at(&["status", "startTime"], "1970-01-11T00:00:00Z");
            job.set_at(&["status", "completionTime"], "1970-01-12T00:00:00Z");
            job.set_at(&["status", "conditions"], conditions.clone());
        })
        .await;
    let _tokens = fixture.start_with(Controller::TokenCleaner);
    let _jobs = fixture.start_with(Controller::TtlAfterFinished);
    let token = |namespace: &str, name: &str| fixture.get(&fixture.target("", "secrets", namespace, name));
    fixture.until("the token is gone", || token("kube-system", "bootstrap-token-over00").is_none()).await;
    assert!(
        token("kube-system", "bootstrap-token-later0").is_some()
            && token("default", "bootstrap-token-other0").is_some()
    );
    // Its dependents are the garbage collector's.
    let is_ending = || fixture.get(&finished).is_none_or(|job| job.encoded.terminating);
    fixture.until("the job ends", is_ending).await;
    assert!(fixture.get(&fixture.target("batch", "jobs", "default", "running")).is_some());
}

#[tokio::test]
async fn migrations_end() {
    let fixture = Fixture::new().await;
    let resource = pintle_groups::find("storagemigration.k8s.io", "v1beta1", "storageversionmigrations");
    let target = fixture.registry.target(resource.expect("a resource"), "", "").expect("stored");
    fixture.owned("a", &[], &[]).await;
    let _controllers = fixture.start_with(Controller::StorageVersionMigrator);
    for (plural, expected) in [("configmaps", "Succeeded"), ("nothings", "Failed")] {
        let migration = value!({"metadata": {"name": plural}, "spec": {"resource": {"group": "", "resource": plural}}});
        fixture.registry.create(&target, migration, &WriteOptions::default()).await.map(drop).expect("created");
        let place = Target { name: plural.to_owned(), ..target.clone() };
        let conditions = || -> Vec<(String, String)> {
            let migration = fixture.read(&place);
            let conditions = migration.at(&["status", "conditions"]).and_then(Value::as_list).unwrap_or_default();
            let texts = |one: &Value| (one.str_at(&["type"]).to_owned(), one.str_at(&["status"]).to_owned());
            conditions.iter().map(texts).collect()
        };
        let is_over = || conditions().iter().any(|(kind, status)| kind == expected && status == "True");
        fixture.until("the migration is over", is_over).await;
        assert!(conditions().iter().all(|(kind, status)| kind != "Running" || status == "False"), "{:?}", conditions());
    }
}

#[tokio::test]
async fn policies_are_checked_against_types_once_for_each_generation() {
    let fixture = Fixture::new().await;
    const GROUP: &str = "admissionregistration.k8s.io";
    let validation = |expression: &str| value!([{"expression": expression}]);
    let policy = value!({"metadata": {"name": "p"}, "spec": {
        "matchConstraints": {"resourceRules": [
            {"apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["deployments"]}
        ]},
        "validations": (validation("object.replicas > 1"))
    }});
    fixture.create(GROUP, "validatingadmissionpolicies", "", policy).await;
    let _controllers = fixture.start_with(Controller::ValidatingAdmissionPolicyStatus);
    let policy = fixture.target(GROUP, "validatingadmissionpolicies", "", "p");
    let status = || fixture.read(&policy).get("status").cloned().unwrap_or_default();
    let observed = |generation: i64| status().get("observedGeneration").and_then(Value::as_i64) == Some(generation);
    fixture.until("the policy is checked", || observed(1)).await;
    let warning = "apps/v1, Kind=Deployment: ERROR: <input>:1:7: undefined field 'replicas'\n | object.replicas > 1\n | ......^\n";
    let expected = value!({"expressionWarnings": [{"fieldRef": "spec.validations[0].expression", "warning": warning}]});
    assert_eq!(status().get("typeChecking"), Some(&expected));
    let checked = fixture.read(&policy);
    let managers = checked.at(&["metadata", "managedFields"]).and_then(Value::as_list).unwrap_or_default();
    let names: Vec<[&str; 3]> = managers
        .iter()
        .map(|one| ["manager", "operation", "subresource"].map(|field| one.str_at(&[field])))
        .filter(|[_, operation, _]| *operation == "Apply")
        .collect();
    assert_eq!(names, [["validatingadmissionpolicy-status-controller", "Apply", "status"]]);
    fixture
        .change(&policy, "", |policy| policy.set_at(&["spec", "validations"], validation("object.spec.replicas > 1")))
        .await;
    fixture.until("the change is checked", || observed(2)).await;
    assert_eq!(status().get("typeChecking"), Some(&Value::map()));
}

#[tokio::test]
async fn a_namespace_that_ends_is_not_counted_for_each_object() {
    let fixture = Fixture::new().await;
    let quotas = Quotas::new(Arc::new(ResourceIndex::new(fixture.registry.clone()))).expect("quotas are stored");
    let index = ResourceIndex::new(fixture.registry.clone());
    let kind = |plural| index.stored("", plural).expect("stored");
    for namespace in ["default", "other"] {
        fixture.owned_in(namespace, "a", &[], &[]).await;
        let quota = value!({"metadata": {"name": "q"}, "spec": {"hard": {"count/configmaps": "5"}}});
        fixture.create("", "resourcequotas", namespace, quota).await;
        let quota = fixture.get(&fixture.target("", "resourcequotas", namespace, "q")).expect("stored");
        quotas.due(kind("resourcequotas"), &quota, None, &mut |_, _| {});
    }
    let ending = fixture.target("", "namespaces", "", "other");
    fixture.registry.delete(&ending, &DeleteOptions::default()).await.map(drop).expect("deleted");
    let mut delays = Vec::new();
    for namespace in ["default", "other"] {
        let maps = fixture.target("", "configmaps", namespace, "a");
        let mut cursor = maps.cache.cursor(maps.cache.state().last);
        fixture.registry.delete(&maps, &DeleteOptions::default()).await.map(drop).expect("deleted");
        for event in cursor.take(10).expect("history") {
            quotas.due(kind("configmaps"), &event.object, Some(&event), &mut |_, delay| delays.push(delay.as_secs()));
        }
    }
    assert_eq!(delays, [0, 10]);
}
