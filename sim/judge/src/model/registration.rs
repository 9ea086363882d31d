//! Registration: the calls of a new caller that create a participant. // 5.1

use std::collections::BTreeSet;
use std::sync::Arc;

use chat_types::{Command, EnterQueue, SecretHash};
use sim_model::protocol::{Code, Decided, Refusal, Reply, User};

use super::deadline::Deadline;
use super::moderation::Measure;
use super::names::{Naming, keys};
use super::participant::Participant;
use super::{Model, refuse, refuse_at, refuse_if};

impl Model {
    /// A call by a new caller: returns the participant if one was created, and the outcome.
    pub(super) fn register(
        &mut self,
        (handle, reader): (SecretHash, SecretHash),
        from: u64,
        command: &Command,
    ) -> Result<(User, Decided), Refusal> {
        let kept = self.measures.of_handle(handle);
        refuse_if(kept == Some(Measure::Banned), refuse(Code::Blocked))?; // 11.4
        let mut yielding = self.check_registration((handle, from), command)?;
        yielding.extend(self.check_space_for_participant(from, &yielding)?);
        for other in yielding {
            self.forget(other);
        }
        let number = User(self.participants.last() + 1); // 4.1
        *self.by_address.entry(from).or_default() += 1;
        let unused = self.config.unused_timeout;
        let mut participant = Participant::new((handle, reader), from, number, self.now, unused);
        if let Command::EnterQueue(EnterQueue {
            user_id: Some(id), ..
        }) = command
        {
            Arc::make_mut(&mut participant.who).chosen_id = Some((&**id).into());
            let keys = keys(id);
            participant.muted = self.measures.of_name(&keys) == Some(Measure::Muted); // 11.4
            self.add_keys(number, keys);
        }
        participant.muted |= kept == Some(Measure::Muted); // 11.4
        let deadline = participant.presence.deadline();
        self.deadlines.set(Deadline::Presence(number), deadline);
        self.add_keys(number, keys(&participant.who.name));
        self.handles.insert(handle, number);
        self.readers.insert(reader, number);
        self.participants.add(participant);
        if let Command::Login { username, room } = command {
            // 5.1: this decision cannot be refused, also if the member that is longest away in the
            // room was forgotten.
            let naming = self.check_name(Some(number), from, username)?;
            self.name(number, username, naming);
            let room = self.join(number, room);
            let user = number;
            return Ok((number, Ok(Reply::LoggedIn { user, room })));
        }
        Ok((number, self.decide(number, command)))
    }

    /// Whether there is space for one more participant, and the participant that is forgotten for
    /// it. // 5.1
    fn check_space_for_participant(
        &self,
        from: u64,
        yielding: &BTreeSet<User>,
    ) -> Result<Option<User>, Refusal> {
        let of_address = self.by_address.get(&from).copied().unwrap_or_default();
        let all = self.participants.numbers().into_iter().map(User);
        let others = all.filter(|user| !yielding.contains(user));
        // Those that give way are all of this address.
        if of_address as usize - yielding.len() >= self.config.max_per_address as usize {
            let first = self.first_to_give_way(others, from);
            let limit = self.config.max_per_address;
            return first.map(Some).ok_or(refuse_at(Code::AddressFull, limit));
        }
        if self.participants.len() - yielding.len() >= self.config.max_participants as usize {
            return self
                .longest_away(others)
                .map(Some)
                .ok_or(refuse(Code::ServerFull));
        }
        Ok(None)
    }

    /// The checks before a participant is created; returns those that give way for its name and its
    /// public id. // 5.1
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "calls register nobody unless the specification says so"
    )]
    fn check_registration(
        &self,
        (handle, from): (SecretHash, u64),
        command: &Command,
    ) -> Result<BTreeSet<User>, Refusal> {
        let name = |name| match self.check_name(None, from, name)? {
            Naming::Keep => Ok(BTreeSet::new()),
            Naming::Take(_, yielding) => Ok(yielding),
        };
        match command {
            Command::EnterQueue(EnterQueue {
                user_id,
                display_name,
                interests,
            }) => {
                let mut yielding = display_name.as_deref().map_or(Ok(BTreeSet::new()), name)?;
                let interests = self.read_interests(interests)?;
                self.check_space_in_line(None, &interests)?;
                self.check_space_for_room()?;
                if let Some(id) = user_id {
                    yielding.extend(self.check_public_id(id, from)?);
                }
                Ok(yielding)
            }
            Command::Login { username, room } => {
                let yielding = name(username)?;
                self.check_join(None, from, room)?;
                let is_muted = self.measures.of_handle(handle) == Some(Measure::Muted)
                    || self.measures.of_address(from) == Some(Measure::Muted)
                    || self.measures.of_name(&keys(username)) == Some(Measure::Muted);
                if is_muted {
                    self.check_exists(room)?; // 8.1 (6)
                }
                Ok(yielding)
            }
            Command::TakeBreak { excuse, .. } => {
                self.check_excuse(excuse.as_ref())?;
                Ok(BTreeSet::new())
            }
            _ => Err(refuse(Code::HandleRequired)),
        }
    }
}
