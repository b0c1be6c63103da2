//! The axioms of the models, taken literally: relations of the events of an execution, and every modification order.

use std::collections::{BTreeMap, BTreeSet};

use explore::{Model, Order, Source, Step, Value};

use super::{Class, Node, spawner};

type Relation = Vec<u64>;

fn compose(one: &Relation, two: &Relation) -> Relation {
    one.iter().map(|&row| (0..two.len()).filter(|&at| row >> at & 1 == 1).fold(0, |all, at| all | two[at])).collect()
}

fn union(one: &Relation, two: &Relation) -> Relation {
    one.iter().zip(two).map(|(one, two)| one | two).collect()
}

fn closure(one: &Relation) -> Relation {
    let mut all = one.clone();
    for middle in 0..all.len() {
        for row in 0..all.len() {
            if all[row] >> middle & 1 == 1 {
                all[row] |= all[middle];
            }
        }
    }
    all
}

fn reflexive(one: &Relation) -> Relation {
    one.iter().enumerate().map(|(at, &row)| row | 1 << at).collect()
}

fn inverse(one: &Relation) -> Relation {
    (0..one.len())
        .map(|at| (0..one.len()).filter(|&row| one[row] >> at & 1 == 1).fold(0, |all, row| all | 1 << row))
        .collect()
}

fn is_irreflexive(one: &Relation) -> bool {
    one.iter().enumerate().all(|(at, &row)| row >> at & 1 == 0)
}

fn is_acyclic(one: &Relation) -> bool {
    is_irreflexive(&closure(one))
}

/// An execution with initial writes, which are the first nodes: one for each location.
pub struct Execution {
    nodes: Vec<(Option<usize>, Option<Step>, Node)>,
    po: Relation,
    rf: Relation,
    /// The edges of spawn and join.
    forks: Relation,
}

const LOCATIONS: usize = 4;

impl Execution {
    pub fn new(class: &Class, steps: &[Vec<Step>]) -> Self {
        let mut nodes: Vec<_> =
            (0..LOCATIONS).map(|_| (None, None, Node { source: Source::Nothing, read: 0, written: Some(0) })).collect();
        let mut number = BTreeMap::new();
        for thread in 0..class.len() {
            for index in 0..class[thread].len() {
                number.insert((thread, index), nodes.len());
                nodes.push((Some(thread), Some(steps[thread][index]), class[thread][index].clone()));
            }
        }
        let count = nodes.len();
        let mut this = Self { po: vec![0; count], rf: vec![0; count], forks: vec![0; count], nodes };
        for (&(thread, index), &at) in &number {
            for initial in 0..LOCATIONS {
                this.po[initial] |= 1 << at;
            }
            for later in index + 1..class[thread].len() {
                this.po[at] |= 1 << number[&(thread, later)];
            }
            match class[thread][index].source {
                Source::Nothing => {}
                Source::Initial => {
                    let location = this.location(at).unwrap();
                    this.rf[location] |= 1 << at;
                }
                Source::Write(thread, index) => this.rf[number[&(thread as usize, index as usize)]] |= 1 << at,
            }
            match this.nodes[at].1 {
                Some(Step::Begin) => this.forks[number[&spawner(steps, thread).unwrap()]] |= 1 << at,
                Some(Step::Join(child)) => {
                    if let Some(last) = class[child as usize].len().checked_sub(1) {
                        this.forks[number[&(child as usize, last)]] |= 1 << at;
                    }
                }
                _ => {}
            }
        }
        this
    }

    fn location(&self, at: usize) -> Option<usize> {
        if at < LOCATIONS { Some(at) } else { self.nodes[at].1?.location().map(|location| location as usize) }
    }

    fn order(&self, at: usize) -> Order {
        match self.nodes[at].1 {
            Some(Step::Read { order, .. } | Step::Write { order, .. } | Step::Fence(order)) => order,
            Some(Step::Rmw { order, failure, .. }) => {
                if self.writes(at) {
                    order
                } else {
                    failure
                }
            }
            _ => Order::NonAtomic,
        }
    }

