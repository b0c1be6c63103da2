//! An execution that grows and shrinks is as one that has only grown.

use crate::common;
use common::{Random, cases};
use explore::Order::{Acquire, AcquireRelease, Relaxed, Release, SequentiallyConsistent};
use explore::{Execution, Model, Source, Step, Update};

/// All that can be asked: the sources of every read and rmw that could come next.
fn answers(execution: &mut Execution, threads: u32, locations: u32) -> Vec<Vec<Source>> {
    let sequential = if execution.graph().model().refuses_sequential() { Acquire } else { SequentiallyConsistent };
    let mut answers = Vec::new();
    for (thread, location) in (0..threads).flat_map(|thread| (0..locations).map(move |it| (thread, it))) {
        for order in [Relaxed, Acquire, sequential] {
            answers.push(execution.sources(thread, Step::Read { location, order, until: None }));
        }
        let (order, failure, update) = (AcquireRelease, Relaxed, Update::Add(1));
        answers.push(execution.sources(thread, Step::Rmw { location, order, failure, update, until: None }));
    }
    answers
}

#[test]
fn what_is_popped_is_as_if_it_had_not_been() {
    let mut random = Random(5);
    let (mut popped, mut refused, mut compared) = (0, 0, 0);
    for case in 0..cases(400) {
        let model = Model::ALL[case % Model::ALL.len()];
        let (threads, locations) = (1 + random.below(4) as u32, 1 + random.below(3) as u32);
        let mut execution = Execution::new(model, &[]);
        let mut events: Vec<(u32, Step, Source)> = Vec::new();
        for _ in 0..6 + random.below(20) {
            for _ in 0..if random.below(4) == 0 { random.below(events.len() + 1) } else { 0 } {
                assert!(execution.pop());
                events.pop();
                popped += 1;
            }
            let (thread, location) = (random.below(threads as usize) as u32, random.below(locations as usize) as u32);
            let order = [Relaxed, Acquire, Release, AcquireRelease, SequentiallyConsistent][random.below(5)];
            let step = match random.below(7) {
                0 | 1 => Step::Write { location, order, value: events.len() as i64 + 1 },
                2 => Step::Fence(order),
                3 => Step::Rmw { location, order, failure: Relaxed, update: Update::Add(1), until: None },
                _ => Step::Read { location, order, until: None },
            };
            // Any write at all, also one that may not be read.
            let writes = events.iter().enumerate().filter(|(_, (_, step, _))| {
                matches!(step, Step::Write { .. } | Step::Rmw { .. }) && step.location() == Some(location)
            });
            let index = |at: usize| events[..at].iter().filter(|event| event.0 == events[at].0).count() as u32;
            let writes = writes.map(|(at, event)| Source::Write(event.0, index(at)));
            let candidates: Vec<Source> = std::iter::once(Source::Initial).chain(writes).collect();
            let source = match step {
                Step::Read { .. } | Step::Rmw { .. } => candidates[random.below(candidates.len())],
                _ => Source::Nothing,
            };
            let may = execution.sources(thread, step).contains(&source) || source == Source::Nothing;
            let is_pushed = execution.push(thread, step, source);
            if !model.refuses_sequential() {
                assert_eq!(is_pushed, may, "{model} {events:?} {step:?} {source:?}");
            }
            if is_pushed {
                events.push((thread, step, source));
            } else {
                refused += 1;
            }
            if random.below(4) == 0 {
                let mut fresh = Execution::new(model, &[]);
                for &(thread, step, source) in &events {
                    assert!(fresh.push(thread, step, source), "{model} {events:?}");
                }
                let expected = answers(&mut fresh, threads, locations);
                assert_eq!(answers(&mut execution, threads, locations), expected, "{model} {events:?}");
                compared += 1;
            }
        }
    }
    assert!(popped > 1000 && refused > 500 && compared > 1000, "{popped} {refused} {compared}");
}

#[test]
fn what_makes_no_sense_is_refused() {
    let mut execution = Execution::new(Model::Rc20, &[7]);
    let read = |order| Step::Read { location: 0, order, until: None };
    assert!(!execution.pop());
    assert!(!execution.push(0, read(SequentiallyConsistent), Source::Initial));
    assert!(!execution.push(0, read(Relaxed), Source::Nothing));
    assert!(!execution.push(0, read(Relaxed), Source::Write(3, 9)));
    assert!(!execution.push(0, Step::Begin, Source::Nothing));
    assert!(!execution.push(0, Step::Join(1), Source::Nothing));
    assert!(!execution.push(0, Step::Choice(2), Source::Nothing));
    assert!(!execution.push(0, Step::Fence(Release), Source::Initial));
    assert!(execution.push(0, Step::Spawn(1), Source::Nothing));
    assert!(!execution.push(0, Step::Spawn(1), Source::Nothing));
    assert!(execution.push(1, Step::Begin, Source::Nothing));
    assert!(execution.push(0, Step::Join(1), Source::Nothing));
    assert!(execution.push(0, read(Relaxed), Source::Initial));
    assert_eq!(execution.graph().value(0, 2), 7);
}
