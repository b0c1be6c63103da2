//! An ordered parallel map over the items of several sources. Each worker reads items, works on them, and hands the
//! results to the consumer, which sees them in the order of the sources and of the items in each.
//!
//! A worker reads a lot of items from one source at a time. No other worker reads that source meanwhile. Then the
//! worker works on the lot, and others may read on. So both reading and working are shared, and one worker alone needs
//! no other thread. Lots grow while their items are easy, so millions of tiny items cost little more than the work on
//! them. A worker that finds an item hard leaves the rest of its lot to others.
//!
//! Every item has a weight. While the weight of all items that have been read, and whose results have not been
//! consumed, exceeds a limit, only the lot whose results are wanted next may be read. So memory stays bounded, however
//! slow one item is.
//!
//! Invariant: every part of a lot from `next_out` on that was read is with a worker, in `rests` or in `finished`. Every
//! source that was begun and has items left is with a worker or in `idle`.

use std::collections::BTreeMap;
use std::iter::Peekable;
use std::ops::ControlFlow;
use std::sync::{Condvar, Mutex, MutexGuard};
use std::thread::{self, Scope};
use std::time::{Duration, Instant};

/// The most items of the first lot. After a source of one small item there is nothing left to read, so that no other
/// worker is started for it.
const FIRST_ITEMS: usize = 2;
/// The most items of a lot.
const MOST_ITEMS: usize = 64;
/// A lot of this weight is complete.
const LOT_WEIGHT: usize = 4096;
/// A lot that takes less time than this is followed by a lot of twice as many items.
const SHORT: Duration = Duration::from_micros(500);
/// A worker that has worked on a lot for this time leaves the rest of it to others.
const LONG: Duration = Duration::from_millis(5);

/// Where items come from.
pub(crate) trait Source: Iterator {
    /// Whether the next item may be a long time in coming. The items before it should not wait for it.
    fn is_live(&self) -> bool;
}

/// The number of a source, of a lot in the source, and of a part of the lot.
type PartNumber = (usize, usize, usize);

/// Some items of a lot, the number of the first part that they are in, and what follows after them.
struct Part<T> {
    number: PartNumber,
    items: Vec<T>,
    weight: usize,
    /// Whether the source has no further lot.
    is_last: bool,
}

/// The results of a part, and the number of the part that follows.
struct Finished<R> {
    results: Vec<R>,
    weight: usize,
    next: PartNumber,
}

struct State<I: Iterator<Item = S>, S: Source, R> {
    /// The sources that are not begun.
    sources: Peekable<I>,
    /// How many workers there are. The next one is started when there is something to read for it.
    workers: usize,
    /// How many sources are begun.
    begun: usize,
    /// Sources that no worker reads at the moment, by the number of their next lot.
    idle: BTreeMap<PartNumber, S>,
    /// How many sources are being read at the moment.
    reading: usize,
    /// What workers left to others.
    rests: BTreeMap<PartNumber, Part<S::Item>>,
    finished: BTreeMap<PartNumber, Finished<R>>,
    next_out: PartNumber,
    /// Whether a worker consumes results at the moment.
    is_consuming: bool,
    weight: usize,
    /// How many workers wait for a change.
    waiting: usize,
    /// The consumer wants no more.
    stopped: bool,
}

/// What a worker can do next.
enum Task<S: Source> {
    Read(PartNumber, S),
    Work(Part<S::Item>),
    Wait,
    End,
}

