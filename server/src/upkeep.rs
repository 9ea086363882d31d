//! Commands on the folder of a journal: `export`, `records`, `backup`, `restore`, `inspect`.
//!
//! All but `restore` work while a server uses the folder, and change nothing in it.

mod copy;
mod export;
mod inspect;
mod records;

use std::io;
use std::path::{Path, PathBuf};

use chat_core::Position;
use chat_journal::{Origin, RecoveryError};
use server_settings::os_error::{advice, reason};
use server_storage::journal::{DatabaseError, JournalReader, database_in};
use server_storage::private::is_no_folder;

pub use copy::{backup, restore};
pub use export::export;
pub use inspect::{Form, inspect};
pub use records::records;

/// Why a command on a folder failed.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the message says what the fields are")]
pub enum UpkeepError {
    #[error("{}: {}", path.display(), unread(error))]
    File { path: PathBuf, error: io::Error },
    #[error("{}: {error}", path.display())]
    Database { path: PathBuf, error: DatabaseError },
    #[error("{}: there is no journal; --data names its folder", _0.display())]
    NoJournal(PathBuf),
    #[error(
        "{}: there is no backup; write the folder that `talking-stick backup` made",
        _0.display()
    )]
    NoBackup(PathBuf),
    #[error(
        "{}: there is no history yet; a server that starts with this folder makes it",
        path.display()
    )]
    NoHistory { path: PathBuf },
    #[error("{}: it is not empty, and nothing was changed; name a folder that is", path.display())]
    NotEmpty { path: PathBuf },
    #[error(
        "{}: an earlier attempt or another program left it, and nothing was changed; look at it, and \
         remove it",
        path.display()
    )]
    InTheWay { path: PathBuf },
    #[error("{}: {error}", path.display())]
    Recovery {
        path: PathBuf,
        error: Box<RecoveryError<DatabaseError>>,
    },
    #[error("{}: {problems}", path.display())]
    Damaged { path: PathBuf, problems: String },
    #[error(
        "the records are no text: write them to a file, as in `talking-stick records > journal.bundle`"
    )]
    Terminal,
    #[error("the output cannot be written: {}", reason(_0))]
    Output(#[from] io::Error),
}

/// Why a file or folder cannot be used, and what to do.
fn unread(error: &io::Error) -> String {
    if is_no_folder(error) {
        return "it is no folder, or a link to one; a journal and its backup are folders".into();
    }
    let refused = "; run the command as the user as whom the server runs";
    let advice = advice(error, &[(io::ErrorKind::PermissionDenied, refused)], "");
    format!("{}{advice}", reason(error))
}

/// Checks that the folder of a journal has a journal; `none` makes the error if it has not.
fn check_journal(folder: &Path, none: fn(PathBuf) -> UpkeepError) -> Result<(), UpkeepError> {
    let found = database_in(folder).try_exists();
    match found.map_err(UpkeepError::file(folder))? {
        true => Ok(()),
        false => Err(none(folder.into())),
    }
}

/// Opens the journal of a folder.
fn opened(folder: &Path) -> Result<(JournalReader, Origin), UpkeepError> {
    check_journal(folder, UpkeepError::NoJournal)?;
    let reader = JournalReader::open(folder).map_err(UpkeepError::database(folder))?;
    let origin = reader.origin().map_err(UpkeepError::database(folder))?;
    Ok((reader, origin))
}

/// The snapshots of a journal, without those that the server replaces meanwhile.
fn snapshots(
    reader: &JournalReader,
) -> io::Result<impl DoubleEndedIterator<Item = io::Result<(Position, Vec<u8>)>>> {
    let present = move |position| match reader.snapshot(position) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        file => Some(file.map(|file| (position, file))),
    };
    Ok(reader.snapshots()?.into_iter().filter_map(present))
}

impl UpkeepError {
    fn file(path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |error| Self::File { path, error }
    }

    pub(crate) fn database<E: Into<DatabaseError>>(path: &Path) -> impl FnOnce(E) -> Self + use<E> {
        let path = path.to_owned();
        move |error| Self::Database {
            path,
            error: error.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_of_another_user_is_told_as_such() {
        let refused = io::ErrorKind::PermissionDenied.into();
        let said = UpkeepError::file(Path::new("data"))(refused).to_string();
        let wanted = "data: permission denied; run the command as the user as whom the server runs";
        assert_eq!(said, wanted);
    }
}
