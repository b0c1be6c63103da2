//! Redis, by version 2 of its protocol.
//!
//! Registers are strings; a compare-and-swap is a script. A transaction is sent as a whole: `MULTI`, its commands,
//! `EXEC`. Once it is sent, only an answer says what became of it.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use crate::plan::{Call, Done, Planned, Task};
use crate::postgres::connect;
use crate::{Database, End, ProbeConfig, Session, Trouble, Url};

/// A longer answer is refused: none of ours is so long.
const LONGEST_ANSWER: i64 = 64 << 20;

const CAS: &str = "if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('SET', KEYS[1], ARGV[2]) return 1 \
                   else return 0 end";

pub(crate) struct Redis {
    url: Url,
    /// What the names of the keys begin with.
    prefix: String,
    timeout: Duration,
}

impl Redis {
    pub fn new(config: &ProbeConfig, name: String) -> Self {
        Self { url: config.url.clone(), prefix: name, timeout: config.timeout }
    }

    fn client(&self) -> Result<Client, Trouble> {
        let stream = connect(&self.url, self.timeout)?;
        let input = BufReader::new(stream.try_clone()?);
        let mut client = Client { input, output: stream, prefix: self.prefix.clone() };
        let Url { user, password, database, .. } = &self.url;
        if !password.is_empty() {
            let mut login = vec!["AUTH", password];
            if !user.is_empty() {
                login.insert(1, user);
            }
            client.ask(&login)?;
        }
        if !database.is_empty() {
            client.ask(&["SELECT", database])?;
        }
        // A server that has just started answers this with an error until it has read its data.
        client.ask(&["EXISTS", &self.prefix])?;
        Ok(client)
    }
}

impl Database for Redis {
    fn set_up(&self) -> Result<(), Trouble> {
        self.client().map(drop)
    }

    fn connect(&self) -> Result<Box<dyn Session>, Trouble> {
        Ok(Box::new(self.client()?))
    }

    fn clean_up(&self) -> Result<(), Trouble> {
        let mut client = self.client()?;
        let mut cursor = "0".to_owned();
        loop {
            let found = client.ask(&["SCAN", &cursor, "MATCH", &format!("{}:*", self.prefix), "COUNT", "1000"])?;
            let Answer::List(parts) = found else { return Ok(()) };
            let [Answer::Text(next), Answer::List(keys)] = &parts[..] else { return Ok(()) };
            for key in keys.iter().filter_map(Answer::text) {
                client.ask(&["DEL", key])?;
            }
            if next == "0" {
                return Ok(());
            }
            cursor.clone_from(next);
        }
    }
}

#[derive(Debug)]
enum Answer {
    Text(String),
    Number(i64),
    Nothing,
    List(Vec<Answer>),
    Error(String),
}

impl Answer {
    fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }
}

struct Client {
    input: BufReader<TcpStream>,
    output: TcpStream,
    prefix: String,
}

impl Client {
    fn send(&mut self, commands: &[Vec<String>]) -> io::Result<()> {
        let mut message = Vec::new();
        for command in commands {
            message.extend_from_slice(format!("*{}\r\n", command.len()).as_bytes());
            for part in command {
                message.extend_from_slice(format!("${}\r\n{part}\r\n", part.len()).as_bytes());
            }
        }
        self.output.write_all(&message)
    }

    fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        (&mut self.input).take(LONGEST_ANSWER as u64).read_line(&mut line)?;
        if !line.ends_with("\r\n") {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        line.truncate(line.len() - 2);
        Ok(line)
    }

    fn receive(&mut self, depth: u32) -> io::Result<Answer> {
        let line = self.line()?;
        let strange = || io::Error::other("this is not an answer of Redis");
        let (kind, rest) = line.split_at_checked(1).ok_or_else(strange)?;
        let count = || rest.parse::<i64>().ok().filter(|count| *count < LONGEST_ANSWER).ok_or_else(strange);
        Ok(match kind {
            "+" => Answer::Text(rest.to_owned()),
            "-" => Answer::Error(rest.to_owned()),
            ":" => Answer::Number(rest.parse().map_err(|_| strange())?),
            "$" => match usize::try_from(count()?) {
                Err(_) => Answer::Nothing,
                Ok(length) => {
                    let mut text = vec![0; length + 2];
                    self.input.read_exact(&mut text)?;
                    text.truncate(length);
                    Answer::Text(String::from_utf8_lossy(&text).into_owned())
                }
            },
            "*" if depth < 8 => match usize::try_from(count()?) {
                Err(_) => Answer::Nothing,
                Ok(length) => Answer::List((0..length).map(|_| self.receive(depth + 1)).collect::<Result<_, _>>()?),
            },
            _ => return Err(strange()),
        })
    }

