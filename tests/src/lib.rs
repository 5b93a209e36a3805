//! Shared pieces of the test package.
