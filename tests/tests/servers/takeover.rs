//! Changing owners on PostgreSQL: by the database's clock, past a guarded transaction, and with nothing of the old one
//! getting through.

use std::time::{Duration, Instant};

use evento_runtime::StoreErrorKind;
use evento_runtime::identity::Epoch;
use evento_runtime::store::{Settlement, StoreConfig};

use crate::helpers::consumer;
use crate::postgres::Corner;

const NONE: Epoch = Epoch(0);

#[tokio::test(flavor = "multi_thread")]
async fn a_silent_owner_is_replaced_when_its_lease_ends() {
    let Some(corner) = Corner::new() else { return };
    let short = || corner.config().lease(Duration::from_millis(600)).renew(Duration::from_millis(150));
    let mine = short().open().await.unwrap();
    let theirs = short().open().await.unwrap();
    let a = consumer("A");
    let (m, t) = (
        StoreConfig::open(Box::new(mine.clone())).await.unwrap(),
        StoreConfig::open(Box::new(theirs.clone())).await.unwrap(),
    );
    let before = m.stores.lock.acquire(&a, NONE).await.unwrap().unwrap();
    let mut renewed = Instant::now();
    for _ in 0..6 {
        tokio::time::sleep(Duration::from_millis(150)).await;
        let asked = Instant::now();
        assert_eq!(m.stores.lock.renew(std::slice::from_ref(&before)).await.unwrap(), [true]);
        renewed = asked;
        assert!(t.stores.lock.acquire(&a, NONE).await.unwrap().is_none(), "it is alive");
    }
    let after = loop {
        if let Some(lease) = t.stores.lock.acquire(&a, NONE).await.unwrap() {
            break lease;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    };
    assert!(renewed.elapsed() >= Duration::from_millis(590), "not before its time");
    assert_eq!(after.epoch, Epoch(before.epoch.0 + 1));
    assert_eq!(m.stores.lock.renew(std::slice::from_ref(&before)).await.unwrap(), [false]);
    let refused = m.stores.state.settle(&before, Settlement::default()).await.unwrap_err();
    assert_eq!(refused.kind(), StoreErrorKind::Fenced);
    m.stores.lock.release(&before).await.unwrap();
    assert_eq!(t.stores.lock.renew(std::slice::from_ref(&after)).await.unwrap(), [true]);
    mine.close().await;
    theirs.close().await;
}

/// Between the lease row and the fence: whoever writes under the old epoch ends first, and nobody new begins.
#[tokio::test(flavor = "multi_thread")]
async fn a_takeover_waits_for_a_guarded_transaction() {
    let Some(corner) = Corner::new() else { return };
    let (store, spis) = corner.open().await;
    let a = consumer("A");
    let before = spis.stores.lock.acquire(&a, NONE).await.unwrap().unwrap();
    spis.stores.state.settle(&before, Settlement::default()).await.unwrap();
    let mut guarded = corner.stranger().await;
    sqlx::raw_sql("BEGIN").execute(&mut guarded).await.unwrap();
    sqlx::raw_sql(corner.sql("SELECT epoch FROM @fence FOR SHARE")).execute(&mut guarded).await.unwrap();
    let mut admin = corner.stranger().await;
    sqlx::raw_sql(corner.sql("UPDATE @lease SET expires_at = 0")).execute(&mut admin).await.unwrap();
    let (other, other_spis) = corner.open().await;
    let taking = tokio::spawn(async move { other_spis.stores.lock.acquire(&consumer("A"), NONE).await });
    // Its lease is taken, its fence is not.
    let taken = || sqlx::query_scalar::<_, i64>(corner.sql("SELECT count(*) FROM @lease WHERE expires_at > 0"));
    while taken().fetch_one(&mut admin).await.unwrap() == 0 {
        assert!(!taking.is_finished());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(!taking.is_finished());
    // The lease names the new owner already: the old one is refused from now on.
    let refused = spis.stores.state.settle(&before, Settlement::default()).await.unwrap_err();
    assert_eq!(refused.kind(), StoreErrorKind::Fenced);
    sqlx::raw_sql("COMMIT").execute(&mut guarded).await.unwrap();
    let after = taking.await.unwrap().unwrap().unwrap();
    assert_eq!(after.epoch, Epoch(before.epoch.0 + 1));
    store.close().await;
    other.close().await;
}

/// As the keeper does: another thread and runtime, while every connection of the pools is taken.
#[tokio::test(flavor = "multi_thread")]
async fn renewal_needs_no_connection_of_the_pools() {
    let Some(corner) = Corner::new() else { return };
    let store = corner.config().writers(1).readers(1).open().await.unwrap();
    let spis = StoreConfig::open(Box::new(store.clone())).await.unwrap();
    let lease = spis.stores.lock.acquire(&consumer("A"), NONE).await.unwrap().unwrap();
    let mut blocker = corner.stranger().await;
    sqlx::raw_sql("BEGIN").execute(&mut blocker).await.unwrap();
    sqlx::raw_sql(corner.sql("LOCK TABLE @event, @checkpoint")).execute(&mut blocker).await.unwrap();
    let (a, b) = (spis.clone(), spis.clone());
    let settling = lease.clone();
    let stuck = tokio::spawn(async move { a.stores.state.settle(&settling, Settlement::default()).await });
    let reading = tokio::spawn(async move { b.events.head().await });
    let lock = spis.stores.lock.clone();
    let renewed = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async { lock.renew(&[lease]).await })
    });
    assert_eq!(renewed.join().unwrap().unwrap(), [true]);
    sqlx::raw_sql("COMMIT").execute(&mut blocker).await.unwrap();
    stuck.await.unwrap().unwrap();
    reading.await.unwrap().unwrap();
    store.close().await;
}
