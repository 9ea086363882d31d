//! Blocks, reports, and actions of operators. // 11

use std::collections::BTreeMap;
use std::sync::Arc;

use chat_types::{Address, Report, Time};
use sim_model::listing::{self, Listed, Target};
use sim_model::protocol::{Code, Decided, EndReason, Refusal, Reply, Room, User, Who};
use sim_model::server::{Operate, SecretHash};

use super::names::{fold, is_line, keys};
use super::room::Kind;
use super::{Body, Model, refuse, refuse_if};

/// The most characters of a reason. // 1
const MAX_REASON: usize = 500;

/// Muted and banned names, handles and addresses, which apply to later registrations. // 11.4
#[derive(Clone, Debug, Default)]
pub(super) struct StoredMeasures {
    /// By folded name.
    names: BTreeMap<String, StoredName>,
    pub(super) handles: BTreeMap<SecretHash, StoredHandle>,
    addresses: BTreeMap<u64, Decreed>,
}

/// A stored name. // 11.4
#[derive(Clone, Debug)]
struct StoredName {
    spelled: Arc<str>,
    keys: Vec<String>,
    decreed: Decreed,
}

/// A stored handle, with its participant as it was shown. // 11.4
#[derive(Clone, Debug)]
pub(super) struct StoredHandle {
    who: Arc<Who>,
    decreed: Decreed,
}

impl StoredHandle {
    /// The folded name of its participant.
    fn folded(&self) -> String {
        fold(&self.who.name)
    }
}

/// A measure with the act that decreed it.
#[derive(Clone, Debug)]
struct Decreed {
    measure: Measure,
    at: Time,
    reason: Arc<str>,
}

/// The kind of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Measure {
    /// Muted.
    Muted,
    /// Banned.
    Banned,
}

impl StoredMeasures {
    /// The measure that applies to a look-alike of the name with these keys: a ban before a mute.
    pub(super) fn of_name(&self, keys: &[String]) -> Option<Measure> {
        let names = self.names.values();
        let alike = names.filter(|name| name.keys.iter().any(|key| keys.contains(key)));
        alike.map(|name| name.decreed.measure).max()
    }

    /// Whether a look-alike of the name is muted.
    pub(super) fn is_muted(&self, name: &str) -> bool {
        !self.names.is_empty() && self.of_name(&keys(name)) == Some(Measure::Muted)
    }

    /// The measure that applies to a handle.
    pub(super) fn of_handle(&self, handle: SecretHash) -> Option<Measure> {
        let stored = self.handles.get(&handle)?;
        Some(stored.decreed.measure)
    }

    /// The measure that applies to an address.
    pub(super) fn of_address(&self, address: u64) -> Option<Measure> {
        let decreed = self.addresses.get(&address)?;
        Some(decreed.measure)
    }

    /// All of them as operators read them. // 16.6
    pub(super) fn listed(&self) -> impl Iterator<Item = Listed> {
        let names = self.names.values();
        let names = names.map(|name| (Target::Name(Arc::clone(&name.spelled)), &name.decreed));
        let handles = self.handles.values();
        let handles =
            handles.map(|handle| (Target::Handle(Arc::clone(&handle.who)), &handle.decreed));
        let addresses = self.addresses.iter();
        let addresses = addresses.map(|(address, decreed)| (Target::Address(*address), decreed));
        names
            .chain(handles)
            .chain(addresses)
            .map(|(target, decreed)| {
                let measure = listing::Measure {
                    is_ban: decreed.measure == Measure::Banned,
                    at: decreed.at,
                    reason: Arc::clone(&decreed.reason),
                };
                Listed::Measure(target, measure)
            })
    }

    /// The number of stored names, handles and addresses. // 11.4
    pub(super) fn len(&self) -> usize {
        self.names.len() + self.handles.len() + self.addresses.len()
    }
}

/// Whether it is a reason of a report or an operator's act. // 11.2, 11.3
fn check_reason(reason: &str) -> Result<(), Refusal> {
    refuse_if(!is_line(reason, MAX_REASON), refuse(Code::InvalidArguments))
}

impl Model {
    /// Whether calls from this address are refused at admission. // 13.1 (2)
    pub(crate) fn is_banned(&self, address: u64) -> bool {
        self.measures.of_address(address) == Some(Measure::Banned)
    }

    /// `block_user`. // 11.1
    pub(super) fn block(&mut self, caller: User, user: User) -> Decided {
        refuse_if(user == caller, refuse(Code::InvalidArguments))?;
        self.check_user(user)?;
        let limit = self.config.max_blocks as usize;
        let participant = self.participant_mut(caller);
        if participant.blocked.contains(&user) {
            return Ok(Reply::Done);
        }
        refuse_if(
            participant.blocked.len() >= limit,
            refuse(Code::InvalidArguments),
        )?;
        participant.blocked.insert(user);
        if let Some(room) = participant.pair
            && self.is_member(user, room)
        {
            self.end_pair(room, EndReason::Blocked, Some(caller));
        }
        Ok(Reply::Done)
    }

