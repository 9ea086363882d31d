//! The participants that measure a server.

use std::sync::Arc;
use std::time::Duration;

use chat_types::Span;

use super::CalibrateError;
use crate::ask::Ask;
use crate::caller::{CallerRequest, Message, Session};
use crate::client::Identity;
use crate::pool::Pool;
use crate::probe::Capabilities;
use crate::reply::ParsedReply;
use crate::unregister;
use sim_model::protocol::{
    Command, EnterQueue, Op, Outcome, ReadBy, Refusal, Reply, Response, Room,
};

/// The longest time for an answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// A message of usual length.
const WORDS: &str = "the kettle is on, and the seven o'clock train was nearly on time today";

/// How many times in a row a new room may be needed before the measurement fails.
const MOVES: usize = 3;

/// Participants of the server, of whom the first two share a room.
pub(super) struct ProbeClients<'p> {
    pub(super) pool: &'p mut Pool,
    tools: Capabilities,
    identities: Vec<Identity>,
    room: Option<Room>,
    keys: u128,
}

impl<'p> ProbeClients<'p> {
    pub(super) fn new(pool: &'p mut Pool, tools: Capabilities) -> Self {
        Self {
            pool,
            tools,
            identities: Vec::new(),
            room: None,
            keys: 0,
        }
    }

    /// Makes the cheapest request of the protocol.
    pub(super) fn least(&mut self) -> Result<Span, CalibrateError> {
        let session = Arc::clone(&self.identities[0].session);
        let (_, took) = self.exchange(&session, CallerRequest::Least)?;
        Ok(took)
    }

    /// Makes a read.
    pub(super) fn read(&mut self) -> Result<Span, CalibrateError> {
        let (answer, took) = self.ask(0, read())?;
        answer.map_err(|refusal| CalibrateError::Refused("check", refusal.code))?;
        Ok(took)
    }

    /// Sends a message, which is journalled. If the room has ended, sends it in a new one.
    pub(super) fn send(&mut self) -> Result<Span, CalibrateError> {
        let mut refused = "room_not_found";
        for _ in 0..MOVES {
            let text = WORDS.into();
            let (room, epoch) = (self.room, None);
            let (answer, took) =
                self.ask(0, Op::Command(Command::SendMessage { room, text, epoch }))?;
            match answer {
                Ok(_) => return Ok(took),
                Err(refusal) => refused = refusal.code,
            }
            match refused {
                // A pair room has a limit of messages, and a grant of the stick has a lease.
                "chat_ended" => self.pair()?,
                "stick_required" => self.claim()?,
                _ => break,
            }
        }
        Err(CalibrateError::Refused("send_message", refused))
    }

    /// Puts the first clients into a room: two into a pair room. If the server has none, one into a
    /// named room.
    pub(super) fn enter_room(&mut self) -> Result<(), CalibrateError> {
        let needed = ["check", "send_message"];
        let lacking: Vec<&str> = needed
            .into_iter()
            .filter(|tool| !self.tools.has(tool))
            .collect();
        if !lacking.is_empty() {
            return Err(CalibrateError::Failed(format!(
                "it lacks {}",
                lacking.join(", ")
            )));
        }
        if self.tools.has("enter_queue") {
            self.identities
                .extend([Identity::new(0, 0), Identity::new(1, 0)]);
            return self.pair();
        }
        self.register_up_to(1)?;
        self.claim()
    }

    fn pair(&mut self) -> Result<(), CalibrateError> {
        let Response::Done(Reply::Waiting { user: first, .. }) = self.enter(0)? else {
            return Err(CalibrateError::Busy);
        };
        let Response::Done(Reply::Matched { room, partner, .. }) = self.enter(1)? else {
            return Err(CalibrateError::Busy);
        };
        self.room = Some(room);
        (partner.id == first)
            .then_some(())
            .ok_or(CalibrateError::Busy)
    }

    /// Takes the stick of the named room, if the server has sticks.
    fn claim(&mut self) -> Result<(), CalibrateError> {
        if self.tools.has("talking_stick") {
            let (answer, _) = self.ask(
                0,
                Op::Command(Command::TalkingStick {
                    room: self.room,
                    epoch: None,
                }),
            )?;
            match answer {
                Ok(_) => {}
                Err(Refusal {
                    code: "no_stick", ..
                }) => {}
                Err(refusal) => return Err(CalibrateError::Refused("talking_stick", refusal.code)),
            }
        }
        Ok(())
    }

