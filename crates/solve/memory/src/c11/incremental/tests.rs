//! Tests of executions with thousands of millions of events.

use history::MemoryOrder::{Acquire, Plain, Relaxed, Release};
use history::execution::Kind::{Read, Rmw, Write};
use workload::memory::{self as machine, MemoryMachine};
use workload::random::SplitMix64;

use super::super::clocks::MAX_COUNT;
use super::retire::RENUMBER_FROM;
use super::{Incremental, Refused, WriteId};

/// Makes the execution as if each thread had had so many events before all others, and every thread knew of them.
fn raise(execution: &mut Incremental, by: u32) {
    let Incremental { current, pending, published, chains, locations, tails, width, .. } = execution;
    for place in current.iter_mut().chain(pending).chain(published).chain(&mut chains.clocks) {
        // Clocks that mean nothing are not renumbered, and may overflow.
        *place = place.wrapping_add(by);
    }
    for write in &mut chains.writes {
        write.position += by;
    }
    for (location, tails) in locations.iter_mut().zip(tails.chunks_exact_mut(*width / 4)) {
        for row in &mut location.rows {
            row.list.iter_mut().for_each(|access| access.position += by);
            chains.find_tail(row, tails);
        }
    }
}

#[test]
fn renumbering_places_changes_no_answer() {
    let mut random = SplitMix64::new(3);
    let (mut refused, mut renumbered) = (0, 0);
    for seed in 0..workload::cases(400) {
        let new = [Incremental::ra, Incremental::rc20][seed as usize % 2];
        let threads = random.between(1, 6);
        let config = machine::MemoryConfig {
            machine: [MemoryMachine::ReleaseAcquire, MemoryMachine::Rc20][seed as usize % 2],
            threads,
            operations: 300,
            locations: random.between(1, 3),
            writes: 30,
            rmws: random.pick(&[0, 20, 40]),
            fences: 5,
            stale: random.pick(&[0, 20, 60]),
            perturb: random.pick(&[0, 5, 20]),
            seed,
            ..machine::MemoryConfig::default()
        };
        let (mut whole, mut short) = (new(), new());
        // By value: the names of its write in the whole, and in the one that forgets if it has one there.
        let mut names: Vec<Option<[Option<WriteId>; 2]>> = vec![Some([None; 2])];
        for step in machine::generate(&config) {
            if random.percent(4) {
                // New threads do not know of the events that are made up, so all threads must exist before.
                if short.threads == threads as usize {
                    raise(&mut short, RENUMBER_FROM);
                }
                renumbered += u32::from(short.current.iter().any(|&place| place >= RENUMBER_FROM));
                let retired: Vec<_> = short.retire(threads as usize).collect();
                assert!(short.current.iter().all(|&place| place < 10_000));
                for [_, name] in names.iter_mut().flatten() {
                    *name = name.filter(|name| !retired.contains(name));
                }
            }
            let source = if step.kind.reads() { names[step.read as usize] } else { Some([None; 2]) };
            let mut written = None;
            if let Some([in_whole, in_short]) = source {
                let push =
                    |to: &mut Incremental, source| to.push(step.thread, step.kind, step.location, step.order, source);
                let expected = push(&mut whole, in_whole);
                if in_whole.is_some() && in_short.is_none() {
                    assert!(matches!(expected, Err(Refused::Violation(_))), "{config:?} {expected:?}");
                } else {
                    let answer = push(&mut short, in_short);
                    assert_eq!(answer.is_ok(), expected.is_ok(), "{config:?} {answer:?} {expected:?}");
                    refused += u32::from(answer.is_err());
                    written = expected.ok().zip(answer.ok()).map(|(whole, short)| [whole, short]);
                }
            }
            if step.kind.writes() {
                assert_eq!(step.written as usize, names.len());
                names.push(written);
            }
        }
    }
    assert!(refused > 300 && renumbered > 1000, "{refused} {renumbered}");
}

#[test]
fn a_thread_of_which_not_all_others_hear_ends_somewhere() {
    for (kind, order) in [(Write, Release), (Read, Acquire), (Read, Relaxed), (Rmw, Plain)] {
        let mut execution = Incremental::rc20();
        execution.push(1, Write, 0, Relaxed, None).unwrap();
        let source = execution.push(0, Write, 0, Relaxed, None).unwrap().filter(|_| kind.reads());
        raise(&mut execution, MAX_COUNT - 2);
        // Thread 0 has room for one more event; nothing can be renumbered, since thread 1 does not know of the last
        // ones.
        let mut full = execution.clone();
        full.current[4] = 0;
        let source = full.push(0, kind, 0, order, source).unwrap().filter(|_| kind.reads()).or(source);
        assert_eq!(full.push(0, kind, 0, order, source), Err(Refused::Full));
        assert_eq!(full.retire(2).count(), 0);
        let before = format!("{full:?}");
        assert_eq!(full.push(0, kind, 0, order, source), Err(Refused::Full));
        assert_eq!(format!("{full:?}"), before);
        // If there is room, the execution goes on.
        assert_eq!(execution.retire(2).count(), 0);
        for _ in 0..10 {
            execution.push(0, Write, 0, Plain, None).unwrap();
        }
    }
}

#[test]
fn a_chain_ends_somewhere() {
    let mut execution = Incremental::ra();
    let write = execution.push(0, Write, 0, Plain, None).unwrap();
    execution.chains.writes[write.unwrap().index()].place[1] = MAX_COUNT - 1;
    let last = execution.push(0, Rmw, 0, Plain, write).unwrap();
    assert_eq!(execution.push(0, Rmw, 0, Plain, last), Err(Refused::Full));
    assert_eq!(execution.push(0, Read, 0, Plain, last), Ok(None));
}
