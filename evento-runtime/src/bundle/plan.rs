//! The wiring of a bundle, to be read before anything runs.

use std::fmt;

use serde_json::{Value, json};

use super::discover::{Draft, DraftComponent, DraftHandler};
use super::report::Problem;
use super::settings::{Origin, Setting};
use super::style::Style;
use super::text::{self, first_line, short_type};
use crate::component::{Build, Kind, Location};
use crate::deps::Need;

/// What a bundle will do: components, handlers, executors, every setting with who said it, and what it needs.
///
/// Print it in CI, or compare [`to_json`](Self::to_json) with a file to see what a change does to the wiring.
#[derive(Debug, Clone)]
pub struct Plan {
    bundle: String,
    at: Location,
    store: Option<StoreEntry>,
    components: Vec<ComponentEntry>,
    executors: Vec<ExecutorEntry>,
    settings: Vec<Entry>,
    needs: Vec<NeedEntry>,
    forget: Vec<(String, u32)>,
    warnings: Vec<Problem>,
}

#[derive(Debug, Clone)]
struct StoreEntry {
    description: String,
    durable: bool,
    writers: Option<usize>,
}

#[derive(Debug, Clone)]
struct ComponentEntry {
    kind: Kind,
    name: &'static str,
    version: u32,
    docs: &'static str,
    package: &'static str,
    location: Location,
    settings: Vec<Entry>,
    on_start: Option<&'static str>,
    on_reset: Option<&'static str>,
    handlers: Vec<HandlerEntry>,
}

#[derive(Debug, Clone)]
struct HandlerEntry {
    method: &'static str,
    event: Option<&'static str>,
    aliases: &'static [&'static str],
    executor: Option<&'static str>,
    /// The field that its events are ordered by.
    key: Option<&'static str>,
    /// Whether it begins instances, and what they are found by.
    saga: Option<(bool, &'static str)>,
    /// The database whose transaction it takes.
    transaction: Option<String>,
    docs: &'static str,
    location: Location,
    settings: Vec<Entry>,
}

#[derive(Debug, Clone)]
struct ExecutorEntry {
    name: String,
    capacity: Option<usize>,
    rate: Option<String>,
    /// Who said it, if it was not the code.
    capacity_from: Option<Location>,
    keeps_key_order: bool,
    users: Vec<String>,
}

/// A type somebody takes, and who has it.
#[derive(Debug, Clone)]
struct NeedEntry {
    type_name: &'static str,
    from: Option<Location>,
}

/// A setting: name, value, who said it.
#[derive(Debug, Clone)]
struct Entry {
    name: &'static str,
    value: Value,
    /// Where the value alone says too little to people.
    words: Option<&'static str>,
    origin: Origin,
}

impl Entry {
    fn new<T>(name: &'static str, setting: &Setting<T>, value: impl FnOnce(&T) -> Value) -> Self {
        Self { name, value: value(&setting.value), words: None, origin: setting.origin }
    }

    const fn in_words(mut self, words: Option<&'static str>) -> Self {
        self.words = words;
        self
    }
}

/// `retry 3 (attribute)`.
impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = match (&self.value, self.words) {
            (_, Some(words)) => words.to_owned(),
            (Value::String(text), None) => text.clone(),
            (Value::Array(items), None) => text::list(items.iter().filter_map(Value::as_str)),
            (other, None) => other.to_string(),
        };
        write!(f, "{} {value} ({})", self.name, self.origin)
    }
}

