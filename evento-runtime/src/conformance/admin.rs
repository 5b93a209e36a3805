//! `AdminStore`.

use std::time::Duration;

use uuid::Uuid;

use super::{Fixture, consumer, consumer_of};
use crate::event::Timestamp;
use crate::identity::{ConsumerId, OwnerId};
use crate::store::{AuditRow, CommandAnswer, CommandRow, InstanceRow, MAX_ERROR_TEXT};

/// A moment later than any that was, so that rows are never older than it.
const MUCH_LATER: i64 = 4_000_000_000_000_000;

fn command(consumer: &ConsumerId, body: &str) -> CommandRow {
    CommandRow {
        id: Uuid::now_v7(),
        consumer: consumer.clone(),
        body: body.to_owned(),
        asked_at: Timestamp::from_micros(MUCH_LATER),
        answer: None,
    }
}

fn audit(bundle: &str, action: &str) -> AuditRow {
    AuditRow {
        id: Uuid::now_v7(),
        bundle: bundle.to_owned(),
        at: Timestamp::from_micros(MUCH_LATER),
        who: "ada \0 <b>".to_owned(),
        origin: "127.0.0.1:80".to_owned(),
        action: action.to_owned(),
        target: "orders/A v1 [té*]".to_owned(),
        detail: "{}".to_owned(),
        result: String::new(),
    }
}

/// It is asked once, is there for others until it is answered, and keeps its first answer.
pub async fn a_command_waits_for_its_answer(fixture: Fixture) {
    let (mine, theirs) = (&fixture.store.stores.admin, &fixture.other.stores.admin);
    let (a, b) = (consumer("A"), consumer_of("orders", "B", 2, "té*"));
    let (first, second) = (command(&a, r#"{"skip":"\u0000"}"#), command(&b, "{}"));
    for command in [&second, &first, &first] {
        mine.ask(command).await.unwrap();
    }
    mine.ask(&command(&consumer_of("billing", "A", 1, "*"), "{}")).await.unwrap();
    assert_eq!(theirs.asked("orders", 10).await.unwrap(), [first.clone(), second.clone()]);
    assert_eq!(theirs.asked("orders", 1).await.unwrap(), std::slice::from_ref(&first));
    let answer = CommandAnswer { done: false, text: "not there\0".to_owned(), at: Timestamp::from_micros(7) };
    theirs.answer(first.id, &answer).await.unwrap();
    theirs.answer(first.id, &CommandAnswer { done: true, text: String::new(), ..answer }).await.unwrap();
    theirs
        .answer(Uuid::now_v7(), &CommandAnswer { done: true, text: String::new(), at: first.asked_at })
        .await
        .unwrap();
    assert_eq!(mine.asked("orders", 10).await.unwrap(), std::slice::from_ref(&second));
    let found = mine.command("orders", first.id).await.unwrap().unwrap();
    assert_eq!((found.id, &found.consumer, &found.body), (first.id, &a, &first.body));
    let answered = found.answer.unwrap();
    assert_eq!((answered.done, answered.at.as_micros()), (false, 7));
    assert!(answered.text.starts_with("not there"));
    assert!(mine.command("billing", first.id).await.unwrap().is_none());
    assert!(mine.command("orders", Uuid::now_v7()).await.unwrap().is_none());
}

/// A row is written twice, before and after: its result is added. Any text can be kept.
pub async fn the_audit_is_listed_latest_first(fixture: Fixture) {
    let (mine, theirs) = (&fixture.store.stores.admin, &fixture.other.stores.admin);
    let mut rows: Vec<_> = ["pause", "resume", "seek"].map(|action| audit("orders", action)).into();
    rows.sort_by_key(|row| row.id);
    for row in &rows {
        mine.note(row).await.unwrap();
    }
    mine.note(&audit("billing", "pause")).await.unwrap();
    rows[1].result = "done".to_owned();
    mine.note(&AuditRow { who: "somebody else".to_owned(), ..rows[1].clone() }).await.unwrap();
    let found = theirs.audit("orders", None, 10).await.unwrap();
    let told: Vec<_> = found.iter().map(|row| (&*row.action, &*row.result)).collect();
    assert_eq!(told, [("seek", ""), ("resume", "done"), ("pause", "")]);
    assert!(found.iter().all(|row| row.who.starts_with("ada") && row.target == rows[0].target && row.at == rows[0].at));
    let next = theirs.audit("orders", Some(found[0].id), 1).await.unwrap();
    assert_eq!(next, found[1..2]);
    let long = AuditRow { detail: "x".repeat(1_000_000), ..audit("orders", "seek") };
    mine.note(&long).await.unwrap();
    assert!(theirs.audit("orders", None, 1).await.unwrap()[0].detail.len() <= MAX_ERROR_TEXT);
}

/// Each is one row, with what it said last.
pub async fn instances_come_and_go(fixture: Fixture) {
    let (mine, theirs) = (&fixture.store.stores.admin, &fixture.other.stores.admin);
    let instance = |name: &str, started: i64| InstanceRow {
        owner: OwnerId::generate(),
        name: name.to_owned(),
        started_at: Timestamp::from_micros(started),
        figures: "{}".to_owned(),
    };
    let (a, b) = (instance("b <b>", 1), instance("a", 2));
    for (bundle, instance) in [("orders", &b), ("orders", &a), ("billing", &a)] {
        mine.beat(bundle, instance).await.unwrap();
    }
    let again = InstanceRow { figures: r#"{"n":1}"#.to_owned(), ..a.clone() };
    mine.beat("orders", &again).await.unwrap();
    let found = theirs.instances("orders").await.unwrap();
    assert!(found.iter().all(|(_, seen)| *seen < Duration::from_secs(60)), "{found:?}");
    assert_eq!(found.into_iter().map(|(instance, _)| instance).collect::<Vec<_>>(), [again, b]);
    theirs.leave("orders", a.owner).await.unwrap();
    theirs.leave("orders", a.owner).await.unwrap();
    assert_eq!(mine.instances("orders").await.unwrap().len(), 1);
    assert_eq!(mine.instances("billing").await.unwrap().len(), 1);
}

/// Old rows go, those of other bundles stay.
pub async fn what_is_old_is_swept(fixture: Fixture) {
    let admin = &fixture.store.stores.admin;
    let old = Timestamp::from_micros(1);
    for bundle in ["orders", "billing"] {
        let whose = consumer_of(bundle, "A", 1, "*");
        admin.ask(&CommandRow { asked_at: old, ..command(&whose, "{}") }).await.unwrap();
        admin.ask(&command(&whose, "{}")).await.unwrap();
        admin.note(&AuditRow { at: old, ..audit(bundle, "pause") }).await.unwrap();
        admin.note(&audit(bundle, "resume")).await.unwrap();
        let owner = OwnerId::generate();
        let instance = InstanceRow { owner, name: "a".to_owned(), started_at: old, figures: "{}".to_owned() };
        admin.beat(bundle, &instance).await.unwrap();
    }
    assert_eq!(admin.sweep_admin("orders", Duration::from_secs(3_600)).await.unwrap(), 2);
    assert_eq!(admin.asked("orders", 10).await.unwrap().len(), 1);
    assert_eq!(admin.audit("orders", None, 10).await.unwrap().len(), 1);
    assert_eq!(admin.instances("orders").await.unwrap().len(), 1);
    assert_eq!(admin.asked("billing", 10).await.unwrap().len(), 2);
    assert_eq!(admin.audit("billing", None, 10).await.unwrap().len(), 2);
    assert_eq!(admin.sweep_admin("billing", Duration::MAX).await.unwrap(), 0);
}
