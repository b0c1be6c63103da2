//! A search over a justified order against brute force: events in chains, and clauses about which comes first.

use order::justified::Checkpoint;
use order::saturation::{Conflict, Derived, Rules};
use order::{Cycles, EventItems, Explanation, Hops, Justified, Premises, Saturation};
use search::{Ending, Lemma, Lit, Next, Search, Steps, Theory, Why};

struct NoRules;

impl Rules for NoRules {
    fn entered(&mut self, _: &Saturation, _: u32, _: &mut Vec<Derived>) {}
    fn grown(&mut self, _: &Saturation, _: u32, _: usize, _: u32, _: u32, _: &mut Vec<Derived>) {}
}

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Hop {
    Chain(u32, u32),
    Derived(u32),
}

/// Nothing is derived, so there are no premises.
struct Plain;

impl Hops for Plain {
    type Hop = Hop;

    fn chain(&self, from: u32, to: u32) -> Hop {
        Hop::Chain(from, to)
    }

    fn derived(&self, number: u32) -> Hop {
        Hop::Derived(number)
    }

    fn base(&self, _: u32, _: impl FnMut(u32, Hop, bool)) {}

    fn append(&self, path: &mut Vec<Hop>, hop: Hop) {
        path.push(hop);
    }
}

impl Premises for Plain {
    fn number(hop: Hop) -> Option<u32> {
        if let Hop::Derived(number) = hop { Some(number) } else { None }
    }

    fn premise(&self, edge: Derived, _: impl Fn(u32, u32) -> Vec<Hop>) -> Vec<Hop> {
        panic!("no rule has derived {edge:?}")
    }

    fn tell(&self, _: &Saturation, cycle: Vec<Hop>) -> Vec<Hop> {
        cycle
    }
}

/// All events in a line.
struct Line {
    order: Justified<NoRules>,
    count: u32,
}

impl Theory for Line {
    type Conflict = Conflict;
    type Proof = Explanation<Hop>;
    type Model = Vec<u32>;
    type Mark = Checkpoint;
    type GaveUp = ();

    fn mark(&self) -> Checkpoint {
        self.order.mark()
    }

    fn undo_to(&mut self, mark: Checkpoint) {
        self.order.undo_to(mark);
    }

    fn assert(&mut self, lit: Lit, why: Why<'_>) -> Result<(), Conflict> {
        self.order.assert(lit, why)
    }

    fn holds(&self, lit: Lit) -> Option<bool> {
        self.order.holds(lit)
    }

    fn explain(&mut self, conflict: Conflict) -> Lemma<Explanation<Hop>> {
        self.order.explain(&Plain, conflict)
    }

    fn decide(&mut self, _: &mut Steps) -> Result<Next<Vec<u32>, Conflict>, ()> {
        if let Some(news) = self.order.news() {
            assert_eq!(news.end as usize, self.order.order().edge_count());
            assert!(news.start <= news.end);
        }
        assert!(self.order.news().is_none(), "nothing has changed since");
        let pairs = (0..self.count).flat_map(|a| (0..a).map(move |b| (a, b)));
        let is_open = |&(a, b): &(u32, u32)| !self.order.before(a, b) && !self.order.before(b, a);
        if let Some((a, b)) = pairs.into_iter().find(is_open) {
            return Ok(Next::Decide(self.order.lit(a, b)));
        }
        let mut line: Vec<u32> = (0..self.count).collect();
        line.sort_by_key(|&event| self.order.order().sum(event));
        Ok(Next::Found(line))
    }
}

/// All lines of some chains.
fn lines(starts: &[u32], at: &mut Vec<u32>, line: &mut Vec<u32>, all: &mut Vec<Vec<u32>>) {
    if line.len() == starts[starts.len() - 1] as usize {
        all.push(line.clone());
    }
    for chain in 0..at.len() {
        if at[chain] < starts[chain + 1] {
            line.push(at[chain]);
            at[chain] += 1;
            lines(starts, at, line, all);
            at[chain] -= 1;
            line.pop();
        }
    }
}

