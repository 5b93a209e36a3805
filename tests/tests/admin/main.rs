//! The admin router: who may, what is shown, what is done, and what hostile data makes of it.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "these are tests, their helpers included"
)]

mod accessible;
mod acting;
mod browser;
mod described;
mod hidden;
mod hostile;
mod rights;
mod shop;
mod shown;
mod webdriver;
