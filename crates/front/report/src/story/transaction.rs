//! Stories of violations of isolation levels. A node is a transaction with its operations, or the initial state.
//!
//! A cycle that says that a read returned an overwritten version is told from the read, as its name is: what leads from
//! the writer to the reader, and the anti-dependency back.

use std::collections::{BTreeSet, HashMap};

use format::render_action;
use history::{History, KeyId, Method, Operation, OperationId, Outcome, Source, Status, TransactionId, Value, visible};
use model::transaction::{
    Anomaly, Bad, TransactionDerivation, TransactionEdge, TransactionEvidence, TransactionNode, TransactionRule,
    TransactionStep,
};

use super::anomaly::{anomalies, overwriting};
use super::draft::{self, DraftEdge};
use super::names::Names;
use super::{EdgeKind, Story, title};
use crate::text::{Line, Style};

/// How many operations of a node are shown at most.
const OPERATIONS: usize = 12;

type Draft = draft::Draft<TransactionNode>;

/// Writes the story of a violation: its heading, its nodes and its parts. The history is one of transactions.
pub(super) fn write(history: &History, evidence: &TransactionEvidence, story: &mut Story) {
    let mut writer =
        TransactionWriter { history, names: Names { history }, keys: BTreeSet::new(), initial: BTreeSet::new() };
    let (what, mut parts) = match evidence {
        TransactionEvidence::CommitOrder(_) | TransactionEvidence::EventOrder(_) => return,
        TransactionEvidence::Bad(bad) => writer.bad(bad),
        TransactionEvidence::Unrepeatable(reads) => writer.unrepeatable(*reads),
        TransactionEvidence::LostUpdate(reads) => writer.lost_update(*reads),
        TransactionEvidence::Cycle(derivation) => {
            (Line::default().plain("no commit order has all of these:"), vec![writer.derivation(derivation)])
        }
        TransactionEvidence::Refutation(lemmas) => {
            let what = Line::default().plain("every order of the writers leads to a cycle");
            (what, lemmas.iter().map(|lemma| writer.derivation(lemma)).collect())
        }
    };
    story.heading = Line::heading(format!("{}: ", anomalies(history, evidence).join(", "))).append(what);
    if let [only] = &mut parts[..] {
        only.title = story.heading.clone();
    }
    let process = |node: TransactionNode| Some(history.transaction(node.transaction()?).session);
    draft::finish(story, parts, history, process, |node, thread| writer.node(node, thread));
}

struct TransactionWriter<'a> {
    history: &'a History,
    names: Names<'a>,
    /// The keys that the edges are about.
    keys: BTreeSet<KeyId>,
    /// Of which of them the initial version matters.
    initial: BTreeSet<KeyId>,
}

