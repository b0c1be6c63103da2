//! `seriatim completions` and `seriatim man`. Both are made from the definitions of the flags.

use std::io::{self, Write};

use clap::CommandFactory;

use crate::flags::{Completions, Flags, Man};
use crate::{BAD, output};

pub(crate) fn completions(flags: &Completions) -> u8 {
    let mut script = Vec::new();
    clap_complete::generate(flags.shell, &mut Flags::command(), "seriatim", &mut script);
    print(&script)
}

pub(crate) fn man(flags: &Man) -> u8 {
    if let Some(directory) = &flags.directory {
        return match clap_mangen::generate_to(Flags::command(), directory) {
            Ok(()) => 0,
            Err(error) => {
                output::complain(directory, error);
                BAD
            }
        };
    }
    let mut page = Vec::new();
    match clap_mangen::Man::new(Flags::command()).render(&mut page) {
        Ok(()) => print(&page),
        Err(error) => output::write_error(&error),
    }
}

fn print(text: &[u8]) -> u8 {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text).and_then(|()| stdout.flush()) {
        Ok(()) => 0,
        Err(error) => output::write_error(&error),
    }
}
