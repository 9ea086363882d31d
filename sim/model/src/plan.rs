//! A checked scenario: what `scenario.rs` makes of the YAML, and all that a world needs to know.

mod network;
mod persona;
mod threshold;
mod usual;
mod verb;

pub use network::{Delivery, Network};
pub use persona::{Habits, Manner, Naming, Persona, Reads};
pub use threshold::{Compare, Figure, Threshold};
pub use usual::{USUAL_CLIENT, usual_capacity, usual_network};
pub use verb::{Grant, Verb};

use std::fmt;
use std::sync::Arc;

use chat_types::{Config, Span};

use crate::draw::{Quantiles, Ratio};
use crate::protocol::ReadBy;
use crate::recipe::Recipe;

/// A whole scenario, checked.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The scenario's name.
    pub name: String,
    /// What it is for, in a sentence or two.
    pub about: String,
    /// The seed it runs with unless told another.
    pub seed: u64,
    /// The safety phase: arrivals and faults.
    pub duration: Span,
    /// The liveness phase lasts at most this long.
    pub liveness: Span,
    /// The server's configuration.
    pub server: Config,
    /// How long the server takes.
    pub capacity: Capacity,
    /// How clients retry.
    pub client: Client,
    /// Who comes, and when.
    pub workload: Workload,
    /// What the network does.
    pub network: Network,
    /// In which order it delivers what is under way at once.
    pub schedule: Schedule,
    /// Where its runs leave the histories of their seeds.
    pub recipe: Recipe,
    /// What goes wrong, and when; ordered by `at`.
    pub faults: Vec<Fault>,
    /// Names of the properties to judge by, in the order of the table.
    pub properties: Vec<&'static str>,
    /// `sometimes` points that must be reached.
    pub expect_sometimes: Vec<&'static str>,
    /// What figures must keep to.
    pub thresholds: Vec<Threshold>,
    /// Of the users of each seed, so many may be stuck when the run ends.
    pub allow_stuck: Ratio,
}

/// Users drawn from personas, or users and steps written out.
#[derive(Clone, Debug)]
pub enum Workload {
    /// Arrivals by phase; each user is a persona drawn by weight.
    Phases {
        /// One after another.
        phases: Vec<Phase>,
        /// Drawn by weight.
        personas: Vec<Arc<Persona>>,
    },
    /// The steps form.
    Steps {
        /// A user's index is its `Agent`.
        users: Vec<ScriptUser>,
        /// Ordered by `at`.
        steps: Vec<ScriptStep>,
    },
}

/// How long the server takes for what it does.
#[derive(Clone, Debug, PartialEq)]
pub struct Capacity {
    /// For each command, one at a time.
    pub service: Arc<Quantiles>,
    /// For each journal batch.
    pub commit: Arc<Quantiles>,
    /// Requests that may wait for service; beyond it `overloaded`.
    pub queue: u32,
    /// After so many journal entries a snapshot takes their place.
    pub snapshot_every: u32,
}

/// How clients retry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Client {
    /// How long the first attempt waits for its answer; a check's adds its wait.
    pub timeout: Span,
    /// By how much the pause grows from attempt to attempt.
    pub backoff: u32,
    /// The longest pause.
    pub max: Span,
    /// Attempts in all.
    pub attempts: u32,
}

/// A stretch of time in which users arrive.
#[derive(Clone, Debug)]
pub struct Phase {
    /// Its name, for reports.
    pub name: String,
    /// How long.
    pub duration: Span,
    /// How users arrive.
    pub arrivals: Arrivals,
    /// At most so many.
    pub max_users: Option<u32>,
}

/// How users arrive within a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrivals {
    /// Nobody comes.
    Pause,
    /// So many, evenly over the phase.
    Count(u32),
    /// So many thousandths of a user each second, going evenly from the first to the second.
    Rate {
        /// At the start of the phase.
        from_milli: u64,
        /// At its end.
        to_milli: u64,
        /// Evenly spaced, or as a Poisson process.
        mode: ArrivalMode,
    },
}

