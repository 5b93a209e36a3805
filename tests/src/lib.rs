//! Shared pieces of the test package.

pub mod fixture;
