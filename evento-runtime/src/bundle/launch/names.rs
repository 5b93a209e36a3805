//! Names that become identity.

use crate::bundle::discover::Draft;
use crate::bundle::report::Report;
use crate::bundle::text::harmless;
use crate::component::Location;
use crate::identity::{NAME_RULE, is_name};

pub(super) fn bad_name(draft: &Draft<'_>, report: &mut Report) {
    let builder = draft.builder;
    let mut check = |what: &str, name: &str, at: Location| {
        if !is_name(name) {
            report
                .add(at, format!("`{}` cannot be the name of {what}", harmless(name)))
                .help(format!("a name has {NAME_RULE}"));
        }
    };
    check("a bundle", &builder.name, builder.at);
    if let Some((instance, at)) = &builder.instance {
        check("an instance", instance, *at);
    }
    for (executor, at) in &builder.executors {
        check("an executor", executor.name(), *at);
    }
    for (component, _, at) in &builder.forget {
        check("a component", component, *at);
    }
    for component in &draft.components {
        check("a component", component.def.name, component.def.location);
    }
    for (_, handler) in draft.handlers() {
        for name in handler
            .def
            .names
            .into_iter()
            .flat_map(|(name, aliases)| std::iter::once(name).chain(aliases.iter().copied()))
        {
            check("an event", name, handler.def.location);
        }
    }
}
