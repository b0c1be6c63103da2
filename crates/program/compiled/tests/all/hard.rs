//! Programs that do what is hard to follow: the answer is right, or says what is not supported, and is always there.

use compiled::{DefectKind, ProgramVerdict, Setup, explore};
use explore::Model;

use crate::own::{compiled, has_compilers};

fn explored_in(name: &str, text: &str, setup: &Setup) -> ProgramVerdict {
    explore(&compiled(name, text, &[]).expect("the compilers are there"), setup).unwrap()
}

fn cpp(text: &str) -> ProgramVerdict {
    explored_in("program.cpp", text, &Setup::new(Model::C20))
}

fn explored_by(text: &str, setup: &Setup) -> ProgramVerdict {
    explored_in("program.c", text, setup)
}

fn c(text: &str) -> ProgramVerdict {
    explored_by(text, &Setup::new(Model::C20))
}

/// What a thread of a program does, with these headers.
fn in_thread(headers: &str, body: &str) -> String {
    let headers: Vec<String> = headers.split_whitespace().map(|header| format!("#include <{header}>\n")).collect();
    let headers = headers.concat();
    format!(
        "#include <pthread.h>\n#include <stddef.h>\n{headers}
         static void *run(void *argument) {{ {body} return argument; }}
         int main(void) {{ pthread_t thread; pthread_create(&thread, 0, run, 0); pthread_join(thread, 0); }}"
    )
}

