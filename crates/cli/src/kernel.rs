//! `seriatim kernel`: how much of the order of writes is forced, and how much of that the models find.

use std::io::{self, Write};
use std::ops::ControlFlow;
use std::time::Instant;

use history::Execution;
use indicatif::ProgressBar;
use memory::Interrupt;
use memory::sc::kernel::{self, NoKernel};
use serde_json::json;

use crate::flags::Kernel;
use crate::input::{self, Found, Input};
use crate::output::{self, Palette};
use crate::{BAD, diagnostic, panics};

/// What the exit status tells, the worst last.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Status {
    Computed,
    Unknown,
    Violation,
    Bad,
}

pub(crate) fn run(flags: &Kernel) -> u8 {
    let mut out = io::stdout().lock();
    let mut status = Status::Computed;
    let mut written = Ok(());
    let complain = |text: &str| {
        // Nobody is left to hear that standard error is closed.
        let _ = io::stderr().write_all(text.as_bytes());
        Status::Bad
    };
    let (mut skipped, mut histories) = (0, 0);
    let _ = input::visit(&flags.files, &flags.reading.options(), &ProgressBar::hidden(), &mut |found| {
        status = status.max(match found {
            Found::Unreadable { .. } | Found::Bad { .. } => {
                let bad = complain(&found.complaint(Palette::stderr()).unwrap_or_default());
                skipped += u64::from(flags.skipping.skip_unreadable);
                if flags.skipping.skip_unreadable { Status::Computed } else { bad }
            }
            Found::History(input) => match Execution::from_history(&input.history) {
                Err(error) => complain(&match diagnostic::of_view(&input.history, input.format, &error) {
                    Some(error) => diagnostic::render(&input.file, &error, Palette::stderr()),
                    None => format!("{}: {error}\n", input.label()),
                }),
                Ok(execution) => {
                    histories += 1;
                    let (line, status) = tell(flags, &input, &execution);
                    written = writeln!(out, "{line}");
                    status
                }
            },
        });
        if written.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    if output::tell_skipped("kernel", skipped, histories, "") {
        status = Status::Bad;
    }
    match written.and_then(|()| out.flush()) {
        Ok(()) => match status {
            Status::Computed => 0,
            Status::Violation => 1,
            Status::Bad => BAD,
            Status::Unknown => 3,
        },
        Err(error) => output::write_error(&error),
    }
}

/// Of a hundred.
fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 { 100.0 } else { 100.0 * part as f64 / whole as f64 }
}

fn tell(flags: &Kernel, input: &Input, execution: &Execution) -> (String, Status) {
    let interrupt = Interrupt::at(Instant::now().checked_add(flags.timeout));
    let found = panics::catch(|| kernel::kernel(execution, interrupt));
    let (verdict, what, status) = match &found {
        Err(reason) => ("unknown", reason.clone(), Status::Unknown),
        Ok(Ok(kernel)) => {
            let &kernel::Kernel { pairs, st, pww, kernel } = kernel;
            let line = if flags.json {
                json!({"file": &*input.file, "history": input.number, "pairs": pairs, "st": st, "pww": pww, "kernel": kernel})
                    .to_string()
            } else {
                format!(
                    "{}: {pairs} pairs of writes, {kernel} in the kernel ({:.2}%), {st} by wsc ({:.2}% of the kernel), \
                     {pww} by ccm ({:.2}%)",
                    input.label(),
                    percent(kernel, pairs),
                    percent(st, kernel),
                    percent(pww, kernel)
                )
            };
            return (line, Status::Computed);
        }
        Ok(Err(NoKernel::Violation)) => {
            ("violation", "not sequentially consistent, so there is no kernel".to_owned(), Status::Violation)
        }
        Ok(Err(NoKernel::GaveUp(why))) => ("unknown", why.to_string(), Status::Unknown),
    };
    let line = if flags.json {
        json!({"file": &*input.file, "history": input.number, "verdict": verdict, "reason": what}).to_string()
    } else {
        format!("{}: {what}", input.label())
    };
    (line, status)
}
