//! Set (one element), mutex and semaphore: MUTEX, LIMIT, TOTAL, INCLUDE, EXCLUDE.
//!
//! The object holds a number from 0 to its capacity. It is 1 if the element is in, or the mutex is locked. An operation
//! is a step up (an effective addition, an acquisition), a step down, or a test, which returned that the number is 0 or
//! that it is 1. Matches cannot be recognised: locks and releases carry no names, and an element is added again and
//! again. So the axioms are used as statements about counts. Let x and y be two points of the linearization. The number
//! after x, plus the steps up between x and y, minus the steps down between them, is the number before y. This equation
//! is tested with the steps that are certainly between, the steps that are possibly between, and the ranges of the
//! numbers (an acquisition, for example, finds at most the capacity minus one):
//!
//! - If the equation cannot hold, x is not before y. MUTEX and EXCLUDE are a special case: two steps up (or a step up
//!   and a test that found 0) with no step down possibly between them.
//! - If the equation can hold in one way only, this decides for each possible step whether it is between x and y.
//!
//! The first point is the beginning. The last point is the moment at which all operations that returned have happened.
//! A pending step is possible until a count makes it certain. A step whose effect is not known stays pending.
//!
//! Operations are obsolete if they have returned, and are before all other operations that are remembered. When they
//! are forgotten, the number after them becomes the number at the beginning.

use history::Method;
use object::ValueId;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::relation::{Nodes, Relation, bits};
use super::{Engine, Invocation, PropagationEnd};

/// An inclusive range of the number that is held.
type Range = (i64, i64);

/// A point of the linearization: the beginning, an operation, or the end of all that returned.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Point {
    Begin,
    At(u32),
    End,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Counter {
    capacity: i64,
    held: i64,
    relation: Relation,
    invocations: Vec<Invocation>,
    open: FxHashMap<u32, u32>,
    returned: Nodes,
    /// Steps that happened, or may have.
    up: Nodes,
    down: Nodes,
    /// Steps that certainly happened.
    certain: Nodes,
    /// Tests that returned, with what they found.
    found_one: Nodes,
    found_none: Nodes,
    /// The operations that returned, or are before one that returned.
    ended: Nodes,
}

impl Counter {
    pub(super) fn new(capacity: u64) -> Self {
        Self {
            // A capacity larger than any number of operations is no limit.
            capacity: i64::from(u32::try_from(capacity).unwrap_or(u32::MAX)),
            held: 0,
            relation: Relation::default(),
            invocations: Vec::new(),
            open: FxHashMap::default(),
            returned: Nodes::default(),
            up: Nodes::default(),
            down: Nodes::default(),
            certain: Nodes::default(),
            found_one: Nodes::default(),
            found_none: Nodes::default(),
            ended: Nodes::default(),
        }
    }

    fn range_before(&self, y: Point) -> Range {
        match y {
            Point::Begin | Point::End => (0, self.capacity),
            Point::At(y) if self.found_one.contains(y) => (1, 1),
            Point::At(y) if self.found_none.contains(y) => (0, 0),
            Point::At(y) if self.up.contains(y) => (0, self.capacity - 1),
            Point::At(_) => (1, self.capacity),
        }
    }

    fn range_after(&self, x: Point) -> Range {
        match x {
            Point::Begin => (self.held, self.held),
            Point::End => (0, self.capacity),
            Point::At(x) if self.found_one.contains(x) => (1, 1),
            Point::At(x) if self.found_none.contains(x) => (0, 0),
            Point::At(x) if self.up.contains(x) => (1, self.capacity),
            Point::At(_) => (0, self.capacity - 1),
        }
    }

    fn certainly_between(&self, x: Point, y: Point, at: usize) -> u64 {
        let after = match x {
            Point::At(x) => self.relation.after(x).word(at),
            _ => u64::MAX,
        };
        let before = match y {
            Point::At(y) => self.relation.before(y).word(at),
            _ => self.ended.word(at),
        };
        after & before & self.certain.word(at)
    }