    /// `unblock_user`. // 11.1
    pub(super) fn unblock(&mut self, caller: User, user: User) -> Decided {
        refuse_if(user == caller, refuse(Code::InvalidArguments))?;
        self.participant_mut(caller).blocked.remove(&user);
        Ok(Reply::Done)
    }

    /// `report_user`. // 11.2
    pub(super) fn report(&mut self, caller: User, user: User, reason: &Arc<str>) -> Decided {
        refuse_if(user == caller, refuse(Code::InvalidArguments))?;
        self.check_user(user)?;
        check_reason(reason)?;
        let from = Address(self.participant(caller).address);
        let mut kept = self.reports.iter();
        if kept.any(|kept| kept.by == caller && kept.about == user) {
            return Ok(Reply::Done);
        }
        let of_address = self.reports.iter().filter(|kept| kept.from == from);
        let is_full = of_address.count() >= self.config.max_reports_per_address as usize;
        refuse_if(is_full, refuse(Code::InvalidArguments))?;
        self.reports.push_back(Report {
            at: self.now,
            by: caller,
            about: user,
            from,
            reason: Arc::clone(reason),
        });
        while self.reports.len() > self.config.max_reports as usize {
            self.reports.pop_front();
        }
        Ok(Reply::Done)
    }

    fn check_user(&self, user: User) -> Result<(), Refusal> {
        refuse_if(!self.is_registered(user), refuse(Code::UserNotFound))
    }

    /// An operator's action. // 11.3
    pub(super) fn operate(&mut self, act: &Operate) -> Decided {
        match act {
            Operate::Mute { user, reason } => self.mute(*user, reason)?,
            Operate::Unmute { user } => {
                self.check_user(*user)?;
                let before = self.measures.len();
                let participant = self.participant_mut(*user);
                let was_muted = std::mem::take(&mut participant.muted);
                let (handle, mut names) = (participant.handle, vec![fold(&participant.who.name)]);
                names.extend(participant.who.chosen_id.as_deref().map(fold));
                if self.measures.of_handle(handle) == Some(Measure::Muted)
                    && let Some(stored) = self.measures.handles.remove(&handle)
                {
                    names.push(stored.folded());
                    names.extend(stored.who.chosen_id.as_deref().map(fold));
                }
                self.measures.names.retain(|of, name| {
                    !names.contains(of) || name.decreed.measure != Measure::Muted
                });
                let found = was_muted || self.measures.len() < before;
                return Ok(Reply::Lifted { found });
            }
            Operate::Kick { user, room, reason } => self.kick(*user, *room, reason)?,
            Operate::Close { room, reason } => self.close(*room, reason)?,
            Operate::BanUser { user, reason } => {
                check_reason(reason)?;
                self.check_user(*user)?;
                let decreed = self.decree(Measure::Banned, reason);
                self.keep(*user, decreed, true)?;
                self.forget(*user);
            }
            Operate::Unban { name } => {
                let (folded, before) = (fold(name), self.measures.len());
                self.measures.names.remove(&folded);
                self.measures
                    .handles
                    .retain(|_, handle| handle.folded() != folded);
                let found = self.measures.len() < before;
                return Ok(Reply::Lifted { found });
            }
            Operate::MuteAddress { address, reason } => {
                check_reason(reason)?;
                self.keep_address(address.0, Measure::Muted, reason)?;
                for user in self.participants.numbers().into_iter().map(User) {
                    if self.participant(user).address == address.0 {
                        self.silence(user, reason);
                    }
                }
            }
            Operate::BanAddress { address, reason } => {
                check_reason(reason)?;
                self.keep_address(address.0, Measure::Banned, reason)?;
            }
            Operate::UnbanAddress { address } => {
                let found = self.measures.addresses.remove(&address.0).is_some();
                return Ok(Reply::Lifted { found });
            }
        }
        Ok(Reply::Done)
    }

    /// Whether `more` names, handles and addresses have space; they count together. // 1
    fn check_space_for(&self, more: usize) -> Result<(), Refusal> {
        let is_full = more > 0 && self.measures.len() + more > self.config.max_bans as usize;
        refuse_if(is_full, refuse(Code::InvalidArguments))
    }

