//! A litmus test that somebody else runs, step by step: on a real memory, say.
//!
//! A [`Walk`] is a thread of the test. It names its next access, and goes on when it is told what the access read. What
//! came of many runs is judged as after an exploration.

use std::collections::BTreeMap;

use super::machine::{Thread, feed, run, step};
use super::states::{Seen, States};
use super::{Limits, Report, Test};
use crate::exploration::Counts;
use crate::program::{Next, Value};

/// A thread of a test, on its way.
#[derive(Clone, Debug)]
pub struct Walk<'a> {
    thread: &'a Thread,
    /// The place in the code, and the registers.
    state: Vec<Value>,
}

impl Walk<'_> {
    /// Goes back to the beginning.
    pub fn restart(&mut self) {
        self.state.fill(0);
        for &(register, value) in &self.thread.initial {
            self.state[register as usize + 1] = value;
        }
        run(self.thread, &mut self.state);
    }

    /// What the thread does next.
    pub fn next(&self) -> Next {
        step(self.thread, &self.state)
    }

    /// Goes on after an access, which read this value if it reads.
    pub fn feed(&mut self, value: Value) {
        feed(self.thread, &mut self.state, value);
        run(self.thread, &mut self.state);
    }
}

impl Test {
    /// How many threads there are.
    pub fn thread_count(&self) -> usize {
        self.threads.len()
    }

    /// The initial values of all locations.
    pub fn initial(&self) -> &[Value] {
        &self.initial
    }

    /// A thread of the test, at its beginning.
    ///
    /// ```
    /// use explore::litmus::Test;
    /// use explore::{Next, Step};
    ///
    /// let test = Test::parse(b"C one { [x] = 0; } P0 (atomic_int* x) { int r = atomic_load(x); } exists (0:r=7)")?;
    /// let mut walk = test.walk(0);
    /// assert!(matches!(walk.next(), Next::Step(Step::Read { location: 0, .. })));
    /// walk.feed(7);
    /// assert!(matches!(walk.next(), Next::Finished));
    /// let state = test.state(&[walk], &[0]);
    /// assert!(test.judge([(state, 1)].into()).is_reachable());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn walk(&self, thread: usize) -> Walk<'_> {
        let thread = &self.threads[thread];
        let mut walk = Walk { thread, state: vec![0; thread.registers as usize + 1] };
        walk.restart();
        walk
    }

    /// The final state, after these walks of all threads and with this memory.
    pub fn state(&self, walks: &[Walk<'_>], memory: &[Value]) -> Vec<Value> {
        let value = |variable: &super::Variable| {
            let values = variable.thread.map_or(memory, |thread| &walks[thread as usize].state[1..]);
            variable.number.and_then(|number| values.get(number as usize).copied()).unwrap_or(0)
        };
        self.observed.iter().map(value).collect()
    }

    /// What these final states, each with the number of runs that ended so, say about the condition.
    pub fn judge(&self, states: BTreeMap<Vec<Value>, u64>) -> Report {
        let counts = Counts { executions: states.values().sum(), ..Counts::default() };
        let seen = states.into_iter().map(|(state, count)| (state, Seen { count, seed: None, witness: None }));
        let mut states = States::new(Limits::default());
        states.by_value = seen.collect();
        self.report(states, counts, false)
    }
}
