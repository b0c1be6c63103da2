//! Theories of the user's own: SYMBOLIC agrees with the specification, and every violation of SATURATE is one.

#[path = "../../../crates/solve/object/tests/all/common/mod.rs"]
mod common;

use std::fmt::Debug;

use baseline::refinement::theory::{Atom, Axiom, Formula, Label, Order, Theory, saturate, symbolic};
use common::run;
use model::Verdict;
use object::{Budget, ObjectOptions, Sequential, Timed, check_calls};
use verify::specification;
use workload::random::SplitMix64;

/// A stack (MR Figure 4): `Some(v)` pushes v and returns nothing, `None` pops a value or nothing.
struct Stack;

type Operation = Option<u32>;
type Return = Option<u32>;

impl Sequential for Stack {
    type State = Vec<u32>;
    type Operation = Operation;
    type Return = Return;

    fn initial(&self) -> Vec<u32> {
        Vec::new()
    }

    fn steps(&self, inside: &Vec<u32>, operation: &Operation) -> impl IntoIterator<Item = (Vec<u32>, Return)> {
        let mut inside = inside.clone();
        let returned = match operation {
            None => inside.pop(),
            Some(value) => {
                inside.push(*value);
                None
            }
        };
        Some((inside, returned))
    }
}

fn pushes(x: &Label<Operation, Return>) -> bool {
    x.operation.is_some()
}

fn pops(x: &Label<Operation, Return>) -> bool {
    x.operation.is_none()
}

impl Theory for Stack {
    type Operation = Operation;
    type Return = Return;

    /// MATCH1.
    fn can_match(&self, x: &Label<Operation, Return>, y: &Label<Operation, Return>) -> bool {
        pushes(x) && pops(y) && x.operation == y.returned
    }

    fn axioms(&self) -> Vec<Axiom<Operation, Return>> {
        let takes = |x: &Label<Operation, Return>| pops(x) && x.returned.is_some();
        vec![
            // A push returns nothing.
            Axiom::all(|x| pushes(x) && x.returned.is_some()),
            Axiom::injective(pops),
            // ADDREM
            Axiom::total(takes),
            // EMPTY, with a quantifier inside another: every push before it has its pop before it.
            Axiom::all(move |x| pops(x) && !takes(x)).then([Formula::every(
                pushes,
                Formula::or([
                    !Formula::from(Atom::Before(1, 0)),
                    Formula::some(pops, Formula::and([Atom::Match(1, 2), Atom::Before(2, 0)])),
                ]),
            )]),
            // LIFO
            Axiom::all(pushes)
                .and_all(pushes)
                .and_all(pops)
                .given([Atom::Match(0, 2), Atom::Before(0, 1), Atom::Before(1, 2)])
                .exists(pops, [Atom::Match(1, 3), Atom::Before(3, 2)]),
        ]
    }

    fn returns(&self, operation: &Operation, all: &[&Operation]) -> Option<Vec<Return>> {
        if operation.is_some() {
            return Some(vec![None]);
        }
        let mut values: Vec<Return> = all.iter().copied().copied().collect();
        values.sort_unstable();
        values.dedup();
        Some(values)
    }
}

/// A semaphore with tags, and so many slots (MR Examples 5.2 and 5.3): `Some(tag)` acquires a slot under this tag,
/// `None` releases one, and returns its tag. With one slot it is a lock.
struct Semaphore(usize);

impl Sequential for Semaphore {
    type State = Vec<u32>;
    type Operation = Operation;
    type Return = Return;

    fn initial(&self) -> Vec<u32> {
        Vec::new()
    }

    fn steps(&self, held: &Vec<u32>, operation: &Operation) -> impl IntoIterator<Item = (Vec<u32>, Return)> {
        let mut steps = Vec::new();
        match operation {
            Some(tag) if held.len() < self.0 => {
                let mut held = [&held[..], &[*tag]].concat();
                held.sort_unstable();
                steps.push((held, None));
            }
            Some(_) => {}
            None => {
                for at in 0..held.len() {
                    let mut held = held.clone();
                    let tag = held.remove(at);
                    steps.push((held, Some(tag)));
                }
            }
        }
        steps
    }
}

