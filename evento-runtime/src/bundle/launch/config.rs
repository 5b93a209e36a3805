//! Settings from outside: names that do not exist, and values that are of another kind.

use crate::bundle::config::{Entry, Raw};
use crate::bundle::discover::Draft;
use crate::bundle::report::Report;
use crate::bundle::text::{harmless, list, nearest};
use crate::component::Kind;
use crate::executor::ConsumerExecutor as _;

/// What a setting takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    Size,
    Time,
    Mode,
    Flag,
    Texts,
    Retry,
    Count,
    Start,
    DeadLetter,
}

impl Shape {
    fn fits(self, value: &Raw) -> bool {
        match self {
            Self::Size => value.size().is_some(),
            Self::Time => value.time().is_some(),
            Self::Mode => value.mode().is_some(),
            Self::Flag => value.flag().is_some(),
            Self::Texts => value.texts().is_some(),
            Self::Retry => value.retry().is_some(),
            Self::Count => value.count().is_some(),
            Self::Start => value.start().is_some(),
            Self::DeadLetter => value.dead_letter().is_some(),
        }
    }

    const fn words(self) -> &'static str {
        match self {
            Self::Size | Self::Count => "a whole number, 0 or more",
            Self::Time => "a time such as `250ms`, `5s`, `2m`, `1h` or `7d`",
            Self::Mode => "`on-start` or `watermark`",
            Self::Flag => "`true` or `false`",
            Self::Texts => "texts: a list in TOML, with commas between them in a variable",
            Self::Retry => "a whole number: further attempts, or -1 for ever",
            Self::Start => "`beginning` or `head`",
            Self::DeadLetter => "`skip` or `park`",
        }
    }
}

const OF_BUNDLE: &[(&str, Shape)] = &[
    ("admission_wait", Shape::Time),
    ("checkpoint", Shape::Mode),
    ("checkpoint_every", Shape::Size),
    ("checkpoint_interval", Shape::Time),
    ("claim_expiry", Shape::Time),
    ("dedupe_window", Shape::Time),
    ("keep_audit", Shape::Time),
    ("keep_events", Shape::Time),
    ("keep_resolved", Shape::Time),
    ("look_ahead", Shape::Size),
    ("look_ahead_bytes", Shape::Size),
    ("max_delay", Shape::Time),
    ("page", Shape::Size),
    ("parked_events", Shape::Size),
    ("parked_queue", Shape::Size),
    ("poll_max", Shape::Time),
    ("poll_min", Shape::Time),
    ("retry_delay", Shape::Time),
    ("stop_deadline", Shape::Time),
    ("unclean_ends", Shape::Count),
    ("window", Shape::Size),
];

const OF_EXECUTOR: &[(&str, Shape)] = &[("capacity", Shape::Size)];

const OF_COMPONENT: &[(&str, Shape)] = &[
    ("checkpoint", Shape::Mode),
    ("contexts", Shape::Texts),
    ("dead_letter", Shape::DeadLetter),
    ("enabled", Shape::Flag),
    ("redrive_transient", Shape::Time),
    ("start", Shape::Start),
    ("wait_for_head", Shape::Flag),
];

const OF_HANDLER: &[(&str, Shape)] = &[
    ("batch", Shape::Count),
    ("linger", Shape::Time),
    ("max_delay", Shape::Time),
    ("retry", Shape::Retry),
    ("retry_delay", Shape::Time),
    ("timeout", Shape::Time),
];

/// What is wrong with a path.
struct Unknown {
    what: &'static str,
    part: String,
    help: String,
}

impl Unknown {
    fn new<'a>(what: &'static str, part: &str, names: impl Iterator<Item = &'a str> + Clone) -> Self {
        let guess = nearest(part, names.clone()).map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
        let mut known: Vec<&str> = names.collect();
        known.sort_unstable();
        known.dedup();
        let help =
            if known.is_empty() { "there is none".to_owned() } else { format!("{guess}there is: {}", list(known)) };
        Self { what, part: part.to_owned(), help }
    }
}

