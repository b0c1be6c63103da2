//! Stack: values can be nested exactly if they can be taken away one after the other, the outermost first.
//!
//! A gap is free if no value that is left is certainly inside there. Every operation that is open at a free gap can take
//! effect there. A value is taken away once there is a free gap for its push and one for its pop; gaps that only it
//! covered become free. It is a violation if nothing more can be taken away and values are left.
//!
//! The depths of the gaps are in a tree of minima; the pushes and pops that wait for a gap are in a tree of maxima of
//! their last gaps, by their first. Each gap becomes free once and each operation is found once: `O(n log n)`.
//!
//! The witness: at the time when a value is taken away, its push is at the last free gap before it is certainly inside,
//! its pop at the first after. What is taken away later does not enclose or cross it.

use std::collections::BTreeSet;

use certificate::object::{Core, Linearization};

use super::Answer;
use super::containers::{NONE, Stays, Times, place_empties};
use super::gaps::Gaps;

/// A core is made smaller as long as that takes no more than so many steps.
const EFFORT: usize = 4_000_000;

/// Decides a stack.
pub fn check(stays: &Stays, witness: bool) -> Answer {
    let gaps = Gaps::new(stays);
    let empties = match place_empties(stays, &gaps) {
        Ok(empties) => empties,
        Err(core) => return Answer::Violation(core),
    };
    let covering = |value: &u32| {
        let times = &stays.times[*value as usize];
        let [from, to] = gaps.inside(times);
        times.is_present() && from < to
    };
    let values: Vec<u32> = (0..stays.times.len() as u32).filter(covering).collect();
    let mut peel = Peel::new(stays, &gaps, &values, witness);
    peel.run();
    if peel.left > 0 {
        let left = values.iter().zip(&peel.waits).filter(|(_, waits)| **waits > 0).map(|(&value, _)| value);
        return Answer::Violation(core(stays, &gaps, left.collect()));
    }
    Answer::Linearizable(witness.then(|| linearize(stays, &gaps, &values, &peel.places, &empties)))
}

/// The gaps at which the push and the pop of a value are open.
fn open_gaps(gaps: &Gaps, times: &Times) -> [[u32; 2]; 2] {
    let [inside_from, inside_to] = gaps.inside(times);
    [[gaps.from(times.insert_call), inside_from], [inside_to, gaps.to(times.remove_return)]]
}

struct Peel {
    /// How many of push and pop have no free gap yet, by value.
    waits: Vec<u8>,
    left: usize,
    inside: Vec<[u32; 2]>,
    depths: Depths,
    /// Free gaps whose operations are still to be found.
    free: Vec<u32>,
    waiting: Waiting,
    /// All gaps that became free so far, if a witness is wanted, and where push and pop of each value take effect.
    freed: Option<BTreeSet<u32>>,
    places: Vec<[u32; 2]>,
}

impl Peel {
    fn new(stays: &Stays, gaps: &Gaps, values: &[u32], witness: bool) -> Self {
        let times = || values.iter().map(|&value| &stays.times[value as usize]);
        let depths = gaps.depths(times());
        let free: Vec<u32> = (0..).zip(&depths).filter(|(_, depth)| **depth == 0).map(|(gap, _)| gap).collect();
        let operations: Vec<[[u32; 2]; 2]> = times().map(|times| open_gaps(gaps, times)).collect();
        Self {
            waits: vec![2; values.len()],
            left: values.len(),
            inside: times().map(|times| gaps.inside(times)).collect(),
            depths: Depths::new(&depths),
            free,
            waiting: Waiting::new(gaps.count(), &operations),
            freed: witness.then(BTreeSet::new),
            places: vec![[0; 2]; if witness { values.len() } else { 0 }],
        }
    }

    fn run(&mut self) {
        let mut gone = Vec::new();
        while let Some(gap) = self.free.pop() {
            if let Some(freed) = &mut self.freed {
                freed.insert(gap);
            }
            while let Some(operation) = self.waiting.take(gap) {
                let value = operation / 2;
                self.waits[value as usize] -= 1;
                if self.waits[value as usize] == 0 {
                    gone.push(value);
                }
            }
            for value in gone.drain(..) {
                self.left -= 1;
                let inside = self.inside[value as usize];
                if let Some(freed) = &self.freed {
                    let push = freed.range(..inside[0]).next_back();
                    let pop = freed.range(inside[1]..).next();
                    self.places[value as usize] = [push, pop].map(|gap| gap.copied().unwrap_or(0));
                }
                self.depths.decrease(inside);
            }
            while let Some(gap) = self.depths.take_zero() {
                self.free.push(gap);
            }
        }
    }
}

