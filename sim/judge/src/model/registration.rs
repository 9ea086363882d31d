//! Registration: the calls of a new caller that create a participant. // 5.1

use std::sync::Arc;

use chat_types::Time;
use sim_model::protocol::{Answer, Op, Outcome, Refusal, User};
use sim_model::server::Handle;

use super::deadline::Deadline;
use super::moderation::Measure;
use super::names::keys;
use super::participant::Participant;
use super::{Model, refuse, refuse_at};

impl Model {
    /// A call by a new caller: returns the participant if one was created, the outcome, and when
    /// the answer may leave.
    pub(super) fn register(
        &mut self,
        (handle, from): (Handle, u64),
        op: &Op,
    ) -> Result<(User, Outcome, Time), Refusal> {
        let kept = self.measures.of_handle(handle);
        if kept == Some(Measure::Banned) {
            return Err(refuse("blocked")); // 11.4
        }
        self.check_registration(op)?;
        if let Some(longest_away) = self.check_space_for_participant(from)? {
            self.forget(longest_away);
        }
        let number = User(self.participants.next_number()); // 4.1
        *self.by_address.entry(from).or_default() += 1;
        let unused = self.config.unused_timeout;
        let mut participant = Participant::new((handle, from), number, self.now, unused);
        if let Op::EnterQueue {
            user_id: Some(id), ..
        } = op
        {
            Arc::make_mut(&mut participant.shown).chosen_id = Some(Arc::clone(id));
            let keys = keys(id);
            participant.muted = self.measures.of_name(&keys) == Some(Measure::Muted); // 11.4
            self.add_keys(number, keys);
        }
        participant.muted |= kept == Some(Measure::Muted); // 11.4
        let deadline = participant.presence.deadline();
        self.deadlines
            .replace(Deadline::Presence(number), None, deadline);
        self.add_keys(number, keys(&participant.shown.name));
        self.handles.insert(handle, number);
        self.participants.add(participant);
        if let Op::Login { username, room } = op {
            // 5.1: this decision cannot be refused, also if the member that is longest away in the
            // room was forgotten.
            let naming = self.check_name(Some(number), username)?;
            self.name(number, username, naming);
            let room = self.join(number, room);
            let user = number;
            return Ok((number, Ok(Answer::LoggedIn { user, room }), self.now));
        }
        let (outcome, answer_at) = self.decide(number, op);
        Ok((number, outcome, answer_at))
    }

    /// Whether there is space for one more participant, and the participant that is forgotten for
    /// it. // 5.1
    fn check_space_for_participant(&self, from: u64) -> Result<Option<User>, Refusal> {
        let of_address = self.by_address.get(&from).copied().unwrap_or_default();
        let all = self.participants.numbers().into_iter().map(User);
        if of_address >= self.config.max_per_address {
            let of_address = all.filter(|user| self.participant(*user).address == from);
            let longest = self.longest_away(of_address);
            let limit = self.config.max_per_address;
            return longest.map(Some).ok_or(refuse_at("address_full", limit));
        }
        if self.participants.len() >= self.config.max_participants as usize {
            return self
                .longest_away(all)
                .map(Some)
                .ok_or(refuse("server_full"));
        }
        Ok(None)
    }

    /// The checks before a participant is created. // 5.1
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "calls register nobody unless the specification says so"
    )]
    fn check_registration(&self, op: &Op) -> Result<(), Refusal> {
        match op {
            Op::EnterQueue {
                user_id,
                display_name,
                interests,
            } => {
                if let Some(name) = display_name {
                    self.check_name(None, name)?;
                }
                let interests = self.read_interests(interests)?;
                self.check_space_in_line(None, &interests)?;
                self.check_space_for_room()?;
                user_id
                    .as_ref()
                    .map_or(Ok(()), |id| self.check_public_id(id))
            }
            Op::Login { username, room } => {
                self.check_name(None, username)?;
                self.check_join(None, room)
            }
            Op::Break { excuse, .. } => self.check_excuse(excuse.as_ref()),
            _ => Err(refuse("handle_required")),
        }
    }
}
