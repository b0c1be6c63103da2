//! An order over chains as suffix minima, with one tree for each pair of chains. [`order::Saturation`] is measured
//! against it.
//!
//! For each pair of chains, and each event of the first chain, the structure has the earliest event of the second chain
//! to which an edge of the closure leads. So the earliest event of the second chain after an event is the minimum over
//! the event and all later events of its chain. A second tree, the mirror image, tells the latest event of a chain
//! before an event. Both are Fenwick trees. An edge costs O(k^2 log n), whatever it changes, and a query O(log n). No
//! event has a clock.

/// There is no such event.
const NONE: u32 = u32::MAX;

/// A Fenwick tree of minima over prefixes.
#[derive(Clone)]
struct Minima(Vec<u32>);

impl Minima {
    fn new(count: usize) -> Self {
        Self(vec![NONE; count + 1])
    }

    fn lower(&mut self, at: u32, value: u32) {
        let mut at = at as usize + 1;
        while at < self.0.len() {
            self.0[at] = self.0[at].min(value);
            at += at & at.wrapping_neg();
        }
    }

    /// The minimum up to a place.
    fn least(&self, at: u32) -> u32 {
        let mut at = at as usize + 1;
        let mut least = NONE;
        while at > 0 {
            least = least.min(self.0[at]);
            at &= at - 1;
        }
        least
    }
}

/// The order. Events are numbered chain by chain.
pub struct SuffixMinima {
    starts: Vec<u32>,
    chains: Vec<u32>,
    /// For each pair of chains, over the events of the first chain from its end: the first event of the second chain
    /// that comes after them.
    after: Vec<Minima>,
    /// For each pair of chains, over the events of the first chain from its beginning: the last event of the second
    /// chain that comes before them, as its distance from the end.
    before: Vec<Minima>,
}

impl SuffixMinima {
    /// Chains without further edges. `starts` has their first events, and the number of all events at the end.
    pub fn new(starts: &[u32]) -> Self {
        let count = starts.len() - 1;
        let mut chains = Vec::new();
        for chain in 0..count {
            chains.resize(starts[chain + 1] as usize, chain as u32);
        }
        let trees = || {
            let lengths = starts.windows(2).map(|bounds| (bounds[1] - bounds[0]) as usize);
            lengths.flat_map(|length| vec![Minima::new(length); count]).collect()
        };
        Self { starts: starts.to_vec(), chains, after: trees(), before: trees() }
    }

    fn chain(&self, event: u32) -> usize {
        self.chains[event as usize] as usize
    }

    fn distance_to_end(&self, event: u32) -> u32 {
        self.starts[self.chain(event) + 1] - 1 - event
    }

    /// The first event of a chain that is after an event or the event itself.
    fn first_after(&self, event: u32, chain: usize) -> Option<u32> {
        let own = self.chain(event);
        if own == chain {
            return Some(event);
        }
        let first = self.after[own * (self.starts.len() - 1) + chain].least(self.distance_to_end(event));
        (first != NONE).then_some(first)
    }

    /// The last event of a chain that is before an event or the event itself.
    fn last_before(&self, event: u32, chain: usize) -> Option<u32> {
        let own = self.chain(event);
        if own == chain {
            return Some(event);
        }
        let least = self.before[own * (self.starts.len() - 1) + chain].least(event - self.starts[own]);
        (least != NONE).then(|| self.starts[chain + 1] - 1 - least)
    }

    /// Whether `a` comes before `b`; an event comes before itself.
    pub fn before(&self, a: u32, b: u32) -> bool {
        self.first_after(a, self.chain(b)).is_some_and(|first| first <= b)
    }

    /// Adds an edge, unless it would close a cycle. The answer is whether it was added.
    pub fn insert(&mut self, from: u32, to: u32) -> bool {
        if self.before(to, from) {
            return false;
        }
        if self.before(from, to) {
            return true;
        }
        let count = self.starts.len() - 1;
        let sources: Vec<Option<u32>> = (0..count).map(|chain| self.last_before(from, chain)).collect();
        let targets: Vec<Option<u32>> = (0..count).map(|chain| self.first_after(to, chain)).collect();
        for (source_chain, source) in sources.into_iter().enumerate() {
            let Some(source) = source else { continue };
            for (target_chain, &target) in targets.iter().enumerate() {
                let Some(target) = target.filter(|_| source_chain != target_chain) else { continue };
                if !self.before(source, target) {
                    let (source_end, target_start) = (self.distance_to_end(source), target - self.starts[target_chain]);
                    self.after[source_chain * count + target_chain].lower(source_end, target);
                    self.before[target_chain * count + source_chain].lower(target_start, source_end);
                }
            }
        }
        true
    }
}
