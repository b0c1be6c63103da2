//! The graph of a violation: the operations that clash, and the edges between them, as DOT, Mermaid and SVG.
//!
//! The graph shows the last part of a story, which is the contradiction: its circle, and what the history says itself
//! of the operations. A story without a contradiction is shown as a whole. Threads give x and the order of the
//! operations gives y, so no layout is searched for. The same story always gives the same drawing.

mod svg;

use std::fmt::Write as _;

use model::Verdict;

use crate::drawing::quoted;
use crate::lanes::down;
use crate::story::{Contradiction, EdgeKind, Story, StoryEdge, StoryNode};

/// Up to this many edges, those that are not on the circle are drawn, too.
const EDGES: usize = 40;

/// The graph of a violation.
#[derive(Clone, Debug)]
pub struct StoryGraph<'a> {
    story: &'a Story,
    title: String,
    /// The nodes that are drawn, by their numbers in the story, from top to bottom.
    nodes: Vec<usize>,
    edges: Vec<Drawn<'a>>,
}

/// An edge that is drawn.
#[derive(Copy, Clone, Debug)]
struct Drawn<'a> {
    edge: &'a StoryEdge,
    /// Its number in its part.
    number: usize,
    is_on_circle: bool,
}

impl<'a> StoryGraph<'a> {
    /// The graph of a story, with a text above it.
    ///
    /// ```
    /// use model::{Derivation, Edge, Evidence, Model, Node, Verdict};
    /// use history::{History, OperationId};
    /// use report::{StoryGraph, Story};
    ///
    /// let history = format::parse("[0] r x 1\n[0] w y 1\n[1] r y 1\n[1] w x 1\n")?;
    /// let node = |number| Node::Operation(OperationId(number));
    /// let [po, rf] = [Edge::Po, Edge::Rf];
    /// let cycle =
    ///     vec![po(node(0), node(1)), rf(node(1), node(2)), po(node(2), node(3)), rf(node(3), node(0))];
    /// let evidence = Evidence::Cycle(Derivation { steps: Vec::new(), cycle });
    /// let story = Story::new(&history, Model::Sc, Verdict::Violation, &evidence);
    /// let graph = StoryGraph::new(&story, "load buffering");
    /// assert!(graph.to_dot().starts_with("digraph"));
    /// assert!(graph.to_svg().starts_with("<svg"));
    /// assert!(graph.to_mermaid().starts_with("flowchart"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(story: &'a Story, title: &str) -> Self {
        let mut graph = Self { story, title: title.to_owned(), nodes: Vec::new(), edges: Vec::new() };
        let Some(part) = story.parts.last() else { return graph };
        let is_small = part.edges.len() <= EDGES;
        let is_wanted = |number: usize, edge: &StoryEdge| {
            part.circle.contains(&number) || (is_small && edge.kind.is_basic() && edge.kind != EdgeKind::Initial)
        };
        let edges = part.edges.iter().enumerate().filter(|&(number, edge)| is_wanted(number, edge));
        graph.edges =
            edges.map(|(number, edge)| Drawn { edge, number, is_on_circle: part.circle.contains(&number) }).collect();
        graph.nodes = graph.top_down(part);
        graph
    }

    /// The nodes in the order in which they are drawn: by the moments of their calls, or each thread in its order and
    /// reads below their writes. Initial values come first.
    fn top_down(&self, part: &Contradiction) -> Vec<usize> {
        // Where nothing contradicts, nothing is left out.
        let is_whole = self.story.verdict == Verdict::Consistent.name();
        let mut nodes: Vec<usize> = if is_whole { (0..self.story.nodes.len()).collect() } else { part.core.clone() };
        nodes.extend(self.edges.iter().flat_map(|drawn| [drawn.edge.from, drawn.edge.to]));
        nodes.sort_unstable();
        nodes.dedup();
        let node = |number: usize| &self.story.nodes[number];
        if nodes.iter().any(|&number| node(number).call.is_some()) {
            nodes.sort_by_key(|&number| (node(number).call, number));
            return nodes;
        }
        let place = |number: usize| nodes.binary_search(&number).unwrap_or(0);
        let mut edges: Vec<(usize, usize)> = Vec::new();
        for (at, &one) in nodes.iter().enumerate() {
            let is_next = |&&other: &&usize| node(other).thread == node(one).thread && node(one).thread.is_some();
            edges.extend(nodes[at + 1..].iter().find(is_next).map(|&next| (at, place(next))));
        }
        let reads =
            self.edges.iter().filter(|drawn| matches!(drawn.edge.kind, EdgeKind::ReadsFrom | EdgeKind::WriteRead));
        edges.extend(reads.map(|drawn| (place(drawn.edge.from), place(drawn.edge.to))));
        down(nodes.len(), edges).into_iter().map(|at| nodes[at]).collect()
    }

    fn node(&self, number: usize) -> &StoryNode {
        &self.story.nodes[number]
    }

    fn is_core(&self, number: usize) -> bool {
        self.story.parts.last().is_some_and(|part| part.core.contains(&number))
    }

    /// The graph in the language of Graphviz.
    pub fn to_dot(&self) -> String {
        let mut dot = String::from("digraph execution {\n  rankdir = TB;\n  labelloc = t;\n");
        let _ = writeln!(dot, "  label = {};", quoted(&[&self.title]));
        dot.push_str("  node [shape = box, style = \"rounded,filled\", fontname = \"monospace\"];\n");
        dot.push_str("  edge [fontname = \"sans-serif\", fontsize = 11];\n");
        let describe = |dot: &mut String, number: usize| {
            let node = self.node(number);
            let (fill, line) = if self.is_core(number) { ("#fdeae0", "#d55e00") } else { ("#f4f4f4", "#777777") };
            let label =
                if node.place.is_empty() { quoted(&[&node.action]) } else { quoted(&[&node.action, &node.place]) };
            let _ = writeln!(dot, "    n{number} [label = {label}, fillcolor = \"{fill}\", color = \"{line}\"];");
        };
        for (thread, name) in self.story.threads.iter().enumerate() {
            let _ = writeln!(dot, "  subgraph cluster_{thread} {{\n    label = {};", quoted(&[name]));
            dot.push_str("    style = \"rounded\";\n    color = \"#cccccc\";\n");
            for &number in self.nodes.iter().filter(|&&number| self.node(number).thread == Some(thread)) {
                describe(&mut dot, number);
            }
            dot.push_str("  }\n");
        }
        for &number in self.nodes.iter().filter(|&&number| self.node(number).thread.is_none()) {
            describe(&mut dot, number);
        }
        for drawn in &self.edges {
            let StoryEdge { from, to, label, kind, .. } = drawn.edge;
            let colour = colour(*kind, drawn.is_on_circle);
            let style = if kind.is_basic() { "solid" } else { "dashed" };
            let width = if drawn.is_on_circle { "2.2" } else { "1" };
            let told = quoted(&[&drawn.edge.sentence.to_string()]);
            let _ = writeln!(
                dot,
                "  n{from} -> n{to} [label = {}, color = \"{colour}\", fontcolor = \"{colour}\", style = {style}, \
                 penwidth = {width}, tooltip = {told}];",
                quoted(&[label])
            );
        }
        dot.push_str("}\n");
        dot
    }

    /// The graph in the language of Mermaid.
    pub fn to_mermaid(&self) -> String {
        let mut text = String::from("flowchart TD\n");
        let describe = |text: &mut String, number: usize| {
            let node = self.node(number);
            let place = if node.place.is_empty() { String::new() } else { format!("<br/>{}", coded(&node.place)) };
            let class = if self.is_core(number) { ":::clash" } else { "" };
            let _ = writeln!(text, "    n{number}[\"{}{place}\"]{class}", coded(&node.action));
        };
        for (thread, name) in self.story.threads.iter().enumerate() {
            let _ = writeln!(text, "  subgraph t{thread}[\"{}\"]\n    direction TB", coded(name));
            for &number in self.nodes.iter().filter(|&&number| self.node(number).thread == Some(thread)) {
                describe(&mut text, number);
            }
            text.push_str("  end\n");
        }
        for &number in self.nodes.iter().filter(|&&number| self.node(number).thread.is_none()) {
            describe(&mut text, number);
        }
        for drawn in &self.edges {
            let StoryEdge { from, to, label, kind, .. } = drawn.edge;
            let line = match (kind.is_basic(), drawn.is_on_circle) {
                (true, false) => "-->",
                (true, true) => "==>",
                (false, _) => "-.->",
            };
            let _ = writeln!(text, "  n{from} {line}|{label}| n{to}");
        }
        text.push_str("  classDef clash fill:#fdeae0,stroke:#d55e00,color:#111111\n");
        text
    }
}

/// A colour that can be told from the others by all who see colours at all (after Okabe and Ito).
const fn colour(kind: EdgeKind, is_on_circle: bool) -> &'static str {
    match kind {
        EdgeKind::ReadsFrom | EdgeKind::WriteRead | EdgeKind::Value => "#00785a",
        EdgeKind::RealTime | EdgeKind::Ended | EdgeKind::Performed | EdgeKind::Synchronises => "#0072b2",
        EdgeKind::Supposed | EdgeKind::Refuted => "#a8477f",
        EdgeKind::ProgramOrder | EdgeKind::Session | EdgeKind::Initial if !is_on_circle => "#777777",
        EdgeKind::ProgramOrder | EdgeKind::Session | EdgeKind::Initial => "#444444",
        _ => "#c24e00",
    }
}

/// A text in a string of Mermaid: all but letters, digits and a few signs become the codes of their characters.
fn coded(text: &str) -> String {
    let mut coded = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_alphanumeric() || " .,:=()-_?+".contains(character) {
            coded.push(character);
        } else {
            let _ = write!(coded, "#{};", u32::from(character));
        }
    }
    coded
}
