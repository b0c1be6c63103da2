//! A soak of the service: many clients with queues, kills and restarts. Every event counts exactly once, every planted
//! violation is found at its event, and memory stays flat.
//!
//! `SERIATIM_CASES=100` makes it 200 clients and 10,000,000 events. `SERIATIM_PLOT=FILE.svg` draws its memory.

use crate::common;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use common::{Files, command, json};
use serde_json::Value;

/// How many events a client writes at a time.
const BATCH: u64 = 400;
/// How often the service is killed, and how often it is asked to end.
const KILLS: u64 = 6;

/// The line with this number, from one, of a client: a queue that is filled and emptied. The last dequeue of every
/// tenth client returns what nobody has put in.
fn line(client: u64, number: u64, last: u64) -> String {
    let event = number - 1;
    let value = event.div_ceil(4);
    match event {
        0 => "# @object queue\n".to_owned(),
        _ => match event % 4 {
            1 => format!("[{client}] call enqueue {value}\n"),
            3 => format!("[{client}] call dequeue\n"),
            0 if number == last && client.is_multiple_of(10) => format!("[{client}] return 0\n"),
            0 => format!("[{client}] return {value}\n"),
            _ => format!("[{client}] return\n"),
        },
    }
}

/// Sends a whole stream, however often the service goes away, and not far ahead of how often it went. Counts the lines
/// that were received.
fn client(socket: &str, client: u64, last: u64, received: &AtomicU64, ends: &AtomicU64) {
    let once = || -> Option<bool> {
        let mut stream = UnixStream::connect(socket).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(100))).ok()?;
        let mut answers = BufReader::new(stream.try_clone().ok()?);
        let mut answer = || -> Option<Value> {
            let mut line = String::new();
            answers.read_line(&mut line).ok()?;
            serde_json::from_str(&line).ok()
        };
        writeln!(stream, "# @client client-{client} from=next").ok()?;
        let first = answer()?;
        let mut next = first["received"].as_u64()? + 1;
        if first.get("error").is_some() {
            return None;
        }
        while next <= last {
            // Half a part ahead of the last end: so the next one comes only when the service is there again.
            let limit = last * (2 * ends.load(Ordering::Relaxed) + 3) / (2 * (KILLS + 1));
            let to = last.min(next + BATCH - 1).min(limit);
            if to < next {
                thread::sleep(Duration::from_millis(5));
                continue;
            }
            let text: String = (next..=to).map(|number| line(client, number, last)).collect();
            stream.write_all(text.as_bytes()).ok()?;
            // Some clients wait for their answers, others run ahead of them.
            while !client.is_multiple_of(3) && answer()?["received"].as_u64()? < to {}
            received.fetch_max(to, Ordering::Relaxed);
            next = to + 1;
        }
        stream.write_all(b"# @end\n").ok()?;
        loop {
            if answer()?["over"] == true {
                return Some(true);
            }
        }
    };
    let begin = Instant::now();
    while once().is_none() {
        assert!(begin.elapsed() < Duration::from_secs(3600), "client {client} does not come to its end");
        thread::sleep(Duration::from_millis(20));
    }
    received.store(last, Ordering::Relaxed);
}

fn begin(files: &Files, socket: &str) -> Child {
    let append = |name: &str| OpenOptions::new().create(true).append(true).open(files.path(name)).unwrap();
    let (state, log) = (files.path("state"), files.path("log"));
    command()
        .args(["monitor", "--json", "--keep-going", "--listen", &format!("unix:{socket}"), "--checkpoint", &state])
        .args(["--checkpoint-seconds", "1", "--log", &log, "--max-clients", "250"])
        .stdout(Stdio::from(append("out")))
        .stderr(Stdio::from(append("err")))
        .spawn()
        .unwrap()
}

/// The memory of a process in KiB.
fn memory(child: &Child) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// How much had been received, and how much memory was in use.
type Sample = (u64, u64);

