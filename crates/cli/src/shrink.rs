//! `seriatim shrink`: writes a minimal counterexample for every history that violates a model.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::ops::ControlFlow;

use certificate::Verdict;
use history::format::{Format, WriteError, Writer};
use seriatim::{Model, Options, ShrinkError, Shrunk, check, default_model, shrink};

use crate::fault::Fault;
use crate::flags::Shrink;
use crate::input::{self, Found, Input};
use crate::output::{self, Output, Palette};
use crate::progress::Progress;
use crate::{BAD, panics};

/// What the exit status says, the worst last.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Status {
    Consistent,
    Unknown,
    Violation,
    Bad,
}

pub(crate) fn run(flags: &Shrink) -> u8 {
    flags.memory.set_limit();
    let out = match Output::open(flags.output.as_deref()) {
        Ok(out) => out,
        Err(error) => {
            output::complain(flags.output.as_deref().unwrap_or(&flags.files[0]), error);
            return BAD;
        }
    };
    let mut writer = Writer::new(out, Format::Text).with_places();
    let mut status = Status::Consistent;
    let mut written = Ok(());
    let _ = input::visit(&flags.files, &flags.reading.options(), &Progress::none(), &mut |found| {
        let told = match found {
            Found::Unreadable { file, message } => Err(Fault::of_file(file, message)),
            Found::Bad { file, number, error } => Err(Fault::of_line(file, number, error)),
            Found::History(input) => tell(flags, &input, &mut writer, &mut written),
        };
        let told = told.unwrap_or_else(|fault| {
            // If standard error is closed, there is nobody to tell.
            let _ = io::stderr().write_all(fault.text(Palette::stderr()).as_bytes());
            Status::Bad
        });
        status = status.max(told);
        if written.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    let finished = written.and_then(|()| writer.finish());
    match finished.and_then(|out| out.commit().map_err(WriteError::Io)) {
        Ok(()) => match status {
            Status::Consistent => 0,
            Status::Violation => 1,
            Status::Bad => BAD,
            Status::Unknown => 3,
        },
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
) -> Result<Status, Fault> {
    let model = flags.model.unwrap_or_else(|| default_model(&input.history));
    let options = Options::default().timeout(flags.timeout);
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
            return Ok(Status::Unknown);
        }
    };
    let shrunk = match shrunk {
        Ok(shrunk) => shrunk,
        Err(ShrinkError::Misfit(misfit)) => return Err(Fault::of_misfit(input, &misfit)),
        Err(error) => {
            say(&error.to_string());
            let is_unknown = matches!(&error, ShrinkError::NoViolation(it) if it.verdict == Verdict::Unknown);
            return Ok(if is_unknown { Status::Unknown } else { Status::Consistent });
        }
    };
    if let Some((kept, decision)) = kept {
        let decision = decision.map_err(|misfit| Fault::of_misfit(input, &misfit))?;
        if decision.verdict != Verdict::Consistent {
            say(&format!(
                "{kept}: {} already here, so no part that breaks {model} can keep it",
                decision.verdict.name()
            ));
            return Ok(if decision.verdict == Verdict::Unknown { Status::Unknown } else { Status::Violation });
        }
    }
    writer.comment(&title(input, model, &shrunk));
    *written = writer.write(&shrunk.history);
    if !shrunk.is_minimal {
        say("a check gave up, so something that does not matter may be left");
    }
    Ok(Status::Violation)
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
