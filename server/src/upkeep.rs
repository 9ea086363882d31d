//! Commands on the folder of a journal: `export`, `records`, `backup`, `restore`, `inspect`.
//!
//! All but `restore` work while a server uses the folder, and change nothing in it.

mod copy;
mod export;
mod inspect;

use std::fmt::Display;
use std::io::{self, IsTerminal as _, Write};
use std::path::Path;

use chat_core::Position;
use chat_journal::{BundleWriter, Checkpoint, Origin, Snapshot};
use server_settings::os_error::{advice, reason};
use server_storage::journal::{DatabaseError, JournalReader, database_in};
use server_storage::private::is_no_folder;

pub use copy::{backup, restore};
pub use export::export;
pub use inspect::inspect;

/// What is missing where a journal should be.
const NO_JOURNAL: &str = "there is no journal; --data names its folder";

/// Why a command on a folder failed, in words for people.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct UpkeepError(String);

impl UpkeepError {
    /// What is wrong with this file or folder.
    pub(crate) fn at(path: &Path, why: impl Display) -> Self {
        Self(format!("{}: {why}", path.display()))
    }

    fn file(path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |error| Self::at(&path, unread(&error))
    }

    pub(crate) fn database<E: Into<DatabaseError>>(path: &Path) -> impl FnOnce(E) -> Self + use<E> {
        let path = path.to_owned();
        move |error| Self::at(&path, error.into())
    }
}

/// An error of the output, to which commands write as they read.
impl From<io::Error> for UpkeepError {
    fn from(error: io::Error) -> Self {
        Self(format!("the output cannot be written: {}", reason(&error)))
    }
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

/// Checks that the folder of a journal has a journal; `none` says what to do if it has not.
fn check_journal(folder: &Path, none: &str) -> Result<(), UpkeepError> {
    let found = database_in(folder).try_exists();
    match found.map_err(UpkeepError::file(folder))? {
        true => Ok(()),
        false => Err(UpkeepError::at(folder, none)),
    }
}

/// Opens the journal of a folder.
fn opened(folder: &Path) -> Result<(JournalReader, Origin), UpkeepError> {
    check_journal(folder, NO_JOURNAL)?;
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

/// Writes the records of the journal in `data` as a bundle: all of them, and a snapshot to start
/// from if the first ones are gone.
///
/// # Errors
/// There is no journal, it cannot be read, or a terminal would show it.
pub fn records(data: &Path, out: &mut dyn Write) -> Result<(), UpkeepError> {
    if io::stdout().is_terminal() {
        let how = "write them to a file, as in `talking-stick records > journal.bundle`";
        return Err(UpkeepError(format!("the records are no text: {how}")));
    }
    let (reader, origin) = opened(data)?;
    let mut bytes = Vec::new();
    let mut bundle = BundleWriter::begin(&origin, &mut bytes);
    // The marks are read first: the journal only grows.
    let marks = reader.marks().map_err(UpkeepError::file(data))?;
    bundle.marks(&marks, &mut bytes);
    let first = reader.first().map_err(UpkeepError::database(data))?;
    let needed_from = Position(first.map_or(0, |first| first.0 - 1));
    let mut is_whole = needed_from == Position(0) && first.is_some();
    let snapshots = snapshots(&reader).map_err(UpkeepError::file(data))?;
    for snapshot in snapshots.rev() {
        let (_, file) = snapshot.map_err(UpkeepError::file(data))?;
        let Some((position, digest)) = Snapshot::head_of(&origin, &file) else {
            continue;
        };
        if !is_whole && position >= needed_from {
            bundle.snapshot(position, &file, &mut bytes);
            is_whole = true;
        }
        bundle.checkpoint(Checkpoint { position, digest }, &mut bytes);
    }
    let mut after = Position(0);
    loop {
        out.write_all(&bytes)?;
        bytes.clear();
        let batch = reader.batch(after).map_err(UpkeepError::database(data))?;
        let Some((last, _)) = batch.last() else {
            break;
        };
        after = *last;
        for (first, record) in batch {
            bundle.record(first, &record, &mut bytes);
        }
    }
    bundle.end(&mut bytes);
    Ok(out.write_all(&bytes)?)
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