#[test]
fn nothing_is_lost_and_memory_stays_flat() {
    let cases = std::env::var("SERIATIM_CASES").ok().and_then(|it| it.parse().ok()).unwrap_or(1_u64).clamp(1, 100);
    let clients = if cases < 10 { 40 } else { 200 };
    let events = 100_000 * cases / clients / 4 * 4;
    let last = events + 1;
    let files = Files::new();
    let socket = files.path("socket");
    let received: Arc<Vec<AtomicU64>> = Arc::new((0..clients).map(|_| AtomicU64::new(0)).collect());
    let gate = Arc::new(AtomicU64::new(0));
    let mut service = begin(&files, &socket);
    let threads: Vec<_> = (0..clients)
        .map(|number| {
            let (socket, received, gate) = (socket.clone(), Arc::clone(&received), Arc::clone(&gate));
            thread::spawn(move || client(&socket, number, last, &received[number as usize], &gate))
        })
        .collect();
    let (mut samples, mut ends): (Vec<Sample>, Vec<u64>) = (Vec::new(), Vec::new());
    while !threads.iter().all(thread::JoinHandle::is_finished) {
        thread::sleep(Duration::from_millis(20));
        let all: u64 = received.iter().map(|it| it.load(Ordering::Relaxed)).sum();
        samples.extend(memory(&service).map(|kib| (all, kib)));
        let kills = ends.len() as u64;
        if kills < KILLS && all > clients * last * (kills + 1) / (KILLS + 1) {
            ends.push(all);
            if kills.is_multiple_of(2) {
                service.kill().unwrap();
                service.wait().unwrap();
            } else {
                common::terminate(&service);
                let status = service.wait().unwrap().code();
                assert!(
                    matches!(status, Some(0 | 1)),
                    "{status:?} {}",
                    std::fs::read_to_string(files.path("err")).unwrap()
                );
            }
            service = begin(&files, &socket);
            gate.store(ends.len() as u64, Ordering::Relaxed);
        }
    }
    for thread in threads {
        thread.join().unwrap();
    }
    common::terminate(&service);
    assert!(matches!(service.wait().unwrap().code(), Some(0 | 1)));
    assert_eq!(ends.len() as u64, KILLS);
    // Of each client one verdict; one that was printed right before a kill is printed again, and is the same.
    let mut verdicts = BTreeMap::new();
    for line in json(&std::fs::read_to_string(files.path("out")).unwrap()) {
        let told = (line["verdict"].as_str().unwrap().to_owned(), line["events"].as_u64().unwrap());
        let older = verdicts.insert(line["file"].as_str().unwrap().to_owned(), told.clone());
        assert!(older.is_none_or(|older| older == told), "{line}");
    }
    assert_eq!(verdicts.len() as u64, clients);
    for number in 0..clients {
        let verdict = if number % 10 == 0 { "violation" } else { "consistent" };
        assert_eq!(verdicts[&format!("client-{number}")], (verdict.to_owned(), events), "client {number}");
    }
    // The last third needs no more memory than what came before, but for noise: each thread has a heap of its own.
    let (early, late): (Vec<Sample>, Vec<Sample>) = samples.iter().partition(|(all, _)| *all < clients * last * 2 / 3);
    let most = |samples: &[Sample]| samples.iter().map(|(_, kib)| *kib).max().unwrap_or(0);
    assert!(most(&late) <= most(&early) * 3 / 2 + (64 << 10), "{} KiB, then {} KiB", most(&early), most(&late));
    println!("{clients} clients, {} events, {KILLS} ends, {} KiB at most", clients * events, most(&samples));
    if let Ok(path) = std::env::var("SERIATIM_PLOT") {
        File::create(path).unwrap().write_all(plot(&samples, &ends).as_bytes()).unwrap();
    }
}

/// Memory over the events that were received, with a mark at each kill and at each signal.
fn plot(samples: &[Sample], ends: &[u64]) -> String {
    let all = samples.iter().map(|sample| sample.0).max().unwrap_or(1).max(1) as f64;
    let most = samples.iter().map(|sample| sample.1).max().unwrap_or(1).max(1) as f64 / 1024.0;
    let (width, height, left, bottom) = (760.0, 240.0, 60.0, 40.0);
    let x = |events: u64| left + (width - left - 10.0) * events as f64 / all;
    let y = |mib: f64| (height - bottom) - (height - bottom - 20.0) * mib / (most * 1.1);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" \
         font-size=\"12\">\n<rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>\n<title>Memory of the service \
         over the events received</title>\n"
    );
    for step in 0..=4 {
        let (mib, events) = (most * f64::from(step) / 4.0, all * f64::from(step) / 4.0);
        let at = y(mib);
        let _ = writeln!(svg, "<path d=\"M{left} {at:.1}H{}\" stroke=\"#ddd\"/>", width - 10.0);
        let _ =
            writeln!(svg, "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{mib:.0} MiB</text>", left - 6.0, at + 4.0);
        let (at, low) = (x(events as u64), height - bottom + 18.0);
        let _ = writeln!(svg, "<text x=\"{at:.1}\" y=\"{low}\" text-anchor=\"middle\">{:.1} M</text>", events / 1e6);
    }
    for (number, &end) in ends.iter().enumerate() {
        let (at, dash) = (x(end), if number % 2 == 0 { "none" } else { "4 3" });
        let _ = writeln!(
            svg,
            "<path d=\"M{at:.1} 20V{}\" stroke=\"#c2321b\" stroke-dasharray=\"{dash}\"/>",
            height - bottom
        );
    }
    let points: Vec<String> =
        samples.iter().map(|&(events, kib)| format!("{:.1},{:.1}", x(events), y(kib as f64 / 1024.0))).collect();
    let _ = writeln!(svg, "<polyline points=\"{}\" fill=\"none\" stroke=\"#0a5fa5\"/>", points.join(" "));
    let _ = writeln!(
        svg,
        "<text x=\"{left}\" y=\"{}\">events received; red: SIGKILL, broken: SIGTERM, then a restart</text>\n\
         </svg>",
        height - 6.0
    );
    svg
}
