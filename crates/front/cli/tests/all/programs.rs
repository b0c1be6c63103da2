//! `seriatim explore` of C and C++ programs: what it prints, its exit status, and how build systems are used with it.

#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

use std::path::Path;
use std::process::Command;

use crate::common::{Files, seriatim};

/// Whether there is such a command. If not, the test says that it is skipped.
fn has(name: &str) -> bool {
    let is_there = Command::new(name).arg("--version").output().is_ok_and(|output| output.status.success());
    if !is_there {
        println!("skipped: {name} is not installed");
    }
    is_there
}

/// The first example of `docs/programs-c.md`: the program, and what the command says of it.
fn example() -> (String, String) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/programs-c.md");
    let text = std::fs::read_to_string(path).unwrap();
    let example = text.split("```text\n").nth(1).unwrap().split("```").next().unwrap();
    let (program, answer) = example.split_once("$ seriatim explore flag.c\n").unwrap();
    (program.strip_prefix("$ cat flag.c\n").unwrap().to_owned(), answer.to_owned())
}

#[test]
fn the_example_of_the_document() {
    if !has("cc") {
        return;
    }
    let (program, answer) = example();
    let files = Files::new();
    let path = files.write("flag.c", &program);
    let ran = seriatim(["explore", &path]);
    assert_eq!((ran.out.replace(&path, "flag.c").trim_end(), ran.status), (answer.trim_end(), 1), "{ran:?}");
    // Its last line repeats it, and the mended program has no finding.
    let token = answer.trim_end().rsplit(' ').next().unwrap();
    assert_eq!(seriatim(["explore", &path, "--replay", token]).status, 1);
    let mended = files.write("mended.c", program.replace("relaxed", "release"));
    let ran = seriatim(["explore", &mended]);
    assert_eq!(ran.status, 0, "{ran:?}");
}

#[test]
fn json_holds_nothing_of_the_program() {
    if !has("cc") {
        return;
    }
    let files = Files::new();
    let loud = "#include <stdio.h>\nint main(int count, char **words) {\n  printf(\"loud\\n\");\n  fflush(stdout);\n  \
                fprintf(stderr, \"loud\\n\");\n  return words[count - 1][0] == 'x';\n}\n";
    let ran = seriatim(["explore", "--json", "--model", "c20,sc", "--args", "a x", &files.write("loud.c", loud)]);
    assert_eq!((ran.status, ran.out.lines().count()), (0, 2), "{ran:?}");
    assert!(!ran.out.contains("loud\\n") && !ran.err.contains("loud\n"), "{ran:?}");
    assert!(ran.out.lines().all(|line| line.contains("\"verdict\":\"ok\"") && line.contains("\"executions\":1,")));
}

#[test]
fn what_cannot_be_compiled_or_loaded_is_bad_input() {
    if !has("cc") {
        return;
    }
    let files = Files::new();
    let ran = seriatim(["explore", &files.write("bad.c", "int main(void) { return }\n")]);
    assert!(ran.status == 2 && ran.err.contains("cannot compile") && ran.err.contains("exited with 1"), "{ran:?}");
    let ran = seriatim(["explore", &files.write("none.c", "int nothing;\n")]);
    assert!(ran.status == 2 && ran.err.contains("no function main"), "{ran:?}");
    let ran = seriatim(["explore", &files.write("flags.c", "#ifndef GIVEN\n#error\n#endif\nint main(void) {}\n")]);
    assert_eq!(ran.status, 2);
    let ran = seriatim(["explore", &files.path("flags.c"), "--", "-DGIVEN"]);
    assert_eq!(ran.status, 0, "{ran:?}");
}

#[test]
fn a_program_cannot_disturb_the_terminal() {
    if !has("cc") {
        return;
    }
    let files = Files::new();
    let code = "void __assert_fail(const char *, const char *, unsigned, const char *);\n\
                int main(void) { __assert_fail(\"\\033[31mred\", \"file\", 1, \"main\"); }\n";
    let ran = seriatim(["explore", &files.write("name\u{1b}[31m.c", code)]);
    assert!(ran.status == 1 && ran.out.contains("red") && !ran.out.contains('\u{1b}'), "{ran:?}");
}

