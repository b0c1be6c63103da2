//! Turns the result of a pass into evidence: finds again the reasons that the pass did not keep.
//!
//! The evidence for a violation of coherence is a cycle of chains (see [`super::coherence`]). The shortest cycle is
//! looked for among *all* pairs of an access and the last access of each thread before it.

use history::Execution;
use history::execution::{EventId, Kind, LocationId};
use model::{Derivation, Edge, Evidence, Model, Node, Rule, Step};
use order::{Cycles, Entries};
use rustc_hash::{FxHashMap, FxHashSet};

use super::clocks::{self, join};
use super::coherence::{OWN, acquires, releases};
use super::happens::{happens_before, node, source};
use super::po_rf_pass::{EVENTS_PER_TURN, NOT_PASSED, PoRfPass};
use super::pool::Pool;
use super::strong;
use super::{C11Checker, Found};
use crate::store::{self, saturate::Saturated};
use model::Budget;

/// How many chains are tried as the start of a shortest cycle, at most.
const MAX_CYCLE_STARTS: usize = 256;

impl C11Checker {
    /// The evidence for what a pass found.
    pub(super) fn explain(&mut self, model: Model, execution: &Execution, found: Found) -> Evidence {
        let explainer = Explainer { execution, model };
        match found {
            Found::ThinAirCycle => {
                let turns = match model {
                    Model::Relaxed => &self.relaxed.turns,
                    Model::Ra | Model::Rc20 => &self.coherence.turns,
                    _ => &self.causal.turns,
                };
                explainer.thin_air_cycle(turns)
            }
            Found::SharedSource(rmw) => explainer.shared_source(rmw),
            Found::Overwritten { read, write } => explainer.overwritten(read, write),
            Found::Incoherent(access) => explainer.incoherent(execution.event(access).location),
            Found::ChainCycle => {
                let (tops, locations) = match model {
                    Model::Relaxed => (&self.relaxed.tops[..], execution.location_count()),
                    _ => (self.coherence.tops(execution), execution.location_count()),
                };
                let left = (0..tops.len()).find(|&top| self.acyclic.is_left((locations + top) as u32));
                let top = tops[left.expect("a cycle of chains leaves some")];
                explainer.incoherent(execution.event(EventId(top)).location)
            }
            Found::StoreCycle => {
                let frame = strong::frame(execution, &self.causal);
                // Saturation fails again: there is no time limit now.
                let unsaturated = Saturated::new(&frame, &Budget::UNLIMITED).err();
                let cycle = unsaturated.and_then(|unsaturated| store::cycle_of(&frame, &unsaturated).ok());
                Evidence::Cycle(cycle.expect("what was found is found again"))
            }
            Found::NoOrder => self.refutation.take().unwrap_or(Evidence::DecideAgain),
        }
    }
}

struct Explainer<'a> {
    execution: &'a Execution,
    model: Model,
}

/// An access that happens before another. The order of two chains follows from it.
#[derive(Copy, Clone, Debug)]
struct Fact {
    before: EventId,
    after: EventId,
}

/// A write in its chain: the first write of the chain ([`EventId::INIT`] for the initial one), and the place.
type Place = (EventId, u32);

