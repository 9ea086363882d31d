//! The live world: the same users, history and properties against a real server.
//!
//! What differs from the virtual world is time, which is the machine's, and what carries the words.
//! Seeds draw arrivals and choices as they do there; what the server and the network do, nobody
//! draws, so that a run cannot be repeated.
//!
//! ```text
//!               one thread                      tasks, on all cores
//!  agenda ──► users ──► requests ──► pool ──► callers ────────► server
//!     ▲         ▲                             streams ◄────────
//!     └─────────┴───── answers, events ◄── one channel ◄──┘
//! ```
//!
//! `crowd.rs` owns the users and is where to begin; `pool.rs` has the tasks, `caller.rs` makes
//! requests and `listening.rs` holds streams. `ask.rs`, `reply.rs` and `event.rs` are the border
//! between the words of users and JSON, `request.rs` and `wire.rs` between JSON and HTTP.
//! `survey.rs` asks what a server has, `prepare.rs` makes the scenario one that it can have,
//! `gauge.rs` measures the driver itself, and `leave.rs` leaves nobody behind. `calibrate.rs` takes
//! the server's own measure, without users.

mod ask;
mod calibrate;
mod calibration;
mod caller;
mod client;
mod clock;
mod crowd;
mod event;
mod gauge;
mod leave;
mod listening;
mod names;
mod pool;
mod prepare;
mod reply;
mod request;
mod survey;
mod target;
mod wire;

use sim_model::outcome::{Ran, RanUser};
use std::collections::BTreeMap;
use std::sync::Arc;

use chat_types::{Config, Time};

use sim_judge::SeedOutcome;
use sim_model::history::Observer;
use sim_model::outcome::{LiveResult, Progress};
use sim_model::plan::{Plan, Workload};

use clock::Clock;
use crowd::Crowd;
use gauge::Gauge;
use names::Names;
use pool::Pool;
use prepare::{Prepared, prepare};
use request::Writer;
use survey::survey;

pub use calibrate::calibrate;
pub use prepare::{RateScale, needed_faults};
pub use target::{Protocol, Target, Token};

/// Files that this process has open besides its connections, generously.
const OTHER_FILES: u64 = 64;

/// From this delay on, in milliseconds, the driver may be what holds things up.
const SLOW_DRIVER_MS: f64 = 5.0;

/// What is run against.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where the server is.
    pub target: Target,
    /// What it is spoken to in.
    pub protocol: Protocol,
    /// By what arrivals are multiplied.
    pub scale: RateScale,
    /// What the server is judged by.
    pub server: Config,
}

