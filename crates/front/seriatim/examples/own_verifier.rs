//! A verifier of your own. It reads a history and a certificate by itself, and shares no code with Seriatim.
//!
//! It knows histories of plain reads and writes (`[0] w x 1`). Each value is written once to a location, and the
//! initial values are 0. It knows two kinds of certificates: an interleaving for `sc`, and a cycle for a violation of
//! `cc`. `docs/certificates.md` describes the other kinds.

use std::collections::HashMap;
use std::error::Error;

use serde_json::Value;

/// A read or a write, in the order of the file.
struct Operation<'a> {
    thread: &'a str,
    writes: bool,
    location: &'a str,
    value: &'a str,
}

fn parse(text: &str) -> Option<Vec<Operation<'_>>> {
    let parse_line = |line| {
        let mut words = str::split_whitespace(line);
        let thread = words.next()?;
        let writes = words.next()? == "w";
        Some(Operation { thread, writes, location: words.next()?, value: words.next()? })
    };
    text.lines().map(parse_line).collect()
}

/// A vertex: an operation, or the initial write of a location.
#[derive(Clone, PartialEq)]
enum Node {
    Operation(usize),
    Init(String),
}

struct Verifier<'a> {
    operations: &'a [Operation<'a>],
}

impl Verifier<'_> {
    fn node(&self, json: &Value) -> Option<Node> {
        match json.as_u64() {
            Some(number) => (number < self.operations.len() as u64).then_some(Node::Operation(number as usize)),
            None => Some(Node::Init(json["init"].as_str()?.to_owned())),
        }
    }

    /// The location of a write; nothing for a read.
    fn written(&self, node: &Node) -> Option<String> {
        match node {
            Node::Init(location) => Some(location.clone()),
            Node::Operation(at) => self.operations[*at].writes.then(|| self.operations[*at].location.to_owned()),
        }
    }

    fn program_order(&self, from: &Node, to: &Node) -> bool {
        match (from, to) {
            (Node::Init(_), Node::Operation(_)) => true,
            (Node::Operation(from), Node::Operation(to)) => {
                from < to && self.operations[*from].thread == self.operations[*to].thread
            }
            _ => false,
        }
    }

    fn reads_from(&self, from: &Node, to: &Node) -> bool {
        let Node::Operation(read) = to else { return false };
        let read = &self.operations[*read];
        !read.writes
            && match from {
                Node::Init(location) => read.location == location && read.value == "0",
                Node::Operation(write) => {
                    let write = &self.operations[*write];
                    write.writes && write.location == read.location && write.value == read.value
                }
            }
    }

    /// Both ends of an edge of causality; nothing if it does not hold.
    fn causal(&self, edge: &Value) -> Option<(Node, Node)> {
        let ends = |pair: &Value| Some((self.node(&pair[0])?, self.node(&pair[1])?));
        if let Some(pair) = edge.get("po") {
            ends(pair).filter(|(from, to)| self.program_order(from, to))
        } else {
            ends(edge.get("rf")?).filter(|(from, to)| self.reads_from(from, to))
        }
    }

    /// Each edge begins where the one before it ends. Gives the ends of the whole path.
    fn path(edges: Option<Vec<(Node, Node)>>) -> Option<(Node, Node)> {
        let edges = edges?;
        let joined = edges.windows(2).all(|pair| pair[0].1 == pair[1].0);
        joined.then(|| Some((edges.first()?.0.clone(), edges.last()?.1.clone())))?
    }

    /// The rule `cf`: `from` is a write that comes before `read`, which reads from `to`; so `from` comes before `to`.
    fn conflict(&self, step: &Value) -> Option<(Node, Node)> {
        let [from, to, read] = [self.node(&step["from"])?, self.node(&step["to"])?, self.node(&step["read"])?];
        let path = Self::path(step["path"].as_array()?.iter().map(|edge| self.causal(edge)).collect())?;
        let holds = step["rule"] == "cf"
            && path == (from.clone(), read.clone())
            && self.reads_from(&to, &read)
            && from != to
            && self.written(&from).is_some()
            && self.written(&from) == self.written(&to);
        holds.then_some((from, to))
    }

    /// A violation of `cc`: causality, and at most one conflict, in a cycle.
    fn cycle(&self, evidence: &Value) -> Option<bool> {
        let steps: Option<Vec<_>> = evidence["steps"].as_array()?.iter().map(|step| self.conflict(step)).collect();
        let (steps, cycle) = (steps?, evidence["cycle"].as_array()?);
        let edge = |edge: &Value| match edge.get("step") {
            Some(number) => steps.get(number.as_u64()? as usize).cloned(),
            None => self.causal(edge),
        };
        let conflicts = cycle.iter().filter(|edge| edge.get("step").is_some()).count();
        let (begin, end) = Self::path(cycle.iter().map(edge).collect())?;
        Some(begin == end && conflicts <= 1)
    }

    /// `sc`: all operations, in program order, and each read returns the last write.
    fn interleaving(&self, order: &[Value]) -> Option<bool> {
        let order: Option<Vec<usize>> = order.iter().map(|number| Some(number.as_u64()? as usize)).collect();
        let order = order?;
        let mut sorted = order.clone();
        sorted.sort_unstable();
        let (mut memory, mut last) = (HashMap::new(), HashMap::new());
        let is_run = order.iter().all(|&at| {
            let Some(operation) = self.operations.get(at) else { return false };
            let in_order = last.insert(operation.thread, at).is_none_or(|before| before < at);
            if operation.writes {
                memory.insert(operation.location, operation.value);
            }
            in_order && *memory.get(operation.location).unwrap_or(&"0") == operation.value
        });
        Some(is_run && sorted.into_iter().eq(0..self.operations.len()))
    }
}

/// Whether a certificate proves its verdict. Nothing if it is of a kind that this verifier does not know.
fn proves(history: &str, certificate: &str) -> Option<bool> {
    let operations = parse(history)?;
    let verifier = Verifier { operations: &operations };
    let certificate: Value = serde_json::from_str(certificate).ok()?;
    let evidence = &certificate["evidence"];
    match (certificate["model"].as_str()?, certificate["verdict"].as_str()?) {
        ("sc", "consistent") => verifier.interleaving(evidence["interleaving"].as_array()?),
        ("cc", "violation") => verifier.cycle(evidence),
        _ => None,
    }
}

/// Runs the example.
pub fn main() -> Result<(), Box<dyn Error>> {
    use seriatim::{Model, Options, check};

    let stale = "[a] w row 1\n[a] w flag 1\n[b] r flag 1\n[b] r row 0\n";
    let history = seriatim::parse(stale)?;
    let decision = check(&history, Model::Cc, &Options::default())?;
    let certificate = decision.certificate(0, &history).ok_or("a violation has a certificate")?.to_json(&history);
    assert_eq!(proves(stale, &certificate), Some(true));
    println!("{certificate}\nproves it");

    let forged = certificate.replace("{\"rf\":[1,2]}", "{\"rf\":[0,2]}");
    assert_ne!(proves(stale, &forged), Some(true));

    let fresh = "[a] w row 1\n[b] r row 1\n";
    let history = seriatim::parse(fresh)?;
    let decision = check(&history, Model::Sc, &Options::default().witness(true))?;
    let certificate = decision.certificate(0, &history).ok_or("there is a witness")?.to_json(&history);
    assert_eq!(proves(fresh, &certificate), Some(true));
    assert_eq!(proves(fresh, &certificate.replace("[0,1]", "[1,0]")), Some(false));
    println!("{certificate}\nproves it");
    Ok(())
}