    fn possibly_between(&self, x: Point, y: Point, at: usize) -> u64 {
        let mut possible = u64::MAX;
        let own = |node: u32| if node as usize / 64 == at { 1 << (node % 64) } else { 0 };
        if let Point::At(x) = x {
            possible &= !self.relation.before(x).word(at) & !own(x);
        }
        if let Point::At(y) = y {
            possible &= !self.relation.after(y).word(at) & !own(y);
        }
        possible
    }

    /// Draws the consequences of the equation for x and y. Returns whether there were any.
    fn count(&mut self, x: Point, y: Point) -> Result<bool, PropagationEnd> {
        let is_ordered = match (x, y) {
            (Point::At(x), Point::At(y)) if self.relation.is_before(y, x) => return Ok(false),
            (Point::At(x), Point::At(y)) => self.relation.is_before(x, y),
            (Point::At(x), _) if !self.ended.contains(x) => return Ok(false),
            _ => true,
        };
        let words = self.up.words().max(self.down.words());
        let [mut up_certain, mut up_possible, mut down_certain, mut down_possible] = [0_i64; 4];
        for at in 0..words {
            let (certain, possible) = (self.certainly_between(x, y, at), self.possibly_between(x, y, at));
            let ones = |word: u64| i64::from(word.count_ones());
            up_certain += ones(certain & self.up.word(at));
            up_possible += ones(possible & self.up.word(at));
            down_certain += ones(certain & self.down.word(at));
            down_possible += ones(possible & self.down.word(at));
        }
        let ((least, most), (least_before, most_before)) = (self.range_after(x), self.range_before(y));
        let room = most_before - least - (up_certain - down_possible);
        let rest = (up_possible - down_certain) - (least_before - most);
        if room < 0 || rest < 0 {
            return match (x, y) {
                (Point::At(x), Point::At(y)) if !is_ordered => {
                    self.relation.order(y, x);
                    Ok(true)
                }
                _ => Err(PropagationEnd::Contradiction),
            };
        }
        if !is_ordered || (room > 0 && rest > 0) {
            return Ok(false);
        }
        let mut forced = Vec::new();
        for at in 0..words {
            let undecided = self.possibly_between(x, y, at) & !self.certainly_between(x, y, at);
            for (steps, goes_in) in [(self.up.word(at), rest == 0), (self.down.word(at), room == 0)] {
                forced.extend(bits(undecided & steps).map(|bit| (at as u32 * 64 + bit, goes_in)));
            }
        }
        let mut is_new = false;
        for (z, goes_in) in forced {
            // Only one of the two bounds is tight, since both can be tight only if every step is decided, and z is not.
            // So z goes in or out.
            is_new |= if goes_in { self.force_between(x, z, y) } else { self.force_out(x, z, y) };
        }
        Ok(is_new)
    }

    fn force_between(&mut self, x: Point, z: u32, y: Point) -> bool {
        let was_certain = self.certain.contains(z);
        self.certain.insert(z);
        if let Point::At(x) = x {
            self.relation.order(x, z);
        }
        if let Point::At(y) = y {
            self.relation.order(z, y);
        }
        !was_certain || !self.relation.news.is_empty() || self.relation.contradiction
    }

    fn force_out(&mut self, x: Point, z: u32, y: Point) -> bool {
        // An open addition or removal may turn out to have no effect. Then it may be between x and y.
        let may_be_none = matches!(self.invocations[z as usize].method, Method::Add | Method::Remove);
        if may_be_none && !self.certain.contains(z) {
            return false;
        }
        let is_after_begin = match x {
            Point::At(x) => self.relation.is_before(x, z),
            _ => true,
        };
        let is_before_end = match y {
            Point::At(y) => self.relation.is_before(z, y),
            _ => self.ended.contains(z),
        };
        match (x, y) {
            (_, Point::At(y)) if is_after_begin => self.relation.order(y, z),
            (Point::At(x), _) if is_before_end => self.relation.order(z, x),
            _ => {}
        }
        !self.relation.news.is_empty() || self.relation.contradiction
    }

