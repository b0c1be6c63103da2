//! ENUMERATE, SYMBOLIC and COUNTING(k) of MR against the definition, on thousands of small histories near the boundary.

mod common;

use baseline::Algorithm;
use baseline::refinement::{Checker, ENUMERATE, NO_THEORY, Options, SATURATE, SYMBOLIC, check, counting};
use common::{has_theory, objects, text};
use history::{History, Object};
use model::{Certificate, Decided, Model, Verdict};
use object::ObjectHistory;
use verify::verify;
use workload::object::{Fault, ObjectConfig};

const CASES: u64 = 2000;

fn decide(history: &History, checker: Checker, remove_matches: bool) -> Decided {
    let view = ObjectHistory::new(history).expect("an object history");
    check(&view, checker, &Options { remove_matches, ..Options::default() })
}

fn verify_certificate(history: &History, decision: &Decided, context: &dyn Fn() -> String) {
    let certificate = Certificate::new(0, history, Model::Linearizable, decision).expect("evidence");
    if let Err(refusal) = verify(&certificate, history) {
        panic!("{refusal}: {}", context());
    }
}

#[test]
fn enumerate_and_symbolic_are_exact() {
    for object in objects() {
        let mut declined = 0;
        for seed in 0..CASES {
            let history = workload::object::small(object, seed);
            let expected =
                if oracle::object::linearizable(&history) { Verdict::Consistent } else { Verdict::Violation };
            for checker in [ENUMERATE, SYMBOLIC] {
                let decision = decide(&history, checker, false);
                let context = || format!("seed {seed}, {checker:?}, {decision:?}\n{}", text(&history));
                if decision.verdict == Verdict::Unknown && checker == SYMBOLIC {
                    declined += 1;
                    continue;
                }
                assert_eq!(decision.verdict, expected, "{}", context());
                verify_certificate(&history, &decision, &context);
            }
        }
        println!("{}: SYMBOLIC has no theory of {declined} of {CASES} histories", object.name());
        assert_eq!(
            declined == 0,
            has_theory(object),
            "{object:?}: SATURATE and SYMBOLIC have theories of the same objects"
        );
    }
}

#[test]
fn removal_and_counting_are_sound() {
    let checkers = [(SYMBOLIC, true), (counting(0), false), (counting(2), false), (counting(4), false)];
    println!("violations found, of those that there are:");
    for object in objects().filter(|&object| has_theory(object)) {
        let (mut violations, mut found) = (0, [0; 4]);
        for seed in 0..CASES {
            let history = workload::object::small(object, seed);
            let is_violation = !oracle::object::linearizable(&history);
            violations += u64::from(is_violation);
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
            }
        }
        assert!(found.iter().all(|&found| found > 0), "{object:?}: {violations} {found:?}");
        println!(
            "{}: {violations}; SYMBOLIC with removal {}; COUNTING(0) {}, (2) {}, (4) {}",
            object.name(),
            found[0],
            found[1],
            found[2],
            found[3],
        );
    }
}

/// The figures of MR, by every algorithm. With removal of matches, SYMBOLIC says no more than what is left.
#[test]
fn the_figures_of_the_paper() {
    let algorithms = ["auto", "search", "fast+search", "enumerate", "symbolic", "saturate", "counting(2)"];
    for entry in oracle::corpus::objects() {
        let is_violation = entry.expected("linearizable") == Some("no");
        let view = ObjectHistory::new(&entry.history).expect("an object history");
        for name in algorithms {
            let decision = Algorithm::from_name(name).expect("an algorithm").check(&view, &Options::default());
            let context = || format!("{}: {name}: {decision:?}", entry.name);
            match decision.verdict {
                Verdict::Violation => assert!(is_violation, "{}", context()),
                Verdict::Consistent => assert!(!is_violation, "{}", context()),
                Verdict::Unknown => assert!(["saturate", "counting(2)"].contains(&name), "{}", context()),
            }
            if decision.verdict != Verdict::Unknown {
                verify_certificate(&entry.history, &decision, &context);
            }
        }
        // SATURATE draws the consequences of Figure 11 before it forgets the match of 1 (section 6.2 of MR).
        let decision = decide(&entry.history, SATURATE, true);
        let saturate = decision.verdict;
        assert!(is_violation || saturate != Verdict::Violation, "{}", entry.name);
        assert!(entry.name != "mr-11-2" || saturate == Verdict::Violation);
        // In Figure 10, 0 is also the initial value. That reads of it come after its write says which 0 they read.
        assert!(entry.name != "mr-10-spurious" || saturate == Verdict::Violation);
        if ["mr-10-1", "mr-10-2"].contains(&entry.name.as_str()) {
            assert!(decision.reason.is_some_and(|it| it.contains("found no contradiction")), "{}", entry.name);
        }
    }
}

