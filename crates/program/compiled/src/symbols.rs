//! The functions of which a program's calls come to us: those of the thread sanitizer, which the compiler has put in,
//! and those of libc that have to do with threads, memory, time and the end of the program.
//!
//! A hook has the number of its place in the table. The shim has a symbol for each ([`shim`](crate::shim)).

use explore::Order;

/// What a fetch-and-modify does.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fetch {
    Add,
    Sub,
    And,
    Or,
    Xor,
    Nand,
}

/// A function that is called. Sizes are in bytes.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Hook {
    /// The stack of calls changes.
    Call,
    /// Nothing happens, and the answer is 0.
    Nothing,
    Plain {
        size: u8,
        reads: bool,
        writes: bool,
    },
    Range {
        writes: bool,
    },
    VptrUpdate,
    Load(u8),
    Store(u8),
    Exchange(u8),
    Fetch(u8, Fetch),
    /// gcc: the address of the expected value is given, and the answer is whether it was there.
    CompareExchange {
        size: u8,
        is_weak: bool,
    },
    /// clang: the expected value is given, and the answer is the old one. Nothing tells whether it is a weak one.
    CompareValue(u8),
    Fence,
    /// It is not supported.
    Refuse,
    Guard(Guard),
    Memory(Memory),
    Copy {
        compares: bool,
    },
    Fill,
    /// The function reads a text, and then runs as it is.
    Text {
        count: u8,
    },
    CopyText,
    Thread(ThreadCall),
    Mutex(Mutex),
    Cond(Cond),
    RwLock(RwLock),
    Semaphore(Semaphore),
    Barrier(Barrier),
    Key(Key),
    Once,
    AssertFail,
    /// An assertion failed: what the verification competition calls it.
    Error,
    /// The same, if the argument is 0.
    Assert,
    Abort,
    Exit,
    Assume,
    Choose,
    ChooseBool,
    AtThreadExit,
    /// A time that is always the same.
    Time(Time),
    Random {
        has_state: bool,
    },
    Getenv,
    // What the shim itself calls.
    Returned,
    Crashed,
}

/// A call that waits for no longer than some time.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Timed {
    /// Which of its arguments is the time.
    pub(crate) argument: u8,
    /// What it returns if the time is up.
    pub(crate) answer: u8,
}

/// With the error number of POSIX.
const fn posix(argument: u8) -> Timed {
    Timed { argument, answer: 110 }
}

/// With C11's `thrd_timedout`.
const fn c11(argument: u8) -> Timed {
    Timed { argument, answer: 4 }
}

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Guard {
    Acquire,
    Release,
    Abort,
}

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Memory {
    Malloc,
    Calloc,
    Realloc,
    ReallocArray,
    Free,
    Aligned,
    AlignedNew,
    PosixAligned,
    Valloc,
    UsableSize,
    Strdup,
}

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum ThreadCall {
    Create,
    C11Create,
    Join,
    C11Join,
    Exit,
    Current,
    Equal,
}

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Mutex {
    Init,
    C11Init,
    SpinInit,
    Destroy,
    Lock(Option<Timed>),
    TryLock,
    C11TryLock,
    Unlock,
}

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Cond {
    Init,
    Wait(Option<Timed>),
    Signal,
    Broadcast,
}

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum RwLock {
    Init,
    Destroy,
    Read(Option<Timed>),
    Write(Option<Timed>),
    TryRead,
    TryWrite,
    Unlock,
}

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Semaphore {
    Init,
    Wait(Option<Timed>),
    TryWait,
    Post,
    Value,
}

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Barrier {
    Init,
    Wait,
    Destroy,
}

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    Create,
    Delete,
    Get,
    Set,
}

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Time {
    Seconds,
    Clock,
    OfDay,
}

