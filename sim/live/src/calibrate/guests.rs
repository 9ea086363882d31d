//! Those who ask a server things in order to measure it.

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

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// What is said: about as long as people's lines are.
const WORDS: &str = "the kettle is on, and the seven o'clock train was nearly on time today";

/// How often a place to talk in may end before that is no end of a room any more.
const MOVES: usize = 3;

/// Participants of the server, and the first two of them in a room.
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

    /// The cheapest request that there is.
    pub(super) fn least(&mut self) -> Result<Span, Trouble> {
        let session = Arc::clone(&self.seats[0].session);
        let (_, took) = self.exchange(&session, Want::Least)?;
        Ok(took)
    }

    /// A read.
    pub(super) fn read(&mut self) -> Result<Span, Trouble> {
        let (answer, took) = self.ask(0, read())?;
        answer.map_err(|refusal| Trouble::Refused("check", refusal.code))?;
        Ok(took)
    }

    /// A message, which is journalled; somewhere else when the room has ended meanwhile.
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
                // A pair's room takes so many messages, and a grant of a stick so much time.
                "chat_ended" => self.pair()?,
                "stick_required" => self.claim()?,
                _ => break,
            }
        }
        Err(Trouble::Refused("send_message", refused))
    }

    /// Brings the first guests where they can talk: two to a room for pairs; where the server has
    /// none, one alone to a table.
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

    /// Takes the stick of the table, where there is one.
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

    /// Sees to it that there are so many guests.
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

    /// What a guest needs to read by itself.
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
        // Nobody else shares it, where interests count.
        let interest = self.pool.net.writer.names.suffix().trim_start_matches('-');
        let op = Op::EnterQueue {
            interests: [interest.into()].into(),
            user_id: None,
            display_name: Some(self.name(who)),
        };
        self.granted(who, op)
    }

    /// Asks for what may not be refused.
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

    /// Makes one request, and waits for what comes of it: from when it was sent to when its answer
    /// was heard on this thread, as a run measures it.
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

    /// Takes everybody away again, as far as the protocol knows a way to.
    pub(super) fn leave(mut self) {
        if let Some(room) = self.room.take() {
            // Whoever does not get out of the room is taken away with it.
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

/// Nothing in it waits, acknowledges or writes.
fn read() -> Op {
    Op::Check {
        after: None,
        wait: Span::ZERO,
        by: ReadBy::Handle,
    }
}
