//! The cases every store has to pass: one file per SPI, the same for memory, SQLite, and a store of your own.
//!
//! ```ignore
//! async fn mine() -> evento_runtime::conformance::Fixture { /* two owners over the same, empty store */ }
//! evento_runtime::conformance!(my_store, crate::mine);
//! ```
//!
//! The macro makes one named `#[tokio::test]` per case; your tests need tokio with `macros` and `rt-multi-thread`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::missing_panics_doc,
    clippy::cast_possible_truncation,
    clippy::needless_pass_by_value,
    clippy::large_futures,
    reason = "these are tests"
)]

pub mod admin;
pub mod attempts;
pub mod claims;
pub mod dead_letters;
pub mod lock;
pub mod log;
pub mod parked;
pub mod pruning;
pub mod sagas;
pub mod state;
pub mod timers;
pub mod transactions;

use std::any::Any;
use std::sync::Arc;

use futures_util::future::BoxFuture;

use crate::event::{Position, StoredEvent, Timestamp};
use crate::identity::{ConsumerId, ContextPattern, Epoch};
use crate::outcome::ErrorClass;
use crate::store::{DeadLetter, Lease, LetterKind, OpenTransaction, Store};
use crate::{BoxError, EventId, NewEvent};

/// What ran a statement: the transaction, and the first number of the first row, 0 without one.
pub type Ran = (Box<dyn OpenTransaction>, Result<i64, BoxError>);

/// Runs a statement in an open transaction, as a handler would, by the means of the driver.
pub type Statement = fn(Box<dyn OpenTransaction>, String) -> BoxFuture<'static, Ran>;

/// A new, empty store, seen by two owners.
pub struct Fixture {
    /// The store.
    pub store: Store,
    /// The same data under another owner, as another instance would see it.
    pub other: Store,
    effects: Option<(String, Statement)>,
    _keep: Box<dyn Any + Send + Sync>,
}

impl Fixture {
    /// `keep` lives as long as the case runs: a temporary folder, for one.
    #[must_use]
    pub fn new(store: Store, other: Store, keep: impl Any + Send + Sync) -> Self {
        Self { store, other, effects: None, _keep: Box::new(keep) }
    }

    /// What the cases about transactions need: a table with one column, `n BIGINT PRIMARY KEY`, in the database of the
    /// store, and a way to run statements about it.
    #[must_use]
    pub fn with_effects(mut self, table: impl Into<String>, run: Statement) -> Self {
        self.effects = Some((table.into(), run));
        self
    }
}

/// One case: the SPI and its own name, and what it does.
#[derive(Clone, Copy)]
pub struct Case {
    /// `log`, `state`, `attempts`, `lock`, `dead_letters`, `parked`, `sagas`, `timers`, `claims`, `pruning`, `admin`, `transactions`.
    pub spi: &'static str,
    /// What it shows.
    pub name: &'static str,
    /// Runs it; panics where the store does not do what every store does.
    pub run: fn(Fixture) -> BoxFuture<'static, ()>,
}

/// Every case, for test runners of your own. [`conformance!`](crate::conformance!) makes tests of them.
#[must_use]
pub fn cases() -> Vec<Case> {
    crate::__conformance_list!(__conformance_values =>)
}

/// The cases beside [`cases`] for stores with transactions, whose fixtures have [effects](Fixture::with_effects).
#[must_use]
pub fn transaction_cases() -> Vec<Case> {
    crate::__conformance_transactions!(__conformance_values =>)
}

/// One test per case: `conformance!(name, path_of_fixture_function)`. For a store with transactions:
/// `conformance!(name, path_of_fixture_function, transactions)`.
#[macro_export]
macro_rules! conformance {
    ($backend:ident, $fixture:path) => {
        mod $backend {
            $crate::__conformance_list! { __conformance_tests => $fixture }
        }
    };
    ($backend:ident, $fixture:path, transactions) => {
        mod $backend {
            $crate::__conformance_list! { __conformance_tests => $fixture }
            $crate::__conformance_transactions! { __conformance_tests => $fixture }
        }
    };
}

