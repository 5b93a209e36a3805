//! What generated code may name, and nothing else. No stability is promised for anything in here.

pub use inventory;
