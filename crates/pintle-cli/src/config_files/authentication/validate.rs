//! The rules of an authentication configuration, with kube-apiserver's order and messages; expressions are compiled at
//! the same time. Guarantees that a valid issuer can be started. Must never write a certificate authority into a
//! message.

use pintle_auth::Str;
use pintle_auth::authentication::public_key;
use pintle_jwt::{
    Algorithm, ClaimOrExpression, Expression, ExpressionError, Issuer, Mapping, PrefixedClaim, Returns, Rule,
};
use pintle_schema::names::{self, Fault};
use pintle_schema::{Value, value};
use pintle_types::config_apiserver::v1 as config;
use pintle_validation::ErrorList;
use pintle_validation::webhook_client::Url;
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;

const MAX_ISSUERS: usize = 64;
const MATCH_ANY: &str = "MatchAny";
const EGRESS: [&str; 2] = ["controlplane", "cluster"];

/// Validates a configuration; `disallowed` are the issuers of this server's own tokens.
pub fn configuration(configuration: &config::AuthenticationConfiguration, disallowed: &[String]) -> ErrorList {
    let mut errors = ErrorList::default();
    let issuers = &configuration.jwt;
    if issuers.len() > MAX_ISSUERS {
        errors.too_many("jwt", issuers.len(), MAX_ISSUERS);
        return errors;
    }
    for (at, authenticator) in issuers.iter().enumerate() {
        let path = format!("jwt[{at}]");
        issuer(authenticator, &path, disallowed, &mut errors);
        let before = &issuers[..at];
        let issuer = &authenticator.issuer;
        if before.iter().any(|other| other.issuer.url == issuer.url) {
            errors.duplicate(format!("{path}.issuer.url"), issuer.url.as_str());
        }
        let discovery_url = issuer.discovery_url.as_deref().filter(|url| !url.is_empty());
        if let Some(url) = discovery_url
            && before.iter().any(|other| other.issuer.discovery_url.as_deref() == Some(url))
        {
            errors.duplicate(format!("{path}.issuer.discoveryURL"), url);
        }
    }
    if let Some(anonymous) = &configuration.anonymous
        && !anonymous.enabled
        && !anonymous.conditions.is_empty()
    {
        let conditions = anonymous.conditions.iter().map(|condition| value!({"Path": (condition.path.as_str())}));
        let conditions = Value::List(conditions.collect());
        errors.invalid("anonymous.conditions", conditions, "enabled should be set to true when conditions are defined");
    }
    errors
}

/// Compiles an issuer; `None` if it is invalid.
pub fn issuer(
    authenticator: &config::JWTAuthenticator,
    path: &str,
    disallowed: &[String],
    errors: &mut ErrorList,
) -> Option<Issuer> {
    let before = errors.0.len();
    check_issuer(&authenticator.issuer, &format!("{path}.issuer"), disallowed, errors);
    let mut reads = EmailClaims::default();
    let rules =
        claim_rules(&authenticator.claim_validation_rules, &format!("{path}.claimValidationRules"), &mut reads, errors);
    let mapped = mappings(&authenticator.claim_mappings, &format!("{path}.claimMappings"), &mut reads, errors);
    let user_rules = user_rules(&authenticator.user_validation_rules, &format!("{path}.userValidationRules"), errors);
    let (username, groups, uid, extra) = mapped?;
    if errors.0.len() > before {
        return None;
    }
    let required = authenticator.claim_validation_rules.iter().filter(|rule| !rule.claim.is_empty());
    let required_claims = required.map(|rule| (Str::from(&rule.claim), Str::from(&rule.required_value))).collect();
    let issuer = &authenticator.issuer;
    Some(Issuer {
        url: issuer.url.as_str().into(),
        discovery_url: issuer.discovery_url.clone().filter(|url| !url.is_empty()),
        audiences: issuer.audiences.iter().map(Str::from).collect(),
        algorithms: Algorithm::ALL.to_vec(),
        mapping: Mapping { username, groups, uid, extra, required_claims, claim_rules: rules, user_rules },
    })
}

