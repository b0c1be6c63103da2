//! Explains violations of the C11 family: which axiom is violated, and by which operations.

use certificate::{Derivation, Edge, Model, Node, Rule, Step};
use history::{KeyId, Method};

use crate::outline::Outline;
use crate::text::{Line, Style};
use crate::words::Teller;

/// How many derived steps are shown at most. The others are only in the certificate.
const STEPS: usize = 24;

/// Whether a model is of the C11 family, or coherence, which is explained in the same words.
pub(crate) fn speaks_of(model: Model) -> bool {
    matches!(model, Model::Wra | Model::Ra | Model::Sra | Model::Rc20 | Model::C20 | Model::Relaxed | Model::Coherence)
}

/// The explanation if a search found no order, and there is no short reason.
pub(crate) fn no_order() -> Line {
    Line::default().with(Style::Heading, "no order of the writes: ").plain(
        "a search of all orders found none that agrees with what happens before, with every read, and with atomicity",
    )
}

impl Teller<'_> {
    /// The wording that is special to the family; none if the general wording fits.
    pub(crate) fn c11(&self, model: Model, derivation: &Derivation) -> Option<Vec<Line>> {
        if !speaks_of(model) {
            return None;
        }
        let causal = |edge: &Edge| matches!(edge, Edge::Po(..) | Edge::Rf(..));
        if derivation.steps.is_empty() && derivation.cycle.iter().all(causal) {
            return Some(self.thin_air_cycle(model, derivation));
        }
        if model == Model::C20 && self.is_sequential(derivation) {
            return Some(self.sequential(derivation));
        }
        if let [first, second] = &derivation.steps[..]
            && let ([Edge::Rf(source, _)], [Edge::Rf(..)]) = (&first.path[..], &second.path[..])
            && first.rule == Rule::ReadWrite
            && second.rule == Rule::ReadWrite
        {
            return Some(vec![self.shared_source(*source, first.from, second.from)]);
        }
        if !derivation.steps.iter().any(|step| matches!(step.rule, Rule::Coherence { .. })) {
            return None;
        }
        let mut coherence = derivation.steps.iter().filter(|step| matches!(step.rule, Rule::Coherence { .. }));
        match (coherence.next(), coherence.next()) {
            (Some(step), None) => Some(self.overwritten(derivation, step)),
            _ => Some(self.incoherent(derivation)),
        }
    }

    fn thin_air_cycle(&self, model: Model, derivation: &Derivation) -> Vec<Line> {
        if let [Edge::Rf(from, to)] = derivation.cycle[..]
            && from == to
        {
            let line = Line::default().with(Style::Heading, "thin air: ").append(self.long(to));
            return vec![line.plain(" reads the value that only it writes itself")];
        }
        let heading = Line::default().with(Style::Heading, "thin air: ");
        let mut lines =
            vec![heading.plain("a read depends on itself: each of these comes before the next, in a circle:")];
        lines.extend(self.chain(&Outline::new(self.history, model, derivation), &derivation.cycle, 2));
        lines
    }

    fn shared_source(&self, source: Node, first: Node, second: Node) -> Line {
        Line::default()
            .with(Style::Heading, "atomicity: ")
            .append(self.long(first))
            .plain(" and ")
            .append(self.long(second))
            .plain(" both replace ")
            .append(self.long(source))
            .plain(", and each would have to come right after it")
    }

    /// A pair of accesses: the second reads a value of which the first already knew that it was overwritten.
    fn overwritten(&self, derivation: &Derivation, step: &Step) -> Vec<Line> {
        let Rule::Coherence { before, after } = step.rule else { return Vec::new() };
        let reads = match after {
            Node::Operation(id) => {
                matches!(self.history.operation(id).method, Method::Read | Method::Rmw | Method::Cas)
            }
            Node::Init(_) => false,
        };
        if !reads {
            return self.incoherent(derivation);
        }
        let mut line = Line::default()
            .with(Style::Heading, "read coherence: ")
            .append(self.long(after))
            .plain(if matches!(step.to, Node::Init(_)) { " returns " } else { " reads " })
            .append(self.long(step.to));
        line = if before == step.from {
            line.plain(" although ").append(self.long(before)).plain(", which overwrote it, happens before:")
        } else {
            line.plain(" although ")
                .append(self.long(before))
                .plain(" already knew of ")
                .append(self.long(step.from))
                .plain(", which overwrote it:")
        };
        let mut lines = vec![line];
        let outline = Outline { steps: derivation.steps.clone(), cycle: derivation.cycle.clone() };
        lines.extend(self.chain(&outline, &step.path, 2));
        lines
    }

    fn incoherent(&self, derivation: &Derivation) -> Vec<Line> {
        let outline = Outline { steps: derivation.steps.clone(), cycle: derivation.cycle.clone() };
        let location = derivation.cycle.first().map_or_else(String::new, |&edge| match outline.ends(edge).0 {
            Node::Init(location) => self.history.key_name(KeyId(location.0)),
            Node::Operation(id) => self.history.key_name(self.history.operation(id).key),
        });
        let place = if location.is_empty() { String::new() } else { format!(" of {location}") };
        let mut lines = vec![
            Line::default()
                .with(Style::Heading, format!("no modification order{place}: "))
                .plain("each of these writes must come before the next, in a circle:"),
        ];
        lines.extend(self.chain(&outline, &outline.cycle, 2));
        self.add_steps(&outline, &mut lines);
        lines
    }

    /// Whether a cycle is one of sequentially consistent operations: it has more than orders of writes.
    fn is_sequential(&self, derivation: &Derivation) -> bool {
        let writes = |node: Node| match node {
            Node::Operation(id) => self.history.operation(id).method != Method::Read,
            Node::Init(_) => true,
        };
        derivation.cycle.iter().any(|&edge| match edge {
            Edge::Po(Node::Init(_), _) | Edge::Rf(..) => false,
            Edge::Po(..) | Edge::Sw { .. } => true,
            Edge::Derived(_) => !writes(derivation.ends(edge).0),
        })
    }

    fn sequential(&self, derivation: &Derivation) -> Vec<Line> {
        let outline = Outline { steps: derivation.steps.clone(), cycle: derivation.cycle.clone() };
        let mut lines = vec![
            Line::default()
                .with(Style::Heading, "no order of the sequentially consistent operations: ")
                .plain("each of them must come before the next, in a circle:"),
        ];
        lines.extend(self.chain(&outline, &outline.cycle, 2));
        self.add_steps(&outline, &mut lines);
        lines
    }

    /// The derived steps, each with its reason.
    fn add_steps(&self, outline: &Outline, lines: &mut Vec<Line>) {
        for (at, step) in outline.steps.iter().enumerate().take(STEPS) {
            let mut line = Line::indented(2).with(Style::Reason, format!("({})", at + 1)).plain(" ");
            line = line.append(self.long(step.from)).plain(" before ").append(self.long(step.to));
            match step.rule {
                Rule::Coherence { before, after } => {
                    let axiom = if after == step.to { "write coherence" } else { "read coherence" };
                    line = line.plain(format!(", by {axiom}: "));
                    line = if before == step.from {
                        line.append(self.short(before))
                    } else {
                        line.append(self.long(before)).plain(" knows of the first and")
                    };
                    line = line.plain(" happens before ").append(self.short(after));
                    if after != step.to {
                        line = line.plain(", which reads the second");
                    }
                    lines.push(line);
                    lines.extend(self.chain(outline, &step.path, 6));
                }
                Rule::Atomicity => {
                    let reason = step.path.first().map_or_else(String::new, |&edge| match edge {
                        Edge::Derived(number) => format!(" by ({})", number + 1),
                        _ => String::new(),
                    });
                    lines.push(line.plain(format!(
                        ", by atomicity:{reason}, and the rmws that replace each other's writes stand together"
                    )));
                }
                Rule::ReadWrite => lines.push(line.plain(", since what the first reads comes before the second")),
                _ => lines.push(line),
            }
        }
        if outline.steps.len() > STEPS {
            let more = outline.steps.len() - STEPS;
            lines.push(Line::indented(2).plain(format!("... and {more} more steps, which the certificate holds")));
        }
    }
}
