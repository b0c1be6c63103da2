//! Random histories, and what two histories must agree on to be the same.

#![allow(dead_code)] // each test uses its part

use std::fmt::Write as _;
use std::io::Cursor;

use history::format::{Format, InputError, ReadOptions, Writer, read};
use history::{History, KeyId, MemoryOrder, Method, Object, Operation, OperationId, Outcome, ProcessId, Source, Value};

pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    pub fn chance(&mut self, one_in: usize) -> bool {
        self.below(one_in) == 0
    }

    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}

pub fn parse(bytes: Vec<u8>, format: Option<Format>) -> Vec<Result<History, InputError>> {
    read(Box::new(Cursor::new(bytes)), &ReadOptions { format, ..ReadOptions::default() }).collect()
}

pub fn parse_valid(bytes: Vec<u8>, format: Format) -> Vec<History> {
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let valid = |result: Result<History, InputError>| result.unwrap_or_else(|error| panic!("{error:?}\n{text}"));
    parse(bytes, Some(format)).into_iter().map(valid).collect()
}

pub fn print(histories: &[History], format: Format) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), format);
    for history in histories {
        writer.write(history).unwrap();
    }
    writer.finish().unwrap()
}

/// Everything that a history says, without the numbers of words, keys, processes and moments.
pub fn canonical(history: &History) -> String {
    let show = |value: Value| match (value.as_integer(), value.as_word()) {
        (Some(number), _) => format!("int {number}"),
        (_, Some(word)) => format!("word {:?}", history.words().text(word)),
        _ => "none".to_owned(),
    };
    let key = |key: KeyId| history.keys().get(key.index()).map_or_else(|| "-".to_owned(), |&name| show(name));
    let mut out = String::new();
    let has_initial = matches!(history.object(), Object::Memory | Object::Register | Object::KeyValue);
    let initial = if has_initial { show(history.initial()) } else { String::new() };
    writeln!(out, "{:?} {:?} {:?} {initial}", history.name(), history.object(), history.capacity()).unwrap();
    for (name, table) in [("init", history.inits()), ("final", history.finals())] {
        for &(at, value) in table {
            writeln!(out, "{name} {} {}", key(at), show(value)).unwrap();
        }
    }
    let mut moments: Vec<u32> = history.moments().iter().flatten().copied().filter(|&m| m != History::NEVER).collect();
    moments.sort_unstable();
    moments.dedup();
    let rank = |moment: u32| moments.binary_search(&moment).ok();
    for (at, operation) in history.operations().iter().enumerate() {
        let id = OperationId(at as u32);
        writeln!(
            out,
            "{} {:?}.{:?} {} {} -> {} {:?} at {:?} times {:?} expected {:?} label {:?} source {:?} po {:?}",
            show(history.processes()[operation.process.index()]),
            operation.method,
            operation.order,
            key(operation.key),
            show(operation.argument),
            show(operation.result),
            operation.outcome,
            history.moments().get(at).map(|moments| moments.map(rank)),
            history.times().get(at).copied().unwrap_or_default(),
            history.expected(id).map(show),
            history.label(id).map(show),
            history.source(id),
            history.program_index(id),
        )
        .unwrap();
    }
    out
}

#[derive(Copy, Clone, PartialEq, Eq)]
pub enum Profile {
    Anything,
    /// What an axe trace can say.
    Axe,
}

const WORDS: [&str; 26] = [
    "a",
    "x",
    "x17",
    "M[3]",
    "empty",
    "null",
    "nil",
    "true",
    "false",
    "init",
    "5",
    "-1",
    "007",
    "",
    " ",
    "a b",
    "\"q\"",
    "]",
    "(1)",
    "1,2",
    "id=a",
    "#",
    "é漢\u{1f600}",
    "\u{0}\n\t\\",
    "[1 2]",
    "9223372036854775808",
];

fn value(random: &mut Random, history: &mut History, profile: Profile) -> Value {
    const INTEGERS: [i64; 8] = [0, 1, 2, 7, 1234, 12_345_678, 1 << 40, (1 << 61) - 1];
    if profile == Profile::Axe || random.chance(2) {
        let number = random.pick(&INTEGERS);
        let is_negative = profile != Profile::Axe && random.chance(4);
        return Value::integer(if is_negative { -number } else { number }).unwrap();
    }
    let word = random.pick(&WORDS);
    history.words.word(word)
}

fn result(random: &mut Random, history: &mut History, method: Method, profile: Profile) -> Value {
    match method {
        Method::Cas | Method::TryLock => Value::boolean(random.chance(2)),
        Method::Add | Method::Remove | Method::Contains => random.pick(&[Value::TRUE, Value::FALSE, Value::NONE]),
        Method::ReadAll => {
            let elements = (0..random.below(4)).map(|_| value(random, history, profile)).collect();
            history.whole_set(elements)
        }
        Method::Dequeue | Method::Pop | Method::DeleteMax | Method::Peek if random.chance(3) => Value::EMPTY,
        Method::Read
        | Method::Rmw
        | Method::Get
        | Method::Exchange
        | Method::Dequeue
        | Method::Pop
        | Method::DeleteMax
        | Method::Peek => value(random, history, profile),
        _ => Value::NONE,
    }
}

