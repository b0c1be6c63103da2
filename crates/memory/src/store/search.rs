//! The search for an interleaving in a saturated order. It decides `sc` after `wsc`, `tso` after `wtso`, and `pso`
//! after `wpso`.
//!
//! Threads (the chains of the frame) take turns ([`Interleaving`]). Reads, and writes without readers, go at once. The
//! other writes go in the order of how much must happen before their readers, on average. If all threads wait, each
//! waits, directly or not, for a write w that could go if the last write c of its location had no readers to come. Not
//! every c can come before its w. There is a cycle of such pairs in which a reader of each c must come after the w of
//! the next pair. So in at least one pair of the cycle, w comes before c.
//!
//! Which pair is turned round? First the search tries a *hint*: it turns round the pair whose c went last, takes the
//! interleaving back to before c, and leaves the order as it is. A hint is cheap, and nearly always right. If hints do
//! not help soon, the search makes *decisions*: it assumes that w comes before c, and saturates the order. If the rules
//! lead to a conflict, the edges that the conflict depends on are found, and with them the assumptions. These
//! assumptions refute each other: this is a *lemma*. The search goes back to the last but one of these assumptions, and
//! adds the opposite of the last, by the lemma. A lemma without assumptions refutes the execution.
//!
//! Where many threads leave much open, many decisions are needed, and each changes nearly all clocks. So after a few of
//! them the search begins anew, and lets those writes go first whose readers are the [nearest](super::nearness).
//!
//! The search ends. Each pair gets few hints. Every lemma adds an edge to an earlier level of assumptions, so the
//! assumptions progress in a lexicographic order, as in conflict-driven clause learning.
//!
//! Invariants: the events that went are an interleaving, and closed under the order (no event that went comes after one
//! that did not). The order has only edges that follow from the current assumptions.

use certificate::limits::check_room;
use certificate::{Derivation, Evidence, GaveUp};
use history::Execution;
use order::lanes::Lane;
use order::saturation::{Conflict, Derived, Mark, NONE};
use order::{Cycles, Saturation};
use rustc_hash::FxHashMap;

use super::explain::{ByLemma, DerivationBuilder, Explainer, Explanation, derived};
use super::frame::Frame;
use super::interleaving::{Gone, Interleaving};
use super::nearness::{Nearest, Nearness};
use super::rules::{ASSUMED, LEMMA, StoreRules};
use super::saturate::Saturated;
use crate::Interrupt;

/// How many hints are tried, at most, while the interleaving does not become longer than ever before.
const MAX_HINTS_WITHOUT_PROGRESS: u32 = 256;
/// How often one pair may be turned round by a hint.
const MAX_HINTS_PER_PAIR: u32 = 3;
/// After so many decisions, and if there was more than one for so many events that went, the search begins anew. Each
/// time, there may be more decisions.
const DECISIONS: [u64; 4] = [8, 32, 64, 128];
const EVENTS_PER_DECISION: u64 = 1 << 10;
/// The shortest cycle is looked for through so many waiters. Further waiters are tried only until one cycle is found.
const MAX_CYCLE_STARTS: usize = 64;

/// How a search ended.
#[derive(Debug)]
pub enum Outcome {
    /// There is an interleaving.
    Found(Vec<u32>),
    /// There is none.
    Refuted(Evidence),
}

/// How much work a search did.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Effort {
    /// How often all threads waited.
    pub deadlocks: u64,
    /// How many hints were tried.
    pub hints: u64,
    /// How many pairs were assumed.
    pub decisions: u64,
    /// How many lemmas were learnt.
    pub lemmas: u64,
}

/// A write that waits for readers of another write, and that other write.
#[derive(Copy, Clone, Debug)]
struct Waiter {
    current: u32,
    write: u32,
}

impl Waiter {
    fn pair(self) -> (u32, u32) {
        (self.current.min(self.write), self.current.max(self.write))
    }
}

#[derive(Copy, Clone, Debug)]
struct Assumption {
    mark: Mark,
    edge: u32,
}

/// There is no interleaving.
struct NoInterleaving;

/// The search. See the module.
pub struct Search<'a, L = u32> {
    frame: &'a Frame<'a>,
    execution: &'a Execution,
    order: Saturation<L>,
    rules: StoreRules<'a, L>,
    interleaving: Interleaving<'a, L>,
    /// The number of edges that depend on no assumption.
    known: u32,
    assumptions: Vec<Assumption>,
    lemmas: Vec<(Explanation, Vec<ByLemma>)>,
    by_lemma: Vec<ByLemma>,
    /// By event: the events that it must come after, by the hints.
    hints: FxHashMap<u32, Vec<u32>>,
    /// How often each pair was hinted at, ever.
    hinted: FxHashMap<(u32, u32), u32>,
    /// Whether to try hints.
    hinting: bool,
    /// How often the search has begun anew, and how many decisions there were before that.
    begun_anew: usize,
    decisions_before: u64,
    /// Which writes go first, once it has.
    nearness: Option<Nearness>,
    /// How much work was done.
    pub effort: Effort,
}

