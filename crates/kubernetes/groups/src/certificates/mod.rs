//! The `certificates.k8s.io` group: signing requests and trust bundles.
//!
//! The requester's identity is that of the request's user, never that of the body.

pub(crate) mod columns;
pub(crate) mod defaults;
pub mod rules;

use crate::group::{TypeFunctions, version};
use crate::printing::printer;
use crate::views::set_if_absent;
use pintle_gates as gates;
use pintle_resource::{
    Context, GENERAL, Group, NOT_SUPPORTED, NameRule, Part, Resource, SPEC_PATHS, STATUS, STATUS_ALONE, STATUS_PATHS,
    Selectable, Served, Storage, Strategy, Subresource, Unserved,
};
use pintle_schema::{Str, Time, Value, View, ViewMut};
use pintle_types::certificates::{v1, v1alpha1, v1beta1};
use pintle_types::meta::v1::Condition;
use v1::{
    CertificateSigningRequest, CertificateSigningRequestCondition, CertificateSigningRequestSpec,
    CertificateSigningRequestStatus, ExtraValue, RequestConditionType,
};

/// The group.
pub fn group() -> Group {
    let functions = TypeFunctions::default().rules(&[&rules::GROUP]).defaults(defaults::RULES);
    Group {
        name: Str::new_static("certificates.k8s.io"),
        priority: Some(17300),
        built_in: true,
        versions: vec![version("v1", 15), version("v1beta1", 9), version("v1alpha1", 1)],
        resources: functions.complete(vec![
            certificate_signing_requests(),
            cluster_trust_bundles(),
            pod_certificate_requests(),
            cluster_trust_bundles_v1alpha1(),
        ]),
        internal: Vec::new(),
    }
}

fn certificate_signing_requests() -> Resource {
    Resource {
        storage: Some(Storage::of::<CertificateSigningRequest>()),
        subresources: vec![
            Subresource::part::<CertificateSigningRequest>("approval", &APPROVAL),
            Subresource::status::<CertificateSigningRequest>(&CERTIFICATE_SIGNING_REQUEST_STATUS),
        ],
        selectable: vec![Selectable::path("spec.signerName", &["spec", "signerName"])],
        selector_refusal: NOT_SUPPORTED,
        strategy: &CERTIFICATE_SIGNING_REQUEST,
        printer: printer(&columns::CERTIFICATE_SIGNING_REQUEST),
        unserved: vec![Unserved::same::<v1beta1::CertificateSigningRequest>()],
        ..Resource::of::<CertificateSigningRequest>()
    }
}

fn cluster_trust_bundles() -> Resource {
    Resource {
        served: Served::Gated(&gates::CLUSTER_TRUST_BUNDLE),
        storage: Some(cluster_trust_bundle_storage()),
        selectable: vec![Selectable::path("spec.signerName", &["spec", "signerName"])],
        selector_refusal: NOT_SUPPORTED,
        strategy: &CLUSTER_TRUST_BUNDLE,
        printer: printer(&columns::CLUSTER_TRUST_BUNDLE),
        ..Resource::of::<v1beta1::ClusterTrustBundle>()
    }
}

fn pod_certificate_requests() -> Resource {
    Resource {
        served: Served::Gated(&gates::POD_CERTIFICATE_REQUEST),
        storage: Some(Storage::of::<v1beta1::PodCertificateRequest>()),
        subresources: vec![Subresource::status::<v1beta1::PodCertificateRequest>(&POD_CERTIFICATE_REQUEST_STATUS)],
        selectable: vec![
            Selectable::path("spec.nodeName", &["spec", "nodeName"]),
            Selectable::path("spec.podName", &["spec", "podName"]),
            Selectable::path("spec.signerName", &["spec", "signerName"]),
            Selectable::refused("metadata.namespace"),
        ],
        selector_refusal: NOT_SUPPORTED,
        strategy: &POD_CERTIFICATE_REQUEST,
        printer: printer(&columns::POD_CERTIFICATE_REQUEST),
        introduced: 35,
        ..Resource::of::<v1beta1::PodCertificateRequest>()
    }
}

fn cluster_trust_bundles_v1alpha1() -> Resource {
    Resource {
        served: Served::Gated(&gates::CLUSTER_TRUST_BUNDLE),
        storage: Some(cluster_trust_bundle_storage()),
        selectable: vec![Selectable::path("spec.signerName", &["spec", "signerName"])],
        selector_refusal: NOT_SUPPORTED,
        strategy: &CLUSTER_TRUST_BUNDLE,
        deprecation: Str::new_static(
            "certificates.k8s.io/v1alpha1 ClusterTrustBundle is deprecated in v1.34+, unavailable in v1.37+",
        ),
        printer: printer(&columns::CLUSTER_TRUST_BUNDLE),
        ..Resource::of::<v1alpha1::ClusterTrustBundle>()
    }
}

