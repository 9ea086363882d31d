//! The event stream of one client, in each protocol.
//!
//! Plain HTTP pushes the events themselves. MCP reports that an inbox grew, and the client reads
//! it: this works with every server.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use chat_types::Time;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::{Response, StatusCode};
use serde::Deserialize;
use sse_stream::{Sse, SseStream};
use tokio_stream::StreamExt as _;

use super::caller::{CallerContext, Message, Session};
use super::names::code;
use super::target::Protocol;
use super::wire::{Wire, WireError, is_stream, open_stream};
use sim_model::protocol::{Command, Op, Refusal};

/// The time after which a slow reader looks again whether it is one.
const LOOK: Duration = Duration::from_millis(100);

/// One opening of a stream.
#[derive(Debug)]
pub(super) struct Opening {
    pub(super) agent: u32,
    /// The number of the opening.
    pub(super) stream: u32,
    pub(super) handle: Arc<str>,
    /// The inbox's address as a resource.
    pub(super) inbox: Option<Arc<str>>,
    pub(super) after: u64,
    pub(super) session: Arc<Session>,
    /// The microsecond until which nothing is read.
    pub(super) slow_until: Arc<AtomicU64>,
}

/// A message of the protocol on a stream.
#[derive(Deserialize)]
struct Notification {
    #[serde(default)]
    method: String,
}

/// Opens the stream, and forwards its messages until it ends.
pub(super) async fn listen(net: Arc<CallerContext>, opening: Opening) {
    let (moves, door) = opening.session.door(&net);
    let ended = match net.writer.protocol {
        Protocol::Http => by_http(&net, &opening, door).await,
        Protocol::Mcp20260728 => by_subscription(&net, &opening, door).await,
        Protocol::Mcp20251125 => by_session(&net, &opening).await,
    };
    let (agent, stream) = (opening.agent, opening.stream);
    // A broken connection gives no refusal.
    let refusal = ended.unwrap_or_default();
    if refusal.is_none() {
        opening.session.leave(moves);
    }
    net.tell(Message::Closed {
        agent,
        stream,
        refusal,
    });
}

/// The end of a stream, with the refusal if there was one.
type Ended = Result<Option<Refusal>, WireError>;

impl Opening {
    /// The next event of the stream. A slow reader leaves it in the connection.
    async fn next(&self, net: &CallerContext, events: &mut SseStream<Incoming>) -> Option<Sse> {
        loop {
            let until = Time(self.slow_until.load(Ordering::Relaxed));
            let left = net.clock.until(until);
            if left.is_zero() {
                return events.next().await?.ok();
            }
            tokio::time::sleep(left.min(LOOK)).await;
        }
    }

    fn opened(&self) -> Message {
        Message::Opened {
            agent: self.agent,
            stream: self.stream,
        }
    }

    fn grew(&self) -> Message {
        Message::Grew {
            agent: self.agent,
            stream: self.stream,
        }
    }
}

async fn by_http(net: &CallerContext, opening: &Opening, door: usize) -> Ended {
    let request = net.writer.events(&opening.handle, opening.after);
    let response = open_stream(&net.connector, door, request).await?;
    if response.status() != StatusCode::OK {
        return Ok(Some(refusal(net, response).await));
    }
    net.tell(opening.opened());
    let mut events = SseStream::new(response.into_body());
    while let Some(event) = opening.next(net, &mut events).await {
        let data = event.data.as_deref().unwrap_or_default();
        if let Some(event) = net.reader().event(data) {
            net.tell(Message::Pushed {
                agent: opening.agent,
                stream: opening.stream,
                event,
            });
        }
    }
    Ok(None)
}

async fn by_subscription(net: &CallerContext, opening: &Opening, door: usize) -> Ended {
    let Some(inbox) = &opening.inbox else {
        return Ok(None);
    };
    let request = net.writer.listen(inbox, &opening.handle);
    let response = open_stream(&net.connector, door, request).await?;
    if !is_stream(response.headers()) {
        return Ok(Some(refusal(net, response).await));
    }
    let mut events = SseStream::new(response.into_body());
    while let Some(event) = opening.next(net, &mut events).await {
        match method(event.data.as_deref()).as_deref() {
            Some("notifications/subscriptions/acknowledged") => net.tell(opening.opened()),
            Some("notifications/resources/updated") => net.tell(opening.grew()),
            Some(_) | None => {}
        }
    }
    Ok(None)
}

async fn by_session(net: &CallerContext, opening: &Opening) -> Ended {
    let Some(inbox) = &opening.inbox else {
        return Ok(None);
    };
    let (connector, mut wire) = (&net.connector, Wire::new());
    let (door, session) = opening.session.id(net, &mut wire).await?;
    let response = open_stream(connector, door, net.writer.session_stream(&session)).await?;
    if response.status() != StatusCode::OK {
        return Ok(Some(refusal(net, response).await));
    }
    wire.exchange(connector, door, net.writer.subscribe(inbox, &session))
        .await?;
    drop(wire);
    net.tell(opening.opened());
    let mut events = SseStream::new(response.into_body());
    while let Some(event) = opening.next(net, &mut events).await {
        if method(event.data.as_deref()).as_deref() == Some("notifications/resources/updated") {
            net.tell(opening.grew());
        }
    }
    Ok(None)
}

fn method(data: Option<&str>) -> Option<String> {
    let note: Notification = serde_json::from_str(data?).ok()?;
    Some(note.method)
}

/// Reads a stream's refusal.
async fn refusal(net: &CallerContext, response: Response<Incoming>) -> Refusal {
    let status = response.status().as_u16();
    let body = response.into_body().collect().await;
    let body = body.map(|body| body.to_bytes()).unwrap_or_default();
    let reply = net.reader().reply(&Op::Command(Command::LeaveQueue), &body);
    let refusal = reply.and_then(|reply| reply.outcome.err());
    refusal.unwrap_or_else(|| Refusal::named(code(&format!("http_{status}"))))
}
