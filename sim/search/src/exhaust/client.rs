//! A client of a tiny world, and its knowledge.

use std::sync::Arc;

use chat_core::Ticket;
use chat_types::Time;

use super::fingerprint::{Base, fingerprint_shown};
use sim_model::outcome::TinyCall;
use sim_model::protocol::{
    Addressees, Body, CallId, Command, EnterQueue, Epoch, InboxEvent, Op, Outcome, ReadBy, Reply,
    Response, Room, User,
};
use sim_user::Credential;

/// One client.
#[derive(Clone, Debug, Default)]
pub(super) struct Client {
    pub(super) number: u8,
    /// Its participant; none before it is registered, and after its registration ended.
    pub(super) user: Option<User>,
    /// The last event of its inbox that it has received.
    pub(super) cursor: u64,
    pub(super) stream: Option<Ticket>,
    /// Its room, or its last room.
    pub(super) room: Option<Room>,
    pub(super) in_room: bool,
    /// The epoch of its latest grant of the stick.
    pub(super) epoch: Option<u64>,
    pub(super) calls: u32,
    /// A call whose answer was lost, and when it was made.
    pub(super) unanswered: Option<(CallId, Op, Time)>,
    /// Whether it waits for a partner or for the stick, as far as it knows.
    pub(super) waits: bool,
    /// The partners of its last two matches, the last first.
    partners: [Option<User>; 2],
}

impl Client {
    pub(super) fn new(number: u8) -> Self {
        Self {
            number,
            ..Self::default()
        }
    }

    /// Its identity: its number determines its handle.
    pub(super) fn credential(&self) -> Credential {
        Credential {
            secret: 1 + u64::from(self.number),
            is_new: self.user.is_none(),
        }
    }

    /// The operation of a call. `other` is the user that the client would block.
    pub(super) fn op(&self, ask: TinyCall, other: Option<User>) -> Op {
        let room = self.room;
        match ask {
            TinyCall::Enter => Op::Command(Command::EnterQueue(EnterQueue {
                user_id: None,
                display_name: Some(given_name(self.number)),
                interests: Arc::from([]),
            })),
            TinyCall::LeaveQueue => Op::Command(Command::LeaveQueue),
            TinyCall::Login => Op::Command(Command::Login {
                username: given_name(self.number),
                room: "lobby".into(),
            }),
            TinyCall::Leave => Op::Command(Command::LeaveChat { room }),
            TinyCall::Claim => Op::Command(Command::TalkingStick { room, epoch: None }),
            TinyCall::Append => Op::Command(Command::Append {
                room,
                text: "x".into(),
                epoch: None,
            }),
            TinyCall::Push => Op::Command(Command::Push {
                room,
                epoch: self.epoch.map(Epoch),
                to: Addressees::ALL,
            }),
            TinyCall::Reset => Op::Command(Command::Reset { room, epoch: None }),
            TinyCall::Send => Op::Command(Command::SendMessage {
                room,
                text: "hi".into(),
                epoch: None,
                to: Addressees::ALL,
            }),
            TinyCall::Block => Op::Command(Command::BlockUser {
                user: other.unwrap_or_default(),
            }),
            TinyCall::Check => Op::check(Some(self.cursor), chat_types::Span::ZERO, ReadBy::Handle),
        }
    }

    /// Updates its knowledge from an answer.
    pub(super) fn learn(&mut self, outcome: &Outcome) {
        let Ok(Response::Done(reply)) = outcome else {
            return;
        };
        self.user = reply.caller().or(self.user);
        match reply {
            Reply::Waiting { .. } => self.waits = true,
            Reply::Matched { room, partner, .. } => self.meet(*room, partner.id),
            Reply::LoggedIn { room, .. } => self.enter(*room),
            Reply::LeftQueue { .. } => self.waits = false,
            Reply::LeftChat => (self.in_room, self.waits) = (false, false),
            Reply::Stick { place, epoch, .. } => {
                self.waits = *place > 0;
                if *place == 0 {
                    self.epoch = Some(epoch.0);
                }
            }
            Reply::OnBreak { .. }
            | Reply::Draft { .. }
            | Reply::Sent { .. }
            | Reply::Done
            | Reply::Lifted { .. } => {}
        }
    }

    /// Updates its knowledge from a new event.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "no other event changes what the client knows"
    )]
    pub(super) fn see(&mut self, event: InboxEvent<'_>) {
        let InboxEvent::Event(event) = event else {
            return;
        };
        let me = self.user.unwrap_or_default();
        match &event.body {
            Body::Found(_) => {
                if let Some(partner) = event.about(me) {
                    self.meet(event.room, partner.id);
                }
            }
            Body::PartnerDisconnected(_) if self.room == Some(event.room) => self.in_room = false,
            Body::StickGranted { user, epoch, .. } if user.id == me => {
                self.epoch = Some(epoch.0);
                self.waits = false;
            }
            Body::StickClaimed { user, .. } if user.id == me => self.waits = true,
            _ => {}
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

    /// The fingerprint of its knowledge, as far as it affects its requests.
    pub(super) fn fingerprint(&self, state: u64, base: &Base) -> u64 {
        let room = self.room.map(|room| base.room_behind(room.0));
        // A past grant stays past. Differences of two and more are equivalent.
        let grants_since = |epoch| base.epoch.saturating_sub(epoch).min(2);
        let epoch = self.epoch.map(grants_since);
        let unanswered = self.unanswered.as_ref().map(|(_, op, _)| asked(op, base));
        let has_stream = self.stream.is_some();
        let known = (
            self.user,
            room,
            self.in_room,
            epoch,
            self.waits,
            self.partners,
        );
        fingerprint_shown(state, format_args!("{known:?} {has_stream} {unanswered:?}"))
    }
}

/// The name of a user.
fn given_name(number: u8) -> Arc<str> {
    sim_model::outcome::user_letter(number).to_string().into()
}

/// A call: its verb, its room, and its epoch or its target.
fn asked(op: &Op, base: &Base) -> (&'static str, Option<u64>, Option<u64>) {
    let room = op.room().flatten().map(|room| base.room_behind(room.0));
    let later = op.epoch().map(|epoch| base.later(epoch.0));
    let number = later.or_else(|| op.about().map(|user| user.0));
    (op.verb(), room, number)
}
