//! About how many executions there are, from random walks.
//!
//! The exploration is a walk through a tree: at each read it chooses a source, at each write it goes on or revisits a
//! read. A random walk takes one branch of each. Over many walks, the mean of one over the probability of the walk is
//! the number of leaves (Knuth 1975), however likely the branches are. They are as likely as they are thought to be
//! large, so that few walks are enough: a revisit that takes events away leaves more to come. A walk that comes to a
//! branch with nothing behind it counts 0.

use std::fmt;
use std::time::Duration;

use super::level::{Frame, Level, Settled};
use super::revisits::find_revisits;
use super::{Exploration, ExplorationEnding, Forward};
use crate::graph::NOTHING;
use crate::program::Program;

/// What one event multiplies is taken to be no more than this.
const MOST_GROWTH: f64 = 8.0;

/// About how many executions there are.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Estimate {
    /// The complete ones, and those that are findings.
    pub executions: u64,
    /// With those in which a thread cannot go on.
    pub all: u64,
    /// From how many random walks this is known.
    pub walks: u64,
}

/// No more than two digits of it are known.
impl fmt::Display for Estimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.all.checked_ilog10().unwrap_or(0);
        let unit = 10_u64.pow(digits.saturating_sub(1));
        write!(f, "about {}", grouped(self.all.saturating_add(unit / 2) / unit * unit))
    }
}

impl Estimate {
    /// How far an exploration is that has visited so many in this time.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let estimate = explore::Estimate { all: 3_961_234, ..Default::default() };
    /// let words = estimate.progress(1_000_000, Duration::from_secs(60));
    /// assert_eq!(words, "1,000,000 visited of about 4,000,000, 3 minutes left");
    /// assert_eq!(estimate.expected(1_000_000, Duration::from_secs(60)), "about 4,000,000 executions, 4 minutes");
    /// assert_eq!(estimate.covered(12_345), "12,345 visited of about 4,000,000: 0.31 percent");
    /// ```
    pub fn progress(&self, visited: u64, elapsed: Duration) -> String {
        if visited >= self.all {
            return format!("{} visited, more than the {self} that were expected", grouped(visited));
        }
        let left = elapsed.mul_f64((self.all - visited) as f64 / visited.max(1) as f64);
        format!("{} visited of {self}, {} left", grouped(visited), lasting(left))
    }

    /// How many there are, and how long they take if so many have taken so long.
    pub fn expected(&self, visited: u64, elapsed: Duration) -> String {
        let time = elapsed.as_secs_f64() * self.all as f64 / visited.max(1) as f64;
        format!("{self} executions, {}", lasting(Duration::from_secs_f64(time.min(1e15))))
    }

    /// How much was covered by an exploration that has ended after so many.
    pub fn covered(&self, visited: u64) -> String {
        if visited >= self.all {
            return format!("{} visited, more than the {self} that were expected", grouped(visited));
        }
        let percent = 100.0 * visited as f64 / self.all as f64;
        let percent = if percent >= 1.0 { format!("{percent:.0}") } else { format!("{percent:.2}") };
        format!("{} visited of {self}: {percent} percent", grouped(visited))
    }
}

/// A number with commas between thousands.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A time in one unit.
fn lasting(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    let units = [("year", 31_557_600.0), ("day", 86_400.0), ("hour", 3600.0), ("minute", 60.0), ("second", 1.0)];
    let (unit, size) = units.into_iter().find(|(_, size)| seconds >= 1.5 * size).unwrap_or(("second", 1.0));
    let count = (seconds / size).round().max(1.0);
    if count >= 1e6 {
        return "more than a million years".to_owned();
    }
    let count = count as u64;
    format!("{} {unit}{}", grouped(count), if count == 1 { "" } else { "s" })
}

/// Random numbers, and what the walks so far say of branches.
struct Chance {
    state: u64,
    /// How many times more executions there are, about, for each event that a revisit takes away.
    growth: f64,
    /// One over the probability of the walk so far.
    weight: f64,
}

impl Chance {
    /// Chooses among branches with these shares.
    fn pick(&mut self, shares: &[f64]) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        let all: f64 = shares.iter().sum();
        let mut at = self.state as f64 / u64::MAX as f64 * all;
        let is_here = |share: &f64| {
            at -= share;
            at < 0.0
        };
        let branch = shares.iter().position(is_here).unwrap_or(shares.len() - 1);
        self.weight *= all / shares[branch];
        branch
    }
}

