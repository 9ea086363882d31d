//! The participants that measure a server.

use std::sync::Arc;
use std::time::Duration;

use chat_types::Span;

use super::Trouble;
use crate::ask::Ask;
use crate::caller::{News, Session, Want};
use crate::client::Seat;
use crate::leave;
use crate::pool::Pool;
use crate::reply::Reply;
use crate::survey::Tools;
use sim_model::protocol::{Answer, Op, ReadBy, Refusal, Room};

/// The longest time for an answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// A message of usual length.
const WORDS: &str = "the kettle is on, and the seven o'clock train was nearly on time today";

/// How many times in a row a new room may be needed before the measurement fails.
const MOVES: usize = 3;

/// Participants of the server, of whom the first two share a room.
pub(super) struct Guests<'p> {
    pub(super) pool: &'p mut Pool,
    tools: Tools,
    seats: Vec<Seat>,
    room: Option<Room>,
    keys: u128,
}

impl<'p> Guests<'p> {
    pub(super) fn new(pool: &'p mut Pool, tools: Tools) -> Self {
        Self {
            pool,
            tools,
            seats: Vec::new(),
            room: None,
            keys: 0,
        }
    }

    /// Makes the cheapest request of the protocol.
    pub(super) fn least(&mut self) -> Result<Span, Trouble> {
        let session = Arc::clone(&self.seats[0].session);
        let (_, took) = self.exchange(&session, Want::Least)?;
        Ok(took)
    }

    /// Makes a read.
    pub(super) fn read(&mut self) -> Result<Span, Trouble> {
        let (answer, took) = self.ask(0, read())?;
        answer.map_err(|refusal| Trouble::Refused("check", refusal.code))?;
        Ok(took)
    }

