//! Replays the journal of a real server: the core decides each entry again, and the reference model
//! judges each decision.
//!
//! A journal has the calls that changed the state and the instants of all entries, but not the
//! pages that left the server. So decisions are judged, and what clients received is not.

mod followed;
mod steps;

use std::collections::{BTreeMap, VecDeque};
use std::convert::Infallible;

use chat_core::{Entry, Hub, Reject, Reply};
use chat_journal::{Bundle, Checkpoint, Look, Loss, Recovered, RecoveryError, recover};
use chat_types::{Config, Time};
use sim_judge::Judge;
use sim_model::history::Observer;
use sim_model::outcome::{BrokenInvariant, JournalRestart, JournalViolation, Notes, Replayed};
use sim_model::plan::Plan;
use sim_model::protocol::Refusal;
use sim_model::server::ServerRecord;

use crate::workload::plan_of;
pub use followed::FollowTarget;
use followed::{FollowedParticipant, kind};
use steps::Steps;

/// What to replay.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReplayOptions {
    /// The last position to replay; all of them if there is none.
    pub until: Option<u64>,
    /// The participant whose entries and events are shown.
    pub follow: Option<FollowTarget>,
}

/// Replays a journal. `show` receives a line for each entry and event of the followed participant.
///
/// # Errors
/// The journal is incomplete or damaged.
pub fn replay(
    bundle: &mut Bundle<'_>,
    options: &ReplayOptions,
    show: &mut dyn FnMut(&str),
) -> Result<Replayed, RecoveryError<Infallible>> {
    let mut replay = Replay::new(bundle, options, show);
    let recovered = walk(bundle, &mut |hub, at, entry, outcome| {
        replay.entry(hub, at, entry, outcome);
    })?;
    if recovered.hub.position().0 == replay.found.last {
        replay.validate(&recovered.hub);
    }
    let mut found = replay.finish();
    let warnings = recovered.warnings.iter();
    found.warnings.extend(warnings.map(ToString::to_string));
    Ok(found)
}

/// Decides each entry of the journal again, and shows it with the state and the decision.
fn walk(bundle: &mut Bundle<'_>, look: Look<'_>) -> Result<Recovered, RecoveryError<Infallible>> {
    let origin = bundle.origin;
    let (files, config) = (&mut bundle.files, Config::default());
    recover(files, &origin, &config, Loss::Refused, look)
}

/// Reports the entries of a whole journal to an observer, and returns their number; none if the
/// journal's first records are gone, which the reference model would need.
///
/// # Errors
/// The journal is incomplete or damaged.
pub fn observe(
    bundle: &mut Bundle<'_>,
    observer: &mut dyn Observer,
) -> Result<Option<u64>, RecoveryError<Infallible>> {
    let mut is_whole = false;
    let mut look = |hub: &Hub, at: Time, entry: &Entry, outcome: &Result<Reply, Reject>| {
        let position = hub.position().0;
        if position == 1 && matches!(entry, Entry::Started { .. }) {
            is_whole = true;
        }
        if is_whole {
            let said = outcome.as_ref().map_err(Refusal::from);
            observer.observe_server(at, &committed(position, at, entry, said));
        }
    };
    let recovered = walk(bundle, &mut look)?;
    let entries = recovered.hub.position().0;
    // A server answers before its first record is on the disk.
    Ok((is_whole || entries == 0).then_some(entries))
}

/// The record of a journal's entry.
fn committed<'e>(
    position: u64,
    at: Time,
    entry: &'e Entry,
    said: Result<&'e Reply, Refusal>,
) -> ServerRecord<'e> {
    ServerRecord::Committed {
        position,
        at,
        entry,
        ticket: None,
        said,
        posted: None,
    }
}

/// The last calls of a journal, up to the position `until`, as a scenario in the steps form.
///
/// # Errors
/// The journal is incomplete or damaged.
pub fn to_scenario(
    bundle: &mut Bundle<'_>,
    until: Option<u64>,
    last: usize,
) -> Result<(Plan, Notes), RecoveryError<Infallible>> {
    let until = until.unwrap_or(u64::MAX);
    let mut calls = VecDeque::new();
    let mut look = |hub: &Hub, _, entry: &Entry, _: &_| {
        if let Entry::Call { caller, .. } = entry
            && hub.position().0 <= until
        {
            let handle = caller.handle();
            let user = hub.user_by_handle(&handle);
            calls.push_back((hub.position().0, handle, user));
            if calls.len() > last {
                calls.pop_front();
            }
        }
    };
    walk(bundle, &mut look)?;
    let mut from = match calls.front() {
        Some((position, ..)) if calls.len() == last => *position,
        Some(_) | None => 1,
    };
    let mut steps: Option<Steps> = None;
    let mut look = |hub: &Hub, at: Time, entry: &Entry, outcome: &Result<Reply, Reject>| {
        let position = hub.position().0;
        if position == 1 && from == 1 {
            steps = Some(Steps::new(hub, at, &BTreeMap::new()));
        } else if steps.is_none() && position + 1 >= from {
            // The state before the first entry of a journal that has lost its beginning is unknown.
            from = position + 1;
            let known = calls.iter().filter_map(|(_, handle, user)| {
                let user = user.filter(|user| hub.who_is(*user).is_some())?;
                Some((*handle, user))
            });
            steps = Some(Steps::new(hub, at, &known.collect()));
            return;
        }
        if let Some(steps) = &mut steps
            && (from..=until).contains(&position)
        {
            let said = outcome.as_ref().map_err(Refusal::from);
            steps.entry(at, entry, said);
        }
    };
    walk(bundle, &mut look)?;
    let base = plan_of(Config::default());
    let (mut plan, left_out) = match steps {
        Some(steps) => steps.into_plan(&base),
        None => (base, Vec::new()),
    };
    let to = calls.back().map_or(from, |(position, ..)| *position);
    plan.name = "replayed".into();
    plan.about = format!(
        "Positions {from} to {to} of the journal {:032x}.",
        bundle.origin.realm
    );
    let notes = Notes {
        head: left_out,
        ..Notes::default()
    };
    Ok((plan, notes))
}

