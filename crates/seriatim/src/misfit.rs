//! What keeps a model from speaking of a history.

use std::fmt;

use certificate::Model;
use history::execution::ViewError;
use history::performed::NotPerformed;
use history::{History, OperationId};
use memory::c11::SequentialAccess;
use object::ObjectError;
use thiserror::Error;

use crate::fitting;

/// A model does not fit a history: what is in the way, and which models fit.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Misfit {
    /// The model.
    pub model: Model,
    /// What is in the way.
    pub cause: Cause,
    /// The models that fit such a history: none where nothing that this version decides does.
    pub fitting: Vec<Model>,
}

/// What keeps a model from speaking of a history.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Cause {
    /// The history is not one of reads and writes, or it is not known which write a read is from.
    #[error(transparent)]
    NotAnExecution(ViewError),
    /// The history is not one of calls and returns.
    #[error(transparent)]
    NoCalls(ObjectError),
    /// The order of the history is not one of performance.
    #[error(transparent)]
    NotPerformed(NotPerformed),
    /// An access or a fence is sequentially consistent, which the model does not know.
    #[error("{error}")]
    SequentialAccess {
        /// Which.
        operation: OperationId,
        /// What is said of it.
        error: SequentialAccess,
    },
}

impl Misfit {
    /// That a model does not fit a history, for this cause.
    pub fn new(model: Model, cause: Cause, history: &History) -> Self {
        Self { model, cause, fitting: fitting(history) }
    }

    /// The operation that is in the way, if it is one. It is an operation of the history as it is
    /// [observed](History::observed).
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
                write!(f, ". What fits: {}", names.join(", "))
            }
        }
    }
}

impl std::error::Error for Misfit {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.cause)
    }
}
