//! The search for a stack. What happens above a value does not depend on the values below it.
//!
//! A [frontier](Frontier) and the contents would be a state, but there are too many of these. From the push of a value
//! to its pop, only the value itself can be seen, not the values below it. So the frontier after a push and the value
//! are a *level*. On a level, peeks of the value take effect, and other values are pushed and popped. Each push enters
//! another level. That level is left by a pop, at one or several frontiers, and the level below goes on from each of
//! them. The search finds once how a level can be left, and uses it for all that enter the level. So there are at most
//! as many places as pairs of frontiers, and usually hardly more than frontiers. On the lowest level, `empty` takes
//! effect. Values that stay inside are levels that are never left: the search ends when it reaches, on any level, a
//! frontier with all operations that returned.
//!
//! A pending push may happen or not. A pending pop may take any value.
//!
//! An operation is *ready* if it can be next. These choices need not be tried, since any solution can be changed to do
//! without them:
//! - A ready peek or `empty` is done at once.
//! - Of several pushes of one value, the first to return is done first. The same holds for pops. Pending pops are done
//!   in the order of their calls.
//! - Let a ready push be the only one left of its value, which is not inside. Let a ready pop be the first to return of
//!   the pops that are left of the value, and let no peek of it be left. Then both are done at once: they belong
//!   together, and no operation between them sees the value.
//! - In the same way, let a value be on top, and let no push or peek of it be left. Then a ready pop is done at once if
//!   it is the first to return of the pops that are left of the value.
//! - Let a pop be the next to return. Between now and its effect, nothing is pushed but its value, right before it: all
//!   other operations that are open can as well come after it. If its value is on top, it is popped at once: a push of
//!   the value can come right after. If the next to return is an `empty`, nothing is pushed before it.
//! - Let a push be the next to return. A value that is pushed before it, after the operation that returned last, is not
//!   popped before it: that push and that pop can as well come after it.
//! - No push comes right after a pending pop. The pending pop can wait until the pushed value is popped again; if that
//!   value is never popped, the pending pop need not happen.
//! - A pending pop does not take a value that another pop then lacks. A pending push of a value that nobody saw is left
//!   out.

use budget::growth;
use std::ops::ControlFlow;

use ::search::{Turn, Turns};
use history::Method;
use model::object::{Core, Linearization};
use rustc_hash::{FxHashMap, FxHashSet};

use super::{copies, counts};
use crate::answer::Answer;
use crate::knobs::StackKnobs;
use crate::search::frontier::{ByValue, Frontier, NONE, Slots, Timeline};
use crate::search::{Allowance, GaveUp, Limits, Seen, answer};
use crate::view::{Call, Endpoint, Part, ValueId};

/// After how many tasks the search asks whether there is room for its tables to grow.
const TASKS_PER_QUESTION: u64 = 1 << 10;

