//! Operations of Porcupine as JSON: `{"ClientId":0,"Input":…,"Call":5,"Output":…,"Return":9}`, in any order.
//!
//! `Call` and `Return` are times. A call at the time of a return overlaps it, as Porcupine has it. `Input` and `Output`
//! are what the tester's model takes, so they are understood for two models only:
//! - etcd, as its robustness tests write it (`operations.json`, a file for each client): the object [`history::etcd`];
//! - a map of strings, `{"Op":"put","Key":"x","Value":"1"}` and `{"Value":"1"}`, as in Porcupine's own example. `Op` is
//!   0, 1, 2 or `get`, `put`, `append`: the object `kv`.
//!
//! Of etcd, requests without an effect on keys and revisions are left out: grants of leases, defragmentation,
//! compaction, and reads of older revisions, which tell nothing about the present one. A key that is bound to a lease
//! can vanish without a request, and to revoke a lease deletes keys: neither is judged, and such a history is an error.
//! A request that failed may have taken effect or not.

use history::value::quote;
use std::ffi::OsStr;
use std::path::PathBuf;

use serde::Deserialize;
use serde_json::{Value, json};

use super::{Dropped, ForeignEvent, Source};
use crate::error::Fault;
use history::etcd::{self, EtcdAction, EtcdAnswer, EtcdCondition, EtcdEntry, Request, Response};

/// Whether the text looks like an operation.
pub(in super::super) fn is_operation(text: &[u8]) -> bool {
    [&b"\"ClientId\""[..], b"\"Input\"", b"\"Call\""].iter().all(|name| memchr::memmem::find(text, name).is_some())
}

/// The files of etcd's robustness tests among what a folder holds: `client-1/operations.json` and so on, by the number
/// of the client. If there are some, they make one history.
pub(in super::super) fn client_files(entries: &[PathBuf]) -> Vec<(String, PathBuf)> {
    let mut files = Vec::new();
    for entry in entries {
        let Some(name) = entry.file_name().and_then(OsStr::to_str) else { continue };
        let Some(number) = name.strip_prefix("client-").and_then(|number| number.parse::<u64>().ok()) else { continue };
        let file = entry.join("operations.json");
        if file.is_file() {
            files.push((number, format!("{name}/operations.json"), file));
        }
    }
    files.sort();
    files.into_iter().map(|(_, name, file)| (name, file)).collect()
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Operation {
    client_id: i64,
    input: Value,
    call: i64,
    #[serde(default)]
    output: Value,
    #[serde(rename = "Return")]
    ret: Option<i64>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "PascalCase", default)]
struct EtcdRequest {
    r#type: String,
    range: Option<RangeRequest>,
    txn: Option<TxnRequest>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "PascalCase", default)]
struct RangeRequest {
    start: String,
    end: String,
    limit: i64,
    revision: i64,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "PascalCase", default)]
struct TxnRequest {
    conditions: Option<Vec<TxnCondition>>,
    operations_on_success: Option<Vec<EtcdOperation>>,
    operations_on_failure: Option<Vec<EtcdOperation>>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "PascalCase", default)]
struct TxnCondition {
    key: String,
    expected_revision: i64,
    expected_version: i64,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "PascalCase", default)]
struct EtcdOperation {
    r#type: String,
    range: RangeRequest,
    put: PutRequest,
    delete: DeleteRequest,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "PascalCase", default)]
struct PutRequest {
    key: String,
    value: ValueOrHash,
    #[serde(rename = "LeaseID")]
    lease_id: i64,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "PascalCase", default)]
struct DeleteRequest {
    key: String,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "PascalCase", default)]
struct ValueOrHash {
    value: String,
    hash: u32,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "PascalCase", default)]
struct EtcdResponse {
    txn: Option<TxnResponse>,
    range: Option<RangeResponse>,
    revision: i64,
    partial_response: bool,
    persisted: bool,
    persisted_revision: i64,
    client_error: String,
    error: String,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "PascalCase", default)]
