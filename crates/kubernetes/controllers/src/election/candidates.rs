//! What an election among lease candidates comes to: the strategy, the best candidate, and the next step. Guarantees that
//! the result depends on the objects and the time only. Must never write.

use pintle_schema::MicroTime;
use pintle_types::coordination::v1::{CoordinatedLeaseStrategy, LeaseSpec};
use pintle_types::coordination::v1beta1::LeaseCandidate;
use std::cmp::Ordering;

/// How long candidates have to answer a ping.
pub const ELECTION_SECONDS: i64 = 5;
/// How long a candidate lives without a sign of life.
pub const VALID_SECONDS: i64 = 30 * 60;
/// The duration of a lease that the election writes; its holder sets its own.
pub const LEASE_SECONDS: i32 = 5;

/// What to do next.
#[derive(Debug, PartialEq)]
pub enum Step {
    /// Nothing: the leader is the best one.
    Keep,
    /// Wait for the answers of candidates that were pinged.
    Wait,
    /// Ask these candidates for a sign of life.
    Ping(Vec<String>),
    /// Make a candidate the leader, by a strategy; none if the strategy is another controller's, which elects.
    Elect { leader: Option<String>, strategy: CoordinatedLeaseStrategy },
    /// No leader can be chosen, for this reason.
    None(String),
}

/// The next step of the election for a lease.
pub fn next_step(candidates: &[LeaseCandidate], lease: Option<&LeaseSpec>, now: MicroTime) -> Step {
    match is_needed(candidates, lease, now) {
        Ok(true) => {}
        Ok(false) => return Step::Keep,
        Err(reason) => return Step::None(reason),
    }
    let is_fresh = |time: Option<MicroTime>| time.is_some_and(|time| lasts(time, ELECTION_SECONDS, now));
    let is_silent = |candidate: &LeaseCandidate| {
        let (ping, renewed) = (candidate.spec.ping_time, candidate.spec.renew_time);
        ping.is_some_and(|ping| renewed.is_some_and(|renewed| renewed < ping))
    };
    let is_awaited = |candidate: &LeaseCandidate| is_fresh(candidate.spec.ping_time) && is_silent(candidate);
    // A candidate that has not answered is not asked again.
    let is_to_ask = |candidate: &&LeaseCandidate| {
        let was_asked = candidate.spec.ping_time.is_some_and(|ping| !has_passed(ping, ELECTION_SECONDS, now));
        !is_fresh(candidate.spec.renew_time) && !was_asked && !is_silent(candidate)
    };
    let asked: Vec<String> = candidates.iter().filter(is_to_ask).map(|it| it.metadata.name.clone()).collect();
    if !asked.is_empty() {
        return Step::Ping(asked);
    }
    if candidates.iter().any(is_awaited) {
        return Step::Wait;
    }
    let answered: Vec<&LeaseCandidate> = candidates.iter().filter(|it| is_fresh(it.spec.renew_time)).collect();
    if answered.is_empty() {
        return Step::None("no available candidates".to_owned());
    }
    match strategy(&answered) {
        Err(reason) => Step::None(reason),
        Ok(strategy) if strategy != CoordinatedLeaseStrategy::OLDEST_EMULATION_VERSION => {
            Step::Elect { leader: None, strategy }
        }
        Ok(strategy) => match best(&answered) {
            Some(leader) => Step::Elect { leader: Some(leader.metadata.name.clone()), strategy },
            None => Step::None("should not happen, could not find suitable electee".to_owned()),
        },
    }
}

