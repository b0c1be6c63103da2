//! The options of a check: what it may use, which way it goes, and whether it makes a witness. Every engine gets from
//! them what it understands.

use std::time::Duration;

use model::{Budget, Cancel};

/// The options of a check. They hold for every model.
///
/// ```
/// use std::time::Duration;
/// use seriatim::{Cancel, Options};
///
/// let cancel = Cancel::new();
/// let options = Options::default().witness(true).timeout(Duration::from_secs(10)).memory(2 << 30).cancel(&cancel);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Options {
    pub(crate) witness: bool,
    timeout: Option<Duration>,
    budget: Budget,
    pub(crate) strategy: memory::Strategy,
    pub(crate) algorithm: object::Algorithm,
    pub(crate) unique: bool,
}

impl Options {
    /// Whether to build a witness of a consistent history, so that this verdict has a certificate, too. The evidence of
    /// a violation is always built. The default is no.
    #[must_use]
    pub fn witness(self, witness: bool) -> Self {
        Self { witness, ..self }
    }

    /// After how long to give up on a model; its verdict is then `unknown`. The default is never.
    #[must_use]
    pub fn timeout(self, timeout: Duration) -> Self {
        Self { timeout: Some(timeout), ..self }
    }

    /// How much memory the process may have in use, in bytes, while it checks; what needs more is `unknown`. The system
    /// counts the memory of the process, not of a check, but another check can have another limit. The default is what
    /// the machine has.
    #[must_use]
    pub fn memory(self, bytes: usize) -> Self {
        Self { budget: self.budget.memory(bytes), ..self }
    }

    /// Lets somebody else end the check, from another thread or from the handler of a signal. Its verdict is then
    /// `unknown`.
    ///
    /// ```
    /// use seriatim::{Cancel, Model, Options, Verdict, check};
    ///
    /// let cancel = Cancel::new();
    /// let options = Options::default().cancel(&cancel);
    /// let history = seriatim::parse("[0] w x 1\n[1] r x 1\n")?;
    /// assert_eq!(check(&history, Model::Sc, &options)?.verdict, Verdict::Consistent);
    /// cancel.cancel();
    /// let decision = check(&history, Model::Sc, &options)?;
    /// assert_eq!(decision.verdict, Verdict::Unknown);
    /// assert_eq!(decision.reason.unwrap(), "it was cancelled");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn cancel(self, cancel: &Cancel) -> Self {
        Self { budget: self.budget.cancel(cancel), ..self }
    }

    /// All at once: the memory limit, the token, and a deadline of a budget. With a deadline, all models together may
    /// take so long, and each no longer than the [timeout](Self::timeout).
    #[must_use]
    pub fn budget(self, budget: &Budget) -> Self {
        Self { budget: budget.clone(), ..self }
    }

    /// What a check that begins now may use.
    pub(crate) fn budget_now(&self) -> Budget {
        let budget = self.budget.clone();
        match self.timeout {
            Some(timeout) => budget.timeout(timeout),
            None => budget,
        }
    }

    /// The same options, with so much time at most.
    pub(crate) fn at_most(self, timeout: Duration) -> Self {
        Self { timeout: Some(self.timeout.map_or(timeout, |own| own.min(timeout))), ..self }
    }

    /// How to decide a memory model, to compare algorithms. A model that the strategy is not meant for is decided as if
    /// no strategy was given.
    #[must_use]
    pub fn strategy(self, strategy: memory::Strategy) -> Self {
        Self { strategy, ..self }
    }

    /// How to decide linearizability, to compare algorithms.
    #[must_use]
    pub fn algorithm(self, algorithm: object::Algorithm) -> Self {
        Self { algorithm, ..self }
    }

    /// Whether the source of every read must be known. If so, a memory model does not fit a history in which a value
    /// was written twice and a read of it names no source. If not, sources are looked for that satisfy the model. The
    /// default is no.
    ///
    /// ```
    /// use seriatim::{History, Model, Options, Verdict, check};
    ///
    /// let history = seriatim::parse("[0] w x 1\n[1] w x 1\n[2] r x 1\n")?;
    /// assert_eq!(check(&history, Model::Sc, &Options::default())?.verdict, Verdict::Consistent);
    /// assert!(check(&history, Model::Sc, &Options::default().unique(true)).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn unique(self, unique: bool) -> Self {
        Self { unique, ..self }
    }
}
