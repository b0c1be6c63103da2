//! What happens at a panic. A panic is a bug in seriatim, and never a verdict.
//!
//! A panic of an engine that decides a history, or of a monitor, is caught. Then the verdict of that history is
//! `unknown`, and the run goes on. Any other panic ends the process, since other threads could wait for the thread that
//! panicked for ever.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{self, AssertUnwindSafe, PanicHookInfo};

use crate::BAD;

thread_local! {
    /// Whether this thread is in an engine or a monitor now.
    static DECIDES: Cell<bool> = const { Cell::new(false) };
    /// The last panic of this thread in an engine or a monitor.
    static NOTED: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Installs the panic hook that does what the module describes.
pub(crate) fn install() {
    let print = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        if note(panic) {
            return;
        }
        print(panic);
        // A helper thread panicked. The thread that decides the history notices when it asks for the answer.
        if std::thread::current().name() == Some(memory::HELPER) {
            return;
        }
        eprintln!("seriatim: this is a bug in seriatim, not a verdict");
        std::process::exit(i32::from(BAD));
    }));
}

/// Notes a panic if this thread is in an engine or a monitor. Returns whether it is.
fn note(panic: &PanicHookInfo<'_>) -> bool {
    if !DECIDES.get() {
        return false;
    }
    let place = panic.location().map_or_else(String::new, |place| format!(", at {place}"));
    NOTED.set(Some(message(panic.payload()) + &place));
    true
}

/// What a panic says, on one line.
fn message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<String>().map(String::as_str).or(payload.downcast_ref::<&str>().copied());
    let text = text.unwrap_or("a panic without a message");
    text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}

/// Runs `decide`, which decides a history or one model of it. If `decide` panics, the error says why nothing is known.
/// After a panic, the caller must not use anything that `decide` could have changed.
pub(crate) fn catch<T>(decide: impl FnOnce() -> T) -> Result<T, String> {
    catch_noted(|| noted(decide))
}

/// Runs `decide`, which asks an engine or a monitor, inside of [`catch_noted`]. If `decide` panics, the process does
/// not end. This costs two stores, so it can be done for each event of a stream.
#[inline]
pub(crate) fn noted<T>(decide: impl FnOnce() -> T) -> T {
    DECIDES.set(true);
    let decided = decide();
    DECIDES.set(false);
    decided
}

/// Runs `run`, and catches a panic in a part of it that is [`noted`]. The error says what the panic was. A panic in any
/// other part ends the process.
pub(crate) fn catch_noted<T>(run: impl FnOnce() -> T) -> Result<T, String> {
    let before = DECIDES.get();
    let ran = panic::catch_unwind(AssertUnwindSafe(run));
    DECIDES.set(before);
    ran.map_err(|payload| {
        let what = NOTED.take().unwrap_or_else(|| message(payload.as_ref()));
        format!("this is a bug in seriatim: {what}")
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use std::ops::ControlFlow;
    use std::sync::Once;

    use super::*;
    use crate::pipeline;

    /// Installs a hook that notes panics, and does not end the process: a test that fails must not end the others.
    pub(crate) fn note_panics() {
        static ONCE: Once = Once::new();
        ONCE.call_once(|| {
            let print = panic::take_hook();
            panic::set_hook(Box::new(move |panic| {
                if !note(panic) {
                    print(panic);
                }
            }));
        });
    }

    #[test]
    fn a_panic_is_told_with_its_place() {
        note_panics();
        assert_eq!(catch(|| 7), Ok(7));
        let reason = catch(|| -> u32 { panic!("so\nmany: {}", 3) }).expect_err("it panicked");
        assert!(reason.starts_with("this is a bug in seriatim: so many: 3, at "), "{reason}");
        assert!(reason.contains("panics.rs:"), "{reason}");
        assert!(!DECIDES.get());
    }

    #[test]
    fn a_thread_is_outside_again_after_a_panic() {
        note_panics();
        let reason = catch_noted(|| {
            assert_eq!(noted(|| 7), 7);
            assert!(!DECIDES.get());
            noted(|| panic!("the monitor"))
        });
        assert!(reason.expect_err("it panicked").contains("the monitor"));
        assert!(!DECIDES.get());
    }

    #[test]
    fn one_of_a_part_is_caught_there() {
        note_panics();
        let decided = catch(|| [catch(|| 1), catch(|| panic!("the second")), catch(|| 3)]);
        let [first, second, third] = decided.expect("every panic was caught");
        assert_eq!((first, third), (Ok(1), Ok(3)));
        assert!(second.expect_err("it panicked").contains("the second"));
    }

    #[test]
    fn one_of_a_helper_is_told_without_its_place() {
        note_panics();
        let payload: Box<dyn Any + Send> = Box::new("a window");
        let reason = catch(|| -> () { panic::resume_unwind(payload) }).expect_err("it panicked");
        assert_eq!(reason, "this is a bug in seriatim: a window");
    }

    struct Numbers(std::ops::Range<u32>);

    impl Iterator for Numbers {
        type Item = u32;

        fn next(&mut self) -> Option<u32> {
            self.0.next()
        }
    }

    impl pipeline::Source for Numbers {
        fn is_live(&self) -> bool {
            false
        }
    }

    #[test]
    fn the_run_goes_on() {
        note_panics();
        for workers in [1, 3] {
            let mut told = Vec::new();
            pipeline::run(
                workers,
                8,
                false,
                [Numbers(0..100)].into_iter(),
                |_| 1,
                |n| catch(|| if n % 10 == 3 { panic!("history {n}") } else { n }),
                |_| {},
                |result, _| {
                    told.push(result);
                    ControlFlow::Continue(())
                },
            );
            assert_eq!(told.len(), 100);
            for (n, result) in (0..).zip(told) {
                match result {
                    Ok(same) => assert!(same == n && n % 10 != 3),
                    Err(reason) => assert!(reason.contains(&format!("history {n}, at ")), "{reason}"),
                }
            }
        }
    }
}
