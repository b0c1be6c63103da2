//! Tells a witness in short, for the terminal: the steps of its orders, and what each changes. Of long orders, the
//! beginning and the end are shown.

use history::History;

use crate::lanes::canvas::{cut, width};
use crate::story::{CellKind, Story, Witness};
use crate::tale::wrap;
use crate::text::{self, Line, Style};

/// How many steps of an order are shown. Of a longer one, the beginning and the end.
const STEPS: usize = 16;
/// How many orders are shown.
const RUNS: usize = 4;
/// How many chosen sources are shown.
const CHOICES: usize = 8;

/// The witness of a consistent history in lines of at most `most` columns. None if the story is about a violation.
pub fn witness(history: &History, story: &Story, most: usize) -> Vec<Line> {
    let Some(witness) = &story.witness else { return Vec::new() };
    let history = &*history.observed();
    let most = most.max(40);
    let mut lines = wrap(&witness.note, most, 2);
    for choice in witness.choices.iter().take(CHOICES) {
        lines.extend(wrap(&Line::indented(2).append(choice.clone()), most, 4));
    }
    let more = |count: usize, what: &str| Line::indented(2).with(Style::Reason, format!("... {count} more {what}"));
    if witness.choices.len() > CHOICES {
        lines.push(more(witness.choices.len() - CHOICES, "sources"));
    }
    for run in witness.runs.iter().take(RUNS) {
        if !run.name.is_empty() {
            lines.push(Line::indented(2).with(Style::Heading, format!("{}:", run.name)));
        }
        let mut cells: Vec<Vec<u32>> = witness.cells.iter().map(|cell| cell.start.clone()).collect();
        let count = run.steps.len();
        let is_shown = |at: usize| count <= STEPS || at < STEPS / 2 || at + STEPS / 2 >= count;
        let shown = || run.steps.iter().enumerate().filter(|&(at, _)| is_shown(at)).map(|(_, step)| step.operation);
        let places = shown().map(|id| width(&history.place(id))).max().unwrap_or(0);
        let texts = shown().map(|id| width(&text::operation(history, id))).max().unwrap_or(0).min(most / 2);
        for (at, step) in run.steps.iter().enumerate() {
            for &(cell, change) in &step.changes {
                change.apply(&mut cells[cell as usize]);
            }
            if !is_shown(at) {
                if at == STEPS / 2 {
                    lines.push(more(count - STEPS, "steps"));
                }
                continue;
            }
            let text = cut(&text::operation(history, step.operation), texts);
            let place = history.place(step.operation);
            let blanks = " ".repeat(texts - width(&text) + 2);
            let action = match step.action {
                "buffer" => "enters the buffer; ",
                "reach" => "reaches memory; ",
                _ => "",
            };
            let held: Vec<String> =
                step.changes.iter().map(|&(cell, _)| held(witness, &cells, cell as usize)).collect();
            let begin = 2 + places + 2 + texts + 2;
            // Where there is no room, the steps alone are shown.
            let room = most.saturating_sub(begin);
            let effect = if room < 8 { String::new() } else { cut(&format!("{action}{}", held.join("; ")), room) };
            lines.push(
                Line::indented(2)
                    .place(step.operation, format!("{place:places$}"))
                    .plain("  ")
                    .with(Style::Operation, text)
                    .plain(if effect.is_empty() { "" } else { &blanks })
                    .with(Style::Reason, effect.trim_end_matches("; ")),
            );
        }
    }
    if witness.runs.len() > RUNS {
        lines.push(more(witness.runs.len() - RUNS, "orders"));
    }
    lines
}

/// What a cell holds: `x = 1`, `queue: 1, 2`.
fn held(witness: &Witness, cells: &[Vec<u32>], at: usize) -> String {
    let cell = &witness.cells[at];
    let texts: Vec<&str> = cells[at].iter().map(|&text| witness.texts[text as usize].as_str()).collect();
    let name = |other: &str| if cell.name.is_empty() { other.to_owned() } else { cell.name.clone() };
    match cell.kind {
        CellKind::Single => format!("{} = {}", name("it"), texts.concat()),
        CellKind::Text => format!("{} = `{}`", name("it"), texts.concat()),
        CellKind::Buffer if texts.is_empty() => format!("buffer of {} is empty", cell.name),
        CellKind::Buffer => format!("buffer of {}: {}", cell.name, texts.join(", ")),
        CellKind::Queue | CellKind::Stack if texts.is_empty() => format!("{} is empty", name("it")),
        CellKind::Queue => format!("{}: {}", name("queue"), texts.join(", ")),
        CellKind::Stack => format!("{}: {}", name("stack"), texts.join(", ")),
        CellKind::Bag => format!("{}: {{{}}}", name("it"), texts.join(", ")),
    }
}
