//! The way to the owner's node, for the doors of a member that is not the owner.
//!
//! A door reads a stream of that node by one delivery at a time, each kept until it is acknowledged by the
//! request for the next one.

use std::time::Duration;

use async_trait::async_trait;
use chat_cluster::CALL_PATIENCE;
use chat_core::{
    Address, Answer as Read, Call, Earlier, Read as Reading, Reader, Reject, Response, Seq, Span,
};
use server_chat::driver::{Answered, Delivery, Ending, Remote, RemoteOpening, RemoteStream};
use server_chat::metrics::Row;
use server_nats::CallError;
use tokio::time::{Instant, sleep, timeout};

use super::standing::Membership;
use super::wire::{self, Answer, CALL, Pushed, Question, decode, encode};

/// How long a call is tried.
const PATIENCE: Duration = Duration::from_micros(CALL_PATIENCE.0);

/// How long one attempt waits for its answer. A later attempt joins an earlier one.
const ATTEMPT: Duration = Duration::from_secs(2);

/// The longest wait of a check in one attempt: an owner that is gone is noticed after it.
const WAIT: Duration = Duration::from_secs(4);

/// The pause between two attempts.
const PAUSE: Duration = Duration::from_millis(100);

/// How long an answer is held back until this member has applied what it says.
const CATCH_UP: Duration = Duration::from_secs(1);

/// How long a door waits for the answer of a stream. An owner that is gone is noticed after it.
const ANSWER: Duration = Duration::from_secs(6);

/// The delay in a refusal after which the caller may retry.
const RETRY: Span = Span::secs(1);

/// The owner's answer to the last attempt of a call. After an attempt without an answer, which the network
/// may still carry to the owner, a refusal does not say that no attempt takes effect.
fn last_answer(mut answered: Answered, is_one_lost: bool) -> Answered {
    if is_one_lost
        && let Err(reject) = &mut answered.outcome
        && reject.earlier() == Earlier::None
    {
        *reject = reject.with_earlier(Earlier::Unknown);
    }
    answered
}

/// Calls the owner. The owner may be this member, while its append waits for the log.
#[derive(Debug)]
pub(super) struct Door(pub(super) Membership);

impl Door {
    async fn call_owner(&self, from: Address, mut call: Call, mut earlier: Earlier) -> Answered {
        let can_repeat = !matches!(call, Call::Operate { .. } | Call::Command { key: None, .. });
        let wait = wait_of(&mut call).map_or(0, |wait| wait.0);
        let mut wait_until = Instant::now() + Duration::from_micros(wait);
        let until = wait_until + PATIENCE;
        let mut is_one_lost = false;
        loop {
            // What waits is answered when this server shuts down.
            if self.0.has_stopped() {
                wait_until = Instant::now();
            }
            let mut call = call.clone();
            let mut patience = ATTEMPT;
            if let Some(wait) = wait_of(&mut call) {
                // The part that is left, for one attempt.
                let rest = wait_until
                    .saturating_duration_since(Instant::now())
                    .min(WAIT);
                *wait = Span::micros(u64::try_from(rest.as_micros()).unwrap_or(u64::MAX));
                patience += rest;
            }
            let sequence = self.0.sequence();
            let question = Question::Call {
                sequence,
                from,
                call,
            };
            match self.ask(&question, patience).await {
                Ok(Answer::Answered { sequence, answered }) => {
                    let is_over = Instant::now() >= wait_until || !is_empty(&answered);
                    if is_over && !is_closing(&answered) {
                        catch_up(&self.0, sequence).await;
                        return last_answer(*answered, is_one_lost);
                    }
                }
                Ok(Answer::Moved(Earlier::Unknown)) if can_repeat => earlier = Earlier::Unknown,
                Err(CallError::Unanswered) if can_repeat => {
                    (earlier, is_one_lost) = (Earlier::Unknown, true);
                }
                Ok(Answer::Moved(Earlier::Unknown)) | Err(CallError::Unanswered) => {
                    return self.refusal(Earlier::Unknown);
                }
                Ok(Answer::Moved(_) | Answer::Opened { .. }) | Err(CallError::NoOwner) => {}
            }
            if Instant::now() >= until {
                return self.refusal(earlier);
            }
            sleep(PAUSE).await;
        }
    }

    /// Asks once. An answer that this version cannot read is none. A question to an owner that is
    /// superseded meanwhile has no answer: a paused process, for one, is still subscribed.
    async fn ask(&self, question: &Question, patience: Duration) -> Result<Answer, CallError> {
        let epoch = self.0.standing.borrow().epoch;
        tokio::select! {
            answer = self.0.log.ask(CALL, encode(question), patience) => {
                decode(&answer?).ok_or(CallError::Unanswered)
            }
            true = self.0.end_of_epoch(epoch) => Err(CallError::Unanswered),
        }
    }

    fn refusal(&self, earlier: Earlier) -> Answered {
        self.0.local.refusal(Reject::StorageUnavailable {
            retry_after: RETRY,
            earlier,
        })
    }
}

