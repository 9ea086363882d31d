//! The auditor: feeds the reference model with what was committed, and compares what is owed with
//! what the server decided and with what crossed its border.
//!
//! Everything is exact: an answer, a page and a push show the committed state at the instant at
//! which they leave. So the auditor needs no guess, and stops at the first difference: what follows
//! from one bug is not blamed on other rules.

mod admission;
mod answers;
mod border;
mod clock;
mod implied;
mod pages;

use chat_types::Time;
use sim_model::plan::Plan;
use sim_model::protocol::{Answer, Earlier, Op, Outcome, Refusal, User};
use sim_model::server::{Ask, Entry, ServerRecord, Ticket};

use crate::compared::{Compared, Tally};
use crate::difference::{Difference, Due};
use crate::findings::{Finding, Findings};
use crate::model::{Deadline, Inbox, Model};
use crate::properties;

use self::admission::Admission;
use self::border::{Border, Call, Stage};
use self::clock::Clock;
use self::implied::Implied;

/// Audits the records of one server.
#[derive(Clone, Debug)]
pub(crate) struct Auditor {
    model: Model,
    border: Border,
    implied: Implied,
    admission: Admission,
    clock: Clock,
    tally: Tally,
    /// The position of the last entry.
    position: u64,
    /// Up to when nothing is late.
    looked_at: Time,
    /// The most entries that waited at once, since none did.
    peak: u64,
    /// A stream's opening that acknowledges, unless the next record is its refusal.
    opening: Option<(Ticket, User, u64)>,
    /// Whether the server was restarted.
    recovered: bool,
    /// The first difference, if there was one.
    found: Option<Finding>,
}

impl Auditor {
    pub(crate) fn new(plan: &Plan) -> Self {
        Self {
            model: Model::new(&plan.server),
            border: Border::default(),
            implied: Implied::default(),
            admission: Admission::new(&plan.server),
            clock: Clock::new(plan),
            tally: Tally::default(),
            position: 0,
            looked_at: Time(0),
            peak: 0,
            opening: None,
            recovered: false,
            found: None,
        }
    }

    pub(crate) const fn model(&self) -> &Model {
        &self.model
    }

    /// The first difference, once.
    pub(crate) fn take_found(&mut self) -> Option<Finding> {
        self.found.take()
    }

    /// Counts all comparisons towards the properties.
    pub(crate) fn count(&self, findings: &mut Findings) {
        properties::count(&self.tally, findings);
    }

    /// A collection has such a size.
    pub(crate) fn size(&mut self, at: Time, what: &'static str, size: u64, limit: u64) {
        self.tally.add(Compared::Size);
        if size > limit {
            self.differ(at, Difference::Size { what, size, limit });
        }
    }

    fn differ(&mut self, at: Time, difference: Difference) {
        self.found.get_or_insert_with(|| Finding {
            property: properties::owner(&difference, &self.model),
            at,
            users: difference.users(),
            difference,
        });
    }

    /// Takes in one record.
    pub(crate) fn record(&mut self, record: &ServerRecord<'_>) {
        let at = record.at();
        self.settle_opening(record);
        if !matches!(record, ServerRecord::ClockJumped { .. }) {
            self.look_for_late(at);
        }
        self.border.end_by(at);
        match *record {
            ServerRecord::Asked {
                at,
                ticket,
                from,
                ask,
            } => self.asked(at, ticket, from, ask),
            ServerRecord::Committed {
                position,
                at,
                entry,
                ticket,
                said,
            } => self.committed((position, at), entry, ticket, said),
            ServerRecord::Answered {
                at,
                ticket,
                outcome,
                page,
            } => self.answered(at, ticket, outcome, page),
            ServerRecord::StreamOpened { at, ticket } => self.stream_opened(at, ticket),
            ServerRecord::Pushed { at, ticket, page } => self.pushed(at, ticket, page),
            ServerRecord::StreamWritable {
                at,
                ticket,
                writable,
            } => self.border.writable(at, ticket, writable),
            ServerRecord::StreamEnded { at, ticket } => self.stream_ended(at, ticket),
            ServerRecord::Gone { at, ticket } => self.gone(at, ticket),
            ServerRecord::Appending { .. } => {
                self.implied.formed();
                self.border.formed();
            }
            ServerRecord::AppendFailed { at } => self.clock.append_failed(at),
            ServerRecord::AppendUnknown { .. } => self.clock.append_unknown(),
            ServerRecord::ClockJumped { at, by } => {
                self.clock.jumped(at);
                self.implied.jumped(&self.model, at, by);
            }
            ServerRecord::Crashed { .. } => {
                self.border.clear();
                self.admission.clear();
                self.clock.crashed();
            }
            ServerRecord::Restarted { at } => {
                // What the journal kept of a batch in flight is committed by now.
                self.implied.clear();
                self.recovered = true;
                self.clock.restarted(at);
            }
        }
    }

