//! Where a member begins: at the end of its own journal, or at a snapshot of the log.
//!
//! | its journal | the log | it begins at |
//! |---|---|---|
//! | none, or empty | any | the newest snapshot, or the first record |
//! | ends at a record that the log has | goes on from there | the journal's end |
//! | ends where the newest snapshot is | has purged what came before | the snapshot, without a gap |
//! | ends before the newest snapshot | has purged what came between | the snapshot; the journal begins anew |
//! | has entries | lacks them | refused: `cluster repair`, or an empty folder |

use std::path::Path;
use std::time::Duration;

use chat_cluster::{FORMAT, LogSnapshot, Place, Unfit};
use chat_core::{Config, Continuity, Hub, Position};
use chat_journal::{Identity, Mark, Origin};
use server_nats::{Extent, LogReader, OpenError, RecordCopy};
use server_storage::journal::{DatabaseError, FoundJournal, new_identity};

use super::{ClusterError, NO_IDENTITY};

/// How often the log is asked for its end, and for the record at the journal's end.
const ATTEMPTS: u32 = 8;

/// The pause between two attempts.
const AGAIN: Duration = Duration::from_secs(1);

/// How another version goes on with a chat whose log it cannot read.
const NEW_LOG: &str = "stop its members cleanly, and make a log of this version from a member's \
                       folder: `talking-stick cluster repair --from DIR --cluster-realm NEW`";

/// The identity of the realm, which the first member draws. A journal with entries must be of it.
pub(super) async fn identity(
    reader: &LogReader,
    own: Option<&FoundJournal>,
) -> Result<Identity, ClusterError> {
    let known = own.and_then(|own| own.identity.as_ref());
    let found = match asked(|| reader.identity(None)).await? {
        Some(found) => found,
        None => {
            if let Some(own) = own.filter(|own| own.last() > Position(0)) {
                return Err(lost(own));
            }
            let drawn = known.cloned().map_or_else(new_identity, Ok);
            let drawn = postcard::to_stdvec(&drawn.map_err(DatabaseError::from)?)?;
            reader.identity(Some(&drawn)).await?.unwrap_or(drawn)
        }
    };
    let identity: Identity = postcard::from_bytes(&found).map_err(|_| NO_IDENTITY)?;
    match own {
        Some(own) if known.is_some_and(|known| *known != identity) => Err(foreign(own.path())),
        Some(_) | None => Ok(identity),
    }
}

/// The error of a journal of another realm.
pub(super) fn foreign(folder: &Path) -> ClusterError {
    let folder = folder.display();
    format!(
        "{folder} has the journal of another realm than the log: name another folder with --data, or \
         another realm with --cluster-realm"
    )
    .into()
}

/// The state and the place at which the member begins.
pub(super) async fn choose(
    reader: &LogReader,
    origin: &Origin,
    limits: &Config,
    own: Option<&mut FoundJournal>,
) -> Result<LogSnapshot, ClusterError> {
    let start = choose_by_journal(reader, origin, limits, own).await?;
    check_end(reader, start.place.sequence).await?;
    for copy in reader.copies(start.place.sequence + 1).await {
        check_format(&start.place, &copy)?;
    }
    Ok(start)
}

/// Checks that this version reads the format of the record behind this place. A member could follow no
/// log of another format, and would own it never.
fn check_format(place: &Place, next: &[u8]) -> Result<(), ClusterError> {
    match place.open(next) {
        Err(Unfit::Format(format)) => {
            let sequence = place.sequence + 1;
            Err(format!(
                "--cluster: record {sequence} of the log has format {format}, and this version reads \
                 format {FORMAT}. Start the version that wrote it, or {NEW_LOG}"
            )
            .into())
        }
        Ok(_) | Err(_) => Ok(()),
    }
}

async fn choose_by_journal(
    reader: &LogReader,
    origin: &Origin,
    limits: &Config,
    own: Option<&mut FoundJournal>,
) -> Result<LogSnapshot, ClusterError> {
    let Some(own) = own else {
        let start = stored(reader, origin).await?;
        return Ok(start.unwrap_or_else(|| first(origin, limits, Continuity::Whole)));
    };
    if let (Some(place), Some(end)) = (&own.place, &own.end)
        && Mark::at(&place.chain) == Mark::at(end)
        && goes_on(reader, place).await?
        && let Some(hub) = own.hub.take()
    {
        return Ok(LogSnapshot::new(place.clone(), hub).expect("the journal ends at its place"));
    }
    let Some(start) = stored(reader, origin).await? else {
        return match own.last() {
            Position(0) => Ok(first(origin, limits, Continuity::Whole)),
            _ if own.is_loss_accepted() => Ok(first(origin, limits, Continuity::Broken)),
            _ => Err(lost(own)),
        };
    };
    let (last, chain) = (own.last(), &start.place.chain);
    let is_there = own
        .end
        .as_ref()
        .is_some_and(|end| Mark::at(end) == Mark::at(chain));
    if !is_there && last > Position(0) {
        if chain.last() <= last && !own.is_loss_accepted() {
            return Err(lost(own));
        }
        tracing::warn!(
            last = last.0,
            begins = chain.last().0,
            "the log has purged what this member's journal lacks: the journal begins again, and the \
             old one is kept beside it"
        );
    }
    Ok(start)
}