impl Hook {
    /// How many of its arguments mean something.
    pub(crate) fn arity(self) -> usize {
        match self {
            Self::Call | Self::Nothing | Self::Crashed => 0,
            Self::Plain { .. } | Self::Fence | Self::Returned | Self::Mutex(_) | Self::Thread(ThreadCall::Current) => 1,
            Self::Load(_) | Self::Range { .. } | Self::VptrUpdate => 2,
            Self::CompareExchange { .. } | Self::CompareValue(_) => 5,
            _ => 3,
        }
    }
}

/// The order of an atomic operation, as the compiler passes it.
pub(crate) fn order(number: u64) -> Order {
    match number & 0x7fff {
        0 => Order::Relaxed,
        1 | 2 => Order::Acquire,
        3 => Order::Release,
        4 => Order::AcquireRelease,
        _ => Order::SequentiallyConsistent,
    }
}

/// The names of all functions, and what they do.
pub(crate) fn hooks() -> Vec<(String, Hook)> {
    let mut hooks = of_sanitizer();
    hooks.extend(OF_LIBC.iter().map(|&(name, hook)| (name.to_owned(), hook)));
    hooks.extend(REFUSED.iter().map(|&name| (name.to_owned(), Hook::Refuse)));
    hooks
}

fn of_sanitizer() -> Vec<(String, Hook)> {
    let mut hooks: Vec<(String, Hook)> = Vec::new();
    let mut add = |name: String, hook: Hook| hooks.push((format!("__tsan_{name}"), hook));
    for name in ["func_entry", "func_exit"] {
        add(name.to_owned(), Hook::Call);
    }
    for name in ["init", "atomic_signal_fence", "ignore_thread_begin", "ignore_thread_end"] {
        add(name.to_owned(), Hook::Nothing);
    }
    for size in [1_u8, 2, 4, 8, 16] {
        for kind in ["", "unaligned_", "volatile_", "unaligned_volatile_"] {
            if size == 1 && kind.starts_with("unaligned") {
                continue;
            }
            for (word, reads, writes) in [("read", true, false), ("write", false, true), ("read_write", true, true)] {
                add(format!("{kind}{word}{size}"), Hook::Plain { size, reads, writes });
            }
        }
    }
    add("read_range".to_owned(), Hook::Range { writes: false });
    add("write_range".to_owned(), Hook::Range { writes: true });
    add("vptr_update".to_owned(), Hook::VptrUpdate);
    add("vptr_read".to_owned(), Hook::Plain { size: 8, reads: true, writes: false });
    add("memcpy".to_owned(), Hook::Copy { compares: false });
    add("memmove".to_owned(), Hook::Copy { compares: false });
    add("memset".to_owned(), Hook::Fill);
    add("atomic_thread_fence".to_owned(), Hook::Fence);
    let fetches = [
        ("add", Fetch::Add),
        ("sub", Fetch::Sub),
        ("and", Fetch::And),
        ("or", Fetch::Or),
        ("xor", Fetch::Xor),
        ("nand", Fetch::Nand),
    ];
    for size in [1_u8, 2, 4, 8, 16] {
        let mut add = |name: &str, hook: Hook| {
            let hook = if size == 16 { Hook::Refuse } else { hook };
            add(format!("atomic{}_{name}", u32::from(size) * 8), hook);
        };
        add("load", Hook::Load(size));
        add("store", Hook::Store(size));
        add("exchange", Hook::Exchange(size));
        for (word, fetch) in fetches {
            add(&format!("fetch_{word}"), Hook::Fetch(size, fetch));
        }
        add("compare_exchange_strong", Hook::CompareExchange { size, is_weak: false });
        add("compare_exchange_weak", Hook::CompareExchange { size, is_weak: true });
        add("compare_exchange_val", Hook::CompareValue(size));
    }
    hooks
}

