//! Side files: how processes of one host know at once that an owner is dead.
//!
//! An owner holds an exclusive lock on `<database>-owner-<uuid>` for as long as it lives; the kernel frees the lock
//! when the process ends, however it ends. The file names its host, as locks mean nothing across hosts.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use crate::identity::OwnerId;

/// The lock that says this owner is alive. Removed with [`remove`](Self::remove); if the process dies the file stays,
/// unlocked, and tells.
#[derive(Debug)]
pub(super) struct SideFile {
    path: PathBuf,
    _lock: File,
}

impl SideFile {
    /// Locked before it gets its name: nobody ever finds it unlocked while its owner lives.
    pub(super) fn create(database: &Path, owner: OwnerId) -> io::Result<Self> {
        let path = path_of(database, owner);
        let unnamed = suffixed(database, &format!("-owner-{owner}.new"));
        let mut file = OpenOptions::new().write(true).create_new(true).open(&unnamed)?;
        let named =
            file.lock().and_then(|()| file.write_all(host().as_bytes())).and_then(|()| fs::rename(&unnamed, &path));
        match named {
            Ok(()) => Ok(Self { path, _lock: file }),
            Err(error) => {
                fs::remove_file(&unnamed).ok();
                Err(error)
            }
        }
    }

    pub(super) fn remove(self) {
        fs::remove_file(&self.path).ok();
    }
}

/// Whether an owner is known to be dead: of this host, and its lock is free. Anything unclear is no.
pub(super) fn is_dead(database: &Path, owner: OwnerId) -> bool {
    is_free(&path_of(database, owner))
}

fn is_free(path: &Path) -> bool {
    let Ok(mut file) = OpenOptions::new().read(true).write(true).open(path) else { return false };
    let mut written_by = String::new();
    if file.read_to_string(&mut written_by).is_err() || written_by != host() || written_by.is_empty() {
        return false;
    }
    file.try_lock().is_ok()
}

/// Removes the side file of a dead owner.
pub(super) fn remove(database: &Path, owner: OwnerId) {
    fs::remove_file(path_of(database, owner)).ok();
}

/// Owners of this host that left a side file and are dead.
pub(super) fn dead_owners(database: &Path) -> Vec<OwnerId> {
    let (Some(folder), Some(name)) = (database.parent(), database.file_name().and_then(|name| name.to_str())) else {
        return Vec::new();
    };
    let prefix = format!("{name}-owner-");
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let owner = |entry: io::Result<fs::DirEntry>| {
        let entry = entry.ok()?;
        let owner = entry.file_name().to_str()?.strip_prefix(&prefix)?.parse().ok()?;
        is_free(&entry.path()).then_some(OwnerId::from_uuid(owner))
    };
    entries.filter_map(owner).collect()
}

fn path_of(database: &Path, owner: OwnerId) -> PathBuf {
    suffixed(database, &format!("-owner-{owner}"))
}

fn suffixed(database: &Path, suffix: &str) -> PathBuf {
    let mut path = database.as_os_str().to_owned();
    path.push(suffix);
    path.into()
}

/// The host and its boot: after a reboot old locks mean nothing. Empty where it cannot be known.
fn host() -> String {
    let read = |path: &str| fs::read_to_string(path).map(|text| text.trim().to_owned()).unwrap_or_default();
    let name = read("/proc/sys/kernel/hostname");
    let boot = read("/proc/sys/kernel/random/boot_id");
    if name.is_empty() || boot.is_empty() { name } else { format!("{name} {boot}") }
}
