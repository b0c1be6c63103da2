//! Huge pages, for inputs that are not small.
//!
//! The allocator asks the system for huge pages, which make large histories faster. But the system clears a whole page
//! when it is first touched, and for a small history that takes longer than everything else. So the process begins
//! without them, before anything is allocated, and [allows](allow_huge) them when there is something large to read.
//! The switch is of Linux. Elsewhere nothing happens.

#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
mod switch {
    use std::ffi::{c_int, c_ulong};
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

    // <linux/prctl.h>
    const PR_SET_THP_DISABLE: c_int = 41;
    const PR_GET_THP_DISABLE: c_int = 42;

    /// Whether this process has switched huge pages off. They stay off if they were off before.
    static IS_OURS: AtomicBool = AtomicBool::new(false);

    /// The loader calls this before the allocator is used for the first time.
    #[used]
    #[unsafe(link_section = ".init_array")]
    static AT_START: extern "C" fn() = begin_without;

    unsafe extern "C" {
        fn prctl(option: c_int, ...) -> c_int;
    }

    fn call(option: c_int, value: c_ulong) -> c_int {
        const ZERO: c_ulong = 0;
        // SAFETY: both options take a number, three zeros after it, and no pointers.
        unsafe { prctl(option, value, ZERO, ZERO, ZERO) }
    }

    extern "C" fn begin_without() {
        let is_ours = call(PR_GET_THP_DISABLE, 0) == 0 && call(PR_SET_THP_DISABLE, 1) == 0;
        IS_OURS.store(is_ours, Relaxed);
    }

    pub(super) fn allow() {
        if IS_OURS.swap(false, Relaxed) {
            call(PR_SET_THP_DISABLE, 0);
        }
    }
}

/// Lets the process use huge pages from now on.
pub(crate) fn allow_huge() {
    #[cfg(target_os = "linux")]
    switch::allow();
}
