//! Messages of the past: what `history` adds to the core's part, and `search`.

use std::sync::Arc;
use std::time::Duration;

use chat_core::{Answer, Reject, Response, RoomId, RoomSeq, UserId};
use server_storage::history::{
    History, Past, PastError, PastQuery, PastReading, QueryWords, Timed,
};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::{Done, Service};
use crate::capacity::{MAX_WAIT, Source};
use crate::driver::{AnswerFacts, Answered};
use crate::refusal::Refusal;
use crate::task;
use crate::tools::Search;

/// The work that a read of the archive costs at least, in milliseconds.
const LEAST_WORK: u64 = 5;

impl Service {
    /// Adds older messages to the core's page, as far as the caller was there for them. A former
    /// member receives its part of a room that it names.
    pub(super) async fn add_past(
        &self,
        (room, before, limit): (Option<RoomId>, Option<RoomSeq>, usize),
        answered: &mut Answered,
        source: Source,
    ) -> Result<(), Refusal> {
        let user = answered.context.me.as_ref().map(|me| me.who.id);
        let (Some(history), Some(user)) = (self.history.clone(), user) else {
            return Ok(());
        };
        let (room, kept) = match (&answered.outcome, room) {
            (Ok(Response::Read(Answer::History { more: true, .. })), _) => return Ok(()),
            (Ok(Response::Read(Answer::History { room, messages, .. })), _) => {
                (*room, messages.clone())
            }
            (
                Err(Reject::NotInRoom | Reject::ChatEnded { .. } | Reject::RoomNotFound),
                Some(room),
            ) => (room, Vec::new()),
            _ => return Ok(()),
        };
        let before = kept.first().map(|event| event.room_seq).or(before);
        let before = before.map(|seq| seq.0);
        let query = PastQuery::Room(room);
        let mut reading = self.reading(user, query, before, limit).await?;
        reading.limit = reading.limit.saturating_sub(kept.len());
        let texts = kept.iter().filter_map(|event| event.body.message());
        reading.used = texts.map(|(_, text)| text.len()).sum();
        let past = match self.read_past(source, history, reading).await {
            // The next page asks again.
            Err(_) if !kept.is_empty() => Past {
                next: before,
                ..Past::default()
            },
            past => match past? {
                Some(past) => past,
                None => return Ok(()),
            },
        };
        let mut messages = past.messages;
        messages.reverse();
        messages.extend(kept);
        if let Some(next) = past.next {
            answered.context.more = AnswerFacts::Before(RoomSeq(next));
        }
        answered.outcome = Ok(Response::Read(Answer::History {
            room,
            messages,
            more: past.next.is_some(),
        }));
        Ok(())
    }

    /// Searches what this user was there for.
    pub(super) async fn found(
        &self,
        user: UserId,
        search: &Search,
        source: Source,
    ) -> Result<Done, Refusal> {
        let history = self.history.clone().ok_or_else(|| {
            let message = "This server keeps no past messages to search; history has the last \
                           ones of a room";
            Refusal::new("search_unavailable", message.into())
        })?;
        let words = QueryWords::new(&search.query).ok_or_else(|| {
            let most = QueryWords::MOST;
            Refusal::invalid(format!(
                "`query` must have 1 to {most} words with a letter or a digit"
            ))
        })?;
        let before = search.before.as_deref().map(|sealed| {
            let place = self.secrets.open_place(user, sealed);
            place.ok_or_else(|| {
                Refusal::invalid(
                    "`before` must be that of an answer to your search; leave it out for the \
                     newest messages"
                        .into(),
                )
            })
        });
        let (query, before) = (PastQuery::Search(words, search.room), before.transpose()?);
        let reading = self.reading(user, query, before, search.limit).await?;
        let found = match self.read_past(source, history, reading).await? {
            Some(found) => found,
            None => self.nowhere(user, search.room).await?,
        };
        Ok(Done::Found {
            before: found.next.map(|next| self.secrets.seal_place(user, next)),
            query: Arc::clone(&search.query),
            found,
        })
    }

    /// What a participant finds in a room in which it never was.
    async fn nowhere(&self, user: UserId, room: Option<RoomId>) -> Result<Past, Refusal> {
        let found = self.node.look(move |view| view.hub.resolve_for(user, room));
        let found = found.await.map_err(|_| unread(PastError::Behind))?;
        Ok(found.map(|_| Past::default())?)
    }

    /// Reads the archive in the turn of this source, whose rate pays for the time.
    async fn read_past(
        &self,
        source: Source,
        history: History,
        reading: PastReading,
    ) -> Result<Option<Past>, Refusal> {
        let capacity = Arc::clone(&self.capacity);
        let began = Instant::now();
        let turn = capacity.archive_turns.take(source);
        let turn = tokio::time::timeout(MAX_WAIT, turn).await.map_err(|_| {
            Refusal::overloaded(
                "one address or token may read older messages once at a time, and many calls of \
                 yours wait; try again later"
                    .into(),
                1_000,
            )
        })?;
        let mut patience = MAX_WAIT.saturating_sub(began.elapsed());
        let spent = capacity.archive.spend(source, LEAST_WORK, &mut patience);
        spent.await?;
        let (reply, answer) = oneshot::channel();
        // One who hangs up meanwhile has caused the work all the same.
        task::spawn(async move {
            let Timed { took, answer } = history.read(reading).await;
            let further = millis(took).saturating_sub(LEAST_WORK);
            capacity.archive.charge(source, further);
            drop(turn);
            let _ = reply.send(answer);
        });
        let answer = answer.await.unwrap_or(Err(PastError::Broken));
        answer.map_err(unread)
    }

    /// The limits of one answer for this reader, with those whom a block hides from it now.
    async fn reading(
        &self,
        user: UserId,
        query: PastQuery,
        before: Option<u64>,
        limit: usize,
    ) -> Result<PastReading, Refusal> {
        let reading = self.node.look(move |view| {
            let hub = view.hub;
            PastReading {
                query,
                before,
                user,
                hidden: hub.hidden_from(user),
                limit: limit.min(hub.config().max_answer as usize),
                bytes: hub.config().max_answer_bytes as usize,
                used: 0,
            }
        });
        reading.await.map_err(|_| unread(PastError::Behind))
    }
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
