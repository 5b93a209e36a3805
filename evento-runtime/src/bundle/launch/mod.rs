//! The rules of a launch: one function, one code and one paragraph of `problems.md` each. Pure: no rule does I/O.

mod components;
mod config;
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
    fault("no-init", handlers::no_init),
    fault("two-states", handlers::two_states),
    warning("retry-for-ever", handlers::retry_for_ever),
    warning("keyless-partitioned", handlers::keyless_partitioned),
    fault("unordered-key", handlers::unordered_key),
    fault("unknown-executor", executors::unknown_executor),
    fault("duplicate-executor", executors::duplicate_executor),
    fault("bad-capacity", executors::bad_capacity),
    fault("bad-rate", executors::bad_rate),
    warning("unused-executor", executors::unused_executor),
    fault("no-constructor", dependencies::no_constructor),
    fault("duplicate-hook", handlers::duplicate_hook),
    fault("missing-dependency", dependencies::missing_dependency),
    fault("only-in-a-saga", dependencies::only_in_a_saga),
    fault("duplicate-dependency", dependencies::duplicate_dependency),
    fault("no-store", store::no_store),
    fault("duplicate-store", store::duplicate_store),
    warning("volatile-store", store::volatile_store),
    warning("few-writers", store::few_writers),
    fault("wrong-database", store::wrong_database),
    fault("foreign-outbox", store::foreign_outbox),
    fault("foreign-log", store::foreign_log),
    fault("unknown-setting", config::unknown_setting),
    fault("bad-value", config::bad_value),
    fault("bad-setting", settings::bad_setting),
    fault("mode-contradiction", settings::mode_contradiction),
    fault("no-checkpoint-mode", settings::no_checkpoint_mode),
    fault("no-on-start", settings::no_on_start),
    fault("unordered-park", settings::unordered_park),
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
    use crate::bundle::Problem;
    use crate::bundle::discover::Registry;
    use crate::component::{
        Build, Component, ComponentDef, FreeHook, HookDef, Kind, Location, OpenComponent, Registered,
    };
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

    const MAIN: Location = Location { file: "src/main.rs", line: 3 };

    const LIB: Location = Location { file: "src/lib.rs", line: 1 };

    fn linked(crate_name: &'static str, package: Option<&'static str>) -> Registered {
        Registered::Linked { crate_name, package, location: MAIN, module: "app" }
    }

    /// What the rule says of a binary with these entries. Only here: what one `link!` submits is seen by every bundle
    /// of a binary.
    fn empty(entries: &'static [Registered]) -> Vec<Problem> {
        let mut builder = Bundle::builder("orders").discover();
        builder.registry = Some(Registry::of(entries.iter()));
        let mut problems = builder.build().unwrap_err().problems;
        problems.retain(|problem| problem.code == "linked-crate-empty");
        problems
    }

    fn leak(entries: Vec<Registered>) -> &'static [Registered] {
        Box::leak(entries.into_boxed_slice())
    }

    const fn hook(package: &'static str, module: &'static str) -> HookDef {
        HookDef::new("prepare", MAIN, |_| Box::pin(async { Ok(()) })).origin(package, module)
    }

    struct Totals;
    impl Component for Totals {
        const DEF: &'static ComponentDef = &ComponentDef::new::<Self>(Kind::Projector, "Totals", 1, Build::Unit, MAIN)
            .origin("elsewhere", "elsewhere");
    }
    impl OpenComponent for Totals {}
    static DEEPER: ComponentDef =
        ComponentDef::new::<Totals>(Kind::Projector, "Deep", 1, Build::Unit, MAIN).origin("deeper", "deeper");
    static HOOK: FreeHook = FreeHook::new::<Totals>(hook("orders-handlers", "orders_handlers::start"));

    #[test]
    fn linked_crate_empty() {
        let [problem] = &empty(leak(vec![linked("order_totals", None)]))[..] else { panic!() };
        assert_eq!(problem.location, Some(MAIN));
        assert_eq!(problem.message, "crate `order_totals` is linked with `link!`, but nothing is registered in it");
    }

    #[test]
    fn a_hook_and_a_link_of_its_own_are_something() {
        // The binary `app` beside the library `app` links both.
        assert_eq!(empty(leak(vec![linked("app", None), linked("other", None)])).len(), 2);
        let own = Registered::Linked { crate_name: "deeper", package: None, location: LIB, module: "middle" };
        assert_eq!(
            empty(leak(vec![
                linked("orders_handlers", None),
                linked("middle", None),
                own,
                Registered::Hook(&HOOK),
                Registered::Component(&DEEPER),
            ])),
            []
        );
    }

    #[test]
    fn a_renamed_crate_is_found_by_its_package() {
        assert_eq!(empty(leak(vec![linked("v1", Some("orders-handlers")), Registered::Hook(&HOOK)])), []);
        let [problem] = &empty(leak(vec![linked("v1", None), Registered::Hook(&HOOK)]))[..] else { panic!() };
        let help = problem.help.as_deref().unwrap();
        assert!(help.contains("write `link!(v1 = \"orders-handlers\")`"), "{help}");
        let [problem] = &empty(leak(vec![linked("v1", Some("orders")), Registered::Hook(&HOOK)]))[..] else { panic!() };
        assert_eq!(
            problem.help.as_deref(),
            Some("is `orders` the name of the package? others that registered something: orders-handlers")
        );
    }

    /// Trap 11: link order means nothing.
    #[test]
    fn what_is_registered_is_sorted() {
        let names = |entries: Vec<Registered>| {
            Registry::of(leak(entries).iter()).linked.iter().map(|linked| linked.crate_name).collect::<Vec<_>>()
        };
        assert_eq!(
            names(vec![linked("b", None), linked("a", None)]),
            names(vec![linked("a", None), linked("b", None)])
        );
    }
}
