//! `c20`: `rc20` with sequentially consistent accesses and fences.
//!
//! ```text
//! eco = (rf u mo u fr)+     po!= : po but for two accesses of one location     hb|loc : hb between accesses of one location
//! scb = po u po!=;hb;po!= u hb|loc u mo u fr
//! psc = ([SC] u [Fsc];hb?) ; scb ; ([SC] u hb?;[Fsc])   u   [Fsc] ; (hb u hb;eco;hb) ; [Fsc]
//! ```
//!
//! SC are the sequentially consistent events, Fsc the fences among them. They also acquire and release. An execution is
//! allowed if for some modification order it is allowed by `rc20` and `psc` is acyclic. (This is `psc` of RC11 with the
//! release sequences of `rc20`.)
//!
//! The coherent modification orders are exactly those that order the chains of rmws ([`super::coherence`]) as wholes,
//! and that agree with the edges between chains that `rc20` forces. Whether one of them will do is NP-hard: if all
//! accesses are sequentially consistent it is `sc`. The search guesses one order, along the order of the file, and looks
//! for a cycle of `psc` ([`graph`]). The cycle uses some pairs of chains.
//! - If all of them are forced, or follow from what was assumed, the assumptions are refuted: a lemma. The last
//!   assumption of the lemma is taken back, and its opposite follows from the others.
//! - Otherwise the opposite of one pair is assumed.
//!
//! So only pairs that a cycle needs are ever looked at, and each lemma is a derivation that can be checked by itself.
//! A lemma without assumptions refutes the execution.

mod derive;
mod graph;
mod steps;

use certificate::{Derivation, Evidence, GaveUp, Rule};
use history::execution::{EventId, Kind};
use history::{Execution, OperationId};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::Interrupt;
use derive::Deriver;
use graph::{ECO, GOT, Graph, ORDER, START, Vertex};
use steps::{NONE, Steps};

/// A chain: its first write, or the number of events plus a location for the chain of the initial write.
type Chain = u32;

/// Why one chain precedes another.
#[derive(Copy, Clone, Debug)]
enum Reason {
    /// An access of a value of the one happens before an access whose target is in the other.
    Fact { before: u32, after: u32 },
    /// It is assumed.
    Assumed,
    /// The lemma of that number has refuted the opposite.
    Lemma(u32),
}

/// A pair of chains in order.
#[derive(Copy, Clone, Debug)]
struct Pair {
    first: Chain,
    second: Chain,
    reason: Reason,
}

/// The chains of an execution, and what is known of their order.
struct Chains {
    /// By event: the chain of a write.
    of: Vec<Chain>,
    /// By write, and behind these by location: the rmw that updates it.
    updaters: Vec<u32>,
    /// By location: the first writes of its chains but the initial one, in the order of the file.
    tops: Vec<Vec<u32>>,
    /// What is forced, and then what was assumed or follows.
    pairs: Vec<Pair>,
    /// By chain: the numbers of the pairs that it is the first of.
    successors: FxHashMap<Chain, Vec<u32>>,
}

impl Chains {
    /// None if the chains contradict each other: `rc20` forbids the execution.
    fn new(steps: &Steps<'_>) -> Option<Self> {
        let execution = steps.execution;
        let count = execution.len();
        let mut updaters = vec![NONE; count + execution.location_count()];
        for (at, event) in (0..).zip(execution.events()).filter(|(_, event)| event.kind == Kind::Rmw) {
            let source =
                if event.source == EventId::INIT { count + event.location.index() } else { event.source.index() };
            if std::mem::replace(&mut updaters[source], at) != NONE {
                return None;
            }
        }
        let mut of = vec![NONE; count];
        let mut tops = vec![Vec::new(); execution.location_count()];
        let starts = (0..count as u32).filter(|&at| execution.events()[at as usize].kind == Kind::Write);
        let initial = (count..updaters.len()).map(|at| at as u32);
        for top in starts.chain(initial) {
            let mut write = top;
            if (top as usize) < count {
                tops[execution.events()[top as usize].location.index()].push(top);
            }
            while write != NONE {
                if (write as usize) < count {
                    of[write as usize] = top;
                }
                write = updaters[write as usize];
            }
        }
        for tops in &mut tops {
            tops.sort_by_key(|&top| execution.operation(EventId(top)));
        }
        let mut chains = Self { of, updaters, tops, pairs: Vec::new(), successors: FxHashMap::default() };
        chains.add_facts(steps)?;
        Some(chains)
    }

    /// The chain of what an access wrote, or else read.
    fn value(&self, steps: &Steps<'_>, access: u32) -> Chain {
        let event = steps.execution.events()[access as usize];
        if event.kind.writes() { self.of[access as usize] } else { self.source(steps, access) }
    }

    fn source(&self, steps: &Steps<'_>, read: u32) -> Chain {
        let event = steps.execution.events()[read as usize];
        match event.source {
            EventId::INIT => (steps.execution.len() + event.location.index()) as u32,
            source => self.of[source.index()],
        }
    }

