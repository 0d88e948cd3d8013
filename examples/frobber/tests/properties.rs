//! What must hold for every group, tried with random frobbers.

use frobber::resource::group;
use frobber::v6;
use frobber::v6::FrobberSpec;
use pintle_schema::{Value, ViewMut};

/// `v7beta1` has only the list of parameters: the singular is its first.
fn consistent(version: &pintle_resource::Resource, frobber: &mut Value) {
    if version.version == "v6" {
        let mut spec = ViewMut::<v6::Frobber>::new(frobber).field(v6::Frobber::SPEC);
        let params = spec.view().field(FrobberSpec::PARAMS).get();
        let param = params.first().cloned().unwrap_or_default();
        spec.by_ref().field(FrobberSpec::PARAM).set(param);
    }
}

#[test]
fn frobbers_come_back_from_every_version() {
    pintle_testing::assert_round_trips(&group(), consistent);
}

#[test]
fn an_older_server_keeps_fields_it_does_not_know() {
    pintle_testing::assert_older_server_keeps_gated_fields(&group());
}

#[test]
#[should_panic(expected = "comes back from fun.example.com/v7beta1 as another one")]
fn a_conversion_that_loses_something_is_found() {
    pintle_testing::assert_round_trips(&group(), |_, _| {});
}