fn check_issuer(issuer: &config::Issuer, path: &str, disallowed: &[String], errors: &mut ErrorList) {
    let url_path = format!("{path}.url");
    match issuer.url.as_str() {
        "" => errors.required(url_path, ""),
        url => check_url(url, &url_path, disallowed, errors),
    }
    if let Some(discovery_url) = issuer.discovery_url.as_deref().filter(|url| !url.is_empty()) {
        let path = format!("{path}.discoveryURL");
        if !issuer.url.is_empty() && issuer.url.trim_end_matches('/') == discovery_url.trim_end_matches('/') {
            errors.invalid(&path, discovery_url, "discoveryURL must be different from URL");
        }
        check_url(discovery_url, &path, &[], errors);
    }
    check_audiences(issuer, path, errors);
    if !issuer.certificate_authority.is_empty() {
        let blocks = CertificateDer::pem_slice_iter(issuer.certificate_authority.as_bytes());
        let certificates: Vec<CertificateDer<'_>> = blocks.filter_map(Result::ok).collect();
        let detail = match &certificates[..] {
            [] => Some("data does not contain any valid RSA or ECDSA certificates"),
            all if all.iter().any(|certificate| public_key(certificate).is_none()) => {
                Some("x509: malformed certificate")
            }
            _ => None,
        };
        if let Some(detail) = detail {
            errors.invalid(format!("{path}.certificateAuthority"), "<omitted>", detail);
        }
    }
    let egress = issuer.egress_selector_type.as_str();
    if !egress.is_empty() {
        let path = format!("{path}.egressSelectorType");
        let detail = match EGRESS.contains(&egress) {
            true => "egress selectors are not supported by this server",
            false => "egress selector must be either controlplane or cluster",
        };
        errors.invalid(path, egress, detail);
    }
}

/// Reports an issuer that is one of this server's own.
pub fn check_allowed(url: &str, path: &str, disallowed: &[String], errors: &mut ErrorList) {
    if disallowed.iter().any(|issuer| issuer == url) {
        let mut sorted: Vec<&str> = disallowed.iter().map(String::as_str).collect();
        sorted.sort_unstable();
        let detail = format!("URL must not overlap with disallowed issuers: [{}]", sorted.join(" "));
        errors.invalid(path, url, detail);
    }
}

fn check_url(text: &str, path: &str, disallowed: &[String], errors: &mut ErrorList) {
    check_allowed(text, path, disallowed, errors);
    if let Err(why) = pintle_cel::library::url::check(text) {
        return errors.invalid(path, text, why);
    }
    let url = Url::of(text);
    let faults = [
        (url.scheme != "https", "URL scheme must be https"),
        (!url.user.is_empty(), "URL must not contain a username or password"),
        (!url.query.is_empty(), "URL must not contain a query"),
        (!url.fragment.is_empty(), "URL must not contain a fragment"),
    ];
    faults.into_iter().filter(|(is_wrong, _)| *is_wrong).for_each(|(_, detail)| errors.invalid(path, text, detail));
}

fn check_audiences(issuer: &config::Issuer, path: &str, errors: &mut ErrorList) {
    let (audiences, policy) = (&issuer.audiences, issuer.audience_match_policy.as_str());
    let at = format!("{path}.audiences");
    if audiences.is_empty() {
        errors.required(&at, format!("at least one {at} is required"));
        return;
    }
    for (index, audience) in audiences.iter().enumerate() {
        if audience.is_empty() {
            errors.required(format!("{at}[{index}]"), "");
        }
        if audiences[..index].contains(audience) {
            errors.duplicate(format!("{at}[{index}]"), audience.as_str());
        }
    }
    let at = format!("{path}.audienceMatchPolicy");
    if audiences.len() > 1 && policy != MATCH_ANY {
        errors.invalid(at, policy, "audienceMatchPolicy must be MatchAny for multiple audiences");
    } else if audiences.len() == 1 && !["", MATCH_ANY].contains(&policy) {
        errors.invalid(at, policy, "audienceMatchPolicy must be empty or MatchAny for single audience");
    }
}