/// How a rate becomes arrivals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArrivalMode {
    /// Evenly spaced.
    Uniform,
    /// Independent of one another.
    Poisson,
}

/// A text to say.
#[derive(Clone, Debug)]
pub enum Text {
    /// These words.
    Words(Arc<str>),
    /// So many characters.
    Length(Arc<Quantiles>),
    /// So many characters of an alphabet beyond ASCII.
    Letters(Alphabet, Arc<Quantiles>),
}

/// What a drawn text is made of, beyond ASCII.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alphabet {
    /// Words of many scripts.
    Words,
    /// Any characters: combining marks, emoji, directions, the astral planes, controls.
    Unicode,
}

/// One step of a flow.
#[derive(Clone, Debug)]
pub enum Step {
    /// A call, awaited (unless the `parallel` habit strikes).
    Call(Verb),
    /// Wait for an event of this type (`message.received`), one that came since the last step
    /// that consumed one; 60 s unless told otherwise.
    Await {
        /// The event's type.
        event: &'static str,
        /// How long at most.
        within: Span,
    },
    /// Do nothing for a while (draws are microseconds).
    Think(Arc<Quantiles>),
    /// Do these steps so many times.
    Loop {
        /// How many times.
        count: u32,
        /// What.
        steps: Arc<[Step]>,
    },
    /// Do one of these, drawn by weight.
    Choose(Arc<[Choice]>),
    /// Drop all connections without a word; for so long, or for good.
    Disconnect(Option<Span>),
}

/// One branch of a `choose`.
#[derive(Clone, Debug)]
pub struct Choice {
    /// How often it is drawn, against the others.
    pub weight: u32,
    /// What is done then.
    pub steps: Arc<[Step]>,
}

/// A user of the steps form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptUser {
    /// Its name.
    pub name: String,
    /// Whether it holds an event stream.
    pub stream: bool,
    /// By which secret it opens its stream.
    pub stream_by: ReadBy,
    /// What the network does to each opening of its stream in turn: to the request, and to the word
    /// that it is open (the `reply`, which does not get lost).
    pub opens: Vec<Net>,
}

/// What a call of the steps form can go without. In a flow, chance decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Argument {
    /// The room it is about, where the server can know it.
    Room,
    /// The epoch of the stick's grant.
    Epoch,
    /// The request key, by which a retry is known.
    Key,
    /// A key of its own: it takes that of the call before.
    FreshKey,
    /// The cursor of a check, which acknowledges.
    After,
    /// Further attempts: the client gives the call up when the first one times out.
    Retries,
}

/// One step of the steps form.
#[derive(Clone, Debug)]
pub struct ScriptStep {
    /// When.
    pub at: Span,
    /// Whose; an index into `users`.
    pub user: u32,
    /// What: `Step::Call`, or `Step::Disconnect`.
    pub what: Step,
    /// What the call goes without.
    pub leave_out: Vec<Argument>,
    /// What the network does to the request, its answer and the pushes it causes.
    pub net: Net,
}

/// What the network does to one request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Net {
    /// To the request.
    pub request: Option<Delivery>,
    /// To a second copy of it that the network makes.
    pub duplicate: Option<Delivery>,
    /// To its answer.
    pub reply: Option<Delivery>,
    /// To what it pushes to each user (an index into `users`).
    pub push: Vec<(u32, Delivery)>,
    /// To later attempts of the same call, in their order; these have no retries of their own.
    pub retries: Vec<Net>,
}

/// In which order concurrent packets are delivered, and waiting requests served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Schedule {
    /// As it comes: each packet's delay is drawn for itself, and requests are served in turn.
    #[default]
    Plain,
    /// Perturbed on purpose, within what the network could do by chance. Ends with the heal.
    Race(Race),
}

/// How the order of deliveries is perturbed: by priorities of clients, as in probabilistic
/// concurrency testing (Burckhardt et al., "A randomized scheduler with probabilistic guarantees
/// of finding bugs", ASPLOS 2010), and by deliveries moved close to deadlines and to one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Race {
    /// How many ordering constraints a race is expected to need: at one moment fewer than this,
    /// whoever sends next becomes the slowest of all.
    pub depth: u32,
    /// How often a delivery is moved close to a deadline or to another delivery.
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

