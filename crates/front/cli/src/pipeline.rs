//! An ordered parallel map over the items of several sources. Each worker reads items, works on them, and hands the
//! results to the consumer, which sees them in the order of the sources and of the items in each.
//!
//! A worker reads a lot of items at a time, from one source or from several that follow each other. No other worker
//! reads these sources meanwhile. Then the worker works on the lot, and others may read on. So both reading and working
//! are shared, and one worker alone needs no other thread. Lots grow while they are done in a short time, so millions
//! of tiny items cost little more than the work on them.
//!
//! A worker that finds nothing to read takes half of what another has not begun. So no hard item holds up the items
//! after it. Nor does it hold up the results before it: whoever consumes also takes the results of a lot that is not
//! done yet. Only then a worker waits. It looks around for a moment before it sleeps, since to wake it takes longer
//! than to read a lot.
//!
//! Every item has a weight. While the weight of all items that have been read, and whose results have not been
//! consumed, exceeds a limit, only the lot whose results are wanted next may be read. So memory stays bounded, however
//! slow one item is.
//!
//! Invariant: every part of a lot from `next_out` on that was read is with a worker or in `finished`. Every source that
//! was begun and has items left is with a worker or in `idle`.

use std::collections::{BTreeMap, VecDeque};
use std::iter::Peekable;
use std::mem;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
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
/// How often a worker looks for a change before it sleeps. It yields the processor each time.
const LOOKS: usize = 200;

/// How long a worker sleeps before it looks for results that it could consume.
const NAP: Duration = Duration::from_millis(10);

/// Where items come from.
pub(crate) trait Source: Iterator {
    /// Whether the next item may be a long time in coming. The items before it should not wait for it.
    fn is_live(&self) -> bool;
}

/// The number of a source, of a lot that begins in it, and of the first item in the lot.
type PartNumber = (usize, usize, usize);

/// Items of a lot that follow each other, and the number of what follows after them.
struct LotPart<T> {
    number: PartNumber,
    items: VecDeque<T>,
    weight: usize,
    next: PartNumber,
}

/// A part that a worker works on. Others may take items from its end, and results.
struct Open<T, R> {
    items: VecDeque<T>,
    /// The number of the last item in the lot, plus one.
    end: usize,
    results: Vec<R>,
    weight: usize,
    next: PartNumber,
}

type Shared<T, R> = Arc<Mutex<Open<T, R>>>;

/// The results of a part that nobody has taken, and the number of the part that follows.
struct Finished<R> {
    results: Vec<R>,
    weight: usize,
    next: PartNumber,
}

struct LotState<I: Iterator<Item = S>, S: Source, R> {
    /// The sources that are not begun.
    sources: Peekable<I>,
    /// How many workers there are. The next one is started when there is something to read for it.
    workers: usize,
    /// How many sources are begun.
    begun: usize,
    /// Sources that follow each other and that no worker reads at the moment, by the number of their next lot.
    idle: BTreeMap<PartNumber, VecDeque<S>>,
    /// How many workers read at the moment.
    reading: usize,
    open: BTreeMap<PartNumber, Shared<S::Item, R>>,
    finished: BTreeMap<PartNumber, Finished<R>>,
    next_out: PartNumber,
    /// Whether a worker consumes results at the moment.
    is_consuming: bool,
    weight: usize,
    /// How many workers sleep until something changes.
    sleeping: usize,
    /// The consumer wants no more.
    stopped: bool,
}

/// What a worker can do next.
enum Task<S: Source> {
    Read(PartNumber, VecDeque<S>),
    Work(LotPart<S::Item>),
    Wait,
    End,
}

impl<I: Iterator<Item = S>, S: Source, R> LotState<I, S, R> {
    /// Whether there is something to read, though perhaps not at the moment.
    fn has_more(&mut self) -> bool {
        !self.idle.is_empty() || self.sources.peek().is_some()
    }

