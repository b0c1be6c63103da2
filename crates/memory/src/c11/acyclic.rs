//! Whether the chains of all locations can be put in an order.
//!
//! Chains are numbered in the order in which a pass came to them. Edges lead from lower to higher numbers in most
//! executions, and if all do there is nothing to look for. Otherwise Kahn's algorithm: take away what nothing precedes,
//! until nothing is left or a cycle is.

/// The memory of the search.
#[derive(Debug, Default)]
pub(super) struct Acyclic {
    /// By node: how many edges into it are left.
    degrees: Vec<u32>,
    /// By node: where its successors begin.
    offsets: Vec<u32>,
    successors: Vec<u32>,
    ready: Vec<u32>,
}

impl Acyclic {
    /// Whether the edges over nodes `0..nodes` have no cycle. `take` is called for each node in a topological order; when
    /// there is a cycle, only for those that no cycle precedes.
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
        // From the first node on, so that what is near together in numbers is taken near together in time.
        for start in 0..nodes as u32 {
            if self.degrees[start as usize] != 0 {
                continue;
            }
            self.ready.push(start);
            while let Some(node) = self.ready.pop() {
                take(node);
                taken += 1;
                // Never zero again, so that it is not taken twice.
                self.degrees[node as usize] = u32::MAX;
                let successors = self.offsets[node as usize] as usize..self.offsets[node as usize + 1] as usize;
                for &next in &self.successors[successors] {
                    let degree = &mut self.degrees[next as usize];
                    *degree -= 1;
                    // A later one will be a start itself.
                    if *degree == 0 && next < start {
                        self.ready.push(next);
                    }
                }
            }
        }
        taken == nodes
    }

    /// After [`Self::sort`]: whether a node was not taken, because a cycle precedes it or it is in one.
    pub(super) fn is_left(&self, node: u32) -> bool {
        self.degrees[node as usize] != u32::MAX
    }
}
