//! A minimal counterexample: a few operations of a violating history that still violate the model.
//!
//! Operations are removed only where that is *sound*: if a history is consistent, what is left of it is consistent,
//! too. So what is left of a violating history, and still violates, shows a clash of the whole history, and not one
//! that the removal made. An [item](Item) is what is removed at a time. An item may *need* others: they say where its
//! value comes from. An item is never kept without the items that it needs.
//!
//! Because removals are sound, an item that cannot be removed once can never be removed later, when less is left. So
//! every item is tried once, at most. First come the operations that the evidence names, then whole threads, then the
//! rest in ever smaller groups. All of this is done with the evidence of the model and of some weaker models, and the
//! result with the fewest threads, and then with the fewest operations, is taken. The result is minimal: without any
//! one of its items, and those that need it, it is consistent.

mod needs;
#[cfg(test)]
mod tests;
mod transactions;

use std::cmp::Reverse;

use history::{BuildError, History, HistoryEvent, ProcessId, Replay};
use model::implies;
use model::object::Core;
use model::{Evidence, Model, Verdict, View};

use crate::{Checker, Decision, Misfit, Options, check};

/// A violating history, and what was made of it.
#[derive(Debug)]
#[non_exhaustive]
pub struct Shrunk {
    /// The operations that are left, as a history of their own. They keep the numbers of their lines.
    pub history: History,
    /// Why they violate the model.
    pub decision: Decision,
    /// Whether the history is minimal: without any one of its operations, and those that need it, it is consistent. It
    /// may not be minimal if some check gave up.
    pub is_minimal: bool,
    /// How many histories were checked.
    pub checks: u32,
}

/// Why a history cannot be shrunk.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ShrinkError {
    /// The model does not fit the history.
    #[error(transparent)]
    Misfit(#[from] Box<Misfit>),
    /// The history does not violate the model, or nobody knows.
    #[error("{}: {}, so there is no violation to shrink", .0.model, .0.verdict.name())]
    NoViolation(Decision),
}

/// Shrinks a history that violates a model to a minimal one. The time limit of the options holds for each check.
///
/// ```
/// use seriatim::{History, Model, Options, shrink};
///
/// let history = seriatim::parse("[a] w x 1\n[a] w y 1\n[b] w z 1\n[b] r y 1\n[b] r x 0\n[c] r z 1\n")?;
/// let shrunk = shrink(&history, Model::Sc, &Options::default())?;
/// // Thread b sees the second write of thread a, but not the first.
/// assert_eq!(shrunk.history.operations().len(), 4);
/// assert!(shrunk.is_minimal);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn shrink(history: &History, model: Model, options: &Options) -> Result<Shrunk, ShrinkError> {
    let mut checker = Checker::new(history, options);
    let decision = checker.check(model).map_err(Box::new)?;
    if decision.verdict != Verdict::Violation {
        return Err(ShrinkError::NoViolation(decision));
    }
    if model.row().view == View::Transactions {
        return Ok(transactions::shrink(history, decision, model, options));
    }
    let mut best = Left::new(history, decision, model, options);
    best.take_named();
    best.shrink();
    for weaker in WEAKER.into_iter().filter(|&weaker| weaker != model && implies(model, weaker)) {
        let Ok(decision) = checker.check(weaker) else { continue };
        best.checks += 1;
        if decision.verdict != Verdict::Violation {
            continue;
        }
        let mut left = Left::new(history, decision, model, options);
        if left.take_named() {
            left.shrink();
            let checks = best.checks + left.checks;
            best = if left.size() < best.size() { left } else { best };
            best.checks = checks;
        }
    }
    let Left { history, decision, is_minimal, checks, .. } = best;
    Ok(Shrunk { history, decision, is_minimal, checks })
}

/// Models that are decided fast. A violation of one of them violates all models that imply it, and it may be smaller
/// than the one that the stronger model finds.
const WEAKER: [Model; 4] = [Model::Coherence, Model::Cc, Model::Ccv, Model::Ra];

/// The number of an item: an operation has its own number, and the final values come after all operations.
type Item = usize;

fn item_count(history: &History) -> usize {
    history.operations().len() + history.finals().len()
}

/// The history that the kept items make.
fn part(history: &History, kept: &[bool]) -> Result<History, BuildError> {
    let mut replay = Replay::new(history);
    let finals = &kept[history.operations().len()..];
    replay.keep_finals(finals);
    for event in history.events().filter(|event| kept[event.operation().index()]) {
        replay.play(event)?;
    }
    replay.finish()
}

/// What is left of a history, and why it violates the model.
struct Left {
    history: History,
    decision: Decision,
    model: Model,
    options: Options,
    is_minimal: bool,
    checks: u32,
}

impl Left {
    /// Nothing has been removed yet.
    fn new(history: &History, decision: Decision, model: Model, options: &Options) -> Self {
        Self { history: history.clone(), decision, model, options: options.clone(), is_minimal: true, checks: 1 }
    }

    /// How many threads and how many operations there are.
    fn size(&self) -> (usize, usize) {
        let operations = self.history.operations();
        let mut threads: Vec<ProcessId> = operations.iter().map(|operation| operation.process).collect();
        threads.sort_unstable();
        threads.dedup();
        (threads.len(), operations.len())
    }

