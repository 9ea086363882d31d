//! Who is in which room, from which place of its order to which; and what is missing there.

use chat_core::Time;

use super::Ledger;
use super::event::Event;
use super::person::Membership;
use super::room::{Entry, RoomKind};
use crate::protocol::{LostRange, Moderated, Presence, Room, User};

/// Why somebody may rightly never have had a place of a room's order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Missing {
    /// An accepted, or at least delivered, message.
    Message { sender: User },
    /// The end of a pair room.
    End,
    /// Another event that somebody else had.
    Event,
    /// Nobody had it, and nothing explains it.
    Unexplained,
}

/// A place that somebody never had.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lack {
    pub(crate) room: Room,
    pub(crate) seq: u64,
    pub(crate) what: Missing,
    pub(crate) entry: Entry,
}

impl Ledger {
    /// Somebody is known to be in a room from this place on.
    pub(crate) fn join(&mut self, person: usize, slot: usize, seq: u64) {
        let room = self.rooms[slot].room;
        let someone = &mut self.people[person];
        if let Some(index) = someone.ended_around(room, seq) {
            someone.memberships[index].begin(seq);
            return;
        }
        let latest = someone.latest_stay(room);
        if let Some(index) = latest {
            let stay = &mut someone.memberships[index];
            match (stay.joined, stay.left) {
                (None, left) if left.is_none_or(|left| seq <= left) => {
                    stay.begin(seq);
                    return;
                }
                // Known, or part of a stay that is over: an older join shows late.
                (Some(joined), _) if joined >= seq => return,
                // The leave between the two was not seen yet, and may never be.
                (Some(_), left) if left.is_none_or(|left| seq <= left) => {
                    let later = stay.split_off(seq);
                    someone.forget_stays(room);
                    someone.memberships.push(later);
                    self.belongs(person, slot);
                    return;
                }
                (None | Some(_), _) => {}
            }
            someone.forget_stays(room);
        }
        let mut stay = Membership::new(room, slot);
        stay.begin(seq);
        someone.memberships.push(stay);
        self.belongs(person, slot);
    }

    /// Somebody was told to be in a room, by a call that left at `called_at`; from which place on
    /// is not known yet.
    pub(crate) fn promise(&mut self, person: usize, slot: usize, called_at: Time) {
        let room = self.rooms[slot].room;
        let someone = &mut self.people[person];
        let latest = someone.latest_stay(room);
        let known = latest.is_some_and(|index| {
            let stay = &someone.memberships[index];
            // The answer may come after others have seen the join, and even the end of the stay.
            let joined = stay.joined.and_then(|seq| self.rooms[slot].entry(seq));
            stay.left.is_none() || joined.is_some_and(|entry| entry.sent_at >= called_at)
        });
        if !known {
            someone.memberships.push(Membership::new(room, slot));
            self.belongs(person, slot);
        }
    }

    /// Somebody left at this place. If no known stay can have ended there, it was one of which
    /// nobody has seen the join.
    fn leave(&mut self, person: usize, slot: usize, seq: u64) {
        let room = self.rooms[slot].room;
        let someone = &mut self.people[person];
        if someone.stay_at(room, seq).is_some() {
            self.part(person, slot, seq);
            return;
        }
        let index = someone.first_after(room, seq);
        let index = index.unwrap_or(someone.memberships.len());
        let mut stay = Membership::new(room, slot);
        stay.left = Some(seq);
        someone.memberships.insert(index, stay);
        self.belongs(person, slot);
    }

    /// Somebody's stay ended at this place.
    pub(crate) fn part(&mut self, person: usize, slot: usize, seq: u64) {
        let room = self.rooms[slot].room;
        let someone = &mut self.people[person];
        if let Some(index) = someone.stay_at(room, seq)
            && let Some(later) = someone.memberships[index].end(seq)
        {
            someone.memberships.insert(index + 1, later);
        }
    }

    /// A stay of which nobody has seen the join, or which is none at all.
    pub(crate) fn guess_stay(&mut self, person: usize, slot: usize, seq: u64) -> usize {
        let room = self.rooms[slot].room;
        let someone = &mut self.people[person];
        let mut stay = Membership::new(room, slot);
        stay.reach(seq);
        if self.last_forgotten.is_some_and(|last| room <= last) {
            // It may belong to a stay that is no longer remembered.
            stay.begin(seq);
        }
        let later = someone.first_after(room, seq);
        let index = later.unwrap_or(someone.memberships.len());
        // It ended somewhere before the next one began.
        stay.left = later.and_then(|i| Some(someone.memberships[i].joined? - 1));
        stay.loose = stay.left.is_some();
        someone.memberships.insert(index, stay);
        self.belongs(person, slot);
        index
    }

