//! Random histories, and the comparison of two histories that were numbered differently.

#![allow(dead_code)] // each test uses its part

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::Cursor;

use format::{Format, InputError, ReadOptions, Writer, read};
use history::{
    Call, CallEnd, History, HistoryBuilder, KeyId, MemoryOrder, Method, Object, OperationId, Outcome, ProcessId,
    Returns, Source, Status, Value,
};

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
    let has_initial = matches!(history.object(), Object::Memory | Object::Register | Object::KeyValue | Object::Open);
    let initial = if has_initial { show(history.initial()) } else { String::new() };
    let head = (history.name(), history.object(), history.object_name(), history.capacity());
    writeln!(out, "{head:?} {initial}").unwrap();
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
            "{} {}.{:?} {} {:?} -> {} {:?} at {:?} times {:?} expected {:?} label {:?} source {:?} po {:?}",
            show(history.processes()[operation.process.index()]),
            history.method_name(id),
            operation.order,
            key(operation.key),
            history.arguments(id).map(show).collect::<Vec<_>>(),
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

/// Numbers that are not in canonical form.
const SPELLED: [&str; 9] =
    ["0x1", "0x00000001", "+1", "007", "-0", "0xDEAD", "-0x1f", "0xffffffffffffffff", "0xFFFFFFFFFFFFFFFF"];

