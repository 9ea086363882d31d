//! What the auditor compares: one count for each kind, from which the properties' checks follow.

use sim_model::protocol::{Op, Presence, Saw, StickChange};

/// One kind of comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Compared {
    /// A decision on standing in the line or leaving it.
    Queue,
    /// A decision on joining a room or registering under a name.
    Login,
    /// A decision on a message or a push.
    Speech,
    /// A decision on a draft.
    Draft,
    /// A decision on claiming the stick or giving it up.
    Claim,
    /// A decision on leaving a room.
    Leave,
    /// A decision on typing.
    Typing,
    /// A decision on a block or a report, or on an operator's act.
    Moderation,
    /// A decision on a break, or its answer.
    Break,
    /// A reading of stress and alert.
    Mood,
    /// A decision that a remembered request key gave.
    Repeat,
    /// A decision on opening a stream, or an implied entry about presence.
    Presence,
    /// Any decision that is a refusal.
    Refusal,
    /// An answer as it left.
    Answer,
    /// An answer or event after a restart that committed entries preceded.
    Recovered,
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
    /// A match, or its absence, at the end of a patience.
    Patience,
    /// The end of a lease.
    Lease,
    /// A presence deadline.
    PresenceDeadline,
    /// A waiting check, or a stream, that was to be served at once.
    InTime,
    /// The size of a collection.
    Size,
    /// What happens to a call at the server's door.
    Admitted,
}

/// How many kinds there are.
const KINDS: usize = Compared::Admitted as usize + 1;

/// The counts of all kinds.
#[derive(Clone, Debug)]
pub(crate) struct Tally([u64; KINDS]);

impl Default for Tally {
    fn default() -> Self {
        Self([0; KINDS])
    }
}

impl Tally {
    pub(crate) const fn add(&mut self, kind: Compared) {
        self.0[kind as usize] += 1;
    }

    pub(crate) fn of(&self, kinds: &[Compared]) -> u64 {
        kinds.iter().map(|kind| self.0[*kind as usize]).sum()
    }
}

impl Compared {
    /// The decision on a call.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "a call without a kind of its own counts as an answer"
    )]
    pub(crate) const fn decision(op: &Op) -> Self {
        match op {
            Op::EnterQueue { .. } | Op::LeaveQueue => Self::Queue,
            Op::Login { .. } => Self::Login,
            Op::Send { .. } | Op::Push { .. } => Self::Speech,
            Op::Append { .. } | Op::Undo { .. } => Self::Draft,
            Op::TalkingStick { .. } | Op::Reset { .. } => Self::Claim,
            Op::LeaveChat { .. } | Op::Unregister => Self::Leave,
            Op::Typing { .. } => Self::Typing,
            Op::Block { .. } | Op::Unblock { .. } | Op::Report { .. } => Self::Moderation,
            Op::Break { .. } => Self::Break,
            Op::Mood => Self::Mood,
            Op::Check { .. } => Self::Page,
            _ => Self::Answer,
        }
    }

    /// An event of an inbox; none for a gap, which is counted with its page.
    pub(crate) const fn saw(saw: &Saw<'_>) -> Option<Self> {
        Some(match saw {
            Saw::Found { .. } => Self::Found,
            Saw::Message { .. } => Self::Message,
            Saw::Ended { .. } => Self::Ended,
            Saw::PartnerAway { .. } | Saw::PartnerBack { .. } => Self::There,
            Saw::Member { change, .. } => match change {
                Presence::Joined | Presence::Left => Self::Member,
                Presence::Away | Presence::Back => Self::There,
            },
            Saw::Stick { change, .. } => match change {
                StickChange::Claimed { .. } => Self::Claimed,
                StickChange::Granted { .. } => Self::Granted,
                StickChange::Released { .. } | StickChange::Expired { .. } => Self::StickEnded,
            },
            Saw::Moderation { .. } => Self::Moderated,
            Saw::Gap { .. } => return None,
        })
    }
}
