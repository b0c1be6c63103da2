//! Tells a story in sentences for the terminal: the circle edge by edge, each derived edge with its premises as a tree
//! below it, as deep as wanted.

use std::collections::BTreeSet;

use crate::lanes::canvas::width;
use crate::story::{Part, Story};
use crate::text::{Line, Style};

/// How deep derived edges are told.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default)]
pub enum Depth {
    /// As deep as fits on a screen.
    #[default]
    Fitting,
    /// The premises of premises, so many times. Zero tells only the circle.
    Levels(usize),
    /// Down to what the history itself says.
    All,
}

/// What fits on a screen, in lines.
const SCREEN: usize = 28;
/// How many parts are told at most, besides the last, unless all is wanted.
const PARTS: usize = 6;
/// How many edges of a circle or a core are told at most, unless all is wanted. The middle of more is left out.
const EDGES: usize = 20;
/// The least width of a label, with the room after it.
const LABEL: usize = 6;

/// The sentences of a violation, in at most `width` columns. None if the story is about a consistent history.
pub fn tell(story: &Story, depth: Depth, width: usize) -> Vec<Line> {
    let width = width.max(40);
    let tell = |levels, parts| Tale { story, levels, parts, width }.lines();
    match depth {
        Depth::All => tell(usize::MAX, usize::MAX),
        Depth::Levels(levels) => tell(levels, PARTS),
        Depth::Fitting => {
            let mut best = tell(1, PARTS);
            for levels in 2.. {
                let next = tell(levels, PARTS);
                if next.len() > SCREEN || next.len() == best.len() {
                    break;
                }
                best = next;
            }
            best
        }
    }
}

struct Tale<'a> {
    story: &'a Story,
    levels: usize,
    parts: usize,
    width: usize,
}

impl Tale<'_> {
    fn lines(&self) -> Vec<Line> {
        let parts = &self.story.parts;
        let mut lines = Vec::new();
        if parts.len() != 1 {
            lines.extend(wrap(&self.story.heading, self.width, 2));
        }
        for (at, part) in parts.iter().enumerate() {
            let is_last = at + 1 == parts.len();
            if at >= self.parts && !is_last {
                if at == self.parts {
                    let more = parts.len() - self.parts - 1;
                    lines.push(
                        Line::default().with(Style::Reason, format!("... {more} more; `--depth all` shows them")),
                    );
                }
                continue;
            }
            let indent = if parts.len() == 1 { 0 } else { 2 };
            lines.extend(self.title(at, part, parts.len() > 1));
            self.part(part, indent + 2, &mut lines);
        }
        for hint in &self.story.hints {
            lines.extend(wrap(hint, self.width, 2));
        }
        lines
    }

    fn title(&self, at: usize, part: &Part, is_numbered: bool) -> Vec<Line> {
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
            let parts: Vec<String> = part.uses.iter().map(|part| format!("[{}]", part + 1)).collect();
            line = line.plain(format!(", by {}", parts.join(", ")));
        }
        wrap(&line, self.width, if is_numbered { 4 } else { 2 })
    }

    fn part(&self, part: &Part, indent: usize, lines: &mut Vec<Line>) {
        let premises: BTreeSet<usize> = part.edges.iter().flat_map(|edge| edge.premises.iter().copied()).collect();
        let top: Vec<usize> = if part.circle.is_empty() {
            (0..part.edges.len()).filter(|edge| !premises.contains(edge)).collect()
        } else {
            part.circle.clone()
        };
        let labels = part.edges.iter().map(|edge| edge.label.len() + 2).max().unwrap_or(0).max(LABEL);
        let mut told: BTreeSet<usize> = BTreeSet::new();
        // Edge, level, the frame before it, and the frame before its continuation and its premises.
        let blank = " ".repeat(indent);
        let mut left: Vec<(usize, usize, String, String)> =
            top.iter().rev().map(|&edge| (edge, 0, blank.clone(), blank.clone())).collect();
        let is_cut = top.len() > EDGES && self.parts < usize::MAX;
        let mut at_top = 0;
        while let Some((at, level, first, rest)) = left.pop() {
            at_top += usize::from(level == 0);
            if level == 0 && is_cut && (EDGES / 2 + 1..=top.len() - EDGES / 2).contains(&at_top) {
                if at_top == EDGES / 2 + 1 {
                    let more = format!("... {} more; `--depth all` shows them", top.len() - EDGES);
                    lines.push(Line::indented(indent).with(Style::Reason, more));
                }
                continue;
            }
            let edge = &part.edges[at];
            let is_told = !told.insert(at) && !edge.premises.is_empty();
            let mut line = Line::default().with(Style::Frame, &first);
            line = line.with(Style::Arrow, format!("{:<labels$}", edge.label)).append(edge.sentence.clone());
            if is_told {
                line = line.with(Style::Reason, " (as above)");
            }
            let hanging = Line::default().with(Style::Frame, format!("{rest}{}", " ".repeat(labels)));
            lines.extend(wrap_after(&line, self.width, &hanging));
            if is_told || level >= self.levels {
                continue;
            }
            for (place, &premise) in edge.premises.iter().enumerate().rev() {
                let is_last = place + 1 == edge.premises.len();
                let [branch, trunk] = if is_last { ["└ ", "  "] } else { ["├ ", "│ "] };
                left.push((premise, level + 1, format!("{rest}{branch}"), format!("{rest}{trunk}")));
            }
        }
        for contents in &part.contents {
            let line = Line::indented(indent).with(Style::Reason, "• ").append(contents.clone());
            lines.extend(wrap(&line, self.width, indent + 2));
        }
    }
}

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
