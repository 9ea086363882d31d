//! The file of the page's sessions, beside the journal: people stay logged in over a restart.
//!
//! It holds hashes only: of the sessions' secrets, and of the tokens for which they stand.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::PathBuf;
use std::sync::Mutex;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use server_settings::os_error::reason;
use server_storage::lock;
use server_storage::private;

use super::LOG;
use super::tokens::Hash;

/// The name of the file in a data folder.
pub const SESSIONS: &str = "sessions.json";

/// The largest size in bytes: enough for the most sessions of the most tokens.
const MAX_FILE: u64 = 8 << 20;

/// A session in the file. Times are seconds of the wall clock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StoredSession {
    /// The hash of the cookie and the proof.
    pub(super) secrets: StoredHash,
    /// The hash of a user's token.
    pub(super) caller: Option<StoredHash>,
    /// The hash of an operator's token.
    pub(super) operator: Option<StoredHash>,
    pub(super) opened: u64,
    pub(super) used: u64,
}

/// A hash in base64.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct StoredHash(String);

impl StoredHash {
    pub(super) fn of(hash: &Hash) -> Self {
        Self(URL_SAFE_NO_PAD.encode(hash))
    }

    pub(super) fn hash(&self) -> Option<Hash> {
        URL_SAFE_NO_PAD.decode(&self.0).ok()?.try_into().ok()
    }
}

/// The file.
#[derive(Debug)]
pub(super) struct SessionFile {
    path: PathBuf,
    /// Held while the file is written.
    writing: Mutex<()>,
}

impl SessionFile {
    pub(super) fn new(path: PathBuf) -> Self {
        Self {
            path,
            writing: Mutex::default(),
        }
    }

    /// The sessions in the file; none if it is absent or damaged.
    pub(super) fn read(&self) -> Vec<StoredSession> {
        match self.try_read() {
            Ok(stored) => stored,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => {
                let file = self.path.display();
                tracing::warn!(
                    target: LOG, %file, error = reason(&error),
                    "the sessions of the page are lost: people log in again"
                );
                Vec::new()
            }
        }
    }

    fn try_read(&self) -> io::Result<Vec<StoredSession>> {
        let mut text = Vec::new();
        let file = private::open(&self.path, File::options().read(true))?;
        file.take(MAX_FILE).read_to_end(&mut text)?;
        Ok(serde_json::from_slice(&text)?)
    }

    /// Replaces the content of the file. `stored` is called when it is this writer's turn, so that
    /// an older content never replaces a newer one.
    pub(super) fn write(&self, stored: impl FnOnce() -> Vec<StoredSession>) {
        let writing = lock(&self.writing);
        let written = self.try_write(&stored());
        drop(writing);
        if let Err(error) = written {
            let file = self.path.display();
            tracing::warn!(target: LOG, %file, error = reason(&error), "the sessions of the page are not stored");
        }
    }

    fn try_write(&self, stored: &[StoredSession]) -> io::Result<()> {
        private::replace(&self.path, &serde_json::to_vec(stored)?)?;
        Ok(())
    }
}
