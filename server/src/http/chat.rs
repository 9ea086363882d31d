//! Calls: registration, the short routes, and every tool by its name.

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use chat_core::{Command, Read, Reject};
use serde::Serialize;
use serde_json::{Value, json};
use server_chat::driver::{CallerContext, Me};
use server_chat::identity::Handle;
use server_chat::refusal::Refusal;
use server_chat::service::{CallOutcome, RequestOrigin};
use server_chat::tools::{Arguments, Ask, ParsedCall, Tool, parse_check_event};
use server_chat::wire::{Said, public_id};

use super::Http;
use super::call::PostedCall;
use super::older;
use crate::guard::{Fault, HttpError};

/// `POST /register`: registers a name and joins a room.
pub(super) async fn register(State(http): State<Http>, posted: PostedCall) -> Response {
    if let Some(older) = older::concerned(&http, &posted) {
        return older.register().await.into_response();
    }
    let PostedCall { origin, arguments } = posted;
    let outcome = http.service.perform(Tool::Login, arguments, &origin).await;
    registered(&http, &outcome).into_response()
}

/// The answer of `/register`, from a login's outcome.
pub(super) fn registered(http: &Http, outcome: &CallOutcome) -> Result<Response, HttpError> {
    let done = outcome.result.as_ref().map_err(Clone::clone)?;
    let Said::LoggedIn { me, room_id, .. } = &done.said else {
        return Ok(answer(outcome));
    };
    let reader = http.service.secrets().reader_of(&Handle::given(&me.handle));
    let cursor = outcome.context.as_ref().map_or(0, cursor);
    Ok(ok(&json!({
        "success": true,
        "handle": me.handle,
        "reader_id": reader.expose(),
        "user_id": me.user_id,
        "display_name": me.display_name,
        "room_id": room_id,
        "cursor": cursor,
    })))
}

fn cursor(context: &CallerContext) -> u64 {
    context.me.as_ref().map_or(0, |me| me.cursor.0)
}

/// `POST /reconnect`: makes a participant present by its handle.
pub(super) async fn reconnect(State(http): State<Http>, posted: PostedCall) -> Response {
    if let Some(older) = older::concerned(&http, &posted) {
        return older.register().await.into_response();
    }
    back(&http, posted).await.into_response()
}

/// Marks the participant as present, as any call does. The call reads as little as possible, because
/// only the context of its answer is used.
async fn back(http: &Http, posted: PostedCall) -> Result<Response, HttpError> {
    let (origin, handle) = caller_alone(http, posted).await?;
    let asked = ParsedCall {
        handle: Some(handle),
        key: None,
        ask: Ask::Read(Read::Mood),
    };
    let outcome = http.service.ask(Tool::History, asked, &origin).await;
    let me = outcome
        .context
        .as_ref()
        .and_then(|context| context.me.as_ref());
    match (&outcome.result, me) {
        (Err(refusal), _) => Err(refusal.clone().into()),
        (Ok(_), Some(me)) => Ok(ok(&place(me))),
        (Ok(_), None) => Err(Refusal::from(Reject::UnknownHandle).into()),
    }
}

fn place(me: &Me) -> Value {
    let rooms: Vec<_> = me.rooms.iter().map(|room| room.id.to_string()).collect();
    let only = match &rooms[..] {
        [one] => Some(one),
        [] | [_, _, ..] => None,
    };
    json!({
        "success": true,
        "user_id": public_id(&me.who),
        "display_name": me.who.name,
        "room_id": only,
        "rooms": rooms,
        "cursor": me.cursor.0,
        "unread": me.unread,
    })
}

/// `POST /unregister`: ends the registration.
pub(super) async fn unregister(State(http): State<Http>, posted: PostedCall) -> Response {
    if let Some(older) = older::concerned(&http, &posted) {
        return older.unregister().await.into_response();
    }
    forget(&http, posted).await.into_response()
}

