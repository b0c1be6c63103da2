//! `ra` and `rc20` event by event. After every event, the answer is the same as that of the offline engine and of the
//! axioms.

use history::execution::{Event, EventId, ExecutionBuilder, Kind};
use history::{Execution, MemoryOrder, OperationId};
use memory::c11::{C11Checker, C11Violation, Incremental, Refused, WriteId};
use model::{Certificate, Decided, Evidence, Model, Verdict};
use verify::verify;
use workload::memory::{self as machine, MemoryMachine};
use workload::random::SplitMix64;
use workload::small;

/// An event as it is pushed: its source is a number of insertion.
#[derive(Copy, Clone, Debug)]
struct Pushed {
    thread: u32,
    kind: Kind,
    location: u32,
    order: MemoryOrder,
    source: Option<usize>,
}

impl Pushed {
    /// Pushes the event, and returns its number. `writes` has the answers to the events before it, and gets the answer
    /// to this event, if it is accepted.
    fn to(self, execution: &mut Incremental, writes: &mut Vec<Option<WriteId>>) -> Result<usize, Refused> {
        let source = self.source.map(|source| writes[source].expect("a write"));
        let number = execution.next() as usize;
        let write = execution.push(self.thread, self.kind, self.location, self.order, source)?;
        assert_eq!((write.is_some(), number), (self.kind.writes(), writes.len()));
        writes.push(write);
        Ok(number)
    }
}

/// The execution of the events pushed so far.
fn build(events: &[Pushed]) -> Execution {
    let mut builder = ExecutionBuilder::new();
    for event in events {
        let number = builder.push_ordered(event.thread, event.kind, event.location, event.order);
        if event.kind.reads() {
            builder.read_from(number, event.source);
        }
    }
    builder.build()
}

/// The events in a random order of `po u rf`, without those that are in or behind a cycle.
fn arrivals(execution: &Execution, random: &mut SplitMix64) -> Vec<EventId> {
    let threads = execution.thread_count();
    let mut next = execution.starts()[..threads].to_vec();
    let mut order = Vec::new();
    loop {
        let ready: Vec<usize> = (0..threads)
            .filter(|&thread| next[thread] < execution.starts()[thread + 1])
            .filter(|&thread| {
                let source = execution.events()[next[thread] as usize].source;
                !source.is_event() || source.0 < next[execution.thread(source).index()]
            })
            .collect();
        if ready.is_empty() {
            return order;
        }
        let thread = random.pick(&ready);
        order.push(EventId(next[thread]));
        next[thread] += 1;
    }
}

/// A model, its axioms, and an empty execution under it.
type Under = (Model, oracle::Model, fn() -> Incremental);

const MODELS: [Under; 2] =
    [(Model::Ra, oracle::Model::Ra, Incremental::ra), (Model::Rc20, oracle::Model::Rc20, Incremental::rc20)];

/// Checks that the modification orders are a witness, by the verifier of certificates.
fn assert_witness(model: Model, incremental: &Incremental, events: &[Pushed]) {
    let history = workload::to_history(&build(events));
    let order = |location: usize| {
        let order = incremental.modification_order(location as u32);
        order.into_iter().map(|write| OperationId(write as u32)).collect()
    };
    let locations = Execution::from_history(&history).unwrap().location_count();
    let decision = Decided {
        verdict: Verdict::Consistent,
        strategy: "incremental",
        reason: None,
        evidence: Some(Evidence::ModificationOrders((0..locations).map(order).collect())),
    };
    let certificate = Certificate::new(0, &history, model, &decision).expect("there is evidence");
    assert_eq!(verify(&certificate, &history), Ok(()), "{model} {events:?} {:?}", certificate.evidence);
}

