//! Inboxes outside of calls: as streams, and as resources that a reader id names.

use chat_core::{Address, Call, Read, Reader, Reject, Seq, UserId};

use super::{CallOutcome, Done, Service};
use crate::capacity::{Reservation, Source};
use crate::driver::{Answered, CallerContext, EventStream};
use crate::identity::ReaderId;
use crate::refusal::Refusal;
use crate::tools::Tool;
use crate::wire::refused;

impl Service {
    /// Takes a permit for one more stream of this source.
    ///
    /// # Errors
    /// There is no permit, or no memory for a stream.
    pub fn place_for_stream(&self, source: Source) -> Result<Reservation, Refusal> {
        self.capacity.memory.check()?;
        Ok(self.capacity.streams.take(source, 1)?)
    }

    /// Opens an event stream. One by a reader id only reads: it does not make the participant present, and
    /// acknowledges nothing.
    ///
    /// # Errors
    /// The refusal.
    pub async fn stream(
        &self,
        reader: Reader,
        address: Address,
        after: Option<Seq>,
    ) -> Result<(EventStream, CallerContext), Refusal> {
        match self.node.open_stream(address, reader, after).await {
            Ok(open) => Ok(open),
            Err(answered) => {
                let reject = answered.outcome.err();
                let reject = reject.unwrap_or_else(Reject::shutting_down);
                self.tell_banned(address, Some(&reject));
                Err(refused(reject, &answered.context))
            }
        }
    }

    /// The participant of the inbox, and the position after which a `check` without a cursor
    /// continues: no answer contained later events.
    ///
    /// # Errors
    /// The refusal.
    pub async fn bookmark(&self, reader: &ReaderId) -> Result<(UserId, Seq), Refusal> {
        let hash = self.secrets.reader_hash(reader);
        let look = self.node.look(move |node| {
            let user = node.hub.user_by_reader(&hash)?;
            node.unread(user).map(|(cursor, _)| (user, cursor))
        });
        match look.await {
            Ok(Some(found)) => Ok(found),
            Ok(None) => Err(Reject::UnknownHandle.into()),
            Err(_) => Err(Reject::overloaded(chat_core::Span::secs(1)).into()),
        }
    }

    /// Reads an inbox by its reader id, at once and without acknowledging.
    ///
    /// # Errors
    /// The refusal.
    pub async fn read_inbox(
        &self,
        reader: &ReaderId,
        address: Address,
        after: Option<Seq>,
    ) -> Result<CallOutcome, Refusal> {
        self.capacity.memory.check()?;
        let call = Call::Read {
            reader: Reader::ReaderId(self.secrets.reader_hash(reader)),
            read: Read::Check {
                after,
                wait: chat_core::Span::ZERO,
                max: usize::MAX,
            },
        };
        let Answered { outcome, context } = self.call(address, call).await;
        Ok(CallOutcome {
            context,
            ..CallOutcome::of(Tool::Check, Ok(Done::Answered(outcome?)))
        })
    }
}
