//! The lines of `--json`. docs/json.md documents their fields.

use std::fmt::Write as _;

use format::render_operation;
use history::{History, is_visible};
use model::{Evidence, Model};
use serde::Serialize;

/// The version of the fields. It changes when a field changes its meaning or goes away, not when a field is added.
const SCHEMA: u32 = 1;

/// An object with at least one field, as a line with its newline. The line says which schema it follows.
pub(crate) fn line(object: &impl Serialize) -> String {
    line_with(object, None)
}

/// The same line, with a certificate as its last field. The certificate is JSON already.
pub(crate) fn line_with(object: &impl Serialize, certificate: Option<&str>) -> String {
    let fields = serde_json::to_string(object).expect("strings, numbers and lists of them are JSON");
    let fields = fields.strip_prefix('{').unwrap_or(&fields);
    let mut line = format!("{{\"schema\":{SCHEMA},{fields}");
    if let Some(certificate) = certificate {
        line.pop();
        let _ = write!(line, ",\"certificate\":{certificate}}}");
    }
    let mut line = escaped(line);
    line.push('\n');
    line
}

/// Escapes control characters above 127 and marks of direction. JSON allows them unescaped in strings, but a terminal
/// would obey them. They occur in JSON only within strings.
fn escaped(json: String) -> String {
    if json.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
        return json;
    }
    let mut text = String::with_capacity(json.len() + 16);
    for character in json.chars() {
        if is_visible(character) {
            text.push(character);
        } else {
            for unit in character.encode_utf16(&mut [0; 2]) {
                let _ = write!(text, "\\u{unit:04x}");
            }
        }
    }
    text
}

/// A line of an explanation.
#[derive(Serialize)]
pub(crate) struct ExplanationLine {
    text: String,
    /// The operations that the line mentions, from left to right.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    operations: Vec<Mentioned>,
}

/// An operation of the history.
#[derive(Serialize)]
struct Mentioned {
    /// Its number in the history, from 0.
    operation: u32,
    /// Its line in the file; none for the read of a final value.
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
    thread: String,
    text: String,
}

/// Why a history violates a model.
pub(crate) fn explanation(history: &History, model: Model, evidence: &Evidence) -> Vec<ExplanationLine> {
    let observed = &*history.observed();
    let operation = |id: history::OperationId| {
        let operation = observed.operation(id);
        Mentioned {
            operation: id.0,
            line: (!operation.is_at_the_end() && operation.line > 0).then_some(operation.line),
            thread: observed.process_name(operation.process),
            text: render_operation(observed, id),
        }
    };
    let lines = report::explain(history, model, evidence).into_iter();
    lines
        .map(|line| ExplanationLine {
            text: line.to_string(),
            operations: line.operations().into_iter().map(operation).collect(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn what_does_not_show_is_escaped_and_means_the_same() {
        let object = json!({"file": "a\u{1b}\u{9b}\u{202e}\u{e0041}\n\"é"});
        let line = line_with(&object, Some("{\"x\":\"\u{2066}\"}"));
        assert!(line.trim_end().chars().all(is_visible) && line.contains('é') && line.starts_with("{\"schema\":1,"));
        let read: Value = serde_json::from_str(&line).unwrap();
        assert_eq!((&read["file"], &read["schema"]), (&object["file"], &json!(1)));
        assert_eq!(read["certificate"]["x"], "\u{2066}");
    }
}
