//! What may happen to a C or C++ program without a reason, as often as told: weak compare-exchanges fail, waits end,
//! and time runs out. A signal wakes anyone who waits.

use std::ffi::OsStr;

use compiled::{Compiled, ProgramVerdict, Selection, Setup, explore};
use explore::{Model, RandomStrategy};

use crate::own::{START, compiled, threads};

fn setup(spurious: u32, timeouts: u32) -> Setup {
    Setup { spurious, timeouts, ..Setup::new(Model::C20) }
}

fn verdict(code: &str, setup: &Setup) -> Option<ProgramVerdict> {
    Some(explore(&compiled("program.c", code, &[])?, setup).unwrap())
}

/// The kind of what is found, in all executions and at random.
fn finding(code: &str, setup: &Setup) -> Option<&'static str> {
    let program = compiled("program.c", code, &[])?;
    let found = explore(&program, setup).unwrap();
    let kind = found.finding.as_ref().map(|finding| finding.kind.name());
    assert!(kind.is_some() || found.is_complete, "{found:#?}");
    let mode = Selection::Random { strategy: RandomStrategy::Uniform, seeds: 0..2000 };
    let random = explore(&program, &Setup { mode, ..setup.clone() }).unwrap();
    assert_eq!(random.finding.map(|finding| finding.kind.name()), kind, "at random");
    if let Some(token) = found.token {
        let again = explore(&program, &Setup { mode: Selection::Replay(token), ..setup.clone() }).unwrap();
        assert_eq!(again.finding, found.finding);
    }
    kind
}

/// gcc alone says which exchanges are weak.
fn has_gcc() -> bool {
    let is_there = crate::has_command("gcc") && crate::has_command("cc");
    if !is_there {
        println!("skipped: there is no gcc");
    }
    is_there
}

fn by_gcc(code: &str, setup: &Setup) -> ProgramVerdict {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("program.c");
    std::fs::write(&file, code).unwrap();
    let program = Compiled::by(["gcc", "g++"].map(OsStr::new), &[file], &[]).unwrap();
    explore(&program, setup).unwrap()
}

#[test]
fn a_weak_exchange_fails_as_often_as_told() {
    if !has_gcc() {
        return;
    }
    let alone = format!(
        "{START}int main(void) {{ atomic_int x = 0; int old = 0, failed = 0;
        while (!atomic_compare_exchange_weak(&x, &old, 1)) failed++;
        assert(old == 0 && failed < LIMIT); }}"
    );
    for bound in 0..4 {
        // Each number of failures up to the bound, once.
        let most = by_gcc(&alone.replace("LIMIT", &(bound + 1).to_string()), &setup(bound, 0));
        assert_eq!((most.executions, most.is_complete), (u64::from(bound) + 1, true), "{most:#?}");
        assert_eq!(most.spurious_failures, Some(bound));
        let less = by_gcc(&alone.replace("LIMIT", &bound.to_string()), &setup(bound, 0));
        assert_eq!(less.finding.map(|finding| finding.kind.name()), Some("assert"));
        assert_eq!(bound > 0, less.lanes.contains("fails without a reason"), "{}", less.lanes);
    }
}

/// The same numbers as the litmus test and the Rust code of the same program have.
#[test]
fn no_execution_comes_twice() {
    if !has_gcc() {
        return;
    }
    let code = |how: &str| {
        format!(
            "atomic_int x; int e; void *one(void *p) {{ atomic_compare_exchange_{how}(&x, &e, 1); return p; }}
            void *two(void *p) {{ atomic_store(&x, 2); return p; }}"
        )
    };
    let strong = by_gcc(&threads(&code("strong"), ""), &setup(1, 1));
    assert_eq!((strong.executions, strong.blocked, strong.spurious_failures), (2, 0, None));
    let off = by_gcc(&threads(&code("weak"), ""), &setup(0, 0));
    assert_eq!((off.executions, off.blocked, off.spurious_failures), (2, 0, Some(0)));
    let weak = by_gcc(&threads(&code("weak"), ""), &setup(1, 1));
    assert_eq!((weak.executions, weak.blocked, weak.spurious_failures), (3, 1, None));
}

