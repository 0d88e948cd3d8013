//! JSON patch, RFC 6902, with kube-apiserver's deviations.
//! Guarantees that operations are applied in order, all or none, and that work is bounded: the number of operations,
//! the size of copies, and the depth of the result.

use crate::PatchError;
use pintle_codec::json::{self, open_spelled};
use pintle_codec::limits::TREE_DEPTH;
use pintle_codec::{StrictProblem, Strictness};
use pintle_schema::names::quoted;
use pintle_schema::{ApiType, Map, RawExtension, Str, Value};
use std::borrow::Cow;
use std::collections::HashMap;

/// The number of operations of a patch: kube-apiserver's limit.
pub const MAX_OPERATIONS: usize = 10_000;

/// Bytes of JSON that the `copy` operations of a patch may add in total; without it a patch could double an object
/// with each operation. kube-apiserver's default.
pub const MAX_COPY_BYTES: usize = 3 * 1024 * 1024;

/// The number of list and map entries that the operations of a patch may skip or move, plus bytes of raw JSON that
/// they may parse, in total: about ten thousand operations on an object of twenty thousand entries. kube-apiserver
/// has no such bound.
pub const MAX_STEPS: usize = 200_000_000;

/// The type of a patch for field validation.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
struct Operations {
    #[k8s(proto = 1)]
    patch: Vec<Operation>,
}

#[derive(ApiType, Clone, Debug, Default, PartialEq)]
struct Operation {
    #[k8s(proto = 1)]
    op: String,
    #[k8s(proto = 2)]
    path: String,
    #[k8s(proto = 3)]
    from: String,
    #[k8s(proto = 4)]
    value: Value,
}

/// The same with values as they are written.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
struct WrittenOperations {
    #[k8s(proto = 1)]
    patch: Vec<WrittenOperation>,
}

#[derive(ApiType, Clone, Debug, Default, PartialEq)]
struct WrittenOperation {
    #[k8s(proto = 1)]
    op: String,
    #[k8s(proto = 2)]
    path: String,
    #[k8s(proto = 3)]
    from: String,
    #[k8s(proto = 4)]
    value: RawExtension,
}

/// A patch whose objects and lists are raw JSON, to keep their duplicate keys: kube-apiserver finds those in the
/// result, unless an operation has parsed the value. `None` if it is not a list of operations.
pub fn written(text: &[u8]) -> Option<Value> {
    let mut decoded = json::decode(WrittenOperations::schema(), &in_object(text), Strictness::Ignore).ok()?.value;
    let Some(Value::List(mut operations)) = decoded.remove_at(&["patch"]) else { return None };
    for operation in &mut operations {
        match operation.get_mut("value") {
            Some(Value::Raw(text)) if text.trim_start().starts_with(['{', '[']) => {}
            Some(scalar) => open_spelled(scalar),
            None => {}
        }
    }
    Some(Value::List(operations))
}

/// A list has no schema, so it is decoded as the only field of an object.
fn in_object(text: &[u8]) -> Vec<u8> {
    [b"{\"patch\":", text, b"}"].concat()
}

/// Performs kube-apiserver's field validation (other than `Ignore`) of the patch itself.
///
/// Returns the strict problems (unknown or duplicate members of operations), which `Warn` reports and `Strict`
/// rejects. `text` is the patch as it was sent.
///
/// # Errors
/// The patch is not a list of operations.
pub fn check(patch: &Value, text: &[u8]) -> Result<Vec<String>, PatchError> {
    let bad = |found: &Value, expected: &str| {
        let text = format!("error decoding patch: json: cannot unmarshal {} into Go {expected}", found.json_kind());
        Err(PatchError::BadRequest(text))
    };
    let operations = match patch {
        Value::Null => return Ok(Vec::new()),
        Value::List(operations) => operations,
        other => return bad(other, "value of type []handlers.jsonPatchOp"),
    };
    for operation in operations {
        let members = match operation {
            Value::Null => continue,
            Value::Map(members) => members,
            other => return bad(other, "value of type handlers.jsonPatchOp"),
        };
        for (name, value) in members.iter() {
            if matches!(name.as_str(), "op" | "path" | "from") && !matches!(value, Value::Null | Value::String(_)) {
                return bad(value, &format!("struct field jsonPatchOp.{name} of type string"));
            }
        }
    }
    Ok(strict_problems(text))
}

