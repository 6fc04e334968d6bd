//! A list that allocates no memory while it is short, for the arguments of Wait and Test calls.

/// So many elements lie in the list itself: programs mostly complete one request at a time, or a few.
const FEW: usize = 4;

pub struct Few<T> {
    /// Filled from the front.
    first: [Option<T>; FEW],
    rest: Vec<T>,
}

impl<T> Few<T> {
    pub const fn new() -> Few<T> {
        Few { first: [const { None }; FEW], rest: Vec::new() }
    }

    pub fn push(&mut self, element: T) {
        match self.first.iter_mut().find(|place| place.is_none()) {
            Some(place) => *place = Some(element),
            None => self.rest.push(element),
        }
    }

    /// True if there is room for another element, for which memory is taken.
    pub fn has_room(&mut self) -> bool {
        self.first.last().is_some_and(Option::is_none) || self.rest.try_reserve(1).is_ok()
    }

    pub fn is_empty(&self) -> bool {
        self.first[0].is_none()
    }

    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> {
        self.first.iter().flatten().chain(&self.rest)
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.first.iter_mut().flatten().chain(&mut self.rest)
    }

    pub fn take_all(&mut self) -> impl DoubleEndedIterator<Item = T> {
        self.first.iter_mut().filter_map(Option::take).chain(self.rest.drain(..))
    }

    /// The element of this key, where keys rise from one element to the next.
    pub fn find_by_key(&mut self, key: usize, key_of: impl Fn(&T) -> usize) -> Option<&mut T> {
        if let Ok(index) = self.rest.binary_search_by_key(&key, &key_of) {
            return self.rest.get_mut(index);
        }
        self.first.iter_mut().flatten().find(|element| key_of(element) == key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn few(elements: impl Iterator<Item = usize>) -> Few<usize> {
        let mut few = Few::new();
        elements.for_each(|element| few.push(element));
        few
    }

    #[test]
    fn elements_keep_their_order_and_are_found_by_their_keys() {
        for length in [0, 1, FEW, FEW + 1, 3 * FEW] {
            let mut few = few((0..length).map(|index| 10 * index));
            assert_eq!(few.is_empty(), length == 0);
            assert!(few.iter().copied().eq((0..length).map(|index| 10 * index)), "{length}");
            for index in 0..length {
                assert_eq!(few.find_by_key(10 * index, |element| *element).copied(), Some(10 * index));
            }
            assert_eq!(few.find_by_key(5, |element| *element), None);
            assert!(few.take_all().rev().eq((0..length).rev().map(|index| 10 * index)), "{length}");
            assert!(few.is_empty() && few.iter().next().is_none());
            few.push(7);
            assert_eq!(few.iter().collect::<Vec<_>>(), [&7]);
        }
    }

    #[test]
    fn a_short_list_has_no_memory_of_its_own() {
        assert_eq!(few(0..FEW).rest.capacity(), 0);
    }
}
