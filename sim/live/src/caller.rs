//! The requests of a live run, each on a connection that no other one uses, and the messages about
//! them and about streams.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex as StdMutex, PoisonError};

use chat_types::{Span, Time};
use hyper::StatusCode;
use serde_json::Value;
use tokio::sync::{Barrier, Mutex};

use super::ask::Ask;
use super::clock::Clock;
use super::event::Received;
use super::names::code;
use super::nemesis;
use super::reply::{ParsedPage, ParsedReply, Reader, refused};
use super::request::{Writer, Written};
use super::target::Protocol;
use super::wire::{Connector, HttpAnswer, Wire, json};
use sim_model::protocol::Refusal;

/// State shared by all tasks.
#[derive(Debug)]
pub(super) struct CallerContext {
    pub(super) writer: Writer,
    pub(super) connector: Connector,
    pub(super) clock: Clock,
    /// The channel to the owner of the users.
    pub(super) messages: Sender<TimedMessage>,
    /// The connections that no request uses, the one used last at the end.
    pub(super) idle: StdMutex<Vec<Wire>>,
}

/// Where one client calls: a server, and the session there in the protocol version that has sessions.
#[derive(Debug, Default)]
pub(super) struct Session {
    /// How often the client went on to the next server, counted from the first one.
    moves: AtomicUsize,
    /// The session's id, with the number of moves at which it was opened.
    id: Mutex<Option<(usize, Arc<str>)>>,
}

/// A request.
#[derive(Debug)]
pub(super) enum CallerRequest {
    /// One attempt of a call.
    Call(Ask),
    /// A page of an inbox.
    Inbox { inbox: Arc<str>, after: u64 },
    /// The cheapest request of the protocol.
    Least,
    /// A request without a session.
    Alone(Written),
}

/// A message from the network.
#[derive(Debug)]
pub(super) struct TimedMessage {
    /// When it was read.
    pub(super) at: Time,
    pub(super) message: Message,
}

/// The kinds of messages.
#[derive(Debug)]
pub(super) enum Message {
    /// A request of a client was answered, or no answer came, and none will.
    Ended {
        agent: u32,
        ticket: u64,
        result: Result<Answered, String>,
    },
    /// Something happened to a client's stream of this number.
    Stream {
        agent: u32,
        stream: u32,
        news: StreamNews,
    },
    /// The target was asked whether it is there.
    Asked(Result<(), String>),
    /// The nemesis wrote a line, or will write none.
    Nemesis(nemesis::Output),
}

/// The answer to a request.
#[derive(Debug)]
pub(super) enum Answered {
    Call(Box<ParsedReply>),
    /// A page; none if it is not valid, or if the request was about something else.
    Page(Option<ParsedPage>),
}

/// What happened to a stream.
#[derive(Debug)]
pub(super) enum StreamNews {
    /// It is open.
    Opened,
    /// It delivered an event.
    Pushed(Received),
    /// It reported that the inbox grew.
    Grew,
    /// It ended, or was refused.
    Closed(Option<Refusal>),
}

impl Message {
    /// Whether it shows that the target is there.
    pub(super) const fn is_heard(&self) -> bool {
        match self {
            Self::Ended { result, .. } => result.is_ok(),
            Self::Stream { news, .. } => !matches!(news, StreamNews::Closed(_)),
            Self::Asked(_) | Self::Nemesis(_) => false,
        }
    }
}

impl CallerContext {
    pub(super) fn tell(&self, message: Message) {
        let at = self.clock.now();
        // If the receiver is gone, the run is over.
        let _ = self.messages.send(TimedMessage { at, message });
    }

