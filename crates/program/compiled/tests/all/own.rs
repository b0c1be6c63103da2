//! Small programs of this project: one for each thing that can be found, and one beside it that is right.

use std::path::PathBuf;

use compiled::{Compiled, ProgramVerdict, Selection, Setup, explore};
use explore::{Model, RandomStrategy};

pub(crate) fn has_compilers() -> bool {
    let has_both = crate::has_command("cc") && crate::has_command("c++");
    if !has_both {
        println!("skipped: there is no C or C++ compiler");
    }
    has_both
}

/// A program in C, compiled with these flags. None if there is no compiler.
pub(crate) fn compiled(name: &str, code: &str, flags: &[&str]) -> Option<Compiled> {
    if !has_compilers() {
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    let file: PathBuf = folder.path().join(name);
    std::fs::write(&file, code).unwrap();
    let flags: Vec<_> = flags.iter().map(Into::into).collect();
    Some(Compiled::new(&[file], &flags).unwrap())
}

pub(crate) const START: &str = "#include <assert.h>\n#include <errno.h>\n#include <pthread.h>\n#include <semaphore.h>\n\
                     #include <stdatomic.h>\n#include <stdlib.h>\n#include <string.h>\n#include <stdint.h>\n";

/// Two threads that run `one` and `two`, and what `main` does then.
pub(crate) fn threads(code: &str, then: &str) -> String {
    format!(
        "{START}{code}\nint main(void) {{ pthread_t s, t; pthread_create(&s, 0, one, 0); \
         pthread_create(&t, 0, two, 0); \
         pthread_join(s, 0); pthread_join(t, 0); {then} }}\n"
    )
}

fn verdict(code: &str, setup: &Setup) -> Option<ProgramVerdict> {
    let program = compiled("program.c", code, &[])?;
    Some(explore(&program, setup).unwrap())
}

fn setup() -> Setup {
    Setup::new(Model::C20)
}

/// The program has no finding, and so many executions.
fn expect_count(code: &str, count: u64) {
    for level in ["-O0", "-O2"] {
        let Some(program) = compiled("program.c", code, &[level]) else { return };
        let verdict = explore(&program, &setup()).unwrap();
        assert_eq!((verdict.executions, verdict.is_complete), (count, true), "{level} {verdict:#?}");
    }
}

/// The program has a finding of this kind. Its token repeats it, and random runs find it.
fn expect(kind: &str, code: &str) {
    let Some(program) = compiled("program.c", code, &[]) else { return };
    let verdict = explore(&program, &setup()).unwrap();
    let finding = verdict.finding.clone().unwrap_or_else(|| panic!("no finding: {verdict:#?}"));
    assert_eq!(finding.kind.name(), kind, "{verdict:#?}");
    assert!(finding.places.iter().all(|place| place.call.line > 0), "{verdict:#?}");
    let token = verdict.token.unwrap();
    let again = explore(&program, &Setup { mode: Selection::Replay(token), ..setup() }).unwrap();
    let found = again.finding.unwrap_or_else(|| panic!("not repeated"));
    assert_eq!((found.kind, &found.places), (finding.kind, &finding.places));
    let random = Selection::Random { strategy: RandomStrategy::Uniform, seeds: 0..1000 };
    let random = explore(&program, &Setup { mode: random, ..setup() }).unwrap();
    assert_eq!(random.finding.map(|finding| finding.kind), Some(finding.kind));
    assert!(random.seed.is_some());
}

#[test]
fn atomics_have_the_executions_of_the_model() {
    let code = "atomic_int x, y; int a, b;
        void *one(void *p) { atomic_store_explicit(&x, 1, memory_order_relaxed);
            a = atomic_load_explicit(&y, memory_order_relaxed); return p; }
        void *two(void *p) { atomic_store_explicit(&y, 1, memory_order_relaxed);
            b = atomic_load_explicit(&x, memory_order_relaxed); return p; }";
    expect_count(&threads(code, ""), 4);
    let Some(verdict) = verdict(&threads(code, "assert(a || b);"), &Setup::new(Model::Sc)) else { return };
    assert_eq!((verdict.executions, verdict.finding), (3, None));
    expect("assert", &threads(code, "assert(a || b);"));
}

#[test]
fn narrow_atomics_wrap_around() {
    let code = "atomic_uchar x = 255; atomic_short y = 32767;
        void *one(void *p) { atomic_fetch_add(&x, 1); atomic_fetch_add(&y, 1); return p; }
        void *two(void *p) { unsigned char seen = 0; atomic_compare_exchange_strong(&x, &seen, 7); return p; }";
    expect_count(&threads(code, "assert((x == 0 || x == 7) && y == -32768);"), 2);
}

#[test]
fn races_of_plain_accesses_are_found() {
    let code = "int data; void *one(void *p) { data = 1; return p; } void *two(void *p) { data = 2; return p; }";
    expect("race", &threads(code, ""));
    let code = "long data[4]; void *one(void *p) { memset(data, 1, sizeof data); return p; }
        void *two(void *p) { ((char *)data)[9] = 2; return p; }";
    expect("race", &threads(code, ""));
}

#[test]
fn memory_errors_are_found() {
    let code = "_Atomic(int *) at; void *one(void *p) { int *q = malloc(4); *q = 1;
            atomic_store_explicit(&at, q, memory_order_release); free(q); return p; }
        void *two(void *p) { int *q = atomic_load_explicit(&at, memory_order_acquire); if (q) *q = 2; return p; }";
    expect("use after free", &threads(code, ""));
    let code = "int *q; atomic_int n; void *one(void *p) { if (atomic_fetch_add(&n, 1) < 2) free(q); return p; }
        void *two(void *p) { return one(p); }";
    let main = "int main(void) { pthread_t s, t; q = malloc(4); pthread_create(&s, 0, one, 0);
        pthread_create(&t, 0, two, 0); pthread_join(s, 0); pthread_join(t, 0); }";
    expect("double free", &format!("{START}{code}{main}"));
    let code = "int *q; void *one(void *p) { q = malloc(8); q[2] = 1; return p; } void *two(void *p) { return p; }";
    expect("out of bounds", &threads(code, ""));
    let code = "int x; void *one(void *p) { free(&x); return p; } void *two(void *p) { return p; }";
    expect("invalid free", &threads(code, ""));
}

