//! Header fields as HTTP/2 packs them (RFC 7541): written plainly, read in every form.
//! Guarantees that the table of past fields stays within its bound.
//! Must never know what a field means.

use crate::huffman;
use std::collections::VecDeque;

/// Bytes of past fields that are kept: what is usual, as nothing else was agreed.
const TABLE_BYTES: usize = 4096;
/// What a field counts beyond its text.
const FIELD_BYTES: usize = 32;

/// Names that have a number, from 1 on.
const NAMES: [&str; 61] = [
    ":authority",
    ":method",
    ":method",
    ":path",
    ":path",
    ":scheme",
    ":scheme",
    ":status",
    ":status",
    ":status",
    ":status",
    ":status",
    ":status",
    ":status",
    "accept-charset",
    "accept-encoding",
    "accept-language",
    "accept-ranges",
    "accept",
    "access-control-allow-origin",
    "age",
    "allow",
    "authorization",
    "cache-control",
    "content-disposition",
    "content-encoding",
    "content-language",
    "content-length",
    "content-location",
    "content-range",
    "content-type",
    "cookie",
    "date",
    "etag",
    "expect",
    "expires",
    "from",
    "host",
    "if-match",
    "if-modified-since",
    "if-none-match",
    "if-range",
    "if-unmodified-since",
    "last-modified",
    "link",
    "location",
    "max-forwards",
    "proxy-authenticate",
    "proxy-authorization",
    "range",
    "referer",
    "refresh",
    "retry-after",
    "server",
    "set-cookie",
    "strict-transport-security",
    "transfer-encoding",
    "user-agent",
    "vary",
    "via",
    "www-authenticate",
];

/// The values that have a number together with their names, from 2 on.
const VALUES: [&str; 15] = [
    "GET",
    "POST",
    "/",
    "/index.html",
    "http",
    "https",
    "200",
    "204",
    "206",
    "304",
    "400",
    "404",
    "500",
    "",
    "gzip, deflate",
];

/// The block is malformed, or asks for more than was agreed. Nothing that follows on the connection can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

/// Appends a field that is not to be remembered.
pub fn write(block: &mut Vec<u8>, name: &str, value: &[u8]) {
    block.push(0);
    write_text(block, name.as_bytes());
    write_text(block, value);
}

