//! `GET /events`: the inbox as a stream of server-sent events (HTML Living Standard, 9.2).
//!
//! A stream buffers at most one page. The next page is read from the inbox when the connection has
//! space for it. The connection of a reader that stops reading is closed.

use std::convert::Infallible;
use std::fmt::Write as _;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::Method;
use axum::http::header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE, HeaderMap, HeaderValue};
use axum::response::Response;
use chat_core::{Reader, Seq};
use futures_util::{StreamExt as _, stream};
use serde::Serialize;
use server_chat::capacity::Reservation;
use server_chat::driver::{AnswerFacts, Delivery, Ending, EventStream};
use server_chat::identity::ReaderId;
use server_chat::service::RequestOrigin;
use server_chat::wire;
use tokio::time::timeout;

use super::chat::origin;
use super::older::{self, Older};
use super::{Http, Served, invalid};
use crate::guard::HttpError;
use crate::headers::{is_of_type, listed};

/// The header in which a reconnecting reader names its last event.
const LAST_EVENT_ID: &str = "last-event-id";

/// The largest length of a query in bytes.
const MAX_QUERY: usize = 1_024;

/// The reconnection time of readers, in milliseconds.
const RETRY_MS: u64 = 2_000;

/// The last event of a stream when the server shuts down.
pub(super) const CLOSING: &str = "server.closing";

/// A comment that keeps an idle stream alive.
const KEEP_ALIVE: &str = ": still here\n\n";

/// The parameters in a stream's address.
#[derive(Debug, Default, PartialEq, Eq)]
struct Query {
    reader: Option<String>,
    after: Option<Seq>,
    username: Option<String>,
}

/// `GET /events`.
pub(super) async fn events(State(http): State<Http>, request: Request) -> Served {
    let (head, _) = request.into_parts();
    let origin = origin(&head)?;
    let query = query(head.uri.query().unwrap_or_default())?;
    // The header is newer than the address.
    let after = last_id(&head.headers)?.or(query.after);
    if let (Some(all), Some(name)) = (&http.older, &query.username) {
        if head.method == Method::HEAD {
            return Ok(response(Body::empty()));
        }
        // The stream registers the name. The required Accept header excludes images and links of
        // pages.
        if !asks_for_events(&head.headers) {
            let why = "a stream of a `username` takes the header Accept: text/event-stream";
            return Err(invalid(why));
        }
        let held = http.service.place_for_stream(origin.source)?;
        let older = older::named(&http, all, name, origin);
        let (stream, older) = older.events().await?;
        let kept = (http.options.keep_alive, held);
        return Ok(reading(stream, &AnswerFacts::Nothing, kept, Some(older)));
    }
    if query.username.is_some() {
        return Err(invalid("`username` is no query of /events"));
    }
    let whose = whose(&http, &origin, query.reader).await?;
    if head.method == Method::HEAD {
        return Ok(response(Body::empty()));
    }
    let (service, from) = (&http.service, origin.address);
    let held = service.place_for_stream(origin.source)?;
    let (stream, context) = service.stream(whose, from, after).await?;
    let kept = (http.options.keep_alive, held);
    Ok(reading(stream, &context.more, kept, None))
}

/// The inbox by the reader id, which only reads, by the handle, or of the token's only participant, who
/// is present while the stream is open.
async fn whose(
    http: &Http,
    origin: &RequestOrigin,
    reader: Option<String>,
) -> Result<Reader, HttpError> {
    let service = &http.service;
    if let Some(reader) = reader {
        let hash = service.secrets().reader_hash(&ReaderId::given(&reader));
        return Ok(Reader::ReaderId(hash));
    }
    Ok(service.reader(&service.handle_of(origin, None).await?))
}

/// Whether the Accept header explicitly names events.
fn asks_for_events(headers: &HeaderMap) -> bool {
    listed(headers, ACCEPT, ',').any(|kind| is_of_type(kind, "text/event-stream"))
}

fn last_id(headers: &HeaderMap) -> Result<Option<Seq>, HttpError> {
    match headers.get(LAST_EVENT_ID).map(HeaderValue::as_bytes) {
        // A browser without a last id sends an empty one.
        None | Some(b"") => Ok(None),
        Some(id) => cursor("Last-Event-ID", &String::from_utf8_lossy(id)).map(Some),
    }
}