impl<'a, L: Lane> Search<'a, L> {
    /// A search in a saturated order.
    pub fn new(frame: &'a Frame<'a>, saturated: Saturated<'a, L>) -> Self {
        let Saturated { mut order, rules, .. } = saturated;
        let execution = frame.execution();
        order.record();
        Self {
            frame,
            execution,
            known: order.edge_count() as u32,
            begun_anew: 0,
            decisions_before: 0,
            nearness: None,
            order,
            rules,
            interleaving: Interleaving::new(execution),
            assumptions: Vec::new(),
            lemmas: Vec::new(),
            by_lemma: Vec::new(),
            hints: FxHashMap::default(),
            hinted: FxHashMap::default(),
            hinting: true,
            effort: Effort::default(),
        }
    }

    /// Makes only decisions, and tries no hints.
    #[must_use]
    pub fn without_hints(mut self) -> Self {
        self.hinting = false;
        self
    }

    /// Searches.
    pub fn run(&mut self, interrupt: Interrupt) -> Result<Outcome, GaveUp> {
        loop {
            if let Some(outcome) = self.run_for(u64::MAX, interrupt)? {
                return Ok(outcome);
            }
        }
    }

    /// Searches until all threads have waited so often. If there is no outcome yet, the search can be continued.
    pub fn run_for(&mut self, deadlocks: u64, interrupt: Interrupt) -> Result<Option<Outcome>, GaveUp> {
        let (mut furthest, mut hints_left) = (0, MAX_HINTS_WITHOUT_PROGRESS);
        let end = self.effort.deadlocks.saturating_add(deadlocks);
        loop {
            self.advance();
            if self.interleaving.is_complete() {
                return Ok(Some(Outcome::Found(self.interleaving.line().collect())));
            }
            interrupt.check()?;
            check_room(self.order.room_to_record())?;
            if self.effort.deadlocks == end {
                return Ok(None);
            }
            self.effort.deadlocks += 1;
            if self.interleaving.line().len() > furthest {
                furthest = self.interleaving.line().len();
                hints_left = MAX_HINTS_WITHOUT_PROGRESS;
            }
            let waiters = self.waiters();
            if self.hinting && hints_left > 0 && self.hint(&waiters) {
                hints_left -= 1;
            } else if self.drop_hints() {
                // Without them, other hints may help.
            } else if self.needs_many_decisions() {
                self.begin_anew();
                (furthest, hints_left) = (0, MAX_HINTS_WITHOUT_PROGRESS);
            } else if let Err(NoInterleaving) = self.decide(&waiters) {
                return Ok(Some(Outcome::Refuted(Evidence::Refutation(self.refutation()))));
            }
            self.reset();
        }
    }

    /// Drops all assumptions, and all edges that depend on them. Edges by lemmas without assumptions stay. Returns the
    /// order, which then has only edges that follow from the execution.
    pub fn restart(&mut self) -> &Saturation<L> {
        if let Some(first) = self.assumptions.first() {
            self.order.undo(first.mark);
            self.assumptions.clear();
            let count = self.order.edge_count() as u32;
            self.by_lemma.truncate(self.by_lemma.partition_point(|by| by.number < count));
        }
        self.hints.clear();
        self.interleaving = Interleaving::new(self.execution);
        &self.order
    }

    /// The order, when the search is over.
    pub fn into_order(self) -> Saturation<L> {
        self.order
    }

    /// Lets events go until all threads wait.
    fn advance(&mut self) {
        let Self { frame, order, interleaving, hints, nearness, .. } = self;
        let nearest = Nearest { frame, order, nearness: nearness.as_ref() };
        while let Some(event) = interleaving.advance(|event, gone| missing(frame, order, hints, event, gone), &nearest)
        {
            interleaving.go(event);
        }
    }

    /// Whether there were many decisions for how far the interleaving has come.
    fn needs_many_decisions(&self) -> bool {
        let decisions = self.effort.decisions - self.decisions_before;
        DECISIONS.get(self.begun_anew).is_some_and(|&many| decisions >= many)
            && decisions * EVENTS_PER_DECISION > self.interleaving.line().len() as u64
    }

    /// Begins anew, and lets the writes go first whose readers are nearest. Each time, that is counted otherwise.
    fn begin_anew(&mut self) {
        self.restart();
        self.hinted.clear();
        self.nearness = Some(Nearness::new(self.frame, &self.order, self.begun_anew));
        self.begun_anew += 1;
        self.decisions_before = self.effort.decisions;
    }

