//! The append in flight, and its fate.
//!
//! The documentation of the crate lists what each report says of it.
//!
//! Only a record of the log proves that the log has no other at its place. That a record was not
//! found proves nothing.

use std::sync::Arc;

use chat_core::{InFlight, Position, Time};

use super::{Member, State};
use crate::envelope::{Body, Unfit};
use crate::output::{Alarm, AppendId, Outcome, Output, ReadId, Source};
use crate::place::Place;
use crate::timing::{CALL_PATIENCE, Now, PUBLISH_TIMEOUT, READ_TIMEOUT, RETRY};

/// How often the record at the place of an append is read, at the leader and at three replicas, until
/// the append is published again. The leader refuses what does not follow its last proposal, and a
/// proposal is lost with its leader.
const READS: u64 = 6;

/// What an append is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    Claim,
    Batch {
        first: Position,
        at: Time,
        /// The record of the journal.
        record: Arc<[u8]>,
    },
    Heartbeat,
    Resigned,
    /// Settles the append before it as absent, or proves to calls that wait that this member is
    /// the owner.
    Noop,
}

/// Bytes that may become the next record.
#[derive(Clone, Debug)]
struct Candidate {
    id: AppendId,
    purpose: Purpose,
    bytes: Arc<[u8]>,
    /// The place after it.
    after: Place,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// An attempt waits for its report.
    Publishing,
    /// The next attempt waits.
    Paused,
    /// Another record is at the place: it is read.
    Reading { id: Option<ReadId>, attempt: u64 },
}

/// An append whose fate is not known yet.
#[derive(Clone, Debug)]
pub(super) struct Append {
    /// What was published for this place: first what the append is for, and then a `Noop`, if that shall
    /// settle it. The last one is published again.
    candidates: Vec<Candidate>,
    expected: u64,
    /// When the first attempt began.
    began: Time,
    /// Whether an attempt ended without a report, and may still arrive.
    unknown: bool,
    step: Step,
    /// When the step is over.
    pub(super) due: Time,
}

impl Append {
    pub(super) fn id(&self) -> AppendId {
        self.candidates[0].id
    }

    pub(super) const fn is_unknown(&self) -> bool {
        self.unknown || matches!(self.step, Step::Reading { .. })
    }

    pub(super) fn is_batch(&self) -> bool {
        matches!(self.candidates[0].purpose, Purpose::Batch { .. })
    }

    /// Waits for a while until the next attempt.
    fn pause(&mut self, now: Now) {
        self.step = Step::Paused;
        self.due = now.boot + RETRY;
    }

    fn is_claim(&self) -> bool {
        self.candidates[0].purpose == Purpose::Claim
    }
}

impl Member {
    /// Publishes the first attempt of an append.
    pub(super) fn begin_append(&mut self, now: Now, purpose: Purpose, sealed: (Vec<u8>, Place)) {
        assert!(self.append.is_none(), "one append is in flight at a time");
        let candidate = self.candidate(purpose, sealed);
        self.append = Some(Append {
            candidates: vec![candidate],
            expected: self.place.sequence,
            began: now.boot,
            unknown: false,
            step: Step::Paused,
            due: now.boot,
        });
        if let State::Owner(ownership) = &mut self.state {
            ownership.waiting.cover();
        }
        self.publish(now);
    }

    fn candidate(&mut self, purpose: Purpose, (bytes, after): (Vec<u8>, Place)) -> Candidate {
        Candidate {
            id: AppendId(self.new_id()),
            purpose,
            bytes: bytes.into(),
            after,
        }
    }

    /// Publishes the last candidate, for the first time or again.
    fn publish(&mut self, now: Now) {
        let Some(append) = &mut self.append else {
            return;
        };
        let Some(candidate) = append.candidates.last() else {
            return;
        };
        append.step = Step::Publishing;
        append.due = now.boot + PUBLISH_TIMEOUT;
        self.outputs.push_back(Output::Publish {
            id: candidate.id,
            expected: append.expected,
            bytes: Arc::clone(&candidate.bytes),
        });
    }

    /// Reports the result of an attempt. A report may be late, and may come twice.
    ///
    /// # Panics
    /// The log acknowledged a record at another place than the expected one: it has no
    /// compare-and-append, and nothing is safe.
    pub fn published(&mut self, now: Now, id: AppendId, outcome: Outcome) {
        let Some(append) = &mut self.append else {
            return;
        };
        let mut candidates = append.candidates.iter();
        let Some(place) = candidates.position(|candidate| candidate.id == id) else {
            return;
        };
        let is_only = append.candidates.len() == 1;
        let is_reading = matches!(append.step, Step::Reading { .. });
        match outcome {
            Outcome::Acknowledged(sequence) => {
                assert_eq!(
                    sequence,
                    append.expected + 1,
                    "the log appended a record elsewhere than expected"
                );
                self.commit(now, place);
            }
            Outcome::WrongLast if is_reading => {}
            Outcome::WrongLast => self.read_next(now, 0),
            Outcome::Busy | Outcome::Rejected if is_reading => {}
            // An election takes seconds, for which the calls of a batch wait.
            Outcome::Busy if append.is_batch() && now.boot < self.heard + CALL_PATIENCE => {
                append.pause(now);
            }
            Outcome::Busy | Outcome::Rejected if is_only && !append.unknown => self.fail(now),
            Outcome::Busy => append.pause(now),
            Outcome::Rejected => self.settle_by_noop(now),
        }
        self.advance(now);
    }

