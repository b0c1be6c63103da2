//! A partial order over chains that is closed under rules, and whose last edges can be taken back.
//!
//! Events are numbered chain by chain, so an event's successor in its chain is the next number. The order is the
//! transitive closure of the chains, of base edges that are given, and of derived edges that rules ask for. Each event
//! has a clock: for each chain the end of that chain's prefix that comes before it (the event itself included, in its
//! own chain). So `a` comes before `b` exactly if the clock of `b` in `a`'s chain is beyond `a`.
//!
//! Events [enter](Saturation::enter) one after another, each after its predecessors. The caller chooses an order that
//! is close to the one in which the events happened. Derived edges connect only events that have entered. A derived
//! edge may contradict the order of entrance. Then only the clocks of events after the edge grow, and the rules are
//! told of each growth. So the cost of the rules is in proportion to the changes. In a history in which threads meet
//! often, all changes are local.
//!
//! When all events have entered, the order can be [recorded](Saturation::record), so that edges can be taken back. Then
//! an edge may change the clocks of nearly all later events. So growth spreads in a topological order of the events, as
//! it was when the first edge was inserted: most events pass on all their growth at once.
//!
//! Entries of clocks have 32 bits or, if no chain has more than 255 events, 8 bits: see [`Lane`].
//!
//! Several orders may stand in one, as [*layers*](Saturation::in_layers): no edge leads from one layer to another, but
//! a rule may derive an edge of one from the order of another. Each layer has as many chains. The chains of the same
//! place in their layers share a *lane*, an entry of the clocks: the clock of an event speaks of its own layer.
//!
//! Another structure for the same purpose has a tree of suffix minima for each pair of chains, and takes O(k^2 log n)
//! for each edge, whatever the edge changes. On edges as saturation derives them, it is slower: 1.8 times on 4 chains,
//! 4.4 times on 16, 21 times on 64 (`cargo bench -p seriatim-order --bench structures`).
//!
//! Invariants:
//! - after [`Saturation::close`] returned `Ok`, clocks are exact: they hold the transitive closure of all edges;
//! - every entry of every clock is justified by edges of the list, and edges are numbered in the order of their
//!   insertion: the premise of a derived edge is a path over edges of smaller numbers, so every derivation is
//!   well-founded;
//! - [`Saturation::undo`] restores clocks and edges of a [`SaturationMark`] exactly.

mod propagate;
mod ranks;
mod trail;

use crate::lanes::{BLOCK, Block, Lane, lanes};
use ranks::Ranked;
use trail::{Trail, TrailPlace};

/// No edge, no event.
pub const NONE: u32 = u32::MAX;

/// An edge that a rule asks for.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Derived {
    /// Where it begins.
    pub from: u32,
    /// Where it ends. [`NONE`] stands for an event that nothing can come before.
    pub to: u32,
    /// A number that the rule chooses, to remember why the edge holds.
    pub reason: u32,
}

/// An edge of the list.
#[derive(Copy, Clone, Debug)]
struct Link {
    derived: Derived,
    next_out: u32,
    next_in: u32,
}

/// The data of an event, apart from its clock.
#[derive(Copy, Clone, Debug)]
struct Node {
    chain: u32,
    /// The entry of clocks for the chain. It is the number of the chain if there is one layer.
    lane: u32,
    /// Where its base edges begin. They end where those of the next event begin.
    base: u32,
    /// The latest derived edges out of it and into it.
    first_out: u32,
    first_in: u32,
}

/// Why the order cannot be closed.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Conflict {
    /// There is an edge (of a chain, base or derived) whose end comes before its begin.
    Cycle {
        /// Where the edge begins.
        from: u32,
        /// Where it ends.
        to: u32,
    },
    /// A rule asked for an edge to [`NONE`].
    Bottom(Derived),
}

/// The rules under which an order is closed.
pub trait Rules<L = u32> {
    /// An event has entered, with its clock. The rule adds to `derived` the edges that follow from it and from the
    /// events that entered before.
    fn entered(&mut self, order: &Saturation<L>, event: u32, derived: &mut Vec<Derived>);

