//! The page of a decision: an HTML file that shows the verdict and why it holds.
//!
//! The [`Findings`] are what a page shows besides the decision: the minimal counterexample, the longest beginning that
//! has an order, the verdicts of the other models. They take time, and are found first; to write the page takes none.

use std::io::{self, Write};
use std::time::Duration;

use format::{Format, Writer};
use history::History;
use model::classification::Basis;
use model::{Evidence, Model, Verdict, View, implications};
use report::page::{Page, Playable, ShownHistory, ShownVerdict};

use crate::checker::classify_knowing;
use crate::{Decision, Options, Prefix, Shrunk, check, fitting, longest_prefix, shrink};

/// How long one of the other models may take, at most.
const OTHERS: Duration = Duration::from_secs(5);
/// In a history of more operations than this, only one order of the longest beginning is kept.
const ORDERS: usize = 10_000;
/// A certificate longer than this is not in the page.
const CERTIFICATE: usize = 100_000;

/// What a page shows besides the decision.
#[derive(Debug, Default)]
pub struct Findings {
    shrunk: Option<Shrunk>,
    /// Of the whole history, and of the shrunk one.
    beginnings: [Option<Prefix>; 2],
    standings: Vec<ShownVerdict>,
}

impl Findings {
    /// Finds what there is to show about a decision. The time limit of the options holds for each check; what is not
    /// found in time is not shown.
    pub fn of(history: &History, decision: &Decision, options: &Options) -> Self {
        let is_violation = decision.verdict == Verdict::Violation;
        let shrunk = is_violation.then(|| shrink(history, decision.model, options).ok()).flatten();
        let is_linear = is_violation && decision.model.row().view == View::Calls;
        let beginning = |history: &History| is_linear.then(|| longest_prefix(history, options)).flatten();
        let beginnings = [beginning(history), shrunk.as_ref().and_then(|shrunk| beginning(&shrunk.history))];
        let standings = standings(history, decision, &options.clone().at_most(OTHERS));
        Self { shrunk, beginnings, standings }
    }
}