    fn belongs(&mut self, person: usize, slot: usize) {
        let members = &mut self.rooms[slot].members;
        if !members.contains(&person) {
            members.push(person);
        }
    }

    /// What an event that no client had seen before says of memberships.
    pub(crate) fn take_effect(&mut self, slot: usize, seq: u64, event: Event) {
        match event {
            Event::Member(user, change) => {
                self.rooms[slot].kind = RoomKind::Named;
                let person = self.person(user);
                match change {
                    Presence::Joined => self.join(person, slot, seq),
                    Presence::Left => self.leave(person, slot, seq),
                    Presence::Away | Presence::Back => {}
                }
            }
            // In a pair room its end follows, which is told to both.
            Event::Moderation(Some(user), Moderated::Kicked)
                if self.rooms[slot].kind != RoomKind::Pair =>
            {
                let person = self.person(user);
                self.part(person, slot, seq);
            }
            Event::Moderation(_, Moderated::Closed) if self.rooms[slot].kind == RoomKind::Named => {
                self.rooms[slot].end.get_or_insert(seq);
                self.part_all(slot, seq);
            }
            Event::Ended(_) => {
                self.rooms[slot].kind = RoomKind::Pair;
                if self.rooms[slot].end.is_none() {
                    self.rooms[slot].end = Some(seq);
                    self.part_all(slot, seq);
                    self.retire(slot);
                }
            }
            Event::Found | Event::PartnerAway | Event::PartnerBack => {
                self.rooms[slot].kind = RoomKind::Pair;
            }
            Event::Stick(..) => self.rooms[slot].kind = RoomKind::Named,
            Event::Moderation(..) | Event::Message { .. } | Event::Unknown => {}
        }
    }

    fn part_all(&mut self, slot: usize, seq: u64) {
        for index in 0..self.rooms[slot].members.len() {
            self.part(self.rooms[slot].members[index], slot, seq);
        }
    }

    /// A gap told somebody that these places may be missing. Says how many messages that nobody
    /// will have to deliver any more are among them.
    pub(crate) fn gap(&mut self, person: usize, lost: &LostRange) -> u64 {
        let slot = self.room(lost.room);
        let index = self.people[person].stay_at(lost.room, lost.to);
        let index = index.unwrap_or_else(|| self.guess_stay(person, slot, lost.from));
        let someone = &mut self.people[person];
        let user = someone.user;
        let stay = &mut someone.memberships[index];
        if stay.joined.is_none() {
            stay.begin(if stay.low == 0 {
                lost.from
            } else {
                stay.low.min(lost.from)
            });
        }
        let room = &self.rooms[slot];
        let holes = stay.seen.holes().iter().copied();
        let messages = holes
            .chain([(stay.seen.upto() + 1, lost.to)])
            .map(|(from, to)| (from.max(lost.from), to.min(lost.to).min(room.head)))
            .flat_map(|(from, to)| from..=to)
            .filter_map(|seq| room.entry(seq))
            .filter(|entry| matches!(entry.event, Event::Message { sender, .. } if sender != user))
            .count();
        for stay in &mut someone.memberships {
            // The range may span several stays, and what lies between them.
            let begins = stay.joined.unwrap_or(stay.low);
            let ends = stay.left.unwrap_or(u64::MAX);
            if stay.room != lost.room || begins > lost.to || ends < lost.from {
                continue;
            }
            stay.seen.cover(lost.from, lost.to);
            stay.gaps.push((lost.from, lost.to));
            if stay.gaps.len() > 64 {
                stay.gaps.remove(0);
            }
        }
        messages as u64
    }

    /// What somebody whose inbox is drained never had. Nothing is reported twice.
    pub(crate) fn take_lacks(&mut self, person: usize) -> Vec<Lack> {
        let read_at = self.people[person].read_at;
        let mut lacks = Vec::new();
        for index in 0..self.people[person].memberships.len() {
            let from = lacks.len();
            self.lacks_of(person, index, read_at, &mut lacks);
            let stay = &mut self.people[person].memberships[index];
            for lack in &lacks[from..] {
                stay.seen.cover(lack.seq, lack.seq);
                stay.gaps.push((lack.seq, lack.seq));
            }
        }
        // Of a stay that is over, and of which nothing came, nothing will.
        let was_had = |stay: &Membership| stay.joined.is_some() || stay.low > 0;
        let stays = &mut self.people[person].memberships;
        stays.retain(|stay| was_had(stay) || stay.left.is_none());
        lacks
    }