    /// The clock of an event that has entered grew in one chain, from `old` to `new`: the events `old..new` of the
    /// chain are now before it. (`old` may be below the begin of the chain.) The rule adds to `derived` the edges that
    /// follow. If there are layers, `chain` is the lane.
    fn grown(
        &mut self,
        order: &Saturation<L>,
        event: u32,
        chain: usize,
        old: u32,
        new: u32,
        derived: &mut Vec<Derived>,
    );

    /// Which growth of an event's clock matters to the rule, so that it need not be told of the rest. In each chain,
    /// only growth from an entry below this one matters. `None` if all growth matters.
    fn watched(&self, _event: u32) -> Option<&[L]> {
        None
    }
}

/// The growth of one clock in one chain.
#[derive(Copy, Clone, Debug)]
struct Growth {
    event: u32,
    chain: u32,
    old: u32,
    new: u32,
    /// While the order is recorded: the growth of the same event before this one.
    before: u32,
}

/// A state to come back to.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct SaturationMark {
    trail: TrailPlace,
    edges: usize,
}

/// The order. See the [module](self).
///
/// ```
/// use order::Saturation;
/// use order::saturation::{Derived, Rules};
///
/// // A rule: if event 0 comes before event 3, so does event 2 of the third chain.
/// struct Follow;
/// impl Rules for Follow {
///     fn entered(&mut self, _: &Saturation, _: u32, _: &mut Vec<Derived>) {}
///     fn grown(&mut self, order: &Saturation, event: u32, _: usize, _: u32, _: u32, derived: &mut Vec<Derived>) {
///         if event == 3 && order.before(0, 3) && !order.before(2, 3) {
///             derived.push(Derived { from: 2, to: 3, reason: 0 });
///         }
///     }
/// }
///
/// // Three chains: events 0 and 1, event 2, event 3.
/// let mut order = Saturation::new(&[0, 2, 3, 4], |_| std::iter::empty());
/// for event in 0..4 {
///     order.enter(event, std::iter::empty(), &mut Follow).unwrap();
/// }
/// order.record();
/// let mark = order.mark();
/// order.insert(Derived { from: 1, to: 3, reason: 0 }, &mut Follow).unwrap();
/// assert!(order.before(2, 3));
/// // An edge back closes a cycle. Afterwards everything since the mark is taken back.
/// assert!(order.insert(Derived { from: 3, to: 0, reason: 0 }, &mut Follow).is_err());
/// order.undo(mark);
/// assert!(!order.before(2, 3));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Saturation<L = u32> {
    starts: Vec<u32>,
    /// How many chains a layer has.
    layer: usize,
    /// How many blocks a clock has.
    width: usize,
    /// How many blocks a group has. The growth within one group is not told apart. There are at most as many groups as
    /// a word has bits.
    group: usize,
    all_groups: u64,
    clocks: Vec<Block<L>>,
    /// For each chain, the first event that has not entered.
    frontier: Vec<u32>,
    /// The nodes by event, and one more at the end.
    nodes: Vec<Node>,
    /// Base edges by their first event.
    base_targets: Vec<u32>,
    links: Vec<Link>,
    /// The events whose clocks grew and whose successors do not have the growth yet, each once. For each event, the
    /// groups of blocks that grew: one bit for each group.
    queue: Vec<u32>,
    news: Vec<u64>,
    grown: Vec<Growth>,
    asked: Vec<Derived>,
    /// By how much entries grew since the order is recorded.
    trail: Trail,
    recording: bool,
    /// While the order is recorded: the events of the queue, in the order of their ranks. For each event, the latest
    /// growth that the rules have not been told of.
    ranked: Ranked,
    unheard: Vec<u32>,
}

impl Saturation {
    /// An empty order. `starts` has the first event of each chain, and the number of all events at the end. `base`
    /// tells the base predecessors of an event outside its chain.
    pub fn new<I: Iterator<Item = u32>>(starts: &[u32], base: impl Fn(u32) -> I) -> Self {
        let mut order = Self::default();
        order.restart(starts, base);
        order
    }

    /// The same, in layers of so many chains each.
    ///
    /// ```
    /// use order::Saturation;
    ///
    /// // Two layers of two chains. EventItems 0 and 2 have the first lane, events 1 and 3 the second.
    /// let order = Saturation::in_layers(&[0, 1, 2, 3, 4], 2, |_| std::iter::empty());
    /// assert_eq!((order.chain(3), order.lane(3), order.lanes()), (3, 1, order::lanes::BLOCK));
    /// ```
    pub fn in_layers<I: Iterator<Item = u32>>(starts: &[u32], layer: usize, base: impl Fn(u32) -> I) -> Self {
        let mut order = Self::default();
        order.restart_in_layers(starts, layer, base);
        order
    }
}

