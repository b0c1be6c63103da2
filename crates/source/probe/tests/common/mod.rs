//! Real servers on loopback, started and stopped by the tests. Each has a folder and a port of its own.

use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// A server that runs.
pub struct Server {
    kind: Kind,
    folder: tempfile::TempDir,
    port: u16,
    other_port: u16,
    child: Option<Child>,
}

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    Postgres,
    Redis,
    Etcd,
}

/// Where a program is, in the path or where Debian puts PostgreSQL.
fn program(name: &str) -> Option<PathBuf> {
    let mut folders: Vec<PathBuf> =
        std::env::var_os("PATH").iter().flat_map(std::env::split_paths).map(|folder| folder.join(name)).collect();
    for version in std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten() {
        folders.insert(0, version.path().join("bin").join(name));
    }
    folders.into_iter().find(|path| path.is_file())
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// A command that does not run as root: PostgreSQL refuses to.
fn unprivileged(program: &PathBuf) -> Command {
    let is_root = Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout == b"0\n");
    if !is_root {
        return Command::new(program);
    }
    let mut command = Command::new("runuser");
    command.args(["-u", "postgres", "--"]).arg(program);
    command
}

impl Server {
    /// Starts a server. `None`, with a message, if it is not installed.
    pub fn start(kind: Kind) -> Option<Self> {
        let name = match kind {
            Kind::Postgres => "initdb",
            Kind::Redis => "redis-server",
            Kind::Etcd => "etcd",
        };
        if program(name).is_none() {
            eprintln!("{name} is not installed: nothing is tested");
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let mut server = Self { kind, folder, port: free_port(), other_port: free_port(), child: None };
        if kind == Kind::Postgres {
            let owner = Command::new("chown").arg("postgres").arg(server.folder.path()).status();
            let _ = owner;
            let data = server.folder.path().join("data");
            let mut command = unprivileged(&program("initdb").unwrap());
            command.args(["-A", "trust", "-U", "postgres", "-N", "-D"]).arg(data);
            let made = command.stdout(Stdio::null()).output().unwrap();
            assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        }
        server.up();
        Some(server)
    }

    /// Starts the server again, on the data that it had.
    pub fn up(&mut self) {
        let folder = self.folder.path();
        let port = self.port.to_string();
        let mut command = match self.kind {
            Kind::Postgres => {
                let mut command = unprivileged(&program("postgres").unwrap());
                let sockets = format!("unix_socket_directories={}", folder.display());
                // A killed server loses nothing that the system has: only a system that goes down needs `fsync`.
                command.arg("-D").arg(folder.join("data")).args(["-p", &port, "-c", "listen_addresses=127.0.0.1"]);
                command.args(["-c", &sockets, "-c", "fsync=off", "-c", "max_connections=60"]);
                command
            }
            Kind::Redis => {
                let mut command = Command::new(program("redis-server").unwrap());
                command.args(["--port", &port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "yes"]);
                command.args(["--appendfsync", "always", "--dir"]).arg(folder);
                command
            }
            Kind::Etcd => {
                let mut command = Command::new(program("etcd").unwrap());
                let client = format!("http://127.0.0.1:{port}");
                let peer = format!("http://127.0.0.1:{}", self.other_port);
                command.arg("--data-dir").arg(folder.join("etcd")).args(["--listen-client-urls", &client]);
                command.args(["--advertise-client-urls", &client, "--listen-peer-urls", &peer]);
                command.args(["--initial-advertise-peer-urls", &peer, "--initial-cluster", &format!("default={peer}")]);
                command
            }
        };
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).stdin(Stdio::null()).spawn().unwrap();
        self.child = Some(child);
        let begin = Instant::now();
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() || !self.answers() {
            assert!(begin.elapsed() < Duration::from_secs(60), "{:?} does not start", self.kind);
            sleep(Duration::from_millis(30));
        }
    }

    /// Whether the server takes commands already.
    fn answers(&self) -> bool {
        let config = probe::ProbeConfig {
            duration: Duration::ZERO,
            clients: 1,
            timeout: Duration::from_secs(2),
            ..probe::ProbeConfig::new(self.url())
        };
        probe::run(&config).is_ok()
    }

    /// How many deadlocks PostgreSQL has counted so far. A connection tells its own when it ends.
    pub fn deadlocks(&self) -> u64 {
        let ask = |query: &str| {
            let port = self.port.to_string();
            let mut command = Command::new(program("psql").expect("the client of PostgreSQL"));
            command.args(["-h", "127.0.0.1", "-p", &port, "-U", "postgres", "-Atc", query]);
            let output = command.output().unwrap();
            String::from_utf8_lossy(&output.stdout).trim().parse().expect("a number")
        };
        let others = "select count(*) from pg_stat_activity \
                      where backend_type = 'client backend' and pid <> pg_backend_pid()";
        while ask(others) > 0 {
            sleep(Duration::from_millis(30));
        }
        ask("select sum(deadlocks) from pg_stat_database")
    }

    /// Stops the server at once, without a word to its clients.
    pub fn kill(&mut self) {
        let Some(mut child) = self.child.take() else { return };
        if self.kind == Kind::Postgres {
            // `SIGQUIT` is PostgreSQL's own crash: no checkpoint, and all its processes end.
            let data = self.folder.path().join("data/postmaster.pid");
            let number = std::fs::read_to_string(data).unwrap_or_default();
            let number = number.lines().next().unwrap_or_default().to_owned();
            let _ = Command::new("kill").args(["-QUIT", &number]).status();
        } else {
            let _ = child.kill();
        }
        let _ = child.wait();
    }

    pub fn url(&self) -> probe::Url {
        let port = self.port;
        let url = match self.kind {
            Kind::Postgres => format!("postgres://postgres@127.0.0.1:{port}/postgres"),
            Kind::Redis => format!("redis://127.0.0.1:{port}"),
            Kind::Etcd => format!("etcd://127.0.0.1:{port}"),
        };
        url.parse().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}
