//! Commands on the folder of a journal: `export`, `records`, `backup`, `restore`, `inspect`.
//!
//! All but `restore` work while a server uses the folder, and change nothing in it.

mod copy;
mod export;
mod inspect;
mod records;

use std::io;
use std::path::{Path, PathBuf};

use chat_journal::RecoveryError;

use crate::journal::{DatabaseError, ReadError};

pub use copy::{backup, restore};
pub use export::export;
pub use inspect::{Form, inspect};
pub use records::records;

/// Why a command on a folder failed.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the message says what the fields are")]
pub enum UpkeepError {
    #[error("{}: {error}", path.display())]
    File { path: PathBuf, error: io::Error },
    #[error("{}: {error}", path.display())]
    Database { path: PathBuf, error: DatabaseError },
    #[error("{}: there is no journal; --data names its folder", path.display())]
    NoJournal { path: PathBuf },
    #[error(
        "{}: there is no history yet; a server that starts with this folder makes it",
        path.display()
    )]
    NoHistory { path: PathBuf },
    #[error("{}: it is not empty, and nothing was changed; name a folder that is", path.display())]
    NotEmpty { path: PathBuf },
    #[error("{}: {error}", path.display())]
    Recovery {
        path: PathBuf,
        error: Box<RecoveryError<ReadError>>,
    },
    #[error("{}: {problems}", path.display())]
    Damaged { path: PathBuf, problems: String },
    #[error(
        "the records are no text: write them to a file, as in `talking-stick records > journal.bundle`"
    )]
    Terminal,
    #[error("the output cannot be written: {0}")]
    Output(#[from] io::Error),
}

impl UpkeepError {
    fn file(path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |error| Self::File { path, error }
    }

    fn sqlite(path: &Path) -> impl FnOnce(rusqlite::Error) -> Self + use<> {
        let path = path.to_owned();
        move |error| Self::Database {
            path,
            error: error.into(),
        }
    }

    fn database(path: &Path) -> impl FnOnce(DatabaseError) -> Self + use<> {
        let path = path.to_owned();
        move |error| Self::Database { path, error }
    }
}
