//! Comparing clocks, many lanes at a time and without a branch.
//!
//! Entries of clocks are numbers of events, which are below 2^31: so they may be compared as signed numbers, which every
//! processor can do with several at once.

/// A clock has a multiple of so many lanes.
pub const BLOCK: usize = 4;
/// So many lanes at most are compared at once.
pub const WORD: usize = 64;

/// Where the entries of one clock are larger than those of another: a bit a lane, of up to [`WORD`] lanes.
#[inline]
pub fn larger(a: &[u32], b: &[u32]) -> u64 {
    let (a, b) = (a.as_chunks::<BLOCK>().0, b.as_chunks::<BLOCK>().0);
    let mut mask = 0;
    for (at, (a, b)) in a.iter().zip(b).enumerate() {
        mask |= u64::from(larger_in_block(a, b)) << (at * BLOCK);
    }
    mask
}

/// Written such that it becomes one comparison of all four lanes.
#[inline]
fn larger_in_block(a: &[u32; BLOCK], b: &[u32; BLOCK]) -> u32 {
    let mut mask = 0;
    for lane in 0..BLOCK {
        mask |= u32::from(a[lane] as i32 > b[lane] as i32) << lane;
    }
    mask
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

/// The lanes in which one clock is larger than another, from the first.
#[inline]
pub fn lanes_larger(a: &[u32], b: &[u32]) -> impl Iterator<Item = usize> {
    let words = a.chunks(WORD).zip(b.chunks(WORD)).enumerate();
    words.flat_map(|(word, (a, b))| bits(larger(a, b)).map(move |bit| word * WORD + bit))
}

/// Lets one clock grow to the least above both.
#[inline]
pub fn join(clock: &mut [u32], other: &[u32]) {
    for (entry, &other) in clock.iter_mut().zip(other) {
        *entry = (*entry as i32).max(other as i32) as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn larger_tells_every_lane() {
        let a: Vec<u32> = (0..WORD as u32).map(|lane| lane * 7 % 11).collect();
        let b: Vec<u32> = (0..WORD as u32).map(|lane| lane * 5 % 13).collect();
        for lanes in (0..=WORD).step_by(BLOCK) {
            let expected: Vec<usize> = (0..lanes).filter(|&lane| a[lane] > b[lane]).collect();
            assert_eq!(bits(larger(&a[..lanes], &b[..lanes])).collect::<Vec<_>>(), expected);
        }
        assert_eq!(larger(&[(1 << 31) - 1, 0, 5, 5], &[0, (1 << 31) - 1, 5, 4]), 0b1001);
    }

    #[test]
    fn join_is_the_maximum() {
        let mut clock = [1, 9, 3, 0];
        join(&mut clock, &[2, 8, 3, 7]);
        assert_eq!(clock, [2, 9, 3, 7]);
    }
}