    pub(super) fn reader(&self) -> Reader<'_> {
        Reader {
            names: &self.writer.names,
            clock: &self.clock,
        }
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Wire>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Makes a request, on an idle connection if there is one.
///
/// # Errors
/// Why there is no answer.
pub(super) async fn perform(
    net: &CallerContext,
    ticket: u64,
    session: &Session,
    want: CallerRequest,
) -> Result<Answered, String> {
    let mut idle = net.idle().pop().unwrap_or_default();
    let wire = &mut idle;
    let result = async {
        let mut page = None;
        match want {
            CallerRequest::Call(ask) => {
                let reply = call(net, wire, session, (ticket, &ask)).await?;
                return Ok(Answered::Call(Box::new(reply)));
            }
            CallerRequest::Inbox { inbox, after } => {
                let place = (&*inbox, after);
                let write = |session: Option<&str>| net.writer.read_inbox(ticket, place, session);
                page = read_page(net, &in_session(net, wire, session, write).await?);
            }
            CallerRequest::Least => {
                let write = |session: Option<&str>| net.writer.least(ticket, session);
                in_session(net, wire, session, write).await?;
            }
            CallerRequest::Alone(request) => {
                let door = session.door(net).1;
                let path = request.uri().path().to_owned();
                let reply = wire.exchange(&net.connector, door, request).await?;
                let body: Value = serde_json::from_slice(reply.body()).unwrap_or_default();
                let is_gone = body["error"]["code"] == "unknown_handle";
                let status = reply.status();
                if !(status.is_success() || is_gone) {
                    return Err(format!("{path} is answered {status}"));
                }
            }
        }
        Ok(Answered::Page(page))
    };
    let result = result.await;
    net.idle().push(idle);
    result
}

/// Makes an attempt of a call, and parses its answer.
async fn call(
    net: &CallerContext,
    wire: &mut Wire,
    session: &Session,
    (ticket, ask): (u64, &Ask),
) -> Result<ParsedReply, String> {
    let write = |session: Option<&str>| net.writer.call(ticket, ask, session);
    read(net, ask, &in_session(net, wire, session, write).await?)
}

/// The number of successful answers to one repeated call, the beginning, and the end.
pub(super) type Repeated = (u64, Time, Time);

/// Repeats one call on its own connection for `length`. Starts once each caller at the gate has
/// received an answer.
///
/// # Errors
/// Why it ended early.
pub(super) async fn repeat(
    net: Arc<CallerContext>,
    (session, ask): (Arc<Session>, Ask),
    gate: Arc<Barrier>,
    length: Span,
) -> Result<Repeated, String> {
    let mut wire = Wire::default();
    let first = again(&net, &mut wire, &session, &ask).await;
    gate.wait().await;
    first?;
    let from = net.clock.now();
    let (mut answered, mut to) = (0, from);
    while to < from + length {
        again(&net, &mut wire, &session, &ask).await?;
        answered += 1;
        to = net.clock.now();
    }
    Ok((answered, from, to))
}

async fn again(
    net: &CallerContext,
    wire: &mut Wire,
    session: &Session,
    ask: &Ask,
) -> Result<(), String> {
    match call(net, wire, session, (0, ask)).await?.outcome {
        Ok(_) => Ok(()),
        Err(refusal) => Err(format!("{} was refused: {}", ask.op.tool(), refusal.code)),
    }
}

/// Makes a request at the client's server, in the client's session if the protocol has sessions. If no
/// answer comes, the client's next request goes to the next one: it repeats a call with the request key
/// that it had, so that both are one.
async fn in_session(
    net: &CallerContext,
    wire: &mut Wire,
    session: &Session,
    write: impl Fn(Option<&str>) -> Written,
) -> Result<HttpAnswer, String> {
    let connector = &net.connector;
    let (moves, door) = session.door(net);
    let answer = async {
        if net.writer.protocol != Protocol::Mcp20251125 {
            return wire.exchange(connector, door, write(None)).await;
        }
        let (door, id) = session.id(net, wire).await?;
        let answer = wire.exchange(connector, door, write(Some(&id))).await?;
        if answer.status() != StatusCode::NOT_FOUND {
            return Ok(answer);
        }
        // A session that the server has forgotten is opened at the next one.
        session.forget(&id).await;
        session.leave(moves);
        let (door, id) = session.id(net, wire).await?;
        wire.exchange(connector, door, write(Some(&id))).await
    };
    let answer = answer.await;
    if answer.is_err() {
        session.leave(moves);
    }
    answer
}

impl Session {
    /// A client that begins at this server.
    pub(super) fn at(door: usize) -> Self {
        Self {
            moves: AtomicUsize::new(door),
            id: Mutex::default(),
        }
    }

