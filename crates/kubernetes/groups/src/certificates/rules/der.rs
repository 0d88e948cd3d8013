//! DER: values one after the other. Guarantees that nothing outside of the given bytes is read. Must never interpret a value
//! beyond its tag and length.

const SEQUENCE: u8 = 0x30;
const INTEGER: u8 = 0x02;
const BIT_STRING: u8 = 0x03;
pub const OCTET_STRING: u8 = 0x04;
pub const NULL: u8 = 0x05;
const OBJECT_IDENTIFIER: u8 = 0x06;

/// The values that are left.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    /// The values of bytes that are one sequence.
    pub fn of_sequence(bytes: &'a [u8]) -> Option<Reader<'a>> {
        let mut all = Reader(bytes);
        all.sequence().filter(|_| all.is_empty())
    }

    pub fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    /// The content of the next value, if it has this tag.
    pub fn take(&mut self, tag: u8) -> Option<&'a [u8]> {
        let [found, length, rest @ ..] = self.0 else { return None };
        if *found != tag {
            return None;
        }
        let (length, rest) = match usize::from(*length) {
            short @ 0..=0x7f => (short, rest),
            long => {
                let (digits, rest) = rest.split_at_checked(long & 0x7f).filter(|(digits, _)| digits.len() <= 4)?;
                (digits.iter().fold(0, |sum, digit| sum << 8 | usize::from(*digit)), rest)
            }
        };
        let (content, rest) = rest.split_at_checked(length)?;
        self.0 = rest;
        Some(content)
    }

    /// The values of the next value, if that is a sequence.
    pub fn sequence(&mut self) -> Option<Reader<'a>> {
        self.take(SEQUENCE).map(Reader)
    }

    /// The next value with its tag and length, if it is a sequence.
    pub fn whole_sequence(&mut self) -> Option<&'a [u8]> {
        let before = self.0;
        self.sequence()?;
        before.get(..before.len() - self.0.len())
    }

    /// The bytes of the next value, if that is an integer.
    pub fn integer(&mut self) -> Option<&'a [u8]> {
        self.take(INTEGER).filter(|bytes| !bytes.is_empty())
    }

    /// The digits of the next value without zeros before them, if that is an integer that is not negative.
    pub fn magnitude(&mut self) -> Option<&'a [u8]> {
        let bytes = self.integer()?;
        let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
        bytes.get(zeros..).filter(|_| bytes.first().is_some_and(|first| *first < 0x80))
    }

    pub fn object_identifier(&mut self) -> Option<&'a [u8]> {
        self.take(OBJECT_IDENTIFIER)
    }

    /// The bytes of the next value, if that is a text of whole bytes.
    pub fn bit_string(&mut self) -> Option<&'a [u8]> {
        match self.take(BIT_STRING)? {
            [0, bytes @ ..] => Some(bytes),
            _ => None,
        }
    }

    /// The identifier of an algorithm, and its parameters.
    pub fn algorithm(&mut self) -> Option<(&'a [u8], Reader<'a>)> {
        let mut algorithm = self.sequence()?;
        Some((algorithm.object_identifier()?, algorithm))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_within_their_bounds() {
        let mut reader = Reader(&[0x30, 0x03, 0x02, 0x01, 0x7f, 0x04, 0x81, 0x01, 0xaa]);
        let mut inner = reader.sequence().expect("a sequence");
        assert_eq!(inner.magnitude(), Some(&[0x7f][..]));
        assert!(inner.is_empty());
        assert_eq!(reader.integer(), None, "another tag");
        assert_eq!(reader.take(OCTET_STRING), Some(&[0xaa][..]));
        assert!(reader.is_empty());
        for cut in [&[0x30][..], &[0x30, 0x02, 0x00], &[0x30, 0x82, 0x01], &[0x30, 0x85, 0, 0, 0, 0, 0], &[0x30, 0xff]]
        {
            assert!(Reader(cut).sequence().is_none(), "{cut:?}");
        }
        assert!(Reader::of_sequence(&[0x30, 0x00, 0x00]).is_none(), "something follows");
        assert_eq!(Reader(&[0x02, 0x02, 0x00, 0x80]).magnitude(), Some(&[0x80][..]));
        assert_eq!(Reader(&[0x02, 0x01, 0x80]).magnitude(), None, "negative");
    }
}
