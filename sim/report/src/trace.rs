//! What clients did and observed, one JSON object per line, so that a person can follow one user or
//! room through a run with grep or jq.

mod line;
mod recorder;

use std::io::{self, Write};
use std::str::FromStr;

use chat_types::Time;
use rustc_hash::FxHashMap;

use line::TraceLine;
use sim_model::history::{ClientEvent, Observer, Record, WorldRecord};
use sim_model::protocol::{Agent, CallId, Room, User};

pub use recorder::{ObservedLine, Recorder};

/// The subject of a filtered trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Follow {
    /// What this user did and observed.
    User(User),
    /// What happened in this room.
    Room(Room),
}

impl FromStr for Follow {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |prefix| {
            text.strip_prefix(prefix)
                .and_then(|digits: &str| digits.parse().ok())
        };
        if let Some(n) = number("user_") {
            return Ok(Self::User(User(n)));
        }
        number("room_")
            .map(|n| Self::Room(Room(n)))
            .ok_or_else(|| "write a user or a room, such as user_7 or room_3".to_owned())
    }
}

/// The calls in flight: a retry's command is known only from its first attempt.
#[derive(Debug, Default)]
struct Calls(FxHashMap<(Agent, CallId), (&'static str, Option<Room>)>);

impl Calls {
    fn verb(&self, agent: Agent, call: CallId) -> Option<(&'static str, Option<Room>)> {
        self.0.get(&(agent, call)).copied()
    }

    /// Adds new calls, and removes finished ones.
    fn follow(&mut self, record: &Record<'_>) {
        if let ClientEvent::Called { call, op, .. } = record.what {
            let (verb, room) = (op.verb(), op.room().flatten());
            self.0.insert((record.agent, call), (verb, room));
        } else if let ClientEvent::Answered { call, .. } | ClientEvent::Abandoned { call, .. } =
            record.what
        {
            self.0.remove(&(record.agent, call));
        }
    }
}

/// Writes the trace of one run.
#[derive(Debug)]
pub struct TraceWriter<W> {
    out: W,
    start: Time,
    follow: Option<Follow>,
    calls: Calls,
    failed: Option<io::Error>,
}

impl<W: Write> TraceWriter<W> {
    /// A trace of a run that begins at `start`, of everything or of the subject to follow.
    pub fn new(out: W, start: Time, follow: Option<Follow>) -> Self {
        Self {
            out,
            start,
            follow,
            calls: Calls::default(),
            failed: None,
        }
    }

    /// Writes all buffered lines.
    ///
    /// # Errors
    /// The first line that could not be written; no later line was written.
    pub fn finish(mut self) -> io::Result<W> {
        match self.failed {
            Some(error) => Err(error),
            None => self.out.flush().map(|()| self.out),
        }
    }

    fn keeps(&self, line: &TraceLine<'_>) -> bool {
        match self.follow {
            None => true,
            Some(Follow::User(user)) => line.is_of(user),
            Some(Follow::Room(room)) => line.is_in(room),
        }
    }

    fn write(&mut self, line: &TraceLine<'_>) {
        if self.failed.is_some() {
            return;
        }
        let written = serde_json::to_writer(&mut self.out, line)
            .map_err(io::Error::from)
            .and_then(|()| self.out.write_all(b"\n"));
        self.failed = written.err();
    }
}

impl<W: Write> Observer for TraceWriter<W> {
    fn observe(&mut self, record: &Record<'_>) {
        let line = TraceLine::of(record, self.start, &self.calls);
        if self.keeps(&line) {
            self.write(&line);
        }
        self.calls.follow(record);
    }

    /// World records are always kept, because a crash explains much; sizes are not.
    fn observe_world(&mut self, record: &WorldRecord<'_>) {
        let line = TraceLine::of_world(record, self.start);
        let is_size = matches!(record, WorldRecord::Sizes { .. });
        if self.follow.is_none() || !is_size {
            self.write(&line);
        }
    }
}

#[cfg(test)]
mod tests;