    /// Begins so many sources, or fewer. A live source is alone.
    fn begin(&mut self, most: usize) -> VecDeque<S> {
        let mut begun: VecDeque<S> = self.sources.next().into_iter().collect();
        let is_alone = begun.front().is_none_or(Source::is_live);
        while !is_alone
            && begun.len() < most
            && let Some(source) = self.sources.next_if(|source| !source.is_live())
        {
            begun.push_back(source);
        }
        self.begun += begun.len();
        begun
    }
}

/// How a run is to be done.
struct Pipeline<'a, W, F, D> {
    /// How many workers there may be.
    workers: usize,
    /// How much weight may be between reading and consuming.
    limit: usize,
    /// Whether a source is begun only when the source before it has been read.
    in_series: bool,
    weigh: &'a W,
    work: &'a F,
    decided: &'a D,
    /// Counts the changes of the state that may give a waiting worker something to do.
    changes: AtomicUsize,
    /// Signals these changes to those that sleep.
    change: Condvar,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("a panic ends the process")
}

impl<W, F, D> Pipeline<'_, W, F, D> {
    /// What each worker does, until nothing is left.
    fn take_part<'scope, I, S, R, C>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        shared: &'scope Mutex<LotState<I, S, R>>,
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
            let (begin, seen) = (Instant::now(), self.changes.load(Relaxed));
            let part = match self.task(&mut state, most) {
                Task::Work(part) => part,
                Task::Read(number, mut sources) => {
                    drop(state);
                    let part = self.read(number, &mut sources, most);
                    state = lock(shared);
                    state.weight += part.weight;
                    state.reading -= 1;
                    if !sources.is_empty() {
                        state.idle.insert(part.next, sources);
                    }
                    part
                }
                Task::Wait => {
                    state = self.wait(shared, self.consume(shared, state, consume), seen);
                    continue;
                }
                Task::End => {
                    self.signal(&state);
                    return;
                }
            };
            let LotPart { number, items, weight, next } = part;
            let (end, results) = (number.2 + items.len(), Vec::with_capacity(items.len()));
            let open = Arc::new(Mutex::new(Open { items, end, results, weight, next }));
            state.open.insert(number, Arc::clone(&open));
            self.signal(&state);
            if state.workers < self.workers && state.has_more() {
                state.workers += 1;
                scope.spawn(|| self.take_part(scope, shared, consume));
            }
            drop(state);

            self.work_on(&open);
            most = if begin.elapsed() < SHORT { (2 * most).min(MOST_ITEMS) } else { 1.max(most / 2) };

            lock(shared).open.remove(&number);
            let open = Arc::into_inner(open).expect("others find it only in the state").into_inner();
            let Open { results, weight, next, .. } = open.expect("a panic ends the process");
            (self.decided)(&results);
            state = lock(shared);
            state.finished.insert(number, Finished { results, weight, next });
            state = self.consume(shared, state, consume);
        }
    }

    fn task<I, S, R>(&self, state: &mut LotState<I, S, R>, most: usize) -> Task<S>
    where
        I: Iterator<Item = S>,
        S: Source,
        W: Fn(&S::Item) -> usize,
    {
        if state.stopped {
            return Task::End;
        }
        let (weight, next_out) = (state.weight, state.next_out);
        let has_room = |number: PartNumber| weight < self.limit || number == next_out;
        if let Some(idle) = state.idle.first_entry().filter(|idle| has_room(*idle.key())) {
            let (number, sources) = idle.remove_entry();
            state.reading += 1;
            return Task::Read(number, sources);
        }
        let may_begin = !self.in_series || (state.idle.is_empty() && state.reading == 0);
        let number = (state.begun, 0, 0);
        if may_begin && has_room(number) && state.sources.peek().is_some() {
            state.reading += 1;
            // One worker alone prints what it says of a source before it begins the next.
            let sources = if self.workers == 1 { 1 } else { 1.max(most / 2) };
            return Task::Read(number, state.begin(sources));
        }
        if let Some(part) = self.steal(state) {
            return Task::Work(part);
        }
        if state.reading > 0 || !state.open.is_empty() || state.has_more() { Task::Wait } else { Task::End }
    }

    /// Half of what another worker has not begun.
    fn steal<I, S, R>(&self, state: &LotState<I, S, R>) -> Option<LotPart<S::Item>>
    where
        I: Iterator<Item = S>,
        S: Source,
        W: Fn(&S::Item) -> usize,
    {
        state.open.iter().find_map(|(&(source, lot, at), open)| {
            let mut open = lock(open);
            // A part that is not begun keeps its first item: two parts must not have one number.
            let is_begun = open.end - open.items.len() > at;
            let kept = (open.items.len() / 2).max(usize::from(!is_begun)).min(open.items.len());
            let items = open.items.split_off(kept);
            if items.is_empty() {
                return None;
            }
            let weight = items.iter().map(self.weigh).sum();
            open.weight -= weight;
            open.end -= items.len();
            let number = (source, lot, open.end);
            let next = mem::replace(&mut open.next, number);
            Some(LotPart { number, items, weight, next })
        })
    }

    /// Tells all who wait that they may find something to do.
    fn signal<I: Iterator<Item = S>, S: Source, R>(&self, state: &LotState<I, S, R>) {
        self.changes.fetch_add(1, Relaxed);
        if state.sleeping > 0 {
            self.change.notify_all();
        }
    }

    /// Waits for a change after so many. A result of a part that is not done yet is no change. So the wait is over
    /// after a nap, too, if others work.
    fn wait<'s, I, S, R>(
        &self,
        shared: &'s Mutex<LotState<I, S, R>>,
        state: MutexGuard<'s, LotState<I, S, R>>,
        seen: usize,
    ) -> MutexGuard<'s, LotState<I, S, R>>
    where
        I: Iterator<Item = S>,
        S: Source,
    {
        drop(state);
        let is_over = || self.changes.load(Relaxed) != seen;
        for _ in 0..LOOKS {
            if is_over() {
                break;
            }
            thread::yield_now();
        }
        let mut state = lock(shared);
        while !is_over() {
            state.sleeping += 1;
            let (woken, timeout) = self.change.wait_timeout(state, NAP).expect("a panic ends the process");
            state = woken;
            state.sleeping -= 1;
            if timeout.timed_out() && !state.open.is_empty() {
                break;
            }
        }
        state
    }

    /// Reads a lot. What is left of the sources has something to read, and the lot after this one begins with it.
    fn read<S: Source>(&self, number: PartNumber, sources: &mut VecDeque<S>, most: usize) -> LotPart<S::Item>
    where
        W: Fn(&S::Item) -> usize,
    {
        let most = if sources.front().is_some_and(Source::is_live) { 1 } else { most };
        let mut part = LotPart { number, items: VecDeque::new(), weight: 0, next: number };
        while part.items.len() < most
            && part.weight < LOT_WEIGHT.min(self.limit)
            && let Some(source) = sources.front_mut()
        {
            if let Some(item) = source.next() {
                part.weight += (self.weigh)(&item);
                part.items.push_back(item);
            } else {
                sources.pop_front();
                part.next.0 += 1;
            }
        }
        part.next.1 = if sources.is_empty() { 0 } else { number.1 + 1 };
        part
    }

    /// Works on the items of a part, but for those that others take.
    fn work_on<T, R>(&self, open: &Mutex<Open<T, R>>)
    where
        F: Fn(T) -> R,
    {
        let mut item = lock(open).items.pop_front();
        while let Some(next) = item {
            let result = (self.work)(next);
            let mut open = lock(open);
            open.results.push(result);
            item = open.items.pop_front();
        }
    }

    /// Consumes all results that are wanted next and there, unless another worker does so already.
    fn consume<'s, I, S, R, C>(
        &self,
        shared: &'s Mutex<LotState<I, S, R>>,
        mut state: MutexGuard<'s, LotState<I, S, R>>,
        consume: &Mutex<C>,
    ) -> MutexGuard<'s, LotState<I, S, R>>
    where
        I: Iterator<Item = S>,
        S: Source,
        D: Fn(&[R]),
        C: FnMut(R, bool) -> ControlFlow<()>,
    {
        if state.is_consuming {
            return state;
        }
        state.is_consuming = true;
        while !state.stopped {
            let wanted = state.next_out;
            let (results, weight) = if let Some(finished) = state.finished.remove(&wanted) {
                state.next_out = finished.next;
                (finished.results, finished.weight)
            } else {
                let open = state.open.get(&wanted);
                (open.map(|open| mem::take(&mut lock(open).results)).unwrap_or_default(), 0)
            };
            let is_finished = wanted != state.next_out;
            if results.is_empty() && !is_finished {
                break;
            }
            let is_next_there = state.finished.contains_key(&state.next_out);
            drop(state);
            if !is_finished {
                (self.decided)(&results);
            }
            let mut consume = lock(consume);
            let mut results = results.into_iter();
            let mut flow = ControlFlow::Continue(());
            while flow.is_continue()
                && let Some(result) = results.next()
            {
                flow = consume(result, is_next_there || results.len() > 0);
            }
            drop(consume);
            state = lock(shared);
            state.weight -= weight;
            state.stopped |= flow.is_break();
            self.signal(&state);
        }
        state.is_consuming = false;
        state
    }
}

