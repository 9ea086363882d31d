//! The simulator as a program: the command line, the terminal and the clock, which the library
//! does without.

use std::collections::BTreeMap;
use std::env;
use std::io::{self, IsTerminal};
use std::num::NonZeroUsize;
use std::process::ExitCode;
use std::thread::available_parallelism;
use std::time::Instant;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use sim::cli;
use sim::commands::{Console, execute};
use sim::engine::Engine;
use sim::plan::Plan;
use sim::report::Paint;
use sim::result::{Counts, FairnessResult, MetricResult, PropertyResult, ThresholdResult};
use sim::runner::Measured;

fn main() -> ExitCode {
    let invocation = match cli::parse(env::args_os()) {
        Ok(invocation) => invocation,
        Err(told) => {
            // Help and usage errors print themselves; a closed pipe is no reason to fail twice.
            let _ = told.print();
            return ExitCode::from(if told.use_stderr() { 2 } else { 0 });
        }
    };
    let began = Instant::now();
    let mut bar: Option<ProgressBar> = None;
    let mut live = |line: Option<&str>| match line {
        Some(line) => bar
            .get_or_insert_with(live_bar)
            .set_message(line.to_owned()),
        None => {
            if let Some(bar) = bar.take() {
                bar.finish_and_clear();
            }
        }
    };
    let mut console = Console {
        out: &mut io::stdout(),
        err: &mut io::stderr(),
        paint: paint(io::stdout().is_terminal()),
        error_paint: paint(io::stderr().is_terminal()),
        live: &mut live,
        clock: &|| began.elapsed(),
        cores: available_parallelism().unwrap_or(NonZeroUsize::MIN),
    };
    ExitCode::from(execute(&invocation, &engine(), &mut console))
}

/// Draws on a terminal only.
fn live_bar() -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    match ProgressStyle::with_template("{msg}") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

fn paint(is_terminal: bool) -> Paint {
    let variable = |name| env::var_os(name);
    Paint::choose(
        is_terminal && variable("TERM").is_none_or(|term| term != "dumb"),
        variable("NO_COLOR").as_deref(),
        variable("CLICOLOR_FORCE").as_deref(),
    )
}

/// The one place where the command line meets the scenarios and the virtual world.
fn engine() -> Engine<Nothing> {
    Engine {
        load: |path| {
            Err(miette::miette!(
                "{}: scenarios cannot be read yet",
                path.display()
            ))
        },
        schema: || serde_json::Value::Null,
        run: |_, _, _, _| unreachable!("no plan was loaded"),
        start: chat_core::Time(0),
    }
}

/// Stands for the metrics until they are there.
struct Nothing;

impl Measured for Nothing {
    fn merge(&mut self, _: &Self) {}
    fn results(
        &self,
    ) -> (
        BTreeMap<String, MetricResult>,
        BTreeMap<String, FairnessResult>,
    ) {
        Default::default()
    }
    fn thresholds(&self, _: &Plan, _: &Counts, _: u64) -> Vec<ThresholdResult> {
        Vec::new()
    }
    fn judged_by_thresholds(
        _: &Plan,
        _: &[ThresholdResult],
    ) -> BTreeMap<&'static str, PropertyResult> {
        BTreeMap::new()
    }

    fn refusals(&self) -> BTreeMap<String, u64> {
        BTreeMap::new()
    }
}
