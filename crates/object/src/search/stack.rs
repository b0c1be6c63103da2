//! The search for a stack: what happens above a value does not depend on what is below it.
//!
//! A state is a [frontier](Frontier) and what is inside, and there are too many of these. But from the push of a value to
//! its pop only the value itself can be seen, not what lies below. So take the frontier after a push and its value: this is
//! a *level*. On a level, peeks of the value take place, and other values are pushed and popped: by each push another
//! level is entered, and left at one or several frontiers, after the pops; from each of them the level below goes on. What
//! a level can lead to is found out once, and used by all that enter it. So there are at most as many places as pairs of
//! frontiers, and hardly more than frontiers where little is in question. On the lowest level, `empty` takes place. Values
//! that stay inside are levels that are never left: it is enough to reach, on any level, a frontier with all that returned.
//!
//! A pending push may be done, a pending pop may be that of any value.
//!
//! What need not be tried, because any solution can be changed to do without:
//! - a peek or an `empty` that can be now is done now;
//! - of several pushes of one value the first to return is done, of several pops too; pending pops in the order of calls;
//! - if a push that can be now is the only one left of its value, which is not inside, and a pop that can be now is the first
//!   to return of all that are left of it, and no peek of it is left, these two come now: they belong together, and what
//!   is between them does not see the value;
//! - in the same way, if a value is on top and no push or peek of it is left, a pop that can be now and is the first to
//!   return of all that are left of it comes now;
//! - after a pending pop comes no push: it can wait until after the pop, or if there is none, it need not be;
//! - a pending pop takes no value that then is missing, and a pending push of a value that nobody saw is left out.

use certificate::object::Linearization;
use history::Method;
use rustc_hash::{FxHashMap, FxHashSet};

use super::frontier::{ByValue, Frontier, NONE, Slots, Timeline};
use super::{Budget, GaveUp, Interrupt, Seen, decide};
use crate::fast::Answer;
use crate::view::{Call, Event, Part, ValueId};

/// Decides a stack.
pub fn check(part: &Part, interrupt: Interrupt) -> Result<Answer, GaveUp> {
    decide(part, |part| linearize(part, interrupt))
}

fn linearize(part: &Part, interrupt: Interrupt) -> Result<Option<Linearization>, GaveUp> {
    let operations = Operations::new(part);
    match operations.timeline.width() {
        0..=64 => Search::<u64>::new(operations).run(interrupt),
        65..=128 => Search::<u128>::new(operations).run(interrupt),
        _ => Search::<Box<[u64]>>::new(operations).run(interrupt),
    }
}

/// The operations of a stack.
struct Operations<'a> {
    part: &'a Part<'a>,
    /// As in the part, with twice as many moments; but a pending push that is the only one of its value, which was seen,
    /// returns right before that.
    calls: Vec<Call>,
    timeline: Timeline,
    end: u32,
    pushes_of: ByValue,
    pops_of: ByValue,
    peeks_of: ByValue,
    /// Pending pops, in the order of their calls.
    pending: Vec<u32>,
}

impl<'a> Operations<'a> {
    fn new(part: &'a Part<'a>) -> Self {
        let mut calls = part.calls.to_vec();
        let seen = Seen::new(part);
        let (mut pushes, mut pops, mut peeks, mut pending) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let end = 2 * part.moments;
        let mut events = vec![Event::Nothing; end as usize];
        for (at, call) in (0..).zip(&mut calls) {
            let is_pending = call.is_pending();
            call.ret = if is_pending { Call::NEVER } else { 2 * call.ret };
            if call.method == Method::Push {
                match seen.return_of(&part.calls[at as usize]) {
                    None => continue,
                    Some(seen) if is_pending && seen != Call::NEVER => call.ret = 2 * seen - 1,
                    Some(_) => {}
                }
                pushes.push((call.argument, at));
            } else if is_pending {
                pending.push(at);
                call.call *= 2;
                continue;
            } else if call.result != ValueId::EMPTY {
                let of = if call.method == Method::Peek { &mut peeks } else { &mut pops };
                of.push((call.result, at));
            }
            call.call *= 2;
            events[call.call as usize] = Event::Call(at);
            if !call.is_pending() {
                events[call.ret as usize] = Event::Return(at);
            }
        }
        let timeline = Timeline::new(events, calls.len());
        let by_value = |of| ByValue::new(part.values.len(), &calls, of);
        let (pushes_of, pops_of, peeks_of) = (by_value(pushes), by_value(pops), by_value(peeks));
        Self { part, calls, timeline, end, pushes_of, pops_of, peeks_of, pending }
    }

