//! Rules over what the open store knows. The store is asked before; these judge.

use std::time::Duration;

use super::{Connected, Rule, fault, warning};
use crate::bundle::report::Report;
use crate::bundle::text::did_you_mean;
use crate::component::Location;
use crate::event::Position;
use crate::identity::ConsumerId;

/// What the store knows of a bundle.
pub(in crate::bundle) struct Stored {
    /// `Bundle::builder(..)`.
    pub(in crate::bundle) at: Location,
    /// The log, for messages.
    pub(in crate::bundle) log: String,
    /// The consumers of this launch, with the place of their component.
    pub(in crate::bundle) live: Vec<(ConsumerId, Location)>,
    /// The consumers the store has ever seen.
    pub(in crate::bundle) known: Vec<ConsumerId>,
    /// Live consumers whose stored position the log cannot go on from, and why.
    pub(in crate::bundle) lost: Vec<(ConsumerId, Position, String)>,
    /// Up to where events may be gone.
    pub(in crate::bundle) pruned: Option<Position>,
    /// Live consumers that have not come so far, with how far they have.
    pub(in crate::bundle) behind: Vec<(ConsumerId, Option<Position>)>,
    /// The first observer, if there is one, and how long its claims are believed.
    pub(in crate::bundle) claims: Option<(Location, Duration)>,
    /// How long an ownership lasts without renewal.
    pub(in crate::bundle) lease: Duration,
}

impl Stored {
    fn of_name(&self, name: &str) -> Option<&(ConsumerId, Location)> {
        self.live.iter().find(|(live, _)| &*live.component == name)
    }
}

/// Every rule that needs the store.
pub(super) const CONNECTED: &[Rule<Connected>] = &[
    fault("orphan-checkpoint", orphan_checkpoint),
    fault("history-lost", history_lost),
    fault("history-pruned", history_pruned),
    warning("other-version", other_version),
    warning("other-context", other_context),
    warning("short-claims", short_claims),
];

fn orphan_checkpoint(stored: &Stored, report: &mut Report) {
    for orphan in stored.known.iter().filter(|known| stored.of_name(&known.component).is_none()) {
        let (name, version) = (&orphan.component, orphan.version);
        let near = did_you_mean(name, stored.live.iter().map(|(live, _)| &*live.component));
        report
            .add(stored.at, format!("the store knows `{name}` version {version}, but no such component is linked"))
            .help(format!(
                "{near}link its crate with `evento_runtime::link!(its_crate);`, or say `.forget(\"{name}\", {version})` if it is gone for good"
            ));
    }
}

fn history_lost(stored: &Stored, report: &mut Report) {
    for (consumer, position, reason) in &stored.lost {
        let at = stored.of_name(&consumer.component).map_or(stored.at, |(_, at)| *at);
        report
            .add(at, format!("`{consumer}` has read up to position {position} of `{}`, but {reason}", stored.log))
            .help(format!(
                "point the bundle at the log it has read; or start over: `version = {}` in its attribute, and \
                 `.forget(\"{}\", {})`",
                consumer.version.saturating_add(1),
                consumer.component,
                consumer.version
            ));
    }
}

fn history_pruned(stored: &Stored, report: &mut Report) {
    let Some(pruned) = &stored.pruned else { return };
    for (consumer, watermark) in &stored.behind {
        let at = stored.of_name(&consumer.component).map_or(stored.at, |(_, at)| *at);
        let goes_on = match watermark {
            Some(position) => format!("goes on after position {position}"),
            None => "begins with the first event".to_owned(),
        };
        report
            .add(at, format!("`{consumer}` {goes_on} of `{}`, which was pruned up to position {pruned}", stored.log))
            .help(format!(
                "`start = \"head\"` in its attribute begins with what comes next, from where it can be moved back to \
                 `after:{pruned}`; what was before that is gone from this log"
            ));
    }
}

fn other_version(stored: &Stored, report: &mut Report) {
    for known in &stored.known {
        let same_version =
            |(live, _): &&(ConsumerId, Location)| live.component == known.component && live.version == known.version;
        if stored.live.iter().any(|live| same_version(&live)) {
            continue;
        }
        if let Some((live, at)) = stored.of_name(&known.component) {
            let (name, version) = (&known.component, known.version);
            report
                .add(
                    *at,
                    format!(
                        "the store still keeps `{name}` version {version}; this bundle has version {}",
                        live.version
                    ),
                )
                .help(format!("`.forget(\"{name}\", {version})` drops it once no instance runs it any more"));
        }
    }
}

fn other_context(stored: &Stored, report: &mut Report) {
    for known in &stored.known {
        let same = |live: &ConsumerId| live.component == known.component && live.version == known.version;
        let Some((_, at)) = stored.live.iter().find(|(live, _)| same(live)) else { continue };
        if !stored.live.iter().any(|(live, _)| live == known) {
            report
                .add(
                    *at,
                    format!(
                        "the store keeps a checkpoint for contexts `{}` of `{}`, which it no longer reads",
                        known.context, known.component
                    ),
                )
                .help("the other contexts have checkpoints of their own; give it back to go on from there");
        }
    }
}

fn short_claims(stored: &Stored, report: &mut Report) {
    let Some((at, claims)) = stored.claims.filter(|(_, claims)| *claims < stored.lease) else { return };
    let (log, lease) = (&stored.log, stored.lease);
    report
        .add(at, format!("claims of observers expire after {claims:?}, sooner than an ownership in `{log}`, {lease:?}"))
        .help(format!(
            "an instance that stands still for {lease:?} may handle an event beside the one that has taken over; with \
             `.claim_expiry(..)` of at least that, the other one waits first"
        ));
}
