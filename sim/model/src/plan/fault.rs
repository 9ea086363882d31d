//! Faults, and when they occur.

use std::fmt;
use std::sync::Arc;

use chat_types::{Config, Span};

use super::Plan;
use super::server_faults::{LogHarm, MemberHarm, ServersNeeded, Which};
use crate::draw::{Actor, Draw, Quantiles, Ratio};

/// The most times that a fault of one run repeats.
pub const MAX_REPEATS: u64 = 1_000;

/// A fault, as data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Its time; the first, if it repeats. With a milestone, the time from which the milestone
    /// counts.
    pub at: Span,
    /// The milestone that it waits for.
    pub milestone: Option<Milestone>,
    /// The repetitions, which each run draws from its seed.
    pub repeats: Option<Repeats>,
    /// Its kind.
    pub kind: FaultKind,
    /// Whether a run without it is useful.
    pub need: Need,
}

/// The repetitions of a fault, until the end of the safety phase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repeats {
    /// The time from one start to the next, in microseconds.
    pub every: Arc<Quantiles>,
    /// When it starts for the first time.
    pub first: FirstTime,
}

/// When a fault that repeats starts for the first time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FirstTime {
    /// At its time.
    AtOnce,
    /// A drawn time after the start of the run.
    Drawn,
}

impl Plan {
    /// The faults of the run with this seed, ordered by time: those that repeat as often as they
    /// end within the safety phase, each with its time.
    #[must_use]
    pub fn faults_of(&self, seed: u64) -> Vec<Fault> {
        let mut faults = Vec::new();
        for (index, fault) in (0..).zip(&self.faults) {
            let Some(repeats) = &fault.repeats else {
                faults.push(fault.clone());
                continue;
            };
            let mut draw = Draw::new(seed, Actor::Repeats(index));
            // In whole milliseconds, as scenarios are written.
            let mut gap = || Span::millis(Span(repeats.every.draw(&mut draw)).as_millis());
            let mut at = match repeats.first {
                FirstTime::AtOnce => fault.at,
                FirstTime::Drawn => gap(),
            };
            for _ in 0..MAX_REPEATS {
                if at + fault.kind.length() > self.duration {
                    break;
                }
                faults.push(Fault {
                    at,
                    repeats: None,
                    ..fault.clone()
                });
                at = at + gap();
            }
        }
        if self.faults.iter().any(|fault| fault.repeats.is_some()) {
            // A stable sort: faults at the same time keep their order.
            faults.sort_by_key(|fault| fault.at);
        }
        faults
    }

    /// The plan of the run with this seed, in which no fault repeats.
    #[must_use]
    pub fn of_seed(&self, seed: u64) -> Self {
        Self {
            faults: self.faults_of(seed),
            ..self.clone()
        }
    }
}

/// An event of a run with a count: a fault that waits for it strikes when the event has happened
/// that often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Milestone {
    /// The event.
    pub reached: Reached,
    /// The count, from 1.
    pub count: u32,
}

/// The events that can be milestones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reached {
    /// A `sometimes` point, by its name: when a client or the world reaches it.
    Sometimes(&'static str),
    /// A transition of a stick or of a claim on it, by its name: when it is committed, before its
    /// answers and events leave.
    Stick(&'static str),
    /// A timer that fires, by its kind: when that is committed, before its answers and events
    /// leave.
    Timer(&'static str),
}

impl Reached {
    /// Its key in a scenario, and its name under that key.
    #[must_use]
    pub const fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Sometimes(name) => ("sometimes", name),
            Self::Stick(name) => ("stick", name),
            Self::Timer(name) => ("timer", name),
        }
    }
}

/// `match 3`, `released_by_push 1`.
impl fmt::Display for Milestone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (_, name) = self.reached.words();
        write!(f, "{name} {}", self.count)
    }
}

/// Whether a run needs a fault. The simulator can perform every one; a live server cannot be
/// crashed from outside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Need {
    /// Without it, the run would miss its purpose.
    #[default]
    Required,
    /// It is left out where it is impossible.
    Optional,
}

/// The victims of a fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Victims {
    /// Each present user, with this probability.
    Share(Ratio),
    /// These users (indices into `users` of the steps form).
    Users(Vec<u32>),
}

