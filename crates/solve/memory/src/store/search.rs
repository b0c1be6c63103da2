//! The theory of store orders for the kernel `search`: an interleaving in a saturated order. It decides `sc` after
//! `wsc`, `tso` after `wtso`, `pso` after `wpso`, and `sra`.
//!
//! A variable is a pair of writes of one location. The literal 'w comes before c' asserts that edge, and the
//! [rules](StoreRules) close the order again. A literal holds if the order has its edge.
//!
//! What to decide shows in an interleaving. Threads (the chains of the frame) take turns ([`Interleaving`]). Reads, and
//! writes without readers, go at once. The other writes go in the order of how much must happen before their readers,
//! on average. If all threads wait, each waits, directly or not, for a write w that could go if the last write c of its
//! location had no readers to come. Not every c can come before its w. There is a cycle of such pairs in which a reader
//! of each c must come after the w of the next pair. So in at least one pair of the cycle, w comes before c.
//!
//! Which pair is turned round? First the theory tries a *hint*: it turns round the pair whose c went last, takes the
//! interleaving back to before c, and leaves the order as it is. A hint is cheap, and nearly always right. If hints do
//! not help soon, it *decides* that w comes before c. Each pair gets few hints, so there is a decision in the end.
//!
//! Where many threads leave much open, many decisions are needed, and each changes nearly all clocks. So after a few of
//! them the search begins anew, and lets those writes go first whose readers are the [nearest](super::nearness).
//!
//! Lemmas are used again. That is free: 96 searches of random rings (`workload::rings`, two copies, 20 to 40 variables,
//! `sc` and `sra`) take 354 ms with it and 360 ms without.
//!
//! Invariants, whenever threads take turns: the events that went are an interleaving, and closed under the order (no
//! event that went comes after one that did not).

use std::ops::Range;

use history::Execution;
use model::{Evidence, GaveUp};
use order::justified::Checkpoint;
use order::lanes::Lane;
use order::saturation::{Conflict, Derived, NONE};
use order::{Cycles, EventItems, Explanation, Justified, Saturation};
use rustc_hash::FxHashMap;
use search::{Lemma, Lit, Next, Search, Steps, Theory, Why};

use super::explain::{DerivationBuilder, Hop};
use super::frame::Frame;
use super::interleaving::{Gone, Interleaving};
use super::nearness::{Nearness, ReaderDistance};
use super::rules::StoreRules;
use super::saturate::Saturated;
use crate::knobs::{DECISIONS, StoreKnobs};
use model::Budget;

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

/// The theory. See the module.
pub struct StoreOrder<'a, L = u32> {
    frame: &'a Frame<'a>,
    knobs: StoreKnobs,
    execution: &'a Execution,
    budget: Budget,
    order: Justified<StoreRules<'a, L>, L>,
    interleaving: Interleaving<'a, L>,
    /// By event: the events that it must come after, by the hints.
    hints: FxHashMap<u32, Vec<u32>>,
    /// How often each pair was hinted at, ever.
    hinted: FxHashMap<(u32, u32), u32>,
    /// How many events have gone at most, and how many hints may be tried until there are more.
    furthest: usize,
    hints_left: u32,
    /// How often the search has begun anew, and how many decisions there were since then.
    begun_anew: usize,
    decisions: u64,
    /// Which writes go first, once it has.
    nearness: Option<Nearness>,
    /// Whether it begins anew now.
    begins_anew: bool,
}

/// A search for a store order in a saturated order. In a step of it, all threads wait.
pub type StoreSearch<'a, L = u32> = Search<StoreOrder<'a, L>>;

