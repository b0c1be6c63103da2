//! An execution that does not end, with what each thread does for ever.
//!
//! A thread *goes round* if its place in the code and its registers are what they were some steps ago: if it reads the
//! same again, it does the same again. A thread whose steps repeat but whose registers do not, as where it counts its
//! rounds, is shown in the same way. But more steps could lead it out of its loop, so then it is not certain that no
//! execution ends.

use std::fmt::Write as _;
use std::ops::ControlFlow;

use super::machine::Machine;
use super::states::Clock;
use super::{Limits, Test};
use crate::exploration::{Exploration, ExplorationEnding};
use crate::graph::{Event, Graph};
use crate::model::Model;
use crate::program::{Await, Comparison, Program, Value};
use crate::trace::TraceWords;

/// An execution that does not end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endless {
    /// What each thread does, a line for each.
    pub threads: Vec<String>,
    /// Whether this one does not end for certain: threads that have not ended wait for what the last writes do not
    /// have; or no execution ends, each was seen, and threads that had too many steps go round.
    pub is_certain: bool,
}

impl Test {
    /// The first execution that does not end, as one worker comes to them: of all, or of the deadlocks.
    pub(super) fn first_endless(&self, model: Model, limits: Limits, is_deadlock: bool) -> Option<Vec<String>> {
        let mut exploration = Exploration::new(self.machine(limits, true), model);
        let mut clock = Clock::new(limits);
        let mut found = None;
        let _ = exploration.run(|run| {
            let is_endless = run.ending() == ExplorationEnding::Deadlock
                || !is_deadlock && run.ending() == ExplorationEnding::Bounded;
            let (machine, graph) = run.parts();
            found = is_endless.then(|| self.told(machine, graph));
            if is_endless || clock.is_late() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        found
    }

    fn told(&self, machine: &mut Machine<'_>, graph: &Graph) -> Vec<String> {
        (0..machine.threads()).map(|thread| format!("P{thread} {}", self.fate(machine, graph, thread))).collect()
    }

    /// What becomes of a thread.
    fn fate(&self, machine: &mut Machine<'_>, graph: &Graph, thread: u32) -> String {
        let words = TraceWords {
            name: &|location| self.location_name(location),
            value: &|_, value| value.to_string(),
            choice: &|_, _, value| (if value == 1 { "fails without a reason" } else { "does not fail" }).to_owned(),
            code: &|_, _| None,
        };
        let len = graph.len(thread);
        let text = |index: u32| Graph::text(graph.event(thread, index), &words);
        let texts = |from: u32, to: u32| (from..to).map(text).collect::<Vec<_>>().join("; ");
        let last = len.checked_sub(1).map(|last| graph.event(thread, last));
        if let Some(last) = last.filter(|last| last.waits()) {
            let location = last.step.location().map(|location| self.location_name(location)).unwrap_or_default();
            let until = last.step.until().map(|until| shown(until, &location)).unwrap_or_default();
            return format!("{}waits until {until}", after(&texts(0, len - 1)));
        }
        if machine.is_over(thread, graph) {
            return if len == 0 { "ends".to_owned() } else { format!("{}ends", after(&texts(0, len))) };
        }
        let Some(round) = machine.round(thread, graph).or_else(|| repeated(graph, thread)) else {
            return if len == 0 { "goes on".to_owned() } else { format!("{}goes on", after(&texts(0, len.min(8)))) };
        };
        // Where the rounds begin: as early as the steps are those of a round.
        let is_same = |one: u32, other: u32| step_of(graph.event(thread, one)) == step_of(graph.event(thread, other));
        let mut start = len - round;
        while start > 0 && is_same(start - 1, start - 1 + round) {
            start -= 1;
        }
        let mut text = after(&texts(0, start));
        let _ = match round {
            0 => write!(text, "goes round without an access"),
            _ => write!(text, "goes round: {}", texts(start, start + round)),
        };
        text
    }
}

/// What a step is, whenever it comes.
fn step_of(event: &Event) -> (crate::program::Step, Value, bool) {
    (event.step, event.read, event.writes)
}

fn after(texts: &str) -> String {
    if texts.is_empty() { String::new() } else { format!("{texts}; then it ") }
}

/// The shortest round that the last steps of a thread are, at least twice.
fn repeated(graph: &Graph, thread: u32) -> Option<u32> {
    let len = graph.len(thread);
    let is_round = |round: &u32| {
        (len - round..len).all(|at| step_of(graph.event(thread, at)) == step_of(graph.event(thread, at - round)))
    };
    (1..=len / 2).find(is_round)
}

/// What is waited for.
fn shown(Await { mask, comparison, value }: Await, location: &str) -> String {
    let sign = match comparison {
        Comparison::Equal => "=",
        Comparison::NotEqual => "!=",
        Comparison::Less => "<",
        Comparison::LessOrEqual => "<=",
        Comparison::Greater => ">",
        Comparison::GreaterOrEqual => ">=",
    };
    let masked = if mask == -1 { String::new() } else { format!(" & {mask}") };
    format!("{location}{masked} {sign} {value}")
}
