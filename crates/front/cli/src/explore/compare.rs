//! `seriatim explore --compare LOG`: the outcomes that a machine showed, beside those that a model allows.
//!
//! An outcome log holds one block for each test:
//!
//! ```text
//! Test SB Allowed                      Test SB Allowed
//! Histogram (2 states)                 States 2
//! 12    *>0:EAX=0; 1:EAX=0;            0:EAX=0; 1:EAX=0;
//! 99988 :>0:EAX=1; 1:EAX=1;            0:EAX=1; 1:EAX=1;
//! Ok                                   Ok
//! ```
//!
//! On the left is the form of litmus7, with the number of times that each outcome was seen; on the right that of herd.
//! Other lines of a log are skipped. The same test may stand in a log several times: its outcomes are added up.
//!
//! An outcome that was seen and that the model does not allow is a violation of the model. An outcome that is allowed
//! and was not seen is told, and is no fault.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use explore::Model;
use explore::litmus::{Report, Test};
use format::InputError;
use history::visible;
use serde_json::{Map, Value, json};

use crate::fault::Fault;
use crate::json;

/// The outcomes of all tests of a log.
pub(super) struct Log {
    file: Arc<str>,
    tests: BTreeMap<String, Seen>,
}

/// What was seen of one test: the values of named variables, and how often; none if the log does not say how often.
#[derive(Default)]
struct Seen {
    line: u32,
    outcomes: BTreeMap<BTreeMap<String, i64>, Option<u64>>,
    /// The first outcome that cannot be read. It matters only if the test is compared.
    bad: Option<InputError>,
}

/// What the comparison of a test says.
pub(super) struct Comparison {
    /// The outcomes that were seen, how often, and whether the model allows them.
    seen: Vec<(Vec<i64>, Option<u64>, bool)>,
    /// The outcomes that are allowed and were not seen.
    unseen: Vec<Vec<i64>>,
    is_complete: bool,
}

fn bad(line: u32, text: &str, at: usize, message: &str, expected: &str) -> InputError {
    let column = text.get(..at).map_or(0, |before| before.chars().count()) as u32 + 1;
    let shown: String = text.chars().take(240).collect();
    InputError { line, column, text: shown, message: message.to_owned(), expected: Some(expected.to_owned()) }
}

impl Log {
    /// Reads a log.
    pub fn read(path: &Path) -> Result<Self, Fault> {
        let file: Arc<str> = path.display().to_string().into();
        let bytes = super::read(path).map_err(|error| Fault::of_file(Arc::clone(&file), error.to_string()))?;
        let text = String::from_utf8_lossy(&bytes);
        let tests = parse(&text).map_err(|error| Fault::of_text(Arc::clone(&file), error))?;
        if tests.is_empty() {
            let message = "this is not an outcome log: no line `Test NAME` is followed by its states".to_owned();
            return Err(Fault::of_file(file, message));
        }
        Ok(Self { file, tests })
    }

    /// Compares a test. The values are in the order of the test's observed variables.
    pub fn compare(&self, test: &Test, report: &Report) -> Result<Comparison, Fault> {
        let fault = |message: String| Fault::of_file(Arc::clone(&self.file), message);
        let name = visible(test.name());
        let Some(known) = self.tests.get(test.name()) else {
            return Err(fault(format!("there is no test {name} in this log")));
        };
        if let Some(bad) = &known.bad {
            return Err(Fault::of_text(Arc::clone(&self.file), bad.clone()));
        }
        // A log writes a location as `x` or `[x]`. The registers of x86 are the same in capitals and small letters.
        let is_same = |one: &str, other: &str| {
            let plain = |name: &str| name.trim_start_matches('[').trim_end_matches(']').to_owned();
            one == other || plain(one) == plain(other) || one.contains(':') && one.eq_ignore_ascii_case(other)
        };
        let allowed: Vec<&Vec<i64>> = report.outcomes.iter().map(|outcome| &outcome.state).collect();
        let mut seen: Vec<(Vec<i64>, Option<u64>, bool)> = Vec::new();
        for (outcome, &count) in &known.outcomes {
            let value = |variable: String| {
                outcome.iter().find(|(name, _)| is_same(name, &variable)).map(|(_, &value)| value).ok_or(variable)
            };
            let state: Result<Vec<i64>, String> =
                test.observed().iter().map(|variable| value(variable.name())).collect();
            let state = state.map_err(|variable| {
                let message =
                    format!("the outcomes of {name} do not have {}, which the test asks for", visible(&variable));
                fault(message).in_line(u64::from(known.line))
            })?;
            // The log may tell of more variables than the test: what differs only there is one outcome.
            let is_allowed = allowed.contains(&&state);
            match seen.iter_mut().find(|(other, ..)| *other == state) {
                Some((_, sum, _)) => *sum = add(*sum, count),
                None => seen.push((state, count, is_allowed)),
            }
        }
        seen.sort();
        let is_seen = |state: &&Vec<i64>| seen.iter().any(|(other, ..)| other == *state);
        let unseen = allowed.into_iter().filter(|state| !is_seen(state)).cloned().collect();
        Ok(Comparison { seen, unseen, is_complete: report.is_complete })
    }
}

/// A sum of counts, of which one may not be known.
fn add(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    one.zip(other).map(|(one, other)| one.saturating_add(other))
}

