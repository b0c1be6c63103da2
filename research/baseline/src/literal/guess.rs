//! Section 4 of wSC: what saturation finds of the kernel, and how more of it is found.
//!
//! A [`Saturation`] draws the consequences of a [`Rule`], and then guesses. For each pair of writes that is open, it
//! assumes one order and saturates again. If that makes a cycle, every store order has the other order, and so the
//! pair is added. With `guesses` = 1 this is the paper's guess of one pair. With more, a guess is refuted by guesses
//! of other pairs that stand on it. In this way, k pairs at once are tried in all their orders. Whatever k is, some
//! kernels are not found (Figure 5 with more blocks), and the time is a polynomial of a degree that grows with k.

use history::Execution;
use model::{Budget, GaveUp};

use super::Relation;
use super::accesses::Accesses;
use super::saturation;

/// What saturation derives.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Rule {
    /// The rules of section 3.
    Wsc,
    /// Those, and the pattern of six writes of section 4.
    SixWrites,
}

/// A saturation.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Saturation {
    /// What it derives.
    pub rule: Rule,
    /// How many pairs of writes it guesses at once.
    pub guesses: u32,
}

impl Saturation {
    /// The order that it finds of an execution without thin-air reads: `st` between the writes of a location. `None` if
    /// it refutes the execution.
    ///
    /// ```
    /// use baseline::literal::{Rule, Saturation};
    /// use history::execution::{ExecutionBuilder, Kind};
    /// use memory::Budget;
    ///
    /// // Store buffering: neither thread sees the write of the other.
    /// let mut builder = ExecutionBuilder::new();
    /// for thread in 0..2 {
    ///     builder.push(thread, Kind::Write, thread);
    ///     let read = builder.push(thread, Kind::Read, 1 - thread);
    ///     builder.read_from(read, None);
    /// }
    /// let saturation = Saturation { rule: Rule::Wsc, guesses: 0 };
    /// assert!(saturation.order(&builder.build(), &Budget::UNLIMITED).unwrap().is_none());
    /// ```
    pub fn order(self, execution: &Execution, budget: &Budget) -> Result<Option<Relation>, GaveUp> {
        let accesses = Accesses::new(execution);
        match saturation::start(&accesses) {
            Some(order) => self.close(order, &accesses, self.guesses, budget),
            None => Ok(None),
        }
    }

    /// How many pairs of writes of one location an order leaves open.
    pub fn open(execution: &Execution, order: &Relation) -> usize {
        Accesses::new(execution).pairs().filter(|&(a, b)| a < b && !order.has(a, b) && !order.has(b, a)).count()
    }

    fn close(
        self,
        mut order: Relation,
        accesses: &Accesses<'_>,
        guesses: u32,
        budget: &Budget,
    ) -> Result<Option<Relation>, GaveUp> {
        loop {
            if !saturation::close(&mut order, accesses, budget)? {
                return Ok(None);
            }
            let mut is_changed = false;
            for (a, b) in accesses.pairs() {
                // Each pair comes both ways.
                if order.has(a, b) || order.has(b, a) {
                    continue;
                }
                budget.check()?;
                let is_refuted = (self.rule == Rule::SixWrites && six_writes(&order, accesses, a, b))
                    || (guesses > 0 && {
                        let mut guess = order.clone();
                        !guess.insert(a, b) || self.close(guess, accesses, guesses - 1, budget)?.is_none()
                    });
                if is_refuted {
                    is_changed = true;
                    if !order.insert(b, a) || !saturation::close(&mut order, accesses, budget)? {
                        return Ok(None);
                    }
                }
            }
            if !is_changed {
                return Ok(Some(order));
            }
        }
    }
}

/// The pattern of six writes: whether `first` before `second` makes a cycle of two conflicts. A read whose source is
/// before `first` must then come before each write of its location that is after `second`. Two such reads, each with
/// the write of the other before it, are a cycle.
fn six_writes(order: &Relation, accesses: &Accesses<'_>, first: u32, second: u32) -> bool {
    let mut forced: Vec<(u32, u32)> = Vec::new();
    for it in accesses.reads.iter().filter(|it| it.source.is_none_or(|source| order.has(source, first))) {
        forced.extend(accesses.others(it).filter(|&write| order.has(second, write)).map(|write| (it.event, write)));
    }
    let crosses = |&(read, write): &(u32, u32)| {
        forced.iter().any(|&(other, later)| other != read && order.has(write, other) && order.has(later, read))
    };
    forced.iter().any(crosses)
}