/// Whether the lease needs another leader, or candidates have to show that they live.
fn is_needed(candidates: &[LeaseCandidate], lease: Option<&LeaseSpec>, now: MicroTime) -> Result<bool, String> {
    let Some(lease) = lease else { return Ok(true) };
    let holder = lease.holder_identity.as_deref().unwrap_or_default();
    if is_expired(lease, now) || holder.is_empty() {
        return Ok(true);
    }
    let is_old = |candidate: &LeaseCandidate| {
        candidate.spec.renew_time.is_some_and(|renewed| has_passed(renewed, VALID_SECONDS / 2, now))
    };
    if candidates.iter().any(is_old) {
        return Ok(true);
    }
    let all: Vec<&LeaseCandidate> = candidates.iter().collect();
    if strategy(&all)? != CoordinatedLeaseStrategy::OLDEST_EMULATION_VERSION {
        return Ok(false);
    }
    Ok(best(&all).is_some_and(|best| best.metadata.name != holder))
}

/// Whether a lease has run out.
pub fn is_expired(lease: &LeaseSpec, now: MicroTime) -> bool {
    match (lease.renew_time, lease.lease_duration_seconds) {
        (Some(renewed), Some(seconds)) => has_passed(renewed, seconds.into(), now),
        _ => true,
    }
}

/// Whether this many seconds have passed since a time.
pub fn has_passed(since: MicroTime, seconds: i64, now: MicroTime) -> bool {
    (since.seconds.saturating_add(seconds), since.nanos) < (now.seconds, now.nanos)
}

/// Whether this many seconds after a time are still to come.
fn lasts(since: MicroTime, seconds: i64, now: MicroTime) -> bool {
    (since.seconds.saturating_add(seconds), since.nanos) > (now.seconds, now.nanos)
}

/// The strategy of the candidates of the newest program version, which must agree.
fn strategy(candidates: &[&LeaseCandidate]) -> Result<CoordinatedLeaseStrategy, String> {
    let mut newest = *candidates.first().ok_or_else(|| "no candidates".to_owned())?;
    for candidate in &candidates[1..] {
        let of = |candidate: &LeaseCandidate| version(&candidate.spec.binary_version).unwrap_or_default();
        match of(newest).cmp(&of(candidate)) {
            Ordering::Less => newest = candidate,
            Ordering::Equal if newest.spec.strategy != candidate.spec.strategy => {
                return Err(format!(
                    "candidates {:?}, {:?} at same binary version but received differing strategies {:?}, {:?}",
                    newest.metadata.name,
                    candidate.metadata.name,
                    newest.spec.strategy.as_str(),
                    candidate.spec.strategy.as_str()
                ));
            }
            _ => {}
        }
    }
    Ok(newest.spec.strategy.as_str().into())
}

/// The candidate with the oldest emulation version, then the oldest program version, then the oldest object. Those without valid versions are left
/// out.
fn best<'c>(candidates: &[&'c LeaseCandidate]) -> Option<&'c LeaseCandidate> {
    let rank = |candidate: &LeaseCandidate| {
        let versions = (version(&candidate.spec.emulation_version)?, version(&candidate.spec.binary_version)?);
        Some((versions, candidate.metadata.creation_timestamp, candidate.metadata.name.clone()))
    };
    let ranked = candidates.iter().filter_map(|candidate| Some((rank(candidate)?, *candidate)));
    ranked.min_by(|(a, _), (b, _)| a.cmp(b)).map(|(_, candidate)| candidate)
}

