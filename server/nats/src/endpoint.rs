//! Where reports go; the log in order, from any sequence on; and a server that takes the connection and
//! does not reach the log: it is cut off from the other servers, or has no leader of the log.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use chat_cluster::{AppendId, Outcome, ReadId};
use futures_util::StreamExt as _;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{sleep, timeout};

use crate::connection::LogReader;

/// The largest number of records that wait for the member.
const WAITING: usize = 64;

/// How long the log answers nothing before another server is tried. An election of a leader, during which
/// another server is no better, takes longer at times: trying one costs some milliseconds.
const PATIENCE: Duration = Duration::from_secs(3);

/// The owner appends at least once a second. After a silence of this length, the consumer is made
/// anew: its server may be gone.
const SILENCE: Duration = Duration::from_secs(2);

/// How long a consumer that follows one without any record may be silent. The servers may be far: then
/// its first record takes longer than a silence.
const FIRST_RECORD: Duration = Duration::from_secs(4);

/// The pause before a consumer is rebuilt.
const AGAIN: Duration = Duration::from_millis(100);

/// The largest number of messages that one request pulls.
const BATCH: i64 = 64;

/// What happened at the log.
#[derive(Debug)]
pub enum Report {
    /// An attempt to append has ended.
    Published {
        /// The append.
        id: AppendId,
        /// The result; none if it is not known.
        outcome: Option<Outcome>,
        /// The duration of the attempt.
        took: Duration,
    },
    /// The result of a read.
    Found {
        /// The read.
        id: ReadId,
        /// The record; none if the source has none, which proves nothing.
        bytes: Option<Vec<u8>>,
    },
    /// A record of the log that is followed.
    Record {
        /// Its sequence.
        sequence: u64,
        /// Its bytes.
        bytes: Vec<u8>,
        /// To be dropped when the record is taken: the next ones wait for it.
        credit: OwnedSemaphorePermit,
    },
    /// The newest stored snapshot.
    Snapshot(Vec<u8>),
    /// The storing of a snapshot has ended.
    Stored,
}

/// Where reports go.
pub(crate) type Tell = Arc<dyn Fn(Report) + Send + Sync>;

/// A reader of the log, and where its reports go, for tasks.
#[derive(Clone)]
pub(crate) struct Endpoint {
    pub(crate) reader: LogReader,
    pub(crate) tell: Tell,
    waiting: Arc<Semaphore>,
    /// When the answers began to lack, or another server was tried last; none after an answer.
    silent_since: Arc<Mutex<Option<Instant>>>,
}

impl Endpoint {
    pub(crate) fn new(reader: LogReader) -> Self {
        Self {
            reader,
            tell: Arc::new(|_| {}),
            waiting: Arc::new(Semaphore::new(WAITING)),
            silent_since: Arc::default(),
        }
    }

    /// Takes note of the end of a request to the log's leader. Connects to another server, if the one of
    /// this connection does not reach the leader.
    pub(crate) async fn ended(&self, has_answered: bool) {
        let is_isolated = {
            let since = self.silent_since.lock();
            let mut since = since.unwrap_or_else(PoisonError::into_inner);
            is_isolated(&mut since, has_answered, Instant::now())
        };
        if is_isolated {
            tracing::warn!("the server does not reach the log: connecting to another one");
            // The connection is closed only when the process ends.
            let _ = self.reader.client.force_reconnect().await;
        }
    }

    /// Reports a record of the log that is followed, once few enough records wait.
    pub(crate) async fn tell_record(&self, sequence: u64, bytes: Vec<u8>) {
        let permit = Arc::clone(&self.waiting).acquire_owned().await;
        (self.tell)(Report::Record {
            sequence,
            bytes,
            credit: permit.expect("the semaphore is never closed"),
        });
    }
}

/// Takes note of the end of a request to the log, and returns whether to try another server now.
fn is_isolated(since: &mut Option<Instant>, has_answered: bool, now: Instant) -> bool {
    if has_answered {
        *since = None;
        return false;
    }
    let is_late = now.duration_since(*since.get_or_insert(now)) >= PATIENCE;
    if is_late {
        *since = Some(now);
    }
    is_late
}

/// Reports the records from `from` on, in the order of the stream. A hole stays a hole: the member
/// decides what follows.
pub(crate) async fn follow(endpoint: Endpoint, from: u64, attempt: u64) {
    let mut next = from;
    if attempt > 0 {
        // The consumer before this one may have been on a replica that lost the record.
        for bytes in endpoint.reader.copies(from).await {
            endpoint.tell_record(from, bytes).await;
            next = from + 1;
        }
    }
    let mut patience = SILENCE;
    loop {
        let before = next;
        if let Err(why) = consume(&endpoint, &mut next, patience).await {
            tracing::debug!(next, %why, "the log is followed again");
        }
        patience = match next > before {
            true => SILENCE,
            false => FIRST_RECORD,
        };
        sleep(AGAIN).await;
    }
}

/// Reports records until there are none for a while. The first one may take this long.
async fn consume(
    endpoint: &Endpoint,
    next: &mut u64,
    mut patience: Duration,
) -> Result<(), async_nats::Error> {
    let mut messages = endpoint.reader.messages(*next, BATCH).await?;
    while let Ok(Some(message)) = timeout(patience, messages.next()).await {
        let message = message?;
        let sequence = message.info()?.stream_sequence;
        if sequence < *next {
            continue;
        }
        endpoint
            .tell_record(sequence, message.payload.to_vec())
            .await;
        *next = sequence + 1;
        patience = SILENCE;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_server_is_tried_after_three_seconds_without_an_answer_and_again_after_three_more() {
        let (mut since, began) = (None, Instant::now());
        let at = |tenths: u64| began + Duration::from_millis(100 * tenths);
        for (tenths, has_answered, wanted) in [
            (0, false, false),
            (29, false, false),
            (30, false, true),
            (31, false, false),
            (59, false, false),
            (60, false, true),
            (80, true, false),
            (95, false, false),
            (120, true, false),
            (130, false, false),
            (159, false, false),
            (160, false, true),
        ] {
            let tried = is_isolated(&mut since, has_answered, at(tenths));
            assert_eq!(tried, wanted, "{tenths}");
        }
    }
}