fn entries_to_json(entries: &[Entry]) -> Value {
    entries
        .iter()
        .map(|entry| (entry.name.to_owned(), json!({ "value": entry.value, "origin": entry.origin.to_json() })))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

fn shown<T: fmt::Debug>(value: &T) -> Value {
    format!("{value:?}").into()
}

impl ComponentEntry {
    fn of(component: &DraftComponent) -> Self {
        let (def, settings) = (component.def, &component.settings);
        Self {
            kind: def.kind,
            name: def.name,
            version: def.version,
            docs: def.docs,
            package: def.package,
            location: def.location,
            settings: [
                Entry::new("start", &settings.start, |start| start.to_string().into()),
                Entry::new("contexts", &settings.contexts, |contexts| contexts.clone().into()),
                Entry::new("checkpoint", &settings.mode, |mode| mode.to_string().into()),
                Entry::new("wait_for_head", &settings.wait_for_head, |wait| (*wait).into()),
                Entry::new("dead_letter", &settings.dead_letter, |policy| policy.to_string().into()),
            ]
            .into_iter()
            .chain(settings.redrive_transient.as_ref().map(|every| Entry::new("redrive_transient", every, shown)))
            .chain(settings.enabled.as_ref().map(|enabled| Entry::new("enabled", enabled, |enabled| (*enabled).into())))
            .collect(),
            on_start: component.hooks.first().map(|hook| hook.method),
            on_reset: component.resets.first().map(|hook| hook.method),
            handlers: component.handlers.iter().map(HandlerEntry::of).collect(),
        }
    }
}

impl HandlerEntry {
    fn of(handler: &DraftHandler) -> Self {
        let (def, settings) = (handler.def, &handler.settings);
        let for_ever = match (settings.retry.value, def.executor) {
            (-1, Some(_)) => Some("0 instead of -1"),
            (-1, None) => Some("for ever"),
            _ => None,
        };
        let mut entries = vec![
            Entry::new("retry", &settings.retry, |retry| (*retry).into()).in_words(for_ever),
            Entry::new("retry_delay", &settings.retry_delay, shown),
            Entry::new("max_delay", &settings.max_delay, shown),
        ];
        entries.extend(settings.timeout.as_ref().map(|timeout| Entry::new("timeout", timeout, shown)));
        entries
            .extend(settings.abandon.as_ref().map(|abandon| Entry::new("on_timeout", abandon, |_| "abandon".into())));
        entries.extend(settings.batch.as_ref().map(|batch| Entry::new("batch", batch, |most| (*most).into())));
        entries.extend(settings.linger.as_ref().map(|linger| Entry::new("linger", linger, shown)));
        Self {
            method: def.method,
            event: def.names.map(|(name, _)| name),
            aliases: def.names.map_or(&[], |(_, aliases)| aliases),
            executor: def.executor,
            key: def.key.map(|key| key.field),
            saga: def.saga.map(|saga| (saga.init, saga.property)),
            transaction: def.transaction.map(|database| short_type(database.type_name())),
            docs: def.docs,
            location: def.location,
            settings: entries,
        }
    }
}

impl Plan {
    pub(super) fn of(draft: &Draft<'_>, warnings: Vec<Problem>) -> Self {
        let (builder, sizes) = (draft.builder, &draft.sizes);
        let number = |size: &usize| (*size).into();
        let kept = builder.defaults.kept();
        let kept: Vec<Entry> =
            kept.iter().filter_map(|(name, time)| Some(Entry::new(name, time.as_ref()?, shown))).collect();
        let executors = builder.executors.iter().map(|(executor, _)| ExecutorEntry {
            name: executor.name().to_owned(),
            capacity: executor.capacity(),
            rate: executor.rate_limit().map(|limit| limit.to_string()),
            capacity_from: builder
                .config
                .size(&["executor", executor.name(), "capacity"])
                .filter(|(capacity, _)| executor.capacity() == Some(*capacity))
                .map(|(_, at)| at),
            keeps_key_order: executor.keeps_key_order(),
            users: draft
                .handlers()
                .filter(|(_, handler)| handler.def.executor == Some(executor.name()))
                .map(|(component, handler)| component.label(handler))
                .collect(),
        });
        let mut executors: Vec<ExecutorEntry> = executors.collect();
        executors.sort_by(|a, b| a.name.cmp(&b.name));
        Self {
            bundle: builder.name.clone(),
            at: builder.at,
            store: builder.stores.first().map(|(store, _)| StoreEntry {
                description: store.describe(),
                durable: store.is_durable(),
                writers: store.writers(),
            }),
            components: draft.components.iter().map(ComponentEntry::of).collect(),
            executors,
            settings: [
                Entry::new("window", &sizes.window, number),
                Entry::new("checkpoint_every", &sizes.checkpoint_every, number),
                Entry::new("checkpoint_interval", &sizes.checkpoint_interval, shown),
                Entry::new("page", &sizes.page, number),
                Entry::new("look_ahead", &sizes.look_ahead, number),
                Entry::new("look_ahead_bytes", &sizes.look_ahead_bytes, number),
                Entry::new("unclean_ends", &sizes.unclean_ends, |ends| (*ends).into()),
                Entry::new("admission_wait", &sizes.admission_wait, shown),
                Entry::new("parked_queue", &sizes.parked_queue, number),
                Entry::new("parked_events", &sizes.parked_events, number),
                Entry::new("claim_expiry", &sizes.claim_expiry, shown),
                Entry::new("dedupe_window", &sizes.dedupe_window, shown),
                Entry::new("poll_min", &sizes.poll_min, shown),
                Entry::new("poll_max", &sizes.poll_max, shown),
            ]
            .into_iter()
            .chain(kept)
            .collect(),
            needs: needs(draft),
            forget: builder.forget.iter().map(|(name, version, _)| (name.clone(), *version)).collect(),
            warnings,
        }
    }

    /// As JSON, for machines: the same as is printed.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({
            "bundle": self.bundle,
            "store": self.store.as_ref().map(|store| json!({
                "description": store.description,
                "durable": store.durable,
                "writers": store.writers,
            })),
            "components": self.components.iter().map(ComponentEntry::to_json).collect::<Vec<_>>(),
            "executors": self.executors.iter().map(|executor| json!({
                "name": executor.name,
                "capacity": executor.capacity,
                "rate": executor.rate,
                "capacity_origin": executor.capacity_from.map(|at| Origin::Config(at).to_json()),
                "keeps_key_order": executor.keeps_key_order,
                "handlers": executor.users,
            })).collect::<Vec<_>>(),
            "settings": entries_to_json(&self.settings),
            "needs": self.needs.iter().map(|need| json!({
                "type": need.type_name,
                "provided_by": if need.from.is_some() { "bundle" } else { "store" },
            })).collect::<Vec<_>>(),
            "forget": self.forget.iter().map(|(name, version)| json!({
                "component": name,
                "version": version,
            })).collect::<Vec<_>>(),
            "warnings": self.warnings.iter().map(Problem::to_json).collect::<Vec<_>>(),
        })
    }
}