#[test]
fn a_line_is_found_exactly_if_there_is_one() {
    let mut state = 1_u64;
    let mut below = |limit: u32| {
        // Marsaglia's xorshift.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % u64::from(limit)) as u32
    };
    let mut found = [0, 0];
    let mut lemmas = 0;
    for case in 0..3_000 {
        let starts = [&[0, 1, 2, 3, 4][..], &[0, 2, 4, 6], &[0, 1, 3, 5, 6], &[0, 3, 6]][case % 4];
        let count = starts[starts.len() - 1];
        let mut order = Saturation::new(starts, |_| std::iter::empty());
        for event in 0..count {
            assert_eq!(order.enter(event, std::iter::empty(), &mut NoRules), Ok(()));
        }
        let mut theory = Line { order: Justified::new(order, NoRules, EventItems), count };
        let mut clauses = Vec::new();
        for _ in 0..4 + below(9) {
            let pairs = (0..=below(3)).map(|_| {
                let a = below(count);
                (a, (a + 1 + below(count - 1)) % count)
            });
            clauses.push(pairs.collect::<Vec<(u32, u32)>>());
        }
        let lits: Vec<Vec<Lit>> =
            clauses.iter().map(|clause| clause.iter().map(|&(a, b)| theory.order.lit(a, b)).collect()).collect();
        let mut search = Search::new(theory);
        if case % 3 == 0 {
            search = search.without_reuse();
        }
        for clause in lits {
            search.add_clause(clause);
        }

        let mut all = Vec::new();
        lines(starts, &mut starts[..starts.len() - 1].to_vec(), &mut Vec::new(), &mut all);
        let place = |line: &[u32], event: u32| line.iter().position(|&other| other == event);
        let satisfies = |line: &[u32], (a, b): (u32, u32)| place(line, a) < place(line, b);
        all.retain(|line| clauses.iter().all(|clause| clause.iter().any(|&pair| satisfies(line, pair))));

        match search.run(&mut Steps::new(u64::MAX)) {
            Ok(Ending::Found(line)) => assert!(all.contains(&line), "case {case}: {line:?}, {clauses:?}"),
            Ok(Ending::Refuted) => assert!(all.is_empty(), "case {case}: {clauses:?}"),
            other => panic!("case {case}: {other:?}"),
        }
        found[usize::from(all.is_empty())] += 1;
        if all.is_empty() {
            let (refutation, order) = (search.refutation(), &search.theory().order);
            assert!(refutation.lemmas.last().is_some_and(|last| last.refuted.is_empty()));
            lemmas += refutation.lemmas.len();
            for lemma in refutation.lemmas {
                // Each edge that is not decided is by a clause, and is explained by edges before it.
                let whole = order.whole(&Plain, &lemma.proof);
                assert_eq!(whole.edges.len(), lemma.proof.edges.len(), "nothing holds without an assertion");
                assert_eq!(lemma.uses.len() + lemma.refuted.len(), whole.edges.len());
            }
        }
    }
    assert!(found.iter().all(|&count| count > 300) && lemmas > 1_000, "{found:?}, {lemmas}");
}

/// The shortest of the cycles through some vertices, against one search for each of them.
#[test]
fn the_shortest_cycle_through_some_vertices() {
    for bits in 0..1_u32 << 12 {
        // Graphs of four vertices, without edges from a vertex to itself.
        let others = |from: u32| (0..4).filter(move |&to| to != from);
        let has = |from: u32, at: usize| bits >> (3 * from + at as u32) & 1 == 1;
        let edges = |from| others(from).enumerate().filter(|&(at, _)| has(from, at)).map(|(_, to)| to).collect();
        let graph: Vec<Vec<u32>> = (0..4).map(edges).collect();
        let mut cycles = Cycles::new(4);
        let successors = |at: u32| graph[at as usize].as_slice();
        let mut of = |begin: u32| cycles.shortest(begin, successors);
        let lengths: Vec<usize> = (1..4).filter_map(&mut of).map(|cycle| cycle.len()).collect();
        let shortest = Cycles::new(4).shortest_of_all(1..4, 10, successors);
        assert_eq!(shortest.len(), lengths.iter().copied().min().unwrap_or(0), "{graph:?}");
        let first = Cycles::new(4).shortest_of_all(1..4, 0, successors);
        assert_eq!(first.len(), lengths.first().copied().unwrap_or(0), "{graph:?}");
    }
}
