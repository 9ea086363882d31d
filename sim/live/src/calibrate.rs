//! Measures a live server: its response time without load, and its throughput under load.
//! `calibration.rs` derives the configuration of a virtual server.
//!
//! A few participants make all requests, and are unregistered at the end in any case.
//! `probe_clients.rs` sends messages and reads one at a time, through the pool and the owner's
//! thread of a live run. So the driver's own time is in these figures as it is in those of a run. A
//! pause lies between two requests, because a server that was just called is awake, and one that is
//! idle for a while is not. `saturate` increases the number of concurrent readers. Each is a
//! task of its own without an owner, so that the driver costs as little as possible.

mod probe_clients;

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use chat_types::{Span, Time};
use probe_clients::ProbeClients;
use tokio::sync::Barrier;
use tokio::time::timeout;

use super::clock::Clock;
use super::probe::probe_all;
use super::{LiveError, Options, most_files, pool};
use crate::calibration::Samples;
use crate::caller::repeat;
use crate::pool::Pool;
use sim_model::outcome::{Calibration, RoundTrips, Stage};

/// The number of measured round trips of each kind, and of those before them that warm up the
/// server.
const ROUNDS: u64 = 1_000;
const WARM_UP: u64 = 30;

/// The longest time for the round trips. After it, fewer are measured.
const AT_MOST: Span = Span::secs(15);

/// The pause before each of them.
const PAUSE: Duration = Duration::from_millis(2);

/// The number of rounds between two updates of the progress.
const TELL_EVERY: u64 = 100;

/// Why a server could not be measured: because it refused a call, because there was no valid answer,
/// or because another participant waits in its queue.
type Measured<T> = Result<T, String>;

fn refused(tool: &str, code: &str) -> String {
    format!("{tool} was refused: {code}{}", hint(code))
}

/// Advice for a refusal.
fn hint(code: &str) -> &'static str {
    if code.contains("rate_limited") {
        "\n  start it without limits on rates, as with `talking-stick --limit rate_limit=none`"
    } else {
        ""
    }
}

/// Measures a server. `tell` receives the progress now and then.
///
/// # Errors
/// The server is not reachable, does not speak the protocol, lacks a tool, or refuses a call; or
/// the machine has no threads for the run.
pub fn calibrate(options: &Options, tell: &mut dyn FnMut(&str)) -> Result<Calibration, LiveError> {
    most_files();
    let mut pool = pool(options)?;
    let tools = probe_all(&pool, &options.target)?;
    let mut clients = ProbeClients::new(&mut pool, tools);
    let measured = measure(&mut clients, tell);
    clients.unregister();
    let (samples, notes) = measured.map_err(|why| {
        LiveError::Target(format!("{} cannot be measured: {why}", options.target))
    })?;
    Ok(result(&pool, options, &samples, notes))
}

/// Measures round trips one at a time and then under load. Returns remarks on the run.
fn measure(
    clients: &mut ProbeClients<'_>,
    tell: &mut dyn FnMut(&str),
) -> Measured<(Samples, Vec<String>)> {
    let clock = clients.pool.net.clock;
    let mut samples = Samples::default();
    clients.enter_room()?;
    let mut until = clock.now() + AT_MOST;
    for round in 0..WARM_UP + ROUNDS {
        if round == WARM_UP {
            // The first connections are not measured.
            samples = Samples::default();
            until = clock.now() + AT_MOST;
        }
        // In turns, so that disturbances of the machine affect all kinds alike.
        thread::sleep(PAUSE);
        samples.floor.record(clients.least()?.0);
        thread::sleep(PAUSE);
        samples.read.record(clients.read()?.0);
        thread::sleep(PAUSE);
        samples.committed.record(clients.send()?.0);
        if round % TELL_EVERY == 0 {
            let done = round.saturating_sub(WARM_UP);
            tell(&format!("calibrate · one at a time · {done} of {ROUNDS}"));
        }
        if clock.now() >= until {
            break;
        }
    }
    let notes = saturate(clients, &mut samples, tell)?;
    Ok((samples, notes))
}

