//! The options of a check.

use std::time::Duration;

/// The options of a check. They hold for every model.
///
/// ```
/// use std::time::Duration;
/// use seriatim::Options;
///
/// let options = Options::default().witness(true).timeout(Duration::from_secs(10));
/// ```
#[derive(Copy, Clone, Debug, Default)]
pub struct Options {
    pub(crate) witness: bool,
    pub(crate) timeout: Option<Duration>,
    pub(crate) strategy: memory::Strategy,
    pub(crate) algorithm: object::Algorithm,
    pub(crate) remove_matches: bool,
    pub(crate) unique: bool,
}

impl Options {
    /// Whether to build a witness of a consistent history, so that this verdict has a certificate, too. The evidence of
    /// a violation is always built. The default is no.
    #[must_use]
    pub const fn witness(self, witness: bool) -> Self {
        Self { witness, ..self }
    }

    /// After how long to give up on a model; its verdict is then `unknown`. The default is never.
    #[must_use]
    pub const fn timeout(self, timeout: Duration) -> Self {
        Self { timeout: Some(timeout), ..self }
    }

    /// How to decide a memory model, to compare algorithms. A model that the strategy is not meant for is decided as if
    /// no strategy was given.
    #[must_use]
    pub const fn strategy(self, strategy: memory::Strategy) -> Self {
        Self { strategy, ..self }
    }

    /// How to decide linearizability, to compare algorithms.
    #[must_use]
    pub const fn algorithm(self, algorithm: object::Algorithm) -> Self {
        Self { algorithm, ..self }
    }

    /// Whether the algorithms of the refinement-monitoring paper ([`object::mr`]) forget obsolete matches. The default
    /// is no.
    #[must_use]
    pub const fn remove_matches(self, remove_matches: bool) -> Self {
        Self { remove_matches, ..self }
    }

    /// Whether the source of every read must be known. If so, a memory model does not fit a history in which a value
    /// was written twice and a read of it names no source. If not, sources are looked for that satisfy the model. The
    /// default is no.
    ///
    /// ```
    /// use seriatim::{History, Model, Options, Verdict, check};
    ///
    /// let history = History::parse("[0] w x 1\n[1] w x 1\n[2] r x 1\n")?;
    /// assert_eq!(check(&history, Model::Sc, &Options::default())?.verdict, Verdict::Consistent);
    /// assert!(check(&history, Model::Sc, &Options::default().unique(true)).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub const fn unique(self, unique: bool) -> Self {
        Self { unique, ..self }
    }
}
