//! The last writes of each thread on each location, in lanes.
//!
//! Of each thread, a read may know of writes on its location that its source does not know of: this finds the last of
//! them. Events are done in an order that extends causality, and that is close to one in which they may have happened. So what a
//! read knows of is mostly the last or the last but one that a thread has done, and these are compared for all
//! threads at once, without a branch. Earlier ones are looked for step by step, up to a limit; then the caller asks the index of
//! all writes instead.

use history::Execution;
use history::execution::LocationId;
use order::Width;
use order::lanes::{BLOCK, Block, bits, blocks, larger};

/// The last writes of some threads on one location.
#[derive(Copy, Clone)]
struct Lasts {
    /// The last write plus one, or zero.
    after_last: Block,
    /// The last but one plus one, or zero.
    after_second: Block,
    /// The rank of the last.
    ranks: Block,
}

/// A write that was done.
#[derive(Copy, Clone, Debug)]
pub struct Done {
    /// The write.
    pub event: u32,
    /// Its rank in the order of doing.
    pub rank: u32,
    /// Its thread.
    pub thread: usize,
}

/// The last writes of all threads on all locations. See the module.
pub struct LastWrites<W> {
    /// How many entries a clock has: whole blocks of lanes.
    width: W,
    lasts: Vec<Lasts>,
    /// By rank, each write and the rank of the one before it by its thread on its location.
    done: Vec<(u32, u32)>,
    /// How many steps a look may take.
    limit: usize,
}

const NONE: u32 = u32::MAX;

impl<W: Width> LastWrites<W> {
    /// Nothing is done yet; clocks have so many entries, whole blocks of lanes. `None` if there are too many threads and locations
    /// for the size of the execution.
    pub fn new(width: W, execution: &Execution) -> Option<Self> {
        let size = (width.entries() / BLOCK).checked_mul(execution.location_count())?;
        if size > execution.len() / 2 + 1024 {
            return None;
        }
        let none = Lasts { after_last: [0; BLOCK], after_second: [0; BLOCK], ranks: [NONE; BLOCK] };
        // Tests want the other case, too.
        let limit = if cfg!(test) { 1 } else { 16 + 4 * execution.thread_count() };
        Some(Self { width, lasts: vec![none; size], done: Vec::new(), limit })
    }

    #[inline]
    fn blocks(&self) -> usize {
        self.width.entries() / BLOCK
    }

    /// Does a write: that of the next rank.
    #[inline]
    pub fn push(&mut self, event: u32, thread: usize, location: LocationId) {
        let at = location.index() * self.blocks() + thread / BLOCK;
        let lasts = &mut self.lasts[at];
        let lane = thread % BLOCK;
        lasts.after_second[lane] = lasts.after_last[lane];
        lasts.after_last[lane] = event + 1;
        let before = std::mem::replace(&mut lasts.ranks[lane], self.done.len() as u32);
        self.done.push((event, before));
    }

    /// Visits of each thread the last write on the location that is in the past of one clock, if it is not in that of the other.
    /// `false` if a look would go too far: then some are missing.
    #[inline]
    pub fn visit<E>(
        &self,
        location: LocationId,
        within: &[u32],
        beyond: &[u32],
        mut visit: impl FnMut(Done) -> Result<(), E>,
    ) -> Result<bool, E> {
        let lasts = &self.lasts[location.index() * self.blocks()..][..self.blocks()];
        let mut steps = 0;
        for (block, ((lasts, within), beyond)) in lasts.iter().zip(blocks(within)).zip(blocks(beyond)).enumerate() {
            let new = larger(&lasts.after_last, beyond);
            let ahead = larger(&lasts.after_last, within);
            let earlier = ahead & larger(within, beyond) & larger(&lasts.after_second, beyond);
            for lane in bits(u64::from(new & !ahead | earlier)) {
                let (mut event, mut rank) = (lasts.after_last[lane] - 1, lasts.ranks[lane]);
                while event >= within[lane] && rank != NONE {
                    steps += 1;
                    if steps > self.limit {
                        return Ok(false);
                    }
                    rank = self.done[rank as usize].1;
                    event = self.done.get(rank as usize).map_or(event, |done| done.0);
                }
                if event >= beyond[lane] && rank != NONE {
                    visit(Done { event, rank, thread: block * BLOCK + lane })?;
                }
            }
        }
        Ok(true)
    }
}
