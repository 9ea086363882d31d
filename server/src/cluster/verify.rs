//! `talking-stick cluster verify`: reads the whole log that is there, and compares its copies.
//!
//! Each record is read by the leader and once more by any replica, which the servers choose. It must
//! continue the one before it. The entries are applied to the state of the oldest snapshot, so that
//! the digests of heartbeats and of later snapshots are compared, too.

use std::path::Path;

use chat_cluster::{LogSnapshot, Next, Place};
use chat_core::{Config, Hub, Position};
use chat_journal::{Identity, Origin};
use server_nats::{Extent, LogReader, RecordCopy};
use server_settings::ClusterSettings;
use server_storage::journal::JournalReader;

use super::beginning::foreign;
use super::{ClusterError, NO_IDENTITY};
use crate::upkeep::At as _;

/// The number of records that are read at once.
const AT_ONCE: u64 = 64;

/// The number of differences that are printed.
const PRINTED: usize = 20;

/// Reads the log, and compares it with the journal in this folder. Returns lines for people, and whether
/// nothing differs.
///
/// # Errors
/// The log or the journal cannot be read.
pub(crate) async fn verify(
    cluster: &ClusterSettings,
    data: Option<&Path>,
) -> Result<(String, bool), ClusterError> {
    let reader = LogReader::open(cluster).await?;
    let Some(known) = reader.identity(None).await? else {
        let realm = &cluster.realm;
        let why = "no member has made it, or it is lost";
        return Err(format!("the servers have no log of the realm {realm}: {why}").into());
    };
    let identity: Identity = postcard::from_bytes(&known).map_err(|_| NO_IDENTITY)?;
    let origin = identity.origin();
    // Its end is read first: the log only grows.
    let journal = data.map(|folder| Compared::open(folder, &origin));
    let journal = journal.transpose()?;
    let extent = reader.extent().await?;
    let mut check = Check {
        origin,
        reader,
        journal,
        differences: Vec::new(),
        records: 0,
        digests: 0,
        hub_digest: None,
    };
    let snapshots = check.snapshots().await?;
    let Extent { first, last } = extent;
    let at = snapshots.iter().map(|snapshot| snapshot.place.sequence);
    let at: Vec<_> = at.collect();
    let mut text = format!("log        records {first} to {last}, snapshots at {at:?}\n");
    text.extend(check.follow(extent, snapshots).await);
    Ok(check.finish(text))
}

/// The journal that is compared with the log.
struct Compared {
    reader: JournalReader,
    path: String,
    first: Position,
    last: Position,
    same: u64,
}

impl Compared {
    fn open(folder: &Path, origin: &Origin) -> Result<Self, ClusterError> {
        let reader = JournalReader::open(folder).at(folder)?;
        if reader.origin().at(folder)? != *origin {
            return Err(foreign(folder));
        }
        let path = folder.display().to_string();
        let recovered = reader.recover(origin);
        let last = recovered
            .map_err(|error| format!("{path}: {error}"))?
            .chain
            .last();
        let first = reader.first_after(Position(0)).at(folder)?;
        Ok(Self {
            reader,
            path,
            first: first.unwrap_or(last.next()),
            last,
            same: 0,
        })
    }
}

struct Check {
    origin: Origin,
    reader: LogReader,
    journal: Option<Compared>,
    differences: Vec<String>,
    records: u64,
    /// The number of compared digests.
    digests: u64,
    /// The digest of the state at a position.
    hub_digest: Option<(Position, u64)>,
}

impl Check {
    /// The usable snapshots, the oldest first.
    async fn snapshots(&mut self) -> Result<Vec<LogSnapshot>, ClusterError> {
        let mut usable = Vec::new();
        for (sequence, stored) in self.reader.snapshots().await? {
            match stored.and_then(|bytes| LogSnapshot::read(&self.origin, &bytes)) {
                Ok(snapshot) => usable.push(snapshot),
                Err(why) => {
                    self.differs(format!("the snapshot at {sequence} is not usable: {why}"))
                }
            }
        }
        Ok(usable)
    }

    fn differs(&mut self, what: String) {
        self.differences.push(what);
    }

