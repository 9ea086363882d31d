//! The subcommands, from their arguments to the exit code.

mod calibrating;
mod compare;
mod exhaust;
mod exploring;
mod follow;
mod journal;
mod live_run;
mod replaying;
mod scenario_run;
mod shrinking;

use sim_judge::SeedOutcome;
use sim_model::history::Observer;
use sim_search::explore::AlsoJudge;
use sim_search::panics::catch_panic;
use sim_search::runner::RunSeed;
use std::io::{self, ErrorKind, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::cli::{self, Invocation, RunArgs};
use crate::{COMMIT, VERSION, output};
use serde::Serialize;
use sim_live::needed_faults;
use sim_model::outcome::{INTERRUPTED, Interrupt, Progress, RunResult, worst};
use sim_model::plan::Plan;
use sim_report::{Detail, FinishedRun, Origin, Paint, View};
use sim_scenario::{ErrorStyle, ScenarioError};

/// The exit code of a run that could not be judged.
const UNJUDGED: u8 = 4;

/// The exit code for an invalid command line, an invalid scenario, or a file that cannot be
/// written.
const WRONG: u8 = 2;

/// Why a command ends early: its exit code, and what is said of it, unless that was said before.
#[derive(Debug)]
struct Problem {
    code: u8,
    said: String,
}

/// What is wrong was said.
const TOLD: Problem = Problem {
    code: WRONG,
    said: String::new(),
};

impl From<String> for Problem {
    fn from(said: String) -> Self {
        Self { said, ..TOLD }
    }
}

/// The program's outputs, and its access to the machine.
pub struct Console<'a> {
    /// Runs one seed of a plan in the virtual world.
    pub run: RunSeed<'a>,
    /// Additional rules for runs of an exploration, for tests.
    pub also_judge: AlsoJudge<'a>,
    /// The standard output.
    pub out: &'a mut dyn Write,
    /// The first error of the standard output.
    pub unwritten: Option<io::Error>,
    /// The standard error.
    pub err: &'a mut dyn Write,
    /// Colour on the standard output.
    pub paint: Paint,
    /// Colour on the standard error.
    pub error_paint: Paint,
    /// The columns of the terminal at standard error.
    pub error_columns: usize,
    /// Shows a line while a run goes on, or erases it.
    pub live: &'a mut dyn FnMut(Option<&str>),
    /// When the program started.
    pub started: SystemTime,
    /// Real time since an arbitrary beginning.
    pub clock: &'a dyn Fn() -> Duration,
    /// Ends any run early, with the result of what was done.
    pub interrupt: &'a Interrupt,
    /// The default number of parallel seeds.
    pub cores: NonZeroUsize,
    /// The folder of files that are written without being requested, such as the report of a
    /// failing run.
    pub unasked: &'a Path,
}

impl Console<'_> {
    /// Writes to the standard output. The first error is kept for the exit code: what runs may have
    /// results in files, too.
    fn say(&mut self, text: &str) {
        if self.unwritten.is_none() {
            let written = self.out.write_all(text.as_bytes());
            self.unwritten = written.and_then(|()| self.out.flush()).err();
        }
    }

    fn complain(&mut self, text: &str) {
        let _ = self.err.write_all(without_numbers(text).as_bytes());
    }

    /// Shows a page. If JSON goes to the standard output, the page goes to the standard error.
    fn show(&mut self, json: Option<&Path>, page: &str) {
        if is_stdout(json) {
            self.complain(page);
        } else {
            self.say(page);
        }
    }

    fn view(&self, detail: Detail) -> View<'static> {
        View {
            detail,
            paint: self.paint,
            version: VERSION,
        }
    }

    /// Writes a text where it is asked for. Returns the code, or another if it could not be written.
    fn write(
        &mut self,
        path: Option<&Path>,
        text: impl FnOnce() -> serde_json::Result<String>,
        code: u8,
    ) -> u8 {
        let Some(path) = path else { return code };
        let written = text().map_err(io::Error::from).and_then(|text| {
            if is_stdout(Some(path)) {
                self.say(&text);
                // A result for a program is whole or an error, even if its reader closed the pipe.
                self.unwritten = self.unwritten.take().map(io::Error::other);
                return Ok(());
            }
            output::write(path, &text)
        });
        let is_written = self.is_written(path, written);
        if is_written { code } else { WRONG }
    }

    fn write_json(&mut self, path: Option<&Path>, result: &impl Serialize, code: u8) -> u8 {
        let text = || Ok(serde_json::to_string_pretty(result)? + "\n");
        self.write(path, text, code)
    }

    /// Whether a file was written; complains if not.
    fn is_written(&mut self, path: &Path, written: io::Result<()>) -> bool {
        if let Err(problem) = &written {
            self.complain(&format!("error: {}\n", cannot_write(path, problem)));
        }
        written.is_ok()
    }

    fn complain_of(&mut self, problem: &ScenarioError) {
        let look = match self.error_paint {
            Paint::Plain => ErrorStyle::Plain,
            Paint::Colour => ErrorStyle::Colour,
        };
        self.complain(&problem.render(look, self.error_columns));
    }
}

