//! Whether edges can be added to causality without a cycle, looking only at the events that they lead to.
//!
//! Every cycle in causality with further edges goes through the target of one of these. So there is none iff the targets can be put in
//! an order in which each comes after all targets that are causally before it, or before (or at) the start of an edge
//! that leads to it. What a target has to come after is one clock, the join of these pasts; and the targets of each
//! thread are a chain.

use history::Execution;
use history::execution::EventId;
use order::lanes::{lanes, lanes_larger};
use order::{Entries, Failure, Width, join, prefetch};

use super::Halt;
use crate::Interrupt;

const NO_SLOT: u32 = u32::MAX;
/// For how many entries room is set aside at most.
const MOST_ROOM: usize = 16 << 20;
/// How many targets of a thread ahead their clocks are asked for.
const AHEAD: usize = 4;
/// The frontier of a thread that has no further targets.
const END: u32 = i32::MAX as u32;

/// The targets of edges, each with what it has to come after.
pub struct Targets<'a, W = Entries> {
    execution: &'a Execution,
    /// How many entries a clock has in `pasts`: whole blocks of lanes.
    width: W,
    /// The place of each event's clock in `pasts`, in clocks.
    slots: Vec<u32>,
    /// The targets, in the order in which they came.
    events: Vec<u32>,
    pasts: Vec<u32>,
}

impl<'a> Targets<'a> {
    /// No edges.
    pub fn new(execution: &'a Execution) -> Self {
        Self::of_width(Entries(lanes(execution.thread_count())), execution)
    }
}

impl<'a, W: Width> Targets<'a, W> {
    /// The same, for clocks of so many entries: whole blocks of lanes.
    pub fn of_width(width: W, execution: &'a Execution) -> Self {
        // Memory that is set aside and not used costs nothing, moving it does.
        let room = (execution.len() / 2).saturating_mul(width.entries()).min(MOST_ROOM);
        let pasts = Vec::with_capacity(room);
        Self { execution, width, slots: vec![NO_SLOT; execution.len()], events: Vec::new(), pasts }
    }

    /// No edges, as in the beginning.
    pub fn clear(&mut self) {
        for &event in &self.events {
            self.slots[event as usize] = NO_SLOT;
        }
        self.events.clear();
        self.pasts.clear();
    }

    /// Whether edges that were added put `from`, an event of `thread`, before a target.
    #[inline]
    pub fn has(&self, target: u32, from: u32, thread: usize) -> bool {
        let slot = self.slots[target as usize];
        slot != NO_SLOT && from < self.pasts[slot as usize * self.width.entries() + thread]
    }

    /// Adds an edge: the target with its clock of causality, and that of the event where the edge begins.
    pub fn add(&mut self, target: u32, target_clock: &[u32], from_clock: &[u32]) {
        let slot = &mut self.slots[target as usize];
        if *slot == NO_SLOT {
            *slot = self.events.len() as u32;
            self.events.push(target);
            let at = self.pasts.len();
            self.pasts.extend_from_slice(target_clock);
            self.pasts.resize(at + self.width.entries(), 0);
            self.pasts[at + self.execution.thread(EventId(target)).index()] = target;
        }
        let at = *slot as usize * self.width.entries();
        join(&mut self.pasts[at..at + from_clock.len()], from_clock);
    }

    /// The targets by thread and program order, and the slot of each.
    fn in_program_order(&self) -> (Vec<u32>, Vec<u32>) {
        // Each event is written down, and then written over if it is no target: that cannot be foretold.
        let (mut targets, mut slots) = (vec![0; self.events.len() + 1], vec![0; self.events.len() + 1]);
        let mut count = 0;
        for (event, &slot) in (0..).zip(if self.events.is_empty() { &[][..] } else { &self.slots }) {
            (targets[count], slots[count]) = (event, slot);
            count += usize::from(slot != NO_SLOT);
        }
        targets.truncate(count);
        slots.truncate(count);
        (targets, slots)
    }

    /// An event on a cycle of causality and the edges, if there is one.
    pub fn find_cycle(&self, interrupt: Interrupt) -> Result<Option<u32>, Halt> {
        let (targets, slots) = self.in_program_order();
        let mut starts = Vec::with_capacity(self.execution.thread_count() + 1);
        let mut start = 0;
        for &begin in self.execution.starts() {
            start += targets[start..].partition_point(|&target| target < begin);
            starts.push(start as u32);
        }
        // For each thread the first target that is not placed yet.
        let mut frontiers: Vec<u32> =
            starts.windows(2).map(|chain| first(&targets[chain[0] as usize..chain[1] as usize])).collect();
        frontiers.resize(self.width.entries(), END);
        let chain_of = |at: u32| starts.partition_point(|&start| start <= at) - 1;
        let outcome = order::schedule(
            &starts,
            chain_of,
            || interrupt.is_due(),
            |cursors, thread, at| {
                let width = self.width.entries();
                if let Some(&later) = slots.get(at as usize + AHEAD) {
                    prefetch(&self.pasts, later as usize * width);
                }
                let past = &self.pasts[slots[at as usize] as usize * width..][..width];
                if let Some(of) = lanes_larger(past, &frontiers).next() {
                    // It is not far from the cursor.
                    let list = &targets[cursors[of] as usize..starts[of + 1] as usize];
                    let far = std::iter::successors(Some(1), |step| Some(2 * step))
                        .find(|&step| list.get(step).is_none_or(|&other| other >= past[of]));
                    let list = &list[..far.unwrap_or_default().min(list.len())];
                    return Some(cursors[of] + list.partition_point(|&other| other < past[of]) as u32 - 1);
                }
                frontiers[thread] = first(&targets[at as usize + 1..starts[thread + 1] as usize]);
                None
            },
        );
        match outcome {
            Ok(()) => Ok(None),
            Err(Failure::Interrupted) => Err(Halt::Interrupted),
            Err(Failure::Stuck(stuck)) => {
                let (_, at) = stuck.cycle(chain_of)[0];
                Ok(Some(targets[at as usize]))
            }
        }
    }
}

/// The first of a chain's targets, or [`END`] if there is none.
fn first(targets: &[u32]) -> u32 {
    targets.first().copied().unwrap_or(END)
}
