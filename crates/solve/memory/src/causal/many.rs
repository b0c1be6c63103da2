//! The causal family for many threads of few events each.
//!
//! In such an execution an event knows of few other threads. So clocks are lists of the entries that say something
//! ([`ClockLists`]), and every step of an algorithm looks at the entries of a list, not at all threads. An execution of
//! n events whose clocks have e entries in total takes O(n + e log n) for each step, whatever the number of threads.
//!
//! The algorithms are those of [`cc`](super::cc), [`ccv`](super::ccv), [`cm`](super::cm) and [`ccm`](super::ccm), whose
//! modules have the arguments. If the lists become long, clocks of full width are smaller and faster. Then the answer
//! is [`GaveUp::Memory`], and the caller decides with those.

use history::Execution;
use history::execution::{EventId, LocationId, ThreadId};
use model::{GaveUp, Model};
use order::lists::Entry;
use order::{ClockLists, Failure, Rows, end_in};

use super::ccm::{Happens, PartialStoreOrder};
use super::ccv::order_writes;
use super::cm::{Overwritten, Past, all_view_edges_with, check_with};
use super::derive::{Deriver, ViewEdge};
use super::{Answer, Halt};
use crate::writes::Writes;
use crate::{Budget, Limits};

/// How many entries the lists of an execution may have. `None` if clocks of full width are better from the start.
fn room(execution: &Execution, limits: &Limits) -> Option<usize> {
    let (events, threads) = (execution.len(), execution.thread_count());
    let full = events.saturating_mul(threads);
    let knobs = &limits.knobs.causal;
    let are_short = events / knobs.list_events <= threads || full > knobs.full_entries;
    let room = (full / knobs.full_per_entry).clamp(knobs.least_list_entries, knobs.most_list_entries);
    (threads >= knobs.many_threads && are_short).then_some(room)
}

/// Decides a model of the family, if the lists are short. Otherwise the answer is [`GaveUp::Memory`].
pub fn decide(model: Model, execution: &Execution, witness: bool, limits: &Limits) -> Answer {
    let most = room(execution, limits).ok_or_else(|| no_room(0))?;
    let causality = CausalLists::new(execution, most, &limits.budget)?;
    match model {
        Model::Cc => causality.conflicts(true, |_, _| ()).map(|()| None),
        Model::Ccv => causality.ccv(witness, limits),
        Model::Cm => check_with(execution, || ListedPast::new(&causality), witness, limits),
        Model::Ccm => {
            let views = all_view_edges_with(execution, || ListedPast::new(&causality), limits)?;
            let happens = HappensLists::new(execution, &views, most);
            PartialStoreOrder::of(execution, &causality.writes, views, happens, limits)?
                .check_acyclic(&limits.budget)?;
            Ok(None)
        }
        // Clocks of full width decide it.
        _ => Err(no_room(0).into()),
    }
}

/// The error if lists with so many entries would be too long.
fn no_room(entries: usize) -> GaveUp {
    GaveUp::Memory { limit: entries.saturating_mul(size_of::<Entry>()) }
}

/// For each thread, visits the last write of a location below the thread's entry in a list, as its segment and the
/// write. `own` is the entry of a thread that the list does not have.
fn last_writes(
    writes: &Writes,
    location: LocationId,
    list: &[Entry],
    own: Entry,
    mut visit: impl FnMut(usize, u32) -> Result<(), Halt>,
) -> Result<(), Halt> {
    let (first, segments) = (writes.segment_range(location).start, writes.segments(location));
    let mut look = |at: usize, end: u32| match writes.last_before(segments[at], end) {
        Some(write) => visit(first + at, write),
        None => Ok(()),
    };
    if segments.len() <= list.len() {
        for (at, segment) in segments.iter().enumerate() {
            let end = if segment.thread == own.0 { own.1 } else { end_in(list, segment.thread) };
            look(at, end)?;
        }
        return Ok(());
    }
    let mut from = 0;
    for &(thread, end) in list {
        from += segments[from..].partition_point(|segment| segment.thread < thread);
        if segments.get(from).is_some_and(|segment| segment.thread == thread) {
            look(from, end)?;
        }
    }
    match segments.binary_search_by_key(&own.0, |segment| segment.thread) {
        Ok(at) => look(at, own.1),
        Err(_) => Ok(()),
    }
}