/// Runs a seed once. A run that panics is observed up to then.
fn run_once(
    run: RunSeed<'_>,
    (plan, seed): (&Plan, u64),
    observer: Option<&mut (dyn Observer + '_)>,
) -> Result<SeedOutcome, String> {
    catch_panic(|| run(plan, seed, &Progress::default(), observer))
}

fn cannot_write(path: &Path, error: &io::Error) -> String {
    format!("cannot write {}: {error}", path.display())
}

/// The text without the system's numbers of errors, which say nothing to people: `(os error 2)`.
fn without_numbers(text: &str) -> String {
    let (first, rest) = text.split_once(" (os error ").unwrap_or((text, ""));
    match rest.split_once(')') {
        Some((_, rest)) => format!("{first}{}", without_numbers(rest)),
        None => text.to_owned(),
    }
}

/// Executes a command, and returns the exit code.
pub fn execute(invocation: &Invocation, console: &mut Console<'_>) -> u8 {
    let code = execute_command(invocation, console).unwrap_or_else(|problem| {
        if !problem.said.is_empty() {
            console.complain(&format!("error: {}\n", problem.said));
        }
        problem.code
    });
    match console.unwritten.take() {
        // A reader of a page that has seen enough (`sim … | head`) may close the pipe.
        Some(error) if error.kind() != ErrorKind::BrokenPipe => {
            console.complain(&format!(
                "error: cannot write the standard output: {error}\n"
            ));
            worst(code, WRONG)
        }
        Some(_) | None => code,
    }
}

fn execute_command(invocation: &Invocation, console: &mut Console<'_>) -> Result<u8, Problem> {
    match invocation {
        Invocation::Run(arguments) => run_scenarios(arguments, console),
        Invocation::Explore(arguments) => exploring::run(arguments, console),
        Invocation::Shrink(arguments) => shrinking::shrink(arguments, console),
        Invocation::Validate { files } => Ok(validate(files, console)),
        Invocation::Schema => {
            console.say(&format!("{:#}\n", sim_scenario::schema()));
            Ok(0)
        }
        Invocation::Exhaust(arguments) => exhaust::run(arguments, console),
        Invocation::Compare(arguments) => compare::compare(arguments, console),
        Invocation::Calibrate(arguments) => calibrating::run(arguments, console),
        Invocation::Replay(arguments) => replaying::run(arguments, console),
        Invocation::Completions { shell } => {
            console.say(&String::from_utf8_lossy(&cli::completions(*shell)));
            Ok(0)
        }
        Invocation::Man { folder } => {
            let written = cli::manual(folder);
            written.map_err(|error| format!("{}: {error}", folder.display()))?;
            Ok(0)
        }
    }
}

fn validate(files: &[PathBuf], console: &mut Console<'_>) -> u8 {
    let mut code = 0;
    for path in files {
        match load(path, console) {
            Ok(plan) => {
                console.say(&format!("{}: ok ({})\n", path.display(), plan.name));
                console.say(&repeated_faults(&plan));
            }
            Err(problem) => code = problem.code,
        }
    }
    code
}

/// The faults of the scenario's own seed, if some of them repeat.
fn repeated_faults(plan: &Plan) -> String {
    const SHOWN: usize = 20;
    let repeats = plan.faults.iter().any(|fault| fault.repeats.is_some());
    if !repeats {
        return String::new();
    }
    let faults = plan.faults_of(plan.seed);
    let mut text = format!("  faults of seed {}, {} in all:\n", plan.seed, faults.len());
    for fault in faults.iter().take(SHOWN) {
        let words = fault.words(plan.workload.users());
        text += &format!("    {} {words}\n", fault.at);
    }
    if faults.len() > SHOWN {
        text += &format!("    … {} more\n", faults.len() - SHOWN);
    }
    text
}

/// Runs scenarios. All errors in the arguments are found before the first run.
fn run_scenarios(arguments: &RunArgs, console: &mut Console<'_>) -> Result<u8, Problem> {
    let mut plans = load_all(&arguments.files, console)?;
    if let (Some(recipe), Some(plan)) = (&arguments.recipe, plans.first_mut()) {
        plan.recipe = recipe.clone();
    }
    let (json, report) = (&arguments.json, &arguments.report);
    prepare_files(&[json, &arguments.junit, report, &arguments.trace], console)?;
    if arguments.live.target.is_some() {
        check_live(arguments.files.iter().zip(&plans), console)?;
    }
    let json = json.as_deref();
    let view = console.view(detail(arguments.quiet, arguments.verbose));
    let mut runs: Vec<FinishedRun> = Vec::new();
    let mut code = 0;
    for (path, plan) in arguments.files.iter().zip(plans) {
        if console.interrupt.is_requested() {
            code = worst(code, INTERRUPTED);
            console.complain(&format!("interrupted before {}\n", path.display()));
            break;
        }
        let finished = match arguments.live.options() {
            None => scenario_run::run(arguments, path, plan, console),
            Some(options) => live_run::run(arguments, (path, &plan), &options, console),
        };
        let mut finished = match finished {
            Ok(finished) => finished,
            Err(problem) if problem.code == INTERRUPTED => {
                code = worst(code, INTERRUPTED);
                console.complain(&format!("{}\n", problem.said));
                break;
            }
            Err(problem) => return Err(problem),
        };
        finished.look = scenario_run::look(&finished, console);
        let is_next = !runs.is_empty() && view.detail != Detail::Quiet;
        let gap = if is_next { "\n\n" } else { "" };
        let page = sim_report::terminal(&finished, &view);
        console.show(json, &format!("{gap}{page}"));
        code = worst(code, finished.result().exit_code);
        runs.push(finished);
    }
    if runs.len() > 1 && view.detail != Detail::Quiet {
        let summary = sim_report::summary(&runs, code, &view);
        console.show(json, &format!("\n\n{summary}"));
    }
    Ok(write_all(arguments, &runs, code, console))
}

/// Writes JSON, JUnit and the report. Returns the exit code, which reports a failed write.
fn write_all(arguments: &RunArgs, runs: &[FinishedRun], code: u8, console: &mut Console<'_>) -> u8 {
    let results: Vec<&RunResult> = runs.iter().map(FinishedRun::result).collect();
    let version = env!("CARGO_PKG_VERSION");
    let origin = Origin::new(version, COMMIT, console.cores, console.started);
    let json = || sim_report::json(&results, code, &origin);
    let junit = || Ok(sim_report::junit(runs));
    let page = || Ok(sim_report::html(runs, VERSION));
    let written = [
        console.write(arguments.json.as_deref(), json, code),
        console.write(arguments.junit.as_deref(), junit, code),
        console.write(arguments.report.as_deref(), page, code),
    ];
    written.into_iter().fold(code, worst)
}

/// Checks that a live server can have all that these scenarios require.
fn check_live<'p>(
    plans: impl Iterator<Item = (&'p PathBuf, &'p Plan)>,
    console: &mut Console<'_>,
) -> Result<(), Problem> {
    let mut checked = Ok(());
    for (path, plan) in plans {
        let needed = needed_faults(plan);
        if !needed.is_empty() {
            console.complain(&format!(
                "error: {} needs faults that only the simulated server can have: {}\n  \
                 mark them `optional: true` to run without them\n",
                path.display(),
                needed.join(", ")
            ));
            checked = Err(TOLD);
        }
    }
    checked
}

