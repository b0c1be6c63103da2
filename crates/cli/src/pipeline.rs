//! An ordered parallel map: one producer, several workers, and one consumer. The consumer sees the results in the order
//! in which their items were produced.
//!
//! Every item has a weight. The producer waits while the weights of all items between it and the consumer exceed a
//! limit. So memory stays bounded, however slow one item is. An item that is heavier than the limit passes alone.
//!
//! If many items wait, a worker takes several at a time, so that millions of tiny items cost little more than the work
//! on them. If few items wait, a worker takes one at a time, so that the others can start at once.
//!
//! Invariant: every item from number `next_out` on is in exactly one place: in `waiting`, with a worker, or in
//! `finished`.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::{Condvar, Mutex, MutexGuard};

/// The most items that a worker takes at once.
const MOST_TAKEN: usize = 64;
/// A worker takes no further item at once if their weight would exceed this.
const WEIGHT_TAKEN: usize = 4096;

struct State<T, R> {
    waiting: VecDeque<(T, usize)>,
    /// The number of the first item in `waiting`.
    next_in: usize,
    /// Results by number, from `next_out` on.
    finished: VecDeque<Option<(R, usize)>>,
    next_out: usize,
    weight: usize,
    /// The producer is done.
    complete: bool,
    /// The consumer wants no more.
    stopped: bool,
}

struct Shared<T, R> {
    state: Mutex<State<T, R>>,
    limit: usize,
    workers: usize,
    room: Condvar,
    work: Condvar,
    ready: Condvar,
}

/// Where the producer puts its items.
pub(crate) struct Feed<'a, T, R>(&'a Shared<T, R>);

impl<T, R> Feed<'_, T, R> {
    /// Appends an item, and waits until there is room for it. Breaks when the consumer wants no more.
    pub(crate) fn push(&self, item: T, weight: usize) -> ControlFlow<()> {
        let mut state = self.0.lock();
        while !state.stopped && state.weight > 0 && state.weight + weight > self.0.limit {
            state = wait(&self.0.room, state);
        }
        if state.stopped {
            return ControlFlow::Break(());
        }
        state.weight += weight;
        state.waiting.push_back((item, weight));
        drop(state);
        self.0.work.notify_one();
        ControlFlow::Continue(())
    }
}

impl<T, R> Shared<T, R> {
    fn lock(&self) -> MutexGuard<'_, State<T, R>> {
        self.state.lock().expect("a panic ends the process")
    }

    fn work(&self, work: &impl Fn(T) -> R) {
        loop {
            let mut state = self.lock();
            while state.waiting.is_empty() && !state.complete && !state.stopped {
                state = wait(&self.work, state);
            }
            if state.stopped || state.waiting.is_empty() {
                return;
            }
            let share = (state.waiting.len() / self.workers).clamp(1, MOST_TAKEN);
            let mut weight = 0;
            let light = state.waiting.iter().take(share).take_while(|(_, of_item)| {
                weight += of_item;
                weight <= WEIGHT_TAKEN
            });
            let take = light.count().max(1);
            let first = state.next_in;
            state.next_in += take;
            let items: Vec<(T, usize)> = state.waiting.drain(..take).collect();
            drop(state);

            let results: Vec<(R, usize)> = items.into_iter().map(|(item, weight)| (work(item), weight)).collect();

            let mut state = self.lock();
            let offset = first - state.next_out;
            if state.finished.len() < offset + take {
                state.finished.resize_with(offset + take, || None);
            }
            for (at, result) in results.into_iter().enumerate() {
                state.finished[offset + at] = Some(result);
            }
            drop(state);
            self.ready.notify_one();
        }
    }

    /// The next result and whether more of them are ready; `None` after the last.
    fn take(&self) -> Option<(R, bool)> {
        let mut state = self.lock();
        loop {
            if let Some(Some(_)) = state.finished.front() {
                let (result, weight) = state.finished.pop_front()??;
                state.next_out += 1;
                state.weight -= weight;
                let more = matches!(state.finished.front(), Some(Some(_)));
                drop(state);
                self.room.notify_one();
                return Some((result, more));
            }
            if state.complete && state.waiting.is_empty() && state.next_out == state.next_in {
                return None;
            }
            state = wait(&self.ready, state);
        }
    }
}

fn wait<'a, S>(condition: &Condvar, state: MutexGuard<'a, S>) -> MutexGuard<'a, S> {
    condition.wait(state).expect("a panic ends the process")
}

/// Runs the map. `consume` gets each result, and whether the next result is ready. `consume` may break, which stops
/// the producer and the workers.
pub(crate) fn run<T: Send, R: Send>(
    workers: usize,
    limit: usize,
    produce: impl FnOnce(&Feed<'_, T, R>) + Send,
    work: impl Fn(T) -> R + Sync,
    mut consume: impl FnMut(R, bool) -> ControlFlow<()>,
) {
    let shared = Shared {
        state: Mutex::new(State {
            waiting: VecDeque::new(),
            next_in: 0,
            finished: VecDeque::new(),
            next_out: 0,
            weight: 0,
            complete: false,
            stopped: false,
        }),
        limit,
        workers,
        room: Condvar::new(),
        work: Condvar::new(),
        ready: Condvar::new(),
    };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            produce(&Feed(&shared));
            shared.lock().complete = true;
            shared.work.notify_all();
            shared.ready.notify_one();
        });
        for _ in 0..workers {
            scope.spawn(|| shared.work(&work));
        }
        while let Some((result, more)) = shared.take() {
            if consume(result, more).is_break() {
                shared.lock().stopped = true;
                shared.work.notify_all();
                shared.room.notify_all();
                return;
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn results_come_in_order_and_within_the_limit() {
        for workers in [1, 2, 8] {
            let inside = AtomicUsize::new(0);
            let most = AtomicUsize::new(0);
            let mut seen = Vec::new();
            run(
                workers,
                50,
                |feed| {
                    for n in 0..3000usize {
                        let weight = 1 + n % 7;
                        inside.fetch_add(weight, Ordering::SeqCst);
                        let _ = feed.push((n, weight), weight);
                    }
                },
                |(n, weight)| {
                    most.fetch_max(inside.load(Ordering::SeqCst), Ordering::SeqCst);
                    if n % 97 == 0 {
                        std::thread::yield_now();
                    }
                    (n * 2, weight)
                },
                |(n, weight), _| {
                    inside.fetch_sub(weight, Ordering::SeqCst);
                    seen.push(n);
                    ControlFlow::Continue(())
                },
            );
            assert!(seen.iter().copied().eq((0..3000).map(|n| n * 2)));
            // The count may include one item that waits for room, and one that the consumer has just taken.
            assert!(most.load(Ordering::SeqCst) <= 50 + 2 * 7);
        }
    }

    #[test]
    fn too_heavy_an_item_passes_alone() {
        let mut seen = Vec::new();
        let produce = |feed: &Feed<'_, usize, usize>| {
            for n in 0..20 {
                let _ = feed.push(n, 1000);
            }
        };
        run(
            3,
            1,
            produce,
            |n| n,
            |n, _| {
                seen.push(n);
                ControlFlow::Continue(())
            },
        );
        assert_eq!(seen, (0..20).collect::<Vec<_>>());
    }

    #[test]
    fn a_consumer_that_stops_stops_all() {
        let mut seen = 0;
        let produce = |feed: &Feed<'_, u32, u32>| while feed.push(0, 1).is_continue() {};
        run(
            4,
            10,
            produce,
            |n| n,
            |_, _| {
                seen += 1;
                if seen == 5 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            },
        );
        assert_eq!(seen, 5);
    }
}
