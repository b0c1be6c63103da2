//! The numbers of a run: by client and in all, and the last violations. Threads of streams add to them; the address of
//! `--metrics` shows them, as text for Prometheus ([`Board::metrics`]) and as JSON for the page ([`Board::snapshot`]).
//!
//! Invariant: a total is the sum of what has left and of what is there now, so it never falls.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use budget::ram;
use history::visible;
use serde_json::{Value, json};

use crate::check::Tally;
use crate::monitor::session::Found;

/// How many violations are remembered.
const REMEMBERED: usize = 20;

/// The counts of a stream.
#[derive(Copy, Clone, Default)]
pub(crate) struct Counts {
    pub(crate) events: u64,
    pub(crate) lines: u64,
    pub(crate) bytes: u64,
    pub(crate) consistent: u64,
    pub(crate) tally: Tally,
}

impl Counts {
    fn add(&mut self, other: &Self) {
        self.events += other.events;
        self.lines += other.lines;
        self.bytes += other.bytes;
        self.consistent += other.consistent;
        self.tally.add(other.tally);
    }
}

impl Counts {
    /// What was counted since an older count.
    pub(crate) fn since(&self, older: &Self) -> Self {
        Self {
            events: self.events - older.events,
            lines: self.lines - older.lines,
            bytes: self.bytes - older.bytes,
            consistent: self.consistent - older.consistent,
            tally: self.tally.since(older.tally),
        }
    }
}

#[derive(Default)]
struct Numbers {
    counts: Counts,
    /// The size of the state.
    state: u64,
    /// How many bytes have come and are not checked, and since when the oldest of them is here.
    waiting: u64,
    busy: Option<Instant>,
}

/// The numbers of one stream, or of one client of a shared history.
pub(crate) struct Row {
    name: Mutex<String>,
    since: Instant,
    numbers: Mutex<Numbers>,
}

impl Row {
    /// A client has told its name.
    pub(crate) fn rename(&self, name: &str) {
        name.clone_into(&mut lock(&self.name));
    }

    /// A piece has come, and this many bytes wait behind it.
    pub(crate) fn begin(&self, waiting: u64) {
        let mut numbers = lock(&self.numbers);
        numbers.waiting = waiting;
        numbers.busy = Some(Instant::now());
    }

    /// All that has come is checked.
    pub(crate) fn end(&self) {
        let mut numbers = lock(&self.numbers);
        numbers.waiting = 0;
        numbers.busy = None;
    }

    /// Adds what has been counted. `state` is the size of the state now.
    pub(crate) fn add(&self, counts: &Counts, state: u64) {
        let mut numbers = lock(&self.numbers);
        numbers.counts.add(counts);
        numbers.state = state;
    }
}

/// A violation that is remembered.
struct Remembered {
    id: u64,
    time: u64,
    stream: String,
    found: Found,
}

#[derive(Default)]
struct Rows {
    present: BTreeMap<u64, Arc<Row>>,
    /// What the streams that are gone have counted.
    left: Counts,
    /// How many have come.
    come: u64,
    refused: u64,
}

#[derive(Default)]
struct Saving {
    made: u64,
    time: Duration,
    last: Option<Instant>,
    /// Why the last checkpoint could not be made, if it could not.
    problem: Option<String>,
    failed: u64,
}

pub(crate) struct Board {
    begin: Instant,
    /// The seconds since 1970 at the start.
    started: u64,
    rows: Mutex<Rows>,
    saving: Mutex<Saving>,
    violations: Mutex<VecDeque<Remembered>>,
    found: AtomicU64,
    is_stopping: AtomicU64,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn seconds_now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

impl Board {
    pub(crate) fn new() -> Self {
        Self {
            begin: Instant::now(),
            started: seconds_now(),
            rows: Mutex::default(),
            saving: Mutex::default(),
            violations: Mutex::default(),
            found: AtomicU64::new(0),
            is_stopping: AtomicU64::new(0),
        }
    }

