//! Where a SAT solver is asked instead of the [search](crate): what stops it.

use std::cell::Cell;

use batsat::Callbacks;
use budget::Budget;

/// Stops a solver when the budget is used up, or after so many steps. In a step, the solver looks at the clauses once.
#[derive(Debug)]
pub struct Stop {
    budget: Budget,
    steps: Cell<u64>,
}

impl Stop {
    /// Stops when the budget is used up.
    pub fn new(budget: &Budget) -> Self {
        Self { budget: budget.clone(), steps: Cell::new(u64::MAX) }
    }

    /// How many steps are left. `u64::MAX` is so many that they are not counted.
    pub fn steps(&self) -> u64 {
        self.steps.get()
    }

    /// From now on, stops after so many steps.
    pub fn set_steps(&self, steps: u64) {
        self.steps.set(steps);
    }

    /// The budget.
    pub fn budget(&self) -> &Budget {
        &self.budget
    }
}

impl Callbacks for Stop {
    fn stop(&self) -> bool {
        match self.steps.get() {
            0 => return true,
            u64::MAX => {}
            steps => self.steps.set(steps - 1),
        }
        self.budget.is_due()
    }
}
