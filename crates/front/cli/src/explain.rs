//! `seriatim explain`: draws the operations that clash, and tells why.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::ops::ControlFlow;

use history::{History, visible};
use model::{Model, Verdict};
use report::{Line, Story};
use serde::Serialize;
use seriatim::{Decision, Misfit, Options, ShrinkError, check, default_model, shrink};

use crate::check::Tally;
use crate::fault::Fault;
use crate::flags::{Explain, ExplainKind};
use crate::input::{self, Found, Input};
use crate::output::{self, Output, Palette};
use crate::progress::Progress;
use crate::{BAD, json, panics};

/// How wide a line is where there is no terminal.
const WIDTH: u16 = 100;

pub(crate) fn run(flags: &Explain) -> u8 {
    let mut out = match Output::open(flags.output.as_deref()) {
        Ok(out) => out,
        Err(error) => {
            output::complain(flags.output.as_deref().unwrap_or(&flags.files[0]), error);
            return BAD;
        }
    };
    let is_terminal = flags.output.is_none();
    let terminal = || terminal_size::terminal_size().map(|(width, _)| width.0).filter(|_| is_terminal);
    let width = flags.width.or_else(terminal).unwrap_or(WIDTH).max(40);
    let palette = if is_terminal { Palette::stdout() } else { Palette::none() };
    let mut job = ExplainJob { flags, width: usize::from(width), palette, pictures: 0 };
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
                Found::History(input) => job.tell(&input),
            };
            match told {
                Ok((tally, text)) => {
                    total.add(tally);
                    let separator = if total.histories > 1 && job.kind() == ExplainKind::Text { "\n" } else { "" };
                    written = write!(out, "{separator}{text}");
                }
                Err(fault) => {
                    // If standard error is closed, there is nobody to tell.
                    let _ = io::stderr().write_all(fault.text(Palette::stderr()).as_bytes());
                    total.add(Tally { bad: 1, ..Tally::default() });
                }
            }
            if written.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        },
    );
    match written.and_then(|()| out.commit()) {
        Ok(()) => total.status(),
        Err(error) => output::write_error(&error),
    }
}

/// What is told about a history.
struct Explained {
    /// What is left of the history.
    history: History,
    decision: Decision,
    story: Option<Story>,
}

/// A line of `--json`.
#[derive(Serialize)]
struct Record<'a> {
    file: &'a str,
    history: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    model: &'static str,
    verdict: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    operations: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    shrunk: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    story: Option<&'a Story>,
}

struct ExplainJob<'a> {
    flags: &'a Explain,
    width: usize,
    palette: Palette,
    /// How many pictures were written.
    pictures: usize,
}

impl ExplainJob<'_> {
    fn kind(&self) -> ExplainKind {
        if self.flags.json { ExplainKind::Json } else { self.flags.to }
    }

    /// What is to be written about a history.
    fn tell(&mut self, input: &Input) -> Result<(Tally, String), Fault> {
        let model = self.flags.model.unwrap_or_else(|| default_model(&input.history));
        let told = panics::catch(|| explain(self.flags, &input.history, model));
        let told = match told {
            Ok(told) => told.map_err(|misfit| Fault::of_misfit(input, &misfit))?,
            Err(reason) => {
                Explained { history: History::default(), decision: Decision::unknown(model, reason), story: None }
            }
        };
        let verdict = told.decision.verdict;
        let count = |wanted| u64::from(verdict == wanted);
        let [violations, unknown] = [count(Verdict::Violation), count(Verdict::Unknown)];
        let tally = Tally { histories: 1, violations, unknown, ..Tally::default() };
        let text = match (self.kind(), &told.story) {
            (ExplainKind::Text, _) => self.text(input, &told),
            (ExplainKind::Json, _) => self.record(input, &told),
            (_, Some(story)) if verdict == Verdict::Violation => {
                self.pictures += 1;
                if self.kind() == ExplainKind::Svg && self.pictures > 1 {
                    let what = "a picture shows one violation; name one history with FILE#k".to_owned();
                    return Err(Fault::of_file(input.label().into(), what));
                }
                let title = format!("{}: {model}: violation", input.label());
                self.graph(story, &title)
            }
            _ => {
                // A graph of no violation is empty. If standard error is closed, there is nobody to tell.
                let what = told.decision.reason.as_deref().map_or(String::new(), |reason| format!(": {reason}"));
                let _ = writeln!(io::stderr(), "{}: {model}: {}{what}", input.label(), verdict.name());
                String::new()
            }
        };
        Ok((tally, text))
    }

    fn graph(&self, story: &Story, title: &str) -> String {
        let graph = report::StoryGraph::new(story, title);
        match self.kind() {
            ExplainKind::Dot => graph.to_dot(),
            ExplainKind::Svg => graph.to_svg(),
            _ => graph.to_mermaid(),
        }
    }

    fn record(&self, input: &Input, told: &Explained) -> String {
        let is_violation = told.decision.verdict == Verdict::Violation;
        json::line(&Record {
            file: &input.file,
            history: input.number,
            name: input.name(),
            model: told.decision.model.name(),
            verdict: told.decision.verdict.name(),
            reason: told.decision.reason.as_deref(),
            operations: input.history.operations().len(),
            shrunk: (is_violation && !self.flags.whole).then(|| told.history.operations().len()),
            story: told.story.as_ref(),
        })
    }

    fn text(&self, input: &Input, told: &Explained) -> String {
        let Decision { model, verdict, reason, .. } = &told.decision;
        let mut text = format!("{}: {model}: {}", input.label(), self.palette.verdict(*verdict));
        let [left, all] = [&told.history, &input.history].map(|history| history.operations().len());
        match verdict {
            Verdict::Violation if left < all => {
                let _ = write!(text, ": {left} of {all} operations clash");
            }
            Verdict::Violation => {}
            _ => {
                let _ = write!(text, ": {all} operations");
            }
        }
        text.push('\n');
        if let Some(reason) = reason {
            let _ = writeln!(text, "  {}", visible(reason));
        }
        let mut add = |lines: Vec<Line>| {
            for line in lines {
                let line = self.palette.line(&line);
                // A blank before a line is part of its indentation.
                let _ = writeln!(text, "{}", if line.is_empty() { String::new() } else { format!("  {line}") });
            }
        };
        let Some(story) = &told.story else { return text };
        let width = self.width - 2;
        if *verdict == Verdict::Violation {
            add(vec![Line::default()]);
            add(report::lanes::draw(&told.history, story, width));
            add(vec![Line::default()]);
            add(report::tell(story, self.flags.depth, width));
        } else {
            add(report::witness(&told.history, story, width));
        }
        text
    }
}

/// Checks a history, shrinks it if it violates the model, and finds its story.
fn explain(flags: &Explain, history: &History, model: Model) -> Result<Explained, Misfit> {
    let options = Options::default().timeout(flags.timeout).budget(flags.memory.budget()).witness(true);
    let (left, decision) = if flags.whole {
        (history.clone(), check(history, model, &options)?)
    } else {
        match shrink(history, model, &options) {
            Ok(shrunk) => (shrunk.history, shrunk.decision),
            Err(ShrinkError::NoViolation(decision)) => (history.clone(), decision),
            Err(ShrinkError::Misfit(misfit)) => return Err(*misfit),
            Err(error) => (history.clone(), Decision::unknown(model, error.to_string())),
        }
    };
    let story = decision.evidence.as_ref().map(|evidence| Story::new(&left, model, decision.verdict, evidence));
    Ok(Explained { history: left, decision, story })
}
