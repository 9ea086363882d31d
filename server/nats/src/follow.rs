//! The log in order, from any sequence on.

use std::time::Duration;

use async_nats::jetstream::consumer::DeliverPolicy;
use async_nats::jetstream::consumer::pull::OrderedConfig;
use futures_util::StreamExt as _;
use tokio::time::{sleep, timeout};

use crate::endpoint::{Credit, Endpoint, Report};
use crate::read::{Found, by_leader, by_replica};

/// The owner appends at least once a second. After a silence of this length, the consumer is made
/// anew: its server may be gone.
const SILENCE: Duration = Duration::from_secs(2);

/// How long a consumer that follows one without any record may be silent. The servers may be far: then
/// its first record takes longer than a silence.
const FIRST_RECORD: Duration = Duration::from_secs(4);

/// The pause before a consumer is made anew.
const AGAIN: Duration = Duration::from_millis(100);

/// How often any replica is asked for a record that is missing: each request reaches one of them.
const REPLICAS_ASKED: usize = 6;

/// The largest number of messages that one request pulls.
const BATCH: i64 = 64;

/// Reports the records from `from` on, in the order of the stream. A hole stays a hole: the member
/// decides what follows.
pub(crate) async fn follow(endpoint: Endpoint, from: u64, attempt: u64) {
    let mut next = from;
    if attempt > 0 {
        // The consumer before this one may have been on a replica that lost the record.
        for bytes in all_copies(&endpoint, from).await {
            let credit = endpoint.credit().await;
            endpoint.tell(Report::Record {
                sequence: from,
                bytes,
                credit,
            });
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
    let context = endpoint.context();
    let stream = context
        .get_stream_no_info(endpoint.realm().stream())
        .await?;
    let config = OrderedConfig {
        deliver_policy: DeliverPolicy::ByStartSequence {
            start_sequence: *next,
        },
        max_batch: BATCH,
        ..OrderedConfig::default()
    };
    let consumer = stream.create_consumer(config).await?;
    let mut messages = consumer.messages().await?;
    while let Ok(Some(message)) = timeout(patience, messages.next()).await {
        let message = message?;
        let sequence = message.info()?.stream_sequence;
        if sequence < *next {
            continue;
        }
        let credit: Credit = endpoint.credit().await;
        endpoint.tell(Report::Record {
            sequence,
            bytes: message.payload.to_vec(),
            credit,
        });
        *next = sequence + 1;
        patience = SILENCE;
    }
    Ok(())
}

/// The record as the leader and as the replicas have it, each different copy once.
pub(crate) async fn all_copies(endpoint: &Endpoint, sequence: u64) -> Vec<Vec<u8>> {
    let (client, realm) = (endpoint.client(), endpoint.realm());
    let mut copies = Vec::new();
    let mut add = |found| {
        if let Some(Found::Record(bytes)) = found
            && !copies.contains(&bytes)
        {
            copies.push(bytes);
        }
    };
    add(by_leader(client, &realm.stream(), sequence).await);
    for _ in 0..REPLICAS_ASKED {
        add(by_replica(client, realm, sequence).await);
    }
    copies
}
