//! Registration and names, and finding participants by them.

use std::collections::BTreeSet;
use std::sync::Arc;

use chat_types::{
    Address, Caller, Command, EnterQueue, Measure, Reply, RequestKey, SecretHash, Span, UserId, Who,
};

use super::{Hub, Index};
use crate::breaks::Breaks;
use crate::inbox::Inbox;
use crate::name::{Keys, Name, is_given, unreserved};
use crate::participant::{Memory, Participant, State};
use crate::reject::{Accepted, Argument, NameFault, NameHolder, Outcome, Reject, refuse_if};
use crate::room::Kind;
use crate::timer::Timer;

/// The most characters of a public id.
pub(crate) const MAX_PUBLIC_ID: usize = 64;

/// A name that may be taken, and the participants that give way for it.
pub(super) type FreeName = (Name, BTreeSet<UserId>);

impl Index {
    /// The participant whose name or chosen id has this key.
    pub(super) fn owner(&self, key: &str) -> Option<UserId> {
        let owner = self.names.get(key).or_else(|| self.spellings.get(key));
        owner.copied()
    }

    /// Adds a participant under its secrets, its name and the id that it chose.
    fn add(&mut self, user: UserId, participant: &Participant) {
        self.handles.insert(participant.handle, user);
        self.readers.insert(participant.reader, user);
        self.away.add(user, participant);
        let who = &participant.who;
        self.add_name(Keys::of(&who.name), user);
        if let Some(id) = &who.chosen_id {
            for key in Keys::of(id).iter() {
                self.spellings.insert(key.into(), user);
            }
            self.chosen_ids.insert(id.clone(), user);
        }
        let blocks = participant.blocks.iter().map(|other| (*other, user));
        self.blocks.extend(blocks);
    }

    /// Removes a participant whose registration ended.
    pub(super) fn remove(&mut self, user: UserId, participant: &Participant) {
        self.handles.remove(&participant.handle);
        self.readers.remove(&participant.reader);
        self.remove_name(&participant.who.name);
        self.away.remove(user, participant);
        for other in &participant.blocks {
            self.blocks.remove(&(*other, user));
        }
        if let Some(id) = &participant.who.chosen_id {
            for key in Keys::of(id).iter() {
                self.spellings.remove(key);
            }
            self.chosen_ids.remove(id);
        }
    }

    fn add_name(&mut self, keys: Keys, user: UserId) {
        self.names.insert(keys.lower, user);
        for key in keys.others {
            self.spellings.insert(key, user);
        }
    }

    fn remove_name(&mut self, name: &str) {
        let keys = Keys::of(name);
        self.names.remove(&keys.lower);
        for key in &keys.others {
            self.spellings.remove(key);
        }
    }
}

impl Hub {
    /// Handles a call of a caller without a participant. Only commands that register one are
    /// decided.
    pub(super) fn register(
        &mut self,
        caller: &Caller,
        key: Option<RequestKey>,
        command: &Command,
    ) -> Outcome {
        let Caller::New {
            handle,
            reader,
            from,
        } = *caller
        else {
            return Err(Reject::UnknownHandle);
        };
        if self.moderation.of_handle(&handle) == Some(Measure::Ban) {
            return Err(Reject::Blocked);
        }
        let mut yielding = BTreeSet::new();
        let (name, chosen_id, joins) = if let Command::EnterQueue(enter) = command {
            let name = self.check_enter(None, from, enter)?;
            let id = self.check_public_id(enter.user_id.as_ref(), from, &mut yielding)?;
            (name, id, None)
        } else if let Command::Login { username, room } = command {
            let name = self.check_name(None, from, username)?;
            let room = self.check_join(None, from, room)?;
            if self.is_to_be_muted(&handle, from) || self.is_muted_name(name.as_ref()) {
                self.check_open(&room)?;
            }
            (name, None, Some(room))
        } else if let Command::TakeBreak { excuse, .. } = command {
            self.check_excuse(excuse.as_ref())?;
            (None, None, None)
        } else {
            return Err(Reject::HandleRequired);
        };
        let name = name.map(|(name, others)| {
            yielding.extend(others);
            name
        });
        yielding.extend(self.check_user_space(reader, from, &yielding)?);
        for user in yielding {
            self.forget(user);
        }
        let user = self.mint((handle, reader, from), name, chosen_id);
        // The registration itself is no use of the handle: only a later call shows that its owner
        // received it.
        let until = self.now + self.config.unused_timeout;
        self.set_presence(user, State::Unused.until(until));
        self.arm(Timer::Presence(user));
        let outcome = match joins {
            // Not checked again: the member who made place in the room may be forgotten by now.
            Some(name) => Ok(Reply::LoggedIn {
                user,
                room: self.join_named(user, name),
            }),
            None => self.decide(user, command),
        };
        debug_assert!(outcome.is_ok(), "checked above: {outcome:?}");
        if let Some(key) = key {
            let request = crate::digest::fingerprint(command);
            self.remember(user, key, request, &outcome);
        }
        outcome
    }

