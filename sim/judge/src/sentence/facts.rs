//! The facts that differences compare: calls, operators' actions, events, gaps and notices.

use std::sync::Arc;

use sim_model::protocol::{
    LostRange, Membership, Moderated, Notice, Op, Passing, Presence, Shown, StickChange, StickLoss,
    User,
};
use sim_model::server::{Act, Gap};

use super::{Sentence, Tell, With, tell};
use crate::fact::Fact;
use crate::model::{Event, What};

/// The caller of a call.
pub(super) struct By(pub(super) Option<User>);

impl Tell for By {
    fn tell(&self, to: &mut Sentence) {
        match self.0 {
            Some(user) => tell!(to; user, "'s "),
            None => tell!(to; "an unregistered client's "),
        }
    }
}

impl Tell for Op {
    fn tell(&self, to: &mut Sentence) {
        tell!(to; self.verb(), With(" of ", self.text()), With(" of ", self.about()));
        tell!(to; With(" in ", self.room().flatten()), With(" under epoch ", self.epoch()));
        if let Self::Login { username, room } = self {
            tell!(to; " as ", username, " to ", room);
        } else if let Self::EnterQueue {
            display_name,
            user_id,
            interests,
        } = self
        {
            With(" as ", display_name.as_ref()).tell(to);
            With(" with the public id ", user_id.as_ref()).tell(to);
            for (index, interest) in interests.iter().enumerate() {
                tell!(to; if index == 0 { " for " } else { ", " }, interest);
            }
        } else if let Self::Report { reason, .. } = self {
            tell!(to; " for ", reason);
        } else if let Self::Break { kind, excuse } = self {
            tell!(to; ": ", kind.name(), With(" for ", excuse.as_ref()));
        } else if let Self::Check {
            after: Some(after), ..
        } = self
        {
            tell!(to; " after place ", after);
        }
    }
}

impl Tell for Act {
    fn tell(&self, to: &mut Sentence) {
        tell!(to; "an operator's ");
        match self {
            Self::Mute { user, .. } => tell!(to; "mute of ", user),
            Self::Unmute { user } => tell!(to; "unmute of ", user),
            Self::Kick { user, room, .. } => tell!(to; "kick of ", user, " out of ", room),
            Self::Close { room, .. } => tell!(to; "close of ", room),
            Self::BanUser { user, .. } => tell!(to; "ban of ", user),
            Self::Unban { name } => tell!(to; "unban of ", name),
            Self::MuteAddress { address, .. } => tell!(to; "mute of address ", address),
            Self::BanAddress { address } => tell!(to; "ban of address ", address),
            Self::UnbanAddress { address } => tell!(to; "unban of address ", address),
        }
    }
}

impl Tell for Event {
    fn tell(&self, to: &mut Sentence) {
        let place = (self.room, self.room_seq);
        if let What::Message {
            sender,
            text,
            epoch,
        } = &self.what
        {
            tell!(to; "message ", place, " from ", sender, ", ", text);
            With(", under epoch ", *epoch).tell(to);
        } else {
            tell!(to; "event ", place, ", ");
            self.happened(to);
        }
        tell!(to; " (at ", self.at, ")");
    }
}

impl Event {
    /// The participants that it names, as they are shown.
    pub(super) fn shown(&self) -> impl Iterator<Item = &Shown<Arc<str>>> {
        self.named.iter().flatten().map(|(_, shown)| shown)
    }

    /// Describes the event, unless it is a message.
    fn happened(&self, to: &mut Sentence) {
        let partner = self.named[0].as_ref().map(|(user, _)| *user);
        match &self.what {
            What::Found { pair } => tell!(to; pair[0], " was matched with ", pair[1]),
            What::Message { .. } => {}
            What::Ended { reason } => tell!(to; "the chat ended: ", reason.name()),
            What::PartnerAway => tell!(to; partner, " lost its last stream"),
            What::PartnerBack => tell!(to; partner, " is connected again"),
            What::Member { user, change } => tell!(to; user, match change {
                Presence::Joined => " joined",
                Presence::Left => " left",
                Presence::Away => " went away",
                Presence::Back => " came back",
            }),
            What::Stick { user, change } => match change {
                StickChange::Claimed { place } => {
                    tell!(to; user, " claimed the stick, place ", place);
                }
                StickChange::Granted { epoch, lease } => {
                    tell!(to; user, " was granted the stick, epoch ", epoch, ", for ", lease);
                }
                StickChange::Released { epoch } => {
                    tell!(to; user, " released the stick, epoch ", epoch);
                }
                StickChange::Expired { epoch } => {
                    tell!(to; user, " lost the stick, epoch ", epoch, ": the lease ran out");
                }
            },
            What::Moderation { user, act, reason } => {
                tell!(to; "an operator ", match act {
                    Moderated::Muted => "muted ",
                    Moderated::Kicked => "kicked ",
                    Moderated::Closed => "closed the room",
                });
                tell!(to; With("", *user), " for ", reason);
            }
        }
    }
}