/// The name of the artificial field is not reported.
fn strict_problems(text: &[u8]) -> Vec<String> {
    let problems =
        json::decode(Operations::schema(), &in_object(text), Strictness::Collect).map(|decoded| decoded.problems);
    let message = |problem: StrictProblem| {
        let in_list = |path: String| path.strip_prefix("patch").map(str::to_owned).unwrap_or(path);
        let problem = match problem {
            StrictProblem::UnknownField(path) => StrictProblem::UnknownField(in_list(path)),
            StrictProblem::DuplicateField(path) => StrictProblem::DuplicateField(in_list(path)),
            other => other,
        };
        format!("json patch {problem}")
    };
    problems.unwrap_or_default().into_iter().map(message).collect()
}

/// Applies a patch, the parsed list of operations.
///
/// # Errors
/// The patch is not a list of operations, too long, or an operation fails.
pub fn apply(mut document: Value, patch: &Value) -> Result<Value, PatchError> {
    let bad = |found: &Value, expected: &str| {
        let text = format!("json: cannot unmarshal {} into Go value of type jsonpatch.{expected}", found.json_kind());
        Err(PatchError::BadRequest(text))
    };
    open(&mut document);
    let operations = match patch {
        Value::Null => return Ok(document),
        Value::List(operations) => operations,
        other => return bad(other, "Patch"),
    };
    if let Some(misfit) = operations.iter().find(|operation| !matches!(operation, Value::Map(_) | Value::Null)) {
        return bad(misfit, "Operation");
    }
    if operations.len() > MAX_OPERATIONS {
        return Err(PatchError::TooLarge(format!(
            "The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {}",
            operations.len()
        )));
    }
    let none = Map::new();
    let mut work = Work::default();
    for operation in operations {
        let members = operation.as_map().unwrap_or(&none);
        one(&mut document, members, &mut work).map_err(|failure| match failure {
            Failure::Unfit(why) | Failure::Nowhere(why) => PatchError::Unprocessable(why),
            Failure::Untrue(why) => PatchError::TestFailed(why),
            Failure::TooMuch(why) => PatchError::TooLarge(why),
        })?;
    }
    Ok(document)
}

/// Why an operation fails.
enum Failure {
    /// It does not match the document: kube-apiserver's text, which admission shows.
    Unfit(String),
    /// A path leads nowhere.
    Nowhere(String),
    /// A test does not hold.
    Untrue(String),
    /// It exceeds a limit.
    TooMuch(String),
}

impl From<String> for Failure {
    fn from(why: String) -> Self {
        Failure::Unfit(why)
    }
}

type Done<T> = Result<T, Failure>;

/// The cost of the operations so far.
#[derive(Default)]
struct Work {
    copied_bytes: usize,
    steps: usize,
}

impl Work {
    fn step(&mut self, steps: usize) -> Done<()> {
        self.steps = self.steps.saturating_add(steps);
        if self.steps <= MAX_STEPS {
            return Ok(());
        }
        Err(Failure::TooMuch(format!("The operations of a JSON patch may pass over {MAX_STEPS} entries")))
    }

    /// Parses raw JSON that an operation looks into, and counts its cost and that of searching objects.
    fn open(&mut self, value: &mut Value) -> Done<()> {
        self.step(match value {
            Value::Raw(text) => text.len(),
            Value::Map(map) => map.len(),
            _ => 0,
        })?;
        open(value);
        Ok(())
    }

    /// Rejects a value that would make the document deeper than a tree may be. Otherwise each operation could nest it
    /// below the result of the previous one.
    fn check_depth(&mut self, path: &str, value: &Value) -> Done<()> {
        let (depth, passed) = depth(value);
        self.step(passed)?;
        if path.matches('/').count() + depth <= TREE_DEPTH {
            return Ok(());
        }
        Err(Failure::TooMuch(format!("The allowed maximum depth of a patched object is {TREE_DEPTH}")))
    }
}

/// The depth of a value, and the number of values in it. No value is deeper than a document.
fn depth(value: &Value) -> (usize, usize) {
    let below = |found: (usize, usize), item| {
        let (deep, passed) = depth(item);
        (found.0.max(deep + 1), found.1 + passed)
    };
    match value {
        Value::List(items) => items.iter().fold((1, 1), below),
        Value::Map(map) => map.values().fold((1, 1), below),
        Value::Raw(text) => (json::depth(text), text.len()),
        _ => (0, 1),
    }
}

