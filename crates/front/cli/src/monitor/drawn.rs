//! The drawing of a violation, for the page of `--metrics`: what is left of the history, who clashes with whom, and
//! why.

use std::fmt::Write as _;
use std::time::Duration;

use history::History;
use model::{Model, Verdict};
use report::{Depth, Story, StoryGraph};
use seriatim::{Options, shrink};

/// How wide a drawing may be, in columns.
const WIDTH: usize = 110;
/// A history with more operations is not drawn: it would keep the stream waiting.
const MOST_OPERATIONS: usize = 200_000;

/// A drawing in text, and as a picture.
pub(super) struct Drawn {
    pub(super) text: String,
    pub(super) svg: String,
}

/// Draws why a history violates the model. `None` if that is not found out in time.
pub(super) fn draw(history: &History, model: Model, timeout: Duration) -> Option<Drawn> {
    if history.operations().len() > MOST_OPERATIONS {
        return None;
    }
    let shrunk = shrink(history, model, &Options::default().timeout(timeout)).ok()?;
    let story = Story::new(&shrunk.history, model, Verdict::Violation, shrunk.decision.evidence.as_ref()?);
    let mut text = String::new();
    for line in report::lanes::draw(&shrunk.history, &story, WIDTH) {
        let _ = writeln!(text, "{line}");
    }
    text.push('\n');
    for line in report::tell(&story, Depth::default(), WIDTH) {
        let _ = writeln!(text, "{line}");
    }
    Some(Drawn { text, svg: StoryGraph::new(&story, &format!("{model}: violation")).to_svg() })
}