#[test]
fn a_program_that_crashes_ends_nothing_else() {
    let code = "atomic_int x; int r; void *one(void *p) { r = 10 / atomic_load(&x); return p; }
        void *two(void *p) { atomic_store(&x, 1); return p; }";
    expect("crash", &threads(code, ""));
    let code = "int deep(int n) { volatile char room[1000]; room[0] = n; return deep(n + 1) + room[0]; }
        int r; void *one(void *p) { r = deep(0); return p; } void *two(void *p) { return p; }";
    expect("stack overflow", &threads(code, ""));
    let code = "void *one(void *p) { __builtin_trap(); } void *two(void *p) { return p; }";
    expect("crash", &threads(code, ""));
}

#[test]
fn deadlocks_and_misuse_of_locks_are_found() {
    let locks = "pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, n = PTHREAD_MUTEX_INITIALIZER;
        void *one(void *p) { pthread_mutex_lock(&m); pthread_mutex_lock(&n);
            pthread_mutex_unlock(&n); pthread_mutex_unlock(&m); return p; }";
    let code = "void *two(void *p) { pthread_mutex_lock(&n); pthread_mutex_lock(&m);
        pthread_mutex_unlock(&m); pthread_mutex_unlock(&n); return p; }";
    expect("deadlock", &threads(&format!("{locks}{code}"), ""));
    expect_count(&threads(&format!("{locks} void *two(void *p) {{ return one(p); }}"), ""), 2);
    let code = "void *two(void *p) { pthread_mutex_unlock(&n); return p; }";
    expect("misuse", &threads(&format!("{locks}{code}"), ""));
}

