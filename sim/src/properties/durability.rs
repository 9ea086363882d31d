//! What was accepted before a crash is there after it: messages, memberships, handles, cursors,
//! and drafts. That no place, seq or epoch is used again shows where these are compared, in
//! `room_order` and `stick_order`, which blame this property if a crash came in between.

use super::findings::{Findings, Property, name};
use super::ledger::Ledger;
use super::ledger::draft::Length;
use super::ledger::room::RoomKind;
use super::ledger::stays::{Lack, Missing};
use crate::protocol::{Op, Refusal, Room, User};

/// The property.
#[derive(Clone, Debug, Default)]
pub(crate) struct Durability {
    pub(crate) checks: u64,
}

impl Durability {
    /// Somebody's inbox is drained: so many of its messages were accepted before a crash and
    /// received after it, and these never arrived.
    pub(crate) fn drained(
        &mut self,
        l: &Ledger,
        user: User,
        survived: u64,
        lacks: &[Lack],
        f: &mut Findings,
    ) {
        self.checks += survived;
        for lack in lacks {
            let accepted =
                matches!(lack.what, Missing::Message { .. }) && lack.entry.claim.is_some();
            if accepted && lack.entry.era < l.clock.era {
                self.checks += 1;
                f.blame(Property::Durability, l.clock.now, &[user], || {
                    format!(
                        "message {} of room_{} was accepted before a crash, and {} never \
                         received it",
                        lack.seq,
                        lack.room.0,
                        name(user)
                    )
                });
            }
        }
    }

    /// A call succeeded: whoever called was registered before a crash, and still is.
    pub(crate) fn accepted(&mut self, l: &mut Ledger, person: usize) {
        let era = l.clock.era;
        let person = &mut l.people[person];
        if person.era < era {
            person.era = era;
            self.checks += 1;
        }
    }

    /// A call was refused: it must not be for want of what a crash took away.
    pub(crate) fn refused(
        &mut self,
        l: &Ledger,
        person: usize,
        op: &Op,
        refusal: &Refusal,
        f: &mut Findings,
    ) {
        let someone = &l.people[person];
        if l.clock.era == 0 || someone.operated {
            return;
        }
        let idle = l.clock.now.since(someone.served_at) + l.clock.jumped;
        let lost = match refusal.code {
            "unknown_handle" => someone.era < l.clock.era && idle < l.config.forget_after,
            "invalid_cursor" => matches!(
                op, Op::Check { after: Some(after), .. } if *after <= someone.inbox.before_crash
            ),
            "not_in_room" | "room_not_found" => {
                room_of(op).is_some_and(|room| was_in(l, person, room))
            }
            _ => false,
        };
        if lost {
            f.blame(Property::Durability, l.clock.now, &[someone.user], || {
                format!(
                    "{} was refused with {} for something that it had before the crash",
                    name(someone.user),
                    refusal.code
                )
            });
        }
    }

    /// The server said how long a draft is.
    pub(crate) fn draft(&mut self, l: &Ledger, user: User, length: Length, f: &mut Findings) {
        match length {
            Length::AsExpected { since_crash: true } => self.checks += 1,
            Length::LostInCrash { expected } => {
                f.blame(Property::Durability, l.clock.now, &[user], || {
                    format!(
                        "{}'s draft should have {expected} characters, and is shorter after the \
                         crash",
                        name(user)
                    )
                });
            }
            Length::AsExpected { since_crash: false } | Length::Longer { .. } | Length::Unsure => {}
        }
    }
}

/// Whether somebody was in a room before the last crash, and nothing is known that ended it.
fn was_in(l: &Ledger, person: usize, room: Room) -> bool {
    let someone = &l.people[person];
    let Some(stay) = someone
        .latest_stay(room)
        .map(|index| &someone.memberships[index])
    else {
        return false;
    };
    let facts = &l.rooms[stay.slot];
    let joined_before = stay
        .joined
        .and_then(|seq| facts.entry(seq))
        .is_some_and(|entry| entry.is_known() && entry.era < l.clock.era);
    facts.kind == RoomKind::Named
        && joined_before
        && stay.left.is_none()
        && !stay.leaving
        && !facts.operated
}

fn room_of(op: &Op) -> Option<Room> {
    match op {
        Op::Send { room, .. }
        | Op::LeaveChat { room }
        | Op::TalkingStick { room }
        | Op::Append { room, .. }
        | Op::Undo { room }
        | Op::Reset { room }
        | Op::Push { room, .. }
        | Op::Typing { room } => *room,
        Op::EnterQueue { .. }
        | Op::LeaveQueue
        | Op::Login { .. }
        | Op::Block { .. }
        | Op::Report { .. }
        | Op::Break { .. }
        | Op::Mood
        | Op::Unregister
        | Op::History { .. }
        | Op::ListUsers { .. }
        | Op::Check { .. } => None,
    }
}
