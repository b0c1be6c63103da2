//! Waits that end: a notification wakes anyone who waits, and a wait may end without one, or because its time is up.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Duration;

use explore::sync::mpsc::{self, RecvTimeoutError};
use explore::sync::{Arc, Condvar, Mutex};
use explore::{Builder, Finding, RandomStrategy, Verdict, thread};

const LONG: Duration = Duration::from_secs(1);

fn bounded(spurious_wakes: u32, timeouts: u32) -> Builder {
    Builder { spurious_wakes, timeouts, ..Builder::new() }
}

/// Every execution, and random ones, which say the same. The token repeats what was found.
fn both(builder: &Builder, code: impl Fn() + Clone + 'static) -> Verdict {
    let verdict = builder.check(code.clone());
    let random = builder.sample(RandomStrategy::Uniform, 0..500, code.clone());
    let kind = |verdict: &Verdict| verdict.finding.as_ref().map(std::mem::discriminant);
    assert_eq!(kind(&verdict), kind(&random), "{verdict} {random}");
    if let Some(trace) = &verdict.trace {
        assert_eq!(builder.replay(&trace.token, code).unwrap().finding, verdict.finding);
    }
    assert!(verdict.finding.is_some() || verdict.is_complete, "{verdict}");
    verdict
}

fn is_fine(builder: &Builder, code: impl Fn() + Clone + 'static) {
    let verdict = both(builder, code);
    assert_eq!(verdict.finding, None, "{verdict}");
}

/// What is panicked with.
fn panics(builder: &Builder, code: impl Fn() + Clone + 'static) -> String {
    let verdict = both(builder, code);
    let Some(Finding::Panic(message)) = verdict.finding else { panic!("{verdict}") };
    message
}

fn deadlocks(builder: &Builder, code: impl Fn() + Clone + 'static) {
    let verdict = both(builder, code);
    assert!(matches!(verdict.finding, Some(Finding::Deadlock(_))), "{verdict}");
}

#[test]
fn a_wait_may_end_without_a_notification() {
    let code = |looks_again: bool| {
        move || {
            let pair = Arc::new((Mutex::new(false), Condvar::new()));
            let other = Arc::clone(&pair);
            thread::spawn(move || {
                *other.0.lock().unwrap() = true;
                other.1.notify_one();
            });
            let mut is_set = pair.0.lock().unwrap();
            while !*is_set {
                is_set = pair.1.wait(is_set).unwrap();
                assert!(*is_set || looks_again, "too early");
            }
        }
    };
    assert!(panics(&bounded(1, 0), code(false)).contains("too early"));
    is_fine(&bounded(0, 0), code(false));
    is_fine(&bounded(1, 0), code(true));
    let verdict = bounded(2, 0).check(code(true));
    assert_eq!((verdict.omitted.spurious_wakes, verdict.omitted.timeouts), (Some(2), None));
    assert!(verdict.to_string().ends_with("; a wait ends without a reason at most 2 times at each place"), "{verdict}");
}

/// How many threads are there, how many may go on, and which have gone on.
type State = (u32, u32, Vec<u32>);

/// Two notifications at the same time wake two of three that wait, in any order, and none is lost.
#[test]
fn a_notification_wakes_anyone() {
    let firsts = Rc::new(RefCell::new(BTreeSet::new()));
    let seen = Rc::clone(&firsts);
    let verdict = bounded(0, 0).check(move || {
        let shared = Arc::new((Mutex::new(State::default()), Condvar::new()));
        let waiting: Vec<_> = (0..3)
            .map(|number| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || {
                    let mut state = shared.0.lock().unwrap();
                    state.0 += 1;
                    while state.1 == 0 {
                        state = shared.1.wait(state).unwrap();
                    }
                    state.1 -= 1;
                    state.2.push(number);
                })
            })
            .collect();
        let mut state = shared.0.lock().unwrap();
        if state.0 < 3 {
            // They do not all wait.
            state.1 = 3;
            shared.1.notify_all();
            return;
        }
        drop(state);
        let wake = |lock: &Mutex<State>, condition: &Condvar| {
            lock.lock().unwrap().1 += 1;
            condition.notify_one();
        };
        let other = Arc::clone(&shared);
        let another = thread::spawn(move || wake(&other.0, &other.1));
        wake(&shared.0, &shared.1);
        another.join().unwrap();
        wake(&shared.0, &shared.1);
        for thread in waiting {
            thread.join().unwrap();
        }
        seen.borrow_mut().insert(shared.0.lock().unwrap().2[0]);
    });
    assert_eq!(verdict.finding, None, "{verdict}");
    assert_eq!(*firsts.borrow(), BTreeSet::from([0, 1, 2]));
}

#[test]
fn the_time_of_a_wait_may_run_out() {
    let alone = || {
        let (lock, condition) = (Mutex::new(false), Condvar::new());
        let (_guard, result) = condition.wait_timeout(lock.lock().unwrap(), LONG).unwrap();
        assert!(result.timed_out(), "woken");
    };
    is_fine(&bounded(0, 1), alone);
    deadlocks(&bounded(0, 0), alone);
    let looks_again = || {
        let (lock, condition) = (Mutex::new(false), Condvar::new());
        let is_waiting = |is_set: &mut bool| !*is_set;
        let (_guard, result) = condition.wait_timeout_while(lock.lock().unwrap(), LONG, is_waiting).unwrap();
        assert!(result.timed_out());
    };
    is_fine(&bounded(1, 1), looks_again);
    // One that was notified has not run out of time.
    let notified = || {
        let pair = Arc::new((Mutex::new(false), Condvar::new()));
        let other = Arc::clone(&pair);
        thread::spawn(move || {
            *other.0.lock().unwrap() = true;
            other.1.notify_one();
        });
        let is_waiting = |is_set: &mut bool| !*is_set;
        let (is_set, result) = pair.1.wait_timeout_while(pair.0.lock().unwrap(), LONG, is_waiting).unwrap();
        assert_eq!(*is_set, !result.timed_out());
    };
    is_fine(&bounded(1, 1), notified);
}

#[test]
fn a_parked_thread_may_go_on() {
    // Nothing makes it go on.
    for bound in 0..2 {
        deadlocks(&bounded(bound, 0), || {
            thread::park();
        });
    }
    let timed = || thread::park_timeout(LONG);
    is_fine(&bounded(0, 1), timed);
    deadlocks(&bounded(0, 0), timed);
    let trusts = || {
        let flag = Arc::new(explore::sync::atomic::AtomicBool::new(false));
        let (set, parked) = (Arc::clone(&flag), thread::current());
        thread::spawn(move || {
            set.store(true, std::sync::atomic::Ordering::Release);
            parked.unpark();
        });
        thread::park();
        assert!(flag.load(std::sync::atomic::Ordering::Acquire), "too early");
    };
    assert!(panics(&bounded(1, 0), trusts).contains("too early"));
    is_fine(&bounded(0, 0), trusts);
}

#[test]
fn a_channel_may_be_silent_for_too_long() {
    let code = |sends: bool| {
        move || {
            let (to, from) = mpsc::channel();
            thread::spawn(move || {
                if sends {
                    to.send(7).unwrap();
                } else {
                    drop(to);
                }
            });
            match from.recv_timeout(LONG) {
                Ok(number) => assert!(sends && number == 7),
                Err(RecvTimeoutError::Timeout) => panic!("late"),
                Err(RecvTimeoutError::Disconnected) => assert!(!sends),
            }
        }
    };
    for sends in [false, true] {
        assert!(panics(&bounded(0, 1), code(sends)).contains("late"));
        is_fine(&bounded(0, 0), code(sends));
    }
}
