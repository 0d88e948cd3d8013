//! Huffman's code of header fields (RFC 7541, appendix B), as far as it is read.
//! Guarantees that what is no such code is told.
//! Must never read further than it was given.

/// Symbols by the length of their codes, in the order of these: within a length they count up, and the next length goes on
/// where the last one ended.
const SYMBOLS: [(u32, &[u8]); 20] = [
    (5, b"012aceiost"),
    (6, b" %-./3456789=A_bdfghlmnpru"),
    (7, b":BCDEFGHIJKLMNOPQRSTUVWYjkqvwxyz"),
    (8, b"&*,;XZ"),
    (10, b"!\"()?"),
    (11, b"'+|"),
    (12, b"#>"),
    (13, b"\0$@[]~"),
    (14, b"^}"),
    (15, b"<`{"),
    (19, &[92, 195, 208]),
    (20, &[128, 130, 131, 162, 184, 194, 224, 226]),
    (21, &[153, 161, 167, 172, 176, 177, 179, 209, 216, 217, 227, 229, 230]),
    (
        22,
        &[
            129, 132, 133, 134, 136, 146, 154, 156, 160, 163, 164, 169, 170, 173, 178, 181, 185, 186, 187, 189, 190,
            196, 198, 228, 232, 233,
        ],
    ),
    (
        23,
        &[
            1, 135, 137, 138, 139, 140, 141, 143, 147, 149, 150, 151, 152, 155, 157, 158, 165, 166, 168, 174, 175, 180,
            182, 183, 188, 191, 197, 231, 239,
        ],
    ),
    (24, &[9, 142, 144, 145, 148, 159, 171, 206, 215, 225, 236, 237]),
    (25, &[199, 207, 234, 235]),
    (26, &[192, 193, 200, 201, 202, 205, 210, 213, 218, 219, 238, 240, 242, 243, 255]),
    (27, &[203, 204, 211, 212, 214, 221, 222, 223, 241, 244, 245, 246, 247, 248, 250, 251, 252, 253, 254]),
    (
        28,
        &[
            2, 3, 4, 5, 6, 7, 8, 11, 12, 14, 15, 16, 17, 18, 19, 20, 21, 23, 24, 25, 26, 27, 28, 29, 30, 31, 127, 220,
            249,
        ],
    ),
];

/// Bits of the longest code.
const LONGEST: u32 = 30;
/// The symbols with codes of that length.
const LAST: &[u8] = &[10, 13, 22];

/// The symbol at the beginning of some bits, and the length of its code; `None`: the end, which is nowhere sent.
fn symbol(bits: u64) -> Option<(u8, u32)> {
    let (mut first, mut before) = (0, 0);
    for (length, symbols) in SYMBOLS.into_iter().chain([(LONGEST, LAST)]) {
        first <<= length - before;
        before = length;
        let place = usize::try_from((bits >> (LONGEST - length)) - first).ok()?;
        if let Some(symbol) = symbols.get(place) {
            return Some((*symbol, length));
        }
        first += symbols.len() as u64;
    }
    None
}

/// What a code stands for, if it is one.
pub fn decode(code: &[u8]) -> Option<Vec<u8>> {
    let mut text = Vec::with_capacity(code.len() * 8 / 5);
    let (mut bits, mut have) = (0_u64, 0_u32);
    let mut rest = code.iter();
    loop {
        while have < LONGEST
            && let Some(byte) = rest.next()
        {
            bits = (bits << 8) | u64::from(*byte);
            have += 8;
        }
        let mask = (1_u64 << have) - 1;
        bits &= mask;
        // Behind the last bit there are ones.
        let next = match have.checked_sub(LONGEST) {
            Some(more) => bits >> more,
            None => ((bits + 1) << (LONGEST - have)) - 1,
        };
        match symbol(next) {
            Some((symbol, length)) if length <= have => {
                text.push(symbol);
                have -= length;
            }
            // What is left is less than a byte of ones.
            _ => return (have < 8 && bits == mask).then_some(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_read() {
        // The examples of RFC 7541, C.4 and C.6.
        let examples: [(&[u8], &str); 4] = [
            (&[0xf1, 0xe3, 0xc2, 0xe5, 0xf2, 0x3a, 0x6b, 0xa0, 0xab, 0x90, 0xf4, 0xff], "www.example.com"),
            (&[0xa8, 0xeb, 0x10, 0x64, 0x9c, 0xbf], "no-cache"),
            (&[0x25, 0xa8, 0x49, 0xe9, 0x5b, 0xa9, 0x7d, 0x7f], "custom-key"),
            (&[0x64, 0x02], "302"),
        ];
        for (code, text) in examples {
            assert_eq!(decode(code).as_deref(), Some(text.as_bytes()), "{text}");
        }
        assert_eq!(decode(b""), Some(Vec::new()));
    }

    #[test]
    fn each_symbol_has_one_code_and_there_is_no_room_for_another() {
        let mut all: Vec<u8> = SYMBOLS.iter().flat_map(|(_, symbols)| *symbols).chain(LAST).copied().collect();
        all.sort_unstable();
        assert_eq!(all, (0..=255).collect::<Vec<u8>>());
        let taken = |(length, symbols): (u32, &[u8])| (symbols.len() as u64) << (LONGEST - length);
        let taken: u64 = SYMBOLS.into_iter().chain([(LONGEST, LAST)]).map(taken).sum();
        assert_eq!(taken, (1 << LONGEST) - 1, "one is left for the end");
    }

    #[test]
    fn what_is_no_code_is_told() {
        for code in [
            &[0xff][..],
            &[0xff; 4],
            &[0x00],
            &[0xf1, 0xe3, 0xc2, 0xe5, 0xf2, 0x3a, 0x6b, 0xa0, 0xab, 0x90, 0xf4, 0xff, 0xff],
        ] {
            assert_eq!(decode(code), None, "{code:x?}");
        }
    }
}
