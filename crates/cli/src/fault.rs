//! What cannot be judged, as text and as a line of `--json`: bad input, a file that cannot be read, a history that a
//! model does not fit.

use std::sync::Arc;

use certificate::Model;
use history::format::InputError;
use history::{History, visible};
use object::ObjectError;
use serde_json::{Map, Value, json};
use seriatim::{Cause, Misfit};

use crate::input::Input;
use crate::output::Palette;
use crate::{diagnostic, json};

/// See the module.
pub(crate) struct Fault {
    file: Arc<str>,
    /// The number of the history in the file; none if the whole file is at fault.
    history: Option<u32>,
    what: What,
}

enum What {
    /// At a place in the file.
    At(InputError),
    /// Of a history or a file as a whole, by this name.
    Whole { label: String, line: Option<u64>, message: String, advice: Option<String> },
}

impl Fault {
    /// Of a whole file.
    pub(crate) fn of_file(file: Arc<str>, message: String) -> Self {
        let label = file.to_string();
        Self { file, history: None, what: What::Whole { label, line: None, message, advice: None } }
    }

    /// Of this line of the file, which is not shown.
    pub(crate) fn in_line(mut self, number: u64) -> Self {
        if let What::Whole { label, line, .. } = &mut self.what {
            *label = format!("{}:{number}", self.file);
            *line = Some(number);
        }
        self
    }

    /// Of a line of a history.
    pub(crate) fn of_line(file: Arc<str>, history: u32, error: InputError) -> Self {
        Self { file, history: Some(history), what: What::At(error) }
    }

    /// Of a history that a model does not fit: of one of its lines, if there is one to blame; else with what would fit.
    pub(crate) fn of_misfit(input: &Input, misfit: &Misfit) -> Self {
        let what = match diagnostic::of_misfit(&input.history, input.format, misfit) {
            Some(place) => What::At(place),
            None => What::Whole {
                label: input.label(),
                line: None,
                message: misfit.cause.to_string(),
                advice: advice(&input.history, misfit),
            },
        };
        Self { file: Arc::clone(&input.file), history: Some(input.number), what }
    }

    /// As it is shown, with a newline at its end.
    pub(crate) fn text(&self, palette: Palette) -> String {
        match &self.what {
            What::At(error) => diagnostic::render(&self.file, error, palette),
            What::Whole { label, message, advice, .. } => {
                let advice = advice.as_ref().map(|advice| format!("  {}\n", visible(advice))).unwrap_or_default();
                format!("{}: {}\n{advice}", visible(label), visible(message))
            }
        }
    }

    /// As a line of `--json`.
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

/// What would fit instead of a model.
fn advice(history: &History, misfit: &Misfit) -> Option<String> {
    let memory_models = || Model::ALL.map(Model::name).join(", ");
    let object = history.object.name();
    let nothing = "nothing that this version decides fits";
    match &misfit.cause {
        Cause::NotAnExecution(_) => {
            let fitting = misfit.fitting.first().map_or(nothing.to_owned(), |model| format!("{model} fits"));
            Some(format!("{} fit a memory or a register; {fitting} a {object}", memory_models()))
        }
        Cause::NoCalls(ObjectError::NotBuiltIn(_)) => {
            Some("only a program that has its specification can check it (`object::Sequential`)".to_owned())
        }
        Cause::NoCalls(_) if misfit.fitting.is_empty() => Some(format!("{nothing} a {object} without them")),
        Cause::NoCalls(_) => Some(format!("{} fit a {object} without them", memory_models())),
        _ => None,
    }
}
