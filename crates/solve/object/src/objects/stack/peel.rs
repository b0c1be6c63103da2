//! Takes values away, the outermost first; see the module above.

use std::collections::BTreeSet;

use super::depths::Depths;
use super::maxima::Maxima;
use super::waiting::Waiting;

const NONE: u32 = u32::MAX;

/// Values that are certainly inside at some gap. Their times are given as gaps.
pub struct Nest {
    /// How many gaps there are.
    pub gaps: u32,
    /// Four gaps of each value: the first gap for its push, the first gap at which it is certainly inside, the first
    /// gap after that time, and the first gap after those for its pop.
    pub values: Vec<[u32; 4]>,
    /// The peeks, sorted by value: the value, the first gap for the peek, and the first gap after those for it.
    pub peeks: Vec<(u32, [u32; 2])>,
}

impl Nest {
    fn depths(&self) -> Vec<u32> {
        let mut depths = vec![0_u32; self.gaps as usize];
        for &[_, from, to, _] in &self.values {
            depths[from as usize] = depths[from as usize].wrapping_add(1);
            depths[to as usize] = depths[to as usize].wrapping_sub(1);
        }
        let mut sum = 0_u32;
        for depth in &mut depths {
            sum = sum.wrapping_add(*depth);
            *depth = sum;
        }
        depths
    }
}

/// The values that are left, and where the operations of the others take effect.
pub struct Peel<'n> {
    nest: &'n Nest,
    /// For each value: how many of its push and its pop have no free gap yet.
    waits: Vec<u8>,
    /// How many values have not been taken away.
    pub left: usize,
    depths: Depths,
    /// Gaps that have become free; or, if there are peeks, those at which only one value is certainly inside.
    shallow: Vec<u32>,
    /// Free gaps whose operations are still to be found.
    free: Vec<u32>,
    waiting: Waiting,
    seeing: Option<Seeing>,
    /// All gaps that became free so far, if a witness is wanted.
    freed: Option<BTreeSet<u32>>,
    /// For each value: the gaps at which its push and its pop take effect, and its number in the order in which values
    /// are taken away.
    pub places: Vec<[u32; 3]>,
    /// Where each peek takes effect.
    pub seen: Vec<u32>,
    gone: Vec<u32>,
}

impl<'n> Peel<'n> {
    /// The beginning, at which all values are left.
    pub fn new(nest: &'n Nest, witness: bool) -> Self {
        let depths = nest.depths();
        let of_depth = |wanted: u32| (0..).zip(&depths).filter(move |(_, depth)| **depth == wanted).map(|(gap, _)| gap);
        let free: Vec<u32> = of_depth(0).collect();
        let has_peeks = !nest.peeks.is_empty();
        let ends = nest.values.iter().flat_map(|&[push, from, to, pop]| [[push, from], [to, pop]]);
        let count = nest.values.len();
        Self {
            nest,
            waits: vec![2; count],
            left: count,
            shallow: if has_peeks { of_depth(1).collect() } else { Vec::new() },
            depths: Depths::new(depths, u32::from(has_peeks)),
            freed: witness.then(|| free.iter().copied().collect()),
            free,
            waiting: Waiting::new(nest.gaps, ends.chain(nest.peeks.iter().map(|&(_, ends)| ends))),
            seeing: has_peeks.then(|| Seeing::new(nest)),
            places: vec![[0; 3]; if witness { count } else { 0 }],
            seen: vec![0; nest.peeks.len()],
            gone: Vec::new(),
        }
    }

    /// Whether a value has not been taken away.
    pub fn is_left(&self, value: usize) -> bool {
        self.waits[value] > 0 || self.seeing.as_ref().is_some_and(|seeing| seeing.waits[value] > 0)
    }

    /// Takes away all values that can be taken away.
    pub fn run(&mut self) {
        let mut found = Vec::new();
        self.follow_shallow(&mut found);
        loop {
            while let Some(value) = self.gone.pop() {
                self.take_away(value);
                self.follow_shallow(&mut found);
            }
            let Some(gap) = self.free.pop() else { break };
            self.waiting.take(gap, &mut found);
            for number in found.drain(..) {
                let value = number / 2;
                if let Some(peek) = (number as usize).checked_sub(2 * self.nest.values.len()) {
                    self.see(peek, gap);
                    continue;
                }
                self.waits[value as usize] -= 1;
                if !self.is_left(value as usize) {
                    self.gone.push(value);
                }
            }
        }
    }

