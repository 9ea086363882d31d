//! The stick of each room, from the merged order of its events. `stick_exclusion`: epochs count
//! grants; no grant while another participant holds the stick; only the holder's grant ends; a
//! message has the epoch of its sender's grant, or none; the holder's push releases the stick.
//! `stick_order`: no claim is overtaken.
//!
//! After a position that no client knows, the holder is unknown until the next grant. The queue of
//! claims stays unknown, except for claims that are observed later.

use sim_model::protocol::{Room, User};

use super::Witness;
use super::observations::{ObservedEvent, Place};
use crate::difference::Fact;
use crate::findings::{Findings, Property};
use crate::model::Body;

const HELD: Property = Property::StickExclusion;
const ORDER: Property = Property::StickOrder;

/// The least number of positions that are passed after the loss of a life. // 2.7
const LOST_LIFE: u64 = 1_000_000;

/// Walks through the events of every room with a stick.
pub(super) fn judge(witness: &Witness, findings: &mut Findings) {
    let of_sticks = witness
        .events()
        .filter(|seen| is_of_stick(&seen.event.body));
    let mut rooms: Vec<Room> = of_sticks.map(|seen| seen.event.room).collect();
    rooms.dedup();
    for room in rooms {
        let mut walk = StickReplay::new(witness, room);
        for (place, known) in witness.places.range((room, 0)..=(room, u64::MAX)) {
            walk.step(*place, known, findings);
        }
    }
}

/// Whether the event is one of the stick.
const fn is_of_stick(what: &Body) -> bool {
    matches!(
        what,
        Body::StickClaimed { .. }
            | Body::StickGranted { .. }
            | Body::StickReleased { .. }
            | Body::StickExpired { .. }
    )
}

/// The holder and the epoch of the grant; `None` while there is no holder.
type Holder = Option<(User, u64)>;

struct StickReplay<'a> {
    witness: &'a Witness,
    room: Room,
    /// The previous position.
    last: u64,
    /// Unknown after a position that no client knows.
    holder: Option<Holder>,
    /// The latest grant, its epoch, and the number of unknown positions since then.
    grant: Option<&'a ObservedEvent>,
    epoch: u64,
    holes: u64,
    /// The waiting claims in their order, and whether no earlier one is unknown.
    claims: Vec<(User, &'a ObservedEvent)>,
    is_whole: bool,
    /// The holder's push, if it is at the previous position.
    push: Option<(Fact, Holder)>,
}

impl<'a> StickReplay<'a> {
    const fn new(witness: &'a Witness, room: Room) -> Self {
        Self {
            witness,
            room,
            last: 0,
            holder: Some(None),
            grant: None,
            epoch: 0,
            holes: 0,
            claims: Vec::new(),
            is_whole: true,
            push: None,
        }
    }

    fn step(&mut self, place: (Room, u64), known: &'a Place, findings: &mut Findings) {
        let room_seq = place.1;
        let holes = room_seq.saturating_sub(self.last.saturating_add(1));
        if holes > 0 {
            self.holes = self.holes.saturating_add(holes);
            self.holder = None;
            self.claims.clear();
            self.is_whole = false;
            self.push = None;
        }
        self.last = room_seq;
        let push = self.push.take();
        if let Some(seen) = &known.seen {
            if let Some((push, release)) = push {
                let is_released = matches!(
                    &seen.event.body,
                    Body::StickReleased { user, epoch } if Some((user.id, epoch.0)) == release
                );
                findings.compare(HELD, is_released, seen.at, || [push, seen.fact()]);
            }
            self.see(seen, findings);
        }
        if let Some(push) = known.accepted.as_ref().filter(|one| one.text.is_none())
            && let Some(holder @ Some((user, _))) = self.holder
            && push.sender == user
        {
            self.push = Some((push.fact(place), holder));
        }
    }

    fn see(&mut self, seen: &'a ObservedEvent, findings: &mut Findings) {
        match &seen.event.body {
            Body::StickClaimed { user, .. } => {
                self.withdraw(user.id);
                self.claims.push((user.id, seen));
            }
            Body::StickGranted { user, epoch, .. } => {
                self.grant(seen, (user.id, epoch.0), findings);
            }
            Body::StickReleased { user, epoch } | Body::StickExpired { user, epoch } => {
                let owed = self.holder.map(|holder| holder == Some((user.id, epoch.0)));
                self.compare(owed, seen, findings);
                self.holder = Some(None);
            }
            Body::Message { sender, epoch, .. } => {
                let own = |holder: Holder| holder.filter(|(user, _)| *user == sender.id);
                let under = epoch.map(|epoch| epoch.0);
                let owed = self
                    .holder
                    .map(|holder| under == own(holder).map(|(_, epoch)| epoch));
                self.compare(owed, seen, findings);
            }
            Body::Left(user)
            | Body::Away(user)
            | Body::Muted { user, .. }
            | Body::Kicked { user, .. } => self.withdraw(user.id),
            _ => {}
        }
    }

    /// Whether an event is consistent with the latest grant; not judged where the state is unknown.
    fn compare(&self, fits: Option<bool>, seen: &ObservedEvent, findings: &mut Findings) {
        match fits {
            None => findings.leave_unjudged(HELD, 1),
            Some(true) => findings.exercise(HELD, 1),
            Some(false) => {
                let none = Fact::Rule("no grant came before");
                let before = self.grant.map_or(none, ObservedEvent::fact);
                findings.contradict(HELD, seen.at, [before, seen.fact()]);
            }
        }
    }

    fn withdraw(&mut self, user: User) {
        self.claims.retain(|(claimant, _)| *claimant != user);
    }

    fn grant(
        &mut self,
        seen: &'a ObservedEvent,
        (user, epoch): (User, u64),
        findings: &mut Findings,
    ) {
        let least = self.epoch.saturating_add(1);
        let is_free = !matches!(self.holder, Some(Some(_)));
        let most = match self.holes < LOST_LIFE {
            true => least.saturating_add(self.holes),
            // Epochs passed a lost life as positions did, and each grant has a position.
            false => self.last,
        };
        let fits = is_free && (least..=most).contains(&epoch);
        self.compare(Some(fits), seen, findings);
        let mut claimants = self.claims.iter().map(|(claimant, _)| *claimant);
        let own = claimants.position(|claimant| claimant == user);
        let earlier = &self.claims[..own.unwrap_or(self.claims.len())];
        for (claimant, claim) in earlier {
            let participant = self.witness.participants.get(claimant);
            let withdrew = participant
                .is_none_or(|participant| participant.may_have_called("reset", self.room));
            if withdrew || (own.is_none() && !self.is_whole) {
                findings.leave_unjudged(ORDER, 1);
            } else {
                findings.contradict(ORDER, seen.at, [claim.fact(), seen.fact()]);
            }
        }
        findings.exercise(ORDER, 1);
        self.withdraw(user);
        self.holder = Some(Some((user, epoch)));
        (self.grant, self.epoch, self.holes) = (Some(seen), epoch, 0);
    }
}
