//! Priority levels: how many seats of the server's each has, lends and borrows.
//! Guarantees that lent seats are those that a level does not need, and that all levels together have the server's seats but for
//! rounding. Must never take what a level may not lend.

/// A priority level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Level {
    pub name: String,
    pub uid: String,
    pub kind: Kind,
}

/// Whether a level's requests ever wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// They never do.
    Exempt,
    /// They do when the level's seats are taken.
    Limited {
        nominal_shares: u32,
        lendable_percent: u32,
        /// `None`: as many as there are.
        borrowing_percent: Option<u32>,
        /// `None`: requests without a seat are refused.
        queuing: Option<Queuing>,
    },
}

/// The queues of a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queuing {
    pub queues: usize,
    pub hand_size: usize,
    pub length_limit: usize,
}

/// The seats of a level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seats {
    pub nominal: u64,
    /// Of these others may have so many.
    pub lendable: u64,
    /// So many of others' it may have.
    pub borrowing: u64,
}

impl Seats {
    /// The seats of each level, of `total` of the server. Exempt levels have none of their own.
    pub fn of(levels: &[Level], total: u64) -> Vec<Seats> {
        let shares = |level: &Level| match level.kind {
            Kind::Limited { nominal_shares, .. } => u64::from(nominal_shares),
            Kind::Exempt => 0,
        };
        let sum = levels.iter().map(shares).sum::<u64>().max(1);
        let seats = |level: &Level| {
            let Kind::Limited { lendable_percent, borrowing_percent, .. } = level.kind else { return Seats::default() };
            let nominal = (total * shares(level)).div_ceil(sum);
            let percent = |percent: u32| (nominal * u64::from(percent) + 50) / 100;
            Seats { nominal, lendable: percent(lendable_percent), borrowing: borrowing_percent.map_or(total, percent) }
        };
        levels.iter().map(seats).collect()
    }

    /// The limits that hold for a while, by how many seats each level wanted at the most in the time before. A level keeps what it
    /// cannot lend and what it wants of its own; what is left over goes to those that want more, by their nominal seats.
    pub fn adjusted(seats: &[Seats], wanted: &[u64]) -> Vec<u64> {
        let demand = |index: usize| wanted.get(index).copied().unwrap_or_default();
        let mut limits: Vec<u64> = Vec::with_capacity(seats.len());
        let (mut spare, mut hungry) = (0, 0);
        for (index, own) in seats.iter().enumerate() {
            let kept = own.nominal.min(demand(index)).max(own.nominal - own.lendable.min(own.nominal));
            spare += own.nominal - kept;
            if demand(index) > own.nominal {
                hungry += own.nominal.max(1);
            }
            limits.push(kept);
        }
        for (index, own) in seats.iter().enumerate() {
            let more = demand(index).saturating_sub(own.nominal);
            if more > 0 {
                let share = spare * own.nominal.max(1) / hungry.max(1);
                limits[index] += share.min(more).min(own.borrowing);
            }
        }
        limits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn level(shares: u32, lendable_percent: u32, borrowing_percent: Option<u32>) -> Level {
        let kind = Kind::Limited { nominal_shares: shares, lendable_percent, borrowing_percent, queuing: None };
        Level { name: String::new(), uid: String::new(), kind }
    }

    #[test]
    fn seats_are_shared_out() {
        let exempt = Level { name: String::new(), uid: String::new(), kind: Kind::Exempt };
        let levels = [level(30, 33, None), level(40, 50, Some(25)), exempt];
        let seats = Seats::of(&levels, 600);
        assert_eq!(seats[0], Seats { nominal: 258, lendable: 85, borrowing: 600 });
        assert_eq!(seats[1], Seats { nominal: 343, lendable: 172, borrowing: 86 });
        assert_eq!(seats[2], Seats::default());
    }

    #[test]
    fn seats_that_are_not_needed_are_lent() {
        let seats = Seats::of(&[level(1, 50, None), level(1, 50, None), level(1, 0, Some(10))], 300);
        // (wanted, limits)
        let rows = [
            ([0, 0, 0], [50, 50, 100]),
            ([500, 0, 0], [150, 50, 100]),
            ([100, 100, 100], [100, 100, 100]),
            ([500, 80, 0], [120, 80, 100]),
            ([0, 0, 500], [50, 50, 110]),
        ];
        for (wanted, limits) in rows {
            assert_eq!(Seats::adjusted(&seats, &wanted), limits, "{wanted:?}");
        }
    }
}