/// What the texts of errors end with if something is not there, or an index is beyond a list.
const MISSING: &str = "missing value";
const INVALID_INDEX: &str = "invalid index referenced";

fn one(document: &mut Value, members: &Map, work: &mut Work) -> Done<()> {
    let kind = members.get("op").map_or("unknown", |op| op.as_str().unwrap_or_default());
    let text = |name: &str| {
        let found = members.get(name).and_then(Value::as_str);
        found.ok_or_else(|| format!("{kind} operation failed to decode {name}: {MISSING}"))
    };
    // An absent value is null.
    let value = || members.get("value").cloned().unwrap_or_default();
    match kind {
        "add" => {
            let path = text("path")?;
            let missing = || format!("add operation does not apply: doc is missing path: \"{path}\": {MISSING}");
            add(document, path, value(), &missing, work).map_err(at_path("add", path))
        }
        "remove" => {
            let path = text("path")?;
            let missing = || format!("remove operation does not apply: doc is missing path: \"{path}\": {MISSING}");
            remove(document, path, &missing, work).map(drop).map_err(at_path("remove", path))
        }
        "replace" => replace(document, text("path")?, value(), work),
        "move" => {
            let from = text("from")?;
            let missing = || format!("move operation does not apply: doc is missing from path: {from}: {MISSING}");
            let moved = remove(document, from, &missing, work).map_err(at_path("move", last_key(from)))?;
            let path = text("path")?;
            let missing =
                || format!("move operation does not apply: doc is missing destination path: {path}: {MISSING}");
            add(document, path, moved, &missing, work).map_err(at_path("move", path))
        }
        "copy" => {
            let from = text("from")?;
            let missing = || format!("copy operation does not apply: doc is missing from path: {from}: {MISSING}");
            // A missing key is copied as a null without size.
            let found = read(document, from, &missing, work)
                .map_err(|failure| failure.within("error in copy for from", from))?;
            work.copied_bytes += found.as_deref().map_or(0, json_len);
            let path = text("path")?;
            if work.copied_bytes > MAX_COPY_BYTES {
                return Err(format!(
                    "Unable to complete the copy, the accumulated size increase of copy is {}, exceeding the limit {MAX_COPY_BYTES}",
                    work.copied_bytes
                )
                .into());
            }
            let copy = found.map(|found| found.clone()).unwrap_or_default();
            let missing =
                || format!("copy operation does not apply: doc is missing destination path: {path}: {MISSING}");
            add(document, path, copy, &missing, work)
                .map_err(|failure| failure.prefixed("error while adding value during copy"))
        }
        "test" => test(document, text("path")?, members.get("value"), work),
        other => Err(format!("Unexpected kind: {other}").into()),
    }
}

/// Says of a failure in which operation it occurred.
fn at_path<'p>(operation: &'static str, path: &'p str) -> impl Fn(Failure) -> Failure + 'p {
    move |failure| failure.within(&format!("error in {operation} for path"), path)
}

impl Failure {
    fn within(self, what: &str, path: &str) -> Failure {
        self.prefixed(&format!("{what}: '{path}'"))
    }

    /// What says that a path leads nowhere says everything.
    fn prefixed(self, prefix: &str) -> Failure {
        match self {
            Failure::Unfit(why) => Failure::Unfit(format!("{prefix}: {why}")),
            Failure::Nowhere(why) => Failure::Unfit(why),
            other => other,
        }
    }
}