impl<I: Iterator<Item = S>, S: Source, R> State<I, S, R> {
    fn task(&mut self, limit: usize, in_series: bool) -> Task<S> {
        if self.stopped {
            return Task::End;
        }
        if let Some((_, part)) = self.rests.pop_first() {
            return Task::Work(part);
        }
        let has_room = |number: PartNumber| self.weight < limit || number == self.next_out;
        let first = self.idle.first_key_value().map(|(&number, _)| number);
        if let Some(source) = first.filter(|&number| has_room(number)).and_then(|number| self.idle.remove(&number)) {
            self.reading += 1;
            return Task::Read(first.unwrap_or_default(), source);
        }
        let may_begin = !in_series || (self.idle.is_empty() && self.reading == 0);
        let number = (self.begun, 0, 0);
        if may_begin
            && has_room(number)
            && let Some(source) = self.sources.next()
        {
            self.begun += 1;
            self.reading += 1;
            return Task::Read(number, source);
        }
        if self.reading > 0 || self.has_more() { Task::Wait } else { Task::End }
    }

    /// Whether there is something to read, though perhaps not at the moment.
    fn has_more(&mut self) -> bool {
        !self.idle.is_empty() || self.sources.peek().is_some()
    }
}

/// How a run is to be done.
struct Run<'a, W, F, D> {
    /// How many workers there may be.
    workers: usize,
    /// How much weight may be between reading and consuming.
    limit: usize,
    /// Whether a source is begun only when the source before it has been read.
    in_series: bool,
    weigh: &'a W,
    work: &'a F,
    decided: &'a D,
    /// Signals every change of the state that may give a waiting worker something to do.
    change: Condvar,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("a panic ends the process")
}

impl<W, F, D> Run<'_, W, F, D> {
    /// What each worker does, until nothing is left.
    fn take_part<'scope, I, S, R, C>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        shared: &'scope Mutex<State<I, S, R>>,
        consume: &'scope Mutex<C>,
    ) where
        I: Iterator<Item = S> + Send,
        S: Source<Item: Send> + Send,
        R: Send,
        W: Fn(&S::Item) -> usize + Sync,
        F: Fn(S::Item) -> R + Sync,
        D: Fn(&[R]) + Sync,
        C: FnMut(R, bool) -> ControlFlow<()> + Send,
    {
        let mut most = FIRST_ITEMS;
        let mut state = lock(shared);
        loop {
            let part = match state.task(self.limit, self.in_series) {
                Task::Work(part) => part,
                Task::Read(number, mut source) => {
                    drop(state);
                    let part = self.read(number, &mut source, most);
                    state = lock(shared);
                    state.weight += part.weight;
                    state.reading -= 1;
                    if !part.is_last {
                        state.idle.insert((number.0, number.1 + 1, 0), source);
                    }
                    part
                }
                Task::Wait => {
                    state.waiting += 1;
                    state = self.change.wait(state).expect("a panic ends the process");
                    state.waiting -= 1;
                    continue;
                }
                Task::End => {
                    self.change.notify_all();
                    return;
                }
            };
            self.signal(&state);
            if state.workers < self.workers && state.has_more() {
                state.workers += 1;
                scope.spawn(|| self.take_part(scope, shared, consume));
            }
            drop(state);

            let begin = Instant::now();
            let (finished, number, rest) = self.work_on(part, begin);
            (self.decided)(&finished.results);
            let took = begin.elapsed();
            most = if took < SHORT { (2 * most).min(MOST_ITEMS) } else { 1.max(most / 2) };

            state = lock(shared);
            if let Some(rest) = rest {
                state.rests.insert(rest.number, rest);
                self.signal(&state);
            }
            state.finished.insert(number, finished);
            state = self.consume(shared, state, consume);
        }
    }

    fn signal<I: Iterator<Item = S>, S: Source, R>(&self, state: &State<I, S, R>) {
        if state.waiting > 0 {
            self.change.notify_all();
        }
    }

    fn read<S: Source>(&self, number: PartNumber, source: &mut S, most: usize) -> Part<S::Item>
    where
        W: Fn(&S::Item) -> usize,
    {
        let most = if source.is_live() { 1 } else { most };
        let mut part = Part { number, items: Vec::new(), weight: 0, is_last: false };
        while part.items.len() < most && part.weight < LOT_WEIGHT.min(self.limit) && !part.is_last {
            match source.next() {
                Some(item) => {
                    part.weight += (self.weigh)(&item);
                    part.items.push(item);
                }
                None => part.is_last = true,
            }
        }
        part
    }

    /// Works on the items of a part, but may leave some of them for others: then it splits the part in two.
    fn work_on<T, R>(&self, part: Part<T>, begin: Instant) -> (Finished<R>, PartNumber, Option<Part<T>>)
    where
        F: Fn(T) -> R,
        W: Fn(&T) -> usize,
    {
        let Part { number, items, weight, is_last } = part;
        let (source, lot, at) = number;
        let mut results = Vec::with_capacity(items.len());
        let mut items = items.into_iter();
        while let Some(item) = items.next() {
            results.push((self.work)(item));
            if self.workers > 1 && items.len() > 0 && begin.elapsed() > LONG {
                let items: Vec<T> = items.collect();
                let of_rest = items.iter().map(self.weigh).sum();
                let next = (source, lot, at + 1);
                let rest = Part { number: next, items, weight: of_rest, is_last };
                return (Finished { results, weight: weight - of_rest, next }, number, Some(rest));
            }
        }
        let next = if is_last { (source + 1, 0, 0) } else { (source, lot + 1, 0) };
        (Finished { results, weight, next }, number, None)
    }

    /// Consumes all results that are wanted next and there, unless another worker does so already.
    fn consume<'s, I, S, R, C>(
        &self,
        shared: &'s Mutex<State<I, S, R>>,
        mut state: MutexGuard<'s, State<I, S, R>>,
        consume: &Mutex<C>,
    ) -> MutexGuard<'s, State<I, S, R>>
    where
        I: Iterator<Item = S>,
        S: Source,
        C: FnMut(R, bool) -> ControlFlow<()>,
    {
        if state.is_consuming {
            return state;
        }
        state.is_consuming = true;
        while !state.stopped {
            let wanted = state.next_out;
            let Some(finished) = state.finished.remove(&wanted) else { break };
            state.next_out = finished.next;
            let is_next_there = state.finished.contains_key(&finished.next);
            drop(state);
            let mut consume = lock(consume);
            let mut results = finished.results.into_iter();
            let mut flow = ControlFlow::Continue(());
            while flow.is_continue()
                && let Some(result) = results.next()
            {
                flow = consume(result, is_next_there || results.len() > 0);
            }
            drop(consume);
            state = lock(shared);
            state.weight -= finished.weight;
            state.stopped |= flow.is_break();
            self.signal(&state);
        }
        state.is_consuming = false;
        state
    }
}

