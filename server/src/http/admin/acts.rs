//! The actions of operators. Every action, even a refused one, is a journal entry with the
//! operator's name and a reason, and is logged.

use std::net::IpAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use chat_core::{Address, Call, Operate, Reject, Reply, Response as Outcome, RoomId, UserId};
use serde_json::{Map, Value, json};
use server_chat::driver::Request as NodeRequest;
use server_chat::refusal::Refusal;
use server_chat::tools::{Arguments, Tool};
use server_chat::view::View;

use super::super::Http;
use super::super::chat::{PostedCall, ok};
use super::shown_address;
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

/// An act of operators.
#[derive(Clone, Copy)]
enum Deed {
    Mute,
    Unmute,
    Kick,
    Close,
    Ban,
    Unban,
}

/// The routes of all acts.
pub(super) fn routes() -> Router<Http> {
    let acts = [
        ("mute", Deed::Mute),
        ("unmute", Deed::Unmute),
        ("kick", Deed::Kick),
        ("close", Deed::Close),
        ("ban", Deed::Ban),
        ("unban", Deed::Unban),
    ];
    let mut routes = Router::new();
    for (name, deed) in acts {
        let serve = move |operator, http, posted| deed.perform(name, operator, http, posted);
        routes = routes.route(&format!("/{name}"), post(serve));
    }
    routes
}

impl Deed {
    /// Performs the act, and logs it: the operator, the action, its subject, and the operator's reason.
    async fn perform(
        self,
        what: &'static str,
        Operator(operator): Operator,
        State(http): State<Http>,
        posted: PostedCall,
    ) -> Response {
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
        let whom: Vec<_> = whom.into_iter().filter_map(named).collect();
        let (whom, why) = (whom.join(", "), text("reason").unwrap_or_default());
        let done = match self.read(&http, posted.arguments).await {
            Ok(act) => operate(&http, &operator, posted.origin.address, act).await,
            Err(refusal) => Err(refusal),
        };
        let (answer, told) = match done {
            Ok(answer) if answer["lifted"] == false => {
                (ok(&answer), "an operator's act lifted nothing")
            }
            Ok(answer) => (ok(&answer), "an operator acted"),
            Err(refusal) => {
                let refused = HttpError::from(refusal).into_response();
                (refused, "an operator's act is refused")
            }
        };
        let status = answer.status().as_u16();
        tracing::info!(target: LOG, %operator, what, whom, why, status, "{told}");
        answer
    }

    /// The act with these arguments.
    async fn read(self, http: &Http, mut values: Map<String, Value>) -> Result<Operate, Refusal> {
        let address = match self {
            Self::Mute | Self::Ban | Self::Unban => values.remove("address"),
            Self::Unmute | Self::Kick | Self::Close => None,
        };
        let address = address.map(|address| address_of(http, &address));
        let mut given = Arguments::new(Tool::ReportUser, values);
        let act = match (self, address.transpose()?) {
            (Self::Mute, Some(address)) => Operate::MuteAddress {
                address,
                reason: needed(&mut given, "reason")?,
            },
            (Self::Mute, None) => Operate::Mute {
                user: user(http, &mut given, USER_OR_ADDRESS).await?,
                reason: needed(&mut given, "reason")?,
            },
            (Self::Unmute, _) => Operate::Unmute {
                user: user(http, &mut given, MUTED_USER).await?,
            },
            (Self::Kick, _) => Operate::Kick {
                user: user(http, &mut given, USER).await?,
                room: needed_room(&mut given)?,
                reason: needed(&mut given, "reason")?,
            },
            (Self::Close, _) => Operate::Close {
                room: needed_room(&mut given)?,
                reason: needed(&mut given, "reason")?,
            },
            (Self::Ban, Some(address)) => Operate::BanAddress {
                address,
                reason: needed(&mut given, "reason")?,
            },
            (Self::Ban, None) => Operate::BanUser {
                user: user(http, &mut given, USER_OR_ADDRESS).await?,
                reason: needed(&mut given, "reason")?,
            },
            (Self::Unban, Some(address)) => Operate::UnbanAddress { address },
            (Self::Unban, None) => {
                let name = given.text("name")?;
                let name = name.ok_or_else(|| Refusal::invalid(NAME_OR_ADDRESS.into()))?;
                Operate::Unban { name }
            }
        };
        finish(given)?;
        Ok(act)
    }
}

/// The answer to an act.
async fn operate(
    http: &Http,
    operator: &Arc<str>,
    from: Address,
    act: Operate,
) -> Result<Value, Refusal> {
    let operator = Arc::clone(operator);
    let request = NodeRequest::Call(Call::Operate { operator, act });
    match http.service.node().call(from, request).await.outcome {
        Ok(Outcome::Done(Reply::Lifted { found })) => {
            Ok(json!({ "success": true, "lifted": found }))
        }
        Ok(_) => Ok(json!({ "success": true })),
        Err(reject) => {
            let is_elsewhere = matches!(reject, Reject::NotInRoom);
            let mut refusal = Refusal::from(reject);
            if is_elsewhere {
                // The sentence of the core is for the participant.
                refusal.message = "That participant is not in that room".into();
            }
            Err(refusal)
        }
    }
}

/// The participant that the arguments name. A call without one is refused with `how`.
async fn user(http: &Http, given: &mut Arguments, how: &str) -> Result<UserId, Refusal> {
    let whom = (given.text("user_id")?, given.text("name")?);
    if whom.0.is_some() == whom.1.is_some() {
        return Err(Refusal::invalid(how.into()));
    }
    let find = move |node: &View<'_>| match whom {
        (Some(id), _) => node.hub().user_by_public_id(&id),
        (None, name) => node.hub().user_by_name(&name?),
    };
    // Nobody has the number 0: the core then refuses with the right code.
    let found = http.service.node().look(find).await.flatten();
    Ok(found.unwrap_or(UserId(0)))
}

fn needed_room(arguments: &mut Arguments) -> Result<RoomId, Refusal> {
    arguments.room()?.ok_or_else(|| missing("room_id"))
}

fn needed(arguments: &mut Arguments, name: &'static str) -> Result<Arc<str>, Refusal> {
    arguments.text(name)?.ok_or_else(|| missing(name))
}

pub(super) fn missing(name: &str) -> Refusal {
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
