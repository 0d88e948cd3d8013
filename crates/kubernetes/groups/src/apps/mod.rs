//! The `apps` group: workloads that manage pods.
//!
//! Fields of removed versions are annotations now. Here they are kept consistent with the spec.

pub(crate) mod columns;
pub(crate) mod defaults;
pub(crate) mod rules;
mod warnings;

use crate::core;
use crate::core::pod_spec;
use crate::group::{TypeFunctions, version};
use crate::printing::printer;
use crate::views::{annotation, set_annotation};
use pintle_resource::{
    Context, Group, NameRule, Part, Resource, SPEC_PATHS, STATUS, ScalePaths, Storage, Strategy, Subresource, Unserved,
    WITH_STATUS, same,
};
use pintle_schema::{Str, Value, View, ViewMut};
use pintle_types::apps::{v1, v1beta1, v1beta2};
use pintle_types::autoscaling::v1::Scale;
use pintle_types::core::v1::PersistentVolumeClaim;
use pintle_types::extensions::v1beta1 as extensions;
use pintle_types::meta::v1::{ObjectMeta, TypeMeta};
use v1::{
    DaemonSet, DaemonSetSpec, Deployment, DeploymentSpec, ReplicaSet, ReplicaSetSpec, StatefulSet, StatefulSetSpec,
};

/// The group.
pub fn group() -> Group {
    let functions = TypeFunctions::default()
        .rules(&[&rules::GROUP])
        .defaults(defaults::RULES)
        .rules(core::rules::ALL)
        .defaults(&core::defaults::ALL.concat());
    Group {
        name: Str::new_static("apps"),
        priority: Some(17800),
        built_in: true,
        versions: vec![version("v1", 15)],
        resources: functions.complete(vec![
            controller_revisions(),
            daemon_sets(),
            deployments(),
            replica_sets(),
            stateful_sets(),
        ]),
        internal: Vec::new(),
    }
}

fn controller_revisions() -> Resource {
    Resource {
        storage: Some(Storage::of::<v1::ControllerRevision>()),
        printer: printer(&columns::CONTROLLER_REVISION),
        unserved: vec![
            Unserved::same::<v1beta1::ControllerRevision>(),
            Unserved::same::<v1beta2::ControllerRevision>(),
        ],
        ..Resource::of::<v1::ControllerRevision>()
    }
}

fn daemon_sets() -> Resource {
    Resource {
        storage: Some(Storage::of::<DaemonSet>()),
        subresources: vec![Subresource::status::<DaemonSet>(&DAEMON_SET_STATUS)],
        strategy: &DAEMON_SET,
        hidden_annotations: &["deprecated.daemonset.template.generation"],
        printer: printer(&columns::DAEMON_SET),
        warn: Some(warnings::daemon_set),
        unserved: vec![
            Unserved::same::<v1beta2::DaemonSet>(),
            Unserved::converted::<extensions::DaemonSet>(daemon_set_from_v1beta1),
        ],
        ..Resource::of::<DaemonSet>()
    }
}

fn deployments() -> Resource {
    Resource {
        storage: Some(Storage::of::<Deployment>()),
        subresources: vec![
            Subresource::scale::<Scale>(ScalePaths::default()),
            Subresource::status::<Deployment>(&DEPLOYMENT_STATUS),
        ],
        strategy: &DEPLOYMENT,
        hidden_annotations: &["deprecated.deployment.rollback.to"],
        printer: printer(&columns::DEPLOYMENT),
        warn: Some(warnings::deployment),
        unserved: vec![
            Unserved::converted::<v1beta1::Deployment>(deployment_from_v1beta1),
            Unserved::same::<v1beta2::Deployment>(),
            Unserved::converted::<extensions::Deployment>(deployment_from_v1beta1),
        ],
        ..Resource::of::<Deployment>()
    }
}

fn replica_sets() -> Resource {
    Resource {
        storage: Some(Storage::of::<ReplicaSet>()),
        subresources: vec![
            Subresource::scale::<Scale>(ScalePaths::default()),
            Subresource::status::<ReplicaSet>(&STATUS),
        ],
        strategy: &REPLICA_SET,
        printer: printer(&columns::REPLICA_SET),
        warn: Some(warnings::replica_set),
        unserved: vec![Unserved::same::<v1beta2::ReplicaSet>(), Unserved::same::<extensions::ReplicaSet>()],
        ..Resource::of::<ReplicaSet>()
    }
}

