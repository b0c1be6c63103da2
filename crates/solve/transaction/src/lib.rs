//! Isolation levels of database transactions, from read committed to strict serializability.
//!
//! You want this crate to embed a checker of transactions without the rest. To check a history, use the crate
//! `seriatim` instead.
//!
//! The levels are those of Biswas and Enea (*On the Complexity of Checking Transactional Consistency*), each in three
//! forms ([`Sessions`]). A history satisfies a level if some commit order `co`, which contains session order,
//! reads-from and the known versions of lists, satisfies: if t3 reads x from t1, and t2 writes x, and the premise
//! holds, then t2 comes before t1.
//!
//! | level | premise about t2 and t3 | decided by |
//! | --- | --- | --- |
//! | `pl-2` | never | [`graph`] |
//! | `read-committed` | t3 read something from t2 before it read x | [`weak`] |
//! | `repeatable-read` | the same; and all reads of a key in a transaction have one source | [`weak`] |
//! | `read-atomic` | t2 (so ∪ wr) t3 | [`weak`] |
//! | `causal` | t2 (so ∪ wr)+ t3 | [`weak`] |
//! | `prefix` | t2 co*; (so ∪ wr) t3 | [`known`], [`commit_order`] |
//! | `parallel-snapshot-isolation` | t2 (so ∪ wr ∪ conflicts in co)+ t3 | [`commit_order`] |
//! | `snapshot-isolation` | that of `prefix`, or t2 co* t4 co t3; t4, t3 write one key | [`known`], [`commit_order`] |
//! | `serializable` | t2 co t3 | [`known`], [`commit_order`] |
//!
//! ```
//! use model::{Model, Verdict};
//! use history::History;
//! use transaction::LevelChecker;
//!
//! // Write skew: each reads what the other writes.
//! let history = format::parse(
//!     "[a] begin\n[a] r y 0\n[a] w x 1\n[b] begin\n[b] r x 0\n[b] w y 1\n[a] commit\n[b] commit\n",
//! )?;
//! let checker = LevelChecker::new(&history)?;
//! assert_eq!(checker.check(Model::SnapshotIsolation)?.verdict, Verdict::Consistent);
//! assert_eq!(checker.check(Model::Serializable)?.verdict, Verdict::Violation);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod commit_order;
mod explain;
mod frame;
mod graph;
mod knobs;
mod known;
mod resolve;
mod rules;
mod view;
mod weak;

use history::{History, OperationId, TransactionId};
use model::transaction::{TransactionDerivation, TransactionEvidence};
use model::{Budget, Decided, GaveUp, Model, Verdict};
use model::{Isolation, Level, Sessions};
use order::saturation::NONE;

use commit_order::SaturatedOrder;
use explain::graph::OfGraph;
use frame::CommitFrame;
use graph::{CommitGraph, EdgeReason};
pub use knobs::Knobs;
pub use resolve::{ResolveError, Resolved, resolve};
use search::{Ending, Steps};
use view::{INIT, TransactionView};

/// The levels whose premise depends on the commit order.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Strong {
    /// `prefix`.
    Prefix,
    /// `parallel-snapshot-isolation`.
    Parallel,
    /// `snapshot-isolation`.
    Snapshot,
    /// `serializable`.
    Serializable,
}

impl Strong {
    /// Whether a transaction has two events.
    pub const fn is_split(self) -> bool {
        matches!(self, Self::Prefix | Self::Snapshot)
    }
}

/// What ends a pass over the pairs of a level.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// A writer is forced before the initial transaction.
    Overwritten {
        /// The writer.
        from: u32,
        /// Why.
        why: EdgeReason,
    },
    /// Nothing is known.
    GaveUp(GaveUp),
}

/// Checks one history against several levels.
pub struct LevelChecker {
    resolved: Resolved,
    /// Whether a consistent history gets a witness.
    witness: bool,
    budget: Budget,
    knobs: Knobs,
}

