//! Plots as SVG, drawn here: lines, bars and boxes, in the forms that the papers use.

use std::fmt::Write;

/// The scale of an axis.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Spacing {
    /// Equal steps are equal differences.
    Linear,
    /// Equal steps are equal ratios. Values must be positive; others are drawn at the bottom.
    Logarithmic,
}

/// An axis.
#[derive(Clone, Debug)]
pub struct Axis {
    /// What it shows.
    pub title: String,
    /// Its scale.
    pub spacing: Spacing,
}

impl Axis {
    /// An axis of equal differences.
    pub fn linear(title: &str) -> Self {
        Self { title: title.to_owned(), spacing: Spacing::Linear }
    }

    /// An axis of equal ratios.
    pub fn logarithmic(title: &str) -> Self {
        Self { title: title.to_owned(), spacing: Spacing::Logarithmic }
    }
}

/// A line of a plot.
#[derive(Clone, Debug)]
pub struct Line {
    /// Its name in the legend.
    pub name: String,
    /// Its points.
    pub points: Vec<(f64, f64)>,
    /// Whether it is of Seriatim: drawn thicker.
    pub is_ours: bool,
}

/// What is drawn over the groups of a plot: a value for each group, if there is one.
#[derive(Clone, Debug)]
pub struct Group<T> {
    /// Its name in the legend.
    pub name: String,
    /// By group.
    pub values: Vec<Option<T>>,
}

/// The body of a plot.
#[derive(Clone, Debug)]
pub enum Form {
    /// Lines over an axis of numbers.
    Lines(Axis, Vec<Line>),
    /// Points over an axis of numbers, without lines.
    Points(Axis, Vec<Line>),
    /// Bars over groups of these names.
    Bars(Vec<String>, Vec<Group<f64>>),
    /// Boxes over groups of these names: least, quartiles, greatest.
    Boxes(Vec<String>, Vec<Group<[f64; 5]>>),
}

/// A plot.
#[derive(Clone, Debug)]
pub struct Plot {
    /// Its title.
    pub title: String,
    /// The axis of values.
    pub y: Axis,
    /// The rest.
    pub form: Form,
}

/// Colours that colour-blind people can tell apart (Okabe and Ito).
const COLOURS: [&str; 8] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#7f7f7f"];
const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 440.0;
/// The area of the values.
const LEFT: f64 = 80.0;
const RIGHT: f64 = 540.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 360.0;
/// The room above and below the values of a logarithmic axis, so that what is drawn around them is not cut.
const ROOM: f64 = 8.0;
/// Groups that are narrower have steeper names.
const NARROW: f64 = 20.0;

/// Where values stand on an axis.
struct Ruler {
    low: f64,
    high: f64,
    spacing: Spacing,
    from: f64,
    to: f64,
}

impl Ruler {
    fn new(values: impl Iterator<Item = f64>, spacing: Spacing, from: f64, to: f64) -> Self {
        let is_meant = |value: &f64| value.is_finite() && (spacing == Spacing::Linear || *value > 0.0);
        let (low, high) = values
            .filter(is_meant)
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
        let (low, high) = if low > high { (1.0, 10.0) } else { (low, high) };
        let (low, high) = match spacing {
            Spacing::Logarithmic => (10f64.powf(low.log10().floor()), 10f64.powf(high.log10().ceil())),
            Spacing::Linear => (low, high),
        };
        let high = match spacing {
            Spacing::Logarithmic if high <= low => low * 10.0,
            Spacing::Linear if high <= low => low + 1.0,
            _ => high,
        };
        Self { low, high, spacing, from, to }
    }

    /// With zero, and some room above.
    fn starting_at_zero(mut self) -> Self {
        if self.spacing == Spacing::Linear {
            self.low = self.low.min(0.0);
            self.high += (self.high - self.low) * 0.05;
        }
        self
    }

    fn place(&self, value: f64) -> f64 {
        let share = match self.spacing {
            Spacing::Linear => (value - self.low) / (self.high - self.low),
            Spacing::Logarithmic => {
                (value.max(self.low).log10() - self.low.log10()) / (self.high.log10() - self.low.log10())
            }
        };
        self.from + share * (self.to - self.from)
    }

