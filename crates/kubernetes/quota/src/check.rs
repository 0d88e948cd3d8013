//! Checks a write against the quotas of its namespace, and computes their new usage. Guarantees kube-apiserver's order of
//! checks and its messages. Must never read anything but its arguments.

use crate::amounts::{merge, same_amounts, shown, without};
use crate::pods;
use crate::profile::Profile;
use crate::scopes;
use pintle_schema::{Quantity, View};
use pintle_types::config_resourcequota::v1::LimitedResource;
use pintle_types::core::v1::{ResourceList, ResourceQuota, ResourceQuotaStatus, ScopedResourceSelectorRequirement};
use pintle_types::meta::v1::ObjectMeta;
use std::collections::BTreeSet;

/// A quota as it limits writes.
#[derive(Clone, Debug, Default)]
pub struct Limit {
    pub name: String,
    /// The limits that are in effect, which the controller has confirmed.
    pub hard: ResourceList,
    pub used: ResourceList,
    pub(crate) scopes: Vec<ScopedResourceSelectorRequirement>,
}

impl Limit {
    /// A stored quota as it limits writes.
    pub fn of(quota: View<'_, ResourceQuota>) -> Self {
        let status = quota.field(ResourceQuota::STATUS);
        Limit {
            name: quota.field(ResourceQuota::METADATA).field(ObjectMeta::NAME).get(),
            hard: status.field(ResourceQuotaStatus::HARD).get(),
            used: status.field(ResourceQuotaStatus::USED).get(),
            scopes: scopes::requirements(&quota.field(ResourceQuota::SPEC).get()),
        }
    }
}

/// A write that may be charged.
pub struct Request<'a> {
    /// The object as it will be stored.
    pub object: &'a Profile,
    /// The stored object that it replaces.
    pub old: Option<&'a Profile>,
    /// A status may exceed a quota: it reports usage that has happened.
    pub is_status: bool,
    /// The configured limits of resources that must not be consumed without a quota.
    pub limited: &'a [LimitedResource],
    /// Group and plural name of the resource.
    pub resource: (&'a str, &'a str),
    /// Whether objects of the resource count for a name.
    pub counts_for: &'a dyn Fn(&str) -> bool,
}

/// Why a write does not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The write is forbidden.
    Forbidden(String),
    /// An internal error in kube-apiserver.
    Unexplained(String),
}

/// The new usage of each quota that a write changes, by the quota's position.
///
/// # Errors
/// The write exceeds a quota.
pub fn check<'a>(
    request: &Request<'_>,
    limits: impl IntoIterator<Item = &'a Limit>,
) -> Result<Vec<(usize, ResourceList)>, Refusal> {
    let limits: Vec<&Limit> = limits.into_iter().collect();
    let Request { object, old, .. } = *request;
    let must_cover = must_cover(request);
    let limited_scopes = object.scopes.met(request.limited.iter().flat_map(|limited| &limited.match_scopes));
    let (mut concerned, mut covered, mut scopes) = (Vec::new(), BTreeSet::new(), Vec::new());
    for (at, limit) in limits.iter().enumerate() {
        scopes.extend(object.scopes.met(&limit.scopes));
        let names: Vec<&str> =
            limit.hard.keys().map(String::as_str).filter(|name| (request.counts_for)(name)).collect();
        if names.is_empty() || !is_in(object, limit) {
            continue;
        }
        if let Some(why) = pods::unspecified(&object.containers, &names) {
            return forbidden(format!("failed quota: {}: {why}", limit.name));
        }
        if names.iter().any(|name| !limit.used.contains_key(*name)) {
            let (quota, names) = (&limit.name, names.join(","));
            return forbidden(format!("status unknown for quota: {quota}, resources: {names}"));
        }
        covered.extend(names);
        concerned.push(at);
    }
    let negative: Vec<&str> = names_that(&object.usage, |amount| amount.signum() < 0).collect();
    if !negative.is_empty() {
        return forbidden(format!("quota usage is negative for resource(s): {}", negative.join(",")));
    }
    let delta = old.map(|old| without(&object.usage, &old.usage));
    let charge_of = |at: usize| match (&delta, old) {
        // An object that an update moves into a quota's scopes counts as a whole.
        (Some(delta), Some(old)) if limits.get(at).is_some_and(|limit| is_in(old, limit)) => delta,
        _ => &object.usage,
    };
    let is_charged = |usage: &ResourceList| usage.values().any(|amount| !amount.is_zero());
    let charged = match concerned.is_empty() {
        true => is_charged(delta.as_ref().unwrap_or(&object.usage)),
        false => concerned.iter().any(|at| is_charged(charge_of(*at))),
    };
    if !charged {
        return Ok(Vec::new());
    }
    let uncovered: Vec<&str> = must_cover.into_iter().filter(|name| !covered.contains(name)).collect();
    if !uncovered.is_empty() {
        return forbidden(format!("insufficient quota to consume: {}", uncovered.join(",")));
    }
    let is_covered = |scope: &&ScopedResourceSelectorRequirement| {
        scopes.iter().any(|covered| covered.scope_name == scope.scope_name)
    };
    let uncovered: Vec<_> = limited_scopes.into_iter().filter(|scope| !is_covered(scope)).collect();
    if !uncovered.is_empty() {
        let why = format!("insufficient quota to match these scopes: {}", shown_scopes(&uncovered));
        return Err(Refusal::Unexplained(why));
    }
    let mut changes = Vec::new();
    for at in concerned {
        let Some(limit) = limits.get(at) else { continue };
        let charge = charge_of(at).iter().filter(|(name, amount)| !amount.is_zero() && limit.hard.contains_key(*name));
        let charge: ResourceList = charge.map(|(name, amount)| (name.clone(), amount.clone())).collect();
        let mut used = limit.used.clone();
        merge(&mut used, &charge);
        let exceeded = |name: &&String| used.get(*name) > limit.hard.get(*name);
        let exceeded: Vec<&String> = charge.keys().filter(exceeded).collect();
        if !exceeded.is_empty() && !request.is_status {
            let of = |list: &ResourceList| {
                shown(exceeded.iter().filter_map(|name| list.get(*name).map(|amount| (*name, amount))))
            };
            return forbidden(format!(
                "exceeded quota: {}, requested: {}, used: {}, limited: {}",
                limit.name,
                of(&charge),
                of(&limit.used),
                of(&limit.hard)
            ));
        }
        if !same_amounts(&used, &limit.used) {
            changes.push((at, used));
        }
    }
    Ok(changes)
}

