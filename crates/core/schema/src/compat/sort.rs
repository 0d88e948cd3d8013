//! Pattern-defeating quicksort as Go's standard library has it.
//! Guarantees Go's order of elements that are equal. Any answers of `less` end it, contradictory ones too, after
//! n log n steps. Must never panic, as the sorts of the standard library do where an order contradicts itself.

/// Lengths up to which elements are inserted one by one.
const MAX_INSERTION: usize = 12;
/// Lengths from which on the pivot is taken from nine elements.
const NINTHER: usize = 50;
/// Lengths from which on a few misplaced elements are shifted.
const SHIFTING: usize = 50;
/// Misplaced pairs that are shifted.
const MAX_SHIFTS: usize = 5;
/// Swaps that finding a pivot makes in a slice that decreases.
const ALL_SWAPS: usize = 12;

/// Sorts items by whether the first of two comes before the second.
pub fn sort(items: &mut [usize], less: impl Fn(usize, usize) -> bool) {
    Sorter { items, less }.sort();
}

/// A slice under sorting.
struct Sorter<'s, F> {
    items: &'s mut [usize],
    /// Whether the first item comes before the second.
    less: F,
}

#[derive(PartialEq)]
enum Hint {
    Unknown,
    Increasing,
    Decreasing,
}

impl<F: Fn(usize, usize) -> bool> Sorter<'_, F> {
    fn sort(&mut self) {
        let length = self.items.len();
        self.sort_range(0, length, usize::BITS - length.leading_zeros());
    }

    fn less(&self, a: usize, b: usize) -> bool {
        match (self.items.get(a), self.items.get(b)) {
            (Some(a), Some(b)) => (self.less)(*a, *b),
            _ => false,
        }
    }

    fn swap(&mut self, a: usize, b: usize) {
        if a.max(b) < self.items.len() {
            self.items.swap(a, b);
        }
    }

    fn sort_range(&mut self, mut from: usize, mut to: usize, mut limit: u32) {
        let (mut was_balanced, mut was_partitioned) = (true, true);
        loop {
            let length = to - from;
            if length <= MAX_INSERTION {
                return self.insert(from, to);
            }
            if limit == 0 {
                return self.heap_sort(from, to);
            }
            if !was_balanced {
                self.break_patterns(from, to);
                limit -= 1;
            }
            let (mut pivot, mut hint) = self.choose_pivot(from, to);
            if hint == Hint::Decreasing {
                self.items.get_mut(from..to).unwrap_or_default().reverse();
                pivot = (to - 1) - (pivot - from);
                hint = Hint::Increasing;
            }
            if was_balanced && was_partitioned && hint == Hint::Increasing && self.insert_few(from, to) {
                return;
            }
            // What is left of the range is not greater than anything in it, so it equals the pivot.
            if from > 0 && !self.less(from - 1, pivot) {
                from = self.partition_equal(from, to, pivot);
                continue;
            }
            let middle;
            (middle, was_partitioned) = self.partition(from, to, pivot);
            let (left, right) = (middle - from, to - middle);
            let balanced = length / 8;
            // The shorter part is sorted by recursion, so that its depth is logarithmic.
            if left < right {
                was_balanced = left >= balanced;
                self.sort_range(from, middle, limit);
                from = middle + 1;
            } else {
                was_balanced = right >= balanced;
                self.sort_range(middle + 1, to, limit);
                to = middle;
            }
        }
    }

    fn insert(&mut self, from: usize, to: usize) {
        for at in from + 1..to {
            self.shift_left(at, from);
        }
    }

    /// Moves an item to the left as long as it is less, not beyond `least`.
    fn shift_left(&mut self, from: usize, least: usize) {
        let mut at = from;
        while at > least && self.less(at, at - 1) {
            self.swap(at, at - 1);
            at -= 1;
        }
    }

    fn heap_sort(&mut self, from: usize, to: usize) {
        let length = to - from;
        for root in (0..=(length - 1) / 2).rev() {
            self.sift_down(root, length, from);
        }
        for end in (0..length).rev() {
            self.swap(from, from + end);
            self.sift_down(0, end, from);
        }
    }

    fn sift_down(&mut self, mut root: usize, length: usize, first: usize) {
        loop {
            let mut child = 2 * root + 1;
            if child >= length {
                return;
            }
            if child + 1 < length && self.less(first + child, first + child + 1) {
                child += 1;
            }
            if !self.less(first + root, first + child) {
                return;
            }
            self.swap(first + root, first + child);
            root = child;
        }
    }

    /// Moves the items less than the pivot before it; gives where it is then, and whether they were there already.
    fn partition(&mut self, from: usize, to: usize, pivot: usize) -> (usize, bool) {
        self.swap(from, pivot);
        let (mut low, mut high) = (from + 1, to - 1);
        let mut moved = false;
        loop {
            while low <= high && self.less(low, from) {
                low += 1;
            }
            while low <= high && !self.less(high, from) {
                high -= 1;
            }
            if low > high {
                break;
            }
            moved = true;
            self.swap(low, high);
            low += 1;
            high -= 1;
        }
        self.swap(high, from);
        (high, !moved)
    }

    /// Moves the items equal to the pivot to the beginning; gives where the greater ones begin.
    fn partition_equal(&mut self, from: usize, to: usize, pivot: usize) -> usize {
        self.swap(from, pivot);
        let (mut low, mut high) = (from + 1, to - 1);
        loop {
            while low <= high && !self.less(from, low) {
                low += 1;
            }
            while low <= high && self.less(from, high) {
                high -= 1;
            }
            if low > high {
                return low;
            }
            self.swap(low, high);
            low += 1;
            high -= 1;
        }
    }

    /// Sorts a range of which few items are misplaced; gives whether it is sorted then.
    fn insert_few(&mut self, from: usize, to: usize) -> bool {
        let mut at = from + 1;
        for _ in 0..MAX_SHIFTS {
            while at < to && !self.less(at, at - 1) {
                at += 1;
            }
            if at == to {
                return true;
            }
            if to - from < SHIFTING {
                return false;
            }
            self.swap(at, at - 1);
            if at - from >= 2 {
                // Not bounded by the range, as in the original; what is before it is not greater.
                self.shift_left(at - 1, 0);
            }
            if to - at >= 2 {
                for next in at + 1..to {
                    if !self.less(next, next - 1) {
                        break;
                    }
                    self.swap(next, next - 1);
                }
            }
        }
        false
    }

    /// Scatters three items, so that patterns that made for a bad pivot are gone.
    fn break_patterns(&mut self, from: usize, to: usize) {
        let length = to - from;
        if length < 8 {
            return;
        }
        let mut random = length as u64;
        let mask = (1_u64 << (usize::BITS - length.leading_zeros())) - 1;
        let middle = from + (length / 4) * 2 - 1;
        for offset in 0..3 {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let mut other = (random & mask) as usize;
            if other >= length {
                other -= length;
            }
            self.swap(middle - 1 + offset, from + other);
        }
    }

    fn choose_pivot(&self, from: usize, to: usize) -> (usize, Hint) {
        let length = to - from;
        let mut swaps = 0;
        let quarter = length / 4;
        let [mut low, mut middle, mut high] = [from + quarter, from + quarter * 2, from + quarter * 3];
        if length >= 8 {
            if length >= NINTHER {
                low = self.median(low - 1, low, low + 1, &mut swaps);
                middle = self.median(middle - 1, middle, middle + 1, &mut swaps);
                high = self.median(high - 1, high, high + 1, &mut swaps);
            }
            middle = self.median(low, middle, high, &mut swaps);
        }
        let hint = match swaps {
            0 => Hint::Increasing,
            ALL_SWAPS => Hint::Decreasing,
            _ => Hint::Unknown,
        };
        (middle, hint)
    }

    fn median(&self, a: usize, b: usize, c: usize, swaps: &mut usize) -> usize {
        let mut ordered = |a, b| {
            let swapped = self.less(b, a);
            *swaps += usize::from(swapped);
            if swapped { (b, a) } else { (a, b) }
        };
        let (a, b) = ordered(a, b);
        let (b, _) = ordered(b, c);
        ordered(a, b).1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(items: &[usize], less: impl Fn(usize, usize) -> bool) -> Vec<usize> {
        let mut items = items.to_vec();
        sort(&mut items, less);
        items
    }

    #[test]
    fn any_pattern_is_sorted() {
        for length in [0, 1, 12, 13, 49, 50, 200, 3000] {
            let patterns: [&dyn Fn(usize) -> usize; 6] = [
                &|at| at,
                &|at| 3000 - at,
                &|at| at * 7919 % 3001,
                &|at| at % 3,
                &|at| at / 10 * 10 + 9 - at % 10,
                &|_| 5,
            ];
            for (number, pattern) in patterns.iter().enumerate() {
                let items: Vec<usize> = (0..length).map(pattern).collect();
                let mut expected = items.clone();
                expected.sort_unstable();
                assert_eq!(sorted(&items, |a, b| a < b), expected, "{number} {length}");
            }
        }
    }

    #[test]
    fn contradictions_end() {
        let items: Vec<usize> = (0..1000).collect();
        assert_eq!(sorted(&items, |_, _| true).len(), 1000);
        assert_eq!(sorted(&items, |a, b| (a * 31 + b * 17) % 3 == 0).len(), 1000);
    }
}
