//! Projectors: the handler, and nothing around it.

use crate::component::Kind;
use crate::consumer::ConsumerEngine;

/// Runs projectors.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct ProjectorEngine;

impl ConsumerEngine for ProjectorEngine {
    fn kind(&self) -> Kind {
        Kind::Projector
    }
}
