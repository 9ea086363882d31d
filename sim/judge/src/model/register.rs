//! Registration: which calls of a newcomer make a participant. // 5.1

use std::sync::Arc;

use chat_types::Time;
use sim_model::protocol::{Op, Outcome, Refusal, User};
use sim_model::server::Handle;

use super::deadline::Deadline;
use super::names::{MAX_NAME, fold, is_servers_form};
use super::person::Person;
use super::{Model, refuse};

impl Model {
    /// A call by a new caller: the participant, if there is one now, the outcome, and when the
    /// answer may leave.
    pub(super) fn register(
        &mut self,
        handle: Handle,
        op: &Op,
        said: &Outcome,
    ) -> Result<(User, Outcome, Time), Refusal> {
        self.check_registration(op)?;
        if self.people.len() >= self.config.max_participants as usize {
            return Err(refuse("server_full"));
        }
        let number = User(self.people.next_number()); // 4.1
        let mut person = Person::new(handle, number, self.now, self.config.unused_timeout);
        if let Op::EnterQueue {
            user_id: Some(id), ..
        } = op
        {
            person.public_id = Some(Arc::clone(id));
            self.public_ids.insert(Arc::clone(id));
        }
        let deadline = person.presence.deadline();
        self.deadlines
            .replace(Deadline::Presence(number), None, deadline);
        self.names.insert(person.folded.clone(), number);
        self.handles.insert(handle, number);
        self.people.add(person);
        let (outcome, answer_at) = self.decide(number, op, said);
        Ok((number, outcome, answer_at))
    }

    /// Whether one that registers may have this public id. // 5.4
    fn check_public_id(&self, id: &Arc<str>) -> Result<(), Refusal> {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
        if !(1..=MAX_NAME).contains(&id.chars().count()) || !id.chars().all(plain) {
            return Err(refuse("invalid_arguments"));
        }
        if is_servers_form(&fold(id)) || self.public_ids.contains(id) {
            return Err(refuse("user_id_taken"));
        }
        Ok(())
    }

    /// What is checked before there is a participant. // 5.1
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
            Op::Mood => Ok(()), // An *arrive*. // 16.2
            Op::LeaveQueue
            | Op::Send { .. }
            | Op::LeaveChat { .. }
            | Op::TalkingStick { .. }
            | Op::Append { .. }
            | Op::Undo { .. }
            | Op::Reset { .. }
            | Op::Push { .. }
            | Op::Typing { .. }
            | Op::Block { .. }
            | Op::Report { .. }
            | Op::Unregister
            | Op::History { .. }
            | Op::ListUsers { .. }
            | Op::Check { .. } => Err(refuse("handle_required")),
        }
    }
}
