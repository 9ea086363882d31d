//! The command line: its grammar and its meaning.

mod calibrate;
mod compare;
mod exhaust;
mod explore;
mod files;
mod live;
mod replay;

use std::ffi::OsString;
use std::num::{NonZeroU64, NonZeroUsize};
use std::path::{Path, PathBuf};
use std::time::Duration;

use chat_types::Span;
use clap::builder::{PossibleValuesParser, Resettable};
use clap::error::ErrorKind;
use clap::{ArgMatches, Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use clap_complete::Shell;

use sim_model::names::PROPERTIES;
use sim_model::outcome::PANIC;
use sim_model::recipe::Recipe;

pub use calibrate::CalibrateArgs;
pub use compare::CompareArgs;
pub use exhaust::{ExhaustArgs, WorldChoice};
pub use explore::ExploreArgs;
pub use live::{AccessArgs, LiveArgs};
pub use replay::ReplayArgs;

const ABOUT: &str = "\
Runs a chat server under seeded virtual users, virtual time and injected faults,
and judges what the users saw.";

#[derive(Debug, Parser)]
#[command(
    name = "sim",
    about = ABOUT,
    version = crate::VERSION,
    after_help = include_str!("cli/help/program.txt").trim_ascii_end(),
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true
)]
struct Cli {
    #[command(subcommand)]
    command: Option<Invocation>,
    #[command(flatten)]
    run: RunArgs,
}

/// A parsed command line.
#[derive(Clone, Debug, PartialEq, Subcommand)]
pub enum Invocation {
    /// Run scenarios and judge them; `run` may be left out
    #[command(after_help = include_str!("cli/help/run.txt").trim_ascii_end())]
    Run(RunArgs),
    /// Search for failures, with a configuration drawn from each seed
    #[command(after_help = include_str!("cli/help/explore.txt").trim_ascii_end())]
    Explore(ExploreArgs),
    /// Make the smallest scenario that still fails
    #[command(after_help = include_str!("cli/help/shrink.txt").trim_ascii_end())]
    Shrink(ShrinkArgs),
    /// Check scenarios without running them
    #[command(after_help = include_str!("cli/help/validate.txt").trim_ascii_end())]
    Validate {
        /// Scenario files
        #[arg(value_name = "FILE", required = true)]
        files: Vec<PathBuf>,
    },
    /// Print the JSON Schema of scenario files
    #[command(after_help = include_str!("cli/help/schema.txt").trim_ascii_end())]
    Schema,
    /// Try every interleaving of a tiny world, and judge them all
    #[command(after_help = include_str!("cli/help/exhaust.txt").trim_ascii_end())]
    Exhaust(ExhaustArgs),
    /// Show the differences between two results, better or worse
    #[command(after_help = include_str!("cli/help/compare.txt").trim_ascii_end())]
    Compare(CompareArgs),
    /// Measure a live server, and compare it with a virtual one
    #[command(after_help = include_str!("cli/help/calibrate.txt").trim_ascii_end())]
    Calibrate(CalibrateArgs),
    /// Replay the journal of a real server, and judge its decisions
    #[command(after_help = include_str!("cli/help/replay.txt").trim_ascii_end())]
    Replay(ReplayArgs),
    /// Print the completions of a shell
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Write manual pages
    Man {
        /// The folder to write them to
        #[arg(value_name = "DIR")]
        folder: PathBuf,
    },
}

