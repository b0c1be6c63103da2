//! `seriatim monitor --listen` as a service: clients with names, kills and restarts, limits, numbers, logs.

use crate::common;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::Stdio;
use std::time::Duration;

use crate::serving::{Client, ask, start, wait_until};
use common::{Files, GOOD, STALE, command, json, seriatim, seriatim_with};

#[test]
fn a_client_sends_again_what_was_not_acknowledged_and_each_line_counts_once() {
    let files = Files::new();
    let state = files.path("state");
    let flags = [
        "--model",
        "ra",
        "--json",
        "--listen",
        "0",
        "--checkpoint",
        &state,
        "--checkpoint-seconds",
        "0",
        "--keep-going",
    ];
    let mut service = start(&flags);
    let mut client = Client::come(&service.addresses[0], "a").unwrap();
    let first = client.answer().unwrap();
    assert_eq!((&first["received"], &first["acknowledged"]), (&0.into(), &0.into()));
    client.send("[0] w x 1\n[0] w x 2\n");
    client.until("acknowledged", 2);
    // The rest is sent, but whether it was saved is not known.
    client.send("[0] w y 1\n[0] r");
    service.kill();
    let mut service = start(&flags);
    // From the beginning, from a line on, and from where the service asks for.
    let mut client = Client::come(&service.addresses[0], "a").unwrap();
    client.send("[0] w x 1\n[0] w x 2\n[0] w y 1\n");
    assert!(client.answer().unwrap()["received"].as_u64().unwrap() >= 2);
    client.until("acknowledged", 3);
    drop(client);
    wait_until("the name", || {
        let mut client = Client::come(&service.addresses[0], "a from=3").unwrap();
        client.send("[0] w y 1\n[0] w y 2\n");
        let admitted = client.answer().is_some_and(|answer| answer.get("error").is_none());
        admitted && client.until("acknowledged", 4).is_object()
    });
    service.kill();
    let service = start(&flags);
    let mut client = Client::come(&service.addresses[0], "a from=next").unwrap();
    assert_eq!(client.answer().unwrap()["received"], 4);
    // This line is a violation only if each of the others counts.
    client.send("[0] r y 1\n# @end\n");
    let last = client.until("over", true);
    assert_eq!((&last["received"], &last["violations"]), (&5.into(), &1.into()));
    // What is over stays over.
    drop(client);
    let mut again = Client::come(&service.addresses[0], "a from=next").unwrap();
    again.until("over", true);
    let (status, out, _) = service.stop();
    assert_eq!(status, 1);
    let told = json(&out);
    assert_eq!(told.len(), 1, "{out}");
    assert_eq!((&told[0]["file"], &told[0]["at"], &told[0]["line"]), (&"a".into(), &5.into(), &5.into()));
}

#[test]
fn missing_lines_bad_names_and_a_taken_name_are_refused() {
    let files = Files::new();
    let service = start(&["--model", "ra", "--listen", "0", "--checkpoint", &files.path("state")]);
    let address = &service.addresses[0];
    let refused = |hello: &str, why: &str| {
        let mut client = Client::come(address, hello).unwrap();
        let answer = client.answer().unwrap();
        assert!(answer["error"].as_str().is_some_and(|error| error.contains(why)), "{answer}");
        assert!(client.answer().is_none());
    };
    refused("a from=3", "the lines 1 to 2 are missing");
    refused("../../etc/passwd", "a-z, 0-9");
    refused("a from=0", "from=next");
    let mut first = Client::come(address, "b").unwrap();
    first.send(GOOD);
    first.until("received", 2);
    refused("b", "another client has the name b now");
    first.send("[0] w x 2\n");
    first.until("received", 3);
    assert!(service.number("seriatim_refused_total") >= 4);
    // A second service must not write the same files.
    let second = seriatim(["monitor", "--model", "ra", "--listen", "0", "--checkpoint", &files.path("state")]);
    assert!(second.status == 2 && second.err.contains("another process is using this state"), "{second:?}");
    let (status, out, err) = service.stop();
    assert_eq!((status, out.as_str()), (0, ""), "{err}");
}

