//! Calls: registration, the short routes, and every tool by its name; with what each reads of its
//! request.

use axum::Router;
use axum::body::{Bytes, to_bytes};
use axum::extract::rejection::PathRejection;
use axum::extract::{FromRequest, Path, Request, State};
use axum::http::StatusCode;
use axum::http::header::{CONTENT_TYPE, HeaderMap};
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use chat_core::{Read, Reject, Reply, Response as Answer};
use serde::Serialize;
use serde_json::{Map, Value, json};
use server_chat::driver::Me;
use server_chat::identity::Handle;
use server_chat::refusal::Refusal;
use server_chat::service::{CallOutcome, RequestOrigin};
use server_chat::tools::{Arguments, Ask, ParsedCall, Tool, parse_check_event};
use server_chat::wire::public_id;

use super::{HANDLE_HEADER, Http, Served, invalid, older};
use crate::guard::{Fault, HttpError, caller, has_json};

/// The largest number of characters of a handle that is looked up.
const MAX_HANDLE: usize = 128;

/// A POST: its caller and its arguments.
#[derive(Debug)]
pub(super) struct PostedCall {
    pub(super) origin: RequestOrigin,
    pub(super) arguments: Map<String, Value>,
}

impl<S: Sync> FromRequest<S> for PostedCall {
    type Rejection = HttpError;

    async fn from_request(request: Request, _: &S) -> Result<Self, HttpError> {
        let (head, body) = request.into_parts();
        let origin = origin(&head)?;
        // The guard has read and limited it.
        let body = to_bytes(body, usize::MAX).await;
        let body = body.map_err(|_| HttpError::from(Fault::BodyBroken))?;
        let arguments = arguments(&head.headers, &body)?;
        Ok(Self { origin, arguments })
    }
}

/// The origin of a call: the guard's caller, and the handle in the header.
pub(super) fn origin(head: &Parts) -> Result<RequestOrigin, HttpError> {
    Ok(RequestOrigin {
        handle: handle(&head.headers)?,
        ..caller(head)
    })
}

fn handle(headers: &HeaderMap) -> Result<Option<Handle>, HttpError> {
    let wrong = || invalid("Chat-Handle must be one handle, as the server gave it");
    let mut values = headers.get_all(HANDLE_HEADER).iter();
    let Some(value) = values.next() else {
        return Ok(None);
    };
    let text = value.to_str().map_err(|_| wrong())?;
    if values.next().is_some() || text.len() > MAX_HANDLE {
        return Err(wrong());
    }
    // As an argument, an empty one is none.
    Ok((!text.is_empty()).then(|| Handle::given(text)))
}

/// The object in the body; an empty object if there is no body.
fn arguments(headers: &HeaderMap, body: &Bytes) -> Result<Map<String, Value>, HttpError> {
    let unread = |why: String| HttpError::from(Fault::BodyUnread(why));
    if body.is_empty() {
        return Ok(Map::new());
    }
    if !has_json(headers) {
        let why = match headers.contains_key(CONTENT_TYPE) {
            true => "the body must be JSON: send the header Content-Type: application/json",
            false => "send the header Content-Type: application/json with the body",
        };
        return Err(unread(why.into()));
    }
    let text = std::str::from_utf8(body).map_err(|error| {
        let at = error.valid_up_to();
        unread(format!("the body is not UTF-8 from byte {at} on"))
    })?;
    match serde_json::from_str(text) {
        Ok(Value::Object(map)) => Ok(map),
        Ok(_) => Err(unread("the body must be a JSON object".into())),
        // The library's own words are for programmers.
        Err(error) => {
            let (line, column) = (error.line(), error.column());
            let how = match error.is_eof() {
                true => "ends too early",
                false => "is not JSON",
            };
            let told = format!("the body {how}: see line {line}, column {column}");
            Err(unread(told))
        }
    }
}

chat_core::listed! {
    /// A route of calls beside `/tools/{name}`, which an older client may call, too.
    ShortRoute {
        /// Registers a name and joins a room.
        Register "/register",
        /// Makes a participant present by its handle.
        Reconnect "/reconnect",
        /// Ends the registration.
        Unregister "/unregister",
        /// `send_message` to the caller's only room.
        Send "/send",
        /// `talking_stick`: 202 while another participant holds it.
        TalkingStick "/talking_stick",
        /// `check`, whose `wait_seconds` is called `delay`.
        CheckEvent "/check_event",
    }
}

pub(super) fn routes() -> Router<Http> {
    let tools = Router::new().route("/tools/{name}", post(tool));
    ShortRoute::ALL.iter().fold(tools, |router, route| {
        let serve = move |http, posted| route.serve(http, posted);
        router.route(route.name(), post(serve))
    })
}

impl ShortRoute {
    async fn serve(self, State(http): State<Http>, posted: PostedCall) -> Response {
        match older::concerned(&http, &posted) {
            Some(older) => older.serve(self).await,
            None => self.perform(&http, posted).await.into_response(),
        }
    }

    async fn perform(self, http: &Http, posted: PostedCall) -> Served {
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
                answer(&service.ask(Tool::Check, asked, &origin).await)
            }
        }
    }
}

/// The answer of `/register`, from a login's outcome.
pub(super) fn registered(http: &Http, outcome: &CallOutcome) -> Served {
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
async fn back(http: &Http, origin: RequestOrigin, arguments: Map<String, Value>) -> Served {
    let handle = caller_alone(http, &origin, arguments).await?;
    let asked = asked(handle, Ask::Read(Read::Mood));
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
pub(super) fn answer(outcome: &CallOutcome) -> Served {
    match &outcome.result {
        Ok(_) => Ok(ok(outcome)),
        Err(refusal) => Err(refusal.clone().into()),
    }
}

pub(super) fn ok(value: &impl Serialize) -> Response {
    crate::guard::json(StatusCode::OK, value)
}

/// A call of a participant, without a key.
pub(super) fn asked(handle: Handle, ask: Ask) -> Result<ParsedCall, Refusal> {
    Ok(ParsedCall {
        handle: Some(handle),
        key: None,
        ask,
    })
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn read(kind: Option<&'static str>, body: &'static [u8]) -> Result<Map<String, Value>, String> {
        let mut headers = HeaderMap::new();
        if let Some(kind) = kind {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        }
        arguments(&headers, &Bytes::from_static(body)).map_err(|refused| refused.0.message.clone())
    }

    const JSON: Option<&str> = Some("application/json");

    #[test]
    fn a_body_is_an_object_or_nothing() {
        assert_eq!(read(None, b""), Ok(Map::new()));
        assert_eq!(read(JSON, b" {} "), Ok(Map::new()));
        let with_charset = Some("Application/JSON; charset=utf-8");
        assert_eq!(read(with_charset, b"{}"), Ok(Map::new()));
    }

    #[test]
    fn what_is_none_is_told_how() {
        let wrong = |kind, body| read(kind, body).unwrap_err();
        assert!(wrong(None, b"{}").contains("send the header Content-Type"));
        assert!(wrong(Some("text/plain"), b"{}").contains("must be JSON"));
        assert_eq!(wrong(JSON, b"[1]"), "the body must be a JSON object");
        assert_eq!(
            wrong(JSON, b"{\"a\":\"\xff\"}"),
            "the body is not UTF-8 from byte 6 on"
        );
        assert_eq!(
            wrong(JSON, b"{\"a\":"),
            "the body ends too early: see line 1, column 5"
        );
        assert_eq!(
            wrong(JSON, b"{\"a\":1e999}"),
            "the body is not JSON: see line 1, column 10"
        );
    }
}