impl<L: Lane> Saturation<L> {
    /// Makes this an empty order, as [`Self::new`] does, in the same memory. The clock of an event means nothing until
    /// the event enters. No chain may have more events than [`Lane::MOST_EVENTS`].
    pub fn restart<I: Iterator<Item = u32>>(&mut self, starts: &[u32], base: impl Fn(u32) -> I) {
        self.restart_in_layers(starts, starts.len().saturating_sub(1), base);
    }

    fn restart_in_layers<I: Iterator<Item = u32>>(&mut self, starts: &[u32], layer: usize, base: impl Fn(u32) -> I) {
        let count = starts.last().copied().unwrap_or(0) as usize;
        let chain_count = starts.len().saturating_sub(1);
        let longest = starts.windows(2).map(|chain| (chain[1] - chain[0]) as usize).max().unwrap_or(0);
        assert!(longest <= L::MOST_EVENTS, "a chain of {longest} events does not fit into the entries of its clocks");
        let Self { nodes, base_targets, .. } = self;
        nodes.clear();
        nodes.reserve(count + 1);
        for chain in 0..chain_count {
            let lane = (chain % layer) as u32;
            let node = Node { chain: chain as u32, lane, base: 0, first_out: NONE, first_in: NONE };
            nodes.resize(starts[chain + 1] as usize, node);
        }
        nodes.push(Node { chain: NONE, lane: NONE, base: 0, first_out: NONE, first_in: NONE });
        for event in 0..count as u32 {
            for from in base(event) {
                nodes[from as usize].base += 1;
            }
        }
        let mut end = 0;
        for node in &mut *nodes {
            end += node.base;
            node.base = end;
        }
        base_targets.resize(end as usize, 0);
        // The lists are filled from the back, so that each cursor ends at the begin of its list.
        for event in (0..count as u32).rev() {
            for from in base(event) {
                let at = &mut nodes[from as usize].base;
                *at -= 1;
                base_targets[*at as usize] = event;
            }
        }
        self.starts.clear();
        self.starts.extend_from_slice(starts);
        self.frontier.clear();
        self.frontier.extend_from_slice(&starts[..chain_count]);
        self.layer = layer;
        self.width = lanes(layer) / BLOCK;
        self.group = self.width.div_ceil(u64::BITS as usize);
        self.all_groups = u64::MAX >> (u64::BITS as usize - self.width.div_ceil(self.group));
        self.clocks.resize(count * self.width, [L::default(); BLOCK]);
        self.links.clear();
        self.queue.clear();
        self.news.clear();
        self.news.resize(count, 0);
        self.grown.clear();
        self.asked.clear();
        self.trail.clear();
        self.recording = false;
        self.ranked.clear();
    }

    /// How many lanes a clock has: the number of chains of a layer, rounded up.
    #[inline]
    pub fn lanes(&self) -> usize {
        self.width * BLOCK
    }

    /// The chain of an event.
    #[inline]
    pub fn chain(&self, event: u32) -> usize {
        self.nodes[event as usize].chain as usize
    }

    /// The lane of an event.
    #[inline]
    pub fn lane(&self, event: u32) -> usize {
        self.nodes[event as usize].lane as usize
    }

    /// The first event of a chain.
    #[inline]
    pub fn start(&self, chain: usize) -> u32 {
        self.starts[chain]
    }

    /// The first event of a chain that has not entered.
    #[inline]
    pub fn frontier(&self, chain: usize) -> u32 {
        self.frontier[chain]
    }

    /// Whether an event has entered.
    #[inline]
    pub fn is_in(&self, event: u32) -> bool {
        event < self.frontier[self.chain(event)]
    }

    /// The clock of an event: for each chain the first event that is not before it.
    #[inline]
    pub fn clock(&self, event: u32) -> &[L] {
        self.clocks[event as usize * self.width..][..self.width].as_flattened()
    }

