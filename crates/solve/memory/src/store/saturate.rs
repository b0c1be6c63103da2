//! Saturation of a frame: the order that every store order has, or why there is none.
//!
//! Events enter in a line that is close to how they may have happened: of the writes that may go, the most urgent goes
//! first ([`Ages`]). The [rules](StoreRules) close the order after each event. Invariant: the order is closed under the
//! rules for all events that have entered. If no write had to be forced, the line itself explains all reads, and is a
//! witness.

use history::execution::EventId;
use model::GaveUp;
use order::Saturation;
use order::lanes::Lane;
use order::saturation::Conflict;

use super::frame::Frame;
use super::interleaving::{Interleaving, Urgency};
use super::rules::StoreRules;
use crate::knobs::StoreKnobs;
use model::Budget;

/// How many events go between two looks at the time.
const EVENTS_PER_TIME_CHECK: usize = 256;

/// The `hb` of a frame, which is acyclic. For the frame of `sc` it is the `hb` of `wsc`.
#[derive(Clone, Debug)]
pub struct Saturated<'a, L = u32> {
    /// `hb`.
    pub order: Saturation<L>,
    /// Its rules.
    pub rules: StoreRules<'a, L>,
    /// The line of events that the first pass found, if no write had to be forced. This line explains all reads.
    pub witness: Option<Vec<u32>>,
}

/// Why there is no saturated order.
#[derive(Clone, Debug)]
pub enum Unsaturated<L = u32> {
    /// The base is cyclic. The list has the next event of each chain, which waits for a base predecessor, or the end of
    /// the chain.
    Stuck(Vec<u32>),
    /// The rules lead to a conflict. The order is as the conflict left it.
    Conflict(Box<Saturation<L>>, Conflict),
    /// Nothing is known.
    GaveUp(GaveUp),
}

/// The age of each event: its distance from the first operation of its thread, in operations of the file. If threads
/// proceed at about the same pace, the event of the lesser age came first. So the write of the least age is the most
/// urgent.
///
/// Threads drift apart with time. That shows in the *lag* of a read of another thread's write: by how much the read is
/// older than its source. On average it is the same for all pairs of threads. Where it is not, ages are corrected.
pub struct Ages<'a> {
    frame: &'a Frame<'a>,
    /// By thread: what is taken away from the number of an operation. All these numbers have a [`FRACTION`].
    firsts: Vec<i64>,
    /// The average lag, and of how many reads.
    lag: i64,
    reads: i64,
}

/// How many bits of an age are behind the point.
const FRACTION: u32 = 8;
/// What is added to all ages, so that they stay positive when they are corrected.
const AGE: i64 = 1 << 50;

impl<'a> Ages<'a> {
    /// The ages of all events.
    pub fn new(frame: &'a Frame<'_>) -> Self {
        let execution = frame.execution();
        let mut firsts = Vec::new();
        for thread in execution.starts().windows(2) {
            if thread[0] < thread[1] {
                let first = thread[0];
                let (owner, first) = (frame.owner(first) as usize, execution.operations()[first as usize].0);
                if firsts.len() <= owner {
                    firsts.resize(owner + 1, i64::MAX);
                }
                firsts[owner] = firsts[owner].min(i64::from(first) << FRACTION);
            }
        }
        Self { frame, firsts, lag: 0, reads: 0 }
    }

    /// The age of an event.
    pub fn of(&self, event: u32) -> i64 {
        let operation = self.frame.execution().operations()[event as usize].0;
        (i64::from(operation) << FRACTION) - self.firsts[self.frame.owner(event) as usize] + AGE
    }

    /// Corrects the ages by the lag of a read: the larger the lags are, the less one of them says.
    #[inline]
    pub fn correct_by_lag(&mut self, read: u32, source: u32, knobs: &StoreKnobs) {
        if self.frame.owner(read) == self.frame.owner(source) {
            return;
        }
        let lag = self.of(read) - self.of(source);
        self.reads = knobs.lag_reads.min(self.reads + 1);
        self.lag += (lag - self.lag) / self.reads;
        let parts = knobs.lags_per_correction * (1 + (self.lag.max(0) >> FRACTION));
        self.shift(read, source, (lag - self.lag) / parts);
    }

    /// Corrects the ages, because an event came before another although it seemed to be older.
    pub fn correct_by_order(&mut self, before: u32, after: u32, knobs: &StoreKnobs) {
        let correction = (self.of(before) - self.of(after)) / knobs.turned_part;
        if correction > 0 {
            self.shift(before, after, correction);
        }
    }

    /// Makes the thread of an event younger, and that of another older.
    fn shift(&mut self, younger: u32, older: u32, by: i64) {
        self.firsts[self.frame.owner(younger) as usize] += by;
        self.firsts[self.frame.owner(older) as usize] -= by;
    }
}

impl<L: Lane> Urgency<L> for Ages<'_> {
    fn first(&self, write: u32) -> u64 {
        self.of(write) as u64
    }

    fn clocks(&self, _: u32) -> impl Iterator<Item = (&[L], u64)> {
        std::iter::empty()
    }
}

impl<'a> Saturated<'a> {
    /// Saturates. There must be no thin-air read.
    ///
    /// Events enter in an order that is close to an interleaving: see [`Interleaving`]. If all chains wait for readers,
    /// the write that has waited longest is forced. The edges that the rules derive then correct the order.
    pub fn new(frame: &'a Frame<'_>, budget: &Budget) -> Result<Self, Unsaturated> {
        Self::reusing(Saturation::default(), frame, budget)
    }
}

impl<'a, L: Lane> Saturated<'a, L> {
    /// As [`Saturated::new`], in the memory of an order that is not needed any more, or with entries of another width.
    pub fn reusing(mut order: Saturation<L>, frame: &'a Frame<'_>, budget: &Budget) -> Result<Self, Unsaturated<L>> {
        let execution = frame.execution();
        debug_assert!(execution.events().iter().all(|event| !event.kind.reads() || event.source != EventId::NONE));
        order.restart(execution.starts(), |event| frame.predecessors(event));
        let mut rules = StoreRules::new(frame, &order);
        let mut interleaving: Interleaving<'_, L> = Interleaving::new(execution);
        let mut forced = false;
        let ages = Ages::new(frame);
        loop {
            if interleaving.line().len().is_multiple_of(EVENTS_PER_TIME_CHECK) {
                budget.check().map_err(Unsaturated::GaveUp)?;
            }
            let next = interleaving.advance(
                |event, gone| frame.predecessors(event).find(|&predecessor| !gone.contains(predecessor)),
                &ages,
            );
            let event = match next {
                Some(event) => event,
                None => match interleaving.force() {
                    Some(event) => {
                        forced = true;
                        event
                    }
                    None => break,
                },
            };
            if let Err(conflict) = order.enter(event, frame.predecessors(event), &mut rules) {
                return Err(Unsaturated::Conflict(Box::new(order), conflict));
            }
            interleaving.go(event);
        }
        if !interleaving.is_complete() {
            return Err(Unsaturated::Stuck(interleaving.next().collect()));
        }
        let witness = (!forced).then(|| interleaving.line().collect());
        Ok(Self { order, rules, witness })
    }
}
