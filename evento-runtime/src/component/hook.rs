//! Hooks of a component.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::Location;
use crate::context::ConsumerScope;
use crate::deps::Need;
use crate::error::BoxError;

/// A method or free function that runs before a consumer's first event, or before it goes back.
#[derive(Clone, Copy)]
pub struct HookDef {
    /// Method name.
    pub method: &'static str,
    /// Provided types it takes, one list an argument.
    pub needs: &'static [&'static [Need]],
    /// Calls it.
    pub invoke: fn(Arc<ConsumerScope>) -> BoxFuture<'static, Result<(), BoxError>>,
    /// Where it stands.
    pub location: Location,
    /// `CARGO_PKG_NAME` of its crate.
    pub package: &'static str,
    /// `module_path!()` of its place.
    pub module: &'static str,
}

impl HookDef {
    /// A hook without needs.
    #[must_use]
    pub const fn new(
        method: &'static str,
        location: Location,
        invoke: fn(Arc<ConsumerScope>) -> BoxFuture<'static, Result<(), BoxError>>,
    ) -> Self {
        Self { method, needs: &[], invoke, location, package: "", module: "" }
    }

    /// Its crate and module.
    #[must_use]
    pub const fn origin(mut self, package: &'static str, module: &'static str) -> Self {
        self.package = package;
        self.module = module;
        self
    }

    /// Lists what its arguments ask for.
    #[must_use]
    pub const fn needs(mut self, needs: &'static [&'static [Need]]) -> Self {
        self.needs = needs;
        self
    }
}