/// The tests of a log.
fn parse(text: &str) -> Result<BTreeMap<String, Seen>, InputError> {
    let mut tests: BTreeMap<String, Seen> = BTreeMap::new();
    let mut name: Option<String> = None;
    let mut is_inside = false;
    for (number, line) in (1..).zip(text.lines()) {
        if let Some(rest) = line.strip_prefix("Test ") {
            name = rest.split_whitespace().next().map(str::to_owned);
            is_inside = false;
            continue;
        }
        if line.starts_with("Histogram (") || line.starts_with("States ") {
            is_inside = true;
            if let Some(name) = &name {
                tests.entry(name.clone()).or_insert_with(|| Seen { line: number, ..Seen::default() });
            }
            continue;
        }
        if !is_inside {
            continue;
        }
        // litmus7 puts `*>` before an outcome that satisfies the condition, and `:>` before another.
        let (count, outcome) = match line.find(":>").or_else(|| line.find("*>")) {
            Some(at) => {
                let count = line[..at].trim().parse::<u64>();
                let count =
                    count.map_err(|_| bad(number, line, 0, "this is not how often an outcome was seen", "a number"))?;
                (Some(count), (at + 2, &line[at + 2..]))
            }
            None => (None, (0, line)),
        };
        if !outcome.1.contains('=') || !outcome.1.trim_end().ends_with(';') {
            is_inside = false;
            continue;
        }
        let Some(seen) = name.as_ref().and_then(|name| tests.get_mut(name)) else {
            return Err(bad(number, line, 0, "this outcome belongs to no test", "a line `Test NAME` before it"));
        };
        let state = match state(number, line, outcome.0, outcome.1) {
            Ok(state) => state,
            Err(bad) => {
                seen.bad.get_or_insert(bad);
                continue;
            }
        };
        match seen.outcomes.get_mut(&state) {
            Some(sum) => *sum = add(*sum, count),
            None => _ = seen.outcomes.insert(state, count),
        }
    }
    Ok(tests)
}

/// The variables of an outcome: `0:EAX=0; [x]=1;`.
fn state(number: u32, line: &str, start: usize, text: &str) -> Result<BTreeMap<String, i64>, InputError> {
    let mut state = BTreeMap::new();
    let mut at = start;
    for part in text.split(';') {
        let place = at + (part.len() - part.trim_start().len());
        at += part.len() + 1;
        let part = part.trim();
        if part.is_empty() {
            continue;
        }
        let fault = |message, expected| bad(number, line, place, message, expected);
        let Some((name, value)) = part.split_once('=') else {
            return Err(fault("this is not the value of a variable", "`0:EAX=1` or `[x]=1`"));
        };
        let Some(value) = integer(value.trim()) else {
            return Err(fault("this value is not an integer, so it cannot be compared", "a number: `0:EAX=1`"));
        };
        if state.insert(name.trim().to_owned(), value).is_some() {
            return Err(fault("this variable has two values", "each variable once"));
        }
    }
    Ok(state)
}

/// An integer, also in hexadecimal.
fn integer(text: &str) -> Option<i64> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text),
    };
    let value = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(digits) => i64::from_str_radix(digits, 16).ok()?,
        // The greatest numbers without a sign stand for their bits.
        None => digits.parse().ok().or_else(|| digits.parse::<u64>().ok().map(|value| value as i64))?,
    };
    Some(sign * value)
}

impl Comparison {
    fn forbidden(&self) -> impl Iterator<Item = &(Vec<i64>, Option<u64>, bool)> {
        self.seen.iter().filter(|(_, _, is_allowed)| !is_allowed)
    }

    /// Whether something was seen that is not allowed, as far as executions were visited.
    pub fn is_violation(&self) -> bool {
        self.is_complete && self.forbidden().next().is_some()
    }

    /// Whether executions that were not visited may allow what was seen.
    pub fn is_unknown(&self) -> bool {
        !self.is_complete && self.forbidden().next().is_some()
    }

    fn verdict(&self) -> &'static str {
        match () {
            () if self.is_violation() => "violation",
            () if self.is_unknown() => "unknown",
            () => "consistent",
        }
    }

    /// The comparison in words.
    pub fn shown(&self, test: &Test, model: Model) -> String {
        let mut text = format!("{}: {model}: {}\n", visible(test.name()), self.verdict());
        for (state, count, _) in self.forbidden() {
            let times = match count {
                Some(1) => "once".to_owned(),
                Some(count) => format!("{count} times"),
                None => "at least once".to_owned(),
            };
            let what =
                if self.is_complete { "not allowed" } else { "not found among the executions that were visited" };
            let _ = writeln!(text, "  seen {times}, {what}: {}", test.title(state));
        }
        let (allowed, seen) = (self.seen.len() - self.forbidden().count() + self.unseen.len(), self.seen.len());
        let _ = writeln!(text, "  outcomes: {seen} seen, {allowed} allowed, {} of them not seen", self.unseen.len());
        for state in &self.unseen {
            let _ = writeln!(text, "  not seen: {}", test.title(state));
        }
        text
    }

    /// The comparison as a line of `--json`.
    pub fn line(&self, file: &str, log: &Log, test: &Test, model: Model) -> String {
        let named = |state: &[i64]| -> Map<String, Value> {
            test.observed()
                .iter()
                .zip(state)
                .map(|(variable, &value)| (variable.name(), json!(variable.number(value))))
                .collect()
        };
        let seen: Vec<Value> = self
            .seen
            .iter()
            .map(|(state, count, allowed)| json!({"state": named(state), "count": count, "allowed": allowed}))
            .collect();
        let unseen: Vec<Value> = self.unseen.iter().map(|state| json!(named(state))).collect();
        json::line(&json!({
            "file": file,
            "log": &*log.file,
            "test": test.name(),
            "model": model.name(),
            "verdict": self.verdict(),
            "seen": seen,
            "unseen": unseen,
            "complete": self.is_complete,
        }))
    }
}
