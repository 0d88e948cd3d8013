//! No text makes a selector parser panic, and a parsed selector has the same meaning after it is printed and parsed
//! again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pintle_schema::field_selector::FieldSelector;
use pintle_schema::label_selector::LabelSelector;

fuzz_target!(|text: &str| {
    if let Ok(selector) = LabelSelector::parse(text) {
        let again = LabelSelector::parse(&selector.to_string()).expect("what was written can be read");
        for value in ["", "a", "b", "1", "2"] {
            let get = |key: &str| (key.len() % 2 == 0).then_some(value);
            assert_eq!(selector.matches(get), again.matches(get), "{selector}");
        }
    }
    if let Ok(selector) = FieldSelector::parse(text) {
        let again = FieldSelector::parse(&selector.to_string()).expect("what was written can be read");
        assert_eq!(selector.matches(|_| Some("a")), again.matches(|_| Some("a")), "{selector}");
    }
});
