//! The command line: `cargo xtask --help`.

use std::path::PathBuf;

use clap::{Parser, Subcommand};

use crate::apart;
use crate::bench::BenchWords;
use crate::cluster::ClusterWords;
use crate::mutants::MutantsWords;
use crate::steps::{STEPS, Step};

const EXAMPLES: &str = "\
Exit code 0: all is well. 1: something failed. 2: the command line is invalid.

`cargo xtask test` begins with what it installs, and where.

Examples:
  cargo xtask test                       everything, as CI does
  cargo xtask test --quick               while editing: formats, lints, unit tests, house rules
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
        /// Check formats, lints, unit tests and house rules alone, and install nothing
        #[arg(long, conflicts_with = "only")]
        quick: bool,
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
    /// Plant a bug in a copy of the core, and show how the simulator finds it
    ///
    /// Prints the violated property, the smallest run that still violates it, and the file that draws it.
    Race,
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
    /// Do as the step `agents`, also with OpenCode and Gemini CLI, and wake each a hundred times
    Agents,
    /// Build the documentation as web pages in target/book, and print the path of the first
    Book,
    /// Make the packages that are published, under their published names, and print the folder in which
    /// `cargo publish --workspace` publishes them
    Package,
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
            "bench --accept --compare",
            "book docs",
            "mutants --cluster --only a",
            "mutants --live --list",
            "mutants --seeds 0",
            "cluster --from v0.1.0 --rounds 3",
            "test clippy",
            "test --quick --only clippy",
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
        for fence in pages.iter().flat_map(|page| page.fences_of("sh")) {
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
