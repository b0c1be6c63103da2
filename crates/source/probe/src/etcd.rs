//! etcd, by the JSON gateway of its version 3 (`/v3/kv/range`, `/v3/kv/put`, `/v3/kv/txn`) over HTTP.
//!
//! A compare-and-swap is a transaction that compares the value. Once a request is sent, only a good answer says what
//! became of it: an error of etcd may come after the change was made.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};

use crate::plan::{Call, Done, Planned, Task};
use crate::postgres::connect;
use crate::redis::{ended, writes};
use crate::{Database, End, ProbeConfig, Session, Trouble, Url, base64};

/// A longer answer is refused: none of ours is so long.
const LONGEST_ANSWER: usize = 64 << 20;

pub(crate) struct Etcd {
    url: Url,
    /// What the names of the keys begin with.
    prefix: String,
    timeout: Duration,
}

impl Etcd {
    pub fn new(config: &ProbeConfig, name: String) -> Self {
        Self { url: config.url.clone(), prefix: name, timeout: config.timeout }
    }

    fn client(&self) -> Result<Client, Trouble> {
        let stream = connect(&self.url, self.timeout)?;
        let input = BufReader::new(stream.try_clone()?);
        let host = format!("{}:{}", self.url.host, self.url.port);
        Ok(Client { input, output: stream, host, prefix: self.prefix.clone() })
    }
}

impl Database for Etcd {
    fn set_up(&self) -> Result<(), Trouble> {
        let mut client = self.client()?;
        client.call(0, &Call::Read).map(drop)
    }

    fn connect(&self) -> Result<Box<dyn Session>, Trouble> {
        Ok(Box::new(self.client()?))
    }

    fn clean_up(&self) -> Result<(), Trouble> {
        // `;` comes after `:`, so this is the range of all keys that begin with the prefix and a colon.
        let range = [":", ";"].map(|end| base64::encode(format!("{}{end}", self.prefix).as_bytes()));
        self.client()?.post("/v3/kv/deleterange", &json!({"key": range[0], "range_end": range[1]})).map(drop)
    }
}

struct Client {
    input: BufReader<TcpStream>,
    output: TcpStream,
    host: String,
    prefix: String,
}

impl Client {
    fn key(&self, key: u64) -> String {
        base64::encode(format!("{}:{key}", self.prefix).as_bytes())
    }

    fn post(&mut self, path: &str, body: &Value) -> Result<Value, Trouble> {
        let body = body.to_string();
        let request = format!(
            "POST {path} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            self.host,
            body.len()
        );
        self.output.write_all(request.as_bytes())?;
        let (status, body) = self.receive()?;
        if status != 200 {
            return Err(Trouble::Lost(format!("etcd answers {status}: {}", String::from_utf8_lossy(&body))));
        }
        serde_json::from_slice(&body).map_err(|error| Trouble::Lost(error.to_string()))
    }

    fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        (&mut self.input).take(1 << 16).read_line(&mut line)?;
        if !line.ends_with('\n') {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(line.trim_end().to_owned())
    }

    /// The status and the body of an answer.
    fn receive(&mut self) -> io::Result<(u16, Vec<u8>)> {
        let strange = || io::Error::other("this is not an answer of etcd");
        let status = self.line()?.split(' ').nth(1).and_then(|status| status.parse().ok()).ok_or_else(strange)?;
        let (mut length, mut is_chunked) = (0, false);
        loop {
            let line = self.line()?.to_ascii_lowercase();
            if line.is_empty() {
                break;
            }
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse().map_err(|_| strange())?;
            }
            is_chunked |= line.strip_prefix("transfer-encoding:").is_some_and(|value| value.contains("chunked"));
        }
        let mut body = Vec::new();
        loop {
            if is_chunked {
                length = usize::from_str_radix(self.line()?.split(';').next().unwrap_or_default(), 16)
                    .map_err(|_| strange())?;
            }
            if body.len().saturating_add(length) > LONGEST_ANSWER {
                return Err(strange());
            }
            let start = body.len();
            body.resize(start + length, 0);
            self.input.read_exact(&mut body[start..])?;
            if !is_chunked {
                return Ok((status, body));
            }
            self.line()?;
            if length == 0 {
                return Ok((status, body));
            }
        }
    }

    fn call(&mut self, key: u64, call: &Call) -> Result<Option<String>, Trouble> {
        let key = self.key(key);
        match call {
            Call::Read => {
                let answer = self.post("/v3/kv/range", &json!({"key": key}))?;
                Ok(first_value(&answer))
            }
            Call::Write(value) => {
                let value = base64::encode(value.as_bytes());
                self.post("/v3/kv/put", &json!({"key": key, "value": value}))?;
                Ok(None)
            }
            Call::Cas(old, new) => {
                let [old, new] = [old, new].map(|value| base64::encode(value.as_bytes()));
                let answer = self.post(
                    "/v3/kv/txn",
                    &json!({
                        "compare": [{"key": key, "target": "VALUE", "result": "EQUAL", "value": old}],
                        "success": [{"requestPut": {"key": key, "value": new}}],
                    }),
                )?;
                Ok(Some((answer["succeeded"] == true).to_string()))
            }
        }
    }

    fn transact(&mut self, planned: &[Planned]) -> Result<Vec<Done>, Trouble> {
        let mut requests = Vec::new();
        for operation in planned {
            requests.push(match *operation {
                Planned::Read(key) | Planned::ReadList(key) => json!({"requestRange": {"key": self.key(key)}}),
                Planned::Write(key, value) | Planned::Append(key, value) => {
                    let value = base64::encode(value.to_string().as_bytes());
                    json!({"requestPut": {"key": self.key(key), "value": value}})
                }
            });
        }
        let answer = self.post("/v3/kv/txn", &json!({"success": requests}))?;
        let answers = answer["responses"].as_array().cloned().unwrap_or_default();
        if answers.len() != planned.len() {
            return Err(Trouble::Lost("this is not an answer to the transaction".to_owned()));
        }
        let done = |(operation, answer): (&Planned, &Value)| match *operation {
            Planned::Read(key) | Planned::ReadList(key) => {
                let range = [&answer["response_range"], &answer["responseRange"]];
                Done::Read(key, range.into_iter().find_map(first_value))
            }
            Planned::Write(key, value) | Planned::Append(key, value) => Done::Write(key, value.to_string()),
        };
        Ok(planned.iter().zip(&answers).map(done).collect())
    }
}

/// The value of the first key of a range; `None` if there is none.
fn first_value(range: &Value) -> Option<String> {
    let bytes = base64::decode(range["kvs"][0]["value"].as_str()?)?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

impl Session for Client {
    fn perform(&mut self, task: &mut Task) -> (End, bool) {
        let tried = match task {
            Task::Call { key, call, answer } => self.call(*key, call).map(|given| *answer = given),
            Task::Transaction { planned, done } => self.transact(planned).map(|all| *done = all),
            Task::Transfer { .. } => Err(Trouble::Refused("etcd has no bank".to_owned())),
        };
        let end = ended(&tried);
        if let (Task::Transaction { planned, done }, true) = (task, end.0 != End::Committed) {
            *done = writes(planned);
        }
        end
    }
}