impl TransactionWriter<'_> {
    /// The transaction of an operation.
    fn owner(&self, id: OperationId) -> TransactionNode {
        TransactionNode::Transaction(self.history.transaction_of(id))
    }

    /// The transaction whose version a read returns, if exactly one can have made it.
    fn source(&self, read: OperationId) -> Option<TransactionNode> {
        match self.history.source(read) {
            Some(Source::Init) => return Some(TransactionNode::Init),
            Some(Source::Operation(write)) => return Some(self.owner(write)),
            None => {}
        }
        let Operation { key, result, .. } = *self.history.operation(read);
        let reader = self.history.transaction_of(read);
        // The last element of a list that is not the reader's own says whose version it is.
        let list = self.history.list(result);
        let values = if list.is_empty() { std::slice::from_ref(&result) } else { list };
        for &value in values.iter().rev() {
            let makes = |&(_, other): &(usize, &Operation)| {
                let is_write = matches!(other.method, Method::Write | Method::Append);
                is_write && other.key == key && other.argument == value && other.outcome != Outcome::Fail
            };
            let all = self.history.operations().iter().enumerate().filter(makes);
            let mut owners: Vec<TransactionNode> = all.map(|(id, _)| self.owner(OperationId(id as u32))).collect();
            owners.retain(|&owner| owner != TransactionNode::Transaction(reader));
            owners.dedup();
            match owners[..] {
                [] => {}
                [one] => return Some(one),
                _ => return None,
            }
        }
        Some(TransactionNode::Init)
    }

    /// A read that no level allows.
    fn bad(&mut self, bad: &Bad) -> (Line, Vec<Draft>) {
        // An operation, and whose it is, unless that was just said.
        let reader = self.history.transaction_of(bad.read);
        let of = |id: OperationId, said: Option<TransactionId>| {
            let (line, owner) = (self.names.operation(id), self.history.transaction_of(id));
            if said == Some(owner) { line } else { line.plain(" of ").plain(self.names.transaction(owner)) }
        };
        let read = of(bad.read, None);
        let other = |line: Line, words: &str, end: &str| match bad.other {
            Some(other) => line.plain(words).append(of(other, Some(reader))).plain(end),
            None => line,
        };
        let what = match bad.anomaly {
            Anomaly::Internal => other(read.plain(" does not return the last write of its own transaction"), ": ", ""),
            Anomaly::FutureRead => other(read, " returns what its own transaction writes later: ", ""),
            Anomaly::G1a => other(read, " returns what an aborted transaction wrote: ", ""),
            Anomaly::G1b => other(read, " returns what is not the last write of its transaction: ", ""),
            Anomaly::ThinAir => read.plain(" returns what nobody wrote"),
            Anomaly::DuplicateElements => other(read.plain(" shows an element twice"), ": ", ""),
            Anomaly::G0 => other(read, " shows the appends of one transaction torn apart, at ", ""),
            Anomaly::IncompatibleOrder => {
                other(read, " and ", " show two orders of one list: neither is the beginning of the other")
            }
            _ => read.plain(" is allowed by no level"),
        };
        let both = [Some(bad.read), bad.other].into_iter().flatten();
        self.keys.extend(both.clone().map(|id| self.history.operation(id).key));
        let core: Vec<TransactionNode> = both.map(|id| self.owner(id)).collect();
        let mut draft = Draft::new(Line::default(), core.clone());
        if let ([reader, writer], Anomaly::G1a | Anomaly::G1b) = (&core[..], bad.anomaly) {
            self.basic(&mut draft, TransactionEdge::Reads(*writer, *reader, bad.read));
        }
        (what, vec![draft])
    }

    /// Two reads of one transaction, and the transactions that they read from.
    fn unrepeatable(&mut self, [one, other]: [OperationId; 2]) -> (Line, Vec<Draft>) {
        let what = self.names.operation(one).plain(" and ").append(self.names.operation(other));
        let mut draft = Draft::new(Line::default(), vec![self.owner(one)]);
        for read in [one, other] {
            self.keys.insert(self.history.operation(read).key);
            if let Some(source) = self.source(read) {
                self.basic(&mut draft, TransactionEdge::Reads(source, self.owner(read), read));
            }
        }
        (what.plain(" are of one transaction and return different versions"), vec![draft])
    }

    /// Two transactions that read one version and both overwrite it: each comes before the other.
    fn lost_update(&mut self, reads: [OperationId; 2]) -> (Line, Vec<Draft>) {
        let [one, other] = reads.map(|read| self.owner(read));
        let mut draft = Draft::new(Line::default(), vec![one, other]);
        let key = self.history.operation(reads[0]).key;
        self.keys.insert(key);
        if let Some(source) = self.source(reads[0]) {
            let path = [TransactionEdge::Reads(source, one, reads[0]), TransactionEdge::Reads(source, other, reads[1])];
            for (from, to, read, overwritten) in [(one, other, reads[0], path[1]), (other, one, reads[1], path[0])] {
                let rule = TransactionRule::AntiDependency { read };
                let step = TransactionStep { rule, from, to, path: vec![overwritten], others: Vec::new() };
                let edge = self.step(&mut draft, &step, &HashMap::new());
                draft.circle.push(edge);
            }
        }
        let key = self.names.key(key);
        let what = self.names.operation(reads[0]).plain(" and ").append(self.names.operation(reads[1]));
        (what.plain(format!(" return one version of {key}, and both transactions write {key}:")), vec![draft])
    }

    /// A cycle, and the steps that it needs.
    fn derivation(&mut self, derivation: &TransactionDerivation) -> Draft {
        let mut draft = Draft::new(Line::default(), Vec::new());
        let mut written: HashMap<u32, usize> = HashMap::new();
        let turned = turned(derivation, |read| self.owner(read));
        let (steps, circle) = match &turned {
            Some((path, _)) => (path.iter().filter_map(|edge| edge.step()).collect::<Vec<u32>>(), path),
            None => (derivation.cycle.iter().filter_map(|edge| edge.step()).collect(), &derivation.cycle),
        };
        // A step is written after those that it uses. Derivations are deep, so the stack is our own.
        let mut left: Vec<(u32, bool)> = steps.into_iter().rev().map(|step| (step, false)).collect();
        while let Some((number, is_ready)) = left.pop() {
            if written.contains_key(&number) {
                continue;
            }
            let step = &derivation.steps[number as usize];
            if is_ready {
                let edge = self.step(&mut draft, step, &written);
                written.insert(number, edge);
            } else {
                left.push((number, true));
                let used = step.path.iter().chain(step.others.iter().flatten());
                left.extend(used.filter_map(|edge| edge.step()).map(|step| (step, false)));
            }
        }
        draft.circle = self.path(&mut draft, circle, &written);
        if let Some((_, back)) = &turned {
            let edge = self.step(&mut draft, back, &written);
            draft.circle.push(edge);
        }
        let assumed = derivation.steps.iter().filter(|step| step.rule == TransactionRule::Assumed);
        let supposed =
            |step: &TransactionStep| format!("{} < {}", self.names.state(step.from), self.names.state(step.to));
        draft.supposes = assumed.map(|step| Line::default().plain(supposed(step))).collect();
        draft.title = title::of_lemma(&draft.supposes);
        draft
    }

    fn path(&mut self, draft: &mut Draft, path: &[TransactionEdge], written: &HashMap<u32, usize>) -> Vec<usize> {
        path.iter()
            .map(|&edge| match edge {
                TransactionEdge::Derived(step) => written[&step],
                _ => self.basic(draft, edge),
            })
            .collect()
    }

    /// `T1 < T2, because `.
    fn because(&self, from: TransactionNode, to: TransactionNode) -> Line {
        Line::default().plain(format!("{} < {}, because ", self.names.state(from), self.names.state(to)))
    }

    /// An edge that the history says. If it is there already, it is not added again.
    fn basic(&mut self, draft: &mut Draft, edge: TransactionEdge) -> usize {
        let names = self.names;
        let reason = |line: Line, text: String| line.with(Style::Reason, text);
        let (kind, from, to, sentence) = match edge {
            TransactionEdge::Session(TransactionNode::Init, to) => {
                let line = self.because(TransactionNode::Init, to);
                (
                    EdgeKind::Initial,
                    TransactionNode::Init,
                    to,
                    reason(line, "the initial state is before everything".to_owned()),
                )
            }
            TransactionEdge::Session(from, to) => {
                let session = to.transaction().map(|id| self.history.transaction(id).session);
                let session = session.map_or_else(String::new, |session| self.history.process_name(session));
                let text = format!("{} is later in session {session}", names.state(to));
                (EdgeKind::Session, from, to, reason(self.because(from, to), text))
            }
            TransactionEdge::RealTime(from, to) => {
                let text = format!("{} ended before {} began", names.state(from), names.state(to));
                (EdgeKind::Ended, from, to, reason(self.because(from, to), text))
            }
            TransactionEdge::Version(from, to, key) => {
                self.keys.insert(key);
                let text = format!("{} shows the version of {} first", names.key(key), names.state(from));
                (EdgeKind::Version, from, to, reason(self.because(from, to), text))
            }
            TransactionEdge::Reads(from, to, read) => {
                let key = self.history.operation(read).key;
                self.keys.insert(key);
                if from == TransactionNode::Init {
                    self.initial.insert(key);
                }
                let line = self.because(from, to).append(names.operation(read));
                (EdgeKind::WriteRead, from, to, reason(line, format!(" reads from {}", names.state(from))))
            }
            // Steps are written before the edges that are they.
            TransactionEdge::Derived(step) => return step as usize,
        };
        draft.add(DraftEdge::basic(kind, from, to, sentence, ""))
    }

    /// Writes a derived edge, whose premises are written.
    fn step(&mut self, draft: &mut Draft, step: &TransactionStep, written: &HashMap<u32, usize>) -> usize {
        let names = self.names;
        let [a, b] = [step.from, step.to].map(|node| names.state(node));
        let line = self.because(step.from, step.to);
        let key = |writer: &Self, read| names.key(writer.history.operation(read).key);
        let version = |of: TransactionNode| match of {
            TransactionNode::Init => "the initial version".to_owned(),
            of @ TransactionNode::Transaction(_) => format!("the version of {}", names.state(of)),
        };
        let mut premises = self.path(draft, &step.path, written);
        let mut refuted_by = None;
        let (kind, sentence) = match step.rule {
            TransactionRule::Overwritten { read } => {
                premises.push(self.basic(draft, TransactionEdge::Reads(step.to, self.owner(read), read)));
                let (key, reader) = (key(self, read), names.state(self.owner(read)));
                let version = version(step.to);
                let text = format!(" returns {version} of {key}, though {a}, which is before {reader}, writes {key}");
                (EdgeKind::VersionOrder, line.append(names.operation(read)).with(Style::Reason, text))
            }
            TransactionRule::ReadBefore { earlier, read } => {
                premises.push(self.basic(draft, TransactionEdge::Reads(step.from, self.owner(earlier), earlier)));
                premises.push(self.basic(draft, TransactionEdge::Reads(step.to, self.owner(read), read)));
                let key = key(self, read);
                let line = line.append(names.operation(read));
                let line = line.with(Style::Reason, format!(" returns {} of {key}, after ", version(step.to)));
                let text = format!(" had read from {a}, which writes {key}");
                (EdgeKind::VersionOrder, line.append(names.operation(earlier)).with(Style::Reason, text))
            }
            TransactionRule::AntiDependency { read } => {
                // Without a path, the version is the initial one, which everything overwrites.
                let source = premises.first().map_or(TransactionNode::Init, |&first| draft.edges[first].from);
                premises.insert(0, self.basic(draft, TransactionEdge::Reads(source, self.owner(read), read)));
                let text = format!(" returns {} of {}, which {b} overwrites", version(source), key(self, read));
                (EdgeKind::AntiDependency, line.append(names.operation(read)).with(Style::Reason, text))
            }
            TransactionRule::Conflict { key } => {
                self.keys.insert(key);
                let text = format!("both write {}, and {b} does not commit before {a} begins", names.key(key));
                (EdgeKind::VersionOrder, line.with(Style::Reason, text))
            }
            TransactionRule::Assumed => (EdgeKind::Supposed, line.with(Style::Reason, "it is assumed in this case")),
            TransactionRule::Lemma(lemma) => {
                for other in &step.others {
                    premises.extend(self.path(draft, other, written));
                }
                refuted_by = Some(lemma as usize);
                let text = format!("part {} excludes the other order", u64::from(lemma) + 1);
                (EdgeKind::Refuted, line.with(Style::Reason, text))
            }
        };
        premises.sort_unstable();
        premises.dedup();
        draft.add(DraftEdge { refuted_by, ..DraftEdge::new(kind, step.from, step.to, sentence, premises) })
    }

    fn node(&self, node: TransactionNode, thread: Option<usize>) -> super::StoryNode {
        match node {
            TransactionNode::Init => self.initial_state(),
            TransactionNode::Transaction(id) => self.transaction(id, thread),
        }
    }

    /// The initial state, as far as it matters.
    fn initial_state(&self) -> super::StoryNode {
        let value = |&key: &KeyId| {
            let is_list = |operation: &Operation| operation.key == key && operation.result.as_list().is_some();
            let initial = match self.history.initial_value(key) {
                _ if self.history.operations().iter().any(is_list) => "[]".to_owned(),
                Value::NULL | Value::BLANK => "nothing".to_owned(),
                value => self.history.show(value),
            };
            visible(&format!("{} = {initial}", self.history.key_name(key))).into_owned()
        };
        let values: Vec<String> = self.initial.iter().map(value).collect();
        let name = self.names.state(TransactionNode::Init);
        let action = if values.is_empty() { name.clone() } else { values.join(", ") };
        super::StoryNode { action, text: name, ..super::StoryNode::default() }
    }

    /// A transaction, with its operations on these keys; with all, if none is.
    fn transaction(&self, id: TransactionId, thread: Option<usize>) -> super::StoryNode {
        let transaction = self.history.transaction(id);
        let all = || self.history.operation_range(id).map(OperationId);
        let mut operations: Vec<OperationId> =
            all().filter(|&id| self.keys.contains(&self.history.operation(id).key)).collect();
        if operations.is_empty() {
            // It matters by its place in its session or in time.
            operations = all().collect();
        }
        let shown = operations.iter().take(OPERATIONS).map(|&id| render_action(self.history, id));
        let mut actions: Vec<String> = shown.collect();
        if actions.len() < all().len() {
            actions.push("…".to_owned());
        } else if actions.is_empty() {
            actions.push("no operations".to_owned());
        }
        let action = visible(&actions.join(", ")).into_owned();
        let name = self.names.transaction(id);
        let line = Some(transaction.line).filter(|&line| line > 0);
        let session = visible(&self.history.process_name(transaction.session)).into_owned();
        super::StoryNode {
            operations,
            thread,
            place: line.map_or_else(|| name.clone(), |line| format!("{name}, line {line}")),
            line,
            text: format!("{name} [{session}] {action}"),
            action,
            // It has no moments: edges say what matters of time, and drawings put it below those that it reads from.
            is_pending: transaction.status == Status::Indeterminate,
            ..super::StoryNode::default()
        }
    }
}

/// A cycle that says that a read returned an overwritten version: the path from the writer to the reader, and the step
/// from the reader back to the writer.
fn turned(
    derivation: &TransactionDerivation,
    owner: impl Fn(OperationId) -> TransactionNode,
) -> Option<(Vec<TransactionEdge>, TransactionStep)> {
    let step = overwriting(derivation)?;
    let (path, read) = match step.rule {
        TransactionRule::Overwritten { read } => (step.path.clone(), read),
        TransactionRule::ReadBefore { earlier, read } => {
            (vec![TransactionEdge::Reads(step.from, owner(earlier), earlier)], read)
        }
        _ => return None,
    };
    let at = derivation.cycle.iter().position(|edge| edge.step().is_some())?;
    let mut rest = derivation.cycle.clone();
    rest.rotate_left(at);
    rest.remove(0);
    let rule = TransactionRule::AntiDependency { read };
    Some((path, TransactionStep { rule, from: owner(read), to: step.from, path: rest, others: Vec::new() }))
}