/// The participants that an event names, as they are shown.
pub(super) struct Names<'a>(pub(super) &'a Event);

impl Tell for Names<'_> {
    fn tell(&self, to: &mut Sentence) {
        for (index, shown) in self.0.shown().enumerate() {
            tell!(to; if index == 0 { "" } else { " and " }, shown);
        }
    }
}

impl Tell for Shown<Arc<str>> {
    fn tell(&self, to: &mut Sentence) {
        tell!(to; self.name, With(" with the public id ", self.chosen_id.as_ref()));
    }
}

impl Tell for Notice {
    fn tell(&self, to: &mut Sentence) {
        tell!(to; "the notice that ", self.user);
        match self.kind {
            Passing::Typing => tell!(to; " is typing in ", self.room),
            Passing::Waiting(span) => tell!(to; " has waited ", span, " in ", self.room),
        }
        tell!(to; " (shown as ", self.shown, ", at ", self.at, ")");
    }
}

impl Tell for Gap {
    fn tell(&self, to: &mut Sentence) {
        tell!(to; "a gap from place ", self.from, " to ", self.to);
        for (index, range) in self.rooms.iter().enumerate() {
            tell!(to; if index == 0 { " (" } else { "; " }, range);
        }
        if self.rooms_omitted {
            tell!(to; if self.rooms.is_empty() { " (" } else { "; " }, "rooms that are not named");
        }
        if self.rooms_omitted || !self.rooms.is_empty() {
            tell!(to; ")");
        }
    }
}

impl Tell for LostRange {
    fn tell(&self, to: &mut Sentence) {
        tell!(to; "events ", self.from, " to ", self.to, " of ", self.room);
        if self.messages > 0 {
            tell!(to; ", messages: ", self.messages);
        }
        if let Some(membership) = self.you {
            tell!(to; match membership {
                Membership::Matched => ", the reader was matched",
                Membership::Joined => ", the reader joined",
                Membership::Left => ", the reader left",
                Membership::Kicked => ", the reader was kicked",
            });
        }
        if let Some(stick) = self.stick {
            let (what, epoch) = match stick {
                StickLoss::Granted(epoch) => (", the reader was granted the stick, epoch ", epoch),
                StickLoss::Released(epoch) => (", the reader released the stick, epoch ", epoch),
                StickLoss::Expired(epoch) => (", the reader's lease ran out, epoch ", epoch),
            };
            tell!(to; what, epoch);
        }
        if self.members_changed {
            tell!(to; ", others came or went");
        }
        if self.stick_changed {
            tell!(to; ", others' stick changed");
        }
        if let Some(reason) = self.ended {
            tell!(to; ", the chat ended: ", reason.name());
        }
    }
}

impl Tell for Fact {
    fn tell(&self, to: &mut Sentence) {
        match self {
            Self::Received(reader, seq, event) => {
                tell!(to; reader, " received ", event, " at place ", seq, " of its inbox");
            }
            Self::Accepted(sender, room, seq) => {
                tell!(to; sender, "'s message was accepted as event ", (*room, *seq));
            }
            Self::Answered(user, verb, outcome) => tell!(to; user, "'s ", *verb, " was ", outcome),
            Self::Vacant(reader, seq) => {
                tell!(to; "place ", seq, " of ", reader, "'s inbox did not arrive");
            }
            Self::Absent(reader, room, seq) => {
                tell!(to; reader, ", a member, read past event ", (*room, *seq));
                tell!(to; " and did not receive it");
            }
            Self::Rule(rule) => rule.tell(to),
        }
    }
}
