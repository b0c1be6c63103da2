//! The titles of violations of memory models: what the edges of a circle amount to, in one sentence.
//!
//! A title is found from the part itself, so it never says more than the edges below it. A title that ends with a colon
//! announces them.

use history::{Method, OperationId};
use model::{Model, Node};

use super::EdgeKind;
use super::draft::{Draft, DraftEdge};
use super::memory::StoryWriter;
use crate::text::Line;

/// What is said of the edges of a circle.
pub(super) const EACH: &str = "each of these must come before the next, in a circle:";

/// Whether a model is of the C11 family, or coherence, which is told in the same words.
pub(super) const fn is_of_c11(model: Model) -> bool {
    matches!(
        model,
        Model::Wra
            | Model::Ra
            | Model::Sra
            | Model::Rc20
            | Model::C20
            | Model::Rc11
            | Model::Relaxed
            | Model::Coherence
    )
}

/// The title of a lemma, after what it supposes.
pub(super) fn of_lemma(supposes: &[Line]) -> Line {
    Line::default().plain(if supposes.is_empty() { "in any case, " } else { "then " }).plain(EACH)
}

/// The title if a search found no order, and there is no short reason.
pub(super) fn of_search() -> Line {
    Line::heading("no order of the writes: ").plain(
        "a search of all orders found none that agrees with what happens before, with every read, and with atomicity",
    )
}

/// What a circle is about, if the model is of the C11 family.
#[derive(Copy, Clone)]
pub(super) struct Axioms {
    /// Whether it is one of sequentially consistent operations: it has more than orders of writes.
    is_sequential: bool,
    /// Whether it uses read or write coherence.
    is_coherence: bool,
}

impl StoryWriter<'_> {
    pub(super) fn thin_air(&self, read: OperationId) -> Line {
        let operation = self.history.operation(read);
        let value = self.names.value(self.history.expected(read).unwrap_or(operation.result));
        let key = self.names.key(operation.key);
        let place = if key.is_empty() { String::new() } else { format!(" to {key}") };
        let initial = self.names.value(self.history.initial_value(operation.key));
        Line::heading("thin-air read: ")
            .append(self.names.operation(read))
            .plain(format!(" returns {value}, which nobody wrote{place} (the initial value is {initial})"))
    }

    /// The heading of a refutation.
    pub(super) fn no_order_of_writes(&self) -> Line {
        let heading = match self.model {
            Model::Sc => "no interleaving explains all reads: ",
            Model::Sra => "no order of the writes agrees with what happens before and with atomicity: ",
            _ => "no order in which writes reach memory explains all reads: ",
        };
        Line::heading(heading).plain("whichever way these writes are ordered, a circle follows")
    }

    /// What a circle is about, before it is turned.
    pub(super) fn axioms(&self, draft: &Draft<Node>) -> Axioms {
        let only_reads = |node: Node| match node {
            Node::Operation(id) => self.history.operation(id).method == Method::Read,
            Node::Init(_) => false,
        };
        let is_more = |edge: &DraftEdge<Node>| match edge.kind {
            EdgeKind::Initial | EdgeKind::ReadsFrom => false,
            EdgeKind::ProgramOrder | EdgeKind::Synchronises => true,
            _ => only_reads(edge.from),
        };
        let is_sequential = draft.circle.iter().any(|&edge| is_more(&draft.edges[edge]));
        let is_coherence = draft.edges.iter().any(|edge| edge.kind == EdgeKind::Coherence);
        Axioms { is_sequential: matches!(self.model, Model::C20 | Model::Rc11) && is_sequential, is_coherence }
    }

    /// The title of a circle.
    pub(super) fn title(&self, draft: &Draft<Node>, axioms: Axioms) -> Line {
        let is_of_c11 = is_of_c11(self.model);
        let circle: Vec<&DraftEdge<Node>> = draft.circle.iter().map(|&edge| &draft.edges[edge]).collect();
        let said = |edge: &DraftEdge<Node>| edge.kind.is_basic() || edge.kind == EdgeKind::Synchronises;
        if !draft.chain.is_empty() {
            return self.overwritten_read(draft, axioms.is_coherence);
        }
        match circle[..] {
            [only] if only.kind == EdgeKind::ReadsFrom => {
                let line = Line::heading(if is_of_c11 { "thin air: " } else { "read of its own write: " });
                line.append(self.names.long(only.to)).plain(" reads the value that only it writes itself")
            }
            [one, other] if is_of_c11 && replaces(draft, one) && replaces(draft, other) => {
                let source = draft.edges[one.premises[0]].from;
                let line = Line::heading("atomicity: ").append(self.names.long(one.from)).plain(" and ");
                let line = line.append(self.names.long(other.from)).plain(" both replace ");
                line.append(self.names.long(source)).plain(", and each would have to come right after it")
            }
            _ if circle.iter().all(|edge| edge.kind.is_basic()) && is_of_c11 => Line::heading("thin air: ")
                .plain("a read depends on itself: each of these comes before the next, in a circle:"),
            _ if circle.iter().all(|edge| said(edge)) => {
                Line::heading("causality in a circle: ").plain("each of these comes before the next:")
            }
            _ if axioms.is_sequential => {
                Line::heading("no order of the sequentially consistent operations: ").plain(EACH)
            }
            _ if axioms.is_coherence => {
                let key = circle.first().map_or_else(String::new, |edge| self.location(edge.from));
                let place = if key.is_empty() { String::new() } else { format!(" of {key}") };
                Line::heading(format!("no modification order{place}: ")).plain(EACH)
            }
            _ => match self.view.filter(|_| self.model == Model::Cm) {
                Some(process) => {
                    let line =
                        Line::heading(format!("no order explains all reads of {}: ", self.names.thread(process)));
                    line.plain("for it, ").plain(EACH)
                }
                None => Line::heading("no one order of the writes explains all reads: ").plain(EACH),
            },
        }
    }

    /// The most frequent title: a read returned what had been overwritten.
    fn overwritten_read(&self, draft: &Draft<Node>, is_coherence: bool) -> Line {
        let back = draft.circle.iter().map(|&edge| &draft.edges[edge]).find(|edge| edge.kind == EdgeKind::ReadWrite);
        let Some(DraftEdge { from: read, to: write, premises, .. }) = back else { return Line::default() };
        let source = premises.last().map_or(*read, |&last| draft.edges[last].from);
        let heading = if is_coherence { "read coherence: " } else { "stale read: " };
        let value = if matches!(source, Node::Init(_)) { " returns " } else { " returns the value of " };
        let line = Line::heading(heading).append(self.names.long(*read)).plain(value).append(self.names.long(source));
        line.plain(", which ").append(self.names.long(*write)).plain(" had overwritten:")
    }

    fn location(&self, node: Node) -> String {
        self.names.key(match node {
            Node::Init(location) => history::KeyId(location.0),
            Node::Operation(id) => self.history.operation(id).key,
        })
    }
}

/// Whether an edge says no more than that a read-modify-write reads what another one reads.
fn replaces(draft: &Draft<Node>, edge: &DraftEdge<Node>) -> bool {
    let mut premises = edge.premises.iter().map(|&premise| draft.edges[premise].kind);
    edge.kind == EdgeKind::ReadWrite && premises.all(|kind| kind == EdgeKind::ReadsFrom)
}
