//! The common lines of a memory history, `[3] w x17 12345`, a field at a time in machine words.
//!
//! Each field is found and decoded without a branch on its length. A line that is not of exactly this shape, or whose process or key
//! has not been seen yet, is left to the general reader: this one only ever agrees with it.

use std::hint::select_unpredictable;

use super::super::builder::{Builder, MOST_EVENTS};
use super::super::swar::{digit_count, number, repeat, zeros};
use crate::history::{KeyId, MemoryOrder, Method, Operation, Outcome, ProcessId};
use crate::value::Value;

/// What the fast reader looks at in one line: more than the longest line of its shape.
const WINDOW: usize = 32;
const PROCESSES: usize = 1 << 10;
const KEYS_LOG: u32 = 12;
const UNKNOWN: u32 = u32::MAX;

/// Processes and keys that have been seen, by their text.
pub(in super::super) struct Seen {
    /// By number: processes named by small integers.
    processes: Vec<u32>,
    /// By hash of the packed text: keys of up to seven bytes. A text of zero is none.
    keys: Vec<(u64, u32)>,
    is_used: bool,
}

impl Default for Seen {
    fn default() -> Self {
        Self::new()
    }
}

impl Seen {
    pub fn new() -> Self {
        Self { processes: vec![UNKNOWN; PROCESSES], keys: vec![(0, UNKNOWN); 1 << KEYS_LOG], is_used: false }
    }

    /// Forgets all: another history begins.
    pub fn clear(&mut self) {
        if std::mem::take(&mut self.is_used) {
            self.processes.fill(UNKNOWN);
            self.keys.fill((0, UNKNOWN));
        }
    }

    pub fn insert_process(&mut self, name: Value, id: ProcessId) {
        let number = name.as_integer().and_then(|number| usize::try_from(number).ok());
        if let Some(slot) = number.and_then(|number| self.processes.get_mut(number)) {
            *slot = id.0;
            self.is_used = true;
        }
    }

    /// `text` is what stands in the file, bare.
    pub fn insert_key(&mut self, text: &[u8], id: KeyId) {
        if (1..8).contains(&text.len()) {
            let mut packed = [0; 8];
            packed[..text.len()].copy_from_slice(text);
            let packed = u64::from_le_bytes(packed);
            self.keys[slot(packed)] = (packed, id.0);
            self.is_used = true;
        }
    }
}

const fn slot(packed: u64) -> usize {
    (packed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - KEYS_LOG)) as usize
}

fn load(window: &[u8; WINDOW], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*window.get(at..)?.first_chunk()?))
}

/// Whether a number of that many digits begins with a needless zero, and so is a word.
const fn has_leading_zero(bytes: u64, count: u32) -> bool {
    count > 1 && bytes as u8 == b'0'
}

/// Appends the operations of as many lines as are of the common shape; returns how many bytes and lines they are.
pub(super) fn read_lines(builder: &mut Builder, seen: &Seen, bytes: &[u8], first_line: u32) -> (usize, u32) {
    let processes: &[u32; PROCESSES] = seen.processes.first_chunk().expect("as long as made");
    let operations = &mut builder.history.operations;
    let mut at = 0;
    let mut line = first_line;
    while operations.len() < MOST_EVENTS as usize
        && let Some(window) = bytes.get(at..).and_then(<[u8]>::first_chunk)
        && let Some((operation, length)) = read_line(processes, &seen.keys, window, line)
    {
        operations.push(operation);
        at += length;
        line += 1;
    }
    (at, line - first_line)
}

/// The operation of the first line, if it is of the common shape, and the length of the line.
#[inline]
pub(in super::super) fn read_fast(seen: &Seen, bytes: &[u8], line: u32) -> Option<(Operation, usize)> {
    let processes: &[u32; PROCESSES] = seen.processes.first_chunk().expect("as long as made");
    read_line(processes, &seen.keys, bytes.first_chunk()?, line)
}

#[inline]
fn read_line(
    processes: &[u32; PROCESSES],
    keys: &[(u64, u32)],
    window: &[u8; WINDOW],
    line: u32,
) -> Option<(Operation, usize)> {
    let start = load(window, 0)?;
    let digits = start >> 8;
    let count = digit_count(digits);
    if start as u8 != b'[' || !(1..=4).contains(&count) || has_leading_zero(digits, count) {
        return None;
    }
    let process = *processes.get(number(digits, count) as usize)?;
    let mut at = 1 + count as usize;

    let method = load(window, at)? as u32;
    // Reads and writes alternate at random, so which one it is must not be a branch: `r` and `w` differ in bits 0 and 2.
    let letter = method >> 16;
    let is_either = (method | 0x0005_0000) == u32::from_le_bytes(*b"] w ") && (letter ^ letter >> 2) & 1 == 0;
    if process == UNKNOWN || !is_either {
        return None;
    }
    let is_write = letter & 1 == 1;
    at += 4;

    let text = load(window, at)?;
    let spaces = zeros(text ^ repeat(b' '));
    let bits = spaces.trailing_zeros() & !7;
    if spaces == 0 {
        return None;
    }
    let packed = text & ((1 << bits) - 1);
    let (known, key) = *keys.get(slot(packed))?;
    if known != packed || key == UNKNOWN {
        return None;
    }
    at += bits as usize / 8 + 1;

    let digits = load(window, at)?;
    let count = digit_count(digits);
    if count == 0 || has_leading_zero(digits, count) {
        return None;
    }
    let value = Value::integer(number(digits, count) as i64)?;
    at += count as usize;
    if *window.get(at)? != b'\n' {
        return None;
    }

    let operation = Operation {
        process: ProcessId(process),
        key: KeyId(key),
        line,
        method: select_unpredictable(is_write, Method::Write, Method::Read),
        order: MemoryOrder::Plain,
        outcome: Outcome::Instant,
        argument: select_unpredictable(is_write, value, Value::NONE),
        result: select_unpredictable(is_write, Value::NONE, value),
    };
    Some((operation, at + 1))
}
