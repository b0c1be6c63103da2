//! A run: an interleaving in a frame, looked for without saturation.
//!
//! Threads take turns ([`Interleaving`]). If all threads wait, they wait for each other in a circle. A thread waits for
//! an event that must come first. Or it waits with a write, for a reader of the last write of the location. Of these
//! pairs of writes, one must be turned round: the last write goes back, and must now come after the write that waits.
//! Which pair it is, is a *guess*. The first guess is the pair that looks most wrong by the [ages](Ages) of its writes.
//! If a circle has no pair left, some guess before was wrong. It is the latest of those that the circle depends on.
//! Then the next pair of its circle is turned round instead. Each read and each guess corrects the ages.
//!
//! If guesses do not help soon, the run is stuck. What went by then explains its reads, and only the
//! [rest](super::rest) is saturated and searched.
//!
//! Invariant: what went explains its reads, and no write among it that still has readers to come is overwritten.

use std::cell::OnceCell;

use order::saturation::NONE;
use rustc_hash::FxHashMap;

use super::frame::Frame;
use super::interleaving::{Gone, Interleaving};
use super::saturate::Ages;
use crate::knobs::StoreKnobs;
use crate::writes::Readers;
use model::Budget;

/// How many events go between two looks at the time.
const EVENTS_PER_TIME_CHECK: usize = 1 << 12;

/// Two writes of a location. The first went, and the second waits for readers of the first.
type Pair = (u32, u32);

/// A circle in which threads waited, and what was guessed.
#[derive(Debug)]
struct Guess {
    /// Its number.
    id: u32,
    /// The pair that is turned round.
    turned: Pair,
    /// The pairs that were turned round before, in vain.
    tried: Vec<Pair>,
    /// The pairs that are left. The next is the last.
    left: Vec<Pair>,
    /// The guesses before it that it depends on: without one of them, there might be another pair.
    because: Vec<u32>,
}

/// What a thread waits for.
#[derive(Copy, Clone, Debug)]
enum Wait {
    /// A predecessor in the frame, or the reader of a write that cannot go back.
    Fixed(u32),
    /// A predecessor by a guess.
    Guessed(u32, u32),
    /// A reader of the first write of a pair.
    Reader(u32, Pair),
}

/// How a run ended.
#[derive(Clone, Debug)]
pub enum Ran {
    /// All events went, in this order.
    Complete(Vec<u32>),
    /// The run was stuck, or out of time, after these events. The guesses behind them were in vain.
    Stuck(Vec<u32>),
}

/// Runs in a frame, if the knobs allow guesses.
pub fn run(frame: &Frame<'_>, knobs: StoreKnobs, budget: &Budget) -> Ran {
    if knobs.guesses == 0 {
        return Ran::Stuck(Vec::new());
    }
    let mut run = GreedyInterleaving::new(frame, knobs);
    let count = run.go_on(budget);
    let line = run.interleaving.line().take(count).collect();
    if run.interleaving.is_complete() { Ran::Complete(line) } else { Ran::Stuck(line) }
}

/// A run. See the [module](self).
struct GreedyInterleaving<'a> {
    frame: &'a Frame<'a>,
    knobs: StoreKnobs,
    interleaving: Interleaving<'a>,
    ages: Ages<'a>,
    /// The readers of all writes, once they are needed.
    readers: OnceCell<Readers>,
    guesses: Vec<Guess>,
    /// How many guesses there were.
    count: u32,
    /// By event: the events that it must come after by the guesses, each with the number of its guess.
    guessed: FxHashMap<u32, Vec<(u32, u32)>>,
    /// How many steps were taken back.
    steps_back: usize,
}

impl<'a> GreedyInterleaving<'a> {
    fn new(frame: &'a Frame<'_>, knobs: StoreKnobs) -> Self {
        Self {
            frame,
            knobs,
            interleaving: Interleaving::new(frame.execution()),
            ages: Ages::new(frame),
            readers: OnceCell::new(),
            guesses: Vec::new(),
            count: 0,
            guessed: FxHashMap::default(),
            steps_back: 0,
        }
    }

    /// Goes on until all events went, the run is stuck, or time is over. The run is stuck after too many guesses or
    /// steps back without progress, or too many steps back in all. The answer is how many events went before the
    /// guesses that were in vain.
    fn go_on(&mut self, budget: &Budget) -> usize {
        // Saturation is cheap if there are few events, and if there are few threads. Then few guesses and few steps
        // back are worth while.
        let Self { frame, knobs, .. } = &self;
        let events = frame.execution().len();
        let threads = frame.execution().thread_count().min(knobs.most_threads);
        let guesses = knobs.guesses.min((events / knobs.events_per_guess) as u32);
        let most_back = events * threads / knobs.entries_per_step_back;
        let back_per_step = 1 + threads / knobs.threads_per_step_back;
        let (mut furthest, mut lowest, mut left, mut back_before) = (0, 0, guesses, 0);
        while !self.interleaving.is_complete() && !budget.is_due() {
            if self.advance(EVENTS_PER_TIME_CHECK) {
                continue;
            }
            let length = self.interleaving.line().len();
            if length > furthest {
                (furthest, lowest, left, back_before) = (length, length, guesses, self.steps_back);
            }
            let is_stuck = left == 0
                || self.steps_back - back_before > most_back
                || self.steps_back > most_back + back_per_step * furthest;
            if is_stuck || !self.guess() {
                return lowest;
            }
            lowest = lowest.min(self.interleaving.line().len());
            left -= 1;
        }
        self.interleaving.line().len()
    }

