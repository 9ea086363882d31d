//! Outcomes of calls in full: the answer or the refusal.

use sim_model::protocol::{Answer, Attendance, Earlier, Outcome, Refusal};

use super::{Sentence, Tell, With, tell};

impl Tell for Outcome {
    fn tell(&self, to: &mut Sentence) {
        match self {
            Ok(answer) => answer.tell(to),
            Err(refusal) => refusal.tell(to),
        }
    }
}

impl Tell for Refusal {
    fn tell(&self, to: &mut Sentence) {
        tell!(to; "refused with ", self.code);
        With(", to be tried again after ", self.retry_after).tell(to);
        With(", rooms of the caller: ", self.rooms).tell(to);
        match self.earlier {
            Earlier::Unsaid => {}
            Earlier::None => tell!(to; ", without an earlier attempt"),
            Earlier::Unknown => tell!(to; ", with an earlier attempt that may have taken effect"),
        }
    }
}

impl Tell for Answer {
    fn tell(&self, to: &mut Sentence) {
        match self {
            Self::Waiting {
                user,
                position,
                estimated_wait,
            } => {
                tell!(to; "put in the line as ", user, " at place ", position);
                With(", with an estimated wait of ", *estimated_wait).tell(to);
            }
            Self::Matched {
                user,
                room,
                partner,
                shown,
            } => {
                tell!(to; "matched as ", user, " with ", partner, " (", shown, ") in ", room);
            }
            Self::LeftQueue { left: true } => tell!(to; "answered: out of the line"),
            Self::LeftQueue { left: false } => tell!(to; "answered: was not in the line"),
            Self::LoggedIn { user, room } => tell!(to; "let into ", room, " as ", user),
            Self::Sent {
                room,
                room_seq,
                at,
                turns_left,
            } => {
                tell!(to; "accepted as event ", (*room, *room_seq), " (at ", at);
                tell!(to; With(", turns left: ", *turns_left), ")");
            }
            Self::LeftChat => tell!(to; "answered: out of the room"),
            Self::Stick {
                room,
                place,
                epoch,
                holder,
                lease_until,
            } => {
                if *place == 0 {
                    tell!(to; "given the stick of ", room, " as ", holder);
                } else {
                    tell!(to; "put at place ", place, " in line for the stick of ", room);
                    tell!(to; ", which ", holder, " holds");
                }
                tell!(to; " under epoch ", epoch, " until ", lease_until);
            }
            Self::Draft {
                length,
                truncated,
                suffix,
            } => {
                tell!(to; "given a draft of ", length, " characters, with ", truncated, " cut");
                With(", that ends in ", suffix.as_ref()).tell(to);
            }
            Self::OnBreak {
                user,
                stress,
                boss_alert,
                flavour,
            } => {
                tell!(to; "given a break as ", user, ": stress ", stress);
                tell!(to; ", boss alert ", boss_alert, ", text ", flavour);
            }
            Self::Mood { stress, boss_alert } => {
                tell!(to; "answered: stress ", stress, ", boss alert ", boss_alert);
            }
            Self::Arrived { user } => tell!(to; "registered as ", user),
            Self::Done => tell!(to; "accepted"),
            Self::Read { .. } | Self::History { .. } | Self::Members { .. } => tell_read(self, to),
        }
    }
}

/// The answers to reads.
fn tell_read(answer: &Answer, to: &mut Sentence) {
    if let Answer::Read {
        cursor,
        unread,
        notices,
        ..
    } = answer
    {
        tell!(to; "answered up to place ", cursor, ", with ", unread, " unread");
        for notice in notices {
            tell!(to; ", ", notice);
        }
    } else if let Answer::History {
        room,
        messages,
        more,
    } = answer
    {
        tell!(to; "answered with ");
        for message in messages.iter() {
            tell!(to; "message ", (*room, message.room_seq), " from ", message.sender);
            tell!(to; " (shown as ", message.shown, ", at ", message.at);
            tell!(to; With(", under epoch ", message.epoch), "), ", message.text, ", ");
        }
        tell!(to; if *more { "and older ones" } else { "and no older ones" });
    } else if let Answer::Members { room, members } = answer {
        tell!(to; "answered with the members of ", room);
        for member in members.iter() {
            tell!(to; ", ", member.user, " (", member.shown, ", since ", member.since);
            tell!(to; match member.attendance {
                Attendance::Present => ", present)",
                Attendance::Reconnecting => ", reconnecting)",
                Attendance::Away => ", away)",
            });
        }
    }
}