/// A way to decide a stack. The search and the guess go on where they stopped.
enum Way<'a> {
    Search(Box<dyn Levels + 'a>),
    /// They often show a violation that the search would take long to find. They are over after one turn.
    Counts,
    /// It often finds a linearization that the search would take long to find.
    Guess(Box<copies::Guess<'a>>),
}

/// Decides a stack: the search, the [counts] and the [guess](copies) take turns. A short search comes first: it blames
/// the first operation that cannot return.
pub fn check(part: &Part, limits: Limits) -> Result<Answer, GaveUp> {
    let StackKnobs { first_turn, turn_growth, guess_share, .. } = part.knobs.stack;
    let turns = Turns { first: (first_turn * part.calls.len() as u64).max(1), growth: turn_growth };
    let ways = vec![Way::Search(search(part)), Way::Counts, Way::Guess(Box::new(copies::Guess::new(part)))];
    let ended = turns.take(ways, limits.steps, |way, steps| {
        let found = match way {
            Way::Search(search) => {
                search.run(Limits { steps, ..limits }).map(|found| Some(answer(part, found, limits, linearize)))
            }
            Way::Counts => Ok(counts::violation(part).map(|blamed| Answer::Violation(Core::Stuck(blamed)))),
            Way::Guess(guess) => guess.run(Limits { steps: steps.saturating_mul(guess_share), ..limits }),
        };
        match found {
            Ok(None) => ControlFlow::Continue(Turn::Over),
            Err(GaveUp::Steps) => ControlFlow::Continue(Turn::Paused),
            Ok(Some(answer)) => ControlFlow::Break(Ok(answer)),
            Err(why) => ControlFlow::Break(Err(why)),
        }
    });
    match ended {
        ControlFlow::Break(found) => found,
        ControlFlow::Continue(_) => Err(GaveUp::Steps),
    }
}

fn linearize(part: &Part, limits: Limits) -> Result<Option<Linearization>, GaveUp> {
    search(part).run(limits)
}

/// A search, which goes on where it stopped.
trait Levels {
    /// Goes on. None if there is no linearization.
    fn run(&mut self, limits: Limits) -> Result<Option<Linearization>, GaveUp>;
}

fn search<'a>(part: &'a Part<'a>) -> Box<dyn Levels + 'a> {
    let operations = Operations::new(part);
    match operations.timeline.width() {
        0..=64 => Box::new(Search::<u64>::new(operations)),
        65..=128 => Box::new(Search::<u128>::new(operations)),
        _ => Box::new(Search::<Box<[u64]>>::new(operations)),
    }
}

/// The operations of a stack.
struct Operations<'a> {
    part: &'a Part<'a>,
    /// The calls of the part, with twice as many moments. A pending push that is the only one of its value returns
    /// right before its value was first seen.
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
        let mut events = vec![Endpoint::Nothing; end as usize];
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
            events[call.call as usize] = Endpoint::Call(at);
            if !call.is_pending() {
                events[call.ret as usize] = Endpoint::Return(at);
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

    /// Whether only one push of a value is left, and no copy of the value may be inside.
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

/// The operations that are done: a frontier of the timeline, and how many of the pending pops.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Done<M> {
    frontier: Frontier<M>,
    used: u32,
}

struct Level {
    /// The value on top; [`ValueId::NONE`] on the lowest level.
    value: ValueId,
    /// The event of the frontier after the push, if it is the same as before the push; else [`NONE`].
    event: u32,
    /// The last link of the list of nodes that entered the level.
    entered: u32,
    /// The node that entered the level first, and the push.
    first: (u32, u32),
    /// The last link of the list of nodes at which the level is left.
    left: u32,
}

/// A link of a list of nodes. It is a node that entered a level, with its push; or a node at which a level is left,
/// with whether a pending pop leaves it. Each link names the link before it.
struct Link {
    node: u32,
    push: u32,
    by_pending: bool,
    next: u32,
}

/// A place on a level. If it was reached through a level above, then between the last place on this level and this one
/// come the push that enters that level, and the steps that lead to the node at which that level is left. Then come the
/// steps of this node.
struct Node<M> {
    level: u32,
    before: u32,
    push: u32,
    above: u32,
    steps: [u32; 2],
    done: Done<M>,
}

/// A task that is still to be tried.
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
    numbers: FxHashMap<(Done<M>, ValueId, bool), u32>,
    /// The places on each level: which operations are done, and whether the next step must not be a push.
    seen: FxHashSet<(u32, Done<M>, bool)>,
    /// Where each level is left, and whether by a pending pop.
    exits: FxHashSet<(u32, Done<M>, bool)>,
    tasks_done: u64,
}

impl<M: Slots> Levels for Search<'_, M> {
    fn run(&mut self, limits: Limits) -> Result<Option<Linearization>, GaveUp> {
        let mut budget = Allowance::new(limits);
        let mut found = None;
        if self.nodes.is_empty() {
            let frontier = Frontier::new(&self.operations.timeline, self.operations.timeline.width());
            found = self.arrive(0, [NONE; 3], Done { frontier, used: 0 }, false);
        }
        while found.is_none() && !self.tasks.is_empty() {
            budget.spend(self.nodes.len())?;
            self.tasks_done += 1;
            if self.tasks_done.is_multiple_of(TASKS_PER_QUESTION) {
                limits.budget.check_room(self.growth())?;
            }
            found = match self.tasks.pop() {
                None => break,
                Some(Task::Push { node, push }) => self.enter(node, push),
                Some(Task::Return { node, push, above, by_pending }) => {
                    let done = self.nodes[above as usize].done.clone();
                    self.arrive(self.nodes[node as usize].level, [node, push, above], done, by_pending)
                }
            };
        }
        Ok(found.map(|node| self.linearization(node)))
    }
}

