//! Impersonation: the mode in which a user may act as another one, and the resulting user.
//!
//! Guarantees that the name, the uid, every group and every extra value were each authorized, and that a constrained mode never
//! grants `system:masters`. Must never read a header, nor grant more than requested.

use crate::authorization::{Attributes, Authorizer, Forbidden, forbidden};
use crate::impersonation_cache::{ImpersonationCache, request_key, user_key};
use crate::user::{NODE_NAME_KEY, groups, users};
use crate::{Str, UserInfo};
use pintle_metrics::{Histogram, Keyed, Layout, exponential};
use pintle_schema::names::{Fault, domain_prefixed_path, quoted};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Instant;

static DURATIONS: Layout = Layout::seconds(&BOUNDS);
const BOUNDS: [f64; 15] = exponential(0.001, 2.0);

/// Durations of impersonation attempts, and of the authorizations that they needed, by mode and by whether they were allowed.
/// An attempt that no mode allowed has no mode.
#[derive(Default)]
pub struct ImpersonationStats {
    pub attempts: Keyed<(&'static str, bool), Histogram>,
    pub checks: Keyed<(&'static str, bool), Histogram>,
}

impl ImpersonationStats {
    fn made(series: &Keyed<(&'static str, bool), Histogram>, mode: &'static str, allowed: bool, since: Instant) {
        series.get(&(mode, allowed), || Histogram::new(&DURATIONS)).observe_duration(since.elapsed());
    }
}

/// The group of users, groups, uids and extra values, but for names and groups that are acted as without constraints.
const GROUP: &str = "authentication.k8s.io";

/// The name under which decisions about an account's own node are kept.
const ANY_NODE: &str = "system:node:*";

/// From this number of groups or extra values on, the wildcard is authorized first.
const MANY: usize = 4;

/// The number of slots for users' last modes. Users that share a slot only have their modes tried in another order.
const REMEMBERED: usize = 1 << 13;

/// The modes of impersonation, in the order in which they are tried.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// The node that the service account's own pod runs on.
    AssociatedNode,
    ArbitraryNode,
    ServiceAccount,
    UserInfo,
    /// The verb `impersonate`, for everything that the other user may do.
    Unconstrained,
}

impl Mode {
    const ALL: [Mode; 5] =
        [Mode::AssociatedNode, Mode::ArbitraryNode, Mode::ServiceAccount, Mode::UserInfo, Mode::Unconstrained];

    /// The name within verbs.
    fn name(self) -> &'static str {
        match self {
            Mode::AssociatedNode => "associated-node",
            Mode::ArbitraryNode => "arbitrary-node",
            Mode::ServiceAccount => "serviceaccount",
            Mode::UserInfo => "user-info",
            Mode::Unconstrained => "",
        }
    }

    /// The name that metrics have for it.
    fn label(self) -> &'static str {
        if self == Mode::Unconstrained { "legacy" } else { self.name() }
    }

    /// Whether the mode is for such a user at all.
    fn is_for(self, wanted: &UserInfo, requestor: &UserInfo) -> bool {
        let named_only = wanted.uid.is_empty() && wanted.groups.is_empty() && wanted.extra.is_empty();
        let node = users::as_node(&wanted.name);
        let is_account = |name: &str| users::as_service_account(name).is_some();
        match self {
            Mode::AssociatedNode => {
                let own = requestor.extra.iter().find(|(key, _)| key == NODE_NAME_KEY).map(|(_, values)| &**values);
                named_only
                    && is_account(&requestor.name)
                    && matches!((own, node), (Some([own]), Some(node)) if own == node)
            }
            Mode::ArbitraryNode => named_only && node.is_some(),
            Mode::ServiceAccount => named_only && is_account(&wanted.name),
            Mode::UserInfo => node.is_none() && !is_account(&wanted.name),
            Mode::Unconstrained => true,
        }
    }
}

/// Authorizes impersonation, and remembers the mode in which each user last succeeded, and for a short time what the constrained
/// modes allowed.
pub struct Impersonator {
    /// Metrics of the attempts.
    pub stats: ImpersonationStats,
    cache: ImpersonationCache,
    /// One more than the number of a mode; 0 for users that have not succeeded yet.
    last: Box<[AtomicU8]>,
}

impl Default for Impersonator {
    fn default() -> Impersonator {
        let last = (0..REMEMBERED).map(|_| AtomicU8::new(0)).collect();
        Impersonator { stats: ImpersonationStats::default(), cache: ImpersonationCache::default(), last }
    }
}