#[test]
fn a_client_that_hangs_in_mid_line_is_closed_even_if_it_drips() {
    let mut service = start(&["--model", "ra", "--listen", "0", "--clients", "1", "--idle", "1"]);
    let mut client = TcpStream::connect(&service.addresses[0]).unwrap();
    client.write_all(b"[0] w x 1\n[0] w x ").unwrap();
    let dripping = std::thread::spawn(move || {
        while client.write_all(b"1").is_ok() {
            std::thread::sleep(Duration::from_millis(20));
        }
    });
    let (status, out, err) = service.ended();
    assert_eq!((status, out.as_str()), (0, "client 1: ra: consistent\n"), "{err}");
    assert!(err.contains("no whole line came for 1 seconds"), "{err}");
    dripping.join().unwrap();
}

#[test]
fn a_line_without_end_and_junk_end_their_client_only() {
    let mut service = start(&["--model", "ra", "--listen", "0", "--clients", "4"]);
    let address = service.addresses[0].clone();
    let mut good = TcpStream::connect(&address).unwrap();
    good.write_all(b"[0] w x 1\n").unwrap();
    // The line would be a gigabyte long; the service stops reading far sooner.
    let mut endless = Client::come(&address, "endless").unwrap();
    let piece = vec![b'x'; 1 << 20];
    let sent = (0..1024).take_while(|_| endless.stream.write_all(&piece).is_ok()).count();
    assert!(sent < 64, "{sent} MiB were taken");
    let memory = service.number("seriatim_memory_bytes");
    assert!(memory < 200 << 20, "{memory}");
    let mut junk = TcpStream::connect(&address).unwrap();
    let mut random = workload::random::SplitMix64::new(7);
    let bytes: Vec<u8> = (0..100_000).map(|_| random.next() as u8).collect();
    let _ = junk.write_all(&bytes);
    drop(junk);
    let mut web = TcpStream::connect(&address).unwrap();
    web.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    drop(web);
    good.write_all(b"[0] r x 1\n").unwrap();
    drop(good);
    let (status, out, err) = service.ended();
    assert_eq!(status, 2, "{err}");
    assert!(out.contains("client 1: ra: consistent"), "{out}");
    assert!(err.contains("endless: a line longer than 1 MiB"), "{err}");
    assert!(!err.contains("bug") && err.chars().all(|it| it == '\n' || history::is_visible(it)), "{err}");
}

#[test]
fn a_client_that_never_reads_its_answers_loses_nothing() {
    let files = Files::new();
    let (state, socket) = (files.path("state"), files.path("socket"));
    let unix = format!("unix:{socket}");
    let service = start(&["--model", "ra", "--json", "--listen", &unix, "--checkpoint", &state]);
    let mut client = std::os::unix::net::UnixStream::connect(&socket).unwrap();
    let mut text = "# @client deaf\n".to_owned();
    for value in 1..=200_000 {
        writeln!(text, "[0] w x {value}").unwrap();
    }
    for piece in text.as_bytes().chunks(100) {
        client.write_all(piece).unwrap();
    }
    client.write_all(b"# @end\n").unwrap();
    let mut line = String::new();
    let mut service = service;
    service.out.read_line(&mut line).unwrap();
    assert_eq!(json(&line)[0]["events"], 200_000, "{line}");
    assert_eq!(service.stop().0, 0);
}

