//! Each failure has its kind and names the file.

use std::path::Path;
use std::time::Duration;

use evento_runtime::outcome::{ErrorClass, classify};
use evento_runtime::store::{Sqlite, Synchronous, sql};
use evento_runtime::{AppendError, Expected, StoreError, StoreErrorKind};

use super::{child, event, open, stranger};

async fn refused(config: Sqlite) -> StoreError {
    config.open().await.unwrap_err()
}

fn assert_is(error: &StoreError, kind: StoreErrorKind, path: &Path) {
    assert_eq!(error.kind(), kind, "{error:?}");
    assert_eq!(error.store(), path.display().to_string());
    assert!(error.to_string().contains(error.store()), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_there_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("no").join("such.db");
    assert_is(&refused(Sqlite::file(&path)).await, StoreErrorKind::Missing, &path);
    let path = folder.path().join("such.db");
    assert_is(&refused(Sqlite::file(&path).create(false)).await, StoreErrorKind::Missing, &path);
    assert!(!path.exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_database_is_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notes.txt");
    let text = "not a database, but long enough to look at: ".repeat(100);
    std::fs::write(&path, &text).unwrap();
    assert_is(&refused(Sqlite::file(&path)).await, StoreErrorKind::NotADatabase, &path);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    assert_is(&refused(Sqlite::file(folder.path())).await, StoreErrorKind::NotADatabase, folder.path());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_newer_schema_is_refused_and_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("o.db");
    open(&path).await.close().await;
    let mut other = stranger(&path).await;
    sqlx::raw_sql("UPDATE evento_meta SET value = '99' WHERE name = 'schema'").execute(&mut other).await.unwrap();
    assert_is(&refused(Sqlite::file(&path)).await, StoreErrorKind::NewerSchema, &path);
    let kept: String =
        sqlx::query_scalar("SELECT value FROM evento_meta WHERE name = 'schema'").fetch_one(&mut other).await.unwrap();
    assert_eq!(kept, "99");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_locked_file_is_busy_and_works_afterwards() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("o.db");
    let config = || Sqlite::file(&path).busy_timeout(Duration::from_millis(50));
    let store = config().open().await.unwrap();
    let mut other = stranger(&path).await;
    sqlx::raw_sql("BEGIN IMMEDIATE").execute(&mut other).await.unwrap();
    match store.append("k", Expected::Any, [event([1])]).await {
        Err(AppendError::Store(error)) => {
            assert_is(&error, StoreErrorKind::Busy, &path);
            assert_eq!(classify(&error, &[]), ErrorClass::Transient);
        }
        appended => panic!("{appended:?}"),
    }
    store.close().await;
    assert_is(&refused(config()).await, StoreErrorKind::Busy, &path);
    sqlx::raw_sql("ROLLBACK").execute(&mut other).await.unwrap();
    let store = config().open().await.unwrap();
    store.append("k", Expected::New, [event([1])]).await.unwrap();
    store.close().await;
}

/// Nothing of the refused batch stays, others at the same time get the same answer, and space brings it back.
#[tokio::test(flavor = "multi_thread")]
async fn a_full_file_takes_nothing_and_recovers() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("o.db");
    let store = open(&path).await;
    let limit = async |pages: &'static str| {
        sqlx::raw_sql(pages).execute(&mut *store.writer().acquire().await.unwrap()).await.unwrap();
    };
    limit("PRAGMA max_page_count = 60").await;
    let batches = (0..8).map(|n| {
        let store = store.clone();
        tokio::spawn(async move { store.append(None::<String>, Expected::Any, [event(vec![n; 200_000])]).await })
    });
    let batches: Vec<_> = batches.collect();
    let mut full = 0;
    for batch in batches {
        match batch.await.unwrap() {
            Ok(_) => {}
            Err(AppendError::Store(error)) => {
                assert_is(&error, StoreErrorKind::Full, &path);
                full += 1;
            }
            Err(error) => panic!("{error:?}"),
        }
    }
    assert!(full >= 7, "{full}");
    limit("PRAGMA max_page_count = 100000").await;
    store.append("k", Expected::New, [event(vec![0; 200_000])]).await.unwrap();
    let check: String =
        sqlx::query_scalar("PRAGMA integrity_check").fetch_one(&mut stranger(&path).await).await.unwrap();
    assert_eq!(check, "ok");
    store.close().await;
}

/// Run as another user where this one may do everything.
#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_may_only_be_read_is_found_out_at_once() {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    use std::os::unix::process::CommandExt as _;

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("o.db");
    open(&path).await.close().await;
    let mode = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    let root = std::fs::metadata(folder.path()).unwrap().uid() == 0;
    let said = |path: &Path| {
        let mut command = child::command("read-only", path);
        if root {
            command.uid(65_534).gid(65_534);
        }
        command.output().map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
    };
    mode(folder.path(), 0o777);
    mode(&path, 0o444);
    match said(&path) {
        Ok(said) => assert!(said.contains("\nReadOnly store"), "{said}"),
        // The other user may not run the test's binary.
        Err(error) => println!("skipped: {error}"),
    }
    mode(&path, 0o000);
    if let Ok(said) = said(&path) {
        assert!(said.contains("\nDenied store"), "{said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn unusable_settings_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("o.db");
    for config in [
        Sqlite::file(&path).readers(0),
        Sqlite::file(&path).lease(Duration::ZERO),
        Sqlite::file(&path).renew(Duration::from_secs(30)),
    ] {
        assert_is(&refused(config).await, StoreErrorKind::Config, &path);
    }
    assert_eq!(refused(Sqlite::file(":memory:")).await.kind(), StoreErrorKind::Config);
    assert!(!path.exists());
    let store = open(&path).await;
    assert_is(&refused(Sqlite::file(&path).synchronous(Synchronous::Off)).await, StoreErrorKind::Config, &path);
    store.close().await;
}

/// What a handler gets from sqlx, by code.
#[tokio::test(flavor = "multi_thread")]
async fn errors_of_handlers_are_classified() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("o.db");
    let mut one = stranger(&path).await;
    let mut two = stranger(&path).await;
    sqlx::raw_sql("CREATE TABLE t (x UNIQUE); INSERT INTO t VALUES (1); BEGIN IMMEDIATE")
        .execute(&mut one)
        .await
        .unwrap();
    let busy = sqlx::raw_sql("INSERT INTO t VALUES (2)").execute(&mut two).await.unwrap_err();
    assert_eq!(sql::classify(&busy), Some(ErrorClass::Transient));
    let wrapped: Box<dyn std::error::Error> = Box::new(StoreError::new(StoreErrorKind::Other, "x").caused_by(busy));
    assert_eq!(classify(&*wrapped, &[sql::classify]), ErrorClass::Transient);
    let twice = sqlx::raw_sql("INSERT INTO t VALUES (1)").execute(&mut one).await.unwrap_err();
    assert_eq!(sql::classify(&twice), None);
    assert_eq!(classify(&twice, &[sql::classify]), ErrorClass::Ordinary);
}