fn detail(quiet: bool, verbose: bool) -> Detail {
    match (quiet, verbose) {
        (true, _) => Detail::Quiet,
        (false, true) => Detail::Verbose,
        (false, false) => Detail::Normal,
    }
}

fn is_stdout(path: Option<&Path>) -> bool {
    path == Some(Path::new("-"))
}

/// Loads a plan. An error is printed.
fn load(path: &Path, console: &mut Console<'_>) -> Result<Plan, Problem> {
    sim_scenario::load(path).map_err(|problem| {
        console.complain_of(&problem);
        TOLD
    })
}

/// Loads all plans. All errors are printed.
fn load_all(files: &[PathBuf], console: &mut Console<'_>) -> Result<Vec<Plan>, Problem> {
    let plans: Vec<_> = files.iter().map(|path| load(path, console)).collect();
    plans.into_iter().collect()
}

/// Checks that all output files can be written. All errors are printed.
fn prepare_files(files: &[&Option<PathBuf>], console: &mut Console<'_>) -> Result<(), Problem> {
    let files = files.iter().copied().flatten();
    let files = files.filter(|path| !is_stdout(Some(path)));
    let unwritable = files.filter(|path| !console.is_written(path, output::prepare(path)));
    match unwritable.count() {
        0 => Ok(()),
        _ => Err(TOLD),
    }
}

#[cfg(test)]
mod tests;