#[async_trait]
impl Remote for Door {
    async fn call(&self, from: Address, call: Call, earlier: Earlier) -> Answered {
        let answered = self.call_owner(from, call, earlier).await;
        let came_to = match answered.outcome {
            Err(Reject::StorageUnavailable { .. }) => "unavailable",
            Ok(_) | Err(_) => "answered",
        };
        self.0.local.metrics().count(Row::ClusterForwarded, came_to);
        answered
    }

    async fn open_stream(
        &self,
        from: Address,
        reader: Reader,
        after: Option<Seq>,
    ) -> RemoteOpening {
        let until = Instant::now() + PATIENCE;
        let question = Question::Open {
            from,
            reader,
            after,
        };
        loop {
            match self.ask(&question, ATTEMPT).await {
                Ok(Answer::Opened {
                    sequence,
                    stream,
                    context,
                }) => {
                    catch_up(&self.0, sequence).await;
                    let stream = DoorStream {
                        kind: wire::stream(stream),
                        epoch: self.0.standing.borrow().epoch,
                        received: 0,
                        member: self.0.clone(),
                    };
                    return Ok((Box::new(stream), context));
                }
                Ok(Answer::Answered { answered, .. }) if !is_closing(&answered) => {
                    return Err(*answered);
                }
                Ok(Answer::Answered { .. } | Answer::Moved(_)) | Err(_) => {}
            }
            if Instant::now() >= until {
                return Err(self.refusal(Earlier::Unasked));
            }
            sleep(PAUSE).await;
        }
    }
}

/// The door's end of a stream.
#[derive(Debug)]
struct DoorStream {
    kind: String,
    /// The epoch of the owner that has the stream.
    epoch: u64,
    /// The number of deliveries that were received.
    received: u64,
    member: Membership,
}

#[async_trait]
impl RemoteStream for DoorStream {
    async fn next(&mut self) -> Delivery {
        loop {
            let next = encode(&self.received);
            let answer = tokio::select! {
                answer = self.member.log.ask(&self.kind, next, ANSWER) => answer.ok(),
                _ = self.member.end_of_epoch(self.epoch) => None,
            };
            match answer.and_then(|bytes| decode(&bytes)) {
                Some(Pushed::Delivery { sequence, delivery }) => {
                    catch_up(&self.member, sequence).await;
                    self.received += 1;
                    return delivery;
                }
                Some(Pushed::Nothing) => {}
                // The owner is gone, or this server stops. The reader opens the stream anew, where it
                // left off.
                None => return Delivery::End(Ending::Closing),
            }
        }
    }
}

/// Waits until this member has applied the record: its doors show no older state afterwards.
async fn catch_up(member: &Membership, sequence: u64) {
    let mut standing = member.standing.clone();
    let applied = standing.wait_for(|standing| standing.sequence >= sequence);
    if timeout(CATCH_UP, applied).await.is_err() {
        tracing::warn!(sequence, "this member is behind the owner");
    }
}

fn wait_of(call: &mut Call) -> Option<&mut Span> {
    match call {
        Call::Read {
            read: Reading::Check { wait, .. },
            ..
        } => Some(wait),
        Call::Read { .. }
        | Call::Command { .. }
        | Call::Operate { .. }
        | Call::OpenStream { .. } => None,
    }
}

/// Whether the answer is an empty page.
fn is_empty(answered: &Answered) -> bool {
    matches!(
        &answered.outcome,
        Ok(Response::Read(Read::Page { page, notices })) if page.is_empty() && notices.is_empty()
    )
}

/// Whether the owner is about to resign: another member takes the call then.
const fn is_closing(answered: &Answered) -> bool {
    matches!(answered.outcome, Err(Reject::ShuttingDown { .. }))
}

#[cfg(test)]
mod tests {
    use chat_core::Time;

    use super::*;
    use server_chat::driver::{AnswerFacts, CallerContext};

    /// What the caller learns of earlier attempts, if the owner refuses the last one with `says`.
    fn told(is_one_lost: bool, says: Earlier) -> Earlier {
        let reject = Reject::StorageUnavailable {
            retry_after: RETRY,
            earlier: says,
        };
        let answered = Answered {
            outcome: Err(reject),
            context: CallerContext {
                at: Time(0),
                me: None,
                more: AnswerFacts::Nothing,
            },
        };
        match last_answer(answered, is_one_lost).outcome {
            Err(reject) => reject.earlier(),
            Ok(_) => unreachable!("a refusal stays one"),
        }
    }

    #[test]
    fn a_refusal_after_an_attempt_without_an_answer_is_no_proof() {
        assert_eq!(told(false, Earlier::None), Earlier::None);
        assert_eq!(told(true, Earlier::None), Earlier::Unknown);
        assert_eq!(told(true, Earlier::Unknown), Earlier::Unknown);
        assert_eq!(told(true, Earlier::Unasked), Earlier::Unasked, "a read");
    }
}
