//! The wording of violations of isolation levels, and their names.
//!
//! A cycle is named by its edges over session order (so), real time (rt), reads-from (wr), versions (ww) and
//! anti-dependencies (rw), as Adya and Elle name it: no rw and only ww `G0`, no rw `G1c`, one rw `G-single`, several rw
//! but no two adjacent `G-nonadjacent`, else `G2-item`; with `-realtime` if rt is used, else with `-process` if so is.
//! A shape with a name of its own, such as a lost update or write skew, has that name first.

use certificate::transaction::{Anomaly, Bad, Derivation, Edge, Evidence, Node, Rule, Step};
use history::{History, KeyId, OperationId, TransactionId};

use crate::text::{self, Line, Style};

/// How many steps are shown at most. The others are only in the certificate.
const STEPS: usize = 24;
/// How many operations of a transaction are shown at most.
const OPERATIONS: usize = 12;

/// What an edge of a cycle is to its name.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Kind {
    So,
    Rt,
    Wr,
    Ww,
    Rw,
}

/// The names that users know for a violation, the most particular first.
///
/// ```
/// use certificate::transaction::{Anomaly, Bad, Evidence};
/// use history::OperationId;
///
/// let bad = Bad { anomaly: Anomaly::G1a, read: OperationId(1), other: Some(OperationId(0)) };
/// assert_eq!(report::anomalies(&Evidence::Bad(bad)), ["aborted read", "G1a"]);
/// ```
pub fn anomalies(evidence: &Evidence) -> Vec<String> {
    let names: Vec<&str> = match evidence {
        Evidence::CommitOrder(_) | Evidence::EventOrder(_) => Vec::new(),
        Evidence::Bad(bad) => match bad.anomaly {
            Anomaly::G1a => vec!["aborted read", "G1a"],
            Anomaly::G1b => vec!["intermediate read", "G1b"],
            Anomaly::G0 => vec!["dirty write", "G0"],
            anomaly => vec![anomaly.name()],
        },
        Evidence::Unrepeatable(_) => vec!["non-repeatable read"],
        Evidence::LostUpdate(_) => vec!["lost update"],
        Evidence::Cycle(derivation) => return of_cycle(derivation),
        // No single cycle exists: there is one for each way to order the writers.
        Evidence::Refutation(_) => vec!["no order of the versions"],
    };
    names.into_iter().map(str::to_owned).collect()
}

fn kind(derivation: &Derivation, edge: Edge) -> Option<Kind> {
    match edge {
        Edge::Session(Node::Init, _) => None,
        Edge::Session(..) => Some(Kind::So),
        Edge::RealTime(..) => Some(Kind::Rt),
        Edge::Reads(..) => Some(Kind::Wr),
        Edge::Version(..) => Some(Kind::Ww),
        Edge::Derived(step) => Some(match derivation.steps[step as usize].rule {
            Rule::AntiDependency { .. } => Kind::Rw,
            _ => Kind::Ww,
        }),
    }
}

/// The one step of a cycle that puts a writer before the version that was read, if no other step is in the cycle.
pub(crate) fn overwriting(derivation: &Derivation) -> Option<&Step> {
    let mut steps = derivation.cycle.iter().filter_map(|edge| match edge {
        Edge::Derived(step) => Some(&derivation.steps[*step as usize]),
        _ => None,
    });
    let step = steps.next().filter(|step| matches!(step.rule, Rule::Overwritten { .. } | Rule::ReadBefore { .. }))?;
    steps.next().is_none().then_some(step)
}

fn of_cycle(derivation: &Derivation) -> Vec<String> {
    let of_path = |path: &[Edge]| path.iter().filter_map(|&edge| kind(derivation, edge)).collect::<Vec<Kind>>();
    let mut names = Vec::new();
    let kinds = if let Some(step) = overwriting(derivation) {
        // The rest of the cycle says that the version was overwritten by a transaction that the reader knows of: that
        // is one anti-dependency back to it.
        let mut kinds = of_path(&step.path);
        let name = match (step.rule, &kinds[..]) {
            (Rule::ReadBefore { .. }, _) => {
                kinds = vec![Kind::Wr];
                Some("non-monotonic read")
            }
            (_, [Kind::Wr | Kind::So]) => Some("fractured read"),
            (_, [Kind::Rt]) => Some("stale read"),
            (_, kinds) if kinds.iter().all(|kind| matches!(kind, Kind::So | Kind::Wr)) => Some("causality violation"),
            _ => None,
        };
        names.extend(name.map(str::to_owned));
        kinds.push(Kind::Rw);
        kinds
    } else {
        let kinds = of_path(&derivation.cycle);
        let name = match kinds[..] {
            [Kind::Rw, Kind::Rw] => Some("write skew"),
            [Kind::Wr, Kind::Rw, Kind::Wr, Kind::Rw] | [Kind::Rw, Kind::Wr, Kind::Rw, Kind::Wr] => Some("long fork"),
            _ => None,
        };
        names.extend(name.map(str::to_owned));
        kinds
    };
    let count = kinds.iter().filter(|&&kind| kind == Kind::Rw).count();
    let is_forced = |edge: &Edge| match edge {
        Edge::Derived(step) => !matches!(derivation.steps[*step as usize].rule, Rule::AntiDependency { .. }),
        _ => false,
    };
    if count == 0 && derivation.cycle.iter().filter(|edge| is_forced(edge)).count() > 1 {
        // Two reads force two writers into two orders: which cycle that is depends on the order of the versions.
        return vec!["two version orders".to_owned()];
    }
    let is_adjacent = (0..kinds.len()).any(|at| kinds[at] == Kind::Rw && kinds[(at + 1) % kinds.len()] == Kind::Rw);
    let name = match count {
        0 if kinds.iter().all(|&kind| kind == Kind::Ww) => "G0",
        0 if !kinds.contains(&Kind::Wr) => "G0",
        0 => "G1c",
        1 => "G-single",
        _ if is_adjacent => "G2-item",
        _ => "G-nonadjacent",
    };
    let suffix = if kinds.contains(&Kind::Rt) {
        "-realtime"
    } else if kinds.contains(&Kind::So) {
        "-process"
    } else {
        ""
    };
    names.push(format!("{name}{suffix}"));
    names
}

