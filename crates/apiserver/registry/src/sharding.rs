//! `ShardSelector`: the part of a collection that a sharded list or watch selects, by the hash of a metadata field. Guarantees
//! that an expression has kube-apiserver's meaning, and that matching an object allocates nothing. Must never evaluate the
//! expression: it is parsed, and must have the one allowed form.

use crate::status::Status;
use pintle_cache::Object;
use pintle_cel::ast::{Expr, Kind, Literal};
use pintle_cel::parser::{Syntax, parse};
use std::fmt;

/// The end of the last range: 2^64 has a digit more than all other bounds.
const UPPER_BOUND: &str = "0x10000000000000000";

/// The hashed field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Uid,
    Namespace,
}

impl Field {
    const fn path(self) -> &'static str {
        match self {
            Field::Uid => "object.metadata.uid",
            Field::Namespace => "object.metadata.namespace",
        }
    }
}

/// The hashes from one bound up to another, which is not included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Range {
    start: u128,
    end: u128,
}

/// Ranges of the hash of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShardSelector {
    field: Field,
    ranges: Vec<Range>,
}

impl ShardSelector {
    /// Parses the value of `shardSelector`.
    ///
    /// # Errors
    /// It is something else than calls of `shardRange` joined by `||`.
    pub fn parse(text: &str) -> crate::Result<ShardSelector> {
        read(text).map_err(|why| Status::unexplained(format!("invalid shard selector: {why}")))
    }

    /// How many bytes of memory it takes.
    pub(crate) fn held_bytes(&self) -> usize {
        size_of::<ShardSelector>() + self.ranges.capacity() * size_of::<Range>()
    }

    /// Whether an object is in one of the ranges.
    pub fn matches(&self, object: &Object) -> bool {
        let hash = match self.field {
            Field::Uid => hash(object.encoded.uid()),
            Field::Namespace => hash(object.namespace()),
        };
        self.has(hash)
    }

    fn has(&self, hash: u64) -> bool {
        let hash = u128::from(hash);
        self.ranges.iter().any(|range| range.start <= hash && hash < range.end)
    }
}

/// The canonical form, which lists report.
impl fmt::Display for ShardSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, Range { start, end }) in self.ranges.iter().enumerate() {
            let separator = if at > 0 { " || " } else { "" };
            write!(f, "{separator}shardRange({}, '{start:#018x}', '{end:#018x}')", self.field.path())?;
        }
        Ok(())
    }
}

/// The FNV-1a hash of 64 bits.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

fn read(text: &str) -> Result<ShardSelector, String> {
    let text = text.trim();
    if text.is_empty() {
        return Err("empty shard selector is not allowed; omit the parameter for unfiltered lists".to_owned());
    }
    let parsed = parse(text, Syntax::default());
    let ast = parsed.map_err(|issues| {
        let first = issues.iter().next().map_or("", |issue| issue.message.as_str());
        format!("CEL parse error: {first}")
    })?;
    let mut found = Vec::new();
    gather(&ast.root, &mut found)?;
    let mut all = found.iter();
    let Some((field, _)) = all.next() else { return Err("no shard range".to_owned()) };
    if let Some((other, _)) = all.find(|(other, _)| other != field) {
        let (field, other) = (field.path(), other.path());
        return Err(format!("all shard ranges must use the same field, got {field:?} and {other:?}"));
    }
    Ok(ShardSelector { field: *field, ranges: found.iter().map(|(_, range)| *range).collect() })
}

/// Adds the ranges of a call of `shardRange`, or of several joined by `||`, from left to right.
fn gather(expression: &Expr, found: &mut Vec<(Field, Range)>) -> Result<(), String> {
    match &expression.kind {
        Kind::Call { function, args, .. } if &**function == "_||_" => {
            args.iter().try_for_each(|side| gather(side, found))
        }
        Kind::Call { function, args, .. } if &**function == "shardRange" => {
            found.push(shard_range(args)?);
            Ok(())
        }
        Kind::Call { function, .. } => {
            Err(format!("unsupported function {:?}; only shardRange() and || are allowed", &**function))
        }
        other => {
            Err(format!("unexpected expression kind {}; expected shardRange() call or || operator", kind_number(other)))
        }
    }
}

