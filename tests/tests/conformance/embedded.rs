//! Stores within this process.

use evento_runtime::conformance::Fixture;
use evento_runtime::store::{MemoryStore, Sqlite, Store, StoreConfig, Stores};

use super::Backend;

pub(crate) fn backends() -> [Backend; 3] {
    [
        Backend { name: "memory", open: Ok(|| Box::pin(memory())) },
        Backend { name: "sqlite", open: Ok(|| Box::pin(sqlite())) },
        Backend { name: "mixed", open: Ok(|| Box::pin(memory_lock_sqlite_state())) },
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
    Fixture::new(open(&path).await, open(&path).await, folder)
}

/// The epoch is all that lock and state share.
async fn memory_lock_sqlite_state() -> Fixture {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("orders.db");
    let memory = MemoryStore::new();
    let mix = |store: Store| Store { stores: Stores { lock: memory.store().stores.lock, ..store.stores }, ..store };
    Fixture::new(mix(open(&path).await), mix(open(&path).await), folder)
}