/// The depths of gaps: a tree in which a node holds the minimum of what is below it, without what was added above it.
struct Depths {
    leaves: usize,
    minima: Vec<i32>,
    added: Vec<i32>,
}

impl Depths {
    /// More than any depth: the gap has been taken.
    const TAKEN: i32 = i32::MAX / 2;

    fn new(depths: &[u32]) -> Self {
        let leaves = depths.len().next_power_of_two();
        let mut minima = vec![Self::TAKEN; 2 * leaves];
        for (leaf, &depth) in minima[leaves..].iter_mut().zip(depths) {
            *leaf = if depth == 0 { Self::TAKEN } else { depth as i32 };
        }
        for node in (1..leaves).rev() {
            minima[node] = minima[2 * node].min(minima[2 * node + 1]);
        }
        Self { leaves, minima, added: vec![0; leaves] }
    }

    fn update(&mut self, mut node: usize) {
        while node > 1 {
            node /= 2;
            let minimum = self.minima[2 * node].min(self.minima[2 * node + 1]) + self.added[node];
            if self.minima[node] == minimum {
                break;
            }
            self.minima[node] = minimum;
        }
    }

    fn decrease(&mut self, [from, to]: [u32; 2]) {
        let (mut left, mut right) = (from as usize + self.leaves, to as usize + self.leaves);
        let ends = [left, right - 1];
        while left < right {
            if left % 2 == 1 {
                self.lower(left);
                left += 1;
            }
            if right % 2 == 1 {
                right -= 1;
                self.lower(right);
            }
            left /= 2;
            right /= 2;
        }
        for end in ends {
            self.repair(end);
        }
    }

    fn lower(&mut self, node: usize) {
        self.minima[node] -= 1;
        if let Some(added) = self.added.get_mut(node) {
            *added -= 1;
        }
    }

    /// Like [`Self::update`], but some nodes on the way may be right already.
    fn repair(&mut self, mut node: usize) {
        while node > 1 {
            node /= 2;
            self.minima[node] = self.minima[2 * node].min(self.minima[2 * node + 1]) + self.added[node];
        }
    }

    /// A gap of depth zero that has not been taken.
    fn take_zero(&mut self) -> Option<u32> {
        if self.minima[1] != 0 {
            return None;
        }
        let (mut node, mut wanted) = (1, 0);
        while node < self.leaves {
            wanted -= self.added[node];
            node *= 2;
            if self.minima[node] != wanted {
                node += 1;
            }
        }
        self.minima[node] = Self::TAKEN;
        self.update(node);
        Some((node - self.leaves) as u32)
    }
}

/// The operations that wait for a free gap: those of value `v` are `2 v` (push) and `2 v + 1` (pop).
struct Waiting {
    /// The operations by their first gap, and where those of each gap begin.
    operations: Vec<u32>,
    starts: Vec<u32>,
    leaves: usize,
    /// A tree of maxima: one more than the last gap of each operation, 0 if it waits no longer.
    ends: Vec<u32>,
}

impl Waiting {
    fn new(gaps: u32, values: &[[[u32; 2]; 2]]) -> Self {
        let all = || values.iter().flatten().copied();
        let mut starts = vec![0_u32; gaps as usize + 2];
        let mut count = 0_usize;
        for [first, _] in all() {
            starts[first as usize + 2] += 1;
            count += 1;
        }
        for at in 2..starts.len() {
            starts[at] += starts[at - 1];
        }
        let leaves = count.next_power_of_two();
        let mut operations = vec![0; count];
        let mut ends = vec![0; 2 * leaves];
        for (operation, [first, end]) in (0..).zip(all()) {
            let place = &mut starts[first as usize + 1];
            operations[*place as usize] = operation;
            ends[leaves + *place as usize] = end;
            *place += 1;
        }
        for node in (1..leaves).rev() {
            ends[node] = ends[2 * node].max(ends[2 * node + 1]);
        }
        Self { operations, starts, leaves, ends }
    }

    /// Takes out an operation that is open at a gap.
    fn take(&mut self, gap: u32) -> Option<u32> {
        // Those that begin no later than the gap, and of them the first whose end is later.
        let limit = self.starts[gap as usize + 1] as usize;
        let mut node = 1;
        if limit == 0 || self.ends[1] <= gap {
            return None;
        }
        while node < self.leaves {
            node *= 2;
            if self.ends[node] <= gap {
                node += 1;
            }
        }
        // Leftmost of all: if it is not below the limit, none is.
        let place = node - self.leaves;
        if place >= limit {
            return None;
        }
        self.ends[node] = 0;
        while node > 1 {
            node /= 2;
            let end = self.ends[2 * node].max(self.ends[2 * node + 1]);
            if self.ends[node] == end {
                break;
            }
            self.ends[node] = end;
        }
        Some(self.operations[place])
    }
}

