//! The invariants of the whole state, which hold after every entry. A broken invariant is a bug.

use super::Hub;
use crate::name::Keys;
use crate::participant::{Participant, State};
use crate::room::{Kind, Room};
use chat_types::{RoomId, UserId};

impl Hub {
    /// Checks every invariant. Walks the whole state: for tests and simulation.
    ///
    /// # Errors
    /// The first invariant that does not hold. The shell stops rather than serve such a state.
    pub fn validate(&self) -> Result<(), String> {
        if self.index != self.indexed() {
            return Err("the index differs from the participants and rooms".into());
        }
        self.validate_state()
    }

    /// Checks every invariant but that of the index, which a restore makes anew.
    ///
    /// # Errors
    /// As of [`Self::validate`].
    pub fn validate_state(&self) -> Result<(), String> {
        self.queue.validate()?;
        for (user, participant) in self.users.sorted() {
            self.validate_user(user, participant)
                .map_err(|why| format!("{user}: {why}"))?;
        }
        for (id, room) in self.rooms.sorted() {
            room.validate(id)?;
            self.validate_room(room)
                .map_err(|why| format!("{id}: {why}"))?;
        }
        for waiter in self.queue.waiters() {
            let participant = self.users.get(&waiter.user).ok_or("a stranger waits")?;
            if participant.presence.state == State::Away || participant.pair.is_some() {
                return Err(format!("{} waits, but is away or in a chat", waiter.user));
            }
            if waiter.is_candidate != self.is_candidate(waiter.user) {
                return Err(format!("{}: use and candidacy differ", waiter.user));
            }
        }
        if let Some((at, timer)) = self
            .due()
            .find(|(at, timer)| !self.timers.finds(*timer, *at))
        {
            return Err(format!(
                "{timer:?} is due at {}, and will not be found",
                at.0
            ));
        }
        let newest_user = self.users.sorted_keys().pop();
        let newest_room = self.rooms.sorted_keys().pop();
        if newest_user > Some(self.last_user) || newest_room > Some(self.last_room) {
            return Err("an id is in use that was not given yet".into());
        }
        if self.counters.claimants != self.claimants() {
            return Err("the counters name more claimants, or fewer, than wait".into());
        }
        Ok(())
    }

    fn validate_user(&self, user: UserId, participant: &Participant) -> Result<(), String> {
        participant.inbox.validate()?;
        participant.breaks.validate()?;
        let index = &self.index;
        let secrets = [
            index.handles.get(&participant.handle),
            index.readers.get(&participant.reader),
        ];
        let who = &participant.who;
        let mut names = [Some(&who.name), who.chosen_id.as_ref()]
            .into_iter()
            .flatten();
        let is_owner = |key: &str| index.owner(key) == Some(user);
        let has_names = names.all(|name| Keys::of(name).iter().all(is_owner));
        if secrets != [Some(&user); 2] || !has_names || who.id != user {
            return Err("is not found by its own secrets and names".into());
        }
        if !participant.blocks.is_sorted_by(|a, b| a < b) || participant.has_blocked(user) {
            return Err("has blocks out of order, or blocks itself".into());
        }
        self.validate_rooms_of(user, participant)
    }

    fn validate_rooms_of(&self, user: UserId, participant: &Participant) -> Result<(), String> {
        let is = |room: &RoomId, ended: bool| {
            let room = self.rooms.get(room).filter(|room| room.is_member(user));
            room.is_some_and(|room| is_ended(room) == ended)
        };
        let has_live = participant.rooms.iter().all(|room| is(room, false));
        if !has_live || !participant.ended.iter().all(|room| is(room, true)) {
            return Err("names a room that it is not in, or that is not what it believes".into());
        }
        let is_pair = |room: &&RoomId| matches!(self.room(**room).kind, Kind::Pair { .. });
        let pairs: Vec<_> = participant.rooms.iter().filter(is_pair).copied().collect();
        if pairs.len() > 1 || pairs.first() != participant.pair.as_ref() {
            return Err("is in two chats, or has lost count of its one".into());
        }
        Ok(())
    }

