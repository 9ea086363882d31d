//! Accepted speech in a stick room carries the holder's epoch; epochs have one holder each; a
//! stale one is refused; and a push releases the stick with the same breath.
//!
//! Judged in the room's own order: the ledger hands each place over once, when all before it is
//! known. A place that nobody knows makes the state unknown until the next grant.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use super::findings::{Findings, Property, name};
use super::ledger::Ledger;
use super::ledger::event::Event;
use super::ledger::room::{Entry, RoomFacts};
use super::ledger::sight::Sight;
use crate::protocol::{Moderated, Presence, Room, StickChange, User};

/// Grants of one room that are remembered.
const GRANTS: usize = 16;

/// Who holds a room's stick at some place of its order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Holder {
    /// Nobody knows.
    #[default]
    Unknown,
    /// Nobody does.
    Nobody,
    /// This one, by this grant.
    User { user: User, epoch: u64 },
}

/// One room's stick.
#[derive(Clone, Debug, Default)]
struct Reign {
    holder: Holder,
    grants: VecDeque<(u64, User)>,
    /// Places of accepted pushes, and by whom, of which the next place is not yet known.
    pushes: VecDeque<(u64, User)>,
}

/// The property.
#[derive(Clone, Debug, Default)]
pub(crate) struct StickExclusion {
    pub(crate) checks: u64,
    rooms: FxHashMap<Room, Reign>,
}

impl StickExclusion {
    /// The next place of a named room, in order. Says which epoch holds there, 0 if none.
    pub(crate) fn in_order(
        &mut self,
        l: &Ledger,
        slot: usize,
        seq: u64,
        entry: &Entry,
        f: &mut Findings,
    ) -> u64 {
        let room = &l.rooms[slot];
        let reign = self.rooms.entry(room.room).or_default();
        if seq == 1 {
            reign.holder = Holder::Nobody;
        }
        let before = |push: &&(u64, User)| push.0 + 1 == seq;
        if let Some(&(push, user)) = reign.pushes.iter().find(before) {
            reign.pushes.retain(|other| other.0 > push);
            self.checks += 1;
            releases(l, room, (push, user), entry.event, f);
        }
        match entry.event {
            Event::Message { sender, epoch } => {
                if l.asks_for_stick(slot) {
                    self.checks += 1;
                    let shown = entry.is_shown();
                    speech(l, reign.holder, room, seq, (sender, epoch, shown), f);
                }
            }
            Event::Stick(user, StickChange::Granted { epoch, .. }) => {
                self.checks += 1;
                reign.check_free(l, room.room, (user, epoch), f);
                reign.grant(l, room.room, user, epoch, f);
                reign.holder = Holder::User { user, epoch };
            }
            Event::Stick(_, StickChange::Released { epoch } | StickChange::Expired { epoch }) => {
                if matches!(reign.holder, Holder::User { epoch: held, .. } if held == epoch) {
                    reign.holder = Holder::Nobody;
                }
            }
            Event::Member(user, Presence::Left | Presence::Away)
            | Event::Moderation(Some(user), Moderated::Kicked) => reign.end(user, Holder::Nobody),
            // Whether a mute takes the stick is not said.
            Event::Moderation(Some(user), Moderated::Muted) => reign.end(user, Holder::Unknown),
            Event::Unknown => reign.holder = Holder::Unknown,
            Event::Member(_, Presence::Joined | Presence::Back)
            | Event::Stick(_, StickChange::Claimed { .. })
            | Event::Moderation(..)
            | Event::Found
            | Event::Ended(_)
            | Event::PartnerAway
            | Event::PartnerBack => {}
        }
        match reign.holder {
            Holder::User { epoch, .. } => epoch,
            Holder::Unknown | Holder::Nobody => 0,
        }
    }

    /// A message is seen whose place was judged before, by its sender's answer alone.
    pub(crate) fn shown_late(&mut self, l: &Ledger, sight: &Sight<'_>, f: &mut Findings) {
        let (Some(before), Event::Message { sender, epoch }) = (sight.before, sight.arrival.event)
        else {
            return;
        };
        let judged = sight.arrival.room_seq < l.rooms[sight.slot].next();
        if !judged || before.is_shown() || !l.asks_for_stick(sight.slot) {
            return;
        }
        if epoch.is_none() || (before.reign != 0 && epoch != Some(before.reign)) {
            let room = &l.rooms[sight.slot];
            wrong_epoch(l, room, sight.arrival.room_seq, sender, epoch, f);
        }
    }

    /// A claim was answered: place 0 says that the caller holds the stick by this grant.
    pub(crate) fn answered(
        &mut self,
        l: &Ledger,
        room: Room,
        user: User,
        epoch: u64,
        f: &mut Findings,
    ) {
        self.checks += 1;
        let reign = self.rooms.entry(room).or_default();
        reign.grant(l, room, user, epoch, f);
    }

