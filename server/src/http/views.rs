//! Views for visitors: participants, rooms, and the number of waiters; and whether the process runs
//! and accepts calls.
//!
//! Each view costs the driver a walk over its content. So its size is bounded. The overview is cached
//! for a second; the names are always those of now, and made for one request at a time.

use std::time::Duration;

use axum::body::Bytes;
use axum::extract::{RawQuery, State};
use axum::http::StatusCode;
use axum::response::Response;
use chat_core::config::StickRule;
use chat_core::{Attendance, Hub, Reject, RoomView, Time};
use serde_json::{Value, json};
use server_chat::refusal::Refusal;
use server_chat::view::View;
use server_chat::wire::{User, timestamp};
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};

use super::chat::ok;
use super::{Http, Served, invalid};
use crate::guard::{Fault, HttpError, written};

/// The largest number of names in an answer of `/users`.
const NAMES: usize = 1_000;

/// The largest numbers of participants and of rooms in `/overview`.
const SHOWN: usize = 200;

/// The largest length in bytes of the name after which a list continues. A folded name is shorter,
/// and folding a longer text would take the driver milliseconds.
const MAX_AFTER: usize = 1_024;

/// How long a view is cached.
pub(super) const KEPT: Duration = Duration::from_secs(1);

/// The time limit for the node's answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// How long the node's answer is cached.
const READY_KEPT: Duration = Duration::from_millis(250);

/// The state of the views.
#[derive(Debug, Default)]
pub(super) struct Views {
    overview: Kept,
    ready: Kept<Option<Reject>>,
    pub(super) admin: Kept,
    /// Held while names are listed.
    turn: Mutex<()>,
}

/// An answer that is cached for a time.
#[derive(Debug, Default)]
pub(super) struct Kept<T = Bytes>(Mutex<Option<(Instant, T)>>);

impl<T: Clone> Kept<T> {
    /// The cached answer, or a new one if it is too old. Concurrent requests wait for that one.
    /// None if it cannot be made now.
    pub(super) async fn get<F>(&self, age: Duration, make: F) -> Option<T>
    where
        F: Future<Output = Option<T>>,
    {
        let mut kept = self.0.lock().await;
        if let Some((at, answer)) = &*kept
            && at.elapsed() < age
        {
            return Some(answer.clone());
        }
        let answer = make.await?;
        *kept = Some((Instant::now(), answer.clone()));
        Some(answer)
    }
}

/// The view, or the refusal `overloaded`.
pub(super) fn shown(http: &Http, view: Option<Bytes>) -> Served {
    match view {
        Some(bytes) => Ok(written(StatusCode::OK, bytes.into())),
        None if http.options.closing.is_cancelled() => Err(Fault::ShuttingDown.into()),
        None => Err(Fault::Overloaded.into()),
    }
}

/// A view made by the driver.
pub(super) async fn look(
    http: &Http,
    view: impl FnOnce(&View<'_>) -> Value + Send + 'static,
) -> Option<Bytes> {
    let value = http.service.node().look(view).await.ok()?;
    Some(value.to_string().into())
}

/// The requested part of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part {
    /// The place after which it starts.
    pub(super) after: Option<String>,
    /// The largest number of elements.
    pub(super) limit: usize,
}

/// Parses the page of a list from a query.
pub(super) fn part(query: Option<&str>, most: usize) -> Result<Part, HttpError> {
    let mut part = Part {
        after: None,
        limit: most,
    };
    for (name, value) in form_urlencoded::parse(query.unwrap_or_default().as_bytes()) {
        let limit = value
            .parse()
            .ok()
            .filter(|limit| (1..=most).contains(limit));
        match (&*name, limit) {
            ("after", _) if value.len() > MAX_AFTER => {
                return Err(invalid("`after` must be `next` of the answer before"));
            }
            ("after", _) => part.after = Some(value.into_owned()),
            ("limit", Some(limit)) => part.limit = limit,
            ("limit", None) => {
                let why = format!("`limit` must be an integer from 1 to {most}");
                return Err(invalid(&why));
            }
            _ => return Err(invalid("the query of this route takes `after` and `limit`")),
        }
    }
    Ok(part)
}

/// `GET /users`: the names of present participants.
pub(super) async fn users(State(http): State<Http>, RawQuery(query): RawQuery) -> Served {
    let part = part(query.as_deref(), NAMES)?;
    let _turn = http.views.turn.lock().await;
    let view = look(&http, move |node| names(node, &part)).await;
    shown(&http, view)
}

fn names(node: &View<'_>, part: &Part) -> Value {
    let found = node.hub.participants(part.after.as_deref(), part.limit);
    let named = found.map(|view| {
        let name = view.who.name.to_string();
        // Absent participants are not shown, but the next part starts after them.
        let shown = (view.presence != Attendance::Away).then(|| name.as_str().into());
        (shown, name)
    });
    page("users", named, part)
}

