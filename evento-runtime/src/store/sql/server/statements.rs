//! The statements that only servers need, and the rendering of all of them.

use crate::store::sql::names::Names;
use crate::store::sql::prune::PruneStatements;
use crate::store::sql::statements::{
    AdminStatements, AttemptStatements, Chunked, ClaimStatements, CompletionStatements, ParkedStatements,
    SagaStatements, Several, Statements, TimerStatements,
};

/// Ownership where several may write at once.
pub(crate) struct ServerStatements {
    /// consumer. Makes sure that there is a row to lock.
    pub(crate) seed_lease: &'static str,
    /// consumer → the columns of [`Statements::lease`]; locks the row until the end of the transaction.
    pub(crate) lock_lease: &'static str,
    /// consumer. Waits for transactions that were settled, and keeps others from it until the end of this one.
    pub(crate) lock_fence: &'static str,
    /// milliseconds from now, owner, JSON of `[consumer, epoch]` pairs. Answers consumer and epoch of those still
    /// held, unless `renewed` does.
    pub(crate) renew: &'static str,
    /// owner, JSON of `[consumer, epoch]` pairs → consumer and epoch of those still held.
    pub(crate) renewed: Option<&'static str>,
}

impl ServerStatements {
    pub(crate) fn rendered(&self, names: &Names) -> &'static Self {
        Box::leak(Box::new(Self {
            seed_lease: names.render(self.seed_lease),
            lock_lease: names.render(self.lock_lease),
            lock_fence: names.render(self.lock_fence),
            renew: names.render(self.renew),
            renewed: self.renewed.map(|sql| names.render(sql)),
        }))
    }
}

/// The statements of a dialect with the names of one store.
pub(crate) fn rendered(sql: &Statements, names: &Names) -> &'static Statements {
    let one = |template: &'static str| names.render(template);
    let several = |chunked: &Chunked| chunked.map(|(rows, template)| (rows, names.render(template)));
    let positions = |statement: &Several| match statement {
        Several::Chunked(chunked) => Several::Chunked(several(chunked)),
        Several::Listed(template) => Several::Listed(one(template)),
    };
    Box::leak(Box::new(Statements {
        events_by_id: several(&sql.events_by_id),
        before: one(sql.before),
        count_after: one(sql.count_after),
        latest: one(sql.latest),
        of_key: one(sql.of_key),
        consumer_id: one(sql.consumer_id),
        insert_consumer: one(sql.insert_consumer),
        consumers: one(sql.consumers),
        paused: one(sql.paused),
        fence: one(sql.fence),
        share_fence: sql.share_fence.map(one),
        put_checkpoint: one(sql.put_checkpoint),
        put_checkpoint_alone: one(sql.put_checkpoint_alone),
        put_errors: one(sql.put_errors),
        put_started: one(sql.put_started),
        put_resetting: one(sql.put_resetting),
        put_replay: one(sql.put_replay),
        put_enabled: one(sql.put_enabled),
        touch_checkpoint: one(sql.touch_checkpoint),
        started: one(sql.started),
        state: one(sql.state),
        owned: one(sql.owned),
        forget_letters: one(sql.forget_letters),
        forget_checkpoints: one(sql.forget_checkpoints),
        put_letter: one(sql.put_letter),
        letters: one(sql.letters),
        count_letters: one(sql.count_letters),
        request_letters: one(sql.request_letters),
        discard_letters: one(sql.discard_letters),
        purge_letters: one(sql.purge_letters),
        resolve_letter: one(sql.resolve_letter),
        wanted: one(sql.wanted),
        lease: one(sql.lease),
        owners: one(sql.owners),
        fence_epoch: one(sql.fence_epoch),
        put_lease: one(sql.put_lease),
        free_lease: one(sql.free_lease),
        parked: ParkedStatements {
            put: one(sql.parked.put),
            remove: one(sql.parked.remove),
            wish: one(sql.parked.wish),
            clear: one(sql.parked.clear),
            list: one(sql.parked.list),
            forget: one(sql.parked.forget),
        },
        sagas: SagaStatements {
            put: one(sql.sagas.put),
            end: one(sql.sagas.end),
            associations: one(sql.sagas.associations),
            drop_associations: several(&sql.sagas.drop_associations),
            add_associations: several(&sql.sagas.add_associations),
            free_associations: one(sql.sagas.free_associations),
            find: one(sql.sagas.find),
            begun: one(sql.sagas.begun),
            live: one(sql.sagas.live),
            sweep: one(sql.sagas.sweep),
            forget: one(sql.sagas.forget),
            forget_associations: one(sql.sagas.forget_associations),
        },
        timers: TimerStatements {
            put: one(sql.timers.put),
            known: several(&sql.timers.known),
            remove: several(&sql.timers.remove),
            remove_all: one(sql.timers.remove_all),
            list: one(sql.timers.list),
            forget: one(sql.timers.forget),
        },
        claims: ClaimStatements {
            take: several(&sql.claims.take),
            release: several(&sql.claims.release),
            finish: several(&sql.claims.finish),
            clear: one(sql.claims.clear),
            find: several(&sql.claims.find),
            sweep: one(sql.claims.sweep),
            forget: one(sql.claims.forget),
        },
        completions: CompletionStatements {
            put: positions(&sql.completions.put),
            remove: positions(&sql.completions.remove),
            clear: one(sql.completions.clear),
            list: one(sql.completions.list),
            forget: one(sql.completions.forget),
            settle: sql.completions.settle.map(one),
        },
        admin: AdminStatements {
            put_command: one(sql.admin.put_command),
            asked: one(sql.admin.asked),
            command: one(sql.admin.command),
            answer: one(sql.admin.answer),
            put_audit: one(sql.admin.put_audit),
            audit: one(sql.admin.audit),
            beat: one(sql.admin.beat),
            leave: one(sql.admin.leave),
            instances: one(sql.admin.instances),
            sweep: sql.admin.sweep.map(one),
        },
        attempts: AttemptStatements {
            begin: one(sql.attempts.begin),
            end: one(sql.attempts.end),
            put: several(&sql.attempts.put),
            remove: several(&sql.attempts.remove),
            clear: one(sql.attempts.clear),
            list: one(sql.attempts.list),
            forget: one(sql.attempts.forget),
            forget_begun: one(sql.attempts.forget_begun),
        },
        prune: PruneStatements {
            mark: one(sql.prune.mark),
            hold: one(sql.prune.hold),
            share: one(sql.prune.share),
            put_mark: one(sql.prune.put_mark),
            watermarks: one(sql.prune.watermarks),
            page: one(sql.prune.page),
            count: one(sql.prune.count),
            delete: one(sql.prune.delete),
        },
    }))
}
