//! Takes the values of secrets out of the block in which the kernel gave this process its environment, and from which it
//! shows that to others. The only unsafe code of the engine: the block lies in memory that no Rust value owns.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char};

use crate::process::shell::environment::is_secret;

unsafe extern "C" {
    static environ: *const *mut c_char;
}

/// Empties every variable whose name says that it is a secret. To be called once its value was captured, and before there
/// is a second thread. On some kernels whoever administrates the machine sees the block of a process that shows nothing
/// else; there must be nothing in it.
pub fn scrub_environment() {
    // SAFETY: `environ` is null or a list that ends in a null pointer, of strings that end in a zero byte. They belong to the
    // process, may be written to as far as they reach, and nobody else reads them while there is one thread.
    unsafe {
        let mut entry = environ;
        while !entry.is_null() && !(*entry).is_null() {
            let text = CStr::from_ptr(*entry).to_bytes();
            let name = text.split(|byte| *byte == b'=').next().unwrap_or_default();
            let (from, until) = (name.len() + 1, text.len());
            if from < until && std::str::from_utf8(name).is_ok_and(is_secret) {
                (*entry).add(from).write_bytes(0, until - from);
            }
            entry = entry.add(1);
        }
    }
}