/// A page with these items, each with its place, and the place after which the next page begins.
pub(super) fn page(
    name: &str,
    items: impl Iterator<Item = (Option<Value>, String)>,
    part: &Part,
) -> Value {
    let (shown, places): (Vec<_>, Vec<_>) = items.unzip();
    let next = places.last().filter(|_| places.len() >= part.limit);
    json!({ name: shown.into_iter().flatten().collect::<Value>(), "next": next })
}

/// `GET /overview`: the summary for visitors.
pub(super) async fn overview(State(http): State<Http>) -> Served {
    let now = http.service.node().now();
    let operators = http.options.operators;
    let made = look(&http, move |node| {
        let hub = node.hub;
        let counts = hub.counts();
        let users: Vec<_> = hub
            .participants(None, SHOWN)
            .map(|view| {
                let user = User::from(&*view.who);
                let mood = hub.mood(view.who.id, now);
                json!({
                    "user_id": user.user_id,
                    "display_name": user.display_name,
                    "presence": view.presence.name(),
                    "waiting_seconds": view.waiting_since.map(|since| now.since(since).as_secs()),
                    "stress_level": mood.map(|(stress, _)| stress),
                    "boss_alert_level": mood.map(|(_, boss_alert)| boss_alert),
                })
            })
            .collect();
        let rooms: Vec<_> = hub
            .named_rooms(None, SHOWN)
            .map(|view| room(hub, &view, now))
            .collect();
        json!({
            "at": timestamp(now),
            "participants": counts.participants,
            "rooms": counts.rooms,
            "waiting": counts.waiting,
            "stick": match hub.config().stick {
                StickRule::Required => "required",
                StickRule::Optional => "optional",
            },
            "max_message": hub.config().max_message,
            "operators": operators,
            "users": users,
            "named_rooms": rooms,
        })
    });
    let view = http.views.overview.get(KEPT, made).await;
    shown(&http, view)
}

/// A named room with its stick.
pub(super) fn room(hub: &Hub, view: &RoomView, now: Time) -> Value {
    let user = |user| Some(User::from(&**hub.who_is(user)?));
    let holder = view.holder.and_then(|(_, holder)| user(holder));
    let line: Vec<_> = view.next_in_line.iter().copied().filter_map(user).collect();
    json!({
        "room_id": view.id.to_string(),
        "name": view.name,
        "members": view.members,
        "holder": holder,
        "epoch": view.holder.map(|(epoch, _)| epoch.0),
        "lease_expires_in_seconds": view.lease_until.map(|until| until.since(now).as_secs_ceil()),
        "stick_line": view.stick_line,
        "next_in_line": line,
    })
}

/// `GET /healthz`: the process answers.
pub(super) async fn healthz() -> Response {
    ok(&json!({ "status": "ok" }))
}

/// `GET /readyz`: the node answers, the journal can be written, and the server is not shutting down.
pub(super) async fn readyz(State(http): State<Http>) -> Served {
    if http.options.closing.is_cancelled() {
        return Err(Fault::ShuttingDown.into());
    }
    let node = http.service.node();
    let asked = async {
        let now = node.now();
        let answer = node.look(move |node| node.check_storage(now).err());
        timeout(PATIENCE, answer).await.ok()?.ok()
    };
    match http.views.ready.get(READY_KEPT, asked).await {
        Some(None) => Ok(ok(&json!({ "status": "ready" }))),
        Some(Some(reject)) => Err(Refusal::from(reject).into()),
        None => shown(&http, None),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_view_is_made_once_for_all_who_ask_within_its_time() {
        let kept = Kept::default();
        let made = AtomicU32::new(0);
        let make = || async {
            made.fetch_add(1, Ordering::Relaxed);
            Some(Bytes::from_static(b"x"))
        };
        for _ in 0..3 {
            assert!(kept.get(KEPT, make()).await.is_some());
        }
        assert_eq!(made.load(Ordering::Relaxed), 1);
        tokio::time::advance(KEPT).await;
        assert!(kept.get(KEPT, make()).await.is_some());
        assert_eq!(made.load(Ordering::Relaxed), 2);
    }

    #[test]
    fn a_part_is_bounded() {
        let of = |query| part(Some(query), 100).map_err(|refused| refused.0.message.clone());
        let expected = Part {
            after: Some("Ann B".into()),
            limit: 5,
        };
        assert_eq!(of("after=Ann+B&limit=5"), Ok(expected));
        for wrong in ["limit=0", "limit=101", "limit=x", "limit="] {
            assert!(of(wrong).unwrap_err().contains("from 1 to 100"), "{wrong}");
        }
        let longest = format!("after={}", "x".repeat(MAX_AFTER));
        assert!(of(longest.leak()).is_ok());
        let longer = format!("after={}", "x".repeat(MAX_AFTER + 1));
        assert!(of(longer.leak()).unwrap_err().contains("`after`"));
        assert!(of("page=2").unwrap_err().contains("`after` and `limit`"));
    }
}