    /// Registers clients until there are this many.
    pub(super) fn register_up_to(&mut self, many: usize) -> Result<(), CalibrateError> {
        while self.identities.len() < many {
            let who = self.identities.len();
            self.identities.push(Identity::new(who as u64, 0));
            if self.tools.has("enter_queue") {
                if !matches!(self.enter(who)?, Response::Done(Reply::Waiting { .. })) {
                    return Err(CalibrateError::Busy);
                }
                self.must_succeed(who, Op::Command(Command::LeaveQueue))?;
            } else {
                let room = format!("calibrate-{who}");
                let username = self.name(who);
                let op = Op::Command(Command::Login {
                    username,
                    room: room.into(),
                });
                if let Response::Done(Reply::LoggedIn { room, .. }) = self.must_succeed(who, op)? {
                    self.room.get_or_insert(room);
                }
            }
        }
        Ok(())
    }

    /// The session and the request with which a client reads on its own.
    pub(super) fn reader(&self, who: usize) -> (Arc<Session>, Ask) {
        let identity = &self.identities[who];
        let ask = Ask {
            handle: handle(identity),
            key: None,
            op: read(),
            room: None,
        };
        (Arc::clone(&identity.session), ask)
    }

    fn name(&self, who: usize) -> Arc<str> {
        format!("calibrate-{who}{}", self.pool.net.writer.names.suffix()).into()
    }

    fn enter(&mut self, who: usize) -> Result<Response, CalibrateError> {
        // An interest that no other participant has.
        let interest = self.pool.net.writer.names.suffix().trim_start_matches('-');
        let op = Op::Command(Command::EnterQueue(EnterQueue {
            interests: [interest.into()].into(),
            user_id: None,
            display_name: Some(self.name(who)),
        }));
        self.must_succeed(who, op)
    }

    /// Makes a call that must be accepted.
    fn must_succeed(&mut self, who: usize, op: Op) -> Result<Response, CalibrateError> {
        let name = op.tool();
        let (answer, _) = self.ask(who, op)?;
        answer.map_err(|refusal| CalibrateError::Refused(name, refusal.code))
    }

    fn ask(&mut self, who: usize, op: Op) -> Result<(Outcome, Span), CalibrateError> {
        self.keys += 1;
        let identity = &self.identities[who];
        let session = Arc::clone(&identity.session);
        let ask = Ask {
            handle: handle(identity),
            key: (!op.is_read()).then_some(self.keys),
            op,
            room: None,
        };
        let (message, took) = self.exchange(&session, CallerRequest::Call(ask))?;
        let Message::Answered { reply, .. } = message else {
            return Err(CalibrateError::Failed(
                "a call was answered as none".to_owned(),
            ));
        };
        let ParsedReply {
            outcome,
            credentials,
            ..
        } = *reply;
        if let Some(credentials) = credentials {
            self.identities[who].credentials = Some(credentials);
        }
        Ok((outcome, took))
    }

    /// Makes one request and waits for its result. Measures from the send until this thread
    /// received the answer, as a run does.
    fn exchange(
        &mut self,
        session: &Arc<Session>,
        want: CallerRequest,
    ) -> Result<(Message, Span), CalibrateError> {
        let clock = self.pool.net.clock;
        let began = clock.now();
        let ticket = self.pool.send(session, want);
        loop {
            let received = self.pool.messages().recv_timeout(PATIENCE);
            let now = clock.now();
            let Ok(received) = received else {
                self.pool.cancel(ticket);
                let seconds = PATIENCE.as_secs();
                return Err(CalibrateError::Failed(format!(
                    "no answer within {seconds}s"
                )));
            };
            match received.message {
                Message::Failed { ticket: of, why } if of == ticket => {
                    self.pool.finish(ticket);
                    return Err(CalibrateError::Failed(why.0));
                }
                Message::Answered { ticket: of, .. } | Message::Read { ticket: of, .. }
                    if of == ticket =>
                {
                    self.pool.finish(ticket);
                    return Ok((received.message, now.since(began)));
                }
                Message::Answered { .. }
                | Message::Read { .. }
                | Message::Failed { .. }
                | Message::Opened { .. }
                | Message::Pushed { .. }
                | Message::Grew { .. }
                | Message::Asked(_)
                | Message::Nemesis(_)
                | Message::Closed { .. } => {}
            }
        }
    }

    /// Unregisters all clients, as far as the protocol can.
    pub(super) fn unregister(mut self) {
        if let Some(room) = self.room.take() {
            // A client that cannot leave the room is removed by unregistering.
            let _ = self.ask(0, Op::Command(Command::LeaveChat { room: Some(room) }));
        }
        let identities: Vec<&Identity> = self.identities.iter().collect();
        unregister::unregister_identities(self.pool, &identities);
    }
}

fn handle(identity: &Identity) -> Option<Arc<str>> {
    let credentials = identity.credentials.as_ref()?;
    Some(Arc::clone(&credentials.handle))
}

/// A check that does not wait, acknowledge or cause a journal entry.
fn read() -> Op {
    Op::check(None, Span::ZERO, ReadBy::Handle)
}
