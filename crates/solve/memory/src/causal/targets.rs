//! Decides whether edges can be added to causality without a cycle, from the targets of the edges alone.
//!
//! Every cycle of causality and further edges goes through the target of such an edge. So there is no cycle iff the
//! targets can be put in an order in which each target comes after all targets that are causally before it, and after
//! all targets that are before (or at) the start of an edge that leads to it. The events that a target has to come
//! after are one clock: the join of these pasts. The targets of each thread are a chain.

use history::Execution;
use history::execution::EventId;
use order::lanes::{bits, lanes, lanes_larger};
use order::{Entries, Failure, Width, join, prefetch};

use super::Halt;
use model::Budget;

/// The slot of an event that is no target.
const NO_SLOT: u32 = 0;
/// For how many entries memory is reserved at most.
const MAX_RESERVED_ENTRIES: usize = 16 << 20;
/// By how many clocks the memory grows each time it is used up.
const CLOCKS_PER_GROWTH: usize = 256;
/// How many marks a word has.
const MARKS_PER_WORD: usize = u64::BITS as usize;
/// How many targets ahead the clock of a target is prefetched.
const PREFETCH_DISTANCE: usize = 4;
/// The frontier of a thread that has no further targets.
const NO_TARGET: u32 = i32::MAX as u32;

/// The targets of edges, each with what it has to come after.
pub struct Targets<'a, W = Entries> {
    execution: &'a Execution,
    /// How many entries a clock has in `pasts`: whole blocks of lanes.
    width: W,
    /// Which events are targets: one bit for each event, and some unused bits at the end.
    marks: Vec<u64>,
    /// The place of each target's clock in `pasts`, in clocks.
    slots: Vec<u32>,
    count: u32,
    /// Clocks that belong to no target yet are zero.
    pasts: Vec<u32>,
}

impl<'a> Targets<'a> {
    /// A set without edges.
    pub fn new(execution: &'a Execution) -> Self {
        Self::of_width(Entries(lanes(execution.thread_count())), execution)
    }
}

impl<'a, W: Width> Targets<'a, W> {
    /// A set without edges, for clocks of so many entries, in whole blocks of lanes.
    pub fn of_width(width: W, execution: &'a Execution) -> Self {
        // To reserve memory without using it costs nothing, but to move a vector does.
        let room = (execution.len() / 2).saturating_mul(width.entries()).min(MAX_RESERVED_ENTRIES);
        Self {
            execution,
            width,
            marks: vec![0; execution.len() / MARKS_PER_WORD + 1],
            slots: vec![NO_SLOT; execution.len()],
            count: 0,
            pasts: Vec::with_capacity(room),
        }
    }

    /// Removes all edges.
    pub fn clear(&mut self) {
        for target in in_order(&self.marks) {
            self.slots[target as usize] = NO_SLOT;
        }
        self.marks.fill(0);
        self.count = 0;
        self.pasts.clear();
    }

    /// Whether the edges so far put `from`, an event of `thread`, before a target.
    #[inline]
    pub fn has(&self, target: u32, from: u32, thread: usize) -> bool {
        let slot = self.slots[target as usize];
        slot != NO_SLOT && from < self.pasts[slot as usize * self.width.entries() + thread]
    }

    /// Adds an edge: the target with its clock of causality, and that of the event where the edge begins.
    #[inline]
    pub fn add(&mut self, target: u32, target_clock: &[u32], from_clock: &[u32]) {
        // Whether the event is a target already cannot be predicted, so there is no branch on it.
        let slot = &mut self.slots[target as usize];
        self.count += u32::from(*slot == NO_SLOT);
        *slot = if *slot == NO_SLOT { self.count } else { *slot };
        let (begin, width) = (*slot as usize * self.width.entries(), self.width.entries());
        self.marks[target as usize / MARKS_PER_WORD] |= 1 << (target as usize % MARKS_PER_WORD);
        if self.pasts.len() < begin + width {
            let most = (self.execution.len() + 1) * width;
            self.pasts.resize(most.min(begin + CLOCKS_PER_GROWTH * width), 0);
        }
        let past = &mut self.pasts[begin..begin + width];
        // The past of the target does not have the target itself, unless the edge begins at an event after the target.
        let thread = self.execution.thread(EventId(target)).index();
        let own = past[thread].max(target).max(from_clock[thread]);
        join(&mut past[..target_clock.len()], target_clock);
        join(&mut past[..from_clock.len()], from_clock);
        past[thread] = own;
    }

    /// An event on a cycle of causality and the edges, if there is one.
    pub fn find_cycle(&self, budget: &Budget) -> Result<Option<u32>, Halt> {
        let mut targets = Vec::with_capacity(self.count as usize);
        targets.extend(in_order(&self.marks));
        // How many targets there are before each word of marks, and before each event.
        let mut counts = Vec::with_capacity(self.marks.len());
        let mut count = 0;
        for word in &self.marks {
            counts.push(count);
            count += word.count_ones();
        }
        let count_below = |event: u32| {
            let (word, bit) = (event as usize / MARKS_PER_WORD, event as usize % MARKS_PER_WORD);
            counts[word] + (self.marks[word] & ((1 << bit) - 1)).count_ones()
        };
        let starts: Vec<u32> = self.execution.starts().iter().map(|&start| count_below(start)).collect();
        // For each thread, the first target that has no place in the order yet.
        let mut frontiers: Vec<u32> =
            starts.windows(2).map(|chain| first(&targets[chain[0] as usize..chain[1] as usize])).collect();
        frontiers.resize(self.width.entries(), NO_TARGET);
        let chain_of = |at: u32| starts.partition_point(|&start| start <= at) - 1;
        let outcome = order::schedule(
            &starts,
            chain_of,
            || budget.is_due(),
            |_, thread, at| {
                let width = self.width.entries();
                let place = |target: u32| self.slots[target as usize] as usize * width;
                if let Some(&later) = targets.get(at as usize + PREFETCH_DISTANCE) {
                    prefetch(&self.pasts, place(later));
                }
                let past = &self.pasts[place(targets[at as usize])..][..width];
                if let Some(of) = lanes_larger(past, &frontiers).next() {
                    return Some(count_below(past[of]) - 1);
                }
                frontiers[thread] = first(&targets[at as usize + 1..starts[thread + 1] as usize]);
                None
            },
        );
        match outcome {
            Ok(()) => Ok(None),
            Err(Failure::Interrupted) => Err(Halt::GaveUp(budget.why())),
            Err(Failure::Stuck(stuck)) => {
                let (_, at) = stuck.cycle(chain_of)[0];
                Ok(Some(targets[at as usize]))
            }
        }
    }
}

/// The targets that are marked, by thread and program order.
fn in_order(marks: &[u64]) -> impl Iterator<Item = u32> {
    marks.iter().enumerate().flat_map(|(at, &word)| bits(word).map(move |bit| (at * MARKS_PER_WORD + bit) as u32))
}

/// The first of a chain's targets, or [`NO_TARGET`] if there is none.
fn first(targets: &[u32]) -> u32 {
    targets.first().copied().unwrap_or(NO_TARGET)
}