impl Impersonator {
    /// The user that a request acts as. `request` has the attributes of the request, with its original user; without
    /// `constrained` only the verb `impersonate` counts.
    ///
    /// # Errors
    /// The rejection of the mode that was tried first.
    pub async fn impersonate(
        &self,
        authorizer: &dyn Authorizer,
        wanted: UserInfo,
        request: &Attributes<'_>,
        constrained: bool,
    ) -> Result<(UserInfo, &'static str), Forbidden> {
        let since = Instant::now();
        let mut hasher = DefaultHasher::new();
        request.user.name.hash(&mut hasher);
        let last = &self.last[hasher.finish() as usize % REMEMBERED];
        let first = usize::from(last.load(Ordering::Relaxed)).checked_sub(1);
        let order = first.into_iter().chain((0..Mode::ALL.len()).filter(|index| Some(*index) != first));
        let mut refused = None;
        for index in order {
            let mode = Mode::ALL[index];
            if mode.is_for(&wanted, request.user) && (constrained || mode == Mode::Unconstrained) {
                match self.try_mode(mode, authorizer, &wanted, request).await {
                    Ok(user) => {
                        ImpersonationStats::made(&self.stats.attempts, mode.label(), true, since);
                        last.store(index as u8 + 1, Ordering::Relaxed);
                        return Ok((user, mode.name()));
                    }
                    Err(refusal) => refused = refused.or(Some(refusal)),
                }
            }
        }
        ImpersonationStats::made(&self.stats.attempts, "", false, since);
        // The last mode applies to every user, so there is a rejection.
        Err(refused.unwrap_or_else(|| forbidden(request, "")))
    }

    async fn try_mode(
        &self,
        mode: Mode,
        authorizer: &dyn Authorizer,
        wanted: &UserInfo,
        request: &Attributes<'_>,
    ) -> Result<UserInfo, Forbidden> {
        let (stats, name) = (&self.stats, mode.name());
        if mode == Mode::Unconstrained {
            let checks = Checks { authorizer, stats, requestor: request.user, mode, verb: "impersonate" };
            return checks.identity(wanted).await;
        }
        let (without_node, any_node);
        let (requestor, kept_as) = match mode {
            // One decision is for all nodes that the account's pods run on.
            Mode::AssociatedNode => {
                without_node = of_any_node(request.user);
                any_node = UserInfo { name: Str::new_static(ANY_NODE), ..UserInfo::default() };
                (&without_node, &any_node)
            }
            _ => (request.user, wanted),
        };
        let named = |user: UserInfo| UserInfo { name: wanted.name.clone(), ..user };
        let request = Attributes { user: requestor, ..*request };
        let request_key = request_key(name, kept_as, &request);
        if let Some(user) = request_key.and_then(|key| self.cache.get(&key, Instant::now())) {
            return Ok(named(user));
        }
        let checks = Checks { authorizer, stats, requestor, mode, verb: &format!("impersonate:{name}") };
        let verb = format!("impersonate-on:{name}:{}", request.verb);
        checks.allowed(&Attributes { verb: &verb, ..request }).await?;
        let user_key = user_key(name, kept_as, requestor);
        let user = match self.cache.get(&user_key, Instant::now()) {
            Some(user) => named(user),
            None => {
                let user = checks.identity(wanted).await?;
                self.cache.keep(user_key, user.clone(), Instant::now());
                user
            }
        };
        request_key.into_iter().for_each(|key| self.cache.keep(key, user.clone(), Instant::now()));
        Ok(user)
    }
}

/// A service account's user without its node: of the extra values only the keys remain.
fn of_any_node(user: &UserInfo) -> UserInfo {
    let keys = user.extra.iter().map(|(key, _)| key.clone()).collect();
    let extra = vec![(Str::new_static("authentication.kubernetes.io/associated-node-keys"), keys)];
    UserInfo { extra, ..user.clone() }
}

/// The authorizations that acting as a user needs.
struct Checks<'a> {
    authorizer: &'a dyn Authorizer,
    stats: &'a ImpersonationStats,
    requestor: &'a UserInfo,
    mode: Mode,
    verb: &'a str,
}

impl<'a> Checks<'a> {
    fn constrained(&self) -> bool {
        self.mode != Mode::Unconstrained
    }

    async fn allowed(&self, attributes: &Attributes<'_>) -> Result<(), Forbidden> {
        let since = Instant::now();
        let decision = self.authorizer.authorize(attributes).get().await;
        ImpersonationStats::made(&self.stats.checks, self.mode.label(), decision.is_allowed(), since);
        if decision.is_allowed() {
            return Ok(());
        }
        let reason = decision.reason(attributes.user);
        let reason = match decision.error() {
            Some(error) if reason.is_empty() => error.to_string(),
            Some(error) => format!("{error}: {reason}"),
            None => reason,
        };
        Err(forbidden(attributes, &reason))
    }