#[test]
fn after_every_event_the_answer_is_that_of_the_offline_engine_and_of_the_axioms() {
    let mut random = SplitMix64::new(23);
    let mut checker = C11Checker::new();
    let (mut refused, mut accepted) = ([0; 2], 0);
    for execution in small::c11_executions(41, 4).take(workload::cases(6000) as usize) {
        let order = arrivals(&execution, &mut random);
        for (model, axioms, new) in MODELS {
            let (mut incremental, mut writes) = (new(), Vec::new());
            let mut events: Vec<Pushed> = Vec::new();
            let mut numbers: Vec<Option<usize>> = vec![None; execution.len()];
            for &id in &order {
                let Event { location, source, kind, order } = execution.event(id);
                let location = if kind == Kind::Fence { 0 } else { location.0 };
                // Events that read from a refused event are left out.
                let source = match source {
                    source if source.is_event() => match numbers[source.index()] {
                        None => continue,
                        number => number,
                    },
                    _ => None,
                };
                let event = Pushed { thread: execution.thread(id).0, kind, location, order, source };
                let answer = event.to(&mut incremental, &mut writes);
                if model == Model::Rc20 && order == MemoryOrder::SequentiallyConsistent {
                    assert_eq!(answer, Err(Refused::Sequential));
                    continue;
                }
                events.push(event);
                let prefix = build(&events);
                let expected = oracle::allowed(axioms, &prefix);
                assert_eq!(checker.allows(model, &prefix), Ok(expected));
                match answer {
                    Ok(number) => {
                        assert!(expected, "{model} {events:?}");
                        assert_eq!(number + 1, events.len());
                        numbers[id.index()] = Some(number);
                        accepted += 1;
                    }
                    Err(Refused::Violation(violation)) => {
                        assert!(!expected, "{model} {events:?} {violation}");
                        events.pop();
                        match violation {
                            C11Violation::UpdatedTwice { by } => {
                                refused[0] += 1;
                                assert_eq!(kind, Kind::Rmw);
                                let by = events[by as usize];
                                assert_eq!((by.kind, by.source), (Kind::Rmw, event.source));
                            }
                            C11Violation::Overwritten { known } => {
                                refused[1] += 1;
                                assert_eq!(events[known as usize].location, event.location);
                            }
                        }
                    }
                    Err(other) => panic!("{model} {events:?} {other}"),
                }
                assert_eq!(incremental.next(), events.len() as u64);
            }
            assert_witness(model, &incremental, &events);
        }
    }
    assert!(refused.iter().all(|&count| count * 100 > accepted), "{refused:?} {accepted}");
}

#[test]
fn what_a_read_may_read_from_is_what_the_offline_engine_allows() {
    let mut random = SplitMix64::new(5);
    let mut checker = C11Checker::new();
    let mut answers = [0; 2];
    for case in 0..workload::cases(700) {
        let (model, _, new) = MODELS[case as usize % 2];
        let (mut incremental, mut pushed) = (new(), Vec::new());
        let mut events: Vec<Pushed> = Vec::new();
        let (threads, locations) = (random.between(1, 5), random.between(1, 2));
        for _ in 0..random.between(4, 24) {
            let kind = random.pick(&[Kind::Read, Kind::Read, Kind::Write, Kind::Rmw, Kind::Rmw, Kind::Fence]);
            let order = random.pick(match kind {
                Kind::Read => &[MemoryOrder::Relaxed, MemoryOrder::Acquire][..],
                Kind::Write => &[MemoryOrder::Relaxed, MemoryOrder::Release],
                _ => &[MemoryOrder::Plain, MemoryOrder::Acquire, MemoryOrder::Release, MemoryOrder::AcquireRelease],
            });
            let (thread, location) = (random.between(0, threads - 1), random.between(0, locations - 1));
            let mut event = Pushed { thread, kind, location, order, source: None };
            let sources = incremental.may_read_from(thread, kind, location, order);
            let number = |source: WriteId| pushed.iter().position(|&write| write == Some(source)).expect("a write");
            let sources: Vec<_> = sources.map(|source| source.map(number)).collect();
            if kind.reads() {
                let writes =
                    (0..events.len()).filter(|&at| events[at].kind.writes() && events[at].location == location);
                let writes: Vec<_> = std::iter::once(None).chain(writes.map(Some)).collect();
                let expected = writes.into_iter().filter(|&source| {
                    events.push(Pushed { source, ..event });
                    let allowed = checker.allows(model, &build(&events)).unwrap();
                    events.pop();
                    answers[usize::from(allowed)] += 1;
                    allowed
                });
                assert_eq!(sources, expected.collect::<Vec<_>>(), "{model} {event:?} after {events:?}");
                if sources.is_empty() {
                    continue;
                }
                event.source = random.pick(&sources);
            } else {
                assert!(sources.is_empty());
            }
            assert_eq!(event.to(&mut incremental, &mut pushed), Ok(events.len()));
            events.push(event);
        }
        assert_witness(model, &incremental, &events);
    }
    assert!(answers.iter().all(|&count| count * 10 > answers[0] + answers[1]), "{answers:?}");
}

