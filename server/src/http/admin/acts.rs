//! The actions of operators. Every action, even a refused one, is a journal entry with the
//! operator's name and a reason, and is logged.

use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use chat_core::{Address, Call, Operate, Reject, Reply, Response as Outcome, RoomId, UserId};
use serde_json::{Value, json};
use server_chat::driver::Request as NodeRequest;
use server_chat::refusal::Refusal;
use server_chat::tools::{Arguments, Tool};
use server_chat::view::View;

use super::super::Http;
use super::super::call::PostedCall;
use super::super::chat::ok;
use super::lists::shown_address;
use crate::guard::{HttpError, Operator};

/// The log target of operators' actions.
const LOG: &str = "talking_stick::operators";

/// How an act names a participant, or another target.
const USER: &str = "say whom: by `user_id`, or by `name`";
const USER_OR_ADDRESS: &str = "say whom: by `user_id`, by `name`, or by `address`";
const NAME_OR_ADDRESS: &str = "say whom: by `name`, or by `address`";
const MUTED_USER: &str = "say whom: by `user_id`, or by `name`; for an address, call /admin/unban";

/// The most characters of an argument in the log.
const MAX_TOLD: usize = 200;

pub(super) async fn mute(
    operator: Operator,
    State(http): State<Http>,
    mut posted: PostedCall,
) -> Response {
    let act = Act::of(&http, &operator, "mute", &posted);
    if let Some(address) = posted.arguments.remove("address") {
        let mute = |address, reason| Operate::MuteAddress { address, reason };
        return act.log(about_address(&http, operator, posted, &address, mute).await);
    }
    let done = about(&http, operator, (posted, USER_OR_ADDRESS), |arguments| {
        let reason = needed(arguments, "reason")?;
        Ok(Box::new(move |user| Operate::Mute { user, reason }))
    });
    act.log(done.await)
}

pub(super) async fn unmute(
    operator: Operator,
    State(http): State<Http>,
    posted: PostedCall,
) -> Response {
    let act = Act::of(&http, &operator, "unmute", &posted);
    let done = about(&http, operator, (posted, MUTED_USER), |_| {
        Ok(Box::new(|user| Operate::Unmute { user }))
    });
    act.log(done.await)
}

pub(super) async fn kick(
    operator: Operator,
    State(http): State<Http>,
    posted: PostedCall,
) -> Response {
    let act = Act::of(&http, &operator, "kick", &posted);
    let done = about(&http, operator, (posted, USER), |arguments| {
        let room = needed_room(arguments)?;
        let reason = needed(arguments, "reason")?;
        Ok(Box::new(move |user| Operate::Kick { user, room, reason }))
    });
    act.log(done.await)
}

pub(super) async fn close(
    operator: Operator,
    State(http): State<Http>,
    posted: PostedCall,
) -> Response {
    let act = Act::of(&http, &operator, "close", &posted);
    let mut arguments = Arguments::new(Tool::ReportUser, posted.arguments);
    let read = needed_room(&mut arguments).and_then(|room| {
        let reason = needed(&mut arguments, "reason")?;
        finish(arguments)?;
        Ok(Operate::Close { room, reason })
    });
    act.log(operate(&http, operator, posted.origin.address, read).await)
}

pub(super) async fn ban(
    operator: Operator,
    State(http): State<Http>,
    mut posted: PostedCall,
) -> Response {
    let act = Act::of(&http, &operator, "ban", &posted);
    if let Some(address) = posted.arguments.remove("address") {
        let ban = |address, reason| Operate::BanAddress { address, reason };
        return act.log(about_address(&http, operator, posted, &address, ban).await);
    }
    let done = about(&http, operator, (posted, USER_OR_ADDRESS), |arguments| {
        let reason = needed(arguments, "reason")?;
        Ok(Box::new(move |user| Operate::BanUser { user, reason }))
    });
    act.log(done.await)
}

/// An action against an address, with a reason.
async fn about_address(
    http: &Http,
    operator: Operator,
    posted: PostedCall,
    address: &Value,
    act: fn(Address, Arc<str>) -> Operate,
) -> Response {
    let mut arguments = Arguments::new(Tool::ReportUser, posted.arguments);
    let read = address_of(http, address).and_then(|address| {
        let reason = needed(&mut arguments, "reason")?;
        finish(arguments)?;
        Ok(act(address, reason))
    });
    operate(http, operator, posted.origin.address, read).await
}

pub(super) async fn unban(
    operator: Operator,
    State(http): State<Http>,
    mut posted: PostedCall,
) -> Response {
    let act = Act::of(&http, &operator, "unban", &posted);
    let address = posted.arguments.remove("address");
    let mut arguments = Arguments::new(Tool::ReportUser, posted.arguments);
    let read = match address {
        Some(address) => {
            address_of(&http, &address).map(|address| Operate::UnbanAddress { address })
        }
        None => arguments.text("name").and_then(|name| {
            let name = name.ok_or_else(|| Refusal::invalid(NAME_OR_ADDRESS.into()))?;
            Ok(Operate::Unban { name })
        }),
    };
    let read = read.and_then(|act| finish(arguments).map(|()| act));
    act.log(operate(&http, operator, posted.origin.address, read).await)
}

/// An action for the log: the operator, the action, its subject, and the operator's reason.
struct Act {
    operator: Arc<str>,
    what: &'static str,
    whom: Vec<String>,
    why: String,
}

