//! Which memory is which location of the graph.
//!
//! Memory is divided into *words* of 8 bytes. What atomic operations access is *marked*: it is a location with a value.
//! All else of a word is divided into *cells* of 8, 4 or 1 bytes, as small as some access needs, which are checked for
//! data races and have no value.
//!
//! What is learnt of a word (its marks, the size of its cells, that several threads access it) stays for good. If it
//! comes too late for the exploration at hand, this begins again. So a location is the same memory throughout.

use rustc_hash::FxHashMap;

use crate::space;

const NONE: u32 = u32::MAX;

/// A location of the graph.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Location {
    /// Where it is; 0 if it is nowhere.
    pub(crate) address: usize,
    pub(crate) size: u8,
    pub(crate) initial: i64,
    /// Whether it is marked.
    pub(crate) is_marked: bool,
}

#[derive(Copy, Clone, Debug)]
struct Word {
    /// Whether a thread accesses it that does not own it.
    is_shared: bool,
    /// The size of its cells; 0 if that is not known yet.
    cell: u8,
    /// By byte: the size of the mark that begins there.
    marks: [u8; 8],
    /// By byte: the location that begins there.
    locations: [u32; 8],
}

impl Word {
    const NEW: Self = Self { is_shared: false, cell: 0, marks: [0; 8], locations: [NONE; 8] };

    fn marked(&self) -> impl Iterator<Item = (usize, usize)> {
        let marks = self.marks;
        (0..8).filter(move |&at| marks[at] > 0).map(move |at| (at, usize::from(marks[at])))
    }

    /// Whether nothing was accessed yet but by marks.
    fn has_cells(&self) -> bool {
        (0..8).any(|at| self.locations[at] != NONE && self.marks[at] == 0)
    }
}

/// A part of a plain access.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Cell(u32),
    Marked(u32),
    /// It cuts a mark of this address and size.
    Cuts(usize, u8),
}

/// All locations.
#[derive(Debug, Default)]
pub(crate) struct Places {
    words: FxHashMap<usize, Word>,
    pub(crate) locations: Vec<Location>,
    /// Locations that are nowhere in memory, by thread and number.
    tokens: FxHashMap<(u32, u32), u32>,
    /// Whether something was learnt too late.
    pub(crate) is_outdated: bool,
    is_settled: bool,
}

impl Places {
    /// The exploration begins again.
    pub(crate) fn begin(&mut self) {
        self.locations.clear();
        self.tokens.clear();
        #[allow(clippy::iter_over_hash_type, reason = "each is made the same, in any order")]
        for word in self.words.values_mut() {
            word.locations = [NONE; 8];
        }
        self.is_outdated = false;
        self.is_settled = false;
    }

    /// From here on what is written is an event: what is in memory now is what locations have at first.
    pub(crate) fn settle(&mut self) {
        if !std::mem::replace(&mut self.is_settled, true) {
            for location in self.locations.iter_mut().filter(|location| location.is_marked && location.address != 0) {
                location.initial = space::number(location.address, location.size);
            }
        }
    }

    fn add(&mut self, address: usize, size: u8, is_marked: bool) -> u32 {
        let initial = if is_marked && address != 0 { space::number(address, size) } else { 0 };
        self.locations.push(Location { address, size, initial, is_marked });
        self.locations.len() as u32 - 1
    }

    /// A location that is nowhere in memory.
    pub(crate) fn token(&mut self, thread: u32, number: u32) -> u32 {
        if let Some(&known) = self.tokens.get(&(thread, number)) {
            return known;
        }
        let new = self.add(0, 8, true);
        self.tokens.insert((thread, number), new);
        new
    }

    /// Whether something is known of a word with one of these bytes.
    #[inline]
    pub(crate) fn knows(&self, address: usize, size: usize) -> bool {
        (address >> 3..=(address + size.max(1) - 1) >> 3).any(|word| self.words.contains_key(&word))
    }

    /// Whether a byte belongs to a mark.
    pub(crate) fn is_marked(&self, address: usize) -> bool {
        let word = self.words.get(&(address >> 3));
        word.is_some_and(|word| word.marked().any(|(at, size)| (at..at + size).contains(&(address & 7))))
    }

    /// Whether a byte belongs to a mark, or is shared.
    pub(crate) fn is_public(&self, address: usize) -> bool {
        self.words.get(&(address >> 3)).is_some_and(|word| word.is_shared) || self.is_marked(address)
    }

