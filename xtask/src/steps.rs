//! The steps of `cargo xtask test`, in the order in which they run.

use std::num::NonZero;
use std::thread;

use anyhow::{Result, anyhow};
use xshell::{Shell, cmd};

use crate::cargo::WHOLE;
use crate::{
    agents, bench, book, browser, clients, cluster, deny, deploy, determinism, live, mutants,
    package, postgres, scenarios, sim, tidy, unit,
};

/// One step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    /// Its name on the command line and in the summary.
    pub(crate) name: &'static str,
    /// What it checks, in one line.
    pub(crate) about: &'static str,
    /// A step without a lane uses all cores, or is over at once.
    pub(crate) lane: Option<Lane>,
    pub(crate) run: fn(&Shell) -> Result<()>,
}

impl PartialEq for Step {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// Steps that share what only one at a time can use, and run beside those of the other lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Lane {
    /// Steps on optimised builds, in the copy of the workspace.
    Optimised,
    /// Steps on the tested programs: browsers, clients, packages.
    Programs,
    /// Steps on servers that others make, which mostly wait.
    Servers,
}

/// Every step, in order.
#[rustfmt::skip]
pub(crate) const STEPS: [Step; 24] = {
    use Lane::{Optimised, Programs, Servers};
    [
        step("fmt", None, fmt, "every file is formatted by rustfmt"),
        step("clippy", None, clippy, "no warning from the compiler or clippy, in any target"),
        step("test", None, test, "unit, integration and documentation tests"),
        step("doc", None, doc, "rustdoc without warnings"),
        step("deny", None, deny::check, "licences, duplicates and sources of the dependencies, layers of our crates (cargo-deny)"),
        step(INTERNET, None, deny::advisories, "no dependency has a known weakness (cargo-deny, RUSTSEC)"),
        step("unit", None, unit::check, "systemd knows all of the unit, which confines the server"),
        step("deploy", Some(Programs), deploy::check, "alerts alert, streams pass the proxies (promtool, nginx, Caddy), the bundle is one"),
        step("package", Some(Programs), package::check, "the published packages have all that their programs are made of"),
        step("tidy", None, tidy::check, "house rules that no other tool checks: names, lengths, docs, libraries, sizes"),
        step("book", Some(Programs), book::check, "the book builds, its links lead somewhere, and its examples work"),
        step("schema", Some(Optimised), sim::check_schema, "schema.json is what `sim schema` prints"),
        step("scenarios", Some(Optimised), scenarios::check, "every shipped scenario passes over fixed seeds"),
        step("determinism", Some(Optimised), determinism::check, "one seed gives one trace hash, with any number of jobs and any build"),
        step("exhaust", Some(Optimised), sim::exhaust, "every interleaving of two tiny worlds, to a depth of six steps"),
        step("bench", Some(Optimised), bench::check, "no instruction count of the baseline grew by over 2 %"),
        step("canary", Some(Optimised), mutants::canary, "every curated mutant applies, and the simulator catches two of them"),
        step("live", Some(Optimised), live::check, "a short scenario against the real server, in every protocol"),
        step("postgres", Some(Servers), postgres::check, "the history on a real PostgreSQL: once, rebuilt, cut, away"),
        step("cluster", Some(Servers), cluster::check, "the log of a cluster, and members, on real NATS servers"),
        step("browser", Some(Programs), browser::check_reports, "reports in a real browser: sizes, colour schemes, keys, no network"),
        step("page", Some(Programs), browser::check_page, "the server's page in a real browser: people and an agent in a conversation"),
        step("clients", Some(Programs), clients::check, "the official conformance suite, and conversations of published MCP clients"),
        step("agents", Some(Programs), agents::check, "Codex and Claude Code talk with each other and are woken, as the book says"),
    ]
};

/// The steps of `cargo xtask test --quick`, which installs nothing. Of the tests it runs a part.
pub(crate) fn quick() -> Vec<Step> {
    let mut steps = STEPS.to_vec();
    steps.retain(|step| ["fmt", "clippy", "test", "tidy"].contains(&step.name));
    for step in steps.iter_mut().filter(|step| step.name == "test") {
        step.run = quick_test;
        step.about = "unit tests, and the core's scripts";
    }
    steps
}

/// The step that needs more of the internet than package registries.
const INTERNET: &str = "advisories";

const fn step(
    name: &'static str,
    lane: Option<Lane>,
    run: fn(&Shell) -> Result<()>,
    about: &'static str,
) -> Step {
    Step {
        name,
        about,
        lane,
        run,
    }
}

impl Step {
    /// The step with this name.
    ///
    /// # Errors
    /// There is none.
    pub(crate) fn named(name: &str) -> Result<Self> {
        let found = STEPS.into_iter().find(|step| step.name == name);
        found.ok_or_else(|| {
            let names = STEPS.map(|step| step.name).join(",");
            anyhow!("unknown step `{name}`: expected some of {names}")
        })
    }

    /// Whether it may be skipped without failing a strict run.
    pub(crate) fn needs_the_internet(self) -> bool {
        self.name == INTERNET
    }
}

fn fmt(sh: &Shell) -> Result<()> {
    cmd!(sh, "cargo fmt --all --check").run()?;
    // A separate workspace, because of its dependencies.
    Ok(cmd!(
        sh,
        "cargo fmt --manifest-path benches/turmoil/Cargo.toml --check"
    )
    .run()?)
}

fn clippy(sh: &Shell) -> Result<()> {
    Ok(cmd!(sh, "cargo clippy {WHOLE...} --all-targets -- -D warnings").run()?)
}

fn doc(sh: &Shell) -> Result<()> {
    // There are no examples: the word selects the features that clippy has compiled.
    Ok(
        cmd!(sh, "cargo doc --no-deps --lib --bins --examples {WHOLE...}")
            .env("RUSTDOCFLAGS", "-D warnings")
            .run()?,
    )
}

/// Runs the unit tests, and the core's scripts.
fn quick_test(sh: &Shell) -> Result<()> {
    let _frozen = sh.push_env("INSTA_UPDATE", "no");
    cmd!(sh, "cargo test --quiet {WHOLE...} --lib --bins").run()?;
    Ok(cmd!(
        sh,
        "cargo test --quiet {WHOLE...} --test behaviour --test node"
    )
    .run()?)
}

/// The tests that run at a time for each core: half of their time is waiting for a server's timers.
const TESTS_PER_CORE: usize = 3;

/// Runs the tests. A snapshot that differs is a failure and is never written.
fn test(sh: &Shell) -> Result<()> {
    let threads = TESTS_PER_CORE * thread::available_parallelism().map_or(1, NonZero::get);
    Ok(cmd!(sh, "cargo test --quiet --no-fail-fast {WHOLE...}")
        .env("INSTA_UPDATE", "no")
        .env("RUST_TEST_THREADS", threads.to_string())
        .run()?)
}
