//! Blocks, reports, and actions of operators. // 11

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sim_model::protocol::{Answer, EndReason, Moderated, Outcome, Refusal, Room, User};
use sim_model::server::{Act, Handle};

use super::names::{fold, is_line, keys};
use super::room::Kind;
use super::{EventKind, Model, refuse};

/// The most characters of a reason. // 1
const MAX_REASON: usize = 500;

/// A stored report.
#[derive(Clone, Debug)]
pub(super) struct Report {
    /// The reporter.
    by: User,
    /// The reported participant.
    about: User,
    /// The address that the reporter was registered from.
    pub(super) from: u64,
}

/// Muted and banned names, handles and addresses, which apply to later registrations. // 11.4
#[derive(Clone, Debug, Default)]
pub(super) struct StoredMeasures {
    /// By folded name, with the name's keys.
    names: BTreeMap<String, (BTreeSet<String>, Measure)>,
    /// By handle, with the folded name of its participant, and then its folded public id.
    pub(super) handles: BTreeMap<Handle, (String, Option<String>, Measure)>,
    addresses: BTreeMap<u64, Measure>,
}

/// The kind of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Measure {
    /// Muted.
    Muted,
    /// Banned.
    Banned,
}

/// Whether the public id is stored beside the name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WithId {
    Yes,
    No,
}

impl StoredMeasures {
    /// The measure that applies to a look-alike of the name with these keys: a ban before a mute.
    pub(super) fn of_name(&self, keys: &BTreeSet<String>) -> Option<Measure> {
        let alike = self.names.values().filter(|(of, _)| !of.is_disjoint(keys));
        alike.map(|(_, measure)| *measure).max()
    }

    /// The measure that applies to a handle.
    pub(super) fn of_handle(&self, handle: Handle) -> Option<Measure> {
        self.handles.get(&handle).map(|(.., measure)| *measure)
    }

    /// The number of stored names, handles and addresses. // 11.4
    pub(super) fn len(&self) -> usize {
        self.names.len() + self.handles.len() + self.addresses.len()
    }
}

impl Model {
    /// Whether calls from this address are refused at admission. // 13.1 (2)
    #[must_use]
    pub fn is_banned(&self, address: u64) -> bool {
        self.measures.addresses.get(&address) == Some(&Measure::Banned)
    }

    /// `block_user`. // 11.1
    pub(super) fn block(&mut self, caller: User, user: User) -> Outcome {
        if user == caller {
            return Err(refuse("invalid_arguments"));
        }
        self.check_user(user)?;
        let limit = self.config.max_blocks as usize;
        let participant = self.participant_mut(caller);
        if participant.blocked.contains(&user) {
            return Ok(Answer::Done);
        }
        if participant.blocked.len() >= limit {
            return Err(refuse("invalid_arguments"));
        }
        participant.blocked.insert(user);
        if let Some(room) = participant.pair
            && self.is_member(user, room)
        {
            self.end_pair(room, EndReason::Blocked, Some(caller));
        }
        Ok(Answer::Done)
    }

    /// `unblock_user`. // 11.1
    pub(super) fn unblock(&mut self, caller: User, user: User) -> Outcome {
        if user == caller {
            return Err(refuse("invalid_arguments"));
        }
        self.participant_mut(caller).blocked.remove(&user);
        Ok(Answer::Done)
    }

    /// `report_user`. // 11.2
    pub(super) fn report(&mut self, caller: User, user: User, reason: &str) -> Outcome {
        if user == caller {
            return Err(refuse("invalid_arguments"));
        }
        self.check_user(user)?;
        if !is_line(reason, MAX_REASON) {
            return Err(refuse("invalid_arguments"));
        }
        let from = self.participant(caller).address;
        let mut kept = self.reports.iter();
        if kept.any(|kept| kept.by == caller && kept.about == user) {
            return Ok(Answer::Done);
        }
        let of_address = self.reports.iter().filter(|kept| kept.from == from);
        if of_address.count() >= self.config.max_reports_per_address as usize {
            return Err(refuse("invalid_arguments"));
        }
        self.reports.push_back(Report {
            by: caller,
            about: user,
            from,
        });
        while self.reports.len() > self.config.max_reports as usize {
            self.reports.pop_front();
        }
        Ok(Answer::Done)
    }

