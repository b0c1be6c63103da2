//! A page that shows a verdict: one HTML file, which needs nothing else and no network.
//!
//! The page says first what the verdict is and why, then draws the operations that clash, and then the whole history
//! as a timeline. A violating history is shown shrunk first; a consistent one has a witness that can be played. The
//! program of the page is in `page/src`, and is built into `page/dist`, which this module embeds. What a page shows is
//! data: names and values get into the document as text only.
//!
//! [`Page`] is the page of one verdict, [`Index`] the page of a run, with links to the pages of its verdicts.

mod block;
mod columns;
mod index;
pub mod live;

use std::io::{self, Write};

use history::{History, OperationId, visible};
use model::{Evidence, Model, Verdict};
use rustc_hash::FxHashSet;
use serde_json::{Map, Value as Json, json};

use self::block::Block;
pub use self::index::{Index, IndexEntry};
use crate::story::Story;
use crate::tale::words;
use crate::text::Line;

/// The program of a page, and its style: what `page/build.mjs` makes of `page/src`.
const PROGRAM: &str = include_str!("../../page/dist/page.js");
const STYLE: &str = include_str!("../../page/dist/page.css");

/// How many edges a story has at most.
const EDGES: usize = 10_000;

/// The page of one verdict.
#[derive(Clone, Debug)]
pub struct Page<'a> {
    /// The file of the history, as it is shown.
    pub file: String,
    /// The model.
    pub model: Model,
    /// The verdict on the whole history.
    pub verdict: Verdict,
    /// The name of the tactic or algorithm that decided.
    pub strategy: &'a str,
    /// Why the verdict is `unknown`.
    pub reason: Option<&'a str>,
    /// What is left of a violating history after shrinking.
    pub shrunk: Option<ShrunkHistory<'a>>,
    /// The whole history.
    pub whole: ShownHistory<'a>,
    /// The verdicts of the models that the history can be asked about.
    pub standings: Vec<ShownVerdict>,
    /// Which of these models implies which other, by their places among the standings.
    pub implications: Vec<(usize, usize)>,
    /// The command line that gives the verdict again.
    pub command: String,
}

/// A history that is shown, and what is known about it.
#[derive(Clone, Debug)]
pub struct ShownHistory<'a> {
    /// The history.
    pub history: &'a History,
    /// Why it violates the model; none if it does not, or if nobody knows.
    pub violation: Option<&'a Evidence>,
    /// What can be played, the most telling first.
    pub witnesses: Vec<Playable<'a>>,
}

/// The minimal counterexample of a page.
#[derive(Clone, Debug)]
pub struct ShrunkHistory<'a> {
    /// Its operations.
    pub part: ShownHistory<'a>,
    /// Whether it is known to be minimal.
    pub is_minimal: bool,
    /// It, as a text that `seriatim check` reads.
    pub text: String,
    /// Its certificate, in JSON.
    pub certificate: Option<String>,
}

/// An order of operations that can be played.
#[derive(Clone, Debug)]
pub struct Playable<'a> {
    /// The order, or the orders.
    pub evidence: &'a Evidence,
    /// For the longest beginning of a violating history that has a witness: the operation whose return comes next, and
    /// leaves no order.
    pub died: Option<OperationId>,
    /// The operation, still open there, that this witness was made to contain.
    pub of: Option<OperationId>,
}

/// The verdict of a model on the whole history.
#[derive(Clone, Debug)]
pub struct ShownVerdict {
    /// The model.
    pub model: Model,
    /// Its verdict; none if the model does not apply.
    pub verdict: Option<Verdict>,
    /// How the verdict is known, in words.
    pub how: String,
}

impl Page<'_> {
    /// Writes the page.
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let whole = self.whole.history.observed();
        let shrunk = self.shrunk.as_ref().map(|shrunk| (shrunk, shrunk.part.history.observed()));
        let title = format!("{}: {}: {}", self.file, self.model, self.verdict.name());
        let first = self.shrunk.as_ref().map_or(&self.whole, |shrunk| &shrunk.part);
        let told = first.violation.map(|evidence| Story::new(first.history, self.model, Verdict::Violation, evidence));
        let lines = told.as_ref().map_or_else(Vec::new, words);
        let again = Line::default().plain(format!("This decides it again: {}", self.command));
        let said: Vec<Line> = lines.iter().cloned().chain([Line::default(), again]).collect();
        begin(out, &title, &self.first_words(told.as_ref()), &said)?;
        let mut header = Map::new();
        let mut put = |name: &str, value: Json| header.insert(name.to_owned(), value);
        put("version", json!(env!("CARGO_PKG_VERSION")));
        put("file", json!(visible(&self.file)));
        put("name", json!(self.whole.history.name().map(|name| visible(name).into_owned())));
        put("model", json!(self.model.name()));
        put("title", json!(self.model.row().title));
        put("definition", json!(self.model.row().definition));
        put("verdict", json!(self.verdict.name()));
        put("strategy", json!(self.strategy));
        put("reason", json!(self.reason.map(|reason| visible(reason).into_owned())));
        put("digest", json!(model::digest(self.whole.history)));
        put("operations", json!(self.whole.history.operations().len()));
        put("threads", json!(threads(first.history)));
        put("command", json!(visible(&self.command)));
        put("models", self.standings.iter().map(ShownVerdict::to_json).collect());
        put("implications", json!(self.implications));
        put("whole", self.whole.to_json(told.as_ref().filter(|_| shrunk.is_none()), &lines));
        if let Some((shrunk, _)) = &shrunk {
            let mut part = shrunk.part.to_json(told.as_ref(), &lines);
            part["operations"] = json!(shrunk.part.history.observed().operations().len());
            part["minimal"] = json!(shrunk.is_minimal);
            part["text"] = json!(shrunk.text);
            part["digest"] = json!(model::digest(shrunk.part.history));
            part["certificate"] = json!(shrunk.certificate);
            put("shrunk", part);
        }
        Block::new(header).write("meta", out)?;
        if let Some((shrunk, history)) = &shrunk {
            columns::block(history, &shrunk.part.witnesses, &origins(history, &whole)).write("shrunk", out)?;
        }
        // The program runs before the browser has read the whole history, which may be long.
        program(out)?;
        columns::block(&whole, &self.whole.witnesses, &[]).write("whole", out)?;
        end(out)
    }

    /// What the page shows until its program runs.
    fn first_words(&self, told: Option<&Story>) -> String {
        let operations = self.whole.history.operations().len();
        let verb = match self.verdict {
            Verdict::Violation => "Violates",
            Verdict::Consistent => "Satisfies",
            Verdict::Unknown => "Unknown:",
        };
        format!(
            "<main><div class=\"verdict {}\"><p class=\"file\"><code>{}</code></p><h1>{verb} {}</h1>\
             <p class=\"lead\">{}</p></div><p class=\"progress\" role=\"status\"><progress></progress>\
             Reading {operations} operations…</p></main>",
            self.verdict.name(),
            escaped(&self.file),
            escaped(self.model.row().title),
            told.map_or_else(String::new, |story| escaped(story.heading.to_string().trim_end_matches(':'))),
        )
    }
}

