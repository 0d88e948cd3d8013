//! Borrowing: the seats that levels have for the next period, by what they wanted in the last ones.
//! Guarantees that a level keeps what it cannot lend, borrows no more than it may, and that all levels that are not exempt get
//! the same fraction of what they want within these bounds. Must never read a clock: times are given in nanoseconds.

use crate::limits::Seats;

/// How much of the smoothed demand is kept in a period: at one period in ten seconds it halves in five minutes.
const SMOOTHING: f64 = 0.977;

/// A smaller target counts as this one, so that it can be divided by.
const MIN_TARGET: f64 = 0.001;

/// Sums that differ by less are equal.
const EPSILON: f64 = 1e-7;

/// What a level wanted in a period: seats that it used, and seats for which requests waited.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DemandStats {
    pub average: f64,
    pub deviation: f64,
    pub high_watermark: u64,
    pub smoothed: f64,
}

/// Sums up a level's demand over time.
#[derive(Clone, Copy, Debug, Default)]
pub struct DemandIntegrator {
    since_ns: u64,
    changed_ns: u64,
    demand: f64,
    peak: f64,
    /// Demand, and its square, by nanoseconds.
    sums: [f64; 2],
}

impl DemandIntegrator {
    /// Begins the first period, without demand.
    pub fn starting(now_ns: u64) -> Self {
        DemandIntegrator { since_ns: now_ns, changed_ns: now_ns, ..DemandIntegrator::default() }
    }

    /// The demand from now on.
    pub fn set(&mut self, demand: u64, now_ns: u64) {
        self.advance(now_ns);
        self.demand = demand as f64;
        self.peak = self.peak.max(self.demand);
    }

    /// Ends a period and begins the next one. Demand that falls is forgotten slowly, demand that rises counts at once.
    pub fn end_period(&mut self, stats: &mut DemandStats, now_ns: u64) {
        self.advance(now_ns);
        stats.high_watermark = self.peak.round() as u64;
        let duration = now_ns.saturating_sub(self.since_ns) as f64;
        if duration > 0.0 {
            let [first, second] = self.sums.map(|sum| sum / duration);
            stats.average = first;
            // Rounding can make a variance of zero negative.
            stats.deviation = (second - first * first).max(0.0).sqrt();
            let envelope = stats.average + stats.deviation;
            stats.smoothed = envelope.max(SMOOTHING * stats.smoothed + (1.0 - SMOOTHING) * envelope);
        }
        let demand = self.demand;
        *self = DemandIntegrator { since_ns: now_ns, changed_ns: now_ns, demand, peak: demand, sums: [0.0; 2] };
    }

    fn advance(&mut self, now_ns: u64) {
        let passed = now_ns.saturating_sub(self.changed_ns) as f64;
        self.changed_ns = self.changed_ns.max(now_ns);
        self.sums[0] += self.demand * passed;
        self.sums[1] += self.demand * self.demand * passed;
    }
}

/// A level as borrowing sees it.
#[derive(Clone, Copy, Debug)]
pub struct Borrower {
    pub is_exempt: bool,
    pub seats: Seats,
    pub stats: DemandStats,
}

impl Borrower {
    /// What the level keeps whatever others want. An exempt level has what it used, as nothing limits it.
    fn kept(&self) -> u64 {
        let wanted = self.stats.high_watermark;
        let wanted = if self.is_exempt { wanted } else { wanted.min(self.seats.nominal) };
        wanted.max(self.seats.lower())
    }

    fn target(&self) -> f64 {
        self.stats.smoothed.max(self.kept() as f64)
    }
}

/// The limits of a period.
#[derive(Clone, Debug, PartialEq)]
pub struct Adjustment {
    /// In the order of the levels.
    pub limits: Vec<u64>,
    /// What each level was to get, if there were enough.
    pub targets: Vec<f64>,
    /// The fraction of its target that a level gets whose bounds do not matter.
    pub fair_fraction: f64,
}

