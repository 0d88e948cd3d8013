//! Names of iSCSI nodes: qualified names, and two numeric kinds.
//! Must never accept a name of an unknown kind.

/// Whether a name begins like one of the known kinds.
pub fn is_of_known_kind(name: &str) -> bool {
    ["iqn", "eui", "naa"].iter().any(|kind| name.starts_with(kind))
}

/// Whether a name is valid; a name of an unknown kind is not.
pub fn is_name(name: &str) -> bool {
    let has_letters = |rest: &str, count: usize| {
        rest.chars().count() == count + 1 && rest.chars().skip(1).all(|c| c.is_ascii_alphanumeric())
    };
    if name.starts_with("iqn") {
        is_qualified_name(name)
    } else if let Some(rest) = name.strip_prefix("eui") {
        has_letters(rest, 16)
    } else {
        name.strip_prefix("naa").is_some_and(|rest| has_letters(rest, 32))
    }
}

/// `iqn.` with year and month, a reversed domain, and after a colon any text without separators.
fn is_qualified_name(name: &str) -> bool {
    name.match_indices("iqn.").any(|(at, begin)| {
        let rest = name.get(at + begin.len()..).unwrap_or_default();
        let date = rest.as_bytes().get(..8).unwrap_or_default();
        let is_date = date.len() == 8
            && date.iter().enumerate().all(|(at, byte)| match at {
                4 => *byte == b'-',
                7 => *byte == b'.',
                _ => byte.is_ascii_digit(),
            });
        let named = rest.get(8..).and_then(|rest| rest.split_once(':'));
        is_date
            && named.is_some_and(|(domain, own)| {
                !domain.is_empty()
                    && domain.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.'))
                    && !own.is_empty()
                    && !own.contains([',', ';', '*', '&', '$', '|', ' ', '\t', '\n', '\r', '\u{c}'])
            })
    })
}

#[cfg(test)]
mod tests {
    use super::is_name;

    #[test]
    fn names_of_nodes() {
        for right in ["iqn.2001-04.com.example:storage.disk1", "eui.0123456789abcdef", "iqn.1994-05.com.example:x"] {
            assert!(is_name(right), "{right}");
        }
        for wrong in ["iqn.2001-04.com.example", "iqn.2001-4.com:a", "eui.0123", "naa.x", "a", "iqn.2001-04.com:a b"] {
            assert!(!is_name(wrong), "{wrong}");
        }
    }
}
