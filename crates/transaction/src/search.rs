//! The search for an order of all writers of each key, in a saturated order.
//!
//! If two writers of a key are not ordered, one order is assumed, and the rules close the order again. A conflict
//! depends on some assumptions: these cannot all hold, which is a lemma. The search goes back to where all but the last
//! of them held, and adds the opposite of the last. Whenever all assumptions of a lemma but one hold, in whatever way,
//! the opposite of that one is added. A conflict without assumptions refutes the level; the lemmas that it depends on
//! are the proof. If all writers of each key are ordered, any order of the events that extends the order is a witness.

use certificate::transaction::Derivation;
use certificate::{GaveUp, Interrupt};
use order::Saturation;
use order::lanes::lanes;
use order::saturation::{Conflict, Derived, Mark};
use rustc_hash::FxHashMap;

use crate::explain::{Builder, ByLemma, Explainer, Explanation};
use crate::frame::Frame;
use crate::rules::{LevelRules, MOST, Reason};
use crate::view::Read;

/// How many events enter between two looks at the clock.
const EVENTS_PER_TIME_CHECK: usize = 256;

/// A saturated order, or why there is none.
pub enum Saturated<'a> {
    /// The order.
    Order(Box<Search<'a>>),
    /// A contradiction.
    Violation(Derivation),
}

/// How a search ended.
pub enum Outcome {
    /// The events in an order that is a witness.
    Found(Vec<u32>),
    /// The lemmas that refute the level.
    Refuted(Vec<Derivation>),
}

/// A conflict, and the pairs of transactions that it assumes.
struct Lemma {
    explanation: Explanation,
    assumed: Vec<(u32, u32)>,
    /// The lemmas that it uses.
    uses: Vec<u32>,
}

/// An assumption in force: where the order was before it, and its edge.
struct Assumption {
    mark: Mark,
    edge: u32,
}

/// The level is refuted.
struct Refuted;

/// The search. See the [module](self).
pub struct Search<'a> {
    frame: &'a Frame<'a>,
    order: Saturation,
    rules: LevelRules<'a>,
    reads: FxHashMap<u32, (u32, Read)>,
    /// How many edges depend on no assumption and no lemma.
    known: u32,
    assumptions: Vec<Assumption>,
    lemmas: Vec<Lemma>,
    by_lemma: Vec<ByLemma>,
    /// By key: how often its pairs were part of a conflict.
    activity: Vec<u32>,
}

/// Saturates the order of a frame.
pub fn saturate<'a>(frame: &'a Frame<'a>, interrupt: Interrupt) -> Result<Saturated<'a>, GaveUp> {
    let count = frame.starts.last().copied().unwrap_or(0) as usize;
    let width = lanes(frame.starts.len() - 1);
    let most = MOST as usize;
    let operations = frame.view.all().flat_map(|t| frame.view.reads_of(t)).map(|read| read.operation as usize).max();
    if operations.unwrap_or(0) >= most || frame.view.keys >= most || count >= most {
        return Err(GaveUp::Events { most });
    }
    let rows = count + frame.view.keys;
    certificate::limits::check_room_for_clocks(rows, width, rows.saturating_mul(width) * size_of::<u32>())?;
    let mut order = Saturation::new(&frame.starts, |event| frame.base(event).iter().map(|base| base.from));
    let mut rules = LevelRules::new(frame, &order);
    let transactions = frame.view.len() as u32;
    for (at, &vertex) in frame.line.iter().enumerate() {
        if at.is_multiple_of(EVENTS_PER_TIME_CHECK) {
            interrupt.check()?;
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
                let reads = crate::explain::reads(frame.view);
                let explainer = Explainer { frame, order: &order, reads: &reads, by_lemma: &[], known: 0 };
                return Ok(Saturated::Violation(Builder::build(frame, &explainer.conflict(conflict), &[])));
            }
        }
    }
    order.record();
    let search = Search {
        frame,
        known: order.edge_count() as u32,
        order,
        rules,
        reads: FxHashMap::default(),
        assumptions: Vec::new(),
        lemmas: Vec::new(),
        by_lemma: Vec::new(),
        activity: vec![0; frame.view.keys],
    };
    Ok(Saturated::Order(Box::new(search)))
}

