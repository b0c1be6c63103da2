//! A part as tables.
//!
//! A chain of operations is a table; each row gives the reason why it comes after the row above. An edge whose reason
//! takes a sentence has a number: `by (2)`. The sentences stand below, in the order in which the numbers are first
//! mentioned, each with a table of what it follows from. What is too long is cut, and said to be.

use super::Tale;
use crate::lanes::canvas::width;
use crate::story::{Contradiction, EdgeKind, Story, StoryEdge};
use crate::text::{Line, Style};

/// How many rows a table shows at most. A longer one is cut in the middle.
const ROWS: usize = 40;
/// How many numbered edges are told at most.
const STEPS: usize = 24;
/// How many parts are told at most, besides the last.
const PARTS: usize = 8;
/// How many operations of an object are shown at most that are ordered only by time.
const OPERATIONS: usize = 16;
/// How many lines tell at most what an object contains.
const CONTENTS: usize = 8;

/// The tables of a violation.
pub(super) fn tell(story: &Story) -> Vec<Line> {
    let more = ", which the certificate holds";
    Tale { story, width: usize::MAX, most: PARTS, more }.lines(|part, indent| Tables { story, part, indent }.lines())
}

struct Tables<'a> {
    story: &'a Story,
    part: &'a Contradiction,
    indent: usize,
}

/// One row: a node, its text, and why it comes after the row above.
struct Row {
    node: usize,
    text: String,
    reason: String,
}

impl<'a> Tables<'a> {
    fn lines(&self) -> Vec<Line> {
        let has = |is: fn(EdgeKind) -> bool| self.part.edges.iter().any(|edge| is(edge.kind));
        if has(EdgeKind::is_of_transactions) {
            self.transactions()
        } else if has(EdgeKind::is_of_objects) || !self.part.contents.is_empty() {
            self.object()
        } else if !self.part.chain.is_empty() {
            self.table(&self.chain(&self.part.chain, |edge| self.edge(edge).reason.clone()), self.indent)
        } else if self.part.title.to_string().ends_with(':') {
            self.circle()
        } else {
            // The title has told all.
            Vec::new()
        }
    }

