//! The witness of a consistent history, as a part of its story: the orders, and after each step what the memory or the
//! object holds. The verifier's replay makes it, so what is told is what was verified.

use std::collections::HashMap;

use history::{History, Object, OperationId, visible};
use model::{Evidence, Model, transaction};
use serde::Serialize;
use verify::replay::{self, About, Piece, ReplayAction};

use super::memory::StoryWriter;
use crate::text::Line;

/// Why a history is consistent: orders of its operations, and what each step changes.
///
/// What a cell holds at a step is a list of pieces. It begins with [`ShownCell::start`], and each [`Change`] up to that
/// step is applied to it. Cells and texts are named by their numbers, so that a witness of a million steps stays small.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Default)]
pub struct Witness {
    /// What the witness is, in a sentence.
    pub note: Line,
    /// The sources that were chosen for reads whose source the history leaves open.
    pub choices: Vec<Line>,
    /// The places that hold something, in the order of their kinds and names.
    pub cells: Vec<ShownCell>,
    /// All texts that a cell may hold, each once.
    pub texts: Vec<String>,
    /// The orders. None if the verifier decides again instead.
    pub runs: Vec<ShownOrder>,
}

/// A place that holds something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ShownCell {
    /// What it is.
    pub kind: CellKind,
    /// Its name: a location, a thread, an object. Empty if there is only one.
    pub name: String,
    /// What it holds before the first step: numbers in [`Witness::texts`].
    pub start: Vec<u32>,
}

/// What a cell is. This says how its pieces are shown.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CellKind {
    /// A location of the memory, a register, a counter, a lock: one piece.
    Single,
    /// A store buffer: the oldest write first.
    Buffer,
    /// A queue: the front first.
    Queue,
    /// A stack: the top last.
    Stack,
    /// A set, a multiset, a priority queue, the holders of a lock: in no order.
    Bag,
    /// A text, in pieces.
    Text,
}

/// One order of operations.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ShownOrder {
    /// What it is about: a thread, a location. Empty if it is about all that happened.
    pub name: String,
    /// Its steps.
    pub steps: Vec<ShownStep>,
}

/// One step of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ShownStep {
    /// The operation, by its number in the history.
    pub operation: OperationId,
    /// `perform`; behind store buffers, a write has two steps: `buffer` and `reach`.
    pub action: &'static str,
    /// What changes: each change has the number of its cell.
    pub changes: Vec<(u32, Change)>,
}

/// What a step does to a cell. Pieces are numbers in [`Witness::texts`].
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// This piece takes the place of all.
    Set(u32),
    /// This piece is added at the end.
    Append(u32),
    /// The first piece is removed.
    RemoveFirst,
    /// The last piece is removed.
    RemoveLast,
    /// This piece is added. The order does not matter.
    Insert(u32),
    /// One such piece is removed.
    Delete(u32),
}

impl Change {
    /// Applies the change to what a cell holds.
    pub fn apply(self, pieces: &mut Vec<u32>) {
        match self {
            Self::Set(piece) => *pieces = vec![piece],
            Self::Append(piece) | Self::Insert(piece) => pieces.push(piece),
            Self::RemoveFirst => {
                if !pieces.is_empty() {
                    pieces.remove(0);
                }
            }
            Self::RemoveLast => {
                pieces.pop();
            }
            Self::Delete(piece) => {
                if let Some(at) = pieces.iter().position(|&other| other == piece) {
                    pieces.remove(at);
                }
            }
        }
    }
}

