//! `seriatim kernel`: how many pairs of writes have a forced order, and how many of these wsc and ccm find.

use std::io::{self, Write};
use std::ops::ControlFlow;
use std::time::Instant;

use history::Execution;
use memory::Interrupt;
use memory::sc::kernel::{self, NoKernel};
use serde_json::{Value, json};
use seriatim::{Cause, Misfit, Model};

use crate::fault::Fault;
use crate::flags::Kernel;
use crate::input::{self, Found, Input};
use crate::output::{self, Palette};
use crate::progress::Progress;
use crate::{BAD, json, panics};

/// What the exit status says, the worst last.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Status {
    Computed,
    Unknown,
    Violation,
    Bad,
}

pub(crate) fn run(flags: &Kernel) -> u8 {
    flags.memory.set_limit();
    let mut out = io::stdout().lock();
    let mut status = Status::Computed;
    let mut written = Ok(());
    let (mut skipped, mut histories) = (0, 0);
    let _ = input::visit(&flags.files, &flags.reading.options(), &Progress::none(), &mut |found| {
        let is_history = matches!(found, Found::History(_));
        let told = match found {
            Found::Unreadable { file, message } => Err(Fault::of_file(file, message)),
            Found::Bad { file, number, error } => Err(Fault::of_line(file, number, error)),
            Found::History(input) => match Execution::from_history(&input.history) {
                Err(error) => {
                    let misfit = Misfit::new(Model::Sc, Cause::NotAnExecution(error), &input.history);
                    Err(Fault::of_misfit(&input, &misfit))
                }
                Ok(execution) => {
                    histories += 1;
                    Ok(tell(flags, &input, &execution))
                }
            },
        };
        let (line, told) = told.unwrap_or_else(|fault| {
            // If standard error is closed, there is nobody to tell.
            let _ = io::stderr().write_all(fault.text(Palette::stderr()).as_bytes());
            let is_skipped = !is_history && flags.skipping.skip_unreadable;
            skipped += u64::from(is_skipped);
            let status = if is_skipped { Status::Computed } else { Status::Bad };
            (if flags.json { fault.json() } else { String::new() }, status)
        });
        status = status.max(told);
        written = out.write_all(line.as_bytes());
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

/// `part` in percent of `whole`.
fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 { 100.0 } else { 100.0 * part as f64 / whole as f64 }
}

fn tell(flags: &Kernel, input: &Input, execution: &Execution) -> (String, Status) {
    let interrupt = Interrupt::at(Instant::now().checked_add(flags.timeout));
    let found = panics::catch(|| kernel::kernel(execution, interrupt));
    let (verdict, what, status) = match &found {
        Err(reason) => ("unknown", reason.clone(), Status::Unknown),
        Ok(Ok(kernel)) => {
            let &kernel::Kernel { pairs, st, pww, kernel, .. } = kernel;
            let line = if flags.json {
                record(input, json!({"pairs": pairs, "st": st, "pww": pww, "kernel": kernel}))
            } else {
                format!(
                    "{}: {pairs} pairs of writes, {kernel} in the kernel ({:.2}%), {st} by wsc ({:.2}% of the kernel), \
                     {pww} by ccm ({:.2}%)\n",
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
        record(input, json!({"verdict": verdict, "reason": what}))
    } else {
        format!("{}: {what}\n", input.label())
    };
    (line, status)
}

/// A line of `--json` with these fields.
fn record(input: &Input, mut fields: Value) -> String {
    fields["file"] = json!(&*input.file);
    fields["history"] = json!(input.number);
    if let Some(name) = input.name() {
        fields["name"] = json!(name);
    }
    json::line(&fields)
}