/// Runs the map. `decided` gets all results as soon as a part is done, or before they are consumed, in any order.
/// `consume` gets each result in its turn, and whether the next result is there already. `consume` may break, which
/// stops the workers. `in_series` says that a source must not be begun before the one before it has been read.
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
    let state = Mutex::new(LotState {
        sources: sources.peekable(),
        workers: 1,
        begun: 0,
        idle: BTreeMap::new(),
        reading: 0,
        open: BTreeMap::new(),
        finished: BTreeMap::new(),
        next_out: (0, 0, 0),
        is_consuming: false,
        weight: 0,
        sleeping: 0,
        stopped: false,
    });
    let consume = Mutex::new(consume);
    let run = Pipeline {
        workers,
        limit,
        in_series,
        weigh: &weigh,
        work: &work,
        decided: &decided,
        changes: AtomicUsize::new(0),
        change: Condvar::new(),
    };
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
        ends.into_iter().scan(0, |begin, end| Some(Numbers(mem::replace(begin, end)..end, end % 2 == 1)))
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

    /// Waits until `is_so`. Nothing in a test takes that long.
    fn wait_until(is_so: impl Fn() -> bool) {
        let begin = Instant::now();
        while !is_so() {
            assert!(begin.elapsed() < Duration::from_secs(60), "this should have happened");
            thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn hard_items_of_one_lot_are_shared() {
        for workers in [2, 3] {
            let begun = AtomicUsize::new(0);
            let mut seen = Vec::new();
            let together = |n: usize| {
                if n >= 2200 - workers {
                    begun.fetch_add(1, Ordering::SeqCst);
                    wait_until(|| begun.load(Ordering::SeqCst) == workers);
                }
                n
            };
            let consume = |n, _| {
                seen.push(n);
                ControlFlow::Continue(())
            };
            run(workers, 100_000, false, [Numbers(0..2200, false)].into_iter(), |_| 1, together, |_| {}, consume);
            assert!(seen.iter().copied().eq(0..2200));
        }
    }

    #[test]
    fn a_hard_item_does_not_hold_up_the_results_before_it() {
        for (workers, hard) in [(2, 150), (2, 199), (3, 177)] {
            let consumed = AtomicUsize::new(0);
            let last = |n: usize| {
                if n == hard {
                    wait_until(|| consumed.load(Ordering::SeqCst) == hard);
                }
                n
            };
            let consume = |n, _| {
                assert_eq!(consumed.fetch_add(1, Ordering::SeqCst), n);
                ControlFlow::Continue(())
            };
            let sources = (0..200).map(|n| Numbers(n..n + 1, false));
            run(workers, 100_000, false, sources, |_| 1, last, |_| {}, consume);
            assert_eq!(consumed.into_inner(), 200);
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