/// The list for stores with transactions.
#[doc(hidden)]
#[macro_export]
macro_rules! __conformance_transactions {
    ($with:ident => $($argument:tt)*) => {
        $crate::$with! { $($argument)* =>
            transactions {
                everything_is_one_commit,
                rolled_back_leaves_nothing,
                dropped_leaves_nothing,
                a_stale_epoch_commits_nothing,
                a_takeover_waits_or_the_transaction_fails,
                a_swallowed_error_is_no_silent_loss,
                an_end_of_the_handlers_own_is_found_out,
                a_settlement_given_up_commits_nothing,
                completed_positions_stay_until_covered,
                completed_positions_of_others_are_not_seen,
                consumers_work_at_the_same_time,
                an_id_emitted_again_is_known,
                commits_wake,
                a_commit_given_up_is_told_for_certain,
            }
        }
    };
}

/// The only list for all stores.
#[doc(hidden)]
#[macro_export]
macro_rules! __conformance_list {
    ($with:ident => $($argument:tt)*) => {
        $crate::$with! { $($argument)* =>
            log {
                events_come_back_as_they_were,
                sizes_are_taken_up_to_their_limits,
                keys_are_compared_byte_by_byte,
                unusable_names_and_keys_are_refused,
                versions_are_checked,
                one_of_many_contenders_wins,
                an_id_again_is_known,
                an_id_with_other_bytes_is_refused,
                a_batch_is_stored_wholly_or_not_at_all,
                large_batches_keep_their_order,
                pages_end_at_their_limits,
                foreign_events_are_passed,
                names_and_contexts_are_filtered,
                nothing_appears_below_what_was_read,
                one_id_from_many_sides_is_one_event,
                single_events_are_read_by_position,
                positions_of_another_history_are_found_out,
                a_point_in_time_is_found,
                appends_wake,
                dropping_an_append_does_not_undo_it,
                the_log_is_looked_at_from_its_end_and_by_key,
            }
            state {
                an_unknown_consumer_has_the_default_state,
                what_was_settled_is_loaded,
                parts_leave_the_rest_alone,
                a_checkpoint_never_moves_back,
                a_new_epoch_may_start_anywhere,
                a_stale_epoch_writes_nothing,
                what_was_emitted_is_in_the_log_once,
                settling_again_is_harmless,
                settlements_at_the_same_time_keep_apart,
                a_reset_is_kept_until_it_is_done,
                pause_is_kept,
                consumers_are_listed,
                consumers_are_told_apart_byte_by_byte,
                on_start_is_shared_by_the_contexts_of_a_version,
                forgotten_is_gone_but_for_the_epoch,
            }
            attempts {
                ownerships_are_counted_until_one_ends,
                recorded_attempts_come_back,
                recorded_attempts_are_forgotten,
            }
            lock {
                one_owner_at_a_time,
                epochs_grow,
                release_is_idempotent,
                renewal_answers_for_each,
                one_of_many_contenders_owns,
                the_one_before_is_fenced,
                forgetting_what_is_owned_is_refused,
                owners_are_listed,
            }
            dead_letters {
                a_letter_comes_back_as_it_was,
                a_second_letter_adds_up,
                any_error_text_can_be_stored,
                letters_are_listed_in_order,
                letters_of_others_are_not_seen,
                letters_and_checkpoint_are_one_step,
                letters_are_requested_and_resolved,
                letters_are_filtered,
                letters_are_filtered_by_their_error,
                letters_are_discarded_and_purged,
            }
            parked {
                what_is_queued_comes_back_as_it_was,
                a_wish_is_about_everything_of_a_key,
                resolved_is_queued_no_more,
            }
            sagas {
                an_instance_comes_back_as_it_was,
                associations_are_compared_byte_by_byte,
                an_instance_is_found_by_several_values,
                replaced_associations_free_their_values,
                what_has_ended_stays_ended,
                a_value_of_another_instance_is_refused,
                one_of_many_instances_gets_a_value,
                instances_of_others_are_not_seen,
                instances_are_listed_in_pages,
                a_stale_epoch_changes_no_instance,
                changing_again_is_harmless,
                ended_instances_are_swept_by_age,
                a_forgotten_version_leaves_no_instance,
            }
            timers {
                a_timer_comes_back_as_it_was,
                timers_are_listed_earliest_first,
                a_fired_timer_is_in_the_log_once,
                a_timer_is_kept_once,
                timers_end_with_their_instance,
                many_timers_fire_at_once,
                a_timer_of_many_sides_is_one_event,
            }
            claims {
                a_claim_is_held_until_it_expires,
                taking_again_renews,
                an_expired_claim_has_nothing_remaining,
                what_is_done_stays_done,
                a_released_claim_is_gone,
                forgetting_comes_before_the_rest,
                claims_of_others_are_not_seen,
                many_claims_at_once,
                claims_are_swept_by_age,
            }
            pruning {
                what_every_consumer_has_settled_is_taken_out,
                nothing_is_taken_out_above_the_slowest_consumer,
                versions_stay_what_they_were,
                what_is_young_stays,
                the_last_event_stays,
                an_earlier_last_event_goes_with_the_next,
                counting_takes_nothing_out,
                several_prune_at_once,
                nobody_goes_back_to_what_is_gone,
                a_seek_and_a_pruning_never_both_succeed,
            }
            admin {
                a_command_waits_for_its_answer,
                the_audit_is_listed_latest_first,
                instances_come_and_go,
                what_is_old_is_swept,
            }
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __conformance_tests {
    ($fixture:path => $($spi:ident { $($case:ident,)* })*) => {
        $(mod $spi {
            $(#[::tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() {
                $crate::conformance::$spi::$case($fixture().await).await;
            })*
        })*
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __conformance_values {
    (=> $($spi:ident { $($case:ident,)* })*) => {
        vec![$($($crate::conformance::Case {
            spi: stringify!($spi),
            name: stringify!($case),
            run: |fixture| ::std::boxed::Box::pin($crate::conformance::$spi::$case(fixture)),
        },)*)*]
    };
}

fn consumer(component: &str) -> ConsumerId {
    consumer_of("orders", component, 1, "*")
}

fn consumer_of(bundle: &str, component: &str, version: u32, context: &str) -> ConsumerId {
    ConsumerId {
        bundle: bundle.into(),
        component: component.into(),
        version,
        context: ContextPattern::parse(context).unwrap(),
    }
}

/// A lease that no lock has given: what a store must judge by its epoch alone.
fn lease(consumer: &ConsumerId, epoch: u64) -> Lease {
    Lease { consumer: consumer.clone(), owner: crate::identity::OwnerId::generate(), epoch: Epoch(epoch) }
}

fn event(name: &str, payload: impl Into<Vec<u8>>) -> NewEvent {
    NewEvent::raw(name, "application/octet-stream", payload.into())
}

fn letter(position: u64, error: &str) -> DeadLetter {
    let event = StoredEvent {
        position: Position::from_u64(position),
        id: EventId::foreign("conformance", &position.to_string()),
        name: "Placed".into(),
        context: "default".into(),
        key: Some("o-1".into()),
        version: Some(position),
        recorded_at: Timestamp::from_micros(1_700_000_000_123_456),
        content_type: "application/json".into(),
        payload: vec![b'{', 0, 255].into(),
        metadata: br#"{"user":"ada"}"#.to_vec().into(),
    };
    DeadLetter {
        event: Arc::new(event),
        kind: LetterKind::Dead,
        parks: None,
        handler: "placed".to_owned(),
        class: ErrorClass::Permanent,
        error: error.to_owned(),
        attempts: 2,
        first_failed_at: Timestamp::from_micros(1_000_001),
        last_failed_at: Timestamp::from_micros(2_000_002),
    }
}