fn stateful_sets() -> Resource {
    Resource {
        storage: Some(Storage::of::<StatefulSet>()),
        subresources: vec![
            Subresource::scale::<Scale>(ScalePaths::default()),
            Subresource::status::<StatefulSet>(&STATUS),
        ],
        strategy: &STATEFUL_SET,
        printer: printer(&columns::STATEFUL_SET),
        warn: Some(warnings::stateful_set),
        unserved: vec![Unserved::same::<v1beta1::StatefulSet>(), Unserved::same::<v1beta2::StatefulSet>()],
        ..Resource::of::<StatefulSet>()
    }
}

static DAEMON_SET: Strategy = Strategy {
    generation: Some(SPEC_PATHS),
    prepare_create: Some(create_daemon_set),
    prepare_update: Some(update_daemon_set),
    normalize: Some(normalize_daemon_set),
    malformed: Some(malformed_daemon_set),
    ..WITH_STATUS
};

static DAEMON_SET_STATUS: Part =
    Part { keeps: &[&["metadata", "annotations", TEMPLATE_GENERATION], &["spec"]], ..STATUS };

static DEPLOYMENT: Strategy = Strategy {
    generation: Some(&[&["spec"], &["metadata", "annotations"]]),
    normalize: Some(|object| {
        let spec = ViewMut::<Deployment>::new(object).field(Deployment::SPEC);
        pod_spec::normalize_template(spec.field(DeploymentSpec::TEMPLATE));
    }),
    malformed: Some(malformed_deployment),
    ..WITH_STATUS
};

static DEPLOYMENT_STATUS: Part = Part {
    keeps: &[&["metadata", "annotations", ROLLBACK_TO], &["metadata", "labels"], &["spec"]],
    reset_fields: &[&["spec"], &["metadata", "labels"]],
    ..STATUS
};

static REPLICA_SET: Strategy = Strategy {
    generation: Some(SPEC_PATHS),
    normalize: Some(|object| {
        let spec = ViewMut::<ReplicaSet>::new(object).field(ReplicaSet::SPEC);
        pod_spec::normalize_template(spec.field(ReplicaSetSpec::TEMPLATE));
    }),
    ..WITH_STATUS
};

static STATEFUL_SET: Strategy = Strategy {
    name: NameRule::Label,
    generation: Some(SPEC_PATHS),
    normalize: Some(normalize_stateful_set),
    ..WITH_STATUS
};

/// Counts the changes of a daemon set's template.
const TEMPLATE_GENERATION: &str = "deprecated.daemonset.template.generation";

/// The revision to go back to.
const ROLLBACK_TO: &str = "deprecated.deployment.rollback.to";

fn daemon_set_spec(object: &mut Value) -> ViewMut<'_, DaemonSetSpec> {
    ViewMut::<DaemonSet>::new(object).field(DaemonSet::SPEC)
}

fn template_generation(object: View<'_, DaemonSet>) -> i64 {
    let text = annotation(object.field(DaemonSet::METADATA), TEMPLATE_GENERATION);
    text.and_then(|text| text.parse().ok()).unwrap_or(0)
}

fn set_template_generation(object: ViewMut<'_, DaemonSet>, generation: i64) {
    set_annotation(object.field(DaemonSet::METADATA), TEMPLATE_GENERATION, generation.to_string());
}

/// Writes the generation as a number, as kube-apiserver's conversion does before it looks who owns what: who leaves it
/// out
/// sets it to 0.
fn normalize_daemon_set(object: &mut Value) {
    pod_spec::normalize_template(daemon_set_spec(object).field(DaemonSetSpec::TEMPLATE));
    let generation = template_generation(View::new(object));
    set_template_generation(ViewMut::new(object), generation);
}

fn create_daemon_set(object: &mut Value, _: &mut Context) {
    let generation = template_generation(View::new(object)).max(1);
    set_template_generation(ViewMut::new(object), generation);
}

fn update_daemon_set(new: &mut Value, old: &Value, _: &mut Context) {
    let old = View::<DaemonSet>::new(old);
    let template =
        |object: View<'_, DaemonSet>| object.field(DaemonSet::SPEC).field(DaemonSetSpec::TEMPLATE).value().clone();
    let changed = !same(&template(View::new(new)), &template(old));
    set_template_generation(ViewMut::new(new), template_generation(old) + i64::from(changed));
}

fn malformed_daemon_set(object: &Value) -> Option<String> {
    not_a_number(View::<DaemonSet>::new(object).field(DaemonSet::METADATA), TEMPLATE_GENERATION).map(|(_, why)| why)
}

fn malformed_deployment(object: &Value) -> Option<String> {
    let (text, why) = not_a_number(View::<Deployment>::new(object).field(Deployment::METADATA), ROLLBACK_TO)?;
    Some(format!("failed to parse annotation[{ROLLBACK_TO}]={text} as int64: {why}"))
}

