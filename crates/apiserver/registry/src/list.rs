//! Lists: the revision of a list, its objects, and its continuation.
//!
//! Every list is served from a snapshot of the cache; a page holds the snapshot or pointers, never copies of objects. The
//! combinations of resourceVersion, resourceVersionMatch, limit and continue follow the table of the API concepts.

use crate::status::{Result, Status};
use crate::{Items, Page, Registry, Selection, Target};
use data_encoding::BASE64URL_NOPAD;
use futures_util::FutureExt;
use pintle_cache::Object;
use pintle_cache::objects::{Entry, end_of};
use pintle_codec::{Strictness, json};
use pintle_compute::Loop;
use pintle_schema::{Value, base64, value};
use pintle_storage::Revision;
use std::ops::Bound;
use std::sync::Arc;

/// How old a list may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Match {
    Exact,
    NotOlderThan,
}

/// The validated options of a list.
#[derive(Clone, Debug, Default)]
pub struct ListOptions {
    pub resource_version: String,
    pub resource_version_match: Option<Match>,
    pub limit: i64,
    pub continue_token: String,
}

impl ListOptions {
    /// The revision that a list is of, or not older than, if it names one.
    pub fn revision(&self) -> Option<Revision> {
        match self.continue_token.as_str() {
            "" => self.resource_version.parse().ok().map(Revision),
            token => decode_token(token).ok()?.revision,
        }
    }
}

/// Where a list reads from.
struct Start {
    revision: Revision,
    /// From this key on, relative to the collection: tokens of one collection work in others.
    after: Option<String>,
    /// The newest state, regardless of the revision.
    newest: bool,
    /// The remaining items reported by the previous page, and their collection.
    following: Option<Following>,
    /// When the first page was read, in seconds, if the token has it.
    began: Option<i64>,
}

/// The content of a continue token.
#[derive(Debug, Default, PartialEq, Eq)]
struct Continue {
    /// `None`: the newest.
    revision: Option<Revision>,
    /// The path to continue after.
    after: String,
    following: Option<Following>,
    began: Option<i64>,
}

/// The number of remaining objects of a collection, so that no page counts them again.
#[derive(Debug, PartialEq, Eq)]
struct Following {
    collection: String,
    count: i64,
}

/// The objects of a page that were examined one by one.
#[derive(Default)]
struct Walk<'a> {
    fetched: usize,
    count: usize,
    /// The selected objects, but for a selection of everything: then they are a stretch that ends with the last.
    picked: Vec<Arc<Object>>,
    last: Option<&'a Arc<Object>>,
    /// How many objects follow; 1 when the exact number is not needed.
    rest: i64,
    /// Objects of the collection that are not in the shard.
    passed: i64,
}

impl<'a> Walk<'a> {
    /// Examines objects until the page is full, and then as many as it takes to know whether another page follows.
    async fn over(
        entries: impl Iterator<Item = &'a Entry>,
        selection: &Selection,
        limit: usize,
        following: Option<i64>,
        mut steps: Loop,
    ) -> Self {
        let cost = selection.cost();
        let everything = selection.is_everything();
        let counts = selection.has_no_terms();
        let mut walk = Walk::default();
        for entry in entries {
            steps.step(cost).await;
            walk.fetched += 1;
            if limit > 0 && walk.count == limit {
                walk.rest += 1;
                // With a selector, the objects that follow are not matched here: the next page may be empty.
                if !counts {
                    break;
                }
                if everything && let Some(following) = following {
                    let behind = following.saturating_sub(i64::try_from(limit).unwrap_or(i64::MAX));
                    walk.rest = walk.rest.max(behind);
                    break;
                }
            } else if everything || selection.may_select(entry) && selection.matches(&entry.object) {
                (walk.count, walk.last) = (walk.count + 1, Some(&entry.object));
                if !everything {
                    walk.picked.push(entry.object.clone());
                }
            } else {
                walk.passed += 1;
            }
        }
        walk
    }
}

impl Registry {
    /// Lists a target's collection, and gives way to others meanwhile.
    ///
    /// # Errors
    /// The revision is too old, too new or unreadable; the continue token is.
    pub async fn list(&self, target: &Target, selection: &Selection, options: &ListOptions) -> Result<Page> {
        self.list_in(target, selection, options, Loop::default()).await
    }

