//! Rules of PriorityLevelConfiguration: the exempt level, and how requests are assigned to queues.

use crate::rules::drop_inside;
use pintle_types::flowcontrol::v1::{
    LimitResponse, LimitResponseType, PriorityLevelConfiguration, PriorityLevelConfigurationSpec,
    PriorityLevelEnablement, QueuingConfiguration,
};
use pintle_types::meta::v1::ObjectMeta;
use pintle_validation::{At, FieldPath, ValidationContext};

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

/// Limits matter to a limited level only, and shares of an exempt level to that: what is wrong inside the other ones is
/// not reported.
pub fn only_its_own(spec: At<'_, PriorityLevelConfigurationSpec>, cx: &mut ValidationContext<'_>) {
    type Spec = PriorityLevelConfigurationSpec;
    let kind = spec.new.field(Spec::TYPE).get();
    if kind != PriorityLevelEnablement::LIMITED {
        drop_inside(&spec.path.to(Spec::LIMITED), cx);
    }
    if kind != PriorityLevelEnablement::EXEMPT {
        drop_inside(&spec.path.to(Spec::EXEMPT), cx);
        return;
    }
    // That an exempt level has limits comes before what is wrong with its shares.
    let limited = spec.path.to(Spec::LIMITED).to_string();
    let inside = format!("{}.", spec.path.to(Spec::EXEMPT));
    if let Some(at) = cx.errors.0.iter().position(|error| error.field == limited)
        && let Some(place) = cx.errors.0.iter().take(at).position(|error| error.field.starts_with(&inside))
        && let Some(errors) = cx.errors.0.get_mut(place..=at)
    {
        errors.rotate_right(1);
    }
}

/// Queues matter only where requests wait in them.
pub fn queues_if_queuing(response: At<'_, LimitResponse>, cx: &mut ValidationContext<'_>) {
    if response.new.field(LimitResponse::TYPE).get() != LimitResponseType::QUEUE {
        drop_inside(&response.path.to(LimitResponse::QUEUING), cx);
    }
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
