//! What the registry holds, and what of it belongs to a bundle.

use std::any::Any;
use std::sync::Arc;

use super::BundleBuilder;
use super::settings::{ComponentSettings, HandlerSettings, Sizes};
use super::text::short_type;
use crate::component::{ComponentDef, FreeHandler, FreeHook, HandlerDef, HookDef, Location, Registered};
use crate::executor::ConsumerExecutor;
use crate::policy::CheckpointMode;

/// A crate that `link!` names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Linked {
    pub(super) crate_name: &'static str,
    pub(super) package: Option<&'static str>,
    pub(super) location: Location,
    pub(super) module: &'static str,
}

/// Everything that generated code submitted, sorted: link order means nothing.
#[derive(Clone, Default)]
pub(super) struct Registry {
    pub(super) components: Vec<&'static ComponentDef>,
    pub(super) free: Vec<&'static FreeHandler>,
    pub(super) hooks: Vec<&'static FreeHook>,
    pub(super) resets: Vec<&'static FreeHook>,
    pub(super) linked: Vec<Linked>,
}

impl Registry {
    /// What is linked into this binary.
    pub(super) fn linked_in() -> Self {
        Self::of(inventory::iter::<Registered>.into_iter())
    }

    pub(super) fn of(entries: impl Iterator<Item = &'static Registered>) -> Self {
        let mut registry = Self::default();
        for entry in entries {
            match entry {
                Registered::Component(def) => registry.components.push(def),
                Registered::Handler(free) => registry.free.push(free),
                Registered::Hook(hook) => registry.hooks.push(hook),
                Registered::Reset(hook) => registry.resets.push(hook),
                Registered::Linked { crate_name, package, location, module } => {
                    registry.linked.push(Linked { crate_name, package: *package, location: *location, module });
                }
            }
        }
        registry.components.sort_by_key(|def| (def.name, def.version, def.location, def.package));
        registry.free.sort_by_key(|free| (free.handler.location, free.handler.method));
        for hooks in [&mut registry.hooks, &mut registry.resets] {
            hooks.sort_by_key(|hook| (hook.hook.location, hook.hook.method));
        }
        registry.linked.sort_unstable();
        registry.linked.dedup_by_key(|linked| (linked.crate_name, linked.package));
        registry
    }

    /// Whether anything was registered in this crate. One that links others is there for what they register.
    pub(super) fn has_any_of(&self, linked: &Linked) -> bool {
        let in_crate = |package: &str, module: &str| match linked.package {
            Some(wanted) => package == wanted,
            None => crate_of(module) == linked.crate_name,
        };
        // The `main.rs` beside a `lib.rs` is a crate of the same name; what it links is not the library's doing.
        let links =
            |other: &Linked| crate_of(other.module) == linked.crate_name && other.location.file != linked.location.file;
        self.places().any(|(package, module)| in_crate(package, module)) || self.linked.iter().any(links)
    }

    /// Packages that registered something, and that no `link!` names.
    pub(super) fn unnamed_packages(&self) -> Vec<&'static str> {
        let named = |package: &str, module: &str| {
            self.linked.iter().any(|linked| linked.package == Some(package) || linked.crate_name == crate_of(module))
        };
        let mut packages: Vec<_> =
            self.places().filter(|(package, module)| !named(package, module)).map(|(package, _)| package).collect();
        packages.sort_unstable();
        packages.dedup();
        packages
    }

    /// Package and module of everything.
    fn places(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let components = self.components.iter().map(|def| (def.package, def.module));
        let free = self.free.iter().map(|free| (free.handler.package, free.handler.module));
        let hooks = self.hooks.iter().chain(&self.resets).map(|free| (free.hook.package, free.hook.module));
        components.chain(free).chain(hooks)
    }
}

/// The crate a module is in, by the name it has in its own paths.
fn crate_of(module: &str) -> &str {
    module.split("::").next().unwrap_or_default()
}

