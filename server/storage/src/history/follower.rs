//! Follows the journal: replays its records in a state of its own, and writes the events that they
//! cause to the tables.
//!
//! It reads from the journal's file and not from a queue, so a slow disk or a long pause costs no
//! memory: it only makes the history older. On any error it begins again at the place of the
//! tables.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use std::{fs, io};

use chat_core::{Body, Config, Hub, Position};
use chat_journal::{Broken, Chain, Record, Snapshot};
use tokio::sync::watch;

use super::HistoryOptions;
use super::progress::{Progress, WakeReason};
use super::sums::{is_damage, verify};
use super::tables::{Fact, Load, Reached, Tables};
use crate::clock::wall;
use crate::journal::{DatabaseError, JournalReader};
use crate::private;

/// The pause after an error.
pub(super) const RETRY: Duration = Duration::from_secs(10);

/// The pause after damaged tables were moved.
const AGAIN: Duration = Duration::from_millis(100);

/// What is added to the name of damaged tables until all that is needed of them is taken.
const ASIDE: &str = ".aside";

/// What is added to their name then.
const DAMAGED: &str = ".damaged";

/// The number of records below which the follower lets more of them come before it goes on.
const FEW: usize = 64;

/// The longest pause without new records: old messages are deleted at least this often.
const IDLE: Duration = Duration::from_secs(60);