    fn check_user(&self, user: User) -> Result<(), Refusal> {
        if self.is_registered(user) {
            Ok(())
        } else {
            Err(refuse("user_not_found"))
        }
    }

    /// An operator's action. // 11.3
    pub(super) fn operate(&mut self, act: &Act) -> Outcome {
        match act {
            Act::Mute { user, reason } => self.mute(*user, reason)?,
            Act::Unmute { user } => {
                self.check_user(*user)?;
                let participant = self.participant_mut(*user);
                participant.muted = false;
                let (handle, mut names) = (participant.handle, vec![fold(&participant.shown.name)]);
                names.extend(participant.shown.chosen_id.as_deref().map(fold));
                if self.measures.of_handle(handle) == Some(Measure::Muted)
                    && let Some((name, id, _)) = self.measures.handles.remove(&handle)
                {
                    names.push(name);
                    names.extend(id);
                }
                self.measures
                    .names
                    .retain(|of, (_, what)| !names.contains(of) || *what != Measure::Muted);
            }
            Act::Kick { user, room, reason } => self.kick(*user, *room, reason)?,
            Act::Close { room, reason } => self.close(*room, reason)?,
            Act::BanUser { user, .. } => {
                self.check_user(*user)?;
                self.keep(*user, Measure::Banned, WithId::Yes)?;
                self.forget(*user);
            }
            Act::Unban { name } => {
                let folded = fold(name);
                self.measures.names.remove(&folded);
                self.measures.handles.retain(|_, (of, ..)| *of != folded);
            }
            Act::MuteAddress { address, reason } => {
                self.keep_address(*address, Measure::Muted)?;
                for user in self.participants.numbers().into_iter().map(User) {
                    if self.participant(user).address == *address {
                        self.silence(user, reason);
                    }
                }
            }
            Act::BanAddress { address } => self.keep_address(*address, Measure::Banned)?,
            Act::UnbanAddress { address } => {
                self.measures.addresses.remove(address);
            }
        }
        Ok(Answer::Done)
    }

    /// Whether `more` names, handles and addresses have space; they count together. // 1
    fn check_space_for(&self, more: usize) -> Result<(), Refusal> {
        if more == 0 || self.measures.len() + more <= self.config.max_bans as usize {
            Ok(())
        } else {
            Err(refuse("invalid_arguments"))
        }
    }

    /// Stores the participant's handle and its chosen name, and if `with_id` says so its public id.
    /// // 11.4
    fn keep(&mut self, user: User, measure: Measure, with_id: WithId) -> Result<(), Refusal> {
        let participant = self.participant(user);
        let (handle, folded) = (participant.handle, fold(&participant.shown.name));
        let id = participant.shown.chosen_id.as_deref();
        let name = participant.chosen.then_some(&*participant.shown.name);
        // Names with the same folded form are one entry, with the keys of both.
        let mut chosen: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let id_too = id.filter(|_| with_id == WithId::Yes);
        for called in name.into_iter().chain(id_too) {
            chosen.entry(fold(called)).or_default().extend(keys(called));
        }
        let new_handle = !self.measures.handles.contains_key(&handle);
        let new_names = chosen
            .keys()
            .filter(|name| !self.measures.names.contains_key(*name));
        let more = usize::from(new_handle) + new_names.count();
        let id = id.map(fold);
        self.check_space_for(more)?;
        self.measures.handles.insert(handle, (folded, id, measure));
        for (name, keys) in chosen {
            self.measures.names.insert(name, (keys, measure));
        }
        Ok(())
    }