/// What a level says: a witness, or evidence of a violation.
enum Answer {
    /// The transactions or, if twice as many, the events in an order that is a witness.
    Consistent(&'static str, Witness),
    Violation(&'static str, TransactionEvidence),
}

enum Witness {
    Commits(Vec<TransactionId>),
    Events(Vec<TransactionId>),
}

impl Witness {
    /// The same witness for a weaker level.
    fn weakened(self, level: Strong) -> Self {
        match (self, level.is_split()) {
            (Self::Commits(line), true) => Self::Events(line.into_iter().flat_map(|id| [id, id]).collect()),
            (Self::Events(line), false) => {
                // The second time that a transaction occurs, it commits.
                let mut begun = rustc_hash::FxHashSet::default();
                Self::Commits(line.into_iter().filter(|&id| !begun.insert(id)).collect())
            }
            (witness, _) => witness,
        }
    }
}

type Answered = Result<Answer, GaveUp>;

impl LevelChecker {
    /// A checker of this history. An error means that the sources of its reads are not known.
    pub fn new(history: &History) -> Result<Self, ResolveError> {
        Ok(Self { resolved: resolve(history)?, witness: false, budget: Budget::default(), knobs: Knobs::DEFAULT })
    }

    /// Whether a consistent history gets a witness. The evidence of a violation is always made.
    #[must_use]
    pub fn with_witness(self, witness: bool) -> Self {
        Self { witness, ..self }
    }

    /// Sets the knobs.
    #[must_use]
    pub fn with_knobs(self, knobs: Knobs) -> Self {
        Self { knobs, ..self }
    }

    /// Sets what may be used from now on. What would need more is `unknown`.
    pub fn set_budget(&mut self, budget: Budget) {
        self.budget = budget;
    }

    /// The resolved history.
    pub fn resolved(&self) -> &Resolved {
        &self.resolved
    }

    /// Decides a level. The error means that the level speaks of time, and the history has none.
    ///
    /// # Panics
    /// If the model is not an isolation level.
    pub fn check(&self, model: Model) -> Result<Decided, ResolveError> {
        let isolation = model.isolation().expect("the model is an isolation level");
        if isolation.sessions == Sessions::RealTime && !self.resolved.view.is_timed {
            return Err(ResolveError::Untimed);
        }
        Ok(match self.answer(isolation) {
            Ok(Answer::Consistent(strategy, witness)) => {
                let evidence = match witness {
                    Witness::Commits(line) => TransactionEvidence::CommitOrder(line),
                    Witness::Events(line) => TransactionEvidence::EventOrder(line),
                };
                let evidence = Some(evidence).filter(|_| self.witness);
                let evidence = evidence.map(model::Evidence::of_transactions);
                Decided { verdict: Verdict::Consistent, strategy, reason: None, evidence }
            }
            Ok(Answer::Violation(strategy, evidence)) => {
                let evidence = Some(model::Evidence::of_transactions(evidence));
                Decided { verdict: Verdict::Violation, strategy, reason: None, evidence }
            }
            Err(why) => {
                Decided { verdict: Verdict::Unknown, strategy: "none", reason: Some(why.to_string()), evidence: None }
            }
        })
    }

    fn answer(&self, isolation: Isolation) -> Answered {
        if let Some(&bad) = self.resolved.bad.first() {
            return Ok(Answer::Violation("reads-from", TransactionEvidence::Bad(bad)));
        }
        let Self { budget, knobs, .. } = self;
        let run = LevelDecision { view: &self.resolved.view, sessions: isolation.sessions, budget, knobs };
        match isolation.level {
            Level::Prefix => run.strong(Strong::Prefix),
            Level::ParallelSnapshotIsolation => run.strong(Strong::Parallel),
            Level::SnapshotIsolation => run.strong(Strong::Snapshot),
            Level::Serializable => run.strong(Strong::Serializable),
            level => run.weak(level),
        }
    }
}

/// The decision of one level.
struct LevelDecision<'a> {
    view: &'a TransactionView,
    sessions: Sessions,
    budget: &'a Budget,
    knobs: &'a Knobs,
}

impl LevelDecision<'_> {
    fn place(&self, t: u32) -> u32 {
        self.view.places.get(t as usize).map_or(0, |place| place[1])
    }

