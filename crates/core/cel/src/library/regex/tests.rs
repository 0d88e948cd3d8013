use super::*;

fn find(text: &str, pattern: &str) -> String {
    Pattern::compile(pattern).unwrap_or_else(|why| panic!("{pattern}: {why}")).find(text).to_owned()
}

#[test]
fn patterns_that_are_none_say_why() {
    for (pattern, why) in [
        (r"(", "missing closing ): `(`"),
        (r"a)", "unexpected ): `a)`"),
        (r"*", "missing argument to repetition operator: `*`"),
        (r"(?i)*", "missing argument to repetition operator: `*`"),
        (r"a|*", "missing argument to repetition operator: `*`"),
        (r"a**", "invalid nested repetition operator: `**`"),
        (r"a++", "invalid nested repetition operator: `++`"),
        (r"a{2}{3}", "invalid nested repetition operator: `{2}{3}`"),
        (r"a{2,1}", "invalid repeat count: `{2,1}`"),
        (r"a{1001}", "invalid repeat count: `{1001}`"),
        (r"a{99999999999}", "invalid repeat count: `{99999999999}`"),
        (r"(a{500}){500}", "invalid repeat count: `{500}`"),
        (r"[z-a]", "invalid character class range: `z-a`"),
        (r"[[:foo:]]", "invalid character class range: `[:foo:]`"),
        (r"[a", "missing closing ]: `[a`"),
        (r"\p{Foo}", r"invalid character class range: `\p{Foo}`"),
        (r"\pX", r"invalid character class range: `\pX`"),
        (r"\p{Greek", r"invalid character class range: `\p{Greek`"),
        (r"\", "trailing backslash at end of expression: ``"),
        (r"\Z", r"invalid escape sequence: `\Z`"),
        (r"[\Z]", r"invalid escape sequence: `\Z`"),
        (r"\8", r"invalid escape sequence: `\8`"),
        (r"\1", r"invalid escape sequence: `\1`"),
        (r"\ca", r"invalid escape sequence: `\c`"),
        (r"\x{110000}", r"invalid escape sequence: `\x{110000`"),
        (r"\x4", r"invalid escape sequence: `\x4`"),
        (r"\C", r"invalid escape sequence: `\C`"),
        (r"(?=a)", "invalid or unsupported Perl syntax: `(?=`"),
        (r"(?z)", "invalid or unsupported Perl syntax: `(?z`"),
        (r"(?", "invalid or unsupported Perl syntax: `(?`"),
        (r"(?i-)", "invalid or unsupported Perl syntax: `(?i-)`"),
        (r"(?P<n", "invalid named capture: `(?P<n`"),
        (r"(?<=a)", "invalid named capture: `(?<=a)`"),
        (r"(?P<a-b>x)", "invalid named capture: `(?P<a-b>`"),
    ] {
        let error = Pattern::compile(pattern).unwrap_err();
        // A name that is never closed is shown to the end.
        let why = why.replace("(?<=a)", pattern);
        assert_eq!(error, format!("error parsing regexp: {why}"), "{pattern}");
    }
}

#[test]
fn patterns_mean_what_the_reference_takes_them_for() {
    for (text, pattern, found) in [
        ("the cat 42", r"\bcat\b", "cat"),
        ("the cat 42", r"\d+", "42"),
        ("a.c", r"\Qa.c\E", "a.c"),
        ("abc", r"a{,2}", ""),
        ("a{,2}", r"a{,2}", "a{,2}"),
        ("aaa", r"(?U)a+", "a"),
        ("aaa", r"(?U)a+?", "aaa"),
        ("abc", r"(?i)ABC", "abc"),
        ("aB", r"(?i:A)B", "aB"),
        ("aaa\nb", r"(?m)^b$", "b"),
        ("a\nb", r"(?s)a.b", "a\nb"),
        ("a\nb", r"a.b", ""),
        ("S", r"\123", "S"),
        ("\u{1F600}", r"\x{1F600}", "\u{1F600}"),
        ("日本 A", r"\p{Han}+", "日本"),
        ("日本 Α", r"\p{greek}", "Α"),
        ("a]b", r"[]]", "]"),
        ("a-b", r"[a\-]+", "a-"),
        ("x-", r"[\d-z]+", "-"),
        ("é", r"\w", ""),
        ("\u{212A}", r"(?i)k", "\u{212A}"),
        ("\u{17F}", r"(?i)[[:alpha:]]", "\u{17F}"),
        ("ab", r"(?P<n>a)(?P<n>b)", "ab"),
        ("aab", r"a*(?i)*b", "aab"),
        ("aab", r"a*(?i)?b", "aab"),
        ("a", r"a||b", "a"),
        ("\u{b}", r"\s", ""),
        ("x", r"[^\d\D]", ""),
        ("a", r"\x{d800}|a", "a"),
        ("b", r"(?:^a|b)", "b"),
        ("aé", r"\B", ""),
    ] {
        assert_eq!(find(text, pattern), found, "{text:?} {pattern}");
    }
}

#[test]
fn all_matches_and_some() {
    let all = |text, pattern: &str, most| Pattern::compile(pattern).unwrap().find_all(text, most).unwrap();
    assert_eq!(all("1 22 333", r"\d+", -1), ["1", "22", "333"]);
    assert_eq!(all("1 22 333", r"\d+", 2), ["1", "22"]);
    assert_eq!(all("1 22 333", r"\d+", 0), [""; 0]);
    assert_eq!(all("abc", r"x*", -1), ["", "", "", ""]);
    assert_eq!(all("baac", r"a*", -1), ["", "aa", ""]);
}

#[test]
fn deep_and_long_patterns_are_bounded() {
    let deep = format!("{}a{}", "(".repeat(2000), ")".repeat(2000));
    assert!(Pattern::compile(&deep).unwrap_err().starts_with("error parsing regexp: expression nests too deeply"));
    // As long as kube-apiserver takes it, and no longer.
    assert!(check(&r"\pL{1000}".repeat(3000)).is_ok());
    let large = check(&r"\pL{1000}".repeat(4000)).unwrap_err();
    assert!(large.starts_with("error parsing regexp: expression too large"));
    assert_eq!(find("é", r"(?:\pL{1000})?"), "");
    assert!(check(&"a".repeat(100_000)).is_ok());
    let repeated = format!("a{}", "*(?i)".repeat(900));
    assert!(check(&repeated).is_ok());
}

#[test]
fn patterns_are_compiled_once() {
    assert!(Pattern::compile("kept+").is_ok());
    assert!(cache::get("kept+").is_some());
    for at in 0..600 {
        assert!(Pattern::compile(&format!("other{at}")).is_ok());
    }
    assert_eq!(find("kepttt", "kept+"), "kepttt");
}

#[test]
fn matches_that_look_to_the_end_each_are_bounded() {
    let pattern = Pattern::compile("a.*z|a").unwrap();
    assert_eq!(pattern.find_all(&"a".repeat(100), -1).map(|all| all.len()), Some(100));
    assert_eq!(pattern.find_all(&"a".repeat(100_000), -1), None);
    let pattern = Pattern::compile("[a-z]+").unwrap();
    assert_eq!(pattern.find_all(&"ab ".repeat(100_000), -1).map(|all| all.len()), Some(100_000));
}
