//! Stories of violations of memory models: circles, lemmas, cases of chosen sources.
//!
//! A circle that says that a read returned what had been overwritten is told from the read: the write that overwrote
//! the value, what leads from it to the read, and the edge back. So initial values are not on such a circle.

use std::collections::HashMap;

use format::render_action;
use history::execution::EventId;
use history::performed::Performed;
use history::{Execution, History, KeyId, OperationId, Outcome, ProcessId};
use model::{Because, Case, Choice, Derivation, Edge, Evidence, Model, Node, Rule, Step};

use super::draft::{self, Draft, DraftEdge};
use super::names::Names;
use super::outline::Outline;
use super::{EdgeKind, Story, title};
use crate::text::{self, Line};

/// Writes the parts of a violation of a memory model or of an object.
pub(super) struct StoryWriter<'a> {
    pub(super) names: Names<'a>,
    pub(super) history: &'a History,
    pub(super) model: Model,
    /// The source of each read, if the history says them all; made when the first edge needs it.
    sources: Option<HashMap<OperationId, Node>>,
    /// The view that the steps of the last derivation hold in.
    pub(super) view: Option<ProcessId>,
    parts: Vec<Draft<Node>>,
}

impl<'a> StoryWriter<'a> {
    pub(super) fn new(history: &'a History, model: Model) -> Self {
        Self { names: Names { history }, history, model, sources: None, view: None, parts: Vec::new() }
    }

    /// Writes the story of a violation: its heading, its nodes and its parts.
    pub(super) fn write(mut self, evidence: &Evidence, story: &mut Story) {
        self.violation(evidence);
        story.heading = match evidence {
            Evidence::Refutation(_) => self.no_order_of_writes(),
            // If one part says it all, no choice was made.
            Evidence::Cases(_) if self.parts.len() > 1 => Line::heading("no choice of sources explains all reads: ")
                .plain(
                    "some values were written twice, and whichever writes the reads are from, a contradiction follows",
                ),
            _ => self.parts.last().map(|part| part.title.clone()).unwrap_or_default(),
        };
        let parts = std::mem::take(&mut self.parts);
        let process = |node| match node {
            Node::Init(_) => None,
            Node::Operation(id) => Some(self.history.operation(id).process),
        };
        draft::finish(story, parts, self.history, process, |node, thread| self.node(node, thread));
    }

    fn violation(&mut self, evidence: &Evidence) {
        match evidence {
            Evidence::ThinAir(read) => {
                self.parts.push(Draft::new(self.thin_air(*read), vec![Node::Operation(*read)]));
            }
            Evidence::Cycle(derivation) => {
                let part = self.derivation(derivation, None);
                self.parts.push(part);
            }
            Evidence::Refutation(lemmas) => {
                let first = self.parts.len();
                for lemma in lemmas {
                    let part = self.derivation(lemma, Some(first));
                    self.parts.push(part);
                }
            }
            Evidence::Constraints(cycle) => self.parts.push(self.constraints(cycle)),
            Evidence::Core(core) => self.parts.push(self.core(core)),
            Evidence::Cases(cases) => self.cases(cases),
            Evidence::DecideAgain => self.parts.push(Draft::new(title::of_search(), Vec::new())),
            Evidence::Interleaving(_)
            | Evidence::MemoryOrder(_)
            | Evidence::WriteOrder(_)
            | Evidence::ViewOrders(_)
            | Evidence::ModificationOrders(_)
            | Evidence::Linearizations(_)
            | Evidence::Pairs(_)
            | Evidence::Sources(..)
            // Violations of transactions have a writer of their own.
            | Evidence::Transactions(_) => {}
        }
    }

