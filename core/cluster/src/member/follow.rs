//! Following the log: each record in order, checked, applied; never one skipped.

use chat_core::{Hub, InFlight, Position, Time};

use super::{Member, State};
use crate::envelope::Unfit;
use crate::output::{Alarm, Output};
use crate::place::Next;
use crate::snapshot::LogSnapshot;
use crate::timing::{FETCH_AGAIN, Now};

/// After this many requests for missing records a snapshot is requested, too: the log may have been
/// purged.
const FETCHES_BEFORE_SNAPSHOT: u64 = 4;

/// The next record is requested from another source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Missing {
    pub(super) again_at: Time,
    attempts: u64,
}

impl Member {
    /// Receives a record of the log from a source that the member follows. Records may come again,
    /// and from several sources.
    pub fn record(&mut self, now: Now, sequence: u64, bytes: &[u8]) {
        let next = self.place.sequence + 1;
        if sequence < next || matches!(self.state, State::Stranded { .. }) {
            return;
        }
        if sequence > next {
            self.depart_behind();
            self.miss(now, Alarm::Hole { sequence: next });
        } else if !self.arrive(now, bytes) {
            self.miss(now, Alarm::Damaged { sequence });
        }
        self.advance(now);
    }

    /// The log has later records than this member, which are not its own: an owner has one append in
    /// flight, for the next place. So an owner that is behind them is the owner no more. Whether the
    /// log contains its append is in a record that may be purged.
    fn depart_behind(&mut self) {
        if matches!(self.state, State::Owner(_)) {
            self.append = None;
            self.depart(InFlight::Unknown);
        }
    }

    fn miss(&mut self, now: Now, alarm: Alarm) {
        if self.missing.is_none() {
            self.outputs.push_back(Output::Alarm(alarm));
            self.fetch(now, 0);
        }
    }

    fn fetch(&mut self, now: Now, attempts: u64) {
        self.missing = Some(Missing {
            again_at: now.boot + FETCH_AGAIN,
            attempts: attempts + 1,
        });
        self.follow_elsewhere();
    }

    /// Follows the log from the next record on, from another source.
    pub(super) fn follow_elsewhere(&mut self) {
        self.fetches += 1;
        self.outputs.push_back(Output::Fetch {
            from: self.place.sequence + 1,
            attempt: self.fetches,
        });
    }

    pub(super) fn handle_missing_timeout(&mut self, now: Now) {
        if let State::Stranded { ask_at, .. } = &mut self.state
            && now.boot >= *ask_at
        {
            *ask_at = now.boot + FETCH_AGAIN;
            self.outputs.push_back(Output::FetchSnapshot);
        }
        if let Some(Missing { again_at, attempts }) = self.missing
            && now.boot >= again_at
        {
            self.fetch(now, attempts);
            if attempts % FETCHES_BEFORE_SNAPSHOT == 0 {
                self.outputs.push_back(Output::FetchSnapshot);
            }
        }
    }

    /// Applies the record that follows, on a standby.
    pub(super) fn follow(&mut self, now: Now, next: Result<Next, Unfit>) {
        let State::Standby(hub) = &mut self.state else {
            return;
        };
        let sequence = self.place.sequence + 1;
        let Next {
            after,
            batch,
            heartbeat,
        } = match next {
            Ok(next) => next,
            Err(why) => return self.strand(now, Alarm::Unreadable { sequence, why }),
        };
        if let Some((position, digest)) = heartbeat {
            let is_confirmed =
                hub.position() == position && self.confirmed == Some((position, digest));
            if !is_confirmed && !is_in_state(hub, position, digest) {
                return self.strand(now, Alarm::Diverged { sequence });
            }
            self.confirmed = Some((position, digest));
        }
        if let Some((batch, _)) = &batch {
            for entry in &batch.entries {
                // The owner answers.
                let _ = hub.handle(batch.at, entry);
                while hub.poll_effect().is_some() {}
            }
        }
        self.place = after;
        self.applied(now);
        if let Some((_, record)) = batch {
            self.keep(record);
        }
    }

    /// Stops following.
    fn strand(&mut self, now: Now, alarm: Alarm) {
        if let State::Standby(hub) = self.state.take() {
            let ask_at = now.boot + FETCH_AGAIN;
            self.state = State::Stranded { hub, ask_at };
        }
        self.missing = None;
        self.outputs.push_back(Output::Alarm(alarm));
        self.outputs.push_back(Output::FetchSnapshot);
    }

    /// Continues from a stored snapshot, if this member has no later state.
    pub fn snapshot_found(&mut self, now: Now, snapshot: LogSnapshot) {
        let oldest = match self.state {
            State::Standby(_) => self.place.sequence + 1,
            State::Stranded { .. } => self.place.sequence,
            // The member requested it as a standby. A later record shows an owner that it is behind.
            State::Owner(_) => return,
        };
        if snapshot.place.sequence < oldest {
            return;
        }
        self.append = None;
        self.place = snapshot.place;
        self.state = State::Standby(Box::new(snapshot.hub));
        self.confirmed = None;
        self.applied(now);
        self.follow_elsewhere();
    }
}

/// Whether the state is the one with this digest. Before the first entry a state is the member's
/// own configuration and nothing else.
fn is_in_state(hub: &Hub, position: Position, digest: u64) -> bool {
    hub.position() == position && (position == Position(0) || hub.digest() == digest)
}
