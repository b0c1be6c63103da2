//! Real objects with real threads: correct objects have no violation, and wrong objects have one.

use crate::objects;
use std::collections::VecDeque;
use std::sync::{Barrier, Mutex};

use history::{History, Method, Object, Value};
use model::{Certificate, Decided, Model, Verdict};
use monitor::linearizable::OnlineAlgorithm;
use monitor::{Linearizable, Monitor, Progress, Violation};
use object::ObjectHistory;
use objects::k_fifo::KFifo;
use objects::seqlock::{Order, SeqLock};
use objects::treiber;
use record::{Answer, Live, Recorder, ReturnedValue, Thread};
use verify::verify;

/// Runs as many threads as there are bodies, all at once.
fn run<B: FnOnce(&mut Thread) + Send>(bodies: Vec<B>, thread: impl Fn() -> Thread) {
    let barrier = Barrier::new(bodies.len());
    std::thread::scope(|scope| {
        for body in bodies {
            let (mut thread, barrier) = (thread(), &barrier);
            scope.spawn(move || {
                barrier.wait();
                body(&mut thread);
            });
        }
    });
}

/// Records a run.
fn record<B: FnOnce(&mut Thread) + Send>(object: Object, bodies: Vec<B>) -> History {
    let recorder = Recorder::new(object);
    run(bodies, || recorder.thread());
    recorder.finish()
}

/// What a monitor says of a run while it runs, and after how many events.
fn watch<B: FnOnce(&mut Thread) + Send>(
    mut monitor: Linearizable,
    object: Object,
    bodies: Vec<B>,
) -> (Option<Violation>, u64) {
    let live = Live::new(object, move |events| {
        let violation = events.find_map(|event| {
            let said = monitor.push(event);
            assert!(!matches!(said, Ok(Progress::Refused(_) | Progress::GaveUp(_))), "{said:?}");
            said.err()
        });
        (violation, monitor.events())
    });
    run(bodies, || live.thread());
    live.finish()
}

fn monitor(object: Object, algorithm: OnlineAlgorithm) -> Linearizable {
    Linearizable::new(object, algorithm).expect("a monitor")
}

fn decide(history: &History) -> Decided {
    let view = ObjectHistory::new(history).expect("an object history");
    object::check(&view, &object::ObjectOptions { witness: true, ..object::ObjectOptions::default() })
}

/// The verdict on a history. Its certificate is verified.
fn verdict(history: &History) -> Verdict {
    let decision = decide(history);
    let certificate = Certificate::new(0, history, Model::Linearizable, &decision).expect("evidence");
    verify(&certificate, history).expect("a certificate that holds");
    decision.verdict
}

/// Enqueues the values of the thread, and dequeues any.
fn queue_user<E: ReturnedValue>(
    own: u32,
    operations: u32,
    push: impl Fn(u32) -> E,
    pop: impl Fn() -> Option<u32>,
) -> impl FnOnce(&mut Thread) {
    move |thread| {
        for n in 0..operations {
            // The thread works in bursts, so that the queue is empty at times, and full at others.
            if n / 3 % 2 == 0 {
                let value = own * 1_000_000 + n + 1;
                thread.record((Method::Enqueue, value), || push(value));
            } else {
                thread.record(Method::Dequeue, &pop);
            }
        }
    }
}

/// Two threads on a queue: recorded, and watched while it runs.
fn check_queue<E: ReturnedValue>(push: impl Fn(u32) -> E + Sync, pop: impl Fn() -> Option<u32> + Sync) {
    let users = |first: u32, operations| {
        let (push, pop) = (&push, &pop);
        (first..first + 2).map(|own| queue_user(own, operations, push, pop)).collect::<Vec<_>>()
    };
    let history = record(Object::Queue, users(1, 600));
    assert_eq!(history.operations().len(), 1200);
    assert_eq!(verdict(&history), Verdict::Consistent);
    while pop().is_some() {}
    let (violation, events) = watch(monitor(Object::Queue, OnlineAlgorithm::Fast), Object::Queue, users(3, 20_000));
    assert_eq!((violation, events), (None, 80_000));
    while pop().is_some() {}
    let (violation, events) = watch(monitor(Object::Queue, OnlineAlgorithm::Saturate), Object::Queue, users(5, 500));
    assert_eq!((violation, events), (None, 2000));
}

#[test]
fn crossbeam_segment_queue_is_right() {
    let queue = crossbeam::queue::SegQueue::new();
    check_queue(|value| queue.push(value), || queue.pop());
}

/// A push to a full queue fails, and is recorded as one that did not happen.
#[test]
fn crossbeam_array_queue_is_right() {
    let queue = crossbeam::queue::ArrayQueue::new(4);
    check_queue(|value| queue.push(value), || queue.pop());
}

#[test]
fn a_queue_under_a_mutex_is_right() {
    let queue = Mutex::new(VecDeque::new());
    let lock = || queue.lock().expect("nobody panics");
    check_queue(|value| lock().push_back(value), || lock().pop_front());
}

