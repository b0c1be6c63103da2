//! PostgreSQL, by version 3 of its protocol, with simple queries.
//!
//! Every operation of a transaction is a query of its own, so transactions overlap. Whatever goes wrong before `COMMIT`
//! was sent, the transaction did not happen. After that, an error of the server says so, too, unless the server is
//! going down; a lost connection says nothing.

use std::io::{self, BufReader, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::plan::{BALANCE, Done, Planned, Task, Workload};
use crate::scram::Login;
use crate::{Database, DatabaseIsolation, End, ProbeConfig, Session, Trouble, Url};

/// A longer message is refused: no answer of ours is so long.
const LONGEST_MESSAGE: usize = 64 << 20;

pub(crate) struct Postgres {
    url: Url,
    /// The name of the table.
    table: String,
    workload: Workload,
    isolation: DatabaseIsolation,
    keys: u64,
    timeout: Duration,
}

impl Postgres {
    pub fn new(config: &ProbeConfig, table: String) -> Self {
        let (workload, isolation) = (config.workload, config.isolation);
        let keys = u64::from(config.keys.max(2));
        Self { url: config.url.clone(), table, workload, isolation, keys, timeout: config.timeout }
    }

    fn connection(&self) -> Result<Connection, Trouble> {
        let stream = connect(&self.url, self.timeout)?;
        let mut connection = Connection { input: BufReader::new(stream.try_clone()?), output: stream };
        connection.log_in(&self.url)?;
        Ok(connection)
    }
}

/// A connection that waits no longer than `timeout` for anything.
pub(crate) fn connect(url: &Url, timeout: Duration) -> Result<TcpStream, Trouble> {
    let mut last = io::Error::other("the host has no address");
    for address in (url.host.as_str(), url.port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, timeout) {
            Ok(stream) => {
                stream.set_read_timeout(Some(timeout))?;
                stream.set_write_timeout(Some(timeout))?;
                stream.set_nodelay(true)?;
                return Ok(stream);
            }
            Err(error) => last = error,
        }
    }
    Err(Trouble::Lost(format!("{}:{} cannot be reached: {last}", url.host, url.port)))
}

impl Database for Postgres {
    fn set_up(&self) -> Result<(), Trouble> {
        let mut connection = self.connection()?;
        let Self { table, keys, .. } = self;
        let initial = match self.workload {
            Workload::Bank => format!("{BALANCE}/0"),
            _ => "0".to_owned(),
        };
        connection.query(&format!("CREATE TABLE {table} (k bigint PRIMARY KEY, v text NOT NULL)"))?;
        if self.workload != Workload::List {
            let rows = format!("INSERT INTO {table} SELECT k, '{initial}' FROM generate_series(0, {keys} - 1) AS k");
            connection.query(&rows)?;
        }
        Ok(())
    }

    fn connect(&self) -> Result<Box<dyn Session>, Trouble> {
        let level = match self.isolation {
            DatabaseIsolation::ReadCommitted => "READ COMMITTED",
            DatabaseIsolation::RepeatableRead => "REPEATABLE READ",
            DatabaseIsolation::Serializable => "SERIALIZABLE",
        };
        let begin = format!("BEGIN ISOLATION LEVEL {level}");
        Ok(Box::new(Client { connection: self.connection()?, table: self.table.clone(), begin }))
    }

    fn clean_up(&self) -> Result<(), Trouble> {
        self.connection()?.query(&format!("DROP TABLE {}", self.table)).map(drop)
    }
}

struct Client {
    connection: Connection,
    table: String,
    begin: String,
}

impl Session for Client {
    fn perform(&mut self, task: &mut Task) -> (End, bool) {
        if let Err(trouble) = self.transact(task) {
            return match trouble {
                Trouble::Lost(_) => (End::Aborted, false),
                Trouble::Refused(_) => (End::Aborted, self.connection.query("ROLLBACK").is_ok()),
            };
        }
        match self.connection.query("COMMIT") {
            Ok(answer) if answer.tag == "COMMIT" => (End::Committed, true),
            // The server is going down, and may have committed before.
            Err(Trouble::Refused(message)) if message.starts_with("57") => (End::Unknown, false),
            Ok(_) | Err(Trouble::Refused(_)) => (End::Aborted, true),
            Err(Trouble::Lost(_)) => (End::Unknown, false),
        }
    }
}

