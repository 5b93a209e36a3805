//! Values that are asked for and values that are given.

use crate::bundle::discover::Draft;
use crate::bundle::report::Report;
use crate::bundle::text::short_type;
use crate::component::{Build, Kind, Location};
use crate::deps::Need;

pub(super) fn missing_dependency(draft: &Draft<'_>, report: &mut Report) {
    let provided = Provided::of(draft);
    for component in &draft.components {
        let def = component.def;
        if let (Build::With { needs, .. }, None) = (def.build, &component.value) {
            let who = format!("the constructor of `{}`", def.name);
            provided.check(report, &who, def.location, needs.iter());
        }
        for (attribute, hook) in component.all_hooks() {
            let who = format!("`{}::{}` (`{attribute}`)", def.name, hook.method);
            provided.check(report, &who, hook.location, hook.needs.iter().copied().flatten());
        }
        for handler in &component.handlers {
            let who = format!("`{}`", component.label(handler));
            provided.check(report, &who, handler.def.location, handler.def.needs.iter().copied().flatten());
        }
    }
}

pub(super) fn only_in_a_saga(draft: &Draft<'_>, report: &mut Report) {
    for (component, handler) in draft.handlers().filter(|(component, _)| component.def.kind != Kind::Saga) {
        for need in handler.def.needs.iter().copied().flatten().filter(|need| need.is_of_saga()) {
            let (label, wanted) = (component.label(handler), short_type(need.type_name()));
            let message = format!("`{label}` takes `{wanted}`, which only handlers of sagas have");
            let help =
                format!("`{}` is a {}: it has no instances; take it out", component.def.name, component.def.kind);
            report.add(handler.def.location, message).help(help);
        }
    }
}

pub(super) fn no_constructor(draft: &Draft<'_>, report: &mut Report) {
    for component in &draft.components {
        let def = component.def;
        if matches!((def.build, &component.value), (Build::Given, None)) {
            let message = format!("`{}` has neither an `#[inject]` constructor nor `Default`", def.name);
            report.add(def.location, message).help(
                "write `#[inject] fn new(dependency: T) -> Self` in its block, derive `Default`, or give a value with \
                 `.component(..)`",
            );
        }
    }
}

struct Provided {
    needs: Vec<Need>,
    /// What interceptors put for each attempt.
    locals: Vec<Need>,
    has_store: bool,
}

impl Provided {
    fn of(draft: &Draft<'_>) -> Self {
        let builder = draft.builder;
        let mut needs: Vec<Need> = builder.provided.iter().map(|(need, _)| *need).collect();
        needs.extend(builder.stores.iter().flat_map(|(store, _)| store.supplies()));
        let locals = builder.dispatch.interceptors.iter().flat_map(|interceptor| interceptor.puts()).collect();
        Self { needs, locals, has_store: !builder.stores.is_empty() }
    }

    fn check<'n>(&self, report: &mut Report, who: &str, at: Location, needs: impl Iterator<Item = &'n Need>) {
        // For what only a saga has, see `only_in_a_saga`.
        for need in needs.filter(|need| !need.is_of_engine()) {
            if need.is_local() {
                if !self.locals.iter().any(|put| put.type_id() == need.type_id()) {
                    let wanted = short_type(need.type_name());
                    report.add(at, format!("{who} takes a `Local<{wanted}>`, but no interceptor puts one")).help(
                        "register an `.interceptor(..)` that names it in `puts` and puts it in `before` or `around`",
                    );
                }
                continue;
            }
            if !self.needs.iter().any(|given| given.type_id() == need.type_id()) {
                let wanted = self.label(need);
                report.add(at, format!("{who} takes a `{wanted}`, but none was provided")).help(self.help(need));
            }
        }
    }

    /// Without paths, unless that could be another type.
    fn label(&self, need: &Need) -> String {
        let short = short_type(need.type_name());
        if self.needs.iter().any(|given| short_type(given.type_name()) == short) {
            return need.type_name().to_owned();
        }
        short
    }

    fn help(&self, need: &Need) -> String {
        let wanted = short_type(need.type_name());
        let wraps =
            |outer: &str, inner: &str| outer.strip_prefix("Arc<").and_then(|o| o.strip_suffix('>')) == Some(inner);
        let near = self
            .needs
            .iter()
            .map(|given| short_type(given.type_name()))
            .find(|given| wraps(given, &wanted) || wraps(&wanted, given) || *given == wanted);
        match near {
            Some(near) if near == wanted => {
                "another type of that name is provided; two versions of one crate are two types".to_owned()
            }
            Some(near) => format!("a `{near}` is provided: take that, or provide a `{wanted}`"),
            None if self.has_store => "add `.provide(..)` to the bundle builder".to_owned(),
            None => "add `.provide(..)` to the bundle builder, or the `.store(..)` that supplies it".to_owned(),
        }
    }
}

pub(super) fn duplicate_dependency(draft: &Draft<'_>, report: &mut Report) {
    let provided = &draft.builder.provided;
    for (i, (second, at)) in provided.iter().enumerate() {
        if let Some((_, first)) = provided[..i].iter().find(|(first, _)| first.type_id() == second.type_id()) {
            let name = short_type(second.type_name());
            report
                .add(*at, format!("a `{name}` is provided twice, first at {first}"))
                .help("values are found by their type: wrap one of the two in a type of its own");
        }
    }
}
