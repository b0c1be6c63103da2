//! Lists by number, all in one array: a counting sort.
//!
//! Row `r` holds the items that were given for `r`, in the order in which they were given. Invariant: it is
//! `items[starts[r]..starts[r + 1]]`, and the last of `starts` is the number of all items.

/// Rows of items. See the [module](self).
///
/// ```
/// let rows = order::Rows::new(3, [(2, 'a'), (0, 'b'), (2, 'c')].into_iter());
/// assert_eq!(rows.of(0), ['b']);
/// assert!(rows.of(1).is_empty());
/// assert_eq!(rows.of(2), ['a', 'c']);
/// ```
#[derive(Clone, Debug)]
pub struct Rows<T = u32> {
    starts: Vec<u32>,
    /// May be longer than all rows together. The rest is left over from an earlier use.
    items: Vec<T>,
}

impl<T> Default for Rows<T> {
    fn default() -> Self {
        Self { starts: vec![0], items: Vec::new() }
    }
}

impl<T: Copy + Default> Rows<T> {
    /// So many rows, from pairs of a row and an item of it.
    ///
    /// # Panics
    /// If a pair names a row that does not exist.
    pub fn new(count: usize, pairs: impl Iterator<Item = (usize, T)> + Clone) -> Self {
        let mut rows = Self::default();
        rows.fill(count, pairs);
        rows
    }

    /// As [`Self::new`], in the memory of this value.
    ///
    /// # Panics
    /// As [`Self::new`].
    #[inline]
    pub fn fill(&mut self, count: usize, pairs: impl Iterator<Item = (usize, T)> + Clone) {
        let Self { starts, items } = self;
        // The items of a row are counted two places ahead. So `starts[row + 1]` is first where the row begins, and,
        // when the row is filled, where it ends.
        starts.clear();
        starts.resize(count + 2, 0);
        for (row, _) in pairs.clone() {
            starts[row + 2] += 1;
        }
        let mut all = 0;
        for start in &mut *starts {
            all += *start;
            *start = all;
        }
        if items.len() < all as usize {
            items.resize(all as usize, T::default());
        }
        for (row, item) in pairs {
            let next = &mut starts[row + 1];
            items[*next as usize] = item;
            *next += 1;
        }
        starts.pop();
    }

    /// How many rows there are.
    pub fn count(&self) -> usize {
        self.starts.len() - 1
    }

    /// The items of a row.
    #[inline]
    pub fn of(&self, row: usize) -> &[T] {
        &self.items[self.starts[row] as usize..self.starts[row + 1] as usize]
    }

    /// Where each row begins in [`Self::items`], and the number of all items at the end.
    #[inline]
    pub fn starts(&self) -> &[u32] {
        &self.starts
    }

    /// The items of all rows.
    #[inline]
    pub fn items(&self) -> &[T] {
        &self.items[..self.starts[self.count()] as usize]
    }

    /// The items of all rows, row by row, without the rows.
    pub fn into_items(mut self) -> Vec<T> {
        self.items.truncate(self.starts[self.count()] as usize);
        self.items
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_hold_what_was_given_in_its_order() {
        let pairs = [(2, 'a'), (0, 'b'), (2, 'c'), (3, 'd'), (2, 'e')];
        let rows = Rows::new(5, pairs.into_iter());
        let expected: [&[char]; 5] = [&['b'], &[], &['a', 'c', 'e'], &['d'], &[]];
        assert_eq!(rows.count(), 5);
        assert_eq!([0, 1, 2, 3, 4].map(|row| rows.of(row)), expected);
        assert_eq!(rows.starts(), [0, 1, 1, 4, 5, 5]);
        assert_eq!(rows.items(), ['b', 'a', 'c', 'e', 'd']);
        assert_eq!(rows.into_items(), ['b', 'a', 'c', 'e', 'd']);
    }

    #[test]
    fn memory_is_used_again() {
        let mut rows = Rows::new(3, [(0, 7), (1, 8), (2, 9)].into_iter());
        rows.fill(1, [(0, 5)].into_iter());
        assert_eq!((rows.count(), rows.of(0), rows.items()), (1, &[5][..], &[5][..]));
        rows.fill(2, std::iter::empty());
        assert_eq!((rows.of(0), rows.of(1), rows.items()), (&[][..], &[][..], &[][..]));
        rows.fill(0, std::iter::empty());
        assert_eq!((rows.count(), rows.items()), (0, &[][..]));
        assert_eq!(rows.into_items(), [] as [i32; 0]);
        assert_eq!(Rows::<u32>::default().count(), 0);
    }

    #[test]
    #[should_panic(expected = "out of bounds")]
    fn a_row_must_be_there() {
        let _ = Rows::new(2, [(2, ())].into_iter());
    }
}
