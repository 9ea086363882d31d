//! The facts that differences compare: calls, operators' actions, events, gaps and notices.

use sim_model::protocol::{
    Command, EnterQueue, LostRange, Membership, Notice, NoticeKind, Op, Read, Room, StickLoss,
    User, Who,
};
use sim_model::server::{Gap, Operate};

use super::{Describe, Sentence, With, describe};
use crate::fact::Fact;
use crate::model::{Body, Event};

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
        if let Self::Command(Command::Login { username, room }) = self {
            describe!(to; " as ", username, " to ", room);
        } else if let Self::Command(Command::EnterQueue(EnterQueue {
            display_name,
            user_id,
            interests,
        })) = self
        {
            With(" as ", display_name.as_ref()).describe(to);
            With(" with the public id ", user_id.as_ref()).describe(to);
            for (index, interest) in interests.iter().enumerate() {
                describe!(to; if index == 0 { " for " } else { ", " }, interest);
            }
        } else if let Self::Command(Command::ReportUser { reason, .. }) = self {
            describe!(to; " for ", reason);
        } else if let Self::Command(Command::TakeBreak { kind, excuse }) = self {
            describe!(to; ": ", kind.name(), With(" for ", excuse.as_ref()));
        } else if let Self::Read {
            read: Read::Check {
                after: Some(after), ..
            },
            ..
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
        let place = (self.room, self.room_seq.0);
        if let Body::Message {
            sender,
            text,
            epoch,
        } = &self.body
        {
            describe!(to; "message ", place, " from ", sender.id, ", ", text);
            With(", under epoch ", *epoch).describe(to);
        } else {
            describe!(to; "event ", place, ", ");
            happened(&self.body, to);
        }
        describe!(to; " (at ", self.at, ")");
    }
}

/// Describes an event that is no message.
fn happened(body: &Body, to: &mut Sentence) {
    match body {
        Body::Found(pair) => describe!(to; pair[0].id, " was matched with ", pair[1].id),
        Body::Message { .. } => {}
        Body::PartnerDisconnected(reason) => describe!(to; "the chat ended: ", reason.name()),
        Body::PartnerAway(who) => describe!(to; who.id, " lost its last stream"),
        Body::PartnerReconnected(who) => describe!(to; who.id, " is connected again"),
        Body::Joined(who) => describe!(to; who.id, " joined"),
        Body::Left(who) => describe!(to; who.id, " left"),
        Body::Away(who) => describe!(to; who.id, " went away"),
        Body::Back(who) => describe!(to; who.id, " came back"),
        Body::StickClaimed { user, place } => {
            describe!(to; user.id, " claimed the stick, place ", place);
        }
        Body::StickGranted { user, epoch, lease } => {
            describe!(to; user.id, " was granted the stick, epoch ", epoch, ", for ", lease);
        }
        Body::StickReleased { user, epoch } => {
            describe!(to; user.id, " released the stick, epoch ", epoch);
        }
        Body::StickExpired { user, epoch } => {
            describe!(to; user.id, " lost the stick, epoch ", epoch, ": the lease ran out");
        }
        Body::Muted { user, reason } => {
            describe!(to; "an operator muted ", user.id, " for ", reason);
        }
        Body::Kicked { user, reason } => {
            describe!(to; "an operator kicked ", user.id, " for ", reason);
        }
        Body::Closed { reason } => describe!(to; "an operator closed the room for ", reason),
    }
}

/// The participants that an event names, as they are shown.
pub(super) struct Names<'a>(pub(super) &'a Event);

impl Describe for Names<'_> {
    fn describe(&self, to: &mut Sentence) {
        for (index, who) in self.0.body.named().iter().enumerate() {
            describe!(to; if index == 0 { "" } else { " and " }, &**who);
        }
    }
}

/// How a participant is shown.
impl Describe for Who {
    fn describe(&self, to: &mut Sentence) {
        describe!(to; self.name, With(" with the public id ", self.chosen_id.as_ref()));
    }
}

impl Describe for (Room, Notice) {
    fn describe(&self, to: &mut Sentence) {
        let (room, Notice { user, kind, at }) = self;
        describe!(to; "the notice that ", user.id);
        match kind {
            NoticeKind::Typing => describe!(to; " is typing in ", room),
            NoticeKind::Waiting(span) => describe!(to; " has waited ", span, " in ", room),
        }
        describe!(to; " (shown as ", &**user, ", at ", at, ")");
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
            describe!(to; ", the chat ended: ", reason.name());
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
