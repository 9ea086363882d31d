//! Messages of the past: what `history` adds to the core's part, and `search`.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use chat_core::{Answer, Body, Event, Read, Reject, Response, RoomId, RoomSeq, UserId};
use server_storage::history::{History, Match, Past, PastError, PastReading, QueryWords};

use super::caller::IdentifiedCaller;
use super::{RequestOrigin, Service, read_call};
use crate::capacity::MAX_WAIT;
use crate::driver::{Answered, CallerContext};
use crate::refusal::Refusal;
use crate::tools::{Ask, Search};

/// The largest number of queries of one read: each finds further hidden senders.
const QUERIES: usize = 32;

/// The work that a search costs at least, in milliseconds.
const LEAST_WORK: u64 = 5;

/// The room, place and limit of a `history` call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Page {
    room: Option<RoomId>,
    before: Option<RoomSeq>,
    limit: usize,
}

impl Page {
    /// The page of this request, if it is `history`.
    pub(super) const fn of(ask: &Ask) -> Option<Self> {
        let Ask::Read(Read::History {
            room,
            before,
            limit,
        }) = ask
        else {
            return None;
        };
        Some(Self {
            room: *room,
            before: *before,
            limit: *limit,
        })
    }
}

/// Messages that a search found, the newest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Matches {
    pub(super) found: Vec<Match>,
    pub(super) more: bool,
}

/// The limits of one answer.
#[derive(Clone, Copy, Debug)]
struct PageLimits {
    messages: usize,
    bytes: usize,
}

impl Service {
    /// Adds older messages to the core's page, as far as the caller was there for them. A former
    /// member receives its part of a room that it names.
    pub(super) async fn with_past(
        &self,
        page: Page,
        mut answered: Answered,
    ) -> Result<Answered, Refusal> {
        let (Some(history), Some(user)) = (&self.history, user(&answered.context)) else {
            return Ok(answered);
        };
        let (room, kept) = match (&answered.outcome, page.room) {
            (Ok(Response::Read(Answer::History { more: true, .. })), _) => return Ok(answered),
            (Ok(Response::Read(Answer::History { room, messages, .. })), _) => {
                (*room, messages.clone())
            }
            (Err(Reject::NotInRoom | Reject::ChatEnded | Reject::RoomNotFound), Some(room)) => {
                if !history.was_in(user, room).await.map_err(unread)? {
                    return Ok(answered);
                }
                (room, Vec::new())
            }
            (Ok(_) | Err(_), _) => return Ok(answered),
        };
        let limits = self.page_limits().await?;
        let reading = PastReading {
            user,
            hidden: BTreeSet::new(),
            limit: page.limit.min(limits.messages).saturating_sub(kept.len()),
            bytes: limits.bytes,
            used: kept.iter().map(|event| length(event)).sum(),
        };
        let before = kept.first().map(|event| event.room_seq).or(page.before);
        let past = self.room_past(history, (room, before), reading).await;
        let Past { mut messages, more } = match past {
            // The next page asks again.
            Err(_) if !kept.is_empty() => Past {
                messages: Vec::new(),
                more: true,
            },
            past => past?,
        };
        messages.reverse();
        messages.extend(kept);
        answered.outcome = Ok(Response::Read(Answer::History {
            room,
            messages,
            more,
        }));
        Ok(answered)
    }

    async fn room_past(
        &self,
        history: &History,
        (room, before): (RoomId, Option<RoomSeq>),
        mut reading: PastReading,
    ) -> Result<Past, Refusal> {
        for _ in 0..QUERIES {
            let read = history.room(room, before, reading.clone()).await;
            let past = read.map_err(unread)?;
            if !self.hide(&mut reading, past.messages.iter()).await? {
                return Ok(past);
            }
        }
        Err(unread(PastError::Slow))
    }