impl ComponentEntry {
    fn to_json(&self) -> Value {
        json!({
            "kind": self.kind.to_string(),
            "name": self.name,
            "version": self.version,
            "docs": first_line(self.docs),
            "crate": self.package,
            "file": self.location.file,
            "line": self.location.line,
            "settings": entries_to_json(&self.settings),
            "on_start": self.on_start,
            "on_reset": self.on_reset,
            "handlers": self.handlers.iter().map(|handler| json!({
                "method": handler.method,
                "event": handler.event,
                "aliases": handler.aliases,
                "executor": handler.executor,
                "key": handler.key,
                "init": handler.saga.map(|(init, _)| init),
                "association": handler.saga.map(|(_, property)| property),
                "transaction": handler.transaction,
                "docs": first_line(handler.docs),
                "file": handler.location.file,
                "line": handler.location.line,
                "settings": entries_to_json(&handler.settings),
            })).collect::<Vec<_>>(),
        })
    }
}

/// Every type somebody takes, by name.
fn needs(draft: &Draft<'_>) -> Vec<NeedEntry> {
    let mut needs: Vec<Need> = Vec::new();
    for component in &draft.components {
        if let (Build::With { needs: taken, .. }, None) = (component.def.build, &component.value) {
            needs.extend(taken);
        }
        let hooks = component.all_hooks().flat_map(|(_, hook)| hook.needs);
        let handlers = component.handlers.iter().flat_map(|handler| handler.def.needs);
        needs.extend(hooks.chain(handlers).copied().flatten());
    }
    // Neither the bundle nor the store gives the others.
    needs.retain(|need| !need.is_of_engine() && !need.is_local());
    needs.sort_by_cached_key(|need| (short_type(need.type_name()), need.type_name(), need.type_id()));
    needs.dedup_by_key(|need| need.type_id());
    let from = |need: &Need| {
        draft.builder.provided.iter().find(|(given, _)| given.type_id() == need.type_id()).map(|(_, at)| *at)
    };
    needs.iter().map(|need| NeedEntry { type_name: need.type_name(), from: from(need) }).collect()
}

