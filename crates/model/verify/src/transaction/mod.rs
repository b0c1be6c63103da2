//! The verifier of isolation levels.
//!
//! It finds the sources of all reads again ([`claim`]). A witness is replayed, or the axiom of its level is checked
//! directly ([`order`]). A derivation is checked edge by edge: each is a fact of the history, or a step whose axiom the
//! level has and whose premise is a path of the right form.

mod claim;
mod order;

use history::{OperationId, TransactionId};

use super::{Place, Refusal, fault};
use claim::Claim;
use history::{History, Status};
use model::transaction::{
    Anomaly, Bad, TransactionDerivation, TransactionEdge, TransactionEvidence, TransactionNode, TransactionRule,
    TransactionStep,
};
use model::{Certificate, Verdict};
use model::{Isolation, Level, Sessions};

pub(super) fn verify(certificate: &Certificate, history: &History) -> Result<(), Refusal> {
    let (model, verdict) = (certificate.model, certificate.verdict);
    let wrong_kind = Err(Refusal::WrongKind { model, verdict });
    let (Some(isolation), model::Evidence::Transactions(evidence)) = (model.isolation(), &certificate.evidence) else {
        return wrong_kind;
    };
    let claim = Claim::new(history)?;
    if isolation.sessions == Sessions::RealTime && history.is_untimed() {
        return Err(Refusal::NotTransactions("the history has no times".to_owned()));
    }
    let proof = Proof { claim: &claim, isolation };
    match (verdict, &**evidence) {
        (Verdict::Violation, TransactionEvidence::Bad(bad)) => proof.bad(bad),
        (Verdict::Violation, TransactionEvidence::Unrepeatable(reads)) => proof.unrepeatable(*reads),
        (Verdict::Violation, TransactionEvidence::LostUpdate(reads)) => proof.lost_update(*reads),
        (Verdict::Violation, TransactionEvidence::Cycle(derivation)) => proof.derivation(derivation, None).map(|_| ()),
        (Verdict::Violation, TransactionEvidence::Refutation(lemmas)) => proof.refutation(lemmas),
        (Verdict::Consistent, TransactionEvidence::CommitOrder(order)) => order::commits(&claim, isolation, order),
        (Verdict::Consistent, TransactionEvidence::EventOrder(order)) => order::events(&claim, isolation, order),
        _ => wrong_kind,
    }
}

/// An event of a transaction. If a level has one event for each transaction, it is [`Side::Write`].
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Side {
    Read,
    Write,
}

type Event = (TransactionNode, Side);

/// The pairs that a lemma assumes.
type Assumptions = Vec<(TransactionNode, TransactionNode)>;

struct Proof<'a> {
    claim: &'a Claim<'a>,
    isolation: Isolation,
}

/// The lemmas before the one that is verified.
type Lemmas<'a> = Option<&'a [Assumptions]>;

