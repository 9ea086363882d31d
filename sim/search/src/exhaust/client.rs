//! A client of a tiny world, and what it knows.

use std::sync::Arc;

use chat_core::Ticket;
use chat_types::Time;

use super::print::{Base, Reader, print_shown};
use sim_model::outcome::Ask;
use sim_model::protocol::{Answer, CallId, Op, Outcome, ReadBy, Room, Saw, StickChange, User};

/// A call whose answer was lost.
#[derive(Clone, Debug)]
pub(super) struct Unanswered {
    pub(super) call: CallId,
    pub(super) op: Op,
    pub(super) called_at: Time,
}

/// One client.
#[derive(Clone, Debug)]
pub(super) struct Client {
    pub(super) number: u8,
    /// Who it is to the server; none before it is registered, and once it is forgotten there.
    pub(super) user: Option<User>,
    /// The last event of its inbox that it has.
    pub(super) cursor: u64,
    pub(super) stream: Option<Ticket>,
    /// The room it is in, or was in last.
    pub(super) room: Option<Room>,
    pub(super) in_room: bool,
    /// The newest grant of the stick that it was told it has.
    pub(super) epoch: Option<u64>,
    pub(super) calls: u32,
    pub(super) unanswered: Option<Unanswered>,
    /// Whether it was told to wait, for a partner or for the stick, and of no end of it since.
    pub(super) waits: bool,
    /// The last two it was matched with, the last first.
    partners: [Option<User>; 2],
}

impl Client {
    pub(super) fn new(number: u8) -> Self {
        Self {
            number,
            user: None,
            cursor: 0,
            stream: None,
            room: None,
            in_room: false,
            epoch: None,
            calls: 0,
            unanswered: None,
            waits: false,
            partners: [None; 2],
        }
    }

    /// What its handle is made from.
    pub(super) fn secret(&self) -> u64 {
        1 + u64::from(self.number)
    }

    /// The number of the next call.
    pub(super) fn next_call(&mut self) -> CallId {
        let call = CallId(self.calls);
        self.calls += 1;
        call
    }

    /// The call in the words of the protocol. `other` is whom the client would block.
    pub(super) fn op(&self, ask: Ask, other: Option<User>) -> Op {
        let room = self.room;
        match ask {
            Ask::Enter => Op::EnterQueue {
                user_id: None,
                display_name: Some(given_name(self.number)),
                interests: Arc::from([]),
            },
            Ask::LeaveQueue => Op::LeaveQueue,
            Ask::Login => Op::Login {
                username: given_name(self.number),
                room: "lobby".into(),
            },
            Ask::Leave => Op::LeaveChat { room },
            Ask::Claim => Op::TalkingStick { room, epoch: None },
            Ask::Append => Op::Append {
                room,
                text: "x".into(),
                epoch: None,
            },
            Ask::Push => Op::Push {
                room,
                epoch: self.epoch,
            },
            Ask::Reset => Op::Reset { room, epoch: None },
            Ask::Send => Op::Send {
                room,
                text: "hi".into(),
                epoch: None,
            },
            Ask::Block => Op::Block {
                user: other.unwrap_or_default(),
            },
            Ask::Check => Op::Check {
                after: Some(self.cursor),
                wait: chat_types::Span::ZERO,
                by: ReadBy::Handle,
            },
        }
    }

    /// Learns from an answer.
    pub(super) fn learn(&mut self, outcome: &Outcome) {
        let Ok(answer) = outcome else { return };
        self.user = answer.caller().or(self.user);
        match answer {
            Answer::Waiting { .. } => self.waits = true,
            Answer::Matched { room, partner, .. } => self.meet(*room, *partner),
            Answer::LoggedIn { room, .. } => self.enter(*room),
            Answer::LeftQueue { .. } => self.waits = false,
            Answer::LeftChat => self.leave(),
            Answer::Stick { place, epoch, .. } => {
                self.waits = *place > 0;
                if *place == 0 {
                    self.epoch = Some(*epoch);
                }
            }
            Answer::OnBreak { .. }
            | Answer::Arrived { .. }
            | Answer::Draft { .. }
            | Answer::Sent { .. }
            | Answer::Mood { .. }
            | Answer::Done
            | Answer::Read { .. }
            | Answer::History { .. }
            | Answer::Members { .. } => {}
        }
    }

    /// Learns from an event that it has not had before.
    pub(super) fn see(&mut self, saw: &Saw<'_>) {
        match *saw {
            Saw::Found { room, partner, .. } => self.meet(room, partner),
            Saw::Ended { room, .. } if self.room == Some(room) => self.in_room = false,
            Saw::Stick { user, change, .. } if self.user == Some(user) => match change {
                StickChange::Granted { epoch, .. } => {
                    self.epoch = Some(epoch);
                    self.waits = false;
                }
                StickChange::Claimed { .. } => self.waits = true,
                StickChange::Released { .. } | StickChange::Expired { .. } => {}
            },
            Saw::Stick { .. }
            | Saw::Ended { .. }
            | Saw::Message { .. }
            | Saw::PartnerAway { .. }
            | Saw::PartnerBack { .. }
            | Saw::Member { .. }
            | Saw::Moderation { .. }
            | Saw::Gap { .. } => {}
        }
    }

    fn meet(&mut self, room: Room, partner: User) {
        if self.room != Some(room) {
            self.partners = [Some(partner), self.partners[0]];
        }
        self.enter(room);
    }

    fn enter(&mut self, room: Room) {
        if self.room != Some(room) {
            self.epoch = None;
        }
        self.room = Some(room);
        self.in_room = true;
        self.waits = false;
    }

    fn leave(&mut self) {
        self.in_room = false;
        self.waits = false;
    }

    /// What it knows, as far as it matters to what it will ask.
    pub(super) fn print(&self, state: u64, base: &Base) -> u64 {
        let room = self.room.map(|room| base.room_behind(room.0));
        // A grant that is over stays over; how long ago it was makes no difference from two on.
        let epoch = self
            .epoch
            .map(|epoch| base.epoch.saturating_sub(epoch).min(2));
        let unanswered = self.unanswered.as_ref().map(|one| asked(&one.op, base));
        let has_stream = self.stream.is_some();
        let known = (
            self.user,
            room,
            self.in_room,
            epoch,
            self.waits,
            self.partners,
        );
        print_shown(state, format_args!("{known:?} {has_stream} {unanswered:?}"))
    }

    /// What it is to the server's state.
    pub(super) fn reader(&self) -> Option<Reader> {
        let user = self.user?;
        Some(Reader {
            user: user.0,
            may_retry: self.unanswered.is_some(),
        })
    }
}

/// The name of a user to the server.
fn given_name(number: u8) -> Arc<str> {
    sim_model::outcome::user_letter(number).to_string().into()
}

/// A call: its verb, the room, the grant it names, or whom it is about.
fn asked(op: &Op, base: &Base) -> (&'static str, Option<u32>, Option<u64>) {
    let room = op.room().flatten().map(|room| base.room_behind(room.0));
    let later = op.epoch().map(|epoch| base.later(epoch));
    let number = later.or_else(|| op.about().map(|user| user.0.into()));
    (op.verb(), room, number)
}
