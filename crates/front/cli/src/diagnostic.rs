//! How bad input is shown: `FILE:LINE:COLUMN: what is wrong`, what was expected, and the bad line with a caret.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use format::{Format, InputError, render_operation};
use history::execution::ViewError;
use history::performed::NotPerformed;
use history::{History, OperationId, is_visible, visible};
use object::ObjectError;
use seriatim::transaction::ResolveError;
use seriatim::{Cause, Misfit};

use crate::output::Palette;

/// How many characters of a line are shown.
const WIDTH: usize = 100;
/// How many characters are shown before the caret, if the line is too long to be shown as a whole.
const BEFORE: usize = 60;

/// The diagnostic, with a newline at its end.
pub(crate) fn render(file: &str, error: &InputError, palette: Palette) -> String {
    let place = match error.line {
        0 => format!("{}:", visible(file)),
        line => format!("{}:{line}:{}:", visible(file), error.column),
    };
    let mut text = format!("{} {}\n", palette.paint(Style::new().bold(), place), visible(&error.message));
    if let Some(expected) = &error.expected {
        let _ = writeln!(text, "  expected {}", visible(expected));
    }
    if !error.text.is_empty() {
        let column = (error.column as usize).saturating_sub(1);
        let length = error.text.chars().count();
        let column = column.min(length);
        let start = if column > BEFORE && length > WIDTH { column - BEFORE } else { 0 };
        let shown: String = error.text.chars().skip(start).take(WIDTH).map(in_one_column).collect();
        let number = error.line.to_string();
        let caret = palette.paint(AnsiColor::Red.on_default().bold(), "^");
        let margin = " ".repeat(number.len());
        let _ = writeln!(text, "  {number} | {shown}\n  {margin} | {}{caret}", " ".repeat(column - start));
    }
    text
}

/// A character as it is shown: each takes one column, so that the caret stands below the right one.
fn in_one_column(character: char) -> char {
    match character {
        '\t' => ' ',
        c if is_visible(c) => c,
        _ => char::REPLACEMENT_CHARACTER,
    }
}

/// Why a model does not fit a history, as bad input; none if no operation is to blame.
pub(crate) fn of_misfit(history: &History, format: Option<Format>, misfit: &Misfit) -> Option<InputError> {
    match &misfit.cause {
        Cause::NotAnExecution(error) => of_view(history, format, error),
        Cause::NoCalls(error) => of_object(history, error),
        Cause::NotPerformed(error) => of_performed(history, *error),
        Cause::NotTransactions(error) => of_transactions(history, error),
        Cause::SequentialAccess { operation, error } => {
            let expected = "another memory order, or a model with sequentially consistent accesses, such as sc";
            Some(of_operation(history, *operation, error.to_string(), expected))
        }
        _ => None,
    }
}

/// Why a history is not a memory execution, as bad input.
fn of_view(history: &History, format: Option<Format>, error: &ViewError) -> Option<InputError> {
    let history = &*history.observed();
    let mut blamed = error.operation()?;
    let name = |write: Option<OperationId>| match write {
        None => "the initial value".to_owned(),
        Some(id) => format!("line {} `{}`", history.operation(id).line, render_operation(history, id)),
    };
    let once = "each value to be written once to a location";
    let or_source = |fields: &str| format!("{once}, or the source of the read ({fields})");
    let (message, expected) = match error {
        ViewError::Ambiguous { read, writes: [first, second] } if history.operation(*read).is_at_the_end() => {
            // The read of a final value stands on no line, so the write is shown.
            blamed = second.or(*first)?;
            let key = history.key_name(history.operation(*read).key);
            (
                format!("the final value of {key} may be from {} or from {}", name(*first), name(*second)),
                once.to_owned(),
            )
        }
        ViewError::Ambiguous { writes: [first, second], .. } => (
            format!("reads-from is ambiguous: this read may be from {} or from {}", name(*first), name(*second)),
            match format {
                None | Some(Format::Text) => or_source("id= and from="),
                Some(Format::JsonLines) => or_source("the fields `id` and `from`"),
                Some(Format::Edn) => or_source("the fields `:id` and `:from`"),
                Some(Format::Parquet | Format::Arrow) => or_source("the columns `id` and `from`"),
                Some(_) => once.to_owned(),
            },
        ),
        ViewError::Unsettled(_) => (error.to_string(), "no final value, or a write that returned".to_owned()),
        ViewError::Source { write, .. } => {
            (format!("{error}: {}", name(*write)), "a write of the same value to the same location".to_owned())
        }
        _ => return None,
    };
    Some(of_operation(history, blamed, message, &expected))
}

