//! The exploration of a program, in the process that runs it.

use std::cell::RefCell;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::Ordering;

use explore::{
    Chance, Counts, Exploration, ExplorationEnding, Graph, Model, RandomStrategy, Sampler, Taken, Trace, TraceWords,
    read_token,
};

use crate::child::Board;
use crate::elf::Variables;
use crate::finding::DefectKind;
use crate::lines::{Line, lines};
use crate::machine::{Finding, Machine};
use crate::replay::Explored;
use crate::space::{Doer, Region};
use crate::thread::State;
use crate::{CodeCall, CodePlace, ProgramVerdict, Selection, Setup};

/// A finding, the execution that has it, and the calls that lead to each of its places.
#[derive(Debug)]
struct Found {
    finding: Finding,
    trace: Trace,
    stacks: Vec<Vec<usize>>,
}

/// What a search has found, with places as addresses.
#[derive(Debug, Default)]
struct Outcome {
    counts: Counts,
    found: Option<Found>,
    is_complete: bool,
    seed: Option<u64>,
    reason: Option<String>,
    estimate: Option<(u64, u64)>,
}

/// After so many executions it is estimated how many there are, from so many walks.
const ESTIMATE_AFTER: u64 = 4096;
const WALKS: u64 = 512;
/// If the time is up, from so many.
const LATE_WALKS: u64 = 64;

/// A program that is searched.
pub(crate) struct Search<'a> {
    board: &'a Board,
    machine: Machine,
    options: &'a Setup,
    program: &'a Path,
}

impl From<Line> for CodeCall {
    fn from(Line { function, file, number }: Line) -> Self {
        Self { file, line: number, function }
    }
}

/// A place in the code, while its line is not known.
fn mark(site: usize) -> String {
    format!("\u{1}{site:x}\u{2}")
}

impl Machine {
    /// About how many executions there are, the complete ones and all, from so many random walks. Where the machine
    /// stands is lost.
    fn estimate(&mut self, model: Model, walks: u64) -> (u64, u64) {
        self.is_stale = true;
        let goes_on = |explored: &mut Explored<'_>| !explored.0.places.is_outdated && explored.0.refusal.is_none();
        let estimate = Exploration::new(Explored(self), model).estimate(walks, goes_on);
        self.is_stale = true;
        (estimate.executions, estimate.all)
    }

    /// What is wrong with the execution that the exploration has come to.
    fn judge(&mut self, graph: &Graph, ending: ExplorationEnding, leaks: bool) -> Option<Finding> {
        if self.finding.is_some() || self.is_over() {
            return self.finding.clone();
        }
        if let Some(both) = graph.race() {
            self.follow_to(graph, both);
            if self.is_over() {
                return self.finding.clone();
            }
            let places = both.map(|(thread, index)| self.place(thread, index));
            let is_free = places.iter().any(|(_, frees)| *frees);
            let (kind, message) = if is_free {
                (DefectKind::UseAfterFree, "use after free: nothing makes the free wait for the access")
            } else {
                (DefectKind::Race, "data race")
            };
            self.find(kind, message.to_owned(), places.map(|(doer, _)| doer).to_vec());
            return self.finding.clone();
        }
        match ending {
            // Where the time of a wait may run out, the thread goes on: that is another execution.
            ExplorationEnding::Deadlock if !self.has_exited && !self.threads.iter().any(|thread| thread.has_time) => {
                let stuck = (0..self.threads.len() as u32)
                    .filter(|&thread| matches!(self.threads[thread as usize].state, State::Asks | State::Spins(_)));
                let places = stuck.map(|thread| self.doer(thread)).collect();
                self.find(DefectKind::Deadlock, "deadlock: threads wait for what cannot come".to_owned(), places);
            }
            ExplorationEnding::Complete if leaks && !self.has_exited => {
                let left = self.space.left();
                if !left.is_empty() {
                    let bytes: usize = left.iter().map(|object| object.size).sum();
                    let message = format!("leak: {bytes} bytes in {} objects are never freed", left.len());
                    self.find(DefectKind::Leak, message, left.iter().take(8).map(|object| object.made).collect());
                }
            }
            _ => {}
        }
        self.finding.clone()
    }

    /// All that is told of a finding.
    fn found(&mut self, graph: &Graph, finding: Finding, variables: &Variables) -> Found {
        let trace = self.trace(graph, &finding, variables);
        // What has been stopped by the processor may not bear to be run again.
        if !matches!(finding.kind, DefectKind::Crash | DefectKind::StackOverflow) {
            self.keep_stacks(graph);
        }
        let stacks = finding.places.iter().map(|&doer| self.stack_at(doer)).collect();
        Found { finding, trace, stacks }
    }