/// Whether `module` is `prefix` or lies inside of it.
pub(super) fn is_inside(module: &str, prefix: &str) -> bool {
    module.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

/// The type of a component without its path.
pub(super) fn type_label(def: &ComponentDef) -> String {
    short_type((def.type_name)())
}

/// A component of the bundle with its handlers and settings.
pub(super) struct DraftComponent {
    pub(super) def: &'static ComponentDef,
    /// In the order of the source.
    pub(super) handlers: Vec<DraftHandler>,
    pub(super) settings: ComponentSettings,
    /// Its `#[on_start]` hooks; more than one is a fault.
    pub(super) hooks: Vec<&'static HookDef>,
    /// Its `#[on_reset]` hooks; more than one is a fault.
    pub(super) resets: Vec<&'static HookDef>,
    /// A value given with `.component(..)`.
    pub(super) value: Option<Arc<dyn Any + Send + Sync>>,
}

pub(super) struct DraftHandler {
    pub(super) def: &'static HandlerDef,
    pub(super) settings: HandlerSettings,
}

impl DraftHandler {
    /// Whether its events can only be covered once they are settled, wherever it runs.
    fn settles(&self) -> bool {
        self.def.transaction.is_some() || self.def.batch.is_some()
    }
}

impl DraftComponent {
    /// For people: `OrderView::placed`.
    pub(super) fn label(&self, handler: &DraftHandler) -> String {
        format!("{}::{}", self.def.name, handler.def.method)
    }

    /// The type as the user writes it in `::<..>`, which need not be the component's name.
    pub(super) fn type_label(&self) -> String {
        type_label(self.def)
    }

    /// Its hooks with the attribute each has.
    pub(super) fn all_hooks(&self) -> impl Iterator<Item = (&'static str, &'static HookDef)> {
        let starts = self.hooks.iter().map(|hook| ("#[on_start]", *hook));
        starts.chain(self.resets.iter().map(|hook| ("#[on_reset]", *hook)))
    }

    /// The first of its handlers whose events can only be covered once they are settled.
    pub(super) fn settling(&self) -> Option<&DraftHandler> {
        self.handlers.iter().find(|handler| handler.settles())
    }

    pub(super) fn mode(&self) -> CheckpointMode {
        self.settings.mode.value
    }
}

/// A bundle before it is judged: what the rules look at.
pub(super) struct Draft<'a> {
    pub(super) builder: &'a BundleBuilder,
    pub(super) registry: Registry,
    /// Sorted by name, version and place.
    pub(super) components: Vec<DraftComponent>,
    /// How many of them `.discover()` found.
    pub(super) discovered: usize,
    pub(super) sizes: Sizes,
}

impl<'a> Draft<'a> {
    pub(super) fn new(builder: &'a BundleBuilder) -> Self {
        let registry = builder.registry.clone().unwrap_or_else(Registry::linked_in);
        let discovered = registry.components.iter().filter(|_| builder.discover.is_some()).filter(|def| {
            builder.modules.is_empty() || builder.modules.iter().any(|(prefix, _)| is_inside(def.module, prefix))
        });
        let discovered: Vec<_> = discovered.copied().collect();
        let given = builder.given.iter().map(|given| given.def);
        let mut defs: Vec<&'static ComponentDef> = Vec::new();
        for def in discovered.iter().copied().chain(given) {
            if !defs.iter().any(|known| known.type_id == def.type_id) {
                defs.push(def);
            }
        }
        defs.sort_by_key(|def| (def.name, def.version, def.location, def.package));
        let components = defs.into_iter().map(|def| Self::component(builder, &registry, def)).collect();
        Self { builder, registry, components, discovered: discovered.len(), sizes: builder.defaults.sizes() }
    }

    fn component(builder: &BundleBuilder, registry: &Registry, def: &'static ComponentDef) -> DraftComponent {
        let free = registry.free.iter().filter(|free| free.component.type_id == def.type_id).map(|free| &free.handler);
        let handlers: Vec<DraftHandler> = def
            .handlers
            .iter()
            .chain(free)
            .map(|handler| DraftHandler {
                def: handler,
                settings: HandlerSettings::of(def, handler, &builder.defaults, &builder.config),
            })
            .collect();
        let settling = handlers.iter().any(|handler| handler.settles());
        let joining = |hooks: &[&'static FreeHook]| -> Vec<&'static HookDef> {
            let joining = hooks.iter().filter(|hook| hook.component.type_id == def.type_id);
            joining.map(|hook| &hook.hook).collect()
        };
        DraftComponent {
            def,
            hooks: def.on_start.iter().chain(joining(&registry.hooks)).collect(),
            resets: def.on_reset.iter().chain(joining(&registry.resets)).collect(),
            handlers,
            settings: ComponentSettings::of(def, settling, &builder.defaults, &builder.for_components, &builder.config),
            value: builder.given.iter().find(|given| given.def.type_id == def.type_id).and_then(|g| g.value.clone()),
        }
    }

    /// Every handler with its component.
    pub(super) fn handlers(&self) -> impl Iterator<Item = (&DraftComponent, &DraftHandler)> {
        self.components.iter().flat_map(|component| component.handlers.iter().map(move |handler| (component, handler)))
    }

    /// The executor of a name, and where it was registered.
    pub(super) fn executor(&self, name: &str) -> Option<&(Arc<dyn ConsumerExecutor>, Location)> {
        self.builder.executors.iter().find(|(executor, _)| executor.name() == name)
    }

    /// The executor a handler names, if it is registered.
    pub(super) fn executor_of(&self, handler: &DraftHandler) -> Option<&Arc<dyn ConsumerExecutor>> {
        self.executor(handler.def.executor?).map(|(executor, _)| executor)
    }
}
