//! Executors and who names them.

use std::collections::BTreeMap;

use super::settings::LONGEST;
use crate::bundle::discover::Draft;
use crate::bundle::report::Report;
use crate::bundle::text::{enumerated, harmless, list, nearest};
use crate::component::Location;
use crate::executor::{MAX_CAPACITY, RateLimit};

/// One finding per name, however many handlers say it: where many do, it is more likely the registration that is misspelt.
pub(super) fn unknown_executor(draft: &Draft<'_>, report: &mut Report) {
    let mut unknown: BTreeMap<&str, Vec<(Location, String)>> = BTreeMap::new();
    for (component, handler) in draft.handlers() {
        if let Some(name) = handler.def.executor.filter(|name| draft.executor(name).is_none()) {
            unknown.entry(name).or_default().push((handler.def.location, format!("`{}`", component.label(handler))));
        }
    }
    for (name, mut handlers) in unknown {
        handlers.sort();
        let labels: Vec<&str> = handlers.iter().map(|(_, label)| label.as_str()).collect();
        let run = if labels.len() == 1 { "runs" } else { "run" };
        let message =
            format!("{} {run} on executor `{}`, which is not registered", enumerated(&labels), harmless(name));
        if let Some((first, _)) = handlers.first() {
            report.add(*first, message).help(unknown_help(draft, name));
        }
    }
}

fn unknown_help(draft: &Draft<'_>, name: &str) -> String {
    let names = || draft.builder.executors.iter().map(|(executor, _)| executor.name());
    if draft.builder.executors.is_empty() {
        return format!(
            "no executor is registered; add `.executor(ConsumerExecutors::tasks(\"{}\", 8))`",
            harmless(name)
        );
    }
    let is_used = |executor: &str| draft.handlers().any(|(_, handler)| handler.def.executor == Some(executor));
    // One of the two is misspelt; nobody but the user knows which.
    let guess = match nearest(name, names()).and_then(|near| Some((near, draft.executor(near)?.1))) {
        Some((near, at)) if !is_used(near) => format!("did you mean `{near}` ({at}), which no handler names? "),
        Some((near, _)) => format!("did you mean `{near}`? "),
        None => String::new(),
    };
    format!("{guess}registered: {}", list(names()))
}

pub(super) fn duplicate_executor(draft: &Draft<'_>, report: &mut Report) {
    let executors = &draft.builder.executors;
    for (i, (second, at)) in executors.iter().enumerate() {
        if let Some((_, first)) = executors[..i].iter().find(|(first, _)| first.name() == second.name()) {
            report
                .add(*at, format!("executor `{}` is registered twice, first at {first}", harmless(second.name())))
                .help("a name is one budget for the whole bundle: take one out, or give it another name");
        }
    }
}

pub(super) fn bad_capacity(draft: &Draft<'_>, report: &mut Report) {
    for (executor, at) in &draft.builder.executors {
        let Some(capacity) = executor.capacity().filter(|capacity| !(1..=MAX_CAPACITY).contains(capacity)) else {
            continue;
        };
        report
            .add(*at, format!("executor `{}` cannot have a capacity of {capacity}", harmless(executor.name())))
            .help(format!("a capacity is 1 to {MAX_CAPACITY}"));
    }
}

pub(super) fn bad_rate(draft: &Draft<'_>, report: &mut Report) {
    for (executor, at) in &draft.builder.executors {
        let usable = |limit: &RateLimit| limit.starts > 0 && !limit.per.is_zero() && limit.per <= LONGEST;
        let Some(limit) = executor.rate_limit().filter(|limit| !usable(limit)) else { continue };
        report
            .add(*at, format!("executor `{}` cannot have a rate of {limit}", harmless(executor.name())))
            .help("a rate is at least 1 in a time above 0 and of at most a year: `.rate(10, Duration::from_secs(1))`");
    }
}

pub(super) fn unused_executor(draft: &Draft<'_>, report: &mut Report) {
    for (executor, at) in &draft.builder.executors {
        let name = executor.name();
        if !draft.handlers().any(|(_, handler)| handler.def.executor == Some(name)) {
            let used = list(draft.handlers().filter_map(|(_, handler)| handler.def.executor));
            let finding = report.add(*at, format!("no handler runs on executor `{}`", harmless(name)));
            if used.is_empty() {
                finding.help(format!("write `#[event_handler(executor = \"{name}\")]`, or take it out"));
            } else {
                finding.help(format!("handlers name: {used}"));
            }
        }
    }
}