    fn call(&self, at: u32) -> &Call {
        &self.calls[at as usize]
    }

    fn first_left<M: Slots>(&self, of: &ByValue, value: ValueId, done: &Frontier<M>) -> Option<u32> {
        of.first_left(&self.calls, &self.timeline, value, done)
    }

    /// Whether only one push of a value is left, and none that is done may be inside.
    fn is_last_push<M: Slots>(&mut self, value: ValueId, done: &Frontier<M>) -> bool {
        let Self { calls, timeline, pushes_of, pops_of, .. } = self;
        if pushes_of.of(value).len() == 1 {
            return true;
        }
        let is_push = |call: &Call| call.method == Method::Push && call.argument == value;
        let is_pop = |call: &Call| call.method == Method::Pop && call.result == value;
        let popped = pops_of.of(value).len() - pops_of.count_left(calls, timeline, value, done, is_pop);
        pushes_of.count_left(calls, timeline, value, done, is_push) == 1 && pushes_of.of(value).len() == popped + 1
    }

    /// Whether more pushes than pops of a value may have happened.
    fn may_stay(&self, value: ValueId) -> bool {
        self.pushes_of.of(value).len() > self.pops_of.of(value).len()
    }
}

/// What is done: of the operations in the timeline, and how many of the pending pops.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Done<M> {
    frontier: Frontier<M>,
    used: u32,
}

struct Level {
    /// On top; [`ValueId::NONE`] on the lowest level.
    value: ValueId,
    /// The last of those that entered it; see [`Link`].
    entered: u32,
    /// The node that entered it first, and the push.
    first: (u32, u32),
    /// The last way that leads out of it.
    left: u32,
}

/// One of the nodes that entered a level, with its push; or of the nodes at which a level is left, and whether by a pending
/// pop. And the one before.
struct Link {
    node: u32,
    push: u32,
    by_pending: bool,
    next: u32,
}

/// A place on a level. Between the last place on the level and this one comes, if there is a way that leads out of a level
/// above: the push that enters it, and what leads to that node. And then the steps of this node.
struct Node<M> {
    level: u32,
    before: u32,
    push: u32,
    above: u32,
    steps: [u32; 2],
    done: Done<M>,
}

/// Still to be tried.
enum Task {
    Push { node: u32, push: u32 },
    Return { node: u32, push: u32, above: u32, by_pending: bool },
}

struct Search<'a, M> {
    operations: Operations<'a>,
    levels: Vec<Level>,
    links: Vec<Link>,
    nodes: Vec<Node<M>>,
    steps: Vec<u32>,
    tasks: Vec<Task>,
    numbers: FxHashMap<(Done<M>, ValueId), u32>,
    /// The places on each level: after what, and whether it must not go on with a push.
    seen: FxHashSet<(u32, Done<M>, bool)>,
    /// Where each level is left, and whether by a pending pop.
    exits: FxHashSet<(u32, Done<M>, bool)>,
}

impl<'a, M: Slots> Search<'a, M> {
    fn new(operations: Operations<'a>) -> Self {
        Self {
            operations,
            levels: vec![Level { value: ValueId::NONE, entered: NONE, first: (NONE, NONE), left: NONE }],
            links: Vec::new(),
            nodes: Vec::new(),
            steps: Vec::new(),
            tasks: Vec::new(),
            numbers: FxHashMap::default(),
            seen: FxHashSet::default(),
            exits: FxHashSet::default(),
        }
    }

    fn run(mut self, interrupt: Interrupt) -> Result<Option<Linearization>, GaveUp> {
        let mut budget = Budget::new(interrupt);
        let frontier = Frontier::new(&self.operations.timeline, self.operations.timeline.width());
        let mut found = self.arrive(0, [NONE; 3], Done { frontier, used: 0 }, false);
        while found.is_none() {
            let Some(task) = self.tasks.pop() else {
                return Ok(None);
            };
            budget.spend(self.nodes.len())?;
            found = match task {
                Task::Push { node, push } => self.enter(node, push),
                Task::Return { node, push, above, by_pending } => {
                    let done = self.nodes[above as usize].done.clone();
                    self.arrive(self.nodes[node as usize].level, [node, push, above], done, by_pending)
                }
            };
        }
        Ok(found.map(|node| self.linearization(node)))
    }

