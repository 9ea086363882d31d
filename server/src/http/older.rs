//! `--trust-usernames`: the older client, which sends a username and has no handle.
//!
//! It may register its name repeatedly. It reads `{sender, content, timestamp}` in arrays, and
//! receives sticks and waits as sentences of a sender called `Server`. Its errors are sentences. It
//! has no line for the stick: a claim while another member holds the stick is refused, and
//! withdrawn. It cannot release the stick: a message ends its turn, and the server releases a stick
//! that it held for `older_turn` without a message. A message without the stick claims it first.
//! Its check must be answered at once, so the waiting check that notifies the room runs in the
//! background.
//!
//! Names are trusted here. So the server offers this on one machine only, and rejects requests that
//! pages of other sites could cause: requests that change state must be JSON or ask for events.

mod words;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::response::Response;
use chat_core::{Command, Epoch, Read, Reject, Reply, Response as Answer, Seq, Span};
use serde_json::{Map, Value, json};
use server_chat::driver::EventStream;
use server_chat::identity::Handle;
use server_chat::refusal::Refusal;
use server_chat::service::{CallOutcome, RequestOrigin};
use server_chat::task;
use server_chat::tools::{Arguments, Ask, ParsedCall, Tool};
use server_storage::lock;
use tokio::task::AbortHandle;

use super::Http;
use super::chat::{PostedCall, ShortRoute, answer, command, ok, registered, waits};
use crate::guard::HttpError;

pub(super) use words::Older;

/// The largest number of clients that are remembered. Inactive ones are forgotten first, which only
/// loses their places in their inboxes.
const MAX_KNOWN: usize = 10_000;

/// For how long the room is notified that a client waits, after its last check.
const WAITS: Span = Span::secs(50);

/// The older clients by name.
#[derive(Debug)]
pub(super) struct OlderClients {
    known: Mutex<BTreeMap<Arc<str>, Arc<Known>>>,
    /// How long one may hold the stick without a message.
    turn: Duration,
}

/// An older client.
#[derive(Debug)]
pub(super) struct Known {
    handle: Handle,
    /// The last event that its stream sent.
    sent: AtomicU64,
    /// Whether a check waits for it.
    checks: AtomicBool,
    /// The task that ends its last turn.
    turn: Mutex<Option<AbortHandle>>,
}

impl Drop for Known {
    fn drop(&mut self) {
        self.ends_turn_by(None);
    }
}

impl Known {
    /// Replaces the task that ends its turn.
    fn ends_turn_by(&self, task: Option<AbortHandle>) {
        let before = std::mem::replace(&mut *lock(&self.turn), task);
        if let Some(before) = before {
            before.abort();
        }
    }
}

impl OlderClients {
    /// None yet; each may hold the stick for this long without a message.
    pub(super) fn new(turn: Duration) -> Self {
        Self {
            known: Mutex::default(),
            turn,
        }
    }

    fn find(&self, name: &str) -> Option<Arc<Known>> {
        lock(&self.known).get(name).cloned()
    }

    /// Remembers a client whose inbox continues after `cursor` and ends at `end`.
    fn keep(
        &self,
        name: &Arc<str>,
        handle: Handle,
        (cursor, end): (u64, u64),
    ) -> Result<Arc<Known>, Refusal> {
        let mut known = lock(&self.known);
        if let Some(kept) = known.get(name) {
            // Its registration may have ended meanwhile, so that its inbox is new.
            kept.sent.fetch_min(end, Ordering::Relaxed);
            return Ok(Arc::clone(kept));
        }
        if known.len() >= MAX_KNOWN {
            known.retain(|_, one| Arc::strong_count(one) > 1);
        }
        if known.len() >= MAX_KNOWN {
            return Err(Reject::ServerFull.into());
        }
        let new = Arc::new(Known {
            handle,
            sent: AtomicU64::new(cursor),
            checks: AtomicBool::new(false),
            turn: Mutex::default(),
        });
        known.insert(Arc::clone(name), Arc::clone(&new));
        Ok(new)
    }

    fn forget(&self, name: &str) {
        lock(&self.known).remove(name);
    }
}

/// A call by an older client.
pub(super) struct OlderCall<'a> {
    http: &'a Http,
    all: &'a OlderClients,
    origin: RequestOrigin,
    name: Arc<str>,
    arguments: Map<String, Value>,
}

