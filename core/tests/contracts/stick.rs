//! Compares the stick with a naive model: a list of claimants, the first of whom is the holder.

use chat_core::{
    Address, Addressees, Caller, Command, Config, Entry, Epoch, Hub, Operate, Reply, RoomId,
    SecretHash, Span, Time, UserId,
};
use proptest::collection::vec;
use proptest::prelude::*;

const LEASE: Span = Span::secs(3);
const ROOM: RoomId = RoomId(1);
const MEMBERS: u8 = 4;

/// An act of a member or of the environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    Claim,
    Send,
    Push,
    Reset,
    Leave,
    Join,
    Mute,
    Unmute,
    Kick,
}

#[derive(Default)]
struct Model {
    members: Vec<u8>,
    muted: Vec<u8>,
    /// The first one is the holder.
    line: Vec<u8>,
    epoch: u64,
    lease_until: Time,
}

impl Model {
    fn grant(&mut self, now: Time) {
        self.epoch += 1;
        self.lease_until = now + LEASE;
    }

    fn pass(&mut self, now: Time) {
        while !self.line.is_empty() && self.lease_until <= now {
            self.line.remove(0);
            if !self.line.is_empty() {
                self.grant(self.lease_until);
            }
        }
    }

    fn give_up(&mut self, who: u8, now: Time) {
        let held = self.holds(who);
        self.line.retain(|other| *other != who);
        if held && !self.line.is_empty() {
            self.grant(now);
        }
    }

    fn holds(&self, who: u8) -> bool {
        self.line.first() == Some(&who)
    }

    /// The result of the act: none if it is refused.
    fn act(&mut self, who: u8, act: Act, epoch: Option<Epoch>, now: Time) -> Option<()> {
        let stale = epoch.is_some_and(|epoch| !(self.holds(who) && epoch.0 == self.epoch));
        let (inside, muted) = (self.members.contains(&who), self.muted.contains(&who));
        let speaks = inside && !muted && !stale && self.holds(who);
        let may = match act {
            Act::Claim => inside && !muted && !stale,
            Act::Send | Act::Push => speaks,
            Act::Reset => inside && !stale,
            Act::Kick => inside,
            Act::Leave | Act::Join | Act::Mute | Act::Unmute => true,
        };
        if !may {
            return None;
        }
        match act {
            Act::Claim if self.line.is_empty() => {
                self.line.push(who);
                self.grant(now);
            }
            Act::Claim if !self.line.contains(&who) => self.line.push(who),
            Act::Claim | Act::Send => {}
            Act::Push | Act::Reset => self.give_up(who, now),
            Act::Leave | Act::Kick => {
                self.give_up(who, now);
                self.members.retain(|other| *other != who);
            }
            Act::Join if !inside => self.members.push(who),
            Act::Join => {}
            Act::Mute => {
                self.give_up(who, now);
                self.muted.push(who);
            }
            Act::Unmute => self.muted.retain(|other| *other != who),
        }
        Some(())
    }
}

fn entry(who: u8, act: Act, epoch: Option<Epoch>) -> Entry {
    let (user, room, reason) = (UserId(u64::from(who) + 1), Some(ROOM), "why".into());
    let command = match act {
        Act::Claim => Command::TalkingStick { room, epoch },
        Act::Send => {
            let text = "hi".into();
            Command::SendMessage {
                room,
                text,
                epoch,
                to: Addressees::ALL,
            }
        }
        Act::Push => Command::Push {
            room,
            epoch,
            to: Addressees::ALL,
        },
        Act::Reset => Command::Reset { room, epoch },
        Act::Leave => Command::LeaveChat { room },
        Act::Join => Command::Login {
            username: format!("member {who}").into(),
            room: "lobby".into(),
        },
        Act::Mute => return operate(Operate::Mute { user, reason }),
        Act::Unmute => return operate(Operate::Unmute { user }),
        Act::Kick => {
            let room = ROOM;
            return operate(Operate::Kick { user, room, reason });
        }
    };
    call(who, command)
}

fn operate(act: Operate) -> Entry {
    let operator = "olga".into();
    Entry::Operate { operator, act }
}

fn call(who: u8, command: Command) -> Entry {
    Entry::Call {
        caller: Caller::New {
            handle: SecretHash([who; 16]),
            reader: SecretHash([who + 100; 16]),
            from: Address(0),
        },
        key: None,
        command,
    }
}

fn acts() -> impl Strategy<Value = Act> {
    use Act::{Claim, Join, Kick, Leave, Mute, Push, Reset, Send, Unmute};
    prop::sample::select(vec![
        Claim, Claim, Claim, Claim, Send, Push, Push, Reset, Leave, Join, Join, Mute, Unmute, Kick,
    ])
}

/// An additional member keeps the room open.
fn opened() -> (Hub, Model) {
    let config = Config {
        stick_lease: LEASE,
        idle_timeout: Span::secs(86_400),
        unused_timeout: Span::secs(86_400),
        ..Config::default()
    };
    let (mut hub, mut model) = (Hub::new(config, 1), Model::default());
    for who in 0..=MEMBERS {
        let joined = hub.handle(Time(0), &entry(who, Act::Join, None));
        assert!(joined.is_ok());
        model.members.push(who);
    }
    (hub, model)
}

proptest! {
    #[test]
    fn the_stick_goes_as_in_a_naive_line(
        acts in vec((0..2_000u64, 0..MEMBERS, acts(), proptest::option::weighted(0.2, 1..6u64)), 1..80),
    ) {
        let (mut hub, mut model) = opened();
        let mut now = Time(0);
        for (wait, who, act, epoch) in acts {
            now += Span::millis(wait);
            model.pass(now);
            if act == Act::Push && model.holds(who) {
                // A draft to push. A push with a stale epoch is refused, and keeps the draft.
                let appended = hub.handle(now, &call(who, Command::Append { room: Some(ROOM), text: "x".into(), epoch: None }));
                prop_assert!(appended.is_ok());
            }
            let epoch = epoch.map(Epoch);
            let reply = hub.handle(now, &entry(who, act, epoch));
            let expected = model.act(who, act, epoch, now);
            prop_assert_eq!(reply.is_ok(), expected.is_some(), "{:?} {:?}", act, reply);
            if let Ok(Reply::Stick { place, epoch, holder, lease_until, .. }) = reply {
                let found = model.line.iter().position(|other| *other == who);
                prop_assert_eq!(Some(place as usize), found);
                prop_assert_eq!(epoch, Epoch(model.epoch));
                prop_assert_eq!(holder, UserId(u64::from(model.line[0]) + 1));
                prop_assert_eq!(lease_until, model.lease_until);
            }
            let next = (!model.line.is_empty()).then_some(model.lease_until);
            let day = Time(0) + Span::secs(86_400);
            prop_assert_eq!(hub.poll_timeout().filter(|at| *at < day), next);
        }
    }
}
