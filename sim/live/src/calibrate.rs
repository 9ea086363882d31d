//! Measures a live server: its response time without load, and its throughput under load.
//! `calibration.rs` derives the configuration of a virtual server.
//!
//! A few participants make all requests, and are unregistered at the end in any case.
//! `probe_clients.rs` sends messages and reads one at a time, through the pool and the owner's
//! thread of a live run. So the driver's own time is in these figures as it is in those of a run. A
//! pause lies between two requests, because a server that was just called is awake, and one that is
//! idle for a while is not. `saturation.rs` increases the number of concurrent readers. Each is a
//! task of its own without an owner, so that the driver costs as little as possible.

mod probe_clients;
mod saturation;

use std::thread;
use std::time::Duration;

use super::clock::Clock;
use super::pool::Pool;
use super::probe::probe_all;
use super::{LiveError, Options, most_files, pool};
use crate::calibration::Samples;
use chat_types::Span;
use probe_clients::ProbeClients;
use sim_model::outcome::{Calibration, RoundTrips};

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
    let (mut pool, clock) = pool(options)?;
    let target = options.target.to_string();
    let tools = probe_all(&pool, &options.target)?;
    let mut clients = ProbeClients::new(&mut pool, tools);
    let measured = measure(&mut clients, clock, tell);
    clients.unregister();
    let (samples, notes) = measured.map_err(|why| LiveError::Unmeasured { target, why })?;
    Ok(result(&pool, options, &samples, notes))
}

/// Measures round trips one at a time and then under load. Returns remarks on the run.
fn measure(
    clients: &mut ProbeClients<'_>,
    clock: Clock,
    tell: &mut dyn FnMut(&str),
) -> Measured<(Samples, Vec<String>)> {
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
    let notes = saturation::saturate(clients, &mut samples, tell)?;
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
