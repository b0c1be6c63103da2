//! Decides a string with `get`, `put` and `append`, if each text that was read can be put together in one way only.
//!
//! A get that returned a text tells how it came about: which put (or the initial text) and which appends, in which
//! order. So it tells which operation made each of these states from which (see [`super::chains`]). Each text is taken
//! apart from its beginning to its end, and the ways to do so are counted. If there are two, or if one of the pieces
//! was written twice, the algorithm declines. Writes that nobody saw may have any text, even one that was written
//! before. To append nothing changes nothing.

use history::{Method, Value};
use rustc_hash::FxHashMap;

use crate::answer::Answer;
use crate::chains::{self, INITIAL, Link, NONE, Unlinked};
use crate::view::{Part, ValueId};

/// Decides a string.
pub fn check(part: &Part, witness: bool) -> Answer {
    let texts: Vec<Box<[u8]>> = part.values.iter().map(|value| bytes(part, value)).collect();
    let written_twice = Unlinked::Ambiguous("a text that was read may have been put together in several ways");
    chains::check(part, witness, |part| links(part, &texts, written_twice))
}

fn bytes(part: &Part, value: Value) -> Box<[u8]> {
    if value == Value::NULL { Box::default() } else { part.history.show(value).into_bytes().into_boxed_slice() }
}

/// The texts that are put, or those that are appended: by text the operation, and whether it is the only one.
#[derive(Default)]
struct Pieces<'a> {
    of: FxHashMap<&'a [u8], (u32, bool)>,
    /// Which lengths they have, in increasing order.
    lengths: Vec<usize>,
}

impl<'a> Pieces<'a> {
    fn insert(&mut self, text: &'a [u8], at: u32) {
        self.of.entry(text).and_modify(|piece| piece.1 = false).or_insert((at, true));
        if let Err(place) = self.lengths.binary_search(&text.len()) {
            self.lengths.insert(place, text.len());
        }
    }

    /// The pieces that a text begins with, each with its length.
    fn at_start(&self, text: &[u8]) -> impl Iterator<Item = (usize, (u32, bool))> {
        let fitting = self.lengths.iter().take_while(|&&length| length <= text.len());
        fitting.filter_map(|&length| Some((length, *self.of.get(&text[..length])?)))
    }
}

/// How many ways there are to put together a beginning of a text, and the last piece of one of them.
#[derive(Copy, Clone)]
struct Ways {
    is_one: bool,
    maker: u32,
    /// How long the beginning is without this piece; [`NONE`] if there is no other piece.
    before: u32,
}

fn links(part: &Part, texts: &[Box<[u8]>], ambiguous: Unlinked) -> Result<Vec<Link>, Unlinked> {
    let text = |id: ValueId| &*texts[id.index()];
    let (mut puts, mut appends) = (Pieces::default(), Pieces::default());
    let mut links = Vec::with_capacity(part.calls.len());
    for (at, call) in (0..).zip(part.calls) {
        let is_append = call.method == Method::Append;
        let changes = call.method == Method::Put || is_append && !text(call.argument).is_empty();
        if changes {
            (if is_append { &mut appends } else { &mut puts }).insert(text(call.argument), at);
        }
        links.push(if changes { Link::MAKES } else { Link::FREE });
    }
    // For each value: the last maker of that text.
    let mut makers = vec![NONE; texts.len()];
    let mut apart = Apart {
        puts: &puts,
        appends: &appends,
        initial: text(part.initial),
        ways: Vec::new(),
        lookups: 0,
        lookups_per_byte: part.knobs.chains.lookups,
    };
    for at in 0..part.calls.len() {
        let call = &part.calls[at];
        if call.method != Method::Get || call.result == ValueId::NONE {
            continue;
        }
        let maker = &mut makers[call.result.index()];
        if *maker == NONE {
            *maker = apart.take(text(call.result), &mut links, ambiguous)?;
        }
        links[at] = Link::sees(*maker);
    }
    Ok(links)
}

/// Takes texts apart.
struct Apart<'a> {
    puts: &'a Pieces<'a>,
    appends: &'a Pieces<'a>,
    initial: &'a [u8],
    /// For each length of a beginning of the text: the ways to put it together.
    ways: Vec<Option<Ways>>,
    lookups: usize,
    /// How many pieces are looked up for each byte of the text before the algorithm declines.
    lookups_per_byte: usize,
}

impl Apart<'_> {
    /// Takes a text apart, and links its makers. Returns the last of them.
    fn take(&mut self, text: &[u8], links: &mut [Link], ambiguous: Unlinked) -> Result<u32, Unlinked> {
        self.ways.clear();
        self.ways.resize(text.len() + 1, None);
        let most = self.lookups_per_byte * (text.len() + 1);
        self.lookups = 0;
        if text.starts_with(self.initial) {
            self.add(self.initial.len(), INITIAL, NONE, true);
        }
        for (length, (put, is_only)) in self.puts.at_start(text) {
            self.add(length, put, NONE, is_only);
        }
        self.lookups += self.puts.lengths.len();
        for start in 0..text.len() {
            let Some(Ways { is_one, .. }) = self.ways[start] else { continue };
            for (length, (append, is_only)) in self.appends.at_start(&text[start..]) {
                self.add(start + length, append, start as u32, is_only && is_one);
            }
            self.lookups += self.appends.lengths.len();
            if self.lookups > most.max(4 * self.appends.lengths.len()) {
                return Err(ambiguous);
            }
        }
        let Ways { is_one, maker: last, .. } = self.ways[text.len()].ok_or(Unlinked::Impossible)?;
        if !is_one {
            return Err(ambiguous);
        }
        let mut length = text.len();
        while let Some(Ways { maker, before, .. }) = self.ways[length].filter(|ways| ways.before != NONE) {
            length = before as usize;
            let seen = self.ways[length].map_or(NONE, |ways| ways.maker);
            let link = &mut links[maker as usize];
            if link.sees != NONE && link.sees != seen {
                // It would have been appended to two texts.
                return Err(Unlinked::Impossible);
            }
            link.sees = seen;
        }
        Ok(last)
    }

    fn add(&mut self, length: usize, maker: u32, before: u32, is_one: bool) {
        let ways = &mut self.ways[length];
        *ways = Some(Ways { is_one: is_one && ways.is_none(), maker, before });
    }
}