/// The claims about e-mail that the expressions read.
#[derive(Default)]
struct EmailClaims {
    email: bool,
    verified: bool,
}

const BOTH: &str = "claim and expression can't both be set";
const NEITHER: &str = "claim or expression is required";

/// Compiles an expression, and reports the error if it fails.
fn compiled(
    result: Result<Expression, ExpressionError>,
    text: &str,
    path: String,
    errors: &mut ErrorList,
) -> Option<Expression> {
    result.map_err(|error| errors.invalid(path, text, error.to_string())).ok()
}

fn claim_rules(
    rules: &[config::ClaimValidationRule],
    path: &str,
    reads: &mut EmailClaims,
    errors: &mut ErrorList,
) -> Vec<Rule> {
    let mut compiled_rules = Vec::new();
    for (at, rule) in rules.iter().enumerate() {
        let (path, before) = (format!("{path}[{at}]"), &rules[..at]);
        match (rule.claim.as_str(), rule.expression.as_str()) {
            ("", "") => errors.required(path, NEITHER),
            (claim, "") => {
                if !rule.message.is_empty() {
                    let detail = "may not be specified when claim is set";
                    errors.invalid(format!("{path}.message"), rule.message.as_str(), detail);
                }
                if before.iter().any(|other| other.claim == claim && other.expression.is_empty()) {
                    errors.duplicate(format!("{path}.claim"), claim);
                }
            }
            ("", text) => {
                if !rule.required_value.is_empty() {
                    let detail = "may not be specified when expression is set";
                    errors.invalid(format!("{path}.requiredValue"), rule.required_value.as_str(), detail);
                }
                if before.iter().any(|other| other.expression == text && other.claim.is_empty()) {
                    errors.duplicate(format!("{path}.expression"), text);
                    continue;
                }
                let expression = Expression::over_claims(text, Returns::Bool);
                if let Some(expression) = compiled(expression, text, format!("{path}.expression"), errors) {
                    reads.verified |= expression.reads_email_verified();
                    compiled_rules.push(Rule { expression, message: rule.message.as_str().into() });
                }
            }
            (claim, _) => errors.invalid(path, claim, BOTH),
        }
    }
    compiled_rules
}

type Mapped = (
    ClaimOrExpression<PrefixedClaim>,
    Option<ClaimOrExpression<PrefixedClaim>>,
    Option<ClaimOrExpression<Str>>,
    Vec<(Str, Expression)>,
);

fn mappings(
    mappings: &config::ClaimMappings,
    path: &str,
    reads: &mut EmailClaims,
    errors: &mut ErrorList,
) -> Option<Mapped> {
    let username = prefixed(&mappings.username, &format!("{path}.username"), true, errors);
    if let Some(ClaimOrExpression::Expression(expression)) = &username {
        reads.email |= expression.reads_email();
        reads.verified |= expression.reads_email_verified();
    }
    let groups = prefixed(&mappings.groups, &format!("{path}.groups"), false, errors);
    let uid = match (mappings.uid.claim.as_str(), mappings.uid.expression.as_str()) {
        ("", "") => None,
        (claim, "") => Some(ClaimOrExpression::Claim(claim.into())),
        ("", text) => {
            let expression = Expression::over_claims(text, Returns::Anything);
            compiled(expression, text, format!("{path}.uid.expression"), errors).map(ClaimOrExpression::Expression)
        }
        _ => {
            errors.invalid(format!("{path}.uid"), "", BOTH);
            None
        }
    };
    let extra = extra(&mappings.extra, path, errors);
    reads.verified |= extra.iter().any(|(_, expression)| expression.reads_email_verified());
    if reads.email && !reads.verified {
        let detail = "claims.email_verified must be used in claimMappings.username.expression or \
                      claimMappings.extra[*].valueExpression or claimValidationRules[*].expression when claims.email is used \
                      in claimMappings.username.expression";
        errors.invalid(format!("{path}.username.expression"), mappings.username.expression.as_str(), detail);
    }
    Some((username?, groups, uid, extra))
}

