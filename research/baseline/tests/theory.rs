//! Theories of the user's own: SYMBOLIC agrees with the specification, and every violation of SATURATE is one.

#[path = "../../../crates/solve/object/tests/all/common/mod.rs"]
mod common;

use std::fmt::Debug;

use baseline::refinement::theory::{Atom, Axiom, Label, Theory, saturate, symbolic};
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
            Axiom::all(takes).exists(pushes, [Atom::Match(1, 0), Atom::Before(1, 0)]),
            // EMPTY
            Axiom::all(move |x| pops(x) && !takes(x))
                .and_all(pushes)
                .given([Atom::Before(1, 0)])
                .exists(pops, [Atom::Match(1, 2), Atom::Before(2, 0)]),
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
                .then([Atom::Before(0, 1), Atom::NoMatch(0, 1)]),
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
