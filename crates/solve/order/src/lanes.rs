//! Comparison and join of clocks, many lanes at a time and without a branch.
//!
//! A lane is one entry of a clock, and says where the known part of a chain ends: see [`Lane`]. The lanes of a clock
//! are in blocks of a fixed size, and the code for a block has no loops.

/// How many lanes a block has. The number of lanes of a clock is a multiple of it.
pub const BLOCK: usize = 16;

/// A block of lanes of a clock.
pub type Block<L = u32> = [L; BLOCK];

/// An entry of a clock: the first event of a chain that is not known. As 32 bits it is the number of that event, which
/// is below 2^31. So entries may be compared as signed numbers, which every processor can do with several at once. As 8
/// bits it counts the known events of the chain. That is for short chains.
pub trait Lane: Copy + Default + Ord + Into<u64> + std::fmt::Debug + Send + Sync + 'static {
    /// The most events of a chain.
    const MOST_EVENTS: usize;

    /// The entry of which `event` is the first that is not known, of the chain that begins at `start`.
    fn before(event: u32, start: impl FnOnce() -> u32) -> Self;

    /// The first event that is not known, of the chain that begins at `start`.
    fn end(self, start: impl FnOnce() -> u32) -> u32;

    /// The entry that is less by so much.
    #[must_use]
    fn less(self, by: u16) -> Self;

    /// By how much this entry is greater than another.
    fn growth(self, since: Self) -> u32;

    /// Where the entries of one block are larger than those of another: one bit for each lane.
    fn larger(a: &Block<Self>, b: &Block<Self>) -> u32;

    /// The least block above both.
    fn join(a: &Block<Self>, b: &Block<Self>) -> Block<Self>;
}

impl Lane for u32 {
    const MOST_EVENTS: usize = i32::MAX as usize;

    #[inline]
    fn before(event: u32, _: impl FnOnce() -> u32) -> Self {
        event
    }

    #[inline]
    fn end(self, _: impl FnOnce() -> u32) -> u32 {
        self
    }

    #[inline]
    fn less(self, by: u16) -> Self {
        self - Self::from(by)
    }

    #[inline]
    fn growth(self, since: Self) -> u32 {
        self - since
    }

    #[inline]
    fn larger(a: &Block, b: &Block) -> u32 {
        #[cfg(target_arch = "x86_64")]
        return larger_by_sse2(a, b);
        #[cfg(not(target_arch = "x86_64"))]
        return larger_lane_by_lane(a, b);
    }

    #[inline]
    fn join(a: &Block, b: &Block) -> Block {
        join(a, b)
    }
}

impl Lane for u8 {
    const MOST_EVENTS: usize = Self::MAX as usize;

    #[inline]
    fn before(event: u32, start: impl FnOnce() -> u32) -> Self {
        (event - start()) as Self
    }

    #[inline]
    fn end(self, start: impl FnOnce() -> u32) -> u32 {
        start() + u32::from(self)
    }

    #[inline]
    fn less(self, by: u16) -> Self {
        self - by as Self
    }

    #[inline]
    fn growth(self, since: Self) -> u32 {
        u32::from(self - since)
    }

    #[inline]
    fn larger(a: &Block<Self>, b: &Block<Self>) -> u32 {
        #[cfg(target_arch = "x86_64")]
        return larger_bytes_by_sse2(a, b);
        #[cfg(not(target_arch = "x86_64"))]
        return larger_lane_by_lane(a, b);
    }

    #[inline]
    fn join(a: &Block<Self>, b: &Block<Self>) -> Block<Self> {
        std::array::from_fn(|lane| a[lane].max(b[lane]))
    }
}

/// How many lanes a clock of so many chains has.
pub const fn lanes(chains: usize) -> usize {
    if chains == 0 { BLOCK } else { chains.next_multiple_of(BLOCK) }
}

/// The blocks of a clock.
#[inline]
pub fn blocks<L>(clock: &[L]) -> &[Block<L>] {
    clock.as_chunks().0
}

/// Where the entries of one block are larger than those of another: one bit for each lane.
#[inline]
pub fn larger<L: Lane>(a: &Block<L>, b: &Block<L>) -> u32 {
    L::larger(a, b)
}

/// [`larger`], four lanes with each comparison.
#[cfg(target_arch = "x86_64")]
#[inline]
#[allow(unsafe_code)]
fn larger_by_sse2(a: &Block, b: &Block) -> u32 {
    use std::arch::x86_64::{_mm_cmpgt_epi32, _mm_loadu_si128, _mm_movemask_epi8, _mm_packs_epi16, _mm_packs_epi32};
    let [a, b] = [a, b].map(|block| block.as_chunks::<4>().0);
    // SAFETY: every x86-64 processor has SSE2, and four lanes are what is loaded.
    let mask = unsafe {
        let larger = |at: usize| {
            let [a, b] = [a, b].map(|lanes| _mm_loadu_si128(std::ptr::from_ref(&lanes[at]).cast()));
            _mm_cmpgt_epi32(a, b)
        };
        let halves = [_mm_packs_epi32(larger(0), larger(1)), _mm_packs_epi32(larger(2), larger(3))];
        _mm_movemask_epi8(_mm_packs_epi16(halves[0], halves[1]))
    };
    mask as u32
}

/// [`larger`] for lanes of 8 bits, all of them with one comparison.
#[cfg(target_arch = "x86_64")]
#[inline]
#[allow(unsafe_code)]
fn larger_bytes_by_sse2(a: &Block<u8>, b: &Block<u8>) -> u32 {
    use std::arch::x86_64::{_mm_cmpeq_epi8, _mm_loadu_si128, _mm_max_epu8, _mm_movemask_epi8};
    // SAFETY: every x86-64 processor has SSE2, and a block is what is loaded.
    let not_larger = unsafe {
        let [a, b] = [a, b].map(|block| _mm_loadu_si128(std::ptr::from_ref(block).cast()));
        _mm_movemask_epi8(_mm_cmpeq_epi8(_mm_max_epu8(a, b), b))
    };
    !(not_larger as u32) & 0xffff
}

