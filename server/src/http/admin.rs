//! `/admin/…`: the views and acts of operators.
//!
//! Every act is an entry of the journal with the operator's name and a reason. It is also logged,
//! even if it is refused. The core knows addresses only as hashes: acts about an address take the
//! address itself, or the hash in the lists of participants and bans.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{FromRequestParts, RawQuery, State};
use axum::http::request::Parts;
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use chat_core::{
    Address, Ban, BreakKind, Call, Hub, Measure, MeasurePlace, MeasureTarget, Muted, Node, Operate,
    ParticipantView, Report, RoomId, SecretHash, StickMove, TimerKind, UserId,
};
use serde_json::{Value, json};

use super::call::Posted;
use super::chat::ok;
use super::views::{Part, look, part, room, shown};
use super::{Http, Shared};
use crate::door::{Fault, Operator, Refused};
use crate::driver::Request as Asked;
use crate::tools::{Arguments, Tool};
use crate::wire::{Refusal, User, presence, timestamp};

/// The largest number of elements in one list.
const LISTED: usize = 500;

/// The log target of operators' acts.
const LOG: &str = "talking_stick::operators";

/// The largest number of characters of an argument in the log.
const MAX_TOLD: usize = 200;

/// How long an overview is cached: parts of it walk the whole state.
const KEPT: Duration = Duration::from_secs(5);

/// The routes below `/admin`.
pub(super) fn routes() -> Router<Arc<Shared>> {
    Router::new()
        .route("/overview", get(overview))
        .route("/participants", get(participants))
        .route("/rooms", get(rooms))
        .route("/reports", get(reports))
        .route("/bans", get(bans))
        .route("/mute", post(mute))
        .route("/unmute", post(unmute))
        .route("/kick", post(kick))
        .route("/close", post(close))
        .route("/ban", post(ban))
        .route("/unban", post(unban))
}

/// Rejects all requests except those of operators.
impl<S: Sync> FromRequestParts<S> for Operator {
    type Rejection = Refused;

    async fn from_request_parts(head: &mut Parts, _: &S) -> Result<Self, Refused> {
        let operator = head.extensions.get::<Self>().cloned();
        operator.ok_or_else(|| Fault::OperatorRequired.into())
    }
}

async fn overview(_: Operator, State(http): State<Http>) -> Response {
    let made = look(&http, |node| {
        let counts = node.hub().counts();
        let figures = node.hub().counters();
        let sizes = node.sizes();
        let sizes = sizes.iter().map(|size| {
            (
                size.name.into(),
                json!({ "size": size.size, "limit": size.limit }),
            )
        });
        let fired = TimerKind::ALL
            .iter()
            .map(|kind| (kind.name().into(), figures.fired(*kind).into()));
        let moves = StickMove::ALL
            .iter()
            .map(|how| (how.name().into(), figures.moved(*how).into()));
        let breaks = BreakKind::ALL
            .iter()
            .map(|kind| (kind.name().into(), figures.breaks(*kind).into()));
        json!({
            "participants": counts.participants,
            "rooms": counts.rooms,
            "waiting": counts.waiting,
            "breaks": Value::Object(breaks.collect()),
            "boss_alerts": figures.alerts(),
            "breaks_held": figures.held(),
            "sizes": Value::Object(sizes.collect()),
            "retries_answered_from_memory": figures.recalled(),
            "timers_fired": Value::Object(fired.collect()),
            "stick_moves": Value::Object(moves.collect()),
        })
    });
    let view = http.views.admin.get(KEPT, made).await;
    shown(&http, view)
}

/// A part of a list, as requested by the query.
async fn listed(
    http: &Http,
    RawQuery(query): RawQuery,
    view: impl FnOnce(&Node, &Part) -> Value + Send + 'static,
) -> Response {
    match part(query.as_deref(), LISTED) {
        Ok(part) => shown(http, look(http, move |node| view(node, &part)).await),
        Err(refused) => refused.into_response(),
    }
}

async fn participants(_: Operator, State(http): State<Http>, query: RawQuery) -> Response {
    listed(&http, query, |node, part| {
        let found: Vec<_> = node
            .hub()
            .participants(part.after.as_deref(), part.limit)
            .collect();
        let next = found.last().filter(|_| found.len() >= part.limit);
        json!({
            "participants": found.iter().map(participant).collect::<Vec<_>>(),
            "next": next.map(|view| &view.who.name),
        })
    })
    .await
}

fn participant(view: &ParticipantView) -> Value {
    let user = User::from(&*view.who);
    json!({
        "user_id": user.user_id,
        "display_name": user.display_name,
        "presence": presence(view.presence),
        "streams": view.streams,
        "rooms": view.rooms.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "waiting_since": view.waiting_since.map(timestamp),
        "muted": view.muted == Muted::Yes,
        "address": shown_address(view.address),
    })
}

