//! The log in order, from any sequence on.

use std::time::Duration;

use futures_util::StreamExt as _;
use tokio::time::{sleep, timeout};

use crate::endpoint::Endpoint;

/// The owner appends at least once a second. After a silence of this length, the consumer is made
/// anew: its server may be gone.
const SILENCE: Duration = Duration::from_secs(2);

/// How long a consumer that follows one without any record may be silent. The servers may be far: then
/// its first record takes longer than a silence.
const FIRST_RECORD: Duration = Duration::from_secs(4);

/// The pause before a consumer is made anew.
const AGAIN: Duration = Duration::from_millis(100);

/// The largest number of messages that one request pulls.
const BATCH: i64 = 64;

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
            tracing::debug!(next, %why, "the log is followed anew");
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