    fn propagate(&mut self) -> Result<(), PropagationEnd> {
        loop {
            self.ended = self.returned.clone();
            for x in self.returned.iter() {
                self.ended.union(self.relation.before(x));
            }
            let mut points = self.certain.clone();
            points.union(&self.found_one);
            points.union(&self.found_none);
            let points: Vec<u32> = points.iter().collect();
            let ends: Vec<u32> = points.iter().copied().filter(|&y| self.returned.contains(y)).collect();
            let mut is_new = false;
            for x in std::iter::once(Point::Begin).chain(points.into_iter().map(Point::At)) {
                for y in ends.iter().copied().map(Point::At).chain([Point::End]).filter(|&y| y != x) {
                    is_new |= self.count(x, y)?;
                    PropagationEnd::unless(!self.relation.contradiction)?;
                    self.relation.news.clear();
                }
            }
            if !is_new {
                return Ok(());
            }
        }
    }

    fn forget(&mut self, node: u32) {
        self.relation.forget(node);
        let sets = [&mut self.returned, &mut self.up, &mut self.down, &mut self.certain];
        for set in sets.into_iter().chain([&mut self.found_one, &mut self.found_none]) {
            set.remove(node);
        }
    }
}

impl Engine for Counter {
    fn call(&mut self, number: u32, invocation: Invocation) {
        let node = self.relation.add(&self.returned);
        match self.invocations.get_mut(node as usize) {
            Some(place) => *place = invocation,
            None => self.invocations.push(invocation),
        }
        self.open.insert(number, node);
        match invocation.method {
            Method::Add | Method::Lock | Method::Acquire => self.up.insert(node),
            Method::Remove | Method::Unlock | Method::Release => self.down.insert(node),
            _ => {}
        }
    }

    fn return_(&mut self, number: u32, result: ValueId) -> Result<(), PropagationEnd> {
        let Some(node) = self.open.get(&number).copied() else { return Ok(()) };
        let method = self.invocations[node as usize].method;
        match (method, result) {
            (Method::Add | Method::Remove, ValueId::NONE) => return Ok(()),
            (Method::Contains, ValueId::NONE) => {
                self.open.remove(&number);
                self.forget(node);
                return Ok(());
            }
            (Method::Add | Method::Remove, ValueId::FALSE) => {
                PropagationEnd::unless(!self.certain.contains(node))?;
                self.up.remove(node);
                self.down.remove(node);
                if method == Method::Add { &mut self.found_one } else { &mut self.found_none }.insert(node);
            }
            (Method::Contains, ValueId::TRUE) => self.found_one.insert(node),
            (Method::Contains, _) => self.found_none.insert(node),
            _ => self.certain.insert(node),
        }
        self.open.remove(&number);
        self.returned.insert(node);
        self.propagate()
    }

    fn fail(&mut self, number: u32) -> Result<(), PropagationEnd> {
        let Some(node) = self.open.remove(&number) else { return Ok(()) };
        PropagationEnd::unless(!self.certain.contains(node))?;
        self.forget(node);
        self.propagate()
    }

    fn remembers(&self, _value: ValueId) -> bool {
        false
    }

    fn remove_matches(&mut self, _at_once: bool) {
        // The largest set of returned operations that are before all the rest. An operation that is not before all of
        // the rest belongs to the rest.
        let mut past = self.returned.clone();
        let mut rest: Vec<u32> = self.open.values().copied().collect();
        while let Some(y) = rest.pop() {
            let before = self.relation.before(y);
            let leaving: Vec<u32> = past.iter().filter(|&x| !before.contains(x)).collect();
            for x in leaving {
                past.remove(x);
                rest.push(x);
            }
        }
        for node in past.iter() {
            self.held += i64::from(self.up.contains(node)) - i64::from(self.down.contains(node));
            self.forget(node);
        }
    }

    fn size(&self) -> usize {
        self.relation.live.iter().count()
    }
}