const OF_LIBC: &[(&str, Hook)] = &[
    ("__cxa_guard_acquire", Hook::Guard(Guard::Acquire)),
    ("__cxa_guard_release", Hook::Guard(Guard::Release)),
    ("__cxa_guard_abort", Hook::Guard(Guard::Abort)),
    ("__cxa_thread_atexit", Hook::AtThreadExit),
    ("__cxa_thread_atexit_impl", Hook::AtThreadExit),
    ("__cxa_atexit", Hook::Nothing),
    ("atexit", Hook::Nothing),
    ("memcpy", Hook::Copy { compares: false }),
    ("memmove", Hook::Copy { compares: false }),
    ("memcmp", Hook::Copy { compares: true }),
    ("memset", Hook::Fill),
    ("strlen", Hook::Text { count: 1 }),
    ("strcmp", Hook::Text { count: 2 }),
    ("strcpy", Hook::CopyText),
    ("malloc", Hook::Memory(Memory::Malloc)),
    ("calloc", Hook::Memory(Memory::Calloc)),
    ("realloc", Hook::Memory(Memory::Realloc)),
    ("reallocarray", Hook::Memory(Memory::ReallocArray)),
    ("free", Hook::Memory(Memory::Free)),
    ("aligned_alloc", Hook::Memory(Memory::Aligned)),
    ("memalign", Hook::Memory(Memory::Aligned)),
    ("posix_memalign", Hook::Memory(Memory::PosixAligned)),
    ("valloc", Hook::Memory(Memory::Valloc)),
    ("malloc_usable_size", Hook::Memory(Memory::UsableSize)),
    ("strdup", Hook::Memory(Memory::Strdup)),
    ("_Znwm", Hook::Memory(Memory::Malloc)),
    ("_Znam", Hook::Memory(Memory::Malloc)),
    ("_ZnwmRKSt9nothrow_t", Hook::Memory(Memory::Malloc)),
    ("_ZnamRKSt9nothrow_t", Hook::Memory(Memory::Malloc)),
    ("_ZnwmSt11align_val_t", Hook::Memory(Memory::AlignedNew)),
    ("_ZnamSt11align_val_t", Hook::Memory(Memory::AlignedNew)),
    ("_ZdlPv", Hook::Memory(Memory::Free)),
    ("_ZdaPv", Hook::Memory(Memory::Free)),
    ("_ZdlPvm", Hook::Memory(Memory::Free)),
    ("_ZdaPvm", Hook::Memory(Memory::Free)),
    ("_ZdlPvSt11align_val_t", Hook::Memory(Memory::Free)),
    ("_ZdaPvSt11align_val_t", Hook::Memory(Memory::Free)),
    ("_ZdlPvmSt11align_val_t", Hook::Memory(Memory::Free)),
    ("_ZdaPvmSt11align_val_t", Hook::Memory(Memory::Free)),
    ("pthread_create", Hook::Thread(ThreadCall::Create)),
    ("thrd_create", Hook::Thread(ThreadCall::C11Create)),
    ("pthread_join", Hook::Thread(ThreadCall::Join)),
    ("thrd_join", Hook::Thread(ThreadCall::C11Join)),
    ("pthread_exit", Hook::Thread(ThreadCall::Exit)),
    ("thrd_exit", Hook::Thread(ThreadCall::Exit)),
    ("pthread_self", Hook::Thread(ThreadCall::Current)),
    ("thrd_current", Hook::Thread(ThreadCall::Current)),
    ("pthread_equal", Hook::Thread(ThreadCall::Equal)),
    ("thrd_equal", Hook::Thread(ThreadCall::Equal)),
    ("pthread_detach", Hook::Nothing),
    ("thrd_detach", Hook::Nothing),
    ("pthread_setname_np", Hook::Nothing),
    ("sched_yield", Hook::Nothing),
    ("thrd_yield", Hook::Nothing),
    ("sleep", Hook::Nothing),
    ("usleep", Hook::Nothing),
    ("nanosleep", Hook::Nothing),
    ("clock_nanosleep", Hook::Nothing),
    ("thrd_sleep", Hook::Nothing),
    ("pthread_mutex_init", Hook::Mutex(Mutex::Init)),
    ("mtx_init", Hook::Mutex(Mutex::C11Init)),
    ("pthread_mutex_destroy", Hook::Mutex(Mutex::Destroy)),
    ("mtx_destroy", Hook::Mutex(Mutex::Destroy)),
    ("pthread_mutex_lock", Hook::Mutex(Mutex::Lock(None))),
    ("pthread_mutex_timedlock", Hook::Mutex(Mutex::Lock(Some(posix(1))))),
    ("pthread_mutex_clocklock", Hook::Mutex(Mutex::Lock(Some(posix(2))))),
    ("mtx_lock", Hook::Mutex(Mutex::Lock(None))),
    ("mtx_timedlock", Hook::Mutex(Mutex::Lock(Some(c11(1))))),
    ("pthread_mutex_trylock", Hook::Mutex(Mutex::TryLock)),
    ("mtx_trylock", Hook::Mutex(Mutex::C11TryLock)),
    ("pthread_mutex_unlock", Hook::Mutex(Mutex::Unlock)),
    ("mtx_unlock", Hook::Mutex(Mutex::Unlock)),
    ("pthread_spin_init", Hook::Mutex(Mutex::SpinInit)),
    ("pthread_spin_destroy", Hook::Mutex(Mutex::Destroy)),
    ("pthread_spin_lock", Hook::Mutex(Mutex::Lock(None))),
    ("pthread_spin_trylock", Hook::Mutex(Mutex::TryLock)),
    ("pthread_spin_unlock", Hook::Mutex(Mutex::Unlock)),
    ("pthread_cond_init", Hook::Cond(Cond::Init)),
    ("cnd_init", Hook::Cond(Cond::Init)),
    ("pthread_cond_destroy", Hook::Nothing),
    ("cnd_destroy", Hook::Nothing),
    ("pthread_cond_wait", Hook::Cond(Cond::Wait(None))),
    ("pthread_cond_timedwait", Hook::Cond(Cond::Wait(Some(posix(2))))),
    ("pthread_cond_clockwait", Hook::Cond(Cond::Wait(Some(posix(3))))),
    ("cnd_wait", Hook::Cond(Cond::Wait(None))),
    ("cnd_timedwait", Hook::Cond(Cond::Wait(Some(c11(2))))),
    ("pthread_cond_signal", Hook::Cond(Cond::Signal)),
    ("cnd_signal", Hook::Cond(Cond::Signal)),
    ("pthread_cond_broadcast", Hook::Cond(Cond::Broadcast)),
    ("cnd_broadcast", Hook::Cond(Cond::Broadcast)),
    ("pthread_rwlock_init", Hook::RwLock(RwLock::Init)),
    ("pthread_rwlock_destroy", Hook::RwLock(RwLock::Destroy)),
    ("pthread_rwlock_rdlock", Hook::RwLock(RwLock::Read(None))),
    ("pthread_rwlock_timedrdlock", Hook::RwLock(RwLock::Read(Some(posix(1))))),
    ("pthread_rwlock_clockrdlock", Hook::RwLock(RwLock::Read(Some(posix(2))))),
    ("pthread_rwlock_wrlock", Hook::RwLock(RwLock::Write(None))),
    ("pthread_rwlock_timedwrlock", Hook::RwLock(RwLock::Write(Some(posix(1))))),
    ("pthread_rwlock_clockwrlock", Hook::RwLock(RwLock::Write(Some(posix(2))))),
    ("pthread_rwlock_tryrdlock", Hook::RwLock(RwLock::TryRead)),
    ("pthread_rwlock_trywrlock", Hook::RwLock(RwLock::TryWrite)),
    ("pthread_rwlock_unlock", Hook::RwLock(RwLock::Unlock)),
    ("sem_init", Hook::Semaphore(Semaphore::Init)),
    ("sem_destroy", Hook::Nothing),
    ("sem_wait", Hook::Semaphore(Semaphore::Wait(None))),
    ("sem_timedwait", Hook::Semaphore(Semaphore::Wait(Some(posix(1))))),
    ("sem_clockwait", Hook::Semaphore(Semaphore::Wait(Some(posix(2))))),
    ("sem_trywait", Hook::Semaphore(Semaphore::TryWait)),
    ("sem_post", Hook::Semaphore(Semaphore::Post)),
    ("sem_getvalue", Hook::Semaphore(Semaphore::Value)),
    ("pthread_barrier_init", Hook::Barrier(Barrier::Init)),
    ("pthread_barrier_destroy", Hook::Barrier(Barrier::Destroy)),
    ("pthread_barrier_wait", Hook::Barrier(Barrier::Wait)),
    ("pthread_key_create", Hook::Key(Key::Create)),
    ("pthread_key_delete", Hook::Key(Key::Delete)),
    ("pthread_getspecific", Hook::Key(Key::Get)),
    ("pthread_setspecific", Hook::Key(Key::Set)),
    ("tss_create", Hook::Key(Key::Create)),
    ("tss_delete", Hook::Key(Key::Delete)),
    ("tss_get", Hook::Key(Key::Get)),
    ("tss_set", Hook::Key(Key::Set)),
    ("pthread_once", Hook::Once),
    ("call_once", Hook::Once),
    ("__assert_fail", Hook::AssertFail),
    ("__VERIFIER_assert_fail", Hook::AssertFail),
    ("__VERIFIER_error", Hook::Error),
    ("reach_error", Hook::Error),
    ("__VERIFIER_assert", Hook::Assert),
    ("__VERIFIER_assume", Hook::Assume),
    ("seriatim_assume", Hook::Assume),
    ("seriatim_choose", Hook::Choose),
    ("__VERIFIER_nondet_bool", Hook::ChooseBool),
    ("abort", Hook::Abort),
    ("exit", Hook::Exit),
    ("_exit", Hook::Exit),
    ("_Exit", Hook::Exit),
    ("quick_exit", Hook::Exit),
    ("time", Hook::Time(Time::Seconds)),
    ("clock_gettime", Hook::Time(Time::Clock)),
    ("gettimeofday", Hook::Time(Time::OfDay)),
    ("rand", Hook::Random { has_state: false }),
    ("random", Hook::Random { has_state: false }),
    ("rand_r", Hook::Random { has_state: true }),
    ("srand", Hook::Nothing),
    ("srandom", Hook::Nothing),
    ("getenv", Hook::Getenv),
    ("getpid", Hook::Nothing),
    ("seriatim_returned", Hook::Returned),
    ("seriatim_crashed", Hook::Crashed),
];

/// What a program must not do.
const REFUSED: &[&str] = &[
    "__atomic_load",
    "__atomic_store",
    "__atomic_exchange",
    "__atomic_compare_exchange",
    "__VERIFIER_atomic_begin",
    "__VERIFIER_atomic_end",
    "__VERIFIER_nondet_int",
    "__VERIFIER_nondet_uint",
    "__VERIFIER_nondet_long",
    "__VERIFIER_nondet_ulong",
    "__VERIFIER_nondet_char",
    "__VERIFIER_nondet_uchar",
    "pthread_cancel",
    "pthread_kill",
    "pthread_sigmask",
    "pthread_tryjoin_np",
    "pthread_timedjoin_np",
    "pthread_mutex_consistent",
    "fork",
    "vfork",
    "execve",
    "execv",
    "execvp",
    "execvpe",
    "fexecve",
    "execl",
    "execlp",
    "execle",
    "posix_spawn",
    "posix_spawnp",
    "clone",
    "system",
    "popen",
    "socket",
    "signal",
    "sigaction",
    "raise",
    "kill",
    "syscall",
];
