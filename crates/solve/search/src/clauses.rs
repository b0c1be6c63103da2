//! Clauses, and which of them to look at when a literal becomes false.
//!
//! A clause of two or more literals watches its first two. Invariant, whenever all clauses were looked at that watch a
//! literal which became false: of the two watched literals none is false, or the other is true. So a clause of which
//! all literals but one are false is found when the last of them becomes false, and nothing has to be done when
//! literals are taken back.

use crate::Lit;

/// The clauses. Each has a number.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clauses {
    /// The literals of all clauses, and where those of each begin. Those of the last end where all do.
    lits: Vec<Lit>,
    starts: Vec<usize>,
    /// By literal: the clauses that watch it.
    watches: Vec<Vec<u32>>,
}

/// What came of a look at a clause.
pub(crate) enum Looked {
    /// It watches another literal now.
    Moved,
    /// One of its literals is true.
    Satisfied,
    /// All its literals are false, but perhaps this one.
    Unit(Lit),
}

impl Clauses {
    /// Makes room for the literals of more variables.
    pub(crate) fn grow(&mut self, variables: usize) {
        if self.watches.len() < 2 * variables {
            self.watches.resize_with(2 * variables, Vec::new);
        }
    }

    /// Adds a clause that watches its first two literals.
    pub(crate) fn add(&mut self, lits: impl IntoIterator<Item = Lit>) {
        let (number, start) = (self.starts.len() as u32, self.lits.len());
        self.starts.push(start);
        self.lits.extend(lits);
        if let [first, second, ..] = self.lits[start..] {
            self.watches[first.index()].push(number);
            self.watches[second.index()].push(number);
        }
    }

    /// A clause that watches a literal, the `at`th of them.
    pub(crate) fn watching(&self, lit: Lit, at: usize) -> Option<u32> {
        self.watches[lit.index()].get(at).copied()
    }

    /// Looks at the `at`th of the clauses that watch a literal, which is false now.
    pub(crate) fn look(&mut self, lit: Lit, at: usize, value: impl Fn(Lit) -> Option<bool>) -> Looked {
        let number = self.watches[lit.index()][at] as usize;
        let end = self.starts.get(number + 1).copied().unwrap_or(self.lits.len());
        let lits = &mut self.lits[self.starts[number]..end];
        if lits[0] == lit {
            lits.swap(0, 1);
        }
        if value(lits[0]) == Some(true) {
            return Looked::Satisfied;
        }
        let Some(other) = (2..lits.len()).find(|&other| value(lits[other]) != Some(false)) else {
            return Looked::Unit(lits[0]);
        };
        lits.swap(1, other);
        let watched = lits[1];
        self.watches[lit.index()].swap_remove(at);
        self.watches[watched.index()].push(number as u32);
        Looked::Moved
    }
}
