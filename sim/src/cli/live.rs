//! What of a run's arguments is about a live server.

use clap::Args;

use super::RunArgs;
use crate::live::{Options, Protocol, RateScale, Target};

/// A live server, and how it is loaded.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub struct LiveArgs {
    /// Run against the server there, in real time
    #[arg(long, value_name = "URL", help_heading = "Live servers")]
    pub target: Option<Target>,
    /// 2026-07-28 (MCP, the default), 2025-11-25 (MCP with sessions) or http
    #[arg(
        long,
        value_name = "NAME",
        requires = "target",
        help_heading = "Live servers"
    )]
    pub protocol: Option<Protocol>,
    /// Multiply arrivals by this (1)
    #[arg(
        long,
        value_name = "F",
        requires = "target",
        help_heading = "Live servers"
    )]
    pub rate_scale: Option<RateScale>,
    /// Run at higher and higher rates, and find the highest that is good enough
    #[arg(long, requires = "target", help_heading = "Live servers")]
    pub stages: bool,
}

impl LiveArgs {
    /// The server, if one is named, with arrivals multiplied as told.
    #[must_use]
    pub fn options(&self) -> Option<Options> {
        Some(Options {
            target: self.target.clone()?,
            protocol: self.protocol.unwrap_or_default(),
            scale: self.rate_scale.unwrap_or_default(),
        })
    }

    /// The words that name the same server again.
    #[must_use]
    pub fn words(&self) -> String {
        let Some(target) = &self.target else {
            return String::new();
        };
        let mut words = format!(" --target {target}");
        if let Some(protocol) = self.protocol {
            words += &format!(" --protocol {}", protocol.name());
        }
        if let Some(scale) = self.rate_scale {
            words += &format!(" --rate-scale {scale}");
        }
        words
    }
}

/// What clap's own rules cannot say.
///
/// # Errors
/// A sentence that says what is wrong.
pub(super) fn check(run: &RunArgs) -> Result<(), String> {
    if run.live.target.is_none() {
        return Ok(());
    }
    if run.seeds.is_some_and(|seeds| seeds.get() > 1) {
        return Err("--target runs one seed: leave --seeds (or SIM_SEEDS) at 1".to_owned());
    }
    if run.live.stages && run.trace.is_some() {
        return Err("--trace follows one run: leave --stages out".to_owned());
    }
    if run.live.stages && run.files.len() > 1 {
        return Err("--stages runs one scenario many times: name one file".to_owned());
    }
    Ok(())
}