    /// Enters the level of a push from a node; the node at the end if that is reached.
    fn enter(&mut self, node: u32, push: u32) -> Option<u32> {
        let mut done = self.nodes[node as usize].done.clone();
        done.frontier.take(&self.operations.timeline, push);
        let value = self.operations.call(push).argument;
        let next = self.levels.len() as u32;
        let level = *self.numbers.entry((done.clone(), value)).or_insert(next);
        if level == next {
            self.levels.push(Level { value, entered: NONE, first: (node, push), left: NONE });
        }
        let link = self.links.len() as u32;
        let entered = std::mem::replace(&mut self.levels[level as usize].entered, link);
        self.links.push(Link { node, push, by_pending: false, next: entered });
        if level == next {
            return self.arrive(level, [NONE; 3], done, false);
        }
        let mut exit = self.levels[level as usize].left;
        while let Some(&Link { node: above, by_pending, next, .. }) = self.links.get(exit as usize) {
            self.tasks.push(Task::Return { node, push, above, by_pending });
            exit = next;
        }
        None
    }

    /// Leaves a level from a node by a pop.
    fn leave(&mut self, node: u32, pop: u32) {
        let Node { level, done, .. } = &self.nodes[node as usize];
        let (level, mut done) = (*level, done.clone());
        let by_pending = self.operations.call(pop).is_pending();
        if by_pending {
            done.used += 1;
        } else {
            done.frontier.take(&self.operations.timeline, pop);
        }
        if !self.exits.insert((level, done.clone(), by_pending)) {
            return;
        }
        let above = self.nodes.len() as u32;
        let steps = self.steps.len() as u32;
        self.steps.push(pop);
        self.nodes.push(Node { level, before: node, push: NONE, above: NONE, steps: [steps, steps + 1], done });
        let link = self.links.len() as u32;
        let left = std::mem::replace(&mut self.levels[level as usize].left, link);
        self.links.push(Link { node: above, push: NONE, by_pending, next: left });
        let mut entry = self.levels[level as usize].entered;
        while let Some(&Link { node, push, next, .. }) = self.links.get(entry as usize) {
            self.tasks.push(Task::Return { node, push, above, by_pending });
            entry = next;
        }
    }

    /// Comes to a place on a level, does what needs no choice, and finds what is to be tried from there. The node, if
    /// that is the end.
    fn arrive(&mut self, level: u32, from: [u32; 3], mut done: Done<M>, mut after_pending: bool) -> Option<u32> {
        if !self.seen.insert((level, done.clone(), after_pending)) {
            return None;
        }
        let top = self.levels[level as usize].value;
        let start = self.steps.len() as u32;
        loop {
            let count = self.steps.len();
            self.observe(top, &mut done);
            after_pending &= self.steps.len() == count;
            if after_pending || !self.take_pairs(&mut done) {
                break;
            }
        }
        let node = self.nodes.len() as u32;
        let [before, push, above] = from;
        let steps = [start, self.steps.len() as u32];
        let event = done.frontier.event;
        self.nodes.push(Node { level, before, push, above, steps, done });
        if event == self.operations.end {
            return Some(node);
        }
        self.find_steps(node, top, after_pending);
        None
    }

    /// Every peek of the value on top that can be now; on the lowest level, every `empty`.
    fn observe(&mut self, top: ValueId, done: &mut Done<M>) {
        let Operations { timeline, calls, .. } = &mut self.operations;
        let fits = |call: &Call| match top {
            ValueId::NONE => call.result == ValueId::EMPTY,
            _ => call.method == Method::Peek && call.result == top,
        };
        loop {
            let found = timeline.free(&done.frontier).find(|&at| fits(&calls[at as usize]));
            let Some(at) = found else {
                break;
            };
            done.frontier.take(timeline, at);
            self.steps.push(at);
        }
    }