fn last_key(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The text for a path that leads nowhere.
type Missing<'m> = &'m dyn Fn() -> String;

fn add(document: &mut Value, path: &str, value: Value, missing: Missing<'_>, work: &mut Work) -> Done<()> {
    work.check_depth(path, &value)?;
    match target(document, path, missing, work)? {
        Target::Member(map, key) => set_sorted(map, &key, value),
        Target::Item(items, key) if key == "-" => items.push(value),
        Target::Item(items, key) => {
            let at = index(&key, items.len() + 1).map_err(|why| match key.parse::<i64>() {
                Ok(_) => why,
                Err(_) => format!("value was not a proper array index: '{key}': {why}"),
            })?;
            work.step(items.len() - at)?;
            items.insert(at, value);
        }
    }
    Ok(())
}

fn remove(document: &mut Value, path: &str, missing: Missing<'_>, work: &mut Work) -> Done<Value> {
    match target(document, path, missing, work)? {
        Target::Member(map, key) => {
            Ok(map.remove(&key).ok_or_else(|| format!("Unable to remove nonexistent key: {key}: {MISSING}"))?)
        }
        Target::Item(items, key) => {
            let at = index(&key, items.len())?;
            work.step(items.len() - at)?;
            Ok(items.remove(at))
        }
    }
}

fn replace(document: &mut Value, path: &str, value: Value, work: &mut Work) -> Done<()> {
    if path.is_empty() {
        if !matches!(value, Value::Map(_) | Value::List(_)) {
            // Go formats an error that is not there.
            return Err("replace operation value must be object or array: %!w(<nil>)".to_owned().into());
        }
        *document = value;
        open(document);
        return Ok(());
    }
    work.check_depth(path, &value)?;
    let missing = || format!("replace operation does not apply: doc is missing path: {path}: {MISSING}");
    match target(document, path, &missing, work)? {
        // Not the RFC, but kube-apiserver: a missing key is set.
        Target::Member(map, key) => set_sorted(map, &key, value),
        Target::Item(items, key) => {
            let at = index(&key, items.len())
                .map_err(|_| format!("replace operation does not apply: doc is missing key: {path}: {MISSING}"))?;
            if let Some(slot) = items.get_mut(at) {
                *slot = value;
            }
        }
    }
    Ok(())
}

fn test(document: &mut Value, path: &str, expected: Option<&Value>, work: &mut Work) -> Done<()> {
    // A missing key, null and a missing expected value are equal.
    let expected = expected.unwrap_or(&Value::Null);
    let failed = || Failure::Untrue(format!("testing value {path} failed: test failed"));
    let missing = || format!("test operation does not apply: is missing path: {path}: {MISSING}");
    let found = match path.is_empty() {
        true => Some(document),
        false => read(document, path, &missing, work).map_err(at_path("test", path))?,
    };
    let Some(found) = found else {
        return if expected.is_null() { Ok(()) } else { Err(failed()) };
    };
    if !same(found, expected, work)? {
        return Err(failed());
    }
    open_tested(found);
    Ok(())
}

/// The value at a path; `None` for a missing key of an existing object.
fn read<'a>(document: &'a mut Value, path: &str, missing: Missing<'_>, work: &mut Work) -> Done<Option<&'a mut Value>> {
    Ok(match target(document, path, missing, work)? {
        Target::Member(map, key) => map.get_mut(&key),
        Target::Item(items, key) => {
            let at = index(&key, items.len())?;
            items.get_mut(at)
        }
    })
}

/// The location of a path: its parent, which must exist, and its last element.
enum Target<'a, 'p> {
    Member(&'a mut Map, Cow<'p, str>),
    Item(&'a mut Vec<Value>, Cow<'p, str>),
}

fn target<'a, 'p>(
    document: &'a mut Value,
    path: &'p str,
    missing: Missing<'_>,
    work: &mut Work,
) -> Done<Target<'a, 'p>> {
    let missing = || Failure::Nowhere(missing());
    // Text before the first slash is ignored: `data/m` is the member `m` of the document.
    let (_, path) = path.split_once('/').ok_or_else(missing)?;
    let mut parts = path.split('/');
    let last = parts.next_back().ok_or_else(missing)?;
    let mut parent = document;
    for part in parts {
        let part = unescape(part);
        work.open(parent)?;
        parent = match parent {
            Value::Map(map) => map.get_mut(&part).ok_or_else(missing)?,
            Value::List(items) => {
                let at = index(&part, items.len()).map_err(|_| missing())?;
                items.get_mut(at).ok_or_else(missing)?
            }
            _ => return Err(missing()),
        };
    }
    work.open(parent)?;
    match parent {
        Value::Map(map) => Ok(Target::Member(map, unescape(last))),
        Value::List(items) => Ok(Target::Item(items, unescape(last))),
        _ => Err(missing()),
    }
}

/// Parses raw JSON that an operation looks into. kube-apiserver's objects lose the order of their keys there, and are
/// written sorted, so that the result and its errors are in that order.
fn open(value: &mut Value) {
    open_spelled(value);
    if let Value::Map(map) = value {
        sort_keys(map);
    }
}

/// A test parses everything that it compares.
fn open_tested(value: &mut Value) {
    open(value);
    match value {
        Value::Map(map) => map.iter_mut().for_each(|(_, item)| open_tested(item)),
        Value::List(items) => items.iter_mut().for_each(open_tested),
        _ => {}
    }
}

pub(crate) fn sort_keys(map: &mut Map) {
    if !map.entries().is_sorted_by(|(a, _), (b, _)| a <= b) {
        map.entries_mut().sort_by(|(a, _), (b, _)| a.cmp(b));
    }
}

/// Sets a member of a parsed object.
fn set_sorted(map: &mut Map, key: &str, value: Value) {
    let entries = map.entries_mut();
    match entries.binary_search_by(|(known, _)| known.as_str().cmp(key)) {
        Ok(at) => drop(entries.get_mut(at).map(|(_, slot)| *slot = value)),
        Err(at) => entries.insert(at, (Str::new(key), value)),
    }
}

/// `~1` is a slash and `~0` a tilde, in one pass: `~01` is `~1`. Other tildes are literal.
fn unescape(part: &str) -> Cow<'_, str> {
    if !part.contains('~') {
        return Cow::Borrowed(part);
    }
    let mut out = String::with_capacity(part.len());
    let mut rest = part;
    while let Some((before, after)) = rest.split_once('~') {
        out.push_str(before);
        let (c, skip) = match after.as_bytes().first() {
            Some(b'1') => ('/', 1),
            Some(b'0') => ('~', 1),
            _ => ('~', 0),
        };
        out.push(c);
        rest = after.get(skip..).unwrap_or("");
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// An index below `len`: signs and leading zeros are accepted, negative ones count from the end.
fn index(text: &str, len: usize) -> Result<usize, String> {
    let number: i64 = text.parse().map_err(|_| format!("strconv.Atoi: parsing {}: invalid syntax", quoted(text)))?;
    let misfit = || format!("Unable to access invalid index: {number}: {INVALID_INDEX}");
    let at = if number < 0 {
        usize::try_from(number.unsigned_abs()).ok().and_then(|back| len.checked_sub(back))
    } else {
        usize::try_from(number).ok()
    };
    at.filter(|at| *at < len).ok_or_else(misfit)
}

/// Equality of `test`. kube-apiserver compares numbers by their text, so `3.0` differs from the `3` of an integer
/// field; an integral number in a float field prints without a point, so `3` is equal there.
fn same(found: &Value, expected: &Value, work: &mut Work) -> Done<bool> {
    Ok(match (found, expected) {
        (Value::Raw(found), Value::Raw(expected)) if found == expected => true,
        (Value::Raw(_), _) => {
            let mut found = found.clone();
            work.open(&mut found)?;
            !matches!(found, Value::Raw(_)) && same(&found, expected, work)?
        }
        (Value::Float(found), Value::Int(expected)) => *found == *expected as f64,
        (Value::List(found), Value::List(expected)) => {
            if found.len() != expected.len() {
                return Ok(false);
            }
            for (found, expected) in found.iter().zip(expected) {
                if !same(found, expected, work)? {
                    return Ok(false);
                }
            }
            true
        }
        (Value::Map(found), Value::Map(expected)) => {
            if found.len() != expected.len() {
                return Ok(false);
            }
            let mut rest: HashMap<&Str, &Value> = expected.iter().collect();
            for (key, found) in found.iter() {
                let Some(expected) = rest.remove(key) else { return Ok(false) };
                if !same(found, expected, work)? {
                    return Ok(false);
                }
            }
            true
        }
        (found, expected) => found == expected,
    })
}

/// The size of a value as compact JSON.
fn json_len(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(true) => 4,
        Value::Bool(false) => 5,
        Value::Int(number) => number.to_string().len(),
        Value::Float(number) => number.to_string().len(),
        Value::String(text) => string_len(text),
        Value::List(items) => items.iter().map(|item| json_len(item) + 1).sum::<usize>().max(1) + 1,
        Value::Map(map) => map.iter().map(|(key, item)| string_len(key) + json_len(item) + 2).sum::<usize>().max(1) + 1,
        Value::Raw(text) => text.len(),
    }
}

/// Go's JSON escapes HTML characters too.
fn string_len(text: &str) -> usize {
    let chars = text.chars().map(|c| match c {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => 6,
        c if u32::from(c) < 0x20 => 6,
        c => c.len_utf8(),
    });
    chars.sum::<usize>() + 2
}

#[cfg(test)]
mod tests;
