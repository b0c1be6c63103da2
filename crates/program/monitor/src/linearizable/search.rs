//! The monitor of every sequential object, by the definition: it follows all that can have happened.
//!
//! **Definition.** A *configuration* says what the object holds, and which of the open operations have taken effect,
//! each with what it will return. The monitor keeps the configurations that explain the events so far. A call changes
//! none of them. When an operation returns, each configuration in which it took effect with this result stays. From one
//! in which it did not take effect yet, open operations take effect, one after the other and in every order, until this
//! one does. If no configuration is left, the events so far are not linearizable. So the verdict at each return is
//! exact, whatever values repeat and whatever is pending.
//!
//! **Fewer configurations.** A configuration is left out if operations that are open now lead to it from another one
//! that is kept: they can as well take effect later. So operations that do not see each other, such as two insertions
//! into a priority queue, are tried in one order only. An operation that will never return needs no result, and one
//! that changes nothing then needs no step.
//!
//! Many operations that overlap, and see each other's order, have too many configurations. Then the search gives up,
//! and [SATURATE](super::saturate), which runs beside it if it knows the object, goes on alone.
//!
//! Memory: the contents of each configuration, of which there are at most [`MOST`].

use std::collections::VecDeque;

use history::{Method, Object, Value};
use object::{Contents, Effect, Online};
use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};

use super::saturate::Saturate;
use super::{OpenOperation, Stopped, TOO_MANY};

/// How many configurations are looked at, at most, when an operation returns.
const MOST: usize = 1 << 12;

/// What can have happened. The operations that took effect are sorted by their numbers.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Configuration {
    contents: Contents,
    taken: Vec<(u64, Value)>,
}

impl Configuration {
    /// What an open operation will return, if it took effect.
    fn result(&self, number: u64) -> Option<Value> {
        self.place(number).ok().map(|at| self.taken[at].1)
    }

    fn place(&self, number: u64) -> Result<usize, usize> {
        self.taken.binary_search_by_key(&number, |&(number, _)| number)
    }

    fn forget(&mut self, number: u64) {
        if let Ok(at) = self.place(number) {
            self.taken.remove(at);
        }
    }
}

/// Too many configurations.
#[derive(Copy, Clone)]
struct TooMany;

/// The configurations of one object.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Configurations {
    kind: Online,
    /// The open operations, in the order of their calls, and whether each will never return.
    open: Vec<(OpenOperation, bool)>,
    all: Vec<Configuration>,
}

impl Configurations {
    /// The configuration after an open operation took effect, if it can and if that is of use.
    fn after(&self, before: &Configuration, at: usize) -> Option<Configuration> {
        let (open, is_lost) = &self.open[at];
        let place = before.place(open.number).err()?;
        let mut contents = before.contents.clone();
        let OpenOperation { method, argument, expected, .. } = *open;
        let result = self.kind.take_effect(&mut contents, &Effect { method, argument, expected })?;
        if *is_lost && (contents == before.contents || self.has_twin(before, at)) {
            return None;
        }
        let mut taken = before.taken.clone();
        taken.insert(place, (open.number, if *is_lost { Value::NONE } else { result }));
        Some(Configuration { contents, taken })
    }

    /// Whether an earlier operation does the same, will never return either, and did not take effect yet.
    fn has_twin(&self, configuration: &Configuration, at: usize) -> bool {
        let same = |open: &OpenOperation| (open.method, open.argument, open.expected);
        let is_twin = |(open, is_lost): &(OpenOperation, bool)| *is_lost && same(open) == same(&self.open[at].0);
        self.open[..at].iter().any(|it| is_twin(it) && configuration.result(it.0.number).is_none())
    }

    /// An operation returns. Returns whether a configuration is left; if none is, it counts as if it had not been
    /// called.
    fn return_(&mut self, number: u64, result: Value) -> Result<bool, TooMany> {
        let is_told = |said: Value| result.is_none() || said.is_none() || said == result;
        let Some(returns) = self.open.iter().position(|(open, _)| open.number == number) else { return Ok(true) };
        let mut kept: FxHashSet<Configuration> = FxHashSet::default();
        let mut seen: FxHashSet<Configuration> = FxHashSet::default();
        let mut todo: VecDeque<Configuration> = VecDeque::new();
        for configuration in &self.all {
            match configuration.result(number) {
                Some(said) if is_told(said) => drop(kept.insert(configuration.clone())),
                Some(_) => {}
                None => todo.push_back(configuration.clone()),
            }
        }
        while let Some(before) = todo.pop_front() {
            for at in 0..self.open.len() {
                let Some(after) = self.after(&before, at) else { continue };
                if at != returns {
                    if !seen.contains(&after) {
                        seen.insert(after.clone());
                        todo.push_back(after);
                    }
                } else if after.result(number).is_some_and(is_told) {
                    kept.insert(after);
                }
            }
            if seen.len() + kept.len() > MOST {
                return Err(TooMany);
            }
        }
        let is_possible = !kept.is_empty();
        if is_possible {
            self.all = self.first_of(kept);
        }
        self.close(number);
        Ok(is_possible)
    }

    /// The configurations to which no open operations lead from another one.
    fn first_of(&self, kept: FxHashSet<Configuration>) -> Vec<Configuration> {
        let after = |configuration| (0..self.open.len()).filter_map(move |at| self.after(configuration, at));
        let reached: FxHashSet<Configuration> =
            if kept.len() > 1 { kept.iter().flat_map(after).collect() } else { FxHashSet::default() };
        kept.into_iter().filter(|configuration| !reached.contains(configuration)).collect()
    }

