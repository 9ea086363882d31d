//! Reads on more and more connections at once, until more of them do not increase the throughput.

use std::sync::Arc;
use std::time::Duration;

use chat_types::{Span, Time};
use tokio::sync::Barrier;
use tokio::time::timeout;

use super::probe_clients::ProbeClients;
use super::{Measured, hint};
use crate::calibration::Samples;
use crate::caller::repeat;
use crate::clock::Clock;
use sim_model::outcome::Stage;

/// The number of connections of each stage.
const CONNECTIONS: [u32; 8] = [1, 2, 4, 8, 16, 32, 64, 128];

/// The length of a stage, and how much longer an answer may take.
const STAGE: Span = Span::millis(500);
const PATIENCE: Duration = Duration::from_secs(10);

/// A stage counts as better if its throughput is higher by this factor. After `IN_VAIN` stages that
/// are not, the measurement ends.
const MORE: f64 = 1.03;
const IN_VAIN: usize = 2;

/// Adds the stages to the samples. Returns remarks.
pub(super) fn saturate(
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
    let (began, worked) = (pool.net.clock.now(), Clock::worked());
    let done = pool.together(tasks.collect());
    let worked = Clock::worked().saturating_sub(worked);
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