/// On longer runs matches are forgotten all the time. What is found then is a violation of the whole history.
#[test]
fn what_symbolic_forgets_is_obsolete() {
    println!("of the histories, matches were forgotten in; violations, and those found with removal:");
    for object in objects().filter(|&object| has_theory(object)) {
        let (mut forgot, mut violations, mut found) = (0, 0, 0);
        for seed in 0..workload::cases(250) {
            let faults = [None, Some(Fault::OutOfOrder(3)), Some(Fault::Lost), Some(Fault::Duplicated)];
            let config = ObjectConfig {
                threads: 2 + seed as u32 % 3,
                operations: 20 + seed as u32 % 41,
                inserts: 50,
                swaps: if object == Object::Register && seed % 2 == 0 { 30 } else { 0 },
                peeks: if object == Object::Set { 20 } else { 0 },
                values: if object == Object::Set { 2 } else { 0 },
                capacity: 1 + seed as u32 % 3,
                pending: if seed % 5 == 0 { 30 } else { 0 },
                fault: faults[seed as usize / 3 % 4],
                faults: 1,
                seed,
                ..ObjectConfig::new(object)
            };
            let history = workload::object::history(&config);
            let view = ObjectHistory::new(&history).expect("an object history");
            let exact = object::check(&view, &object::ObjectOptions::default()).verdict;
            let removed = decide(&history, SYMBOLIC, true);
            let context = || format!("{config:?}\n{exact:?}, {removed:?}\n{}", text(&history));
            match removed.verdict {
                Verdict::Violation => assert_eq!(exact, Verdict::Violation, "{}", context()),
                Verdict::Consistent => assert_eq!(exact, Verdict::Consistent, "{}", context()),
                Verdict::Unknown => forgot += 1,
            }
            violations += u64::from(exact == Verdict::Violation);
            found += u64::from(removed.verdict == Verdict::Violation);
        }
        println!("{}: {forgot}; {violations}, {found}", object.name());
        assert!(forgot > 50, "{object:?}: {forgot}");
        assert!(violations > 10 && found * 2 > violations, "{object:?}: {found} of {violations}");
    }
}

/// The product has names of its own; every name of either side is known here.
#[test]
fn every_checker_has_a_name() {
    for (name, checker) in
        [("enumerate", ENUMERATE), ("symbolic", SYMBOLIC), ("saturate", SATURATE), ("counting(4)", counting(4))]
    {
        assert_eq!(Algorithm::from_name(name), Some(Algorithm::Refinement(checker)));
        assert_eq!(object::Algorithm::from_name(name), None);
    }
    for name in ["auto", "fast", "search", "lockstep", "levels", "fast+search", "fast+lockstep", "fast+levels"] {
        let of_product = object::Algorithm::from_name(name).expect("an algorithm of the product");
        assert_eq!(Algorithm::from_name(name), Some(Algorithm::Product(of_product)));
    }
    assert_ne!(Algorithm::from_name("counting(4)"), Algorithm::from_name("counting(2)"));
    for name in ["counting", "counting()", "counting(k)", "counting(-1)", "guess", ""] {
        assert_eq!(Algorithm::from_name(name), None, "{name}");
    }
}

/// Every object of MR has a fast algorithm in the product.
#[test]
fn what_the_paper_decides_is_decided_fast() {
    for object in objects().filter(|&object| has_theory(object)) {
        let history = workload::object::history(&ObjectConfig { operations: 1, ..ObjectConfig::new(object) });
        let view = ObjectHistory::new(&history).expect("an object history");
        let algorithm = Algorithm::from_name("fast").expect("an algorithm");
        assert_eq!(algorithm.check(&view, &Options::default()).verdict, Verdict::Consistent, "{object:?}");
    }
}

/// The paper has no theory of a set that is read as a whole.
#[test]
fn a_set_that_is_read_as_a_whole_is_declined() {
    let text = "# @object set\n[0] call add 1\n[0] return\n[1] call read\n[1] return {}\n";
    let history = format::parse(text).expect("a good history");
    let view = ObjectHistory::new(&history).expect("an object history");
    for name in ["enumerate", "symbolic", "counting(4)", "saturate"] {
        let decision = Algorithm::from_name(name).expect("an algorithm").check(&view, &Options::default());
        assert_eq!(decision.verdict, Verdict::Unknown, "{name}");
        assert_eq!(decision.reason.as_deref(), Some(NO_THEORY), "{name}");
    }
}
