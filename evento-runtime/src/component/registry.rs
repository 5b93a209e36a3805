//! What reaches the bundle by itself: components, and free functions that join them.

use super::{ComponentDef, HandlerDef, HookDef, Location, OpenComponent};

/// A free function that joins a component.
pub struct FreeHandler {
    /// The component it joins.
    pub component: &'static ComponentDef,
    /// The row.
    pub handler: HandlerDef,
}

impl FreeHandler {
    /// Joins `C`.
    #[must_use]
    pub const fn new<C: OpenComponent>(handler: HandlerDef) -> Self {
        Self { component: C::DEF, handler }
    }
}

/// A free function that is a hook of a component.
pub struct FreeHook {
    /// The component it joins.
    pub component: &'static ComponentDef,
    /// The row.
    pub hook: HookDef,
}

impl FreeHook {
    /// Joins `hook` to the component `C`.
    #[must_use]
    pub const fn new<C: OpenComponent>(hook: HookDef) -> Self {
        Self { component: C::DEF, hook }
    }
}

/// What generated code submits to the registry.
pub enum Registered {
    /// A component.
    Component(&'static ComponentDef),
    /// A free function that handles events.
    Handler(&'static FreeHandler),
    /// A free function that runs before the first event.
    Hook(&'static FreeHook),
    /// A free function that runs before events are handled again.
    Reset(&'static FreeHook),
    /// A crate named in `link!`.
    Linked {
        /// Its name in code, without `r#`: the first segment of `module` of whatever is registered in it.
        crate_name: &'static str,
        /// Its `CARGO_PKG_NAME`, where `Cargo.toml` gives it another name than it has itself.
        package: Option<&'static str>,
        /// Where `link!` stands.
        location: Location,
        /// `module_path!()` of that place: a crate may link others on behalf of the binary.
        module: &'static str,
    },
}

inventory::collect!(Registered);
