//! Litmus tests with known verdicts, and the reader of their files.

use std::fmt::Write as _;

use explore::Model;
use explore::litmus::{Limits, LitmusMisfit, Test};

/// A test in C from threads in shorthand, one a line: `Wx1` with an order writes, `Rx` reads into the next register,
/// `Ux1` adds, `F` is a fence. Orders are `rlx`, `acq`, `rel`, `sc`.
fn shorthand(threads: &[&str], condition: &str) -> String {
    let mut text = "C test\n{}\n".to_owned();
    for (at, thread) in threads.iter().enumerate() {
        let _ = writeln!(text, "P{at} (atomic_int* x, atomic_int* y, atomic_int* z) {{");
        for (register, step) in thread.split_whitespace().enumerate() {
            let (step, order) = step.split_once('.').unwrap();
            let order = match order {
                "rlx" => "relaxed",
                "acq" => "acquire",
                "rel" => "release",
                "ar" => "acq_rel",
                "sc" => "seq_cst",
                order => panic!("{order}"),
            };
            let (kind, rest) = step.split_at(1);
            let location = rest.get(..1).unwrap_or("");
            let value = rest.get(1..).unwrap_or("");
            let line = match kind {
                "W" => format!("  atomic_store_explicit({location}, {value}, memory_order_{order});\n"),
                "R" => format!("  int r{register} = atomic_load_explicit({location}, memory_order_{order});\n"),
                "U" => {
                    format!(
                        "  int r{register} = atomic_fetch_add_explicit({location}, {value}, memory_order_{order});\n"
                    )
                }
                "F" => format!("  atomic_thread_fence(memory_order_{order});\n"),
                kind => panic!("{kind}"),
            };
            text += &line;
        }
        text += "}\n";
    }
    text + "exists (" + condition + ")\n"
}

fn is_reachable(text: &str, model: Model) -> bool {
    let test = Test::parse(text.as_bytes()).unwrap_or_else(|error| panic!("{error:?}\n{text}"));
    let report = test.explore(model, Limits::default()).unwrap();
    assert!(report.is_complete);
    report.is_reachable()
}

