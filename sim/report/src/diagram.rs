//! A violation as a sequence diagram: messages with their sender, recipient, time and outcome, and
//! the active faults.
//!
//! The log of the run gives the participants (`lane_selection.rs`), and what is drawn of them
//! (`drawing.rs`). The diagram then shows a period before the violation (`window.rs`).

mod bands;
mod drawing;
mod lane_selection;
mod window;

use serde::Serialize;

use chat_types::Span;
use sim_model::outcome::{Series, Subject, ThresholdResult, Violation};
use sim_model::plan::Plan;
use sim_model::protocol::Agent;
use sim_model::run_log::RunLog;
use sim_model::user_name::UserName;

use crate::trace::Follow;

use drawing::LaneDrawing;
use lane_selection::{LaneSelection, LaneSelector};

/// A lane for each participant and one for the server, and everything sent between them. Times are
/// microseconds since the start of the run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Diagram {
    /// The run that it shows.
    pub of: Shown,
    /// The seed of the run.
    pub seed: u64,
    /// The violated property.
    pub property: String,
    /// The sentence about the violation.
    pub detail: String,
    /// Both facts of the violation, as marks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<FactMark>,
    /// When the violation was found.
    pub violation_us: u64,
    /// The beginning of the shown period.
    pub from_us: u64,
    /// The end of the shown period.
    pub to_us: u64,
    /// From left to right.
    pub lanes: Vec<Lane>,
    /// Messages and other events, ordered by their beginning.
    pub events: Vec<Event>,
    /// Faults that last for a while.
    pub bands: Vec<Band>,
    /// When all faults had healed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub healed_us: Option<u64>,
    /// What is left out, in sentences.
    pub left_out: Vec<String>,
}

/// The run that a diagram shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Shown {
    /// The whole scenario.
    #[default]
    Whole,
    /// The smallest scenario that still violates the same property.
    Shrunk,
    /// A chosen user, whatever the verdict.
    Followed,
    /// The longest of what a threshold limits.
    Slowest,
}

/// One of the two facts of a violation, at its place in the diagram.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FactMark {
    /// Which fact it is: `predicted` or `seen`.
    pub fact: &'static str,
    /// The lane of the first affected participant; the server's if there is none.
    pub lane: usize,
    /// When it was due, or when it was seen.
    pub at_us: u64,
    /// The fact in words.
    pub words: String,
}

/// The owner of a lane.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Lane {
    /// The name in the protocol, such as `user_7`; `server` for the server.
    pub name: String,
    /// The name in the scenario, such as `penpal#12`; empty if it is unknown.
    pub persona: String,
    /// Its role in the violation.
    pub role: Role,
}

impl Lane {
    const fn new(name: String, persona: String, role: Role) -> Self {
        Self {
            name,
            persona,
            role,
        }
    }
}

/// The role of a participant in a violation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The violation is about it.
    Concerned,
    /// The sentence names it.
    Named,
    /// It was in the same room.
    Roommate,
    /// It was only active at that time.
    Bystander,
    /// The server; of several, the one that owns the chat.
    Server,
    /// One of several servers, or their log.
    Member,
}

/// A message, or another event.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Event {
    /// The kind of the event.
    pub kind: Kind,
    /// The lane; for a message between a client and the server, the client's.
    pub lane: usize,
    /// When it began.
    pub from_us: u64,
    /// When it arrived; `None` if it never did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to_us: Option<u64>,
    /// When the server began to serve a request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub served_us: Option<u64>,
    /// A short description.
    pub label: String,
    /// The outcome.
    pub fate: Fate,
    /// Whether it is a duplicate made by the network.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub copy: bool,
    /// Whether it is a poll without a new event.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub idle: bool,
    /// Whether the violation was found here.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub blamed: bool,
    /// Whether the sentence is about it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub named: bool,
    /// Further facts, each with a name.
    pub facts: Vec<(&'static str, String)>,
}

/// The kind of an event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A call from a client to the server.
    Request,
    /// Its answer.
    Reply,
    /// The opening of a stream.
    Opening,
    /// Events on a stream.
    Push,
    /// An event without a message: something that the lane's owner did or observed.
    #[default]
    Point,
}

/// The outcome of an event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// Success.
    #[default]
    Fine,
    /// The answer is a refusal.
    Refused,
    /// It never arrived.
    Lost,
    /// It arrived after its recipient had stopped waiting.
    Unheard,
    /// It broke a connection or a process.
    Broken,
}

