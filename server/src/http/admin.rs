//! `/admin/…`: the views of operators, which are counts and lists in pages, and their actions.
//! Every action, even a refused one, is a journal entry with the operator's name, and is logged. Every
//! one but `unmute` and `unban` needs a reason.
//!
//! The core knows addresses only as hashes. A mute or a ban of an address, and its end, take the
//! address itself or the hash from the lists of participants and of bans.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{RawQuery, State};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use chat_core::{
    Address, Ban, BreakKind, Call, Hub, Measure, MeasurePlace, MeasureTarget, Operate,
    ParticipantView, Reject, Reply, Report, Response as Outcome, RoomId, SecretHash, StickMove,
    Time, TimerKind, UserId,
};
use serde_json::{Map, Value, json};
use server_chat::refusal::Refusal;
use server_chat::tools::{Arguments, Tool};
use server_chat::view::View;
use server_chat::wire::{User, past, timestamp};

use super::chat::{PostedCall, ok};
use super::views::{Part, look, page, part, room, shown};
use super::{Http, Served};
use crate::guard::{HttpError, Operator};

/// The most items of a list in one answer.
const LISTED: usize = 500;

/// The most messages of each room that are shown beside a report.
const CONTEXT: usize = 20;

/// How long figures are cached: some of them need a walk over the whole state.
const KEPT: Duration = Duration::from_secs(5);

async fn overview(_: Operator, State(http): State<Http>) -> Served {
    let made = look(&http, |node| {
        let counts = node.hub.counts();
        let counters = node.hub.counters();
        let sizes = node.sizes();
        let sizes = sizes.iter().map(|one| {
            let size = json!({ "size": one.size, "limit": one.limit });
            (one.name.into(), size)
        });
        let by_name = |names: &[&str], counts: &[u64]| {
            let counts = names.iter().zip(counts);
            let named = counts.map(|(name, count)| ((*name).into(), json!(count)));
            Value::Object(named.collect())
        };
        json!({
            "participants": counts.participants,
            "rooms": counts.rooms,
            "waiting": counts.waiting,
            "breaks": by_name(BreakKind::NAMES, &counters.breaks),
            "boss_alerts": counters.alerts,
            "breaks_held": counters.held,
            "sizes": Value::Object(sizes.collect()),
            "retries_answered_from_memory": counters.recalled,
            "timers_fired": by_name(TimerKind::NAMES, &counters.fired),
            "stick_moves": by_name(StickMove::NAMES, &counters.moves),
        })
    });
    let view = http.views.admin.get(KEPT, made).await;
    shown(&http, view)
}

/// Makes a page of a list: the part of it that the query names.
type List = fn(&Hub, &Part, Time) -> Value;

/// The routes below `/admin`.
pub(super) fn routes() -> Router<Http> {
    let lists: [(&str, List); 4] = [
        ("/participants", participants),
        ("/rooms", rooms),
        ("/reports", reports),
        ("/bans", bans),
    ];
    let others = act_routes()
        .route("/overview", get(overview))
        .route("/context", get(context));
    lists.into_iter().fold(others, |router, (path, list)| {
        let serve = move |operator, http, query| listed(operator, http, query, list);
        router.route(path, get(serve))
    })
}

async fn listed(
    _: Operator,
    State(http): State<Http>,
    RawQuery(query): RawQuery,
    list: List,
) -> Served {
    let now = http.service.node().now();
    let part = part(query.as_deref(), LISTED)?;
    let view = look(&http, move |node| list(node.hub, &part, now)).await;
    shown(&http, view)
}

fn participants(hub: &Hub, part: &Part, _: Time) -> Value {
    let found = hub.participants(part.after.as_deref(), part.limit);
    let shown = found.map(|view| (Some(participant(hub, &view)), view.who.name.to_string()));
    page("participants", shown, part)
}

fn participant(hub: &Hub, view: &ParticipantView) -> Value {
    let user = User::from(&*view.who);
    let named = view.rooms.iter().filter_map(|room| {
        let name = hub.room_name(*room)?;
        Some((room.to_string(), name.into()))
    });
    json!({
        "user_id": user.user_id,
        "display_name": user.display_name,
        "presence": view.presence.name(),
        "streams": view.streams,
        "rooms": view.rooms,
        "room_names": Value::Object(named.collect()),
        "waiting_since": view.waiting_since.map(timestamp),
        "muted": view.is_muted,
        "address": shown_address(view.address),
    })
}

fn rooms(hub: &Hub, part: &Part, now: Time) -> Value {
    let found = hub.named_rooms(part.after.as_deref(), part.limit);
    let shown = found.map(|view| (Some(room(hub, &view, now)), view.name.to_string()));
    page("rooms", shown, part)
}

fn reports(hub: &Hub, part: &Part, _: Time) -> Value {
    let all = hub.reports().count();
    let newest = hub.reports().skip(all.saturating_sub(part.limit));
    let mut shown: Vec<_> = newest.map(|one| report(hub, one)).collect();
    shown.reverse();
    json!({ "reports": shown, "kept": all })
}

fn report(hub: &Hub, report: &Report) -> Value {
    // Of a participant whose registration has ended, only the number is known.
    let who = |user: UserId| match hub.who_is(user) {
        Some(who) => json!(User::from(&**who)),
        None => json!({ "user_id": user.to_string() }),
    };
    json!({
        "at": timestamp(report.at),
        "by": who(report.by),
        "about": who(report.about),
        "reason": report.reason,
    })
}