    /// Each case is a part. A case that is a violation by itself has parts before it, if a search found it.
    fn cases(&mut self, cases: &[Case]) {
        // The number of the last part of each case.
        let mut ends: Vec<usize> = Vec::with_capacity(cases.len());
        for case in cases {
            match &case.because {
                Because::Violation(evidence) => self.violation(evidence),
                Because::NoneLeft { read, cases } => {
                    let why = if cases.is_empty() { ": its own thread overwrote each, or wrote it later" } else { "" };
                    let title = Line::default().plain("no source is left for ");
                    let title = title.append(self.names.operation(*read)).plain(why);
                    let mut part = Draft::new(title, vec![Node::Operation(*read)]);
                    part.uses = cases.iter().filter_map(|&case| ends.get(case as usize).copied()).collect();
                    self.parts.push(part);
                }
            }
            let supposes: Vec<Line> = case.choices.iter().map(|choice| self.chosen(choice)).collect();
            if let Some(part) = self.parts.last_mut() {
                part.supposes.extend(supposes);
            }
            ends.push(self.parts.len().saturating_sub(1));
        }
    }

    /// `line 3 [1] r x 1 reads from line 1 [0] w x 1`.
    pub(super) fn chosen(&self, choice: &Choice) -> Line {
        self.names.operation(choice.read).plain(" reads from ").append(self.names.long(choice.source))
    }

    /// A cycle, and the steps that it needs. `lemmas` is the number of the part that is lemma zero; none if the cycle
    /// is no lemma.
    fn derivation(&mut self, derivation: &Derivation, lemmas: Option<usize>) -> Draft<Node> {
        let outline = Outline::new(self.history, self.model, derivation);
        self.view = None;
        let mut draft = Draft::new(Line::default(), Vec::new());
        // The edge of each step, once it is written.
        let mut written: HashMap<u32, usize> = HashMap::new();
        let derived = |path: &[Edge]| {
            let steps = path.iter().filter_map(|edge| if let Edge::Derived(step) = edge { Some(*step) } else { None });
            steps.collect::<Vec<u32>>()
        };
        // A step is written after those that it uses. Derivations are deep, so the stack is our own.
        let mut left: Vec<(u32, bool)> = derived(&outline.cycle).into_iter().rev().map(|step| (step, false)).collect();
        while let Some((step, is_ready)) = left.pop() {
            if written.contains_key(&step) {
                continue;
            }
            let told = &outline.steps[step as usize];
            if is_ready {
                let edge = self.step(&mut draft, told, &written, lemmas.unwrap_or(0));
                written.insert(step, edge);
            } else {
                left.push((step, true));
                left.extend(derived(&told.path).into_iter().rev().map(|step| (step, false)));
            }
        }
        draft.circle = self.path(&mut draft, &outline.cycle, &written);
        let supposed = outline.steps.iter().filter(|step| step.rule == Rule::Assumed);
        draft.supposes = supposed.map(|step| self.comes_before(step.from, step.to)).collect();
        let axioms = self.axioms(&draft);
        self.turn_to_the_read(&mut draft);
        draft.chain = overwritten(&draft);
        draft.title = match self.title(&draft, axioms) {
            _ if lemmas.is_some() && draft.chain.is_empty() => title::of_lemma(&draft.supposes),
            title => title,
        };
        draft
    }

    fn comes_before(&self, from: Node, to: Node) -> Line {
        self.names.long(from).plain(" comes before ").append(self.names.long(to))
    }

    /// The edges of a path.
    fn path(&mut self, draft: &mut Draft<Node>, path: &[Edge], written: &HashMap<u32, usize>) -> Vec<usize> {
        path.iter()
            .map(|&edge| match edge {
                Edge::Po(from, to) => self.program_order(draft, from, to),
                Edge::Rf(from, to) => self.reads_from(draft, from, to),
                Edge::Sw { release, write, read, acquire } => self.synchronises(draft, release, write, read, acquire),
                Edge::Derived(step) => written[&step],
            })
            .collect()
    }

