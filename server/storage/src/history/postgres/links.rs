//! Links of the journal at places of the copy. They tell a copy that another member has written
//! further from one of another history: of entries that the journal has lost, or has never had.

use std::path::{Path, PathBuf};

use chat_core::Position;
use tokio_postgres::{Client, Transaction};

use super::CopyError;
use crate::blocking;
use crate::journal::JournalReader;
use crate::sqlite::unsigned;

/// The number of links that the copy keeps: the newest.
const KEPT: i64 = 256;

/// Compares the copy's links with the journal in this folder, the newest first. Returns the position
/// after which the copy is of another history; none if nothing contradicts it.
///
/// # Errors
/// One of them cannot be read, or no link of several agrees.
pub(super) async fn compare(client: &Client, folder: &Path) -> Result<Option<i64>, CopyError> {
    let select = "SELECT position, link FROM links ORDER BY position DESC";
    let rows = client.query(select, &[]).await?;
    let folder = PathBuf::from(folder);
    let compared = blocking(move || -> Result<_, CopyError> {
        let journal = JournalReader::open(&folder)?;
        let mut is_contradicted = false;
        for row in rows {
            let (position, link): (i64, &[u8]) = (row.get(0), row.get(1));
            match journal.has_link(Position(unsigned(position)), link)? {
                Some(true) => return Ok(is_contradicted.then_some(position)),
                Some(false) => is_contradicted = true,
                // The journal is not there yet, or begins later.
                None => {}
            }
        }
        match is_contradicted {
            true => Err(CopyError::OtherHistory),
            false => Ok(None),
        }
    });
    compared.await?
}

/// Stores the link at this place of the copy.
pub(super) async fn add(
    transaction: &Transaction<'_>,
    position: i64,
    link: &[u8],
) -> Result<(), CopyError> {
    let insert = "INSERT INTO links VALUES ($1, $2) ON CONFLICT (position)
         DO UPDATE SET link = excluded.link";
    transaction.execute(insert, &[&position, &link]).await?;
    let delete = "DELETE FROM links WHERE position <=
         (SELECT position FROM links ORDER BY position DESC OFFSET $1 LIMIT 1)";
    transaction.execute(delete, &[&KEPT]).await?;
    Ok(())
}