impl Witness {
    /// The witness of evidence that a history is consistent. The evidence is that of a checker, or was verified.
    pub(super) fn new(history: &History, model: Model, evidence: &Evidence) -> Self {
        let observed = &*history.observed();
        let mut witness = Self { note: note(evidence), ..Self::default() };
        if let Evidence::Sources(choices, _) = evidence {
            let writer = StoryWriter::new(observed, model);
            witness.choices = choices.iter().map(|choice| writer.chosen(choice)).collect();
        }
        let mut texts = Texts { history: observed, numbers: HashMap::new(), list: Vec::new() };
        let runs = replay::replay(history, model, evidence);
        let mut cells: Vec<replay::Cell> = Vec::new();
        for run in &runs {
            cells.extend(run.steps.iter().flat_map(|step| step.changes.iter().map(|&(cell, _)| cell)));
            cells.sort_unstable();
            cells.dedup();
        }
        witness.cells = cells
            .iter()
            .map(|&cell| ShownCell {
                kind: kind(observed, cell),
                name: name(observed, cell),
                start: replay::start(observed, cell).iter().map(|piece| texts.number(piece)).collect(),
            })
            .collect();
        for run in runs {
            let steps = run.steps.into_iter().map(|step| ShownStep {
                operation: step.operation,
                action: match step.action {
                    ReplayAction::Perform => "perform",
                    ReplayAction::Buffer => "buffer",
                    ReplayAction::Reach => "reach",
                },
                changes: step
                    .changes
                    .iter()
                    .map(|(cell, change)| (cells.binary_search(cell).unwrap_or(0) as u32, texts.change(change)))
                    .collect(),
            });
            let name = match run.about {
                About::All | About::Writes => String::new(),
                About::View(process) => format!("thread {}", visible(&observed.process_name(process))),
                About::Location(key) => visible(&observed.key_name(key)).into_owned(),
            };
            witness.runs.push(ShownOrder { name, steps: steps.collect() });
        }
        witness.texts = texts.list;
        witness
    }
}

struct Texts<'a> {
    history: &'a History,
    numbers: HashMap<String, u32>,
    list: Vec<String>,
}

impl Texts<'_> {
    fn number(&mut self, piece: &Piece) -> u32 {
        let text = visible(&piece.show(self.history)).into_owned();
        if let Some(&number) = self.numbers.get(&text) {
            return number;
        }
        let number = self.list.len() as u32;
        self.list.push(text.clone());
        self.numbers.insert(text, number);
        number
    }

    fn change(&mut self, change: &replay::StateChange) -> Change {
        match change {
            replay::StateChange::Set(piece) => Change::Set(self.number(piece)),
            replay::StateChange::Append(piece) => Change::Append(self.number(piece)),
            replay::StateChange::RemoveFirst => Change::RemoveFirst,
            replay::StateChange::RemoveLast => Change::RemoveLast,
            replay::StateChange::Insert(piece) => Change::Insert(self.number(piece)),
            replay::StateChange::Delete(piece) => Change::Delete(self.number(piece)),
        }
    }
}

fn kind(history: &History, cell: replay::Cell) -> CellKind {
    match cell {
        replay::Cell::Location(_) => CellKind::Single,
        replay::Cell::Buffer(..) => CellKind::Buffer,
        replay::Cell::Object(_) => match history.object() {
            // Of transactions, only lists are objects.
            Object::Queue | Object::Transactions => CellKind::Queue,
            Object::Stack => CellKind::Stack,
            Object::KeyValue => CellKind::Text,
            Object::Set | Object::Multiset | Object::PriorityQueue | Object::TaggedMutex | Object::TaggedSemaphore => {
                CellKind::Bag
            }
            _ => CellKind::Single,
        },
    }
}

fn name(history: &History, cell: replay::Cell) -> String {
    let name = match cell {
        replay::Cell::Location(key) | replay::Cell::Object(key) => history.key_name(key),
        replay::Cell::Buffer(process, None) => history.process_name(process),
        replay::Cell::Buffer(process, Some(key)) => {
            format!("{}, {}", history.process_name(process), history.key_name(key))
        }
    };
    visible(&name).into_owned()
}

fn note(evidence: &Evidence) -> Line {
    let what = match evidence {
        Evidence::Interleaving(_) => "this order of all operations explains every read",
        Evidence::MemoryOrder(_) => "a machine with store buffers can do this",
        Evidence::WriteOrder(_) => "with this order of the writes, every read returns the last write that it knows of",
        Evidence::ViewOrders(_) => "each thread has an order of what it knows of that explains its reads",
        Evidence::ModificationOrders(_) => "with these orders of the writes of each location, no axiom is violated",
        Evidence::Linearizations(_) => "each operation takes effect at a moment between its call and its return",
        Evidence::Pairs(_) => "these operations exchanged their values",
        Evidence::Sources(_, witness) => return note(witness),
        Evidence::Transactions(evidence) => match **evidence {
            transaction::TransactionEvidence::EventOrder(_) => {
                "in this order each transaction reads a snapshot, and later its writes become visible together"
            }
            _ => "the transactions can commit in this order",
        },
        _ => "no rule of the model leads to a contradiction; there is no order to show",
    };
    Line::default().plain(what)
}
