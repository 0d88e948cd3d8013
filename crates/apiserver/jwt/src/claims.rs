//! The registered claims of a token, with the types that they must have, and other claims by their names. Guarantees
//! kube-apiserver's texts for claims of the wrong type. Must never treat a claim of the wrong type as absent.

use pintle_schema::compat::cannot_unmarshal as wrong_type;
use pintle_schema::{Str, Value};

/// The claims that every token is checked by.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Registered {
    pub audiences: Vec<Str>,
    /// Seconds since 1970; absent is long ago.
    pub expires: Option<i64>,
    pub not_before: Option<i64>,
}

impl Registered {
    /// The claims of a token's payload.
    ///
    /// # Errors
    /// One of them has the wrong type.
    pub fn of(payload: &Value) -> Result<Registered, String> {
        let Some(claims) = payload.as_map() else {
            return match payload {
                Value::Null => Ok(Registered::default()),
                other => Err(wrong_type(other, "Go value", "oidc.idToken")),
            };
        };
        for name in ["iss", "sub", "nonce", "at_hash"] {
            match claims.get(name) {
                None | Some(Value::Null | Value::String(_)) => {}
                Some(other) => return Err(wrong_type(other, &format!("Go struct field idToken.{name}"), "string")),
            }
        }
        for (name, expected) in
            [("_claim_names", "map[string]string"), ("_claim_sources", "map[string]oidc.claimSource")]
        {
            match claims.get(name) {
                None | Some(Value::Null | Value::Map(_)) => {}
                Some(other) => return Err(wrong_type(other, &format!("Go struct field idToken.{name}"), expected)),
            }
        }
        let time = |name: &str| claims.get(name).map_or(Ok(None), |claim| seconds(claim, name));
        let audiences = claims.get("aud").map_or(Ok(Vec::new()), audiences)?;
        let expires = time("exp")?;
        time("iat")?;
        // The only time that may be null.
        let not_before =
            claims.get("nbf").filter(|claim| !claim.is_null()).map_or(Ok(None), |claim| seconds(claim, "nbf"))?;
        Ok(Registered { audiences, expires, not_before })
    }
}

/// One audience or several.
fn audiences(claim: &Value) -> Result<Vec<Str>, String> {
    match claim {
        Value::Null => Ok(vec![Str::default()]),
        Value::String(one) => Ok(vec![one.clone()]),
        Value::List(items) => items
            .iter()
            .map(|item| match item {
                Value::Null => Ok(Str::default()),
                Value::String(text) => Ok(text.clone()),
                other => Err(wrong_type(other, "Go struct field idToken.aud", "string")),
            })
            .collect(),
        other => Err(wrong_type(other, "Go struct field idToken.aud", "[]string")),
    }
}

/// A text or a list of texts, as the claim of groups may be.
///
/// # Errors
/// It is something else.
pub(crate) fn strings(claim: &Value) -> Result<Vec<Str>, String> {
    let of_list = |items: &[Value]| items.iter().map(|item| text(item).map(Str::from)).collect::<Result<_, _>>().ok();
    match claim {
        Value::Null => Ok(Vec::new()),
        Value::String(one) => Ok(vec![one.clone()]),
        Value::List(items) => of_list(items).ok_or_else(|| wrong_type(claim, "Go value", "string")),
        other => Err(wrong_type(other, "Go value", "string")),
    }
}

/// A claim that must be text; null is empty, as Go decodes it.
///
/// # Errors
/// It is something else.
pub(crate) fn text(claim: &Value) -> Result<&str, String> {
    match claim {
        Value::Null => Ok(""),
        Value::String(text) => Ok(text),
        other => Err(wrong_type(other, "Go value", "string")),
    }
}

/// A claim that must be a truth value.
///
/// # Errors
/// It is something else.
pub(crate) fn boolean(claim: &Value) -> Result<bool, String> {
    match claim {
        Value::Null => Ok(false),
        Value::Bool(value) => Ok(*value),
        other => Err(wrong_type(other, "Go value", "bool")),
    }
}

