//! A checked scenario: the result of parsing YAML, with everything that a world needs.

mod fault;
mod metric;
mod network;
mod operator_act;
mod persona;
mod server_faults;
mod verb;

pub use fault::{
    ClientHarm, Fault, FaultKind, FaultRow, Harm, MAX_REPEATS, Milestone, Outage, Reached,
    Registrations, Repeats, Stored, Strikes, Victims,
};
pub use metric::{Compare, Figure, Metric, Quantity, Threshold, limited};
pub use network::{Delivery, Network, USUAL_CLIENT, usual_capacity, usual_network};
pub use operator_act::{OperatorAct, OperatorVerb};
pub use persona::{
    ArrivalMode, Arrivals, ClientProfile, Frequency, Habits, Naming, Persona, Phase, Reads,
};
pub use server_faults::{LEASE_DRIFT, LogHarm, MemberHarm, OwnerReads, ServersNeeded, Which};
pub use verb::{Grant, Verb};

use std::sync::Arc;

use chat_types::{Config, Span};

use crate::draw::{Quantiles, Ratio};
use crate::protocol::ReadBy;
use crate::recipe::Recipe;

/// A checked scenario.
#[derive(Clone, Debug, PartialEq)]
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
    /// The number of servers: one with a journal of its own, or several with a shared log.
    pub servers: u32,
    /// When the owner of several servers answers reads.
    pub reads: OwnerReads,
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
    /// The faults, ordered by `at`; those that repeat are there once.
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Workload {
    /// Arrivals by phase; each user is a persona drawn by weight.
    Phases {
        /// The phases in order.
        phases: Vec<Phase>,
        /// The personas, drawn by weight or counted.
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

impl Workload {
    /// The phases; none in the steps form.
    #[must_use]
    pub fn phases(&self) -> &[Phase] {
        self.flows().0
    }

    /// The personas; none in the steps form.
    #[must_use]
    pub fn personas(&self) -> &[Arc<Persona>] {
        self.flows().1
    }

    /// Whether users sleep until they are knocked for.
    #[must_use]
    pub fn sleeps(&self) -> bool {
        let mut personas = self.personas().iter();
        personas.any(|persona| persona.profile.reads == Reads::Knocked)
    }

    /// Lets the users that sleep make checks instead.
    pub fn never_sleep(&mut self) {
        if let Self::Phases { personas, .. } = self {
            for persona in personas {
                let reads = &mut Arc::make_mut(persona).profile.reads;
                if *reads == Reads::Knocked {
                    *reads = Reads::Exactly;
                }
            }
        }
    }

    /// The users of the steps form.
    #[must_use]
    pub fn users(&self) -> &[ScriptUser] {
        self.script().0
    }

    /// The steps of the steps form.
    #[must_use]
    pub fn steps(&self) -> &[ScriptStep] {
        self.script().1
    }

    fn flows(&self) -> (&[Phase], &[Arc<Persona>]) {
        match self {
            Self::Phases { phases, personas } => (phases, personas),
            Self::Steps { .. } => (&[], &[]),
        }
    }

    fn script(&self) -> (&[ScriptUser], &[ScriptStep]) {
        match self {
            Self::Steps { users, steps } => (users, steps),
            Self::Phases { .. } => (&[], &[]),
        }
    }

    /// All steps of its users, without the loops and choices around them.
    #[must_use]
    pub fn single_steps(&self) -> Vec<&Step> {
        let personas = self.personas().iter();
        let of_flows = personas.flat_map(|persona| single_steps(&persona.flow));
        let written = self.steps().iter().map(|step| &step.what);
        written.chain(of_flows).collect()
    }
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

/// The text of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
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
#[derive(Clone, Debug, PartialEq, Eq)]
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

impl Step {
    /// The call, if it is one.
    #[must_use]
    pub const fn verb(&self) -> Option<&Verb> {
        if let Self::Call(verb) = self {
            return Some(verb);
        }
        None
    }
}

/// All steps of a flow that are no loop and no choice.
#[must_use]
pub fn single_steps(flow: &[Step]) -> Vec<&Step> {
    let steps = flow.iter().flat_map(|step| match step {
        Step::Loop { steps, .. } => single_steps(steps),
        Step::Choose(choices) => {
            let flows = choices.iter().map(|choice| &choice.steps);
            flows.flat_map(|flow| single_steps(flow)).collect()
        }
        Step::Call(_) | Step::Await { .. } | Step::Think(_) | Step::Disconnect(_) => vec![step],
    });
    steps.collect()
}

/// One branch of a `choose`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Its weight against the others.
    pub weight: u32,
    /// Its steps.
    pub steps: Arc<[Step]>,
}

/// A user of the steps form.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScriptUser {
    /// Its name.
    pub name: String,
    /// The secret by which it opens its event stream; none if it holds no stream.
    pub stream: Option<ReadBy>,
    /// Each opening of its streams in turn.
    pub opens: Vec<Opening>,
    /// Whether it registers again under its old handle, once that has ended.
    pub keeps_handle: bool,
}

/// The name of the user with this index; empty if there is none.
#[must_use]
pub fn user_name(users: &[ScriptUser], index: u32) -> &str {
    let user = users.get(index as usize);
    user.map_or("", |user| &user.name)
}

/// One opening of a stream in the steps form.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Opening {
    /// The secret by which it is opened; none for the user's usual one.
    pub by: Option<ReadBy>,
    /// Whether it leaves out the cursor: the stream begins at the end of the inbox.
    pub bare: bool,
    /// If it is a second stream, opened as soon as the one before is open: how long that one stays
    /// open beside it.
    pub beside: Option<Span>,
    /// The network's treatment of the request.
    pub request: Option<Delivery>,
    /// The time that the answer takes, which is never lost: a stream whose answer does not arrive
    /// equals one with a very late answer, because the client then gives up the stream.
    pub reply: Option<Span>,
}

impl Opening {
    /// What the network does to it, if that is written.
    #[must_use]
    pub fn net(self) -> Option<Net> {
        let is_written = self.request.is_some() || self.reply.is_some();
        is_written.then(|| Net {
            request: self.request,
            reply: self.reply.map(Delivery::After),
            ..Net::default()
        })
    }
}

chat_types::listed! {
    /// An argument that a call of the steps form can leave out. In a flow this is drawn.
    Argument {
        /// The room, where the server can infer it.
        Room "room",
        /// The epoch of the grant.
        Epoch "epoch",
        /// The request key.
        Key "key",
        /// A key of its own: the call uses the key of the previous call.
        FreshKey "fresh_key",
        /// The cursor of a check, which acknowledges events.
        After "after",
        /// Further attempts: the client gives the call up when the first one times out.
        Retries "retries",
        /// The time for which the server may hold the call: an attempt times out as if the server
        /// answered at once.
        Patience "patience",
    }
}

/// One step of the steps form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptStep {
    /// The time of the step.
    pub at: Span,
    /// The index of its user in `users`.
    pub user: u32,
    /// The action: `Step::Call` or `Step::Disconnect`.
    pub what: Step,
    /// The arguments that the call leaves out.
    pub leave_out: Vec<Argument>,
    /// The number of the participant that the call names; none for the one that its user met last.
    pub whom: Option<u64>,
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
    /// The treatment of the duplicate's answer.
    pub duplicate_reply: Option<Delivery>,
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
