//! The facts that differences compare: calls, operators' actions, events, gaps and notices.

use std::sync::Arc;

use sim_model::protocol::{
    LostRange, Membership, Moderated, Notice, NoticeKind, Op, Presence, Shown, StickChange,
    StickLoss, User,
};
use sim_model::server::{Gap, Operate};

use super::{Describe, Sentence, With, describe};
use crate::fact::Fact;
use crate::model::{Event, EventKind};

/// The caller of a call.
pub(super) struct By(pub(super) Option<User>);

impl Describe for By {
    fn describe(&self, to: &mut Sentence) {
        match self.0 {
            Some(user) => describe!(to; user, "'s "),
            None => describe!(to; "an unregistered client's "),
        }
    }
}

impl Describe for Op {
    fn describe(&self, to: &mut Sentence) {
        describe!(to; self.verb(), With(" of ", self.text()), With(" of ", self.about()));
        describe!(to; With(" in ", self.room().flatten()), With(" under epoch ", self.epoch()));
        if let Self::Login { username, room } = self {
            describe!(to; " as ", username, " to ", room);
        } else if let Self::EnterQueue {
            display_name,
            user_id,
            interests,
        } = self
        {
            With(" as ", display_name.as_ref()).describe(to);
            With(" with the public id ", user_id.as_ref()).describe(to);
            for (index, interest) in interests.iter().enumerate() {
                describe!(to; if index == 0 { " for " } else { ", " }, interest);
            }
        } else if let Self::Report { reason, .. } = self {
            describe!(to; " for ", reason);
        } else if let Self::Break { kind, excuse } = self {
            describe!(to; ": ", kind.name(), With(" for ", excuse.as_ref()));
        } else if let Self::Check {
            after: Some(after), ..
        } = self
        {
            describe!(to; " after place ", after);
        }
    }
}

impl Describe for Operate {
    fn describe(&self, to: &mut Sentence) {
        describe!(to; "an operator's ");
        match self {
            Self::Mute { user, .. } => describe!(to; "mute of ", user),
            Self::Unmute { user } => describe!(to; "unmute of ", user),
            Self::Kick { user, room, .. } => describe!(to; "kick of ", user, " out of ", room),
            Self::Close { room, .. } => describe!(to; "close of ", room),
            Self::BanUser { user, .. } => describe!(to; "ban of ", user),
            Self::Unban { name } => describe!(to; "unban of ", name),
            Self::MuteAddress { address, .. } => describe!(to; "mute of address ", address),
            Self::BanAddress { address, .. } => describe!(to; "ban of address ", address),
            Self::UnbanAddress { address } => describe!(to; "unban of address ", address),
        }
    }
}

impl Describe for Event {
    fn describe(&self, to: &mut Sentence) {
        let place = (self.room, self.room_seq);
        if let EventKind::Message {
            sender,
            text,
            epoch,
        } = &self.what
        {
            describe!(to; "message ", place, " from ", sender, ", ", text);
            With(", under epoch ", *epoch).describe(to);
        } else {
            describe!(to; "event ", place, ", ");
            self.happened(to);
        }
        describe!(to; " (at ", self.at, ")");
    }
}

impl Event {
    /// The participants that it names, as they are shown.
    pub(super) fn shown(&self) -> impl Iterator<Item = &Shown<Arc<str>>> {
        self.named.iter().flatten().map(|(_, shown)| shown.as_ref())
    }

