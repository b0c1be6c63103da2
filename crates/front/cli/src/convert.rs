//! `seriatim convert`: converts histories from one format to another, one at a time. The output file is written as a
//! whole or not at all.

use std::io::{self, Write};

use budget::Budget;
use format::{WriteError, Writer};
use history::History;
use report::perfetto;

use crate::flags::{Convert, Reading, Target};
use crate::output::{self, Output, Palette};
use crate::progress::Progress;
use crate::{BAD, diagnostic, input};

/// What is written.
enum Written {
    History(Writer<Output>),
    Trace(perfetto::TraceWriter<Output>),
}

impl Written {
    fn write(&mut self, history: &History) -> Result<(), WriteError> {
        match self {
            Self::History(writer) => writer.write(history),
            Self::Trace(writer) => Ok(writer.write(history)?),
        }
    }

    /// What the format could not say of the last history.
    fn dropped(&self) -> &[&'static str] {
        match self {
            Self::History(writer) => writer.dropped(),
            Self::Trace(_) => &[],
        }
    }

    fn finish(self) -> Result<Output, WriteError> {
        match self {
            Self::History(writer) => writer.finish(),
            Self::Trace(writer) => Ok(writer.finish()?),
        }
    }
}

pub(crate) fn run(flags: &Convert) -> u8 {
    let Some(target) = flags.to.or_else(|| Target::from_path(flags.output.as_deref()?)) else {
        let path = flags.output.as_deref().unwrap_or(&flags.input);
        output::complain(path, "the name of the file does not show its format; give the format with --to");
        return BAD;
    };
    let reading = Reading { format: flags.from, object: flags.object, initial: flags.initial.clone() };
    let options = reading.options(&Budget::UNLIMITED, flags.timeout);
    let (path, only) = input::selected(&flags.input);
    let mut reader = match input::open(path, &options, &Progress::none()) {
        Ok(reader) => reader,
        Err(error) => {
            output::complain(&flags.input, error);
            return BAD;
        }
    };
    let out = match Output::open(flags.output.as_deref()) {
        Ok(out) => out,
        Err(error) => {
            output::complain(flags.output.as_deref().unwrap_or(&flags.input), error);
            return BAD;
        }
    };
    let mut writer = match target {
        Target::Format(format) => Written::History(Writer::new(out, format)),
        Target::Perfetto => Written::Trace(perfetto::TraceWriter::new(out)),
    };
    let mut status = 0;
    let mut count = 0;
    let mut is_found = only.is_none();
    for (number, history) in (0..).zip(&mut reader) {
        count = number + 1;
        if only.is_some_and(|only| only != number) {
            continue;
        }
        is_found = true;
        match history {
            Ok(history) => {
                if let Err(error) = writer.write(&history) {
                    return refuse(flags, number, &error);
                }
                for what in writer.dropped() {
                    output::complain(&flags.input, format_args!("history {number}: this format cannot say {what}"));
                }
            }
            Err(error) => {
                let file = path.display().to_string();
                let _ = io::stderr().write_all(diagnostic::render(&file, &error, Palette::stderr()).as_bytes());
                status = BAD;
            }
        }
        if only.is_some() {
            break;
        }
    }
    for what in reader.dropped() {
        output::complain(&flags.input, format_args!("left out: {what}"));
    }
    if let (Some(number), false) = (only, is_found) {
        output::complain(path, input::none_selected(number, count));
        status = BAD;
    }
    match writer.finish() {
        Ok(out) if status != 0 && out.is_beside() => {
            output::complain(flags.output.as_deref().unwrap_or(path), "this file was not written");
            status
        }
        Ok(out) => out.commit().map_or_else(|error| output::write_error(&error), |()| status),
        Err(error) => refuse(flags, 0, &error),
    }
}

fn refuse(flags: &Convert, number: u32, error: &WriteError) -> u8 {
    match error {
        WriteError::Io(error) => output::write_error(error),
        error => {
            output::complain(&flags.input, format_args!("history {number}: {error}"));
            BAD
        }
    }
}
