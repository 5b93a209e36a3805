//! The world outside, as a file: what is done there is done, whatever becomes of this process.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::Path;
use std::sync::Arc;

use evento_runtime::EventId;
use tokio::fs::{File, OpenOptions};
use tokio::io::AsyncWriteExt as _;
use tokio::sync::Mutex;

/// Takes orders from us, each with a key, and does none twice.
#[derive(Debug, Clone)]
pub(crate) struct World(Arc<Mutex<Known>>);

#[derive(Debug)]
struct Known {
    file: File,
    keys: HashSet<String>,
}

impl World {
    /// With what it remembers.
    ///
    /// # Errors
    /// The file cannot be used.
    pub(crate) async fn open(path: &Path) -> io::Result<Self> {
        let keys = read(path).await?.0.into_iter().map(|(_, key)| key).collect();
        let file = OpenOptions::new().create(true).append(true).open(path).await?;
        Ok(Self(Arc::new(Mutex::new(Known { file, keys }))))
    }

    /// Does something, unless it was done under this key before.
    ///
    /// # Errors
    /// It cannot be said whether it was done; asking again is harmless.
    pub(crate) async fn act(&self, what: &str, key: EventId, of: &str) -> io::Result<()> {
        let mut known = self.0.lock().await;
        if known.keys.contains(&key.to_string()) {
            return Ok(());
        }
        known.file.write_all(format!("{what} {key} {of}\n").as_bytes()).await?;
        known.file.flush().await?;
        known.keys.insert(key.to_string());
        Ok(())
    }
}

/// What was done, with its key.
pub(crate) struct Done(Vec<(String, String)>);

impl Done {
    pub(crate) fn count(&self, what: &str) -> usize {
        self.0.iter().filter(|(done, _)| done == what).count()
    }

    /// How much was done more than once.
    pub(crate) fn repeated(&self) -> usize {
        let mut times: HashMap<&str, usize> = HashMap::new();
        for (_, key) in &self.0 {
            *times.entry(key).or_default() += 1;
        }
        times.values().filter(|times| **times > 1).count()
    }
}

/// Everything that was ever done; a line that a crash has cut short was not.
///
/// # Errors
/// The file cannot be read.
pub(crate) async fn read(path: &Path) -> io::Result<Done> {
    let text = match tokio::fs::read_to_string(path).await {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(error),
    };
    let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
    let line = |line: &str| {
        let mut words = line.split(' ');
        Some((words.next()?.to_owned(), words.next()?.to_owned()))
    };
    Ok(Done(whole.lines().filter_map(line).collect()))
}
