//! What an event tells that reaches a client.

use chat_core::Time;

use super::Judge;
use super::ledger::event::{Event, text_print};
use super::ledger::person::Recall;
use super::ledger::room::Patience;
use super::ledger::seen::Noted;
use super::ledger::sight::{Arrival, Sight};
use super::room_order::Order;
use super::single_match::Told;
use crate::history::{Path, Record};
use crate::protocol::{EndReason, LostRange, Moderated, Presence, Saw, StickChange};

/// How an event reached a client.
#[derive(Clone, Copy, Debug)]
pub(super) struct Delivery {
    pub(super) seq: u64,
    pub(super) sent_at: Time,
    pub(super) path: Path,
    pub(super) first: bool,
}

impl Judge {
    /// An event of somebody's inbox arrived.
    pub(super) fn received(&mut self, record: &Record<'_>, delivery: Delivery, saw: &Saw<'_>) {
        let Some(person) = self.ledger.who(record) else {
            return;
        };
        if delivery.path == Path::Check {
            let client = self.ledger.client(record.agent);
            client.page = (record.at, client.take_page(record.at) + 1);
            if !matches!(saw, Saw::Gap { .. }) {
                let told = (delivery.sent_at, delivery.first);
                let (l, f) = (&self.ledger, &mut self.findings);
                self.delivery_progress.read(l, person, told, f);
            }
        }
        let Some((event, (room, room_seq))) = Event::of(saw).zip(saw.place()) else {
            if let Saw::Gap {
                from,
                to,
                lost,
                rooms,
            } = *saw
                && delivery.first
            {
                self.gap(person, (from, to, lost), rooms);
            }
            return;
        };
        let text = match *saw {
            Saw::Message { text, .. } => text_print(text),
            Saw::Found { partner, .. } => u64::from(partner.0),
            Saw::Ended { .. }
            | Saw::PartnerAway { .. }
            | Saw::PartnerBack { .. }
            | Saw::Member { .. }
            | Saw::Stick { .. }
            | Saw::Moderation { .. }
            | Saw::Gap { .. } => 0,
        };
        let print = event.print(text);
        let place = print ^ text ^ (u64::from(room.0) << 40) ^ room_seq;
        let (_, recall) = self.ledger.people[person].inbox.note(delivery.seq, place);
        if recall == Recall::Differs {
            self.room_order.recalled_otherwise(
                &self.ledger,
                person,
                delivery.seq,
                &mut self.findings,
            );
        }
        if !delivery.first {
            return;
        }
        if let Saw::Found { partner, .. } = *saw {
            self.matched(Told {
                person,
                room,
                partner,
                found: Some((delivery.seq, delivery.sent_at)),
            });
        }
        let arrival = Arrival {
            person,
            room,
            room_seq,
            inbox_seq: delivery.seq,
            sent_at: delivery.sent_at,
            event,
            text,
            print,
        };
        let sight = self.ledger.arrive(&arrival);
        self.sighted(&sight, saw);
    }

    fn sighted(&mut self, sight: &Sight<'_>, saw: &Saw<'_>) {
        let (l, f) = (&mut self.ledger, &mut self.findings);
        let noted = self.no_duplicates.sighted(l, sight, f);
        let order = self.room_order.sighted(l, sight, f);
        if sight.is_first() {
            self.room_lifecycle
                .placed(l, sight.slot, sight.user, sight.arrival.room_seq, f);
        }
        if let Saw::Message { text, .. } = *saw {
            self.counts.reordered += u64::from(order == Order::Broken);
            self.counts.duplicated += u64::from(noted == Noted::Again);
            if noted == Noted::New {
                self.message(sight, text);
            }
        } else if noted == Noted::New {
            self.change(sight);
        }
        let next = self.ledger.rooms[sight.slot].next();
        if sight.is_first() && sight.arrival.room_seq >= next {
            self.in_order(sight.slot, Patience::Stall);
        }
    }

    fn message(&mut self, sight: &Sight<'_>, text: &str) {
        let (l, f) = (&mut self.ledger, &mut self.findings);
        self.counts.delivered += 1;
        let era = l.clock.era;
        let someone = &mut l.people[sight.arrival.person];
        someone.received += 1;
        if let Some(before) = &sight.before
            && before.claim.is_some()
            && before.era < era
        {
            someone.survived += 1;
        }
        self.bounded.message(l, sight.user, text, f);
        self.no_phantoms.sighted(l, sight, f);
        if sight.is_first() {
            self.stick_exclusion.shown_late(l, sight, f);
        }
    }

    /// An event other than a message: what it changes for the one who sees it.
    fn change(&mut self, sight: &Sight<'_>) {
        let (l, f) = (&mut self.ledger, &mut self.findings);
        let (person, room) = (sight.arrival.person, sight.arrival.room);
        match sight.arrival.event {
            Event::Ended(reason) => self.ended(sight, reason),
            Event::Stick(user, change) => {
                if let StickChange::Granted { .. } = change
                    && user == sight.user
                {
                    let sent_at = sight.arrival.sent_at;
                    self.stick_progress.granted(l, person, room, sent_at, f);
                }
                if let Some(stay) = l.stay(person, room) {
                    match change {
                        StickChange::Granted { epoch, .. } => {
                            stay.granted_epoch = stay.granted_epoch.max(epoch);
                            if user == sight.user {
                                stay.own_epoch = stay.own_epoch.max(epoch);
                            }
                        }
                        StickChange::Released { epoch } | StickChange::Expired { epoch } => {
                            stay.ended_epoch = stay.ended_epoch.max(epoch);
                        }
                        StickChange::Claimed { .. } => {}
                    }
                }
            }
            Event::Member(user, Presence::Left | Presence::Away)
            | Event::Moderation(Some(user), Moderated::Muted | Moderated::Kicked) => {
                if user == sight.user {
                    let sent_at = sight.arrival.sent_at;
                    l.people[person].told_of_itself_at = sent_at;
                    self.stick_progress.dropped(l, person, room, sent_at);
                }
            }
            Event::Moderation(_, Moderated::Closed) => {
                let sent_at = sight.arrival.sent_at;
                self.stick_progress.dropped(l, person, room, sent_at);
            }
            Event::Member(_, Presence::Joined | Presence::Back)
            | Event::Moderation(None, _)
            | Event::Unknown
            | Event::Found
            | Event::PartnerAway
            | Event::PartnerBack
            | Event::Message { .. } => {}
        }
    }

    fn ended(&mut self, sight: &Sight<'_>, reason: EndReason) {
        let (l, f) = (&mut self.ledger, &mut self.findings);
        let (person, room) = (sight.arrival.person, sight.arrival.room);
        self.room_lifecycle.ended(l, sight, reason, f);
        self.single_match
            .ended(l, person, room, sight.arrival.inbox_seq, f);
    }

    fn gap(&mut self, person: usize, (from, to, lost): (u64, u64, u64), rooms: &[LostRange]) {
        let (l, f) = (&mut self.ledger, &mut self.findings);
        let user = l.people[person].user;
        self.bounded.gap(l, user, (from, to, lost), rooms, f);
        l.people[person].inbox.seen.cover(from, to);
        // The news of a match may be among what is lost.
        if l.people[person].in_line {
            self.line.doubt_place(person);
        }
        for range in rooms {
            self.counts.gapped += l.gap(person, range);
            // What it was granted, or that it was taken for gone, may be among what is lost.
            self.stick_progress.drop(l, person, Some(range.room));
        }
    }
}
