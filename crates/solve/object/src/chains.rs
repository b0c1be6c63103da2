//! Decides an object of which it is known which operation made each state that was seen. Strings and registers with
//! compare-and-swap are such objects, if no state can have been made in two ways.
//!
//! An operation *makes* a state, or *sees* one, or both. One that does both makes the next state from the state that it
//! sees. Say that a state is *followed* by the state that was made from it. In every linearization, an operation that
//! sees a state comes after the maker of this state, with no other maker between. So the operations on states that
//! follow one another stand together: first a maker that saw nothing, then those that only see its state, then the
//! maker of the state that follows, and so on. This is a *block*. A linearization is an order of the blocks in which
//! each block is in its own order. Conversely, each such order that agrees with real time is a linearization.
//!
//! Hence the history is linearizable exactly if these four conditions hold:
//! - Each state that was seen has a maker, and no state is followed by two.
//! - No state follows itself, directly or not.
//! - Within a block, no operation returns before an earlier one is called.
//! - The blocks have an order. Let `f` be the first return in a block, and `s` the last call. Block X must come before
//!   block Y if `f(X) < s(Y)`. If `f < s`, the block is forward: it lasts at least from `f` to `s`. Otherwise it is
//!   backward: all its operations overlap, and it fits into any instant from `s` to `f`. The blocks have an order
//!   exactly if no two forward ones overlap, and no backward one lies within a forward one (see [`super::register`]).
//!
//! The initial state was made before everything. A pending operation that made no state that was seen is left out.
//!
//! An operation may also *avoid* a state: a compare-and-swap that failed took effect while the register held another
//! value than the expected one. Such operations change nothing, so they are put into the order of the others at last,
//! each as early as it can be. The order of the blocks is chosen such that this works: a block is put in place when its
//! first operation returns. If an operation returns that avoids the present state, another block is put in place at
//! once, or a block is moved that can as well be the last. If an operation finds no place nevertheless, another order
//! might have one. Then the algorithm declines.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use model::object::{Core, Linearization};
use order::Rows;

use crate::answer::Answer;
use crate::search::first_failure;
use crate::view::{Call, Part};

/// No state, or any.
pub const NONE: u32 = u32::MAX;
/// The initial state.
pub const INITIAL: u32 = u32::MAX - 1;

/// What an operation has to do with the states. A state has the number of its maker; or it is [`INITIAL`].
#[derive(Copy, Clone, Debug)]
pub struct Link {
    /// The state that it sees; [`NONE`] if it may see any.
    pub sees: u32,
    /// Whether it makes a state.
    pub makes: bool,
    /// The state in which it cannot take effect, if it neither makes nor sees one.
    pub avoids: u32,
}

impl Link {
    /// Takes effect in any state, and changes nothing.
    pub const FREE: Self = Self { sees: NONE, makes: false, avoids: NONE };
    /// Makes a state, whatever state it finds.
    pub const MAKES: Self = Self { makes: true, ..Self::FREE };

    /// Changes nothing, and sees this state.
    pub const fn sees(state: u32) -> Self {
        Self { sees: state, ..Self::FREE }
    }

    /// Changes nothing, and finds any state but this one.
    pub const fn avoids(state: u32) -> Self {
        Self { avoids: state, ..Self::FREE }
    }

    /// Whether it is in no block: it neither makes nor sees a state.
    const fn is_loose(self) -> bool {
        !self.makes && self.sees == NONE
    }
}

/// Why there are no links.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Unlinked {
    /// An operation saw a state that nobody can have made. So there is no linearization.
    Impossible,
    /// A state may have been made in two ways, or is not known, for this reason.
    Ambiguous(&'static str),
}

/// Decides a part whose operations have the links that `link` finds.
pub fn check(part: &Part, witness: bool, link: impl Fn(&Part) -> Result<Vec<Link>, Unlinked>) -> Answer {
    let order = match link(part) {
        Ok(links) => linearize(part, &links, witness),
        Err(Unlinked::Impossible) => None,
        Err(Unlinked::Ambiguous(why)) => return Answer::Declined(why),
    };
    match order {
        Some(Order::Found(order)) => Answer::Linearizable(witness.then(|| {
            let order = order.iter().map(|&at| part.calls[at as usize].operation).collect();
            Linearization { order, results: Vec::new() }
        })),
        Some(Order::NoPlace) => Answer::Declined("an operation that changes nothing finds no place at once"),
        None => {
            // A beginning whose links are not known is not known to have no linearization.
            let can_be = |prefix: &Part| match link(prefix) {
                Ok(links) => linearize(prefix, &links, false).is_some(),
                Err(why) => why != Unlinked::Impossible,
            };
            Answer::Violation(Core::Stuck(first_failure(part, |prefix| Ok(can_be(prefix)))))
        }
    }
}

