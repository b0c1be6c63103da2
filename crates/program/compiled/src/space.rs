//! The memory of the program: statics, the stacks of threads, their thread-local storage, and what they allocate.
//!
//! Addresses are a function of a thread's own history: the stack of a thread and the arena from which it allocates
//! have fixed addresses, and no address is given out twice in one execution. To begin another execution, all memory is
//! made what it was when the program had been loaded.

#![allow(unsafe_code, reason = "memory of the program is read and written by its address")]

use std::ops::Range;

use crate::module::Module;
use crate::thread::Thread;

const STACKS: usize = 0x2000_0000_0000;
const ARENAS: usize = 0x2800_0000_0000;
/// What lies below each stack and above each arena, and is never accessed: more than the largest frame of a function.
const GUARD: usize = 1 << 30;
/// What lies between two allocations.
const GAP: usize = 16;
/// Addresses below this are taken for uses of a null pointer.
const LOW: usize = 1 << 16;
/// Below the lowest end that hooks have shown, a stack is taken to be unused where so many bytes were not used.
const UNUSED: usize = 1 << 12;

/// Who has done something, where in the code, and after how many of its steps.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Doer {
    pub(crate) thread: u32,
    pub(crate) site: usize,
    pub(crate) steps: u32,
}

/// What was allocated at once.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Object {
    pub(crate) start: usize,
    pub(crate) size: usize,
    pub(crate) made: Doer,
    pub(crate) freed: Option<Doer>,
}

#[derive(Debug, Default)]
struct Arena {
    end: usize,
    objects: Vec<Object>,
    is_mapped: bool,
}

/// What kind of memory an address is in.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Region {
    Low,
    Stack(u32),
    Heap(u32),
    Static,
    Local,
    /// Of another library, or constant.
    Other,
}

/// What is wrong with an access of memory.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Wrong {
    Null,
    OutOfBounds,
    Freed(Object),
}

/// The memory of the program.
#[derive(Debug)]
pub(crate) struct Space {
    stack_size: usize,
    pub(crate) arena_size: usize,
    /// The stacks and the arenas of two threads that follow each other are two to the power of this apart.
    stack_bits: u32,
    arena_bits: u32,
    max_threads: usize,
    stacks: Vec<bool>,
    arenas: Vec<Arena>,
    pub(crate) module: Module,
    /// Words of libraries of which each thread has its own.
    own_words: Vec<usize>,
    /// What the program was when it had been loaded: statics, thread-local storage, and the arena of the first thread.
    statics: Vec<(usize, Vec<u8>)>,
    local: Vec<u8>,
    arena: Vec<u8>,
    objects: Vec<Object>,
}

unsafe extern "C" {
    fn __errno_location() -> *mut i32;
}

/// Reads memory of the program.
pub(crate) fn bytes(address: usize, count: usize) -> Vec<u8> {
    if count == 0 {
        return Vec::new();
    }
    // SAFETY: the caller knows of the memory.
    unsafe { std::slice::from_raw_parts(address as *const u8, count) }.to_vec()
}

/// Writes memory of the program.
pub(crate) fn put(address: usize, bytes: &[u8]) {
    if bytes.is_empty() {
        return;
    }
    // SAFETY: the caller knows of the memory.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), address as *mut u8, bytes.len()) }
}

/// A number of the program with its sign.
pub(crate) fn number(address: usize, size: u8) -> i64 {
    let mut word = [0; 8];
    // SAFETY: the caller knows of the memory.
    unsafe { std::ptr::copy_nonoverlapping(address as *const u8, word.as_mut_ptr(), size.into()) };
    cut(i64::from_le_bytes(word), size)
}

/// Writes the lowest bytes of a number.
pub(crate) fn put_number(address: usize, size: u8, value: i64) {
    put(address, &value.to_le_bytes()[..usize::from(size)]);
}

/// The number that has these lowest bytes, with its sign.
pub(crate) fn cut(value: i64, size: u8) -> i64 {
    let unused = 64 - 8 * u32::from(size);
    value << unused >> unused
}

/// A text of the program.
pub(crate) fn text(address: usize) -> String {
    if address < LOW {
        return String::new();
    }
    // SAFETY: the program passes texts of its own.
    unsafe { std::ffi::CStr::from_ptr(address as *const i8) }.to_string_lossy().into_owned()
}

pub(crate) fn text_length(address: usize) -> usize {
    // SAFETY: the same.
    unsafe { libc::strlen(address as *const i8) }
}

/// The error number of the thread that runs.
pub(crate) fn error_number() -> i32 {
    // SAFETY: it is a variable of this thread of the operating system.
    unsafe { *__errno_location() }
}

pub(crate) fn set_error_number(number: i32) {
    // SAFETY: the same.
    unsafe { *__errno_location() = number }
}