    fn ticks(&self) -> Vec<f64> {
        match self.spacing {
            Spacing::Logarithmic => {
                let (first, last) = (self.low.log10().round() as i32, self.high.log10().round() as i32);
                let step = ((last - first) as usize / 8 + 1).max(1);
                (first..=last).step_by(step).map(|power| 10f64.powi(power)).collect()
            }
            Spacing::Linear => {
                let rough = (self.high - self.low) / 6.0;
                let power = 10f64.powf(rough.log10().floor());
                let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|it| it * power).find(|&step| step >= rough);
                let step = step.unwrap_or(10.0 * power);
                let first = (self.low / step).ceil() as i64;
                let last = (self.high / step + 1e-9).floor() as i64;
                (first..=last).map(|it| it as f64 * step).collect()
            }
        }
    }
}

/// A number of an axis.
fn number(value: f64) -> String {
    let size = value.abs();
    if size != 0.0 && !(1e-3..1e6).contains(&size) {
        return format!("{value:e}");
    }
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// The shape of series number `at`, around a place.
fn marker(at: usize, x: f64, y: f64, colour: &str) -> String {
    let r = 4.0;
    match at % 4 {
        0 => format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{r}\" fill=\"{colour}\"/>\n"),
        1 => format!("<rect x=\"{:.1}\" y=\"{:.1}\" width=\"8\" height=\"8\" fill=\"{colour}\"/>\n", x - r, y - r),
        2 => {
            let (a, b, c) = (y - r - 1.0, y + r, y + r);
            format!("<path d=\"M{x:.1} {a:.1}L{:.1} {b:.1}L{:.1} {c:.1}Z\" fill=\"{colour}\"/>\n", x - 5.0, x + 5.0)
        }
        _ => {
            let (left, right, up, down) = (x - 5.0, x + 5.0, y - 5.0, y + 5.0);
            format!(
                "<path d=\"M{x:.1} {up:.1}L{right:.1} {y:.1}L{x:.1} {down:.1}L{left:.1} {y:.1}Z\" fill=\"{colour}\"/>\n"
            )
        }
    }
}

fn text(x: f64, y: f64, anchor: &str, content: &str) -> String {
    format!("<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{}</text>\n", escape(content))
}

fn stroke(x1: f64, y1: f64, x2: f64, y2: f64, colour: &str) -> String {
    format!("<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" stroke=\"{colour}\"/>\n")
}

impl Plot {
    /// A plot of lines.
    pub fn lines(title: &str, x: Axis, y: Axis, lines: Vec<Line>) -> Self {
        Self { title: title.to_owned(), y, form: Form::Lines(x, lines) }
    }

    /// A plot of bars.
    pub fn bars(title: &str, y: Axis, groups: Vec<String>, bars: Vec<Group<f64>>) -> Self {
        Self { title: title.to_owned(), y, form: Form::Bars(groups, bars) }
    }

    /// A plot of boxes.
    pub fn boxes(title: &str, y: Axis, groups: Vec<String>, boxes: Vec<Group<[f64; 5]>>) -> Self {
        Self { title: title.to_owned(), y, form: Form::Boxes(groups, boxes) }
    }

    fn values(&self) -> Vec<f64> {
        match &self.form {
            Form::Lines(_, lines) | Form::Points(_, lines) => {
                lines.iter().flat_map(|line| line.points.iter().map(|point| point.1)).collect()
            }
            Form::Bars(_, bars) => bars.iter().flat_map(|bar| bar.values.iter().flatten().copied()).collect(),
            Form::Boxes(_, boxes) => {
                boxes.iter().flat_map(|it| it.values.iter().flatten().flatten().copied()).collect()
            }
        }
    }

    fn names(&self) -> Vec<&str> {
        match &self.form {
            Form::Lines(_, lines) | Form::Points(_, lines) => lines.iter().map(|line| &*line.name).collect(),
            Form::Bars(_, bars) => bars.iter().map(|bar| &*bar.name).collect(),
            Form::Boxes(_, boxes) => boxes.iter().map(|it| &*it.name).collect(),
        }
    }