/// A fault that affects one lane for a while.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Band {
    /// The affected lane.
    pub lane: usize,
    /// When it began.
    pub from_us: u64,
    /// When it ended.
    pub to_us: u64,
    /// The kind, as in scenarios: `partition`, `crash`.
    pub kind: &'static str,
    /// A short description.
    pub label: String,
}

/// Draws the run of one seed of a plan in which this violation was found, or what is shown in its
/// place. `None` if no participant was active in the run.
#[must_use]
pub fn diagram(
    plan: &Plan,
    (seed, log): (u64, &RunLog),
    violation: &Violation,
    of: Shown,
) -> Option<Diagram> {
    let selection = LaneSelector::of(log, violation).choose()?;
    let plan = plan.of_seed(seed);
    let mut diagram = LaneDrawing::of(&plan, log, &selection).into_diagram();
    diagram.of = of;
    diagram.seed = seed;
    diagram.property.clone_from(&violation.property);
    diagram.detail.clone_from(&violation.detail);
    diagram.marks = fact_marks(&diagram, &violation.subject);
    if matches!(of, Shown::Followed | Shown::Slowest) {
        for event in &mut diagram.events {
            event.blamed = false;
        }
    }
    Some(diagram)
}

/// Draws the longest latency or wait of all those that a threshold limits.
#[must_use]
pub fn slowest(
    plan: &Plan,
    series: &Series,
    crossed: &ThresholdResult,
    log: &RunLog,
) -> Option<Diagram> {
    let slow = series.slowest.get(&*crossed.metric)?.first()?;
    let users = [Some(&slow.user), slow.recipient.as_ref()];
    let users = users.into_iter().flatten().filter_map(|who| who.user);
    let longest = Violation {
        property: crossed.limited(),
        at: slow.since + slow.took,
        users: users.collect(),
        detail: slow.to_string(),
        seed: series.seed,
        subject: Subject {
            rooms: slow.room.into_iter().collect(),
            ..Subject::default()
        },
    };
    diagram(plan, (series.seed, log), &longest, Shown::Slowest)
}

/// Draws what one user did and received until the end of the run. `None` for a room, and if no such
/// user was active.
#[must_use]
pub fn followed(plan: &Plan, (seed, log): (u64, &RunLog), follow: &Follow) -> Option<Diagram> {
    let chosen = Violation {
        at: Span(u64::MAX),
        ..Violation::default()
    };
    let selector = LaneSelector::of(log, &chosen);
    let (user, name) = selector.user(follow)?;
    let whole = Violation {
        at: selector.last,
        users: vec![user],
        detail: format!("What {} did and received", UserName::new(Some(user), name)),
        ..Violation::default()
    };
    diagram(plan, (seed, log), &whole, Shown::Followed)
}

/// The events and faults of these clients, each with the number of its lane in their order. The
/// server has the number of clients.
pub(crate) fn lane_events(plan: &Plan, log: &RunLog, clients: &[u32]) -> (Vec<Event>, Vec<Band>) {
    let unnamed = Lane::new(String::new(), String::new(), Role::Bystander);
    let lanes = clients.iter().map(|agent| (Agent(*agent), unnamed.clone()));
    let selection = LaneSelection {
        lanes: lanes.collect(),
        server: clients.len(),
        violation: Span(u64::MAX),
        ..LaneSelection::default()
    };
    LaneDrawing::of(plan, log, &selection).into_events()
}

fn fact_marks(diagram: &Diagram, subject: &Subject) -> Vec<FactMark> {
    if subject.predicted.is_empty() && subject.seen.is_empty() {
        return Vec::new();
    }
    let of = |role: Role| diagram.lanes.iter().position(|lane| lane.role == role);
    let lane = of(Role::Concerned).or_else(|| of(Role::Server));
    let due = subject.due.map_or(diagram.violation_us, |due| due.0);
    [
        ("predicted", &subject.predicted, due),
        ("seen", &subject.seen, diagram.violation_us),
    ]
    .map(|(fact, words, at_us)| FactMark {
        fact,
        lane: lane.unwrap_or(0),
        at_us: at_us.clamp(diagram.from_us, diagram.to_us),
        words: words.clone(),
    })
    .into()
}
