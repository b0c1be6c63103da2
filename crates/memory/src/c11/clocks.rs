//! Vector clocks in flat arrays: a clock is `width` lanes, one a thread, and says how many events of each thread are
//! known. The width is a multiple of four, so that clocks are joined and compared four lanes at a time. For few threads it is known
//! beforehand: then clocks are arrays, and no loop is left.

/// How many events of a thread are counted at most: so that lanes can be compared as signed numbers. (Every processor can do that with
/// several at once.)
pub(super) const MOST: u32 = i32::MAX as u32;

/// The lanes of a clock for so many threads.
pub(super) fn width(threads: usize) -> usize {
    threads.next_multiple_of(4)
}

/// A number of lanes: a multiple of four. Clocks are stored one after another in flat arrays.
pub(super) trait Width: Copy {
    /// A clock of its own.
    type Clock: AsRef<[u32]> + AsMut<[u32]> + Clone;

    fn lanes(self) -> usize;

    /// One of the clocks that are stored.
    fn clock(self, clocks: &[u32], at: usize) -> &[u32];

    fn clock_mut(self, clocks: &mut [u32], at: usize) -> &mut [u32];

    fn copy(self, clocks: &[u32], at: usize) -> Self::Clock;
}

#[derive(Copy, Clone)]
pub(super) struct Fixed<const LANES: usize>;

impl<const LANES: usize> Width for Fixed<LANES> {
    type Clock = [u32; LANES];

    #[inline]
    fn lanes(self) -> usize {
        LANES
    }

    #[inline]
    fn clock(self, clocks: &[u32], at: usize) -> &[u32] {
        &clocks.as_chunks::<LANES>().0[at]
    }

    #[inline]
    fn clock_mut(self, clocks: &mut [u32], at: usize) -> &mut [u32] {
        &mut clocks.as_chunks_mut::<LANES>().0[at]
    }

    #[inline]
    fn copy(self, clocks: &[u32], at: usize) -> [u32; LANES] {
        clocks.as_chunks().0[at]
    }
}

#[derive(Copy, Clone)]
pub(super) struct Any(pub usize);

impl Width for Any {
    type Clock = Vec<u32>;

    fn lanes(self) -> usize {
        self.0
    }

    fn clock(self, clocks: &[u32], at: usize) -> &[u32] {
        &clocks[at * self.0..][..self.0]
    }

    fn clock_mut(self, clocks: &mut [u32], at: usize) -> &mut [u32] {
        &mut clocks[at * self.0..][..self.0]
    }

    fn copy(self, clocks: &[u32], at: usize) -> Vec<u32> {
        self.clock(clocks, at).to_vec()
    }
}

/// The lane-wise maximum of four lanes.
#[allow(clippy::inline_always)]
#[inline(always)]
pub(super) fn greatest(one: [u32; 4], other: [u32; 4]) -> [u32; 4] {
    std::array::from_fn(|lane| (one[lane] as i32).max(other[lane] as i32) as u32)
}

/// `into` becomes the lane-wise maximum of both.
#[allow(clippy::inline_always)] // where the number of lanes is known, there is no loop
#[inline(always)]
pub(super) fn join(into: &mut [u32], from: &[u32]) {
    for (into, from) in into.as_chunks_mut::<4>().0.iter_mut().zip(from.as_chunks::<4>().0) {
        *into = greatest(*into, *from);
    }
}

/// `into` becomes the same as `from`. (For a few lanes that is less work than `copy_from_slice`.)
#[allow(clippy::inline_always)] // where the number of lanes is known, there is no loop
#[inline(always)]
pub(super) fn copy(into: &mut [u32], from: &[u32]) {
    for (into, from) in into.as_chunks_mut::<4>().0.iter_mut().zip(from.as_chunks::<4>().0) {
        *into = *from;
    }
}

/// Does something with the lanes of that many threads' clocks. (The first comparison is kept apart from the others: a jump by table takes
/// longer.)
macro_rules! with_width {
    ($width:expr, $lanes:ident => $body:expr) => {{
        use $crate::c11::clocks::{Any, Fixed};
        let width = $width;
        if width == 8 {
            let $lanes = Fixed::<8>;
            $body
        } else if std::hint::black_box(width) == 4 {
            let $lanes = Fixed::<4>;
            $body
        } else if width == 16 {
            let $lanes = Fixed::<16>;
            $body
        } else if width == 32 {
            let $lanes = Fixed::<32>;
            $body
        } else {
            let $lanes = Any(width);
            $body
        }
    }};
}
pub(super) use with_width;
