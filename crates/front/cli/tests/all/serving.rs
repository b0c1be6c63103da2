//! A service of `seriatim monitor --listen` that runs, and its clients.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdout, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::common::command;

/// A running service, and where it is.
pub struct Service {
    pub child: Child,
    pub out: BufReader<ChildStdout>,
    pub addresses: Vec<String>,
    pub metrics: String,
    err: Option<std::thread::JoinHandle<String>>,
}

/// Starts a service with one or more addresses, and one for its numbers.
pub fn start(arguments: &[&str]) -> Service {
    let mut child = command()
        .args(["monitor", "--metrics", "0"])
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut err = BufReader::new(child.stderr.take().unwrap());
    let (mut addresses, mut metrics) = (Vec::new(), String::new());
    let listens = arguments.iter().filter(|&&argument| argument == "--listen").count();
    while addresses.len() < listens || metrics.is_empty() {
        let mut line = String::new();
        assert!(err.read_line(&mut line).unwrap() > 0, "the service has not begun");
        let address = line.trim().rsplit(' ').next().unwrap();
        match address.strip_prefix("http://") {
            Some(address) => address.trim_end_matches('/').clone_into(&mut metrics),
            None if line.contains("listening on") => addresses.push(address.to_owned()),
            None => panic!("{line}"),
        }
    }
    // Who does not read what it says would keep it waiting.
    let err = Some(std::thread::spawn(move || {
        let mut text = String::new();
        err.read_to_string(&mut text).unwrap();
        text
    }));
    let out = BufReader::new(child.stdout.take().unwrap());
    Service { child, out, addresses, metrics, err }
}

impl Service {
    pub fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        assert!(std::process::Command::new("kill").args([name, &pid]).status().unwrap().success());
    }

    /// Asks for the end, and returns the exit status, standard output and standard error.
    pub fn stop(mut self) -> (i32, String, String) {
        self.signal("-TERM");
        self.ended()
    }

    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub fn ended(&mut self) -> (i32, String, String) {
        let mut out = String::new();
        self.out.read_to_string(&mut out).unwrap();
        let status = self.child.wait().unwrap().code().unwrap();
        (status, out, self.err.take().unwrap().join().unwrap())
    }

    pub fn get(&self, path: &str) -> (String, String) {
        ask(&self.metrics, &format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n"))
    }

    /// A number of `/metrics`.
    pub fn number(&self, name: &str) -> u64 {
        let (_, text) = self.get("/metrics");
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("{name} in {text}")).parse().unwrap()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Head and body of an answer.
pub fn ask(address: &str, request: &str) -> (String, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.to_owned(), body.to_owned())
}

/// A client with a name, that reads what it is told.
pub struct Client {
    pub stream: TcpStream,
    pub answers: BufReader<TcpStream>,
}

impl Client {
    pub fn come(address: &str, hello: &str) -> std::io::Result<Self> {
        let mut stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(Duration::from_secs(60)))?;
        stream.set_nodelay(true)?;
        let answers = BufReader::new(stream.try_clone()?);
        writeln!(stream, "# @client {hello}")?;
        Ok(Self { stream, answers })
    }

    pub fn send(&mut self, text: &str) {
        self.stream.write_all(text.as_bytes()).unwrap();
    }

    /// The next answer. None if there is none, since the service is gone.
    pub fn answer(&mut self) -> Option<Value> {
        let mut line = String::new();
        match self.answers.read_line(&mut line) {
            Ok(1..) => serde_json::from_str(&line).ok(),
            _ => None,
        }
    }

    /// Reads answers until one of them says so.
    pub fn until(&mut self, field: &str, value: impl Into<Value>) -> Value {
        let value = value.into();
        loop {
            let answer = self.answer().unwrap_or_else(|| panic!("no answer says that {field} is {value}"));
            if answer[field] == value {
                return answer;
            }
            assert!(answer.get("error").is_none(), "{answer}");
        }
    }
}

pub fn wait_until(what: &str, mut is: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is() {
        assert!(begin.elapsed() < Duration::from_secs(120), "waited for {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}