enum Order {
    /// The operations in the order of a linearization; empty if none was asked for and none was needed.
    Found(Vec<u32>),
    /// There is an order of the blocks, but an operation that is in no block finds no place in it.
    NoPlace,
}

/// A linearization; none if there is none.
fn linearize(part: &Part, links: &[Link], witness: bool) -> Option<Order> {
    let blocks = Blocks::new(part.calls, links)?;
    let has_loose = links.iter().any(|link| link.is_loose());
    let order = blocks.order(part, links, has_loose)?;
    if !(witness || has_loose) {
        return Some(Order::Found(Vec::new()));
    }
    let order: Vec<u32> = order.iter().flat_map(|&block| blocks.members(block)).copied().collect();
    if !has_loose {
        return Some(Order::Found(order));
    }
    Some(with_loose(part, links, &order).map_or(Order::NoPlace, Order::Found))
}

/// A block. Moments are counted from 1: the initial state was made at 0.
#[derive(Copy, Clone, Debug)]
struct Block {
    first_return: u32,
    last_call: u32,
    /// The state at its end.
    last_state: u32,
    /// Where its members end in the list of all members.
    end: u32,
}

impl Block {
    const fn is_forward(&self) -> bool {
        self.first_return < self.last_call
    }
}

/// The blocks, each with its operations in their order.
struct Blocks {
    blocks: Vec<Block>,
    members: Vec<u32>,
}

impl Blocks {
    /// The blocks; none if a state is followed by two, or by itself, or if real time contradicts the order in a block.
    fn new(calls: &[Call], links: &[Link]) -> Option<Self> {
        let count = calls.len();
        // The place of a state in tables: the initial state comes last.
        let place = |state: u32| if state == INITIAL { count } else { state as usize };
        let happened = happened(calls, links);
        let mut follower = vec![NONE; count + 1];
        let mut left = 0_usize;
        for (at, link) in (0..).zip(links) {
            if !happened[at as usize] || link.is_loose() {
                continue;
            }
            left += 1;
            if link.makes && link.sees != NONE && std::mem::replace(&mut follower[place(link.sees)], at) != NONE {
                return None;
            }
        }
        // What only sees a state has returned.
        let only_sees = |(_, link): &(u32, &Link)| !link.makes && link.sees != NONE;
        let observers = (0..).zip(links).filter(only_sees).map(|(at, link)| (place(link.sees), at));
        let seen_by = Rows::new(count + 1, observers);
        let mut blocks = Self { blocks: Vec::new(), members: Vec::with_capacity(left) };
        let is_root =
            |at: &u32| happened[*at as usize] && links[*at as usize].makes && links[*at as usize].sees == NONE;
        for root in [INITIAL].into_iter().chain((0..count as u32).filter(is_root)) {
            let start = blocks.members.len();
            let mut block =
                Block { first_return: if root == INITIAL { 0 } else { NONE }, last_call: 0, last_state: root, end: 0 };
            let mut maker = root;
            while maker != NONE {
                block.last_state = maker;
                if maker != INITIAL {
                    blocks.append(&mut block, calls, &[maker])?;
                }
                blocks.append(&mut block, calls, seen_by.of(place(maker)))?;
                maker = follower[place(maker)];
            }
            block.end = blocks.members.len() as u32;
            if blocks.members.len() > start {
                blocks.blocks.push(block);
            }
        }
        // What was not reached follows itself.
        (blocks.members.len() == left).then_some(blocks)
    }

    /// Appends some operations, in any order among themselves. None if one returned before an earlier one was called.
    fn append(&mut self, block: &mut Block, calls: &[Call], more: &[u32]) -> Option<()> {
        let called = block.last_call;
        for &at in more {
            let call = &calls[at as usize];
            let returned = call.ret.saturating_add(1);
            if returned < called {
                return None;
            }
            block.first_return = block.first_return.min(returned);
            block.last_call = block.last_call.max(call.call + 1);
        }
        self.members.extend(more);
        Some(())
    }

    fn members(&self, block: u32) -> &[u32] {
        let at = block as usize;
        let start = at.checked_sub(1).map_or(0, |before| self.blocks[before].end as usize);
        &self.members[start..self.blocks[at].end as usize]
    }

