//! `seriatim convert`: histories from one format to another, one at a time.

use std::io::{self, Write};

use history::format::{Format, ReadOptions, WriteError, Writer};
use indicatif::ProgressBar;

use crate::flags::Convert;
use crate::output::{self, Palette};
use crate::{BAD, diagnostic, input};

pub(crate) fn run(flags: &Convert) -> u8 {
    let Some(format) = flags.to.or_else(|| Format::from_path(flags.output.as_deref()?)) else {
        let path = flags.output.as_deref().unwrap_or(&flags.input);
        output::complain(path, "the extension does not tell the format: say it with --to");
        return BAD;
    };
    let options = ReadOptions { format: flags.from, object: flags.object, initial: flags.initial.clone() };
    let reader = match input::open(&flags.input, &options, &ProgressBar::hidden()) {
        Ok(reader) => reader,
        Err(error) => {
            output::complain(&flags.input, error);
            return BAD;
        }
    };
    let out = match output::open(flags.output.as_deref()) {
        Ok(out) => out,
        Err(error) => {
            output::complain(flags.output.as_deref().unwrap_or(&flags.input), error);
            return BAD;
        }
    };
    let mut writer = Writer::new(out, format);
    let mut status = 0;
    for (number, history) in reader.enumerate() {
        match history {
            Ok(history) => {
                if let Err(error) = writer.write(&history) {
                    return refuse(flags, number, &error);
                }
            }
            Err(error) => {
                let file = flags.input.display().to_string();
                let _ = io::stderr().write_all(diagnostic::render(&file, &error, Palette::stderr()).as_bytes());
                status = BAD;
            }
        }
    }
    match writer.finish() {
        Ok(_) => status,
        Err(error) => refuse(flags, 0, &error),
    }
}

fn refuse(flags: &Convert, number: usize, error: &WriteError) -> u8 {
    match error {
        WriteError::Io(error) => output::write_error(error),
        WriteError::Inexpressible { .. } => {
            output::complain(&flags.input, format_args!("history {number}: {error}"));
            BAD
        }
    }
}
