//! Every bound of the codecs, each with its reason. How large an input may be is checked by the caller.

/// How deep JSON may nest before the reference's scanner gives up ("exceeded max depth").
pub const JSON_DEPTH: usize = 10_000;

/// How deep a tree may be that is kept. Trees are built, walked and dropped by recursion, on stacks of 2 MiB.
pub const TREE_DEPTH: usize = 500;

/// How deep protobuf messages may nest: they are read by recursion too.
pub const PROTOBUF_DEPTH: usize = 500;

/// How deep CBOR may nest, as in the reference.
pub const CBOR_DEPTH: usize = 64;

/// How many items of an array or pairs of a map CBOR may show, as in the reference.
pub const CBOR_ELEMENTS: u64 = 1024;

/// Seconds since 1970 that a time's text has room for: the years 1 to 9999.
pub(crate) const WRITABLE_SECONDS: std::ops::Range<i64> = -62_135_596_800..253_402_300_800;

/// How many unknown and duplicate fields are listed, as in the reference.
pub const STRICT_PROBLEMS: usize = 100;

/// How many bytes of messages about unknown fields the result of one strategic patch may collect. The reference lists all of
/// them; this many are what a body of the usual size can bring, and paths through long keys would be without bound.
pub const UNKNOWN_BYTES: usize = 8 << 20;

/// How many bytes the texts of these fields may have together before no more are listed: a path is as long as its keys, and
/// may be told a hundred times. The reference has no such bound.
pub const STRICT_PROBLEM_BYTES: usize = 256 * 1024;

/// How many bytes of text the aliases of a YAML document may stand for together: as many as a body may have. The reference
/// counts nodes alone, and writes out a text as often as it is named.
pub const YAML_ALIASED_BYTES: usize = 3 * 1024 * 1024;

/// How deep broken YAML may be for its error to be worded with care: each token costs a step for each bracket around it.
pub(crate) const YAML_ASKED_DEPTH: usize = 50;

/// The share of decoded YAML nodes that may come from aliases: nearly all in small documents, a tenth in large ones,
/// as in the reference.
pub fn yaml_alias_ratio(decoded: u64) -> f64 {
    const LOW: f64 = 400_000.0;
    const HIGH: f64 = 4_000_000.0;
    let decoded = (decoded as f64).clamp(LOW, HIGH);
    0.99 - 0.89 * ((decoded - LOW) / (HIGH - LOW))
}

/// How many objects an object may be made of. Each gets the fields that are always there, and defaults, whatever was sent of
/// it; one takes eight bytes at the least where it is stored, so no more fit into what can be. The reference has no such bound.
pub const OBJECTS: usize = 200_000;