    /// Pushes and pops that can be now and belong together; whether there are any.
    fn take_pairs(&mut self, done: &mut Done<M>) -> bool {
        let mut found = false;
        let Operations { timeline, calls, .. } = &mut self.operations;
        let is_push = |at: &u32| calls[*at as usize].method == Method::Push;
        let free: Vec<u32> = timeline.free(&done.frontier).filter(is_push).collect();
        for push in free {
            let operations = &self.operations;
            let value = operations.call(push).argument;
            if operations.first_left(&operations.peeks_of, value, &done.frontier).is_some() {
                continue;
            }
            let Some(pop) = operations.first_left(&operations.pops_of, value, &done.frontier) else {
                continue;
            };
            let mut after = done.frontier.clone();
            after.take(&operations.timeline, push);
            if operations.call(pop).call < after.event && self.operations.is_last_push(value, &done.frontier) {
                let operations = &self.operations;
                after.take(&operations.timeline, pop);
                done.frontier = after;
                self.steps.extend([push, pop]);
                found = true;
            }
        }
        found
    }

    /// What is to be tried from a node, the best last.
    fn find_steps(&mut self, node: u32, top: ValueId, after_pending: bool) {
        let Self { operations, nodes, .. } = self;
        let Done { frontier, used } = &nodes[node as usize].done;
        let used = *used as usize;
        let mut free: Vec<u32> = operations.timeline.free(frontier).collect();
        let operations = &self.operations;
        let call = |at: u32| operations.call(at);
        free.sort_unstable_by_key(|&at| (call(at).ret, at));
        let mut pop = None;
        let mut pending = None;
        if top != ValueId::NONE {
            let pops = |at: u32| call(at).method == Method::Pop && call(at).result == top;
            pop = free.iter().copied().find(|&at| pops(at));
            let is_forced = pop.is_some()
                && operations.first_left(&operations.pops_of, top, frontier) == pop
                && operations.first_left(&operations.pushes_of, top, frontier).is_none()
                && operations.first_left(&operations.peeks_of, top, frontier).is_none();
            if is_forced {
                free.clear();
            } else {
                let is_open = |&at: &u32| call(at).call < frontier.event && operations.may_stay(top);
                pending = operations.pending.get(used).copied().filter(is_open);
            }
        }
        if after_pending {
            free.clear();
        }
        // Of each value the first to return; below what is popped early comes what is popped late.
        free.retain(|&at| call(at).method == Method::Push);
        let mut values = FxHashSet::default();
        free.retain(|&at| values.insert(call(at).argument));
        free.sort_by_cached_key(|&at| {
            let pop = operations.first_left(&operations.pops_of, call(at).argument, frontier);
            let popped = pop.map_or(Call::NEVER, |pop| call(pop).ret);
            (call(at).is_pending(), std::cmp::Reverse(popped), call(at).ret, at)
        });
        if let Some(pop) = pending {
            self.leave(node, pop);
        }
        self.tasks.extend(free.iter().rev().map(|&push| Task::Push { node, push }));
        if let Some(pop) = pop {
            self.leave(node, pop);
        }
    }

    /// The steps that lead to a node.
    fn linearization(&self, end: u32) -> Linearization {
        enum Piece {
            /// All on the level of a node, from its beginning to the node.
            Up(u32),
            Steps(u32),
            Push(u32),
        }
        let mut pieces = Vec::new();
        let mut node = end;
        loop {
            pieces.push(Piece::Up(node));
            let (entered, push) = self.levels[self.nodes[node as usize].level as usize].first;
            if entered == NONE {
                break;
            }
            pieces.push(Piece::Push(push));
            node = entered;
        }
        let (mut order, mut results) = (Vec::new(), Vec::new());
        while let Some(piece) = pieces.pop() {
            match piece {
                Piece::Push(at) => order.push(self.operations.call(at).operation),
                Piece::Steps(node) => {
                    let Node { level, steps: [start, end], .. } = self.nodes[node as usize];
                    for &at in &self.steps[start as usize..end as usize] {
                        let call = self.operations.call(at);
                        if call.is_pending() && call.method == Method::Pop {
                            let value = self.levels[level as usize].value;
                            results.push((call.operation, self.operations.part.value(value)));
                        }
                        order.push(call.operation);
                    }
                }
                Piece::Up(mut node) => {
                    while let Some(&Node { before, push, above, .. }) = self.nodes.get(node as usize) {
                        pieces.push(Piece::Steps(node));
                        if above != NONE {
                            pieces.extend([Piece::Up(above), Piece::Push(push)]);
                        }
                        node = before;
                    }
                }
            }
        }
        results.sort_unstable_by_key(|&(id, _)| id);
        Linearization { order, results }
    }
}