#[test]
fn dashmap_is_a_set() {
    let map = dashmap::DashMap::new();
    let user = |seed: u32| {
        let map = &map;
        move |thread: &mut Thread| {
            let mut state = seed;
            for _ in 0..10_000 {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let element = state >> 16 & 3;
                match state >> 28 & 3 {
                    0 => thread.record((Method::Add, element), || map.insert(element, ()).is_none()),
                    1 => thread.record((Method::Remove, element), || map.remove(&element).is_some()),
                    _ => thread.record((Method::Contains, element), || map.contains_key(&element)),
                };
            }
        }
    };
    let (violation, events) = watch(monitor(Object::Set, OnlineAlgorithm::Fast), Object::Set, vec![user(1), user(2)]);
    assert_eq!((violation, events), (None, 40_000));
    map.clear();
    assert_eq!(verdict(&record(Object::Set, vec![user(3), user(4)])), Verdict::Consistent);
}

#[test]
fn parking_lot_mutex_excludes() {
    let mutex = parking_lot::Mutex::new(0_u32);
    let user = || {
        |thread: &mut Thread| {
            for _ in 0..5000 {
                let mut guard = thread.record_as(Method::Lock, || mutex.lock(), |_| Answer::Returned(Value::NONE));
                *guard += 1;
                thread.record(Method::Unlock, || drop(guard));
            }
        }
    };
    let (violation, events) = watch(monitor(Object::Mutex, OnlineAlgorithm::Fast), Object::Mutex, vec![user(), user()]);
    assert_eq!((violation, events), (None, 40_000));
    assert_eq!(*mutex.lock(), 10_000);
}

/// Two threads on the stack of Figure 1. Each round has values of its own.
fn stack_users(
    stack: &treiber::Stack,
    memories: Vec<treiber::Memory>,
) -> Vec<impl FnOnce(&mut Thread) + Send + use<'_>> {
    let user = |(own, mut memory): (usize, treiber::Memory)| {
        move |thread: &mut Thread| {
            for n in 0..40 {
                if n / 2 % 2 == 0 {
                    let value = own as u32 * 1000 + n + 1;
                    let _ = thread.record((Method::Push, value), || stack.push(&mut memory, value));
                } else {
                    thread.record(Method::Pop, || stack.pop(&mut memory));
                }
            }
        }
    };
    memories.into_iter().enumerate().map(user).collect()
}

#[test]
fn treibers_stack_that_uses_nodes_again_is_found_wrong() {
    let is_found = (0..5000).any(|_| {
        let (stack, memories) = treiber::Stack::new(3, 3);
        verdict(&record(Object::Stack, stack_users(&stack, memories))) == Verdict::Violation
    });
    assert!(is_found);
}

#[test]
fn treibers_stack_is_found_wrong_while_it_runs() {
    let is_found = (0..5000).any(|_| {
        let (stack, memories) = treiber::Stack::new(3, 3);
        let saturate = monitor(Object::Stack, OnlineAlgorithm::Saturate);
        watch(saturate, Object::Stack, stack_users(&stack, memories)).0.is_some()
    });
    assert!(is_found);
}

fn k_fifo_user(queue: &KFifo, own: u32) -> impl FnOnce(&mut Thread) + Send {
    move |thread| {
        for n in 0..200_u32 {
            let start = (n * 7 + own) as usize;
            if n / 5 % 2 == 0 {
                let value = own * 1000 + n + 1;
                let _ = thread.record((Method::Enqueue, value), || queue.enqueue(value, start));
            } else {
                thread.record(Method::Dequeue, || queue.dequeue(start));
            }
        }
    }
}

#[test]
fn a_k_fifo_queue_is_no_queue() {
    let queue = KFifo::new(4, 1000);
    assert_eq!(
        verdict(&record(Object::Queue, vec![k_fifo_user(&queue, 1), k_fifo_user(&queue, 2)])),
        Verdict::Violation
    );
    let queue = KFifo::new(4, 1000);
    let exact = monitor(Object::Queue, OnlineAlgorithm::Fast);
    let (violation, events) = watch(exact, Object::Queue, vec![k_fifo_user(&queue, 1), k_fifo_user(&queue, 2)]);
    assert!(violation.is_some(), "none in {events} events");
}

/// One writer and two readers. Returns whether a violation was found.
fn seqlock(order: Order) -> bool {
    let lock = SeqLock::new(order);
    let lock = &lock;
    let writer: Box<dyn FnOnce(&mut Thread) + Send> = Box::new(move |thread| {
        for value in 1..300_u32 {
            thread.record((Method::Write, value), || lock.write(value));
        }
    });
    let reader = || -> Box<dyn FnOnce(&mut Thread) + Send> {
        Box::new(move |thread| {
            for _ in 0..300 {
                thread.record(Method::Read, || lock.read());
            }
        })
    };
    let bodies = vec![writer, reader(), reader()];
    watch(monitor(Object::Register, OnlineAlgorithm::Fast), Object::Register, bodies).0.is_some()
}

#[test]
fn a_seqlock_is_a_register_if_its_orders_are_right() {
    assert!(!seqlock(Order::AcquireRelease));
}

/// On x86-64 the machine keeps loads in order, and stores in order. So relaxed accesses do no harm there, and no
/// violation is found. On other machines a violation may be found or not.
#[test]
fn a_seqlock_with_relaxed_orders_shows_what_the_machine_does() {
    let is_found = seqlock(Order::Relaxed);
    if cfg!(target_arch = "x86_64") {
        assert!(!is_found);
    }
}

#[test]
fn a_seqlock_that_does_not_look_is_found_wrong() {
    assert!((0..200).any(|_| seqlock(Order::Unchecked)));
}