    /// A stream has come. Returns its number, from one, and its row.
    pub(crate) fn enter(&self, name: &str) -> (u64, Arc<Row>) {
        let row = Row { name: Mutex::new(name.to_owned()), since: Instant::now(), numbers: Mutex::default() };
        let row = Arc::new(row);
        let mut rows = lock(&self.rows);
        rows.come += 1;
        let number = rows.come;
        rows.present.insert(number, Arc::clone(&row));
        (number, row)
    }

    /// A stream has left.
    pub(crate) fn leave(&self, number: u64) {
        let mut rows = lock(&self.rows);
        if let Some(row) = rows.present.remove(&number) {
            let counts = lock(&row.numbers).counts;
            rows.left.add(&counts);
        }
    }

    pub(crate) fn refuse(&self) {
        lock(&self.rows).refused += 1;
    }

    pub(crate) fn checkpoint_saved(&self, cost: Duration) {
        let mut saving = lock(&self.saving);
        saving.made += 1;
        saving.time += cost;
        saving.last = Some(Instant::now());
        saving.problem = None;
    }

    /// Returns whether this is another problem than before.
    pub(crate) fn checkpoint_failed(&self, problem: &str) -> bool {
        let mut saving = lock(&self.saving);
        saving.failed += 1;
        saving.problem.replace(problem.to_owned()).as_deref() != Some(problem)
    }

    pub(crate) fn set_stopping(&self) {
        self.is_stopping.store(1, Ordering::Relaxed);
    }

    pub(crate) fn add_violation(&self, stream: &str, found: Found) {
        let id = self.found.fetch_add(1, Ordering::Relaxed) + 1;
        let remembered = Remembered { id, time: seconds_now(), stream: stream.to_owned(), found };
        let mut violations = lock(&self.violations);
        violations.push_front(remembered);
        violations.truncate(REMEMBERED);
    }

    /// Why the service is not ready, if it is not.
    pub(crate) fn trouble(&self) -> Option<String> {
        if self.is_stopping.load(Ordering::Relaxed) > 0 {
            return Some("the service is stopping".to_owned());
        }
        lock(&self.saving).problem.clone()
    }

    /// The picture of a violation.
    pub(crate) fn picture(&self, id: u64) -> Option<String> {
        let violations = lock(&self.violations);
        let drawing = violations.iter().find(|it| it.id == id)?.found.drawing.as_ref()?;
        Some(drawing.svg.clone())
    }

    /// All numbers, for the page.
    pub(crate) fn snapshot(&self) -> Value {
        let rows = lock(&self.rows);
        let mut total = rows.left;
        let mut clients = Vec::new();
        for (number, row) in &rows.present {
            let numbers = lock(&row.numbers);
            total.add(&numbers.counts);
            let mut client = of_counts(&numbers.counts);
            client["number"] = json!(number);
            client["name"] = json!(visible(&lock(&row.name)));
            client["seconds"] = json!(row.since.elapsed().as_secs());
            client["state"] = json!(numbers.state);
            client["waiting"] = json!(numbers.waiting);
            client["lag"] = json!(numbers.busy.map_or(0.0, |busy| busy.elapsed().as_secs_f64()));
            clients.push(client);
        }
        let mut all = of_counts(&total);
        all["come"] = json!(rows.come);
        all["refused"] = json!(rows.refused);
        drop(rows);
        let saving = lock(&self.saving);
        let checkpoints = json!({
            "made": saving.made, "failed": saving.failed, "seconds": saving.time.as_secs_f64(),
            "age": saving.last.map(|last| last.elapsed().as_secs_f64()), "problem": saving.problem,
        });
        drop(saving);
        let violations: Vec<Value> = lock(&self.violations).iter().map(Remembered::to_json).collect();
        json!({
            "version": env!("CARGO_PKG_VERSION"), "started": self.started, "uptime": self.begin.elapsed().as_secs_f64(),
            "memory": ram::resident(), "all": all, "clients": clients, "checkpoints": checkpoints,
            "violations": violations, "trouble": self.trouble(),
        })
    }