/// Longer executions, with more threads than a clock has lanes at first.
#[test]
fn the_first_event_that_is_refused_ends_the_longest_allowed_prefix() {
    let mut random = SplitMix64::new(99);
    let mut checker = C11Checker::new();
    let mut verdicts = [0; 2];
    for seed in 0..workload::cases(400) {
        let (model, _, new) = MODELS[seed as usize % 2];
        let config = machine::MemoryConfig {
            machine: [MemoryMachine::ReleaseAcquire, MemoryMachine::Rc20][seed as usize % 2],
            threads: if seed % 10 == 9 { 40 } else { 2 + seed as u32 % 12 },
            operations: 200,
            locations: 1 + seed as u32 % 4,
            writes: 30,
            rmws: 20,
            fences: 5,
            stale: 40,
            perturb: seed as u32 / 2 % 2,
            seed,
            ..machine::MemoryConfig::default()
        };
        let execution = machine::execution(&config);
        let order = arrivals(&execution, &mut random);
        let mut numbers = vec![None; execution.len()];
        let (mut incremental, mut writes, mut events) = (new(), Vec::new(), Vec::new());
        let mut answer = Ok(0);
        for &id in &order {
            let Event { location, source, kind, order } = execution.event(id);
            let source = if source.is_event() { numbers[source.index()] } else { None };
            let event = Pushed { thread: execution.thread(id).0, kind, location: location.0, order, source };
            events.push(event);
            answer = event.to(&mut incremental, &mut writes);
            numbers[id.index()] = answer.ok();
            if answer.is_err() {
                break;
            }
        }
        assert_eq!(checker.allows(model, &build(&events)), Ok(answer.is_ok()), "{config:?}");
        if answer.is_err() {
            events.pop();
        }
        assert_eq!(checker.allows(model, &build(&events)), Ok(true), "{config:?}");
        assert_witness(model, &incremental, &events);
        verdicts[usize::from(answer.is_ok())] += 1;
    }
    assert!(verdicts.iter().all(|&count| count > 40), "{verdicts:?}");
}

#[test]
fn a_source_that_is_no_earlier_write_of_the_location_is_refused() {
    let mut execution = Incremental::rc20();
    let order = MemoryOrder::Relaxed;
    let write = execution.push(0, Kind::Write, 0, order, None).unwrap().expect("it writes");
    assert_eq!(execution.push(0, Kind::Read, 0, order, Some(write)), Ok(None));
    for (kind, location, source) in [
        (Kind::Read, 0, WriteId::new(u32::MAX)),
        (Kind::Rmw, 0, WriteId::new(write.index() as u32 + 1)),
        (Kind::Read, 1, write),
        (Kind::Write, 0, write),
        (Kind::Fence, 0, write),
    ] {
        assert_eq!(execution.push(0, kind, location, order, Some(source)), Err(Refused::Source));
    }
    // A write that was forgotten is no source either, nor is the name of the initial write.
    let second = execution.push(0, Kind::Write, 0, order, None).unwrap();
    assert!(execution.retire(1).eq([write]));
    for source in (0..100).map(WriteId::new) {
        let expected = if second == Some(source) { Ok(None) } else { Err(Refused::Source) };
        assert_eq!(execution.push(0, Kind::Read, 0, order, Some(source)), expected);
    }
    assert_eq!(execution.next(), 4);
    assert!(execution.modification_order(7).is_empty());
}

/// To forget events now and then changes no answer: no thread may read a write that was forgotten.
#[test]
fn what_is_forgotten_changes_no_answer() {
    let mut random = SplitMix64::new(31);
    let (mut gone, mut refused, mut least) = (0, 0, usize::MAX);
    for seed in 0..workload::cases(600) {
        let (_, _, new) = MODELS[seed as usize % 2];
        let threads = if seed % 20 == 19 { 20 } else { random.between(1, 6) };
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
        let execution = machine::execution(&config);
        let (mut whole, mut short) = (new(), new());
        // By accepted event: its name in the execution that forgets nothing, and in the one that forgets, if it has one
        // there.
        let mut names: Vec<Option<[Option<WriteId>; 2]>> = vec![None; execution.len()];
        for id in arrivals(&execution, &mut random) {
            if random.percent(4) {
                let retired: Vec<_> = short.retire(threads as usize).collect();
                for [_, name] in names.iter_mut().flatten() {
                    *name = name.filter(|name| !retired.contains(name));
                }
                least = least.min(short.size());
            }
            let Event { location, source, kind, order } = execution.event(id);
            let thread = execution.thread(id).0;
            let location = if kind == Kind::Fence { 0 } else { location.0 };
            let sources = match source {
                source if source.is_event() => match names[source.index()] {
                    None => continue,
                    names => names,
                },
                _ => None,
            };
            if kind.reads() && random.percent(10) {
                let may: Vec<_> = whole.may_read_from(thread, kind, location, order).collect();
                let mapped = |source: WriteId| {
                    let [_, name] = names.iter().flatten().find(|[name, _]| *name == Some(source)).expect("a write");
                    name.expect("what may be read is not forgotten")
                };
                let may: Vec<_> = may.into_iter().map(|source| source.map(mapped)).collect();
                assert_eq!(short.may_read_from(thread, kind, location, order).collect::<Vec<_>>(), may, "{config:?}");
            }
            let expected = whole.push(thread, kind, location, order, sources.and_then(|[name, _]| name));
            if sources.is_some_and(|[_, name]| name.is_none()) {
                assert!(matches!(expected, Err(Refused::Violation(_))), "{config:?} {expected:?}");
                gone += 1;
                continue;
            }
            let answer = short.push(thread, kind, location, order, sources.and_then(|[_, name]| name));
            assert_eq!(answer.is_ok(), expected.is_ok(), "{config:?} {answer:?} {expected:?}");
            refused += usize::from(answer.is_err());
            names[id.index()] = expected.ok().zip(answer.ok()).map(|(whole, short)| [whole, short]);
        }
    }
    assert!(gone > 100 && refused > 500 && least < 30, "{gone} {refused} {least}");
}

