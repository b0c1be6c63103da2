//! The shim: a library without code of its own, which a program is loaded with. It has a symbol for each hook, and
//! comes before all other libraries, so that the program's calls, and those of libstdc++, go to it.
//!
//! A hook leaves the stack of its thread as it is: it pushes the registers that a function must keep, notes the
//! arguments, and goes on with the stack of the host, which has let the thread run (`seriatim_switch`). So what a
//! thread is at a hook is its stack from there on, and nothing else. To let it go on is to switch to its stack again.
//! (Stacks are left and entered by a jump: the processor would expect a return to go elsewhere.)
//!
//! Most hooks are of no interest, and return at once: the notes of calls, and plain accesses of the thread's own stack,
//! unless something of it is known to others. The host says so in words of the shim, each time that a thread goes on.

use std::fmt::Write as _;

use crate::symbols::{Hook, hooks};

/// How many words a hook leaves on the stack of its thread, before the address to which it returns: r15, r14, r13,
/// r12, rbx and rbp, from the lowest.
pub(crate) const SAVED: usize = 6;

/// The symbols of the shim that the host uses.
pub(crate) const RUNNING: &str = "seriatim_running";
pub(crate) const ARGUMENTS: &str = "seriatim_arguments";
pub(crate) const STACK: &str = "seriatim_stack";
pub(crate) const SWITCH: &str = "seriatim_switch";
pub(crate) const PASS: &str = "seriatim_pass";
pub(crate) const INVOKE: &str = "seriatim_invoke";
pub(crate) const FAULT: &str = "seriatim_fault";
/// What the host tells: whether notes of calls are of no interest; where memory starts of which plain accesses are not,
/// and how large it is. And what it is told: the lowest end of the stack that there was.
pub(crate) const TOLD: &str = "seriatim_told";
const IS_QUIET: &str = "seriatim_told(%rip)";
const LOW: &str = "seriatim_told+8(%rip)";
const ROOM: &str = "seriatim_told+16(%rip)";
const LOWEST: &str = "seriatim_told+24(%rip)";

const PUSH: &str = "\tpush %rbp\n\tpush %rbx\n\tpush %r12\n\tpush %r13\n\tpush %r14\n\tpush %r15\n";
const POP: &str = "\tpop %r15\n\tpop %r14\n\tpop %r13\n\tpop %r12\n\tpop %rbx\n\tpop %rbp\n";
/// The registers of arguments, in their order.
const REGISTERS: [&str; 6] = ["rdi", "rsi", "rdx", "rcx", "r8", "r9"];

/// The shim in the language of the assembler.
pub(crate) fn assembly() -> String {
    let mut text = String::from("\t.data\n");
    for (name, words) in [(RUNNING, 1), (ARGUMENTS, 6), (STACK, 1), (TOLD, 4), ("seriatim_host", 1)] {
        let _ = writeln!(text, "\t.globl {name}\n\t.protected {name}\n\t.balign 8\n{name}:\n\t.zero {}", words * 8);
    }
    text.push_str("\t.text\n");
    let function = |text: &mut String, name: &str, body: &str| {
        let _ = write!(text, "\t.globl {name}\n\t.protected {name}\n\t.type {name}, @function\n{name}:\n{body}");
    };
    let leave = format!("\tmov seriatim_host(%rip), %rsp\n\tmovq $0, {RUNNING}(%rip)\n{POP}\tpop %rcx\n\tjmp *%rcx\n");
    // A hook: its number is in eax.
    let mut common = PUSH.to_owned();
    let _ = writeln!(common, "\tmov %rsp, {STACK}(%rip)");
    for (at, register) in REGISTERS.iter().enumerate() {
        let _ = writeln!(common, "\tmov %{register}, {ARGUMENTS}+{}(%rip)", 8 * at);
    }
    common.push_str(&leave);
    function(&mut text, "seriatim_hook", &common);
    for (number, (name, hook)) in hooks().iter().enumerate() {
        let quick = match hook {
            Hook::Call => format!(
                "\tcmpq $0, {IS_QUIET}\n\tje 1f\n\tcmp {LOWEST}, %rsp\n\tjae 2f\n\tmov %rsp, {LOWEST}\n2:\tret\n1:"
            ),
            Hook::Plain { .. } => {
                format!("\tmov %rdi, %rax\n\tsub {LOW}, %rax\n\tcmp {ROOM}, %rax\n\tjae 1f\n\tret\n1:")
            }
            _ => String::new(),
        };
        function(&mut text, name, &format!("{quick}\tmov ${number}, %eax\n\tjmp seriatim_hook\n"));
    }
    // The host lets a thread run: its stack, and what the hook returns.
    let enter = format!("{PUSH}\tmov %rsp, seriatim_host(%rip)\n\tmov %rdi, %rsp\n\tmovq $1, {RUNNING}(%rip)\n");
    function(&mut text, SWITCH, &format!("{enter}\tmov %rsi, %rax\n{POP}\tpop %rcx\n\tjmp *%rcx\n"));
    // The same, but the thread goes on in a function with the arguments of the hook.
    let mut pass = enter;
    pass.push_str("\tmov %rsi, %r11\n");
    for (at, register) in REGISTERS.iter().enumerate() {
        let _ = writeln!(pass, "\tmov {ARGUMENTS}+{}(%rip), %{register}", 8 * at);
    }
    let _ = write!(pass, "\txor %eax, %eax\n{POP}\tjmp *%r11\n");
    function(&mut text, PASS, &pass);
    // A thread begins here: the function and its arguments are in the registers that the frame has.
    function(
        &mut text,
        INVOKE,
        "\tmov %r12, %rdi\n\tmov %r13, %rsi\n\tmov %r14, %rdx\n\tcall *%rbx\n\
         \tmov %rax, %rdi\n\tjmp seriatim_returned\n",
    );
    // A signal has come: the thread is left where it is.
    let crashed = hooks().iter().position(|(_, hook)| *hook == Hook::Crashed).unwrap_or_default();
    function(&mut text, FAULT, &format!("\tmov ${crashed}, %eax\n{leave}"));
    text.push_str("\t.section .note.GNU-stack,\"\",@progbits\n");
    text
}
