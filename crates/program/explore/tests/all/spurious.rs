//! What may happen without a reason: a weak compare-exchange fails, in every front end and both ways to explore.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use explore::litmus::{Limits, Report, Test};
use explore::sync::Arc;
use explore::sync::atomic::AtomicU32;
use explore::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use explore::{Builder, Finding, Model, RandomStrategy, Verdict, hint, thread};

fn bounded(spurious_failures: u32) -> Builder {
    Builder { spurious_failures, ..Builder::new() }
}

/// One thread, which nobody disturbs.
fn is_sure() {
    let x = AtomicU32::new(0);
    assert!(x.compare_exchange_weak(0, 1, Relaxed, Relaxed).is_ok(), "it failed");
}

#[test]
fn a_weak_exchange_alone_fails_once() {
    let verdict = Builder::new().check(is_sure);
    let Some(Finding::Panic(message)) = &verdict.finding else { panic!("{verdict}") };
    assert!(message.contains("it failed"), "{message}");
    let trace = verdict.trace.as_ref().unwrap();
    assert!(trace.lanes.contains("fails without a reason"), "{trace}");
    // The token repeats it, and random runs find it, too.
    let again = Builder::new().replay(&trace.token, is_sure).unwrap();
    assert_eq!(again.finding, verdict.finding);
    assert!(Builder::new().sample(RandomStrategy::Uniform, 0..20, is_sure).finding.is_some());

    let off = bounded(0).check(is_sure);
    assert!(off.finding.is_none() && off.is_complete, "{off}");
    assert!(off.to_string().ends_with("weak compare-exchanges are taken as strong"), "{off}");
    assert!(bounded(0).sample(RandomStrategy::Uniform, 0..20, is_sure).to_string().contains("taken as strong"));
}

/// How often the exchange of each of the threads fails before it succeeds, over all executions.
fn failures(bound: u32, threads: usize) -> (Verdict, BTreeMap<Vec<u32>, u32>) {
    let all = Rc::new(RefCell::new(BTreeMap::new()));
    let of_run = Rc::clone(&all);
    let verdict = bounded(bound).check(move || {
        let x = Arc::new(AtomicU32::new(0));
        let retry = |x: &AtomicU32| {
            let mut failed = 0;
            let mut old = x.load(Relaxed);
            while let Err(new) = x.compare_exchange_weak(old, old + 1, Relaxed, Relaxed) {
                (old, failed) = (new, failed + 1);
            }
            failed
        };
        let others: Vec<_> = (1..threads)
            .map(|_| {
                let x = Arc::clone(&x);
                thread::spawn(move || retry(&x))
            })
            .collect();
        let mut failed = vec![retry(&x)];
        failed.extend(others.into_iter().map(|other| other.join().unwrap()));
        assert_eq!(x.load(Relaxed), threads as u32);
        *of_run.borrow_mut().entry(failed).or_insert(0) += 1;
    });
    assert!(verdict.finding.is_none() && verdict.is_complete, "{verdict}");
    (verdict, Rc::into_inner(all).unwrap().into_inner())
}

/// Each number of failures up to the bound, and each once.
#[test]
fn the_bound_is_how_often_it_fails_at_one_place() {
    for bound in 0..4 {
        let (verdict, failed) = failures(bound, 1);
        let expected: BTreeMap<Vec<u32>, u32> = (0..=bound).map(|count| (vec![count], 1)).collect();
        assert_eq!(failed, expected);
        assert_eq!(verdict.omitted.spurious_failures, Some(bound), "{verdict}");
    }
    assert!(failures(1, 1).0.to_string().contains("at most once at each place"));
    // Two threads: with a bound of 0, an exchange fails since the other one came between, or not at all.
    let strong: Vec<Vec<u32>> = failures(0, 2).1.into_keys().collect();
    let weak: Vec<Vec<u32>> = failures(1, 2).1.into_keys().collect();
    assert!(strong.iter().all(|failed| weak.contains(failed)), "{strong:?} {weak:?}");
    assert!(weak.contains(&vec![1, 1]) && !strong.contains(&vec![1, 1]), "{strong:?} {weak:?}");
}

/// Every execution once: the strong exchange of an abstract program with a choice before it has as many.
#[test]
fn no_execution_comes_twice() {
    let test = |fails: &str| {
        format!(
            "C t\n{{}}\nP0 (atomic_int* x) {{ int e = 0; int ok = atomic_compare_exchange_{fails}(x, &e, 1); }}\n\
             P1 (atomic_int* x) {{ atomic_store(x, 2); }}\nexists (0:ok=0)"
        )
    };
    for model in [Model::C20, Model::Sc, Model::Tso] {
        // It succeeds before the store, or fails after it.
        let strong = litmus(&test("strong"), model, 1);
        assert_eq!((strong.counts.executions, strong.counts.blocked, strong.could_fail_more), (2, 0, false));
        let off = litmus(&test("weak"), model, 0);
        assert_eq!((off.counts.executions, off.counts.blocked, off.could_fail_more), (2, 0, true));
        // Or it reads what it expects, and fails. The one that reads the store and fails is there already.
        let weak = litmus(&test("weak"), model, 1);
        assert_eq!((weak.counts.executions, weak.counts.blocked, weak.could_fail_more), (3, 1, false));
    }
}

