//! Histories of tipocket: `{"action":"invoke","proc":1,"time":"…","data":…}` and `"action":"return"`, one a line.
//!
//! `data` is what the client of the test case writes. Understood are the clients that map to an object:
//! - a map of numbers (`{"Op":0,"Key":7,"Val":0}`, where `Op` is 0 get, 1 put, 2 delete; answers `{"Val":5}`), which
//!   is a register for each key, and 0 stands for no value;
//! - transactions of Elle's list-append and rw-register (`{"type":"invoke","value":[{"type":"append","m":{"key":"1",
//!   "value":5}}]}`; answers in `Result`).
//!
//! `"Unknown":true` says that nobody knows. States that were dumped and events of the nemesis are left out. The clients
//! of the bank and others are refused: what they write does not say which version was read.

use history::value::quote;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Dropped, ForeignEvent, Source};
use crate::error::Fault;

/// Whether the text looks like a record.
pub(in super::super) fn is_record(text: &[u8]) -> bool {
    [&b"\"action\""[..], b"\"proc\"", b"\"data\""].iter().all(|name| memchr::memmem::find(text, name).is_some())
}

#[derive(Deserialize)]
struct Line {
    action: String,
    proc: i64,
    #[serde(default)]
    data: Value,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct MapRequest {
    op: u64,
    key: Value,
    #[serde(default)]
    val: Value,
}

#[derive(Deserialize)]
struct Mop {
    r#type: String,
    m: serde_json::Map<String, Value>,
}

/// The events of a history, and the open call of each process: its method and its value.
#[derive(Default)]
pub(super) struct Events {
    all: Vec<ForeignEvent>,
    open: Vec<(i64, Value)>,
    footprint: usize,
}

impl Events {
    /// About how many bytes they take.
    pub fn footprint(&self) -> usize {
        self.footprint
    }

    /// The events in the order of the file.
    pub fn events(self) -> Vec<ForeignEvent> {
        self.all
    }

    fn push(&mut self, record: &Value, line: u32) {
        let text = record.to_string();
        self.footprint += text.len() + 100;
        self.all.push(ForeignEvent { text, line });
    }

    /// Takes in a record.
    pub fn add(&mut self, source: &Source, dropped: &mut Dropped) -> Result<(), Fault> {
        let Line { action, proc, data } = source.parse()?;
        match action.as_str() {
            "invoke" => {
                let fields = call(&data)?;
                if self.all.is_empty() && fields["f"] != "txn" {
                    self.push(&json!({"object": "register", "initial": 0}), source.line);
                }
                let mut record = fields.clone();
                record["process"] = json!(proc);
                record["type"] = json!("invoke");
                self.push(&record, source.line);
                self.open.retain(|&(other, _)| other != proc);
                self.open.push((proc, fields));
            }
            "return" => {
                let Some(at) = self.open.iter().position(|&(other, _)| other == proc) else {
                    let message = format!("process {proc} returns, and has not called");
                    return Err(Source::fault(message).expected("an `invoke` of this process before it"));
                };
                let (_, mut record) = self.open.remove(at);
                let (outcome, value) = end(&record, &data)?;
                record["process"] = json!(proc);
                record["type"] = json!(outcome);
                record["value"] = value;
                self.push(&record, source.line);
            }
            "dump" => dropped.note("dumped states"),
            "invoke_nemesis" | "recover_nemesis" | "nemesis_invoke" | "nemesis_recover" => {
                dropped.note("events of the nemesis");
            }
            _ if proc < 0 => dropped.note("events of the nemesis"),
            other => {
                let message = format!("an action {} is not known", quote(other.as_bytes()));
                return Err(Source::fault(message).expected("one of invoke, return, dump"));
            }
        }
        Ok(())
    }
}

/// The method, the key and the value of a call.
fn call(data: &Value) -> Result<Value, Fault> {
    if let Some(mops) = data.get("value").filter(|_| data.get("type").is_some()) {
        return Ok(json!({"f": "txn", "value": transaction(mops)?}));
    }
    let request = MapRequest::deserialize(data).map_err(|_| {
        let fault = Source::fault("what this client of tipocket records is not known");
        fault.expected("a map (`Op`, `Key`, `Val`), or a transaction of Elle (`type`, `value`)")
    })?;
    match request.op {
        0 => Ok(json!({"f": "read", "key": request.key, "value": null})),
        1 => Ok(json!({"f": "write", "key": request.key, "value": request.val})),
        2 => Ok(json!({"f": "write", "key": request.key, "value": 0})),
        other => Err(Source::fault(format!("an operation of the number {other} is not known")).expected("0, 1 or 2")),
    }
}

/// How a call ended, and its value.
fn end(call: &Value, data: &Value) -> Result<(&'static str, Value), Fault> {
    if call["f"] == "txn" {
        let result = data.get("Result").or_else(|| data.get("result")).unwrap_or(data);
        let outcome = match result["type"].as_str() {
            Some("ok") => "ok",
            Some("fail") => "fail",
            Some("info" | "unknown") => "info",
            _ => return Err(Source::fault("the transaction does not say how it ended").expected("the field `type`")),
        };
        let value = if outcome == "ok" { transaction(&result["value"])? } else { call["value"].clone() };
        return Ok((outcome, value));
    }
    if data["Unknown"] == true || data.is_null() {
        return Ok(("info", Value::Null));
    }
    if call["f"] == "write" {
        return Ok(("ok", call["value"].clone()));
    }
    match data.get("Val") {
        Some(value) => Ok(("ok", value.clone())),
        None => Err(Source::fault("the answer has no value").expected("the field `Val`")),
    }
}

/// The small operations of a transaction, as Jepsen writes them.
fn transaction(mops: &Value) -> Result<Value, Fault> {
    let bad = || Source::fault("this is not a transaction of tipocket").expected("operations with `type` and `m`");
    let mops = mops.as_array().ok_or_else(bad)?;
    let mut operations = Vec::new();
    for mop in mops {
        let Mop { r#type, m } = Mop::deserialize(mop).map_err(|_| bad())?;
        let get = |name: &str| m.get(name).cloned().unwrap_or_default();
        match (r#type.as_str(), m.contains_key("key")) {
            ("append", true) => operations.push(json!(["append", get("key"), get("value")])),
            ("write", true) => operations.push(json!(["w", get("key"), get("value")])),
            ("read", true) => operations.push(json!(["r", get("key"), get("value")])),
            // A read of several registers at once has them by name.
            ("read", false) => operations.extend(m.iter().map(|(key, value)| json!(["r", key, value]))),
            _ => return Err(bad()),
        }
    }
    Ok(Value::Array(operations))
}