    /// Lets threads try again after something was taken back or was turned round.
    fn reset(&mut self) {
        let Self { order, interleaving, hints, .. } = self;
        interleaving.reset(|predecessor, event| {
            let is_hint = || hints.get(&event).is_some_and(|hints| hints.contains(&predecessor));
            order.before(predecessor, event) || is_hint()
        });
    }

    /// The writes that wait for readers and nothing else.
    fn waiters(&self) -> Vec<Waiter> {
        let current = |write: u32| self.interleaving.current(self.location(write));
        let writes = self.interleaving.waiting_for_readers();
        writes.into_iter().map(|write| Waiter { current: current(write), write }).collect()
    }

    fn location(&self, write: u32) -> usize {
        self.execution.events()[write as usize].location.index()
    }

    /// For each location, the waiters that a waiter of this location waits for. It waits for those whose write must
    /// come before a reader of the last write of its own location.
    fn waits(&self, waiters: &[Waiter]) -> FxHashMap<usize, Vec<u32>> {
        let gone = self.interleaving.gone();
        let mut numbers = vec![NONE; self.execution.thread_count()];
        for (number, waiter) in waiters.iter().enumerate() {
            numbers[self.order.chain(waiter.write)] = number as u32;
        }
        let number = |lane: usize| Some(numbers[lane]).filter(|&number| number != NONE);
        let mut waits = FxHashMap::default();
        for waiter in waiters {
            waits.entry(self.location(waiter.write)).or_insert_with(|| {
                let readers = self.frame.readers(&self.order, waiter.current).iter();
                let to_come = readers.filter(|&&read| !gone.contains(read));
                to_come.flat_map(|&read| gone.behind(self.order.clock(read)).filter_map(number)).collect()
            });
        }
        waits
    }

    /// A shortest cycle of waiters through one of `begins`: each waits for the next. There may be none while there are
    /// hints.
    fn cycle(&self, waiters: &[Waiter], begins: impl Iterator<Item = usize>) -> Vec<Waiter> {
        let waits = self.waits(waiters);
        let waits_of = |at: u32| waits[&self.location(waiters[at as usize].write)].as_slice();
        let mut cycles = Cycles::new(waiters.len());
        let mut shortest: Vec<u32> = Vec::new();
        for (tried, begin) in begins.enumerate() {
            if shortest.len() == 2 || (tried >= MAX_CYCLE_STARTS && !shortest.is_empty()) {
                break;
            }
            if let Some(cycle) = cycles.shortest(begin as u32, waits_of)
                && (shortest.is_empty() || cycle.len() < shortest.len())
            {
                shortest = cycle;
            }
        }
        shortest.into_iter().map(|at| waiters[at as usize]).collect()
    }

    /// Turns one pair of a cycle round, if there is one that may be turned.
    fn hint(&mut self, waiters: &[Waiter]) -> bool {
        let fresh = |waiter: &&Waiter| self.hinted.get(&waiter.pair()).is_none_or(|&times| times < MAX_HINTS_PER_PAIR);
        let begins = waiters.iter().enumerate().filter(|(_, waiter)| fresh(waiter)).map(|(at, _)| at);
        let cycle = self.cycle(waiters, begins);
        let Some(&waiter) = cycle.iter().filter(fresh).max_by_key(|waiter| self.interleaving.place(waiter.current))
        else {
            return false;
        };
        self.effort.hints += 1;
        let Waiter { current, write } = waiter;
        *self.hinted.entry(waiter.pair()).or_default() += 1;
        if let Some(opposite) = self.hints.get_mut(&write) {
            opposite.retain(|&from| from != current);
        }
        self.hints.entry(current).or_default().push(write);
        self.interleaving.rewind(current);
        true
    }

    /// Drops the hints that hold an event back. The answer is whether there were any.
    fn drop_hints(&mut self) -> bool {
        let gone = self.interleaving.gone();
        let before = self.hints.len();
        self.hints.retain(|&event, _| gone.contains(event));
        self.hints.len() < before
    }

    /// Decides a pair of a cycle, and takes back what must then come later.
    fn decide(&mut self, waiters: &[Waiter]) -> Result<(), NoInterleaving> {
        let cycle = self.cycle(waiters, 0..waiters.len());
        let open = cycle.iter().filter(|waiter| !self.order.before(waiter.current, waiter.write));
        let Some(&waiter) = open.max_by_key(|waiter| self.interleaving.place(waiter.current)) else {
            unreachable!("a saturated order has no such cycle");
        };
        let first = self.assume(waiter.write, waiter.current)?;
        for number in first..self.order.edge_count() as u32 {
            let Derived { from, to, .. } = self.order.edge(number);
            let gone = self.interleaving.gone();
            let late = |event| !gone.contains(event) || self.interleaving.place(event) > self.interleaving.place(to);
            if gone.contains(to) && late(from) {
                self.interleaving.rewind(to);
            }
        }
        Ok(())
    }