    /// Reads all records, from a state before the first of them on. Returns a line about those that are not
    /// checked, if there are any.
    async fn follow(&mut self, extent: Extent, snapshots: Vec<LogSnapshot>) -> Option<String> {
        // One that is older leads to purged records.
        let begins_there = |snapshot: &LogSnapshot| snapshot.place.sequence + 1 >= extent.first;
        let mut snapshots = snapshots.into_iter().filter(begins_there).peekable();
        let begins = |snapshot: &LogSnapshot| extent.first > 1 || snapshot.place.sequence == 0;
        let (mut place, mut hub) = match snapshots.next_if(begins) {
            Some(LogSnapshot { place, hub }) => (place, hub),
            None => {
                let hub = Hub::new(Config::default(), self.origin.seed);
                (Place::new(&self.origin), hub)
            }
        };
        let (first, behind) = (extent.first, place.sequence);
        let unchecked = (behind + 1 > first).then(|| {
            format!("unchecked  records {first} to {behind}: no snapshot is before them\n")
        });
        if behind + 1 < first {
            let to = first - 1;
            self.differs(format!(
                "records up to {to} are gone, and no snapshot is behind them"
            ));
            return unchecked;
        }
        let mut from = place.sequence + 1;
        while from <= extent.last {
            let to = extent.last.min(from + AT_ONCE - 1);
            for copies in self.reader.twice(from, to).await {
                let Some(next) = self.next(&place, copies).await else {
                    return unchecked;
                };
                self.records += 1;
                self.apply(&next, &mut hub);
                place = next.after;
                if let Some(snapshot) =
                    snapshots.next_if(|snapshot| snapshot.place.sequence == place.sequence)
                {
                    self.compare_snapshot(&snapshot, (&place, &hub));
                }
            }
            from = to + 1;
        }
        for snapshot in snapshots {
            let (last, sequence) = (extent.last, snapshot.place.sequence);
            self.differs(format!(
                "the log ends at record {last}, before the snapshot at {sequence}: records are lost"
            ));
        }
        let end = place.chain.last();
        if let Some(last) = self.journal.as_ref().map(|journal| journal.last)
            && last > end
        {
            self.differs(format!(
                "the journal ends at position {}, and the log at position {}",
                last.0, end.0
            ));
        }
        unchecked
    }

    /// The next record by one of its sources.
    async fn next(&mut self, place: &Place, copies: [RecordCopy; 2]) -> Option<Next> {
        let sequence = place.sequence + 1;
        let mut next = None;
        for (source, copy) in ["the leader", "a replica"].into_iter().zip(copies) {
            match copy {
                RecordCopy::There(bytes) => match place.open(&bytes) {
                    Ok(found) => next = Some(found),
                    Err(why) => self.differs(format!("record {sequence} of {source}: {why}")),
                },
                RecordCopy::Absent => self.differs(format!("record {sequence}: {source} lacks it")),
                RecordCopy::Unanswered => {
                    self.differs(format!("record {sequence}: {source} does not answer"));
                }
            }
        }
        if next.is_none() {
            let copies = self.reader.copies(sequence).await;
            next = copies.iter().find_map(|copy| place.open(copy).ok());
        }
        if next.is_none() {
            self.differs(format!(
                "record {sequence} is lost: no copy continues the record before it, and what follows \
                 is not checked"
            ));
        }
        next
    }

    /// Applies a record, and compares what it says.
    fn apply(&mut self, next: &Next, hub: &mut Hub) {
        if let Some((batch, record)) = &next.batch {
            for entry in &batch.entries {
                // The owner answered.
                let _ = hub.handle(batch.at, entry);
                while hub.poll_effect().is_some() {}
            }
            self.compare_record(batch.first, record);
        }
        if let Some((position, digest)) = next.heartbeat {
            let known = self.digest(hub);
            self.digests += 1;
            // Before the first entry, the state is a member's own configuration.
            if known != (position, digest) && position > Position(0) {
                let sequence = next.after.sequence;
                self.differs(format!(
                    "the heartbeat {sequence} has the digest {digest:016x} at position {}, and the \
                     state that follows from the log {:016x} at position {}",
                    position.0, known.1, known.0.0
                ));
            }
        }
    }

    fn digest(&mut self, hub: &Hub) -> (Position, u64) {
        match self.hub_digest {
            Some(known) if known.0 == hub.position() => known,
            _ => *self.hub_digest.insert((hub.position(), hub.digest())),
        }
    }

    fn compare_snapshot(&mut self, snapshot: &LogSnapshot, (place, hub): (&Place, &Hub)) {
        self.digests += 1;
        if snapshot.place != *place || snapshot.hub.digest() != self.digest(hub).1 {
            let sequence = snapshot.place.sequence;
            self.differs(format!(
                "the snapshot at {sequence} is not the state that follows from the log"
            ));
        }
    }

    fn compare_record(&mut self, first: Position, record: &[u8]) {
        let Some(journal) = &mut self.journal else {
            return;
        };
        if first < journal.first || first > journal.last {
            return;
        }
        let what = match journal.reader.record(first) {
            Ok(Some(kept)) if kept == record => {
                journal.same += 1;
                return;
            }
            Ok(Some(_)) => "has another record".to_owned(),
            Ok(None) => "lacks the record".to_owned(),
            Err(error) => format!("cannot be read: {error}"),
        };
        self.differs(format!("the journal {what} at position {}", first.0));
    }

    /// Completes the lines for people. Returns also whether nothing differs.
    fn finish(self, mut text: String) -> (String, bool) {
        let (records, digests, differences) = (self.records, self.digests, self.differences);
        text += &format!(
            "checked    {records} records, each by the leader and by a replica\n\
             digests    {digests} of heartbeats and snapshots compared\n"
        );
        if let Some(journal) = self.journal {
            let (path, same) = (journal.path, journal.same);
            let (first, last) = (journal.first.0, journal.last.0);
            text += &format!(
                "journal    {path}, positions {first} to {last}: {same} records are the same\n"
            );
        }
        for difference in differences.iter().take(PRINTED) {
            text += &format!("differs    {difference}\n");
        }
        if let Some(more @ 1..) = differences.len().checked_sub(PRINTED) {
            text += &format!("differs    and {more} more\n");
        }
        if differences.is_empty() {
            text += "nothing    differs\n";
        }
        (text, differences.is_empty())
    }
}
