//! The arguments of `sim explore`.

use std::num::{NonZeroU64, NonZeroUsize};
use std::path::PathBuf;

use chat_types::Span;
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};

use sim_model::outcome::Seek;
use sim_model::recipe::Recipe;

use super::{count, seed};

/// The scenarios to explore, and the duration.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub struct ExploreArgs {
    /// Scenario files, taken in turn
    #[arg(value_name = "FILE", required_unless_present = "flows")]
    pub files: Vec<PathBuf>,
    /// Also draw everyday flows; alone, no FILE is needed
    #[arg(long)]
    pub flows: bool,
    /// How many seeds to try in all
    #[arg(long, value_name = "N", required_unless_present_any = ["time", "guided"], value_parser = count::<NonZeroU64>(), allow_negative_numbers = true)]
    pub seeds: Option<NonZeroU64>,
    /// How long to explore, as in 90s or 10m
    #[arg(long = "for", id = "time", value_name = "TIME", conflicts_with = "seeds", value_parser = some_time, allow_hyphen_values = true)]
    pub time: Option<Span>,
    /// The first seed (1)
    #[arg(
        long,
        value_name = "FIRST",
        default_value_t = 1,
        hide_default_value = true,
        value_parser = seed(),
        allow_negative_numbers = true
    )]
    pub seed: u64,
    /// Continue after a failure
    #[arg(long)]
    pub keep_going: bool,
    /// Split runs where they reach something new
    #[arg(long, conflicts_with_all = ["seek", "recipe"])]
    pub guided: bool,
    /// With --guided: keep new recipes in this folder
    #[arg(long, value_name = "DIR", requires = "guided")]
    pub corpus: Option<PathBuf>,
    /// Branch the run at these turns: s123:2,s990:1
    #[arg(long, value_name = "RECIPE", requires = "seeds")]
    pub recipe: Option<Recipe>,
    /// Search the worst: queue-wait, stick-wait, overtaking
    #[arg(long, value_parser = seek(), value_name = "WHAT", hide_possible_values = true)]
    pub seek: Option<Seek>,
    /// How many seeds to try at a time (one each core)
    #[arg(long, value_name = "N", env = "SIM_JOBS", hide_env = true, value_parser = super::jobs, allow_negative_numbers = true)]
    pub jobs: Option<NonZeroUsize>,
    /// Write the findings as JSON (- is standard output)
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Write a trace of the first failing seed
    #[arg(long, value_name = "FILE.jsonl")]
    pub trace: Option<PathBuf>,
    /// Show what every seed drew
    #[arg(long, short, conflicts_with = "quiet")]
    pub verbose: bool,
    /// Show the verdict only
    #[arg(long, short)]
    pub quiet: bool,
}

fn some_time(text: &str) -> Result<Span, String> {
    let span = Span::parse(text)?;
    if span == Span::ZERO {
        return Err("no time at all; write for example 10m".to_owned());
    }
    Ok(span)
}

/// Parses the name of what to search for.
fn seek() -> impl TypedValueParser<Value = Seek> {
    PossibleValuesParser::new(Seek::NAMES).try_map(|text| Seek::named(&text).ok_or("no such name"))
}