    /// The number of moves so far, and the server that the client calls now.
    pub(super) fn door(&self, net: &CallerContext) -> (usize, usize) {
        let moves = self.moves();
        (moves, moves % net.connector.doors())
    }

    /// The number of moves so far.
    pub(super) fn moves(&self) -> usize {
        self.moves.load(Ordering::Relaxed)
    }

    /// Goes on to the next server, if the client has not left this one since.
    pub(super) fn leave(&self, moves: usize) {
        let _ = self
            .moves
            .compare_exchange(moves, moves + 1, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// The session's id, and its server. Opens the session if there is none at the client's server.
    pub(super) async fn id(
        &self,
        net: &CallerContext,
        wire: &mut Wire,
    ) -> Result<(usize, Arc<str>), String> {
        let mut id = self.id.lock().await;
        let (moves, door) = self.door(net);
        if let Some((opened, id)) = &*id
            && opened % net.connector.doors() == door
        {
            return Ok((door, Arc::clone(id)));
        }
        let connector = &net.connector;
        let hello = wire.exchange(connector, door, net.writer.initialize());
        let hello = hello.await?;
        let given = hello.headers().get("mcp-session-id");
        let given = given.and_then(|given| given.to_str().ok());
        let given: Arc<str> = given.map(Into::into).ok_or_else(|| {
            let status = hello.status();
            format!("initialize was answered with {status} and no session")
        })?;
        wire.exchange(connector, door, net.writer.initialized(&given))
            .await?;
        *id = Some((moves, Arc::clone(&given)));
        Ok((door, given))
    }

    /// The session's id, if it is open and no caller is opening it.
    pub(super) fn known(&self) -> Option<Arc<str>> {
        let id = self.id.try_lock().ok()?;
        id.as_ref().map(|(_, id)| Arc::clone(id))
    }

    /// Drops a session that the server has forgotten.
    async fn forget(&self, gone: &str) {
        let mut id = self.id.lock().await;
        if id.as_ref().is_some_and(|(_, id)| **id == *gone) {
            *id = None;
        }
    }
}

/// Parses the answer to a call. An invalid answer counts as none: the outcome of the call is
/// unknown.
pub(super) fn read(
    net: &CallerContext,
    ask: &Ask,
    answer: &HttpAnswer,
) -> Result<ParsedReply, String> {
    let json = json(answer).unwrap_or_default();
    let body: Value = serde_json::from_slice(json).unwrap_or_default();
    let content = match net.writer.protocol {
        Protocol::Http => &body,
        Protocol::Mcp20260728 | Protocol::Mcp20251125 => &body["result"]["structuredContent"],
    };
    let reply = match content.is_null() && body["error"].is_object() {
        true => Some(refused("rpc_error", None)),
        false => net.reader().reply(&ask.op, content),
    };
    if let Some(reply) = reply {
        return Ok(reply);
    }
    let (status, tool) = (answer.status(), ask.op.tool());
    if status.is_client_error() {
        return Ok(refused(code(&format!("http_{}", status.as_u16())), None));
    }
    let text: String = String::from_utf8_lossy(json).chars().take(120).collect();
    Err(format!("{tool} was answered {status}: {text}"))
}

/// The page in an answer to `resources/read`.
fn read_page(net: &CallerContext, answer: &HttpAnswer) -> Option<ParsedPage> {
    let read: Value = serde_json::from_slice(json(answer)?).ok()?;
    let text = read["result"]["contents"][0]["text"].as_str()?;
    net.reader().page(text.as_bytes())
}