/// Threads, a condition, and under which of the models c20, rc11, ra, sc and tso it is reachable.
type Row = (&'static str, &'static [&'static str], &'static str, [bool; 5]);

const Y: bool = true;
const N: bool = false;

const TABLE: &[Row] = &[
    ("SB+4sc", &["Wx1.sc Ry.sc", "Wy1.sc Rx.sc"], r"0:r1=0 /\ 1:r1=0", [N, N, Y, N, Y]),
    ("SB+scfs", &["Wx1.rlx F.sc Ry.rlx", "Wy1.rlx F.sc Rx.rlx"], r"0:r2=0 /\ 1:r2=0", [N, N, Y, N, N]),
    ("SB+2sc+scf", &["Wx1.sc Ry.sc", "Wy1.rlx F.sc Rx.rlx"], r"0:r1=0 /\ 1:r2=0", [N, N, Y, N, Y]),
    ("SB+3sc+acq", &["Wx1.sc Ry.acq", "Wy1.sc Rx.sc"], r"0:r1=0 /\ 1:r1=0", [Y, Y, Y, N, Y]),
    (
        "IRIW+sc",
        &["Wx1.sc", "Wy1.sc", "Rx.sc Ry.sc", "Ry.sc Rx.sc"],
        r"2:r0=1 /\ 2:r1=0 /\ 3:r0=1 /\ 3:r1=0",
        [N, N, Y, N, N],
    ),
    (
        "IRIW+scfs",
        &["Wx1.rlx", "Wy1.rlx", "Rx.rlx F.sc Ry.rlx", "Ry.rlx F.sc Rx.rlx"],
        r"2:r0=1 /\ 2:r2=0 /\ 3:r0=1 /\ 3:r2=0",
        [N, N, Y, N, N],
    ),
    (
        "IRIW+acq+sc",
        &["Wx1.sc", "Wy1.sc", "Rx.acq Ry.sc", "Ry.acq Rx.sc"],
        r"2:r0=1 /\ 2:r1=0 /\ 3:r0=1 /\ 3:r1=0",
        [Y, Y, Y, N, N],
    ),
    (
        "RWC+scfs",
        &["Wx1.rlx", "Rx.rlx F.sc Ry.rlx", "Wy1.rlx F.sc Rx.rlx"],
        r"1:r0=1 /\ 1:r2=0 /\ 2:r2=0",
        [N, N, Y, N, N],
    ),
    (
        "W+RWC",
        &["Wx1.rlx Wz1.rel", "Rz.acq F.sc Ry.rlx", "Wy1.rlx F.sc Rx.rlx"],
        r"1:r0=1 /\ 1:r2=0 /\ 2:r2=0",
        [N, N, Y, N, N],
    ),
    ("2+2W+4sc", &["Wx1.sc Wy2.sc", "Wy1.sc Wx2.sc"], r"x=1 /\ y=1", [N, N, Y, N, N]),
    ("2+2W+scfs", &["Wx1.rlx F.sc Wy2.rlx", "Wy1.rlx F.sc Wx2.rlx"], r"x=1 /\ y=1", [N, N, Y, N, N]),
    ("2+2W+2sc+scf", &["Wx1.sc Wy2.sc", "Wy1.rlx F.sc Wx2.rlx"], r"x=1 /\ y=1", [N, N, Y, N, N]),
    ("RWC+3sc+scf", &["Wx1.sc", "Rx.sc Ry.sc", "Wy1.rlx F.sc Rx.rlx"], r"1:r0=1 /\ 1:r1=0 /\ 2:r2=0", [N, N, Y, N, N]),
    ("2+2W+rel", &["Wx1.rel Wy2.rel", "Wy1.rel Wx2.rel"], r"x=1 /\ y=1", [Y, Y, Y, N, N]),
    (
        "SB+rfis",
        &["Wx1.rlx Rx.sc Ry.sc", "Wy1.rlx Ry.sc Rx.sc"],
        r"0:r1=1 /\ 0:r2=0 /\ 1:r1=1 /\ 1:r2=0",
        [Y, Y, Y, N, Y],
    ),
    ("Z6.U", &["Wx1.sc Wy1.rel", "Uy1.sc Ry.rlx", "Wy3.sc Rx.sc"], r"1:r0=1 /\ 1:r1=3 /\ 2:r1=0", [Y, Y, Y, N, Y]),
    ("MP+rels+acq", &["Wx1.rlx Wy1.rel Wy2.rlx", "Ry.acq Rx.rlx"], r"1:r0=2 /\ 1:r1=0", [Y, N, N, N, N]),
    ("MP+rel+acq", &["Wx1.rlx Wy1.rel", "Ry.acq Rx.rlx"], r"1:r0=1 /\ 1:r1=0", [N, N, N, N, N]),
    ("MP+rlx", &["Wx1.rlx Wy1.rlx", "Ry.rlx Rx.rlx"], r"1:r0=1 /\ 1:r1=0", [Y, Y, N, N, N]),
    ("MP+sc+rlx", &["Wx1.sc Wy1.sc", "Ry.rlx Rx.rlx"], r"1:r0=1 /\ 1:r1=0", [Y, Y, N, N, N]),
    ("MP+fences", &["Wx1.rlx F.rel Wy1.rlx", "Ry.rlx F.acq Rx.rlx"], r"1:r0=1 /\ 1:r2=0", [N, N, N, N, N]),
    ("MP+rmw", &["Wx1.rlx Wy1.rel", "Uy1.rlx", "Ry.acq Rx.rlx"], r"1:r0=1 /\ 2:r0=2 /\ 2:r1=0", [N, N, N, N, N]),
    ("CoRR", &["Wx1.rlx Wx2.rlx", "Rx.rlx Rx.rlx"], r"1:r0=2 /\ 1:r1=1", [N, N, N, N, N]),
    ("LB", &["Rx.rlx Wy1.rlx", "Ry.rlx Wx1.rlx"], r"0:r0=1 /\ 1:r0=1", [N, N, N, N, N]),
    ("WRC", &["Wx1.rlx", "Rx.rlx Wy1.rel", "Ry.acq Rx.rlx"], r"1:r0=1 /\ 2:r0=1 /\ 2:r1=0", [N, N, N, N, N]),
    ("R", &["Wx1.rel Wy1.rel", "Wy2.rel Rx.acq"], r"y=2 /\ 1:r1=0", [Y, Y, Y, N, Y]),
    ("S", &["Wx2.rlx Wy1.rel", "Ry.acq Wx1.rlx"], r"1:r0=1 /\ x=2", [N, N, N, N, N]),
];

#[test]
fn known_verdicts() {
    for (name, threads, condition, expected) in TABLE {
        let text = shorthand(threads, condition);
        for (model, &expected) in [Model::C20, Model::Rc11, Model::Ra, Model::Sc, Model::Tso].into_iter().zip(expected)
        {
            assert_eq!(is_reachable(&text, model), expected, "{name} under {model}\n{text}");
        }
    }
}

/// `imm-R2`: RC11 continues the release sequence of thread 1's own fence; the one of thread 0 ends with the last store.
#[test]
fn release_sequences() {
    let text = shorthand(&["Wy1.rlx Wx1.rel", "Ux1.ar Wx3.rlx", "Rx.acq Ry.rlx"], r"1:r0=1 /\ 2:r0=3 /\ 2:r1=0");
    assert!(!is_reachable(&text, Model::Rc11));
    assert!(is_reachable(&text, Model::C20));
}

fn explored(text: &str, model: Model) -> explore::litmus::Report {
    Test::parse(text.as_bytes())
        .unwrap_or_else(|error| panic!("{error:?}\n{text}"))
        .explore(model, Limits::default())
        .unwrap()
}

#[test]
fn expressions_and_statements() {
    let body = |body: &str, condition: &str| {
        format!(
            "C t\n{{ int a[3] = {{4, 5, 6}}; x = 2 }}\nP0 (atomic_int* x, int* a) {{ {body} }}\nforall ({condition})"
        )
    };
    for (code, condition) in [
        ("int r = 1 + 2 * 3 - 8 / 4 % 3;", "0:r=5"),
        ("int r = (1 | 2) ^ 7 & ~1;", "0:r=5"),
        ("int r = -3 < 2 && !0 || 1 / 0;", "0:r=1"),
        ("int r = 0 && 1 / 0;", "0:r=0"),
        ("int r = *a + a[1] + *(a + 2);", "0:r=15"),
        ("*(a + 1) = 7; a[2] = 8;", r"a[1]=7 /\ a[2]=8 /\ a[0]=4"),
        ("int i = 0; int s = 0; while (i < 3) { s = s + a[i]; i = i + 1; }", r"0:s=15 /\ 0:i=3"),
        ("int i = 5; do i = i - 1; while (i > 2);", "0:i=2"),
        ("int r; if (*a == 4) r = 1; else r = 2;", "0:r=1"),
        ("int e = 1; int ok = atomic_compare_exchange_strong(x, &e, 9);", r"0:ok=0 /\ 0:e=2 /\ x=2"),
        ("int e = 2; int ok = atomic_compare_exchange_strong(x, &e, 9);", r"0:ok=1 /\ 0:e=2 /\ x=9"),
        ("int r = atomic_exchange(x, 5); int s = atomic_fetch_sub(x, 1);", r"0:r=2 /\ 0:s=5 /\ x=4"),
        ("int r = atomic_fetch_or(x, 5); r = r + atomic_fetch_xor(x, 1) + atomic_fetch_and(x, 2);", r"0:r=15 /\ x=2"),
        ("int r = (int) (unsigned long) *a; // a comment\n /* another */ (* and one more *)", "0:r=4"),
        ("while (atomic_load(x) != 2) ; int r = 1;", "0:r=1"),
        ("while (!(atomic_load(x) & 2)) {} int r = 1;", "0:r=1"),
        ("atomic_store(x, 0x10);", "x=16"),
        ("int r = 3; r += 4; r -= 1;", "0:r=6"),
        ("int r = 1 << 3 >> 1; int s = r++ + ++r; --r;", r"0:r=5 /\ 0:s=10"),
        ("int r = *a > 3 ? 7 : 1 / 0; bool t = true;", r"0:r=7 /\ 0:t=1"),
        ("int s = 0; for (int i = 0; i < 3; i++) { s += a[i]; }", r"0:s=15 /\ 0:i=3"),
        ("int s = 0, i; for (i = 2; i >= 0; i = i > 0 ? i - 1 : -1) s = s * 10 + i;", "0:s=210"),
        ("(*a) += 2; *(a + 1) ^= 1; a[2]++; *a = (*a) * 2;", r"a[0]=12 /\ a[1]=4 /\ a[2]=7"),
        ("int r; while ((r = atomic_load(x)) != 2) {} int s = r;", "0:s=2"),
        ("int r; do { r = atomic_load_explicit(x, memory_order_acquire); } while (r == 0);", "0:r=2"),
        ("register volatile int r = (*hello*) 2; _Atomic(int) s = 3; ", r"0:r=2 /\ 0:s=3"),
        ("atomic_init(x, 5); int r = atomic_flag_test_and_set(x); atomic_flag_clear(x);", r"0:r=5 /\ x=0"),
        ("atomic_signal_fence(memory_order_seq_cst); ;", r"x=3 => x=4 => false"),
        (";", r"0:never=0 /\ (x=1 \/ ~(x=1)) /\ x!=3 /\ not false /\ true"),
    ] {
        let report = explored(&body(code, condition), Model::Sc);
        assert!(report.is_ok() && report.counts.executions == 1, "{code}: {report:?}");
    }
}

/// What other tools write around the threads.
#[test]
fn forms_of_declarations() {
    for text in [
        "C t\n{ }\nstatic void P0 (_Atomic int *x, volatile atomic_int * y) { *x = 1; };\nvoid P1(void) {}\n\
         forall (x=1)",
        "C t (* a (b *)\n\"Fre PodWR\"\nCycle=Fre\n{ atomic_int x = ATOMIC_VAR_INIT(1), y = 2; int z = (3); }\n\
         P0 (_Atomic(int)* x, const int *z) { }\nlocations [x; [y]; 0:r0;]\nforall ((x=1) /\\ ([y]==2 /\\ (z=3)))",
        "C t\r\n{}\r\n(*one*)\r\nP0 (atomic_int* x) {\r\n  atomic_store(x, 1); (* two; *)\r\n}\r\n(*three*)\r\n\
         forall (x=1) (* four *)",
    ] {
        assert!(explored(text, Model::C20).is_ok(), "{text}");
    }
}

/// The loop gives what it read to a register, and is explored as one event all the same. What needs an earlier round is
/// not.
#[test]
fn loops_that_keep_what_they_read_are_awaits() {
    let test = |code: &str| {
        format!(
            "C t\n{{}}\nP0 (atomic_int* x) {{ int r = 0; int s = 0; {code} }}\n\
        P1 (atomic_int* x) {{ atomic_store(x, 1); atomic_store(x, 2); }}\nexists (0:r=1)"
        )
    };
    for code in [
        "do { r = atomic_load(x); } while (r == 0);",
        "do r = atomic_load(x); while (!r);",
        "while ((r = atomic_load(x)) == 0) {}",
        "do { int t = atomic_load(x); r = t; } while (r < 1);",
    ] {
        let report = explored(&test(code), Model::C20);
        assert!(report.is_complete && report.is_reachable() && report.counts.executions == 2, "{code}: {report:?}");
    }
    // These are unrolled, as long as a round changes a register.
    for (code, is_complete) in [
        ("do { s = r; r = atomic_load(x); } while (r == 0);", true),
        ("do { s += 1; r = atomic_load(x); } while (r == 0);", false),
    ] {
        let report = explored(&test(code), Model::C20);
        assert!(report.is_complete == is_complete && report.counts.executions > 2, "{code}: {report:?}");
    }
}

#[test]
fn the_expected_value_may_be_in_memory() {
    let text = "C t\n{ [x] = 2; [e] = 1; }\nP0 (atomic_int* x, int* e) {
      int ok = atomic_compare_exchange_strong_explicit(x, e, 9, memory_order_acquire, memory_order_relaxed);
    }\nforall (0:ok=0 /\\ e=2 /\\ x=2)";
    assert!(explored(text, Model::C20).is_ok());
}

