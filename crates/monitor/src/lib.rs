//! Monitors: they are told the events of an execution one by one, as it runs, and say at once which event cannot be.
//!
//! A monitor does no input or output, starts no thread and looks at no clock; it costs the memory of its state, which
//! its page states. Whoever has the events pushes them:
//!
//! ```
//! use history::execution::Kind::{Read, Write};
//! use monitor::{Monitor, Performed, Progress, ScObserved};
//!
//! let mut monitor = ScObserved::new();
//! let (data, flag) = (0, 1);
//! // Thread 1 performs its second read early, out of program order, ...
//! monitor.push(Performed { thread: 1, index: Some(1), kind: Read, location: data })?;
//! monitor.push(Performed { thread: 0, index: Some(0), kind: Write, location: data })?;
//! monitor.push(Performed { thread: 0, index: Some(1), kind: Write, location: flag })?;
//! // ... so that its first read sees the flag raised, and the second did not see the data.
//! let late = monitor.push(Performed { thread: 1, index: Some(0), kind: Read, location: flag });
//! assert_eq!(late.unwrap_err().event, 3);
//! # Ok::<(), monitor::Violation>(())
//! ```

mod c11;
pub mod linearizable;
mod observed;

use certificate::Evidence;
use serde::Serialize;
use serde::de::DeserializeOwned;
use thiserror::Error;

pub use c11::{Access, C11};
pub use linearizable::Linearizable;
pub use observed::{Performed, ScObserved};

/// What follows an execution, event by event.
///
/// Its state can be saved at any moment and restored elsewhere: with any format of serde, and what is restored goes on
/// as the original would have.
pub trait Monitor: Serialize + DeserializeOwned {
    /// What it is told: an access that was performed, a call, a return.
    type Event;

    /// Takes in the next event, and says whether what happened so far can be.
    ///
    /// After a violation, the monitor can be told further events. It then goes on as if the event had not come, unless
    /// its page says otherwise.
    fn push(&mut self, event: Self::Event) -> Result<Progress, Violation>;
}

/// What a monitor says of an event that is no violation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// No violation so far.
    Possible,
    /// The event is none that could come now, for this reason: the input is bad. It was not taken in.
    Refused(String),
    /// The monitor cannot say, for this reason, and will say nothing from here on.
    GaveUp(String),
}

/// What happened so far cannot be, whatever comes later.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("event {}: {reason}", .event + 1)]
#[non_exhaustive]
pub struct Violation {
    /// The event that makes it certain: how many events were pushed before it.
    pub event: u64,
    /// Why, in a few words. Where it names events, they are counted from one.
    pub reason: String,
    /// The evidence of a certificate about the history that ends with this event, if the monitor knows enough. If not,
    /// the checker of the whole history finds it in the recorded prefix.
    pub evidence: Option<Box<Evidence>>,
}
