//! Recovery of a server's state: with every acknowledged entry, or refused.

use std::ops::ControlFlow;

use chat_core::{Config, Entry, Hub, Position, Reject, Reply, RestoreError, Time};

use crate::identity::Origin;
use crate::mark::{Mark, Marks};
use crate::record::{Broken, Chain};
use crate::snapshot::{Snapshot, SnapshotError};

/// Read access to a journal's records, snapshots and marks.
pub trait Store {
    /// The error of reading.
    type Error: std::error::Error;

    /// The file of a snapshot by its age: `number` 0 is the newest. `None` if there is none.
    ///
    /// # Errors
    /// The store cannot be read.
    fn snapshot(&mut self, number: usize) -> Result<Option<Vec<u8>>, Self::Error>;

    /// The file of marks.
    ///
    /// # Errors
    /// The store cannot be read.
    fn marks(&mut self) -> Result<Vec<u8>, Self::Error>;

    /// Passes the records whose first entry is after `after` to `take`, in the order of their
    /// positions, each with the position under which it is stored, until `take` breaks.
    ///
    /// # Errors
    /// The store cannot be read.
    fn records(
        &mut self,
        after: Position,
        take: &mut dyn FnMut(Position, &[u8]) -> ControlFlow<()>,
    ) -> Result<(), Self::Error>;
}

/// Receives each applied entry with its instant and its outcome, and the state after it.
pub type Look<'l> = &'l mut dyn FnMut(&Hub, Time, &Entry, &Result<Reply, Reject>);

/// Whether to continue a journal that has lost acknowledged entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// The recovery is refused.
    Refused,
    /// An operator accepts the loss: the readable contiguous part is the journal from now on.
    Accepted,
}

/// A recovered state.
#[derive(Debug)]
pub struct Recovered {
    /// The state after the last record.
    pub hub: Hub,
    /// The end of the journal.
    pub chain: Chain,
    /// The position of the snapshot that the recovery started from; 0 without one.
    pub snapshot: Position,
    /// Messages for an operator.
    pub warnings: Vec<Warning>,
    /// Stored records from this position on are no longer part of the journal, and must be moved
    /// away before the next one is written. Set only after an accepted loss.
    pub cut: Option<Position>,
}

/// A problem that does not prevent a start.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Warning {
    /// A snapshot is unusable; an older one, or the beginning of the journal, replaces it.
    #[error("{} cannot be used: {error}", name_of(*number))]
    Snapshot {
        /// Its age: 0 is the newest.
        number: usize,
        /// The reason.
        error: SnapshotError,
    },
    /// The journal ends after its mark: the last entries are durable, but their callers may not
    /// have received answers.
    #[error(
        "the journal ends at position {}, and answers up to position {} are known to have left: the last \
         {} entries are kept",
        last.0, marked.0, last.0 - marked.0
    )]
    Unmarked {
        /// The position of the mark.
        marked: Position,
        /// The last position of the journal.
        last: Position,
    },
    /// A loss that was accepted, with the text of the refusal it replaces.
    #[error("loss accepted: {0}")]
    Accepted(String),
}

fn name_of(snapshot: usize) -> String {
    match snapshot {
        0 => "the newest snapshot".into(),
        number => format!("snapshot {} from the end", number + 1),
    }
}