/// Something that goes wrong, as data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// When; of a fault with a milestone, from when on that counts.
    pub at: Span,
    /// What else must have happened.
    pub milestone: Option<Milestone>,
    /// What.
    pub kind: FaultKind,
    /// Whether a run that cannot have it is worth anything.
    pub need: Need,
}

/// Something that a run reaches, for the so-and-so-many-th time: a fault that waits for it strikes
/// at that very moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Milestone {
    /// What.
    pub reached: Reached,
    /// The how many-th time, from 1.
    pub count: u32,
}

/// What can be a milestone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reached {
    /// A `sometimes` point, by its name: when a client sees it, or the world.
    Sometimes(&'static str),
    /// A move of a stick, or of a claim on one, by its name: when it is committed, and before
    /// anybody hears of it.
    Stick(&'static str),
    /// A timer that fires, by its kind: when that is committed, and before anybody hears of it.
    Timer(&'static str),
}

impl Reached {
    /// The group of its name, as scenarios write it, and the name.
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

/// Whether a run needs a fault. The simulator can do every one; nobody can crash a live server
/// from outside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Need {
    /// Without it, the run would not show what it is for.
    #[default]
    Required,
    /// It is left out where it cannot be had.
    Optional,
}

/// Whom a fault strikes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Victims {
    /// Each user who is there, with this probability.
    Share(Ratio),
    /// These (indices into `users` of the steps form).
    Users(Vec<u32>),
}

/// What goes wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the variant says what its fields are")]
pub enum FaultKind {
    /// The server goes down, for so long.
    Down { down_for: Span, how: Outage },
    /// The server's configuration is another one from its next start on.
    Configure(Box<Config>),
    /// Nothing passes between the victims and the server.
    Partition { victims: Victims, duration: Span },
    /// The victims read nothing from their streams.
    SlowReaders { victims: Victims, duration: Span },
    /// Each commit takes `factor` times as long.
    SlowDisk { factor: u32, duration: Span },
    /// Each append fails; or, if `unknown`, its fate is known only when the fault ends.
    FailDisk { duration: Span, unknown: bool },
    /// The victims' processes stop: they neither send, nor read, nor look at a clock.
    Suspend { victims: Victims, duration: Span },
    /// The server's clock jumps ahead.
    ClockJump { by: Span },
    /// The next answers that the server sends get lost: of a milestone that is committed, all that
    /// this commit answers.
    LoseReplies,
    /// An operator acts.
    Operator(OperatorAct),
}

impl FaultKind {
    /// Whom it strikes; none if it strikes the server, or is an operator's act.
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

/// How the server goes down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outage {
    /// It takes nothing new, finishes what it took, and stops.
    Stop,
    /// It dies; what was being committed was just written.
    Crash,
    /// It dies; what was being committed is lost.
    CrashUnsynced,
}

impl Outage {
    /// As reports write it.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::Crash => "crash",
            Self::CrashUnsynced => "crash, unsynced entries lost",
        }
    }
}

/// What an operator does, and to whom; without a user, to one of those who are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperatorAct {
    /// What.
    pub verb: OperatorVerb,
    /// To whom: an index into `users` of the steps form.
    pub user: Option<u32>,
}

chat_types::listed! {
    /// What an operator can do.
    OperatorVerb {
        /// The user may not speak.
        Mute "mute",
        /// The user may speak again; without a user, the one that was muted last.
        Unmute "unmute",
        /// The user is put out of a room that it is in.
        Kick "kick",
        /// A room that the user is in is closed.
        Close "close",
        /// The user is put out for good, by name.
        Ban "ban",
        /// A ban is lifted; without a user, the latest.
        Unban "unban",
        /// Those of the user's address may not speak.
        MuteAddress "mute_address",
        /// The user's address is shut out.
        BanAddress "ban_address",
        /// The mute or the ban of an address is lifted; without a user, the latest.
        UnbanAddress "unban_address",
    }
}
