//! `seriatim simulate`: histories of simulated memory systems, written or checked.

use std::fmt::Write as _;
use std::io::{self, Write};

use format::{Format, WriteError, Writer};
use history::History;
use machine::{
    CacheConfig, Client, ClientOperation, CoreKind, Cores, Instruction, MachineEnding, MachineRun, MachineSetup,
    Mistake, Network, execute,
};
use model::{Model, Verdict};
use serde_json::{Value, json};
use seriatim::{Checker, Decision, Options, Shrunk, shrink};
use workload::memory::MemoryStep;

use crate::check::Tally;
use crate::flags::{Listing, Ordering, Simulate, Simulated, Victims};
use crate::output::{self, Output, Palette};
use crate::{BAD, generate, json, observe, panics};

/// The exit status if the memory system got stuck in some execution, and none is a violation.
pub(crate) const STUCK: u8 = 4;

/// How many operations a history may have that is held in memory.
const MOST_HELD: u32 = 50_000_000;

pub(crate) fn run(flags: &Simulate) -> u8 {
    let setup = match setup(&flags.simulated) {
        Ok(setup) => setup,
        Err(message) => return refuse("simulate", &message),
    };
    if flags.json && !flags.check && !flags.shown.observe {
        return refuse("simulate", "--json needs --check or --observe; --format jsonl writes histories as JSON");
    }
    if flags.shown.table {
        let mut protocol = setup.tables();
        if let Some(Mistake::Protocol(bug)) = setup.mistake {
            bug.apply(&mut protocol);
        }
        return print(&format!("{}: {}\n\n{protocol}", setup.protocol, setup.protocol.summary()));
    }
    if flags.shown.bugs {
        let known = Mistake::all(setup.protocol, setup.cores.kind);
        let lines: Vec<String> = known.map(|it| format!("{:26} {}\n", it.name(), it.summary())).collect();
        return print(&lines.concat());
    }
    let is_held = flags.check || flags.shown.observe || flags.order == Listing::Performed;
    if is_held && setup.client.operations > MOST_HELD {
        let message = format!(
            "a history of more than {MOST_HELD} operations is only written, line by line; `seriatim monitor` can \
             watch it"
        );
        return refuse("simulate", &message);
    }
    let setups = (0..flags.histories).map(|number| {
        let mut setup = setup;
        setup.client.seed = generate::seed(flags.simulated.seed, number);
        setup
    });
    if flags.shown.observe {
        observe::run(setups, &flags.shown, flags.json)
    } else if flags.check {
        check(flags, setups)
    } else {
        write(flags, setups)
    }
}

/// The experiment that the flags describe, or what is wrong with it.
pub(crate) fn setup(flags: &Simulated) -> Result<MachineSetup, String> {
    let mistake = flags.bug.as_ref().map(|name| Mistake::from_name(flags.protocol, flags.core, name));
    let mistake = mistake.transpose().map_err(|error| error.to_string())?;
    let Simulated { threads, operations, locations, writes, rmws, fences, hot, seed, .. } = *flags;
    let is_ordered = flags.network == Ordering::Ordered;
    let setup = MachineSetup {
        protocol: flags.protocol,
        mistake,
        client: Client { threads, operations, locations, writes, rmws, fences, hot, seed },
        cores: Cores { kind: flags.core, depth: flags.depth, idle: flags.idle, bug: None },
        caches: CacheConfig {
            block: flags.block,
            sharing: flags.sharing,
            frames: flags.cache,
            second: flags.second_level,
            evictions: flags.evictions,
            has_filter: flags.probe_filter,
            is_lru: flags.victims == Victims::Lru,
            network: Network { is_ordered, delay: flags.delay, capacity: flags.capacity, buffers: flags.buffers },
            ..CacheConfig::default()
        },
    };
    match setup.fault() {
        Some(fault) => Err(fault.to_string()),
        None => Ok(setup),
    }
}

/// The model that a right memory system with such cores has.
pub(crate) const fn promised(cores: CoreKind) -> Model {
    match cores {
        CoreKind::Tso => Model::Tso,
        CoreKind::Pso => Model::Pso,
        _ => Model::Sc,
    }
}

pub(crate) fn refuse(command: &str, message: &str) -> u8 {
    let _ = writeln!(io::stderr(), "seriatim {command}: {message}");
    BAD
}

fn print(text: &str) -> u8 {
    match io::stdout().write_all(text.as_bytes()) {
        Ok(()) => 0,
        Err(error) => output::write_error(&error),
    }
}