/// Why a server cannot start from its journal.
#[derive(Debug, thiserror::Error)]
pub enum RecoveryError<E: std::error::Error> {
    /// The store cannot be read.
    #[error("the journal cannot be read: {0}")]
    Store(#[source] E),
    /// A record is missing, damaged or foreign.
    #[error("the record at position {} is not usable: {broken}. The journal is whole up to position {}{}", at.0, last.0, known(*marked))]
    Record {
        /// The position under which the record is stored.
        at: Position,
        /// The defect.
        broken: Broken,
        /// The last position before it.
        last: Position,
        /// The position up to which answers may have left, if it is known.
        marked: Option<Position>,
    },
    /// Records are missing.
    #[error("positions {} to {} are missing from the journal{}", from.0, to.0, known(*marked))]
    Hole {
        /// The first missing position.
        from: Position,
        /// The last missing position.
        to: Position,
        /// The position up to which answers may have left, if it is known.
        marked: Option<Position>,
    },
    /// The newest snapshot has the format of another build, and earlier records are not kept.
    #[error("the newest snapshot cannot be used: {error}. The journal begins at position {}", first.0)]
    Snapshot {
        /// The defect.
        error: SnapshotError,
        /// The position of the first record.
        first: Position,
    },
    /// The journal ends before its mark.
    #[error("the journal ends at position {}, but answers up to position {} have left: positions {} to {} are lost", last.0, marked.0, last.0 + 1, marked.0)]
    Lost {
        /// The last position of the journal.
        last: Position,
        /// The position of the mark.
        marked: Position,
    },
    /// The journal's record at its mark differs from the acknowledged one.
    #[error("the record that ends at position {} is not the one whose answers have left", _0.0)]
    Diverged(Position),
    /// The mark is unreadable.
    #[error("the file of marks is {what}: the journal ends at position {}, and whether answers beyond it have left is unknown", last.0)]
    NoMark {
        /// `absent` or `damaged`.
        what: &'static str,
        /// The last position of the journal.
        last: Position,
    },
}

impl<E: std::error::Error> RecoveryError<E> {
    /// Whether another build wrote the journal, in a format that this build cannot read. Nothing is
    /// lost, so no loss is accepted.
    #[must_use]
    pub const fn is_of_another_build(&self) -> bool {
        matches!(
            self,
            Self::Snapshot { .. }
                | Self::Record {
                    broken: Broken::Format(_) | Broken::Version(_),
                    ..
                }
        )
    }
}

/// The part of an error about the mark.
fn known(marked: Option<Position>) -> String {
    let known = marked.map(|at| format!("; answers up to position {} have left", at.0));
    known.unwrap_or_default()
}

/// Recovers the state of a server from its newest usable snapshot and the records after it.
///
/// Without a snapshot, the first record has the limits and the seed. `config` is used if there is
/// no record at all, because a server crashed before its first one.
///
/// # Errors
/// Acknowledged entries may be missing, unless the `loss` is accepted.
pub fn recover<S: Store>(
    store: &mut S,
    origin: &Origin,
    config: &Config,
    loss: Loss,
    look: Look<'_>,
) -> Result<Recovered, RecoveryError<S::Error>> {
    let marks = store.marks().map_err(RecoveryError::Store)?;
    let mut warnings = Vec::new();
    let (chain, hub) = beginning(store, origin, config, &mut warnings)?;
    let snapshot = chain.last();
    let mut replay = Replay {
        is_new: warnings.is_empty(),
        chain,
        hub,
        marks: Marks::read(&marks),
        snapshot,
        at_mark: None,
        look,
    };
    replay.pass_mark();
    let whole = replay
        .all(store)
        .and_then(|()| replay.check_end())
        .map_err(|error| for_want_of_a_snapshot(error, warnings.first()));
    let mut cut = None;
    match (whole, loss) {
        (Ok(warning), _) => warnings.extend(warning),
        (Err(error), Loss::Accepted)
            if !matches!(error, RecoveryError::Store(_)) && !error.is_of_another_build() =>
        {
            cut = Some(replay.chain.last().next());
            warnings.push(Warning::Accepted(error.to_string()));
        }
        (Err(error), _) => return Err(error),
    }
    Ok(Recovered {
        hub: replay.hub,
        chain: replay.chain,
        snapshot,
        warnings,
        cut,
    })
}

/// The error of the newest snapshot in place of a hole at the beginning of the journal, if the
/// snapshot would have spanned it in the format of this build.
fn for_want_of_a_snapshot<E: std::error::Error>(
    error: RecoveryError<E>,
    newest: Option<&Warning>,
) -> RecoveryError<E> {
    use SnapshotError::{Format, State};
    if let RecoveryError::Hole { from, to, .. } = &error
        && *from == Position(1)
        && let Some(Warning::Snapshot { error: unread, .. }) = newest
        && let Format(_) | State(_, RestoreError::Format) = unread
    {
        let (error, first) = (unread.clone(), to.next());
        return RecoveryError::Snapshot { error, first };
    }
    error
}

/// The newest usable snapshot, or an empty server.
fn beginning<S: Store>(
    store: &mut S,
    origin: &Origin,
    config: &Config,
    warnings: &mut Vec<Warning>,
) -> Result<(Chain, Hub), RecoveryError<S::Error>> {
    for number in 0.. {
        let Some(file) = store.snapshot(number).map_err(RecoveryError::Store)? else {
            break;
        };
        match Snapshot::read(origin, &file) {
            Ok(Snapshot { chain, hub }) => return Ok((chain, hub)),
            Err(error) => warnings.push(Warning::Snapshot { number, error }),
        }
    }
    let hub = Hub::new(config.clone(), origin.seed);
    Ok((Chain::new(origin), hub))
}

/// The application of records.
struct Replay<'l> {
    /// Whether there may never have been an entry: no snapshot exists that cannot be used.
    is_new: bool,
    chain: Chain,
    hub: Hub,
    marks: Marks,
    /// The position of the snapshot that it started from; 0 without one.
    snapshot: Position,
    /// Whether the record that ends at the mark is the acknowledged one. `None` until a record ends
    /// there.
    at_mark: Option<bool>,
    look: Look<'l>,
}

