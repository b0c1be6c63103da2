//! The last writes of each thread on each location, in lanes.
//!
//! A read may know of writes on its location that its source does not know of. For each thread, this module finds the
//! last of these writes. Events are done in an order that extends causality, and that is close to one in which they may
//! have happened. So the last write of a thread that a read knows of is mostly the last or the last but one that the
//! thread has done. These two are compared for all threads at once, without a branch. Earlier writes are looked for
//! step by step, up to a limit. Beyond the limit, the caller asks the index of all writes instead.

use history::Execution;
use history::execution::LocationId;
use order::Width;
use order::lanes::{BLOCK, Block, bits, blocks, larger};

use crate::Limits;

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

/// A conflict: a read knows of `write`, and its source does not. So `write` comes before `source`.
#[derive(Copy, Clone, Debug, Default)]
pub struct Conflict {
    /// The number of the write that the read reads from.
    pub source: u32,
    /// Its rank in the order in which writes are done.
    pub source_rank: u32,
    /// The number of the other write.
    pub write: u32,
    /// Its rank.
    pub rank: u32,
}

/// Conflicts that were found.
#[derive(Debug, Default)]
pub struct Conflicts {
    /// Only the first `count` entries mean something.
    list: Vec<Conflict>,
    count: usize,
}

impl Conflicts {
    /// Makes room for so many more conflicts.
    #[inline]
    pub fn reserve(&mut self, more: usize) {
        if self.list.len() < self.count + more {
            self.list.resize(2 * (self.count + more), Conflict::default());
        }
    }

    /// Adds a conflict if `really` is set, without a branch. There must be room.
    #[inline]
    pub fn push_if(&mut self, really: bool, conflict: Conflict) {
        self.list[self.count] = conflict;
        self.count += usize::from(really);
    }

    /// All conflicts.
    pub fn all(&self) -> &[Conflict] {
        &self.list[..self.count]
    }

    /// Removes all conflicts.
    pub fn clear(&mut self) {
        self.count = 0;
    }
}

/// The last writes of all threads on all locations. See the module.
pub struct LastWrites<W> {
    /// How many entries a clock has: whole blocks of lanes.
    width: W,
    lasts: Vec<Lasts>,
    /// By rank, each write and the rank of the one before it by its thread on its location.
    done: Vec<(u32, u32)>,
    /// How many steps a search may take.
    limit: usize,
}

const NONE: u32 = u32::MAX;

impl<W: Width> LastWrites<W> {
    /// No write is done yet. Clocks have so many entries, in whole blocks of lanes. `None` if there are too many
    /// threads and locations for the size of the execution, or if the knob says so.
    pub fn new(width: W, execution: &Execution, limits: &Limits) -> Option<Self> {
        let size = (width.entries() / BLOCK).checked_mul(execution.location_count())?;
        if size > execution.len() / 2 + 1024 || !limits.knobs.causal.lasts {
            return None;
        }
        let none = Lasts { after_last: [0; BLOCK], after_second: [0; BLOCK], ranks: [NONE; BLOCK] };
        let limit = limits.knobs.causal.look_back(execution.thread_count());
        // To reserve memory without using it costs nothing, but to move a vector does.
        let done = Vec::with_capacity(execution.len());
        Some(Self { width, lasts: vec![none; size], done, limit })
    }

    #[inline]
    fn blocks(&self) -> usize {
        self.width.entries() / BLOCK
    }

    /// Does the write of the next rank.
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

    /// For each thread, finds the last write on the location that is in the clock of a read, if it is not in the clock
    /// of the read's source. The answer is `false` if a search would take too many steps. Then some conflicts are
    /// missing.
    #[inline]
    pub fn find(
        &self,
        location: LocationId,
        within: &[u32],
        (source, source_rank, beyond): (u32, u32, &[u32]),
        found: &mut Conflicts,
    ) -> bool {
        let lasts = &self.lasts[location.index() * self.blocks()..][..self.blocks()];
        let mut steps = 0;
        found.reserve(self.width.entries() + 1);
        for ((lasts, within), beyond) in lasts.iter().zip(blocks(within)).zip(blocks(beyond)) {
            let Lasts { after_last, after_second, ranks } = lasts;
            let ahead = larger(after_last, within);
            let mut near = larger(after_last, beyond) & !ahead;
            // The number of conflicts cannot be predicted. Mostly there are two or fewer in one block. If there are
            // many blocks, most of them have none.
            for _ in 0..if self.blocks() == 1 { 2 } else { 0 } {
                let lane = (near | 1 << (BLOCK - 1)).trailing_zeros() as usize;
                let write = after_last[lane].wrapping_sub(1);
                found.push_if(near != 0, Conflict { source, source_rank, write, rank: ranks[lane] });
                near &= near.wrapping_sub(1);
            }
            let earlier = ahead & larger(within, beyond) & larger(after_second, beyond);
            for lane in bits(u64::from(near | earlier)) {
                let (mut write, mut rank) = (after_last[lane] - 1, ranks[lane]);
                while write >= within[lane] && rank != NONE {
                    steps += 1;
                    if steps > self.limit {
                        return false;
                    }
                    rank = self.done[rank as usize].1;
                    write = self.done.get(rank as usize).map_or(write, |done| done.0);
                }
                let conflict = Conflict { source, source_rank, write, rank };
                found.push_if(write >= beyond[lane] && rank != NONE, conflict);
            }
        }
        true
    }
}
