//! A caller: makes requests one after another on one connection.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::Sender;

use chat_types::{Span, Time};
use hyper::StatusCode;
use serde::Deserialize;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::{Barrier, Mutex};

use super::ask::Ask;
use super::clock::Clock;
use super::connector::Connector;
use super::event::Received;
use super::names::code;
use super::nemesis;
use super::reply::{ParsedPage, ParsedReply, Reader, ReplyJson, refused};
use super::request::{Writer, Written};
use super::target::Protocol;
use super::wire::{HttpAnswer, Wire, WireError};
use sim_model::protocol::Refusal;

/// State shared by all tasks.
#[derive(Debug)]
pub(super) struct CallerContext {
    pub(super) writer: Writer,
    pub(super) connector: Connector,
    pub(super) clock: Clock,
    /// The channel to the owner of the users.
    pub(super) messages: Sender<TimedMessage>,
}

/// Where one client calls: a server, and the session there in the protocol version that has sessions.
#[derive(Debug, Default)]
pub(super) struct Session {
    /// How often the client went on to the next server, counted from the first one.
    moves: AtomicUsize,
    /// The session's id, with the number of moves at which it was opened.
    id: Mutex<Option<(usize, Arc<str>)>>,
}

/// A request for a caller.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) ticket: u64,
    pub(super) session: Arc<Session>,
    pub(super) want: CallerRequest,
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
    /// Unregistering a participant.
    Unregister { handle: Arc<str> },
    /// Ending a session.
    EndSession { id: Arc<str> },
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
    /// A call was answered.
    Answered {
        ticket: u64,
        reply: Box<ParsedReply>,
    },
    /// A page was read.
    Read {
        ticket: u64,
        page: Option<ParsedPage>,
    },
    /// No answer came, and none will.
    Failed { ticket: u64, why: WireError },
    /// A stream is open.
    Opened { agent: u32, stream: u32 },
    /// A stream delivered an event.
    Pushed {
        agent: u32,
        stream: u32,
        event: Received,
    },
    /// A stream reported that the inbox grew.
    Grew { agent: u32, stream: u32 },
    /// The target was asked whether it is there.
    Asked(Result<(), WireError>),
    /// The nemesis wrote a line, or will write none.
    Nemesis(nemesis::Output),
    /// A stream ended, or was refused.
    Closed {
        agent: u32,
        stream: u32,
        refusal: Option<Refusal>,
    },
}

