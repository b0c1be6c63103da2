//! The theory of transactions for the kernel `search`: an order of all writers of each key.
//!
//! A variable is a pair of writers of one key. The literal 't comes before u' asserts the edge from the writes of t to
//! the [anchor](CommitFrame::anchor) of u, and the [rules](LevelRules) close the order again. A literal holds if the
//! order has its edge. If all writers of each key are ordered, any order of the events that extends the order is a
//! witness.
//!
//! Keys take turns, those that were most often part of a conflict first. The writers of a key are sorted by how much is
//! before them, and the first two neighbours that are not ordered are decided as they stand.

use std::cmp::Reverse;

use model::transaction::TransactionDerivation;
use model::{Budget, GaveUp};
use order::justified::Checkpoint;
use order::lanes::lanes;
use order::saturation::Conflict;
use order::{Explainer, Explanation, Items, Justified, Saturation};
use rustc_hash::FxHashMap;
use search::{Lemma, Lit, Next, Refutation, Search, Steps, Theory, Why};

use crate::explain::frame::{CommitHop, OfFrame, TransactionDerivationBuilder};
use crate::frame::CommitFrame;
use crate::rules::{LevelRules, MOST};
use crate::view::ExternalRead;

/// How many events enter between two looks at the clock.
const EVENTS_PER_TIME_CHECK: usize = 256;

/// A saturated order, or why there is none.
pub enum SaturatedOrder<'a> {
    /// The order, and a search for one of all writers in it.
    Order(Box<Search<CommitOrder<'a>>>),
    /// A contradiction.
    Violation(TransactionDerivation),
}

/// The theory. See the [module](self).
pub struct CommitOrder<'a> {
    frame: &'a CommitFrame<'a>,
    budget: &'a Budget,
    order: Justified<LevelRules<'a>, u32, Writers<'a>>,
    /// Filled when the first conflict is explained.
    reads: FxHashMap<u32, (u32, ExternalRead)>,
    /// By key: how often its pairs were part of a conflict.
    activity: Vec<u32>,
    /// The keys with several writers, in the order of this round, and the place of the key that is looked at.
    keys: Vec<u32>,
    key: usize,
    /// The writers of that key, sorted, and the place up to which they are ordered. If it is 0, they are to be sorted.
    writers: Vec<u32>,
    place: usize,
    /// Whether in this round nothing was decided and nothing taken back.
    is_settled: bool,
    /// How many lemmas were learnt for which no step was taken.
    unpaid: u64,
}

/// A writer comes before another one of its key if its writes come before the anchor of the other.
struct Writers<'a>(&'a CommitFrame<'a>);

impl Items for Writers<'_> {
    fn edge(&self, first: u32, second: u32) -> (u32, u32) {
        (self.0.w(first), self.0.anchor(second))
    }
}

/// Saturates the order of a frame.
pub fn saturate<'a>(frame: &'a CommitFrame<'a>, budget: &'a Budget) -> Result<SaturatedOrder<'a>, GaveUp> {
    let count = frame.starts.last().copied().unwrap_or(0) as usize;
    let width = lanes(frame.starts.len() - 1);
    let most = MOST as usize;
    let operations = frame.view.all().flat_map(|t| frame.view.reads_of(t)).map(|read| read.operation as usize).max();
    if operations.unwrap_or(0) >= most || frame.view.keys >= most || count >= most {
        return Err(GaveUp::Events { most });
    }
    let rows = count + frame.view.keys;
    budget.check_room_for_clocks(rows, width, rows.saturating_mul(width) * size_of::<u32>())?;
    let mut order = Saturation::new(&frame.starts, |event| frame.base(event).iter().map(|base| base.from));
    let mut rules = LevelRules::new(frame, &order);
    let transactions = frame.view.len() as u32;
    for (at, &vertex) in frame.line.iter().enumerate() {
        if at.is_multiple_of(EVENTS_PER_TIME_CHECK) {
            budget.check()?;
        }
        let events = if vertex >= transactions {
            let cut = frame.events + vertex - transactions;
            cut..=cut
        } else {
            frame.r(vertex)..=frame.w(vertex)
        };
        for event in events {
            let base = frame.base(event).iter().map(|base| base.from);
            if let Err(conflict) = order.enter(event, base, &mut rules) {
                let premises = OfFrame { frame, reads: &crate::explain::reads(frame.view) };
                let explanation = Explainer::new(&order, &premises).conflict(conflict);
                return Ok(SaturatedOrder::Violation(TransactionDerivationBuilder::build(frame, &explanation, &[])));
            }
        }
    }
    let is_shared = |key: &u32| frame.writers.of(*key as usize).len() > 1;
    let theory = CommitOrder {
        frame,
        budget,
        order: Justified::new(order, rules, Writers(frame)),
        reads: FxHashMap::default(),
        activity: vec![0; frame.view.keys],
        keys: (0..frame.view.keys as u32).filter(is_shared).collect(),
        key: usize::MAX,
        writers: Vec::new(),
        place: 0,
        is_settled: false,
        unpaid: 0,
    };
    Ok(SaturatedOrder::Order(Box::new(Search::new(theory))))
}