    /// All numbers, as Prometheus reads them.
    pub(crate) fn metrics(&self) -> String {
        let now = self.snapshot();
        let mut text = String::new();
        let mut put = |name: &str, kind: &str, help: &str, rows: Vec<(String, &Value)>| {
            let _ = writeln!(text, "# HELP seriatim_{name} {help}\n# TYPE seriatim_{name} {kind}");
            for (labels, value) in rows {
                let _ = writeln!(text, "seriatim_{name}{labels} {value}");
            }
        };
        let one = |value| vec![(String::new(), value)];
        let (all, checkpoints) = (&now["all"], &now["checkpoints"]);
        for (name, field, help) in COUNTERS {
            put(name, "counter", help, one(&all[field]));
        }
        let verdicts = |label: &str, of| -> Vec<(String, _)> {
            VERDICTS.map(|verdict| (format!("{{{label}verdict=\"{verdict}\"}}"), &(of as &Value)[verdict])).into()
        };
        put("verdicts_total", "counter", "Verdicts on histories, and bad lines.", verdicts("", all));
        let empty = Vec::new();
        let clients = now["clients"].as_array().unwrap_or(&empty);
        let connected = json!(clients.len());
        put("clients", "gauge", "Streams that are here now.", one(&connected));
        let labels = |client: &Value| format!("client={}", client["name"]);
        for (name, kind, field, help) in BY_CLIENT {
            put(name, kind, help, clients.iter().map(|it| (format!("{{{}}}", labels(it)), &it[field])).collect());
        }
        let by_client = clients.iter().flat_map(|it| verdicts(&format!("{},", labels(it)), it)).collect();
        put("client_verdicts_total", "counter", "Verdicts on the histories of a client that is here.", by_client);
        put("checkpoints_total", "counter", "Checkpoints made.", one(&checkpoints["made"]));
        put("checkpoint_failures_total", "counter", "Checkpoints that failed.", one(&checkpoints["failed"]));
        put("checkpoint_seconds_total", "counter", "The time that checkpoints took.", one(&checkpoints["seconds"]));
        put("memory_bytes", "gauge", "The memory that the process has in use.", one(&now["memory"]));
        put("start_time_seconds", "gauge", "When the process started.", one(&now["started"]));
        let ready = json!(u8::from(now["trouble"].is_null()));
        put("ready", "gauge", "Whether checkpoints can be made and the service is not stopping.", one(&ready));
        text
    }
}

/// The verdicts of a tally; each is a field of the JSON of counts.
const VERDICTS: [&str; 4] = ["consistent", "violation", "unknown", "bad"];

/// Metrics of the whole run: name, field and help.
const COUNTERS: [(&str, &str, &str); 5] = [
    ("events_total", "events", "Events checked."),
    ("lines_total", "lines", "Lines checked."),
    ("bytes_total", "bytes", "Bytes checked."),
    ("clients_total", "come", "Streams that have come."),
    ("refused_total", "refused", "Clients that were refused."),
];

/// Metrics of each client that is here: name, kind, field and help.
const BY_CLIENT: [(&str, &str, &str, &str); 5] = [
    ("client_events_total", "counter", "events", "Events of a client that is here."),
    ("client_lines_total", "counter", "lines", "Lines of a client that is here."),
    ("client_state_bytes", "gauge", "state", "The size of the state of a stream, as a checkpoint holds it."),
    ("client_lag_bytes", "gauge", "waiting", "Bytes that have come and are not checked."),
    ("client_lag_seconds", "gauge", "lag", "For how long the oldest of these bytes has been here."),
];

fn of_counts(counts: &Counts) -> Value {
    let Counts { events, lines, bytes, consistent, tally } = counts;
    json!({
        "events": events, "lines": lines, "bytes": bytes, "histories": tally.histories, "consistent": consistent,
        "violation": tally.violations, "unknown": tally.unknown, "bad": tally.bad,
    })
}

impl Remembered {
    fn to_json(&self) -> Value {
        let Found { history, name, model, at, line, event, reason, drawing } = &self.found;
        json!({
            "id": self.id, "time": self.time, "client": visible(&self.stream), "history": history,
            "name": name.as_deref().map(visible), "model": model, "at": at, "line": line, "event": visible(event),
            "reason": visible(reason), "drawing": drawing.as_ref().map(|drawing| &drawing.text),
        })
    }
}