impl Search<'_> {
    /// Whether one writer of a key is before another.
    fn before(&self, t: u32, u: u32) -> bool {
        self.order.before(self.frame.w(t), self.frame.anchor(u))
    }

    /// Searches until so many lemmas are learnt. If there is no outcome by then, the search gives up.
    pub fn run(&mut self, most_lemmas: usize, interrupt: Interrupt) -> Result<Outcome, GaveUp> {
        let mut keys: Vec<u32> = (0..self.frame.view.keys as u32).collect();
        keys.retain(|&key| self.frame.writers.of(key as usize).len() > 1);
        loop {
            keys.sort_by_key(|&key| (std::cmp::Reverse(self.activity[key as usize]), key));
            let lemmas = self.lemmas.len();
            let mut is_done = true;
            for &key in &keys {
                interrupt.check()?;
                match self.decide(key, interrupt)? {
                    Ok(decided) => is_done &= !decided,
                    Err(Refuted) => return Ok(Outcome::Refuted(self.refutation())),
                }
                if self.lemmas.len() > lemmas {
                    break;
                }
            }
            if is_done && self.lemmas.len() == lemmas {
                return Ok(Outcome::Found(self.line()));
            }
            if self.lemmas.len() > most_lemmas {
                return Err(GaveUp::Steps);
            }
        }
    }

    /// The events in an order that extends the order: an event before another has a lesser clock.
    fn line(&self) -> Vec<u32> {
        let mut events: Vec<(u64, u32)> = (0..self.frame.events).map(|event| (self.rank(event), event)).collect();
        events.sort_unstable();
        events.into_iter().map(|(_, event)| event).collect()
    }

    fn rank(&self, event: u32) -> u64 {
        self.order.clock(event).iter().map(|&entry| u64::from(entry)).sum()
    }

    /// Orders the writers of a key. The answer is whether there was something to assume. It ends early when a lemma is
    /// learnt.
    fn decide(&mut self, key: u32, interrupt: Interrupt) -> Result<Result<bool, Refuted>, GaveUp> {
        let frame = self.frame;
        let lemmas = self.lemmas.len();
        let mut decided = false;
        let place = |t: u32| frame.view.places[t as usize][1];
        let mut writers = frame.writers.of(key as usize).to_vec();
        'sorted: loop {
            writers.sort_by_cached_key(|&t| (self.rank(frame.w(t)), place(t), t));
            for at in 1..writers.len() {
                let (t, u) = (writers[at - 1], writers[at]);
                if self.before(t, u) {
                    continue;
                }
                decided = true;
                if self.before(u, t) {
                    continue 'sorted;
                }
                interrupt.check()?;
                if let Err(Refuted) = self.assume(t, u) {
                    return Ok(Err(Refuted));
                }
                if self.lemmas.len() > lemmas {
                    return Ok(Ok(true));
                }
            }
            return Ok(Ok(decided));
        }
    }

    /// Assumes that one writer is before another, or learns that it cannot be.
    fn assume(&mut self, t: u32, u: u32) -> Result<(), Refuted> {
        let mark = self.order.mark();
        self.assumptions.push(Assumption { mark, edge: self.order.edge_count() as u32 });
        let mut result = self.insert(t, u, Reason::Assumed);
        loop {
            match result {
                Ok(()) => match self.follow() {
                    None => return Ok(()),
                    Some(inserted) => result = inserted,
                },
                Err(conflict) => result = self.learn(conflict)?,
            }
        }
    }

    fn insert(&mut self, t: u32, u: u32, reason: Reason) -> Result<(), Conflict> {
        let (from, to) = (self.frame.w(t), self.frame.anchor(u));
        self.order.insert(Derived { from, to, reason: reason.encode() }, &mut self.rules)
    }

    /// Adds what follows from a lemma, if there is something that does not hold yet.
    fn follow(&mut self) -> Option<Result<(), Conflict>> {
        let found = self.lemmas.iter().enumerate().find_map(|(number, lemma)| {
            let mut open = (0..lemma.assumed.len()).filter(|&at| {
                let (t, u) = lemma.assumed[at];
                !self.before(t, u)
            });
            let at = open.next().unwrap_or(lemma.assumed.len().checked_sub(1)?);
            let (t, u) = lemma.assumed[at];
            (open.next().is_none() && !self.before(u, t)).then_some((number as u32, at))
        });
        let (number, at) = found?;
        let (t, u) = self.lemmas[number as usize].assumed[at];
        self.note(number, at);
        Some(self.insert(u, t, Reason::Lemma))
    }

    /// Notes that the next edge holds because of a lemma.
    fn note(&mut self, lemma: u32, at: usize) {
        let frame = self.frame;
        let others = self.lemmas[lemma as usize].assumed.iter().enumerate().filter(|(other, _)| *other != at);
        let others = others.map(|(_, &(t, u))| (frame.w(t), frame.anchor(u))).collect();
        self.by_lemma.push(ByLemma { number: self.order.edge_count() as u32, lemma, others });
    }

    /// Learns from a conflict, goes back, and adds what was learnt.
    fn learn(&mut self, conflict: Conflict) -> Result<Result<(), Conflict>, Refuted> {
        if self.reads.is_empty() {
            self.reads = crate::explain::reads(self.frame.view);
        }
        let explainer = Explainer {
            frame: self.frame,
            order: &self.order,
            reads: &self.reads,
            by_lemma: &self.by_lemma,
            known: self.known,
        };
        let explanation = explainer.conflict(conflict);
        let transaction = |event: u32| self.frame.transaction(event).unwrap_or(0);
        let edges = explanation.edges.iter().filter(|e| Reason::decode(e.edge.reason) == Reason::Assumed);
        let assumed: Vec<(u32, (u32, u32))> =
            edges.map(|e| (e.number, (transaction(e.edge.from), transaction(e.edge.to)))).collect();
        let uses = explanation.edges.iter().filter_map(|e| Some(e.lemma.as_ref()?.0)).collect();
        for &(_, (t, u)) in &assumed {
            for write in self.frame.view.writes_of(t) {
                if self.frame.view.has_write(u, write.key) {
                    self.activity[write.key as usize] += 1;
                }
            }
        }
        let pairs: Vec<(u32, u32)> = assumed.iter().map(|&(_, pair)| pair).collect();
        self.lemmas.push(Lemma { explanation, assumed: pairs, uses });
        let Some(&(_, (t, u))) = assumed.last() else { return Err(Refuted) };
        let others = &assumed[..assumed.len() - 1];
        let keep = others.last().map_or(0, |&(edge, _)| self.assumptions.partition_point(|a| a.edge <= edge));
        self.order.undo(self.assumptions[keep].mark);
        self.assumptions.truncate(keep);
        let count = self.order.edge_count() as u32;
        self.by_lemma.truncate(self.by_lemma.partition_point(|by| by.number < count));
        self.note(self.lemmas.len() as u32 - 1, others.len());
        Ok(self.insert(u, t, Reason::Lemma))
    }

    /// The last lemma and all lemmas that it depends on, each after those that it uses.
    fn refutation(&self) -> Vec<Derivation> {
        let mut needed = vec![false; self.lemmas.len()];
        if let Some(last) = needed.last_mut() {
            *last = true;
        }
        for at in (0..self.lemmas.len()).rev() {
            if needed[at] {
                for &lemma in &self.lemmas[at].uses {
                    needed[lemma as usize] = true;
                }
            }
        }
        let mut numbers = vec![0; self.lemmas.len()];
        let mut derivations = Vec::new();
        let explainer =
            Explainer { frame: self.frame, order: &self.order, reads: &self.reads, by_lemma: &[], known: 0 };
        for (at, lemma) in self.lemmas.iter().enumerate().filter(|(at, _)| needed[*at]) {
            numbers[at] = derivations.len() as u32;
            let mut explanation = lemma.explanation.clone();
            let mut edges = explainer.expand(explanation.known(self.known));
            edges.append(&mut explanation.edges);
            explanation.edges = edges;
            derivations.push(Builder::build(self.frame, &explanation, &numbers));
        }
        derivations
    }
}
