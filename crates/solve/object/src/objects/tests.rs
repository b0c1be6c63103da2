//! What containers have inside to decide values that are inserted more than once: the searches of queues and stacks
//! against the search for any object, the guess of a stack, and the counts of copies.

use history::{History, Object, Replay};
use model::object::Core;
use model::{Certificate, Decided, Evidence, Model, Verdict};
use verify::verify;
use workload::object::{Fault, ObjectConfig};

use super::queue::Queue;
use super::stack::{Stack, copies};
use super::{Specification, priority_queue, search_by, stack};
use crate::answer::Answer;
use crate::search::Limits;
use crate::{Algorithm, Budget, GaveUp, ObjectHistory, ObjectOptions, Part, check};

fn text(history: &History) -> String {
    let mut writer = format::Writer::new(Vec::new(), format::Format::Text);
    writer.write(history).expect("writing to memory");
    String::from_utf8(writer.finish().expect("writing to memory")).expect("text")
}

fn decide(history: &History, algorithm: Algorithm) -> Decided {
    let view = ObjectHistory::new(history).expect("an object history");
    check(&view, &ObjectOptions { witness: true, algorithm, ..ObjectOptions::default() })
}

/// The verdict, with a certificate that the verifier accepts.
fn verified(history: &History, algorithm: Algorithm) -> Verdict {
    let decision = decide(history, algorithm);
    let certificate = Certificate::new(0, history, Model::Linearizable, &decision).expect("evidence");
    if let Err(refusal) = verify(&certificate, history) {
        panic!("{refusal}: {algorithm:?}, {decision:?}\n{}", text(history));
    }
    decision.verdict
}

/// The history up to a moment.
fn before(history: &History, end: u32) -> History {
    let mut replay = Replay::new(history);
    for event in history.events().take(end as usize) {
        replay.play(event).expect("a prefix of a history");
    }
    replay.finish().expect("a history")
}

fn by_wing_and_gong<S: Specification>(history: &History) -> Verdict {
    let view = ObjectHistory::new(history).expect("an object history");
    let limits = (&Budget::UNLIMITED).into();
    let is_violation = |part: Part| matches!(search_by::<S>(&part, limits), Ok(Answer::Violation(_)));
    if view.parts().any(is_violation) { Verdict::Violation } else { Verdict::Consistent }
}

/// These histories are too large for the oracle. The verdict is that of the search of Wing and Gong. The operation that
/// is blamed is the first at whose return that search finds a violation.
#[test]
fn they_agree_with_the_search_for_any_object() {
    let faults = [None, Some(Fault::OutOfOrder(3)), Some(Fault::Lost), Some(Fault::Duplicated), Some(Fault::LateEmpty)];
    for object in [Object::Queue, Object::Stack] {
        let mut violations = 0;
        let cases = workload::small::cases(400);
        for seed in 0..cases {
            let config = ObjectConfig {
                threads: 2 + (seed % 3) as u32,
                operations: 30,
                progress: [20, 40, 66][(seed / 3 % 3) as usize],
                peeks: [0, 0, 20][(seed / 9 % 3) as usize],
                values: (seed / 27 % 4) as u32,
                pending: [0, 20, 60][(seed / 108 % 3) as usize],
                fault: faults[(seed % 5) as usize],
                seed,
                ..ObjectConfig::new(object)
            };
            let history = workload::object::history(&config);
            let expect = |history: &History| match object {
                Object::Queue => by_wing_and_gong::<Queue>(history),
                _ => by_wing_and_gong::<Stack>(history),
            };
            let expected = expect(&history);
            violations += u64::from(expected == Verdict::Violation);
            let decision = decide(&history, Algorithm::Search);
            assert_eq!(decision.verdict, expected, "{config:?}\n{}", text(&history));
            if let Some(Evidence::Core(core)) = decision.evidence {
                let Core::Stuck(blamed) = core else { panic!("{core:?}") };
                let end = history.moments()[blamed.index()][1];
                let shown = text(&history);
                assert_eq!(expect(&before(&history, end)), Verdict::Consistent, "{config:?}\n{shown}");
                assert_eq!(expect(&before(&history, end + 1)), Verdict::Violation, "{config:?}\n{shown}");
            }
            assert_eq!(verified(&history, Algorithm::Search), expected, "{config:?}");
            assert_eq!(verified(&history, Algorithm::Auto), expected, "{config:?}");
        }
        assert!(violations > cases / 10 && violations < cases * 9 / 10, "{object:?}: {violations} violations");
    }
}

