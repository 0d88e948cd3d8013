//! Priority levels: how many seats of the server's each has, and how many it may lend and borrow.
//! Guarantees that all levels together have the server's seats but for rounding. Must never know what levels want at a time:
//! that is what borrowing is about.

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
    /// They never do. Shares of such a level are what it lends.
    Exempt { nominal_shares: u32, lendable_percent: u32 },
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

impl Kind {
    fn shares(&self) -> u64 {
        let (Kind::Exempt { nominal_shares, .. } | Kind::Limited { nominal_shares, .. }) = self;
        u64::from(*nominal_shares)
    }
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
    /// How many of them other levels may borrow.
    pub lendable: u64,
    /// How many seats of other levels it may borrow.
    pub borrowing: u64,
}

impl Seats {
    /// The seats of each level, of `total` of the server.
    pub fn of(levels: &[Level], total: u64) -> Vec<Seats> {
        let sum = levels.iter().map(|level| level.kind.shares()).sum::<u64>().max(1);
        let seats = |level: &Level| {
            let (lendable, borrowing) = match level.kind {
                Kind::Exempt { lendable_percent, .. } => (lendable_percent, None),
                Kind::Limited { lendable_percent, borrowing_percent, .. } => (lendable_percent, borrowing_percent),
            };
            let nominal = (total * level.kind.shares()).div_ceil(sum);
            let percent = |percent: u32| (nominal * u64::from(percent) + 50) / 100;
            Seats { nominal, lendable: percent(lendable), borrowing: borrowing.map_or(total, percent) }
        };
        levels.iter().map(seats).collect()
    }

    /// What a level has whatever others want.
    pub fn lower(&self) -> u64 {
        self.nominal.saturating_sub(self.lendable)
    }

    /// What a level has at the most.
    pub fn upper(&self) -> u64 {
        self.nominal.saturating_add(self.borrowing)
    }

    /// What a new level has until its demand is known.
    pub fn initial(&self) -> u64 {
        self.nominal.saturating_sub(self.lendable / 2)
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
        let kind = Kind::Exempt { nominal_shares: 0, lendable_percent: 0 };
        let exempt = Level { name: String::new(), uid: String::new(), kind };
        let levels = [level(30, 33, None), level(40, 50, Some(25)), exempt];
        let seats = Seats::of(&levels, 600);
        assert_eq!(seats[0], Seats { nominal: 258, lendable: 85, borrowing: 600 });
        assert_eq!(seats[1], Seats { nominal: 343, lendable: 172, borrowing: 86 });
        assert_eq!(seats[2], Seats { nominal: 0, lendable: 0, borrowing: 600 });
        assert_eq!(
            [0, 1].map(|level| (seats[level].lower(), seats[level].upper(), seats[level].initial())),
            [(173, 858, 216), (171, 429, 257)]
        );
        // An exempt level with shares has seats that it can lend.
        let kind = Kind::Exempt { nominal_shares: 10, lendable_percent: 50 };
        let lending = Level { name: String::new(), uid: String::new(), kind };
        let seats = Seats::of(&[lending, level(10, 0, None)], 601);
        assert_eq!((seats[0].nominal, seats[0].lendable, seats[1].nominal), (301, 151, 301));
    }
}
