//! Links of the journal at places of the copy. They tell a copy that another member has written
//! further from one of another history: of entries that the journal has lost, or has never had.

use std::path::{Path, PathBuf};

use chat_core::Position;
use tokio_postgres::{Client, Transaction};

use super::CopyError;
use crate::blocking;
use crate::history::tables::unsigned;
use crate::journal::{JournalReader, LinkAt};

/// The number of links that the copy keeps: the newest.
const KEPT: i64 = 256;

/// What the journal says of the copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Agreement {
    /// Nothing contradicts it.
    Agrees,
    /// The copy is of another history after this position.
    Until(i64),
}

/// Compares the copy's links with the journal in this folder, the newest first.
///
/// # Errors
/// One of them cannot be read, or no link of several agrees.
pub(super) async fn compare(client: &Client, folder: &Path) -> Result<Agreement, CopyError> {
    let select = "SELECT position, link FROM links ORDER BY position DESC";
    let rows = client.query(select, &[]).await?;
    let links = rows.iter().map(|row| (row.get(0), row.get(1)));
    let links: Vec<(i64, Vec<u8>)> = links.collect();
    let folder = PathBuf::from(folder);
    let compared = blocking(move || compare_with(&folder, &links));
    compared.await?
}

fn compare_with(folder: &Path, links: &[(i64, Vec<u8>)]) -> Result<Agreement, CopyError> {
    let journal = JournalReader::open(folder)?;
    let mut is_contradicted = false;
    for (position, link) in links {
        match journal.link_at(Position(unsigned(*position)))? {
            LinkAt::Known(known) if known == *link => {
                return Ok(match is_contradicted {
                    true => Agreement::Until(*position),
                    false => Agreement::Agrees,
                });
            }
            LinkAt::Known(_) | LinkAt::Elsewhere => is_contradicted = true,
            // The journal is not there yet, or begins later.
            LinkAt::Unknown => {}
        }
    }
    match is_contradicted {
        true => Err(CopyError::OtherHistory),
        false => Ok(Agreement::Agrees),
    }
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