impl Replay<'_> {
    /// Applies all records up to the first that is not the next one.
    fn all<S: Store>(&mut self, store: &mut S) -> Result<(), RecoveryError<S::Error>> {
        let mut found = Ok(());
        let after = self.chain.last();
        let read = store.records(after, &mut |at, bytes| match self.one(at, bytes) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                found = Err(error);
                ControlFlow::Break(())
            }
        });
        read.map_err(RecoveryError::Store)?;
        found
    }

    fn one<E: std::error::Error>(
        &mut self,
        at: Position,
        bytes: &[u8],
    ) -> Result<(), RecoveryError<E>> {
        let (last, marked) = (self.chain.last(), self.marked());
        if at > last.next() {
            return Err(RecoveryError::Hole {
                from: last.next(),
                to: Position(at.0 - 1),
                marked,
            });
        }
        let broken = |broken| RecoveryError::Record {
            at,
            broken,
            last,
            marked,
        };
        let record = self.chain.follow(bytes).map_err(broken)?;
        for entry in &record.entries {
            // The answers left before the server stopped, or never will.
            let outcome = self.hub.handle(record.at, entry);
            (self.look)(&self.hub, record.at, entry, &outcome);
            while self.hub.poll_effect().is_some() {}
        }
        self.pass_mark();
        Ok(())
    }

    fn marked(&self) -> Option<Position> {
        self.marks.known().map(|mark| mark.position)
    }

    /// Compares the link at the mark.
    fn pass_mark(&mut self) {
        if let Some(Mark { position, link }) = self.marks.known()
            && position == self.chain.last()
        {
            self.at_mark = Some(link == self.chain.tip());
        }
    }

    /// Checks that the last record is the end of the journal.
    fn check_end<E: std::error::Error>(&self) -> Result<Option<Warning>, RecoveryError<E>> {
        let last = self.chain.last();
        let no_mark = |what| Err(RecoveryError::NoMark { what, last });
        let Some(Mark { position, .. }) = self.marks.known() else {
            return match self.marks {
                Marks::Absent if last == Position(0) && self.is_new => Ok(None),
                Marks::Absent => no_mark("absent"),
                Marks::Newest(_) | Marks::Only(_) | Marks::Damaged => no_mark("damaged"),
            };
        };
        if position > last {
            let marked = position;
            return Err(RecoveryError::Lost { last, marked });
        }
        // A snapshot after the mark replaces the record at the mark.
        if position >= self.snapshot && self.at_mark != Some(true) {
            return Err(RecoveryError::Diverged(position));
        }
        if position < last {
            let marked = position;
            return Ok(Some(Warning::Unmarked { marked, last }));
        }
        match self.marks {
            // The damaged mark may have been that of a lost record.
            Marks::Only(_) => no_mark("damaged"),
            Marks::Newest(_) | Marks::Absent | Marks::Damaged => Ok(None),
        }
    }
}
