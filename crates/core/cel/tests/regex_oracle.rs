//! Random patterns that mean the same to the `regex` crate find the same matches.

use pintle_cel::library::regex::Pattern;

const PARTS: [&str; 33] = [
    "a", "b", "c", "é", "(?:", "(?:", ")", ")", "[ab]", "[^a]", "*", "+", "?", "*?", "+?", "??", "{2}", "{0,2}",
    "{1,3}?", "|", "^", "$", ".", r"\b", r"\B", r"\A", r"\z", "(?i:A)", "(?s:.)", "(?m:^b)", "(?m:$)", "\n", r"\pL",
];
const TEXTS: [&str; 8] = ["a", "b", "c", "A", "é", " ", "\n", "ab"];

/// A generator that gives the same numbers every time.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end as u64) as usize
    }

    fn text(&mut self, parts: &[&str], most: usize) -> String {
        (0..=self.below(most)).map(|_| parts[self.below(parts.len())]).collect()
    }
}

#[test]
fn matches_agree_with_the_regex_crate() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut compared = 0;
    while compared < 2000 {
        let pattern = random.text(&PARTS, 9);
        let text = random.text(&TEXTS, 6);
        let Ok(ours) = Pattern::compile(&pattern) else { continue };
        // Words are those of ASCII.
        let theirs = pattern.replace(r"\b", r"(?-u:\b)").replace(r"\B", r"(?-u:\B)");
        let Ok(theirs) = regex::Regex::new(&theirs) else { continue };
        compared += 1;
        // Long texts are matched by another machine than short ones.
        let text = if compared % 20 == 0 { text.repeat(2000) } else { text };
        let all: Vec<&str> = theirs.find_iter(&text).map(|found| found.as_str()).collect();
        let Some(found) = ours.find_all(&text, -1) else { continue };
        assert_eq!(found, all, "{pattern:?} on {text:?}");
        assert_eq!(ours.is_match(&text), theirs.is_match(&text), "{pattern:?} on {text:?}");
    }
}
