//! How long it takes to explore well-known C programs: the time of the processor, the least of three runs, and what
//! GenMC 0.11 took elsewhere.
//!
//! `cargo bench -p seriatim-compiled --bench programs [-- NAME...]`

#![allow(clippy::print_stdout, reason = "a benchmark prints")]

use std::fmt::Write as _;
use std::time::Duration;

use compiled::{Compiled, Setup, explore};
use explore::Model;

const START: &str = "#include <pthread.h>\n#include <stdatomic.h>\n#include <stddef.h>\n
#define ACQ memory_order_acquire\n#define REL memory_order_release\n#define BOTH memory_order_acq_rel\n
extern void seriatim_assume(int);\n";

/// A `main` that runs these threads, each with its number.
fn main_of(threads: &[String]) -> String {
    let mut starts = String::new();
    for (at, name) in threads.iter().enumerate() {
        let _ = writeln!(starts, "pthread_create(&t[{at}], 0, {name}, (void *){at}L);");
    }
    format!(
        "int main(void) {{ pthread_t t[{0}];\n{starts}for (int i = 0; i < {0}; i++) pthread_join(t[i], 0); }}\n",
        threads.len()
    )
}

fn program(code: &str, threads: &[&str]) -> String {
    let threads: Vec<String> = threads.iter().map(|&name| name.to_owned()).collect();
    format!("{START}{code}{}", main_of(&threads))
}

/// The names, the programs, how many executions they have, and the seconds of GenMC 0.11 in the specification.
fn programs() -> Vec<(&'static str, String, u64, Option<f64>)> {
    let fib = "atomic_int x = 1, y = 1;
        static void add(atomic_int *to) { for (int i = 0; i < 5; i++) {
            int one = atomic_load_explicit(&x, ACQ), two = atomic_load_explicit(&y, ACQ);
            atomic_store_explicit(to, one + two, REL); } }
        void *one(void *p) { add(&x); return p; } void *two(void *p) { add(&y); return p; }
        void *look(void *p) { if (atomic_load_explicit(&x, ACQ) > 144 || atomic_load_explicit(&y, ACQ) > 144)
            __builtin_trap(); return p; }";
    let zero = "atomic_int m[16];
        void *look(void *p) { int i = 15; while (atomic_load_explicit(&m[i], ACQ)) i--; return p; }
        void *next(void *p) { long i = (long)p;
            atomic_store_explicit(&m[i], atomic_load_explicit(&m[i - 1], ACQ) + 1, REL); return p; }";
    let queue = "atomic_int slots[42], back;
        static void put(int value) { int at = atomic_fetch_add_explicit(&back, 1, BOTH);
            atomic_store_explicit(&slots[at], value, REL); }
        static int take(void) { int end = atomic_load_explicit(&back, ACQ), value = 0;
            for (int at = 0; value == 0; at++) { seriatim_assume(at < end);
                value = atomic_exchange_explicit(&slots[at], 0, BOTH); }
            return value; }
        void *one(void *p) { put(1); take(); return p; } void *two(void *p) { put(2); put(3); return p; }
        void *three(void *p) { take(); put(4); return p; } void *four(void *p) { take(); take(); return p; }";
    let add = "atomic_int x; void *add(void *p) { atomic_fetch_add_explicit(&x, 1, memory_order_relaxed); return p; }";
    let read = "atomic_int x; void *write(void *p) { atomic_store_explicit(&x, 1, REL); return p; }
        void *read(void *p) { atomic_load_explicit(&x, ACQ); return p; }";
    let big = "atomic_int x, y, z;
        static void look(int more) { atomic_load_explicit(&x, ACQ); atomic_load_explicit(&y, ACQ);
            atomic_load_explicit(&z, ACQ); atomic_load_explicit(&x, ACQ); if (more) atomic_load_explicit(&y, ACQ); }
        static void put(int v) { atomic_store_explicit(&x, v, REL); atomic_store_explicit(&y, v, REL);
            atomic_store_explicit(&z, v, REL); }
        void *one(void *p) { look(1); return p; } void *two(void *p) { look(0); return p; }
        void *three(void *p) { put(1); put(2); return p; } void *four(void *p) { put(3); put(4); return p; }";
    let chains = "atomic_int x, y, z, w;
        static void look(int more) { atomic_load_explicit(&x, ACQ); atomic_load_explicit(&y, ACQ);
            atomic_load_explicit(&z, ACQ); if (more) { atomic_load_explicit(&w, ACQ); look(0); } }
        static void put(atomic_int *p, atomic_int *q) { for (int v = 1; v < 4; v++) {
            atomic_store_explicit(p, v, REL); atomic_store_explicit(q, v, REL); } }
        void *one(void *p) { look(1); return p; } void *two(void *p) { look(0); return p; }
        void *three(void *p) { put(&x, &y); return p; } void *four(void *p) { put(&z, &w); return p; }";
    let long = |count: u32| {
        format!(
            "atomic_int own[2], x; void *go(void *p) {{ long i = (long)p;
            for (int k = 0; k < {count}; k++) {{ atomic_store(&own[i], k); atomic_load(&own[i]); }}
            atomic_store(&x, i); atomic_load(&x); return p; }}"
        )
    };
    let mut zeros = vec!["look"];
    zeros.extend(["next"; 15]);
    let mut readers = vec!["write"];
    readers.extend(["read"; 14]);
    vec![
        ("fib_bench(5)", program(fib, &["one", "two", "look"]), 525_630, Some(1.74)),
        ("big0", program(chains, &["one", "two", "three", "four"]), 82_472, Some(0.24)),
        ("lastzero(15)", program(zero, &zeros), 147_456, Some(4.66)),
        ("hwqueue", program(queue, &["one", "two", "three", "four"]), 5_483, Some(0.87)),
        ("ainc(7)", program(add, &["add"; 7]), 5_040, Some(0.11)),
        ("readers(14)", program(read, &readers), 16_384, Some(0.38)),
        ("big2", program(big, &["one", "two", "three", "four"]), 260_401, Some(44.0)),
        ("par_length(300)", program(&long(300), &["go"; 2]), 3, None),
        ("par_length(600)", program(&long(600), &["go"; 2]), 3, None),
    ]
}

