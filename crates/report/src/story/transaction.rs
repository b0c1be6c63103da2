//! Stories of violations of isolation levels. A node is a transaction with its operations, or the initial state.
//!
//! The sentences are those of [`crate::transaction`]. A cycle that says that a read returned an overwritten version is
//! told from the read, as its name is: what leads from the writer to the reader, and the anti-dependency back.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use certificate::transaction::{Anomaly, Derivation, Edge, Evidence, Node, Rule, Step};
use history::format::render_action;
use history::{History, KeyId, Method, Operation, OperationId, Outcome, Source, Status, TransactionId, Value, visible};

use super::Kind;
use crate::text::Line;
use crate::transaction::{Teller, overwriting};
use crate::words::lemma_heading;

/// How many operations of a node are shown at most.
const OPERATIONS: usize = 12;

/// Writes the nodes and the parts of a violation. The history is one of transactions, and the heading is written.
pub(super) fn write(history: &History, evidence: &Evidence, story: &mut super::Story) {
    let writer = Writer { history, teller: Teller { history } };
    let mut parts: Vec<Draft> = match evidence {
        Evidence::CommitOrder(_) | Evidence::EventOrder(_) => return,
        Evidence::Bad(bad) => {
            let mut draft = Draft::default();
            let reader = writer.owner(bad.read);
            draft.core.push(reader);
            if let Some(other) = bad.other {
                let writes = writer.owner(other);
                draft.core.push(writes);
                if matches!(bad.anomaly, Anomaly::G1a | Anomaly::G1b) {
                    writer.basic(&mut draft, Edge::Reads(writes, reader, bad.read));
                }
            }
            draft.keys.extend([Some(bad.read), bad.other].into_iter().flatten().map(|id| history.operation(id).key));
            vec![draft]
        }
        Evidence::Unrepeatable(reads) => vec![writer.unrepeatable(*reads)],
        Evidence::LostUpdate(reads) => vec![writer.lost_update(*reads)],
        Evidence::Cycle(derivation) => vec![writer.derivation(derivation)],
        Evidence::Refutation(lemmas) => lemmas.iter().map(|lemma| writer.derivation(lemma)).collect(),
    };
    if let [only] = &mut parts[..] {
        only.title = story.heading.clone();
    }
    writer.finish(parts, story);
}

/// A part whose nodes have no numbers yet.
#[derive(Default)]
struct Draft {
    title: Line,
    supposes: Vec<Line>,
    edges: Vec<DraftEdge>,
    /// The numbers of the basic edges.
    basic: HashMap<(Node, Node, &'static str), usize>,
    circle: Vec<usize>,
    core: Vec<Node>,
    /// The keys that the edges are about.
    keys: BTreeSet<KeyId>,
    /// Of which of them the initial version matters.
    initial: BTreeSet<KeyId>,
}

struct DraftEdge {
    from: Node,
    to: Node,
    kind: Kind,
    sentence: Line,
    premises: Vec<usize>,
    refuted_by: Option<usize>,
}

impl Draft {
    fn add(&mut self, edge: DraftEdge) -> usize {
        self.edges.push(edge);
        self.edges.len() - 1
    }
}

struct Writer<'a> {
    history: &'a History,
    teller: Teller<'a>,
}

