//! `seriatim monitor`: real processes, pipes, sockets and files that grow.

use crate::common;
use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStderr, Stdio};
use std::time::{Duration, Instant};

use common::{Files, GOOD, STALE, command, json, ran, seriatim, seriatim_with, with_input};

/// A long run of two threads that pass messages. All of it is allowed. Each operation has a line.
fn messages(rounds: u64) -> String {
    let mut text = String::new();
    for round in 1..=rounds {
        writeln!(text, "[0] w x {round}\n[0] w y {round}\n[1] r y {round}\n[1] r x {round}").unwrap();
    }
    text
}

fn spawn(arguments: &[&str]) -> Child {
    command()
        .arg("monitor")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Waits until a condition holds. There is a limit, so that a test that fails comes to an end.
fn wait_until(what: &str, mut is: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is() {
        assert!(begin.elapsed() < Duration::from_secs(120), "waited for {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn append(path: &str, text: &str) {
    OpenOptions::new().append(true).open(path).unwrap().write_all(text.as_bytes()).unwrap();
}

#[test]
fn a_history_has_a_verdict_and_the_exit_status_tells() {
    for (input, status, verdict) in [(GOOD, 0, "consistent"), (STALE, 1, "violation at event 3")] {
        let ran = with_input(["monitor", "--model", "ra"], input.as_bytes());
        assert_eq!(ran.status, status, "{ran:?}");
        assert!(ran.out.starts_with(&format!("-: ra: {verdict}\n")), "{ran:?}");
    }
    let bad = with_input(["monitor", "--model", "ra"], b"[0] w x 1\n[0] dance\n");
    assert_eq!((bad.status, bad.out.as_str()), (2, ""));
    assert!(bad.err.starts_with("-:2:5: a memory has no method `dance`"), "{bad:?}");
    let nothing = with_input(["monitor", "--model", "ra"], b"# nothing\n");
    assert_eq!(nothing.status, 2, "{nothing:?}");
    let misfit = with_input(["monitor"], GOOD.as_bytes());
    assert!(misfit.status == 2 && misfit.err.contains("which model?"), "{misfit:?}");
    let calls = with_input(["monitor", "--model", "ra"], b"[0] call w x 1\n");
    assert!(calls.status == 2 && calls.err.contains("without call and return"), "{calls:?}");
    assert_eq!(seriatim(["monitor", "--model", "sc"]).status, 2);
}

#[test]
fn one_object_a_history() {
    let input = format!("{GOOD}---\n# a comment\n{STALE}[0] r x 2\n---\n{STALE}---\n[0] w x\n---\n{GOOD}");
    let ran = with_input(["monitor", "--model", "ra", "--json"], input.as_bytes());
    assert_eq!(ran.status, 2, "{ran:?}");
    let (bad, told): (Vec<_>, Vec<_>) = json(&ran.out).into_iter().partition(|object| object.get("error").is_some());
    assert!(bad.len() == 1 && bad[0]["history"] == 3 && bad[0]["error"]["line"] == 14, "{bad:?}");
    let told: Vec<_> = told
        .iter()
        .map(|object| {
            let number = |field: &str| object[field].as_u64();
            (number("history").unwrap(), object["verdict"].as_str().unwrap().to_owned(), number("events"), number("at"))
        })
        .collect();
    let expected = [
        (0, "consistent".to_owned(), Some(2), None),
        (1, "violation".to_owned(), Some(3), Some(3)),
        (2, "violation".to_owned(), Some(3), Some(3)),
        (4, "consistent".to_owned(), Some(2), None),
    ];
    assert_eq!(told, expected);
}

#[test]
fn each_event_is_looked_at_as_soon_as_its_line_is_complete() {
    let mut child = spawn(&["--model", "ra"]);
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(STALE.as_bytes()).unwrap();
    // The violation is reported while the stream is still open.
    let mut line = String::new();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    out.read_line(&mut line).unwrap();
    assert_eq!(line, "-: ra: violation at event 3\n");
    drop(stdin);
    assert_eq!(child.wait().unwrap().code(), Some(1));
}

#[test]
fn with_keep_going_each_violation_is_told() {
    let input = format!("{STALE}[0] r x 2\n[1] r x 7\n[1] r x 2\n[1] r x 1\n---\n{GOOD}");
    let ran = with_input(["monitor", "--model", "ra", "--keep-going", "--json"], input.as_bytes());
    assert_eq!(ran.status, 1);
    let at: Vec<_> = json(&ran.out).iter().map(|object| object["at"].as_u64()).collect();
    assert_eq!(at, [Some(3), Some(5), Some(7), None]);
}

/// Thread 1 performs two reads out of order, and the others notice: the counterexample of the specification.
const OBSERVED: &str =
    "[1] r k 0 po=1\n[2] r k 0 po=0\n[3] w k 1 po=0\n[3] w m 1 po=1\n[1] r m 1 po=0\n[2] r k 1 po=1\n";
/// The second element leaves the queue before the first.
const OVERTAKEN: &str = "# @object queue\n[0] call enqueue 1\n[0] return\n[0] call enqueue 2\n[0] return\n\
    [1] call dequeue\n[1] return 2\n[1] call dequeue\n[1] return 1\n";

#[test]
fn a_certificate_is_verified_on_the_recorded_prefix() {
    let files = Files::new();
    let thin_air = "[0] w x 1\n[0] r x 3\n[0] w x 2\n";
    let updated = "# @init x 5\n[0] u.acqrel x 5 1\n[1] u.acqrel x 5 2\n[1] r x 2\n";
    let cases = [
        ("ra", STALE.to_owned() + "[0] w x 3\n", 3),
        ("rc20", updated.to_owned(), 2),
        ("ra", thin_air.to_owned(), 2),
        ("sc-observed", OBSERVED.to_owned(), 5),
        ("linearizable", OVERTAKEN.to_owned(), 6),
    ];
    for (at, (model, history, event)) in cases.iter().enumerate() {
        let input = format!("{}---\n{history}---\n{history}", OBSERVED.lines().next().unwrap().to_owned() + "\n");
        let input = if *model == "linearizable" { format!("{history}---\n{history}") } else { input };
        let first = usize::from(*model != "linearizable");
        let file = files.write(&format!("{at}.hist"), &input);
        let (proof, record) = (files.path("proof"), files.path("record"));
        let arguments = ["monitor", "--model", model, "--certificate", &proof, "--record", &record, "--json"];
        // The stream comes from a pipe or from a file, with a record or without.
        let told = with_input(arguments, input.as_bytes());
        assert_eq!(told.status, 1, "{told:?}");
        let objects = json(&told.out);
        assert_eq!(objects.len(), first + 2);
        assert_eq!(objects[first]["at"].as_u64(), Some(*event), "{told:?}");
        let verified = seriatim_with(&["verify", &proof, &record]);
        assert_eq!(verified.status, 0, "{verified:?} {}", std::fs::read_to_string(&record).unwrap());
        assert_eq!(verified.out.lines().count(), 2, "{verified:?}");
        let proofs = std::fs::read_to_string(&proof).unwrap();
        let again = seriatim_with(&["monitor", "--model", model, "--certificate", &proof, &file]);
        assert!(again.status == 1 && !again.err.contains("certificate"), "{again:?}");
        assert_eq!(std::fs::read_to_string(&proof).unwrap(), proofs);
        let piped = with_input(["monitor", "--model", model, "--certificate", &proof], input.as_bytes());
        assert_eq!((piped.status, std::fs::read_to_string(&proof).unwrap()), (1, proofs));
    }
}

#[test]
fn a_stream_that_is_cut_in_mid_line_is_what_came_before() {
    // If the cut line were whole, it would be a violation.
    let cut = &STALE.as_bytes()[..STALE.len() - 1];
    let ran = with_input(["monitor", "--model", "ra", "--json"], cut);
    assert_eq!(ran.status, 0, "{ran:?}");
    assert_eq!(json(&ran.out)[0]["events"], 2);
    assert!(ran.err.contains("cut in the middle of line 3: `[0] r x 1`"), "{ran:?}");
    // A file that nobody writes any more may lack its last newline.
    let files = Files::new();
    let file = files.write("cut.hist", cut);
    assert_eq!(seriatim(["monitor", "--model", "ra", &file]).status, 1);
}

#[test]
fn a_process_that_dies_without_returning_leaves_its_call_pending() {
    // The enqueue of 2 never returned, but took effect. The enqueue of 3 did neither.
    let pending = "# @object queue\n[0] call enqueue 1\n[0] return\n[1] call enqueue 2\n[3] call enqueue 3\n\
        [2] call dequeue\n[2] return 1\n[2] call dequeue\n[2] return 2\n[2] call dequeue\n[2] return\n";
    let ran = with_input(["monitor"], pending.as_bytes());
    assert_eq!((ran.status, ran.out.as_str()), (0, "-: linearizable: consistent\n"), "{ran:?}");
    let never = format!("{pending}[2] call dequeue\n[2] return 4\n");
    assert_eq!(with_input(["monitor"], never.as_bytes()).status, 1);
}

#[test]
fn of_events_at_the_same_time_the_first_line_is_the_first() {
    let tied = "# @object queue\n[0] call enqueue 1 time=5\n[0] return time=5\n[0] call enqueue 2 time=5\n[0] return \
        time=5\n\
        [1] call dequeue time=5\n[1] return 2 time=5\n";
    assert_eq!(with_input(["monitor"], tied.as_bytes()).status, 1);
    let overlapping = "# @object queue\n[0] call enqueue 1 time=9\n[1] call enqueue 2 time=5\n[0] return time=5\n\
        [1] return time=5\n[1] call dequeue time=5\n[1] return 2 time=5\n";
    assert_eq!(with_input(["monitor"], overlapping.as_bytes()).status, 0);
}

#[test]
fn a_reader_slower_than_the_writer_loses_nothing() {
    let text = messages(100_000);
    let mut child = spawn(&["--model", "ra", "--json"]);
    let pid = child.id().to_string();
    let signal =
        |name: &str| assert!(std::process::Command::new("kill").args([name, &pid]).status().unwrap().success());
    let mut stdin = child.stdin.take().unwrap();
    signal("-STOP");
    let events = text.lines().count();
    let written = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let done = std::sync::Arc::clone(&written);
    let writer = std::thread::spawn(move || {
        stdin.write_all(text.as_bytes()).unwrap();
        done.store(true, std::sync::atomic::Ordering::SeqCst);
    });
    // The monitor is stopped, so the writer has to wait.
    std::thread::sleep(Duration::from_millis(300));
    assert!(!written.load(std::sync::atomic::Ordering::SeqCst));
    signal("-CONT");
    writer.join().unwrap();
    let ran = ran(child.wait_with_output().unwrap());
    assert_eq!(json(&ran.out)[0]["events"].as_u64(), Some(events as u64), "{ran:?}");
    assert_eq!(ran.status, 0);
}

/// Runs a monitor on a file that grows, kills it when it has made a checkpoint, lets the file grow on, and runs it
/// again.
fn killed_and_continued(model: &str, before: &str, after: &str) {
    let files = Files::new();
    let (file, checkpoint, record) =
        (files.write("stream.hist", before), files.path("checkpoint"), files.path("record"));
    let flags = ["monitor", "--model", model, "--json", "--checkpoint", &checkpoint, "--checkpoint-every", "1000"];
    let whole = files.write("whole.hist", format!("{before}{after}"));
    let uninterrupted = seriatim_with(&["monitor", "--model", model, "--json", &whole]);
    let mut follow = flags.to_vec();
    follow.extend(["--record", &record, "--follow", &file]);
    let mut child = command().args(&follow).stdout(Stdio::piped()).spawn().unwrap();
    wait_until("a checkpoint", || std::fs::exists(&checkpoint).unwrap());
    child.kill().unwrap();
    child.wait().unwrap();
    append(&file, after);
    // The run is continued on the file, and on a pipe that brings everything again.
    let saved = std::fs::read(&checkpoint).unwrap();
    let recorded = std::fs::read(&record).unwrap();
    let mut on_file = flags.to_vec();
    on_file.extend(["--record", &record, &file]);
    let continued = seriatim_with(&on_file);
    let name = |out: &str, name: &str| out.replace(name, "");
    assert_eq!(name(&continued.out, &file), name(&uninterrupted.out, &whole), "{continued:?}");
    assert_eq!(continued.status, uninterrupted.status);
    assert!(!std::fs::exists(&checkpoint).unwrap());
    std::fs::write(&checkpoint, &saved).unwrap();
    std::fs::write(&record, &recorded).unwrap();
    let mut piped = spawn(&[&flags[1..], &["--record", &record]].concat());
    let mut stdin = piped.stdin.take().unwrap();
    let input = format!("{before}{after}");
    let feeder = std::thread::spawn(move || drop(stdin.write_all(input.as_bytes())));
    let piped = ran(piped.wait_with_output().unwrap());
    feeder.join().unwrap();
    assert_eq!(name(&piped.out, "\"-\""), name(&uninterrupted.out, &format!("\"{whole}\"")), "{piped:?}");
    // A checkpoint of another version, whose state may mean anything, is not read.
    let layout = b"seriatim checkpoint 6\n";
    let mut older = saved.clone();
    older[..layout.len()].copy_from_slice(b"seriatim checkpoint 2\n");
    assert!(saved.starts_with(layout));
    std::fs::write(&checkpoint, &older).unwrap();
    let refused = seriatim_with(&[&flags[..], &["--record", &record, &file]].concat());
    assert!(refused.status == 2 && refused.out.is_empty(), "{refused:?}");
    assert!(refused.err.contains("made with other flags, or by another version"), "{refused:?}");
    assert_eq!(std::fs::read(&checkpoint).unwrap(), older);
    // Another stream, a damaged checkpoint and other flags are each refused, with the reason.
    for (damage, file, more) in [(false, &record, ""), (true, &file, ""), (false, &file, "--keep-going")] {
        let mut bytes = saved.clone();
        if damage {
            let at = bytes.len() / 2;
            bytes[at] ^= 1;
        }
        std::fs::write(&checkpoint, bytes).unwrap();
        if !damage && more.is_empty() {
            std::fs::write(file, "[0] w z 1\n".repeat(100_000)).unwrap();
        }
        let mut arguments = flags.to_vec();
        arguments.extend([file.as_str()].into_iter().chain((!more.is_empty()).then_some(more)));
        let refused = seriatim_with(&arguments);
        assert!(refused.status == 2 && refused.out.is_empty(), "{refused:?}");
    }
}

#[test]
fn killed_and_continued_from_its_checkpoint_it_says_the_same() {
    let before = messages(3000);
    killed_and_continued("ra", &before, "[0] r x 3000\n[1] r x 2999\n[1] r x 3000\n");
    killed_and_continued("rc20", &before, &messages(10).replace("x ", "u ").replace("y ", "v "));
    let ordered: String = before.lines().enumerate().fold(String::new(), |mut text, (at, line)| {
        // Every two neighbours are out of order.
        let index = (at / 4 * 2 + at % 2) ^ 1;
        writeln!(text, "{} po={index}", line.replace("x ", "y ").replace("w y", "r y")).unwrap();
        text
    });
    killed_and_continued("sc-observed", &ordered, "[2] r a 0 po=1\n[0] w a 1\n[0] w b 1\n[2] r b 1 po=0\n");
    let mut queue = "# @object queue\n".to_owned();
    for value in 1..=1000 {
        writeln!(queue, "[0] call enqueue {value}\n[0] return").unwrap();
        if value > 10 {
            writeln!(queue, "[1] call dequeue\n[1] return {}", value - 10).unwrap();
        }
    }
    killed_and_continued("linearizable", &queue, "[1] call dequeue\n[1] return 992\n");
    let mut register = "# @object register\n".to_owned();
    for value in 1..=1000 {
        writeln!(register, "[0] call write {value}\n[1] call read\n[0] return\n[1] return {value}").unwrap();
    }
    killed_and_continued("linearizable", &register, "[1] call read\n[1] return 999\n");
}

#[test]
fn a_file_is_followed_as_it_grows() {
    let files = Files::new();
    let file = files.write("growing.hist", "");
    let child = spawn(&["--model", "ra", "--follow", &file]);
    for piece in ["[0] w x 1\n[0] w", " x 2\n", "[0] r x", " 1\n[0] r x 1\n"] {
        std::thread::sleep(Duration::from_millis(30));
        append(&file, piece);
    }
    // The file has no end, but the violation ends the run.
    let ran = ran(child.wait_with_output().unwrap());
    assert_eq!(ran.status, 1, "{ran:?}");
    assert!(ran.out.contains("violation at event 3\n  line 3  [0] r x 1\n"), "{ran:?}");
}

/// The lines that a run prints on standard error, one by one.
fn complaints(child: &mut Child) -> impl FnMut(&str) + use<> {
    let mut err = BufReader::new(child.stderr.take().unwrap());
    move |wanted| {
        let mut line = String::new();
        err.read_line(&mut line).unwrap();
        assert!(line.contains(wanted), "{line}");
    }
}

#[test]
fn a_file_that_is_truncated_is_read_from_its_beginning() {
    let files = Files::new();
    let file = files.write("stream.hist", "[0] w x 1\n[0] w x 2\n");
    let (proof, record) = (files.path("proof"), files.path("record"));
    let mut child = spawn(&["--model", "ra", "--follow", "--certificate", &proof, "--record", &record, &file]);
    let mut complains = complaints(&mut child);
    wait_until("the lines", || std::fs::read(&record).is_ok_and(|record| record.len() == 20));
    std::fs::write(&file, "").unwrap();
    complains("stream.hist: the file was truncated: it is read from its beginning");
    append(&file, "[0] r x 1\n");
    let ran = ran(child.wait_with_output().unwrap());
    assert_eq!(ran.status, 1, "{ran:?}");
    assert!(ran.out.contains("violation at event 3\n  line 3  [0] r x 1\n"), "{ran:?}");
    assert_eq!(std::fs::read_to_string(&record).unwrap(), STALE);
    assert_eq!(seriatim(["verify", &proof, &record]).status, 0);
}

/// The file is rotated as logrotate does it: the program writes to the old file until it has opened the new one.
#[cfg(unix)]
#[test]
fn a_file_that_is_rotated_is_read_to_its_end_and_the_next_from_its_beginning() {
    let files = Files::new();
    let file = files.write("stream.hist", "[0] w x 1\n");
    let (proof, old, record) = (files.path("proof"), files.path("stream.hist.1"), files.path("record"));
    let mut child = spawn(&["--model", "ra", "--follow", "--certificate", &proof, "--record", &record, &file]);
    let mut complains = complaints(&mut child);
    let recorded = |length| {
        wait_until("the lines", || std::fs::read(&record).is_ok_and(|record| record.len() == length));
    };
    recorded(10);
    std::fs::rename(&file, &old).unwrap();
    complains("stream.hist: no file has this name any more: waiting for another");
    append(&old, "[0] w y 1\n");
    recorded(20);
    files.write("stream.hist", "");
    append(&old, "[0] w x 2\n[0] r ");
    recorded(30);
    append(&file, "x 1\n");
    complains("stream.hist: another file has this name now: it is read from its beginning");
    let ran = ran(child.wait_with_output().unwrap());
    assert_eq!(ran.status, 1, "{ran:?}");
    assert!(ran.out.contains("violation at event 4\n  line 4  [0] r x 1\n"), "{ran:?}");
    assert_eq!(seriatim(["verify", &proof, &record]).status, 0);
}

/// The monitor is killed after the file was rotated, in the middle of a line that began in the old file.
#[cfg(unix)]
#[test]
fn a_run_goes_on_in_the_next_file() {
    let files = Files::new();
    let file = files.write("stream.hist", "[0] w x 1\n[0] w x 2\n[0] r");
    let (checkpoint, old) = (files.path("checkpoint"), files.path("stream.hist.1"));
    let flags = ["--model", "ra", "--checkpoint", &checkpoint, "--checkpoint-every", "1", "--follow", &file];
    let mut child = spawn(&flags);
    wait_until("a checkpoint", || std::fs::exists(&checkpoint).unwrap());
    let first = std::fs::read(&checkpoint).unwrap();
    std::fs::rename(&file, &old).unwrap();
    files.write("stream.hist", " x");
    wait_until("another", || std::fs::read(&checkpoint).unwrap() != first);
    child.kill().unwrap();
    child.wait().unwrap();
    append(&file, " 1\n");
    let told = ran(spawn(&flags).wait_with_output().unwrap());
    assert_eq!(told.status, 1, "{told:?}");
    assert!(told.out.contains("violation at event 3\n  line 3  [0] r x 1\n"), "{told:?}");
    // The older checkpoint belongs to the older file.
    std::fs::write(&checkpoint, &first).unwrap();
    let told = ran(spawn(&flags).wait_with_output().unwrap());
    assert!(told.status == 2 && told.err.contains("its file was replaced since"), "{told:?}");
}

#[test]
fn a_checkpoint_that_cannot_be_written_ends_the_run() {
    let files = Files::new();
    let nowhere = files.path("no-directory/checkpoint");
    let directory = files.path("");
    let mut cases = vec![(nowhere.as_str(), "cannot be written"), (directory.as_str(), "a checkpoint is a file")];
    if cfg!(target_os = "linux") {
        // This device can be read without end, and cannot be written.
        cases.push(("/dev/full", "a checkpoint is a file"));
    }
    for (checkpoint, why) in cases {
        let mut child = spawn(&["--model", "ra", "--checkpoint", checkpoint]);
        let stdin = child.stdin.take();
        let ran = ran(child.wait_with_output().unwrap());
        assert!(ran.status == 2 && ran.out.is_empty() && ran.err.contains(why), "{ran:?}");
        drop(stdin);
    }
}

/// A pipe does not bring its text again. So a run that is continued on a pipe needs the record for its certificates.
#[test]
fn a_certificate_after_a_checkpoint_needs_a_record() {
    let files = Files::new();
    let (proof, checkpoint) = (files.path("proof"), files.path("checkpoint"));
    let refused = seriatim(["monitor", "--model", "ra", "--certificate", &proof, "--checkpoint", &checkpoint]);
    assert!(refused.status == 2 && refused.err.contains("needs --record"), "{refused:?}");
}

/// A monitor that listens, and where.
fn listening(arguments: &[&str]) -> (Child, String, BufReader<ChildStderr>) {
    let mut child = spawn(arguments);
    let mut err = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    err.read_line(&mut line).unwrap();
    let address = line.trim().rsplit(' ').next().unwrap().to_owned();
    (child, address, err)
}

#[test]
fn clients_do_not_disturb_each_other() {
    let (child, address, mut err) = listening(&["--model", "ra", "--json", "--listen", "0", "--clients", "4"]);
    assert!(address.starts_with("127.0.0.1:"), "{address}");
    // Two clients at the same time, line by line. Then a client that sends garbage, and one that dies in the middle of
    // a line.
    let mut clients = [TcpStream::connect(&address).unwrap(), TcpStream::connect(&address).unwrap()];
    let text = messages(500);
    for line in text.lines() {
        for client in &mut clients {
            writeln!(client, "{line}").unwrap();
        }
    }
    let mut garbage = TcpStream::connect(&address).unwrap();
    garbage.write_all(b"\xff\xfe\x00 GET / HTTP/1.1\r\n\r\n").unwrap();
    drop(garbage);
    let mut dying = TcpStream::connect(&address).unwrap();
    dying.write_all(b"[0] w x 1\n[0] r x").unwrap();
    drop(dying);
    drop(clients);
    let output = child.wait_with_output().unwrap();
    let mut complaints = String::new();
    err.read_to_string(&mut complaints).unwrap();
    let mut told: Vec<_> = json(std::str::from_utf8(&output.stdout).unwrap())
        .iter()
        .filter(|object| object.get("error").is_none())
        .map(|object| (object["verdict"].to_string(), object["events"].as_u64().unwrap()))
        .collect();
    told.sort();
    let consistent = |events| ("\"consistent\"".to_owned(), events);
    assert_eq!(told, [consistent(1), consistent(2000), consistent(2000)]);
    assert_eq!(output.status.code(), Some(2));
    assert!(complaints.contains("this is not an event in a known format"), "{complaints}");
    assert!(complaints.contains("cut in the middle of line 2"), "{complaints}");
}

#[cfg(unix)]
#[test]
fn a_violation_of_one_client_ends_the_run() {
    use std::os::unix::net::UnixStream;
    let files = Files::new();
    let path = files.path("socket");
    // A monitor that was killed leaves its socket behind.
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    let (child, address, _err) = listening(&["--model", "ra", "--listen", &format!("unix:{path}")]);
    assert_eq!(address, format!("unix:{path}"));
    let mut quiet = UnixStream::connect(&path).unwrap();
    quiet.write_all(GOOD.as_bytes()).unwrap();
    let mut violating = UnixStream::connect(&path).unwrap();
    violating.write_all(STALE.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8(output.stdout).unwrap().starts_with("client 2: ra: violation at event 3\n"));
    assert!(!std::fs::exists(&path).unwrap());
}

/// Sixty-four idle clients keep another client out, but not for ever.
#[test]
fn idle_clients_are_closed() {
    let (child, address, mut err) =
        listening(&["--model", "ra", "--listen", "0", "--clients", "65", "--idle", "1", "--max-clients", "64"]);
    let idle: Vec<TcpStream> = (0..64).map(|_| TcpStream::connect(&address).unwrap()).collect();
    let mut busy = TcpStream::connect(&address).unwrap();
    busy.write_all(GOOD.as_bytes()).unwrap();
    drop(busy);
    let output = child.wait_with_output().unwrap();
    drop(idle);
    let mut complaints = String::new();
    err.read_to_string(&mut complaints).unwrap();
    assert_eq!(complaints.matches(": no whole line came for 1 seconds (--idle): the client is closed\n").count(), 64);
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "client 65: ra: consistent\n");
    assert_eq!(output.status.code(), Some(0));
}

#[cfg(unix)]
#[test]
fn a_signal_ends_the_streams_of_clients_and_the_socket_is_removed() {
    use std::os::unix::net::UnixStream;
    for signal in ["-TERM", "-INT"] {
        let files = Files::new();
        let path = files.path("socket");
        let (mut child, _, _err) = listening(&["--model", "ra", "--keep-going", "--listen", &format!("unix:{path}")]);
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut client = UnixStream::connect(&path).unwrap();
        client.write_all(format!("{STALE}---\n{GOOD}").as_bytes()).unwrap();
        let mut line = String::new();
        out.read_line(&mut line).unwrap();
        assert_eq!(line, "client 1: ra: violation at event 3\n");
        // The client stays connected.
        let pid = child.id().to_string();
        assert!(std::process::Command::new("kill").args([signal, &pid]).status().unwrap().success());
        let mut rest = String::new();
        out.read_to_string(&mut rest).unwrap();
        assert!(rest.ends_with("client 1#1: ra: consistent\n"), "{rest}");
        assert_eq!(child.wait().unwrap().code(), Some(1));
        assert!(!std::fs::exists(&path).unwrap());
        drop(client);
    }
}

#[test]
fn what_is_read_is_not_written_over() {
    let files = Files::new();
    let (path, other) = (files.write("stream.hist", GOOD), files.path("other"));
    let flags = ["--record", "--certificate", "--checkpoint"];
    for flag in flags {
        let ran = seriatim_with(&["monitor", "--model", "ra", flag, &path, &path]);
        assert!(ran.status == 2 && ran.out.is_empty() && ran.err.contains("named twice"), "{ran:?}");
        let another = flags[usize::from(flag == "--record")];
        let ran = seriatim_with(&["monitor", "--model", "ra", flag, &other, another, &other, &path]);
        assert!(ran.status == 2 && ran.err.contains("named twice"), "{ran:?}");
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap(), GOOD);
}

#[cfg(unix)]
#[test]
fn a_file_is_not_taken_for_a_socket() {
    let files = Files::new();
    let path = files.write("stream.hist", GOOD);
    let ran = seriatim_with(&["monitor", "--model", "ra", "--listen", &format!("unix:{path}"), "--clients", "1"]);
    assert!(ran.status == 2 && ran.err.contains("in use"), "{ran:?}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), GOOD);
}

#[test]
fn junk_is_answered_and_never_hangs() {
    let mut random = workload::random::SplitMix64::new(1);
    for case in 0..40 {
        let mut bytes = messages(20).into_bytes();
        for _ in 0..=random.below(6) {
            let at = random.below(bytes.len() as u64) as usize;
            bytes[at] = random.next() as u8;
        }
        let model = ["ra", "rc20", "sc-observed", "linearizable"][case % 4];
        let ran = with_input(["monitor", "--model", model], &bytes);
        assert!((0..=3).contains(&ran.status), "{ran:?}");
        assert!(!ran.err.contains("bug"), "{ran:?}");
    }
    let long = vec![b'x'; 17 << 20];
    let ran = with_input(["monitor", "--model", "ra"], &long);
    assert!(ran.status == 2 && ran.err.contains("longer than 16 MiB"), "{}", ran.err);
}

/// A monitor of a window shows why its events are a violation, as `check` does, with the lines of the stream.
#[test]
fn a_window_shows_the_circle() {
    let files = Files::new();
    let path = &files.write("mp.hist", "# a comment\n[p] w x 1\n[p] w y 1\n[q] r y 1\n\n[q] r x 0\n[q] w z last\n");
    for model in ["tso", "wsc"] {
        let checked = seriatim(["check", "--model", model, path]);
        let circle = checked.out.split_once('\n').unwrap().1;
        let ran = seriatim(["monitor", "--model", model, path]);
        assert_eq!(ran.status, 1, "{ran:?}");
        assert!(ran.out.contains(&format!("the events 1 to 4 already violate {model}\n{circle}")), "{ran:?}");
        let json = json(&seriatim(["monitor", "--json", "--model", model, path]).out);
        assert!(json[0]["explanation"].as_array().is_some_and(|lines| lines.len() > 3), "{json:?}");
    }
}
