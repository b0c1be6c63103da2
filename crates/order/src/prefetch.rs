//! Asking for memory before it is needed.
//!
//! Clocks and what belongs to them are large, and an order of execution goes through them in many places at once, which
//! no processor foresees. But what a chain needs a few events later is known.

/// Has an item brought into the cache. If there is none at that place, or the processor cannot do it, nothing happens.
#[inline]
#[cfg_attr(target_arch = "x86_64", allow(unsafe_code))]
pub fn prefetch<T>(items: &[T], at: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: every x86-64 processor has this hint. It changes nothing that can be seen, and it never faults,
        // whatever the address.
        unsafe { _mm_prefetch(items.as_ptr().wrapping_add(at).cast(), _MM_HINT_T0) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (items, at);
}
