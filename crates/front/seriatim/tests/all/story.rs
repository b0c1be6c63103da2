//! Stories are complete: whatever the model and the evidence, every edge has a reason, and every witness can be played.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write as _;

use history::{History, Method, Object, Operation, OperationId, Value};
use model::Evidence;
use report::story::{CellKind, Contradiction, EdgeKind, ShownOrder, StoryEdge, StoryNode, Witness};
use report::{Depth, Story, StoryGraph};
use seriatim::{Model, Options, Verdict, check, shrink};
use workload::random::SplitMix64;
use workload::small::{add_finals, c11_executions, cases, executions, to_history, with_few_values};

/// What was seen in all stories, so that a test can say that it saw enough.
#[derive(Default)]
struct Seen {
    evidence: BTreeSet<&'static str>,
    labels: BTreeSet<&'static str>,
    /// The headings of the violations, up to the colon.
    names: BTreeSet<String>,
    steps: usize,
    /// How many violations are one chain.
    chains: usize,
}

impl Seen {
    fn check(&mut self, history: &History, model: Model) {
        let options = Options::default().witness(true);
        let Ok(decision) = check(history, model, &options) else { return };
        let Some(evidence) = &decision.evidence else { return };
        self.tell(history, model, decision.verdict, evidence);
        if decision.verdict == Verdict::Violation {
            let shrunk = shrink(history, model, &options).expect("a violation is shrunk");
            let evidence = shrunk.decision.evidence.as_ref().expect("a violation has evidence");
            self.tell(&shrunk.history, model, Verdict::Violation, evidence);
        }
    }

    fn tell(&mut self, history: &History, model: Model, verdict: Verdict, evidence: &Evidence) {
        let story = Story::new(history, model, verdict, evidence);
        self.evidence.insert(story.evidence);
        let observed = &*history.observed();
        match &story.witness {
            None => {
                assert_eq!(story.verdict, "violation");
                self.violation(observed, &story);
            }
            Some(witness) => self.witness(observed, model, witness),
        }
        if verdict == Verdict::Violation {
            self.tables(&story, &report::explain(history, model, evidence));
        }
        serde_json::to_string(&story).expect("a story is plain data");
        drawn(history, &story);
    }

    fn violation(&mut self, history: &History, story: &Story) {
        let told = || serde_json::to_string_pretty(story).unwrap_or_default();
        assert!(!story.heading.to_string().is_empty(), "{}", told());
        let heading = story.heading.to_string();
        self.names.extend(heading.split(':').next().unwrap_or_default().split(", ").map(str::to_owned));
        let last = story.parts.last().expect("a violation has a part");
        assert!(last.supposes.is_empty(), "the last part holds in any case: {}", told());
        for (number, part) in story.parts.iter().enumerate() {
            assert!(!part.title.to_string().is_empty(), "{}", told());
            assert!(!part.core.is_empty() || story.evidence == "decide again", "{}", told());
            assert!(part.uses.iter().all(|&used| used < number), "{}", told());
            for (at, edge) in part.edges.iter().enumerate() {
                self.labels.insert(edge.label);
                assert!(edge.premises.iter().all(|&premise| premise < at), "premises come first: {}", told());
                let is_refuted = edge.refuted_by.is_some_and(|part| part < number);
                assert!(
                    edge.kind.is_basic() || !edge.premises.is_empty() || is_refuted,
                    "edge {at} has a reason: {}",
                    told()
                );
                assert!(!edge.sentence.to_string().is_empty(), "{}", told());
                assert!(holds(history, story, edge), "edge {at} of part {number} holds: {}", told());
            }
            assert!(is_closed(part), "{}", told());
        }
    }

    /// The tables of `check` say what the story says: its heading, and every node of a single circle.
    fn tables(&mut self, story: &Story, lines: &[report::Line]) {
        let told = lines.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
        assert!(told.starts_with(&story.heading.to_string()), "{told}");
        let [part] = &story.parts[..] else { return };
        for &node in part.core.iter().filter(|_| part.core.len() <= 16) {
            let node = &story.nodes[node];
            assert!(node.place.is_empty() || told.contains(&node.place), "{}:\n{told}", node.place);
        }
        self.chains += usize::from(!part.chain.is_empty());
        for &edge in &part.chain {
            assert!(told.contains(&part.edges[edge].reason), "{told}");
        }
    }

