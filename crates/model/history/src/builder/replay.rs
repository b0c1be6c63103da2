//! Plays the events of a history into a new history.

use super::{BuildError, Call, CallEnd, HistoryBuilder};
use crate::events::HistoryEvent;
use crate::history::{History, Open, Operation, OperationId, Outcome, Source};
use crate::object::Method;
use crate::value::Value;

/// Plays [events](History::events) of a history into a new history with the same names. It may play only some of them,
/// or play them in another order. The new history is checked like any other.
///
/// ```
/// use history::{History, Replay};
///
/// let history = format::parse("[a] call enqueue 1\n[b] call dequeue\n[a] return\n[b] return 1\n")?;
/// let mut prefix = Replay::new(&history);
/// for event in history.events().take(3) {
///     prefix.play(event)?;
/// }
/// let prefix = prefix.finish()?;
/// assert_eq!(prefix.moments(), [[0, 2], [1, History::NEVER]]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Replay<'h> {
    history: &'h History,
    builder: HistoryBuilder,
    /// For each operation of the history: the operation of the new history.
    played: Vec<Option<OperationId>>,
}

impl<'h> Replay<'h> {
    /// A new history without events. Its names, initial values and final values are those of the history.
    pub fn new(history: &'h History) -> Self {
        let head = History {
            name: history.name.clone(),
            object: history.object,
            capacity: history.capacity,
            initial: history.initial,
            inits: history.inits.clone(),
            finals: history.finals.clone(),
            processes: history.processes.clone(),
            keys: history.keys.clone(),
            words: history.words.clone(),
            open: Open { name: history.open.name.clone(), ..Open::default() },
            ..History::default()
        };
        Self { history, builder: HistoryBuilder::from(head), played: vec![None; history.operations.len()] }
    }

    /// The new history before any event.
    pub(super) fn into_head(self) -> History {
        self.builder.history
    }

    /// Keeps only some of the final values: those whose place in [`History::finals`] is true here.
    pub fn keep_finals(&mut self, kept: &[bool]) {
        let finals = self.history.finals.iter().zip(kept).filter(|&(_, &kept)| kept).map(|(&value, _)| value);
        self.builder.replace_finals(finals.collect());
    }

    /// Plays an event of the history. An end is refused unless the call of its operation was played and is still open.
    pub fn play(&mut self, event: HistoryEvent) -> Result<OperationId, BuildError> {
        match event {
            HistoryEvent::Instant(id) => {
                let new = self.begin(id, self.call(id)?, false)?;
                self.describe(id, new)?;
                self.put_times(id, new, &[0, 1]);
                Ok(new)
            }
            HistoryEvent::Call(id) => {
                let new = self.begin(id, self.call(id)?.result(Value::NONE), true)?;
                self.describe(id, new)?;
                self.put_times(id, new, &[0]);
                Ok(new)
            }
            HistoryEvent::End(id) => {
                let operation = self.operation(id)?;
                let open = self.builder.open(operation.process);
                if open.is_none() || open != self.played[id.index()] {
                    return Err(BuildError::NotOpen { process: self.history.process_name(operation.process) });
                }
                let end = match operation.outcome {
                    Outcome::Ok => CallEnd::Ok(operation.result),
                    Outcome::Fail => CallEnd::Fail,
                    Outcome::Instant | Outcome::Info | Outcome::Pending => CallEnd::Info,
                };
                let new = self.builder.end(operation.process, end)?;
                self.put_times(id, new, &[1]);
                Ok(new)
            }
        }
    }

    /// The new history.
    pub fn finish(mut self) -> Result<History, BuildError> {
        for &(id, source) in &self.history.sources {
            let Some(new) = self.played[id.index()] else { continue };
            let source = match source {
                Source::Init => Source::Init,
                Source::Operation(write) => Source::Operation(
                    self.played[write.index()].ok_or_else(|| BuildError::SourceNotReplayed(self.builder.which(new)))?,
                ),
            };
            self.builder.set_source(new, source)?;
        }
        self.builder.finish()
    }

    fn operation(&self, id: OperationId) -> Result<&'h Operation, BuildError> {
        self.history.operations.get(id.index()).ok_or(BuildError::UnknownOperation(id))
    }

    fn call(&self, id: OperationId) -> Result<Call, BuildError> {
        let &Operation { process, key, line, method, order, argument, result, .. } = self.operation(id)?;
        let expected = self.history.expected(id).unwrap_or(Value::NONE);
        Ok(Call { process, key, line, method, order, argument, result, expected })
    }

    fn begin(&mut self, id: OperationId, call: Call, has_call: bool) -> Result<OperationId, BuildError> {
        let arguments: Vec<Value> = self.history.arguments(id).collect();
        match (call.method, has_call) {
            (Method::Open, true) => self.builder.call_method(&call, self.history.method_name(id), &arguments),
            (Method::Open, false) => self.builder.instant_method(&call, self.history.method_name(id), &arguments),
            (_, true) => self.builder.call(&call),
            (_, false) => self.builder.instant(&call),
        }
    }

    /// Copies the label and the index in program order of an operation.
    fn describe(&mut self, id: OperationId, new: OperationId) -> Result<(), BuildError> {
        self.played[id.index()] = Some(new);
        if let Some(label) = self.history.label(id) {
            self.builder.set_label(new, label)?;
        }
        if let Some(index) = self.history.program_index(id) {
            self.builder.set_program_index(new, index)?;
        }
        Ok(())
    }

    /// Copies the times of an operation: of its call (0), of its return (1).
    fn put_times(&mut self, id: OperationId, new: OperationId, ends: &[usize]) {
        let times = self.history.times.get(id.index()).copied().unwrap_or_default();
        for &end in ends {
            if let Some(time) = times[end] {
                self.builder.put_time(new, end, time);
            }
        }
    }
}
