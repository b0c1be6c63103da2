//! The tests of this crate, as one program.

#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

mod bugs;
mod chances;
mod hard;
mod litmus;
mod own;
mod shared;

/// Whether there is such a command.
fn has_command(name: &str) -> bool {
    std::process::Command::new(name).arg("--version").output().is_ok_and(|output| output.status.success())
}