    /// Plays the witness: what an operation returns is what is there.
    fn witness(&mut self, history: &History, model: Model, witness: &Witness) {
        assert!(!witness.note.to_string().is_empty());
        for run in &witness.runs {
            self.steps += run.steps.len();
            // `sc-observed` does not look at values, and an order of writes has no reads.
            if history.is_of_transactions() {
                commit(history, model, witness, run);
            } else if run.name.is_empty() && !matches!(model, Model::Ccv | Model::ScObserved) {
                play(history, witness, run);
            }
        }
    }
}

/// Draws and tells the story at all widths. No line is too wide, and every operation is drawn.
fn drawn(history: &History, story: &Story) {
    let observed = &*history.observed();
    for width in [40, 120] {
        let lines = report::lanes::draw(history, story, width);
        let drawing = lines.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
        let widest = drawing.lines().map(|line| line.chars().count()).max().unwrap_or(0);
        assert!(widest <= width, "{width}:\n{drawing}");
        let lines = observed.operations().iter().map(|operation| operation.line).filter(|&line| line > 0);
        for line in lines.filter(|&line| line < u32::MAX) {
            let is_drawn = |place: &str| drawing.split_whitespace().any(|word| word == place);
            assert!(is_drawn(&format!(":{line}")), "line {line}:\n{drawing}");
        }
        // A long derivation leans over to the right, so only the circle is sure to fit.
        for line in report::tell(story, Depth::Levels(0), width) {
            let line = line.to_string();
            let is_one_word = line.split_whitespace().count() == 1;
            assert!(line.chars().count() <= width || is_one_word, "{line}");
        }
        let [fitting, all] = [Depth::Fitting, Depth::All].map(|depth| report::tell(story, depth, width).len());
        assert!(fitting <= all);
        for line in report::witness(history, story, width) {
            assert!(line.to_string().chars().count() <= width, "{line}");
        }
    }
    if story.witness.is_none() {
        let graph = StoryGraph::new(story, "a violation");
        let labels = story.parts.last().map_or(0, |part| part.circle.len());
        let svg = graph.to_svg();
        assert!(svg.matches("class=\"st-edge\"").count() >= 2 * labels, "{svg}");
        assert!(graph.to_dot().matches(" -> ").count() >= labels);
        assert!(graph.to_mermaid().matches("| n").count() >= labels);
    }
}

/// Whether a basic edge is what the history says.
fn holds(history: &History, story: &Story, edge: &StoryEdge) -> bool {
    let [from, to] = [edge.from, edge.to].map(|node| &story.nodes[node]);
    let ids = [from, to].map(|node| node.operations.first().copied());
    let source_of = |read: OperationId| {
        let operation = history.operation(read);
        history.expected(read).unwrap_or(operation.result)
    };
    let owner = |node: &StoryNode| node.operations.first().map(|&id| history.transaction_of(id));
    let of_both = |test: &dyn Fn(&Operation, &Operation) -> bool| {
        let all = |node: &StoryNode| node.operations.iter().map(|&id| *history.operation(id)).collect::<Vec<_>>();
        all(from).iter().any(|one| all(to).iter().any(|other| one.key == other.key && test(one, other)))
    };
    match (edge.kind, ids) {
        (EdgeKind::Session, [Some(one), Some(other)]) => from.thread == to.thread && one < other,
        (EdgeKind::Ended, _) => {
            let moments = [owner(from), owner(to)].map(|id| history.transaction_moments()[id.unwrap().index()]);
            moments[0][1] < moments[1][0]
        }
        (EdgeKind::WriteRead, [None, Some(_)]) => {
            to.operations.iter().any(|&id| history.operation(id).method == Method::Read)
        }
        (EdgeKind::WriteRead, [Some(_), Some(_)]) => of_both(&|write, read| {
            let is_write = matches!(write.method, Method::Write | Method::Append) && read.method == Method::Read;
            is_write && (read.result == write.argument || history.list(read.result).contains(&write.argument))
        }),
        (EdgeKind::Version, _) => of_both(&|one, other| one.method == Method::Append && other.method == Method::Append),
        (EdgeKind::ProgramOrder, [Some(one), Some(other)]) => {
            from.thread == to.thread && (one < other || history.program_index(one).is_some())
        }
        (EdgeKind::Initial, [None, _]) => true,
        (EdgeKind::ReadsFrom, [Some(write), Some(read)]) => history.operation(write).argument == source_of(read),
        (EdgeKind::ReadsFrom, [None, Some(read)]) => {
            history.initial_value(history.operation(read).key) == source_of(read)
        }
        (EdgeKind::Value, [Some(insert), Some(seen)]) => {
            let operation = history.operation(seen);
            history.operation(insert).argument == source_of(seen)
                || history.operation(insert).argument == operation.argument
        }
        (EdgeKind::RealTime, [Some(_), Some(_)]) => from.ret.is_some_and(|ret| to.call.is_some_and(|call| ret < call)),
        (EdgeKind::Performed, [Some(one), Some(other)]) => one < other,
        (kind, _) => !kind.is_basic() || kind == EdgeKind::Supposed,
    }
}

