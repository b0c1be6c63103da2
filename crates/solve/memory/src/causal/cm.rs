//! `cm`: for each thread t the order `hb_o` of its last event o is acyclic.
//!
//! `hb_o` is the least order over the causal past P of o with `co`, and with w' before w whenever a read r of t reads
//! from w and w' is before r in it (w, w' distinct writes of one location). `hb_o` grows along program order, so it is
//! enough to look at the last event of each thread.
//!
//! One sweep over the reads r_1, ..., r_m of t, the last first, finds `hb_o`. Let s_i be the source of r_i and D_i what
//! is before r_i in `hb_o`. The edges w' -> s_i that r_i itself adds change neither D_i nor any later D_j, because w'
//! is in these sets already. So D_i is the least set that has the causal past of r_i and is closed under causality and
//! under the edges of *later* reads. These edges are known when the sweep comes to r_i:
//!
//! ```text
//!   t:   ...   r_i   ...   r_j         s_j is in D_i, and t reads it again at j > i:
//!             D_i          D_j         whatever D_j has on its location must be before s_j, so in D_i.
//! ```
//!
//! The edges of later reads are kept as *demands*, by the thread u of their target s. A demand says: a set that has s
//! has this clock, too. D_i only shrinks along the sweep, so a target that is outside D_i stays outside. Hence the
//! demands of each thread are a stack, sorted by target. Each entry of the stack has the join of all demands up to it,
//! so the topmost entry whose target is in D_i has all demands that apply.
//!
//! `hb_o` is acyclic iff no D_i holds r_i itself and the targets s can be put in an order in which each comes after all
//! targets that its edges reach back to (every cycle goes through an edge, so through a target). Both tests are O(m k).
//!
//! The witness has one order for each thread. The sets D_i grow with i. First come the events of D_1 in an order of
//! `hb_o`, then r_1, then the further events of D_2, then r_2, and so on. All writes of r_i's location in D_i are
//! before s_i, so every read of t replays.

use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::available_parallelism;

use history::execution::{EventId, ThreadId};
use history::{Execution, OperationId};
use model::Evidence;
use order::join;

use super::derive::{Deriver, ViewEdge};
use super::targets::Targets;
use super::{Answer, Causality, Halt};
use crate::writes::Cursors;
use crate::{Budget, Limits, join_helper, spawn_helper};

/// Decides `cm`, which includes `cc`. If `witness` is set, the answer has one order for each thread.
pub fn check(causality: &Causality<'_>, witness: bool, limits: &Limits) -> Answer {
    check_with(causality.execution, || FullPast::new(causality), witness, limits)
}

/// The same, whatever keeps the pasts.
pub(super) fn check_with<P: Past>(
    execution: &Execution,
    past: impl Fn() -> P + Sync,
    witness: bool,
    limits: &Limits,
) -> Answer {
    let orders = sweeps(execution, past, limits, |edges, thread| {
        if witness { view_order(execution, &edges, thread, &limits.budget) } else { Ok(Vec::new()) }
    })?;
    Ok(witness.then_some(Evidence::ViewOrders(orders)))
}

/// The view edges of all threads: with causality they generate `hb`, the closure of the union of all `hb_o`. It is an
/// error if `cm` is violated.
pub fn all_view_edges(causality: &Causality<'_>, limits: &Limits) -> Result<Vec<ViewEdge>, Halt> {
    all_view_edges_with(causality.execution, || FullPast::new(causality), limits)
}

/// The same, whatever keeps the pasts.
pub(super) fn all_view_edges_with<P: Past>(
    execution: &Execution,
    past: impl Fn() -> P + Sync,
    limits: &Limits,
) -> Result<Vec<ViewEdge>, Halt> {
    Ok(sweeps(execution, past, limits, |edges, _| Ok(edges))?.concat())
}

/// What a sweep knows at a read r_i of its thread: the set D_i, and the demands of later reads.
pub(super) trait Past {
    /// Forgets everything, before the sweep of another thread.
    fn clear(&mut self);

