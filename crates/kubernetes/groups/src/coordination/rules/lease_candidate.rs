//! Rules of LeaseCandidate.

use super::lease::known_strategy;
use pintle_schema::names::version::Version;
use pintle_types::coordination::v1::CoordinatedLeaseStrategy;
use pintle_types::coordination::v1beta1::{LeaseCandidate, LeaseCandidateSpec};
use pintle_validation::{At, ValidationContext};

/// The emulation version is not newer than the binary version. An invalid version counts as the oldest.
pub fn not_older(binary: At<'_, String>, cx: &mut ValidationContext<'_>) {
    let spec = cx.root::<LeaseCandidate>().field(LeaseCandidate::SPEC);
    let (text, emulated) = (binary.new.as_str(), spec.field(LeaseCandidateSpec::EMULATION_VERSION).as_str());
    let version = |text| Version::parse(text).unwrap_or_default();
    if !text.is_empty() && !emulated.is_empty() && version(text).is_older_than(&version(emulated)) {
        cx.errors.invalid(binary.path, text, "must be greater than or equal to `emulationVersion`");
    }
}

/// The fields that a strategy needs are set.
pub fn strategy(spec: At<'_, LeaseCandidateSpec>, cx: &mut ValidationContext<'_>) {
    type Spec = LeaseCandidateSpec;
    let strategy = spec.new.field(Spec::STRATEGY).value().as_str().unwrap_or_default();
    let emulated = Version::parse(spec.new.field(Spec::EMULATION_VERSION).as_str()).unwrap_or_default();
    if strategy == CoordinatedLeaseStrategy::OLDEST_EMULATION_VERSION.as_str() && emulated.is_zero() {
        let detail = "must be specified when `strategy` is 'OldestEmulationVersion'";
        cx.errors.required(spec.path.to(Spec::EMULATION_VERSION), detail);
    }
    if !strategy.is_empty() {
        known_strategy(strategy, &spec.path.to(Spec::STRATEGY), cx);
    }
}
