//! `RequestFacts`: the variable `request`, an AdmissionRequest without its objects. Guarantees that empty fields are absent
//! where kube-apiserver omits them.

use pintle_auth::UserInfo;
use pintle_schema::{Map, Value};

/// A request, as expressions read it. Kinds and resources are group, version and name.
#[derive(Clone, Copy, Debug)]
pub struct RequestFacts<'a> {
    /// The version that rules matched, which may be another than the client's.
    pub kind: [&'a str; 3],
    pub resource: [&'a str; 3],
    /// The client's.
    pub request_kind: [&'a str; 3],
    pub request_resource: [&'a str; 3],
    pub subresource: &'a str,
    /// Empty before a name is generated.
    pub name: &'a str,
    pub namespace: &'a str,
    pub operation: &'a str,
    pub user: &'a UserInfo,
    pub dry_run: bool,
    /// The options object, such as `CreateOptions`; null for connections.
    pub options: Option<&'a Value>,
}

impl RequestFacts<'_> {
    /// The request as data. Its user is as reviews have it.
    pub fn to_value(&self) -> Value {
        let mut request = Map::new();
        // A review's, which has no part here.
        request.set("uid", "");
        request.set("object", Value::Null);
        request.set("oldObject", Value::Null);
        request.set("kind", named(self.kind, "kind"));
        request.set("resource", named(self.resource, "resource"));
        request.set("requestKind", named(self.request_kind, "kind"));
        request.set("requestResource", named(self.request_resource, "resource"));
        for (field, text) in [
            ("subResource", self.subresource),
            ("requestSubResource", self.subresource),
            ("name", self.name),
            ("namespace", self.namespace),
        ] {
            if !text.is_empty() {
                request.set(field, text);
            }
        }
        request.set("operation", self.operation);
        request.set("userInfo", user_info(self.user));
        request.set("dryRun", self.dry_run);
        // Connections have none, which is null.
        request.set("options", self.options.cloned().unwrap_or(Value::Null));
        Value::Map(request)
    }
}

fn named([group, version, name]: [&str; 3], field: &'static str) -> Value {
    let mut named = Map::new();
    named.set("group", group);
    named.set("version", version);
    named.set(field, name);
    Value::Map(named)
}

/// A user as `authentication.k8s.io/v1` has it.
fn user_info(user: &UserInfo) -> Value {
    let texts = |texts: &[pintle_auth::Str]| Value::List(texts.iter().map(|text| Value::from(text.as_str())).collect());
    let mut info = Map::new();
    for (field, text) in [("username", &user.name), ("uid", &user.uid)] {
        if !text.is_empty() {
            info.set(field, text.as_str());
        }
    }
    if !user.groups.is_empty() {
        info.set("groups", texts(&user.groups));
    }
    if !user.extra.is_empty() {
        let mut extra = Map::new();
        for (key, values) in &user.extra {
            extra.set(key.as_str(), texts(values));
        }
        info.set("extra", Value::Map(extra));
    }
    Value::Map(info)
}
