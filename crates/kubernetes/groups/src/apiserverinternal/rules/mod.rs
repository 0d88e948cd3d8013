//! Handwritten rules of the group `internal.apiserver.k8s.io`.

use crate::rules::{invalid_each, items};
use pintle_schema::{ApiType, Value, View, names};
use pintle_types::apiserverinternal::v1alpha1::{
    ServerStorageVersion, StorageVersion, StorageVersionCondition, StorageVersionStatus,
};
use pintle_types::meta::v1::ObjectMeta;
use pintle_validation::{
    At, CustomRule, FieldPath, Group, KindRules, Pass, ValidationContext, at_field, at_type, pass,
};

/// The group's kind and its rules.
pub static GROUP: Group = Group { kinds: KINDS, custom_rules: RULES, ..Group::NONE };

static KINDS: &[KindRules] = &[KindRules {
    create: &[pass!(StorageVersion, name), Pass::Metadata, Pass::Rules],
    update: &[],
    parts: &[("status", &[Pass::Field(StorageVersion::STATUS.name())])],
    of: StorageVersion::schema,
}];

static RULES: &[CustomRule] = &[
    at_type!(ServerStorageVersion, versions, phase = After),
    at_field!(StorageVersionStatus::COMMON_ENCODING_VERSION, common_version, ALWAYS),
    at_type!(StorageVersionStatus, conditions, phase = After),
];

/// The name consists of group and resource.
fn name(version: At<'_, StorageVersion>, cx: &mut ValidationContext<'_>) {
    let metadata = version.new.field(StorageVersion::METADATA);
    let path = version.path.to(StorageVersion::METADATA);
    for field in [ObjectMeta::GENERATE_NAME, ObjectMeta::NAME] {
        let text = metadata.field(field).as_str();
        let messages = match text.rsplit_once('.') {
            _ if text.is_empty() => Vec::new(),
            None => vec!["name must be in the form of <group>.<resource>".to_owned()],
            Some((group, resource)) => {
                let of_group =
                    names::dns1123_subdomain(group).into_iter().map(|fault| format!("the group segment {fault}"));
                let of_resource =
                    names::dns1035_label(resource).into_iter().map(|fault| format!("the resource segment {fault}"));
                of_group.chain(of_resource).collect()
            }
        };
        invalid_each(text, messages, &path.to(field), cx);
    }
}

/// Why a text is not a version with an optional group.
fn version_faults(text: &str) -> Vec<String> {
    let prefixed =
        |part: &str, faults: Vec<String>| faults.into_iter().map(|fault| format!("{part} part: {fault}")).collect();
    let empty = |part: &str| vec![format!("{part} part: must be non-empty")];
    let (mut faults, version): (Vec<String>, &str) = match text.split_once('/') {
        Some((_, rest)) if rest.contains('/') => {
            let detail = "an apiVersion is a DNS-1035 label, which must consist of lower case alphanumeric characters or \
                          '-', start with an alphabetic character, and end with an alphanumeric character (e.g. \
                          'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?') with an \
                          optional DNS subdomain prefix and '/' (e.g. 'example.com/MyVersion')";
            return vec![detail.to_owned()];
        }
        Some(("", version)) => (empty("group"), version),
        Some((group, version)) => (prefixed("group", names::dns1123_subdomain(group)), version),
        None => (Vec::new(), text),
    };
    faults.extend(match version {
        "" => empty("version"),
        version => prefixed("version", names::dns1035_label(version)),
    });
    faults
}

fn validate_version(text: &str, path: &FieldPath<'_>, cx: &mut ValidationContext<'_>) {
    let faults = version_faults(text);
    if !faults.is_empty() {
        cx.errors.invalid(path, text, faults.join(","));
    }
}

/// A server can decode the version that it encodes, and those that it serves.
fn versions(server: At<'_, ServerStorageVersion>, cx: &mut ValidationContext<'_>) {
    type Server = ServerStorageVersion;
    let encoding = server.new.field(Server::ENCODING_VERSION).as_str();
    validate_version(encoding, &server.path.to(Server::ENCODING_VERSION), cx);
    let decodable = server.new.field(Server::DECODABLE_VERSIONS);
    let path = server.path.to(Server::DECODABLE_VERSIONS);
    for (at, version) in decodable.iter().enumerate() {
        validate_version(version.as_str(), &path.index(at), cx);
    }
    let reads = |wanted: &str| decodable.iter().any(|version| version.as_str() == wanted);
    if !reads(encoding) {
        let detail = format!("decodableVersions must include encodingVersion {encoding}");
        cx.errors.invalid(path, decodable.value().clone(), detail);
    }
    let path = server.path.to(Server::SERVED_VERSIONS);
    for (at, version) in server.new.field(Server::SERVED_VERSIONS).iter().enumerate() {
        let version = version.as_str();
        validate_version(version, &path.index(at), cx);
        if !reads(version) {
            let all: Vec<&str> = decodable.iter().map(View::as_str).collect();
            let all = all.join(" ");
            let detail =
                format!("individual served version : {version} must be included in decodableVersions : [{all}]");
            cx.errors.invalid(path.index(at), version, detail);
        }
    }
}

/// The version that all servers write, if they agree.
fn common_version(common: At<'_, Option<String>>, cx: &mut ValidationContext<'_>) {
    let status = cx.root::<StorageVersion>().field(StorageVersion::STATUS);
    let mut written = status
        .field(StorageVersionStatus::STORAGE_VERSIONS)
        .iter()
        .map(|server| server.field(ServerStorageVersion::ENCODING_VERSION).as_str());
    let first = written.next();
    let agreed = first.filter(|first| written.all(|other| other == *first));
    match (agreed, common.new.some().map(|common| common.as_str())) {
        (None, Some(given)) => {
            let detail = "should be nil if servers do not agree on the same encoding version, or if there is no server \
                          reporting the supported versions yet";
            cx.errors.invalid(common.path, given, detail);
        }
        (Some(agreed), None) => {
            cx.errors.invalid(common.path, Value::Null, format!("the common encoding version is {agreed}"));
        }
        (Some(agreed), Some(given)) if agreed != given => {
            cx.errors.invalid(common.path, given, format!("the actual common encoding version is {agreed}"));
        }
        _ => {}
    }
}

/// kube-apiserver reports conditions as if the status were their list.
fn conditions(status: At<'_, StorageVersionStatus>, cx: &mut ValidationContext<'_>) {
    type Of = StorageVersionCondition;
    let conditions = status.new.field(StorageVersionStatus::CONDITIONS);
    let kind = |condition: &Value| condition.str_at(&[Of::TYPE.name()]).to_owned();
    for (at, condition) in conditions.iter().enumerate() {
        let path = status.path.index(at);
        let own = kind(condition.value());
        if let Some(earlier) = items(conditions).iter().take(at).position(|other| kind(other) == own) {
            let detail = format!("the type of the condition is not unique, it also appears in conditions[{earlier}]");
            cx.errors.invalid(path.to(Of::TYPE), own.as_str(), detail);
        }
        invalid_each(&own, names::label_key(&own), &path.to(Of::TYPE), cx);
        let state = condition.value().str_at(&[Of::STATUS.name()]);
        invalid_each(state, names::label_key(state), &path.to(Of::STATUS), cx);
        for field in [Of::REASON, Of::MESSAGE] {
            if condition.field(field).as_str().is_empty() {
                cx.errors.required(path.to(field), "");
            }
        }
    }
}
