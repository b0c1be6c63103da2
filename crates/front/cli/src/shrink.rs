//! `seriatim shrink`: writes a minimal counterexample for every history that violates a model.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::ops::ControlFlow;

use format::{Format, WriteError, Writer};
use model::Verdict;
use seriatim::{Model, Options, ShrinkError, Shrunk, check, default_model, shrink};

use crate::check::Tally;
use crate::fault::Fault;
use crate::flags::Shrink;
use crate::input::{self, Found, Input};
use crate::output::{self, Output, Palette};
use crate::progress::Progress;
use crate::{BAD, panics};

/// What is added to the tally for one history.
const CONSISTENT: Tally = Tally { histories: 1, violations: 0, unknown: 0, bad: 0, skipped: 0 };
const VIOLATION: Tally = Tally { violations: 1, ..CONSISTENT };
const UNKNOWN: Tally = Tally { unknown: 1, ..CONSISTENT };

pub(crate) fn run(flags: &Shrink) -> u8 {
    let out = match Output::open(flags.output.as_deref()) {
        Ok(out) => out,
        Err(error) => {
            output::complain(flags.output.as_deref().unwrap_or(&flags.files[0]), error);
            return BAD;
        }
    };
    let mut writer = Writer::new(out, Format::Text).with_places();
    let mut total = Tally::default();
    let mut written = Ok(());
    let _ = input::visit(
        &flags.files,
        &flags.reading.options(flags.memory.budget(), Some(flags.timeout)),
        &Progress::none(),
        &mut |found| {
            let told = match found {
                Found::Unreadable { file, message } => Err(Fault::of_file(file, message)),
                Found::Bad { file, number, error } => Err(Fault::of_line(file, number, error)),
                Found::History(input) => tell(flags, &input, &mut writer, &mut written),
            };
            let told = told.unwrap_or_else(|fault| {
                // If standard error is closed, there is nobody to tell.
                let _ = io::stderr().write_all(fault.text(Palette::stderr()).as_bytes());
                Tally { bad: 1, ..Tally::default() }
            });
            total.add(told);
            if written.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        },
    );
    let finished = written.and_then(|()| writer.finish());
    match finished.and_then(|out| out.commit().map_err(WriteError::Io)) {
        Ok(()) => total.status(),
        Err(WriteError::Io(error)) => output::write_error(&error),
        Err(error) => {
            output::complain(&flags.files[0], error);
            BAD
        }
    }
}

/// Shrinks one history, and writes what is left.
fn tell(
    flags: &Shrink,
    input: &Input,
    writer: &mut Writer<Output>,
    written: &mut Result<(), WriteError>,
) -> Result<Tally, Fault> {
    let model = flags.model.unwrap_or_else(|| default_model(&input.history));
    let options = Options::default().timeout(flags.timeout).budget(flags.memory.budget());
    let shrunk = panics::catch(|| {
        let shrunk = shrink(&input.history, model, &options);
        let kept = match (&shrunk, flags.keep) {
            (Ok(shrunk), Some(kept)) => Some((kept, check(&shrunk.history, kept, &options))),
            _ => None,
        };
        (shrunk, kept)
    });
    let say = |what: &str| {
        let _ = writeln!(io::stderr(), "{}: {what}", input.label());
    };
    let (shrunk, kept) = match shrunk {
        Ok(shrunk) => shrunk,
        Err(reason) => {
            say(&format!("{model}: unknown: {reason}"));
            return Ok(UNKNOWN);
        }
    };
    let shrunk = match shrunk {
        Ok(shrunk) => shrunk,
        Err(ShrinkError::Misfit(misfit)) => return Err(Fault::of_misfit(input, &misfit)),
        Err(error) => {
            say(&error.to_string());
            let is_unknown = matches!(&error, ShrinkError::NoViolation(it) if it.verdict == Verdict::Unknown);
            return Ok(if is_unknown { UNKNOWN } else { CONSISTENT });
        }
    };
    if let Some((kept, decision)) = kept {
        let decision = decision.map_err(|misfit| Fault::of_misfit(input, &misfit))?;
        if decision.verdict != Verdict::Consistent {
            say(&format!(
                "{kept}: {} already here, so no part that breaks {model} can keep it",
                decision.verdict.name()
            ));
            return Ok(if decision.verdict == Verdict::Unknown { UNKNOWN } else { VIOLATION });
        }
    }
    writer.comment(&title(input, model, &shrunk));
    *written = writer.write(&shrunk.history);
    if !shrunk.is_minimal {
        say("a check gave up, so something that does not matter may be left");
    }
    Ok(VIOLATION)
}

/// The comment above a counterexample: where it is from, and why it violates the model.
fn title(input: &Input, model: Model, shrunk: &Shrunk) -> String {
    let [left, all] = [&shrunk.history, &input.history].map(|history| history.operations().len());
    let mut title = format!("{}: {model}: violation: {left} of {all} operations\n", input.label());
    for line in shrunk.decision.explain(&shrunk.history).lines {
        let _ = writeln!(title, "{line}");
    }
    title
}
