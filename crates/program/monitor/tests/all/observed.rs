//! `sc-observed` against the constraint graph, operation by operation, on streams that are performed out of order.

use std::fmt::Write as _;

use format::{ReadOptions, read};
use history::History;
use history::execution::Kind;
use history::performed;
use model::{Certificate, Evidence, Model, Verdict};
use monitor::{Monitor, PerformedNow, Progress, ScObserved};
use oracle::observed::is_acyclic;
use verify::verify;
use workload::random::SplitMix64;
use workload::{cases, small};

/// The order in which some threads perform `each` operations each. An operation is less than `window` away from its
/// place in program order.
fn schedule(threads: u32, each: u64, window: u64, random: &mut SplitMix64) -> Vec<(u32, u64)> {
    let mut left: Vec<Vec<u64>> = (0..threads).map(|_| (0..each).rev().collect()).collect();
    let mut order = Vec::new();
    while left.iter().any(|left| !left.is_empty()) {
        let thread = random.below(u64::from(threads)) as usize;
        let count = left[thread].len() as u64;
        if count > 0 {
            let at = count - 1 - random.below(count.min(window));
            order.push((thread as u32, left[thread].remove(at as usize)));
        }
    }
    order
}

fn kind(random: &mut SplitMix64) -> Kind {
    random.pick(&[Kind::Read, Kind::Read, Kind::Read, Kind::Write, Kind::Write, Kind::Rmw, Kind::Fence])
}

fn told(operation: performed::Performed) -> PerformedNow {
    let performed::Performed { thread, index, kind, location } = operation;
    PerformedNow { thread, index: Some(index), kind, location }
}

#[test]
fn it_is_the_constraint_graph_operation_by_operation() {
    let mut random = SplitMix64::new(3);
    let (mut violations, mut clean) = (0, 0);
    for _ in 0..cases(6000) {
        let (threads, locations) = (random.between(1, 5), random.between(1, 6));
        let (each, window) = (u64::from(random.between(1, 9)), u64::from(random.between(1, 5)));
        // Indices may also begin with one.
        let base = random.below(2);
        let mut monitor = ScObserved::new();
        let mut performed = Vec::new();
        let mut first = true;
        for (number, (thread, index)) in (0..).zip(schedule(threads, each, window, &mut random)) {
            let location = random.below(u64::from(locations)) as u32;
            let operation = performed::Performed { thread, index: index + base, kind: kind(&mut random), location };
            performed.push(operation);
            if random.percent(10) {
                let saved = postcard::to_stdvec(&monitor).unwrap();
                monitor = postcard::from_bytes(&saved).unwrap();
            }
            match monitor.push(told(operation)) {
                Ok(Progress::Possible) => assert!(is_acyclic(&performed), "{performed:?}"),
                Err(violation) => {
                    assert!(!is_acyclic(&performed), "{performed:?}");
                    assert_eq!(violation.event, number);
                    // The monitor continues as if the operation had not come.
                    performed.pop();
                    first = false;
                    violations += 1;
                }
                other => panic!("{other:?} {performed:?}"),
            }
        }
        clean += u64::from(first);
    }
    assert!(violations > 1000 && clean > 1000, "{violations} {clean}");
}

/// The recorded history of these operations.
fn recorded(performed: &[performed::Performed]) -> History {
    let mut text = String::new();
    for (at, operation) in performed.iter().enumerate() {
        let performed::Performed { thread, index, kind, location } = operation;
        let what = match kind {
            Kind::Read => format!("r x{location} 0"),
            Kind::Write => format!("w x{location} {at}"),
            Kind::Rmw => format!("u x{location} 0 {at}"),
            Kind::Fence => "f".to_owned(),
        };
        writeln!(text, "[{thread}] {what} po={index}").unwrap();
    }
    let mut histories = read(Box::new(std::io::Cursor::new(text)), &ReadOptions::default());
    histories.next().unwrap().unwrap()
}

