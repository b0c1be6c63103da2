//! Links the command at a fixed address, where the linker can do that.
//!
//! A program that can be loaded anywhere is relocated at every start: all its tables are written, page by page. For a
//! small history that takes longer than to check it.

use std::env::var;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let has = |key: &str, wanted: &str| var(key).is_ok_and(|values| values.split(',').any(|value| value == wanted));
    if has("CARGO_CFG_TARGET_OS", "linux")
        && has("CARGO_CFG_TARGET_ENV", "gnu")
        && has("CARGO_CFG_TARGET_ARCH", "x86_64")
        && !has("CARGO_CFG_TARGET_FEATURE", "crt-static")
    {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
}
