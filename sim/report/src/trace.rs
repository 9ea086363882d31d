//! What clients did and observed, one JSON object per line, so that a person can follow one user or
//! room through a run with grep or jq.

mod excerpt;
mod line;

use std::io::{self, Write};

use crate::numbers::told;
use line::TraceLine;
use sim_model::history::{ClientEvent, Observer, Record, RunEvent, WorldRecord};
use sim_model::protocol::{Agent, Room, User};
use sim_model::user_name::is_numbered;

pub use excerpt::{ObservedLine, excerpt};

/// The subject of a filtered trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Follow {
    /// What the user with this id did and observed.
    User(User),
    /// What the user of this name in the scenario did and observed, under whatever handles.
    Name(String),
    /// What happened in this room.
    Room(Room),
}

/// Writes the trace of one run.
#[derive(Debug)]
pub struct TraceWriter<W> {
    out: W,
    follow: Option<Follow>,
    /// Whether the followed subject was in the run.
    is_found: bool,
    /// The last of the run's ids and rooms.
    last: (User, Room),
    /// The last of the run's users, and its name in the scenario.
    last_arrived: (Agent, String),
    /// The name of the user with the number of the followed one, which may be of another persona.
    same_number: Option<String>,
    failed: Option<io::Error>,
}

impl<W: Write> TraceWriter<W> {
    /// A trace of everything, or of the subject to follow.
    pub fn new(out: W, follow: Option<Follow>) -> Self {
        Self {
            out,
            is_found: follow.is_none(),
            follow,
            last: (User(0), Room(0)),
            last_arrived: (Agent(0), String::new()),
            same_number: None,
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

    /// If the followed subject was not in the run, a sentence that names the last one that was.
    #[must_use]
    pub fn missing(&self) -> Option<String> {
        let (user, room) = self.last;
        let (subject, last) = match self.follow.as_ref()? {
            Follow::User(missing) => (missing.to_string(), user.to_string()),
            Follow::Name(missing) => (missing.clone(), self.last_arrived.1.clone()),
            Follow::Room(missing) => (missing.to_string(), room.to_string()),
        };
        let last = match last.is_empty() || last.ends_with("_0") {
            true => "none at all".to_owned(),
            false => format!("the last was {last}"),
        };
        let guess = told("; did you mean `", self.same_number.as_ref(), "`?");
        (!self.is_found).then(|| format!("the run had no {subject}: {last}{guess}"))
    }

    fn keeps(&self, record: &Record<'_>, line: &TraceLine) -> bool {
        match &self.follow {
            None => true,
            Some(Follow::User(user)) => record.user == Some(*user),
            Some(Follow::Name(followed)) => record.name == followed,
            Some(Follow::Room(room)) => line.is_in(*room),
        }
    }

    fn count(&mut self, record: &Record<'_>) {
        let (last, name) = &mut self.last_arrived;
        if name.is_empty() || *last < record.agent {
            *last = record.agent;
            record.name.clone_into(name);
            let number = |name: &str| name.rsplit_once('#').map(|(_, n)| n.to_owned());
            if let Some(Follow::Name(followed)) = &self.follow
                && number(followed).is_some_and(|n| number(record.name) == Some(n))
            {
                self.same_number = Some(record.name.to_owned());
            }
        }
        let (user, room) = &mut self.last;
        let known = record.user.filter(|user| is_numbered(*user));
        *user = (*user).max(known.unwrap_or_default());
        if let ClientEvent::Received { event, .. } = record.what
            && let Some((known, _)) = event.place()
        {
            *room = (*room).max(known);
        }
    }

    fn write(&mut self, line: &TraceLine) {
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
    fn observe(&mut self, event: RunEvent<'_>) {
        if let RunEvent::Client(record) = event {
            let line = TraceLine::of(record);
            if self.keeps(record, &line) {
                self.is_found = true;
                self.write(&line);
            }
            self.count(record);
        } else if let RunEvent::World(at, record) = event
            // World records are always kept, because a crash explains much; sizes are not.
            && (self.follow.is_none() || !matches!(record, WorldRecord::Sizes { .. }))
        {
            self.write(&TraceLine::of_world(at, record));
        }
    }
}

#[cfg(test)]
mod tests;
