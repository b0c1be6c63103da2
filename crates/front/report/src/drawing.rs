//! Draws a small graph in layers, as DOT and as SVG: the lattice of models, and the place of histories in it.
//!
//! The layout is a simple form of Sugiyama's. A node is one layer below the lowest node that points to it. An edge over
//! several layers goes through a joint in each layer between. The order within layers is improved by barycentres, as
//! long as this reduces the crossings of edges. Then each item moves towards the middle of the items that it is joined
//! with, as near as its neighbours in the layer let it. The same graph always gives the same drawing.

use std::fmt::Write as _;

use history::visible;
use model::{Model, Verdict};

/// How a node is filled.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum NodeMark {
    /// Green.
    Yes,
    /// Red.
    No,
    /// Amber: yes for some histories, no for others.
    Mixed,
    /// Grey: not known.
    Unknown,
    /// White with a broken line: the model does not apply.
    Outside,
    /// Blue: no answer belongs to the node.
    Plain,
}

impl NodeMark {
    const fn fill(self) -> &'static str {
        match self {
            Self::Yes => "#c8e6c9",
            Self::No => "#ffcdd2",
            Self::Mixed => "#ffe0b2",
            Self::Unknown => "#e0e0e0",
            Self::Outside => "#ffffff",
            Self::Plain => "#e3f2fd",
        }
    }
}

/// A node of a drawing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DrawnNode {
    /// Its name, unique in the drawing.
    pub name: String,
    /// The text below the name.
    pub note: String,
    /// How it is filled.
    pub mark: NodeMark,
    /// Whether its frame is drawn as a thick line.
    pub heavy: bool,
}

impl DrawnNode {
    /// The node of a model in the lattice, for one history with this verdict; `None` if the model does not apply.
    pub fn of_verdict(model: Model, verdict: Option<Verdict>, heavy: bool) -> Self {
        let (mark, note) = match verdict {
            None => (NodeMark::Outside, "does not apply"),
            Some(Verdict::Consistent) => (NodeMark::Yes, "satisfied"),
            Some(Verdict::Violation) => (NodeMark::No, "broken"),
            Some(_) => (NodeMark::Unknown, "unknown"),
        };
        Self { name: model.name().to_owned(), note: note.to_owned(), mark, heavy }
    }
}

/// A graph without cycles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drawing {
    /// The text above the drawing.
    pub title: String,
    /// The nodes.
    pub nodes: Vec<DrawnNode>,
    /// Edges from node to node, by their numbers. Edges that follow from others by transitivity are not drawn.
    pub edges: Vec<(usize, usize)>,
}

const WIDTH: f64 = 104.0;
const HEIGHT: f64 = 40.0;
/// The width of a joint.
const JOINT: f64 = 10.0;
const GAP: f64 = 18.0;
const DESCENT: f64 = 40.0;
const MARGIN: f64 = 16.0;
const TITLE: f64 = 28.0;
/// How many times the layers are reordered, and how many times their items move.
const SWEEPS: usize = 12;

impl Drawing {
    /// The lattice of some models with this title. The nodes are those of the models, in that order.
    pub fn lattice(title: String, models: &[Model], nodes: Vec<DrawnNode>) -> Self {
        let number = |model: Model| models.iter().position(|&other| other == model);
        let edges = model::implications().filter_map(|(from, to)| Some((number(from)?, number(to)?)));
        Self { title, nodes, edges: edges.collect() }
    }

    /// The drawing in the language of Graphviz.
    pub fn to_dot(&self) -> String {
        let mut dot = String::from("digraph models {\n  rankdir = TB;\n  labelloc = t;\n");
        let _ = writeln!(dot, "  label = {};", quoted(&[&self.title]));
        dot.push_str("  node [shape = box, style = \"rounded,filled\", fontname = \"sans-serif\"];\n");
        for node in &self.nodes {
            let style = if node.mark == NodeMark::Outside { ", style = \"rounded,dashed\"" } else { "" };
            let width = if node.heavy { ", penwidth = 3" } else { "" };
            let label = quoted(&[&node.name, &node.note]);
            let (name, fill) = (quoted(&[&node.name]), node.mark.fill());
            let _ = writeln!(dot, "  {name} [label = {label}, fillcolor = \"{fill}\"{style}{width}];");
        }
        let name = |node: usize| quoted(&[&self.nodes[node].name]);
        for (from, to) in self.reduced() {
            let _ = writeln!(dot, "  {} -> {};", name(from), name(to));
        }
        dot.push_str("}\n");
        dot
    }