impl Theory for Semaphore {
    type Operation = Operation;
    type Return = Return;

    /// MATCH1.
    fn can_match(&self, x: &Label<Operation, Return>, y: &Label<Operation, Return>) -> bool {
        pushes(x) && pops(y) && x.operation == y.returned
    }

    fn axioms(&self) -> Vec<Axiom<Operation, Return>> {
        let slots = self.0;
        // LIMIT: of as many acquires as there are slots, and one after them, one was released before that.
        let mut limit = Axiom::all(pushes);
        for _ in 0..slots {
            limit = limit.and_all(pushes);
        }
        let limit = limit
            .when(move |x| (0..slots).all(|at| at == 0 || x[at - 1].place < x[at].place))
            .given((0..slots).map(|at| Atom::Before(at, slots)))
            .exists(
                pops,
                [
                    Formula::from(Atom::Before(slots + 1, slots)),
                    Formula::or((0..slots).map(|at| Atom::Match(at, slots + 1))),
                ],
            );
        vec![
            // An acquire returns nothing, a release a tag.
            Axiom::all(|x| pushes(x) == x.returned.is_some()),
            Axiom::injective(pops),
            Axiom::total(pops),
            limit,
        ]
    }

    fn returns(&self, operation: &Operation, all: &[&Operation]) -> Option<Vec<Return>> {
        Stack.returns(operation, all).map(|returns| {
            let is_release = operation.is_none();
            returns.into_iter().filter(|returned| returned.is_some() == is_release).collect()
        })
    }
}

/// An exchanger (MR Figure 7): an operation offers a value, and returns that of the operation that it meets, or
/// nothing. Two that meet take effect together, so the order is not total.
struct Exchanger;

impl Theory for Exchanger {
    type Operation = u32;
    type Return = Return;

    fn order(&self) -> Order {
        Order::Partial
    }

    /// MATCH1.
    fn can_match(&self, x: &Label<u32, Return>, y: &Label<u32, Return>) -> bool {
        Some(*x.operation) == *y.returned
    }

    fn axioms(&self) -> Vec<Axiom<u32, Return>> {
        let apart = [Atom::Before(0, 1), Atom::Before(1, 0)];
        vec![
            Axiom::injective(|_| true),
            Axiom::symmetric(),
            // EXCHANGE
            Axiom::all(|x: &Label<u32, Return>| x.returned.is_some()).exists(|_| true, [Atom::Match(0, 1)]),
            // MATCHOVERLAP
            Axiom::all(|_| true).and_all(|_| true).given([Atom::Match(0, 1)]).then([!Formula::or(apart)]),
        ]
    }

    fn returns(&self, _: &u32, all: &[&u32]) -> Option<Vec<Return>> {
        Some(all.iter().map(|&&value| Some(value)).collect())
    }
}

/// Whether the operations from a place on can be paired up, if those of `paired` have a partner.
fn can_pair(calls: &[Timed<u32, Return>], at: usize, paired: &mut Vec<bool>) -> bool {
    let Some(call) = calls.get(at) else { return true };
    let result = |call: &Timed<u32, Return>| call.result().copied();
    if paired[at] {
        return can_pair(calls, at + 1, paired);
    }
    // One that returned nothing met nobody, and one that is pending need not.
    if matches!(result(call), None | Some(None)) && can_pair(calls, at + 1, paired) {
        return true;
    }
    let ends_before = |x: &Timed<u32, Return>, y: &Timed<u32, Return>| x.ret().is_some_and(|ret| ret < y.call);
    for other in at + 1..calls.len() {
        let partner = &calls[other];
        let gives = |to: &Timed<u32, Return>, from: &Timed<u32, Return>| {
            result(to).is_none_or(|returned| returned == Some(from.operation))
        };
        let can_meet = !ends_before(call, partner) && !ends_before(partner, call);
        if !paired[other] && can_meet && gives(call, partner) && gives(partner, call) {
            paired[other] = true;
            let is_good = can_pair(calls, at + 1, paired);
            paired[other] = false;
            if is_good {
                return true;
            }
        }
    }
    false
}