fn shard_range(args: &[Expr]) -> Result<(Field, Range), String> {
    let [field, start, end] = args else {
        return Err(format!("shardRange() requires exactly 3 arguments, got {}", args.len()));
    };
    let path = field_path(field).map_err(|why| format!("shardRange() first argument: {why}"))?;
    let field = [Field::Uid, Field::Namespace].into_iter().find(|field| field.path() == path).ok_or_else(|| {
        format!("unsupported field path {path:?}; supported: object.metadata.uid, object.metadata.namespace")
    })?;
    let (start_text, start) = bound(start, "hexStart")?;
    let (end_text, end) = bound(end, "hexEnd")?;
    if start >= end {
        return Err(format!("shard range start {start_text} must be less than end {end_text}"));
    }
    Ok((field, Range { start, end }))
}

fn field_path(expression: &Expr) -> Result<String, String> {
    match &expression.kind {
        Kind::Ident(name) => Ok(name.to_string()),
        Kind::Select { operand, field, .. } => Ok(format!("{}.{field}", field_path(operand)?)),
        other => {
            Err(format!("expected field path (e.g. object.metadata.uid), got expression kind {}", kind_number(other)))
        }
    }
}

/// A bound as it is written, and its value.
fn bound<'a>(expression: &'a Expr, name: &str) -> Result<(&'a str, u128), String> {
    let text = match &expression.kind {
        Kind::Literal(Literal::String(text)) => &**text,
        Kind::Literal(other) => return Err(format!("{name} must be a string literal, got {}", go_type(other))),
        other => {
            let kind = kind_number(other);
            return Err(format!("{name} must be a string literal (e.g. '0xff'), got expression kind {kind}"));
        }
    };
    let digits = text.strip_prefix("0x").ok_or_else(|| format!("{name} must have '0x' prefix, got {text:?}"))?;
    if digits.is_empty() {
        return Err(format!("{name}: hex value is required after '0x'"));
    }
    if digits.len() > 17 {
        let count = digits.len();
        return Err(format!("{name}: hex value too long ({count} chars, max 17): {digits:?}"));
    }
    if let Some(other) = digits.chars().find(|digit| !matches!(digit, '0'..='9' | 'a'..='f')) {
        return Err(format!("{name}: invalid hex character {:?} in {text:?}", other.to_string()));
    }
    match digits.len() {
        16 => {}
        17 if text == UPPER_BOUND => {}
        17 => {
            return Err(format!("{name}: 17-digit hex value must be '{UPPER_BOUND}' (2^64), got {text:?}"));
        }
        _ => {
            return Err(format!(
                "{name} must be a 0x-prefixed 16-digit hex value, got {text:?} (did you mean \"0x{digits:0>16}\"?)"
            ));
        }
    }
    let value = u128::from_str_radix(digits, 16).map_err(|error| format!("{name}: {error}"))?;
    Ok((text, value))
}

/// The number by which messages name a kind of expression.
const fn kind_number(kind: &Kind) -> u8 {
    match kind {
        Kind::Unspecified => 0,
        Kind::Call { .. } => 1,
        Kind::Comprehension(_) => 2,
        Kind::Ident(_) => 3,
        Kind::List { .. } => 4,
        Kind::Literal(_) => 5,
        Kind::Map(_) => 6,
        Kind::Select { .. } => 7,
        Kind::Struct { .. } => 8,
    }
}

