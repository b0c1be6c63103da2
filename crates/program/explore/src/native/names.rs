//! How the graph names what a run has: places are locations, and addresses are tokens.
//!
//! A graph outlives the run in which its events were made, and in the next run a place has another number, an object
//! another address. So the names of the graph have no meaning of their own. In each run they are bound to places and
//! addresses, one to one: first as the events of the graph say that are replayed, and then, for what is not in the
//! graph, by names that are free. So two events access one location, or have one token, if and only if in the run they
//! are about one place, or one address.
//!
//! A location has one initial value for ever, so a place gets a location that has its initial value.

use std::ops::Range;

use rustc_hash::FxHashMap;

use super::place::Kind;
use super::runtime::{Object, Run};
use crate::graph::NONE;
use crate::program::{Step, Update, Value};

/// A token stands for eight bytes, and its last three bits are those of the address: tags are kept there. Addresses
/// that no object has, null among them, stand for themselves.
const TOKENS: Range<Value> = 0x5E51_A000_0000_0000..0x5E51_B000_0000_0000;
const ADDRESSES: Range<Value> = 1 << 12..1 << 48;
const TAG: Value = 7;

#[derive(Debug, Default)]
pub(super) struct Names {
    /// By location: its initial value, and its place in this run.
    pub(super) initial: Vec<Value>,
    places: Vec<u32>,
    /// The locations with an initial value.
    with_initial: FxHashMap<Value, Vec<u32>>,
    /// By place: its location in an earlier run, which is a good guess.
    guesses: Vec<u32>,
    /// By token: its address in this run, or 0; and the other way round.
    addresses: Vec<Value>,
    tokens: FxHashMap<Value, Value>,
    /// All tokens below have addresses.
    free_token: usize,
}

impl Names {
    /// The same names for another worker: those of locations. What they stand for depends on the run.
    pub(super) fn share(&self) -> Self {
        Self {
            initial: self.initial.clone(),
            places: vec![NONE; self.places.len()],
            with_initial: self.with_initial.clone(),
            guesses: self.guesses.clone(),
            ..Self::default()
        }
    }

    /// The place of a location in this run, if it has one.
    pub(super) fn place(&self, location: u32) -> Option<u32> {
        self.places.get(location as usize).copied().filter(|&place| place != NONE)
    }

    /// Another run begins.
    pub(super) fn clear(&mut self) {
        self.places.fill(NONE);
        self.addresses.fill(0);
        self.tokens.clear();
        self.free_token = 0;
    }

    /// The name of a value: a token if it is an address.
    #[inline]
    fn value(&mut self, value: Value, kind: Kind, run: &Run) -> Value {
        let is_address = match kind {
            Kind::Number | Kind::Own | Kind::Chance(_) => return value,
            Kind::Wide => run.is_allocated(value),
            Kind::Address => ADDRESSES.contains(&value),
        };
        assert!(!TOKENS.contains(&value), "the value {value:#x} has a meaning of its own here");
        if is_address { self.token(value & !TAG) | value & TAG } else { value }
    }

    fn token(&mut self, address: Value) -> Value {
        if let Some(&token) = self.tokens.get(&address) {
            return token;
        }
        while self.addresses.get(self.free_token).is_some_and(|&bound| bound != 0) {
            self.free_token += 1;
        }
        let token = TOKENS.start + (self.free_token as Value) * (TAG + 1);
        self.bind(address, token);
        token
    }

    fn bind(&mut self, address: Value, token: Value) {
        let at = index(token);
        if self.addresses.len() <= at {
            self.addresses.resize(at + 1, 0);
        }
        self.addresses[at] = address;
        self.tokens.insert(address, token);
    }

    /// Binds an address as the graph says. False if it is bound in another way, or is none.
    fn adopt(&mut self, value: Value, kind: Kind, named: Value) -> bool {
        if kind.is_number() || !TOKENS.contains(&named) {
            return value == named;
        }
        let (address, token) = (value & !TAG, named & !TAG);
        if value & TAG != named & TAG || !ADDRESSES.contains(&value) {
            return false;
        }
        match self.tokens.get(&address) {
            Some(&other) => other == token,
            None if self.addresses.get(index(token)).is_none_or(|&bound| bound == 0) => {
                self.bind(address, token);
                true
            }
            None => false,
        }
    }