    /// The drawing as an SVG picture.
    pub fn to_svg(&self) -> String {
        let layout = Layout::new(self.nodes.len(), &self.reduced());
        let layers = layout.layers.len().max(1) as f64;
        let titled = MARGIN.mul_add(2.0, visible(&self.title).chars().count() as f64 * 8.5);
        let width = layout.width().max(titled);
        let height = 2.0f64.mul_add(MARGIN, layers.mul_add(HEIGHT, (layers - 1.0) * DESCENT)) + TITLE;
        let left = (width - layout.width()) / 2.0;
        let x = |item: usize| left + layout.xs[item];
        let top = |item: usize| MARGIN + TITLE + layout.layer[item] as f64 * (HEIGHT + DESCENT);
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
             viewBox=\"0 0 {width:.0} {height:.0}\" font-family=\"sans-serif\" text-anchor=\"middle\">\n\
             <defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" \
             orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" fill=\"#555555\"/></marker></defs>\n\
             <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
        );
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" font-size=\"15\" font-weight=\"bold\">{}</text>",
            width / 2.0,
            MARGIN + 12.0,
            escaped(&self.title)
        );
        for way in &layout.ways {
            let mut path = format!("M{:.1} {:.1}", x(way[0]), top(way[0]) + HEIGHT);
            for pair in way.windows(2) {
                let (from, to) = (top(pair[0]) + HEIGHT, top(pair[1]));
                let middle = f64::midpoint(from, to);
                let (a, b) = (x(pair[0]), x(pair[1]));
                let _ = write!(path, "C{a:.1} {middle:.1} {b:.1} {middle:.1} {b:.1} {to:.1}");
                if pair[1] >= self.nodes.len() {
                    let _ = write!(path, "V{:.1}", to + HEIGHT);
                }
            }
            let _ = writeln!(
                svg,
                "<path d=\"{path}\" fill=\"none\" stroke=\"#555555\" stroke-width=\"1.2\" marker-end=\"url(#tip)\"/>"
            );
        }
        for (at, node) in self.nodes.iter().enumerate() {
            let (middle, top) = (x(at), top(at));
            let stroke = if node.heavy { "3" } else { "1" };
            let dashes = if node.mark == NodeMark::Outside { " stroke-dasharray=\"4 3\"" } else { "" };
            let _ = writeln!(
                svg,
                "<rect x=\"{:.1}\" y=\"{top:.1}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" rx=\"6\" fill=\"{}\" \
                 stroke=\"#333333\" stroke-width=\"{stroke}\"{dashes}/>",
                middle - WIDTH / 2.0,
                node.mark.fill()
            );
            for (text, below, size) in [(&node.name, 17.0, "14"), (&node.note, 32.0, "11")] {
                let y = top + below;
                let _ =
                    writeln!(svg, "<text x=\"{middle:.1}\" y=\"{y:.1}\" font-size=\"{size}\">{}</text>", escaped(text));
            }
        }
        svg.push_str("</svg>\n");
        svg
    }

    /// The edges that do not follow from others by transitivity.
    fn reduced(&self) -> Vec<(usize, usize)> {
        let count = self.nodes.len();
        let mut reaches = vec![vec![false; count]; count];
        for &(from, to) in &self.edges {
            reaches[from][to] = true;
        }
        for via in 0..count {
            let further = reaches[via].clone();
            for row in reaches.iter_mut().filter(|row| row[via]) {
                for (reached, &further) in row.iter_mut().zip(&further) {
                    *reached |= further;
                }
            }
        }
        let longer = |from: usize, to: usize| (0..count).any(|via| reaches[from][via] && reaches[via][to]);
        let mut edges = self.edges.clone();
        edges.retain(|&(from, to)| from != to && !longer(from, to));
        edges.sort_unstable();
        edges.dedup();
        edges
    }
}

/// Several lines as one string of DOT.
pub(crate) fn quoted(lines: &[&str]) -> String {
    let lines: Vec<String> =
        lines.iter().map(|line| visible(line).replace('\\', "\\\\").replace('"', "\\\"")).collect();
    format!("\"{}\"", lines.join("\\n"))
}

