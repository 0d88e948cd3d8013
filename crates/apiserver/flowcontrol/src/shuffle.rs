//! Shuffle sharding: each flow has a few of a level's queues, and two flows rarely have all of them in common.
//! Guarantees that the queues of a hand are different ones. Must never use randomness: a flow has the same hand each time.

/// The hash of a flow: of its schema's name and what distinguishes it within the schema (FNV-1a, 64 bits, then mixed).
pub fn flow_hash(schema: &str, distinguisher: &str) -> u64 {
    let bytes = schema.bytes().chain([0]).chain(distinguisher.bytes());
    let hash = bytes
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    // The low bits of FNV depend on few of the input's, and the first card of a hand on the low bits.
    let mixed = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    mixed ^ (mixed >> 33)
}

/// Deals a hand of distinct cards from a deck by a hash.
pub fn deal(mut hash: u64, deck: usize, hand: usize) -> Vec<usize> {
    let mut cards: Vec<usize> = Vec::with_capacity(hand.min(deck));
    let mut sorted: Vec<usize> = Vec::with_capacity(hand.min(deck));
    for dealt in 0..hand.min(deck) {
        let left = (deck - dealt) as u64;
        let mut card = (hash % left) as usize;
        hash /= left;
        // `card` counts only the cards that are left.
        for taken in &sorted {
            if card >= *taken {
                card += 1;
            }
        }
        let place = sorted.partition_point(|taken| *taken < card);
        sorted.insert(place, card);
        cards.push(card);
    }
    cards
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn hands_have_distinct_cards_and_flows_different_hands() {
        let mut hands = BTreeSet::new();
        for flow in 0..200 {
            let hand = deal(flow_hash("schema", &flow.to_string()), 64, 8);
            let distinct: BTreeSet<_> = hand.iter().copied().collect();
            assert_eq!((hand.len(), distinct.len()), (8, 8));
            assert!(distinct.iter().all(|card| *card < 64));
            hands.insert(distinct);
        }
        assert_eq!(hands.len(), 200);
        assert_eq!(deal(flow_hash("a", "b"), 3, 8).len(), 3);
        assert_eq!(flow_hash("a", "b"), flow_hash("a", "b"));
        assert_ne!(flow_hash("ab", ""), flow_hash("a", "b"));
    }

    #[test]
    fn every_card_is_dealt_about_as_often() {
        let mut counts = [0; 16];
        for flow in 0..4000 {
            deal(flow_hash("s", &flow.to_string()), 16, 4).into_iter().for_each(|card| counts[card] += 1);
        }
        assert!(counts.iter().all(|count| (850..1150).contains(count)), "{counts:?}");
    }
}
