//! The arguments of a run for a live server.

use std::path::{Path, PathBuf};

use chat_types::Config;
use clap::Args;

use super::{RunArgs, refuse};
use sim_live::{Options, Protocol, RateScale, Target, Token};
use sim_report::quote;

/// A live server, and its load.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
#[command(next_help_heading = "Live servers")]
pub struct LiveArgs {
    /// Run against the server there, or a cluster: URL,URL
    #[arg(long, value_name = "URL")]
    pub target: Option<Target>,
    #[command(flatten)]
    #[expect(missing_docs, reason = "a comment here would be a heading of the help")]
    pub access: AccessArgs,
    /// Multiply arrivals by this (1)
    #[arg(long, value_name = "F", requires = "target")]
    pub rate_scale: Option<RateScale>,
    /// Find the highest rate at which it still passes
    #[arg(long, requires = "target")]
    pub stages: bool,
    /// Run this program meanwhile: it makes faults
    #[arg(
        long,
        value_name = "COMMAND",
        value_parser = program,
        requires = "target",
        conflicts_with = "stages"
    )]
    pub nemesis: Option<String>,
    /// Judge by the server's journal in this folder, too
    #[arg(
        long = "journal",
        id = "journal_folder",
        value_name = "DIR",
        requires = "target"
    )]
    pub journal: Option<PathBuf>,
    /// The server's program, which reads that folder
    #[arg(long, value_name = "PROGRAM", requires = "journal_folder")]
    pub server: Option<PathBuf>,
    /// A limit the server was started with: turn_limit=none
    #[arg(long = "limit", value_name = "KEY=VALUE", requires = "target", value_parser = limit)]
    pub limits: Vec<String>,
}

/// How to speak to a live server.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub struct AccessArgs {
    /// 2026-07-28 (MCP, the default), 2025-11-25 or http
    #[arg(long, value_name = "NAME", requires = "target")]
    pub protocol: Option<Protocol>,
    /// Trust the authorities in this file alone, for https
    #[arg(long = "ca", value_name = "FILE.pem", requires = "target")]
    pub authorities: Option<PathBuf>,
    /// The token of the server; better in SIM_TOKEN
    #[arg(long, value_name = "TOKEN", env = "SIM_TOKEN", hide_env = true)]
    pub token: Option<Token>,
}

impl AccessArgs {
    /// The options of a run against this server, which has these limits.
    pub(super) fn options(&self, target: Target, limits: &[String]) -> Options {
        Options {
            target: target.with(self.token.clone()),
            authorities: self.authorities.clone(),
            protocol: self.protocol.unwrap_or_default(),
            scale: RateScale::default(),
            // Each limit was checked when it was parsed, and all together by `check`.
            server: config(limits).unwrap_or_default(),
            nemesis: None,
        }
    }
}

/// The words of a command line, with one space between two.
fn program(text: &str) -> Result<String, String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    match words.is_empty() {
        true => Err("name a program".to_owned()),
        false => Ok(words.join(" ")),
    }
}

/// Checks a limit of the server, in the form of its own command line.
pub(super) fn limit(text: &str) -> Result<String, String> {
    sim_scenario::limits([text])?;
    Ok(text.to_owned())
}

/// The defaults with these limits.
pub(super) fn config(limits: &[String]) -> Result<Config, String> {
    sim_scenario::limits(limits.iter().map(String::as_str))
}

impl LiveArgs {
    /// The options of the live run, if a server is named.
    #[must_use]
    pub fn options(&self) -> Option<Options> {
        Some(Options {
            scale: self.rate_scale.unwrap_or_default(),
            nemesis: self.nemesis.clone(),
            ..self.access.options(self.target.clone()?, &self.limits)
        })
    }

    /// The arguments that name this server again.
    #[must_use]
    pub fn words(&self) -> String {
        let path = |path: &Option<PathBuf>| path.as_ref().map(|path| path.display().to_string());
        let protocol = self.access.protocol;
        let words = [
            ("target", self.target.as_ref().map(Target::to_string)),
            ("protocol", protocol.map(|one| one.name().to_owned())),
            ("rate-scale", self.rate_scale.map(|scale| scale.to_string())),
            ("nemesis", self.nemesis.clone()),
            ("ca", path(&self.access.authorities)),
            ("journal", path(&self.journal)),
            ("server", path(&self.server)),
        ];
        let limits = self.limits.iter();
        let limits = limits.map(|limit| ("limit", Some(limit.clone())));
        let given = words.into_iter().chain(limits);
        given
            .filter_map(|(flag, word)| Some(format!(" --{flag} {}", quote(&word?))))
            .collect()
    }
}

/// Checks that authorities are named only where a certificate is checked.
pub(super) fn check_authorities(target: &Target, file: Option<&Path>) -> Result<(), String> {
    let sentence = "--ca is for a target with https, and this one has http";
    refuse(file.is_some() && !target.is_secure(), sentence)
}

/// Checks rules that clap cannot express.
///
/// # Errors
/// A sentence that describes the violation.
pub(super) fn check(run: &RunArgs) -> Result<(), String> {
    let Some(target) = &run.live.target else {
        return Ok(());
    };
    check_authorities(target, run.live.access.authorities.as_deref())?;
    let seeds = run.seeds.is_some_and(|seeds| seeds.get() > 1);
    let one = "--target runs one seed: leave --seeds (or SIM_SEEDS) at 1";
    refuse(seeds, one)?;
    let none = "--recipe replays a virtual world, and --target has none";
    refuse(run.recipe.is_some(), none)?;
    config(&run.live.limits)?;
    let stages = run.live.stages;
    let one = "--trace follows one run: leave --stages out";
    refuse(stages && run.trace.is_some(), one)?;
    let one = "--stages runs one scenario many times: name one file";
    refuse(stages && run.files.len() > 1, one)
}