/// Tickets that are handed out in turn. Nothing is matched. The theory has no axioms about pending calls.
struct Tickets;

impl Sequential for Tickets {
    type State = u32;
    type Operation = ();
    type Return = u32;

    fn initial(&self) -> u32 {
        0
    }

    fn steps(&self, next: &u32, (): &()) -> impl IntoIterator<Item = (u32, u32)> {
        Some((next + 1, *next))
    }
}

impl Theory for Tickets {
    type Operation = ();
    type Return = u32;

    fn axioms(&self) -> Vec<Axiom<(), u32>> {
        vec![
            Axiom::all(|_| true).and_all(|_| true).when(|x| x[0].place != x[1].place && x[0].returned == x[1].returned),
            Axiom::all(|_| true)
                .and_all(|_| true)
                .when(|x| x[0].returned < x[1].returned)
                .then([Atom::Before(0, 1).into(), !Formula::from(Atom::Match(0, 1))]),
        ]
    }
}

/// How many histories were decided, how many of them are violations, and how many violations propagation found.
fn agrees<T>(object: &T, operation: impl Fn(&mut SplitMix64) -> <T as Sequential>::Operation) -> [u64; 3]
where
    T: Sequential + Theory<Operation = <T as Sequential>::Operation, Return = <T as Sequential>::Return>,
    <T as Sequential>::Operation: Debug,
    <T as Sequential>::Return: Clone + Debug,
{
    let mut counts = [0; 3];
    for seed in 0..4000 {
        let calls = run(object, &mut SplitMix64::new(seed), &operation);
        let expected = check_calls(object, &calls, &ObjectOptions::default()).verdict;
        let [exact, sound] = [symbolic, saturate].map(|check| check(object, &calls, &Budget::UNLIMITED));
        for decision in [&exact, &sound] {
            if decision.verdict == Verdict::Unknown {
                continue;
            }
            assert_eq!(decision.verdict, expected, "{seed}: {calls:?} {decision:?}");
            let evidence = decision.evidence.as_ref().expect("evidence");
            let verified = specification::verify(object, &calls, expected, evidence);
            assert_eq!(verified, Ok(()), "{seed}: {calls:?} {decision:?}");
        }
        let is_violation = |verdict| u64::from(verdict == Verdict::Violation);
        counts[0] += u64::from(exact.verdict != Verdict::Unknown);
        counts[1] += is_violation(exact.verdict);
        counts[2] += is_violation(sound.verdict);
    }
    counts
}

#[test]
fn stacks() {
    let [decided, violations, found] = agrees(&Stack, |random| random.pick(&[None, Some(1), Some(2), Some(3)]));
    println!("{violations} violations, SATURATE found {found}");
    assert!(decided == 4000 && violations > 150 && found * 2 > violations, "{decided}, {violations}, {found}");
}

/// The tagged lock and the tagged semaphore: LIMIT has a disjunction under its quantifier.
#[test]
fn tagged_locks_and_semaphores() {
    for slots in [1, 2] {
        let tags = [None, None, Some(1), Some(2), Some(3)];
        let [decided, violations, found] = agrees(&Semaphore(slots), |random| random.pick(&tags));
        println!("{slots} slots: {violations} violations, SATURATE found {found}");
        assert!(decided == 4000 && violations > 100 && found * 2 > violations, "{decided}, {violations}, {found}");
    }
}