fn cursor(name: &str, text: &str) -> Result<Seq, HttpError> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let seq = text.parse().ok().filter(|_| digits);
    seq.map(Seq)
        .ok_or_else(|| invalid(&format!("{name} must be the id of an event")))
}

fn query(text: &str) -> Result<Query, HttpError> {
    if text.len() > MAX_QUERY {
        return Err(invalid("the query is too long"));
    }
    let mut query = Query::default();
    for (name, value) in form_urlencoded::parse(text.as_bytes()) {
        match &*name {
            "reader" => query.reader = Some(value.into_owned()),
            "after" => query.after = Some(cursor("`after`", &value)?),
            "username" => query.username = Some(value.into_owned()),
            "handle" => {
                return Err(invalid(
                    "a handle is never part of an address: send it in the header Chat-Handle, or \
                     pass the reader id as `reader`",
                ));
            }
            _ => return Err(invalid("the query of /events takes `reader` and `after`")),
        }
    }
    Ok(query)
}

/// A stream with its output.
#[derive(Debug)]
struct Reading {
    stream: EventStream,
    /// The form of an older client, if it is for one.
    older: Option<Older>,
    keep_alive: Duration,
    is_ended: bool,
    /// Its part of the pool of streams.
    _held: Reservation,
}

impl Reading {
    /// The next bytes for the reader. The call implies that the connection took the last ones.
    async fn next(&mut self) -> Option<String> {
        while !self.is_ended {
            if let Some(older) = &mut self.older {
                older.taken();
            }
            let Ok(delivery) = timeout(self.keep_alive, self.stream.next()).await else {
                return Some(KEEP_ALIVE.into());
            };
            self.is_ended = matches!(delivery, Delivery::End(_));
            let text = match &mut self.older {
                None => frame(&delivery),
                Some(older) => older.frame(&delivery),
            };
            if !text.is_empty() {
                return Some(text);
            }
        }
        None
    }
}

fn reading(
    stream: EventStream,
    facts: &AnswerFacts,
    (keep_alive, held): (Duration, Reservation),
    older: Option<Older>,
) -> Response {
    let reading = Reading {
        stream,
        older,
        keep_alive,
        is_ended: false,
        _held: held,
    };
    let blocks = stream::unfold(reading, |mut reading| async move {
        let text = reading.next().await?;
        Some((text, reading))
    });
    let blocks = stream::iter([opening(facts)]).chain(blocks);
    response(Body::from_stream(blocks.map(Ok::<_, Infallible>)))
}

fn response(body: Body) -> Response {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // Asks proxies not to buffer the answer.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

/// The first block: not an event, but it gives a reader that is disconnected early the place to
/// continue from.
fn opening(facts: &AnswerFacts) -> String {
    let mut text = format!(": welcome\nretry: {RETRY_MS}\n");
    if let AnswerFacts::Begins(seq) = facts {
        text += &format!("id: {seq}\n");
    }
    text + "\n"
}

/// The bytes of one delivery.
fn frame(delivery: &Delivery) -> String {
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

    fn wrong(text: &str) -> String {
        query(text).unwrap_err().0.message.clone()
    }

    #[test]
    fn the_address_of_a_stream_says_whose_and_from_where() {
        let expected = Query {
            reader: Some("r_a b".into()),
            after: Some(Seq(7)),
            username: None,
        };
        assert_eq!(query("reader=r_a%20b&after=7").unwrap(), expected);
        assert_eq!(query("").unwrap(), Query::default());
    }

    #[test]
    fn what_it_cannot_say_is_told() {
        for text in [
            "after=",
            "after=-1",
            "after=+1",
            "after=1.5",
            "after=99999999999999999999",
        ] {
            assert_eq!(wrong(text), "`after` must be the id of an event", "{text}");
        }
        assert!(wrong("handle=h_x").contains("never part of an address"));
        assert!(wrong("reder=r").contains("takes `reader` and `after`"));
        assert!(wrong(&"a".repeat(2_000)).contains("too long"));
    }

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
        assert_eq!(
            opening(&AnswerFacts::Begins(Seq(7))),
            ": welcome\nretry: 2000\nid: 7\n\n"
        );
    }
}