    fn commits(&self, line: &[u32]) -> Witness {
        let transactions = line.iter().filter(|&&t| (t as usize) < self.view.len());
        Witness::Commits(transactions.map(|&t| self.view.ids[t as usize]).collect())
    }

    fn events(&self, line: &[u32]) -> Witness {
        let events = line.iter().filter(|&&event| (event as usize) < 2 * self.view.len());
        Witness::Events(events.map(|&event| self.view.ids[event as usize / 2]).collect())
    }

    fn cycle(&self, before: &CommitGraph, graph: &CommitGraph, rest: &[bool], split: bool) -> TransactionDerivation {
        OfGraph { view: self.view, before, split }.cycle(graph, &graph.cycle(rest))
    }

    /// A level whose premise does not mention the commit order.
    fn weak(&self, level: Level) -> Answered {
        let view = self.view;
        if level == Level::Causal && self.sessions == Sessions::None {
            let Some(view) = self.without_sessions() else { return self.weak(Level::Pl2) };
            return LevelDecision { view: &view, ..*self }.causal();
        }
        if level == Level::Causal {
            return self.causal();
        }
        let before = weak::causality(view, self.sessions);
        let mut graph = before.clone();
        weak::add_versions(view, &mut graph, |t| [t, t]);
        let forced = match level {
            Level::Pl2 => Ok(()),
            Level::ReadCommitted => weak::read_committed(view, &mut graph),
            _ => {
                if let Some(reads) = weak::unrepeatable(view) {
                    // What read-committed forbids, too, is the plainer reason.
                    return match self.weak(Level::ReadCommitted)? {
                        violation @ Answer::Violation(..) => Ok(violation),
                        Answer::Consistent(..) => {
                            let reads = reads.map(|read| OperationId(read.operation));
                            Ok(Answer::Violation("sources", TransactionEvidence::Unrepeatable(reads)))
                        }
                    };
                }
                if level == Level::RepeatableRead {
                    weak::read_committed(view, &mut graph)
                } else {
                    weak::read_atomic(view, self.sessions, &mut graph)
                }
            }
        };
        self.finish(level, &before, &graph, forced)
    }

    fn causal(&self) -> Answered {
        let view = self.view;
        if weak::unrepeatable(view).is_some() {
            return self.weak(Level::ReadAtomic);
        }
        let before = weak::causality(view, self.sessions);
        let mut graph = before.clone();
        weak::add_versions(view, &mut graph, |t| [t, t]);
        let Ok(line) = before.order(|t| self.place(t)) else { return self.weak(Level::Pl2) };
        let forced = weak::causal(view, &before, &line, &mut graph, self.budget);
        self.finish(Level::Causal, &before, &graph, forced)
    }

    /// The answer of a weak level, from its forced pairs.
    fn finish(&self, level: Level, before: &CommitGraph, graph: &CommitGraph, forced: Result<(), Stop>) -> Answered {
        let of = OfGraph { view: self.view, before, split: false };
        let derivation = match forced {
            Err(Stop::GaveUp(why)) => return Err(why),
            Err(stop) => stop.derivation(&of).unwrap_or_default(),
            Ok(()) => match graph.order(|t| self.place(t)) {
                Ok(line) => return Ok(Answer::Consistent("forced-pairs", self.commits(&line))),
                Err(rest) => self.cycle(before, graph, &rest, false),
            },
        };
        if let Some(weaker) = self.weaker(level) {
            return Ok(weaker);
        }
        Ok(Answer::Violation("forced-pairs", TransactionEvidence::Cycle(derivation)))
    }

