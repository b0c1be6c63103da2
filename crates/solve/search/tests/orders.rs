//! The kernel with a toy theory, against a brute force that tries all orders.
//!
//! An instance has a few items, edges between them that are fixed, rules 'if a is before b, then c is before d', and
//! clauses about pairs. What is looked for is an order of all items with the edges, under which the rules and clauses
//! hold.

use std::collections::BinaryHeap;

use search::{Effort, Ending, Lemma, Lit, Next, Pairs, Search, Steps, Theory, Turns, Why};

/// Numbers that look random.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize * bound) >> 31
    }
}

type Pair = (u32, u32);

#[derive(Clone, Debug)]
struct Instance {
    items: u32,
    fixed: Vec<Pair>,
    rules: Vec<(Pair, Pair)>,
    clauses: Vec<Vec<Pair>>,
}

impl Instance {
    fn random(random: &mut Random) -> Self {
        let items = 3 + random.below(4) as u32;
        let pair = |random: &mut Random| loop {
            let pair = (random.below(items as usize) as u32, random.below(items as usize) as u32);
            if pair.0 != pair.1 {
                return pair;
            }
        };
        let fixed = (0..random.below(3)).map(|_| pair(random)).collect();
        let rules = (0..random.below(10)).map(|_| (pair(random), pair(random))).collect();
        let clause = |random: &mut Random| {
            let mut clause: Vec<Pair> = (0..=random.below(3)).map(|_| pair(random)).collect();
            clause.sort_unstable();
            clause.dedup();
            clause
        };
        let clauses = (0..random.below(12)).map(|_| clause(random)).collect();
        Self { items, fixed, rules, clauses }
    }

    /// The pairs that matter.
    fn pairs(&self) -> Vec<Pair> {
        let of_rules = self.rules.iter().flat_map(|&(premise, follows)| [premise, follows]);
        of_rules.chain(self.clauses.iter().flatten().copied()).collect()
    }

    /// All orders with the fixed edges and the rules, as the place of each item.
    fn orders(&self) -> Vec<Vec<u32>> {
        let mut orders = vec![Vec::new()];
        for item in 0..self.items {
            let longer = |order: &Vec<u32>| {
                let order = order.clone();
                (0..=order.len()).map(move |at| {
                    let mut order = order.clone();
                    order.insert(at, item);
                    order
                })
            };
            orders = orders.iter().flat_map(longer).collect();
        }
        let places = |order: &Vec<u32>| {
            let mut places = vec![0; order.len()];
            (0..).zip(order).for_each(|(place, &item)| places[item as usize] = place);
            places
        };
        let mut orders: Vec<Vec<u32>> = orders.iter().map(places).collect();
        orders.retain(|places| {
            let is_ruled = self.rules.iter().all(|&(premise, follows)| !has(places, premise) || has(places, follows));
            is_ruled && self.fixed.iter().all(|&pair| has(places, pair))
        });
        orders
    }

    fn satisfies(&self, places: &[u32]) -> bool {
        self.clauses.iter().all(|clause| clause.iter().any(|&pair| has(places, pair)))
    }
}

fn has(places: &[u32], (a, b): Pair) -> bool {
    places[a as usize] < places[b as usize]
}

/// At which literals an explanation stops.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Cut {
    /// At decisions.
    Decisions,
    /// At the first literal of the last level on which the whole conflict rests, and at all that was asserted before
    /// that level.
    First,
    /// The same, but at some of these literals only.
    Some,
}

#[derive(Clone, Debug)]
enum By {
    Fixed,
    Rule(usize),
    Decision,
    Clause(u32, Vec<Lit>),
}

#[derive(Clone, Debug)]
struct Edge {
    pair: Pair,
    by: By,
    /// How many decisions there were.
    level: u32,
    /// Whether its opposite held when it was asserted.
    is_against: bool,
}

/// The theory: a partial order, closed under the rules.
struct Orders<'a> {
    instance: &'a Instance,
    cut: Cut,
    pairs: Pairs,
    wanted: Vec<Pair>,
    edges: Vec<Edge>,
    /// What was before what at each mark that is not gone.
    snapshots: Vec<(usize, Vec<bool>)>,
    /// The clauses that were given, and then what was learnt.
    clauses: Vec<Vec<Lit>>,
    random: Random,
    is_explained: bool,
    /// How many of the clauses the search has to keep in mind: those that were given, or all.
    reused: usize,
}

