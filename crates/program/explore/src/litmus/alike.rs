//! Threads of a test with the same code, and the names under which they are observed.

use super::machine::kind;
use super::{Limits, Test};

/// So many ways to change names are taken. A test with more is explored as if all of its threads were different.
const MOST_NAMES: usize = 5040;

impl Test {
    /// The threads that have the same code, if executions that differ in their names are to be left out.
    pub(super) fn alike(&self, limits: Limits) -> Vec<Vec<u32>> {
        if !limits.symmetry || limits.witnesses {
            return Vec::new();
        }
        let threads = 0..self.threads.len() as u32;
        let groups = threads.clone().map(|first| {
            let is_like = |&thread: &u32| kind(&self.threads, thread) == first;
            threads.clone().filter(is_like).collect::<Vec<u32>>()
        });
        let groups: Vec<_> = groups.filter(|group| group.len() > 1).collect();
        let ways = groups.iter().map(|group| {
            let observed = group.iter().filter(|&&thread| self.observed.iter().any(|it| it.thread == Some(thread)));
            (0..observed.count()).fold(1_usize, |ways, taken| ways.saturating_mul(group.len() - taken))
        });
        if ways.fold(1_usize, usize::saturating_mul) > MOST_NAMES { Vec::new() } else { groups }
    }

    /// All names under which the threads of an execution may be observed: for each register that is observed, the
    /// thread of which it is. Empty if no threads are alike.
    pub(super) fn names(&self, alike: &[Vec<u32>]) -> Vec<Vec<u32>> {
        if alike.is_empty() {
            return Vec::new();
        }
        let mut all: Vec<Vec<(u32, u32)>> = vec![Vec::new()];
        let mut observed: Vec<u32> = self.observed.iter().filter_map(|variable| variable.thread).collect();
        let of_variables = observed.clone();
        observed.sort_unstable();
        observed.dedup();
        for thread in observed {
            let others = alike.iter().find(|group| group.contains(&thread)).cloned().unwrap_or_else(|| vec![thread]);
            all = all
                .iter()
                .flat_map(|names| {
                    let free = others.iter().filter(|&&other| names.iter().all(|&(_, taken)| taken != other));
                    free.map(|&other| names.iter().copied().chain([(thread, other)]).collect::<Vec<_>>())
                })
                .collect();
        }
        let of = |names: &[(u32, u32)], thread: u32| {
            names.iter().find(|&&(old, _)| old == thread).map_or(thread, |&(_, new)| new)
        };
        all.iter().map(|names| of_variables.iter().map(|&thread| of(names, thread)).collect()).collect()
    }
}