/// The scenarios to run, and the outputs.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub struct RunArgs {
    /// Scenario files, run one after another
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// The first seed, in place of the scenario's own
    #[arg(long, value_name = "N", value_parser = seed(), allow_negative_numbers = true)]
    pub seed: Option<u64>,
    /// How many seeds to run, upward from the first (1)
    #[arg(long, value_name = "N", env = "SIM_SEEDS", hide_env = true, value_parser = count::<NonZeroU64>(), allow_negative_numbers = true)]
    pub seeds: Option<NonZeroU64>,
    /// Branch the run at these turns: s123:2,s990:1
    #[arg(long, value_name = "RECIPE")]
    pub recipe: Option<Recipe>,
    /// How many seeds to run at a time (one for each core)
    #[arg(long, value_name = "N", env = "SIM_JOBS", hide_env = true, value_parser = jobs, allow_negative_numbers = true)]
    pub jobs: Option<NonZeroUsize>,
    /// Write the result as a page for a browser
    #[arg(long, value_name = "FILE.html")]
    pub report: Option<PathBuf>,
    /// Write the result as JSON (- is the standard output)
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Write the result as JUnit XML
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// Write what clients did and observed, line by line
    #[arg(long, value_name = "FILE.jsonl")]
    pub trace: Option<PathBuf>,
    /// Trace only user_7, penpal#12 or room_3; draw a user
    #[arg(long, value_name = "USER|ROOM")]
    pub follow: Option<String>,
    /// Do not shrink a run that fails
    #[arg(long)]
    pub no_shrink: bool,
    /// Show everything, also by persona, phase and room
    #[arg(long, short, conflicts_with = "quiet")]
    pub verbose: bool,
    /// Show the verdict only, one line for each scenario
    #[arg(long, short)]
    pub quiet: bool,
    #[command(flatten)]
    #[expect(missing_docs, reason = "a comment here would be a heading of the help")]
    pub live: LiveArgs,
}

/// What to shrink.
#[derive(Args, Clone, Debug, PartialEq, Eq)]
pub struct ShrinkArgs {
    /// A scenario file
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// The seed that fails, in place of the scenario's own
    #[arg(long, value_name = "N", value_parser = seed(), allow_negative_numbers = true)]
    pub seed: Option<u64>,
    /// Branch the run at these turns: s123:2,s990:1
    #[arg(long, value_name = "RECIPE")]
    pub recipe: Option<Recipe>,
    /// The property to violate (the first violated one)
    #[arg(long, value_name = "NAME", value_parser = property(), hide_possible_values = true)]
    pub property: Option<String>,
    /// The file to write (target/sim/PROPERTY-SEED.yaml)
    #[arg(long, value_name = "FILE.yaml")]
    pub out: Option<PathBuf>,
    /// The longest time for shrinking
    #[arg(long = "for", value_name = "TIME", default_value = "60s", value_parser = time, allow_hyphen_values = true)]
    pub time: Duration,
}

/// Parses a whole number from `least` to `most`.
fn whole<T: TryFrom<u64>>(
    least: u64,
    most: u64,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static {
    move |text: &str| {
        let number = text.parse().ok().filter(|n| (least..=most).contains(n));
        let number = number.and_then(|n| T::try_from(n).ok());
        number.ok_or_else(|| match most {
            u64::MAX
                if text.parse::<u64>().is_err() && text.bytes().all(|b| b.is_ascii_digit()) =>
            {
                format!("the largest number is {most}")
            }
            u64::MAX => format!("write a whole number, {least} or more"),
            _ => format!("write a whole number from {least} to {most}"),
        })
    }
}

/// The name of a property, or `panic`.
fn property() -> PossibleValuesParser {
    PossibleValuesParser::new(PROPERTIES.into_iter().chain([PANIC]))
}

/// Parses any seed.
fn seed() -> impl Fn(&str) -> Result<u64, String> + Clone + Send + Sync + 'static {
    whole(0, u64::MAX)
}

/// Parses a number of things, of which there is at least one.
fn count<T: TryFrom<u64>>() -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static {
    whole(1, u64::MAX)
}

/// Parses a number of threads.
fn jobs(text: &str) -> Result<NonZeroUsize, String> {
    whole(1, 1_024)(text).map(|jobs| NonZeroUsize::new(jobs).unwrap_or(NonZeroUsize::MIN))
}

/// A length of real time, as scenarios write it.
fn time(text: &str) -> Result<Duration, String> {
    Span::parse(text).map(|span| Duration::from_micros(span.0))
}

