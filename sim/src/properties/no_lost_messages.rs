//! Each accepted message reaches all to whom it is owed, or a `gap` told them.
//!
//! Judged when somebody's inbox is drained: `room_seq` has no holes, so each place between the
//! join and the leave that was never had, and that nothing explains, is lost. Events other than
//! messages are owed in the same way; only messages are counted as `lost`. An answer that passes
//! over what no answer has brought loses it too, for those who read without a cursor.

use super::findings::{Findings, Property, name};
use super::ledger::Ledger;
use super::ledger::checks::Begins;
use super::ledger::stays::{Lack, Missing};
use crate::protocol::User;

/// The property.
#[derive(Clone, Debug, Default)]
pub(crate) struct NoLostMessages {
    pub(crate) checks: u64,
}

impl NoLostMessages {
    /// A check without a cursor was answered up to `cursor`. Where it is known to have begun at the end of the answer
    /// before, all in between has come, or a gap told that it is gone.
    pub(crate) fn read(
        &mut self,
        l: &Ledger,
        person: usize,
        (begins, cursor): (Begins, u64),
        f: &mut Findings,
    ) {
        // The second copy of a request goes on where the answer to the first ended.
        let Begins::AtTheLastEnd(end) = begins else {
            return;
        };
        if l.copies > 1 {
            return;
        }
        self.checks += 1;
        let seen = &l.people[person].inbox.seen;
        let tail = (seen.upto() + 1, cursor);
        let mut missing = seen.holes().iter().copied().chain([tail]);
        let missing = missing.find(|(from, to)| from <= to && *to > end && *from <= cursor);
        if let Some((from, _)) = missing {
            let user = l.people[person].user;
            f.blame(Property::NoLostMessages, l.clock.now, &[user], || {
                format!(
                    "{} read its inbox on from {end} to {cursor}, and {} was not there",
                    name(user),
                    from.max(end + 1)
                )
            });
        }
    }

    /// Somebody's inbox is drained, after so many messages; these are what it lacks.
    pub(crate) fn drained(
        &mut self,
        l: &Ledger,
        user: User,
        received: u64,
        lacks: &[Lack],
        f: &mut Findings,
    ) {
        self.checks += received;
        for lack in lacks {
            match lack.what {
                Missing::Message { sender } => {
                    self.checks += 1;
                    f.blame(
                        Property::NoLostMessages,
                        l.clock.now,
                        &[user, sender],
                        || {
                            format!(
                                "{} never received message {} of room_{} from {}",
                                name(user),
                                lack.seq,
                                lack.room.0,
                                name(sender)
                            )
                        },
                    );
                }
                Missing::Event | Missing::Unexplained => {
                    f.blame(Property::NoLostMessages, l.clock.now, &[user], || {
                        format!(
                            "{} never received event {} of room_{}, and no gap told so",
                            name(user),
                            lack.seq,
                            lack.room.0
                        )
                    });
                }
                // That is for `room_lifecycle` to say.
                Missing::End => {}
            }
        }
    }
}
