use super::*;

const HEAD: &str = "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\n";
const GOOD: &str = "{issuer: {url: https://a, audiences: [a]}, claimMappings: {username: {claim: sub, prefix: ''}}}";

fn refused(rest: &str) -> String {
    parse(format!("{HEAD}{rest}\n").as_bytes(), &["https://own".to_owned()]).map(drop).expect_err("refused")
}

/// A configuration with one issuer: `GOOD` with one part replaced.
fn with(part: &str, other: &str) -> String {
    assert!(GOOD.contains(part));
    refused(&format!("jwt: [{}]", GOOD.replacen(part, other, 1)))
}

#[test]
fn good_files() {
    for version in ["v1", "v1beta1", "v1alpha1"] {
        let text = format!("{HEAD}jwt: [{GOOD}]\nanonymous: {{enabled: true, conditions: [{{path: /livez}}]}}\n");
        let text = text.replacen("/v1", &format!("/{version}"), 1);
        let read = parse(text.as_bytes(), &[]).expect("a configuration");
        assert_eq!((read.jwt.len(), read.anonymous.map(|it| it.conditions.len())), (1, Some(1)));
    }
    assert!(parse(HEAD.as_bytes(), &[]).expect("a configuration").jwt.is_empty());
}

#[test]
fn faults_of_issuers() {
    let rows = [
        (with("https://a", "''"), "jwt[0].issuer.url: Required value"),
        (with("https://a", "http://a"), "jwt[0].issuer.url: Invalid value: \"http://a\": URL scheme must be https"),
        (
            with("https://a", "https://own"),
            "jwt[0].issuer.url: Invalid value: \"https://own\": URL must not overlap with disallowed issuers: [https://own]",
        ),
        (
            with("https://a", "https://a, discoveryURL: https://a/"),
            "jwt[0].issuer.discoveryURL: Invalid value: \"https://a/\": discoveryURL must be different from URL",
        ),
        (
            with("[a]", "[]"),
            "jwt[0].issuer.audiences: Required value: at least one jwt[0].issuer.audiences is required",
        ),
        (
            with("[a]", "[a, b]"),
            "jwt[0].issuer.audienceMatchPolicy: Invalid value: \"\": audienceMatchPolicy must be MatchAny for multiple audiences",
        ),
        (
            with("[a]", "[a], certificateAuthority: x"),
            "jwt[0].issuer.certificateAuthority: Invalid value: \"<omitted>\": data does not contain any valid RSA or ECDSA \
             certificates",
        ),
        (
            with(
                "[a]",
                "[a], certificateAuthority: \"-----BEGIN CERTIFICATE-----\\nAAAA\\n-----END CERTIFICATE-----\\n\"",
            ),
            "jwt[0].issuer.certificateAuthority: Invalid value: \"<omitted>\": x509: malformed certificate",
        ),
        (
            with("https://a", "https://%zz"),
            "jwt[0].issuer.url: Invalid value: \"https://%zz\": parse \"https://%zz\": invalid URL escape \"%zz\"",
        ),
        (
            with(", prefix: ''", ""),
            "jwt[0].claimMappings.username.prefix: Required value: prefix is required when claim is set. \
             It can be set to an empty string to disable prefixing",
        ),
        (
            with("claim: sub, prefix: ''", ""),
            "jwt[0].claimMappings.username: Required value: claim or expression is required",
        ),
        (
            with("claim: sub, prefix: ''", "expression: claims.email"),
            "jwt[0].claimMappings.username.expression: Invalid value: \"claims.email\": claims.email_verified must be used in \
             claimMappings.username.expression or claimMappings.extra[*].valueExpression or \
             claimValidationRules[*].expression when claims.email is used in claimMappings.username.expression",
        ),
        (
            with("''}}", "''}, extra: [{key: k8s.io/A, valueExpression: '1'}]}"),
            "[jwt[0].claimMappings.extra[0].key: Invalid value: \"k8s.io/A\": must be lowercase, \
             jwt[0].claimMappings.extra[0].key: Invalid value: \"k8s.io/A\": k8s.io, kubernetes.io and their subdomains are \
             reserved for Kubernetes use]",
        ),
        (
            with("''}}", "''}}, claimValidationRules: [{claim: a, message: m}, {expression: '1'}]"),
            "[jwt[0].claimValidationRules[0].message: Invalid value: \"m\": may not be specified when claim is set, \
             jwt[0].claimValidationRules[1].expression: Invalid value: \"1\": must evaluate to bool]",
        ),
        (
            with("''}}", "''}}, userValidationRules: [{expression: 'true'}, {expression: 'true'}, {}]"),
            "[jwt[0].userValidationRules[1].expression: Duplicate value: \"true\", \
             jwt[0].userValidationRules[2].expression: Required value]",
        ),
        (refused(&format!("jwt: [{GOOD}, {GOOD}]")), "jwt[1].issuer.url: Duplicate value: \"https://a\""),
        (
            refused("anonymous: {conditions: [{path: /a}]}"),
            "anonymous.conditions: Invalid value: [{\"Path\":\"/a\"}]: enabled should be set to true when conditions are defined",
        ),
        (refused("jwts: []"), "strict decoding error: unknown field \"jwts\""),
    ];
    for (found, expected) in rows {
        assert_eq!(found, expected);
    }
    assert_eq!(parse(b"", &[]).map(drop).expect_err("refused"), "empty config data");
}
