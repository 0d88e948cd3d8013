//! Priority: the number behind a pod's priority class.
//! Guarantees that class, number and preemption policy of a new pod agree, and that at most one class is the default.
//! Must never give an existing pod another priority.

use crate::plugin::{Plugin, Requests};
use crate::request::{Kind, Request};
use pintle_registry::status::Result;
use pintle_schema::{Value, View, ViewMut};
use pintle_types::core::v1::{Pod, PodSpec, PreemptionPolicy};
use pintle_types::scheduling::v1::PriorityClass;

pub const PLUGIN: Plugin =
    Plugin::on(&[Requests::write("", "pods"), Requests::write("scheduling.k8s.io", "priorityclasses")])
        .mutating(mutate)
        .validating(validate);

const CLASSES: Kind<PriorityClass> = Kind::new("scheduling.k8s.io", "priorityclasses");

fn mutate(request: &Request<'_>, object: &mut Value, _: &mut Vec<String>) -> Result<()> {
    match request.old() {
        _ if request.resource() != "pods" => Ok(()),
        None => resolve(request, object),
        Some(old) => {
            keep(object, old);
            Ok(())
        }
    }
}

/// Priority and policy that an update leaves out stay.
fn keep(object: &mut Value, old: &Value) {
    let old = View::<Pod>::new(old).field(Pod::SPEC);
    let mut spec = ViewMut::<Pod>::new(object).field(Pod::SPEC);
    if let (None, Some(priority)) = (spec.view().field(PodSpec::PRIORITY).some(), old.field(PodSpec::PRIORITY).some()) {
        *spec.by_ref().field(PodSpec::PRIORITY).raw() = priority.value().clone();
    }
    let policy = old.field(PodSpec::PREEMPTION_POLICY);
    if let (None, Some(policy)) = (spec.view().field(PodSpec::PREEMPTION_POLICY).some(), policy.some()) {
        *spec.field(PodSpec::PREEMPTION_POLICY).raw() = policy.value().clone();
    }
}

/// Sets the priority of the pod's class, or of the default class.
fn resolve(request: &Request<'_>, object: &mut Value) -> Result<()> {
    let spec = View::<Pod>::new(object).field(Pod::SPEC);
    let class = match spec.field(PodSpec::PRIORITY_CLASS_NAME).as_str() {
        "" => default_class(request)?,
        name => match request.find(&CLASSES, "", name)? {
            Some(class) => Some(class),
            None => return Err(request.forbidden(object, format!("no PriorityClass with name {name} was found"))),
        },
    };
    let class = class.unwrap_or_default();
    let policy = class.preemption_policy.unwrap_or(PreemptionPolicy::PREEMPT_LOWER_PRIORITY);
    let given = (spec.field(PodSpec::PRIORITY).get(), spec.field(PodSpec::PREEMPTION_POLICY).get());
    if let (Some(priority), _) = &given
        && *priority != class.value
    {
        let why = format!(
            "the integer value of priority ({priority}) must not be provided in pod spec; priority admission controller \
             computed {} from the given PriorityClass name",
            class.value
        );
        return Err(request.forbidden(object, why));
    }
    if let (_, Some(own)) = &given
        && *own != policy
    {
        let why = format!(
            "the string value of PreemptionPolicy ({}) must not be provided in pod spec; priority admission controller \
             computed {} from the given PriorityClass name",
            own.as_str(),
            policy.as_str()
        );
        return Err(request.forbidden(object, why));
    }
    let mut spec = ViewMut::<Pod>::new(object).field(Pod::SPEC);
    if !class.metadata.name.is_empty() {
        spec.by_ref().field(PodSpec::PRIORITY_CLASS_NAME).set(class.metadata.name);
    }
    spec.by_ref().field(PodSpec::PRIORITY).set(class.value);
    spec.field(PodSpec::PREEMPTION_POLICY).set(policy);
    Ok(())
}

/// The default class; of several, which only races can make, the least one.
fn default_class(request: &Request<'_>) -> Result<Option<PriorityClass>> {
    let classes = request.all_marked(&CLASSES, PriorityClass::GLOBAL_DEFAULT)?;
    Ok(classes.into_iter().filter(|class| class.global_default).min_by_key(|class| class.value))
}