/// The exchanger has no linearization, and a partial order. Brute force pairs the operations up.
#[test]
fn exchangers() {
    let mut random = SplitMix64::new(5);
    let (mut allowed, mut violations, mut found) = (0, 0, 0);
    for _ in 0..workload::cases(3000) {
        let count = random.between(1, 5) as usize;
        let mut calls: Vec<Timed<u32, Return>> = (0..count)
            .map(|_| {
                let call = random.below(12);
                let (value, ret) = (random.between(1, 3), call + 1 + random.below(6));
                if random.percent(15) { Timed::pending(value, call) } else { Timed::returned(value, [call, ret], None) }
            })
            .collect();
        // Some return what another has offered.
        for _ in 0..random.below(3) {
            let [one, other] = [0; 2].map(|_| random.below(count as u64) as usize);
            for (to, from) in [(one, other), (other, one)] {
                let value = calls[from].operation;
                if let Some(ret) = calls[to].ret() {
                    calls[to] = Timed::returned(calls[to].operation, [calls[to].call, ret], Some(value));
                }
            }
        }
        let expected = can_pair(&calls, 0, &mut vec![false; count]);
        let exact = symbolic(&Exchanger, &calls, &Budget::UNLIMITED).verdict;
        assert_eq!(exact, if expected { Verdict::Consistent } else { Verdict::Violation }, "{calls:?}");
        let sound = saturate(&Exchanger, &calls, &Budget::UNLIMITED).verdict;
        assert!(sound != Verdict::Violation || !expected, "{calls:?}");
        allowed += u64::from(expected);
        violations += u64::from(!expected);
        found += u64::from(sound == Verdict::Violation);
    }
    println!("{allowed} allowed, {violations} violations, SATURATE found {found}");
    assert!(allowed > 300 && violations > 300 && found * 2 > violations, "{allowed}, {violations}, {found}");
}

/// A theory without axioms about pending calls decides only histories without pending calls.
#[test]
fn tickets() {
    let calls = [Timed::returned((), [0, 2], 1), Timed::returned((), [1, 3], 1)];
    assert_eq!(saturate(&Tickets, &calls, &Budget::UNLIMITED).verdict, Verdict::Violation);
    let calls = [Timed::returned((), [0, 1], 1), Timed::returned((), [2, 3], 0)];
    assert_eq!(saturate(&Tickets, &calls, &Budget::UNLIMITED).verdict, Verdict::Violation);
    let calls = [Timed::returned((), [0, 2], 1), Timed::returned((), [1, 3], 0)];
    let decision = symbolic(&Tickets, &calls, &Budget::UNLIMITED);
    assert_eq!(decision.verdict, Verdict::Consistent);
    let evidence = decision.evidence.expect("an order");
    assert_eq!(specification::verify(&Tickets, &calls, Verdict::Consistent, &evidence), Ok(()));
    let calls = [Timed::pending((), 0), Timed::returned((), [1, 3], 0)];
    assert_eq!(symbolic(&Tickets, &calls, &Budget::UNLIMITED).verdict, Verdict::Unknown);
}

/// A history that takes too long is not decided.
#[test]
fn out_of_time() {
    let calls: Vec<Timed<Operation, Return>> =
        (0..200).map(|at| Timed::returned(Some(at), [u64::from(at), 1000], None)).collect();
    let due = Budget::default().timeout(std::time::Duration::ZERO);
    assert_eq!(symbolic(&Stack, &calls, &due).verdict, Verdict::Unknown);
}

/// A premise may have quantifiers, too: an increment that no other comes before returns zero, and every other one more
/// than some increment before it.
struct Counter;

impl Sequential for Counter {
    type State = u32;
    type Operation = ();
    type Return = u32;

    fn initial(&self) -> u32 {
        0
    }

    fn steps(&self, next: &u32, (): &()) -> impl IntoIterator<Item = (u32, u32)> {
        Some((next + 1, *next))
    }
}

impl Theory for Counter {
    type Operation = ();
    type Return = u32;

    fn axioms(&self) -> Vec<Axiom<(), u32>> {
        let first = || Formula::every(|_| true, !Formula::from(Atom::Before(1, 0)));
        let follows = Formula::labels(|x: &[Label<(), u32>]| *x[0].returned == x[1].returned + 1);
        vec![
            Axiom::all(|_| true).given([first()]).then([Formula::labels(|x: &[Label<(), u32>]| *x[0].returned == 0)]),
            Axiom::all(|_| true).given([!first()]).exists(|_| true, [follows, Formula::from(Atom::Before(1, 0))]),
            Axiom::all(|_| true)
                .and_all(|_| true)
                .given([Atom::Before(0, 1)])
                .then([Formula::labels(|x: &[Label<(), u32>]| x[0].returned < x[1].returned)]),
        ]
    }