    fn about(&self, resource: &'a str) -> Attributes<'a> {
        let unconstrained = matches!(resource, "users" | "serviceaccounts" | "groups") && !self.constrained();
        let group = if unconstrained { "" } else { GROUP };
        Attributes { api_version: "v1", ..Attributes::resource(self.requestor, self.verb, group, resource) }
    }

    async fn identity(&self, wanted: &UserInfo) -> Result<UserInfo, Forbidden> {
        let mut user = wanted.clone();
        if let Some((namespace, name)) = users::as_service_account(&wanted.name) {
            self.allowed(&Attributes { namespace, name, ..self.about("serviceaccounts") }).await?;
            if wanted.groups.is_empty() {
                user.groups = groups::of_service_accounts(namespace);
            }
        } else if let Some(name) = users::as_node(&wanted.name).filter(|_| self.constrained()) {
            // This mode is for the account's own node only, so its name does not matter.
            let name = if self.mode == Mode::AssociatedNode { "*" } else { name };
            self.allowed(&Attributes { name, ..self.about("nodes") }).await?;
            user.groups = vec![Str::new_static(groups::NODES)];
        } else {
            self.allowed(&Attributes { name: &wanted.name, ..self.about("users") }).await?;
        }
        if !wanted.uid.is_empty() {
            self.allowed(&Attributes { name: &wanted.uid, ..self.about("uids") }).await?;
        }
        self.groups(&wanted.groups).await?;
        self.extra(&wanted.extra).await?;
        if user.name == users::ANONYMOUS && !user.in_group(groups::UNAUTHENTICATED) {
            user.groups.push(Str::new_static(groups::UNAUTHENTICATED));
        }
        Ok(user.authenticated())
    }

    async fn groups(&self, wanted: &[Str]) -> Result<(), Forbidden> {
        let about = self.about("groups");
        if self.constrained() {
            if wanted.iter().any(|group| group.is_empty()) {
                return Err(forbidden(&about, "impersonating the empty string group is not allowed"));
            }
            if wanted.iter().any(|group| group == groups::MASTERS) {
                let about = Attributes { name: groups::MASTERS, ..about };
                return Err(forbidden(&about, "impersonating the system:masters group is not allowed"));
            }
            if wanted.len() >= MANY && self.allowed(&Attributes { name: "*", ..about }).await.is_ok() {
                return Ok(());
            }
        }
        for name in wanted {
            self.allowed(&Attributes { name, ..about }).await?;
        }
        Ok(())
    }

    async fn extra(&self, wanted: &[(Str, Vec<Str>)]) -> Result<(), Forbidden> {
        let about = self.about("userextras");
        if self.constrained() {
            if let Some(fault) = wanted.iter().find_map(|(key, values)| extra_fault(key, values)) {
                return Err(forbidden(&about, &fault));
            }
            let many = wanted.iter().map(|(_, values)| values.len()).sum::<usize>() >= MANY;
            if many && self.allowed(&Attributes { subresource: "*", name: "*", ..about }).await.is_ok() {
                return Ok(());
            }
        }
        for (subresource, values) in wanted {
            for name in values {
                self.allowed(&Attributes { subresource, name, ..about }).await?;
            }
        }
        Ok(())
    }
}

/// Why a constrained mode rejects an extra value.
fn extra_fault(key: &str, values: &[Str]) -> Option<String> {
    if key.is_empty() {
        return Some("impersonating the empty string key in extra is not allowed".into());
    }
    let faults: Vec<String> = domain_prefixed_path(key)
        .into_iter()
        .map(|fault| match fault {
            Fault::Required => "extra.key: Required value".to_owned(),
            Fault::Invalid { value, detail } => format!("extra.key: Invalid value: {}: {detail}", quoted(&value)),
        })
        .collect();
    if !faults.is_empty() {
        let faults = if faults.len() == 1 { faults.concat() } else { format!("[{}]", faults.join(", ")) };
        return Some(format!("impersonating an invalid key in extra is not allowed: {faults}"));
    }
    if key.chars().any(char::is_uppercase) {
        return Some(format!("impersonating a non-lowercase key in extra is not allowed: {}", quoted(key)));
    }
    if values.is_empty() {
        return Some("impersonating empty values in extra is not allowed".into());
    }
    let empty = values.iter().any(|value| value.is_empty());
    empty.then(|| "impersonating the empty string value in extra is not allowed".into())
}

#[cfg(test)]
#[path = "impersonation_tests.rs"]
mod tests;
