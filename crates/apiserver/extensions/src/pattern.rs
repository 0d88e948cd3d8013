//! Patterns of schemas: RE2's syntax, with kube-apiserver's errors.
//!
//! Guarantees that compiling and matching have bounded time: compiling is linear in the pattern with its repetitions expanded,
//! matching in that and the text. Compiled patterns are kept in the bounded cache of the CEL engine, not in the schema, so that
//! a definition with many patterns holds only their text.

use pintle_cel::library::regex::{self, Pattern};

/// The most steps that one match may take: that is a second or two.
const MAX_STEPS: usize = 1 << 28;

/// Checks a pattern without compiling it.
///
/// # Errors
/// It is no regular expression, or too large, in kube-apiserver's words.
pub fn check(pattern: &str) -> Result<(), String> {
    regex::check(pattern)
}

/// Whether a pattern matches anywhere in a text.
///
/// # Errors
/// It is no regular expression, or matching could take too long.
pub fn matches(pattern: &str, text: &str) -> Result<bool, String> {
    let compiled = Pattern::compile(pattern)?;
    if compiled.size().saturating_mul(text.len()) > MAX_STEPS {
        return Err("matching takes too long".to_owned());
    }
    Ok(compiled.is_match(text))
}

#[cfg(test)]
mod tests {
    use super::{check, matches};

    #[test]
    fn patterns_match_as_in_the_reference() {
        let rows = [
            ("^[a-z]+$", "abc", true),
            ("^[a-z]+$", "abc\n", false),
            ("^\\d+$", "١", false),
            ("^[\\w.-]+$", "a_b.c-d", true),
            ("^\\w$", "é", false),
            ("^.$", "é", true),
            ("^[[]$", "[", true),
            ("^[a&&b]+$", "a&b", true),
            ("^a{2}$", "aa", true),
            ("^a{,2}$", "a{,2}", true),
            ("^\\Qa.b\\E$", "a.b", true),
            ("^\\Qa.b\\E$", "axb", false),
            ("(?i)^abc$", "ABC", true),
            ("^[[:alpha:]]+$", "ab1", false),
            ("^\\x41\\101$", "AA", true),
            ("^\\p{Lu}\\pL$", "Éa", true),
            ("^[^\\s]+$", "a b", false),
            ("\\bfoo\\b", "a foo b", true),
            ("^\\<a\\>$", "<a>", true),
            ("^[a-]$", "-", true),
            ("^(a|b)??c$", "c", true),
        ];
        for (pattern, text, is_match) in rows {
            assert_eq!(matches(pattern, text), Ok(is_match), "{pattern} on {text:?}");
        }
    }

    #[test]
    fn wrong_patterns_are_refused_in_the_references_words() {
        let rows = [
            ("a(b", "missing closing ): `a(b`"),
            ("a)b", "unexpected ): `a)b`"),
            ("[a", "missing closing ]: `[a`"),
            ("x[z-a]", "invalid character class range: `z-a`"),
            ("*a", "missing argument to repetition operator: `*`"),
            ("a**", "invalid nested repetition operator: `**`"),
            ("\\y", "invalid escape sequence: `\\y`"),
            ("a\\", "trailing backslash at end of expression: ``"),
            ("a{1001}", "invalid repeat count: `{1001}`"),
            ("(?=a)", "invalid or unsupported Perl syntax: `(?=`"),
        ];
        for (pattern, cause) in rows {
            let error = check(pattern).expect_err(pattern);
            assert_eq!(error, format!("error parsing regexp: {cause}"));
        }
    }

    #[test]
    fn slow_patterns_are_rejected() {
        let pattern = "^(a|b|c|d|e|f|g|h|i|j){1,1000}$";
        assert_eq!(matches(pattern, "abc"), Ok(true));
        assert!(matches(pattern, &"a".repeat(1 << 20)).is_err());
        assert!(check(&format!("({}){{1000}}", "a".repeat(10_000))).is_err(), "it is too large when it is written out");
    }
}