/// Checks that the log does not end before this sequence. Nobody could append to it.
async fn check_end(reader: &LogReader, sequence: u64) -> Result<(), ClusterError> {
    let mut last = 0;
    for _ in 0..ATTEMPTS {
        last = asked(|| reader.extent()).await?.last;
        if last >= sequence {
            return Ok(());
        }
        tokio::time::sleep(AGAIN).await;
    }
    Err(format!(
        "--cluster: the log ends at record {last}, and a snapshot of it is at {sequence}: the servers \
         have lost records. `talking-stick cluster repair` makes a log from a member's folder"
    )
    .into())
}

fn lost(own: &FoundJournal) -> ClusterError {
    let (folder, last) = (own.path().display(), own.last().0);
    format!(
        "{folder} has a journal up to position {last}, and the log of the cluster lacks entries of \
         it. If the log is lost, or this is the journal of a single server, `talking-stick cluster \
         repair` makes a log from it; if not, start with another folder, or with --accept-loss, \
         which keeps the journal beside a new one"
    )
    .into()
}

/// The beginning of a log without records.
fn first(origin: &Origin, limits: &Config, continuity: Continuity) -> LogSnapshot {
    let hub = Hub::new(limits.clone(), origin.seed);
    let mut place = Place::new(origin);
    place.continuity = continuity;
    LogSnapshot::new(place, hub).expect("both are at position 0")
}

async fn stored(reader: &LogReader, origin: &Origin) -> Result<Option<LogSnapshot>, ClusterError> {
    let bytes = asked(|| reader.newest_snapshot()).await?;
    let read = bytes.map(|bytes| LogSnapshot::read(origin, &bytes));
    Ok(read.transpose().map_err(|why| {
        format!(
            "--cluster: the newest snapshot is not usable: {why}. If another version wrote it, start \
             that version, or {NEW_LOG}"
        )
    })?)
}

/// Asks until there is an answer: the log may be electing a leader.
async fn asked<T>(ask: impl AsyncFn() -> Result<T, OpenError>) -> Result<T, OpenError> {
    for _ in 1..ATTEMPTS {
        match ask().await {
            Ok(answer) => return Ok(answer),
            Err(why) => tracing::warn!(%why, "the log does not answer yet"),
        }
        tokio::time::sleep(AGAIN).await;
    }
    ask().await
}

/// Whether the log has the record at this place, or the one behind it, so that it is this log and no
/// other one with the same sequences. Servers that just started may not know their records yet.
async fn goes_on(reader: &LogReader, place: &Place) -> Result<bool, ClusterError> {
    let sequence = place.sequence;
    let mut is_answered = false;
    for _ in 0..ATTEMPTS {
        let Extent { first, last } = asked(|| reader.extent()).await?;
        if sequence + 1 < first || (sequence + 1 == first && last == sequence) {
            // The newest snapshot is behind the place, or at it.
            return Ok(false);
        }
        // At the beginning of the log, it is the record behind the place.
        let at = sequence.max(first);
        is_answered = at > last;
        if at <= last {
            for [leader, replica] in reader.twice(at, at).await {
                is_answered |= leader == RecordCopy::Absent;
                for copy in [leader, replica] {
                    if let RecordCopy::There(bytes) = copy {
                        return Ok(match at == sequence {
                            true => place.ends_with(&bytes),
                            false => place.open(&bytes).is_ok(),
                        });
                    }
                }
            }
        }
        tokio::time::sleep(AGAIN).await;
    }
    match is_answered {
        true => Ok(false),
        false => {
            let why = "the log does not answer with the record at which this member's journal ends";
            Err(format!("--cluster: {why}").into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The record behind the beginning, in this format and with a right checksum.
    fn record(origin: &Origin, format: u16) -> Vec<u8> {
        let mut bytes = b"TSCLUSTR".to_vec();
        bytes.extend(format.to_le_bytes());
        bytes.extend(b"of another version");
        origin.link.close(&mut bytes);
        bytes
    }

    #[test]
    fn a_log_of_another_format_is_refused_with_what_to_do() {
        let origin = new_identity().expect("random numbers").origin();
        let place = Place::new(&origin);
        let why = check_format(&place, &record(&origin, FORMAT + 1)).expect_err("it is refused");
        assert_eq!(
            why.to_string(),
            format!(
                "--cluster: record 1 of the log has format {}, and this version reads format {FORMAT}. \
                 Start the version that wrote it, or stop its members cleanly, and make a log \
                 of this version from a member's folder: `talking-stick cluster repair --from DIR \
                 --cluster-realm NEW`",
                FORMAT + 1
            )
        );
        // A record that is damaged, or has another content, is the concern of the member.
        assert!(check_format(&place, b"damaged").is_ok());
        assert!(check_format(&place, &record(&origin, FORMAT)).is_ok());
    }
}