#[test]
fn loops_are_bounded_and_awaits_are_not() {
    // The body has an effect, so this is no await: each number of rounds is another execution.
    let text = "C t\n{}\nP0 (atomic_int* x) { int r = 0; while (atomic_load(x) == 0) r = r + 1; }\nexists (0:r=3)";
    let report = explored(text, Model::Sc);
    assert!(!report.is_complete && report.counts.bounded == 1 && report.counts.executions == 0);
    let text = "C t\n{}\nP0 (atomic_int* x) { while (1 == atomic_load(x)) {} int r = 1; }\n
                P1 (atomic_int* x) { atomic_store(x, 1); }\nforall (0:r=1)";
    let report = explored(text, Model::Sc);
    assert!(report.is_complete && report.is_ok(), "{report:?}");
    let text = "C t\n{}\nP0 (atomic_int* x) { while (atomic_load(x) == 0) {} }";
    let report = explored(text, Model::C20);
    assert_eq!((report.counts.executions, report.counts.deadlocks), (0, 1));
    let endless = "C t\n{}\nP0 (atomic_int* x) { while (1) {} }";
    assert!(!explored(endless, Model::C20).is_complete);
}

#[test]
fn races_and_faults() {
    let text = "C t\n{}\nP0 (int* x) { *x = 1; }\nP1 (int* x) { int r = *x; }";
    assert_eq!(explored(text, Model::C20).counts.races, 2);
    let text = "C t\n{ int a[2]; }\nP0 (int* a) { int r = a[2]; }\nexists (true)";
    let report = explored(text, Model::C20);
    assert_eq!((report.counts.failed, report.counts.executions), (1, 0));
}