/// The history of a run that a model looks at.
pub(crate) fn history_for(run: &MachineRun, model: Model) -> History {
    if model == Model::ScObserved { run.performed_history() } else { run.history() }
}

fn write(flags: &Simulate, setups: impl Iterator<Item = MachineSetup>) -> u8 {
    let format = flags.format.or_else(|| Format::from_path(flags.output.as_deref()?)).unwrap_or(Format::Text);
    let out = match Output::open(flags.output.as_deref()) {
        Ok(out) => out,
        Err(error) => {
            output::complain(flags.output.as_deref().unwrap_or("-".as_ref()), error);
            return BAD;
        }
    };
    let mut is_stuck = false;
    let mut note = |setup: &MachineSetup, ending: &MachineEnding| {
        if let MachineEnding::Stuck(reason) = ending {
            is_stuck = true;
            let _ = writeln!(io::stderr(), "seriatim simulate: seed {}: stuck: {reason}", setup.client.seed);
        }
    };
    let written = match (flags.order, format) {
        (Listing::Retired, Format::Text) => write_lines(out, format, setups, generate::text_line, note),
        (Listing::Retired, Format::JsonLines) => write_lines(out, format, setups, generate::json_line, note),
        _ => {
            let mut writer = Writer::new(out, format);
            let written = setups.into_iter().try_for_each(|setup| {
                let run = setup.run().expect("the setup has no fault");
                note(&setup, &run.ending);
                let is_performed = flags.order == Listing::Performed;
                writer.write(&if is_performed { run.performed_history() } else { run.history() })
            });
            written.and_then(|()| writer.finish())
        }
    };
    match written.and_then(|out| Ok(out.commit()?)) {
        Ok(()) if is_stuck => STUCK,
        Ok(()) => 0,
        Err(WriteError::Io(error)) => output::write_error(&error),
        Err(error) => refuse("simulate", &error.to_string()),
    }
}

/// Writes histories line by line, while the operations retire. Memory does not grow with their number.
fn write_lines(
    mut out: Output,
    format: Format,
    setups: impl Iterator<Item = MachineSetup>,
    write_line: impl Fn(&mut dyn Write, MemoryStep) -> io::Result<()>,
    mut note: impl FnMut(&MachineSetup, &MachineEnding),
) -> Result<Output, WriteError> {
    let headers = [1, 2].map(|count| generate::headers(format, count));
    let [first, both] = headers;
    let (first, both) = (first?, both?);
    for (number, setup) in setups.enumerate() {
        out.write_all(if number == 0 { &first } else { &both[first.len()..] })?;
        let mut system = setup.caches().expect("the setup has no fault");
        let mut written = Ok(());
        let ending = execute(&mut system, &setup.client, &setup.cores(), &mut |operation| {
            if written.is_ok() {
                written = write_line(&mut out, step(&operation));
            }
        });
        note(&setup, &ending);
        written?;
    }
    Ok(out)
}

/// An operation as the generators of histories have it.
const fn step(operation: &ClientOperation) -> MemoryStep {
    let ClientOperation { thread, instruction, read, .. } = *operation;
    let Instruction { kind, location, value, order } = instruction;
    MemoryStep { thread, location, kind, order, read, written: value }
}

fn check(flags: &Simulate, setups: impl Iterator<Item = MachineSetup>) -> u8 {
    let models = if flags.models.is_empty() { vec![promised(flags.simulated.core)] } else { flags.models.clone() };
    let options = Options::default().timeout(flags.timeout);
    let mut out = io::stdout().lock();
    let (mut total, mut stuck, mut operations) = (Tally::default(), 0u64, 0u64);
    for setup in setups {
        let run = setup.run().expect("the setup has no fault");
        let mut tally = Tally { histories: 1, ..Tally::default() };
        operations += run.operations.len() as u64;
        let mut text = String::new();
        if let MachineEnding::Stuck(reason) = &run.ending {
            stuck += 1;
            text +=
                &told(flags.json, setup.client.seed, "stuck", &json!({ "reason": reason }), &format!("  {reason}\n"));
        }
        for &model in &models {
            let history = history_for(&run, model);
            let decision = decide(&history, model, &options);
            match decision.verdict {
                Verdict::Consistent => {}
                Verdict::Unknown => tally.unknown = 1,
                Verdict::Violation => {
                    tally.violations = 1;
                    let finding = Finding::of(&history, decision, &options);
                    let seed = setup.client.seed;
                    text += &told(flags.json, seed, model.name(), &finding.json(), &finding.text(Palette::stdout()));
                }
            }
        }
        total.add(tally);
        if let Err(error) = out.write_all(text.as_bytes()) {
            return output::write_error(&error);
        }
    }
    let Tally { histories, violations, unknown, .. } = total;
    let text = if flags.json {
        json::line(&json!({
            "kind": "totals", "histories": histories, "operations": operations, "violations": violations,
            "unknown": unknown, "stuck": stuck,
        }))
    } else {
        format!(
            "{histories} histories, {operations} operations: {violations} in violation{}{}\n",
            if stuck > 0 { format!(", {stuck} stuck") } else { String::new() },
            if unknown > 0 { format!(", {unknown} unknown") } else { String::new() },
        )
    };
    match out.write_all(text.as_bytes()) {
        Ok(()) if violations == 0 && stuck > 0 => STUCK,
        Ok(()) => total.status(),
        Err(error) => output::write_error(&error),
    }
}