    fn validate_room(&self, room: &Room) -> Result<(), String> {
        for member in &room.members {
            let participant = self.users.get(&member.user);
            let participant = participant.ok_or("has a stranger as a member")?;
            let known = if is_ended(room) {
                participant.ended.contains(&room.id)
            } else {
                participant.rooms.contains(&room.id)
            };
            if !known {
                return Err(format!("{} does not know that it is a member", member.user));
            }
            let place = room.stick().and_then(|stick| stick.place(member.user));
            if place.is_some() && self.is_muted(member.user) {
                return Err(format!("{} is muted, and claims the stick", member.user));
            }
        }
        match &room.kind {
            Kind::Named { key, .. } if self.index.rooms.get(key) != Some(&room.id) => {
                Err("is not found by its name".into())
            }
            Kind::Named { .. } | Kind::Pair { .. } | Kind::Ended(_) => Ok(()),
        }
    }
}

fn is_ended(room: &Room) -> bool {
    matches!(room.kind, Kind::Ended(_))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::Hub;
    use crate::hub::away::Away;
    use crate::participant::{Participant, State};
    use crate::timer::Timers;
    use chat_types::{Address, BreakKind, Config, RoomId, SecretHash, Time, UserId, Who};
    use chat_types::{Caller, Command, EnterQueue, Entry};

    const ANN: UserId = UserId(1);
    const DAN: UserId = UserId(4);
    // The ended room of Ann and Ben, their current room, and Cat's room.
    const ENDED: RoomId = RoomId(1);
    const PAIR: RoomId = RoomId(2);
    const LOBBY: RoomId = RoomId(3);

    /// Ann and Ben in their second pair room, Cat in a named room, and Dan in the queue.
    fn hub() -> Hub {
        let mut hub = Hub::new(Config::default(), 1);
        let rest = || Command::TakeBreak {
            kind: BreakKind::Chimaek,
            excuse: None,
        };
        let enter = || Command::EnterQueue(EnterQueue::default());
        let login = Command::Login {
            username: "cat".into(),
            room: "lobby".into(),
        };
        let calls = [
            (1, rest()),
            (2, rest()),
            (1, enter()),
            (2, enter()),
            (2, Command::LeaveChat { room: None }),
            (1, enter()),
            (2, enter()),
            (3, login),
            (4, rest()),
            (4, enter()),
        ];
        for (who, command) in calls {
            let handle = SecretHash([who; 16]);
            let entry = Entry::Call {
                caller: match hub.user_by_handle(&handle) {
                    Some(_) => Caller::Handle(handle),
                    None => Caller::New {
                        handle,
                        reader: SecretHash([who + 100; 16]),
                        from: Address(0),
                    },
                },
                key: None,
                command,
            };
            hub.handle(Time(1), &entry).expect("all of it is right");
        }
        hub
    }

    /// Whether `validate` detects this damage.
    fn noticed(damage: impl FnOnce(&mut Hub)) -> bool {
        let mut hub = hub();
        assert_eq!(hub.validate(), Ok(()));
        damage(&mut hub);
        hub.validate().is_err()
    }

    fn of_ann(damage: impl FnOnce(&mut Participant)) -> bool {
        noticed(|hub| damage(hub.user_mut(ANN)))
    }

    #[test]
    fn a_deadline_without_a_timer_is_invalid() {
        assert!(noticed(|hub| hub.timers = Timers::default()));
        // A deadline that moved to an earlier instant without rearming.
        assert!(of_ann(|ann| ann.presence = State::Grace.until(Time(2))));
        // A deadline may move to a later instant: the earlier timer is then set again.
        assert!(!of_ann(|ann| ann.presence = State::Grace.until(Time::MAX)));
    }

    #[test]
    fn an_id_beyond_the_last_is_invalid() {
        assert!(noticed(|hub| hub.last_user = UserId(3)));
        assert!(noticed(|hub| hub.last_room = RoomId(2)));
    }

    #[test]
    fn a_wrong_index_is_invalid() {
        let [secret, reader] = [1, 101].map(|n| SecretHash([n; 16]));
        assert!(noticed(|hub| {
            hub.index.handles.remove(&secret);
        }));
        assert!(noticed(|hub| {
            hub.index.readers.remove(&reader);
        }));
        assert!(noticed(|hub| hub.index.names.clear()));
        assert!(noticed(|hub| hub.index.rooms.clear()));
        assert!(noticed(|hub| hub.index.away = Away::default()));
        // Away but not indexed as away; and registered from another address than the index says.
        assert!(of_ann(|ann| ann.presence = State::Away.until(Time::MAX)));
        assert!(of_ann(|ann| ann.address = Address(9)));
        assert!(noticed(|hub| {
            hub.index.spellings.insert("x".into(), ANN);
        }));
        assert!(noticed(|hub| {
            hub.index.names.insert("x".into(), ANN);
        }));
        assert!(noticed(|hub| {
            hub.index.handles.insert(secret, DAN);
        }));
        assert!(noticed(|hub| {
            hub.index.readers.insert(reader, DAN);
        }));
        assert!(of_ann(|ann| {
            ann.who = Arc::new(Who {
                id: DAN,
                chosen_id: None,
                name: ann.who.name.clone(),
            });
        }));
    }

    #[test]
    fn two_names_that_look_alike_are_invalid() {
        let rename = |hub: &mut Hub, user: UserId, name: &str| {
            hub.user_mut(user).who = Arc::new(Who {
                id: user,
                chosen_id: None,
                name: name.into(),
            });
            hub.index = hub.indexed();
        };
        assert!(!noticed(|hub| rename(hub, ANN, "Alice")));
        // In upper case, `Alice` looks like `Allce`.
        assert!(noticed(|hub| {
            rename(hub, ANN, "Alice");
            rename(hub, DAN, "Allce");
        }));
    }

    #[test]
    fn a_block_of_oneself_or_out_of_order_is_invalid() {
        let indexed = |blocks: Vec<UserId>| {
            noticed(|hub| {
                hub.index.blocks = blocks.iter().map(|other| (*other, ANN)).collect();
                hub.user_mut(ANN).blocks = blocks;
            })
        };
        assert!(indexed(vec![ANN]));
        assert!(indexed(vec![DAN, UserId(2)]));
        assert!(indexed(vec![DAN, DAN]));
        assert!(!indexed(vec![UserId(2), DAN]));
        assert!(of_ann(|ann| ann.blocks = vec![UserId(2), DAN]));
        assert!(noticed(|hub| {
            hub.index.blocks.insert((DAN, ANN));
        }));
    }

    #[test]
    fn members_and_rooms_that_disagree_are_invalid() {
        assert!(of_ann(|ann| ann.rooms.push(LOBBY)));
        assert!(of_ann(|ann| ann.rooms.push(RoomId(9))));
        assert!(of_ann(|ann| ann.ended.push_back(LOBBY)));
        assert!(of_ann(|ann| ann.rooms.push(ENDED)));
        assert!(of_ann(|ann| ann.ended.push_back(PAIR)));
        assert!(of_ann(|ann| ann.ended.clear()));
        assert!(of_ann(|ann| ann.pair = None));
        assert!(of_ann(|ann| ann.pair = Some(ENDED)));
        assert!(noticed(|hub| hub.user_mut(UserId(3)).rooms.clear()));
        assert!(noticed(|hub| hub.user_mut(UserId(3)).pair = Some(LOBBY)));
        assert!(noticed(|hub| hub.room_mut(PAIR).leave(ANN)));
        assert!(noticed(|hub| hub.room_mut(ENDED).leave(ANN)));
        assert!(noticed(|hub| hub.room_mut(LOBBY).id = PAIR));
    }

    #[test]
    fn a_claim_of_a_muted_participant_is_invalid() {
        const CAT: UserId = UserId(3);
        let claim = |hub: &mut Hub| {
            hub.claim_stick(CAT, LOBBY, None).expect("it is free");
        };
        assert!(!noticed(claim));
        assert!(!noticed(|hub| hub.user_mut(CAT).is_muted = true));
        assert!(noticed(|hub| {
            claim(hub);
            hub.user_mut(CAT).is_muted = true;
        }));
    }

    #[test]
    fn a_waiter_that_is_away_or_in_a_pair_is_invalid() {
        assert!(noticed(|hub| {
            hub.user_mut(DAN).presence = State::Away.until(Time(9));
        }));
        assert!(noticed(|hub| {
            hub.user_mut(DAN).presence = State::Unused.until(Time(1));
        }));
        assert!(noticed(|hub| {
            let waiter = hub.queue.leave(DAN).expect("he waits");
            hub.queue.enter(crate::queue::Waiter {
                user: ANN,
                ..waiter
            });
        }));
        assert!(noticed(|hub| {
            let waiter = hub.queue.leave(DAN).expect("he waits");
            hub.queue.enter(crate::queue::Waiter {
                user: UserId(9),
                ..waiter
            });
        }));
    }
}
