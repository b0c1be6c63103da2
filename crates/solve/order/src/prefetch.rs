//! Prefetching: memory is asked for before it is needed.
//!
//! Clocks and their indices are large, and an order of execution reads them in many places at once. No processor can
//! predict these places. But the code knows what a chain needs a few events later.

/// Brings an item into the cache. If there is no item at that place, or the processor cannot prefetch, nothing happens.
#[inline]
#[cfg_attr(target_arch = "x86_64", allow(unsafe_code))]
pub fn prefetch<T>(items: &[T], at: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: every x86-64 processor has this hint. It has no visible effect, and it never faults, whatever the
        // address is.
        unsafe { _mm_prefetch(items.as_ptr().wrapping_add(at).cast(), _MM_HINT_T0) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (items, at);
}