/// Why the history does not follow the journal.
#[derive(Debug, thiserror::Error)]
pub(super) enum FollowError {
    #[error("{0}")]
    Tables(#[from] rusqlite::Error),
    #[error("{0}")]
    Journal(#[from] DatabaseError),
    #[error("{}", server_settings::os_error::reason(_0))]
    Folder(#[from] io::Error),
    #[error("the history is damaged: a reader found it")]
    Damaged,
    #[error("no record and no snapshot continues position {}: {why}", after.0)]
    Gap { after: Position, why: String },
}

/// Where the history is, and where it comes from.
#[derive(Debug)]
pub(super) struct Follower {
    pub(super) options: HistoryOptions,
    /// The end of the copy, if there is to be one; none while it is away.
    pub(super) copied: Option<watch::Receiver<Option<Position>>>,
    pub(super) progress: Arc<Progress>,
}

/// The open files, and the state after the last record that was read.
struct Following {
    journal: JournalReader,
    tables: Tables,
    chain: Chain,
    hub: Hub,
}

impl Follower {
    /// Follows the journal until the server stops.
    pub(super) fn run(&self) {
        let mut following = None;
        loop {
            let is_found_damaged = self.progress.now().is_damaged;
            let turn = match is_found_damaged {
                true => Err(FollowError::Damaged),
                false => self.turn(&mut following),
            };
            let pause = match turn {
                Ok(true) if !self.progress.is_late() => continue,
                Ok(_) => IDLE,
                Err(error) => {
                    tracing::error!(%error, "the history does not follow the journal; it tries again");
                    following = None;
                    let is_aside = is_damaged(&error) && self.set_aside();
                    if is_aside { AGAIN } else { RETRY }
                }
            };
            let last = following.as_ref().map(|found| found.chain.last());
            let woken = self.progress.sleep(last, pause);
            let ends = woken == WakeReason::ToStop || self.progress.is_late();
            if (ends || woken == WakeReason::Idle)
                && let Some(Err(error)) = following.as_ref().map(|found| found.tables.rest())
            {
                tracing::warn!(%error, "the history's WAL could not be emptied");
            }
            if ends {
                return;
            }
        }
    }

    /// Reads and writes some records, or deletes some old messages. Returns whether there is more
    /// to do.
    fn turn(&self, following: &mut Option<Following>) -> Result<bool, FollowError> {
        let found = match following {
            Some(found) => found,
            None => following.insert(self.begin()?),
        };
        let records = match found.step() {
            Err(FollowError::Gap { after, why }) => {
                tracing::warn!(
                    after = after.0,
                    why,
                    "the history cannot follow the records"
                );
                self.skip(found, after)?;
                found.hub.collect_posted();
                FEW
            }
            records => records?,
        };
        let last = found.chain.last();
        let load = if records == 0 { Load::Low } else { Load::High };
        let copied = self.copied.as_ref();
        let copied = copied.map_or(Position(u64::MAX), |copied| {
            copied.borrow().unwrap_or_default()
        });
        let trimmed = found
            .tables
            .trim(self.options.retention, wall(), (load, copied))?;
        self.progress.reached(last);
        if records < FEW && !trimmed {
            self.progress.linger(last);
        }
        Ok(records > 0 || trimmed)
    }

    /// Opens the files, and finds the state at the position of the tables.
    fn begin(&self) -> Result<Following, FollowError> {
        let journal = JournalReader::open(&self.options.folder)?;
        let mut tables = Tables::open(
            &super::path_in(&self.options.folder),
            self.options.origin.realm,
        )?;
        verify(&tables.connection)?;
        let committed = self.progress.now().committed;
        if tables.place()?.position > committed {
            tracing::warn!(
                position = committed.0,
                "the journal has lost its end, and the history is cut to it"
            );
            tables.cut(committed)?;
        }
        let place = tables.place()?;
        self.progress.reached(place.position);
        let (chain, hub) = self.beginning();
        let mut following = Following {
            journal,
            tables,
            chain,
            hub,
        };
        self.start(&mut following, place.position)?;
        match following.replay_to(&place)? {
            Replayed::There => {}
            Replayed::Unreadable => self.skip(&mut following, place.position)?,
            Replayed::Elsewhere => {
                tracing::error!("the history is of another journal, and is rebuilt");
                following.tables.create(self.options.origin.realm)?;
                self.start(&mut following, Position(0))?;
            }
        }
        following.hub.collect_posted();
        let lost = following.tables.lost()?;
        self.progress.now().lost = lost;
        self.keep_damaged();
        Ok(following)
    }

    /// The state before the first record, which has the limits.
    fn beginning(&self) -> (Chain, Hub) {
        let hub = Hub::new(Config::default(), self.options.origin.seed);
        (Chain::new(&self.options.origin), hub)
    }

    /// Continues from the newest state from which records lead to this position, or beyond it if they are gone.
    fn start(&self, following: &mut Following, position: Position) -> Result<(), FollowError> {
        let journal = &following.journal;
        let snapshots = journal.snapshots()?;
        for snapshot in &snapshots {
            if *snapshot <= position
                && let Some(found) = self.snapshot(journal, *snapshot)?
            {
                (following.chain, following.hub) = found;
                return Ok(());
            }
        }
        let is_whole = match journal.first_after(Position(0))? {
            Some(first) => first == Position(1),
            None => snapshots.is_empty(),
        };
        if !is_whole {
            return self.skip(following, position);
        }
        (following.chain, following.hub) = self.beginning();
        Ok(())
    }

    /// The state of a snapshot, unless it is damaged, or was replaced meanwhile.
    fn snapshot(
        &self,
        journal: &JournalReader,
        position: Position,
    ) -> Result<Option<(Chain, Hub)>, FollowError> {
        let Some(file) = private::present(journal.snapshot(position))? else {
            return Ok(None);
        };
        match Snapshot::read(&self.options.origin, &file) {
            Ok(Snapshot { chain, hub }) => Ok(Some((chain, hub))),
            Err(error) => {
                tracing::warn!(%error, position = position.0, "a snapshot cannot be used");
                Ok(None)
            }
        }
    }

    /// Continues at the oldest snapshot after this position, because the records before it are gone.
    fn skip(&self, following: &mut Following, after: Position) -> Result<(), FollowError> {
        for position in following.journal.snapshots()?.into_iter().rev() {
            if position > after
                && let Some((chain, hub)) = self.snapshot(&following.journal, position)?
            {
                let rooms: Vec<_> = hub.kept_rooms().collect();
                let [aside, ..] = &self.named(ASIDE);
                // Whatever follows the position of the tables is not older than they are.
                let is_new = after == Position(0) && aside.exists();
                let aside = is_new.then_some(&**aside);
                following.tables.skip_to(&rooms, &place_of(&chain), aside)?;
                tracing::warn!(
                    after = after.0,
                    to = position.0,
                    "records are gone: the history has what a snapshot held of them"
                );
                (following.chain, following.hub) = (chain, hub);
                return Ok(());
            }
        }
        Err(FollowError::Gap {
            after,
            why: "no later snapshot can be used".into(),
        })
    }

    /// Moves damaged tables out of the way, so that the next attempt builds them anew. False if that
    /// is not possible.
    fn set_aside(&self) -> bool {
        let [present, aside] = ["", ASIDE].map(|middle| self.named(middle));
        // Those that were damaged first have more than those that were to replace them.
        let is_second = aside[0].exists();
        let moved = present.iter().zip(&aside).map(|(from, to)| {
            private::present(match is_second {
                true => fs::remove_file(from),
                false => fs::rename(from, to),
            })
        });
        let moved: io::Result<Vec<_>> = moved.collect();
        if let Err(error) = &moved {
            tracing::error!(
                error = server_settings::os_error::reason(error),
                "the damaged history cannot be moved"
            );
        }
        self.progress.replaced();
        moved.is_ok()
    }

    /// Keeps damaged tables under another name: nothing more is taken from them.
    fn keep_damaged(&self) {
        let [aside, kept] = [ASIDE, DAMAGED].map(|middle| self.named(middle));
        if !aside[0].exists() {
            return;
        }
        for (from, to) in aside.iter().zip(&kept) {
            // One that is absent now must not be left of an earlier time.
            let _ = fs::remove_file(to);
            let _ = fs::rename(from, to);
        }
    }

    /// The tables' file and the files that SQLite has beside it, with this in the middle of their
    /// names.
    fn named(&self, middle: &str) -> [PathBuf; 3] {
        ["", "-wal", "-shm"].map(|end| {
            let mut name = super::path_in(&self.options.folder).into_os_string();
            name.push(middle);
            name.push(end);
            name.into()
        })
    }
}

impl Following {
    /// Replays the records up to this place, which the tables have.
    fn replay_to(&mut self, place: &Reached) -> Result<Replayed, FollowError> {
        while self.chain.last() < place.position {
            let batch = self.journal.batch(self.chain.last())?;
            // None: the state does not collect events yet, because the tables have them.
            let facts = &mut Vec::new();
            if batch.is_empty() || self.follow(batch, place.position, facts).is_err() {
                return Ok(Replayed::Unreadable);
            }
        }
        let link = self.chain.tip().to_bytes();
        let is_known = place.link.as_ref().is_none_or(|known| *known == link);
        // Beyond the place, the state is the one of a snapshot that the tables have.
        Ok(match self.chain.last() == place.position && !is_known {
            true => Replayed::Elsewhere,
            false => Replayed::There,
        })
    }

    /// Writes the events of the next records. Returns the number of records.
    fn step(&mut self) -> Result<usize, FollowError> {
        let batch = self.journal.batch(self.chain.last())?;
        if batch.is_empty() {
            return Ok(0);
        }
        let (records, mut facts) = (batch.len(), Vec::new());
        let followed = self.follow(batch, Position(u64::MAX), &mut facts);
        self.tables.write(&facts, &place_of(&self.chain))?;
        followed.map(|()| records)
    }

    /// Applies these records, up to this position at least, and adds the events that they cause.
    fn follow(
        &mut self,
        batch: Vec<(Position, Vec<u8>)>,
        until: Position,
        facts: &mut Vec<Fact>,
    ) -> Result<(), FollowError> {
        for (at, bytes) in batch {
            let after = self.chain.last();
            if after >= until {
                break;
            }
            let followed = match at == after.next() {
                true => self.chain.follow(&bytes),
                false => Err(Broken::Content(format!("it is at position {}", at.0))),
            };
            let gap = |broken: Broken| FollowError::Gap {
                after,
                why: broken.to_string(),
            };
            self.apply(&followed.map_err(gap)?, facts);
        }
        Ok(())
    }

    fn apply(&mut self, record: &Record, facts: &mut Vec<Fact>) {
        for entry in &record.entries {
            // The outcome reached its caller, or nobody.
            let _ = self.hub.handle(record.at, entry);
            while self.hub.poll_effect().is_some() {}
            let position = self.hub.position();
            for event in self.hub.take_posted() {
                let begins = matches!(event.body, Body::Joined(_));
                let name = self.hub.room_name(event.room).filter(|_| begins);
                facts.push(Fact {
                    position,
                    room_name: name.map(Arc::from),
                    event,
                });
            }
        }
    }
}

/// The result of a replay up to the place of the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Replayed {
    /// The state is the one at the place.
    There,
    /// A record is missing, damaged, or of another version.
    Unreadable,
    /// The journal at the place is not the one that the tables follow.
    Elsewhere,
}

fn place_of(chain: &Chain) -> Reached {
    Reached {
        position: chain.last(),
        link: Some(chain.tip().to_bytes().to_vec()),
    }
}

/// Whether the tables have to be built anew.
fn is_damaged(error: &FollowError) -> bool {
    match error {
        FollowError::Damaged => true,
        FollowError::Tables(error) => is_damage(error),
        FollowError::Journal(_) | FollowError::Folder(_) | FollowError::Gap { .. } => false,
    }
}