/// The type by which messages name a literal.
const fn go_type(literal: &Literal) -> &'static str {
    match literal {
        Literal::Null => "structpb.NullValue",
        Literal::Bool(_) => "bool",
        Literal::Int(_) => "int64",
        Literal::Uint(_) => "uint64",
        Literal::Double(_) => "float64",
        Literal::String(_) => "string",
        Literal::Bytes(_) => "[]uint8",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors_are_read_or_refused() {
        const HALF: &str = "shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000')";
        const BOTH: &str = "shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000') || \
                            shardRange(object.metadata.uid, '0x8000000000000000', '0x10000000000000000')";
        let rows: &[(&str, Result<&str, &str>)] = &[
            (HALF, Ok(HALF)),
            ("  shardRange( object.metadata.uid ,\"0x0000000000000000\",'0x8000000000000000' ) ", Ok(HALF)),
            (BOTH, Ok(BOTH)),
            (" ", Err("empty shard selector is not allowed; omit the parameter for unfiltered lists")),
            ("other(1)", Err("unsupported function \"other\"; only shardRange() and || are allowed")),
            (
                "shardRange(object.metadata.uid, '0x0', '0x8') && true",
                Err("unsupported function \"_&&_\"; only shardRange() and || are allowed"),
            ),
            ("object.metadata", Err("unexpected expression kind 7; expected shardRange() call or || operator")),
            ("'x'", Err("unexpected expression kind 5; expected shardRange() call or || operator")),
            ("shardRange(a)", Err("shardRange() requires exactly 3 arguments, got 1")),
            (
                "shardRange(1, '', '')",
                Err(
                    "shardRange() first argument: expected field path (e.g. object.metadata.uid), got expression kind 5",
                ),
            ),
            (
                "shardRange(object.metadata.name, '0x00', '0x80')",
                Err(
                    "unsupported field path \"object.metadata.name\"; supported: object.metadata.uid, object.metadata.namespace",
                ),
            ),
            ("shardRange(object.metadata.uid, 0, 8)", Err("hexStart must be a string literal, got int64")),
            (
                "shardRange(object.metadata.uid, hex(0), '0x8')",
                Err("hexStart must be a string literal (e.g. '0xff'), got expression kind 1"),
            ),
            ("shardRange(object.metadata.uid, '00', '0x8')", Err("hexStart must have '0x' prefix, got \"00\"")),
            ("shardRange(object.metadata.uid, '0x', '0x8')", Err("hexStart: hex value is required after '0x'")),
            (
                "shardRange(object.metadata.uid, '0x000000000000000000', '0x80')",
                Err("hexStart: hex value too long (18 chars, max 17): \"000000000000000000\""),
            ),
            (
                "shardRange(object.metadata.uid, '0x0G', '0x80')",
                Err("hexStart: invalid hex character \"G\" in \"0x0G\""),
            ),
            (
                "shardRange(object.metadata.uid, '0x20000000000000000', '0x80')",
                Err("hexStart: 17-digit hex value must be '0x10000000000000000' (2^64), got \"0x20000000000000000\""),
            ),
            (
                "shardRange(object.metadata.uid, '0x0000000000000000', '0xff')",
                Err(
                    "hexEnd must be a 0x-prefixed 16-digit hex value, got \"0xff\" (did you mean \"0x00000000000000ff\"?)",
                ),
            ),
            (
                "shardRange(object.metadata.uid, '0x8000000000000000', '0x8000000000000000')",
                Err("shard range start 0x8000000000000000 must be less than end 0x8000000000000000"),
            ),
            (
                "shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000') || \
                 shardRange(object.metadata.namespace, '0x0000000000000000', '0x8000000000000000')",
                Err(
                    "all shard ranges must use the same field, got \"object.metadata.uid\" and \"object.metadata.namespace\"",
                ),
            ),
        ];
        for (text, expected) in rows {
            let found = ShardSelector::parse(text).map(|selector| selector.to_string());
            let expected = expected.map(str::to_owned).map_err(|why| format!("invalid shard selector: {why}"));
            assert_eq!(found.map_err(|status| status.message.to_string()), expected, "{text}");
        }
        // As long as a URL can be: an expression is bounded before anything follows its tree.
        let long = |text: &str| text.repeat(65_536 / text.len());
        for text in [
            format!("shardRange({}a, '', '')", long("a.")),
            format!("shardRange({}, '', '')", long("(")),
            format!("{}a", long("!")),
            format!("{}a", long("a?a:")),
        ] {
            assert!(ShardSelector::parse(&text).is_err(), "{text:.40}");
        }
        let broken = ShardSelector::parse("shardRange(").expect_err("no expression");
        assert!(broken.message.starts_with("invalid shard selector: CEL parse error: Syntax error: "), "{broken:?}");
        assert_eq!((broken.code, broken.reason), (500, ""));
    }

    #[test]
    fn every_hash_is_in_one_of_the_ranges_that_cover_all() {
        assert_eq!([hash(""), hash("a"), hash("foobar")], [0xcbf29ce484222325, 0xaf63dc4c8601ec8c, 0x85944171f73967e8]);
        let halves = [("0000000000000000", "8000000000000000"), ("8000000000000000", "10000000000000000")]
            .map(|(from, to)| ShardSelector::parse(&format!("shardRange(object.metadata.uid, '0x{from}', '0x{to}')")))
            .map(|selector| selector.expect("a selector"));
        for (hash, expected) in [
            (0, [true, false]),
            (0x7fff_ffff_ffff_ffff, [true, false]),
            (0x8000_0000_0000_0000, [false, true]),
            (u64::MAX, [false, true]),
        ] {
            assert_eq!(halves.each_ref().map(|half| half.has(hash)), expected, "{hash:x}");
        }
    }
}