/// A time: a number, or a text that is one.
fn seconds(claim: &Value, name: &str) -> Result<Option<i64>, String> {
    match claim {
        Value::Null => Err("strconv.ParseFloat: parsing \"\": invalid syntax".to_owned()),
        Value::Int(seconds) => Ok(Some(*seconds)),
        Value::Float(seconds) => Ok(Some(whole_seconds(*seconds))),
        Value::String(text) => match (text.parse::<i64>(), text.parse::<f64>()) {
            (Ok(seconds), _) => Ok(Some(seconds)),
            (_, Ok(seconds)) if seconds.is_finite() => Ok(Some(whole_seconds(seconds))),
            _ => Err(format!(
                "json: invalid number literal, trying to unmarshal {} into Number",
                pintle_schema::names::quoted(&pintle_schema::names::quoted(text).to_string())
            )),
        },
        other => Err(wrong_type(other, &format!("Go struct field idToken.{name}"), "json.Number")),
    }
}

/// The bound of the numbers that fit into 64 bits.
const TOO_LARGE: f64 = 9_223_372_036_854_775_808.0;

/// A time without its fraction; one that is too large is [`NO_TIME`], as Go converts it.
fn whole_seconds(seconds: f64) -> i64 {
    if seconds.abs() < TOO_LARGE { seconds as i64 } else { NO_TIME }
}

/// The time of a number that does not fit: long ago.
pub(crate) const NO_TIME: i64 = i64::MIN;

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_codec::{Strictness, json};

    #[test]
    fn registered_claims_have_their_types() {
        type Row = (&'static str, Result<(&'static [&'static str], Option<i64>), &'static str>);
        let rows: [Row; 14] = [
            (r#"{}"#, Ok((&[], None))),
            (r#"{"aud": "a", "exp": 5}"#, Ok((&["a"], Some(5)))),
            (r#"{"aud": ["a", "b"], "exp": 5.9}"#, Ok((&["a", "b"], Some(5)))),
            (r#"{"exp": "6"}"#, Ok((&[], Some(6)))),
            (r#"{"exp": 99999999999999999999}"#, Ok((&[], Some(NO_TIME)))),
            (r#"{"exp": "1e300"}"#, Ok((&[], Some(NO_TIME)))),
            (
                r#"{"exp": "soon"}"#,
                Err("json: invalid number literal, trying to unmarshal \"\\\"soon\\\"\" into Number"),
            ),
            (
                r#"{"exp": []}"#,
                Err("json: cannot unmarshal array into Go struct field idToken.exp of type json.Number"),
            ),
            (
                r#"{"iat": {}}"#,
                Err("json: cannot unmarshal object into Go struct field idToken.iat of type json.Number"),
            ),
            (r#"{"sub": 7}"#, Err("json: cannot unmarshal number into Go struct field idToken.sub of type string")),
            (r#"{"aud": [1]}"#, Err("json: cannot unmarshal number into Go struct field idToken.aud of type string")),
            (r#"{"aud": 1}"#, Err("json: cannot unmarshal number into Go struct field idToken.aud of type []string")),
            (
                r#"{"_claim_names": "x"}"#,
                Err(
                    "json: cannot unmarshal string into Go struct field idToken._claim_names of type map[string]string",
                ),
            ),
            (r#"[]"#, Err("json: cannot unmarshal array into Go value of type oidc.idToken")),
        ];
        for (payload, expected) in rows {
            let payload = json::parse(payload.as_bytes(), Strictness::Ignore).expect("JSON").value;
            let found = Registered::of(&payload);
            let found = found.as_ref().map(|claims| (claims.audiences.clone(), claims.expires)).map_err(String::as_str);
            let expected = expected.map(|(audiences, time)| (audiences.iter().map(Str::new).collect(), time));
            assert_eq!(found, expected, "{payload:?}");
        }
    }
}
