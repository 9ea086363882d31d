//! The live world: virtual users, their history and the properties against a real server.
//!
//! It differs from the virtual world in time, which is the machine's, and in transport. Seeds
//! determine arrivals and choices as they do there, but not the behaviour of server and network, so
//! a run cannot be repeated.
//!
//! ```text
//!               one thread                      tasks, on all cores
//!  queue  ──► users ──► requests ──► pool ──► callers ────────► server
//!     ▲         ▲                             streams ◄────────
//!     └─────────┴───── answers, events ◄── one channel ◄──┘
//! ```
//!
//! `load_runner.rs`, the load runner, owns the users and is the place to start reading. `caller.rs`
//! has the tasks and makes requests, and `listening.rs` reads streams. `ask.rs`,
//! `reply.rs` and `event.rs` translate between users' words and JSON, of which `shape.rs` has the
//! types, `request.rs` and `wire.rs` between JSON and HTTP. `probe.rs` probes the server's
//! capabilities, `prepare.rs` adapts the scenario to them, `driver_metrics.rs` measures the driver
//! itself, `watch.rs` notices that the server is gone, `nemesis.rs` runs a program that makes
//! faults, and `unregister.rs` unregisters all users. `calibrate.rs` measures the server without
//! users.

mod ask;
mod calibrate;
mod calibration;
mod caller;
mod client;
mod clock;
mod driver_metrics;
mod event;
mod listening;
mod load_runner;
mod names;
mod nemesis;
mod pool;
mod prepare;
mod probe;
mod reply;
mod request;
mod shape;
mod target;
#[cfg(feature = "tls")]
mod tls;
mod unregister;
mod watch;
mod wire;

use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use chat_types::{Config, Span, Time};

use sim_judge::{Judge, RunJudge, SeedOutcome};
use sim_model::history::Observer;
use sim_model::outcome::{LiveResult, Progress, WorldOutcome};
use sim_model::plan::{Plan, Workload};

use caller::Message;
use clock::Clock;
use driver_metrics::DriverMetrics;
use load_runner::LoadRunner;
use names::Names;
use nemesis::Nemesis;
use pool::Pool;
use prepare::prepare;
use probe::probe_all;
use request::Writer;
use wire::Connector;

pub use calibrate::calibrate;
pub use prepare::{RateScale, Ready, needed_faults};
pub use target::{Protocol, Target, Token};

/// A generous number of open files other than connections.
const OTHER_FILES: u64 = 64;

/// How long the journal of a cluster's member may lack what clients have received, and the pause
/// between two looks.
const JOURNAL_FOLLOWS: Span = Span::secs(10);
const JOURNAL_AGAIN: Duration = Duration::from_millis(200);

/// The options of a live run.
#[derive(Clone, Debug)]
pub struct Options {
    /// The server.
    pub target: Target,
    /// A file with the authorities that are trusted in place of the machine's, in PEM.
    pub authorities: Option<PathBuf>,
    /// The protocol.
    pub protocol: Protocol,
    /// The factor for arrivals.
    pub scale: RateScale,
    /// The configuration by which the server is judged.
    pub server: Config,
    /// The program that makes faults during the run, and its arguments, with a space between two.
    pub nemesis: Option<String>,
}

/// Reports the entries of the server's journal, and returns their number.
pub type Journal<'j> = dyn Fn(&mut dyn Observer) -> Result<u64, String> + Sync + 'j;

/// Why a live run cannot start, or cannot be judged.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// An option names something that cannot be used.
    #[error("{0}")]
    Option(String),
    /// The target is none to run this against, or its journal none to judge it by.
    #[error("{0}")]
    Target(String),
    /// The machine lacks something.
    #[error("this machine cannot run it: {0}")]
    Machine(#[from] std::io::Error),
}

/// The error of a run whose journal cannot be read.
fn no_journal(why: String) -> LiveError {
    LiveError::Target(format!(
        "the run cannot be judged by the server's journal: {why}"
    ))
}