    /// Removes what can be removed.
    fn shrink(&mut self) {
        if self.model.row().view == View::Calls {
            self.cut();
        }
        self.remove_items();
    }

    /// Takes this history instead if it violates the model, too.
    fn offer(&mut self, history: Result<History, BuildError>) -> bool {
        let Ok(history) = history else { return false };
        self.checks += 1;
        let Ok(decision) = check(&history, self.model, &self.options) else { return false };
        self.is_minimal &= decision.verdict != Verdict::Unknown;
        let is_taken = decision.verdict == Verdict::Violation;
        if is_taken {
            (self.history, self.decision) = (history, decision);
        }
        is_taken
    }

    /// The items that the evidence names.
    fn named(&self) -> Vec<Item> {
        let history = &self.history;
        let count = history.operations().len();
        let operations = self.decision.evidence.as_ref().map(Evidence::operations).unwrap_or_default();
        let observed = history.observed();
        let named = operations.into_iter().map(|id| match id.index() {
            item if item < count => item,
            // A read in the end stands for a final value.
            _ => {
                let key = observed.operation(id).key;
                count + history.finals().iter().position(|&(of, _)| of == key).expect("each of them has a final value")
            }
        });
        named.collect()
    }

    /// Takes the operations that the evidence names, and what they need. Returns whether they violate the model.
    fn take_named(&mut self) -> bool {
        let named = self.named();
        let is_stuck = matches!(self.decision.evidence, Some(Evidence::Core(Core::Stuck(_))));
        if named.is_empty() || is_stuck {
            return false;
        }
        let needs = needs::of_items(&self.history, self.model);
        let mut kept = vec![false; needs.len()];
        let mut open = named;
        while let Some(item) = open.pop() {
            if !std::mem::replace(&mut kept[item], true) {
                open.extend_from_slice(&needs[item]);
            }
        }
        self.offer(part(&self.history, &kept))
    }

    /// Cuts off what comes after the first return at which there is a violation. A call that has not returned by then
    /// is pending. Every beginning of a consistent history is consistent.
    fn cut(&mut self) {
        let whole = self.history.clone();
        let events: Vec<HistoryEvent> = whole.events().collect();
        let beginning = |length: usize| {
            let mut replay = Replay::new(&whole);
            events[..length].iter().try_for_each(|&event| replay.play(event).map(drop))?;
            replay.finish()
        };
        let last_named = |named: &[Item]| {
            let is_named = |event: &HistoryEvent| named.contains(&event.operation().index());
            events.iter().rposition(is_named).map_or(events.len(), |at| at + 1)
        };
        // No beginning of length `low` violates the model, and the one of length `high` does.
        let (mut low, mut high) = (0, events.len());
        let named = self.named();
        let guess = last_named(&named);
        if guess < high && self.offer(beginning(guess)) {
            high = guess;
        }
        if let Some(Evidence::Core(Core::Stuck(_))) = self.decision.evidence
            && high == guess
        {
            // The blamed operation is the first at whose return no order is left.
            return;
        }
        while low + 1 < high {
            let middle = low.midpoint(high);
            *(if self.offer(beginning(middle)) { &mut high } else { &mut low }) = middle;
        }
    }

    /// Removes whole threads, then groups of items, ever smaller ones.
    fn remove_items(&mut self) {
        let whole = self.history.clone();
        let mut items = Items { needs: needs::of_items(&whole, self.model), kept: vec![true; item_count(&whole)] };
        let mut threads: Vec<Vec<Item>> = vec![Vec::new(); whole.processes().len()];
        for (item, operation) in whole.operations().iter().enumerate() {
            threads[operation.process.index()].push(item);
        }
        // A thread with few operations is more likely to matter than one with many.
        threads.sort_by_key(|items| Reverse(items.len()));
        for thread in threads.iter().filter(|thread| !thread.is_empty()) {
            self.remove(&whole, &mut items, thread);
        }
        let mut size = items.left().len();
        while size > 1 {
            size = size.div_ceil(2);
            for group in items.left().chunks(size) {
                self.remove(&whole, &mut items, group);
            }
        }
    }

    /// Removes these items of the history, and those that need them, if the others violate the model.
    fn remove(&mut self, whole: &History, items: &mut Items, group: &[Item]) {
        let kept = items.without(group);
        if kept != items.kept && self.offer(part(whole, &kept)) {
            items.kept = kept;
        }
    }
}

/// The items of a history.
struct Items {
    /// For each item: the items that it needs.
    needs: Vec<Vec<Item>>,
    /// For each item: whether it is left.
    kept: Vec<bool>,
}

impl Items {
    fn left(&self) -> Vec<Item> {
        (0..self.kept.len()).filter(|&item| self.kept[item]).collect()
    }

    /// The items that are left without those of a group, and without those that need them.
    fn without(&self, group: &[Item]) -> Vec<bool> {
        let mut kept = self.kept.clone();
        for &item in group {
            kept[item] = false;
        }
        loop {
            let lost = |&item: &Item| kept[item] && self.needs[item].iter().any(|&needed| !kept[needed]);
            let lost: Vec<Item> = (0..kept.len()).filter(lost).collect();
            if lost.is_empty() {
                return kept;
            }
            for item in lost {
                kept[item] = false;
            }
        }
    }
}