#[test]
fn locks_of_all_kinds_exclude() {
    let code = "pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER; int data;
        void *one(void *p) { pthread_rwlock_wrlock(&l); data++; pthread_rwlock_unlock(&l); return p; }
        void *two(void *p) { if (pthread_rwlock_tryrdlock(&l) == 0) { (void)data; pthread_rwlock_unlock(&l); }
            return p; }";
    let Some(verdict) = verdict(&threads(code, "assert(data == 1);"), &setup()) else { return };
    assert_eq!((verdict.finding, verdict.is_complete), (None, true));
    let code = "sem_t s; int data; pthread_once_t once = PTHREAD_ONCE_INIT; void make(void) { sem_init(&s, 0, 1); }
        void *one(void *p) { pthread_once(&once, make); sem_wait(&s); data++; sem_post(&s); return p; }
        void *two(void *p) { return one(p); }";
    let name = code.replace("sem_t s;", "sem_t sem;").replace("&s", "&sem");
    let Some(verdict) = self::verdict(&threads(&name, "assert(data == 2);"), &setup()) else { return };
    assert_eq!((verdict.finding, verdict.is_complete), (None, true));
    let code =
        "pthread_mutex_t m; int data; void *one(void *p) { pthread_mutex_lock(&m); pthread_mutex_lock(&m); data++;
            pthread_mutex_unlock(&m); pthread_mutex_unlock(&m); return p; } void *two(void *p) { return one(p); }";
    let main = "int main(void) { pthread_t s, t; pthread_mutexattr_t a; pthread_mutexattr_init(&a);
        pthread_mutexattr_settype(&a, PTHREAD_MUTEX_RECURSIVE); pthread_mutex_init(&m, &a);
        pthread_create(&s, 0, one, 0); pthread_create(&t, 0, two, 0); pthread_join(s, 0); pthread_join(t, 0); }";
    expect_count(&format!("#define _GNU_SOURCE\n{START}{code}{main}"), 2);
}

#[test]
fn loops_that_wait_need_no_hints() {
    let code = "atomic_int x, y; int data;
        void *one(void *p) { data = 1; atomic_store_explicit(&x, 1, memory_order_release); return p; }
        void *two(void *p) { while (!atomic_load_explicit(&x, memory_order_acquire)) {} assert(data); return p; }";
    expect_count(&threads(code, ""), 1);
    expect(
        "deadlock",
        &threads(&code.replace("while (!atomic_load_explicit(&x", "while (!atomic_load_explicit(&y"), ""),
    );
    // A loop that reads often without waiting is none.
    let code = "atomic_int x; void *one(void *p) { for (int i = 0; i < 900; i++) atomic_load(&x); return p; }
        void *two(void *p) { return one(p); }";
    expect_count(&threads(code, ""), 1);
    // A loop that gives up shows each number of rounds.
    let code = "atomic_int x; int rounds;
        void *one(void *p) { atomic_store(&x, 1); return p; }
        void *two(void *p) { for (int i = 0; i < 2; i++) { if (atomic_load(&x)) break; rounds = i + 1; } return p; }";
    expect_count(&threads(code, ""), 3);
}

#[test]
fn what_is_not_supported_is_refused_with_its_line() {
    let code = "union { atomic_int word; atomic_short half[2]; } u;
        void *one(void *p) { atomic_store(&u.word, 1); return p; }
        void *two(void *p) { atomic_store(&u.half[1], 1); return p; }";
    let Some(verdict) = verdict(&threads(code, ""), &setup()) else { return };
    assert!(verdict.refused.unwrap().contains("program.c:"));
}

#[test]
fn memory_is_as_at_first_in_each_execution() {
    let code = "static int calls; __thread int mine = 3; atomic_int x; char *kept;
        void *one(void *p) { atomic_fetch_add(&x, 1); mine++; assert(mine == 4); return p; }
        void *two(void *p) { return one(p); }";
    expect_count(&threads(code, "assert(++calls == 1 && !kept); kept = malloc(9); assert(!kept[8]); kept[8] = 1;"), 2);
}

#[test]
fn memory_of_another_thread_is_used_after_it_was_allocated() {
    let publish = |order: &str| {
        format!(
            "_Atomic(int *) at; int value;
            void *one(void *p) {{ atomic_store_explicit(&at, malloc(4), memory_order_{order}); return p; }}
            void *two(void *p) {{ int *q = atomic_load_explicit(&at, memory_order_acquire);
                if (q) {{ *q = 1; value = *q; }} return p; }}"
        )
    };
    expect("race", &threads(&publish("relaxed"), ""));
    expect_count(&threads(&publish("release"), ""), 2);
}