/// Writes the page of a decision on a history. The decision on a consistent history should have a
/// [witness](Options::witness), which the page plays. `file` is the name of the history, and `command` the command line
/// that gives the verdict again; both are shown.
///
/// ```
/// use seriatim::{Findings, History, Model, Options, check, write_page};
///
/// let history = seriatim::parse("[a] w x 1\n[a] w y 1\n[b] r y 1\n[b] r x 0\n")?;
/// let options = Options::default().witness(true);
/// let decision = check(&history, Model::Sc, &options)?;
/// let findings = Findings::of(&history, &decision, &options);
/// let mut page = Vec::new();
/// write_page(&history, &decision, &findings, "mp.hist", "seriatim check mp.hist", &mut page)?;
/// assert!(page.starts_with(b"<!doctype html>"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write_page(
    history: &History,
    decision: &Decision,
    findings: &Findings,
    file: &str,
    command: &str,
    out: &mut impl Write,
) -> io::Result<()> {
    let model = decision.model;
    let Findings { shrunk, beginnings: [whole_beginning, shrunk_beginning], standings } = findings;
    let is_violation = decision.verdict == Verdict::Violation;
    let mut witnesses = played(whole_beginning.as_ref(), history.operations().len() <= ORDERS);
    if let (Verdict::Consistent, Some(evidence)) = (decision.verdict, &decision.evidence) {
        witnesses.push(Playable { evidence, died: None, of: None });
    }
    let own = ShownVerdict { model, verdict: Some(decision.verdict), how: "this page".to_owned() };
    let standings = if standings.is_empty() { vec![own] } else { standings.clone() };
    let number = |model: Model| standings.iter().position(|standing| standing.model == model);
    let stated = implications().filter_map(|(from, to)| Some((number(from)?, number(to)?)));
    let page = Page {
        file: file.to_owned(),
        model,
        verdict: decision.verdict,
        strategy: decision.strategy,
        reason: decision.reason.as_deref(),
        shrunk: shrunk.as_ref().map(|shrunk| report::page::ShrunkHistory {
            part: ShownHistory {
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
        whole: ShownHistory { history, violation: decision.evidence.as_ref().filter(|_| is_violation), witnesses },
        implications: stated.collect(),
        command: command.to_owned(),
        standings,
    };
    page.write(out)
}

/// The orders of the longest beginning. If `all` is not wanted, only its first.
fn played(beginning: Option<&Prefix>, all: bool) -> Vec<Playable<'_>> {
    let Some(Prefix { died, witness, open, .. }) = beginning else { return Vec::new() };
    let of_open = open.iter().filter(|_| all);
    let of_open = of_open.filter_map(|(id, evidence)| Some((Some(*id), evidence.as_ref()?)));
    let all = [(None, witness)].into_iter().chain(of_open);
    all.map(|(of, evidence): (_, &Evidence)| Playable { evidence, died: Some(*died), of }).collect()
}

/// The verdicts of the models that fit, the weakest first. What the decision implies is not asked again: it was made
/// with more time. If it is unknown, its model may still follow from another.
fn standings(history: &History, decision: &Decision, options: &Options) -> Vec<ShownVerdict> {
    let fitting = fitting(history);
    let own = || ShownVerdict { model: decision.model, verdict: Some(decision.verdict), how: "this page".to_owned() };
    let mut standings = Vec::new();
    if fitting.iter().any(|model| matches!(model.row().view, View::Execution | View::Transactions))
        && let Ok(classification) = classify_knowing(history, Some(decision), options)
    {
        for standing in classification.standings {
            let how = match standing.basis {
                Basis::Run(..) => "checked".to_owned(),
                Basis::Implied(by) => format!("follows from {by}"),
                Basis::Inapplicable => "does not apply".to_owned(),
            };
            standings.push(ShownVerdict { model: standing.model, verdict: standing.verdict, how });
        }
    }
    for model in fitting {
        if model == decision.model || standings.iter().any(|standing| standing.model == model) {
            continue;
        }
        if let Ok(decided) = check(history, model, options) {
            standings.push(ShownVerdict { model, verdict: Some(decided.verdict), how: "checked".to_owned() });
        }
    }
    match standings.iter_mut().find(|standing| standing.model == decision.model) {
        Some(standing) if decision.verdict == Verdict::Unknown && standing.verdict != Some(Verdict::Unknown) => {}
        Some(standing) => *standing = own(),
        None => standings.push(own()),
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

#[cfg(test)]
mod tests {
    use model::implies;

    use super::*;

    /// Write skew, and a session that goes on after it.
    const SKEW: &str = "[a] begin\n[b] begin\n[a] r x 0\n[b] r y 0\n[a] w y 1\n[b] w x 1\n[a] commit\n[b] commit\n\
        [a] begin\n[a] r x 1\n[a] r y 1\n[a] w x 2\n[a] commit\n";

    /// What the page is about is known, and what follows from it, too, however little time the other models get.
    #[test]
    fn what_follows_from_the_decision_is_known_without_time() -> Result<(), Box<dyn std::error::Error>> {
        let history = format::parse(SKEW)?;
        for (model, verdict) in
            [(Model::StrongPrefix, Verdict::Consistent), (Model::SessionlessSerializable, Verdict::Violation)]
        {
            let decision = check(&history, model, &Options::default())?;
            assert_eq!(decision.verdict, verdict);
            let standings = standings(&history, &decision, &Options::default().timeout(Duration::ZERO));
            for ShownVerdict { model: other, verdict: said, .. } in &standings {
                let follows = match verdict {
                    Verdict::Consistent => implies(model, *other),
                    _ => implies(*other, model),
                };
                assert!(!follows || *said == Some(verdict), "{model} and {other}: {said:?}");
            }
            assert!(standings.iter().any(|it| it.verdict == Some(Verdict::Unknown)), "there was time enough");
        }
        Ok(())
    }
}