    /// Makes D_i, the least set that has the causal past of r_i and is closed under the demands of its targets, and
    /// forgets the demands of all other targets. The answer is whether D_i has r_i itself.
    fn begin(&mut self, read: EventId, thread: ThreadId) -> bool;

    /// Adds the edges of r_i, one for each thread that has a write of its location in D_i which is not causally before
    /// the source, and demands them. It is an error if such a write comes after the source by causality.
    fn look(&mut self, read: EventId, edges: &mut Vec<ViewEdge>) -> Result<(), Overwritten>;

    /// An event on a cycle of causality and the edges, if there is one.
    fn find_cycle(&mut self, edges: &[ViewEdge], budget: &Budget) -> Result<Option<u32>, Halt>;
}

/// A write that is causally after the source of a read, and before the read.
pub(super) struct Overwritten(pub(super) u32);

/// Sweeps each thread. If the view of the thread is acyclic, `visit` gets its edges, the last read first. Returns the
/// results of `visit`, by thread.
fn sweeps<P: Past, T: Send>(
    execution: &Execution,
    past: impl Fn() -> P + Sync,
    limits: &Limits,
    visit: impl Fn(Vec<ViewEdge>, ThreadId) -> Result<T, Halt> + Sync,
) -> Result<Vec<T>, Halt> {
    views(execution, limits, past, |past, thread| {
        let mut edges = Vec::new();
        past.clear();
        for read in execution.thread_events(thread).rev().filter(|&id| execution.event(id).kind.reads()) {
            let is_circular = past.begin(read, thread);
            let looked = if is_circular { Ok(()) } else { past.look(read, &mut edges) };
            if is_circular || looked.is_err() {
                let deriver = Deriver::with_views(execution, edges);
                return Err(Halt::Violation(match looked {
                    Ok(()) => deriver.cycle_through(read.0, false),
                    Err(Overwritten(by)) => deriver.stale_read(read.0, execution.event(read).source, by, true),
                }));
            }
        }
        match past.find_cycle(&edges, &limits.budget)? {
            Some(event) => Err(Halt::Violation(Deriver::with_views(execution, edges).cycle_through(event, true))),
            None => visit(edges, thread),
        }
    })
}

/// How many events ahead a sweep prefetches the clocks that it will need.
const PREFETCH_DISTANCE: usize = 8;

/// Looks at the view of each thread, and returns the results by thread. The views do not depend on each other, so all
/// processors take part, each with a state of its own. If several threads have a violation, that of the first thread is
/// reported, whichever processor finds it.
fn views<S, T: Send>(
    execution: &Execution,
    limits: &Limits,
    state: impl Fn() -> S + Sync,
    view: impl Fn(&mut S, ThreadId) -> Result<T, Halt> + Sync,
) -> Result<Vec<T>, Halt> {
    let threads = execution.thread_count() as u32;
    let next = AtomicU32::new(0);
    let work = || {
        let mut state = state();
        let mut done = Vec::new();
        loop {
            let thread = ThreadId(next.fetch_add(1, Ordering::Relaxed));
            if thread.0 >= threads {
                return done;
            }
            let view = limits.budget.check().map_err(Halt::from).and_then(|()| view(&mut state, thread));
            let failed = view.is_err();
            done.push((thread, view));
            if failed {
                // The threads before this one are done, or other processors work on them. The threads after it do not
                // matter.
                next.fetch_max(threads, Ordering::Relaxed);
            }
        }
    };
    let is_small = execution.len() < limits.knobs.causal.worth_sharing;
    let workers = if is_small { 1 } else { available_parallelism().map_or(1, usize::from).min(threads as usize) };
    let mut done = if workers == 1 {
        work()
    } else {
        std::thread::scope(|scope| {
            let others: Vec<_> = (1..workers).map(|_| spawn_helper(scope, work)).collect();
            let mut done = work();
            done.extend(others.into_iter().flat_map(|other| join_helper(other)));
            done
        })
    };
    done.sort_unstable_by_key(|&(thread, _)| thread);
    done.into_iter().map(|(_, view)| view).collect()
}

