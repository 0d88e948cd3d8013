//! Handwritten rules of the group `storagemigration.k8s.io`.

use pintle_schema::{ApiType, View, names};
use pintle_types::meta::v1::{Condition, ConditionStatus, GroupResource};
use pintle_types::storagemigration::v1beta1::{
    StorageVersionMigration, StorageVersionMigrationSpec, StorageVersionMigrationStatus,
};
use pintle_validation::{At, CustomRule, ErrorKind, Group, KindRules, Pass, ValidationContext, at_field, pass};

/// The group's kind and its rules.
pub static GROUP: Group = Group { kinds: KINDS, custom_rules: RULES, ..Group::NONE };

static KINDS: &[KindRules] = &[KindRules {
    update: &[Pass::Metadata, Pass::Rules, Pass::MetadataUpdate, pass!(StorageVersionMigration, keeps_spec)],
    parts: &[(
        "status",
        &[
            Pass::MetadataUpdate,
            Pass::Field(StorageVersionMigration::STATUS.name()),
            pass!(StorageVersionMigration, goes_on),
        ],
    )],
    ..KindRules::of(StorageVersionMigration::schema)
}];

static RULES: &[CustomRule] = &[
    at_field!(StorageVersionMigrationSpec::RESOURCE, resource),
    at_field!(StorageVersionMigrationStatus::RESOURCE_VERSION, version),
    at_field!(StorageVersionMigrationStatus::CONDITIONS, crate::rules::condition::conditions),
];

/// A version that can be compared with others.
fn version(version: At<'_, String>, cx: &mut ValidationContext<'_>) {
    let text = version.new.as_str();
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit()) && !text.starts_with('0');
    if !text.is_empty() && !is_number {
        cx.errors.invalid(version.path, text, format!("resource version is not well formed: {text}"));
    }
}

/// A resource, by its name.
fn resource(resource: At<'_, GroupResource>, cx: &mut ValidationContext<'_>) {
    let path = resource.path.to(GroupResource::RESOURCE);
    let name = resource.new.field(GroupResource::RESOURCE).as_str();
    let messages = names::dns1035_label(name);
    if name.is_empty() {
        cx.errors.required(path, "resource is required to be set");
    } else if !messages.is_empty() {
        cx.errors.invalid(path, name, messages.join(","));
    }
    let group = resource.new.field(GroupResource::GROUP).as_str();
    let messages = names::dns1123_subdomain(group);
    if !group.is_empty() && !messages.is_empty() {
        cx.errors.invalid(resource.path.to(GroupResource::GROUP), group, messages.join(","));
    }
}

fn keeps_spec(migration: At<'_, StorageVersionMigration>, cx: &mut ValidationContext<'_>) {
    migration.field(StorageVersionMigration::SPEC, |spec| crate::rules::immutable(spec, cx));
}

fn is_true(status: View<'_, StorageVersionMigrationStatus>, kind: &str) -> bool {
    let mut conditions = status.field(StorageVersionMigrationStatus::CONDITIONS).iter();
    conditions.any(|condition| {
        condition.field(Condition::TYPE).as_str() == kind
            && condition.field(Condition::STATUS).get() == ConditionStatus::TRUE
    })
}

/// A migration ends in one way, once, and of the version that it began with.
fn goes_on(migration: At<'_, StorageVersionMigration>, cx: &mut ValidationContext<'_>) {
    type Status = StorageVersionMigrationStatus;
    let Some(old) = migration.old.map(|old| old.field(StorageVersionMigration::STATUS)) else { return };
    let new = migration.new.field(StorageVersionMigration::STATUS);
    let path = migration.path.to(StorageVersionMigration::STATUS);
    let version = old.field(Status::RESOURCE_VERSION).as_str();
    let now = new.field(Status::RESOURCE_VERSION);
    if !version.is_empty() && version != now.as_str() {
        cx.errors.immutable(path.to(Status::RESOURCE_VERSION), now.as_str());
    }
    let path = path.to(Status::CONDITIONS);
    let mut report = |detail: &str| {
        let value = new.field(Status::CONDITIONS).value().clone();
        cx.errors.push(ErrorKind::Invalid, path.to_string(), Some(value), detail);
    };
    if is_true(new, "Succeeded") && is_true(new, "Failed") {
        report("Both success and failed conditions cannot be true at the same time");
    }
    if is_true(old, "Succeeded") && !is_true(new, "Succeeded") {
        report("Success condition cannot be set to false once it is true");
    }
    if is_true(old, "Failed") && !is_true(new, "Failed") {
        report("Failed condition cannot be set to false once it is true");
    }
}
