//! The part of `psc` that does not depend on the modification order, as edges between sequentially consistent events.
//!
//! Program order between these events is the order of the chains. For two events s and g of different threads, s is
//! before g in `psc` exactly if one of these holds (`hb` is happens-before):
//!
//! | s | g | condition |
//! | --- | --- | --- |
//! | any | access | `po!=;hb;po!=` |
//! | access | access of the same location | `hb` |
//! | fence | access | `hb?;po`, or `hb` to an access of the location of g that happens before g |
//! | access | fence | `po;hb?`, or `hb` to an access of the location of s that happens before g |
//! | fence | fence | `hb`, or `hb;rf;hb` |
//!
//! For each g and thread, only the last such s is listed, and only if it is beyond that of the event before g.

use model::Edge;

use super::super::happens::happens_before;
use super::nodes::Nodes;
use super::steps::{NONE, Steps};
use history::execution::EventId;
use model::Node;
use order::Rows;

/// The edges into each event, by its node, each from another thread.
pub(super) fn edges(nodes: &Nodes) -> Rows {
    let finder = Finder::new(nodes);
    let mut edges = Vec::new();
    for thread in 0..nodes.threads() {
        let mut known = vec![NONE; nodes.threads()];
        for node in nodes.starts[thread]..nodes.starts[thread + 1] {
            let event = nodes.event_of[node as usize];
            for other in (0..nodes.threads()).filter(|&other| other != thread) {
                let last = finder.last(event, other);
                if last != NONE && (known[other] == NONE || known[other] < last) {
                    known[other] = last;
                    edges.push((node as usize, nodes.of_event(last)));
                }
            }
        }
    }
    Rows::new(nodes.events as usize, edges.iter().copied())
}

/// Finds the last event of a thread that is before another one.
struct Finder<'a> {
    steps: &'a Steps,
    /// By event: the last sequentially consistent event of its thread that is not after it; the last such fence; and
    /// the last such access of its location.
    last: Vec<[u32; 3]>,
}

impl<'a> Finder<'a> {
    fn new(nodes: &'a Nodes) -> Self {
        let steps = &nodes.steps;
        let mut last = vec![[NONE; 3]; steps.execution.len()];
        for at in 0..steps.execution.len() {
            let event = at as u32;
            if event > steps.events_of(steps.thread(event)).start {
                last[at] = [last[at - 1][0], last[at - 1][1], NONE];
            }
            if steps.previous[at] != NONE {
                last[at][2] = last[steps.previous[at] as usize][2];
            }
            if steps.is_sequential[at] {
                last[at][0] = event;
                last[at][if steps.is_fence(event) { 1 } else { 2 }] = event;
            }
        }
        Self { steps, last }
    }

    /// The last event of a thread in a prefix of so many events, as [`Self::last`] has it.
    fn in_prefix(&self, thread: usize, count: u32, which: usize) -> u32 {
        let begin = self.steps.events_of(thread).start;
        count.checked_sub(1).map_or(NONE, |last| self.last[(begin + last) as usize][which])
    }

    /// The last event of a thread that is before an event of another thread. [`NONE`] if there is none.
    fn last(&self, event: u32, thread: usize) -> u32 {
        let steps = self.steps;
        let begin = steps.events_of(thread).start;
        let mut last = NONE;
        let mut consider = |found: u32| {
            if found != NONE && (last == NONE || last < found) {
                last = found;
            }
        };
        let known = steps.clock(event)[thread];
        if steps.is_fence(event) {
            consider(self.in_prefix(thread, known.saturating_sub(1), 0));
            consider(self.in_prefix(thread, known, 1));
            consider(self.in_prefix(thread, steps.read_clock(event)[thread], 1));
            if let Some(end) = known.checked_sub(1).map(|last| begin + last)
                && steps.is_sequential[end as usize]
                && self.through(end, event).is_some()
            {
                consider(end);
            }
            return last;
        }
        let other = steps.other[event as usize][1];
        if other != NONE
            && let Some(end) = steps.clock(other)[thread].checked_sub(1)
            && steps.other[(begin + end) as usize][1] != NONE
        {
            consider(self.last[steps.other[(begin + end) as usize][1] as usize][0]);
        }
        for &access in steps.before.of(event as usize) {
            if steps.thread(access) == thread {
                consider(self.last[access as usize][2]);
            }
            if steps.has_fences {
                consider(self.in_prefix(thread, steps.clock(access)[thread], 1));
            }
        }
        if steps.has_fences && event > steps.events_of(steps.thread(event)).start {
            consider(self.in_prefix(thread, steps.clock(event - 1)[thread], 1));
        }
        last
    }

