//! A fault is an input without a verdict: bad input, a file that cannot be read, or a history that a model does not
//! fit. It is printed as text, or as a line of `--json`.

use std::sync::Arc;

use format::InputError;
use history::visible;
use serde_json::{Map, Value, json};
use seriatim::Misfit;

use crate::input::Input;
use crate::output::Palette;
use crate::{diagnostic, json};

/// An input without a verdict, and why there is none.
pub(crate) struct Fault {
    file: Arc<str>,
    /// The number of the history in the file; none if the whole file is at fault.
    history: Option<u32>,
    what: What,
}

enum What {
    /// The fault is at a place in the file.
    At(InputError),
    /// The whole history or file is at fault; `label` is its name.
    Whole { label: String, line: Option<u64>, message: String, advice: Option<String> },
}

/// What a message says, and what to do about it.
const STEPS: [(&str, &str); 8] = [
    ("(os error 2)", "next: is the name right? `-` is standard input"),
    ("(os error 13)", "next: may this user read and write it? `ls -l` tells"),
    ("no history below", "next: name the file itself, with --format if its name does not tell its format"),
    ("not a certificate", "next: name the file that `check --certificate` wrote, and then the histories"),
    ("not the state of a run", "next: name the files that `check --state` wrote"),
    ("cannot express", "next: --to jsonl can say all of it"),
    ("cannot be reached", "next: does it run there? An address is SCHEME://HOST:PORT/DATABASE"),
    ("no event in this stream", "next: name a file, or send events to standard input"),
];

/// What to do about an input that cannot be read, where that is plain.
pub(crate) fn next_step(message: &str) -> Option<String> {
    STEPS.iter().find(|(what, _)| message.contains(what)).map(|(_, step)| (*step).to_owned())
}

impl Fault {
    /// The fault of a whole file.
    pub(crate) fn of_file(file: Arc<str>, message: String) -> Self {
        let (label, advice) = (file.to_string(), next_step(&message));
        Self { file, history: None, what: What::Whole { label, line: None, message, advice } }
    }

    /// The same fault, in this line of the file. The line itself is not shown.
    pub(crate) fn in_line(mut self, number: u64) -> Self {
        if let What::Whole { label, line, .. } = &mut self.what {
            *label = format!("{}:{number}", self.file);
            *line = Some(number);
        }
        self
    }

    /// The fault of a line of a file that holds no histories.
    pub(crate) fn of_text(file: Arc<str>, error: InputError) -> Self {
        Self { file, history: None, what: What::At(error) }
    }

    /// The fault of a line of a history.
    pub(crate) fn of_line(file: Arc<str>, history: u32, error: InputError) -> Self {
        Self { file, history: Some(history), what: What::At(error) }
    }

    /// The fault of a history that a model does not fit. It names the line to blame if there is one; otherwise it says
    /// which models would fit.
    pub(crate) fn of_misfit(input: &Input, misfit: &Misfit) -> Self {
        let what = match diagnostic::of_misfit(&input.history, input.format, misfit) {
            Some(place) => What::At(place),
            None => What::Whole {
                label: input.label(),
                line: None,
                message: misfit.cause.to_string(),
                advice: misfit.advice.clone(),
            },
        };
        Self { file: Arc::clone(&input.file), history: Some(input.number), what }
    }

    /// The file.
    pub(crate) fn file(&self) -> &str {
        &self.file
    }

    /// The line, if the fault is in one.
    pub(crate) fn line(&self) -> Option<u64> {
        match &self.what {
            What::At(error) => Some(u64::from(error.line)).filter(|&line| line > 0),
            What::Whole { line, .. } => *line,
        }
    }

    /// What is wrong.
    pub(crate) fn message(&self) -> &str {
        match &self.what {
            What::At(error) => &error.message,
            What::Whole { message, .. } => message,
        }
    }

    /// The fault as text, with a newline at its end.
    pub(crate) fn text(&self, palette: Palette) -> String {
        match &self.what {
            What::At(error) => diagnostic::render(&self.file, error, palette),
            What::Whole { label, message, advice, .. } => {
                let advice = advice.as_ref().map(|advice| format!("  {}\n", visible(advice))).unwrap_or_default();
                format!("{}: {}\n{advice}", visible(label), visible(message))
            }
        }
    }

    /// The fault as a line of `--json`.
    pub(crate) fn json(&self) -> String {
        let mut error = Map::new();
        let mut put = |name: &str, value: Value| error.insert(name.to_owned(), value);
        match &self.what {
            What::At(place) => {
                put("line", json!(place.line));
                put("column", json!(place.column));
                put("text", json!(place.text));
                put("message", json!(place.message));
                place.expected.as_ref().map(|expected| put("expected", json!(expected)));
            }
            What::Whole { line, message, advice, .. } => {
                line.map(|line| put("line", json!(line)));
                put("message", json!(message));
                advice.as_ref().map(|advice| put("expected", json!(advice)));
            }
        }
        let mut line = json!({"file": &*self.file, "error": error});
        if let Some(history) = self.history {
            line["history"] = json!(history);
        }
        json::line(&line)
    }
}