    /// The event that an entry of a clock stands for: the first event of a chain that is not known.
    #[inline]
    pub fn end(&self, entry: L, chain: usize) -> u32 {
        entry.end(|| self.starts[chain])
    }

    /// A number that is greater the more events are known to come before an event.
    pub fn sum(&self, event: u32) -> u64 {
        self.clock(event).iter().map(|&entry| entry.into()).sum()
    }

    /// Whether `a` comes before `b`; an event comes before itself. Both are of one layer.
    #[inline]
    pub fn before(&self, a: u32, b: u32) -> bool {
        let Node { chain, lane, .. } = self.nodes[a as usize];
        let block = &self.clocks[b as usize * self.width + lane as usize / BLOCK];
        self.end(block[lane as usize % BLOCK], chain as usize) > a
    }

    /// The base successors of an event outside its chain, in the order of their numbers.
    #[inline]
    pub fn base_successors(&self, event: u32) -> &[u32] {
        &self.base_targets[self.nodes[event as usize].base as usize..self.nodes[event as usize + 1].base as usize]
    }

    /// How many derived edges there are.
    pub fn edge_count(&self) -> usize {
        self.links.len()
    }

    /// The derived edge of that number.
    #[inline]
    pub fn edge(&self, number: u32) -> Derived {
        self.links[number as usize].derived
    }