/// The proof of a lemma is nothing but the rules. It is enough to know which clauses it uses.
type Proof = ();

impl<'a> Orders<'a> {
    /// None if the fixed edges contradict the rules.
    fn search(instance: &'a Instance, cut: Cut) -> Option<Search<Self>> {
        let mut pairs = Pairs::default();
        let mut lits = |clause: &Vec<Pair>| clause.iter().map(|&(a, b)| pairs.lit(a, b)).collect::<Vec<_>>();
        let clauses: Vec<Vec<Lit>> = instance.clauses.iter().map(&mut lits).collect();
        let given = clauses.clone();
        let (wanted, random) = (instance.pairs(), Random(7));
        let (edges, snapshots) = (Vec::new(), Vec::new());
        let mut orders = Self {
            instance,
            cut,
            pairs,
            wanted,
            edges,
            snapshots,
            clauses,
            random,
            is_explained: true,
            reused: usize::MAX,
        };
        for &pair in &instance.fixed {
            orders.edges.push(Edge { pair, by: By::Fixed, level: 0, is_against: false });
        }
        orders.close().ok()?;
        let mut search = Search::new(orders);
        for clause in given {
            search.add_clause(clause);
        }
        Some(search)
    }

    /// A shortest path over the first so many edges.
    fn path(&self, (from, to): Pair, limit: usize) -> Option<Vec<usize>> {
        let mut by: Vec<Option<usize>> = vec![None; self.instance.items as usize];
        let mut queue = vec![from];
        let mut at = 0;
        while let Some(&item) = queue.get(at) {
            for (number, edge) in self.edges[..limit].iter().enumerate() {
                if edge.pair.0 == item && by[edge.pair.1 as usize].is_none() {
                    by[edge.pair.1 as usize] = Some(number);
                    queue.push(edge.pair.1);
                }
            }
            at += 1;
        }
        let mut path = vec![by[to as usize]?];
        while self.edges[path[path.len() - 1]].pair.0 != from {
            path.push(by[self.edges[path[path.len() - 1]].pair.0 as usize]?);
        }
        Some(path)
    }

    fn before(&self, pair: Pair) -> bool {
        self.path(pair, self.edges.len()).is_some()
    }

    fn level(&self) -> u32 {
        self.edges.last().map_or(0, |edge| edge.level)
    }

    fn close(&mut self) -> Result<(), ()> {
        loop {
            if (0..self.instance.items).any(|item| self.before((item, item))) {
                return Err(());
            }
            let rules = self.instance.rules.iter().enumerate();
            let mut missing = rules.filter(|(_, (premise, follows))| self.before(*premise) && !self.before(*follows));
            let Some((number, &(_, pair))) = missing.next() else { return Ok(()) };
            self.edges.push(Edge { pair, by: By::Rule(number), level: self.level(), is_against: false });
        }
    }

    fn relation(&self) -> Vec<bool> {
        let items = 0..self.instance.items;
        items.clone().flat_map(|a| items.clone().map(move |b| (a, b))).map(|pair| self.before(pair)).collect()
    }
}

