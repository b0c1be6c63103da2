//! Steps, and turns of so many steps, for what is tried side by side.
//!
//! Who works takes steps; who asks gives them. Steps are counted, and not timed, so the same input has the same answer
//! on every machine.

use std::ops::ControlFlow;

/// How many steps may still be taken. Steps are counted, and not timed, so a search takes the same way on every
/// machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Steps {
    left: u64,
    taken: u64,
}

impl Steps {
    /// So many steps.
    pub const fn new(most: u64) -> Self {
        Self { left: most, taken: 0 }
    }

    /// Takes a step, if there is one left.
    #[inline]
    pub fn take(&mut self) -> bool {
        let has_left = self.left > 0;
        if has_left {
            self.left -= 1;
            self.taken += 1;
        }
        has_left
    }

    /// How many were taken.
    pub const fn taken(&self) -> u64 {
        self.taken
    }
}

/// How long turns are: a portfolio tries several ways to an answer, each for a turn, then each for a longer turn, and
/// so on. If each turn is `growth` times as long as the one before, all turns of one way together take at most
/// `growth^2 / (growth - 1)` times as many steps as that way needs alone.
///
/// ```
/// let turns = search::Turns { first: 10, growth: 4 };
/// assert_eq!(turns.lengths().take(4).collect::<Vec<_>>(), [10, 40, 160, 640]);
/// ```
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Turns {
    /// How many steps the first turn has.
    pub first: u64,
    /// How many times as many each further turn has.
    pub growth: u64,
}

/// How a turn ended that did not end all.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Turn {
    /// It gets no further turn.
    Over,
    /// Its steps are used up.
    Paused,
}

impl Turns {
    /// The lengths of the turns.
    pub fn lengths(self) -> impl Iterator<Item = u64> {
        std::iter::successors(Some(self.first), move |length| Some(length.saturating_mul(self.growth)))
    }

    /// Gives turns to all, in their order, until `turn` breaks off, or all turns are over, or each turn has had `most`
    /// steps. The last that is left has no one to wait for: its turn has `most` steps. Returns what broke it off, or
    /// those that are paused.
    pub fn take<M, B>(
        self,
        all: Vec<M>,
        most: u64,
        mut turn: impl FnMut(&mut M, u64) -> ControlFlow<B, Turn>,
    ) -> ControlFlow<B, Vec<M>> {
        let mut open = all;
        for length in self.lengths() {
            let steps = if open.len() == 1 { most } else { length.min(most) };
            let mut paused = Vec::new();
            for mut one in open {
                if turn(&mut one, steps)? == Turn::Paused {
                    paused.push(one);
                }
            }
            open = paused;
            if open.is_empty() || steps == most {
                break;
            }
        }
        ControlFlow::Continue(open)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Who breaks off, if each needs so many steps; how many steps are taken in all; who is paused at the end.
    fn turns(needs: &[u64], most: u64) -> (Option<usize>, u64, Vec<usize>) {
        let mut taken = 0_u64;
        let ended = Turns { first: 2, growth: 3 }.take((0..needs.len()).collect(), most, |&mut at, steps| {
            taken = taken.saturating_add(steps.min(needs[at]));
            match needs[at] {
                // It ends without an answer.
                1 => ControlFlow::Continue(Turn::Over),
                needed if needed > steps => ControlFlow::Continue(Turn::Paused),
                _ => ControlFlow::Break(at),
            }
        });
        match ended {
            ControlFlow::Break(at) => (Some(at), taken, Vec::new()),
            ControlFlow::Continue(paused) => (None, taken, paused),
        }
    }

    #[test]
    fn the_cheapest_way_ends_all() {
        assert_eq!(turns(&[1 << 40, 100, 1 << 50], u64::MAX).0, Some(1));
        assert!(turns(&[1 << 40, 100, 1 << 50], u64::MAX).1 < 1500);
    }

    #[test]
    fn the_last_that_is_left_is_not_interrupted() {
        assert_eq!(turns(&[1, 1000], u64::MAX), (Some(1), 1 + 2 + 1000, Vec::new()));
        assert_eq!(turns(&[1000], 10), (None, 10, vec![0]));
    }

    #[test]
    fn turns_end_when_each_had_its_most_or_is_over() {
        assert_eq!(turns(&[50, 1, 60], 20), (None, 2 * (2 + 6 + 18 + 20) + 1, vec![0, 2]));
        assert_eq!(turns(&[1, 1], u64::MAX), (None, 2, vec![]));
        assert_eq!(turns(&[], u64::MAX), (None, 0, vec![]));
    }

    #[test]
    fn steps_are_counted() {
        let mut steps = Steps::new(2);
        assert_eq!([steps.take(), steps.take(), steps.take()], [true, true, false]);
        assert_eq!(steps.taken(), 2);
    }
}
