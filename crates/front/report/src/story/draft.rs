//! A part of a story while it is written. It names operations or transactions themselves; they get their numbers when
//! all of them are known.
//!
//! The invariant: an edge is added after its premises, so its number is greater than theirs.

use std::collections::HashMap;
use std::hash::Hash;

use history::{History, ProcessId, visible};

use super::{Contradiction, EdgeKind, Story, StoryEdge, StoryNode};
use crate::text::Line;

/// A part whose nodes have no numbers yet.
pub(super) struct Draft<N> {
    pub(super) title: Line,
    pub(super) supposes: Vec<Line>,
    pub(super) edges: Vec<DraftEdge<N>>,
    /// The numbers of the basic edges.
    basic: HashMap<(N, N, EdgeKind), usize>,
    pub(super) circle: Vec<usize>,
    pub(super) chain: Vec<usize>,
    pub(super) core: Vec<N>,
    pub(super) uses: Vec<usize>,
    pub(super) contents: Vec<Line>,
}

/// An edge whose ends have no numbers yet. The fields are those of [`StoryEdge`].
pub(super) struct DraftEdge<N> {
    pub(super) from: N,
    pub(super) to: N,
    pub(super) kind: EdgeKind,
    pub(super) sentence: Line,
    pub(super) reason: String,
    pub(super) premises: Vec<usize>,
    pub(super) refuted_by: Option<usize>,
}

impl<N> DraftEdge<N> {
    /// An edge that follows from others.
    pub(super) fn new(kind: EdgeKind, from: N, to: N, sentence: Line, premises: Vec<usize>) -> Self {
        Self { from, to, kind, sentence, reason: String::new(), premises, refuted_by: None }
    }

    /// An edge that needs no premise.
    pub(super) fn basic(kind: EdgeKind, from: N, to: N, sentence: Line, reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), ..Self::new(kind, from, to, sentence, Vec::new()) }
    }
}

impl<N: Copy + Ord + Hash> Draft<N> {
    pub(super) fn new(title: Line, core: Vec<N>) -> Self {
        Self {
            title,
            supposes: Vec::new(),
            edges: Vec::new(),
            basic: HashMap::new(),
            circle: Vec::new(),
            chain: Vec::new(),
            core,
            uses: Vec::new(),
            contents: Vec::new(),
        }
    }

    /// The number of this edge. If a basic edge is there already, it is not added again.
    pub(super) fn add(&mut self, edge: DraftEdge<N>) -> usize {
        let next = self.edges.len();
        if edge.kind.is_basic() {
            let number = *self.basic.entry((edge.from, edge.to, edge.kind)).or_insert(next);
            if number != next {
                return number;
            }
        }
        self.edges.push(edge);
        next
    }

    /// Drops the edges that neither the circle nor one of its premises needs. No edge is added after that.
    pub(super) fn prune(&mut self) {
        let mut is_needed = vec![false; self.edges.len()];
        for &edge in &self.circle {
            is_needed[edge] = true;
        }
        // Premises stand before what follows from them.
        for at in (0..self.edges.len()).rev() {
            if is_needed[at] {
                for &premise in &self.edges[at].premises {
                    is_needed[premise] = true;
                }
            }
        }
        let mut numbers = vec![0; self.edges.len()];
        let needed = numbers.iter_mut().zip(&is_needed).filter(|(_, is_needed)| **is_needed);
        for (next, (number, _)) in needed.enumerate() {
            *number = next;
        }
        let mut needed = is_needed.iter();
        self.edges.retain(|_| needed.next().is_some_and(|&it| it));
        let premises = self.edges.iter_mut().flat_map(|edge| &mut edge.premises);
        for edge in premises.chain(&mut self.circle) {
            *edge = numbers[*edge];
        }
        self.basic.clear();
    }

    fn nodes(&self) -> impl Iterator<Item = N> {
        self.edges.iter().flat_map(|edge| [edge.from, edge.to]).chain(self.core.iter().copied())
    }
}

/// Numbers the nodes and writes the parts into the story. `process` is the thread of a node, `describe` what is said of
/// a node, given the number of its thread.
pub(super) fn finish<N: Copy + Ord + Hash>(
    story: &mut Story,
    drafts: Vec<Draft<N>>,
    history: &History,
    process: impl Fn(N) -> Option<ProcessId>,
    describe: impl Fn(N, Option<usize>) -> StoryNode,
) {
    let mut nodes: Vec<N> = drafts.iter().flat_map(Draft::nodes).collect();
    nodes.sort_unstable();
    nodes.dedup();
    let number = |node: N| nodes.binary_search(&node).unwrap_or(0);
    let mut processes: Vec<ProcessId> = nodes.iter().filter_map(|&node| process(node)).collect();
    processes.sort_unstable();
    processes.dedup();
    story.threads = processes.iter().map(|&process| visible(&history.process_name(process)).into_owned()).collect();
    let thread = |node| process(node).and_then(|process| processes.binary_search(&process).ok());
    story.nodes = nodes.iter().map(|&node| describe(node, thread(node))).collect();
    for draft in drafts {
        let edges = draft.edges.into_iter().map(|edge| StoryEdge {
            from: number(edge.from),
            to: number(edge.to),
            kind: edge.kind,
            label: edge.kind.label(),
            sentence: edge.sentence,
            reason: edge.reason,
            premises: edge.premises,
            refuted_by: edge.refuted_by,
        });
        let edges: Vec<StoryEdge> = edges.collect();
        let mut core: Vec<usize> = draft.core.into_iter().map(number).collect();
        core.extend(draft.circle.iter().flat_map(|&edge| [edges[edge].from, edges[edge].to]));
        core.sort_unstable();
        core.dedup();
        let Draft { title, supposes, circle, chain, uses, contents, .. } = draft;
        story.parts.push(Contradiction { title, supposes, edges, circle, chain, core, uses, contents });
    }
}
