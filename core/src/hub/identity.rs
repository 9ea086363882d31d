//! Registering, names, and being found by them.

use std::sync::Arc;

use super::Hub;
use crate::breaks::Breaks;
use crate::command::{Command, EnterQueue};
use crate::event::Who;
use crate::id::{RequestKey, SecretHash, UserId};
use crate::inbox::Inbox;
use crate::name::{Name, fold, is_given};
use crate::participant::{Memory, Naming, Participant, Presence, Voice};
use crate::reject::{Accepted, Argument, NameFault, Reject};
use crate::reply::Reply;

/// The most characters of a public id.
const MAX_PUBLIC_ID: usize = 64;

impl Hub {
    /// A call by somebody who has no handle yet. Only commands that mint one are decided.
    pub(super) fn register(
        &mut self,
        handle: SecretHash,
        reader: SecretHash,
        key: Option<RequestKey>,
        command: &Command,
    ) -> Result<Reply, Reject> {
        let (name, chosen_id) = if let Command::EnterQueue(enter) = command {
            (
                self.check_enter(None, enter)?,
                self.check_public_id(enter.user_id.as_ref())?,
            )
        } else if let Command::Login { username, room } = command {
            let name = self.check_name(None, username)?;
            self.check_join(None, room)?;
            (name, None)
        } else if let Command::TakeBreak { excuse, .. } = command {
            self.check_excuse(excuse.as_ref())?;
            (None, None)
        } else if *command == Command::Arrive {
            (None, None)
        } else {
            return Err(Reject::HandleRequired);
        };
        self.check_user_space(reader)?;
        let user = self.mint(handle, reader, name, chosen_id);
        // Minting is no use of the handle: only a later call shows that its owner received it.
        let unused = Presence::Present {
            until: self.now + self.config.unused_timeout,
        };
        self.user_mut(user).presence = unused;
        self.arm_presence(user);
        let outcome = self.decide(user, command);
        debug_assert!(outcome.is_ok(), "checked above: {outcome:?}");
        if let Some(key) = key {
            let request = crate::digest::fingerprint(command);
            self.remember(user, key, request, &outcome);
        }
        outcome
    }

    fn check_user_space(&self, reader: SecretHash) -> Result<(), Reject> {
        let full = self.users.len() >= self.config.max_participants as usize;
        if full || self.index.readers.get(&reader).is_some() {
            return Err(Reject::ServerFull);
        }
        Ok(())
    }

    fn mint(
        &mut self,
        handle: SecretHash,
        reader: SecretHash,
        name: Option<Name>,
        chosen_id: Option<Box<str>>,
    ) -> UserId {
        self.last_user = self.last_user.next();
        let id = self.last_user;
        let naming = if name.is_some() {
            Naming::Chosen
        } else {
            Naming::Given
        };
        let shown = name.map_or_else(|| id.to_string().into(), |name| Box::from(&*name.shown));
        let who = Arc::new(Who {
            id,
            chosen_id,
            name: shown,
        });
        let participant = Participant {
            who,
            naming,
            handle,
            reader,
            presence: Presence::Present { until: self.now },
            streams: 0,
            rooms: Vec::new(),
            pair: None,
            ended: std::collections::VecDeque::new(),
            last_partner: None,
            blocks: Vec::new(),
            voice: Voice::Free,
            inbox: Inbox::default(),
            memory: Memory::default(),
            breaks: Breaks::new(self.now),
        };
        self.users.insert(id, participant);
        self.reindex(id);
        id
    }

    /// Makes the participant findable by its secrets and names.
    pub(super) fn reindex(&mut self, user: UserId) {
        let participant = self
            .users
            .get(&user)
            .expect("just minted, or just restored");
        self.index.handles.insert(participant.handle, user);
        self.index.readers.insert(participant.reader, user);
        self.index.names.insert(fold(&participant.who.name), user);
        if let Some(id) = &participant.who.chosen_id {
            self.index.chosen_ids.insert(id.clone(), user);
        }
    }

    pub(super) fn unindex(&mut self, user: UserId) {
        let participant = self.users.get(&user).expect("the caller has looked it up");
        self.index.handles.remove(&participant.handle);
        self.index.readers.remove(&participant.reader);
        self.index.names.remove(&fold(&participant.who.name));
        if let Some(id) = &participant.who.chosen_id {
            self.index.chosen_ids.remove(id);
        }
    }

    /// Checks whether `user`, or a newcomer (`None`), may take this name. `None` if it has the name.
    pub(super) fn check_name(
        &self,
        user: Option<UserId>,
        text: &Arc<str>,
    ) -> Result<Option<Name>, Reject> {
        let name = Name::of_participant(text).map_err(|why| Reject::NameNotAllowed { why })?;
        if let Some(participant) = user.map(|user| self.user(user)) {
            if *participant.who.name == *name.shown {
                return Ok(None);
            }
            if participant.naming == Naming::Chosen {
                return Err(Reject::NameNotAllowed {
                    why: NameFault::Kept,
                });
            }
        }
        if self.moderation.names.contains_key(&name.folded) {
            return Err(Reject::NameNotAllowed {
                why: NameFault::Banned,
            });
        }
        match self.index.names.get(&name.folded) {
            Some(other) if user != Some(*other) => Err(Reject::NameTaken),
            // Names of the form `user_7` are given with the ids that go with them.
            None if is_given(&name.folded) => Err(Reject::NameTaken),
            _ => Ok(Some(name)),
        }
    }

    pub(super) fn take_name(&mut self, user: UserId, name: Option<Name>) {
        let Some(name) = name else { return };
        let participant = self.user_mut(user);
        let before = fold(&participant.who.name);
        participant.naming = Naming::Chosen;
        participant.who = Arc::new(Who {
            id: user,
            chosen_id: participant.who.chosen_id.clone(),
            name: Box::from(&*name.shown),
        });
        self.index.names.remove(&before);
        self.index.names.insert(name.folded, user);
    }

    fn check_public_id(&self, id: Option<&Arc<str>>) -> Result<Option<Box<str>>, Reject> {
        let Some(id) = id else { return Ok(None) };
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
        if id.is_empty() || id.len() > MAX_PUBLIC_ID || !id.chars().all(plain) {
            return Err(Reject::InvalidArguments {
                argument: Argument::UserId,
                accepted: Accepted::PublicId,
            });
        }
        if is_given(&fold(id)) || self.index.chosen_ids.contains_key(&**id) {
            return Err(Reject::UserIdTaken);
        }
        Ok(Some(Box::from(&**id)))
    }

    /// With a handle, `login` joins a room; a participant that never chose a name takes this one.
    pub(super) fn login(
        &mut self,
        user: UserId,
        username: &Arc<str>,
        room: &Arc<str>,
    ) -> Result<Reply, Reject> {
        let name = self.check_name(Some(user), username)?;
        let room = self.check_join(Some(user), room)?;
        self.take_name(user, name);
        let room = self.join_named(user, room);
        Ok(Reply::LoggedIn { user, room })
    }

    /// What `enter_queue` says of the caller, checked: the name to take, if any.
    pub(super) fn check_enter(
        &self,
        user: Option<UserId>,
        enter: &EnterQueue,
    ) -> Result<Option<Name>, Reject> {
        let name = match &enter.display_name {
            Some(text) => self.check_name(user, text)?,
            None => None,
        };
        self.check_interests(&enter.interests)?;
        self.check_queue_space(user, enter)?;
        // Whoever enters may be matched at once, and then needs a room.
        self.check_room_space()?;
        Ok(name)
    }
}