    /// A push was accepted as the message of this place: the next one tells of the release.
    pub(crate) fn pushed(&mut self, l: &Ledger, slot: usize, push: (u64, User), f: &mut Findings) {
        if !l.asks_for_stick(slot) {
            return;
        }
        let room = &l.rooms[slot];
        let next = push.0 + 1;
        if next < room.next() {
            if let Some(entry) = room.entry(next) {
                self.checks += 1;
                releases(l, room, push, entry.event, f);
            }
            return;
        }
        let reign = self.rooms.entry(room.room).or_default();
        if reign.pushes.len() == GRANTS {
            reign.pushes.pop_front();
        }
        reign.pushes.push_back(push);
    }

    /// A call succeeded although its epoch was over when it left, as its caller knew.
    pub(crate) fn stale_accepted(&mut self, l: &Ledger, user: User, epoch: u64, f: &mut Findings) {
        f.blame(Property::StickExclusion, l.clock.now, &[user], || {
            format!(
                "{}'s call with epoch {epoch} was accepted although that grant was over, as {} knew",
                name(user),
                name(user)
            )
        });
    }
}

impl Reign {
    fn end(&mut self, user: User, to: Holder) {
        if matches!(self.holder, Holder::User { user: held, .. } if held == user) {
            self.holder = to;
        }
    }

    /// A stick is granted to nobody while somebody's grant has not ended.
    fn check_free(&self, l: &Ledger, room: Room, (user, epoch): (User, u64), f: &mut Findings) {
        if let Holder::User {
            user: holder,
            epoch: held,
        } = self.holder
            && held != epoch
        {
            f.blame(
                Property::StickExclusion,
                l.clock.now,
                &[holder, user],
                || {
                    format!(
                        "{} was granted the stick of room_{} (epoch {epoch}) while {} held it, \
                         epoch {held}",
                        name(user),
                        room.0,
                        name(holder)
                    )
                },
            );
        }
    }

    fn grant(&mut self, l: &Ledger, room: Room, user: User, epoch: u64, f: &mut Findings) {
        match self.grants.iter().find(|grant| grant.0 == epoch) {
            Some(&(_, holder)) if holder != user => {
                f.blame(
                    Property::StickExclusion,
                    l.clock.now,
                    &[holder, user],
                    || {
                        format!(
                            "epoch {epoch} of room_{} was granted to {} and to {}",
                            room.0,
                            name(holder),
                            name(user)
                        )
                    },
                );
            }
            Some(_) => {}
            None => {
                if self.grants.len() == GRANTS {
                    self.grants.pop_front();
                }
                self.grants.push_back((epoch, user));
            }
        }
    }
}

/// Whether what follows a push in the room's order is the release that belongs to it.
fn releases(
    l: &Ledger,
    room: &RoomFacts,
    (push, user): (u64, User),
    next: Event,
    f: &mut Findings,
) {
    let released = match next {
        Event::Stick(by, StickChange::Released { .. }) => by == user,
        Event::Unknown => true,
        Event::Stick(..)
        | Event::Member(..)
        | Event::Moderation(..)
        | Event::Message { .. }
        | Event::Found
        | Event::Ended(_)
        | Event::PartnerAway
        | Event::PartnerBack => false,
    };
    if !released {
        f.blame(Property::StickExclusion, l.clock.now, &[user], || {
            format!(
                "{} pushed message {push} of room_{}, and kept the stick",
                name(user),
                room.room.0
            )
        });
    }
}

fn speech(
    l: &Ledger,
    holder: Holder,
    room: &RoomFacts,
    seq: u64,
    (sender, epoch, shown): (User, Option<u64>, bool),
    f: &mut Findings,
) {
    match holder {
        Holder::User { user, epoch: held } if user == sender => {
            if shown && epoch != Some(held) {
                wrong_epoch(l, room, seq, sender, epoch, f);
            }
        }
        Holder::User { user, epoch: held } => {
            f.blame(
                Property::StickExclusion,
                l.clock.now,
                &[sender, user],
                || {
                    format!(
                        "{} spoke in room_{} (message {seq}) while {} held its stick, epoch {held}",
                        name(sender),
                        room.room.0,
                        name(user)
                    )
                },
            );
        }
        Holder::Nobody => {
            f.blame(Property::StickExclusion, l.clock.now, &[sender], || {
                format!(
                    "{} spoke in room_{} (message {seq}) while nobody held its stick",
                    name(sender),
                    room.room.0
                )
            });
        }
        Holder::Unknown => {
            if shown && epoch.is_none() {
                wrong_epoch(l, room, seq, sender, epoch, f);
            }
        }
    }
}

fn wrong_epoch(
    l: &Ledger,
    room: &RoomFacts,
    seq: u64,
    sender: User,
    epoch: Option<u64>,
    f: &mut Findings,
) {
    f.blame(Property::StickExclusion, l.clock.now, &[sender], || {
        let epoch = epoch.map_or_else(|| "no epoch".to_owned(), |e| format!("epoch {e}"));
        format!(
            "{}'s message {seq} in room_{} carries {epoch}, which is not the holder's",
            name(sender),
            room.room.0
        )
    });
}
