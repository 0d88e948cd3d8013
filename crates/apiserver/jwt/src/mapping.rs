//! Maps claims to a user: by the names of claims or by expressions, and the rules that both must satisfy. Guarantees
//! kube-apiserver's order of steps, which decides which error is reported. Must never invent a value: a mapped claim of the
//! wrong type rejects the token.

use pintle_auth::{CREDENTIAL_ID_KEY, Str, UserInfo};
use pintle_cel::Value as CelValue;
use pintle_schema::names::quoted;
use pintle_schema::{Map, Value};

use crate::claims;
use crate::expression::{Expression, Rule, claims_value, user_value};

/// How claims become a user.
#[derive(Clone, Debug)]
pub struct Mapping {
    pub username: UsernameFrom,
    pub groups: Option<ClaimOrExpression<PrefixedClaim>>,
    pub uid: Option<ClaimOrExpression<Str>>,
    /// Expressions by the keys of extra values, in the order of evaluation.
    pub extra: Vec<(Str, Expression)>,
    /// Claims that a token must have, with their values.
    pub required_claims: Vec<(Str, Str)>,
    pub claim_rules: Vec<Rule>,
    pub user_rules: Vec<Rule>,
}

/// The source of the user name.
pub type UsernameFrom = ClaimOrExpression<PrefixedClaim>;

/// A claim by its name, or an expression.
#[derive(Clone, Debug)]
pub enum ClaimOrExpression<C> {
    Claim(C),
    Expression(Expression),
}

/// A claim and the prefix of its value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PrefixedClaim {
    pub claim: Str,
    pub prefix: Str,
}

impl PrefixedClaim {
    fn prefixed(&self, text: &str) -> Str {
        if self.prefix.is_empty() { Str::new(text) } else { Str::from(format!("{}{text}", self.prefix)) }
    }
}

const NOT_PRESENT: &str = "claim not present";

impl Mapping {
    /// The groups claim, which may be distributed.
    pub(crate) fn groups_claim(&self) -> Option<&str> {
        match &self.groups {
            Some(ClaimOrExpression::Claim(of)) => Some(&of.claim),
            _ => None,
        }
    }

    fn has_expressions(&self) -> bool {
        matches!(self.username, ClaimOrExpression::Expression(_))
            || matches!(self.groups, Some(ClaimOrExpression::Expression(_)))
            || matches!(self.uid, Some(ClaimOrExpression::Expression(_)))
            || !self.extra.is_empty()
            || !self.claim_rules.is_empty()
    }

    /// The user of verified claims.
    ///
    /// # Errors
    /// A claim has the wrong type, an expression has no value or the wrong one, or a rule is not satisfied.
    pub fn user(&self, payload: &Value) -> Result<UserInfo, String> {
        let none = Map::new();
        let claims = payload.as_map().unwrap_or(&none);
        let value = if self.has_expressions() { claims_value(payload) } else { CelValue::Null };
        let mut user = UserInfo {
            name: self.username(claims, &value)?,
            groups: self.groups(claims, &value)?,
            uid: self.uid(claims, &value)?,
            extra: self.extra(claims, &value)?,
        };
        user.extra.sort();
        self.check_required(claims)?;
        satisfied(&self.claim_rules, &value)
            .map_err(|why| format!("oidc: error evaluating claim validation expression: {why}"))?;
        if !self.user_rules.is_empty() {
            let why = satisfied(&self.user_rules, &user_value(&user));
            why.map_err(|why| format!("oidc: error evaluating user info validation rule: {why}"))?;
        }
        Ok(user)
    }

    fn username(&self, claims: &Map, value: &CelValue<'static>) -> Result<Str, String> {
        let of = match &self.username {
            ClaimOrExpression::Claim(of) => of,
            ClaimOrExpression::Expression(expression) => {
                let failed = |why: &str| format!("oidc: error evaluating username claim expression: {why}");
                let name = expression.evaluate(value).map_err(|why| failed(&why))?;
                let name = name.as_str().ok_or_else(|| failed("username claim expression must return a string"))?;
                if name.is_empty() {
                    return Err("oidc: empty username via CEL expression is not allowed".to_owned());
                }
                return Ok(name.into());
            }
        };
        let name = claims.get(&of.claim).ok_or_else(|| NOT_PRESENT.to_owned()).and_then(claims::text);
        let name = name.map_err(|why| format!("oidc: parse username claims {}: {why}", quoted(&of.claim)))?;
        if of.claim == "email"
            && let Some(verified) = claims.get("email_verified")
        {
            let verified = claims::boolean(verified);
            let verified = verified.map_err(|why| format!("oidc: parse 'email_verified' claim: {why}"))?;
            if !verified {
                return Err("oidc: email not verified".to_owned());
            }
        }
        Ok(of.prefixed(name))
    }

