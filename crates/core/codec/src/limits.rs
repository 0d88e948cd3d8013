//! The bounds of the codecs, with their reasons. The caller checks the size of an input.

/// The nesting depth at which kube-apiserver's JSON scanner fails ("exceeded max depth").
pub const JSON_DEPTH: usize = 10_000;

/// The depth of a tree. Trees are built, walked and dropped recursively, on stacks of 2 MiB.
pub const TREE_DEPTH: usize = 500;

/// Columns of indentation in YAML and indented JSON. What is deeper goes on in its line: one million bytes of small values in 480 levels were
/// 480 MB of spaces. Objects that people write have fewer than these 64 levels.
pub const MAX_INDENT: usize = 128;

/// The nesting depth of protobuf messages, which are decoded recursively too.
pub const PROTOBUF_DEPTH: usize = 500;

/// The nesting depth of CBOR, as in kube-apiserver.
pub const CBOR_DEPTH: usize = 64;

/// The number of items of an array or pairs of a map in CBOR, as in kube-apiserver.
pub const CBOR_ELEMENTS: u64 = 1024;

/// The range of a time's text in seconds since 1970: the years 1 to 9999.
pub(crate) const WRITABLE_SECONDS: std::ops::Range<i64> = -62_135_596_800..253_402_300_800;

/// The number of unknown and duplicate fields that are reported, as in kube-apiserver.
pub const STRICT_PROBLEMS: usize = 100;

/// Bytes of messages about unknown fields in the result of one strategic merge patch. kube-apiserver reports all of
/// them; this is enough for a body of the usual size, while paths through long keys would be unbounded.
pub const UNKNOWN_BYTES: usize = 8 << 20;

/// Bytes of the reported paths of these fields, after which no more are reported: a path is as long as its keys, and
/// may occur a hundred times. kube-apiserver has no such bound.
pub const STRICT_PROBLEM_BYTES: usize = 256 * 1024;

/// Bytes of text that the aliases of a YAML document may expand to in total: the size of a body. kube-apiserver
/// counts only nodes, and copies a text for each alias.
pub const YAML_ALIASED_BYTES: usize = 3 * 1024 * 1024;

/// The share of decoded YAML nodes that may come from aliases: almost all in small documents, a tenth in large ones,
/// as in kube-apiserver.
pub fn yaml_alias_ratio(decoded: u64) -> f64 {
    const LOW: f64 = 400_000.0;
    const HIGH: f64 = 4_000_000.0;
    let decoded = (decoded as f64).clamp(LOW, HIGH);
    0.99 - 0.89 * ((decoded - LOW) / (HIGH - LOW))
}

/// The number of objects within an object. Each gets required fields and defaults, even if it was sent empty; each
/// takes at least eight bytes when stored, so that no storable object has more. kube-apiserver has no such bound.
pub const OBJECTS: usize = 200_000;
