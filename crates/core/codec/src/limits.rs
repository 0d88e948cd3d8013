//! Every bound of the codecs, each with its reason. How large an input may be is checked by the caller.

/// How deep JSON may nest before the reference's scanner gives up ("exceeded max depth").
pub const JSON_DEPTH: usize = 10_000;

/// How deep a tree may be that is kept. Trees are built, walked and dropped by recursion, on stacks of 2 MiB.
pub const TREE_DEPTH: usize = 500;

/// How deep protobuf messages may nest, below [`TREE_DEPTH`] because wrappers add messages but no levels.
pub const PROTOBUF_DEPTH: usize = 500;

/// How many unknown and duplicate fields are listed, as in the reference.
pub const STRICT_PROBLEMS: usize = 100;