/// A small part of these values, none of which can be taken away, that cannot be nested either.
fn core(stays: &Stays, gaps: &Gaps, mut left: Vec<u32>) -> Core {
    // Where a gap is free, what comes before and what comes after have nothing to do with each other.
    left.sort_unstable_by_key(|&value| gaps.inside(&stays.times[value as usize])[0]);
    let mut clusters: Vec<&[u32]> = Vec::new();
    let (mut start, mut reached) = (0, 0);
    for (at, &value) in left.iter().enumerate() {
        let [from, to] = gaps.inside(&stays.times[value as usize]);
        if at > start && from > reached {
            clusters.push(&left[start..at]);
            start = at;
        }
        reached = reached.max(to);
    }
    clusters.push(&left[start..]);
    let mut core =
        clusters.iter().min_by_key(|cluster| cluster.len()).map_or_else(Vec::new, |cluster| cluster.to_vec());

    // Leave out what is not needed, in larger pieces first.
    let mut effort = 0;
    let mut piece = core.len() / 2;
    while piece > 0 && effort < EFFORT {
        let mut at = 0;
        while at < core.len() && effort < EFFORT {
            let mut fewer = core.clone();
            fewer.drain(at..(at + piece).min(core.len()));
            effort += 64 + 16 * fewer.len();
            if !fewer.is_empty() && is_tangled(stays, gaps, &fewer) {
                core = fewer;
            } else {
                at += piece;
            }
        }
        piece /= 2;
    }
    Core::Tangled(core.iter().map(|&value| stays.stay(&stays.times[value as usize])).collect())
}

/// Whether these values alone cannot be nested. The gaps between them are numbered anew: the cost is theirs alone.
fn is_tangled(stays: &Stays, gaps: &Gaps, values: &[u32]) -> bool {
    let operations: Vec<[[u32; 2]; 2]> =
        values.iter().map(|&value| open_gaps(gaps, &stays.times[value as usize])).collect();
    // Between two bounds all gaps are alike; one of each kind will do.
    let mut bounds: Vec<u32> = operations.iter().flatten().flatten().copied().collect();
    bounds.sort_unstable();
    bounds.dedup();
    let rank = |gap: u32| bounds.partition_point(|&bound| bound < gap) as u32;
    let operations: Vec<[[u32; 2]; 2]> = operations.iter().map(|both| both.map(|ends| ends.map(rank))).collect();
    let mut depths = vec![0_u32; bounds.len()];
    for [[_, from], [to, _]] in &operations {
        for depth in &mut depths[*from as usize..*to as usize] {
            *depth += 1;
        }
    }
    let free = (0..).zip(&depths).filter(|(_, depth)| **depth == 0).map(|(gap, _)| gap).collect();
    let mut peel = Peel {
        waits: vec![2; values.len()],
        left: values.len(),
        inside: operations.iter().map(|[[_, from], [to, _]]| [*from, *to]).collect(),
        depths: Depths::new(&depths),
        free,
        waiting: Waiting::new(bounds.len() as u32, &operations),
        freed: None,
        places: Vec::new(),
    };
    peel.run();
    peel.left > 0
}

fn linearize(stays: &Stays, gaps: &Gaps, values: &[u32], places: &[[u32; 2]], empties: &[u32]) -> Linearization {
    // By gap; at each, first the pops, the last pushed first, then `empty`, then what is pushed and popped here, then the
    // pushes, the last popped first.
    let mut effects: Vec<(u32, u8, u32, u32, u32)> = Vec::new();
    let mut place = |value: u32, [push, pop]: [u32; 2]| {
        let times = &stays.times[value as usize];
        let here = if push == pop { [2, 2] } else { [3, 0] };
        let (first, second) = if push == pop { (value, 0) } else { (u32::MAX - pop, value) };
        effects.push((push, here[0], first, second, times.insert));
        if times.remove != NONE {
            let (first, second) = if push == pop { (value, 1) } else { (u32::MAX - push, u32::MAX - value) };
            effects.push((pop, here[1], first, second, times.remove));
        }
    };
    for (&value, &places) in values.iter().zip(places) {
        place(value, places);
    }
    for (value, times) in (0..).zip(&stays.times).filter(|(_, times)| times.is_present()) {
        let [from, to] = gaps.inside(times);
        if from >= to {
            // Both at one gap, or at two with none between.
            place(value, if to < from { [to, to] } else { [from - 1, from] });
        }
    }
    effects.extend(empties.iter().zip(&stays.empties).map(|(&gap, &at)| (gap, 1, 0, 0, at)));
    effects.sort_unstable();
    stays.linearization(effects.into_iter().map(|(.., at)| at))
}
