//! What recording costs. Run it with `cargo bench -p seriatim-record`.
//!
//! Two threads call an object in three ways: bare, recorded in memory, and recorded for a third thread that counts the
//! events. The figures are nanoseconds for each operation, the best of many short runs, since other work of the machine
//! only adds time. The limit: recording in memory takes at most 60 ns more than the bare call. Where threads contend
//! for an object, they contend less when they call it less often, so there the difference is not the cost of recording
//! alone. `live` needs a core for the third thread.

use std::hint::black_box;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use crossbeam::queue::SegQueue;
use history::{Method, Object};
use record::clock::Clock;
use record::{Live, Recorder, Thread};

const OPERATIONS: u32 = 100_000;
const RUNS: u32 = 45;

/// The time of an operation, in nanoseconds, if two threads do it as often as they can.
fn time<T: Send>(context: impl Fn(u32) -> T, body: impl Fn(&mut T, u32) + Sync) -> f64 {
    let barrier = Barrier::new(2);
    let mut longest = Duration::ZERO;
    std::thread::scope(|scope| {
        let spawn = |own: u32| {
            let (mut context, barrier, body) = (context(own), &barrier, &body);
            scope.spawn(move || {
                barrier.wait();
                let start = Instant::now();
                for n in 0..OPERATIONS {
                    body(&mut context, n);
                }
                start.elapsed()
            })
        };
        for thread in [spawn(0), spawn(1)] {
            longest = longest.max(thread.join().expect("no panic"));
        }
    });
    longest.as_secs_f64() * 1e9 / f64::from(OPERATIONS)
}

fn best(mut run: impl FnMut() -> f64) -> f64 {
    (0..RUNS).map(|_| run()).fold(f64::INFINITY, f64::min)
}

/// Prints the times of the bare call, of recording in memory, and of recording live.
fn report<T: Send>(
    name: &str,
    object: Object,
    bare: impl Fn(u32) -> T + Copy,
    call: impl Fn(&mut T, u32) + Sync + Copy,
    recorded: impl Fn(&mut T, &mut Thread, u32) + Sync + Copy,
) {
    let without = best(|| time(bare, call));
    let record = |reserve: usize| {
        let recorder = Recorder::new(object);
        let context = |own| {
            let mut thread = recorder.thread();
            thread.reserve(reserve);
            (bare(own), thread)
        };
        time(context, |(context, thread), n| recorded(context, thread, n))
    };
    let with = best(|| record(OPERATIONS as usize));
    let unreserved = best(|| record(0));
    let live = best(|| {
        let live = Live::new(object, |events| events.count());
        let time = time(|own| (bare(own), live.thread()), |(context, thread), n| recorded(context, thread, n));
        live.finish();
        time
    });
    println!(
        "{name}: bare {without:.1} ns; recorded {with:.1} ns, {:.1} over; without memory reserved {:.1} over; \
         live {live:.1} ns, {:.1} over",
        with - without,
        unreserved - without,
        live - without
    );
}

fn main() {
    for clock in [Clock::new(), Clock::instant()] {
        let each = |stamp: &dyn Fn() -> u64| {
            best(|| {
                let start = Instant::now();
                for _ in 0..OPERATIONS {
                    black_box(stamp());
                }
                start.elapsed().as_secs_f64() * 1e9 / f64::from(OPERATIONS)
            })
        };
        let (before, after) = (each(&|| clock.before()), each(&|| clock.after()));
        println!("clock of the {}: {before:.1} ns before, {after:.1} ns after an operation", clock.name());
    }
    report(
        "a counter for each thread",
        Object::Register,
        |_| AtomicU32::new(0),
        |counter, _| {
            black_box(counter.fetch_add(1, Ordering::Relaxed));
        },
        |counter, thread, _| {
            black_box(thread.record(Method::Read, || counter.fetch_add(1, Ordering::Relaxed)));
        },
    );
    let queue = SegQueue::new();
    let queue = &queue;
    report(
        "one SegQueue",
        Object::Queue,
        |own| own,
        |&mut own, n| {
            if n % 2 == 0 {
                queue.push(own << 28 | n);
            } else {
                black_box(queue.pop());
            }
        },
        |&mut own, thread, n| {
            let value = own << 28 | n;
            if n % 2 == 0 {
                thread.record((Method::Enqueue, value), || queue.push(value));
            } else {
                black_box(thread.record(Method::Dequeue, || queue.pop()));
            }
        },
    );
}