/// Why the sources of the reads of transactions are not known, as bad input; none if no operation is to blame.
fn of_transactions(history: &History, error: &ResolveError) -> Option<InputError> {
    let name = |write: Option<OperationId>| match write {
        None => "the initial value".to_owned(),
        Some(id) => format!("{} `{}`", history.place(id), render_operation(history, id)),
    };
    let (message, expected) = match error {
        ResolveError::Ambiguous { writes: [first, second], .. } => (
            format!("reads-from is ambiguous: this read may be from {} or from {}", name(*first), name(*second)),
            "each value to be written once to a key, or the source of the read (id= and from=)",
        ),
        ResolveError::Source { write, .. } => {
            (format!("{error}: {}", name(*write)), "a write of the same value to the same key")
        }
        ResolveError::AppendedTwice { first, .. } => {
            (format!("{error}: {}", name(Some(*first))), "each element to be appended once to a list")
        }
        _ => (error.to_string(), "a history of transactions"),
    };
    Some(of_operation(history, error.operation()?, message, expected))
}

/// What is wrong with an operation, as bad input.
fn of_operation(history: &History, id: OperationId, message: String, expected: &str) -> InputError {
    InputError {
        line: history.operation(id).line,
        column: 1,
        text: render_operation(history, id),
        message,
        expected: Some(expected.to_owned()),
    }
}

/// Why a history is not one of an object, as bad input; none if no operation is to blame.
fn of_object(history: &History, error: &ObjectError) -> Option<InputError> {
    let id = error.operation()?;
    Some(InputError {
        line: history.operation(id).line,
        column: 1,
        text: render_operation(history, id),
        message: error.to_string(),
        expected: Some("another value".to_owned()),
    })
}

/// Why a history does not say in which order its operations were performed, as bad input; none if no operation is to
/// blame.
fn of_performed(history: &History, error: NotPerformed) -> Option<InputError> {
    let expected = match error {
        NotPerformed::Twice(_) => "an index of its own for each operation of a thread, below 2^64 - 1",
        _ => "one line for each operation, where it was performed",
    };
    error.operation().map(|id| of_operation(history, id, error.to_string(), expected))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(column: u32, text: &str) -> InputError {
        InputError {
            line: 12,
            column,
            text: text.to_owned(),
            message: "no".to_owned(),
            expected: Some("yes".to_owned()),
        }
    }

    #[test]
    fn the_caret_stands_under_the_column() {
        let shown = render("f", &error(5, "[0] q x"), Palette::none());
        assert_eq!(shown, "f:12:5: no\n  expected yes\n  12 | [0] q x\n     |     ^\n");
    }

    #[test]
    fn junk_and_long_lines_do_no_harm() {
        let shown = render("f", &error(2, "\u{1b}[31m\tx"), Palette::none());
        assert!(!shown.contains('\u{1b}') && shown.contains("\u{fffd}[31m x"));
        let shown = render("f", &error(200, &"é".repeat(240)), Palette::none());
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(lines[2].chars().count(), "  12 | ".len() + WIDTH);
        assert_eq!(lines[3].chars().count(), "  12 | ".len() + BEFORE + 1);
        let beyond = render("f", &error(u32::MAX, "short"), Palette::none());
        assert!(beyond.ends_with("|      ^\n"));
    }
}