/// Runs the map. `decided` gets the results of each part as soon as they are there, in any order, from the worker that
/// made them. `consume` gets each result in its turn, and whether the next result is there already. `consume` may
/// break, which stops the workers. `in_series` says that a source must not be begun before the one before it has been
/// read.
#[allow(clippy::too_many_arguments)] // Each is a step of the map.
pub(crate) fn run<S, R>(
    workers: usize,
    limit: usize,
    in_series: bool,
    sources: impl Iterator<Item = S> + Send,
    weigh: impl Fn(&S::Item) -> usize + Sync,
    work: impl Fn(S::Item) -> R + Sync,
    decided: impl Fn(&[R]) + Sync,
    consume: impl FnMut(R, bool) -> ControlFlow<()> + Send,
) where
    S: Source<Item: Send> + Send,
    R: Send,
{
    let state = Mutex::new(State {
        sources: sources.peekable(),
        workers: 1,
        begun: 0,
        idle: BTreeMap::new(),
        reading: 0,
        rests: BTreeMap::new(),
        finished: BTreeMap::new(),
        next_out: (0, 0, 0),
        is_consuming: false,
        weight: 0,
        waiting: 0,
        stopped: false,
    });
    let consume = Mutex::new(consume);
    let run = Run { workers, limit, in_series, weigh: &weigh, work: &work, decided: &decided, change: Condvar::new() };
    thread::scope(|scope| run.take_part(scope, &state, &consume));
}

