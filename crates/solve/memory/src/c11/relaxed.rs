//! `relaxed` in O(n), whatever the number of threads. As `hb` is `po`, an access has to be compared with only one
//! other: the access before it of the same thread on the same location. (Algorithm 4 of RF, in the contracted form of
//! [`super::coherence`].)
//!
//! There are two passes. The first goes in an order of `po u rf`, and finds the rf-chains. The second goes thread by
//! thread, so that one entry for each location is enough to find the access before.

use history::Execution;
use history::execution::{EventId, Kind};
use model::Budget;

use super::acyclic::Edges;
use super::coherence::zeroed;
use super::po_rf_pass::{NOT_PASSED, PoRfPass};
use super::{Ended, Found};

/// The memory of the passes.
#[derive(Debug, Default)]
pub(super) struct Relaxed {
    /// The mark of an access is the chain of its value: of itself if it writes, else of the write it reads from.
    pub turns: PoRfPass,
    /// By event: the place of the value in its chain.
    places: Vec<u32>,
    /// By chain: the place of its last write. The chain of an initial write has the number of its location.
    pub chains: Vec<u32>,
    /// By chain, beyond those of initial writes: its first write.
    pub tops: Vec<u32>,
    /// By location: the thread that accessed it last, and the value of that access.
    before: Vec<[u32; 3]>,
    /// Pairs of chains: the first must precede the second.
    pub edges: Edges,
}

impl Relaxed {
    /// Both passes. After them, the caller has to check that the edges are acyclic.
    pub(super) fn pass(&mut self, execution: &Execution, budget: &Budget) -> Result<(), Ended> {
        self.find_chains(execution, budget)?;
        self.compare(execution)
    }

    fn find_chains(&mut self, execution: &Execution, budget: &Budget) -> Result<(), Ended> {
        let Self { turns, places, chains, tops, .. } = self;
        let events = execution.events();
        turns.start(execution);
        zeroed(chains, execution.location_count());
        tops.clear();
        chains.reserve(events.len());
        tops.reserve(events.len());
        if places.len() < events.len() {
            // New memory is zero already, so nothing has to be written.
            *places = vec![0; events.len()];
        }
        while let Some(turn) = turns.next(execution, budget)? {
            let mut at = turn.at;
            let blocked = loop {
                if at == turn.end {
                    break false;
                }
                let event = events[at as usize];
                if event.kind == Kind::Write {
                    places[at as usize] = 0;
                    turns.pass(at, chains.len() as u32);
                    chains.push(0);
                    tops.push(at);
                } else if event.kind.reads() {
                    let (mut chain, mut place) = (event.location.0, 0);
                    if event.source.is_event() {
                        chain = turns.marks[event.source.index()];
                        if chain & NOT_PASSED != 0 {
                            turns.wait(turn.thread, at, event.source.0);
                            break true;
                        }
                        place = places[event.source.index()];
                    }
                    if event.kind == Kind::Rmw {
                        let end = &mut chains[chain as usize];
                        if *end != place {
                            return Err(Ended::Found(Found::SharedSource(EventId(at))));
                        }
                        *end += 1;
                        places[at as usize] = place + 1;
                        turns.pass(at, chain);
                    } else {
                        places[at as usize] = place;
                        turns.marks[at as usize] = chain;
                    }
                }
                at += 1;
            };
            if !blocked {
                turns.finish(execution, turn.thread, at);
            }
        }
        if turns.is_done(execution) { Ok(()) } else { Err(Ended::Found(Found::ThinAirCycle)) }
    }

    fn compare(&mut self, execution: &Execution) -> Result<(), Ended> {
        let Self { turns, places, before, edges, .. } = self;
        let locations = execution.location_count();
        edges.start(execution.len());
        before.clear();
        before.resize(locations, [u32::MAX, 0, 0]);
        for thread in 0..execution.thread_count() {
            let range = execution.starts()[thread] as usize..execution.starts()[thread + 1] as usize;
            let values = turns.marks[range.clone()].iter().zip(&places[range.clone()]);
            for ((at, event), (&chain, &value)) in range.clone().zip(&execution.events()[range]).zip(values) {
                if event.kind == Kind::Fence {
                    continue;
                }
                let target = value - u32::from(event.kind == Kind::Rmw);
                let entry = &mut before[event.location.index()];
                let [last, from, from_value] = std::mem::replace(entry, [thread as u32, chain, value]);
                // Whether the chain is the same cannot be predicted, so there is no branch on it.
                let (is_before, is_same) = (last == thread as u32, from == chain);
                let is_later = if is_same { from_value > target } else { (chain as usize) < locations };
                if is_before & is_later {
                    return Err(Ended::Found(Found::Incoherent(EventId(at as u32))));
                }
                edges.push([from, chain], is_before & !is_same & (from as usize >= locations));
            }
        }
        Ok(())
    }
}
