//! The subcommands, from their arguments to the exit code.

mod calibrating;
mod compare;
mod exhaust;
mod explain;
mod exploring;
mod follow;
mod journal;
mod live_run;
mod replaying;
mod scenario_run;
mod serving;
mod shrinking;

use sim_search::explore::AlsoJudge;
use sim_search::runner::RunSeed;
use std::io::{self, ErrorKind, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::cli::{self, Invocation, RunArgs, ValidateArgs};
use crate::output;
use crate::report_server::ReportServer;
use crate::{COMMIT, VERSION};
use sim_live::needed_faults;
use sim_model::outcome::{INTERRUPTED, Interrupt, RunResult, worst};
use sim_model::plan::Plan;
use sim_report::{Detail, FinishedRun, Origin, Paint, View};
use sim_scenario::{ErrorStyle, ScenarioError};

/// The exit code of a run that could not be judged.
const UNJUDGED: u8 = 4;

/// The exit code for an invalid command line, an invalid scenario, or a file that cannot be
/// written.
const WRONG: u8 = 2;

/// The program's outputs, and its access to the machine.
pub struct Console<'a> {
    /// Runs one seed of a plan in the virtual world.
    pub run: RunSeed<'a>,
    /// Additional rules for runs of an exploration, for tests.
    pub also_judge: Option<AlsoJudge<'a>>,
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

    fn complain_of(&mut self, problem: &ScenarioError) {
        let look = match self.error_paint {
            Paint::Plain => ErrorStyle::Plain,
            Paint::Colour => ErrorStyle::Colour,
        };
        self.complain(&problem.render(look, self.error_columns));
    }
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
    let code = execute_command(invocation, console);
    match console.unwritten.take() {
        // A reader of a page that has seen enough (`sim … | head`) may close the pipe; a result for a
        // program is whole or an error.
        Some(error) if error.kind() != ErrorKind::BrokenPipe || is_stdout(invocation.json()) => {
            console.complain(&format!(
                "error: cannot write the standard output: {error}\n"
            ));
            worst(code, WRONG)
        }
        Some(_) | None => code,
    }
}

fn execute_command(invocation: &Invocation, console: &mut Console<'_>) -> u8 {
    match invocation {
        Invocation::Run(arguments) => run_watched(arguments, None, console),
        Invocation::Serve(arguments) => serving::serve(arguments, console),
        Invocation::Explore(arguments) => exploring::run(arguments, console),
        Invocation::Shrink(arguments) => shrinking::shrink(arguments, console),
        Invocation::Validate(arguments) => validate(arguments, console),
        Invocation::Schema => schema(console),
        Invocation::Explain(arguments) => explain::explain(arguments, console),
        Invocation::Exhaust(arguments) => exhaust::run(arguments, console),
        Invocation::Compare(arguments) => compare::compare(arguments, console),
        Invocation::Calibrate(arguments) => calibrating::run(arguments, console),
        Invocation::Replay(arguments) => replaying::run(arguments, console),
        Invocation::Completions(shell) => {
            console.say(&String::from_utf8_lossy(&cli::completions(*shell)));
            0
        }
        Invocation::Man(folder) => manual(folder, console),
    }
}

fn manual(folder: &Path, console: &mut Console<'_>) -> u8 {
    match cli::manual(folder) {
        Ok(()) => 0,
        Err(error) => {
            console.complain(&format!("error: {}: {error}\n", folder.display()));
            WRONG
        }
    }
}

fn schema(console: &mut Console<'_>) -> u8 {
    console.say(&format!("{:#}\n", sim_scenario::schema()));
    0
}

