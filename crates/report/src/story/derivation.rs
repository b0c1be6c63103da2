//! Stories of violations of memory models: cycles, lemmas, cases of chosen sources.

use std::collections::HashMap;

use certificate::{Because, Case, Choice, Derivation, Edge, Evidence, Node, Rule, Step};
use history::execution::EventId;
use history::performed::Performed;
use history::{Execution, History, OperationId};

use super::{Draft, DraftEdge, Kind, Writer};
use crate::c11;
use crate::outline::Outline;
use crate::text::Line;
use crate::words::{constraint, lemma_heading, performed_in_order};

/// Where the parts of the story began that the lemmas of a refutation count from.
type First = usize;

impl Writer<'_> {
    /// Writes the parts of a violation.
    pub(super) fn violation(&mut self, evidence: &Evidence) {
        match evidence {
            Evidence::ThinAir(read) => {
                let title = self.teller.thin_air(*read);
                self.parts.push(Draft { title, core: vec![Node::Operation(*read)], ..Draft::default() });
            }
            Evidence::Cycle(derivation) => {
                let part = self.derivation(derivation, self.parts.len());
                self.parts.push(part);
            }
            Evidence::Refutation(lemmas) => {
                let first = self.parts.len();
                for lemma in lemmas {
                    let part = self.derivation(lemma, first);
                    self.parts.push(part);
                }
            }
            Evidence::Constraints(cycle) => {
                let part = self.constraints(cycle);
                self.parts.push(part);
            }
            Evidence::Core(core) => {
                let part = self.core(core);
                self.parts.push(part);
            }
            Evidence::Cases(cases) => self.cases(cases),
            Evidence::DecideAgain => {
                self.parts.push(Draft { title: c11::no_order(), ..Draft::default() });
            }
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
                    let uses = cases.iter().filter_map(|&case| ends.get(case as usize).copied()).collect();
                    let title = Line::default()
                        .plain("no source is left for ")
                        .append(self.teller.long(Node::Operation(*read)))
                        .plain(if cases.is_empty() {
                            ": its own thread overwrote each, or wrote it later"
                        } else {
                            ""
                        });
                    self.parts.push(Draft { title, uses, core: vec![Node::Operation(*read)], ..Draft::default() });
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
        let read = self.teller.long(Node::Operation(choice.read));
        read.plain(" reads from ").append(self.teller.long(choice.source))
    }

    /// A cycle, and the steps that it needs. `first` is the number of the part that is lemma zero.
    fn derivation(&mut self, derivation: &Derivation, first: First) -> Draft {
        let outline = if c11::speaks_of(self.model) && !derivation.steps.is_empty() {
            Outline { steps: derivation.steps.clone(), cycle: derivation.cycle.clone() }
        } else {
            Outline::new(self.history, self.model, derivation)
        };
        let mut draft = Draft::default();
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
                let edge = self.step(&mut draft, told, &written, first);
                written.insert(step, edge);
            } else {
                left.push((step, true));
                left.extend(derived(&told.path).into_iter().rev().map(|step| (step, false)));
            }
        }
        draft.circle = self.path(&mut draft, &outline.cycle, &written);
        self.turn_to_the_read(&mut draft);
        draft.supposes = outline
            .steps
            .iter()
            .filter(|step| step.rule == Rule::Assumed)
            .map(|step| self.comes_before(step.from, step.to))
            .collect();
        draft.title = if draft.supposes.is_empty() && first == self.parts.len() {
            let told = self.teller.c11(self.model, derivation);
            let told = told.unwrap_or_else(|| self.teller.cycle(self.model, derivation));
            told.into_iter().next().unwrap_or_default()
        } else {
            lemma_heading(draft.supposes.is_empty())
        };
        draft
    }

    fn comes_before(&self, from: Node, to: Node) -> Line {
        self.teller.long(from).plain(" comes before ").append(self.teller.long(to))
    }

    /// The edges of a path.
    fn path(&mut self, draft: &mut Draft, path: &[Edge], written: &HashMap<u32, usize>) -> Vec<usize> {
        path.iter()
            .map(|&edge| match edge {
                Edge::Po(from, to) => self.program_order(draft, from, to),
                Edge::Rf(from, to) => self.reads_from(draft, from, to),
                Edge::Sw { release, write, read, acquire } => self.synchronises(draft, release, write, read, acquire),
                Edge::Derived(step) => written[&step],
            })
            .collect()
    }

    fn program_order(&self, draft: &mut Draft, from: Node, to: Node) -> usize {
        let teller = &self.teller;
        let (kind, sentence) = match (from, to) {
            (Node::Operation(_), Node::Operation(id)) => {
                let thread = teller.thread(self.history.operation(id).process);
                let line = teller.long(from).plain(" comes before ").append(teller.long(to));
                (Kind::ProgramOrder, line.plain(format!(" in {thread}")))
            }
            _ => (Kind::Initial, teller.long(from).plain(" comes before every operation")),
        };
        draft.add(DraftEdge::basic(kind, from, to, sentence))
    }

    fn reads_from(&self, draft: &mut Draft, from: Node, to: Node) -> usize {
        let sentence = self.teller.long(to).plain(" reads from ").append(self.teller.long(from));
        draft.add(DraftEdge::basic(Kind::ReadsFrom, from, to, sentence))
    }

    /// Reads-from, through read-modify-writes that read from each other if the end does not read from the beginning.
    fn reads_through(&mut self, draft: &mut Draft, from: Node, to: Node) -> Vec<usize> {
        let chain = self.chain(from, to).unwrap_or_else(|| vec![from, to]);
        chain.windows(2).map(|pair| self.reads_from(draft, pair[0], pair[1])).collect()
    }

    fn synchronises(&mut self, draft: &mut Draft, release: Node, write: Node, read: Node, acquire: Node) -> usize {
        let mut premises = Vec::new();
        if release != write {
            premises.push(self.program_order(draft, release, write));
        }
        premises.extend(self.reads_through(draft, write, read));
        if read != acquire {
            premises.push(self.program_order(draft, read, acquire));
        }
        let through = self.teller.synchronisation(release, write, read, acquire);
        let sentence = self.teller.long(acquire).plain(format!(" {through}"));
        draft.add(DraftEdge::derived(Kind::Synchronises, release, acquire, sentence, premises))
    }

    /// Writes a derived edge, whose premises are written.
    fn step(&mut self, draft: &mut Draft, step: &Step, written: &HashMap<u32, usize>, first: First) -> usize {
        let (from, to) = (step.from, step.to);
        let mut refuted_by = None;
        let mut premises = self.path(draft, &step.path, written);
        let mut to_read = Vec::new();
        let teller = |writer: &Self, node| writer.teller.long(node);
        let so = |line: Line, writer: &Self| {
            line.plain(", so ")
                .append(writer.teller.short(from))
                .plain(" comes before ")
                .append(writer.teller.short(to))
        };
        let (kind, sentence) = match step.rule {
            Rule::Conflict { read, view } => {
                to_read.clone_from(&premises);
                premises.push(self.reads_from(draft, to, read));
                let whom = match view {
                    Some(process) => format!(", as {} sees it", self.teller.thread(process)),
                    None => String::new(),
                };
                let line = teller(self, read)
                    .plain(" reads from ")
                    .append(teller(self, to))
                    .plain(" and comes after ")
                    .append(teller(self, from))
                    .plain(whom);
                (Kind::Conflict, so(line, self))
            }
            Rule::StoreOrder => {
                let line = teller(self, from)
                    .plain(" happens before ")
                    .append(teller(self, to))
                    .plain(", and both write the same location, so they are stored in this order");
                (Kind::StoreOrder, line)
            }
            Rule::ReadWrite => {
                let source = step.path.first().map_or(from, |&edge| ends(draft, edge, written).0);
                premises.push(self.reads_from(draft, source, from));
                let line = teller(self, from).plain(" reads ").append(teller(self, source)).plain(", which ");
                (Kind::ReadWrite, so(line.append(teller(self, to)).plain(" overwrites"), self))
            }
            Rule::Coherence { before, after } => {
                let mut line = Line::default();
                if after != to {
                    to_read.extend((before != from).then(|| self.reads_from(draft, from, before)));
                    to_read.extend_from_slice(&premises);
                }
                if before == from {
                    line = line.append(teller(self, before)).plain(" ");
                } else {
                    premises.push(self.reads_from(draft, from, before));
                    line = line.append(teller(self, before)).plain(" reads from ");
                    line = line.append(teller(self, from)).plain(" and ");
                }
                line = line.plain("happens before ").append(teller(self, after));
                if after != to {
                    premises.push(self.reads_from(draft, to, after));
                    line = line.plain(", which reads from ").append(teller(self, to));
                }
                (Kind::Coherence, so(line, self))
            }
            Rule::Atomicity => {
                let line = self.chained(draft, step, written, &mut premises);
                (Kind::Atomicity, so(line, self))
            }
            Rule::Assumed => (Kind::Supposed, self.comes_before(from, to).plain(", as supposed")),
            Rule::Lemma(lemma) => {
                let part = first + lemma as usize;
                refuted_by = Some(part);
                let given = if premises.is_empty() { "" } else { ", given what came before," };
                let line =
                    self.comes_before(from, to).plain(format!(": part {}{given} refutes the opposite", part + 1));
                (Kind::Refuted, line)
            }
        };
        draft.add(DraftEdge { refuted_by, to_read, ..DraftEdge::derived(kind, from, to, sentence, premises) })
    }

    /// A circle in which a write comes before another, although it comes after it, says that a read returned a value
    /// that was overwritten. It is told from the read: the read comes before the write that overwrote what it read, and
    /// after that write, along the edges that show it. So initial values are not on the circle.
    fn turn_to_the_read(&self, draft: &mut Draft) {
        let mut derived = draft.circle.iter().filter(|&&edge| !draft.edges[edge].kind.is_basic());
        let (Some(&edge), None) = (derived.next(), derived.next()) else { return };
        let DraftEdge { from: write, to: source, ref to_read, .. } = draft.edges[edge];
        let Some(read) = to_read.last().map(|&last| draft.edges[last].to) else { return };
        let mut circle = to_read.clone();
        let mut premises: Vec<usize> = draft.circle.iter().copied().filter(|&other| other != edge).collect();
        premises.push(self.reads_from(draft, source, read));
        let sentence = self
            .teller
            .long(read)
            .plain(" reads ")
            .append(self.teller.long(source))
            .plain(", which ")
            .append(self.teller.long(write))
            .plain(" overwrites, so ")
            .append(self.teller.short(read))
            .plain(" comes before ")
            .append(self.teller.short(write));
        circle.push(draft.add(DraftEdge::derived(Kind::ReadWrite, read, write, sentence, premises)));
        // It begins at the operation that comes first.
        let first = (0..circle.len()).min_by_key(|&at| draft.edges[circle[at]].from).unwrap_or(0);
        circle.rotate_left(first);
        draft.circle = circle;
        draft.prune();
    }

    /// The sentence and the premises of atomicity: the chains that the ends of the edge and of its premise are in.
    fn chained(
        &mut self,
        draft: &mut Draft,
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
        let line = self.teller.long(from).plain(" comes before ").append(self.teller.long(to));
        line.plain(", and read-modify-writes that replace each other's writes stand together")
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

    /// A circle of program order and of the order of performance.
    fn constraints(&self, cycle: &[OperationId]) -> Draft {
        let mut draft = Draft::default();
        let performed = Performed::from_history(self.history).unwrap_or_default();
        let nexts = cycle.iter().cycle().skip(1);
        for (&one, &other) in cycle.iter().zip(nexts) {
            let (from, to) = (Node::Operation(one), Node::Operation(other));
            let edge = if performed_in_order(&performed, one, other) {
                self.program_order(&mut draft, from, to)
            } else {
                let sentence = self
                    .teller
                    .long(to)
                    .plain(" was performed after ")
                    .append(self.teller.long(from))
                    .plain(", on the same location: ")
                    .plain(constraint(&performed, one, other));
                draft.add(DraftEdge::basic(Kind::Performed, from, to, sentence))
            };
            draft.circle.push(edge);
        }
        draft.title = self.teller.constraints(cycle).into_iter().next().unwrap_or_default();
        draft
    }
}

/// Both ends of an edge, whose step is written if it is derived.
fn ends(draft: &Draft, edge: Edge, written: &HashMap<u32, usize>) -> (Node, Node) {
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
