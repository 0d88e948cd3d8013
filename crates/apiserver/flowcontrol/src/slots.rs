//! Numbered slots: what is put in keeps its number until it is taken out.
//! Guarantees that putting in and taking out cost the same whatever there is. Must never give a number to two.

/// Values by number.
#[derive(Debug)]
pub(crate) struct Slots<T> {
    slots: Vec<Option<T>>,
    free: Vec<usize>,
}

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Slots { slots: Vec::new(), free: Vec::new() }
    }
}

impl<T> Slots<T> {
    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Puts a value in, and tells its number.
    pub fn insert(&mut self, value: T) -> usize {
        match self.free.pop() {
            Some(number) => {
                if let Some(slot) = self.slots.get_mut(number) {
                    *slot = Some(value);
                }
                number
            }
            None => {
                self.slots.push(Some(value));
                self.slots.len() - 1
            }
        }
    }

    pub fn remove(&mut self, number: usize) -> Option<T> {
        let value = self.slots.get_mut(number)?.take()?;
        self.free.push(number);
        Some(value)
    }

    pub fn values(&self) -> impl Iterator<Item = &T> {
        self.slots.iter().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::Slots;

    #[test]
    fn numbers_are_given_again_when_they_are_free() {
        let mut slots = Slots::default();
        assert_eq!(["a", "b", "c"].map(|value| slots.insert(value)), [0, 1, 2]);
        assert_eq!((slots.remove(1), slots.remove(1), slots.remove(7)), (Some("b"), None, None));
        assert_eq!((slots.insert("d"), slots.len()), (1, 3));
        assert_eq!(slots.values().copied().collect::<Vec<_>>(), ["a", "d", "c"]);
        (0..3).for_each(|number| _ = slots.remove(number));
        assert!(slots.is_empty());
    }
}