fn prefixed(
    mapping: &config::PrefixedClaimOrExpression,
    path: &str,
    is_required: bool,
    errors: &mut ErrorList,
) -> Option<ClaimOrExpression<PrefixedClaim>> {
    match (mapping.claim.as_str(), mapping.expression.as_str(), &mapping.prefix) {
        ("", "", _) if is_required => errors.required(path, NEITHER),
        ("", "", _) => {}
        ("", text, prefix) => {
            if let Some(prefix) = prefix {
                let detail = "may not be specified when expression is set";
                errors.invalid(format!("{path}.prefix"), prefix.as_str(), detail);
            }
            let expression = Expression::over_claims(text, Returns::Anything);
            let expression = compiled(expression, text, format!("{path}.expression"), errors);
            return expression.map(ClaimOrExpression::Expression);
        }
        (claim, "", Some(prefix)) => {
            let (claim, prefix) = (claim.into(), prefix.as_str().into());
            return Some(ClaimOrExpression::Claim(PrefixedClaim { claim, prefix }));
        }
        (_, "", None) => {
            let detail = "prefix is required when claim is set. It can be set to an empty string to disable prefixing";
            errors.required(format!("{path}.prefix"), detail);
        }
        _ => errors.invalid(path, "", BOTH),
    }
    None
}

fn extra(mappings: &[config::ExtraMapping], path: &str, errors: &mut ErrorList) -> Vec<(Str, Expression)> {
    let mut extra = Vec::new();
    for (at, mapping) in mappings.iter().enumerate() {
        let (path, key) = (format!("{path}.extra[{at}]"), mapping.key.as_str());
        let key_path = format!("{path}.key");
        for fault in names::domain_prefixed_path(key) {
            match fault {
                Fault::Required => errors.required(&key_path, ""),
                Fault::Invalid { value, detail } => errors.invalid(&key_path, value, detail),
            }
        }
        if key != key.to_lowercase() {
            errors.invalid(&key_path, key, "must be lowercase");
        }
        let domain = key.split_once('/').map_or("", |(domain, _)| domain);
        let is_within = |reserved: &str| domain == reserved || domain.ends_with(&format!(".{reserved}"));
        if is_within("kubernetes.io") || is_within("k8s.io") {
            let detail = "k8s.io, kubernetes.io and their subdomains are reserved for Kubernetes use";
            errors.invalid(&key_path, key, detail);
        }
        if mappings[..at].iter().any(|other| other.key == key) {
            errors.duplicate(&key_path, key);
            continue;
        }
        let text = mapping.value_expression.as_str();
        let path = format!("{path}.valueExpression");
        if text.is_empty() {
            errors.required(path, "");
            continue;
        }
        let expression = compiled(Expression::over_claims(text, Returns::Anything), text, path, errors);
        extra.extend(expression.map(|expression| (Str::from(key), expression)));
    }
    extra
}

fn user_rules(rules: &[config::UserValidationRule], path: &str, errors: &mut ErrorList) -> Vec<Rule> {
    let mut compiled_rules = Vec::new();
    for (at, rule) in rules.iter().enumerate() {
        let (path, text) = (format!("{path}[{at}].expression"), rule.expression.as_str());
        if text.is_empty() {
            errors.required(path, "");
        } else if rules[..at].iter().any(|other| other.expression == text) {
            errors.duplicate(path, text);
        } else if let Some(expression) = compiled(Expression::over_user(text), text, path, errors) {
            compiled_rules.push(Rule { expression, message: rule.message.as_str().into() });
        }
    }
    compiled_rules
}