/// Parses a semantic version leniently: `v1.36`, `1.36.0`. A pre-release is lower than the release.
fn version(text: &str) -> Option<(u64, u64, u64, bool, String)> {
    let text = text.trim().trim_start_matches('v');
    let text = text.split_once('+').map_or(text, |(version, _)| version);
    let (numbers, pre) = text.split_once('-').unwrap_or((text, ""));
    let mut parts = numbers.split('.').map(|part| part.parse::<u64>().ok());
    let major = parts.next()??;
    let minor = parts.next().unwrap_or(Some(0))?;
    let patch = parts.next().unwrap_or(Some(0))?;
    parts.next().is_none().then(|| (major, minor, patch, pre.is_empty(), pre.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_000_000;

    fn at(seconds: i64) -> MicroTime {
        MicroTime { seconds, nanos: 0 }
    }

    fn candidate(name: &str, emulation: &str, binary: &str, renewed: i64, pinged: Option<i64>) -> LeaseCandidate {
        let mut candidate = LeaseCandidate::default();
        candidate.metadata.name = name.to_owned();
        candidate.spec.emulation_version = emulation.to_owned();
        candidate.spec.binary_version = binary.to_owned();
        candidate.spec.strategy = "OldestEmulationVersion".into();
        candidate.spec.renew_time = Some(at(NOW - renewed));
        candidate.spec.ping_time = pinged.map(|ago| at(NOW - ago));
        candidate
    }

    fn lease(holder: &str, renewed: i64) -> LeaseSpec {
        LeaseSpec {
            holder_identity: Some(holder.to_owned()),
            lease_duration_seconds: Some(15),
            renew_time: Some(at(NOW - renewed)),
            ..LeaseSpec::default()
        }
    }

    fn elected(leader: &str) -> Step {
        let strategy = CoordinatedLeaseStrategy::OLDEST_EMULATION_VERSION;
        Step::Elect { leader: Some(leader.to_owned()), strategy }
    }

    #[test]
    fn steps() {
        let fresh = || vec![candidate("new", "1.36", "1.36.0", 1, None), candidate("old", "1.35", "1.36.0", 2, None)];
        let quiet = || vec![candidate("new", "1.36", "1.36.0", 60, None), candidate("old", "1.35", "1.36.0", 2, None)];
        let rows: Vec<(&str, Vec<LeaseCandidate>, Option<LeaseSpec>, Step)> = vec![
            ("no lease", fresh(), None, elected("old")),
            ("the leader is the best", fresh(), Some(lease("old", 1)), Step::Keep),
            ("a better one than the leader", fresh(), Some(lease("new", 1)), elected("old")),
            ("an expired lease", fresh(), Some(lease("old", 60)), elected("old")),
            ("late candidates are asked first", quiet(), None, Step::Ping(vec!["new".to_owned()])),
            (
                "answers are waited for",
                vec![candidate("new", "1.36", "1.36.0", 60, Some(1)), candidate("old", "1.35", "1.36.0", 1, None)],
                None,
                Step::Wait,
            ),
            (
                "who does not answer is not elected",
                vec![candidate("new", "1.36", "1.36.0", 1, None), candidate("old", "1.35", "1.36.0", 60, Some(9))],
                None,
                elected("new"),
            ),
            (
                "nobody answers",
                vec![candidate("old", "1.35", "1.36.0", 60, Some(9))],
                None,
                Step::None("no available candidates".to_owned()),
            ),
            (
                "signs of life are asked for in time",
                vec![candidate("old", "1.35", "1.36.0", VALID_SECONDS / 2 + 1, None)],
                Some(lease("old", 1)),
                Step::Ping(vec!["old".to_owned()]),
            ),
            (
                "the older program of one emulation version",
                vec![candidate("a", "1.35", "1.36.0", 1, None), candidate("b", "v1.35.0", "1.35.0", 1, None)],
                None,
                elected("b"),
            ),
        ];
        for (name, candidates, lease, expected) in rows {
            assert_eq!(next_step(&candidates, lease.as_ref(), at(NOW)), expected, "{name}");
        }
    }

    #[test]
    fn strategies() {
        let mut all = vec![candidate("a", "1.35", "1.36.0", 1, None), candidate("b", "1.35", "1.36.0", 1, None)];
        all[1].spec.strategy = "Other".into();
        let differ = "candidates \"a\", \"b\" at same binary version but received differing strategies \
                      \"OldestEmulationVersion\", \"Other\"";
        assert_eq!(next_step(&all, None, at(NOW)), Step::None(differ.to_owned()));
        // The newest program decides.
        all[1].spec.binary_version = "1.37.0".to_owned();
        let others = Step::Elect { leader: None, strategy: "Other".into() };
        assert_eq!(next_step(&all, None, at(NOW)), others);
        assert_eq!(next_step(&all, Some(&lease("a", 1)), at(NOW)), Step::Keep);
    }
}
