//! Nobody sees a message that was not sent or was refused, from a room they are not in, under
//! another's name, or by one whom an operator muted.
//!
//! A message that is seen before its sender has the answer waits until the sender's calls that may
//! have made it are settled: then one of those whose fate is unknown must explain it.

use chat_core::Time;
use rustc_hash::FxHashSet;

use super::findings::{Findings, Property, name};
use super::ledger::Ledger;
use super::ledger::client::Unexplained;
use super::ledger::draft::Said;
use super::ledger::event::Event;
use super::ledger::person::Voice;
use super::ledger::room::RoomKind;
use super::ledger::sight::{Claimed, Sight};
use crate::protocol::{CallId, Moderated, Room, User};

/// The property.
#[derive(Clone, Debug, Default)]
pub(crate) struct NoPhantoms {
    pub(crate) checks: u64,
    /// Messages that nobody sent.
    pub(crate) phantoms: u64,
    /// Who was told to be muted, and where.
    muted: FxHashSet<(Room, User)>,
}

impl NoPhantoms {
    /// A message arrived for the first time.
    pub(crate) fn sighted(&mut self, l: &mut Ledger, sight: &Sight<'_>, f: &mut Findings) {
        self.checks += 1;
        let Event::Message { sender, .. } = sight.arrival.event else {
            return;
        };
        if sender == sight.user {
            self.blame(l, &[sight.user], f, || {
                format!("{} received its own message", name(sight.user))
            });
            return;
        }
        if !l.people[sight.arrival.person].shunned.is_empty() {
            self.check_block(l, sight, sender, f);
        }
        let Some(before) = sight.before else {
            return;
        };
        if before.is_shown() {
            return;
        }
        match (before.event, before.claim) {
            (
                Event::Message {
                    sender: claimed, ..
                },
                Some(_),
            ) if claimed != sender => {
                self.phantoms += 1;
                self.blame(l, &[claimed, sender, sight.user], f, || {
                    format!(
                        "{}'s message {} of room_{} reached {} under the name of {}",
                        name(claimed),
                        sight.arrival.room_seq,
                        sight.arrival.room.0,
                        name(sight.user),
                        name(sender)
                    )
                });
            }
            (_, Some(claim)) => {
                let at = (sight.arrival.room, sight.arrival.room_seq);
                self.check_text(l, sender, claim.said, sight.arrival.text, at, f);
            }
            (_, None) => self.await_explanation(l, sight, sender, f),
        }
    }

    /// Nobody was told yet that this message is theirs.
    fn await_explanation(
        &mut self,
        l: &mut Ledger,
        sight: &Sight<'_>,
        sender: User,
        f: &mut Findings,
    ) {
        let owner = l.person_known(sender).and_then(|p| l.people[p].owner);
        let mut message = Unexplained {
            sender,
            seen_by: sight.user,
            room: sight.arrival.room,
            room_seq: sight.arrival.room_seq,
            text: sight.arrival.text,
            before: CallId(0),
        };
        match owner {
            None => self.unsent(l, &message, None, f),
            Some(owner) => {
                let client = l.client(owner);
                message.before = client.last_id;
                client.unexplained.push(message);
            }
        }
    }

    /// A block that was in force before the sender's call left hides the message.
    fn check_block(&mut self, l: &Ledger, sight: &Sight<'_>, sender: User, f: &mut Findings) {
        let Some(since) = l.people[sight.arrival.person].shuns_since(sender) else {
            return;
        };
        let in_named_room = l.rooms[sight.slot].kind == RoomKind::Named;
        let claimed = sight.before.and_then(|before| before.claim);
        let called_at = match claimed {
            Some(claim) => Some(claim.called_at),
            None => l.earliest_speech(sender),
        };
        if in_named_room && called_at.is_some_and(|at| since < at) {
            self.blame(l, &[sight.user, sender], f, || {
                format!(
                    "{} received message {} of room_{} from {} although one had blocked the other",
                    name(sight.user),
                    sight.arrival.room_seq,
                    sight.arrival.room.0,
                    name(sender)
                )
            });
        }
    }

