//! The values of string and bytes literals.

/// What a literal's text means: characters of a string, or bytes. The text has its quotes and an `r` if it is raw.
pub(super) fn unescape(text: &str, is_bytes: bool) -> Result<Vec<u8>, &'static str> {
    const UNABLE: &str = "unable to unescape string";
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let (is_raw, quoted) = match text.strip_prefix(['r', 'R']) {
        Some(rest) => (true, rest),
        None => (false, text.as_str()),
    };
    let inner = ["\"\"\"", "'''", "\"", "'"]
        .iter()
        .filter(|quote| quoted.len() >= 2 * quote.len())
        .find_map(|quote| quoted.strip_prefix(*quote)?.strip_suffix(*quote))
        .ok_or(UNABLE)?;
    if is_raw || !inner.contains('\\') {
        return Ok(inner.as_bytes().to_vec());
    }
    let mut value = Vec::with_capacity(inner.len());
    let mut chars = inner.chars();
    let mut push = |code: u32, is_byte: bool| -> Result<(), &'static str> {
        if is_byte {
            value.push(u8::try_from(code).map_err(|_| UNABLE)?);
            return Ok(());
        }
        let c = char::from_u32(code).ok_or("invalid unicode code point")?;
        value.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
        Ok(())
    };
    while let Some(c) = chars.next() {
        if c != '\\' {
            push(c.into(), false)?;
            continue;
        }
        let escaped = chars.next().ok_or("unable to unescape string, found '\\' as last character")?;
        let mut digits = |count: u32, radix: u32| -> Option<u32> {
            (0..count).try_fold(0u32, |code, _| Some(code.wrapping_mul(radix) + chars.next()?.to_digit(radix)?))
        };
        match escaped {
            'a' => push(7, false)?,
            'b' => push(8, false)?,
            'f' => push(12, false)?,
            'n' => push(10, false)?,
            'r' => push(13, false)?,
            't' => push(9, false)?,
            'v' => push(11, false)?,
            '\\' | '\'' | '"' | '`' | '?' => push(escaped.into(), false)?,
            'x' | 'X' => push(digits(2, 16).ok_or(UNABLE)?, is_bytes)?,
            'u' | 'U' if is_bytes => return Err(UNABLE),
            'u' => push(digits(4, 16).ok_or(UNABLE)?, false)?,
            'U' => push(digits(8, 16).ok_or(UNABLE)?, false)?,
            '0'..='3' => {
                let rest = digits(2, 8).ok_or("unable to unescape octal sequence in string")?;
                push(escaped.to_digit(8).unwrap_or(0) * 64 + rest, is_bytes)?;
            }
            _ => return Err(UNABLE),
        }
    }
    Ok(value)
}
