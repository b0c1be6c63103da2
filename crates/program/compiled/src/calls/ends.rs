//! How a program ends: assertions, `abort`, `exit`, and what the processor does not allow.

use crate::finding::DefectKind;
use crate::machine::{Flow, Machine};
use crate::space::{self, Doer};
use crate::switch::{self, Called, Switch};
use crate::symbols::Hook;
use crate::thread::State;

impl Machine {
    pub(crate) fn end(&mut self, thread: u32, hook: Hook, called: Called) -> Flow {
        let [one, two, three, ..] = called.arguments;
        let me = self.doer(thread);
        match hook {
            Hook::Returned => return self.returned(thread, one),
            Hook::Assume | Hook::Assert if one as u32 != 0 => return Flow::Answer(0),
            Hook::Assume => self.threads[thread as usize].state = State::Stopped,
            Hook::AssertFail => {
                let (expression, file) = (space::text(one as usize), space::text(two as usize));
                let message = format!("assertion failed: {expression}, at {file}:{}", three as u32);
                self.find(DefectKind::Assert, message, vec![me]);
            }
            Hook::Error | Hook::Assert => {
                let name = self.hook_name(called).to_owned();
                self.find(DefectKind::Assert, format!("assertion failed: {name}"), vec![me]);
            }
            Hook::Abort => {
                let exception = self.real.exception_type.map_or(0, |function| switch::call(function, 0));
                if exception == 0 {
                    self.find(DefectKind::Abort, "abort was called".to_owned(), vec![me]);
                } else {
                    let name = space::text(space::number(exception as usize + 8, 8) as usize);
                    self.find(DefectKind::Uncaught, format!("uncaught exception of type {name}"), vec![me]);
                }
            }
            _ => {
                self.has_exited = true;
                self.threads[thread as usize].state = State::Exited;
            }
        }
        Flow::Wait
    }

    /// The processor has stopped a thread, or it hangs.
    pub(crate) fn crash(&mut self, thread: u32) {
        let fault = Switch::fault();
        let of = &self.threads[thread as usize];
        // A place in a library, or in nothing, says less than the last call of the program.
        let last = of.site;
        let site = if self.space.is_code(fault.place) {
            fault.place + 1
        } else {
            Some(self.site_above(thread, fault.stack)).filter(|&site| site != 0).unwrap_or(last)
        };
        let me = Doer { site, ..self.doer(thread) };
        if fault.signal == libc::SIGALRM {
            let message = format!("no step for 10 s in thread {thread}");
            self.refuse(message, site);
            self.is_hung = true;
            return;
        }
        if fault.signal == libc::SIGSEGV && self.space.is_below_stack(fault.address) {
            self.find(DefectKind::StackOverflow, "stack overflow".to_owned(), vec![me]);
            return;
        }
        let name = match fault.signal {
            libc::SIGSEGV => "SIGSEGV",
            libc::SIGBUS => "SIGBUS",
            libc::SIGFPE => "SIGFPE",
            libc::SIGILL => "SIGILL",
            _ => "SIGTRAP",
        };
        let at = match fault.signal {
            libc::SIGSEGV | libc::SIGBUS => format!(" at address {:#x}", fault.address),
            _ => String::new(),
        };
        self.find(DefectKind::Crash, format!("crash: {name}{at}"), vec![me]);
    }
}