    /// Sends a message, which is journalled. If the room has ended, sends it in a new one.
    pub(super) fn say(&mut self) -> Result<Span, Trouble> {
        let mut refused = "room_not_found";
        for _ in 0..MOVES {
            let text = WORDS.into();
            let (room, epoch) = (self.room, None);
            let (answer, took) = self.ask(0, Op::Send { room, text, epoch })?;
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
        Err(Trouble::Refused("send_message", refused))
    }

    /// Puts the first guests into a room: two into a pair room. If the server has none, one into a
    /// named room.
    pub(super) fn meet(&mut self) -> Result<(), Trouble> {
        let needed = ["check", "send_message"];
        let lacking: Vec<&str> = needed
            .into_iter()
            .filter(|tool| !self.tools.has(tool))
            .collect();
        if !lacking.is_empty() {
            return Err(Trouble::Failed(format!("it lacks {}", lacking.join(", "))));
        }
        if self.tools.has("enter_queue") {
            self.seats.extend([Seat::new(0), Seat::new(1)]);
            return self.pair();
        }
        self.invite(1)?;
        self.claim()
    }

    fn pair(&mut self) -> Result<(), Trouble> {
        let Answer::Waiting { user: first, .. } = self.enter(0)? else {
            return Err(Trouble::Busy);
        };
        let Answer::Matched { room, partner, .. } = self.enter(1)? else {
            return Err(Trouble::Busy);
        };
        self.room = Some(room);
        (partner == first).then_some(()).ok_or(Trouble::Busy)
    }

    /// Takes the stick of the named room, if the server has sticks.
    fn claim(&mut self) -> Result<(), Trouble> {
        if self.tools.has("talking_stick") {
            let (answer, _) = self.ask(
                0,
                Op::TalkingStick {
                    room: self.room,
                    epoch: None,
                },
            )?;
            match answer {
                Ok(_) => {}
                Err(Refusal {
                    code: "no_stick", ..
                }) => {}
                Err(refusal) => return Err(Trouble::Refused("talking_stick", refusal.code)),
            }
        }
        Ok(())
    }

    /// Registers guests until there are this many.
    pub(super) fn invite(&mut self, many: usize) -> Result<(), Trouble> {
        while self.seats.len() < many {
            let who = self.seats.len();
            self.seats.push(Seat::new(who as u64));
            if self.tools.has("enter_queue") {
                if !matches!(self.enter(who)?, Answer::Waiting { .. }) {
                    return Err(Trouble::Busy);
                }
                self.granted(who, Op::LeaveQueue)?;
            } else {
                let room = format!("calibrate-{who}");
                let username = self.name(who);
                let op = Op::Login {
                    username,
                    room: room.into(),
                };
                if let Answer::LoggedIn { room, .. } = self.granted(who, op)? {
                    self.room.get_or_insert(room);
                }
            }
        }
        Ok(())
    }

    /// The session and the request with which a guest reads on its own.
    pub(super) fn reader(&self, who: usize) -> (Arc<Session>, Ask) {
        let seat = &self.seats[who];
        let ask = Ask {
            handle: handle(seat),
            key: None,
            op: read(),
            room: None,
        };
        (Arc::clone(&seat.session), ask)
    }

    fn name(&self, who: usize) -> Arc<str> {
        format!("calibrate-{who}{}", self.pool.net.writer.names.suffix()).into()
    }

    fn enter(&mut self, who: usize) -> Result<Answer, Trouble> {
        // An interest that no other participant has.
        let interest = self.pool.net.writer.names.suffix().trim_start_matches('-');
        let op = Op::EnterQueue {
            interests: [interest.into()].into(),
            user_id: None,
            display_name: Some(self.name(who)),
        };
        self.granted(who, op)
    }

    /// Makes a call that must be accepted.
    fn granted(&mut self, who: usize, op: Op) -> Result<Answer, Trouble> {
        let name = op.tool();
        let (answer, _) = self.ask(who, op)?;
        answer.map_err(|refusal| Trouble::Refused(name, refusal.code))
    }

    fn ask(&mut self, who: usize, op: Op) -> Result<(Result<Answer, Refusal>, Span), Trouble> {
        self.keys += 1;
        let seat = &self.seats[who];
        let is_read = matches!(op, Op::Check { .. });
        let session = Arc::clone(&seat.session);
        let ask = Ask {
            handle: handle(seat),
            key: (!is_read).then_some(self.keys),
            op,
            room: None,
        };
        let (news, took) = self.exchange(&session, Want::Call(ask))?;
        let News::Answered { reply, .. } = news else {
            return Err(Trouble::Failed("a call was answered as none".to_owned()));
        };
        let Reply {
            outcome,
            credentials,
            ..
        } = *reply;
        if let Some(credentials) = credentials {
            self.seats[who].credentials = Some(credentials);
        }
        Ok((outcome, took))
    }

    /// Makes one request and waits for its result. Measures from the send until this thread
    /// received the answer, as a run does.
    fn exchange(&mut self, session: &Arc<Session>, want: Want) -> Result<(News, Span), Trouble> {
        let clock = self.pool.net.clock;
        let began = clock.now();
        let ticket = self.pool.send(session, want);
        loop {
            let told = self.pool.told().recv_timeout(PATIENCE);
            let now = clock.now();
            let Ok(told) = told else {
                self.pool.cancel(ticket);
                let seconds = PATIENCE.as_secs();
                return Err(Trouble::Failed(format!("no answer within {seconds}s")));
            };
            match told.news {
                News::Failed { ticket: of, why } if of == ticket => {
                    self.pool.settled(ticket);
                    return Err(Trouble::Failed(why.0));
                }
                News::Answered { ticket: of, .. } | News::Read { ticket: of, .. }
                    if of == ticket =>
                {
                    self.pool.settled(ticket);
                    return Ok((told.news, now.since(began)));
                }
                News::Answered { .. }
                | News::Read { .. }
                | News::Failed { .. }
                | News::Opened { .. }
                | News::Pushed { .. }
                | News::Grew { .. }
                | News::Closed { .. } => {}
            }
        }
    }

    /// Unregisters all guests, as far as the protocol can.
    pub(super) fn leave(mut self) {
        if let Some(room) = self.room.take() {
            // A guest that cannot leave the room is removed by unregistering.
            let _ = self.ask(0, Op::LeaveChat { room: Some(room) });
        }
        let seats: Vec<&Seat> = self.seats.iter().collect();
        leave::empty(self.pool, &seats);
    }
}

fn handle(seat: &Seat) -> Option<Arc<str>> {
    let credentials = seat.credentials.as_ref()?;
    Some(Arc::clone(&credentials.handle))
}

/// A check that does not wait, acknowledge or cause a journal entry.
fn read() -> Op {
    Op::Check {
        after: None,
        wait: Span::ZERO,
        by: ReadBy::Handle,
    }
}