/// Why nothing was run.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the message says what the fields are")]
pub enum LiveError {
    #[error(
        "cannot reach {target}: {why}\n  start a server there, such as `talking-stick --listen \
         ADDRESS`, or name another with --target"
    )]
    Unreachable { target: String, why: String },
    #[error(
        "{target} is no server to run this against: {why}\n  try another --protocol, or give the \
         path of its MCP endpoint in --target"
    )]
    Strange { target: String, why: String },
    #[error("{target} {why}")]
    Locked { target: String, why: &'static str },
    #[error("{target} cannot be measured: {why}")]
    Unmeasured { target: String, why: String },
    #[error("{target} lacks what every user of the scenario needs: {}", lacking.join(", "))]
    Lacking {
        target: String,
        lacking: Vec<String>,
    },
    #[error("this machine cannot run it: {0}")]
    Machine(#[from] std::io::Error),
}

/// A scenario that a server can have.
#[derive(Clone, Debug)]
pub struct Ready {
    options: Options,
    prepared: Prepared,
    /// What is not known of the server.
    remarks: Vec<String>,
}

/// One run of it.
#[derive(Debug)]
pub struct LiveOutcome {
    /// What its users saw, judged.
    pub outcome: SeedOutcome,
    /// What there is to say besides.
    pub live: LiveResult,
}

impl Ready {
    /// The scenario as it is run.
    #[must_use]
    pub const fn plan(&self) -> &Plan {
        &self.prepared.plan
    }
}

fn pool(options: &Options) -> Result<(Pool, Clock), LiveError> {
    let clock = Clock::start();
    let writer = Writer {
        target: options.target.clone(),
        protocol: options.protocol,
        names: Arc::new(Names::new(Clock::nonce())),
    };
    Ok((Pool::new(writer, clock)?, clock))
}

/// Asks the server what it has, and prepares the plan for that.
///
/// # Errors
/// When the server is not there, does not speak the protocol, or lacks what everybody needs.
pub fn ready(plan: &Plan, options: &Options) -> Result<Ready, LiveError> {
    let (pool, _) = pool(options)?;
    let target = options.target.to_string();
    let surveyed = pool.wait(survey(&pool.net));
    let tools = surveyed.map_err(|unfit| unfit.at(target.clone()))?;
    let prepared = prepare(plan, options, &tools);
    let mut lacking = prepared.lacking.clone();
    let nobody = match &prepared.plan.workload {
        Workload::Phases { personas, .. } => personas.is_empty(),
        Workload::Steps { .. } => !lacking.is_empty(),
    };
    // Without it nobody can tell what was lost.
    let no_check = !tools.has("check");
    if no_check && !lacking.iter().any(|tool| tool == "check") {
        lacking.push("check".to_owned());
    }
    if nobody || no_check {
        return Err(LiveError::Lacking { target, lacking });
    }
    let mut remarks = Vec::new();
    if !tools.are_known() {
        remarks.push("the server does not say which tools it has".to_owned());
    }
    Ok(Ready {
        options: options.clone(),
        prepared,
        remarks,
    })
}

/// As many files as may be open, once that has been asked for.
fn most_files() -> u64 {
    rlimit::increase_nofile_limit(u64::MAX).unwrap_or(1_024)
}

/// Runs one seed to its end, and takes everybody away from the server.
///
/// # Errors
/// When the machine has no threads for it.
pub fn run(
    ready: &Ready,
    seed: u64,
    progress: &Progress,
    also: Option<&mut (dyn Observer + '_)>,
) -> Result<LiveOutcome, LiveError> {
    let plan = &ready.prepared.plan;
    let files = most_files();
    let (pool, clock) = pool(&ready.options)?;
    let suffix = pool.net.writer.names.suffix().to_owned();
    let gauge = Gauge::new(plan, also);
    let mut crowd = Crowd::new(plan, seed, (pool, clock), gauge, progress);
    let most = files.saturating_sub(OTHER_FILES) / 2;
    crowd.limit_clients(usize::try_from(most).unwrap_or(usize::MAX));
    crowd.run();
    let now = clock.now();
    leave::leave(&mut crowd.pool, &mut crowd.clients);
    let live = live_result(ready, &crowd, suffix, now);
    Ok(LiveOutcome {
        outcome: outcome(plan, seed, crowd, now),
        live,
    })
}

fn live_result(ready: &Ready, crowd: &Crowd<'_, '_>, suffix: String, now: Time) -> LiveResult {
    let (options, prepared, gauge) = (&ready.options, &ready.prepared, &crowd.gauge);
    let (offered, achieved) = gauge.pace.each_second(now);
    let uncorrected: BTreeMap<_, _> = ["message_latency", "request_latency"]
        .map(|name| (name, gauge.uncorrected(name)))
        .into();
    let mut live = LiveResult {
        target: options.target.to_string(),
        protocol: options.protocol.name(),
        rate_scale: options.scale.as_f64(),
        suffix,
        starts: gauge.starts,
        requests: gauge.requests,
        offered_per_second: offered,
        achieved_per_second: achieved,
        scheduling_delay: gauge.delay(),
        uncorrected,
        ignored: prepared.ignored.clone(),
        lacking: prepared.lacking.clone(),
        left_out: prepared.left_out.clone(),
        remarks: ready.remarks.clone(),
        stages: Vec::new(),
    };
    let remarks = remarks(&live, crowd.last_failure.as_deref());
    live.remarks.extend(remarks);
    live
}

/// What a reader of the figures has to know.
fn remarks(live: &LiveResult, failure: Option<&str>) -> Vec<String> {
    let mut remarks = Vec::new();
    let delay = live.scheduling_delay.p99;
    let request = live.uncorrected.get("request_latency");
    let request = request.map_or(0.0, |metric| metric.p99);
    if delay >= SLOW_DRIVER_MS && delay * 2.0 >= request {
        remarks.push(format!(
            "the driver, not the server, was the bottleneck: it was {delay:.0}ms late itself (p99)"
        ));
    } else if delay >= SLOW_DRIVER_MS {
        remarks.push(format!(
            "the driver was {delay:.0}ms late itself (p99), which every latency here includes"
        ));
    }
    if live.starts.dropped > 0 {
        remarks.push(format!(
            "{} users never started: too few files may be open (`ulimit -n`), or the run ended",
            live.starts.dropped
        ));
    }
    if let Some(failure) = failure {
        let failed = live.requests.failed;
        remarks.push(format!(
            "{failed} requests came to nothing, the last: {failure}"
        ));
    }
    remarks
}

/// What the run was, and what its observers make of it.
fn outcome(plan: &Plan, seed: u64, crowd: Crowd<'_, '_>, now: Time) -> SeedOutcome {
    let users = crowd.clients.iter().map(|client| RanUser {
        name: Arc::clone(client.user.given_name()),
        waiting: client.user.stuck().or_else(|| client.user.pending()),
    });
    let users = users.collect();
    let (jury, tally) = crowd.gauge.finish();
    let ran = Ran {
        seed,
        trace_hash: crowd.hash,
        ended_at: now,
        users,
        by_persona: crowd.by_persona,
        left_out: 0,
        steps: crowd.steps,
        tally,
        timeline: crowd.timeline,
    };
    jury.finish(plan, ran)
}