/// The rule of a shared history: who waits for the answer to a line before it acts, is seen in the right order.
#[test]
fn clients_share_a_history() {
    let files = Files::new();
    let state = files.path("state");
    let flags = ["--json", "--shared", "--listen", "0", "--checkpoint", &state, "--checkpoint-seconds", "0"];
    let mut service = start(&flags);
    let mut nameless = TcpStream::connect(&service.addresses[0]).unwrap();
    nameless.write_all(b"[z] call enqueue 1\n").unwrap();
    let mut answer = String::new();
    nameless.read_to_string(&mut answer).unwrap();
    assert!(!answer.is_empty() && json(&answer)[0]["error"].as_str().unwrap().contains("# @client NAME"), "{answer}");
    let mut producer = Client::come(&service.addresses[0], "producer").unwrap();
    producer.send("# @object queue\n");
    for (line, value) in (1..=3).zip([1, 2]) {
        producer.send(&format!("[p] call enqueue {value}\n[p] return\n"));
        producer.until("received", 1 + 2 * line);
    }
    producer.until("acknowledged", 5);
    service.kill();
    let mut service = start(&flags);
    let mut consumer = Client::come(&service.addresses[0], "consumer").unwrap();
    consumer.send("[c] call dequeue\n");
    consumer.until("received", 1);
    consumer.send("[c] return 2\n");
    // The second element leaves the queue before the first. A violation ends the run.
    let (status, out, err) = service.ended();
    assert_eq!(status, 1, "{out} {err}");
    let told = &json(&out)[0];
    assert_eq!((&told["file"], &told["at"]), (&"shared history".into(), &6.into()), "{told}");
}

#[test]
fn a_signal_saves_the_streams_and_they_go_on() {
    let files = Files::new();
    let state = files.path("state");
    let flags = ["--model", "ra", "--json", "--listen", "0", "--checkpoint", &state];
    let service = start(&flags);
    let mut named = Client::come(&service.addresses[0], "a").unwrap();
    named.send("[0] w x 1\n[0] w x 2\n");
    named.until("received", 2);
    let mut nameless = TcpStream::connect(&service.addresses[0]).unwrap();
    nameless.write_all(GOOD.as_bytes()).unwrap();
    wait_until("the lines", || service.number("seriatim_lines_total") >= 4);
    // The last answer acknowledges what the last checkpoint holds.
    let stopping = std::thread::spawn(move || service.stop());
    named.until("acknowledged", 2);
    let (status, out, err) = stopping.join().unwrap();
    assert_eq!((status, json(&out).len()), (0, 1), "{out} {err}");
    assert!(out.contains("client 2"), "{out}");
    let mut service = start(&flags);
    let mut named = Client::come(&service.addresses[0], "a from=next").unwrap();
    assert_eq!(named.answer().unwrap()["received"], 2);
    named.send("[0] r x 1\n");
    let (status, out, _) = service.ended();
    assert_eq!((status, &json(&out)[0]["at"]), (1, &3.into()));
}

/// A stream on standard input is saved by a signal, too, and without a checkpoint it has its verdict.
#[test]
fn a_signal_ends_a_run_on_standard_input() {
    let files = Files::new();
    let checkpoint = files.path("checkpoint");
    for kept in [true, false] {
        let mut arguments = vec!["monitor", "--model", "ra", "--metrics", "0"];
        if kept {
            arguments.extend(["--checkpoint", &checkpoint]);
        }
        let mut child = command()
            .args(&arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(b"[0] w x 1\n[0] w x 2\n").unwrap();
        let mut line = String::new();
        BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().rsplit('/').nth(1).unwrap().to_owned();
        wait_until("the events", || {
            ask(&address, "GET /metrics HTTP/1.0\r\n\r\n").1.contains("seriatim_client_events_total{client=\"-\"} 2\n")
        });
        let status = std::process::Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
        assert!(status.success());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0));
        let out = String::from_utf8(output.stdout).unwrap();
        assert_eq!(out, if kept { "" } else { "-: ra: consistent\n" });
        drop(stdin);
    }
    let again = common::with_input(["monitor", "--model", "ra", "--checkpoint", &checkpoint], STALE.as_bytes());
    assert!(again.status == 1 && again.out.contains("violation at event 3"), "{again:?}");
}