static CERTIFICATE_SIGNING_REQUEST: Strategy = Strategy {
    name: NameRule::PathSegment,
    create_clears: STATUS_PATHS,
    update_keeps: &[&["spec"], &["status"]],
    reset_fields: &[&["spec"], &["status"]],
    prepare_create: Some(note_who_asks),
    ..GENERAL
};

static APPROVAL: Part = Part {
    keeps: &[&["spec"], &["status", "certificate"]],
    reset_fields: &[&["spec"], &["status", "certificate"]],
    prepare: Some(date_conditions),
    ..STATUS
};

static CERTIFICATE_SIGNING_REQUEST_STATUS: Part =
    Part { reset_fields: &[&["spec"], &["status", "conditions"]], prepare: Some(prepare_status), ..STATUS };

static CLUSTER_TRUST_BUNDLE: Strategy = Strategy { name: NameRule::None, unconditional_update: false, ..GENERAL };

fn cluster_trust_bundle_storage() -> Storage {
    Storage::of::<v1beta1::ClusterTrustBundle>()
}

static POD_CERTIFICATE_REQUEST: Strategy =
    Strategy { unconditional_update: false, create_clears: STATUS_PATHS, update_keeps: STATUS_PATHS, ..GENERAL };

static POD_CERTIFICATE_REQUEST_STATUS: Part =
    Part { reset_fields: SPEC_PATHS, prepare: Some(prepare_pod_status), ..STATUS_ALONE };

type Conditions = Vec<CertificateSigningRequestCondition>;

fn note_who_asks(object: &mut Value, context: &mut Context) {
    let mut spec = ViewMut::<CertificateSigningRequest>::new(object).field(CertificateSigningRequest::SPEC);
    spec.by_ref().field(CertificateSigningRequestSpec::USERNAME).set(context.user);
    spec.by_ref().field(CertificateSigningRequestSpec::UID).set(context.user_uid);
    let texts = |items: &[Str]| items.iter().map(Str::to_string).collect::<Vec<_>>();
    spec.by_ref().field(CertificateSigningRequestSpec::GROUPS).set(texts(context.groups));
    let extra = context.extra.iter().map(|(key, items)| (key.to_string(), ExtraValue { items: texts(items) }));
    spec.field(CertificateSigningRequestSpec::EXTRA).set(extra.collect::<std::collections::BTreeMap<_, _>>());
}

fn conditions(object: &mut Value) -> ViewMut<'_, Conditions> {
    let status = ViewMut::<CertificateSigningRequest>::new(object).field(CertificateSigningRequest::STATUS);
    status.field(CertificateSigningRequestStatus::CONDITIONS)
}

fn old_conditions(object: &Value) -> View<'_, Conditions> {
    let status = View::<CertificateSigningRequest>::new(object).field(CertificateSigningRequest::STATUS);
    status.field(CertificateSigningRequestStatus::CONDITIONS)
}

/// Dates conditions: when they were updated, and since when they have had their status.
fn date_conditions(new: &mut Value, old: &Value, context: &mut Context) {
    let now = Time::from_seconds(context.now_unix);
    for mut condition in conditions(new).iter_mut() {
        let same_state = |before: &View<'_, CertificateSigningRequestCondition>| {
            let (before, condition) = (before.get(), condition.view().get());
            before.r#type == condition.r#type && before.status == condition.status
        };
        let since = old_conditions(old).iter().filter(same_state);
        let mut since =
            since.map(|before| before.field(CertificateSigningRequestCondition::LAST_TRANSITION_TIME).get());
        let since = since.find(|time| !time.is_zero()).unwrap_or(now);
        set_if_absent(&mut condition, CertificateSigningRequestCondition::LAST_UPDATE_TIME, now);
        set_if_absent(&mut condition, CertificateSigningRequestCondition::LAST_TRANSITION_TIME, since);
    }
}

/// Leaves decisions about the request as they were, where the writer has as many of them.
fn prepare_status(new: &mut Value, old: &Value, context: &mut Context) {
    for decision in [RequestConditionType::APPROVED, RequestConditionType::DENIED] {
        let is_decision = |condition: &View<'_, CertificateSigningRequestCondition>| {
            condition.field(CertificateSigningRequestCondition::TYPE).get() == decision
        };
        let before: Vec<Value> = old_conditions(old).iter().filter(is_decision).map(|c| c.value().clone()).collect();
        let now: Vec<_> = conditions(new).iter_mut().filter(|condition| is_decision(&condition.view())).collect();
        if now.len() == before.len() {
            now.into_iter().zip(before).for_each(|(condition, before)| *condition.raw() = before);
        }
    }
    date_conditions(new, old, context);
}