/// How many threads have operations.
fn threads(history: &History) -> usize {
    history.observed().operations().iter().map(|operation| operation.process).collect::<FxHashSet<_>>().len()
}

impl ShownHistory<'_> {
    /// The part as data; with its story, if it is the part that is told.
    fn to_json(&self, told: Option<&Story>, lines: &[Line]) -> Json {
        let lines = if told.is_some() { lines } else { &[] };
        // Nobody unfolds a derivation of so many edges; the certificate has it.
        let story = told.filter(|story| story.parts.iter().map(|part| part.edges.len()).sum::<usize>() <= EDGES);
        let clash: Vec<u32> =
            self.violation.map_or_else(Vec::new, Evidence::operations).iter().map(|id| id.0).collect();
        json!({ "explanation": lines, "clash": clash, "story": story })
    }
}

impl ShownVerdict {
    fn to_json(&self) -> Json {
        json!({
            "name": self.model.name(),
            "title": self.model.row().title,
            "definition": self.model.row().definition,
            "verdict": self.verdict.map(Verdict::name),
            "how": self.how,
        })
    }
}

/// For each operation of a part of a history: the operation of the whole history that it is. A part keeps the order and
/// the lines of the operations.
fn origins(part: &History, whole: &History) -> Vec<u32> {
    let of = |history: &History, id: OperationId| {
        let operation = history.operation(id);
        let line = if operation.is_at_the_end() { u32::MAX } else { operation.line };
        (line, history.process_name(operation.process), history.key_name(operation.key))
    };
    let wanted: Vec<_> = (0..part.operations().len() as u32).map(|id| of(part, OperationId(id))).collect();
    let lines: FxHashSet<u32> = wanted.iter().map(|(line, ..)| *line).collect();
    let mut next = 0;
    let mut origins = Vec::with_capacity(wanted.len());
    for wanted in &wanted {
        let is_it = |&id: &u32| {
            let operation = whole.operation(OperationId(id));
            let line = if operation.is_at_the_end() { u32::MAX } else { operation.line };
            lines.contains(&line) && of(whole, OperationId(id)) == *wanted
        };
        let found = (next..whole.operations().len() as u32).find(is_it).unwrap_or(next);
        origins.push(found);
        next = found + 1;
    }
    origins
}

/// The beginning of a page: what it shows at first, in HTML. Its data blocks come next. The lines are what a reader
/// without scripts sees.
fn begin(out: &mut impl Write, title: &str, first: &str, lines: &[Line]) -> io::Result<()> {
    let title = escaped(title);
    write!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'unsafe-inline'; \
         style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"generator\" content=\"seriatim {}\">\n\
         <title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<div id=\"page\">{first}</div>\n<noscript>\n\
         <style>#page {{ display: none; }}</style>\n<h1>{title}</h1>\n<pre>",
        env!("CARGO_PKG_VERSION")
    )?;
    for line in lines {
        writeln!(out, "{}", escaped(&line.to_string()))?;
    }
    out.write_all(b"</pre>\n<p>The drawings of this page need JavaScript.</p>\n</noscript>\n")
}

/// The program of a page. It waits for the blocks that come after it.
fn program(out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "<script>{PROGRAM}</script>")
}

fn end(out: &mut impl Write) -> io::Result<()> {
    out.write_all(b"</body>\n</html>\n")
}

/// A text as it stands in HTML.
fn escaped(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in visible(text).chars() {
        match character {
            '&' => shown.push_str("&amp;"),
            '<' => shown.push_str("&lt;"),
            '>' => shown.push_str("&gt;"),
            '"' => shown.push_str("&quot;"),
            '\'' => shown.push_str("&#39;"),
            _ => shown.push(character),
        }
    }
    shown
}