/// The completions of a shell.
pub(crate) fn completions(shell: Shell) -> Vec<u8> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "sim", &mut text);
    text
}

/// Writes a manual page for the program and for each of its commands into this folder.
///
/// # Errors
/// The folder cannot be made, or a page not be written.
pub(crate) fn manual(folder: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    clap_mangen::generate_to(Cli::command(), folder)
}

/// An empty variable is an unset one, such as a secret that a workflow of a fork does not have.
fn without_empty_ones(command: clap::Command) -> clap::Command {
    let command = command.mut_args(|arg| {
        let value = arg.get_env().and_then(std::env::var_os);
        match value.is_some_and(|value| value.is_empty()) {
            true => arg.env(Resettable::Reset),
            false => arg,
        }
    });
    command.mut_subcommands(without_empty_ones)
}

/// Parses a command line, the program's name first.
///
/// # Errors
/// What clap would print: a usage error (exit code 2), or the requested help or version (exit code
/// 0).
pub fn parse<I>(arguments: I) -> Result<Invocation, clap::Error>
where
    I: IntoIterator<Item = OsString>,
{
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let matches = without_empty_ones(Cli::command()).try_get_matches_from(arguments)?;
    let cli = Cli::from_arg_matches(&matches)?;
    let invocation = match cli.command {
        None => {
            let first = cli.run.files.first().map(PathBuf::as_path);
            let wrong = |message| Cli::command().error(ErrorKind::InvalidSubcommand, message);
            first.map_or(Ok(()), files::check_first).map_err(wrong)?;
            Invocation::Run(cli.run)
        }
        Some(invocation) => invocation,
    };
    let checked = check(&invocation, &matches);
    checked.map_err(|message| Cli::command().error(ErrorKind::ArgumentConflict, message))?;
    Ok(invocation)
}

/// Checks rules that clap cannot express.
fn check(invocation: &Invocation, matches: &ArgMatches) -> Result<(), String> {
    if let Invocation::Run(run) = invocation {
        check_run(run)?;
    }
    files::check(matches)?;
    check_last_seed(invocation)?;
    if let Invocation::Calibrate(arguments) = invocation {
        calibrate::check(arguments)?;
    }
    Ok(())
}

/// Checks that the last of several seeds is a seed.
fn check_last_seed(invocation: &Invocation) -> Result<(), String> {
    let (first, count) = if let Invocation::Run(run) = invocation {
        (run.seed.unwrap_or(0), run.seeds)
    } else if let Invocation::Explore(explore) = invocation {
        (explore.seed, explore.seeds)
    } else {
        return Ok(());
    };
    let count = count.map_or(1, NonZeroU64::get);
    let most = u64::MAX;
    let sentence = format!("--seeds {count} from seed {first} go beyond {most}, the largest seed");
    refuse(first.checked_add(count - 1).is_none(), &sentence)
}

fn check_run(run: &RunArgs) -> Result<(), String> {
    let files = run.files.len() > 1;
    let seeds = run.seeds.is_some_and(|seeds| seeds.get() > 1);
    let trace = run.trace.is_some();
    let one = "--trace follows one run: name one scenario file";
    refuse(trace && files, one)?;
    let one = "--trace follows one run: leave --seeds (or SIM_SEEDS) at 1";
    refuse(trace && seeds, one)?;
    let nowhere = run.follow.is_some() && !trace && run.report.is_none();
    let name = "--follow is for a trace or a report: name one with --trace or --report";
    refuse(nowhere, name)?;
    let several = run.recipe.is_some() && (files || seeds);
    let name = "--recipe is of one run: name one scenario file and one seed";
    refuse(several, name)?;
    live::check(run)
}

/// The sentence of a rule, if it is broken.
fn refuse(is_broken: bool, sentence: &str) -> Result<(), String> {
    match is_broken {
        true => Err(sentence.to_owned()),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests;
