//! Random small programs, as C and as litmus tests: the two front ends find the same number of executions under each
//! model, whatever the compiler optimises.

use std::fmt::Write as _;

use compiled::{Setup, explore};
use explore::Model;
use explore::litmus::{Limits, Test};

use crate::own::compiled;

const COUNT: usize = 60;

struct Random(u64);

impl Random {
    fn below(&mut self, count: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % count
    }

    fn of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.below(all.len())]
    }
}

/// The code of a thread, for which `x` and `y` are pointers to atomics.
fn thread(random: &mut Random) -> String {
    let mut code = String::new();
    for at in 0..=random.below(3) {
        let place = random.of(&["x", "y"]);
        let any = random.of(&["relaxed", "acquire", "release", "acq_rel", "seq_cst"]);
        let reads = random.of(&["relaxed", "acquire", "seq_cst"]);
        let writes = random.of(&["relaxed", "release", "seq_cst"]);
        let value = 1 + random.below(2);
        let _ = match random.below(6) {
            0 | 1 => writeln!(code, "int r{at} = atomic_load_explicit({place}, memory_order_{reads});"),
            2 | 3 => writeln!(code, "atomic_store_explicit({place}, {value}, memory_order_{writes});"),
            4 if random.below(2) == 0 => writeln!(code, "atomic_thread_fence(memory_order_{any});"),
            4 => writeln!(code, "int r{at} = atomic_fetch_add_explicit({place}, {value}, memory_order_{any});"),
            _ => writeln!(
                code,
                "int e{at} = {}; int r{at} = atomic_compare_exchange_strong_explicit({place}, &e{at}, {value}, \
                 memory_order_{any}, memory_order_{reads});",
                random.below(2)
            ),
        };
    }
    code
}

#[test]
fn c_and_litmus_tests_have_the_same_executions() {
    let mut random = Random(7);
    let programs: Vec<Vec<String>> =
        (0..COUNT).map(|_| (0..2 + random.below(2)).map(|_| thread(&mut random)).collect()).collect();
    // All of them are one file, and the first argument says which one runs: a letter for each half of its number.
    let mut code =
        "#include <pthread.h>\n#include <stdatomic.h>\natomic_int a, b; atomic_int *const x = &a, *const y = &b;\n"
            .to_owned();
    let mut cases = String::new();
    for (number, threads) in programs.iter().enumerate() {
        let _ = writeln!(cases, "case {number}: n = {};", threads.len());
        for (at, thread) in threads.iter().enumerate() {
            let _ = writeln!(code, "static void *t{number}_{at}(void *p) {{ {thread} return p; }}");
            let _ = writeln!(cases, "pthread_create(&t[{at}], 0, t{number}_{at}, 0);");
        }
        cases.push_str("break;\n");
    }
    let _ = writeln!(
        code,
        "int main(int count, char **words) {{ pthread_t t[3]; int n = 0;
        switch ((words[1][0] - 'a') * 26 + words[1][1] - 'a') {{ {cases} }}
        for (int i = 0; i < n; i++) pthread_join(t[i], 0); }}"
    );
    for level in ["-O0", "-O1"] {
        let Some(program) = compiled("program.c", &code, &[level, "-w"]) else { return };
        for (number, threads) in programs.iter().enumerate() {
            let mut text = "C t\n{}\n".to_owned();
            for (at, thread) in threads.iter().enumerate() {
                let _ = writeln!(text, "P{at} (atomic_int* x, atomic_int* y) {{ {thread} }}");
            }
            text.push_str("exists (x=9)");
            let test = Test::parse(text.as_bytes()).unwrap_or_else(|error| panic!("{error}\n{text}"));
            let letter = |number: usize| char::from(b'a' + number as u8);
            let word = format!("{}{}", letter(number / 26), letter(number % 26));
            for model in Model::ALL {
                let setup = Setup { arguments: vec![word.clone()], ..Setup::new(model) };
                let verdict = explore(&program, &setup).unwrap();
                match test.explore(model, Limits::default()) {
                    Err(_) => assert!(verdict.refused.is_some(), "{model}: {verdict:?}\n{text}"),
                    Ok(report) => {
                        let expected = (report.counts.executions, report.counts.blocked, true);
                        let found = (verdict.executions, verdict.blocked, verdict.is_complete);
                        assert_eq!(found, expected, "{level} {model}: {verdict:?}\n{text}");
                    }
                }
            }
        }
    }
}