async fn rooms(_: Operator, State(http): State<Http>, query: RawQuery) -> Response {
    let now = http.service.node().now();
    listed(&http, query, move |node, part| {
        let hub = node.hub();
        let found: Vec<_> = hub.named_rooms(part.after.as_deref(), part.limit).collect();
        let next = found.last().filter(|_| found.len() >= part.limit);
        json!({
            "rooms": found.iter().map(|view| room(node, view, now)).collect::<Vec<_>>(),
            "next": next.map(|view| &view.name),
        })
    })
    .await
}

async fn reports(_: Operator, State(http): State<Http>, query: RawQuery) -> Response {
    listed(&http, query, |node, part| {
        let hub = node.hub();
        let all = hub.reports().count();
        let newest = hub.reports().skip(all.saturating_sub(part.limit));
        let mut shown: Vec<_> = newest.map(|one| report(hub, one)).collect();
        shown.reverse();
        json!({ "reports": shown, "kept": all })
    })
    .await
}

fn report(hub: &Hub, report: &Report) -> Value {
    // A participant whose registration ended is shown by its id alone.
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

async fn bans(_: Operator, State(http): State<Http>, query: RawQuery) -> Response {
    listed(&http, query, |node, part| {
        let after = part.after.as_deref().map(place_of);
        let found: Vec<_> = node.hub().kept(after.as_ref()).take(part.limit).collect();
        let next = found.last().filter(|_| found.len() >= part.limit);
        json!({
            "bans": found.iter().map(|(kept, ban)| banned(*kept, ban)).collect::<Vec<_>>(),
            "next": next.map(|(kept, _)| shown_place(&kept.place())),
        })
    })
    .await
}

fn banned(kept: MeasureTarget<'_>, ban: &Ban) -> Value {
    let measure = match ban.measure {
        Measure::Mute => "mute",
        Measure::Ban => "ban",
    };
    let (what, which) = match kept {
        MeasureTarget::Name { shown, .. } => ("name", json!(shown)),
        MeasureTarget::Handle { owner, .. } => ("handle_of", json!(User::from(&**owner))),
        MeasureTarget::Address(address) => ("address", json!(shown_address(address))),
    };
    json!({
        what: which,
        "measure": measure,
        "at": timestamp(ban.at),
        "by": ban.by,
        "reason": ban.reason,
    })
}

/// The place at which a list continues, in the form that [`place_of`] parses.
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

async fn mute(operator: Operator, State(http): State<Http>, mut posted: Posted) -> Response {
    let act = Act::of(&http, &operator, "mute", &posted);
    if let Some(address) = posted.arguments.remove("address") {
        let mute = |address, reason| Operate::MuteAddress { address, reason };
        return act.log(about_address(&http, operator, posted, &address, mute).await);
    }
    let done = about(&http, operator, posted, |arguments| {
        let reason = needed(arguments, "reason")?;
        Ok(Box::new(move |user| Operate::Mute { user, reason }))
    });
    act.log(done.await)
}

async fn unmute(operator: Operator, State(http): State<Http>, posted: Posted) -> Response {
    let act = Act::of(&http, &operator, "unmute", &posted);
    let done = about(&http, operator, posted, |_| {
        Ok(Box::new(|user| Operate::Unmute { user }))
    });
    act.log(done.await)
}

async fn kick(operator: Operator, State(http): State<Http>, posted: Posted) -> Response {
    let act = Act::of(&http, &operator, "kick", &posted);
    let done = about(&http, operator, posted, |arguments| {
        let room = needed_room(arguments)?;
        let reason = needed(arguments, "reason")?;
        Ok(Box::new(move |user| Operate::Kick { user, room, reason }))
    });
    act.log(done.await)
}

async fn close(operator: Operator, State(http): State<Http>, posted: Posted) -> Response {
    let act = Act::of(&http, &operator, "close", &posted);
    let mut arguments = Arguments::new(Tool::ReportUser, posted.arguments);
    let read = needed_room(&mut arguments).and_then(|room| {
        let reason = needed(&mut arguments, "reason")?;
        finish(arguments)?;
        Ok(Operate::Close { room, reason })
    });
    act.log(operate(&http, operator, posted.origin.address, read).await)
}

async fn ban(operator: Operator, State(http): State<Http>, mut posted: Posted) -> Response {
    let act = Act::of(&http, &operator, "ban", &posted);
    if let Some(address) = posted.arguments.remove("address") {
        let ban = |address, reason| Operate::BanAddress { address, reason };
        return act.log(about_address(&http, operator, posted, &address, ban).await);
    }
    let done = about(&http, operator, posted, |arguments| {
        let reason = needed(arguments, "reason")?;
        Ok(Box::new(move |user| Operate::BanUser { user, reason }))
    });
    act.log(done.await)
}

/// Performs an act about an address, with a reason.
async fn about_address(
    http: &Http,
    operator: Operator,
    posted: Posted,
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

/// Ends all that is open for an address that was banned. A mute replaces a ban, and an unban lifts
/// it.
fn follow(http: &Http, act: &Operate) {
    match act {
        Operate::BanAddress { address, .. } => http.service.barred().bar(*address),
        Operate::MuteAddress { address, .. } | Operate::UnbanAddress { address } => {
            http.service.barred().admit(*address);
        }
        Operate::Mute { .. }
        | Operate::Unmute { .. }
        | Operate::Kick { .. }
        | Operate::Close { .. }
        | Operate::BanUser { .. }
        | Operate::Unban { .. } => {}
    }
}

async fn unban(operator: Operator, State(http): State<Http>, mut posted: Posted) -> Response {
    let act = Act::of(&http, &operator, "unban", &posted);
    let address = posted.arguments.remove("address");
    let mut arguments = Arguments::new(Tool::ReportUser, posted.arguments);
    let read = match address {
        Some(address) => {
            address_of(&http, &address).map(|address| Operate::UnbanAddress { address })
        }
        None => needed(&mut arguments, "name").map(|name| Operate::Unban { name }),
    };
    let read = read.and_then(|act| finish(arguments).map(|()| act));
    act.log(operate(&http, operator, posted.origin.address, read).await)
}

/// An act in the log: the operator, the act, its target, and the reason.
struct Act {
    operator: Arc<str>,
    what: &'static str,
    whom: Vec<String>,
    why: String,
}

impl Act {
    fn of(http: &Http, operator: &Operator, what: &'static str, posted: &Posted) -> Self {
        let text = |name: &str| {
            let text = posted.arguments.get(name)?.as_str()?;
            // Addresses are logged as in /admin/bans.
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
        let status = answer.status().as_u16();
        tracing::info!(target: LOG, %operator, what, ?whom, ?why, status, "an operator acted");
        answer
    }
}

async fn operate(
    http: &Http,
    Operator(operator): Operator,
    from: Address,
    read: Result<Operate, Refusal>,
) -> Response {
    let act = match read {
        Ok(act) => act,
        Err(refusal) => return Refused::from(refusal).into_response(),
    };
    let asked = Asked::Call(Call::Operate {
        operator,
        act: act.clone(),
    });
    let done = done(http, from, asked).await;
    if done.status().is_success() {
        follow(http, &act);
    }
    done
}

/// The act about a participant, built when its id is known.
type Deed = Box<dyn FnOnce(UserId) -> Operate + Send>;

/// Performs an act about the participant in `user_id` or `name`.
async fn about(
    http: &Http,
    Operator(operator): Operator,
    posted: Posted,
    read: impl FnOnce(&mut Arguments) -> Result<Deed, Refusal>,
) -> Response {
    let mut arguments = Arguments::new(Tool::ReportUser, posted.arguments);
    let read = whom(&mut arguments).and_then(|whom| {
        let deed = read(&mut arguments)?;
        finish(arguments)?;
        Ok((whom, deed))
    });
    let (whom, deed) = match read {
        Ok(read) => read,
        Err(refusal) => return Refused::from(refusal).into_response(),
    };
    let naming = Box::new(move |user| Call::Operate {
        operator,
        act: deed(user),
    });
    let id = match whom {
        Whom::Id(id) => Some(id),
        Whom::Name(name) => id_by_name(http, name).await,
    };
    // No participant has an empty id, so the core answers `user_not_found`.
    let request = Asked::About(id.unwrap_or_default(), naming);
    done(http, posted.origin.address, request).await
}

enum Whom {
    Id(Box<str>),
    Name(Arc<str>),
}

fn whom(arguments: &mut Arguments) -> Result<Whom, Refusal> {
    let (id, name) = (arguments.text("user_id")?, arguments.text("name")?);
    match (id, name) {
        (Some(id), None) => Ok(Whom::Id(id.as_ref().into())),
        (None, Some(name)) => Ok(Whom::Name(name)),
        (Some(_), Some(_)) | (None, None) => Err(Refusal::invalid(
            "say whom: by `user_id`, or by `name`".into(),
        )),
    }
}

async fn id_by_name(http: &Http, name: Arc<str>) -> Option<Box<str>> {
    let find = move |node: &Node| {
        let user = node.hub().user_by_name(&name)?;
        let who = node.hub().who_is(user)?;
        Some(crate::wire::public_id(who).into_boxed_str())
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

/// An address in an operator's request: an IP address, or the hash in lists.
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

async fn done(http: &Http, from: Address, request: Asked) -> Response {
    match http.service.node().call(from, request).await.outcome {
        Ok(_) => ok(&json!({ "success": true })),
        Err(reject) => Refused::from(Refusal::from(reject)).into_response(),
    }
}
