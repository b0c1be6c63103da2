//! The way between the host and the threads of the program: each runs on its own stack, one at a time, all of them on
//! one thread of the operating system.

#![allow(unsafe_code, reason = "stacks are switched, and symbols are looked up")]

use std::ffi::{CStr, CString, c_void};
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};

use crate::shim;

/// A call of a hook.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Called {
    /// The number of the hook.
    pub(crate) hook: u32,
    pub(crate) arguments: [u64; 6],
    /// Where the stack of the thread ends: there are the saved registers, and then the address to return to.
    pub(crate) stack: usize,
}

/// A library that was loaded.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Library(*mut c_void);

fn last_error() -> String {
    // SAFETY: the answer is null or a text that stays until the next call.
    unsafe {
        let text = libc::dlerror();
        if text.is_null() { "it cannot be loaded".to_owned() } else { CStr::from_ptr(text).to_string_lossy().into() }
    }
}

/// Loads a library so that its own names, and those of what it needs, go before those of this process.
pub(crate) const FLAGS: i32 = libc::RTLD_NOW | libc::RTLD_LOCAL | libc::RTLD_DEEPBIND;

impl Library {
    pub(crate) fn open(path: &Path) -> Result<Self, String> {
        let path = CString::new(path.as_os_str().as_bytes()).map_err(|error| error.to_string())?;
        // SAFETY: the path is a text. The library runs nothing by itself: it is the shim.
        let handle = unsafe { libc::dlopen(path.as_ptr(), FLAGS) };
        if handle.is_null() { Err(last_error()) } else { Ok(Self(handle)) }
    }

    /// The library with this handle, which the program has loaded.
    pub(crate) fn of(handle: u64) -> Result<Self, String> {
        if handle == 0 { Err(last_error()) } else { Ok(Self(handle as *mut c_void)) }
    }

    /// What this process itself has.
    pub(crate) fn process() -> Self {
        Self(libc::RTLD_DEFAULT)
    }

    /// The address of a name.
    pub(crate) fn symbol(self, name: &str) -> Option<usize> {
        let name = CString::new(name).ok()?;
        // SAFETY: the handle is that of a library that stays loaded.
        let address = unsafe { libc::dlsym(self.0, name.as_ptr()) };
        (!address.is_null()).then_some(address as usize)
    }
}

type Enter = unsafe extern "C" fn(usize, u64) -> u32;

/// The shim, loaded.
#[derive(Debug)]
pub(crate) struct Switch {
    enter: Enter,
    pass: Enter,
    invoke: usize,
    arguments: *const [u64; 6],
    stack: *const usize,
    told: *mut [usize; 4],
}

/// What a signal handler needs: signals have no other way to it. This process runs one program and nothing else.
static RUNNING: AtomicUsize = AtomicUsize::new(0);
static FAULT: AtomicUsize = AtomicUsize::new(0);
static SIGNAL: AtomicI32 = AtomicI32::new(0);
static ADDRESS: AtomicUsize = AtomicUsize::new(0);
static PLACE: AtomicUsize = AtomicUsize::new(0);
static TOP: AtomicUsize = AtomicUsize::new(0);
static CALLS: AtomicUsize = AtomicUsize::new(0);
static CALLS_BEFORE: AtomicUsize = AtomicUsize::new(0);
static IDLE: AtomicUsize = AtomicUsize::new(0);

/// After so many seconds without a hook, a thread is taken to hang.
const MOST_IDLE: usize = 10;

/// What ended a thread in the middle.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Fault {
    pub(crate) signal: i32,
    pub(crate) address: usize,
    /// The instruction, and where the stack ended.
    pub(crate) place: usize,
    pub(crate) stack: usize,
}

impl Switch {
    pub(crate) fn load(path: &Path) -> Result<Self, String> {
        let library = Library::open(path)?;
        let symbol = |name: &str| library.symbol(name).ok_or_else(|| format!("the shim has no {name}"));
        RUNNING.store(symbol(shim::RUNNING)?, Ordering::Relaxed);
        FAULT.store(symbol(shim::FAULT)?, Ordering::Relaxed);
        let [enter, pass] = [symbol(shim::SWITCH)?, symbol(shim::PASS)?];
        // SAFETY: the shim's functions have this type.
        let [enter, pass] = [enter, pass].map(|address| unsafe { std::mem::transmute::<usize, Enter>(address) });
        Ok(Self {
            enter,
            pass,
            invoke: symbol(shim::INVOKE)?,
            arguments: symbol(shim::ARGUMENTS)? as *const [u64; 6],
            stack: symbol(shim::STACK)? as *const usize,
            told: symbol(shim::TOLD)? as *mut [usize; 4],
        })
    }

    /// Tells which hooks are of no interest: the notes of calls, if told; and plain accesses of this memory.
    pub(crate) fn tell(&self, is_quiet: bool, memory: Range<usize>) {
        // An access has up to 16 bytes.
        let room = memory.len().saturating_sub(16);
        // SAFETY: the shim has these words for it.
        unsafe { self.told.write([is_quiet.into(), memory.start, room, usize::MAX]) };
    }

    /// The lowest end of the stack since then, as far as notes of calls show it.
    pub(crate) fn lowest(&self) -> usize {
        // SAFETY: the shim has this word for it.
        unsafe { (*self.told)[3] }
    }

    /// Lets a thread run up to its next hook: its stack, and what the hook that it is at returns.
    pub(crate) fn enter(&self, stack: usize, value: u64) -> Called {
        // SAFETY: the stack is one that a hook has left, or that `begin` has made.
        let hook = unsafe { (self.enter)(stack, value) };
        self.called(hook)
    }

