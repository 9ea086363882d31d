//! The kinds of faults, and what is said about each.

use chat_types::{Config, Span};

use super::super::ScriptUser;
use super::super::operator_act::OperatorAct;
use super::super::server_faults::{LogHarm, MemberHarm, ServersNeeded, Which};
use super::harm::{ClientHarm, Harm, Outage, Stored, Victims};

/// The kinds of faults.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the variant says what its fields are")]
pub enum FaultKind {
    /// The server goes down for a time.
    Down { down_for: Span, how: Outage },
    /// The server has another configuration from its next start on.
    Configure(Box<Config>),
    /// Something happens to some clients.
    Clients {
        what: ClientHarm,
        victims: Victims,
        duration: Span,
    },
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

/// What readers of faults know about one: they ask for it, and do not match on kinds.
#[derive(Clone, Copy, Debug)]
pub struct FaultRow {
    /// Its key in scenarios.
    pub key: &'static str,
    /// Its label on a timeline.
    pub label: &'static str,
    /// What it strikes.
    pub strikes: Strikes,
    /// How many servers it needs, unless it can strike one or several.
    pub servers: Option<ServersNeeded>,
    /// What becomes of registrations.
    pub registrations: Registrations,
}

/// What a fault strikes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strikes {
    /// Clients, each of which is recorded.
    Clients,
    /// Packets, whose fates are recorded: recorded steps need no such fault.
    Packets,
    /// The servers, their log, or whom they serve, which is recorded.
    Servers,
    /// The server's appends, which is not recorded.
    Appends,
    /// What the next start of the server reads.
    NextStart,
    /// What the next start reads, and a server that runs replaces.
    OutageFiles,
}

/// What becomes of registrations under a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Registrations {
    /// They last as long as the configuration says.
    Last,
    /// They may end earlier.
    MayEnd,
}

impl FaultKind {
    /// The row of the kind.
    #[must_use]
    pub const fn row(&self) -> FaultRow {
        use Registrations::{Last, MayEnd};
        use ServersNeeded::{One, Several, Strict};
        use Strikes::{Appends, Clients, NextStart, OutageFiles, Packets, Servers};
        let (key, label, strikes, servers, registrations) = match self {
            Self::Down { how, .. } => match how {
                Outage::Stop => ("stop", "stop", Servers, None, Last),
                Outage::Crash => ("crash", "crash", Servers, None, Last),
                Outage::CrashUnsynced => ("crash", "crash", Servers, Some(One), Last),
            },
            Self::Configure(_) => ("configure", "configure", NextStart, Some(One), MayEnd),
            Self::Clients { what, .. } => (what.name(), what.label(), Clients, None, Last),
            Self::SlowDisk { .. } => ("slow_disk", "slow disk", Appends, None, Last),
            Self::FailDisk { .. } => ("fail_disk", "disk fails", Appends, None, Last),
            Self::DamageDisk { of, .. } => {
                let strikes = match of {
                    Stored::Journal | Stored::Snapshot => NextStart,
                    Stored::Mark => OutageFiles,
                };
                ("damage_disk", of.damaged(), strikes, Some(One), MayEnd)
            }
            Self::Member { what, percent, .. } => {
                let is_strict = what.is_beyond_leases(*percent);
                let needed = if is_strict { Strict } else { Several };
                ("member", what.label(), Servers, Some(needed), MayEnd)
            }
            Self::Log { what, .. } => ("log", what.label(), Servers, Some(Several), Last),
            Self::ClockJump { .. } => ("clock_jump", "clock jump", Servers, None, MayEnd),
            Self::LoseReplies => ("lose", "replies lost", Packets, None, Last),
            Self::Operator(_) => ("operator", "operator", Servers, None, MayEnd),
        };
        FaultRow {
            key,
            label,
            strikes,
            servers,
            registrations,
        }
    }

    /// The fault in words, with its length: `partition alice, bob for 3s`. `users` are those of the
    /// steps form.
    #[must_use]
    pub fn words(&self, users: &[ScriptUser]) -> String {
        let what = self.what(users);
        match self.clone().length_mut() {
            Some(length) if !matches!(self, Self::Log { what, .. } if what.stays()) => {
                format!("{what} for {length}")
            }
            Some(_) | None => what,
        }
    }

    /// The state of what it strikes, in words: `link cut`.
    #[must_use]
    pub fn state(&self) -> String {
        if let Self::Clients { what, .. } = self {
            return what.state().to_owned();
        }
        self.what(&[])
    }

    fn what(&self, users: &[ScriptUser]) -> String {
        match self {
            Self::Down { how, .. } => format!("server down ({})", how.name()),
            Self::Configure(_) => "another configuration from the next start on".to_owned(),
            Self::Clients { what, victims, .. } => {
                format!("{} {}", what.label(), victims.words(users))
            }
            Self::SlowDisk { factor, .. } => format!("disk {factor}× slower"),
            Self::FailDisk { unknown: true, .. } => "disk fails, fate unknown".to_owned(),
            Self::FailDisk { .. } => "disk fails".to_owned(),
            Self::DamageDisk { what, of, .. } => what.of(*of),
            Self::Member {
                what,
                which,
                percent,
                ..
            } => what.words(*which, *percent),
            Self::Log { what, .. } => format!("the log: {}", what.label()),
            Self::ClockJump { by } => format!("clock jumps by {by}"),
            Self::LoseReplies => "the next answers get lost".to_owned(),
            Self::Operator(act) => act.words(users),
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
            Self::Clients { duration, .. }
            | Self::SlowDisk { duration, .. }
            | Self::FailDisk { duration, .. }
            | Self::Member { duration, .. }
            | Self::Log { duration, .. } => Some(duration),
            Self::ClockJump { .. }
            | Self::Configure(_)
            | Self::DamageDisk { .. }
            | Self::LoseReplies
            | Self::Operator(_) => None,
        }
    }

    /// Its victims; none unless it strikes clients.
    pub const fn victims_mut(&mut self) -> Option<&mut Victims> {
        if let Self::Clients { victims, .. } = self {
            return Some(victims);
        }
        None
    }
}
