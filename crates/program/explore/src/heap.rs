//! The memory that a program allocates and frees in one execution.
//!
//! A *block* is born and dies at moments of threads. An access of what is in a block must happen after its birth and
//! before its death, whatever the order in which the real machine does both. So a block stays known after its death,
//! and no other block may have its addresses in this execution: what is freed is given back when the execution is over.
//!
//! A block may die at several moments: that of a counted reference dies when its last reference is dropped, and every
//! drop happens before that. An access is in time if it happens before one of them ([`Graph::late_access`]).
//!
//! ```
//! use explore::heap::{Heap, Misuse, Moment};
//!
//! let (mut heap, now) = (Heap::default(), |thread, steps| Moment { thread, steps });
//! heap.allocate(0x1000, 16, None);
//! assert!(heap.free(0x1000, 16, &[now(1, 4)], 7).is_ok());
//! let death = heap.death_at(0x1008).unwrap();
//! assert_eq!(heap.moments(death), [now(1, 4)]);
//! assert_eq!(heap.free(0x1000, 16, &[now(2, 3)], 9), Err(Misuse::DoubleFree(death)));
//! ```

use std::collections::BTreeMap;
use std::ops::Range;

use crate::graph::{CAUSES, Graph, HAPPENS};

/// A moment of a thread: right after as many of its steps as told.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub struct Moment {
    /// The thread.
    pub thread: u32,
    /// How many steps it has had.
    pub steps: u32,
}

/// Memory that was allocated at once.
#[derive(Copy, Clone, Debug)]
pub struct HeapBlock {
    /// How many bytes it has.
    pub size: usize,
    /// When it was allocated; none if there was no other thread, or if that is not known.
    pub birth: Option<Moment>,
    /// Its death, if it was freed.
    pub death: Option<Death>,
    /// How many places in it are known. A block without any is of no interest when it dies.
    pub(crate) places: u32,
}

/// The number of a death, in the order of the execution.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Death(u32);

#[derive(Clone, Debug)]
struct Freed {
    size: usize,
    birth: Option<Moment>,
    moments: Range<usize>,
    events: usize,
}

/// Memory cannot be freed.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Misuse {
    /// It was freed before.
    DoubleFree(Death),
    /// The address is inside of a block, but not its start.
    InvalidFree,
}

/// The blocks of one execution.
#[derive(Debug, Default)]
pub struct Heap {
    blocks: BTreeMap<usize, HeapBlock>,
    freed: Vec<Freed>,
    moments: Vec<Moment>,
}

impl Heap {
    /// Another execution begins.
    pub fn clear(&mut self) {
        self.blocks.clear();
        self.freed.clear();
        self.moments.clear();
    }

    /// A block is born. It may be inside of another one, which tells more of it.
    pub fn allocate(&mut self, start: usize, size: usize, birth: Option<Moment>) {
        self.blocks.insert(start, HeapBlock { size, birth, death: None, places: 0 });
    }

    /// A block dies, when the execution has had so many events, and with it all blocks inside of it. One that is not
    /// known was allocated before the execution.
    pub fn free(&mut self, start: usize, size: usize, moments: &[Moment], events: usize) -> Result<Death, Misuse> {
        let (size, birth) = match self.block(start) {
            Some((_, HeapBlock { death: Some(death), .. })) => return Err(Misuse::DoubleFree(*death)),
            Some((other, _)) if other != start => return Err(Misuse::InvalidFree),
            Some((_, block)) => (block.size, block.birth),
            None => {
                self.allocate(start, size, None);
                (size, None)
            }
        };
        let death = Death(self.freed.len() as u32);
        let first = self.moments.len();
        self.moments.extend_from_slice(moments);
        self.freed.push(Freed { size, birth, moments: first..self.moments.len(), events });
        self.blocks
            .range_mut(start..start.saturating_add(size.max(1)))
            .for_each(|(_, block)| block.death = Some(death));
        Ok(death)
    }

    /// The block that has this address, dead or alive, and where it starts.
    pub fn block(&self, address: usize) -> Option<(usize, &HeapBlock)> {
        let (&start, block) = self.blocks.range(..=address).next_back()?;
        (address - start < block.size.max(1)).then_some((start, block))
    }

    pub(crate) fn block_mut(&mut self, address: usize) -> Option<&mut HeapBlock> {
        let (&start, block) = self.blocks.range_mut(..=address).next_back()?;
        (address - start < block.size).then_some(block)
    }

    /// Whether a place is known in a block that starts in this memory.
    pub(crate) fn has_places(&self, start: usize, size: usize) -> bool {
        self.blocks.range(start..start.saturating_add(size)).any(|(_, block)| block.places > 0)
    }

    /// The death of what is at this address.
    pub fn death_at(&self, address: usize) -> Option<Death> {
        self.block(address)?.1.death
    }

    /// When a death was; it has at least one moment.
    pub fn moments(&self, Death(death): Death) -> &[Moment] {
        &self.moments[self.freed[death as usize].moments.clone()]
    }

    /// How many events the execution had then.
    pub(crate) fn events(&self, Death(death): Death) -> usize {
        self.freed[death as usize].events
    }

    /// How many blocks like that of a death have died at its last moment.
    pub(crate) fn count_like(&self, (size, birth, moment): (usize, Option<Moment>, Moment)) -> usize {
        let is_alike = |freed: &&Freed| (freed.size, freed.birth, self.last(freed)) == (size, birth, Some(moment));
        self.freed.iter().filter(is_alike).count()
    }

    fn last(&self, freed: &Freed) -> Option<Moment> {
        self.moments[freed.moments.clone()].last().copied()
    }

    /// What tells the block of a death from others: its size, its birth, and when it died last.
    pub(crate) fn likeness(&self, Death(death): Death) -> Option<(usize, Option<Moment>, Moment)> {
        let freed = &self.freed[death as usize];
        Some((freed.size, freed.birth, self.last(freed)?))
    }
}

impl Graph {
    /// Whether an event, a thread and a place in it, from 0, happens after a moment of another thread. Under a model
    /// without happens-before, the moment must be among its causes.
    pub fn is_after(&self, (thread, index): (u32, u32), moment: Moment) -> bool {
        let which = if self.model().has_races() { HAPPENS } else { CAUSES };
        let slot = self.threads[thread as usize][index as usize];
        self.clock(slot as usize, which)[moment.thread as usize] > moment.steps
    }

    /// An access of a location, among the first `events` of the execution, that happens before none of these moments: a
    /// thread, and a place in it, from 0. Under a model without happens-before, its causes count.
    pub fn late_access(&self, location: u32, moments: &[Moment], events: usize) -> Option<(u32, u32)> {
        let which = if self.model().has_races() { HAPPENS } else { CAUSES };
        let of = self.locations.get(location as usize)?;
        of.rows.iter().enumerate().find_map(|(thread, row)| {
            let last = row.iter().rev().find(|access| (access.slot as usize) < events)?;
            let is_in_time = |moment: &Moment| {
                let Some(steps) = moment.steps.checked_sub(1) else { return false };
                let slot = self.threads[moment.thread as usize][steps as usize];
                self.clock(slot as usize, which)[thread] >= last.index
            };
            (!moments.iter().any(is_in_time)).then(|| (thread as u32, last.index - 1))
        })
    }
}