impl Writer<'_> {
    /// The transaction of an operation.
    fn owner(&self, id: OperationId) -> Node {
        Node::Transaction(self.history.transaction_of(id))
    }

    /// The transaction whose version a read returns, if exactly one can have made it.
    fn source(&self, read: OperationId) -> Option<Node> {
        match self.history.source(read) {
            Some(Source::Init) => return Some(Node::Init),
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
            let mut owners: Vec<Node> = all.map(|(id, _)| self.owner(OperationId(id as u32))).collect();
            owners.retain(|&owner| owner != Node::Transaction(reader));
            owners.dedup();
            match owners[..] {
                [] => {}
                [one] => return Some(one),
                _ => return None,
            }
        }
        Some(Node::Init)
    }

    /// Two reads of one transaction, and the transactions that they read from.
    fn unrepeatable(&self, reads: [OperationId; 2]) -> Draft {
        let mut draft = Draft { core: vec![self.owner(reads[0])], ..Draft::default() };
        for read in reads {
            draft.keys.insert(self.history.operation(read).key);
            if let Some(source) = self.source(read) {
                self.basic(&mut draft, Edge::Reads(source, self.owner(read), read));
            }
        }
        draft
    }

    /// Two transactions that read one version and both overwrite it: each comes before the other.
    fn lost_update(&self, reads: [OperationId; 2]) -> Draft {
        let [one, other] = reads.map(|read| self.owner(read));
        let mut draft = Draft { core: vec![one, other], ..Draft::default() };
        draft.keys.insert(self.history.operation(reads[0]).key);
        let Some(source) = self.source(reads[0]) else { return draft };
        let path = [Edge::Reads(source, one, reads[0]), Edge::Reads(source, other, reads[1])];
        for (from, to, read, overwritten) in [(one, other, reads[0], path[1]), (other, one, reads[1], path[0])] {
            let rule = Rule::AntiDependency { read };
            let step = Step { rule, from, to, path: vec![overwritten], others: Vec::new() };
            let edge = self.step(&mut draft, &step, &HashMap::new());
            draft.circle.push(edge);
        }
        draft
    }

    /// A cycle, and the steps that it needs.
    fn derivation(&self, derivation: &Derivation) -> Draft {
        let mut draft = Draft::default();
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
        let assumed = derivation.steps.iter().filter(|step| step.rule == Rule::Assumed);
        let supposed = |step: &Step| format!("{} < {}", Teller::name(step.from), Teller::name(step.to));
        draft.supposes = assumed.map(|step| Line::default().plain(supposed(step))).collect();
        draft.title = lemma_heading(draft.supposes.is_empty());
        draft
    }

    fn path(&self, draft: &mut Draft, path: &[Edge], written: &HashMap<u32, usize>) -> Vec<usize> {
        path.iter()
            .map(|&edge| match edge {
                Edge::Derived(step) => written[&step],
                _ => self.basic(draft, edge),
            })
            .collect()
    }

    /// An edge that the history says. If it is there already, it is not added again.
    fn basic(&self, draft: &mut Draft, edge: Edge) -> usize {
        let derivation = Derivation::default();
        let (kind, (from, to)) = match edge {
            Edge::Session(Node::Init, to) => (Kind::Initial, (Node::Init, to)),
            Edge::Session(from, to) => (Kind::Session, (from, to)),
            Edge::RealTime(from, to) => (Kind::Ended, (from, to)),
            Edge::Version(from, to, key) => {
                draft.keys.insert(key);
                (Kind::Version, (from, to))
            }
            Edge::Reads(from, to, read) => {
                let key = self.history.operation(read).key;
                draft.keys.insert(key);
                if from == Node::Init {
                    draft.initial.insert(key);
                }
                (Kind::WriteRead, (from, to))
            }
            // Steps are written before the edges that are they.
            Edge::Derived(step) => return step as usize,
        };
        if let Some(&number) = draft.basic.get(&(from, to, kind.label())) {
            return number;
        }
        let sentence = self.teller.edge(&derivation, edge);
        let number = draft.add(DraftEdge { from, to, kind, sentence, premises: Vec::new(), refuted_by: None });
        draft.basic.insert((from, to, kind.label()), number);
        number
    }

    /// Writes a derived edge, whose premises are written.
    fn step(&self, draft: &mut Draft, step: &Step, written: &HashMap<u32, usize>) -> usize {
        let mut premises = self.path(draft, &step.path, written);
        let mut refuted_by = None;
        let kind = match step.rule {
            Rule::Overwritten { read } => {
                premises.push(self.basic(draft, Edge::Reads(step.to, self.owner(read), read)));
                Kind::VersionOrder
            }
            Rule::ReadBefore { earlier, read } => {
                premises.push(self.basic(draft, Edge::Reads(step.from, self.owner(earlier), earlier)));
                premises.push(self.basic(draft, Edge::Reads(step.to, self.owner(read), read)));
                Kind::VersionOrder
            }
            Rule::AntiDependency { read } => {
                // Without a path, the version is the initial one, which everything overwrites.
                let source = premises.first().map_or(Node::Init, |&first| draft.edges[first].from);
                premises.insert(0, self.basic(draft, Edge::Reads(source, self.owner(read), read)));
                Kind::AntiDependency
            }
            Rule::Conflict { key } => {
                draft.keys.insert(key);
                Kind::VersionOrder
            }
            Rule::Assumed => Kind::Supposed,
            Rule::Lemma(lemma) => {
                for other in &step.others {
                    premises.extend(self.path(draft, other, written));
                }
                refuted_by = Some(lemma as usize);
                Kind::Refuted
            }
        };
        premises.sort_unstable();
        premises.dedup();
        let sentence = self.teller.step(step);
        draft.add(DraftEdge { from: step.from, to: step.to, kind, sentence, premises, refuted_by })
    }

    /// Numbers the nodes.
    fn finish(&self, parts: Vec<Draft>, story: &mut super::Story) {
        let named = |draft: &Draft| {
            let ends = draft.edges.iter().flat_map(|edge| [edge.from, edge.to]);
            ends.chain(draft.core.iter().copied()).collect::<Vec<Node>>()
        };
        let nodes: BTreeSet<Node> = parts.iter().flat_map(named).collect();
        let numbers: BTreeMap<Node, usize> = nodes.iter().enumerate().map(|(number, &node)| (node, number)).collect();
        let keys: BTreeSet<KeyId> = parts.iter().flat_map(|draft| draft.keys.iter().copied()).collect();
        let initial: BTreeSet<KeyId> = parts.iter().flat_map(|draft| draft.initial.iter().copied()).collect();
        let sessions: BTreeSet<history::ProcessId> =
            nodes.iter().filter_map(|node| Some(self.history.transaction(node.transaction()?).session)).collect();
        let sessions: Vec<history::ProcessId> = sessions.into_iter().collect();
        story.threads = sessions.iter().map(|&id| visible(&self.history.process_name(id)).into_owned()).collect();
        let node = |node: &Node| match node {
            Node::Init => self.initial(&initial),
            Node::Transaction(id) => {
                let session = self.history.transaction(*id).session;
                self.node(*id, sessions.binary_search(&session).ok(), &keys)
            }
        };
        story.nodes = nodes.iter().map(node).collect();
        for draft in parts {
            let edges = draft.edges.into_iter().map(|edge| super::Edge {
                from: numbers[&edge.from],
                to: numbers[&edge.to],
                kind: edge.kind,
                label: edge.kind.label(),
                sentence: edge.sentence,
                premises: edge.premises,
                refuted_by: edge.refuted_by,
            });
            let edges: Vec<super::Edge> = edges.collect();
            let mut core: Vec<usize> = draft.core.iter().map(|node| numbers[node]).collect();
            core.extend(draft.circle.iter().flat_map(|&edge| [edges[edge].from, edges[edge].to]));
            core.sort_unstable();
            core.dedup();
            let Draft { title, supposes, circle, .. } = draft;
            story.parts.push(super::Part { title, supposes, edges, circle, core, ..super::Part::default() });
        }
    }

    /// The initial state, as far as it matters.
    fn initial(&self, keys: &BTreeSet<KeyId>) -> super::Node {
        let value = |&key: &KeyId| {
            let is_list = |operation: &Operation| operation.key == key && operation.result.as_list().is_some();
            let initial = match self.history.initial_value(key) {
                _ if self.history.operations().iter().any(is_list) => "[]".to_owned(),
                Value::NULL | Value::BLANK => "nothing".to_owned(),
                value => self.history.show(value),
            };
            visible(&format!("{} = {initial}", self.history.key_name(key))).into_owned()
        };
        let values: Vec<String> = keys.iter().map(value).collect();
        let name = Teller::name(Node::Init);
        super::Node {
            operations: Vec::new(),
            thread: None,
            place: String::new(),
            line: None,
            action: if values.is_empty() { name.clone() } else { values.join(", ") },
            text: name,
            key: String::new(),
            value: None,
            call: None,
            ret: None,
            is_pending: false,
        }
    }

    /// A transaction, with its operations on these keys; with all, if none is.
    fn node(&self, id: TransactionId, thread: Option<usize>, keys: &BTreeSet<KeyId>) -> super::Node {
        let transaction = self.history.transaction(id);
        let all = || self.history.operation_range(id).map(OperationId);
        let mut operations: Vec<OperationId> =
            all().filter(|&id| keys.contains(&self.history.operation(id).key)).collect();
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
        let name = Teller::name(Node::Transaction(id));
        let line = Some(transaction.line).filter(|&line| line > 0);
        let session = visible(&self.history.process_name(transaction.session)).into_owned();
        super::Node {
            operations,
            thread,
            place: line.map_or_else(|| name.clone(), |line| format!("{name}, line {line}")),
            line,
            text: format!("{name} [{session}] {action}"),
            action,
            key: String::new(),
            value: None,
            // Edges say what matters of time, and the drawing puts a transaction below those that it reads from.
            call: None,
            ret: None,
            is_pending: transaction.status == Status::Indeterminate,
        }
    }
}

/// A cycle that says that a read returned an overwritten version: the path from the writer to the reader, and the step
/// from the reader back to the writer.
fn turned(derivation: &Derivation, owner: impl Fn(OperationId) -> Node) -> Option<(Vec<Edge>, Step)> {
    let step = overwriting(derivation)?;
    let (path, read) = match step.rule {
        Rule::Overwritten { read } => (step.path.clone(), read),
        Rule::ReadBefore { earlier, read } => (vec![Edge::Reads(step.from, owner(earlier), earlier)], read),
        _ => return None,
    };
    let at = derivation.cycle.iter().position(|edge| edge.step().is_some())?;
    let mut rest = derivation.cycle.clone();
    rest.rotate_left(at);
    rest.remove(0);
    let rule = Rule::AntiDependency { read };
    Some((path, Step { rule, from: owner(read), to: step.from, path: rest, others: Vec::new() }))
}
