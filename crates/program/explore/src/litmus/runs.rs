//! A test is explored, run at random, or measured.

use std::ops::ControlFlow;
use std::sync::atomic::AtomicU64;
use std::time::Instant;

use super::states::{Clock, Seen, States};
use super::{Endless, Limits, LitmusMisfit, Report, Test};
use crate::exploration::{Counts, Estimate, Exploration};
use crate::model::Model;
use crate::parallel::explore;
use crate::random::{RandomStrategy, Sampler};

impl Test {
    /// Explores the test under a model.
    pub fn explore(&self, model: Model, limits: Limits) -> Result<Report, LitmusMisfit> {
        self.explore_watched(model, limits, &AtomicU64::new(0))
    }

    /// The same. Now and then it adds to this number how many executions it has visited.
    pub fn explore_watched(&self, model: Model, limits: Limits, visited: &AtomicU64) -> Result<Report, LitmusMisfit> {
        self.fits(model)?;
        let machine = self.machine(limits, true);
        let alike = self.alike(limits);
        let names = self.names(&alike);
        let listener = || (States::new(limits).with_names(names.clone()), Clock::new(limits));
        let workers = if limits.witnesses { 1 } else { limits.workers };
        let (counts, found, end) = explore(machine, model, workers, listener, |(states, clock), run| {
            states.add(self, run, None);
            if clock.is_late_after(visited) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        let mut states = States::new(limits);
        for (more, _) in found {
            states.could_fail_more |= more.could_fail_more;
            states.goes_round &= more.goes_round;
            for (state, seen) in more.by_value {
                states.by_value.entry(state).or_insert(Seen { count: 0, ..seen }).count += seen.count;
            }
        }
        let goes_round = end.is_continue() && states.goes_round;
        let report = self.report(states, counts, end.is_continue() && counts.bounded == 0);
        Ok(Report { endless: self.endless(model, limits, counts, goes_round), alike, ..report })
    }

    /// About how many executions there are, from so many random walks, or from those that end before the deadline.
    pub fn estimate(&self, model: Model, limits: Limits, walks: u64) -> Result<Estimate, LitmusMisfit> {
        self.fits(model)?;
        let is_late = || limits.deadline.is_some_and(|deadline| Instant::now() >= deadline);
        Ok(Exploration::new(self.machine(limits, true), model).estimate(walks, |_| !is_late()))
    }

    /// Runs the test at random under a model, once with each of these seeds.
    pub fn sample(
        &self,
        model: Model,
        limits: Limits,
        strategy: RandomStrategy,
        seeds: impl IntoIterator<Item = u64>,
    ) -> Result<Report, LitmusMisfit> {
        self.fits(model)?;
        let machine = self.machine(limits, false);
        let mut sampler = Sampler::new(machine, model, strategy);
        let mut states = States::new(limits);
        let mut clock = Clock::new(limits);
        for seed in seeds {
            states.add(self, &mut sampler.run(seed), Some(seed));
            if clock.is_late() {
                break;
            }
        }
        let counts = sampler.counts();
        Ok(Report { endless: self.endless(model, limits, counts, false), ..self.report(states, counts, false) })
    }

    /// An execution that does not end: if none does, or if one was asked for.
    fn endless(&self, model: Model, limits: Limits, counts: Counts, is_certain: bool) -> Option<Endless> {
        let never_ends = counts.deadlocks + counts.bounded > 0 && counts.executions + counts.failed == 0;
        // Whatever others do, such an execution does not end.
        let is_found = limits.liveness && counts.deadlocks > 0;
        let threads = (never_ends || is_found).then(|| self.first_endless(model, limits, is_found)).flatten()?;
        Some(Endless { threads, is_certain: is_certain || is_found })
    }
}