    /// The execution with a finding, in lanes and as a token.
    fn trace(&self, graph: &Graph, finding: &Finding, variables: &Variables) -> Trace {
        let last = |doer: &Doer| Some((doer.thread, doer.steps.min(graph.len(doer.thread)).checked_sub(1)?));
        let of: Vec<(u32, u32)> = match (finding.kind, graph.race()) {
            (_, Some(both)) => both.to_vec(),
            (DefectKind::Deadlock | DefectKind::Leak, None) => Vec::new(),
            _ => finding.places.iter().filter_map(last).collect(),
        };
        let name = |location: u32| self.name(location, variables);
        let code = |thread: u32, index: u32| {
            let site = self.place(thread, index).0.site;
            (site != 0).then(|| mark(site))
        };
        let choice = |thread: u32, index: u32, chosen: i64| {
            let steps = &self.threads[thread as usize].chance_steps;
            match steps.iter().find(|(at, _)| *at == index) {
                Some((_, chance)) => chance.shown(chosen),
                None => format!("chooses {chosen}"),
            }
        };
        graph
            .trace(&of, &TraceWords { name: &name, value: &|_, value| value.to_string(), choice: &choice, code: &code })
    }

    /// What people call a location.
    fn name(&self, location: u32, variables: &Variables) -> String {
        let address = self.places.locations[location as usize].address;
        let plus = |name: &str, offset: usize| if offset == 0 { name.to_owned() } else { format!("{name}+{offset}") };
        match self.space.region(address) {
            Region::Stack(thread) => format!("stack{thread}-{}", self.space.stack_end(thread) - address),
            Region::Heap(thread) => match self.space.holder(address) {
                Some(object) => {
                    plus(&format!("heap{thread}-{:x}", self.space.offset(object.start)), address - object.start)
                }
                None => format!("heap{thread}"),
            },
            Region::Static => match variables.at(address - self.space.module.base) {
                Some((name, offset)) => plus(name, offset),
                None => format!("static-{:x}", address - self.space.module.base),
            },
            _ => format!("signal{location}"),
        }
    }
}

impl<'a> Search<'a> {
    pub(crate) fn new(machine: Machine, options: &'a Setup, program: &'a Path, board: &'a Board) -> Self {
        Self { board, machine, options, program }
    }

    /// Searches the program.
    pub(crate) fn run(mut self) -> ProgramVerdict {
        let variables = Variables::read(self.program);
        let model = self.options.model;
        let mut outcome = match self.options.mode.clone() {
            Selection::Exhaustive => self.exhaust(model, &variables),
            Selection::Random { strategy, seeds } => self.sample(model, strategy, seeds, &variables),
            Selection::Replay(token) => self.replay(&token, &variables),
            Selection::Estimate(walks) => self.estimate(model, walks),
        };
        if let Some(mut found) = outcome.found.take() {
            // A fault may have left libc in the middle of something.
            if !matches!(found.finding.kind, DefectKind::Crash | DefectKind::StackOverflow) {
                found.trace = self.shrunk(model, found.trace, &found.finding, &variables);
            }
            outcome.found = Some(found);
        }
        self.answer(outcome)
    }

    /// The executions of the machine in which the search ends: a finding, or something that is not supported.
    fn exhaust(&mut self, model: Model, variables: &Variables) -> Outcome {
        loop {
            self.machine.begin();
            self.machine.prunes = true;
            let leaks = self.options.leaks;
            let mut outcome = Outcome::default();
            let (mut visited, mut is_again) = (0, false);
            let most = self.options.max_executions;
            let board = self.board;
            let mut exploration = Exploration::new(Explored(&mut self.machine), model);
            let (mut exits, mut deadlocks) = (0, 0);
            let end = exploration.run(|run| {
                visited += 1;
                let ending = run.ending();
                let (explored, graph) = run.parts();
                let machine = &mut *explored.0;
                if let Some(finding) = machine.judge(graph, ending, leaks) {
                    outcome.found = Some(machine.found(graph, finding, variables));
                    return ControlFlow::Break(());
                }
                is_again = machine.places.is_outdated;
                board.visited().store(visited, Ordering::Relaxed);
                if visited == ESTIMATE_AFTER && !is_again && machine.refusal.is_none() {
                    let estimate = machine.estimate(model, WALKS);
                    board.estimate().store(estimate.1, Ordering::Relaxed);
                    outcome.estimate = Some(estimate);
                    is_again = machine.places.is_outdated;
                }
                if ending == ExplorationEnding::Deadlock {
                    exits += u64::from(machine.has_exited);
                    deadlocks += 1;
                }
                if is_again || machine.refusal.is_some() {
                    return ControlFlow::Break(());
                }
                if most.is_some_and(|most| visited >= most) {
                    outcome.reason = Some(format!("{visited} executions were visited, as many as were asked for"));
                    return ControlFlow::Break(());
                }
                if machine.is_late() {
                    outcome.reason = Some("the time is up".to_owned());
                    return ControlFlow::Break(());
                }
                ControlFlow::Continue(())
            });
            outcome.counts = exploration.counts();
            drop(exploration);
            if is_again && self.machine.refusal.is_none() {
                if self.machine.is_late() {
                    outcome.reason = Some("the time is up".to_owned());
                    return outcome;
                }
                continue;
            }
            // Where the program has ended by `exit`, nobody waits any more.
            outcome.counts.executions += exits;
            outcome.counts.blocked -= exits;
            outcome.is_complete = end.is_continue();
            if outcome.is_complete || outcome.found.is_some() {
                outcome.estimate = None;
            } else if self.machine.refusal.is_none() && outcome.estimate.is_none() {
                let walks = if self.machine.is_late() { LATE_WALKS } else { WALKS };
                outcome.estimate = Some(self.machine.estimate(model, walks));
            }
            return outcome;
        }
    }