    /// An operation did not happen. Returns whether a configuration is left.
    fn fail(&mut self, number: u64) -> bool {
        let is_possible = self.all.iter().any(|configuration| configuration.result(number).is_none());
        if is_possible {
            self.all.retain(|configuration| configuration.result(number).is_none());
        }
        self.close(number);
        is_possible
    }

    /// An operation will never return.
    fn abandon(&mut self, number: u64) {
        if let Some((_, is_lost)) = self.open.iter_mut().find(|(open, _)| open.number == number) {
            *is_lost = true;
        }
        for configuration in &mut self.all {
            if let Ok(at) = configuration.place(number) {
                configuration.taken[at].1 = Value::NONE;
            }
        }
        self.tidy();
    }

    fn close(&mut self, number: u64) {
        self.open.retain(|(open, _)| open.number != number);
        self.all.iter_mut().for_each(|configuration| configuration.forget(number));
        self.tidy();
    }

    /// Merges configurations that have become alike, and forgets operations that will never return once they changed
    /// nothing, or took effect everywhere.
    fn tidy(&mut self) {
        let all = &mut self.all;
        self.open.retain(|(open, is_lost)| {
            let is_over = *is_lost
                && (open.method.observes()
                    || all.iter().all(|configuration| configuration.result(open.number).is_some()));
            if is_over {
                for configuration in &mut *all {
                    configuration.forget(open.number);
                }
            }
            !is_over
        });
        if all.len() > 1 {
            let mut seen: FxHashSet<Configuration> = FxHashSet::default();
            all.retain(|configuration| seen.insert(configuration.clone()));
        }
    }
}

/// The monitor of one object: the search, and SATURATE beside it. See the module.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Search {
    configurations: Option<Configurations>,
    saturate: Option<Box<Saturate>>,
}

impl Search {
    /// The monitor of an object. `None` if it is known neither to the search nor to SATURATE.
    pub(super) fn new(object: Object, capacity: u64, initial: Value) -> Option<Self> {
        let configurations = Online::new(object, capacity).map(|kind| Configurations {
            kind,
            open: Vec::new(),
            all: vec![Configuration { contents: kind.begin(initial), taken: Vec::new() }],
        });
        let saturate = Saturate::new(object, capacity, initial).map(Box::new);
        (configurations.is_some() || saturate.is_some()).then_some(Self { configurations, saturate })
    }

    /// Whether silence is proof.
    pub(super) const fn is_exact(&self) -> bool {
        self.configurations.is_some()
    }

    pub(super) fn call(&mut self, open: &OpenOperation) {
        if let Some(configurations) = &mut self.configurations {
            configurations.open.push((*open, false));
        }
        if matches!(open.method, Method::Peek | Method::TryLock) {
            self.saturate = None;
        } else if let Some(saturate) = &mut self.saturate {
            saturate.call(open);
        }
    }

    pub(super) fn return_(&mut self, open: &OpenOperation, result: Value) -> Result<(), Stopped> {
        let by_rules = self.saturate.as_mut().map(|saturate| saturate.return_(open, result));
        let searched = self.configurations.as_mut().map(|it| it.return_(open.number, result));
        self.conclude(searched, by_rules, || Stopped::stuck(open))
    }

    pub(super) fn fail(&mut self, open: &OpenOperation) -> Result<(), Stopped> {
        let by_rules = self.saturate.as_mut().map(|saturate| saturate.fail(open));
        let searched = self.configurations.as_mut().map(|it| Ok(it.fail(open.number)));
        self.conclude(searched, by_rules, Stopped::did_not_happen)
    }

    /// The operation will never end.
    pub(super) fn abandon(&mut self, open: &OpenOperation) {
        if let Some(configurations) = &mut self.configurations {
            configurations.abandon(open.number);
        }
    }

    /// What is known after an event. The search knows all, as long as it goes on.
    fn conclude(
        &mut self,
        searched: Option<Result<bool, TooMany>>,
        by_rules: Option<Result<(), Stopped>>,
        violation: impl FnOnce() -> Stopped,
    ) -> Result<(), Stopped> {
        let gave_up = |stopped: &Result<(), Stopped>| matches!(stopped, Err(stopped) if stopped.is_give_up());
        if by_rules.as_ref().is_some_and(gave_up) {
            self.saturate = None;
        }
        match searched {
            Some(Ok(true)) => Ok(()),
            Some(Ok(false)) => Err(violation()),
            Some(Err(TooMany)) => {
                self.configurations = None;
                by_rules.unwrap_or_else(|| Err(Stopped::gave_up(TOO_MANY)))
            }
            None => by_rules.unwrap_or(Ok(())),
        }
    }

    /// Whether the object is as it was in the beginning, and SATURATE remembers nothing of it.
    pub(super) fn is_fresh(&self) -> bool {
        let is_new = |it: &Configurations| {
            it.open.is_empty() && it.all.len() == 1 && it.all.iter().all(|it| it.contents.is_empty())
        };
        self.saturate.is_none() && self.configurations.as_ref().is_some_and(is_new)
    }

    pub(super) fn size(&self) -> usize {
        let kept = self.configurations.as_ref().map_or(0, |it| {
            let taken: usize = it.all.iter().map(|configuration| configuration.taken.len()).sum();
            it.open.len() + taken + it.all.iter().map(|configuration| configuration.contents.size()).sum::<usize>()
        });
        kept + self.saturate.as_ref().map_or(0, |saturate| saturate.size())
    }
}
