//! Keeps the last actions and observations of some users, for the report of a violation.

use std::collections::VecDeque;

use chat_types::{Span, Time};

use sim_model::history::{Observer, Record, RunEvent, WorldRecord};
use sim_model::protocol::User;
use sim_model::user_name::UserName;
use sim_model::words;

/// One line of the clients' observations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObservedLine {
    /// The time since the start of the run.
    pub at: Span,
    /// The user, such as `user_7 (penpal#12)`; empty for what affects all, such as a crash.
    pub user: String,
    /// A short description.
    pub text: String,
    /// Whether the violation was found here.
    pub blamed: bool,
}

#[derive(Debug)]
struct Lane {
    name: UserName,
    user: User,
    lines: VecDeque<(u64, ObservedLine)>,
}

/// An observer that keeps the last lines of the users of a violation, up to the violation.
#[derive(Debug)]
pub struct Recorder {
    start: Time,
    until: Span,
    keep: usize,
    lanes: Vec<Lane>,
    world: Vec<(u64, ObservedLine)>,
    count: u64,
}

impl Recorder {
    /// Keeps at most `keep` lines in all of `users` (others are ignored), none of
    /// them later than `until`. The run begins at `start`.
    #[must_use]
    pub fn new(start: Time, until: Span, users: &[User], keep: usize) -> Self {
        let lane = |user: &User| Lane {
            name: UserName::new(Some(*user), ""),
            user: *user,
            lines: VecDeque::new(),
        };
        Self {
            start,
            until,
            keep,
            lanes: users.iter().map(lane).collect(),
            world: Vec::new(),
            count: 0,
        }
    }

    /// The names of the users, in their order.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        let lanes = self.lanes.iter();
        lanes.map(|lane| lane.name.to_string()).collect()
    }

    /// The lines in the order they happened. Every user has a fair share of them, so that a busy
    /// user does not displace the others; the world's records in between are added.
    #[must_use]
    pub fn into_lines(self) -> Vec<ObservedLine> {
        let shares = shares(self.keep, &self.lanes);
        let first_user = self.lanes.first().map(|lane| lane.name.to_string());
        let mut kept: Vec<(u64, ObservedLine)> = Vec::new();
        for (lane, share) in self.lanes.into_iter().zip(shares) {
            let skip = lane.lines.len() - share;
            kept.extend(lane.lines.into_iter().skip(skip));
        }
        kept.sort_by_key(|(order, _)| *order);
        // Of the lines at the time of the violation, marks the first named user's last one; without
        // any, the last of all.
        let shows = |entry: &&mut (u64, ObservedLine)| entry.1.at == self.until;
        let mine = |entry: &&mut (u64, ObservedLine)| Some(&entry.1.user) == first_user.as_ref();
        if let Some((_, line)) = kept.iter_mut().rev().filter(shows).find(mine) {
            line.blamed = true;
        } else if let Some((_, line)) = kept.iter_mut().rev().find(shows) {
            line.blamed = true;
        }
        if let Some(first) = kept.first().map(|(order, _)| *order) {
            kept.extend(self.world.into_iter().filter(|(order, _)| *order > first));
            kept.sort_by_key(|(order, _)| *order);
        }
        kept.into_iter().map(|(_, line)| line).collect()
    }

    /// The time since the start of the run; `None` after the violation.
    fn since_start(&self, at: Time) -> Option<Span> {
        let at = at.since(self.start);
        (at <= self.until).then_some(at)
    }
}

/// The number of lines of each lane: as equal as possible.
fn shares(keep: usize, lanes: &[Lane]) -> Vec<usize> {
    let mut shares = vec![0; lanes.len()];
    let mut left = keep;
    while left > 0 {
        let mut grew = false;
        for (share, lane) in shares.iter_mut().zip(lanes) {
            if left > 0 && *share < lane.lines.len() {
                *share += 1;
                left -= 1;
                grew = true;
            }
        }
        if !grew {
            break;
        }
    }
    shares
}

impl Observer for Recorder {
    fn observe(&mut self, event: RunEvent<'_>) {
        self.count += 1;
        if let RunEvent::Client(record) = event {
            self.record_client(record);
        } else if let RunEvent::World(record) = event {
            self.record_world(record);
        }
    }
}

impl Recorder {
    fn record_client(&mut self, record: &Record<'_>) {
        let (order, keep) = (self.count, self.keep);
        let at = self.since_start(record.at);
        let Some(lane) = self
            .lanes
            .iter_mut()
            .find(|lane| Some(lane.user) == record.user)
        else {
            return;
        };
        if lane.name.name.is_empty() {
            record.name.clone_into(&mut lane.name.name);
        }
        let words = words::client(&record.what, record.user);
        let (Some(at), Some(text)) = (at, words) else {
            return;
        };
        if lane.lines.len() == keep {
            lane.lines.pop_front();
        }
        let line = ObservedLine {
            at,
            user: lane.name.to_string(),
            text,
            blamed: false,
        };
        lane.lines.push_back((order, line));
    }

    fn record_world(&mut self, record: &WorldRecord<'_>) {
        let at = match *record {
            WorldRecord::Down { at, .. }
            | WorldRecord::Restarted { at }
            | WorldRecord::Cluster { at, .. }
            | WorldRecord::ClockJumped { at, .. }
            | WorldRecord::DiskDamaged { at, .. }
            | WorldRecord::StartRefused { at, .. }
            | WorldRecord::Operated { at, .. }
            | WorldRecord::FaultMade { at, .. }
            | WorldRecord::FaultMended { at, .. }
            | WorldRecord::Healed { at }
            | WorldRecord::Sizes { at, .. }
            | WorldRecord::Ended { at } => at,
        };
        if let (Some(at), Some(text)) = (self.since_start(at), words::world(record)) {
            let line = ObservedLine {
                at,
                user: String::new(),
                text,
                blamed: false,
            };
            self.world.push((self.count, line));
        }
    }
}
