//! The process in which a program runs. It writes its answer into a pipe. What the program does to it does nothing to
//! the process that has asked.

#![allow(unsafe_code, reason = "a process is forked")]

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::machine::Machine;
use crate::search::Search;
use crate::{Compiled, Defect, DefectKind, NotExplored, ProgramVerdict, Setup};

/// How long the child may take after its time is up.
const GRACE: Duration = Duration::from_secs(15);

fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut both = [0; 2];
    // SAFETY: there is room for both, and nobody else has them.
    unsafe {
        if libc::pipe2(both.as_mut_ptr(), libc::O_CLOEXEC) != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok((OwnedFd::from_raw_fd(both[0]), OwnedFd::from_raw_fd(both[1])))
    }
}

/// Explores a program in a child.
pub(crate) fn explore(
    program: &Compiled,
    options: &Setup,
    listener: &mut dyn FnMut(u64, Option<u64>),
) -> Result<ProgramVerdict, NotExplored> {
    let (from, to) = pipe().map_err(NotExplored::Child)?;
    let board = Board::new().map_err(NotExplored::Child)?;
    // SAFETY: the child goes on alone, in this function, and ends in it.
    let child = unsafe { libc::fork() };
    if child < 0 {
        return Err(NotExplored::Child(io::Error::last_os_error()));
    }
    if child == 0 {
        drop(from);
        be_child(program, options, &board, File::from(to));
    }
    drop(to);
    let mut tell = || {
        let estimate = board.estimate().load(Ordering::Relaxed);
        listener(board.visited().load(Ordering::Relaxed), (estimate > 0).then_some(estimate));
    };
    let text = listen(File::from(from), options.timeout + GRACE, &mut tell);
    let mut status = 0;
    // SAFETY: the child is ours, and is waited for once.
    unsafe {
        if text.is_err() {
            libc::kill(child, libc::SIGKILL);
        }
        while libc::waitpid(child, &raw mut status, 0) < 0
            && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
        {}
    }
    let Ok(text) = text else {
        return Ok(ProgramVerdict { reason: Some("the time is up".to_owned()), ..ProgramVerdict::default() });
    };
    match serde_json::from_slice::<Result<ProgramVerdict, String>>(&text) {
        Ok(answer) => answer.map_err(NotExplored::Program),
        Err(_) if libc::WIFSIGNALED(status) => {
            let message = format!("crash: the program has ended its process by signal {}", libc::WTERMSIG(status));
            let finding = Defect { kind: DefectKind::Crash, message, places: Vec::new() };
            Ok(ProgramVerdict { finding: Some(finding), ..ProgramVerdict::default() })
        }
        Err(_) => {
            let message = "crash: the program has ended its process".to_owned();
            let finding = Defect { kind: DefectKind::Crash, message, places: Vec::new() };
            Ok(ProgramVerdict { finding: Some(finding), ..ProgramVerdict::default() })
        }
    }
}

/// What the child tells while it explores: two numbers in memory that both have.
pub(crate) struct Board(*mut AtomicU64);

impl Board {
    fn new() -> io::Result<Self> {
        // SAFETY: this is new memory, which nobody else has.
        let memory = unsafe {
            let (rights, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_ANONYMOUS);
            libc::mmap(std::ptr::null_mut(), 2 * size_of::<AtomicU64>(), rights, kind, -1, 0)
        };
        if memory == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(Self(memory.cast())) }
    }

    /// How many executions were visited.
    pub(crate) fn visited(&self) -> &AtomicU64 {
        // SAFETY: the memory holds two numbers, and is there as long as this is.
        unsafe { &*self.0 }
    }

    /// About how many there are; 0 if that is not known.
    pub(crate) fn estimate(&self) -> &AtomicU64 {
        // SAFETY: as above.
        unsafe { &*self.0.add(1) }
    }
}

impl Drop for Board {
    fn drop(&mut self) {
        // SAFETY: it was made with this size, and nobody uses it any more.
        unsafe {
            libc::munmap(self.0.cast(), 2 * size_of::<AtomicU64>());
        }
    }
}

/// So often it is told how far the child is.
const TELL_EVERY: Duration = Duration::from_millis(250);

/// All that comes from the child. An error if that takes too long.
fn listen(mut pipe: File, most: Duration, tell: &mut dyn FnMut()) -> io::Result<Vec<u8>> {
    let end = Instant::now() + most;
    let mut all = Vec::new();
    let mut part = vec![0; 1 << 16];
    loop {
        let left = end.saturating_duration_since(Instant::now());
        let is_last = left <= TELL_EVERY;
        let left = left.min(TELL_EVERY);
        let mut poll = libc::pollfd { fd: pipe.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: there is one entry.
        let ready = unsafe { libc::poll(&raw mut poll, 1, left.as_millis().try_into().unwrap_or(i32::MAX)) };
        if ready < 0 {
            let error = io::Error::last_os_error();
            if error.kind() == io::ErrorKind::Interrupted {
                continue;
            }
            return Err(error);
        }
        if ready == 0 {
            if is_last {
                return Err(io::ErrorKind::TimedOut.into());
            }
            tell();
            continue;
        }
        match pipe.read(&mut part)? {
            0 => return Ok(all),
            count => all.extend_from_slice(&part[..count]),
        }
    }
}

/// What the child does. It does not return.
fn be_child(program: &Compiled, options: &Setup, board: &Board, mut to: File) -> ! {
    isolate();
    let work = || {
        let file = program.program();
        let machine = Machine::load(&program.shim(), &program.all(), &file, options)?;
        Ok(Search::new(machine, options, &file, board).run())
    };
    let answer: Result<ProgramVerdict, String> = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work))
        .unwrap_or_else(|_| Err("the exploration of the program has failed: this is a fault of seriatim".to_owned()));
    let text = serde_json::to_vec(&answer).unwrap_or_default();
    let is_told = to.write_all(&text).is_ok();
    // SAFETY: nothing of the parent's is to be done at the end of this process.
    unsafe { libc::_exit(i32::from(!is_told)) }
}

/// Takes from the child what the parent has to do with others: its input and output, its handlers of signals. The child
/// ends with its parent.
fn isolate() {
    // SAFETY: these calls concern this process alone.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGPIPE, libc::SIGHUP] {
            libc::signal(signal, libc::SIG_DFL);
        }
        let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        libc::setrlimit(libc::RLIMIT_CORE, &raw const none);
        let null = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR);
        for standard in 0..3 {
            libc::dup2(null, standard);
        }
    }
}