    /// None of the executions: about how many there are.
    fn estimate(&mut self, model: Model, walks: u64) -> Outcome {
        self.machine.prunes = true;
        loop {
            self.machine.begin();
            let estimate = self.machine.estimate(model, walks);
            if self.machine.places.is_outdated && self.machine.refusal.is_none() && !self.machine.is_late() {
                continue;
            }
            let reason = Some("none was visited".to_owned());
            return Outcome { estimate: Some(estimate), reason, ..Outcome::default() };
        }
    }

    fn sample(
        &mut self,
        model: Model,
        strategy: RandomStrategy,
        seeds: std::ops::Range<u64>,
        variables: &Variables,
    ) -> Outcome {
        self.machine.prunes = false;
        let mut outcome = Outcome::default();
        let mut left = seeds;
        let mut next = left.next();
        loop {
            self.machine.begin();
            let leaks = self.options.leaks;
            let mut sampler = Sampler::new(Explored(&mut self.machine), model, strategy);
            let mut is_again = false;
            while let Some(seed) = next {
                let before = sampler.counts();
                let mut run = sampler.run(seed);
                let ending = run.ending();
                let (explored, graph) = run.parts();
                let machine = &mut *explored.0;
                let finding = machine.judge(graph, ending, leaks);
                if let Some(finding) = finding {
                    outcome.found = Some(machine.found(graph, finding, variables));
                    outcome.seed = Some(seed);
                    next = None;
                    break;
                }
                if machine.refusal.is_some() {
                    next = None;
                    break;
                }
                if machine.places.is_outdated {
                    outcome.counts += before;
                    is_again = true;
                    break;
                }
                next = left.next();
                if machine.is_late() {
                    outcome.reason = Some("the time is up".to_owned());
                    next = None;
                }
            }
            if is_again {
                continue;
            }
            outcome.counts += sampler.counts();
            outcome.reason.get_or_insert_with(|| "the runs were random".to_owned());
            return outcome;
        }
    }

    /// The execution that takes these steps.
    fn follow(&mut self, model: Model, steps: &[Taken], strict: bool, variables: &Variables) -> Option<Outcome> {
        self.machine.prunes = false;
        loop {
            self.machine.begin();
            let leaks = self.options.leaks;
            let mut sampler = Sampler::new(Explored(&mut self.machine), model, RandomStrategy::Uniform);
            let Some(mut run) = sampler.follow(steps, strict) else {
                drop(sampler);
                if self.machine.places.is_outdated {
                    continue;
                }
                return None;
            };
            let ending = run.ending();
            let (explored, graph) = run.parts();
            let machine = &mut *explored.0;
            let finding = machine.judge(graph, ending, leaks);
            let found = finding.map(|finding| machine.found(graph, finding, variables));
            if found.is_none() && machine.places.is_outdated {
                continue;
            }
            return Some(Outcome { counts: sampler.counts(), found, ..Outcome::default() });
        }
    }

    fn replay(&mut self, token: &str, variables: &Variables) -> Outcome {
        let outcome = read_token(token).and_then(|(model, steps)| {
            let model = Model::from_name(model)?;
            self.follow(model, &steps, true, variables)
        });
        let reason = |text: &str| Some(text.to_owned());
        match outcome {
            Some(outcome) => Outcome { reason: reason("one execution was repeated"), ..outcome },
            None => Outcome { reason: reason("the token is not one of this program"), ..Outcome::default() },
        }
    }

