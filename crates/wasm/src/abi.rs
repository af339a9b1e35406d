//! The three functions of the module. Only on wasm32: elsewhere a symbol
//! called `free` would replace the C library's.

use crate::answer;
use std::cell::RefCell;

thread_local! {
    static STATE: RefCell<answer::State> = RefCell::default();
}

/// Room for a request of `length` bytes.
#[allow(unsafe_code)]
#[unsafe(no_mangle)]
pub extern "C" fn alloc(length: usize) -> *mut u8 {
    Box::into_raw(vec![0u8; length].into_boxed_slice()).cast::<u8>()
}

/// Gives back `length` bytes at `at`.
///
/// # Safety
/// `at` must come from [`alloc`] with this `length`, or from [`call`] with the
/// length of the answer and its four bytes of head.
#[allow(unsafe_code)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn free(at: *mut u8, length: usize) {
    // SAFETY: the caller's promise; alloc and call make boxed slices.
    drop(unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(at, length)) });
}

/// Answers the JSON request in the `length` bytes at `at`. The result points to
/// the length of the answer (four bytes, little endian) and the answer.
///
/// # Safety
/// `at` must come from [`alloc`] with this `length`.
#[allow(unsafe_code)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn call(at: *const u8, length: usize) -> *mut u8 {
    // SAFETY: the caller's promise.
    let request = unsafe { std::slice::from_raw_parts(at, length) };
    let answer = STATE.with_borrow_mut(|state| answer::answer(state, request));
    let mut bytes = Vec::with_capacity(answer.len() + 4);
    bytes.extend_from_slice(&u32::try_from(answer.len()).unwrap_or(0).to_le_bytes());
    bytes.extend_from_slice(answer.as_bytes());
    Box::into_raw(bytes.into_boxed_slice()).cast::<u8>()
}
