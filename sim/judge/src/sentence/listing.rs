//! The items of the lists that operators read.

use chat_types::{Counts, Floor, Report, RoomView};
use sim_model::listing::{Kept, Listed, ListedParticipant, Measure, Target};
use sim_model::protocol::{Attendance, Body, User};

use super::{Describe, Sentence, With, describe};

impl Describe for Listed {
    fn describe(&self, to: &mut Sentence) {
        match self {
            Self::Totals(counts) => counts.describe(to),
            Self::Participant(listed) => listed.describe(to),
            Self::Room(listed) => listed.describe(to),
            Self::Measure(target, measure) => describe!(to; measure, " of ", target),
            Self::Report(report) => report.describe(to),
            Self::Kept(kept) => kept.describe(to),
        }
    }
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "only a message is expected here"
)]
impl Describe for Kept {
    fn describe(&self, to: &mut Sentence) {
        match self {
            Self::Room { room, last, name } => {
                describe!(to; *room, With(" ", name.as_ref()), ", whose last event is ", *last);
            }
            Self::Member { room, who, since } => {
                describe!(to; who.id, " (", &**who, "), a member of ", *room, " since ", *since);
            }
            Self::Message(event) => match &event.body {
                Body::Message {
                    sender,
                    text,
                    epoch,
                } => {
                    let place = (event.room, event.room_seq.0);
                    describe!(to; "message ", place, " from ", sender.id, " (", &**sender, "), ", text);
                    describe!(to; With(", under epoch ", *epoch), " (at ", event.at, ")");
                }
                _ => event.describe(to),
            },
        }
    }
}

impl Describe for ListedParticipant {
    fn describe(&self, to: &mut Sentence) {
        let view = &self.view;
        describe!(to; view.who.id, " (", &*view.who, "), ", match view.presence {
            Attendance::Present => "present",
            Attendance::Reconnecting => "reconnecting",
            Attendance::Away => "away",
        });
        describe!(to; ", streams: ", view.streams, ", address ", view.address);
        for (index, room) in view.rooms.iter().enumerate() {
            describe!(to; if index == 0 { ", in " } else { " and " }, *room);
        }
        With(", in the line since ", view.waiting_since).describe(to);
        if view.is_muted {
            ", muted".describe(to);
        }
        for standing in &self.standings {
            standing.describe(to);
        }
        describe!(to; ", unread events: ", self.unread);
        describe!(to; ", found by number as ", Found(self.by_number));
        describe!(to; ", by id as ", Found(self.by_id), ", by name as ", Found(self.by_name));
    }
}

impl Describe for Counts {
    fn describe(&self, to: &mut Sentence) {
        describe!(to; "participants: ", self.participants as u64);
        describe!(to; ", of one address: ", self.of_one_address as u64);
        describe!(to; ", rooms: ", self.rooms as u64, ", waiting: ", self.waiting as u64);
        With(" since ", self.first_waits_since).describe(to);
        With(", mean wait: ", self.recent_wait).describe(to);
    }
}

impl Describe for Floor {
    fn describe(&self, to: &mut Sentence) {
        describe!(to; if self.needs_stick { ", with" } else { ", without" }, " need of the stick");
        With(" at place ", self.place).describe(to);
        describe!(to; " under epoch ", self.epoch);
        describe!(to; if self.has_draft { " with a draft" } else { "" });
    }
}

/// The result of a look-up.
struct Found(Option<User>);

impl Describe for Found {
    fn describe(&self, to: &mut Sentence) {
        match self.0 {
            Some(user) => user.describe(to),
            None => "nobody".describe(to),
        }
    }
}

impl Describe for RoomView {
    fn describe(&self, to: &mut Sentence) {
        describe!(to; self.id, " (", self.name, "), members: ", self.members as u64);
        match self.holder.zip(self.lease_until) {
            Some(((epoch, user), until)) => {
                describe!(to; ", held by ", user, " under epoch ", epoch, " until ", until);
            }
            None => describe!(to; ", free"),
        }
        describe!(to; ", claims: ", self.stick_line as u64);
        for (index, user) in self.next_in_line.iter().enumerate() {
            describe!(to; if index == 0 { ", of " } else { " and " }, *user);
        }
    }
}

impl Describe for Target {
    fn describe(&self, to: &mut Sentence) {
        match self {
            Self::Name(name) => describe!(to; "the name ", name),
            Self::Handle(who) => describe!(to; "the handle of ", who.id, " (", &**who, ")"),
            Self::Address(address) => describe!(to; "address ", address),
        }
    }
}

impl Describe for Measure {
    fn describe(&self, to: &mut Sentence) {
        let what = if self.is_ban {
            "the ban (at "
        } else {
            "the mute (at "
        };
        describe!(to; what, self.at, ", for ", &self.reason, ")");
    }
}

impl Describe for Report {
    fn describe(&self, to: &mut Sentence) {
        describe!(to; self.by, "'s report of ", self.about, " from address ", self.from);
        describe!(to; " for ", &self.reason, " (at ", self.at, ")");
    }
}