    /// The same in one go, for collections that are small or callers that may take long.
    ///
    /// # Errors
    /// As [`Self::list`].
    pub fn list_at_once(&self, target: &Target, selection: &Selection, options: &ListOptions) -> Result<Page> {
        let listed = self.list_in(target, selection, options, Loop::unbroken()).now_or_never();
        // Nothing else in it waits.
        listed.unwrap_or_else(|| Err(Status::internal("a list has given way")))
    }

    async fn list_in(
        &self,
        target: &Target,
        selection: &Selection,
        options: &ListOptions,
        steps: Loop,
    ) -> Result<Page> {
        // The revision first, then the state: the state then holds everything up to it.
        let current = target.cache.current();
        let state = target.cache.state();
        let current = current.max(state.last);
        // Selectors narrow the first page only; a token already contains its position.
        let begins = options.continue_token.is_empty();
        let narrowed = selection.single_namespace().filter(|_| begins && target.namespace.is_empty());
        let namespace = narrowed.unwrap_or(&target.namespace);
        let whole_names = !namespace.is_empty() || !target.resource.namespaced;
        let single_name = selection.single_name().filter(|_| begins && whole_names);
        let start = start(options, current, single_name.is_some())?;
        let mut limit = usize::try_from(options.limit).unwrap_or(0);
        if options.resource_version == "0" && self.watch_cache {
            limit = 0;
        }
        let now = self.environment.now_unix();
        let objects = if start.newest {
            state.objects.clone()
        } else if self.has_expired(&start, now) {
            return Err(expired(options, &start));
        } else {
            state.at(start.revision).map_err(|_| expired(options, &start))?
        };
        let from = format!("{}{}", target.storage().prefix, collection_path(&target.namespace));
        let within = format!("{}{}", target.storage().prefix, collection_path(namespace));
        let after = start.after.as_ref().map(|after| format!("{from}{after}"));
        let lower = after.as_deref().filter(|after| *after > within.as_str()).unwrap_or(&within);
        // The index covers the newest state only; its results also say whether a further page exists.
        let (index, indexed) = (start.newest && begins).then(|| selection.index(&state)).flatten().unzip();
        let mut page = Page {
            items: Items::default(),
            revision: start.revision,
            continue_token: String::new(),
            remaining: None,
            shard: None,
        };
        page.shard = selection.shard().map(ToString::to_string);
        if let Some(name) = single_name {
            // A list by name is a look-up: its cost does not depend on the number of objects.
            let key = format!("{within}{name}");
            target.check_readable(&state, &key, &format!("{key}\0"))?;
            let found = objects.get(key.as_str()).filter(|object| selection.matches(object));
            page.items = Items::Picked(found.into_iter().cloned().collect());
            target.cache.listed(None, 1, page.items.len());
            return Ok(page);
        }
        // A whole collection and a continued list need no count.
        let following = match &start.following {
            Some(following) if following.collection == from => Some(following.count),
            None if after.is_none() && from == target.storage().prefix => i64::try_from(objects.len()).ok(),
            _ => None,
        };
        let end = end_of(&within);
        let range = (Bound::Included(lower), Bound::Excluded(end.as_str()));
        let everything = selection.is_everything();
        let walk = Walk::over(objects.within(indexed.as_ref(), range), selection, limit, following, steps).await;
        let Walk { fetched, count, picked, last, rest, passed } = walk;
        page.items = match last {
            Some(last) if everything => Items::stretch(&objects, lower, &last.key, count),
            _ => Items::Picked(picked),
        };
        target.cache.listed(index, fetched, count);
        let read_to = last.filter(|_| rest > 0).map_or(end.as_str(), |last| &last.key);
        target.check_readable(&state, lower, read_to)?;
        if rest > 0 {
            let last = last.and_then(|object| object.key.strip_prefix(from.as_str()));
            // Of a shard, as in kube-apiserver, the rest of the collection counts but for the limit.
            page.remaining = selection.has_no_terms().then(|| rest.saturating_add(passed));
            let following =
                page.remaining.filter(|_| everything).map(|count| Following { collection: from.clone(), count });
            let began = start.began.unwrap_or(now);
            page.continue_token = encode_token(page.revision, last.unwrap_or(""), following.as_ref(), began);
        }
        Ok(page)
    }

