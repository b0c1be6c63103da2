//! Explains why no choice of sources satisfies a model: which sources were supposed, and why each fails.

use certificate::{Because, Case, Choice, Model, Node};

use crate::explain;
use crate::text::{Line, Style};
use crate::words::Teller;

/// How many cases are shown at most, besides the last. The others are only in the certificate.
const CASES: usize = 8;
/// How many earlier cases are named at most.
const NAMED: usize = 8;

impl Teller<'_> {
    /// The cases: what each supposes, and what follows.
    pub(crate) fn cases(&self, model: Model, cases: &[Case]) -> Vec<Line> {
        let mut lines =
            vec![Line::default().with(Style::Heading, "no choice of sources explains all reads: ").plain(
                "some values were written twice, and whichever writes the reads are from, a contradiction follows",
            )];
        for (at, case) in cases.iter().enumerate() {
            if at == CASES && cases.len() > CASES + 1 {
                let more = cases.len() - CASES - 1;
                lines.push(Line::indented(2).plain(format!("... and {more} more cases, which the certificate holds")));
            }
            if at >= CASES && at + 1 < cases.len() {
                continue;
            }
            let line = Line::indented(2).with(Style::Reason, format!("[{}]", at + 1)).plain(" ");
            let line = self.supposed(line, &case.choices);
            let joint = if case.choices.is_empty() { "in any case" } else { ", then" };
            match &case.because {
                Because::Violation(evidence) => {
                    lines.push(line.plain(format!("{joint}:")));
                    let inner = explain(self.history, model, evidence).into_iter();
                    lines.extend(inner.map(|line| Line::indented(4).append(line)));
                }
                Because::NoneLeft { read, cases } => {
                    let line = line.plain(format!("{joint} no source is left for "));
                    lines.push(line.append(self.long(Node::Operation(*read))).plain(by(cases)));
                }
            }
        }
        lines
    }

    /// `suppose that line 3 [1] r x 1 reads from line 1 [0] w x 1, and that ...`
    fn supposed(&self, mut line: Line, choices: &[Choice]) -> Line {
        for (at, choice) in choices.iter().enumerate() {
            line = line
                .plain(if at == 0 { "suppose that " } else { ", and that " })
                .append(self.long(Node::Operation(choice.read)))
                .plain(" reads from ")
                .append(self.long(choice.source));
        }
        line
    }
}

/// The earlier cases that take the candidates away.
fn by(cases: &[u32]) -> String {
    if cases.is_empty() {
        return ": its own thread overwrote each, or wrote it later".to_owned();
    }
    let mut names: Vec<String> = cases.iter().take(NAMED).map(|case| format!("[{}]", u64::from(*case) + 1)).collect();
    if cases.len() > NAMED {
        names.push(format!("{} more", cases.len() - NAMED));
    }
    format!(", by {}", names.join(", "))
}