#[test]
fn if_checkpoints_fail_nothing_is_acknowledged_until_they_succeed_again() {
    let files = Files::new();
    let state = files.path("state");
    let service = start(&["--model", "ra", "--listen", "0", "--checkpoint", &state, "--checkpoint-seconds", "0"]);
    let mut client = Client::come(&service.addresses[0], "a").unwrap();
    client.send("[0] w x 1\n");
    client.until("acknowledged", 1);
    assert_eq!(seriatim(["monitor", "--health", &service.metrics]).status, 0);
    // Where the disk was, there is nothing.
    std::fs::rename(&state, files.path("away")).unwrap();
    client.send("[0] w x 2\n");
    client.until("received", 2);
    wait_until("trouble", || service.get("/readyz").0.starts_with("HTTP/1.1 503 "));
    let asked = seriatim(["monitor", "--health", &service.metrics]);
    assert!(asked.status == 2 && asked.err.contains("the checkpoint cannot be written"), "{asked:?}");
    assert!(service.get("/healthz").0.starts_with("HTTP/1.1 200 "));
    assert!(service.number("seriatim_checkpoint_failures_total") >= 1);
    std::fs::rename(files.path("away"), &state).unwrap();
    assert_eq!(client.until("acknowledged", 2)["received"], 2);
    wait_until("health", || service.get("/readyz").0.starts_with("HTTP/1.1 200 "));
    assert_eq!(service.number("seriatim_ready"), 1);
    let (status, _, err) = service.stop();
    assert!(status == 0 && err.contains("the checkpoint cannot be written"), "{err}");
}

#[test]
fn the_numbers_say_what_was_checked() {
    let service = start(&["--model", "ra", "--listen", "0", "--keep-going"]);
    let mut client = Client::come(&service.addresses[0], "a").unwrap();
    client.send(&format!("{STALE}---\n{GOOD}---\n[0] dance\n---\n[0] w x 1\n"));
    assert_eq!(client.until("received", 10)["violations"], 1);
    for (name, value) in [
        ("seriatim_events_total", 6),
        ("seriatim_lines_total", 10),
        ("seriatim_clients", 1),
        ("seriatim_clients_total", 1),
        ("seriatim_verdicts_total{verdict=\"violation\"}", 1),
        ("seriatim_verdicts_total{verdict=\"consistent\"}", 1),
        ("seriatim_verdicts_total{verdict=\"bad\"}", 1),
        ("seriatim_client_events_total{client=\"a\"}", 6),
        ("seriatim_client_verdicts_total{client=\"a\",verdict=\"violation\"}", 1),
        ("seriatim_client_lag_bytes{client=\"a\"}", 0),
    ] {
        assert_eq!(service.number(name), value, "{name}");
    }
    drop(client);
    // Totals stay when a client leaves; its rows go.
    wait_until("the client", || service.number("seriatim_clients") == 0);
    assert_eq!(service.number("seriatim_events_total"), 6);
    let (head, text) = service.get("/metrics");
    assert!(head.contains("text/plain; version=0.0.4"), "{head}");
    assert!(!text.contains("client=\"a\""), "{text}");
    let document = std::fs::read_to_string(common::examples().join("../docs/monitor.md")).unwrap();
    for name in text.lines().filter_map(|line| line.strip_prefix("# TYPE seriatim")) {
        let name = name.split(' ').next().unwrap();
        assert!(document.contains(name), "docs/monitor.md does not tell of seriatim{name}");
    }
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (name, value) = line.rsplit_once(' ').unwrap();
        assert!(name.starts_with("seriatim_") && value.parse::<f64>().is_ok(), "{line}");
    }
    let state: serde_json::Value = serde_json::from_str(&service.get("/state.json").1).unwrap();
    let violation = &state["violations"][0];
    assert_eq!(
        (&violation["client"], &violation["at"], &violation["event"]),
        (&"a".into(), &3.into(), &"[0] r x 1".into())
    );
    assert!(violation["drawing"].as_str().unwrap().contains("r x 1"), "{violation}");
    let (head, picture) = service.get(&format!("/violations/{}.svg", violation["id"]));
    assert!(head.contains("image/svg+xml") && picture.starts_with("<svg"), "{head}");
    assert!(service.get("/").1.contains("<title>seriatim monitor</title>"));
    assert!(service.get("/violations/99.svg").0.starts_with("HTTP/1.1 404 "));
    assert!(ask(&service.metrics, "POST / HTTP/1.1\r\n\r\n").0.starts_with("HTTP/1.1 405 "));
    // Requests that never end do not keep others waiting, and long ones are not read to their end.
    let hanging: Vec<TcpStream> = (0..8).map(|_| TcpStream::connect(&service.metrics).unwrap()).collect();
    let mut long = TcpStream::connect(&service.metrics).unwrap();
    let _ = long.write_all(&vec![b'x'; 1 << 20]);
    assert!(service.get("/healthz").0.starts_with("HTTP/1.1 200 "));
    drop(hanging);
    assert_eq!(service.stop().0, 2);
}