    /// Stores the participant's handle and its chosen name, and if `with_id` says so its public id.
    /// // 11.4
    fn keep(&mut self, user: User, decreed: Decreed, with_id: bool) -> Result<(), Refusal> {
        let participant = self.participant(user);
        let (handle, who) = (participant.handle, Arc::clone(&participant.who));
        let name = participant.chosen.then_some(&who.name);
        // Names with the same folded form are one entry, with the keys of both.
        let mut chosen: BTreeMap<String, StoredName> = BTreeMap::new();
        let id = who.chosen_id.as_ref();
        let id_too = id.filter(|_| with_id);
        for called in name.into_iter().chain(id_too) {
            let stored = chosen.entry(fold(called)).or_insert_with(|| StoredName {
                spelled: (&**called).into(),
                keys: Vec::new(),
                decreed: decreed.clone(),
            });
            stored.keys.extend(keys(called));
        }
        let new_handle = !self.measures.handles.contains_key(&handle);
        let new_names = chosen
            .keys()
            .filter(|name| !self.measures.names.contains_key(*name));
        let more = usize::from(new_handle) + new_names.count();
        self.check_space_for(more)?;
        let stored = StoredHandle { who, decreed };
        self.measures.handles.insert(handle, stored);
        self.measures.names.extend(chosen);
        Ok(())
    }

    /// Applies mutes to a participant that took a name. // 11.4
    pub(super) fn took_name(&mut self, user: User) {
        let participant = self.participant(user);
        if participant.muted {
            let kept = self.measures.handles.get(&participant.handle);
            let kept = kept.filter(|kept| kept.decreed.measure == Measure::Muted);
            let is_named = |name: &String| self.measures.names.contains_key(name);
            if let Some(kept) = kept.filter(|kept| !is_named(&kept.folded())) {
                // Without space the mute is not stored.
                let _ = self.keep(user, kept.decreed.clone(), false);
            }
        } else if self.measures.is_muted(&participant.who.name) {
            self.participant_mut(user).muted = true;
            for room in self.participant(user).live.clone() {
                self.give_up_stick(room, user);
            }
        }
    }

    fn mute(&mut self, user: User, reason: &Arc<str>) -> Result<(), Refusal> {
        check_reason(reason)?;
        self.check_user(user)?;
        let decreed = self.decree(Measure::Muted, reason);
        self.keep(user, decreed, true)?;
        self.participant_mut(user).muted = true;
        self.silence(user, reason);
        Ok(())
    }

    fn decree(&self, measure: Measure, reason: &Arc<str>) -> Decreed {
        Decreed {
            measure,
            at: self.now,
            reason: Arc::clone(reason),
        }
    }

    fn keep_address(
        &mut self,
        address: u64,
        measure: Measure,
        reason: &Arc<str>,
    ) -> Result<(), Refusal> {
        let is_new = !self.measures.addresses.contains_key(&address);
        self.check_space_for(usize::from(is_new))?;
        let decreed = self.decree(measure, reason);
        self.measures.addresses.insert(address, decreed);
        Ok(())
    }

    /// Whether the participant may not speak. // 11.3
    pub(crate) fn is_muted(&self, user: User) -> bool {
        let participant = self.participants.get(user.0);
        participant.is_some_and(|participant| {
            let of_address = self.measures.of_address(participant.address);
            participant.muted || of_address == Some(Measure::Muted)
        })
    }

    /// Informs the rooms of a muted participant. // 11.3
    fn silence(&mut self, user: User, reason: &Arc<str>) {
        for room in self.participant(user).live.clone() {
            let muted = Body::Muted {
                user: self.who(user),
                reason: Arc::clone(reason),
            };
            self.post(room, muted, None);
            self.give_up_stick(room, user);
        }
    }

    fn kick(&mut self, user: User, room: Room, reason: &Arc<str>) -> Result<(), Refusal> {
        check_reason(reason)?;
        self.check_user(user)?;
        let Some(place) = self.rooms.get(room.0) else {
            return Err(refuse(Code::RoomNotFound));
        };
        let moderation = Body::Kicked {
            user: self.who(user),
            reason: Arc::clone(reason),
        };
        match &place.kind {
            Kind::Ended { remembered_by, .. } if remembered_by.contains(&user) => {
                return Err(self.has_ended(room));
            }
            Kind::Ended { .. } => return Err(refuse(Code::NotInRoom)),
            Kind::Pair { .. } | Kind::Named { .. } if !place.members.contains_key(&user) => {
                return Err(refuse(Code::NotInRoom));
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
        check_reason(reason)?;
        let Some(place) = self.rooms.get(room.0) else {
            return Err(refuse(Code::RoomNotFound));
        };
        match &place.kind {
            Kind::Ended { .. } => return Err(self.has_ended(room)),
            Kind::Pair { .. } => self.end_pair(room, EndReason::Closed, None),
            Kind::Named { .. } => {
                let members: Vec<User> = place.members.keys().copied().collect();
                let closed = Body::Closed {
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
