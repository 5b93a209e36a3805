//! Which components there are, and which are talked about.

use crate::bundle::discover::{Draft, Linked, is_inside, type_label};
use crate::bundle::report::Report;
use crate::bundle::text::{did_you_mean, list};
use crate::component::ComponentDef;

const LINK: &str = "a crate that is never named is not linked, the `lib.rs` beside a `main.rs` included: add \
                    `evento_runtime::link!(its_name);`, or name the component with `.register::<T>()`";

pub(super) fn nothing_discovered(draft: &Draft<'_>, report: &mut Report) {
    let builder = draft.builder;
    let Some(at) = builder.discover else { return };
    if draft.discovered > 0 {
        return;
    }
    if draft.registry.components.is_empty() {
        report.add(at, "`.discover()` found no component in this binary").help(LINK);
        return;
    }
    let modules = list(builder.modules.iter().map(|(prefix, _)| prefix.as_str()));
    let found = list(draft.registry.components.iter().map(|def| def.module));
    report
        .add(at, format!("`.discover()` found no component inside of `{modules}`"))
        .help(format!("components were found in: {found}"));
}

pub(super) fn no_components(draft: &Draft<'_>, report: &mut Report) {
    if draft.components.is_empty() && draft.builder.discover.is_none() {
        report
            .add(draft.builder.at, format!("bundle `{}` has no component", draft.builder.name))
            .help("add `.discover()`, or `.register::<T>()` for each component");
    }
}

pub(super) fn linked_crate_empty(draft: &Draft<'_>, report: &mut Report) {
    if draft.builder.discover.is_none() {
        return;
    }
    for linked in draft.registry.linked.iter().filter(|linked| !draft.registry.has_any_of(linked)) {
        let name = linked.crate_name;
        let message = format!("crate `{name}` is linked with `link!`, but nothing is registered in it");
        report.add(linked.location, message).help(linked_help(draft, linked));
    }
}

fn linked_help(draft: &Draft<'_>, linked: &Linked) -> String {
    let name = linked.crate_name;
    if let Some(package) = linked.package {
        let found = draft.registry.unnamed_packages();
        return match found.is_empty() {
            true => format!("annotate a component in package `{package}`, or take it out of `link!`"),
            false => {
                format!("is `{package}` the name of the package? others that registered something: {}", list(found))
            }
        };
    }
    match draft.registry.unnamed_packages().as_slice() {
        // A renamed crate does not know its other name. What nobody named is probably it.
        [one] => format!(
            "if `Cargo.toml` renames package `{one}` to that, write `link!({name} = \"{one}\")`; if its handlers are in \
             crates it depends on, write `evento_runtime::link!(..)` in it as well; else take it out"
        ),
        _ => format!(
            "annotate a component in it, or take it out; if its handlers are in crates it depends on, write \
             `evento_runtime::link!(..)` in it as well; if `Cargo.toml` renames it, write `link!({name} = \"its-package\")`"
        ),
    }
}

pub(super) fn missing_expected(draft: &Draft<'_>, report: &mut Report) {
    for (def, at) in &draft.builder.expected {
        if !draft.components.iter().any(|component| component.def.type_id == def.type_id) {
            let name = type_label(def);
            report.add(*at, format!("`{name}` is expected, but it is not part of the bundle")).help(format!(
                "add `.register::<{name}>()`, or `.discover()` without a `.module(..)` that leaves it out"
            ));
        }
    }
}

pub(super) fn duplicate_component(draft: &Draft<'_>, report: &mut Report) {
    // Sorted by name and version.
    for pair in draft.components.windows(2) {
        let (a, b) = (pair[0].def, pair[1].def);
        if (a.name, a.version) == (b.name, b.version) {
            same_identity(a, b, report);
        }
    }
    let given = &draft.builder.given;
    for (i, second) in given.iter().enumerate() {
        if let Some(first) = given[..i].iter().find(|first| first.def.type_id == second.def.type_id) {
            report
                .add(second.at, format!("`{}` is registered twice, first at {}", second.def.name, first.at))
                .help("take one of the two out");
        }
    }
}

fn same_identity(a: &ComponentDef, b: &ComponentDef, report: &mut Report) {
    let (first, second) = if a.location <= b.location { (a, b) } else { (b, a) };
    let help = if a.module == b.module && a.location == b.location {
        "one source was compiled twice, as happens when a dev-dependency depends back on its crate; use `.register::<T>()`"
            .to_owned()
    } else {
        format!("say `name = \"..\"` in one of the attributes, or `version = {}`", second.version.saturating_add(1))
    };
    report
        .add(
            second.location,
            format!(
                "two components are `{}` version {}: `{}` of crate `{}` at {}, and `{}` of crate `{}`",
                first.name,
                first.version,
                (first.type_name)(),
                first.package,
                first.location,
                (second.type_name)(),
                second.package,
            ),
        )
        .help(help);
}

pub(super) fn unknown_component(draft: &Draft<'_>, report: &mut Report) {
    let known = || draft.components.iter().map(|component| component.def.name);
    for said in &draft.builder.for_components {
        if !draft.components.iter().any(|component| component.def.type_id == said.def.type_id) {
            let name = type_label(said.def);
            let message = format!("`.{}::<{name}>(..)` is about a component that is not part of the bundle", said.call);
            report.add(said.at, message).help(format!(
                "{}components: {}; add `.register::<{name}>()` or take the setting out",
                did_you_mean(&name, known()),
                if draft.components.is_empty() { "none".to_owned() } else { list(known()) },
            ));
        }
    }
}

pub(super) fn forget_live(draft: &Draft<'_>, report: &mut Report) {
    for (name, version, at) in &draft.builder.forget {
        if draft.components.iter().any(|component| component.def.name == name && component.def.version == *version) {
            report
                .add(*at, format!("`.forget(\"{name}\", {version})` names a component that is part of the bundle"))
                .help("it would start over with every start; forget an older version, or raise its `version`");
        }
    }
}

pub(super) fn unused_module(draft: &Draft<'_>, report: &mut Report) {
    for (prefix, at) in &draft.builder.modules {
        let help = if draft.builder.discover.is_none() {
            "it narrows `.discover()`, which is not called".to_owned()
        } else if draft.registry.components.iter().any(|def| is_inside(def.module, prefix)) {
            continue;
        } else {
            format!("components were found in: {}", list(draft.registry.components.iter().map(|def| def.module)))
        };
        report.add(*at, format!("`.module(\"{prefix}\")` has no effect")).help(help);
    }
}
