//! The names that users know for violations of isolation levels.
//!
//! A cycle is named by its edges over session order (so), real time (rt), reads-from (wr), versions (ww) and
//! anti-dependencies (rw), as Adya and Elle name it: no rw and only ww `G0`, no rw `G1c`, one rw `G-single`, several rw
//! but no two adjacent `G-nonadjacent`, else `G2-item`; with `-realtime` if rt is used, else with `-process` if so is.
//! A shape with a name of its own, such as a lost update or write skew, has that name first.

use history::{History, Method, OperationId};
use model::transaction::{
    Anomaly, TransactionDerivation, TransactionEdge, TransactionEvidence, TransactionNode, TransactionRule,
    TransactionStep,
};

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
/// use model::transaction::{Anomaly, Bad, TransactionEvidence};
/// use history::{History, OperationId};
///
/// let history = format::parse("[a] begin\n[a] w x 1\n[a] abort\n[b] begin\n[b] r x 1\n[b] commit\n")?;
/// let bad = Bad { anomaly: Anomaly::G1a, read: OperationId(1), other: Some(OperationId(0)) };
/// assert_eq!(report::anomalies(&history, &TransactionEvidence::Bad(bad)), ["aborted read", "G1a"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn anomalies(history: &History, evidence: &TransactionEvidence) -> Vec<String> {
    let names: Vec<&str> = match evidence {
        TransactionEvidence::CommitOrder(_) | TransactionEvidence::EventOrder(_) => Vec::new(),
        TransactionEvidence::Bad(bad) => match bad.anomaly {
            Anomaly::G1a => vec!["aborted read", "G1a"],
            Anomaly::G1b => vec!["intermediate read", "G1b"],
            Anomaly::G0 => vec!["dirty write", "G0"],
            anomaly => vec![anomaly.name()],
        },
        TransactionEvidence::Unrepeatable(_) => vec!["non-repeatable read"],
        TransactionEvidence::LostUpdate(_) => vec!["lost update"],
        TransactionEvidence::Cycle(derivation) => return of_cycle(history, derivation),
        // No single cycle exists: there is one for each way to order the writers.
        TransactionEvidence::Refutation(_) => vec!["no order of the versions"],
    };
    names.into_iter().map(str::to_owned).collect()
}

fn kind(derivation: &TransactionDerivation, edge: TransactionEdge) -> Option<Kind> {
    match edge {
        TransactionEdge::Session(TransactionNode::Init, _) => None,
        TransactionEdge::Session(..) => Some(Kind::So),
        TransactionEdge::RealTime(..) => Some(Kind::Rt),
        TransactionEdge::Reads(..) => Some(Kind::Wr),
        TransactionEdge::Version(..) => Some(Kind::Ww),
        TransactionEdge::Derived(step) => Some(match derivation.steps[step as usize].rule {
            TransactionRule::AntiDependency { .. } => Kind::Rw,
            _ => Kind::Ww,
        }),
    }
}

/// The one step of a cycle that puts a writer before the version that was read, if no other step is in the cycle.
pub(super) fn overwriting(derivation: &TransactionDerivation) -> Option<&TransactionStep> {
    let mut steps = derivation.cycle.iter().filter_map(|edge| match edge {
        TransactionEdge::Derived(step) => Some(&derivation.steps[*step as usize]),
        _ => None,
    });
    let step = steps
        .next()
        .filter(|step| matches!(step.rule, TransactionRule::Overwritten { .. } | TransactionRule::ReadBefore { .. }))?;
    steps.next().is_none().then_some(step)
}

fn of_cycle(history: &History, derivation: &TransactionDerivation) -> Vec<String> {
    let of_path =
        |path: &[TransactionEdge]| path.iter().filter_map(|&edge| kind(derivation, edge)).collect::<Vec<Kind>>();
    let mut names = Vec::new();
    let kinds = if let Some(step) = overwriting(derivation) {
        // The rest of the cycle says that the version was overwritten by a transaction that the reader knows of: that
        // is one anti-dependency back to it.
        let mut kinds = of_path(&step.path);
        let name = match (step.rule, &kinds[..]) {
            (TransactionRule::ReadBefore { .. }, _) => {
                kinds = vec![Kind::Wr];
                Some("non-monotonic read")
            }
            (_, [Kind::Wr]) => Some("fractured read"),
            _ if is_lost_update(history, step) => Some("lost update"),
            (_, [Kind::So]) => Some("read-your-writes violation"),
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
    let is_forced = |edge: &TransactionEdge| match edge {
        TransactionEdge::Derived(step) => {
            !matches!(derivation.steps[*step as usize].rule, TransactionRule::AntiDependency { .. })
        }
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

/// Whether a read that knows of the writer `step.from` and does not see its version is one of a lost update: both
/// transactions read one version of the key, and both write the key.
fn is_lost_update(history: &History, step: &TransactionStep) -> bool {
    let (TransactionRule::Overwritten { read }, TransactionNode::Transaction(writer)) = (step.rule, step.from) else {
        return false;
    };
    let key = history.operation(read).key;
    let of = |id| history.operation_range(id).map(OperationId).filter(|&id| history.operation(id).key == key);
    let is_write = |&id: &OperationId| history.operation(id).method != Method::Read;
    let is_same = |id: OperationId| {
        history.operation(id).result == history.operation(read).result && history.source(id) == history.source(read)
    };
    of(history.transaction_of(read)).any(|id| is_write(&id)) && of(writer).take_while(|id| !is_write(id)).any(is_same)
}