/// Pasts as clocks of full width. Buffers are reused from thread to thread.
struct FullPast<'a> {
    causality: &'a Causality<'a>,
    /// The demands by the thread of their target.
    demands: Vec<Demands>,
    /// A place in each segment, moving backwards along the sweep.
    cursors: Cursors,
    /// D_i of the current read.
    past: Vec<u32>,
    /// The clock that the edges of the current read demand.
    demand: Vec<u32>,
    targets: Targets<'a>,
}

/// The demands of targets in one thread: sorted by target; `clocks[i]` is the join of the demands of `targets[..=i]`.
#[derive(Default)]
struct Demands {
    targets: Vec<u32>,
    clocks: Vec<u32>,
}

impl Demands {
    /// How many targets are below the frontier. The search starts at the top.
    fn below(&self, frontier: u32) -> usize {
        let mut count = self.targets.len();
        while count > 0 && self.targets[count - 1] >= frontier {
            count -= 1;
        }
        count
    }

    fn truncate(&mut self, count: usize, width: usize) {
        self.targets.truncate(count);
        self.clocks.truncate(count * width);
    }

    fn clock(&self, at: usize, width: usize) -> &[u32] {
        &self.clocks[at * width..(at + 1) * width]
    }

    /// Adds a demand. Clocks grow along the stack, so joining stops where the demand is already met.
    fn insert(&mut self, target: u32, demand: &[u32]) {
        let width = demand.len();
        let mut at = self.below(target + 1);
        if at == 0 || self.targets[at - 1] != target {
            self.targets.insert(at, target);
            let end = self.clocks.len();
            self.clocks.resize(end + width, 0);
            self.clocks.copy_within(at * width..end, (at + 1) * width);
            let (below, rest) = self.clocks.split_at_mut(at * width);
            if at == 0 {
                rest[..width].fill(0);
            } else {
                rest[..width].copy_from_slice(&below[(at - 1) * width..]);
            }
            at += 1;
        }
        for clock in self.clocks[(at - 1) * width..].chunks_exact_mut(width) {
            if clock.iter().zip(demand).all(|(entry, demand)| entry >= demand) {
                break;
            }
            join(clock, demand);
        }
    }
}

impl<'a> FullPast<'a> {
    fn new(causality: &'a Causality<'a>) -> Self {
        let width = causality.execution.thread_count();
        Self {
            causality,
            demands: (0..width).map(|_| Demands::default()).collect(),
            cursors: Cursors::new(&causality.writes),
            past: vec![0; width],
            demand: vec![0; width],
            targets: Targets::new(causality.execution),
        }
    }

    /// Closes `past` under the demands of the targets in it, and of the read itself (an rmw may be a target). Forgets
    /// the demands of all other targets.
    fn close(&mut self, thread: usize, read: u32) {
        let width = self.past.len();
        let frontier = |past: &[u32], of: usize| if of == thread { past[of].max(read + 1) } else { past[of] };
        loop {
            let mut changed = false;
            for of in 0..width {
                let demands = &self.demands[of];
                let count = demands.below(frontier(&self.past, of));
                if count == 0 {
                    continue;
                }
                for (entry, &demand) in self.past.iter_mut().zip(demands.clock(count - 1, width)) {
                    changed |= demand > *entry;
                    *entry = (*entry).max(demand);
                }
            }
            if !changed {
                break;
            }
        }
        for of in 0..width {
            let count = self.demands[of].below(frontier(&self.past, of));
            self.demands[of].truncate(count, width);
        }
    }
}

