//! Core functions behind a byte interface, so that the tests can run them on
//! wasm32 (where `usize` is 32 bits) in an interpreter.
//!
//! `operation.rs` is the list of functions; this file moves bytes. A call:
//!
//! 1. [`wimg_request`] makes room for a request and says where it lies. The
//!    host writes there the operation's name, a newline and its input.
//! 2. [`wimg_answer`] runs it and says where the answer lies. Its first byte is
//!    0 and the output follows, or 1 and a message follows.

mod operation;

use std::sync::Mutex;

static REQUEST: Mutex<Vec<u8>> = Mutex::new(Vec::new());
static ANSWER: Mutex<Vec<u8>> = Mutex::new(Vec::new());

/// Makes room for a request of `len` bytes: its address in the memory, or 0
/// when there is no room.
#[expect(unsafe_code, reason = "the host finds the function by this name; no memory is touched")]
#[unsafe(no_mangle)]
pub extern "C" fn wimg_request(len: u32) -> u32 {
    let (Ok(mut request), Ok(len)) = (REQUEST.lock(), usize::try_from(len)) else { return 0 };
    request.clear();
    request.resize(len, 0);
    u32::try_from(request.as_mut_ptr().expose_provenance()).unwrap_or(0)
}

/// Runs the request: the answer's length in bytes in the upper half, its
/// address in the memory in the lower; 0 when there is no answer.
#[expect(unsafe_code, reason = "the host finds the function by this name; no memory is touched")]
#[unsafe(no_mangle)]
pub extern "C" fn wimg_answer() -> u64 {
    let (Ok(request), Ok(mut answer)) = (REQUEST.lock(), ANSWER.lock()) else { return 0 };
    answer.clear();
    match operation::run(&request) {
        Ok(output) => {
            answer.push(0);
            answer.extend_from_slice(&output);
        }
        Err(message) => {
            answer.push(1);
            answer.extend_from_slice(message.as_bytes());
        }
    }
    let place = u32::try_from(answer.len())
        .ok()
        .zip(u32::try_from(answer.as_ptr().expose_provenance()).ok());
    place.map_or(0, |(len, address)| u64::from(len) << 32 | u64::from(address))
}