struct TxnResponse {
    failure: bool,
    results: Option<Vec<RangeResponse>>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "PascalCase", default)]
struct RangeResponse {
    #[serde(rename = "KVs")]
    kvs: Option<Vec<KeyValue>>,
    count: i64,
    deleted: i64,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "PascalCase", default)]
struct KeyValue {
    key: String,
    value: ValueOrHash,
    mod_revision: i64,
    version: Option<i64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct MapRequest {
    #[serde(alias = "op")]
    op: Value,
    #[serde(alias = "key")]
    key: Value,
    #[serde(alias = "value", default)]
    value: Value,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "PascalCase", default)]
struct MapResponse {
    #[serde(alias = "value")]
    value: Value,
}

/// One operation, translated.
struct PorcupineCall {
    client: i64,
    line: u32,
    call: i64,
    /// The time of the return, and the result. None if nobody knows whether it took effect.
    end: Option<(i64, Value)>,
    /// The fields of the call besides its process.
    fields: Value,
}

/// The operations of a history.
#[derive(Default)]
pub(super) struct Rows {
    all: Vec<PorcupineCall>,
    object: Option<&'static str>,
    footprint: usize,
}

impl Rows {
    /// About how many bytes they take.
    pub fn footprint(&self) -> usize {
        self.footprint
    }

    /// Takes in a record.
    pub fn add(&mut self, source: &Source, dropped: &mut Dropped) -> Result<(), Fault> {
        let operation: Operation = source.parse()?;
        let is_etcd = operation.input.get("Type").is_some_and(Value::is_string);
        let (object, translated) = if is_etcd {
            (etcd::OBJECT, etcd_operation(&operation, dropped)?)
        } else {
            ("kv", Some(map_operation(&operation)?))
        };
        if *self.object.get_or_insert(object) != object {
            return Err(Source::fault("the operations above are those of another model"));
        }
        let Some((fields, end)) = translated else {
            return Ok(());
        };
        if operation.ret.is_some_and(|ret| ret < operation.call) && end.is_some() {
            return Err(Source::fault("the operation returns before it is called").expected("`Call` before `Return`"));
        }
        self.footprint += 2 * source.text.len() + 300;
        let end = operation.ret.zip(end);
        let Operation { client_id: client, call, .. } = operation;
        self.all.push(PorcupineCall { client, line: source.line, call, end, fields });
        Ok(())
    }

    /// The events in the order of time.
    pub fn events(self) -> Vec<ForeignEvent> {
        let mut order: Vec<(i64, u8, usize)> = Vec::with_capacity(2 * self.all.len());
        for (at, row) in self.all.iter().enumerate() {
            order.push((row.call, 0, at));
            order.extend(row.end.as_ref().map(|&(ret, _)| (ret, 1, at)));
        }
        order.sort_unstable();
        let mut events = Vec::with_capacity(order.len() + 1);
        events
            .extend(self.object.map(|object| ForeignEvent { text: json!({ "object": object }).to_string(), line: 1 }));
        // A client that calls at the moment of its own return goes on under another name: the two overlap.
        let mut busy: Vec<(i64, usize)> = Vec::new();
        let mut names = vec![0_usize; self.all.len()];
        for (time, kind, at) in order {
            let row = &self.all[at];
            if kind == 0 {
                let is_busy = |number: usize| busy.contains(&(row.client, number));
                while is_busy(names[at]) {
                    names[at] += 1;
                }
                busy.extend(row.end.is_some().then_some((row.client, names[at])));
            } else {
                busy.retain(|&used| used != (row.client, names[at]));
            }
            let process = match names[at] {
                0 => json!(row.client),
                number => json!(format!("{}~{number}", row.client)),
            };
            let mut record = row.fields.clone();
            record["process"] = process;
            record["time"] = json!(time);
            match (&row.end, kind) {
                (Some((_, result)), 1) => {
                    record["type"] = json!("ok");
                    record["value"] = result.clone();
                }
                _ => record["type"] = json!("invoke"),
            }
            let process = record["process"].clone();
            events.push(ForeignEvent { text: record.to_string(), line: row.line });
            if row.end.is_none() {
                let text = json!({"process": process, "type": "info", "f": row.fields["f"]}).to_string();
                events.push(ForeignEvent { text, line: row.line });
            }
        }
        events
    }
}

