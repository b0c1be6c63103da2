//! Looks for a choice of sources that contains no no-good.
//!
//! A no-good is a set of choices that cannot all hold. Reads are decided one after the other. A candidate is out if
//! some no-good contains it and, for the rest, only choices that are made already. If all candidates of a read are
//! out, the rest of these no-goods together is a new no-good: whatever the source of that read is, they cannot all
//! hold. (For an optional read, the choice to read from it belongs to the new no-good.) Then the last of the choices
//! of the new no-good is taken back, and with it all that were made after it. This is conflict-directed backjumping;
//! every no-good is kept.
//!
//! Reads that were often to blame are decided first, after each restart, so that conflicts stay among few reads.

use certificate::{Because, Case, Choice, GaveUp, Interrupt};
use history::OpenExecution;
use history::execution::EventId;
use rustc_hash::FxHashMap;

use super::conflict::Conflict;
use super::guess::Guess;
use super::{Sources, choice, operation};

/// How many choices all no-goods together may have.
const MOST_CHOICES: usize = 1 << 24;
/// After so many conflicts, the search begins again.
const CONFLICTS_UNTIL_RESTART: u64 = 64;

/// What the search found.
pub(super) enum Next {
    /// A choice without no-goods.
    Chosen,
    /// There is no such choice.
    NoneLeft,
}

/// Choices that cannot all hold.
struct NoGood {
    /// Sorted by the numbers of the reads.
    choices: Vec<(usize, EventId)>,
    reason: Reason,
}

/// Why the choices of a no-good cannot all hold.
enum Reason {
    /// The model refuses them.
    Refused(Box<certificate::Evidence>),
    /// Together with each candidate of this read, one of these no-goods.
    NoneLeft(usize, Vec<usize>),
}

pub(super) struct Search<'a> {
    open: &'a OpenExecution,
    guess: &'a Guess,
    chosen: Sources,
    /// The source that was last chosen for each read, or was guessed. It is tried first.
    last: Sources,
    /// The reads in the order in which they were decided.
    trail: Vec<usize>,
    /// The place of each read on the trail.
    places: Vec<usize>,
    /// The reads that always need a source, in the order in which they are decided, and the place of each in it.
    order: Vec<usize>,
    ranks: Vec<usize>,
    /// All reads before this place of the order are decided.
    decided: usize,
    /// Optional reads that are read from, and are to be decided at once.
    needed: Vec<usize>,
    /// The candidates of a read in the order in which they are tried, once they were asked for.
    candidates: FxHashMap<usize, Vec<EventId>>,
    no_goods: Vec<NoGood>,
    /// The no-goods that contain a choice.
    containing: FxHashMap<(usize, EventId), Vec<usize>>,
    /// How many choices all no-goods have.
    size: usize,
    /// How often each read was to blame, the last conflicts counting more.
    blame: Vec<f64>,
    blame_step: f64,
    conflicts: u64,
    /// The empty no-good, once it was found.
    refutation: Option<usize>,
}

impl<'a> Search<'a> {
    pub(super) fn new(open: &'a OpenExecution, guess: &'a Guess) -> Self {
        let count = open.reads().len();
        let mut order: Vec<usize> = (0..count).filter(|&read| !open.reads()[read].is_optional).collect();
        order.sort_by_key(|&read| guess.places[open.reads()[read].event.index()]);
        let mut search = Self {
            open,
            guess,
            chosen: vec![None; count],
            last: guess.chosen.clone(),
            trail: Vec::new(),
            places: vec![usize::MAX; count],
            order,
            ranks: vec![usize::MAX; count],
            decided: 0,
            needed: Vec::new(),
            candidates: FxHashMap::default(),
            no_goods: Vec::new(),
            containing: FxHashMap::default(),
            size: 0,
            blame: vec![0.0; count],
            blame_step: 1.0,
            conflicts: 0,
            refutation: None,
        };
        search.rank();
        search
    }

    /// The source of each open read. An optional read may have none.
    pub(super) fn chosen(&self) -> &[Option<EventId>] {
        &self.chosen
    }

    pub(super) fn into_chosen(self) -> Sources {
        self.chosen
    }

    /// Finds the next choice that contains no no-good.
    pub(super) fn next(&mut self, interrupt: Interrupt) -> Result<Next, GaveUp> {
        loop {
            if self.refutation.is_some() {
                return Ok(Next::NoneLeft);
            }
            let Some(read) = self.next_read() else { return Ok(Next::Chosen) };
            match self.candidate(read) {
                Ok(source) => self.choose(read, source),
                Err(no_goods) => {
                    interrupt.check()?;
                    if self.size > MOST_CHOICES {
                        return Err(GaveUp::Places);
                    }
                    let no_good = self.without(read, no_goods);
                    self.add(no_good);
                }
            }
        }
    }

    /// Learns that the model refuses some choices, which are all made.
    pub(super) fn learn(&mut self, conflict: Conflict) {
        let Conflict { reads: mut choices, evidence } = conflict;
        choices.sort_unstable();
        self.add(NoGood { choices, reason: Reason::Refused(Box::new(evidence)) });
    }

