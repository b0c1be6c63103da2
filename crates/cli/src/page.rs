//! Makes the page of a verdict: shrinks the history, finds what can be played, and asks the other models.

use std::io::{self, Write};
use std::time::Duration;

use certificate::{Evidence, Verdict, View};
use history::History;
use history::format::{Format, Writer};
use memory::classify::Basis;
use memory::lattice;
use report::page::{Page, Part, Shrunk, Standing, Witness};
use seriatim::{Decision, Model, Options, Prefix, check, classify, fitting, longest_prefix, shrink};

use crate::flags::Reading;
use crate::input::Input;
use crate::panics;

/// How long one of the other models may take.
const OTHERS: Duration = Duration::from_secs(5);
/// In a history of more operations than this, only one order of the longest beginning is kept.
const ORDERS: usize = 10_000;
/// A certificate longer than this is not in the page.
const CERTIFICATE: usize = 100_000;

/// Writes the page of a decision. The decision on a consistent history has a witness.
pub(crate) fn write(
    input: &Input,
    decision: &Decision,
    reading: &Reading,
    options: &Options,
    timeout: Duration,
    out: &mut impl Write,
) -> io::Result<()> {
    let history = &input.history;
    let model = decision.model;
    let is_violation = decision.verdict == Verdict::Violation;
    // What cannot be found, for whatever reason, is left out. The verdict stands by itself.
    let shrunk = is_violation.then(|| panics::catch(|| shrink(history, model, options).ok()).ok().flatten()).flatten();
    let beginning = |history: &History| -> Option<Prefix> {
        let is_asked = is_violation && model.row().view == View::Calls;
        is_asked.then(|| panics::catch(|| longest_prefix(history, options)).ok().flatten()).flatten()
    };
    let whole_beginning = beginning(history);
    let shrunk_beginning = shrunk.as_ref().and_then(|shrunk| beginning(&shrunk.history));
    let standings = standings(history, decision, options.timeout(timeout.min(OTHERS)));
    let number = |model: Model| standings.iter().position(|standing| standing.model == model);
    let stated = lattice::implications().filter_map(|(from, to)| Some((number(from)?, number(to)?)));
    let mut witnesses = played(whole_beginning.as_ref(), history.operations().len() <= ORDERS);
    if let (Verdict::Consistent, Some(evidence)) = (decision.verdict, &decision.evidence) {
        witnesses.push(Witness { evidence, died: None, of: None });
    }
    let page = Page {
        file: input.label(),
        model,
        verdict: decision.verdict,
        strategy: decision.strategy,
        reason: decision.reason.as_deref(),
        shrunk: shrunk.as_ref().map(|shrunk| Shrunk {
            part: Part {
                history: &shrunk.history,
                violation: shrunk.decision.evidence.as_ref(),
                witnesses: played(shrunk_beginning.as_ref(), true),
            },
            is_minimal: shrunk.is_minimal,
            text: text(&shrunk.history),
            certificate: shrunk
                .decision
                .certificate(0, &shrunk.history)
                .map(|certificate| certificate.to_json(&shrunk.history))
                .filter(|json| json.len() <= CERTIFICATE),
        }),
        whole: Part { history, violation: decision.evidence.as_ref().filter(|_| is_violation), witnesses },
        implications: stated.collect(),
        command: command(input, model, reading),
        standings,
    };
    page.write(out)
}

/// The orders of the longest beginning. If `all` is not wanted, only its first.
fn played(beginning: Option<&Prefix>, all: bool) -> Vec<Witness<'_>> {
    let Some(Prefix { died, witness, open, .. }) = beginning else { return Vec::new() };
    let of_open = open.iter().filter(|_| all);
    let of_open = of_open.filter_map(|(id, evidence)| Some((Some(*id), evidence.as_ref()?)));
    let all = [(None, witness)].into_iter().chain(of_open);
    all.map(|(of, evidence): (_, &Evidence)| Witness { evidence, died: Some(*died), of }).collect()
}

/// The verdicts of the models that fit, the weakest first.
fn standings(history: &History, decision: &Decision, options: Options) -> Vec<Standing> {
    let fitting = fitting(history);
    let own = |model: Model| Standing { model, verdict: Some(decision.verdict), how: "this page".to_owned() };
    let mut standings = Vec::new();
    if fitting.iter().any(|model| model.row().view == View::Execution)
        && let Ok(Ok(classification)) = panics::catch(|| classify(history, &options))
    {
        for standing in classification.standings {
            let how = match standing.basis {
                Basis::Run(..) => "checked".to_owned(),
                Basis::Implied(by) => format!("follows from {by}"),
                Basis::Inapplicable => "does not apply".to_owned(),
            };
            standings.push(Standing { model: standing.model, verdict: standing.verdict, how });
        }
    }
    for model in fitting {
        if model == decision.model || standings.iter().any(|standing| standing.model == model) {
            continue;
        }
        if let Ok(Ok(decided)) = panics::catch(|| check(history, model, &options)) {
            standings.push(Standing { model, verdict: Some(decided.verdict), how: "checked".to_owned() });
        }
    }
    // What this page is about was decided with more time.
    match standings.iter_mut().find(|standing| standing.model == decision.model) {
        Some(standing) => *standing = own(decision.model),
        None => standings.push(own(decision.model)),
    }
    standings
}

/// A history in the text format, with the lines in which its operations stood.
fn text(history: &History) -> String {
    let mut writer = Writer::new(Vec::new(), Format::Text).with_places();
    let written = writer.write(history).and_then(|()| writer.finish());
    // The text format can express every history, and a vector takes it.
    written.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
}

/// The command line that decides the history again.
fn command(input: &Input, model: Model, reading: &Reading) -> String {
    let mut words = vec!["seriatim".to_owned(), "check".to_owned(), "--model".to_owned(), model.name().to_owned()];
    if let Some(object) = reading.object {
        words.extend(["--object".to_owned(), object.name().to_owned()]);
    }
    if let Some(format) = reading.format {
        words.extend(["--format".to_owned(), format.name().to_owned()]);
    }
    if let Some(initial) = &reading.initial {
        words.push(format!("--initial={}", quoted(initial)));
    }
    let file = if input.several { format!("{}#{}", input.file, input.number) } else { input.file.to_string() };
    words.push(quoted(&file));
    words.join(" ")
}

/// A word for a shell.
fn quoted(word: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:,@%+".contains(&byte);
    if !word.is_empty() && word.bytes().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}