/// The fields of a call, and the result if it returned.
type Translated = (Value, Option<Value>);

fn map_operation(operation: &Operation) -> Result<Translated, Fault> {
    let unknown = || {
        let fault = Source::fault("the model of this operation is not known");
        fault.expected("an `Input` of etcd's robustness tests, or of a map: `Op`, `Key`, `Value`")
    };
    let request: MapRequest = serde_json::from_value(operation.input.clone()).map_err(|_| unknown())?;
    let f = match &request.op {
        Value::Number(number) => ["get", "put", "append"].get(number.as_u64().ok_or_else(unknown)? as usize),
        Value::String(name) => ["get", "put", "append"].iter().find(|known| known.eq_ignore_ascii_case(name)),
        _ => None,
    };
    let f = *f.ok_or_else(unknown)?;
    let text = |value: &Value| match value {
        Value::Null => json!(""),
        Value::String(_) => value.clone(),
        other => json!(other.to_string()),
    };
    let response: MapResponse = serde_json::from_value(operation.output.clone()).unwrap_or_default();
    let (argument, result) =
        if f == "get" { (Value::Null, text(&response.value)) } else { (text(&request.value), text(&request.value)) };
    Ok((json!({"f": f, "key": request.key, "value": argument}), Some(result)))
}

/// Leases are not judged.
fn leased() -> Fault {
    let message = "a lease: it deletes its keys when it ends, and no request says when that is, so this history cannot \
                   be judged";
    Source::fault(message).expected("a test without keys that are bound to leases")
}

fn etcd_operation(operation: &Operation, dropped: &mut Dropped) -> Result<Option<Translated>, Fault> {
    let not_read = |error: serde_json::Error| Source::fault(format!("this is not a request of etcd: {error}"));
    let request: EtcdRequest = EtcdRequest::deserialize(&operation.input).map_err(not_read)?;
    let response: EtcdResponse = match &operation.output {
        Value::Null => EtcdResponse { error: "no output".to_owned(), ..EtcdResponse::default() },
        output => EtcdResponse::deserialize(output)
            .map_err(|error| Source::fault(format!("this is not an answer of etcd: {error}")))?,
    };
    let has_failed = !response.error.is_empty() || !response.client_error.is_empty();
    let asked = match (request.r#type.as_str(), request.range, request.txn) {
        ("leaseGrant", ..) => {
            dropped.note("grants of leases");
            return Ok(None);
        }
        ("defragment", ..) => {
            dropped.note("defragmentations");
            return Ok(None);
        }
        ("compact", ..) => {
            dropped.note("compactions");
            return Ok(None);
        }
        ("leaseRevoke", ..) => return Err(leased()),
        ("range", Some(range), _) if range.revision != 0 || response.revision < 0 => {
            dropped.note("reads of older revisions");
            return Ok(None);
        }
        ("range", Some(range), _) => Request::of(range.action()),
        ("txn", _, Some(txn)) => txn.request()?,
        (other, ..) => {
            let message = format!("a request of the type {} is not known", quote(other.as_bytes()));
            let known = "range, txn, leaseGrant, leaseRevoke, defragment, compact";
            return Err(Source::fault(message).expected(format!("one of {known}")));
        }
    };
    let is_read = asked.then.iter().chain(&asked.otherwise).all(|action| matches!(action, EtcdAction::Range { .. }));
    let is_unknown = has_failed || operation.ret.is_none() || response.persisted && response.persisted_revision == 0;
    if is_unknown && is_read {
        dropped.note("reads that failed");
        return Ok(None);
    }
    let fields = json!({"f": asked.method(), "value": [asked.argument()]});
    if is_unknown {
        return Ok(Some((fields, None)));
    }
    let answer = if response.persisted {
        Response { revision: response.persisted_revision, answers: None }
    } else if response.partial_response {
        Response { revision: response.revision, answers: None }
    } else {
        Response { revision: response.revision, answers: Some(answers(&asked, &response)?) }
    };
    Ok(Some((fields, Some(json!(answer.text(&asked))))))
}