    fn reads(&self, at: usize) -> bool {
        self.nodes[at].2.source != Source::Nothing
    }

    fn writes(&self, at: usize) -> bool {
        self.nodes[at].2.written.is_some()
    }

    fn is_fence(&self, at: usize) -> bool {
        matches!(self.nodes[at].1, Some(Step::Fence(_)))
    }

    fn is_atomic(&self, at: usize) -> bool {
        self.order(at) != Order::NonAtomic
    }

    fn only(&self, is_in: impl Fn(usize) -> bool) -> Relation {
        (0..self.nodes.len()).map(|at| u64::from(is_in(at)) << at).collect()
    }

    fn filter(&self, one: &Relation, is_in: impl Fn(usize, usize) -> bool) -> Relation {
        let pairs = |row: usize| (0..self.nodes.len()).filter(move |&at| one[row] >> at & 1 == 1);
        (0..one.len()).map(|row| pairs(row).filter(|&at| is_in(row, at)).fold(0, |all, at| all | 1 << at)).collect()
    }

    fn happens_before(&self, model: Model) -> Relation {
        let base = union(&self.po, &self.forks);
        let sw = match model {
            Model::Relaxed | Model::Tso | Model::Pso => return closure(&base),
            Model::Ra | Model::Sra | Model::Wra | Model::Sc => self.rf.clone(),
            Model::C20 | Model::Rc20 | Model::Rc11 => {
                let released = self.only(|at| self.is_atomic(at) && self.order(at).releases());
                let acquired = self.only(|at| self.is_atomic(at) && self.order(at).acquires());
                let fence = self.only(|at| self.is_fence(at));
                let rf = self.filter(&self.rf, |one, two| self.is_atomic(one) && self.is_atomic(two));
                let through = if model == Model::Rc11 {
                    let same = self.filter(&self.po, |one, two| {
                        let is_write = |at: usize| at >= LOCATIONS && self.writes(at) && self.is_atomic(at);
                        is_write(one) && is_write(two) && self.location(one) == self.location(two)
                    });
                    let updates = self.filter(&rf, |_, two| self.writes(two));
                    compose(&reflexive(&same), &compose(&reflexive(&closure(&updates)), &rf))
                } else {
                    closure(&rf)
                };
                let into = reflexive(&compose(&fence, &self.po));
                let out = reflexive(&compose(&self.po, &fence));
                // Between fence and write, and read and fence, there may be anything.
                compose(&released, &compose(&into, &compose(&through, &compose(&out, &acquired))))
            }
        };
        closure(&union(&base, &sw))
    }

    pub fn has_race(&self, model: Model) -> bool {
        if !model.has_races() {
            return false;
        }
        let hb = self.happens_before(model);
        let count = self.nodes.len();
        (LOCATIONS..count).any(|one| {
            (one + 1..count).any(|two| {
                self.nodes[one].0 != self.nodes[two].0
                    && self.location(one).is_some()
                    && self.location(one) == self.location(two)
                    && (self.writes(one) || self.writes(two))
                    && !(self.is_atomic(one) && self.is_atomic(two))
                    && hb[one] >> two & 1 == 0
                    && hb[two] >> one & 1 == 0
            })
        })
    }

