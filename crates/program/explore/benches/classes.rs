//! How many reads-from classes of well-known programs are explored a second, by model.
//!
//! `cargo bench -p seriatim-explore --bench classes`

use std::fmt::Write as _;
use std::time::Instant;

use explore::Model;
use explore::litmus::{Limits, Test};

/// Threads in C, one string each; all of them have the locations a to e and the array m.
fn test(threads: &[String]) -> Test {
    let mut text = "C t\n{ atomic_int m[16]; }\n".to_owned();
    for (at, thread) in threads.iter().enumerate() {
        let _ =
            writeln!(text, "P{at} (atomic_int* a, atomic_int* b, atomic_int* c, atomic_int* m, int* d) {{ {thread} }}");
    }
    Test::parse(text.as_bytes()).unwrap_or_else(|error| panic!("{error:?}\n{text}"))
}

fn programs() -> Vec<(String, Test)> {
    let many = |count: usize, thread: &dyn Fn(usize) -> String| test(&(0..count).map(thread).collect::<Vec<_>>());
    let add = "atomic_fetch_add_explicit(a, 1, memory_order_relaxed);";
    let lock = "int t = atomic_fetch_add_explicit(a, 1, memory_order_relaxed);
                while (atomic_load_explicit(b, memory_order_acquire) != t) {}
                *d = *d + 1;
                atomic_store_explicit(b, t + 1, memory_order_release);";
    let cas = |at: usize| {
        format!(
            "int e = {at};
             atomic_compare_exchange_strong_explicit(a, &e, {at} + 1, memory_order_acq_rel, memory_order_acquire);"
        )
    };
    let last_zero = |at: usize| {
        if at == 0 {
            return "int i = 10; int r = 1;
                    while (r) { r = atomic_load_explicit(m + i, memory_order_acquire); i = i - 1; }"
                .to_owned();
        }
        format!(
            "int r = atomic_load_explicit(m + {at} - 1, memory_order_acquire);
             atomic_store_explicit(m + {at}, r + 1, memory_order_release);"
        )
    };
    let ring = |order: &'static str| {
        move |at: usize| {
            let next = (at + 1) % 5;
            format!(
                "atomic_store_explicit(m + {at}, 1, memory_order_{order});
                 int r = atomic_load_explicit(m + {next}, memory_order_{order});
                 atomic_store_explicit(m + {at}, 2, memory_order_{order});
                 int s = atomic_load_explicit(m + {next}, memory_order_{order});"
            )
        }
    };
    vec![
        ("ainc(8)".to_owned(), many(8, &|_| add.to_owned())),
        ("ticket(6)".to_owned(), many(6, &|_| lock.to_owned())),
        ("casrot(9)".to_owned(), many(9, &cas)),
        ("lastzero(10)".to_owned(), many(11, &last_zero)),
        ("ring(5), relaxed".to_owned(), many(5, &ring("relaxed"))),
        ("ring(5), seq_cst".to_owned(), many(5, &ring("seq_cst"))),
    ]
}

fn main() {
    println!("{:<20} {:<6} {:>10} {:>9} {:>12}", "program", "model", "classes", "seconds", "classes/s");
    for (name, test) in programs() {
        for model in [Model::C20, Model::Rc20, Model::Ra, Model::Tso, Model::Sc] {
            let start = Instant::now();
            let limits = Limits { deadline: start.checked_add(std::time::Duration::from_secs(5)), ..Limits::default() };
            let Ok(report) = test.explore(model, limits) else { continue };
            let (count, seconds) = (report.counts.executions, start.elapsed().as_secs_f64());
            let mark = if report.is_complete { "" } else { " (stopped)" };
            println!("{name:<20} {model:<6} {count:>10} {seconds:>9.3} {:>12.0}{mark}", count as f64 / seconds);
        }
    }
}