    fn groups(&self, claims: &Map, value: &CelValue<'static>) -> Result<Vec<Str>, String> {
        match &self.groups {
            None => Ok(Vec::new()),
            Some(ClaimOrExpression::Claim(of)) => {
                let Some(groups) = claims.get(&of.claim) else { return Ok(Vec::new()) };
                let groups = claims::strings(groups);
                let groups = groups.map_err(|why| format!("oidc: parse groups claim {}: {why}", quoted(&of.claim)))?;
                Ok(groups.iter().map(|group| of.prefixed(group)).collect())
            }
            Some(ClaimOrExpression::Expression(expression)) => {
                let groups = expression.evaluate(value).and_then(|groups| string_list(&groups));
                groups.map_err(|why| format!("oidc: error evaluating group claim expression: {why}"))
            }
        }
    }

    fn uid(&self, claims: &Map, value: &CelValue<'static>) -> Result<Str, String> {
        match &self.uid {
            None => Ok(Str::default()),
            Some(ClaimOrExpression::Claim(name)) => {
                let uid = claims.get(name).ok_or_else(|| NOT_PRESENT.to_owned()).and_then(claims::text);
                uid.map(Str::from).map_err(|why| format!("oidc: parse uid claim {}: {why}", quoted(name)))
            }
            Some(ClaimOrExpression::Expression(expression)) => {
                let failed = |why: &str| format!("oidc: error evaluating uid claim expression: {why}");
                let uid = expression.evaluate(value).map_err(|why| failed(&why))?;
                uid.as_str().map(Str::from).ok_or_else(|| failed("uid claim expression must return a string"))
            }
        }
    }

    fn extra(&self, claims: &Map, value: &CelValue<'static>) -> Result<Vec<(Str, Vec<Str>)>, String> {
        let mut extra = Vec::new();
        let id = claims.get("jti").and_then(|id| claims::text(id).ok()).filter(|id| !id.is_empty());
        extra.extend(id.map(|id| (Str::new_static(CREDENTIAL_ID_KEY), vec![Str::from(format!("JTI={id}"))])));
        for (key, expression) in &self.extra {
            let values = string_list(&expression.evaluate(value)?);
            let failed = |why| format!("oidc: error evaluating extra claim expression: {}: {why}", expression.text());
            let values = values.map_err(failed)?;
            if !values.is_empty() {
                extra.push((key.clone(), values));
            }
        }
        Ok(extra)
    }

    fn check_required(&self, claims: &Map) -> Result<(), String> {
        for (name, required) in &self.required_claims {
            let found =
                claims.get(name).ok_or_else(|| format!("oidc: required claim {name} not present in ID token"))?;
            let found = claims::text(found).map_err(|why| format!("oidc: parse claim {name}: {why}"))?;
            if found != required {
                return Err(format!(
                    "oidc: required claim {name} value does not match. Got = {found}, want = {required}"
                ));
            }
        }
        Ok(())
    }
}

/// Whether all rules are satisfied. All are evaluated before the first result is checked, as in kube-apiserver.
fn satisfied(rules: &[Rule], value: &CelValue<'static>) -> Result<(), String> {
    let results: Result<Vec<_>, String> = rules.iter().map(|rule| rule.expression.evaluate(value)).collect();
    for (rule, result) in rules.iter().zip(results?) {
        match result {
            CelValue::Bool(true) => {}
            CelValue::Bool(false) => {
                return Err(format!("validation expression '{}' failed: {}", rule.expression.text(), rule.message));
            }
            _ => return Err("validation expression must return a boolean".to_owned()),
        }
    }
    Ok(())
}

/// A text, or a list of texts; empty texts count as absent.
fn string_list(value: &CelValue<'_>) -> Result<Vec<Str>, String> {
    let wrong = || "expression must return a string or a list of strings".to_owned();
    let mut list = Vec::new();
    match value {
        CelValue::Null => {}
        CelValue::String(text) => list.push(Str::from(text.as_str())),
        CelValue::List(items) => {
            for item in items.iter() {
                let item = item.map_err(|error| error.to_string())?;
                list.push(Str::from(item.as_str().ok_or_else(wrong)?));
            }
        }
        _ => return Err(wrong()),
    }
    list.retain(|text| !text.is_empty());
    Ok(list)
}

#[cfg(test)]
#[path = "mapping_tests.rs"]
mod tests;