    fn program_order(&self, draft: &mut Draft<Node>, from: Node, to: Node) -> usize {
        let edge = if let (Node::Operation(_), Node::Operation(id)) = (from, to) {
            let thread = self.names.thread(self.history.operation(id).process);
            let sentence = self.comes_before(from, to).plain(format!(" in {thread}"));
            DraftEdge::basic(EdgeKind::ProgramOrder, from, to, sentence, format!("later in {thread}"))
        } else {
            let sentence = self.names.long(from).plain(" comes before every operation");
            DraftEdge::basic(EdgeKind::Initial, from, to, sentence, "the initial value comes first")
        };
        draft.add(edge)
    }

    fn reads_from(&self, draft: &mut Draft<Node>, from: Node, to: Node) -> usize {
        let sentence = self.names.long(to).plain(" reads from ").append(self.names.long(from));
        let reason = match from {
            Node::Init(_) => "reads it".to_owned(),
            Node::Operation(id) => format!("reads from {}", self.history.place(id)),
        };
        draft.add(DraftEdge::basic(EdgeKind::ReadsFrom, from, to, sentence, reason))
    }

    /// Reads-from, through read-modify-writes that read from each other if the end does not read from the beginning.
    fn reads_through(&mut self, draft: &mut Draft<Node>, from: Node, to: Node) -> Vec<usize> {
        let chain = self.chain(from, to).unwrap_or_else(|| vec![from, to]);
        chain.windows(2).map(|pair| self.reads_from(draft, pair[0], pair[1])).collect()
    }

    /// `acquires line 3`, and through which write and read, if these are other operations.
    fn synchronises(
        &mut self,
        draft: &mut Draft<Node>,
        release: Node,
        write: Node,
        read: Node,
        acquire: Node,
    ) -> usize {
        let mut premises = Vec::new();
        let mut through = Vec::new();
        if release != write {
            premises.push(self.program_order(draft, release, write));
            through.push(format!("the write of {}", self.names.short(write)));
        }
        premises.extend(self.reads_through(draft, write, read));
        if read != acquire {
            premises.push(self.program_order(draft, read, acquire));
            through.push(format!("the read of {}", self.names.short(read)));
        }
        let through = if through.is_empty() { String::new() } else { format!(", through {}", through.join(" and ")) };
        let reason = format!("acquires {}{through}", self.names.short(release));
        let sentence = self.names.long(acquire).plain(format!(" {reason}"));
        let edge = DraftEdge::new(EdgeKind::Synchronises, release, acquire, sentence, premises);
        draft.add(DraftEdge { reason, ..edge })
    }

    /// Writes a derived edge, whose premises are written.
    fn step(&mut self, draft: &mut Draft<Node>, step: &Step, written: &HashMap<u32, usize>, lemmas: usize) -> usize {
        let (from, to, names) = (step.from, step.to, self.names);
        let mut premises = self.path(draft, &step.path, written);
        let mut refuted_by = None;
        let long = |node| names.long(node);
        let so = |line: Line| line.plain(", so ").append(names.short(from)).plain(" comes before ");
        let (kind, sentence) = match step.rule {
            Rule::Conflict { read, view } => {
                premises.push(self.reads_from(draft, to, read));
                let line = long(read).plain(" reads from ").append(long(to)).plain(" and comes after ");
                let line = line.append(long(from)).plain(self.whence(step, view));
                (EdgeKind::Conflict, so(line).append(names.short(to)))
            }
            Rule::StoreOrder => {
                let line = long(from).plain(" happens before ").append(long(to));
                let line = line.plain(", and both write the same location, so they are stored in this order");
                (EdgeKind::StoreOrder, line)
            }
            Rule::ReadWrite => {
                let source = step.path.first().map_or(from, |&edge| ends(draft, edge, written).0);
                premises.push(self.reads_from(draft, source, from));
                (EdgeKind::ReadWrite, self.overwrites(from, source, to))
            }
            Rule::Coherence { before, after } => {
                let mut line = long(before).plain(" ");
                if before != from {
                    premises.insert(0, self.reads_from(draft, from, before));
                    line = line.plain("reads from ").append(long(from)).plain(" and ");
                }
                line = line.plain("happens before ").append(long(after)).plain(self.in_thread(step));
                if after != to {
                    premises.push(self.reads_from(draft, to, after));
                    line = line.plain(", which reads from ").append(long(to));
                }
                (EdgeKind::Coherence, so(line).append(names.short(to)))
            }
            Rule::Atomicity => {
                let line = self.chained(draft, step, written, &mut premises);
                (EdgeKind::Atomicity, so(line).append(names.short(to)))
            }
            Rule::Assumed => {
                let sentence = self.comes_before(from, to).plain(", as supposed");
                return draft.add(DraftEdge::basic(EdgeKind::Supposed, from, to, sentence, "as supposed"));
            }
            Rule::Lemma(lemma) => {
                let part = lemmas + lemma as usize;
                refuted_by = Some(part);
                let given = if premises.is_empty() { "" } else { ", given what came before," };
                let line =
                    self.comes_before(from, to).plain(format!(": part {}{given} refutes the opposite", part + 1));
                (EdgeKind::Refuted, line)
            }
        };
        draft.add(DraftEdge { refuted_by, ..DraftEdge::new(kind, from, to, sentence, premises) })
    }

