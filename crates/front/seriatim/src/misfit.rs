//! Why a model does not fit a history: it speaks of another kind of object, or needs what the history does not have. It
//! is no verdict.

use std::fmt;

use history::execution::ViewError;
use history::performed::NotPerformed;
use history::{History, Object, OperationId, visible};
use memory::c11::SequentialAccess;
use model::Model;
use object::ObjectError;
use thiserror::Error;
use transaction::ResolveError;

use crate::fitting;

/// A model does not fit a history. This error says why, and which models would fit.
///
/// ```
/// use seriatim::{History, Model, Options, check};
///
/// let history = seriatim::parse("[0] call enqueue 1\n[0] return\n")?;
/// let misfit = check(&history, Model::ScObserved, &Options::default()).unwrap_err();
/// assert_eq!(misfit.advice.as_deref(), Some("linearizable fits a queue"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Misfit {
    /// The model that does not fit.
    pub model: Model,
    /// Why it does not fit.
    pub cause: Cause,
    /// The models that fit such a history. Empty if no model of this version does.
    pub fitting: Vec<Model>,
    /// What the user can do instead, if no operation is to blame. It names the models that fit. It is a sentence
    /// without a capital and a full stop.
    pub advice: Option<String>,
}

/// Why a model does not fit a history.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Cause {
    /// The operations are not reads and writes, or it is not known which write a read is from.
    #[error(transparent)]
    NotAnExecution(ViewError),
    /// The history has no calls and returns, or no specification of its object is built in.
    #[error(transparent)]
    NoCalls(ObjectError),
    /// The history does not say in which order its operations were performed.
    #[error(transparent)]
    NotPerformed(NotPerformed),
    /// The history is not one of transactions, or the sources of its reads or its times are not known.
    #[error(transparent)]
    NotTransactions(ResolveError),
    /// The history has a sequentially consistent access or fence, for which the model has no meaning.
    #[error("{error}")]
    SequentialAccess {
        /// The access or fence.
        operation: OperationId,
        /// The error of the engine.
        error: SequentialAccess,
    },
}

impl Misfit {
    /// The error that a model does not fit a history, for this cause.
    pub fn new(model: Model, cause: Cause, history: &History) -> Self {
        let fitting = fitting(history);
        let advice = cause.operation().is_none().then(|| advice(&fitting, history));
        Self { model, cause, fitting, advice }
    }

    /// The operation that is to blame, if there is one. It is an operation of the
    /// [observed](History::observed) history.
    pub fn operation(&self) -> Option<OperationId> {
        self.cause.operation()
    }
}

impl Cause {
    fn operation(&self) -> Option<OperationId> {
        match self {
            Self::NotAnExecution(error) => error.operation(),
            Self::NoCalls(error) => error.operation(),
            Self::NotPerformed(error) => error.operation(),
            Self::NotTransactions(error) => error.operation(),
            Self::SequentialAccess { operation, .. } => Some(*operation),
        }
    }
}

/// Which models would fit instead, or what else the user can do.
fn advice(fitting: &[Model], history: &History) -> String {
    if history.object() == Object::Open {
        return "write its specification in a program of your own (`object::Sequential`), which can check it"
            .to_owned();
    }
    if history.is_of_transactions() {
        return "isolation levels fit transactions: `seriatim models` lists them".to_owned();
    }
    let object = visible(history.object_name());
    let without_calls = if history.has_calls() { "" } else { " without calls and returns" };
    let names: Vec<&str> = fitting.iter().map(|model| model.name()).collect();
    let fit = match names.len() {
        0 => "no model of this version fits".to_owned(),
        1 => format!("{} fits", names[0]),
        _ => format!("{} fit", names.join(", ")),
    };
    format!("{fit} a {object}{without_calls}")
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} does not fit: {}", self.model, self.cause)?;
        match &self.advice {
            Some(advice) => write!(f, "; {advice}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Misfit {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.cause)
    }
}