    /// Searches what the caller was there for.
    pub(super) async fn search(
        &self,
        known: &IdentifiedCaller,
        search: &Search,
        origin: &RequestOrigin,
    ) -> (Result<Matches, Refusal>, Option<CallerContext>) {
        let rate = &self.capacity.searches;
        let mut patience = MAX_WAIT;
        if let Err(too_fast) = rate.spend(origin.source, LEAST_WORK, &mut patience).await {
            return (Err(too_fast.into()), None);
        }
        // A read of the node makes the caller present, counts against its rate, and says who it is.
        let answered = self
            .call(origin.address, read_call(&known.caller, Read::Mood))
            .await;
        let Answered { outcome, context } = answered;
        if let Err(reject) = outcome {
            return (Err(reject.into()), Some(context));
        }
        let began = Instant::now();
        let found = match user(&context) {
            Some(user) => self.found(user, search).await,
            None => Err(Reject::UnknownHandle.into()),
        };
        // The next search of the source waits if this one took long.
        let _ = rate.book(origin.source, millis(began.elapsed()));
        (found, Some(context))
    }

    async fn found(&self, user: UserId, search: &Search) -> Result<Matches, Refusal> {
        let Some(history) = &self.history else {
            return Err(Refusal::unsearchable());
        };
        let words = QueryWords::new(&search.query).ok_or_else(|| {
            let most = QueryWords::MOST;
            Refusal::invalid(format!(
                "`query` must have 1 to {most} words with a letter or a digit"
            ))
        })?;
        let limits = self.page_limits().await?;
        let mut reading = PastReading {
            user,
            hidden: BTreeSet::new(),
            limit: search.limit.min(limits.messages),
            bytes: limits.bytes,
            used: 0,
        };
        for _ in 0..QUERIES {
            let place = (search.room, search.before);
            let read = history.search(words.clone(), place, reading.clone()).await;
            let (found, more) = read.map_err(unread)?;
            let events = found.iter().map(|found| &found.event);
            if !self.hide(&mut reading, events).await? {
                return Ok(Matches { found, more });
            }
        }
        Err(unread(PastError::Slow))
    }

    /// Adds the senders whom the reader blocked, or who blocked the reader. Returns whether there
    /// are new ones.
    async fn hide<'e>(
        &self,
        reading: &mut PastReading,
        events: impl Iterator<Item = &'e std::sync::Arc<Event>>,
    ) -> Result<bool, Refusal> {
        let senders: BTreeSet<UserId> = events.filter_map(|event| sender(event)).collect();
        let reader = reading.user;
        let hidden = self.node.look(move |node| {
            let blocked = |sender: &UserId| node.hub().blocked(reader, *sender);
            senders.into_iter().filter(blocked).collect::<Vec<_>>()
        });
        let hidden = hidden.await.ok_or_else(|| unread(PastError::Behind))?;
        let is_new = !hidden.is_empty();
        reading.hidden.extend(hidden);
        Ok(is_new)
    }

    async fn page_limits(&self) -> Result<PageLimits, Refusal> {
        let limits = self.node.look(|node| {
            let config = node.hub().config();
            PageLimits {
                messages: config.max_answer as usize,
                bytes: config.max_answer_bytes as usize,
            }
        });
        limits.await.ok_or_else(|| unread(PastError::Behind))
    }
}

fn user(context: &CallerContext) -> Option<UserId> {
    context.me.as_ref().map(|me| me.who.id)
}

fn sender(event: &Event) -> Option<UserId> {
    if let Body::Message { sender, .. } = &event.body {
        return Some(sender.id);
    }
    None
}

fn length(event: &Event) -> usize {
    if let Body::Message { text, .. } = &event.body {
        return text.len();
    }
    0
}

fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

fn unread(why: PastError) -> Refusal {
    let advice = match why {
        PastError::Slow => ": name more words, or a room, or try again later",
        PastError::Behind | PastError::Broken | PastError::Damaged => "; try again later",
    };
    Refusal::overloaded(
        format!("Older messages cannot be read now: {why}{advice}"),
        1_000,
    )
}
