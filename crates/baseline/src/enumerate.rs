//! Backtracking over the open pairs of writes (Algorithm 1 of GCC). Each pair is chosen one way, then the other. A
//! choice that makes a cycle is not extended.

use memory::store::choices::Choices;
use memory::{Interrupt, Line};

/// Looks for a line of all events, by trying all choices.
pub fn enumerate(choices: &Choices<'_>, interrupt: Interrupt) -> Line {
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
        interrupt.check()?;
        match next {
            Some(forth) if chosen.len() < choices.pairs.len() => {
                let (first, second) = pair(chosen.len(), forth);
                choices.choose(&mut graph, chosen.len() as u32, first, second);
                chosen.push(forth);
                next = graph.topological_order().map(|_| true);
            }
            Some(_) => {
                return Ok(graph.topological_order());
            }
            None => {
                let Some(forth) = chosen.pop() else { return Ok(None) };
                let (first, second) = pair(chosen.len(), forth);
                choices.unchoose(&mut graph, first, second);
                next = forth.then_some(false);
            }
        }
    }
}