#[test]
fn locks_that_were_destroyed_are_not_used() {
    let code = "pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; void *two(void *p) { return p; }
        void *one(void *p) { pthread_mutex_lock(&m); return p; }";
    expect("misuse", &threads(code, "pthread_mutex_destroy(&m);"));
    let code = code.replace("return p; }", "pthread_mutex_unlock(&m); return p; }").replacen(
        "pthread_mutex_unlock(&m);",
        "",
        1,
    );
    let twice = "pthread_mutex_destroy(&m); pthread_mutex_lock(&m);";
    expect("misuse", &threads(&code, twice));
    expect_count(&threads(&code, "pthread_mutex_destroy(&m); pthread_mutex_init(&m, 0); pthread_mutex_lock(&m);"), 1);
}

/// The cost of a program is in proportion to its length: nothing is run again for each of its reads.
#[test]
fn a_program_of_twice_the_length_costs_twice_as_much() {
    let cost = |count: u32| {
        let code = format!(
            "atomic_int own[2], x; void *go(long i) {{
            for (int k = 0; k < {count}; k++) {{ atomic_store(&own[i], k); atomic_load(&own[i]); }}
            atomic_store(&x, i); atomic_load(&x); return 0; }}
            void *one(void *p) {{ return go(0); }} void *two(void *p) {{ return go(1); }}"
        );
        let setup = Setup { max_steps: 10_000, ..setup() };
        verdict(&threads(&code, ""), &setup).map(|verdict| {
            assert_eq!((verdict.executions, verdict.is_complete), (3, true), "{verdict:#?}");
            verdict.hooks
        })
    };
    let (Some(short), Some(long)) = (cost(300), cost(600)) else { return };
    assert!(long <= 2 * short, "{short} and {long} hooks");
}

#[test]
fn a_frame_that_is_larger_than_the_stack_overflows_it() {
    let code =
        "long sum; void *one(void *p) { char room[4000000]; memset(room, 1, sizeof room); sum = room[9]; return p; }
        void *two(void *p) { return p; }";
    expect("stack overflow", &threads(code, ""));
    let small = Setup { stack: 8 << 20, ..setup() };
    let Some(verdict) = verdict(&threads(code, ""), &small) else { return };
    assert_eq!((verdict.finding, verdict.is_complete), (None, true));
}

#[test]
fn a_call_of_nothing_has_the_line_of_its_caller() {
    let code = "void (*f)(void); void *one(void *p) { f(); return p; } void *two(void *p) { return p; }";
    expect("crash", &threads(code, ""));
}

#[test]
fn a_program_that_goes_on_for_ever_is_given_up() {
    let code = "int n; void *one(void *p) { for (;;) n++; return p; } void *two(void *p) { return p; }";
    let short = Setup { timeout: std::time::Duration::from_secs(1), ..setup() };
    let Some(found) = verdict(&threads(code, ""), &short) else { return };
    let reason = found.reason.clone().unwrap();
    assert!(reason.contains("the time is up in thread 1, at ") && reason.contains("program.c:"), "{found:#?}");
    assert_eq!((found.is_complete, found.finding), (false, None));
}

#[test]
fn a_program_that_does_nothing_that_is_seen_is_given_up() {
    let code = "void *one(void *p) { for (;;) {} return p; } void *two(void *p) { return p; }";
    let Some(verdict) = verdict(&threads(code, ""), &setup()) else { return };
    assert!(verdict.reason.unwrap().contains("no step for"));
    assert_eq!((verdict.is_complete, verdict.finding), (false, None));
}

#[test]
fn uncaught_exceptions_and_threads_of_cpp() {
    let code = "#include <thread>\n#include <mutex>\n#include <atomic>\n#include <stdexcept>\nstd::mutex m; int data;
        int main() { std::thread t([] { std::lock_guard<std::mutex> g(m); data++; });
        { std::lock_guard<std::mutex> g(m); data++; } t.join(); if (data != 2) throw 1; }";
    let Some(program) = compiled("program.cc", code, &[]) else { return };
    let verdict = explore(&program, &setup()).unwrap();
    assert_eq!((verdict.executions, verdict.finding), (2, None));
    let Some(program) = compiled("program.cc", &code.replace("!= 2", "== 2"), &[]) else { return };
    let verdict = explore(&program, &setup()).unwrap();
    assert_eq!(verdict.finding.unwrap().kind.name(), "uncaught");
}