impl<'a, L: Lane> StoreOrder<'a, L> {
    /// A search in a saturated order.
    pub fn search(
        frame: &'a Frame<'a>,
        saturated: Saturated<'a, L>,
        knobs: StoreKnobs,
        budget: &Budget,
    ) -> StoreSearch<'a, L> {
        let Saturated { order, rules, .. } = saturated;
        let execution = frame.execution();
        let theory = Self {
            frame,
            knobs,
            execution,
            budget: budget.clone(),
            order: Justified::new(order, rules, EventItems),
            interleaving: Interleaving::new(execution),
            hints: FxHashMap::default(),
            hinted: FxHashMap::default(),
            furthest: 0,
            hints_left: knobs.hints,
            begun_anew: 0,
            decisions: 0,
            nearness: None,
            begins_anew: false,
        };
        Search::new(theory)
    }

    /// The order.
    pub fn order(&self) -> &Saturation<L> {
        self.order.order()
    }

    /// The order, when the search is over.
    pub fn into_order(self) -> Saturation<L> {
        self.order.into_order()
    }

    /// Begins with an empty interleaving and without hints.
    pub fn begin_anew(&mut self) {
        self.hints.clear();
        self.interleaving = Interleaving::new(self.execution);
        (self.furthest, self.hints_left) = (0, self.knobs.hints);
    }

    /// Begins anew, and lets the writes go first whose readers are nearest. Each time, that is counted otherwise.
    fn begin_with_nearest(&mut self) {
        self.begin_anew();
        self.hinted.clear();
        self.nearness = Some(Nearness::new(self.frame, self.order.order(), self.begun_anew));
        self.begun_anew += 1;
        self.decisions = 0;
    }

    /// Makes the interleaving agree with edges that are new: takes back what must come later.
    fn agree(&mut self, news: Range<u32>) {
        let Self { order, interleaving, .. } = self;
        let order = order.order();
        for number in news {
            let Derived { from, to, .. } = order.edge(number);
            let gone = interleaving.gone();
            let late = |event| !gone.contains(event) || interleaving.place(event) > interleaving.place(to);
            if gone.contains(to) && late(from) {
                interleaving.rewind(to);
            }
        }
    }

    /// Lets events go until all threads wait.
    fn advance(&mut self) {
        let Self { frame, order, interleaving, hints, nearness, .. } = self;
        let order = order.order();
        let nearest = ReaderDistance { frame, order, nearness: nearness.as_ref() };
        while let Some(event) = interleaving.advance(|event, gone| missing(frame, order, hints, event, gone), &nearest)
        {
            interleaving.go(event);
        }
    }

    /// Whether there were many decisions for how far the interleaving has come.
    fn needs_many_decisions(&self) -> bool {
        self.knobs.nearness
            && DECISIONS.get(self.begun_anew).is_some_and(|&many| self.decisions >= many)
            && self.decisions * self.knobs.events_per_decision > self.interleaving.line().len() as u64
    }

    /// Lets threads try again after something was taken back or was turned round.
    fn reset(&mut self) {
        let Self { order, interleaving, hints, .. } = self;
        let order = order.order();
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
            numbers[self.order().chain(waiter.write)] = number as u32;
        }
        let number = |lane: usize| Some(numbers[lane]).filter(|&number| number != NONE);
        let mut waits = FxHashMap::default();
        for waiter in waiters {
            waits.entry(self.location(waiter.write)).or_insert_with(|| {
                let readers = self.frame.readers(self.order(), waiter.current).iter();
                let to_come = readers.filter(|&&read| !gone.contains(read));
                to_come.flat_map(|&read| gone.behind(self.order().clock(read)).filter_map(number)).collect()
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
        let shortest = cycles.shortest_of_all(begins.map(|begin| begin as u32), self.knobs.cycle_starts, waits_of);
        shortest.into_iter().map(|at| waiters[at as usize]).collect()
    }

    /// Turns one pair of a cycle round, if there is one that may be turned.
    fn hint(&mut self, waiters: &[Waiter]) -> bool {
        let most = self.knobs.hints_per_pair;
        let fresh = |waiter: &&Waiter| self.hinted.get(&waiter.pair()).is_none_or(|&times| times < most);
        let begins = waiters.iter().enumerate().filter(|(_, waiter)| fresh(waiter)).map(|(at, _)| at);
        let cycle = self.cycle(waiters, begins);
        let Some(&waiter) = cycle.iter().filter(fresh).max_by_key(|waiter| self.interleaving.place(waiter.current))
        else {
            return false;
        };
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

    /// A pair of a cycle of waiters, turned round.
    fn choose(&mut self, waiters: &[Waiter]) -> Lit {
        let cycle = self.cycle(waiters, 0..waiters.len());
        let open = cycle.iter().filter(|waiter| !self.order().before(waiter.current, waiter.write));
        let Some(&waiter) = open.max_by_key(|waiter| self.interleaving.place(waiter.current)) else {
            unreachable!("a saturated order has no such cycle");
        };
        self.decisions += 1;
        self.order.lit(waiter.write, waiter.current)
    }
}

impl<L: Lane> Theory for StoreOrder<'_, L> {
    type Conflict = Conflict;
    type Proof = Explanation<Hop>;
    /// An interleaving.
    type Model = Vec<u32>;
    type Mark = Checkpoint;
    type GaveUp = GaveUp;

    fn mark(&self) -> Checkpoint {
        self.order.mark()
    }

    fn undo_to(&mut self, state: Checkpoint) {
        self.order.undo_to(state);
    }

    fn assert(&mut self, lit: Lit, why: Why<'_>) -> Result<(), Conflict> {
        self.order.assert(lit, why)
    }

    fn holds(&self, lit: Lit) -> Option<bool> {
        self.order.holds(lit)
    }

    fn explain(&mut self, conflict: Conflict) -> Lemma<Explanation<Hop>> {
        self.order.explain(self.frame, conflict)
    }

    fn decide(&mut self, steps: &mut Steps) -> Result<Next<Vec<u32>, Conflict>, GaveUp> {
        if std::mem::take(&mut self.begins_anew) {
            self.begin_with_nearest();
        }
        if let Some(news) = self.order.news() {
            self.agree(news);
            self.reset();
        }
        loop {
            self.advance();
            if self.interleaving.is_complete() {
                return Ok(Next::Found(self.interleaving.line().collect()));
            }
            self.budget.check()?;
            self.budget.check_room(self.order().room_to_record())?;
            if !steps.take() {
                return Ok(Next::Pause);
            }
            if self.interleaving.line().len() > self.furthest {
                self.furthest = self.interleaving.line().len();
                self.hints_left = self.knobs.hints;
            }
            let waiters = self.waiters();
            if self.hints_left > 0 && self.hint(&waiters) {
                self.hints_left -= 1;
            } else if self.drop_hints() {
                // Without them, other hints may help.
            } else if self.needs_many_decisions() {
                self.begins_anew = true;
                return Ok(Next::Restart);
            } else {
                return Ok(Next::Decide(self.choose(&waiters)));
            }
            self.reset();
        }
    }
}

/// The evidence that there is no store order, after a search has refuted it.
pub fn refutation<L: Lane>(search: &StoreSearch<'_, L>) -> Evidence {
    let StoreOrder { frame, order, .. } = search.theory();
    let refutation = search.refutation();
    let whole = |lemma: &&Lemma<_>| order.whole(*frame, &lemma.proof);
    let build = |explanation| DerivationBuilder::build(frame, &explanation, &refutation.places);
    Evidence::Refutation(refutation.lemmas.iter().map(whole).map(build).collect())
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