/// The call of an older client, if usernames are trusted and it passes no handle.
pub(super) fn concerned<'a>(http: &'a Http, posted: &PostedCall) -> Option<OlderCall<'a>> {
    let all = http.older.as_ref()?;
    let better = ["handle", "request_key"];
    let has_better = better.iter().any(|name| {
        posted
            .arguments
            .get(*name)
            .is_some_and(|value| !value.is_null())
    });
    if posted.origin.handle.is_some() || has_better {
        return None;
    }
    let name = posted.arguments.get("username")?.as_str()?;
    let mut call = named(http, all, name, posted.origin.clone());
    call.arguments.clone_from(&posted.arguments);
    call.arguments.remove("username");
    Some(call)
}

/// The call of the client with this name.
pub(super) fn named<'a>(
    http: &'a Http,
    all: &'a OlderClients,
    name: &str,
    mut origin: RequestOrigin,
) -> OlderCall<'a> {
    // Its name alone identifies the caller, from any address.
    origin.token = None;
    origin.handle = None;
    OlderCall {
        http,
        all,
        origin,
        name: name.into(),
        arguments: Map::new(),
    }
}

impl OlderCall<'_> {
    pub(super) async fn serve(&self, route: ShortRoute) -> Response {
        let served = match route {
            ShortRoute::Register | ShortRoute::Reconnect => self.register().await,
            ShortRoute::Unregister => self.unregister().await,
            ShortRoute::Send => self.send().await,
            ShortRoute::TalkingStick => self.talking_stick().await,
            ShortRoute::CheckEvent => self.check_event().await,
        };
        served.unwrap_or_else(|error| refused(&error))
    }

    /// Registers the name, repeatedly if asked.
    async fn register(&self) -> Result<Response, HttpError> {
        registered(self.http, &self.enter().await?.0)
    }

    /// Ends the registration, if there is one.
    async fn unregister(&self) -> Result<Response, HttpError> {
        if let Some(known) = self.all.find(&self.name) {
            let answered = self.http.service.unregister(&known.handle, &self.origin);
            match answered.await.outcome {
                Ok(_) | Err(Reject::UnknownHandle) => self.all.forget(&self.name),
                Err(reject) => return Err(Refusal::from(reject).into()),
            }
        }
        Ok(ok(&json!({ "success": true })))
    }

    /// Sends the message, and ends the turn. Without the stick, it is claimed first.
    async fn send(&self) -> Result<Response, HttpError> {
        let mut arguments = Arguments::new(Tool::SendMessage, self.arguments.clone());
        let send = Command::SendMessage {
            room: None,
            text: arguments.needed_text("message")?,
            epoch: None,
        };
        let mut outcome = self.perform(Tool::SendMessage, &send).await;
        if matches!(&outcome.result, Err(refusal) if refusal.code == "stick_required") {
            let claimed = self.claim().await;
            if claimed.result.is_ok() {
                outcome = self.perform(Tool::SendMessage, &send).await;
            }
            if waits(&claimed) {
                self.release().await;
                return Err(held(&claimed));
            }
        }
        if outcome.result.is_ok() {
            self.release().await;
        }
        answer(&outcome)
    }

    /// Claims the stick. A granted one is released after a time without a message.
    async fn claim(&self) -> CallOutcome {
        let (room, epoch) = (None, None);
        let claim = Command::TalkingStick { room, epoch };
        let outcome = self.perform(Tool::TalkingStick, &claim).await;
        if let Some(Answer::Done(Reply::Stick {
            place: 0, epoch, ..
        })) = outcome.response()
            && let Some(known) = self.all.find(&self.name)
        {
            self.limit_turn(&known, *epoch);
        }
        outcome
    }

    /// Releases this grant of the stick after a time, unless it has ended.
    fn limit_turn(&self, known: &Known, epoch: Epoch) {
        let reset = Command::Reset {
            room: None,
            epoch: Some(epoch),
        };
        let asked = command(known.handle.clone(), reset);
        let (service, origin, turn) = (
            self.http.service.clone(),
            self.origin.clone(),
            self.all.turn,
        );
        let task = task::spawn(async move {
            tokio::time::sleep(turn).await;
            service.ask(Tool::Reset, asked, &origin).await;
        });
        known.ends_turn_by(Some(task.abort_handle()));
    }

    /// The stick is granted, or held by another member.
    async fn talking_stick(&self) -> Result<Response, HttpError> {
        let outcome = self.claim().await;
        if waits(&outcome) {
            self.release().await;
            return Err(held(&outcome));
        }
        outcome.result.as_ref().map_err(Clone::clone)?;
        let mut said = outcome.json();
        said["success"] = true.into();
        Ok(ok(&said))
    }

    /// Releases the stick, or withdraws the claim. It is no error if there is neither.
    async fn release(&self) {
        let (room, epoch) = (None, None);
        let reset = Command::Reset { room, epoch };
        self.perform(Tool::Reset, &reset).await;
    }

    /// Notifies the room that the client waits.
    async fn check_event(&self) -> Result<Response, HttpError> {
        let known = self.known().await?;
        if known.checks.swap(true, Ordering::Relaxed) {
            // Its check waits already, and counts from its beginning.
            return Ok(ok(&json!({ "success": true })));
        }
        let (service, origin) = (self.http.service.clone(), self.origin.clone());
        task::spawn(async move {
            let asked = ParsedCall {
                handle: Some(known.handle.clone()),
                key: None,
                ask: Ask::Read(Read::Check {
                    after: Some(Seq(known.sent.load(Ordering::Relaxed))),
                    wait: WAITS,
                    max: 1,
                }),
            };
            service.ask(Tool::Check, asked, &origin).await;
            known.checks.store(false, Ordering::Relaxed);
        });
        Ok(ok(&json!({ "success": true })))
    }

    /// `GET /events`: the unread events, in the older client's format.
    pub(super) async fn events(&self) -> Result<(EventStream, Older), HttpError> {
        let known = self.known().await?;
        let opened = match self.stream(&known).await {
            Err(refusal) if refusal.code == "unknown_handle" => {
                self.all.forget(&self.name);
                let known = self.known().await?;
                (self.stream(&known).await?, known)
            }
            opened => (opened?, known),
        };
        let (stream, known) = opened;
        let node = self.http.service.node().clone();
        Ok((stream, Older::new(known, node)))
    }

    async fn stream(&self, known: &Known) -> Result<EventStream, Refusal> {
        let after = Some(Seq(known.sent.load(Ordering::Relaxed)));
        let service = &self.http.service;
        let opened = service.stream_of(&known.handle, self.origin.address, after);
        Ok(opened.await?.0)
    }

    async fn known(&self) -> Result<Arc<Known>, Refusal> {
        match self.all.find(&self.name) {
            Some(known) => Ok(known),
            None => Ok(self.enter().await?.1),
        }
    }

    /// Performs a call. A participant that is unknown, or no longer known, is registered first.
    async fn perform(&self, tool: Tool, ask: &Command) -> CallOutcome {
        let mut is_repeated = false;
        loop {
            let known = match self.known().await {
                Ok(known) => known,
                Err(refusal) => return CallOutcome::refused(tool, refusal),
            };
            let asked = command(known.handle.clone(), ask.clone());
            let outcome = self.http.service.ask(tool, asked, &self.origin).await;
            let is_known =
                !matches!(&outcome.result, Err(refusal) if refusal.code == "unknown_handle");
            if is_known || is_repeated {
                return outcome;
            }
            self.all.forget(&self.name);
            is_repeated = true;
        }
    }

    /// Registers the name. The request key is derived from it, so that repeating it does not
    /// register a second participant.
    async fn enter(&self) -> Result<(CallOutcome, Arc<Known>), Refusal> {
        let service = &self.http.service;
        let key = service.secrets().handle_for_key(
            &format!("older client {}", self.name),
            &self.origin.mint_source(),
        );
        let mut login = Map::new();
        login.insert("username".into(), (*self.name).into());
        login.insert("request_key".into(), key.expose().into());
        let outcome = service.perform(Tool::Login, login, &self.origin).await;
        outcome.result.as_ref().map_err(Clone::clone)?;
        let handle = outcome.caller.clone().ok_or(Reject::ServerFull)?;
        // The position after which the caller reads on, and the end of its inbox.
        let marks = outcome
            .me()
            .map(|me| (me.cursor.0, me.cursor.0 + me.unread));
        let known = self
            .all
            .keep(&self.name, handle, marks.unwrap_or_default())?;
        Ok((outcome, known))
    }
}

/// A refusal in such a client's form: `error` is a sentence, and the code is beside it.
fn refused(error: &HttpError) -> Response {
    let Refusal { code, message, .. } = &error.0;
    error.in_body(&json!({ "success": false, "error": message, "code": code }))
}

/// 409 `stick_held`.
fn held(outcome: &CallOutcome) -> HttpError {
    let holder = outcome.stick().0.map(words::called);
    let holder = holder.unwrap_or("a participant".into());
    let message = format!("{holder} holds the talking stick; try again in a moment");
    Refusal::new("stick_held", message).into()
}
