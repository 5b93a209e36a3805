//! Executors and who names them.

use crate::bundle::discover::Draft;
use crate::bundle::report::Report;
use crate::bundle::text::{did_you_mean, harmless, list};
use crate::executor::MAX_CAPACITY;

pub(super) fn unknown_executor(draft: &Draft<'_>, report: &mut Report) {
    let names = || draft.builder.executors.iter().map(|(executor, _)| executor.name());
    for (component, handler) in draft.handlers() {
        let Some(name) = handler.def.executor.filter(|name| draft.executor(name).is_none()) else { continue };
        let help = if draft.builder.executors.is_empty() {
            format!("no executor is registered; add `.executor(ConsumerExecutors::tasks(\"{}\", 8))`", harmless(name))
        } else {
            format!("{}registered: {}", did_you_mean(name, names()), list(names()))
        };
        report
            .add(
                handler.def.location,
                format!(
                    "`{}` runs on executor `{}`, which is not registered",
                    component.label(handler),
                    harmless(name)
                ),
            )
            .help(help);
    }
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
