//! The steps of `cargo xtask test`, in the order in which they run.

use std::num::NonZero;
use std::thread;

use crate::cargo::{Cargo, WHOLE};
use crate::outcome::Outcome;
use crate::{
    bench, book, browser, clients, cluster, deny, deploy, determinism, exhaust, live, mutants,
    package, postgres, scenarios, schema, tidy, unit,
};

/// One step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Fmt,
    Clippy,
    Test,
    Doc,
    Deny,
    Advisories,
    Unit,
    Deploy,
    Package,
    Postgres,
    Tidy,
    Book,
    Schema,
    Scenarios,
    Determinism,
    Exhaust,
    Canary,
    Live,
    Cluster,
    Bench,
    Browser,
    Page,
    Clients,
}

/// Steps that share what only one at a time can use, and run beside those of the other lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lane {
    /// Steps on optimised builds, in the copy of the workspace.
    Optimised,
    /// Steps on the tested programs: browsers, clients, packages.
    Programs,
    /// Steps on servers that others make, which mostly wait.
    Servers,
}

impl Lane {
    /// Every lane.
    pub(crate) const ALL: [Self; 3] = [Self::Optimised, Self::Programs, Self::Servers];
}

impl Step {
    /// Every step, in order.
    pub(crate) const ALL: [Self; 23] = [
        Self::Fmt,
        Self::Clippy,
        Self::Test,
        Self::Doc,
        Self::Deny,
        Self::Advisories,
        Self::Unit,
        Self::Deploy,
        Self::Package,
        Self::Tidy,
        Self::Book,
        Self::Schema,
        Self::Scenarios,
        Self::Determinism,
        Self::Exhaust,
        Self::Bench,
        Self::Canary,
        Self::Live,
        Self::Postgres,
        Self::Cluster,
        Self::Browser,
        Self::Page,
        Self::Clients,
    ];

