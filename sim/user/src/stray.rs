//! Stray calls: calls outside of the flow, in any room that the client knows.
//!
//! None of them ends what the flow waits for: a place in line, a claim or a room. All other calls
//! are allowed at any time, and the server has to answer as its protocol says.

use std::sync::Arc;

use chat_types::{Addressees, RoomSeq, Time};

use super::VirtualUser;
use super::flow::Pace;
use super::steps::MOST_IN_FLIGHT;
use sim_model::history::Observer;
use sim_model::protocol::{Command, EnterQueue, Epoch, Op, Read, Room, User};

/// The number of participants that stray calls name, besides those that the client has met.
const STRANGERS: u64 = 6;

impl VirtualUser {
    /// By habit, makes a call outside of the flow, and does not wait for its answer.
    pub(super) fn stray(&mut self, now: Time, o: &mut impl Observer) {
        let strays = self.user.is_some()
            && self.pace == Pace::AsWritten
            && self.calls.open.len() < MOST_IN_FLIGHT
            && self.draw.chance(self.habits.stray);
        if strays {
            let (key, op) = self.stray_call();
            let call = self.begin_call_under(key, now, (now, op), o);
            self.may_abandon(now, call);
        }
    }

    /// Draws a stray call and its request key. One call in twelve repeats the previous call's key
    /// with another argument.
    fn stray_call(&mut self) -> (Option<u128>, Op) {
        if self.draw.below(12) == 0
            && let (Some(key), Some(op)) = (self.last_key, self.last_op.clone())
            && let Some(op) = self.altered(op)
        {
            return (Some(key), op);
        }
        let op = self.stray_op();
        let key = self.stray_key(&op);
        (key, op)
    }

    /// The operation with one other argument, if it has any.
    fn altered(&mut self, mut op: Op) -> Option<Op> {
        let nth = self.draw.below(3);
        let Op::Command(command) = &mut op else {
            return None;
        };
        if let Command::EnterQueue(EnterQueue {
            user_id,
            display_name,
            interests,
        }) = command
        {
            let other = |value: &Option<Arc<str>>| value.is_none().then(|| "stray".into());
            match nth {
                0 => *user_id = other(user_id),
                1 => *display_name = other(display_name),
                _ => *interests = ["stray".into()].into(),
            }
        } else if let Command::Login { username, room } = command {
            *(if nth == 0 { username } else { room }) = "stray".into();
        } else if let Command::TakeBreak { excuse, .. } = command {
            *excuse = excuse.is_none().then(|| "stray".into());
        } else if let Command::ReportUser { user, reason } = command {
            match nth {
                0 => *user = User(user.0 + 1),
                _ => *reason = "strays".into(),
            }
        } else if let Command::BlockUser { user } | Command::UnblockUser { user } = command {
            *user = User(user.0 + 1);
        } else if let Command::SendMessage { text, .. }
        | Command::Speak { text, .. }
        | Command::Append { text, .. } = command
        {
            *text = "strays".into();
        } else if let (_, Some(epoch)) = op.place_mut() {
            *epoch = epoch.is_none().then_some(Epoch(1));
        } else {
            return None;
        }
        Some(op)
    }

    /// Mostly a key of its own; sometimes that of the previous call, which asked for something else
    /// and may still wait for its answer.
    fn stray_key(&mut self, op: &Op) -> Option<u128> {
        let (before, own) = (self.last_key, self.key_for(op));
        if own.is_some() && self.draw.below(6) == 0 {
            return before.or(own);
        }
        own
    }

    fn stray_op(&mut self) -> Op {
        let room = match self.draw.below(4) {
            0 => None,
            _ => self.rooms.any(&mut self.draw),
        };
        let (text, epoch): (Arc<str>, _) = ("stray".into(), self.stray_epoch(room));
        Op::Command(match self.draw.below(15) {
            0 | 13 => Command::SendMessage {
                room,
                text,
                epoch,
                to: [self.stray_user()].into_iter().collect(),
            },
            1 => Command::Append { room, text, epoch },
            2 => Command::Push {
                room,
                epoch,
                to: Addressees::ALL,
            },
            3 => Command::Undo { room, epoch },
            4 | 5 => Command::TalkingStick { room, epoch },
            6 => Command::Typing { room },
            7 | 8 => {
                return Op::by_handle(Read::History {
                    room,
                    before: (self.draw.below(2) == 0).then(|| RoomSeq(1 + self.draw.below(9))),
                    limit: 50,
                });
            }
            9 => return Op::by_handle(Read::Members { room }),
            10 => Command::ReportUser {
                user: self.stray_user(),
                reason: text,
            },
            11 => Command::BlockUser {
                user: self.stray_user(),
            },
            12 => Command::Speak {
                room,
                text,
                to: Addressees::ALL,
            },
            _ => Command::UnblockUser {
                user: self.stray_user(),
            },
        })
    }

    /// No epoch, that of the latest grant there, or the one before it.
    fn stray_epoch(&mut self, room: Option<Room>) -> Option<Epoch> {
        match self.draw.below(3) {
            0 => None,
            past => self
                .rooms
                .epoch(room)
                .map(|Epoch(epoch)| Epoch(epoch + 1 - past)),
        }
    }

    fn stray_user(&mut self) -> User {
        let stranger = User(1 + self.draw.below(STRANGERS));
        match self.draw.below(2) {
            0 => stranger,
            _ => self.rooms.any_other().unwrap_or(stranger),
        }
    }
}
