//! Handlers of one component beside each other, and what their settings come to.

use std::collections::BTreeMap;

use crate::bundle::discover::{Draft, DraftHandler};
use crate::bundle::report::Report;
use crate::bundle::settings::Origin;
use crate::bundle::text::short_type;
use crate::component::Kind;

pub(super) fn no_handlers(draft: &Draft<'_>, report: &mut Report) {
    for component in draft.components.iter().filter(|component| component.handlers.is_empty()) {
        let name = component.def.name;
        let (kind, open) = (component.def.kind, component.def.open);
        let handler = match (kind, open) {
            (Kind::Saga, true) => {
                format!("#[saga_event_handler(saga = {}, init, association = ..)]", component.type_label())
            }
            (Kind::Saga, false) => "#[saga_event_handler(init, association = ..)]".to_owned(),
            (Kind::Projector | Kind::Observer, true) => {
                format!("#[event_handler({kind} = {})]", component.type_label())
            }
            (Kind::Projector | Kind::Observer, false) => "#[event_handler]".to_owned(),
        };
        let help = match open {
            true => format!("write `{handler}` on free functions, and link the crates they are in"),
            false => format!("write `{handler}` on a method of its `impl` block"),
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
        for (attribute, what, hooks) in
            [("#[on_start]", "prepares", &component.hooks), ("#[on_reset]", "clears", &component.resets)]
        {
            let Some((first, others)) = hooks.split_first() else { continue };
            for other in others {
                let name = component.def.name;
                let message = format!("`{name}` has a second `{attribute}`, beside the one at {}", first.location);
                report.add(other.location, message).help(format!("one hook {what} a component: join the two"));
            }
        }
    }
}

/// A block is told by its attribute already.
pub(super) fn no_init(draft: &Draft<'_>, report: &mut Report) {
    for component in draft.components.iter().filter(|component| component.def.kind == Kind::Saga) {
        let begins = |handler: &DraftHandler| handler.def.saga.is_some_and(|saga| saga.init);
        if !component.handlers.is_empty() && !component.handlers.iter().any(begins) {
            let name = component.def.name;
            let message = format!("`{name}` has no handler with `init`: without one no instance would ever begin");
            let crates = if component.def.open { ", or link the crate of the one that has it" } else { "" };
            report
                .add(component.def.location, message)
                .help(format!("say `init` in the `#[saga_event_handler]` of the event that begins one{crates}"));
        }
    }
}

/// The same for the types of free functions, and for a name in a block that means two types.
pub(super) fn two_states(draft: &Draft<'_>, report: &mut Report) {
    for component in &draft.components {
        let mut stated: Vec<_> =
            component.handlers.iter().filter_map(|handler| Some((handler, handler.def.state?))).collect();
        stated.sort_by_key(|(handler, _)| handler.def.location);
        let Some(((first, state), others)) = stated.split_first() else { continue };
        for (handler, other) in others.iter().filter(|(_, other)| other.type_id != state.type_id) {
            let (wanted, given) = ((state.type_name)(), (other.type_name)());
            let (wanted, given) = match (short_type(wanted), short_type(given)) {
                (a, b) if a == b => (wanted.to_owned(), given.to_owned()),
                short => short,
            };
            let (this, that, there) = (component.label(handler), component.label(first), first.def.location);
            report
                .add(
                    handler.def.location,
                    format!("`{this}` takes a `{given}` as state, and `{that}` at {there} a `{wanted}`"),
                )
                .help("a saga has one state, whichever handler it comes to: take the same type in all of them");
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
        let has_key = handler.def.has_key || handler.def.key.is_some();
        if let (true, false, Some((event, _))) = (keeps_order, has_key, handler.def.names) {
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

/// A custom `HandlerDef` may have no executor at all; the macro refuses that.
pub(super) fn unordered_key(draft: &Draft<'_>, report: &mut Report) {
    for (component, handler) in draft.handlers() {
        let Some(key) = handler.def.key else { continue };
        let label = component.label(handler);
        let why = match (handler.def.executor, draft.executor_of(handler)) {
            (None, _) => "runs in line, after all that was before".to_owned(),
            (Some(_), Some(executor)) if !executor.keeps_key_order() => {
                format!("runs on executor `{}`, which keeps no order", executor.name())
            }
            // Rule `unknown-executor`.
            _ => continue,
        };
        report
            .add(handler.def.location, format!("`{label}` is to keep the order of `key = {}`, but {why}", key.field))
            .help("name an executor made by `ConsumerExecutors::partitioned`, or take `key` out");
    }
}
