//! Runs one scenario file against a live server: once, or at higher and higher rates.

use std::path::Path;
use std::thread;
use std::time::Duration;

use super::scenario_run::{close_trace, open_trace};
use super::{Console, Problem, UNJUDGED, WRONG, follow, journal};
use crate::cli::{LiveArgs, RunArgs};
use sim_judge::SeriesRecorder;
use sim_live::{Journal, LiveError, LiveOutcome, Options, RateScale, Ready};
use sim_model::history::Observer;
use sim_model::outcome::{LiveResult, Progress, Repro, RunResult, StageResult, Summary, Verdict};
use sim_model::plan::Plan;
use sim_model::recipe::Recipe;
use sim_report::{FinishedRun, live_line, repeat_command};
use sim_search::runner::of_one_seed;

/// The time between two updates of the live line.
const DRAW_EVERY: Duration = Duration::from_millis(100);

/// The largest number of stages, and the number of bisections between the last passing rate and the
/// first failing one.
const MOST_STAGES: usize = 16;
const BISECTIONS: usize = 3;

impl From<LiveError> for Problem {
    fn from(error: LiveError) -> Self {
        let code = match error {
            LiveError::Option(_) => WRONG,
            LiveError::Target(_) | LiveError::Machine(_) => UNJUDGED,
        };
        let said = error.to_string();
        Self { code, said }
    }
}

/// What could not be judged, and why.
pub(super) const fn unjudged(said: String) -> Problem {
    let code = UNJUDGED;
    Problem { code, said }
}

/// Runs the scenario; with `--stages`, at several rates.
pub(super) fn run(
    arguments: &RunArgs,
    (path, plan): (&Path, &Plan),
    options: &Options,
    console: &mut Console<'_>,
) -> Result<FinishedRun, Problem> {
    // A journal that cannot be read is found before the first run.
    let read = observe_journal(&arguments.live, &mut None::<&mut dyn Observer>);
    read.map_err(unjudged)?;
    let run = if arguments.live.stages {
        staged(arguments, (path, plan), options, console)?
    } else {
        once(arguments, (path, plan), options, console)?
    };
    (console.live)(None);
    Ok(run)
}

/// Reports the entries of the server's journal, if it is named, and returns their number.
fn observe_journal(live: &LiveArgs, observer: &mut dyn Observer) -> Result<u64, String> {
    match &live.journal {
        Some(folder) => journal::observe(folder, live.server.as_deref(), observer),
        None => Ok(0),
    }
}

fn once(
    arguments: &RunArgs,
    (path, plan): (&Path, &Plan),
    options: &Options,
    console: &mut Console<'_>,
) -> Result<FinishedRun, Problem> {
    let ready = sim_live::ready(plan, options)?;
    let follow = follow::subject_of(arguments, plan)?;
    let trace = open_trace(arguments.trace.as_deref(), follow)?;
    let seed = arguments.seed.unwrap_or(plan.seed);
    let entries = |observer: &mut dyn Observer| observe_journal(&arguments.live, observer);
    let journal = arguments.live.journal.as_ref().map(|_| &entries as _);
    // A live run cannot be repeated, so its series is recorded whether or not a report is written.
    let file = path.display().to_string();
    let mut series = SeriesRecorder::new(seed, &plan.thresholds);
    let mut both = (trace.as_ref(), Some(&mut series));
    let (mut summary, live) = watched(&ready, seed, (journal, Some(&mut both)), console)?;
    close_trace(arguments.trace.as_deref(), trace)?;
    let is_violated = matches!(summary.result.verdict, Verdict::Safety | Verdict::Liveness);
    if live.ended_early().is_some() && !is_violated {
        summary.result.verdict = Verdict::Unjudged;
        summary.result.exit_code = Verdict::Unjudged.exit_code();
    }
    summary.result.live = Some(live);
    if console.interrupt.is_requested() {
        summary.result.interrupt();
    }
    summary.result.repro = Some(Repro {
        command: repeat_command(&file, seed, 1, &Recipe::default()) + &arguments.live.words(),
        whole: None,
        file: file.clone(),
    });
    Ok(FinishedRun {
        series: Some(series.series()),
        ..FinishedRun::new(file, ready.plan, summary)
    })
}

