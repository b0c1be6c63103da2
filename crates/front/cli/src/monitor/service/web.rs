//! The address of `--metrics`: a small server of HTTP/1.1, which only reads.
//!
//! | path | what |
//! | --- | --- |
//! | `/metrics` | the numbers, for Prometheus |
//! | `/` | the live page; it asks for `/state.json` and for `/violations/N.svg` |
//! | `/healthz` | 200 as long as the process answers |
//! | `/readyz` | 200, or 503 if the run is stopping or checkpoints cannot be made |
//!
//! Each answer ends its connection. A request has a time limit, a length limit, and few run at a time, so nobody can
//! keep the service from its work here. What clients have sent leaves as JSON, or as a picture that runs no program.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use history::visible;
use report::page::live;

use super::listener;
use super::log::Level;
use crate::BAD;
use crate::monitor::Trouble;
use crate::monitor::outside::Outside;

/// How long a request may be, in bytes, and how long it may take.
const LONGEST_REQUEST: usize = 8 << 10;
const REQUEST_TIME: Duration = Duration::from_secs(5);
/// How many requests are answered at a time.
const MOST_REQUESTS: u32 = 16;
/// The time to wait if no request can be accepted.
const ACCEPTING_AGAIN: Duration = Duration::from_millis(500);

/// Answers on the address of `--metrics`, if there is one, in threads of its own.
pub(crate) fn open(outside: &Arc<Outside>) -> Result<(), Trouble> {
    let Some(address) = &outside.flags.metrics else { return Ok(()) };
    let listener = listener::tcp(address, outside.flags.allow_remote)
        .map_err(|error| Trouble::Bad(format!("{address}: {error}")))?;
    let message = format!("metrics and page on http://{}/", listener::name(&listener));
    outside.log.say(Level::Info, "metrics", None, &message);
    let outside = Arc::clone(outside);
    thread::spawn(move || accept(&listener, &outside));
    Ok(())
}

fn accept(listener: &TcpListener, outside: &Arc<Outside>) {
    let running = Arc::new(AtomicU32::new(0));
    loop {
        let Ok((client, _)) = listener.accept() else {
            thread::sleep(ACCEPTING_AGAIN);
            continue;
        };
        if running.load(Ordering::Relaxed) >= MOST_REQUESTS {
            continue;
        }
        running.fetch_add(1, Ordering::Relaxed);
        let (of_thread, outside) = (Arc::clone(&running), Arc::clone(outside));
        let begun = thread::Builder::new().spawn(move || {
            // Who does not wait for the answer does not want it.
            let _ = answer(client, &outside);
            of_thread.fetch_sub(1, Ordering::Relaxed);
        });
        if begun.is_err() {
            running.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// What is answered: the status, the type, and the text.
struct Answer(&'static str, &'static str, String);

fn answer(mut client: TcpStream, outside: &Outside) -> io::Result<()> {
    client.set_write_timeout(Some(REQUEST_TIME))?;
    let request = read_request(&mut client)?;
    let line = request.split(|&byte| byte == b'\r' || byte == b'\n').next().unwrap_or_default();
    let line = String::from_utf8_lossy(line);
    let mut words = line.split(' ');
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let plain = "text/plain; charset=utf-8";
    let Answer(status, kind, text) = match method {
        "GET" | "HEAD" => of_path(path.split('?').next().unwrap_or_default(), outside),
        _ => Answer("405 Method Not Allowed", plain, "this address is only read: GET\n".to_owned()),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\nCache-Control: \
         no-store\r\nX-Content-Type-Options: nosniff\r\nContent-Security-Policy: {}\r\n\r\n",
        text.len(),
        live::POLICY
    );
    client.write_all(head.as_bytes())?;
    if method != "HEAD" {
        client.write_all(text.as_bytes())?;
    }
    client.flush()
}

/// The head of a request.
fn read_request(client: &mut TcpStream) -> io::Result<Vec<u8>> {
    let begin = Instant::now();
    let mut request = Vec::new();
    let mut buffer = [0; 1024];
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        let left = REQUEST_TIME.saturating_sub(begin.elapsed());
        if left.is_zero() || request.len() > LONGEST_REQUEST {
            return Err(io::ErrorKind::TimedOut.into());
        }
        client.set_read_timeout(Some(left))?;
        match client.read(&mut buffer)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => request.extend_from_slice(&buffer[..count]),
        }
    }
    Ok(request)
}

fn of_path(path: &str, outside: &Outside) -> Answer {
    let board = &outside.board;
    let plain = "text/plain; charset=utf-8";
    match path {
        "/" => Answer("200 OK", "text/html; charset=utf-8", live::page()),
        "/metrics" => Answer("200 OK", "text/plain; version=0.0.4; charset=utf-8", board.metrics()),
        "/state.json" => Answer("200 OK", "application/json", crate::json::line(&board.snapshot())),
        "/healthz" => Answer("200 OK", plain, "ok\n".to_owned()),
        "/readyz" => match board.trouble() {
            None => Answer("200 OK", plain, "ok\n".to_owned()),
            Some(trouble) => Answer("503 Service Unavailable", plain, format!("{}\n", visible(&trouble))),
        },
        _ => {
            let number = path.strip_prefix("/violations/").and_then(|rest| rest.strip_suffix(".svg"));
            match number.and_then(|number| number.parse().ok()).and_then(|number| board.picture(number)) {
                Some(picture) => Answer("200 OK", "image/svg+xml", picture),
                None => Answer("404 Not Found", plain, "/, /metrics, /healthz and /readyz are here\n".to_owned()),
            }
        }
    }
}

/// `--health`: asks the service whose metrics are at this address whether it is ready. Returns the exit status.
pub(crate) fn ask(address: &str) -> u8 {
    let asked = || -> io::Result<String> {
        let address = address.strip_prefix(':').unwrap_or(address);
        let mut service = match address.parse::<u16>() {
            Ok(port) => TcpStream::connect(("127.0.0.1", port)),
            Err(_) => TcpStream::connect(address),
        }?;
        service.set_read_timeout(Some(REQUEST_TIME))?;
        service.set_write_timeout(Some(REQUEST_TIME))?;
        service.write_all(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n")?;
        let mut answer = String::new();
        service.take(LONGEST_REQUEST as u64).read_to_string(&mut answer)?;
        Ok(answer)
    };
    let complain = |what: &str| {
        let _ = writeln!(io::stderr(), "{}: {}", visible(address), visible(what));
        BAD
    };
    match asked() {
        Ok(answer) if answer.starts_with("HTTP/1.1 200 ") => 0,
        Ok(answer) => complain(answer.split_once("\r\n\r\n").map_or("this is not seriatim", |(_, text)| text.trim())),
        Err(error) => complain(&error.to_string()),
    }
}
