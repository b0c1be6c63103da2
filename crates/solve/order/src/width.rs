//! The width of clocks, which is how many entries they have. It is a constant of the compiled code, or a variable.
//!
//! Clocks are stored one after another in flat arrays. If their width is a constant, each is an array, and the compiler
//! leaves no loop over its entries.

/// A number of entries.
pub trait Width: Copy {
    /// A clock that is not part of an array.
    type Clock: AsRef<[u32]> + AsMut<[u32]> + Clone;

    /// The number of entries.
    fn entries(self) -> usize;

    /// The clock with that number, of an array of clocks.
    fn clock(self, clocks: &[u32], at: usize) -> &[u32];

    /// The clock with that number, to change it.
    fn clock_mut(self, clocks: &mut [u32], at: usize) -> &mut [u32];

    /// A copy of the clock with that number.
    fn copy(self, clocks: &[u32], at: usize) -> Self::Clock;
}

/// A constant number of entries.
#[derive(Copy, Clone, Debug)]
pub struct Fixed<const ENTRIES: usize>;

impl<const ENTRIES: usize> Width for Fixed<ENTRIES> {
    type Clock = [u32; ENTRIES];

    #[inline]
    fn entries(self) -> usize {
        ENTRIES
    }

    #[inline]
    fn clock(self, clocks: &[u32], at: usize) -> &[u32] {
        &clocks.as_chunks::<ENTRIES>().0[at]
    }

    #[inline]
    fn clock_mut(self, clocks: &mut [u32], at: usize) -> &mut [u32] {
        &mut clocks.as_chunks_mut::<ENTRIES>().0[at]
    }

    #[inline]
    fn copy(self, clocks: &[u32], at: usize) -> [u32; ENTRIES] {
        clocks.as_chunks().0[at]
    }
}

/// A number of entries that is known when the program runs.
#[derive(Copy, Clone, Debug, Default)]
pub struct Entries(pub usize);

impl Width for Entries {
    type Clock = Vec<u32>;

    #[inline]
    fn entries(self) -> usize {
        self.0
    }

    #[inline]
    fn clock(self, clocks: &[u32], at: usize) -> &[u32] {
        &clocks[at * self.0..][..self.0]
    }

    #[inline]
    fn clock_mut(self, clocks: &mut [u32], at: usize) -> &mut [u32] {
        &mut clocks[at * self.0..][..self.0]
    }

    #[inline]
    fn copy(self, clocks: &[u32], at: usize) -> Vec<u32> {
        self.clock(clocks, at).to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clocks_of(width: impl Width) {
        let mut clocks: Vec<u32> = (0..12).collect();
        assert_eq!(width.entries(), 4);
        assert_eq!(width.clock(&clocks, 1), [4, 5, 6, 7]);
        assert_eq!(width.copy(&clocks, 2).as_ref(), [8, 9, 10, 11]);
        width.clock_mut(&mut clocks, 0)[3] = 7;
        assert_eq!(clocks[..5], [0, 1, 2, 7, 4]);
    }

    #[test]
    fn clocks_stand_one_after_another() {
        clocks_of(Fixed::<4>);
        clocks_of(Entries(4));
    }
}
