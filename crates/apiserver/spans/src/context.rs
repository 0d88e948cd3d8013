//! The W3C trace context: the header `traceparent`.
//! Guarantees that a header which is not as the specification says is ignored. Must never trust what it says of sampling:
//! the tracer decides.

use std::fmt;

/// The header with the ids of trace and span.
pub const TRACE_PARENT: &str = "traceparent";
/// The header in which vendors keep what they like, passed on as it is.
pub const TRACE_STATE: &str = "tracestate";

/// The length of a header of version 00.
const LENGTH: usize = 55;
/// The flag of a sampled trace.
const SAMPLED: u8 = 1;

/// The ids of a span, as they go from server to server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpanContext {
    pub trace_id: [u8; 16],
    pub span_id: [u8; 8],
    pub is_sampled: bool,
}

impl SpanContext {
    /// Parses a header. A later version may have more behind what is known.
    pub fn parse(header: &str) -> Option<SpanContext> {
        let bytes = header.as_bytes();
        let version: [u8; 1] = hexadecimal(bytes.get(..2)?)?;
        let ends = match version {
            [0] => bytes.len() == LENGTH,
            [0xff] => false,
            _ => bytes.len() == LENGTH || bytes.get(LENGTH) == Some(&b'-'),
        };
        let dashes = [2, 35, 52].iter().all(|at| bytes.get(*at) == Some(&b'-'));
        let trace_id = hexadecimal(bytes.get(3..35)?)?;
        let span_id = hexadecimal(bytes.get(36..52)?)?;
        let [flags] = hexadecimal(bytes.get(53..LENGTH)?)?;
        let is_valid = ends && dashes && trace_id != [0; 16] && span_id != [0; 8];
        is_valid.then_some(SpanContext { trace_id, span_id, is_sampled: flags & SAMPLED != 0 })
    }
}

impl fmt::Display for SpanContext {
    /// As the header is sent.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("00-")?;
        self.trace_id.iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
        f.write_str("-")?;
        self.span_id.iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
        write!(f, "-{:02x}", u8::from(self.is_sampled))
    }
}

/// Lower-case hexadecimal digits.
fn hexadecimal<const N: usize>(digits: &[u8]) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    if digits.len() != 2 * N {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks(2)) {
        for digit in pair {
            let value = match digit {
                b'0'..=b'9' => digit - b'0',
                b'a'..=b'f' => digit - b'a' + 10,
                _ => return None,
            };
            *byte = *byte << 4 | value;
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_parsed_as_the_specification_says() {
        let good = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        let parsed = SpanContext::parse(good).expect("a context");
        assert!(parsed.is_sampled);
        assert_eq!(parsed.to_string(), good);
        let later = format!("cc{}-more", &good[2..]);
        assert_eq!(SpanContext::parse(&later), Some(parsed));
        assert_eq!(SpanContext::parse(&good.replace("-01", "-02")).map(|it| it.is_sampled), Some(false));
        let no_trace = format!("00-{}-b7ad6b7169203331-01", "0".repeat(32));
        let no_span = format!("00-0af7651916cd43dd8448eb211c80319c-{}-01", "0".repeat(16));
        for bad in [
            "",
            "00",
            &good.to_uppercase(),
            &format!("{good}-more"),
            &format!("ff{}", &good[2..]),
            &good.replace('-', "_"),
            &no_trace,
            &no_span,
            &good.replace("0af", "é"),
        ] {
            assert_eq!(SpanContext::parse(bad), None, "{bad}");
        }
    }
}
