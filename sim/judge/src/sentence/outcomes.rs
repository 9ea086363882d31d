//! Outcomes of calls in full: the answer or the refusal.

use std::sync::Arc;

use sim_model::protocol::{
    Answer, Body, Earlier, Event, Member, Refusal, Reply, Response, Room, WasWaiting,
};

use super::{Describe, Each, Sentence, With, phrases};

impl<T: Describe> Describe for Result<T, Refusal> {
    fn describe(&self, to: &mut Sentence) {
        match self {
            Ok(answer) => answer.describe(to),
            Err(refusal) => refusal.describe(to),
        }
    }
}

/// A message in a room's history, with its content.
struct PastMessage<'a>(Room, &'a Event, &'a Body);

phrases! {
    Refusal {
        refusal => "refused with ", refusal.code,
            With(", to be tried again after ", refusal.retry_after),
            With(", with the number ", refusal.number), refusal.earlier;
    }

    Earlier {
        Self::Unasked => "";
        Self::None => ", without an earlier attempt";
        Self::Unknown => ", with an earlier attempt that may have taken effect";
    }

    Response {
        Self::Done(reply) => reply;
        Self::Read(answer) => answer;
        Self::Streaming => "accepted";
    }

    Reply {
        Self::Waiting { user, position, estimated_wait } =>
            "put in the line as ", user, " at place ", position,
            With(", with an estimated wait of ", *estimated_wait);
        Self::Matched { user, room, partner } =>
            "matched as ", user, " with ", partner.id, " (", partner, ") in ", room;
        Self::LeftQueue { left: WasWaiting::Yes } => "answered: out of the line";
        Self::LeftQueue { left: WasWaiting::No } => "answered: was not in the line";
        Self::LoggedIn { user, room } => "let into ", room, " as ", user;
        Self::Sent { room, room_seq, at, turns_left } =>
            "accepted as event ", (*room, room_seq.0), " (at ", at,
            With(", turns left: ", *turns_left), ")";
        Self::LeftChat => "answered: out of the room";
        Self::Stick { room, place: 0, epoch, holder, lease_until } =>
            "given the stick of ", room, " as ", holder, " under epoch ", epoch,
            " until ", lease_until;
        Self::Stick { room, place, epoch, holder, lease_until } =>
            "put at place ", place, " in line for the stick of ", room, ", which ", holder,
            " holds under epoch ", epoch, " until ", lease_until;
        Self::Draft { length, cut, suffix } =>
            "given a draft of ", length, " characters, with ", cut, " cut",
            With(", that ends in ", suffix.as_ref());
        Self::OnBreak { user, stress, boss_alert, flavour, .. } =>
            "given a break as ", user, ": stress ", stress, ", boss alert ", boss_alert,
            ", text ", flavour;
        Self::Done => "accepted";
        Self::Lifted { found: true } => "answered: a measure is lifted";
        Self::Lifted { found: false } => "answered: there was nothing to lift";
    }

    Answer {
        Self::Page { page, notices } =>
            "answered up to place ", page.cursor, ", with ", page.unread, " unread",
            Each(", ", ", ", notices);
        Self::Members { room, members } =>
            "answered with the members of ", room, Each(", ", ", ", members);
        Self::History { room, messages, more } =>
            "answered with ", Each("", "", &past(*room, messages)),
            if *more { "and older ones" } else { "and no older ones" };
        Self::Mood { stress, boss_alert } =>
            "answered: stress ", stress, ", boss alert ", boss_alert;
    }

    Member {
        Self { who, since, presence } =>
            who.id, " (", who, ", since ", since, ", ", presence, ")";
    }

    PastMessage<'_> {
        Self(room, event, Body::Message { sender, text, epoch }) =>
            "message ", (*room, event.room_seq.0), " from ", sender.id, " (shown as ", sender,
            ", at ", event.at, With(", under epoch ", *epoch), "), ", text, ", ";
        Self(_, event, _) => event, ", ";
    }
}

fn past(room: Room, messages: &[Arc<Event>]) -> Vec<PastMessage<'_>> {
    let past = messages.iter();
    past.map(|event| PastMessage(room, event, &event.body))
        .collect()
}