/// The limits of the next period. `current` are those of the last one.
pub fn adjust(levels: &[Borrower], current: &[u64]) -> Adjustment {
    let limited = || levels.iter().filter(|level| !level.is_exempt);
    let nominal: u64 = levels.iter().map(|level| level.seats.nominal).sum();
    let of_exempt: u64 = levels.iter().filter(|level| level.is_exempt).map(Borrower::kept).sum();
    let remaining = nominal.saturating_sub(of_exempt);
    let lower: u64 = limited().map(|level| level.seats.lower()).sum();
    let kept: u64 = limited().map(Borrower::kept).sum();
    let mut fair_fraction = 0.0;
    let mut shares = Vec::new();
    if remaining > kept {
        // The seats of the exempt level are beside those that the others divide among themselves.
        let item = |level: &Borrower| Item {
            target: level.target(),
            lower: level.kept() as f64,
            upper: level.seats.upper() as f64,
        };
        let items: Vec<Item> = limited().map(item).collect();
        if let Some((allocated, fraction)) = allocate(nominal as f64, &items) {
            (shares, fair_fraction) = (allocated, fraction);
        }
    }
    let mut shares = shares.into_iter();
    let limit = |(index, level): (usize, &Borrower)| {
        let own = level.seats.lower();
        match level.is_exempt {
            true => level.kept(),
            false if remaining <= lower => own,
            false if remaining <= kept => {
                let fraction = (remaining - lower) as f64 / (kept - lower) as f64;
                own + ((level.kept() - own) as f64 * fraction).round() as u64
            }
            // Bounds that no division meets leave the limits as they are.
            false => shares.next().map_or_else(
                || current.get(index).copied().unwrap_or(level.seats.nominal),
                |share| share.round() as u64,
            ),
        }
    };
    let limits = levels.iter().enumerate().map(limit).collect();
    Adjustment { limits, targets: levels.iter().map(Borrower::target).collect(), fair_fraction }
}

/// One of those among whom something is divided.
#[derive(Clone, Copy, Debug)]
struct Item {
    target: f64,
    lower: f64,
    upper: f64,
}

impl Item {
    fn target(&self) -> f64 {
        self.target.max(MIN_TARGET)
    }

    fn at(&self, fraction: f64) -> f64 {
        (fraction * self.target()).min(self.upper).max(self.lower)
    }
}