/// Runs on another thread, shows the progress on this one, and summarises the run.
pub(super) fn watched(
    ready: &Ready,
    seed: u64,
    (journal, observer): (Option<&Journal<'_>>, Option<&mut (dyn Observer + Send)>),
    console: &mut Console<'_>,
) -> Result<(Summary, LiveResult), LiveError> {
    let began = (console.clock)();
    let progress = Progress::until(console.interrupt.clone());
    let here = thread::current();
    let run = || {
        let observer = observer.map(|observer| observer as &mut dyn Observer);
        let outcome = sim_live::run(ready, seed, &progress, journal, observer);
        here.unpark();
        outcome
    };
    let done = thread::scope(|scope| {
        let running = scope.spawn(run);
        while !running.is_finished() {
            let wall = (console.clock)().saturating_sub(began);
            let line = live_line(&ready.plan.name, 1, &progress.now(), wall);
            (console.live)(Some(&line));
            thread::park_timeout(DRAW_EVERY);
        }
        match running.join() {
            Ok(outcome) => outcome,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    });
    let LiveOutcome { outcome, live } = done?;
    let wall = (console.clock)().saturating_sub(began);
    let summary = of_one_seed(seed, Ok(outcome)).finish(&ready.plan, wall);
    Ok((summary, live))
}

/// Finds the highest rate at which the scenario passes twice: doubles it until a run fails, or halves
/// it until one passes, bisects, and repeats the best. Returns the run at that rate.
fn staged(
    arguments: &RunArgs,
    (path, plan): (&Path, &Plan),
    options: &Options,
    console: &mut Console<'_>,
) -> Result<FinishedRun, Problem> {
    let mut search = Search::default();
    let (mut stages, mut best): (Vec<StageResult>, Option<FinishedRun>) = (Vec::new(), None);
    let mut scale = options.scale;
    loop {
        let mut words = arguments.clone();
        words.live.rate_scale = Some(scale);
        words.live.stages = false;
        let options = Options {
            scale,
            ..options.clone()
        };
        let run = once(&words, (path, plan), &options, console)?;
        let result = run.result();
        let verdict = result.verdict;
        let mut is_lost = false;
        if let Some(live) = &result.live {
            stages.push(stage(result, live));
            is_lost = live.lost.is_some();
        }
        // The best passing run is shown; without one, the latest.
        let passed = verdict == Verdict::Pass;
        let none_passed = search.good.is_empty();
        let ends = verdict == Verdict::Safety || is_lost;
        if passed || none_passed || ends {
            best = Some(run);
        }
        // A server that violates safety is not measured further, nor one that is gone.
        let next = search.next(scale, passed);
        let goes_on = !ends && stages.len() < MOST_STAGES && !console.interrupt.is_requested();
        match next.filter(|_| goes_on) {
            Some(next) => scale = next,
            None => break,
        }
    }
    let mut run = best.ok_or_else(|| unjudged("no stage was run".to_owned()))?;
    if let Some(live) = &mut run.summary.result.live {
        live.stages = stages;
    }
    Ok(run)
}

fn stage(result: &RunResult, live: &LiveResult) -> StageResult {
    let p99 = |name: &str| result.metrics.get(name)?.p99;
    StageResult {
        rate_scale: live.rate_scale,
        users: result.users,
        offered_per_second: live.offered_per_second,
        achieved_per_second: live.achieved_per_second,
        message_p99: p99("message_latency").unwrap_or_default(),
        request_p99: p99("request_latency").unwrap_or_default(),
        delay_p99: live.scheduling_delay.p99.unwrap_or_default(),
        verdict: result.verdict,
    }
}

/// The state of the search for a rate.
#[derive(Clone, Debug, Default)]
struct Search {
    /// The rates that passed, below those that failed; the highest last.
    good: Vec<u32>,
    /// The lowest failing rate.
    bad: Option<u32>,
    bisections: usize,
}

impl Search {
    /// The next rate to try. A run near the border passes by chance: the search ends with a rate that
    /// passed twice.
    fn next(&mut self, scale: RateScale, passed: bool) -> Option<RateScale> {
        let milli = scale.as_milli();
        if passed && self.good.contains(&milli) {
            return None;
        }
        if passed {
            self.good.push(milli);
            self.good.sort_unstable();
        } else {
            let bad = self.bad.map_or(milli, |bad| bad.min(milli));
            self.good.retain(|good| *good < bad);
            self.bad = Some(bad);
        }
        match (self.good.last().copied(), self.bad) {
            (Some(good), None) => Some(RateScale::milli(good.saturating_mul(2))),
            (None, Some(bad)) => (bad > 1).then(|| RateScale::milli(bad / 2)),
            (Some(good), Some(bad)) => {
                self.bisections += 1;
                let middle = good.midpoint(bad);
                let goes_on = self.bisections <= BISECTIONS && middle > good && middle < bad;
                Some(RateScale::milli(if goes_on { middle } else { good }))
            }
            (None, None) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rates that are tried if all up to `limit` pass; those of `by_chance` pass once.
    fn tried_rates(limit: u32, by_chance: &[u32]) -> Vec<u32> {
        let (mut search, mut scale, mut tried) = (Search::default(), RateScale::default(), vec![]);
        loop {
            let rate = scale.as_milli();
            let passes = rate <= limit || by_chance.contains(&rate) && !tried.contains(&rate);
            tried.push(rate);
            match search.next(scale, passes) {
                Some(next) if tried.len() < MOST_STAGES => scale = next,
                Some(_) | None => return tried,
            }
        }
    }

    #[test]
    fn rates_are_doubled_and_then_bisected_and_the_best_is_repeated() {
        assert_eq!(
            tried_rates(5_200, &[]),
            [1_000, 2_000, 4_000, 8_000, 6_000, 5_000, 5_500, 5_000]
        );
        assert_eq!(tried_rates(300, &[]), [1_000, 500, 250, 375, 312, 281, 281]);
        assert_eq!(tried_rates(0, &[]).last(), Some(&1));
    }

    #[test]
    fn a_rate_that_passed_by_chance_is_not_the_border() {
        assert_eq!(
            tried_rates(5_200, &[5_500]),
            [
                1_000, 2_000, 4_000, 8_000, 6_000, 5_000, 5_500, 5_500, 5_000
            ]
        );
    }
}
