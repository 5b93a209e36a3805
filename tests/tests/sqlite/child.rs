//! The test binary runs itself again as another process.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use evento_runtime::Expected;
use evento_runtime::identity::Epoch;
use evento_runtime::store::{ConsumerLock as _, Sqlite, StoreConfig as _};

use super::{consumer, event, open};

const JOB: &str = "EVENTO_TEST_CHILD";
const FILE: &str = "EVENTO_TEST_FILE";

/// A child that does `job` on the database.
pub(crate) fn command(job: &str, path: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["child::job", "--exact", "--nocapture", "--test-threads=1"]);
    command.env(JOB, job).env(FILE, path).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Reads the child's output up to this line.
pub(crate) fn wait_for_line(child: &mut Child, line: &str) {
    let output = BufReader::new(child.stdout.take().unwrap());
    let said: Vec<String> = output.lines().map_while(Result::ok).take_while(|said| said != line).collect();
    assert!(child.try_wait().unwrap().is_none(), "the child ended: {said:?}");
}

/// Does nothing unless it was started by another test.
#[tokio::test]
async fn job() {
    let Ok(job) = std::env::var(JOB) else { return };
    let path = std::env::var_os(FILE).unwrap();
    let path = Path::new(&path);
    match &*job {
        "append" => {
            let store = open(path).await;
            for _ in 0..20 {
                store.append("k", Expected::Any, [event([1])]).await.unwrap();
            }
            store.close().await;
        }
        "hold" => {
            let store = open(path).await;
            for name in ["A", "B"] {
                store.acquire(&consumer(name), Epoch(0)).await.unwrap().unwrap();
            }
            println!("\nholding");
            tokio::time::sleep(std::time::Duration::from_secs(60)).await;
        }
        "read-only" => {
            let error = Sqlite::file(path).open().await.unwrap_err();
            println!("\n{:?} {error}", error.kind());
            let config = Sqlite::file(path);
            assert!(error.to_string().contains(&config.describe()));
        }
        other => panic!("no job {other}"),
    }
}