/// Plays an order of transactions: under the levels whose order has reads, a read of a key that its transaction has not
/// written yet returns what is there.
fn commit(history: &History, model: Model, witness: &Witness, run: &ShownOrder) {
    let mut cells: Vec<Vec<u32>> = witness.cells.iter().map(|cell| cell.start.clone()).collect();
    let numbers: HashMap<&str, usize> =
        witness.cells.iter().enumerate().map(|(at, cell)| (cell.name.as_str(), at)).collect();
    for step in &run.steps {
        let operation = history.operation(step.operation);
        let first = history.operation_range(history.transaction_of(step.operation)).start;
        let is_own = (first..step.operation.0).map(|id| history.operation(OperationId(id)));
        let is_own = is_own.into_iter().any(|own| own.method != Method::Read && own.key == operation.key);
        if operation.method == Method::Read && !is_own {
            let cell = numbers.get(history.key_name(operation.key).as_str()).copied();
            let held: Vec<&str> = cell.map_or_else(Vec::new, |cell| {
                cells[cell].iter().map(|&piece| witness.texts[piece as usize].as_str()).collect()
            });
            let list: Vec<String> = history.list(operation.result).iter().map(|&value| history.show(value)).collect();
            let is_list = operation.result.as_list().is_some();
            let result = if is_list { list } else { vec![history.show(operation.result)] };
            let initial = history.show(history.initial_value(operation.key));
            let held = if cell.is_none() && !is_list { vec![initial.as_str()] } else { held };
            assert_eq!(held, result, "{model}: operation {}", step.operation.0);
        }
        for &(cell, change) in &step.changes {
            change.apply(&mut cells[cell as usize]);
        }
    }
}

fn is_closed(part: &Contradiction) -> bool {
    let edges: Vec<&StoryEdge> = part.circle.iter().map(|&edge| &part.edges[edge]).collect();
    let nexts = edges.iter().cycle().skip(1);
    edges.iter().zip(nexts).all(|(edge, next)| edge.to == next.from)
}

fn play(history: &History, witness: &Witness, run: &ShownOrder) {
    let mut cells: Vec<Vec<u32>> = witness.cells.iter().map(|cell| cell.start.clone()).collect();
    let text = |piece: &u32| witness.texts[*piece as usize].clone();
    let numbers: HashMap<(bool, &str), usize> = witness
        .cells
        .iter()
        .enumerate()
        .map(|(at, cell)| ((cell.kind == CellKind::Buffer, cell.name.as_str()), at))
        .collect();
    for step in &run.steps {
        let operation = history.operation(step.operation);
        let key = history.key_name(operation.key);
        let cell = numbers.get(&(false, key.as_str())).map(|&cell| &cells[cell]);
        let process = history.process_name(operation.process);
        let write = format!("{key}=");
        let buffers = [process.clone(), format!("{process}, {key}")];
        let buffered = buffers.iter().filter_map(|name| numbers.get(&(true, name.as_str()))).find_map(|&buffer| {
            let newest = cells[buffer].iter().rev().map(text).find(|piece| piece.starts_with(&write))?;
            Some(newest[write.len()..].to_owned())
        });
        let result = history.show(operation.result);
        let is_known = operation.result.is_some() && step.action == "perform";
        match operation.method {
            Method::Read | Method::Rmw if is_known => {
                let memory = cell.and_then(|cell| cell.last()).map(text);
                let initial = history.show(history.initial_value(operation.key));
                assert_eq!(buffered.or(memory).unwrap_or(initial), result, "{}", step.operation.0);
            }
            Method::Dequeue | Method::Pop if is_known => {
                let cell = cell.cloned().unwrap_or_default();
                let next = if operation.method == Method::Dequeue { cell.first() } else { cell.last() };
                assert_eq!(next.map_or("empty".to_owned(), text), result);
            }
            Method::DeleteMax if is_known && operation.result != Value::EMPTY => {
                assert!(cell.unwrap().iter().map(text).any(|piece| piece == result));
            }
            Method::Contains if is_known => {
                let argument = history.show(operation.argument);
                let is_in = cell.is_some_and(|cell| cell.iter().map(text).any(|piece| piece == argument));
                assert_eq!(is_in.to_string(), result);
            }
            Method::Get if is_known && history.object() == Object::KeyValue => {
                assert_eq!(cell.map_or(String::new(), |cell| cell.iter().map(text).collect()), result);
            }
            Method::Get if is_known => {
                assert_eq!(cell.map_or("0".to_owned(), |cell| cell.iter().map(text).collect()), result);
            }
            _ => {}
        }
        for &(cell, change) in &step.changes {
            change.apply(&mut cells[cell as usize]);
        }
    }
}