    /// Applies mutes to a participant that took a name. // 11.4
    pub(super) fn took_name(&mut self, user: User) {
        let participant = self.participant(user);
        if participant.muted {
            let kept = self.measures.handles.get(&participant.handle);
            let is_nameless = |with| !self.measures.names.contains_key(with);
            if kept.is_some_and(|(with, _, what)| *what == Measure::Muted && is_nameless(with)) {
                // Without space the mute is not stored.
                let _ = self.keep(user, Measure::Muted, WithId::No);
            }
        } else if self.measures.of_name(&keys(&participant.shown.name)) == Some(Measure::Muted) {
            self.participant_mut(user).muted = true;
            for room in self.participant(user).live.clone() {
                self.give_up_stick(room, user);
            }
        }
    }

    fn mute(&mut self, user: User, reason: &Arc<str>) -> Result<(), Refusal> {
        self.check_user(user)?;
        self.keep(user, Measure::Muted, WithId::Yes)?;
        self.participant_mut(user).muted = true;
        self.silence(user, reason);
        Ok(())
    }

    fn keep_address(&mut self, address: u64, measure: Measure) -> Result<(), Refusal> {
        let is_new = !self.measures.addresses.contains_key(&address);
        self.check_space_for(usize::from(is_new))?;
        self.measures.addresses.insert(address, measure);
        Ok(())
    }

    /// Whether the participant may not speak. // 11.3
    #[must_use]
    pub fn is_muted(&self, user: User) -> bool {
        let participant = self.participants.get(user.0);
        participant.is_some_and(|participant| {
            let address = self.measures.addresses.get(&participant.address);
            participant.muted || address == Some(&Measure::Muted)
        })
    }

    /// Informs the rooms of a muted participant. // 11.3
    fn silence(&mut self, user: User, reason: &Arc<str>) {
        for room in self.participant(user).live.clone() {
            let muted = EventKind::Moderation {
                user: Some(user),
                act: Moderated::Muted,
                reason: Arc::clone(reason),
            };
            self.post(room, muted, None);
            self.give_up_stick(room, user);
        }
    }

    fn kick(&mut self, user: User, room: Room, reason: &Arc<str>) -> Result<(), Refusal> {
        self.check_user(user)?;
        let Some(place) = self.rooms.get(room.0) else {
            return Err(refuse("room_not_found"));
        };
        let moderation = EventKind::Moderation {
            user: Some(user),
            act: Moderated::Kicked,
            reason: Arc::clone(reason),
        };
        match &place.kind {
            Kind::Ended { remembered_by } if remembered_by.contains(&user) => {
                return Err(refuse("chat_ended"));
            }
            Kind::Ended { .. } => return Err(refuse("not_in_room")),
            Kind::Pair { .. } | Kind::Named { .. } if !place.members.contains_key(&user) => {
                return Err(refuse("not_in_room"));
            }
            Kind::Pair { .. } => {
                self.post(room, moderation, None);
                self.end_pair(room, EndReason::Closed, None);
            }
            Kind::Named { .. } => {
                self.give_up_stick(room, user);
                self.post(room, moderation, None);
                self.remove_member(room, user);
            }
        }
        Ok(())
    }

    fn close(&mut self, room: Room, reason: &Arc<str>) -> Result<(), Refusal> {
        let Some(place) = self.rooms.get(room.0) else {
            return Err(refuse("room_not_found"));
        };
        match &place.kind {
            Kind::Ended { .. } => return Err(refuse("chat_ended")),
            Kind::Pair { .. } => self.end_pair(room, EndReason::Closed, None),
            Kind::Named { .. } => {
                let members: Vec<User> = place.members.keys().copied().collect();
                let closed = EventKind::Moderation {
                    user: None,
                    act: Moderated::Closed,
                    reason: Arc::clone(reason),
                };
                self.post(room, closed, None);
                for user in members {
                    self.remove_member(room, user);
                }
            }
        }
        Ok(())
    }
}
