//! Decides whether the chains of all locations can be put in an order.
//!
//! Chains are numbered in the order in which a pass came to them, and nearly all edges lead from lower to higher
//! numbers. An edge that leads back, from a to b < a, *spans* the nodes from b to a. A cycle goes up only over nodes
//! that its edges back have spanned. So all nodes of a cycle are spanned, and none of its edges is longer than the
//! longest stretch of spanned nodes. Few edges meet these conditions. Kahn's algorithm runs on them: it takes away
//! nodes that nothing precedes, until no node is left, or only nodes that a cycle precedes.

use budget::{Budget, GaveUp, growth};

/// To grow by fewer bytes, nobody is asked.
const BYTES_UNASKED: usize = 1 << 20;
/// How many edges the buffer holds before they are stored.
const BUFFERED_EDGES: usize = 64;

/// A list of edges.
///
/// Whether a candidate is an edge cannot be predicted, so there is no branch on it. Each candidate is written to a
/// small buffer. If it is no edge, the next candidate overwrites it.
#[derive(Debug)]
pub(super) struct Edges {
    all: Vec<[u32; 2]>,
    latest: [[u32; 2]; BUFFERED_EDGES],
    count: usize,
}

impl Default for Edges {
    fn default() -> Self {
        Self { all: Vec::new(), latest: [[0, 0]; BUFFERED_EDGES], count: 0 }
    }
}

impl Edges {
    /// Forgets all edges, and makes room for so many.
    pub(super) fn start(&mut self, room: usize) {
        self.all.clear();
        self.all.reserve(room);
        self.count = 0;
    }

    /// Checks that there is room for the edges to grow.
    #[inline]
    pub(super) fn check_room(&self, budget: &Budget) -> Result<(), GaveUp> {
        let bytes = growth(self.all.len(), self.all.capacity(), size_of::<[u32; 2]>());
        if bytes < BYTES_UNASKED { Ok(()) } else { budget.check_room(bytes) }
    }

    /// Checks that there is room to look for a cycle.
    pub(super) fn check_room_to_sort(&self, budget: &Budget) -> Result<(), GaveUp> {
        budget.check_room(self.all.len() * size_of::<[u32; 2]>())
    }

    /// Adds a candidate, if it is an edge.
    #[inline]
    pub(super) fn push(&mut self, edge: [u32; 2], is_edge: bool) {
        self.latest[self.count] = edge;
        self.count += usize::from(is_edge);
        if self.count == BUFFERED_EDGES {
            self.store();
        }
    }

    /// Makes `all` hold all edges.
    #[cold]
    fn store(&mut self) {
        self.all.extend_from_slice(&self.latest[..self.count]);
        self.count = 0;
    }

    /// All edges, after [`Acyclic::holds`].
    pub(super) fn all(&self) -> &[[u32; 2]] {
        &self.all
    }
}

/// A set of nodes that knows how many of its nodes come before one.
#[derive(Debug, Default)]
struct Spanned {
    /// One bit for each node, in words. With each word stands the number of nodes in the words before it.
    words: Vec<(u64, u32)>,
    count: u32,
}

impl Spanned {
    /// Makes this the set of the nodes of all spans. Returns how far the ends of its longest stretch are apart.
    fn cover(&mut self, nodes: usize, spans: &mut [[u32; 2]]) -> u32 {
        spans.sort_unstable();
        self.words.clear();
        self.words.resize(nodes / 64 + 1, (0, 0));
        let (mut longest, mut spans) = (0, spans.iter().peekable());
        while let Some(&[begin, mut end]) = spans.next() {
            while let Some(&[_, further]) = spans.next_if(|[next, _]| *next <= end) {
                end = end.max(further);
            }
            longest = longest.max(end - begin);
            for node in begin..=end {
                self.words[node as usize / 64].0 |= 1 << (node % 64);
            }
        }
        self.count = 0;
        for (word, before) in &mut self.words {
            *before = self.count;
            self.count += word.count_ones();
        }
        longest
    }

