//! A part as a tree: the circle edge by edge, each derived edge with its premises below it, as deep as wanted.

use std::collections::BTreeSet;

use super::{Tale, wrap, wrap_after};
use crate::story::{Contradiction, Story};
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
    let more = "; `--depth all` shows them";
    let tell = |levels, most, edges| {
        let tree = Tree { levels, edges, width };
        Tale { story, width, most, more }.lines(|part, indent| tree.lines(part, indent))
    };
    match depth {
        Depth::All => tell(usize::MAX, usize::MAX, usize::MAX),
        Depth::Levels(levels) => tell(levels, PARTS, EDGES),
        Depth::Fitting => {
            let mut best = tell(1, PARTS, EDGES);
            for levels in 2.. {
                let next = tell(levels, PARTS, EDGES);
                if next.len() > SCREEN || next.len() == best.len() {
                    break;
                }
                best = next;
            }
            best
        }
    }
}

struct Tree {
    levels: usize,
    /// How many edges of a circle or a core are told at most.
    edges: usize,
    width: usize,
}

impl Tree {
    fn lines(&self, part: &Contradiction, indent: usize) -> Vec<Line> {
        let mut lines = Vec::new();
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
        let is_cut = top.len() > self.edges;
        let mut at_top = 0;
        while let Some((at, level, first, rest)) = left.pop() {
            at_top += usize::from(level == 0);
            if level == 0 && is_cut && (self.edges / 2 + 1..=top.len() - self.edges / 2).contains(&at_top) {
                if at_top == self.edges / 2 + 1 {
                    let more = format!("... {} more; `--depth all` shows them", top.len() - self.edges);
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
        lines
    }
}
