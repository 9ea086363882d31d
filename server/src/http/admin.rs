//! `/admin/…`: the views of operators, which are counts and lists in pages, and their actions.
//!
//! The core knows addresses only as hashes. A mute or a ban of an address, and its end, take the
//! address itself or the hash from the lists of participants and of bans.

mod acts;

use std::time::Duration;

use axum::Router;
use axum::extract::{FromRequestParts, RawQuery, State};
use axum::http::request::Parts;
use axum::response::Response;
use axum::routing::get;
use chat_core::{
    Address, Answer, Ban, BreakKind, Hub, Measure, MeasurePlace, MeasureTarget, ParticipantView,
    Reject, Report, RoomId, SecretHash, StickMove, Time, TimerKind, UserId,
};
use serde_json::{Value, json};
use server_chat::refusal::Refusal;
use server_chat::wire::{User, past, presence, timestamp};

use super::views::{Part, look, part, room, shown};
use super::{Http, Served};
use crate::guard::{Fault, HttpError, Operator};
use acts::missing;

/// The most items of a list in one answer.
const LISTED: usize = 500;

/// The most messages of each room that are shown beside a report.
const CONTEXT: usize = 20;

/// How long figures are cached: some of them need a walk over the whole state.
const KEPT: Duration = Duration::from_secs(5);

async fn overview(_: Operator, State(http): State<Http>) -> Response {
    let made = look(&http, |node| {
        let counts = node.hub().counts();
        let counters = node.hub().counters();
        let sizes = node.sizes();
        let sizes = sizes.iter().map(|one| {
            let size = json!({ "size": one.size, "limit": one.limit });
            (one.name.into(), size)
        });
        let fired = TimerKind::ALL.iter();
        let fired = fired.map(|kind| (kind.name().into(), counters.fired(*kind).into()));
        let moves = StickMove::ALL.iter();
        let moves = moves.map(|how| (how.name().into(), counters.moved(*how).into()));
        let breaks = BreakKind::ALL.iter();
        let breaks = breaks.map(|kind| (kind.name().into(), counters.breaks(*kind).into()));
        json!({
            "participants": counts.participants,
            "rooms": counts.rooms,
            "waiting": counts.waiting,
            "breaks": Value::Object(breaks.collect()),
            "boss_alerts": counters.alerts(),
            "breaks_held": counters.held(),
            "sizes": Value::Object(sizes.collect()),
            "retries_answered_from_memory": counters.recalled(),
            "timers_fired": Value::Object(fired.collect()),
            "stick_moves": Value::Object(moves.collect()),
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
    let others = acts::routes()
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
    let view = look(&http, move |node| list(node.hub(), &part, now)).await;
    Ok(shown(&http, view))
}

fn participants(hub: &Hub, part: &Part, _: Time) -> Value {
    let found = hub.participants(part.after.as_deref(), part.limit);
    let shown = found.map(|view| (participant(hub, &view), view.who.name.to_string()));
    page("participants", shown, part)
}

/// A page with these items, each with its place, and the place after which the next page begins.
fn page(name: &str, items: impl Iterator<Item = (Value, String)>, part: &Part) -> Value {
    let (shown, places): (Vec<_>, Vec<_>) = items.unzip();
    let next = places.last().filter(|_| shown.len() >= part.limit);
    json!({ name: shown, "next": next })
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
        "presence": presence(view.presence),
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
    let shown = found.map(|view| (room(hub, &view, now), view.name.to_string()));
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
        let hub = node.hub();
        let user = hub.user_by_public_id(&id)?;
        let rooms: Vec<_> = hub
            .rooms_of(user)
            .iter()
            .filter_map(|room| said_in(hub, user, *room))
            .collect();
        Some(json!({ "rooms": rooms }).to_string())
    });
    match found.await {
        Some(None) => Err(Refusal::from(Reject::UserNotFound).into()),
        view => Ok(shown(&http, view.flatten().map(Into::into))),
    }
}

/// The last messages of a room, as this member sees them.
fn said_in(hub: &Hub, user: UserId, room: RoomId) -> Option<Value> {
    let Answer::History { messages, .. } =
        hub.read_history(user, Some(room), None, CONTEXT).ok()?
    else {
        return None;
    };
    Some(json!({
        "room_id": room.to_string(),
        "name": hub.room_name(room),
        "messages": past(&messages, user, false),
    }))
}

fn bans(hub: &Hub, part: &Part, _: Time) -> Value {
    let after = part.after.as_deref().map(place_of);
    let found = hub.kept(after.as_ref()).take(part.limit);
    let shown = found.map(|(kept, ban)| (banned(kept, ban), shown_place(&kept.place())));
    page("bans", shown, part)
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

/// Rejects all requests except those of operators.
impl<S: Sync> FromRequestParts<S> for Operator {
    type Rejection = HttpError;

    async fn from_request_parts(head: &mut Parts, _: &S) -> Result<Self, HttpError> {
        let operator = head.extensions.get::<Self>().cloned();
        operator.ok_or_else(|| Fault::OperatorRequired.into())
    }
}
