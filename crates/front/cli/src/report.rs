//! `seriatim report`: writes a page about a verdict.

use std::io::{self, Write};
use std::ops::ControlFlow;

use history::visible;
use seriatim::{Decision, Options, Verdict, check, default_model};

use crate::check::Tally;
use crate::fault::Fault;
use crate::flags::Report;
use crate::input::{self, Found, Input};
use crate::output::{self, Output, Palette};
use crate::progress::Progress;
use crate::{BAD, page, panics};

pub(crate) fn run(flags: &Report) -> u8 {
    let mut out = match Output::open(Some(&flags.output)) {
        Ok(out) => out,
        Err(error) => {
            output::complain(&flags.output, error);
            return BAD;
        }
    };
    let options = Options::default().timeout(flags.timeout).budget(flags.memory.budget()).witness(true);
    let mut total = Tally::default();
    let mut chosen: Option<(Box<Input>, Decision)> = None;
    let _ = input::visit(
        &flags.files,
        &flags.reading.options(flags.memory.budget(), Some(flags.timeout)),
        &Progress::none(),
        &mut |found| {
            let decided = match found {
                Found::Unreadable { file, message } => Err(Fault::of_file(file, message)),
                Found::Bad { file, number, error } => Err(Fault::of_line(file, number, error)),
                Found::History(input) => decide(flags, &options, &input).map(|decision| (input, decision)),
            };
            match decided {
                Ok((input, decision)) => {
                    let verdict = decision.verdict;
                    let is_violation = verdict == Verdict::Violation;
                    total.add(Tally {
                        histories: 1,
                        violations: u64::from(is_violation),
                        unknown: u64::from(verdict == Verdict::Unknown),
                        ..Tally::default()
                    });
                    if is_violation || chosen.is_none() {
                        chosen = Some((input, decision));
                    }
                    if is_violation { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
                }
                Err(fault) => {
                    // If standard error is closed, there is nobody to tell.
                    let _ = io::stderr().write_all(fault.text(Palette::stderr()).as_bytes());
                    total.bad += 1;
                    ControlFlow::Continue(())
                }
            }
        },
    );
    let Some((input, decision)) = chosen else {
        return if total.bad > 0 { BAD } else { total.status() };
    };
    let command = page::command(&input, decision.model, &flags.reading);
    let written = page::write(&input, &decision, &command, &options, flags.timeout, &mut out);
    match written.and_then(|()| out.commit()) {
        Ok(()) => {
            let verdict = Palette::stderr().verdict(decision.verdict);
            let _ = writeln!(io::stderr(), "{}: {}: {verdict}", visible(&input.label()), decision.model);
            total.status()
        }
        Err(error) => output::write_error(&error),
    }
}

fn decide(flags: &Report, options: &Options, input: &Input) -> Result<Decision, Fault> {
    let model = flags.model.unwrap_or_else(|| default_model(&input.history));
    match panics::catch(|| check(&input.history, model, options)) {
        Ok(Ok(decision)) => Ok(decision),
        Ok(Err(misfit)) => Err(Fault::of_misfit(input, &misfit)),
        Err(reason) => Ok(Decision::unknown(model, reason)),
    }
}
