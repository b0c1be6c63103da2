//! `seriatim kernel`: how many pairs of writes have a forced order, and how many of these wsc and ccm find.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::ops::ControlFlow;

use format::render_operation;
use history::{Execution, visible};
use memory::kernel::{self, KernelOrder, NoKernel, Pair};
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
    let mut out = io::stdout().lock();
    let mut status = Status::Computed;
    let mut written = Ok(());
    let (mut skipped, mut histories) = (0, 0);
    let mut corpus = Corpus::default();
    let _ = input::visit(
        &flags.files,
        &flags.reading.options(flags.memory.budget(), Some(flags.timeout)),
        &Progress::none(),
        &mut |found| {
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
                        Ok(tell(flags, &input, &execution, &mut corpus))
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
        },
    );
    if corpus.kernels.len() > 1 && written.is_ok() {
        written = out.write_all(corpus.tell(flags.json).as_bytes());
    }
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

/// The kernels of all histories that have one.
#[derive(Default)]
struct Corpus {
    kernels: Vec<kernel::Kernel>,
}

/// How many pairs an order has.
type Count = fn(&kernel::Kernel) -> u64;

impl Corpus {
    /// In how many percent of the histories an order is the whole kernel, and of how many percent of the kernel it is
    /// in the others, on average.
    fn coverage(&self, order: impl Fn(&kernel::Kernel) -> u64) -> (f64, Option<f64>) {
        let (mut whole, mut sum) = (0, 0.0);
        for it in &self.kernels {
            if order(it) == it.kernel {
                whole += 1;
            } else {
                sum += percent(order(it), it.kernel);
            }
        }
        let others = self.kernels.len() - whole;
        (percent(whole as u64, self.kernels.len() as u64), (others > 0).then(|| sum / others as f64))
    }

    /// How many percent of its pairs of writes an order orders in a history, on average.
    fn ordered(&self, order: impl Fn(&kernel::Kernel) -> u64) -> f64 {
        self.kernels.iter().map(|it| percent(order(it), it.pairs)).sum::<f64>() / self.kernels.len() as f64
    }

    fn tell(&self, is_json: bool) -> String {
        let orders: [(&str, &str, Count); 3] =
            [("st", "wsc", |it| it.st), ("pww", "ccm", |it| it.pww), ("ccv", "ccv", |it| it.ccv)];
        let histories = self.kernels.len();
        if is_json {
            let mut fields = json!({"kind": "summary", "histories": histories,
                                    "kernel": {"ordered": self.ordered(|it| it.kernel)}});
            for (name, _, order) in orders {
                let (whole, others) = self.coverage(order);
                fields[name] = json!({"whole": whole, "others": others, "ordered": self.ordered(order)});
            }
            return json::line(&fields);
        }
        let mut text = format!(
            "{histories} histories: {:.2}% of their pairs of writes in the kernel\n",
            self.ordered(|it| it.kernel)
        );
        for (_, model, order) in orders {
            let (whole, others) = self.coverage(order);
            let others =
                others.map_or_else(String::new, |share| format!(", {share:.2}% of it on average in the others"));
            let ordered = self.ordered(order);
            let _ = writeln!(
                text,
                "  {model}: the whole kernel in {whole:.2}% of the histories{others}; {ordered:.2}% of the pairs \
                 ordered"
            );
        }
        text
    }
}

/// The pairs of a history, as text and as JSON.
fn pairs_of(input: &Input, execution: &Execution, pairs: &[Pair]) -> (String, Value) {
    let mut text = String::new();
    let mut records = Vec::with_capacity(pairs.len());
    for pair in pairs {
        let operation = |event| {
            let id = execution.operation(event);
            (id.0, visible(&render_operation(&input.history, id)).into_owned())
        };
        let ((first, first_text), (second, second_text)) = (operation(pair.first), operation(pair.second));
        let orders: Vec<&str> =
            KernelOrder::ALL.into_iter().filter(|&it| pair.is_in(it)).map(KernelOrder::name).collect();
        let (sign, by) = if orders.is_empty() { ("?", "open".to_owned()) } else { ("<", orders.join(" ")) };
        let _ = writeln!(text, "  {first_text} {sign} {second_text}: {by}");
        records.push(json!({"first": first, "second": second, "orders": orders}));
    }
    (text, Value::Array(records))
}

fn tell(flags: &Kernel, input: &Input, execution: &Execution, corpus: &mut Corpus) -> (String, Status) {
    let budget = flags.memory.budget().clone().timeout(flags.timeout);
    let mut pairs = Vec::new();
    let found = panics::catch(|| {
        kernel::visit(execution, &budget, |pair| {
            if flags.pairs {
                pairs.push(pair);
            }
        })
    });
    let (verdict, what, status) = match &found {
        Err(reason) => ("unknown", reason.clone(), Status::Unknown),
        Ok(Ok(kernel)) => {
            corpus.kernels.push(*kernel);
            let (text, records) = pairs_of(input, execution, &pairs);
            let &kernel::Kernel { pairs, st, pww, ccv, kernel, .. } = kernel;
            let line = if flags.json {
                let mut fields = json!({"pairs": pairs, "st": st, "pww": pww, "ccv": ccv, "kernel": kernel});
                if flags.pairs {
                    fields["writes"] = records;
                }
                record(input, fields)
            } else {
                format!(
                    "{}: {pairs} pairs of writes, {kernel} in the kernel ({:.2}%), {st} by wsc ({:.2}% of the kernel), \
                     {pww} by ccm ({:.2}%), {ccv} by ccv ({:.2}%)\n{text}",
                    input.label(),
                    percent(kernel, pairs),
                    percent(st, kernel),
                    percent(pww, kernel),
                    percent(ccv, kernel)
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
