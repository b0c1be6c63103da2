//! Decides a queue. A violation is a few values, each of which must come before the next, and the last before the
//! first; or an `empty` at which some value is always inside.
//!
//! A value must come before another if its insert precedes the insert of the other, or if it was in front (removed or
//! seen) before the other was. Without peeks, both are interval orders. If they contradict each other, then two values
//! do: one is inserted before the other and removed after it. Values are visited in the order of the calls of their
//! inserts. Each is compared with the values whose insert returned before. Of these, only the one matters whose removal
//! is called last.
//!
//! With peeks: a value is in front from some instant on until its removal, and all its peeks are in that time. Let `R`
//! be the first return and `S` the last call of its peeks and its removal. If `R < S`, the value is certainly in front
//! from `R` to `S`. This is its zone, and two zones must not overlap. Otherwise all these operations overlap, and it is
//! enough that the value is in front at one instant between `S` and `R`. That instant must be in no zone of another
//! value. If `R` is in a zone, the value comes before the value of the zone, and `R` can be moved to the beginning of
//! the zone. Likewise, `S` can be moved to the end of a zone. If both are in one zone, it is a violation. Then each
//! zone can be taken as one instant, and the order of being in front is an interval order again.
//!
//! The witness has the values in an order that agrees with both orders. All values that can be gone at an `empty` come
//! before it, all others after it. Each operation takes effect as early as this allows.

use model::object::{Core, Linearization};

use crate::answer::Answer;
use crate::containers::{NONE, Stays, Times, place_empties};

/// When a value is in front: at an instant from the first to the second, in half moments.
type Next = [u64; 2];

/// Decides a queue.
pub fn check(stays: &Stays, witness: bool) -> Answer {
    let plain = |times: &Times| [2 * u64::from(times.remove_call), 2 * u64::from(times.remove_return)];
    let decided = if stays.peeks.is_empty() {
        check_order(stays, |record| plain(&stays.times[record as usize]), witness)
    } else {
        let zones = Zones::new(stays);
        zones.next(plain).and_then(|next| check_order(stays, |record| next[record as usize], witness))
    };
    match decided {
        Ok(linearization) => Answer::Linearizable(linearization),
        Err(core) => Answer::Violation(core),
    }
}

fn check_order(stays: &Stays, next: impl Fn(u32) -> Next, witness: bool) -> Result<Option<Linearization>, Core> {
    if let Some([first, second]) = overtaken(stays, &next) {
        let returns = |record: u32| Zones::first_return(stays, record);
        if returns(second) < stays.times[first as usize].remove_call {
            return Err(Core::Overtaken { first: stays.stay(first), second: stays.stay(second) });
        }
        // A third value is certainly in front between the two.
        let times = |record: u32| &stays.times[record as usize];
        let comes_before = |a: u32, b: u32| returns(a) < times(b).remove_call;
        let third = (0..stays.times.len() as u32).find(|&third| {
            ![first, second].contains(&third)
                && times(third).is_present()
                && comes_before(second, third)
                && comes_before(third, first)
        });
        let circle = [Some(first), Some(second), third];
        return Err(Core::Circle(circle.into_iter().flatten().map(|record| stays.stay(record)).collect()));
    }
    let empties = place_empties(stays)?;
    Ok(witness.then(|| linearize(stays, next, &empties)))
}

/// Two values, of which the first is inserted before the second, and in front after it.
fn overtaken(stays: &Stays, next: impl Fn(u32) -> Next) -> Option<[u32; 2]> {
    let mut returned = stays.by_first_return().peekable();
    let (mut latest, mut latest_next) = (NONE, 0);
    for (record, times) in (0..).zip(&stays.times).filter(|(_, times)| times.is_present()) {
        let is_before = |&before: &u32| stays.times[before as usize].insert_return < times.insert_call;
        while let Some(before) = returned.next_if(is_before) {
            if next(before)[0] >= latest_next {
                (latest, latest_next) = (before, next(before)[0]);
            }
        }
        if next(record)[1] < latest_next {
            return Some([latest, record]);
        }
    }
    None
}

/// The values that are certainly in front for some time, sorted by the beginning of that time.
struct Zones<'a> {
    stays: &'a Stays<'a>,
    /// Beginning, end, and the record.
    zones: Vec<(u32, u32, u32)>,
}

impl<'a> Zones<'a> {
    fn new(stays: &'a Stays<'a>) -> Self {
        let zone = |record: u32| {
            let times = &stays.times[record as usize];
            let first = Self::first_return(stays, record);
            (times.is_present() && first < times.remove_call).then_some((first, times.remove_call, record))
        };
        let mut zones: Vec<_> = (0..stays.times.len() as u32).filter_map(zone).collect();
        zones.sort_unstable();
        Self { stays, zones }
    }

    /// The first return of a peek or the removal of a value.
    fn first_return(stays: &Stays, record: u32) -> u32 {
        let removed = stays.times[record as usize].remove_return;
        stays.peeks_of(record).map(|(_, peek)| peek.ret).fold(removed, u32::min)
    }

    fn circle(&self, a: u32, b: u32) -> Core {
        Core::Circle(vec![self.stays.stay(a), self.stays.stay(b)])
    }

    /// The zone that a moment lies in.
    fn around(&self, moment: u32) -> Option<(u32, u32, u32)> {
        let at = self.zones.partition_point(|&(begin, ..)| begin < moment);
        at.checked_sub(1).map(|at| self.zones[at]).filter(|&(_, end, _)| moment < end)
    }