/// An annotation that should be a number and is none, and why.
fn not_a_number<'a>(metadata: View<'a, ObjectMeta>, key: &str) -> Option<(&'a str, String)> {
    let text = annotation(metadata, key)?;
    let why = match text.parse::<i64>().err()?.kind() {
        std::num::IntErrorKind::PosOverflow | std::num::IntErrorKind::NegOverflow => "value out of range",
        _ => "invalid syntax",
    };
    Some((text, format!("strconv.ParseInt: parsing {text:?}: {why}")))
}

/// Sets the kind and API version of claim templates.
fn normalize_stateful_set(object: &mut Value) {
    let mut spec = ViewMut::<StatefulSet>::new(object).field(StatefulSet::SPEC);
    pod_spec::normalize_template(spec.by_ref().field(StatefulSetSpec::TEMPLATE));
    for mut claim in spec.field(StatefulSetSpec::VOLUME_CLAIM_TEMPLATES).iter_mut() {
        let mut meta = claim.by_ref().field(PersistentVolumeClaim::TYPE_META);
        meta.by_ref().field(TypeMeta::KIND).set("PersistentVolumeClaim");
        meta.field(TypeMeta::API_VERSION).set("v1");
    }
}

/// From versions that say in a field what an annotation says now: the revision to go back to.
pub(crate) fn deployment_from_v1beta1(object: &mut Value) {
    let mut spec = ViewMut::<v1beta1::Deployment>::new(object).field(v1beta1::Deployment::SPEC);
    let rollback = spec.view().field(v1beta1::DeploymentSpec::ROLLBACK_TO).some();
    let revision = rollback.map(|rollback| rollback.field(v1beta1::RollbackConfig::REVISION).get());
    spec.by_ref().field(v1beta1::DeploymentSpec::ROLLBACK_TO).clear();
    if let Some(revision) = revision {
        let metadata = ViewMut::<Deployment>::new(object).field(Deployment::METADATA);
        set_annotation(metadata, ROLLBACK_TO, revision.to_string());
    }
}

/// The same for the generation of a daemon set's template.
pub(crate) fn daemon_set_from_v1beta1(object: &mut Value) {
    let spec = ViewMut::<extensions::DaemonSet>::new(object).field(extensions::DaemonSet::SPEC);
    let mut field = spec.field(extensions::DaemonSetSpec::TEMPLATE_GENERATION);
    let generation = field.view().get();
    field.by_ref().clear();
    set_template_generation(ViewMut::new(object), generation);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{created, normalized, with_context};
    use pintle_schema::value;

    fn daemon_set(generation: Value, image: &str) -> Value {
        let mut object = value!({"spec": {"template": {"spec": {"containers": [{"name": "a", "image": image}]}}}});
        object.set_at(&["metadata", "annotations", TEMPLATE_GENERATION], generation);
        object
    }

    #[test]
    fn template_generations() {
        let path = ["metadata", "annotations", TEMPLATE_GENERATION];
        for (given, expected) in [(value!(null), "1"), (value!("0"), "1"), (value!("07"), "7")] {
            assert_eq!(created(&daemon_sets(), daemon_set(given, "a")).str_at(&path), expected);
        }
        let old = daemon_set(value!("4"), "a");
        for (image, expected) in [("a", "4"), ("b", "5")] {
            let mut new = daemon_set(value!("9"), image);
            with_context(|context| update_daemon_set(&mut new, &old, context));
            assert_eq!(new.str_at(&path), expected, "{image}");
        }
    }

    #[test]
    fn numbers_in_annotations() {
        let mut deployment = value!({});
        for (text, expected) in [
            ("3", None),
            ("-3", None),
            ("x", Some("strconv.ParseInt: parsing \"x\": invalid syntax")),
            ("99999999999999999999", Some("strconv.ParseInt: parsing \"99999999999999999999\": value out of range")),
        ] {
            deployment.set_at(&["metadata", "annotations", ROLLBACK_TO], text);
            let expected =
                expected.map(|why| format!("failed to parse annotation[{ROLLBACK_TO}]={text} as int64: {why}"));
            assert_eq!(malformed_deployment(&deployment), expected);
        }
    }

    #[test]
    fn claim_templates_say_what_they_are() {
        let given = value!({"spec": {"volumeClaimTemplates": [{"kind": "Other", "metadata": {"name": "a"}}]}});
        let found = normalized(&stateful_sets(), given);
        let claims = found.at(&["spec", "volumeClaimTemplates"]).and_then(Value::as_list).unwrap_or_default();
        assert_eq!((claims[0].str_at(&["kind"]), claims[0].str_at(&["apiVersion"])), ("PersistentVolumeClaim", "v1"));
    }
}