impl Theory for Orders<'_> {
    type Conflict = ();
    type Proof = Proof;
    type Model = Vec<u32>;
    type Mark = usize;
    type GaveUp = ();

    fn mark(&self) -> usize {
        self.edges.len()
    }

    fn undo_to(&mut self, mark: usize) {
        self.edges.truncate(mark);
        while self.snapshots.last().is_some_and(|&(at, _)| at > mark) {
            self.snapshots.pop();
        }
        if let Some((_, snapshot)) = self.snapshots.last().filter(|&&(at, _)| at == mark) {
            assert_eq!(*snapshot, self.relation(), "going back restores what was before what");
        }
        self.is_explained = true;
    }

    fn assert(&mut self, lit: Lit, why: Why<'_>) -> Result<(), ()> {
        assert!(self.is_explained, "a conflict is explained and taken back before something is asserted");
        let pair = self.pairs.of(lit);
        let is_against = self.holds(lit) == Some(false);
        let level = self.level();
        let (by, level) = match why {
            Why::Decided => {
                assert!(self.holds(lit).is_none());
                self.snapshots.push((self.edges.len(), self.relation()));
                (By::Decision, level + 1)
            }
            Why::Clause { number, others } => {
                assert!(others.iter().all(|&other| self.holds(other) == Some(true)), "the others hold");
                let clause = &self.clauses[number as usize];
                let expected: Vec<Lit> = clause.iter().filter(|&&other| other != lit).map(|&other| !other).collect();
                assert_eq!(others, expected, "the others are in the order of the clause");
                (By::Clause(number, others.to_vec()), level)
            }
        };
        self.edges.push(Edge { pair, by, level, is_against });
        let result = self.close();
        assert!(!is_against || result.is_err());
        self.is_explained = result.is_ok();
        result
    }

    fn holds(&self, lit: Lit) -> Option<bool> {
        let (a, b) = self.pairs.of(lit);
        if self.before((a, b)) { Some(true) } else { self.before((b, a)).then_some(false) }
    }

    fn explain(&mut self, (): ()) -> Lemma<Proof> {
        let mut cycles = (0..self.instance.items).filter_map(|item| self.path((item, item), self.edges.len()));
        let mut wanted: BinaryHeap<usize> = cycles.next().expect("there is a cycle").into();
        let (mut refuted, mut uses) = (Vec::new(), Vec::new());
        let (mut last, mut last_level) = (usize::MAX, None);
        while let Some(number) = wanted.pop() {
            if std::mem::replace(&mut last, number) == number {
                continue;
            }
            let Edge { pair, by, level, is_against } = self.edges[number].clone();
            let last_level = *last_level.get_or_insert(level);
            // Edges are popped from the last on.
            let is_alone = wanted.iter().all(|&other| other == number || self.edges[other].level < level);
            let may_stop = level > 0 && !is_against && (level < last_level || is_alone);
            let stops = may_stop
                && match self.cut {
                    Cut::Decisions => false,
                    Cut::First => true,
                    Cut::Some => self.random.below(2) == 0,
                };
            match by {
                By::Fixed => {}
                By::Rule(rule) => {
                    let premise = self.instance.rules[rule].0;
                    wanted.extend(self.path(premise, number).expect("the premise held"));
                }
                By::Clause(..) if stops => refuted.push(self.pairs.lit(pair.0, pair.1)),
                By::Decision => refuted.push(self.pairs.lit(pair.0, pair.1)),
                By::Clause(clause, others) => {
                    uses.push(clause);
                    for other in others {
                        wanted.extend(self.path(self.pairs.of(other), number).expect("the others held"));
                    }
                }
            }
        }
        refuted.sort_unstable();
        refuted.dedup();
        self.clauses.push(refuted.iter().map(|&lit| !lit).collect());
        Lemma { refuted, uses, proof: () }
    }

    fn decide(&mut self, steps: &mut Steps) -> Result<Next<Vec<u32>, ()>, ()> {
        for clause in self.clauses.iter().take(self.reused) {
            let values: Vec<Option<bool>> = clause.iter().map(|&lit| self.holds(lit)).collect();
            let possible = values.iter().filter(|&&value| value != Some(false)).count();
            assert!(values.contains(&Some(true)) || possible > 1, "propagation is complete");
        }
        if !steps.take() {
            return Ok(Next::Pause);
        }
        let begin = self.random.below(self.wanted.len().max(1));
        let all = self.wanted[begin..].iter().chain(&self.wanted[..begin]);
        let open = all.copied().find(|&(a, b)| !self.before((a, b)) && !self.before((b, a)));
        if let Some((a, b)) = open {
            return Ok(Next::Decide(self.pairs.lit(a, b)));
        }
        let count = |item: u32| (0..self.instance.items).filter(|&other| self.before((other, item))).count();
        let mut line: Vec<u32> = (0..self.instance.items).collect();
        line.sort_by_key(|&item| count(item));
        let mut places = vec![0; line.len()];
        (0..).zip(&line).for_each(|(place, &item)| places[item as usize] = place);
        Ok(Next::Found(places))
    }
}

/// How a search is run.
#[derive(Copy, Clone, Debug)]
struct Way {
    cut: Cut,
    reuses: bool,
    restarts: bool,
    steps: u64,
}