impl Proof<'_> {
    fn bad(&self, bad: &Bad) -> Result<(), Refusal> {
        let is_so = match (bad.anomaly, bad.other) {
            (Anomaly::IncompatibleOrder, Some(other)) => self.claim.are_incompatible(bad.read, other),
            (Anomaly::IncompatibleOrder, None) => false,
            (anomaly, _) => self.claim.bad.contains(&(bad.read, anomaly)),
        };
        if is_so {
            return Ok(());
        }
        fault(Place::Reads, format!("operation {} is not a read of the kind {}", bad.read.0, bad.anomaly.name()))
    }

    fn reads(&self, reads: [OperationId; 2]) -> Result<[(TransactionId, claim::Read); 2], Refusal> {
        match reads.map(|read| self.claim.read(read)) {
            [Some(a), Some(b)] if a.1.key == b.1.key => Ok([a, b]),
            _ => fault(Place::Reads, "they are not external reads of one key by transactions that count"),
        }
    }

    fn unrepeatable(&self, reads: [OperationId; 2]) -> Result<(), Refusal> {
        let [(t, first), (u, second)] = self.reads(reads)?;
        if t == u && first.source != second.source {
            return Ok(());
        }
        fault(Place::Reads, "they are not of one transaction, or have one source")
    }

    fn lost_update(&self, reads: [OperationId; 2]) -> Result<(), Refusal> {
        let [(t, first), (u, second)] = self.reads(reads)?;
        let both_write = [t, u].iter().all(|&id| self.claim.writes(TransactionNode::Transaction(id), first.key));
        if t != u && first.source == second.source && both_write {
            return Ok(());
        }
        fault(Place::Reads, "they are not of two transactions that read one version and write the key")
    }

    fn refutation(&self, lemmas: &[TransactionDerivation]) -> Result<(), Refusal> {
        let mut known: Vec<Assumptions> = Vec::new();
        for (number, lemma) in lemmas.iter().enumerate() {
            let assumed = self.derivation(lemma, Some(&known)).map_err(|refusal| match refusal {
                Refusal::Fault { place, what } => {
                    Refusal::Fault { place: Place::Lemma(number), what: format!("{place}: {what}") }
                }
                refusal => refusal,
            })?;
            known.push(assumed);
        }
        match known.last() {
            Some(last) if last.is_empty() => Ok(()),
            _ => fault(Place::LastLemma, "it assumes something"),
        }
    }

    /// Checks a derivation. The answer is what it assumes.
    fn derivation(&self, derivation: &TransactionDerivation, lemmas: Lemmas<'_>) -> Result<Assumptions, Refusal> {
        let mut assumed = Vec::new();
        for (number, step) in derivation.steps.iter().enumerate() {
            let wrong = |what: &str| fault(Place::Step(number), what);
            let earlier = &derivation.steps[..number];
            match self.step(step, earlier, lemmas) {
                Ok(()) => {}
                Err(what) => return wrong(&what),
            }
            if step.rule == TransactionRule::Assumed {
                assumed.push((step.from, step.to));
            }
        }
        let Some(&first) = derivation.cycle.first() else { return fault(Place::Cycle, "it is empty") };
        let begin = match self.edge(first, &derivation.steps) {
            Ok((begin, _)) => begin,
            Err(what) => return fault(Place::Cycle, what),
        };
        match self.path(&derivation.cycle, &derivation.steps, begin, begin) {
            Ok(()) => Ok(assumed),
            Err(what) => fault(Place::Cycle, what),
        }
    }

    fn is_split(&self) -> bool {
        matches!(self.isolation.level, Level::Prefix | Level::SnapshotIsolation)
    }

    fn read_side(&self) -> Side {
        if self.is_split() { Side::Read } else { Side::Write }
    }

    /// The event that a writer of a key is before, if it is before another writer.
    fn anchor(&self) -> Side {
        if self.isolation.level == Level::SnapshotIsolation { Side::Read } else { Side::Write }
    }

    /// Both events of an edge, if the edge holds.
    fn edge(&self, edge: TransactionEdge, steps: &[TransactionStep]) -> Result<(Event, Event), String> {
        let claim = self.claim;
        let counts = |node: TransactionNode| {
            node.transaction().is_none_or(|id| claim.counts.get(id.index()).copied().unwrap_or(false))
        };
        let plain = |from: TransactionNode, to: TransactionNode| ((from, Side::Write), (to, self.read_side()));
        let both = |from: TransactionNode, to: TransactionNode| {
            if counts(from) && counts(to) { Ok(()) } else { Err("a transaction does not count".to_owned()) }
        };
        match edge {
            TransactionEdge::Session(from, to) => {
                both(from, to)?;
                let is_so = match (from, to) {
                    (TransactionNode::Init, TransactionNode::Transaction(_)) => true,
                    (TransactionNode::Transaction(a), TransactionNode::Transaction(b)) => {
                        let (first, second) = (claim.history.transaction(a), claim.history.transaction(b));
                        self.isolation.sessions != Sessions::None
                            && a < b
                            && first.session == second.session
                            && first.status == Status::Committed
                    }
                    _ => false,
                };
                if is_so { Ok(plain(from, to)) } else { Err("an edge is not of session order".to_owned()) }
            }
            TransactionEdge::RealTime(from, to) => {
                both(from, to)?;
                let moments = claim.history.transaction_moments();
                let is_so = match (from, to) {
                    (TransactionNode::Transaction(a), TransactionNode::Transaction(b)) => {
                        self.isolation.sessions == Sessions::RealTime
                            && claim.history.transaction(a).status == Status::Committed
                            && moments[a.index()][1] < moments[b.index()][0]
                    }
                    _ => false,
                };
                if is_so { Ok(plain(from, to)) } else { Err("an edge is not of real time".to_owned()) }
            }
            TransactionEdge::Reads(from, to, read) => {
                let found = claim.read(read);
                let is_so = found.is_some_and(|(t, read)| TransactionNode::Transaction(t) == to && read.source == from);
                if is_so { Ok(plain(from, to)) } else { Err("an edge is not of reads-from".to_owned()) }
            }
            TransactionEdge::Version(from, to, key) => {
                let is_so = match (from.transaction(), to.transaction(), claim.versions.get(&key)) {
                    (Some(a), Some(b), Some((seen, unseen))) => {
                        let place = |id| seen.iter().position(|&other| other == id);
                        match (place(a), place(b)) {
                            (Some(a), Some(b)) => a < b,
                            (Some(_), None) => unseen.contains(&b),
                            _ => false,
                        }
                    }
                    _ => false,
                };
                let events = ((from, Side::Write), (to, self.anchor()));
                if is_so { Ok(events) } else { Err("an edge is not of known versions".to_owned()) }
            }
            TransactionEdge::Derived(step) => {
                let Some(step) = steps.get(step as usize) else { return Err("a step is used too early".to_owned()) };
                Ok(match step.rule {
                    TransactionRule::AntiDependency { .. } => ((step.from, self.read_side()), (step.to, Side::Write)),
                    _ => ((step.from, Side::Write), (step.to, self.anchor())),
                })
            }
        }
    }

    /// Checks that a path leads from one event to another. It may go on from the reads of a transaction to its writes.
    fn path(&self, path: &[TransactionEdge], steps: &[TransactionStep], from: Event, to: Event) -> Result<(), String> {
        if path.is_empty() {
            return Err("a path is empty".to_owned());
        }
        let mut at = from;
        let goes_on = |at: Event, next: Event| at.0 == next.0 && at.1 <= next.1;
        for &edge in path {
            let (begin, end) = self.edge(edge, steps)?;
            if !goes_on(at, begin) {
                return Err("a path has a gap".to_owned());
            }
            at = end;
        }
        if goes_on(at, to) { Ok(()) } else { Err("a path ends at another place".to_owned()) }
    }

    fn step(&self, step: &TransactionStep, steps: &[TransactionStep], lemmas: Lemmas<'_>) -> Result<(), String> {
        let claim = self.claim;
        let level = self.isolation.level;
        let is_strong = level >= Level::Prefix;
        let (from, to) = (step.from, step.to);
        let TransactionNode::Transaction(first) = from else {
            return Err("a step begins at no transaction".to_owned());
        };
        let counted =
            |node: TransactionNode| node.transaction().is_none_or(|id| claim.counts.get(id.index()) == Some(&true));
        if !counted(from) || !counted(to) || from == to {
            return Err("a step has wrong ends".to_owned());
        }
        let external = |read: OperationId| claim.read(read).ok_or("a step names no external read".to_owned());
        match step.rule {
            TransactionRule::Overwritten { read } => {
                let (t3, read) = external(read)?;
                if read.source != to || !claim.writes(from, read.key) || t3 == first {
                    return Err("the read is not of the end, or the begin does not write its key".to_owned());
                }
                let is_causal = |edge: &TransactionEdge| {
                    matches!(
                        edge,
                        TransactionEdge::Session(..) | TransactionEdge::RealTime(..) | TransactionEdge::Reads(..)
                    )
                };
                let allowed = match level {
                    Level::Pl2 | Level::ReadCommitted | Level::RepeatableRead => false,
                    Level::ReadAtomic => step.path.len() == 1 && step.path.iter().all(is_causal),
                    Level::Causal => step.path.iter().all(is_causal),
                    _ => true,
                };
                if !allowed {
                    return Err("the level does not have such a premise".to_owned());
                }
                let reader = (TransactionNode::Transaction(t3), self.read_side());
                self.path(&step.path, steps, (from, Side::Write), reader)
            }
            TransactionRule::ReadBefore { earlier, read } => {
                let ((t, earlier), (u, read)) = (external(earlier)?, external(read)?);
                let is_so = t == u
                    && earlier.operation < read.operation
                    && earlier.source == from
                    && read.source == to
                    && claim.writes(from, read.key)
                    && level >= Level::ReadCommitted;
                if is_so { Ok(()) } else { Err("the two reads do not force this".to_owned()) }
            }
            TransactionRule::AntiDependency { read } => {
                let (t3, read) = external(read)?;
                let is_so = matches!(level, Level::Prefix | Level::SnapshotIsolation | Level::Serializable)
                    && t3 == first
                    && to != TransactionNode::Init
                    && read.source != to
                    && claim.writes(to, read.key);
                if !is_so {
                    return Err("the read is not of the begin, or the end does not write its key".to_owned());
                }
                self.path(&step.path, steps, (read.source, Side::Write), (to, self.anchor()))
            }
            TransactionRule::Conflict { key } => {
                if level != Level::SnapshotIsolation || !claim.writes(from, key) || !claim.writes(to, key) {
                    return Err("the level has no such rule, or an end does not write the key".to_owned());
                }
                self.path(&step.path, steps, (from, Side::Read), (to, Side::Write))
            }
            TransactionRule::Assumed => {
                let TransactionNode::Transaction(second) = to else { return Err("init is assumed last".to_owned()) };
                let common = claim.writes[first.index()].intersection(&claim.writes[second.index()]).next();
                if lemmas.is_some() && is_strong && common.is_some() {
                    Ok(())
                } else {
                    Err("this must not be assumed".to_owned())
                }
            }
            TransactionRule::Lemma(lemma) => {
                let Some(assumed) = lemmas.and_then(|lemmas| lemmas.get(lemma as usize)) else {
                    return Err("there is no such lemma before this one".to_owned());
                };
                let Some(at) = assumed.iter().position(|&pair| pair == (to, from)) else {
                    return Err("the lemma does not assume the opposite".to_owned());
                };
                let others: Vec<&(TransactionNode, TransactionNode)> =
                    assumed.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, pair)| pair).collect();
                if others.len() != step.others.len() {
                    return Err("the other assumptions of the lemma are not all established".to_owned());
                }
                others.iter().zip(&step.others).try_for_each(|(&&(from, to), path)| {
                    self.path(path, steps, (from, Side::Write), (to, self.anchor()))
                })
            }
        }
    }
}
