//! The monitors of `wsc` and `tso` over a window: sound, and exact while the window holds all.

use format::stream::SourceName;
use history::execution::Kind;
use history::{Execution, MemoryOrder, Value};
use model::{Model, Verdict};
use monitor::{Access, Monitor, Windowed};
use workload::cases;
use workload::memory::{MemoryConfig, MemoryMachine, MemoryStep, generate, history};

fn access(step: &MemoryStep) -> Access {
    let value = |has: bool, value| if has { Value::small(value) } else { Value::NONE };
    Access {
        thread: step.thread,
        kind: step.kind,
        location: step.location,
        order: MemoryOrder::Plain,
        read: value(step.kind.reads(), step.read),
        written: value(step.kind.writes(), step.written),
        label: Value::NONE,
        source: SourceName::None,
    }
}

/// The first event that is reported.
fn watch(mut monitor: Windowed, steps: &[MemoryStep]) -> Option<u64> {
    for (number, step) in (0..).zip(steps) {
        if number % 17 == 3 {
            // The state is data.
            monitor = postcard::from_bytes(&postcard::to_stdvec(&monitor).unwrap()).unwrap();
        }
        if let Err(violation) = monitor.push(access(step)) {
            return Some(violation.event);
        }
    }
    monitor.finish().err().map(|violation| violation.event)
}

#[test]
fn what_is_reported_is_a_violation() {
    let (mut reported, mut missed, mut clean) = (0, 0, 0);
    for seed in 0..cases(1500) {
        let machine = [MemoryMachine::Sc, MemoryMachine::Tso, MemoryMachine::Pso, MemoryMachine::ReleaseAcquire]
            [seed as usize % 4];
        let config = MemoryConfig {
            machine,
            threads: 2 + seed as u32 % 3,
            operations: 40,
            locations: 3,
            rmws: seed as u32 % 2 * 10,
            fences: seed as u32 % 3 * 5,
            perturb: seed as u32 / 4 % 2,
            seed,
            ..MemoryConfig::default()
        };
        let steps: Vec<MemoryStep> = generate(&config).collect();
        let verdict = |model, count: usize| {
            let execution = Execution::from_history(&history(&config, steps[..count].iter().copied())).unwrap();
            memory::check(model, &execution, &memory::MemoryOptions::default()).verdict
        };
        for (model, weak) in [(Model::Wsc, Model::Wsc), (Model::Tso, Model::Wtso)] {
            let monitor = || if model == Model::Wsc { Windowed::wsc() } else { Windowed::tso() };
            let is_violation = verdict(weak, steps.len()) == Verdict::Violation;
            for size in [4, 10, 20, 100] {
                let mut monitor = monitor();
                monitor.set_window(size);
                if let Some(event) = watch(monitor, &steps) {
                    reported += 1;
                    let count = event as usize + 1;
                    assert_eq!(verdict(model, count), Verdict::Violation, "{config:?}, {size}");
                    if size == 100 {
                        // With all in the window, it is the first event with which there is a violation.
                        assert_ne!(verdict(weak, count - 1), Verdict::Violation, "{config:?}");
                    }
                } else {
                    assert!(size < 100 || !is_violation, "{config:?}: {model}");
                    missed += u64::from(is_violation);
                    clean += u64::from(!is_violation);
                }
            }
        }
    }
    println!("{reported} reported, {missed} missed, {clean} without a violation");
    assert!(reported > 500 && missed > 10 && clean > 500);
}

/// A fence and a read-modify-write stand in the window as in the execution.
#[test]
fn kinds() {
    assert!(Kind::Rmw.reads() && Kind::Rmw.writes());
    let step = |thread, kind, location, read, written| MemoryStep {
        thread,
        kind,
        location,
        order: MemoryOrder::Plain,
        read,
        written,
    };
    // Store buffering with fences is not allowed by tso.
    let steps = [
        step(0, Kind::Write, 0, 0, 1),
        step(0, Kind::Fence, 0, 0, 0),
        step(0, Kind::Read, 1, 0, 0),
        step(1, Kind::Write, 1, 0, 2),
        step(1, Kind::Fence, 0, 0, 0),
        step(1, Kind::Read, 0, 0, 0),
    ];
    assert_eq!(watch(Windowed::tso(), &steps), Some(5));
    let without: Vec<MemoryStep> = steps.iter().copied().filter(|step| step.kind != Kind::Fence).collect();
    assert_eq!((watch(Windowed::tso(), &without), watch(Windowed::wsc(), &without)), (None, Some(3)));
}
