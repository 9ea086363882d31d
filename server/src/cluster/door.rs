//! The way to the owner's node, for the doors of a member that is not the owner.

use std::time::Duration;

use async_trait::async_trait;
use chat_cluster::CALL_PATIENCE;
use chat_core::{
    Address, Answer as Read, Call, Earlier, Read as Reading, Reader, Reject, Response, Seq, Span,
};
use server_chat::driver::{Answered, NodeClient, Remote, RemoteOpening};
use server_chat::metrics::Row;
use server_nats::{CallError, Calls};
use tokio::time::{Instant, sleep, timeout};

use super::measures::forwarding;
use super::remote_stream::DoorStream;
use super::standing::{EpochEnd, Standings, end_of_epoch};
use super::wire::{Answer, CALL, Question, decode, encode};

/// How long a call is tried.
const PATIENCE: Duration = Duration::from_micros(CALL_PATIENCE.0);

/// How long one attempt waits for its answer. A later attempt joins an earlier one.
const ATTEMPT: Duration = Duration::from_secs(2);

/// The longest wait of a check in one attempt: an owner that is gone is noticed after it.
const WAIT: Span = Span::secs(4);

/// The pause between two attempts.
const PAUSE: Duration = Duration::from_millis(100);

/// How long an answer is held back until this member has applied what it says.
const CATCH_UP: Duration = Duration::from_secs(1);

/// The delay in a refusal after which the caller may retry.
const RETRY: Span = Span::secs(1);

/// What is known of a door's earlier attempts of one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Attempts {
    /// Each was answered, or reached no owner.
    Answered,
    /// One had no answer: the network may still carry it to the owner, after a later one.
    Lost,
}

impl Attempts {
    /// The owner's answer to the last attempt. After a lost one, a refusal does not say that no
    /// attempt takes effect.
    fn last_answer(self, mut answered: Answered) -> Answered {
        if self == Self::Lost
            && let Err(reject) = &mut answered.outcome
            && reject.earlier() == Earlier::None
        {
            *reject = reject.with_earlier(Earlier::Unknown);
        }
        answered
    }
}

/// Calls the owner. The owner may be this member, while its append waits for the log.
#[derive(Debug)]
pub(super) struct Door {
    calls: Calls,
    local: NodeClient,
    standing: Standings,
}

impl Door {
    pub(super) const fn new(calls: Calls, local: NodeClient, standing: Standings) -> Self {
        Self {
            calls,
            local,
            standing,
        }
    }

    async fn call_owner(&self, from: Address, call: Call, mut earlier: Earlier) -> Answered {
        let can_repeat = !matches!(call, Call::Operate { .. } | Call::Command { key: None, .. });
        let mut wait_until = Instant::now() + wait_of(&call);
        let until = wait_until + PATIENCE;
        let mut attempts = Attempts::Answered;
        loop {
            if self.is_stopping() {
                wait_until = Instant::now();
            }
            let call = with_rest(&call, wait_until);
            let patience = wait_of(&call) + ATTEMPT;
            let sequence = self.standing.borrow().sequence;
            let question = Question::Call {
                sequence,
                from,
                call,
            };
            match self.ask(&question, patience).await {
                Ok(Answer::Answered { sequence, answered }) => {
                    let is_over = Instant::now() >= wait_until || !is_empty(&answered);
                    if is_over && !is_closing(&answered) {
                        catch_up(&self.standing, sequence).await;
                        return attempts.last_answer(*answered);
                    }
                }
                Ok(Answer::Moved(Earlier::Unknown)) if can_repeat => earlier = Earlier::Unknown,
                Err(CallError::Unanswered) if can_repeat => {
                    (earlier, attempts) = (Earlier::Unknown, Attempts::Lost);
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
        let epoch = self.standing.borrow().epoch;
        tokio::select! {
            answer = self.calls.ask(CALL, encode(question), patience) => {
                decode(&answer?).ok_or(CallError::Unanswered)
            }
            EpochEnd::Superseded = end_of_epoch(&self.standing, epoch) => {
                Err(CallError::Unanswered)
            }
        }
    }

    /// Whether this server shuts down: what waits is answered.
    fn is_stopping(&self) -> bool {
        self.standing.has_changed().is_err()
    }

    fn refusal(&self, earlier: Earlier) -> Answered {
        self.local.refusal(Reject::StorageUnavailable {
            retry_after: RETRY,
            earlier,
        })
    }
}

#[async_trait]
impl Remote for Door {
    async fn call(&self, from: Address, call: Call, earlier: Earlier) -> Answered {
        let answered = self.call_owner(from, call, earlier).await;
        let metrics = self.local.metrics();
        metrics.count(Row::ClusterForwarded, forwarding(&answered));
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
                    catch_up(&self.standing, sequence).await;
                    let stream = DoorStream::new(self.calls.clone(), stream, self.standing.clone());
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

/// Waits until this member has applied the record: its doors show no older state afterwards.
pub(super) async fn catch_up(standing: &Standings, sequence: u64) {
    let mut standing = standing.clone();
    let applied = standing.wait_for(|standing| standing.sequence >= sequence);
    if timeout(CATCH_UP, applied).await.is_err() {
        tracing::warn!(sequence, "this member is behind the owner");
    }
}

fn wait_of(call: &Call) -> Duration {
    match call {
        Call::Read {
            read: Reading::Check { wait, .. },
            ..
        } => Duration::from_micros(wait.0),
        Call::Read { .. }
        | Call::Command { .. }
        | Call::Operate { .. }
        | Call::OpenStream { .. } => Duration::ZERO,
    }
}

/// The call with the part of its wait that is left, for one attempt.
fn with_rest(call: &Call, wait_until: Instant) -> Call {
    let mut call = call.clone();
    if let Call::Read {
        read: Reading::Check { wait, .. },
        ..
    } = &mut call
    {
        let rest = wait_until.saturating_duration_since(Instant::now());
        let rest = Span::micros(u64::try_from(rest.as_micros()).unwrap_or(u64::MAX));
        *wait = rest.min(WAIT);
    }
    call
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
    fn told(attempts: Attempts, says: Earlier) -> Earlier {
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
        match attempts.last_answer(answered).outcome {
            Err(reject) => reject.earlier(),
            Ok(_) => unreachable!("a refusal stays one"),
        }
    }

    #[test]
    fn a_refusal_after_an_attempt_without_an_answer_is_no_proof() {
        let (answered, lost) = (Attempts::Answered, Attempts::Lost);
        assert_eq!(told(answered, Earlier::None), Earlier::None);
        assert_eq!(told(lost, Earlier::None), Earlier::Unknown);
        assert_eq!(told(lost, Earlier::Unknown), Earlier::Unknown);
        assert_eq!(told(lost, Earlier::Unasked), Earlier::Unasked, "a read");
    }
}
