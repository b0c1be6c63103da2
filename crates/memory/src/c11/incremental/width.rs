//! How many lanes a clock has. For few threads that is known beforehand: then clocks are arrays, and no loop is left.

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

/// `into` becomes the lane-wise maximum of both. Lanes are at most [`MOST`](super::MOST); without that, comparing them takes longer.
#[allow(clippy::inline_always)] // where the number of lanes is known, there is no loop
#[inline(always)]
pub(super) fn join(into: &mut [u32], from: &[u32]) {
    for (into, from) in into.as_chunks_mut::<4>().0.iter_mut().zip(from.as_chunks::<4>().0) {
        *into = std::array::from_fn(|lane| (into[lane] as i32).max(from[lane] as i32) as u32);
    }
}

/// Calls a method with the width of an execution. (These are comparisons in turn, since a jump by table is no better foretold and
/// takes longer.)
macro_rules! with_width {
    ($self:ident.$method:ident($($argument:expr),*)) => {
        if $self.width == 8 {
            $self.$method($crate::c11::incremental::width::Fixed::<8>, $($argument),*)
        } else if $self.width == 4 {
            $self.$method($crate::c11::incremental::width::Fixed::<4>, $($argument),*)
        } else if $self.width == 16 {
            $self.$method($crate::c11::incremental::width::Fixed::<16>, $($argument),*)
        } else if $self.width == 32 {
            $self.$method($crate::c11::incremental::width::Fixed::<32>, $($argument),*)
        } else {
            $self.$method($crate::c11::incremental::width::Any($self.width), $($argument),*)
        }
    };
}
pub(super) use with_width;