    /// The value that has this name.
    #[inline]
    pub(super) fn meaning(&self, named: Value, kind: Kind) -> Value {
        if kind.is_number() || !TOKENS.contains(&named) {
            return named;
        }
        self.addresses[index(named)] | named & TAG
    }

    /// The location of a place.
    #[inline]
    fn location(&mut self, place: u32, objects: &mut [Object], run: &Run) -> u32 {
        let object = &mut objects[place as usize];
        if object.location != NONE {
            return object.location;
        }
        let initial = self.value(object.value, object.kind, run);
        let guess = self.guesses.get(place as usize).copied().unwrap_or(NONE);
        let is_free = |location: u32| self.places[location as usize] == NONE;
        let location = if guess != NONE && is_free(guess) && self.initial[guess as usize] == initial {
            guess
        } else {
            let known = self.with_initial.get(&initial).and_then(|all| all.iter().copied().find(|&it| is_free(it)));
            known.unwrap_or_else(|| {
                let new = self.initial.len() as u32;
                self.initial.push(initial);
                self.places.push(NONE);
                self.with_initial.entry(initial).or_default().push(new);
                new
            })
        };
        self.bind_location(place, object, location);
        location
    }

    fn bind_location(&mut self, place: u32, object: &mut Object, location: u32) {
        object.location = location;
        self.places[location as usize] = place;
        if self.guesses.len() <= place as usize {
            self.guesses.resize(place as usize + 1, NONE);
        }
        self.guesses[place as usize] = location;
    }

    /// Binds a place as the graph says. False if it is bound in another way.
    fn adopt_location(&mut self, place: u32, location: u32, objects: &mut [Object]) -> bool {
        let object = &mut objects[place as usize];
        if object.location != NONE {
            return object.location == location;
        }
        let Some(&initial) = self.initial.get(location as usize) else { return false };
        let is_free = self.places[location as usize] == NONE;
        let has_value = self.adopt(object.value, object.kind, initial);
        if is_free && has_value {
            self.bind_location(place, object, location);
        }
        is_free && has_value
    }

    /// Gives a step of the run the names of the graph.
    pub(super) fn name(&mut self, step: &mut Step, kind: Kind, objects: &mut [Object], run: &Run) {
        if let Some(place) = step.location() {
            set_location(step, self.location(place, objects, run));
            if !kind.is_number() {
                change_values(step, |value| self.value(value, kind, run));
            }
        }
    }

    /// Whether a step of the run is a step of the graph. Names that are free are bound.
    pub(super) fn is_same(&mut self, step: &Step, kind: Kind, named: &Step, objects: &mut [Object]) -> bool {
        let (Some(place), Some(location)) = (step.location(), named.location()) else { return step == named };
        if !self.adopt_location(place, location, objects) {
            return false;
        }
        let mut step = *step;
        set_location(&mut step, location);
        if kind.is_number() {
            return step == *named;
        }
        let (mut values, mut count) = ([0; 2], 0);
        change_values(&mut { *named }, |value| {
            values[count] = value;
            count += 1;
            value
        });
        let (mut at, mut is_same) = (0, true);
        change_values(&mut step, |value| {
            is_same &= at < count && self.adopt(value, kind, values[at]);
            at += 1;
            values[at - 1]
        });
        is_same && step == *named
    }
}

/// The number of the object that a token stands for, from 1, and its tag. None if it is no token.
pub(super) fn token_number(value: Value) -> Option<(usize, Value)> {
    TOKENS.contains(&value).then(|| (index(value) + 1, value & TAG))
}

/// The number of a token.
fn index(token: Value) -> usize {
    ((token - TOKENS.start) / (TAG + 1)) as usize
}

#[inline]
fn set_location(step: &mut Step, to: u32) {
    match step {
        Step::Read { location, .. }
        | Step::Write { location, .. }
        | Step::Rmw { location, .. }
        | Step::Access { location, .. } => *location = to,
        _ => {}
    }
}

/// Gives a step other values; there are at most two.
#[inline]
fn change_values(step: &mut Step, mut change: impl FnMut(Value) -> Value) {
    match step {
        Step::Write { value, .. } | Step::Rmw { update: Update::Set(value), .. } => *value = change(*value),
        Step::Rmw { update: Update::CompareExchange { expected, new }, .. } => {
            *expected = change(*expected);
            *new = change(*new);
        }
        _ => {}
    }
}