/// A finding as a line of JSON, or as text.
fn told(is_json: bool, seed: u64, model: &str, fields: &Value, text: &str) -> String {
    if !is_json {
        let verdict = if model == "stuck" { "the memory system does not go on" } else { "violation" };
        return format!("seed {seed}: {model}: {verdict}\n{text}");
    }
    let mut object = json!({ "kind": "finding", "seed": seed, "model": model });
    merge(&mut object, fields);
    json::line(&object)
}

/// Adds the fields of one object to another.
pub(crate) fn merge(object: &mut Value, fields: &Value) {
    for (key, value) in fields.as_object().into_iter().flatten() {
        object[key] = value.clone();
    }
}

/// What a model says of a history. A panic is no verdict.
pub(crate) fn decide(history: &History, model: Model, options: &Options) -> Decision {
    let decided = panics::catch(|| Checker::new(history, options).check(model));
    match decided {
        Ok(Ok(decision)) => decision,
        Ok(Err(misfit)) => Decision::unknown(model, misfit.to_string()),
        Err(reason) => Decision::unknown(model, reason),
    }
}

/// A violation, shrunk if that is possible.
pub(crate) struct Finding {
    history: History,
    decision: Decision,
}

impl Finding {
    pub(crate) fn of(history: &History, decision: Decision, options: &Options) -> Self {
        match panics::catch(|| shrink(history, decision.model, options)) {
            Ok(Ok(Shrunk { history, decision, .. })) => {
                // The evidence speaks of the operations and locations of one history by their numbers there.
                let shown = renumbered(&history);
                let again = decide(&shown, decision.model, options);
                let is_same = again.verdict == decision.verdict;
                if is_same { Self { history: shown, decision: again } } else { Self { history, decision } }
            }
            _ => Self { history: history.clone(), decision },
        }
    }

    /// The history, shrunk if that was possible.
    pub(crate) const fn history(&self) -> &History {
        &self.history
    }

    /// Why it is a violation.
    pub(crate) const fn decision(&self) -> &Decision {
        &self.decision
    }

    /// The explanation, and the history below it.
    pub(crate) fn text(&self, palette: Palette) -> String {
        let lines = self.decision.explain(&self.history).lines;
        let mut text = String::new();
        for line in &lines {
            let _ = writeln!(text, "  {}", palette.line(line));
        }
        text + &self.listing()
    }

    /// The history in the text format.
    pub(crate) fn listing(&self) -> String {
        let mut writer = Writer::new(Vec::new(), Format::Text);
        let written = writer.write(&self.history).and_then(|()| writer.finish());
        written.map_or_else(|error| format!("{error}\n"), |bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    pub(crate) fn json(&self) -> Value {
        let lines = self.decision.evidence.as_ref().map(|it| json::explanation(&self.history, self.decision.model, it));
        json!({
            "verdict": self.decision.verdict.name(),
            "operations": self.history.operations().len(),
            "history": self.listing(),
            "explanation": lines,
        })
    }
}

/// The same history, whose operations stand in the lines in which the text format writes them.
fn renumbered(history: &History) -> History {
    let mut writer = Writer::new(Vec::new(), Format::Text);
    let written = writer.write(history).and_then(|()| writer.finish());
    let text = written.ok().and_then(|bytes| String::from_utf8(bytes).ok());
    text.and_then(|text| format::parse(&text).ok()).unwrap_or_else(|| history.clone())
}