/// Causality: the clock of every event under `co`, as a list, and the index of the writes.
struct CausalLists<'a> {
    execution: &'a Execution,
    writes: Writes,
    clocks: ClockLists,
    /// By event: whether its thread knew of its source before it.
    known: Vec<bool>,
}

impl<'a> CausalLists<'a> {
    /// Computes `co`. It is a violation if `co` is cyclic. There must be no thin-air reads.
    fn new(execution: &'a Execution, most: usize, budget: &Budget) -> Result<Self, Halt> {
        let (events, threads) = (execution.events(), execution.threads());
        let chain_of = |event: u32| threads[event as usize].index();
        let mut clocks = ClockLists::new(execution.thread_count(), execution.len(), most);
        let mut known = vec![true; execution.len()];
        let is_full = std::cell::Cell::new(false);
        let stop = || is_full.get() || budget.is_due();
        let outcome = order::schedule(execution.starts(), chain_of, stop, |cursors, thread, id| {
            let source = events[id as usize].source;
            if source.is_event() {
                if source.0 >= cursors[chain_of(source.0)] {
                    return Some(source.0);
                }
                match clocks.join(thread, source.0, chain_of(source.0)) {
                    Some(changed) => known[id as usize] = !changed,
                    None => is_full.set(true),
                }
            }
            clocks.keep(id, thread);
            None
        });
        match outcome {
            _ if is_full.get() => Err(no_room(most).into()),
            Ok(()) => Ok(Self { execution, writes: Writes::new(execution), clocks, known }),
            Err(Failure::Interrupted) => Err(Halt::GaveUp(budget.why())),
            Err(Failure::Stuck(stuck)) => {
                Err(Halt::Violation(Deriver::new(execution).causal_cycle(&stuck.cycle(chain_of))))
            }
        }
    }

    fn thread(&self, event: u32) -> usize {
        self.execution.threads()[event as usize].index()
    }

    /// Whether an event is another event or `co`-before it.
    fn before(&self, first: u32, second: u32) -> bool {
        let thread = self.thread(first);
        if thread == self.thread(second) { first <= second } else { self.clocks.knows(second, first, thread) }
    }

