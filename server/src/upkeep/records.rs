//! The journal as one file, to replay it elsewhere.

use std::io::{self, IsTerminal as _, Write};
use std::path::Path;

use chat_core::Position;
use chat_journal::{BundleWriter, Checkpoint, Snapshot};

use super::{UpkeepError, opened, snapshots};

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