/// Explains a violation. The history is one of transactions.
pub(crate) fn explain(history: &History, evidence: &Evidence) -> Vec<Line> {
    let names = anomalies(evidence).join(", ");
    let heading = |line: Line| Line::default().with(Style::Heading, format!("{names}: ")).append(line);
    let teller = Teller { history };
    match evidence {
        Evidence::CommitOrder(_) | Evidence::EventOrder(_) => Vec::new(),
        Evidence::Bad(bad) => vec![heading(teller.bad(bad))],
        Evidence::Unrepeatable([a, b]) => {
            let reads = teller.operation(*a).plain(" and ").append(teller.operation(*b));
            vec![heading(reads.plain(" are of one transaction and return different versions"))]
        }
        Evidence::LostUpdate([a, b]) => {
            let reads = teller.operation(*a).plain(" and ").append(teller.operation(*b));
            let key = teller.key(history.operation(*a).key);
            let what = format!(" return one version of {key}, and both transactions write {key}:");
            let mut lines = vec![heading(reads.plain(what))];
            let ids = [a, b].map(|read| history.transaction_of(*read));
            lines.extend(ids.map(|id| teller.row(id)));
            lines
        }
        Evidence::Cycle(derivation) => {
            let mut lines = vec![heading(Line::default().plain("no commit order has all of these:"))];
            teller.derivation(derivation, evidence, &mut lines);
            lines
        }
        Evidence::Refutation(lemmas) => {
            let what = format!(
                "every order of the writers leads to a cycle ({} cases). The last, where all others are excluded:",
                lemmas.len()
            );
            let mut lines = vec![heading(Line::default().plain(what))];
            if let Some(last) = lemmas.last() {
                teller.derivation(last, &Evidence::Cycle(last.clone()), &mut lines);
            }
            lines
        }
    }
}

/// Says what is said of transactions.
pub(crate) struct Teller<'a> {
    pub(crate) history: &'a History,
}

