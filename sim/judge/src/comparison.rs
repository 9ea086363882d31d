//! The kinds of comparisons of the auditor, with a count for each. The checks of the properties
//! follow from the counts.

use sim_model::protocol::{Body, Command};

/// One kind of comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Comparison {
    /// A decision on entering or leaving the queue.
    Queue,
    /// A decision on joining a room or registering under a name.
    Login,
    /// A decision on a message or a push.
    Speech,
    /// A decision on a draft.
    Draft,
    /// A decision on claiming or releasing the stick.
    Claim,
    /// A decision on leaving a room.
    Leave,
    /// A decision on typing.
    Typing,
    /// A decision on a block, a report, or an operator's action.
    Moderation,
    /// A decision on a break, or its answer.
    Break,
    /// An answer with the stress and alert levels.
    Mood,
    /// A decision by a remembered request key.
    Repeat,
    /// A decision on opening a stream, or an implied entry about presence.
    Presence,
    /// Any decision that is a refusal.
    Refusal,
    /// An answer that left the server.
    Answer,
    /// An answer or event after a restart, based on entries committed before it.
    Recovered,
    /// A recovery from a damaged journal.
    Damaged,
    /// A client's answer, for which an entry of the journal was found.
    Journaled,
    /// `chatroom.found`.
    Found,
    /// `message.received`.
    Message,
    /// `partner.disconnected`.
    Ended,
    /// `partner.away`, `partner.reconnected`, `user.away`, `user.back`.
    There,
    /// `user.joined`, `user.left`.
    Member,
    /// `stick.claimed`.
    Claimed,
    /// `stick.granted`.
    Granted,
    /// `stick.released`, `stick.expired`.
    StickEnded,
    /// `moderation.…`.
    Moderated,
    /// A page in the answer of a check.
    Page,
    /// A page on a stream.
    Push,
    /// A notice on a stream.
    Noticed,
    /// A gap.
    Gap,
    /// A match, or its absence, when patience ends.
    Patience,
    /// The end of a lease.
    Lease,
    /// A presence deadline.
    PresenceDeadline,
    /// A waiting check, or a stream, that had to be served at once.
    InTime,
    /// A record of the shared log that is no batch, before which no batch may be due.
    LogRecord,
    /// The size of a collection.
    Size,
    /// The lists that operators read.
    Listed,
    /// The admission of a call.
    Admitted,
}

/// The number of kinds.
const KINDS: usize = Comparison::Admitted as usize + 1;

/// The counts of all kinds.
#[derive(Clone, Debug)]
pub(crate) struct ComparisonCounts([u64; KINDS]);

impl Default for ComparisonCounts {
    fn default() -> Self {
        Self([0; KINDS])
    }
}

impl ComparisonCounts {
    pub(crate) const fn add(&mut self, kind: Comparison) {
        self.0[kind as usize] += 1;
    }

    pub(crate) fn of(&self, kinds: &[Comparison]) -> u64 {
        kinds.iter().map(|kind| self.0[*kind as usize]).sum()
    }
}

impl Comparison {
    /// The kind of a decision on a command.
    pub(crate) const fn decision(command: &Command) -> Self {
        match command {
            Command::EnterQueue(_) | Command::LeaveQueue => Self::Queue,
            Command::Login { .. } => Self::Login,
            Command::SendMessage { .. } | Command::Speak { .. } | Command::Push { .. } => {
                Self::Speech
            }
            Command::Append { .. } | Command::Undo { .. } => Self::Draft,
            Command::TalkingStick { .. } | Command::Reset { .. } => Self::Claim,
            Command::LeaveChat { .. } | Command::Unregister => Self::Leave,
            Command::Typing { .. } => Self::Typing,
            Command::BlockUser { .. }
            | Command::UnblockUser { .. }
            | Command::ReportUser { .. } => Self::Moderation,
            Command::TakeBreak { .. } => Self::Break,
        }
    }

    /// The kind of an event.
    pub(crate) const fn of_event(what: &Body) -> Self {
        match what {
            Body::Found(_) => Self::Found,
            Body::Message { .. } => Self::Message,
            Body::PartnerDisconnected(_) => Self::Ended,
            Body::PartnerAway(_) | Body::PartnerReconnected(_) | Body::Away(_) | Body::Back(_) => {
                Self::There
            }
            Body::Joined(_) | Body::Left(_) => Self::Member,
            Body::StickClaimed { .. } => Self::Claimed,
            Body::StickGranted { .. } => Self::Granted,
            Body::StickReleased { .. } | Body::StickExpired { .. } => Self::StickEnded,
            Body::Muted { .. } | Body::Kicked { .. } | Body::Closed { .. } => Self::Moderated,
        }
    }
}
