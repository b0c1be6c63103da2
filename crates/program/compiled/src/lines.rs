//! Places in the code, by `addr2line`, which comes with every compiler that has gcc's assembler and linker.

use std::path::Path;
use std::process::{Command, Stdio};

/// The function, the file and the line of an instruction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) function: String,
    pub(crate) file: String,
    pub(crate) number: u32,
}

/// The lines of calls, by the offsets of where they return to: of each the line itself, and then those of the functions
/// that it was inlined into.
pub(crate) fn lines(program: &Path, offsets: &[usize]) -> Vec<Vec<Line>> {
    // What returns to an address is the instruction before it.
    let arguments = offsets.iter().map(|offset| format!("{:#x}", offset.saturating_sub(1)));
    let output = Command::new("addr2line")
        .args(["-a", "-f", "-i", "-C", "-e"])
        .arg(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let folder = std::env::current_dir().map(|folder| format!("{}/", folder.display())).unwrap_or_default();
    let mut groups: Vec<Vec<Line>> = Vec::new();
    let mut function = None;
    for line in text.lines() {
        if line.starts_with("0x") && function.is_none() {
            groups.push(Vec::new());
        } else if let Some(function) = function.take() {
            // It may go on: ` (discriminator 2)`.
            let place = line.split(" (").next().unwrap_or_default();
            let (file, line) = place.rsplit_once(':').unwrap_or((place, ""));
            let file = file.strip_prefix(&folder).unwrap_or(file);
            if let Some(group) = groups.last_mut() {
                group.push(Line { function, file: file.to_owned(), number: line.parse().unwrap_or_default() });
            }
        } else {
            function = Some(line.to_owned());
        }
    }
    groups.resize(offsets.len(), Vec::new());
    groups
}