    /// The thread in which one operation comes after another, or the thread in whose view it does. An edge without
    /// derived premises holds for all threads. Under causal memory every edge holds in the view that the title names.
    fn whence(&mut self, step: &Step, view: Option<ProcessId>) -> String {
        self.view = self.view.or(view);
        let is_derived = step.path.iter().any(|edge| matches!(edge, Edge::Derived(_)));
        match view.filter(|_| is_derived && self.model != Model::Cm) {
            Some(process) => format!(", as {} sees it", self.names.thread(process)),
            None => self.in_thread(step),
        }
    }

    /// ` in thread 0`, if the order of that thread is all that a step follows from.
    fn in_thread(&self, step: &Step) -> String {
        match step.path[..] {
            [Edge::Po(Node::Operation(_), Node::Operation(id))] => {
                format!(" in {}", self.names.thread(self.history.operation(id).process))
            }
            _ => String::new(),
        }
    }

    /// `A reads B, which C overwrites, so A comes before C`.
    fn overwrites(&self, read: Node, source: Node, write: Node) -> Line {
        let line = self.names.long(read).plain(" reads ").append(self.names.long(source)).plain(", which ");
        let line = line.append(self.names.long(write)).plain(" overwrites, so ");
        line.append(self.names.short(read)).plain(" comes before ").append(self.names.short(write))
    }

    /// A circle in which one write comes before another only because of a read is told from the read: the read comes
    /// before the write that overwrites what it read, and after that write, along the edges that show it. Both circles
    /// rest on the same premises.
    fn turn_to_the_read(&self, draft: &mut Draft<Node>) {
        let mut derived = (0..draft.circle.len()).filter(|&at| !draft.edges[draft.circle[at]].kind.is_basic());
        let (Some(at), None) = (derived.next(), derived.next()) else { return };
        let DraftEdge { from: write, to: source, ref premises, .. } = draft.edges[draft.circle[at]];
        // What leads from the write to the read, and the read of the other write.
        let Some((&last, path)) = premises.split_last() else { return };
        let DraftEdge { kind, from, to: read, .. } = draft.edges[last];
        if kind != EdgeKind::ReadsFrom || from != source || path.is_empty() {
            return;
        }
        let mut circle = path.to_vec();
        let mut rest = draft.circle.clone();
        rest.rotate_left(at);
        rest.remove(0);
        rest.push(last);
        let sentence = self.overwrites(read, source, write);
        circle.push(draft.add(DraftEdge::new(EdgeKind::ReadWrite, read, write, sentence, rest)));
        // It begins at the operation that comes first.
        let first = (0..circle.len()).min_by_key(|&at| draft.edges[circle[at]].from).unwrap_or(0);
        circle.rotate_left(first);
        draft.circle = circle;
        draft.prune();
    }