/// What the actions of a request returned.
fn answers(request: &Request, response: &EtcdResponse) -> Result<(bool, Vec<EtcdAnswer>), Fault> {
    if let (Some(range), [EtcdAction::Range { .. }]) = (&response.range, &request.then[..]) {
        return Ok((true, vec![range.entries()]));
    }
    let missing =
        || Source::fault("the answer does not fit its request").expected("a result of each of its operations");
    let txn = response.txn.as_ref().ok_or_else(missing)?;
    let results = txn.results.as_deref().unwrap_or_default();
    let actions = if txn.failure { &request.otherwise } else { &request.then };
    if actions.len() != results.len() {
        return Err(missing());
    }
    let answer = |(action, result): (&EtcdAction, &RangeResponse)| match action {
        EtcdAction::Range { .. } => result.entries(),
        EtcdAction::Put { .. } => EtcdAnswer::Put,
        EtcdAction::Delete { .. } => EtcdAnswer::Deleted(result.deleted),
    };
    Ok((!txn.failure, actions.iter().zip(results).map(answer).collect()))
}

impl RangeRequest {
    fn action(self) -> EtcdAction {
        let end = (!self.end.is_empty()).then_some(self.end);
        EtcdAction::Range { start: self.start, end, limit: self.limit }
    }
}

impl RangeResponse {
    fn entries(&self) -> EtcdAnswer {
        let entry = |kv: &KeyValue| EtcdEntry {
            key: kv.key.clone(),
            value: kv.value.text(),
            revision: kv.mod_revision,
            version: kv.version.filter(|&version| version != 0),
        };
        EtcdAnswer::Range(self.count, self.kvs.iter().flatten().map(entry).collect())
    }
}

impl ValueOrHash {
    fn text(&self) -> String {
        if self.hash != 0 { etcd::hashed(self.hash) } else { etcd::value(&self.value) }
    }
}

impl TxnRequest {
    fn request(self) -> Result<Request, Fault> {
        let condition = |condition: TxnCondition| match condition.expected_version {
            0 => EtcdCondition::Revision(condition.key, condition.expected_revision),
            version => EtcdCondition::Version(condition.key, version),
        };
        let actions = |operations: Option<Vec<EtcdOperation>>| -> Result<Vec<EtcdAction>, Fault> {
            operations.unwrap_or_default().into_iter().map(EtcdOperation::action).collect()
        };
        Ok(Request {
            conditions: self.conditions.unwrap_or_default().into_iter().map(condition).collect(),
            then: actions(self.operations_on_success)?,
            otherwise: actions(self.operations_on_failure)?,
        })
    }
}

impl EtcdOperation {
    fn action(self) -> Result<EtcdAction, Fault> {
        match self.r#type.as_str() {
            "range-operation" => Ok(self.range.action()),
            "put-operation" if self.put.lease_id != 0 => Err(leased()),
            "put-operation" => Ok(EtcdAction::Put { key: self.put.key, value: self.put.value.text() }),
            "delete-operation" => Ok(EtcdAction::Delete { key: self.delete.key }),
            other => {
                let message = format!("an operation of the type {} is not known", quote(other.as_bytes()));
                let known = "range-operation, put-operation, delete-operation";
                Err(Source::fault(message).expected(format!("one of {known}")))
            }
        }
    }
}
