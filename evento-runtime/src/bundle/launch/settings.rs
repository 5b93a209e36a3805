//! Values that cannot be used, and settings that cannot hold together.

use std::time::Duration;

use crate::bundle::discover::{Draft, DraftComponent, type_label};
use crate::bundle::report::Report;
use crate::bundle::settings::{Origin, Setting, What};
use crate::bundle::text::{harmless, list, short_type};
use crate::component::{Kind, Location};
use crate::identity::ContextPattern;
use crate::policy::{CheckpointMode, DeadLetterPolicy};

fn at_or<T>(setting: &Setting<T>, default: Location) -> Location {
    setting.origin.location().unwrap_or(default)
}

const SHORTEST: Duration = Duration::from_millis(1);
pub(super) const LONGEST: Duration = Duration::from_secs(366 * 24 * 3_600);

pub(super) fn bad_setting(draft: &Draft<'_>, report: &mut Report) {
    let (sizes, at) = (&draft.sizes, draft.builder.at);
    for (name, size) in [
        ("page", &sizes.page),
        ("look_ahead", &sizes.look_ahead),
        ("look_ahead_bytes", &sizes.look_ahead_bytes),
        ("window", &sizes.window),
        ("checkpoint_every", &sizes.checkpoint_every),
        ("parked_queue", &sizes.parked_queue),
        ("parked_events", &sizes.parked_events),
    ] {
        if size.value == 0 {
            report
                .add(at_or(size, at), format!("`{name}` is 0, which would never let an event through"))
                .help("at least 1");
        }
    }
    for (name, time) in [
        ("checkpoint_interval", &sizes.checkpoint_interval),
        ("admission_wait", &sizes.admission_wait),
        ("claim_expiry", &sizes.claim_expiry),
        ("dedupe_window", &sizes.dedupe_window),
        ("poll_min", &sizes.poll_min),
        ("poll_max", &sizes.poll_max),
    ] {
        if time.value < SHORTEST || time.value > LONGEST {
            report
                .add(at_or(time, at), format!("`{name}` cannot be {:?}", time.value))
                .help("at least a millisecond, at most a year");
        }
    }
    for component in &draft.components {
        let Some(every) = &component.settings.redrive_transient else { continue };
        if every.value < SHORTEST || every.value > LONGEST {
            let name = component.def.name;
            report
                .add(
                    at_or(every, component.def.location),
                    format!("`{name}` cannot have a `redrive_transient` of {:?}", every.value),
                )
                .help("at least a millisecond, at most a year");
        }
    }
    for (name, time) in draft.builder.defaults.kept() {
        if let Some(time) = time.filter(|time| time.value < SHORTEST || time.value > LONGEST * 100) {
            report
                .add(at_or(&time, at), format!("`{name}` cannot be {:?}", time.value))
                .help("at least a millisecond, at most a hundred years");
        }
    }
    for (component, handler) in draft.handlers() {
        let settings = &handler.settings;
        let label = component.label(handler);
        if settings.retry.value < -1 {
            report
                .add(
                    at_or(&settings.retry, handler.def.location),
                    format!("`{label}` has `retry = {}`", settings.retry.value),
                )
                .help("0 or more further attempts, or -1 for ever");
        }
        if settings.max_delay.value > LONGEST {
            report
                .add(
                    at_or(&settings.max_delay, handler.def.location),
                    format!("`{label}` cannot have a `max_delay` of {:?}", settings.max_delay.value),
                )
                .help("at most a year");
        }
        if let Some(timeout) =
            settings.timeout.as_ref().filter(|timeout| timeout.value.is_zero() || timeout.value > LONGEST)
        {
            report
                .add(
                    at_or(timeout, handler.def.location),
                    format!("`{label}` cannot have a `timeout` of {:?}", timeout.value),
                )
                .help("longer than nothing, at most a year");
        }
        if let Some(batch) = settings.batch.as_ref().filter(|batch| batch.value == 0) {
            report
                .add(at_or(batch, handler.def.location), format!("`{label}` cannot have a `batch` of 0"))
                .help("1 event or more at once");
        }
        if let Some(linger) = settings.linger.as_ref().filter(|linger| linger.value > LONGEST) {
            report
                .add(
                    at_or(linger, handler.def.location),
                    format!("`{label}` cannot have a `linger` of {:?}", linger.value),
                )
                .help("at most a year, and best a few milliseconds");
        }
        if settings.retry_delay.value > settings.max_delay.value {
            let (delay, max) = (settings.retry_delay.value, settings.max_delay.value);
            report
                .add(
                    handler.def.location,
                    format!("`{label}` has a `retry_delay` of {delay:?} above its `max_delay` of {max:?}"),
                )
                .help(match settings.max_delay.origin {
                    Origin::BuiltIn => format!("{max:?} is built in: say a longer `max_delay`, or lower `retry_delay`"),
                    Origin::Attribute(_) => "raise `max_delay`, or lower `retry_delay`".to_owned(),
                    Origin::Builder(at) | Origin::Component(at) | Origin::Config(at) => {
                        format!("raise the `max_delay` said at {at}, or lower `retry_delay`")
                    }
                });
        }
    }
}

