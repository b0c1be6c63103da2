//! Backtracking over the open pairs of writes (Algorithm 1 of GCC). Each pair is chosen one way, then the other. A
//! choice that makes a cycle is not extended.

use memory::Budget;
use memory::research::Choices;

use crate::strategy::Line;

/// What an enumeration did.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Effort {
    /// How many pairs are open.
    pub pairs: usize,
    /// How many choices it made.
    pub choices: u64,
    /// How many pairs were chosen at once, at most.
    pub most: usize,
    /// How many pairs, from the first, it did not choose again in the second half of its choices.
    pub kept: usize,
}

/// Looks for a line of all events, by trying all choices.
pub fn enumerate(choices: &Choices<'_>, budget: &Budget) -> Line {
    search(choices, budget, |_, _| ())
}

/// As [`enumerate`], and tells what it did, whether or not it came to an end.
pub fn effort(choices: &Choices<'_>, budget: &Budget) -> (Line, Effort) {
    let mut effort = Effort { pairs: choices.pairs.len(), ..Effort::default() };
    let mut back = Back::default();
    let line = search(choices, budget, |chosen, is_back| {
        if is_back {
            back.to(chosen);
        } else {
            effort.choices += 1;
            effort.most = effort.most.max(chosen);
            back.at(effort.choices);
        }
    });
    effort.kept = back.least().min(effort.most);
    (line, effort)
}

/// How far an enumeration went back in the second half of its choices, and some before.
struct Back {
    /// To how few chosen pairs it went back since the last power of two of choices, and between the one before and
    /// that one.
    since: [usize; 2],
}

impl Default for Back {
    fn default() -> Self {
        Self { since: [usize::MAX; 2] }
    }
}

impl Back {
    fn to(&mut self, chosen: usize) {
        self.since[0] = self.since[0].min(chosen);
    }

    fn at(&mut self, choices: u64) {
        if choices.is_power_of_two() {
            self.since = [usize::MAX, self.since[0]];
        }
    }

    fn least(&self) -> usize {
        self.since[0].min(self.since[1])
    }
}

/// `tell` gets how many pairs are chosen after each step, and whether the step went back.
fn search(choices: &Choices<'_>, budget: &Budget, mut tell: impl FnMut(usize, bool)) -> Line {
    let mut graph = choices.graph(|_| None);
    if graph.topological_order().is_none() {
        return Ok(None);
    }
    let pair = |number: usize, forth: bool| {
        let (first, second) = choices.pairs[number];
        if forth { (first, second) } else { (second, first) }
    };
    let mut chosen: Vec<bool> = Vec::new();
    let mut next = Some(true);
    loop {
        budget.check()?;
        match next {
            Some(forth) if chosen.len() < choices.pairs.len() => {
                let (first, second) = pair(chosen.len(), forth);
                choices.choose(&mut graph, chosen.len() as u32, first, second);
                chosen.push(forth);
                tell(chosen.len(), false);
                next = graph.topological_order().map(|_| true);
            }
            Some(_) => {
                return Ok(graph.topological_order());
            }
            None => {
                let Some(forth) = chosen.pop() else { return Ok(None) };
                tell(chosen.len(), true);
                let (first, second) = pair(chosen.len(), forth);
                choices.unchoose(&mut graph, first, second);
                next = forth.then_some(false);
            }
        }
    }
}
