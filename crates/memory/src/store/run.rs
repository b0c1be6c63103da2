//! A run: an interleaving in a frame, looked for without saturation.
//!
//! Threads take turns ([`Interleaving`]). If all threads wait, they wait for each other in a circle. A thread waits for
//! an event that must come first. Or it waits with a write, for a reader of the last write of the location. Of these
//! pairs of writes, one must be turned round: the last write goes back, and must now come after the write that waits.
//! Which pair it is, is a *guess*. The first guess is the pair that looks most wrong by the [ages](Ages) of its writes.
//! If a circle has no pair left, some guess before was wrong. It is the latest of those that the circle depends on.
//! Then the next pair of its circle is turned round instead. Each read and each guess corrects the ages.
//!
//! If guesses do not help soon, the run is stuck. What went by then is the beginning of an interleaving, but perhaps of
//! none that has all events. [Windows](super::windows) go on from there. A run costs a fraction of saturation.
//!
//! Invariant: what the run followed stays as it is. What went explains its reads, and no write among it that still has
//! readers to come is overwritten.

use std::cell::OnceCell;

use order::saturation::NONE;
use rustc_hash::FxHashMap;

use super::frame::{Frame, Lists};
use super::interleaving::{Gone, Interleaving};
use super::saturate::Ages;
use crate::Interrupt;
use crate::writes::Readers;

/// How many steps may be taken back, and how many more for each step forward.
const MAX_STEPS_BACK: usize = 1 << 16;
const STEPS_BACK_PER_STEP: usize = 4;
/// How many guesses can be changed. Earlier ones are final.
const MAX_OPEN_GUESSES: usize = 64;
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

/// A run. See the [module](self).
pub struct Run<'a> {
    frame: &'a Frame<'a>,
    /// For each write, the writes that must come before it, if they are not among its base predecessors.
    known: Option<&'a Lists>,
    interleaving: Interleaving<'a>,
    ages: Ages<'a>,
    /// The readers of each write, if they are known; otherwise, once they are needed.
    readers: Option<&'a Readers>,
    own_readers: OnceCell<Readers>,
    guesses: Vec<Guess>,
    /// How many guesses there were.
    count: u32,
    /// By event: the events that it must come after by the guesses, each with the number of its guess.
    guessed: FxHashMap<u32, Vec<(u32, u32)>>,
    /// How many events are never taken back, and how many steps were.
    kept: usize,
    steps_back: usize,
}

impl<'a> Run<'a> {
    /// A run that goes on where an interleaving of a frame ends. `known` has, for each write, writes that must come
    /// before it.
    pub fn new(
        frame: &'a Frame<'_>,
        known: Option<&'a Lists>,
        readers: Option<&'a Readers>,
        interleaving: Interleaving<'a>,
    ) -> Self {
        let (ages, guessed) = (Ages::since(frame, interleaving.next()), FxHashMap::default());
        let own_readers = OnceCell::new();
        Self {
            frame,
            known,
            interleaving,
            ages,
            readers,
            own_readers,
            guesses: Vec::new(),
            count: 0,
            guessed,
            kept: 0,
            steps_back: 0,
        }
    }

