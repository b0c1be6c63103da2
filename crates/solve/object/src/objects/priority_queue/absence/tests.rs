//! The solver alone against the definition. The usual way decides small histories by the search of Wing and Gong, so
//! they are decided here.

use std::fmt::Write;

use history::{History, Object};
use model::{Certificate, Decided, Evidence, Model, Verdict};
use verify::verify;
use workload::random::SplitMix64;

use super::*;
use crate::search::Budget;
use crate::view::ObjectHistory;

/// The answer of the solver.
fn solve(history: &History) -> Option<Vec<Linearization>> {
    let view = ObjectHistory::new(history).expect("an object history");
    view.parts().map(|part| linearize(&part, (&Budget::UNLIMITED).into()).expect("there is no limit")).collect()
}

/// Decides a history by its definition, and checks that the solver agrees and that its witness is one.
fn decide(history: &History, what: &str) -> bool {
    let linearizations = solve(history);
    let is_linearizable = oracle::object::linearizable(history);
    assert_eq!(linearizations.is_some(), is_linearizable, "{what}");
    let Some(linearizations) = linearizations else { return false };
    let evidence = Some(Evidence::Linearizations(linearizations));
    let decision = Decided { verdict: Verdict::Consistent, strategy: "search", reason: None, evidence };
    let certificate = Certificate::new(0, history, Model::Linearizable, &decision).expect("evidence");
    assert_eq!(verify(&certificate, history), Ok(()), "{what}");
    true
}

#[test]
fn small_histories_are_decided_as_by_the_definition() {
    let cases = workload::small::cases(12_000);
    let mut verdicts = [0; 2];
    for seed in 0..cases {
        let history = workload::object::small_with_duplicates(Object::PriorityQueue, seed);
        let view = ObjectHistory::new(&history).expect("an object history");
        if !view.parts().all(|part| applies(&part)) {
            continue;
        }
        verdicts[usize::from(decide(&history, &format!("seed {seed}")))] += 1;
    }
    assert!(verdicts.iter().all(|&count| count > cases / 20), "{verdicts:?}");
}

/// What an operation does. A removal has its result; 0 for `empty`.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Action {
    Insert(u32),
    Remove(u32),
}

/// An operation and the times of its call and of its return, if it returned.
#[derive(Copy, Clone)]
struct Timed {
    action: Action,
    call: u32,
    ret: Option<u32>,
}

impl Timed {
    fn is_pending_removal(&self) -> bool {
        self.ret.is_none() && matches!(self.action, Action::Remove(_))
    }
}

/// The time from one effect to the next.
const STEP: u32 = 16;

/// A run with 2 to 4 pending removals. They are called early or late, and most of them take effect. There are 2 or 3
/// values with 2 to 4 copies each.
fn run(random: &mut SplitMix64) -> Vec<Timed> {
    let values = random.between(2, 3);
    // Inserts come first more often than not, so that removals find something.
    let mut steps: Vec<(u32, Action, bool)> = Vec::new();
    for value in 1..=values {
        let copies = random.between(2, 6 - values);
        steps.extend((0..copies).map(|_| (random.between(0, 99), Action::Insert(value), random.percent(3))));
    }
    let (returned, pending) = (random.between(3, 7), random.between(2, 4));
    steps.extend((0..returned).map(|_| (random.between(40, 159), Action::Remove(0), false)));
    steps.extend((0..pending).map(|_| (random.between(20, 139), Action::Remove(0), true)));
    steps.sort_by_key(|&(place, ..)| place);
    let reach = random.pick(&[4, 4, 8, 8, 16, 16, 24]);
    let mut inside: Vec<u32> = Vec::new();
    let mut run = Vec::new();
    for (at, (_, mut action, is_pending)) in (1..).zip(steps) {
        let effect = at * STEP;
        let mut call = effect - random.between(0, reach).min(effect);
        match &mut action {
            Action::Insert(value) => inside.push(*value),
            Action::Remove(_) if is_pending && random.percent(10) => {}
            Action::Remove(result) => {
                inside.sort_unstable();
                *result = inside.pop().unwrap_or(0);
            }
        }
        if is_pending && random.percent(40) {
            call = random.between(0, call);
        }
        let ret = (!is_pending).then(|| effect + 1 + random.between(0, reach));
        run.push(Timed { action, call, ret });
    }
    run
}