const WORDS: [&str; 27] = [
    "0x1",
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

fn value(random: &mut Random, builder: &mut HistoryBuilder, profile: Profile) -> Value {
    const INTEGERS: [i64; 8] = [0, 1, 2, 7, 1234, 12_345_678, 1 << 40, (1 << 61) - 1];
    if profile == Profile::Axe || random.chance(2) {
        let number = random.pick(&INTEGERS);
        let is_negative = profile != Profile::Axe && random.chance(4);
        return Value::integer(if is_negative { -number } else { number }).unwrap();
    }
    if random.chance(4) {
        return builder.value(random.pick(&SPELLED));
    }
    let word = random.pick(&WORDS);
    builder.word(word)
}

fn result(random: &mut Random, builder: &mut HistoryBuilder, method: Method, profile: Profile) -> Value {
    match method.returns() {
        Returns::Nothing => Value::NONE,
        Returns::Boolean => Value::boolean(random.chance(2)),
        Returns::OptionalBoolean => random.pick(&[Value::TRUE, Value::FALSE, Value::NONE]),
        Returns::Whole => {
            let elements = (0..random.below(4)).map(|_| value(random, builder, profile)).collect();
            builder.whole_set(elements)
        }
        Returns::Removed if random.chance(3) => Value::EMPTY,
        Returns::Any if random.chance(3) => Value::NONE,
        Returns::Value | Returns::Removed | Returns::Partner | Returns::Any => value(random, builder, profile),
    }
}

/// A history that says anything that a history can say, within the profile.
pub fn random_history(seed: u64, profile: Profile) -> History {
    let random = &mut Random(seed);
    let is_axe = profile == Profile::Axe;
    let mut object = if is_axe { Object::Memory } else { random.pick(&Object::ALL) };
    let mut builder = HistoryBuilder::new(object);
    if !is_axe && random.chance(6) {
        object = Object::Open;
        builder = HistoryBuilder::of_open(random.pick(&["account", "Lease-2", "x"])).unwrap();
    }
    if random.chance(2) {
        builder.set_name(if is_axe { "SB+po" } else { random.pick(&WORDS) });
    }
    if !is_axe && random.chance(3) {
        builder.set_capacity(random.next());
    }
    if !is_axe && random.chance(2) {
        let initial = value(random, &mut builder, profile);
        builder.set_initial(initial).unwrap();
    }
    let (mut processes, mut keys) = (Vec::new(), Vec::new());
    for _ in 0..=random.below(4) {
        let name = value(random, &mut builder, profile);
        processes.push(builder.process_named(name).unwrap());
    }
    for at in 0..=random.below(4) {
        let name =
            if is_axe { builder.word(["v0", "M[12]", "v7", "M[1]"][at]) } else { value(random, &mut builder, profile) };
        keys.push(builder.key_named(name).unwrap());
    }
    processes.sort_unstable();
    processes.dedup();
    keys.sort_unstable();
    keys.dedup();
    for &key in &keys {
        if !is_axe && random.chance(3) {
            let value = value(random, &mut builder, profile);
            builder.set_init(key, value).unwrap();
        }
        if random.chance(4) {
            let value = value(random, &mut builder, profile);
            builder.set_final(key, value).unwrap();
        }
    }
    let ids = add_operations(random, &mut builder, profile, object, &processes, &keys);
    if random.chance(3) {
        for &id in &ids {
            if random.chance(2) {
                builder.set_call_time(id, random.next() as i64 >> random.below(64)).unwrap();
            }
            if builder.operation(id).outcome != Outcome::Pending && random.chance(2) {
                builder.set_return_time(id, random.next() as i64 >> random.below(64)).unwrap();
            }
        }
    }
    if !is_axe {
        add_sources(random, &mut builder, &ids);
    }
    builder.finish().unwrap()
}

fn add_operations(
    random: &mut Random,
    builder: &mut HistoryBuilder,
    profile: Profile,
    object: Object,
    processes: &[ProcessId],
    keys: &[KeyId],
) -> Vec<OperationId> {
    let is_axe = profile == Profile::Axe;
    let style = if is_axe { 0 } else { random.below(3) };
    let mut ids = Vec::new();
    let mut open: BTreeMap<ProcessId, OperationId> = BTreeMap::new();
    let mut crashed: BTreeSet<ProcessId> = BTreeSet::new();
    for _ in 0..random.below(24) {
        let process = random.pick(processes);
        if crashed.contains(&process) {
            continue;
        }
        if let Some(id) = open.remove(&process) {
            let end = match random.below(5) {
                0 => CallEnd::Fail,
                1 => CallEnd::Info,
                _ => CallEnd::Ok(result(random, builder, builder.operation(id).method, profile)),
            };
            if end == CallEnd::Info {
                crashed.insert(process);
            }
            assert_eq!(builder.end(process, end), Ok(id));
            continue;
        }
        let has_call = match style {
            0 => false,
            1 => true,
            _ => random.chance(2),
        };
        let is_open = object == Object::Open;
        let method = if is_open { Method::Open } else { random.pick(object.methods()).0 };
        let mut call = Call::new(process, method);
        let mut arguments = Vec::new();
        if method.takes_argument() && !(is_open && random.chance(3)) {
            arguments.push(value(random, builder, profile));
            for _ in 0..random.below(3) {
                if is_open {
                    arguments.push(value(random, builder, profile));
                }
            }
            call = call.argument(arguments[0]);
        }
        let is_memory = object == Object::Memory;
        if if is_memory { method != Method::Fence } else { random.chance(2) } {
            call = call.key(random.pick(keys));
        }
        if is_memory && !is_axe {
            let orders = [MemoryOrder::Plain, MemoryOrder::Acquire, MemoryOrder::SequentiallyConsistent];
            call = call.order(random.pick(&orders));
        }
        if method == Method::Cas {
            call = call.expected(value(random, builder, profile));
        }
        if !has_call {
            call = call.result(result(random, builder, method, profile));
        }
        let name = random.pick(&["deposit", "read", "try-take", "w.sc", "Count?"]);
        let id = match (is_open, has_call) {
            (false, true) => builder.call(&call),
            (false, false) => builder.instant(&call),
            (true, true) => builder.call_method(&call, name, &arguments),
            (true, false) => builder.instant_method(&call, name, &arguments),
        };
        let id = id.unwrap();
        if has_call {
            open.insert(process, id);
        }
        if !is_axe && random.chance(6) {
            builder.set_program_index(id, random.next()).unwrap();
        }
        ids.push(id);
    }
    ids
}

fn add_sources(random: &mut Random, builder: &mut HistoryBuilder, ids: &[OperationId]) {
    let mut labelled = Vec::new();
    for &id in ids {
        if random.chance(3) {
            let label = value(random, builder, Profile::Anything);
            if builder.set_label(id, label).is_ok() {
                labelled.push(id);
            }
        }
    }
    for &id in ids {
        let reads = matches!(builder.operation(id).method, Method::Read | Method::Rmw | Method::Cas);
        if reads && random.chance(2) {
            let source = if labelled.is_empty() || random.chance(4) {
                Source::Init
            } else {
                Source::Operation(random.pick(&labelled))
            };
            builder.set_source(id, source).unwrap();
        }
    }
}

/// A random history of transactions, of registers or of lists.
pub fn random_transactions(seed: u64, lists: bool) -> History {
    let random = &mut Random(seed);
    let mut builder = HistoryBuilder::new(Object::Transactions);
    let names = ["0", "7", "a", "a b", "[x]", "null", "", "é", "1.5"];
    let sessions: Vec<ProcessId> = (0..=random.below(3)).map(|_| builder.process(random.pick(&names))).collect();
    let keys: Vec<KeyId> = (0..=random.below(3)).map(|_| builder.key(random.pick(&names))).collect();
    let value = |random: &mut Random, builder: &mut HistoryBuilder| match random.below(8) {
        0 => builder.word(random.pick(&["5", "x,y", "nil", "true", "[1]", "\n", "="])),
        1 => Value::NULL,
        n => Value::small(n as u32 - 2),
    };
    if random.chance(3) {
        builder.set_untimed();
    }
    if random.chance(4) {
        builder.set_name(random.pick(&names));
    }
    if random.chance(3) {
        builder.set_initial(Value::NULL).unwrap();
    }
    if random.chance(4) {
        let initial = value(random, &mut builder);
        builder.set_init(keys[0], initial).unwrap();
    }
    let mut open: BTreeSet<ProcessId> = BTreeSet::new();
    let mut ids = Vec::new();
    for _ in 0..random.below(20) {
        let session = random.pick(&sessions);
        let key = random.pick(&keys);
        match random.below(6) {
            0 if !open.contains(&session) => {
                let id = builder.begin_transaction(session).unwrap();
                open.insert(session);
                if random.chance(5) {
                    builder.set_begin_time(id, random.below(100) as i64);
                }
            }
            1 if open.remove(&session) => {
                let status =
                    random.pick(&[Status::Committed, Status::Committed, Status::Aborted, Status::Indeterminate]);
                builder.end_transaction(session, status).unwrap();
            }
            2 | 3 if lists => {
                let elements: Vec<Value> = (0..random.below(4)).map(|_| value(random, &mut builder)).collect();
                ids.push(builder.read_list(session, key, &elements).unwrap());
            }
            2 | 3 => {
                let read = value(random, &mut builder);
                ids.push(builder.read(session, key, read).unwrap());
            }
            _ => {
                let written = value(random, &mut builder);
                let add = if lists { HistoryBuilder::append } else { HistoryBuilder::write };
                ids.push(add(&mut builder, session, key, written).unwrap());
            }
        }
    }
    if random.chance(3) {
        add_sources(random, &mut builder, &ids);
    }
    builder.finish().unwrap()
}