    /// The violation of a weaker level, the weakest first: its evidence is plainer. In a long history it is not looked
    /// for, since that takes longer than the verdict.
    fn weaker(&self, level: Level) -> Option<Answer> {
        if self.view.len() > self.knobs.levels.weaker_up_to {
            return None;
        }
        let all = [Level::Pl2, Level::ReadCommitted, Level::RepeatableRead, Level::ReadAtomic, Level::Causal];
        let mut weaker = all.into_iter().take_while(|&weaker| weaker < level);
        weaker.find_map(|weaker| self.weak(weaker).ok().filter(|answer| matches!(answer, Answer::Violation(..))))
    }

    /// The same transactions with chains of reads-from in the place of sessions. None if `pl-2` is violated.
    fn without_sessions(&self) -> Option<TransactionView> {
        let graph = frame::base_graph(self.view, Sessions::None);
        let line = graph.order(|t| self.place(t)).ok()?;
        Some(self.view.renumbered(&frame::cover(self.view, &line)))
    }

    /// A level whose premise depends on the commit order.
    fn strong(&self, level: Strong) -> Answered {
        let view = self.view;
        if weak::unrepeatable(view).is_some() {
            return self.weak(Level::ReadAtomic);
        }
        if level != Strong::Prefix
            && let Some(reads) = known::lost_update(view)
        {
            if let Some(weaker) = self.weaker(Level::Prefix) {
                return Ok(weaker);
            }
            let reads = reads.map(|read| OperationId(read.operation));
            return Ok(Answer::Violation("lost-update", TransactionEvidence::LostUpdate(reads)));
        }
        if level != Strong::Parallel
            && let Some(versions) = known::Versions::new(view)
            && let Some(answer) = self.of_versions(level, &versions)?
        {
            return Ok(answer);
        }
        if let Some(witness) = self.recorded(level) {
            return Ok(Answer::Consistent("recorded", witness));
        }
        if self.sessions == Sessions::None {
            // With sessions there are fewer chains, and what holds with them holds without.
            let with = LevelDecision { sessions: Sessions::Session, ..*self };
            if let Answer::Consistent(strategy, witness) = with.searched(level)? {
                return Ok(Answer::Consistent(strategy, witness));
            }
            let Some(view) = self.without_sessions() else { return self.weak(Level::Pl2) };
            return LevelDecision { view: &view, ..*self }.searched(level);
        }
        self.searched(level)
    }

    /// The answer where the order of versions is known.
    fn of_versions(&self, level: Strong, versions: &known::Versions) -> Result<Option<Answer>, GaveUp> {
        let view = self.view;
        let graph = known::graph(view, versions, level, self.sessions);
        let split = level.is_split();
        let place = |vertex: u32| {
            let (t, side) = if split { (vertex / 2, vertex % 2) } else { (vertex, 1) };
            view.places.get(t as usize).map_or(0, |place| place[side as usize])
        };
        self.budget.check()?;
        if level == Strong::Snapshot && known::has_unseen_pairs(view) {
            if let Some(line) = known::guess(view, &graph, place) {
                return Ok(Some(Answer::Consistent("versions", self.events(&line))));
            }
            return Ok(None);
        }
        match graph.order(place) {
            Ok(line) if split => Ok(Some(Answer::Consistent("versions", self.events(&line)))),
            Ok(line) => Ok(Some(Answer::Consistent("versions", self.commits(&line)))),
            Err(rest) => {
                if let Some(weaker) = self.weaker(Level::Prefix) {
                    return Ok(Some(weaker));
                }
                let before = weak::causality(view, self.sessions);
                let derivation = self.cycle(&before, &graph, &rest, split);
                Ok(Some(Answer::Violation("versions", TransactionEvidence::Cycle(derivation))))
            }
        }
    }