/// The kinds of faults.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the variant says what its fields are")]
pub enum FaultKind {
    /// The server goes down for a time.
    Down { down_for: Span, how: Outage },
    /// The server has another configuration from its next start on.
    Configure(Box<Config>),
    /// No packet passes between the victims and the server.
    Partition { victims: Victims, duration: Span },
    /// The victims read nothing from their streams.
    SlowReaders { victims: Victims, duration: Span },
    /// Each commit takes `factor` times as long.
    SlowDisk { factor: u32, duration: Span },
    /// Each append fails. If `unknown`, its outcome is known only when the fault ends.
    FailDisk { duration: Span, unknown: bool },
    /// A stored file is damaged, which the next recovery reads. If that is refused, an operator
    /// brings a sound copy after `restore_after`.
    DamageDisk {
        what: Harm,
        of: Stored,
        restore_after: Span,
    },
    /// The victims' processes are suspended: they neither send nor read nor handle timeouts.
    Suspend { victims: Victims, duration: Span },
    /// Something happens to one of several servers.
    Member {
        what: MemberHarm,
        which: Which,
        duration: Span,
        /// By how many percent its clock is wrong, if it drifts.
        percent: u32,
    },
    /// Something happens to the log that several servers share.
    Log { what: LogHarm, duration: Span },
    /// The server's clock jumps ahead.
    ClockJump { by: Span },
    /// The server's next answers are lost. With a milestone that is committed, all answers of that
    /// commit.
    LoseReplies,
    /// An operator acts.
    Operator(OperatorAct),
}

impl FaultKind {
    /// Its key in scenarios.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.words().0
    }

    /// Its label on a timeline.
    #[must_use]
    pub const fn label(&self) -> &'static str {
        self.words().1
    }

    /// Its key in scenarios, and its label on a timeline.
    const fn words(&self) -> (&'static str, &'static str) {
        match self {
            Self::Down {
                how: Outage::Stop, ..
            } => ("stop", "stop"),
            Self::Down { .. } => ("crash", "crash"),
            Self::Configure(_) => ("configure", "configure"),
            Self::Partition { .. } => ("partition", "partition"),
            Self::SlowReaders { .. } => ("slow_readers", "slow"),
            Self::SlowDisk { .. } => ("slow_disk", "slow disk"),
            Self::FailDisk { .. } => ("fail_disk", "disk fails"),
            Self::DamageDisk { .. } => ("damage_disk", "disk damaged"),
            Self::Suspend { .. } => ("suspend", "suspend"),
            Self::Member { what, .. } => ("server", what.label()),
            Self::Log { what, .. } => ("log", what.label()),
            Self::ClockJump { .. } => ("clock_jump", "clock jump"),
            Self::LoseReplies => ("lose", "replies lost"),
            Self::Operator(_) => ("operator", "operator"),
        }
    }

    /// What happens to servers or to their log, if it is such a fault: `pause of the owner for 5s`.
    #[must_use]
    pub fn of_servers(&self) -> Option<String> {
        match self {
            Self::Member {
                what,
                which,
                duration,
                percent,
            } => Some(if what.is_drift() {
                let (which, what) = (which.words(), what.name());
                format!("the clock of {which} is {percent} % too {what} for {duration}")
            } else {
                format!("{} of {} for {duration}", what.name(), which.words())
            }),
            Self::Log {
                what: what @ (LogHarm::NoLeader | LogHarm::Lag | LogHarm::Double),
                duration,
            } => Some(format!("the log: {} for {duration}", what.label())),
            Self::Log { what, .. } => Some(format!("the log: {}", what.label())),
            Self::Down { .. }
            | Self::Configure(_)
            | Self::Partition { .. }
            | Self::SlowReaders { .. }
            | Self::SlowDisk { .. }
            | Self::FailDisk { .. }
            | Self::DamageDisk { .. }
            | Self::Suspend { .. }
            | Self::ClockJump { .. }
            | Self::LoseReplies
            | Self::Operator(_) => None,
        }
    }

    /// How many servers it needs, unless it can strike one or several.
    #[must_use]
    pub const fn servers_needed(&self) -> Option<ServersNeeded> {
        match self {
            Self::DamageDisk { .. }
            | Self::Configure(_)
            | Self::Down {
                how: Outage::CrashUnsynced,
                ..
            } => Some(ServersNeeded::One),
            Self::Member { what, percent, .. } if what.is_beyond_leases(*percent) => {
                Some(ServersNeeded::Strict)
            }
            Self::Member { .. } | Self::Log { .. } => Some(ServersNeeded::Several),
            Self::Down { .. }
            | Self::Partition { .. }
            | Self::SlowReaders { .. }
            | Self::SlowDisk { .. }
            | Self::FailDisk { .. }
            | Self::Suspend { .. }
            | Self::ClockJump { .. }
            | Self::LoseReplies
            | Self::Operator(_) => None,
        }
    }

    /// How long it lasts; 0 if it is a moment.
    #[must_use]
    pub fn length(&self) -> Span {
        self.clone().length_mut().copied().unwrap_or(Span::ZERO)
    }

    /// How long it lasts; none if it is a moment.
    pub const fn length_mut(&mut self) -> Option<&mut Span> {
        match self {
            Self::Down { down_for, .. } => Some(down_for),
            Self::Partition { duration, .. }
            | Self::SlowReaders { duration, .. }
            | Self::SlowDisk { duration, .. }
            | Self::FailDisk { duration, .. }
            | Self::Member { duration, .. }
            | Self::Log { duration, .. }
            | Self::Suspend { duration, .. } => Some(duration),
            Self::ClockJump { .. }
            | Self::Configure(_)
            | Self::DamageDisk { .. }
            | Self::LoseReplies
            | Self::Operator(_) => None,
        }
    }

    /// Its victims; none if it affects the server, or is an operator's act.
    pub const fn victims_mut(&mut self) -> Option<&mut Victims> {
        match self {
            Self::Partition { victims, .. }
            | Self::SlowReaders { victims, .. }
            | Self::Suspend { victims, .. } => Some(victims),
            Self::Down { .. }
            | Self::Configure(_)
            | Self::SlowDisk { .. }
            | Self::FailDisk { .. }
            | Self::DamageDisk { .. }
            | Self::Member { .. }
            | Self::Log { .. }
            | Self::ClockJump { .. }
            | Self::LoseReplies
            | Self::Operator(_) => None,
        }
    }
}

