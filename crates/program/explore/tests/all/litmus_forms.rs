//! Forms of litmus files that herd reads, and one clear line for those that are not explored.

use explore::Model;
use explore::litmus::{Limits, Test};

fn is_reachable(text: &str) -> bool {
    let test = Test::parse(text.as_bytes()).unwrap_or_else(|error| panic!("{error:?}\n{text}"));
    test.explore(Model::Tso, Limits::default()).unwrap().is_reachable()
}

#[test]
fn herds_other_forms_are_read() {
    let store_buffering = |initial: &str, condition: &str| {
        format!(
            "X86 SB\n{initial}\n P0          | P1          ;\n MOV [x],$1  | MOV [y],$1  ;\n \
             MOV EAX,[y] | MOV EAX,[x] ;\n{condition}\n"
        )
    };
    for initial in ["{ x=0; y=0; }", "{ x=0; y=0; };", "{ P0:EAX=5; }"] {
        for condition in [
            r"exists (0:EAX=0 /\ 1:EAX=0)",
            r"exists (P0:EAX=0 /\ P1:EAX=0)",
            r"final (0:EAX=0 /\ 1:EAX=0)",
            r"(0:EAX=0 /\ P1:EAX=0)",
            r"exists (0:EAX=0 /\ 1:EAX=0);",
        ] {
            assert!(is_reachable(&store_buffering(initial, condition)), "{initial} {condition}");
        }
    }
    assert!(!is_reachable(&store_buffering("{}", "final (P0:EAX=2)")));
}

fn counts(text: &str, model: Model) -> (u64, u64, bool) {
    let test = Test::parse(text.as_bytes()).unwrap_or_else(|error| panic!("{error:?}\n{text}"));
    let report = test.explore(model, Limits { steps: 20, ..Limits::default() }).unwrap();
    (report.positive(), report.negative(), report.is_complete)
}

/// X86_64 has AT&T's syntax: the source comes first, and the parts of a register are one register.
#[test]
fn x86_of_64_bits() {
    let store_buffering = |middle: &str| {
        format!(
            "X86_64 SB\n\"Fre PodWR\"\n{{\nuint64_t y; uint64_t x; uint64_t 1:rax; uint64_t 0:rax;\n}}\n \
             P0 | P1 ;\n movq $1,(x) | movq $1,(y) ;\n {middle} | {middle} ;\n movq (y),%rax | movq (x),%rax ;\n\
             exists (0:rax=0 /\\ 1:eax=0)\n"
        )
    };
    for (middle, positive) in [("", 1), ("mfence", 0), ("lock incl (z)", 0), ("xchgl %ebx,(z)", 0), ("nop", 1)] {
        assert_eq!(counts(&store_buffering(middle), Model::Tso).0, positive, "{middle}");
        assert_eq!(counts(&store_buffering(middle), Model::Sc).0, 0, "{middle}");
    }
    for (code, condition) in [
        ("movl $3,%eax ; | movl %eax,%ecx ; | subl $1,%ecx ; | movl %ecx,(x) ;", r"0:rax=3 /\ 0:rcx=2 /\ x=2"),
        ("movl $7,(x) ; | movl $5,%ebx ; | lock xaddl %ebx,(x) ; | movb $9,%r8b ;", r"x=12 /\ 0:rbx=7 /\ 0:r8=9"),
        ("movb $255,(x) ; | lock incb (x) ; | movl $-1,(y) ; | lock addl $2,(y) ;", r"x=0 /\ y=1"),
        ("movl $4,(x) ; | movl $4,%eax ; | movl $6,%edx ; | lock cmpxchgl %edx,(x) ;", r"x=6 /\ 0:eax=4"),
    ] {
        let code = code.replace("; |", ";");
        let text = format!("X86_64 t\n{{ }}\nP0 ;\n{code}\nforall ({condition})\n");
        assert_eq!(counts(&text, Model::Tso), (1, 0, true), "{text}");
    }
    assert_eq!(refusal("X86_64 t\n{}\nP0 ;\nmovl $1,(x) ;\nmovq (x),%rax ;\n").split(": ").next(), Some("5:7"));
    assert_eq!(refusal("X86_64 t\n{}\nP0 ;\nmovl $1,[x] ;\n").split(": ").next(), Some("4:9"));
}