    /// A call that opens a stream acknowledges, once it is not turned away at the door.
    fn settle_opening(&mut self, record: &ServerRecord<'_>) {
        let Some((opening, user, after)) = self.opening.take() else {
            return;
        };
        let turned_away =
            matches!(record, ServerRecord::Answered { ticket, .. } if *ticket == opening);
        if !turned_away {
            self.implied.acknowledge(record.at(), user, after);
        }
    }

    /// The run is over: what was due by now is late.
    pub(crate) fn finish(&mut self, now: Time) {
        self.clock.look_now();
        self.look_for_late(now);
    }

    /// Whether something was due before `at`, and has not happened.
    fn look_for_late(&mut self, at: Time) {
        if !self.clock.is_up() || at == self.looked_at {
            return;
        }
        self.looked_at = at;
        if let Some((since, due)) = self.border.overdue(at, self.clock.jumped_at()) {
            self.differ(at, Difference::Late { due, since });
            return;
        }
        self.implied.pass(at);
        if !self.clock.is_time_to_look(at) {
            return;
        }
        self.implied.note_now_and_then(&self.model, at);
        let pending = self.pending();
        self.peak = if pending == 0 {
            0
        } else {
            self.peak.max(pending)
        };
        let Some(latest) = self.clock.committed_by(at, self.peak) else {
            return;
        };
        let first = self
            .border
            .oldest_call()
            .into_iter()
            .chain(self.implied.oldest())
            .chain(
                self.model
                    .next_deadline()
                    .map(|(since, deadline)| (since, Due::Deadline(deadline))),
            )
            .min_by_key(|(since, _)| *since);
        if let Some((since, due)) = first
            && since < latest
        {
            self.differ(at, Difference::Late { due, since });
        }
    }

    /// How many entries may wait to be put in a batch, at most.
    fn pending(&self) -> u64 {
        self.border.proposed() + self.implied.pending()
    }

    fn committed(
        &mut self,
        (position, at): (u64, Time),
        entry: &Entry,
        ticket: Option<Ticket>,
        said: &Outcome,
    ) {
        if position != self.position + 1 {
            let (owed, seen) = (self.position + 1, position);
            self.differ(at, Difference::Position { owed, seen });
        }
        self.position = position;
        self.clock.committed(at);
        self.count_deadlines(at);
        if let Some(owed) = self.implied.unjustified(&self.model, at, entry) {
            let (Entry::CloseStream { user } | Entry::Seen { user, .. } | Entry::Read { user, .. }) =
                entry
            else {
                return;
            };
            let (user, entry) = (*user, entry.clone());
            self.differ(at, Difference::Implied { user, entry, owed });
        }
        let owed = self.model.commit(at, entry, said);
        self.count_decision(entry, &owed.outcome, owed.repeated);
        if has_outcome(entry) && !same(&owed.outcome, said) {
            self.differ(
                at,
                Difference::Decision {
                    position,
                    entry: entry.clone(),
                    caller: owed.caller,
                    repeated: owed.repeated,
                    owed: owed.outcome.clone(),
                    said: said.clone(),
                },
            );
        }
        if let Entry::Call {
            caller,
            key: Some(key),
            ..
        } = entry
        {
            let call = (caller.handle(), *key);
            self.border
                .repeated(call, &owed.outcome, (at, owed.answer_at));
        }
        if let Some(ticket) = ticket
            && let Some(user) =
                self.border
                    .decided(ticket, owed.caller, owed.outcome, (at, owed.answer_at))
        {
            self.implied.stream_closed(at, user);
        }
        for user in self.model.take_forgotten() {
            self.border.forgotten(at, user, &Err(unknown_handle()));
            self.implied.forget(user);
            self.admission.forget(user);
        }
        for user in self.model.take_grown() {
            self.border.grew(at, user);
        }
    }

    /// Counts the deadlines that fall before an entry.
    fn count_deadlines(&mut self, at: Time) {
        if let Some((due, deadline)) = self.model.next_deadline()
            && due <= at
        {
            self.tally.add(match deadline {
                Deadline::Presence(_) => Compared::PresenceDeadline,
                Deadline::Lease(_) => Compared::Lease,
                Deadline::Patience(_) => Compared::Patience,
            });
        }
    }