impl Client {
    /// Does all of a transaction but its commit.
    fn transact(&mut self, task: &mut Task) -> Result<(), Trouble> {
        self.connection.query(&self.begin)?;
        match task {
            Task::Transaction { planned, done } => {
                for operation in planned {
                    self.operation(operation, done)?;
                }
                Ok(())
            }
            &mut Task::Transfer { accounts, amount, numbers, ref mut done } => {
                let mut balances = [0; 2];
                for (account, balance) in accounts.into_iter().zip(&mut balances) {
                    let value = self.read(account)?.ok_or_else(|| Trouble::Refused("no such account".to_owned()))?;
                    *balance = value.split('/').next().and_then(|balance| balance.parse().ok()).unwrap_or(0);
                    done.push(Done::Read(account, Some(value)));
                }
                let changes = [-amount, amount];
                // Accounts are written in their order, so that no two transfers wait for each other.
                let places = if accounts[0] < accounts[1] { [0, 1] } else { [1, 0] };
                for place in places {
                    let value = format!("{}/{}", balances[place] + changes[place], numbers[place]);
                    self.write(accounts[place], &value)?;
                    done.push(Done::Write(accounts[place], value));
                }
                Ok(())
            }
            Task::Call { .. } => Err(Trouble::Refused("PostgreSQL runs transactions".to_owned())),
        }
    }

    fn operation(&mut self, operation: &Planned, done: &mut Vec<Done>) -> Result<(), Trouble> {
        let table = &self.table;
        done.push(match *operation {
            Planned::Read(key) => Done::Read(key, self.read(key)?),
            Planned::Write(key, value) => {
                self.write(key, &value.to_string())?;
                Done::Write(key, value.to_string())
            }
            Planned::ReadList(key) => {
                let list = self.read(key)?.unwrap_or_default();
                Done::ReadList(key, list.split(',').filter(|part| !part.is_empty()).map(str::to_owned).collect())
            }
            Planned::Append(key, value) => {
                let append = format!(
                    "INSERT INTO {table} VALUES ({key}, '{value}') \
                     ON CONFLICT (k) DO UPDATE SET v = {table}.v || ',{value}'"
                );
                self.connection.query(&append)?;
                Done::Append(key, value)
            }
        });
        Ok(())
    }

    fn read(&mut self, key: u64) -> Result<Option<String>, Trouble> {
        let answer = self.connection.query(&format!("SELECT v FROM {} WHERE k = {key}", self.table))?;
        Ok(answer.value)
    }

    /// Values are numbers and slashes, so they need no escapes.
    fn write(&mut self, key: u64, value: &str) -> Result<(), Trouble> {
        self.connection.query(&format!("UPDATE {} SET v = '{value}' WHERE k = {key}", self.table)).map(drop)
    }
}

struct Connection {
    input: BufReader<TcpStream>,
    output: TcpStream,
}

/// The answer to a query.
#[derive(Debug, Default)]
struct Answer {
    /// The first column of the first row.
    value: Option<String>,
    /// What was done: `COMMIT`, `UPDATE 1`.
    tag: String,
}

impl Connection {
    fn send(&mut self, kind: Option<u8>, body: &[u8]) -> io::Result<()> {
        let mut message: Vec<u8> = kind.into_iter().collect();
        message.extend((body.len() as u32 + 4).to_be_bytes());
        message.extend_from_slice(body);
        self.output.write_all(&message)
    }

    /// The next message: its kind and its body.
    fn receive(&mut self) -> io::Result<(u8, Vec<u8>)> {
        let mut head = [0; 5];
        self.input.read_exact(&mut head)?;
        let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
        if !(4..LONGEST_MESSAGE).contains(&length) {
            return Err(io::Error::other("this is not a message of PostgreSQL"));
        }
        let mut body = vec![0; length - 4];
        self.input.read_exact(&mut body)?;
        Ok((head[0], body))
    }

