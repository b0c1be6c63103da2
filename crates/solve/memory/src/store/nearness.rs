//! Which write goes first, when several could: the one whose readers are nearest.
//!
//! A write keeps its location busy until its last reader went. So it should not go long before its readers can. How
//! near a reader is depends on what the known order says: how many events must still come before it, and how many must
//! come after it. The number is `to come / (after + few)`, and that of a write is the average of its readers' numbers;
//! the least is the nearest. Where an order leaves much open, an event with much after it tends to come early. Where
//! little is known to come after an event, that says little, and `few` keeps it from counting much.
//!
//! What comes after an event is counted once, in the order as it is at that time.

use history::Execution;
use order::Saturation;
use order::lanes::{Lane, lanes_larger};
use order::saturation::NONE;

use super::frame::Frame;
use super::interleaving::Urgency;
use crate::knobs::FEW;

/// The unit of nearness.
const ONE: u64 = 1 << 32;

/// What an event that is still to come counts for each reader.
#[derive(Clone, Debug)]
pub struct Nearness {
    weights: Vec<u64>,
}

impl Nearness {
    /// The weights of all readers, by a saturated order. They differ from round to round.
    pub fn new<L: Lane>(frame: &Frame<'_>, order: &Saturation<L>, round: usize) -> Self {
        let execution = frame.execution();
        let few = FEW[round % FEW.len()] * execution.thread_count().max(1) as u64;
        let mut weights = after(execution, order);
        for (event, weight) in (0..).zip(&mut weights) {
            let readers = match frame.source(event) {
                NONE => 1,
                source => frame.readers(order, source).len() as u64,
            };
            *weight = ONE / ((*weight + few) * readers);
        }
        Self { weights }
    }
}

/// How many events come after each event.
fn after<L: Lane>(execution: &Execution, order: &Saturation<L>) -> Vec<u64> {
    let mut after = vec![0; execution.len()];
    let mut known = vec![L::default(); order.lanes()];
    for thread in execution.starts().windows(2) {
        known.fill(L::default());
        for event in thread[0]..thread[1] {
            let clock = order.clock(event);
            for lane in lanes_larger(clock, &known) {
                let start = order.start(lane);
                for earlier in known[lane].end(|| start).max(start)..clock[lane].end(|| start) {
                    after[earlier as usize] += u64::from(thread[1] - event);
                }
            }
            known.copy_from_slice(clock);
        }
    }
    after
}

/// The writes whose readers are nearest go first. As long as no nearness was computed, it is the writes whose readers
/// have the least before them.
pub struct ReaderDistance<'b, L> {
    /// The frame.
    pub frame: &'b Frame<'b>,
    /// The order as it is now.
    pub order: &'b Saturation<L>,
    /// What events to come count.
    pub nearness: Option<&'b Nearness>,
}

impl<L: Lane> Urgency<L> for ReaderDistance<'_, L> {
    fn first(&self, write: u32) -> u64 {
        if self.nearness.is_some() {
            return 0;
        }
        let readers = self.frame.readers(self.order, write);
        readers.iter().map(|&read| self.order.sum(read)).sum::<u64>() / readers.len().max(1) as u64
    }

    fn clocks(&self, write: u32) -> impl Iterator<Item = (&[L], u64)> {
        let weights = self.nearness.map(|nearness| &nearness.weights);
        let readers = self.frame.readers(self.order, write).iter();
        weights
            .into_iter()
            .flat_map(move |weights| readers.clone().map(|&read| (self.order.clock(read), weights[read as usize])))
    }
}
