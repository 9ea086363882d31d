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
use serde_json::Value;
use sse_stream::{Sse, SseStream};
use tokio_stream::StreamExt as _;

use super::caller::{CallerContext, Message, Session, StreamNews};
use super::names::code;
use super::target::Protocol;
use super::wire::{Wire, is_stream, open_stream};
use sim_model::protocol::{Command, Op, Refusal};

/// The time after which a slow reader looks again whether it is one.
const LOOK: Duration = Duration::from_millis(100);

/// One opening of a stream.
#[derive(Debug)]
pub(super) struct Opening {
    pub(super) agent: u32,
    /// Its number at the client.
    pub(super) number: u32,
    pub(super) handle: Arc<str>,
    /// The inbox's address as a resource.
    pub(super) inbox: Option<Arc<str>>,
    pub(super) after: u64,
    pub(super) session: Arc<Session>,
    /// The microsecond until which nothing is read.
    pub(super) slow_until: Arc<AtomicU64>,
}

/// Opens the stream, and forwards its messages until it ends.
pub(super) async fn listen(net: Arc<CallerContext>, opening: Arc<Opening>) {
    let (moves, door) = opening.session.door(&net);
    // A broken connection gives no refusal.
    let refusal = follow(&net, &opening, door).await.unwrap_or_default();
    if refusal.is_none() {
        opening.session.leave(moves);
    }
    opening.tell(&net, StreamNews::Closed(refusal));
}

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

    fn tell(&self, net: &CallerContext, news: StreamNews) {
        let (agent, stream) = (self.agent, self.number);
        net.tell(Message::Stream {
            agent,
            stream,
            news,
        });
    }
}

/// Follows the stream to its end. Returns the refusal if there was one.
async fn follow(
    net: &CallerContext,
    opening: &Opening,
    mut door: usize,
) -> Result<Option<Refusal>, String> {
    let (connector, writer) = (&net.connector, &net.writer);
    let mut session = None;
    let request = match (writer.protocol, &opening.inbox) {
        (Protocol::Http, _) => writer.events(&opening.handle, opening.after),
        (Protocol::Mcp20260728, Some(inbox)) => writer.listen(inbox, &opening.handle),
        (Protocol::Mcp20251125, Some(inbox)) => {
            let mut wire = Wire::default();
            let (at, id) = opening.session.id(net, &mut wire).await?;
            door = at;
            session = Some((wire, writer.subscribe(inbox, &id)));
            writer.session_stream(&id)
        }
        (Protocol::Mcp20260728 | Protocol::Mcp20251125, None) => return Ok(None),
    };
    let response = open_stream(connector, door, request).await?;
    // Only this version says in the stream that it is open.
    let is_told = writer.protocol == Protocol::Mcp20260728;
    let is_open = match is_told {
        true => is_stream(response.headers()),
        false => response.status() == StatusCode::OK,
    };
    if !is_open {
        return Ok(Some(refusal(net, response).await));
    }
    if let Some((mut wire, subscribe)) = session {
        wire.exchange(connector, door, subscribe).await?;
    }
    if !is_told {
        opening.tell(net, StreamNews::Opened);
    }
    let mut events = SseStream::new(response.into_body());
    while let Some(event) = opening.next(net, &mut events).await {
        let data = event.data.as_deref().unwrap_or_default();
        let news = match writer.protocol {
            Protocol::Http => net.reader().event(data).map(StreamNews::Pushed),
            Protocol::Mcp20260728 | Protocol::Mcp20251125 => news_of(data),
        };
        if let Some(news) = news {
            opening.tell(net, news);
        }
    }
    Ok(None)
}

/// What a message of MCP on a stream says.
fn news_of(data: &str) -> Option<StreamNews> {
    let note: Value = serde_json::from_str(data).ok()?;
    match note["method"].as_str()? {
        "notifications/subscriptions/acknowledged" => Some(StreamNews::Opened),
        "notifications/resources/updated" => Some(StreamNews::Grew),
        _ => None,
    }
}

/// Reads a stream's refusal.
async fn refusal(net: &CallerContext, response: Response<Incoming>) -> Refusal {
    let status = response.status().as_u16();
    let body = response.into_body().collect().await;
    let body = body.map(|body| body.to_bytes()).unwrap_or_default();
    let body = serde_json::from_slice(&body).unwrap_or_default();
    let reply = net.reader().reply(&Op::Command(Command::LeaveQueue), &body);
    let refusal = reply.and_then(|reply| reply.outcome.err());
    refusal.unwrap_or_else(|| Refusal::named(code(&format!("http_{status}"))))
}