    /// The no-goods that lead to the empty one, as evidence.
    pub(super) fn cases(&self) -> Vec<Case> {
        let mut is_used = vec![false; self.no_goods.len()];
        let mut todo: Vec<usize> = self.refutation.into_iter().collect();
        while let Some(at) = todo.pop() {
            if std::mem::replace(&mut is_used[at], true) {
                continue;
            }
            if let Reason::NoneLeft(_, by) = &self.no_goods[at].reason {
                todo.extend(by);
            }
        }
        let mut numbers = vec![u32::MAX; self.no_goods.len()];
        let mut cases = Vec::new();
        for (at, no_good) in self.no_goods.iter().enumerate().filter(|&(at, _)| is_used[at]) {
            numbers[at] = cases.len() as u32;
            let choices: Vec<Choice> =
                no_good.choices.iter().map(|&(read, source)| choice(self.open, read, source)).collect();
            let because = match &no_good.reason {
                Reason::Refused(evidence) => Because::Violation((**evidence).clone()),
                Reason::NoneLeft(read, by) => Because::NoneLeft {
                    read: operation(self.open, *read),
                    cases: by.iter().map(|&at| numbers[at]).collect(),
                },
            };
            cases.push(Case { choices, because });
        }
        cases
    }

    /// The next read that needs a source.
    fn next_read(&mut self) -> Option<usize> {
        while let Some(read) = self.needed.pop() {
            if self.chosen[read].is_none() {
                return Some(read);
            }
        }
        while let Some(&read) = self.order.get(self.decided) {
            if self.chosen[read].is_none() {
                return Some(read);
            }
            self.decided += 1;
        }
        None
    }

    /// The first candidate that is not out; or, for each candidate, a no-good that takes it out.
    fn candidate(&mut self, read: usize) -> Result<EventId, Vec<usize>> {
        if let Some(last) = self.last[read]
            && self.taken_out(read, last).is_none()
        {
            return Ok(last);
        }
        let candidates = self.candidates.entry(read).or_insert_with(|| self.guess.candidates(self.open, read));
        // The list is put back at the end.
        let candidates = std::mem::take(candidates);
        let mut out = Vec::with_capacity(candidates.len());
        let mut found = None;
        for &source in &candidates {
            let Some(no_good) = self.taken_out(read, source) else {
                found = Some(source);
                break;
            };
            out.push(no_good);
        }
        self.candidates.insert(read, candidates);
        found.ok_or(out)
    }

    /// A no-good that contains this choice and, for the rest, only choices that are made.
    fn taken_out(&self, read: usize, source: EventId) -> Option<usize> {
        let no_goods = self.containing.get(&(read, source))?;
        no_goods.iter().copied().find(|&at| {
            let mut others = self.no_goods[at].choices.iter().filter(|&&(other, _)| other != read);
            others.all(|&(other, source)| self.chosen[other] == Some(source))
        })
    }

    fn choose(&mut self, read: usize, source: EventId) {
        self.chosen[read] = Some(source);
        self.last[read] = Some(source);
        self.places[read] = self.trail.len();
        self.trail.push(read);
        if let Some(source) = self.open.find(source).filter(|&at| self.open.reads()[at].is_optional) {
            self.needed.push(source);
        }
    }

    /// The no-good that follows since all candidates of a read are out.
    fn without(&self, read: usize, mut by: Vec<usize>) -> NoGood {
        by.sort_unstable();
        by.dedup();
        let all = by.iter().flat_map(|&at| &self.no_goods[at].choices);
        let mut choices: Vec<(usize, EventId)> = all.copied().filter(|&(other, _)| other != read).collect();
        let open = self.open.reads()[read];
        if open.is_optional && !choices.iter().any(|&(_, source)| source == open.event) {
            let reader = self.trail.iter().find(|&&other| self.chosen[other] == Some(open.event));
            choices.extend(reader.map(|&reader| (reader, open.event)));
        }
        choices.sort_unstable();
        choices.dedup();
        NoGood { choices, reason: Reason::NoneLeft(read, by) }
    }

    /// Adds a no-good whose choices are all made, and takes the last of them back.
    fn add(&mut self, no_good: NoGood) {
        let at = self.no_goods.len();
        self.size += no_good.choices.len();
        let last = no_good.choices.iter().map(|&(read, _)| self.places[read]).max();
        for &(read, source) in &no_good.choices {
            self.containing.entry((read, source)).or_default().push(at);
            self.blame[read] += self.blame_step;
        }
        self.no_goods.push(no_good);
        let Some(last) = last else {
            self.refutation = Some(at);
            return;
        };
        self.conflicts += 1;
        self.blame_step *= 1.05;
        if self.blame_step > 1e100 {
            self.blame.iter_mut().for_each(|blame| *blame /= 1e100);
            self.blame_step /= 1e100;
        }
        if self.conflicts.is_multiple_of(CONFLICTS_UNTIL_RESTART) {
            self.undo(0);
            let blame = &self.blame;
            self.order.sort_by(|&a, &b| blame[b].total_cmp(&blame[a]));
            self.rank();
        } else {
            let read = self.trail[last];
            self.undo(last);
            if self.open.reads()[read].is_optional {
                self.needed.push(read);
            }
        }
    }

    fn rank(&mut self) {
        for (rank, &read) in self.order.iter().enumerate() {
            self.ranks[read] = rank;
        }
    }

    /// Takes back all choices from this place of the trail on.
    fn undo(&mut self, to: usize) {
        for read in self.trail.drain(to..) {
            self.chosen[read] = None;
            self.places[read] = usize::MAX;
            self.decided = self.decided.min(self.ranks[read]);
        }
        self.needed.clear();
    }
}
