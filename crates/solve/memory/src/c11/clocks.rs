//! The clocks of this engine. A clock has one lane for each thread, which says how many events of the thread are known.
//!
//! Clocks are stored in flat arrays ([`order::width`]). Their width is a multiple of four, so that they are joined and
//! copied four lanes at a time: most clocks have few lanes, and the blocks of [`order::lanes`] are too long for them.
//! For few threads, the width is a constant of the compiled code ([`with_width`]).

use order::lanes;

/// The most events of a thread that are counted. With this limit, lanes can be compared as signed numbers, which every
/// processor can do with several lanes at once.
pub(super) const MAX_COUNT: u32 = i32::MAX as u32;

/// How many lanes a clock has, for so many threads.
pub(super) fn width(threads: usize) -> usize {
    threads.next_multiple_of(4)
}

/// `into` becomes the lane-wise maximum of both.
#[allow(clippy::inline_always)] // where the number of lanes is known, there is no loop
#[inline(always)]
pub(super) fn join(into: &mut [u32], from: &[u32]) {
    for (into, from) in into.as_chunks_mut::<4>().0.iter_mut().zip(from.as_chunks::<4>().0) {
        *into = lanes::join(into, from);
    }
}

/// Copies `from` to `into`. (For a few lanes this is less work than `copy_from_slice`.)
#[allow(clippy::inline_always)] // where the number of lanes is known, there is no loop
#[inline(always)]
pub(super) fn copy(into: &mut [u32], from: &[u32]) {
    for (into, from) in into.as_chunks_mut::<4>().0.iter_mut().zip(from.as_chunks::<4>().0) {
        *into = *from;
    }
}

/// Evaluates an expression with the width of the clocks, as a constant if it is small. (The first comparison is kept
/// apart from the others, because a jump by table takes longer.)
macro_rules! with_width {
    ($width:expr, $lanes:ident => $body:expr) => {{
        use order::{Entries, Fixed};
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
            let $lanes = Entries(width);
            $body
        }
    }};
}
pub(super) use with_width;
