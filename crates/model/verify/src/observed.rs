//! `sc-observed`: checks a cycle or an order of the constraint graph. The history lists the operations in the order in
//! which they were performed.

use history::performed::Performed;
use history::{History, OperationId};

use super::{Place, Refusal, fault};
use model::{Certificate, Evidence, Model, Verdict};

pub fn verify(certificate: &Certificate, history: &History) -> Result<(), Refusal> {
    let performed = Performed::from_history(history).map_err(Refusal::NotPerformed)?;
    match (certificate.verdict, &certificate.evidence) {
        (Verdict::Violation, Evidence::Constraints(cycle)) => constraints(&performed, cycle),
        (Verdict::Consistent, Evidence::Interleaving(order)) => interleaving(&performed, order),
        (verdict, _) => Err(Refusal::WrongKind { model: Model::ScObserved, verdict }),
    }
}

/// Checks that each operation must come before the next, in a circle.
fn constraints(performed: &[Performed], cycle: &[OperationId]) -> Result<(), Refusal> {
    if cycle.is_empty() {
        return fault(Place::Cycle, "it is empty");
    }
    for (at, &from) in cycle.iter().enumerate() {
        let to = cycle[(at + 1) % cycle.len()];
        let (Some(a), Some(b)) = (performed.get(from.index()), performed.get(to.index())) else {
            return fault(Place::Cycle, "it names an operation that the history does not have");
        };
        let later = a.thread == b.thread && a.index < b.index;
        let performed_later = from < to && a.conflicts(b);
        if !later && !performed_later {
            return fault(Place::Cycle, format!("nothing puts operation {} before operation {}", from.0, to.0));
        }
    }
    Ok(())
}

/// Checks that an order of all operations keeps program order, and the order in which conflicting operations were
/// performed.
fn interleaving(performed: &[Performed], order: &[OperationId]) -> Result<(), Refusal> {
    let place = Place::Interleaving;
    let mut seen = vec![false; performed.len()];
    let threads = performed.iter().map(|operation| operation.thread as usize + 1).max().unwrap_or(0);
    let locations = performed.iter().map(|operation| operation.location as usize + 1).max().unwrap_or(0);
    let mut next = vec![0; threads];
    // For each location: the number of the last performed write that came so far, plus one; the same for reads.
    let mut last = vec![[0; 2]; locations];
    for &id in order {
        let Some(operation) = performed.get(id.index()) else {
            return fault(place, "it names an operation that the history does not have");
        };
        if std::mem::replace(&mut seen[id.index()], true) {
            return fault(place, format!("operation {} is listed twice", id.0));
        }
        let next = &mut next[operation.thread as usize];
        if operation.index < *next {
            return fault(place, format!("operation {} comes after a later one of its thread", id.0));
        }
        *next = operation.index + 1;
        if !operation.kind.reads() && !operation.kind.writes() {
            continue;
        }
        let [writes, reads] = &mut last[operation.location as usize];
        let conflicting = if operation.kind.writes() { (*writes).max(*reads) } else { *writes };
        if conflicting > id.0 {
            let what = "comes after a conflicting operation that was performed later";
            return fault(place, format!("operation {} {what}", id.0));
        }
        let own = if operation.kind.writes() { writes } else { reads };
        *own = (*own).max(id.0 + 1);
    }
    if seen.contains(&false) { fault(place, "an operation is missing") } else { Ok(()) }
}