#[test]
fn the_log_is_json_and_can_be_rotated() {
    let files = Files::new();
    let (log, old) = (files.path("log"), files.path("log.1"));
    let mut child = command()
        .args(["monitor", "--model", "ra", "--keep-going", "--listen", "0", "--log", &log])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = |path: &str| json(&std::fs::read_to_string(path).unwrap_or_default());
    let has = |path: &str, kind: &str| lines(path).iter().any(|line| line["kind"] == kind);
    wait_until("the address", || has(&log, "listening"));
    let listening = lines(&log).into_iter().find(|line| line["kind"] == "listening").unwrap();
    let address = listening["message"].as_str().unwrap().rsplit(' ').next().unwrap().to_owned();
    assert!(listening["level"] == "info" && listening["time"].as_str().unwrap().ends_with('Z'), "{listening}");
    let mut client = Client::come(&address, "a").unwrap();
    client.send(STALE);
    client.until("violations", 1);
    let violation = lines(&log).into_iter().find(|line| line["kind"] == "violation").unwrap();
    assert_eq!(
        (&violation["stream"], &violation["at"], &violation["level"]),
        (&"a".into(), &3.into(), &"error".into())
    );
    std::fs::rename(&log, &old).unwrap();
    let pid = child.id().to_string();
    let kill = |signal: &str| std::process::Command::new("kill").args([signal, &pid]).status().unwrap();
    assert!(kill("-HUP").success());
    wait_until("the new log", || has(&log, "reopened"));
    drop(client);
    wait_until("the message", || has(&log, "left"));
    assert!(!has(&old, "left") && has(&old, "connected"));
    assert!(kill("-TERM").success());
    let mut err = String::new();
    child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    assert_eq!((child.wait().unwrap().code(), err.as_str()), (Some(1), ""));
}

#[test]
fn other_machines_are_let_in_only_if_that_is_said() {
    for flag in ["--listen", "--metrics"] {
        for address in ["0.0.0.0:0", "[::]:0", "[::ffff:0.0.0.0]:0"] {
            let ran = seriatim_with(
                &["monitor", "--model", "ra", flag, address, "--clients", "0"]
                    [..if flag == "--listen" { 7 } else { 5 }],
            );
            assert!(ran.status == 2 && ran.err.contains("--allow-remote"), "{ran:?}");
        }
    }
    for address in ["70000", "nowhere", "unix:/no/such/directory/socket"] {
        let ran = seriatim(["monitor", "--model", "ra", "--listen", address]);
        assert!(ran.status == 2 && ran.err.contains("next: an address is a port"), "{ran:?}");
    }
    let files = Files::new();
    let unix = format!("unix:{}", files.path("socket"));
    let flags = ["--model", "ra", "--listen", "[::1]:0", "--listen", "0", "--listen", &unix, "--clients", "3"];
    let mut service = start(&flags);
    assert!(service.addresses[0].starts_with("[::1]:"), "{:?}", service.addresses);
    for address in &service.addresses[..2] {
        TcpStream::connect(address).unwrap().write_all(GOOD.as_bytes()).unwrap();
    }
    std::os::unix::net::UnixStream::connect(files.path("socket")).unwrap().write_all(GOOD.as_bytes()).unwrap();
    let (status, out, _) = service.ended();
    assert_eq!((status, out.lines().count()), (0, 3), "{out}");
    let open = start(&["--model", "ra", "--listen", "0.0.0.0:0", "--allow-remote"]);
    assert_eq!(open.stop().0, 0);
}

