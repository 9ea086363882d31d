//! Outcomes of calls in full: the answer or the refusal.

use std::sync::Arc;

use sim_model::protocol::{
    Answer, Attendance, Body, Earlier, Event, Refusal, Reply, Response, Room, WasWaiting,
};

use super::{Describe, Sentence, With, describe};

impl<T: Describe> Describe for Result<T, Refusal> {
    fn describe(&self, to: &mut Sentence) {
        match self {
            Ok(answer) => answer.describe(to),
            Err(refusal) => refusal.describe(to),
        }
    }
}

impl Describe for Refusal {
    fn describe(&self, to: &mut Sentence) {
        describe!(to; "refused with ", self.code);
        With(", to be tried again after ", self.retry_after).describe(to);
        With(", with the number ", self.number).describe(to);
        match self.earlier {
            Earlier::Unasked => {}
            Earlier::None => describe!(to; ", without an earlier attempt"),
            Earlier::Unknown => {
                describe!(to; ", with an earlier attempt that may have taken effect")
            }
        }
    }
}

impl Describe for Response {
    fn describe(&self, to: &mut Sentence) {
        match self {
            Self::Done(reply) => reply.describe(to),
            Self::Read(answer) => answer.describe(to),
            Self::Streaming => describe!(to; "accepted"),
        }
    }
}

impl Describe for Reply {
    fn describe(&self, to: &mut Sentence) {
        match self {
            Self::Waiting {
                user,
                position,
                estimated_wait,
            } => {
                describe!(to; "put in the line as ", user, " at place ", position);
                With(", with an estimated wait of ", *estimated_wait).describe(to);
            }
            Self::Matched {
                user,
                room,
                partner,
            } => {
                describe!(to; "matched as ", user, " with ", partner.id, " (", &**partner, ") in ", room);
            }
            Self::LeftQueue { left } => describe!(to; match left {
                WasWaiting::Yes => "answered: out of the line",
                WasWaiting::No => "answered: was not in the line",
            }),
            Self::LoggedIn { user, room } => describe!(to; "let into ", room, " as ", user),
            Self::Sent {
                room,
                room_seq,
                at,
                turns_left,
            } => {
                describe!(to; "accepted as event ", (*room, room_seq.0), " (at ", at);
                describe!(to; With(", turns left: ", *turns_left), ")");
            }
            Self::LeftChat => describe!(to; "answered: out of the room"),
            Self::Stick {
                room,
                place,
                epoch,
                holder,
                lease_until,
            } => {
                if *place == 0 {
                    describe!(to; "given the stick of ", room, " as ", holder);
                } else {
                    describe!(to; "put at place ", place, " in line for the stick of ", room);
                    describe!(to; ", which ", holder, " holds");
                }
                describe!(to; " under epoch ", epoch, " until ", lease_until);
            }
            Self::Draft {
                length,
                cut,
                suffix,
            } => {
                describe!(to; "given a draft of ", length, " characters, with ", cut, " cut");
                With(", that ends in ", suffix.as_ref()).describe(to);
            }
            Self::OnBreak {
                user,
                stress,
                boss_alert,
                flavour,
                ..
            } => {
                describe!(to; "given a break as ", user, ": stress ", stress);
                describe!(to; ", boss alert ", boss_alert, ", text ", flavour);
            }
            Self::Done => describe!(to; "accepted"),
            Self::Lifted { found: true } => describe!(to; "answered: a measure is lifted"),
            Self::Lifted { found: false } => describe!(to; "answered: there was nothing to lift"),
        }
    }
}

impl Describe for Answer {
    fn describe(&self, to: &mut Sentence) {
        match self {
            Self::Page { page, notices } => {
                describe!(to; "answered up to place ", page.cursor.0, ", with ", page.unread, " unread");
                for notice in notices {
                    describe!(to; ", ", notice);
                }
            }
            Self::Members { room, members } => {
                describe!(to; "answered with the members of ", room);
                for member in members {
                    describe!(to; ", ", member.who.id, " (", &*member.who, ", since ", member.since);
                    describe!(to; match member.presence {
                        Attendance::Present => ", present)",
                        Attendance::Reconnecting => ", reconnecting)",
                        Attendance::Away => ", away)",
                    });
                }
            }
            Self::History {
                room,
                messages,
                more,
            } => tell_history(*room, messages, *more, to),
            Self::Mood { stress, boss_alert } => {
                describe!(to; "answered: stress ", stress, ", boss alert ", boss_alert);
            }
        }
    }
}

fn tell_history(room: Room, messages: &[Arc<Event>], more: bool, to: &mut Sentence) {
    describe!(to; "answered with ");
    for message in messages {
        if let Body::Message {
            sender,
            text,
            epoch,
        } = &message.body
        {
            describe!(to; "message ", (room, message.room_seq.0), " from ", sender.id);
            describe!(to; " (shown as ", &**sender, ", at ", message.at);
            describe!(to; With(", under epoch ", *epoch), "), ", text, ", ");
        } else {
            describe!(to; &**message, ", ");
        }
    }
    describe!(to; if more { "and older ones" } else { "and no older ones" });
}