fn write_text(block: &mut Vec<u8>, text: &[u8]) {
    const MOST: usize = 0x7f;
    let mut rest = text.len();
    if rest < MOST {
        block.push(rest as u8);
    } else {
        block.push(MOST as u8);
        rest -= MOST;
        while rest >= 0x80 {
            block.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        block.push(rest as u8);
    }
    block.extend_from_slice(text);
}

/// What is known of the fields that came before.
#[derive(Default)]
pub struct Table {
    /// The newest first.
    fields: VecDeque<(Vec<u8>, Vec<u8>)>,
    bytes: usize,
    /// How much less than usual the other side wants to be kept.
    given_up: usize,
}

impl Table {
    /// Tells the fields of a block.
    ///
    /// # Errors
    /// It is malformed.
    pub fn read(&mut self, mut block: &[u8], mut tell: impl FnMut(&[u8], &[u8])) -> Result<(), Malformed> {
        while let Some(&first) = block.first() {
            if first & 0x80 != 0 {
                let (name, value) = self.field(number(&mut block, 7)?)?;
                tell(name, value);
                continue;
            }
            if first & 0xe0 == 0x20 {
                self.given_up = TABLE_BYTES.checked_sub(number(&mut block, 5)?).ok_or(Malformed)?;
                self.shrink(0);
                continue;
            }
            let is_kept = first & 0x40 != 0;
            let name = match number(&mut block, if is_kept { 6 } else { 4 })? {
                0 => text(&mut block)?,
                known => self.field(known)?.0.to_vec(),
            };
            let value = text(&mut block)?;
            tell(&name, &value);
            if is_kept {
                self.keep(name, value);
            }
        }
        Ok(())
    }

    /// The field with a number.
    fn field(&self, number: usize) -> Result<(&[u8], &[u8]), Malformed> {
        let at = number.checked_sub(1).ok_or(Malformed)?;
        if let Some(name) = NAMES.get(at) {
            let value = at.checked_sub(1).and_then(|at| VALUES.get(at)).copied().unwrap_or_default();
            return Ok((name.as_bytes(), value.as_bytes()));
        }
        let (name, value) = self.fields.get(at - NAMES.len()).ok_or(Malformed)?;
        Ok((name, value))
    }

    fn keep(&mut self, name: Vec<u8>, value: Vec<u8>) {
        let bytes = name.len() + value.len() + FIELD_BYTES;
        // One that is too large for the table empties it.
        self.shrink(bytes);
        if bytes + self.given_up <= TABLE_BYTES {
            self.bytes += bytes;
            self.fields.push_front((name, value));
        }
    }

    /// Gives up the oldest until there is room.
    fn shrink(&mut self, room: usize) {
        while self.bytes + room + self.given_up > TABLE_BYTES
            && let Some((name, value)) = self.fields.pop_back()
        {
            self.bytes -= name.len() + value.len() + FIELD_BYTES;
        }
    }
}

/// A number that begins in the last bits of a byte.
fn number(block: &mut &[u8], bits: u32) -> Result<usize, Malformed> {
    let most = (1 << bits) - 1;
    let mut next = || {
        let (first, rest) = block.split_first().ok_or(Malformed)?;
        *block = rest;
        Ok(usize::from(*first))
    };
    let mut number = next()? & most;
    if number < most {
        return Ok(number);
    }
    // Nothing that may be sent is larger than four of these tell.
    for shift in [0, 7, 14, 21] {
        let byte = next()?;
        number += (byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(number);
        }
    }
    Err(Malformed)
}

fn text(block: &mut &[u8]) -> Result<Vec<u8>, Malformed> {
    let is_code = block.first().is_some_and(|first| first & 0x80 != 0);
    let length = number(block, 7)?;
    let (text, rest) = block.split_at_checked(length).ok_or(Malformed)?;
    *block = rest;
    if is_code { huffman::decode(text).ok_or(Malformed) } else { Ok(text.to_vec()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(table: &mut Table, block: &[u8]) -> Result<Vec<String>, Malformed> {
        let mut fields = Vec::new();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        table.read(block, |name, value| fields.push(format!("{}={}", text(name), text(value))))?;
        Ok(fields)
    }

    #[test]
    fn fields_are_known_by_their_numbers_and_remembered() {
        let mut table = Table::default();
        // The name 31 and the value "a" are kept, "x: y" is not.
        let first = [0x88, 0x5f, 1, b'a', 0x00, 1, b'x', 1, b'y', 0x90];
        let told = [":status=200", "content-type=a", "x=y", "accept-encoding=gzip, deflate"];
        assert_eq!(read(&mut table, &first).unwrap(), told);
        assert_eq!(read(&mut table, &[0xbe, 0x83]).unwrap(), ["content-type=a", ":method=POST"]);
        // The newest comes first.
        assert_eq!(read(&mut table, &[0x40, 1, b'k', 1, b'v', 0xbe, 0xbf]).unwrap(), ["k=v", "k=v", "content-type=a"]);
        // A table of no bytes holds nothing, a large one as much as before.
        assert_eq!(read(&mut table, &[0x20, 0xbe]), Err(Malformed));
        assert_eq!(read(&mut table, &[0x3f, 0xe1, 0x1f, 0x40, 1, b'k', 1, b'w', 0xbe]).unwrap(), ["k=w", "k=w"]);
        assert_eq!(read(&mut table, &[0x3f, 0xe2, 0x1f]), Err(Malformed), "more than was agreed");
    }

    #[test]
    fn the_oldest_are_given_up() {
        let mut table = Table::default();
        let mut block = Vec::new();
        for letter in [b'a', b'b', b'c'] {
            block.push(0x40);
            write_text(&mut block, &[letter]);
            write_text(&mut block, &[b'v'; 2000]);
        }
        assert_eq!(read(&mut table, &block).unwrap().len(), 3);
        assert_eq!(table.fields.iter().map(|(name, _)| &name[..]).collect::<Vec<_>>(), [b"c", b"b"]);
        assert_eq!(table.bytes, 2 * (2001 + FIELD_BYTES));
        let mut large = vec![0x40];
        write_text(&mut large, b"d");
        write_text(&mut large, &[b'v'; 5000]);
        assert_eq!(read(&mut table, &large).unwrap().len(), 1);
        assert_eq!((table.fields.len(), table.bytes), (0, 0));
    }

    #[test]
    fn what_is_written_is_read() {
        let mut block = Vec::new();
        for length in [0, 126, 127, 128, 255, 300, 20_000] {
            write(&mut block, "name", &vec![b'v'; length]);
        }
        let lengths: Vec<_> = read(&mut Table::default(), &block).unwrap().iter().map(|it| it.len() - 5).collect();
        assert_eq!(lengths, [0, 126, 127, 128, 255, 300, 20_000]);
    }

    #[test]
    fn what_is_cut_off_or_unknown_is_told() {
        for block in [
            &[0x80][..],
            &[0xff, 0xff, 0xff, 0xff, 0xff, 0x7f],
            &[0x00],
            &[0x00, 3, b'a'],
            &[0xbe],
            &[0x00, 0x81, 0xff, 0],
        ] {
            assert_eq!(read(&mut Table::default(), block), Err(Malformed), "{block:x?}");
        }
    }
}
