//! The store, as far as it is known before it is opened.

use std::any::TypeId;

use crate::bundle::discover::Draft;
use crate::bundle::report::Report;
use crate::bundle::text::short_type;
use crate::context::Outbox;

pub(super) fn no_store(draft: &Draft<'_>, report: &mut Report) {
    let builder = draft.builder;
    if builder.stores.is_empty() {
        report.add(builder.at, format!("bundle `{}` has no store to read events from", builder.name)).help(format!(
            "add `.store(Sqlite::file(\"{}.db\"))`, or `.store(Memory::new())` for a test",
            builder.name
        ));
    }
}

pub(super) fn duplicate_store(draft: &Draft<'_>, report: &mut Report) {
    if let [(_, first), rest @ ..] = draft.builder.stores.as_slice() {
        for (_, at) in rest {
            report
                .add(*at, format!("a second store is given, the first at {first}"))
                .help("one bundle has one store; another log is another bundle");
        }
    }
}

pub(super) fn volatile_store(draft: &Draft<'_>, report: &mut Report) {
    for (store, at) in &draft.builder.stores {
        if !store.is_durable() {
            report
                .add(
                    *at,
                    format!("store `{}` ends with the process: events, checkpoints and dead letters", store.describe()),
                )
                .help("fine for a test; otherwise `.store(Sqlite::file(\"..\"))`");
        }
    }
}

pub(super) fn few_writers(draft: &Draft<'_>, report: &mut Report) {
    for (store, _) in &draft.builder.stores {
        let Some(writers) = store.writers() else { continue };
        for (executor, at) in &draft.builder.executors {
            let used = draft.handlers().any(|(_, handler)| handler.def.executor == Some(executor.name()));
            if let Some(lanes) = executor.capacity().filter(|lanes| used && *lanes > writers) {
                let plural = if writers == 1 { "" } else { "s" };
                report
                    .add(*at, format!("executor `{}`: {lanes} lanes, {writers} writer{plural}", executor.name()))
                    .help(format!(
                        "handlers that write to store `{}` take turns there; what they do besides runs in parallel",
                        store.describe()
                    ));
            }
        }
    }
}

pub(super) fn foreign_outbox(draft: &Draft<'_>, report: &mut Report) {
    // Several are a fault of their own.
    let [(store, _)] = draft.builder.stores.as_slice() else { return };
    if !store.emits_elsewhere() {
        return;
    }
    for (component, handler) in draft.handlers() {
        let mut needs = handler.def.needs.iter().copied().flatten();
        if needs.any(|need| need.type_id() == TypeId::of::<Outbox>()) {
            let (label, store) = (component.label(handler), store.describe());
            report
                .add(
                    handler.def.location,
                    format!("`{label}` takes `Outbox`, but the state store appends to another log than `{store}`"),
                )
                .help(
                    "what it emits would not be read here: give `events` and `state_store` of one open store to \
                     `.engine(..)`, or append through a `Dep<T>`",
                );
        }
    }
}

pub(super) fn foreign_log(draft: &Draft<'_>, report: &mut Report) {
    // Several are a fault of their own.
    let [(store, _)] = draft.builder.stores.as_slice() else { return };
    if let Some((_, origin)) = draft.builder.defaults.keep_events
        && store.emits_elsewhere()
    {
        report
            .add(
                origin.location().unwrap_or(draft.builder.at),
                format!("`keep_events` would prune `{}`, but checkpoints are in another store", store.describe()),
            )
            .help("a log is pruned where it knows how far its consumers have come; leave it to whoever owns that log");
    }
}

pub(super) fn wrong_database(draft: &Draft<'_>, report: &mut Report) {
    // Several are a fault of their own.
    let [(store, _)] = draft.builder.stores.as_slice() else { return };
    let database = store.database();
    for (component, handler) in draft.handlers() {
        let Some(wanted) = handler.def.transaction else { continue };
        if database.is_some_and(|database| database.type_id() == wanted.type_id()) {
            continue;
        }
        let (label, wanted, store) = (component.label(handler), short_type(wanted.type_name()), store.describe());
        let taken = format!("`{label}` takes `&mut Tx<{wanted}>`, but store `{store}`");
        let (message, help) = match database.map(|database| short_type(database.type_name())) {
            Some(database) => (
                format!("{taken} is `{database}`"),
                format!(
                    "what a handler writes and that it has handled the event are one commit only in one database: take \
                     `&mut Tx<{database}>`, or give the bundle a `{wanted}` store"
                ),
            ),
            None => (
                format!("{taken} has no transactions"),
                format!("give the bundle a `{wanted}` store, or write through a `Dep<T>`"),
            ),
        };
        report.add(handler.def.location, message).help(help);
    }
}