#[test]
fn x86() {
    let test =
        |rows: &str, condition: &str| format!("X86 t\n\"doc {{\"\n{{ x=0; y=0; 0:EBX=7; }}\n{rows}\n{condition}");
    let sb = |middle: &str| {
        test(
            &format!("P0 | P1 ;\n MOV [x],$1 | MOV [y],$1 ;\n {middle} | {middle} ;\n MOV EAX,[y] | MOV EAX,[x] ;"),
            r"exists (0:EAX=0 /\ 1:EAX=0)",
        )
    };
    for (middle, is_allowed) in [
        ("", true),
        ("SFENCE", true),
        ("MFENCE", false),
        ("XCHG [z],EBX", false),
        ("LOCK XADD [z],ECX", false),
        ("lock inc [z]", false),
        // It fails, and is a fence all the same.
        ("LOCK CMPXCHG [x],EDX", false),
    ] {
        let report = explored(&sb(middle), Model::Tso);
        assert_eq!(report.is_reachable(), is_allowed, "{middle}");
        assert!(!explored(&sb(middle), Model::Sc).is_reachable());
    }
    let text = test("P0 ;\n ADD EBX,$1 ;\n inc [x] ;\n SUB [x],EBX ;\n MOV ECX,[x] ;", "forall (0:ecx=-7)");
    assert!(explored(&text, Model::Tso).is_ok());
    let text = test("P0 ;\n XCHG EBX,[x] ;\n LOCK ADD [x],$3 ;\n MOV ECX,[x] ;", r"forall (0:EBX=0 /\ 0:ECX=10)");
    assert!(explored(&text, Model::Tso).is_ok());
    let test = Test::parse(text.as_bytes()).unwrap();
    assert_eq!(test.explore(Model::C20, Limits::default()).unwrap_err(), LitmusMisfit::Machine(Model::C20));
}