/// A guess which pop of a stack takes which copy: what it finds is a linearization, and usually it finds one. It is
/// made in several turns, each of which goes on where the last one stopped.
#[test]
fn copies_of_a_stack_are_guessed() {
    let (mut guessed, mut linearizable) = (0, 0);
    let limits = Limits { budget: &Budget::UNLIMITED, steps: 125 };
    for seed in 0..workload::small::cases(6000) {
        let history = workload::object::small_with_duplicates(Object::Stack, seed);
        let is_linearizable = oracle::object::linearizable(&history);
        linearizable += u64::from(is_linearizable);
        let view = ObjectHistory::new(&history).expect("an object history");
        let found = view.parts().map(|part| {
            let mut guess = copies::Guess::new(&part);
            let answer = (0..16).map(|_| guess.run(limits)).find(|answer| !matches!(answer, Err(GaveUp::Steps)));
            match answer {
                Some(Ok(Some(Answer::Linearizable(Some(found))))) => Some(found),
                Some(Ok(Some(answer))) => panic!("{seed}: {answer:?}"),
                _ => None,
            }
        });
        let Some(found) = found.collect::<Option<Vec<_>>>() else { continue };
        assert!(is_linearizable, "{seed}\n{}", text(&history));
        guessed += 1;
        let evidence = Some(Evidence::Linearizations(found));
        let decision = Decided { evidence, verdict: Verdict::Consistent, strategy: "levels", reason: None };
        let certificate = Certificate::new(0, &history, Model::Linearizable, &decision).expect("evidence");
        verify(&certificate, &history).unwrap_or_else(|refusal| panic!("{refusal}: {seed}\n{}", text(&history)));
    }
    assert!(guessed > linearizable / 4, "{guessed} of {linearizable}");
    for (threads, values, seed) in
        [(8, 2, 1), (16, 2, 1), (16, 10, 1), (32, 2, 2), (32, 10, 1), (32, 10, 3), (32, 100, 3)]
    {
        let run = ObjectConfig { threads, values, operations: 20_000, seed, ..ObjectConfig::new(Object::Stack) };
        let history = workload::object::history(&run);
        assert_eq!(verified(&history, Algorithm::Auto), Verdict::Consistent, "{run:?}");
    }
}

/// The verifier counts, too. It never finds that an operation of a linearizable history cannot return.
fn assert_no_return_is_blamed(history: &History) {
    let decided = decide(history, Algorithm::Auto);
    for id in (0..history.operations().len() as u32).map(history::OperationId) {
        let evidence = Some(Evidence::Core(Core::Stuck(id)));
        let decision = Decided { verdict: Verdict::Violation, evidence, ..decided.clone() };
        let certificate = Certificate::new(0, history, Model::Linearizable, &decision).expect("evidence");
        assert!(verify(&certificate, history).is_err(), "{id:?}\n{}", text(history));
    }
}

/// Where the counts of copies show a violation, there is one up to the return of the operation that is blamed. They
/// show most violations of long histories, which the search would take long to find.
#[test]
fn counts_of_copies() {
    type Counts = fn(&Part) -> Option<history::OperationId>;
    let objects: [(Object, Counts); 2] =
        [(Object::Stack, stack::counts::violation), (Object::PriorityQueue, priority_queue::counts::violation)];
    for (object, counts) in objects {
        let (mut shown, mut violations) = (0, 0);
        for seed in 0..workload::small::cases(6000) {
            let history = workload::object::small_with_duplicates(object, seed);
            if oracle::object::linearizable(&history) {
                assert_no_return_is_blamed(&history);
            } else {
                violations += 1;
            }
            let view = ObjectHistory::new(&history).expect("an object history");
            let Some(blamed) = view.parts().find_map(|part| counts(&part)) else { continue };
            shown += 1;
            let end = history.moments()[blamed.index()][1];
            let is_linearizable = oracle::object::linearizable(&before(&history, end + 1));
            assert!(!is_linearizable, "{object:?} {seed}: {blamed:?}\n{}", text(&history));
        }
        assert!(shown > violations / 5, "{object:?}: {shown} of {violations}");
        for seed in 0..8 {
            let (fault, shows) = (Some(Fault::Lost), true);
            let run = ObjectConfig {
                threads: 16,
                operations: 5000,
                values: 10,
                fault,
                shows,
                seed,
                ..ObjectConfig::new(object)
            };
            let history = workload::object::history(&run);
            assert_eq!(verified(&history, Algorithm::Auto), Verdict::Violation, "{run:?}");
        }
    }
}
