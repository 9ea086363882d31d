//! The participants that measure a server.

use std::sync::Arc;
use std::time::Duration;

use chat_types::Span;

use super::{Measured, refused};
use crate::ask::Ask;
use crate::caller::{Answered, CallerRequest, Message, Session};
use crate::client::Identity;
use crate::pool::Pool;
use crate::probe::Capabilities;
use crate::unregister;
use sim_model::protocol::{
    Addressees, Command, EnterQueue, Op, Outcome, ReadBy, Reply, Response, Room,
};

/// The longest time for an answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// A message of usual length.
const WORDS: &str = "the kettle is on, and the seven o'clock train was nearly on time today";

/// The failure of a measurement beside other participants.
const BUSY: &str = "another participant waits in its queue; use a separate server";

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
    pub(super) fn least(&mut self) -> Measured<Span> {
        let session = Arc::clone(&self.identities[0].session);
        let (_, took) = self.exchange(&session, CallerRequest::Least)?;
        Ok(took)
    }

    /// Makes a read.
    pub(super) fn read(&mut self) -> Measured<Span> {
        let (answer, took) = self.ask(0, read())?;
        answer.map_err(|refusal| refused("check", refusal.code))?;
        Ok(took)
    }

    /// Sends a message, which is journalled. If the room has ended, sends it in a new one.
    pub(super) fn send(&mut self) -> Measured<Span> {
        let mut code = "room_not_found";
        for _ in 0..MOVES {
            let text = WORDS.into();
            let (room, epoch) = (self.room, None);
            let (answer, took) = self.ask(
                0,
                Op::Command(Command::SendMessage {
                    room,
                    text,
                    epoch,
                    to: Addressees::ALL,
                }),
            )?;
            match answer {
                Ok(_) => return Ok(took),
                Err(refusal) => code = refusal.code,
            }
            match code {
                // A pair room has a limit of messages, and a grant of the stick has a lease.
                "chat_ended" => self.pair()?,
                "stick_required" => self.claim()?,
                _ => break,
            }
        }
        Err(refused("send_message", code))
    }

    /// Puts the first clients into a room: two into a pair room. If the server has none, one into a
    /// named room.
    pub(super) fn enter_room(&mut self) -> Measured<()> {
        let mut lacking = vec!["check", "send_message"];
        lacking.retain(|tool| !self.tools.has(tool));
        if !lacking.is_empty() {
            return Err(format!("it lacks {}", lacking.join(", ")));
        }
        if self.tools.has("enter_queue") {
            // A server pairs nobody before the first use of the handle.
            self.register_up_to(2)?;
            return self.pair();
        }
        self.register_up_to(1)?;
        self.claim()
    }

    fn pair(&mut self) -> Measured<()> {
        let Response::Done(Reply::Waiting { user: first, .. }) = self.enter(0)? else {
            return Err(BUSY.to_owned());
        };
        let Response::Done(Reply::Matched { room, partner, .. }) = self.enter(1)? else {
            return Err(BUSY.to_owned());
        };
        self.room = Some(room);
        match partner.id == first {
            true => Ok(()),
            false => Err(BUSY.to_owned()),
        }
    }

    /// Takes the stick of the named room, if the server has sticks.
    fn claim(&mut self) -> Measured<()> {
        if self.tools.has("talking_stick") {
            let (room, epoch) = (self.room, None);
            let (answer, _) = self.ask(0, Op::Command(Command::TalkingStick { room, epoch }))?;
            if let Err(refusal) = answer
                && refusal.code != "no_stick"
            {
                return Err(refused("talking_stick", refusal.code));
            }
        }
        Ok(())
    }

    /// Registers clients until there are this many.
    pub(super) fn register_up_to(&mut self, many: usize) -> Measured<()> {
        while self.identities.len() < many {
            let who = self.identities.len();
            self.identities.push(Identity::new(who as u64, 0));
            if self.tools.has("enter_queue") {
                if !matches!(self.enter(who)?, Response::Done(Reply::Waiting { .. })) {
                    return Err(BUSY.to_owned());
                }
                self.must_succeed(who, Op::Command(Command::LeaveQueue))?;
            } else {
                let (username, room) = (self.name(who), format!("calibrate-{who}").into());
                let op = Op::Command(Command::Login { username, room });
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
        let ask = Ask::new(identity.handle(), read());
        (Arc::clone(&identity.session), ask)
    }

    fn name(&self, who: usize) -> Arc<str> {
        format!("calibrate-{who}{}", self.pool.net.writer.names.suffix()).into()
    }

    fn enter(&mut self, who: usize) -> Measured<Response> {
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
    fn must_succeed(&mut self, who: usize, op: Op) -> Measured<Response> {
        let name = op.tool();
        let (answer, _) = self.ask(who, op)?;
        answer.map_err(|refusal| refused(name, refusal.code))
    }

    fn ask(&mut self, who: usize, op: Op) -> Measured<(Outcome, Span)> {
        self.keys += 1;
        let identity = &self.identities[who];
        let session = Arc::clone(&identity.session);
        let ask = Ask {
            key: Some(self.keys),
            ..Ask::new(identity.handle(), op)
        };
        let (answered, took) = self.exchange(&session, CallerRequest::Call(ask))?;
        let Answered::Call(reply) = answered else {
            return Err("a call was answered as none".to_owned());
        };
        if let Some(credentials) = reply.credentials {
            self.identities[who].credentials = Some(credentials);
        }
        Ok((reply.outcome, took))
    }

    /// Makes one request and waits for its result. Measures from the send until this thread
    /// received the answer, as a run does.
    fn exchange(
        &mut self,
        session: &Arc<Session>,
        want: CallerRequest,
    ) -> Measured<(Answered, Span)> {
        let clock = self.pool.net.clock;
        let began = clock.now();
        let sent = self.pool.send(0, session, want);
        loop {
            let received = self.pool.messages.recv_timeout(PATIENCE);
            let now = clock.now();
            let Ok(received) = received else {
                return Err(format!("no answer within {}s", PATIENCE.as_secs()));
            };
            if let Message::Ended { ticket, result, .. } = received.message
                && ticket == sent.ticket
            {
                return Ok((result?, now.since(began)));
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

/// A check that does not wait, acknowledge or cause a journal entry.
fn read() -> Op {
    Op::check(None, Span::ZERO, ReadBy::Handle)
}