    fn count_decision(&mut self, entry: &Entry, owed: &Outcome, repeated: bool) {
        match entry {
            Entry::Call { op, .. } => {
                self.tally.add(Compared::decision(op));
                if repeated {
                    self.tally.add(Compared::Repeat);
                }
                if owed.is_err() {
                    self.tally.add(Compared::Refusal);
                }
            }
            Entry::Operate(_) => self.tally.add(Compared::Moderation),
            Entry::OpenStream { .. } | Entry::CloseStream { .. } | Entry::Seen { .. } => {
                self.tally.add(Compared::Presence);
            }
            Entry::Read { .. } | Entry::Tick | Entry::Started { .. } | Entry::Resumed { .. } => {}
        }
    }

    fn asked(&mut self, at: Time, ticket: Ticket, from: u64, ask: &Ask) {
        let handle = match ask {
            Ask::Call { caller, .. } => Some(caller.handle()),
            Ask::OpenStream { handle, .. } => Some(*handle),
            Ask::Operate(_) => None,
        };
        let user = handle.and_then(|handle| self.model.user_of(handle));
        let stage = match self.remembered(at, ask, user) {
            Some(stage) => stage,
            None => self.admitted(at, (ticket, from), ask, user),
        };
        self.border
            .ask(ticket, Call::new(ask.clone(), user, at, stage));
    }

    /// A repeated call is answered from memory, before anything refuses it.
    fn remembered(&mut self, at: Time, ask: &Ask, user: Option<User>) -> Option<Stage> {
        let Ask::Call {
            key: Some(key), op, ..
        } = ask
        else {
            return None;
        };
        let owed = self.model.repeat(user?, *key, op)?;
        self.implied.read(&self.model, at, user?);
        self.tally.add(Compared::Repeat);
        Some(if owed.answer_at > at {
            Stage::Held(owed.outcome, owed.answer_at)
        } else {
            Stage::Owed(owed.outcome, at)
        })
    }

    fn admitted(
        &mut self,
        at: Time,
        (ticket, from): (Ticket, u64),
        ask: &Ask,
        user: Option<User>,
    ) -> Stage {
        let turned = self.admission.admit(at, from, ask, user);
        let unknown = |refusal: &Refusal| refusal.code == "unknown_handle";
        let joins = turned.as_ref().is_some_and(|refusal| !unknown(refusal));
        if joins && self.border.waits_already(ask) {
            // It joins an earlier attempt that waits for the journal, if there is room to.
            return Stage::Joining;
        }
        match (ask, turned, user) {
            (_, Some(refusal), _) => Stage::Owed(Err(refusal), at),
            (
                Ask::Call {
                    op: Op::Check { after, wait, .. },
                    ..
                },
                None,
                Some(user),
            ) => self.check_asked(at, ticket, user, (*after, *wait)),
            (Ask::Call { op: Op::Mood, .. }, None, Some(user)) => {
                self.implied.read(&self.model, at, user);
                let mood = self.model.mood(user, at);
                let owed = mood.map(|(stress, boss_alert)| Answer::Mood { stress, boss_alert });
                Stage::Owed(owed.ok_or_else(unknown_handle), at)
            }
            (
                Ask::Call {
                    op:
                        Op::History {
                            room,
                            before,
                            limit,
                        },
                    ..
                },
                None,
                Some(user),
            ) => {
                self.implied.read(&self.model, at, user);
                Stage::Owed(self.model.read_history(user, *room, *before, *limit), at)
            }
            (
                Ask::Call {
                    op: Op::ListUsers { room },
                    ..
                },
                None,
                Some(user),
            ) => {
                self.implied.read(&self.model, at, user);
                Stage::Owed(self.model.list_users(user, *room), at)
            }
            (Ask::OpenStream { after, .. }, None, Some(user)) => {
                let end = self.model.inbox(user).map_or(0, Inbox::end);
                match after {
                    Some(after) if *after > end => Stage::Owed(Err(invalid_cursor()), at),
                    _ => {
                        self.opening = after.map(|after| (ticket, user, after));
                        Stage::Proposed
                    }
                }
            }
            _ => Stage::Proposed,
        }
    }
}

/// Whether an entry has an outcome that a caller sees.
const fn has_outcome(entry: &Entry) -> bool {
    matches!(
        entry,
        Entry::Call { .. } | Entry::OpenStream { .. } | Entry::Operate(_)
    )
}

/// Whether two outcomes are the same to their caller. When to come again is a matter of load.
fn same(owed: &Outcome, said: &Outcome) -> bool {
    match (owed, said) {
        (Ok(owed), Ok(said)) => owed == said,
        (Err(owed), Err(said)) => owed.code == said.code,
        (Ok(_), Err(_)) | (Err(_), Ok(_)) => false,
    }
}

const fn refusal(code: &'static str) -> Refusal {
    Refusal {
        code,
        retry_after: None,
        earlier: Earlier::Unsaid,
    }
}

const fn unknown_handle() -> Refusal {
    refusal("unknown_handle")
}

const fn invalid_cursor() -> Refusal {
    refusal("invalid_cursor")
}