fn setting(entry: &Entry, part: &str, table: &[(&'static str, Shape)]) -> Result<Shape, Unknown> {
    let found = table.iter().find(|(name, _)| entry.means(part, name)).map(|(_, shape)| *shape);
    found.ok_or_else(|| Unknown::new("setting", part, table.iter().map(|(name, _)| *name)))
}

/// What the setting at a path takes.
fn shape(draft: &Draft<'_>, entry: &Entry) -> Result<Shape, Unknown> {
    let path: Vec<&str> = entry.path.iter().map(String::as_str).collect();
    match *path {
        [group, name, setting_of] if entry.means(group, "executor") => {
            let names = draft.builder.executors.iter().map(|(executor, _)| executor.name());
            if !names.clone().any(|known| entry.means(name, known)) {
                return Err(Unknown::new("executor", name, names));
            }
            setting(entry, setting_of, OF_EXECUTOR)
        }
        [group, name, ref rest @ ..] if entry.means(group, "component") && !rest.is_empty() => {
            let names = draft.components.iter().map(|component| component.def.name);
            let mut meant =
                draft.components.iter().filter(|component| entry.means(name, component.def.name)).peekable();
            if meant.peek().is_none() {
                return Err(Unknown::new("component", name, names));
            }
            match *rest {
                [setting_of] => setting(entry, setting_of, OF_COMPONENT),
                [group, handler, setting_of] if entry.means(group, "handler") => {
                    let methods: Vec<&str> =
                        meant.flat_map(|of| of.handlers.iter().map(|handler| handler.def.method)).collect();
                    if !methods.iter().any(|method| entry.means(handler, method)) {
                        return Err(Unknown::new("handler", handler, methods.iter().copied()));
                    }
                    setting(entry, setting_of, OF_HANDLER)
                }
                _ => {
                    Err(Unknown::new("setting", rest[0], OF_COMPONENT.iter().map(|(name, _)| *name).chain(["handler"])))
                }
            }
        }
        [name] => setting(entry, name, OF_BUNDLE),
        _ => {
            let groups = OF_BUNDLE.iter().map(|(name, _)| *name).chain(["component", "executor"]);
            Err(Unknown::new("setting", path.first().copied().unwrap_or_default(), groups))
        }
    }
}

pub(super) fn unknown_setting(draft: &Draft<'_>, report: &mut Report) {
    for entry in &draft.builder.config.entries {
        if let Err(unknown) = shape(draft, entry) {
            let (path, part) = (harmless(&entry.to_string()), harmless(&unknown.part));
            report
                .add(entry.at, format!("the configuration sets `{path}`, but there is no {} `{part}`", unknown.what))
                .help(unknown.help);
        }
    }
}

pub(super) fn bad_value(draft: &Draft<'_>, report: &mut Report) {
    for entry in &draft.builder.config.entries {
        let Ok(shape) = shape(draft, entry) else { continue };
        let path = harmless(&entry.to_string());
        if !shape.fits(&entry.value) {
            report.add(entry.at, format!("the configuration's value of `{path}` does not fit")).help(shape.words());
            continue;
        }
        match *entry.path.iter().map(String::as_str).collect::<Vec<_>>() {
            [_, name, _] if shape == Shape::Size => {
                let fixed = draft.builder.executors.iter().find(|(executor, _)| {
                    entry.means(name, executor.name()) && executor.capacity() != entry.value.size()
                });
                if let Some((executor, at)) = fixed {
                    let name = harmless(executor.name());
                    report
                        .add(entry.at, format!("executor `{name}` ({at}) cannot be given another capacity"))
                        .help("only `tasks`, `partitioned` and `pooled` can");
                }
            }
            [_, name, _] if shape == Shape::Mode => {
                let others = |kind| kind != Kind::Projector;
                let of = draft.components.iter().find(|of| entry.means(name, of.def.name) && others(of.def.kind));
                if let Some(of) = of {
                    report
                        .add(entry.at, format!("`{}` has no checkpoint mode", harmless(of.def.name)))
                        .help("what a saga or an observer handles is covered only once it is settled, in every mode");
                }
            }
            [_, name, _, handler, setting] if entry.means(setting, "batch") || entry.means(setting, "linger") => {
                let mut meant = draft.handlers().filter(|(of, one)| {
                    entry.means(name, of.def.name) && entry.means(handler, one.def.method) && one.def.batch.is_none()
                });
                if let Some((of, one)) = meant.next() {
                    report
                        .add(entry.at, format!("`{}` takes one event at a time", of.label(one)))
                        .help("only a handler that takes a `Vec` of events, with `batch` in its attribute, has that");
                }
            }
            _ => {}
        }
    }
}
