//! A checked scenario: the result of parsing YAML, with everything that a world needs.

mod network;
mod persona;
mod threshold;
mod usual;
mod verb;

pub use network::{Delivery, Network};
pub use persona::{ClientProfile, Habits, Naming, Persona, Reads};
pub use threshold::{Compare, Figure, Threshold};
pub use usual::{USUAL_CLIENT, usual_capacity, usual_network};
pub use verb::{Grant, Verb};

use std::fmt;
use std::sync::Arc;

use chat_types::{Config, Span};

use crate::draw::{Quantiles, Ratio};
use crate::protocol::ReadBy;
use crate::recipe::Recipe;

/// A checked scenario.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The scenario's name.
    pub name: String,
    /// Its purpose, in a sentence or two.
    pub about: String,
    /// Its default seed.
    pub seed: u64,
    /// The length of the safety phase: arrivals and faults.
    pub duration: Span,
    /// The largest length of the liveness phase.
    pub liveness: Span,
    /// The server's configuration.
    pub server: Config,
    /// The server's processing times.
    pub capacity: Capacity,
    /// The clients' retries.
    pub client: Client,
    /// The users and their arrivals.
    pub workload: Workload,
    /// The network's behaviour.
    pub network: Network,
    /// The order of concurrent deliveries.
    pub schedule: Schedule,
    /// The turns of its runs.
    pub recipe: Recipe,
    /// The faults, ordered by `at`.
    pub faults: Vec<Fault>,
    /// The names of the properties to judge, in the order of the table.
    pub properties: Vec<&'static str>,
    /// `sometimes` points that must be reached.
    pub expect_sometimes: Vec<&'static str>,
    /// The thresholds.
    pub thresholds: Vec<Threshold>,
    /// The share of each seed's users that may be stuck at the end.
    pub allow_stuck: Ratio,
}

/// Users drawn from personas, or users and steps written out.
#[derive(Clone, Debug)]
pub enum Workload {
    /// Arrivals by phase; each user is a persona drawn by weight.
    Phases {
        /// The phases in order.
        phases: Vec<Phase>,
        /// The personas, drawn by weight.
        personas: Vec<Arc<Persona>>,
    },
    /// The steps form.
    Steps {
        /// The users. A user's index is its `Agent`.
        users: Vec<ScriptUser>,
        /// The steps, ordered by `at`.
        steps: Vec<ScriptStep>,
    },
}

/// The server's processing times.
#[derive(Clone, Debug, PartialEq)]
pub struct Capacity {
    /// For each command, one at a time.
    pub service: Arc<Quantiles>,
    /// For each journal batch.
    pub commit: Arc<Quantiles>,
    /// The number of requests that may wait for service; beyond it `overloaded`.
    pub queue: u32,
    /// The number of journal entries after which a snapshot replaces them.
    pub snapshot_every: u32,
}

/// The clients' retries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Client {
    /// The timeout of the first attempt. The timeout of a check is longer by its wait.
    pub timeout: Span,
    /// The factor of the pause from attempt to attempt.
    pub backoff: u32,
    /// The longest pause.
    pub max: Span,
    /// The largest number of attempts.
    pub attempts: u32,
}

/// A period in which users arrive.
#[derive(Clone, Debug)]
pub struct Phase {
    /// Its name, for reports.
    pub name: String,
    /// Its length.
    pub duration: Span,
    /// The arrivals.
    pub arrivals: Arrivals,
    /// The largest number of users.
    pub max_users: Option<u32>,
}

/// The arrivals of a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrivals {
    /// None.
    Pause,
    /// This number, evenly over the phase.
    Count(u32),
    /// A rate in thousandths of a user per second, which changes linearly.
    Rate {
        /// At the start of the phase.
        from_milli: u64,
        /// At its end.
        to_milli: u64,
        /// The distribution of arrivals.
        mode: ArrivalMode,
    },
}

/// The distribution of arrivals for a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArrivalMode {
    /// Evenly spaced.
    Uniform,
    /// Independent of one another.
    Poisson,
}

/// The text of a message.
#[derive(Clone, Debug)]
pub enum Text {
    /// This text.
    Words(Arc<str>),
    /// A text of a drawn length.
    Length(Arc<Quantiles>),
    /// A text of a drawn length, in an alphabet beyond ASCII.
    Letters(Alphabet, Arc<Quantiles>),
}

/// The characters of a drawn text, beyond ASCII.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alphabet {
    /// Words of many scripts.
    Words,
    /// Any characters: combining marks, emoji, direction marks, the astral planes, controls.
    Unicode,
}