/// One run of it.
#[derive(Debug)]
pub struct LiveOutcome {
    /// The judged history of its users.
    pub outcome: SeedOutcome,
    /// The results specific to a live run.
    pub live: LiveResult,
}

fn pool(options: &Options) -> Result<Pool, LiveError> {
    let clock = Clock::start();
    let writer = Writer {
        target: options.target.clone(),
        protocol: options.protocol,
        names: Arc::new(Names::new(Clock::nonce())),
    };
    let connector = Connector::new(&options.target, options.authorities.as_deref())?;
    Ok(Pool::new(writer, connector, clock)?)
}

/// Probes the server's capabilities, and adapts the plan to them.
///
/// # Errors
/// The server is not reachable, does not speak the protocol, or lacks a tool that every user needs.
pub fn ready(plan: &Plan, options: &Options) -> Result<Ready, LiveError> {
    let pool = pool(options)?;
    let tools = probe_all(&pool, &options.target)?;
    let ready = prepare(plan, options, &tools);
    let mut lacking = ready.live.lacking.clone();
    let nobody = match &ready.plan.workload {
        Workload::Phases { personas, .. } => personas.is_empty(),
        Workload::Steps { .. } => !lacking.is_empty(),
    };
    // Without `check`, lost messages could not be detected.
    let no_check = !tools.has("check");
    if no_check && !lacking.iter().any(|tool| tool == "check") {
        lacking.push("check".to_owned());
    }
    if nobody || no_check {
        let (target, lacking) = (&options.target, lacking.join(", "));
        let why = format!("{target} lacks what every user of the scenario needs: {lacking}");
        return Err(LiveError::Target(why));
    }
    Ok(ready)
}

/// Raises the limit of open files, and returns it.
fn most_files() -> u64 {
    rlimit::increase_nofile_limit(u64::MAX).unwrap_or(1_024)
}

