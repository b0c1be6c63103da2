//! The graph as a picture, drawn by hand: a lane for each thread, boxes from top to bottom, every edge with its label.
//!
//! Operations with calls and returns are as high as they are long: the top is the call, the bottom is the return. Each
//! node and each edge has an attribute with its number in the story (`data-node`, `data-edge`), so that a page can make
//! them answer to the pointer. The picture follows the theme of the reader, light or dark.

use std::fmt::Write as _;

use super::{Drawn, StoryGraph, colour};
use crate::drawing::escaped;
use crate::lanes::canvas::width as columns;
use crate::story::EdgeKind;

const MARGIN: f64 = 20.0;
const TITLE: f64 = 30.0;
/// The height of the names of the threads.
const NAMES: f64 = 30.0;
/// The height of a box, and of a row.
const BOX: f64 = 42.0;
const ROW: f64 = 74.0;
/// The height of one event, if calls and returns are known.
const EVENT: f64 = 30.0;
/// The width of a character.
const CHARACTER: f64 = 7.6;
/// The room between two lanes, for edges and their labels.
const GAP: f64 = 96.0;

const STYLE: &str = "\
.st-back{fill:#ffffff}.st-text{fill:#1a1a1a}.st-dim{fill:#666666}.st-lane{stroke:#d8d8d8}\
.st-box{fill:#f6f6f6;stroke:#999999}.st-core{fill:#fdeae0;stroke:#c24e00}.st-halo{stroke:#ffffff}\
@media (prefers-color-scheme:dark){.st-back{fill:#16181c}.st-text{fill:#eeeeee}.st-dim{fill:#a8a8a8}\
.st-lane{stroke:#3a3d42}.st-box{fill:#24272c;stroke:#777777}.st-core{fill:#47260f;stroke:#ff8a3d}\
.st-halo{stroke:#16181c}.st-edge{filter:brightness(1.6)}}";

/// A rectangle.
#[derive(Copy, Clone)]
struct Rect {
    x: f64,
    y: f64,
    width: f64,
    height: f64,
}

impl Rect {
    fn overlaps(&self, other: &Self) -> bool {
        self.x < other.x + other.width
            && other.x < self.x + self.width
            && self.y < other.y + other.height
            && other.y < self.y + self.height
    }

    fn middle(&self) -> f64 {
        self.x + self.width / 2.0
    }

    fn bottom(&self) -> f64 {
        self.y + self.height
    }
}

/// A cubic curve.
type Curve = [(f64, f64); 4];

fn at(curve: &Curve, t: f64) -> (f64, f64) {
    let s = 1.0 - t;
    let weights = [s * s * s, 3.0 * s * s * t, 3.0 * s * t * t, t * t * t];
    let sum =
        |part: fn(&(f64, f64)) -> f64| curve.iter().zip(weights).map(|(point, weight)| part(point) * weight).sum();
    (sum(|point| point.0), sum(|point| point.1))
}