/// One step of a flow.
#[derive(Clone, Debug)]
pub enum Step {
    /// A call, whose answer the flow awaits (unless the `parallel` habit strikes).
    Call(Verb),
    /// Wait for an event of this type (`message.received`) that no earlier `await` consumed; 60 s
    /// by default.
    Await {
        /// The event's type.
        event: &'static str,
        /// The longest wait.
        within: Span,
    },
    /// Pause (draws are microseconds).
    Think(Arc<Quantiles>),
    /// Repeat these steps.
    Loop {
        /// The number of repetitions.
        count: u32,
        /// The steps.
        steps: Arc<[Step]>,
    },
    /// Perform one of these, drawn by weight.
    Choose(Arc<[Choice]>),
    /// Drop all connections without closing them, for a while or permanently.
    Disconnect(Option<Span>),
}

/// One branch of a `choose`.
#[derive(Clone, Debug)]
pub struct Choice {
    /// Its weight against the others.
    pub weight: u32,
    /// Its steps.
    pub steps: Arc<[Step]>,
}

/// A user of the steps form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptUser {
    /// Its name.
    pub name: String,
    /// Whether it holds an event stream.
    pub stream: bool,
    /// The secret by which it opens its stream.
    pub stream_by: ReadBy,
    /// The network's treatment of each opening of its stream in turn: of the request, and of the
    /// answer (the `reply`, which is never lost).
    pub opens: Vec<Net>,
}

/// An argument that a call of the steps form can leave out. In a flow this is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Argument {
    /// The room, where the server can infer it.
    Room,
    /// The epoch of the grant.
    Epoch,
    /// The request key.
    Key,
    /// A key of its own: the call uses the key of the previous call.
    FreshKey,
    /// The cursor of a check, which acknowledges events.
    After,
    /// Further attempts: the client gives the call up when the first one times out.
    Retries,
}

/// One step of the steps form.
#[derive(Clone, Debug)]
pub struct ScriptStep {
    /// The time of the step.
    pub at: Span,
    /// The index of its user in `users`.
    pub user: u32,
    /// The action: `Step::Call` or `Step::Disconnect`.
    pub what: Step,
    /// The arguments that the call leaves out.
    pub leave_out: Vec<Argument>,
    /// The network's treatment of the request, its answer and the pushes it causes.
    pub net: Net,
}

/// The network's treatment of one request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Net {
    /// The treatment of the request.
    pub request: Option<Delivery>,
    /// The treatment of its duplicate.
    pub duplicate: Option<Delivery>,
    /// The treatment of its answer.
    pub reply: Option<Delivery>,
    /// The treatment of its pushes to each user (an index into `users`).
    pub push: Vec<(u32, Delivery)>,
    /// The treatment of later attempts of the call, in order; these have no retries of their own.
    pub retries: Vec<Net>,
}

/// The order in which concurrent packets are delivered, and waiting requests served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Schedule {
    /// Unperturbed: each packet's delay is drawn independently, and requests are served in order of
    /// arrival.
    #[default]
    Plain,
    /// Perturbed, within what the network could do by chance. Ends with the heal.
    Race(Race),
}

/// The perturbation of the order of deliveries: by priorities of clients, as in probabilistic
/// concurrency testing (Burckhardt et al., "A randomized scheduler with probabilistic guarantees of
/// finding bugs", ASPLOS 2010), and by deliveries moved close to deadlines and to one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Race {
    /// The number of ordering constraints that a race is expected to need. At one moment fewer than
    /// this, the next sender becomes the slowest client.
    pub depth: u32,
    /// The probability that a delivery is placed next to a deadline or to another delivery.
    pub hug: Ratio,
}

impl Default for Race {
    fn default() -> Self {
        Self {
            depth: 3,
            hug: Ratio::new(1, 6).unwrap_or_default(),
        }
    }
}

/// A fault, as data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Its time. With a milestone, the time from which the milestone counts.
    pub at: Span,
    /// The milestone that it waits for.
    pub milestone: Option<Milestone>,
    /// Its kind.
    pub kind: FaultKind,
    /// Whether a run without it is useful.
    pub need: Need,
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
    /// The victims' processes are suspended: they neither send nor read nor handle timeouts.
    Suspend { victims: Victims, duration: Span },
    /// The server's clock jumps ahead.
    ClockJump { by: Span },
    /// The server's next answers are lost. With a milestone that is committed, all answers of that
    /// commit.
    LoseReplies,
    /// An operator acts.
    Operator(OperatorAct),
}

impl FaultKind {
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
            | Self::ClockJump { .. }
            | Self::LoseReplies
            | Self::Operator(_) => None,
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperatorAct {
    /// The act.
    pub verb: OperatorVerb,
    /// The user: an index into `users` of the steps form.
    pub user: Option<u32>,
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
        /// Lifts a ban; without a user, the latest.
        Unban "unban",
        /// Mutes the user's address.
        MuteAddress "mute_address",
        /// Bans the user's address.
        BanAddress "ban_address",
        /// Lifts the mute or the ban of an address; without a user, the latest.
        UnbanAddress "unban_address",
    }
}
