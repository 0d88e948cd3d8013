//! No text makes a scalar's parser panic or run long, and canonical texts do not change.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pintle_schema::{Duration, MicroTime, Quantity, Time, base64};

fuzz_target!(|text: &str| {
    if let Ok(quantity) = Quantity::parse(text) {
        let again = Quantity::parse(quantity.as_str()).expect("what is canonical can be read");
        assert_eq!(again.as_str(), quantity.as_str());
        let _ = (quantity.value(), quantity.milli_value(), quantity.to_f64(), quantity.is_zero());
        let _ = quantity.add(&Quantity::from_i64(1));
        let _ = quantity.round_up_to_milli();
    }
    if let Ok(duration) = Duration::parse(text) {
        assert_eq!(Duration::parse(&duration.to_string()), Ok(duration));
    }
    let _ = (Time::parse(text), MicroTime::parse(text));
    if let Ok(bytes) = base64::decode(text) {
        assert_eq!(base64::decode(&base64::encode(&bytes)), Ok(bytes));
    }
});
