//! A story in words, for the terminal: its heading, its parts with what they suppose, and its hints.
//!
//! [`explain`] makes a [table](table) of each part, as `check` prints it: the operations of a chain below each other,
//! each with the reason why it comes after the one above. [`tell`] makes a [tree](tree), as `explain` prints it: the
//! edges as sentences, and below each edge those that it follows from. Both say only what the story says.

mod table;
mod tree;

use history::History;
use model::{Evidence, Model, Verdict};

use crate::lanes::canvas::width;
use crate::story::{Contradiction, Story};
use crate::text::{Line, Style};

pub use tree::{Depth, tell};

/// Says why a history violates a model, in lines without a newline. The evidence is that of a violation.
///
/// ```text
/// stale read: line 4 [1] r x 0 returns the initial value of x, which line 1 [0] w x 1 had overwritten:
///   line 1  [0] w x 1
///   line 2  [0] w y 1  later in thread 0
///   line 3  [1] r y 1  reads from line 2
///   line 4  [1] r x 0  later in thread 1
/// ```
pub fn explain(history: &History, model: Model, evidence: &Evidence) -> Vec<Line> {
    words(&Story::new(history, model, Verdict::Violation, evidence))
}

/// The same of a story.
pub(crate) fn words(story: &Story) -> Vec<Line> {
    table::tell(story)
}

/// The parts of a story, numbered if there are several, each with a title above it. `most` is how many are told besides
/// the last, and `more` says where the others are.
struct Tale<'a> {
    story: &'a Story,
    width: usize,
    most: usize,
    more: &'static str,
}

impl Tale<'_> {
    /// `part` makes the lines below the title of a part, indented by so many columns.
    fn lines(&self, mut part: impl FnMut(&Contradiction, usize) -> Vec<Line>) -> Vec<Line> {
        let parts = &self.story.parts;
        let mut lines = Vec::new();
        if parts.len() > 1 {
            lines.extend(wrap(&self.story.heading, self.width, 2));
        }
        for (at, told) in parts.iter().enumerate() {
            let is_last = at + 1 == parts.len();
            if at >= self.most && !is_last {
                if at == self.most {
                    let more = format!("... {} more{}", parts.len() - self.most - 1, self.more);
                    lines.push(Line::default().with(Style::Reason, more));
                }
                continue;
            }
            lines.extend(self.title(at, told, parts.len() > 1));
            lines.extend(part(told, if parts.len() == 1 { 2 } else { 4 }));
        }
        for hint in &self.story.hints {
            lines.extend(wrap(hint, self.width, 2));
        }
        lines
    }

    fn title(&self, at: usize, part: &Contradiction, is_numbered: bool) -> Vec<Line> {
        let mut line = Line::default();
        if is_numbered {
            line = line.with(Style::Heading, format!("[{}] ", at + 1));
        }
        for (at, supposed) in part.supposes.iter().enumerate() {
            line = line.plain(if at == 0 { "suppose that " } else { ", and that " }).append(supposed.clone());
        }
        if !part.supposes.is_empty() {
            line = line.plain("; ");
        }
        line = line.append(part.title.clone());
        if !part.uses.is_empty() {
            let mut parts: Vec<String> = part.uses.iter().take(USED).map(|part| format!("[{}]", part + 1)).collect();
            if part.uses.len() > USED {
                parts.push(format!("{} more", part.uses.len() - USED));
            }
            line = line.plain(format!(", by {}", parts.join(", ")));
        }
        wrap(&line, self.width, if is_numbered { 4 } else { 2 })
    }
}

/// How many earlier parts a title names at most.
const USED: usize = 8;

/// The line in pieces of at most `most` columns. All but the first are indented.
pub fn wrap(line: &Line, most: usize, indent: usize) -> Vec<Line> {
    wrap_after(line, most, &Line::indented(indent))
}

fn wrap_after(line: &Line, most: usize, hanging: &Line) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut current = Line::default();
    let mut taken = 0;
    // A line can be broken where a blank was.
    let mut may_break = false;
    for span in &line.spans {
        // The place of an operation is one word.
        let words =
            if span.style == Style::Place { vec![&*span.text] } else { span.text.split_inclusive(' ').collect() };
        for word in words {
            // A comma may follow without a blank.
            let room = if word.ends_with(' ') { most } else { most - 1 };
            if may_break && taken + width(word.trim_end()) > room {
                if let Some(last) = current.spans.last_mut() {
                    last.text.truncate(last.text.trim_end().len());
                }
                lines.push(std::mem::replace(&mut current, hanging.clone()));
                taken = hanging.spans.iter().map(|span| width(&span.text)).sum();
            }
            may_break = word.ends_with(' ');
            taken += width(word);
            match current.spans.last_mut() {
                Some(last) if last.style == span.style && last.operation == span.operation => last.text.push_str(word),
                _ => current.spans.push(crate::Span { text: word.to_owned(), ..span.clone() }),
            }
        }
    }
    lines.push(current);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_wrapped_at_blanks() {
        let line = Line::default().with(Style::Heading, "stale read: ").plain("line 6 returns the initial value");
        let told: Vec<String> = wrap(&line, 24, 2).iter().map(Line::to_string).collect();
        assert_eq!(told, ["stale read: line 6", "  returns the initial", "  value"]);
        assert_eq!(wrap(&line, 80, 2), [line]);
    }
}