    /// The most ordinary execution with the same finding.
    fn shrunk(&mut self, model: Model, trace: Trace, finding: &Finding, variables: &Variables) -> Trace {
        let lines = |doers: &[Doer]| doers.iter().map(|doer| doer.site).collect::<Vec<_>>();
        let cell = RefCell::new(self);
        trace.shrunk(|steps| {
            let mut search = cell.borrow_mut();
            if search.machine.is_late() {
                return None;
            }
            let other = search.follow(model, steps, false, variables)?.found?;
            let is_same = other.finding.kind == finding.kind && lines(&other.finding.places) == lines(&finding.places);
            is_same.then_some(other.trace)
        })
    }

    /// The answer, with lines in place of addresses.
    fn answer(&self, outcome: Outcome) -> ProgramVerdict {
        let refusal = self.machine.refusal.clone().filter(|_| outcome.found.is_none());
        let mut sites: Vec<usize> = Vec::new();
        let lanes = outcome.found.as_ref().map(|found| found.trace.lanes.clone()).unwrap_or_default();
        let marked =
            lanes.split('\u{1}').skip(1).filter_map(|rest| usize::from_str_radix(rest.split('\u{2}').next()?, 16).ok());
        sites.extend(marked);
        sites.extend(outcome.found.iter().flat_map(|found| found.stacks.iter().flatten().copied()));
        sites.extend(refusal.iter().flat_map(|(_, sites)| sites.iter().copied()));
        sites.sort_unstable();
        sites.dedup();
        let base = self.machine.space.module.base;
        let offsets: Vec<usize> = sites.iter().map(|site| site.saturating_sub(base)).collect();
        let known = if offsets.is_empty() { Vec::new() } else { lines(self.program, &offsets) };
        let all = |site: usize| sites.binary_search(&site).ok().map(|at| known[at].clone()).unwrap_or_default();
        let is_users = |line: &&Line| line.number > 0 && !line.file.starts_with("/usr/");
        let short = |site: usize| {
            let all = all(site);
            let line = all.iter().find(is_users).or(all.first()).cloned().unwrap_or_default();
            format!("{}:{}", line.file, line.number)
        };
        let mut text = String::new();
        for (number, part) in lanes.split(['\u{1}', '\u{2}']).enumerate() {
            // Every other part is an address.
            match usize::from_str_radix(part, 16) {
                Ok(site) if number % 2 == 1 => text.push_str(&short(site)),
                _ => text.push_str(part),
            }
        }
        let place = |(doer, stack): (&Doer, &Vec<usize>)| {
            let stack: Vec<Line> = stack.iter().flat_map(|&site| all(site)).collect();
            let call = stack.iter().find(is_users).or(stack.first()).cloned().unwrap_or_default();
            CodePlace { thread: doer.thread, call: call.into(), stack: stack.into_iter().map(CodeCall::from).collect() }
        };
        let Machine { most_chances, has_denied, takes_as_strong, .. } = &self.machine;
        let denied = |chance: Chance| has_denied[chance as usize].then_some(most_chances[chance as usize]);
        let counts = outcome.counts;
        let (hung, refused) = match refusal {
            Some((message, sites)) => {
                let places: Vec<String> = sites.iter().map(|&site| short(site)).collect();
                let message = match &places[..] {
                    [] => message,
                    [one] => format!("{message}, at {one}"),
                    [one, other, ..] => format!("{message}, at {one} and {other}"),
                };
                if self.machine.is_hung { (Some(message), None) } else { (None, Some(message)) }
            }
            None => (None, None),
        };
        ProgramVerdict {
            executions: counts.executions.saturating_sub(counts.races),
            blocked: counts.blocked,
            bounded: counts.bounded,
            is_complete: outcome.is_complete && counts.bounded == 0 && outcome.found.is_none(),
            threads: self.machine.most_threads,
            hooks: self.machine.hooks_seen,
            lanes: text,
            spurious_failures: if *takes_as_strong { Some(0) } else { denied(Chance::Fails) },
            spurious_wakes: denied(Chance::Wakes),
            timeouts: denied(Chance::RunsOut),
            token: outcome.found.as_ref().map(|found| found.trace.token.clone()),
            seed: outcome.seed,
            refused,
            reason: hung.or(outcome.reason),
            estimate: outcome.estimate,
            finding: outcome.found.map(|Found { finding, stacks, .. }| crate::Defect {
                kind: finding.kind,
                places: finding.places.iter().zip(&stacks).map(place).collect(),
                message: finding.message,
            }),
        }
    }
}