/// Runs one seed to its end, and unregisters all users. Then, with the server's journal, judges the
/// run by it.
///
/// # Errors
/// The machine has no threads for the run, or the journal cannot be read.
pub fn run(
    ready: &Ready,
    seed: u64,
    progress: &Progress,
    journal: Option<&Journal<'_>>,
    also: Option<&mut (dyn Observer + '_)>,
) -> Result<LiveOutcome, LiveError> {
    let plan = &ready.plan;
    let files = most_files();
    let pool = pool(&ready.options)?;
    let clock = pool.net.clock;
    let judge = Judge::live(plan, journal.map(|_| clock.began()));
    let also = also.map(|observer| observer as &mut dyn Observer);
    let metrics = DriverMetrics::new(RunJudge::by(judge, plan), also, clock.now());
    let most = files.saturating_sub(OTHER_FILES) / 2;
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let mut runner = LoadRunner::new(plan, seed, pool, metrics, progress, most);
    runner.nemesis = nemesis(ready, &runner.pool)?;
    runner.run();
    let now = clock.now();
    let stayed = match runner.lost {
        None => unregister::unregister(&mut runner.pool, &mut runner.clients),
        Some(_) => 0,
    };
    let mut live = live_result(ready, &runner, now);
    if stayed > 0 {
        live.remarks.push(format!(
            "{stayed} users may have stayed on the server, which did not unregister them: they keep \
             their names and their address's places until it forgets them"
        ));
    }
    if let Some(journal) = journal {
        if runner.pool.net.connector.doors() > 1 {
            wait_for(journal, &runner.metrics, &clock)?;
        }
        let entries = journal(&mut runner.metrics).map_err(no_journal)?;
        live.journal_entries = Some(entries);
    }
    let mut outcome = outcome(plan, runner, now);
    if let Some(at) = live.ended_early() {
        end_at(&mut outcome, at);
    }
    Ok(LiveOutcome { outcome, live })
}

/// Waits until the journal of a member has all that clients received, for a while: a member of a cluster
/// writes its journal just after the log has accepted an entry.
fn wait_for(
    journal: &Journal<'_>,
    metrics: &DriverMetrics<'_>,
    clock: &Clock,
) -> Result<(), LiveError> {
    let until = clock.now() + JOURNAL_FOLLOWS;
    loop {
        let mut judge = metrics.judge.clone();
        journal(&mut judge).map_err(no_journal)?;
        if judge.judge.is_complete() || clock.now() > until {
            return Ok(());
        }
        thread::park_timeout(JOURNAL_AGAIN);
    }
}

/// Starts the nemesis, if there is one.
fn nemesis(ready: &Ready, pool: &Pool) -> Result<Option<Nemesis>, LiveError> {
    let Some(command) = &ready.options.nemesis else {
        return Ok(None);
    };
    let net = Arc::clone(&pool.net);
    let started = Nemesis::start(command, move |output| net.tell(Message::Nemesis(output)));
    let told = |why| LiveError::Option(format!("--nemesis: {command} does not start: {why}"));
    started.map(Some).map_err(told)
}

/// Keeps what was found until the run ended early. That users wait from then on is no finding.
fn end_at(outcome: &mut SeedOutcome, at: Span) {
    outcome.stuck.clear();
    outcome.violations.retain(|violation| violation.at <= at);
    for (name, property) in &mut outcome.properties {
        let mut found = outcome.violations.iter().map(|found| &found.property);
        if property.held == Some(false) && !found.any(|property| property == name) {
            property.held = None;
        }
    }
}

fn live_result(ready: &Ready, runner: &LoadRunner<'_, '_>, now: Time) -> LiveResult {
    let metrics = &runner.metrics;
    let (offered, achieved) = metrics.judge.metrics.calls_each_second(now);
    let mut live = LiveResult {
        suffix: runner.pool.net.writer.names.suffix().to_owned(),
        starts: metrics.starts,
        requests: metrics.requests,
        offered_per_second: offered,
        achieved_per_second: achieved,
        scheduling_delay: metrics.delay.result(1_000.0),
        uncorrected: ["message_latency", "request_latency"]
            .map(|name| (name.to_owned(), metrics.uncorrected(name)))
            .into(),
        driver_busy: metrics.load.busy(runner.pool.threads()),
        lost: runner.lost.clone(),
        nemesis: runner.nemesis.as_ref().map(|one| one.record.clone()),
        ..ready.live.clone()
    };
    let remarks = remarks(&live, runner.last_failure.as_deref());
    live.remarks.extend(remarks);
    live
}

/// Remarks for readers of the figures.
fn remarks(live: &LiveResult, failure: Option<&str>) -> Vec<String> {
    let mut remarks = Vec::new();
    if let Some(lost) = &live.lost {
        let (at, why) = (lost.at.0 as f64 / 1e6, &lost.why);
        remarks.push(format!(
            "the target stopped answering at {at:.1}s ({why}), so that users may still be \
             registered there"
        ));
    }
    if let Some(nemesis) = &live.nemesis
        && let Some(failed) = &nemesis.failed
    {
        let (at, why) = (failed.at.0 as f64 / 1e6, &failed.why);
        remarks.push(format!("the nemesis failed at {at:.1}s: it {why}"));
    }
    if let Some(request) = live.uncorrected.get("request_latency") {
        let delay = &live.scheduling_delay;
        remarks.extend(driver_metrics::remark(delay, request, live.driver_busy));
    }
    if live.starts.dropped > 0 {
        remarks.push(format!(
            "{} users never started: too few files may be open (`ulimit -n`), or the run ended",
            live.starts.dropped
        ));
    }
    if let Some(failure) = failure {
        let failed = live.requests.failed;
        remarks.push(format!("{failed} requests failed, the last: {failure}"));
    }
    remarks
}

/// The judged results of the run.
fn outcome(plan: &Plan, runner: LoadRunner<'_, '_>, now: Time) -> SeedOutcome {
    let users = runner.clients.iter().map(|client| client.user.outcome());
    let users = users.collect();
    let DriverMetrics { judge, points, .. } = runner.metrics;
    let ran = WorldOutcome {
        ended_at: now,
        users,
        tally: points.into_tally(),
        ..runner.ran
    };
    judge.finish(plan, ran)
}
