//! The rules of a launch: one function, one code and one paragraph of `problems.md` each. Pure: no rule does I/O.

mod components;
mod connected;
mod dependencies;
mod executors;
mod handlers;
mod names;
mod settings;
mod store;

use connected::CONNECTED;
pub(super) use connected::Stored;

use super::discover::Draft;
use super::report::Report;

/// One thing that is looked for.
pub(super) struct Rule<F> {
    pub(super) code: &'static str,
    /// What it finds is told, and stops nothing.
    pub(super) warning: bool,
    pub(super) check: F,
}

const fn fault<F: Copy>(code: &'static str, check: F) -> Rule<F> {
    Rule { code, warning: false, check }
}

const fn warning<F: Copy>(code: &'static str, check: F) -> Rule<F> {
    Rule { code, warning: true, check }
}

type Pure = fn(&Draft<'_>, &mut Report);
type Connected = fn(&Stored, &mut Report);

/// Every rule that needs no store.
pub(super) const PURE: &[Rule<Pure>] = &[
    fault("bad-name", names::bad_name),
    fault("nothing-discovered", components::nothing_discovered),
    fault("no-components", components::no_components),
    fault("linked-crate-empty", components::linked_crate_empty),
    fault("missing-expected", components::missing_expected),
    fault("duplicate-component", components::duplicate_component),
    fault("unknown-component", components::unknown_component),
    fault("forget-live", components::forget_live),
    warning("unused-module", components::unused_module),
    fault("no-handlers", handlers::no_handlers),
    fault("duplicate-handler", handlers::duplicate_handler),
    warning("retry-for-ever", handlers::retry_for_ever),
    warning("keyless-partitioned", handlers::keyless_partitioned),
    fault("unknown-executor", executors::unknown_executor),
    fault("duplicate-executor", executors::duplicate_executor),
    fault("bad-capacity", executors::bad_capacity),
    warning("unused-executor", executors::unused_executor),
    fault("no-constructor", dependencies::no_constructor),
    fault("duplicate-hook", handlers::duplicate_hook),
    fault("missing-dependency", dependencies::missing_dependency),
    fault("duplicate-dependency", dependencies::duplicate_dependency),
    fault("no-store", store::no_store),
    fault("duplicate-store", store::duplicate_store),
    warning("volatile-store", store::volatile_store),
    warning("few-writers", store::few_writers),
    fault("bad-setting", settings::bad_setting),
    fault("mode-contradiction", settings::mode_contradiction),
    fault("bad-context", settings::bad_context),
    fault("overlapping-contexts", settings::overlapping_contexts),
    warning("on-start", settings::on_start),
];

/// Applies every pure rule.
pub(super) fn judge(draft: &Draft<'_>, report: &mut Report) {
    for rule in PURE {
        report.rule(rule.code, rule.warning);
        (rule.check)(draft, report);
    }
}

/// Applies every rule that needs the store.
pub(super) fn judge_stored(stored: &Stored, report: &mut Report) {
    for rule in CONNECTED {
        report.rule(rule.code, rule.warning);
        (rule.check)(stored, report);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bundle::Bundle;
    use crate::bundle::discover::Registry;
    use crate::component::Location;
    use std::collections::HashSet;

    #[test]
    fn every_code_is_explained_once() {
        let page = include_str!("../problems.md");
        let mut seen = HashSet::new();
        let codes = PURE.iter().map(|rule| rule.code).chain(CONNECTED.iter().map(|rule| rule.code));
        for code in codes {
            assert!(seen.insert(code), "two rules are called {code}");
            assert_eq!(page.matches(&format!("\n### {code}\n")).count(), 1, "{code} in problems.md");
        }
        assert_eq!(page.matches("\n### ").count(), seen.len(), "problems.md explains what no rule finds");
    }

    /// Only here: what one `link!` submits is seen by every bundle of a binary.
    #[test]
    fn a_linked_crate_that_registered_nothing_is_a_fault() {
        let at = Location { file: "src/main.rs", line: 3 };
        let mut builder = Bundle::builder("orders").discover();
        builder.registry = Some(Registry { linked: vec![("order_totals", at)], ..Registry::default() });
        let problems = builder.build().unwrap_err().problems;
        let problem = problems.iter().find(|problem| problem.code == "linked-crate-empty").unwrap();
        assert_eq!(problem.location, Some(at));
        assert_eq!(problem.message, "crate `order_totals` is linked with `link!` but registered nothing");
    }
}
