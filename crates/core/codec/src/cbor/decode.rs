//! Decodes CBOR items to the tree of the equivalent JSON.
//! Guarantees that items without a JSON form are rejected: numbers beyond 64 bits, non-finite numbers, keys that are
//! not text.

use super::half;
use super::item::{
    ARRAY, AS_BASE64, BYTES, FALSE, Head, MAP, NEGATIVE, NULL, PRIMITIVE, Reader, TAG, TEXT, TRUE, UNSIGNED, broken,
    name,
};
use crate::error::DecodeError;
use crate::json::keys::KeyIndex;
use crate::json::scan::as_text;
use crate::limits;
use pintle_schema::{Map, MicroTime, Str, Time, Value, base64};
use std::fmt::Write;

type Read<T> = Result<T, DecodeError>;

const TIME_TEXT: u64 = 0;
const TIME_SECONDS: u64 = 1;
const BIG_UNSIGNED: u64 = 2;
const BIG_NEGATIVE: u64 = 3;
const AS_BASE64_URL: u64 = 21;
const AS_HEX: u64 = 23;

pub(super) fn document(bytes: &[u8]) -> Read<Value> {
    if bytes.is_empty() {
        return Err(broken("EOF"));
    }
    let mut decoder = Decoder { reader: Reader::new(bytes), shown_as: None };
    let value = decoder.value(0)?;
    decoder.reader.end()?;
    Ok(value)
}

struct Decoder<'a> {
    reader: Reader<'a>,
    /// The innermost enclosing tag that selects the text encoding of bytes.
    shown_as: Option<u64>,
}

impl Decoder<'_> {
    fn value(&mut self, depth: usize) -> Read<Value> {
        let around = self.shown_as;
        let mut head = self.reader.head()?;
        // Tags without a meaning here, such as the one that marks CBOR, are skipped; they do not count as levels.
        while let (TAG, Some(tag)) = (head.major, head.number) {
            match tag {
                TIME_TEXT | TIME_SECONDS | BIG_UNSIGNED | BIG_NEGATIVE => break,
                AS_BASE64_URL | AS_BASE64 | AS_HEX => self.shown_as = Some(tag),
                _ => {}
            }
            head = self.reader.head()?;
        }
        let value = self.item(head, depth);
        self.shown_as = around;
        value
    }

    fn item(&mut self, head: Head, depth: usize) -> Read<Value> {
        match (head.major, head.number) {
            (UNSIGNED, Some(number)) => {
                i64::try_from(number).map(Value::Int).map_err(|_| overflow(UNSIGNED, number.into()))
            }
            (NEGATIVE, Some(number)) => {
                let int = -1 - i128::from(number);
                i64::try_from(int).map(Value::Int).map_err(|_| overflow(NEGATIVE, int))
            }
            (BYTES, _) => {
                let bytes = self.string(head)?;
                Ok(Value::String(self.shown(&bytes)))
            }
            (TEXT, _) => self.text(head).map(Value::String),
            (ARRAY, length) => self.array(length, deeper(depth)?),
            (MAP, length) => self.map(length, deeper(depth)?),
            (TAG, Some(tag)) => self.tagged(tag, depth),
            (PRIMITIVE, Some(number)) => primitive(head.width, number),
            (major, _) => Err(unacceptable(major, "its length")),
        }
    }

    /// The content of a byte or text string, with its chunks joined.
    fn string(&mut self, head: Head) -> Read<Vec<u8>> {
        if let Some(length) = head.number {
            return self.reader.take(length).map(<[u8]>::to_vec);
        }
        let mut whole = Vec::new();
        while !self.reader.ends() {
            let piece = self.reader.head()?;
            match piece.number {
                Some(length) if piece.major == head.major => whole.extend_from_slice(self.reader.take(length)?),
                _ => {
                    let (found, wanted) = (name(piece.major), name(head.major));
                    return Err(broken(&format!("cbor: wrong element type {found} for indefinite-length {wanted}")));
                }
            }
        }
        Ok(whole)
    }

    fn text(&mut self, head: Head) -> Read<Str> {
        let bytes = self.string(head)?;
        String::from_utf8(bytes).map(Str::from).map_err(|_| broken("cbor: invalid UTF-8 string"))
    }

    /// Bytes in the text encoding that the enclosing tags select.
    fn shown(&self, bytes: &[u8]) -> Str {
        let base64_url = |bytes| base64::encode(bytes).trim_end_matches('=').replace('+', "-").replace('/', "_");
        match self.shown_as {
            Some(AS_BASE64) => base64::encode(bytes).into(),
            Some(AS_BASE64_URL) => base64_url(bytes).into(),
            Some(AS_HEX) => bytes.iter().fold(String::with_capacity(bytes.len() * 2), hex_digits).into(),
            _ => Str::new(as_text(bytes)),
        }
    }

    fn array(&mut self, length: Option<u64>, depth: usize) -> Read<Value> {
        check_length(length, "elements", "array")?;
        let mut items = Vec::new();
        while self.more(length, items.len()) {
            items.push(self.value(depth)?);
            check_length(Some(items.len() as u64), "elements", "array")?;
        }
        Ok(Value::List(items))
    }

    fn map(&mut self, length: Option<u64>, depth: usize) -> Read<Value> {
        check_length(length, "key-value pairs", "map")?;
        let mut entries: Vec<(Str, Value)> = Vec::new();
        let mut index = KeyIndex::default();
        while self.more(length, entries.len()) {
            let key = self.key()?;
            if index.find(&entries, &key).is_some() {
                let (key, at) = (key.as_str(), entries.len());
                return Err(broken(&format!("cbor: found duplicate map key {key:?} at map element index {at}")));
            }
            let value = self.value(depth)?;
            entries.push((key, value));
            check_length(Some(entries.len() as u64), "key-value pairs", "map")?;
        }
        Ok(Value::Map(Map::from_entries(entries)))
    }

    fn more(&mut self, length: Option<u64>, read: usize) -> bool {
        match length {
            Some(length) => (read as u64) < length,
            None => !self.reader.ends(),
        }
    }

    fn key(&mut self) -> Read<Str> {
        let head = self.reader.head()?;
        match head.major {
            BYTES => Ok(Str::new(as_text(&self.string(head)?))),
            TEXT => self.text(head),
            other => Err(wrong_type(other, "string", "")),
        }
    }

    /// The content of a tag with a meaning.
    fn tagged(&mut self, tag: u64, depth: usize) -> Read<Value> {
        // It is not a level in kube-apiserver, which accepts no tag within; here nested ones are parsed recursively.
        let depth = deeper(depth)?;
        match tag {
            TIME_TEXT => {
                let value = self.value(depth)?;
                let text = value.as_str().unwrap_or("");
                Time::parse(text)
                    .map_err(|error| broken(&format!("cbor: cannot set {text} for time.Time: {error}")))?;
                Ok(value)
            }
            TIME_SECONDS => match self.value(depth)? {
                Value::Int(seconds) => moment(seconds, 0),
                Value::Float(seconds) => {
                    let whole = seconds.floor();
                    moment(whole as i64, ((seconds - whole) * 1e9) as u32)
                }
                _ => Err(unacceptable(TAG, "tag number 1 must be followed by a number")),
            },
            _ => Err(unacceptable(TAG, "bignum")),
        }
    }
}