impl StoryGraph<'_> {
    /// The graph as an SVG picture.
    pub fn to_svg(&self) -> String {
        let boxes = self.boxes();
        let lanes = self.lanes(&boxes);
        let right = boxes.iter().map(|it| it.x + it.width).fold(0.0, f64::max);
        let mut width = (right + MARGIN + self.bulge()).max(2.0 * MARGIN + 8.8 * columns(&self.title) as f64);
        let height = boxes.iter().map(Rect::bottom).fold(MARGIN + TITLE + NAMES, f64::max) + MARGIN;
        let mut labels: Vec<Rect> = boxes.clone();
        let mut edges = String::new();
        let mut texts = String::new();
        for (turn, drawn) in self.edges.iter().enumerate() {
            let Some(curve) = self.curve(&boxes, turn, drawn) else { continue };
            let place = label_place(&curve, drawn, &labels);
            width = width.max(place.x + place.width + MARGIN);
            labels.push(place);
            draw(&mut edges, &mut texts, drawn, &curve, &place);
        }
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"st-story\" width=\"{width:.0}\" height=\"{height:.0}\" \
             viewBox=\"0 0 {width:.0} {height:.0}\" font-family=\"ui-monospace,Menlo,Consolas,monospace\" \
             font-size=\"12.5\" role=\"img\">\n<title>{0}</title>\n<style>{STYLE}</style>\n",
            escaped(&self.title)
        );
        svg.push_str("<rect class=\"st-back\" width=\"100%\" height=\"100%\"/>\n");
        let _ = writeln!(
            svg,
            "<text class=\"st-text\" x=\"{MARGIN}\" y=\"{:.1}\" font-size=\"14\" font-weight=\"bold\">{}</text>",
            MARGIN + 8.0,
            escaped(&self.title)
        );
        for (name, x) in self.story.threads.iter().zip(&lanes) {
            let Some(x) = x else { continue };
            let _ = writeln!(
                svg,
                "<line class=\"st-lane\" x1=\"{x:.1}\" y1=\"{:.1}\" x2=\"{x:.1}\" y2=\"{:.1}\" stroke-width=\"2\"/>\
                 <text class=\"st-text\" x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\" \
                 font-weight=\"bold\">{}</text>",
                MARGIN + TITLE + NAMES - 8.0,
                height - MARGIN + 6.0,
                MARGIN + TITLE + 10.0,
                escaped(name)
            );
        }
        svg.push_str(&edges);
        for (&number, place) in self.nodes.iter().zip(&boxes) {
            self.draw_box(&mut svg, number, place);
        }
        svg.push_str(&texts);
        svg.push_str("</svg>\n");
        svg
    }

    /// How far edges within a lane may reach beside it.
    fn bulge(&self) -> f64 {
        let thread = |node: usize| self.node(node).thread;
        let is_timed = self.nodes.iter().any(|&number| self.node(number).call.is_some());
        let is_within = |it: &Drawn<'_>| thread(it.edge.from) == thread(it.edge.to);
        let is_beside = |it: &Drawn<'_>| is_within(it) && (is_timed || it.edge.kind != EdgeKind::ProgramOrder);
        if self.edges.iter().any(is_beside) { 48.0 } else { 0.0 }
    }

    /// The middle of each lane that has a box.
    fn lanes(&self, boxes: &[Rect]) -> Vec<Option<f64>> {
        let of = |thread: usize| self.nodes.iter().position(|&number| self.node(number).thread == Some(thread));
        (0..self.story.threads.len()).map(|thread| of(thread).map(|at| boxes[at].middle())).collect()
    }

    /// The box of each node that is drawn.
    fn boxes(&self) -> Vec<Rect> {
        let text = |number: usize| {
            let node = self.node(number);
            let small = if node.thread.is_none() { 12 } else { columns(&node.place) };
            CHARACTER.mul_add(columns(&node.action).max(small) as f64, 22.0).min(320.0)
        };
        let of_lane = |thread: Option<usize>| {
            let texts = self.nodes.iter().filter(|&&it| self.node(it).thread == thread).map(|&it| text(it));
            texts.fold(0.0, f64::max)
        };
        let mut left = MARGIN + self.bulge();
        let mut lanes = Vec::with_capacity(self.story.threads.len());
        for (thread, name) in self.story.threads.iter().enumerate() {
            let widest = of_lane(Some(thread));
            let wide = if widest > 0.0 { widest.max(CHARACTER * columns(name) as f64) } else { 0.0 };
            lanes.push((left, wide));
            left += if wide > 0.0 { wide + GAP } else { 0.0 };
        }
        // Initial values have a lane of their own, to the right.
        let initial = (left, of_lane(None));
        let mut moments: Vec<u32> =
            self.nodes.iter().flat_map(|&it| [self.node(it).call, self.node(it).ret]).flatten().collect();
        moments.sort_unstable();
        let rank = |moment: u32| moments.binary_search(&moment).unwrap_or(0) as f64;
        let top = MARGIN + TITLE + NAMES;
        let (mut row, mut initial_row): (f64, f64) = (0.0, 0.0);
        self.nodes
            .iter()
            .map(|&number| {
                let node = self.node(number);
                let (x, wide) = node.thread.map_or(initial, |thread| lanes[thread]);
                let own = text(number);
                let x = x + (wide - own) / 2.0;
                if node.thread.is_none() {
                    initial_row += 1.0;
                    return Rect { x, y: (initial_row - 1.0).mul_add(BOX + 14.0, top), width: own, height: BOX };
                }
                let (y, height) = if let Some(call) = node.call {
                    let end = node.ret.map_or(moments.len() as f64, rank);
                    (rank(call).mul_add(EVENT, top), (end - rank(call)).max(1.0).mul_add(EVENT, BOX - EVENT))
                } else {
                    row += 1.0;
                    ((row - 1.0).mul_add(ROW, top), BOX)
                };
                Rect { x, y, width: own, height }
            })
            .collect()
    }

    /// The way of an edge from box to box.
    fn curve(&self, boxes: &[Rect], turn: usize, drawn: &Drawn<'_>) -> Option<Curve> {
        let place = |number: usize| self.nodes.iter().position(|&other| other == number).map(|at| (at, boxes[at]));
        let ((from_at, from), (to_at, to)) = (place(drawn.edge.from)?, place(drawn.edge.to)?);
        let same_lane = self.node(drawn.edge.from).thread == self.node(drawn.edge.to).thread;
        if same_lane {
            let between = |at: usize| {
                (from_at.min(to_at) + 1..from_at.max(to_at)).contains(&at) && boxes[at].overlaps_column(&from)
            };
            let is_adjacent = !(0..boxes.len()).any(between);
            if is_adjacent && from.bottom() + 26.0 <= to.y {
                let (start, end) = ((from.middle(), from.bottom()), (to.middle(), to.y));
                return Some([start, start, end, end]);
            }
            // Down on the left side, up on the right side.
            let out = (turn % 3) as f64 * 10.0 + 40.0;
            let [y, to_y] = [&from, &to].map(|it| it.y + it.height.min(BOX) / 2.0);
            let (x, to_x, bend) = if from_at < to_at {
                (from.x, to.x, from.x.min(to.x) - out)
            } else {
                (from.x + from.width, to.x + to.width, (from.x + from.width).max(to.x + to.width) + out)
            };
            return Some([(x, y), (bend, y), (bend, to_y), (to_x, to_y)]);
        }
        // Between lanes: from the side that faces the other box. Ends of several edges stand apart.
        let is_rightward = from.middle() < to.middle();
        let side = if is_rightward { -8.0 } else { 9.0 };
        let spread = |rect: &Rect| (turn % 3) as f64 * 4.0 - 4.0 + side + rect.height.min(BOX) / 2.0;
        let (start_x, end_x) = if is_rightward { (from.x + from.width, to.x) } else { (from.x, to.x + to.width) };
        // The order in time leads from a return to a call.
        let (start_y, end_y) = match drawn.edge.kind {
            EdgeKind::RealTime => (from.bottom() - 6.0, to.y + 8.0),
            _ => (from.y + spread(&from), to.y + spread(&to)),
        };
        let reach = ((end_x - start_x).abs() / 2.0).clamp(30.0, 120.0) * if is_rightward { 1.0 } else { -1.0 };
        Some([(start_x, start_y), (start_x + reach, start_y), (end_x - reach, end_y), (end_x, end_y)])
    }

    fn draw_box(&self, svg: &mut String, number: usize, place: &Rect) {
        let node = self.node(number);
        let class = if self.is_core(number) { "st-core" } else { "st-box" };
        let dashes = if node.is_pending { " stroke-dasharray=\"5 4\"" } else { "" };
        let fits = ((place.width - 18.0) / CHARACTER) as usize;
        let action = crate::lanes::canvas::cut(&node.action, fits.max(4));
        let middle = place.middle();
        let _ = writeln!(
            svg,
            "<g class=\"st-node\" data-node=\"{number}\"><title>{}</title>\
             <rect class=\"{class}\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"7\" \
             stroke-width=\"1.6\"{dashes}/>\
             <text class=\"st-text\" x=\"{middle:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>\
             <text class=\"st-dim\" x=\"{middle:.1}\" y=\"{:.1}\" font-size=\"10.5\" \
             text-anchor=\"middle\">{}</text></g>",
            escaped(&format!("{} {}", node.place, node.text)),
            place.x,
            place.y,
            place.width,
            place.height,
            place.y + 18.0,
            escaped(&action),
            place.y + 33.0,
            escaped(if node.thread.is_none() { "initial value" } else { &node.place })
        );
    }
}

