//! The files of `--witness`: for each outcome a history, which `seriatim check` judges again, and drawings of it.

use std::io;
use std::path::{Path, PathBuf};

use explore::Model;
use explore::litmus::{LitmusOutcome, Test};
use format::{Format, Writer};
use history::execution::EventId;
use history::{Execution, History, visible};
use report::story::{Contradiction, EdgeKind, StoryEdge, StoryNode};
use report::{Line, Story, StoryGraph};

/// Writes the files of an outcome. The answer is the name of the history, none if the outcome has no witness.
pub(super) fn write(
    folder: &Path,
    test: &Test,
    model: Model,
    number: usize,
    outcome: &LitmusOutcome,
) -> io::Result<Option<PathBuf>> {
    let Some(history) = &outcome.witness else { return Ok(None) };
    std::fs::create_dir_all(folder)?;
    let name = format!("{}.{model}.{}", plain(test.name()), number + 1);
    let path = folder.join(format!("{name}.hist"));
    let title = format!("{} under {model}: {}", test.name(), test.title(&outcome.state));
    let mut writer = Writer::new(Vec::new(), Format::Text);
    writer.comment(&title);
    let text = writer.write(history).and_then(|()| writer.finish()).map_err(io::Error::other)?;
    std::fs::write(&path, text)?;
    let story = story(history, model);
    let graph = StoryGraph::new(&story, &title);
    std::fs::write(folder.join(format!("{name}.svg")), graph.to_svg())?;
    std::fs::write(folder.join(format!("{name}.dot")), graph.to_dot())?;
    Ok(Some(path))
}

/// The name of a test as a part of the name of a file: it may have any characters.
fn plain(name: &str) -> String {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "+-_".contains(character);
    name.chars().take(100).map(|character| if is_plain(character) { character } else { '_' }).collect()
}

/// What is drawn: the steps of each thread, and who reads from whom. The reads of final values are not drawn: they are
/// no steps of the program.
fn story(history: &History, model: Model) -> Story {
    let mut story = Story {
        model: model.name(),
        verdict: "consistent",
        evidence: "execution",
        heading: Line::default(),
        threads: Vec::new(),
        nodes: Vec::new(),
        parts: Vec::new(),
        hints: Vec::new(),
        witness: None,
    };
    let Ok(execution) = Execution::from_history(history) else { return story };
    let operations = history.operations().len();
    let mut nodes = vec![None; execution.len()];
    let mut part = Contradiction::default();
    let edge = |from: usize, to: usize, kind: EdgeKind| StoryEdge {
        from,
        to,
        kind,
        label: kind.label(),
        sentence: Line::default(),
        reason: String::new(),
        premises: Vec::new(),
        refuted_by: None,
    };
    for thread in 0..execution.thread_count() as u32 {
        let events = execution.thread_events(history::execution::ThreadId(thread));
        let events: Vec<EventId> = events.filter(|&id| execution.operation(id).index() < operations).collect();
        if events.is_empty() {
            continue;
        }
        let column = story.threads.len();
        for (at, &id) in events.iter().enumerate() {
            let text = format::render_operation(history, execution.operation(id));
            let (name, action) = text.split_once(' ').unwrap_or((&text, &text));
            if at == 0 {
                story.threads.push(visible(name.trim_matches(['[', ']'])).to_string());
            } else {
                part.edges.push(edge(story.nodes.len() - 1, story.nodes.len(), EdgeKind::ProgramOrder));
            }
            nodes[id.index()] = Some(story.nodes.len());
            story.nodes.push(StoryNode {
                operations: vec![execution.operation(id)],
                thread: Some(column),
                action: visible(action).to_string(),
                text: visible(&text).to_string(),
                ..StoryNode::default()
            });
        }
    }
    for id in execution.ids() {
        let source = execution.event(id).source;
        if source.is_event()
            && let (Some(from), Some(to)) = (nodes[source.index()], nodes[id.index()])
        {
            part.edges.push(edge(from, to, EdgeKind::ReadsFrom));
        }
    }
    story.parts.push(part);
    story
}
