//! How a program is compiled: with the instrumentation of the thread sanitizer, and without the sanitizer.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::{NotExplored, shim};

/// What every file is compiled with, before the flags of the user.
pub const COMPILE_FLAGS: [&str; 11] = [
    "-fsanitize=thread",
    "-gdwarf-4",
    "-O0",
    "-fPIC",
    "-fno-semantic-interposition",
    "-fno-omit-frame-pointer",
    "-fcf-protection=none",
    "-fno-builtin-memcpy",
    "-fno-builtin-memmove",
    "-fno-builtin-memset",
    "-fno-builtin-memcmp",
];

/// What a program is linked with. The last one is for build systems that link with the flags of the compiler, too.
pub const LINK_FLAGS: [&str; 4] = ["-shared", "-Wl,-Bsymbolic", "-Wl,-z,now", "-fno-sanitize=thread"];

/// The file of the program.
pub(crate) const PROGRAM: &str = "/seriatim-program.so";

/// What the program may include besides.
const HEADER: &str = include_str!("../include/genmc.h");

/// A program that can be explored. Its files are removed when this is dropped.
#[derive(Debug)]
pub struct Compiled {
    folder: TempDir,
}

/// Whether a file is a part of a C or C++ program, or a program that was compiled before.
pub fn is_program(path: &Path) -> bool {
    is_source(path) || is_object(path)
}

fn is_source(path: &Path) -> bool {
    let extension = path.extension().and_then(OsStr::to_str);
    extension.is_some_and(|it| matches!(it, "c" | "cc" | "cpp" | "cxx" | "C"))
}

fn is_object(path: &Path) -> bool {
    use std::io::Read as _;
    let mut start = [0; 4];
    fs::File::open(path).and_then(|mut file| file.read_exact(&mut start)).is_ok() && start == *b"\x7fELF"
}

fn command(variable: &str, default: &str) -> OsString {
    std::env::var_os(variable).filter(|value| !value.is_empty()).unwrap_or_else(|| default.into())
}

/// Runs a compiler. Its messages go to the user.
fn run(compiler: &OsStr, file: &Path, arguments: impl Fn(&mut Command)) -> Result<(), NotExplored> {
    // As for make, the variable may hold flags, too.
    let text = compiler.to_string_lossy();
    let mut words = text.split_whitespace();
    let mut command = Command::new(words.next().unwrap_or_default());
    command.args(words);
    arguments(&mut command);
    let problem =
        |how: String| NotExplored::Compiler { file: file.to_owned(), compiler: text.clone().into_owned(), how };
    let status =
        command.stdin(Stdio::null()).stdout(Stdio::null()).status().map_err(|error| problem(error.to_string()))?;
    if status.success() {
        return Ok(());
    }
    Err(problem(status.code().map_or_else(|| "was ended by a signal".to_owned(), |code| format!("exited with {code}"))))
}

impl Compiled {
    /// Compiles and links a program, or takes one that was. The compilers are `$CC` and `$CXX`, or else `cc` and `c++`.
    pub fn new(files: &[PathBuf], flags: &[OsString]) -> Result<Self, NotExplored> {
        Self::by([&command("CC", "cc"), &command("CXX", "c++")], files, flags)
    }

    /// The same by these compilers, for C and for C++.
    pub fn by([cc, cxx]: [&OsStr; 2], files: &[PathBuf], flags: &[OsString]) -> Result<Self, NotExplored> {
        if !cfg!(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu")) {
            return Err(NotExplored::Platform);
        }
        let folder = tempfile::Builder::new().prefix("seriatim-").tempdir().map_err(NotExplored::Folder)?;
        let compiled = Self { folder };
        let path = |name: &str| compiled.folder.path().join(name);
        fs::write(path("genmc.h"), HEADER).map_err(NotExplored::Folder)?;
        fs::write(path("shim.s"), shim::assembly()).map_err(NotExplored::Folder)?;
        let program = compiled.program();
        match files {
            [file] if is_object(file) => {
                fs::copy(file, &program).map_err(NotExplored::Folder)?;
            }
            _ => {
                let is_c = |file: &PathBuf| file.extension().is_some_and(|extension| extension == "c");
                let mut objects = Vec::new();
                for (number, file) in files.iter().enumerate() {
                    if !is_source(file) {
                        return Err(NotExplored::Mixed { file: file.clone() });
                    }
                    let object = path(&format!("{number}.o"));
                    run(if is_c(file) { cc } else { cxx }, file, |command| {
                        command.args(COMPILE_FLAGS).arg("-I").arg(compiled.folder.path()).args(flags);
                        command.arg("-c").arg(file).arg("-o").arg(&object);
                    })?;
                    objects.push(object);
                }
                let linker = if files.iter().all(is_c) { cc } else { cxx };
                run(linker, &files[0], |command| {
                    // Of the user's flags, the linker wants libraries.
                    let libraries = flags.iter().filter(|flag| {
                        let flag = flag.to_string_lossy();
                        flag.starts_with("-l") || flag.starts_with("-L") || flag.starts_with("-Wl,")
                    });
                    command.args(LINK_FLAGS).args(&objects).args(libraries).arg("-o").arg(&program);
                })?;
            }
        }
        let library = compiled.shim();
        run(cc, Path::new("shim.s"), |command| {
            command.args(["-shared", "-nostdlib", "-Wl,-Bsymbolic"]).arg(path("shim.s")).arg("-o").arg(&library);
        })?;
        let is_given = matches!(files, [file] if is_object(file));
        let linked = run(cc, &files[0], |command| {
            command.args(["-shared", "-Wl,--no-as-needed"]).arg("-o").arg(compiled.all()).arg(&library).arg(&program);
            if is_given {
                // What the linker says of it is no help.
                command.stderr(Stdio::null());
            }
        });
        match linked {
            Err(_) if is_given => Err(NotExplored::Foreign { file: files[0].clone() }),
            linked => linked.map(|()| compiled),
        }
    }

    pub(crate) fn program(&self) -> PathBuf {
        self.folder.path().join(&PROGRAM[1..])
    }

    pub(crate) fn shim(&self) -> PathBuf {
        self.folder.path().join("seriatim-shim.so")
    }

    /// The library that needs the shim first, and then the program.
    pub(crate) fn all(&self) -> PathBuf {
        self.folder.path().join("seriatim-all.so")
    }
}