/// A history that says anything that a history can say, within the profile.
pub fn random_history(seed: u64, profile: Profile) -> History {
    let random = &mut Random(seed);
    let mut history = History::default();
    let is_axe = profile == Profile::Axe;
    history.object = if is_axe { Object::Memory } else { random.pick(&Object::ALL) };
    if random.chance(2) {
        history.name = Some(if is_axe { "SB+po".to_owned() } else { random.pick(&WORDS).to_owned() });
    }
    if !is_axe && random.chance(3) {
        history.capacity = Some(random.next());
    }
    if !is_axe && random.chance(2) {
        history.initial = value(random, &mut history, profile);
    }
    for (count, is_key) in [(1 + random.below(4), false), (1 + random.below(4), true)] {
        for at in 0..count {
            let name = if is_axe && is_key {
                history.words.word(["v0", "M[12]", "_x", "y"][at])
            } else {
                value(random, &mut history, profile)
            };
            let names = if is_key { &mut history.keys } else { &mut history.processes };
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    for at in 0..history.keys().len() as u32 {
        if !is_axe && random.chance(3) {
            let value = value(random, &mut history, profile);
            history.inits.push((KeyId(at), value));
        }
        if random.chance(4) {
            let value = value(random, &mut history, profile);
            history.finals.push((KeyId(at), value));
        }
    }
    let style = if is_axe { 0 } else { random.below(3) };
    let has_times = random.chance(3);
    let mut open: Vec<Option<usize>> = vec![None; history.processes().len()];
    let mut crashed = vec![false; history.processes().len()];
    let mut events = Vec::new();
    for _ in 0..random.below(24) {
        let process = random.below(history.processes().len());
        if crashed[process] {
            continue;
        }
        if let Some(at) = open[process] {
            open[process] = None;
            let outcome = random.pick(&[Outcome::Ok, Outcome::Ok, Outcome::Ok, Outcome::Fail, Outcome::Info]);
            let method = history.operations()[at].method;
            let result =
                if outcome == Outcome::Ok { result(random, &mut history, method, profile) } else { Value::NONE };
            history.operations[at].outcome = outcome;
            history.operations[at].result = result;
            crashed[process] = outcome == Outcome::Info;
            events.push((at, true));
            continue;
        }
        let has_call = match style {
            0 => false,
            1 => true,
            _ => random.chance(2),
        };
        let at = history.operations().len();
        let method = random.pick(history.object().methods()).0;
        let argument = if method.takes_argument() { value(random, &mut history, profile) } else { Value::NONE };
        let is_memory = history.object() == Object::Memory;
        let has_key = if is_memory { method != Method::Fence } else { random.chance(2) };
        let order = if is_memory && !is_axe {
            random.pick(&[MemoryOrder::Plain, MemoryOrder::Acquire, MemoryOrder::SequentiallyConsistent])
        } else {
            MemoryOrder::Plain
        };
        let key = if has_key { KeyId(random.below(history.keys().len()) as u32) } else { KeyId::NONE };
        let result = if has_call { Value::NONE } else { result(random, &mut history, method, profile) };
        if method == Method::Cas {
            let expected = value(random, &mut history, profile);
            history.expected.push((OperationId(at as u32), expected));
        }
        history.operations.push(Operation {
            process: ProcessId(process as u32),
            key,
            line: 0,
            method,
            order,
            outcome: if has_call { Outcome::Pending } else { Outcome::Instant },
            argument,
            result,
        });
        events.push((at, false));
        if has_call {
            open[process] = Some(at);
        }
        if !is_axe && random.chance(6) {
            history.program_indices.push((OperationId(at as u32), random.next()));
        }
    }
    if history.operations().iter().any(|operation| operation.outcome != Outcome::Instant) {
        history.moments = vec![[History::NEVER; 2]; history.operations().len()];
        for (moment, &(at, is_end)) in events.iter().enumerate() {
            let is_info = history.operations()[at].outcome == Outcome::Info;
            if history.operations()[at].outcome == Outcome::Instant {
                history.moments[at] = [moment as u32; 2];
            } else if !(is_end && is_info) {
                history.moments[at][usize::from(is_end)] = moment as u32;
            }
        }
    }
    if has_times {
        history.times = vec![[None; 2]; history.operations().len()];
        for at in 0..history.operations().len() {
            for end in 0..2 {
                let is_known = end == 0 || history.operations()[at].outcome != Outcome::Pending;
                if is_known && random.chance(2) {
                    history.times[at][end] = Some(random.next() as i64 >> random.below(64));
                }
            }
        }
    }
    if !is_axe {
        add_sources(random, &mut history);
    }
    history
}

fn add_sources(random: &mut Random, history: &mut History) {
    let count = history.operations().len();
    for at in 0..count {
        if random.chance(3) {
            let label = value(random, history, Profile::Anything);
            let is_init = history.show(label) == "init";
            if !is_init && !history.labels().iter().any(|&(_, other)| other == label) {
                history.labels.push((OperationId(at as u32), label));
            }
        }
    }
    for at in 0..count {
        let reads = matches!(history.operations()[at].method, Method::Read | Method::Rmw | Method::Cas);
        if reads && random.chance(2) {
            let source = if history.labels().is_empty() || random.chance(4) {
                Source::Init
            } else {
                Source::Operation(history.labels()[random.below(history.labels().len())].0)
            };
            history.sources.push((OperationId(at as u32), source));
        }
    }
}
