//! Locks and atomics, named in one place so that models can replace them: the test package compiles `permits.rs` with a
//! `sync` of its own, under loom and under shuttle. No feature and no flag switches them here, since either would reach
//! every other crate of the build.

pub(crate) use std::sync::atomic::{AtomicU64, Ordering};
pub(crate) use std::sync::{Condvar, Mutex};

/// Locks, going on with the value where another thread panicked while holding it: no invariant here spans a panic.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Waits on `condvar`, as forgiving about panics as [`lock`].
pub(crate) fn wait<'a, T>(condvar: &Condvar, guard: std::sync::MutexGuard<'a, T>) -> std::sync::MutexGuard<'a, T> {
    condvar.wait(guard).unwrap_or_else(std::sync::PoisonError::into_inner)
}