fn result(pool: &Pool, options: &Options, samples: &Samples, notes: Vec<String>) -> Calibration {
    let block = samples.infer();
    let mut remarks = samples.remarks(&block);
    remarks.extend(notes);
    let trips = |request, took: &sim_judge::metrics::distribution::Distribution| RoundTrips {
        request,
        took: took.result(1_000.0),
    };
    Calibration {
        target: options.target.to_string(),
        protocol: options.protocol.name(),
        block,
        floor: trips(pool.net.writer.least_name(), &samples.floor),
        read: trips("check", &samples.read),
        committed: trips("send_message", &samples.committed),
        stages: samples.stages.clone(),
        remarks,
    }
}

/// The number of connections of each stage.
const CONNECTIONS: [u32; 8] = [1, 2, 4, 8, 16, 32, 64, 128];

/// The length of a stage, and how much longer an answer may take.
const STAGE: Span = Span::millis(500);
const PATIENCE: Duration = Duration::from_secs(10);

/// A stage counts as better if its throughput is higher by this factor. After `IN_VAIN` stages that
/// are not, the measurement ends.
const MORE: f64 = 1.03;
const IN_VAIN: usize = 2;

/// Reads on more and more connections at once, until more of them do not increase the throughput.
/// Adds these stages to the samples. Returns remarks.
fn saturate(
    clients: &mut ProbeClients<'_>,
    samples: &mut Samples,
    tell: &mut dyn FnMut(&str),
) -> Measured<Vec<String>> {
    let (mut best, mut in_vain) = (0.0_f64, 0);
    for connections in CONNECTIONS {
        tell(&format!("calibrate · reads from {connections} connections"));
        let stage = clients
            .register_up_to(connections as usize)
            .and_then(|()| read_all(clients, connections));
        let stage = match stage {
            Ok(stage) => stage,
            // The stages so far are enough.
            Err(why) if !samples.stages.is_empty() => {
                let why = format!("{connections} connections were too many: {why}");
                return Ok(vec![why]);
            }
            Err(why) => return Err(why),
        };
        in_vain = if stage.per_second > best * MORE {
            0
        } else {
            in_vain + 1
        };
        best = best.max(stage.per_second);
        samples.stages.push(stage);
        if in_vain >= IN_VAIN {
            break;
        }
    }
    Ok(Vec::new())
}

fn read_all(clients: &ProbeClients<'_>, connections: u32) -> Measured<Stage> {
    let gate = Arc::new(Barrier::new(connections as usize));
    let pool = &clients.pool;
    let tasks = (0..connections as usize).map(|who| {
        let (net, gate) = (Arc::clone(&pool.net), Arc::clone(&gate));
        let reading = repeat(net, clients.reader(who), gate, STAGE);
        // The timer must be created on the thread that runs the task.
        async move { timeout(PATIENCE, reading).await }
    });
    let (began, worked) = (pool.net.clock.now(), Clock::worked().all);
    let done = pool.together(tasks.collect());
    let worked = Clock::worked().all.saturating_sub(worked);
    let all = pool.net.clock.now().since(began).0.max(1) * pool.threads() as u64;
    let silent = || format!("no answer within {}s", PATIENCE.as_secs());
    let (mut answered, mut began_first, mut ended_last) = (0, Time::MAX, Time(0));
    for one in done {
        let read = one.and_then(Result::ok).ok_or_else(silent)?;
        let (answers, from, to) = read.map_err(|why| format!("{why}{}", hint(&why)))?;
        answered += answers;
        began_first = began_first.min(from);
        ended_last = ended_last.max(to);
    }
    let span = ended_last.since(began_first).0.max(1);
    Ok(Stage {
        connections,
        per_second: answered as f64 * 1e6 / span as f64,
        driver_busy: (worked.as_micros() as f64 / all as f64).min(1.0),
    })
}
