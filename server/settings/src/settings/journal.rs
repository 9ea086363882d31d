//! The settings of a durable journal and of its history, and its folder where no setting names one.

use std::ffi::OsString;
use std::path::PathBuf;

use chat_types::Span;
use chat_types::config::Limit;

use super::ServeArgs;

/// The default number of last entries that a journal keeps.
const JOURNAL_ENTRIES: u64 = 1_000_000;

/// The default size of a journal: its entries, if they have two kilobytes on average. A usual one has
/// two hundred bytes.
const JOURNAL_BYTES: u64 = 2 << 30;

/// The default number of messages of the history.
const HISTORY_MESSAGES: u64 = 1_000_000;

/// The default size of the history: a million messages of a few hundred words, with their index.
const HISTORY_BYTES: u64 = 8 << 30;

/// The durability of a commit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Durability {
    /// Data is on the disk, and survives a loss of power.
    #[default]
    Fsync,
    /// The operating system has it; survives a server crash.
    Os,
}

/// What a server keeps whose settings name no folder for the journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unnamed {
    /// Nothing: a client's own server, or a demonstration.
    InMemory,
    /// A journal in the folder that the platform has for the data of programs.
    InUsualFolder,
}

/// A durable journal.
#[derive(Clone, Debug, Default)]
pub struct JournalSettings {
    /// The folder.
    pub folder: PathBuf,
    /// The durability of a commit.
    pub durability: Durability,
    /// Whether to continue a journal that has lost acknowledged entries.
    pub accept_loss: bool,
    /// The number of last entries to keep, besides those that the kept snapshots need; none to keep
    /// all.
    pub entries: Option<u64>,
    /// The largest size of the records, as long as the kept snapshots do not need more; none for no
    /// limit.
    pub bytes: Option<u64>,
    /// The free space of the disk below which nothing is accepted; by default as much as suits the
    /// disk.
    pub reserve: Option<u64>,
}

impl JournalSettings {
    /// The settings; none for a server in memory.
    pub(super) fn gather(given: &ServeArgs, unnamed: Unnamed) -> Result<Option<Self>, String> {
        let folder = match (given.data.clone(), given.in_memory, unnamed) {
            (Some(folder), true, _) => {
                return Err(format!(
                    "--in-memory keeps nothing, and --data {} keeps a journal there: leave one out",
                    folder.display()
                ));
            }
            (Some(folder), false, _) => folder,
            (None, true, _) | (None, false, Unnamed::InMemory) => return Ok(None),
            (None, false, Unnamed::InUsualFolder) => usual_folder()?,
        };
        let (entries, bytes) = (given.journal_entries, given.journal_bytes);
        Ok(Some(Self {
            folder,
            durability: given.durability.unwrap_or_default(),
            accept_loss: given.accept_loss,
            entries: entries.map_or(Some(JOURNAL_ENTRIES), Limit::limit),
            bytes: bytes.map_or(Some(JOURNAL_BYTES), Limit::limit),
            reserve: given.disk_reserve.map(|to| to.limit().unwrap_or(0)),
        }))
    }
}

/// How long messages stay in the history. What is none has no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retention {
    /// The largest age of a message.
    pub age: Option<Span>,
    /// The largest number of messages.
    pub messages: Option<u64>,
    /// The largest size of its file in bytes.
    pub bytes: Option<u64>,
}

impl Retention {
    /// The settings.
    pub(super) fn gather(given: &ServeArgs) -> Self {
        let (messages, bytes) = (given.history_messages, given.history_bytes);
        Self {
            age: given.history_age.and_then(Limit::limit),
            messages: messages.map_or(Some(HISTORY_MESSAGES), Limit::limit),
            bytes: bytes.map_or(Some(HISTORY_BYTES), Limit::limit),
        }
    }
}

/// The folder for the data of this program: that of systemd, or of the XDG base directories, or of
/// macOS.
///
/// # Errors
/// The environment names no home.
pub fn usual_folder() -> Result<PathBuf, String> {
    let folder = folder_by(&|name| std::env::var_os(name));
    folder.ok_or_else(|| {
        "no folder for the journal: HOME is not set. Name one with --data, or keep nothing with \
         --in-memory"
            .into()
    })
}

fn folder_by(variable: &dyn Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let absolute = |name: &str| {
        variable(name)
            .map(PathBuf::from)
            .filter(|p| p.is_absolute())
    };
    if let Some(folders) = variable("STATE_DIRECTORY") {
        // systemd separates several by colons.
        return std::env::split_paths(&folders).next();
    }
    let home = || absolute("HOME");
    let programs = match cfg!(target_os = "macos") {
        true => home()?.join("Library/Application Support"),
        false => absolute("XDG_DATA_HOME").or_else(|| Some(home()?.join(".local/share")))?,
    };
    Some(programs.join("talking-stick"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_folder_is_the_service_s_or_the_user_s() {
        let of = |given: &[(&str, &str)]| {
            let given: Vec<_> = given.to_vec();
            folder_by(&move |name| {
                let found = given.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| OsString::from(value))
            })
        };
        let home = ("HOME", "/home/ann");
        let service = ("STATE_DIRECTORY", "/var/lib/talking-stick:/var/lib/more");
        assert_eq!(of(&[home, service]), Some("/var/lib/talking-stick".into()));
        if cfg!(target_os = "linux") {
            let own = "/home/ann/.local/share/talking-stick";
            assert_eq!(of(&[home]), Some(own.into()));
            assert_eq!(of(&[home, ("XDG_DATA_HOME", "data")]), Some(own.into()));
            let xdg = ("XDG_DATA_HOME", "/data");
            assert_eq!(of(&[xdg]), Some("/data/talking-stick".into()));
        }
        assert_eq!(of(&[]), None);
    }
}