    /// Lets so many events go. False if all threads wait before, or no event is left.
    fn advance(&mut self, count: usize) -> bool {
        let Self { frame, interleaving, guessed, ages, knobs, .. } = self;
        let missing = |event: u32, gone: Gone<'_>| {
            missing(frame, event, gone).or_else(|| Some(missing_guess(guessed, event, gone)?.0))
        };
        for _ in 0..count {
            let Some(event) = interleaving.advance(missing, ages) else { return false };
            interleaving.go(event);
            let source = frame.source(event);
            if source != NONE && knobs.lags {
                ages.correct_by_lag(event, source, knobs);
            }
        }
        true
    }

    /// When all threads wait: turns a pair round. False if there is none.
    fn guess(&mut self) -> bool {
        let final_count = self.guesses.len().saturating_sub(self.knobs.open_guesses);
        for guess in self.guesses.drain(..final_count) {
            withdraw(&mut self.guessed, &guess);
        }
        let (mut left, mut because) = self.circle();
        left.retain(|&(last, write)| {
            let keeps = |guess: &&Guess| guess.turned == (write, last) || guess.tried.contains(&(last, write));
            let kept_by = self.guesses.iter().find(keeps);
            because.extend(kept_by.map(|guess| guess.id));
            kept_by.is_none()
        });
        left.sort_by_key(|&(last, write)| self.ages.of(last) - self.ages.of(write));
        self.count += 1;
        let mut guess = Guess { id: self.count, turned: (NONE, NONE), tried: Vec::new(), left, because };
        loop {
            if let Some((last, write)) = guess.left.pop() {
                guess.turned = (last, write);
                self.guessed.entry(last).or_default().push((write, guess.id));
                self.guesses.push(guess);
                if self.knobs.turned {
                    self.ages.correct_by_order(write, last, &self.knobs);
                }
                let length = self.interleaving.line().len();
                self.interleaving.rewind(last);
                self.interleaving.reset(|_, _| false);
                self.steps_back += length - self.interleaving.line().len();
                return true;
            }
            let because = guess.because;
            loop {
                let Some(before) = self.guesses.pop() else { return false };
                withdraw(&mut self.guessed, &before);
                guess = before;
                if because.contains(&guess.id) {
                    break;
                }
            }
            guess.tried.push(guess.turned);
            guess.because.extend(because.into_iter().filter(|&id| id != guess.id));
        }
    }

    /// When all threads wait: the pairs of a circle, of which one must be turned round, unless one of the guesses is
    /// wrong.
    fn circle(&self) -> (Vec<Pair>, Vec<u32>) {
        let Self { frame, interleaving, .. } = self;
        let threads = frame.execution().threads();
        let mut seen = vec![usize::MAX; frame.execution().thread_count()];
        let mut waits = Vec::new();
        let Some(mut thread) = (0..seen.len()).find(|&thread| !interleaving.is_done(thread)) else {
            return Default::default();
        };
        while seen[thread] == usize::MAX {
            seen[thread] = waits.len();
            let Some(wait) = self.wait(thread) else { return Default::default() };
            waits.push(wait);
            let (Wait::Fixed(event) | Wait::Guessed(event, _) | Wait::Reader(event, _)) = wait;
            let awaited = threads[event as usize].index();
            thread = awaited;
        }
        let (mut pairs, mut guesses) = (Vec::new(), Vec::new());
        for wait in &waits[seen[thread]..] {
            match *wait {
                Wait::Fixed(_) => {}
                Wait::Guessed(_, id) => guesses.push(id),
                Wait::Reader(_, pair) => pairs.push(pair),
            }
        }
        (pairs, guesses)
    }

    /// What a thread waits for. `None` if it does not wait.
    fn wait(&self, thread: usize) -> Option<Wait> {
        let Self { frame, interleaving, guessed, .. } = self;
        let (event, gone) = (interleaving.next_of(thread), interleaving.gone());
        if let Some(predecessor) = missing(frame, event, gone) {
            return Some(Wait::Fixed(predecessor));
        }
        if let Some((predecessor, id)) = missing_guess(guessed, event, gone) {
            return Some(Wait::Guessed(predecessor, id));
        }
        let readers = self.readers.get_or_init(|| Readers::new(frame.execution()));
        let location = frame.execution().events()[event as usize].location;
        let last = interleaving.current(location.index());
        let slot = if last == NONE { readers.slot_of_init(location) } else { last as usize };
        let reader = *readers.slot(slot).iter().find(|&&read| read != event && !gone.contains(read))?;
        let may_go_back = last != NONE && frame.execution().threads()[last as usize].index() != thread;
        Some(if may_go_back { Wait::Reader(reader, (last, event)) } else { Wait::Fixed(reader) })
    }
}

/// A predecessor of an event that did not go.
#[inline]
fn missing(frame: &Frame<'_>, event: u32, gone: Gone<'_>) -> Option<u32> {
    frame.predecessors(event).find(|&predecessor| !gone.contains(predecessor))
}

/// An event that did not go, and that another must come after by a guess; and the number of the guess.
#[inline]
fn missing_guess(guessed: &FxHashMap<u32, Vec<(u32, u32)>>, event: u32, gone: Gone<'_>) -> Option<(u32, u32)> {
    guessed.get(&event)?.iter().copied().find(|&(predecessor, _)| !gone.contains(predecessor))
}

fn withdraw(guessed: &mut FxHashMap<u32, Vec<(u32, u32)>>, guess: &Guess) {
    if let Some(predecessors) = guessed.get_mut(&guess.turned.0) {
        predecessors.retain(|&(_, id)| id != guess.id);
        if predecessors.is_empty() {
            guessed.remove(&guess.turned.0);
        }
    }
}