fn hex_digits(mut text: String, byte: &u8) -> String {
    // Writing to a string cannot fail.
    let _ = write!(text, "{byte:02x}");
    text
}

fn deeper(depth: usize) -> Read<usize> {
    match depth < limits::CBOR_DEPTH {
        true => Ok(depth + 1),
        false => Err(broken(&format!("cbor: exceeded max nested level {}", limits::CBOR_DEPTH))),
    }
}

fn check_length(length: Option<u64>, parts: &str, kind: &str) -> Read<()> {
    match length {
        Some(length) if length > limits::CBOR_ELEMENTS => {
            let most = limits::CBOR_ELEMENTS;
            Err(broken(&format!("cbor: exceeded max number of {parts} {most} for CBOR {kind}")))
        }
        _ => Ok(()),
    }
}

fn moment(seconds: i64, nanos: u32) -> Read<Value> {
    if !limits::WRITABLE_SECONDS.contains(&seconds) {
        return Err(unacceptable(TAG, "time out of range"));
    }
    Ok(match nanos {
        0 => Time { seconds, nanos }.to_rfc3339().into(),
        nanos => MicroTime { seconds, nanos }.to_rfc3339().into(),
    })
}

fn primitive(width: u8, number: u64) -> Read<Value> {
    let float = match width {
        0 => match number {
            FALSE => return Ok(Value::Bool(false)),
            TRUE => return Ok(Value::Bool(true)),
            NULL => return Ok(Value::Null),
            other => return Err(unacceptable(PRIMITIVE, &format!("simple value {other} is not recognized"))),
        },
        1 if number < 32 => {
            return Err(broken(&format!("cbor: invalid simple value {number} for type primitives")));
        }
        1 => return Err(unacceptable(PRIMITIVE, &format!("simple value {number} is not recognized"))),
        2 => half::to_f64(number as u16),
        4 => f32::from_bits(number as u32).into(),
        _ => f64::from_bits(number),
    };
    match float {
        float if float.is_nan() => Err(unacceptable(PRIMITIVE, "floating-point NaN")),
        float if float.is_infinite() => Err(unacceptable(PRIMITIVE, "floating-point infinity")),
        float => Ok(Value::Float(float)),
    }
}

fn overflow(major: u8, number: i128) -> DecodeError {
    wrong_type(major, "int64", &format!(" ({number} overflows Go's int64)"))
}

fn wrong_type(major: u8, go_type: &str, why: &str) -> DecodeError {
    DecodeError::WrongType(format!("cbor: cannot unmarshal {} into Go value of type {go_type}{why}", name(major)))
}

fn unacceptable(major: u8, what: &str) -> DecodeError {
    broken(&format!("cbor: data item of cbor type {} is not accepted by protocol: {what}", name(major)))
}
