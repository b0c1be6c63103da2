//! The meanings of the names in one history, by their texts. The general reader enters them, and the fast reader looks
//! them up.

use history::Returns;
use history::history::{KeyId, MemoryOrder, Method, Object, ProcessId};

/// The meaning of the name of a method, and what follows the name.
#[derive(Copy, Clone, Debug)]
pub(super) struct Verb {
    pub method: Method,
    pub order: MemoryOrder,
    /// Whether a key follows the name.
    pub has_key: bool,
    /// How many values follow.
    pub values: u8,
    /// The length of the name.
    pub length: u8,
    /// The bytes of the name after the first eight, and a mask of where they are in a word.
    pub rest: u64,
    pub mask: u64,
}

impl Verb {
    const ANY: Self = Self {
        method: Method::Read,
        order: MemoryOrder::Plain,
        has_key: false,
        values: 0,
        length: 0,
        rest: 0,
        mask: 0,
    };
}

/// A hash table from short texts, packed into a word, to their meanings. The word zero marks a free slot. At most a
/// quarter of the slots is used, so that the first slot is mostly the right one.
struct Table<V> {
    slots: Vec<(u64, V)>,
    used: Vec<u32>,
}

impl<V: Copy> Table<V> {
    /// A table of `1 << log` slots. `any` fills the free slots.
    fn new(log: u32, any: V) -> Self {
        Self { slots: vec![(0, any); 1 << log], used: Vec::new() }
    }

    #[inline]
    fn first(&self, text: u64) -> usize {
        (text.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize & (self.slots.len() - 1)
    }

    #[inline]
    fn get(&self, text: u64) -> Option<&V> {
        let mut at = self.first(text);
        loop {
            let (known, value) = self.slots.get(at)?;
            if *known == text {
                return Some(value).filter(|_| text != 0);
            }
            if *known == 0 {
                return None;
            }
            at = (at + 1) & (self.slots.len() - 1);
        }
    }

    fn insert(&mut self, text: u64, value: V) {
        if 4 * self.used.len() >= self.slots.len() {
            let mut larger = Self { slots: vec![(0, value); 4 * self.slots.len()], used: Vec::new() };
            for &at in &self.used {
                let (text, value) = self.slots[at as usize];
                larger.insert(text, value);
            }
            *self = larger;
        }
        let mut at = self.first(text);
        while self.slots[at].0 != 0 && self.slots[at].0 != text {
            at = (at + 1) & (self.slots.len() - 1);
        }
        if self.slots[at].0 == 0 {
            self.used.push(at as u32);
        }
        self.slots[at] = (text, value);
    }

    fn clear(&mut self) {
        for at in self.used.drain(..) {
            self.slots[at as usize].0 = 0;
        }
    }
}

/// The names of this history that the fast reader knows, by their texts.
pub(in super::super) struct Seen {
    /// Processes of up to six bytes, packed together with the closing bracket.
    processes: Table<ProcessId>,
    /// Keys of up to eight bytes.
    keys: Table<KeyId>,
    /// Methods by their first eight bytes: methods that were called, and methods of instants of a memory.
    calls: Table<Verb>,
    accesses: Table<Verb>,
}

impl Default for Seen {
    fn default() -> Self {
        Self::new()
    }
}

/// The first eight bytes of a text as a word.
fn packed(text: &[u8]) -> u64 {
    text.iter().take(8).rev().fold(0, |word, &byte| word << 8 | u64::from(byte))
}

impl Seen {
    pub fn new() -> Self {
        Self {
            processes: Table::new(8, ProcessId(0)),
            keys: Table::new(8, KeyId::NONE),
            calls: Table::new(6, Verb::ANY),
            accesses: Table::new(6, Verb::ANY),
        }
    }

    /// Forgets all names, since another history begins.
    pub fn clear(&mut self) {
        self.processes.clear();
        self.keys.clear();
        self.calls.clear();
        self.accesses.clear();
    }

    #[inline]
    pub(super) fn process(&self, text: u64) -> Option<ProcessId> {
        self.processes.get(text).copied()
    }

    #[inline]
    pub(super) fn key(&self, text: u64) -> Option<KeyId> {
        self.keys.get(text).copied()
    }

    #[inline]
    pub(super) fn has_keys(&self) -> bool {
        !self.keys.used.is_empty()
    }

    #[inline]
    pub(super) fn called(&self, text: u64) -> Option<&Verb> {
        self.calls.get(text)
    }

    /// Whether any instant of a memory was read.
    #[inline]
    pub(super) fn knows_accesses(&self) -> bool {
        !self.accesses.used.is_empty()
    }

    #[inline]
    pub(super) fn access(&self, text: u64) -> Option<&Verb> {
        self.accesses.get(text)
    }

    /// Enters a process. `text` is its name with the closing bracket, as in the file. The bracket marks the end of the
    /// name, which may end in zero bytes.
    pub(super) fn insert_process(&mut self, text: &[u8], id: ProcessId) {
        if (2..=7).contains(&text.len()) {
            self.processes.insert(packed(text), id);
        }
    }

    /// Enters a key. `text` is its name without quotes, as in the file.
    pub(super) fn insert_key(&mut self, text: &[u8], id: KeyId) {
        if (1..=8).contains(&text.len()) {
            self.keys.insert(packed(text), id);
        }
    }

    /// Enters a method of that object. `text` is its name with the memory order, as in the file.
    pub(super) fn insert_verb(
        &mut self,
        text: &[u8],
        object: Object,
        method: Method,
        order: MemoryOrder,
        has_call: bool,
    ) {
        let is_memory = object == Object::Memory;
        if !(1..=16).contains(&text.len()) || !has_call && (!is_memory || text.len() > 8) {
            return;
        }
        let has_result = !has_call && method.returns() == Returns::Value;
        let values = [has_result, method == Method::Cas, method.takes_argument()];
        let rest = text.get(8..).unwrap_or_default();
        let verb = Verb {
            method,
            order,
            has_key: is_memory && method != Method::Fence,
            values: values.into_iter().map(u8::from).sum(),
            length: text.len() as u8,
            rest: packed(rest),
            mask: packed(&[0xff; 8][..rest.len()]),
        };
        let table = if has_call { &mut self.calls } else { &mut self.accesses };
        table.insert(packed(text), verb);
    }
}