    /// The pairs that coherence forces: for each access and thread, the last access that happens before it.
    fn add_facts(&mut self, steps: &Steps<'_>) -> Option<()> {
        let mut known: FxHashSet<(Chain, Chain)> = FxHashSet::default();
        for after in 0..steps.execution.len() as u32 {
            let event = steps.execution.events()[after as usize];
            if event.kind == Kind::Fence {
                continue;
            }
            let target = if event.kind == Kind::Write { self.of[after as usize] } else { self.source(steps, after) };
            let own = Some(steps.row[after as usize][0]).filter(|&before| before != NONE);
            for before in steps.before.of(after as usize).iter().copied().chain(own) {
                let value = self.value(steps, before);
                if value == target || !known.insert((value, target)) {
                    continue;
                }
                if target as usize >= steps.execution.len() {
                    return None;
                }
                // The initial chain comes first in any case.
                if (value as usize) < steps.execution.len() {
                    self.push(Pair { first: value, second: target, reason: Reason::Fact { before, after } });
                }
            }
        }
        Some(())
    }

    fn push(&mut self, pair: Pair) {
        self.successors.entry(pair.first).or_default().push(self.pairs.len() as u32);
        self.pairs.push(pair);
    }

    fn truncate(&mut self, count: usize) {
        while self.pairs.len() > count {
            if let Some(pair) = self.pairs.pop()
                && let Some(list) = self.successors.get_mut(&pair.first)
            {
                list.pop();
            }
        }
    }

    fn after(&self, chain: Chain) -> impl Iterator<Item = u32> + '_ {
        self.successors.get(&chain).into_iter().flatten().copied()
    }

    /// The pairs of a shortest path from one chain to another, if there is one.
    fn path(&self, first: Chain, second: Chain) -> Option<Vec<u32>> {
        let mut reached: FxHashMap<Chain, u32> = FxHashMap::default();
        let mut queue = vec![first];
        let mut at = 0;
        while at < queue.len() {
            for number in self.after(queue[at]) {
                let to = self.pairs[number as usize].second;
                if reached.contains_key(&to) {
                    continue;
                }
                reached.insert(to, number);
                queue.push(to);
                if to == second {
                    let mut path = vec![number];
                    let mut chain = self.pairs[number as usize].first;
                    while chain != first {
                        let number = reached[&chain];
                        path.push(number);
                        chain = self.pairs[number as usize].first;
                    }
                    path.reverse();
                    return Some(path);
                }
            }
            at += 1;
        }
        None
    }

    /// The next write of a modification order that has all pairs, by write and by location; of the chains that may come
    /// next, the first of the file does. The error is the pairs of a cycle.
    fn order(&self, steps: &Steps<'_>) -> Result<Vec<u32>, Vec<u32>> {
        let count = steps.execution.len();
        let mut after = vec![NONE; self.updaters.len()];
        for (location, tops) in self.tops.iter().enumerate() {
            let places: FxHashMap<Chain, usize> = tops.iter().enumerate().map(|(at, &top)| (top, at)).collect();
            let mut open = vec![0_u32; tops.len()];
            for &top in tops {
                for number in self.after(top) {
                    open[places[&self.pairs[number as usize].second]] += 1;
                }
            }
            let mut ready: std::collections::BTreeSet<usize> = (0..tops.len()).filter(|&at| open[at] == 0).collect();
            let mut last = (count + location) as u32;
            let mut placed = 0;
            let mut next = Some(self.updaters[count + location]).filter(|&next| next != NONE);
            loop {
                // A chain is not interrupted.
                while let Some(write) = next {
                    after[last as usize] = write;
                    last = write;
                    next = Some(self.updaters[write as usize]).filter(|&next| next != NONE);
                }
                let Some(at) = ready.pop_first() else { break };
                placed += 1;
                next = Some(tops[at]);
                for number in self.after(tops[at]) {
                    let to = places[&self.pairs[number as usize].second];
                    open[to] -= 1;
                    if open[to] == 0 {
                        ready.insert(to);
                    }
                }
            }
            if placed < tops.len() {
                let stuck = (0..tops.len()).filter(|&at| open[at] > 0);
                let cycles = stuck.filter_map(|at| self.path(tops[at], tops[at]));
                return Err(cycles.min_by_key(Vec::len).unwrap_or_default());
            }
        }
        Ok(after)
    }
}

/// What the search has found.
pub(super) enum Outcome {
    /// A modification order of each location.
    Found(Vec<Vec<OperationId>>),
    /// The evidence that there is none.
    Refuted(Evidence),
}

/// What one look at an order has found.
enum Looked {
    Allowed(Vec<u32>),
    /// A lemma.
    Refuted(Derivation),
    /// A pair of chains that the cycle has in this order, and that could be in the other.
    Open(Chain, Chain),
}