    /// Whether a list has been continued for longer than its revision would exist in etcd. There each compaction makes a
    /// revision, so that a token expires even without writes. Here the token contains its age instead.
    fn has_expired(&self, start: &Start, now: i64) -> bool {
        let interval = self.compaction_interval.map(|interval| i64::try_from(interval.as_secs()).unwrap_or(i64::MAX));
        let age = start.began.map(|began| now.saturating_sub(began));
        // In etcd it is one to two intervals, by when the first page was read.
        age.zip(interval).is_some_and(|(age, interval)| age > interval.saturating_add(interval / 2))
    }

    /// Checks, without waiting, whether a get may be served from the newest state.
    ///
    /// # Errors
    /// The version is malformed (500, as for gets of kube-apiserver) or lies in the future.
    pub fn check_get_version(&self, target: &Target, resource_version: &str) -> Result<()> {
        if resource_version.is_empty() || resource_version == "0" {
            return Ok(());
        }
        let wanted = parse_version(resource_version).map_err(Status::unexplained)?;
        let current = target.cache.current();
        let current = current.max(target.cache.state().last);
        if wanted > current.0 { Err(Status::too_large_resource_version(wanted, current.0)) } else { Ok(()) }
    }
}

fn collection_path(namespace: &str) -> String {
    if namespace.is_empty() { String::new() } else { format!("{namespace}/") }
}

fn start(options: &ListOptions, current: Revision, single: bool) -> Result<Start> {
    let newest = Start { revision: current, after: None, newest: true, following: None, began: None };
    if !options.continue_token.is_empty() {
        let Continue { revision, after, following, began } = decode_token(&options.continue_token)?;
        if !matches!(options.resource_version.as_str(), "" | "0") {
            return Err(Status::bad_request("specifying resource version is not allowed when using continue"));
        }
        return Ok(match revision {
            Some(revision) if revision > current => {
                return Err(Status::too_large_resource_version(revision.0, current.0));
            }
            Some(revision) => Start { revision, after: Some(after), newest: false, following, began },
            None => Start { after: Some(after), ..newest },
        });
    }
    let wanted = match options.resource_version.as_str() {
        "" => return Ok(newest),
        text => {
            parse_version(text).map_err(|error| Status::bad_request(format!("invalid resource version: {error}")))?
        }
    };
    if wanted == 0 {
        return Ok(newest);
    }
    if wanted > current.0 {
        return Err(Status::too_large_resource_version(wanted, current.0));
    }
    let exact = match options.resource_version_match {
        Some(Match::Exact) => true,
        Some(Match::NotOlderThan) => false,
        // A single object has no pages that would have to agree.
        None => options.limit > 0 && !single,
    };
    Ok(if exact { Start { revision: Revision(wanted), newest: false, ..newest } } else { newest })
}

/// Reads a resourceVersion; the error is kube-apiserver's text.
pub fn parse_version(text: &str) -> std::result::Result<u64, String> {
    text.parse().map_err(|_| format!("resourceVersion: Invalid value: {text:?}: {}", unreadable_version(text)))
}

/// Why a text is no resourceVersion, in Go's words.
pub fn unreadable_version(text: &str) -> String {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let why = if digits { "value out of range" } else { "invalid syntax" };
    format!("strconv.ParseUint: parsing {text:?}: {why}")
}

/// 410; a continued list gets a token to go on with, at a newer revision.
fn expired(options: &ListOptions, start: &Start) -> Status {
    if options.continue_token.is_empty() {
        return Status::expired("The resourceVersion for the provided list is too old.");
    }
    let mut status = Status::expired(
        "The provided continue parameter is too old to display a consistent list result. You can start a new list without \
         the continue parameter, or use the continue token in this response to retrieve the remainder of the results. \
         Continuing with the provided token results in an inconsistent list - objects that were created, modified, or \
         deleted between the time the first chunk was returned and now may show up in the list.",
    );
    status.continue_token = Some(token(-1, start.after.as_deref().unwrap_or(""), None, None));
    status
}

fn encode_token(revision: Revision, last: &str, following: Option<&Following>, began: i64) -> String {
    token(i64::try_from(revision.0).unwrap_or(i64::MAX), &format!("{last}\0"), following, Some(began))
}

/// kube-apiserver's form of a token, with two additions that it ignores: the number of remaining objects, and when the list
/// began.
fn token(revision: i64, start: &str, following: Option<&Following>, began: Option<i64>) -> String {
    let mut token = value!({"v": "meta.k8s.io/v1", "rv": revision, "start": start});
    if let Some(following) = following {
        token.make_map().set("in", following.collection.as_str());
        token.make_map().set("following", following.count);
    }
    if let Some(began) = began {
        token.make_map().set("began", began);
    }
    let mut text = Vec::new();
    json::encode(&token, &mut text);
    BASE64URL_NOPAD.encode(&text)
}

