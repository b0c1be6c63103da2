//! Makes the page of a verdict about a history that was read from a file.

use std::io::{self, Write};
use std::time::Duration;

use seriatim::{Decision, Findings, Model, Options, write_page};

use crate::flags::Reading;
use crate::input::Input;
use crate::panics;

/// Writes the page of a decision, which `command` gives again. The decision on a consistent history has a witness. No
/// check takes longer than the time limit.
pub(crate) fn write(
    input: &Input,
    decision: &Decision,
    command: &str,
    options: &Options,
    timeout: Duration,
    out: &mut impl Write,
) -> io::Result<()> {
    let history = &input.history;
    // If there is a bug on the way, the page shows the verdict alone.
    let findings =
        panics::catch(|| Findings::of(history, decision, &options.clone().timeout(timeout))).unwrap_or_default();
    write_page(history, decision, &findings, &input.label(), command, out)
}

/// The command line that decides the history again.
pub(crate) fn command(input: &Input, model: Model, reading: &Reading) -> String {
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
