//! Strings by key: `get => text`, `put text`, `append text`. Each key is a string of its own.
//!
//! A state is a number; equal texts have the same number. A text is a value of the history, or another text with a
//! value appended. A text is found by its hash, which each step updates. Texts are compared only if their hashes agree.

mod fast;

use history::{Method, Object, Value};

use super::{BuiltIn, Machine, Specification};
use crate::shards::Shards;
use crate::view::{Call, Part, ValueId};

pub(super) const BUILT_IN: BuiltIn =
    BuiltIn { has_initial: true, fast: fast::check, ..BuiltIn::new::<Text>(Object::KeyValue) };

const BASE: u64 = 0x9e37_79b9_7f4a_7c15;
const NONE: u32 = u32::MAX;

#[derive(Copy, Clone, Debug)]
struct Node {
    /// The text before the last piece; [`NONE`] if there is only one piece.
    before: u32,
    /// The value that is the last piece.
    piece: u32,
    length: usize,
    hash: u64,
    /// Another text of the same hash; [`NONE`] if there is none.
    other: u32,
}

/// A string. No value (`null`) is the empty string.
#[derive(Clone, Debug)]
pub(super) struct Text {
    pieces: Vec<Box<[u8]>>,
    /// The text of each value, and [`BASE`] to the power of its length.
    of_value: Vec<(u32, u64)>,
    nodes: Vec<Node>,
    /// A text of each hash.
    by_hash: Shards<u64, u32>,
    /// For each value that was read: the hashes of its beginnings, by their lengths.
    beginnings: Vec<Box<[u64]>>,
    initial: ValueId,
}

impl Specification for Text {
    fn new(part: &Part) -> Self {
        let show = |value: Value| if value == Value::NULL { String::new() } else { part.history.show(value) };
        let mut text = Self {
            pieces: part.values.iter().map(|value| show(value).into_bytes().into_boxed_slice()).collect(),
            of_value: Vec::with_capacity(part.values.len()),
            nodes: Vec::new(),
            by_hash: Shards::default(),
            beginnings: vec![Box::default(); part.values.len()],
            initial: part.initial,
        };
        for at in 0..text.pieces.len() {
            let piece = &text.pieces[at];
            let power = piece.iter().fold(1_u64, |power, _| power.wrapping_mul(BASE));
            let hash = hashes(piece).last().unwrap_or(0);
            let node = Node { before: NONE, piece: at as u32, length: piece.len(), hash, other: NONE };
            let number = text.number(node);
            text.of_value.push((number, power));
        }
        for result in part.calls.iter().map(|call| call.result).filter(|result| result.is_index()) {
            let beginnings = &mut text.beginnings[result.index()];
            if beginnings.is_empty() {
                *beginnings = hashes(&text.pieces[result.index()]).collect();
            }
        }
        text
    }
}

impl Text {
    /// Whether a text may be a beginning of that value; of no value, any text may be. If not, their hashes differ.
    fn may_begin(&self, text: u32, value: ValueId) -> bool {
        if !value.is_index() {
            return true;
        }
        let Node { length, hash, .. } = self.nodes[text as usize];
        self.beginnings[value.index()].get(length) == Some(&hash)
    }

    fn number(&mut self, node: Node) -> u32 {
        let first = self.by_hash.get(&node.hash);
        let mut known = first.unwrap_or(NONE);
        while known != NONE {
            if self.are_same(self.nodes[known as usize], node) {
                return known;
            }
            known = self.nodes[known as usize].other;
        }
        let number = self.nodes.len() as u32;
        self.by_hash.replace(node.hash, number);
        self.nodes.push(Node { other: first.unwrap_or(NONE), ..node });
        number
    }

    /// Compares two texts from their ends.
    fn are_same(&self, mut a: Node, mut b: Node) -> bool {
        if a.length != b.length {
            return false;
        }
        let mut one = &*self.pieces[a.piece as usize];
        let mut other = &*self.pieces[b.piece as usize];
        loop {
            let length = one.len().min(other.len());
            let (one_rest, one_end) = one.split_at(one.len() - length);
            let (other_rest, other_end) = other.split_at(other.len() - length);
            if one_end != other_end {
                return false;
            }
            if one_rest.is_empty() && other_rest.is_empty() && a.before == b.before {
                return true;
            }
            (one, other) = (one_rest, other_rest);
            if one.is_empty() && a.before != NONE {
                a = self.nodes[a.before as usize];
                one = &self.pieces[a.piece as usize];
            }
            if other.is_empty() && b.before != NONE {
                b = self.nodes[b.before as usize];
                other = &self.pieces[b.piece as usize];
            }
            // Only empty pieces can be left: the lengths agree, so no text is left on either side.
            if one.is_empty() && other.is_empty() && a.before == NONE && b.before == NONE {
                return true;
            }
        }
    }
}

/// The hashes of the beginnings of a text, the empty one first.
fn hashes(text: &[u8]) -> impl Iterator<Item = u64> {
    let next = |hash: &mut u64, &byte: &u8| {
        *hash = hash.wrapping_mul(BASE).wrapping_add(u64::from(byte) + 1);
        Some(*hash)
    };
    std::iter::once(0).chain(text.iter().scan(0_u64, next))
}

impl Machine for Text {
    type State = u32;

    fn initial(&mut self) -> u32 {
        self.of_value[self.initial.index()].0
    }

    fn steps(&mut self, &state: &u32, call: &Call, next: &mut Vec<(u32, ValueId)>) {
        match call.method {
            Method::Put => next.push((self.of_value[call.argument.index()].0, ValueId::NONE)),
            Method::Append => {
                let (suffix, power) = self.of_value[call.argument.index()];
                let (before, suffix) = (self.nodes[state as usize], self.nodes[suffix as usize]);
                let appended = self.number(Node {
                    before: state,
                    piece: call.argument.0,
                    length: before.length + suffix.length,
                    hash: before.hash.wrapping_mul(power).wrapping_add(suffix.hash),
                    other: NONE,
                });
                next.push((appended, ValueId::NONE));
            }
            Method::Get if call.result == ValueId::NONE => next.push((state, ValueId::NONE)),
            Method::Get if self.of_value[call.result.index()].0 == state => next.push((state, call.result)),
            _ => {}
        }
    }

    fn is_on_the_way(&mut self, &state: &u32, goal: &Call) -> bool {
        self.may_begin(state, goal.result)
    }

    fn prepares(&self, call: &Call, goal: &Call) -> bool {
        call.method == Method::Put && self.may_begin(self.of_value[call.argument.index()].0, goal.result)
    }

    fn observes(&self, call: &Call) -> bool {
        call.method == Method::Get
    }
}