    /// The final memories of all modification orders that the model allows; none if there is no such order.
    pub fn memories(&self, model: Model, locations: u32) -> Option<BTreeSet<Vec<Value>>> {
        let causes = union(&union(&self.po, &self.rf), &self.forks);
        if !is_acyclic(&causes) {
            return None;
        }
        let hb = self.happens_before(model);
        let writes: Vec<Vec<usize>> = (0..LOCATIONS)
            .map(|location| {
                (LOCATIONS..self.nodes.len())
                    .filter(|&at| self.writes(at) && self.location(at) == Some(location))
                    .collect()
            })
            .collect();
        let mut memories = BTreeSet::new();
        if model == Model::Wra {
            if !self.is_wra(&hb) {
                return None;
            }
            // Any write that no other happens after.
            let mut all: Vec<Vec<Value>> = vec![Vec::new()];
            for (location, writes) in writes.iter().enumerate().take(locations as usize) {
                let nodes: Vec<usize> = std::iter::once(location).chain(writes.iter().copied()).collect();
                let last = |at: &&usize| nodes.iter().all(|&other| hb[**at] >> other & 1 == 0);
                let values: Vec<Value> =
                    nodes.iter().filter(last).map(|&at| self.nodes[at].2.written.unwrap()).collect();
                all = all
                    .iter()
                    .flat_map(|memory| values.iter().map(|&value| [&memory[..], &[value]].concat()))
                    .collect();
            }
            return Some(all.into_iter().collect());
        }
        let mut orders: Vec<Vec<Vec<usize>>> = vec![Vec::new()];
        for writes in &writes {
            let mut all = permutations(writes);
            // An rmw comes right after its source, and the writes of a thread are in its order, in every model.
            all.retain(|order| self.is_plausible(order));
            orders = orders
                .iter()
                .flat_map(|order| all.iter().map(|one| [&order[..], std::slice::from_ref(one)].concat()))
                .collect();
        }
        for order in &orders {
            let mut mo = vec![0; self.nodes.len()];
            for (location, order) in order.iter().enumerate() {
                for (place, &at) in order.iter().enumerate() {
                    mo[location] |= 1 << at;
                    for &later in &order[place + 1..] {
                        mo[at] |= 1 << later;
                    }
                }
            }
            if self.is_allowed(model, &hb, &mo) {
                let last = |location: usize| order[location].last().map_or(0, |&at| self.nodes[at].2.written.unwrap());
                memories.insert((0..locations as usize).map(last).collect());
            }
        }
        (!memories.is_empty()).then_some(memories)
    }

    fn is_plausible(&self, order: &[usize]) -> bool {
        (0..order.len()).all(|place| {
            let at = order[place];
            let is_updated = |source: usize| self.rf[source] >> at & 1 == 1;
            let right_before = place.checked_sub(1).map(|before| order[before]);
            let is_atomic = !self.reads(at) || right_before.map_or_else(|| (0..LOCATIONS).any(is_updated), is_updated);
            is_atomic && order[place + 1..].iter().all(|&later| self.po[later] >> at & 1 == 0)
        })
    }

    fn is_wra(&self, hb: &Relation) -> bool {
        let count = self.nodes.len();
        let updated_twice = (0..count)
            .any(|at| (0..count).filter(|&other| self.rf[at] >> other & 1 == 1 && self.writes(other)).count() > 1);
        let overwritten = (0..count).any(|write| {
            (0..count).filter(|&read| self.rf[write] >> read & 1 == 1).any(|read| {
                (0..count).any(|other| {
                    self.writes(other)
                        && other != read
                        && self.location(other) == self.location(write)
                        && hb[write] >> other & 1 == 1
                        && hb[other] >> read & 1 == 1
                })
            })
        });
        is_irreflexive(hb) && !updated_twice && !overwritten
    }

