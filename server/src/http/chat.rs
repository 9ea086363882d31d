//! Calls: registration, the short routes, and every tool by its name.

use axum::Router;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use chat_core::{Command, Read, Reject, Reply, Response as Answer};
use serde::Serialize;
use serde_json::{Map, Value, json};
use server_chat::driver::Me;
use server_chat::identity::Handle;
use server_chat::refusal::Refusal;
use server_chat::service::{CallOutcome, RequestOrigin};
use server_chat::tools::{Arguments, Ask, ParsedCall, Tool, parse_check_event};
use server_chat::wire::public_id;

use super::Http;
use super::call::PostedCall;
use super::older;
use crate::guard::{Fault, HttpError};

/// A route of calls beside `/tools/{name}`, which an older client may call, too.
#[derive(Clone, Copy)]
pub(super) enum ShortRoute {
    /// Registers a name and joins a room.
    Register,
    /// Makes a participant present by its handle.
    Reconnect,
    /// Ends the registration.
    Unregister,
    /// `send_message` to the caller's only room.
    Send,
    /// `talking_stick`: 202 while another participant holds it.
    TalkingStick,
    /// `check`, whose `wait_seconds` is called `delay`.
    CheckEvent,
}

pub(super) fn routes() -> Router<Http> {
    let routes = [
        ("/register", ShortRoute::Register),
        ("/reconnect", ShortRoute::Reconnect),
        ("/unregister", ShortRoute::Unregister),
        ("/send", ShortRoute::Send),
        ("/talking_stick", ShortRoute::TalkingStick),
        ("/check_event", ShortRoute::CheckEvent),
    ];
    let tools = Router::new().route("/tools/{name}", post(tool));
    routes.into_iter().fold(tools, |router, (path, route)| {
        let serve = move |http, posted| route.serve(http, posted);
        router.route(path, post(serve))
    })
}

impl ShortRoute {
    async fn serve(self, State(http): State<Http>, posted: PostedCall) -> Response {
        match older::concerned(&http, &posted) {
            Some(older) => older.serve(self).await,
            None => self.perform(&http, posted).await.into_response(),
        }
    }

    async fn perform(self, http: &Http, posted: PostedCall) -> Result<Response, HttpError> {
        let PostedCall { origin, arguments } = posted;
        let service = &http.service;
        match self {
            Self::Register => {
                let outcome = service.perform(Tool::Login, arguments, &origin).await;
                registered(http, &outcome)
            }
            Self::Reconnect => back(http, origin, arguments).await,
            Self::Unregister => {
                let handle = caller_alone(http, &origin, arguments).await?;
                let answered = service.unregister(&handle, &origin).await;
                answered.outcome.map_err(Refusal::from)?;
                Ok(ok(&json!({ "success": true })))
            }
            Self::Send => answer(&service.perform(Tool::SendMessage, arguments, &origin).await),
            Self::TalkingStick => {
                let outcome = service.perform(Tool::TalkingStick, arguments, &origin);
                let outcome = outcome.await;
                let mut response = answer(&outcome)?;
                if waits(&outcome) {
                    *response.status_mut() = StatusCode::ACCEPTED;
                }
                Ok(response)
            }
            Self::CheckEvent => {
                let asked = parse_check_event(Arguments::new(Tool::Check, arguments));
                answer(&service.perform_read(Tool::Check, asked, &origin).await)
            }
        }
    }
}

/// The answer of `/register`, from a login's outcome.
pub(super) fn registered(http: &Http, outcome: &CallOutcome) -> Result<Response, HttpError> {
    let (Some(Answer::Done(Reply::LoggedIn { room, .. })), Some(me), Some(handle)) =
        (outcome.response(), outcome.me(), &outcome.caller)
    else {
        return answer(outcome);
    };
    Ok(ok(&json!({
        "success": true,
        "handle": handle.expose(),
        "reader_id": http.service.secrets().reader_of(handle).expose(),
        "user_id": public_id(&me.who),
        "display_name": me.who.name,
        "room_id": room,
        "cursor": me.cursor,
    })))
}

/// Marks the participant as present, as any call does. The call reads as little as possible, because
/// only the context of its answer is used.
async fn back(
    http: &Http,
    origin: RequestOrigin,
    arguments: Map<String, Value>,
) -> Result<Response, HttpError> {
    let handle = caller_alone(http, &origin, arguments).await?;
    let asked = ParsedCall {
        handle: Some(handle),
        key: None,
        ask: Ask::Read(Read::Mood),
    };
    let outcome = http.service.ask(Tool::History, asked, &origin).await;
    match (&outcome.result, outcome.me()) {
        (Err(refusal), _) => Err(refusal.clone().into()),
        (Ok(_), Some(me)) => Ok(ok(&place(me))),
        (Ok(_), None) => Err(Refusal::from(Reject::UnknownHandle).into()),
    }
}

fn place(me: &Me) -> Value {
    let rooms: Vec<_> = me.rooms.iter().map(|room| room.id).collect();
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
        "cursor": me.cursor,
        "unread": me.unread,
    })
}

/// The caller of a route without arguments.
async fn caller_alone(
    http: &Http,
    origin: &RequestOrigin,
    arguments: Map<String, Value>,
) -> Result<Handle, HttpError> {
    let mut arguments = Arguments::new(Tool::LeaveChat, arguments);
    let argument = arguments.token("handle")?;
    if let Err(mut refusal) = arguments.finish() {
        refusal.message = "this route takes the handle alone".into();
        return Err(refusal.into());
    }
    let argument = argument.map(|text| Handle::given(&text));
    Ok(http.service.handle_of(origin, argument.as_ref()).await?)
}

/// Whether the caller waits for the stick, which another participant holds.
pub(super) fn waits(outcome: &CallOutcome) -> bool {
    matches!(outcome.response(), Some(Answer::Done(Reply::Stick { place, .. })) if *place > 0)
}

/// `POST /tools/{name}`: any tool.
async fn tool(
    State(http): State<Http>,
    name: Result<Path<String>, PathRejection>,
    posted: PostedCall,
) -> Response {
    // A name that is no text is that of no tool.
    let tool = name.ok().and_then(|Path(name)| Tool::named(&name));
    let Some(tool) = tool else {
        return HttpError::from(Fault::NotFound).into_response();
    };
    let PostedCall { origin, arguments } = posted;
    answer(&http.service.perform(tool, arguments, &origin).await).into_response()
}

/// The tool's `structuredContent`, or the refusal.
pub(super) fn answer(outcome: &CallOutcome) -> Result<Response, HttpError> {
    match &outcome.result {
        Ok(_) => Ok(ok(outcome)),
        Err(refusal) => Err(refusal.clone().into()),
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
