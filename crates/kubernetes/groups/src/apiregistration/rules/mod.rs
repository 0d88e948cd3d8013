//! Handwritten rules of the group `apiregistration.k8s.io`.

use crate::rules::{invalid_each, items};
use pintle_schema::{ApiType, View, base64, names};
use pintle_types::apiregistration::v1::{APIService, APIServiceCondition, APIServiceSpec, APIServiceStatus};
use pintle_types::meta::v1::ObjectMeta;
use pintle_validation::{
    At, CustomRule, FieldOrder, Group, KindRules, Pass, ValidationContext, at_field, at_type, field_order, pass,
};

/// The group's kind and its rules.
pub static GROUP: Group = Group { kinds: KINDS, custom_rules: RULES, orders: ORDERS, ..Group::NONE };

static KINDS: &[KindRules] = &[KindRules {
    create: &[pass!(APIService, name), Pass::PlainMetadata, Pass::Rules],
    update: &[Pass::PlainMetadataUpdate, pass!(APIService, name), Pass::PlainMetadata, Pass::Rules],
    parts: &[("status", &[Pass::PlainMetadataUpdate, Pass::Rules])],
    ..KindRules::of(APIService::schema)
}];

/// The types whose fields kube-apiserver validates in another order than that of the struct.
static ORDERS: &[FieldOrder] = &[field_order!(APIServiceSpec: [
    GROUP, VERSION, GROUP_PRIORITY_MINIMUM, VERSION_PRIORITY, CA_BUNDLE, INSECURE_SKIP_TLS_VERIFY
])];

static RULES: &[CustomRule] = &[
    at_field!(APIServiceSpec::CA_BUNDLE, local_needs_no_certificate, ALWAYS | ON_CREATE | ON_UPDATE),
    at_type!(APIServiceSpec, certificate_or_trust, phase = After),
    at_field!(APIServiceStatus::CONDITIONS, conditions),
];

/// The name consists of version and group.
fn name(service: At<'_, APIService>, cx: &mut ValidationContext<'_>) {
    let spec = service.new.field(APIService::SPEC);
    let (group, version) = (spec.field(APIServiceSpec::GROUP).as_str(), spec.field(APIServiceSpec::VERSION).as_str());
    let required = format!("{version}.{group}");
    let metadata = service.new.field(APIService::METADATA);
    let path = service.path.to(APIService::METADATA);
    for field in [ObjectMeta::GENERATE_NAME, ObjectMeta::NAME] {
        let text = metadata.field(field).as_str();
        let messages = names::path_segment_name(text);
        if !messages.is_empty() {
            invalid_each(text, messages, &path.to(field), cx);
        } else if !text.is_empty() && text != required {
            let detail = format!("must be `spec.version+\".\"+spec.group`: \"{required}\"");
            cx.errors.invalid(path.to(field), text, detail);
        }
    }
}

/// Certificates are for services.
fn local_needs_no_certificate(bundle: At<'_, pintle_schema::Bytes>, cx: &mut ValidationContext<'_>) {
    let spec = cx.root::<APIService>().field(APIService::SPEC);
    let text = bundle.new.value().as_str().unwrap_or_default();
    if !text.is_empty() && !spec.field(APIServiceSpec::SERVICE).is_set() {
        let length = base64::decode(text).map_or(0, |bytes| bytes.len());
        cx.errors.invalid(bundle.path, format!("{length} bytes"), "local APIServices may not have a caBundle");
    }
}

/// A certificate is looked at, or none is.
fn certificate_or_trust(spec: At<'_, APIServiceSpec>, cx: &mut ValidationContext<'_>) {
    let trusts = spec.new.field(APIServiceSpec::INSECURE_SKIP_TLS_VERIFY);
    let has_bundle = !spec.new.field(APIServiceSpec::CA_BUNDLE).value().is_zero();
    if spec.new.field(APIServiceSpec::SERVICE).is_set() && trusts.get() && has_bundle {
        let path = spec.path.to(APIServiceSpec::INSECURE_SKIP_TLS_VERIFY);
        cx.errors.invalid(path, true, "may not be true if caBundle is present");
    }
}

fn conditions(conditions: At<'_, Vec<APIServiceCondition>>, cx: &mut ValidationContext<'_>) {
    const STATUSES: &[&str] = &["True", "False", "Unknown"];
    for (at, condition) in items(conditions.new).iter().enumerate() {
        let status = View::<APIServiceCondition>::new(condition).field(APIServiceCondition::STATUS);
        let status = status.value().as_str().unwrap_or_default();
        if !STATUSES.contains(&status) {
            let path = conditions.path.index(at);
            cx.errors.unknown_name(path.to(APIServiceCondition::STATUS), status, STATUSES);
        }
    }
}