fn forbidden<T>(why: String) -> Result<T, Refusal> {
    Err(Refusal::Forbidden(why))
}

fn is_in(object: &Profile, limit: &Limit) -> bool {
    limit.scopes.iter().all(|scope| object.scopes.are_in(scope))
}

/// The names that the object consumes and that the configuration allows under a quota only.
fn must_cover<'a>(request: &Request<'a>) -> BTreeSet<&'a str> {
    let (group, plural) = request.resource;
    let limited = request
        .limited
        .iter()
        .filter(|limited| (limited.api_group.as_str(), limited.resource.as_str()) == (group, plural));
    let parts: Vec<&String> = limited.flat_map(|limited| &limited.match_contains).collect();
    let usage: &'a ResourceList = &request.object.usage;
    let consumed = names_that(usage, |amount| amount.signum() > 0);
    consumed.filter(|name| parts.iter().any(|part| name.contains(part.as_str()))).collect()
}

fn names_that(usage: &ResourceList, holds: impl Fn(&Quantity) -> bool) -> impl Iterator<Item = &str> {
    usage.iter().filter(move |(_, amount)| holds(amount)).map(|(name, _)| name.as_str())
}

/// Scopes as kube-apiserver prints them.
fn shown_scopes(scopes: &[&ScopedResourceSelectorRequirement]) -> String {
    let shown = scopes.iter().map(|scope| {
        format!("{{{} {} [{}]}}", scope.scope_name.as_str(), scope.operator.as_str(), scope.values.join(" "))
    });
    format!("[{}]", shown.collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scopes::Scopes;

    fn list(amounts: &[(&str, &str)]) -> ResourceList {
        let amount = |(name, text): &(&str, &str)| ((*name).to_owned(), Quantity::parse(text).expect("a quantity"));
        amounts.iter().map(amount).collect()
    }

    fn limit(hard: &[(&str, &str)], used: &[(&str, &str)]) -> Limit {
        Limit { name: "q".to_owned(), hard: list(hard), used: list(used), scopes: Vec::new() }
    }

    fn pod(usage: &[(&str, &str)], terminating: bool) -> Profile {
        let scopes = Scopes::Pod {
            terminating,
            best_effort: false,
            priority_class: "high".to_owned(),
            cross_namespace_affinity: false,
        };
        Profile { usage: list(usage), scopes, containers: Vec::new() }
    }

    fn outcome(object: &Profile, old: Option<&Profile>, limits: &[Limit], limited: &[LimitedResource]) -> String {
        let counts_for = |name: &str| ["pods", "cpu"].contains(&name);
        let request =
            Request { object, old, is_status: false, limited, resource: ("", "pods"), counts_for: &counts_for };
        match check(&request, limits) {
            Ok(changes) => {
                let changes = changes.iter().map(|(at, used)| format!("{at}: {}", shown(used)));
                changes.collect::<Vec<_>>().join("; ")
            }
            Err(Refusal::Forbidden(why) | Refusal::Unexplained(why)) => why,
        }
    }

    #[test]
    fn requests_within_quota_are_charged() {
        let object = pod(&[("pods", "1"), ("cpu", "500m")], false);
        let limits = [
            limit(&[("pods", "2")], &[("pods", "1")]),
            limit(&[("secrets", "2")], &[("secrets", "1")]),
            limit(&[("cpu", "1"), ("pods", "9")], &[("cpu", "600m"), ("pods", "0")]),
        ];
        assert_eq!(outcome(&object, None, &limits[..2], &[]), "0: pods=2");
        let exceeded = "exceeded quota: q, requested: cpu=500m, used: cpu=600m, limited: cpu=1";
        assert_eq!(outcome(&object, None, &limits, &[]), exceeded);
        assert_eq!(outcome(&pod(&[("pods", "1")], false), None, &limits, &[]), "0: pods=2; 2: cpu=600m,pods=1");
    }

    #[test]
    fn an_update_is_charged_with_the_difference() {
        let (small, large) = (pod(&[("pods", "1"), ("cpu", "1")], false), pod(&[("pods", "1"), ("cpu", "3")], false));
        let limits = [limit(&[("pods", "1"), ("cpu", "3")], &[("pods", "1"), ("cpu", "1")])];
        assert_eq!(outcome(&large, Some(&small), &limits, &[]), "0: cpu=3,pods=1");
        assert_eq!(outcome(&small, Some(&large), &limits, &[]), "", "what is freed is the controller's to count");
        let ending = pod(&[("pods", "1"), ("cpu", "1")], true);
        let scoped = Limit { scopes: vec![scope("Terminating", "Exists", &[])], ..limits[0].clone() };
        let exceeded = "exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1";
        assert_eq!(outcome(&ending, Some(&small), &[scoped], &[]), exceeded, "it comes into the scope");
    }

    fn scope(name: &str, operator: &str, values: &[&str]) -> ScopedResourceSelectorRequirement {
        ScopedResourceSelectorRequirement {
            scope_name: name.into(),
            operator: operator.into(),
            values: values.iter().map(|value| (*value).to_owned()).collect(),
        }
    }

    #[test]
    fn a_quota_without_usage_refuses() {
        let object = pod(&[("pods", "1")], false);
        let limits = [limit(&[("pods", "1"), ("cpu", "1")], &[("pods", "0")])];
        assert_eq!(outcome(&object, None, &limits, &[]), "status unknown for quota: q, resources: cpu,pods");
        let negative = pod(&[("cpu", "-1")], false);
        assert_eq!(outcome(&negative, None, &[], &[]), "quota usage is negative for resource(s): cpu");
    }

    #[test]
    fn limited_resources_need_a_quota() {
        let limited = |contains: &[&str], scopes: Vec<ScopedResourceSelectorRequirement>| LimitedResource {
            resource: "pods".to_owned(),
            match_contains: contains.iter().map(|part| (*part).to_owned()).collect(),
            match_scopes: scopes,
            ..LimitedResource::default()
        };
        let object = pod(&[("pods", "1"), ("cpu", "1")], false);
        let by_name = [limited(&["cp"], Vec::new())];
        assert_eq!(outcome(&object, None, &[], &by_name), "insufficient quota to consume: cpu");
        let limits = [limit(&[("cpu", "9")], &[("cpu", "0")])];
        assert_eq!(outcome(&object, None, &limits, &by_name), "0: cpu=1");
        let by_scope = [limited(&[], vec![scope("PriorityClass", "In", &["high", "low"])])];
        let uncovered = "insufficient quota to match these scopes: [{PriorityClass In [high low]}]";
        assert_eq!(outcome(&object, None, &[], &by_scope), uncovered);
        let covering = Limit { scopes: vec![scope("PriorityClass", "Exists", &[])], ..limits[0].clone() };
        assert_eq!(outcome(&object, None, &[covering], &by_scope), "0: cpu=1");
    }
}