fn litmus(text: &str, model: Model, spurious_failures: u32) -> Report {
    let test = Test::parse(text.as_bytes()).unwrap_or_else(|error| panic!("{error:?}\n{text}"));
    test.explore(model, Limits { spurious_failures, ..Limits::default() }).unwrap()
}

#[test]
fn weak_exchanges_of_litmus_tests() {
    let text = "C t\n{ [x] = 2; }\nP0 (atomic_int* x) {
      int e = 2; int ok = atomic_compare_exchange_weak(x, &e, 9);
      int again = atomic_compare_exchange_weak_explicit(x, &e, 9, memory_order_acquire, memory_order_relaxed);
    }\nexists (0:ok=0 /\\ 0:again=0 /\\ 0:e=2 /\\ x=2)";
    let report = litmus(text, Model::C20, 1);
    // Both fail; one of the two; or the first succeeds, and then the second has another value.
    assert!(report.is_reachable() && report.counts.executions == 3 && !report.could_fail_more, "{report:?}");
    let off = litmus(text, Model::C20, 0);
    assert!(!off.is_reachable() && off.counts.executions == 1 && off.could_fail_more, "{off:?}");
    // In a loop, each round may fail up to the bound; then there are no more rounds.
    let retry = "C t\n{}\nP0 (atomic_int* x) { int r = 0; int e = 0;
      while (!atomic_compare_exchange_weak(x, &e, 1)) r++; }\nexists (0:r=2)";
    for (bound, is_reachable) in [(0, false), (1, false), (2, true), (3, true)] {
        let report = litmus(retry, Model::C20, bound);
        assert_eq!((report.is_reachable(), report.is_complete, report.could_fail_more), (is_reachable, true, true));
        assert_eq!(report.counts.executions, u64::from(bound) + 1);
    }
    // At random: no run is left in the middle.
    let test = Test::parse(text.as_bytes()).unwrap();
    let report = test.sample(Model::C20, Limits::default(), RandomStrategy::Uniform, 0..200).unwrap();
    assert!(report.is_reachable() && report.counts.executions == 200, "{report:?}");
    let off = Limits { spurious_failures: 0, ..Limits::default() };
    let report = test.sample(Model::C20, off, RandomStrategy::Uniform, 0..200).unwrap();
    assert!(!report.is_reachable() && report.could_fail_more, "{report:?}");
}

/// A lock that is taken by a weak exchange, and that hints while it waits: what fails without a reason goes round, and
/// what waits is explored as a wait.
#[test]
fn loops_that_hint_wait_as_before() {
    let lock = |bound: u32| {
        bounded(bound).check(|| {
            let both = Arc::new((AtomicU32::new(0), explore::cell::Cell::new(0)));
            let add = |(lock, value): &(AtomicU32, explore::cell::Cell<u32>)| {
                while lock.compare_exchange_weak(0, 1, Acquire, Relaxed).is_err() {
                    hint::spin_loop();
                }
                value.set(value.get() + 1);
                lock.store(0, Release);
            };
            let other = Arc::clone(&both);
            let other = thread::spawn(move || add(&other));
            add(&both);
            other.join().unwrap();
            assert_eq!(both.1.get(), 2);
        })
    };
    for bound in 0..3 {
        let verdict = lock(bound);
        assert!(verdict.finding.is_none() && verdict.is_complete, "{verdict}");
    }
    // Either may be first. The first fails so often, with the initial value. The second fails with that, or with what
    // the first has written at the end, and not the other way round.
    assert_eq!([0, 1, 2].map(|bound| lock(bound).counts.executions), [2, 2 * 2 * 3, 2 * 3 * 6]);
}

/// The old value goes to the function once more if the exchange of `fetch_update` fails without a reason.
#[test]
fn fetch_update_may_ask_again() {
    let verdict = Builder::new().check(|| {
        let (x, mut asked) = (AtomicU32::new(5), 0);
        let update = |old| {
            asked += 1;
            Some(old + 1)
        };
        assert_eq!(x.fetch_update(Relaxed, Relaxed, update), Ok(5));
        assert_eq!(asked, 1, "asked twice");
    });
    assert!(verdict.to_string().contains("asked twice"), "{verdict}");
}

/// Several workers find the same, and say the same of what was left out.
#[test]
fn workers_agree() {
    let code = || {
        let x = Arc::new(AtomicU32::new(0));
        let other = Arc::clone(&x);
        let add = |x: &AtomicU32| {
            let mut old = x.load(Relaxed);
            while let Err(new) = x.compare_exchange_weak(old, old + 1, Relaxed, Relaxed) {
                old = new;
            }
        };
        thread::spawn(move || add(&other));
        add(&x);
    };
    for bound in [0, 1] {
        let (one, two) = (bounded(bound).check(code), bounded(bound).check_by(2, code));
        assert_eq!((one.counts, one.omitted), (two.counts, two.omitted));
        assert_eq!(one.omitted.spurious_failures, Some(bound));
    }
}
