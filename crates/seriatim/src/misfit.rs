//! Why a model does not fit a history.

use std::fmt;

use certificate::Model;
use history::execution::ViewError;
use history::performed::NotPerformed;
use history::{History, OperationId};
use memory::c11::SequentialAccess;
use object::ObjectError;
use thiserror::Error;

use crate::fitting;

/// A model does not fit a history. This error says why, and which models would fit.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Misfit {
    /// The model that does not fit.
    pub model: Model,
    /// Why it does not fit.
    pub cause: Cause,
    /// The models that fit such a history. Empty if no model of this version does.
    pub fitting: Vec<Model>,
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
        Self { model, cause, fitting: fitting(history) }
    }

    /// The operation that is to blame, if there is one. It is an operation of the
    /// [observed](History::observed) history.
    pub fn operation(&self) -> Option<OperationId> {
        match &self.cause {
            Cause::NotAnExecution(error) => error.operation(),
            Cause::NoCalls(error) => error.operation(),
            Cause::NotPerformed(error) => error.operation(),
            Cause::SequentialAccess { operation, .. } => Some(*operation),
        }
    }
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} does not fit: {}", self.model, self.cause)?;
        if self.operation().is_some() {
            return Ok(());
        }
        match &*self.fitting {
            [] => f.write_str(". No model of this version fits"),
            models => {
                let names: Vec<&str> = models.iter().map(|model| model.name()).collect();
                write!(f, ". Models that fit: {}", names.join(", "))
            }
        }
    }
}

impl std::error::Error for Misfit {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.cause)
    }
}