#[test]
fn chances_have_flags_and_are_told() {
    if !has("cc") {
        return;
    }
    let files = Files::new();
    let code = "#include <assert.h>\n#include <pthread.h>\nint main(void) {\n  pthread_mutex_t m = \
                PTHREAD_MUTEX_INITIALIZER;\n  pthread_cond_t c = PTHREAD_COND_INITIALIZER;\n  \
                struct timespec t = {0};\n  pthread_mutex_lock(&m);\n  int how = pthread_cond_timedwait(&c, &m, &t);\n\
                return how;\n}\n";
    let path = files.write("waits.c", code);
    let ran = seriatim(["explore", &path]);
    assert_eq!((ran.status, ran.out.contains("no finding in all 2 executions\n")), (0, true), "{ran:?}");
    let never = seriatim(["explore", "--timeouts", "0", "--spurious", "0", &path]);
    assert!(never.status == 1 && never.out.contains("deadlock"), "{never:?}");
    let again = seriatim(["explore", "--timeouts", "0", "--json", &path]);
    assert!(again.out.contains("\"spurious_wakes\":null") && again.out.contains("\"timeouts\":0"), "{again:?}");
}

#[test]
fn what_was_linked_otherwise_is_told() {
    if !has("cc") {
        return;
    }
    let ran = seriatim(["explore", "/bin/true"]);
    assert!(ran.status == 2 && ran.err.contains("was not linked with the flags"), "{ran:?}");
}

/// Two files, of which one needs the other.
fn project(files: &Files) {
    let (program, _) = example();
    let (other, main) = program.split_once("int main").unwrap();
    files.write("main.c", format!("#include <pthread.h>\nvoid *send(void *);\nvoid *receive(void *);\nint main{main}"));
    files.write("work.c", other);
}

#[test]
fn make_builds_what_is_explored() {
    if !has("cc") || !has("make") {
        return;
    }
    let files = Files::new();
    project(&files);
    files.write("Makefile", "program: main.o work.o\n\t$(CC) $(LDFLAGS) $^ -o $@\n");
    let [compile, link] = ["--cflags", "--libs"].map(|flag| seriatim(["explore", flag]).out.trim().to_owned());
    let folder = files.path("");
    let made = Command::new("make")
        .args(["-C", &folder, &format!("CFLAGS={compile}"), &format!("LDFLAGS={link}")])
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
    let ran = seriatim(["explore", &files.path("program")]);
    assert!(ran.status == 1 && ran.out.contains("data race") && ran.out.contains("work.c:"), "{ran:?}");
}

#[test]
fn cmake_builds_what_is_explored() {
    if !has("cc") || !has("cmake") || !has("make") {
        return;
    }
    let files = Files::new();
    project(&files);
    files.write(
        "CMakeLists.txt",
        "cmake_minimum_required(VERSION 3.10)\nproject(flag C)\nadd_executable(program main.c work.c)\n",
    );
    let [compile, link] = ["--cflags", "--libs"].map(|flag| seriatim(["explore", flag]).out.trim().to_owned());
    let folder = files.path("");
    let build = files.path("build");
    let made = Command::new("cmake")
        .args(["-S", &folder, "-B", &build, "-G", "Unix Makefiles"])
        .args([format!("-DCMAKE_C_FLAGS={compile}"), format!("-DCMAKE_EXE_LINKER_FLAGS={link}")])
        .arg("-DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY")
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
    let made = Command::new("cmake").args(["--build", &build]).output().unwrap();
    assert!(made.status.success(), "{made:?}");
    let ran = seriatim(["explore", &files.path("build/program")]);
    assert!(ran.status == 1 && ran.out.contains("data race") && ran.out.contains("work.c:"), "{ran:?}");
}
