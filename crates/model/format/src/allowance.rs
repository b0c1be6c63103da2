//! What reading may use: the caller's budget, and a time for each history.
//!
//! A file may hold many histories, and between two of them whoever reads may be busy with a verdict. So the time for
//! one begins anew when the next history is asked for. All that reads for one reader has a clone, and a clone has the
//! same time.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use budget::Budget;

use super::ReadOptions;
use super::error::Fault;

#[derive(Clone, Debug, Default)]
pub(super) struct Allowance {
    budget: Budget,
    timeout: Option<Duration>,
    /// When the time for the history at hand is over.
    until: Arc<Mutex<Option<Instant>>>,
}

impl Allowance {
    /// What these options allow. The time begins now.
    pub fn new(options: &ReadOptions) -> Self {
        let new = Self { budget: options.budget.clone(), timeout: options.timeout, until: Arc::default() };
        new.renew();
        new
    }

    /// Another history is asked for.
    pub fn renew(&self) {
        if let Some(timeout) = self.timeout {
            *self.until.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now().checked_add(timeout);
        }
    }

    /// The budget, without the time for a history.
    pub fn budget(&self) -> &Budget {
        &self.budget
    }

    /// Checks that there is time to read on, and that nobody cancelled it. Whether there is memory is the question of
    /// [`super::room`].
    pub fn check(&self) -> Result<(), Fault> {
        let until = self.timeout.and_then(|_| *self.until.lock().unwrap_or_else(PoisonError::into_inner));
        match self.budget.clone().until(until).check() {
            Err(why) if why.ends_all() => {
                let fault = Fault::new(0, format!("not read to its end: {why}"));
                let is_mine = self.budget.check().is_ok();
                Err(if is_mine { fault.expected("a history that is read in time, or more time") } else { fault })
            }
            _ => Ok(()),
        }
    }
}
