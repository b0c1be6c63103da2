//! Histories by text, evidence by hand.

use format::{ReadOptions, read};
use history::execution::LocationId;
use history::{History, OperationId, ProcessId};
use model::{Certificate, Derivation, Edge, Evidence, Model, Node, Rule, Step, Verdict, digest};
use verify::verify;

/// The only history of a text.
pub fn parse(text: &str) -> History {
    let mut histories = read(Box::new(std::io::Cursor::new(text.to_owned().into_bytes())), &ReadOptions::default());
    let history = histories.next().expect("a history").expect("a history that can be read");
    assert!(histories.next().is_none(), "one history");
    history
}

/// The certificate of a verdict about a history.
pub fn certificate(history: &History, model: Model, verdict: Verdict, evidence: &Evidence) -> Certificate {
    Certificate { history: 0, model, verdict, digest: digest(history), evidence: evidence.clone() }
}

/// What the verifier says of a certificate, in its own words. The certificate goes through its JSON first.
fn outcome(history: &str, model: Model, verdict: Verdict, evidence: &Evidence) -> Result<(), String> {
    let history = parse(history);
    let certificate = certificate(&history, model, verdict, evidence);
    let json = certificate.to_json(&history);
    assert_eq!(Certificate::from_json(&json, &history).expect(&json), certificate, "{json}");
    verify(&certificate, &history).map_err(|refusal| refusal.to_string())
}

/// Asserts that the evidence proves a violation.
#[track_caller]
pub fn proves(history: &str, model: Model, evidence: &Evidence) {
    assert_eq!(outcome(history, model, Verdict::Violation, evidence), Ok(()), "{model}");
}

/// Asserts that the evidence is refused as a proof of a violation, for that reason.
#[track_caller]
pub fn refutes(history: &str, model: Model, evidence: &Evidence, reason: &str) {
    assert_eq!(outcome(history, model, Verdict::Violation, evidence), Err(reason.to_owned()), "{model}");
}

/// Asserts that the evidence is a witness.
#[track_caller]
pub fn witnesses(history: &str, model: Model, evidence: &Evidence) {
    assert_eq!(outcome(history, model, Verdict::Consistent, evidence), Ok(()), "{model}");
}

/// Asserts that the evidence is refused as a witness, for that reason.
#[track_caller]
pub fn rejects(history: &str, model: Model, evidence: &Evidence, reason: &str) {
    assert_eq!(outcome(history, model, Verdict::Consistent, evidence), Err(reason.to_owned()), "{model}");
}

/// The operations of these numbers.
pub fn ids(numbers: &[u32]) -> Vec<OperationId> {
    numbers.iter().copied().map(OperationId).collect()
}

/// A node of a derivation: an operation by its number, an initial write by [`init`].
pub trait Named: Copy {
    /// The node.
    fn node(self) -> Node;
}

impl Named for u32 {
    fn node(self) -> Node {
        Node::Operation(OperationId(self))
    }
}

impl Named for Node {
    fn node(self) -> Node {
        self
    }
}

/// The initial write of a location. Locations are counted from zero, in the order in which the history names them.
pub fn init(location: u32) -> Node {
    Node::Init(LocationId(location))
}

/// An edge of program order.
pub fn po(from: impl Named, to: impl Named) -> Edge {
    Edge::Po(from.node(), to.node())
}

/// An edge of reads-from.
pub fn rf(from: impl Named, to: impl Named) -> Edge {
    Edge::Rf(from.node(), to.node())
}

/// A synchronisation.
pub fn sw(release: impl Named, write: impl Named, read: impl Named, acquire: impl Named) -> Edge {
    Edge::Sw { release: release.node(), write: write.node(), read: read.node(), acquire: acquire.node() }
}

/// The edge of an earlier step.
pub fn step(number: u32) -> Edge {
    Edge::Derived(number)
}

fn by(rule: Rule, from: impl Named, to: impl Named, path: &[Edge]) -> Step {
    Step { rule, from: from.node(), to: to.node(), path: path.to_vec() }
}

/// A conflict for all.
pub fn cf(from: impl Named, to: impl Named, read: impl Named, path: &[Edge]) -> Step {
    by(Rule::Conflict { read: read.node(), view: None }, from, to, path)
}

/// A conflict in the view of a process.
pub fn cf_in(view: u32, from: impl Named, to: impl Named, read: impl Named, path: &[Edge]) -> Step {
    by(Rule::Conflict { read: read.node(), view: Some(ProcessId(view)) }, from, to, path)
}

/// Two writes in the order in which they happen.
pub fn ww(from: impl Named, to: impl Named, path: &[Edge]) -> Step {
    by(Rule::StoreOrder, from, to, path)
}

/// A read comes before a write, because the source of the read comes before that write.
pub fn rw(from: impl Named, to: impl Named, path: &[Edge]) -> Step {
    by(Rule::ReadWrite, from, to, path)
}

/// Coherence of two accesses.
pub fn coherence(before: impl Named, after: impl Named, from: impl Named, to: impl Named, path: &[Edge]) -> Step {
    by(Rule::Coherence { before: before.node(), after: after.node() }, from, to, path)
}

/// Atomicity, from one step.
pub fn atomicity(from: impl Named, to: impl Named, path: &[Edge]) -> Step {
    by(Rule::Atomicity, from, to, path)
}

/// An assumption.
pub fn assume(from: impl Named, to: impl Named) -> Step {
    by(Rule::Assumed, from, to, &[])
}

/// A step by an earlier lemma.
pub fn lemma(number: u32, from: impl Named, to: impl Named, path: &[Edge]) -> Step {
    by(Rule::Lemma(number), from, to, path)
}

/// Steps and a cycle.
pub fn derivation(steps: &[Step], cycle: &[Edge]) -> Derivation {
    Derivation { steps: steps.to_vec(), cycle: cycle.to_vec() }
}

/// The evidence that is steps and a cycle.
pub fn cycle(steps: &[Step], cycle: &[Edge]) -> Evidence {
    Evidence::Cycle(derivation(steps, cycle))
}