    pub fn is_allowed(&self, model: Model, hb: &Relation, mo: &Relation) -> bool {
        let rf = &self.rf;
        let fr = self.filter(&compose(&inverse(rf), mo), |one, two| one != two);
        let atomic = is_irreflexive(&compose(&fr, mo));
        let base = union(&union(&self.po, &self.forks), rf);
        let same = |one: usize, two: usize| self.location(one).is_some() && self.location(one) == self.location(two);
        match model {
            Model::Wra => unreachable!(),
            Model::Sc => is_acyclic(&union(&base, &union(mo, &fr))),
            Model::Tso | Model::Pso => {
                let local = self.filter(&union(&self.po, &self.forks), same);
                let external = self.filter(rf, |one, two| one < LOCATIONS || self.nodes[one].0 != self.nodes[two].0);
                let both = union(mo, &fr);
                is_acyclic(&union(&union(&local, rf), &both))
                    && is_acyclic(&union(&union(&self.preserved(model), &external), &both))
            }
            Model::Ra | Model::Sra | Model::Rc20 | Model::Relaxed | Model::C20 | Model::Rc11 => {
                let reads = reflexive(rf);
                atomic
                    && is_irreflexive(hb)
                    && is_irreflexive(&compose(mo, &compose(&reads, &reflexive(hb))))
                    && is_irreflexive(&compose(&fr, &compose(&reads, hb)))
                    && (model != Model::Sra || is_acyclic(&union(hb, mo)))
                    && (!matches!(model, Model::C20 | Model::Rc11) || is_acyclic(&self.psc(hb, mo, &fr)))
            }
        }
    }

    /// `ppo`: a fence counts if it is sequentially consistent; spawns and joins order everything.
    fn preserved(&self, model: Model) -> Relation {
        let is_pure_write = |at: usize| self.writes(at) && !self.reads(at);
        let is_full = |at: usize| {
            matches!(
                self.nodes[at].1,
                Some(Step::Fence(Order::SequentiallyConsistent) | Step::Spawn(_) | Step::Join(_) | Step::Begin)
            )
        };
        let is_event = |at: usize| self.location(at).is_some() || is_full(at);
        let po = self.filter(&self.po, |one, two| {
            let pair = is_pure_write(one) && one >= LOCATIONS && self.location(two).is_some();
            let to_read = pair && self.reads(two) && !self.writes(two);
            let to_other = pair && self.writes(two) && self.location(one) != self.location(two) && model == Model::Pso;
            is_event(one) && is_event(two) && !to_read && !to_other
        });
        // All that a thread has done is done when it is joined.
        let mut all = union(&po, &self.forks);
        for at in 0..self.nodes.len() {
            if let Some(Step::Join(child)) = self.nodes[at].1 {
                for (other, row) in all.iter_mut().enumerate() {
                    if self.nodes[other].0 == Some(child as usize) {
                        *row |= 1 << at;
                    }
                }
            }
        }
        all
    }

    fn psc(&self, hb: &Relation, mo: &Relation, fr: &Relation) -> Relation {
        let eco = closure(&union(&self.rf, &union(mo, fr)));
        let same = |one: usize, two: usize| self.location(one).is_some() && self.location(one) == self.location(two);
        let is_event = |at: usize| !matches!(self.nodes[at].1, Some(Step::Choice(_)));
        let po = self.filter(&self.po, |one, two| one >= LOCATIONS && is_event(one) && is_event(two));
        let other = self.filter(&po, |one, two| !same(one, two));
        let local = self.filter(hb, same);
        let scb = union(&union(&po, &compose(&other, &compose(hb, &other))), &union(&local, &union(mo, fr)));
        let sc = self.only(|at| self.order(at) == Order::SequentiallyConsistent);
        let fence = self.only(|at| self.is_fence(at) && self.order(at) == Order::SequentiallyConsistent);
        let hbs = reflexive(hb);
        let start = union(&sc, &compose(&fence, &hbs));
        let end = union(&sc, &compose(&hbs, &fence));
        let base = compose(&start, &compose(&scb, &end));
        let fences = compose(&fence, &compose(&union(hb, &compose(hb, &compose(&eco, hb))), &fence));
        union(&base, &fences)
    }
}

fn permutations(all: &[usize]) -> Vec<Vec<usize>> {
    if all.is_empty() {
        return vec![Vec::new()];
    }
    (0..all.len())
        .flat_map(|at| {
            let mut rest = all.to_vec();
            let first = rest.remove(at);
            permutations(&rest).into_iter().map(move |tail| [&[first], &tail[..]].concat())
        })
        .collect()
}