    /// The next place of a room, in order. Who was muted before this place does not speak at it.
    pub(crate) fn in_order(
        &mut self,
        l: &Ledger,
        slot: usize,
        seq: u64,
        event: Event,
        f: &mut Findings,
    ) {
        let (user, speaks) = match event {
            Event::Moderation(Some(user), Moderated::Muted) => (user, false),
            Event::Message { sender, .. } if !self.muted.is_empty() => (sender, true),
            Event::Message { .. }
            | Event::Unknown
            | Event::Found
            | Event::Ended(_)
            | Event::PartnerAway
            | Event::PartnerBack
            | Event::Member(..)
            | Event::Stick(..)
            | Event::Moderation(..) => return,
        };
        let is_muted = l
            .person_known(user)
            .is_some_and(|person| l.people[person].voice == Voice::Muted);
        if !is_muted {
            return;
        }
        let room = l.rooms[slot].room;
        if !speaks {
            self.muted.insert((room, user));
        } else if self.muted.contains(&(room, user)) {
            self.checks += 1;
            self.blame(l, &[user], f, || {
                format!(
                    "{} spoke in room_{} (message {seq}) although muted",
                    name(user),
                    room.0
                )
            });
        }
    }

    /// A sender was told that a message is its own.
    pub(crate) fn claimed(
        &mut self,
        l: &Ledger,
        (user, room, seq, said): (User, Room, u64, Said),
        claimed: &Claimed,
        waited: Option<Unexplained>,
        f: &mut Findings,
    ) {
        if let Some(waited) = waited {
            self.check_text(l, user, said, waited.text, (room, seq), f);
            return;
        }
        let Some(before) = claimed.before.filter(|before| before.is_shown()) else {
            return;
        };
        match before.event {
            Event::Message { sender, .. } if sender == user => {}
            Event::Message { sender, .. } => {
                self.phantoms += 1;
                self.blame(l, &[user, sender], f, || {
                    format!(
                        "{}'s message {seq} of room_{} went under the name of {}",
                        name(user),
                        room.0,
                        name(sender)
                    )
                });
            }
            Event::Unknown
            | Event::Found
            | Event::Ended(_)
            | Event::PartnerAway
            | Event::PartnerBack
            | Event::Member(..)
            | Event::Stick(..)
            | Event::Moderation(..) => {
                f.blame(Property::RoomOrder, l.clock.now, &[user], || {
                    format!(
                        "{} was told that its message is {seq} of room_{}, where another event \
                         stands",
                        name(user),
                        room.0
                    )
                });
            }
        }
    }

    fn check_text(
        &mut self,
        l: &Ledger,
        user: User,
        said: Said,
        text: u64,
        (room, seq): (Room, u64),
        f: &mut Findings,
    ) {
        if !said.allows(text) {
            self.phantoms += 1;
            self.blame(l, &[user], f, || {
                format!(
                    "message {seq} of room_{} is not what {} sent",
                    room.0,
                    name(user)
                )
            });
        }
    }

    /// Nobody sent this message; or it was refused, with this code.
    pub(crate) fn unsent(
        &mut self,
        l: &Ledger,
        message: &Unexplained,
        refused: Option<&'static str>,
        f: &mut Findings,
    ) {
        self.phantoms += 1;
        self.blame(l, &[message.sender, message.seen_by], f, || {
            let why = refused.map_or_else(
                || "never sent".to_owned(),
                |code| format!("sent, but was refused ({code})"),
            );
            format!(
                "{} received message {} of room_{}, which {} {why}",
                name(message.seen_by),
                message.room_seq,
                message.room.0,
                name(message.sender)
            )
        });
    }

    /// Somebody's inbox is drained: what it heard from rooms that it never joined.
    pub(crate) fn drained(&mut self, l: &mut Ledger, person: usize, f: &mut Findings) {
        for index in 0..l.people[person].memberships.len() {
            let stay = &mut l.people[person].memberships[index];
            if stay.joined.is_some() || stay.low == 0 {
                continue;
            }
            let (room, seq) = (stay.room, stay.low);
            // Once is enough.
            stay.begin(seq);
            let user = l.people[person].user;
            self.blame(l, &[user], f, || {
                format!(
                    "{} received event {seq} of room_{}, which it was not in",
                    name(user),
                    room.0
                )
            });
        }
    }

    fn blame(&self, l: &Ledger, users: &[User], f: &mut Findings, detail: impl FnOnce() -> String) {
        let now: Time = l.clock.now;
        f.blame(Property::NoPhantoms, now, users, detail);
    }
}
