//! Stores within this process.

use evento_runtime::conformance::Fixture;
use evento_runtime::store::{MemoryStore, Sqlite, Store, StoreConfig, Stores};
use sqlx::Connection as _;

use super::Backend;

pub(crate) fn backends() -> [Backend; 3] {
    [
        Backend { name: "memory", transactions: false, open: Ok(|| Box::pin(memory())) },
        Backend { name: "sqlite", transactions: true, open: Ok(|| Box::pin(sqlite())) },
        Backend { name: "mixed", transactions: true, open: Ok(|| Box::pin(memory_lock_sqlite_state())) },
    ]
}

async fn memory() -> Fixture {
    let store = MemoryStore::new();
    Fixture::new(store.store(), store.store(), ())
}

async fn open(path: &std::path::Path) -> Store {
    StoreConfig::open(Box::new(Sqlite::file(path))).await.unwrap()
}

async fn sqlite() -> Fixture {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("orders.db");
    with_effects(Fixture::new(open(&path).await, open(&path).await, folder), &path).await
}

async fn with_effects(fixture: Fixture, path: &std::path::Path) -> Fixture {
    let mut connection = sqlx::SqliteConnection::connect(&path.display().to_string()).await.unwrap();
    let table = "CREATE TABLE effects (n BIGINT PRIMARY KEY)";
    sqlx::raw_sql(table).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
    fixture.with_effects("effects", statement!(Sqlite))
}

/// The epoch is all that lock and state share.
async fn memory_lock_sqlite_state() -> Fixture {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("orders.db");
    let memory = MemoryStore::new();
    let mix = |store: Store| Store { stores: Stores { lock: memory.store().stores.lock, ..store.stores }, ..store };
    with_effects(Fixture::new(mix(open(&path).await), mix(open(&path).await), folder), &path).await
}