    fn log_in(&mut self, url: &Url) -> Result<(), Trouble> {
        let user = if url.user.is_empty() { "postgres" } else { &url.user };
        let database = if url.database.is_empty() { user } else { &url.database };
        let mut hello = 196_608_u32.to_be_bytes().to_vec();
        for text in ["user", user, "database", database, "application_name", "seriatim probe"] {
            hello.extend_from_slice(text.as_bytes());
            hello.push(0);
        }
        hello.push(0);
        self.send(None, &hello)?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let nonce = now.as_nanos() ^ u128::from(std::process::id()) << 64;
        let address = std::ptr::from_ref(self) as usize;
        let login = Login::new(format!("seriatim{nonce:x}{address:x}"));
        loop {
            let (kind, body) = self.receive()?;
            match (kind, body.first_chunk().map(|code| u32::from_be_bytes(*code))) {
                (b'Z', _) => return Ok(()),
                (b'E', _) => return Err(refusal(&body)),
                (b'R', Some(3)) => self.send(Some(b'p'), &[url.password.as_bytes(), &[0]].concat())?,
                (b'R', Some(10)) => {
                    let first = login.first();
                    let mut answer = b"SCRAM-SHA-256\0".to_vec();
                    answer.extend((first.len() as u32).to_be_bytes());
                    answer.extend_from_slice(first.as_bytes());
                    self.send(Some(b'p'), &answer)?;
                }
                (b'R', Some(11)) => {
                    let server = String::from_utf8_lossy(&body[4..]).into_owned();
                    let answer = login.answer(&url.password, &server);
                    let answer = answer.ok_or_else(|| Trouble::Refused("the login failed".to_owned()))?;
                    self.send(Some(b'p'), answer.as_bytes())?;
                }
                (b'R', Some(0 | 12)) => {}
                (b'R', Some(code)) => {
                    let what = if code == 5 { "md5" } else { "of another kind" };
                    let message = format!("the server asks for a login {what}, and only SCRAM is supported");
                    return Err(Trouble::Refused(message));
                }
                _ => {}
            }
        }
    }

    /// Runs a query. What the server refuses begins with the code of its error.
    fn query(&mut self, text: &str) -> Result<Answer, Trouble> {
        self.send(Some(b'Q'), &[text.as_bytes(), &[0]].concat())?;
        let mut answer = Answer::default();
        let mut refused = None;
        loop {
            let received = self.receive();
            let (kind, body) = match (received, refused) {
                (Ok(message), before) => {
                    refused = before;
                    message
                }
                // The server said why it closes the connection.
                (Err(_), Some(refused)) => return Err(refused),
                (Err(error), None) => return Err(error.into()),
            };
            match kind {
                b'Z' => return refused.map_or(Ok(answer), Err),
                b'E' => refused = Some(refusal(&body)),
                b'C' => answer.tag = text_of(&body),
                b'D' if answer.value.is_none() => answer.value = first_column(&body),
                _ => {}
            }
        }
    }
}

/// The text up to the first zero.
fn text_of(body: &[u8]) -> String {
    String::from_utf8_lossy(body.split(|&byte| byte == 0).next().unwrap_or_default()).into_owned()
}

/// The first column of a row: two bytes count the columns, four are its length, which is negative for null.
fn first_column(body: &[u8]) -> Option<String> {
    let length = i32::from_be_bytes(*body.get(2..)?.first_chunk()?);
    let length = usize::try_from(length).ok()?;
    Some(String::from_utf8_lossy(body.get(6..6 + length)?).into_owned())
}

/// The code and the words of an error.
fn refusal(body: &[u8]) -> Trouble {
    let field = |name: u8| {
        body.split(|&byte| byte == 0).find(|field| field.first() == Some(&name)).map(|field| text_of(&field[1..]))
    };
    Trouble::Refused(format!("{} {}", field(b'C').unwrap_or_default(), field(b'M').unwrap_or_default()))
}