impl Past for FullPast<'_> {
    fn clear(&mut self) {
        for demands in &mut self.demands {
            demands.truncate(0, self.past.len());
        }
    }

    #[inline]
    fn begin(&mut self, read: EventId, thread: ThreadId) -> bool {
        let Causality { execution, clocks, .. } = self.causality;
        if let Some(before) = read.index().checked_sub(2 * PREFETCH_DISTANCE) {
            clocks.prefetch(execution.events()[before].source.0);
            let before = before + PREFETCH_DISTANCE;
            clocks.prefetch_clock(before as u32);
            clocks.prefetch_clock(execution.events()[before].source.0);
        }
        self.past.copy_from_slice(clocks.of(read.0));
        self.past[thread.index()] = read.0;
        self.close(thread.index(), read.0);
        self.past[thread.index()] > read.0
    }

    #[inline]
    fn look(&mut self, read: EventId, edges: &mut Vec<ViewEdge>) -> Result<(), Overwritten> {
        let Causality { execution, writes, clocks, .. } = self.causality;
        let event = execution.event(read);
        let source = event.source;
        let source_clock = source.is_event().then(|| clocks.of(source.0));
        let mut demanded = false;
        let range = writes.segment_range(event.location);
        self.cursors.seek(writes, range.clone(), |of| self.past[of as usize]);
        for (_, of, write) in self.cursors.last(range) {
            let Some(source_clock) = source_clock else { return Err(Overwritten(write)) };
            if write < source_clock[of] {
                continue;
            }
            let clock = clocks.of(write);
            if source.0 < clock[self.causality.thread(source.0)] {
                return Err(Overwritten(write));
            }
            if !demanded {
                self.demand.fill(0);
                demanded = true;
            }
            join(&mut self.demand, clock);
            edges.push(ViewEdge { from: write, to: source.0, read: read.0 });
        }
        if demanded {
            self.demands[self.causality.thread(source.0)].insert(source.0, &self.demand);
        }
        Ok(())
    }

    fn find_cycle(&mut self, edges: &[ViewEdge], budget: &Budget) -> Result<Option<u32>, Halt> {
        self.targets.clear();
        let clocks = &self.causality.clocks;
        for (at, edge) in edges.iter().enumerate() {
            if let Some(later) = edges.get(at + PREFETCH_DISTANCE) {
                clocks.prefetch_clock(later.to);
                clocks.prefetch_clock(later.from);
            }
            self.targets.add(edge.to, clocks.of(edge.to), clocks.of(edge.from));
        }
        self.targets.find_cycle(budget)
    }
}

/// The witness of a thread whose view is acyclic: the writes that the thread knows of, and all its own operations.
fn view_order(
    execution: &Execution,
    edges: &[ViewEdge],
    thread: ThreadId,
    budget: &Budget,
) -> Result<Vec<OperationId>, Halt> {
    let events = execution.events();
    let threads = execution.threads();
    let mut edges: Vec<(u32, u32)> = edges.iter().map(|edge| (edge.to, edge.from)).collect();
    edges.sort_unstable();
    // Every event that the thread's own events need, in the order in which they need it.
    let mut cursors = execution.starts()[..execution.thread_count()].to_vec();
    let mut order = Vec::new();
    let mut stack: Vec<u32> = Vec::new();
    for own in execution.thread_events(thread) {
        budget.check()?;
        stack.push(own.0);
        while let Some(&event) = stack.last() {
            let of = threads[event as usize].index();
            if event < cursors[of] {
                stack.pop();
                continue;
            }
            let next = cursors[of];
            let source = events[next as usize].source;
            let open = |needed: u32| needed >= cursors[threads[needed as usize].index()];
            let from = edges.partition_point(|&(to, _)| to < next);
            let needed = source
                .is_event()
                .then_some(source.0)
                .into_iter()
                .chain(edges[from..].iter().take_while(|&&(to, _)| to == next).map(|&(_, from)| from));
            if let Some(needed) = needed.into_iter().find(|&needed| open(needed)) {
                stack.push(needed);
                continue;
            }
            cursors[of] = next + 1;
            if of == thread.index() || events[next as usize].kind.writes() {
                order.push(execution.operation(EventId(next)));
            }
        }
    }
    Ok(order)
}