    /// Describes the event, unless it is a message.
    fn happened(&self, to: &mut Sentence) {
        let partner = self.named[0].as_ref().map(|(user, _)| *user);
        match &self.what {
            EventKind::Found { pair } => describe!(to; pair[0], " was matched with ", pair[1]),
            EventKind::Message { .. } => {}
            EventKind::Ended { reason } => describe!(to; "the chat ended: ", reason.as_str()),
            EventKind::PartnerAway => describe!(to; partner, " lost its last stream"),
            EventKind::PartnerBack => describe!(to; partner, " is connected again"),
            EventKind::Member { user, change } => describe!(to; user, match change {
                Presence::Joined => " joined",
                Presence::Left => " left",
                Presence::Away => " went away",
                Presence::Back => " came back",
            }),
            EventKind::Stick { user, change } => match change {
                StickChange::Claimed { place } => {
                    describe!(to; user, " claimed the stick, place ", place);
                }
                StickChange::Granted { epoch, lease } => {
                    describe!(to; user, " was granted the stick, epoch ", epoch, ", for ", lease);
                }
                StickChange::Released { epoch } => {
                    describe!(to; user, " released the stick, epoch ", epoch);
                }
                StickChange::Expired { epoch } => {
                    describe!(to; user, " lost the stick, epoch ", epoch, ": the lease ran out");
                }
            },
            EventKind::Moderation { user, act, reason } => {
                describe!(to; "an operator ", match act {
                    Moderated::Muted => "muted ",
                    Moderated::Kicked => "kicked ",
                    Moderated::Closed => "closed the room",
                });
                describe!(to; With("", *user), " for ", reason);
            }
        }
    }
}

/// The participants that an event names, as they are shown.
pub(super) struct Names<'a>(pub(super) &'a Event);

impl Describe for Names<'_> {
    fn describe(&self, to: &mut Sentence) {
        for (index, shown) in self.0.shown().enumerate() {
            describe!(to; if index == 0 { "" } else { " and " }, shown);
        }
    }
}

impl Describe for Shown<Arc<str>> {
    fn describe(&self, to: &mut Sentence) {
        describe!(to; self.name, With(" with the public id ", self.chosen_id.as_ref()));
    }
}

impl Describe for Notice {
    fn describe(&self, to: &mut Sentence) {
        describe!(to; "the notice that ", self.user);
        match self.kind {
            NoticeKind::Typing => describe!(to; " is typing in ", self.room),
            NoticeKind::Waiting(span) => describe!(to; " has waited ", span, " in ", self.room),
        }
        describe!(to; " (shown as ", self.shown, ", at ", self.at, ")");
    }
}

impl Describe for Gap {
    fn describe(&self, to: &mut Sentence) {
        describe!(to; "a gap from place ", self.from, " to ", self.to);
        for (index, range) in self.rooms.iter().enumerate() {
            describe!(to; if index == 0 { " (" } else { "; " }, range);
        }
        if self.rooms_omitted {
            describe!(to; if self.rooms.is_empty() { " (" } else { "; " }, "rooms that are not named");
        }
        if self.rooms_omitted || !self.rooms.is_empty() {
            describe!(to; ")");
        }
    }
}

impl Describe for LostRange {
    fn describe(&self, to: &mut Sentence) {
        describe!(to; "events ", self.from, " to ", self.to, " of ", self.room);
        if self.messages > 0 {
            describe!(to; ", messages: ", self.messages);
        }
        if let Some(membership) = self.you {
            describe!(to; match membership {
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
            describe!(to; what, epoch);
        }
        if self.members_changed {
            describe!(to; ", others came or went");
        }
        if self.stick_changed {
            describe!(to; ", others' stick changed");
        }
        if let Some(reason) = self.ended {
            describe!(to; ", the chat ended: ", reason.as_str());
        }
    }
}

impl Describe for Fact {
    fn describe(&self, to: &mut Sentence) {
        match self {
            Self::Received(reader, seq, event) => {
                describe!(to; reader, " received ", event, " at place ", seq, " of its inbox");
            }
            Self::Accepted(sender, room, seq) => {
                describe!(to; sender, "'s message was accepted as event ", (*room, *seq));
            }
            Self::Answered(user, verb, outcome) => {
                describe!(to; user, "'s ", *verb, " was ", outcome)
            }
            Self::Vacant(reader, seq) => {
                describe!(to; "place ", seq, " of ", reader, "'s inbox did not arrive");
            }
            Self::Absent(reader, room, seq) => {
                describe!(to; reader, ", a member, read past event ", (*room, *seq));
                describe!(to; " and did not receive it");
            }
            Self::Rule(rule) => rule.describe(to),
        }
    }
}