    fn through(&self, access: u32, fence: u32) -> Option<u32> {
        through(self.steps, access, fence)
    }
}

/// An access of the location of an access, which happens after that one and before a fence.
fn through(steps: &Steps, access: u32, fence: u32) -> Option<u32> {
    if steps.is_fence(access) {
        return None;
    }
    let last = |thread| steps.last_access(steps.location(access), thread, fence);
    let mut all = (0..steps.execution.thread_count()).filter_map(last);
    all.find(|&other| other != access && steps.happens(access, other))
}

/// A path of happens-before, which is empty from an event to itself.
pub(super) fn happens(steps: &Steps, from: u32, to: u32) -> Vec<Edge> {
    if from == to {
        return Vec::new();
    }
    let path = happens_before(&steps.execution, steps.model, EventId(from), EventId(to));
    path.unwrap_or_else(|| unreachable!("the one happens before the other"))
}

/// The edges of the path of an edge.
pub(super) fn path(steps: &Steps, from: u32, to: u32) -> Vec<Edge> {
    let node = |event: u32| Node::Operation(steps.execution.operation(EventId(event)));
    let po = |from: u32, to: u32| Edge::Po(node(from), node(to));
    let joined = |parts: [Vec<Edge>; 3]| parts.concat();
    let follows = |first: u32, second: u32| first != NONE && second != NONE && steps.happens(first, second);
    let next = Some(from + 1).filter(|&next| next < steps.events_of(steps.thread(from)).end).unwrap_or(NONE);
    let previous = to.checked_sub(1).filter(|_| to > steps.events_of(steps.thread(to)).start).unwrap_or(NONE);
    if steps.is_fence(to) {
        if steps.is_fence(from) && steps.happens(from, to) {
            return happens(steps, from, to);
        }
        if steps.is_fence(from) {
            let source = |read: u32| steps.execution.events()[read as usize].source;
            let mut reads = (0..steps.execution.len() as u32).filter(|&read| source(read).is_event());
            let read = reads.find(|&read| steps.happens(read, to) && steps.happens(from, source(read).0));
            let read = read.unwrap_or_else(|| unreachable!("the fence knows of the other by a read"));
            let rf = vec![Edge::Rf(node(source(read).0), node(read))];
            return joined([happens(steps, from, source(read).0), rf, happens(steps, read, to)]);
        }
        if follows(next, to) {
            return joined([vec![po(from, next)], happens(steps, next, to), Vec::new()]);
        }
        let access = through(steps, from, to).unwrap_or_else(|| unreachable!("an access is between the two"));
        return joined([happens(steps, from, access), happens(steps, access, to), Vec::new()]);
    }
    let [first, second] = [steps.other[from as usize][0], steps.other[to as usize][1]];
    if follows(first, second) {
        return joined([vec![po(from, first)], happens(steps, first, second), vec![po(second, to)]]);
    }
    if !steps.is_fence(from) {
        return happens(steps, from, to);
    }
    if follows(from, previous) {
        return joined([happens(steps, from, previous), vec![po(previous, to)], Vec::new()]);
    }
    let mut accesses = steps.before.of(to as usize).iter().copied();
    let access = accesses.find(|&access| steps.happens(from, access));
    let access = access.unwrap_or_else(|| unreachable!("the access knows of the fence by another one"));
    joined([happens(steps, from, access), happens(steps, access, to), Vec::new()])
}