    /// A peek can take effect at a gap.
    fn see(&mut self, peek: usize, gap: u32) {
        let value = self.nest.peeks[peek].0;
        let Some(seeing) = self.seeing.as_mut().filter(|seeing| !seeing.is_seen[peek]) else { return };
        seeing.is_seen[peek] = true;
        seeing.waits[value as usize] -= 1;
        self.seen[peek] = gap;
        if !self.is_left(value as usize) {
            self.gone.push(value);
        }
    }

    fn set_free(&mut self, gap: u32) {
        self.free.push(gap);
        if let Some(freed) = &mut self.freed {
            freed.insert(gap);
        }
    }

    fn take_away(&mut self, value: u32) {
        let turn = (self.nest.values.len() - self.left) as u32;
        self.left -= 1;
        let [_, from, to, _] = self.nest.values[value as usize];
        if let Some(freed) = &self.freed {
            let push = freed.range(..from).next_back();
            let pop = freed.range(to..).next();
            let [push, pop] = [push, pop].map(|gap| gap.copied().unwrap_or(0));
            self.places[value as usize] = [push, pop, turn];
        }
        self.depths.decrease([from, to], &mut self.shallow);
        let Some(seeing) = &mut self.seeing else { return };
        seeing.owners.add([from, to], (value + 1).wrapping_neg());
        let mut gap = seeing.first_own[value as usize];
        while gap != NONE {
            let next = self.seeing.as_ref().map_or(NONE, |seeing| seeing.next_own[gap as usize]);
            self.set_free(gap);
            gap = next;
        }
    }

    /// Goes on from the gaps that have become shallow.
    fn follow_shallow(&mut self, found: &mut Vec<u32>) {
        while let Some(gap) = self.shallow.pop() {
            let Some(seeing) = &mut self.seeing else {
                self.set_free(gap);
                continue;
            };
            seeing.own(self.nest, gap, found);
            for peek in found.drain(..) {
                self.see(peek as usize, gap);
            }
        }
    }
}

/// The peeks: each waits for a gap at which nothing but its value is certainly inside.
struct Seeing {
    is_seen: Vec<bool>,
    /// For each value: how many of its peeks have no gap yet.
    waits: Vec<u32>,
    /// Where the peeks of each value begin.
    starts: Vec<u32>,
    ends: Maxima,
    owners: Owners,
    /// For each value: the first of a list of the gaps at which only this value is certainly inside.
    first_own: Vec<u32>,
    next_own: Vec<u32>,
}

impl Seeing {
    fn new(nest: &Nest) -> Self {
        let count = nest.values.len();
        let mut waits = vec![0; count];
        let mut starts = vec![0_u32; count + 1];
        for &(value, _) in &nest.peeks {
            waits[value as usize] += 1;
            starts[value as usize + 1] += 1;
        }
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        let mut owners = Owners { sums: vec![0; nest.gaps as usize + 1] };
        for (value, &[_, from, to, _]) in (1..).zip(&nest.values) {
            owners.add([from, to], value);
        }
        Self {
            is_seen: vec![false; nest.peeks.len()],
            waits,
            starts,
            ends: Maxima::new(nest.peeks.iter().map(|&(_, [_, end])| end).collect()),
            owners,
            first_own: vec![NONE; count],
            next_own: vec![NONE; nest.gaps as usize],
        }
    }

    /// A gap at which only one value is certainly inside: finds the peeks that saw it and can be there.
    fn own(&mut self, nest: &Nest, gap: u32, found: &mut Vec<u32>) {
        let value = self.owners.at(gap).wrapping_sub(1) as usize;
        self.next_own[gap as usize] = std::mem::replace(&mut self.first_own[value], gap);
        let [start, end] = [value, value + 1].map(|at| self.starts[at] as usize);
        let end = start + nest.peeks[start..end].partition_point(|&(_, [first, _])| first <= gap);
        self.ends.take([start as u32, end as u32], gap, found);
    }
}

/// The sum of the numbers of the values that are certainly inside at each gap: a Fenwick tree of differences.
struct Owners {
    sums: Vec<u32>,
}

impl Owners {
    fn add(&mut self, [from, to]: [u32; 2], number: u32) {
        for (start, number) in [(from, number), (to, number.wrapping_neg())] {
            let mut at = start as usize + 1;
            while at < self.sums.len() {
                self.sums[at] = self.sums[at].wrapping_add(number);
                at += at & at.wrapping_neg();
            }
        }
    }

    fn at(&self, gap: u32) -> u32 {
        let mut at = gap as usize + 1;
        let mut sum = 0_u32;
        while at > 0 {
            sum = sum.wrapping_add(self.sums[at]);
            at &= at - 1;
        }
        sum
    }
}