    /// Checks whether one more participant fits when those `yielding` are gone, all from its
    /// address. Returns the participant to replace, if space ran out.
    fn check_user_space(
        &self,
        reader: SecretHash,
        from: Address,
        yielding: &BTreeSet<UserId>,
    ) -> Outcome<Option<UserId>> {
        if self.index.readers.get(&reader).is_some() {
            return Err(Reject::ServerFull);
        }
        let limit = self.config.max_per_address;
        if self.index.away.registered_from(from) - yielding.len() >= limit as usize {
            let first = self.index.away.first_from(from, yielding);
            return first.map(Some).ok_or(Reject::AddressFull { limit });
        }
        if self.users.len() - yielding.len() >= self.config.max_participants as usize {
            let longest = self.index.away.longest(yielding);
            return longest.map(Some).ok_or(Reject::ServerFull);
        }
        Ok(None)
    }

    fn mint(
        &mut self,
        (handle, reader, address): (SecretHash, SecretHash, Address),
        name: Option<Name>,
        chosen_id: Option<Box<str>>,
    ) -> UserId {
        self.last_user = self.last_user.next();
        let id = self.last_user;
        let is_named = name.is_some();
        let shown = name.map_or_else(|| id.to_string().into(), |name| Box::from(&*name.shown));
        // A mute of a handle or an id holds for the new participant. A mute of its chosen name is
        // checked below.
        let is_muted = self.moderation.of_handle(&handle) == Some(Measure::Mute)
            || chosen_id
                .as_deref()
                .is_some_and(|id| self.has_muted_name(id));
        let who = Arc::new(Who {
            id,
            chosen_id,
            name: shown,
        });
        let participant = Participant {
            who,
            is_named,
            handle,
            reader,
            address,
            presence: State::Present.until(self.now),
            streams: 0,
            rooms: Vec::new(),
            pair: None,
            ended: std::collections::VecDeque::new(),
            last_partner: None,
            blocks: Vec::new(),
            is_muted,
            inbox: Inbox::default(),
            memory: Memory::default(),
            breaks: Breaks::new(self.now),
        };
        self.index.add(id, &participant);
        self.users.insert(id, participant.into());
        if is_named {
            self.took_name(id);
        }
        id
    }

    /// Whether another state, of which this one is a copy, has the same index.
    pub(crate) fn is_indexed_as(&self, other: &Self) -> bool {
        self.index == other.index
    }

    /// The index, made of the rest of the state.
    pub(super) fn indexed(&self) -> Index {
        let mut index = Index::default();
        for (user, participant) in self.users.sorted() {
            index.add(user, participant);
        }
        for (id, room) in self.rooms.sorted() {
            if let Kind::Named { key, .. } = &room.kind {
                index.rooms.insert(key.clone(), id);
            }
        }
        index
    }

    /// Checks whether `user`, or a newcomer (`None`), of this address may take this name. `None` if
    /// it has the name.
    pub(super) fn check_name(
        &self,
        user: Option<UserId>,
        from: Address,
        text: &Arc<str>,
    ) -> Outcome<Option<FreeName>> {
        let participant = user.map(|user| self.user(user));
        // Its own name passed the rules when it was taken, or is of the server's form.
        if participant.is_some_and(|participant| *participant.who.name == **text) {
            return Ok(None);
        }
        let name = Name::new(text).map_err(|why| Reject::NameNotAllowed { why })?;
        if participant.is_some_and(|participant| participant.is_named) {
            let why = NameFault::Kept;
            return Err(Reject::NameNotAllowed { why });
        }
        if self.moderation.of_name(&name.keys) == Some(Measure::Ban) {
            let why = NameFault::Banned;
            return Err(Reject::NameNotAllowed { why });
        }
        let yielding = self
            .yielding(&name.keys, user, from)
            .map_err(|holder| Reject::NameTaken { holder })?;
        Ok(Some((name, yielding)))
    }