#[test]
fn rc20_has_no_sequentially_consistent_accesses() {
    let test = Test::parse(shorthand(&["Wx1.sc"], "x=1").as_bytes()).unwrap();
    assert_eq!(test.explore(Model::Rc20, Limits::default()).unwrap_err(), LitmusMisfit::Sequential(Model::Rc20));
}

#[test]
fn mistakes_have_a_place() {
    let start = "C t\n{ x=0; }\nP0 (atomic_int* x) {\n";
    for (text, place, message) in [
        ("", (1, 1), "no litmus test"),
        ("C", (1, 2), "no name"),
        ("C t\nP0", (2, 3), "no initial state"),
        ("C t\n{ x=; }", (2, 5), "unexpected `;`"),
        ("C t\n{ x=1; x=2; }", (2, 8), "twice"),
        ("C t\n{}\n", (3, 1), "the file ends here"),
        ("C t\n{ int a[99999999]; }", (2, 7), "too many locations"),
        (&format!("{start}  int r = x;\n}}"), (4, 11), "`x` is a location"),
        (&format!("{start}  r = 1\n}}"), (5, 1), "unexpected `}`"),
        (&format!("{start}  atomic_load_explicit(x, relaxed);\n}}"), (4, 27), "no memory order"),
        (&format!("{start}  atomic_jump(x);\n}}"), (4, 3), "no function"),
        (&format!("{start}  atomic_load(q);\n}}"), (4, 15), "not a parameter"),
        (&format!("{start}}} exists (q=1)"), (4, 11), "no such location"),
        (&format!("{start}}} exists (3:r=1)"), (4, 11), "no such thread"),
        (&format!("{start}}} exists (x=99999999999999999999)"), (4, 13), "cannot be read"),
        (&format!("{start}}} exists (x=1"), (4, 14), "the file ends here"),
        (&format!("{start}}} (* exists"), (4, 3), "no end"),
        (&format!("{start}  int r = {}1;\n}}", "(".repeat(1000)), (4, 0), "nested too deeply"),
        (&format!("{start}}} exists {}x=1", "~".repeat(1000)), (4, 0), "nested too deeply"),
        ("X86 t\n{}\nP0 ;\n HLT [x],$1 ;", (4, 2), "not known here"),
    ] {
        let error = Test::parse(text.as_bytes()).expect_err(text);
        assert!(error.message.contains(message), "{text}: {error:?}");
        assert!(error.line == place.0 && (place.1 == 0 || error.column == place.1), "{text}: {error:?}");
    }
    let error = Test::parse(b"C t\n{ \xff }").unwrap_err();
    assert_eq!((error.line, error.column), (2, 3));
}