    /// Finds a violation of `cc`, or all conflicts `(source, write)`: a read of `source` knows of `write`, and `source`
    /// does not. Reads that can neither violate `cc` nor add to the conflicts are left out if only `cc` is asked for.
    fn conflicts(&self, only_cc: bool, mut found: impl FnMut(u32, u32)) -> Result<(), Halt> {
        for read in self.execution.ids().filter(|&id| self.execution.event(id).kind.reads()) {
            let (event, thread) = (self.execution.event(read), self.thread(read.0) as u32);
            // If the thread did not know of the source, it knows of no write that overwrites it.
            if only_cc && !self.known[read.index()] {
                continue;
            }
            last_writes(&self.writes, event.location, self.clocks.of(read.0), (thread, read.0), |_, write| {
                if event.source == EventId::INIT || write != event.source.0 && self.before(event.source.0, write) {
                    let deriver = Deriver::new(self.execution);
                    return Err(Halt::Violation(deriver.stale_read(read.0, event.source, write, false)));
                }
                if !self.before(write, event.source.0) {
                    found(event.source.0, write);
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    fn ccv(&self, witness: bool, limits: &Limits) -> Answer {
        let mut conflicts = Vec::new();
        self.conflicts(false, |source, write| conflicts.push((source as usize, write)))?;
        let bounds = Rows::new(self.execution.len(), conflicts.iter().copied());
        let blocker = |write: u32, cursors: &[u32]| {
            bounds.of(write as usize).iter().copied().find(|&before| before >= cursors[self.thread(before)])
        };
        order_writes(self.execution, witness, limits, blocker, || Ok(|read, write| self.before(write, read)))
    }
}

/// Pasts as the entries that say something, for the sweep of [`super::cm`].
struct ListedPast<'a> {
    causality: &'a CausalLists<'a>,
    /// D_i of the current read, by thread; zero for a thread of which it has no event.
    past: Vec<u32>,
    /// The threads whose entry in `past` is not zero.
    touched: Vec<u32>,
    /// The demands of later reads whose target is in D_i: a set that has the first event has the second, too.
    demands: Vec<(u32, u32)>,
}

impl<'a> ListedPast<'a> {
    fn new(causality: &'a CausalLists<'a>) -> Self {
        let past = vec![0; causality.execution.thread_count()];
        Self { causality, past, touched: Vec::new(), demands: Vec::new() }
    }

    fn add(&mut self, (thread, end): Entry) {
        let entry = &mut self.past[thread as usize];
        if *entry == 0 && end > 0 {
            self.touched.push(thread);
        }
        *entry = (*entry).max(end);
    }

    fn has(&self, event: u32) -> bool {
        event < self.past[self.causality.thread(event)]
    }

    /// Adds an event and all that is causally before it.
    fn add_past(&mut self, event: u32) {
        let causality = self.causality;
        self.add((causality.thread(event) as u32, event + 1));
        for &entry in causality.clocks.of(event) {
            self.add(entry);
        }
    }

    /// Closes D_i under the demands of the targets in it, and of the read itself (an rmw may be a target). Forgets the
    /// demands of all other targets.
    fn close(&mut self, read: u32) {
        let mut demands = std::mem::take(&mut self.demands);
        loop {
            let mut changed = false;
            for &(target, demanded) in &demands {
                if (self.has(target) || target == read) && !self.has(demanded) {
                    self.add_past(demanded);
                    changed = true;
                }
            }
            if !changed {
                break;
            }
        }
        demands.retain(|&(target, _)| self.has(target) || target == read);
        self.demands = demands;
    }

    /// Adds the view edge from a write that is in D_i, if there is one and it does not follow from causality.
    fn look_at(&self, read: EventId, write: Option<u32>, edges: &mut Vec<ViewEdge>) -> Result<(), Overwritten> {
        let Some(write) = write else { return Ok(()) };
        let source = self.causality.execution.event(read).source;
        if source == EventId::INIT || write != source.0 && self.causality.before(source.0, write) {
            return Err(Overwritten(write));
        }
        if !self.causality.before(write, source.0) {
            edges.push(ViewEdge { from: write, to: source.0, read: read.0 });
        }
        Ok(())
    }
}

impl Past for ListedPast<'_> {
    fn clear(&mut self) {
        self.demands.clear();
    }

    fn begin(&mut self, read: EventId, thread: ThreadId) -> bool {
        for thread in self.touched.drain(..) {
            self.past[thread as usize] = 0;
        }
        self.add((thread.0, read.0));
        let causality = self.causality;
        for &entry in causality.clocks.of(read.0) {
            self.add(entry);
        }
        self.close(read.0);
        self.past[thread.index()] > read.0
    }

    fn look(&mut self, read: EventId, edges: &mut Vec<ViewEdge>) -> Result<(), Overwritten> {
        let causality = self.causality;
        let segments = causality.writes.segments(causality.execution.event(read).location);
        let before = edges.len();
        if segments.len() <= self.touched.len() {
            for &segment in segments {
                let write = causality.writes.last_before(segment, self.past[segment.thread as usize]);
                self.look_at(read, write, edges)?;
            }
        } else {
            for &thread in &self.touched {
                if let Ok(segment) = segments.binary_search_by_key(&thread, |segment| segment.thread) {
                    let write = causality.writes.last_before(segments[segment], self.past[thread as usize]);
                    self.look_at(read, write, edges)?;
                }
            }
        }
        self.demands.extend(edges[before..].iter().map(|edge| (edge.to, edge.from)));
        Ok(())
    }

    /// The targets of the edges are put in an order in which each comes after all targets that its edges reach back to,
    /// if there is such an order.
    fn find_cycle(&mut self, edges: &[ViewEdge], budget: &Budget) -> Result<Option<u32>, Halt> {
        let causality = self.causality;
        let mut edges: Vec<(u32, u32)> = edges.iter().map(|edge| (edge.to, edge.from)).collect();
        edges.sort_unstable();
        let mut targets: Vec<u32> = edges.iter().map(|&(to, _)| to).collect();
        targets.dedup();
        // The targets of each thread are a chain. Events are numbered thread by thread.
        let mut chains: Vec<u32> = targets.iter().map(|&target| causality.thread(target) as u32).collect();
        let of: Vec<u32> = chains.clone();
        chains.dedup();
        let chain_of = |at: u32| chains.partition_point(|&chain| chain < of[at as usize]);
        let starts: Vec<u32> = (0..=chains.len())
            .map(|chain| chains.get(chain).map_or(of.len(), |&thread| of.partition_point(|&of| of < thread)) as u32)
            .collect();
        let outcome = order::schedule(
            &starts,
            chain_of,
            || budget.is_due(),
            |cursors, _, at| {
                // The last target below an entry, if it is not done.
                let blocker = |&(thread, end): &Entry| {
                    let chain = chains.binary_search(&thread).ok()?;
                    let below = targets.partition_point(|&target| target < end) as u32;
                    (below > cursors[chain]).then(|| below - 1)
                };
                let target = targets[at as usize];
                let first = edges.partition_point(|&(to, _)| to < target);
                let own = causality.clocks.of(target).iter().find_map(blocker);
                own.or_else(|| {
                    edges[first..].iter().take_while(|&&(to, _)| to == target).find_map(|&(_, from)| {
                        let itself = (causality.thread(from) as u32, from + 1);
                        blocker(&itself).or_else(|| causality.clocks.of(from).iter().find_map(blocker))
                    })
                })
            },
        );
        match outcome {
            Ok(()) => Ok(None),
            Err(Failure::Interrupted) => Err(Halt::GaveUp(budget.why())),
            Err(Failure::Stuck(stuck)) => {
                let (_, at) = stuck.cycle(chain_of)[0];
                Ok(Some(targets[at as usize]))
            }
        }
    }
}

/// `hb` of `ccm`, as lists.
struct HappensLists<'a> {
    execution: &'a Execution,
    clocks: ClockLists,
    most: usize,
    /// By event: where the view edges into it begin. Of each thread, only the last is listed.
    bounds: Rows,
}

impl<'a> HappensLists<'a> {
    fn new(execution: &'a Execution, views: &[ViewEdge], most: usize) -> Self {
        let thread = |event: u32| execution.threads()[event as usize];
        let mut edges: Vec<(u32, u32)> = views.iter().map(|edge| (edge.to, edge.from)).collect();
        edges.sort_unstable_by_key(|&(to, from)| (to, std::cmp::Reverse(from)));
        edges.dedup_by_key(|&mut (to, from)| (to, thread(from)));
        let bounds = Rows::new(execution.len(), edges.iter().map(|&(to, from)| (to as usize, from)));
        Self { execution, clocks: ClockLists::new(execution.thread_count(), execution.len(), most), most, bounds }
    }

    fn thread(&self, event: u32) -> usize {
        self.execution.threads()[event as usize].index()
    }
}

impl Happens for HappensLists<'_> {
    fn blocker(&self, event: u32, cursors: &[u32]) -> Option<u32> {
        self.bounds.of(event as usize).iter().copied().find(|&before| before >= cursors[self.thread(before)])
    }

    fn arrive(&mut self, event: u32, thread: usize, source: EventId) -> Result<(), GaveUp> {
        let source = source.is_event().then_some(source.0);
        for before in source.iter().chain(self.bounds.of(event as usize)) {
            let of = self.execution.threads()[*before as usize].index();
            let joined = self.clocks.join(thread, *before, of);
            joined.ok_or_else(|| no_room(self.most))?;
        }
        Ok(())
    }

    fn last_writes(
        &mut self,
        writes: &Writes,
        location: LocationId,
        event: u32,
        thread: usize,
        mut visit: impl FnMut(usize, u32),
    ) {
        let visited =
            last_writes(writes, location, self.clocks.running(thread), (thread as u32, event), |at, write| {
                visit(at, write);
                Ok(())
            });
        debug_assert!(visited.is_ok(), "no visit fails");
    }

    fn keep(&mut self, event: u32, thread: usize) {
        self.clocks.keep(event, thread);
    }

    fn end(&self, event: u32, of: usize) -> u32 {
        if of == self.thread(event) { event + 1 } else { end_in(self.clocks.of(event), of as u32) }
    }
}

#[cfg(test)]
mod tests {
    use model::{Certificate, Evidence, Verdict};
    use verify::verify;
    use workload::{cases, memory, small, to_history};