    /// The other participants whose names or ids have one of these keys, if all of them give way to
    /// a caller from this address, and no key has the form of the server's ids. A name such as
    /// `user_7` belongs to the participant with that id.
    fn yielding(
        &self,
        keys: &Keys,
        user: Option<UserId>,
        from: Address,
    ) -> Result<BTreeSet<UserId>, NameHolder> {
        let (mut yielding, mut taken) = (BTreeSet::new(), None);
        for key in keys.iter() {
            match self.index.owner(key) {
                Some(owner) if user == Some(owner) => {}
                Some(_) | None if is_given(key) => taken = Some(NameHolder::Server),
                Some(owner) => match self.holder(owner, from) {
                    None => _ = yielding.insert(owner),
                    holder => taken = taken.max(holder),
                },
                None => {}
            }
        }
        taken.map_or(Ok(yielding), Err)
    }

    /// The participant as the holder of a name. None if it gives way to a caller from this address.
    fn holder(&self, user: UserId, from: Address) -> Option<NameHolder> {
        let holder = self.user(user);
        if holder.address != from {
            // To others nothing is said of its presence.
            return Some(NameHolder::Other(self.config.forget_after));
        }
        if holder.presence.ghost().is_some() {
            return None;
        }
        let silence = match holder.deadline() {
            Some(until) => until.since(self.now),
            None => self.config.reconnect_grace, // once its streams have closed
        };
        Some(NameHolder::SameAddress(Span::secs(silence.as_secs_ceil())))
    }

    pub(super) fn take_name(&mut self, user: UserId, free: Option<FreeName>) {
        let Some((name, yielding)) = free else { return };
        for ghost in yielding {
            self.forget(ghost);
        }
        let participant = self.user_mut(user);
        let before = Arc::clone(&participant.who);
        participant.is_named = true;
        participant.who = Arc::new(Who {
            id: user,
            chosen_id: participant.who.chosen_id.clone(),
            name: Box::from(&*name.shown),
        });
        self.index.remove_name(&before.name);
        self.index.add_name(name.keys, user);
        self.took_name(user);
    }

    /// Checks the chosen public id by the rules for names: it is shown where names are. Adds those
    /// that give way for it.
    fn check_public_id(
        &self,
        id: Option<&Arc<str>>,
        from: Address,
        yielding: &mut BTreeSet<UserId>,
    ) -> Result<Option<Box<str>>, Reject> {
        let Some(id) = id else { return Ok(None) };
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
        if id.is_empty() || id.len() > MAX_PUBLIC_ID || !id.chars().all(plain) {
            return Err(Reject::invalid(Argument::UserId, Accepted::PublicId));
        }
        let keys = unreserved(id).ok_or(Reject::UserIdTaken)?;
        let is_banned = self.moderation.of_name(&keys) == Some(Measure::Ban);
        refuse_if(is_banned, Reject::UserIdTaken)?;
        let holders = self.yielding(&keys, None, from);
        yielding.extend(holders.map_err(|_| Reject::UserIdTaken)?);
        Ok(Some(Box::from(&**id)))
    }

    /// Whether the caller that takes this name becomes muted by it.
    fn is_muted_name(&self, free: Option<&FreeName>) -> bool {
        free.is_some_and(|(name, _)| self.moderation.of_name(&name.keys) == Some(Measure::Mute))
    }

    /// Handles `login` of a registered participant: it joins the room, and takes the name if it has
    /// not chosen one before.
    pub(super) fn login(&mut self, user: UserId, username: &Arc<str>, room: &Arc<str>) -> Outcome {
        let from = self.user(user).address;
        let name = self.check_name(Some(user), from, username)?;
        let room = self.check_join(Some(user), from, room)?;
        if self.is_muted(user) || self.is_muted_name(name.as_ref()) {
            self.check_open(&room)?;
        }
        self.take_name(user, name);
        let room = self.join_named(user, room);
        Ok(Reply::LoggedIn { user, room })
    }

    /// Checks the arguments of `enter_queue`, and returns the name to take, if any.
    pub(super) fn check_enter(
        &self,
        user: Option<UserId>,
        from: Address,
        enter: &EnterQueue,
    ) -> Outcome<Option<FreeName>> {
        let name = match &enter.display_name {
            Some(text) => self.check_name(user, from, text)?,
            None => None,
        };
        self.check_interests(&enter.interests)?;
        self.check_queue_space(user, enter)?;
        // The caller may be matched at once, which needs a room.
        self.check_room_space()?;
        Ok(name)
    }
}
