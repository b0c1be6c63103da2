//! Vector clocks as lists of the entries that say something.
//!
//! If there are many chains of few events each, an event knows of few of them. Then a clock with an entry for each
//! chain is mostly empty, and the clocks of all events take far more memory than what they say. Here the clock of an
//! event is a list of pairs `(chain, end)`, sorted by chain: the events of that chain numbered below `end` are before
//! the event. A chain that is not in the list has no event before it. The own chain of the event is not in the list,
//! because the number of the event says it. So events that learn nothing new share the list of the event before them.

/// An entry of a clock: a chain, and the first of its events that is not known.
pub type Entry = (u32, u32);

/// The clocks of events that are done one after the other, as lists. See the [module](self).
///
/// ```
/// use order::ClockLists;
///
/// // Three chains: events 0 and 1, event 2, events 3 and 4.
/// let mut clocks = ClockLists::new(3, 5, usize::MAX);
/// clocks.keep(0, 0);
/// clocks.keep(2, 1);
/// assert_eq!(clocks.join(1, 0, 0), Some(true));
/// clocks.keep(3, 2);
/// assert_eq!(clocks.join(2, 0, 0), Some(true));
/// assert_eq!(clocks.join(2, 0, 0), Some(false));
/// clocks.keep(4, 2);
/// assert_eq!(clocks.of(3), []);
/// assert_eq!(clocks.of(4), [(0, 1)]);
/// assert!(clocks.knows(4, 0, 0) && !clocks.knows(4, 2, 1));
/// ```
#[derive(Clone, Debug)]
pub struct ClockLists {
    /// By event: the number of its list.
    numbers: Vec<u32>,
    /// By chain: the list of its last event that was done.
    running: Vec<u32>,
    /// Where each list begins, and where the last ends. The first list is empty.
    begins: Vec<usize>,
    entries: Vec<Entry>,
    /// How many entries there may be.
    most: usize,
}

impl ClockLists {
    /// The clocks of so many chains and events. No event is done yet. There is room for `most` entries.
    pub fn new(chains: usize, events: usize, most: usize) -> Self {
        Self { numbers: vec![0; events], running: vec![0; chains], begins: vec![0, 0], entries: Vec::new(), most }
    }

    fn list(&self, number: u32) -> &[Entry] {
        &self.entries[self.begins[number as usize]..self.begins[number as usize + 1]]
    }

    /// The clock of an event that was kept, without the own chain of the event.
    pub fn of(&self, event: u32) -> &[Entry] {
        self.list(self.numbers[event as usize])
    }

    /// The clock of the last event of a chain that was done, with all that was joined since, without the chain itself.
    pub fn running(&self, chain: usize) -> &[Entry] {
        self.list(self.running[chain])
    }

    /// Adds an event, of the chain `of`, and the past of that event to the running clock of a chain. The answer is
    /// whether this changed the running clock. It is `None` if there is no room for more entries.
    pub fn join(&mut self, chain: usize, event: u32, of: usize) -> Option<bool> {
        if chain == of {
            return Some(false);
        }
        let number = self.running[chain];
        let ranges = [number, self.numbers[event as usize]]
            .map(|number| self.begins[number as usize]..self.begins[number as usize + 1]);
        let [mut own, mut other] = ranges;
        if self.entries.len() + own.len() + other.len() + 1 > self.most {
            return None;
        }
        let begin = self.entries.len();
        let mut changed = false;
        let mut itself = Some((of as u32, event + 1));
        loop {
            // The next entry of the past of the event: from its list, or its own.
            let known = if other.is_empty() { None } else { Some(self.entries[other.start]) };
            let next = match (known, itself) {
                (Some(known), Some(event)) if known.0 > event.0 => Some(event),
                (None, event) => event,
                (known, _) => known,
            };
            let mine = if own.is_empty() { None } else { Some(self.entries[own.start]) };
            let entry = match (mine, next) {
                (None, None) => break,
                (Some(mine), Some(next)) if mine.0 == next.0 => {
                    changed |= next.1 > mine.1;
                    (mine.0, mine.1.max(next.1))
                }
                (Some(mine), next) if next.is_none_or(|next| mine.0 < next.0) => mine,
                (_, Some(next)) => {
                    changed |= next.0 as usize != chain;
                    next
                }
                (Some(mine), None) => mine,
            };
            own.start += usize::from(mine.is_some_and(|mine| mine.0 == entry.0));
            if next.is_some_and(|next| next.0 == entry.0) {
                if known == next { other.start += 1 } else { itself = None }
            }
            if entry.0 as usize != chain {
                self.entries.push(entry);
            }
        }
        if changed {
            self.running[chain] = self.begins.len() as u32 - 1;
            self.begins.push(self.entries.len());
        } else {
            self.entries.truncate(begin);
        }
        Some(changed)
    }

    /// Keeps the running clock of a chain as that of its last event.
    pub fn keep(&mut self, event: u32, chain: usize) {
        self.numbers[event as usize] = self.running[chain];
    }

    /// Whether an event, of the chain `of`, is in the past of an event of another chain that was kept.
    pub fn knows(&self, event: u32, other: u32, of: usize) -> bool {
        end_in(self.of(event), of as u32) > other
    }
}

/// The entry of a chain in a list; zero if it has none.
pub fn end_in(list: &[Entry], chain: u32) -> u32 {
    list.binary_search_by_key(&chain, |&(of, _)| of).map_or(0, |at| list[at].1)
}

#[cfg(test)]
mod tests {
    use crate::Clocks;

    use super::*;

    /// The lists say what clocks of full width say.
    #[test]
    fn lists_and_clocks_say_the_same() {
        const CHAINS: usize = 7;
        const EVENTS: u32 = 6;
        let starts: Vec<u32> = (0..=CHAINS as u32).map(|chain| chain * EVENTS).collect();
        let mut state = 1u32;
        let mut below = |count: usize| {
            // Marsaglia's xorshift.
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            state as usize % count
        };
        for _ in 0..500 {
            let mut clocks = Clocks::new(&starts, CHAINS * EVENTS as usize);
            let mut lists = ClockLists::new(CHAINS, CHAINS * EVENTS as usize, usize::MAX);
            let mut next = starts.clone();
            for _ in 0..CHAINS * EVENTS as usize {
                let chain = below(CHAINS);
                if next[chain] == starts[chain + 1] {
                    continue;
                }
                for _ in 0..below(3) {
                    let of = below(CHAINS);
                    if next[of] > starts[of] {
                        let event = starts[of] + below((next[of] - starts[of]) as usize) as u32;
                        assert_eq!(lists.join(chain, event, of), clocks.join(chain, event));
                    }
                }
                let event = next[chain];
                next[chain] += 1;
                clocks.keep(event, chain);
                lists.keep(event, chain);
                let list = lists.of(event);
                assert!(list.is_sorted_by_key(|&(of, _)| of) && list.iter().all(|&(of, _)| of as usize != chain));
                for of in (0..CHAINS).filter(|&of| of != chain) {
                    assert_eq!(end_in(list, of as u32).max(starts[of]), clocks.of(event)[of]);
                    for other in starts[of]..next[of] {
                        assert_eq!(lists.knows(event, other, of), other < clocks.of(event)[of]);
                    }
                }
            }
        }
    }

    #[test]
    fn the_room_is_limited() {
        let mut lists = ClockLists::new(3, 3, 2);
        lists.keep(0, 0);
        assert_eq!(lists.join(1, 0, 0), Some(true));
        lists.keep(1, 1);
        assert_eq!(lists.join(2, 1, 1), None);
    }
}