/// What the execution says of every access that could come next, and of every location.
fn answers(execution: &mut Incremental, writes: &[Option<WriteId>], threads: u32, locations: u32) -> Vec<Vec<u64>> {
    let number = |source: Option<WriteId>| match source {
        None => u64::MAX,
        Some(write) => writes.iter().position(|&other| other == Some(write)).expect("a write") as u64,
    };
    let mut answers = Vec::new();
    for location in 0..locations {
        answers.push(execution.modification_order(location));
        for thread in 0..threads {
            for (kind, order) in [
                (Kind::Read, MemoryOrder::Relaxed),
                (Kind::Read, MemoryOrder::Acquire),
                (Kind::Rmw, MemoryOrder::AcquireRelease),
            ] {
                let sources = execution.may_read_from(thread, kind, location, order);
                answers.push(sources.map(number).collect());
            }
        }
    }
    // By now there is room for all locations.
    answers.push(vec![execution.next(), execution.size() as u64]);
    answers
}

/// After an undo, the execution is as one to which only the events before the mark were pushed, and gives the same
/// names to what comes next.
#[test]
fn what_is_undone_is_as_if_it_had_not_been() {
    let mut random = SplitMix64::new(77);
    let (mut undone, mut moved) = (0, 0);
    for case in 0..workload::cases(500) {
        let (model, _, new) = MODELS[case as usize % 2];
        // Rarely so many threads that clocks become wider between a mark and its undo.
        let (threads, locations) = (if case % 10 == 9 { 11 } else { random.between(1, 5) }, random.between(1, 3));
        let (mut execution, mut events, mut writes) = (new(), Vec::<Pushed>::new(), Vec::new());
        let mut marks = vec![(execution.mark(), 0)];
        for step in 0..random.between(10, 60) {
            if random.percent(20) {
                marks.push((execution.mark(), events.len()));
            }
            if random.percent(12) && !marks.is_empty() {
                marks.truncate(random.between(1, marks.len() as u32) as usize);
                let (mark, count) = marks[marks.len() - 1];
                undone += events.len() - count;
                assert!(execution.undo(mark));
                events.truncate(count);
                writes.truncate(count);
                let (mut fresh, mut again) = (new(), Vec::new());
                for &event in &events {
                    event.to(&mut fresh, &mut again).expect("it was accepted");
                }
                let expected = answers(&mut fresh, &again, threads, locations);
                assert_eq!(answers(&mut execution, &writes, threads, locations), expected, "{model} {events:?}");
                assert_witness(model, &execution, &events);
            }
            let kind = random.pick(&[Kind::Read, Kind::Read, Kind::Write, Kind::Write, Kind::Rmw, Kind::Fence]);
            let order = random.pick(match kind {
                Kind::Read => &[MemoryOrder::Relaxed, MemoryOrder::Acquire][..],
                Kind::Write => &[MemoryOrder::Relaxed, MemoryOrder::Release],
                _ => &[MemoryOrder::Relaxed, MemoryOrder::Acquire, MemoryOrder::Release, MemoryOrder::AcquireRelease],
            });
            let (thread, location) = (random.between(0, threads - 1), random.between(0, locations - 1));
            let of_location =
                (0..events.len()).filter(|&at| events[at].kind.writes() && events[at].location == location);
            let candidates: Vec<_> = std::iter::once(None).chain(of_location.map(Some)).collect();
            let source = if kind.reads() { random.pick(&candidates) } else { None };
            let event = Pushed { thread, kind, location, order, source };
            let before = execution.modification_order(location);
            // Events that are refused leave nothing on the trail.
            if event.to(&mut execution, &mut writes).is_ok() {
                moved += usize::from(!execution.modification_order(location).starts_with(&before));
                events.push(event);
            }
            assert_eq!(execution.next() as usize, events.len(), "step {step}");
        }
        // What was forgotten cannot be brought back.
        let (mark, _) = marks[0];
        let _ = execution.retire(threads as usize).count();
        assert!(!execution.undo(mark));
    }
    assert!(undone > 1000 && moved > 500, "{undone} {moved}");
}
