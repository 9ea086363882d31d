//! The facts that differences compare: calls and their outcomes in full, operators' actions, events,
//! gaps, notices, and the items of the lists that operators read.

use std::sync::Arc;

use chat_types::{Ban, Counts, Floor, Measure, MeasureTarget, Report, RoomView};
use sim_model::listing::{Kept, Listed, ListedParticipant};
use sim_model::protocol::{
    Answer, Attendance, Body, Command, Earlier, EnterQueue, Event, LostRange, Member, Membership,
    Notice, NoticeKind, Op, Read, Refusal, Reply, Response, Room, StickLoss, User, WasWaiting, Who,
};
use sim_model::server::{Gap, Operate};

use super::{Describe, Each, Sentence, With, phrases};
use crate::difference::Fact;

/// What is particular about a call.
struct Particulars<'a>(&'a Op);

/// A message that a room keeps, with its content.
struct KeptMessage<'a>(&'a Event, &'a Body);

/// The result of a look-up.
struct Found(Option<User>);

phrases! {
    Op {
        op => op.verb(), With(" of ", op.text()), With(" of ", op.about()),
            With(" in ", op.room().flatten()), With(" under epoch ", op.epoch()), Particulars(op);
    }

    Particulars<'_> {
        Self(Op::Command(Command::Login { username, room })) => " as ", username, " to ", room;
        Self(Op::Command(Command::EnterQueue(EnterQueue { display_name, user_id, interests }))) =>
            With(" as ", display_name.as_ref()), With(" with the public id ", user_id.as_ref()),
            Each(" for ", ", ", interests);
        Self(Op::Command(Command::ReportUser { reason, .. })) => " for ", reason;
        Self(Op::Command(Command::TakeBreak { kind, excuse })) =>
            ": ", kind.name(), With(" for ", excuse.as_ref());
        Self(Op::Read { read: Read::Check { after, .. }, .. }) => With(" after place ", *after);
        Self(_) => "";
    }

    Operate {
        Self::Mute { user, .. } => "an operator's mute of ", user;
        Self::Unmute { user } => "an operator's unmute of ", user;
        Self::Kick { user, room, .. } => "an operator's kick of ", user, " out of ", room;
        Self::Close { room, .. } => "an operator's close of ", room;
        Self::BanUser { user, .. } => "an operator's ban of ", user;
        Self::Unban { name } => "an operator's unban of ", name;
        Self::MuteAddress { address, .. } => "an operator's mute of address ", address;
        Self::BanAddress { address, .. } => "an operator's ban of address ", address;
        Self::UnbanAddress { address } => "an operator's unban of address ", address;
    }

    Event {
        event => if event.body.message().is_some() { "message " } else { "event " },
            (event.room, event.room_seq.0), event.body, " (at ", event.at, ")";
    }

    Body {
        Self::Found(pair) => ", ", pair[0].id, " was matched with ", pair[1].id;
        Self::Message { sender, text, epoch, to } =>
            " from ", sender.id, Each(" to ", " and ", to), ", ", text, With(", under epoch ", *epoch);
        Self::PartnerDisconnected(reason) => ", the chat ended: ", reason.name();
        Self::PartnerAway(who) => ", ", who.id, " lost its last stream";
        Self::PartnerReconnected(who) => ", ", who.id, " is connected again";
        Self::Joined(who) => ", ", who.id, " joined";
        Self::Left(who) => ", ", who.id, " left";
        Self::Away(who) => ", ", who.id, " went away";
        Self::Back(who) => ", ", who.id, " came back";
        Self::StickClaimed { user, place } => ", ", user.id, " claimed the stick, place ", place;
        Self::StickGranted { user, epoch, lease } =>
            ", ", user.id, " was granted the stick, epoch ", epoch, ", for ", lease;
        Self::StickReleased { user, epoch } =>
            ", ", user.id, " released the stick, epoch ", epoch;
        Self::StickExpired { user, epoch } =>
            ", ", user.id, " lost the stick, epoch ", epoch, ": the lease ran out";
        Self::Muted { user, reason } => ", an operator muted ", user.id, " for ", reason;
        Self::Kicked { user, reason } => ", an operator kicked ", user.id, " for ", reason;
        Self::Closed { reason } => ", an operator closed the room for ", reason;
    }

    // How a participant is shown.
    Who {
        who => who.name, With(" with the public id ", who.chosen_id.as_ref());
    }

    (Room, Notice) {
        (room, Notice { user, kind, at }) =>
            "the notice that ", user.id, kind, " in ", room, " (shown as ", user, ", at ", at, ")";
    }

    NoticeKind {
        Self::Typing => " is typing";
        Self::Waiting(span) => " has waited ", span;
    }

    Gap {
        Self { from, to, rooms, rooms_omitted } =>
            "a gap from place ", from, " to ", to, Each(" (", "; ", rooms),
            match (rooms.is_empty(), rooms_omitted) {
                (true, false) => "",
                (false, false) => ")",
                (true, true) => " (rooms that are not named)",
                (false, true) => "; rooms that are not named)",
            };
    }

    LostRange {
        range => "events ", range.from, " to ", range.to, " of ", range.room,
            With(", messages: ", (range.messages > 0).then_some(range.messages)),
            With("", range.you), With("", range.stick),
            if range.members_changed { ", others came or went" } else { "" },
            if range.stick_changed { ", others' stick changed" } else { "" },
            With(", the chat ended: ", range.ended.map(|reason| reason.name()));
    }

    Membership {
        Self::Matched => ", the reader was matched";
        Self::Joined => ", the reader joined";
        Self::Left => ", the reader left";
        Self::Kicked => ", the reader was kicked";
    }

    StickLoss {
        Self::Granted(epoch) => ", the reader was granted the stick, epoch ", epoch;
        Self::Released(epoch) => ", the reader released the stick, epoch ", epoch;
        Self::Expired(epoch) => ", the reader's lease ran out, epoch ", epoch;
    }

    Fact {
        Self::Received(reader, seq, event) =>
            reader, " received ", event, " at place ", seq, " of its inbox";
        Self::Accepted(sender, room, seq) =>
            sender, "'s message was accepted as event ", (*room, *seq);
        Self::Answered(user, verb, outcome) => user, "'s ", verb, " was ", outcome;
        Self::Vacant(reader, seq) => "place ", seq, " of ", reader, "'s inbox did not arrive";
        Self::Absent(reader, room, seq) =>
            reader, ", a member, read past event ", (*room, *seq), " and did not receive it";
        Self::Rule(rule) => rule;
    }

    Listed {
        Self::Totals(counts) => counts;
        Self::Participant(listed) => listed;
        Self::Room(listed) => listed;
        Self::Measure(target, ban) => ban, " of ", target;
        Self::Report(report) => report;
        Self::Kept(kept) => kept;
    }

    Kept {
        Self::Room { room, last, name } =>
            room, With(" ", name.as_ref()), ", whose last event is ", last;
        Self::Member { room, who, since } =>
            who.id, " (", who, "), a member of ", room, " since ", since;
        Self::Message(event) => KeptMessage(event, &event.body);
    }

    KeptMessage<'_> {
        Self(event, Body::Message { sender, text, epoch, to }) =>
            "message ", (event.room, event.room_seq.0), " from ", sender.id, " (", sender, ")",
            Each(" to ", " and ", to), ", ", text, With(", under epoch ", *epoch), " (at ", event.at, ")";
        Self(event, _) => event;
    }

    ListedParticipant {
        Self { view, standings, unread, by_number, by_id, by_name } =>
            view.who.id, " (", view.who, "), ", view.presence, ", streams: ", view.streams,
            ", address ", view.address, Each(", in ", " and ", &view.rooms),
            With(", in the line since ", view.waiting_since),
            if view.is_muted { ", muted" } else { "" },
            Each("", "", standings), ", unread events: ", unread,
            ", found by number as ", Found(*by_number), ", by id as ", Found(*by_id),
            ", by name as ", Found(*by_name);
    }

    Attendance {
        Self::Present => "present";
        Self::Reconnecting => "reconnecting";
        Self::Away => "away";
    }

    Counts {
        counts => "participants: ", counts.participants,
            ", of one address: ", counts.of_one_address, ", rooms: ", counts.rooms,
            ", waiting: ", counts.waiting, With(" since ", counts.first_waits_since),
            With(", mean wait: ", counts.recent_wait);
    }

    Floor {
        floor => if floor.needs_stick { ", with" } else { ", without" }, " need of the stick",
            With(" at place ", floor.place), " under epoch ", floor.epoch,
            if floor.has_draft { " with a draft" } else { "" };
    }

    Found {
        Self(Some(user)) => user;
        Self(None) => "nobody";
    }

    RoomView {
        room => room.id, " (", room.name, "), members: ", room.members, Holder(room),
            ", claims: ", room.stick_line, Each(", of ", " and ", &room.next_in_line);
    }

    Holder<'_> {
        Self(RoomView { holder: Some((epoch, user)), lease_until: Some(until), .. }) =>
            ", held by ", user, " under epoch ", epoch, " until ", until;
        Self(_) => ", free";
    }

    MeasureTarget {
        Self::Name(name) => "the name ", name;
        Self::Handle(who) => "the handle of ", who.id, " (", who, ")";
        Self::Address(address) => "address ", address;
    }

    Ban {
        Self { measure, at, by, reason } => measure, " by ", by, " (at ", at, ", for ", reason, ")";
    }

    Measure {
        Self::Mute => "the mute";
        Self::Ban => "the ban";
    }

    Report {
        Self { at, by, about, from, reason } => by, "'s report of ", about,
            " from address ", from, " for ", reason, " (at ", at, ")";
    }
}

/// Who holds the stick of a listed room.
struct Holder<'a>(&'a RoomView);

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
        Self { who, since, presence, read_to } =>
            who.id, " (", who, ", since ", since, ", ", presence, ", has read up to ", read_to, ")";
    }

    PastMessage<'_> {
        Self(room, event, Body::Message { sender, text, epoch, to }) =>
            "message ", (*room, event.room_seq.0), " from ", sender.id, Each(" to ", " and ", to), " (shown as ", sender,
            ", at ", event.at, With(", under epoch ", *epoch), "), ", text, ", ";
        Self(_, event, _) => event, ", ";
    }
}

fn past(room: Room, messages: &[Arc<Event>]) -> Vec<PastMessage<'_>> {
    let past = messages.iter();
    past.map(|event| PastMessage(room, event, &event.body))
        .collect()
}