/// A lock that waits with weak exchanges is no endless loop.
#[test]
fn a_loop_of_weak_exchanges_waits() {
    if !has_gcc() {
        return;
    }
    let code = "atomic_int lock; int n; void *one(void *p) { int free = 0;
            while (!atomic_compare_exchange_weak_explicit(&lock, &free, 1, memory_order_acquire, memory_order_relaxed))
                free = 0;
            n++; atomic_store_explicit(&lock, 0, memory_order_release); return p; }
        void *two(void *p) { return one(p); }";
    let verdict = by_gcc(&threads(code, "assert(n == 2);"), &setup(1, 1));
    assert_eq!((verdict.finding, verdict.bounded, verdict.is_complete), (None, 0, true));
    let verdict = by_gcc(&threads(&code.replace("explicit(&lock, 0", "explicit(&lock, 1"), ""), &setup(1, 1));
    assert_eq!(verdict.finding.map(|finding| finding.kind.name()), Some("deadlock"));
}

const LOCK: &str = "pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; pthread_cond_t c = PTHREAD_COND_INITIALIZER;
    int flag, early; struct timespec at = {1000000000, 0};";

#[test]
fn a_wait_may_end_without_a_signal() {
    let code = format!(
        "{LOCK} void *one(void *p) {{ pthread_mutex_lock(&m); IF (!flag) pthread_cond_wait(&c, &m); assert(flag);
            pthread_mutex_unlock(&m); return p; }}
        void *two(void *p) {{ pthread_mutex_lock(&m); flag = 1; pthread_cond_signal(&c); pthread_mutex_unlock(&m);
            return p; }}"
    );
    let (once, again) = (threads(&code.replace("IF", "if"), ""), threads(&code.replace("IF", "while"), ""));
    assert_eq!(finding(&once, &setup(1, 1)), crate::has_command("cc").then_some("assert"));
    assert_eq!(finding(&once, &setup(0, 1)), None);
    assert_eq!(finding(&again, &setup(1, 1)), None);
    let Some(verdict) = verdict(&again, &setup(2, 1)) else { return };
    assert_eq!((verdict.spurious_wakes, verdict.timeouts), (Some(2), None));
}

/// Two threads wait, and one is woken: each may be it.
#[test]
fn a_signal_wakes_anyone() {
    if !crate::has_command("cc") {
        return;
    }
    let code = format!(
        "{START}{LOCK} int waits, turn, first;
        void *one(void *p) {{ pthread_mutex_lock(&m); waits++;
            while (!turn) pthread_cond_wait(&c, &m);
            turn--; if (!first) first = (int)(long)p; pthread_mutex_unlock(&m); return p; }}
        void *wake(void *p) {{ pthread_mutex_lock(&m); turn++; pthread_cond_signal(&c); pthread_mutex_unlock(&m);
            return p; }}
        int main(void) {{ pthread_t t[5]; for (long i = 0; i < 3; i++) pthread_create(&t[i], 0, one, (void *)(i + 1));
            pthread_mutex_lock(&m); __VERIFIER_assume(waits == 3); pthread_mutex_unlock(&m);
            for (int i = 3; i < 5; i++) pthread_create(&t[i], 0, wake, 0);
            for (int i = 3; i < 5; i++) pthread_join(t[i], 0);
            pthread_mutex_lock(&m); __VERIFIER_assume(first); CHECK pthread_mutex_unlock(&m);
            wake(0); for (int i = 0; i < 3; i++) pthread_join(t[i], 0); }}"
    )
    .replace("int main", "void __VERIFIER_assume(int); int main");
    // Signals at the same time wake different threads, and none is lost.
    let all = verdict(&code.replace("CHECK", ""), &setup(0, 0)).unwrap();
    assert_eq!((&all.finding, all.is_complete), (&None, true), "{all:#?}");
    assert!(all.executions > 0);
    for number in 1..4 {
        let code = code.replace("CHECK", &format!("assert(first != {number});"));
        let found = verdict(&code, &setup(0, 0)).unwrap().finding;
        assert_eq!(found.map(|finding| finding.kind.name()), Some("assert"), "{number}");
    }
}