impl Explainer<'_> {
    fn node(&self, event: EventId) -> Node {
        node(self.execution, event)
    }

    fn po(&self, from: EventId, to: EventId) -> Option<Edge> {
        (from != to).then(|| Edge::Po(self.node(from), self.node(to)))
    }

    fn rf(&self, read: EventId) -> Edge {
        Edge::Rf(source(self.execution, read), self.node(read))
    }

    fn path(&self, from: EventId, to: EventId) -> Vec<Edge> {
        happens_before(self.execution, self.model, from, to).expect("what a clock says has a path")
    }

    /// The evidence that threads wait for each other, each for the source of its next event.
    fn thin_air_cycle(&self, turns: &PoRfPass) -> Evidence {
        let threads = self.execution.thread_count();
        let blocked = |thread| turns.next_of(self.execution, thread);
        let mut thread = (0..threads).find(|&thread| blocked(thread).is_some()).expect("some thread waits");
        let mut seen = vec![usize::MAX; threads];
        let mut waits: Vec<(EventId, EventId)> = Vec::new();
        while seen[thread] == usize::MAX {
            seen[thread] = waits.len();
            let read = EventId(blocked(thread).expect("who is waited for waits"));
            let source = self.execution.event(read).source;
            waits.push((source, read));
            thread = self.execution.thread(source).index();
        }
        let waits = &waits[seen[thread]..];
        let mut cycle = Vec::new();
        for (at, &(source, read)) in waits.iter().enumerate().rev() {
            let (_, before) = waits[(at + 1) % waits.len()];
            cycle.extend(self.po(before, source));
            cycle.push(self.rf(read));
        }
        Evidence::Cycle(Derivation { steps: Vec::new(), cycle })
    }

    /// The evidence that two rmws read one write: each must come before the other.
    fn shared_source(&self, rmw: EventId) -> Evidence {
        let event = self.execution.event(rmw);
        let same = |id: &EventId| {
            let other = self.execution.event(*id);
            let apart = *id != rmw && *id != event.source;
            apart && other.kind == Kind::Rmw && other.location == event.location && other.source == event.source
        };
        let other = self.execution.ids().find(same).expect("another rmw reads the same write");
        let step = |from: EventId, to: EventId| Step {
            rule: Rule::ReadWrite,
            from: self.node(from),
            to: self.node(to),
            path: vec![self.rf(to)],
        };
        let steps = vec![step(other, rmw), step(rmw, other)];
        Evidence::Cycle(Derivation { steps, cycle: vec![Edge::Derived(0), Edge::Derived(1)] })
    }

    /// An rmw of a location that reads the same write as another rmw. If there is one, chains are not defined.
    fn second_updater(&self, accesses: &[(EventId, Vec<u32>)]) -> Option<EventId> {
        let mut updated = FxHashSet::default();
        accesses.iter().map(|&(id, _)| id).find(|&id| {
            let event = self.execution.event(id);
            event.kind == Kind::Rmw && !updated.insert(event.source)
        })
    }

    fn overwritten(&self, read: EventId, write: EventId) -> Evidence {
        let event = self.execution.event(read);
        let source = source(self.execution, read);
        let rule = Rule::Conflict { read: self.node(read), view: None };
        let steps = vec![Step { rule, from: self.node(write), to: source, path: self.path(write, read) }];
        let mut cycle = match event.source {
            EventId::INIT => vec![Edge::Po(source, self.node(write))],
            from => self.path(from, write),
        };
        cycle.push(Edge::Derived(0));
        Evidence::Cycle(Derivation { steps, cycle })
    }

    /// The evidence that the chains of a location cannot be ordered.
    fn incoherent(&self, location: LocationId) -> Evidence {
        let facts = if self.model == Model::Relaxed {
            // The first pass of `relaxed` has made sure that chains are defined.
            self.facts_of_threads(location)
        } else {
            let accesses = self.accesses(location);
            if let Some(rmw) = self.second_updater(&accesses) {
                return self.shared_source(rmw);
            }
            self.facts(&accesses)
        };
        let facts = self.merge(self.shortest_cycle(&facts));
        let mut steps: Vec<Step> = Vec::new();
        let mut cycle = Vec::new();
        let count = facts.len();
        for (at, fact) in facts.iter().enumerate() {
            let (from, to) = (self.value(fact.before), self.target(fact.after));
            let rule = Rule::Coherence { before: self.node(fact.before), after: self.node(fact.after) };
            let path = self.path(fact.before, fact.after);
            let [from_node, to_node] = [from, to].map(|write| self.write_node(location, write));
            steps.push(Step { rule, from: from_node, to: to_node, path });
            let number = steps.len() as u32 - 1;
            let next = self.value(facts[(at + 1) % count].before);
            if self.chain(to).0 == EventId::INIT && self.chain(from).0 != EventId::INIT {
                // The initial write comes first.
                let init = Node::Init(location);
                if to == EventId::INIT {
                    cycle.push(Edge::Derived(number));
                } else {
                    let path = vec![Edge::Derived(number)];
                    steps.push(Step { rule: Rule::Atomicity, from: from_node, to: init, path });
                    cycle.push(Edge::Derived(number + 1));
                }
                cycle.push(Edge::Po(init, from_node));
            } else if count == 1 {
                cycle.push(Edge::Derived(number));
                let mut chain = Vec::new();
                let mut write = from;
                while write != to {
                    chain.push(self.rf(write));
                    write = self.execution.event(write).source;
                }
                cycle.extend(chain.into_iter().rev());
            } else if next == to {
                cycle.push(Edge::Derived(number));
            } else {
                let path = vec![Edge::Derived(number)];
                steps.push(Step { rule: Rule::Atomicity, from: from_node, to: self.write_node(location, next), path });
                cycle.push(Edge::Derived(number + 1));
            }
        }
        Evidence::Cycle(Derivation { steps, cycle })
    }

    fn write_node(&self, location: LocationId, write: EventId) -> Node {
        if write == EventId::INIT { Node::Init(location) } else { self.node(write) }
    }

    /// The value of an access: itself if it writes, else the write that it reads from.
    fn value(&self, access: EventId) -> EventId {
        let event = self.execution.event(access);
        if event.kind.writes() { access } else { event.source }
    }

    /// The target of an access: the write that it reads from, or itself if it does not read.
    fn target(&self, access: EventId) -> EventId {
        let event = self.execution.event(access);
        if event.kind.reads() { event.source } else { access }
    }

    fn chain(&self, write: EventId) -> Place {
        let (mut write, mut place) = (write, 0);
        while write != EventId::INIT && self.execution.event(write).kind == Kind::Rmw {
            write = self.execution.event(write).source;
            place += 1;
        }
        (write, place)
    }

    /// The accesses of a location in an order of `po u rf`, each with its clock of `hb` (for `ra` and `rc20`). The
    /// clock does not count the access itself.
    fn accesses(&self, location: LocationId) -> Vec<(EventId, Vec<u32>)> {
        let execution = self.execution;
        let lanes = clocks::width(execution.thread_count());
        let width = Entries(lanes);
        let mut turns = PoRfPass::default();
        turns.start(execution);
        let mut pool = Pool::default();
        pool.start(execution, lanes);
        let zero = vec![0; lanes];
        let mut current = vec![zero.clone(); execution.thread_count()];
        let mut pending = current.clone();
        let mut published = current.clone();
        let orders = self.model == Model::Rc20;
        let mut accesses = Vec::new();
        for (thread, clock) in current.iter_mut().enumerate() {
            clock[thread] = OWN;
        }
        while let Ok(Some(turn)) = turns.next(execution, &Budget::UNLIMITED) {
            let thread = turn.thread;
            if pool.reserve(&Budget::UNLIMITED, width, EVENTS_PER_TURN as usize).is_err() {
                // The pass had room for the same clocks up to the event where it found the violation.
                break;
            }
            let mut at = turn.at;
            let blocked = loop {
                if at == turn.end {
                    break false;
                }
                let id = EventId(at);
                let event = execution.event(id);
                let mut slot = Pool::INIT;
                if event.source.is_event() {
                    slot = turns.marks[event.source.index()];
                    if slot & NOT_PASSED != 0 {
                        turns.wait(thread, at, event.source.0);
                        break true;
                    }
                }
                let release = !orders || releases(event.order, event.kind == Kind::Fence);
                let acquire = !orders || acquires(event.order, event.kind == Kind::Fence);
                let position = execution.position(id);
                if event.kind.reads() {
                    join(if acquire { &mut current[thread] } else { &mut pending[thread] }, pool.clock(width, slot));
                }
                if event.kind == Kind::Fence && orders {
                    if acquire {
                        join(&mut current[thread], &pending[thread]);
                    }
                    if release {
                        published[thread].copy_from_slice(&current[thread]);
                        published[thread][thread] = position + 1;
                    }
                }
                if event.location == location {
                    let mut clock = current[thread].clone();
                    clock[thread] = position;
                    accesses.push((id, clock));
                }
                if event.kind.writes() {
                    let taken = pool.take(at, [0, 0]);
                    let mut clock = if release { current[thread].clone() } else { published[thread].clone() };
                    if release {
                        clock[thread] = position + 1;
                    }
                    if orders && event.kind == Kind::Rmw {
                        join(&mut clock, pool.clock(width, slot));
                    }
                    pool.clock_mut(width, taken).copy_from_slice(&clock);
                    turns.pass(at, taken);
                }
                if event.source.is_event() {
                    pool.give_back(event.source.index(), slot);
                }
                at += 1;
            };
            if !blocked {
                turns.finish(execution, thread, at);
            }
        }
        accesses
    }

    /// Each access with the access before it in its thread. In `relaxed`, happens-before has no more than that.
    fn facts_of_threads(&self, location: LocationId) -> Vec<Fact> {
        let on_location = |id: &EventId| self.execution.event(*id).location == location;
        let accesses: Vec<EventId> = self.execution.ids().filter(on_location).collect();
        let same_thread = |pair: &&[EventId]| self.execution.thread(pair[0]) == self.execution.thread(pair[1]);
        accesses.windows(2).filter(same_thread).map(|pair| Fact { before: pair[0], after: pair[1] }).collect()
    }

    /// Each access with the last accesses of each thread that happen before it.
    fn facts(&self, accesses: &[(EventId, Vec<u32>)]) -> Vec<Fact> {
        let execution = self.execution;
        let mut passed: Vec<Vec<EventId>> = vec![Vec::new(); execution.thread_count()];
        let mut facts = Vec::new();
        for (after, clock) in accesses {
            for (list, &count) in passed.iter().zip(clock) {
                let known = list.partition_point(|&before| execution.position(before) < count);
                if let Some(&before) = known.checked_sub(1).map(|last| &list[last]) {
                    facts.push(Fact { before, after: *after });
                }
            }
            passed[execution.thread(*after).index()].push(*after);
        }
        facts
    }

    /// The facts of a shortest cycle of chains. The target of each fact is in the chain of the value of the next fact.
    fn shortest_cycle(&self, facts: &[Fact]) -> Vec<Fact> {
        // Chains by number. With each successor stands a fact that proves it.
        let mut numbers: FxHashMap<EventId, u32> = FxHashMap::default();
        let mut successors: Vec<Vec<u32>> = Vec::new();
        let mut reasons: Vec<Vec<Fact>> = Vec::new();
        let mut starts = Vec::new();
        let mut into_first = None;
        let mut places: FxHashMap<EventId, Place> = FxHashMap::default();
        for &fact in facts {
            let [(from, from_place), (to, to_place)] = [self.value(fact.before), self.target(fact.after)]
                .map(|write| *places.entry(write).or_insert_with(|| self.chain(write)));
            if from == to {
                if from_place > to_place {
                    return vec![fact];
                }
            } else if to == EventId::INIT {
                into_first.get_or_insert(fact);
            } else {
                let [from, to] = [from, to].map(|chain| {
                    *numbers.entry(chain).or_insert_with(|| {
                        successors.push(Vec::new());
                        reasons.push(Vec::new());
                        successors.len() as u32 - 1
                    })
                });
                if successors[from as usize].is_empty() {
                    starts.push(from);
                }
                successors[from as usize].push(to);
                reasons[from as usize].push(fact);
            }
        }
        if let Some(fact) = into_first {
            return vec![fact];
        }
        let mut cycles = Cycles::new(successors.len());
        let mut best: Option<Vec<u32>> = None;
        let mut tried = 0;
        for start in starts {
            if let Some(cycle) = cycles.shortest(start, |at| &successors[at as usize]) {
                if best.as_ref().is_none_or(|best| cycle.len() < best.len()) {
                    best = Some(cycle);
                }
                tried += 1;
            }
            if tried >= MAX_CYCLE_STARTS || best.as_ref().is_some_and(|best| best.len() == 2) {
                break;
            }
        }
        let best = best.expect("chains that cannot be ordered have a cycle");
        let befores = best.iter().cycle().skip(best.len() - 1);
        let reason = |(&from, to): (&u32, &u32)| {
            let at = successors[from as usize].iter().position(|next| next == to);
            reasons[from as usize][at.expect("the cycle is one of successors")]
        };
        befores.zip(&best).map(reason).collect()
    }

    /// Merges two consecutive facts into one, if the first ends at the access where the second begins, or earlier in
    /// its thread.
    fn merge(&self, mut facts: Vec<Fact>) -> Vec<Fact> {
        let mut at = 0;
        while facts.len() > 2 && at < facts.len() {
            let next = (at + 1) % facts.len();
            let (end, begin) = (facts[at].after, facts[next].before);
            let joined = Fact { before: facts[at].before, after: facts[next].after };
            let distinct = self.chain(self.value(joined.before)).0 != self.chain(self.target(joined.after)).0;
            if self.execution.thread(end) == self.execution.thread(begin) && end <= begin && distinct {
                facts[at] = joined;
                facts.remove(next);
            } else {
                at += 1;
            }
        }
        facts
    }
}