/// The time that the processor has spent on children of this process, in seconds, in steps of a hundredth.
fn spent() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = text.rsplit(')').next().unwrap_or_default();
    let ticks = after_name.split_whitespace().skip(13).take(2).filter_map(|word| word.parse::<f64>().ok());
    ticks.sum::<f64>() / 100.0
}

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|name| !name.starts_with("--")).collect();
    println!("{:<18} {:>10} {:>8} {:>9} {:>9} {:>7}", "program", "executions", "blocked", "seconds", "GenMC", "ratio");
    let folder = tempfile::tempdir().expect("a folder for programs");
    for (name, code, expected, genmc) in programs() {
        if !wanted.is_empty() && !wanted.iter().any(|wanted| name.contains(wanted.as_str())) {
            continue;
        }
        let file = folder.path().join("program.c");
        std::fs::write(&file, &code).expect("the program is written");
        let program = Compiled::new(&[file], &[]).expect("the program is compiled");
        let setup = Setup { max_steps: 100_000, timeout: Duration::from_secs(600), ..Setup::new(Model::C20) };
        let mut least = f64::INFINITY;
        let mut counts = (0, 0);
        for _ in 0..3 {
            let start = spent();
            let verdict = explore(&program, &setup).expect("the program is explored");
            least = least.min(spent() - start);
            assert!(verdict.is_complete, "{name}: {verdict:?}");
            counts = (verdict.executions, verdict.blocked);
        }
        let mark = if counts.0 == expected { "" } else { " (not as expected)" };
        let (of, ratio) =
            genmc.map_or_else(Default::default, |it| (format!("{it:.2}"), format!("{:.2}", it / least.max(0.01))));
        println!("{name:<18} {:>10} {:>8} {least:>9.2} {of:>9} {ratio:>7}{mark}", counts.0, counts.1);
    }
}
