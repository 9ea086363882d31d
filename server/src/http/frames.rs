//! Pages and notices in the format of server-sent events (HTML Living Standard, 9.2).

use std::fmt::Write as _;

use chat_core::Seq;
use serde::Serialize;
use server_chat::driver::{Delivery, Ending};
use server_chat::wire;

/// The reconnection time of readers, in milliseconds.
const RETRY_MS: u64 = 2_000;

/// The last event of a stream when the server shuts down.
pub(super) const CLOSING: &str = "server.closing";

/// A comment that keeps an idle stream alive.
pub(super) const KEEP_ALIVE: &str = ": still here\n\n";

/// The first block: not an event, but it gives a reader that is disconnected early the place to
/// continue from.
pub(super) fn opening(begins: Option<Seq>) -> String {
    let mut text = format!(": welcome\nretry: {RETRY_MS}\n");
    if let Some(seq) = begins {
        text += &format!("id: {seq}\n");
    }
    text + "\n"
}

/// The bytes of one delivery.
pub(super) fn frame(delivery: &Delivery) -> String {
    let mut text = String::new();
    match delivery {
        Delivery::Page { user, page } => {
            for event in wire::events(page, *user) {
                let _ = write!(text, "id: {}\n{}", event.seq(), block(event.kind(), &event));
            }
        }
        Delivery::Notice { room, notice } => {
            let notice = wire::SeenNotice(*room, notice);
            text += &block(notice.kind(), &notice);
        }
        Delivery::End(Ending::Closing) => {
            let closing = serde_json::json!({
                "type": CLOSING,
                "message": "The server stops. Come back with the last id in Last-Event-ID.",
            });
            text += &block(CLOSING, &closing);
        }
        Delivery::End(Ending::Forgotten) => {}
    }
    text
}

/// One event. JSON contains no line breaks, so it is one line of data.
pub(super) fn block(kind: &str, data: &impl Serialize) -> String {
    let data = serde_json::to_string(data).unwrap_or_default();
    format!("event: {kind}\ndata: {data}\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_one_block_whatever_it_says() {
        let text = block(
            "message.received",
            &serde_json::json!({ "m": "a\n\nid: 9\r\u{2028}" }),
        );
        assert_eq!(
            text,
            "event: message.received\ndata: {\"m\":\"a\\n\\nid: 9\\r\u{2028}\"}\n\n"
        );
    }

    #[test]
    fn the_first_block_says_where_the_stream_begins() {
        assert_eq!(opening(Some(Seq(7))), ": welcome\nretry: 2000\nid: 7\n\n");
    }
}
