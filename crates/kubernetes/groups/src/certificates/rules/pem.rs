//! PEM blocks: a type, headers and data.
//!
//! Only the frame is parsed, and whether the data is one DER sequence. The content is not validated.

use pintle_schema::base64;

/// One block.
pub struct Block<'a> {
    /// The type after `BEGIN`.
    pub kind: &'a str,
    pub has_headers: bool,
    pub data: Vec<u8>,
}

/// The blocks of a text. Text between them, and blocks without a valid frame, are skipped. As in Go's decoder a block ends at the first
/// `END` and begins at the last `BEGIN` before it, so that each character is looked at twice, whatever the text is.
pub fn blocks(text: &str) -> Vec<Block<'_>> {
    let mut blocks = Vec::new();
    let mut rest = text;
    while let Some((before, end)) = rest.split_once("-----END ") {
        rest = end;
        let Some((end_kind, after)) = end.split_once("-----") else { break };
        let begun = before.rsplit_once("-----BEGIN ").and_then(|(_, begun)| begun.split_once("-----"));
        let Some((kind, body)) = begun.filter(|(kind, _)| *kind == end_kind) else { continue };
        let (headers, lines): (Vec<&str>, Vec<&str>) =
            body.lines().map(str::trim).filter(|line| !line.is_empty()).partition(|line| line.contains(':'));
        let Ok(data) = base64::decode(&lines.concat()) else { continue };
        blocks.push(Block { kind, has_headers: !headers.is_empty(), data });
        rest = after;
    }
    blocks
}

/// Whether bytes are one DER sequence, of the length that it states.
pub fn is_sequence(bytes: &[u8]) -> bool {
    let [0x30, length, rest @ ..] = bytes else { return false };
    match usize::from(*length) {
        short @ 0..=0x7f => rest.len() == short,
        long => {
            let digits = long & 0x7f;
            let Some((length, rest)) = rest.split_at_checked(digits).filter(|_| (1..=4).contains(&digits)) else {
                return false;
            };
            length.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte)) == rest.len()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{blocks, is_sequence};

    #[test]
    fn blocks_are_found_between_other_text() {
        let text =
            "x\n-----BEGIN A B-----\nMAMC\nAQE=\n-----END A B-----\n-----BEGIN C-----\nK: v\n\nMAA=\n-----END C-----\n";
        let found = blocks(text);
        assert_eq!(
            found.iter().map(|block| (block.kind, block.has_headers)).collect::<Vec<_>>(),
            [("A B", false), ("C", true)]
        );
        assert!(found.iter().all(|block| is_sequence(&block.data)));
        assert!(blocks("hello").is_empty() && !is_sequence(b"hello"));
    }

    #[test]
    fn each_character_is_looked_at_twice() {
        // Looking for the end of each beginning would take hours.
        let begins = "-----BEGIN A-----\n".repeat(200_000);
        assert!(blocks(&begins).is_empty());
        let ends = "-----END A-----\n".repeat(200_000);
        let text = format!("{ends}{begins}MAA=\n{ends}");
        let found = blocks(&text);
        assert_eq!(found.iter().map(|block| (block.kind, &*block.data)).collect::<Vec<_>>(), [("A", &[0x30, 0][..])]);
        assert!(blocks(&format!("{begins}!\n{ends}")).is_empty());
        let cut = "-----BEGIN A-----\nMAA=\n-----END A\n-----BEGIN B-----\nMAA=\n-----END B-----\n-----BEGIN C-----\n-----END D-----\n";
        assert_eq!(blocks(cut).iter().map(|block| block.kind).collect::<Vec<_>>(), ["B"]);
    }
}