#[test]
fn a_stream_whose_state_is_too_large_is_unknown_and_the_others_go_on() {
    let mut service = start(&["--listen", "0", "--clients", "2", "--client-memory", "1M"]);
    let mut greedy = Client::come(&service.addresses[0], "greedy").unwrap();
    greedy.send("# @object queue\n");
    let mut text = String::new();
    for value in 0..1_000_000 {
        writeln!(text, "[0] call enqueue {value}\n[0] return").unwrap();
    }
    let _ = greedy.stream.write_all(text.as_bytes());
    let mut modest = Client::come(&service.addresses[0], "modest").unwrap();
    modest.send("# @object queue\n[0] call enqueue 1\n[0] return\n");
    modest.until("received", 3);
    drop((greedy, modest));
    let (status, out, err) = service.ended();
    assert_eq!(status, 3, "{out} {err}");
    assert!(out.contains("greedy: linearizable: unknown\n  the state of this stream is larger than 1 MiB"), "{out}");
    assert!(out.contains("modest: linearizable: consistent"), "{out}");
}

/// The flags in the examples of a service: those of the unit of systemd, and those of the manifest of Kubernetes. Ports
/// and files are replaced.
#[test]
fn the_examples_of_a_service_start_and_end() {
    let read = |name: &str| std::fs::read_to_string(common::examples().join("service").join(name)).unwrap();
    let unit = read("seriatim-monitor.service").replace("\\\n", " ");
    let line = unit.lines().find_map(|line| line.strip_prefix("ExecStart=/usr/bin/seriatim monitor ")).unwrap();
    let of_unit: Vec<String> = line.split_ascii_whitespace().map(str::to_owned).collect();
    let manifest = read("kubernetes.yaml");
    let of_manifest: Vec<String> = manifest
        .lines()
        .filter_map(|line| line.trim_start().strip_prefix("- --"))
        .flat_map(|flag| format!("--{flag}").split('=').map(str::to_owned).collect::<Vec<_>>())
        .collect();
    for flags in [of_unit, of_manifest] {
        let files = Files::new();
        let mut tried = Vec::new();
        let mut words = flags.iter().map(String::as_str);
        while let Some(flag) = words.next() {
            let value = match flag {
                "--checkpoint" => {
                    words.next().unwrap();
                    files.path("streams")
                }
                // `start` gives these itself, or reads what is said on standard error.
                "--metrics" | "--log" => {
                    words.next().unwrap();
                    continue;
                }
                "--listen" => match words.next().unwrap() {
                    socket if socket.starts_with("unix:/") => format!("unix:{}", files.path("socket")),
                    address => address.replace("7400", "0"),
                },
                _ => String::new(),
            };
            tried.push(flag.to_owned());
            tried.extend(Some(value).filter(|value| !value.is_empty()));
        }
        assert!(tried.len() >= 6, "{tried:?}");
        let tried: Vec<&str> = tried.iter().map(String::as_str).collect();
        let service = start(&tried);
        assert_eq!(seriatim(["monitor", "--health", &service.metrics]).status, 0);
        assert_eq!(service.stop().0, 0);
    }
}
