//! Handlers of one component beside each other, and what their settings come to.

use std::collections::BTreeMap;

use crate::bundle::discover::{Draft, DraftHandler};
use crate::bundle::report::Report;
use crate::bundle::settings::Origin;

pub(super) fn no_handlers(draft: &Draft<'_>, report: &mut Report) {
    for component in draft.components.iter().filter(|component| component.handlers.is_empty()) {
        let name = component.def.name;
        let help = if component.def.open {
            format!(
                "write `#[event_handler(projector = {})]` on free functions, and link the crates they are in",
                component.type_label()
            )
        } else {
            "write `#[event_handler]` on a method of its `impl` block".to_owned()
        };
        report.add(component.def.location, format!("`{name}` has no event handler")).help(help);
    }
}

pub(super) fn duplicate_handler(draft: &Draft<'_>, report: &mut Report) {
    for component in &draft.components {
        let mut first: BTreeMap<Option<&str>, &DraftHandler> = BTreeMap::new();
        let mut handlers: Vec<&DraftHandler> = component.handlers.iter().collect();
        handlers.sort_by_key(|handler| handler.def.location);
        for handler in handlers {
            let names: Vec<Option<&'static str>> = match handler.def.names {
                Some((name, aliases)) => std::iter::once(name).chain(aliases.iter().copied()).map(Some).collect(),
                None => vec![None],
            };
            for name in names {
                let other = *first.entry(name).or_insert(handler);
                if std::ptr::eq(other, handler) {
                    continue;
                }
                let (this, that) = (component.label(handler), component.label(other));
                let crates = if other.def.package == handler.def.package {
                    String::new()
                } else {
                    format!(" in crate `{}`", other.def.package)
                };
                let there = other.def.location;
                let (message, help) = match name {
                    Some(name) => (
                        format!("`{this}` handles event `{name}`, and so does `{that}` at {there}{crates}"),
                        "one component handles an event once: join the two, or make another component",
                    ),
                    None => (
                        format!("`{this}` is a second catch-all beside `{that}` at {there}{crates}"),
                        "only one handler of a component can take `RawEvent`",
                    ),
                };
                report.add(handler.def.location, message).help(help);
            }
        }
    }
}

pub(super) fn duplicate_hook(draft: &Draft<'_>, report: &mut Report) {
    for component in &draft.components {
        let Some((first, others)) = component.hooks.split_first() else { continue };
        for other in others {
            let name = component.def.name;
            let message = format!("`{name}` has a second `#[on_start]`, beside the one at {}", first.location);
            report.add(other.location, message).help("one hook prepares a component: join the two");
        }
    }
}

pub(super) fn retry_for_ever(draft: &Draft<'_>, report: &mut Report) {
    for (component, handler) in draft.handlers() {
        if let (Some(executor), -1) = (handler.def.executor, handler.settings.retry.value) {
            let said = match handler.settings.retry.origin {
                Origin::BuiltIn => " and says no `retry`",
                _ => ", where `retry = -1` becomes 0",
            };
            let label = component.label(handler);
            report
                .add(
                    handler.def.location,
                    format!(
                        "`{label}` runs on executor `{executor}`{said}: its first failed attempt gives the event to the \
                         dead letters"
                    ),
                )
                .help("say how many further attempts it gets, `retry = 3`, or `retry = 0` if this is meant");
        }
    }
}

pub(super) fn keyless_partitioned(draft: &Draft<'_>, report: &mut Report) {
    for (component, handler) in draft.handlers() {
        let keeps_order = draft.executor_of(handler).is_some_and(|executor| executor.keeps_key_order());
        if let (true, false, Some((event, _))) = (keeps_order, handler.def.has_key, handler.def.names) {
            report
                .add(
                    handler.def.location,
                    format!(
                        "`{}` runs on an executor that keeps the order of a key, but event `{event}` names no key",
                        component.label(handler)
                    ),
                )
                .help("add `#[event(key = field)]` to the event; without it only events appended with a key stay in order");
        }
    }
}
