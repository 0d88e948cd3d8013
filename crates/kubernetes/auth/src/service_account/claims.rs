//! The claims of a service account token, to and from JSON. Guarantees kube-apiserver's names and
//! form, so that clients of its tokens can read these. Must never validate: whether a claim still
//! holds depends on the objects.

use pintle_auth::Str;
use pintle_auth::authentication::wrong_type;
use pintle_schema::{Value, value};

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

impl ObjectRef {
    /// The bytes that the reference takes on the heap, at most.
    pub(super) fn heap_bytes(&self) -> usize {
        self.name.len() + self.uid.len()
    }
}

impl Claims {
    /// The bytes that the claims take on the heap, at most.
    pub(super) fn heap_bytes(&self) -> usize {
        let texts = [&self.issuer, &self.id, &self.subject, &self.namespace];
        let objects = [Some(&self.service_account), self.pod.as_ref(), self.secret.as_ref(), self.node.as_ref()];
        size_of_val(self)
            + texts.iter().map(|text| text.len()).sum::<usize>()
            + objects.into_iter().flatten().map(ObjectRef::heap_bytes).sum::<usize>()
            + pintle_auth::heap_bytes(&self.audiences)
    }

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
        if !self.id.is_empty() {
            claims.set_at(&["jti"], self.id.clone());
        }
        claims.set_at(&[PRIVATE], private);
        if let Some(time) = self.not_before {
            claims.set_at(&["nbf"], time);
        }
        claims.set_at(&["sub"], self.subject.clone());
        claims
    }

    /// # Errors
    /// A claim has the wrong form.
    pub(super) fn from_value(value: &Value) -> Result<Claims, String> {
        let object = |name| match value.at(&[PRIVATE, name]) {
            None | Some(Value::Null) => Ok(None),
            Some(object @ Value::Map(_)) => {
                let name = text(object.get("name"))?;
                Ok(Some(ObjectRef { name, uid: text(object.get("uid"))? }))
            }
            Some(other) => Err(wrong_type(other, "serviceaccount.ref")),
        };
        if value.as_map().is_none() {
            return Err(wrong_type(value, "jwt.Claims"));
        }
        let public = Claims {
            issuer: text(value.get("iss"))?,
            audiences: audiences(value)?,
            expires: time(value.get("exp"))?,
            issued: time(value.get("iat"))?,
            not_before: time(value.get("nbf"))?,
            id: text(value.get("jti"))?,
            subject: text(value.get("sub"))?,
            ..Claims::default()
        };
        if let Some(private) = value.get(PRIVATE)
            && !matches!(private, Value::Map(_) | Value::Null)
        {
            return Err(wrong_type(private, "serviceaccount.kubernetes"));
        }
        Ok(Claims {
            namespace: text(value.at(&[PRIVATE, "namespace"]))?,
            service_account: object("serviceaccount")?.unwrap_or_default(),
            pod: object("pod")?,
            secret: object("secret")?,
            node: object("node")?,
            warn_after: time(value.at(&[PRIVATE, "warnafter"]))?,
            ..public
        })
    }
}

/// Whether a payload has the claim that only bound tokens have.
pub(super) fn is_bound(payload: &Value) -> bool {
    payload.get(PRIVATE).is_some()
}

/// The audiences of a payload: a list of texts, a single text, or none, but no null.
pub(super) fn audiences(payload: &Value) -> Result<Vec<Str>, String> {
    let one = |value: &Value| match value {
        Value::String(text) => Ok(text.clone()),
        _ => Err("go-jose/go-jose/jwt: expected string or array value to unmarshal to Audience".to_owned()),
    };
    match payload.get("aud") {
        None => Ok(Vec::new()),
        Some(Value::List(items)) => items.iter().map(one).collect(),
        Some(value) => Ok(vec![one(value)?]),
    }
}

/// The text of a claim, empty when there is none.
pub(super) fn text(value: Option<&Value>) -> Result<Str, String> {
    match value {
        None | Some(Value::Null) => Ok(Str::default()),
        Some(Value::String(text)) => Ok(text.clone()),
        Some(other) => Err(wrong_type(other, "string")),
    }
}

/// The bound of the numbers that fit into 64 bits.
const TOO_LARGE: f64 = 9_223_372_036_854_775_808.0;

/// The time of a claim. Fractions of seconds, which other signers may give, are dropped; a number that is too large is long ago, as
/// it is for Go.
fn time(value: Option<&Value>) -> Result<Option<i64>, String> {
    match value {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Int(seconds)) => Ok(Some(*seconds)),
        Some(Value::Float(seconds)) if seconds.abs() < TOO_LARGE => Ok(Some(*seconds as i64)),
        Some(Value::Float(_)) => Ok(Some(i64::MIN)),
        Some(_) => Err("go-jose/go-jose/jwt: expected number value to unmarshal NumericDate".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_codec::{Strictness, json};

    fn parse(text: &str) -> Result<Claims, String> {
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
        assert_eq!(parse(r#"{"aud":"a"}"#).map(|claims| claims.audiences), Ok(vec!["a".into()]));
        for (number, seconds) in [("1.5e9", 1_500_000_000), ("1e30", i64::MIN), ("-1e30", i64::MIN)] {
            assert_eq!(parse(&format!(r#"{{"exp":{number}}}"#)).map(|claims| claims.expires), Ok(Some(seconds)));
        }
        let no_text = "json: cannot unmarshal number into Go value of type string";
        let rows = [
            ("[]", "json: cannot unmarshal array into Go value of type jwt.Claims"),
            (r#"{"exp":"1"}"#, "go-jose/go-jose/jwt: expected number value to unmarshal NumericDate"),
            (r#"{"aud":[1]}"#, "go-jose/go-jose/jwt: expected string or array value to unmarshal to Audience"),
            (r#"{"aud":null}"#, "go-jose/go-jose/jwt: expected string or array value to unmarshal to Audience"),
            (r#"{"iss":1}"#, no_text),
            (r#"{"kubernetes.io":1}"#, "json: cannot unmarshal number into Go value of type serviceaccount.kubernetes"),
            (
                r#"{"kubernetes.io":{"pod":[]}}"#,
                "json: cannot unmarshal array into Go value of type serviceaccount.ref",
            ),
            (r#"{"kubernetes.io":{"pod":{"name":1}}}"#, no_text),
        ];
        for (text, error) in rows {
            assert_eq!(parse(text), Err(error.to_owned()), "{text}");
        }
    }
}
