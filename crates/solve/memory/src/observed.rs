//! `sc-observed`: sequential consistency where the order in which operations were performed is known. (VC: Cain and
//! Lipasti, *Verifying Sequential Consistency Using Vector Clocks*.)
//!
//! The constraint graph has an edge from each operation to those later in its thread, and from each operation to those
//! that conflict with it and were performed later. The execution is allowed iff the graph is acyclic. Then every
//! topological order of the graph is an interleaving. The monitor `sc-observed` decides the same model while the
//! operations arrive, in bounded memory.

use history::OperationId;
use history::performed::Performed;
use model::{Decided, Evidence};
use order::Cycles;
use rustc_hash::FxHashMap;

use crate::Tactic;

/// Decides `sc-observed` for operations in the order in which they were performed.
///
/// ```
/// use model::Verdict;
/// use history::execution::Kind::{Read, Write};
/// use history::performed::Performed;
///
/// // Thread 0 writes location 0, then location 1. Thread 1 sees the second write but comes before the first.
/// let performed = [
///     Performed { thread: 0, index: 1, kind: Write, location: 1 },
///     Performed { thread: 1, index: 0, kind: Read, location: 1 },
///     Performed { thread: 1, index: 1, kind: Read, location: 0 },
///     Performed { thread: 0, index: 0, kind: Write, location: 0 },
/// ];
/// assert_eq!(memory::observed::check(&performed, false).verdict, Verdict::Violation);
/// ```
pub fn check(performed: &[Performed], witness: bool) -> Decided {
    let graph = Graph::new(performed);
    let strategy = Tactic::ConstraintGraph.name();
    let order = graph.order();
    if order.len() == performed.len() {
        let evidence = witness.then(|| Evidence::Interleaving(order.into_iter().map(OperationId).collect()));
        return crate::consistent(strategy, evidence);
    }
    crate::violation(strategy, Evidence::Constraints(graph.cycle(&order).into_iter().map(OperationId).collect()))
}

/// Some edges of the constraint graph, whose transitive closure has all the others.
struct Graph {
    successors: Vec<Vec<u32>>,
}

impl Graph {
    fn new(performed: &[Performed]) -> Self {
        let mut successors = vec![Vec::new(); performed.len()];
        let mut program: Vec<u32> = (0..performed.len() as u32).collect();
        program.sort_unstable_by_key(|&at| (performed[at as usize].thread, performed[at as usize].index));
        for pair in program.windows(2) {
            if performed[pair[0] as usize].thread == performed[pair[1] as usize].thread {
                successors[pair[0] as usize].push(pair[1]);
            }
        }
        // By location: the last write, and the reads after it.
        let mut last: FxHashMap<u32, (Option<u32>, Vec<u32>)> = FxHashMap::default();
        for (at, operation) in (0..).zip(performed) {
            if !operation.kind.reads() && !operation.kind.writes() {
                continue;
            }
            let (write, reads) = last.entry(operation.location).or_default();
            if let Some(write) = *write {
                successors[write as usize].push(at);
            }
            if operation.kind.writes() {
                reads.drain(..).for_each(|read| successors[read as usize].push(at));
                *write = Some(at);
            } else {
                reads.push(at);
            }
        }
        Self { successors }
    }

    /// A topological order of all operations that no cycle leads to.
    fn order(&self) -> Vec<u32> {
        let mut incoming = vec![0u32; self.successors.len()];
        for &to in self.successors.iter().flatten() {
            incoming[to as usize] += 1;
        }
        let mut order: Vec<u32> = (0..incoming.len() as u32).filter(|&at| incoming[at as usize] == 0).collect();
        let mut at = 0;
        while let Some(&from) = order.get(at) {
            for &to in &self.successors[from as usize] {
                incoming[to as usize] -= 1;
                if incoming[to as usize] == 0 {
                    order.push(to);
                }
            }
            at += 1;
        }
        order
    }

    /// A cycle, given that `order` does not have all operations: a shortest one through one of its operations.
    fn cycle(&self, order: &[u32]) -> Vec<u32> {
        let mut ordered = vec![false; self.successors.len()];
        for &at in order {
            ordered[at as usize] = true;
        }
        // Each operation without a place in the order has such an operation before it. So the way back ends in a cycle.
        let mut before = vec![u32::MAX; self.successors.len()];
        for (from, successors) in (0..).zip(&self.successors) {
            for &to in successors.iter().filter(|_| !ordered[from as usize]) {
                before[to as usize] = from;
            }
        }
        let mut at = ordered.iter().position(|&ordered| !ordered).expect("not all are ordered") as u32;
        for _ in 0..before.len() {
            at = before[at as usize];
        }
        let mut cycles = Cycles::new(self.successors.len());
        cycles.shortest(at, |at| &self.successors[at as usize]).expect("it is on a cycle")
    }
}