    /// The plot as an SVG document.
    pub fn svg(&self) -> String {
        let has_room = self.y.spacing == Spacing::Logarithmic && !matches!(self.form, Form::Bars(..));
        let room = if has_room { ROOM } else { 0.0 };
        let y = Ruler::new(self.values().into_iter(), self.y.spacing, BOTTOM - room, TOP + room).starting_at_zero();
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" \
             height=\"{HEIGHT}\" font-family=\"sans-serif\" font-size=\"12\">\n\
             <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#ffffff\"/>\n"
        );
        svg.push_str(&text(f64::midpoint(LEFT, RIGHT), 22.0, "middle", &self.title));
        for tick in y.ticks() {
            let at = y.place(tick);
            svg.push_str(&stroke(LEFT, at, RIGHT, at, "#dddddd"));
            svg.push_str(&text(LEFT - 6.0, at + 4.0, "end", &number(tick)));
        }
        let middle = f64::midpoint(TOP, BOTTOM);
        let _ = writeln!(
            svg,
            "<text x=\"20\" y=\"{middle}\" text-anchor=\"middle\" transform=\"rotate(-90 20 {middle})\">{}</text>",
            escape(&self.y.title)
        );
        match &self.form {
            Form::Lines(x, lines) => draw_lines(&mut svg, x, &y, lines, true),
            Form::Points(x, lines) => draw_lines(&mut svg, x, &y, lines, false),
            Form::Bars(groups, bars) => {
                let slots = draw_groups(&mut svg, groups, bars.len());
                for (at, bar) in bars.iter().enumerate() {
                    for (group, value) in bar.values.iter().enumerate().filter_map(|(at, it)| Some((at, (*it)?))) {
                        let (x, width) = slots(group, at);
                        let top = y.place(value);
                        let _ = writeln!(
                            svg,
                            "<rect x=\"{x:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{:.1}\" fill=\"{}\"/>",
                            (BOTTOM - top).max(0.5),
                            COLOURS[at % COLOURS.len()]
                        );
                    }
                }
            }
            Form::Boxes(groups, boxes) => {
                let slots = draw_groups(&mut svg, groups, boxes.len());
                for (at, it) in boxes.iter().enumerate() {
                    for (group, values) in it.values.iter().enumerate().filter_map(|(at, it)| Some((at, (*it)?))) {
                        let (x, width) = slots(group, at);
                        let [least, low, median, high, greatest] = values.map(|value| y.place(value));
                        let colour = COLOURS[at % COLOURS.len()];
                        let centre = x + width / 2.0;
                        svg.push_str(&stroke(centre, least, centre, greatest, colour));
                        for end in [least, greatest] {
                            svg.push_str(&stroke(x + width / 4.0, end, x + width * 0.75, end, colour));
                        }
                        let _ = writeln!(
                            svg,
                            "<rect x=\"{x:.1}\" y=\"{high:.1}\" width=\"{width:.1}\" height=\"{:.1}\" \
                             fill=\"#ffffff\" stroke=\"{colour}\" stroke-width=\"1.5\"/>",
                            (low - high).max(1.0)
                        );
                        svg.push_str(&stroke(x, median, x + width, median, colour));
                    }
                }
            }
        }
        svg.push_str(&stroke(LEFT, TOP, LEFT, BOTTOM, "#000000"));
        svg.push_str(&stroke(LEFT, BOTTOM, RIGHT, BOTTOM, "#000000"));
        for (at, name) in self.names().into_iter().enumerate() {
            let place = TOP + 10.0 + 20.0 * at as f64;
            svg.push_str(&marker(at, RIGHT + 20.0, place - 4.0, COLOURS[at % COLOURS.len()]));
            svg.push_str(&text(RIGHT + 32.0, place, "start", name));
        }
        svg.push_str("</svg>\n");
        svg
    }
}