    /// The order of the file, if it is a witness.
    fn recorded(&self, level: Strong) -> Option<Witness> {
        let view = self.view;
        if (0..view.keys).any(|key| !view.seen.of(key).is_empty() || !view.unseen.of(key).is_empty()) {
            return None;
        }
        // Where two places are equal, the transaction is a point.
        let mut events: Vec<(u32, u32)> =
            view.all().flat_map(|t| [0, 1].map(|side| (view.places[t as usize][side], 2 * t + side as u32))).collect();
        if level == Strong::Serializable {
            events.retain(|(_, event)| event % 2 == 1);
        }
        events.sort_unstable();
        // By key: the last writer, and where its writes became visible. By transaction: where it read.
        let mut memory = vec![(INIT, 0u32); view.keys];
        let mut begun = vec![NONE; view.len()];
        for (at, &(_, event)) in (1u32..).zip(&events) {
            let (t, is_end) = (event / 2, event % 2 == 1);
            if !is_end || level == Strong::Serializable {
                begun[t as usize] = at;
                if view.reads_of(t).iter().any(|read| memory[read.key as usize].0 != read.source) {
                    return None;
                }
            }
            if is_end {
                for write in view.writes_of(t) {
                    let cell = &mut memory[write.key as usize];
                    if level != Strong::Prefix && cell.1 > begun[t as usize] {
                        return None;
                    }
                    *cell = (t, at);
                }
            }
        }
        let line: Vec<u32> = events.into_iter().map(|(_, event)| event).collect();
        if level.is_split() {
            return Some(self.events(&line));
        }
        let commits: Vec<u32> = line.iter().filter(|&&event| event % 2 == 1).map(|&event| event / 2).collect();
        Some(self.commits(&commits))
    }

    /// Saturation, and the search over what it leaves open. A stronger level that holds decides, too: it has fewer
    /// events, or more is forced, so it is tried first.
    fn searched(&self, level: Strong) -> Answered {
        let stronger: &[Strong] = match level {
            Strong::Serializable => &[],
            Strong::Parallel => &[Strong::Serializable, Strong::Snapshot],
            Strong::Prefix | Strong::Snapshot => &[Strong::Serializable],
        };
        for &stronger in stronger {
            match self.search(stronger, self.knobs.levels.lemmas_of_stronger) {
                Ok(Answer::Consistent(strategy, witness)) => {
                    return Ok(Answer::Consistent(strategy, witness.weakened(level)));
                }
                Ok(Answer::Violation(..)) | Err(GaveUp::Steps) => {}
                Err(why) => return Err(why),
            }
        }
        match self.search(level, u64::MAX)? {
            Answer::Violation(strategy, evidence) => {
                Ok(self.weaker(Level::Prefix).unwrap_or(Answer::Violation(strategy, evidence)))
            }
            consistent @ Answer::Consistent(..) => Ok(consistent),
        }
    }

    fn search(&self, level: Strong, most_lemmas: u64) -> Answered {
        let view = self.view;
        let graph = frame::base_graph(view, self.sessions);
        let Ok(line) = graph.order(|t| self.place(t)) else { return self.weak(Level::Pl2) };
        let frame = CommitFrame::new(view, level, self.sessions, line);
        match commit_order::saturate(&frame, self.budget)? {
            SaturatedOrder::Violation(derivation) => {
                Ok(Answer::Violation("saturation", TransactionEvidence::Cycle(derivation)))
            }
            SaturatedOrder::Order(mut search) => {
                let strategy = "saturation+search";
                Ok(match search.run(&mut Steps::new(most_lemmas))? {
                    Ending::Found(line) if level.is_split() => Answer::Consistent(strategy, self.events(&line)),
                    Ending::Found(line) => Answer::Consistent(strategy, self.commits(&line)),
                    Ending::Refuted => {
                        let mut lemmas = search.theory().derivations(&search.refutation());
                        let is_one = lemmas.len() == 1;
                        let evidence = if is_one {
                            TransactionEvidence::Cycle(lemmas.swap_remove(0))
                        } else {
                            TransactionEvidence::Refutation(lemmas)
                        };
                        Answer::Violation(strategy, evidence)
                    }
                    Ending::Paused => return Err(GaveUp::Steps),
                })
            }
        }
    }
}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