/// Decodes a token.
fn decode_token(token: &str) -> Result<Continue> {
    let fail = |why: &str| Status::bad_request(format!("invalid continue token: continue key is not valid: {why}"));
    if let Some(at) = corrupt(token) {
        return Err(fail(&base64::CorruptInput(at).to_string()));
    }
    let padded = token.replace('-', "+").replace('_', "/") + &"===="[..(4 - token.len() % 4) % 4];
    let bytes = base64::decode(&padded).map_err(|error| fail(&error.to_string()))?;
    let parsed = json::parse(&bytes, Strictness::Ignore).map_err(|error| fail(&error.to_string()))?.value;
    if parsed.str_at(&["v"]) != "meta.k8s.io/v1" {
        return Err(fail(&format!("server does not recognize this encoded version {}", parsed.str_at(&["v"]))));
    }
    let revision = parsed.get("rv").and_then(Value::as_i64).unwrap_or(0);
    if revision == 0 {
        return Err(fail("incorrect encoded start resourceVersion (version meta.k8s.io/v1)"));
    }
    let start = parsed.str_at(&["start"]);
    if start.is_empty() {
        return Err(fail("encoded start key empty (version meta.k8s.io/v1)"));
    }
    let path = start.strip_prefix('/').unwrap_or(start);
    if !path.is_empty() && path.split('/').any(|segment| matches!(segment, "" | "." | "..")) {
        return Err(fail(start));
    }
    let following = parsed
        .get("following")
        .and_then(Value::as_i64)
        .map(|count| Following { collection: parsed.str_at(&["in"]).to_owned(), count });
    let after = path.to_owned();
    Ok(match revision {
        ..0 => Continue { after, ..Continue::default() },
        _ => {
            let began = parsed.get("began").and_then(Value::as_i64);
            Continue { revision: Some(Revision(revision.unsigned_abs())), after, following, began }
        }
    })
}

/// Whether a `continue` token can be read.
///
/// # Errors
/// It cannot, in kube-apiserver's words.
pub fn check_token(token: &str) -> Result<()> {
    decode_token(token).map(drop)
}

/// Where a token stops being base64 of the URL alphabet without padding.
fn corrupt(token: &str) -> Option<usize> {
    let foreign = |byte: u8| !byte.is_ascii_alphanumeric() && !matches!(byte, b'-' | b'_');
    // A single digit at the end is half a byte.
    token.bytes().position(foreign).or((token.len() % 4 == 1).then(|| token.len() - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn continue_tokens_round_trip() {
        let after = || "ns/a\0".to_owned();
        let expected = |following| Continue {
            revision: Some(Revision(17)),
            after: after(),
            following,
            began: Some(1_700_000_000),
        };
        let token = encode_token(Revision(17), "ns/a", None, 1_700_000_000);
        assert_eq!(decode_token(&token), Ok(expected(None)));
        let following = || Following { collection: "/registry/pods/".to_owned(), count: 3 };
        let token = encode_token(Revision(17), "ns/a", Some(&following()), 1_700_000_000);
        assert_eq!(decode_token(&token), Ok(expected(Some(following()))));
        let newest = Continue { after: after(), ..Continue::default() };
        assert_eq!(decode_token(&super::token(-1, "ns/a\0", None, None)), Ok(newest));
        for (token, at) in [("%%%", 0), ("x", 0), ("abcde", 4), ("ab=", 2), ("ab+/", 2)] {
            assert_eq!(corrupt(token), Some(at), "{token}");
        }
        assert!(decode_token(&super::token(0, "a", None, None)).is_err());
        for start in ["../x", "a/../x", "a//x", "//x", "a/./x", "a/", "."] {
            assert!(decode_token(&super::token(5, start, None, None)).is_err(), "{start}");
        }
        let first = Continue { revision: Some(Revision(5)), ..Continue::default() };
        assert_eq!(decode_token(&super::token(5, "/", None, None)), Ok(first));
    }

    #[test]
    fn versions_are_read_with_the_references_errors() {
        assert_eq!(parse_version("12"), Ok(12));
        assert_eq!(
            parse_version("abc"),
            Err("resourceVersion: Invalid value: \"abc\": strconv.ParseUint: parsing \"abc\": invalid syntax"
                .to_owned())
        );
    }
}