    /// An order of the blocks; none if there is none. Moments are visited in the order of time. A block is put in place
    /// at its first return. Before a forward block come all blocks that cannot come after it. A block that is open may
    /// be put in place before its first return, if an operation returns that avoids the present state and was not
    /// called before this state was made.
    fn order(&self, part: &Part, links: &[Link], has_loose: bool) -> Option<Vec<u32>> {
        /// Marks the return of an operation that is in no block.
        const LOOSE: u32 = 1 << 31;
        let mut events = vec![NONE; part.moments as usize + 1];
        for (at, call) in (0..).zip(part.calls) {
            if links[at as usize].avoids != NONE && !call.is_pending() {
                events[call.ret as usize + 1] = LOOSE | at;
            }
        }
        let mut line = Line {
            blocks: &self.blocks,
            open: BinaryHeap::new(),
            is_in_place: vec![false; self.blocks.len()],
            order: Vec::with_capacity(self.blocks.len()),
            state: INITIAL,
            since: 0,
            until: 0,
            look_back: part.knobs.chains.look_back,
        };
        for (at, block) in (0..).zip(&self.blocks) {
            events[block.last_call as usize] = at;
            if block.first_return == 0 {
                line.put(at, 0);
            } else {
                events[block.first_return as usize] = at;
            }
        }
        let early = if has_loose { self.early(part.calls, &events) } else { Vec::new() };
        let mut early = early.into_iter().peekable();
        for (moment, &event) in (0..).zip(&events) {
            while let Some((_, block)) = early.next_if(|&(first, _)| first < moment) {
                line.open.push(Reverse((self.blocks[block as usize].first_return, block)));
            }
            if event == NONE {
                continue;
            }
            if event & LOOSE != 0 {
                let at = (event ^ LOOSE) as usize;
                let must_change = line.state == links[at].avoids && line.since <= part.calls[at].call + 1;
                if must_change && line.until < moment {
                    match line.first_open() {
                        Some(block) => line.put_with_those_before(block, moment),
                        None => line.put_another_last(),
                    }
                }
                continue;
            }
            let block = &self.blocks[event as usize];
            let is_last_call = moment == block.last_call;
            if is_last_call && !block.is_forward() {
                line.open.push(Reverse((block.first_return, event)));
            }
            if is_last_call || line.is_in_place[event as usize] {
                continue;
            }
            if moment < line.until {
                return None;
            }
            line.put_with_those_before(event, moment);
        }
        Some(line.order)
    }

    /// The blocks that can begin before their first returns and their last calls, each with the first moment at which
    /// it can, in the order of these moments. A block can begin after the call of its maker, and after the last calls
    /// of all blocks that must come before it.
    fn early(&self, calls: &[Call], events: &[u32]) -> Vec<(u32, u32)> {
        let mut early = Vec::new();
        // The two last calls of the blocks that have returned, with these blocks.
        let mut lasts = [(0, NONE); 2];
        for (moment, &event) in (0..).zip(events) {
            let Some(block) = self.blocks.get(event as usize) else { continue };
            if moment == block.first_return {
                let last = (block.last_call, event);
                if last > lasts[0] {
                    lasts = [last, lasts[0]];
                } else if last > lasts[1] {
                    lasts[1] = last;
                }
            } else if block.first_return > 0 {
                let others = lasts.iter().find(|(_, other)| *other != event).map_or(0, |&(last, _)| last);
                let maker = self.members(event)[0];
                let first = others.max(calls[maker as usize].call + 1);
                if first < block.first_return.min(block.last_call) {
                    early.push((first, event));
                }
            }
        }
        early.sort_unstable();
        early
    }
}

/// The blocks that are in place, and those that are open.
struct Line<'a> {
    /// Among how many of the last blocks another one is looked for that can be the last.
    look_back: usize,
    blocks: &'a [Block],
    /// The blocks that can be put in place now, sorted by their first returns. Some of them may be in place already.
    open: BinaryHeap<Reverse<(u32, u32)>>,
    is_in_place: Vec<bool>,
    order: Vec<u32>,
    /// The state, and since when.
    state: u32,
    since: u32,
    /// No other block can be put in place before this moment.
    until: u32,
}