fn isolation_levels() -> impl Iterator<Item = Model> {
    model::Isolation::all().map(model::Isolation::model)
}

#[test]
fn of_transactions() {
    let mut seen = Seen::default();
    for history in workload::transactions::small(5).take(cases(600) as usize) {
        for model in isolation_levels() {
            seen.check(&history, model);
        }
    }
    for evidence in
        ["cycle", "bad read", "unrepeatable read", "lost update", "commit order", "order of reads and commits"]
    {
        assert!(seen.evidence.contains(evidence), "{evidence}: {:?}", seen.evidence);
    }
    for label in ["so", "rt", "wr", "ww", "rw", "init"] {
        assert!(seen.labels.contains(label), "{label}: {:?}", seen.labels);
    }
    assert!(seen.steps > 1000);
}

/// Each anomaly has its name in the heading.
#[test]
fn of_anomalies() {
    use workload::transactions::{InjectedAnomaly, TransactionConfig, history};
    let mut seen = Seen::default();
    for anomaly in InjectedAnomaly::ALL {
        for lists in [false, true] {
            let config = TransactionConfig {
                operations: 12,
                anomaly: Some(anomaly),
                lists,
                seed: 4,
                ..TransactionConfig::default()
            };
            if config.fault().is_none() {
                let history = history(&config);
                for model in [Model::ReadCommitted, Model::RepeatableRead, Model::ReadAtomic, Model::Causal] {
                    seen.check(&history, model);
                }
                for model in [Model::Prefix, Model::ParallelSnapshotIsolation, Model::Serializable] {
                    seen.check(&history, model);
                }
            }
        }
    }
    // A session that does not see its own write.
    let own =
        seriatim::parse("[a] begin\n[a] w x 1\n[a] commit\n[a] begin\n[a] r x 0\n[a] commit\n").expect("a history");
    seen.check(&own, Model::Causal);
    for name in [
        "G0",
        "G1a",
        "G1b",
        "G1c",
        "G-single",
        "G-nonadjacent",
        "G2-item",
        "thin-air",
        "internal",
        "future-read",
        "incompatible-order",
        "non-monotonic read",
        "non-repeatable read",
        "fractured read",
        "read-your-writes violation",
        "causality violation",
        "long fork",
        "lost update",
        "write skew",
    ] {
        assert!(seen.names.contains(name), "{name}: {:?}", seen.names);
    }
}

/// Lemmas about transactions: each operation of a history that takes a search is a transaction.
#[test]
fn of_searches_for_an_order_of_transactions() {
    use workload::hard::{HardConfig, HardShape};
    let mut seen = Seen::default();
    for shape in [HardShape::OneGuess, HardShape::LongConflict, HardShape::TwoGuesses] {
        let hard = workload::hard::history(&HardConfig { shape, copies: 1, side_by_side: false, violating: true });
        let mut text = String::from("# @object transactions\n# @realtime none\n");
        for id in (0..hard.operations().len() as u32).map(OperationId) {
            writeln!(text, "{}", format::render_operation(&hard, id)).unwrap();
        }
        let history = format::parse(&text).unwrap();
        for model in [Model::Serializable, Model::SnapshotIsolation] {
            seen.check(&history, model);
        }
    }
    assert!(seen.evidence.contains("lemmas"), "{:?}", seen.evidence);
    assert!(seen.labels.contains("refuted") && seen.labels.contains("supposed"), "{:?}", seen.labels);
}

#[test]
fn of_memory_models() {
    let mut seen = Seen::default();
    let mut random = SplitMix64::new(11);
    let count = cases(60) as usize;
    let c11 = c11_executions(5, 2).take(count);
    for (number, execution) in executions(3).take(count).chain(c11).enumerate() {
        let history = match number % 3 {
            0 => to_history(&execution),
            1 => add_finals(to_history(&execution), &mut random),
            _ => with_few_values(&execution, 2, &mut random),
        };
        for model in Model::ALL {
            seen.check(&history, model);
        }
    }
    let evidence: Vec<&str> = seen.evidence.iter().copied().collect();
    for kind in [
        "cycle",
        "interleaving",
        "memory order",
        "modification orders",
        "cases of chosen sources",
        "chosen sources",
        "order of writes",
        "orders of views",
        "decide again",
    ] {
        assert!(seen.evidence.contains(kind), "{kind}: {evidence:?}");
    }
    for label in ["po", "rf", "init", "cf", "rw", "mo", "atomic"] {
        assert!(seen.labels.contains(label), "{label}: {:?}", seen.labels);
    }
    assert!(seen.steps > 1000 && seen.chains > 100, "{} {}", seen.steps, seen.chains);
}

