//! What the tests share.
#![allow(dead_code)]

use history::{History, Object};
use object::{Algorithm, End, ObjectHistory, ObjectOptions, Sequential, Timed, check};
use workload::object::ObjectConfig;
use workload::random::SplitMix64;

/// Every object that has calls and returns.
pub fn objects() -> impl Iterator<Item = Object> {
    Object::ALL.into_iter().filter(|&object| object != Object::Memory)
}

/// Whether the row of an object names a fast algorithm.
pub fn has_fast(object: Object) -> bool {
    let history = workload::object::history(&ObjectConfig { operations: 1, ..ObjectConfig::new(object) });
    let view = ObjectHistory::new(&history).expect("an object history");
    let decision = check(&view, &ObjectOptions { algorithm: Algorithm::Fast, ..ObjectOptions::default() });
    !decision.reason.is_some_and(|reason| reason.ends_with("has no fast algorithm"))
}

/// A history as text, for messages.
pub fn text(history: &History) -> String {
    let mut writer = format::Writer::new(Vec::new(), format::Format::Text);
    writer.write(history).expect("writing to memory");
    String::from_utf8(writer.finish().expect("writing to memory")).expect("text")
}

/// Calls of up to four processes, most of them with the results of a run, a few with those of others.
pub fn run<S: Sequential>(
    specification: &S,
    random: &mut SplitMix64,
    operation: impl Fn(&mut SplitMix64) -> S::Operation,
) -> Vec<Timed<S::Operation, S::Return>>
where
    S::Return: Clone,
{
    let mut state: Vec<(usize, S::State)> = Vec::new();
    let mut calls: Vec<Timed<S::Operation, S::Return>> = Vec::new();
    let mut open: Vec<(usize, Option<S::Return>)> = Vec::new();
    let count = 1 + random.below(7) as usize;
    let mut moment = 0;
    // An operation that waits may wait for ever.
    for _ in 0..200 {
        moment += u64::from(!random.percent(10));
        if calls.len() < count && open.len() < 4 && random.percent(40) {
            open.push((calls.len(), None));
            calls.push(Timed::pending(operation(random), moment));
        } else if !open.is_empty() {
            let at = random.below(open.len() as u64) as usize;
            let (number, answer) = open[at].clone();
            if let Some(answer) = answer {
                open.remove(at);
                calls[number].end = match random.below(12) {
                    0 => End::Pending,
                    _ => End::Returned(moment, answer),
                };
            } else {
                let part = |at: usize| specification.part(&calls[at].operation);
                let of = (0..calls.len()).find(|&other| part(other) == part(number)).expect("itself");
                let known = state.iter().position(|(part, _)| *part == of);
                let before = known.map_or_else(|| specification.initial(), |at| state[at].1.clone());
                let steps: Vec<_> = specification.steps(&before, &calls[number].operation).into_iter().collect();
                if !steps.is_empty() {
                    let choice = random.below(steps.len() as u64) as usize;
                    let (after, returned) = steps.into_iter().nth(choice).expect("one of them");
                    state.retain(|(part, _)| *part != of);
                    state.push((of, after));
                    open[at].1 = Some(returned);
                }
            }
        }
    }
    let returned: Vec<usize> = (0..calls.len()).filter(|&at| calls[at].ret().is_some()).collect();
    if returned.len() > 1 && random.percent(40) {
        let (a, b) = (random.pick(&returned), random.pick(&returned));
        if let (Some(result), Some(ret)) = (calls[b].result().cloned(), calls[a].ret()) {
            calls[a].end = End::Returned(ret, result);
        }
    }
    if !calls.is_empty() && random.percent(10) {
        let at = random.below(calls.len() as u64) as usize;
        calls[at].end = End::Failed;
    }
    calls
}