async fn forget(http: &Http, posted: PostedCall) -> Result<Response, HttpError> {
    let (origin, handle) = caller_alone(http, posted).await?;
    let answered = http.service.unregister(&handle, &origin).await;
    answered.outcome.map_err(Refusal::from)?;
    Ok(ok(&json!({ "success": true })))
}

/// The caller of a route without arguments.
async fn caller_alone(
    http: &Http,
    posted: PostedCall,
) -> Result<(RequestOrigin, Handle), HttpError> {
    let PostedCall { origin, arguments } = posted;
    let mut arguments = Arguments::new(Tool::LeaveChat, arguments);
    let argument = arguments.token("handle")?;
    if let Err(mut refusal) = arguments.finish() {
        refusal.message = "this route takes the handle alone".into();
        return Err(refusal.into());
    }
    let argument = argument.map(|text| Handle::given(&text));
    let handle = origin.given(argument.as_ref())?;
    let handle = match handle {
        Some(handle) => Some(handle),
        None => http.service.only(&origin).await?,
    };
    let handle = handle.ok_or_else(|| Refusal::from(Reject::HandleRequired))?;
    Ok((origin, handle))
}

/// `POST /send`: `send_message` to the caller's only room.
pub(super) async fn send(State(http): State<Http>, posted: PostedCall) -> Response {
    if let Some(older) = older::concerned(&http, &posted) {
        return older.send().await.into_response();
    }
    let PostedCall { origin, arguments } = posted;
    answer(
        &http
            .service
            .perform(Tool::SendMessage, arguments, &origin)
            .await,
    )
}

/// `POST /check_event`: `check`.
pub(super) async fn check_event(State(http): State<Http>, posted: PostedCall) -> Response {
    if let Some(older) = older::concerned(&http, &posted) {
        return older.check_event().await.into_response();
    }
    let PostedCall { origin, arguments } = posted;
    let asked = parse_check_event(Arguments::new(Tool::Check, arguments));
    answer(&http.service.perform_read(Tool::Check, asked, &origin).await)
}

/// `POST /talking_stick`: 200 for a grant, 202 for a place in line.
pub(super) async fn talking_stick(State(http): State<Http>, posted: PostedCall) -> Response {
    if let Some(older) = older::concerned(&http, &posted) {
        return older.talking_stick().await.into_response();
    }
    let PostedCall { origin, arguments } = posted;
    let outcome = http
        .service
        .perform(Tool::TalkingStick, arguments, &origin)
        .await;
    let mut response = answer(&outcome);
    if waits(&outcome) {
        *response.status_mut() = StatusCode::ACCEPTED;
    }
    response
}

/// Whether the caller waits for the stick, which another participant holds.
pub(super) fn waits(outcome: &CallOutcome) -> bool {
    let said = outcome.result.as_ref().map(|done| &done.said);
    matches!(said, Ok(Said::Stick { place, .. }) if *place > 0)
}

/// `POST /tools/{name}`: any tool.
pub(super) async fn tool(
    State(http): State<Http>,
    name: Result<Path<String>, PathRejection>,
    posted: PostedCall,
) -> Response {
    // A name that is no text is that of no tool.
    let tool = name.ok().and_then(|Path(name)| name.parse::<Tool>().ok());
    let Some(tool) = tool else {
        return HttpError::from(Fault::NotFound).into_response();
    };
    let PostedCall { origin, arguments } = posted;
    answer(&http.service.perform(tool, arguments, &origin).await)
}

/// The tool's `structuredContent`, or the refusal.
pub(super) fn answer(outcome: &CallOutcome) -> Response {
    match &outcome.result {
        Ok(done) => ok(done),
        Err(refusal) => HttpError::from(refusal.clone()).into_response(),
    }
}

pub(super) fn ok(value: &impl Serialize) -> Response {
    crate::guard::json(StatusCode::OK, value)
}

/// A command of a participant, without a key.
pub(super) fn command(handle: Handle, command: Command) -> ParsedCall {
    ParsedCall {
        handle: Some(handle),
        key: None,
        ask: Ask::Command(command),
    }
}