    /// The sentence and the premises of atomicity: the chains that the ends of the edge and of its premise are in.
    fn chained(
        &mut self,
        draft: &mut Draft<Node>,
        step: &Step,
        written: &HashMap<u32, usize>,
        premises: &mut Vec<usize>,
    ) -> Line {
        let Some(&edge) = step.path.first() else {
            return Line::default().plain("read-modify-writes that replace each other's writes stand together");
        };
        let (from, to) = ends(draft, edge, written);
        for (one, other) in [(step.from, from), (step.to, to)] {
            let chain = self.chain(one, other).or_else(|| self.chain(other, one)).unwrap_or_default();
            premises.extend(chain.windows(2).map(|pair| self.reads_from(draft, pair[0], pair[1])));
        }
        self.comes_before(from, to).plain(", and read-modify-writes that replace each other's writes stand together")
    }

    /// The chain of read-modify-writes that leads from a write to a later one, or to a read. None if there is no such
    /// chain, or if the history leaves sources open.
    fn chain(&mut self, from: Node, to: Node) -> Option<Vec<Node>> {
        let history = self.history;
        let sources = self.sources.get_or_insert_with(|| sources(history));
        let mut chain = vec![to];
        let mut last = to;
        while last != from {
            let Node::Operation(read) = last else { return None };
            last = *sources.get(&read)?;
            // A cycle of reads-from has no beginning.
            if chain.len() > sources.len() + 1 {
                return None;
            }
            chain.push(last);
        }
        chain.reverse();
        Some(chain)
    }

    /// A circle of program order and of the order of performance. It begins at the operation that comes first.
    fn constraints(&self, cycle: &[OperationId]) -> Draft<Node> {
        let title = Line::heading("performed out of order: ").plain(title::EACH);
        let mut draft = Draft::new(title, Vec::new());
        let performed = Performed::from_history(self.history).unwrap_or_default();
        let mut cycle = cycle.to_vec();
        let first = (0..cycle.len()).min_by_key(|&at| cycle[at]).unwrap_or(0);
        cycle.rotate_left(first);
        for (&one, &other) in cycle.iter().zip(cycle.iter().cycle().skip(1)) {
            let (from, to) = (Node::Operation(one), Node::Operation(other));
            let edge = if performed_in_order(&performed, one, other) {
                self.program_order(&mut draft, from, to)
            } else {
                let class = constraint(&performed, one, other);
                let sentence = self.names.long(to).plain(" was performed after ").append(self.names.long(from));
                let sentence = sentence.plain(format!(", on the same location: {class}"));
                let reason = format!("performed later on the same location ({class})");
                draft.add(DraftEdge::basic(EdgeKind::Performed, from, to, sentence, reason))
            };
            draft.circle.push(edge);
        }
        draft
    }

    fn node(&self, node: Node, thread: Option<usize>) -> super::StoryNode {
        let names = self.names;
        let id = match node {
            Node::Operation(id) => id,
            Node::Init(location) => {
                let key = KeyId(location.0);
                let value = names.value(self.history.initial_value(key));
                let name = names.key(key);
                return super::StoryNode {
                    action: if name.is_empty() { value.clone() } else { format!("{name} = {value}") },
                    text: names.initial(key),
                    key: name,
                    value: Some(value),
                    ..super::StoryNode::default()
                };
            }
        };
        let operation = self.history.operation(id);
        let moments = self.history.moments().get(id.index()).copied();
        let value = [operation.result, operation.argument].into_iter().find(|value| value.is_some());
        super::StoryNode {
            operations: vec![id],
            thread,
            place: self.history.place(id),
            line: Some(operation.line).filter(|&line| line > 0 && !operation.is_at_the_end()),
            action: history::visible(&render_action(self.history, id)).into_owned(),
            text: text::operation(self.history, id),
            key: names.key(operation.key),
            value: value.map(|value| names.value(value)),
            call: moments.map(|moments| moments[0]),
            ret: moments.map(|moments| moments[1]).filter(|&ret| ret != History::NEVER),
            is_pending: matches!(operation.outcome, Outcome::Info | Outcome::Pending),
        }
    }
}