/// The replay so far.
struct Replay<'r> {
    until: u64,
    checkpoints: Vec<Checkpoint>,
    followed: Option<FollowedParticipant>,
    show: &'r mut dyn FnMut(&str),
    /// None before the first entry, and if the journal's beginning is missing.
    judge: Option<Judge>,
    /// Where the judge found a violation.
    violated: Option<(u64, Time)>,
    /// Entries since the invariants were checked.
    unchecked: u64,
    found: Replayed,
}

impl<'r> Replay<'r> {
    fn new(bundle: &Bundle<'_>, options: &ReplayOptions, show: &'r mut dyn FnMut(&str)) -> Self {
        Self {
            until: options.until.unwrap_or(u64::MAX),
            checkpoints: bundle.checkpoints.clone(),
            followed: options.follow.as_ref().map(FollowedParticipant::new),
            show,
            judge: None,
            violated: None,
            unchecked: 0,
            found: Replayed {
                realm: format!("{:032x}", bundle.origin.realm),
                ..Replayed::default()
            },
        }
    }

    fn entry(&mut self, hub: &Hub, at: Time, entry: &Entry, outcome: &Result<Reply, Reject>) {
        let position = hub.position().0;
        if position > self.until {
            return;
        }
        if self.found.first == 0 {
            self.begin(position, at, entry);
        }
        let said = outcome.as_ref().map_err(Refusal::from);
        *self.found.entries.entry(kind(entry)).or_default() += 1;
        if let Err(refusal) = said {
            *self.found.refused.entry(refusal.code).or_default() += 1;
        }
        if let Entry::Resumed { .. } = entry {
            self.found.restarts.push(JournalRestart {
                position,
                unix_us: at.0,
                down_us: at.since(Time(self.found.ended_unix_us)).0,
            });
        }
        if let Some(judge) = self.judge.as_mut().filter(|judge| !judge.violated()) {
            judge.observe_server(at, &committed(position, at, entry, said));
            self.violated = judge.violated().then_some((position, at));
        }
        // The server's snapshot at this position, if there is one.
        let mut checkpoints = self.checkpoints.iter();
        if let Some(checkpoint) = checkpoints.find(|one| one.position.0 == position) {
            self.found.digests += 1;
            if hub.digest() != checkpoint.digest {
                self.found.other_digests.push(position);
            }
        }
        self.unchecked += 1;
        if self.unchecked >= self.found.participants + self.found.rooms || position == self.until {
            self.validate(hub);
        }
        if let Some(followed) = &mut self.followed {
            let place = (position, at.since(Time(self.found.began_unix_us)));
            followed.entry(hub, place, entry, said, self.show);
        }
        self.found.last = position;
        self.found.ended_unix_us = at.0;
    }

    fn begin(&mut self, position: u64, at: Time, entry: &Entry) {
        self.found.first = position;
        (self.found.began_unix_us, self.found.ended_unix_us) = (at.0, at.0);
        if let Entry::Started { config, .. } = entry
            && position == 1
        {
            self.judge = Some(Judge::of_journal(&plan_of((**config).clone())));
        } else {
            self.found.unjudged = Some(format!(
                "the records before position {position} are gone, and the model needs all of them"
            ));
        }
    }

    /// Checks the invariants, which walks the whole state: so seldom that it takes as long as the
    /// entries themselves.
    fn validate(&mut self, hub: &Hub) {
        self.unchecked = 0;
        self.found.validated += 1;
        self.found.participants = hub.participant_outlines().count() as u64;
        self.found.rooms = hub.kept_rooms().count() as u64;
        if let Err(why) = hub.validate()
            && self.found.broken.is_none()
        {
            let position = hub.position().0;
            self.found.broken = Some(BrokenInvariant { position, why });
        }
    }

    fn finish(self) -> Replayed {
        let mut found = self.found;
        found.other_names = self.followed.and_then(FollowedParticipant::other_names);
        if let Some(judge) = self.judge {
            let judgement = judge.finish(Time(found.ended_unix_us));
            found.properties = judgement.properties;
            found.properties.retain(|_, result| result.checks > 0);
            let first = judgement.violations.into_iter().next();
            let violated = self.violated.zip(first);
            found.violation = violated.map(|((position, at), mut violation)| {
                violation.at = at.since(Time(found.began_unix_us));
                JournalViolation {
                    position,
                    violation,
                }
            });
        }
        let is_broken =
            found.violation.is_some() || found.broken.is_some() || !found.other_digests.is_empty();
        found.exit_code = match (is_broken, found.properties.is_empty()) {
            (true, _) => 1,
            (false, false) => 0,
            (false, true) => 4,
        };
        found
    }
}

#[cfg(test)]
mod tests;