    use super::*;
    use crate::Knobs;
    use crate::knobs::CausalKnobs;

    fn of_causal(causal: CausalKnobs) -> Limits {
        Limits { knobs: Knobs { causal, ..Knobs::DEFAULT }, ..Limits::default() }
    }

    const MODELS: [Model; 4] = [Model::Cc, Model::Ccv, Model::Cm, Model::Ccm];

    /// With lists, every model has the verdict of the oracle, and its evidence proves it.
    #[test]
    fn lists_agree_with_the_oracle() {
        let limits = of_causal(CausalKnobs { many_threads: 0, worth_sharing: 1, ..CausalKnobs::DEFAULT });
        let mut verdicts = [0, 0];
        for (case, generated) in small::executions(31).take(cases(2_000) as usize).enumerate() {
            if !generated.thin_air().is_empty() {
                continue;
            }
            let history = to_history(&generated);
            let execution = Execution::from_history(&history).expect("an execution");
            for model in MODELS {
                let known = oracle::Model::from_name(model.name()).expect("the oracle knows every model");
                let allowed = oracle::allowed(known, &generated);
                for witness in [false, true] {
                    let (verdict, evidence) = match decide(model, &execution, witness, &limits) {
                        Ok(evidence) => (Verdict::Consistent, evidence),
                        Err(Halt::Violation(derivation)) => (Verdict::Violation, Some(Evidence::Cycle(derivation))),
                        Err(Halt::GaveUp(why)) => panic!("case {case}, {model}: {why}"),
                    };
                    assert_eq!(verdict == Verdict::Consistent, allowed, "case {case}, {model}");
                    verdicts[usize::from(allowed)] += 1;
                    if let Some(evidence) = evidence {
                        let certificate = Certificate::of(0, &history, model, verdict, evidence);
                        assert_eq!(verify(&certificate, &history), Ok(()), "case {case}, {model}");
                    }
                }
            }
        }
        assert!(verdicts.iter().all(|&count| count > 100), "{verdicts:?}");
    }

