//! An outline is a derivation, shortened for a reader.
//!
//! The derivation of a checker is exact, but long. Here it is shortened without loss, unless the model is of the C11
//! family, whose steps name the axioms:
//! - A `ww` step says only that its path leads from one write to the other. So the path itself takes its place.
//! - Program order is transitive. So two operations of one thread on a path are joined directly, if the model keeps
//!   their order, and everything between them is dropped. Of the cycles that this can give, the shortest is kept.
//! - Steps that are not used any more are dropped. The others are numbered in the order in which they are first
//!   mentioned, beginning with those of the cycle.

use history::{History, Method};
use model::{Derivation, Edge, Model, Node, Rule, Step};

use super::title::is_of_c11;

/// Up to this length of a path, all pairs of its operations are tried. Longer paths are shortened only where two
/// program-order edges meet.
const EXHAUSTIVE: usize = 64;
/// A `ww` step is replaced by its path if the path is no longer than this.
const INLINE: usize = 32;

/// A derivation in the order in which it is explained: a step may refer to later steps.
pub(super) struct Outline {
    pub(super) steps: Vec<Step>,
    pub(super) cycle: Vec<Edge>,
}

impl Outline {
    pub(super) fn new(history: &History, model: Model, derivation: &Derivation) -> Self {
        if is_of_c11(model) && !derivation.steps.is_empty() {
            return Self { steps: derivation.steps.clone(), cycle: derivation.cycle.clone() };
        }
        let order = Order { history, model };
        let mut steps: Vec<Step> = Vec::with_capacity(derivation.steps.len());
        for step in &derivation.steps {
            let path = match step.rule {
                // This is no path: it lists the steps that the lemma needs.
                Rule::Assumed | Rule::Lemma(_) => step.path.clone(),
                _ => shorten_path(order, &steps, inline(&steps, &step.path)),
            };
            steps.push(Step { path, ..step.clone() });
        }
        let cycle = shorten_cycle(order, &steps, inline(&steps, &derivation.cycle));
        Self::number(&steps, &cycle)
    }

    /// Renumbers the steps in the order in which they are first mentioned.
    fn number(steps: &[Step], cycle: &[Edge]) -> Self {
        let mut numbers = vec![None; steps.len()];
        let mut order: Vec<usize> = Vec::new();
        let mut renumber = |path: &[Edge], order: &mut Vec<usize>| -> Vec<Edge> {
            let renumbered = path.iter().map(|&edge| match edge {
                Edge::Derived(step) => {
                    let number = *numbers[step as usize].get_or_insert_with(|| {
                        order.push(step as usize);
                        order.len() as u32 - 1
                    });
                    Edge::Derived(number)
                }
                edge => edge,
            });
            renumbered.collect()
        };
        let cycle = renumber(cycle, &mut order);
        let mut told = Vec::new();
        while let Some(&step) = order.get(told.len()) {
            let path = renumber(&steps[step].path, &mut order);
            told.push(Step { path, ..steps[step].clone() });
        }
        Self { steps: told, cycle }
    }
}

fn ends(steps: &[Step], edge: Edge) -> (Node, Node) {
    match edge {
        Edge::Po(from, to) | Edge::Rf(from, to) | Edge::Sw { release: from, acquire: to, .. } => (from, to),
        Edge::Derived(step) => (steps[step as usize].from, steps[step as usize].to),
    }
}

fn inline(steps: &[Step], path: &[Edge]) -> Vec<Edge> {
    let mut told = Vec::with_capacity(path.len());
    for &edge in path {
        match edge {
            Edge::Derived(step) if matches!(steps[step as usize].rule, Rule::StoreOrder) => {
                let path = &steps[step as usize].path;
                if path.len() <= INLINE {
                    told.extend_from_slice(path);
                } else {
                    told.push(edge);
                }
            }
            edge => told.push(edge),
        }
    }
    told
}

/// The part of program order that a model keeps.
#[derive(Copy, Clone)]
struct Order<'a> {
    history: &'a History,
    model: Model,
}

impl Order<'_> {
    /// Whether `from` comes before `to`.
    fn has(self, from: Node, to: Node) -> bool {
        match (from, to) {
            (Node::Init(_), Node::Operation(_)) => true,
            (Node::Operation(a), Node::Operation(b)) => {
                let (first, second) = (self.history.operation(a), self.history.operation(b));
                let kept = match (self.model, first.method) {
                    (Model::Tso | Model::Wtso | Model::Wccm, Method::Write) => second.method == Method::Write,
                    (Model::Pso | Model::Wpso, Method::Write) => {
                        second.method == Method::Write && first.key == second.key
                    }
                    _ => true,
                };
                a < b && first.process == second.process && kept
            }
            (_, Node::Init(_)) => false,
        }
    }
}

fn shorten_path(order: Order<'_>, steps: &[Step], path: Vec<Edge>) -> Vec<Edge> {
    if path.len() > EXHAUSTIVE {
        return join(order, path);
    }
    shortest(order, steps, &path)
}

/// Joins program-order edges that meet.
fn join(order: Order<'_>, path: Vec<Edge>) -> Vec<Edge> {
    let mut joined: Vec<Edge> = Vec::with_capacity(path.len());
    for edge in path {
        match (joined.last_mut(), edge) {
            (Some(Edge::Po(begin, end)), Edge::Po(_, to)) if order.has(*begin, to) => *end = to,
            _ => joined.push(edge),
        }
    }
    joined
}

/// The fewest edges from the beginning of a path to its end, by its own edges and by program order between its nodes.
fn shortest(order: Order<'_>, steps: &[Step], path: &[Edge]) -> Vec<Edge> {
    let Some(&first) = path.first() else {
        return Vec::new();
    };
    let mut nodes = vec![ends(steps, first).0];
    nodes.extend(path.iter().map(|&edge| ends(steps, edge).1));
    // For each node: the fewest edges that lead there, and the last of them, with the node where that edge begins.
    let mut best: Vec<(usize, usize, Edge)> = vec![(0, 0, first)];
    for to in 1..nodes.len() {
        let own = (best[to - 1].0 + 1, to - 1, path[to - 1]);
        let jumps = (0..to)
            .filter(|&from| order.has(nodes[from], nodes[to]))
            .map(|from| (best[from].0 + 1, from, Edge::Po(nodes[from], nodes[to])));
        best.push(jumps.fold(own, |best, jump| if jump.0 < best.0 { jump } else { best }));
    }
    let mut shortened = Vec::new();
    let mut at = nodes.len() - 1;
    while at > 0 {
        let (_, from, edge) = best[at];
        shortened.push(edge);
        at = from;
    }
    shortened.reverse();
    shortened
}

/// The shortest cycle through nodes of this cycle. It begins at the node that comes first in the file.
fn shorten_cycle(order: Order<'_>, steps: &[Step], cycle: Vec<Edge>) -> Vec<Edge> {
    if cycle.is_empty() {
        return cycle;
    }
    let mut best = join(order, cycle.clone());
    if cycle.len() <= EXHAUSTIVE {
        let mut turned = cycle;
        for _ in 0..turned.len() {
            let candidate = shortest(order, steps, &turned);
            if candidate.len() < best.len() {
                best = candidate;
            }
            turned.rotate_left(1);
        }
    }
    let first = (0..best.len()).min_by_key(|&at| match ends(steps, best[at]).0 {
        Node::Init(location) => (0, location.0),
        Node::Operation(id) => (1, id.0),
    });
    best.rotate_left(first.unwrap_or(0));
    best
}