/// Lines of warnings are broken before column 100; `{:72}` breaks them before column 72, `{:#}` not at all.
impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "bundle {}  {}", self.bundle, self.at)?;
        if let Some(store) = &self.store {
            let durable = if store.durable { "durable" } else { "ends with the process" };
            write!(f, "  store {}, {durable}", store.description)?;
            match store.writers {
                Some(writers) => writeln!(f, ", {}", text::count(writers, "writer"))?,
                None => writeln!(f)?,
            }
        }
        for need in &self.needs {
            write!(f, "  needs {}  ", short_type(need.type_name))?;
            match need.from {
                Some(at) => writeln!(f, "provided, {at}")?,
                None => writeln!(f, "from the store")?,
            }
        }
        for (name, version) in &self.forget {
            writeln!(f, "  forgets {name} v{version}")?;
        }
        write_entries(f, &self.settings)?;
        for component in &self.components {
            writeln!(f)?;
            component.write(f)?;
        }
        for executor in &self.executors {
            write!(f, "\nexecutor {}  ", executor.name)?;
            match executor.capacity {
                Some(capacity) => {
                    write!(f, "capacity {capacity}")?;
                    if let Some(at) = executor.capacity_from {
                        write!(f, " ({})", Origin::Config(at))?;
                    }
                }
                None => f.write_str("unbounded")?,
            }
            if let Some(rate) = &executor.rate {
                write!(f, ", starts {rate}")?;
            }
            writeln!(f, "{}", if executor.keeps_key_order { ", keeps the order of a key" } else { "" })?;
            for user in &executor.users {
                writeln!(f, "  {user}")?;
            }
        }
        if !self.warnings.is_empty() {
            writeln!(f, "\n{}", text::count(self.warnings.len(), "warning"))?;
            let style = Style::of(f);
            for (i, warning) in self.warnings.iter().enumerate() {
                warning.write(f, i + 1, style)?;
                writeln!(f)?;
            }
        }
        Ok(())
    }
}

fn write_entries(f: &mut fmt::Formatter<'_>, entries: &[Entry]) -> fmt::Result {
    entries.iter().try_for_each(|entry| writeln!(f, "  {entry}"))
}

impl ComponentEntry {
    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} {} v{}  {}", self.kind, self.name, self.version, self.location)?;
        if !first_line(self.docs).is_empty() {
            writeln!(f, "  {}", first_line(self.docs))?;
        }
        write_entries(f, &self.settings)?;
        if let Some(hook) = self.on_start {
            writeln!(f, "  on_start {hook}")?;
        }
        if let Some(hook) = self.on_reset {
            writeln!(f, "  on_reset {hook}")?;
        }
        for handler in &self.handlers {
            write!(f, "  {} <- {}", handler.method, handler.event.unwrap_or("every other event"))?;
            if !handler.aliases.is_empty() {
                write!(f, " (also {})", text::list(handler.aliases.iter().copied()))?;
            }
            if let Some((init, property)) = handler.saga {
                write!(f, " by {}{}", text::harmless(property), if init { ", init" } else { "" })?;
            }
            match handler.executor {
                Some(executor) => write!(f, ", on {executor}")?,
                None => f.write_str(", in order")?,
            }
            if let Some(key) = handler.key {
                write!(f, ", by key {}", text::harmless(key))?;
            }
            if let Some(database) = &handler.transaction {
                write!(f, ", in a transaction of {database}")?;
            }
            writeln!(f, "  {}", handler.location)?;
            if !first_line(handler.docs).is_empty() {
                writeln!(f, "    {}", first_line(handler.docs))?;
            }
            let settings: Vec<String> = handler.settings.iter().map(Entry::to_string).collect();
            writeln!(f, "    {}", settings.join(", "))?;
        }
        Ok(())
    }
}