impl Rect {
    fn overlaps_column(&self, other: &Self) -> bool {
        self.x < other.x + other.width && other.x < self.x + self.width
    }
}

/// A place for a label on its curve that overlaps no box and no other label, if there is one.
fn label_place(curve: &Curve, drawn: &Drawn<'_>, taken: &[Rect]) -> Rect {
    let (width, height) = (CHARACTER.mul_add(columns(drawn.edge.label) as f64, 6.0), 16.0);
    let place = |t: f64| {
        let (x, y) = at(curve, t);
        Rect { x: x - width / 2.0, y: y - height / 2.0, width, height }
    };
    // Edges that cross have their labels apart.
    let first = if drawn.edge.kind.is_basic() { 0.5 } else { 0.32 };
    let tries = [first, 0.42, 0.58, 0.34, 0.66, 0.26, 0.74, 0.18, 0.82];
    tries.into_iter().map(place).find(|it| !taken.iter().any(|other| it.overlaps(other))).unwrap_or_else(|| place(0.5))
}

fn draw(edges: &mut String, texts: &mut String, drawn: &Drawn<'_>, curve: &Curve, place: &Rect) {
    let kind = drawn.edge.kind;
    let colour = colour(kind, drawn.is_on_circle);
    let dashes = if kind.is_basic() { "" } else { " stroke-dasharray=\"6 4\"" };
    let width = if drawn.is_on_circle { 2.4 } else { 1.2 };
    // The tip leads in the direction in which the curve ends.
    let [_, _, (bend_x, bend_y), (x, y)] = *curve;
    let (before_x, before_y) = if (bend_x, bend_y) == (x, y) { curve[0] } else { (bend_x, bend_y) };
    let length = (x - before_x).hypot(y - before_y).max(1.0);
    let (along_x, along_y) = ((x - before_x) / length, (y - before_y) / length);
    let (back_x, back_y) = (along_x.mul_add(-9.0, x), along_y.mul_add(-9.0, y));
    let points: Vec<String> = curve[1..3].iter().map(|(x, y)| format!("{x:.1} {y:.1}")).collect();
    let _ = writeln!(
        edges,
        "<g class=\"st-edge\" data-edge=\"{}\"><title>{}</title><path d=\"M{:.1} {:.1}C{} {} {back_x:.1} {back_y:.1}\" \
         fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\"{dashes}/>\
         <path d=\"M{x:.1} {y:.1}L{:.1} {:.1}L{:.1} {:.1}z\" fill=\"{colour}\"/></g>",
        drawn.number,
        escaped(&drawn.edge.sentence.to_string()),
        curve[0].0,
        curve[0].1,
        points[0],
        points[1],
        along_y.mul_add(4.5, back_x),
        along_x.mul_add(-4.5, back_y),
        along_y.mul_add(-4.5, back_x),
        along_x.mul_add(4.5, back_y),
    );
    let _ = writeln!(
        texts,
        "<g class=\"st-edge\" data-edge=\"{}\"><text class=\"st-halo\" x=\"{:.1}\" y=\"{:.1}\" fill=\"{colour}\" \
         font-size=\"11.5\" font-weight=\"{}\" text-anchor=\"middle\" stroke-width=\"5\" stroke-linejoin=\"round\" \
         paint-order=\"stroke\">{}</text></g>",
        drawn.number,
        place.middle(),
        place.y + 12.0,
        if drawn.is_on_circle { "bold" } else { "normal" },
        escaped(drawn.edge.label)
    );
}
