//! Objects that are not built in and whose specification is at hand, by their name. There is one, etcd.

use history::History;
use model::Decided;
use model::specification::{NotRead, etcd, recorded};

use crate::{ObjectError, ObjectOptions, check_calls};

/// Whether the specification of the object of a history is at hand, though the object is not built in.
pub fn is_named(history: &History) -> bool {
    etcd::is_of(history)
}

/// Decides whether a history of such an object is linearizable.
///
/// ```
/// use model::Verdict;
/// use history::History;
/// use object::{ObjectOptions, check_named};
///
/// let history = format::parse(
///     "# @object etcd
///      [0] call put \"x=1\"
///      [0] return \"rev=2\"
///      [1] call range \"x\"
///      [1] return \"rev=2,count=1,x=1@2\"",
/// )?;
/// let decision = check_named(&history, &ObjectOptions::default())?;
/// assert_eq!(decision.verdict, Verdict::Consistent);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn check_named(history: &History, options: &ObjectOptions) -> Result<Decided, ObjectError> {
    if !is_named(history) {
        return Err(ObjectError::NotBuiltIn(history.object_name().to_owned()));
    }
    let calls = recorded(history, etcd::read).map_err(|error| match error {
        NotRead::Operation { operation, .. } => ObjectError::NotOfObject(operation),
        _ => ObjectError::NoCalls,
    })?;
    Ok(check_calls(&etcd::Etcd::new(&calls), &calls, options))
}