pub(super) fn mode_contradiction(draft: &Draft<'_>, report: &mut Report) {
    let (window, every) = (&draft.sizes.window, &draft.sizes.checkpoint_every);
    if window.value > 0 && every.value > window.value {
        let at = match every.origin {
            Origin::BuiltIn => at_or(window, draft.builder.at),
            origin => origin.location().unwrap_or(draft.builder.at),
        };
        report
            .add(at, format!("a checkpoint every {} events never comes in a window of {}", every.value, window.value))
            .help("lower `checkpoint_every`, best to a quarter of the window, or raise `window`");
    }
    for (component, handler) in draft.handlers() {
        // Rule `no-on-start`.
        if component.settling().is_some() {
            continue;
        }
        let unbounded = draft.executor_of(handler).filter(|executor| executor.capacity().is_none());
        if let (Some(executor), CheckpointMode::OnStart) = (unbounded, component.mode()) {
            report
                .add(
                    handler.def.location,
                    format!(
                        "`{}` runs on unbounded executor `{}` under `on-start`, where a kill would lose any number of events",
                        component.label(handler),
                        executor.name()
                    ),
                )
                .help(watermark(component));
        }
    }
}

pub(super) fn no_checkpoint_mode(draft: &Draft<'_>, report: &mut Report) {
    let of_others = |what: &What, kind: Kind| matches!(what, What::Mode(_)) && kind != Kind::Projector;
    for said in draft.builder.for_components.iter().filter(|said| of_others(&said.what, said.def.kind)) {
        let (call, name, kind) = (said.call, type_label(said.def), said.def.kind);
        let article = if kind == Kind::Observer { "an" } else { "a" };
        report.add(said.at, format!("`.{call}::<{name}>(..)` is about {article} {kind}, which has no checkpoint mode")).help(
            "what a saga or an observer handles is covered only once it is settled, in every mode: take the setting out",
        );
    }
}

pub(super) fn no_on_start(draft: &Draft<'_>, report: &mut Report) {
    for component in draft.components.iter().filter(|component| component.mode() == CheckpointMode::OnStart) {
        let Some(handler) = component.settling() else { continue };
        let (name, label) = (component.def.name, component.label(handler));
        let why = match handler.def.transaction {
            Some(database) => {
                let database = short_type(database.type_name());
                format!("takes `&mut Tx<{database}>`, so that an event is covered by the commit of what was written")
            }
            None => "takes many events at once, and a kill would lose all that one call has begun".to_owned(),
        };
        let mode = &component.settings.mode;
        report
            .add(at_or(mode, component.def.location), format!("`{name}` cannot be covered `on-start`: `{label}` {why}"))
            .help(match mode.origin {
                Origin::Attribute(_) => "take `checkpoint = \"on-start\"` out of its attribute".to_owned(),
                Origin::Config(at) => format!("take {at} out of the configuration"),
                _ => format!("take `.component_checkpoint_mode::<{}>(..)` out", component.type_label()),
            });
    }
}