/// If a circle says no more than that a read returned what had been overwritten: the edges that lead from the write of
/// that value over the write that overwrote it to the read. Each of them is what the history says, or synchronisation.
/// Everybody knows that an initial value comes first, so that edge is left out.
fn overwritten(draft: &Draft<Node>) -> Vec<usize> {
    let is_said = |&edge: &usize| {
        let DraftEdge { kind, reason, .. } = &draft.edges[edge];
        *kind != EdgeKind::Supposed && !reason.is_empty()
    };
    let mut derived = (0..draft.circle.len()).filter(|&at| !is_said(&draft.circle[at]));
    let (Some(at), None) = (derived.next(), derived.next()) else { return Vec::new() };
    let DraftEdge { kind, premises, .. } = &draft.edges[draft.circle[at]];
    let Some((_, to_write)) = premises.split_last().filter(|(_, path)| path.iter().all(is_said)) else {
        return Vec::new();
    };
    if *kind != EdgeKind::ReadWrite {
        return Vec::new();
    }
    let is_initial = |edge: &&usize| draft.edges[**edge].kind == EdgeKind::Initial;
    let to_read = draft.circle.iter().cycle().skip(at + 1).take(draft.circle.len() - 1);
    to_write.iter().skip_while(is_initial).chain(to_read).copied().collect()
}

/// Both ends of an edge, whose step is written if it is derived.
fn ends(draft: &Draft<Node>, edge: Edge, written: &HashMap<u32, usize>) -> (Node, Node) {
    match edge {
        Edge::Po(from, to) | Edge::Rf(from, to) | Edge::Sw { release: from, acquire: to, .. } => (from, to),
        Edge::Derived(step) => {
            let edge = &draft.edges[written[&step]];
            (edge.from, edge.to)
        }
    }
}

/// The source of each read. Empty if the history leaves sources open.
fn sources(history: &History) -> HashMap<OperationId, Node> {
    let Ok(execution) = Execution::from_history(history) else { return HashMap::new() };
    let source = |id: EventId| {
        let event = execution.event(id);
        let node = match event.source {
            EventId::INIT => Node::Init(event.location),
            source if source.is_event() => Node::Operation(execution.operation(source)),
            _ => return None,
        };
        Some((execution.operation(id), node))
    };
    execution.ids().filter_map(source).collect()
}

/// The class of an edge of the constraint graph between two operations of one location, the first performed earlier, in
/// the words of Condon and Hu (*Automatable Verification of Sequential Consistency*, 2001): a load inherits from the
/// last store; stores are in store order; a load is forced before a later store. The fourth class is program order.
fn constraint(performed: &[Performed], first: OperationId, second: OperationId) -> &'static str {
    let (Some(one), Some(other)) = (performed.get(first.index()), performed.get(second.index())) else {
        return "conflict";
    };
    let between = performed.get(first.index() + 1..second.index()).unwrap_or_default();
    let is_last = !between.iter().any(|store| store.kind.writes() && store.conflicts(one));
    match (one.kind.writes(), other.kind.reads()) {
        (true, true) if is_last => "inheritance edge",
        (true, _) if other.kind.writes() => "store order edge",
        (true, _) => "store order edges, then an inheritance edge",
        (false, _) => "forced edge",
    }
}

/// Whether both are of one thread, and the first comes first in its program order.
fn performed_in_order(performed: &[Performed], first: OperationId, second: OperationId) -> bool {
    match (performed.get(first.index()), performed.get(second.index())) {
        (Some(first), Some(second)) => first.thread == second.thread && first.index < second.index,
        _ => false,
    }
}
