//! Signals. SIGTERM and SIGINT ask for the end of the run: every stream is ended or saved. The second of them ends the
//! process at once. SIGHUP opens the log again; without `--log` it is SIGTERM's equal, as a terminal that is closed
//! sends it.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use super::log::Level;
use crate::BAD;
use crate::monitor::outside::Outside;

/// Handles signals from now on, in a thread of its own. `sockets` are files to remove before the process ends.
pub(crate) fn handle(outside: &Arc<Outside>, sockets: Vec<PathBuf>) -> io::Result<()> {
    let outside = Arc::clone(outside);
    watch(move |is_hangup| {
        if is_hangup && outside.flags.log.is_some() {
            outside.log.reopen();
            return;
        }
        if outside.stop() {
            remove(&sockets);
            std::process::exit(BAD.into());
        }
        outside.log.say(Level::Debug, "stopping", None, "a signal asks for the end");
    })
}

/// Removes the files of sockets.
pub(crate) fn remove(sockets: &[PathBuf]) {
    for path in sockets {
        let _ = std::fs::remove_file(path);
    }
}

#[cfg(unix)]
fn watch(mut came: impl FnMut(bool) + Send + 'static) -> io::Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let mut signals = signal_hook::iterator::Signals::new([SIGHUP, SIGINT, SIGTERM])?;
    std::thread::spawn(move || {
        for signal in signals.forever() {
            came(signal == SIGHUP);
        }
    });
    Ok(())
}

#[cfg(not(unix))]
fn watch(mut came: impl FnMut(bool) + Send + 'static) -> io::Result<()> {
    ctrlc::set_handler(move || came(false)).map_err(io::Error::other)
}