/// Looks for a modification order of an execution that `rc20` allows. None if there is no such order for `rc20` at all.
/// `execution` is the original without its sequentially consistent orders.
pub(super) fn search(
    original: &Execution,
    execution: &Execution,
    most: u64,
    interrupt: Interrupt,
) -> Result<Option<Outcome>, GaveUp> {
    let words = execution.len().saturating_mul(2 * execution.thread_count() + 160);
    certificate::limits::check_room(words.saturating_mul(4))?;
    let Some(steps) = Steps::new(original, execution) else { return Ok(None) };
    let Some(mut chains) = Chains::new(&steps) else { return Ok(None) };
    let mut graph = Graph::new(&steps);
    let mut lemmas: Vec<Derivation> = Vec::new();
    for _ in 0..most {
        interrupt.check()?;
        match look(&steps, &chains, &mut graph, &lemmas) {
            Looked::Allowed(after) => return Ok(Some(Outcome::Found(orders(execution, &after)))),
            Looked::Open(first, second) => {
                chains.push(Pair { first: second, second: first, reason: Reason::Assumed });
            }
            Looked::Refuted(lemma) => {
                let number = lemmas.len() as u32;
                let assumed: FxHashSet<_> = assumptions(&lemma).collect();
                lemmas.push(lemma);
                let node = |chain: Chain| certificate::Node::Operation(execution.operation(EventId(chain)));
                let is_assumed = |pair: &Pair| {
                    matches!(pair.reason, Reason::Assumed) && assumed.contains(&(node(pair.first), node(pair.second)))
                };
                let Some(last) = chains.pairs.iter().rposition(is_assumed) else {
                    return Ok(Some(Outcome::Refuted(refutation(lemmas))));
                };
                let Pair { first, second, .. } = chains.pairs[last];
                chains.truncate(last);
                chains.push(Pair { first: second, second: first, reason: Reason::Lemma(number) });
            }
        }
    }
    Err(GaveUp::Steps)
}

/// The pairs that a lemma assumes.
fn assumptions(lemma: &Derivation) -> impl Iterator<Item = (certificate::Node, certificate::Node)> + '_ {
    lemma.steps.iter().filter(|step| step.rule == Rule::Assumed).map(|step| (step.from, step.to))
}

fn look(steps: &Steps<'_>, chains: &Chains, graph: &mut Graph<'_>, lemmas: &[Derivation]) -> Looked {
    let mut deriver = Deriver::new(steps, chains, lemmas);
    let after = match chains.order(steps) {
        Ok(after) => after,
        Err(cycle) => return Looked::Refuted(deriver.cycle_of_chains(&cycle)),
    };
    let Some(cycle) = graph.cycle(&after) else { return Looked::Allowed(after) };
    for [from, to] in ordered(&cycle) {
        let [first, second] = [chains.value(steps, from), chains.of[to as usize]];
        let is_known =
            first == second || first as usize >= steps.execution.len() || chains.path(first, second).is_some();
        if !is_known {
            return Looked::Open(first, second);
        }
    }
    Looked::Refuted(deriver.cycle(&cycle))
}

/// The pairs of an access and a write that the modification order has put in this order, where the cycle uses that.
fn ordered(cycle: &[Vertex]) -> impl Iterator<Item = [u32; 2]> + '_ {
    let mut from = NONE;
    cycle.windows(2).filter_map(move |pair| {
        let [one, two] = [pair[0], pair[1]];
        let is_in = |vertex: Vertex| matches!(vertex.phase, ORDER | ECO);
        if !is_in(one) && is_in(two) {
            from = one.event;
        }
        debug_assert!(one.phase != START || two.phase != GOT);
        (is_in(one) && !is_in(two)).then_some([from, one.event])
    })
}

/// The modification orders as operations.
fn orders(execution: &Execution, after: &[u32]) -> Vec<Vec<OperationId>> {
    let of_location = |location: usize| {
        let next = |write: usize| Some(after[write]).filter(|&next| next != NONE);
        let writes = std::iter::successors(next(execution.len() + location), |&write| next(write as usize));
        writes.map(|write| execution.operation(EventId(write))).collect()
    };
    (0..execution.location_count()).map(of_location).collect()
}

/// The lemmas that the last one needs, as evidence.
fn refutation(lemmas: Vec<Derivation>) -> Evidence {
    let mut is_needed = vec![false; lemmas.len()];
    if let Some(last) = is_needed.last_mut() {
        *last = true;
    }
    for at in (0..lemmas.len()).rev().filter(|&at| is_needed[at]).collect::<Vec<_>>() {
        let mut open = vec![at];
        while let Some(at) = open.pop() {
            for step in &lemmas[at].steps {
                if let Rule::Lemma(other) = step.rule
                    && !std::mem::replace(&mut is_needed[other as usize], true)
                {
                    open.push(other as usize);
                }
            }
        }
    }
    let mut numbers = vec![0; lemmas.len()];
    let mut kept: Vec<Derivation> = Vec::new();
    for (at, mut lemma) in lemmas.into_iter().enumerate().filter(|&(at, _)| is_needed[at]) {
        numbers[at] = kept.len() as u32;
        for step in &mut lemma.steps {
            if let Rule::Lemma(other) = &mut step.rule {
                *other = numbers[*other as usize];
            }
        }
        kept.push(lemma);
    }
    match <[Derivation; 1]>::try_from(kept) {
        Ok([only]) => Evidence::Cycle(only),
        Err(lemmas) => Evidence::Refutation(lemmas),
    }
}
