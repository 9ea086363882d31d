//! Reads of one record.

use std::time::Duration;

use async_nats::{Client, Request};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chat_cluster::READ_TIMEOUT;
use serde::Deserialize;

use crate::options::RealmName;

/// The header of a record that a replica answers with.
const SEQUENCE: &str = "Nats-Sequence";

/// A record, by the leader of the stream: `None` if there is no answer.
///
/// The fate of an append is read only in this way: a replica may lag behind.
pub(crate) async fn by_leader(client: &Client, stream: &str, sequence: u64) -> Option<Found> {
    #[derive(Deserialize)]
    struct Answer {
        message: Option<Message>,
    }
    #[derive(Deserialize)]
    struct Message {
        seq: u64,
        #[serde(default)]
        data: String,
    }
    let answer = ask(
        client,
        &format!("$JS.API.STREAM.MSG.GET.{stream}"),
        sequence,
    )
    .await?;
    let Answer { message } = serde_json::from_slice(&answer.payload).ok()?;
    Some(match message {
        Some(message) if message.seq == sequence => {
            let data = STANDARD.decode(&message.data);
            data.map_or(Found::Nothing, Found::Record)
        }
        Some(_) | None => Found::Nothing,
    })
}

/// A record, by any replica of the stream.
pub(crate) async fn by_replica(client: &Client, realm: &RealmName, sequence: u64) -> Option<Found> {
    let subject = format!("$JS.API.DIRECT.GET.{}", realm.stream());
    let answer = ask(client, &subject, sequence).await?;
    let found = answer
        .headers
        .as_ref()
        .and_then(|headers| headers.get(SEQUENCE));
    let is_it = found.is_some_and(|found| found.as_str() == sequence.to_string());
    Some(match is_it {
        true => Found::Record(answer.payload.to_vec()),
        false => Found::Nothing,
    })
}

/// The result of a read that was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    Record(Vec<u8>),
    Nothing,
}

async fn ask(client: &Client, subject: &str, sequence: u64) -> Option<async_nats::Message> {
    let request = Request::new()
        .payload(format!("{{\"seq\":{sequence}}}").into())
        .timeout(Some(Duration::from_micros(READ_TIMEOUT.0)));
    client.send_request(subject.to_owned(), request).await.ok()
}