    fn ask(&mut self, command: &[&str]) -> Result<Answer, Trouble> {
        self.send(&[command.iter().map(|&part| part.to_owned()).collect()])?;
        match self.receive(0)? {
            Answer::Error(message) => Err(Trouble::Refused(message)),
            answer => Ok(answer),
        }
    }

    fn key(&self, key: u64) -> String {
        format!("{}:{key}", self.prefix)
    }

    fn call(&mut self, key: u64, call: &Call) -> Result<Option<String>, Trouble> {
        let key = self.key(key);
        let answer = match call {
            Call::Read => self.ask(&["GET", &key])?,
            Call::Write(value) => self.ask(&["SET", &key, value])?,
            Call::Cas(old, new) => self.ask(&["EVAL", CAS, "1", &key, old, new])?,
        };
        match answer {
            Answer::Text(text) => Ok(Some(text)),
            Answer::Number(number) => Ok(Some((number == 1).to_string())),
            Answer::Nothing => Ok(None),
            Answer::List(_) | Answer::Error(_) => Err(Trouble::Lost("this is not an answer to the command".to_owned())),
        }
    }

    fn transact(&mut self, planned: &[Planned]) -> Result<Vec<Done>, Trouble> {
        let command = |parts: &[&str]| parts.iter().map(|&part| part.to_owned()).collect::<Vec<_>>();
        let mut commands = vec![command(&["MULTI"])];
        for operation in planned {
            commands.push(match *operation {
                Planned::Read(key) => command(&["GET", &self.key(key)]),
                Planned::Write(key, value) => command(&["SET", &self.key(key), &value.to_string()]),
                Planned::ReadList(key) => command(&["LRANGE", &self.key(key), "0", "-1"]),
                Planned::Append(key, value) => command(&["RPUSH", &self.key(key), &value.to_string()]),
            });
        }
        commands.push(command(&["EXEC"]));
        self.send(&commands)?;
        for _ in 1..commands.len() {
            // What is wrong with a command is said again by `EXEC`.
            self.receive(0)?;
        }
        let answers = match self.receive(0)? {
            Answer::List(answers) if answers.len() == planned.len() => answers,
            Answer::Error(message) => return Err(Trouble::Refused(message)),
            Answer::Nothing => return Err(Trouble::Refused("the transaction was given up".to_owned())),
            _ => return Err(Trouble::Lost("this is not an answer to `EXEC`".to_owned())),
        };
        let done = |(operation, answer): (&Planned, Answer)| match (operation, answer) {
            (_, Answer::Error(message)) => Err(Trouble::Lost(message)),
            (&Planned::Read(key), Answer::Text(text)) => Ok(Done::Read(key, Some(text))),
            (&Planned::Read(key), _) => Ok(Done::Read(key, None)),
            (&Planned::Write(key, value), _) => Ok(Done::Write(key, value.to_string())),
            (&Planned::ReadList(key), Answer::List(elements)) => {
                Ok(Done::ReadList(key, elements.iter().filter_map(Answer::text).map(str::to_owned).collect()))
            }
            (&Planned::ReadList(key), _) => Ok(Done::ReadList(key, Vec::new())),
            (&Planned::Append(key, value), _) => Ok(Done::Append(key, value)),
        };
        planned.iter().zip(answers).map(done).collect()
    }
}

impl Session for Client {
    fn perform(&mut self, task: &mut Task) -> (End, bool) {
        let tried = match task {
            Task::Call { key, call, answer } => self.call(*key, call).map(|given| *answer = given),
            Task::Transaction { planned, done } => self.transact(planned).map(|all| *done = all),
            Task::Transfer { .. } => Err(Trouble::Refused("Redis has no bank".to_owned())),
        };
        let end = ended(&tried);
        if let (Task::Transaction { planned, done }, true) = (task, end.0 != End::Committed) {
            *done = writes(planned);
        }
        end
    }
}

/// How an attempt ended, and whether the connection is fine.
pub(crate) fn ended(tried: &Result<(), Trouble>) -> (End, bool) {
    match tried {
        Ok(()) => (End::Committed, true),
        Err(Trouble::Refused(_)) => (End::Aborted, true),
        Err(Trouble::Lost(_)) => (End::Unknown, false),
    }
}

/// What a transaction would have written.
pub(crate) fn writes(planned: &[Planned]) -> Vec<Done> {
    let write = |operation: &Planned| match *operation {
        Planned::Write(key, value) => Some(Done::Write(key, value.to_string())),
        Planned::Append(key, value) => Some(Done::Append(key, value)),
        Planned::Read(_) | Planned::ReadList(_) => None,
    };
    planned.iter().filter_map(write).collect()
}