/// Labels and jumps, in both syntaxes: a loop that counts, a lock that is tried again, and a jump over a store.
#[test]
fn labels_and_jumps() {
    let text =
        "X86 t\n{ }\nP0 ;\nMOV EAX,$3 ;\nL0: ;\nADD EBX,EAX ;\nDEC EAX ;\nJNZ L0 ;\nforall (0:EBX=6 /\\ 0:EAX=0)\n";
    assert_eq!(counts(text, Model::Sc), (1, 0, true));
    let text = "X86 t\n{ x=1; }\nP0 | P1 ;\nMOV EAX,[x] | MOV [x],$2 ;\nCMP EAX,$2 | ;\nJE End | ;\n\
                MOV [y],$1 | ;\nEnd: MOV ECX,$1 | ;\nexists (0:EAX=2 /\\ y=0 /\\ 0:ECX=1)\n";
    assert_eq!(counts(text, Model::Tso), (1, 1, true));
    let lock = "X86_64 t\n{ }\nP0 | P1 ;\nAgain: | Again: ;\nmovl $0,%eax | movl $0,%eax ;\n\
        movl $1,%ebx | movl $1,%ebx ;\n\
                lock cmpxchgl %ebx,(x) | lock cmpxchgl %ebx,(x) ;\njne Again | jne Again ;\n\
                movl (y),%ecx | movl (y),%ecx ;\naddl $1,%ecx | addl $1,%ecx ;\nmovl %ecx,(y) | movl %ecx,(y) ;\n\
                movl $0,(x) | movl $0,(x) ;\nforall (y=2)\n";
    // A round that fails and changes nothing is not gone twice, so all is seen.
    let (positive, negative, is_complete) = counts(lock, Model::Tso);
    assert!(positive > 0 && negative == 0 && is_complete, "{positive} {negative}");
    // Without the lock an addition is lost.
    let (_, negative, _) = counts(&lock.replace("jne Again | jne Again ;\n", ""), Model::Tso);
    assert!(negative > 0);
    assert_eq!(refusal("X86 t\n{}\nP0 ;\nJMP L1 ;\n"), "4:5: there is no such label in this thread");
    assert_eq!(refusal("X86 t\n{}\nP0 ;\nL: ;\nL: ;\n"), "5:1: this label stands in this thread twice");
    // Back to itself: it goes on for ever.
    let test = Test::parse(b"X86 t\n{}\nP0 ;\nL: MOV [x],$1 ;\nJMP L ;\n").unwrap();
    let report = test.explore(Model::Tso, Limits::default()).unwrap();
    assert!(report.endless.unwrap().is_certain);
}

fn refusal(text: &str) -> String {
    let error = Test::parse(text.as_bytes()).unwrap_err();
    format!("{}:{}: {}", error.line, error.column, error.message)
}

#[test]
fn what_is_not_explored_has_one_clear_line() {
    for architecture in ["AArch64", "PPC", "RISCV", "MIPS", "ARM"] {
        let expected = format!("1:1: a litmus test for {architecture} cannot be explored yet");
        assert_eq!(refusal(&format!("{architecture} MP\n{{}}\nP0 ;\nexists (x=1)\n")), expected);
    }
    for line in ["WRITE_ONCE(*x, 1);", "smp_mb();", "rcu_read_lock();", "spin_lock(x);"] {
        let text = format!("C MP\n{{}}\nP0(int *x)\n{{\n  {line}\n}}\nexists (x=1)\n");
        assert_eq!(refusal(&text), "5:3: a test of the Linux kernel's memory model cannot be explored yet", "{line}");
    }
    assert_eq!(refusal("Hello world\n"), "1:1: this is no litmus test");
}

/// Every test of the shared data is refused with one of the two lines, but for two that are plain C.
#[test]
fn shared_data_is_refused_clearly() {
    let Ok(folder) = std::env::var("SERIATIM_SHARED_DATA") else {
        println!("skipped: SERIATIM_SHARED_DATA is not set");
        return;
    };
    let mut folders = vec![format!("{folder}/hardware").into(), std::path::PathBuf::from(format!("{folder}/lkmm"))];
    let (mut count, mut plain) = (0, 0);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "litmus") {
                match Test::parse(&std::fs::read(&path).unwrap()) {
                    Ok(_) => plain += 1,
                    Err(error) => {
                        let message = error.message;
                        assert!(message.ends_with("cannot be explored yet"), "{}: {message}", path.display());
                        count += 1;
                    }
                }
            }
        }
    }
    assert!(count > 400 && plain <= 2, "{count}, {plain}");
}