fn validate(arguments: &ValidateArgs, console: &mut Console<'_>) -> u8 {
    let mut code = 0;
    for path in &arguments.files {
        match sim_scenario::load(path) {
            Ok(plan) => {
                console.say(&format!("{}: ok ({})\n", path.display(), plan.name));
                console.say(&repeated_faults(&plan));
            }
            Err(problem) => {
                console.complain_of(&problem);
                code = WRONG;
            }
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

/// Runs scenarios, and shows them on the server, if there is one. All errors in the arguments are
/// found before the first run.
fn run_watched(
    arguments: &RunArgs,
    server: Option<&ReportServer>,
    console: &mut Console<'_>,
) -> u8 {
    let Some(mut plans) = load_all(&arguments.files, console) else {
        return WRONG;
    };
    if let (Some(recipe), Some(plan)) = (&arguments.recipe, plans.first_mut()) {
        plan.recipe = recipe.clone();
    }
    if !prepare_all(arguments, console) || !can_be_live(arguments, &plans, console) {
        return WRONG;
    }
    let view = View {
        detail: detail(arguments),
        paint: console.paint,
        version: VERSION,
    };
    let mut runs: Vec<FinishedRun> = Vec::new();
    let mut code = 0;
    for (path, plan) in arguments.files.iter().zip(plans) {
        if console.interrupt.is_requested() {
            code = worst(code, INTERRUPTED);
            console.complain(&format!("interrupted before {}\n", path.display()));
            break;
        }
        let finished = match arguments.live.options() {
            None => scenario_run::run(arguments, path, plan, server, console),
            Some(options) => live_run::run(arguments, (path, &plan), &options, server, console),
        };
        let finished = match finished {
            Ok(finished) => finished,
            Err((INTERRUPTED, problem)) => {
                code = worst(code, INTERRUPTED);
                console.complain(&format!("{problem}\n"));
                break;
            }
            Err((code, problem)) => {
                console.complain(&format!("error: {problem}\n"));
                return code;
            }
        };
        let gap = if runs.is_empty() || view.detail == Detail::Quiet {
            ""
        } else {
            "\n\n"
        };
        show(
            arguments,
            console,
            &format!("{gap}{}", sim_report::terminal(&finished, &view)),
        );
        code = worst(code, finished.result().exit_code);
        runs.push(finished);
        if let Some(server) = server {
            server.finish(&runs);
        }
    }
    let several = runs.len() > 1 && view.detail != Detail::Quiet;
    if several {
        show(arguments, console, &summary(&runs, code, &view));
    }
    worst(code, write_all(arguments, &runs, code, console))
}

/// Whether a live server can have all that the scenarios require.
fn can_be_live(arguments: &RunArgs, plans: &[Plan], console: &mut Console<'_>) -> bool {
    if arguments.live.target.is_none() {
        return true;
    }
    let mut all = true;
    for (path, plan) in arguments.files.iter().zip(plans) {
        all &= one_can_be_live(path, plan, console);
    }
    all
}

/// Whether a live server can have all that this scenario requires.
fn one_can_be_live(path: &Path, plan: &Plan, console: &mut Console<'_>) -> bool {
    let needed = needed_faults(plan);
    if !needed.is_empty() {
        console.complain(&format!(
            "error: {} needs faults that only the simulated server can have: {}\n  \
             mark them `optional: true` to run without them\n",
            path.display(),
            needed.join(", ")
        ));
    }
    needed.is_empty()
}

fn detail(arguments: &RunArgs) -> Detail {
    match (arguments.quiet, arguments.verbose) {
        (true, _) => Detail::Quiet,
        (false, true) => Detail::Verbose,
        (false, false) => Detail::Normal,
    }
}

/// If JSON goes to the standard output, the page goes to the standard error.
fn show(arguments: &RunArgs, console: &mut Console<'_>, page: &str) {
    if is_stdout(arguments.json.as_deref()) {
        console.complain(page);
    } else {
        console.say(page);
    }
}

fn is_stdout(path: Option<&Path>) -> bool {
    path == Some(Path::new("-"))
}

/// The summary of several scenarios: a line for each, and one for all.
fn summary(runs: &[FinishedRun], code: u8, view: &View<'_>) -> String {
    let mut text = String::from("\n\n");
    for run in runs {
        text.push_str(&sim_report::verdict_line(run, view));
    }
    let codes: Vec<&RunResult> = runs.iter().map(FinishedRun::result).collect();
    text.push_str(&sim_report::closing(&codes, code, view));
    text
}

/// Loads all plans. None if one of them is invalid; all errors are printed.
fn load_all(files: &[PathBuf], console: &mut Console<'_>) -> Option<Vec<Plan>> {
    let mut plans = Vec::new();
    for path in files {
        match sim_scenario::load(path) {
            Ok(plan) => plans.push(plan),
            Err(problem) => console.complain_of(&problem),
        }
    }
    (plans.len() == files.len()).then_some(plans)
}

/// Checks that all output files can be written.
fn prepare_all(arguments: &RunArgs, console: &mut Console<'_>) -> bool {
    let files = [
        &arguments.json,
        &arguments.junit,
        &arguments.report,
        &arguments.trace,
    ];
    prepare_files(&files, console)
}

fn prepare_files(files: &[&Option<PathBuf>], console: &mut Console<'_>) -> bool {
    let mut all = true;
    for path in files.iter().copied().flatten() {
        if is_stdout(Some(path)) {
            continue;
        }
        if let Err(problem) = output::prepare(path) {
            console.complain(&format!(
                "error: cannot write {}: {problem}\n",
                path.display()
            ));
            all = false;
        }
    }
    all
}

/// Writes JSON, JUnit and the report. Returns the exit code, which reports a failed write.
fn write_all(arguments: &RunArgs, runs: &[FinishedRun], code: u8, console: &mut Console<'_>) -> u8 {
    let mut written = 0;
    let results: Vec<&RunResult> = runs.iter().map(FinishedRun::result).collect();
    let mut write = |path: &Path, text: &str, console: &mut Console<'_>| {
        if let Err(problem) = output::write(path, text) {
            console.complain(&format!(
                "error: cannot write {}: {problem}\n",
                path.display()
            ));
            written = WRONG;
        }
    };
    if let Some(path) = &arguments.json {
        let version = env!("CARGO_PKG_VERSION");
        let origin = Origin::new(version, COMMIT, console.cores, console.started);
        match sim_report::json(&results, code, &origin) {
            Ok(text) if is_stdout(Some(path)) => console.say(&text),
            Ok(text) => write(path, &text, console),
            Err(problem) => {
                console.complain(&format!("error: no JSON: {problem}\n"));
                return WRONG;
            }
        }
    }
    if let Some(path) = &arguments.junit {
        write(path, &sim_report::junit(runs), console);
    }
    if let Some(path) = &arguments.report {
        match sim_report::html(runs, VERSION) {
            Ok(page) => write(path, &page, console),
            Err(problem) => {
                console.complain(&format!("error: no report: {problem}\n"));
                return WRONG;
            }
        }
    }
    written
}

#[cfg(test)]
mod tests;
