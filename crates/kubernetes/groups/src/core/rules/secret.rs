//! Rules of Secret and ServiceAccount: the keys that a secret's type demands, and what cannot change.

use pintle_codec::{Strictness, json};
use pintle_schema::{ApiType, Bytes, Map, Value, View};
use pintle_types::core::v1::{Secret, SecretType, ServiceAccount};
use pintle_types::meta::v1::ObjectMeta;
use pintle_validation::{
    At, CustomRule, FieldPath, Group, KindRules, Pass, ValidationContext, at_field, at_type, pass,
};
use std::collections::BTreeMap;

/// The rules of secrets and of the accounts that have them.
pub static GROUP: Group = Group { kinds: KINDS, custom_rules: RULES, ..Group::NONE };

static KINDS: &[KindRules] = &[
    KindRules {
        update: &[Pass::MetadataUpdate, pass!(Secret, keeps_type), Pass::Metadata, Pass::Rules],
        ..KindRules::of(Secret::schema)
    },
    KindRules { update: &[Pass::MetadataUpdate, Pass::Metadata, Pass::Rules], ..KindRules::of(ServiceAccount::schema) },
];

static RULES: &[CustomRule] = &[at_field!(Secret::DATA, data), at_type!(Secret, keys_of_type, phase = After)];

/// The limit on the size of all values, in bytes.
const MAX_BYTES: usize = 1 << 20;

/// The annotation of a token that names its account.
const ACCOUNT: &str = "kubernetes.io/service-account.name";

/// The type stays; one that is marked immutable stays as it is, mark included.
pub fn keeps_type(secret: At<'_, Secret>, cx: &mut ValidationContext<'_>) {
    let Some(old) = secret.old else { return };
    let (new_type, old_type) = (secret.new.field(Secret::TYPE).value(), old.field(Secret::TYPE).value());
    if new_type != old_type {
        cx.errors.immutable(secret.path.to(Secret::TYPE), new_type.clone());
    }
    super::config_map::stays(secret, &[Secret::DATA.name()], cx);
}

/// All values together have a bound.
pub fn data(data: At<'_, BTreeMap<String, Bytes>>, cx: &mut ValidationContext<'_>) {
    let mut total = 0;
    for value in data.new.value().as_map().into_iter().flat_map(Map::values) {
        total += super::config_map::decoded_len(value.as_str().unwrap_or_default());
    }
    if total > MAX_BYTES {
        cx.errors.too_long(data.path, MAX_BYTES);
    }
}

/// Each type has required keys.
pub fn keys_of_type(secret: At<'_, Secret>, cx: &mut ValidationContext<'_>) {
    let data = secret.new.field(Secret::DATA).value();
    let path = secret.path.to(Secret::DATA);
    let kind = secret.new.field(Secret::TYPE).value().as_str().unwrap_or_default();
    let has = |key: &str| data.get(key).is_some();
    let mut require = |key: &str, is_there: bool| {
        if !is_there {
            cx.errors.required(path.key(key), "");
        }
    };
    if kind == SecretType::SERVICE_ACCOUNT_TOKEN.as_str() {
        let metadata = secret.new.field(Secret::METADATA);
        if metadata.field(ObjectMeta::ANNOTATIONS).value().str_at(&[ACCOUNT]).is_empty() {
            let path = secret.path.to(Secret::METADATA);
            cx.errors.required(path.to(ObjectMeta::ANNOTATIONS).key(ACCOUNT), "");
        }
    } else if kind == SecretType::DOCKERCFG.as_str() {
        require(".dockercfg", has(".dockercfg"));
        credentials(data, ".dockercfg", &path, cx);
    } else if kind == SecretType::DOCKER_CONFIG_JSON.as_str() {
        require(".dockerconfigjson", has(".dockerconfigjson"));
        credentials(data, ".dockerconfigjson", &path, cx);
    } else if kind == SecretType::TLS.as_str() {
        require("tls.crt", has("tls.crt"));
        require("tls.key", has("tls.key"));
    } else if kind == SecretType::BASIC_AUTH.as_str() {
        let either = has("username") || has("password");
        require("username", either);
        require("password", either);
    } else if kind == SecretType::SSH_AUTH.as_str() {
        require("ssh-privatekey", !data.str_at(&["ssh-privatekey"]).is_empty());
    }
}

/// Credentials for registries are a JSON object. Errors do not show it.
fn credentials(data: &Value, key: &str, data_path: &FieldPath<'_>, cx: &mut ValidationContext<'_>) {
    let path = data_path.key(key);
    let Some(text) = data.get(key) else { return };
    let Bytes(text) = View::<Bytes>::new(text).get();
    let wrong = match json::parse(&text, Strictness::Ignore).map(|read| read.value) {
        Ok(Value::Map(_) | Value::Null) => return,
        Ok(other) => {
            let kind = other.json_kind();
            format!("json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}")
        }
        Err(error) => error.to_string(),
    };
    cx.errors.invalid(path, "<secret contents redacted>", wrong);
}