#[test]
fn time_may_run_out_where_a_thread_waits() {
    if !crate::has_command("cc") {
        return;
    }
    let wait = |after: &str| {
        format!(
            "{LOCK} void *one(void *p) {{ pthread_mutex_lock(&m); int how = pthread_cond_timedwait(&c, &m, &at);
            {after} pthread_mutex_unlock(&m); return p; }} void *two(void *p) {{ return p; }}"
        )
    };
    // Nobody wakes it. If its time never runs out, it waits for ever.
    assert_eq!(finding(&threads(&wait("assert(how == ETIMEDOUT);"), ""), &setup(0, 1)), None);
    assert_eq!(finding(&threads(&wait(""), ""), &setup(0, 0)), Some("deadlock"));
    assert_eq!(finding(&threads(&wait("assert(how != ETIMEDOUT);"), ""), &setup(0, 1)), Some("assert"));
    // A lock that is free is taken at once.
    let lock = |then: &str| {
        format!(
            "{LOCK} void *one(void *p) {{ int how = pthread_mutex_timedlock(&m, &at); {then}
            if (how == 0) pthread_mutex_unlock(&m); return p; }} void *two(void *p) {{ OTHER return p; }}"
        )
    };
    let sure = lock("assert(how == 0);");
    assert_eq!(finding(&threads(&sure.replace("OTHER", ""), ""), &setup(1, 1)), None);
    let busy = "pthread_mutex_lock(&m); pthread_mutex_unlock(&m);";
    assert_eq!(finding(&threads(&sure.replace("OTHER", busy), ""), &setup(1, 1)), Some("assert"));
    assert_eq!(finding(&threads(&sure.replace("OTHER", busy), ""), &setup(1, 0)), None);
    let semaphore = "sem_t s; struct timespec at; void *two(void *p) { return p; }
        void *one(void *p) { assert(sem_timedwait(&s, &at) == -1 && errno == ETIMEDOUT); return p; }";
    assert_eq!(finding(&threads(semaphore, ""), &setup(1, 1)), None);
    assert_eq!(finding(&threads(semaphore, ""), &setup(1, 0)), Some("deadlock"));
}

/// The clock has reached the time that has run out, so the library believes it.
#[test]
fn waits_of_cpp_run_out_of_time() {
    let code = "#include <cassert>\n#include <chrono>\n#include <condition_variable>\n#include <mutex>\n
        #include <thread>\nstd::mutex m; std::condition_variable c; bool flag;
        int main() { std::thread t([] { std::lock_guard<std::mutex> g(m); flag = true; c.notify_one(); });
        { std::unique_lock<std::mutex> g(m);
          bool seen = c.wait_for(g, std::chrono::seconds(5), [] { return flag; });
          assert(seen == flag); assert(seen || LATE); } t.join(); }";
    let Some(program) = compiled("program.cc", &code.replace("LATE", "true"), &[]) else { return };
    let verdict = explore(&program, &setup(1, 1)).unwrap();
    assert_eq!((&verdict.finding, verdict.is_complete), (&None, true), "{verdict:#?}");
    let Some(program) = compiled("program.cc", &code.replace("LATE", "false"), &[]) else { return };
    let verdict = explore(&program, &setup(1, 1)).unwrap();
    assert_eq!(verdict.finding.map(|finding| finding.kind.name()), Some("assert"));
}