impl Line<'_> {
    fn put(&mut self, at: u32, moment: u32) {
        let block = &self.blocks[at as usize];
        self.is_in_place[at as usize] = true;
        self.order.push(at);
        (self.state, self.since) = (block.last_state, moment);
        if block.last_call > moment {
            self.until = block.last_call;
        }
    }

    /// Puts a block in place, after all open blocks that cannot come after it.
    fn put_with_those_before(&mut self, at: u32, moment: u32) {
        let last_call = self.blocks[at as usize].last_call;
        while let Some(&Reverse((returned, other))) = self.open.peek() {
            let is_needed = returned < last_call && other != at;
            if is_needed && !self.is_in_place[other as usize] {
                self.put(other, moment);
            } else if !is_needed && !self.is_in_place[other as usize] && other != at {
                break;
            }
            self.open.pop();
        }
        self.put(at, moment);
    }

    /// Changes the order such that another block is the last, if one of the blocks before can come after all that
    /// follow it.
    fn put_another_last(&mut self) {
        let mut last_call = 0;
        for place in (self.order.len().saturating_sub(self.look_back)..self.order.len()).rev() {
            let at = self.order[place];
            let block = &self.blocks[at as usize];
            if last_call > 0 && block.first_return > last_call {
                self.order.remove(place);
                self.order.push(at);
                self.state = block.last_state;
                return;
            }
            last_call = last_call.max(block.last_call);
        }
    }

    /// The open block that returns first.
    fn first_open(&mut self) -> Option<u32> {
        while let Some(&Reverse((_, block))) = self.open.peek() {
            if !self.is_in_place[block as usize] {
                return Some(block);
            }
            self.open.pop();
        }
        None
    }
}

/// Which operations happened: those that returned, and those that made a state that such an operation saw.
fn happened(calls: &[Call], links: &[Link]) -> Vec<bool> {
    let mut happened: Vec<bool> = calls.iter().map(|call| !call.is_pending()).collect();
    for at in 0..calls.len() {
        if calls[at].is_pending() {
            continue;
        }
        let mut maker = links[at].sees as usize;
        while maker < calls.len() && !std::mem::replace(&mut happened[maker], true) {
            maker = links[maker].sees as usize;
        }
    }
    happened
}

/// Puts the operations that are in no block into an order of the others, each as early as it can be. None if one of
/// them has no place.
fn with_loose(part: &Part, links: &[Link], order: &[u32]) -> Option<Vec<u32>> {
    let calls = part.calls;
    let length = order.len() as u32;
    // A place p is right before the operation that is now at p. For each moment: an operation that is called right
    // after it must come at this place or later, because of what has returned; one that returns right before it must
    // come at this place or earlier, because of what is called later.
    let mut earliest = vec![0_u32; part.moments as usize + 1];
    let mut latest = vec![length; part.moments as usize + 1];
    let mut states = Vec::with_capacity(order.len() + 1);
    states.push(INITIAL);
    for (place, &at) in (0..).zip(order) {
        let call = &calls[at as usize];
        if !call.is_pending() {
            earliest[call.ret as usize + 1] = place + 1;
        }
        latest[call.call as usize] = place;
        states.push(if links[at as usize].makes { at } else { states[place as usize] });
    }
    for moment in (0..part.moments as usize).rev() {
        latest[moment] = latest[moment].min(latest[moment + 1]);
    }
    // The place of the next maker at or after each place.
    let mut next_maker = vec![length; order.len() + 1];
    for place in (0..order.len()).rev() {
        let is_maker = links[order[place] as usize].makes;
        next_maker[place] = if is_maker { place as u32 } else { next_maker[place + 1] };
    }
    let mut at_place: Vec<(u32, u32)> = Vec::new();
    let (mut moment, mut bound) = (0, 0);
    for (at, call) in (0..).zip(calls).filter(|(at, call)| links[*at as usize].is_loose() && !call.is_pending()) {
        while moment <= call.call as usize {
            bound = bound.max(earliest[moment]);
            moment += 1;
        }
        let mut place = bound;
        if links[at as usize].avoids != NONE && states[place as usize] == links[at as usize].avoids {
            place = next_maker[place as usize] + 1;
        }
        if place > latest[call.ret as usize] {
            return None;
        }
        // What is called after it has returned must come after it.
        let after = &mut earliest[call.ret as usize + 1];
        *after = place.max(*after);
        at_place.push((place, at));
    }
    // They were visited in the order of their calls, so those at one place are in an order that agrees with real time.
    at_place.sort_by_key(|&(place, _)| place);
    let mut all = Vec::with_capacity(order.len() + at_place.len());
    let mut loose = at_place.iter().peekable();
    for (place, &at) in (0..).zip(order) {
        while let Some(&&(_, other)) = loose.peek().filter(|(other, _)| *other <= place) {
            all.push(other);
            loose.next();
        }
        all.push(at);
    }
    all.extend(loose.map(|&(_, at)| at));
    Some(all)
}