    fn edge(&self, number: usize) -> &'a StoryEdge {
        &self.part.edges[number]
    }

    /// The rows of edges that follow each other.
    fn chain(&self, edges: &[usize], mut reason: impl FnMut(usize) -> String) -> Vec<Row> {
        let first = edges.first().map(|&edge| self.row(self.edge(edge).from, String::new()));
        let rows = edges.iter().map(|&edge| self.row(self.edge(edge).to, reason(edge)));
        first.into_iter().chain(rows).collect()
    }

    /// The circle, and below it the sentences of the edges that need one.
    fn circle(&self) -> Vec<Line> {
        let mut numbered: Vec<usize> = Vec::new();
        let by = |edge: usize, numbered: &mut Vec<usize>| match &self.edge(edge).reason {
            reason if reason.is_empty() => format!("by ({})", number(edge, numbered)),
            reason => reason.clone(),
        };
        let mut lines = self.table(&self.chain(&self.part.circle, |edge| by(edge, &mut numbered)), self.indent);
        let mut told = 0;
        while let Some(&at) = numbered.get(told).filter(|_| told < STEPS) {
            told += 1;
            let edge = self.edge(at);
            let line = Line::indented(self.indent).with(Style::Reason, format!("({told})")).plain(" ");
            let line = line.append(edge.sentence.clone());
            if edge.kind == EdgeKind::Refuted {
                let given = edge.premises.iter().filter(|&&premise| self.edge(premise).reason.is_empty());
                let given: Vec<String> = given.map(|&edge| format!("({})", number(edge, &mut numbered))).collect();
                lines.push(if given.is_empty() { line } else { line.plain(format!(" with {}", given.join(" and "))) });
                continue;
            }
            lines.push(line);
            for path in self.paths(&edge.premises) {
                lines.extend(self.table(&self.chain(path, |edge| by(edge, &mut numbered)), self.indent + 4));
            }
        }
        if numbered.len() > STEPS {
            lines.push(Line::indented(self.indent).plain("... and further steps, which the certificate holds"));
        }
        lines
    }

    /// The premises that follow each other, but for single edges that the sentence has told.
    fn paths<'b>(&self, premises: &'b [usize]) -> impl Iterator<Item = &'b [usize]> {
        let paths = premises.chunk_by(|&one, &other| self.edge(one).to == self.edge(other).from);
        paths.filter(|path| match path {
            [only] => !self.edge(*only).kind.is_basic() || self.edge(*only).kind == EdgeKind::Supposed,
            _ => true,
        })
    }

    /// The operations of an object in the order in which they were called, each with what came before it; and what the
    /// object would have to contain.
    fn object(&self) -> Vec<Line> {
        let Contradiction { edges, core, contents, .. } = self.part;
        let mut nodes: Vec<usize> = edges.iter().flat_map(|edge| [edge.from, edge.to]).chain(core.clone()).collect();
        nodes.sort_unstable();
        nodes.dedup();
        let node = |number: usize| &self.story.nodes[number];
        // Of many operations in the order of time alone, those are shown after whose return none was called.
        let is_in_time = edges.iter().all(|edge| edge.kind == EdgeKind::RealTime);
        if is_in_time && nodes.len() > OPERATIONS {
            nodes.retain(|&node| !edges.iter().any(|edge| edge.from == node));
        }
        // An operation by itself stands in the title.
        let rows = nodes.iter().filter(|_| nodes.len() > 1).map(|&to| {
            let into = |kind: EdgeKind| edges.iter().filter(move |edge| edge.to == to && edge.kind == kind);
            // What returned before another did is before that, too.
            let last = into(EdgeKind::RealTime).max_by_key(|edge| node(edge.from).ret);
            let reasons =
                into(EdgeKind::Initial).chain(into(EdgeKind::Value)).chain(last).map(|edge| edge.reason.as_str());
            self.row(to, reasons.collect::<Vec<_>>().join("; "))
        });
        let mut lines = self.table(&rows.collect::<Vec<_>>(), self.indent);
        let contents = contents.iter().take(CONTENTS).cloned();
        lines.extend(contents.map(|line| Line::indented(self.indent).with(Style::Reason, "• ").append(line)));
        lines
    }

    /// The transactions with their operations, and the edges between them as sentences; below, what derived edges
    /// follow from. Each is told once, and only if something above uses it.
    fn transactions(&self) -> Vec<Line> {
        let is_premise = |number: &usize| self.part.edges.iter().any(|edge| edge.premises.contains(number));
        let mut told: Vec<usize> = match &self.part.circle[..] {
            [] => (0..self.part.edges.len()).filter(|number| !is_premise(number)).collect(),
            circle => circle.to_vec(),
        };
        let indented = |by: usize, line: &Line| Line::indented(self.indent + by).append(line.clone());
        let mut sentences: Vec<Line> = told.iter().map(|&edge| indented(0, &self.edge(edge).sentence)).collect();
        let (mut at, mut steps) = (0, 0);
        while let Some(&number) = told.get(at) {
            at += 1;
            let StoryEdge { from, to, premises, .. } = self.edge(number);
            // The sentence has told what is read, and the initial state needs no words.
            let is_read = |edge: &StoryEdge| edge.kind == EdgeKind::WriteRead && (edge.to == *from || edge.from == *to);
            let is_open = |&&premise: &&usize| {
                let edge = self.edge(premise);
                self.story.nodes[edge.from].thread.is_some() && !is_read(edge)
            };
            let premises: Vec<usize> = premises.iter().filter(is_open).copied().collect();
            if premises.is_empty() {
                continue;
            }
            steps += 1;
            if steps > STEPS {
                sentences.push(Line::indented(self.indent).plain("further steps are in the certificate"));
                break;
            }
            let [from, to] = [from, to].map(|&node| self.name(node));
            sentences.push(Line::indented(self.indent).plain(format!("where {from} < {to} follows from:")));
            for premise in premises {
                sentences.push(indented(2, &self.edge(premise).sentence));
                if !told.contains(&premise) {
                    told.push(premise);
                }
            }
        }
        let ends = told.iter().flat_map(|&edge| [self.edge(edge).from, self.edge(edge).to]);
        let mut nodes: Vec<usize> = ends.chain(self.part.core.iter().copied()).collect();
        nodes.sort_unstable();
        nodes.dedup();
        let rows = nodes.into_iter().filter_map(|node| {
            let thread = &self.story.threads[self.story.nodes[node].thread?];
            Some(Row { node, text: format!("[{thread}] {}", self.story.nodes[node].action), reason: String::new() })
        });
        let mut lines = self.table(&rows.collect::<Vec<_>>(), self.indent);
        lines.extend(sentences);
        lines
    }

    /// `T3`, or `the initial state`. The place of a transaction begins with its name.
    fn name(&self, node: usize) -> &str {
        let node = &self.story.nodes[node];
        node.place.split(',').next().filter(|name| !name.is_empty()).unwrap_or(&node.text)
    }

    fn row(&self, node: usize, reason: String) -> Row {
        Row { node, text: self.story.nodes[node].text.clone(), reason }
    }

    fn table(&self, rows: &[Row], indent: usize) -> Vec<Line> {
        let place = |row: &Row| self.story.nodes[row.node].place.as_str();
        let is_cut = |at: usize| rows.len() > ROWS && (ROWS / 2..rows.len() - ROWS / 2).contains(&at);
        let shown = || (0..rows.len()).filter(|&at| !is_cut(at)).map(|at| &rows[at]);
        let places = shown().map(|row| width(place(row))).max().unwrap_or(0);
        let texts = shown().filter(|row| !row.reason.is_empty()).map(|row| width(&row.text)).max().unwrap_or(0);
        let mut lines = Vec::with_capacity(rows.len().min(ROWS + 1));
        for (at, row) in rows.iter().enumerate() {
            if is_cut(at) {
                if at == ROWS / 2 {
                    lines.push(Line::indented(indent).plain(format!("... {} more ...", rows.len() - ROWS)));
                }
                continue;
            }
            let padded = format!("{}{}", place(row), " ".repeat(places - width(place(row)) + 2));
            let line = Line::indented(indent);
            let line = match self.story.nodes[row.node].operations[..] {
                [id] => line.place(id, padded),
                _ => line.with(Style::Place, padded),
            };
            let line = line.with(Style::Operation, &row.text);
            let blanks = (texts + 2).saturating_sub(width(&row.text));
            lines.push(match &row.reason {
                reason if reason.is_empty() => line,
                reason => line.plain(" ".repeat(blanks)).with(Style::Reason, reason),
            });
        }
        lines
    }
}

/// The number of an edge, from one on, in the order in which they are first mentioned.
fn number(edge: usize, numbered: &mut Vec<usize>) -> usize {
    let at = numbered.iter().position(|&other| other == edge).unwrap_or_else(|| {
        numbered.push(edge);
        numbered.len() - 1
    });
    at + 1
}
