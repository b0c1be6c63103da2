//! An order of execution for chains of events that wait for each other, or the cycle in which they wait.
//!
//! Each chain runs until its next event must wait for an event of another chain; then that chain is run until the event
//! is done, and so on. Chains take turns of a few events, so that the schedule stays close to an order in which the
//! events may have happened. Then the data that an event needs was written not long ago, and is still in the cache.
//!
//! Invariant: each chain on the stack waits for an event of the next chain on the stack. A waiting chain that is not on
//! the stack waits for an event that will never be done. So each wait is looked at once when it begins and once when it
//! ends.

/// How many events a chain does in one turn. They are few, so that no chain runs far ahead of the others.
const EVENTS_PER_TURN: u32 = 4;
/// How many events are done between two calls of `interrupted`.
const EVENTS_PER_TIME_CHECK: u32 = 4096;

/// Why there is no schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The remaining events wait for each other.
    Stuck(Stuck),
    /// The caller asked to stop.
    Interrupted,
}

/// The chains that cannot go on: for each the event that waits, and the event it waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stuck {
    /// By chain; `None` for a chain that came to its end.
    waits: Vec<Option<(u32, u32)>>,
}

/// Runs all events. `attempt(cursors, chain, event)` does an event of a chain and returns `None`, or it returns another
/// event that the event must wait for. That event must not be done yet. `cursors[chain]` is the first event of a chain
/// that is not done.
///
/// Chain `c` has the events `starts[c]..starts[c + 1]`, and `chain_of` tells the chain of an event. `interrupted` is
/// asked now and then whether to stop.
///
/// ```
/// // Chains 0-1 and 2-3. Event 0 must wait for event 3.
/// let mut done = Vec::new();
/// let result = order::schedule(&[0, 2, 4], |event| event as usize / 2, || false, |cursors, _, event| {
///     if event == 0 && cursors[1] <= 3 {
///         return Some(3);
///     }
///     done.push(event);
///     None
/// });
/// assert!(result.is_ok());
/// assert_eq!(done, [2, 3, 0, 1]);
/// ```
pub fn schedule(
    starts: &[u32],
    chain_of: impl Fn(u32) -> usize,
    interrupted: impl Fn() -> bool,
    mut attempt: impl FnMut(&[u32], usize, u32) -> Option<u32>,
) -> Result<(), Failure> {
    let chains = starts.len().saturating_sub(1);
    let mut cursors = starts[..chains].to_vec();
    let mut waits = vec![None; chains];
    // The chains that wait for the chain that runs now, and the event up to which each is to run.
    let mut stack: Vec<(usize, u32)> = Vec::new();
    let mut until_time_check = EVENTS_PER_TIME_CHECK;
    let mut open: Vec<usize> = (0..chains).collect();

    while !open.is_empty() {
        let mut ended = false;
        for &turn in &open {
            let mut chain = turn;
            let mut until = cursors[chain].saturating_add(EVENTS_PER_TURN).min(starts[chain + 1]);
            'run: while waits[chain].is_none() {
                while cursors[chain] < until {
                    let event = cursors[chain];
                    until_time_check -= 1;
                    if until_time_check == 0 {
                        until_time_check = EVENTS_PER_TIME_CHECK;
                        if interrupted() {
                            return Err(Failure::Interrupted);
                        }
                    }
                    if let Some(needed) = attempt(&cursors, chain, event) {
                        waits[chain] = Some((event, needed));
                        stack.push((chain, until));
                        (chain, until) = (chain_of(needed), needed + 1);
                        continue 'run;
                    }
                    cursors[chain] = event + 1;
                }
                let Some(next) = stack.pop() else { break };
                (chain, until) = next;
                waits[chain] = None;
            }
            // The chains on the stack wait for a chain that waits for ever.
            stack.clear();
            ended |= waits[turn].is_some() || cursors[turn] == starts[turn + 1];
        }
        if ended {
            open.retain(|&chain| waits[chain].is_none() && cursors[chain] < starts[chain + 1]);
        }
    }
    if waits.iter().all(Option::is_none) { Ok(()) } else { Err(Failure::Stuck(Stuck { waits })) }
}