fn watermark(component: &DraftComponent) -> String {
    match component.settings.mode.origin {
        Origin::Attribute(_) => "say `checkpoint = \"watermark\"` in its attribute".to_owned(),
        Origin::Config(at) => format!("say `watermark` in the configuration ({at})"),
        _ => format!("add `.component_checkpoint_mode::<{}>(CheckpointMode::Watermark)`", component.type_label()),
    }
}

pub(super) fn unordered_park(draft: &Draft<'_>, report: &mut Report) {
    for (component, handler) in draft.handlers() {
        let policy = &component.settings.dead_letter;
        let unordered = draft.executor_of(handler).filter(|executor| !executor.keeps_key_order());
        if let (Some(executor), DeadLetterPolicy::Park) = (unordered, policy.value) {
            let (name, executor) = (component.def.name, executor.name());
            report
                .add(
                    at_or(policy, component.def.location),
                    format!(
                        "`{name}` cannot park keys: `{}` runs on executor `{executor}`, which keeps no order of a key",
                        component.label(handler)
                    ),
                )
                .help(format!(
                    "make it `ConsumerExecutors::partitioned(\"{executor}\", ..)`, or take the executor out of the handler"
                ));
        }
    }
}

pub(super) fn bad_context(draft: &Draft<'_>, report: &mut Report) {
    for component in &draft.components {
        let contexts = &component.settings.contexts;
        let at = at_or(contexts, component.def.location);
        let name = component.def.name;
        if contexts.value.is_empty() {
            report.add(at, format!("`{name}` is given no context, so it would read nothing")).help("`*` means all");
        }
        for context in &contexts.value {
            if let Err(reason) = ContextPattern::parse(context) {
                report
                    .add(at, format!("`{}` is no context pattern for `{name}`: {reason}", harmless(context)))
                    .help("write `*`, `tenant-*` or a whole context");
            }
        }
    }
}

pub(super) fn overlapping_contexts(draft: &Draft<'_>, report: &mut Report) {
    for component in &draft.components {
        let contexts = &component.settings.contexts;
        let patterns: Vec<ContextPattern> =
            contexts.value.iter().filter_map(|context| ContextPattern::parse(context).ok()).collect();
        for (i, a) in patterns.iter().enumerate() {
            for b in patterns[i + 1..].iter().filter(|b| a.overlaps(b)) {
                report
                    .add(
                        at_or(contexts, component.def.location),
                        format!(
                            "contexts `{a}` and `{b}` of `{}` overlap: it would see some events twice",
                            component.def.name
                        ),
                    )
                    .help("each pattern is a consumer of its own; leave one out, or make two components");
            }
        }
    }
}

pub(super) fn on_start(draft: &Draft<'_>, report: &mut Report) {
    for component in draft.components.iter().filter(|component| component.mode() == CheckpointMode::OnStart) {
        // Rule `no-on-start`.
        if component.settling().is_some() {
            continue;
        }
        let mut executors: Vec<(&str, usize)> = component
            .handlers
            .iter()
            .filter_map(|handler| draft.executor_of(handler))
            .filter_map(|executor| Some((executor.name(), executor.capacity()?)))
            .collect();
        executors.sort_unstable();
        executors.dedup();
        if executors.is_empty() {
            continue;
        }
        let most = executors.iter().fold(0, |sum: usize, (_, capacity)| sum.saturating_add(*capacity));
        let names = list(executors.iter().map(|(name, _)| *name));
        report
            .add(
                component.def.location,
                format!(
                    "a hard kill loses what `{}` has running on executor{} `{names}`, at most {most} event{}, because its \
                     checkpoint mode is `on-start`",
                    component.def.name,
                    if executors.len() == 1 { "" } else { "s" },
                    if most == 1 { "" } else { "s" },
                ),
            )
            .help(format!("to lose nothing, {}", watermark(component)));
    }
}