    /// The step's name on the command line and in the summary.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Fmt => "fmt",
            Self::Tidy => "tidy",
            Self::Clippy => "clippy",
            Self::Test => "test",
            Self::Doc => "doc",
            Self::Deny => "deny",
            Self::Advisories => "advisories",
            Self::Unit => "unit",
            Self::Deploy => "deploy",
            Self::Package => "package",
            Self::Postgres => "postgres",
            Self::Book => "book",
            Self::Schema => "schema",
            Self::Scenarios => "scenarios",
            Self::Determinism => "determinism",
            Self::Exhaust => "exhaust",
            Self::Canary => "canary",
            Self::Live => "live",
            Self::Cluster => "cluster",
            Self::Bench => "bench",
            Self::Browser => "browser",
            Self::Page => "page",
            Self::Clients => "clients",
        }
    }

    /// What the step checks, in one line.
    pub(crate) const fn about(self) -> &'static str {
        match self {
            Self::Fmt => "every file is formatted by rustfmt",
            Self::Tidy => "house rules that no other tool checks: names, lengths, docs, layers",
            Self::Clippy => "no warning from the compiler or clippy, in any target",
            Self::Test => "unit, integration and documentation tests",
            Self::Doc => "rustdoc without warnings",
            Self::Deny => "licences, duplicates and sources of the dependencies (cargo-deny)",
            Self::Advisories => "no dependency has a known weakness (cargo-deny, RUSTSEC)",
            Self::Unit => "systemd knows all of the unit, which confines the server",
            Self::Deploy => {
                "alerts alert, streams pass the proxies (promtool, nginx, Caddy), the bundle is one"
            }
            Self::Package => "the published packages have all that their programs are made of",
            Self::Postgres => "the history on a real PostgreSQL: once, rebuilt, cut, away",
            Self::Book => "the book builds, its links lead somewhere, and its examples work",
            Self::Schema => "schema.json is what `sim schema` prints",
            Self::Scenarios => "every shipped scenario passes over fixed seeds",
            Self::Determinism => {
                "one seed gives one trace hash, with any number of jobs and any build"
            }
            Self::Exhaust => "every interleaving of two tiny worlds, to a depth of six steps",
            Self::Canary => "every curated mutant applies, and the simulator catches two of them",
            Self::Live => "a short scenario against the real server, in every protocol",
            Self::Cluster => "the log of a cluster, and members, on real NATS servers",
            Self::Bench => "no instruction count of the baseline grew by over 2 %",
            Self::Browser => "reports in a real browser: sizes, colour schemes, keys, no network",
            Self::Page => {
                "the server's page in a real browser: people and an agent in a conversation"
            }
            Self::Clients => {
                "the official conformance suite, and conversations of published MCP clients"
            }
        }
    }

    /// Its lane. A step without one uses all cores, or is over at once.
    pub(crate) const fn lane(self) -> Option<Lane> {
        match self {
            Self::Schema
            | Self::Scenarios
            | Self::Determinism
            | Self::Exhaust
            | Self::Canary
            | Self::Live
            | Self::Bench => Some(Lane::Optimised),
            Self::Deploy
            | Self::Package
            | Self::Book
            | Self::Browser
            | Self::Page
            | Self::Clients => Some(Lane::Programs),
            Self::Postgres | Self::Cluster => Some(Lane::Servers),
            Self::Fmt
            | Self::Clippy
            | Self::Test
            | Self::Doc
            | Self::Deny
            | Self::Advisories
            | Self::Unit
            | Self::Tidy => None,
        }
    }

    /// The step with this name.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|step| step.name() == name)
    }

    /// Whether it needs more of the internet than package registries. Such a step may be skipped
    /// without failing a strict run.
    pub(crate) fn needs_the_internet(self) -> bool {
        self == Self::Advisories
    }

    /// Runs the step.
    pub(crate) fn run(self, cargo: &Cargo) -> Outcome {
        match self {
            Self::Fmt => match cargo.run(&["fmt", "--all", "--check"]) {
                // A separate workspace, because of its dependencies.
                Outcome::Passed => {
                    let turmoil = "benches/turmoil/Cargo.toml";
                    cargo.run(&["fmt", "--manifest-path", turmoil, "--check"])
                }
                other @ (Outcome::Failed(_) | Outcome::Skipped(_)) => other,
            },
            Self::Tidy => tidy::check(cargo.root()),
            Self::Clippy => {
                let denied = ["--all-targets", "--", "-D", "warnings"];
                cargo.run(&[&["clippy"][..], &WHOLE, &denied].concat())
            }
            Self::Test => test(cargo),
            Self::Doc => cargo.run_with(
                &[("RUSTDOCFLAGS", "-D warnings")],
                // There are no examples: the word selects the features that clippy has compiled.
                &[
                    &["doc", "--no-deps", "--lib", "--bins", "--examples"][..],
                    &WHOLE,
                ]
                .concat(),
            ),
            Self::Deny => deny::check(cargo),
            Self::Advisories => deny::advisories(cargo),
            Self::Unit => unit::check(cargo),
            Self::Deploy => deploy::check(cargo),
            Self::Package => package::check(cargo),
            Self::Postgres => postgres::check(cargo),
            Self::Book => book::check(cargo),
            Self::Schema => schema::check(cargo),
            Self::Scenarios => scenarios::check(cargo),
            Self::Determinism => determinism::check(cargo),
            Self::Exhaust => exhaust::check(cargo),
            Self::Canary => mutants::canary(cargo),
            Self::Live => live::check(cargo),
            Self::Cluster => cluster::check(cargo),
            Self::Bench => bench::check(cargo),
            Self::Browser => browser::report::check(cargo),
            Self::Page => browser::page::check(cargo),
            Self::Clients => clients::check(cargo),
        }
    }
}

/// The tests that run at a time for each core: half of their time is waiting for a server's timers.
const TESTS_PER_CORE: usize = 3;

/// Runs the tests, by nextest if it is installed; it has better output, but does not run
/// documentation tests. A snapshot that differs is a failure and is never written.
fn test(cargo: &Cargo) -> Outcome {
    let frozen = [("INSTA_UPDATE", "no")];
    if !cargo.has("nextest") {
        return cargo.run_with(&frozen, &[&["test"][..], &WHOLE].concat());
    }
    let threads = TESTS_PER_CORE * thread::available_parallelism().map_or(1, NonZero::get);
    let threads = threads.to_string();
    let nextest = ["nextest", "run", "--no-fail-fast"];
    let threads = ["--test-threads", &threads];
    cargo
        .run_with(&frozen, &[&nextest[..], &WHOLE, &threads].concat())
        .and_then(|| cargo.run_with(&frozen, &[&["test", "--doc"][..], &WHOLE].concat()))
}

#[cfg(test)]
mod tests {
    use super::Step;

    #[test]
    fn every_step_is_found_by_its_own_name_and_no_other() {
        for step in Step::ALL {
            assert_eq!(Step::from_name(step.name()), Some(step));
        }
        assert_eq!(Step::from_name("Fmt"), None);
        assert_eq!(Step::from_name(""), None);
    }
}
