//! The program as it is loaded: where its code, its statics and its thread-local storage are.

#![allow(unsafe_code, reason = "the headers of loaded objects are read")]

use std::ffi::{CStr, c_void};
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// A loaded object.
#[derive(Clone, Debug, Default)]
pub(crate) struct Module {
    pub(crate) base: usize,
    pub(crate) code: Range<usize>,
    /// What it can write.
    pub(crate) writable: Vec<Range<usize>>,
    /// The block of thread-local storage of this thread of the operating system, and how it is at first.
    pub(crate) local: Range<usize>,
    pub(crate) local_image: Vec<u8>,
}

struct Search<'a> {
    path: &'a [u8],
    found: Option<Module>,
    local: Option<usize>,
}

#[repr(C)]
struct TlsIndex {
    module: usize,
    offset: usize,
}

unsafe extern "C" {
    fn __tls_get_addr(index: *const TlsIndex) -> *mut c_void;
}

unsafe extern "C" fn look(info: *mut libc::dl_phdr_info, _size: usize, data: *mut c_void) -> i32 {
    // SAFETY: the loader passes its own record, and our search.
    let (info, search) = unsafe { (&*info, &mut *data.cast::<Search<'_>>()) };
    // SAFETY: the name is a text.
    if unsafe { CStr::from_ptr(info.dlpi_name) }.to_bytes() != search.path {
        return 0;
    }
    let base = info.dlpi_addr as usize;
    let mut module = Module { base, ..Module::default() };
    let mut constant = 0..0;
    for at in 0..usize::from(info.dlpi_phnum) {
        // SAFETY: there are as many headers.
        let header = unsafe { &*info.dlpi_phdr.add(at) };
        let start = base + header.p_vaddr as usize;
        let range = start..start + header.p_memsz as usize;
        match header.p_type {
            libc::PT_LOAD if header.p_flags & libc::PF_X != 0 => module.code = range,
            libc::PT_LOAD if header.p_flags & libc::PF_W != 0 => module.writable.push(range),
            libc::PT_GNU_RELRO => constant = range,
            libc::PT_TLS => {
                // SAFETY: the image is a part of the object.
                let image = unsafe { std::slice::from_raw_parts(start as *const u8, header.p_filesz as usize) };
                module.local_image = image.to_vec();
                module.local_image.resize(header.p_memsz as usize, 0);
                search.local = Some(info.dlpi_tls_modid);
            }
            _ => {}
        }
    }
    for range in &mut module.writable {
        // What is constant after loading is at the start.
        if constant.contains(&range.start) {
            range.start = ((constant.end + 4095) & !4095).min(range.end);
        }
    }
    search.found = Some(module);
    1
}

impl Module {
    /// The object that was loaded from this file.
    pub(crate) fn find(path: &Path) -> Option<Self> {
        let mut search = Search { path: path.as_os_str().as_bytes(), found: None, local: None };
        // SAFETY: the function is called with the search while this call goes on.
        unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut search).cast()) };
        let mut module = search.found?;
        if let Some(number) = search.local {
            // SAFETY: the loader has given the module this number.
            let block = unsafe { __tls_get_addr(&TlsIndex { module: number, offset: 0 }) } as usize;
            module.local = block..block + module.local_image.len();
        }
        Some(module)
    }
}