impl Teller<'_> {
    fn key(&self, key: KeyId) -> String {
        self.history.key_name(key)
    }

    /// `line 3 [a] r x 1`.
    fn operation(&self, id: OperationId) -> Line {
        let line = Line::default().place(id, self.history.place(id)).plain(" ");
        line.with(Style::Operation, text::operation(self.history, id))
    }

    /// `T3`, or `the initial state`.
    pub(crate) fn name(node: Node) -> String {
        node.transaction().map_or_else(|| "the initial state".to_owned(), |id| format!("T{}", id.0))
    }

    /// A transaction with its operations.
    fn row(&self, id: TransactionId) -> Line {
        let transaction = self.history.transaction(id);
        let session = self.history.process_name(transaction.session);
        let range = self.history.operation_range(id);
        let count = range.len();
        let all = range.take(OPERATIONS).map(|number| {
            let text = text::operation(self.history, OperationId(number));
            // The session stands before all of them.
            text.split_once("] ").map_or(text.clone(), |(_, operation)| operation.to_owned())
        });
        let mut operations: Vec<String> = all.collect();
        if count > OPERATIONS {
            operations.push(format!("… ({} more)", count - OPERATIONS));
        }
        let place = if transaction.line > 0 { format!("line {}  ", transaction.line) } else { String::new() };
        let line = Line::indented(2).plain(format!("T{}  ", id.0)).with(Style::Place, place);
        line.with(Style::Operation, format!("[{session}] {}", operations.join(", ")))
    }

    fn bad(&self, bad: &Bad) -> Line {
        let read = self.operation(bad.read);
        let other = |line: Line, words: &str, end: &str| match bad.other {
            Some(other) => line.plain(words).append(self.operation(other)).plain(end),
            None => line,
        };
        match bad.anomaly {
            Anomaly::Internal => other(read.plain(" does not return the last write of its own transaction"), ": ", ""),
            Anomaly::FutureRead => other(read, " returns what its own transaction writes later: ", ""),
            Anomaly::G1a => other(read, " returns what an aborted transaction wrote: ", ""),
            Anomaly::G1b => other(read, " returns what is not the last write of its transaction: ", ""),
            Anomaly::ThinAir => read.plain(" returns what nobody wrote"),
            Anomaly::DuplicateElements => other(read.plain(" shows an element twice"), ": ", ""),
            Anomaly::G0 => other(read, " shows the appends of one transaction torn apart, at ", ""),
            Anomaly::IncompatibleOrder => {
                other(read, " and ", " show two orders of one list: neither is the beginning of the other")
            }
            _ => read.plain(" is allowed by no level"),
        }
    }

    /// The transactions of a cycle, and its edges with their reasons; below, the reasons of derived edges.
    fn derivation(&self, derivation: &Derivation, evidence: &Evidence, lines: &mut Vec<Line>) {
        lines.extend(evidence.transactions().into_iter().take(2 * STEPS).map(|id| self.row(id)));
        let mut open: Vec<u32> = Vec::new();
        for &edge in &derivation.cycle {
            lines.push(Line::indented(2).append(self.edge(derivation, edge)));
            open.extend(edge.step());
        }
        // Each step is told once, and only if something above uses it.
        let mut told = vec![false; derivation.steps.len()];
        let mut count = 0;
        while let Some(step) = (!open.is_empty()).then(|| open.remove(0)) {
            if std::mem::replace(&mut told[step as usize], true) {
                continue;
            }
            let path = &derivation.steps[step as usize];
            if path.path.len() + path.others.len() < 2 && !path.path.iter().any(|it| matches!(it, Edge::Derived(_))) {
                continue;
            }
            count += 1;
            if count > STEPS {
                lines.push(Line::indented(2).plain("further steps are in the certificate"));
                break;
            }
            let name = format!("{} < {}", Self::name(path.from), Self::name(path.to));
            lines.push(Line::indented(2).plain(format!("where {name} follows from:")));
            for &edge in path.path.iter().chain(path.others.iter().flatten()) {
                lines.push(Line::indented(4).append(self.edge(derivation, edge)));
                open.extend(edge.step());
            }
        }
    }

    /// `T1 < T2, because T2 is later in session a`.
    pub(crate) fn edge(&self, derivation: &Derivation, edge: Edge) -> Line {
        let (from, to) = derivation.ends(edge);
        let [a, b] = [from, to].map(Self::name);
        let line = Line::default().plain(format!("{a} < {b}, because "));
        let session = |node: Node| {
            let id = node.transaction();
            id.map_or_else(String::new, |id| self.history.process_name(self.history.transaction(id).session))
        };
        match edge {
            Edge::Session(Node::Init, _) => line.with(Style::Reason, "the initial state is before everything"),
            Edge::Session(..) => line.with(Style::Reason, format!("{b} is later in session {}", session(to))),
            Edge::RealTime(..) => line.with(Style::Reason, format!("{a} ended before {b} began")),
            Edge::Reads(.., read) => self.operation_of(line, read).with(Style::Reason, format!(" reads from {a}")),
            Edge::Version(.., key) => {
                line.with(Style::Reason, format!("{} shows the version of {a} first", self.key(key)))
            }
            Edge::Derived(number) => self.step(&derivation.steps[number as usize]),
        }
    }

    fn operation_of(&self, line: Line, read: OperationId) -> Line {
        line.append(self.operation(read))
    }

    /// The same for a derived edge.
    pub(crate) fn step(&self, step: &Step) -> Line {
        let [a, b] = [step.from, step.to].map(Self::name);
        let line = Line::default().plain(format!("{a} < {b}, because "));
        match step.rule {
            Rule::Overwritten { read } => {
                let reader = format!("T{}", self.history.transaction_of(read).0);
                let key = self.key(self.history.operation(read).key);
                let source =
                    if step.to == Node::Init { "the initial version".to_owned() } else { format!("that of {b}") };
                let what = format!(" returns {source} of {key}, though {a}, which is before {reader}, writes {key}");
                self.operation_of(line, read).with(Style::Reason, what)
            }
            Rule::ReadBefore { earlier, read } => {
                let key = self.key(self.history.operation(read).key);
                let source =
                    if step.to == Node::Init { "the initial version".to_owned() } else { format!("that of {b}") };
                let line = self.operation_of(line, read);
                let line = line.with(Style::Reason, format!(" returns {source} of {key}, after "));
                let what = format!(" had read from {a}, which writes {key}");
                self.operation_of(line, earlier).with(Style::Reason, what)
            }
            Rule::AntiDependency { read } => {
                let key = self.key(self.history.operation(read).key);
                let what = format!(" returns a version of {key} that {b} overwrites");
                self.operation_of(line, read).with(Style::Reason, what)
            }
            Rule::Conflict { key } => {
                let key = self.key(key);
                line.with(Style::Reason, format!("both write {key}, and {b} does not commit before {a} begins"))
            }
            Rule::Assumed => line.with(Style::Reason, "it is assumed in this case"),
            Rule::Lemma(_) => line.with(Style::Reason, "the other order was excluded"),
        }
    }
}