/// A text as the text of XML: made [`visible`](history::visible()), so that it holds no character that XML does not
/// allow, and escaped.
pub fn escaped(text: &str) -> String {
    visible(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// The place of every item. The items are the nodes, followed by the joints.
struct Layout {
    /// The layer of each item.
    layer: Vec<usize>,
    /// The items of each layer, from left to right.
    layers: Vec<Vec<usize>>,
    /// The items along each edge: its first node, its joints, its second node.
    ways: Vec<Vec<usize>>,
    /// The horizontal middle of each item.
    xs: Vec<f64>,
    nodes: usize,
}

impl Layout {
    fn new(nodes: usize, edges: &[(usize, usize)]) -> Self {
        let mut layer = vec![0; nodes];
        // The graph has no cycles, so as many rounds as there are nodes suffice.
        for _ in 0..nodes {
            for &(from, to) in edges {
                layer[to] = layer[to].max(layer[from] + 1).min(nodes);
            }
        }
        let mut ways = Vec::new();
        for &(from, to) in edges {
            let mut way = vec![from];
            for between in layer[from] + 1..layer[to] {
                way.push(layer.len());
                layer.push(between);
            }
            way.push(to);
            ways.push(way);
        }
        let depth = layer.iter().max().map_or(0, |deepest| deepest + 1);
        let mut layers = vec![Vec::new(); depth];
        for (item, &layer) in layer.iter().enumerate() {
            layers[layer].push(item);
        }
        let mut layout = Self { xs: vec![0.0; layer.len()], layer, layers, ways, nodes };
        layout.untangle();
        layout.place();
        layout
    }

    /// The edges between neighbouring layers.
    fn pairs(&self) -> impl Iterator<Item = [usize; 2]> + '_ {
        self.ways.iter().flat_map(|way| way.windows(2).map(|pair| [pair[0], pair[1]]))
    }

    fn positions(&self) -> Vec<usize> {
        let mut positions = vec![0; self.layer.len()];
        for layer in &self.layers {
            for (at, &item) in layer.iter().enumerate() {
                positions[item] = at;
            }
        }
        positions
    }

    fn crossings(&self) -> usize {
        let position = self.positions();
        let pairs: Vec<[usize; 2]> = self.pairs().collect();
        let cross = |a: &[usize; 2], b: &[usize; 2]| {
            self.layer[a[0]] == self.layer[b[0]] && position[a[0]] < position[b[0]] && position[a[1]] > position[b[1]]
        };
        pairs.iter().map(|a| pairs.iter().filter(|b| cross(a, b)).count()).sum()
    }

    /// The items of the layer above (or below) that an item is joined with.
    fn neighbours(&self, item: usize, above: bool) -> impl Iterator<Item = usize> + '_ {
        self.pairs().filter_map(move |[from, to]| {
            let (near, own) = if above { (from, to) } else { (to, from) };
            (own == item).then_some(near)
        })
    }

    fn untangle(&mut self) {
        let mut best = (self.crossings(), self.layers.clone());
        for sweep in 0..SWEEPS {
            let above = sweep % 2 == 0;
            let depth = self.layers.len();
            for step in 1..depth {
                let at = if above { step } else { depth - 1 - step };
                let position = self.positions();
                let mut keyed: Vec<(f64, usize)> = self.layers[at]
                    .iter()
                    .map(|&item| {
                        let near: Vec<usize> = self.neighbours(item, above).map(|other| position[other]).collect();
                        let own = position[item] as f64;
                        let mean = near.iter().sum::<usize>() as f64 / near.len().max(1) as f64;
                        (if near.is_empty() { own } else { mean }, item)
                    })
                    .collect();
                // The sort is stable: items with the same barycentre keep their order.
                keyed.sort_by(|a, b| a.0.total_cmp(&b.0));
                self.layers[at] = keyed.into_iter().map(|(_, item)| item).collect();
            }
            let crossings = self.crossings();
            if crossings < best.0 {
                best = (crossings, self.layers.clone());
            }
        }
        self.layers = best.1;
    }

    fn half(&self, item: usize) -> f64 {
        (if item < self.nodes { WIDTH } else { JOINT }) / 2.0
    }

    fn place(&mut self) {
        for at in 0..self.layers.len() {
            let wished = vec![0.0; self.layers[at].len()];
            self.line_up(at, &wished);
        }
        for sweep in 0..2 * SWEEPS {
            let depth = self.layers.len();
            for step in 0..depth {
                let at = if sweep % 2 == 0 { step } else { depth - 1 - step };
                let wished: Vec<f64> = self.layers[at]
                    .iter()
                    .map(|&item| {
                        let near: Vec<f64> = [true, false]
                            .into_iter()
                            .flat_map(|above| self.neighbours(item, above))
                            .map(|other| self.xs[other])
                            .collect();
                        if near.is_empty() { self.xs[item] } else { near.iter().sum::<f64>() / near.len() as f64 }
                    })
                    .collect();
                self.line_up(at, &wished);
            }
        }
        let left = self.items().map(|item| self.xs[item] - self.half(item)).fold(f64::INFINITY, f64::min);
        for x in &mut self.xs {
            *x += MARGIN - left;
        }
    }

    fn items(&self) -> std::ops::Range<usize> {
        0..self.layer.len()
    }

    /// Moves the items of a layer to their wished places, but keeps their order and the gaps between them. Items that
    /// are too near to each other form a group, whose place is the average of their wishes.
    fn line_up(&mut self, at: usize, wished: &[f64]) {
        // For each group: how many items it has, the place of its first item, and the sum of the places of the first
        // item that the items of the group wish for.
        let mut groups: Vec<(usize, f64, f64)> = Vec::new();
        let items = self.layers[at].clone();
        let mut offsets = vec![0.0; items.len()];
        for (number, &item) in items.iter().enumerate() {
            offsets[number] = match number.checked_sub(1) {
                None => 0.0,
                Some(before) => offsets[before] + self.half(items[before]) + GAP + self.half(item),
            };
            groups.push((1, wished[number] - offsets[number], wished[number] - offsets[number]));
            while let [.., (before, first, sum), (count, next, more)] = groups[..]
                && first > next
            {
                let joined = sum + more;
                groups.truncate(groups.len() - 2);
                groups.push((before + count, joined / (before + count) as f64, joined));
            }
        }
        let bases = groups.iter().flat_map(|&(count, base, _)| std::iter::repeat_n(base, count));
        for ((&item, base), offset) in items.iter().zip(bases).zip(offsets) {
            self.xs[item] = base + offset;
        }
    }

    fn width(&self) -> f64 {
        self.items().map(|item| self.xs[item] + self.half(item)).fold(0.0, f64::max) + MARGIN
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawing(count: usize, edges: &[(usize, usize)]) -> Drawing {
        let node = |at: usize| DrawnNode {
            name: format!("n{at}"),
            note: "a < b & \"c\"".to_owned(),
            mark: [NodeMark::Yes, NodeMark::No, NodeMark::Mixed, NodeMark::Unknown, NodeMark::Outside, NodeMark::Plain]
                [at % 6],
            heavy: at.is_multiple_of(2),
        };
        Drawing { title: "<t>".to_owned(), nodes: (0..count).map(node).collect(), edges: edges.to_vec() }
    }

    #[test]
    fn edges_that_follow_are_not_drawn() {
        let drawing = drawing(4, &[(0, 1), (1, 2), (0, 2), (2, 3), (0, 3), (0, 1)]);
        assert_eq!(drawing.reduced(), [(0, 1), (1, 2), (2, 3)]);
        assert_eq!(drawing.to_dot().matches("->").count(), 3);
    }

    #[test]
    fn items_of_a_layer_do_not_overlap_and_edges_lead_down() {
        let edges = [(0, 1), (0, 2), (0, 3), (1, 4), (2, 4), (3, 5), (4, 6), (0, 7), (7, 6), (5, 6)];
        let layout = Layout::new(8, &edges);
        for layer in &layout.layers {
            for pair in layer.windows(2) {
                let room = layout.half(pair[0]) + layout.half(pair[1]) + GAP;
                assert!(layout.xs[pair[1]] - layout.xs[pair[0]] >= room - 1e-6);
            }
        }
        assert!(layout.pairs().all(|[from, to]| layout.layer[from] + 1 == layout.layer[to]));
        assert!(layout.items().all(|item| layout.xs[item] - layout.half(item) >= MARGIN - 1e-6));
        assert_eq!(layout.crossings(), 0);
    }

    #[test]
    fn tangled_edges_are_untangled() {
        let layout = Layout::new(6, &[(0, 5), (1, 4), (2, 3)]);
        assert_eq!(layout.crossings(), 0);
    }

    #[test]
    fn text_is_escaped() {
        let drawing = drawing(2, &[(0, 1)]);
        let svg = drawing.to_svg();
        assert!(svg.contains("&lt;t&gt;") && svg.contains("a &lt; b &amp; \"c\""));
        assert!(drawing.to_dot().contains("a < b & \\\"c\\\""));
        assert_eq!(svg, drawing.to_svg());
        assert_eq!(self::drawing(0, &[]).to_svg().matches("<rect").count(), 1);
    }
}