    /// The events that went.
    pub fn line(&self) -> impl ExactSizeIterator<Item = u32> + '_ {
        self.interleaving.line()
    }

    /// The events that went from a place on.
    pub fn line_from(&self, place: usize) -> impl ExactSizeIterator<Item = u32> + '_ {
        self.interleaving.line_from(place)
    }

    /// Whether all events went.
    pub fn is_complete(&self) -> bool {
        self.interleaving.is_complete()
    }

    /// Takes steps back until so many are left.
    pub fn rewind_to(&mut self, length: usize) {
        let first = self.line_from(length).next();
        if let Some(first) = first {
            self.interleaving.rewind(first);
        }
    }

    /// Takes the steps of another interleaving, which are never taken back. It must begin with what went so far.
    pub fn follow(&mut self, line: &[u32]) {
        let length = self.line().len();
        for &event in &line[length..] {
            self.interleaving.go(event);
        }
        self.kept = line.len();
    }

    /// Goes on until all events went, the run is stuck, or time is over. The run is stuck after so many guesses without
    /// progress.
    pub fn go_on(&mut self, guesses: u32, interrupt: Interrupt) {
        self.guesses.clear();
        self.guessed.clear();
        self.steps_back = 0;
        self.interleaving.reset(|_, _| false);
        let (mut furthest, mut left) = (self.kept, guesses);
        while !self.is_complete() && !interrupt.is_due() {
            if self.advance(EVENTS_PER_TIME_CHECK) {
                continue;
            }
            let length = self.line().len();
            if length > furthest {
                (furthest, left) = (length, guesses);
            }
            let has_time = self.steps_back <= MAX_STEPS_BACK + STEPS_BACK_PER_STEP * (furthest - self.kept);
            if left == 0 || !has_time || !self.guess() {
                return;
            }
            left -= 1;
        }
    }

    /// Lets so many events go. False if all threads wait before, or no event is left.
    fn advance(&mut self, count: usize) -> bool {
        let Self { frame, known, interleaving, guessed, ages, .. } = self;
        let missing = |event: u32, gone: Gone<'_>| {
            missing(frame, *known, event, gone).or_else(|| Some(missing_guess(guessed, event, gone)?.0))
        };
        for _ in 0..count {
            let Some(event) = interleaving.advance(missing, ages) else { return false };
            interleaving.go(event);
            let source = frame.source(event);
            if source != NONE {
                ages.correct_by_lag(event, source);
            }
        }
        true
    }

    /// When all threads wait: turns a pair round. False if there is none.
    fn guess(&mut self) -> bool {
        let final_count = self.guesses.len().saturating_sub(MAX_OPEN_GUESSES);
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
                self.ages.correct_by_order(write, last);
                let length = self.line().len();
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
            // An event behind the last of its thread never goes. To wait for it is a circle by itself.
            thread = if interleaving.is_done(awaited) { thread } else { awaited };
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
        let Self { frame, known, interleaving, guessed, .. } = self;
        let (event, gone) = (interleaving.next_of(thread), interleaving.gone());
        if let Some(predecessor) = missing(frame, *known, event, gone) {
            return Some(Wait::Fixed(predecessor));
        }
        if let Some((predecessor, id)) = missing_guess(guessed, event, gone) {
            return Some(Wait::Guessed(predecessor, id));
        }
        let own = || self.own_readers.get_or_init(|| Readers::new(frame.execution()));
        let readers = self.readers.unwrap_or_else(own);
        let location = frame.execution().events()[event as usize].location;
        let last = interleaving.current(location.index());
        let slot = if last == NONE { readers.slot_of_init(location) } else { last as usize };
        let reader = *readers.slot(slot).iter().find(|&&read| read != event && !gone.contains(read))?;
        // If the last write is from before the run, all events go back, and the run begins anew with better ages.
        let may_go_back = last != NONE
            && interleaving.place(last) as usize >= self.kept
            && frame.execution().threads()[last as usize].index() != thread;
        Some(if may_go_back { Wait::Reader(reader, (last, event)) } else { Wait::Fixed(reader) })
    }
}

/// A predecessor of an event that did not go.
#[inline]
fn missing(frame: &Frame<'_>, known: Option<&Lists>, event: u32, gone: Gone<'_>) -> Option<u32> {
    let is_missing = |&predecessor: &u32| !gone.contains(predecessor);
    frame.predecessors(event).find(is_missing).or_else(|| known?.of(event).iter().copied().find(is_missing))
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

/// An interleaving of all events, if a run finds one with so many guesses without progress. For `known` see
/// [`Run::new`].
pub fn run(frame: &Frame<'_>, known: Option<&Lists>, guesses: u32, interrupt: Interrupt) -> Option<Vec<u32>> {
    let mut run = Run::new(frame, known, None, Interleaving::new(frame.execution()));
    run.go_on(guesses, interrupt);
    run.is_complete().then(|| run.line().collect())
}