impl Stuck {
    /// The first event of each chain that was not done, and the number of all events at the end, given where the chains
    /// begin.
    pub fn rest(&self, starts: &[u32]) -> Vec<u32> {
        let begin = |(chain, wait): (usize, &Option<(u32, u32)>)| wait.map_or(starts[chain + 1], |(event, _)| event);
        self.waits.iter().enumerate().map(begin).chain(starts.last().copied()).collect()
    }

    /// A shortest cycle among the waiting chains: pairs `(needed, event)`, where `event` waits for `needed`, and the
    /// `needed` of each pair is the event of the next pair (cyclically) or later in its chain. Of several shortest
    /// cycles, it is the one with the first chain.
    pub fn cycle(&self, chain_of: impl Fn(u32) -> usize) -> Vec<(u32, u32)> {
        const NEW: u32 = 0;
        let mut seen = vec![NEW; self.waits.len()];
        let mut best: Option<Vec<(u32, u32)>> = None;
        for start in 0..self.waits.len() {
            let mark = start as u32 + 1;
            let mut chain = start;
            while seen[chain] == NEW && self.waits[chain].is_some() {
                seen[chain] = mark;
                chain = self.next(chain, &chain_of);
            }
            if seen[chain] != mark {
                continue;
            }
            let mut cycle = Vec::new();
            let first = chain;
            loop {
                let (event, needed) = self.waits[chain].expect("a chain that others wait for is stuck itself");
                cycle.push((needed, event));
                chain = chain_of(needed);
                if chain == first {
                    break;
                }
            }
            if best.as_ref().is_none_or(|best| cycle.len() < best.len()) {
                best = Some(cycle);
            }
        }
        best.expect("chains that are stuck wait in a cycle")
    }

    fn next(&self, chain: usize, chain_of: impl Fn(u32) -> usize) -> usize {
        self.waits[chain].map_or(chain, |(_, needed)| chain_of(needed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs chains with the given waits `(event, needed)`.
    fn run(starts: &[u32], edges: &[(u32, u32)]) -> Result<Vec<u32>, Failure> {
        let chain_of = |event: u32| starts.iter().rposition(|&start| start <= event).unwrap();
        let mut done = Vec::new();
        schedule(
            starts,
            chain_of,
            || false,
            |cursors, _, event| {
                let blocked = edges.iter().find(|&&(e, needed)| e == event && cursors[chain_of(needed)] <= needed);
                if blocked.is_none() {
                    done.push(event);
                }
                blocked.map(|&(_, needed)| needed)
            },
        )
        .map(|()| done)
    }

    #[test]
    fn waits_are_respected() {
        let done = run(&[0, 3, 6], &[(0, 4), (5, 2)]).unwrap();
        let place = |event| done.iter().position(|&e| e == event).unwrap();
        assert_eq!(done.len(), 6);
        assert!(place(4) < place(0) && place(2) < place(5));
    }

    #[test]
    fn a_cycle_is_found() {
        let chain_of = |event: u32| (event / 3) as usize;
        let Err(Failure::Stuck(stuck)) = run(&[0, 3, 6, 9], &[(1, 5), (4, 2), (7, 5)]) else { panic!("not stuck") };
        assert_eq!(stuck.cycle(chain_of), [(5, 1), (2, 4)]);
        let Err(Failure::Stuck(stuck)) = run(&[0, 3], &[(1, 1)]) else { panic!("not stuck") };
        assert_eq!(stuck.cycle(|_| 0), [(1, 1)]);
    }

    #[test]
    fn long_chains_take_turns() {
        let done = run(&[0, 1000, 2000], &[]).unwrap();
        assert_eq!(done[EVENTS_PER_TURN as usize], 1000);
        assert_eq!(done.len(), 2000);
    }

    #[test]
    fn the_caller_may_stop_it() {
        let result = schedule(&[0, 10_000], |_| 0, || true, |_, _, _| None);
        assert_eq!(result, Err(Failure::Interrupted));
    }
}