fn validate(request: &Request<'_>, object: &Value, _: &mut Vec<String>) -> Result<()> {
    let class = View::<PriorityClass>::new(object);
    if request.resource() != "priorityclasses" || !class.field(PriorityClass::GLOBAL_DEFAULT).get() {
        return Ok(());
    }
    let name = pintle_registry::metadata::text(object, "name");
    match default_class(request)? {
        Some(other) if other.metadata.name != name => {
            let other = other.metadata.name;
            let why = format!("PriorityClass {other} is already marked as default. Only one default can exist");
            Err(request.forbidden(object, why))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::Cluster;
    use pintle_schema::{Value, value};

    fn pod(spec: Value) -> Value {
        value!({"metadata": {"name": "p", "namespace": "ns"}, "spec": spec})
    }

    async fn cluster() -> Cluster {
        let cluster = Cluster::new().with_account("default").await;
        let class = value!({"metadata": {"name": "high"}, "value": 1000, "preemptionPolicy": "Never"});
        cluster.store("scheduling.k8s.io", "priorityclasses", class).await;
        cluster
    }

    #[tokio::test]
    async fn classes_become_numbers() {
        let cluster = cluster().await;
        let row = |class: &str, priority: i64, policy: &str| (class.to_owned(), priority, policy.to_owned());
        let check = |pod: Value| {
            let spec = pod.get("spec").cloned().unwrap_or_default();
            let priority = spec.get("priority").and_then(Value::as_i64).unwrap_or(-1);
            (spec.str_at(&["priorityClassName"]).to_owned(), priority, spec.str_at(&["preemptionPolicy"]).to_owned())
        };
        let created = cluster.create("", "pods", pod(value!({}))).await.expect("admitted");
        assert_eq!(check(created), row("", 0, "PreemptLowerPriority"));
        let created = cluster.create("", "pods", pod(value!({"priorityClassName": "high", "priority": 1000}))).await;
        assert_eq!(check(created.expect("admitted")), row("high", 1000, "Never"));
        for (name, value, default) in [("usual", 10, true), ("low", 1, false)] {
            let class = value!({"metadata": {"name": name}, "value": value, "globalDefault": default});
            cluster.store("scheduling.k8s.io", "priorityclasses", class).await;
        }
        let created = cluster.create("", "pods", pod(value!({}))).await.expect("admitted");
        assert_eq!(check(created), row("usual", 10, "PreemptLowerPriority"));
        let old = pod(value!({"priority": 5, "preemptionPolicy": "Never"}));
        let updated = cluster.update(("", "pods", ""), &old, pod(value!({})), "alice").expect("admitted");
        assert_eq!(check(updated), row("", 5, "Never"));
    }

    #[tokio::test]
    async fn refusals() {
        let cluster = cluster().await;
        let rows = [
            (value!({"priorityClassName": "none"}), "no PriorityClass with name none was found"),
            (
                value!({"priority": 7}),
                "the integer value of priority (7) must not be provided in pod spec; priority admission controller \
                 computed 0 from the given PriorityClass name",
            ),
            (
                value!({"priorityClassName": "high", "preemptionPolicy": "PreemptLowerPriority"}),
                "the string value of PreemptionPolicy (PreemptLowerPriority) must not be provided in pod spec; priority \
                 admission controller computed Never from the given PriorityClass name",
            ),
        ];
        for (spec, why) in rows {
            let status = cluster.create("", "pods", pod(spec)).await.expect_err(why);
            assert_eq!(status.message, format!("pods \"p\" is forbidden: {why}"));
        }
        let class = |name: &str| value!({"metadata": {"name": name}, "value": 1, "globalDefault": true});
        cluster.store("scheduling.k8s.io", "priorityclasses", class("usual")).await;
        let again = cluster.create("scheduling.k8s.io", "priorityclasses", class("usual")).await;
        assert!(again.is_ok(), "the default class itself");
        let status =
            cluster.create("scheduling.k8s.io", "priorityclasses", class("other")).await.expect_err("a second default");
        assert_eq!(
            status.message,
            "priorityclasses.scheduling.k8s.io \"other\" is forbidden: PriorityClass usual is already marked as default. \
             Only one default can exist"
        );
    }
}