    /// These bytes are accessed by a thread that does not own them. The answer is whether that is news.
    pub(crate) fn share(&mut self, address: usize, size: usize) -> bool {
        let mut is_news = false;
        for word in address >> 3..=(address + size.max(1) - 1) >> 3 {
            let word = self.words.entry(word).or_insert(Word::NEW);
            is_news |= !word.is_shared;
            word.is_shared = true;
        }
        self.is_outdated |= is_news;
        is_news
    }

    /// The location of an atomic of which it is known.
    #[inline]
    pub(crate) fn location(&self, address: usize, size: u8) -> Option<u32> {
        let word = self.words.get(&(address >> 3))?;
        (word.marks[address & 7] == size).then_some(word.locations[address & 7]).filter(|&location| location != NONE)
    }

    /// The location of an atomic. If its memory is a thread's own, what is written there is not known before it is
    /// marked. An error is the mark that it overlaps.
    pub(crate) fn marked(&mut self, address: usize, size: u8, is_own: bool) -> Result<u32, (usize, u8)> {
        let at = address & 7;
        let word = self.words.entry(address >> 3).or_insert(Word::NEW);
        if word.marks[at] == size {
            if word.locations[at] == NONE {
                let new = self.add(address, size, true);
                if let Some(word) = self.words.get_mut(&(address >> 3)) {
                    word.locations[at] = new;
                }
                return Ok(new);
            }
            return Ok(word.locations[at]);
        }
        let end = at + usize::from(size);
        if let Some((other, size)) = word.marked().find(|&(other, size)| other < end && at < other + size) {
            return Err(((address & !7) + other, size as u8));
        }
        word.marks[at] = size;
        let is_late = is_own || word.has_cells();
        self.is_outdated |= is_late;
        let new = self.add(address, size, true);
        if let Some(word) = self.words.get_mut(&(address >> 3)) {
            word.locations[at] = new;
        }
        Ok(new)
    }

    /// The parts of a plain access. If the memory is a thread's own, only what is shared or marked counts.
    pub(crate) fn parts(&mut self, address: usize, size: usize, is_own: bool, parts: &mut Vec<Part>) {
        let end = address + size;
        let mut at = address;
        while at < end {
            let (number, low) = (at >> 3, at & 7);
            let high = (end - (at & !7)).min(8);
            at = (at & !7) + 8;
            let word = match self.words.get(&number) {
                None if is_own => continue,
                None => Word::NEW,
                Some(word) => *word,
            };
            self.parts_of(number, word, low, high, is_own, parts);
        }
    }

    fn parts_of(&mut self, number: usize, word: Word, low: usize, high: usize, is_own: bool, parts: &mut Vec<Part>) {
        let start = number << 3;
        let mut is_marked = [false; 8];
        for (at, size) in word.marked() {
            if at >= high || low >= at + size {
                continue;
            }
            is_marked[at..at + size].fill(true);
            if low <= at && at + size <= high {
                let mut location = word.locations[at];
                if location == NONE {
                    location = self.add(start + at, size as u8, true);
                    self.words.entry(number).or_insert(word).locations[at] = location;
                }
                parts.push(Part::Marked(location));
            } else {
                parts.push(Part::Cuts(start + at, size as u8));
            }
        }
        if is_own && !word.is_shared || is_marked[low..high].iter().all(|&is| is) {
            return;
        }
        let least_mark = word.marked().map(|(_, size)| size).min();
        let needed = match (low, high) {
            _ if least_mark.is_some_and(|size| size < 4) => 1,
            (0, 8) if least_mark.is_none() => 8,
            _ if (low | high).is_multiple_of(4) => 4,
            _ => 1,
        };
        if word.cell == 0 || needed < word.cell {
            if word.cell != 0 {
                // Smaller cells than those that there were.
                self.is_outdated = true;
            }
            let word = self.words.entry(number).or_insert(word);
            word.cell = needed;
            if self.is_outdated {
                return;
            }
        }
        let cell = usize::from(self.words.get(&number).map_or(needed, |word| word.cell));
        for at in (low..high).step_by(cell) {
            if is_marked[at] {
                continue;
            }
            let known = self.words.get(&number).map_or(NONE, |word| word.locations[at]);
            let location = if known == NONE {
                let new = self.add(start + at, cell as u8, false);
                self.words.entry(number).or_insert(word).locations[at] = new;
                new
            } else {
                known
            };
            parts.push(Part::Cell(location));
        }
    }
}