/// libstdc++ keeps what is to be called once in storage of each thread that is not of the program.
#[test]
fn called_once() {
    if !has_compilers() {
        return;
    }
    let answer = cpp("#include <mutex>
         #include <thread>
         #include <cassert>
         std::once_flag flag;
         int count;
         void run(int more) { std::call_once(flag, [&] { count += more; }); assert(count == 1 || count == 2); }
         int main() { std::thread one(run, 1), two(run, 2); one.join(); two.join(); }");
    assert!(answer.is_complete && answer.executions == 2, "{answer:#?}");
    let answer = cpp("#include <future>
         #include <cassert>
         int main() { std::promise<int> promise; auto future = promise.get_future();
             std::thread other([&] { promise.set_value(7); }); other.join(); assert(future.get() == 7); }");
    assert!(answer.finding.is_none(), "{answer:#?}");
}

#[test]
fn thread_local_values_are_dropped_by_their_threads() {
    if !has_compilers() {
        return;
    }
    let answer = cpp("#include <atomic>
         #include <thread>
         #include <cassert>
         std::atomic<int> dropped;
         struct Value { int number = 1; ~Value() { dropped += number; } };
         thread_local Value value;
         void run() { value.number++; assert(value.number == 2); }
         int main() { std::thread one(run), two(run); one.join(); two.join(); assert(dropped == 4); }");
    assert!(answer.is_complete && answer.executions == 2, "{answer:#?}");
}

#[test]
fn jumps_and_constructors() {
    if !has_compilers() {
        return;
    }
    let answer = c("#include <assert.h>
         #include <pthread.h>
         #include <setjmp.h>
         #include <stdatomic.h>
         atomic_int sum;
         __attribute__((constructor)) static void first(void) { sum = 10; }
         static void deep(jmp_buf back, int left) { if (!left) longjmp(back, 7); sum++; deep(back, left - 1); }
         static void *run(void *argument) {
             jmp_buf back; int jumped = setjmp(back);
             if (!jumped) deep(back, 1); else assert(jumped == 7);
             return argument; }
         int main(void) { pthread_t one, two; pthread_create(&one, 0, run, 0); pthread_create(&two, 0, run, 0);
             pthread_join(one, 0); pthread_join(two, 0); assert(sum == 12); }");
    assert!(answer.is_complete && answer.executions == 2, "{answer:#?}");
}

#[test]
fn what_is_not_supported_is_said() {
    if !has_compilers() {
        return;
    }
    for (headers, body, said) in [
        ("unistd.h", "fork();", "fork"),
        ("unistd.h", "execl(\"/bin/true\", \"true\", (char *)0);", "execl"),
        ("signal.h", "signal(SIGUSR1, SIG_IGN);", "signal"),
        ("signal.h unistd.h", "kill(getpid(), SIGKILL);", "kill"),
        ("stdlib.h", "char *large = malloc(1ul << 30); large[5] = 1;", "more than 64 MiB"),
        ("stdlib.h", "for (;;) malloc(1 << 20);", "more than 64 MiB"),
    ] {
        let answer = c(&in_thread(headers, body));
        assert!(answer.refused.as_ref().is_some_and(|refused| refused.contains(said)), "{body}: {answer:#?}");
    }
    let setup = Setup { heap: 2 << 30, ..Setup::new(Model::C20) };
    let large = in_thread("stdlib.h", "char *large = malloc(1ul << 30); large[123456789] = 1; free(large);");
    assert!(explored_by(&large, &setup).is_complete);
    // What no machine has is not there, and the program knows.
    let none = in_thread("stdlib.h assert.h", "assert(malloc((size_t)1 << 60) == 0);");
    assert!(c(&none).is_complete);
}

#[test]
fn what_ends_the_program_is_found() {
    if !has_compilers() {
        return;
    }
    let deep =
        "static int deep(int n) { volatile int here[20]; here[0] = n; return n < 0 ? 0 : deep(n + 1) + here[0]; }\n";
    let text = in_thread("", "deep(0);");
    let recursion = text.replacen("static void *run", &format!("{deep}static void *run"), 1);
    for (text, kind) in [
        (recursion, DefectKind::StackOverflow),
        (in_thread("", "volatile char large[4 << 20]; large[0] = 1;"), DefectKind::StackOverflow),
        (in_thread("stdlib.h", "abort();"), DefectKind::Abort),
        (in_thread("", "*(volatile int *)0x1234567890 = 1;"), DefectKind::Crash),
        // The child cannot tell any more.
        (in_thread("unistd.h", "for (int file = 0; file < 1000; file++) close(file);"), DefectKind::Crash),
        (in_thread("", "volatile int zero = 0; zero = 7 / zero;"), DefectKind::Crash),
    ] {
        let answer = c(&text);
        assert_eq!(answer.finding.as_ref().map(|finding| finding.kind), Some(kind), "{text}: {answer:#?}");
    }
    let left = c(&in_thread("stdlib.h", "exit(3);"));
    assert!(left.is_complete && left.finding.is_none(), "{left:#?}");
}

/// Threads that are alike change their names, if that is asked for: of `n!` executions one is visited.
#[test]
fn symmetry() {
    if !has_compilers() {
        return;
    }
    let text = "#include <pthread.h>
         #include <stdatomic.h>
         #include <assert.h>
         atomic_int count; int plain; pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; pthread_t threads[4];
         static void *run(void *argument) {
             count++; pthread_mutex_lock(&lock); plain++; pthread_mutex_unlock(&lock); return argument; }
         int main(void) {
             for (int at = 0; at < 4; at++) pthread_create(&threads[at], 0, run, ARGUMENT);
             for (int at = 0; at < 4; at++) pthread_join(threads[at], 0);
             assert(count == 4 && plain == LAST); }";
    let of = |argument: &str, last: &str, symmetry: bool| {
        let text = text.replace("ARGUMENT", argument).replace("LAST", last);
        explored_by(&text, &Setup { symmetry, ..Setup::new(Model::C20) })
    };
    let [with, without] = [true, false].map(|symmetry| of("0", "4", symmetry));
    assert!(with.is_complete && without.is_complete, "{with:#?} {without:#?}");
    // The order at the lock is told apart by the order at the counter.
    assert_eq!((with.executions, without.executions), (24, 576));
    // Their arguments tell them apart.
    assert_eq!(of("(void *)(long)at", "4", true).executions, 576);
    assert!([true, false].map(|symmetry| of("0", "3", symmetry)).iter().all(|answer| answer.finding.is_some()));
}

/// An end that comes too early says how much was covered.
#[test]
fn coverage() {
    if !has_compilers() {
        return;
    }
    let text = "#include <pthread.h>
         #include <stdatomic.h>
         atomic_int count;
         static void *run(void *argument) { count++; count++; return argument; }
         int main(void) { pthread_t threads[5];
             for (int at = 0; at < 5; at++) pthread_create(threads + at, 0, run, 0); }";
    let three = text.replace("threads[5]", "threads[3]").replace("at < 5", "at < 3");
    let setup = |max_executions| Setup { max_executions: Some(max_executions), ..Setup::new(Model::C20) };
    // There are 10! / 2^5. The walks are the same each time; most estimates are too low, this one by a factor of 4.
    for most in [10, 5000] {
        let answer = explored_by(text, &setup(most));
        let (executions, all) = answer.estimate.unwrap();
        assert!((113_400 / 5..113_400 * 5).contains(&executions) && all >= executions, "{answer:#?}");
    }
    let all = explored_by(&three, &setup(1 << 40));
    assert_eq!((all.executions, all.estimate, all.is_complete), (90, None, true));
}
