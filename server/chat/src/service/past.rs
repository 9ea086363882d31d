//! Messages of the past: what `history` adds to the core's part, and `search`.

use std::time::{Duration, Instant};

use chat_core::{Answer, Body, Event, Read, Reject, Response, RoomId, RoomSeq, UserId};
use server_storage::history::{Match, Past, PastError, PastReading, QueryWords};

use super::caller::IdentifiedCaller;
use super::{RequestOrigin, Service, read_call};
use crate::capacity::MAX_WAIT;
use crate::driver::{Answered, CallerContext};
use crate::refusal::Refusal;
use crate::tools::{Ask, Search};

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
        let mut reading = self.reading(user, page.limit).await?;
        reading.limit = reading.limit.saturating_sub(kept.len());
        reading.used = kept.iter().map(|event| length(event)).sum();
        let before = kept.first().map(|event| event.room_seq).or(page.before);
        let past = history.room(room, before, reading).await.map_err(unread);
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
        let reading = self.reading(user, search.limit).await?;
        let place = (search.room, search.before);
        let read = history.search(words, place, reading).await;
        let (found, more) = read.map_err(unread)?;
        Ok(Matches { found, more })
    }

    /// The limits of one answer for this reader, with those whom a block hides from it now.
    async fn reading(&self, user: UserId, limit: usize) -> Result<PastReading, Refusal> {
        let reading = self.node.look(move |view| {
            let hub = view.hub();
            PastReading {
                user,
                hidden: hub.hidden_from(user),
                limit: limit.min(hub.config().max_answer as usize),
                bytes: hub.config().max_answer_bytes as usize,
                used: 0,
            }
        });
        reading.await.ok_or_else(|| unread(PastError::Behind))
    }
}

fn user(context: &CallerContext) -> Option<UserId> {
    context.me.as_ref().map(|me| me.who.id)
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