/// Runs a search to its end. Checks all that it says.
fn run(instance: &Instance, orders: &[Vec<u32>], way: Way) -> Option<(bool, Effort)> {
    let mut search = Orders::search(instance, way.cut)?;
    if !way.reuses {
        search = search.without_reuse();
        search.theory_mut().reused = instance.clauses.len();
    }
    if way.restarts {
        search = search.with_restarts(Turns { first: 1, growth: if way.reuses { 1 } else { 2 } });
    }
    let outcome = loop {
        match search.run(&mut Steps::new(way.steps)).expect("it does not give up") {
            Ending::Paused => {}
            outcome => break outcome,
        }
    };
    let theory = search.theory();
    let lit_holds = |places: &[u32], lit: Lit| has(places, theory.pairs.of(lit));
    let holds = |places: &[u32], clause: &Vec<Lit>| clause.iter().any(|&lit| lit_holds(places, lit));
    let all: Vec<&Vec<u32>> = orders.iter().filter(|places| instance.satisfies(places)).collect();
    for lemma in &theory.clauses[instance.clauses.len()..] {
        assert!(all.iter().all(|places| holds(places, lemma)), "{instance:?} {way:?}: a lemma is not entailed");
    }
    match outcome {
        Ending::Found(places) => {
            assert!(orders.contains(&places) && instance.satisfies(&places), "{instance:?} {way:?}: {places:?}");
        }
        Ending::Refuted => {
            assert!(all.is_empty(), "{instance:?} {way:?}");
            let refutation = search.refutation();
            let last = refutation.lemmas.last().expect("a refutation has a lemma");
            assert!(last.refuted.is_empty());
            for (at, lemma) in (0..).zip(&refutation.lemmas) {
                // The lemma follows from the rules and the clauses that it uses, which are given or come before it.
                for &used in &lemma.uses {
                    let is_given = (used as usize) < instance.clauses.len();
                    assert!(is_given || refutation.places[used as usize].is_some_and(|place| place < at));
                }
                let used = |places: &Vec<u32>| lemma.uses.iter().all(|&it| holds(places, &theory.clauses[it as usize]));
                let refuted = |places: &Vec<u32>| !lemma.refuted.iter().all(|&lit| lit_holds(places, lit));
                assert!(orders.iter().filter(|places| used(places)).all(refuted), "{instance:?} {way:?}");
            }
            let kept = refutation.places.iter().flatten().count();
            assert_eq!(kept, refutation.lemmas.len());
        }
        Ending::Paused => unreachable!("it was run to its end"),
    }
    Some((matches!(search.run(&mut Steps::new(u64::MAX)), Ok(Ending::Refuted)), search.effort()))
}

/// Every answer is right, every lemma is entailed, every proof holds, propagation is complete, and going back restores
/// the theory: the last two are checked by the theory itself.
#[test]
fn answers_lemmas_and_proofs_are_those_of_all_orders() {
    let mut random = Random(1);
    let (mut refuted, mut sum, mut most) = (0, Effort::default(), 0);
    for _ in 0..2_000 {
        let instance = Instance::random(&mut random);
        let orders = instance.orders();
        let expected = !orders.iter().any(|places| instance.satisfies(places));
        for cut in [Cut::Decisions, Cut::First, Cut::Some] {
            for (reuses, restarts) in [(true, false), (true, true), (false, false), (false, true)] {
                let way = Way { cut, reuses, restarts, steps: u64::MAX };
                let Some((is_refuted, effort)) = run(&instance, &orders, way) else { continue };
                assert_eq!(is_refuted, expected);
                refuted += u32::from(is_refuted);
                sum.lemmas += effort.lemmas;
                sum.propagations += effort.propagations;
                sum.restarts += effort.restarts;
                most = most.max(effort.lemmas);
            }
        }
    }
    assert!(refuted > 1_000 && sum.lemmas > 10_000 && sum.propagations > 5_000, "{refuted} {sum:?}");
    assert!(sum.restarts > 1_000 && most > 5, "{sum:?} {most}");
}

/// Where a search is paused changes nothing.
#[test]
fn a_search_that_is_paused_goes_the_same_way() {
    let mut random = Random(2);
    let mut pauses = 0;
    for _ in 0..500 {
        let instance = Instance::random(&mut random);
        let orders = instance.orders();
        for cut in [Cut::Decisions, Cut::Some] {
            let way = Way { cut, reuses: true, restarts: false, steps: u64::MAX };
            let whole = run(&instance, &orders, way);
            for steps in [1, 3] {
                assert_eq!(run(&instance, &orders, Way { steps, ..way }), whole, "{instance:?}");
                pauses += whole.map_or(0, |(_, effort)| effort.decisions / steps);
            }
        }
    }
    assert!(pauses > 500, "{pauses}");
}