/// Leaves answers to a request of a pod as they were, where the writer has as many of them, and dates new conditions.
fn prepare_pod_status(new: &mut Value, old: &Value, context: &mut Context) {
    type Status = v1beta1::PodCertificateRequestStatus;
    let before: Vec<Condition> = {
        let status = View::<v1beta1::PodCertificateRequest>::new(old).field(v1beta1::PodCertificateRequest::STATUS);
        status.field(Status::CONDITIONS).get()
    };
    let status = ViewMut::<v1beta1::PodCertificateRequest>::new(new).field(v1beta1::PodCertificateRequest::STATUS);
    let conditions = status.field(Status::CONDITIONS);
    let mut now: Vec<Condition> = conditions.view().get();
    for answer in ["Issued", "Denied", "Failed"] {
        let is_answer = |condition: &&Condition| condition.r#type == answer;
        if now.iter().filter(is_answer).count() == before.iter().filter(is_answer).count() {
            let kept = before.iter().filter(is_answer).cloned();
            now.iter_mut().filter(|condition| condition.r#type == answer).zip(kept).for_each(|(now, kept)| *now = kept);
        }
    }
    for condition in now.iter_mut().filter(|condition| condition.last_transition_time.is_zero()) {
        let same = |known: &&Condition| known.r#type == condition.r#type && known.status == condition.status;
        let mut times = before.iter().filter(same).map(|known| known.last_transition_time);
        let since = times.find(|time| !time.is_zero());
        condition.last_transition_time = since.unwrap_or(Time::from_seconds(context.now_unix));
    }
    if !now.is_empty() {
        conditions.set(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{created, pruned, with_context};
    use pintle_schema::value;

    #[test]
    fn the_server_says_who_asks() {
        let given = value!({"spec": {"username": "root", "uid": "0", "groups": ["wheel"], "extra": {"a": ["b"]}}});
        let found = created(&certificate_signing_requests(), given);
        assert_eq!(found.str_at(&["spec", "username"]), "jane");
        assert_eq!(found.str_at(&["spec", "uid"]), "42");
        assert_eq!(found.at(&["spec", "groups"]), Some(&value!(["a", "b"])));
        assert_eq!(found.at(&["spec", "extra"]), Some(&value!({"k": ["v"]})));
    }

    #[test]
    fn decisions_stay_and_conditions_are_dated() {
        let (now, before) = ("2001-09-09T01:46:40Z", "2001-01-01T00:00:00Z");
        let approved = |message: &str| {
            value!({"type": "Approved", "status": "True", "message": message,
                "lastUpdateTime": before, "lastTransitionTime": before})
        };
        let failed = value!({"type": "Failed", "status": "True"});
        let old = value!({"status": {"conditions": [(approved("old"))]}});
        let mut new = value!({"status": {"conditions": [(approved("new")), failed]}});
        with_context(|context| prepare_status(&mut new, &old, context));
        let dated = value!({"type": "Failed", "status": "True", "lastUpdateTime": now, "lastTransitionTime": now});
        let expected = value!({"status": {"conditions": [(approved("old")), dated]}});
        assert_eq!(pruned(new), expected);

        let mut again = value!({"status": {"conditions": [{"type": "Approved", "status": "True"}]}});
        with_context(|context| date_conditions(&mut again, &old, context));
        let expected = value!({"status": {"conditions": [{"type": "Approved", "status": "True",
            "lastUpdateTime": now, "lastTransitionTime": before}]}});
        assert_eq!(pruned(again), expected);
    }

    #[test]
    fn answers_to_pods_stay_and_are_dated() {
        let (now, before) = ("2001-09-09T01:46:40Z", "2001-01-01T00:00:00Z");
        let condition = |kind: &str, message: &str, time: &str| {
            let mut condition = value!({"type": kind, "status": "True", "reason": "R", "message": message});
            condition.set_at(&["lastTransitionTime"], if time.is_empty() { Value::Null } else { Value::from(time) });
            condition
        };
        let with = |conditions: Vec<Value>| value!({"status": {"conditions": (Value::List(conditions))}});
        let old = with(vec![condition("Issued", "old", before), condition("Other", "", before)]);
        let mut new =
            with(vec![condition("Issued", "new", ""), condition("Other", "more", ""), condition("X", "", "")]);
        with_context(|context| prepare_pod_status(&mut new, &old, context));
        let expected =
            with(vec![condition("Issued", "old", before), condition("Other", "more", before), condition("X", "", now)]);
        let conditions = |object: &Value| {
            let status =
                View::<v1beta1::PodCertificateRequest>::new(object).field(v1beta1::PodCertificateRequest::STATUS);
            status.field(v1beta1::PodCertificateRequestStatus::CONDITIONS).get()
        };
        assert_eq!(conditions(&new), conditions(&expected));
    }
}
