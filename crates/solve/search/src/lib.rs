//! Conflict-driven search modulo a theory.
//!
//! Use this crate to write an engine that must choose: which of two writes comes first, or which write a read is from.
//! To check a history, use the crate `seriatim` instead.
//!
//! **What is looked for.** A [`Theory`] gives a meaning to [literals](Lit), such as 'write 3 comes before write 7', and
//! says which sets of them can hold together. Some *clauses* may be given, each a list of literals of which one must
//! hold. The search looks for literals that can hold together, satisfy all clauses, and are enough for the theory to
//! build its *model* from them; or for a proof that there are none. Variables are made when they are first asked for.
//!
//! **The way.** The [`Search`] keeps a *trail* of literals that hold now, in *levels*. Level 0 holds in any case; each
//! further level begins with a *decision*, a literal that is tried. It repeats three things:
//! 1. *Propagate.* The theory is asked which variables of clauses have a value now. If all literals of a clause but one
//!    are false, the last one is asserted. Whenever the theory is told of a literal, it finds what follows, or a
//!    conflict.
//! 2. *Learn.* The theory explains a conflict: some literals of the trail cannot all hold. This is a *lemma*, and its
//!    negated literals are one more clause. The search goes back to the first level at which all but one of them hold,
//!    and asserts the negation of that one. A lemma without literals refutes everything.
//! 3. *Decide.* If nothing follows any more, the theory says what to try next; or it has its model.
//!
//! | module | what |
//! | --- | --- |
//! | [`theory`] | what a theory has to do |
//! | [`solve`] | the loop |
//! | `clauses` | the clauses, with two watched literals each |
//! | [`lit`] | literals; variables for pairs |
//! | [`mod@knobs`] | the numbers of an engine that a benchmark may set |
//! | [`turns`] | steps, and turns of steps for portfolios |
//! | `sat` | what stops a SAT solver, for engines that ask one instead |
//!
//! **Invariants.**
//! - Each literal of the trail is entailed: by the theory, the clauses, and the decisions up to its level. So each
//!   lemma is entailed by the theory and the clauses before it, and has its own proof, which names the lemmas that it
//!   uses.
//! - Between propagation and decision, each clause has a true literal or two that are not false; and no variable of a
//!   clause has a value by the theory that is not on the trail.
//! - What is on the trail at a level was not on it before that level began, and going back to a level restores the
//!   theory and the trail of that level.
//!
//! **Why it ends.** Let there be finitely many variables, v of them, and let it not be paused.
//! - A decision is a literal that has no value, and each level has one. So there are at most v levels, and propagation
//!   ends, since each assertion gives a value to one more variable.
//! - One literal of a lemma is of a later level than all others. If the lemma had been a clause before, that literal
//!   would have become false at the level of the others, since propagation ends before a level does. So no lemma is
//!   learnt twice, and there are finitely many sets of literals. This holds whatever the decisions are, and with
//!   restarts.
//! - Without the reuse of lemmas ([`Search::without_reuse`]) and restarts: a lemma adds a literal to a level below the
//!   last, so the list of how many literals each level has, from level 0 on, grows lexicographically; and the sum is at
//!   most v.
//!
//! ```
//! use search::{Lemma, Lit, Next, Ending, Pairs, Search, Steps, Theory, Why};
//!
//! /// Items 0, 1 and 2 in a row, such that item 2 is not in the middle.
//! #[derive(Default)]
//! struct Row {
//!     pairs: Pairs,
//!     asserted: Vec<(Lit, Vec<Lit>, Option<u32>)>,
//! }
//!
//! impl Row {
//!     fn before(&self, a: u32, b: u32) -> bool {
//!         self.asserted.iter().any(|&(lit, ..)| self.pairs.of(lit) == (a, b))
//!     }
//! }
//!
//! impl Theory for Row {
//!     type Conflict = Vec<Lit>;
//!     type Proof = &'static str;
//!     type Model = [bool; 3];
//!     type Mark = usize;
//!     type GaveUp = std::convert::Infallible;
//!
//!     fn mark(&self) -> usize {
//!         self.asserted.len()
//!     }
//!
//!     fn undo_to(&mut self, mark: usize) {
//!         self.asserted.truncate(mark);
//!     }
//!
//!     fn assert(&mut self, lit: Lit, why: Why<'_>) -> Result<(), Vec<Lit>> {
//!         let (others, by) = match why {
//!             Why::Decided => (vec![lit], None),
//!             Why::Clause { number, others } => (others.to_vec(), Some(number)),
//!         };
//!         let was_refuted = self.holds(lit) == Some(false);
//!         self.asserted.push((lit, others, by));
//!         if was_refuted {
//!             return Err(vec![lit, !lit]);
//!         }
//!         for (a, b) in [(0, 1), (1, 0)] {
//!             if self.before(a, 2) && self.before(2, b) {
//!                 return Err(vec![self.pairs.lit(a, 2), self.pairs.lit(2, b)]);
//!             }
//!         }
//!         Ok(())
//!     }
//!
//!     fn holds(&self, lit: Lit) -> Option<bool> {
//!         let of = |&(other, ..): &(Lit, _, _)| (other.variable() == lit.variable()).then_some(other == lit);
//!         self.asserted.iter().find_map(of)
//!     }
//!
//!     fn explain(&mut self, conflict: Vec<Lit>) -> Lemma<&'static str> {
//!         let used = |lit: &Lit| self.asserted.iter().find(|(other, ..)| other == lit).expect("it is asserted");
//!         let uses = conflict.iter().filter_map(|lit| used(lit).2).collect();
//!         let refuted = conflict.iter().flat_map(|lit| used(lit).1.clone()).collect();
//!         Lemma { refuted, uses, proof: "2 would be in the middle" }
//!     }
//!
//!     fn decide(&mut self, _: &mut Steps) -> Result<Next<[bool; 3], Vec<Lit>>, Self::GaveUp> {
//!         let lits = [(0, 2), (2, 1), (0, 1)].map(|(a, b)| self.pairs.lit(a, b));
//!         let open = lits.into_iter().find(|&lit| self.holds(lit).is_none());
//!         Ok(open.map_or_else(|| Next::Found(lits.map(|lit| self.holds(lit) == Some(true))), Next::Decide))
//!     }
//! }
//!
//! let mut search = Search::new(Row::default());
//! // 0 comes before 2, and so does 1; it does not matter how they are ordered.
//! assert_eq!(search.run(&mut Steps::new(100)), Ok(Ending::Found([true, false, true])));
//! assert_eq!(search.effort().lemmas, 1);
//! ```

mod clauses;
pub mod knobs;
pub mod lit;
#[cfg(feature = "sat")]
pub mod sat;
pub mod solve;
pub mod theory;
pub mod turns;

pub use lit::{Lit, Pairs};
pub use solve::{Effort, Ending, Refutation, Search};
pub use theory::{Lemma, Next, Theory, Why};
pub use turns::{Steps, Turn, Turns};