impl<'a, M: Slots> Search<'a, M> {
    fn new(operations: Operations<'a>) -> Self {
        Self {
            operations,
            levels: vec![Level { value: ValueId::NONE, event: NONE, entered: NONE, first: (NONE, NONE), left: NONE }],
            links: Vec::new(),
            nodes: Vec::new(),
            steps: Vec::new(),
            tasks: Vec::new(),
            numbers: FxHashMap::default(),
            seen: FxHashSet::default(),
            exits: FxHashSet::default(),
            tasks_done: 0,
        }
    }

    /// How many bytes the largest table takes that grows soon. Tables grow one by one.
    fn growth(&self) -> usize {
        let of_nodes = growth(self.nodes.len(), self.nodes.capacity(), size_of::<Node<M>>());
        let of_links = growth(self.links.len(), self.links.capacity(), size_of::<Link>());
        let of_levels = growth(self.levels.len(), self.levels.capacity(), size_of::<Level>());
        let of_tasks = growth(self.tasks.len(), self.tasks.capacity(), size_of::<Task>());
        let of_numbers =
            growth(self.numbers.len(), self.numbers.capacity(), size_of::<(Done<M>, ValueId, bool, u32)>());
        let of_place = size_of::<(u32, Done<M>, bool)>();
        let of_sets = [&self.seen, &self.exits].map(|set| growth(set.len(), set.capacity(), of_place));
        [of_nodes, of_links, of_levels, of_tasks, of_numbers].into_iter().chain(of_sets).max().unwrap_or(0)
    }

    /// Enters the level of a push from a node. Returns the node at the end, if the end is reached.
    fn enter(&mut self, node: u32, push: u32) -> Option<u32> {
        let mut done = self.nodes[node as usize].done.clone();
        let before = done.frontier.event;
        done.frontier.take(&self.operations.timeline, push);
        let event = if done.frontier.event == before { before } else { NONE };
        let value = self.operations.call(push).argument;
        let next = self.levels.len() as u32;
        let level = *self.numbers.entry((done.clone(), value, event != NONE)).or_insert(next);
        if level == next {
            self.levels.push(Level { value, event, entered: NONE, first: (node, push), left: NONE });
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

    /// Comes to a place on a level, takes all steps that need no choice, and finds the steps to try from there. Returns
    /// the node, if that is the end.
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

    /// Takes every ready peek of the value on top; on the lowest level, every ready `empty`.
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

    /// Takes pairs of a ready push and a ready pop that belong together. Returns whether there were any.
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

    /// Finds the steps to try from a node, the best last.
    fn find_steps(&mut self, node: u32, top: ValueId, after_pending: bool) {
        let Self { operations, nodes, .. } = self;
        let Node { level, done: Done { frontier, used }, .. } = &nodes[node as usize];
        let level = *level as usize;
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
        // The operation that returns next, and has not taken effect.
        if let Some(Endpoint::Return(next)) = operations.timeline.event(frontier.event) {
            let next = call(next);
            if next.method == Method::Push {
                // What was pushed since the event before this one is not popped yet.
                if self.levels[level].event == frontier.event {
                    (pop, pending) = (None, None);
                }
            } else if next.method == Method::Pop && next.result == top {
                free.clear();
                pending = None;
            } else if next.method == Method::Pop || next.result == ValueId::EMPTY {
                free.retain(|&at| call(at).argument == next.result);
            }
        }
        if after_pending {
            free.clear();
        }
        // Of each value, the push that returns first is tried. A value that is popped late is pushed below one that is
        // popped early.
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
            /// All steps on the level of a node, from the beginning of the level to the node.
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
