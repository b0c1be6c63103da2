//! The files of `--witness`: for each outcome a history, which `seriatim check` judges again, and a drawing of it.

use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};

use explore::Model;
use explore::litmus::{Outcome, Test};
use history::execution::EventId;
use history::format::{Format, Writer};
use history::{Execution, History, visible};

/// Writes the files of an outcome. The answer is the name of the history, none if the outcome has no witness.
pub(super) fn write(
    folder: &Path,
    test: &Test,
    model: Model,
    number: usize,
    outcome: &Outcome,
) -> io::Result<Option<PathBuf>> {
    let Some(history) = &outcome.witness else { return Ok(None) };
    std::fs::create_dir_all(folder)?;
    let name = format!("{}.{model}.{}", plain(test.name()), number + 1);
    let path = folder.join(format!("{name}.hist"));
    let mut writer = Writer::new(Vec::new(), Format::Text);
    writer.comment(&format!("{} under {model}: {}", test.name(), test.title(&outcome.state)));
    let text = writer.write(history).and_then(|()| writer.finish()).map_err(io::Error::other)?;
    std::fs::write(&path, text)?;
    std::fs::write(folder.join(format!("{name}.dot")), drawing(history))?;
    Ok(Some(path))
}

/// The name of a test as a part of the name of a file: it may have any characters.
fn plain(name: &str) -> String {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "+-_".contains(character);
    name.chars().take(100).map(|character| if is_plain(character) { character } else { '_' }).collect()
}

/// The execution as a graph for Graphviz: a column for each thread, and who reads from whom.
fn drawing(history: &History) -> String {
    let mut text = "digraph execution {\n  node [shape=plaintext, fontname=monospace];\n".to_owned();
    let Ok(execution) = Execution::from_history(history) else { return text + "}\n" };
    let operations = history.operations().len();
    // The reads of final values are not drawn: they are no steps of the program.
    let is_drawn = |id: &EventId| execution.operation(*id).index() < operations;
    for thread in 0..execution.thread_count() as u32 {
        let events: Vec<EventId> = execution.thread_events(history::execution::ThreadId(thread)).collect();
        let _ = writeln!(text, "  subgraph cluster{thread} {{\n    label=\"thread {thread}\";");
        for id in events.iter().filter(|id| is_drawn(id)) {
            let line = history::format::render_operation(history, execution.operation(*id));
            let line = visible(line.split_once(' ').map_or(&*line, |(_, step)| step)).to_string();
            let _ = writeln!(text, "    e{} [label=\"{}\"];", id.0, line.replace('\\', "\\\\").replace('"', "\\\""));
        }
        for pair in events.windows(2).filter(|pair| is_drawn(&pair[1])) {
            let _ = writeln!(text, "    e{} -> e{} [weight=9];", pair[0].0, pair[1].0);
        }
        text += "  }\n";
    }
    for id in execution.ids().filter(is_drawn) {
        let source = execution.event(id).source;
        if source.is_event() {
            let _ = writeln!(
                text,
                "  e{} -> e{} [label=\"rf\", color=\"#2a7\", fontcolor=\"#2a7\", constraint=false];",
                source.0, id.0
            );
        }
    }
    text + "}\n"
}
