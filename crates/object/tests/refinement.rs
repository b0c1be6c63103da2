//! The four checkers of MR against the definition, on thousands of small histories near the boundary.

use certificate::{Certificate, Decision, Model, Verdict, verify};
use history::{History, Object};
use object::ObjectHistory;
use object::mr::{Checker, Options, check};

const CASES: u64 = 2000;
const OBJECTS: [Object; 8] = [
    Object::Register,
    Object::Queue,
    Object::Stack,
    Object::PriorityQueue,
    Object::Set,
    Object::Mutex,
    Object::Semaphore,
    Object::Exchanger,
];

fn decide(history: &History, checker: Checker, remove_matches: bool) -> Decision {
    let view = ObjectHistory::new(history).expect("an object history");
    check(&view, checker, Options { remove_matches, ..Options::default() })
}

fn text(history: &History) -> String {
    let mut writer = history::format::Writer::new(Vec::new(), history::format::Format::Text);
    writer.write(history).expect("writing to memory");
    String::from_utf8(writer.finish().expect("writing to memory")).expect("text")
}

fn verify_certificate(history: &History, decision: &Decision, context: &dyn Fn() -> String) {
    let certificate = Certificate::new(0, history, Model::Linearizable, decision).expect("evidence");
    if let Err(refusal) = verify(&certificate, history) {
        panic!("{refusal}: {}", context());
    }
}

#[test]
fn enumerate_and_symbolic_are_exact() {
    for object in OBJECTS.into_iter().chain([Object::KeyValue]) {
        let mut declined = 0;
        for seed in 0..CASES {
            let history = workload::object::small(object, seed);
            let expected =
                if oracle::object::linearizable(&history) { Verdict::Consistent } else { Verdict::Violation };
            for checker in [Checker::Enumerate, Checker::Symbolic] {
                let decision = decide(&history, checker, false);
                let context = || format!("seed {seed}, {checker:?}, {decision:?}\n{}", text(&history));
                if decision.verdict == Verdict::Unknown && checker == Checker::Symbolic {
                    declined += 1;
                    continue;
                }
                assert_eq!(decision.verdict, expected, "{}", context());
                verify_certificate(&history, &decision, &context);
            }
        }
        println!("{}: SYMBOLIC has no theory of {declined} of {CASES} histories", object.name());
        assert_eq!(declined > 0, object == Object::KeyValue);
    }
}

#[test]
fn saturate_and_counting_are_sound() {
    let checkers = [
        (Checker::Saturate, false),
        (Checker::Saturate, true),
        (Checker::Symbolic, true),
        (Checker::Counting(0), false),
        (Checker::Counting(2), false),
        (Checker::Counting(4), false),
    ];
    println!("violations found, of those that there are:");
    for object in OBJECTS {
        let mut violations = 0;
        let mut unique = 0;
        let mut found = [0; 6];
        for seed in 0..CASES {
            let history = workload::object::small(object, seed);
            let is_violation = !oracle::object::linearizable(&history);
            violations += u64::from(is_violation);
            let mut applies = false;
            for (at, &(checker, remove_matches)) in checkers.iter().enumerate() {
                let decision = decide(&history, checker, remove_matches);
                let context = || format!("seed {seed}, {checker:?}, {decision:?}\n{}", text(&history));
                match decision.verdict {
                    Verdict::Violation => {
                        assert!(is_violation, "{}", context());
                        verify_certificate(&history, &decision, &context);
                        found[at] += 1;
                    }
                    Verdict::Consistent => assert!(!is_violation, "{}", context()),
                    Verdict::Unknown => {}
                }
                if checker == Checker::Saturate {
                    applies |= decision.reason.as_deref() != Some(object::mr::saturate::NOT_UNIQUE);
                    if std::env::var_os("MISSED").is_some()
                        && applies
                        && is_violation
                        && decision.verdict == Verdict::Unknown
                    {
                        println!("MISSED {remove_matches} {}", context());
                    }
                }
            }
            unique += u64::from(is_violation && applies);
        }
        println!(
            "{}: {violations}; with unique values {unique}: SATURATE {}, with removal {}; SYMBOLIC with removal {}; \
             COUNTING(0) {}, (2) {}, (4) {}",
            object.name(),
            found[0],
            found[1],
            found[2],
            found[3],
            found[4],
            found[5],
        );
    }
}