fn map(address: usize, size: usize) -> Result<(), String> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED_NOREPLACE;
    // SAFETY: nothing is at this address, or the call fails.
    let got = unsafe { libc::mmap(address as *mut _, size, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
    if got as usize == address { Ok(()) } else { Err("there is no memory for the program's threads".to_owned()) }
}

impl Space {
    pub(crate) fn new(stack_size: usize, arena_size: usize, max_threads: u32) -> Self {
        let [stack_size, arena_size] = [stack_size, arena_size].map(|size| (size + 4095) & !4095);
        let bits = |size: usize| (size + GUARD).next_power_of_two().trailing_zeros();
        Self {
            stack_size,
            arena_size,
            stack_bits: bits(stack_size),
            arena_bits: bits(arena_size),
            max_threads: max_threads as usize,
            stacks: Vec::new(),
            arenas: Vec::new(),
            module: Module::default(),
            own_words: Vec::new(),
            statics: Vec::new(),
            local: Vec::new(),
            arena: Vec::new(),
            objects: Vec::new(),
        }
    }

    /// The address above the stack of a thread.
    pub(crate) fn stack_end(&self, thread: u32) -> usize {
        STACKS + ((thread as usize + 1) << self.stack_bits)
    }

    /// The stack of a thread.
    pub(crate) fn stack(&self, thread: u32) -> Range<usize> {
        let end = self.stack_end(thread);
        end - self.stack_size..end
    }

    /// Makes room for a thread.
    pub(crate) fn admit(&mut self, thread: u32) -> Result<(), String> {
        let at = thread as usize;
        if self.stacks.len() <= at {
            self.stacks.resize(at + 1, false);
            self.arenas.resize_with(at + 1, Arena::default);
        }
        if !self.stacks[at] {
            map(self.stack_end(thread) - self.stack_size, self.stack_size)?;
            self.stacks[at] = true;
        }
        Ok(())
    }

    /// The program has been loaded: this is how each execution finds it.
    pub(crate) fn keep(&mut self, module: Module, own_words: &[usize]) {
        self.own_words = own_words.to_vec();
        self.statics = module.writable.iter().map(|range| (range.start, bytes(range.start, range.len()))).collect();
        self.local = bytes(module.local.start, module.local.len());
        self.module = module;
        let end = self.arenas[0].end;
        let start = self.arena_start(0);
        self.arena = bytes(start, end.max(start) - start);
        self.objects.clone_from(&self.arenas[0].objects);
    }

    /// Makes all memory what it was when the program had been loaded.
    pub(crate) fn restore(&mut self, threads: &[Thread]) {
        for (start, bytes) in &self.statics {
            put(*start, bytes);
        }
        put(self.module.local.start, &self.local);
        for (number, thread) in threads.iter().enumerate() {
            if thread.lowest != usize::MAX {
                self.clear_stack(number as u32, thread.lowest);
            }
        }
        for (at, arena) in self.arenas.iter_mut().enumerate().filter(|(_, arena)| arena.is_mapped) {
            let start = ARENAS + (at << self.arena_bits);
            // SAFETY: the memory is the arena's.
            unsafe { std::ptr::write_bytes(start as *mut u8, 0, arena.end - start) };
            arena.end = start;
            arena.objects.clear();
        }
        if let Some(first) = self.arenas.first_mut().filter(|first| first.is_mapped) {
            let start = ARENAS;
            put(start, &self.arena);
            first.end = start + self.arena.len();
            first.objects.clone_from(&self.objects);
        }
    }

    /// Makes the used part of a stack zero, whose lowest end was at least as low as told.
    fn clear_stack(&self, thread: u32, lowest: usize) {
        let Range { start, end } = self.stack(thread);
        let mut at = lowest.clamp(start, end) & !4095;
        // SAFETY: the memory is the stack's, and no thread runs.
        unsafe { std::ptr::write_bytes(at as *mut u8, 0, end - at) };
        let mut unused = 0;
        while at > start && unused < UNUSED {
            at -= 4096;
            // SAFETY: the memory is the stack's, and no thread runs.
            let page = unsafe { std::slice::from_raw_parts_mut(at as *mut u64, 512) };
            if page.iter().fold(0, |all, word| all | word) == 0 {
                unused += 4096;
            } else {
                unused = 0;
                page.fill(0);
            }
        }
    }

    /// How the block of thread-local storage of a new thread is; of the first one, as it was after loading.
    pub(crate) fn local_of(&self, thread: u32) -> Vec<u8> {
        if thread == 0 { self.local.clone() } else { self.module.local_image.clone() }
    }

    fn arena_start(&self, thread: usize) -> usize {
        ARENAS + (thread << self.arena_bits)
    }

    /// How far an address of the heap is from the start of its arena.
    pub(crate) fn offset(&self, address: usize) -> usize {
        (address - ARENAS) & ((1 << self.arena_bits) - 1)
    }

    /// What kind of memory an address is in.
    pub(crate) fn region(&self, address: usize) -> Region {
        if address < LOW {
            return Region::Low;
        }
        let stack = address.wrapping_sub(STACKS) >> self.stack_bits;
        if stack < self.max_threads {
            return Region::Stack(stack as u32);
        }
        let arena = address.wrapping_sub(ARENAS) >> self.arena_bits;
        if arena < self.max_threads {
            return Region::Heap(arena as u32);
        }
        if self.module.local.contains(&address) || self.own_words.iter().any(|&word| address.wrapping_sub(word) < 8) {
            return Region::Local;
        }
        if self.module.writable.iter().any(|range| range.contains(&address)) { Region::Static } else { Region::Other }
    }

    /// Whether an address is where the stack of a thread has a word.
    pub(crate) fn is_in_stack(&self, thread: u32, address: usize) -> bool {
        let end = self.stack_end(thread);
        (end - self.stack_size..end - 7).contains(&address) && address.is_multiple_of(8)
    }

    /// Whether an address is just below a stack.
    pub(crate) fn is_below_stack(&self, address: usize) -> bool {
        matches!(self.region(address), Region::Stack(thread) if address < self.stack_end(thread) - self.stack_size)
    }

    /// Allocates for a thread. None if it has no more memory.
    pub(crate) fn allocate(&mut self, size: usize, align: usize, made: Doer) -> Option<usize> {
        let (arena_size, at) = (self.arena_size, made.thread as usize);
        let first = self.arena_start(at);
        let arena = &mut self.arenas[at];
        if !arena.is_mapped {
            map(first, arena_size).ok()?;
            arena.is_mapped = true;
            arena.end = first;
        }
        let align = align.max(16);
        let start = (arena.end.max(first) + GAP).checked_next_multiple_of(align)?;
        let end = start.checked_add(size.max(1))?;
        if end > first + arena_size {
            return None;
        }
        arena.end = end;
        arena.objects.push(Object { start, size, made, freed: None });
        Some(start)
    }

    /// The object that has an address, or is the last before it.
    fn object_mut(&mut self, address: usize) -> Option<&mut Object> {
        let Region::Heap(thread) = self.region(address) else { return None };
        let objects = &mut self.arenas.get_mut(thread as usize)?.objects;
        let at = objects.partition_point(|object| object.start <= address).checked_sub(1)?;
        objects.get_mut(at)
    }

    /// The object that starts at an address.
    pub(crate) fn object(&self, start: usize) -> Option<Object> {
        self.holder(start).filter(|object| object.start == start)
    }

    /// The object that holds an address.
    pub(crate) fn holder(&self, address: usize) -> Option<Object> {
        let Region::Heap(thread) = self.region(address) else { return None };
        let objects = &self.arenas.get(thread as usize)?.objects;
        let at = objects.partition_point(|object| object.start <= address).checked_sub(1)?;
        objects.get(at).copied().filter(|object| address < object.start + object.size.max(1))
    }

    pub(crate) fn free(&mut self, start: usize, freed: Doer) {
        if let Some(object) = self.object_mut(start) {
            object.freed = Some(freed);
        }
    }

    /// What is left of what was allocated since the program was loaded.
    pub(crate) fn left(&self) -> Vec<Object> {
        let old = self.objects.len();
        let of = |(at, arena): (usize, &Arena)| {
            arena.objects[if at == 0 { old } else { 0 }..].iter().filter(|it| it.freed.is_none()).copied().collect()
        };
        self.arenas.iter().enumerate().flat_map(|arena| -> Vec<Object> { of(arena) }).collect()
    }

    /// What is wrong with an access of so many bytes.
    pub(crate) fn wrong(&self, address: usize, size: usize) -> Option<Wrong> {
        match self.region(address) {
            Region::Low => Some(Wrong::Null),
            Region::Heap(_) => match self.holder(address) {
                None => Some(Wrong::OutOfBounds),
                Some(object) if object.freed.is_some() => Some(Wrong::Freed(object)),
                Some(object) if address + size > object.start + object.size => Some(Wrong::OutOfBounds),
                Some(_) => None,
            },
            _ => None,
        }
    }

    /// Whether an address is in the code of the program.
    pub(crate) fn is_code(&self, address: usize) -> bool {
        self.module.code.contains(&address)
    }

    /// The bytes of the stack of a thread from an address on.
    pub(crate) fn stack_from(&self, thread: u32, start: usize) -> Range<usize> {
        start..self.stack_end(thread)
    }
}