/// Divides a sum so that each gets the same fraction of its target, within its bounds; `None` if the bounds do not allow the
/// sum. What all get together rises with the fraction, in straight lines between the fractions at which an item meets a bound:
/// the solution lies on the line on which the sum is.
fn allocate(sum: f64, items: &[Item]) -> Option<(Vec<f64>, f64)> {
    let total = |fraction: f64| items.iter().map(|item| item.at(fraction)).sum::<f64>();
    let bounds = items.iter().flat_map(|item| [item.lower, item.upper].map(|bound| bound / item.target()));
    let mut bounds: Vec<f64> = bounds.collect();
    bounds.sort_by(f64::total_cmp);
    let next = bounds.partition_point(|fraction| total(*fraction) < sum - EPSILON);
    let high = *bounds.get(next)?;
    let low = next.checked_sub(1).and_then(|before| bounds.get(before)).copied().unwrap_or(0.0);
    let (from, to) = (total(low), total(high));
    if from - sum > EPSILON {
        return None;
    }
    let fraction = if to - from > EPSILON { low + (sum - from) * (high - low) / (to - from) } else { high };
    Some((items.iter().map(|item| item.at(fraction)).collect(), fraction))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn demand_is_averaged_over_time_and_forgotten_slowly() {
        let (mut integrator, mut stats) = (DemandIntegrator::default(), DemandStats::default());
        integrator.set(10, 0);
        integrator.set(2, 5 * SECOND);
        integrator.end_period(&mut stats, 10 * SECOND);
        assert_eq!((stats.average, stats.deviation, stats.high_watermark, stats.smoothed), (6.0, 4.0, 10, 10.0));
        // The next period begins with the demand that there is.
        integrator.end_period(&mut stats, 20 * SECOND);
        assert_eq!((stats.average, stats.deviation, stats.high_watermark), (2.0, 0.0, 2));
        assert!((stats.smoothed - (0.977 * 10.0 + 0.023 * 2.0)).abs() < 1e-9, "{}", stats.smoothed);
        // A clock that goes back, or stands still, adds nothing.
        integrator.set(50, SECOND);
        integrator.set(2, SECOND);
        integrator.end_period(&mut stats, 20 * SECOND);
        assert_eq!((stats.average, stats.high_watermark), (2.0, 50));
    }

    #[test]
    fn a_sum_is_divided_by_targets_within_bounds() {
        let item = |(target, lower, upper): (f64, f64, f64)| Item { target, lower, upper };
        // (sum, targets and bounds, shares and fraction)
        type Row = (f64, Vec<(f64, f64, f64)>, Option<(Vec<f64>, f64)>);
        let rows: [Row; 7] = [
            (30.0, vec![(10.0, 0.0, 99.0), (20.0, 0.0, 99.0)], Some((vec![10.0, 20.0], 1.0))),
            (15.0, vec![(10.0, 0.0, 99.0), (20.0, 0.0, 99.0)], Some((vec![5.0, 10.0], 0.5))),
            (30.0, vec![(10.0, 10.0, 99.0), (40.0, 0.0, 99.0)], Some((vec![10.0, 20.0], 0.5))),
            (30.0, vec![(10.0, 0.0, 99.0), (10.0, 0.0, 12.0)], Some((vec![18.0, 12.0], 1.8))),
            (10.0, vec![(10.0, 6.0, 99.0), (10.0, 4.0, 99.0)], Some((vec![6.0, 4.0], 0.4))),
            (9.0, vec![(10.0, 6.0, 99.0), (10.0, 4.0, 99.0)], None),
            (31.0, vec![(10.0, 0.0, 10.0), (10.0, 0.0, 20.0)], None),
        ];
        for (sum, items, expected) in rows {
            let found = allocate(sum, &items.iter().copied().map(item).collect::<Vec<_>>());
            match (&found, &expected) {
                (Some((shares, fraction)), Some((wanted, of))) => {
                    let is_close = shares.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-6);
                    assert!(is_close && (fraction - of).abs() < 1e-6, "{items:?}: {found:?}");
                }
                _ => assert_eq!(found, expected, "{items:?}"),
            }
        }
    }

    fn level(nominal: u64, lendable: u64, wanted: u64) -> Borrower {
        let stats = DemandStats { high_watermark: wanted, smoothed: wanted as f64, ..DemandStats::default() };
        Borrower { is_exempt: false, seats: Seats { nominal, lendable, borrowing: 300 }, stats }
    }

    #[test]
    fn seats_that_are_not_needed_are_lent() {
        let limits = |wanted: [u64; 3]| {
            let [a, b, c] = wanted;
            let mut last = level(100, 0, c);
            last.seats.borrowing = 10;
            adjust(&[level(100, 50, a), level(100, 50, b), last], &[100; 3]).limits
        };
        assert_eq!(limits([500, 0, 0]), [150, 50, 100]);
        assert_eq!(limits([100, 100, 100]), [100, 100, 100]);
        assert_eq!(limits([500, 80, 0]), [120, 80, 100]);
        // No one borrows more than it may.
        assert_eq!(limits([0, 0, 500])[2], 110);
        for wanted in [[0, 0, 0], [7, 900, 3], [60, 60, 400]] {
            assert_eq!(limits(wanted).iter().sum::<u64>(), 300, "{wanted:?}");
        }
    }

    #[test]
    fn an_exempt_level_has_what_it_uses_and_others_give_way_to_it() {
        let exempt = |wanted| Borrower { is_exempt: true, ..level(0, 0, wanted) };
        let limits = |used| adjust(&[exempt(used), level(100, 50, 100), level(100, 50, 60)], &[0, 100, 100]).limits;
        assert_eq!(limits(0), [0, 125, 75]);
        // Fewer than they want, but not less than they cannot lend.
        assert_eq!(limits(70), [70, 75, 55]);
        assert_eq!(limits(1000), [1000, 50, 50]);
    }
}