    fn lacks_of(&self, person: usize, index: usize, read_at: Time, lacks: &mut Vec<Lack>) {
        let stay = &self.people[person].memberships[index];
        let room = &self.rooms[stay.slot];
        let Some(joined) = stay.joined else {
            return;
        };
        let upto = stay.seen.upto();
        let end = match stay.left {
            Some(_) if stay.loose => upto,
            Some(left) => left,
            None if stay.leaving => upto,
            None => room.head,
        };
        let tail = (upto + 1, end);
        for (from, to) in stay.seen.holes().iter().copied().chain([tail]) {
            for seq in from.max(joined)..=to.min(end) {
                let Some(entry) = room.entry(seq) else {
                    continue;
                };
                // Beyond the last event had, only what was known before the read left is due.
                if seq > upto && entry.known_at > read_at {
                    continue;
                }
                if let Some(what) = self.lack(person, stay, entry) {
                    lacks.push(Lack {
                        room: room.room,
                        seq,
                        what,
                        entry: *entry,
                    });
                }
            }
        }
    }

    /// What a place that somebody never had means, unless it is not owed.
    fn lack(&self, person: usize, stay: &Membership, entry: &Entry) -> Option<Missing> {
        let someone = &self.people[person];
        match entry.event {
            Event::Message { sender, .. } => (sender != someone.user && !someone.shuns(sender))
                .then_some(Missing::Message { sender }),
            // In a pair room these are about the one who does not have them.
            Event::PartnerAway | Event::PartnerBack => None,
            Event::Ended(_) => {
                let ended_it = stay.leaving
                    || self.blocked_in(person, stay.slot)
                    || self.may_have_left(person, stay.slot);
                (!ended_it).then_some(Missing::End)
            }
            // Who leaves may well be out of the room before it is told.
            Event::Member(user, Presence::Left) if user == someone.user => None,
            Event::Found | Event::Member(..) | Event::Stick(..) | Event::Moderation(..) => {
                Some(Missing::Event)
            }
            Event::Unknown => {
                let explained = !someone.shunned.is_empty()
                    || self.rooms[stay.slot].kind != RoomKind::Named
                    || someone.owner.is_none_or(|owner| {
                        self.clients
                            .get(super::client::index(owner))
                            .is_none_or(|c| {
                                c.lost_count
                                    || c.said_more
                                    || !c.unsure.is_empty()
                                    || !c.open.is_empty()
                            })
                    });
                (!explained).then_some(Missing::Unexplained)
            }
        }
    }

    /// Whether somebody may have left a pair room by a call that named none.
    pub(crate) fn may_have_left(&self, person: usize, slot: usize) -> bool {
        let room = &self.rooms[slot];
        let found_at = room.pair.and_then(|pair| pair.found_at);
        self.people[person].may_have_withdrawn(room.room, found_at.unwrap_or(Time(0)))
    }

    /// Whether the two of a pair room shun one another.
    pub(crate) fn blocked_in(&self, person: usize, slot: usize) -> bool {
        let someone = &self.people[person];
        self.rooms[slot]
            .partner_of(someone.user)
            .is_some_and(|partner| someone.shuns(partner.user))
    }

    /// Whether nobody is owed anything more of a room.
    pub(crate) fn is_settled(&self, slot: usize) -> bool {
        let room = &self.rooms[slot];
        room.members.iter().all(|&person| {
            let someone = &self.people[person];
            someone.gone
                || someone
                    .memberships
                    .iter()
                    .filter(|m| m.slot == slot)
                    .all(Membership::is_settled)
        })
    }

    /// Forgets the places of a room's order that nobody needs any more.
    pub(crate) fn trim(&mut self, slot: usize) {
        let mut needed = u64::MAX;
        let mut members = std::mem::take(&mut self.rooms[slot].members);
        members.retain(|&person| {
            let someone = &self.people[person];
            let mut open = someone
                .memberships
                .iter()
                .filter(|m| m.slot == slot && !m.is_settled())
                .peekable();
            if someone.gone || open.peek().is_none() {
                return self.rooms[slot].kind == RoomKind::Pair;
            }
            for stay in open {
                needed = needed.min(stay.seen.first_missing().max(stay.low));
            }
            true
        });
        self.rooms[slot].members = members;
        let cap = u64::from(self.config.inbox_limit) * 2 + 1_024;
        self.rooms[slot].trim(needed, cap);
    }
}
