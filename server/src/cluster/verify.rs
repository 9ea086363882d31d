//! `talking-stick cluster verify`: reads the whole log that is there, and compares its copies.
//!
//! Each record is read by the leader and once more by any replica, which the servers choose. It must
//! continue the one before it. The entries are applied to the state of the oldest snapshot, so that
//! the digests of heartbeats and of later snapshots are compared, too.

use std::fmt::Write as _;
use std::path::Path;

use chat_cluster::{LogSnapshot, News, Place};
use chat_core::{Config, Hub, Position};
use chat_journal::{Identity, Origin};
use server_nats::{Extent, LogReader, ReadTwice, RecordCopy};
use server_settings::ClusterSettings;
use server_storage::journal::JournalReader;

use super::{ClusterError, options};
use crate::upkeep::UpkeepError;

/// The number of records that are read at once.
const AT_ONCE: u64 = 64;

/// The number of differences that are printed.
const PRINTED: usize = 20;

/// What was found.
pub(crate) struct LogReport {
    /// Lines for people.
    pub(crate) text: String,
    /// Whether nothing differs.
    pub(crate) is_sound: bool,
}

/// Reads the log, and compares it with the journal in this folder.
///
/// # Errors
/// The log or the journal cannot be read.
pub(crate) async fn verify(
    cluster: &ClusterSettings,
    data: Option<&Path>,
) -> Result<LogReport, ClusterError> {
    let reader = LogReader::open(&options(cluster)?).await?;
    let known = reader.identity().await?;
    let known = known.ok_or_else(|| ClusterError::NoRealm {
        realm: cluster.realm.clone(),
    })?;
    let identity: Identity = postcard::from_bytes(&known).map_err(|_| ClusterError::Identity)?;
    let origin = identity.origin();
    // Its end is read first: the log only grows.
    let journal = data.map(|folder| Compared::open(folder, &origin));
    let journal = journal.transpose()?;
    let extent = reader.extent().await?;
    let mut check = Check {
        origin,
        journal,
        report: String::new(),
        differences: Vec::new(),
        records: 0,
        digests: 0,
        hub_digest: None,
    };
    let snapshots = check.snapshots(&reader).await?;
    let _ = writeln!(
        check.report,
        "log        records {} to {}, snapshots at {:?}",
        extent.first,
        extent.last,
        snapshots
            .iter()
            .map(LogSnapshot::sequence)
            .collect::<Vec<_>>()
    );
    check.follow(&reader, extent, snapshots).await;
    Ok(check.finish())
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
        let reader = JournalReader::open(folder).map_err(UpkeepError::database(folder))?;
        let path = folder.display().to_string();
        if reader.origin().map_err(UpkeepError::database(folder))? != *origin {
            return Err(ClusterError::Foreign { folder: path });
        }
        let recovered = reader
            .recover(origin)
            .map_err(|error| UpkeepError::at(folder, error))?;
        let first = reader.first().map_err(UpkeepError::database(folder))?;
        Ok(Self {
            reader,
            path,
            first: first.unwrap_or(recovered.chain.last().next()),
            last: recovered.chain.last(),
            same: 0,
        })
    }
}

struct Check {
    origin: Origin,
    journal: Option<Compared>,
    report: String,
    differences: Vec<String>,
    records: u64,
    /// The number of compared digests.
    digests: u64,
    /// The digest of the state at a position.
    hub_digest: Option<(Position, u64)>,
}