    /// When each value is in front; or a core, if that alone is a contradiction.
    fn next(&self, plain: impl Fn(&Times) -> Next) -> Result<Vec<Next>, Core> {
        for pair in self.zones.windows(2) {
            if pair[1].0 < pair[0].1 {
                return Err(self.circle(pair[0].2, pair[1].2));
            }
        }
        let mut next: Vec<Next> = self.stays.times.iter().map(plain).collect();
        for (record, times) in (0..).zip(&self.stays.times).filter(|(_, times)| times.is_present()) {
            let first = Self::first_return(self.stays, record);
            let bounds = &mut next[record as usize];
            if first < times.remove_call {
                *bounds = [2 * u64::from(first) + 1; 2];
                continue;
            }
            bounds[1] = 2 * u64::from(first);
            let zones = [times.remove_call, first].map(|moment| self.around(moment));
            if let [Some((.., one)), Some((.., other))] = zones
                && one == other
            {
                return Err(self.circle(record, one));
            }
            if let Some((_, end, _)) = zones[0] {
                bounds[0] = 2 * u64::from(end);
            }
            if let Some((begin, ..)) = zones[1] {
                bounds[1] = 2 * u64::from(begin);
            }
        }
        Ok(next)
    }
}

fn linearize(stays: &Stays, next: impl Fn(u32) -> Next, empties: &[u32]) -> Linearization {
    let order = value_order(stays, next);
    // An `empty` comes before the values whose removals are called after its moment, and after all others. Between two
    // `empty`, the values keep their order.
    let mut bounds: Vec<u32> = empties.to_vec();
    bounds.dedup();
    let segment = |times: &Times| bounds.partition_point(|&moment| moment < times.remove_call) as u32;
    let mut order: Vec<(u32, u32)> =
        order.into_iter().map(|record| (segment(&stays.times[record as usize]), record)).collect();
    order.sort_by_key(|&(segment, _)| segment);

    // Twice the moment at which each operation takes effect. It is one more for an `empty`, and two more for operations
    // that wait for that `empty`.
    let mut effects: Vec<(u64, u32)> = Vec::new();
    let mut removals: Vec<(u64, u32)> = Vec::new();
    let (mut inserting, mut removing) = (0, 0);
    for (segment, record) in order {
        let times = &stays.times[record as usize];
        let start = if segment == 0 { 0 } else { 2 * u64::from(bounds[segment as usize - 1]) + 2 };
        inserting = start.max(inserting).max(2 * u64::from(times.insert_call));
        removing = inserting.max(removing);
        effects.push((inserting, times.insert));
        removals.extend(stays.peeks_of(record).map(|(at, peek)| (removing.max(2 * u64::from(peek.call)), at)));
        removing = removing.max(2 * u64::from(times.remove_call));
        if times.remove != NONE {
            removals.push((removing, times.remove));
        }
    }
    let empties = empties.iter().zip(&stays.empties).map(|(&moment, &at)| (2 * u64::from(moment) + 1, at));
    // Inserts come before removals of the same moment. Both lists are in order.
    effects.extend(removals);
    effects.extend(empties);
    effects.sort_by_key(|&(moment, _)| moment);
    stays.linearization(effects.into_iter().map(|(_, at)| at))
}

/// The values in an order in which each comes after all values that must come before it.
fn value_order(stays: &Stays, next: impl Fn(u32) -> Next) -> Vec<u32> {
    let times = |record: u32| &stays.times[record as usize];
    let by_insert_call: Vec<u32> = (0..stays.times.len() as u32).filter(|&record| times(record).is_present()).collect();
    let by_insert_return: Vec<u32> = stays.by_first_return().collect();
    let [by_next_begin, by_next_end] = [0, 1].map(|end| {
        let mut sorted = by_insert_call.clone();
        sorted.sort_by_key(|&record| next(record)[end]);
        sorted
    });
    let mut order = Vec::with_capacity(by_insert_call.len());
    let mut waits = vec![2_u8; stays.times.len()];
    let mut is_placed = vec![false; stays.times.len()];
    let mut ready: Vec<u32> = Vec::new();
    let [mut inserted, mut returned, mut begun, mut ended] = [0; 4];
    loop {
        // Of the values that are left: the one whose insert returns first, and the one whose time to be in front ends
        // first. A value that is not after one of these is not after any value that is left.
        let advance = |list: &[u32], at: &mut usize| {
            while list.get(*at).is_some_and(|&record| is_placed[record as usize]) {
                *at += 1;
            }
            list.get(*at).copied()
        };
        let Some(first_return) = advance(&by_insert_return, &mut returned) else { break };
        let Some(first_end) = advance(&by_next_end, &mut ended) else { break };
        let mut satisfy = |record: u32| {
            waits[record as usize] -= 1;
            if waits[record as usize] == 0 {
                ready.push(record);
            }
        };
        let limit = times(first_return).insert_return;
        while let Some(&record) = by_insert_call.get(inserted).filter(|&&record| times(record).insert_call < limit) {
            satisfy(record);
            inserted += 1;
        }
        let limit = next(first_end)[1];
        while let Some(&record) = by_next_begin.get(begun).filter(|&&record| next(record)[0] <= limit) {
            satisfy(record);
            begun += 1;
        }
        let Some(record) = ready.pop() else { break };
        is_placed[record as usize] = true;
        order.push(record);
    }
    order
}
