//! Copies the rows of `history.db` as they come.

use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::time::Duration;

use chat_core::Position;
use futures_util::FutureExt as _;
use server_settings::Keep;
use tokio::sync::watch;
use tokio_postgres::{Client, Config};

use super::{CopyError, RETRY, connect, tables};
use crate::blocking;
use crate::clock::wall;
use crate::history::{Copiers, HistoryOptions, path_in};
use crate::sqlite::{signed, unsigned};

/// The longest pause without new rows: old messages are deleted at least this often.
const IDLE: Duration = Duration::from_secs(60);

/// Copies the tables of one file.
pub(super) struct Copier {
    pub(super) config: Config,
    /// The folder of the journal, and of the tables.
    pub(super) folder: PathBuf,
    pub(super) options: HistoryOptions,
    /// Where the copier shows how far it is; nowhere while it cannot copy.
    pub(super) reach: watch::Sender<Option<Position>>,
    /// The place of the copy, if this copier has moved it there.
    pub(super) written: Option<i64>,
    /// How far the file is.
    pub(super) follower: watch::Receiver<Position>,
    /// The address, without its password.
    pub(super) shown: String,
}

impl Copier {
    /// Copies until the server ends. After any error it begins again at the place of the copy.
    pub(super) async fn run(mut self) {
        let mut is_down = false;
        loop {
            // The library panics where the system has no thread: one more error.
            let session = AssertUnwindSafe(self.session(&mut is_down)).catch_unwind();
            let panicked = CopyError::Other("it panicked, and the log says why");
            let Err(error) = session.await.unwrap_or(Err(panicked)) else {
                return;
            };
            self.reach.send_replace(None);
            if !std::mem::replace(&mut is_down, true) {
                tracing::error!(%error, server = self.shown, "the history is not copied; it tries again");
            }
            tokio::time::sleep(RETRY).await;
        }
    }

    /// Copies with one connection. Ends without an error with the server.
    async fn session(&mut self, is_down: &mut bool) -> Result<(), CopyError> {
        self.written = None;
        let mut client = connect(&self.config).await?;
        let mut place = tables::open(&mut client, self.options.origin.realm).await?;
        let end = signed(self.options.end.0);
        if place > end && self.options.copiers == Copiers::One {
            place = cut(&mut client, end).await?;
        }
        if std::mem::take(is_down) {
            tracing::info!(server = self.shown, "the history is copied again");
        }
        loop {
            self.follower.mark_unchanged();
            place = self.copy(&mut client, place).await?;
            self.trim(&mut client).await?;
            let woken = tokio::time::timeout(IDLE, self.follower.changed()).await;
            if matches!(woken, Ok(Err(_))) {
                return Ok(());
            }
        }
    }

    /// Copies all rows that the file has.
    async fn copy(&mut self, client: &mut Client, mut place: i64) -> Result<i64, CopyError> {
        loop {
            if self.written != Some(place)
                && let Some(position) = tables::compare_links(client, self.folder.clone()).await?
            {
                place = cut(client, position).await?;
            }
            self.reach.send_replace(Some(Position(unsigned(place))));
            let file = path_in(&self.folder);
            let read = blocking(move || tables::rows_of(&file, place));
            let Some(rows) = read.await?? else {
                return Ok(place);
            };
            place = tables::write(client, place, &rows).await?;
            self.written = (place == rows.end).then_some(place);
            // From here on, a copy that is ahead is one that another member has written.
            self.options.end = self.options.end.max(Position(unsigned(place)));
        }
    }

    async fn trim(&self, client: &mut Client) -> Result<(), CopyError> {
        let Keep::UpTo(age) = self.options.retention.age else {
            return Ok(());
        };
        let before = signed(wall().0.saturating_sub(age.0));
        while tables::trim(client, before).await? {}
        Ok(())
    }
}

/// Cuts the copy to this position, which is the journal's.
async fn cut(client: &mut Client, position: i64) -> Result<i64, CopyError> {
    tracing::warn!(
        position,
        "the copy has what the journal has lost, and is cut to it"
    );
    tables::cut(client, position).await?;
    Ok(position)
}
