//! What CI servers read: JUnit XML (`check --junit`), and annotations of GitHub (`check --github`).
//!
//! All texts come from files that nobody vouches for. In XML they are escaped, and characters that XML does not allow
//! are written as `visible` writes them. In a workflow command of GitHub, a newline, a percent sign and, in a property,
//! a colon and a comma are written by their numbers, so no text can end a command or begin another.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufWriter, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use history::{History, visible};
use report::drawing::escaped;
use serde::{Deserialize, Serialize};
use seriatim::{Decision, Verdict};

use crate::fault::Fault;
use crate::input::Input;
use crate::output::Output;

/// What is said about one history.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct Cases {
    /// `testcase` elements.
    pub(crate) junit: String,
    /// Workflow commands.
    pub(crate) github: String,
    counts: Counts,
}

#[derive(Copy, Clone, Default, Serialize, Deserialize)]
struct Counts {
    tests: u64,
    failures: u64,
    errors: u64,
}

/// The value of an attribute, in its quotes.
fn attribute(text: &str) -> String {
    format!("\"{}\"", escaped(text).replace('"', "&quot;"))
}

/// The text of a workflow command.
fn data(text: &str) -> String {
    let lines: Vec<_> = text.lines().map(visible).collect();
    lines.join("\n").replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// A property of a workflow command.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

/// A workflow command at a place of a file. Standard input is no file.
fn annotation(level: &str, file: &str, line: Option<u64>, title: &str, text: &str) -> String {
    let mut properties = Vec::new();
    if file != "-" {
        properties.push(format!("file={}", property(file)));
        properties.extend(line.map(|line| format!("line={line}")));
    }
    properties.push(format!("title={}", property(title)));
    format!("::{level} {}::{}\n", properties.join(","), data(text))
}

impl Cases {
    /// Adds a verdict. `annotates` if annotations are wanted.
    pub(crate) fn add(&mut self, input: &Input, decision: &Decision, time: Duration, annotates: bool) {
        let title = format!("{}: {}: {}", input.label(), decision.model, decision.verdict.name());
        let lines = decision.explain(&input.history).lines;
        let told: Vec<String> = lines.iter().map(ToString::to_string).collect();
        let reason = decision.reason.clone().unwrap_or_default();
        self.counts.tests += 1;
        let _ = write!(
            self.junit,
            "    <testcase classname={} name={} time=\"{:.6}\"",
            attribute(&input.file),
            attribute(&format!("{}: {}", input.label(), decision.model)),
            time.as_secs_f64()
        );
        match decision.verdict {
            Verdict::Consistent => self.junit.push_str("/>\n"),
            Verdict::Violation => {
                self.counts.failures += 1;
                let message = attribute(told.first().map_or("violation", String::as_str));
                let text: Vec<String> = told.iter().map(|line| escaped(line)).collect();
                let text = text.join("\n");
                let _ = writeln!(
                    self.junit,
                    ">\n      <failure type=\"violation\" message={message}>{text}</failure>\n    </testcase>"
                );
                let line = lines.iter().flat_map(report::Line::operations).find_map(|id| line_of(&input.history, id));
                if annotates {
                    self.github.push_str(&annotation("error", &input.file, line, &title, &told.join("\n")));
                }
            }
            Verdict::Unknown => {
                self.counts.errors += 1;
                let message = attribute(&reason);
                let _ = writeln!(self.junit, ">\n      <error type=\"unknown\" message={message}/>\n    </testcase>");
                if annotates {
                    self.github.push_str(&annotation("warning", &input.file, None, &title, &reason));
                }
            }
        }
    }

    /// Adds an input without a verdict.
    pub(crate) fn add_fault(&mut self, fault: &Fault, annotates: bool) {
        self.counts.tests += 1;
        self.counts.errors += 1;
        let (file, line, message) = (fault.file(), fault.line(), fault.message());
        let name = line.map_or_else(|| file.to_owned(), |line| format!("{file}:{line}"));
        let _ = writeln!(
            self.junit,
            "    <testcase classname={} name={}>\n      <error type=\"input\" message={}/>\n    </testcase>",
            attribute(file),
            attribute(&name),
            attribute(message)
        );
        if annotates {
            self.github.push_str(&annotation("error", file, line, "bad input", message));
        }
    }
}

/// The line of an operation; none for the read of a final value.
fn line_of(history: &History, id: history::OperationId) -> Option<u64> {
    history.operations().get(id.index()).map(|operation| u64::from(operation.line)).filter(|&line| line > 0)
}

/// A file of JUnit XML. Its cases are kept in a temporary file, because their counts stand above them.
pub(crate) struct Junit {
    path: PathBuf,
    cases: BufWriter<File>,
    counts: Counts,
}

impl Junit {
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        // A file that cannot be written is better known now than after the run.
        drop(Output::open(Some(path))?);
        Ok(Self { path: path.to_owned(), cases: BufWriter::new(tempfile::tempfile()?), counts: Counts::default() })
    }

    pub(crate) fn add(&mut self, cases: &Cases) -> io::Result<()> {
        let Counts { tests, failures, errors } = cases.counts;
        self.counts.tests += tests;
        self.counts.failures += failures;
        self.counts.errors += errors;
        self.cases.write_all(cases.junit.as_bytes())
    }

    /// Writes the file.
    pub(crate) fn finish(self, time: Duration) -> io::Result<()> {
        let Self { path, cases, counts } = self;
        let mut out = Output::open(Some(&path))?;
        let mut cases = cases.into_inner().map_err(io::IntoInnerError::into_error)?;
        cases.rewind()?;
        let Counts { tests, failures, errors } = counts;
        let counts = format!(
            "name=\"seriatim check\" tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\" time=\"{:.3}\"",
            time.as_secs_f64()
        );
        write!(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites {counts}>\n  <testsuite {counts}>\n")?;
        io::copy(&mut cases, &mut out)?;
        out.write_all(b"  </testsuite>\n</testsuites>\n")?;
        out.commit()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_of_github_cannot_be_ended_by_its_text() {
        let told = annotation("error", "a,b:c.hist", Some(3), "x%\n::error::", "one\ntwo\u{1b}[2J 50%\n::warning::");
        assert_eq!(
            told,
            "::error file=a%2Cb%3Ac.hist,line=3,title=x%25%0A%3A%3Aerror%3A%3A::\
             one%0Atwo\\u{1b}[2J 50%25%0A::warning::\n"
        );
        assert_eq!(annotation("warning", "-", Some(3), "t", "x"), "::warning title=t::x\n");
    }

    #[test]
    fn attributes_are_escaped() {
        assert_eq!(attribute("a\"<b>&\u{0}'"), "\"a&quot;&lt;b&gt;&amp;\\u{0}'\"");
    }
}