    /// On larger executions, lists and clocks of full width have the same verdicts.
    #[test]
    fn lists_and_full_width_agree() {
        let lists = of_causal(CausalKnobs { many_threads: 0, ..CausalKnobs::DEFAULT });
        let full = of_causal(CausalKnobs { many_threads: usize::MAX, ..CausalKnobs::DEFAULT });
        let mut verdicts = [0, 0];
        for seed in 0..cases(300) {
            let config = memory::MemoryConfig {
                threads: 20 + seed as u32 % 30,
                operations: 200,
                locations: 1 + seed as u32 % 9,
                rmws: 10 * (seed as u32 % 2),
                perturb: seed as u32 % 4,
                seed,
                ..memory::MemoryConfig::default()
            };
            let execution = memory::execution(&config);
            if !execution.thin_air().is_empty() {
                continue;
            }
            for model in MODELS {
                let answer = |limits| super::super::decide(model, &execution, false, limits, &mut None).is_ok();
                assert_eq!(answer(&lists), answer(&full), "seed {seed}, {model}");
                verdicts[usize::from(answer(&full))] += 1;
            }
        }
        assert!(verdicts.iter().all(|&count| count > cases(300) / 10), "{verdicts:?}");
    }

    /// If there is no room for the lists, they give up, and clocks of full width decide.
    #[test]
    fn long_lists_give_up() {
        let config =
            memory::MemoryConfig { threads: 40, operations: 20_000, locations: 4, ..memory::MemoryConfig::default() };
        let execution = memory::execution(&config);
        let limits = of_causal(CausalKnobs { many_threads: 0, ..CausalKnobs::DEFAULT });
        assert!(room(&execution, &limits).is_none(), "threads have many events each");
        let causality = CausalLists::new(&execution, 1 << 10, &limits.budget);
        assert!(matches!(causality, Err(Halt::GaveUp(GaveUp::Memory { .. }))));
    }
}
