//! Each message reaches a member once, whatever was retried or redelivered.

use super::findings::{Findings, Property, name};
use super::ledger::Ledger;
use super::ledger::client::Unexplained;
use super::ledger::seen::Noted;
use super::ledger::sight::Sight;

/// The property.
#[derive(Clone, Debug, Default)]
pub(crate) struct NoDuplicates {
    pub(crate) checks: u64,
}

impl NoDuplicates {
    /// An event arrived under a seq that is new. Says whether the event is not.
    pub(crate) fn sighted(&mut self, l: &Ledger, sight: &Sight<'_>, f: &mut Findings) -> Noted {
        self.checks += 1;
        if sight.noted == Noted::New || sight.gapped {
            return Noted::New;
        }
        f.blame(Property::NoDuplicates, l.clock.now, &[sight.user], || {
            format!(
                "{} received event {} of room_{} again, as {} of its inbox",
                name(sight.user),
                sight.arrival.room_seq,
                sight.arrival.room.0,
                sight.arrival.inbox_seq
            )
        });
        Noted::Again
    }

    /// A message stands twice in its room: its sender called once.
    pub(crate) fn sent_twice(&mut self, l: &Ledger, message: &Unexplained, f: &mut Findings) {
        let users = [message.sender, message.seen_by];
        f.blame(Property::NoDuplicates, l.clock.now, &users, || {
            format!(
                "{} sent one message, and {} received it twice, the second time as {} of room_{}",
                name(message.sender),
                name(message.seen_by),
                message.room_seq,
                message.room.0
            )
        });
    }
}