    /// The numbers of the derived edges that end in an event, the latest first.
    pub fn edges_in(&self, event: u32) -> impl Iterator<Item = u32> + '_ {
        let mut next = self.nodes[event as usize].first_in;
        std::iter::from_fn(move || {
            let number = next;
            next = self.links.get(number as usize)?.next_in;
            Some(number)
        })
    }

    /// Enters the next event of a chain, and closes the order. Its base predecessors must have entered.
    pub fn enter(
        &mut self,
        event: u32,
        base: impl Iterator<Item = u32>,
        rules: &mut impl Rules<L>,
    ) -> Result<(), Conflict> {
        let (chain, lane) = (self.chain(event), self.lane(event));
        debug_assert_eq!(self.frontier[chain], event, "events enter in the order of their chain");
        let (width, row) = (self.width, event as usize * self.width);
        if event > self.starts[chain] {
            self.clocks.copy_within(row - width..row, row);
        } else {
            let starts = &self.starts[chain - lane..][..self.layer];
            for (block, starts) in self.clocks[row..row + width].iter_mut().zip(starts.chunks(BLOCK)) {
                *block =
                    std::array::from_fn(|lane| starts.get(lane).map_or_else(L::default, |&at| L::before(at, || at)));
            }
        }
        for base in base {
            debug_assert!(self.is_in(base), "events enter after their base predecessors");
            for at in 0..width {
                self.clocks[row + at] = L::join(&self.clocks[row + at], &self.clocks[base as usize * width + at]);
            }
        }
        self.clocks[row + lane / BLOCK][lane % BLOCK] = L::before(event + 1, || self.starts[chain]);
        self.frontier[chain] = event + 1;
        let mut asked = std::mem::take(&mut self.asked);
        rules.entered(self, event, &mut asked);
        self.asked = asked;
        if self.asked.is_empty() { Ok(()) } else { self.close(rules) }
    }

    /// Adds an edge, and closes the order.
    pub fn insert(&mut self, edge: Derived, rules: &mut impl Rules<L>) -> Result<(), Conflict> {
        self.asked.push(edge);
        self.close(rules)
    }

    /// From this call on, changes are recorded and can be taken back. All events must have entered, and their clocks
    /// must have fewer than 2^32 blocks.
    pub fn record(&mut self) {
        debug_assert!(u32::try_from(self.clocks.len()).is_ok(), "blocks have 32-bit numbers");
        self.recording = true;
    }

    /// How many bytes are needed soon to record more for [`Self::undo`].
    pub fn room_to_record(&self) -> usize {
        self.trail.room()
    }

    /// The current state, to come back to with [`Self::undo`].
    pub fn mark(&self) -> SaturationMark {
        SaturationMark { trail: self.trail.place(), edges: self.links.len() }
    }

    /// Takes back everything since a mark.
    pub fn undo(&mut self, mark: SaturationMark) {
        self.trail.undo(mark.trail, &mut self.clocks);
        while self.links.len() > mark.edges
            && let Some(link) = self.links.pop()
        {
            self.nodes[link.derived.from as usize].first_out = link.next_out;
            self.nodes[link.derived.to as usize].first_in = link.next_in;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No rules.
    struct NoRules;

    impl Rules for NoRules {
        fn entered(&mut self, _: &Saturation, _: u32, _: &mut Vec<Derived>) {}
        fn grown(&mut self, _: &Saturation, _: u32, _: usize, _: u32, _: u32, _: &mut Vec<Derived>) {}
    }

    /// If 0 comes before 4, so does 2.
    struct Follow;

    impl Rules for Follow {
        fn entered(&mut self, _: &Saturation, _: u32, _: &mut Vec<Derived>) {}
        fn grown(&mut self, order: &Saturation, event: u32, _: usize, _: u32, _: u32, derived: &mut Vec<Derived>) {
            if event == 4 && order.before(0, 4) {
                derived.push(Derived { from: 2, to: 4, reason: 7 });
            }
        }
    }

    /// Chains 0-1, 2-3 and 4-5, of which 3 has the base predecessor 0.
    fn order(rules: &mut impl Rules) -> Saturation {
        let base = |event| (event == 3).then_some(0).into_iter();
        let mut order = Saturation::new(&[0, 2, 4, 6], base);
        for event in 0..6 {
            assert_eq!(order.enter(event, base(event), rules), Ok(()));
        }
        order
    }

    fn edge(from: u32, to: u32) -> Derived {
        Derived { from, to, reason: 0 }
    }

    fn relation(order: &Saturation) -> Vec<bool> {
        (0..36).map(|pair| order.before(pair / 6, pair % 6)).collect()
    }

    #[test]
    fn clocks_are_the_closure_of_the_edges() {
        let mut order = order(&mut NoRules);
        assert!(order.before(0, 3) && !order.before(0, 2) && !order.before(0, 5));
        assert_eq!(order.insert(edge(3, 5), &mut NoRules), Ok(()));
        assert!(order.before(0, 5) && order.before(2, 5) && !order.before(3, 4));
    }

    #[test]
    fn an_event_may_have_several_base_predecessors() {
        let base = |event: u32| (0..event / 2).map(|chain| 2 * chain);
        let mut order = Saturation::new(&[0, 2, 4, 6], base);
        for event in 0..6 {
            assert_eq!(order.enter(event, base(event), &mut NoRules), Ok(()));
        }
        assert!(order.before(0, 4) && order.before(2, 4) && order.before(0, 2) && !order.before(1, 4));
        assert_eq!(order.base_successors(0), [2, 3, 4, 5]);
        assert_eq!(order.insert(edge(1, 2), &mut NoRules), Ok(()));
        assert!(order.before(1, 4), "it spreads along base edges");
    }

    #[test]
    fn an_edge_against_the_order_is_a_conflict_even_between_two_events() {
        let mut order = order(&mut NoRules);
        assert_eq!(order.insert(edge(1, 4), &mut NoRules), Ok(()));
        assert_eq!(order.insert(edge(4, 1), &mut NoRules), Err(Conflict::Cycle { from: 4, to: 1 }));
        let bottom = Derived { from: 0, to: NONE, reason: 3 };
        assert_eq!(order.insert(bottom, &mut NoRules), Err(Conflict::Bottom(bottom)));
    }

    #[test]
    fn undo_restores_clocks_and_edges_after_success_and_after_conflict() {
        let mut order = order(&mut Follow);
        order.record();
        let (mark, before) = (order.mark(), relation(&order));
        assert_eq!(order.insert(edge(1, 4), &mut Follow), Ok(()));
        assert!(order.before(2, 4), "the rule asked for it");
        assert_eq!(order.edges_in(4).map(|number| order.edge(number).reason).collect::<Vec<_>>(), [7, 0]);
        let inner = order.mark();
        assert!(order.insert(edge(5, 2), &mut Follow).is_err());
        order.undo(inner);
        assert!(order.before(2, 4) && !order.before(5, 2));
        order.undo(mark);
        assert_eq!((relation(&order), order.edge_count(), order.edges_in(4).count()), (before, 0, 0));
        assert_eq!(order.insert(edge(5, 2), &mut Follow), Ok(()));
    }
}
