//! Monitors: each takes the events of an execution one by one, while it runs, and reports a violation at the event that
//! makes it certain.
//!
//! Use a monitor beside a running program, or for a log that is too long for memory. To check a history that is
//! complete, use the crate `seriatim`: it decides more models and explains its verdicts.
//!
//! | monitor | model | events |
//! | --- | --- | --- |
//! | [`Linearizable`] | linearizability of queues, registers, sets, mutexes and other objects | calls and returns |
//! | [`C11`] | `ra`, `rc20`, `relaxed`, `wra`: C11 without `sc` accesses, and its kin | accesses with their values |
//! | [`Windowed`] | `wsc` and `tso` over a window: sound, may miss violations | accesses with their values |
//! | [`Transactions`] | `read-committed`, `read-atomic`, `causal`: exact; `serializable`: sound | transactions |
//! | [`ScObserved`] | `sc-observed`: sequential consistency in an observed order | accesses as they are performed |
//!
//! [`Observers`] decide `sc-observed` in a distributed way, with vectors that ride on the messages of a cache coherence
//! protocol. The crate `seriatim-machine` has such protocols.
//!
//! The models are defined in `docs/models.md` of the repository, which also has a bibliography. It expands the short
//! names of papers, such as MR.
//!
//! A monitor does no input or output, starts no thread and reads no clock. Its documentation states how much memory its
//! state takes. The program pushes the events:
//!
//! ```
//! use history::execution::Kind::{Read, Write};
//! use monitor::{Monitor, PerformedNow, Progress, ScObserved};
//!
//! let mut monitor = ScObserved::new();
//! let (data, flag) = (0, 1);
//! // Thread 1 performs its second read early, out of program order, ...
//! monitor.push(PerformedNow { thread: 1, index: Some(1), kind: Read, location: data })?;
//! monitor.push(PerformedNow { thread: 0, index: Some(0), kind: Write, location: data })?;
//! monitor.push(PerformedNow { thread: 0, index: Some(1), kind: Write, location: flag })?;
//! // ... so its first read sees the flag raised, although its second read did not see the data.
//! let late = monitor.push(PerformedNow { thread: 1, index: Some(0), kind: Read, location: flag });
//! assert_eq!(late.unwrap_err().event, 3);
//! # Ok::<(), monitor::Violation>(())
//! ```

mod c11;
pub mod linearizable;
mod observed;
mod observers;
#[cfg(feature = "research")]
pub mod saturate;
#[cfg(not(feature = "research"))]
mod saturate;
mod transactions;
mod windowed;

use model::Evidence;
use serde::Serialize;
use serde::de::DeserializeOwned;
use thiserror::Error;

pub use c11::{Access, C11};
pub use linearizable::Linearizable;
pub use observed::{PerformedNow, ScObserved};
pub use observers::{Observers, Traffic, WrongValue};
pub use transactions::{TransactionAction, TransactionEvent, Transactions};
pub use windowed::{WindowEntry, Windowed};

/// A monitor: it takes the events of an execution one by one.
///
/// Its state can be saved at any moment and restored elsewhere, in any format of serde. The restored monitor continues
/// exactly as the saved one would have.
pub trait Monitor: Serialize + DeserializeOwned {
    /// The events that it takes: accesses, or calls and returns.
    type Event;

    /// Takes in the next event. Says whether the events so far are possible under the model.
    ///
    /// After a violation, the monitor can take further events. It then continues as if the violating event had not
    /// come, unless its documentation says otherwise.
    fn push(&mut self, event: Self::Event) -> Result<Progress, Violation>;
}

/// The answer to an event that is no violation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// No violation so far.
    Possible,
    /// This event cannot come now, for this reason: the input is bad. The monitor has ignored the event.
    Refused(String),
    /// The monitor cannot decide, for this reason. It decides nothing from here on.
    GaveUp(String),
}

/// The events so far are not possible under the model, whatever comes later.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("event {}: {reason}", .event + 1)]
#[non_exhaustive]
pub struct Violation {
    /// The number of the event that makes the violation certain, counted from zero.
    pub event: u64,
    /// The reason in a few words. If it names events, they are counted from one.
    pub reason: String,
    /// The evidence for a certificate about the history that ends with this event, if the monitor has enough of it. If
    /// not, a checker can find the evidence in the recorded history.
    pub evidence: Option<Box<Evidence>>,
}