/// A small change: another result, two results swapped, an operation dropped, or a pending removal called later.
fn perturb(run: &mut Vec<Timed>, random: &mut SplitMix64) {
    let removals = (0..run.len()).filter(|&at| matches!(run[at].action, Action::Remove(_)));
    let (pending, removals): (Vec<usize>, Vec<usize>) = removals.partition(|&at| run[at].is_pending_removal());
    match random.below(6) {
        0 if !removals.is_empty() => run[random.pick(&removals)].action = Action::Remove(random.between(0, 2)),
        1 if !removals.is_empty() => {
            let [one, two] = [random.pick(&removals), random.pick(&removals)];
            (run[one].action, run[two].action) = (run[two].action, run[one].action);
        }
        2 => drop(run.remove(random.below(run.len() as u64) as usize)),
        _ if !pending.is_empty() => run[random.pick(&pending)].call += random.between(1, 8 * STEP),
        _ => {}
    }
}

/// The history as text. Each operation has a process of its own.
fn text(run: &[Timed]) -> String {
    let mut events: Vec<(u32, usize, String)> = Vec::new();
    for (at, timed) in run.iter().enumerate() {
        let (call, ret) = match timed.action {
            Action::Insert(value) => (format!("insert {value}"), String::new()),
            Action::Remove(0) => ("delete-max".to_owned(), " empty".to_owned()),
            Action::Remove(result) => ("delete-max".to_owned(), format!(" {result}")),
        };
        events.push((timed.call, at, format!("call {call}")));
        events.extend(timed.ret.map(|time| (time, at, format!("return{ret}"))));
    }
    events.sort();
    let mut text = "# @object pqueue\n".to_owned();
    for (_, at, event) in events {
        writeln!(text, "[{at}] {event}").expect("a string takes all text");
    }
    text
}

fn parse(run: &[Timed]) -> History {
    format::parse(&text(run)).expect("a history")
}

/// Whether a run is linearizable although at most one of its pending removals happened.
fn needs_one_at_most(run: &[Timed]) -> bool {
    let pending = (0..run.len()).filter(|&at| run[at].is_pending_removal());
    let none = run.len();
    pending.chain([none]).any(|kept| {
        let rest = (0..run.len()).filter(|&at| at == kept || !run[at].is_pending_removal()).map(|at| run[at]);
        oracle::object::linearizable(&parse(&rest.collect::<Vec<_>>()))
    })
}

/// Whether a run is linearizable if all pending removals are called before everything else. The solver says so, since
/// the definition takes too long.
fn is_linearizable_with_early_calls(run: &[Timed]) -> bool {
    let mut early = run.to_vec();
    early.sort_by_key(|timed| !timed.is_pending_removal());
    early.iter_mut().filter(|timed| timed.is_pending_removal()).for_each(|timed| timed.call = 0);
    solve(&parse(&early)).is_some()
}

/// Late pending removals: how many can have taken a copy depends on how many have been called.
#[test]
fn late_pending_removals_are_decided_as_by_the_definition() {
    let cases = workload::small::cases(3_000);
    let (mut verdicts, mut needs_two, mut too_late) = ([0; 2], 0, 0);
    for seed in 0..cases {
        let mut random = SplitMix64::new(seed);
        let mut run = run(&mut random);
        for _ in 0..random.between(0, 3) {
            perturb(&mut run, &mut random);
        }
        let is_linearizable = decide(&parse(&run), &format!("seed {seed}\n{}", text(&run)));
        verdicts[usize::from(is_linearizable)] += 1;
        if is_linearizable {
            needs_two += u64::from(!needs_one_at_most(&run));
        } else {
            too_late += u64::from(is_linearizable_with_early_calls(&run));
        }
    }
    assert!(verdicts.iter().all(|&count| count > cases / 5), "{verdicts:?}");
    assert!(needs_two > cases / 5, "{needs_two} of {cases} histories need two pending removals");
    assert!(too_late > cases / 20, "{too_late} of {cases} histories call pending removals too late");
}
