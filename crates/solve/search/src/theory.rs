//! What a theory has to do: give literals a meaning, find what follows from them, explain conflicts, and decide.
//!
//! The [loop](crate::solve) asserts and takes back literals as on a stack. So a theory needs no more than a trail of
//! what each assertion changed.

use crate::{Lit, Steps};

/// The meaning of the literals. See the [crate] for the loop that calls these methods.
pub trait Theory {
    /// What makes it impossible to go on: enough to [explain](Self::explain) it in the state that it left.
    type Conflict;
    /// The proof of a lemma.
    type Proof;
    /// What was looked for.
    type Model;
    /// A state to come back to.
    type Mark: Copy;
    /// Why a theory gives up.
    type GaveUp;

    /// The present state.
    fn mark(&self) -> Self::Mark;

    /// Takes back all assertions since a mark, also those since a conflict. Marks are gone back to in the order of a
    /// stack.
    fn undo_to(&mut self, mark: Self::Mark);

    /// Asserts a literal that does not [hold](Self::holds) yet, and finds what follows from it. It is a conflict if its
    /// negation holds.
    /// After a conflict, the kernel calls nothing but [`Self::explain`] and [`Self::undo_to`].
    fn assert(&mut self, lit: Lit, why: Why<'_>) -> Result<(), Self::Conflict>;

    /// Whether a literal follows from what is asserted (`Some(true)`), or its negation does (`Some(false)`). The
    /// answer may be `None` although one of them follows, but not for a literal that is asserted. What holds keeps
    /// holding as long as nothing is taken back.
    fn holds(&self, lit: Lit) -> Option<bool>;

    /// The literals that a conflict rests on, and the proof that they cannot all hold.
    fn explain(&mut self, conflict: Self::Conflict) -> Lemma<Self::Proof>;

    /// What to do next, now that nothing more follows. A theory [takes](Steps::take) a step for each unit of work that
    /// may take long, and looks at its deadline as often.
    fn decide(&mut self, steps: &mut Steps) -> Result<Next<Self::Model, Self::Conflict>, Self::GaveUp>;
}

/// Why a literal is asserted.
#[derive(Copy, Clone, Debug)]
pub enum Why<'a> {
    /// The theory wants to try it.
    Decided,
    /// By a clause: all its other literals are false.
    Clause {
        /// The number of the clause.
        number: u32,
        /// The negations of the others, which hold. They are in the order in which the lemma or the clause had them.
        others: &'a [Lit],
    },
}

/// What a theory wants to do next.
#[derive(Clone, Debug)]
pub enum Next<M, C> {
    /// Here is what was looked for.
    Found(M),
    /// To try a literal of which neither it nor its negation [holds](Theory::holds).
    Decide(Lit),
    /// What is asserted leads to a conflict, which no assertion showed.
    Conflict(C),
    /// To take back all decisions. What was learnt stays.
    Restart,
    /// To go on later, since there are no [steps](Steps) left. It is asked again then, in the same state.
    Pause,
}

/// Literals that cannot all hold, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lemma<P> {
    /// The literals, each of which was asserted while it was open, and was not taken back. What followed before the
    /// first decision is not among them, but belongs into the proof. One of them was asserted at a later level than all
    /// others: all decisions that the conflict rests on are such a set, and so is every cut that has one literal of the
    /// last level.
    pub refuted: Vec<Lit>,
    /// The numbers of the clauses that the proof uses.
    pub uses: Vec<u32>,
    /// The proof.
    pub proof: P,
}
