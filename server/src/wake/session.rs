//! What is remembered of a session of an agent's program: its inbox, and of what its agent was told. It
//! is a file for this user alone, and one process at a time uses it.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use chat_core::{Span, Time};
use rustix::process::{Pid, Signal, kill_process};
use serde::{Deserialize, Serialize};
use server_settings::cli::KnockLimit;
use server_settings::state_folder;
use server_storage::private;
use tokio::time::sleep;

use super::{WakeError, Watch, parsed, written};

/// The most sessions that are remembered. The one that was used longest ago is forgotten first.
const MAX_SESSIONS: usize = 256;

/// The longest id of a session.
const MAX_ID: usize = 128;

/// The pause before it is looked again whether the process before has ended.
const PAUSE: Duration = Duration::from_millis(20);

/// What a process does about the one before it, which uses the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Before {
    /// It ends it.
    Ends,
    /// It waits for its end.
    Stays,
}

/// The file of a session.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Note {
    inbox: String,
    /// Whether the agent has left a chat or the queue since it registered.
    #[serde(default)]
    has_left: bool,
    /// As in the file of a mark.
    mark: String,
    /// When the agent was told in the last hour, in seconds since 1970.
    knocks: Vec<u64>,
}

/// A session that this process alone uses.
#[derive(Debug)]
pub(super) struct AgentSession {
    path: PathBuf,
    note: Note,
    _alone: File,
}

/// The file of a session of this program.
fn path_of(program: &str, id: &str) -> Result<PathBuf, WakeError> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if id.is_empty() || id.len() > MAX_ID || !id.chars().all(is_plain) {
        return Err(WakeError::Misused(format!(
            "the session's id is to have 1 to {MAX_ID} letters, digits, dashes and underscores"
        )));
    }
    let folder = state_folder().map_err(WakeError::Misused)?;
    Ok(folder.join("sessions").join(format!("{program}-{id}")))
}

/// Whether something is remembered of a session.
pub(super) fn is_known(program: &str, id: &str) -> Result<bool, WakeError> {
    let path = path_of(program, id)?;
    let found = private::present(fs::symlink_metadata(&path));
    found
        .map(|found| found.is_some())
        .map_err(|error| WakeError::unusable(&path, &error))
}

impl AgentSession {
    /// Takes a session, when the process before has ended.
    pub(super) async fn take(
        (program, id): (&str, &str),
        before: Before,
    ) -> Result<Self, WakeError> {
        let path = path_of(program, id)?;
        let folder = private::folder_of(&path);
        private::folder(folder).map_err(WakeError::Misused)?;
        let lock = path.with_added_extension("lock");
        let unusable = |error| WakeError::unusable(&lock, &error);
        let mut options = File::options();
        options.read(true).write(true).create(true);
        let mut alone = private::open(&lock, &mut options).map_err(unusable)?;
        let mut waited = false;
        loop {
            match alone.try_lock() {
                Ok(()) => break,
                // Its user has written its number by now.
                Err(TryLockError::WouldBlock) if waited && before == Before::Ends => {
                    end_user_of(&lock);
                }
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => return Err(unusable(error)),
            }
            sleep(PAUSE).await;
            waited = true;
        }
        let id = std::process::id().to_string();
        let written = alone
            .set_len(0)
            .and_then(|()| alone.write_all(id.as_bytes()));
        written.map_err(unusable)?;
        let note = match private::present(private::read_own(&path)) {
            // What was cut off, or is of another version, is forgotten.
            Ok(bytes) => bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()),
            Err(error) => return Err(WakeError::unusable(&path, &error)),
        };
        Ok(Self {
            path,
            note: note.unwrap_or_default(),
            _alone: alone,
        })
    }

    pub(super) fn inbox(&self) -> &str {
        &self.note.inbox
    }

    /// Whether the agent has left a chat or the queue since it registered, and may be in none.
    pub(super) fn has_left(&self) -> bool {
        self.note.has_left
    }

    pub(super) fn leave(&mut self) -> Result<(), WakeError> {
        self.note.has_left = true;
        self.write()
    }

    /// Remembers the inbox of a registration. Of another one the agent was told nothing.
    pub(super) fn register(&mut self, inbox: &str) -> Result<(), WakeError> {
        if self.note.inbox != inbox {
            inbox.clone_into(&mut self.note.inbox);
            self.note.mark.clear();
        }
        self.note.has_left = false;
        self.write()?;
        forget_oldest(private::folder_of(&self.path));
        Ok(())
    }

    /// The waker of its agent.
    pub(super) fn watch(&self, limit: KnockLimit) -> Watch {
        let mark = parsed(&self.note.mark).unwrap_or_default();
        let knocks = self.note.knocks.iter();
        let knocks = knocks.map(|at| Time(0) + Span::secs(*at));
        Watch::new(mark, knocks, limit)
    }

    /// Remembers that the agent was told.
    pub(super) fn remember(&mut self, watch: &mut Watch) -> Result<(), WakeError> {
        self.note.mark = written(watch.told());
        let knocks = watch.waker.knocks();
        self.note.knocks = knocks.map(|at| at.since(Time(0)).as_secs()).collect();
        self.write()
    }

    fn write(&self) -> Result<(), WakeError> {
        let bytes = serde_json::to_vec(&self.note).map_err(io::Error::from);
        let written = bytes.and_then(|bytes| private::replace(&self.path, &bytes));
        written
            .map(drop)
            .map_err(|error| WakeError::unusable(&self.path, &error))
    }

    /// Forgets the session: its inbox does not exist any more.
    pub(super) fn forget(self) -> Result<(), WakeError> {
        let lock = self.path.with_added_extension("lock");
        let gone = private::present(fs::remove_file(&self.path));
        gone.and_then(|_| private::present(fs::remove_file(lock)))
            .map(drop)
            .map_err(|error| WakeError::unusable(&self.path, &error))
    }
}

/// Asks the process that holds this lock to end. Its number is in the file.
fn end_user_of(lock: &Path) {
    let number = private::read_own(lock).unwrap_or_default();
    let number = String::from_utf8_lossy(&number).parse().ok();
    if let Some(user) = number.and_then(Pid::from_raw) {
        // It may have ended meanwhile.
        let _ = kill_process(user, Signal::TERM);
    }
}

/// Removes the files of the sessions that were used longest ago, if there are too many.
fn forget_oldest(folder: &Path) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let notes = entries.filter(|entry| entry.path().extension().is_none());
    let mut notes: Vec<_> = notes
        .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
        .collect();
    notes.sort();
    let surplus = notes.len().saturating_sub(MAX_SESSIONS);
    for (_, path) in notes.into_iter().take(surplus) {
        // Another process may remove it, too.
        let _ = fs::remove_file(path.with_added_extension("lock"));
        let _ = fs::remove_file(path);
    }
}