    /// The same, but the thread goes on in a function that has the arguments of the hook.
    pub(crate) fn pass(&self, stack: usize, function: usize, arguments: [u64; 6]) -> Called {
        // SAFETY: the shim has this word for it.
        unsafe { self.arguments.cast_mut().write(arguments) };
        // SAFETY: the same, and the function is that of which the hook has the name.
        let hook = unsafe { (self.pass)(stack, function as u64) };
        self.called(hook)
    }

    fn called(&self, hook: u32) -> Called {
        // Nobody else counts: a signal only reads.
        CALLS.store(CALLS.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
        // SAFETY: the shim has written both.
        let (arguments, stack) = unsafe { (*self.arguments, *self.stack) };
        Called { hook, arguments, stack }
    }

    /// Prepares a stack below an address, so that the thread calls a function when it is entered.
    pub(crate) fn begin(&self, below: usize, function: usize, arguments: [u64; 3], base: u64) -> usize {
        let [one, two, three] = arguments;
        let top = (below - 256) & !15;
        let start = top - 8 * (shim::SAVED + 1);
        let words = [0, three, two, one, function as u64, base, self.invoke as u64];
        for (at, word) in words.into_iter().enumerate() {
            // SAFETY: this is memory of the stack of a thread, which nothing uses.
            unsafe { ((start + 8 * at) as *mut u64).write(word) };
        }
        start
    }

    /// What has ended a thread in the middle.
    pub(crate) fn fault() -> Fault {
        Fault {
            signal: SIGNAL.load(Ordering::Relaxed),
            address: ADDRESS.load(Ordering::Relaxed),
            place: PLACE.load(Ordering::Relaxed),
            stack: TOP.load(Ordering::Relaxed),
        }
    }
}

/// A signal that ends the thread that runs, if one does.
extern "C" fn on_signal(signal: i32, info: *mut libc::siginfo_t, context: *mut c_void) {
    let running = RUNNING.load(Ordering::Relaxed) as *const u64;
    // SAFETY: the word is in the shim, which stays loaded.
    let is_running = !running.is_null() && unsafe { running.read_volatile() } != 0;
    if signal == libc::SIGALRM {
        let calls = CALLS.load(Ordering::Relaxed);
        let is_idle = is_running && CALLS_BEFORE.swap(calls, Ordering::Relaxed) == calls;
        let idle = if is_idle { IDLE.fetch_add(1, Ordering::Relaxed) + 1 } else { 0 };
        IDLE.store(idle, Ordering::Relaxed);
        if idle < MOST_IDLE {
            return;
        }
    } else if !is_running {
        // SAFETY: the default action ends this process, as it should: the fault is the host's.
        unsafe {
            libc::signal(signal, libc::SIG_DFL);
            libc::raise(signal);
        }
        return;
    }
    // SAFETY: the kernel passes both. The thread goes on in the shim, which leaves its stack and returns to the host.
    unsafe {
        let registers = &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs;
        SIGNAL.store(signal, Ordering::Relaxed);
        ADDRESS.store((*info).si_addr() as usize, Ordering::Relaxed);
        PLACE.store(registers[libc::REG_RIP as usize] as usize, Ordering::Relaxed);
        TOP.store(registers[libc::REG_RSP as usize] as usize, Ordering::Relaxed);
        registers[libc::REG_RIP as usize] = FAULT.load(Ordering::Relaxed) as i64;
    }
}

/// Lets faults of the program come to the host, and starts the clock that looks for threads that hang.
pub(crate) fn catch_signals() {
    const SIZE: usize = 1 << 16;
    let stack = Box::leak(vec![0_u8; SIZE].into_boxed_slice());
    // SAFETY: the stack of the handler stays, and so does the handler.
    unsafe {
        let stack = libc::stack_t { ss_sp: stack.as_mut_ptr().cast(), ss_flags: 0, ss_size: SIZE };
        libc::sigaltstack(&raw const stack, std::ptr::null_mut());
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_signal as extern "C" fn(i32, *mut libc::siginfo_t, *mut c_void) as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER | libc::SA_RESTART;
        for signal in [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP, libc::SIGALRM] {
            libc::sigaction(signal, &raw const action, std::ptr::null_mut());
        }
        let second = libc::timeval { tv_sec: 1, tv_usec: 0 };
        let every = libc::itimerval { it_interval: second, it_value: second };
        libc::setitimer(libc::ITIMER_REAL, &raw const every, std::ptr::null_mut());
    }
}

/// Whether a hook was called by the program itself. This is for the time while it is loaded.
pub(crate) fn is_of_program(called: Called) -> bool {
    // SAFETY: the address to which the hook returns is on its stack, and the loader knows all that is loaded.
    unsafe {
        let place = ((called.stack + 8 * shim::SAVED) as *const usize).read();
        let mut info: libc::Dl_info = std::mem::zeroed();
        libc::dladdr(place as *const c_void, &raw mut info) != 0
            && !info.dli_fname.is_null()
            && CStr::from_ptr(info.dli_fname).to_bytes().ends_with(crate::compile::PROGRAM.as_bytes())
    }
}

/// Calls a function of libc or libstdc++ that calls no hook.
pub(crate) fn call(function: usize, argument: u64) -> u64 {
    // SAFETY: the function takes at most one word and returns one.
    unsafe {
        let function = std::mem::transmute::<usize, unsafe extern "C" fn(u64) -> u64>(function);
        function(argument)
    }
}