/// [`larger`] on every other processor. The tests compare the implementations.
#[cfg(any(test, not(target_arch = "x86_64")))]
#[inline]
fn larger_lane_by_lane<L: Lane>(a: &Block<L>, b: &Block<L>) -> u32 {
    (0..BLOCK).fold(0, |mask, lane| mask | u32::from(a[lane] > b[lane]) << lane)
}

/// The least clock above both, or the least block.
#[allow(clippy::inline_always)] // as the number of lanes is known, there is no loop
#[inline(always)]
pub fn join<const LANES: usize>(a: &[u32; LANES], b: &[u32; LANES]) -> [u32; LANES] {
    std::array::from_fn(|lane| (a[lane] as i32).max(b[lane] as i32) as u32)
}

/// The bits that are set in a word, from the lowest.
#[inline]
pub fn bits(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = (word != 0).then(|| word.trailing_zeros() as usize);
        word &= word.wrapping_sub(1);
        bit
    })
}

/// The lanes whose bit is set, from the first. `mask` tells the bits of each of so many blocks.
#[inline]
pub fn lanes_where(blocks: usize, mask: impl Fn(usize) -> u32) -> impl Iterator<Item = usize> {
    let (mut next, mut word) = (0, 0u32);
    std::iter::from_fn(move || {
        while word == 0 {
            if next == blocks {
                return None;
            }
            word = mask(next);
            next += 1;
        }
        let bit = word.trailing_zeros() as usize;
        word &= word - 1;
        Some((next - 1) * BLOCK + bit)
    })
}

/// The lanes in which one clock is larger than another, from the first.
#[inline]
pub fn lanes_larger<'a, L: Lane>(a: &'a [L], b: &'a [L]) -> impl Iterator<Item = usize> + use<'a, L> {
    let (a, b) = (blocks(a), blocks(b));
    lanes_where(a.len().min(b.len()), move |at| larger(&a[at], &b[at]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn larger_tells_every_lane() {
        let a: Vec<u32> = (0..3 * BLOCK as u32).map(|lane| lane * 7 % 11).collect();
        let b: Vec<u32> = (0..3 * BLOCK as u32).map(|lane| lane * 5 % 13).collect();
        let expected: Vec<usize> = (0..3 * BLOCK).filter(|&lane| a[lane] > b[lane]).collect();
        assert_eq!(lanes_larger(&a, &b).collect::<Vec<_>>(), expected);
        let (mut a, mut b) = ([5u32; BLOCK], [5u32; BLOCK]);
        (a[0], b[0], a[1], b[1], a[15], b[15]) = ((1 << 31) - 1, 0, 0, (1 << 31) - 1, 1, 0);
        assert_eq!(larger(&a, &b), 1 << 15 | 1);
    }

    /// Blocks of numbers below 2^31, many of them near each other or at the ends.
    fn random_blocks(seed: u32) -> impl Iterator<Item = Block> {
        const LARGEST: u32 = (1 << 31) - 1;
        let mut state = seed;
        let mut next = move || {
            // Marsaglia's xorshift.
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            state
        };
        std::iter::from_fn(move || {
            Some(std::array::from_fn(|_| match next() % 4 {
                0 => next() % 3,
                1 => LARGEST - next() % 3,
                2 => (1 << 16) - 1 + next() % 3,
                _ => next() & LARGEST,
            }))
        })
    }

    #[test]
    fn every_way_to_compare_says_the_same() {
        let blocks = random_blocks(1).zip(random_blocks(2)).take(100_000);
        for (a, b) in blocks.chain(random_blocks(3).map(|block| (block, block)).take(100)) {
            let expected = (0..BLOCK).filter(|&lane| a[lane] > b[lane]).fold(0, |mask, lane| mask | 1 << lane);
            assert_eq!(larger_lane_by_lane(&a, &b), expected, "{a:?} {b:?}");
            assert_eq!(larger(&a, &b), expected, "{a:?} {b:?}");
            let [a, b] = [a, b].map(|block| block.map(|lane| lane as u8));
            assert_eq!(larger(&a, &b), larger_lane_by_lane(&a, &b), "{a:?} {b:?}");
            assert_eq!(Lane::join(&a, &b), std::array::from_fn::<_, BLOCK, _>(|lane| a[lane].max(b[lane])));
        }
    }

    #[test]
    fn an_entry_is_the_first_event_that_is_not_known() {
        for event in 1000..=1255 {
            assert_eq!(<u32 as Lane>::before(event, || 1000).end(|| 1000), event);
            assert_eq!(<u8 as Lane>::before(event, || 1000).end(|| 1000), event);
        }
        assert_eq!((9u8.growth(4), 9u8.less(5), 9u32.growth(4), 9u32.less(5)), (5, 4, 5, 4));
    }

    #[test]
    fn join_is_the_maximum() {
        let a: Block = std::array::from_fn(|lane| lane as u32 * 7 % 11);
        let b: Block = std::array::from_fn(|lane| lane as u32 * 5 % 13);
        assert_eq!(join(&a, &b), std::array::from_fn::<_, BLOCK, _>(|lane| a[lane].max(b[lane])));
    }

    #[test]
    fn a_clock_has_whole_blocks() {
        assert_eq!([0, 1, 16, 17].map(lanes), [16, 16, 16, 32]);
    }
}