impl<P: Program> Exploration<P> {
    /// About how many executions there are, from so many random walks, each with a seed of its own. Nothing may have
    /// been explored yet, and nothing has been afterwards. Each walk is told to a listener, who says whether to go on.
    pub fn estimate(&mut self, walks: u64, mut goes_on: impl FnMut(&mut P) -> bool) -> Estimate {
        let (mut executions, mut all, mut done) = (0.0, 0.0, 0);
        // The sum of how fast each walk has grown.
        let mut growths = 1.0;
        while done < walks {
            let state = (done + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            let growth = (growths / (done + 1) as f64).exp().min(MOST_GROWTH);
            let mut chance = Chance { state, growth, weight: 1.0 };
            if let Some(ending) = self.walk(&mut chance) {
                all += chance.weight;
                if matches!(ending, ExplorationEnding::Complete | ExplorationEnding::Failed) {
                    executions += chance.weight;
                }
            }
            growths += chance.weight.ln() / self.levels[self.depth - 1].graph.size().max(1) as f64;
            self.reset();
            done += 1;
            if !goes_on(&mut self.program) {
                break;
            }
        }
        let mean = |sum: f64| (sum / done.max(1) as f64).round() as u64;
        Estimate { executions: mean(executions), all: mean(all), walks: done }
    }

    /// One walk, and how it ends. None if it ends where nothing is.
    fn walk(&mut self, chance: &mut Chance) -> Option<ExplorationEnding> {
        // The frames of the newest level of which a branch was chosen.
        let mut chosen = 0;
        loop {
            let level = &mut self.levels[self.depth - 1];
            if level.frames.len() > chosen
                && let Some(&Frame::Write { slot, is_in_graph, .. }) = level.frames.last()
            {
                chosen = level.frames.len();
                let (reads, mut shares) = self.possible_revisits(slot, chance.growth);
                if is_in_graph {
                    shares.push(1.0);
                }
                if shares.is_empty() {
                    return None;
                }
                let Some(&read) = reads.get(chance.pick(&shares)) else { continue };
                self.revisit(slot, read);
                (self.depth, chosen) = (self.depth + 1, 0);
                self.forget();
                continue;
            }
            match self.forward() {
                Forward::Added => {
                    let level = &mut self.levels[self.depth - 1];
                    if let Some(&Frame::Choice { thread, count, limit, stamp, .. }) = level.frames.last() {
                        let number = chance.pick(&vec![1.0; limit as usize]);
                        level.choose(thread, count, number as u32, stamp);
                        chosen = level.frames.len();
                    }
                }
                Forward::Choose => {
                    let shares = self.keep_possible_sources(chance.growth);
                    if shares.is_empty() {
                        return None;
                    }
                    let level = &mut self.levels[self.depth - 1];
                    level.keep_source(chance.pick(&shares));
                    // If an rmw writes, that is one more frame.
                    chosen = level.frames.len();
                    level.try_next_source();
                }
                Forward::Leaf => return Some(self.ending()),
            }
        }
    }

    /// A write revisits a read: the next level becomes that graph, if it is consistent.
    fn revisit(&mut self, write: u32, read: u32) -> bool {
        if self.levels.len() == self.depth {
            let model = self.trial.model();
            self.levels.push(Level::new(model));
        }
        let (used, unused) = self.levels.split_at_mut(self.depth);
        unused[0].revisit(&used[self.depth - 1], write, read, &mut self.places)
    }

    /// The reads that a write revisits, each with a graph that is consistent, and the share of each: what a revisit
    /// takes away comes back in more ways.
    fn possible_revisits(&mut self, write: u32, growth: f64) -> (Vec<u32>, Vec<f64>) {
        let level = &mut self.levels[self.depth - 1];
        let bottom = level.list.len();
        find_revisits(level, write, &mut self.trial, &mut self.places, &mut self.parts);
        let size = level.graph.size();
        let mut reads = level.list.split_off(bottom);
        let mut shares = Vec::new();
        reads.retain(|&read| {
            let is_possible = self.revisit(write, read);
            if is_possible {
                let lost = size.saturating_sub(self.levels[self.depth].graph.size());
                shares.push(growth.powi(lost as i32));
            }
            is_possible
        });
        (reads, shares)
    }

    /// Of the sources of the read on top, keeps those with which there is something to explore, and tells their shares.
    fn keep_possible_sources(&mut self, growth: f64) -> Vec<f64> {
        let level = &mut self.levels[self.depth - 1];
        let Some(&Frame::Read { slot, thread, step, stamp, bottom, .. }) = level.frames.last() else {
            return Vec::new();
        };
        let (sources, after) = (level.list.split_off(bottom), level.stamp);
        let mut shares = Vec::new();
        for source in sources {
            let level = &mut self.levels[self.depth - 1];
            let mut share = 1.0;
            if source != NOTHING {
                if !level.graph.push_read(thread, &step, source, stamp) {
                    continue;
                }
                let settled = level.settle();
                if matches!(settled, Settled::Consistent) && level.graph.last_updates() {
                    level.frames.pop();
                    level.graph.pop_update();
                }
                share = match settled {
                    Settled::Consistent => 1.0,
                    Settled::WithoutWrite => self.possible_revisits(slot, growth).1.iter().sum(),
                    Settled::Inconsistent => 0.0,
                };
                self.levels[self.depth - 1].graph.pop();
            }
            if share > 0.0 {
                self.levels[self.depth - 1].list.push(source);
                shares.push(share);
            }
        }
        self.levels[self.depth - 1].stamp = after;
        shares
    }

    /// The graph is not the one that the program knows.
    fn forget(&mut self) {
        if self.program.rewound() {
            self.levels[self.depth - 1].nexts.forget_all();
        }
    }

    /// Goes back to where nothing has been explored.
    fn reset(&mut self) {
        for level in &mut self.levels {
            level.clear();
        }
        (self.depth, self.seen) = (1, 0);
        self.forget();
    }
}

#[cfg(test)]
mod tests {
    use super::{Duration, Estimate, grouped, lasting};

    #[test]
    fn words() {
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
        let about = |all| Estimate { all, ..Estimate::default() }.to_string();
        assert_eq!(
            [7, 42, 449, u64::MAX].map(about),
            ["about 7", "about 42", "about 450", "about 18,000,000,000,000,000,000"]
        );
        let times = [0, 1, 80, 100, 5400, 200_000, 100_000_000].map(|time| lasting(Duration::from_secs(time)));
        assert_eq!(times, ["1 second", "1 second", "80 seconds", "2 minutes", "2 hours", "2 days", "3 years"]);
    }
}
