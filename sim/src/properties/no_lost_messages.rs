//! Each accepted message reaches all to whom it is owed, or a `gap` told them.
//!
//! Judged when somebody's inbox is drained: `room_seq` has no holes, so each place between the
//! join and the leave that was never had, and that nothing explains, is lost. Events other than
//! messages are owed in the same way; only messages are counted as `lost`.

use super::findings::{Findings, Property, name};
use super::ledger::Ledger;
use super::ledger::stays::{Lack, Missing};
use crate::protocol::User;

/// The property.
#[derive(Clone, Debug, Default)]
pub(crate) struct NoLostMessages {
    pub(crate) checks: u64,
}

impl NoLostMessages {
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
