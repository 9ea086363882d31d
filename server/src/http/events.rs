//! `GET /events`: the inbox as a stream of server-sent events.
//!
//! A stream buffers at most one page. The next page is read from the inbox when the connection has
//! space for it. The connection of a reader that stops reading is closed.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE, HeaderMap, HeaderValue};
use axum::http::{Method, StatusCode};
use axum::response::Response;
use chat_core::{Reader, Seq};
use futures_util::stream;
use server_chat::capacity::Reservation;
use server_chat::driver::{AnswerFacts, CallerContext, Delivery, EventStream};
use server_chat::identity::ReaderId;
use server_chat::refusal::Refusal;
use server_chat::service::RequestOrigin;
use tokio::time::timeout;

use super::call::origin;
use super::older::{self, Older};
use super::{Http, frames};
use crate::guard::HttpError;

/// The header in which a reconnecting reader names its last event.
const LAST_EVENT_ID: &str = "last-event-id";

/// The largest length of a query in bytes.
const MAX_QUERY: usize = 1_024;

/// The parameters in a stream's address.
#[derive(Debug, Default, PartialEq, Eq)]
struct Query {
    reader: Option<String>,
    after: Option<Seq>,
    username: Option<String>,
}

/// `GET /events`.
pub(super) async fn events(
    State(http): State<Http>,
    request: Request,
) -> Result<Response, HttpError> {
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
            return Err(Refusal::invalid(why.into()).into());
        }
        let held = http.service.place_for_stream(origin.source)?;
        let older = older::named(&http, all, name, origin);
        let (stream, older) = older.events().await?;
        let kept = (http.keep_alive, held);
        return Ok(reading(stream, None, kept, Some(older)));
    }
    if query.username.is_some() {
        return Err(Refusal::invalid("`username` is no query of /events".into()).into());
    }
    let whose = whose(&http, &origin, query.reader).await?;
    if head.method == Method::HEAD {
        return Ok(response(Body::empty()));
    }
    let (service, from) = (&http.service, origin.address);
    let held = service.place_for_stream(origin.source)?;
    let (stream, CallerContext { more, .. }) = service.stream(whose, from, after).await?;
    let begins = if let AnswerFacts::Begins(seq) = more {
        Some(seq)
    } else {
        None
    };
    let kept = (http.keep_alive, held);
    Ok(reading(stream, begins, kept, None))
}

/// The inbox by the reader id, which only reads, by the handle, or of the token's only participant, who
/// is present while the stream is open.
async fn whose(
    http: &Http,
    origin: &RequestOrigin,
    reader: Option<String>,
) -> Result<Reader, HttpError> {
    let secrets = http.service.secrets();
    if let Some(reader) = reader {
        return Ok(Reader::ReaderId(
            secrets.reader_hash(&ReaderId::given(&reader)),
        ));
    }
    let handle = http.service.handle_of(origin, None).await?;
    Ok(Reader::Handle(secrets.handle_hash(&handle)))
}

/// Whether the Accept header explicitly names events.
fn asks_for_events(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(ACCEPT).iter();
    let accepted = accepted.filter_map(|value| value.to_str().ok());
    let kinds = accepted.flat_map(|kinds| kinds.split(','));
    let essence = |kind: &str| kind.split(';').next().unwrap_or_default().trim().to_owned();
    kinds
        .map(essence)
        .any(|kind| kind.eq_ignore_ascii_case("text/event-stream"))
}

fn last_id(headers: &HeaderMap) -> Result<Option<Seq>, HttpError> {
    match headers.get(LAST_EVENT_ID).map(HeaderValue::to_str) {
        // A browser without a last id sends an empty one.
        None | Some(Ok("")) => Ok(None),
        Some(Ok(text)) => cursor("Last-Event-ID", text).map(Some),
        Some(Err(_)) => cursor("Last-Event-ID", "").map(Some),
    }
}

fn cursor(name: &str, text: &str) -> Result<Seq, HttpError> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let seq = text.parse().ok().filter(|_| digits);
    seq.map(Seq)
        .ok_or_else(|| Refusal::invalid(format!("{name} must be the id of an event")).into())
}

fn query(text: &str) -> Result<Query, HttpError> {
    if text.len() > MAX_QUERY {
        return Err(Refusal::invalid("the query is too long".into()).into());
    }
    let mut query = Query::default();
    for (name, value) in form_urlencoded::parse(text.as_bytes()) {
        match &*name {
            "reader" => query.reader = Some(value.into_owned()),
            "after" => query.after = Some(cursor("`after`", &value)?),
            "username" => query.username = Some(value.into_owned()),
            "handle" => {
                let why = "a handle is never part of an address: send it in the header \
                           Chat-Handle, or pass the reader id as `reader`";
                return Err(Refusal::invalid(why.into()).into());
            }
            _ => {
                let why = "the query of /events takes `reader` and `after`";
                return Err(Refusal::invalid(why.into()).into());
            }
        }
    }
    Ok(query)
}

/// A stream with its output.
#[derive(Debug)]
struct Reading {
    stream: EventStream,
    /// The first block.
    first: Option<String>,
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
        if let Some(first) = self.first.take() {
            return Some(first);
        }
        while !self.is_ended {
            if let Some(older) = &mut self.older {
                older.taken();
            }
            let Ok(delivery) = timeout(self.keep_alive, self.stream.next()).await else {
                return Some(frames::KEEP_ALIVE.into());
            };
            self.is_ended = matches!(delivery, Delivery::End(_));
            let text = match &mut self.older {
                None => frames::frame(&delivery),
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
    begins: Option<Seq>,
    (keep_alive, held): (Duration, Reservation),
    older: Option<Older>,
) -> Response {
    let reading = Reading {
        stream,
        first: Some(frames::opening(begins)),
        older,
        keep_alive,
        is_ended: false,
        _held: held,
    };
    let frames = stream::unfold(reading, |mut reading| async move {
        let text = reading.next().await?;
        Some((Ok::<_, Infallible>(Bytes::from(text)), reading))
    });
    response(Body::from_stream(frames))
}

fn response(body: Body) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::OK;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // Asks proxies not to buffer the answer.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
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
}