chat_types::listed! {
    /// The kinds of damage to a stored file.
    Harm {
        /// One bit changes.
        Flip "flip",
        /// Its end is missing.
        Tear "tear",
        /// It is missing.
        Lose "lose",
    }
}

chat_types::listed! {
    /// The kinds of stored files.
    Stored {
        /// A record of the journal.
        Journal "journal",
        /// A snapshot.
        Snapshot "snapshot",
        /// The file of marks, which says up to where answers have left. Torn, it has one mark of
        /// two.
        Mark "mark",
    }
}

impl Harm {
    /// The damage in words, such as `a bit of a snapshot flips`.
    #[must_use]
    pub fn of(self, stored: Stored) -> String {
        let file = match stored {
            Stored::Journal => "a record of the journal",
            Stored::Snapshot => "a snapshot",
            Stored::Mark => "the file of marks",
        };
        match self {
            Self::Flip => format!("a bit of {file} flips"),
            Self::Tear => format!("{file} is torn"),
            Self::Lose => format!("{file} is lost"),
        }
    }
}

/// The kinds of outages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outage {
    /// A shutdown: the server refuses new calls, and finishes admitted ones first.
    Stop,
    /// A crash; an append in progress was written.
    Crash,
    /// A crash; an append in progress is lost.
    CrashUnsynced,
}

impl Outage {
    /// Its name in reports.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::Crash => "crash",
            Self::CrashUnsynced => "crash, unsynced entries lost",
        }
    }
}

/// An operator's act and its user; without one, any registered user is drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperatorAct {
    /// The act.
    pub verb: OperatorVerb,
    /// The user: an index into `users` of the steps form.
    pub user: Option<u32>,
    /// The number of the room that a kick or a close names; without one, a room of the user.
    pub room: Option<u64>,
    /// The operator's reason; without one, a usual one.
    pub reason: Option<Arc<str>>,
}

impl OperatorAct {
    /// The act on a drawn user.
    #[must_use]
    pub const fn drawn(verb: OperatorVerb) -> Self {
        Self {
            verb,
            user: None,
            room: None,
            reason: None,
        }
    }
}

impl OperatorVerb {
    /// Whether the act names a room.
    #[must_use]
    pub const fn names_room(self) -> bool {
        matches!(self, Self::Kick | Self::Close)
    }

    /// Whether the act has a reason. One that lifts another has none.
    #[must_use]
    pub const fn has_reason(self) -> bool {
        !matches!(self, Self::Unmute | Self::Unban | Self::UnbanAddress)
    }
}

chat_types::listed! {
    /// The kinds of operators' acts.
    OperatorVerb {
        /// Mutes the user.
        Mute "mute",
        /// Unmutes the user; without one, the user that was muted last.
        Unmute "unmute",
        /// Removes the user from a room.
        Kick "kick",
        /// Closes a room of the user.
        Close "close",
        /// Bans the user.
        Ban "ban",
        /// Lifts the ban or the mute of a user by its name; without a user, the latest.
        Unban "unban",
        /// Mutes the user's address.
        MuteAddress "mute_address",
        /// Bans the user's address.
        BanAddress "ban_address",
        /// Lifts the mute or the ban of an address; without a user, the latest.
        UnbanAddress "unban_address",
    }
}