impl CommitOrder<'_> {
    /// The derivations of lemmas.
    pub fn derivations(&self, refutation: &Refutation<'_, Explanation<CommitHop>>) -> Vec<TransactionDerivation> {
        let premises = OfFrame { frame: self.frame, reads: &self.reads };
        let whole = |lemma: &&Lemma<_>| self.order.whole(&premises, &lemma.proof);
        let build = |explanation| TransactionDerivationBuilder::build(self.frame, &explanation, &refutation.places);
        refutation.lemmas.iter().map(whole).map(build).collect()
    }

    /// The events in an order that extends the order: an event before another has a lesser clock.
    fn line(&self) -> Vec<u32> {
        let mut events: Vec<(u64, u32)> = (0..self.frame.events).map(|event| (self.rank(event), event)).collect();
        events.sort_unstable();
        events.into_iter().map(|(_, event)| event).collect()
    }

    fn rank(&self, event: u32) -> u64 {
        self.order.order().sum(event)
    }

    fn sort_writers(&mut self) {
        let frame = self.frame;
        let place = |t: u32| frame.view.places[t as usize][1];
        let mut writers = std::mem::take(&mut self.writers);
        writers.clear();
        writers.extend_from_slice(frame.writers.of(self.keys[self.key] as usize));
        writers.sort_by_cached_key(|&t| (self.rank(frame.w(t)), place(t), t));
        self.writers = writers;
        self.place = 1;
    }

    /// The next two writers of the key that are not ordered.
    fn next_pair(&mut self) -> Option<(u32, u32)> {
        if self.place == 0 {
            self.sort_writers();
        }
        while self.place < self.writers.len() {
            let (t, u) = (self.writers[self.place - 1], self.writers[self.place]);
            if self.order.before(t, u) {
                self.place += 1;
                continue;
            }
            self.is_settled = false;
            if !self.order.before(u, t) {
                return Some((t, u));
            }
            self.sort_writers();
        }
        None
    }
}

impl Theory for CommitOrder<'_> {
    type Conflict = Conflict;
    type Proof = Explanation<CommitHop>;
    /// The events in an order that is a witness.
    type Model = Vec<u32>;
    type Mark = Checkpoint;
    type GaveUp = GaveUp;

    fn mark(&self) -> Checkpoint {
        self.order.mark()
    }

    fn undo_to(&mut self, state: Checkpoint) {
        self.order.undo_to(state);
        self.place = 0;
        self.is_settled = false;
    }

    fn assert(&mut self, lit: Lit, why: Why<'_>) -> Result<(), Conflict> {
        self.order.assert(lit, why)
    }

    fn holds(&self, lit: Lit) -> Option<bool> {
        self.order.holds(lit)
    }

    fn explain(&mut self, conflict: Conflict) -> Lemma<Explanation<CommitHop>> {
        let view = self.frame.view;
        if self.reads.is_empty() {
            self.reads = crate::explain::reads(view);
        }
        let lemma = self.order.explain(&OfFrame { frame: self.frame, reads: &self.reads }, conflict);
        for &lit in &lemma.refuted {
            let (t, u) = self.order.pair(lit);
            for write in view.writes_of(t).iter().filter(|write| view.has_write(u, write.key)) {
                self.activity[write.key as usize] += 1;
            }
        }
        self.unpaid += 1;
        lemma
    }

    /// A step is a lemma.
    fn decide(&mut self, steps: &mut Steps) -> Result<Next<Vec<u32>, Conflict>, GaveUp> {
        while self.unpaid > 0 {
            if !steps.take() {
                return Ok(Next::Pause);
            }
            self.unpaid -= 1;
        }
        loop {
            self.budget.check()?;
            if self.key >= self.keys.len() {
                if self.is_settled {
                    return Ok(Next::Found(self.line()));
                }
                let activity = &self.activity;
                self.keys.sort_by_key(|&key| (Reverse(activity[key as usize]), key));
                (self.key, self.place, self.is_settled) = (0, 0, true);
            } else if let Some((t, u)) = self.next_pair() {
                return Ok(Next::Decide(self.order.lit(t, u)));
            } else {
                self.key += 1;
                self.place = 0;
            }
        }
    }
}