impl Check {
    /// The usable snapshots, the oldest first.
    async fn snapshots(&mut self, reader: &LogReader) -> Result<Vec<LogSnapshot>, ClusterError> {
        let mut usable = Vec::new();
        for (sequence, stored) in reader.snapshots().await? {
            let read = stored.and_then(|bytes| {
                LogSnapshot::read(&self.origin, &bytes).map_err(|why| why.to_string())
            });
            match read {
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

    /// Reads all records, from a state before the first of them on.
    async fn follow(&mut self, reader: &LogReader, extent: Extent, snapshots: Vec<LogSnapshot>) {
        let mut snapshots = snapshots.into_iter().peekable();
        let begins_there = |snapshot: &LogSnapshot| snapshot.sequence() + 1 >= extent.first;
        // One that is older leads to purged records.
        while snapshots
            .next_if(|snapshot| !begins_there(snapshot))
            .is_some()
        {}
        let (mut place, mut hub) = match snapshots.next_if(|_| extent.first > 1) {
            Some(snapshot) => snapshot.into_parts(),
            None => match snapshots.next_if(|snapshot| snapshot.sequence() == 0) {
                Some(snapshot) => snapshot.into_parts(),
                None => {
                    let hub = Hub::new(Config::default(), self.origin.seed);
                    (Place::new(&self.origin), hub)
                }
            },
        };
        if place.sequence() + 1 > extent.first {
            let (from, to) = (extent.first, place.sequence());
            let _ = writeln!(
                self.report,
                "unchecked  records {from} to {to}: no snapshot is before them"
            );
        }
        if place.sequence() + 1 < extent.first {
            let to = extent.first - 1;
            return self.differs(format!(
                "records up to {to} are gone, and no snapshot is behind them"
            ));
        }
        let mut from = place.sequence() + 1;
        while from <= extent.last {
            let to = extent.last.min(from + AT_ONCE - 1);
            for read in reader.twice(from, to).await {
                let Some(bytes) = self.sound(reader, &place, read).await else {
                    return;
                };
                let Ok(next) = place.open(&bytes) else {
                    return;
                };
                place = next.after;
                self.records += 1;
                self.apply((&place, next.news), &mut hub);
                if let Some(snapshot) =
                    snapshots.next_if(|snapshot| snapshot.sequence() == place.sequence())
                {
                    self.compare_snapshot(&snapshot, (&place, &hub));
                }
            }
            from = to + 1;
        }
        for snapshot in snapshots {
            let (last, sequence) = (extent.last, snapshot.sequence());
            self.differs(format!(
                "the log ends at record {last}, before the snapshot at {sequence}: records are lost"
            ));
        }
        self.compare_end(&place);
    }

    /// The bytes of the next record at one of its sources.
    async fn sound(
        &mut self,
        reader: &LogReader,
        place: &Place,
        read: ReadTwice,
    ) -> Option<Vec<u8>> {
        let sequence = read.sequence;
        let mut sound = None;
        for (source, copy) in [("the leader", read.leader), ("a replica", read.replica)] {
            match copy {
                RecordCopy::There(bytes) if place.open(&bytes).is_ok() => sound = Some(bytes),
                RecordCopy::There(bytes) => {
                    let why = place.open(&bytes).err().map(|why| why.to_string());
                    let why = why.unwrap_or_default();
                    self.differs(format!("record {sequence} of {source}: {why}"));
                }
                RecordCopy::Absent => self.differs(format!("record {sequence}: {source} lacks it")),
                RecordCopy::Unanswered => {
                    self.differs(format!("record {sequence}: {source} does not answer"));
                }
            }
        }
        if sound.is_none() {
            let copies = reader.copies(sequence).await;
            sound = copies.into_iter().find(|copy| place.open(copy).is_ok());
        }
        if sound.is_none() {
            self.differs(format!(
                "record {sequence} is lost: no copy continues the record before it, and what follows \
                 is not checked"
            ));
        }
        sound
    }

    /// Applies a record, and compares what it says.
    fn apply(&mut self, (place, news): (&Place, News), hub: &mut Hub) {
        match news {
            News::Batch { batch, record } => {
                for entry in &batch.entries {
                    // The owner answered.
                    let _ = hub.handle(batch.at, entry);
                    while hub.poll_effect().is_some() {}
                }
                self.compare_record(batch.first, &record);
            }
            News::Heartbeat { position, digest } => {
                let known = self.digest(hub);
                self.digests += 1;
                // Before the first entry, the state is a member's own configuration.
                if known != (position, digest) && position > Position(0) {
                    let sequence = place.sequence();
                    self.differs(format!(
                        "the heartbeat {sequence} has the digest {digest:016x} at position {}, and the \
                         state that follows from the log {:016x} at position {}",
                        position.0, known.1, known.0.0
                    ));
                }
            }
            News::Claimed | News::Resigned | News::Noop => {}
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
        if snapshot.place() != place || snapshot.hub().digest() != self.digest(hub).1 {
            let sequence = snapshot.sequence();
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

    fn compare_end(&mut self, place: &Place) {
        let end = place.chain().last();
        if let Some(journal) = &self.journal
            && journal.last > end
        {
            let last = journal.last.0;
            self.differs(format!(
                "the journal ends at position {last}, and the log at position {}",
                end.0
            ));
        }
    }

    fn finish(self) -> LogReport {
        let Self {
            report: mut text,
            differences,
            records,
            digests,
            ..
        } = self;
        let _ = writeln!(
            text,
            "checked    {records} records, each by the leader and by a replica"
        );
        let _ = writeln!(
            text,
            "digests    {digests} of heartbeats and snapshots compared"
        );
        if let Some(Compared {
            path,
            first,
            last,
            same,
            ..
        }) = self.journal
        {
            let (first, last) = (first.0, last.0);
            let _ = writeln!(
                text,
                "journal    {path}, positions {first} to {last}: {same} records are the same"
            );
        }
        for difference in differences.iter().take(PRINTED) {
            let _ = writeln!(text, "differs    {difference}");
        }
        if let Some(more @ 1..) = differences.len().checked_sub(PRINTED) {
            let _ = writeln!(text, "differs    and {more} more");
        }
        let is_sound = differences.is_empty();
        if is_sound {
            text.push_str("nothing    differs\n");
        }
        LogReport { text, is_sound }
    }
}