/// Fences and memory orders: what synchronises.
#[test]
fn of_synchronisation() {
    let mut seen = Seen::default();
    let text = "[0] w.rlx d 1\n[0] f.rel\n[0] w.rlx x 1\n[1] u.rlx x 1 2\n[2] r.rlx x 2\n[2] f.acq\n[2] r.rlx d 0\n";
    seen.check(&format::parse(text).unwrap(), Model::Rc20);
    assert!(["sw", "po", "rf", "rw"].iter().all(|label| seen.labels.contains(label)), "{:?}", seen.labels);
}

/// Lemmas of searches. Only a search proves that these violate the models.
#[test]
fn of_searches() {
    let mut seen = Seen::default();
    for seed in 0..cases(150) {
        let mut random = SplitMix64::new(seed);
        // Two writers of each location, and readers that see them in orders that depend on each other.
        let mut text = String::new();
        for thread in 0..4 {
            for at in 0..4 {
                let key = ["x", "y", "z"][random.below(3) as usize];
                let own = thread * 10 + at + 1;
                let other = random.below(4) * 10 + random.below(4) + 1;
                let (method, value) = if random.below(2) == 0 { ("w", own) } else { ("r", other) };
                writeln!(text, "[{thread}] {method} {key} {value}").unwrap();
            }
        }
        let history = format::parse(&text).unwrap();
        for model in [Model::Sc, Model::Tso, Model::Pso] {
            seen.check(&history, model);
        }
    }
    for entry in hard() {
        for model in [Model::Sc, Model::Tso, Model::Pso, Model::Sra] {
            seen.check(&entry, model);
        }
    }
    assert!(seen.evidence.contains("lemmas") && seen.evidence.contains("read from thin air"), "{:?}", seen.evidence);
    assert!(seen.labels.contains("refuted") && seen.labels.contains("supposed"), "{:?}", seen.labels);
}

/// Every history of the corpus: some of them take a search.
fn hard() -> Vec<History> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../testing/corpus");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.is_file());
    files.sort();
    files.iter().flat_map(|file| format::load_all(file).unwrap()).map(Result::unwrap).collect()
}

#[test]
fn of_the_corpus() {
    let mut seen = Seen::default();
    for history in hard() {
        for model in Model::ALL {
            seen.check(&history, model);
        }
    }
    assert!(seen.evidence.len() > 8, "{:?}", seen.evidence);
}

#[test]
fn of_performed_operations() {
    let mut seen = Seen::default();
    for seed in 0..cases(300) {
        let mut random = SplitMix64::new(seed);
        let mut text = String::new();
        let mut indices: Vec<Vec<u64>> = (0..3).map(|_| (0..4).collect()).collect();
        for value in 1..=9 {
            let thread = random.below(3) as usize;
            let left = &mut indices[thread];
            if left.is_empty() {
                continue;
            }
            let index = left.remove((random.below(3) as usize).min(left.len() - 1));
            let (method, key) = (["w", "r"][random.below(2) as usize], ["x", "y"][random.below(2) as usize]);
            writeln!(text, "[{thread}] {method} {key} {value} po={index}").unwrap();
        }
        seen.check(&format::parse(&text).unwrap(), Model::ScObserved);
    }
    assert!(seen.evidence.contains("cycle of constraints") && seen.evidence.contains("interleaving"));
    assert!(seen.labels.contains("po") && seen.labels.contains("performed"));
}

#[test]
fn of_objects() {
    for object in Object::ALL.into_iter().filter(|&object| object != Object::Memory) {
        let mut seen = Seen::default();
        for seed in 0..cases(150) {
            let history = match seed % 3 {
                0 => workload::object::small(object, seed),
                1 => workload::object::small_with_peeks(object, seed),
                _ => workload::object::small_with_duplicates(object, seed),
            };
            seen.check(&history, Model::Linearizable);
        }
        let witness = if object == Object::Exchanger { "pairs" } else { "linearizations" };
        assert!(seen.evidence.contains("core") && seen.evidence.contains(witness), "{object:?}: {:?}", seen.evidence);
    }
}