impl Message {
    /// Whether it shows that the target is there.
    pub(super) const fn is_heard(&self) -> bool {
        match self {
            Self::Asked(_) | Self::Nemesis(_) | Self::Failed { .. } | Self::Closed { .. } => false,
            Self::Answered { .. }
            | Self::Read { .. }
            | Self::Opened { .. }
            | Self::Pushed { .. }
            | Self::Grew { .. } => true,
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
}

/// Makes requests until the pool is gone.
pub(super) async fn serve(net: Arc<CallerContext>, mut jobs: UnboundedReceiver<Job>) {
    let mut wire = Wire::new();
    while let Some(job) = jobs.recv().await {
        let ticket = job.ticket;
        let message = match perform(&net, &mut wire, job).await {
            Ok(message) => message,
            Err(why) => Message::Failed { ticket, why },
        };
        net.tell(message);
    }
}

async fn perform(net: &CallerContext, wire: &mut Wire, job: Job) -> Result<Message, WireError> {
    let Job {
        ticket,
        session,
        want,
    } = job;
    match want {
        CallerRequest::Call(ask) => {
            let write = |session: Option<&str>| net.writer.call(ticket, &ask, session);
            let answer = in_session(net, wire, &session, write).await?;
            let reply = Box::new(read(net, &ask, &answer)?);
            Ok(Message::Answered { ticket, reply })
        }
        CallerRequest::Inbox { inbox, after } => {
            let place = (&*inbox, after);
            let write = |session: Option<&str>| net.writer.read_inbox(ticket, place, session);
            let answer = in_session(net, wire, &session, write).await?;
            let page = page(net, &answer);
            Ok(Message::Read { ticket, page })
        }
        CallerRequest::Least => {
            let write = |session: Option<&str>| net.writer.least(ticket, session);
            in_session(net, wire, &session, write).await?;
            Ok(Message::Read { ticket, page: None })
        }
        CallerRequest::Unregister { handle } => {
            let request = net.writer.unregister(&handle);
            let door = session.door(net).1;
            let reply = wire.exchange(&net.connector, door, request).await?;
            let body: serde_json::Value = serde_json::from_slice(&reply.body).unwrap_or_default();
            let is_gone = body["error"]["code"] == "unknown_handle";
            if !(reply.status().is_success() || is_gone) {
                return Err(WireError(format!(
                    "/unregister is answered {}",
                    reply.status()
                )));
            }
            Ok(Message::Read { ticket, page: None })
        }
        CallerRequest::EndSession { id } => {
            let request = net.writer.end_session(&id);
            let door = session.door(net).1;
            wire.exchange(&net.connector, door, request).await?;
            Ok(Message::Read { ticket, page: None })
        }
    }
}

/// The results of one repeated call.
#[derive(Debug)]
pub(super) struct Repeated {
    /// The number of successful answers.
    pub(super) answered: u64,
    /// The beginning and the end.
    pub(super) from: Time,
    pub(super) to: Time,
    /// Why it ended early.
    pub(super) ended: Option<String>,
}

/// Repeats one call on its own connection for `length`. Starts once each caller at the gate has
/// received an answer.
pub(super) async fn repeat(
    net: Arc<CallerContext>,
    (session, ask): (Arc<Session>, Ask),
    gate: Arc<Barrier>,
    length: Span,
) -> Repeated {
    let mut wire = Wire::new();
    let first = again(&net, &mut wire, &session, &ask).await;
    gate.wait().await;
    let from = net.clock.now();
    let (mut answered, mut to, mut ended) = (0, from, first.err());
    while ended.is_none() && to < from + length {
        match again(&net, &mut wire, &session, &ask).await {
            Ok(()) => answered += 1,
            Err(why) => ended = Some(why),
        }
        to = net.clock.now();
    }
    Repeated {
        answered,
        from,
        to,
        ended,
    }
}

async fn again(
    net: &CallerContext,
    wire: &mut Wire,
    session: &Session,
    ask: &Ask,
) -> Result<(), String> {
    let write = |session: Option<&str>| net.writer.call(0, ask, session);
    let answer = in_session(net, wire, session, write).await;
    let reply = answer.and_then(|answer| read(net, ask, &answer));
    match reply.map(|reply| reply.outcome) {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(refusal)) => Err(format!("{} was refused: {}", ask.op.tool(), refusal.code)),
        Err(why) => Err(why.0),
    }
}

/// Makes a request at the client's server. If no answer comes, the client's next request goes to the
/// next one: it repeats a call with the request key that it had, so that both are one.
async fn in_session(
    net: &CallerContext,
    wire: &mut Wire,
    session: &Session,
    write: impl Fn(Option<&str>) -> Written,
) -> Result<HttpAnswer, WireError> {
    let (moves, _) = session.door(net);
    let answer = at_door(net, wire, session, write).await;
    if answer.is_err() {
        session.leave(moves);
    }
    answer
}

/// Makes a request, in the client's session if the protocol has sessions. A session that the server
/// has forgotten is opened at the next one.
async fn at_door(
    net: &CallerContext,
    wire: &mut Wire,
    session: &Session,
    write: impl Fn(Option<&str>) -> Written,
) -> Result<HttpAnswer, WireError> {
    let connector = &net.connector;
    let (moves, door) = session.door(net);
    if net.writer.protocol != Protocol::Mcp20251125 {
        return wire.exchange(connector, door, write(None)).await;
    }
    let (door, id) = session.id(net, wire).await?;
    let answer = wire.exchange(connector, door, write(Some(&id))).await?;
    if answer.status() != StatusCode::NOT_FOUND {
        return Ok(answer);
    }
    session.forget(&id).await;
    session.leave(moves);
    let (door, id) = session.id(net, wire).await?;
    wire.exchange(connector, door, write(Some(&id))).await
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
    ) -> Result<(usize, Arc<str>), WireError> {
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
        let given = hello.head.headers.get("mcp-session-id");
        let given = given.and_then(|given| given.to_str().ok());
        let Some(given) = given else {
            return Err(WireError(format!(
                "initialize was answered with {} and no session",
                hello.status()
            )));
        };
        let given: Arc<str> = given.into();
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

/// A JSON-RPC answer to a call.
#[derive(Deserialize)]
struct CallJson<'a> {
    #[serde(borrow)]
    result: Option<ResultJson<'a>>,
    error: Option<RpcError>,
}

#[derive(Deserialize)]
struct ResultJson<'a> {
    #[serde(borrow, rename = "structuredContent", default)]
    content: Option<ReplyJson<'a>>,
}

#[derive(Deserialize)]
struct RpcError {}

/// Parses the answer to a call. An invalid answer counts as none: the outcome of the call is
/// unknown.
pub(super) fn read(
    net: &CallerContext,
    ask: &Ask,
    answer: &HttpAnswer,
) -> Result<ParsedReply, WireError> {
    let json = answer.json().unwrap_or_default();
    let reply = if net.writer.protocol == Protocol::Http {
        net.reader().reply(&ask.op, json)
    } else {
        match serde_json::from_slice::<CallJson<'_>>(json) {
            Ok(CallJson {
                result:
                    Some(ResultJson {
                        content: Some(content),
                    }),
                ..
            }) => net.reader().reply_of(&ask.op, &content),
            Ok(CallJson { error: Some(_), .. }) => Some(refused("rpc_error", None)),
            Ok(_) | Err(_) => None,
        }
    };
    if let Some(reply) = reply {
        return Ok(reply);
    }
    let (status, tool) = (answer.status(), ask.op.tool());
    if status.is_client_error() {
        return Ok(refused(code(&format!("http_{}", status.as_u16())), None));
    }
    let text: String = String::from_utf8_lossy(json).chars().take(120).collect();
    Err(WireError(format!("{tool} was answered {status}: {text}")))
}

/// An answer to `resources/read`.
#[derive(Deserialize)]
struct ReadJson {
    result: Option<Contents>,
}

#[derive(Deserialize)]
struct Contents {
    contents: Vec<Content>,
}

#[derive(Deserialize)]
struct Content {
    #[serde(default)]
    text: String,
}

fn page(net: &CallerContext, answer: &HttpAnswer) -> Option<ParsedPage> {
    let read: ReadJson = serde_json::from_slice(answer.json()?).ok()?;
    let content = read.result?.contents.into_iter().next()?;
    net.reader().page(content.text.as_bytes())
}