/// Long chains of operators are no nesting.
#[test]
fn long_expressions() {
    let sum = format!("C t\n{{}}\nP0 (int* x) {{ int r = 0{}; }}\nforall (0:r=5000)", "+1".repeat(5000));
    assert!(explored(&sum, Model::Sc).is_ok());
    let condition = format!("C t\n{{}}\nP0 (int* x) {{ }}\nforall (x=0{})", r" /\ x=0".repeat(50_000));
    assert!(explored(&condition, Model::Sc).is_ok());
}

/// Whatever the bytes are, the reader answers.
#[test]
fn arbitrary_bytes() {
    let seeds = [
        shorthand(&["Wx1.sc Ry.sc", "Uy1.rel F.sc Rx.acq"], r"0:r1=0 /\ ~(1:r2=0 \/ x=1)"),
        "X86 t\n{ x=0; 0:EAX=1; }\nP0 | P1 ;\nMOV [x],$1 | LOCK XADD [y],EAX ;\nMFENCE | XCHG EAX,[x] ;\nexists (x=1)"
            .to_owned(),
        "C t\n{ int a[2] = {1,2}; }\nP0 (int* a) { int i = 0; while (i < 2) { if (a[i]) *a = -3; else ; i = i + 1; } }"
            .to_owned(),
    ];
    let mut state = 1_u64;
    let mut below = |count: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % count
    };
    for round in 0..30_000 {
        let mut bytes = seeds[round % seeds.len()].clone().into_bytes();
        for _ in 0..=below(4) {
            if bytes.is_empty() {
                break;
            }
            let at = below(bytes.len());
            match below(4) {
                0 => bytes[at] = below(256) as u8,
                1 => drop(bytes.remove(at)),
                2 => bytes.truncate(at + 1),
                _ => bytes.insert(at, b"(){}[];*&=~/\\+-0P:|$\"\n"[below(22)]),
            }
        }
        if let Ok(test) = Test::parse(&bytes) {
            let limits = Limits { steps: 6, ..Limits::default() };
            let _ = test.explore(if round % 3 == 1 { Model::Tso } else { Model::C20 }, limits);
        }
    }
}