    /// Assumes that one write comes before another, or learns that it cannot. Returns the first edge that is new.
    fn assume(&mut self, from: u32, to: u32) -> Result<u32, NoInterleaving> {
        self.effort.decisions += 1;
        let mut first = self.order.edge_count() as u32;
        self.assumptions.push(Assumption { mark: self.order.mark(), edge: first });
        let mut result = self.order.insert(Derived { from, to, reason: ASSUMED }, &mut self.rules);
        while let Err(conflict) = result {
            result = self.learn(conflict, &mut first)?;
        }
        Ok(first)
    }

    /// Learns from a conflict, goes back, and adds what was learnt.
    fn learn(&mut self, conflict: Conflict, first: &mut u32) -> Result<Result<(), Conflict>, NoInterleaving> {
        let explainer =
            Explainer { frame: self.frame, order: &self.order, known: self.known, by_lemma: &self.by_lemma };
        let explanation = explainer.conflict(conflict);
        let mut assumed: Vec<u32> =
            explanation.edges.iter().filter(|e| e.edge.reason == ASSUMED).map(|e| e.number).collect();
        let used = explanation.edges.iter().filter(|e| e.edge.reason == LEMMA);
        let used = used.filter_map(|e| self.by_lemma.iter().find(|by| by.number == e.number).cloned()).collect();
        self.lemmas.push((explanation, used));
        self.effort.lemmas += 1;
        let Some(last) = assumed.pop() else { return Err(NoInterleaving) };
        let Derived { from, to, .. } = self.order.edge(last);
        let keep = assumed.last().map_or(0, |&edge| self.assumptions.partition_point(|a| a.edge <= edge));
        self.order.undo(self.assumptions[keep].mark);
        self.assumptions.truncate(keep);
        let number = self.order.edge_count() as u32;
        self.by_lemma.truncate(self.by_lemma.partition_point(|by| by.number < number));
        *first = number.min(*first);
        self.by_lemma.push(ByLemma { number, lemma: self.lemmas.len() as u32 - 1, others: assumed });
        Ok(self.order.insert(Derived { from: to, to: from, reason: LEMMA }, &mut self.rules))
    }

    /// The last lemma and all lemmas that it depends on, each after those that it uses.
    fn refutation(&self) -> Vec<Derivation> {
        let mut needed = vec![false; self.lemmas.len()];
        if let Some(last) = needed.last_mut() {
            *last = true;
        }
        for at in (0..self.lemmas.len()).rev() {
            if needed[at] {
                for by in &self.lemmas[at].1 {
                    needed[by.lemma as usize] = true;
                }
            }
        }
        let mut numbers = vec![NONE; self.lemmas.len()];
        let mut derivations = Vec::new();
        for (at, (explanation, used)) in self.lemmas.iter().enumerate() {
            if needed[at] {
                numbers[at] = derivations.len() as u32;
                derivations.push(self.derivation(explanation, used, &numbers));
            }
        }
        derivations
    }

    fn derivation(&self, explanation: &Explanation, used: &[ByLemma], numbers: &[u32]) -> Derivation {
        let bottom = explanation.bottom.iter().flat_map(|bottom| derived(&bottom.path));
        let edges = explanation.edges.iter().flat_map(|edge| derived(&edge.path));
        let known: Vec<u32> =
            derived(&explanation.cycle).chain(bottom).chain(edges).filter(|&number| number < self.known).collect();
        let explainer = Explainer { frame: self.frame, order: &self.order, known: 0, by_lemma: &[] };
        let mut builder = DerivationBuilder::new(self.frame);
        for explained in &explainer.edges(known) {
            builder.add(explained, None);
        }
        for explained in &explanation.edges {
            let by = used.iter().find(|by| by.number == explained.number);
            builder.add(explained, by.map(|by| numbers[by.lemma as usize]));
        }
        builder.close(explanation)
    }
}

/// A predecessor of an event, outside its thread, that did not go yet.
fn missing<L: Lane>(
    frame: &Frame<'_>,
    order: &Saturation<L>,
    hints: &FxHashMap<u32, Vec<u32>>,
    event: u32,
    gone: Gone<'_, L>,
) -> Option<u32> {
    let (clock, chain) = (order.clock(event), order.chain(event));
    if let Some(lane) = gone.first_behind(clock, chain) {
        return Some(order.end(clock[lane], lane) - 1);
    }
    if hints.is_empty() || !frame.execution().events()[event as usize].kind.writes() {
        return None;
    }
    hints.get(&event)?.iter().copied().find(|&from| !gone.contains(from))
}