/// The last messages of the rooms that a participant is in, for those who judge a report.
async fn context(_: Operator, State(http): State<Http>, RawQuery(query): RawQuery) -> Served {
    let id = form_urlencoded::parse(query.as_deref().unwrap_or_default().as_bytes())
        .find(|(name, _)| name == "user_id")
        .map(|(_, id)| id.into_owned());
    let id = id.ok_or_else(|| missing("user_id"))?;
    let found = http.service.node().look(move |node| {
        let hub = node.hub;
        let user = hub.user_by_public_id(&id)?;
        let rooms: Vec<_> = hub
            .rooms_of(user)
            .iter()
            .map(|room| said_in(hub, user, *room))
            .collect();
        Some(json!({ "rooms": rooms }).to_string())
    });
    match found.await {
        Ok(None) => Err(Refusal::from(Reject::UserNotFound).into()),
        view => shown(&http, view.ok().flatten().map(Into::into)),
    }
}

/// The last messages of a room, as this member sees them.
fn said_in(hub: &Hub, user: UserId, room: RoomId) -> Value {
    let (messages, _) = hub.read_history(user, room, None, CONTEXT);
    json!({
        "room_id": room.to_string(),
        "name": hub.room_name(room),
        "messages": past(&messages, user, false),
    })
}

fn bans(hub: &Hub, part: &Part, _: Time) -> Value {
    let after = part.after.as_deref().map(place_of);
    let found = hub.kept(after.as_ref()).take(part.limit);
    let shown = found.map(|(place, kept, ban)| (Some(banned(&kept, ban)), shown_place(&place)));
    page("bans", shown, part)
}

fn banned(kept: &MeasureTarget, ban: &Ban) -> Value {
    let measure = match ban.measure {
        Measure::Mute => "mute",
        Measure::Ban => "ban",
    };
    let (what, which) = match kept {
        MeasureTarget::Name(shown) => ("name", json!(shown)),
        MeasureTarget::Handle(owner) => ("handle_of", json!(User::from(&**owner))),
        MeasureTarget::Address(address) => ("address", json!(shown_address(*address))),
    };
    json!({
        what: which,
        "measure": measure,
        "at": timestamp(ban.at),
        "by": ban.by,
        "reason": ban.reason,
    })
}

/// The place after which a list continues, as a text for [`place_of`].
fn shown_place(place: &MeasurePlace) -> String {
    match place {
        MeasurePlace::Name(folded) => format!("name {folded}"),
        MeasurePlace::Handle(SecretHash(hash)) => {
            format!("handle {:032x}", u128::from_be_bytes(*hash))
        }
        MeasurePlace::Address(address) => format!("address {}", shown_address(*address)),
    }
}

/// Parses the place in a text. An invalid text counts as a name, because every text has a place in
/// that list.
fn place_of(text: &str) -> MeasurePlace {
    let (kind, which) = text.split_once(' ').unwrap_or_default();
    let handle = || {
        Some(SecretHash(
            u128::from_str_radix(which, 16).ok()?.to_be_bytes(),
        ))
    };
    let address = || Some(Address(u64::from_str_radix(which, 16).ok()?));
    let found = match kind {
        "handle" => handle().map(MeasurePlace::Handle),
        "address" => address().map(MeasurePlace::Address),
        "name" => Some(MeasurePlace::Name(which.into())),
        _ => None,
    };
    found.unwrap_or_else(|| MeasurePlace::Name(text.into()))
}

fn shown_address(address: Address) -> String {
    format!("{:016x}", address.0)
}

/// The log target of operators' actions.
const LOG: &str = "talking_stick::operators";

/// How an act names a participant, or another target.
const USER: &str = "say whom: by `user_id`, or by `name`";
const USER_OR_ADDRESS: &str = "say whom: by `user_id`, by `name`, or by `address`";
const NAME_OR_ADDRESS: &str = "say whom: by `name`, or by `address`";
const MUTED_USER: &str = "say whom: by `user_id`, or by `name`; for an address, call /admin/unban";

/// The most characters of an argument in the log.
const MAX_TOLD: usize = 200;

chat_core::listed! {
    /// An act of operators, with the name of its route.
    Deed {
        Mute "mute",
        Unmute "unmute",
        Kick "kick",
        Close "close",
        Ban "ban",
        Unban "unban",
    }
}

/// The routes of all acts.
fn act_routes() -> Router<Http> {
    Deed::ALL.iter().fold(Router::new(), |routes, deed| {
        let serve = move |operator, http, posted| deed.perform(operator, http, posted);
        routes.route(&format!("/{}", deed.name()), post(serve))
    })
}

impl Deed {
    /// Performs the act, and logs it: the operator, the action, its subject, and the operator's reason.
    async fn perform(
        self,
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
        let (what, status) = (self.name(), answer.status().as_u16());
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
    let call = Call::Operate { operator, act };
    match http.service.node().call(from, call).await.outcome {
        Ok(Outcome::Done(Reply::Lifted { found })) => {
            Ok(json!({ "success": true, "lifted": found }))
        }
        Ok(_) => Ok(json!({ "success": true })),
        // The sentence of the core is for the participant.
        Err(reject @ Reject::NotInRoom) => Err(Refusal {
            message: "That participant is not in that room".into(),
            ..reject.into()
        }),
        Err(reject) => Err(reject.into()),
    }
}

/// The participant that the arguments name. A call without one is refused with `how`.
async fn user(http: &Http, given: &mut Arguments, how: &str) -> Result<UserId, Refusal> {
    let whom = (given.text("user_id")?, given.text("name")?);
    if whom.0.is_some() == whom.1.is_some() {
        return Err(Refusal::invalid(how.into()));
    }
    let find = move |node: &View<'_>| match whom {
        (Some(id), _) => node.hub.user_by_public_id(&id),
        (None, name) => node.hub.user_by_name(&name?),
    };
    // Nobody has the number 0: the core then refuses with the right code.
    let found = http.service.node().look(find).await.ok().flatten();
    Ok(found.unwrap_or(UserId(0)))
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