    /// Whether the set has a node, and how many of its nodes come before that node.
    fn rank(&self, node: u32) -> (bool, u32) {
        let (word, before) = self.words[node as usize / 64];
        let bit = 1 << (node % 64);
        (word & bit != 0, before + (word & (bit - 1)).count_ones())
    }
}

/// The memory of the search.
#[derive(Debug, Default)]
pub(super) struct Acyclic {
    /// By node: how many edges into it are not taken away.
    degrees: Vec<u32>,
    /// By node: where its successors begin.
    offsets: Vec<u32>,
    successors: Vec<u32>,
    ready: Vec<u32>,
    /// The edges that lead back, each as the first and the last node that it spans.
    spans: Edges,
    spanned: Spanned,
    /// The edges that may be in a cycle, by the rank of their nodes.
    left: Edges,
}

impl Acyclic {
    /// Whether the edges over nodes `0..nodes` have no cycle. If they have one, [`Self::is_left`] tells which nodes are
    /// left.
    pub(super) fn holds(&mut self, nodes: usize, edges: &mut Edges) -> bool {
        edges.store();
        self.spans.start(0);
        for &[from, to] in &edges.all {
            self.spans.push([to, from], from > to);
        }
        self.spans.store();
        if self.spans.all.is_empty() {
            return true;
        }
        let longest = self.spanned.cover(nodes, &mut self.spans.all);
        let mut left = std::mem::take(&mut self.left);
        left.start(0);
        for &[from, to] in &edges.all {
            let near = to.saturating_sub(from) <= longest;
            let [from, to] = [from, to].map(|node| self.spanned.rank(node));
            left.push([from.1, to.1], near & from.0 & to.0);
        }
        left.store();
        let holds = self.sort(self.spanned.count as usize, &left.all, |_| ());
        self.left = left;
        holds || self.sort(nodes, &edges.all, |_| ())
    }

    /// Whether the edges over nodes `0..nodes` have no cycle. `take` is called for each node in a topological order; if
    /// there is a cycle, only for the nodes that no cycle precedes.
    pub(super) fn sort(&mut self, nodes: usize, edges: &[[u32; 2]], mut take: impl FnMut(u32)) -> bool {
        self.degrees.clear();
        self.degrees.resize(nodes, 0);
        self.offsets.clear();
        self.offsets.resize(nodes + 1, 0);
        for &[from, to] in edges {
            self.offsets[from as usize] += 1;
            self.degrees[to as usize] += 1;
        }
        let mut total = 0;
        for offset in &mut self.offsets {
            total += *offset;
            *offset = total;
        }
        if self.successors.len() < edges.len() {
            self.successors.resize(edges.len(), 0);
        }
        for &[from, to] in edges {
            let offset = &mut self.offsets[from as usize];
            *offset -= 1;
            self.successors[*offset as usize] = to;
        }
        let mut taken = 0;
        // The first nodes come first, so that nodes with close numbers are taken close together in time.
        for start in 0..nodes as u32 {
            if self.degrees[start as usize] != 0 {
                continue;
            }
            self.ready.push(start);
            while let Some(node) = self.ready.pop() {
                take(node);
                taken += 1;
                // The degree never becomes zero again, so that the node is not taken twice.
                self.degrees[node as usize] = u32::MAX;
                let successors = self.offsets[node as usize] as usize..self.offsets[node as usize + 1] as usize;
                for &next in &self.successors[successors] {
                    let degree = &mut self.degrees[next as usize];
                    *degree -= 1;
                    // A later node will be a start itself.
                    if *degree == 0 && next < start {
                        self.ready.push(next);
                    }
                }
            }
        }
        taken == nodes
    }

    /// After [`Self::sort`]: whether a node was not taken, because it is on a cycle or a cycle precedes it.
    pub(super) fn is_left(&self, node: u32) -> bool {
        self.degrees[node as usize] != u32::MAX
    }
}