    fn returns(&self, (): &(), all: &[&()]) -> Option<Vec<u32>> {
        Some((0..all.len() as u32).collect())
    }
}

#[test]
fn counters() {
    let [decided, violations, found] = agrees(&Counter, |_| ());
    println!("{violations} violations, SATURATE found {found}");
    assert!(decided == 4000 && violations > 150 && found * 2 > violations, "{decided}, {violations}, {found}");
}

/// What a set is asked (MR Figure 5). Adding and removing return nothing.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
enum OfSet {
    Add,
    Remove,
    Contains,
}

/// A set of one value: INCLUDE, EXCLUDE and ADDREM as printed.
struct Set;

impl Sequential for Set {
    type State = bool;
    type Operation = OfSet;
    type Return = Option<bool>;

    fn initial(&self) -> bool {
        false
    }

    fn steps(&self, inside: &bool, operation: &OfSet) -> impl IntoIterator<Item = (bool, Option<bool>)> {
        Some(match operation {
            OfSet::Add => (true, None),
            OfSet::Remove => (false, None),
            OfSet::Contains => (*inside, Some(*inside)),
        })
    }
}

impl Theory for Set {
    type Operation = OfSet;
    type Return = Option<bool>;

    /// MATCH2.
    fn can_match(&self, x: &Label<OfSet, Option<bool>>, y: &Label<OfSet, Option<bool>>) -> bool {
        *x.operation == OfSet::Add && (*y.operation == OfSet::Remove || *y.returned == Some(true))
    }

    fn axioms(&self) -> Vec<Axiom<OfSet, Option<bool>>> {
        let is = |operation: OfSet| move |x: &Label<OfSet, Option<bool>>| *x.operation == operation;
        vec![
            Axiom::injective(is(OfSet::Remove)),
            // INCLUDE
            Axiom::total(|x| *x.returned == Some(true)),
            Axiom::all(|x| *x.returned == Some(true))
                .and_all(is(OfSet::Add))
                .and_all(is(OfSet::Remove))
                .given([Atom::Match(1, 0), Atom::Match(1, 2)])
                .then([Atom::Before(1, 0), Atom::Before(0, 2)]),
            // EXCLUDE
            Axiom::all(|x| *x.returned == Some(false))
                .and_all(is(OfSet::Add))
                .given([Atom::Before(1, 0)])
                .exists(is(OfSet::Remove), [Atom::Match(1, 2), Atom::Before(2, 0)]),
            // ADDREM
            Axiom::all(is(OfSet::Add)).and_all(is(OfSet::Remove)).given([Atom::Match(0, 1)]).then([Atom::Before(0, 1)]),
        ]
    }
}

/// EXCLUDE asks for a removal of every add before a `contains` that fails, but a remove is matched to one add. So the
/// theory as printed refuses what a set allows, once a value was added twice.
#[test]
fn the_set_as_printed_refuses_a_value_that_was_added_twice() {
    let run = |operations: &[(OfSet, Option<bool>)]| -> Vec<Timed<OfSet, Option<bool>>> {
        let call = |(at, &(operation, returned)): (u64, &_)| Timed::returned(operation, [2 * at, 2 * at + 1], returned);
        (0..).zip(operations).map(call).collect()
    };
    let (add, remove, fails) = ((OfSet::Add, None), (OfSet::Remove, None), (OfSet::Contains, Some(false)));
    for (operations, printed) in
        [(&[add, remove, fails][..], Verdict::Consistent), (&[add, add, remove, fails], Verdict::Violation)]
    {
        let calls = run(operations);
        assert_eq!(check_calls(&Set, &calls, &ObjectOptions::default()).verdict, Verdict::Consistent);
        assert_eq!(symbolic(&Set, &calls, &Budget::UNLIMITED).verdict, printed);
    }
}
