//! Takes a live server's measure: how long it takes for a request when nobody else asks, and how
//! many it answers in a second when many do. What follows from that is `calibration.rs`'s.
//!
//! A few participants do all of it, and are taken away at the end, whatever happened. `guests.rs`
//! has them say and ask things one at a time, through the same pool and the same owner's thread
//! that a live run's users have: so what the driver takes itself is in these figures as it is in
//! those of a run. Between two there is a pause, for a server that was just asked is awake, and
//! one that nobody asks for a while is not. `throng.rs` has more and more of them read at once, each
//! in a task of its own that needs no owner, so that the driver costs as little as it can.

mod guests;
mod throng;

use std::fmt;
use std::thread;
use std::time::Duration;

use super::clock::Clock;
use super::pool::Pool;
use super::survey::survey;
use super::{LiveError, Options, most_files, pool};
use crate::calibration::Samples;
use chat_types::Span;
use guests::Guests;
use sim_model::outcome::{Calibration, Trips};

/// Round trips of each kind, after those that warm everything up.
const ROUNDS: u64 = 1_000;
const WARM_UP: u64 = 30;

/// How long the round trips may take; then there are fewer of them.
const AT_MOST: Span = Span::secs(15);

/// How long nobody asks for anything before each of them.
const PAUSE: Duration = Duration::from_millis(2);

/// How often progress is told, in rounds.
const TELL_EVERY: u64 = 100;

/// Why a server could not be measured.
#[derive(Debug)]
pub(super) enum Trouble {
    /// It refused a call with this code.
    Refused(&'static str, &'static str),
    /// No answer came, or none that makes sense.
    Failed(String),
    /// Somebody else waits in its line.
    Busy,
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(tool, code) => write!(f, "{tool} was refused: {code}{}", hint(code)),
            Self::Failed(why) => f.write_str(why),
            Self::Busy => {
                f.write_str("somebody else waits in its line; take a server of its own for this")
            }
        }
    }
}

/// What to do about a refusal.
fn hint(code: &str) -> &'static str {
    if code.contains("rate_limited") {
        "\n  start it without limits on rates, as with `talking-stick --limit rate_limit=none`"
    } else {
        ""
    }
}

/// Measures a server. `tell` is told now and then how far it is.
///
/// # Errors
/// When the server is not there, does not speak the protocol, lacks what is asked for, or refuses
/// it; when the machine has no threads for it.
pub fn calibrate(options: &Options, tell: &mut dyn FnMut(&str)) -> Result<Calibration, LiveError> {
    most_files();
    let (mut pool, clock) = pool(options)?;
    let target = options.target.to_string();
    let surveyed = pool.wait(survey(&pool.net));
    let tools = surveyed.map_err(|unfit| unfit.at(target.clone()))?;
    let mut guests = Guests::new(&mut pool, tools);
    let measured = measure(&mut guests, clock, tell);
    guests.leave();
    let (samples, notes) = measured.map_err(|trouble| LiveError::Unmeasured {
        target: target.clone(),
        why: trouble.to_string(),
    })?;
    Ok(result(&pool, options, &samples, notes))
}

/// The round trips one at a time and then the throng, and what happened on the way.
fn measure(
    guests: &mut Guests<'_>,
    clock: Clock,
    tell: &mut dyn FnMut(&str),
) -> Result<(Samples, Vec<String>), Trouble> {
    let mut samples = Samples::new();
    guests.meet()?;
    let mut until = clock.now() + AT_MOST;
    for round in 0..WARM_UP + ROUNDS {
        if round == WARM_UP {
            // What the first connections took is in none of the figures.
            samples = Samples::new();
            until = clock.now() + AT_MOST;
        }
        // In turns, so that what the machine does meanwhile is in all of them.
        thread::sleep(PAUSE);
        samples.floor.record(guests.least()?.0);
        thread::sleep(PAUSE);
        samples.read.record(guests.read()?.0);
        thread::sleep(PAUSE);
        samples.committed.record(guests.say()?.0);
        if round % TELL_EVERY == 0 {
            let done = round.saturating_sub(WARM_UP);
            tell(&format!("calibrate · one at a time · {done} of {ROUNDS}"));
        }
        if clock.now() >= until {
            break;
        }
    }
    let notes = throng::crowd(guests, &mut samples, tell)?;
    Ok((samples, notes))
}

fn result(pool: &Pool, options: &Options, samples: &Samples, notes: Vec<String>) -> Calibration {
    let block = samples.infer();
    let mut remarks = samples.remarks(&block);
    remarks.extend(notes);
    let trips = |request, took: &sim_judge::metrics::distribution::Distribution| Trips {
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
