use super::*;
use crate::Returns;
use pintle_codec::{Strictness, json};

fn over_claims(text: &str) -> Expression {
    Expression::over_claims(text, Returns::Anything).expect("an expression")
}

fn by_name() -> Mapping {
    let of = |claim: &str, prefix: &str| PrefixedClaim { claim: claim.into(), prefix: prefix.into() };
    Mapping {
        username: ClaimOrExpression::Claim(of("email", "u:")),
        groups: Some(ClaimOrExpression::Claim(of("groups", "g:"))),
        uid: Some(ClaimOrExpression::Claim("uid".into())),
        extra: Vec::new(),
        required_claims: vec![("hd".into(), "example.com".into())],
        claim_rules: Vec::new(),
        user_rules: Vec::new(),
    }
}

fn by_expression() -> Mapping {
    let rule = |expression: Expression| Rule { expression, message: "refused".into() };
    Mapping {
        username: ClaimOrExpression::Expression(over_claims("claims.name")),
        groups: Some(ClaimOrExpression::Expression(over_claims("claims.?roles.orValue('').split(',')"))),
        uid: Some(ClaimOrExpression::Expression(over_claims("has(claims.id) ? string(int(claims.id)) : ''"))),
        extra: vec![("example.com/deep".into(), over_claims("claims.?a__dot__b.c__dash__d.orValue(null)"))],
        required_claims: Vec::new(),
        claim_rules: vec![rule(Expression::over_claims("!has(claims.bad)", Returns::Bool).expect("an expression"))],
        user_rules: vec![rule(Expression::over_user("!user.username.startsWith('x')").expect("an expression"))],
    }
}

fn shown(mapping: &Mapping, claims: &str) -> Result<String, String> {
    let claims = json::parse(claims.as_bytes(), Strictness::Ignore).expect("JSON").value;
    mapping.user(&claims).map(|user| format!("{} {} {:?} {:?}", user.name, user.uid, user.groups, user.extra))
}

#[test]
fn claims_by_name() {
    let rows = [
        (r#"{"email": "j", "uid": "1", "hd": "example.com", "groups": ["a", "b"]}"#, Ok(r#"u:j 1 ["g:a", "g:b"] []"#)),
        (r#"{"email": "j", "uid": "1", "hd": "example.com", "groups": "a"}"#, Ok(r#"u:j 1 ["g:a"] []"#)),
        (
            r#"{"email": "", "uid": "", "hd": "example.com", "jti": "7"}"#,
            Ok(r#"u:  [] [("authentication.kubernetes.io/credential-id", ["JTI=7"])]"#),
        ),
        (r#"{"uid": "1"}"#, Err("oidc: parse username claims \"email\": claim not present")),
        (
            r#"{"email": 5}"#,
            Err("oidc: parse username claims \"email\": json: cannot unmarshal number into Go value of type string"),
        ),
        (r#"{"email": "j", "email_verified": false}"#, Err("oidc: email not verified")),
        (
            r#"{"email": "j", "email_verified": "yes"}"#,
            Err("oidc: parse 'email_verified' claim: json: cannot unmarshal string into Go value of type bool"),
        ),
        (
            r#"{"email": "j", "groups": [1]}"#,
            Err("oidc: parse groups claim \"groups\": json: cannot unmarshal array into Go value of type string"),
        ),
        (r#"{"email": "j"}"#, Err("oidc: parse uid claim \"uid\": claim not present")),
        (r#"{"email": "j", "uid": ""}"#, Err("oidc: required claim hd not present in ID token")),
        (
            r#"{"email": "j", "uid": "", "hd": "x"}"#,
            Err("oidc: required claim hd value does not match. Got = x, want = example.com"),
        ),
    ];
    for (claims, expected) in rows {
        let expected = expected.map(str::to_owned).map_err(str::to_owned);
        assert_eq!(shown(&by_name(), claims), expected, "{claims}");
    }
}

#[test]
fn claims_by_expression() {
    let rows = [
        (r#"{"name": "j", "roles": "a,,b", "id": 5}"#, Ok(r#"j 5 ["a", "b"] []"#)),
        (r#"{"name": "j", "a.b": {"c-d": ["x", ""]}}"#, Ok(r#"j  [] [("example.com/deep", ["x"])]"#)),
        (r#"{"name": ""}"#, Err("oidc: empty username via CEL expression is not allowed")),
        (
            r#"{"name": 5}"#,
            Err("oidc: error evaluating username claim expression: username claim expression must return a string"),
        ),
        (
            r#"{}"#,
            Err(
                "oidc: error evaluating username claim expression: expression 'claims.name' resulted in error: no such \
                 key: name",
            ),
        ),
        (
            r#"{"name": "j", "a.b": {"c-d": 1}}"#,
            Err(
                "oidc: error evaluating extra claim expression: claims.?a__dot__b.c__dash__d.orValue(null): expression \
                 must return a string or a list of strings",
            ),
        ),
        (
            r#"{"name": "j", "bad": 1}"#,
            Err(
                "oidc: error evaluating claim validation expression: validation expression '!has(claims.bad)' failed: \
                 refused",
            ),
        ),
        (
            r#"{"name": "xj"}"#,
            Err("oidc: error evaluating user info validation rule: validation expression \
                 '!user.username.startsWith('x')' failed: refused"),
        ),
    ];
    for (claims, expected) in rows {
        let expected = expected.map(str::to_owned).map_err(str::to_owned);
        assert_eq!(shown(&by_expression(), claims), expected, "{claims}");
    }
}

#[test]
fn expressions_are_checked() {
    let error = |text: &str| Expression::over_claims(text, Returns::Bool).expect_err("refused").to_string();
    assert_eq!(error("1 + 1"), "must evaluate to bool");
    assert!(
        error("claims.").starts_with("compilation failed: ERROR: <input>:1:8: Syntax error"),
        "{}",
        error("claims.")
    );
    assert!(error("nothing == 1").contains("undeclared reference to 'nothing'"));
    let reads = |text: &str| {
        let expression = over_claims(text);
        [expression.reads_email(), expression.reads_email_verified()]
    };
    assert_eq!(reads("claims.email"), [true, false]);
    assert_eq!(reads("claims.?email_verified.orValue(true) ? claims['email'] : ''"), [false, true]);
    assert_eq!(reads("[1].map(x, has(claims.email_verified))"), [false, true]);
}