    /// Publishes a record without effect in place of one that the log no longer takes, though an
    /// earlier attempt may have reached it. Whichever is in the log decides.
    fn settle_by_noop(&mut self, now: Now) {
        let Some(append) = &mut self.append else {
            return;
        };
        append.pause(now);
        if append.is_claim() || append.candidates.len() > 1 {
            return;
        }
        let noop = self.place.seal(self.settings.id, Body::Noop);
        let candidate = self.candidate(Purpose::Noop, noop);
        if let Some(append) = &mut self.append {
            append.candidates.push(candidate);
        }
    }

    fn read_next(&mut self, now: Now, attempt: u64) {
        let id = ReadId(self.new_id());
        let Some(append) = &mut self.append else {
            return;
        };
        append.step = Step::Reading {
            id: Some(id),
            attempt,
        };
        append.due = now.boot + READ_TIMEOUT;
        // The leader may be a replica that has lost this very record.
        let source = match attempt % 2 {
            0 => Source::Leader,
            _ => Source::Replica(attempt / 2),
        };
        self.outputs.push_back(Output::Read {
            id,
            sequence: append.expected + 1,
            source,
        });
    }

    /// Reports the record that was read: `None` if the source has none at this place, which proves
    /// nothing.
    pub fn found(&mut self, now: Now, id: ReadId, bytes: Option<&[u8]>) {
        let Some(append) = &mut self.append else {
            return;
        };
        match &mut append.step {
            Step::Reading { id: expected, .. } if *expected == Some(id) => *expected = None,
            Step::Reading { .. } | Step::Publishing | Step::Paused => return,
        }
        append.due = now.boot + RETRY;
        if let Some(bytes) = bytes
            && !self.arrive(now, bytes)
        {
            let sequence = self.place.sequence + 1;
            self.outputs
                .push_back(Output::Alarm(Alarm::Damaged { sequence }));
        }
        self.advance(now);
    }

    pub(super) fn handle_append_timeout(&mut self, now: Now) {
        let Some(append) = &mut self.append else {
            return;
        };
        if now.boot < append.due {
            return;
        }
        match append.step {
            Step::Reading { attempt, .. } if attempt + 1 < READS => {
                self.read_next(now, attempt + 1);
            }
            // After reads that found nothing: the record that was in the way may never come.
            Step::Publishing | Step::Reading { .. } => {
                append.unknown = true;
                if append.is_batch()
                    && let State::Owner(ownership) = &mut self.state
                {
                    ownership.node.append_unknown();
                }
                self.publish(now);
            }
            Step::Paused => self.publish(now),
        }
    }

    /// Takes the bytes at the next sequence: a candidate's, or another's. False if they are damaged, and not
    /// what the log contains.
    pub(super) fn arrive(&mut self, now: Now, bytes: &[u8]) -> bool {
        let candidates = self.append.iter().flat_map(|append| &append.candidates);
        let mut candidates = candidates.map(|candidate| &*candidate.bytes);
        if let Some(place) = candidates.position(|candidate| candidate == bytes) {
            self.commit(now, place);
            return true;
        }
        let next = self.place.open(bytes);
        if next == Err(Unfit::Link) {
            return false;
        }
        // Another record is at the place of the append in flight, which is thereby absent.
        let claim = self.append.take().filter(Append::is_claim);
        self.depart(InFlight::Absent);
        self.follow(now, next);
        if claim.is_some() {
            // The claim expected an old sequence: what this member follows is behind.
            self.follow_elsewhere();
        }
        true
    }

    /// The log contains this candidate of the append in flight.
    fn commit(&mut self, now: Now, candidate: usize) {
        let Some(mut append) = self.append.take() else {
            return;
        };
        let was_batch = append.is_batch();
        let Candidate { purpose, after, .. } = append.candidates.swap_remove(candidate);
        self.place = after;
        self.applied(now);
        match purpose {
            Purpose::Claim => self.become_owner(append.began),
            Purpose::Batch { first, at, record } => {
                if let State::Owner(ownership) = &mut self.state {
                    ownership.node.committed(first, at, now.wall);
                }
                self.keep(record);
            }
            Purpose::Noop if was_batch => {
                if let State::Owner(ownership) = &mut self.state {
                    ownership.node.append_failed(now.wall);
                }
            }
            Purpose::Heartbeat | Purpose::Noop => {}
            Purpose::Resigned => self.depart(InFlight::Absent),
        }
        if let State::Owner(ownership) = &mut self.state {
            ownership.renew(append.began);
        }
        self.answer_waiting(now);
    }

    /// The log will never contain the append in flight, and contains no other record there yet.
    fn fail(&mut self, now: Now) {
        let Some(append) = self.append.take() else {
            return;
        };
        let is_batch = append.is_batch();
        let again = now.boot + RETRY;
        let State::Owner(ownership) = &mut self.state else {
            self.claim_from = again;
            return;
        };
        ownership.waiting.uncover(again);
        match is_batch {
            true => ownership.node.append_failed(now.wall),
            false => ownership.next_at = again,
        }
    }
}