#[test]
fn the_offline_checker_agrees_and_its_certificates_verify() {
    let mut random = SplitMix64::new(5);
    let (mut verdicts, mut finals) = ([0; 2], 0);
    for _ in 0..cases(3000) {
        let (threads, locations) = (random.between(1, 4), random.between(1, 5));
        let mut operations = Vec::new();
        for (thread, index) in schedule(threads, u64::from(random.between(1, 8)), 3, &mut random) {
            let location = random.below(u64::from(locations)) as u32;
            operations.push(performed::Performed { thread, index, kind: kind(&mut random), location });
        }
        let history = recorded(&operations);
        let view = performed::Performed::from_history(&history).unwrap();
        let decision = memory::observed::check(&view, true);
        let expected = if is_acyclic(&operations) { Verdict::Consistent } else { Verdict::Violation };
        assert_eq!(decision.verdict, expected, "{operations:?}");
        verdicts[usize::from(expected == Verdict::Violation)] += 1;
        // The reads of final values are performed last, so they are on no cycle.
        let with_finals = small::add_finals(history.clone(), &mut random);
        let view = performed::Performed::from_history(&with_finals.observed()).unwrap();
        finals += view.len() - operations.len();
        assert_eq!(memory::observed::check(&view, false).verdict, expected, "{operations:?}");
        let certificate = Certificate::new(0, &history, Model::ScObserved, &decision).unwrap();
        assert_eq!(verify(&certificate, &history), Ok(()), "{operations:?} {certificate:?}");
        let json = certificate.to_json(&history);
        assert_eq!(Certificate::from_json(&json, &history).unwrap(), certificate);
        // Evidence that is not a cycle, or not an order, is refused.
        let tampered = match &certificate.evidence {
            Evidence::Constraints(cycle) => {
                Evidence::Constraints(cycle.iter().rev().copied().skip(usize::from(cycle.len() < 3)).collect())
            }
            Evidence::Interleaving(order) if order.len() > 1 => Evidence::Interleaving(order[1..].to_vec()),
            _ => continue,
        };
        let is_refused = verify(&Certificate { evidence: tampered.clone(), ..certificate }, &history).is_err();
        assert!(is_refused || expected == Verdict::Violation && true_cycle(&operations, &tampered), "{tampered:?}");
    }
    assert!(verdicts.iter().all(|&count| count > 300) && finals > 1000, "{verdicts:?}, {finals} final reads");
}

fn true_cycle(performed: &[performed::Performed], evidence: &Evidence) -> bool {
    let Evidence::Constraints(cycle) = evidence else { return false };
    let named: Vec<_> = (0..performed.len()).filter(|&at| cycle.iter().any(|id| id.index() == at)).collect();
    !is_acyclic(&named.into_iter().map(|at| performed[at]).collect::<Vec<_>>())
}

/// The counterexample of the specification to the table of the paper, which forgets the first of two reads.
#[test]
fn two_threads_may_read_a_location_one_after_the_other() {
    let (m, k) = (0, 1);
    let mut monitor = ScObserved::new();
    let mut push =
        |thread, index, kind, location| monitor.push(PerformedNow { thread, index: Some(index), kind, location });
    assert!(push(1, 1, Kind::Read, k).is_ok());
    assert!(push(2, 0, Kind::Read, k).is_ok());
    assert!(push(3, 0, Kind::Write, k).is_ok());
    assert!(push(3, 1, Kind::Write, m).is_ok());
    assert!(push(1, 0, Kind::Read, m).is_err());
}

#[test]
fn an_operation_is_performed_once() {
    let mut monitor = ScObserved::new();
    let read = |index| PerformedNow { thread: 0, index, kind: Kind::Read, location: 0 };
    assert_eq!(monitor.push(read(Some(4))), Ok(Progress::Possible));
    assert_eq!(monitor.push(read(None)), Ok(Progress::Possible));
    for index in [4, 5, u64::MAX] {
        assert!(matches!(monitor.push(read(Some(index))), Ok(Progress::Refused(_))));
    }
    assert_eq!(monitor.push(read(Some(3))), Ok(Progress::Possible));
}

/// The memory depends on threads, locations and operations in flight, not on the length of the stream.
#[test]
fn memory_does_not_grow_with_the_stream() {
    let (threads, locations, window) = (4, 8, 16);
    let mut random = SplitMix64::new(11);
    let mut monitor = ScObserved::new();
    let mut violations = 0u64;
    let mut most = 0;
    let mut sizes = Vec::new();
    for round in 0..200 {
        for (thread, index) in schedule(threads, 500, window, &mut random) {
            let location = random.below(locations) as u32;
            let index = Some(round * 500 + index);
            // There are few writes, so that much is allowed. An operation that is not allowed is performed again as a
            // fence.
            let kind = if random.percent(1) { Kind::Write } else { Kind::Read };
            if monitor.push(PerformedNow { thread, index, kind, location }).is_err() {
                violations += 1;
                assert_eq!(
                    monitor.push(PerformedNow { thread, index, kind: Kind::Fence, location }),
                    Ok(Progress::Possible)
                );
            }
            most = most.max(monitor.clock_count());
        }
        sizes.push(postcard::to_stdvec(&monitor).unwrap().len());
    }
    assert!(violations > 1000, "{violations}");
    assert!(most <= (2 * locations + u64::from(threads) * (window + 1)) as usize, "{most}");
    assert!(sizes[199] < 2 * sizes[10], "{sizes:?}");
}