impl Act {
    fn of(http: &Http, operator: &Operator, what: &'static str, posted: &PostedCall) -> Self {
        let text = |name: &str| {
            let text = posted.arguments.get(name)?.as_str()?;
            // The log shows an address in the same form as /admin/bans.
            let address = text.parse::<IpAddr>().ok().filter(|_| name == "address");
            Some(match address {
                Some(ip) => shown_address(http.service.address(ip)),
                None => text.chars().take(MAX_TOLD).collect(),
            })
        };
        let named = |name: &str| Some(format!("{name} {}", text(name)?));
        let whom = ["user_id", "name", "address", "room_id"];
        Self {
            operator: Arc::clone(&operator.0),
            what,
            whom: whom.into_iter().filter_map(named).collect(),
            why: text("reason").unwrap_or_default(),
        }
    }

    fn log(self, answer: Response) -> Response {
        let Self {
            operator,
            what,
            whom,
            why,
        } = self;
        let whom = whom.join(", ");
        let status = answer.status().as_u16();
        if answer.extensions().get::<NothingLifted>().is_some() {
            tracing::info!(
                target: LOG, %operator, what, whom, why, status, "an operator's act lifted nothing"
            );
        } else if answer.status().is_success() {
            tracing::info!(target: LOG, %operator, what, whom, why, status, "an operator acted");
        } else {
            tracing::info!(
                target: LOG, %operator, what, whom, why, status, "an operator's act is refused"
            );
        }
        answer
    }
}

/// The mark of an answer to an act that was to lift a measure, and found none.
#[derive(Clone, Copy)]
struct NothingLifted;

async fn operate(
    http: &Http,
    Operator(operator): Operator,
    from: Address,
    read: Result<Operate, Refusal>,
) -> Response {
    let act = match read {
        Ok(act) => act,
        Err(refusal) => return HttpError::from(refusal).into_response(),
    };
    let request = NodeRequest::Call(Call::Operate { operator, act });
    match http.service.node().call(from, request).await.outcome {
        Ok(Outcome::Done(Reply::Lifted { found })) => {
            let mut answer = ok(&json!({ "success": true, "lifted": found }));
            if !found {
                answer.extensions_mut().insert(NothingLifted);
            }
            answer
        }
        Ok(_) => ok(&json!({ "success": true })),
        Err(reject) => {
            let is_elsewhere = matches!(reject, Reject::NotInRoom);
            let mut refusal = Refusal::from(reject);
            if is_elsewhere {
                // The sentence of the core is for the participant.
                refusal.message = "That participant is not in that room".into();
            }
            HttpError::from(refusal).into_response()
        }
    }
}

/// An action against a participant, built when its id is known.
type Deed = Box<dyn FnOnce(UserId) -> Operate + Send>;

/// Performs an action against the participant with this `user_id` or `name`. A call without one is
/// refused with `how`.
async fn about(
    http: &Http,
    operator: Operator,
    (posted, how): (PostedCall, &str),
    read: impl FnOnce(&mut Arguments) -> Result<Deed, Refusal>,
) -> Response {
    let mut arguments = Arguments::new(Tool::ReportUser, posted.arguments);
    let read = whom(&mut arguments, how).and_then(|whom| {
        let deed = read(&mut arguments)?;
        finish(arguments)?;
        Ok((whom, deed))
    });
    let act = match read {
        // Nobody has the number 0: the core then refuses with the right code.
        Ok((whom, deed)) => Ok(deed(user(http, whom).await.unwrap_or(UserId(0)))),
        Err(refusal) => Err(refusal),
    };
    operate(http, operator, posted.origin.address, act).await
}

enum Whom {
    Id(Box<str>),
    Name(Arc<str>),
}

fn whom(arguments: &mut Arguments, how: &str) -> Result<Whom, Refusal> {
    let (id, name) = (arguments.text("user_id")?, arguments.text("name")?);
    match (id, name) {
        (Some(id), None) => Ok(Whom::Id(id.as_ref().into())),
        (None, Some(name)) => Ok(Whom::Name(name)),
        (Some(_), Some(_)) | (None, None) => Err(Refusal::invalid(how.into())),
    }
}

async fn user(http: &Http, whom: Whom) -> Option<UserId> {
    let find = move |node: &View<'_>| match whom {
        Whom::Id(id) => node.hub().user_by_public_id(&id),
        Whom::Name(name) => node.hub().user_by_name(&name),
    };
    http.service.node().look(find).await?
}

fn needed_room(arguments: &mut Arguments) -> Result<RoomId, Refusal> {
    arguments.room()?.ok_or_else(|| missing("room_id"))
}

fn needed(arguments: &mut Arguments, name: &'static str) -> Result<Arc<str>, Refusal> {
    arguments.text(name)?.ok_or_else(|| missing(name))
}

fn missing(name: &str) -> Refusal {
    Refusal::invalid(format!("`{name}` is missing; this route needs it"))
}

fn finish(arguments: Arguments) -> Result<(), Refusal> {
    arguments.finish().map_err(|refusal| {
        let what = refusal.message.split(" is no argument").next();
        let what = what.unwrap_or_default();
        Refusal::invalid(format!("{what} is no argument of this route"))
    })
}

/// Parses an address from an operator: an IP address, or the hash from a list.
fn address_of(http: &Http, value: &Value) -> Result<Address, Refusal> {
    let text = value.as_str().unwrap_or_default();
    if let Ok(ip) = text.parse::<IpAddr>() {
        return Ok(http.service.address(ip));
    }
    let hash = u64::from_str_radix(text, 16).ok().map(Address);
    hash.filter(|_| text.len() == 16).ok_or_else(|| {
        Refusal::invalid(
            "`address` must be an IP address, or 16 hexadecimal digits as /admin/participants and \
             /admin/bans list it"
                .into(),
        )
    })
}