#[cfg(test)]
mod tests {
    use std::ops::Range;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// A source of numbers.
    struct Numbers(Range<usize>, bool);

    impl Iterator for Numbers {
        type Item = usize;

        fn next(&mut self) -> Option<usize> {
            self.0.next()
        }
    }

    impl Source for Numbers {
        fn is_live(&self) -> bool {
            self.1
        }
    }

    /// Sources of different lengths, some of them empty, which together have the numbers from 0 to 3000.
    fn sources() -> impl Iterator<Item = Numbers> + Send {
        let ends = [0, 0, 1, 2, 700, 701, 701, 2990, 3000];
        ends.into_iter().scan(0, |begin, end| Some(Numbers(std::mem::replace(begin, end)..end, end % 2 == 1)))
    }

    #[test]
    fn results_come_in_order_and_within_the_limit() {
        for (workers, in_series) in [(1, false), (2, true), (2, false), (8, false), (8, true)] {
            let inside = AtomicUsize::new(0);
            let most = AtomicUsize::new(0);
            let decided = AtomicUsize::new(0);
            let weights: Vec<AtomicUsize> = (0..3000).map(|_| AtomicUsize::new(0)).collect();
            let mut seen = Vec::new();
            run(
                workers,
                50,
                in_series,
                sources(),
                |n| {
                    // What a worker leaves to others is weighed again, but each number is inside once.
                    let of_all = &weights[*n];
                    let weight = 1 + n % 7;
                    if of_all.swap(weight, Ordering::SeqCst) == 0 {
                        most.fetch_max(inside.fetch_add(weight, Ordering::SeqCst), Ordering::SeqCst);
                    }
                    weight
                },
                |n| {
                    if n % 97 == 0 {
                        thread::yield_now();
                    }
                    n
                },
                |numbers| {
                    decided.fetch_add(numbers.len(), Ordering::SeqCst);
                },
                |n, _| {
                    inside.fetch_sub(1 + n % 7, Ordering::SeqCst);
                    seen.push(n);
                    ControlFlow::Continue(())
                },
            );
            assert!(seen.iter().copied().eq(0..3000));
            assert_eq!(decided.load(Ordering::SeqCst), 3000);
            // Each worker may have begun a lot when there was room for it.
            assert!(most.load(Ordering::SeqCst) <= 50 + workers * (50 + 7));
        }
    }

    #[test]
    fn the_rest_of_a_hard_lot_is_left_to_others() {
        for workers in [2, 3] {
            let mut seen = Vec::new();
            let hard = |n: usize| {
                if n >= 2000 && n.is_multiple_of(16) {
                    thread::sleep(2 * LONG);
                }
                n
            };
            let consume = |n, _| {
                seen.push(n);
                ControlFlow::Continue(())
            };
            run(workers, 10_000, false, [Numbers(0..2200, false)].into_iter(), |_| 1, hard, |_| {}, consume);
            assert!(seen.iter().copied().eq(0..2200));
        }
    }

    #[test]
    fn too_heavy_an_item_passes_alone() {
        let mut seen = Vec::new();
        let consume = |n, _| {
            seen.push(n);
            ControlFlow::Continue(())
        };
        run(3, 1, false, [Numbers(0..20, false)].into_iter(), |_| 1000, |n| n, |_| {}, consume);
        assert_eq!(seen, (0..20).collect::<Vec<_>>());
    }

    #[test]
    fn a_consumer_that_stops_stops_all() {
        let mut seen = 0;
        let consume = |_, _| {
            seen += 1;
            if seen == 5 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        run(4, 10, false, std::iter::repeat_with(|| Numbers(0..10, false)), |_| 1, |n| n, |_| {}, consume);
        assert_eq!(seen, 5);
    }
}
