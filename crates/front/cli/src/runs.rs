//! `seriatim gen --object`: random runs of a simulated object.
//!
//! Text is written while the events happen, and the memory does not grow with their number. In the other formats, each
//! history is first built in memory, and then written.

use std::io::{self, Write};

use format::{Format, WriteError, Writer};
use history::Object;
use workload::object::{self, Action, Answer, Fault, ObjectConfig, RunEvent};

use crate::flags::{Gen, Wrong};

/// The flags as the configuration of a simulated run.
pub(crate) fn config(flags: &Gen, object: Object) -> ObjectConfig {
    let run = &flags.run;
    ObjectConfig {
        object,
        threads: flags.threads,
        operations: flags.operations,
        progress: run.progress,
        inserts: flags.writes,
        swaps: flags.rmws,
        peeks: run.peeks,
        values: run.values,
        keys: run.keys,
        capacity: run.capacity,
        pending: run.pending,
        fault: run.wrong.map(|wrong| match wrong {
            Wrong::KFifo => Fault::OutOfOrder(run.k),
            Wrong::Lost => Fault::Lost,
            Wrong::Duplicated => Fault::Duplicated,
            Wrong::LateEmpty => Fault::LateEmpty,
        }),
        faults: run.faults,
        shows: true,
        seed: flags.seed,
    }
}

/// Simulates the runs, and writes their histories.
pub(crate) fn write(
    out: &mut dyn Write,
    format: Format,
    configs: impl Iterator<Item = ObjectConfig>,
) -> Result<(), WriteError> {
    if format == Format::Text {
        for (number, config) in configs.enumerate() {
            if number > 0 {
                writeln!(out, "---")?;
            }
            write_text(out, &config)?;
        }
        return Ok(());
    }
    let mut writer = Writer::new(out, format);
    for config in configs {
        writer.write(&object::history(&config))?;
    }
    writer.finish().map(drop)
}

fn write_text(out: &mut dyn Write, config: &ObjectConfig) -> io::Result<()> {
    writeln!(out, "# @object {}", config.object.name())?;
    if matches!(config.object, Object::Semaphore | Object::TaggedSemaphore) {
        writeln!(out, "# @capacity {}", config.capacity)?;
    }
    for RunEvent { process, action } in object::events(config) {
        write!(out, "[{process}] ")?;
        match action {
            Action::Call { method, key, expected, argument } => {
                write!(out, "call {}", config.object.method_name(method))?;
                for value in expected.into_iter().chain(argument) {
                    write!(out, " {value}")?;
                }
                if config.object == Object::KeyValue && argument.is_some() {
                    write!(out, ";")?;
                }
                if let Some(key) = key {
                    write!(out, " key={key}")?;
                }
            }
            Action::Return(answer) => {
                write!(out, "return")?;
                match answer {
                    Answer::Nothing => {}
                    Answer::Value(value) => write!(out, " {value}")?,
                    Answer::Empty => write!(out, " empty")?,
                    Answer::Null => write!(out, " null")?,
                    Answer::Boolean(b) => write!(out, " {b}")?,
                    Answer::Text(text) => write!(out, " \"{text}\"")?,
                }
            }
        }
        writeln!(out)?;
    }
    Ok(())
}