fn draw_lines(svg: &mut String, axis: &Axis, y: &Ruler, lines: &[Line], is_joined: bool) {
    let values = lines.iter().flat_map(|line| line.points.iter().map(|point| point.0));
    let x = Ruler::new(values, axis.spacing, LEFT + 15.0, RIGHT - 15.0);
    for tick in x.ticks() {
        let at = x.place(tick);
        svg.push_str(&stroke(at, BOTTOM, at, BOTTOM + 5.0, "#000000"));
        svg.push_str(&text(at, BOTTOM + 18.0, "middle", &number(tick)));
    }
    svg.push_str(&text(f64::midpoint(LEFT, RIGHT), BOTTOM + 42.0, "middle", &axis.title));
    for (at, line) in lines.iter().enumerate() {
        let colour = COLOURS[at % COLOURS.len()];
        let places: Vec<(f64, f64)> = line.points.iter().map(|point| (x.place(point.0), y.place(point.1))).collect();
        let path: Vec<String> = places.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        if is_joined {
            let _ = writeln!(
                svg,
                "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{}\"/>",
                path.join(" "),
                if line.is_ours { 2.5 } else { 1.2 }
            );
        }
        for (x, y) in places {
            svg.push_str(&marker(at, x, y, colour));
        }
    }
}

/// Writes the names of groups, and tells where the slot of each series in each group begins, and how wide it is.
fn draw_groups(svg: &mut String, groups: &[String], series: usize) -> impl Fn(usize, usize) -> (f64, f64) + use<> {
    let group = (RIGHT - LEFT) / groups.len().max(1) as f64;
    let slot = group * 0.8 / series.max(1) as f64;
    // Many or long names are written at an angle.
    let angle = if group < NARROW { -60 } else { -35 };
    let is_slanted = groups.iter().any(|name| name.chars().count() as f64 * 7.0 > group);
    for (at, name) in groups.iter().enumerate() {
        let (x, y) = (LEFT + group * (at as f64 + 0.5), BOTTOM + 16.0);
        if is_slanted {
            let _ = writeln!(
                svg,
                "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"end\" font-size=\"10\" \
                 transform=\"rotate({angle} {x:.1} {y:.1})\">{}</text>",
                escape(name)
            );
        } else {
            svg.push_str(&text(x, y, "middle", name));
        }
    }
    move |at, series| (LEFT + group * at as f64 + group * 0.1 + slot * series as f64 + slot * 0.05, slot * 0.9)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(svg: &str, what: &str) -> usize {
        svg.matches(what).count()
    }

    #[test]
    fn a_line_has_its_points_and_its_name() {
        let line = Line { name: "a < b".to_owned(), points: vec![(1.0, 0.001), (2.0, 10.0)], is_ours: true };
        let plot = Plot::lines("t", Axis::linear("x"), Axis::logarithmic("y"), vec![line]);
        let svg = plot.svg();
        assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n"));
        assert_eq!((counts(&svg, "<polyline"), counts(&svg, "<circle"), counts(&svg, "a &lt; b")), (1, 3, 1));
        // The least value of a logarithmic axis is at the bottom, the greatest at the top.
        let (bottom, top) = (BOTTOM - ROOM, TOP + ROOM);
        assert!(svg.contains(&format!("{:.1},{bottom:.1} {:.1},{top:.1}", LEFT + 15.0, RIGHT - 15.0)), "{svg}");
    }

    #[test]
    fn bars_and_boxes_have_one_shape_for_each_value() {
        let groups = || vec!["one".to_owned(), "two".to_owned()];
        let bars = Group { name: "s".to_owned(), values: vec![Some(1.0), None] };
        let plot = Plot::bars("t", Axis::linear("y"), groups(), vec![bars]);
        assert_eq!(counts(&plot.svg(), "<rect"), 2, "the ground, and one bar");
        let boxes = Group { name: "s".to_owned(), values: vec![Some([1.0, 2.0, 3.0, 4.0, 5.0]), None] };
        let plot = Plot::boxes("t", Axis::logarithmic("y"), groups(), vec![boxes]);
        assert_eq!(counts(&plot.svg(), "<rect"), 2);
    }

    #[test]
    fn nothing_to_draw_is_an_empty_plot() {
        for form in [Form::Lines(Axis::linear("x"), Vec::new()), Form::Bars(Vec::new(), Vec::new())] {
            let plot = Plot { title: "t".to_owned(), y: Axis::logarithmic("y"), form };
            assert!(!plot.svg().contains("NaN"));
        }
    }
}
