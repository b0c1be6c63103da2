//! `sc-observed`: the constraint graph of operations that were performed in a known order.

use history::execution::Kind;
use history::performed::Performed;

use crate::relation::Relation;

/// Whether the constraint graph is acyclic.
///
/// ```
/// use history::{History, performed::Performed};
/// use oracle::observed::is_acyclic;
///
/// // Thread 1 reads `y` after its write, and `x` before its write. But `x` is written first in thread 0.
/// let text = "[0] w y 1 po=1\n[1] r y 1\n[1] r x 0\n[0] w x 1 po=0\n";
/// assert!(!is_acyclic(&Performed::from_history(&format::parse(text)?)?));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Panics
/// If there are more than 128 operations.
pub fn is_acyclic(performed: &[Performed]) -> bool {
    let conflict = |a: &Performed, b: &Performed| {
        let access = a.kind != Kind::Fence && b.kind != Kind::Fence;
        access && a.location == b.location && (a.kind.writes() || b.kind.writes())
    };
    let constraint = |before: usize, after: usize| {
        let (a, b) = (&performed[before], &performed[after]);
        (before < after && conflict(a, b)) || (a.thread == b.thread && a.index < b.index)
    };
    Relation::of(performed.len(), constraint).is_acyclic()
}
