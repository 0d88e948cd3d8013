//! Rules of PriorityLevelConfiguration: the exempt level, and how requests are assigned to queues.

use pintle_types::flowcontrol::v1::{
    LimitResponse, LimitResponseType, PriorityLevelConfiguration, PriorityLevelConfigurationSpec,
    PriorityLevelEnablement, QueuingConfiguration,
};
use pintle_types::meta::v1::ObjectMeta;
use pintle_validation::{At, FieldPath, ValidationContext, same_at};

/// Used by older versions of the API only.
const ANNOTATION: &str = "flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares";

pub fn no_old_annotation(level: At<'_, PriorityLevelConfiguration>, cx: &mut ValidationContext<'_>) {
    let metadata = level.new.field(PriorityLevelConfiguration::METADATA);
    if metadata.field(ObjectMeta::ANNOTATIONS).value().get(ANNOTATION).is_some() {
        let path = level.path.to(PriorityLevelConfiguration::METADATA);
        cx.errors.forbidden(path.to(ObjectMeta::ANNOTATIONS), format!("annotation '{ANNOTATION}' is forbidden"));
    }
}

/// One level is exempt, and it is always the same.
pub fn only_exempt_is_exempt(spec: At<'_, PriorityLevelConfigurationSpec>, cx: &mut ValidationContext<'_>) {
    let root = cx.root::<PriorityLevelConfiguration>();
    let name = root.field(PriorityLevelConfiguration::METADATA).field(ObjectMeta::NAME).as_str();
    let kind = spec.new.field(PriorityLevelConfigurationSpec::TYPE);
    let is_exempt = kind.get() == PriorityLevelEnablement::EXEMPT;
    if is_exempt != (name == "exempt") {
        let path = spec.path.to(PriorityLevelConfigurationSpec::TYPE);
        let detail = "must be 'Exempt' if and only if `name` is 'exempt'";
        cx.errors.invalid(path, kind.value().clone(), detail);
    }
}

/// An exempt level has no limits. It is found before what is wrong with its shares.
pub fn exempt_has_no_limits(spec: At<'_, PriorityLevelConfigurationSpec>, cx: &mut ValidationContext<'_>) {
    type Spec = PriorityLevelConfigurationSpec;
    let is_kept = |field: &str| spec.old.is_some_and(|old| same_at(spec.new.value(), old.value(), field));
    if is_kept(Spec::LIMITED.name()) && is_kept(Spec::TYPE.name()) {
        return;
    }
    if !is_not_exempt(spec, cx) && spec.new.field(Spec::LIMITED).is_set() {
        cx.errors.forbidden(spec.path.to(Spec::LIMITED), "must be nil if the type is not Limited");
    }
}

/// Limits matter to a limited level only.
pub fn is_not_limited(spec: At<'_, PriorityLevelConfigurationSpec>, _: &ValidationContext<'_>) -> bool {
    spec.new.field(PriorityLevelConfigurationSpec::TYPE).get() != PriorityLevelEnablement::LIMITED
}

/// The shares of an exempt level matter to that alone.
pub fn is_not_exempt(spec: At<'_, PriorityLevelConfigurationSpec>, _: &ValidationContext<'_>) -> bool {
    spec.new.field(PriorityLevelConfigurationSpec::TYPE).get() != PriorityLevelEnablement::EXEMPT
}

/// Queues matter only where requests wait in them.
pub fn never_queues(response: At<'_, LimitResponse>, _: &ValidationContext<'_>) -> bool {
    response.new.field(LimitResponse::TYPE).get() != LimitResponseType::QUEUE
}

/// A flow's requests go to some of the queues: not to more than there are, and not to so many that there are more
/// choices than can be drawn.
pub fn hand_size(queuing: At<'_, QueuingConfiguration>, cx: &mut ValidationContext<'_>) {
    let queues = queuing.new.field(QueuingConfiguration::QUEUES).get();
    let hand = queuing.new.field(QueuingConfiguration::HAND_SIZE).get();
    let path: FieldPath<'_> = queuing.path.to(QueuingConfiguration::HAND_SIZE);
    if hand <= 0 {
        return;
    }
    if hand > queues {
        cx.errors.invalid(path, hand, format!("should not be greater than queues ({queues})"));
    } else if entropy_bits(queues, hand) > MOST_BITS {
        let detail = format!(
            "required entropy bits of deckSize {queues} and handSize {hand} should not be greater than {MOST_BITS}"
        );
        cx.errors.invalid(path, hand, detail);
    }
}

/// The bits of the hash of a flow.
const MOST_BITS: u32 = 60;

/// The bits that dealing a hand from a deck takes, estimated as if cards went back.
fn entropy_bits(deck: i32, hand: i32) -> u32 {
    (f64::from(deck).log2() * f64::from(hand)).ceil() as u32
}

#[cfg(test)]
mod tests {
    use super::entropy_bits;

    #[test]
    fn hands() {
        assert_eq!(
            [(64, 8), (1, 1), (2, 1), (512, 7), (1024, 6)].map(|(deck, hand)| entropy_bits(deck, hand)),
            [48, 0, 1, 63, 60]
        );
        assert!(entropy_bits(i32::MAX, i32::MAX) > 60);
    }
}
