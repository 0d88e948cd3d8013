//! The claims of a service account token, to and from JSON. Guarantees kube-apiserver's names and
//! form, so that clients of its tokens can read these. Must never validate: whether a claim still
//! holds depends on the objects.

use pintle_schema::{Value, value};

use pintle_auth::Str;

/// An object that a token names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObjectRef {
    /// Its name.
    pub name: Str,
    /// Its uid; empty for a node that a pod names and that does not exist.
    pub uid: Str,
}

/// The claims of a token. Times are seconds since 1970.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Claims {
    /// `iss`.
    pub issuer: Str,
    /// `aud`; old tokens have none.
    pub audiences: Vec<Str>,
    /// `exp`.
    pub expires: Option<i64>,
    /// `iat`.
    pub issued: Option<i64>,
    /// `nbf`.
    pub not_before: Option<i64>,
    /// `jti`.
    pub id: Str,
    /// `sub`: the user's name.
    pub subject: Str,
    /// The account's namespace, and that of the pod or secret.
    pub namespace: Str,
    /// The account.
    pub service_account: ObjectRef,
    /// The pod that the token is bound to.
    pub pod: Option<ObjectRef>,
    /// The secret that the token is bound to.
    pub secret: Option<ObjectRef>,
    /// The node of the pod; without a pod the node that the token is bound to.
    pub node: Option<ObjectRef>,
    /// The time after which the token should have been replaced.
    pub warn_after: Option<i64>,
}

/// The claim with everything that is specific to Kubernetes.
const PRIVATE: &str = "kubernetes.io";

impl Claims {
    pub(super) fn to_value(&self) -> Value {
        let reference = |object: &ObjectRef| match object.uid.is_empty() {
            true => value!({"name": (object.name.clone())}),
            false => value!({"name": (object.name.clone()), "uid": (object.uid.clone())}),
        };
        let mut private = Value::map();
        private.set_at(&["namespace"], self.namespace.clone());
        for (name, object) in [("node", &self.node), ("pod", &self.pod), ("secret", &self.secret)] {
            if let Some(object) = object {
                private.set_at(&[name], reference(object));
            }
        }
        private.set_at(&["serviceaccount"], reference(&self.service_account));
        if let Some(time) = self.warn_after {
            private.set_at(&["warnafter"], time);
        }
        let mut claims = Value::map();
        let audiences = self.audiences.iter().map(|audience| Value::from(audience.clone())).collect();
        claims.set_at(&["aud"], Value::List(audiences));
        for (name, time) in [("exp", self.expires), ("iat", self.issued)] {
            if let Some(time) = time {
                claims.set_at(&[name], time);
            }
        }
        claims.set_at(&["iss"], self.issuer.clone());
        claims.set_at(&["jti"], self.id.clone());
        claims.set_at(&[PRIVATE], private);
        if let Some(time) = self.not_before {
            claims.set_at(&["nbf"], time);
        }
        claims.set_at(&["sub"], self.subject.clone());
        claims
    }

    /// `None` when a claim has the wrong form.
    pub(super) fn from_value(value: &Value) -> Option<Claims> {
        let object = |name| match value.at(&[PRIVATE, name]) {
            None | Some(Value::Null) => Some(None),
            Some(object) => {
                let name = text(object.get("name"))?;
                Some(Some(ObjectRef { name, uid: text(object.get("uid"))? }))
            }
        };
        value.as_map()?;
        Some(Claims {
            issuer: text(value.get("iss"))?,
            audiences: audiences(value)?,
            expires: time(value.get("exp"))?,
            issued: time(value.get("iat"))?,
            not_before: time(value.get("nbf"))?,
            id: text(value.get("jti"))?,
            subject: text(value.get("sub"))?,
            namespace: text(value.at(&[PRIVATE, "namespace"]))?,
            service_account: object("serviceaccount")?.unwrap_or_default(),
            pod: object("pod")?,
            secret: object("secret")?,
            node: object("node")?,
            warn_after: time(value.at(&[PRIVATE, "warnafter"]))?,
        })
    }
}

/// Whether a payload has the claim that only bound tokens have.
pub(super) fn is_bound(payload: &Value) -> bool {
    payload.get(PRIVATE).is_some()
}

/// The audiences of a payload: a list, a single text, or none.
pub(super) fn audiences(payload: &Value) -> Option<Vec<Str>> {
    match payload.get("aud") {
        Some(Value::List(items)) => items.iter().map(|item| text(Some(item))).collect(),
        None | Some(Value::Null) => Some(Vec::new()),
        one => Some(vec![text(one)?]),
    }
}

/// The text of a claim, empty when there is none.
pub(super) fn text(value: Option<&Value>) -> Option<Str> {
    match value {
        None | Some(Value::Null) => Some(Str::default()),
        Some(Value::String(text)) => Some(text.clone()),
        Some(_) => None,
    }
}

/// The time of a claim. Fractions of seconds, which other signers may give, are dropped.
fn time(value: Option<&Value>) -> Option<Option<i64>> {
    match value {
        None | Some(Value::Null) => Some(None),
        Some(Value::Int(seconds)) => Some(Some(*seconds)),
        Some(Value::Float(seconds)) if seconds.is_finite() => Some(Some(*seconds as i64)),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_codec::{Strictness, json};

    fn parse(text: &str) -> Option<Claims> {
        Claims::from_value(&json::parse(text.as_bytes(), Strictness::Ignore).expect("JSON").value)
    }

    #[test]
    fn claims_are_written_as_the_reference_writes_them_and_read_back() {
        let text = r#"{"aud":["a"],"exp":3,"iat":1,"iss":"i","jti":"j","kubernetes.io":{"namespace":"n","node":{"name":"m"},"pod":{"name":"p","uid":"q"},"serviceaccount":{"name":"s","uid":"u"},"warnafter":2},"nbf":1,"sub":"system:serviceaccount:n:s"}"#;
        let claims = parse(text).expect("claims");
        assert_eq!(claims.node, Some(ObjectRef { name: "m".into(), uid: Str::default() }));
        assert_eq!(json::to_string(&claims.to_value()), text);
    }

    #[test]
    fn forms_of_claims() {
        assert_eq!(parse(r#"{"aud":"a"}"#).map(|claims| claims.audiences), Some(vec!["a".into()]));
        assert_eq!(parse(r#"{"exp":1.5e9}"#).map(|claims| claims.expires), Some(Some(1_500_000_000)));
        for wrong in
            ["[]", r#"{"exp":"1"}"#, r#"{"aud":[1]}"#, r#"{"iss":1}"#, r#"{"kubernetes.io":{"pod":{"name":1}}}"#]
        {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }
}
